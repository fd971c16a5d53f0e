/*-------------------------------------------------------------------------
 *
 * comb_monitor.c
 *	  What to watch: how far keys are ahead of the clock, and which transactions
 *	  hold feeds back.
 *
 * Copyright (c) 2026, pg_comb developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xlog.h"
#include "catalog/pg_authid.h"
#include "commands/dbcommands.h"
#include "funcapi.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/tuplestore.h"

#include "comb_order.h"

PG_FUNCTION_INFO_V1(comb_ordered_status);
PG_FUNCTION_INFO_V1(comb_unsettled);

/* Return the difference of two times as "later - earlier" does in SQL */
static Datum
comb_interval(TimestampTz later, TimestampTz earlier)
{
	return DirectFunctionCall2(timestamp_mi, TimestampTzGetDatum(later),
							   TimestampTzGetDatum(earlier));
}

/*
 * comb_ordered_status() returns setof (series text, last timestamptz,
 *		ahead interval, reserved_until timestamptz): a row for each series of this
 * database.  NULL stands for what is not known before the first key, and for the
 * limit before the first one.  Works on a standby, too, which makes no keys.
 */
Datum
comb_ordered_status(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	int			series;

	InitMaterializedSRF(fcinfo, 0);
	if (!RecoveryInProgress())
		comb_shared_attach();
	for (series = 0; series < COMB_NSERIES; series++)
	{
		CombTime	counter = comb_database == NULL ? 0 :
			comb_series_last((CombSeries) series);
		TimestampTz last = comb_us_from_time(counter) + COMB_UNIX_EPOCH;
		TimestampTz now = comb_clock_us() + COMB_UNIX_EPOCH;
		Datum		values[4];
		bool		nulls[4] = {false};
		CombPage	page;

		values[0] = CStringGetTextDatum(comb_series_names[series]);
		values[1] = TimestampTzGetDatum(last);
		values[2] = comb_interval(Max(last, now), now);
		nulls[1] = nulls[2] = (counter == 0);
		nulls[3] = true;
		if (comb_page_open(&page, (CombSeries) series, COMB_PAGE_READ))
		{
			comb_page_close(&page);
			nulls[3] = (page.value <= 0);
			values[3] = TimestampTzGetDatum(Min(page.value, COMB_CLOCK_MAX_US) +
											COMB_UNIX_EPOCH);
		}
		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	}
	return (Datum) 0;
}

/* Write a row.  Times are hidden from whom pg_stat_activity hides activity */
static void
comb_unsettled_put(ReturnSetInfo *result, const CombUnsettled *row)
{
	Datum		values[6];
	bool		nulls[6] = {false};
	char	   *database = get_database_name(MyDatabaseId);
	bool		hidden =
		!has_privs_of_role(GetUserId(), ROLE_PG_READ_ALL_STATS) &&
		!has_privs_of_role(GetUserId(), row->role);

	values[0] = Int32GetDatum(row->pid);
	nulls[0] = (row->pid == 0);
	values[1] = DirectFunctionCall1(namein, CStringGetDatum(database));
	values[2] = TransactionIdGetDatum(row->xid);
	nulls[2] = (row->xid == InvalidTransactionId);
	values[3] = CStringGetTextDatum(comb_series_names[row->series]);
	values[4] = UUIDPGetDatum(comb_settled_key(row->first));
	nulls[4] = hidden || row->series != COMB_SERIES_ORDERED;
	values[5] = comb_interval(GetCurrentTimestamp(), row->start);
	nulls[5] = hidden;
	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

/* Find the transaction that runs in a seat.  False if there is none */
static bool
comb_running_row(CombSeat *seat, CombUnsettled *row)
{
	row->first = pg_atomic_read_u64(&seat->first);
	if (row->first == 0)
		return false;
	/* "first" before the rest, which must be its own */
	pg_read_barrier();
	row->pid = seat->pid;
	row->role = seat->role;
	row->start = seat->start;
	return true;
}

/* Write the open transactions of these seats, which are as in comb_seats_held() */
static void
comb_unsettled_seats(ReturnSetInfo *result, CombSeries series, uint32 number,
					 pg_atomic_uint64 *used, const CombView *view)
{
	uint32		end = number + (uint32) pg_atomic_read_u64(used);

	/* the number of seats before their places */
	pg_read_barrier();
	for (; number < end; number++)
	{
		CombSeat   *seat = comb_seat(series, number);
		CombUnsettled row = {.series = series};

		if (seat != NULL &&
			(number < (uint32) MaxBackends ? comb_running_row(seat, &row) :
			 comb_prepared_row(seat, view, &row)))
			comb_unsettled_put(result, &row);
	}
}

/*
 * comb_unsettled() returns setof (pid int, datname name, transaction xid,
 *		series text, first_key uuid, age interval): the open transactions of this
 * database that hold feeds back now, regardless of the calling statement's
 * snapshot.  pid is NULL for a prepared transaction, and transaction for a
 * running one.  first_key is a lower bound of the transaction's keys, and NULL
 * for Snowflakes.  Raises 55000 on a standby.
 */
Datum
comb_unsettled(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	CombView	view;
	int			series;

	InitMaterializedSRF(fcinfo, 0);
	comb_view_init(&view, comb_settled_snapshot(), PG_INT64_MAX);
	comb_seats_attach();
	for (series = 0; series < COMB_NSERIES; series++)
	{
		comb_unsettled_seats(result, (CombSeries) series, 0,
							 &comb_seats->used, &view);
		comb_unsettled_seats(result, (CombSeries) series, MaxBackends,
							 &comb_seats->used_prepared, &view);
	}
	return (Datum) 0;
}
