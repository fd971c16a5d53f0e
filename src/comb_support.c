/*-------------------------------------------------------------------------
 *
 * comb_support.c
 *	  What the planner makes of clauses that compare keys with periods.
 *
 * On an index that sorts as the layout does, a clause becomes a range of keys,
 * from comb_range_min(period) to comb_range_max(period).  The version bits are
 * not part of the order, so a version 4 uuid may lie between the two.  The
 * range is therefore lossy, and PostgreSQL checks the clause again on every
 * row that the index finds, unless the table can have no such values.
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
 * If the range is exact, the last part is left out.  A clause that would have
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
#include "access/table.h"
#include "access/transam.h"
#include "catalog/pg_am.h"
#include "catalog/pg_class.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_language.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "partitioning/partdesc.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
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
 * Return the table by whose kind a clause on "rte" is replaced.  Clauses on a
 * child were replaced when they were clauses on its parent.  Constraints and
 * predicates of indexes of the child, which have constant periods, should
 * become the same.  A period that could not be replaced in the parent may have
 * become a parameter.
 */
static const RangeTblEntry *
comb_queried_table(PlannerInfo *root, const CombClause *clause,
				   const RangeTblEntry *rte)
{
	Index		varno = comb_clause_var(clause)->varno;

	while (IsA(clause->period, Const) && root->append_rel_array &&
		   root->append_rel_array[varno])
	{
		const RangeTblEntry *parent;

		varno = root->append_rel_array[varno]->parent_relid;
		parent = rt_fetch(varno, root->parse->rtable);
		if (parent->rtekind != RTE_RELATION)
			break;
		rte = parent;
	}
	return rte;
}

/* Is there an EXISTS that the planner has not planned yet? */
static bool
comb_exists_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, SubLink) &&
		((SubLink *) node)->subLinkType == EXISTS_SUBLINK)
		return true;
	if (IsA(node, Query))
		return query_tree_walker((Query *) node,
								 comb_walker(comb_exists_walker), context, 0);
	return expression_tree_walker(node, comb_walker(comb_exists_walker),
								  context);
}

/*
 * Is the expression a stored constraint of a table?  Before 19 the number of
 * the table is 1 there, whatever the table's number in the query is.
 *
 * get_relation_constraints() simplifies constraints with the query's "root".
 * By then the query has its array of relations.  Of the query's own
 * expressions only those of children are simplified so late, and children
 * follow their parents, so that their numbers are above 1.
 */
static bool
comb_is_stored(PlannerInfo *root, const CombClause *clause)
{
	const Var  *var = comb_clause_var(clause);

	return !COMB_STORED_IS_NUMBERED && root->simple_rel_array != NULL &&
		var != NULL && var->varno == 1;
}

/*
 * Does the number of the key's table surely mean a table of this query?
 *
 * convert_EXISTS_to_ANY() simplifies the WHERE of an EXISTS with the "root"
 * of the query around it.  Nothing in the expression or in "root" tells these
 * calls from others.  But every such EXISTS is still in the query or in its
 * list of children, because the planner replaces an expression only after it
 * has planned the subqueries in it.  A query whose EXISTS have become joins
 * has none left, and other kinds of subqueries do not matter.
 */
static bool
comb_is_of_query(PlannerInfo *root)
{
	return !(root->parse->hasSubLinks &&
			 (comb_exists_walker((Node *) root->parse, NULL) ||
			  comb_exists_walker((Node *) root->append_rel_list, NULL)));
}

/*
 * May a simplified call of the function contain a clause?  The planner puts
 * the body of a function in SQL in place of its calls.
 */
static bool
comb_may_be_clause(Oid funcid, void *context)
{
	return comb_language(funcid) == SQLlanguageId ||
		comb_is_clause_code(comb_code(funcid));
}

static bool
comb_clause_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (check_functions_in_node(node, comb_may_be_clause, context))
		return true;
	return expression_tree_walker(node, comb_walker(comb_clause_walker),
								  context);
}

/*
 * Does the query have grouping sets by an expression that contains a clause?
 * A set that leaves the expression out makes it NULL.  The planner finds the
 * expression by comparison, but NOT (a AND b) becomes NOT a OR NOT b, in
 * which it would not find a replacement.
 */
static bool
comb_groups_by_clause(const Query *parse)
{
	ListCell   *lc;

	if (COMB_GROUPS_BY_COLUMN || parse->groupingSets == NIL)
		return false;
	foreach(lc, parse->targetList)
	{
		const TargetEntry *tle = lfirst_node(TargetEntry, lc);

		if (tle->ressortgroupref != 0 &&
			comb_clause_walker((Node *) tle->expr, NULL))
			return true;
	}
	return false;
}

/*
 * Must the clause stay as it is, so that the planner recognizes it?  No index
 * scan finds the rows that an INSERT inserts or meets, but ON CONFLICT
 * compares its conditions with predicates of indexes.
 */
static bool
comb_must_stay(const Query *parse, const CombClause *clause)
{
	const Var  *var = comb_clause_var(clause);

	return (parse->commandType == CMD_INSERT && var != NULL &&
			(int) var->varno == parse->resultRelation) ||
		comb_groups_by_clause(parse);
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

/*
 * Can every snapshot of the session see this row of a catalog?  An old
 * snapshot sees rows of the table that a newer constraint forbids.  Core has
 * the same rule for indexes with indcheckxmin.  As there, the plan is to be
 * made anew when the oldest snapshot has gone.
 */
static bool
comb_is_old(PlannerInfo *root, HeapTuple tuple)
{
	if (TransactionIdPrecedes(HeapTupleHeaderGetXmin(tuple->t_data),
							  TransactionXmin))
		return true;
	root->glob->transientPlan = true;
	return false;
}

/* The same of one of a table's constraints */
static bool
comb_constraint_is_old(PlannerInfo *root, Oid relid, const char *name)
{
	Oid			oid = get_relation_constraint_oid(relid, name, true);
	HeapTuple	tuple = SearchSysCache1(CONSTROID, ObjectIdGetDatum(oid));
	bool		result;

	if (!HeapTupleIsValid(tuple))
		return false;
	result = comb_is_old(root, tuple);
	ReleaseSysCache(tuple);
	return result;
}

/*
 * Do all children of the table obey its constraints?  Nobody checks the rows
 * of foreign tables.  A child that joined its parent after an old snapshot was
 * taken may have had other rows then; joining changes its row in pg_class.
 *
 * The children of children, and children by inheritance, would have to be
 * looked up in pg_inherits for each query.  The partitions of a table are in
 * its cache entry.
 */
static bool
comb_children_obey(PlannerInfo *root, Relation rel)
{
	PartitionDesc partitions;
	bool		obey = true;
	int			i;

	if (rel->rd_rel->relkind != RELKIND_PARTITIONED_TABLE)
		return false;
	partitions = RelationGetPartitionDesc(rel, false);
	for (i = 0; i < partitions->nparts && obey; i++)
	{
		Oid			oid = partitions->oids[i];
		HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(oid));

		if (!HeapTupleIsValid(tuple))
			return false;
		obey = ((Form_pg_class) GETSTRUCT(tuple))->relkind == RELKIND_RELATION &&
			comb_is_old(root, tuple);
		ReleaseSysCache(tuple);
	}
	return obey;
}

/*
 * Does a constraint of the table say that all values in the clause's column
 * are keys of the layout?
 */
static bool
comb_is_constrained(PlannerInfo *root, const RangeTblEntry *rte,
					const CombClause *clause)
{
	Relation	rel;
	TupleConstr *constr;
	bool		found = false;
	int			i;

	/* the planner holds a lock on every table of the query */
	rel = table_open(rte->relid, NoLock);
	constr = rel->rd_att->constr;
	for (i = 0; constr && i < constr->num_check && !found; i++)
	{
		const ConstrCheck *check = &constr->check[i];

		found = check->ccvalid &&
			comb_says_time(clause, (Node *) stringToNode(check->ccbin)) &&
			comb_constraint_is_old(root, rte->relid, check->ccname) &&
			(!rte->inh || comb_children_obey(root, rel));
	}
	table_close(rel, NoLock);
	return found;
}

/* Is every value between the bounds a key of the layout with a time? */
static bool
comb_layout_is_exact(const CombLayout *layout)
{
	return !layout->versioned && !layout->codec->gaps;
}

/*
 * Does a replacement need no more than the range of keys?  "rte" is the key's
 * table, and NULL if the table is not known.
 */
static bool
comb_range_suffices(PlannerInfo *root, const RangeTblEntry *rte,
					const CombClause *clause)
{
	return comb_layout_is_exact(clause->layout) ||
		(rte != NULL && comb_is_constrained(root, rte, clause) &&
		 comb_is_of_query(root));
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
comb_split(PlannerInfo *root, const RangeTblEntry *rte,
		   const CombClause *clause, bool waits)
{
	bool		exact;
	Node	   *range;
	Node	   *rest;

	if (!waits && !comb_is_computed(clause->period))
		return NULL;
	exact = comb_range_suffices(root, rte, clause);
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
comb_bound(PlannerInfo *root, const RangeTblEntry *rte,
		   const CombClause *clause, Oid ge, Oid le)
{
	List	   *quals = comb_clause_bounds(clause, ge, le);
	Node	   *rest;

	if (quals != NIL && !comb_range_suffices(root, rte, clause))
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
 * the clauses of queries, so the clause is kept.  A stored constraint that
 * comes with "root" is to exclude a child of some table, where the clauses of
 * queries have become bounds.
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
	if (comb_is_stored(root, &clause))
		return comb_bound(root, NULL, &clause, ge, le);
	rte = comb_key_table(root, &clause);
	if (rte == NULL)
		return NULL;

	/* bounds that read columns would wait, too */
	waits = comb_may_wait(root, &clause);
	if (comb_can_prune(comb_queried_table(root, &clause, rte), &clause) &&
		comb_is_cheap(root, clause.period) &&
		!(waits && contain_var_clause(clause.period)))
		return comb_bound(root, rte, &clause, ge, le);
	return comb_split(root, rte, &clause, waits);
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
	RangeTblEntry *rte;
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
	rte = comb_key_table(req->root, &clause);
	req->lossy = !in_range && !comb_layout_is_exact(clause.layout) &&
		!(rte && comb_is_constrained(req->root, rte, &clause));
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
