/*-------------------------------------------------------------------------
 *
 * comb_shared.h
 *	  The words that all sessions of a server share, and this process's view
 *	  of the lease: what has to be inlined into the making of a key.
 *
 * The rules that hold here are in the banner of comb_shared.c.
 *
 * Copyright (c) 2026, pg_comb developers
 *
 * IDENTIFICATION
 *	  src/comb_shared.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef COMB_SHARED_H
#define COMB_SHARED_H

#include "port/atomics.h"
#include "storage/buf.h"
#include "storage/lockdefs.h"
#include "utils/relcache.h"

#include "comb_layout.h"

/*
 * A line is one series of ever larger times, with a word in shared memory and
 * a lease in every database.  Snowflakes have two: whoever asks for more ids
 * than a parameter set holds drives the line's word ahead of the clock, and
 * with a tick of a second or a day a handful of calls does it.  Sets as slow
 * as that share a line with each other only.
 */
typedef enum CombLine
{
	COMB_LINE_ORDERED,			/* uuid keys */
	COMB_LINE_SNOWFLAKE,		/* COMB_FAST_RATE ids a second or more */
	COMB_LINE_SLOW				/* Snowflakes of any other parameters */
} CombLine;

#define COMB_LINES			(COMB_LINE_SLOW + 1)

/*
 * Units of a word.  Ordered keys count in ticks.  Snowflakes count in 2^-8
 * us, 3.9 ns, because their epoch and their tick are whole microseconds of
 * the user's choice and no such number of ticks is whole.  Either unit is
 * shorter than any call that makes a key, and 64 bits of either last beyond
 * the year 4199, where the clock is refused.
 */
#define COMB_FINE_BITS		8
#define COMB_FINE_PER_MS	(UINT64CONST(1000) << COMB_FINE_BITS)
#define COMB_FINE_PER_S		(COMB_FINE_PER_MS * COMB_MS_PER_S)

/* Times on a page are microseconds since 1970, up to the clock's last one */
#define COMB_US_MAX			(COMB_TICKS_MAX_S * COMB_US_PER_S)

/*
 * A clock that stands this far beyond the last key is taken for broken, in
 * seconds: ten years.  Times are not taken back, so one start with a bad
 * clock would use up decades of them.
 */
#define COMB_LEAP_S			UINT64CONST(315576000)

/* One word on a cache line of its own */
typedef union CombWord
{
	pg_atomic_uint64 value;
	char		pad[PG_CACHE_LINE_SIZE];
} CombWord;

/*
 * Shared memory.  "life" is a random number, chosen anew whenever the words
 * start from nothing: when shared memory was made, or by comb_ordered_reset.
 */
typedef struct CombShared
{
	CombWord	life;
	CombWord	last[COMB_LINES];	/* time of the last key of each line */
} CombShared;

/* The life of no server, and one that is about to end */
#define COMB_LIFE_NONE		0
#define COMB_LIFE_ENDING	1

/*
 * What this process knows of a line's lease in its database: times below
 * "limit" may be handed out, as long as the server's life is "life".
 */
typedef struct CombLease
{
	uint64		life;
	uint64		limit;
} CombLease;

/*
 * Sequences: one for each line, numbered as they are, and the last instance
 * number that was claimed.
 */
#define COMB_SEQUENCE_CLAIM	COMB_LINES
#define COMB_SEQUENCES		(COMB_SEQUENCE_CLAIM + 1)

/* A sequence's page while it is locked, and what stands on it */
typedef struct CombPage
{
	Relation	relation;
	LOCKMODE	lockmode;
	Buffer		buffer;
	int64		value;			/* last_value, or what was promised if larger */
	uint64		life;			/* log_cnt */
} CombPage;

extern void comb_page_open(CombPage *page, int sequence, LOCKMODE lockmode);
extern void comb_page_write(CombPage *page, int64 value, uint64 life);
extern void comb_page_close(CombPage *page);

extern CombShared *comb_shared;
extern CombLease comb_leases[COMB_LINES];

extern uint64 comb_lease_renew(CombLine line, uint64 last);
extern void comb_drift_error(CombLine line, uint64 next, uint64 now);
extern void comb_leap_error(CombLine line, uint64 last, uint64 now);

/* Is what this process knows of the lease still true? */
static inline bool
comb_lease_known(CombLine line)
{
	return comb_shared != NULL &&
		comb_leases[line].life == pg_atomic_read_u64(&comb_shared->life.value);
}

/*
 * May a key of this time be handed out?  The life is looked at again, after
 * the word was moved: a reset in between may have set the word back, and the
 * time may then be one that was handed out before.
 */
static inline bool
comb_lease_covers(CombLine line, uint64 last)
{
	return last < comb_leases[line].limit && comb_lease_known(line);
}

/* Words to and from microseconds since 1970 */
static inline uint64
comb_word_from_us(CombLine line, int64 us)
{
	if (line != COMB_LINE_ORDERED)
		return (uint64) us << COMB_FINE_BITS;
	return comb_tick_from_time(us + COMB_UNIX_EPOCH);
}

static inline int64
comb_word_to_us(CombLine line, uint64 word)
{
	if (line != COMB_LINE_ORDERED)
		return (int64) (word >> COMB_FINE_BITS);
	return comb_time_from_tick(word) - COMB_UNIX_EPOCH;
}

static inline uint64
comb_units_per_s(CombLine line)
{
	return line == COMB_LINE_ORDERED ? COMB_TICKS_PER_S : COMB_FINE_PER_S;
}

/*
 * The two checks of a new time against the clock, made before it is taken, so
 * that a call which fails has not moved the word.
 */
static inline void
comb_check_drift(CombLine line, uint64 next, uint64 now)
{
	if (unlikely(next > now &&
				 next - now > (uint64) comb_max_ordered_drift *
				 comb_units_per_s(line)))
		comb_drift_error(line, next, now);
}

static inline void
comb_check_leap(CombLine line, uint64 last, uint64 now)
{
	/* nothing is known before the first key of a new database */
	if (unlikely(now - last > COMB_LEAP_S * comb_units_per_s(line) &&
				 last != 0))
		comb_leap_error(line, last, now);
}

#endif							/* COMB_SHARED_H */
