/*-------------------------------------------------------------------------
 *
 * comb_ordered.c
 *	  Keys that increase across all sessions of a server, and across restart,
 *	  crash, failover and a clock set back.
 *
 * Every key takes the time
 *
 *		last = max(now, last + 1)
 *
 * from a counter in shared memory by compare-and-swap.  There is no lock: a
 * session that loses the race tries again with the counter that another
 * session has moved forward.  A key is therefore larger than every key whose
 * making ended before its own began.  comb_lease.c makes the order survive.
 *
 * Copyright (c) 2026, pg_comb developers
 *
 * IDENTIFICATION
 *	  src/comb_ordered.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "storage/lmgr.h"
#include "utils/timestamp.h"

#include "comb_lease.h"

PG_FUNCTION_INFO_V1(comb_generate_ordered);
PG_FUNCTION_INFO_V1(comb_ordered_reset);

/*
 * How many leases a series may be ahead of the clock without being set back
 * by a reset.  A restart takes a series ahead by one lease.  The reset of
 * another database does, too, because its new incarnation makes limits
 * foreign.
 */
#define COMB_KEPT_LEASES	4

/* max(now, last + 1), taken from the counter */
static inline uint64
comb_ordered_step(void *arg)
{
	pg_atomic_uint64 *counter = comb_counter(COMB_SERIES_ORDERED);
	uint64		now = comb_clock_counts();
	uint64		last = pg_atomic_read_u64(counter);
	uint64		next;

	do
	{
		if (likely(now > last))
		{
			comb_check_jump(last, now);
			next = now;
		}
		else
		{
			next = last + 1;
			comb_check_drift(next, now);
		}
	} while (!pg_atomic_compare_exchange_u64(counter, &last, next));
	return next;
}

/*
 * comb_generate_ordered() returns uuid
 *
 * Returns a new UUIDv7 (RFC 9562, 5.7).  The key is larger than every key
 * that this function gave to any session of this server before the call.
 * This holds across restart, crash, failover and a clock set back.  Raises
 * 55000 on a standby, if the clock is behind by more than
 * pg_comb.max_ordered_drift, and if the clock jumped ahead by ten years.
 *
 * PARALLEL RESTRICTED.  The planner would evaluate a safe function below a
 * Gather Merge, and the keys of sorted rows would not be in the order of the
 * rows.  A worker raises 25000: its transaction ends before the leader's, so
 * comb_settled() could not tell when the keys become visible.
 */
Datum
comb_generate_ordered(PG_FUNCTION_ARGS)
{
	uint64		count = comb_lease_take(COMB_SERIES_ORDERED,
										comb_ordered_step, NULL);
	pg_uuid_t  *id = (pg_uuid_t *) palloc(UUID_LEN);

	comb_ordered_write(id->data, count, comb_random());
	PG_RETURN_UUID_P(id);
}

/*
 * Set the counters to "us", or to the clock where that is later, and begin a
 * new incarnation.  A session that has moved a counter reads the incarnation
 * afterwards, sees that it has ended, and drops the time.  The clock is read
 * after the end: it is then beyond all times taken from it before.
 */
static void
comb_reset_counters(const int64 *us, uint64 incarnation)
{
	int64		now;
	int			series;

	(void) comb_incarnation_end();
	COMB_INJECTION_POINT("comb-reset-words");
	now = GetCurrentTimestamp() - COMB_UNIX_EPOCH + 1;
	for (series = 0; series < COMB_SERIES; series++)
		pg_atomic_write_u64(comb_counter(series),
							comb_count_from_us(Max(us[series], now)));
	comb_incarnation_begin(incarnation);
}

/*
 * Where a series continues after a reset to "us".
 *
 * A series that is ahead by no more than what restarts and resets in other
 * databases leave is not set back.  Nothing would be gained, and Snowflakes
 * made under a clock that was right would repeat.
 *
 * A limit of an earlier incarnation counts as well, because no session may
 * have started beyond it yet.  It is ahead of the keys by the lease of its
 * time.  A limit of the incarnation that "ended" is ahead of the counter only
 * by times that no session has used.
 */
static int64
comb_reset_target(CombSeries series, int64 us, const CombPage *page,
				  uint64 ended)
{
	uint64		count = pg_atomic_read_u64(comb_counter(series));
	int64		last = comb_count_to_us(count) + 1;
	int64		kept = COMB_KEPT_LEASES * comb_lease_ms * COMB_US_PER_MS;

	if (page->incarnation != ended && page->value > last)
	{
		last = page->value;
		kept += COMB_LEASE_MAX_MS * COMB_US_PER_MS;
	}
	return last - us <= kept ? Max(last, us) : us;
}

/*
 * Give all limits of this database new values, and shared memory a new
 * incarnation.  The caller has locked the sequences.
 *
 * While the limits are written, shared memory has an interim incarnation that
 * no page carries.  Every session must therefore learn its lease anew, and
 * waits for the locks.  Otherwise a session could use a larger limit, read
 * earlier, that the page no longer covers.  Should the writing fail, sessions
 * start beyond whatever limits they find, with counters as they were.
 */
static void
comb_reset_limits(int64 at_us, uint64 interim, uint64 incarnation)
{
	int64		us[COMB_SERIES];
	uint64		ended = comb_incarnation_end();
	int			series;

	comb_incarnation_begin(interim);
	at_us = Max(at_us, comb_clock_us());
	for (series = 0; series < COMB_SERIES; series++)
	{
		CombPage	page;

		comb_page_open(&page, comb_lease_sequence(series),
					   ShareRowExclusiveLock);
		us[series] = comb_reset_target(series, at_us, &page, ended);
		comb_page_write(&page, us[series] + comb_lease_ms * COMB_US_PER_MS,
						incarnation);
		comb_page_close(&page, true);
	}
	comb_reset_counters(us, incarnation);
}

/*
 * comb_ordered_reset(at timestamptz)
 *
 * Lets the ordered keys and Snowflakes of the server continue after "at", or
 * after the clock if the clock is later, even if larger keys exist.  The
 * function is for the time after a clock that was far ahead.  Raises 22008
 * for a time further ahead of the clock than pg_comb.max_ordered_drift, and
 * 55000 on a standby.
 *
 * A series that is no more than COMB_KEPT_LEASES ahead stays where it is.
 * This database's limits are set back too.  Another database whose limit is
 * too far ahead still refuses to make keys, until somebody calls the function
 * there.
 *
 * All limits are locked before the first one changes, because the locking can
 * wait for other sessions, and can be cancelled.  The limits stay locked
 * until the new incarnation has begun.  Otherwise a session could write, in
 * between, the limit of a key from before.
 */
Datum
comb_ordered_reset(PG_FUNCTION_ARGS)
{
	TimestampTz at = PG_GETARG_TIMESTAMPTZ(0);
	TimestampTz latest = comb_lease_latest_us(comb_clock_us()) + COMB_UNIX_EPOCH;
	Oid			locked[COMB_SERIES];
	uint64		interim = comb_incarnation_new();
	uint64		incarnation = comb_incarnation_new();
	int			series;

	if (at > latest)
		ereport(ERROR,
				(errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
				 errmsg("time too far ahead of the clock"),
				 errdetail("\"pg_comb.max_ordered_drift\" allows times up to %s.",
						   comb_time_text(latest))));

	comb_shared_attach();
	for (series = 0; series < COMB_SERIES; series++)
		locked[series] = comb_sequence_lock(comb_lease_sequence(series),
											ShareRowExclusiveLock);
	HOLD_INTERRUPTS();
	comb_reset_limits(at - COMB_UNIX_EPOCH, interim, incarnation);
	RESUME_INTERRUPTS();
	for (series = 0; series < COMB_SERIES; series++)
		UnlockRelationOid(locked[series], ShareRowExclusiveLock);
	PG_RETURN_VOID();
}
