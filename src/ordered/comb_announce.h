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

#include "port/pg_bitutils.h"
#include "utils/snapshot.h"

#include "comb_shared.h"

/*
 * How many committed transactions a seat remembers with their announcements,
 * and in how many slots it remembers others.  The writer may be overwriting
 * the oldest entry of the ring and one slot, so a reader relies on one less.
 * The two fill four cache lines.
 *
 * That is why an entry does not say in which database its transaction was.  A
 * backend stays in its database, so the seat says it.
 */
#define COMB_RING			9
#define COMB_SLOTS			20

/* A recent transaction */
typedef struct CombEnded
{
	uint64		fxid;			/* full xid of the top-level transaction */
	uint64		first;			/* none of its keys has an earlier time */
} CombEnded;

/* An older one */
typedef struct CombPast
{
	uint64		fxid;
	uint64		last;			/* the counter when it ended */
} CombPast;

/*
 * What one backend announces for one series.  "pid" is only for
 * comb_unsettled().
 */
typedef union CombSeat
{
	struct
	{
		pg_atomic_uint64 first; /* of the running transaction; 0 = none */
		pg_atomic_uint64 ended; /* how many have committed */
		pg_atomic_uint64 before;	/* full xid of the last one that had
									 * committed when "database" changed */
		pg_atomic_uint32 database;
		int32		pid;
		uint64		base;		/* the seat's first announcement; 0 = none */
		CombEnded	ring[COMB_RING];
		CombPast	slots[COMB_SLOTS];
	}			s;
	char		pad[4 * PG_CACHE_LINE_SIZE];
} CombSeat;

StaticAssertDecl(sizeof(CombSeat) == 4 * PG_CACHE_LINE_SIZE,
				 "a seat has to fit into four cache lines");

/* A prepared transaction in the list, until another one needs the entry */
typedef struct CombPrepared
{
	pg_atomic_uint64 fxid;		/* 0 = never used */
	uint64		first[COMB_SERIES]; /* 0 = none */
	Oid			database;
	Oid			role;
} CombPrepared;

/* A full xid that no transaction has: the entry is being overwritten */
#define COMB_PREPARED_BUSY	1

typedef struct CombSeats
{
	union
	{
		struct
		{
			uint64		started;	/* transactions prepared before the server
									 * started have smaller full xids */
			pg_atomic_uint64 dropped;	/* so have those that the list did not
										 * take or no longer has */
			pg_atomic_uint64 used;	/* seats from this number on were never
									 * taken */
			uint32		nseats; /* of each series */
			uint32		nprepared;
		}			h;
		char		pad[PG_CACHE_LINE_SIZE];
	}			head;
	CombSeat	seats[FLEXIBLE_ARRAY_MEMBER];	/* the prepared transactions
												 * follow */
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
extern bool comb_prepared_copy(uint32 number, CombPrepared *copy);
extern uint64 comb_unlisted_limit(void);
extern Size comb_seats_size(void);
extern void comb_seats_attach(void);
extern void comb_announce(CombSeries series);

/*
 * The slot of a seat's n-th commit: the number of zeros at the end of n.  Half
 * of the commits go to slot 0, and the latest commit in each slot stays.  So of
 * n commits the last two are there, and then ever fewer: a snapshot that is k
 * commits old sees one that is at most 3 k old.
 */
static inline uint32
comb_slot_of(uint64 n)
{
	return Min((uint32) pg_rightmost_one_pos64(n), COMB_SLOTS - 1);
}

static inline CombSeat *
comb_seat(CombSeries series, uint32 number)
{
	return &comb_seats->seats[series * comb_seats->head.h.nseats + number];
}

static inline CombPrepared *
comb_prepared(CombSeats *seats, uint32 number)
{
	return (CombPrepared *)
		&seats->seats[COMB_SERIES * seats->head.h.nseats] + number;
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
