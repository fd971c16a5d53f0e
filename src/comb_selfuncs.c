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
 * our functions in a list looks at all bounds beside it, estimates how many
 * keys are between them, and hands this estimate to the bounds.  Both the
 * number of rows and the cost of an index scan follow from it.  See
 * comb_hand_over().
 *
 * Only periods that the planner can compute have an estimate.  For columns of
 * periods PostgreSQL has histograms, too, but what joins gain by them is not
 * worth the code.
 *
 * Copyright (c) 2026, pg_comb developers
 *
 * IDENTIFICATION
 *	  src/comb_selfuncs.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "access/stratnum.h"
#include "catalog/pg_statistic.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/supportnodes.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "utils/fmgroids.h"
#include "utils/selfuncs.h"

#include "comb_planner.h"

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

/* The times of a column's histogram, in order */
typedef struct CombTimes
{
	int64	   *times;
	int			n;
	bool		sampled;		/* the histogram is in another order */
} CombTimes;

static int
comb_time_cmp(const void *a, const void *b)
{
	int64		x = *(const int64 *) a;
	int64		y = *(const int64 *) b;

	return (x > y) - (x < y);
}

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
	if (getBaseType(slot->valuetype) == UUIDOID)
		return true;
	free_attstatsslot(slot);
	return false;
}

/*
 * Return how many bins of the histogram are before "at", with a fraction.  A
 * sample of the times, in place of bins, leaves as many keys before its first
 * time, and after its last one, as it has between two of its times.
 */
static double
comb_bins_before(const CombTimes *hist, int64 at)
{
	int			lo = 0;
	int			hi = hist->n - 1;

	if (at <= hist->times[0])
		return 0.0;
	if (at > hist->times[hi])
		return hist->sampled ? hist->n : Max(hi, 1);

	/* find the bin: times[lo] < at <= times[hi] */
	while (hi - lo > 1)
	{
		int			mid = (lo + hi) / 2;

		if (hist->times[mid] < at)
			lo = mid;
		else
			hi = mid;
	}
	return (hist->sampled ? 1 : 0) + lo +
		((double) at - (double) hist->times[lo]) /
		((double) hist->times[hi] - (double) hist->times[lo]);
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

/* Return the share of the histogram's times in the period */
static double
comb_hist_share(const CombTimes *hist, const CombLayout *layout,
				const CombPeriod *period)
{
	double		bins = hist->sampled ? hist->n + 1 : Max(hist->n - 1, 1);
	double		end = bins;

	if (hist->n == 0)
		return 0.0;
	if (!comb_to_end(layout, period))
		end = comb_bins_before(hist, period->last + 1);
	return (end - comb_bins_before(hist, period->first)) / bins;
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
	bool		last = false;
	AttStatsSlot slot;
	CombTimes	hist;
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
	if (comb_stats_slot(&slot, tuple, STATISTIC_KIND_HISTOGRAM,
						ATTSTATSSLOT_VALUES) && slot.nvalues > 0)
	{
		hist.times = (int64 *) palloc(sizeof(int64) * slot.nvalues);
		hist.n = 0;
		hist.sampled = layout->sorts_in != COMB_SORTS_PLAIN;
		for (i = 0; i < slot.nvalues; i++)
		{
			last = comb_decode(layout, DatumGetUUIDP(slot.values[i])->data,
							   &hist.times[hist.n]);
			if (last)
				hist.n++;
		}
		if (hist.sampled)
			qsort(hist.times, hist.n, sizeof(int64), comb_time_cmp);
		estimate->sel = common + rest * comb_hist_share(&hist, layout, period) *
			hist.n / slot.nvalues;
		estimate->mixed = hist.n < slot.nvalues;

		/* core takes other uuids at the end for keys in an open period */
		estimate->newer = last && !hist.sampled &&
			period->first > hist.times[hist.n - 1];
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
comb_estimate(PlannerInfo *root, const CombCall *call, int varRelid,
			  const CombPeriod *period)
{
	const CombLayout *layout = call->layout;
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
	examine_variable(root, call->key, varRelid, &vardata);
	if (HeapTupleIsValid(vardata.statsTuple) &&
		statistic_proc_security_check(&vardata, F_UUID_GE))
		comb_read_stats(vardata.statsTuple, layout, period, &estimate);
	ReleaseVariableStats(vardata);
	return estimate;
}

/*
 * Estimates of conditions, and of the bounds beside them
 */

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

/* Return the strategy by which a condition bounds the key, or zero */
static int
comb_bound_strategy(const CombCall *call, const Node *key,
					const RestrictInfo * info)
{
	const OpExpr *op = (const OpExpr *) info->clause;
	int			strategy;

	if (!IsA(info, RestrictInfo) || !IsA(op, OpExpr) ||
		list_length(op->args) != 2 || !equal(linitial(op->args), key))
		return 0;
	strategy = get_op_opfamily_strategy(op->opno, call->family);
	return strategy == BTEqualStrategyNumber ? 0 : strategy;
}

/*
 * Narrow the period by a bound.  False if the bound is not known.
 *
 * No key of a time is below its smallest key, or above its largest one, as
 * comb_min() and comb_max() return them.  Many keys can have this time.
 */
static bool
comb_narrow(const CombCall *call, CombPeriod *period, const Const *value,
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
	if (!call->layout->codec->decode(call->layout->codec,
									 comb_get_field(call->layout, id), &at))
		return false;
	if ((strategy == BTGreaterStrategyNumber ?
		 comb_upper_bound(call->layout, end, at) :
		 strategy == BTLessStrategyNumber &&
		 comb_lower_bound(call->layout, end, at)) &&
		memcmp(id, end, UUID_LEN) == 0)
		at += strategy == BTGreaterStrategyNumber ? 1 : -1;
	if (strategy > BTEqualStrategyNumber)
		period->first = Max(period->first, at);
	else
		period->last = Min(period->last, at);
	return true;
}

/*
 * Does a condition compare the key's time with a value that is neither of the
 * same row nor volatile?
 */
static bool
comb_compares_time(const CombCall *call, const RestrictInfo * info)
{
	const List *args;
	CombCall	time;
	int			i;

	if (!IsA(info, RestrictInfo) || !IsA(info->clause, OpExpr))
		return false;
	args = ((const OpExpr *) info->clause)->args;
	for (i = 0; i < 2 && list_length(args) == 2; i++)
	{
		if (comb_time_call(&time, list_nth(args, i)) &&
			equal(time.key, call->key) &&
			is_pseudo_constant_clause(list_nth(args, 1 - i)))
			return true;
	}
	return false;
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
 * The comparisons of the key's time beside the bounds get no share.  In a UNION
 * ALL they come first, and core has estimated them already.
 */
static double
comb_hand_over(PlannerInfo *root, const CombCall *call, int varRelid,
			   List *infos, bool *found)
{
	Node	   *key = comb_call_key(call);
	CombPeriod	period = {PG_INT64_MIN, PG_INT64_MAX};	/* between the bounds */
	bool		known = true;
	bool		lower = false;
	bool		upper = false;
	List	   *bounds = NIL;	/* as core estimates them */
	CombEstimate estimate;
	double		sel;
	double		times_sel = 1.0;
	double		own = 1.0;
	double		rest = 1.0;
	ListCell   *lc;

	foreach(lc, infos)
	{
		RestrictInfo *info = (RestrictInfo *) lfirst(lc);
		int			strategy = comb_bound_strategy(call, key, info);
		Node	   *value;

		if (strategy == 0)
			continue;
		value = estimate_expression_value(root, llast(((OpExpr *) info->clause)->args));
		bounds = lappend(bounds, info->clause);
		known = comb_narrow(call, &period, (Const *) value, strategy) && known;
		lower = lower || strategy > BTEqualStrategyNumber;
		upper = upper || strategy < BTEqualStrategyNumber;
	}
	*found = bounds != NIL;
	if (!*found)
		return 1.0;
	foreach(lc, infos)
	{
		RestrictInfo *info = (RestrictInfo *) lfirst(lc);

		if (!comb_compares_time(call, info))
			continue;
		if (info->norm_selec > 0)
			times_sel *= info->norm_selec;
		else
			comb_set_sel(info, 1.0);
	}
	if (!known)
		return 1.0;
	estimate = comb_estimate(root, call, varRelid, &period);
	sel = estimate.sel;
	if (estimate.newer || estimate.mixed)
	{
		double		core_sel = clauselist_selectivity(root, bounds, varRelid,
													  JOIN_INNER, NULL);

		if (core_sel > sel)
		{
			if (estimate.mixed)
				own = sel / core_sel;
			sel = core_sel;
		}
	}
	sel = sel < times_sel ? sel / times_sel : 1.0;
	if (lower && upper)
		rest -= nulltestsel(root, IS_NULL, key, varRelid, JOIN_INNER, NULL);
	foreach(lc, infos)
	{
		int			strategy = comb_bound_strategy(call, key, lfirst(lc));

		if (strategy != 0)
			comb_set_sel(lfirst(lc), !lower || strategy > BTEqualStrategyNumber ?
						 sel : rest);
	}
	return own;
}

/*
 * The same for the bounds of joins with a column of periods, which are not known.
 * A lower and an upper one together get core's default for a range, which core
 * gives to none of them.
 */
static void
comb_hand_over_join(const CombCall *call, List *infos)
{
	Node	   *key = comb_call_key(call);
	ListCell   *lc;

	foreach(lc, infos)
	{
		RestrictInfo *info = (RestrictInfo *) lfirst(lc);
		const CombFunction *function;
		FuncExpr   *value;

		if (comb_bound_strategy(call, key, info) == 0)
			continue;
		value = (FuncExpr *) llast(((OpExpr *) info->clause)->args);
		function = IsA(value, FuncExpr) ? comb_function(value->funcid) : NULL;
		if (function && function->role == COMB_PERIOD_END)
			comb_set_sel(info, sqrt(DEFAULT_RANGE_INEQ_SEL));
	}
}

/*
 * Return the share of the rows that a condition on a key's period finds, beside
 * its bounds if it has any.
 */
static double
comb_selectivity(PlannerInfo *root, const CombCall *call, List *args,
				 int varRelid, bool is_join)
{
	Node	   *value;
	CombPeriod	period;
	int			varno;

	if (!is_join && root->simple_rel_array != NULL &&
		bms_get_singleton_member(pull_varnos(root, call->key), &varno) &&
		varno < root->simple_rel_array_size &&
		root->simple_rel_array[varno] != NULL)
	{
		RelOptInfo *rel = root->simple_rel_array[varno];
		List	   *infos = comb_list_of(rel->baserestrictinfo, args);
		bool		found = false;
		double		own = 1.0;

		comb_hand_over_join(call, rel->joininfo);
		if (infos != NIL)
			own = comb_hand_over(root, call, varRelid, infos, &found);
		if (found)
			return own;
	}
	value = estimate_expression_value(root, call->period);
	if (is_join || !IsA(value, Const))
		return DEFAULT_RANGE_INEQ_SEL;
	if (((Const *) value)->constisnull)
		return 0.0;
	period = comb_period(((Const *) value)->constvalue);
	if (call->function->role == COMB_HAS_TIME && comb_has_all_times(&period))
		return 1.0;
	return comb_estimate(root, call, varRelid, &period).sel;
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
	CombCall	call;

	if (!IsA(req, SupportRequestSelectivity))
		PG_RETURN_POINTER(NULL);
	req->selectivity = DEFAULT_RANGE_INEQ_SEL;
	if (comb_take_apart(&call, req->funcid, req->args) && call.period)
		req->selectivity = comb_selectivity(req->root, &call, req->args,
											req->varRelid, req->is_join);
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
