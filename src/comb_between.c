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

/*
 * Is the call one of comb_between(uuid, timestamptz, timestamptz)?  Superusers
 * can attach our planner support to any function, so only our own code counts.
 */
static bool
comb_is_between(const FuncExpr *call)
{
	return list_length(call->args) == 3 &&
		call->funcresulttype == BOOLOID &&
		exprType((Node *) linitial(call->args)) == UUIDOID &&
		exprType((Node *) lsecond(call->args)) == TIMESTAMPTZOID &&
		exprType((Node *) lthird(call->args)) == TIMESTAMPTZOID &&
		comb_code(call->funcid) == comb_between;
}

/*
 * Return uuid <@ comb_period of this schema, and its right operand's type.
 * InvalidOid if there is none.
 *
 * The names are those of the extension's schema.  A superuser can have made
 * the called function in another schema, whose owner may have chosen what
 * these names mean there.  Hence the look at the operator's code.
 */
static Oid
comb_between_operator(Oid schema, Oid *domain)
{
	Oid			opno;

	*domain = GetSysCacheOid2(TYPENAMENSP, Anum_pg_type_oid,
							  CStringGetDatum("comb_period"),
							  ObjectIdGetDatum(schema));
	opno = GetSysCacheOid4(OPERNAMENSP, Anum_pg_operator_oid,
						   CStringGetDatum("<@"),
						   ObjectIdGetDatum(UUIDOID),
						   ObjectIdGetDatum(*domain),
						   ObjectIdGetDatum(schema));
	if (!OidIsValid(opno) || getBaseType(*domain) != TSTZRANGEOID ||
		comb_code(get_opcode(opno)) != comb_contained)
		return InvalidOid;
	return opno;
}

/*
 * Return the call as id <@ tstzrange(since, until), or NULL.
 *
 * The operator's function is in C and reads any tstzrange.  So the period
 * becomes a comb_period without a look at the domain's constraints.  Ours has
 * none, and those of another domain would call functions of its owner.
 */
static Node *
comb_between_clause(const FuncExpr *call)
{
	Oid			domain;
	Oid			opno = comb_between_operator(get_func_namespace(call->funcid),
											 &domain);
	Expr	   *period;

	if (!OidIsValid(opno))
		return NULL;
	period = (Expr *) makeFuncExpr(COMB_TSTZRANGE_FUNC, TSTZRANGEOID,
								   list_copy_tail(call->args, 1),
								   InvalidOid, InvalidOid,
								   COERCE_EXPLICIT_CALL);
	period = (Expr *) makeRelabelType(period, domain, -1, InvalidOid,
									  COERCE_IMPLICIT_CAST);
	return (Node *) make_opclause(opno, BOOLOID, false,
								  (Expr *) linitial(call->args), period,
								  InvalidOid, InvalidOid);
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
