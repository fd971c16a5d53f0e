/*-------------------------------------------------------------------------
 *
 * comb_selfuncs.c
 *	  How many keys of a column are in a period.
 *
 * The estimate looks up the period's bounds in the column's histogram, and
 * interpolates by time.  Core does not interpolate between uuids.  It assumes
 * that a value is in the middle of its bin.
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
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"

#include "comb_period.h"

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
double
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
	return sel;
}
