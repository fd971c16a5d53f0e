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
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/timestamp.h"

#include "comb_call.h"

PG_FUNCTION_INFO_V1(comb_range_min);
PG_FUNCTION_INFO_V1(comb_range_max);
PG_FUNCTION_INFO_V1(comb_bound_min);
PG_FUNCTION_INFO_V1(comb_bound_max);
PG_FUNCTION_INFO_V1(comb_contained);
PG_FUNCTION_INFO_V1(comb_contains);
PG_FUNCTION_INFO_V1(comb_created_layout);
PG_FUNCTION_INFO_V1(comb_recheck);
PG_FUNCTION_INFO_V1(comb_recheck_layout);
PG_FUNCTION_INFO_V1(comb_in_range);

/*
 * comb_range_min(period tstzrange [, layout text]) returns uuid
 * comb_range_max(period tstzrange [, layout text]) returns uuid
 *
 * Return the smallest and the largest key of the layout, UUIDv7 by default,
 * whose time is in the period, in the order of the database that the layout is
 * made for.  If no key has such a time, the first is all ones and the last all
 * zeros, so that no value is between the two in any order of the bytes.  Raises
 * 0A000 for a layout that no database sorts by time, and 22023 for an unknown
 * layout.  Without a layout, no input raises an error.
 *
 * comb_bound_min(period tstzrange, layout text) returns uuid
 * comb_bound_max(period tstzrange, layout text) returns uuid
 *
 * The same, but NULL for these layouts.  An error would show the label, and the
 * functions could not be leakproof.
 */
static Datum
comb_period_end(FunctionCallInfo fcinfo, bool last, bool raises)
{
	const CombLayout *layout = comb_layout_default;
	CombPeriod	period = comb_period(PG_GETARG_DATUM(0));
	pg_uuid_t  *min = (pg_uuid_t *) palloc(UUID_LEN);
	pg_uuid_t  *max = (pg_uuid_t *) palloc(UUID_LEN);

	if (PG_NARGS() > 1)
		layout = comb_layout_arg_extended(fcinfo, 1, !raises);
	if (!raises && (layout == NULL || layout->sorts_in == COMB_SORTS_NOWHERE))
		PG_RETURN_NULL();
	comb_check_sorts(layout);
	if (period.first > period.last ||
		!comb_lower_bound(layout, min->data, period.first) ||
		!comb_upper_bound(layout, max->data, period.last))
	{
		memset(min->data, 0xff, UUID_LEN);
		memset(max->data, 0x00, UUID_LEN);
	}
	PG_RETURN_UUID_P(last ? max : min);
}

Datum
comb_range_min(PG_FUNCTION_ARGS)
{
	return comb_period_end(fcinfo, false, true);
}

Datum
comb_range_max(PG_FUNCTION_ARGS)
{
	return comb_period_end(fcinfo, true, true);
}

Datum
comb_bound_min(PG_FUNCTION_ARGS)
{
	return comb_period_end(fcinfo, false, false);
}

Datum
comb_bound_max(PG_FUNCTION_ARGS)
{
	return comb_period_end(fcinfo, true, false);
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
 * comb_in_range(id uuid, period tstzrange [, layout text]) returns boolean
 *
 * Raises 0A000.  Plans of version 1.0 called it.  The update to 1.1 drops it, but
 * pg_upgrade creates the functions of 1.0 before that.
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
