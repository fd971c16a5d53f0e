/*-------------------------------------------------------------------------
 *
 * comb_ordered.c
 *	  Keys that increase across all sessions of a server, even after a
 *	  restart, a crash, a failover, or when the clock is set back.
 *
 * Every key takes the time
 *
 *		last = max(now, last + 1)
 *
 * from a counter in shared memory by compare-and-swap.  There is no lock: a
 * session that loses the race tries again with the counter that another
 * session has advanced.  If a call returned before another one began, the
 * later one's key is therefore larger.  comb_lease.c makes the order survive
 * the loss of shared memory.
 *
 * Copyright (c) 2026, pg_comb developers
 *
 * IDENTIFICATION
 *	  src/ordered/comb_ordered.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "storage/lmgr.h"
#include "storage/lock.h"
#include "utils/timestamp.h"

#include "comb_lease.h"

PG_FUNCTION_INFO_V1(comb_generate_ordered);
PG_FUNCTION_INFO_V1(comb_ordered_reset);

/*
 * A reset does not set back a series that is at most this many leases ahead of
 * the clock.  A restart takes a series ahead by one lease.  So does a reset in
 * another database, after which sessions start beyond the limits of the
 * incarnation that it ended.
 */
#define COMB_KEPT_LEASES	4

/* Take max(now, last + 1) from the counter */
static inline CombTime
comb_ordered_step(void *arg)
{
	pg_atomic_uint64 *counter = comb_leases[COMB_SERIES_ORDERED].counter;
	CombTime	now = comb_clock_time();
	CombTime	last = pg_atomic_read_u64(counter);
	CombTime	next;

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
 * Returns a new UUIDv7 (RFC 9562, 5.7).  It is larger than every key that this
 * function returned to any session of this server before the call, even after
 * a restart, a crash, a failover, or when the clock is set back.  Raises 55000
 * on a standby, if the clock is behind by more than pg_comb.max_ordered_drift,
 * and if the clock jumped ahead by ten years.
 *
 * PARALLEL RESTRICTED.  The planner would evaluate a safe function below a
 * Gather Merge, and the keys of sorted rows would not be in the order of the
 * rows.  A worker raises 25000: its transaction ends before the leader's, so
 * comb_settled() could not tell when the keys become visible.
 */
Datum
comb_generate_ordered(PG_FUNCTION_ARGS)
{
	CombTime	at = comb_lease_take(COMB_SERIES_ORDERED, comb_ordered_step,
									 NULL);
	pg_uuid_t  *id = (pg_uuid_t *) palloc(UUID_LEN);

	comb_ordered_write(id->data, at, comb_random());
	PG_RETURN_UUID_P(id);
}

/*
 * Return where a series continues after a reset to "us", in microseconds since
 * 1970.  Sets *back if the series is set back.
 *
 * A series is not set back if restarts, and resets in other databases, can
 * explain how far ahead it is.  Nothing would be gained, and Snowflakes made
 * while the clock was right would repeat.
 *
 * A limit of an earlier incarnation counts as well, because perhaps no session
 * has started beyond it yet.  It is ahead of the keys by the lease of its
 * time.  A limit of this incarnation does not count: no session has used the
 * times between the counter and the limit.
 */
static int64
comb_reset_target(CombSeries series, int64 us, uint64 incarnation, bool *back)
{
	CombTime	at = pg_atomic_read_u64(comb_counter(series, incarnation));
	int64		last = comb_us_from_time(at) + 1;
	int64		kept = COMB_KEPT_LEASES * comb_lease_ms * COMB_US_PER_MS;
	CombPage	page;

	comb_page_open(&page, series, ShareRowExclusiveLock);
	comb_page_close(&page, false);
	if (page.incarnation != incarnation && page.value > last)
	{
		last = page.value;
		kept += COMB_LEASE_MAX_MS * COMB_US_PER_MS;
	}
	*back = (last - us > kept);
	return *back ? us : Max(last, us);
}

/*
 * Begin a new incarnation and return it.  Each series continues where
 * comb_reset_target() says.
 *
 * A series that is set back changes to its other counter.  No session hands
 * out a time of that counter: a session that has missed an earlier reset can
 * still advance it, but then drops the time.
 *
 * A series that is not set back keeps its counter.  Sessions of other
 * databases may be making keys right now, and the counter must not be set
 * below them.
 */
static uint64
comb_reset_counters(int64 us, uint64 ended)
{
	uint64		next;
	CombTime	target[COMB_SERIES];
	bool		back[COMB_SERIES];
	int			series;

	for (series = 0; series < COMB_SERIES; series++)
		target[series] = comb_time_from_us(comb_reset_target((CombSeries) series,
															 us, ended,
															 &back[series]));
	next = comb_incarnation_after(ended, back);
	COMB_INJECTION_POINT("comb-reset-words");
	for (series = 0; series < COMB_SERIES; series++)
	{
		pg_atomic_uint64 *counter = comb_counter((CombSeries) series, next);

		if (back[series])
			pg_atomic_write_u64(counter, target[series]);
		else
			(void) pg_atomic_monotonic_advance_u64(counter, target[series]);
	}
	COMB_INJECTION_POINT("comb-reset-change");
	comb_incarnation_change(next);
	return next;
}

/*
 * Write new limits for all series of this database.
 *
 * The incarnation has changed before, and no session of this database can
 * learn a lease until the sequences are unlocked.  Otherwise a session could
 * use a larger limit, read earlier, that the page no longer covers.
 *
 * A series that is not set back keeps its limit if that is larger.  Until the
 * incarnation changed, sessions could hand out keys up to this limit, and
 * pg_comb.lease may be shorter now.  The counter alone does not tell.  A
 * session moves the counter and then reads the incarnation, and this process
 * does it the other way round.  On AArch64 and Power, where an atomic exchange
 * does not keep a later read behind its own write, each can miss what the
 * other has done.
 *
 * If writing fails, sessions start beyond whatever limits they find.
 */
static void
comb_reset_limits(uint64 ended, uint64 next)
{
	int			series;

	for (series = 0; series < COMB_SERIES; series++)
	{
		pg_atomic_uint64 *counter = comb_counter((CombSeries) series, next);
		bool		kept = (counter == comb_counter((CombSeries) series, ended));
		CombPage	page;
		int64		limit;

		comb_page_open(&page, (CombSeries) series,
					   ShareRowExclusiveLock);
		limit = comb_lease_limit(pg_atomic_read_u64(counter));
		if (kept)
			limit = Max(limit, page.value);
		comb_page_write(&page, limit, next);
		comb_page_close(&page, true);
	}
}

/*
 * Lock out resets in other databases, which use the same counters.  The lock's
 * tag ends with 3.  PostgreSQL's own functions for advisory locks write 1 or 2
 * there, so they cannot take this lock.
 */
static void
comb_reset_lock(LOCKTAG *tag)
{
	SET_LOCKTAG_ADVISORY(*tag, InvalidOid, 0, 0, 3);
	(void) LockAcquire(tag, ExclusiveLock, false, false);
}

/*
 * comb_ordered_reset(at timestamptz)
 *
 * Lets the ordered keys and Snowflakes of the server continue after "at" or
 * the clock, whichever is later, even if larger keys exist.  This is for use
 * after correcting a clock that was far ahead.  Raises 22008 for a time
 * further ahead of the clock than pg_comb.max_ordered_drift, and 55000 on a
 * standby.
 *
 * A series that is no more than COMB_KEPT_LEASES ahead stays where it is.
 * This database's limits are set back too.  Another database whose limit is
 * too far ahead refuses to make keys until somebody calls this function there.
 *
 * All limits are locked before the first one changes, because locking can wait
 * for other sessions, and can be cancelled.  The lock against other resets
 * comes last, and so is held only for a moment.  The limits stay locked until
 * they are written.  Otherwise a session could write the limit of an earlier
 * key in between.
 */
Datum
comb_ordered_reset(PG_FUNCTION_ARGS)
{
	TimestampTz at = PG_GETARG_TIMESTAMPTZ(0);
	TimestampTz latest = comb_lease_latest_us(comb_clock_us()) + COMB_UNIX_EPOCH;
	Oid			locked[COMB_SERIES];
	LOCKTAG		tag;
	uint64		ended;
	int64		us;
	int			series;

	if (at > latest)
		ereport(ERROR,
				(errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
				 errmsg("time too far ahead of the clock"),
				 errdetail("\"pg_comb.max_ordered_drift\" allows times up to %s.",
						   comb_time_text(latest))));

	comb_shared_attach();
	for (series = 0; series < COMB_SERIES; series++)
		locked[series] = comb_sequence_lock((CombSeries) series,
											ShareRowExclusiveLock);
	comb_reset_lock(&tag);
	HOLD_INTERRUPTS();
	us = Max(at - COMB_UNIX_EPOCH, comb_clock_us());
	ended = comb_incarnation_current();
	comb_reset_limits(ended, comb_reset_counters(us, ended));
	RESUME_INTERRUPTS();
	(void) LockRelease(&tag, ExclusiveLock, false);
	for (series = 0; series < COMB_SERIES; series++)
		UnlockRelationOid(locked[series], ShareRowExclusiveLock);
	PG_RETURN_VOID();
}
