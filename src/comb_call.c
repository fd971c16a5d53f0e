/*-------------------------------------------------------------------------
 *
 * comb_call.c
 *	  Recognize calls of the extension's functions, take them apart, and make some.
 *
 * The planner hands us calls of any function.  This file says which of them
 * compare or read keys, and what their arguments are.
 *
 * Copyright (c) 2026, pg_comb developers
 *
 * IDENTIFICATION
 *	  src/comb_call.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/stratnum.h"
#include "access/transam.h"
#include "catalog/pg_am.h"
#include "catalog/pg_language.h"
#include "catalog/pg_opclass.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "optimizer/optimizer.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

#include "comb_planner.h"

static const CombFunction comb_functions[] = {
	{"comb_contained", comb_contained, COMB_IN_PERIOD, false},
	{"comb_contains", comb_contains, COMB_IN_PERIOD, false},
	{"comb_created_layout", comb_created_layout, COMB_IN_PERIOD, true},
	{"comb_recheck", comb_recheck, COMB_HAS_TIME, false},
	{"comb_recheck_layout", comb_recheck_layout, COMB_HAS_TIME, true},
	{"comb_timestamp", comb_timestamp, COMB_TIME, false},
	{"comb_timestamp_layout", comb_timestamp_layout, COMB_TIME, true},
	{"comb_instant_date", comb_instant_date, COMB_HELPER, false},
	{"comb_instant_timestamp", comb_instant_timestamp, COMB_HELPER, false},
	{"comb_min", comb_min, COMB_HELPER, false},
	{"comb_max", comb_max, COMB_HELPER, false},
	{"comb_range_min", comb_range_min, COMB_PERIOD_END, false},
	{"comb_range_max", comb_range_max, COMB_PERIOD_END, false},
	{"comb_bound_min", comb_bound_min, COMB_PERIOD_END, false},
	{"comb_bound_max", comb_bound_max, COMB_PERIOD_END, false}
};

/*
 * Return which of our C functions a function in SQL names, whoever owns the
 * function and whatever its name and schema are.  NULL if it is none of them.
 *
 * Only superusers can make functions in C, so a function with our code is one
 * of ours.  The symbol alone could be another library's, and the code alone
 * does not suffice either: linkers may fold functions of equal code into one.
 * SECURITY DEFINER functions and functions with SET clauses go through
 * fmgr_security_definer(), so they never match.
 */
const CombFunction *
comb_function(Oid funcid)
{
	const CombFunction *result = NULL;
	HeapTuple	tuple;
	FmgrInfo	flinfo;

	if (funcid < FirstNormalObjectId)
		return NULL;
	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(funcid));
	if (!HeapTupleIsValid(tuple))
		return NULL;
	if (((Form_pg_proc) GETSTRUCT(tuple))->prolang == ClanguageId)
	{
		bool		isnull;
		Datum		prosrc = SysCacheGetAttr(PROCOID, tuple, Anum_pg_proc_prosrc,
											 &isnull);
		char	   *symbol = TextDatumGetCString(prosrc);
		int			i;

		for (i = 0; i < (int) lengthof(comb_functions) && result == NULL; i++)
		{
			if (strcmp(comb_functions[i].symbol, symbol) == 0)
				result = &comb_functions[i];
		}
	}
	ReleaseSysCache(tuple);
	if (result == NULL)
		return NULL;
	fmgr_info(funcid, &flinfo);
	return flinfo.fn_addr == result->code ? result : NULL;
}

static bool
comb_has_right(Oid roleid, Oid funcid)
{
	return object_aclcheck(ProcedureRelationId, funcid, roleid, ACL_EXECUTE) == ACLCHECK_OK;
}

/*
 * May the user call this function?  The user did not write the calls that we
 * put into plans, so they must not fail for lack of a privilege.  Another role
 * needs a plan of its own, unless everybody may call the function.
 */
bool
comb_may_execute(PlannerInfo *root, Oid funcid)
{
	if (comb_has_right(ACL_ID_PUBLIC, funcid))
		return true;
	root->glob->dependsOnRole = true;
	return comb_has_right(GetUserId(), funcid);
}

/*
 * Return the btree family of operators in whose order the layout's keys sort by
 * time.  InvalidOid if there is none, or if the user may not call its operators.
 *
 * The class for SQL Server's order is found by its name in the schema of the
 * call's function.  Only superusers can make operator classes.
 */
static Oid
comb_find_family(const CombCall *call)
{
	Oid			opclass;
	Oid			family;
	int			strategy;

	if (call->layout->sorts_in == COMB_SORTS_PLAIN)
		return lookup_type_cache(UUIDOID, TYPECACHE_BTREE_OPFAMILY)->btree_opf;
	if (call->layout->sorts_in != COMB_SORTS_MSSQL)
		return InvalidOid;
	opclass = GetSysCacheOid3(CLAAMNAMENSP, Anum_pg_opclass_oid,
							  ObjectIdGetDatum(BTREE_AM_OID),
							  CStringGetDatum("comb_mssql_ops"),
							  ObjectIdGetDatum(get_func_namespace(call->funcid)));
	if (!OidIsValid(opclass) || get_opclass_input_type(opclass) != UUIDOID)
		return InvalidOid;
	family = get_opclass_family(opclass);

	/* the planner calls all of them to find conditions that exclude others */
	for (strategy = 1; strategy <= BTMaxStrategyNumber; strategy++)
	{
		Oid			opno = get_opfamily_member(family, UUIDOID, UUIDOID, strategy);

		if (!OidIsValid(opno) || !comb_has_right(GetUserId(), get_opcode(opno)))
			return InvalidOid;
	}
	return family;
}

/*
 * Return the layout of a call: the default without a label, NULL if no layout
 * has the label, and if the label is not a constant.
 */
static const CombLayout *
comb_call_layout(const List *label)
{
	const Const *value;

	if (label == NIL)
		return comb_layout_default;
	value = (const Const *) linitial(label);
	if (!IsA(value, Const) || value->constisnull || value->consttype != TEXTOID)
		return NULL;
	return comb_layout_find(DatumGetTextPP(value->constvalue));
}

/*
 * Take a call apart.  False if it does not compare or read a key, or if no
 * order of keys is that of their times.
 *
 * Superusers can attach the estimators to any operator, and the support
 * function to any function.  What such a function answers need not have
 * anything to do with times, so only our own code counts.
 *
 * The callers of this function read constants and statistics as keys, periods
 * and labels.  With a value of another type they would read wrong memory, as
 * in CVE-2026-2004.  A superuser can declare our code with any types, so the
 * types are checked as well.
 */
bool
comb_take_apart(CombCall *call, Oid funcid, List *args)
{
	int			operands;
	int			keyno = 0;

	memset(call, 0, sizeof(CombCall));
	call->funcid = funcid;
	call->function = comb_function(funcid);
	if (call->function == NULL || call->function->role >= COMB_PERIOD_END)
		return false;
	operands = call->function->role == COMB_TIME ? 1 : 2;
	if (list_length(args) != operands + (call->function->labelled ? 1 : 0))
		return false;
	if (operands == 2)
	{
		if (!comb_is_of_type((Node *) linitial(args), UUIDOID))
			keyno = 1;
		call->period = (Node *) list_nth(args, 1 - keyno);
		if (!comb_is_of_type(call->period, TSTZRANGEOID))
			return false;
	}
	call->key = (Node *) list_nth(args, keyno);
	call->label = list_copy_tail(args, operands);
	call->layout = comb_call_layout(call->label);
	if (!comb_is_of_type(call->key, UUIDOID) || call->layout == NULL ||
		get_func_rettype(funcid) != (operands == 1 ? TIMESTAMPTZOID : BOOLOID))
		return false;
	call->family = comb_find_family(call);
	return OidIsValid(call->family);
}

/* Return the arguments of an operator's or a function's call, or NIL */
List *
comb_call_args(const Node *node)
{
	if (is_opclause(node))
		return ((const OpExpr *) node)->args;
	if (is_funcclause(node))
		return ((const FuncExpr *) node)->args;
	return NIL;
}

/* Is this a condition that compares a key with a period? */
bool
comb_period_clause(CombCall *call, Node *clause)
{
	Oid			funcid = InvalidOid;

	if (is_funcclause(clause))
		funcid = ((FuncExpr *) clause)->funcid;
	else if (is_opclause(clause) &&
			 ((OpExpr *) clause)->opno >= FirstNormalObjectId)
		funcid = get_opcode(((OpExpr *) clause)->opno);
	return funcid >= FirstNormalObjectId &&
		comb_take_apart(call, funcid, comb_call_args(clause)) &&
		call->period != NULL;
}

/* Is this a call that returns the time of a key? */
bool
comb_time_call(CombCall *call, Node *node)
{
	return IsA(node, FuncExpr) &&
		comb_take_apart(call, ((FuncExpr *) node)->funcid,
						((FuncExpr *) node)->args) &&
		call->period == NULL;
}

/*
 * Return the strategy of btree for an operator that compares a timestamptz
 * with another time, seen from the side of the timestamptz.  Zero for other
 * operators.  A timestamptz may be on the right.
 */
int
comb_time_strategy(Oid opno, bool right)
{
	int			strategy;
	Oid			lefttype;
	Oid			righttype;
	Oid			family;

	family = lookup_type_cache(TIMESTAMPTZOID, TYPECACHE_BTREE_OPFAMILY)->btree_opf;
	strategy = get_op_opfamily_strategy(opno, family);
	if (strategy == 0)
		return 0;
	op_input_types(opno, &lefttype, &righttype);
	if ((right ? righttype : lefttype) != TIMESTAMPTZOID)
		return 0;
	return right ? BTMaxStrategyNumber + 1 - strategy : strategy;
}

/*
 * Return a call of one of the extension's functions.  NULL if the user may not
 * call the function, or that of "call": a condition must stay then, and fail.
 *
 * The function is found by its name in the schema of the call's function, so
 * search_path plays no part.  LookupFuncName() would demand that the user has
 * rights on the schema.
 *
 * A superuser can have made the call's function, and in another schema than
 * the extension's.  There a function of this name can be anybody's, and may
 * not get into plans of other users.  Hence the look at its code, whose symbol
 * begins with the function's name.
 */
Node *
comb_make_call(PlannerInfo *root, const CombCall *call, const char *name,
			   Oid rettype, List *args)
{
	Oid			argtypes[FUNC_MAX_ARGS];
	const CombFunction *function;
	Oid			collation = InvalidOid;
	int			nargs = 0;
	Oid			funcid;
	ListCell   *lc;

	foreach(lc, args)
	{
		argtypes[nargs++] = exprType((Node *) lfirst(lc));
		if (exprType((Node *) lfirst(lc)) == TEXTOID)
			collation = exprCollation((Node *) lfirst(lc));
	}
	funcid = GetSysCacheOid3(PROCNAMEARGSNSP, Anum_pg_proc_oid,
							 CStringGetDatum(name),
							 PointerGetDatum(buildoidvector(argtypes, nargs)),
							 ObjectIdGetDatum(get_func_namespace(call->funcid)));
	function = comb_function(funcid);
	if (function == NULL || strncmp(function->symbol, name, strlen(name)) != 0 ||
		get_func_rettype(funcid) != rettype ||
		!comb_may_execute(root, funcid) || !comb_may_execute(root, call->funcid))
		return NULL;

	/* comb_find_family() has asked for this role's rights on the operators */
	if (call->layout->sorts_in == COMB_SORTS_MSSQL)
		root->glob->dependsOnRole = true;
	return eval_const_expressions(root, (Node *)
								  makeFuncExpr(funcid, rettype, args,
											   InvalidOid, collation,
											   COERCE_EXPLICIT_CALL));
}

/* Return the column of a call's key, NULL for an expression */
const Var  *
comb_key_column(const CombCall *call)
{
	const Node *key = call->key;

	if (IsA(key, RelabelType))
		key = (const Node *) ((const RelabelType *) key)->arg;
	return IsA(key, Var) ? (const Var *) key : NULL;
}

/*
 * Return a copy of an expression of a domain as one of the domain's base type,
 * as functions and operators take it
 */
static Node *
comb_as_type(Node *node, Oid type)
{
	node = (Node *) copyObject(node);
	if (exprType(node) == type)
		return node;
	return (Node *) makeRelabelType((Expr *) node, type, -1, InvalidOid,
									COERCE_IMPLICIT_CAST);
}

Node *
comb_call_key(const CombCall *call)
{
	return comb_as_type(call->key, UUIDOID);
}

Node *
comb_call_period(const CombCall *call)
{
	return comb_as_type(call->period, TSTZRANGEOID);
}

/*
 * Return a comparison of the call's key with a uuid, in the order of the
 * layout's database
 */
Node *
comb_compare_key(const CombCall *call, int strategy, Node *value)
{
	Oid			opno = get_opfamily_member(call->family, UUIDOID, UUIDOID,
										   strategy);
	OpExpr	   *clause;

	clause = (OpExpr *) make_opclause(opno, BOOLOID, false,
									  (Expr *) comb_call_key(call),
									  (Expr *) value, InvalidOid, InvalidOid);
	set_opfuncid(clause);
	return (Node *) clause;
}

/*
 * Return the other side of a comparison with a timestamptz as one.  NULL for
 * other types, and if the user may not call the function.
 *
 * Dates and timestamps without a zone become what the comparison takes them
 * for.  The casts would not do, because they raise errors for values that the
 * comparison takes for infinite.
 */
Node *
comb_as_time(PlannerInfo *root, const CombCall *call, Node *other)
{
	Oid			type = exprType(other);

	if (type == TIMESTAMPTZOID)
		return other;
	if (type != TIMESTAMPOID && type != DATEOID)
		return NULL;
	return comb_make_call(root, call, "comb_instant", TIMESTAMPTZOID,
						  list_make1(copyObject(other)));
}

/*
 * Return comb_min() or comb_max() of a timestamptz, in the call's layout.  NULL
 * if the user may not call the function.
 */
Node *
comb_time_bound(PlannerInfo *root, const CombCall *call, Node *at, bool max)
{
	return comb_make_call(root, call, max ? "comb_max" : "comb_min", UUIDOID,
						  lcons(copyObject(at), copyObject(call->label)));
}

/*
 * Return the condition that the key is one of the layout, with a time.  NULL
 * if the user may not call the function.
 */
Node *
comb_has_time(PlannerInfo *root, const CombCall *call)
{
	Const	   *all;

	all = makeConst(TSTZRANGEOID, -1, InvalidOid, -1,
					OidInputFunctionCall(F_RANGE_IN, "(,)", TSTZRANGEOID, -1),
					false, false);
	return comb_make_call(root, call, "comb_recheck", BOOLOID,
						  list_concat(list_make2(comb_call_key(call), all),
									  copyObject(call->label)));
}
