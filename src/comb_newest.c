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
 * same as an OR.  They become comb_timestamp(id) <= at AND id < bound, where the
 * bound is the greatest of "last" and the smallest key of the time.
 *
 * Both happen while the planner looks at the key's table: pages before
 * comb_planner.c puts ranges of keys beside the conditions on times, and ORDER BY
 * after it.
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
#include "catalog/pg_statistic.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/tlist.h"
#include "parser/parse_clause.h"
#include "partitioning/partdesc.h"
#include "rewrite/rewriteManip.h"
#include "utils/fmgroids.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/rel.h"
#include "utils/relcache.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

#include "comb_planner.h"

/* A key of a table, and its time */
typedef struct CombNewest
{
	CombCall	call;			/* takes "time" apart */
	Node	   *time;
	Var		   *var;			/* the column in "time" */
	Node	   *key;			/* the column as a uuid */

	/* what constraints say of the table and its partitions */
	bool		not_null;		/* the column is NOT NULL */
	char	   *check;			/* the name of a CHECK that is a proof */
	bool		lasting;		/* so far, all is true for all transactions */
} CombNewest;

/* Is the expression the time of a column's keys? */
static bool
comb_is_time(CombNewest *newest, Node *expr)
{
	memset(newest, 0, sizeof(CombNewest));
	if (!comb_time_call(&newest->call, expr))
		return false;
	newest->time = expr;
	newest->var = (Var *) comb_key_column(&newest->call);
	newest->key = comb_call_key(&newest->call);
	return newest->var != NULL;
}

/* Return the family of operators that compare times with times of all types */
static Oid
comb_time_family(void)
{
	return lookup_type_cache(TIMESTAMPTZOID, TYPECACHE_BTREE_OPFAMILY)->btree_opf;
}

/*
 * Find the conditions that hold for each row of the result that the table is
 * part of.  False if the table is on the nullable side of an outer join, where
 * keys are also NULL.
 */
static bool
comb_find_conditions(Node *node, int varno, List **conditions)
{
	if (IsA(node, FromExpr))
	{
		ListCell   *lc;

		foreach(lc, ((FromExpr *) node)->fromlist)
		{
			if (!comb_find_conditions((Node *) lfirst(lc), varno, conditions))
				continue;
			*conditions = list_concat(*conditions,
									  (List *) ((FromExpr *) node)->quals);
			return true;
		}
		return false;
	}
	if (IsA(node, JoinExpr))
	{
		JoinExpr   *join = (JoinExpr *) node;
		bool		inner = join->jointype == JOIN_INNER;

		if (join->jointype == JOIN_FULL || join->jointype == JOIN_RIGHT ||
			(!comb_find_conditions(join->larg, varno, conditions) &&
			 !(inner && comb_find_conditions(join->rarg, varno, conditions))))
			return false;
		if (inner)
			*conditions = list_concat(*conditions, (List *) join->quals);
		return true;
	}
	return ((RangeTblRef *) node)->rtindex == varno;
}

/*
 * Pages
 */

/* A comparison with the time and the key that another page ends at */
typedef struct CombPage
{
	CombNewest	newest;
	Oid			time_op;		/* compares the time with "at" */
	Node	   *at;
	Oid			key_op;			/* compares the key with "last" */
	Node	   *last;
	bool		whole;			/* does the condition say this, and no more? */
} CombPage;

/* Does a comparison with this strategy of btree exclude what is equal? */
static inline bool
comb_is_strict(int strategy)
{
	return strategy == BTLessStrategyNumber || strategy == BTGreaterStrategyNumber;
}

/* Take (time, key) < (at, last) and the like apart */
static bool
comb_row_page(CombPage *page, const RowCompareExpr * row)
{
	page->time_op = linitial_oid(row->opnos);
	page->at = (Node *) linitial(row->rargs);
	page->key_op = lsecond_oid(row->opnos);
	page->last = (Node *) lsecond(row->rargs);
	page->whole = true;
	return list_length(row->largs) == 2 &&
		comb_is_time(&page->newest, (Node *) linitial(row->largs)) &&
		equal(lsecond(row->largs), page->newest.key);
}

/*
 * Take time < at OR (time = at AND key < last) apart.  The second arm may say
 * more, and another time, if only a bound of the key must follow.
 */
static bool
comb_or_page(CombPage *page, List *arms)
{
	int			i;

	for (i = 0; i < 2 && list_length(arms) == 2; i++)
	{
		OpExpr	   *first = (OpExpr *) list_nth(arms, i);
		Node	   *second = (Node *) list_nth(arms, 1 - i);
		List	   *others = is_andclause(second) ?
			((BoolExpr *) second)->args : list_make1(second);
		ListCell   *lc;

		if (!IsA(first, OpExpr) ||
			!comb_is_time(&page->newest, (Node *) linitial(first->args)) ||
			!comb_is_strict(comb_time_strategy(first->opno, false)))
			continue;
		page->time_op = first->opno;
		page->at = (Node *) lsecond(first->args);
		page->last = NULL;
		page->whole = false;
		foreach(lc, others)
		{
			OpExpr	   *other = (OpExpr *) lfirst(lc);

			if (!IsA(other, OpExpr) || list_length(other->args) != 2)
				continue;
			if (equal(linitial(other->args), page->newest.key))
			{
				page->key_op = other->opno;
				page->last = (Node *) lsecond(other->args);
			}
			else if (equal(linitial(other->args), page->newest.time) &&
					 equal(lsecond(other->args), page->at) &&
					 comb_time_strategy(other->opno, false) == BTEqualStrategyNumber)
				page->whole = list_length(others) == 2;
		}
		if (page->last)
			return true;
	}
	return false;
}

/*
 * Return conditions that follow from a page: a bound of the key, and if it is
 * the whole condition, that the time is not beyond "at".  NIL if there are none.
 * If constants say this already, has_time takes its place.  Sets *exact if they say
 * the same as the condition.
 *
 * Keys of the time are between comb_min() and comb_max().  So if no time is
 * beyond "at", the keys below the bound are those of the page.  A bound that
 * includes its end is not exact, as the end can be a key of another time.
 * GREATEST and LEAST ignore NULL, as an OR does.
 *
 * What the bound is computed from is known when a scan begins, and can raise no
 * error there.
 */
static List *
comb_page_conditions(PlannerInfo *root, const CombPage *page, bool *exact)
{
	const CombCall *call = &page->newest.call;
	int			strategy = get_op_opfamily_strategy(page->key_op, call->family);
	bool		below = strategy < BTEqualStrategyNumber;
	int			of_time = comb_time_strategy(page->time_op, false);
	Node	   *at = page->at;
	MinMaxExpr *extreme;
	Node	   *bound;
	Node	   *end;
	OpExpr	   *within;
	List	   *conditions;
	Oid			op;

	if (strategy == 0 || strategy == BTEqualStrategyNumber || of_time == 0 ||
		below != (of_time < BTEqualStrategyNumber) || !call->layout->versioned ||
		!(IsA(at, Const) || IsA(at, Param)) ||
		!(IsA(page->last, Const) || IsA(page->last, Param)))
		return NIL;
	at = comb_as_time(root, call, at);
	end = at ? comb_time_bound(root, call, at, !below) : NULL;
	if (end == NULL)
		return NIL;
	extreme = makeNode(MinMaxExpr);
	extreme->minmaxtype = UUIDOID;
	extreme->op = below ? IS_GREATEST : IS_LEAST;
	extreme->args = list_make2(copyObject(page->last), end);
	extreme->location = -1;
	bound = eval_const_expressions(root, (Node *) extreme);
	conditions = list_make1(comb_compare_key(call, strategy, bound));
	*exact = page->whole && comb_is_strict(strategy);
	if (!page->whole)
		return conditions;

	/* is no key that is below the bound beyond "at", as far as it has a time? */
	end = comb_time_bound(root, call, at, below);
	if (end == NULL)
		return NIL;
	within = (OpExpr *) comb_compare_key(call, below ? BTLessEqualStrategyNumber :
										 BTGreaterEqualStrategyNumber, end);
	linitial(within->args) = bound;
	if (equal(eval_const_expressions(root, (Node *) within), makeBoolConst(true, false)))
	{
		Node	   *has_time = comb_has_time(root, call);

		return has_time ? lappend(conditions, has_time) : NIL;
	}
	op = get_opfamily_member(comb_time_family(), TIMESTAMPTZOID, exprType(page->at),
							 below ? BTLessEqualStrategyNumber :
							 BTGreaterEqualStrategyNumber);
	return lappend(conditions, make_opclause(op, BOOLOID, false,
											 (Expr *) copyObject(page->newest.time),
											 (Expr *) copyObject(page->at),
											 InvalidOid, InvalidOid));
}

/*
 * Put bounds beside the pages in a list of conditions, or into their place.
 * Comes before the ranges of keys, see comb_add_ranges().
 *
 * Without ORDER BY, an OR that has only a bound is not of a page.
 */
void
comb_add_pages(PlannerInfo *root, List **clauses)
{
	List	   *added = NIL;
	ListCell   *lc;

	foreach(lc, *clauses)
	{
		Node	   *clause = (Node *) lfirst(lc);
		List	   *conditions = NIL;
		bool		exact = false;
		CombPage	page;

		if (IsA(clause, RowCompareExpr) ?
			comb_row_page(&page, (RowCompareExpr *) clause) :
			is_orclause(clause) &&
			comb_or_page(&page, ((BoolExpr *) clause)->args) &&
			(page.whole || root->parse->sortClause != NIL))
			conditions = comb_page_conditions(root, &page, &exact);
		if (exact && conditions != NIL)
			lfirst(lc) = llast(conditions);
		added = list_concat(added, conditions);
	}
	*clauses = list_concat_unique(*clauses, added);
}

/*
 * Proofs that no key is without a time
 */

/* Is this a period that cannot be NULL? */
static bool
comb_is_never_null(Node *period)
{
	Oid			funcid;

	if (IsA(period, CoerceToDomain))
		period = (Node *) ((CoerceToDomain *) period)->arg;
	if (IsA(period, Const))
		return !((Const *) period)->constisnull;
	funcid = IsA(period, FuncExpr) ? ((FuncExpr *) period)->funcid : InvalidOid;
	return funcid == F_TSTZRANGE_TIMESTAMPTZ_TIMESTAMPTZ ||
		funcid == F_TSTZRANGE_TIMESTAMPTZ_TIMESTAMPTZ_TEXT;
}

/*
 * Does the condition exclude keys without a time?  A condition must be true for
 * a row, while a CHECK must not be false: that of a period accepts NULL.
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
			(!check || (newest->not_null && comb_is_never_null(other.period)));
	has_time = makeNode(NullTest);
	has_time->arg = (Expr *) newest->time;
	has_time->nulltesttype = IS_NOT_NULL;
	has_time->location = -1;
	return predicate_implied_by(list_make1(has_time), list_make1(clause), check);
}

/*
 * A table whose constraints were a proof for the snapshots of all transactions.
 * A plan of a hundred partitions would look at those of each every time.
 */
typedef struct CombProof
{
	Oid			relid;			/* the table, or one of its partitions */
	Oid			named;			/* the table that the query names */
	AttrNumber	attno;			/* the number of its column */
	const CombLayout *layout;
} CombProof;

/* The proofs, found by all their fields */
static HTAB *comb_proofs = NULL;

/* A table has changed, or all have, so forget all */
static void
comb_forget_proofs(Datum arg, Oid relid)
{
	if (comb_proofs != NULL)
		hash_destroy(comb_proofs);
	comb_proofs = NULL;
}

static void
comb_add_proof(const CombProof *proof)
{
	static bool listening = false;
	HASHCTL		control;

	if (!listening)
		CacheRegisterRelcacheCallback(comb_forget_proofs, (Datum) 0);
	listening = true;
	control.keysize = sizeof(CombProof);
	control.entrysize = sizeof(CombProof);
	if (comb_proofs == NULL)
		comb_proofs = hash_create("pg_comb proofs", 128, &control, HASH_ELEM | HASH_BLOBS);
	hash_search(comb_proofs, proof, HASH_ENTER, NULL);
}

/*
 * Did the catalog have this row before the oldest snapshot of this transaction?
 * If not, the snapshot can show rows that the constraint forbids.
 *
 * A plan is made again in a later transaction if another transaction has such a
 * snapshot, as it can hand this on.
 */
static bool
comb_precedes_snapshots(PlannerInfo *root, CombNewest *newest, HeapTuple tuple)
{
	TransactionId xmin = HeapTupleHeaderGetXmin(tuple->t_data);

	if (!TransactionIdIsNormal(xmin) || GlobalVisCheckRemovableXid(NULL, xmin))
		return true;
	newest->lasting = false;
	root->glob->transientPlan = true;
	return TransactionIdPrecedes(xmin, TransactionXmin);
}

/*
 * Find a CHECK of the table that is a proof.  Partitions inherit it, with its
 * name.  Who reads a table needs no right on the functions of its constraints, so
 * we must not call them for constants.
 */
static void
comb_find_check(CombNewest *newest, Oid relid)
{
	Relation	table = table_open(relid, NoLock);
	TupleDesc	columns = RelationGetDescr(table);
	int			n = columns->constr ? columns->constr->num_check : 0;
	int			i;

	newest->not_null = comb_not_null_tuple(relid, newest->var->varattno) != NULL;
	for (i = 0; i < n && newest->check == NULL; i++)
	{
		Node	   *check;

		if (!columns->constr->check[i].ccvalid)
			continue;
		check = stringToNode(columns->constr->check[i].ccbin);
		ChangeVarNodes(check, 1, newest->var->varno, 0);
		if (comb_excludes(newest, check, true))
			newest->check = pstrdup(columns->constr->check[i].ccname);
	}
	table_close(table, NoLock);
}

/*
 * Do constraints of one of the tables say that each key has a time?  A table that
 * was attached with rows can have some that are younger than its parent's.
 * Nothing enforces those of foreign tables.
 */
static bool
comb_is_proven(PlannerInfo *root, CombNewest *newest, Oid named, Oid relid)
{
	CombProof	proof;
	HeapTuple	tuple;
	bool		proven;

	memset(&proof, 0, sizeof(CombProof));	/* the bytes between fields count */
	proof.relid = relid;
	proof.named = named;
	proof.attno = newest->var->varattno;
	proof.layout = newest->call.layout;
	if (comb_proofs != NULL && hash_search(comb_proofs, &proof, HASH_FIND, NULL))
		return true;
	if (newest->check == NULL)
		comb_find_check(newest, named);
	if (newest->check == NULL || get_rel_relkind(relid) == RELKIND_FOREIGN_TABLE)
		return false;
	tuple = SearchSysCache1(CONSTROID, ObjectIdGetDatum(get_relation_constraint_oid(relid, newest->check, true)));
	if (!HeapTupleIsValid(tuple))
		return false;
	proven = ((Form_pg_constraint) GETSTRUCT(tuple))->convalidated &&
		comb_precedes_snapshots(root, newest, tuple);
	ReleaseSysCache(tuple);
	if (proven && newest->not_null)
	{
		const char *column = get_attname(named, newest->var->varattno, false);

		tuple = comb_not_null_tuple(relid, get_attnum(relid, column));
		proven = tuple && comb_precedes_snapshots(root, newest, tuple);
	}
	if (proven && newest->lasting)
		comb_add_proof(&proof);
	return proven;
}

/*
 * Do they, and those of the table's partitions?  These are the partitions that
 * the planner will look at.  It has no lock on them yet, but while we have one on
 * their parent, nobody drops what they inherit.
 */
static bool
comb_are_proven(PlannerInfo *root, CombNewest *newest, Oid named, Oid relid)
{
	Relation	table = try_table_open(relid, AccessShareLock);
	PartitionDesc desc;
	bool		proven;
	int			i;

	if (table == NULL)
		return false;
	proven = comb_is_proven(root, newest, named, relid);
	if (table->rd_rel->relkind == RELKIND_PARTITIONED_TABLE)
	{
		desc = PartitionDirectoryLookup(root->glob->partition_directory, table);
		for (i = 0; proven && i < desc->nparts; i++)
			proven = desc->is_leaf[i] ?
				comb_is_proven(root, newest, named, desc->oids[i]) :
				comb_are_proven(root, newest, named, desc->oids[i]);
	}
	table_close(table, NoLock);
	return proven;
}

/*
 * Does a scan begin where keys have a time, as far as ANALYZE knows, or where a
 * condition says?  All other uuids at this end would be read first.  Version 4
 * sorts above today's keys.  The very last value can be a single one.
 */
static bool
comb_begins_in_time(const RangeTblEntry *rte, const CombNewest *newest,
					List *conditions, bool desc)
{
	bool		begins = true;
	HeapTuple	tuple;
	AttStatsSlot slot;
	ListCell   *lc;

	if (newest->call.layout->sorts_in != COMB_SORTS_PLAIN)
		return true;
	foreach(lc, conditions)
	{
		OpExpr	   *op = (OpExpr *) lfirst(lc);
		int			strategy;

		if (!IsA(op, OpExpr) || !equal(linitial(op->args), newest->key))
			continue;
		strategy = get_op_opfamily_strategy(op->opno, newest->call.family);
		if (strategy != 0 && (desc ? strategy < BTEqualStrategyNumber :
							  strategy > BTEqualStrategyNumber))
			return true;
	}
	tuple = SearchSysCache3(STATRELATTINH, ObjectIdGetDatum(rte->relid),
							Int16GetDatum(newest->var->varattno),
							BoolGetDatum(rte->inh));
	if (!HeapTupleIsValid(tuple))
		return true;
	if (get_attstatsslot(&slot, tuple, STATISTIC_KIND_HISTOGRAM, InvalidOid,
						 ATTSTATSSLOT_VALUES))
	{
		int			last = desc ? slot.nvalues - 2 : 1;
		int64		at;

		if (getBaseType(slot.valuetype) == UUIDOID && slot.nvalues > 1)
			begins = comb_decode(newest->call.layout,
								 DatumGetUUIDP(slot.values[last])->data, &at);
		free_attstatsslot(&slot);
	}
	ReleaseSysCache(tuple);
	return begins;
}

/* Has the table an index with the time in it? */
static bool
comb_has_time_index(const RangeTblEntry *rte, const CombNewest *newest)
{
	Relation	table = table_open(rte->relid, NoLock);
	bool		found = false;
	ListCell   *lc;

	foreach(lc, RelationGetIndexList(table))
	{
		Relation	index = index_open(lfirst_oid(lc), AccessShareLock);
		List	   *expressions = RelationGetIndexExpressions(index);

		ChangeVarNodes((Node *) expressions, 1, newest->var->varno, 0);
		found = found || list_member(expressions, newest->time);
		index_close(index, NoLock);
	}
	table_close(table, NoLock);
	return found;
}

/*
 * Return the reference of a column with the key.  The time need not be computed
 * if it is only there for the order.
 */
static Index
comb_order_column(PlannerInfo *root, TargetEntry * time, Node *key)
{
	List	   *tlist = root->processed_tlist;
	TargetEntry *entry = tlist_member((Expr *) key, tlist);
	ListCell   *lc;

	if (entry == NULL)
	{
		entry = makeTargetEntry((Expr *) key, list_length(tlist) + 1, NULL, true);
		tlist = lappend(tlist, entry);
	}
	assignSortGroupRef(entry, tlist);

	/* an outer query may list all columns, with their numbers and types */
	if (time->resjunk && root->query_level > 1)
	{
		time->expr = (Expr *) makeNullConst(TIMESTAMPTZOID, -1, InvalidOid);
		time->ressortgroupref = 0;
	}
	else if (time->resjunk)
	{
		tlist = list_delete_ptr(tlist, time);
		foreach(lc, tlist)
			((TargetEntry *) lfirst(lc))->resno = foreach_current_index(lc) + 1;
	}
	root->processed_tlist = tlist;
	return entry->ressortgroupref;
}

/* Order the rows by the key in place of its time, where nobody can see it */
static void
comb_order_by_key(PlannerInfo *root, const RelOptInfo * rel)
{
	const RangeTblEntry *rte = root->simple_rte_array[rel->relid];
	Query	   *parse = root->parse;
	SortGroupClause *first = linitial_node(SortGroupClause, parse->sortClause);
	SortGroupClause *last = llast_node(SortGroupClause, parse->sortClause);
	TargetEntry *time = get_sortgroupclause_tle(first, root->processed_tlist);
	TargetEntry *entry = get_sortgroupclause_tle(last, root->processed_tlist);
	List	   *conditions = NIL;
	CombNewest	newest;
	Oid			family;
	Oid			type;
	CompareType direction;
	bool		desc;
	Oid			sortop;
	bool		proven;

	if (!comb_is_time(&newest, (Node *) time->expr) ||
		newest.var->varno != (int) rel->relid ||
		!comb_may_execute(root, newest.call.funcid) ||
		!get_ordering_op_properties(first->sortop, &family, &type, &direction) ||
		family != comb_time_family() ||
		!comb_find_conditions((Node *) parse->jointree, (int) rel->relid, &conditions))
		return;
	desc = direction == COMPARE_GT;
	sortop = get_opfamily_member(newest.call.family, UUIDOID, UUIDOID,
								 desc ? BTGreaterStrategyNumber : BTLessStrategyNumber);
	if (last != first &&
		(last->sortop != sortop ||
		 !equal(strip_implicit_coercions((Node *) entry->expr), newest.var)))
		return;
	if (comb_has_time_index(rte, &newest))
		return;

	/* children that inherit can come and go meanwhile */
	newest.lasting = true;
	proven = rte->relkind == (rte->inh ? RELKIND_PARTITIONED_TABLE : RELKIND_RELATION) &&
		comb_are_proven(root, &newest, rte->relid, rte->relid);
	if (!proven &&
		!(comb_excludes(&newest, (Node *) make_ands_explicit(conditions), false) &&
		  comb_begins_in_time(rte, &newest, conditions, desc)))
		return;
	if (proven && newest.lasting && parse->limitCount != NULL &&
		parse->jointree->quals != NULL)
		parse->jointree->quals = (Node *)
			list_delete((List *) parse->jointree->quals,
						comb_has_time(root, &newest.call));

	first = copyObject(first);
	first->tleSortGroupRef = comb_order_column(root, time, newest.key);
	first->sortop = sortop;
	first->eqop = get_equality_op_for_ordering_op(sortop, NULL);

	/* without a NULL, the order is that of an index */
	first->nulls_first = desc;
	parse->sortClause = list_make1(first);
}

/*
 * Look at ORDER BY of a table's keys.  Comes after the ranges of keys of this
 * table, see comb_add_ranges().  Where times count as equal, only times will do.
 */
void
comb_add_newest(PlannerInfo *root, const RelOptInfo * rel)
{
	const Query *parse = root->parse;

	if (parse->sortClause != NIL && list_length(parse->sortClause) <= 2 &&
		parse->groupClause == NIL && parse->distinctClause == NIL &&
		!parse->hasAggs && !parse->hasWindowFuncs && !parse->hasTargetSRFs &&
		parse->limitOption != LIMIT_OPTION_WITH_TIES)
		comb_order_by_key(root, rel);
}
