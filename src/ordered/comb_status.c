/*-------------------------------------------------------------------------
 *
 * comb_status.c
 *	  comb_clock_status(): what the clock says, and how far keys are ahead.
 *
 * Copyright (c) 2026, pg_comb developers
 *
 * IDENTIFICATION
 *	  src/ordered/comb_status.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "funcapi.h"
#include "utils/timestamp.h"

#include "comb_lease.h"

PG_FUNCTION_INFO_V1(comb_clock_status);

/* The columns, in the order of the SQL function */
enum
{
	COMB_CLOCK,
	COMB_PROCESS_LAST,
	COMB_PROCESS_AHEAD,
	COMB_PROCESS_STEPS_BACK,
	COMB_PROCESS_RESETS,
	COMB_ORDERED_LAST,
	COMB_ORDERED_AHEAD,
	COMB_ORDERED_LEASE,
	COMB_SNOWFLAKE_LAST,
	COMB_SNOWFLAKE_AHEAD,
	COMB_SNOWFLAKE_LEASE,
	COMB_STATUS_COLUMNS
};

typedef struct CombStatus
{
	TimestampTz now;
	Datum		values[COMB_STATUS_COLUMNS];
	bool		nulls[COMB_STATUS_COLUMNS];
} CombStatus;

/* Set a column */
static void
comb_status_set(CombStatus *status, int column, Datum value)
{
	status->values[column] = value;
	status->nulls[column] = false;
}

/* Set an instant, unless the column has a later one.  Returns true if set */
static bool
comb_status_set_later(CombStatus *status, int column, TimestampTz at)
{
	if (!status->nulls[column] &&
		at <= DatumGetTimestampTz(status->values[column]))
		return false;
	comb_status_set(status, column, TimestampTzGetDatum(at));
	return true;
}

/* Set how far an instant is ahead of the clock */
static void
comb_status_set_ahead(CombStatus *status, int column, TimestampTz at)
{
	Interval   *ahead = (Interval *) palloc0(sizeof(Interval));

	ahead->time = Max(at - status->now, 0);
	comb_status_set(status, column, IntervalPGetDatum(ahead));
}

/* Set the columns of this process */
static void
comb_status_process(CombStatus *status)
{
	CombGenerateStatus process;

	comb_generate_status(&process);
	if (process.made)
	{
		comb_status_set(status, COMB_PROCESS_LAST,
						TimestampTzGetDatum(process.last));
		comb_status_set_ahead(status, COMB_PROCESS_AHEAD, process.last);
	}
	comb_status_set(status, COMB_PROCESS_STEPS_BACK,
					Int64GetDatum(process.steps_back));
	comb_status_set(status, COMB_PROCESS_RESETS,
					Int64GetDatum(process.resets));
}

/*
 * Set the columns of a series: the counter, and the limit in this database.
 */
static void
comb_status_series(CombStatus *status, CombSeries series)
{
	bool		ordered = (series == COMB_SERIES_ORDERED);
	uint64		incarnation = comb_incarnation_current();
	CombTime	at = pg_atomic_read_u64(comb_counter(series, incarnation));
	TimestampTz last = comb_us_from_time(at) + COMB_UNIX_EPOCH;
	CombPage	page;

	if (at != 0 &&
		comb_status_set_later(status, ordered ? COMB_ORDERED_LAST :
							  COMB_SNOWFLAKE_LAST, last))
		comb_status_set_ahead(status, ordered ? COMB_ORDERED_AHEAD :
							  COMB_SNOWFLAKE_AHEAD, last);
	if (comb_page_peek(&page, series, true) &&
		page.value > 0 && page.value <= COMB_CLOCK_MAX_US)
		(void) comb_status_set_later(status, ordered ? COMB_ORDERED_LEASE :
									 COMB_SNOWFLAKE_LEASE,
									 page.value + COMB_UNIX_EPOCH);
}

/*
 * comb_clock_status() returns record
 *
 * Returns what the clock says, and how far the keys of this process and of
 * the server are ahead of it.  The columns of a last key are NULL before the
 * first key, and the column of a limit before the first limit.  Works on a
 * standby, too.
 */
Datum
comb_clock_status(PG_FUNCTION_ARGS)
{
	TupleDesc	desc = comb_result_desc(fcinfo);
	CombStatus	status;
	int			series;

	memset(&status, 0, sizeof(status));
	memset(status.nulls, true, sizeof(status.nulls));
	status.now = comb_instant_from_tick(comb_clock_ticks());
	comb_status_set(&status, COMB_CLOCK, TimestampTzGetDatum(status.now));
	comb_status_process(&status);
	comb_shared_attach();
	for (series = 0; series < COMB_SERIES; series++)
		comb_status_series(&status, (CombSeries) series);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(desc, status.values,
													  status.nulls)));
}
