/*-------------------------------------------------------------------------
 *
 * comb_take.h
 *	  Taking a time from a counter, as both generators of keys do.
 *
 * Copyright (c) 2026, pg_comb developers
 *
 *-------------------------------------------------------------------------
 */
#ifndef COMB_TAKE_H
#define COMB_TAKE_H

#include "comb_order.h"

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
 * Prepare for taking a time from a series' counter.  If comb_lease_covers() is
 * false for the time, the caller must give it up and begin again.
 */
static inline void
comb_lease_begin(CombSeries series)
{
	if (unlikely(!comb_lease_known(series)))
		comb_lease_read(series, 0);
	if (unlikely(comb_own_seat[series] == NULL))
		comb_announce(series);
}

static inline bool
comb_lease_covers(CombSeries series, CombTime at)
{
	return likely(at < comb_leases[series].renew_at) ||
		comb_lease_extend(series, at);
}

#endif							/* COMB_TAKE_H */
