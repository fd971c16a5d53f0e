/*-------------------------------------------------------------------------
 *
 * comb_support.c
 *	  What the planner makes of clauses that compare keys with periods.
 *
 * - On an index that sorts as the layout does, a clause is a range of keys, from
 *	 comb_range_min(period) to comb_range_max(period).  The version bits are
 *	 not part of the order, so a v4 key may lie between the bounds; the range
 *	 is lossy, and the clause itself is checked again on what it finds.
 *
 * - Where plain comparisons do more, as for partitioned and foreign tables, the
 *	 clause is replaced by
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
 * - How many rows: see comb_selfuncs.c.
 *
 * Copyright (c) 2026, pg_comb developers
 *
 * IDENTIFICATION
 *	  src/comb_support.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_am.h"
#include "catalog/pg_class.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "utils/syscache.h"

#include "comb_period.h"

PG_FUNCTION_INFO_V1(comb_period_support);
PG_FUNCTION_INFO_V1(comb_recheck_support);

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
		!comb_clause_allowed(&clause) ||
		!comb_can_prune(req->root, &clause) ||
		!comb_can_repeat(req->root, clause.id, clause.period) ||
		comb_would_wait(req->root, &clause) ||
		!comb_layout_operators(&clause, &ge, &le))
		return NULL;

	quals = comb_clause_bounds(&clause, ge, le);
	if (quals != NIL && !comb_range_is_exact(clause.layout))
	{
		Node	   *recheck = comb_clause_recheck(&clause);

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
		!comb_clause_allowed(&clause) ||
		list_nth(args, req->indexarg) != clause.id ||
		!comb_family_operators(&clause, req->opfamily, &ge, &le) ||
		contain_subplans(clause.period) ||
		!is_pseudo_constant_for_index(req->root, clause.period, req->index))
		return NIL;
	req->lossy = !comb_range_is_exact(clause.layout);
	return comb_clause_bounds(&clause, ge, le);
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
	{
		comb_selectivity((SupportRequestSelectivity *) req, false);
		answer = req;
	}
	PG_RETURN_POINTER(answer);
}

Datum
comb_recheck_support(PG_FUNCTION_ARGS)
{
	Node	   *req = (Node *) PG_GETARG_POINTER(0);
	void	   *answer = NULL;

	if (IsA(req, SupportRequestSelectivity))
	{
		comb_selectivity((SupportRequestSelectivity *) req, true);
		answer = req;
	}
	PG_RETURN_POINTER(answer);
}
