/*-------------------------------------------------------------------------
 *
 * comb_announce.h
 *	  Which transactions may still add rows with ordered keys or Snowflakes.
 *
 * The rules that hold here are in the banner of comb_announce.c.
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

/*
 * How many commits a seat remembers.  With these a seat fills three cache
 * lines, and reaches back a million commits.
 */
#define COMB_PAST			21

/*
 * A transaction of the seat announced "first", and the one before it was
 * "prev".  A snapshot that sees "prev" sees all transactions of the seat with
 * keys below "first".  An unused entry has zeros, which settle nothing.
 */
typedef struct CombPast
{
	pg_atomic_uint64 prev;		/* full xid of a top-level transaction */
	pg_atomic_uint64 first;
} CombPast;

/*
 * What one backend announces for one series, and the history of its seat.
 * "pid" and "start" are only for comb_unsettled(), "commits" only for who
 * writes.
 *
 * A backend stays in its database, so the entries of the history need no
 * database of their own.
 */
typedef union CombSeat
{
	struct
	{
		pg_atomic_uint64 first; /* of the running transaction; 0 = none */
		pg_atomic_uint64 last;	/* full xid of the last commit; 0 = none */
		pg_atomic_uint64 before;	/* "last" when "database" changed */
		pg_atomic_uint32 database;
		int32		pid;
		TimestampTz start;		/* of the running or prepared transaction */
		uint64		commits;
		CombPast	past[COMB_PAST];
	}			s;
	char		pad[3 * PG_CACHE_LINE_SIZE];
} CombSeat;

StaticAssertDecl(sizeof(CombSeat) == 3 * PG_CACHE_LINE_SIZE,
				 "a seat has to fit into three cache lines");

/* First all seats of backends, then those of prepared transactions */
typedef struct CombSeats
{
	union
	{
		struct
		{
			uint64		started;	/* full xid that came next when the seats
									 * were made */
			/* seats from these numbers on were never taken: */
			pg_atomic_uint64 used;
			pg_atomic_uint64 used_prepared;
			uint32		nbackends;	/* seats of a series */
			uint32		nprepared;
		}			h;
		char		pad[PG_CACHE_LINE_SIZE];
	}			head;
	CombSeat	seats[FLEXIBLE_ARRAY_MEMBER];
} CombSeats;

/* A snapshot, with its xids completed */
typedef struct CombView
{
	Snapshot	snapshot;
	uint64		next;			/* full xid that came next, read later */
	uint64		xmin;
	uint64		xmax;
} CombView;

extern CombSeats *comb_seats;
extern bool comb_announced[COMB_SERIES];

extern uint64 comb_full_xid(TransactionId xid, uint64 next);
extern void comb_view_init(CombView *view, Snapshot snapshot);
extern bool comb_in_progress(const CombView *view, uint64 fxid);
extern Size comb_seats_size(void);
extern void comb_seats_attach(void);
extern void comb_at_end(XactEvent event, void *arg);
extern void comb_announce(CombSeries series);

/* Return a backend's seat */
static inline CombSeat *
comb_seat(CombSeries series, uint32 number)
{
	return &comb_seats->seats[series * comb_seats->head.h.nbackends + number];
}

/* Return a seat of prepared transactions */
static inline CombSeat *
comb_prepared_seat(CombSeats *seats, CombSeries series, uint32 number)
{
	return &seats->seats[COMB_SERIES * seats->head.h.nbackends +
						 series * seats->head.h.nprepared + number];
}

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

#endif							/* COMB_ANNOUNCE_H */
