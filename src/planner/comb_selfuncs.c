/*-------------------------------------------------------------------------
 *
 * comb_selfuncs.c
 *	  How many keys of a column are in a period.
 *
 * The estimate looks up the period's ends in the column's histogram, and
 * interpolates by time.  Core does not interpolate between uuids.  It assumes
 * that a value is in the middle of its bin.
 *
 * Core multiplies the estimates of all conditions in a list.  So the first of
 * our functions in a table's list looks at all bounds beside it, estimates how
 * many keys are between them, and hands this estimate to the bounds.  Both the
 * number of rows and the cost of an index scan follow from it.  See
 * comb_hand_over().
 *
 * Only periods that the planner can compute have an estimate, and only layouts
 * that sort as the histogram does.
 *
 * Copyright (c) 2026, pg_comb developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "access/stratnum.h"
#include "catalog/pg_statistic.h"
#include "nodes/supportnodes.h"
#include "optimizer/optimizer.h"
#include "utils/selfuncs.h"

#include "comb_call.h"

PG_FUNCTION_INFO_V1(comb_period_support);
PG_FUNCTION_INFO_V1(comb_period_sel);
PG_FUNCTION_INFO_V1(comb_period_joinsel);

/* What statistics say about a period */
typedef struct CombEstimate
{
	double		sel;			/* share of the column's rows */
	bool		newer;			/* all times that ANALYZE saw are before it,
								 * and core can look up the largest key */
	bool		mixed;			/* there are values without a time */
} CombEstimate;

/*
 * Get one kind of a column's statistics.  False if there are none, or if their
 * values are not uuids: behind a cast without a function, the column can have
 * another type than the clause's argument.
 */
static bool
comb_stats_slot(AttStatsSlot *slot, HeapTuple statstuple, int kind, int flags)
{
	if (!get_attstatsslot(slot, statstuple, kind, InvalidOid, flags))
		return false;
	if (getBaseType(slot->valuetype) == UUIDOID && slot->nvalues > 0)
		return true;
	free_attstatsslot(slot);
	return false;
}

/* Return how many bins of a histogram of n times are before "at", with a fraction */
static double
comb_bins_before(const int64 *times, int n, int64 at)
{
	int			lo = 0;
	int			hi = n - 1;

	if (at <= times[0])
		return 0.0;
	if (at > times[hi])
		return Max(hi, 1);

	/* find the bin: times[lo] < at <= times[hi] */
	while (hi - lo > 1)
	{
		int			mid = (lo + hi) / 2;

		if (times[mid] < at)
			lo = mid;
		else
			hi = mid;
	}
	return lo + ((double) at - (double) times[lo]) / ((double) times[hi] - (double) times[lo]);
}

/*
 * Does a layout have no time after the period?  The bounds of a period without
 * an end decode to the first instant of the last unit.
 */
static inline bool
comb_to_end(const CombLayout *layout, const CombPeriod *period)
{
	return period->last >= layout->codec->latest - layout->codec->unit->us / layout->codec->unit->per;
}

/*
 * Estimate by a column's statistics.  They can be too few to change the
 * estimate.
 */
static void
comb_read_stats(HeapTuple tuple, const CombLayout *layout,
				const CombPeriod *period, CombEstimate *estimate)
{
	double		rest = 1.0 - ((Form_pg_statistic) GETSTRUCT(tuple))->stanullfrac;
	double		common = 0.0;
	double		sumcommon = 0.0;
	AttStatsSlot slot;
	int64		at;
	int			i;

	if (comb_stats_slot(&slot, tuple, STATISTIC_KIND_MCV,
						ATTSTATSSLOT_VALUES | ATTSTATSSLOT_NUMBERS))
	{
		for (i = 0; i < slot.nvalues; i++)
		{
			sumcommon += slot.numbers[i];
			if (comb_decode(layout, DatumGetUUIDP(slot.values[i])->data, &at) &&
				comb_in_period(period, at))
				common += slot.numbers[i];
		}
		free_attstatsslot(&slot);
	}
	rest = Max(rest - sumcommon, 0.0);
	if (comb_stats_slot(&slot, tuple, STATISTIC_KIND_HISTOGRAM, ATTSTATSSLOT_VALUES))
	{
		int64	   *times = (int64 *) palloc(sizeof(int64) * (slot.nvalues + 2));
		bool		first = false;
		bool		last = false;
		double		share = 0.0;
		int			n = 0;

		for (i = 0; i < slot.nvalues; i++)
		{
			last = comb_decode(layout, DatumGetUUIDP(slot.values[i])->data, &times[n + 1]);
			first = first || (last && i == 0);
			n += last;
		}
		/* a bin between a key and another uuid is as dense as its neighbour */
		times[0] = n > 1 ? 2 * times[1] - times[2] : 0;
		times[n + 1] = n > 1 ? 2 * times[n] - times[n - 1] : 0;
		if (n > 0)
		{
			const int64 *hist = &times[n == 1 || first];
			int			nhist = n + (n > 1 && !first) + (n > 1 && !last);
			double		end = comb_to_end(layout, period) ? Max(nhist - 1, 1) :
				comb_bins_before(hist, nhist, period->last + 1);

			share = Min((end - comb_bins_before(hist, nhist, period->first)) / Max(n - 1, 1), 1.0);
		}
		estimate->sel = common + rest * share * n / slot.nvalues;
		estimate->mixed = n < slot.nvalues;

		/* core takes other uuids at the end for keys in an open period */
		estimate->newer = last && period->first > times[n];
		free_attstatsslot(&slot);
	}
	else if (sumcommon > 0)
		estimate->sel = common + rest * common / sumcommon; /* rest is alike */
	else if (rest <= 0)
		estimate->sel = 0.0;

	/* frequencies are rounded, and their sum can be more than 1 */
	CLAMP_PROBABILITY(estimate->sel);
}

/*
 * Estimate the share of the rows of a table whose key is in a period.
 * "varRelid" is the table that the planner restricts, or zero.
 *
 * Estimates reveal no more than comparing keys with uuid_ge() does.  This
 * function is leakproof unless a superuser has altered it.
 */
static CombEstimate
comb_estimate(PlannerInfo *root, const CombKey *key, int varRelid, const CombPeriod *period)
{
	const CombLayout *layout = key->layout;
	CombEstimate estimate = {DEFAULT_RANGE_INEQ_SEL, false, false};
	VariableStatData vardata;

	if (period->first > period->last ||
		period->first > layout->codec->latest ||
		period->last < layout->codec->earliest)
	{
		estimate.sel = 0.0;
		return estimate;
	}

	/* of two bounds with this very default, core knows nothing */
	if (period->first <= layout->codec->earliest || comb_to_end(layout, period))
		estimate.sel = DEFAULT_INEQ_SEL - 1e-9;
	examine_variable(root, key->id, varRelid, &vardata);
	if (HeapTupleIsValid(vardata.statsTuple) && layout->sorts_in == COMB_SORTS_PLAIN &&
		statistic_proc_security_check(&vardata, F_UUID_GE))
		comb_read_stats(vardata.statsTuple, layout, period, &estimate);
	ReleaseVariableStats(vardata);
	return estimate;
}

/*
 * Estimates of conditions, and of the bounds beside them
 */

/* Return the strategy by which a condition bounds the key, or zero */
static int
comb_bound_strategy(const CombKey *key, const RestrictInfo * info)
{
	const OpExpr *op = (const OpExpr *) info->clause;
	int			strategy;

	if (!IsA(op, OpExpr) || list_length(op->args) != 2 || !equal(linitial(op->args), key->id))
		return 0;
	strategy = get_op_opfamily_strategy(op->opno, key->family);
	return strategy == BTEqualStrategyNumber ? 0 : strategy;
}

/*
 * Narrow the period by a bound.  False if the bound is not known.
 *
 * No key of a time is below its smallest key, or above its largest one, as
 * comb_min() and comb_max() return them.  Many keys can have this time.
 */
static bool
comb_narrow(const CombLayout *layout, CombPeriod *period, const Const *value,
			int strategy)
{
	const unsigned char *id;
	unsigned char end[UUID_LEN];
	int64		at;

	if (!IsA(value, Const) || value->consttype != UUIDOID)
		return false;
	if (value->constisnull)
	{
		period->last = PG_INT64_MIN;
		return true;
	}
	id = DatumGetUUIDP(value->constvalue)->data;
	if (!layout->codec->decode(layout->codec, comb_get_field(layout, id), &at))
		return false;
	if ((strategy == BTGreaterStrategyNumber ? comb_upper_bound(layout, end, at) :
		 strategy == BTLessStrategyNumber && comb_lower_bound(layout, end, at)) &&
		memcmp(id, end, UUID_LEN) == 0)
		at += strategy == BTGreaterStrategyNumber ? 1 : -1;
	if (strategy > BTEqualStrategyNumber)
		period->first = Max(period->first, at);
	else
		period->last = Min(period->last, at);
	return true;
}

/* Is a condition one on the key and its time, and on nothing else? */
static bool
comb_reads_only_time(PlannerInfo *root, const CombKey *key, Node *clause)
{
	Bitmapset  *columns = NULL;

	pull_varattnos(clause, key->column->varno, &columns);
	return bms_membership(columns) == BMS_SINGLETON && comb_reads_time(clause, root);
}

/* Set the estimate that a condition will have, in all contexts */
static void
comb_set_sel(RestrictInfo * info, double sel)
{
	CLAMP_PROBABILITY(sel);
	info->norm_selec = sel;
	info->outer_selec = sel;
}

/* The bounds of an equality of two tables' times exclude no rows that it finds */
static void
comb_spare_equalities(const CombKey *key, List *infos)
{
	ListCell   *lc1;
	ListCell   *lc2;

	foreach(lc1, infos)
	{
		RestrictInfo *lower = (RestrictInfo *) lfirst(lc1);
		FuncExpr   *min;

		if (comb_bound_strategy(key, lower) != BTGreaterEqualStrategyNumber)
			continue;
		min = llast(((OpExpr *) lower->clause)->args);
		foreach(lc2, infos)
		{
			RestrictInfo *upper = (RestrictInfo *) lfirst(lc2);
			FuncExpr   *max;

			if (comb_bound_strategy(key, upper) != BTLessEqualStrategyNumber)
				continue;
			max = llast(((OpExpr *) upper->clause)->args);
			if (((comb_is_call((Node *) min, COMB_MIN) && comb_is_call((Node *) max, COMB_MAX)) ||
				 (comb_is_call((Node *) min, COMB_RANGE_MIN) && comb_is_call((Node *) max, COMB_RANGE_MAX) &&
				  comb_is_call(linitial(min->args), COMB_UNWRAP))) &&
				equal(min->args, max->args))
			{
				comb_set_sel(lower, 1.0);
				comb_set_sel(upper, 1.0);
			}
		}
	}
}

/*
 * Hand the estimate of a key's bounds to them, and return what is left for the
 * condition whose estimate the planner asks for.  Sets *found if there are any.
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
 *
 * Among other uuids, the bounds get core's estimate, because an index reads the
 * others between them, too.  The condition then has the share of the keys.
 *
 * Conditions on the key's time and nothing else find no fewer rows than the
 * bounds beside them, unless these exclude nothing.
 */
static double
comb_hand_over(PlannerInfo *root, const CombKey *key, int varRelid,
			   List *infos, bool *found)
{
	CombPeriod	period = {PG_INT64_MIN, PG_INT64_MAX};	/* between the bounds */
	bool		known = true;
	bool		open;
	bool		lower = false;
	bool		upper = false;
	List	   *bounds = NIL;	/* as core estimates them */
	CombEstimate estimate = {0.0, false, false};
	double		own = 1.0;
	double		rest = 1.0;
	ListCell   *lc;

	foreach(lc, infos)
	{
		RestrictInfo *info = (RestrictInfo *) lfirst(lc);
		int			strategy = comb_bound_strategy(key, info);
		Node	   *value;

		if (strategy == 0)
			continue;
		value = estimate_expression_value(root, llast(((OpExpr *) info->clause)->args));
		bounds = lappend(bounds, info->clause);
		known = comb_narrow(key->layout, &period, (Const *) value, strategy) && known;
		lower = lower || strategy > BTEqualStrategyNumber;
		upper = upper || strategy < BTEqualStrategyNumber;
	}
	*found = bounds != NIL;
	if (!*found)
		return 1.0;
	open = known && period.first <= key->layout->codec->earliest && comb_to_end(key->layout, &period);
	if (known)
		estimate = comb_estimate(root, key, varRelid, &period);
	if (known && (estimate.newer || estimate.mixed))
	{
		double		core_sel = clauselist_selectivity(root, bounds, varRelid, JOIN_INNER, NULL);

		if (core_sel > estimate.sel)
		{
			if (estimate.mixed)
				own = estimate.sel / core_sel;
			estimate.sel = core_sel;
		}
	}
	if (lower && upper)
		rest -= nulltestsel(root, IS_NULL, key->id, varRelid, JOIN_INNER, NULL);
	foreach(lc, infos)
	{
		RestrictInfo *info = (RestrictInfo *) lfirst(lc);
		int			strategy = comb_bound_strategy(key, info);

		if (known && strategy != 0)
			comb_set_sel(info, !lower || strategy > BTEqualStrategyNumber ? estimate.sel : rest);
		else if (strategy == 0 && !open && comb_reads_only_time(root, key, (Node *) info->clause))
			comb_set_sel(info, 1.0);
	}
	return own;
}

/*
 * Return the share of the rows that a condition on a key's period finds, beside
 * its bounds if it has any.
 */
static double
comb_selectivity(PlannerInfo *root, Oid funcid, List *args, int varRelid)
{
	CombKey		key;
	Node	   *value;
	CombPeriod	period;
	RelOptInfo *rel;
	ListCell   *lc;

	if (!comb_take_apart(root, funcid, args, &key, &value) || value == NULL)
		return DEFAULT_RANGE_INEQ_SEL;
	rel = root->simple_rel_array ? root->simple_rel_array[key.column->varno] : NULL;
	foreach(lc, rel ? rel->baserestrictinfo : NIL)
	{
		Node	   *clause = (Node *) ((RestrictInfo *) lfirst(lc))->clause;
		bool		found = false;
		double		own;

		if (!(is_opclause(clause) && ((OpExpr *) clause)->args == args) &&
			!(is_funcclause(clause) && ((FuncExpr *) clause)->args == args))
			continue;
		comb_spare_equalities(&key, rel->joininfo);
		own = comb_hand_over(root, &key, varRelid, rel->baserestrictinfo, &found);
		if (found)
			return own;
	}
	value = estimate_expression_value(root, value);
	if (!IsA(value, Const))
		return DEFAULT_RANGE_INEQ_SEL;
	if (((Const *) value)->constisnull)
		return 0.0;
	period = comb_period(((Const *) value)->constvalue);
	if (key.has_time && comb_has_all_times(&period))
		return 1.0;
	return comb_estimate(root, &key, varRelid, &period).sel;
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
	SupportRequestSelectivity *req = (SupportRequestSelectivity *) PG_GETARG_POINTER(0);

	if (!IsA(req, SupportRequestSelectivity))
		PG_RETURN_POINTER(NULL);
	req->selectivity = req->is_join ? DEFAULT_RANGE_INEQ_SEL :
		comb_selectivity(req->root, req->funcid, req->args, req->varRelid);
	PG_RETURN_POINTER(req);
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
	PG_RETURN_FLOAT8(comb_selectivity((PlannerInfo *) PG_GETARG_POINTER(0), get_opcode(PG_GETARG_OID(1)),
									  (List *) PG_GETARG_POINTER(2), PG_GETARG_INT32(3)));
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
