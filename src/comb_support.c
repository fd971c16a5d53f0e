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
 * Estimates: core multiplies the estimates of all conditions in a list, and
 * does not interpolate between uuids.  So the first of our functions in a list
 * looks at all bounds beside it, estimates by time how many keys are between
 * them, and hands this estimate to the bounds.  Both the number of rows and the
 * cost of an index scan follow from it.  See comb_hand_over().
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
#include "access/stratnum.h"
#include "access/transam.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_language.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/supportnodes.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/restrictinfo.h"
#include "parser/parsetree.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"
#include "utils/syscache.h"

#include "comb_period.h"

PG_FUNCTION_INFO_V1(comb_period_sel);
PG_FUNCTION_INFO_V1(comb_period_joinsel);
PG_FUNCTION_INFO_V1(comb_period_support);

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

/* What one of our functions does in a condition */
typedef enum CombRole
{
	COMB_IN_PERIOD,				/* compares a key with a period */
	COMB_HAS_TIME,				/* the same, where a plan has bounds */
	COMB_TIME,					/* returns the time of a uuid */
	COMB_SNOWFLAKE_TIME,		/* returns the time of a Snowflake */
	COMB_HELPER					/* is only called by plans */
} CombRole;

typedef struct CombFunction
{
	const char *symbol;			/* its name in C */
	PGFunction	code;
	CombRole	role;
} CombFunction;

static const CombFunction comb_functions[] = {
	{"comb_contained", comb_contained, COMB_IN_PERIOD},
	{"comb_contained_times", comb_contained_times, COMB_IN_PERIOD},
	{"comb_contains", comb_contains, COMB_IN_PERIOD},
	{"comb_created_layout", comb_created_layout, COMB_IN_PERIOD},
	{"comb_recheck", comb_recheck, COMB_HAS_TIME},
	{"comb_recheck_layout", comb_recheck_layout, COMB_HAS_TIME},
	{"comb_timestamp", comb_timestamp, COMB_TIME},
	{"comb_timestamp_layout", comb_timestamp_layout, COMB_TIME},
	{"comb_snowflake_timestamp", comb_snowflake_timestamp, COMB_SNOWFLAKE_TIME},
	{"comb_instant_date", comb_instant_date, COMB_HELPER},
	{"comb_instant_timestamp", comb_instant_timestamp, COMB_HELPER},
	{"comb_min", comb_min, COMB_HELPER},
	{"comb_max", comb_max, COMB_HELPER},
	{"comb_range_min", comb_range_min, COMB_HELPER},
	{"comb_range_max", comb_range_max, COMB_HELPER},
	{"comb_times_min", comb_times_min, COMB_HELPER},
	{"comb_times_max", comb_times_max, COMB_HELPER},
	{"comb_snowflake_min", comb_snowflake_min, COMB_HELPER},
	{"comb_snowflake_max", comb_snowflake_max, COMB_HELPER},
	{"comb_mssql_lt", comb_mssql_lt, COMB_HELPER},
	{"comb_mssql_le", comb_mssql_le, COMB_HELPER},
	{"comb_mssql_ge", comb_mssql_ge, COMB_HELPER},
	{"comb_mssql_gt", comb_mssql_gt, COMB_HELPER}
};

/* A call of one of our functions, taken apart */
typedef struct CombCall
{
	const CombFunction *function;
	Oid			funcid;			/* its schema has the extension's functions */
	Node	   *key;
	Node	   *period;			/* NULL if the function has none */
	List	   *times;			/* what a period is made of, or NIL */
	List	   *rest;			/* the label, or the parameters of a Snowflake */
	const CombLayout *layout;	/* NULL for Snowflakes */
	Oid			lt;				/* the operators of the key's order */
	Oid			le;
	Oid			ge;
	Oid			gt;
} CombCall;

/*
 * Taking a call apart
 */

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
comb_support_init(void)
{
	CacheRegisterSyscacheCallback(PROCOID, comb_forget_functions, (Datum) 0);
}

/* Is the expression of this type, or of a domain over this type? */
static inline bool
comb_is_of_type(Node *arg, Oid type)
{
	Oid			argtype = exprType(arg);

	return argtype == type || getBaseType(argtype) == type;
}

/*
 * May the user call this function?  The user did not write the calls that we
 * put into plans, so they must not fail for lack of a privilege.
 */
static inline bool
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
static List *
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
 * Anyone can attach the estimators to an operator of their own, and
 * superusers can attach the support function to any function.  What such a
 * function answers need not have anything to do with times, so only our own
 * code counts.
 *
 * The callers of this function read constants and statistics as keys, periods
 * and labels.  With a value of another type they would read wrong memory, as
 * in CVE-2026-2004.  A superuser can declare our code with any types, so the
 * types are checked as well.
 */
static bool
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
		call->layout != NULL && comb_find_operators(call);
}

/* Return the arguments of an operator's or a function's call, or NIL */
static List *
comb_call_args(const Node *node)
{
	if (is_opclause(node))
		return ((const OpExpr *) node)->args;
	if (is_funcclause(node))
		return ((const FuncExpr *) node)->args;
	return NIL;
}

/* Is this a condition that compares a key with a period? */
static bool
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
static inline bool
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
static int
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
 * Building what is put beside a condition
 */

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
static Node *
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
 * Return a copy of the key as an expression of its base type, as uuid's own
 * operators take it
 */
static Node *
comb_call_key(const CombCall *call)
{
	Node	   *key = copyObject(call->key);
	Oid			type = call->layout ? UUIDOID : INT8OID;

	if (exprType(key) == type)
		return key;
	return (Node *) makeRelabelType((Expr *) key, type, -1, InvalidOid,
									COERCE_IMPLICIT_CAST);
}

/*
 * Return the condition that the key is one of the layout, with a time.  NULL
 * if the user may not call the function.
 */
static Node *
comb_has_time(PlannerInfo *root, const CombCall *call)
{
	Const	   *all = makeConst(TSTZRANGEOID, -1, InvalidOid, -1,
								OidInputFunctionCall(F_RANGE_IN, "(,)",
													 TSTZRANGEOID, -1),
								false, false);

	return comb_make_call(root, call, "comb_recheck",
						  call->rest ? comb_recheck_layout : comb_recheck,
						  BOOLOID,
						  list_concat(list_make2(comb_call_key(call), all),
									  copyObject(call->rest)));
}

/*
 * Add a comparison of the key with a function of "arg" to a list.  False if
 * the user may not call the function.
 */
static bool
comb_add_bound_of(PlannerInfo *root, const CombCall *call, List **bounds,
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

/* The same for a function of one argument, and of the call's others */
static inline bool
comb_add_bound(PlannerInfo *root, const CombCall *call, List **bounds,
			   Oid opno, const char *name, PGFunction code, Node *arg)
{
	return comb_add_bound_of(root, call, bounds, opno, name, code,
							 list_make1(arg));
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
	return comb_add_bound_of(root, call, bounds, call->ge, "comb_range_min",
							 comb_times_min, args) &&
		comb_add_bound_of(root, call, bounds, call->le, "comb_range_max",
						  comb_times_max, args);
}

/* Add the two bounds of a period, given as a tstzrange */
static bool
comb_add_period(PlannerInfo *root, const CombCall *call, List **bounds,
				Node *period)
{
	return comb_add_bound(root, call, bounds, call->ge,
						  "comb_range_min", comb_range_min, period) &&
		comb_add_bound(root, call, bounds, call->le,
					   "comb_range_max", comb_range_max, period);
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

	at = comb_other_time(root, call, at);
	if (at == NULL)
		return false;
	*exact = strategy != BTEqualStrategyNumber;
	if (!snowflake && !call->layout->versioned)
	{
		*exact = false;
		return comb_add_period(root, call, bounds,
							   comb_strategy_range(root, strategy, at));
	}
	switch (strategy)
	{
		case BTLessStrategyNumber:
			if (!snowflake)
				return comb_add_bound(root, call, bounds, call->lt, min, min_code, at);
			*exact = false;
			return comb_add_bound(root, call, bounds, call->le, max, max_code, at);
		case BTLessEqualStrategyNumber:
			*exact = !snowflake;
			return comb_add_bound(root, call, bounds, call->le, max, max_code, at);
		case BTEqualStrategyNumber:
			return comb_add_bound(root, call, bounds, call->ge, min, min_code, at) &&
				comb_add_bound(root, call, bounds, call->le, max, max_code, at);
		case BTGreaterEqualStrategyNumber:
			*exact = !snowflake;
			return comb_add_bound(root, call, bounds, call->ge, min, min_code, at);
		default:
			return comb_add_bound(root, call, bounds, call->gt, max, max_code, at);
	}
}

/*
 * Is this expression cheap, and does it read one table only?  Columns are.
 * Others may have an index.
 */
static bool
comb_is_key(PlannerInfo *root, Node *key)
{
	QualCost	cost;

	if (IsA(key, RelabelType))
		key = (Node *) ((RelabelType *) key)->arg;
	if (IsA(key, Var))
		return ((Var *) key)->varlevelsup == 0;
	if (contain_subplans(key) ||
		bms_membership(pull_varnos(root, key)) != BMS_SINGLETON)
		return false;
	cost_qual_eval_node(&cost, key, root);
	return cost.startup + cost.per_tuple <= 10 * cpu_operator_cost;
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
comb_takes_bounds(PlannerInfo *root, const CombCall *call, Node *other)
{
	return comb_is_key(root, call->key) &&
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

/* Has the table indexes that a condition, as it was written, can match? */
static bool
comb_has_expressions(const RelOptInfo * rel)
{
	ListCell   *lc;

	foreach(lc, rel->indexlist)
	{
		const		IndexOptInfo *index = (IndexOptInfo *) lfirst(lc);

		if (index->indexprs != NIL || index->indpred != NIL)
			return true;
	}
	return false;
}

/* What comes into the place of a list of conditions */
typedef struct CombQuals
{
	List	   *filters;		/* come first, see comb_hand_over() */
	List	   *rest;
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
	bool		computed;
	bool		bounds_suffice;

	if (!comb_period_clause(&call, clause) ||
		call.function->role != COMB_IN_PERIOD ||
		comb_is_unlimited(call.period) ||
		!comb_is_key_of(root, rel, call.key) ||
		!comb_takes_bounds(root, &call, call.period))
		return false;

	/*
	 * Postgres_fdw never sends a label.  Without it the remote server can
	 * count and limit, if every value between the bounds has a time.
	 */
	bounds_suffice = rel->fdwroutine && comb_is_exact(call.layout);
	computed = comb_is_computed(call.period);
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
	if (strategy == 0 || !comb_takes_bounds(root, &call, other) ||
		(equal && !comb_is_key_of(root, rel, call.key)) ||
		!comb_add_time(root, &call, &bounds, strategy, other, exact))
		return false;

	/* the estimate of an equality with a column is core's */
	if (call.layout && !(equal && contain_var_clause(other)))
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
	CombQuals	added = {NIL, NIL, false};
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
				   (exact[0] || exact[1]) && !comb_has_expressions(rel) ?
				   NULL : (Node *) clause, added.rest);
	return true;
}

/*
 * Return the smallest or the largest element of a constant array of times.
 * NULL if the array has none.  All three types of times compare as integers.
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
		!comb_takes_bounds(root, &call, array))
		return false;
	type = get_element_type(exprType(array));
	if (type != TIMESTAMPTZOID && type != TIMESTAMPOID && type != DATEOID)
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
 */
static List *
comb_replace(PlannerInfo *root, const RelOptInfo * rel, List *clauses)
{
	CombQuals	quals = {NIL, NIL, false};
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
		if (!replaced)
			quals.rest = lappend(quals.rest, clause);
	}
	if (!quals.changed)
		return clauses;
	return list_concat_unique(quals.filters, quals.rest);
}

/* Replace conditions in WHERE and ON */
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
		join->quals = (Node *) comb_replace(root, rel, (List *) join->quals);
	}
}

/*
 * Replace conditions on the key of a UNION ALL, which the planner has just
 * handed to the parent of the given table.
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
			infos = lappend(infos, lfirst(lc2) == (void *) info->clause ? info :
							comb_make_restrictinfo(root, (Expr *) lfirst(lc2), info));
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

	if (!comb_enable_time_conditions || root->parse->jointree == NULL)
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

/*
 * Estimating
 */

/* The conditions on a key that stand in one list */
typedef struct CombBeside
{
	List	   *bounds;			/* the RestrictInfos of its bounds */
	List	   *times;			/* those of comparisons of its time */
	CombPeriod	period;			/* between the known bounds */
	bool		known;			/* is any bound known? */
	bool		unknown;		/* is any not? */
	bool		lower;
	bool		upper;
} CombBeside;

/*
 * Find the list of conditions that has the one with these arguments: a table's
 * list, or an AND below OR.  NIL if there is none.
 */
static List *
comb_list_of(List *infos, const List *args)
{
	ListCell   *lc;

	foreach(lc, infos)
	{
		RestrictInfo *info = (RestrictInfo *) lfirst(lc);
		ListCell   *lc2;

		if (!IsA(info, RestrictInfo))
			continue;
		if (comb_call_args((Node *) info->clause) == args)
			return infos;
		if (info->orclause == NULL || !is_orclause(info->orclause))
			continue;
		foreach(lc2, ((BoolExpr *) info->orclause)->args)
		{
			List	   *found;

			if (!is_andclause(lfirst(lc2)))
				continue;
			found = comb_list_of(((BoolExpr *) lfirst(lc2))->args, args);
			if (found != NIL)
				return found;
		}
	}
	return NIL;
}

/* Narrow the period by a bound.  False if the bound is not known. */
static bool
comb_narrow(PlannerInfo *root, const CombCall *call, CombBeside *beside,
			Node *bound, bool lower)
{
	Const	   *value = (Const *) estimate_expression_value(root, bound);
	const unsigned char *id;
	int64		at;

	if (!IsA(value, Const) || value->consttype != UUIDOID)
		return false;
	if (value->constisnull)
	{
		beside->period.last = PG_INT64_MIN;
		return true;
	}
	id = DatumGetUUIDP(value->constvalue)->data;
	if (!call->layout->codec->decode(comb_get_field(call->layout, id), &at))
		return false;
	if (lower)
		beside->period.first = Max(beside->period.first, at);
	else
		beside->period.last = Min(beside->period.last, at);
	return true;
}

/* Collect the conditions on the call's key in a list */
static void
comb_look_beside(PlannerInfo *root, const CombCall *call, List *infos,
				 CombBeside *beside)
{
	ListCell   *lc;
	Node	   *key = comb_call_key(call);

	memset(beside, 0, sizeof(CombBeside));
	beside->period.first = PG_INT64_MIN;
	beside->period.last = PG_INT64_MAX;
	foreach(lc, infos)
	{
		RestrictInfo *info = (RestrictInfo *) lfirst(lc);
		OpExpr	   *op = (OpExpr *) info->clause;
		bool		lower;
		CombCall	time;
		int			i;

		if (!IsA(info, RestrictInfo) || !IsA(op, OpExpr) ||
			list_length(op->args) != 2)
			continue;
		lower = op->opno == call->ge || op->opno == call->gt;
		if (lower || op->opno == call->le || op->opno == call->lt)
		{
			if (!equal(linitial(op->args), key))
				continue;
			beside->bounds = lappend(beside->bounds, info);
			if (comb_narrow(root, call, beside, lsecond(op->args), lower))
				beside->known = true;
			else
				beside->unknown = true;
			beside->lower = beside->lower || lower;
			beside->upper = beside->upper || !lower;
			continue;
		}
		for (i = 0; i < 2; i++)
		{
			if (comb_time_call(&time, list_nth(op->args, i)) &&
				equal(time.key, call->key))
				beside->times = lappend(beside->times, info);
		}
	}
}

/* Return core's estimate for bounds */
static double
comb_core_sel(PlannerInfo *root, const List *bounds, int varRelid)
{
	List	   *clauses = NIL;
	ListCell   *lc;

	foreach(lc, bounds)
		clauses = lappend(clauses, ((RestrictInfo *) lfirst(lc))->clause);
	return clauselist_selectivity(root, clauses, varRelid, JOIN_INNER, NULL);
}

/* Set the estimate that a condition will have, in all contexts */
static void
comb_set_sel(RestrictInfo * info, double sel)
{
	CLAMP_PROBABILITY(sel);
	info->norm_selec = sel;
	info->outer_selec = sel;
}

/*
 * Hand the estimate of a key's bounds to them, and say whether there are any.
 *
 * The list has the bounds behind the first of our conditions, whose estimate
 * the planner asks for first.  What the planner then finds in the RestrictInfos
 * of the bounds it takes for its own.  Of a lower and an upper bound it adds
 * the estimates and subtracts 1, after adding the share of NULLs, which it
 * believes to be excluded twice.  So the lower bounds get the whole estimate,
 * and the upper ones what makes that sum right.
 *
 * Bounds that are not known yet keep core's estimates, which are those of a
 * column of times.
 *
 * Of a period that starts after all times that ANALYZE saw, as usual in
 * queries for the newest keys, core has the better estimate: it looks up the
 * column's largest key in an index.
 */
static bool
comb_hand_over(PlannerInfo *root, const CombCall *call, int varRelid,
			   List *infos)
{
	CombBeside	beside;
	bool		newer;
	double		sel;
	double		rest = 1.0;
	ListCell   *lc;

	comb_look_beside(root, call, infos, &beside);
	if (beside.bounds == NIL)
		return false;
	foreach(lc, beside.times)
		comb_set_sel((RestrictInfo *) lfirst(lc), 1.0);
	if (!beside.known || beside.unknown)
		return true;
	sel = comb_period_estimate(root, call->key, varRelid, call->layout,
							   &beside.period, &newer);
	if (newer)
		sel = Max(sel, comb_core_sel(root, beside.bounds, varRelid));
	if (beside.lower && beside.upper)
		rest -= nulltestsel(root, IS_NULL, comb_call_key(call), varRelid,
							JOIN_INNER, NULL);
	foreach(lc, beside.bounds)
	{
		RestrictInfo *info = (RestrictInfo *) lfirst(lc);
		Oid			opno = ((OpExpr *) info->clause)->opno;

		comb_set_sel(info, !beside.lower || opno == call->ge ||
					 opno == call->gt ? sel : rest);
	}
	return true;
}

/*
 * The same for the bounds of a join, which are not known.  A lower and an
 * upper one get the default for a range, which core gives to none of them.
 */
static void
comb_hand_over_join(PlannerInfo *root, const CombCall *call, List *infos)
{
	CombBeside	beside;
	ListCell   *lc;
	bool		first = true;

	comb_look_beside(root, call, infos, &beside);
	if (!beside.lower || !beside.upper)
		return;
	foreach(lc, beside.bounds)
	{
		comb_set_sel((RestrictInfo *) lfirst(lc),
					 first ? DEFAULT_RANGE_INEQ_SEL : 1.0);
		first = false;
	}
}

/* Return the table of a key, or NULL */
static RelOptInfo *
comb_key_rel(PlannerInfo *root, Node *key)
{
	int			varno;

	if (root->simple_rel_array == NULL ||
		!bms_get_singleton_member(pull_varnos(root, key), &varno) ||
		varno >= root->simple_rel_array_size)
		return NULL;
	return root->simple_rel_array[varno];
}

/*
 * Return the share of the rows that a condition on a key's period finds, beside
 * its bounds if it has any.
 */
static double
comb_selectivity(PlannerInfo *root, const CombCall *call, List *args,
				 int varRelid, bool is_join)
{
	RelOptInfo *rel = is_join ? NULL : comb_key_rel(root, call->key);
	Node	   *value;
	CombPeriod	period;
	bool		newer;

	if (rel != NULL)
	{
		List	   *infos = comb_list_of(rel->baserestrictinfo, args);

		comb_hand_over_join(root, call, rel->joininfo);
		if (infos != NIL && comb_hand_over(root, call, varRelid, infos))
			return 1.0;
	}
	value = estimate_expression_value(root, call->period);
	if (is_join || !IsA(value, Const))
		return DEFAULT_RANGE_INEQ_SEL;
	if (((Const *) value)->constisnull)
		return 0.0;
	period = comb_period(((Const *) value)->constvalue);
	if (call->function->role == COMB_HAS_TIME && comb_has_all_times(&period))
		return 1.0;
	return comb_period_estimate(root, call->key, varRelid, call->layout,
								&period, &newer);
}

/*
 * comb_period_sel(internal, oid, internal, integer) returns float8
 *
 * Restriction estimator of the operators <@ and @>.  Returns
 * DEFAULT_RANGE_INEQ_SEL for operators that do not compare a uuid with a
 * tstzrange, and for periods that are not constant.
 */
Datum
comb_period_sel(PG_FUNCTION_ARGS)
{
	PlannerInfo *root = (PlannerInfo *) PG_GETARG_POINTER(0);
	Oid			opno = PG_GETARG_OID(1);
	List	   *args = (List *) PG_GETARG_POINTER(2);
	int			varRelid = PG_GETARG_INT32(3);
	CombCall	call;

	if (!comb_take_apart(&call, get_opcode(opno), args) || !call.period)
		PG_RETURN_FLOAT8(DEFAULT_RANGE_INEQ_SEL);
	PG_RETURN_FLOAT8(comb_selectivity(root, &call, args, varRelid, false));
}

/*
 * comb_period_joinsel(internal, oid, internal, smallint, internal) returns float8
 *
 * Join estimator of the operators <@ and @>: DEFAULT_RANGE_INEQ_SEL.  Core has
 * no function that returns this.
 */
Datum
comb_period_joinsel(PG_FUNCTION_ARGS)
{
	PG_RETURN_FLOAT8(DEFAULT_RANGE_INEQ_SEL);
}

/*
 * Return the condition id <@ tstzrange(since, until) as a comparison with the
 * two times, or NULL.  The executor would build the range for each row.
 *
 * Without "root" the expression is about to be stored, and a stored expression
 * must stay comparable with the conditions of queries.  An expression that a
 * grouping set leaves out is NULL, and before 18 the planner finds it by
 * comparison.  And comb_contained() is not leakproof if it reads times of the
 * table, because of its error.
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
		call.rest != NIL || !comb_may_execute(call.funcid))
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
	if (comb_take_apart(&call, req->funcid, req->args) && call.period)
		req->selectivity = comb_selectivity(req->root, &call, req->args,
											req->varRelid, req->is_join);
	PG_RETURN_POINTER(req);
}
