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
 * PostgreSQL takes a valid CHECK for true of all rows, as constraint_exclusion
 * does, also where a snapshot is older than the constraint, and so do we.
 *
 * Snowflakes get none of this.
 *
 * Copyright (c) 2026, pg_comb developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/stratnum.h"
#include "access/table.h"
#include "catalog/pg_class.h"
#include "catalog/pg_statistic.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/planmain.h"
#include "optimizer/tlist.h"
#include "parser/parse_clause.h"
#include "partitioning/partdesc.h"
#include "rewrite/rewriteManip.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "comb_call.h"

/* An order by a key's time, and what constraints say of its table */
typedef struct CombOrder
{
	PlannerInfo *root;
	const RangeTblEntry *rte;
	CombKey		key;
	Node	   *time;
	bool		check;			/* look at a CHECK, not at a condition */
	bool		not_null;		/* the column is NOT NULL */
} CombOrder;

/*
 * Does the condition exclude keys without a time?  A condition must be true for a
 * row, while a CHECK must not be false: that of a period accepts NULL.
 */
static bool
comb_excludes(const CombOrder *order, Node *clause)
{
	CombKey		other;
	Node	   *period;
	NullTest   *has_time;
	ListCell   *lc;

	if (is_andclause(clause) || is_orclause(clause))
	{
		bool		all = is_orclause(clause);

		foreach(lc, ((BoolExpr *) clause)->args)
		{
			if (comb_excludes(order, lfirst(lc)) != all)
				return !all;
		}
		return all;
	}
	if (comb_period_clause(order->root, clause, &other, &period))
	{
		if (IsA(period, CoerceToDomain))
			period = (Node *) ((CoerceToDomain *) period)->arg;
		return other.layout == order->key.layout && equal(other.id, order->key.id) &&
			(!order->check || (order->not_null &&
							   (comb_is_range_call(period) ||
								(IsA(period, Const) && !((Const *) period)->constisnull))));
	}
	if (IsA(clause, RowCompareExpr))
		return !order->check && equal(linitial(((RowCompareExpr *) clause)->largs), order->time);
	has_time = makeNode(NullTest);
	has_time->arg = (Expr *) order->time;
	has_time->nulltesttype = IS_NOT_NULL;
	has_time->location = -1;
	return predicate_implied_by(list_make1(has_time), list_make1(clause), order->check);
}

/* Are rows of the table or its partitions on another server, which knows no CHECK? */
static bool
comb_has_foreign_rows(Oid relid)
{
	char		relkind = get_rel_relkind(relid);
	Relation	table = relkind == RELKIND_PARTITIONED_TABLE ? try_table_open(relid, AccessShareLock) : NULL;
	PartitionDesc parts = table ? RelationGetPartitionDesc(table, false) : NULL;
	bool		found = relkind == RELKIND_FOREIGN_TABLE;
	int			i;

	for (i = 0; parts && i < parts->nparts && !found; i++)
		found = comb_has_foreign_rows(parts->oids[i]);
	if (table)
		table_close(table, NoLock);
	return found;
}

/*
 * Does a CHECK of the table?  Partitions inherit it, but children that inherit can
 * have rows of their own.  Who reads a table needs no right on the functions of its
 * constraints, so we must not call them for constants.
 */
static bool
comb_check_excludes(CombOrder *order)
{
	Relation	table = table_open(order->rte->relid, NoLock);
	TupleDesc	columns = RelationGetDescr(table);
	int			n = columns->constr ? columns->constr->num_check : 0;
	bool		found = false;
	int			i;

	order->check = true;
	order->not_null = comb_is_not_null(columns, order->key.column->varattno);
	for (i = 0; i < n && !found; i++)
	{
		Node	   *check;

		if (!columns->constr->check[i].ccvalid)
			continue;
		check = stringToNode(columns->constr->check[i].ccbin);
		ChangeVarNodes(check, 1, order->key.column->varno, 0);
		found = comb_excludes(order, check);
	}
	table_close(table, NoLock);
	order->check = false;
	return found && !comb_has_foreign_rows(order->rte->relid);
}

/*
 * Does a scan begin where keys have a time, as far as ANALYZE knows, or where a
 * condition says?  All other uuids at this end would be read first.  Version 4
 * sorts above today's keys.  The very last value can be a single one.
 */
static bool
comb_begins_in_time(const CombOrder *order, List *conditions, bool desc)
{
	const CombKey *key = &order->key;
	bool		begins = true;
	HeapTuple	tuple;
	AttStatsSlot slot;
	ListCell   *lc;

	foreach(lc, conditions)
	{
		OpExpr	   *op = lfirst(lc);
		int			strategy;

		if (!IsA(op, OpExpr) || !equal(linitial(op->args), key->id))
			continue;
		strategy = get_op_opfamily_strategy(op->opno, key->family);
		if (strategy != 0 && (desc ? strategy < BTEqualStrategyNumber : strategy > BTEqualStrategyNumber))
			return true;
	}
	tuple = SearchSysCache3(STATRELATTINH, ObjectIdGetDatum(order->rte->relid),
							Int16GetDatum(key->column->varattno), BoolGetDatum(order->rte->inh));
	if (!HeapTupleIsValid(tuple) || key->layout->sorts_in != COMB_SORTS_PLAIN)
		return true;
	if (get_attstatsslot(&slot, tuple, STATISTIC_KIND_HISTOGRAM, InvalidOid, ATTSTATSSLOT_VALUES))
	{
		int			last = desc ? slot.nvalues - 2 : 1;
		int64		at;

		if (getBaseType(slot.valuetype) == UUIDOID && slot.nvalues > 1)
			begins = comb_decode(key->layout, DatumGetUUIDP(slot.values[last])->data, &at);
		free_attstatsslot(&slot);
	}
	ReleaseSysCache(tuple);
	return begins;
}

/*
 * Order the rows by the key in place of its time, where nobody can see it.  Where
 * times count as equal, only times will do.  "conditions" are those that each row of
 * the result fulfils, with ranges of keys, and "nullable" the tables that outer joins
 * fill with NULL.
 */
void
comb_order_by_key(PlannerInfo *root, Relids nullable, List *conditions)
{
	Query	   *parse = root->parse;
	CombOrder	order = {.root = root};
	SortGroupClause *first;
	SortGroupClause *last;
	TargetEntry *time;
	TargetEntry *entry;
	Oid			family;
	Oid			type;
	CompareType direction;
	bool		desc;
	Oid			sortop;
	ListCell   *lc;

	if (parse->sortClause == NIL || list_length(parse->sortClause) > 2 ||
		parse->groupClause || parse->distinctClause || parse->hasAggs || parse->hasWindowFuncs ||
		parse->hasTargetSRFs || parse->limitOption == LIMIT_OPTION_WITH_TIES)
		return;
	first = linitial(parse->sortClause);
	last = llast(parse->sortClause);
	time = get_sortgroupclause_tle(first, root->processed_tlist);
	entry = get_sortgroupclause_tle(last, root->processed_tlist);
	order.time = (Node *) time->expr;
	if (!comb_time_call(root, order.time, &order.key) ||
		bms_is_member(order.key.column->varno, nullable) ||
		!get_ordering_op_properties(first->sortop, &family, &type, &direction) ||
		family != comb_time_family())
		return;
	desc = direction == COMPARE_GT;
	sortop = get_opfamily_member(order.key.family, UUIDOID, UUIDOID,
								 desc ? BTGreaterStrategyNumber : BTLessStrategyNumber);
	if (last != first && (last->sortop != sortop ||
						  !equal(strip_implicit_coercions((Node *) entry->expr), order.key.column)))
		return;
	order.rte = root->simple_rte_array[order.key.column->varno];
	if (comb_stored_time(root, &order.key, order.time, conditions) == COMB_SORTED)
		return;
	if (!comb_check_excludes(&order) &&
		!(comb_excludes(&order, (Node *) make_ands_explicit(conditions)) &&
		  comb_begins_in_time(&order, conditions, desc)))
		return;

	record_plan_function_dependency(root, order.key.funcid);
	entry = tlist_member((Expr *) order.key.id, root->processed_tlist);
	if (entry == NULL)
	{
		entry = makeTargetEntry((Expr *) order.key.id, list_length(root->processed_tlist) + 1, NULL, true);
		root->processed_tlist = lappend(root->processed_tlist, entry);
	}
	time->ressortgroupref = 0;
	if (time->resjunk && root->query_level > 1)
	{
		/* an outer query may list all columns, with their numbers and types */
		time->expr = (Expr *) makeNullConst(TIMESTAMPTZOID, -1, InvalidOid);
	}
	else if (time->resjunk)
	{
		root->processed_tlist = list_delete_ptr(root->processed_tlist, time);
		foreach(lc, root->processed_tlist)
			((TargetEntry *) lfirst(lc))->resno = foreach_current_index(lc) + 1;
	}
	first = copyObject(first);
	first->tleSortGroupRef = assignSortGroupRef(entry, root->processed_tlist);
	first->sortop = sortop;
	first->eqop = get_equality_op_for_ordering_op(sortop, NULL);

	/* without a NULL, the order is that of an index */
	first->nulls_first = desc;
	parse->sortClause = list_make1(first);
}
