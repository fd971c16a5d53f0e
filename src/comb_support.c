/*-------------------------------------------------------------------------
 *
 * comb_support.c
 *	  What the planner makes of clauses that compare keys with periods.
 *
 * - On an index that sorts as the layout does, a clause becomes a range of
 *	 keys, from comb_range_min(period) to comb_range_max(period).  The version
 *	 bits are not part of the order, so a version 4 uuid may lie between the
 *	 bounds.  The range is therefore lossy, and PostgreSQL checks the clause
 *	 again on every row that the index finds.  The range is exact if a CHECK
 *	 constraint of the table keeps out all values without a time.
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
 * - The executor evaluates the arguments of a filter for every row.  For a
 *	 period such as tstzrange(now() - interval '1 day', NULL), this takes five
 *	 times as long as all the rest of an index scan.  The third part is then
 *
 *		comb_timestamp(id) IS NOT NULL OR comb_recheck(id, period)
 *
 *	 For a key with a time, the first half says enough, and the executor does
 *	 not evaluate the period.  The second half tells false from NULL for other
 *	 values.  On tables where pruning gains nothing, the replacement is
 *
 *		comb_in_range(id, period) AND (... OR ...)
 *
 *	 comb_in_range() stands for both bounds.  In an index its range of keys is
 *	 exact, and the estimate is the clause's own.
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
#include "access/table.h"
#include "catalog/pg_am.h"
#include "catalog/pg_class.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "comb_period.h"

PG_FUNCTION_INFO_V1(comb_period_support);
PG_FUNCTION_INFO_V1(comb_recheck_support);
PG_FUNCTION_INFO_V1(comb_in_range_support);

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
 * Return the table that has the clause's key as a column, or NULL.  In an
 * expression that is being planned, varno and varlevelsup can be anything.
 */
static RangeTblEntry *
comb_key_table(PlannerInfo *root, const CombClause *clause)
{
	Var		   *var = comb_clause_var(clause);
	RangeTblEntry *rte;

	if (var == NULL || var->varlevelsup > 0 || IS_SPECIAL_VARNO(var->varno) ||
		(int) var->varno > list_length(root->parse->rtable))
		return NULL;
	rte = rt_fetch(var->varno, root->parse->rtable);
	return rte->rtekind == RTE_RELATION ? rte : NULL;
}

/*
 * Does a range of keys do more than the clause on this table?  These tables
 * are:
 *
 * - Tables with children.  By now, "inh" is set for no other table.
 * - Foreign tables, if the layout has PostgreSQL's own order.  Foreign data
 *	 wrappers send only core's operators.
 * - Tables of other access methods than heap.
 */
static bool
comb_can_prune(const RangeTblEntry *rte, const CombClause *clause)
{
	if (rte->inh)
		return true;
	if (rte->relkind == RELKIND_FOREIGN_TABLE)
		return clause->layout->sorts_in == COMB_SORTS_PLAIN;
	return comb_is_not_heap(rte);
}

/*
 * May a query evaluate the period more than once?  Not if the period reads
 * the key's own row, because such a period prunes nothing.
 */
static bool
comb_can_repeat(PlannerInfo *root, Node *id, Node *period)
{
	return IsA(period, Const) ||
		!(contain_subplans(period) || contain_volatile_functions(period) ||
		  expression_returns_set(period) ||
		  bms_overlap(pull_varnos(root, id), pull_varnos(root, period)));
}

/*
 * Is the period so cheap that every row may evaluate it three times?  The
 * limit is the one of core's own simplification of ranges.  The period
 * contains no subplans, because cost_qual_eval_node() takes no unplanned ones.
 */
static bool
comb_is_cheap(PlannerInfo *root, Node *period)
{
	QualCost	cost;

	cost_qual_eval_node(&cost, period, root);
	return cost.startup + cost.per_tuple <= 10 * cpu_operator_cost;
}

/*
 * Is the period something else than a constant or a column?  A call site
 * remembers a constant.  For a column, the estimate of comb_recheck() is worth
 * more than the time.
 */
static bool
comb_is_computed(Node *period)
{
	if (IsA(period, RelabelType))
		period = (Node *) ((RelabelType *) period)->arg;
	return !IsA(period, Const) && !IsA(period, Var);
}

/*
 * A clause that names a layout is not leakproof, because an unknown layout is
 * an error.  Under row security or a security barrier, such a clause waits
 * for the policies.
 */
static bool
comb_may_wait(PlannerInfo *root, const CombClause *clause)
{
	return clause->label != NULL && root->qual_security_level > 0;
}

/*
 * Does a constraint of the table say that all values in the column are keys
 * of the layout?  The constraint is CHECK (comb_timestamp(id) IS NOT NULL), or
 * has this as one of its parts.
 */
static bool
comb_is_constrained(const RangeTblEntry *rte, const CombClause *clause)
{
	CombClause	stored = *clause;
	const Var  *var = comb_clause_var(clause);
	Relation	rel;
	TupleConstr *constr;
	Node	   *wanted;
	bool		found = false;
	int			i;

	/* a stored expression has its table as number 1 */
	stored.id = (Node *) makeVar(1, var->varattno, var->vartype,
								 var->vartypmod, var->varcollid, 0);
	if (IsA(clause->id, RelabelType))
	{
		RelabelType *cast = copyObject((RelabelType *) clause->id);

		cast->arg = (Expr *) stored.id;
		stored.id = (Node *) cast;
	}
	wanted = comb_clause_has_time(&stored);

	/* the planner holds a lock on every table of the query */
	rel = table_open(rte->relid, NoLock);
	constr = rel->rd_att->constr;
	for (i = 0; wanted && constr && i < constr->num_check && !found; i++)
	{
		const ConstrCheck *check = &constr->check[i];
		Node	   *expr;

		if (!check->ccvalid || (rte->inh && check->ccnoinherit))
			continue;
		expr = eval_const_expressions(NULL, stringToNode(check->ccbin));
		found = list_member(make_ands_implicit((Expr *) expr), wanted);
	}
	table_close(rel, NoLock);
	return found;
}

/*
 * Does the range of keys need no recheck?  This is so if every value between
 * the bounds is a key of the layout and has a time, or if the table has no
 * other values.
 */
static bool
comb_range_is_exact(const RangeTblEntry *rte, const CombClause *clause)
{
	const CombLayout *layout = clause->layout;

	return (!layout->versioned && !layout->codec->gaps) ||
		(rte != NULL && comb_is_constrained(rte, clause));
}

/*
 * Return the part of a replacement that removes values without a time, or
 * NULL.  All values that the rest of the replacement lets through are in the
 * period, except those without a time.
 *
 * The executor may then skip the period.  comb_recheck() alone costs less for
 * a period that need not be computed, and corrects the estimate beside
 * bounds, but not beside comb_in_range().
 */
static Node *
comb_clause_rest(const CombClause *clause, bool bounds)
{
	Node	   *recheck = comb_clause_recheck(clause);
	Node	   *has_time;

	if (recheck == NULL || (bounds && !comb_is_computed(clause->period)))
		return recheck;
	has_time = comb_clause_has_time(clause);
	if (has_time == NULL)
		return NULL;
	return (Node *) make_orclause(list_make2(has_time, recheck));
}

/*
 * Return the clause as comb_in_range() and what the range does not say, or
 * NULL.
 *
 * If the range is exact and the clause need not wait, the clause itself does
 * the same.  If the period need not be computed and the clause need not wait,
 * so does the clause with a filter.
 */
static Node *
comb_split(const RangeTblEntry *rte, const CombClause *clause, bool waits)
{
	bool		exact;
	Node	   *range;
	Node	   *rest;

	if (!waits && !comb_is_computed(clause->period))
		return NULL;
	exact = comb_range_is_exact(rte, clause);
	if (!waits && exact)
		return NULL;
	range = comb_clause_in_range(clause);
	if (range == NULL || exact)
		return range;
	rest = comb_clause_rest(clause, false);
	return rest ? (Node *) make_andclause(list_make2(range, rest)) : NULL;
}

/* Return the clause as bounds and what the bounds do not say, or NULL */
static Node *
comb_bound(const RangeTblEntry *rte, const CombClause *clause, Oid ge, Oid le)
{
	List	   *quals = comb_clause_bounds(clause, ge, le);
	Node	   *rest;

	if (quals != NIL && !comb_range_is_exact(rte, clause))
	{
		rest = comb_clause_rest(clause, true);
		quals = rest ? lappend(quals, rest) : NIL;
	}
	return quals ? (Node *) make_andclause(quals) : NULL;
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
	RangeTblEntry *rte;
	bool		waits;
	Oid			ge;
	Oid			le;

	if (req->root == NULL ||
		!comb_clause(&clause, req->fcall->funcid, req->fcall->args) ||
		!comb_clause_allowed(&clause) ||
		(rte = comb_key_table(req->root, &clause)) == NULL ||
		!comb_can_repeat(req->root, clause.id, clause.period) ||
		!comb_layout_operators(&clause, &ge, &le))
		return NULL;

	/* bounds that read columns would wait, too */
	waits = comb_may_wait(req->root, &clause);
	if (comb_can_prune(rte, &clause) &&
		comb_is_cheap(req->root, clause.period) &&
		!(waits && contain_var_clause(clause.period)))
		return comb_bound(rte, &clause, ge, le);
	return comb_split(rte, &clause, waits);
}

/*
 * Return the clause as a range of keys in an index, or NIL.  The period may
 * be expensive, because an index scan evaluates the bounds only once.
 * "in_range" is true for calls of comb_in_range(), which are the range.
 */
static List *
comb_index_condition(SupportRequestIndexCondition *req, bool in_range)
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
	req->lossy = !in_range &&
		!comb_range_is_exact(comb_key_table(req->root, &clause), &clause);
	return comb_clause_bounds(&clause, ge, le);
}

/*
 * comb_period_support(internal) returns internal
 * comb_recheck_support(internal) returns internal
 * comb_in_range_support(internal) returns internal
 *
 * Planner support functions of the clauses, of comb_recheck() and of
 * comb_in_range().  All return NULL for requests that they do not know.
 */
Datum
comb_period_support(PG_FUNCTION_ARGS)
{
	Node	   *req = (Node *) PG_GETARG_POINTER(0);
	void	   *answer = NULL;

	if (IsA(req, SupportRequestSimplify))
		answer = comb_simplify((SupportRequestSimplify *) req);
	else if (IsA(req, SupportRequestIndexCondition))
		answer = comb_index_condition((SupportRequestIndexCondition *) req,
									  false);
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

Datum
comb_in_range_support(PG_FUNCTION_ARGS)
{
	Node	   *req = (Node *) PG_GETARG_POINTER(0);
	void	   *answer = NULL;

	if (IsA(req, SupportRequestIndexCondition))
		answer = comb_index_condition((SupportRequestIndexCondition *) req,
									  true);
	else if (IsA(req, SupportRequestSelectivity))
	{
		comb_selectivity((SupportRequestSelectivity *) req, false);
		answer = req;
	}
	PG_RETURN_POINTER(answer);
}
