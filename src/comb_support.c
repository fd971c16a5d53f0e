/*-------------------------------------------------------------------------
 *
 * comb_support.c
 *	  What the planner makes of conditions on a key's time.
 *
 * A condition on the time of a key is a range of keys.  While PostgreSQL looks
 * at a table of a query, we put this range beside the condition, as plain
 * comparisons of the key:
 *
 *	condition							in its place
 *	------------------------------------------------------------------------
 *	comb_timestamp(id) >= at			has_time AND id >= comb_min(at)
 *	comb_timestamp(id) > at				has_time AND id > comb_max(at)
 *	comb_timestamp(id) <= at			has_time AND id <= comb_max(at)
 *	comb_timestamp(id) < at				has_time AND id < comb_min(at)
 *	id <@ period, computed				has_time AND bounds
 *	id <@ period, constant or parameter	itself AND bounds
 *	comb_timestamp(id) = at				itself AND bounds
 *
 *	bounds		id >= comb_range_min(period) AND id <= comb_range_max(period),
 *				or comb_min() and comb_max() of one time
 *	has_time	comb_recheck(id, '(,)')
 *
 * From there on they are conditions like any others.  Indexes of all kinds,
 * partition pruning, foreign data wrappers and columnar access methods use
 * them, and so do joins.
 *
 * has_time is there because the version bits are not part of the order, so
 * that a version 4 uuid may lie between two bounds.  A constraint of the table
 * does not change this: a cached plan can meet a snapshot that is older than
 * the constraint, and shows rows that the constraint forbids.
 *
 * We do this for the AND lists of WHERE and ON, and for those below OR, but not
 * below NOT.  There a condition that is NULL counts as one that is false, so
 * it suffices that the replacement is true for the same rows as the condition.
 * A condition and its replacement stand in the same list.  This keeps their
 * place among outer joins, and their security level.
 *
 * Elsewhere, as in CASE, in FILTER, below NOT and in the select list, conditions
 * stay as they are, and need no index.  There, comb_simplify() spares
 * "id <@ tstzrange(a, b)" the range.
 *
 * For Snowflakes, has_time is comb_recheck(id), and the comparison stays beside
 * it except for > and <=: the largest bigint is a Snowflake, but comb_snowflake_min()
 * also returns it for times that no Snowflake has.
 *
 * Copyright (c) 2026, pg_comb developers
 *
 * IDENTIFICATION
 *	  src/comb_support.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/stratnum.h"
#include "catalog/pg_class.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/supportnodes.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/restrictinfo.h"
#include "parser/parsetree.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/selfuncs.h"

#include "comb_call.h"

PG_FUNCTION_INFO_V1(comb_period_support);

/*
 * Building what is put beside a condition
 */

/*
 * Return a copy of the call's period as an expression of type tstzrange.  The
 * call itself may have the period as a domain over tstzrange.
 */
static Node *
comb_call_period(const CombCall *call)
{
	Node	   *arg = call->period;

	if (IsA(arg, RelabelType) &&
		comb_is_of_type((Node *) ((RelabelType *) arg)->arg, TSTZRANGEOID))
		arg = (Node *) ((RelabelType *) arg)->arg;
	arg = copyObject(arg);
	if (exprType(arg) == TSTZRANGEOID)
		return arg;
	if (IsA(arg, Const))
	{
		((Const *) arg)->consttype = TSTZRANGEOID;
		return arg;
	}
	return (Node *) makeRelabelType((Expr *) arg, TSTZRANGEOID, -1, InvalidOid,
									COERCE_IMPLICIT_CAST);
}

/*
 * Return the condition that the key is one of the layout, with a time.  NULL
 * if the user may not call the function.
 */
static Node *
comb_has_time(PlannerInfo *root, const CombCall *call)
{
	Const	   *all;

	if (call->layout == NULL)
		return comb_make_call(root, call, "comb_recheck",
							  comb_recheck_snowflake, BOOLOID,
							  list_make1(comb_call_key(call)));
	all = makeConst(TSTZRANGEOID, -1, InvalidOid, -1,
					OidInputFunctionCall(F_RANGE_IN, "(,)", TSTZRANGEOID, -1),
					false, false);
	return comb_make_call(root, call, "comb_recheck",
						  call->rest ? comb_recheck_layout : comb_recheck,
						  BOOLOID,
						  list_concat(list_make2(comb_call_key(call), all),
									  copyObject(call->rest)));
}

/*
 * Add a comparison of the key with a function of "args" to a list.  False if
 * the user may not call the function.
 */
static bool
comb_add_bound(PlannerInfo *root, const CombCall *call, List **bounds,
			   Oid opno, const char *name, PGFunction code, List *args)
{
	Node	   *bound;
	OpExpr	   *clause;

	bound = comb_make_call(root, call, name, code,
						   call->layout ? UUIDOID : INT8OID,
						   list_concat(copyObject(args),
									   copyObject(call->rest)));
	if (bound == NULL)
		return false;
	clause = (OpExpr *) make_opclause(opno, BOOLOID, false,
									  (Expr *) comb_call_key(call),
									  (Expr *) bound, InvalidOid, InvalidOid);
	set_opfuncid(clause);
	*bounds = lappend(*bounds, clause);
	return true;
}

/*
 * Is this end of a period infinite, while the planner can compute the other
 * one?  Then a bound for it excludes nothing, and only costs planning.  For two
 * bounds of a generic plan, core assumes fewer rows than for one.
 */
static bool
comb_is_open(PlannerInfo *root, List *times, int end)
{
	const Const *time = (const Const *) list_nth(times, end);

	return IsA(time, Const) && !time->constisnull &&
		DatumGetTimestampTz(time->constvalue) ==
		(end == 0 ? DT_NOBEGIN : DT_NOEND) &&
		IsA(estimate_expression_value(root, (Node *) list_nth(times, 1 - end)),
			Const);
}

/*
 * Add the two bounds of the times that a period is made of.  They take NULL
 * for an open end.  PostgreSQL believes that COALESCE leaks values, and would
 * let the bounds wait for policies of row security.
 */
static bool
comb_add_times(PlannerInfo *root, const CombCall *call, List **bounds)
{
	List	   *args = list_copy(call->times);
	int			i;

	for (i = 0; i < 2; i++)
	{
		CoalesceExpr *time = (CoalesceExpr *) list_nth(args, i);
		const Const *end;

		if (!IsA(time, CoalesceExpr) || list_length(time->args) != 2)
			continue;
		end = (const Const *) lsecond(time->args);
		if (IsA(end, Const) && !end->constisnull &&
			DatumGetTimestampTz(end->constvalue) ==
			(i == 0 ? DT_NOBEGIN : DT_NOEND))
			lfirst(list_nth_cell(args, i)) = linitial(time->args);
	}
	return (comb_is_open(root, args, 0) ||
			comb_add_bound(root, call, bounds, call->ge, "comb_range_min",
						   comb_times_min, args)) &&
		(comb_is_open(root, args, 1) ||
		 comb_add_bound(root, call, bounds, call->le, "comb_bound_max",
						comb_times_max,
						list_make2(lsecond(args), lfourth(args))));
}

/*
 * Add the two bounds of a period, given as a tstzrange.  PostgreSQL lets
 * functions of a column wait for policies of row security unless they are
 * leakproof.
 */
static bool
comb_add_period(PlannerInfo *root, const CombCall *call, List **bounds,
				Node *period)
{
	bool		leakproof = call->rest != NIL && contain_var_clause(period);

	return comb_add_bound(root, call, bounds, call->ge,
						  leakproof ? "comb_bound_min" : "comb_range_min",
						  leakproof ? comb_bound_min : comb_range_min,
						  list_make1(period)) &&
		comb_add_bound(root, call, bounds, call->le,
					   leakproof ? "comb_bound_max" : "comb_range_max",
					   leakproof ? comb_bound_max : comb_range_max,
					   list_make1(period));
}

/*
 * Return the other side of a comparison as a timestamptz.  NULL for other
 * types, and if the user may not call the function.
 *
 * Dates and timestamps without a zone become what the comparison takes them
 * for.  The casts would not do, because they raise errors for values that the
 * comparison takes for infinite.
 */
static Node *
comb_other_time(PlannerInfo *root, const CombCall *call, Node *other)
{
	switch (exprType(other))
	{
		case TIMESTAMPTZOID:
			return other;
		case TIMESTAMPOID:
			return comb_make_call(root, call, "comb_instant",
								  comb_instant_timestamp, TIMESTAMPTZOID,
								  list_make1(copyObject(other)));
		case DATEOID:
			return comb_make_call(root, call, "comb_instant",
								  comb_instant_date, TIMESTAMPTZOID,
								  list_make1(copyObject(other)));
		default:
			return NULL;
	}
}

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
 * Add what follows for the key from "comb_timestamp(key) operator at".  False
 * if the user may not call a function.  Sets *exact if the range has the same
 * keys with a time as the comparison; it has the others in any case.
 *
 * comb_min() and comb_max() of a layout without a version raise an error
 * beyond its last time, where the comparison raises none.  The bounds of a
 * period do not.  But a time that is NULL gives a period without bounds, so
 * the comparison is still needed.
 *
 * The largest bigint is a Snowflake, and comb_snowflake_min() also returns it
 * for times that no Snowflake has.
 */
static bool
comb_add_time(PlannerInfo *root, const CombCall *call, List **bounds,
			  int strategy, Node *at, bool *exact)
{
	bool		snowflake = call->layout == NULL;
	const char *min = snowflake ? "comb_snowflake_min" : "comb_min";
	const char *max = snowflake ? "comb_snowflake_max" : "comb_max";
	PGFunction	min_code = snowflake ? comb_snowflake_min : comb_min;
	PGFunction	max_code = snowflake ? comb_snowflake_max : comb_max;
	bool		before = strategy == BTLessStrategyNumber && !snowflake;
	bool		after = strategy == BTGreaterStrategyNumber;
	List	   *args;

	at = comb_other_time(root, call, at);
	if (at == NULL)
		return false;
	*exact = false;
	if (!snowflake && !call->layout->versioned)
		return comb_add_period(root, call, bounds,
							   comb_strategy_range(root, strategy, at));
	*exact = strategy != BTEqualStrategyNumber &&
		!(snowflake && strategy == BTLessStrategyNumber) &&
		!(snowflake && strategy == BTGreaterEqualStrategyNumber);
	args = list_make1(at);
	if (strategy >= BTEqualStrategyNumber &&
		!comb_add_bound(root, call, bounds, after ? call->gt : call->ge,
						after ? max : min, after ? max_code : min_code, args))
		return false;
	return strategy > BTEqualStrategyNumber ||
		comb_add_bound(root, call, bounds, before ? call->lt : call->le,
					   before ? min : max, before ? min_code : max_code, args);
}

/*
 * Can an index have this expression of a table?  We cannot see those of
 * partitions and children.
 */
static bool
comb_may_have_index(PlannerInfo *root, const RelOptInfo * rel, int varno,
					Node *expr)
{
	if (root->simple_rte_array[varno]->inh)
		return true;
	/* the planner has not entered "rel" yet */
	if (varno == (int) rel->relid)
		return comb_has_index(rel, expr);
	return root->simple_rel_array[varno] != NULL &&
		comb_has_index(root->simple_rel_array[varno], expr);
}

/*
 * Is this expression cheap, and does it read one table only?  Columns are, and
 * those of outer queries are parameters by now.  Others may have an index.
 *
 * Users expect "type = 'uuid' AND comb_timestamp(value::uuid) >= $1" to raise
 * no error.  Our own conditions come first, so they must not raise one either,
 * unless an index has computed the expression for each row.
 */
static bool
comb_is_key(PlannerInfo *root, const RelOptInfo * rel, Node *key)
{
	QualCost	cost;
	int			varno;

	if (IsA(key, RelabelType))
		key = (Node *) ((RelabelType *) key)->arg;
	if (IsA(key, Var))
		return true;
	if (contain_subplans(key) ||
		!bms_get_singleton_member(pull_varnos(root, key), &varno))
		return false;
	cost_qual_eval_node(&cost, key, root);
	return cost.startup + cost.per_tuple <= 10 * cpu_operator_cost &&
		(!contain_leaked_vars(key) ||
		 comb_may_have_index(root, rel, varno, key));
}

/*
 * May the call's condition get bounds that are computed from "other", the
 * time or period that the key is compared with?
 *
 * Volatile functions must not be called more or less often than the user
 * wrote, and a sub-select in a plan node of its own cannot be copied.  Bounds
 * from the key's own row exclude nothing.  If the user may not call the
 * condition's function, it must stay, and fail.
 */
static bool
comb_takes_bounds(PlannerInfo *root, const RelOptInfo * rel,
				  const CombCall *call, Node *other)
{
	return comb_is_key(root, rel, call->key) &&
		comb_may_execute(call->funcid) &&
		!contain_subplans(other) &&
		!contain_volatile_functions(other) &&
		!contain_volatile_functions(call->key) &&
		!contain_volatile_functions((Node *) call->rest) &&
		!bms_overlap(pull_varnos(root, call->key), pull_varnos(root, other));
}

/*
 * Is this table the one whose conditions on this key are to be replaced?  Keys
 * of sub-selects that the planner has merged have no table of their own.
 */
static bool
comb_is_key_of(PlannerInfo *root, const RelOptInfo * rel, Node *key)
{
	Relids		varnos = pull_varnos(root, key);
	int			varno;

	if (!bms_get_singleton_member(varnos, &varno))
		return false;
	return varno == (int) rel->relid ||
		(rel->reloptkind == RELOPT_BASEREL &&
		 root->simple_rte_array[varno]->rtekind != RTE_RELATION);
}

/*
 * Has the table indexes, or partitions, that a condition, as it was written,
 * can match?  Children that inherit can have it as a constraint.
 */
static bool
comb_has_expressions(PlannerInfo *root, const RelOptInfo * rel)
{
	const RangeTblEntry *rte = root->simple_rte_array[rel->relid];
	ListCell   *lc;
	int			i;

	if (rte->rtekind == RTE_RELATION && rte->inh &&
		rte->relkind != RELKIND_PARTITIONED_TABLE)
		return true;
	for (i = 0; rel->part_scheme && i < rel->part_scheme->partnatts; i++)
	{
		if (rel->partexprs[i] != NIL)
			return true;
	}
	foreach(lc, rel->indexlist)
	{
		const		IndexOptInfo *index = (IndexOptInfo *) lfirst(lc);

		if (index->indexprs != NIL || index->indpred != NIL)
			return true;
	}
	return false;
}

/*
 * The same for the other table, if the comparison is one of the times of two
 * keys.  A table that the planner looks at later can have some.
 */
static bool
comb_other_has_expressions(PlannerInfo *root, const RelOptInfo * rel,
						   const OpExpr *clause)
{
	CombCall	call;
	ListCell   *lc;

	foreach(lc, clause->args)
	{
		int			varno;

		if (!comb_time_call(&call, (Node *) lfirst(lc)) ||
			!bms_get_singleton_member(pull_varnos(root, call.key), &varno) ||
			varno == (int) rel->relid ||
			root->simple_rte_array[varno]->rtekind != RTE_RELATION)
			continue;
		if (root->simple_rel_array[varno] == NULL ||
			comb_has_expressions(root, root->simple_rel_array[varno]))
			return true;
	}
	return false;
}

/* What comes into the place of a list of conditions */
typedef struct CombQuals
{
	List	   *filters;		/* come first, see comb_selfuncs.c */
	List	   *rest;
	List	   *bounds;			/* those of "rest" that we made */
	bool		changed;
} CombQuals;

/* Add the conditions that are not there yet */
static void
comb_add_quals(CombQuals *quals, Node *filter, Node *clause, List *bounds)
{
	if (filter)
		quals->filters = list_append_unique(quals->filters, filter);
	if (clause)
		quals->rest = lappend(quals->rest, clause);
	quals->rest = list_concat_unique(quals->rest, bounds);
	quals->bounds = list_concat(quals->bounds, bounds);
	quals->changed = true;
}

/* Is the period the constant '(,)', whose bounds exclude nothing? */
static bool
comb_is_unlimited(const Node *period)
{
	const Const *value = (const Const *) period;
	CombPeriod	all;

	if (!IsA(period, Const) || value->constisnull)
		return false;
	all = comb_period(value->constvalue);
	return comb_has_all_times(&all);
}

/* Must the executor compute the period for each row, or each outer row? */
static bool
comb_is_computed(Node *period)
{
	if (IsA(period, RelabelType))
		period = (Node *) ((RelabelType *) period)->arg;
	return !IsA(period, Const) && !IsA(period, Param);
}

/*
 * Is none of the times that a period is made of NULL?  Of a user's own call of
 * comb_contained() with times one can be, and then the call finds no row.
 */
static bool
comb_are_set(List *times)
{
	ListCell   *lc;

	foreach(lc, times)
	{
		Node	   *time = (Node *) lfirst(lc);

		if (IsA(time, CoalesceExpr))
			time = (Node *) llast(((CoalesceExpr *) time)->args);
		if (!IsA(time, Const) || ((Const *) time)->constisnull)
			return false;
	}
	return true;
}

/* Is every value between the bounds a key of the layout with a time? */
static inline bool
comb_is_exact(const CombLayout *layout)
{
	return !layout->versioned && !layout->codec->gaps;
}

/*
 * Put bounds beside a condition that compares a key with a period.  False if
 * it gets none.
 *
 * A constant or a parameter costs nothing, and the condition as it is written
 * can match the predicate of an index.
 */
static bool
comb_period_quals(PlannerInfo *root, const RelOptInfo * rel, CombQuals *quals,
				  Node *clause)
{
	CombCall	call;
	List	   *bounds = NIL;
	Node	   *filter = NULL;
	bool		are_set;
	bool		computed;
	bool		bounds_suffice;

	if (!comb_period_clause(&call, clause) ||
		call.function->role != COMB_IN_PERIOD ||
		comb_is_unlimited(call.period) ||
		!comb_is_key_of(root, rel, call.key) ||
		!comb_takes_bounds(root, rel, &call, call.period))
		return false;

	/*
	 * Postgres_fdw never sends a label.  Without it the remote server can
	 * count and limit, if every value between the bounds has a time.
	 */
	are_set = comb_are_set(call.times);
	bounds_suffice = are_set && rel->fdwroutine && comb_is_exact(call.layout);
	computed = are_set && comb_is_computed(call.period);
	if (computed && !bounds_suffice)
	{
		filter = comb_has_time(root, &call);
		if (filter == NULL)
			return false;
	}
	if (!(call.times ? comb_add_times(root, &call, &bounds) :
		  comb_add_period(root, &call, &bounds, comb_call_period(&call))))
		return false;
	comb_add_quals(quals, filter, computed || bounds_suffice ? NULL : clause,
				   bounds);
	return true;
}

/*
 * Add the bounds of one side of a comparison of two times.  False if this side
 * is not the time of a key, or gets no bounds.
 */
static bool
comb_side_quals(PlannerInfo *root, const RelOptInfo * rel, OpExpr *clause,
				bool right, CombQuals *quals, bool *exact)
{
	Node	   *side = (Node *) list_nth(clause->args, right ? 1 : 0);
	Node	   *other = (Node *) list_nth(clause->args, right ? 0 : 1);
	int			strategy;
	bool		equal;
	CombCall	call;
	List	   *bounds = NIL;
	Node	   *filter = NULL;

	if (!comb_time_call(&call, side))
		return false;
	strategy = comb_time_strategy(clause->opno, right);
	equal = strategy == BTEqualStrategyNumber;
	if (strategy == 0 || !comb_takes_bounds(root, rel, &call, other) ||
		(equal && !comb_is_key_of(root, rel, call.key)) ||
		!comb_add_time(root, &call, &bounds, strategy, other, exact))
		return false;

	/*
	 * Every Snowflake after another has a time.  The estimate of an equality
	 * with a column is core's.
	 */
	if (!(call.layout == NULL && strategy == BTGreaterStrategyNumber) &&
		!(equal && contain_var_clause(other)))
	{
		filter = comb_has_time(root, &call);
		if (filter == NULL)
			return false;
	}
	comb_add_quals(quals, filter, NULL, bounds);
	return true;
}

/*
 * Put bounds beside a comparison of a key's time with another time, on either
 * side.  False if it gets none.
 *
 * The comparison itself is only kept where the bounds do not say all, or where
 * an index may have it.
 */
static bool
comb_comparison_quals(PlannerInfo *root, const RelOptInfo * rel,
					  CombQuals *quals, OpExpr *clause)
{
	bool		exact[2] = {false, false};
	bool		found = false;
	CombQuals	added = {NIL, NIL, NIL, false};
	int			i;

	if (list_length(clause->args) != 2)
		return false;
	for (i = 0; i < 2; i++)
	{
		CombCall	call;

		if (comb_time_call(&call, list_nth(clause->args, i)) &&
			comb_is_key_of(root, rel, call.key))
			found = true;
	}
	if (!found)
		return false;
	for (i = 0; i < 2; i++)
	{
		if (!comb_side_quals(root, rel, clause, i == 1, &added, &exact[i]))
			exact[i] = false;
	}
	if (!added.changed)
		return false;
	quals->filters = list_concat_unique(quals->filters, added.filters);
	comb_add_quals(quals, NULL,
				   (exact[0] || exact[1]) && !comb_has_expressions(root, rel) &&
				   !comb_other_has_expressions(root, rel, clause) ?
				   NULL : (Node *) clause, added.rest);
	return true;
}

/*
 * Return the smallest or the largest element of a constant array of times.
 * NULL if the array has none.  Both types of times compare as integers.
 */
static Const *
comb_array_end(const Const *array, Oid type, bool last)
{
	int16		typlen;
	bool		typbyval;
	char		typalign;
	Datum	   *values;
	bool	   *nulls;
	int			n;
	int			i;
	int64		end = 0;
	bool		found = false;

	get_typlenbyvalalign(type, &typlen, &typbyval, &typalign);
	deconstruct_array(DatumGetArrayTypeP(array->constvalue), type, typlen,
					  typbyval, typalign, &values, &nulls, &n);
	for (i = 0; i < n; i++)
	{
		int64		value;

		if (nulls[i])
			continue;
		value = type == DATEOID ? DatumGetInt32(values[i]) :
			DatumGetInt64(values[i]);
		if (!found || (last ? value > end : value < end))
			end = value;
		found = true;
	}
	if (!found)
		return NULL;
	return makeConst(type, -1, InvalidOid, typlen,
					 type == DATEOID ? Int32GetDatum((int32) end) :
					 Int64GetDatum(end), false, typbyval);
}

/*
 * Put bounds beside comb_timestamp(id) = ANY (constant array): from the first
 * to the last time of the array.  False if it gets none.
 *
 * Timestamps without a zone get none.  When a zone's clocks go forward, the
 * hour that they skip is after the next one.
 */
static bool
comb_array_quals(PlannerInfo *root, const RelOptInfo * rel, CombQuals *quals,
				 ScalarArrayOpExpr * clause)
{
	Node	   *array = (Node *) lsecond(clause->args);
	CombCall	call;
	List	   *bounds = NIL;
	Oid			type;
	Const	   *first;
	Const	   *last;
	bool		exact;

	if (!clause->useOr || !IsA(array, Const) || ((Const *) array)->constisnull ||
		!comb_time_call(&call, linitial(clause->args)) ||
		comb_time_strategy(clause->opno, false) != BTEqualStrategyNumber ||
		!comb_is_key_of(root, rel, call.key) ||
		!comb_takes_bounds(root, rel, &call, array))
		return false;
	type = get_element_type(exprType(array));
	if (type != TIMESTAMPTZOID && type != DATEOID)
		return false;
	first = comb_array_end((Const *) array, type, false);
	last = comb_array_end((Const *) array, type, true);
	if (first == NULL ||
		!comb_add_time(root, &call, &bounds, BTGreaterEqualStrategyNumber,
					   (Node *) first, &exact) ||
		!comb_add_time(root, &call, &bounds, BTLessEqualStrategyNumber,
					   (Node *) last, &exact))
		return false;
	comb_add_quals(quals, NULL, (Node *) clause, bounds);
	return true;
}

static List *comb_replace(PlannerInfo *root, const RelOptInfo * rel,
						  List *clauses);

/* Replace conditions in the arguments of AND and OR */
static bool
comb_bool_quals(PlannerInfo *root, const RelOptInfo * rel, CombQuals *quals,
				BoolExpr * clause)
{
	List	   *args = NIL;
	bool		changed = false;
	ListCell   *lc;

	if (clause->boolop == NOT_EXPR)
		return false;
	foreach(lc, clause->args)
	{
		Node	   *arg = (Node *) lfirst(lc);
		List	   *given = is_andclause(arg) ? ((BoolExpr *) arg)->args :
			list_make1(arg);
		List	   *list = comb_replace(root, rel, given);

		changed = changed || list != given;
		args = lappend(args, list == given ? (Expr *) arg :
					   make_ands_explicit(list));
	}
	if (changed)
		comb_add_quals(quals, NULL, clause->boolop == OR_EXPR ?
					   (Node *) make_orclause(args) :
					   (Node *) make_andclause(args), NIL);
	return changed;
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
	if (IsA(clause, ScalarArrayOpExpr))
		return comb_is_foreign_call(linitial(((const ScalarArrayOpExpr *) clause)->args));
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
 * table.  Of the user's conditions none goes, because two that are equal can be
 * volatile.
 */
static List *
comb_replace(PlannerInfo *root, const RelOptInfo * rel, List *clauses)
{
	CombQuals	quals = {NIL, NIL, NIL, false};
	bool		candidates = false;
	ListCell   *lc;

	foreach(lc, clauses)
		candidates = candidates || comb_is_candidate((Node *) lfirst(lc));
	if (!candidates)
		return clauses;
	foreach(lc, clauses)
	{
		Node	   *clause = (Node *) lfirst(lc);
		bool		replaced = false;

		if (IsA(clause, BoolExpr))
			replaced = comb_bool_quals(root, rel, &quals, (BoolExpr *) clause);
		else if (IsA(clause, ScalarArrayOpExpr))
			replaced = comb_array_quals(root, rel, &quals,
										(ScalarArrayOpExpr *) clause);
		else if (IsA(clause, OpExpr))
			replaced = comb_period_quals(root, rel, &quals, clause) ||
				comb_comparison_quals(root, rel, &quals, (OpExpr *) clause);
		else if (IsA(clause, FuncExpr))
			replaced = comb_period_quals(root, rel, &quals, clause);
		if (!replaced && !list_member(quals.bounds, clause))
			quals.rest = lappend(quals.rest, clause);
	}
	if (!quals.changed)
		return clauses;
	return list_concat(list_difference(quals.filters, quals.rest), quals.rest);
}

/*
 * Replace conditions in WHERE and ON.  Those of a FULL JOIN exclude no rows, and
 * bounds beside them could leave it without a join method.
 */
static void
comb_replace_in_jointree(PlannerInfo *root, const RelOptInfo * rel, Node *node)
{
	ListCell   *lc;

	if (node == NULL)
		return;
	if (IsA(node, FromExpr))
	{
		FromExpr   *from = (FromExpr *) node;

		foreach(lc, from->fromlist)
			comb_replace_in_jointree(root, rel, (Node *) lfirst(lc));
		from->quals = (Node *) comb_replace(root, rel, (List *) from->quals);
	}
	else if (IsA(node, JoinExpr))
	{
		JoinExpr   *join = (JoinExpr *) node;

		comb_replace_in_jointree(root, rel, join->larg);
		comb_replace_in_jointree(root, rel, join->rarg);
		if (join->jointype != JOIN_FULL)
			join->quals = (Node *) comb_replace(root, rel, (List *) join->quals);
	}
}

static bool
comb_has_clause(List *infos, const Node *clause)
{
	ListCell   *lc;

	foreach(lc, infos)
	{
		if (equal(((RestrictInfo *) lfirst(lc))->clause, clause))
			return true;
	}
	return false;
}

/*
 * Replace conditions on the key of a UNION ALL, which the planner has just
 * handed to the parent of the given table.  Later tables find there what we
 * added for the first one.  A condition with OR comes back as an equal copy, and
 * is no bound: it takes the place of the one that was there.
 */
static void
comb_replace_in_append(PlannerInfo *root, const RelOptInfo * rel)
{
	const		AppendRelInfo *append = root->append_rel_array[rel->relid];
	RelOptInfo *parent;
	List	   *infos = NIL;
	ListCell   *lc;

	if (append == NULL ||
		root->simple_rte_array[append->parent_relid]->rtekind != RTE_SUBQUERY)
		return;
	parent = root->simple_rel_array[append->parent_relid];
	foreach(lc, parent->baserestrictinfo)
	{
		RestrictInfo *info = (RestrictInfo *) lfirst(lc);
		List	   *given = list_make1(info->clause);
		List	   *list = comb_replace(root, parent, given);
		ListCell   *lc2;

		if (list == given)
		{
			infos = lappend(infos, info);
			continue;
		}
		foreach(lc2, list)
		{
			Expr	   *clause = (Expr *) lfirst(lc2);

			if (clause == info->clause)
				infos = lappend(infos, info);
			else if (IsA(clause, BoolExpr) ||
					 (!comb_has_clause(parent->baserestrictinfo, (Node *) clause) &&
					  !comb_has_clause(infos, (Node *) clause)))
				infos = lappend(infos,
								comb_make_restrictinfo(root, clause, info));
		}
	}
	parent->baserestrictinfo = infos;
}

/*
 * Put ranges of keys beside the conditions on the time of a table's keys.  The
 * planner calls this for each table of a query, after it has merged views and
 * sub-selects and folded constants, and before it distributes the conditions.
 */
void
comb_add_ranges(PlannerInfo *root, RelOptInfo * rel)
{
	RangeTblEntry *rte = root->simple_rte_array[rel->relid];
	ListCell   *lc;

	/* conditions on a sub-select get their bounds inside, as before 19 */
	if (!comb_enable_time_conditions || rte->rtekind != RTE_RELATION ||
		root->parse->jointree == NULL)
		return;
	if (rel->reloptkind != RELOPT_BASEREL)
	{
		comb_replace_in_append(root, rel);
		return;
	}
	comb_replace_in_jointree(root, rel, (Node *) root->parse->jointree);
	foreach(lc, rte->securityQuals)
		lfirst(lc) = comb_replace(root, rel, (List *) lfirst(lc));
}

/* Is there a security barrier in what a range table entry reads? */
static bool
comb_has_barrier(const RangeTblEntry *rte)
{
	ListCell   *lc;

	if (rte->rtekind != RTE_SUBQUERY || rte->subquery == NULL)
		return false;
	if (rte->security_barrier)
		return true;
	foreach(lc, rte->subquery->rtable)
	{
		if (comb_has_barrier((RangeTblEntry *) lfirst(lc)))
			return true;
	}
	return false;
}

/* Is a key behind a security barrier, which lets in what is leakproof only? */
static bool
comb_is_behind_barrier(PlannerInfo *root, Node *key)
{
	Relids		varnos = pull_varnos(root, key);
	int			varno = -1;

	while ((varno = bms_next_member(varnos, varno)) >= 0)
	{
		if (comb_has_barrier(rt_fetch(varno, root->parse->rtable)))
			return true;
	}
	return false;
}

/*
 * Return the condition id <@ tstzrange(since, until) as a comparison with the
 * two times, or NULL.  The executor would build the range for each row.
 *
 * Without "root" the expression is about to be stored, and a stored expression
 * must stay comparable with the conditions of queries.  An expression that a
 * grouping set leaves out is NULL, and before 18 the planner finds it by
 * comparison.  And comb_contained() is not leakproof if it reads times of the
 * table, because of its error.  So conditions on what a security barrier shows
 * stay as they are until the planner has moved them behind it.
 */
static Node *
comb_simplify(PlannerInfo *root, FuncExpr *fcall)
{
	CombCall	call;
	List	   *times;

	if (root == NULL || root->parse == NULL ||
		(!COMB_GROUPS_BY_COLUMN && root->parse->groupingSets != NIL) ||
		!comb_take_apart(&call, fcall->funcid, fcall->args) ||
		call.function->role != COMB_IN_PERIOD || call.times != NIL ||
		call.rest != NIL || !comb_may_execute(call.funcid) ||
		comb_is_behind_barrier(root, call.key))
		return NULL;
	times = comb_period_times(call.period);
	if (times == NIL || contain_var_clause((Node *) times))
		return NULL;
	return comb_make_call(root, &call, "comb_contained", comb_contained_times,
						  BOOLOID, lcons(comb_call_key(&call), times));
}

/*
 * comb_period_support(internal) returns internal
 *
 * Planner support function of the functions that read a key's time, and of
 * those that compare keys with periods.  Returns NULL if there is nothing to
 * say.
 *
 * The planner asks it to simplify calls before it looks at the tables of the
 * query.  So the module is loaded, and its hook in place, from the first query
 * of a session on.
 */
Datum
comb_period_support(PG_FUNCTION_ARGS)
{
	Node	   *node = (Node *) PG_GETARG_POINTER(0);
	SupportRequestSelectivity *req = (SupportRequestSelectivity *) node;
	CombCall	call;

	if (IsA(node, SupportRequestSimplify))
		PG_RETURN_POINTER(comb_simplify(((SupportRequestSimplify *) node)->root,
										((SupportRequestSimplify *) node)->fcall));
	if (!IsA(node, SupportRequestSelectivity))
		PG_RETURN_POINTER(NULL);
	req->selectivity = DEFAULT_RANGE_INEQ_SEL;
	if (comb_take_apart(&call, req->funcid, req->args) &&
		(call.period || call.function->role == COMB_HAS_TIME))
		req->selectivity = comb_selectivity(req->root, &call, req->args,
											req->varRelid, req->is_join);
	PG_RETURN_POINTER(req);
}
