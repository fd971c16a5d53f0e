/*-------------------------------------------------------------------------
 *
 * comb_generate.c
 *	  Clock, ticks and randomness: keys that one process makes.
 *
 * Time and counter of a key are one number, the tick (comb_layout.h).  A key
 * takes the clock's tick, or the one after the last key's where the clock has
 * not passed that:
 *
 *		last = max(now, last + 1)
 *
 * so keys of a process never repeat a tick, never sort before an earlier one
 * and never lag behind the clock.  The alternative that most generators use,
 * a counter that starts at a random number in each millisecond, was measured:
 * with 16 sessions inserting at once it leaves the primary key's index at 64 %
 * leaf density, because the sessions' keys of a millisecond interleave at
 * random; starting at the clock's own position leaves 90 %, as with a bigint
 * sequence.  And a random start can overflow, a tick cannot.
 *
 * All state here belongs to the process.  The order promise is therefore one
 * per process: a parallel query's workers keep it each for itself.
 *
 * Copyright (c) 2026, pg_comb developers
 *
 * IDENTIFICATION
 *	  src/comb_generate.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <time.h>				/* for clock_gettime() */
#ifdef _MSC_VER
#include <sys/time.h>			/* for PostgreSQL's own gettimeofday() */
#endif

#include "funcapi.h"
#include "miscadmin.h"
#include "port/atomics.h"
#include "utils/timestamp.h"

#include "comb.h"

PG_FUNCTION_INFO_V1(comb_generate);
PG_FUNCTION_INFO_V1(comb_at);
PG_FUNCTION_INFO_V1(comb_clock_status);

/*
 * Invariant: last >= clock.  "clock" is only kept to tell a clock that was
 * set back from one that merely has not moved since the last key.
 */
typedef struct CombTicks
{
	uint64		last;			/* tick of the last key */
	uint64		clock;			/* the clock when that key was made */
	int64		steps_back;		/* how often the clock was seen to go back */
	int64		resets;			/* how often keys followed it back */
} CombTicks;

static CombTicks comb_ticks;

/*
 * pg_strong_random() costs about 1.5 us however little is asked of it, a
 * block of 4 kB 2.2 us: 4 ns a key.  Larger blocks gain nothing that could be
 * measured and take more of the cache.
 */
#define COMB_POOL_SIZE	4096

/*
 * Random bytes not used yet are pool[used..].  They are only good for the
 * process that drew them: a forked child inherits the bytes but not the
 * number in "owner".  Bytes once used are zeros, so that a core dump or a bug
 * that reads this memory tells nothing about keys already made.
 */
typedef struct CombPool
{
	int			owner;			/* MyProcPid of the process that filled it */
	int			used;
	unsigned char bytes[COMB_POOL_SIZE];
} CombPool;

static CombPool comb_pool;

/* Not inlined: once in 512 keys, and the fast path should stay small */
static pg_noinline void
comb_pool_fill(void)
{
	/* empty, should the source fail */
	comb_pool.used = COMB_POOL_SIZE;
	if (!pg_strong_random(comb_pool.bytes, COMB_POOL_SIZE))
		ereport(ERROR,
				(errcode(ERRCODE_INTERNAL_ERROR),
				 errmsg("could not generate random values")));
	comb_pool.owner = MyProcPid;
	comb_pool.used = 0;
}

/* Eight random bytes that nobody has seen or will see again */
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

/*
 * The clock in ticks since 1970.  CLOCK_REALTIME and not the coarse clock,
 * which is four times cheaper and 4 ms late; GetCurrentTimestamp() would lose
 * what lies below the microsecond.
 */
static inline uint64
comb_clock(void)
{
	int64		sec;
	uint64		nsec;

#ifdef _MSC_VER
	struct timeval now;

	gettimeofday(&now, NULL);
	sec = now.tv_sec;
	nsec = (uint64) now.tv_usec * 1000;
#else
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	sec = now.tv_sec;
	nsec = now.tv_nsec;
#endif

	if (unlikely(sec < 0 || sec > COMB_TICKS_MAX_S))
		ereport(ERROR,
				(errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
				 errmsg("the system clock is out of range for keys"),
				 errdetail("Keys can be made from 1970 to the year 4199."),
				 errhint("Correct the server's clock.")));

	return (uint64) sec * COMB_TICKS_PER_S +
		(nsec << COMB_TICK_BITS) / COMB_NS_PER_MS;
}

/* The instant of a tick, rounded down to the microsecond */
static TimestampTz
comb_tick_time(uint64 tick)
{
	return COMB_UNIX_EPOCH +
		(int64) (tick >> COMB_TICK_BITS) * COMB_US_PER_MS +
		(int64) (((tick & COMB_TICK_MASK) * COMB_US_PER_MS) >> COMB_TICK_BITS);
}

/*
 * The clock has not passed the last key: count on from there, unless that
 * would take the keys further ahead of the clock than pg_comb.max_drift.
 * Then true times matter more than order, and the clock is followed again;
 * that no key comes twice then rests on its random bits.
 */
static pg_noinline uint64
comb_tick_behind(uint64 now)
{
	uint64		last = comb_ticks.last;
	uint64		ahead_ms = (last + 1 - now) >> COMB_TICK_BITS;

	if (now < comb_ticks.clock)
		comb_ticks.steps_back++;
	comb_ticks.clock = now;

	if (likely(ahead_ms <= (uint64) comb_max_drift))
		return comb_ticks.last = last + 1;

	comb_ticks.last = now;
	if (comb_ticks.resets++ == 0)
		ereport(WARNING,
				(errmsg("the clock went back, and new keys sort before earlier ones of this process"),
				 errdetail("The last key's time was %s, and the clock now is %s; pg_comb.max_drift allows keys to be " UINT64_FORMAT " ms ahead.",
						   comb_time_text(comb_tick_time(last)),
						   comb_time_text(comb_tick_time(now)),
						   (uint64) comb_max_drift),
				 errhint("Check the server's clock synchronization.")));
	return now;
}

/* The tick of the next key of this process */
static inline uint64
comb_next_tick(void)
{
	uint64		now = comb_clock();

	if (unlikely(now <= comb_ticks.last))
		return comb_tick_behind(now);
	comb_ticks.clock = now;
	return comb_ticks.last = now;
}

/*
 * comb_generate() returns uuid
 *
 * A new UUIDv7 (RFC 9562, 5.7 and 6.2 method 3), larger than every one that
 * this process made before unless the clock was set back by more than
 * pg_comb.max_drift.
 */
Datum
comb_generate(PG_FUNCTION_ARGS)
{
	uint64		tick = comb_next_tick();
	uint64		random = comb_random();
	pg_uuid_t  *id = (pg_uuid_t *) palloc(UUID_LEN);

	comb_v7_write(id->data, tick, random);
	PG_RETURN_UUID_P(id);
}

/*
 * comb_at(at timestamptz) returns uuid
 *
 * A new UUIDv7 for a given instant.  Its microseconds take the tick's place,
 * so keys sort by them; the 8 bits of a tick that are below a microsecond are
 * random, 64 random bits in all, because imports often bring millions of rows
 * of one instant.  22008 for a time that a UUIDv7 cannot hold.
 */
Datum
comb_at(PG_FUNCTION_ARGS)
{
	TimestampTz at = PG_GETARG_TIMESTAMPTZ(0);
	uint64		random = comb_random();
	uint64		us;
	uint64		tick;
	pg_uuid_t  *id;

	comb_check_time(COMB_LAYOUT_DEFAULT, at);
	us = (uint64) (at - COMB_UNIX_EPOCH);
	tick = (us / COMB_US_PER_MS) << COMB_TICK_BITS;
	tick += comb_ticks_from_us(us % COMB_US_PER_MS) + (random >> 56);
	id = (pg_uuid_t *) palloc(UUID_LEN);
	comb_v7_write(id->data, tick, random);
	PG_RETURN_UUID_P(id);
}

/*
 * comb_clock_status() returns record
 *
 * What the clock says and what this process made of it.  The time of the last
 * key and its distance from the clock are NULL before the first key.
 */
Datum
comb_clock_status(PG_FUNCTION_ARGS)
{
	TupleDesc	desc;
	Datum		values[5];
	bool		nulls[5] = {false, false, false, false, false};
	TimestampTz now = comb_tick_time(comb_clock());
	TimestampTz last = comb_tick_time(comb_ticks.last);
	Interval   *ahead = (Interval *) palloc0(sizeof(Interval));

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");

	ahead->time = Max(last - now, 0);
	nulls[1] = nulls[2] = (comb_ticks.last == 0);
	values[0] = TimestampTzGetDatum(now);
	values[1] = TimestampTzGetDatum(last);
	values[2] = IntervalPGetDatum(ahead);
	values[3] = Int64GetDatum(comb_ticks.steps_back);
	values[4] = Int64GetDatum(comb_ticks.resets);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc),
													  values, nulls)));
}
