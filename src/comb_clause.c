/*-------------------------------------------------------------------------
 *
 * comb_clause.c
 *	  Clauses that compare keys with periods: taking them apart, and building
 *	  the range of keys that such a clause means.
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

/* pg_operator.dat gives these no symbols: uuid >= uuid, uuid <= uuid */
#define COMB_UUID_GE_OP		2977
#define COMB_UUID_LE_OP		2976

static inline bool
comb_is_of_type(Node *arg, Oid type)
{
	Oid			argtype = exprType(arg);

	return argtype == type || getBaseType(argtype) == type;
}

/*
 * The layout that a call names: the default where it names none, NULL where
 * the label is not known before the query runs, or not at all.
 */
static const CombLayout *
comb_clause_layout(Node *label)
{
	if (label == NULL)
		return comb_layout_default;
	if (!IsA(label, Const) || ((Const *) label)->constisnull ||
		!comb_is_of_type(label, TEXTOID))
		return NULL;
	return comb_layout_find(DatumGetTextPP(((Const *) label)->constvalue));
}

/*
 * Take a call apart, and tell whether it is one of a key and a period.  Every
 * type is looked at, since anyone can make an operator of any types with these
 * estimators, and what follows reads constants and statistics as the type says.
 */
bool
comb_clause(CombClause *clause, Oid funcid, List *args)
{
	int			nargs = list_length(args);
	bool		reversed;

	if (nargs != 2 && nargs != 3)
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

static inline bool
comb_may_execute(Oid funcid)
{
	return object_aclcheck(ProcedureRelationId, funcid, GetUserId(),
						   ACL_EXECUTE) == ACLCHECK_OK;
}

/* May the user call the function of the clause? */
bool
comb_clause_allowed(const CombClause *clause)
{
	return comb_may_execute(clause->funcid);
}

/*
 * Look up one of the extension's own functions by its namespace, which is the
 * one of the function being planned: search_path plays no part.  Not by
 * LookupFuncName(), which wants the user to have rights on the schema.
 */
static Oid
comb_clause_function(const CombClause *clause, const char *name,
			  const Oid *argtypes, int nargs)
{
	return GetSysCacheOid3(PROCNAMEARGSNSP, Anum_pg_proc_oid,
						   CStringGetDatum(name),
						   PointerGetDatum(buildoidvector(argtypes, nargs)),
						   ObjectIdGetDatum(get_func_namespace(clause->funcid)));
}

static Oid
comb_clause_operator(const CombClause *clause, const char *name)
{
	return GetSysCacheOid4(OPERNAMENSP, Anum_pg_operator_oid,
						   CStringGetDatum(name),
						   ObjectIdGetDatum(UUIDOID),
						   ObjectIdGetDatum(UUIDOID),
						   ObjectIdGetDatum(get_func_namespace(clause->funcid)));
}

/* The period as an argument of type tstzrange, which it may be a domain of */
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
 * A call of one of the extension's functions with the clause's period and,
 * unless it is the default, its layout; also with its key, for a recheck.
 * NULL where the user may not call it: the clause can be evaluated without.
 */
static Node *
comb_clause_call(const CombClause *clause, const char *name, bool with_id)
{
	Oid			argtypes[3];
	List	   *args = NIL;
	int			nargs = 0;
	Oid			funcid;

	if (with_id)
	{
		argtypes[nargs++] = UUIDOID;
		args = lappend(args, copyObject(clause->id));
	}
	argtypes[nargs++] = TSTZRANGEOID;
	args = lappend(args, comb_clause_period(clause));
	if (clause->label)
	{
		argtypes[nargs++] = exprType(clause->label);
		args = lappend(args, copyObject(clause->label));
	}

	funcid = comb_clause_function(clause, name, argtypes, nargs);
	if (!OidIsValid(funcid) || !comb_may_execute(funcid))
		return NULL;
	return (Node *) makeFuncExpr(funcid, with_id ? BOOLOID : UUIDOID, args,
								 InvalidOid, InvalidOid,
								 COERCE_EXPLICIT_CALL);
}

/* The clause by another name, which is not replaced again */
Node *
comb_clause_recheck(const CombClause *clause)
{
	return comb_clause_call(clause, "comb_recheck", true);
}

/*
 * First or last value of the clause's period: a constant where the period is
 * one, since nobody folds what a support function returns.
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
		bound = comb_period_bound(clause->layout,
								  DatumGetRangeTypeP(period->constvalue), last);
		return (Node *) makeConst(UUIDOID, -1, InvalidOid, UUID_LEN,
								  UUIDPGetDatum(bound), false, false);
	}

	return comb_clause_call(clause, last ? "comb_range_max" : "comb_range_min", false);
}

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

/* The operators >= and <= of the layout's own order, if there are such */
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
	*ge = comb_clause_operator(clause, "#>=#");
	*le = comb_clause_operator(clause, "#<=#");
	return OidIsValid(*ge) && OidIsValid(*le);
}

/*
 * Those of an index's operator family, if it sorts as the layout does.  Told
 * by the functions of the members 4 and 2: those of btree, which BRIN's minmax
 * families and btree_gist's share, while hash, bloom and other orders have
 * none there or others.
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

/* id >= first AND id <= last, by the given operators; NIL if impossible */
List *
comb_clause_bounds(const CombClause *clause, Oid ge, Oid le)
{
	Expr	   *lower = comb_clause_comparison(clause, ge, false);
	Expr	   *upper = comb_clause_comparison(clause, le, true);

	if (lower == NULL || upper == NULL)
		return NIL;
	return list_make2(lower, upper);
}
