/*-------------------------------------------------------------------------
 *
 * comb_clause.c
 *	  Clauses that compare keys with periods: taking a clause apart, and
 *	  building the range of keys that the clause means.
 *
 * Copyright (c) 2026, pg_comb developers
 *
 * IDENTIFICATION
 *	  src/comb_clause.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_language.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "comb_period.h"

/* uuid >= uuid and uuid <= uuid, which pg_operator.dat gives no symbols */
#define COMB_UUID_GE_OP		2977
#define COMB_UUID_LE_OP		2976

/*
 * A function that plans call in place of a clause.  The arguments are the
 * clause's key, its period, and its label if it has one.
 */
typedef struct CombFunction
{
	const char *name;
	Oid			rettype;
	bool		with_id;
	bool		with_period;
	PGFunction	code;			/* what the function executes */
	PGFunction	layout_code;	/* the same with a label */
} CombFunction;

static const CombFunction comb_range_min_function = {
	"comb_range_min", UUIDOID, false, true,
	comb_range_min, comb_range_min
};
static const CombFunction comb_range_max_function = {
	"comb_range_max", UUIDOID, false, true,
	comb_range_max, comb_range_max
};
static const CombFunction comb_recheck_function = {
	"comb_recheck", BOOLOID, true, true,
	comb_contained, comb_recheck_layout
};
static const CombFunction comb_in_range_function = {
	"comb_in_range", BOOLOID, true, true,
	comb_in_range, comb_in_range
};
static const CombFunction comb_timestamp_function = {
	"comb_timestamp", TIMESTAMPTZOID, true, false,
	comb_timestamp, comb_timestamp_layout
};

/*
 * Return the C function that a function in SQL names, whoever owns the function
 * and whatever its name and schema are.  NULL for other languages.
 *
 * Only superusers can make functions in C, so a function with our code is one
 * of ours.  SECURITY DEFINER functions and functions with SET clauses go
 * through fmgr_security_definer(), so they never match.
 */
static PGFunction
comb_c_function_address(Oid funcid)
{
	FmgrInfo	flinfo;
	HeapTuple	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(funcid));
	Oid			language;

	if (!HeapTupleIsValid(tuple))
		return NULL;
	language = ((Form_pg_proc) GETSTRUCT(tuple))->prolang;
	ReleaseSysCache(tuple);
	if (language != ClanguageId)
		return NULL;
	fmgr_info(funcid, &flinfo);
	return flinfo.fn_addr;
}

/* Is this the code of a function that compares a key with a period? */
static bool
comb_is_clause_code(PGFunction code)
{
	return code == comb_contained || code == comb_contains ||
		code == comb_created_layout || code == comb_recheck_layout ||
		code == comb_in_range;
}

/* Is the expression of this type, or of a domain over this type? */
static inline bool
comb_is_of_type(Node *arg, Oid type)
{
	Oid			argtype = exprType(arg);

	return argtype == type || getBaseType(argtype) == type;
}

/*
 * Return the layout that a label names, and the default layout without a
 * label.  NULL if the label is unknown, or is known only when the query runs.
 */
static const CombLayout *
comb_clause_layout(Node *label)
{
	if (label == NULL)
		return comb_layout_default;
	if (!IsA(label, Const) || ((Const *) label)->constisnull ||
		exprType(label) != TEXTOID)
		return NULL;
	return comb_layout_find(DatumGetTextPP(((Const *) label)->constvalue));
}

/*
 * Take a call apart.  False if the call does not compare a key with a period.
 *
 * Anyone can attach the estimators to an operator of their own, and
 * superusers can attach the support functions to any function.  What such a
 * function answers need not have anything to do with times, so only our own
 * code counts.
 *
 * The callers of this function read constants and statistics as keys, periods
 * and labels.  With a value of another type they would read wrong memory, as
 * in CVE-2026-2004.  A superuser can declare our code with any types, so the
 * types are checked as well.
 */
bool
comb_clause(CombClause *clause, Oid funcid, List *args)
{
	int			nargs = list_length(args);
	bool		reversed;

	if ((nargs != 2 && nargs != 3) || !comb_is_clause_code(comb_c_function_address(funcid)))
		return false;
	reversed = !comb_is_of_type((Node *) linitial(args), UUIDOID);
	clause->id = (Node *) (reversed ? lsecond(args) : linitial(args));
	clause->period = (Node *) (reversed ? linitial(args) : lsecond(args));
	clause->label = nargs == 3 ? (Node *) lthird(args) : NULL;
	clause->funcid = funcid;
	if (!comb_is_of_type(clause->id, UUIDOID) ||
		!comb_is_of_type(clause->period, TSTZRANGEOID) ||
		get_func_rettype(funcid) != BOOLOID)
		return false;
	clause->layout = comb_clause_layout(clause->label);
	return clause->layout != NULL;
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
 * May the user call the clause's own function?  If not, the clause must stay
 * and fail, and not become a call of other functions.
 */
bool
comb_clause_allowed(const CombClause *clause)
{
	return comb_may_execute(clause->funcid);
}

/*
 * Find one of the extension's own functions by its name.  The function is in
 * the schema of the clause's function, so search_path plays no part.
 * LookupFuncName() would demand that the user has rights on the schema.
 *
 * A superuser can have made the clause's function, and in another schema than
 * the extension's.  There a function of this name can be anybody's, and may
 * not get into plans of other users.  Hence the look at its code.
 */
static Oid
comb_clause_function(const CombClause *clause, const CombFunction *function,
					 const Oid *argtypes, int nargs)
{
	Oid			nspid = get_func_namespace(clause->funcid);
	oidvector  *types = buildoidvector(argtypes, nargs);
	Oid			funcid;

	funcid = GetSysCacheOid3(PROCNAMEARGSNSP, Anum_pg_proc_oid,
							 CStringGetDatum(function->name),
							 PointerGetDatum(types),
							 ObjectIdGetDatum(nspid));
	if (comb_c_function_address(funcid) !=
		(clause->label ? function->layout_code : function->code))
		return InvalidOid;
	return funcid;
}

/* Find one of the extension's own operators on two uuids, in the same way */
static Oid
comb_clause_operator(const CombClause *clause, const char *name,
					 PGFunction code)
{
	Oid			nspid = get_func_namespace(clause->funcid);
	Oid			opno;

	opno = GetSysCacheOid4(OPERNAMENSP, Anum_pg_operator_oid,
						   CStringGetDatum(name),
						   ObjectIdGetDatum(UUIDOID),
						   ObjectIdGetDatum(UUIDOID),
						   ObjectIdGetDatum(nspid));
	if (!OidIsValid(opno) || comb_c_function_address(get_opcode(opno)) != code)
		return InvalidOid;
	return opno;
}

/*
 * Return the column that the clause compares, or NULL if the clause compares
 * another expression.  The column's type may be a domain over uuid.
 */
Var *
comb_clause_var(const CombClause *clause)
{
	Node	   *id = clause->id;

	if (IsA(id, RelabelType))
		id = (Node *) ((RelabelType *) id)->arg;
	return IsA(id, Var) ? (Var *) id : NULL;
}

/*
 * Return a copy of the clause's period as an expression of type tstzrange.
 * The clause itself may have the period as a domain over tstzrange.
 */
Node *
comb_clause_period(const CombClause *clause)
{
	Node	   *arg = clause->period;

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
 * Return a call of one of the extension's functions.  NULL if the user may not
 * call the function.  The planner then keeps the clause as it is.
 */
static Node *
comb_clause_call(const CombClause *clause, const CombFunction *function)
{
	Oid			argtypes[3];
	List	   *args = NIL;
	int			nargs = 0;
	Oid			funcid;

	if (function->with_id)
	{
		argtypes[nargs++] = UUIDOID;
		args = lappend(args, copyObject(clause->id));
	}
	if (function->with_period)
	{
		argtypes[nargs++] = TSTZRANGEOID;
		args = lappend(args, comb_clause_period(clause));
	}
	if (clause->label)
	{
		argtypes[nargs++] = TEXTOID;
		args = lappend(args, copyObject(clause->label));
	}

	funcid = comb_clause_function(clause, function, argtypes, nargs);
	if (!OidIsValid(funcid) || !comb_may_execute(funcid))
		return NULL;
	return (Node *) makeFuncExpr(funcid, function->rettype, args, InvalidOid,
								 exprCollation(clause->label),
								 COERCE_EXPLICIT_CALL);
}

/* Return the clause as a call of comb_recheck(), or NULL */
Node *
comb_clause_recheck(const CombClause *clause)
{
	return comb_clause_call(clause, &comb_recheck_function);
}

/* Return a call of comb_in_range(), or NULL */
Node *
comb_clause_in_range(const CombClause *clause)
{
	return comb_clause_call(clause, &comb_in_range_function);
}

/* Return comb_timestamp(id) IS NOT NULL, or NULL */
Node *
comb_clause_has_time(const CombClause *clause)
{
	Node	   *call = comb_clause_call(clause, &comb_timestamp_function);
	NullTest   *result;

	if (call == NULL)
		return NULL;
	result = makeNode(NullTest);
	result->arg = (Expr *) call;
	result->nulltesttype = IS_NOT_NULL;
	result->argisrow = false;
	result->location = -1;
	return (Node *) result;
}

/*
 * Return the first or the last value of the clause's period, or NULL.  For a
 * constant period the value is a constant, because the planner does not
 * simplify what a support function returns.
 */
static Node *
comb_clause_bound(const CombClause *clause, bool last)
{
	if (IsA(clause->period, Const))
	{
		Const	   *period = (Const *) clause->period;
		pg_uuid_t  *bound;

		if (period->constisnull)
			return NULL;
		bound = comb_period_bound(clause->layout, period->constvalue, last);
		return (Node *) makeConst(UUIDOID, -1, InvalidOid, UUID_LEN,
								  UUIDPGetDatum(bound), false, false);
	}

	return comb_clause_call(clause, last ? &comb_range_max_function :
							&comb_range_min_function);
}

/* Return id >= first or id <= last, or NULL */
static Expr *
comb_clause_comparison(const CombClause *clause, Oid opno, bool last)
{
	Node	   *bound = comb_clause_bound(clause, last);
	OpExpr	   *result;

	if (bound == NULL)
		return NULL;
	result = (OpExpr *) make_opclause(opno, BOOLOID, false,
									  (Expr *) copyObject(clause->id),
									  (Expr *) bound, InvalidOid, InvalidOid);
	set_opfuncid(result);
	return (Expr *) result;
}

/*
 * Get the operators >= and <= of the layout's order.  False if no operators
 * have this order.
 */
bool
comb_layout_operators(const CombClause *clause, Oid *ge, Oid *le)
{
	if (clause->layout->sorts_in == COMB_SORTS_PLAIN)
	{
		*ge = COMB_UUID_GE_OP;
		*le = COMB_UUID_LE_OP;
		return true;
	}
	if (clause->layout->sorts_in != COMB_SORTS_MSSQL)
		return false;
	*ge = comb_clause_operator(clause, "#>=#", comb_mssql_ge);
	*le = comb_clause_operator(clause, "#<=#", comb_mssql_le);
	return OidIsValid(*ge) && OidIsValid(*le);
}

/*
 * Get the operators >= and <= of an index's operator family.  False if the
 * family does not sort as the layout does.
 *
 * A family qualifies if its members 4 and 2 call the same functions as the
 * layout's >= and <=.  This holds for btree, BRIN minmax and btree_gist.
 * Hash, bloom and other orderings have different functions there, or none.
 */
bool
comb_family_operators(const CombClause *clause, Oid opfamily, Oid *ge, Oid *le)
{
	Oid			layout_ge;
	Oid			layout_le;

	*ge = get_opfamily_member(opfamily, UUIDOID, UUIDOID, 4);
	*le = get_opfamily_member(opfamily, UUIDOID, UUIDOID, 2);
	if (!OidIsValid(*ge) || !OidIsValid(*le) ||
		!comb_layout_operators(clause, &layout_ge, &layout_le))
		return false;
	return (*ge == layout_ge || get_opcode(*ge) == get_opcode(layout_ge)) &&
		(*le == layout_le || get_opcode(*le) == get_opcode(layout_le));
}

/*
 * Return the clauses id >= first and id <= last, with the given operators.
 * NIL for a constant period that is NULL, and if the user may not call the
 * bounds.
 */
List *
comb_clause_bounds(const CombClause *clause, Oid ge, Oid le)
{
	Expr	   *lower = comb_clause_comparison(clause, ge, false);
	Expr	   *upper = comb_clause_comparison(clause, le, true);

	if (lower == NULL || upper == NULL)
		return NIL;
	return list_make2(lower, upper);
}
