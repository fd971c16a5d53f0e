/*-------------------------------------------------------------------------
 *
 * comb_support.c
 *	  What the planner makes of clauses that compare keys with periods.
 *
 * On an index that sorts as the layout does, a clause becomes a range of keys,
 * from comb_range_min(period) to comb_range_max(period).  The version bits are
 * not part of the order, so a version 4 uuid may lie between the two.  The
 * range is therefore lossy, and PostgreSQL checks the clause again on every
 * row that the index finds.  A constraint of the table does not change this:
 * a cached plan can meet a snapshot that is older than the constraint, and
 * shows rows that the constraint forbids.
 *
 * Partition pruning, foreign data wrappers and columnar access methods use
 * plain comparisons, but no support functions.  And the executor evaluates the
 * arguments of a filter for every row: for a period such as tstzrange(now() -
 * interval '1 day', NULL) this takes five times as long as all the rest of an
 * index scan.  So clauses are also replaced:
 *
 *	table					period						replacement
 *	------------------------------------------------------------------------
 *	has children, is		cheap, constant or column	bounds AND recheck
 *	foreign or no heap		cheap, computed				bounds AND filter
 *							expensive					in_range AND filter
 *	any other table			computed					in_range AND filter
 *							constant or column			none
 *
 *	bounds		id >= comb_range_min(period) AND id <= comb_range_max(period)
 *	in_range	comb_in_range(id, period), which means the same
 *	recheck		comb_recheck(id, period), which is the clause by another name
 *	filter		comb_recheck(id, '(,)') OR period IS NULL
 *
 * If every value between the bounds is a key of the layout, the last part is
 * left out.  If the period is a range constructor, which never returns NULL,
 * "period IS NULL" is left out.  A clause that would have to wait for policies
 * of row security is replaced like one with a computed period.  Clauses with a
 * period that is volatile, reads the key's own row or contains a sub-select
 * stay as they are.  So do clauses that the planner has to recognize, and
 * clauses with the constant '(,)', whose bounds exclude nothing.  A sub-select
 * becomes a parameter before the planner simplifies the clauses of children,
 * and there its clause is replaced.
 *
 * A replacement has the same value as the clause in three-valued logic, so
 * that it may stand under NOT.  If the key or the period is NULL, the range is
 * NULL, and the last part is never false.  comb_recheck(id, '(,)') alone could
 * not be the last part: it is false for a NULL period and a version 4 uuid, and
 * the clause is NULL.
 *
 * comb_recheck() is not the clause itself because the planner simplifies
 * expressions more than once, and must not replace the clause again.  "filter"
 * asks whether the key has a time, and the executor evaluates the period only
 * for values without one.  The planner copies, simplifies and estimates each
 * part of a replacement again for each partition.  On many partitions that is
 * most of the planning, so "filter" has no more parts than it needs.  In an
 * index, the range of comb_in_range() is exact, and its estimate is the
 * clause's own.
 *
 * The functions stand in the order in which a clause walks through them: it is
 * taken apart, gets bounds and an estimate, and is replaced or becomes an
 * index condition.  comb_selfuncs.c reads the statistics.
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
#include "catalog/pg_am.h"
#include "catalog/pg_class.h"
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
#include "parser/parsetree.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"
#include "utils/syscache.h"

#include "comb_period.h"

PG_FUNCTION_INFO_V1(comb_period_sel);
PG_FUNCTION_INFO_V1(comb_period_joinsel);
PG_FUNCTION_INFO_V1(comb_period_support);

/* uuid >= uuid and uuid <= uuid, which pg_operator.dat gives no symbols */
#define COMB_UUID_GE_OP		2977
#define COMB_UUID_LE_OP		2976

/* A call of a function that compares a key with a period, taken apart */
typedef struct CombClause
{
	Node	   *id;
	Node	   *period;
	Node	   *label;			/* of the layout, NULL for the default */
	const CombLayout *layout;
	Oid			funcid;			/* its schema has the extension's functions */
	PGFunction	code;			/* what the function executes */
} CombClause;

/*
 * A function that plans call in place of a clause.  The arguments are the
 * clause's key if "with_id" is set, its period, and its label if it has one.
 */
typedef struct CombFunction
{
	const char *name;
	Oid			rettype;
	bool		with_id;
	PGFunction	code;			/* what the function executes */
	PGFunction	layout_code;	/* the same with a label */
} CombFunction;

static const CombFunction comb_range_min_function = {
	"comb_range_min", UUIDOID, false,
	comb_range_min, comb_range_min
};
static const CombFunction comb_range_max_function = {
	"comb_range_max", UUIDOID, false,
	comb_range_max, comb_range_max
};
static const CombFunction comb_recheck_function = {
	"comb_recheck", BOOLOID, true,
	comb_recheck, comb_recheck_layout
};
static const CombFunction comb_in_range_function = {
	"comb_in_range", BOOLOID, true,
	comb_in_range, comb_in_range
};

/*
 * Taking a clause apart
 */

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

/* Is this the code of comb_recheck()? */
static inline bool
comb_is_recheck_code(PGFunction code)
{
	return code == comb_recheck || code == comb_recheck_layout;
}

/* Is this the code of a function that users call in clauses? */
static inline bool
comb_is_users_code(PGFunction code)
{
	return code == comb_contained || code == comb_contains ||
		code == comb_created_layout;
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
 * label.  NULL if no layout has this label, or if the label is not a constant.
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
static bool
comb_clause(CombClause *clause, Oid funcid, List *args)
{
	int			nargs = list_length(args);
	bool		reversed;

	clause->code = comb_c_function_address(funcid);
	if ((nargs != 2 && nargs != 3) ||
		!(comb_is_users_code(clause->code) || clause->code == comb_in_range ||
		  comb_is_recheck_code(clause->code)))
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
 * Return the column that the clause compares, or NULL if the clause compares
 * another expression.  The column's type may be a domain over uuid.
 */
static Var *
comb_clause_var(const CombClause *clause)
{
	Node	   *id = clause->id;

	if (IsA(id, RelabelType))
		id = (Node *) ((RelabelType *) id)->arg;
	return IsA(id, Var) ? (Var *) id : NULL;
}

/*
 * Return the table that has the clause's key as a column, or NULL.
 *
 * The planner also simplifies expressions with another query's "root": the
 * WHERE of an EXISTS, and before 19 the constraints of children.  We then look
 * at the wrong table.  This does no harm, because the table only chooses
 * between replacements, and each has the value of the clause in any table.
 */
static RangeTblEntry *
comb_key_table(PlannerInfo *root, const CombClause *clause)
{
	Var		   *var = comb_clause_var(clause);
	RangeTblEntry *rte;

	if (var == NULL || var->varlevelsup > 0 || IS_SPECIAL_VARNO(var->varno) ||
		(int) var->varno > list_length(root->parse->rtable))
		return NULL;
	rte = rt_fetch(var->varno, root->parse->rtable);
	return rte->rtekind == RTE_RELATION ? rte : NULL;
}

/*
 * Building the range of keys
 */

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
 * Return a copy of the clause's period as an expression of type tstzrange.
 * The clause itself may have the period as a domain over tstzrange.
 */
static Node *
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
 * call the function.
 *
 * The function is found by its name in the schema of the clause's function, so
 * search_path plays no part.  LookupFuncName() would demand that the user has
 * rights on the schema.
 *
 * A superuser can have made the clause's function, and in another schema than
 * the extension's.  There a function of this name can be anybody's, and may
 * not get into plans of other users.  Hence the look at its code.
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
	argtypes[nargs++] = TSTZRANGEOID;
	args = lappend(args, comb_clause_period(clause));
	if (clause->label)
	{
		argtypes[nargs++] = TEXTOID;
		args = lappend(args, copyObject(clause->label));
	}

	funcid = GetSysCacheOid3(PROCNAMEARGSNSP, Anum_pg_proc_oid,
							 CStringGetDatum(function->name),
							 PointerGetDatum(buildoidvector(argtypes, nargs)),
							 ObjectIdGetDatum(get_func_namespace(clause->funcid)));
	if (comb_c_function_address(funcid) !=
		(clause->label ? function->layout_code : function->code) ||
		!comb_may_execute(funcid))
		return NULL;
	return (Node *) makeFuncExpr(funcid, function->rettype, args, InvalidOid,
								 exprCollation(clause->label),
								 COERCE_EXPLICIT_CALL);
}

/*
 * Find one of the extension's own operators on two uuids in the same way.
 * InvalidOid if the user may not call the operator's function.
 */
static Oid
comb_clause_operator(const CombClause *clause, const char *name,
					 PGFunction code)
{
	Oid			opno;

	opno = GetSysCacheOid4(OPERNAMENSP, Anum_pg_operator_oid,
						   CStringGetDatum(name),
						   ObjectIdGetDatum(UUIDOID),
						   ObjectIdGetDatum(UUIDOID),
						   ObjectIdGetDatum(get_func_namespace(clause->funcid)));
	if (!OidIsValid(opno) ||
		comb_c_function_address(get_opcode(opno)) != code ||
		!comb_may_execute(get_opcode(opno)))
		return InvalidOid;
	return opno;
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
 * have this order, and if the user may not call them.
 */
static bool
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
	/* the planner calls these two to find conditions that exclude each other */
	return OidIsValid(*ge) && OidIsValid(*le) &&
		OidIsValid(comb_clause_operator(clause, "#>#", comb_mssql_gt)) &&
		OidIsValid(comb_clause_operator(clause, "#<#", comb_mssql_lt));
}

/*
 * Does an operator family sort as the layout does, whose operators are given?
 *
 * It does if the operators are its members 4 and 2.  This holds for btree,
 * BRIN minmax and btree_gist.  Hash, bloom and other orderings have different
 * operators there, or none.
 */
static bool
comb_family_sorts(Oid opfamily, Oid ge, Oid le)
{
	return get_opfamily_member(opfamily, UUIDOID, UUIDOID, 4) == ge &&
		get_opfamily_member(opfamily, UUIDOID, UUIDOID, 2) == le;
}

/*
 * Return the clauses id >= first and id <= last, with the given operators.
 * NIL for a constant period that is NULL, and if the user may not call the
 * bounds.
 */
static List *
comb_clause_bounds(const CombClause *clause, Oid ge, Oid le)
{
	Expr	   *lower = comb_clause_comparison(clause, ge, false);
	Expr	   *upper = comb_clause_comparison(clause, le, true);

	if (lower == NULL || upper == NULL)
		return NIL;
	return list_make2(lower, upper);
}

/*
 * Estimating how many rows a clause finds
 */

/* Return core's estimate for the clause's range of keys */
static double
comb_core_sel(const SupportRequestSelectivity *req, const CombClause *clause)
{
	List	   *bounds;
	Oid			ge;
	Oid			le;

	if (!comb_layout_operators(clause, &ge, &le))
		return 1.0;
	bounds = comb_clause_bounds(clause, ge, le);
	if (bounds == NIL)
		return 1.0;
	return clauselist_selectivity(req->root, bounds, req->varRelid,
								  req->jointype, req->sjinfo);
}

/*
 * Return the share of the rows that a clause finds.
 *
 * Of a period that starts after all times that ANALYZE saw, as usual in
 * queries for the newest keys, core has the better estimate: it looks up the
 * column's largest key in an index.
 *
 * A plan that has comb_recheck() also has a range of keys, and the planner
 * multiplies the two estimates.  The product should be the estimate by time.
 * Core estimates the range, so comb_recheck() gets the quotient.  But a
 * selectivity is at most 1.  If core's estimate is too small already, because
 * both bounds are in one bin of the histogram, the product stays too small.
 *
 * Core's estimate takes time, so get it only for a quotient that can differ
 * from 1.  It does not if nearly all rows are in the period, which holds for
 * all partitions but the first and the last.  For a period that is not known
 * yet, both estimates are core's default.  And beside a computed period, the
 * period of comb_recheck() has all times, and core's estimate of the bounds is
 * the one to keep.
 */
static double
comb_selectivity(const SupportRequestSelectivity *req, CombClause *clause)
{
	bool		recheck = comb_is_recheck_code(clause->code);
	Node	   *value = estimate_expression_value(req->root, clause->period);
	double		range_sel = 1.0;
	CombPeriod	period;
	bool		newer;
	double		sel;

	if (req->is_join || !IsA(value, Const))
		return recheck ? 1.0 : DEFAULT_RANGE_INEQ_SEL;
	if (((Const *) value)->constisnull)
		return 0.0;
	clause->period = value;
	period = comb_period(((Const *) value)->constvalue);
	if (recheck && comb_has_all_times(&period))
		return 1.0;
	sel = comb_period_estimate(req->root, clause->id, req->varRelid,
							   clause->layout, &period, &newer);
	if (newer || (recheck && sel > 0.0 && sel < 0.99))
		range_sel = comb_core_sel(req, clause);
	if (newer)
		sel = Max(sel, range_sel);
	if (recheck)
		sel /= Max(range_sel, 1.0e-10);
	CLAMP_PROBABILITY(sel);
	return sel;
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
	SupportRequestSelectivity req = {.type = T_SupportRequestSelectivity};
	CombClause	clause;

	req.root = (PlannerInfo *) PG_GETARG_POINTER(0);
	req.varRelid = PG_GETARG_INT32(3);
	if (!comb_clause(&clause, get_opcode(PG_GETARG_OID(1)),
					 (List *) PG_GETARG_POINTER(2)))
		PG_RETURN_FLOAT8(DEFAULT_RANGE_INEQ_SEL);
	PG_RETURN_FLOAT8(comb_selectivity(&req, &clause));
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
 * Replacing a clause
 */

/*
 * Must the clause stay as it is, so that the planner recognizes it?
 *
 * No index scan finds the rows that an INSERT inserts or meets, but ON
 * CONFLICT compares its conditions with predicates of indexes.
 *
 * An expression that a grouping set leaves out is NULL.  Before 18 the planner
 * finds this expression by comparison, but turns NOT (a AND b) into NOT a OR
 * NOT b, in which it would not find a replacement.  Whether a query groups by
 * a clause is not easy to see, because functions in SQL can hide the clause.
 */
static bool
comb_keep_for_matching(const Query *parse, const CombClause *clause)
{
	const Var  *var = comb_clause_var(clause);

	return (parse->commandType == CMD_INSERT && var != NULL &&
			(int) var->varno == parse->resultRelation) ||
		(!COMB_GROUPS_BY_COLUMN && parse->groupingSets != NIL);
}

/*
 * Does the table have an access method other than heap?  Columnar access
 * methods skip blocks that plain comparisons exclude.
 */
static bool
comb_is_not_heap(const RangeTblEntry *rte)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(rte->relid));
	Oid			am;

	if (!HeapTupleIsValid(tuple))
		return false;
	am = ((Form_pg_class) GETSTRUCT(tuple))->relam;
	ReleaseSysCache(tuple);
	return OidIsValid(am) && am != HEAP_TABLE_AM_OID;
}

/*
 * Can comparisons exclude parts of the table that the clause cannot?  This
 * holds for:
 *
 * - Tables with children.  By now, "inh" is set for no other table.
 * - Foreign tables.  Foreign data wrappers send core's operators.
 * - Tables of access methods other than heap.
 */
static bool
comb_can_prune(const RangeTblEntry *rte)
{
	return rte->inh || rte->relkind == RELKIND_FOREIGN_TABLE ||
		comb_is_not_heap(rte);
}

/*
 * May a query evaluate the period more than once?  It could, but need not, if
 * the period reads the key's own row, because such a period prunes nothing.
 */
static bool
comb_can_duplicate_period(PlannerInfo *root, const CombClause *clause)
{
	Node	   *period = clause->period;

	return IsA(period, Const) ||
		!(contain_subplans(period) || contain_volatile_functions(period) ||
		  expression_returns_set(period) ||
		  bms_overlap(pull_varnos(root, clause->id),
					  pull_varnos(root, period)));
}

/*
 * Is the period so cheap that every row may evaluate it three times?  The
 * limit is the one of core's own simplification of ranges.  The period
 * contains no subplans, because cost_qual_eval_node() takes no unplanned ones.
 */
static bool
comb_is_cheap(PlannerInfo *root, Node *period)
{
	QualCost	cost;

	cost_qual_eval_node(&cost, period, root);
	return cost.startup + cost.per_tuple <= 10 * cpu_operator_cost;
}

/* Is the period a constant without ends, so that its bounds exclude nothing? */
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

/*
 * Must the executor compute the period?  The call site caches constants, and
 * columns are cheap.
 */
static bool
comb_is_computed(Node *period)
{
	if (IsA(period, RelabelType))
		period = (Node *) ((RelabelType *) period)->arg;
	return !IsA(period, Const) && !IsA(period, Var);
}

/*
 * Would the clause have to wait for the policies of row security or for a
 * security barrier?  A clause that names a layout is not leakproof, because an
 * unknown layout is an error.
 */
static bool
comb_delayed_by_security_quals(PlannerInfo *root, const CombClause *clause)
{
	return clause->label != NULL && root->qual_security_level > 0;
}

/* Is every value between the bounds a key of the layout with a time? */
static bool
comb_layout_is_exact(const CombLayout *layout)
{
	return !layout->versioned && !layout->codec->gaps;
}

/* Can the period be NULL?  Core's constructors of ranges never return NULL. */
static bool
comb_can_be_null(const Node *period)
{
	Oid			funcid = IsA(period, FuncExpr) ?
		((const FuncExpr *) period)->funcid : InvalidOid;

	return !IsA(period, Const) &&
		funcid != F_TSTZRANGE_TIMESTAMPTZ_TIMESTAMPTZ &&
		funcid != F_TSTZRANGE_TIMESTAMPTZ_TIMESTAMPTZ_TEXT;
}

/*
 * Return the condition to AND to the range of keys, or NULL.  It rejects other
 * values than keys of the layout.
 *
 * Beside bounds of a period that need not be computed, comb_recheck() has this
 * period and corrects the estimate.
 */
static Node *
comb_clause_filter(const CombClause *clause, bool bounds)
{
	CombClause	has_time = *clause;
	Node	   *period = comb_clause_period(clause);
	Node	   *filter;
	NullTest   *is_null;

	if (bounds && !comb_is_computed(clause->period))
		return comb_clause_call(clause, &comb_recheck_function);
	has_time.period = (Node *)
		makeConst(TSTZRANGEOID, -1, InvalidOid, -1,
				  OidInputFunctionCall(F_RANGE_IN, "(,)", TSTZRANGEOID, -1),
				  false, false);
	filter = comb_clause_call(&has_time, &comb_recheck_function);
	if (filter == NULL || !comb_can_be_null(period))
		return filter;
	is_null = makeNode(NullTest);
	is_null->arg = (Expr *) period;
	is_null->nulltesttype = IS_NULL;
	is_null->argisrow = false;
	is_null->location = -1;
	return (Node *) make_orclause(list_make2(filter, is_null));
}

/*
 * Return the clause as comb_in_range() and a filter, or NULL.
 *
 * Unless security quals delay the clause, there is nothing to gain if the
 * range is exact, or if the period need not be computed.
 */
static Node *
comb_replace_by_in_range(const CombClause *clause, bool delayed)
{
	bool		exact = comb_layout_is_exact(clause->layout);
	Node	   *range;
	Node	   *filter;

	if (!delayed && (exact || !comb_is_computed(clause->period)))
		return NULL;
	range = comb_clause_call(clause, &comb_in_range_function);
	if (range == NULL || exact)
		return range;
	filter = comb_clause_filter(clause, false);
	return filter ? (Node *) make_andclause(list_make2(range, filter)) : NULL;
}

/* Return the clause as bounds and a filter, or NULL */
static Node *
comb_replace_by_bounds(const CombClause *clause, Oid ge, Oid le)
{
	List	   *quals = comb_clause_bounds(clause, ge, le);
	Node	   *filter;

	if (quals != NIL && !comb_layout_is_exact(clause->layout))
	{
		filter = comb_clause_filter(clause, true);
		quals = filter ? lappend(quals, filter) : NIL;
	}
	return quals ? (Node *) make_andclause(quals) : NULL;
}

/*
 * Return the clause's replacement, or NULL to keep the clause.  The banner of
 * this file says when and why.
 *
 * Without "root" the expression is about to be stored, as an index's
 * predicate or a constraint.  A stored expression must stay comparable with
 * the clauses of queries, so the clause is kept.
 *
 * If the user may not call the clause's function, the clause is kept and
 * fails.  The replacement calls other functions, and would not fail.
 */
static Node *
comb_simplify(PlannerInfo *root, const CombClause *clause)
{
	RangeTblEntry *rte;
	bool		delayed;
	Oid			ge;
	Oid			le;

	if (root == NULL || root->parse == NULL ||
		comb_is_unlimited(clause->period) ||
		!comb_may_execute(clause->funcid) ||
		comb_keep_for_matching(root->parse, clause) ||
		!comb_can_duplicate_period(root, clause) ||
		!comb_layout_operators(clause, &ge, &le))
		return NULL;
	rte = comb_key_table(root, clause);
	if (rte == NULL)
		return NULL;

	/* security quals delay bounds that read columns, too */
	delayed = comb_delayed_by_security_quals(root, clause);
	if (comb_can_prune(rte) && comb_is_cheap(root, clause->period) &&
		!(delayed && contain_var_clause(clause->period)))
		return comb_replace_by_bounds(clause, ge, le);
	return comb_replace_by_in_range(clause, delayed);
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

/*
 * Return the clause as a range of keys in an index, or NIL.  The period may
 * be expensive, because an index scan evaluates the bounds only once.
 */
static List *
comb_index_condition(SupportRequestIndexCondition *req,
					 const CombClause *clause)
{
	Oid			ge;
	Oid			le;

	if (!comb_may_execute(clause->funcid) ||
		list_nth(comb_call_args(req->node), req->indexarg) != clause->id ||
		!comb_layout_operators(clause, &ge, &le) ||
		!comb_family_sorts(req->opfamily, ge, le) ||
		contain_subplans(clause->period) ||
		!is_pseudo_constant_for_index(req->root, clause->period, req->index))
		return NIL;
	/* comb_in_range() is the range */
	req->lossy = clause->code != comb_in_range &&
		!comb_layout_is_exact(clause->layout);
	return comb_clause_bounds(clause, ge, le);
}

/*
 * comb_period_support(internal) returns internal
 *
 * Planner support function of the functions that compare keys with periods.
 * Simplifies only what users call, and finds index conditions for all but
 * comb_recheck(), which has a range of keys beside it.  Returns NULL for other
 * requests, and if there is nothing to gain.
 */
Datum
comb_period_support(PG_FUNCTION_ARGS)
{
	Node	   *node = (Node *) PG_GETARG_POINTER(0);
	void	   *answer = NULL;
	CombClause	clause;

	if (IsA(node, SupportRequestSimplify))
	{
		SupportRequestSimplify *req = (SupportRequestSimplify *) node;

		if (comb_clause(&clause, req->fcall->funcid, req->fcall->args) &&
			comb_is_users_code(clause.code))
			answer = comb_simplify(req->root, &clause);
	}
	else if (IsA(node, SupportRequestIndexCondition))
	{
		SupportRequestIndexCondition *req = (SupportRequestIndexCondition *) node;

		if (comb_clause(&clause, req->funcid, comb_call_args(req->node)) &&
			!comb_is_recheck_code(clause.code))
			answer = comb_index_condition(req, &clause);
	}
	else if (IsA(node, SupportRequestSelectivity))
	{
		SupportRequestSelectivity *req = (SupportRequestSelectivity *) node;

		req->selectivity = DEFAULT_RANGE_INEQ_SEL;
		if (comb_clause(&clause, req->funcid, req->args))
			req->selectivity = comb_selectivity(req, &clause);
		answer = req;
	}
	PG_RETURN_POINTER(answer);
}
