/*-------------------------------------------------------------------------
 *
 * comb_call.h
 *	  Calls of the extension's functions in conditions and plans.
 *
 * comb_call.c recognizes the calls and takes them apart.  comb_selfuncs.c,
 * comb_newest.c and comb_planner.c read them, for estimates and for what plans
 * compare.
 *
 * Copyright (c) 2026, pg_comb developers
 *
 * IDENTIFICATION
 *	  src/comb_call.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef COMB_CALL_H
#define COMB_CALL_H

#include "nodes/nodeFuncs.h"
#include "utils/lsyscache.h"

#include "comb_period.h"

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
extern bool comb_may_execute(Oid funcid);
extern Node *comb_as_time(PlannerInfo *root, const CombCall *call, Node *other);
extern List *comb_call_args(const Node *node);
extern Node *comb_call_key(const CombCall *call);
extern const Var *comb_key_column(const CombCall *call);
extern Node *comb_call_period(const CombCall *call);
extern Node *comb_compare_key(const CombCall *call, int strategy, Node *value);
extern Node *comb_has_time(PlannerInfo *root, const CombCall *call);
extern Node *comb_make_call(PlannerInfo *root, const CombCall *call,
							const char *name, PGFunction code, Oid rettype,
							List *args);
extern bool comb_period_clause(CombCall *call, Node *clause);
extern bool comb_take_apart(CombCall *call, Oid funcid, List *args);
extern bool comb_time_call(CombCall *call, Node *node);
extern Node *comb_time_bound(PlannerInfo *root, const CombCall *call, Node *at,
							 bool max);
extern int	comb_time_strategy(Oid opno, bool right);

/* comb_newest.c */
extern void comb_add_newest(PlannerInfo *root, const RelOptInfo * rel);
extern void comb_add_pages(PlannerInfo *root, List **clauses);

#endif							/* COMB_CALL_H */
