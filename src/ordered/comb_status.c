/*-------------------------------------------------------------------------
 *
 * comb_status.c
 *	  comb_ordered_status(): how far keys are ahead of the clock.
 *
 * Copyright (c) 2026, pg_comb developers
 *
 * IDENTIFICATION
 *	  src/ordered/comb_status.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

#include "comb_lease.h"

PG_FUNCTION_INFO_V1(comb_ordered_status);

/* The columns, in the order of the SQL function */
enum
{
	COMB_STATUS_SERIES,
	COMB_STATUS_LAST,
	COMB_STATUS_AHEAD,
	COMB_STATUS_LIMIT,
	COMB_STATUS_COLUMNS
};

/* Add the row of a series */
static void
comb_status_put(ReturnSetInfo *result, CombSeries series)
{
	Datum		values[COMB_STATUS_COLUMNS];
	bool		nulls[COMB_STATUS_COLUMNS] = {false};
	int64		last = comb_us_from_time(pg_atomic_read_u64(comb_counter(series)));
	Interval   *ahead = (Interval *) palloc0(sizeof(Interval));
	CombPage	page;

	ahead->time = Max(last - comb_clock_us(), 0);
	values[COMB_STATUS_SERIES] = CStringGetTextDatum(comb_series_names[series]);
	values[COMB_STATUS_LAST] = TimestampTzGetDatum(last + COMB_UNIX_EPOCH);
	values[COMB_STATUS_AHEAD] = IntervalPGetDatum(ahead);
	nulls[COMB_STATUS_LAST] = nulls[COMB_STATUS_AHEAD] = (last == 0);
	nulls[COMB_STATUS_LIMIT] = true;
	if (comb_page_peek(&page, series, true) &&
		page.value > 0 && page.value <= COMB_CLOCK_MAX_US)
	{
		values[COMB_STATUS_LIMIT] = TimestampTzGetDatum(page.value +
														COMB_UNIX_EPOCH);
		nulls[COMB_STATUS_LIMIT] = false;
	}
	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

/*
 * comb_ordered_status() returns setof (series text, last timestamptz,
 *		ahead interval, time_limit timestamptz)
 *
 * Returns a row for each series: the time of the server's last key, how far it
 * is ahead of the clock, and the limit in this database.  The first two are
 * NULL before the first key, and the limit before the first limit.  Works on a
 * standby, too.  Raises 22008 if the clock is before 1970 or after 4199.
 */
Datum
comb_ordered_status(PG_FUNCTION_ARGS)
{
	int			series;

	InitMaterializedSRF(fcinfo, 0);
	comb_shared_attach();
	for (series = 0; series < COMB_SERIES; series++)
		comb_status_put((ReturnSetInfo *) fcinfo->resultinfo,
						(CombSeries) series);
	return (Datum) 0;
}
