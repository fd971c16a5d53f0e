/*-------------------------------------------------------------------------
 *
 * comb_lease.c
 *	  Order that survives: limits of times, written ahead of the keys.
 *
 * Ordered keys and Snowflakes take their times from counters in shared
 * memory, by compare-and-swap (comb_ordered.c, comb_snowflake_generate.c).
 * Shared memory does not survive a crash, and the clock cannot be trusted after
 * one.  A key is therefore handed out only if a limit above its time is already
 * in the WAL, and a server continues beyond the limit that it finds.
 *
 * The limit is on the page of a sequence, in microseconds since 1970
 * (comb_sequence.c).  A commit that contains a key is later in the WAL than the
 * limit that covers the key.  A client can also see a key before any commit,
 * so the limit's record must be on disk.
 *
 * Sessions normally do not wait for the disk.  Once half of a lease is used,
 * one session writes the next limit without flushing its record, and all
 * sessions go on under the limit that is on disk.  By the time they reach it,
 * the WAL writer or somebody's commit has usually flushed the next limit.  If
 * not, they flush it themselves, and so does a session that reads the page for
 * the first time.  An idle server renews nothing: only a key in the second half
 * of a lease does.
 *
 * If an earlier incarnation of the server wrote the limit that a session finds,
 * keys up to the limit may exist, and the session must start beyond it.  If this
 * incarnation wrote it, the session must not, or each new session would push the
 * counter one lease ahead of the clock.  So the database's shared memory has a
 * random number, its incarnation, and the page has the one with which the limit
 * was written.  A copy of a database begins with an incarnation that is not its
 * own, so it starts beyond the limit, too.
 *
 * What a process may rely on:
 * - Counters only grow, and an incarnation lasts as long as shared memory.
 * - Sessions write the page under the buffer's exclusive lock and a
 *	 RowExclusiveLock on the sequence.
 * - While the server runs, the limit on a page only grows, unless somebody
 *	 writes the sequence by other means.
 *
 * Copyright (c) 2026, pg_comb developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xlog.h"

#include "comb_order.h"

/* See comb_lease_step_over() */
#define COMB_NEAR_LEASES	10

CombLease	comb_leases[COMB_NSERIES];

/* Return microseconds since 1970 as text, for messages */
static char *
comb_us_text(int64 us)
{
	return comb_time_text(us + COMB_UNIX_EPOCH);
}

void
comb_drift_error(CombTime next, CombTime now)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("the next key would be too far ahead of the clock"),
			 errdetail("Its time would be %s, and the clock now is %s; \"pg_comb.max_ordered_drift\" allows keys to be %d s ahead.",
					   comb_us_text(comb_us_from_time(next)),
					   comb_us_text(comb_us_from_time(now)),
					   comb_max_ordered_drift),
			 errhint("Correct the server's clock, raise \"pg_comb.max_ordered_drift\", or have comb_ordered_reset() called and restart the server if keys were made under a clock far ahead.  If the clock was right, sessions asked for too many Snowflakes: make fewer.")));
}

void
comb_jump_error(CombTime last, CombTime now)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("the clock is more than ten years ahead of the last key"),
			 errdetail("The time of the last key or of the limit for it was %s, and the clock now is %s.",
					   comb_us_text(comb_us_from_time(last)),
					   comb_us_text(comb_us_from_time(now))),
			 errhint("Correct the server's clock, or have comb_ordered_reset() called and restart the server if the clock is right.")));
}

/* Return the last time, in us since 1970, that a key may have at "now" */
int64
comb_lease_latest_us(int64 now)
{
	return Min(now + comb_max_ordered_drift * USECS_PER_SEC, COMB_CLOCK_MAX_US);
}

/*
 * Raise 55000 if this incarnation may not continue after the limit of a page:
 * the series is being reset, or another incarnation left a limit that is further
 * ahead of the clock than keys may be.  A clock that is too far beyond the limit
 * is refused here, too: the server's counter of Snowflakes may come from a
 * database without keys, which accepts any clock.
 */
static void
comb_lease_check(const CombPage *page)
{
	int64		limit = page->value;
	int64		now;

	if (page->incarnation == comb_database->incarnation)
		return;
	if (page->incarnation == (comb_database->incarnation | COMB_RESET_MARK))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("the limits of this database were reset"),
				 errdetail("Keys are to continue after %s.",
						   comb_us_text(limit)),
				 errhint("Restart the server to finish the reset.")));
	now = comb_clock_us();
	if (limit > 0 && now - limit > (int64) (COMB_JUMP_S * USECS_PER_SEC))
		comb_jump_error(comb_time_from_us(limit), comb_time_from_us(now));
	if (limit < 0 || limit > comb_lease_latest_us(now))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("keys were made in this database under a clock too far ahead"),
				 errdetail("They can have times up to %s, and the clock now is %s; \"pg_comb.max_ordered_drift\" allows keys to be %d s ahead.",
						   comb_us_text(limit), comb_us_text(now),
						   comb_max_ordered_drift),
				 errhint("Correct the server's clock, raise \"pg_comb.max_ordered_drift\", or have comb_ordered_reset() called in this database and restart the server.")));
}

/* A limit as a time of keys.  setval() can have written any number */
static CombTime
comb_limit_time(int64 limit)
{
	return comb_time_from_us(Min(Max(limit, 0), COMB_CLOCK_MAX_US));
}

static uint64
comb_lease_half(void)
{
	return (uint64) comb_lease_ms * COMB_TIME_PER_MS / 2;
}

/*
 * Set when this process has to look after the next limit: when half of the
 * lease is used or, if the next limit is in the WAL already, at the end of
 * the lease.
 */
static void
comb_lease_schedule(CombLease *lease)
{
	CombTime	limit = lease->limit_flushed;
	uint64		half = comb_lease_half();

	if (lease->limit_written > limit || limit < half)
		lease->renew_at = limit;
	else
		lease->renew_at = limit - half;
}

/*
 * Continue after the limit of another incarnation.
 *
 * Such a limit is at most a lease ahead of the last key.  The server's counter
 * of Snowflakes follows limits that are not further ahead of the clock than
 * some restarts in a row would put them.  So ids of two databases stay
 * different after a restart.  A limit that is further ahead was set by hand or
 * comes from a wrong clock, and is a matter of its database.  So is one of long
 * ago: with it the owner of a database could set the counter, which is 0 after a
 * start, to a time from which the clock soon seems to have jumped.
 */
static void
comb_lease_step_over(CombSeries series, CombTime limit)
{
	CombTime	now = comb_clock_time();
	CombTime	near = now +
		COMB_NEAR_LEASES * (uint64) comb_lease_ms * COMB_TIME_PER_MS;

	(void) pg_atomic_monotonic_advance_u64(comb_counter(series), limit);
	if (series == COMB_SERIES_SNOWFLAKE && limit <= near &&
		limit + COMB_JUMP_S / 2 * COMB_TIME_PER_S >= now)
		(void) pg_atomic_monotonic_advance_u64(&comb_shared->snowflake.value,
											   limit);
}

/* Return the limit to write for keys from "at" on, in microseconds since 1970 */
static int64
comb_lease_limit(CombTime at)
{
	return comb_us_from_time(at) + comb_lease_ms * COMB_US_PER_MS;
}

/*
 * Read the lease of a series from its page.  If "at", a time just taken from
 * the counter, is beyond the limit, write the next limit.  With 0 for "at"
 * nothing is written.  If another incarnation wrote a limit that is not below "at",
 * the counter moves there, and the lease does not cover "at".  Raises 55000 as
 * comb_lease_check() does.
 *
 * The generation is read while the sequence is locked, so a later change of
 * the sequence makes the lease unknown again.
 */
void
comb_lease_read(CombSeries series, CombTime at)
{
	CombLease  *lease = &comb_leases[series];
	CombPage	page;
	uint64		generation;
	bool		own;

	/* generators come here again for each time that they give up */
	CHECK_FOR_INTERRUPTS();
	lease->generation = 0;
	comb_shared_attach();
	(void) comb_page_open(&page, series, COMB_PAGE_WRITE);
	generation = comb_sequence_generation;
	comb_lease_check(&page);
	if (at > comb_limit_time(page.value))
		comb_page_write(&page, comb_lease_limit(at), comb_database->incarnation);
	comb_page_flush(&page);
	own = (page.incarnation == comb_database->incarnation);
	lease->limit_durable = comb_limit_time(page.value);
	if (!own)
		comb_lease_step_over(series, lease->limit_durable);
	comb_page_close(&page);
	lease->generation = generation;
	lease->limit_flushed = own ? lease->limit_durable : 0;
	lease->limit_written = lease->limit_flushed;
	comb_lease_schedule(lease);
}

/*
 * Write the next limit while the lease still covers "at".
 *
 * Nobody waits here, neither for a lock nor for the disk.  If a lock is
 * taken, another session is about to write the limit, so look again when half
 * of the rest is used.  The WAL writer flushes the record in the background.
 */
static void
comb_lease_renew(CombSeries series, CombTime at)
{
	CombLease  *lease = &comb_leases[series];
	CombPage	page;
	bool		write;

	lease->renew_at = lease->limit_flushed - (lease->limit_flushed - at) / 2;
	COMB_INJECTION_POINT("comb-lease-ahead");
	if (!comb_page_open(&page, series, COMB_PAGE_WRITE_NOWAIT))
		return;
	if (page.incarnation != comb_database->incarnation || !comb_lease_known(series))
	{
		lease->generation = 0;
		comb_page_close(&page);
		return;
	}
	write = at + comb_lease_half() >= comb_time_from_us(page.value);
	if (write)
		comb_page_write(&page, comb_lease_limit(at), page.incarnation);
	comb_page_close(&page);
	lease->limit_written = comb_limit_time(page.value);
	lease->written_lsn = page.lsn;
	comb_lease_schedule(lease);
	COMB_INJECTION_POINT("comb-lease-ahead-written");
	if (write)
		XLogSetAsyncXactLSN(page.lsn);
}

/*
 * Make sure that the lease of a series covers "at", a time just taken from
 * the counter and not handed out yet, and renew the lease if it is time to.
 * False if the caller must give the time up.
 */
bool
comb_lease_extend(CombSeries series, CombTime at)
{
	CombLease  *lease = &comb_leases[series];

	if (at >= lease->limit_flushed && at < lease->limit_written)
	{
		/* the record of the next limit has usually been on disk for a while */
		COMB_INJECTION_POINT("comb-lease-advance");
		XLogFlush(lease->written_lsn);
		lease->limit_flushed = lease->limit_written;
		lease->limit_durable = Max(lease->limit_durable,
								   lease->limit_flushed);
		comb_lease_schedule(lease);
	}
	if (at >= lease->limit_flushed)
	{
		COMB_INJECTION_POINT("comb-lease-renew");
		comb_lease_read(series, at);
	}
	else if (at >= lease->renew_at)
		comb_lease_renew(series, at);
	return at < lease->limit_flushed;
}

/*
 * Lower "at" to the time from which a restart of the server could give this
 * database keys.  The lease must be known.
 *
 * The counter can be far beyond this database's limit: other databases have
 * moved that of Snowflakes, and so have sessions that were cancelled while they
 * waited for their limit.  Every key that was handed out is below a limit on
 * disk, so the result is beyond all keys of this database that were handed out
 * and are below "at".
 *
 * A session that only reads renews no lease, so it has to look for the limits
 * that others have written.  It must not wait for a lock here.  If somebody
 * has locked the sequence, the result is the limit that this process has read,
 * and the reader's next query finds more.  Returns false in this case: there can
 * be keys beyond the result.
 */
bool
comb_lease_survives(CombSeries series, CombTime *at)
{
	CombLease  *lease = &comb_leases[series];
	CombPage	page;
	bool		looked = true;

	if (*at > lease->limit_durable)
	{
		looked = comb_page_open(&page, series, COMB_PAGE_READ_NOWAIT);
		if (looked)
		{
			comb_page_flush(&page);
			comb_page_close(&page);
			lease->limit_durable = Max(lease->limit_durable,
									   comb_limit_time(page.value));
		}
	}
	*at = Min(*at, lease->limit_durable);
	return looked;
}
