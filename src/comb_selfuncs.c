/*-------------------------------------------------------------------------
 *
 * comb_selfuncs.c
 *	  Selectivity estimators for clauses that compare keys with periods.
 *
 * They look up a period's bounds in the column's histogram and interpolate by
 * time.  Core does not interpolate between uuids.  It assumes that a value is
 * in the middle of its bin.
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
#include "catalog/pg_operator.h"
#include "catalog/pg_statistic.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "optimizer/optimizer.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"
#include "utils/timestamp.h"

#include "comb_period.h"

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
	/* estimates reveal no more than comparing keys, which is leakproof */
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

	if (period->first > period->last)
		return 0.0;
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
 * Return the share of the keys that are in a period, averaged over a column
 * of periods.  Negative if the column has too few statistics.
 *
 * The share of a period is the share before its end minus the share before
 * its start.  The average therefore needs only the distributions of the ends
 * and of the starts.  The bounds histogram has both: its n-th value is made of
 * the n-th quantiles of the starts and of the ends.
 */
static double
comb_column_share(const CombStats *stats, VariableStatData *vardata)
{
	AttStatsSlot slot;
	double		nullfrac;
	double		sum = 0.0;
	int			i;

	if (!HeapTupleIsValid(vardata->statsTuple) ||
		!statistic_proc_security_check(vardata, F_TIMESTAMP_CMP))
		return -1.0;
	nullfrac = ((Form_pg_statistic)
				GETSTRUCT(vardata->statsTuple))->stanullfrac;
	if (!comb_stats_slot(&slot, vardata->statsTuple,
						 STATISTIC_KIND_BOUNDS_HISTOGRAM,
						 ATTSTATSSLOT_VALUES, TSTZRANGEOID))
		return -1.0;
	if (slot.nvalues < 2)
	{
		free_attstatsslot(&slot);
		return -1.0;
	}
	for (i = 0; i < slot.nvalues; i++)
	{
		CombPeriod	period = comb_period(slot.values[i]);
		double		share = comb_period_share(stats, &period);

		/* the first and the last value stand for half as many rows */
		sum += (i == 0 || i == slot.nvalues - 1) ? share / 2 : share;
	}
	sum /= slot.nvalues - 1;
	free_attstatsslot(&slot);

	/* the other histogram of ranges has the share of empty ranges */
	if (get_attstatsslot(&slot, vardata->statsTuple,
						 STATISTIC_KIND_RANGE_LENGTH_HISTOGRAM, InvalidOid,
						 ATTSTATSSLOT_NUMBERS))
	{
		if (slot.nnumbers == 1)
			sum *= 1.0 - slot.numbers[0];
		free_attstatsslot(&slot);
	}
	return sum * (1.0 - nullfrac);
}

/* What the planner tells an estimator about the query around the clause */
typedef struct CombContext
{
	PlannerInfo *root;
	int			varRelid;
	JoinType	jointype;
	SpecialJoinInfo *sjinfo;
} CombContext;

/* Return core's estimate for the clause's range of keys */
static double
comb_core_sel(const CombContext *context, const CombClause *clause)
{
	List	   *bounds;
	Oid			ge;
	Oid			le;

	if (!comb_layout_operators(clause, &ge, &le))
		return 1.0;
	bounds = comb_clause_bounds(clause, ge, le);
	if (bounds == NIL)
		return 1.0;
	return clauselist_selectivity(context->root, bounds, context->varRelid,
								  context->jointype, context->sjinfo);
}

/*
 * Does the period start after all times that ANALYZE saw, as usual in queries
 * for the newest keys?
 *
 * Core then has the better estimate, because it asks an index for the column's
 * largest key.  But if the histogram ends with other uuids, core would take
 * them for keys in a period without an end.
 */
static bool
comb_beyond_stats(const CombStats *stats, const CombPeriod *period)
{
	return period->first <= period->last && stats->ends_in_time &&
		period->first > stats->times[stats->ntimes - 1];
}

/*
 * Return the share of the rows of "idvar" in the clause's period.  The period
 * is a constant, or an expression that may have statistics, such as a column
 * of another table.
 */
static double
comb_clause_sel(const CombContext *context, CombClause *clause,
				VariableStatData *idvar)
{
	Node	   *value = estimate_expression_value(context->root, clause->period);
	CombStats	stats;
	double		sel = -1.0;

	if (IsA(value, Const) && ((Const *) value)->constisnull)
		return 0.0;
	if (!comb_stats(&stats, idvar, clause->layout))
		return DEFAULT_RANGE_INEQ_SEL;

	if (IsA(value, Const))
	{
		CombPeriod	period = comb_period(((Const *) value)->constvalue);
		const CombCodec *codec = clause->layout->codec;

		if (period.first > codec->latest || period.last < codec->earliest)
			return 0.0;
		sel = comb_period_share(&stats, &period);
		if (clause->layout->sorts_in == COMB_SORTS_PLAIN &&
			comb_beyond_stats(&stats, &period))
		{
			clause->period = value;
			sel = Max(sel, comb_core_sel(context, clause));
		}
	}
	else
	{
		VariableStatData pvar;

		examine_variable(context->root, value, 0, &pvar);
		sel = comb_column_share(&stats, &pvar);
		ReleaseVariableStats(pvar);
	}
	if (sel < 0.0)
		sel = DEFAULT_RANGE_INEQ_SEL * (1.0 - stats.nullfrac);
	return sel;
}

/*
 * Return the share of a column's periods that contain a known key.  This is
 * core's own estimate for the key's time.
 */
static double
comb_period_column_sel(const CombContext *context, const CombClause *clause,
					   const Node *value)
{
	Node	   *column = comb_clause_period(clause);
	Const	   *at;
	int64		time;

	if (!IsA(value, Const) || !IsA(column, Var))
		return DEFAULT_RANGE_INEQ_SEL;
	if (((const Const *) value)->constisnull ||
		!comb_decode(clause->layout,
					 DatumGetUUIDP(((const Const *) value)->constvalue)->data,
					 &time))
		return 0.0;
	at = makeConst(TIMESTAMPTZOID, -1, InvalidOid, sizeof(TimestampTz),
				   TimestampTzGetDatum(time), false, FLOAT8PASSBYVAL);
	return DatumGetFloat8(OidFunctionCall4(F_RANGESEL,
										   PointerGetDatum(context->root),
										   ObjectIdGetDatum(OID_RANGE_CONTAINS_ELEM_OP),
										   PointerGetDatum(list_make2(column, at)),
										   Int32GetDatum(context->varRelid)));
}

/*
 * Return the clause's selectivity as a restriction.  If varRelid is not zero,
 * it says which table the clause restricts.
 */
static double
comb_restriction_sel(const CombContext *context, CombClause *clause)
{
	VariableStatData vardata;
	Node	   *other;
	bool		varonleft;
	double		sel;

	if (!get_restriction_variable(context->root,
								  list_make2(clause->id, clause->period),
								  context->varRelid, &vardata, &other,
								  &varonleft))
		return DEFAULT_RANGE_INEQ_SEL;
	if (varonleft)
		sel = comb_clause_sel(context, clause, &vardata);
	else
		sel = comb_period_column_sel(context, clause, other);
	ReleaseVariableStats(vardata);
	return sel;
}

/*
 * Return the clause's selectivity as a join clause.  For a semijoin or
 * antijoin this is the share of outer rows that find a partner, which we take
 * to be all of them if one or more partners are expected.
 */
static double
comb_join_sel(const CombContext *context, CombClause *clause)
{
	VariableStatData idvar;
	VariableStatData pvar;
	RelOptInfo *inner = NULL;
	double		sel;

	examine_variable(context->root, clause->id, 0, &idvar);
	examine_variable(context->root, clause->period, 0, &pvar);
	sel = comb_clause_sel(context, clause, &idvar);
	if (context->sjinfo &&
		(context->jointype == JOIN_SEMI || context->jointype == JOIN_ANTI))
	{
		Relids		rhs = context->sjinfo->syn_righthand;

		if (idvar.rel && bms_is_subset(idvar.rel->relids, rhs))
			inner = idvar.rel;
		else if (pvar.rel && bms_is_subset(pvar.rel->relids, rhs))
			inner = pvar.rel;
	}
	if (inner)
		sel *= Max(inner->rows, 1.0);
	ReleaseVariableStats(idvar);
	ReleaseVariableStats(pvar);
	return sel;
}

/* Return a selectivity as a probability, from 0 to 1 */
static double
comb_probability(double sel)
{
	CLAMP_PROBABILITY(sel);
	return sel;
}

/*
 * comb_period_sel(internal, oid, internal, integer) returns float8
 * comb_period_joinsel(internal, oid, internal, smallint, internal) returns float8
 *
 * Restriction and join estimators of the operators <@ and @>.  Return
 * DEFAULT_RANGE_INEQ_SEL for operators that do not compare a uuid with a
 * tstzrange.
 */
Datum
comb_period_sel(PG_FUNCTION_ARGS)
{
	CombContext context = {0};
	CombClause	clause;

	context.root = (PlannerInfo *) PG_GETARG_POINTER(0);
	context.varRelid = PG_GETARG_INT32(3);
	if (!comb_clause(&clause, get_opcode(PG_GETARG_OID(1)),
					 (List *) PG_GETARG_POINTER(2)))
		PG_RETURN_FLOAT8(DEFAULT_RANGE_INEQ_SEL);
	PG_RETURN_FLOAT8(comb_probability(comb_restriction_sel(&context, &clause)));
}

Datum
comb_period_joinsel(PG_FUNCTION_ARGS)
{
	CombContext context = {0};
	CombClause	clause;

	context.root = (PlannerInfo *) PG_GETARG_POINTER(0);
	context.jointype = (JoinType) PG_GETARG_INT16(3);
	context.sjinfo = (SpecialJoinInfo *) PG_GETARG_POINTER(4);
	if (!comb_clause(&clause, get_opcode(PG_GETARG_OID(1)),
					 (List *) PG_GETARG_POINTER(2)))
		PG_RETURN_FLOAT8(DEFAULT_RANGE_INEQ_SEL);
	PG_RETURN_FLOAT8(comb_probability(comb_join_sel(&context, &clause)));
}

/*
 * Estimate the selectivity of a function call, which has no operator's
 * estimators.
 *
 * A plan that has comb_recheck() also has a range of keys, and the planner
 * multiplies the two estimates.  The product should be what the histogram
 * says by time.  Core estimates the range, so comb_recheck() gets the
 * quotient.  But a selectivity is at most 1.  If core's estimate is too small
 * already, because both bounds are in one bin of the histogram, the product
 * stays too small.
 */
void
comb_selectivity(SupportRequestSelectivity *req, bool recheck)
{
	CombContext context = {req->root, req->varRelid, req->jointype, req->sjinfo};
	CombClause	clause;
	double		sel;

	if (!comb_clause(&clause, req->funcid, req->args))
	{
		req->selectivity = DEFAULT_RANGE_INEQ_SEL;
		return;
	}
	if (req->is_join)
		sel = comb_join_sel(&context, &clause);
	else
		sel = comb_restriction_sel(&context, &clause);
	if (recheck && sel > 0.0)
		sel /= Max(comb_core_sel(&context, &clause), 1.0e-10);
	req->selectivity = comb_probability(sel);
}
