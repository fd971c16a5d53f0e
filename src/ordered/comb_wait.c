/*-------------------------------------------------------------------------
 *
 * comb_wait.c
 *	  A reader sleeps until a transaction with ordered keys or Snowflakes has
 *	  ended.
 *
 * CombDatabase.ends counts these transactions, see comb_count_end().  The reader
 * gets the count before it polls, and brings it back: if it is another one by
 * now, the reader does not sleep.  So no end between the poll and the sleep is
 * missed.  Rollbacks count, because they let comb_settled() go on.
 *
 * Nobody tells us of the end of a prepared transaction (comb_prepared.c).  Readers
 * find its rows when another end has woken them, or after their timeout.
 *
 * comb_wait() is a procedure that commits first.  A function could not let go
 * of its caller's snapshot, and VACUUM would have to keep what is older.  It
 * commits again when it has slept: the poll may follow in the same procedure,
 * and what has changed meanwhile is older than the poll's plan (comb_plan.c).
 *
 * Each end wakes all who wait.  If ends follow each other quickly, many readers
 * would take the processors from the writers that they wait for.  So the readers
 * of a database share COMB_RETURNS_PER_S returns: the more readers, the longer
 * the pause before each one waits again.  A single reader has none.
 *
 * Copyright (c) 2026, pg_comb developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>
#include <math.h>

#include "access/htup_details.h"
#include "access/xlog.h"
#include "executor/spi.h"
#include "funcapi.h"
#include "portability/instr_time.h"
#include "postmaster/postmaster.h"
#include "storage/latch.h"

#include "comb_order.h"

PG_FUNCTION_INFO_V1(comb_wait);

#define COMB_RETURNS_PER_S		500

StaticAssertDecl(MAX_BACKENDS < COMB_END,
				 "the sessions that wait must not count as ends");

/* When this process returned from comb_wait(), and whether it is there */
static instr_time returned;
static bool waiting = false;

static double
ms_since(instr_time start)
{
	instr_time	now;

	INSTR_TIME_SET_CURRENT(now);
	INSTR_TIME_SUBTRACT(now, start);
	return INSTR_TIME_GET_MILLISEC(now);
}

/*
 * The transaction in which the session waited ends, by a commit or an error.
 * PG_TRY() does not work if another compiler built the server, as on Windows, so
 * this is a callback.
 */
static void
wait_leave(XactEvent event, void *arg)
{
	if (waiting)
		(void) pg_atomic_fetch_sub_u64(&comb_database->ends.value, 1);
	waiting = false;
}

/* Let a moment pass since this process has returned, or "ms" from "start" */
static void
wait_pause(instr_time start, double ms, uint32 event)
{
	/* without this session */
	uint64		others =
		pg_atomic_read_u64(&comb_database->ends.value) % COMB_END - 1;
	double		left = Min(1000.0 / COMB_RETURNS_PER_S * others -
						   ms_since(returned), ms - ms_since(start));

	/* what woke this process before must not end the pause */
	ResetLatch(MyLatch);
	CHECK_FOR_INTERRUPTS();
	if (left >= 1)
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
						 (long) left, event);
}

/* Sleep until the count is not "seen", or for "ms" from "start" */
static uint64
wait_sleep(uint64 seen, instr_time start, double ms, uint32 event)
{
	ConditionVariable *ended = &comb_database->ended;
	uint64		count;

	ConditionVariablePrepareToSleep(ended);
	COMB_INJECTION_POINT("comb-wait-listed");
	for (;;)
	{
		double		left;

		count = pg_atomic_read_u64(&comb_database->ends.value) / COMB_END;
		COMB_INJECTION_POINT("comb-wait-count");
		left = ms - ms_since(start);
		if (count != seen || left <= 0)
			break;
		(void) ConditionVariableTimedSleep(ended, (long) ceil(left), event);
	}
	ConditionVariableCancelSleep();
	return count;
}

/*
 * Commit, so that no snapshot and no lock is held while we wait.  Raises 25001
 * inside a transaction block or a function, and the errors of a COMMIT.
 */
static void
wait_commit(FunctionCallInfo fcinfo)
{
	CallContext *context = (CallContext *) fcinfo->context;

	if (context == NULL || !IsA(context, CallContext) || context->atomic)
		ereport(ERROR,
				(errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
				 errmsg("comb_wait() cannot run inside a transaction block or a function"),
				 errdetail("It commits, so that nothing is held while it waits."),
				 errhint("Call it by a CALL of its own, with autocommit.")));
	SPI_connect_ext(SPI_OPT_NONATOMIC);
	SPI_commit();
	SPI_finish();
}

/*
 * comb_wait(INOUT seen bigint, timeout interval): commit, wait until a transaction
 * that made ordered keys or Snowflakes in this database has ended since the count
 * was "seen", and return the count.  At once if "seen" is NULL, and after the
 * timeout, which is at most the 24 days that one sleep can take, and NULL for
 * these.  Raises 25001 inside a transaction block or a function, and 55000 on a
 * standby.
 */
Datum
comb_wait(PG_FUNCTION_ARGS)
{
	static uint32 event = 0;
	uint64		seen = 0;
	double		ms = 0;
	instr_time	start;
	uint64		count;
	bool		isnull = false;
	TupleDesc	tupdesc;
	Datum		value;

	if (!PG_ARGISNULL(0))
	{
		seen = (uint64) PG_GETARG_INT64(0);
		ms = INT_MAX;
		if (!PG_ARGISNULL(1))
		{
			const Interval *timeout = PG_GETARG_INTERVAL_P(1);
			double		days = timeout->month * (double) DAYS_PER_MONTH + timeout->day;

			ms = Min(ms, days * SECS_PER_DAY * 1000 + timeout->time / 1000.0);
		}
	}

	if (RecoveryInProgress())
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("a standby cannot wait for transactions with keys"),
				 errhint("Call comb_wait() on the primary, or poll at intervals.")));
	comb_shared_attach();
	/* now, because nothing keeps the procedure from being dropped meanwhile */
	(void) get_call_result_type(fcinfo, NULL, &tupdesc);
	wait_commit(fcinfo);
	if (event == 0)
	{
		RegisterXactCallback(wait_leave, NULL);
		event = WaitEventExtensionNew("CombWait");
	}
	INSTR_TIME_SET_CURRENT(start);
	(void) pg_atomic_fetch_add_u64(&comb_database->ends.value, 1);
	waiting = true;
	wait_pause(start, ms, event);
	count = wait_sleep(seen, start, ms, event);
	INSTR_TIME_SET_CURRENT(returned);
	wait_commit(fcinfo);
	value = Int64GetDatum((int64) count);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(tupdesc, &value, &isnull)));
}
