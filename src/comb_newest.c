/*-------------------------------------------------------------------------
 *
 * comb_newest.c
 *	  What the planner makes of ORDER BY with a key's time.
 *
 * Keys sort as their times do, so ORDER BY comb_timestamp(id) becomes ORDER BY
 * id, which an index on the key has.  Keys of one time are then in the order of
 * the keys, where the query leaves it open, or asks for it by a second column.
 *
 * A key without a time has its place by its bits, and its NULL has one of its
 * own.  So we need a proof that no row of the result has such a key: conditions
 * that each row fulfils, or a CHECK.  A NULL key does no harm, as its time is
 * NULL, too, and both stand at the same end.
 *
 * Pages are conditions such as (comb_timestamp(id), id) < (at, last), or the
 * same as an OR.  We put the largest or smallest key beside them that they can
 * find.
 *
 * Both happen while the planner looks at the key's table, after comb_planner.c
 * has put ranges of keys beside the conditions on times.
 *
 * Snowflakes get none of this.
 *
 * Copyright (c) 2026, pg_comb developers
 *
 * IDENTIFICATION
 *	  src/comb_newest.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/stratnum.h"
#include "access/table.h"
#include "access/transam.h"
#include "catalog/pg_class.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_index.h"
#include "catalog/pg_statistic.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "optimizer/paths.h"
#include "optimizer/tlist.h"
#include "parser/parse_clause.h"
#include "partitioning/partdesc.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/inval.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

#include "comb_call.h"

/* A key of a table, and its time */
typedef struct CombNewest
{
	CombCall	call;			/* takes "time" apart */
	Node	   *time;
	Var		   *var;			/* the column in "time" */
	Node	   *key;			/* the column as a uuid */
} CombNewest;

/*
 * Is the expression the time of a key of this table?  If the user may not call
 * the function, it must stay, and fail.
 */
static bool
comb_is_time(CombNewest *newest, const RelOptInfo * rel, Node *expr)
{
	if (!comb_time_call(&newest->call, expr) ||
		!comb_may_execute(newest->call.funcid))
		return false;
	newest->time = expr;
	newest->var = (Var *) strip_implicit_coercions(newest->call.key);
	newest->key = comb_call_key(&newest->call);
	return IsA(newest->var, Var) && newest->var->varno == (int) rel->relid &&
		newest->var->varlevelsup == 0 && newest->var->varattno > 0;
}

/*
 * Find the conditions that hold for each row of the result that the table is
 * part of, as pointers to their lists.  False if the table is on the nullable
 * side of an outer join, where keys are also NULL.
 */
static bool
comb_find_conditions(Node *node, int varno, List **lists)
{
	ListCell   *lc;

	if (IsA(node, RangeTblRef))
		return ((RangeTblRef *) node)->rtindex == varno;
	if (IsA(node, FromExpr))
	{
		foreach(lc, ((FromExpr *) node)->fromlist)
		{
			if (!comb_find_conditions((Node *) lfirst(lc), varno, lists))
				continue;
			*lists = lappend(*lists, &((FromExpr *) node)->quals);
			return true;
		}
		return false;
	}
	if (IsA(node, JoinExpr))
	{
		JoinExpr   *join = (JoinExpr *) node;

		switch (join->jointype)
		{
			case JOIN_INNER:
				if (!comb_find_conditions(join->larg, varno, lists) &&
					!comb_find_conditions(join->rarg, varno, lists))
					return false;
				*lists = lappend(*lists, &join->quals);
				return true;
			case JOIN_LEFT:
			case JOIN_SEMI:
			case JOIN_ANTI:
				return comb_find_conditions(join->larg, varno, lists);
			default:
				break;
		}
	}
	return false;
}

/*
 * Pages
 */

/*
 * Can the value be computed for a scan, where the query would compute it for
 * some rows only?  Then it must not raise an error.
 */
static bool
comb_is_harmless(Node *value)
{
	ListCell   *lc;

	if (IsA(value, Const) || IsA(value, Param))
		return true;
	if (!IsA(value, FuncExpr) ||
		!get_func_leakproof(((FuncExpr *) value)->funcid))
		return false;
	foreach(lc, ((FuncExpr *) value)->args)
	{
		if (!comb_is_harmless((Node *) lfirst(lc)))
			return false;
	}
	return true;
}

/* Return the greatest or the least of some uuids.  Both ignore NULL. */
static Node *
comb_extreme(PlannerInfo *root, List *values, bool greatest)
{
	MinMaxExpr *extreme;

	if (list_length(values) == 1)
		return (Node *) linitial(values);
	extreme = makeNode(MinMaxExpr);
	extreme->minmaxtype = UUIDOID;
	extreme->op = greatest ? IS_GREATEST : IS_LEAST;
	extreme->args = values;
	extreme->location = -1;
	return eval_const_expressions(root, (Node *) extreme);
}

/* Return the arguments of an AND, or a list of the one condition */
static List *
comb_conjuncts(Node *clause)
{
	return is_andclause(clause) ? ((BoolExpr *) clause)->args :
		list_make1(clause);
}

/* Is this a lower bound of the key, or else an upper one? */
static bool
comb_is_bound(const CombCall *call, const Node *key, const Node *clause,
			  bool lower)
{
	const OpExpr *op = (const OpExpr *) clause;
	int			strategy;

	if (!IsA(op, OpExpr) || list_length(op->args) != 2 ||
		!equal(linitial(op->args), key))
		return false;
	strategy = get_op_opfamily_strategy(op->opno, call->family);
	return lower ? strategy > BTEqualStrategyNumber :
		strategy != 0 && strategy < BTEqualStrategyNumber;
}

/*
 * Return the bound of a key that follows from an OR, or NULL.  A row fulfils
 * one of the arms, and so each bound in this arm.  Where each arm has bounds on
 * both sides, a bitmap scan of the arms is better.
 */
static Node *
comb_or_bound(PlannerInfo *root, const CombCall *call, List *arms, bool lower)
{
	Node	   *key = comb_call_key(call);
	List	   *ends = NIL;
	bool		open = false;
	ListCell   *lc;

	foreach(lc, arms)
	{
		List	   *values = NIL;
		bool		other = false;
		ListCell   *lc2;

		foreach(lc2, comb_conjuncts((Node *) lfirst(lc)))
		{
			OpExpr	   *op = (OpExpr *) lfirst(lc2);

			if (comb_is_bound(call, key, (Node *) op, lower) &&
				comb_is_harmless((Node *) lsecond(op->args)))
				values = lappend(values, copyObject(lsecond(op->args)));
			else if (comb_is_bound(call, key, (Node *) op, !lower))
				other = true;
		}
		if (values == NIL)
			return NULL;
		ends = lappend(ends, comb_extreme(root, values, lower));
		open = open || !other;
	}
	if (!open)
		return NULL;
	return comb_compare_key(call, lower ? BTGreaterEqualStrategyNumber :
							BTLessEqualStrategyNumber,
							comb_extreme(root, ends, !lower));
}

/*
 * Return the bound of the key that follows from (time, key) < (at, last) and
 * the like, or NULL.  Keys of the time are between comb_min() and comb_max(),
 * and no key is if the time is between two milliseconds.
 */
static Node *
comb_row_bound(PlannerInfo *root, const RelOptInfo * rel,
			   const RowCompareExpr * row)
{
	Node	   *at = (Node *) linitial(row->rargs);
	Node	   *last = (Node *) lsecond(row->rargs);
	int			strategy = comb_time_strategy(linitial_oid(row->opnos), false);
	bool		lower = strategy > BTEqualStrategyNumber;
	CombNewest	newest;
	Node	   *ends[2];

	if (strategy == 0 || !comb_is_time(&newest, rel, linitial(row->largs)) ||
		!newest.call.layout->versioned ||
		!equal(lsecond(row->largs), newest.key) ||
		lsecond_oid(row->opfamilies) != newest.call.family ||
		exprType(last) != UUIDOID ||
		contain_subplans((Node *) row->rargs) ||
		contain_volatile_functions((Node *) row->rargs) ||
		bms_is_member(newest.var->varno, pull_varnos(root, (Node *) row->rargs)))
		return NULL;
	at = comb_as_time(root, &newest.call, at);
	if (at == NULL)
		return NULL;
	ends[0] = comb_time_bound(root, &newest.call, at, lower);
	ends[1] = comb_time_bound(root, &newest.call, at, !lower);
	if (ends[0] == NULL || ends[1] == NULL)
		return NULL;
	last = comb_extreme(root, list_make2(copyObject(last), ends[0]), !lower);
	return comb_compare_key(&newest.call, lower ? BTGreaterEqualStrategyNumber :
							BTLessEqualStrategyNumber,
							comb_extreme(root, list_make2(last, ends[1]), lower));
}

/* Find the condition of an OR that is on the time of one of the table's keys */
static bool
comb_or_key(const RelOptInfo * rel, List *arms, CombCall *call)
{
	ListCell   *lc;
	ListCell   *lc2;

	foreach(lc, arms)
	{
		foreach(lc2, comb_conjuncts((Node *) lfirst(lc)))
		{
			if (comb_period_clause(call, (Node *) lfirst(lc2)) &&
				call->layout->sorts_in == COMB_SORTS_PLAIN)
			{
				Var		   *var = (Var *) strip_implicit_coercions(call->key);

				return IsA(var, Var) && var->varno == (int) rel->relid;
			}
		}
	}
	return false;
}

/*
 * Put the bounds of pages beside them.  Without ORDER BY, an OR is not of a
 * page.
 */
static void
comb_add_pages(PlannerInfo *root, const RelOptInfo * rel, List **clauses)
{
	List	   *bounds = NIL;
	CombCall	call;
	ListCell   *lc;

	foreach(lc, *clauses)
	{
		Node	   *clause = (Node *) lfirst(lc);
		int			lower;

		if (IsA(clause, RowCompareExpr))
			bounds = lappend(bounds, comb_row_bound(root, rel,
													(RowCompareExpr *) clause));
		if (!is_orclause(clause) || root->parse->sortClause == NIL ||
			!comb_or_key(rel, ((BoolExpr *) clause)->args, &call))
			continue;
		for (lower = 0; lower < 2; lower++)
			bounds = lappend(bounds, comb_or_bound(root, &call,
												   ((BoolExpr *) clause)->args,
												   lower == 1));
	}
	foreach(lc, bounds)
	{
		if (lfirst(lc) != NULL)
			*clauses = list_append_unique(*clauses, lfirst(lc));
	}
}

/*
 * Proofs that no key is without a time
 */

/*
 * Does the condition exclude keys without a time?  A condition must be true for
 * a row, while a CHECK must not be false.
 */
static bool
comb_excludes(const CombNewest *newest, Node *clause, bool check)
{
	CombCall	other;
	NullTest   *has_time;
	ListCell   *lc;

	if (is_andclause(clause) || is_orclause(clause))
	{
		bool		all = is_orclause(clause);

		foreach(lc, ((BoolExpr *) clause)->args)
		{
			if (comb_excludes(newest, (Node *) lfirst(lc), check) != all)
				return !all;
		}
		return all;
	}
	if (comb_period_clause(&other, clause))
		return other.layout == newest->call.layout &&
			equal(other.key, newest->call.key) &&
			(!check || (IsA(other.period, Const) &&
						!((Const *) other.period)->constisnull));
	if (IsA(clause, RowCompareExpr))
	{
		RowCompareExpr *row = (RowCompareExpr *) clause;

		return !check && equal(linitial(row->largs), newest->time) &&
			comb_time_strategy(linitial_oid(row->opnos), false) != 0;
	}
	has_time = makeNode(NullTest);
	has_time->arg = (Expr *) newest->time;
	has_time->nulltesttype = IS_NOT_NULL;
	has_time->location = -1;
	return predicate_implied_by(list_make1(has_time), list_make1(clause), check);
}

/* What is looked for in the constraints of a table and its partitions */
typedef struct CombChecks
{
	CombNewest	newest;			/* of a table with varno 1, as in a CHECK */
	char	   *column;
	bool		not_null;		/* must the column be NOT NULL? */
	bool		lasting;		/* for all snapshots of all transactions? */
} CombChecks;

/*
 * The tables whose constraints were a proof for all snapshots.  Plans of a
 * hundred partitions would look at the constraints of each every time.
 */
#define COMB_PROVEN_TABLES		256

typedef struct CombProven
{
	Oid			relid;
	AttrNumber	attno;
	bool		not_null;
	const CombLayout *layout;
} CombProven;

static CombProven comb_proven[COMB_PROVEN_TABLES];

/* A table has changed, or all have, so forget all */
static void
comb_forget_proven(Datum arg, Oid relid)
{
	memset(comb_proven, 0, sizeof(comb_proven));
}

/* Start to notice changes of tables.  _PG_init() calls this. */
void
comb_newest_init(void)
{
	CacheRegisterRelcacheCallback(comb_forget_proven, (Datum) 0);
}

/*
 * Did the catalog have this row before the oldest snapshot of this transaction?
 * If not, the snapshot can show rows that the constraint forbids.
 *
 * A plan is made again in a later transaction if another transaction has such a
 * snapshot, as it can hand this on.
 */
static bool
comb_precedes_snapshots(PlannerInfo *root, CombChecks *checks, HeapTuple tuple)
{
	TransactionId xmin = HeapTupleHeaderGetXmin(tuple->t_data);

	if (!TransactionIdIsNormal(xmin) || GlobalVisCheckRemovableXid(NULL, xmin))
		return true;
	checks->lasting = false;
	root->glob->transientPlan = true;
	return TransactionIdPrecedes(xmin, TransactionXmin);
}

/* Is this CHECK, as the catalog has it, a proof? */
static bool
comb_check_excludes(PlannerInfo *root, CombChecks *checks, const char *conbin)
{
	Node	   *check = eval_const_expressions(root, (Node *) stringToNode(conbin));

	check = (Node *) canonicalize_qual((Expr *) check, true);
	return comb_excludes(&checks->newest, check, true);
}

/*
 * Has the table itself a CHECK that is a proof?  Nothing enforces those of
 * foreign tables.
 */
static bool
comb_has_check(PlannerInfo *root, CombChecks *checks, Oid relid)
{
	CombProven *proven = &comb_proven[relid % COMB_PROVEN_TABLES];
	AttrNumber	attno = get_attnum(relid, checks->column);
	char		relkind = get_rel_relkind(relid);
	Relation	catalog;
	ScanKeyData scan_key;
	SysScanDesc scan;
	HeapTuple	tuple;
	bool		found = false;

	if (proven->relid == relid && proven->attno == attno &&
		proven->not_null >= checks->not_null &&
		proven->layout == checks->newest.call.layout)
		return true;
	if ((relkind != RELKIND_RELATION && relkind != RELKIND_PARTITIONED_TABLE) ||
		attno == InvalidAttrNumber)
		return false;
	checks->lasting = true;
	if (checks->not_null)
	{
		tuple = comb_not_null_tuple(relid, attno);
		if (tuple == NULL || !comb_precedes_snapshots(root, checks, tuple))
			return false;
	}
	checks->newest.var->varattno = attno;
	catalog = table_open(ConstraintRelationId, AccessShareLock);
	ScanKeyInit(&scan_key, Anum_pg_constraint_conrelid, BTEqualStrategyNumber,
				F_OIDEQ, ObjectIdGetDatum(relid));
	scan = systable_beginscan(catalog, ConstraintRelidTypidNameIndexId, true,
							  NULL, 1, &scan_key);
	while (!found && HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_constraint constraint = (Form_pg_constraint) GETSTRUCT(tuple);
		bool		isnull;
		Datum		conbin;

		if (constraint->contype != CONSTRAINT_CHECK || !constraint->convalidated)
			continue;
		conbin = heap_getattr(tuple, Anum_pg_constraint_conbin,
							  RelationGetDescr(catalog), &isnull);
		found = !isnull &&
			comb_check_excludes(root, checks, TextDatumGetCString(conbin)) &&
			comb_precedes_snapshots(root, checks, tuple);
	}
	systable_endscan(scan);
	table_close(catalog, AccessShareLock);
	if (found && checks->lasting)
	{
		proven->relid = relid;
		proven->attno = attno;
		proven->not_null = checks->not_null;
		proven->layout = checks->newest.call.layout;
	}
	return found;
}

/*
 * Has each partition a CHECK that is a proof?  A table that was attached with
 * rows can have one that is younger than its parent's.
 *
 * These are the partitions that the planner will look at.  It has no lock on
 * them yet, but while we have one on their parent, nobody drops what they inherit.
 */
static bool
comb_partitions_have_check(PlannerInfo *root, CombChecks *checks,
						   Relation parent)
{
	PartitionDesc desc = PartitionDirectoryLookup(root->glob->partition_directory,
												  parent);
	int			i;

	for (i = 0; i < desc->nparts; i++)
	{
		Relation	partition;
		bool		proven;

		if (!comb_has_check(root, checks, desc->oids[i]))
			return false;
		if (desc->is_leaf[i])
			continue;
		partition = try_table_open(desc->oids[i], AccessShareLock);
		if (partition == NULL)
			return false;
		proven = comb_partitions_have_check(root, checks, partition);
		table_close(partition, NoLock);
		if (!proven)
			return false;
	}
	return true;
}

/*
 * Do constraints say that each key of the table, and of its partitions, has a
 * time, or is NULL?  Children that inherit can come and go meanwhile.
 */
static bool
comb_checks_exclude(PlannerInfo *root, const RelOptInfo * rel,
					const CombNewest *newest, bool not_null)
{
	const RangeTblEntry *rte = root->simple_rte_array[rel->relid];
	CombChecks	checks = {.not_null = not_null};
	Relation	parent;
	bool		proven;

	if (rte->inh && rte->relkind != RELKIND_PARTITIONED_TABLE)
		return false;
	comb_is_time(&checks.newest, rel, (Node *) copyObject(newest->time));
	checks.newest.var->varno = 1;
	checks.column = get_attname(rte->relid, newest->var->varattno, false);
	if (!comb_has_check(root, &checks, rte->relid))
		return false;
	if (!rte->inh)
		return true;
	parent = table_open(rte->relid, NoLock);
	proven = comb_partitions_have_check(root, &checks, parent);
	table_close(parent, NoLock);
	return proven;
}

/*
 * Does a scan soon meet a key with a time, as far as ANALYZE knows?  All other
 * uuids at the end where it begins would be read first.  Version 4 sorts above
 * today's keys.  One value of the histogram stands for a hundredth of the rows.
 */
static bool
comb_begins_in_time(PlannerInfo *root, const RelOptInfo * rel,
					const CombNewest *newest, List *lists, bool desc)
{
	const RangeTblEntry *rte = root->simple_rte_array[rel->relid];
	PGFunction	within = desc ? uuid_le : uuid_ge;
	List	   *bounds = NIL;
	int			others = 0;
	HeapTuple	tuple;
	AttStatsSlot slot;
	ListCell   *lc;
	ListCell   *lc2;
	int			i;

	if (newest->call.layout->sorts_in != COMB_SORTS_PLAIN)
		return true;
	foreach(lc, lists)
	{
		foreach(lc2, *(List **) lfirst(lc))
		{
			Node	   *value;

			if (!comb_is_bound(&newest->call, newest->key,
							   (Node *) lfirst(lc2), !desc))
				continue;
			value = (Node *) lsecond(((OpExpr *) lfirst(lc2))->args);
			value = estimate_expression_value(root, value);
			if (!IsA(value, Const) || ((Const *) value)->constisnull)
				return true;
			bounds = lappend(bounds, value);
		}
	}
	tuple = SearchSysCache3(STATRELATTINH, ObjectIdGetDatum(rte->relid),
							Int16GetDatum(newest->var->varattno),
							BoolGetDatum(rte->inh));
	if (!HeapTupleIsValid(tuple))
		return true;
	if (get_attstatsslot(&slot, tuple, STATISTIC_KIND_HISTOGRAM, InvalidOid,
						 ATTSTATSSLOT_VALUES))
	{
		int			n = getBaseType(slot.valuetype) == UUIDOID ? slot.nvalues : 0;

		for (i = 0; i < n; i++)
		{
			Datum		value = slot.values[desc ? n - 1 - i : i];
			int64		at;

			foreach(lc, bounds)
			{
				if (!DatumGetBool(DirectFunctionCall2(within, value,
													  ((Const *) lfirst(lc))->constvalue)))
					break;
			}
			if (lc != NULL)
				continue;
			if (comb_decode(newest->call.layout, DatumGetUUIDP(value)->data, &at))
				break;
			others++;
		}
		free_attstatsslot(&slot);
	}
	ReleaseSysCache(tuple);
	return others <= 1;
}

/*
 * Has the table an index with the time in it?  Of a parent's, any with an
 * expression counts: before 16 the planner has no list of them.
 */
static bool
comb_has_time_index(PlannerInfo *root, const RelOptInfo * rel, Node *time)
{
	const RangeTblEntry *rte = root->simple_rte_array[rel->relid];
	bool		found = false;
	Relation	parent;
	ListCell   *lc;

	foreach(lc, rel->indexlist)
	{
		IndexOptInfo *index = (IndexOptInfo *) lfirst(lc);
		int			i;

		for (i = 0; i < index->nkeycolumns; i++)
			found = found || match_index_to_operand(time, i, index);
	}
	if (found || !rte->inh)
		return found;
	parent = table_open(rte->relid, NoLock);
	foreach(lc, RelationGetIndexList(parent))
	{
		HeapTuple	tuple = SearchSysCache1(INDEXRELID,
											ObjectIdGetDatum(lfirst_oid(lc)));

		if (!HeapTupleIsValid(tuple))
			continue;
		found = found || !heap_attisnull(tuple, Anum_pg_index_indexprs, NULL);
		ReleaseSysCache(tuple);
	}
	table_close(parent, NoLock);
	return found;
}

/*
 * Can the order of the rows be the key's?  Where times count as equal, only
 * times will do.
 */
static bool
comb_has_plain_order(const Query *parse)
{
	return parse->commandType == CMD_SELECT && parse->sortClause != NIL &&
		list_length(parse->sortClause) <= 2 && parse->groupClause == NIL &&
		parse->groupingSets == NIL && parse->havingQual == NULL &&
		parse->distinctClause == NIL && parse->windowClause == NIL &&
		parse->setOperations == NULL && !parse->hasAggs &&
		!parse->hasWindowFuncs && !parse->hasTargetSRFs &&
		parse->limitOption != LIMIT_OPTION_WITH_TIES;
}

/*
 * Return the reference of a column with the key.  The time need not be computed
 * if it is only there for the order.
 */
static Index
comb_order_column(PlannerInfo *root, TargetEntry * time, Node *key)
{
	TargetEntry *entry = tlist_member((Expr *) key, root->processed_tlist);
	AttrNumber	resno = 0;
	ListCell   *lc;

	if (entry == NULL && time->resjunk)
	{
		time->expr = (Expr *) key;
		return time->ressortgroupref;
	}
	if (entry == NULL)
	{
		entry = makeTargetEntry((Expr *) key,
								list_length(root->processed_tlist) + 1, NULL, true);
		root->processed_tlist = lappend(root->processed_tlist, entry);
	}
	else if (time->resjunk)
	{
		root->processed_tlist = list_delete_ptr(root->processed_tlist, time);
		foreach(lc, root->processed_tlist)
			((TargetEntry *) lfirst(lc))->resno = ++resno;
	}
	return assignSortGroupRef(entry, root->processed_tlist);
}

/* Order the rows by the key in place of its time, where nobody can see it */
static void
comb_order_by_key(PlannerInfo *root, const RelOptInfo * rel, List *lists)
{
	Query	   *parse = root->parse;
	List	   *tlist = root->processed_tlist;
	SortGroupClause *first;
	SortGroupClause *last;
	TargetEntry *time;
	TargetEntry *entry;
	CombNewest	newest;
	Oid			family;
	Oid			type;
	CompareType direction;
	bool		desc;
	Oid			sortop;
	bool		proven = false;
	ListCell   *lc;

	if (!comb_has_plain_order(parse))
		return;
	first = linitial_node(SortGroupClause, parse->sortClause);
	last = llast_node(SortGroupClause, parse->sortClause);
	time = get_sortgroupclause_tle(first, tlist);
	if (!comb_is_time(&newest, rel, (Node *) time->expr) ||
		!get_ordering_op_properties(first->sortop, &family, &type, &direction) ||
		family != lookup_type_cache(TIMESTAMPTZOID,
									TYPECACHE_BTREE_OPFAMILY)->btree_opf)
		return;
	desc = direction == COMPARE_GT;
	sortop = get_opfamily_member(newest.call.family, UUIDOID, UUIDOID,
								 desc ? BTGreaterStrategyNumber : BTLessStrategyNumber);
	entry = get_sortgroupclause_tle(last, tlist);
	if (last != first &&
		(last->sortop != sortop ||
		 !equal(strip_implicit_coercions((Node *) entry->expr), newest.var)))
		return;
	if (comb_has_time_index(root, rel, newest.time))
		return;
	foreach(lc, lists)
		proven = proven || comb_excludes(&newest, (Node *)
										 make_ands_explicit(*(List **) lfirst(lc)),
										 false);
	if (!(proven && comb_begins_in_time(root, rel, &newest, lists, desc)) &&
		!comb_checks_exclude(root, rel, &newest,
							 !proven && first->nulls_first != desc))
		return;

	first = copyObject(first);
	first->tleSortGroupRef = comb_order_column(root, time, newest.key);
	first->sortop = sortop;
	first->eqop = get_equality_op_for_ordering_op(sortop, NULL);

	/* without a NULL, the order is that of an index */
	first->nulls_first = desc;
	parse->sortClause = list_make1(first);
}

/*
 * Look at ORDER BY and pages of a table's keys.  Comes after the ranges of keys
 * of this table, see comb_add_ranges().
 */
void
comb_add_newest(PlannerInfo *root, const RelOptInfo * rel)
{
	List	   *lists = NIL;
	ListCell   *lc;

	if (!comb_find_conditions((Node *) root->parse->jointree, (int) rel->relid,
							  &lists))
		return;
	foreach(lc, lists)
		comb_add_pages(root, rel, (List **) lfirst(lc));
	comb_order_by_key(root, rel, lists);
}
