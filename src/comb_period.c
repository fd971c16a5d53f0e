/*-------------------------------------------------------------------------
 *
 * comb_period.c
 *	  Periods, and the functions that compare keys with them.
 *
 * id <@ period means comb_timestamp(id) <@ period, and false where the id has
 * no time.
 *
 * Copyright (c) 2026, pg_comb developers
 *
 * IDENTIFICATION
 *	  src/comb_period.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/timestamp.h"

#include "comb_period.h"

PG_FUNCTION_INFO_V1(comb_range_min);
PG_FUNCTION_INFO_V1(comb_range_max);
PG_FUNCTION_INFO_V1(comb_bound_min);
PG_FUNCTION_INFO_V1(comb_bound_max);
PG_FUNCTION_INFO_V1(comb_contained);
PG_FUNCTION_INFO_V1(comb_contains);
PG_FUNCTION_INFO_V1(comb_created_layout);
PG_FUNCTION_INFO_V1(comb_recheck);
PG_FUNCTION_INFO_V1(comb_recheck_layout);
PG_FUNCTION_INFO_V1(comb_recheck_snowflake);
PG_FUNCTION_INFO_V1(comb_in_range);
PG_FUNCTION_INFO_V1(comb_times_min);
PG_FUNCTION_INFO_V1(comb_times_max);
PG_FUNCTION_INFO_V1(comb_contained_times);

/*
 * Compute the first and the last value of a period.  If the layout has no
 * value in the period, the first is all ones and the last all zeros, so that
 * no value is between the two in any order of the bytes.
 */
static void
comb_period_bounds(const CombLayout *layout, const CombPeriod *period,
				   unsigned char *min, unsigned char *max)
{
	if (period->first <= period->last &&
		comb_lower_bound(layout, min, period->first) &&
		comb_upper_bound(layout, max, period->last))
		return;
	memset(min, 0xff, UUID_LEN);
	memset(max, 0x00, UUID_LEN);
}

/* Return the first or the last value of a period, in the layout's order */
static pg_uuid_t *
comb_period_bound(const CombLayout *layout, CombPeriod period, bool last)
{
	pg_uuid_t  *min = (pg_uuid_t *) palloc(UUID_LEN);
	pg_uuid_t  *max = (pg_uuid_t *) palloc(UUID_LEN);

	comb_period_bounds(layout, &period, min->data, max->data);
	return last ? max : min;
}

/*
 * comb_range_min(period tstzrange [, layout text]) returns uuid
 * comb_range_max(period tstzrange [, layout text]) returns uuid
 *
 * Return the smallest and the largest key of the layout, UUIDv7 by default,
 * whose time is in the period, in the order of the database that the layout is
 * made for.  If no key has such a time, comb_range_min() returns
 * ffffffff-ffff-ffff-ffff-ffffffffffff and comb_range_max() the nil uuid, so
 * that no key is between the two.  Raises 0A000 for a layout that no database
 * sorts by time, and 22023 for an unknown layout.  Without a layout, no input
 * raises an error.
 */
Datum
comb_range_min(PG_FUNCTION_ARGS)
{
	const CombLayout *layout = comb_layout_arg_or_default(fcinfo, 1);

	comb_check_sorts(layout);
	PG_RETURN_UUID_P(comb_period_bound(layout, comb_period(PG_GETARG_DATUM(0)),
									   false));
}

Datum
comb_range_max(PG_FUNCTION_ARGS)
{
	const CombLayout *layout = comb_layout_arg_or_default(fcinfo, 1);

	comb_check_sorts(layout);
	PG_RETURN_UUID_P(comb_period_bound(layout, comb_period(PG_GETARG_DATUM(0)),
									   true));
}

/*
 * comb_bound_min(period tstzrange, layout text) returns uuid
 * comb_bound_max(period tstzrange, layout text) returns uuid
 *
 * The same, but NULL for an unknown layout, and for one that no database sorts
 * by time.  An error would show the label, and the functions could not be
 * leakproof.
 */
static Datum
comb_bound(FunctionCallInfo fcinfo, bool last)
{
	const CombLayout *layout = comb_layout_arg_extended(fcinfo, 1, true);

	if (layout == NULL || layout->sorts_in == COMB_SORTS_NOWHERE)
		PG_RETURN_NULL();
	PG_RETURN_UUID_P(comb_period_bound(layout, comb_period(PG_GETARG_DATUM(0)),
									   last));
}

Datum
comb_bound_min(PG_FUNCTION_ARGS)
{
	return comb_bound(fcinfo, false);
}

Datum
comb_bound_max(PG_FUNCTION_ARGS)
{
	return comb_bound(fcinfo, true);
}

/* Is the argument "idno" a UUIDv7 whose time is in the argument "periodno"? */
static inline bool
comb_v7_in_range(FunctionCallInfo fcinfo, int idno, int periodno)
{
	CombPeriod	period = comb_period(PG_GETARG_DATUM(periodno));
	int64		at;

	return comb_v7_read(PG_GETARG_UUID_P(idno)->data, &at) &&
		comb_in_period(&period, at);
}

/*
 * comb_contained(id uuid, period tstzrange) returns boolean
 * comb_contains(period tstzrange, id uuid) returns boolean
 * comb_recheck(id uuid, period tstzrange) returns boolean
 *
 * Is the id a UUIDv7 whose time is in the period?  Returns false, not NULL,
 * for any other uuid.  No input raises an error.
 */
Datum
comb_contained(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(comb_v7_in_range(fcinfo, 0, 1));
}

Datum
comb_contains(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(comb_v7_in_range(fcinfo, 1, 0));
}

Datum
comb_recheck(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(comb_v7_in_range(fcinfo, 0, 1));
}

/*
 * Return the period of four arguments: since and until, and whether the period
 * includes each.  A NULL leaves its side open.  Raises 22000, as the
 * constructor of ranges does.
 */
static CombPeriod
comb_times_arg(FunctionCallInfo fcinfo, int argno)
{
	CombPeriod	period = {PG_INT64_MIN, PG_INT64_MAX};

	if (!PG_ARGISNULL(argno))
		period.first = PG_GETARG_TIMESTAMPTZ(argno);
	if (!PG_ARGISNULL(argno + 1))
		period.last = PG_GETARG_TIMESTAMPTZ(argno + 1);
	if (period.first > period.last)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_EXCEPTION),
				 errmsg("range lower bound must be less than or equal to range upper bound")));
	if (!PG_GETARG_BOOL(argno + 2) && period.first > PG_INT64_MIN &&
		period.first < PG_INT64_MAX)
		period.first++;
	if (!PG_GETARG_BOOL(argno + 3) && period.last > PG_INT64_MIN &&
		period.last < PG_INT64_MAX)
		period.last--;
	return period;
}

/*
 * comb_range_min(since timestamptz, until timestamptz, with_since boolean,
 *				  with_until boolean) returns uuid
 * comb_bound_max(until, with_until) returns uuid
 * comb_contained(id uuid, since, until, with_since, with_until) returns boolean
 *
 * The same for the period between two times, which may be infinite.  Plans call
 * these with the arguments of tstzrange(), because to build a range takes ten
 * times as long as to compare two times.  For a time that is NULL the bounds
 * have an open side, while comb_contained() is strict, so that a condition
 * excludes rows without a key.  comb_bound_max() raises no error, and spares
 * each row of a sequential scan a "since".  The others raise 22000 if "since" is
 * after "until".
 */
Datum
comb_times_min(PG_FUNCTION_ARGS)
{
	if (PG_ARGISNULL(2) || PG_ARGISNULL(3))
		PG_RETURN_NULL();
	PG_RETURN_UUID_P(comb_period_bound(comb_layout_default,
									   comb_times_arg(fcinfo, 0), false));
}

Datum
comb_times_max(PG_FUNCTION_ARGS)
{
	CombPeriod	period = {PG_INT64_MIN, PG_INT64_MAX};

	if (PG_ARGISNULL(1))
		PG_RETURN_NULL();
	if (!PG_ARGISNULL(0))
		period.last = PG_GETARG_TIMESTAMPTZ(0);
	if (!PG_GETARG_BOOL(1) && period.last > PG_INT64_MIN &&
		period.last < PG_INT64_MAX)
		period.last--;
	PG_RETURN_UUID_P(comb_period_bound(comb_layout_default, period, true));
}

Datum
comb_contained_times(PG_FUNCTION_ARGS)
{
	CombPeriod	period = comb_times_arg(fcinfo, 1);
	int64		at;

	PG_RETURN_BOOL(comb_v7_read(PG_GETARG_UUID_P(0)->data, &at) &&
				   comb_in_period(&period, at));
}

static inline bool
comb_layout_in_range(const CombLayout *layout, const pg_uuid_t *id,
					 Datum range)
{
	CombPeriod	period;
	int64		at;

	if (!comb_decode(layout, id->data, &at))
		return false;
	period = comb_period(range);
	return comb_in_period(&period, at);
}

/*
 * comb_created(id uuid, period tstzrange, layout text) returns boolean
 *
 * Is the id a key of the layout whose time is in the period?  Returns false,
 * not NULL, for a uuid that no encoder of the layout could have made.  Raises
 * 22023 for an unknown layout.
 */
Datum
comb_created_layout(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(comb_layout_in_range(comb_layout_arg(fcinfo, 2),
										PG_GETARG_UUID_P(0),
										PG_GETARG_DATUM(1)));
}

/*
 * comb_recheck(id uuid, period tstzrange, layout text) returns boolean
 *
 * The same, but an unknown layout gives false.  An error would show the
 * label, so the function could not be leakproof.  Under row security,
 * PostgreSQL would then call the function only after the policies.
 */
Datum
comb_recheck_layout(PG_FUNCTION_ARGS)
{
	const CombLayout *layout = comb_layout_arg_extended(fcinfo, 2, true);

	PG_RETURN_BOOL(layout != NULL &&
				   comb_layout_in_range(layout, PG_GETARG_UUID_P(0),
										PG_GETARG_DATUM(1)));
}

/*
 * comb_recheck(id bigint) returns boolean
 *
 * Is the number a Snowflake?  Returns false for a negative number.  No input
 * raises an error.
 */
Datum
comb_recheck_snowflake(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(PG_GETARG_INT64(0) >= 0);
}

/*
 * comb_in_range(id uuid, period tstzrange [, layout text]) returns boolean
 *
 * Raises 0A000.  Plans of version 1.0 called it.  The script of 1.0 still
 * creates it, and the update to 1.1 drops it.
 */
Datum
comb_in_range(PG_FUNCTION_ARGS)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("comb_in_range() is no longer supported"),
			 errhint("Use ALTER EXTENSION pg_comb UPDATE.")));
	PG_RETURN_NULL();
}
