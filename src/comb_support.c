/*-------------------------------------------------------------------------
 *
 * comb_support.c
 *	  What the planner makes of clauses that compare keys with periods.
 *
 * - On an index that sorts as the layout does, a clause becomes a range of
 *	 keys, from comb_range_min(period) to comb_range_max(period).  The version
 *	 bits are not part of the order, so a version 4 uuid may lie between the
 *	 bounds.  The range is therefore lossy, and PostgreSQL checks the clause
 *	 again on every row that the index finds.
 *
 * - Partition pruning and foreign data wrappers know plain comparisons, but
 *	 no support functions.  For partitioned and foreign tables, and others
 *	 that comb_can_prune() lists, the planner replaces the clause by
 *
 *		id >= comb_range_min(period) AND id <= comb_range_max(period)
 *		AND comb_recheck(id, period)
 *
 *	 The replacement is the same in three-valued logic, and may stand under
 *	 NOT: all three parts are strict, and the third part implies the others.
 *	 A test of the version bits alone could not be the third part.  For a NULL
 *	 period and a version 4 uuid this test is false, and the clause is NULL.
 *
 *	 comb_recheck() is the clause by another name.  The planner simplifies
 *	 expressions more than once, and must not replace the clause again.
 *
 * - comb_selfuncs.c estimates how many rows the clause finds.
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
 * Does the table have an access method other than heap?  Columnar access
 * methods skip blocks that plain comparisons exclude, and know no support
 * functions.
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
 * Is the key a column of a table on which a range of keys does more than the
 * clause?  These tables are:
 *
 * - Tables with children.  By now, "inh" is set for no other table.
 * - Foreign tables, if the layout has PostgreSQL's own order.  Foreign data
 *	 wrappers send only core's operators.
 * - Tables of other access methods than heap.
 * - Tables under row security, if the clause names a layout.  The clause is
 *	 then not leakproof, because an unknown layout is an error, so the clause
 *	 and its index condition would wait for the policies.  The range of keys
 *	 and comb_recheck() do not wait.
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
 * May a query evaluate the period three times instead of once?  The limit for
 * the cost is the one of core's own simplification of ranges.  Subplans are
 * ruled out first, because cost_qual_eval_node() takes no unplanned subplans.
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
	/* a period from the key's own row prunes nothing */
	if (bms_overlap(pull_varnos(root, id), pull_varnos(root, period)))
		return false;
	cost_qual_eval_node(&cost, period, root);
	return cost.startup + cost.per_tuple <= 10 * cpu_operator_cost;
}

/*
 * Would the bounds have to wait for row security or a security barrier?
 * Bounds with a layout are not leakproof, because they can raise errors.
 * This matters only if the bounds read columns.
 */
static bool
comb_would_wait(PlannerInfo *root, const CombClause *clause)
{
	return clause->label != NULL && root->qual_security_level > 0 &&
		contain_var_clause(clause->period);
}

/*
 * Does the range of keys need no recheck?  This is so if every value between
 * the bounds is a key of the layout and has a time.
 */
static bool
comb_range_is_exact(const CombLayout *layout)
{
	return !layout->versioned && !layout->codec->gaps;
}

/*
 * Return the clause's replacement, or NULL to keep the clause.  The banner of
 * this file says when and why.
 *
 * Without "root" the expression is about to be stored, as an index's
 * predicate or a constraint.  A stored expression must stay comparable with
 * the clauses of queries, so the clause is kept.
 *
 * If the user may not call the clause's function, the clause is kept and
 * fails.  The replacement calls other functions, and would not fail.
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
 * Return the clause as a range of keys in an index, or NIL.  The period may
 * be expensive, because an index scan evaluates the bounds only once.
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
 * Planner support functions of the clauses and of comb_recheck().  Both
 * return NULL for requests that they do not know.
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
