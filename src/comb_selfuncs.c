/*-------------------------------------------------------------------------
 *
 * comb_selfuncs.c
 *	  How many keys of a column are in a period.
 *
 * The estimate looks up the period's bounds in the column's histogram, and
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

#include "access/htup_details.h"
#include "catalog/pg_statistic.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "optimizer/paths.h"
#include "utils/fmgroids.h"
#include "utils/selfuncs.h"

#include "comb_call.h"

PG_FUNCTION_INFO_V1(comb_period_sel);
PG_FUNCTION_INFO_V1(comb_period_joinsel);

/*
 * A column's statistics, as times.
 *
 * The histogram covers the share "histfrac" of the rows, with equally many
 * rows in each bin.  "times" has the times of those histogram values that have
 * one in the layout, in order.
 */
typedef struct CombStats
{
	double		nullfrac;
	double		histfrac;
	bool		have_hist;
	double		timefrac;		/* share of the histogram with a time */
	int			ntimes;
	int64	   *times;
	bool		ends_in_time;	/* the histogram's last value has a time */
	int			nmcv;			/* most common values with a time */
	int64	   *mcv_times;
	float4	   *mcv_freqs;
	double		sumcommon;		/* frequency of all most common values */
} CombStats;

static int
comb_stats_time_cmp(const void *a, const void *b)
{
	int64		x = *(const int64 *) a;
	int64		y = *(const int64 *) b;

	return (x > y) - (x < y);
}

/*
 * Decode a key.  False if the key has no time in the layout.  Planning a
 * query decodes a few hundred keys, so there is a fast path for the default
 * layout.
 */
static inline bool
comb_stats_decode(const CombLayout *layout, Datum value, int64 *at)
{
	const unsigned char *id = DatumGetUUIDP(value)->data;

	return layout == comb_layout_default ? comb_v7_read(id, at) :
		comb_decode(layout, id, at);
}

/* Take the times and frequencies of the most common values */
static void
comb_stats_mcv(CombStats *stats, const AttStatsSlot *slot,
			   const CombLayout *layout)
{
	int			i;

	stats->mcv_times = (int64 *) palloc(sizeof(int64) * slot->nvalues);
	stats->mcv_freqs = (float4 *) palloc(sizeof(float4) * slot->nvalues);
	for (i = 0; i < slot->nvalues; i++)
	{
		stats->sumcommon += slot->numbers[i];
		if (comb_stats_decode(layout, slot->values[i],
							  &stats->mcv_times[stats->nmcv]))
			stats->mcv_freqs[stats->nmcv++] = slot->numbers[i];
	}
}

/*
 * Take the times of the histogram.
 *
 * The histogram is in PostgreSQL's order.  For a layout with another order it
 * is only a sample of the keys.  Sorted by time, the sample serves the same
 * purpose, less exactly.
 */
static void
comb_stats_hist(CombStats *stats, const AttStatsSlot *slot,
				const CombLayout *layout)
{
	int			i;

	if (slot->nvalues == 0)
		return;
	stats->have_hist = true;
	stats->times = (int64 *) palloc(sizeof(int64) * slot->nvalues);
	for (i = 0; i < slot->nvalues; i++)
	{
		stats->ends_in_time = comb_stats_decode(layout, slot->values[i],
												&stats->times[stats->ntimes]);
		if (stats->ends_in_time)
			stats->ntimes++;
	}
	stats->timefrac = (double) stats->ntimes / slot->nvalues;
	if (layout->sorts_in != COMB_SORTS_PLAIN)
		qsort(stats->times, stats->ntimes, sizeof(int64), comb_stats_time_cmp);
}

/*
 * Get one kind of a column's statistics.  False if there are none, or if their
 * values are not of the type: behind a cast without a function, the column can
 * have another type than the clause's argument.
 */
static bool
comb_stats_slot(AttStatsSlot *slot, HeapTuple statstuple, int kind, int flags,
				Oid type)
{
	if (!get_attstatsslot(slot, statstuple, kind, InvalidOid, flags))
		return false;
	if (getBaseType(slot->valuetype) == type)
		return true;
	free_attstatsslot(slot);
	return false;
}

/*
 * Collect the statistics of a column of keys.  False if there are none, or if
 * the user may not see them.
 */
static bool
comb_stats(CombStats *stats, VariableStatData *vardata,
		   const CombLayout *layout)
{
	AttStatsSlot slot;

	memset(stats, 0, sizeof(CombStats));

	/*
	 * Estimates reveal no more than comparing keys with uuid_ge() does.  This
	 * function is leakproof unless a superuser has altered it.
	 */
	if (!HeapTupleIsValid(vardata->statsTuple) ||
		!statistic_proc_security_check(vardata, F_UUID_GE))
		return false;

	stats->nullfrac =
		((Form_pg_statistic) GETSTRUCT(vardata->statsTuple))->stanullfrac;
	if (comb_stats_slot(&slot, vardata->statsTuple, STATISTIC_KIND_MCV,
						ATTSTATSSLOT_VALUES | ATTSTATSSLOT_NUMBERS, UUIDOID))
	{
		comb_stats_mcv(stats, &slot, layout);
		free_attstatsslot(&slot);
	}
	if (comb_stats_slot(&slot, vardata->statsTuple, STATISTIC_KIND_HISTOGRAM,
						ATTSTATSSLOT_VALUES, UUIDOID))
	{
		comb_stats_hist(stats, &slot, layout);
		free_attstatsslot(&slot);
	}
	stats->histfrac = Max(1.0 - stats->nullfrac - stats->sumcommon, 0.0);
	return stats->have_hist || stats->sumcommon > 0 || stats->nullfrac >= 1.0;
}

/* Return how many bins of the histogram are before "at", with a fraction */
static double
comb_hist_bins_before(const CombStats *stats, int64 at)
{
	int			lo = 0;
	int			hi = stats->ntimes - 1;

	if (hi < 0 || at <= stats->times[0])
		return 0.0;
	if (at > stats->times[hi])
		return Max(hi, 1);

	/* find the bin: times[lo] < at <= times[hi] */
	while (hi - lo > 1)
	{
		int			mid = (lo + hi) / 2;

		if (stats->times[mid] < at)
			lo = mid;
		else
			hi = mid;
	}
	return lo + ((double) at - (double) stats->times[lo]) /
		((double) stats->times[hi] - (double) stats->times[lo]);
}

/* Return the share of the histogram's times in the period */
static double
comb_hist_share(const CombStats *stats, const CombPeriod *period)
{
	double		bins = Max(stats->ntimes - 1, 1);
	double		start = comb_hist_bins_before(stats, period->first);
	double		end = bins;

	if (stats->ntimes == 0)
		return 0.0;
	if (period->last < PG_INT64_MAX)
		end = comb_hist_bins_before(stats, period->last + 1);
	return (end - start) / bins;
}

/* Return the share of the column's rows in the period */
static double
comb_period_share(const CombStats *stats, const CombPeriod *period)
{
	double		common = 0.0;
	double		share = 0.0;
	int			i;

	for (i = 0; i < stats->nmcv; i++)
	{
		if (comb_in_period(period, stats->mcv_times[i]))
			common += stats->mcv_freqs[i];
	}
	if (stats->have_hist)
		share = comb_hist_share(stats, period) * stats->timefrac;
	else if (stats->sumcommon > 0)
		share = common / stats->sumcommon;	/* assume that the rest is alike */
	return common + stats->histfrac * share;
}

/*
 * Estimate the share of the rows of a table whose key, the expression "id", is
 * in a period.  "varRelid" is the table that the planner restricts, or zero.
 *
 * "newer" says that the period starts after all times that ANALYZE saw, and
 * that core can look up the column's largest key in an index.  If the
 * histogram ends with other uuids, core would take them for keys in a period
 * without an end.
 */
static double
comb_period_estimate(PlannerInfo *root, Node *id, int varRelid,
					 const CombLayout *layout, const CombPeriod *period,
					 bool *newer)
{
	VariableStatData vardata;
	CombStats	stats;
	double		sel = DEFAULT_RANGE_INEQ_SEL;

	*newer = false;
	if (period->first > period->last ||
		period->first > layout->codec->latest ||
		period->last < layout->codec->earliest)
		return 0.0;
	examine_variable(root, id, varRelid, &vardata);
	if (comb_stats(&stats, &vardata, layout))
	{
		sel = comb_period_share(&stats, period);
		*newer = layout->sorts_in == COMB_SORTS_PLAIN && stats.ends_in_time &&
			period->first > stats.times[stats.ntimes - 1];
	}
	ReleaseVariableStats(vardata);

	/* frequencies are rounded, and their sum can be more than 1 */
	CLAMP_PROBABILITY(sel);
	return sel;
}

/*
 * Estimates of conditions, and of the bounds beside them
 */

/* The conditions on a key that stand in one list */
typedef struct CombBeside
{
	List	   *bounds;			/* the RestrictInfos of its bounds */
	List	   *values;			/* what the key is compared with there */
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

/*
 * Narrow the period by a bound.  False if the bound is not known.
 *
 * No key of a time is below its smallest key, or above its largest one, as
 * comb_min() and comb_max() return them.  Many keys can have this time.
 */
static bool
comb_narrow(const CombCall *call, CombBeside *beside, const Const *value,
			Oid opno)
{
	bool		lower = opno == call->ge || opno == call->gt;
	const unsigned char *id;
	unsigned char end[COMB_ID_LEN];
	int64		at;

	if (!IsA(value, Const) || value->consttype != UUIDOID)
		return false;
	if (value->constisnull)
	{
		beside->period.last = PG_INT64_MIN;
		return true;
	}
	id = DatumGetUUIDP(value->constvalue)->data;
	if (!call->layout->codec->decode(call->layout->codec,
									 comb_get_field(call->layout, id), &at))
		return false;
	if (opno == call->gt && comb_upper_bound(call->layout, end, at) &&
		memcmp(id, end, COMB_ID_LEN) == 0)
		at++;
	else if (opno == call->lt && comb_lower_bound(call->layout, end, at) &&
			 memcmp(id, end, COMB_ID_LEN) == 0)
		at--;
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
		Node	   *value;
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
			value = estimate_expression_value(root, lsecond(op->args));
			beside->bounds = lappend(beside->bounds, info);
			beside->values = lappend(beside->values, value);
			if (comb_narrow(call, beside, (Const *) value, op->opno))
				beside->known = true;
			else
				beside->unknown = true;
			beside->lower = beside->lower || lower;
			beside->upper = beside->upper || !lower;
			continue;
		}
		for (i = 0; i < 2; i++)
		{
			/* neither the same row nor what is volatile gives bounds */
			if (comb_time_call(&time, list_nth(op->args, i)) &&
				equal(time.key, call->key) &&
				is_pseudo_constant_clause(list_nth(op->args, 1 - i)))
				beside->times = lappend(beside->times, info);
		}
	}
}

/* Return core's estimate for bounds, without computing their values again */
static double
comb_core_sel(PlannerInfo *root, const CombBeside *beside, int varRelid)
{
	List	   *clauses = NIL;
	ListCell   *lc;
	ListCell   *lc2;

	forboth(lc, beside->bounds, lc2, beside->values)
	{
		OpExpr	   *op = (OpExpr *) ((RestrictInfo *) lfirst(lc))->clause;

		clauses = lappend(clauses,
						  make_opclause(op->opno, BOOLOID, false,
										(Expr *) linitial(op->args),
										(Expr *) lfirst(lc2), InvalidOid,
										InvalidOid));
	}
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

/* Has an index of the table this expression as one of its keys? */
bool
comb_has_index(const RelOptInfo * rel, Node *expr)
{
	ListCell   *lc;
	int			i;

	foreach(lc, rel->indexlist)
	{
		IndexOptInfo *index = (IndexOptInfo *) lfirst(lc);

		for (i = 0; i < index->nkeycolumns; i++)
		{
			if (match_index_to_operand(expr, i, index))
				return true;
		}
	}
	return false;
}

/* Can only an index on the key's time find the rows, and none on the key? */
static bool
comb_only_time_has_index(const RelOptInfo * rel, const CombCall *call,
						 const CombBeside *beside)
{
	ListCell   *lc;

	foreach(lc, beside->times)
	{
		List	   *args = comb_call_args((Node *) ((RestrictInfo *) lfirst(lc))->clause);

		if (comb_has_index(rel, (Node *) linitial(args)) ||
			comb_has_index(rel, (Node *) lsecond(args)))
			return !comb_has_index(rel, call->key);
	}
	return false;
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
 *
 * The comparisons of the key's time beside the bounds get no share, unless only
 * they have an index, whose cost would be that of all rows.  Then core estimates
 * the comparisons, and the bounds get what is left of their estimate: none if all
 * are of comparisons, and more beside "id <@ period".
 */
static bool
comb_hand_over(PlannerInfo *root, RelOptInfo * rel, const CombCall *call,
			   int varRelid, List *infos)
{
	CombBeside	beside;
	bool		known;
	bool		newer;
	double		sel = 1.0;
	double		times_sel = 1.0;
	double		rest = 1.0;
	ListCell   *lc;

	comb_look_beside(root, call, infos, &beside);
	if (beside.bounds == NIL)
		return false;
	known = beside.known && !beside.unknown;
	if (comb_only_time_has_index(rel, call, &beside))
		times_sel = clauselist_selectivity(root, beside.times, varRelid,
										   JOIN_INNER, NULL);
	else
	{
		foreach(lc, beside.times)
			comb_set_sel((RestrictInfo *) lfirst(lc), 1.0);
		if (!known)
			return true;
	}
	if (known)
	{
		sel = comb_period_estimate(root, call->key, varRelid, call->layout,
								   &beside.period, &newer);
		if (newer)
		{
			double		core_sel = comb_core_sel(root, &beside, varRelid);

			sel = Max(sel, core_sel);	/* a macro, which evaluates twice */
		}
		sel = sel < times_sel ? sel / times_sel : 1.0;
	}
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

	if (infos == NIL)
		return;
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
double
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
		if (infos != NIL && comb_hand_over(root, rel, call, varRelid, infos))
			return 1.0;
	}
	if (call->period == NULL)
		return 1.0;
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
