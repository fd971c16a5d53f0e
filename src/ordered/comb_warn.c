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
 * What we cannot read counts as right: functions in other languages than C and SQL,
 * text as a function's body, and triggers of users if there is no default.  We must
 * not inline such a function to see what it does: that can run another role's code.
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

/* How many functions in SQL to look into, one inside the other */
#define COMB_BODIES_MAX			8

/* A column that was compared with a bound, and whether we have warned of it */
typedef struct CombColumn
{
	Oid			relid;
	int32		attno;
} CombColumn;

typedef struct CombWarned
{
	CombColumn	column;
	bool		warned;
} CombWarned;

/* A comparison of a table's column with a bound */
typedef struct CombCompared
{
	PlannerInfo *root;
	Index		relid;			/* of the table */
	AttrNumber	attno;			/* 0 = none was found */
	Oid			type;			/* of the column */
	FuncExpr   *bound;			/* NULL if it is not known */
	CombColumn	top;			/* of the table above all others */
} CombCompared;

/* What is known of an expression that makes keys */
typedef struct CombMaker
{
	const char *symbol;			/* of the function that must be called */
	FuncExpr   *call;			/* the call of it */
	bool		unknown;		/* calls what we cannot read */
	int			bodies;
} CombMaker;

/* The query that is planned, if it asks for a bound, and which functions ask */
static const PlannerGlobal *comb_asking;
static Oid	comb_askers[4];
static int	comb_nasker = 0;

/* What was found for the last table that has children */
static CombCompared comb_parent;

static HTAB *comb_warned;

/* Another query can be planned in the memory of one that asked */
static void
comb_warn_end(void *glob)
{
	if (comb_asking == glob)
		comb_asking = NULL;
}

/* The planner begins to plan a query that asks by this function */
void
comb_warn_begin(const PlannerInfo *root, Oid funcid)
{
	int			i;

	if (root == NULL)
		return;
	if (comb_asking != root->glob)
	{
		MemoryContext context = GetMemoryChunkContext(root->glob);
		MemoryContextCallback *callback = (MemoryContextCallback *)
			MemoryContextAlloc(context, sizeof(MemoryContextCallback));

		callback->func = comb_warn_end;
		callback->arg = root->glob;
		MemoryContextRegisterResetCallback(context, callback);
	}
	comb_asking = root->glob;
	comb_parent.root = NULL;
	for (i = 0; i < (int) lengthof(comb_askers); i++)
	{
		if (comb_askers[i] == funcid)
			return;
	}
	comb_askers[comb_nasker++ % lengthof(comb_askers)] = funcid;
}

static bool
comb_is_asker(Oid funcid)
{
	int			i;

	for (i = 0; i < (int) lengthof(comb_askers); i++)
	{
		if (comb_askers[i] == funcid)
			return true;
	}
	return false;
}

/*
 * Return what pg_proc has as a function's source, which is the symbol of a function
 * in C, and its language.  "body" becomes the tree of one in SQL, or NULL.  We only
 * warn, so the symbol alone suffices to know our functions.
 */
static char *
comb_source(Oid funcid, Oid *language, Node **body)
{
	HeapTuple	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(funcid));
	char	   *source;
	bool		isnull;
	Datum		value;

	*language = InvalidOid;
	*body = NULL;
	if (!HeapTupleIsValid(tuple))
		return "";
	*language = ((Form_pg_proc) GETSTRUCT(tuple))->prolang;
	value = SysCacheGetAttr(PROCOID, tuple, Anum_pg_proc_prosrc, &isnull);
	source = isnull ? "" : TextDatumGetCString(value);
	value = SysCacheGetAttr(PROCOID, tuple, Anum_pg_proc_prosqlbody, &isnull);
	if (!isnull)
		*body = (Node *) stringToNode(TextDatumGetCString(value));
	ReleaseSysCache(tuple);
	return source;
}

/* Is the function the one in C with this symbol? */
static bool
comb_is_in_c(Oid language, const char *source, const char *symbol)
{
	return language == ClanguageId && strcmp(source, symbol) == 0;
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
 * Has an expression a bound in it?  In a query that asks, what a sub-select in FROM
 * or WITH returns counts as one.
 */
static bool
comb_bound_walker(Node *node, void *context)
{
	CombCompared *compared = (CombCompared *) context;

	if (node == NULL)
		return false;
	if (IsA(node, FuncExpr) && comb_is_asker(((FuncExpr *) node)->funcid))
	{
		compared->bound = (FuncExpr *) node;
		return true;
	}
	if (IsA(node, Var))
	{
		const RangeTblEntry *rte =
			planner_rt_fetch(((Var *) node)->varno, compared->root);

		if (rte->rtekind == RTE_FUNCTION)
			return expression_tree_walker((Node *) rte->functions,
										  comb_bound_walker, compared);
		return rte->rtekind != RTE_RELATION;
	}
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
			((Var *) column)->varno == (int) compared->relid &&
			((Var *) column)->varattno > 0 &&
			comb_bound_walker(bound, compared))
		{
			compared->attno = ((Var *) column)->varattno;
			compared->type = exprType(bound);
			return true;
		}
	}
	return expression_tree_walker(node, comb_compared_walker, compared);
}

/*
 * Find the column of a table that the query compares with a bound.  The conditions
 * name the table above partitions and other children.
 */
static void
comb_compare(CombCompared *compared, Index relid)
{
	PlannerInfo *root = compared->root;
	const RangeTblEntry *rte = planner_rt_fetch(relid, root);
	AppendRelInfo *child = root->append_rel_array == NULL ? NULL :
		root->append_rel_array[relid];

	if (child != NULL)
	{
		const Node *column = NULL;

		if (comb_parent.root == root && comb_parent.relid == child->parent_relid)
			*compared = comb_parent;
		else
			comb_compare(compared, child->parent_relid);
		if (compared->attno > 0)
			column = (const Node *) list_nth(child->translated_vars,
											 compared->attno - 1);
		/* a branch of a LATERAL UNION ALL can have a column of another table */
		compared->attno = column == NULL || !IsA(column, Var) ||
			((const Var *) column)->varno != (int) relid ? 0 :
			((const Var *) column)->varattno;
		compared->relid = relid;
	}
	else
	{
		compared->relid = relid;
		if (!comb_compared_walker((Node *) root->parse->jointree, compared) &&
			rte->securityQuals != NIL)
			(void) comb_compared_walker((Node *) rte->securityQuals, compared);
	}
	if (rte->rtekind == RTE_RELATION && !OidIsValid(compared->top.relid))
	{
		compared->top.relid = rte->relid;
		compared->top.attno = compared->attno;
	}
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
		Oid			language;
		Node	   *body;
		char	   *source = comb_source(((FuncExpr *) node)->funcid, &language,
										 &body);

		if (comb_is_in_c(language, source, maker->symbol))
		{
			maker->call = (FuncExpr *) node;
			return true;
		}
		if (body != NULL && maker->bodies++ < COMB_BODIES_MAX)
		{
			if (comb_maker_walker(body, maker))
				return true;
		}
		else if (language != ClanguageId && language != INTERNALlanguageId)
			maker->unknown = true;
	}
	if (IsA(node, Query))
		return query_tree_walker((Query *) node, comb_maker_walker, maker, 0);
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
	foreach(cell, args)
	{
		if (!IsA(lfirst(cell), Const))
			return false;
	}
	foreach(cell, bound->args)
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
		Oid			language;
		Node	   *body;
		char	   *source;

		if (!TRIGGER_TYPE_MATCHES(trigger->tgtype, TRIGGER_TYPE_ROW,
								  TRIGGER_TYPE_BEFORE, TRIGGER_TYPE_INSERT) ||
			trigger->tgenabled == TRIGGER_DISABLED)
			continue;
		*any = true;
		source = comb_source(trigger->tgfoid, &language, &body);
		if (comb_is_in_c(language, source, "comb_ordered_key") ?
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
	const char *generator = snowflake ? "comb_snowflake" : "comb_generate_ordered";
	CombMaker	maker = {.symbol = generator};
	const char *table;
	char	   *text = NULL;
	Node	   *made;
	bool		any;

	if (column->attgenerated != '\0' ||
		comb_trigger_makes(relation, NameStr(column->attname), generator, &any))
		return false;
	made = build_column_default(relation, attno);
	if (made == NULL ? any || child :
		comb_maker_walker(made, &maker) ? !snowflake || compared->bound == NULL ||
		!comb_parameters_differ(maker.call, compared->bound) : maker.unknown)
		return false;
	table = quote_qualified_identifier(get_namespace_name(RelationGetNamespace(relation)),
									   RelationGetRelationName(relation));
	if (made != NULL)
		text = deparse_expression(made, deparse_context_for(RelationGetRelationName(relation),
															RelationGetRelid(relation)),
								  false, false);

	ereport(WARNING,
			(errmsg("readers of %s by \"%s\" can lose rows", table,
					NameStr(column->attname)),
			 made == NULL ?
			 errdetail("The column has no default, and the query's bound only holds for keys of %s().", generator) :
			 maker.call == NULL ?
			 errdetail("The column's default is %s, and the query's bound only holds for keys of %s().", text, generator) :
			 errdetail("The column's default is %s, and the query's bound has other parameters.", text),
			 errhint("ALTER TABLE %s ALTER %s SET DEFAULT %s(%s)%s.  If the keys are ordered all the same, set \"pg_comb.warn_unordered_keys\" to off.",
					 table, quote_identifier(NameStr(column->attname)), generator,
					 snowflake ? "..." : "",
					 snowflake ? " with the bound's parameters" :
					 ", or let a trigger with comb_ordered_key() make the keys")));
	return true;
}

/* Return what is known of a column, if "found", or a new entry */
static CombWarned *
comb_warned_entry(const CombColumn *column, bool *found)
{
	CombWarned *entry;

	if (comb_warned == NULL)
	{
		HASHCTL		control = {0};

		control.keysize = sizeof(CombColumn);
		control.entrysize = sizeof(CombWarned);
		comb_warned = hash_create("pg_comb columns of feeds", 32, &control,
								  HASH_ELEM | HASH_BLOBS);
	}
	entry = (CombWarned *) hash_search(comb_warned, column, HASH_ENTER, found);
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
	CombColumn	column = {.relid = rte->relid};
	CombWarned *top;
	CombWarned *entry;
	Relation	relation;
	bool		found;

	if (likely(root->glob != comb_asking) || !comb_warn_unordered_keys ||
		rte->relid < FirstNormalObjectId ||
		(rte->relkind != RELKIND_RELATION &&
		 rte->relkind != RELKIND_PARTITIONED_TABLE))
		return;
	comb_compare(&compared, rel->relid);
	if (rte->inh)
		comb_parent = compared;
	column.attno = compared.attno;
	if (column.attno <= 0)
		return;
	entry = comb_warned_entry(&column, &found);
	if (found)
		return;
	top = comb_warned_entry(&compared.top, &found);
	if (top->warned)
		return;
	relation = table_open(rte->relid, NoLock);
	if (relation->rd_rel->relpersistence != RELPERSISTENCE_TEMP)
		top->warned = comb_warn_column(relation, column.attno, top != entry,
									   &compared);
	table_close(relation, NoLock);
}
