/*-------------------------------------------------------------------------
 *
 * comb_unwrap.c
 *	  Which times a condition means that compares something made of a time.
 *
 * In date_trunc('day', comb_timestamp(id) - interval '4 hours')::date = at, the
 * functions of PostgreSQL around the time are its wrappers.  We undo them from the
 * outside in, each by a call of comb_unwrap(), and get a period with all times for which
 * the condition is true.  The condition stays, so that the period may be too long.
 *
 * A wrapper goes to the clock of a zone, forth or back on it, cuts the time to a unit, and
 * returns to UTC, or does some of these.  Clocks are set back, or skip an hour or a day.  So
 * what a zone does is undone with the least and the largest offset that it has within 8
 * days before and after.  No offset is above 168 hours, and from a clock's time PostgreSQL
 * looks a day back for a change.
 *
 * A session can change its zone between two executions of a plan, and what
 * abbreviations mean.  So the periods are computed when a scan begins.
 *
 * Copyright (c) 2026, pg_comb developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/stratnum.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "parser/scansup.h"
#include "utils/builtins.h"
#include "utils/datetime.h"
#include "utils/datum.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/typcache.h"

#include "comb_call.h"

PG_FUNCTION_INFO_V1(comb_unwrap);

/*
 * What a double counts in microseconds: 285 years, in which no function of times
 * overflows
 */
#define COMB_COUNTABLE		9007199254740992.0

/* How far from a time a zone's offset can count */
#define COMB_ZONE_REACH		(8 * USECS_PER_DAY)

/* Months are this long, but for 5 days, and for what a zone can skip: 14 days */
#define COMB_MONTH_DAYS		30.436875
#define COMB_MONTHS_SLACK	(19.0 * USECS_PER_DAY)

/* extract() counts from 1970, and date_part() rounds */
#define COMB_SECONDS_SLACK	4.0
#define COMB_EPOCH			((POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * (double) USECS_PER_DAY)

/* Arguments of comb_unwrap() before those of the wrapper */
#define COMB_OWN_ARGS		3
#define COMB_MAX_ARGS		(COMB_OWN_ARGS + 3)

/* What a wrapper does with the time, whatever its type */
typedef enum CombWrapper
{
	COMB_NO_WRAPPER,
	COMB_CAST,					/* to another type, in the session's zone */
	COMB_IN_ZONE,				/* in the zone of the first argument */
	COMB_TRUNC,					/* to the unit of the first argument */
	COMB_PLUS,
	COMB_MINUS,
	COMB_SECONDS				/* since 1970, or of an interval */
} CombWrapper;

/* Sorted by what they do */
static const Oid comb_wrappers[][8] = {
	[COMB_CAST] = {F_DATE_TIMESTAMP, F_DATE_TIMESTAMPTZ, F_TIMESTAMP_DATE, F_TIMESTAMP_TIMESTAMPTZ,
	F_TIMESTAMPTZ_DATE, F_TIMESTAMPTZ_TIMESTAMP},
	[COMB_IN_ZONE] = {F_TIMEZONE_TEXT_TIMESTAMP, F_TIMEZONE_TEXT_TIMESTAMPTZ},
	[COMB_TRUNC] = {F_DATE_TRUNC_TEXT_TIMESTAMP, F_DATE_TRUNC_TEXT_TIMESTAMPTZ, F_DATE_TRUNC_TEXT_TIMESTAMPTZ_TEXT},
	[COMB_PLUS] = {F_DATE_PLI, F_DATE_PL_INTERVAL, F_TIMESTAMP_PL_INTERVAL, F_TIMESTAMPTZ_PL_INTERVAL},
	[COMB_MINUS] = {F_DATE_MI, F_DATE_MII, F_DATE_MI_INTERVAL, F_TIMESTAMP_MI, F_TIMESTAMP_MI_INTERVAL,
	F_TIMESTAMPTZ_MI, F_TIMESTAMPTZ_MI_INTERVAL},
	[COMB_SECONDS] = {F_DATE_PART_TEXT_INTERVAL, F_DATE_PART_TEXT_TIMESTAMP, F_DATE_PART_TEXT_TIMESTAMPTZ,
	F_EXTRACT_TEXT_INTERVAL, F_EXTRACT_TEXT_TIMESTAMP, F_EXTRACT_TEXT_TIMESTAMPTZ}
};

/* How many hours date_trunc() can go back, at most; other units have no entry */
static const int comb_unit_hours[] = {
	[DTK_MICROSEC] = 1,[DTK_MILLISEC] = 1,[DTK_SECOND] = 1,[DTK_MINUTE] = 1,[DTK_HOUR] = 1,
	[DTK_DAY] = 24,[DTK_WEEK] = 7 * 24,[DTK_MONTH] = 31 * 24,[DTK_QUARTER] = 92 * 24,[DTK_YEAR] = 366 * 24
};

static CombWrapper
comb_wrapper(Oid funcid)
{
	int			i;
	int			j;

	/* most functions of conditions are not between the least and the largest */
	if (funcid < F_DATE_MI || funcid > F_EXTRACT_TEXT_INTERVAL)
		return COMB_NO_WRAPPER;
	for (i = COMB_CAST; i < (int) lengthof(comb_wrappers); i++)
	{
		for (j = 0; OidIsValid(comb_wrappers[i][j]); j++)
		{
			if (comb_wrappers[i][j] == funcid)
				return i;
		}
	}
	return COMB_NO_WRAPPER;
}

/*
 * NaN if a double does not count this exactly.  What is infinite must not become finite
 * by a sum, either.
 */
static inline double
comb_counted(double microseconds)
{
	return fabs(microseconds) < COMB_COUNTABLE ? microseconds : NAN;
}

/* Return a time since 2000, or a duration, in microseconds, or NaN */
static double
comb_microseconds(Oid type, Datum value)
{
	const Interval *span;

	switch (type)
	{
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			return comb_counted((double) DatumGetTimestamp(value));
		case DATEOID:
		case INT4OID:
			return comb_counted((double) DatumGetInt32(value) * USECS_PER_DAY);
		case INTERVALOID:
			span = DatumGetIntervalP(value);
			return comb_counted(((double) span->month * DAYS_PER_MONTH + span->day) * USECS_PER_DAY) +
				comb_counted((double) span->time);
		case FLOAT8OID:
			return comb_counted(DatumGetFloat8(value) * USECS_PER_SEC);
		case NUMERICOID:
			return comb_microseconds(FLOAT8OID, DirectFunctionCall1(numeric_float8_no_overflow, value));
		default:
			return NAN;
	}
}

/* Return how far date_trunc() can go back, NaN if this is not known */
static double
comb_unit_width(const text *unit)
{
	char	   *name = downcase_truncate_identifier(VARDATA_ANY(unit), VARSIZE_ANY_EXHDR(unit), false);
	int			value;

	if (DecodeUnits(0, name, &value) != UNITS || value >= (int) lengthof(comb_unit_hours) || comb_unit_hours[value] == 0)
		return NAN;
	return comb_unit_hours[value] * (double) USECS_PER_HOUR;
}

/*
 * Return the largest or the smallest offset of a zone from UTC near a time, NaN if the
 * name is that of no zone, or only an abbreviation.  PostgreSQL looks for abbreviations
 * first, so ask it, too, what the name means.
 */
static double
comb_zone_offset(Datum zone, double at, bool largest)
{
	char		name[TZ_STRLEN_MAX + 1];
	pg_tz	   *tz;
	TimestampTz start;
	TimestampTz end;
	TimestampTz sample;
	pg_time_t	from;
	pg_time_t	boundary;
	double		result = 0;

	text_to_cstring_buffer(DatumGetTextPP(zone), name, sizeof(name));
	tz = pg_tzset(name);
	if (tz == NULL || !(fabs(at) < COMB_COUNTABLE))
		return NAN;
	start = (TimestampTz) at - COMB_ZONE_REACH;
	end = (TimestampTz) at + COMB_ZONE_REACH;
	for (sample = start; sample <= end; sample += end - start)
	{
		double		offset = DatumGetTimestamp(DirectFunctionCall2(timestamptz_zone, zone, TimestampTzGetDatum(sample))) - sample;

		if (sample == start || (offset > result) == largest)
			result = offset;
	}
	for (from = timestamptz_to_time_t(start); from < timestamptz_to_time_t(end); from = boundary)
	{
		long int	before;
		long int	after;
		int			isdst;

		if (pg_next_dst_boundary(&from, &before, &isdst, &boundary, &after, &isdst, tz) <= 0)
			boundary = timestamptz_to_time_t(end);
		if ((before * (double) USECS_PER_SEC > result) == largest)
			result = before * (double) USECS_PER_SEC;
	}
	return result;
}

/* Add a zone's offset to a period, or subtract it */
static void
comb_add_offset(Datum zone, int sign, double *first, double *last)
{
	*first += sign * comb_zone_offset(zone, *first, sign < 0);
	*last += sign * comb_zone_offset(zone, *last, sign > 0);
}

/*
 * Can this argument of a wrapper be the time?  Not the zone or the unit, and not the
 * interval or the days that are added to another time.
 */
static inline bool
comb_takes_time(Oid first, Oid type, int argno)
{
	return first == TEXTOID ? argno == 1 : type == first;
}

/* Which argument is the one that is NULL?  -1 if not just one is, if types differ, or if it takes no time. */
static int
comb_time_argument(FunctionCallInfo fcinfo, const Oid *types, int nargs)
{
	int			time = -1;
	int			i;

	for (i = 0; i < nargs; i++)
	{
		if (PG_NARGS() != nargs + COMB_OWN_ARGS ||
			get_fn_expr_argtype(fcinfo->flinfo, COMB_OWN_ARGS + i) != types[i] ||
			(PG_ARGISNULL(COMB_OWN_ARGS + i) && time >= 0))
			return -1;
		if (PG_ARGISNULL(COMB_OWN_ARGS + i))
			time = i;
	}
	return time >= 0 && comb_takes_time(types[0], types[time], time) ? time : -1;
}

/* What a call had for arguments last, and the result, in a context of their own */
typedef struct CombUnwrapped
{
	MemoryContext context;
	pg_tz	   *zone;			/* the session's, NULL before the first result */
	NullableDatum result;
	NullableDatum args[COMB_MAX_ARGS];
	int16		typlen[COMB_MAX_ARGS];
	bool		typbyval[COMB_MAX_ARGS];
} CombUnwrapped;

static NullableDatum
comb_keep(NullableDatum value, bool typbyval, int typlen)
{
	if (!value.isnull)
		value.value = datumCopy(value.value, typbyval, typlen);
	return value;
}

/* Is the call one with the arguments of the last one, in its zone? */
static bool
comb_is_kept(const CombUnwrapped *kept, FunctionCallInfo fcinfo)
{
	int			i;

	for (i = 0; i < PG_NARGS() && kept->zone == session_timezone; i++)
	{
		if (kept->args[i].isnull != PG_ARGISNULL(i) ||
			(!PG_ARGISNULL(i) && !datumIsEqual(kept->args[i].value, PG_GETARG_DATUM(i),
											   kept->typbyval[i], kept->typlen[i])))
			return false;
	}
	return kept->zone == session_timezone;
}

static CombUnwrapped *
comb_kept_create(FmgrInfo *flinfo, int nargs)
{
	CombUnwrapped *kept = MemoryContextAllocZero(flinfo->fn_mcxt, sizeof(CombUnwrapped));
	int			i;

	kept->context = AllocSetContextCreate(flinfo->fn_mcxt, "comb_unwrap", ALLOCSET_SMALL_SIZES);
	for (i = 0; i < nargs; i++)
		get_typlenbyval(get_fn_expr_argtype(flinfo, i), &kept->typlen[i], &kept->typbyval[i]);
	return kept;
}

/*
 * comb_unwrap(value "any", strategy integer, wrapper regprocedure, VARIADIC arguments "any")
 * returns tstzrange
 *
 * Return a period with all times of which the wrapper makes something that compares so with
 * the value, by btree's strategy, or with one of the times in the period "value".  The
 * arguments are those of the wrapper, with NULL in the place of the time.  Times without
 * a zone stand in a period as if they were UTC.
 *
 * An end is open if it cannot be computed, or is more than 285 years from 2000.  Returns
 * NULL if the value or another argument is NULL, or if this is no wrapper with these
 * arguments.  No input raises an error.
 */
static Datum
comb_compute(FunctionCallInfo fcinfo)
{
	CombWrapper wrapper = PG_ARGISNULL(2) ? COMB_NO_WRAPPER : comb_wrapper(PG_GETARG_OID(2));
	Oid			type = get_fn_expr_argtype(fcinfo->flinfo, 0);
	int			strategy = PG_GETARG_INT32(1);
	bool		zoned = wrapper != COMB_SECONDS;
	Datum		zone = (Datum) 0;
	double		shift = 0;
	double		slack = 0;
	double		width = 0;
	int			time = -1;
	int			nargs;
	Oid		   *types;
	Oid			result;
	double		first;
	double		last;
	RangeBound	lower = {.inclusive = true};
	RangeBound	upper = {.inclusive = true};

	if (wrapper != COMB_NO_WRAPPER && !PG_ARGISNULL(0) && !PG_ARGISNULL(1))
	{
		result = get_func_signature(PG_GETARG_OID(2), &types, &nargs);
		time = comb_time_argument(fcinfo, types, nargs);
	}
	if (time < 0)
		PG_RETURN_NULL();

	first = last = comb_microseconds(type, PG_GETARG_DATUM(0));
	if (type == TSTZRANGEOID)
	{
		CombPeriod	period = comb_period(PG_GETARG_DATUM(0));

		first = comb_counted((double) period.first);
		last = comb_counted((double) period.last);
	}
	if (strategy < BTEqualStrategyNumber)
		first = -INFINITY;
	else if (strategy > BTEqualStrategyNumber)
		last = INFINITY;

	/* what is before a day is before its begin */
	if (wrapper == COMB_CAST && result == DATEOID && !(type == DATEOID && strategy == BTLessStrategyNumber))
		width = USECS_PER_DAY;
	else if (wrapper == COMB_IN_ZONE)
		zone = PG_GETARG_DATUM(COMB_OWN_ARGS);
	else if (wrapper == COMB_TRUNC)
	{
		width = comb_unit_width(PG_GETARG_TEXT_PP(COMB_OWN_ARGS));
		zone = nargs > 2 ? PG_GETARG_DATUM(COMB_OWN_ARGS + 2) : zone;
	}
	else if (wrapper == COMB_SECONDS)
	{
		shift = types[1] == INTERVALOID ? 0 : -COMB_EPOCH;
		slack = COMB_SECONDS_SLACK;
	}
	else if (wrapper == COMB_PLUS || wrapper == COMB_MINUS)
	{
		Datum		other = PG_GETARG_DATUM(COMB_OWN_ARGS + 1 - time);
		int			sign = wrapper == COMB_PLUS ? -1 : 1;

		if (time == 1)
		{
			double		swap = first;

			first = -last;
			last = -swap;
		}
		if (types[1 - time] == INTERVALOID)
		{
			const Interval *span = DatumGetIntervalP(other);

			/* hours pass anywhere, days and months on the zone's clock */
			first += sign * comb_counted((double) span->time);
			last += sign * comb_counted((double) span->time);
			shift = sign * (span->month * COMB_MONTH_DAYS + span->day) * USECS_PER_DAY;
			slack = span->month != 0 ? COMB_MONTHS_SLACK : 0;
			zoned = span->month != 0 || span->day != 0;
		}
		else
		{
			shift = sign * comb_microseconds(types[1 - time], other);
			zoned = false;
		}
	}

	if (zone == 0)
		zone = CStringGetTextDatum(pg_get_timezone_name(session_timezone));
	if (zoned && result == TIMESTAMPTZOID)
		comb_add_offset(zone, 1, &first, &last);
	first += shift - slack;
	last += shift + slack + width;
	if (zoned && types[time] == TIMESTAMPTZOID)
		comb_add_offset(zone, -1, &first, &last);

	lower.lower = true;
	lower.infinite = !(fabs(first) < COMB_COUNTABLE);
	upper.infinite = !(fabs(last) < COMB_COUNTABLE);
	if (!lower.infinite)
		lower.val = TimestampTzGetDatum((TimestampTz) floor(first));
	if (!upper.infinite)
		upper.val = TimestampTzGetDatum((TimestampTz) ceil(last));
	PG_RETURN_RANGE_P(range_serialize(lookup_type_cache(TSTZRANGEOID, TYPECACHE_RANGE_INFO), &lower, &upper, false, NULL));
}

/* Where no index has the key, a scan asks for each row, and names of zones are in files */
Datum
comb_unwrap(PG_FUNCTION_ARGS)
{
	CombUnwrapped *kept = fcinfo->flinfo->fn_extra;
	NullableDatum result;
	MemoryContext caller;
	int			i;

	if (PG_NARGS() > COMB_MAX_ARGS)
		PG_RETURN_NULL();
	if (kept == NULL)
		fcinfo->flinfo->fn_extra = kept = comb_kept_create(fcinfo->flinfo, PG_NARGS());
	if (!comb_is_kept(kept, fcinfo))
	{
		kept->zone = NULL;
		result.value = comb_compute(fcinfo);
		result.isnull = fcinfo->isnull;
		MemoryContextReset(kept->context);
		caller = MemoryContextSwitchTo(kept->context);
		for (i = 0; i < PG_NARGS(); i++)
			kept->args[i] = comb_keep(fcinfo->args[i], kept->typbyval[i], kept->typlen[i]);
		kept->result = comb_keep(result, false, -1);
		MemoryContextSwitchTo(caller);
		kept->zone = session_timezone;
	}
	result = comb_keep(kept->result, false, -1);
	fcinfo->isnull = result.isnull;
	return result.value;
}

/*
 * Take a wrapper of the time of a key apart, and return which argument has the time, or
 * -1 for all other expressions
 */
static int
comb_take_off(PlannerInfo *root, Node *node, Oid *funcid, List **args)
{
	const Const *field;
	int			time = 0;

	if (!IsA(node, FuncExpr) && !IsA(node, OpExpr))
		return -1;
	*funcid = IsA(node, FuncExpr) ? ((FuncExpr *) node)->funcid : ((OpExpr *) node)->opfuncid;
	*args = IsA(node, FuncExpr) ? ((FuncExpr *) node)->args : ((OpExpr *) node)->args;
	if (comb_wrapper(*funcid) == COMB_NO_WRAPPER)
		return -1;
	field = linitial(*args);
	if (comb_wrapper(*funcid) == COMB_SECONDS &&
		(!IsA(field, Const) || field->constisnull || strcmp(TextDatumGetCString(field->constvalue), "epoch") != 0))
		return -1;
	while (time < list_length(*args) && !comb_reads_time(list_nth(*args, time), root))
		time++;
	return time < list_length(*args) &&
		comb_takes_time(exprType(linitial(*args)), exprType(list_nth(*args, time)), time) ? time : -1;
}

/* Return the period of which a wrapper makes the value, NULL before version 1.2 */
static Node *
comb_unwrap_call(PlannerInfo *root, Node *value, int strategy, Oid funcid, List *args, int time)
{
	List	   *list = copyObject(args);

	list_nth_cell(list, time)->ptr_value = makeNullConst(exprType(list_nth(args, time)), -1, InvalidOid);
	list = lcons(makeConst(REGPROCEDUREOID, -1, InvalidOid, sizeof(Oid), ObjectIdGetDatum(funcid), false, true), list);
	list = lcons(makeConst(INT4OID, -1, InvalidOid, sizeof(int32), Int32GetDatum(strategy), false, true), list);
	return comb_call(root, COMB_UNWRAP, lcons(copyObject(value), list));
}

/*
 * Return a period with all times of a key for which a comparison is true, NULL if
 * argument "right" does not wrap this time.  Sets the strategy of btree by which the period
 * compares.
 */
Node *
comb_wrapped_period(PlannerInfo *root, const OpExpr *op, int right, int *strategy, CombKey *key)
{
	Node	   *node = list_nth(op->args, right);
	Node	   *value = list_nth(op->args, 1 - right);
	Oid			funcid;
	List	   *args;
	int			time = comb_take_off(root, node, &funcid, &args);
	Oid			type;

	if (time < 0)
		return NULL;
	type = exprType(node);
	*strategy = get_op_opfamily_strategy(op->opno, lookup_type_cache(type, TYPECACHE_BTREE_OPFAMILY)->btree_opf);
	if (*strategy == 0)
		return NULL;
	if (right)
		*strategy = BTMaxStrategyNumber + 1 - *strategy;

	/* a comparison of an instant with a clock's time casts one of them */
	if ((type == TIMESTAMPTZOID) != (exprType(value) == TIMESTAMPTZOID))
		value = comb_unwrap_call(root, value, *strategy, type == TIMESTAMPTZOID ? F_TIMESTAMP_TIMESTAMPTZ :
								 type == DATEOID ? F_TIMESTAMPTZ_DATE : F_TIMESTAMPTZ_TIMESTAMP, list_make1(node), 0);
	while (value && !comb_time_call(root, node, key))
	{
		time = comb_take_off(root, node, &funcid, &args);
		if (time < 0)
			return NULL;
		value = comb_unwrap_call(root, value, *strategy, funcid, args, time);
		node = list_nth(args, time);

		/* the later the time, the less a subtraction leaves */
		if (time == 1 && comb_wrapper(funcid) == COMB_MINUS)
			*strategy = BTMaxStrategyNumber + 1 - *strategy;
	}
	return value;
}
