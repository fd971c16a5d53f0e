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
 *	  src/ordered/comb_lease.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef COMB_LEASE_H
#define COMB_LEASE_H

#include "comb.h"
#include "comb_announce.h"
#include "comb_sequence.h"
#include "comb_shared.h"

/*
 * A clock that is ten years beyond the last key is considered broken.
 * Counters do not go back, so a single start with such a clock would use up
 * decades of times.
 */
#define COMB_JUMP_S			UINT64CONST(315576000)

/*
 * What this process has read of a series' lease in its database.
 *
 * Times below limit_flushed may be handed out.  From renew_at on, which is at
 * most limit_flushed, comb_lease_extend() has something to do.
 */
typedef struct CombLease
{
	uint64		generation;		/* comb_sequence_generation; 0 = unknown */
	CombTime	renew_at;
	CombTime	limit_flushed;	/* 0 = none of this incarnation */
	CombTime	limit_written;	/* perhaps in memory only */
	XLogRecPtr	written_lsn;	/* the end of its record */
	CombTime	limit_durable;	/* a restart begins at this time or later */
} CombLease;

extern PGDLLEXPORT CombLease comb_leases[COMB_SERIES];

extern int64 comb_lease_latest_us(int64 now);
extern void comb_lease_read(CombSeries series, CombTime at);
extern bool comb_lease_extend(CombSeries series, CombTime at);
extern bool comb_lease_survives(CombSeries series, CombTime *at);
extern void comb_drift_error(CombTime next, CombTime now);
extern void comb_jump_error(CombTime last, CombTime now);

/* Has this process read the lease, and is the sequence still the same? */
static inline bool
comb_lease_known(CombSeries series)
{
	return comb_leases[series].generation == comb_sequence_generation;
}

/*
 * Check a new time against the clock.  Both checks come before the time is
 * taken, so a call that fails has not moved the counter.
 */
static inline void
comb_check_drift(CombTime next, CombTime now)
{
	if (unlikely(next > now && next - now >
				 (uint64) comb_max_ordered_drift * COMB_TIME_PER_S))
		comb_drift_error(next, now);
}

static inline void
comb_check_jump(CombTime last, CombTime now)
{
	/* nothing is known before the first key of a new database */
	if (unlikely(now - last > COMB_JUMP_S * COMB_TIME_PER_S && last != 0))
		comb_jump_error(last, now);
}

/*
 * Prepare for taking a time from a series' counter.  The caller takes it, and
 * may use it if comb_lease_covers() says so.  If not, the caller must give the
 * time up and begin again.
 */
static inline void
comb_lease_begin(CombSeries series)
{
	if (unlikely(!comb_lease_known(series)))
		comb_lease_read(series, 0);
	comb_announce_once(series);
	comb_announce_latest(series, COMB_TAKING);
}

static inline bool
comb_lease_covers(CombSeries series, CombTime at)
{
	COMB_INJECTION_POINT("comb-lease-taken");
	comb_announce_latest(series, at);
	return likely(at < comb_leases[series].renew_at) ||
		comb_lease_extend(series, at);
}

#endif							/* COMB_LEASE_H */
