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
#include "catalog/pg_collation.h"
#include "catalog/pg_language.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "optimizer/optimizer.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/inval.h"
#include "utils/syscache.h"

#include "comb_call.h"

/* What pg_operator.dat and pg_opfamily.dat give no symbols */
#define COMB_UUID_LT_OP		2974
#define COMB_UUID_GT_OP		2975
#define COMB_UUID_LE_OP		2976
#define COMB_UUID_GE_OP		2977
#define COMB_INT8_LT_OP		412
#define COMB_INT8_GT_OP		413
#define COMB_INT8_LE_OP		414
#define COMB_INT8_GE_OP		415
#define COMB_DATETIME_FAMILY	434 /* datetime_ops of btree */

static const CombFunction comb_functions[] = {
	{"comb_contained", comb_contained, COMB_IN_PERIOD},
	{"comb_contained_times", comb_contained_times, COMB_IN_PERIOD},
	{"comb_contains", comb_contains, COMB_IN_PERIOD},
	{"comb_created_layout", comb_created_layout, COMB_IN_PERIOD},
	{"comb_recheck", comb_recheck, COMB_HAS_TIME},
	{"comb_recheck_layout", comb_recheck_layout, COMB_HAS_TIME},
	{"comb_recheck_snowflake", comb_recheck_snowflake, COMB_HAS_TIME},
	{"comb_timestamp", comb_timestamp, COMB_TIME},
	{"comb_timestamp_layout", comb_timestamp_layout, COMB_TIME},
	{"comb_snowflake_timestamp", comb_snowflake_timestamp, COMB_SNOWFLAKE_TIME},
	{"comb_instant_date", comb_instant_date, COMB_HELPER},
	{"comb_instant_timestamp", comb_instant_timestamp, COMB_HELPER},
	{"comb_min", comb_min, COMB_HELPER},
	{"comb_max", comb_max, COMB_HELPER},
	{"comb_range_min", comb_range_min, COMB_HELPER},
	{"comb_range_max", comb_range_max, COMB_HELPER},
	{"comb_bound_min", comb_bound_min, COMB_HELPER},
	{"comb_bound_max", comb_bound_max, COMB_HELPER},
	{"comb_times_min", comb_times_min, COMB_HELPER},
	{"comb_times_max", comb_times_max, COMB_HELPER},
	{"comb_snowflake_min", comb_snowflake_min, COMB_HELPER},
	{"comb_snowflake_max", comb_snowflake_max, COMB_HELPER},
	{"comb_mssql_lt", comb_mssql_lt, COMB_HELPER},
	{"comb_mssql_le", comb_mssql_le, COMB_HELPER},
	{"comb_mssql_ge", comb_mssql_ge, COMB_HELPER},
	{"comb_mssql_gt", comb_mssql_gt, COMB_HELPER}
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
static const CombFunction *
comb_look_up_function(Oid funcid)
{
	const CombFunction *result = NULL;
	HeapTuple	tuple;
	FmgrInfo	flinfo;
	char	   *symbol;
	int			i;

	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(funcid));
	if (!HeapTupleIsValid(tuple))
		return NULL;
	if (((Form_pg_proc) GETSTRUCT(tuple))->prolang == ClanguageId)
	{
		symbol = TextDatumGetCString(SysCacheGetAttrNotNull(PROCOID, tuple,
															Anum_pg_proc_prosrc));
		for (i = 0; i < (int) lengthof(comb_functions) && result == NULL; i++)
		{
			if (strcmp(comb_functions[i].symbol, symbol) == 0)
				result = &comb_functions[i];
		}
		pfree(symbol);
	}
	ReleaseSysCache(tuple);
	if (result == NULL)
		return NULL;
	fmgr_info(funcid, &flinfo);
	return flinfo.fn_addr == result->code ? result : NULL;
}

/*
 * The functions that were looked up last.  One query asks for the same few
 * functions ten times, and again for each partition.
 */
#define COMB_KNOWN_FUNCTIONS	64

typedef struct CombKnown
{
	Oid			funcid;
	const CombFunction *function;
} CombKnown;

static CombKnown comb_known[COMB_KNOWN_FUNCTIONS];

/* A function has changed, so forget all */
static void
comb_forget_functions(Datum arg, int cacheid, uint32 hashvalue)
{
	memset(comb_known, 0, sizeof(comb_known));
}

/* Return which of our C functions this is, or NULL */
static const CombFunction *
comb_function(Oid funcid)
{
	CombKnown  *known = &comb_known[funcid % COMB_KNOWN_FUNCTIONS];

	if (funcid < FirstNormalObjectId)
		return NULL;
	if (known->funcid != funcid)
	{
		const CombFunction *function = comb_look_up_function(funcid);

		known->funcid = funcid;
		known->function = function;
	}
	return known->function;
}

/* Start to notice changes of functions.  _PG_init() calls this. */
void
comb_call_init(void)
{
	CacheRegisterSyscacheCallback(PROCOID, comb_forget_functions, (Datum) 0);
}

/*
 * May the user call this function?  The user did not write the calls that we
 * put into plans, so they must not fail for lack of a privilege.
 */
bool
comb_may_execute(Oid funcid)
{
	return object_aclcheck(ProcedureRelationId, funcid, GetUserId(),
						   ACL_EXECUTE) == ACLCHECK_OK;
}

/*
 * Find one of the extension's own operators on two uuids.  InvalidOid if the
 * user may not call the operator's function.
 */
static Oid
comb_find_operator(const CombCall *call, const char *name, PGFunction code)
{
	const CombFunction *function;
	Oid			opno;

	opno = GetSysCacheOid4(OPERNAMENSP, Anum_pg_operator_oid,
						   CStringGetDatum(name),
						   ObjectIdGetDatum(UUIDOID),
						   ObjectIdGetDatum(UUIDOID),
						   ObjectIdGetDatum(get_func_namespace(call->funcid)));
	function = comb_function(get_opcode(opno));
	if (function == NULL || function->code != code ||
		!comb_may_execute(get_opcode(opno)))
		return InvalidOid;
	return opno;
}

/*
 * Find the operators of the key's order.  False if no operators have this
 * order, and if the user may not call them.
 */
static bool
comb_find_operators(CombCall *call)
{
	if (call->layout == NULL)
	{
		call->lt = COMB_INT8_LT_OP;
		call->le = COMB_INT8_LE_OP;
		call->ge = COMB_INT8_GE_OP;
		call->gt = COMB_INT8_GT_OP;
	}
	else if (call->layout->sorts_in == COMB_SORTS_PLAIN)
	{
		call->lt = COMB_UUID_LT_OP;
		call->le = COMB_UUID_LE_OP;
		call->ge = COMB_UUID_GE_OP;
		call->gt = COMB_UUID_GT_OP;
	}
	else if (call->layout->sorts_in == COMB_SORTS_MSSQL)
	{
		/* the planner calls all four to find conditions that exclude others */
		call->lt = comb_find_operator(call, "#<#", comb_mssql_lt);
		call->le = comb_find_operator(call, "#<=#", comb_mssql_le);
		call->ge = comb_find_operator(call, "#>=#", comb_mssql_ge);
		call->gt = comb_find_operator(call, "#>#", comb_mssql_gt);
	}
	else
		return false;
	return OidIsValid(call->lt) && OidIsValid(call->le) &&
		OidIsValid(call->ge) && OidIsValid(call->gt);
}

/*
 * Return the layout of a call: the default without a label, NULL if no layout
 * has the label, and if the label is not a constant.
 */
static const CombLayout *
comb_call_layout(const List *rest)
{
	const Const *label;

	if (rest == NIL)
		return comb_layout_default;
	label = (const Const *) linitial(rest);
	if (list_length(rest) != 1 || !IsA(label, Const) || label->constisnull ||
		label->consttype != TEXTOID)
		return NULL;
	return comb_layout_find(DatumGetTextPP(label->constvalue));
}

/* Does the function read a label behind its other arguments? */
static inline bool
comb_takes_label(const CombFunction *function)
{
	return function->code == comb_created_layout ||
		function->code == comb_recheck_layout ||
		function->code == comb_timestamp_layout;
}

/* Do the arguments have the types of comb_snowflake_timestamp()? */
static bool
comb_is_snowflake_call(List *args)
{
	static const Oid types[] = {
		INT8OID, TIMESTAMPTZOID, INT4OID, INT4OID, INTERVALOID
	};
	int			i;

	if (list_length(args) != (int) lengthof(types))
		return false;
	for (i = 0; i < (int) lengthof(types); i++)
	{
		if (exprType((Node *) list_nth(args, i)) != types[i])
			return false;
	}
	return true;
}

/*
 * Return the two times and the flags of core's constructor of ranges, as
 * comb_contained() and the bounds take them.  NIL for other periods.
 *
 * The constructor takes NULL for an open end.  comb_contained() is strict, as
 * the condition is in its key, so it gets an infinite time instead.
 */
List *
comb_period_times(Node *period)
{
	const FuncExpr *range = (const FuncExpr *) period;
	const Const *flags = NULL;
	List	   *times = NIL;
	const char *spelled = "[)";
	int			i;

	if (IsA(period, RelabelType))
		range = (const FuncExpr *) ((RelabelType *) period)->arg;
	if (!IsA(range, FuncExpr))
		return NIL;
	if (range->funcid == F_TSTZRANGE_TIMESTAMPTZ_TIMESTAMPTZ_TEXT)
	{
		flags = (const Const *) lthird(range->args);
		if (!IsA(flags, Const) || flags->constisnull)
			return NIL;
		spelled = TextDatumGetCString(flags->constvalue);

		if (strlen(spelled) != 2 || !strchr("[(", spelled[0]) ||
			!strchr("])", spelled[1]))
			return NIL;
	}
	else if (range->funcid != F_TSTZRANGE_TIMESTAMPTZ_TIMESTAMPTZ)
		return NIL;
	for (i = 0; i < 2; i++)
	{
		CoalesceExpr *time = makeNode(CoalesceExpr);
		TimestampTz end = i == 0 ? DT_NOBEGIN : DT_NOEND;

		time->coalescetype = TIMESTAMPTZOID;
		time->args = list_make2(copyObject(list_nth(range->args, i)),
								makeConst(TIMESTAMPTZOID, -1, InvalidOid,
										  sizeof(TimestampTz),
										  TimestampTzGetDatum(end), false,
										  FLOAT8PASSBYVAL));
		time->location = -1;
		times = lappend(times, time);
	}
	return lappend(lappend(times, makeBoolConst(spelled[0] == '[', false)),
				   makeBoolConst(spelled[1] == ']', false));
}

/*
 * Return the period of the two times and the flags of comb_contained().  NULL
 * if they have other types, or if a flag is not a constant.
 */
static Node *
comb_times_period(List *times)
{
	const Const *with_since;
	const Const *with_until;
	char		flags[3] = "()";

	if (list_length(times) != 4 ||
		exprType((Node *) linitial(times)) != TIMESTAMPTZOID ||
		exprType((Node *) lsecond(times)) != TIMESTAMPTZOID)
		return NULL;
	with_since = (const Const *) lthird(times);
	with_until = (const Const *) lfourth(times);
	if (!IsA(with_since, Const) || with_since->constisnull ||
		with_since->consttype != BOOLOID || !IsA(with_until, Const) ||
		with_until->constisnull || with_until->consttype != BOOLOID)
		return NULL;
	if (DatumGetBool(with_since->constvalue))
		flags[0] = '[';
	if (DatumGetBool(with_until->constvalue))
		flags[1] = ']';
	return (Node *) makeFuncExpr(F_TSTZRANGE_TIMESTAMPTZ_TIMESTAMPTZ_TEXT,
								 TSTZRANGEOID,
								 list_make3(linitial(times), lsecond(times),
											makeConst(TEXTOID, -1,
													  DEFAULT_COLLATION_OID, -1,
													  CStringGetTextDatum(flags),
													  false, false)),
								 InvalidOid, InvalidOid, COERCE_EXPLICIT_CALL);
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
	bool		timed;
	bool		reversed = false;

	memset(call, 0, sizeof(CombCall));
	call->funcid = funcid;
	call->function = comb_function(funcid);
	if (call->function == NULL || call->function->role == COMB_HELPER ||
		args == NIL)
		return false;
	if (call->function->role == COMB_SNOWFLAKE_TIME)
	{
		call->key = (Node *) linitial(args);
		call->rest = list_copy_tail(args, 1);
		return get_func_rettype(funcid) == TIMESTAMPTZOID &&
			comb_is_snowflake_call(args) && comb_find_operators(call);
	}
	if (call->function->code == comb_recheck_snowflake)
	{
		call->key = (Node *) linitial(args);
		return get_func_rettype(funcid) == BOOLOID && list_length(args) == 1 &&
			comb_is_of_type(call->key, INT8OID) && comb_find_operators(call);
	}
	timed = call->function->role == COMB_TIME;
	if (call->function->code == comb_contained_times)
	{
		call->key = (Node *) linitial(args);
		call->times = list_copy_tail(args, 1);
		call->period = comb_times_period(call->times);
		call->layout = comb_layout_default;
		return call->period != NULL && get_func_rettype(funcid) == BOOLOID &&
			comb_is_of_type(call->key, UUIDOID) && comb_find_operators(call);
	}
	if (!timed)
	{
		if (list_length(args) < 2)
			return false;
		reversed = !comb_is_of_type((Node *) linitial(args), UUIDOID);
		call->period = (Node *) (reversed ? linitial(args) : lsecond(args));
		if (!comb_is_of_type(call->period, TSTZRANGEOID))
			return false;
	}
	call->key = (Node *) (reversed ? lsecond(args) : linitial(args));
	call->rest = list_copy_tail(args, timed ? 1 : 2);
	call->layout = comb_call_layout(call->rest);
	return get_func_rettype(funcid) == (timed ? TIMESTAMPTZOID : BOOLOID) &&
		comb_is_of_type(call->key, UUIDOID) &&
		comb_takes_label(call->function) == (call->rest != NIL) &&
		call->layout != NULL && comb_find_operators(call);
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
	static const int mirrored[] = {
		0, BTGreaterStrategyNumber, BTGreaterEqualStrategyNumber,
		BTEqualStrategyNumber, BTLessEqualStrategyNumber, BTLessStrategyNumber
	};
	int			strategy = get_op_opfamily_strategy(opno, COMB_DATETIME_FAMILY);
	Oid			lefttype;
	Oid			righttype;

	if (strategy == 0)
		return 0;
	op_input_types(opno, &lefttype, &righttype);
	if ((right ? righttype : lefttype) != TIMESTAMPTZOID)
		return 0;
	return right ? mirrored[strategy] : strategy;
}

/*
 * Return a call of one of the extension's functions.  NULL if the user may not
 * call the function.
 *
 * The function is found by its name in the schema of the call's function, so
 * search_path plays no part.  LookupFuncName() would demand that the user has
 * rights on the schema.
 *
 * A superuser can have made the call's function, and in another schema than
 * the extension's.  There a function of this name can be anybody's, and may
 * not get into plans of other users.  Hence the look at its code.
 */
Node *
comb_make_call(PlannerInfo *root, const CombCall *call, const char *name,
			   PGFunction code, Oid rettype, List *args)
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
	if (function == NULL || function->code != code ||
		get_func_rettype(funcid) != rettype || !comb_may_execute(funcid))
		return NULL;
	return eval_const_expressions(root, (Node *)
								  makeFuncExpr(funcid, rettype, args,
											   InvalidOid, collation,
											   COERCE_EXPLICIT_CALL));
}

/*
 * Return a copy of the key as an expression of its base type, as uuid's own
 * operators take it
 */
Node *
comb_call_key(const CombCall *call)
{
	Node	   *key = copyObject(call->key);
	Oid			type = call->layout ? UUIDOID : INT8OID;

	if (exprType(key) == type)
		return key;
	return (Node *) makeRelabelType((Expr *) key, type, -1, InvalidOid,
									COERCE_IMPLICIT_CAST);
}
