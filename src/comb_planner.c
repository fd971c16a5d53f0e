/*-------------------------------------------------------------------------
 *
 * comb_planner.c
 *	  Ranges of keys beside conditions on their time.
 *
 * A condition on the time of a key is a range of keys.  When PostgreSQL has
 * looked at the tables of a query, we put this range beside the condition, as
 * plain comparisons of the key:
 *
 *	condition							bounds
 *	------------------------------------------------------------------------
 *	comb_timestamp(id) >= at			id >= comb_min(at)
 *	comb_timestamp(id) > at				id > comb_max(at)
 *	comb_timestamp(id) <= at			id <= comb_max(at)
 *	comb_timestamp(id) < at				id < comb_min(at)
 *	comb_timestamp(id) = at				id >= comb_min(at) AND id <= comb_max(at)
 *	id <@ tstzrange(a, b)				those of >= GREATEST(a, '-infinity')
 *										and of < LEAST(b, 'infinity')
 *	id <@ period						id >= comb_range_min(period) AND
 *										id <= comb_range_max(period)
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
 * IDENTIFICATION
 *	  src/comb_planner.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/stratnum.h"
#include "access/transam.h"
#include "catalog/pg_class.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "optimizer/appendinfo.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "optimizer/paths.h"
#include "optimizer/prep.h"
#include "optimizer/tlist.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"

#include "comb_planner.h"

/* A comparison of a key's time, or that the time is in a period */
typedef struct CombTerm
{
	CombCall	call;
	int			strategy;		/* btree's; zero for a period */
	Node	   *value;			/* the other time, or the period */
} CombTerm;

/* Where conditions are looked at */
typedef struct CombPlace
{
	PlannerInfo *root;
	RelOptInfo *rel;			/* the table that the planner looks at */
	Node	   *outer;			/* the outer side of the join that they join */
	List	   *known;			/* what we made true of all rows there */
	bool		candidates;		/* was there a condition like ours? */
} CombPlace;

/*
 * Conditions as terms
 */

/*
 * May this call's key get bounds that are computed from "value"?
 *
 * It must be a column.  Volatile functions must not be called more or less often
 * than the user wrote, and a sub-select in a plan node of its own cannot be
 * copied.  Bounds from the key's own row exclude nothing.  No index finds the
 * rows of a join's outer side by those of the inner side.
 */
static bool
comb_gets_bounds(CombPlace *place, const CombCall *call, Node *value)
{
	const Var  *key = comb_key_column(call);
	Relids		varnos = pull_varnos(place->root, value);
	Relids		outer = place->outer ? comb_jointree_relids(place->outer) : NULL;

	if (key == NULL || bms_is_member(key->varno, varnos) ||
		(bms_is_member(key->varno, outer) && !bms_is_subset(varnos, outer)))
		return false;
	return !contain_subplans(value) && !contain_volatile_functions(value);
}

static List *
comb_add_term(List *terms, const CombCall *call, int strategy, Node *value)
{
	CombTerm   *term = (CombTerm *) palloc(sizeof(CombTerm));

	term->call = *call;
	term->strategy = strategy;
	term->value = value;
	return lappend(terms, term);
}

/*
 * Return one end of core's constructor of ranges, which takes NULL for an open
 * end, as a time that is never NULL.  Returns NULL if the end is known to be
 * open.
 *
 * GREATEST and LEAST ignore NULL.  PostgreSQL believes that COALESCE leaks
 * values, and bounds with it would wait for policies of row security.
 */
static Node *
comb_range_end(PlannerInfo *root, Node *time, bool until)
{
	Const	   *open = makeConst(TIMESTAMPTZOID, -1, InvalidOid,
								 sizeof(TimestampTz),
								 TimestampTzGetDatum(until ? DT_NOEND : DT_NOBEGIN),
								 false, FLOAT8PASSBYVAL);
	MinMaxExpr *end = makeNode(MinMaxExpr);
	Node	   *result;

	end->minmaxtype = TIMESTAMPTZOID;
	end->op = until ? IS_LEAST : IS_GREATEST;
	end->args = list_make2(copyObject(time), open);
	end->location = -1;
	result = eval_const_expressions(root, (Node *) end);
	return equal(result, open) ? NULL : result;
}

/*
 * Return the terms of a call whose period is core's constructor of ranges.  NIL
 * if it is not, if the call has a layout, if the flags are no valid constant, or
 * if both ends are open.
 */
static List *
comb_range_terms(PlannerInfo *root, const CombCall *call)
{
	const FuncExpr *range = (const FuncExpr *) call->period;
	const char *flags = "[)";
	List	   *terms = NIL;
	Node	   *end;

	if (IsA(range, RelabelType))
		range = (const FuncExpr *) ((const RelabelType *) range)->arg;
	if (!IsA(range, FuncExpr) || call->label != NIL)
		return NIL;
	if (range->funcid == F_TSTZRANGE_TIMESTAMPTZ_TIMESTAMPTZ_TEXT)
	{
		const Const *spelled = (const Const *) lthird(range->args);

		if (!IsA(spelled, Const) || spelled->constisnull)
			return NIL;
		flags = TextDatumGetCString(spelled->constvalue);
		if (strlen(flags) != 2 || !strchr("[(", flags[0]) ||
			!strchr("])", flags[1]))
			return NIL;
	}
	else if (range->funcid != F_TSTZRANGE_TIMESTAMPTZ_TIMESTAMPTZ)
		return NIL;
	end = comb_range_end(root, (Node *) linitial(range->args), false);
	if (end)
		terms = comb_add_term(terms, call, flags[0] == '[' ?
							  BTGreaterEqualStrategyNumber :
							  BTGreaterStrategyNumber, end);
	end = comb_range_end(root, (Node *) lsecond(range->args), true);
	if (end)
		terms = comb_add_term(terms, call, flags[1] == ']' ?
							  BTLessEqualStrategyNumber :
							  BTLessStrategyNumber, end);
	return terms;
}

/*
 * Return the terms of a condition that a key's time is in a period.  Sets *exact
 * if the keys with a time between their bounds are those that it finds.
 *
 * A constant or a parameter costs nothing, and the condition as it is written
 * can match the predicate of an index, so there *exact is not set.
 */
static List *
comb_period_terms(CombPlace *place, CombCall *call, bool *exact)
{
	const Node *period = call->period;
	List	   *terms;

	if (call->function->role != COMB_IN_PERIOD ||
		!comb_gets_bounds(place, call, call->period))
		return NIL;
	if (IsA(period, RelabelType))
		period = (const Node *) ((const RelabelType *) period)->arg;
	*exact = !IsA(period, Const) && !IsA(period, Param);
	terms = comb_range_terms(place->root, call);
	return terms ? terms : comb_add_term(NIL, call, 0, comb_call_period(call));
}

/*
 * Where else can the table use a comparison of a key's time, as it was written?
 * Indexes and partitions can match it, and children that inherit can have it as
 * a constraint.  Sets *indexed if an index begins with the time.  Then PostgreSQL
 * has all it needs, with estimates of its own.
 */
static bool
comb_has_expressions(CombPlace *place, const CombCall *call, Node *time,
					 bool *indexed)
{
	int			varno = comb_key_column(call)->varno;
	const RangeTblEntry *rte = place->root->simple_rte_array[varno];
	RelOptInfo *rel = place->root->simple_rel_array[varno];
	bool		found = rte->inh && rte->relkind != RELKIND_PARTITIONED_TABLE;
	ListCell   *lc;
	int			i;

	/* the planner has not entered the table that it looks at */
	if (rel == NULL && rte->rtekind == RTE_RELATION)
		rel = place->rel;
	if (rel == NULL)
		return false;
	for (i = 0; rel->part_scheme && i < rel->part_scheme->partnatts; i++)
	{
		/* a column stands here as an expression, too */
		found = found || (rel->partexprs[i] != NIL &&
						  !IsA(linitial(rel->partexprs[i]), Var));
	}
	foreach(lc, rel->indexlist)
	{
		IndexOptInfo *index = (IndexOptInfo *) lfirst(lc);

		found = found || index->indexprs != NIL || index->indpred != NIL;
		*indexed = *indexed || (!rte->inh && index->indpred == NIL &&
								match_index_to_operand(time, 0, index));
	}
	return found;
}

/*
 * Return the terms of a comparison of two times, of which each can be that of
 * a key.  Sets *exact as above.
 *
 * Bounds of a layout without a version are those of a range, and a time that
 * is NULL makes a range without ends.  So the comparison is still needed there.
 * It stays for the other key, too, and where the table may have it as an
 * expression.
 */
static List *
comb_comparison_terms(CombPlace *place, const OpExpr *clause, bool *exact)
{
	List	   *terms = NIL;
	int			keys = 0;
	int			i;

	if (list_length(clause->args) != 2)
		return NIL;
	for (i = 0; i < 2; i++)
	{
		Node	   *time = (Node *) list_nth(clause->args, i);
		Node	   *other = (Node *) list_nth(clause->args, 1 - i);
		CombCall	call;
		bool		indexed = false;
		bool		kept;
		int			strategy;

		if (!comb_time_call(&call, time))
			continue;
		keys++;
		strategy = comb_time_strategy(clause->opno, i == 1);
		if (strategy == 0 || !comb_gets_bounds(place, &call, other))
			continue;
		kept = comb_has_expressions(place, &call, time, &indexed);
		if (indexed)
			continue;
		terms = comb_add_term(terms, &call, strategy, other);
		*exact = !kept && call.layout->versioned &&
			strategy != BTEqualStrategyNumber;
	}
	*exact = *exact && keys == 1;
	return terms;
}

/*
 * Terms as bounds
 */

/*
 * Return the range of all times that compare so with "at", a timestamptz.
 * A NULL gives a range without bounds.
 */
static Node *
comb_strategy_range(PlannerInfo *root, int strategy, Node *at)
{
	Const	   *open = makeNullConst(TIMESTAMPTZOID, -1, InvalidOid);
	bool		from = strategy >= BTEqualStrategyNumber;
	bool		to = strategy <= BTEqualStrategyNumber;
	const char *flags = strategy == BTGreaterStrategyNumber ? "()" :
		strategy == BTLessStrategyNumber ? "[)" : "[]";
	Const	   *text = makeConst(TEXTOID, -1, DEFAULT_COLLATION_OID, -1,
								 CStringGetTextDatum(flags), false, false);

	return eval_const_expressions(root, (Node *)
								  makeFuncExpr(F_TSTZRANGE_TIMESTAMPTZ_TIMESTAMPTZ_TEXT,
											   TSTZRANGEOID,
											   list_make3(from ? copyObject(at) : (Node *) open,
														  to ? copyObject(at) : (Node *) open,
														  text),
											   InvalidOid, InvalidOid,
											   COERCE_EXPLICIT_CALL));
}

/*
 * Return the lower or the upper bound of a term.  NULL if the user may not call
 * a function.
 *
 * comb_min() and comb_max() of a layout without a version raise an error
 * beyond its last time, where the comparison raises none.  The bounds of a
 * period do not.
 *
 * PostgreSQL lets functions of a column wait for policies of row security
 * unless they are leakproof.  Those with a label are not, as they show it in
 * an error, but comb_bound_min() and comb_bound_max() are.
 */
static Node *
comb_bound(PlannerInfo *root, const CombTerm *term, bool upper)
{
	const CombCall *call = &term->call;
	int			strategy = upper ? BTLessEqualStrategyNumber :
		BTGreaterEqualStrategyNumber;
	Node	   *value = term->value;
	Node	   *bound;

	if (term->strategy != 0)
		value = comb_as_time(root, call, value);
	if (value == NULL)
		return NULL;
	if (term->strategy != 0 && call->layout->versioned)
	{
		if (term->strategy != BTEqualStrategyNumber)
			strategy = term->strategy;
		bound = comb_time_bound(root, call, value,
								strategy == BTLessEqualStrategyNumber ||
								strategy == BTGreaterStrategyNumber);
	}
	else
	{
		const char *name = call->label ?
			(upper ? "comb_bound_max" : "comb_bound_min") :
			(upper ? "comb_range_max" : "comb_range_min");

		if (term->strategy != 0)
			value = comb_strategy_range(root, term->strategy, value);
		bound = comb_make_call(root, call, name, UUIDOID,
							   lcons(copyObject(value), copyObject(call->label)));
	}
	return bound ? comb_compare_key(call, strategy, bound) : NULL;
}

/*
 * Lists of conditions
 */

/* What comes into the place of a list of conditions */
typedef struct CombQuals
{
	List	   *filters;		/* each has_time; they come first */
	List	   *rest;
	List	   *bounds;			/* those of "rest" that we made */
	bool		changed;
} CombQuals;

/*
 * Put bounds beside a condition, or into its place.  False if it gets none.
 *
 * A comparison has has_time beside it even where it stays, for the estimates.
 * That of an equality with a column is core's.
 */
static bool
comb_replace_clause(CombPlace *place, CombQuals *quals, Node *clause)
{
	CombCall	call;
	bool		exact = false;
	bool		timed = false;
	List	   *terms;
	List	   *bounds = NIL;
	List	   *filters = NIL;
	ListCell   *lc;

	if (comb_period_clause(&call, clause))
		terms = comb_period_terms(place, &call, &exact);
	else if (IsA(clause, OpExpr))
	{
		terms = comb_comparison_terms(place, (OpExpr *) clause, &exact);
		timed = true;
	}
	else
		return false;
	foreach(lc, terms)
	{
		const CombTerm *term = (const CombTerm *) lfirst(lc);
		Node	   *filter;
		int			upper;

		for (upper = 0; upper < 2; upper++)
		{
			if (upper ? term->strategy > BTEqualStrategyNumber :
				term->strategy != 0 && term->strategy < BTEqualStrategyNumber)
				continue;
			bounds = lappend(bounds, comb_bound(place->root, term, upper));
			if (llast(bounds) == NULL)
				return false;
		}
		if (!exact && (!timed || (term->strategy == BTEqualStrategyNumber &&
								  contain_var_clause(term->value))))
			continue;
		filter = comb_has_time(place->root, &term->call);
		if (filter == NULL)
			return false;
		if (!list_member(place->known, filter))
			filters = lappend(filters, filter);
	}
	if (bounds == NIL)
		return false;
	quals->filters = list_concat_unique(quals->filters, filters);
	if (!exact)
		quals->rest = lappend(quals->rest, clause);
	quals->rest = list_concat_unique(quals->rest, bounds);
	quals->bounds = list_concat(quals->bounds, bounds);
	quals->changed = true;
	return true;
}

static List *comb_replace(CombPlace *place, List *clauses);

/* Replace conditions in the arguments of AND and OR */
static bool
comb_replace_bool(CombPlace *place, CombQuals *quals, BoolExpr * clause)
{
	CombPlace	arm = *place;
	List	   *args = NIL;
	bool		changed = false;
	ListCell   *lc;

	if (clause->boolop == NOT_EXPR)
		return false;
	if (clause->boolop == OR_EXPR)
		arm.known = NIL;		/* each has its own estimate */
	foreach(lc, clause->args)
	{
		Node	   *arg = (Node *) lfirst(lc);
		List	   *given = is_andclause(arg) ? ((BoolExpr *) arg)->args :
			list_make1(arg);
		List	   *list = comb_replace(&arm, given);

		if (list != given)
			arg = (Node *) make_ands_explicit(list);
		changed = changed || list != given;
		args = lappend(args, arg);
	}
	if (!changed)
		return false;
	quals->rest = lappend(quals->rest, clause->boolop == OR_EXPR ?
						  make_orclause(args) : make_andclause(args));
	quals->changed = true;
	return true;
}

/* Is this a call of a function that is not built in? */
static inline bool
comb_is_foreign_call(const Node *node)
{
	return IsA(node, FuncExpr) &&
		((const FuncExpr *) node)->funcid >= FirstNormalObjectId;
}

/*
 * Can a condition be one of ours?  Most are not, and this says so at the least
 * cost, because the hook asks for each table of each query.
 */
static bool
comb_is_candidate(const Node *clause)
{
	if (IsA(clause, OpExpr))
	{
		const OpExpr *op = (const OpExpr *) clause;

		return op->opno >= FirstNormalObjectId ||
			comb_is_foreign_call(linitial(op->args)) ||
			comb_is_foreign_call(llast(op->args));
	}
	if (IsA(clause, RowCompareExpr))
		return comb_is_foreign_call(linitial(((const RowCompareExpr *) clause)->largs));
	if (IsA(clause, BoolExpr))
	{
		ListCell   *lc;

		foreach(lc, ((const BoolExpr *) clause)->args)
		{
			if (comb_is_candidate((const Node *) lfirst(lc)))
				return true;
		}
		return false;
	}
	return comb_is_foreign_call(clause);
}

/*
 * Return an AND list of conditions with those of a table's keys replaced.  The
 * same list if there are none.
 *
 * What we add must be there once, also if we see the list again for another
 * table.  Of the user's conditions none goes for being there twice: volatile
 * ones can be equal.
 */
static List *
comb_replace(CombPlace *place, List *clauses)
{
	CombQuals	quals = {NIL, NIL, NIL, false};
	bool		candidates = false;
	ListCell   *lc;

	foreach(lc, clauses)
		candidates = candidates || comb_is_candidate((Node *) lfirst(lc));
	if (!candidates)
		return clauses;
	place->candidates = true;
	foreach(lc, clauses)
	{
		Node	   *clause = (Node *) lfirst(lc);

		if (!(IsA(clause, BoolExpr) ?
			  comb_replace_bool(place, &quals, (BoolExpr *) clause) :
			  comb_replace_clause(place, &quals, clause)) &&
			!list_member(quals.bounds, clause))
			quals.rest = lappend(quals.rest, clause);
	}
	if (!quals.changed)
		return clauses;
	return list_concat(list_difference(quals.filters, quals.rest), quals.rest);
}

/*
 * Replace conditions in WHERE and ON.  Those of a FULL JOIN exclude no rows, and
 * bounds beside them could leave it without a join method.
 *
 * place->known gets what we made true of each row.  A row that an outer join fills
 * with NULL needs no exception, as no bound is true of a key that is NULL.  But
 * what its inner side says of keys of the outer one, by LATERAL, excludes no row.
 */
static void
comb_replace_in_jointree(CombPlace *place, Node *node)
{
	List	  **quals;
	List	   *list;
	ListCell   *lc;
	bool		filters = true;
	int			known;

	if (IsA(node, RangeTblRef))
		return;
	if (IsA(node, FromExpr))
	{
		foreach(lc, ((FromExpr *) node)->fromlist)
			comb_replace_in_jointree(place, (Node *) lfirst(lc));
		quals = (List **) &((FromExpr *) node)->quals;
	}
	else
	{
		JoinExpr   *join = (JoinExpr *) node;

		comb_replace_in_jointree(place, join->larg);
		known = list_length(place->known);
		comb_replace_in_jointree(place, join->rarg);
		filters = join->jointype == JOIN_INNER;
		if (!filters)
			place->known = list_truncate(place->known, known);
		if (join->jointype == JOIN_FULL)
			return;
		quals = (List **) &join->quals;
	}
	place->outer = filters ? NULL : ((JoinExpr *) node)->larg;
	comb_add_pages(place->root, quals);
	list = comb_replace(place, *quals);
	if (filters && list != *quals)
		place->known = list_concat(place->known, list_difference(list, *quals));
	*quals = list;
}

/*
 * Return the last table of a join tree, in the order in which the planner looks
 * at them.  Zero if there is none.
 */
static Index
comb_last_table(PlannerInfo *root, const Node *node)
{
	Index		last = 0;
	int			i;

	if (IsA(node, RangeTblRef))
	{
		last = ((const RangeTblRef *) node)->rtindex;
		return root->simple_rte_array[last]->rtekind == RTE_RELATION ? last : 0;
	}
	if (IsA(node, JoinExpr))
	{
		last = comb_last_table(root, ((const JoinExpr *) node)->rarg);
		return last != 0 ? last :
			comb_last_table(root, ((const JoinExpr *) node)->larg);
	}
	for (i = list_length(((const FromExpr *) node)->fromlist); last == 0 && i > 0; i--)
		last = comb_last_table(root, list_nth(((const FromExpr *) node)->fromlist, i - 1));
	return last;
}

/* Does ORDER BY begin with a call of a function that is not built in? */
static bool
comb_orders_by_call(PlannerInfo *root)
{
	List	   *order = root->parse->sortClause;

	return order != NIL &&
		comb_is_foreign_call((Node *) get_sortgroupclause_tle(linitial(order), root->processed_tlist)->expr);
}

/*
 * Put bounds beside the conditions that a UNION ALL hands to one of its tables.
 * PostgreSQL adds the table's own securityQuals to these conditions next, and
 * the last of these lists is as late as the user's conditions are.
 */
static void
comb_replace_in_append(CombPlace *place)
{
	PlannerInfo *root = place->root;
	AppendRelInfo *append = root->append_rel_array[place->rel->relid];
	RangeTblEntry *rte = root->simple_rte_array[place->rel->relid];
	List	   *given = NIL;
	List	   *list;
	ListCell   *lc;

	if (append == NULL ||
		root->simple_rte_array[append->parent_relid]->rtekind != RTE_SUBQUERY)
		return;
	foreach(lc, root->simple_rel_array[append->parent_relid]->baserestrictinfo)
	{
		Node	   *clause = (Node *) ((RestrictInfo *) lfirst(lc))->clause;

		/* the condition itself stays, so an OR with bounds is a second one */
		if (contain_volatile_functions(clause))
			continue;
		clause = adjust_appendrel_attrs(root, clause, 1, &append);
		given = list_concat(given, make_ands_implicit((Expr *) eval_const_expressions(root, clause)));
	}
	list = comb_replace(place, given);
	if (list == given)
		return;
	rte->securityQuals = lappend(rte->securityQuals,
								 list_difference(list, given));
	root->qual_security_level = Max(root->qual_security_level,
									(Index) list_length(rte->securityQuals));
}

/*
 * Put ranges of keys beside the conditions on the time of keys.  The planner
 * calls this for each table of a query, after it has merged views and
 * sub-selects and folded constants, and before it distributes the conditions.
 * By the last table it has looked at all but those of a UNION ALL.
 */
void
comb_add_ranges(PlannerInfo *root, RelOptInfo * rel)
{
	Node	   *jointree = (Node *) root->parse->jointree;
	CombPlace	place = {root, rel, NULL, NIL, false};
	ListCell   *lc;
	int			i;

	/* conditions on a sub-select get their bounds inside, as before 19 */
	if (!comb_enable_time_conditions || jointree == NULL ||
		root->simple_rte_array[rel->relid]->rtekind != RTE_RELATION)
		return;
	if (rel->reloptkind != RELOPT_BASEREL)
	{
		comb_replace_in_append(&place);
		return;
	}
	if (rel->relid != comb_last_table(root, jointree))
		return;
	comb_replace_in_jointree(&place, jointree);
	place.outer = NULL;
	place.known = NIL;
	for (i = 1; i < root->simple_rel_array_size; i++)
	{
		RelOptInfo *table = i == (int) rel->relid ? rel : root->simple_rel_array[i];

		if (table == NULL || root->simple_rte_array[i]->rtekind != RTE_RELATION)
			continue;
		foreach(lc, root->simple_rte_array[i]->securityQuals)
			lfirst(lc) = comb_replace(&place, (List *) lfirst(lc));
		if (place.candidates || comb_orders_by_call(root))
			comb_add_newest(root, table);
	}
}
