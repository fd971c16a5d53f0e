/*-------------------------------------------------------------------------
 *
 * comb_lease.h
 *	  Taking a time from a counter, under a limit that survives a crash.
 *
 * The rules that hold here are in the banner of comb_lease.c.
 *
 * Copyright (c) 2026, pg_comb developers
 *
 * IDENTIFICATION
 *	  src/comb_lease.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef COMB_LEASE_H
#define COMB_LEASE_H

#include "comb.h"
#include "comb_announce.h"
#include "comb_page.h"
#include "comb_shared.h"

/*
 * A clock that is this many seconds beyond the last key is taken for broken:
 * ten years.  Counters do not go back, so one start with such a clock would
 * use up decades of times.
 */
#define COMB_JUMP_S			UINT64CONST(315576000)

/*
 * What this process knows of a series' lease in its database.  Times below
 * "limit" may be handed out, as long as the incarnation and the generation of
 * the sequences are the same.  From "renew" on, which is at most "limit", the
 * process has to look after the next limit.
 */
typedef struct CombLease
{
	uint64		incarnation;
	uint64		generation;
	pg_atomic_uint64 *counter;	/* of the incarnation */
	uint64		renew;
	uint64		limit;			/* its record is on disk */
	uint64		next;			/* the next limit, or "limit" if unknown */
	XLogRecPtr	next_lsn;		/* the end of the record of "next" */
	uint64		durable;		/* a restart begins at this time or later */
} CombLease;

extern PGDLLEXPORT CombLease comb_leases[COMB_SERIES];

extern int64 comb_lease_latest_us(int64 now);
extern void comb_lease_learn(CombSeries series);
extern void comb_lease_write(CombPage *page, uint64 count, uint64 incarnation);
extern bool comb_lease_extend(CombSeries series, uint64 count);
extern uint64 comb_lease_survives(CombSeries series, uint64 count);
extern void comb_drift_error(uint64 next, uint64 now);
extern void comb_jump_error(uint64 last, uint64 now);

/* Is what this process knows of the lease still true? */
static inline bool
comb_lease_known(CombSeries series)
{
	const CombLease *lease = &comb_leases[series];

	return comb_shared != NULL &&
		lease->generation == comb_sequence_generation &&
		lease->incarnation == pg_atomic_read_u64(&comb_shared->incarnation.value);
}

/*
 * May a key of this time be handed out?  The incarnation is read again after
 * the counter was moved.  After a reset in between, the time is one of a
 * counter that is no longer in use.
 */
static inline bool
comb_lease_covers(CombSeries series, uint64 count)
{
	return count < comb_leases[series].limit && comb_lease_known(series);
}

/* The same for a time that leaves nothing to do about the next limit */
static inline bool
comb_lease_fresh(CombSeries series, uint64 count)
{
	return count < comb_leases[series].renew && comb_lease_known(series);
}

/*
 * The two checks of a new time against the clock.  Both come before the time
 * is taken, so a call that fails has not moved the counter.
 */
static inline void
comb_check_drift(uint64 next, uint64 now)
{
	if (unlikely(next > now && next - now >
				 (uint64) comb_max_ordered_drift * COMB_COUNTS_PER_S))
		comb_drift_error(next, now);
}

static inline void
comb_check_jump(uint64 last, uint64 now)
{
	/* nothing is known before the first key of a new database */
	if (unlikely(now - last > COMB_JUMP_S * COMB_COUNTS_PER_S && last != 0))
		comb_jump_error(last, now);
}

/*
 * Take a time from a series' counter, and return the time once the lease
 * covers it.  "step" moves the counter and returns the new time.  A time that
 * must be given up is lost, and the function takes another one.
 */
static pg_always_inline uint64
comb_lease_take(CombSeries series, uint64 (*step) (void *), void *arg)
{
	for (;;)
	{
		uint64		count;

		if (unlikely(!comb_lease_known(series)))
			comb_lease_learn(series);
		comb_announce_once(series, comb_leases[series].incarnation);
		count = step(arg);
		COMB_INJECTION_POINT("comb-lease-taken");
		if (likely(comb_lease_fresh(series, count)) ||
			(comb_lease_extend(series, count) &&
			 comb_lease_covers(series, count)))
			return count;
	}
}

/*
 * Write the ordered key of a time.  A millisecond has fewer counts than the
 * 18 bits have values, so two counts never become one key.  The bound of
 * comb_settled() has to come from the same arithmetic as the keys.
 */
static inline void
comb_ordered_write(unsigned char *id, uint64 count, uint64 random)
{
	uint64		below_ms = count % COMB_COUNTS_PER_MS;

	comb_v7_write(id, count / COMB_COUNTS_PER_MS,
				  (below_ms << COMB_TICK_BITS) / COMB_COUNTS_PER_MS, random);
}

#endif							/* COMB_LEASE_H */
