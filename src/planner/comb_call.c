/*-------------------------------------------------------------------------
 *
 * comb_call.c
 *	  The extension's functions in conditions and in plans.
 *
 * Conditions call some of them, and plans get others.  The planner half needs
 * all or does nothing: where a function is missing, or the user may not call
 * it, conditions stay as they are.  So there is one question, asked when a
 * condition is recognized, and no bound fails later.
 *
 * Copyright (c) 2026, pg_comb developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/stratnum.h"
#include "access/genam.h"
#include "access/table.h"
#include "access/transam.h"
#include "catalog/pg_am.h"
#include "catalog/pg_class.h"
#include "catalog/pg_language.h"
#include "catalog/pg_opclass.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "optimizer/optimizer.h"
#include "partitioning/partbounds.h"
#include "rewrite/rewriteManip.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/partcache.h"
#include "utils/rel.h"
#include "utils/relcache.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

#include "comb_call.h"

/* A type that each schema with the extension has: comb_period */
#define PERIOD	InvalidOid

/* In the order of CombFunction */
static const struct
{
	const char *name;
	Oid			result;
	int			nargs;
	Oid			args[4];
}			comb_functions[COMB_NFUNCTIONS] =

{
	{"comb_timestamp", TIMESTAMPTZOID, 1, {UUIDOID}},
	{"comb_timestamp", TIMESTAMPTZOID, 2, {UUIDOID, TEXTOID}},
	{"comb_contained", BOOLOID, 2, {UUIDOID, PERIOD}},
	{"comb_contains", BOOLOID, 2, {PERIOD, UUIDOID}},
	{"comb_created", BOOLOID, 3, {UUIDOID, TSTZRANGEOID, TEXTOID}},
	{"comb_recheck", BOOLOID, 2, {UUIDOID, TSTZRANGEOID}},
	{"comb_recheck", BOOLOID, 3, {UUIDOID, TSTZRANGEOID, TEXTOID}},
	{"comb_min", UUIDOID, 1, {TIMESTAMPTZOID}},
	{"comb_max", UUIDOID, 1, {TIMESTAMPTZOID}},
	{"comb_range_min", UUIDOID, 1, {TSTZRANGEOID}},
	{"comb_range_max", UUIDOID, 1, {TSTZRANGEOID}},
	{"comb_mssql_lt", BOOLOID, 2, {UUIDOID, UUIDOID}},
	{"comb_mssql_le", BOOLOID, 2, {UUIDOID, UUIDOID}},
	{"comb_mssql_ge", BOOLOID, 2, {UUIDOID, UUIDOID}},
	{"comb_mssql_gt", BOOLOID, 2, {UUIDOID, UUIDOID}},
	{"comb_instant", TIMESTAMPTZOID, 1, {DATEOID}},
	{"comb_instant", TIMESTAMPTZOID, 1, {TIMESTAMPOID}},
	{"comb_bound_min", UUIDOID, 2, {TSTZRANGEOID, TEXTOID}},
	{"comb_bound_max", UUIDOID, 2, {TSTZRANGEOID, TEXTOID}},
	{"comb_unwrap", TSTZRANGEOID, 4, {ANYOID, INT4OID, REGPROCEDUREOID, ANYOID}}
};

/* The functions of the extension in a schema */
typedef struct CombExtension
{
	Oid			schema;
	uint64		changes;		/* of functions, before we looked */
	bool		for_all;		/* may everybody call them? */
	Oid			mssql_family;
	Oid			functions[COMB_NFUNCTIONS];
} CombExtension;

/* The one that was found last, functions of others, and how often functions have changed */
static CombExtension comb_extension;
static Oid	comb_strangers[64];
static uint64 comb_function_changes = 0;

static void
comb_function_changed(Datum arg, int cacheid, uint32 hash)
{
	comb_function_changes++;
	memset(comb_strangers, 0, sizeof(comb_strangers));
}

static bool
comb_has_right(Oid roleid, Oid funcid)
{
	return object_aclcheck(ProcedureRelationId, funcid, roleid, ACL_EXECUTE) == ACLCHECK_OK;
}

/*
 * Find the extension in a schema.  False if the schema lacks one of its functions,
 * but for those that 1.0 does not have.
 *
 * Functions are found by their names and arguments.  Only superusers can make
 * functions in C, so those of another language are somebody else's.
 */
static bool
comb_find_extension(Oid schema)
{
	CombExtension found = {.schema = schema};
	Oid			period;
	Oid			opclass;
	int			i;
	int			n;

	if (comb_extension.schema == schema && comb_extension.changes == comb_function_changes)
		return true;
	found.changes = comb_function_changes;
	found.for_all = true;
	period = GetSysCacheOid2(TYPENAMENSP, Anum_pg_type_oid,
							 CStringGetDatum("comb_period"), ObjectIdGetDatum(schema));
	if (!OidIsValid(period))
		return false;
	for (i = 0; i < COMB_NFUNCTIONS; i++)
	{
		Oid			args[4];
		HeapTuple	tuple;
		Form_pg_proc function;
		bool		ours;

		for (n = 0; n < comb_functions[i].nargs; n++)
			args[n] = comb_functions[i].args[n] == PERIOD ? period : comb_functions[i].args[n];
		tuple = SearchSysCache3(PROCNAMEARGSNSP, CStringGetDatum(comb_functions[i].name),
								PointerGetDatum(buildoidvector(args, n)), ObjectIdGetDatum(schema));
		if (!HeapTupleIsValid(tuple) && i >= COMB_FIRST_OF_1_1)
			continue;
		if (!HeapTupleIsValid(tuple))
			return false;
		function = (Form_pg_proc) GETSTRUCT(tuple);
		found.functions[i] = function->oid;
		ours = function->prolang == ClanguageId && function->prorettype == comb_functions[i].result;
		ReleaseSysCache(tuple);
		if (!ours)
			return false;
		found.for_all = found.for_all && comb_has_right(ACL_ID_PUBLIC, found.functions[i]);
	}
	opclass = GetSysCacheOid3(CLAAMNAMENSP, Anum_pg_opclass_oid, ObjectIdGetDatum(BTREE_AM_OID),
							  CStringGetDatum("comb_mssql_ops"), ObjectIdGetDatum(schema));
	found.mssql_family = OidIsValid(opclass) ? get_opclass_family(opclass) : InvalidOid;
	comb_extension = found;
	return true;
}

/*
 * Return which of the extension's functions this is, or COMB_NFUNCTIONS.  The user
 * must be allowed to call all of them, as the calls that we put into plans must
 * not fail.  Another role needs a plan of its own, unless everybody may.
 */
static CombFunction
comb_function(PlannerInfo *root, Oid funcid)
{
	static bool listening = false;
	Oid		   *stranger = &comb_strangers[funcid % lengthof(comb_strangers)];
	uint64		changes = comb_function_changes;
	CombFunction result = COMB_NFUNCTIONS;
	int			i;

	if (funcid < FirstNormalObjectId || *stranger == funcid)
		return COMB_NFUNCTIONS;
	if (!listening)
		CacheRegisterSyscacheCallback(PROCOID, comb_function_changed, (Datum) 0);
	listening = true;
	if (comb_find_extension(get_func_namespace(funcid)))
	{
		for (i = 0; i < COMB_NFUNCTIONS; i++)
		{
			if (comb_extension.functions[i] == funcid)
				result = i;
		}
	}
	if (result == COMB_NFUNCTIONS && changes == comb_function_changes)
		*stranger = funcid;
	if (result == COMB_NFUNCTIONS || comb_extension.for_all)
		return result;
	root->glob->dependsOnRole = true;
	for (i = 0; i < COMB_NFUNCTIONS; i++)
	{
		if (OidIsValid(comb_extension.functions[i]) &&
			!comb_has_right(GetUserId(), comb_extension.functions[i]))
			return COMB_NFUNCTIONS;
	}
	return result;
}

/*
 * Set the layout of a key, and its order.  False if there is no such layout, or
 * if the label is not a constant, or if no order of keys is that of their times.
 */
static bool
comb_set_layout(CombKey *key, List *label)
{
	const Const *value = label ? linitial(label) : NULL;

	key->layout = comb_layout_default;
	if (label != NIL)
	{
		if (!IsA(value, Const) || value->constisnull)
			return false;
		key->layout = comb_layout_find(DatumGetTextPP(value->constvalue));
	}
	if (key->layout == NULL)
		return false;
	if (key->layout != comb_layout_default)
	{
		key->label = label;
		if (!OidIsValid(comb_extension.functions[COMB_BOUND_MIN]))
			return false;
	}
	if (key->layout->sorts_in == COMB_SORTS_PLAIN)
		key->family = lookup_type_cache(UUIDOID, TYPECACHE_BTREE_OPFAMILY)->btree_opf;
	else if (key->layout->sorts_in == COMB_SORTS_MSSQL)
		key->family = comb_extension.mssql_family;
	return OidIsValid(key->family);
}

/*
 * Take a call apart that compares a column's key with a period, or returns the
 * key's time, where *period is NULL.  False for all other calls.
 */
bool
comb_take_apart(PlannerInfo *root, Oid funcid, List *args, CombKey *key, Node **period)
{
	CombFunction function = comb_function(root, funcid);
	int			keyno = function == COMB_CONTAINS ? 1 : 0;
	int			operands = function <= COMB_TIMESTAMP_LABEL ? 1 : 2;

	if (function > COMB_LAST_CONDITION)
		return false;
	memset(key, 0, sizeof(CombKey));
	key->funcid = funcid;
	key->id = list_nth(args, keyno);
	key->column = (Var *) (IsA(key->id, RelabelType) ? (Node *) ((RelabelType *) key->id)->arg : key->id);
	key->has_time = function == COMB_RECHECK || function == COMB_RECHECK_LABEL;
	*period = operands == 1 ? NULL : list_nth(args, 1 - keyno);
	if (*period && IsA(*period, RelabelType))
		*period = (Node *) ((RelabelType *) *period)->arg;	/* as comb_period */
	return IsA(key->column, Var) && comb_set_layout(key, list_copy_tail(args, operands));
}

/* Is this a condition that compares a key with a period? */
bool
comb_period_clause(PlannerInfo *root, Node *clause, CombKey *key, Node **period)
{
	if (is_funcclause(clause))
		return comb_take_apart(root, ((FuncExpr *) clause)->funcid,
							   ((FuncExpr *) clause)->args, key, period) && *period;
	if (!is_opclause(clause) || ((OpExpr *) clause)->opno < FirstNormalObjectId)
		return false;
	set_opfuncid((OpExpr *) clause);
	return comb_take_apart(root, ((OpExpr *) clause)->opfuncid, ((OpExpr *) clause)->args, key, period) && *period;
}

/* Is this a call that returns the time of a key? */
bool
comb_time_call(PlannerInfo *root, Node *node, CombKey *key)
{
	Node	   *period;

	return IsA(node, FuncExpr) &&
		comb_take_apart(root, ((FuncExpr *) node)->funcid, ((FuncExpr *) node)->args, key, &period) &&
		period == NULL;
}

/* Is the time of a key in the expression? */
bool
comb_reads_time(Node *node, void *root)
{
	CombKey		key;

	return node != NULL && (comb_time_call(root, node, &key) ||
							expression_tree_walker(node, comb_reads_time, root));
}

/* Return the family of operators that compare times of all types */
Oid
comb_time_family(void)
{
	return lookup_type_cache(TIMESTAMPTZOID, TYPECACHE_BTREE_OPFAMILY)->btree_opf;
}

/*
 * Return the strategy of btree for an operator that compares a timestamptz with
 * another time, seen from the side of the timestamptz.  Zero for other operators.
 */
int
comb_time_strategy(Oid opno, bool right)
{
	int			strategy = get_op_opfamily_strategy(opno, comb_time_family());
	Oid			types[2];

	if (strategy == 0)
		return 0;
	op_input_types(opno, &types[0], &types[1]);
	if (types[right] != TIMESTAMPTZOID)
		return 0;
	return right ? BTMaxStrategyNumber + 1 - strategy : strategy;
}

static bool
comb_has_node(Node *node, void *time)
{
	return node != NULL &&
		(equal(node, time) || expression_tree_walker(node, comb_has_node, time));
}

/* Has a column one value only in the rows for which the conditions are true? */
static bool
comb_is_fixed(List *conditions, Index varno, AttrNumber attno)
{
	ListCell   *lc;
	ListCell   *arg;

	foreach(lc, conditions)
	{
		OpExpr	   *op = lfirst(lc);

		if (!IsA(op, OpExpr) || get_oprrest(op->opno) != F_EQSEL)
			continue;
		foreach(arg, op->args)
		{
			Var		   *column = (Var *) strip_implicit_coercions(lfirst(arg));

			if (IsA(column, Var) && column->varno == (int) varno && column->varattno == attno)
				return true;
		}
	}
	return false;
}

/* Has the index the rows for which the conditions are true in the order of the time? */
static bool
comb_index_sorts(Relation index, List *conditions, Index varno, Node *time)
{
	List	   *expressions = RelationGetIndexExpressions(index);
	List	   *predicate = RelationGetIndexPredicate(index);
	const		int16 *columns = index->rd_index->indkey.values;
	int			i = 0;

	if (index->rd_rel->relam != BTREE_AM_OID || expressions == NIL)
		return false;
	while (i < index->rd_index->indnkeyatts && columns[i] != 0 && comb_is_fixed(conditions, varno, columns[i]))
		i++;
	ChangeVarNodes((Node *) predicate, 1, varno, 0);
	return i < index->rd_index->indnkeyatts && columns[i] == 0 &&
		equal(linitial(expressions), time) && predicate_implied_by(predicate, conditions, false);
}

/*
 * Where has the key's table the time in it?  Indexes and partition keys match
 * conditions and orders as they were written, and children that inherit can have
 * it in a constraint.  "conditions" are true for all rows of an order.
 */
CombStored
comb_stored_time(PlannerInfo *root, const CombKey *key, Node *time, List *conditions)
{
	const RangeTblEntry *rte = root->simple_rte_array[key->column->varno];
	CombStored	result = COMB_NOT_STORED;
	Relation	table;
	ListCell   *lc;

	if (rte->rtekind != RTE_RELATION)
		return COMB_SORTED;
	time = copyObject(time);
	ChangeVarNodes(time, key->column->varno, 1, 0);
	table = table_open(rte->relid, NoLock);
	if (rte->relkind == RELKIND_PARTITIONED_TABLE ?
		comb_has_node((Node *) get_partition_exprs(RelationGetPartitionKey(table)), time) : rte->inh)
		result = COMB_SORTED;
	foreach(lc, RelationGetIndexList(table))
	{
		Relation	index = index_open(lfirst_oid(lc), AccessShareLock);

		if (comb_index_sorts(index, conditions, key->column->varno, time))
			result = COMB_SORTED;
		else if (result == COMB_NOT_STORED &&
				 (comb_has_node((Node *) RelationGetIndexExpressions(index), time) ||
				  comb_has_node((Node *) RelationGetIndexPredicate(index), time)))
			result = COMB_STORED;
		index_close(index, NoLock);
	}
	table_close(table, NoLock);
	return result;
}

/* Is this a call of a function of the extension? */
bool
comb_is_call(Node *node, CombFunction function)
{
	return IsA(node, FuncExpr) && ((FuncExpr *) node)->funcid == comb_extension.functions[function];
}

/* Call a function of the extension, NULL if its version does not have it */
Node *
comb_call(PlannerInfo *root, CombFunction function, List *args)
{
	if (!OidIsValid(comb_extension.functions[function]))
		return NULL;
	return eval_const_expressions(root, (Node *)
								  makeFuncExpr(comb_extension.functions[function],
											   comb_functions[function].result, args,
											   InvalidOid, InvalidOid, COERCE_EXPLICIT_CALL));
}

/*
 * Return a time as a timestamptz, NULL if it has another type.  Dates and
 * timestamps without a zone become what a comparison takes them for.  The casts
 * raise errors for values that the comparison takes for infinite.
 */
Node *
comb_as_time(PlannerInfo *root, Node *at)
{
	Oid			type = exprType(at);

	if (type == TIMESTAMPTZOID)
		return at;
	if (type != TIMESTAMPOID && type != DATEOID)
		return NULL;
	return comb_call(root, type == DATEOID ? COMB_INSTANT_DATE : COMB_INSTANT_TIMESTAMP,
					 list_make1(copyObject(at)));
}

/* Return a comparison of the key with a uuid, in the order of the layout's database */
Node *
comb_compare_key(const CombKey *key, int strategy, Node *value)
{
	Oid			opno = get_opfamily_member(key->family, UUIDOID, UUIDOID, strategy);
	OpExpr	   *clause = (OpExpr *) make_opclause(opno, BOOLOID, false, copyObject((Expr *) key->id),
												  (Expr *) value, InvalidOid, InvalidOid);

	set_opfuncid(clause);
	return (Node *) clause;
}

/* Return the condition that the key is one of the layout, with a time */
Node *
comb_has_time(PlannerInfo *root, const CombKey *key)
{
	Const	   *all = makeConst(TSTZRANGEOID, -1, InvalidOid, -1,
								OidInputFunctionCall(F_RANGE_IN, "(,)", TSTZRANGEOID, -1), false, false);

	return comb_call(root, key->label ? COMB_RECHECK_LABEL : COMB_RECHECK,
					 list_concat(list_make2(copyObject(key->id), all), copyObject(key->label)));
}
