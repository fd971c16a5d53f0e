/*-------------------------------------------------------------------------
 *
 * comb_period.h
 *	  "Created during": periods, and clauses that compare keys with periods.
 *
 * comb_period.c has the functions that users call.  comb_call.c recognizes
 * them in queries, comb_selfuncs.c estimates how many keys are in a period, and
 * comb_planner.c puts ranges of keys into plans.
 *
 * Copyright (c) 2026, pg_comb developers
 *
 * IDENTIFICATION
 *	  src/comb_period.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef COMB_PERIOD_H
#define COMB_PERIOD_H

#include "nodes/pathnodes.h"
#include "utils/rangetypes.h"

#include "comb.h"

/*
 * A period as its first and last microsecond.  Instants are whole
 * microseconds, so every tstzrange has this form.  An empty period has
 * first > last.
 */
typedef struct CombPeriod
{
	int64		first;
	int64		last;
} CombPeriod;

/* Is the instant in the period? */
static inline bool
comb_in_period(const CombPeriod *period, int64 at)
{
	return period->first <= at && at <= period->last;
}

/* Is every instant in the period? */
static inline bool
comb_has_all_times(const CombPeriod *period)
{
	return period->first == PG_INT64_MIN && period->last == PG_INT64_MAX;
}

/*
 * The first and last microsecond of a tstzrange.
 *
 * Filters need this for every row, and range_deserialize() would be most of
 * what they cost.  So read the bytes here: the range type's oid, the lower and
 * the upper bound if there is one, and the flags.  A range from a column may
 * have a short header and unaligned bounds, hence memcpy().
 */
static inline CombPeriod
comb_period(Datum range)
{
	CombPeriod	period = {PG_INT64_MIN, PG_INT64_MAX};
	struct varlena *value = PG_DETOAST_DATUM_PACKED(range);
	const char *bound = VARDATA_ANY(value) + sizeof(Oid);
	char		flags = VARDATA_ANY(value)[VARSIZE_ANY_EXHDR(value) - 1];

	if (unlikely(flags & RANGE_EMPTY))
	{
		period.first = PG_INT64_MAX;
		period.last = PG_INT64_MIN;
		return period;
	}

	/* an exclusive bound at an infinity stays there: no key has this time */
	if (RANGE_HAS_LBOUND(flags))
	{
		memcpy(&period.first, bound, sizeof(TimestampTz));
		bound += sizeof(TimestampTz);
		if (!(flags & RANGE_LB_INC) && period.first < PG_INT64_MAX)
			period.first++;
	}
	if (RANGE_HAS_UBOUND(flags))
	{
		memcpy(&period.last, bound, sizeof(TimestampTz));
		if (!(flags & RANGE_UB_INC) && period.last > PG_INT64_MIN)
			period.last--;
	}
	return period;
}

/*
 * The code of the functions in clauses and plans.  comb_call.c recognizes
 * the extension's own functions by their code.
 */
extern PGDLLEXPORT Datum comb_bound_max(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum comb_bound_min(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum comb_contained(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum comb_contains(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum comb_created_layout(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum comb_instant_date(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum comb_instant_timestamp(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum comb_max(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum comb_min(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum comb_range_max(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum comb_range_min(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum comb_recheck(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum comb_recheck_layout(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum comb_timestamp(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum comb_timestamp_layout(PG_FUNCTION_ARGS);

/* comb_newest.c */
extern void comb_newest_init(void);

/* comb_planner.c */
extern void comb_add_ranges(PlannerInfo *root, RelOptInfo * rel);

#endif							/* COMB_PERIOD_H */
