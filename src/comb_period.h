/*-------------------------------------------------------------------------
 *
 * comb_period.h
 *	  "Created during": periods, and clauses that compare keys with periods.
 *
 * Four files share this header, and depend on each other in one direction.
 * comb_support.c answers the planner's requests, and asks comb_selfuncs.c how
 * many rows a clause finds.  Both use comb_clause.c to read and build
 * clauses.  All three use comb_period.c.
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
#include "nodes/supportnodes.h"
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

/* comb_period.c */
extern pg_uuid_t *comb_period_bound(const CombLayout *layout, Datum range,
									bool last);

/*
 * The code of the functions in clauses and plans.  comb_clause.c tells the
 * extension's own functions by their code.
 */
extern PGDLLEXPORT Datum comb_contained(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum comb_contains(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum comb_created_layout(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum comb_in_range(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum comb_mssql_ge(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum comb_mssql_le(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum comb_range_max(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum comb_range_min(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum comb_recheck_layout(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum comb_timestamp(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum comb_timestamp_layout(PG_FUNCTION_ARGS);

/* A call of a function that compares a key with a period, taken apart */
typedef struct CombClause
{
	Node	   *id;
	Node	   *period;
	Node	   *label;			/* of the layout, NULL for the default */
	const CombLayout *layout;
	Oid			funcid;			/* its schema has the extension's functions */
} CombClause;

/* comb_clause.c */
extern bool comb_clause(CombClause *clause, Oid funcid, List *args);
extern bool comb_clause_allowed(const CombClause *clause);
extern Var *comb_clause_var(const CombClause *clause);
extern Node *comb_clause_period(const CombClause *clause);
extern Node *comb_clause_recheck(const CombClause *clause);
extern Node *comb_clause_in_range(const CombClause *clause);
extern Node *comb_clause_has_time(const CombClause *clause);
extern List *comb_clause_bounds(const CombClause *clause, Oid ge, Oid le);
extern bool comb_layout_operators(const CombClause *clause, Oid *ge, Oid *le);
extern bool comb_family_operators(const CombClause *clause, Oid opfamily,
								  Oid *ge, Oid *le);

/* comb_selfuncs.c */
extern void comb_selectivity(SupportRequestSelectivity *req, bool recheck);

#endif							/* COMB_PERIOD_H */
