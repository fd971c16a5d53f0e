/*-------------------------------------------------------------------------
 *
 * comb_clock.h
 *	  The clock, its units, and random bits: what every key is made of.
 *
 * Instants are int64 microseconds since 2000-01-01 00:00 UTC, which is
 * PostgreSQL's TimestampTz.  Keys need finer units, counted from 1970 in
 * unsigned 64-bit numbers:
 *
 * - CombTime, 2^-8 us or 3.9 ns, the unit of all counters.  It is shorter than
 *	 any call that makes a key, so adding one for each key never gets ahead of
 *	 a running clock.  Time limits and the parameters of Snowflakes are in
 *	 microseconds, so they are whole numbers of it.
 * - Comb100ns, 100 ns, for the layouts that have this unit.
 *
 * 64 bits of CombTime end in the year 4253.  We reject the clock from 4199 on.
 *
 * Copyright (c) 2026, pg_comb developers
 *
 *-------------------------------------------------------------------------
 */
#ifndef COMB_CLOCK_H
#define COMB_CLOCK_H

#include <time.h>				/* for clock_gettime() */

#include "datatype/timestamp.h"
#include "miscadmin.h"
#include "port/atomics.h"

typedef uint64 CombTime;		/* since 1970 */
typedef uint64 Comb100ns;		/* since 1970 */

#define COMB_US_PER_MS			INT64CONST(1000)
#define COMB_NS_PER_US			1000
#define COMB_MS_PER_S			1000

/* 1970-01-01 as an instant */
#define COMB_UNIX_EPOCH			((UNIX_EPOCH_JDATE - POSTGRES_EPOCH_JDATE) * USECS_PER_DAY)

#define COMB_100NS_PER_US		10
#define COMB_100NS_PER_MS		(COMB_100NS_PER_US * COMB_US_PER_MS)
#define COMB_100NS_PER_S		(COMB_100NS_PER_US * USECS_PER_SEC)

/* Seconds from 1601, when the clock of Windows starts, to 1970 */
#define COMB_WINDOWS_EPOCH_S	INT64CONST(11644473600)

/* CombTime: bits below the microsecond, and units in a millisecond or second */
#define COMB_TIME_BITS			8
#define COMB_TIME_PER_US		(UINT64CONST(1) << COMB_TIME_BITS)
#define COMB_TIME_PER_MS		(UINT64CONST(1000) << COMB_TIME_BITS)
#define COMB_TIME_PER_S			(COMB_TIME_PER_MS * COMB_MS_PER_S)

/* Bits of a UUIDv7 for its tick, the position in the millisecond */
#define COMB_TICK_BITS			18

/*
 * The clock's last second.  There is room for 2^46 ms of CombTime, and for
 * pg_comb.max_drift after them.
 */
#define COMB_CLOCK_MAX_S		(((INT64CONST(1) << 46) / COMB_MS_PER_S) - 1)
#define COMB_CLOCK_MAX_US		(COMB_CLOCK_MAX_S * USECS_PER_SEC)

/*
 * Return a position in a time unit in ticks of 2^-18 ms.  A millisecond has
 * 2^18 ticks and 2^11 * 125 units of CombTime, so two positions never become
 * one tick.  Positions are below 2^20: no unit with ticks is longer than 4 ms.
 */
static inline uint32
comb_tick(CombTime position)
{
	return ((uint32) position << (COMB_TICK_BITS - 11)) / 125;
}

/* Convert microseconds since 1970 to CombTime, and back, rounded down */
static inline CombTime
comb_time_from_us(int64 us)
{
	return (CombTime) us << COMB_TIME_BITS;
}

static inline int64
comb_us_from_time(CombTime at)
{
	return (int64) (at >> COMB_TIME_BITS);
}

/* comb_clock.c */
extern void comb_clock_error(void);
extern void comb_pool_fill(void);

/*
 * Read the clock.  Raises 22008 before 1970 and after 4199.
 *
 * The coarse clock would be cheaper, but lags by up to 4 ms.
 * GetCurrentTimestamp() would drop the nanoseconds, and gettimeofday() of
 * Windows has only 32 bits of seconds.
 */
static inline CombTime
comb_clock_time(void)
{
	int64		sec;
	uint64		nsec;

#ifdef WIN32
	FILETIME	now;
	uint64		time;

	GetSystemTimePreciseAsFileTime(&now);
	time = ((uint64) now.dwHighDateTime << 32) | now.dwLowDateTime;
	sec = (int64) (time / COMB_100NS_PER_S) - COMB_WINDOWS_EPOCH_S;
	nsec = time % COMB_100NS_PER_S * 100;
#else
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	sec = now.tv_sec;
	nsec = now.tv_nsec;
#endif

	if (unlikely(sec < 0 || sec > COMB_CLOCK_MAX_S))
		comb_clock_error();
	return (uint64) sec * COMB_TIME_PER_S +
		(nsec << COMB_TIME_BITS) / COMB_NS_PER_US;
}

static inline int64
comb_clock_us(void)
{
	return comb_us_from_time(comb_clock_time());
}

/* Most of the cost of pg_strong_random() does not depend on the number */
#define COMB_POOL_SIZE	16384

/*
 * The random bytes not yet used are bytes[used..].  Only the process that drew
 * them may use them: a forked child inherits the bytes, but has another
 * process id than "owner".  Used bytes are set to zero, so that a core dump or
 * a bug that reads this memory tells nothing about keys already made.
 */
typedef struct CombPool
{
	int			owner;			/* MyProcPid of the process that filled it */
	int			used;
	unsigned char bytes[COMB_POOL_SIZE];
} CombPool;

extern CombPool comb_pool;

/* Return eight random bytes, which are never returned again */
static inline uint64
comb_random(void)
{
	uint64		random;

	if (unlikely(comb_pool.used > COMB_POOL_SIZE - (int) sizeof(random) ||
				 comb_pool.owner != MyProcPid))
		comb_pool_fill();
	memcpy(&random, comb_pool.bytes + comb_pool.used, sizeof(random));
	memset(comb_pool.bytes + comb_pool.used, 0, sizeof(random));
	/* the compiler must not drop a store that nobody reads */
	pg_compiler_barrier();
	comb_pool.used += sizeof(random);
	return random;
}

#endif							/* COMB_CLOCK_H */
