/*-------------------------------------------------------------------------
 *
 * comb_call.h
 *	  Periods, and calls of the extension's functions in conditions and plans.
 *
 * Copyright (c) 2026, pg_comb developers
 *
 *-------------------------------------------------------------------------
 */
#ifndef COMB_CALL_H
#define COMB_CALL_H

#include "nodes/nodeFuncs.h"
#include "nodes/pathnodes.h"
#include "utils/fmgroids.h"
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

/* The functions that conditions call, those that plans get, and the operators' */
typedef enum CombFunction
{
	COMB_TIMESTAMP, COMB_TIMESTAMP_LABEL,
	COMB_CONTAINED, COMB_CONTAINS, COMB_CREATED_LABEL,
	COMB_RECHECK, COMB_RECHECK_LABEL,
	COMB_LAST_CONDITION = COMB_RECHECK_LABEL,
	COMB_MIN, COMB_MAX,
	COMB_RANGE_MIN, COMB_RANGE_MAX,
	COMB_MSSQL_LT, COMB_MSSQL_LE, COMB_MSSQL_GE, COMB_MSSQL_GT,
	COMB_INSTANT_DATE, COMB_INSTANT_TIMESTAMP,
	COMB_BOUND_MIN, COMB_BOUND_MAX,
	COMB_UNWRAP,
	COMB_NFUNCTIONS,
	COMB_FIRST_OF_1_1 = COMB_INSTANT_DATE	/* 1.0 does not have the last
											 * ones, nor 1.1 the very last */
} CombFunction;

/* The key in a condition: a column of uuids, and what their layout is */
typedef struct CombKey
{
	Oid			funcid;			/* the function that the user calls */
	Node	   *id;				/* the column as a uuid */
	Var		   *column;
	List	   *label;			/* the layout's; NIL for UUIDv7 */
	const CombLayout *layout;
	Oid			family;			/* btree's family of the order of keys */
	bool		has_time;		/* the condition is comb_recheck() */
} CombKey;

/* What a condition says of a key */
typedef struct CombBounds
{
	CombKey		key;
	List	   *bounds;			/* comparisons of the key that it implies */
	bool		timed;			/* it implies that the key has a time, too */
	bool		exact;			/* all this is the condition */
} CombBounds;

/* Has a table the time of its keys in it? */
typedef enum CombStored
{
	COMB_NOT_STORED,
	COMB_STORED,
	COMB_SORTED					/* and rows in its order */
} CombStored;

/* Is this core's constructor of a tstzrange, which is never NULL? */
static inline bool
comb_is_range_call(Node *period)
{
	return IsA(period, FuncExpr) &&
		(((FuncExpr *) period)->funcid == F_TSTZRANGE_TIMESTAMPTZ_TIMESTAMPTZ ||
		 ((FuncExpr *) period)->funcid == F_TSTZRANGE_TIMESTAMPTZ_TIMESTAMPTZ_TEXT);
}

/* comb_call.c */
extern bool comb_take_apart(PlannerInfo *root, Oid funcid, List *args,
							CombKey *key, Node **period);
extern bool comb_period_clause(PlannerInfo *root, Node *clause, CombKey *key,
							   Node **period);
extern bool comb_time_call(PlannerInfo *root, Node *node, CombKey *key);
extern bool comb_reads_time(Node *node, void *root);
extern Oid	comb_time_family(void);
extern int	comb_time_strategy(Oid opno, bool right);
extern CombStored comb_stored_time(PlannerInfo *root, const CombKey *key,
								   Node *time, List *conditions);
extern bool comb_is_call(Node *node, CombFunction function);
extern Node *comb_call(PlannerInfo *root, CombFunction function, List *args);
extern Node *comb_as_time(PlannerInfo *root, Node *at);
extern Node *comb_compare_key(const CombKey *key, int strategy, Node *value);
extern Node *comb_has_time(PlannerInfo *root, const CombKey *key);

/* comb_unwrap.c */
extern Node *comb_wrapped_period(PlannerInfo *root, const OpExpr *op, int right,
								 int *strategy, CombKey *key);

/* comb_page.c */
extern bool comb_page_bounds(PlannerInfo *root, Node *clause,
							 CombBounds *found);

/* comb_newest.c */
extern void comb_order_by_key(PlannerInfo *root, Relids nullable,
							  List *conditions);

/* comb_planner.c */
extern void comb_add_ranges(PlannerInfo *root, RelOptInfo * rel);

#endif							/* COMB_CALL_H */
