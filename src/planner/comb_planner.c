/*-------------------------------------------------------------------------
 *
 * comb_planner.c
 *	  Ranges of keys beside conditions on their time.
 *
 * A condition on the time of a key is a range of keys.  When PostgreSQL begins
 * to look at the tables of a query, we put this range beside the condition, as
 * plain comparisons of the key:
 *
 *	condition							bounds
 *	------------------------------------------------------------------------
 *	comb_timestamp(id) >= at			id >= comb_min(at)
 *	comb_timestamp(id) > at				id > comb_max(at)
 *	comb_timestamp(id) <= at			id <= comb_max(at)
 *	comb_timestamp(id) < at				id < comb_min(at)
 *	comb_timestamp(id) = at				id >= comb_min(at) AND id <= comb_max(at)
 *	id <@ period						id >= comb_range_min(period) AND
 *										id <= comb_range_max(period)
 *	wrapped times, see comb_unwrap.c	id >= comb_range_min(comb_unwrap()) AND
 *										id <= comb_range_max(comb_unwrap())
 *	the same with a label				comb_bound_min() and comb_bound_max() of
 *										the period that the condition means
 *	a page, see comb_page.c				id <= ...
 *
 * From there on they are conditions like any others.  Indexes of all kinds,
 * partition pruning, foreign data wrappers and columnar access methods use
 * them, and so do joins.
 *
 * Where the bounds say all but that the key has a time, the condition gives way
 * to has_time, which is comb_recheck(id, '(,)').  The version bits are not part
 * of the order, so that a version 4 uuid may lie between two bounds.  A
 * constraint of the table does not change this: a cached plan can meet a
 * snapshot that is older than the constraint, and shows rows that the
 * constraint forbids.  See comb_selfuncs.c for what else has_time is for.
 *
 * We do this for the AND lists of WHERE and ON, and for those below OR, but not
 * below NOT.  There a condition that is NULL counts as one that is false, so
 * it suffices that the replacement is true for the same rows as the condition.
 * A condition and its replacement stand in the same list.  This keeps their
 * place among outer joins, and their security level.
 *
 * Elsewhere, as in CASE, in FILTER, below NOT and in the select list, conditions
 * stay as they are, and need no index.
 *
 * Copyright (c) 2026, pg_comb developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/stratnum.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "optimizer/appendinfo.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "optimizer/planmain.h"
#include "optimizer/prep.h"
#include "utils/builtins.h"

#include "comb_call.h"

/* Where conditions are looked at */
typedef struct CombPlace
{
	PlannerInfo *root;
	Relids		outer;			/* the outer side of the join that they join */
	Relids		nullable;		/* tables whose rows outer joins fill with
								 * NULL */
	List	   *conditions;		/* those that each row of the result fulfils */
} CombPlace;

/*
 * May the key get bounds that are computed from "value"?
 *
 * Volatile functions must not be called more or less often than the user wrote,
 * and a sub-select in a plan node of its own cannot be copied.  Bounds from the
 * key's own row exclude nothing.  No index finds the rows of a join's outer side.
 * A sub-select that stands for itself gets its bounds inside.
 */
static bool
comb_gets_bounds(const CombPlace *place, const CombKey *key, Node *value)
{
	const RangeTblEntry *rte = place->root->simple_rte_array[key->column->varno];

	return (rte->rtekind == RTE_RELATION || rte->inh) &&
		!bms_is_member(key->column->varno, pull_varnos(place->root, value)) &&
		!bms_is_member(key->column->varno, place->outer) &&
		!contain_subplans(value) && !contain_volatile_functions(value);
}

/*
 * Return the range of all times that compare so with "at", a timestamptz.  A NULL
 * gives a range without bounds.
 */
static Node *
comb_strategy_range(int strategy, Node *at)
{
	Node	   *open = (Node *) makeNullConst(TIMESTAMPTZOID, -1, InvalidOid);
	const char *flags = strategy == BTGreaterStrategyNumber ? "(]" :
		strategy == BTLessStrategyNumber ? "[)" : "[]";

	return (Node *)
		makeFuncExpr(F_TSTZRANGE_TIMESTAMPTZ_TIMESTAMPTZ_TEXT, TSTZRANGEOID,
					 list_make3(strategy < BTEqualStrategyNumber ? open : copyObject(at),
								strategy > BTEqualStrategyNumber ? open : copyObject(at),
								makeConst(TEXTOID, -1, DEFAULT_COLLATION_OID, -1,
										  CStringGetTextDatum(flags), false, false)),
					 InvalidOid, InvalidOid, COERCE_EXPLICIT_CALL);
}

/* Is this end of a period open, as its constructor says? */
static bool
comb_is_open(Node *period, int end)
{
	const Const *at = comb_is_range_call(period) ? list_nth(((FuncExpr *) period)->args, end) : NULL;

	return at && IsA(at, Const) && at->constisnull;
}

/*
 * Return the bounds of a period, or the one that a comparison by "strategy" has.
 *
 * PostgreSQL lets functions of a column wait for policies of row security
 * unless they are leakproof.  Those with a label are not, as they show it in
 * an error, but comb_bound_min() and comb_bound_max() are.
 */
static List *
comb_period_bounds(PlannerInfo *root, const CombKey *key, int strategy, Node *period)
{
	List	   *args = lcons(period, list_copy(key->label));
	List	   *bounds = NIL;

	/* version 4 is in front of behind_v4 */
	if ((strategy >= BTEqualStrategyNumber && !comb_is_open(period, 0)) || key->layout == comb_layout_behind_v4)
		bounds = lappend(bounds, comb_compare_key(key, BTGreaterEqualStrategyNumber,
												  comb_call(root, key->label ? COMB_BOUND_MIN : COMB_RANGE_MIN,
															copyObject(args))));
	if (strategy <= BTEqualStrategyNumber && !comb_is_open(period, 1))
		bounds = lappend(bounds, comb_compare_key(key, BTLessEqualStrategyNumber,
												  comb_call(root, key->label ? COMB_BOUND_MAX : COMB_RANGE_MAX,
															copyObject(args))));
	return bounds;
}

/* Return the bound of a comparison with "at", a timestamptz */
static Node *
comb_time_bound(PlannerInfo *root, const CombKey *key, int strategy, Node *at)
{
	bool		max = strategy == BTLessEqualStrategyNumber || strategy == BTGreaterStrategyNumber;

	return comb_compare_key(key, strategy, comb_call(root, max ? COMB_MAX : COMB_MIN,
													 list_make1(copyObject(at))));
}

/* Return the bounds of a comparison with "at", NIL if this is no time */
static List *
comb_time_bounds(PlannerInfo *root, const CombKey *key, int strategy, Node *at)
{
	at = comb_as_time(root, at);
	if (at == NULL)
		return NIL;
	if (key->label)
		return comb_period_bounds(root, key, strategy, comb_strategy_range(strategy, at));
	if (strategy != BTEqualStrategyNumber)
		return list_make1(comb_time_bound(root, key, strategy, at));
	return list_make2(comb_time_bound(root, key, BTGreaterEqualStrategyNumber, at),
					  comb_time_bound(root, key, BTLessEqualStrategyNumber, at));
}

/*
 * Find the bounds of a condition that compares a key with a period.
 *
 * A constant or a parameter costs nothing, and the condition as it is written can
 * match the predicate of an index, so it gives way only to save what computes the
 * period.
 */
static bool
comb_find_period_bounds(const CombPlace *place, Node *clause, CombBounds *found)
{
	Node	   *period;

	if (!comb_period_clause(place->root, clause, &found->key, &period) ||
		found->key.has_time || !comb_gets_bounds(place, &found->key, period))
		return false;
	found->bounds = comb_period_bounds(place->root, &found->key, BTEqualStrategyNumber, period);
	found->exact = !IsA(period, Const) && !IsA(period, Param);
	found->timed = found->exact;
	return found->bounds != NIL;
}

/*
 * Find the bounds of a comparison of a key's time, or of what wrappers make of it.
 *
 * An equality stays, as tables can be joined by it, and so does what this table or
 * that of another key can use as it was written.  A time that is NULL makes a
 * range without ends, so a comparison with a label stays, too.  Where an index
 * sorts by the time, PostgreSQL has all it needs.
 */
static bool
comb_find_time_bounds(const CombPlace *place, Node *clause, CombBounds *found)
{
	PlannerInfo *root = place->root;
	CombKey    *key = &found->key;
	int			right;

	for (right = 0; right < 2 && is_opclause(clause) && list_length(((OpExpr *) clause)->args) == 2; right++)
	{
		OpExpr	   *op = (OpExpr *) clause;
		Node	   *time = list_nth(op->args, right);
		int			strategy;
		Node	   *other = list_nth(op->args, 1 - right);
		Node	   *period = NULL;
		CombStored	stored;

		if (comb_time_call(root, time, key))
			strategy = comb_time_strategy(op->opno, right);
		else
		{
			period = comb_wrapped_period(root, op, right, &strategy, key);
			if (period == NULL)
				continue;
		}
		if (strategy == 0)
			continue;
		stored = comb_stored_time(root, key, time, NIL);
		if ((stored == COMB_SORTED && !root->simple_rte_array[key->column->varno]->inh) ||
			!comb_gets_bounds(place, key, period ? period : other))
			continue;
		found->bounds = period ? comb_period_bounds(root, key, strategy, period) :
			comb_time_bounds(root, key, strategy, other);
		found->timed = true;
		found->exact = period == NULL && strategy != BTEqualStrategyNumber && key->label == NIL &&
			stored == COMB_NOT_STORED && !comb_reads_time(other, root);
		return found->bounds != NIL;
	}
	return false;
}

static List *comb_expand_list(const CombPlace *place, List *clauses);

/* Expand the arguments of AND and OR */
static Node *
comb_expand_bool(const CombPlace *place, BoolExpr * clause)
{
	List	   *args = NIL;
	ListCell   *lc;

	foreach(lc, clause->args)
	{
		Node	   *arg = lfirst(lc);
		List	   *list = is_andclause(arg) ? ((BoolExpr *) arg)->args : list_make1(arg);

		args = lappend(args, make_ands_explicit(comb_expand_list(place, list)));
	}
	return (Node *) (clause->boolop == OR_EXPR ? make_orclause(args) : make_andclause(args));
}

/*
 * Return an AND list with bounds beside its conditions, or in their place.  Each
 * has_time comes first, and what we add is there once.  Of the user's conditions
 * none goes for being there twice: volatile ones can be equal.
 */
static List *
comb_expand_list(const CombPlace *place, List *clauses)
{
	List	   *filters = NIL;
	List	   *bounds = NIL;
	List	   *rest = NIL;
	ListCell   *lc;

	foreach(lc, clauses)
	{
		Node	   *clause = lfirst(lc);
		CombBounds	found = {0};

		if (IsA(clause, RowCompareExpr) || is_orclause(clause) ?
			comb_page_bounds(place->root, clause, &found) :
			comb_find_period_bounds(place, clause, &found) || comb_find_time_bounds(place, clause, &found))
		{
			record_plan_function_dependency(place->root, found.key.funcid);
			if (found.timed)
				filters = list_append_unique(filters, comb_has_time(place->root, &found.key));
			bounds = list_concat_unique(bounds, found.bounds);
			if (found.exact)
				continue;
		}
		else if (IsA(clause, BoolExpr) && ((BoolExpr *) clause)->boolop != NOT_EXPR)
			clause = comb_expand_bool(place, (BoolExpr *) clause);
		rest = lappend(rest, clause);
	}
	return list_concat(filters, list_concat(rest, bounds));
}

/*
 * Expand the conditions in WHERE and ON.  Those of a FULL JOIN exclude no rows, and
 * bounds beside them could leave it without a join method.
 */
static void
comb_expand_jointree(CombPlace *place, Node *node, bool certain)
{
	List	  **quals;
	ListCell   *lc;

	if (IsA(node, RangeTblRef))
		return;
	if (IsA(node, FromExpr))
	{
		foreach(lc, ((FromExpr *) node)->fromlist)
			comb_expand_jointree(place, lfirst(lc), certain);
		quals = (List **) &((FromExpr *) node)->quals;
		place->outer = NULL;
	}
	else
	{
		JoinExpr   *join = (JoinExpr *) node;
		bool		full = join->jointype == JOIN_FULL;

		comb_expand_jointree(place, join->larg, certain && !full);
		certain = certain && join->jointype == JOIN_INNER;
		comb_expand_jointree(place, join->rarg, certain);
		if (join->jointype != JOIN_INNER)
			place->nullable = bms_join(place->nullable, comb_jointree_relids(full ? node : join->rarg));
		if (full)
			return;
		quals = (List **) &join->quals;
		place->outer = join->jointype == JOIN_INNER ? NULL : comb_jointree_relids(join->larg);
	}
	*quals = comb_expand_list(place, *quals);
	if (certain)
		place->conditions = list_concat(place->conditions, *quals);
}

/*
 * Put bounds beside the conditions that a UNION ALL hands to its tables, or in
 * their place if they give way in all of them.  PostgreSQL adds a table's own
 * securityQuals to these conditions, and the last of these lists is as late as the
 * user's conditions are.
 */
static void
comb_expand_append(const CombPlace *place, Index parent)
{
	PlannerInfo *root = place->root;
	List	  **infos = &root->simple_rel_array[parent]->baserestrictinfo;
	List	   *kept = NIL;
	ListCell   *lc;
	ListCell   *lc2;

	foreach(lc, root->append_rel_list)
	{
		AppendRelInfo *append = lfirst(lc);
		RangeTblEntry *rte = root->simple_rte_array[append->child_relid];
		List	   *added = NIL;

		if (append->parent_relid != parent)
			continue;
		foreach(lc2, *infos)
		{
			Node	   *clause = adjust_appendrel_attrs(root, (Node *) ((RestrictInfo *) lfirst(lc2))->clause, 1, &append);
			List	   *given = make_ands_implicit((Expr *) eval_const_expressions(root, clause));
			List	   *list = rte->rtekind == RTE_RELATION && !contain_volatile_functions(clause) ?
				comb_expand_list(place, given) : given;

			if (given == NIL || list_intersection(given, list) != NIL)
				kept = list_append_unique_ptr(kept, lfirst(lc2));
			added = list_concat_unique(added, list_difference(list, given));
		}
		if (added != NIL)
			rte->securityQuals = lappend(rte->securityQuals, added);
		root->qual_security_level = Max(root->qual_security_level, (Index) list_length(rte->securityQuals));
	}
	*infos = kept;
}

/* Is this the first table that the planner looks at, or the first of a UNION ALL? */
static bool
comb_is_first(PlannerInfo *root, const RelOptInfo * rel, Index parent)
{
	int			i;

	for (i = 1; i < root->simple_rel_array_size; i++)
	{
		if (i != (int) rel->relid && root->simple_rel_array[i] != NULL &&
			root->simple_rte_array[i]->rtekind == RTE_RELATION &&
			(parent == 0 || (root->append_rel_array[i] && root->append_rel_array[i]->parent_relid == parent)))
			return false;
	}
	return true;
}

/*
 * Put ranges of keys beside the conditions on the time of keys, and order by keys
 * what is ordered by their time.  The planner calls this for each table of a query,
 * after it has merged views and sub-selects and folded constants, and before it
 * distributes the conditions.  We do all at the first table.
 */
void
comb_add_ranges(PlannerInfo *root, RelOptInfo * rel)
{
	CombPlace	place = {.root = root};
	ListCell   *lc;
	int			i;

	if (!comb_enable_time_conditions || root->parse->jointree == NULL ||
		root->simple_rte_array[rel->relid]->rtekind != RTE_RELATION)
		return;
	if (rel->reloptkind == RELOPT_OTHER_MEMBER_REL)
	{
		Index		parent = root->append_rel_array[rel->relid]->parent_relid;

		if (root->simple_rte_array[parent]->rtekind == RTE_SUBQUERY && comb_is_first(root, rel, parent))
			comb_expand_append(&place, parent);
	}
	if (rel->reloptkind != RELOPT_BASEREL || !comb_is_first(root, rel, 0))
		return;
	comb_expand_jointree(&place, (Node *) root->parse->jointree, true);
	place.outer = NULL;
	for (i = 1; i < root->simple_rel_array_size; i++)
	{
		foreach(lc, root->simple_rte_array[i]->securityQuals)
			lfirst(lc) = comb_expand_list(&place, lfirst(lc));
	}
	comb_order_by_key(root, place.nullable, place.conditions);
}
