/*-------------------------------------------------------------------------
 *
 * comb_between.c
 *	  comb_between(): a period as two timestamps.
 *
 * comb_between(id, since, until) means id <@ tstzrange(since, until).  The
 * planner replaces the call by this clause, and then treats the clause like
 * one that the user wrote.
 *
 * A function in SQL could say the same, and the planner would inline it.  But
 * its body would be a string, in which PostgreSQL looks up the operator at
 * each call.  Whoever may create in the extension's schema could then put an
 * operator <@ for tstzrange there.  The string would also break when the
 * schema is renamed.  Bodies of the SQL standard have neither problem, but
 * need PostgreSQL 14.
 *
 * Copyright (c) 2026, pg_comb developers
 *
 * IDENTIFICATION
 *	  src/comb_between.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_operator.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/planmain.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"

#include "comb_period.h"

PG_FUNCTION_INFO_V1(comb_between);
PG_FUNCTION_INFO_V1(comb_between_support);

/* tstzrange(timestamptz, timestamptz), for which 13 has no symbol */
#define COMB_TSTZRANGE_FUNC		3937

/*
 * comb_between(id uuid, since timestamptz, until timestamptz) returns boolean
 *
 * Is the id a UUIDv7 whose time is at or after "since" and before "until"?  A
 * NULL time leaves its side open.  Returns false for any other uuid, and NULL
 * for a NULL id.  Raises 22000 if "since" is after "until", as tstzrange()
 * does.
 */
Datum
comb_between(PG_FUNCTION_ARGS)
{
	CombPeriod	period = {PG_INT64_MIN, PG_INT64_MAX};
	int64		at;

	if (!PG_ARGISNULL(1))
		period.first = PG_GETARG_TIMESTAMPTZ(1);
	if (!PG_ARGISNULL(2))
	{
		period.last = PG_GETARG_TIMESTAMPTZ(2);
		if (period.first > period.last)
			ereport(ERROR,
					(errcode(ERRCODE_DATA_EXCEPTION),
					 errmsg("range lower bound must be less than or equal to range upper bound")));
		if (period.last > PG_INT64_MIN)
			period.last--;
	}
	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	PG_RETURN_BOOL(comb_v7_read(PG_GETARG_UUID_P(0)->data, &at) &&
				   comb_in_period(&period, at));
}

/* Is the call one of comb_between(uuid, timestamptz, timestamptz)? */
static bool
comb_is_between(const FuncExpr *call)
{
	return list_length(call->args) == 3 &&
		call->funcresulttype == BOOLOID &&
		exprType((Node *) linitial(call->args)) == UUIDOID &&
		exprType((Node *) lsecond(call->args)) == TIMESTAMPTZOID &&
		exprType((Node *) lthird(call->args)) == TIMESTAMPTZOID;
}

/*
 * Return the call as id <@ tstzrange(since, until), or NULL.
 *
 * The operator and its domain are found in the schema of the called function,
 * by their exact types.  The extension has them there, so nobody else can.
 */
static Node *
comb_between_clause(const FuncExpr *call)
{
	Oid			schema = get_func_namespace(call->funcid);
	Oid			domain;
	Oid			opno;
	CoerceToDomain *period;

	domain = GetSysCacheOid2(TYPENAMENSP, Anum_pg_type_oid,
							 CStringGetDatum("comb_period"),
							 ObjectIdGetDatum(schema));
	opno = GetSysCacheOid4(OPERNAMENSP, Anum_pg_operator_oid,
						   CStringGetDatum("<@"),
						   ObjectIdGetDatum(UUIDOID),
						   ObjectIdGetDatum(domain),
						   ObjectIdGetDatum(schema));
	if (!OidIsValid(domain) || !OidIsValid(opno))
		return NULL;

	period = makeNode(CoerceToDomain);
	period->arg = (Expr *) makeFuncExpr(COMB_TSTZRANGE_FUNC, TSTZRANGEOID,
										list_copy_tail(call->args, 1),
										InvalidOid, InvalidOid,
										COERCE_EXPLICIT_CALL);
	period->resulttype = domain;
	period->resulttypmod = -1;
	period->resultcollid = InvalidOid;
	period->coercionformat = COERCE_IMPLICIT_CAST;
	period->location = -1;
	return (Node *) make_opclause(opno, BOOLOID, false,
								  (Expr *) linitial(call->args),
								  (Expr *) period, InvalidOid, InvalidOid);
}

/*
 * Return what the planner makes of the call, or NULL to keep the call.
 *
 * Core does the same with a function in SQL: the user must have the right to
 * call the function, and a cached plan is made anew if the function changes.
 * Each argument stands in the clause once, so a volatile one does no harm.
 */
static Node *
comb_between_simplify(const SupportRequestSimplify *req)
{
	Node	   *clause;

	if (!comb_is_between(req->fcall) ||
		object_aclcheck(ProcedureRelationId, req->fcall->funcid,
						GetUserId(), ACL_EXECUTE) != ACLCHECK_OK)
		return NULL;
	clause = comb_between_clause(req->fcall);
	if (clause == NULL)
		return NULL;
	if (req->root)
		record_plan_function_dependency(req->root, req->fcall->funcid);
	return eval_const_expressions(req->root, clause);
}

/*
 * comb_between_support(internal) returns internal
 *
 * Planner support function of comb_between().  Returns NULL for requests that
 * it does not know.
 */
Datum
comb_between_support(PG_FUNCTION_ARGS)
{
	Node	   *req = (Node *) PG_GETARG_POINTER(0);
	Node	   *answer = NULL;

	if (IsA(req, SupportRequestSimplify))
		answer = comb_between_simplify((SupportRequestSimplify *) req);
	PG_RETURN_POINTER(answer);
}
