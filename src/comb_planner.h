/*-------------------------------------------------------------------------
 *
 * comb_planner.h
 *	  "Created during": periods, and what the planner makes of conditions and
 *	  orders of keys' times.
 *
 * Copyright (c) 2026, pg_comb developers
 *
 * IDENTIFICATION
 *	  src/comb_planner.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef COMB_PLANNER_H
#define COMB_PLANNER_H

#include "nodes/nodeFuncs.h"
#include "nodes/pathnodes.h"
#include "utils/lsyscache.h"
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

/* What one of our functions does in a condition */
typedef enum CombRole
{
	COMB_IN_PERIOD,				/* compares a key with a period */
	COMB_HAS_TIME,				/* the same, where a plan has bounds */
	COMB_TIME,					/* returns the time of a key */
	COMB_PERIOD_END,			/* returns an end of a period as a key */
	COMB_HELPER					/* is only called by plans */
} CombRole;

typedef struct CombFunction
{
	const char *symbol;			/* its name in C */
	PGFunction	code;
	CombRole	role;
	bool		labelled;		/* its last argument is a layout */
} CombFunction;

/* A call, taken apart */
typedef struct CombCall
{
	const CombFunction *function;
	Oid			funcid;			/* its schema has the extension's functions */
	Node	   *key;
	Node	   *period;			/* NULL if the function has none */
	List	   *label;			/* the layout's, or NIL */
	const CombLayout *layout;
	Oid			family;			/* btree's family of the key's order */
} CombCall;

/* Is the expression of this type, or of a domain over this type? */
static inline bool
comb_is_of_type(Node *arg, Oid type)
{
	Oid			argtype = exprType(arg);

	return argtype == type || getBaseType(argtype) == type;
}

extern const CombFunction *comb_function(Oid funcid);
extern bool comb_may_execute(PlannerInfo *root, Oid funcid);
extern Node *comb_as_time(PlannerInfo *root, const CombCall *call, Node *other);
extern List *comb_call_args(const Node *node);
extern Node *comb_call_key(const CombCall *call);
extern const Var *comb_key_column(const CombCall *call);
extern Node *comb_call_period(const CombCall *call);
extern Node *comb_compare_key(const CombCall *call, int strategy, Node *value);
extern Node *comb_has_time(PlannerInfo *root, const CombCall *call);
extern Node *comb_make_call(PlannerInfo *root, const CombCall *call,
							const char *name, Oid rettype, List *args);
extern bool comb_period_clause(CombCall *call, Node *clause);
extern bool comb_take_apart(CombCall *call, Oid funcid, List *args);
extern bool comb_time_call(CombCall *call, Node *node);
extern Node *comb_time_bound(PlannerInfo *root, const CombCall *call, Node *at,
							 bool max);
extern int	comb_time_strategy(Oid opno, bool right);

/* comb_newest.c */
extern void comb_add_newest(PlannerInfo *root, const RelOptInfo * rel);
extern void comb_add_pages(PlannerInfo *root, List **clauses);

/* comb_planner.c */
extern void comb_add_ranges(PlannerInfo *root, RelOptInfo * rel);

#endif							/* COMB_PLANNER_H */
