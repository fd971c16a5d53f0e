/*-------------------------------------------------------------------------
 *
 * comb_call.h
 *	  Calls of the extension's functions in conditions and plans.
 *
 * comb_call.c recognizes the calls and takes them apart.  comb_selfuncs.c and
 * comb_support.c read them, for estimates and for what plans compare.
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
	COMB_TIME,					/* returns the time of a uuid */
	COMB_SNOWFLAKE_TIME,		/* returns the time of a Snowflake */
	COMB_HELPER					/* is only called by plans */
} CombRole;

typedef struct CombFunction
{
	const char *symbol;			/* its name in C */
	PGFunction	code;
	CombRole	role;
} CombFunction;

/* A call of one of our functions, taken apart */
typedef struct CombCall
{
	const CombFunction *function;
	Oid			funcid;			/* its schema has the extension's functions */
	Node	   *key;
	Node	   *period;			/* NULL if the function has none */
	List	   *times;			/* what a period is made of, or NIL */
	List	   *rest;			/* the label, or the parameters of a Snowflake */
	const CombLayout *layout;	/* NULL for Snowflakes */
	Oid			lt;				/* the operators of the key's order */
	Oid			le;
	Oid			ge;
	Oid			gt;
} CombCall;

/* Is the expression of this type, or of a domain over this type? */
static inline bool
comb_is_of_type(Node *arg, Oid type)
{
	Oid			argtype = exprType(arg);

	return argtype == type || getBaseType(argtype) == type;
}

extern bool comb_may_execute(Oid funcid);
extern List *comb_call_args(const Node *node);
extern Node *comb_call_key(const CombCall *call);
extern Node *comb_make_call(PlannerInfo *root, const CombCall *call,
							const char *name, PGFunction code, Oid rettype,
							List *args);
extern bool comb_period_clause(CombCall *call, Node *clause);
extern List *comb_period_times(Node *period);
extern bool comb_take_apart(CombCall *call, Oid funcid, List *args);
extern bool comb_time_call(CombCall *call, Node *node);
extern int	comb_time_strategy(Oid opno, bool right);

/* comb_selfuncs.c */
extern bool comb_has_index(const RelOptInfo * rel, Node *expr);
extern double comb_selectivity(PlannerInfo *root, const CombCall *call,
							   List *args, int varRelid, bool is_join);

#endif							/* COMB_CALL_H */
