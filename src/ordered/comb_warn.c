/*-------------------------------------------------------------------------
 *
 * comb_warn.c
 *	  A warning of feeds over keys that are not ordered.
 *
 * A bound holds for keys that comb_generate_ordered() or comb_snowflake() made.
 * Readers of a column with other keys lose rows, and nothing else would tell
 * them.  So when a query compares a column with a bound, and the column's default
 * makes other keys, we warn, once in a session for each column.
 *
 * The planner shows us each table that it reads, below views and with its
 * partitions.  By then the query's calls of functions have been simplified, so
 * comb_settled_support() has told us whether the query asks for a bound.  Only then
 * we look at its conditions.
 *
 * What we cannot read counts as right: functions in other languages than C, and
 * triggers of users if there is no default.  We must not inline a function to see
 * what it does: that can run another role's code.
 *
 * Copyright (c) 2026, pg_comb developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "access/transam.h"
#include "catalog/pg_language.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_trigger.h"
#include "catalog/pg_type.h"
#include "commands/trigger.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/planmain.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteHandler.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/hsearch.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/ruleutils.h"
#include "utils/syscache.h"

#include "comb_order.h"

/* A column that was compared with a bound, and whether we have warned of it */
typedef struct CombWarned
{
	Oid			relid;
	int32		attno;
	bool		warned;			/* no part of the key */
} CombWarned;

/* A comparison of a table's column with a bound */
typedef struct CombCompared
{
	PlannerInfo *root;
	Index		relid;			/* of the table */
	const Var  *column;			/* the table's, or of one above it */
	Oid			type;
	const FuncExpr *bound;		/* NULL if it is not known */
	bool		plain;			/* nothing is around the bound */
} CombCompared;

/* What is known of an expression that makes keys */
typedef struct CombMaker
{
	const char *symbol;			/* of the function that must be called */
	const FuncExpr *call;		/* the call of it */
	bool		converted;		/* to another layout */
	bool		unknown;		/* calls what we cannot read */
} CombMaker;

/* The support function of those that ask for a bound */
static Oid	comb_support = InvalidOid;

static HTAB *comb_warned = NULL;

/* Does the query ask for a bound? */
static bool
comb_asks(const PlannerInfo *root)
{
	uint32		hash = GetSysCacheHashValue1(PROCOID, ObjectIdGetDatum(comb_support));
	ListCell   *cell;

	foreach(cell, root->glob->invalItems)
	{
		PlanInvalItem *item = lfirst_node(PlanInvalItem, cell);

		if (item->cacheId == PROCOID && item->hashValue == hash)
			return true;
	}
	return false;
}

/*
 * The planner begins to plan a query that asks by this function.  The query shall
 * depend on its support function, by which we know it again.
 */
void
comb_warn_begin(PlannerInfo *root, Oid funcid)
{
	comb_support = get_func_support(funcid);
	if (root != NULL && !comb_asks(root))
		record_plan_function_dependency(root, comb_support);
}

/*
 * Return what pg_proc has as a function's source, which is the symbol of a function
 * in C, and whether it is in C.  We only warn, so the symbol suffices to know ours.
 */
static char *
comb_source(Oid funcid, bool *in_c)
{
	HeapTuple	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(funcid));
	char	   *source;
	bool		isnull;
	Datum		value;

	*in_c = HeapTupleIsValid(tuple) &&
		((Form_pg_proc) GETSTRUCT(tuple))->prolang == ClanguageId;
	if (!HeapTupleIsValid(tuple))
		return "";
	value = SysCacheGetAttr(PROCOID, tuple, Anum_pg_proc_prosrc, &isnull);
	source = isnull ? "" : TextDatumGetCString(value);
	ReleaseSysCache(tuple);
	return source;
}

/* Return the table or UNION ALL above one, or 0 */
static Index
comb_above(const PlannerInfo *root, Index relid)
{
	AppendRelInfo *child = root->append_rel_array == NULL ? NULL :
		root->append_rel_array[relid];

	return child == NULL ? 0 : child->parent_relid;
}

/*
 * Return the number of a column in a table, if it is the table's or of one above it,
 * or 0.  A branch of a LATERAL UNION ALL can have a column of another table.
 */
static AttrNumber
comb_attno(const PlannerInfo *root, Index relid, const Var *column)
{
	AttrNumber	attno;

	if (column->varno == (int) relid)
		return column->varattno;
	if (comb_above(root, relid) == 0)
		return 0;
	attno = comb_attno(root, comb_above(root, relid), column);
	if (attno <= 0)
		return 0;
	column = (const Var *) list_nth(root->append_rel_array[relid]->translated_vars,
									attno - 1);
	return column == NULL || !IsA(column, Var) || column->varno != (int) relid ? 0 :
		column->varattno;
}

/* Return the query whose value a parameter has, or NULL */
static PlannerInfo *
comb_param_query(PlannerInfo *root, int paramid)
{
	ListCell   *cell;

	for (; root != NULL; root = root->parent_root)
	{
		foreach(cell, root->init_plans)
		{
			SubPlan    *plan = lfirst_node(SubPlan, cell);

			if (list_member_int(plan->setParam, paramid))
				return (PlannerInfo *) list_nth(root->glob->subroots,
												plan->plan_id - 1);
		}
	}
	return NULL;
}

/*
 * Has an expression a bound in it?  In a query that asks, what comes from FROM or
 * WITH and is no table's counts as one.
 */
static bool
comb_bound_walker(Node *node, void *context)
{
	CombCompared *compared = (CombCompared *) context;

	if (node == NULL)
		return false;
	if (IsA(node, FuncExpr) &&
		get_func_support(((FuncExpr *) node)->funcid) == comb_support)
	{
		compared->bound = (FuncExpr *) node;
		return true;
	}
	if (IsA(node, Var))
		return planner_rt_fetch(((Var *) node)->varno, compared->root)->rtekind !=
			RTE_RELATION;
	if (IsA(node, Param) && ((Param *) node)->paramkind == PARAM_EXEC)
	{
		CombCompared inner = *compared;
		bool		found;

		inner.root = comb_param_query(compared->root, ((Param *) node)->paramid);
		found = inner.root != NULL &&
			comb_bound_walker((Node *) inner.root->parse->targetList, &inner);
		compared->bound = inner.bound;
		return found;
	}
	return expression_tree_walker(node, comb_bound_walker, compared);
}

/* Look for a column of the table below a bound */
static bool
comb_compared_walker(Node *node, void *context)
{
	CombCompared *compared = (CombCompared *) context;

	if (node == NULL)
		return false;
	if (IsA(node, OpExpr))
	{
		Node	   *column = NULL;
		Node	   *bound = NULL;

		switch (((OpExpr *) node)->opfuncid)
		{
			case F_UUID_LT:
			case F_UUID_LE:
			case F_INT8LT:
			case F_INT8LE:
				column = get_leftop(node);
				bound = get_rightop(node);
				break;
			case F_UUID_GT:
			case F_UUID_GE:
			case F_INT8GT:
			case F_INT8GE:
				column = get_rightop(node);
				bound = get_leftop(node);
				break;
		}
		if (column != NULL && IsA(column, RelabelType))
			column = (Node *) ((RelabelType *) column)->arg;
		if (column != NULL && IsA(column, Var) &&
			comb_attno(compared->root, compared->relid, (Var *) column) > 0 &&
			comb_bound_walker(bound, compared))
		{
			compared->column = (Var *) column;
			compared->type = exprType(bound);
			compared->plain = compared->bound == (FuncExpr *) bound;
			return true;
		}
	}
	return expression_tree_walker(node, comb_compared_walker, compared);
}

/* Look for the call that makes ordered keys */
static bool
comb_maker_walker(Node *node, void *context)
{
	CombMaker  *maker = (CombMaker *) context;

	if (node == NULL)
		return false;
	if (IsA(node, FuncExpr) &&
		((FuncExpr *) node)->funcid >= FirstNormalObjectId)
	{
		bool		in_c;
		char	   *source = comb_source(((FuncExpr *) node)->funcid, &in_c);

		if (in_c && strcmp(source, maker->symbol) == 0)
		{
			maker->call = (FuncExpr *) node;
			return true;
		}
		maker->converted |= in_c && strcmp(source, "comb_convert") == 0;
		maker->unknown |= !in_c;
	}
	return expression_tree_walker(node, comb_maker_walker, maker);
}

/* Has the call other parameters than the bound, as far as they are constants? */
static bool
comb_parameters_differ(const FuncExpr *call, const FuncExpr *bound)
{
	HeapTuple	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(call->funcid));
	List	   *args;
	ListCell   *cell;

	if (!HeapTupleIsValid(tuple))
		return false;
	args = expand_function_arguments(call->args, false, call->funcresulttype,
									 tuple);
	ReleaseSysCache(tuple);
	foreach(cell, list_concat_copy(args, bound->args))
	{
		if (!IsA(lfirst(cell), Const))
			return false;
	}
	return !equal(args, bound->args);
}

/*
 * Does a trigger make the column's keys before an INSERT?  Functions in other
 * languages do if they name the generator.  "any" becomes true if there is any
 * trigger that could.
 */
static bool
comb_trigger_makes(Relation relation, const char *column, const char *generator,
				   bool *any)
{
	int			i;

	*any = false;
	for (i = 0; relation->trigdesc != NULL && i < relation->trigdesc->numtriggers; i++)
	{
		Trigger    *trigger = &relation->trigdesc->triggers[i];
		char	   *source;
		bool		in_c;

		if (!TRIGGER_TYPE_MATCHES(trigger->tgtype, TRIGGER_TYPE_ROW,
								  TRIGGER_TYPE_BEFORE, TRIGGER_TYPE_INSERT) ||
			trigger->tgenabled == TRIGGER_DISABLED)
			continue;
		*any = true;
		source = comb_source(trigger->tgfoid, &in_c);
		if (in_c && strcmp(source, "comb_ordered_key") == 0 ?
			trigger->tgnargs == 1 && strcmp(trigger->tgargs[0], column) == 0 :
			strstr(source, generator) != NULL)
			return true;
	}
	return false;
}

/* Do rows get keys that the bound does not know?  "child" is below another table */
static bool
comb_warn_column(Relation relation, AttrNumber attno, bool child,
				 const CombCompared *compared)
{
	Form_pg_attribute column = TupleDescAttr(RelationGetDescr(relation), attno - 1);
	bool		snowflake = compared->type == INT8OID;
	CombMaker	maker = {.symbol = snowflake ? "comb_snowflake" : "comb_generate_ordered"};
	const char *table;
	Node	   *made;
	bool		any;

	if (column->attgenerated != '\0' ||
		comb_trigger_makes(relation, NameStr(column->attname), maker.symbol, &any))
		return false;
	made = build_column_default(relation, attno);
	if (made == NULL ? any || child :
		!comb_maker_walker(made, &maker) ? maker.unknown :
		!(maker.converted && compared->plain) &&
		!(snowflake && compared->bound != NULL &&
		  comb_parameters_differ(maker.call, compared->bound)))
		return false;
	table = quote_qualified_identifier(get_namespace_name(RelationGetNamespace(relation)),
									   RelationGetRelationName(relation));
	ereport(WARNING,
			(errmsg("readers of %s by \"%s\" can lose rows", table,
					NameStr(column->attname)),
			 errdetail("The column's default is %s, and the query's bound only holds for keys of %s()%s.",
					   made == NULL ? "NULL" : deparse_expression(made, NIL, false, false),
					   maker.symbol, snowflake ? " with the same parameters" : ""),
			 maker.call != NULL && maker.converted ?
			 errhint("Compare the column with the bound in the same layout, by comb_convert().") :
			 errhint("ALTER TABLE %s ALTER %s SET DEFAULT %s(%s.  If the keys are ordered all the same, set \"pg_comb.warn_unordered_keys\" to off.",
					 table, quote_identifier(NameStr(column->attname)), maker.symbol,
					 snowflake ? "...) with the bound's parameters" :
					 "), or let a trigger with comb_ordered_key() make the keys")));
	return true;
}

/* Return what is known of a table's column, if "found", or a new entry */
static CombWarned *
comb_warned_entry(PlannerInfo *root, Index relid, const Var *column, bool *found)
{
	CombWarned	key = {.relid = planner_rt_fetch(relid, root)->relid,
		.attno = comb_attno(root, relid, column)
	};
	CombWarned *entry;

	if (comb_warned == NULL)
	{
		HASHCTL		control = {.keysize = offsetof(CombWarned, warned),
			.entrysize = sizeof(CombWarned)
		};

		comb_warned = hash_create("pg_comb columns of feeds", 32, &control,
								  HASH_ELEM | HASH_BLOBS);
	}
	entry = (CombWarned *) hash_search(comb_warned, &key, HASH_ENTER, found);
	if (!*found)
		entry->warned = false;
	return entry;
}

/*
 * The planner plans a table.  Warn if the query compares one of its columns with a
 * bound, and the column has other keys.  Rows come into partitions with the default
 * of the table above, so of a tree one warning suffices, and partitions need no
 * default.  Temporary tables have no other writers, and foreign tables no default here.
 */
void
comb_warn_table(PlannerInfo *root, RelOptInfo * rel)
{
	const RangeTblEntry *rte = planner_rt_fetch(rel->relid, root);
	CombCompared compared = {.root = root};
	CombWarned *top;
	CombWarned *entry;
	Relation	relation;
	Index		relid;
	Index		above = rel->relid;
	bool		found;

	if (likely(root->glob->invalItems == NIL) || !comb_warn_unordered_keys ||
		rte->relid < FirstNormalObjectId ||
		(rte->relkind != RELKIND_RELATION &&
		 rte->relkind != RELKIND_PARTITIONED_TABLE) || !comb_asks(root))
		return;
	compared.relid = rel->relid;
	found = comb_compared_walker((Node *) root->parse->jointree, &compared);
	for (relid = rel->relid; relid > 0; relid = comb_above(root, relid))
	{
		const RangeTblEntry *other = planner_rt_fetch(relid, root);

		found = found ||
			comb_compared_walker((Node *) other->securityQuals, &compared);
		if (other->rtekind == RTE_RELATION)
			above = relid;
	}
	if (!found)
		return;
	entry = comb_warned_entry(root, rel->relid, compared.column, &found);
	if (found)
		return;
	top = comb_warned_entry(root, above, compared.column, &found);
	if (top->warned)
		return;
	relation = table_open(rte->relid, NoLock);
	if (relation->rd_rel->relpersistence != RELPERSISTENCE_TEMP)
		top->warned = comb_warn_column(relation, comb_attno(root, rel->relid, compared.column),
									   top != entry, &compared);
	table_close(relation, NoLock);
}
