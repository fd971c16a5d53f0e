/*-------------------------------------------------------------------------
 *
 * comb_generate.c
 *	  comb_generate() and comb_at(): keys that one process makes.
 *
 * The time of a key and its counter are one number, a CombTime (comb_clock.h).
 * A key takes the clock's time.  If the clock has not passed the last key, the
 * key takes the time after the last key's:
 *
 *	last = max(now, last + 1)
 *
 * While the clock is less than pg_comb.max_drift behind, keys of a process
 * therefore never repeat a time, never sort before an earlier key, and never
 * lag behind the clock.  Layouts with a unit of 100 ns count in 100 ns, by the
 * same rule.
 *
 * Most generators have a counter that starts at a random number in each
 * millisecond.  The keys that sessions make in one millisecond then interleave
 * at random, and split the pages of the index.  A counter with a random start
 * can also overflow, and a time cannot.
 *
 * The state in this file is the process's own, so order is promised only
 * within a process.  Each worker of a parallel query has its own order.
 *
 * Copyright (c) 2026, pg_comb developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "comb.h"

PG_FUNCTION_INFO_V1(comb_generate);
PG_FUNCTION_INFO_V1(comb_generate_layout);
PG_FUNCTION_INFO_V1(comb_at);
PG_FUNCTION_INFO_V1(comb_at_layout);

/* The first time that keys of behind_v4, with 42 bits of ms, cannot hold */
#define COMB_BEHIND_V4_END		((UINT64CONST(1) << 42) * COMB_TIME_PER_MS)

/* The last number in a key of this process, for each unit that keys count in */
static CombTime comb_last_time;
static Comb100ns comb_last_100ns;

/*
 * The first half of keys of a layout with process_head, different in every
 * process.  A process draws a new half when it sets its counter back, because
 * nothing else in the keys is random.
 */
static struct
{
	int			owner;			/* MyProcPid when the bytes were drawn */
	uint64		bytes;
}			comb_head;

/*
 * Advance a counter that the clock has not passed.
 *
 * The counter goes on unless that would put its keys more than
 * pg_comb.max_drift ahead of the clock.  In that case true times matter more
 * than order, and the counter follows the clock back.  From then on only the
 * random bits keep keys from repeating.  Each process warns once.
 */
static pg_noinline uint64
comb_advance_behind(uint64 *last, uint64 now, uint64 per_ms)
{
	static bool warned = false;
	uint64		ahead_ms = (*last + 1 - now) / per_ms;
	int64		now_us = now / (per_ms / COMB_US_PER_MS);

	if (likely(ahead_ms <= (uint64) comb_max_drift))
		return ++(*last);

	*last = now;
	comb_head.owner = 0;
	if (!warned)
	{
		warned = true;
		ereport(WARNING,
				(errmsg("the clock went back, and new keys sort before earlier ones of this process"),
				 errdetail("Keys were " UINT64_FORMAT " ms ahead of the clock, which now says %s; \"pg_comb.max_drift\" is %d ms.",
						   ahead_ms,
						   comb_time_text(now_us + COMB_UNIX_EPOCH),
						   comb_max_drift),
				 errhint("Check the server's clock synchronization.")));
	}
	return now;
}

/*
 * Advance a counter to the clock, or by one if the clock has not passed it.
 * "now" is the clock in the counter's unit, and "per_ms" is the number of
 * units in a millisecond.
 */
static inline uint64
comb_advance(uint64 *last, uint64 now, uint64 per_ms)
{
	if (unlikely(now <= *last))
		return comb_advance_behind(last, now, per_ms);
	return *last = now;
}

/*
 * comb_generate() returns uuid: a new UUIDv7 (RFC 9562, 5.7 and 6.2 method 3).
 * Raises 22008 if the clock is before 1970 or after 4199.
 */
Datum
comb_generate(PG_FUNCTION_ARGS)
{
	CombTime	at = comb_advance(&comb_last_time, comb_clock_time(),
								  COMB_TIME_PER_MS);
	uint64		random = comb_random();
	pg_uuid_t  *id = (pg_uuid_t *) palloc(UUID_LEN);

	comb_v7_write_time(id->data, at, random);
	PG_RETURN_UUID_P(id);
}

/* Raise 0A000 for a layout whose keys can only be read */
static void
comb_check_generates(const CombLayout *layout)
{
	if (!layout->generates)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("keys of layout \"%s\" can only be read", layout->label),
				 errhint("comb_layouts() lists the layouts that can be generated.")));
}

/*
 * Make a key.  The tick goes behind the field, and the free bits behind it are
 * random.  Eight random bytes are enough: they are the last ones in the
 * layout's order, which is one half of the key.
 */
static pg_uuid_t *
comb_new_key(const CombLayout *layout, uint64 field, uint32 tick)
{
	uint64		random = comb_random();
	bool		first = layout->order[UUID_LEN - 1] < UUID_LEN / 2;
	uint64		mask[2];
	uint64		words[2];
	pg_uuid_t  *id = (pg_uuid_t *) palloc(UUID_LEN);

	memcpy(mask, layout->fixed_mask, UUID_LEN);
	memcpy(words, layout->fixed_value, UUID_LEN);
	words[0] |= first ? random & ~mask[0] : 0;
	words[1] |= first ? 0 : random & ~mask[1];
	memcpy(id->data, words, UUID_LEN);
	comb_set_field(layout, id->data, field);
	comb_set_sub(layout, id->data, tick, layout->codec->unit->tick_bits);
	return id;
}

/*
 * Make a key of an instant and a position in its microsecond.  Raises 22008
 * for an instant that the layout cannot hold.
 */
static pg_uuid_t *
comb_key_at(const CombLayout *layout, TimestampTz at, CombTime below_us)
{
	const CombCodec *codec = layout->codec;
	uint64		field;
	int64		start;

	comb_check_time(layout, at);
	field = codec->encode(codec, at);
	(void) codec->decode(codec, field, &start);
	return comb_new_key(layout, field,
						comb_tick(comb_time_from_us(at - start) + below_us));
}

/* Make a key of a layout that counts in 100 ns */
static pg_uuid_t *
comb_generate_100ns(const CombLayout *layout, CombTime now)
{
	const CombCodec *codec = layout->codec;
	Comb100ns	at = (now >> COMB_TIME_BITS) * COMB_100NS_PER_US +
		((now % COMB_TIME_PER_US * COMB_100NS_PER_US) >> COMB_TIME_BITS);
	pg_uuid_t  *id;

	at = comb_advance(&comb_last_100ns, at, COMB_100NS_PER_MS);
	id = comb_new_key(layout, codec->encode(codec, COMB_UNIX_EPOCH) + at, 0);
	if (layout->process_head)
	{
		if (comb_head.owner != MyProcPid)
		{
			comb_head.bytes = comb_random();
			comb_head.owner = MyProcPid;
		}
		memcpy(id->data, &comb_head.bytes, sizeof(comb_head.bytes));
	}
	return id;
}

/* Make a key of any layout that can be generated */
static pg_noinline pg_uuid_t *
comb_generate_any(const CombLayout *layout)
{
	CombTime	at = comb_clock_time();

	comb_check_generates(layout);
	if (layout->codec->unit->tick_bits == 0)
		return comb_generate_100ns(layout, at);
	at = comb_advance(&comb_last_time, at, COMB_TIME_PER_MS);
	return comb_key_at(layout, comb_us_from_time(at) + COMB_UNIX_EPOCH,
					   at % COMB_TIME_PER_US);
}

/*
 * comb_generate(layout text) returns uuid: a new key, in the order of the
 * layout's database.  The tick behind the time field keeps keys of one time unit
 * in order, so the time field need not run ahead of the clock.  Raises 0A000 for
 * a layout whose keys can only be read, 22023 for an unknown layout, and 22008
 * for a clock past the layout's end, before 1970 or after 4199.
 *
 * Keys of behind_v4 are defaults of busy tables as UUIDv7 are, so they cost
 * little more.
 */
Datum
comb_generate_layout(PG_FUNCTION_ARGS)
{
	const CombLayout *layout = comb_layout_arg(fcinfo, 0);
	CombTime	at;
	uint64		random;
	pg_uuid_t  *id;

	if (layout != comb_layout_behind_v4)
		PG_RETURN_UUID_P(comb_generate_any(layout));

	at = comb_advance(&comb_last_time, comb_clock_time(), COMB_TIME_PER_MS);
	if (unlikely(at >= COMB_BEHIND_V4_END))
		comb_check_time(layout, comb_us_from_time(at) + COMB_UNIX_EPOCH);
	random = comb_random();
	id = (pg_uuid_t *) palloc(UUID_LEN);
	comb_behind_v4_write(id->data, at / COMB_TIME_PER_MS,
						 comb_tick(at % COMB_TIME_PER_MS), random);
	PG_RETURN_UUID_P(id);
}

/*
 * comb_at(at timestamptz) returns uuid: a new UUIDv7 for a given instant.  The
 * tick is that of the microsecond, and the 8 bits of CombTime below it are
 * random.  That makes 64 random bits, because imports often bring millions of
 * rows of one instant.  Raises 22008 for a time that a UUIDv7 cannot hold.
 */
Datum
comb_at(PG_FUNCTION_ARGS)
{
	TimestampTz at = PG_GETARG_TIMESTAMPTZ(0);
	uint64		random = comb_random();
	uint64		us;
	pg_uuid_t  *id;

	comb_check_time(comb_layout_default, at);
	us = (uint64) (at - COMB_UNIX_EPOCH);
	id = (pg_uuid_t *) palloc(UUID_LEN);
	comb_v7_write(id->data, us / COMB_US_PER_MS,
				  comb_tick(comb_time_from_us(us % COMB_US_PER_MS) | (random >> 56)), random);
	PG_RETURN_UUID_P(id);
}

/*
 * comb_at(at timestamptz, layout text) returns uuid: the same in any layout that
 * can be generated.  The first half of the key is random even if the layout has
 * process_head: nothing else would make two keys of one instant differ.  Raises
 * the errors of comb_generate(layout).
 */
Datum
comb_at_layout(PG_FUNCTION_ARGS)
{
	TimestampTz at = PG_GETARG_TIMESTAMPTZ(0);
	const CombLayout *layout = comb_layout_arg(fcinfo, 1);

	comb_check_generates(layout);
	PG_RETURN_UUID_P(comb_key_at(layout, at, comb_random() >> 56));
}
