/*-------------------------------------------------------------------------
 *
 * comb_range.c
 *	  "Created during": periods on the key itself, and what the planner
 *	  makes of them.
 *
 * id <@ period means comb_timestamp(id) <@ period, and false where the id has
 * no time.  The planner learns three things about it:
 *
 * - On an index that sorts as the layout does, it is a range of keys, from
 *	 comb_range_min(period) to comb_range_max(period).  The version bits are
 *	 not part of the order, so a v4 key may lie between the bounds; the range
 *	 is lossy, and the clause itself is checked again on what it finds.
 *
 * - For partitioned, inherited and foreign tables the clause is replaced by
 *
 *		id >= comb_range_min(period) AND id <= comb_range_max(period)
 *		AND comb_recheck(id, period)
 *
 *	 because pruning and shipping know nothing of support functions.  The
 *	 replacement is the same in three-valued logic, so it is good under NOT:
 *	 all three are strict, and the third alone implies the other two.
 *	 comb_recheck() is the clause by another name, one whose support function
 *	 does not replace it again: expressions are simplified more than once.  A
 *	 test of the version bits alone would not do, since for a NULL period and
 *	 a v4 key it would be false where the clause is NULL.
 *
 * - How many rows: periods are interpolated in the column's histogram by
 *	 time.  Core does not interpolate between uuids, it takes half a bin.
 *
 * Copyright (c) 2026, pg_comb developers
 *
 * IDENTIFICATION
 *	  src/comb_range.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>				/* for fabs(), sqrt() */

#include "access/htup_details.h"
#include "catalog/pg_am.h"
#include "catalog/pg_class.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_statistic.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/pathnodes.h"
#include "nodes/supportnodes.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rangetypes.h"
#include "utils/selfuncs.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"
#include "utils/typcache.h"

#include "comb.h"

PG_FUNCTION_INFO_V1(comb_range_min);
PG_FUNCTION_INFO_V1(comb_range_min_layout);
PG_FUNCTION_INFO_V1(comb_range_max);
PG_FUNCTION_INFO_V1(comb_range_max_layout);
PG_FUNCTION_INFO_V1(comb_contained);
PG_FUNCTION_INFO_V1(comb_contains);
PG_FUNCTION_INFO_V1(comb_created);
PG_FUNCTION_INFO_V1(comb_recheck_layout);
PG_FUNCTION_INFO_V1(comb_period_sel);
PG_FUNCTION_INFO_V1(comb_period_joinsel);
PG_FUNCTION_INFO_V1(comb_period_support);
PG_FUNCTION_INFO_V1(comb_recheck_support);

/* pg_operator.dat gives these no symbols: uuid >= uuid, uuid <= uuid */
#define COMB_UUID_GE_OP		2977
#define COMB_UUID_LE_OP		2976

/* How many rows ANALYZE takes for each bin of a histogram */
#define COMB_SAMPLE_PER_BIN	300

/*
 * A period as its first and last microsecond.  Instants are whole
 * microseconds, so every tstzrange has this form; an empty one has
 * first > last.
 */
typedef struct CombPeriod
{
	int64		first;
	int64		last;
} CombPeriod;

/* A call of one of the functions that compare keys with periods */
typedef struct CombClause
{
	Node	   *id;
	Node	   *period;
	Node	   *label;			/* of the layout, NULL for the default */
	const CombLayout *layout;
	Oid			funcid;			/* has the extension's other functions next to
								 * it */
} CombClause;

/*
 * What ANALYZE knows of a column of keys, as times.  The histogram's values
 * stand at equal shares of the rows, "histfrac" in all; those that have a
 * time of the layout are "times", in order.
 */
typedef struct CombStats
{
	double		nullfrac;
	double		histfrac;
	bool		have_hist;
	int			nbins;			/* of the histogram as it is */
	bool		sampled;		/* the table was larger than the sample */
	double		timefrac;		/* share of the histogram that has a time */
	int			ntimes;
	int64	   *times;
	bool		ends_in_time;	/* the histogram's last value has one */
	int			nmcv;			/* most common values that have a time */
	int64	   *mcv_times;
	float4	   *mcv_freqs;
	double		sumcommon;		/* frequency of all most common values */
} CombStats;

/*
 * Periods
 */

static CombPeriod
comb_period(const RangeType *range)
{
	/* never moves, and tstzrange never changes: looked up once per process */
	static TypeCacheEntry *typcache = NULL;
	CombPeriod	period = {PG_INT64_MIN, PG_INT64_MAX};
	RangeBound	lower;
	RangeBound	upper;
	bool		empty;

	if (typcache == NULL)
		typcache = lookup_type_cache(TSTZRANGEOID, TYPECACHE_RANGE_INFO);
	range_deserialize(typcache, range, &lower, &upper, &empty);
	if (empty)
	{
		period.first = PG_INT64_MAX;
		period.last = PG_INT64_MIN;
		return period;
	}

	/* at the infinities, which no key reaches, an open bound stays put */
	if (!lower.infinite)
	{
		period.first = DatumGetTimestampTz(lower.val);
		if (!lower.inclusive && period.first < PG_INT64_MAX)
			period.first++;
	}
	if (!upper.infinite)
	{
		period.last = DatumGetTimestampTz(upper.val);
		if (!upper.inclusive && period.last > PG_INT64_MIN)
			period.last--;
	}
	return period;
}

static inline bool
comb_in_period(const CombPeriod *period, int64 at)
{
	return period->first <= at && at <= period->last;
}

/*
 * First and last value of a period.  Where the layout has no value in it, the
 * first is all ones and the last all zeros, which are out of order for every
 * byte order.  The lower bound is read back because comb_lower_bound()'s "no
 * such value" is itself a value in layouts without version bits.
 */
static void
comb_period_bounds(const CombLayout *layout, const CombPeriod *period,
				   unsigned char *min, unsigned char *max)
{
	int64		at;

	if (period->first <= period->last)
	{
		comb_lower_bound(layout, min, period->first);
		comb_upper_bound(layout, max, period->last);
		if (period->last >= layout->codec->earliest &&
			comb_decode(layout, min, &at) && at >= period->first)
			return;
	}
	memset(min, 0xff, UUID_LEN);
	memset(max, 0x00, UUID_LEN);
}

static pg_uuid_t *
comb_period_bound(const CombLayout *layout, const RangeType *range, bool last)
{
	CombPeriod	period = comb_period(range);
	pg_uuid_t  *min = (pg_uuid_t *) palloc(UUID_LEN);
	pg_uuid_t  *max = (pg_uuid_t *) palloc(UUID_LEN);

	comb_period_bounds(layout, &period, min->data, max->data);
	return last ? max : min;
}

/*
 * comb_range_min(period tstzrange) returns uuid
 * comb_range_max(period tstzrange) returns uuid
 *
 * The smallest and the largest UUIDv7 whose time is in the period.  Where
 * there is none, the first is ffffffff-ffff-ffff-ffff-ffffffffffff and the
 * second the nil uuid, so that no key is between them.  No input raises an
 * error.
 */
Datum
comb_range_min(PG_FUNCTION_ARGS)
{
	PG_RETURN_UUID_P(comb_period_bound(comb_layout_default,
									   PG_GETARG_RANGE_P(0), false));
}

Datum
comb_range_max(PG_FUNCTION_ARGS)
{
	PG_RETURN_UUID_P(comb_period_bound(comb_layout_default,
									   PG_GETARG_RANGE_P(0), true));
}

/*
 * comb_range_min(period tstzrange, layout comb_layout) returns uuid
 * comb_range_max(period tstzrange, layout comb_layout) returns uuid
 *
 * The same for the keys of any layout, in the order of the database that the
 * layout is made for.  0A000 for a layout that no database sorts by time.
 */
Datum
comb_range_min_layout(PG_FUNCTION_ARGS)
{
	const CombLayout *layout = comb_layout_arg(fcinfo, 1);

	comb_check_sorts(layout);
	PG_RETURN_UUID_P(comb_period_bound(layout, PG_GETARG_RANGE_P(0), false));
}

Datum
comb_range_max_layout(PG_FUNCTION_ARGS)
{
	const CombLayout *layout = comb_layout_arg(fcinfo, 1);

	comb_check_sorts(layout);
	PG_RETURN_UUID_P(comb_period_bound(layout, PG_GETARG_RANGE_P(0), true));
}

static inline bool
comb_v7_in_range(const pg_uuid_t *id, const RangeType *range)
{
	CombPeriod	period;
	int64		at;

	if (!comb_v7_read(id->data, &at))
		return false;
	period = comb_period(range);
	return comb_in_period(&period, at);
}

/*
 * comb_contained(id uuid, period tstzrange) returns boolean
 * comb_created(id uuid, during tstzrange) returns boolean
 * comb_recheck(id uuid, period tstzrange) returns boolean
 * comb_contains(period tstzrange, id uuid) returns boolean
 *
 * Is the id a UUIDv7 whose time is in the period?  False, not NULL, for any
 * other uuid.  No input raises an error.
 */
Datum
comb_contained(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(comb_v7_in_range(PG_GETARG_UUID_P(0),
									PG_GETARG_RANGE_P(1)));
}

Datum
comb_contains(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(comb_v7_in_range(PG_GETARG_UUID_P(1),
									PG_GETARG_RANGE_P(0)));
}

static inline bool
comb_layout_in_range(const CombLayout *layout, const pg_uuid_t *id,
					 const RangeType *range)
{
	CombPeriod	period;
	int64		at;

	if (!comb_decode(layout, id->data, &at))
		return false;
	period = comb_period(range);
	return comb_in_period(&period, at);
}

/*
 * comb_created(id uuid, during tstzrange, layout comb_layout) returns boolean
 *
 * Is the time of the id, read as a key of the layout, in the period?  False
 * where the value cannot be one of the layout.  22023 for an unknown layout.
 */
Datum
comb_created(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(comb_layout_in_range(comb_layout_arg(fcinfo, 2),
										PG_GETARG_UUID_P(0),
										PG_GETARG_RANGE_P(1)));
}

/*
 * comb_recheck(id uuid, period tstzrange, layout comb_layout) returns boolean
 *
 * The same, but false for an unknown layout: an error would show the label, so
 * the function could not be leakproof, and would wait for row security.
 */
Datum
comb_recheck_layout(PG_FUNCTION_ARGS)
{
	const CombLayout *layout = comb_layout_arg_or_null(fcinfo, 2);

	PG_RETURN_BOOL(layout != NULL &&
				   comb_layout_in_range(layout, PG_GETARG_UUID_P(0),
										PG_GETARG_RANGE_P(1)));
}

/*
 * Clauses
 */

static inline bool
comb_is_of_type(Node *arg, Oid type)
{
	Oid			argtype = exprType(arg);

	return argtype == type || getBaseType(argtype) == type;
}

/*
 * The layout that a call names: the default where it names none, NULL where
 * the label is not known before the query runs, or not at all.
 */
static const CombLayout *
comb_clause_layout(Node *label)
{
	if (label == NULL)
		return comb_layout_default;
	if (!IsA(label, Const) || ((Const *) label)->constisnull ||
		!comb_is_of_type(label, TEXTOID))
		return NULL;
	return comb_layout_find(DatumGetTextPP(((Const *) label)->constvalue));
}

/*
 * Take a call apart, and tell whether it is one of a key and a period.  Every
 * type is looked at, since anyone can make an operator of any types with these
 * estimators, and what follows reads constants and statistics as the type says.
 */
static bool
comb_clause(CombClause *clause, Oid funcid, List *args)
{
	int			nargs = list_length(args);
	bool		reversed;

	if (nargs != 2 && nargs != 3)
		return false;
	reversed = !comb_is_of_type((Node *) linitial(args), UUIDOID);
	clause->id = (Node *) (reversed ? lsecond(args) : linitial(args));
	clause->period = (Node *) (reversed ? linitial(args) : lsecond(args));
	clause->label = nargs == 3 ? (Node *) lthird(args) : NULL;
	clause->funcid = funcid;
	if (!comb_is_of_type(clause->id, UUIDOID) ||
		!comb_is_of_type(clause->period, TSTZRANGEOID) ||
		get_func_rettype(funcid) != BOOLOID)
		return false;
	clause->layout = comb_clause_layout(clause->label);
	return clause->layout != NULL;
}

static inline bool
comb_may_execute(Oid funcid)
{
	return object_aclcheck(ProcedureRelationId, funcid, GetUserId(),
						   ACL_EXECUTE) == ACLCHECK_OK;
}

/*
 * Look up one of the extension's own functions by its namespace, which is the
 * one of the function being planned: search_path plays no part.  Not by
 * LookupFuncName(), which wants the user to have rights on the schema.
 */
static Oid
comb_function(const CombClause *clause, const char *name,
			  const Oid *argtypes, int nargs)
{
	return GetSysCacheOid3(PROCNAMEARGSNSP, Anum_pg_proc_oid,
						   CStringGetDatum(name),
						   PointerGetDatum(buildoidvector(argtypes, nargs)),
						   ObjectIdGetDatum(get_func_namespace(clause->funcid)));
}

static Oid
comb_operator(const CombClause *clause, const char *name)
{
	return GetSysCacheOid4(OPERNAMENSP, Anum_pg_operator_oid,
						   CStringGetDatum(name),
						   ObjectIdGetDatum(UUIDOID),
						   ObjectIdGetDatum(UUIDOID),
						   ObjectIdGetDatum(get_func_namespace(clause->funcid)));
}

/* The period as an argument of type tstzrange, which it may be a domain of */
static Node *
comb_period_arg(const CombClause *clause)
{
	Node	   *arg = clause->period;

	if (IsA(arg, RelabelType) &&
		comb_is_of_type((Node *) ((RelabelType *) arg)->arg, TSTZRANGEOID))
		arg = (Node *) ((RelabelType *) arg)->arg;
	arg = copyObject(arg);
	if (exprType(arg) == TSTZRANGEOID)
		return arg;
	if (IsA(arg, Const))
	{
		((Const *) arg)->consttype = TSTZRANGEOID;
		return arg;
	}
	return (Node *) makeRelabelType((Expr *) arg, TSTZRANGEOID, -1, InvalidOid,
									COERCE_IMPLICIT_CAST);
}

/*
 * A call of one of the extension's functions with the clause's period and,
 * unless it is the default, its layout; also with its key, for a recheck.
 * NULL where the user may not call it: the clause can be evaluated without.
 */
static Node *
comb_call(const CombClause *clause, const char *name, bool with_id)
{
	Oid			argtypes[3];
	List	   *args = NIL;
	int			nargs = 0;
	Oid			funcid;

	if (with_id)
	{
		argtypes[nargs++] = UUIDOID;
		args = lappend(args, copyObject(clause->id));
	}
	argtypes[nargs++] = TSTZRANGEOID;
	args = lappend(args, comb_period_arg(clause));
	if (clause->label)
	{
		argtypes[nargs++] = exprType(clause->label);
		args = lappend(args, copyObject(clause->label));
	}

	funcid = comb_function(clause, name, argtypes, nargs);
	if (!OidIsValid(funcid) || !comb_may_execute(funcid))
		return NULL;
	return (Node *) makeFuncExpr(funcid, with_id ? BOOLOID : UUIDOID, args,
								 InvalidOid, InvalidOid,
								 COERCE_EXPLICIT_CALL);
}

/*
 * First or last value of the clause's period: a constant where the period is
 * one, since nobody folds what a support function returns.
 */
static Node *
comb_bound_expr(const CombClause *clause, bool last)
{
	if (IsA(clause->period, Const))
	{
		Const	   *period = (Const *) clause->period;
		pg_uuid_t  *bound;

		if (period->constisnull)
			return NULL;
		bound = comb_period_bound(clause->layout,
								  DatumGetRangeTypeP(period->constvalue), last);
		return (Node *) makeConst(UUIDOID, -1, InvalidOid, UUID_LEN,
								  UUIDPGetDatum(bound), false, false);
	}

	return comb_call(clause, last ? "comb_range_max" : "comb_range_min", false);
}

static Expr *
comb_comparison(const CombClause *clause, Oid opno, bool last)
{
	Node	   *bound = comb_bound_expr(clause, last);
	OpExpr	   *result;

	if (bound == NULL)
		return NULL;
	result = (OpExpr *) make_opclause(opno, BOOLOID, false,
									  (Expr *) copyObject(clause->id),
									  (Expr *) bound, InvalidOid, InvalidOid);
	set_opfuncid(result);
	return (Expr *) result;
}

/* The operators >= and <= of the layout's own order, if there are such */
static bool
comb_layout_ops(const CombClause *clause, Oid *ge, Oid *le)
{
	if (clause->layout->sorts_in == COMB_SORTS_PLAIN)
	{
		*ge = COMB_UUID_GE_OP;
		*le = COMB_UUID_LE_OP;
		return true;
	}
	if (clause->layout->sorts_in != COMB_SORTS_MSSQL)
		return false;
	*ge = comb_operator(clause, "#>=#");
	*le = comb_operator(clause, "#<=#");
	return OidIsValid(*ge) && OidIsValid(*le);
}

/*
 * Those of an index's operator family, if it sorts as the layout does.  Told
 * by the functions of the members 4 and 2: those of btree, which BRIN's minmax
 * families and btree_gist's share, while hash, bloom and other orders have
 * none there or others.
 */
static bool
comb_family_ops(const CombClause *clause, Oid opfamily, Oid *ge, Oid *le)
{
	Oid			layout_ge;
	Oid			layout_le;

	*ge = get_opfamily_member(opfamily, UUIDOID, UUIDOID, 4);
	*le = get_opfamily_member(opfamily, UUIDOID, UUIDOID, 2);
	if (!OidIsValid(*ge) || !OidIsValid(*le) ||
		!comb_layout_ops(clause, &layout_ge, &layout_le))
		return false;
	return (*ge == layout_ge || get_opcode(*ge) == get_opcode(layout_ge)) &&
		(*le == layout_le || get_opcode(*le) == get_opcode(layout_le));
}

/* id >= first AND id <= last, by the given operators; NIL if impossible */
static List *
comb_bounds(const CombClause *clause, Oid ge, Oid le)
{
	Expr	   *lower = comb_comparison(clause, ge, false);
	Expr	   *upper = comb_comparison(clause, le, true);

	if (lower == NULL || upper == NULL)
		return NIL;
	return list_make2(lower, upper);
}

/*
 * Statistics
 */

static int
comb_time_cmp(const void *a, const void *b)
{
	int64		x = *(const int64 *) a;
	int64		y = *(const int64 *) b;

	return (x > y) - (x < y);
}

/* Planning a query decodes a few hundred values: the default layout's fast */
static inline bool
comb_stats_decode(const CombLayout *layout, Datum value, int64 *at)
{
	const unsigned char *id = DatumGetUUIDP(value)->data;

	return layout == comb_layout_default ? comb_v7_read(id, at) :
		comb_decode(layout, id, at);
}

static void
comb_stats_mcv(CombStats *stats, const AttStatsSlot *slot,
			   const CombLayout *layout)
{
	int			i;

	stats->mcv_times = (int64 *) palloc(sizeof(int64) * slot->nvalues);
	stats->mcv_freqs = (float4 *) palloc(sizeof(float4) * slot->nvalues);
	for (i = 0; i < slot->nvalues; i++)
	{
		stats->sumcommon += slot->numbers[i];
		if (comb_stats_decode(layout, slot->values[i],
							  &stats->mcv_times[stats->nmcv]))
			stats->mcv_freqs[stats->nmcv++] = slot->numbers[i];
	}
}

/*
 * For a layout whose order is not PostgreSQL's the histogram, which is in
 * PostgreSQL's, is nothing but a sample of the keys; sorted by time it serves
 * the same purpose, less exactly.
 */
static void
comb_stats_hist(CombStats *stats, const AttStatsSlot *slot,
				const CombLayout *layout)
{
	int			i;

	if (slot->nvalues == 0)
		return;
	stats->have_hist = true;
	stats->nbins = slot->nvalues - 1;
	stats->times = (int64 *) palloc(sizeof(int64) * slot->nvalues);
	for (i = 0; i < slot->nvalues; i++)
	{
		stats->ends_in_time = comb_stats_decode(layout, slot->values[i],
												&stats->times[stats->ntimes]);
		if (stats->ends_in_time)
			stats->ntimes++;
	}
	stats->timefrac = (double) stats->ntimes / slot->nvalues;
	if (layout->sorts_in != COMB_SORTS_PLAIN)
		qsort(stats->times, stats->ntimes, sizeof(int64), comb_time_cmp);
}

/*
 * The values of one kind of a column's statistics, if they are of the type, as
 * the column itself need not be: a cast can make one binary type of another.
 */
static bool
comb_stats_slot(AttStatsSlot *slot, HeapTuple statstuple, int kind, int flags,
				Oid type)
{
	if (!get_attstatsslot(slot, statstuple, kind, InvalidOid, flags))
		return false;
	if (getBaseType(slot->valuetype) == type)
		return true;
	free_attstatsslot(slot);
	return false;
}

/* False where nothing is known of the column */
static bool
comb_stats(CombStats *stats, VariableStatData *vardata,
		   const CombLayout *layout)
{
	AttStatsSlot slot;

	memset(stats, 0, sizeof(CombStats));
	/* comparing keys with bounds is leakproof, as F_UUID_GE is known to be */
	if (!HeapTupleIsValid(vardata->statsTuple) ||
		!statistic_proc_security_check(vardata, F_UUID_GE))
		return false;

	stats->nullfrac =
		((Form_pg_statistic) GETSTRUCT(vardata->statsTuple))->stanullfrac;
	if (comb_stats_slot(&slot, vardata->statsTuple, STATISTIC_KIND_MCV,
						ATTSTATSSLOT_VALUES | ATTSTATSSLOT_NUMBERS, UUIDOID))
	{
		comb_stats_mcv(stats, &slot, layout);
		free_attstatsslot(&slot);
	}
	if (comb_stats_slot(&slot, vardata->statsTuple, STATISTIC_KIND_HISTOGRAM,
						ATTSTATSSLOT_VALUES, UUIDOID))
	{
		comb_stats_hist(stats, &slot, layout);
		free_attstatsslot(&slot);
	}
	stats->sampled = vardata->rel == NULL ||
		vardata->rel->tuples > COMB_SAMPLE_PER_BIN * stats->nbins;
	stats->histfrac = Max(1.0 - stats->nullfrac - stats->sumcommon, 0.0);
	return stats->have_hist || stats->sumcommon > 0 || stats->nullfrac >= 1.0;
}

static inline double
comb_bin_width(const CombStats *stats, int bin)
{
	return (double) stats->times[bin + 1] - (double) stats->times[bin];
}

/* How many of the histogram's bins are before "at" */
static double
comb_bins_before(const CombStats *stats, int64 at)
{
	int			lo = 0;
	int			hi = stats->ntimes - 1;

	if (hi < 0 || at <= stats->times[0])
		return 0.0;
	if (at > stats->times[hi])
		return Max(hi, 1);

	/* find the bin: times[lo] < at <= times[hi] */
	while (hi - lo > 1)
	{
		int			mid = (lo + hi) / 2;

		if (stats->times[mid] < at)
			lo = mid;
		else
			hi = mid;
	}
	return lo + ((double) at - (double) stats->times[lo]) /
		comb_bin_width(stats, lo);
}

/*
 * Bins and the error of the sample.  ANALYZE takes 300 rows for a bin, so a
 * width is off by 1 / sqrt(300), 6 %, in the mean, and a day in a table of some
 * months is about as long as one bin: with the bins as they are, 6 days of
 * 100 are misjudged by more than 10 %; by this none of 1700 was.
 *
 * A line is laid through the times around a bin, six bins to a side at most: a
 * straight one, and where that does not fit, a parabola, for keys that come
 * ever faster or slower.  It is the straight one from the first to the last
 * time less a bulge of bend * k * (n - k).  It fits where it misses the times
 * by no more than chance explains: the k-th of n is off by sqrt(k * (n - k) /
 * n) times as much as a single bin's width, and 3.5 times that is allowed.
 * Where keys suddenly come faster or slower fewer bins are tried, and in the
 * end the bin is taken as it is.
 */
#define COMB_SMOOTH_BINS	6
#define COMB_SMOOTH_LIMIT	(3.5 / sqrt(COMB_SAMPLE_PER_BIN))

/* How far the k-th time is below the straight line through the window */
static inline double
comb_bulge(const int64 *times, int n, int k)
{
	double		length = (double) times[n] - (double) times[0];

	return length * k / n - ((double) times[k] - (double) times[0]);
}

/* The bend that fits best, by least squares */
static double
comb_window_bend(const int64 *times, int n)
{
	double		sum = 0.0;
	double		norm = 0.0;
	int			k;

	for (k = 1; k < n; k++)
	{
		double		weight = (double) k * (n - k);

		sum += weight * comb_bulge(times, n, k);
		norm += weight * weight;
	}
	return norm > 0.0 ? sum / norm : 0.0;
}

static bool
comb_window_fits(const int64 *times, int n, double bend)
{
	double		mean = ((double) times[n] - (double) times[0]) / n;
	int			k;

	for (k = 1; k < n; k++)
	{
		double		weight = (double) k * (n - k);

		if (fabs(comb_bulge(times, n, k) - bend * weight) >
			COMB_SMOOTH_LIMIT * mean * sqrt(weight / n))
			return false;
	}
	return true;
}

/* The width of a bin at a place in it, 0 to 1: the slope of the line there */
static double
comb_smooth_width(const CombStats *stats, int bin, double place)
{
	int			side;

	for (side = COMB_SMOOTH_BINS; side > 0; side--)
	{
		int			from = Max(bin - side, 0);
		int			n = Min(bin + side + 1, stats->ntimes - 1) - from;
		const int64 *times = stats->times + from;
		double		mean = ((double) times[n] - (double) times[0]) / n;
		double		bend;

		if (comb_window_fits(times, n, 0.0))
			return mean;
		bend = comb_window_bend(times, n);
		mean -= bend * (n - 2 * (bin - from + place));
		if (mean > 0.0 && comb_window_fits(times, n, bend))
			return mean;
	}
	return comb_bin_width(stats, bin);
}

/*
 * Share of the histogram's times that are in a period that begins in bin
 * "from" and ends in bin "to", by smoothed bins.  An empty bin is a single
 * time that is in the period as a whole.
 */
static double
comb_smooth_share(const CombStats *stats, const CombPeriod *period,
				  int from, int to)
{
	double		bins = 0.0;
	int			bin;

	for (bin = from; bin <= to; bin++)
	{
		double		width = comb_bin_width(stats, bin);
		double		start = Max((double) stats->times[bin],
								(double) period->first);
		double		end = Min((double) stats->times[bin + 1],
							  (double) period->last + 1);
		double		place = (start + end) / 2 - stats->times[bin];

		if (width <= 0)
			bins += 1;
		else if (end > start)
			bins += (end - start) /
				comb_smooth_width(stats, bin, place / width);
	}
	return bins / (stats->ntimes - 1);
}

/*
 * Share of the histogram's times that are in the period.  Over many bins
 * their errors cancel, and where the sample was the whole table there are
 * none.
 */
static double
comb_hist_share(const CombStats *stats, const CombPeriod *period)
{
	double		start = comb_bins_before(stats, period->first);
	double		end = Max(stats->ntimes - 1, 1);

	if (period->last < PG_INT64_MAX)
		end = comb_bins_before(stats, period->last + 1);
	if (stats->ntimes < 2)
		return stats->ntimes > 0 ? end - start : 0.0;
	if (!stats->sampled || end - start > 2 * COMB_SMOOTH_BINS || end <= start)
		return (end - start) / (stats->ntimes - 1);
	return comb_smooth_share(stats, period, (int) start,
							 Min((int) end, stats->ntimes - 2));
}

/* Share of the column's rows in the period */
static double
comb_share(const CombStats *stats, const CombPeriod *period)
{
	double		common = 0.0;
	double		share = 0.0;
	int			i;

	if (period->first > period->last)
		return 0.0;
	for (i = 0; i < stats->nmcv; i++)
	{
		if (comb_in_period(period, stats->mcv_times[i]))
			common += stats->mcv_freqs[i];
	}
	if (stats->have_hist)
		share = comb_hist_share(stats, period) * stats->timefrac;
	else if (stats->sumcommon > 0)
		share = common / stats->sumcommon;	/* the rest is as the common */
	return common + stats->histfrac * share;
}

/*
 * The share for periods that are not known, averaged over a column of periods
 * by its statistics.  The share of a period is a difference, share before its
 * end less share before its start, so the average only needs the two bounds'
 * own distributions, which is what the bounds histogram holds: its n-th value
 * is made of the n-th quantile of either.  Negative where it can't be told.
 */
static double
comb_average_share(const CombStats *stats, VariableStatData *vardata)
{
	AttStatsSlot slot;
	double		nullfrac;
	double		sum = 0.0;
	int			i;

	if (!HeapTupleIsValid(vardata->statsTuple) ||
		!statistic_proc_security_check(vardata, F_TIMESTAMP_CMP))
		return -1.0;
	nullfrac = ((Form_pg_statistic)
				GETSTRUCT(vardata->statsTuple))->stanullfrac;
	if (!comb_stats_slot(&slot, vardata->statsTuple,
						 STATISTIC_KIND_BOUNDS_HISTOGRAM,
						 ATTSTATSSLOT_VALUES, TSTZRANGEOID))
		return -1.0;
	if (slot.nvalues < 2)
	{
		free_attstatsslot(&slot);
		return -1.0;
	}
	for (i = 0; i < slot.nvalues; i++)
	{
		CombPeriod	period = comb_period(DatumGetRangeTypeP(slot.values[i]));
		double		share = comb_share(stats, &period);

		/* the outermost values stand for half as many rows */
		sum += (i == 0 || i == slot.nvalues - 1) ? share / 2 : share;
	}
	sum /= slot.nvalues - 1;
	free_attstatsslot(&slot);

	/* empty ranges are not in this histogram; their share is in another */
	if (get_attstatsslot(&slot, vardata->statsTuple,
						 STATISTIC_KIND_RANGE_LENGTH_HISTOGRAM, InvalidOid,
						 ATTSTATSSLOT_NUMBERS))
	{
		if (slot.nnumbers == 1)
			sum *= 1.0 - slot.numbers[0];
		free_attstatsslot(&slot);
	}
	return sum * (1.0 - nullfrac);
}

/*
 * Estimates
 */

/* What a caller of an estimator says about the place of the clause */
typedef struct CombPlace
{
	PlannerInfo *root;
	int			varRelid;
	JoinType	jointype;
	SpecialJoinInfo *sjinfo;
} CombPlace;

/* Core's estimate of the clause's range of keys, as the planner will make it */
static double
comb_core_sel(const CombPlace *place, const CombClause *clause)
{
	List	   *bounds;
	Oid			ge;
	Oid			le;

	if (!comb_layout_ops(clause, &ge, &le))
		return 1.0;
	bounds = comb_bounds(clause, ge, le);
	if (bounds == NIL)
		return 1.0;
	return clauselist_selectivity(place->root, bounds, place->varRelid,
								  place->jointype, place->sjinfo);
}

/*
 * A period that starts after all the times that ANALYZE saw, the usual one
 * for the newest keys.  Core looks up a column's end in its index, so its
 * estimate is the better one here; but not where other uuids are at that end,
 * since core takes them for keys of a period without one.
 */
static bool
comb_beyond_stats(const CombStats *stats, const CombPeriod *period)
{
	return period->first <= period->last && stats->ends_in_time &&
		period->first > stats->times[stats->ntimes - 1];
}

/*
 * Share of the rows of "idvar" that are in the clause's period, which is a
 * constant or something that ANALYZE may know, a column of another table.
 */
static double
comb_clause_sel(const CombPlace *place, CombClause *clause,
				VariableStatData *idvar)
{
	Node	   *value = estimate_expression_value(place->root, clause->period);
	CombStats	stats;
	double		sel = -1.0;

	if (IsA(value, Const) && ((Const *) value)->constisnull)
		return 0.0;
	if (!comb_stats(&stats, idvar, clause->layout))
		return DEFAULT_RANGE_INEQ_SEL;

	if (IsA(value, Const))
	{
		RangeType  *range = DatumGetRangeTypeP(((Const *) value)->constvalue);
		CombPeriod	period = comb_period(range);
		const CombCodec *codec = clause->layout->codec;

		if (period.first > codec->latest || period.last < codec->earliest)
			return 0.0;
		sel = comb_share(&stats, &period);
		if (clause->layout->sorts_in == COMB_SORTS_PLAIN &&
			comb_beyond_stats(&stats, &period))
		{
			clause->period = value;
			sel = Max(sel, comb_core_sel(place, clause));
		}
	}
	else
	{
		VariableStatData pvar;

		examine_variable(place->root, value, 0, &pvar);
		sel = comb_average_share(&stats, &pvar);
		ReleaseVariableStats(pvar);
	}
	if (sel < 0.0)
		sel = DEFAULT_RANGE_INEQ_SEL * (1.0 - stats.nullfrac);
	return sel;
}

/*
 * A known key against a column of periods: core's own estimate for the time
 * of the key.
 */
static double
comb_period_column_sel(const CombPlace *place, const CombClause *clause,
					   const Node *value)
{
	Node	   *column = comb_period_arg(clause);
	Const	   *at;
	int64		time;

	if (!IsA(value, Const) || !IsA(column, Var))
		return DEFAULT_RANGE_INEQ_SEL;
	if (((const Const *) value)->constisnull ||
		!comb_decode(clause->layout,
					 DatumGetUUIDP(((const Const *) value)->constvalue)->data,
					 &time))
		return 0.0;
	at = makeConst(TIMESTAMPTZOID, -1, InvalidOid, sizeof(TimestampTz),
				   TimestampTzGetDatum(time), false, FLOAT8PASSBYVAL);
	return DatumGetFloat8(OidFunctionCall4(F_RANGESEL,
										   PointerGetDatum(place->root),
										   ObjectIdGetDatum(OID_RANGE_CONTAINS_ELEM_OP),
										   PointerGetDatum(list_make2(column, at)),
										   Int32GetDatum(place->varRelid)));
}

/* Selectivity as a restriction, on one table given by varRelid if not zero */
static double
comb_restriction_sel(const CombPlace *place, CombClause *clause)
{
	VariableStatData vardata;
	Node	   *other;
	bool		varonleft;
	double		sel;

	if (!get_restriction_variable(place->root,
								  list_make2(clause->id, clause->period),
								  place->varRelid, &vardata, &other,
								  &varonleft))
		return DEFAULT_RANGE_INEQ_SEL;
	if (varonleft)
		sel = comb_clause_sel(place, clause, &vardata);
	else
		sel = comb_period_column_sel(place, clause, other);
	ReleaseVariableStats(vardata);
	return sel;
}

/*
 * Selectivity as a join clause.  For a semijoin it is the share of the outer
 * rows that find a partner, taken as certain as soon as one is expected.
 */
static double
comb_join_sel(const CombPlace *place, CombClause *clause)
{
	VariableStatData idvar;
	VariableStatData pvar;
	RelOptInfo *inner = NULL;
	double		sel;

	examine_variable(place->root, clause->id, 0, &idvar);
	examine_variable(place->root, clause->period, 0, &pvar);
	sel = comb_clause_sel(place, clause, &idvar);
	if (place->sjinfo &&
		(place->jointype == JOIN_SEMI || place->jointype == JOIN_ANTI))
	{
		Relids		rhs = place->sjinfo->syn_righthand;

		if (idvar.rel && bms_is_subset(idvar.rel->relids, rhs))
			inner = idvar.rel;
		else if (pvar.rel && bms_is_subset(pvar.rel->relids, rhs))
			inner = pvar.rel;
	}
	if (inner)
		sel *= Max(inner->rows, 1.0);
	ReleaseVariableStats(idvar);
	ReleaseVariableStats(pvar);
	return sel;
}

static double
comb_probability(double sel)
{
	CLAMP_PROBABILITY(sel);
	return sel;
}

/*
 * comb_period_sel(internal, oid, internal, integer) returns float8
 * comb_period_joinsel(internal, oid, internal, smallint, internal) returns float8
 *
 * Estimators of the operators <@ and @>.
 */
Datum
comb_period_sel(PG_FUNCTION_ARGS)
{
	CombPlace	place = {0};
	CombClause	clause;

	place.root = (PlannerInfo *) PG_GETARG_POINTER(0);
	place.varRelid = PG_GETARG_INT32(3);
	if (!comb_clause(&clause, get_opcode(PG_GETARG_OID(1)),
					 (List *) PG_GETARG_POINTER(2)))
		PG_RETURN_FLOAT8(DEFAULT_RANGE_INEQ_SEL);
	PG_RETURN_FLOAT8(comb_probability(comb_restriction_sel(&place, &clause)));
}

Datum
comb_period_joinsel(PG_FUNCTION_ARGS)
{
	CombPlace	place = {0};
	CombClause	clause;

	place.root = (PlannerInfo *) PG_GETARG_POINTER(0);
	place.jointype = (JoinType) PG_GETARG_INT16(3);
	place.sjinfo = (SpecialJoinInfo *) PG_GETARG_POINTER(4);
	if (!comb_clause(&clause, get_opcode(PG_GETARG_OID(1)),
					 (List *) PG_GETARG_POINTER(2)))
		PG_RETURN_FLOAT8(DEFAULT_RANGE_INEQ_SEL);
	PG_RETURN_FLOAT8(comb_probability(comb_join_sel(&place, &clause)));
}

/*
 * The same for a bare function call, whose operator's estimator nobody asks.
 *
 * comb_recheck() stands next to the range of keys it was made with, and the
 * planner multiplies the estimates of all its clauses.  The whole is what the
 * histogram says by time; the range is what core says; the recheck is what is
 * missing.  That can only make the whole smaller, and where both bounds are
 * in one bin of the histogram core's estimate is too small already.
 */
static Node *
comb_selectivity(SupportRequestSelectivity *req, bool recheck)
{
	CombPlace	place = {req->root, req->varRelid, req->jointype, req->sjinfo};
	CombClause	clause;
	double		sel;

	if (!comb_clause(&clause, req->funcid, req->args))
	{
		req->selectivity = DEFAULT_RANGE_INEQ_SEL;
		return (Node *) req;
	}
	if (req->is_join)
		sel = comb_join_sel(&place, &clause);
	else
		sel = comb_restriction_sel(&place, &clause);
	if (recheck && sel > 0.0)
		sel /= Max(comb_core_sel(&place, &clause), 1.0e-10);
	req->selectivity = comb_probability(sel);
	return (Node *) req;
}

/*
 * Planner support
 */

/*
 * Does the table belong to an access method other than heap?  Columnar ones
 * leave out what plain comparisons exclude, and know of no support functions.
 */
static bool
comb_is_not_heap(const RangeTblEntry *rte)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(rte->relid));
	Oid			am;

	if (!HeapTupleIsValid(tuple))
		return false;
	am = ((Form_pg_class) GETSTRUCT(tuple))->relam;
	ReleaseSysCache(tuple);
	return OidIsValid(am) && am != HEAP_TABLE_AM_OID;
}

/*
 * Is the key a column of a table where a range of keys does more than the
 * clause itself?  "inh" is only left set, when this is asked, for tables that
 * have children.  To a foreign server only core's operators can be sent.
 * Under row security a clause with a layout is not leakproof and would wait
 * for the policies, as would its index; the range does not.
 */
static bool
comb_can_prune(PlannerInfo *root, const CombClause *clause)
{
	Node	   *id = clause->id;
	RangeTblEntry *rte;
	Var		   *var;

	/* a domain over uuid */
	if (IsA(id, RelabelType))
		id = (Node *) ((RelabelType *) id)->arg;
	if (!IsA(id, Var))
		return false;
	var = (Var *) id;
	if (var->varlevelsup > 0 || IS_SPECIAL_VARNO(var->varno) ||
		(int) var->varno > list_length(root->parse->rtable))
		return false;
	rte = rt_fetch(var->varno, root->parse->rtable);
	if (rte->rtekind != RTE_RELATION)
		return false;
	if (rte->inh)
		return true;
	if (rte->relkind == RELKIND_FOREIGN_TABLE)
		return clause->layout->sorts_in == COMB_SORTS_PLAIN;
	return comb_is_not_heap(rte) ||
		(clause->label != NULL && root->qual_security_level > 0);
}

/*
 * May the period be evaluated three times instead of once?  Subplans are
 * looked for first because cost_qual_eval() takes no unplanned ones.  The
 * limit is that of core's own simplification of ranges.
 */
static bool
comb_can_repeat(PlannerInfo *root, Node *id, Node *period)
{
	QualCost	cost;

	if (IsA(period, Const))
		return true;
	if (contain_subplans(period) || contain_volatile_functions(period) ||
		expression_returns_set(period))
		return false;
	/* periods of the same row: nothing to prune */
	if (bms_overlap(pull_varnos(root, id), pull_varnos(root, period)))
		return false;
	cost_qual_eval_node(&cost, period, root);
	return cost.startup + cost.per_tuple <= 10 * cpu_operator_cost;
}

/*
 * Would the bounds have to wait for row security or a security barrier?  With
 * a layout they can raise errors, so they are not leakproof; where no column
 * goes into them, that does not matter.
 */
static bool
comb_would_wait(PlannerInfo *root, const CombClause *clause)
{
	return clause->label != NULL && root->qual_security_level > 0 &&
		contain_var_clause(clause->period);
}

/*
 * Does the range of keys say it all?  Every value between the bounds then is
 * one of the layout, and has a time.
 */
static bool
comb_range_is_exact(const CombLayout *layout)
{
	return !layout->versioned && !layout->codec->gaps;
}

/*
 * Replace the clause where that prunes; see the top of this file.  Not without
 * "root": then the expression is about to be stored, as an index's predicate
 * or a constraint, and must stay comparable with the clauses of queries.  Nor
 * where the user may not call the function: the replacement would allow it.
 */
static Node *
comb_simplify(SupportRequestSimplify *req)
{
	CombClause	clause;
	List	   *quals;
	Oid			ge;
	Oid			le;

	if (req->root == NULL ||
		!comb_clause(&clause, req->fcall->funcid, req->fcall->args) ||
		!comb_may_execute(clause.funcid) ||
		!comb_can_prune(req->root, &clause) ||
		!comb_can_repeat(req->root, clause.id, clause.period) ||
		comb_would_wait(req->root, &clause) ||
		!comb_layout_ops(&clause, &ge, &le))
		return NULL;

	quals = comb_bounds(&clause, ge, le);
	if (quals != NIL && !comb_range_is_exact(clause.layout))
	{
		Node	   *recheck = comb_call(&clause, "comb_recheck", true);

		quals = recheck ? lappend(quals, recheck) : NIL;
	}
	return quals ? (Node *) make_andclause(quals) : NULL;
}

/*
 * The clause as a range of keys in an index.  A period that is expensive is
 * welcome, since it is evaluated once per scan and not for every row.
 */
static List *
comb_index_condition(SupportRequestIndexCondition *req)
{
	CombClause	clause;
	List	   *args;
	Oid			ge;
	Oid			le;

	if (is_opclause(req->node))
		args = ((OpExpr *) req->node)->args;
	else if (is_funcclause(req->node))
		args = ((FuncExpr *) req->node)->args;
	else
		return NIL;

	if (!comb_clause(&clause, req->funcid, args) ||
		!comb_may_execute(clause.funcid) ||
		list_nth(args, req->indexarg) != clause.id ||
		!comb_family_ops(&clause, req->opfamily, &ge, &le) ||
		contain_subplans(clause.period) ||
		!is_pseudo_constant_for_index(req->root, clause.period, req->index))
		return NIL;
	req->lossy = !comb_range_is_exact(clause.layout);
	return comb_bounds(&clause, ge, le);
}

/*
 * comb_period_support(internal) returns internal
 * comb_recheck_support(internal) returns internal
 *
 * Planner support functions; NULL for requests they do not know.
 */
Datum
comb_period_support(PG_FUNCTION_ARGS)
{
	Node	   *req = (Node *) PG_GETARG_POINTER(0);
	void	   *answer = NULL;

	if (IsA(req, SupportRequestSimplify))
		answer = comb_simplify((SupportRequestSimplify *) req);
	else if (IsA(req, SupportRequestIndexCondition))
		answer = comb_index_condition((SupportRequestIndexCondition *) req);
	else if (IsA(req, SupportRequestSelectivity))
		answer = comb_selectivity((SupportRequestSelectivity *) req, false);
	PG_RETURN_POINTER(answer);
}

Datum
comb_recheck_support(PG_FUNCTION_ARGS)
{
	Node	   *req = (Node *) PG_GETARG_POINTER(0);
	void	   *answer = NULL;

	if (IsA(req, SupportRequestSelectivity))
		answer = comb_selectivity((SupportRequestSelectivity *) req, true);
	PG_RETURN_POINTER(answer);
}
