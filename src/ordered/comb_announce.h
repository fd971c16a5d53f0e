/*-------------------------------------------------------------------------
 *
 * comb_announce.h
 *	  Which transactions may still add rows with ordered keys or Snowflakes.
 *
 * Why readers may rely on this stands beside the functions of comb_announce.c.
 *
 * Copyright (c) 2026, pg_comb developers
 *
 * IDENTIFICATION
 *	  src/ordered/comb_announce.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef COMB_ANNOUNCE_H
#define COMB_ANNOUNCE_H

#include "access/xact.h"
#include "datatype/timestamp.h"
#include "utils/snapshot.h"

#include "comb_shared.h"

/* How many commits a seat remembers.  These reach back a million commits */
#define COMB_PAST			21

/*
 * A transaction of the seat announced "first", and the one before it was
 * "prev", which ended at "ended".  A snapshot that sees "prev" sees all
 * transactions of the seat with keys below "first".  "first" of an unused entry
 * is 0, which settles nothing.
 */
typedef struct CombPast
{
	pg_atomic_uint64 prev;		/* full xid of a top-level transaction */
	pg_atomic_uint64 ended;		/* a TimestampTz */
	pg_atomic_uint64 first;
} CombPast;

/* A backend is taking a time, and nobody can tell yet which */
#define COMB_TAKING			PG_UINT64_MAX

/*
 * What one backend announces for one series, and the history of its seat.
 * "pid", "role" and "start" are only for comb_unsettled(), "commits" only for
 * who writes.
 */
typedef struct CombSeat
{
	pg_atomic_uint64 first;		/* of the running transaction; 0 = none */
	pg_atomic_uint64 last;		/* full xid of the last commit; 0 = none */
	pg_atomic_uint64 ended;		/* when that was, a TimestampTz */
	pg_atomic_uint64 latest;	/* the last time taken, or COMB_TAKING */
	int32		pid;
	Oid			role;
	TimestampTz start;			/* of the running or prepared transaction */
	uint64		commits;
	pg_atomic_uint64 counted;	/* of prepared transactions, see comb_wait.c */
	CombPast	past[COMB_PAST];
} CombSeat;

/*
 * The seats of a database.  For each series there are places for all backends
 * of the server, by number, and then for all prepared transactions.  A place
 * leads to its seat once the seat was taken for the first time.
 */
typedef struct CombSeats
{
	/* seats from these numbers on were never taken: */
	pg_atomic_uint64 used;
	pg_atomic_uint64 used_prepared;
	dsa_pointer_atomic places[FLEXIBLE_ARRAY_MEMBER];
} CombSeats;

/*
 * A snapshot, with its xids completed, and a time.  The reader does not count on
 * commits from this time on, even if the snapshot sees them.
 */
typedef struct CombView
{
	Snapshot	snapshot;
	TimestampTz until;			/* or PG_INT64_MAX */
	uint64		next;			/* full xid that came next, read later */
	uint64		xmin;
	uint64		xmax;
} CombView;

extern CombSeats *comb_seats;
extern bool comb_announced[COMB_SERIES];
extern CommandId comb_announced_command[COMB_SERIES];
extern CombSeat *comb_own_seat[COMB_SERIES];

extern uint64 comb_next_full_xid(void);
extern uint64 comb_full_xid(TransactionId xid, uint64 next);
extern void comb_view_init(CombView *view, Snapshot snapshot);
extern bool comb_in_progress(const CombView *view, uint64 fxid);
extern void comb_seats_attach(void);
extern CombSeat *comb_seat(CombSeries series, uint32 number);
extern CombSeat *comb_prepared_seat(CombSeries series, uint32 number);
extern void comb_xact_callback(XactEvent event, void *arg);
extern void comb_announce(CombSeries series);

/*
 * Announce that the transaction is going to take times of this series, unless
 * the transaction has announced that already.
 */
static inline void
comb_announce_once(CombSeries series)
{
	if (unlikely(!comb_announced[series]))
		comb_announce(series);
}

/*
 * Say how far the times of the transaction reach: COMB_TAKING before the
 * compare-and-swap that takes a time, and the time after it.  "latest" of a seat
 * is thus never below a time that the seat's transactions have taken and that
 * the reader has found in the counter.
 */
static inline void
comb_announce_latest(CombSeries series, uint64 latest)
{
	pg_atomic_write_u64(&comb_own_seat[series]->latest, latest);
}

#endif							/* COMB_ANNOUNCE_H */
