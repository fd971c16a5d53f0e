/*-------------------------------------------------------------------------
 *
 * comb_support.c
 *	  What the planner makes of clauses that compare keys with periods.
 *
 * On an index that sorts as the layout does, a clause becomes a range of keys,
 * from comb_range_min(period) to comb_range_max(period).  The version bits are
 * not part of the order, so a version 4 uuid may lie between the two.  The
 * range is therefore lossy, and PostgreSQL checks the clause again on every
 * row that the index finds.  A constraint of the table does not change this:
 * a cached plan can meet a snapshot that is older than the constraint, and
 * shows rows that the constraint forbids.
 *
 * Partition pruning, foreign data wrappers and columnar access methods know
 * plain comparisons, but no support functions.  And the executor evaluates the
 * arguments of a filter for every row: for a period such as tstzrange(now() -
 * interval '1 day', NULL) this takes five times as long as all the rest of an
 * index scan.  So clauses are also replaced:
 *
 *	table					period						replacement
 *	------------------------------------------------------------------------
 *	has children, is		cheap, constant or column	bounds AND recheck
 *	foreign or no heap		cheap, computed				bounds AND rest
 *							expensive or a sub-select	in_range AND rest
 *	any other table			computed					in_range AND rest
 *							constant or column			none
 *
 *	bounds		id >= comb_range_min(period) AND id <= comb_range_max(period)
 *	in_range	comb_in_range(id, period), which means the same
 *	recheck		comb_recheck(id, period), which is the clause by another name
 *	rest		comb_timestamp(id) IS NOT NULL OR comb_recheck(id, period)
 *
 * If the layout's range is exact, the last part is left out.  A clause that would have
 * to wait for policies of row security is replaced like one with a computed
 * period.  Periods that are volatile or read the key's own row, and clauses
 * that the planner has to recognize, stay as they are.
 *
 * A replacement has the same value as the clause in three-valued logic, so
 * that it may stand under NOT: all of its parts are strict, and the last part
 * implies the others.  A test of the version bits alone could not be the last
 * part.  For a NULL period and a version 4 uuid this test is false, and the
 * clause is NULL.
 *
 * comb_recheck() is not the clause itself because the planner simplifies
 * expressions more than once, and must not replace the clause again.  In
 * "rest", the executor evaluates the period only for values without a time, to
 * tell false from NULL.  In an index, the range of comb_in_range() is exact,
 * and its estimate is the clause's own.
 *
 * comb_selfuncs.c estimates how many rows a clause finds.
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
PG_FUNCTION_INFO_V1(comb_in_range_support);

/*
 * Does the table have an access method other than heap?  Columnar access
 * methods skip blocks that plain comparisons exclude.
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
 * Return the table that has the clause's key as a column, or NULL.
 *
 * The planner also simplifies expressions with another query's "root": the
 * WHERE of an EXISTS, and before 19 the constraints of children.  We then look
 * at the wrong table.  This does no harm, because the table only chooses
 * between replacements, and each has the value of the clause in any table.
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
 * Must the clause stay as it is, so that the planner recognizes it?
 *
 * No index scan finds the rows that an INSERT inserts or meets, but ON
 * CONFLICT compares its conditions with predicates of indexes.
 *
 * An expression that a grouping set leaves out is NULL.  Before 18 the planner
 * finds this expression by comparison, but turns NOT (a AND b) into NOT a OR
 * NOT b, in which it would not find a replacement.  Whether a query groups by
 * a clause is not easy to see, because functions in SQL can hide the clause.
 */
static bool
comb_must_stay(const Query *parse, const CombClause *clause)
{
	const Var  *var = comb_clause_var(clause);

	return (parse->commandType == CMD_INSERT && var != NULL &&
			(int) var->varno == parse->resultRelation) ||
		(!COMB_GROUPS_BY_COLUMN && parse->groupingSets != NIL);
}

/*
 * Can comparisons exclude parts of the table that the clause cannot?  This
 * holds for:
 *
 * - Tables with children.  By now, "inh" is set for no other table.
 * - Foreign tables, if the layout has PostgreSQL's own order.  Foreign data
 *	 wrappers send only core's operators.
 * - Tables of access methods other than heap.
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
 * May a query evaluate the period more than once?  It could, but need not, if
 * the period reads the key's own row, because such a period prunes nothing.
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
 * Must the period be computed?  Constants are cached by the call site.
 * Columns are cheap, and the estimate of comb_recheck() is worth more than
 * the time.
 */
static bool
comb_is_computed(Node *period)
{
	if (IsA(period, RelabelType))
		period = (Node *) ((RelabelType *) period)->arg;
	return !IsA(period, Const) && !IsA(period, Var);
}

/*
 * Would the clause have to wait for the policies of row security or for a
 * security barrier?  A clause that names a layout is not leakproof, because an
 * unknown layout is an error.
 */
static bool
comb_may_wait(PlannerInfo *root, const CombClause *clause)
{
	return clause->label != NULL && root->qual_security_level > 0;
}

/* Is every value between the bounds a key of the layout with a time? */
static bool
comb_layout_is_exact(const CombLayout *layout)
{
	return !layout->versioned && !layout->codec->gaps;
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
comb_split(const CombClause *clause, bool waits)
{
	bool		exact = comb_layout_is_exact(clause->layout);
	Node	   *range;
	Node	   *rest;

	if (!waits && (exact || !comb_is_computed(clause->period)))
		return NULL;
	range = comb_clause_in_range(clause);
	if (range == NULL || exact)
		return range;
	rest = comb_clause_rest(clause, false);
	return rest ? (Node *) make_andclause(list_make2(range, rest)) : NULL;
}

/* Return the clause as bounds and what the bounds do not say, or NULL */
static Node *
comb_bound(const CombClause *clause, Oid ge, Oid le)
{
	List	   *quals = comb_clause_bounds(clause, ge, le);
	Node	   *rest;

	if (quals != NIL && !comb_layout_is_exact(clause->layout))
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
	PlannerInfo *root = req->root;
	CombClause	clause;
	RangeTblEntry *rte;
	bool		waits;
	Oid			ge;
	Oid			le;

	if (root == NULL || root->parse == NULL ||
		!comb_clause(&clause, req->fcall->funcid, req->fcall->args) ||
		!comb_clause_allowed(&clause) ||
		comb_must_stay(root->parse, &clause) ||
		!comb_can_repeat(root, clause.id, clause.period) ||
		!comb_layout_operators(&clause, &ge, &le))
		return NULL;
	rte = comb_key_table(root, &clause);
	if (rte == NULL)
		return NULL;

	/* bounds that read columns would wait, too */
	waits = comb_may_wait(root, &clause);
	if (comb_can_prune(rte, &clause) &&
		comb_is_cheap(root, clause.period) &&
		!(waits && contain_var_clause(clause.period)))
		return comb_bound(&clause, ge, le);
	return comb_split(&clause, waits);
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
	req->lossy = !in_range && !comb_layout_is_exact(clause.layout);
	return comb_clause_bounds(&clause, ge, le);
}

/* What the planner asks about */
typedef enum CombAsked
{
	COMB_ASKED_CLAUSE,			/* the operators and comb_created() */
	COMB_ASKED_RECHECK,			/* comb_recheck() */
	COMB_ASKED_IN_RANGE			/* comb_in_range() */
} CombAsked;

/*
 * Answer a request of the planner.  NULL for requests that we do not know,
 * and if there is nothing to gain.
 */
static void *
comb_answer(Node *req, CombAsked asked)
{
	if (IsA(req, SupportRequestSimplify) && asked == COMB_ASKED_CLAUSE)
		return comb_simplify((SupportRequestSimplify *) req);
	if (IsA(req, SupportRequestIndexCondition) && asked != COMB_ASKED_RECHECK)
		return comb_index_condition((SupportRequestIndexCondition *) req,
									asked == COMB_ASKED_IN_RANGE);
	if (IsA(req, SupportRequestSelectivity))
	{
		comb_selectivity((SupportRequestSelectivity *) req,
						 asked == COMB_ASKED_RECHECK);
		return req;
	}
	return NULL;
}

/*
 * comb_period_support(internal) returns internal
 * comb_recheck_support(internal) returns internal
 * comb_in_range_support(internal) returns internal
 *
 * Planner support functions of the clauses, of comb_recheck() and of
 * comb_in_range().  They return NULL for requests that they do not know.
 */
Datum
comb_period_support(PG_FUNCTION_ARGS)
{
	PG_RETURN_POINTER(comb_answer((Node *) PG_GETARG_POINTER(0),
								  COMB_ASKED_CLAUSE));
}

Datum
comb_recheck_support(PG_FUNCTION_ARGS)
{
	PG_RETURN_POINTER(comb_answer((Node *) PG_GETARG_POINTER(0),
								  COMB_ASKED_RECHECK));
}

Datum
comb_in_range_support(PG_FUNCTION_ARGS)
{
	PG_RETURN_POINTER(comb_answer((Node *) PG_GETARG_POINTER(0),
								  COMB_ASKED_IN_RANGE));
}
