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
 * and never lag behind the clock.  Layouts whose own unit is 100 ns count in
 * that unit, by the same rule.  The alternative that most generators use,
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

#include "miscadmin.h"
#include "utils/timestamp.h"

#include "comb.h"

PG_FUNCTION_INFO_V1(comb_generate);
PG_FUNCTION_INFO_V1(comb_generate_layout);
PG_FUNCTION_INFO_V1(comb_at);
PG_FUNCTION_INFO_V1(comb_at_layout);

/*
 * What this process last gave out, in the two units that keys count in, and
 * what it saw of the clock, in ticks.
 */
static uint64 comb_last_tick;
static uint64 comb_last_100ns;
static uint64 comb_clock_seen;
static int64 comb_steps_back;	/* how often the clock was seen to go back */
static int64 comb_resets;		/* how often keys followed it back */

/*
 * The first half of keys of a layout with process_head, which tells its keys
 * from those of other processes.  Also drawn anew when this process's counter
 * is set back, because nothing else in such a key is random.
 */
static struct
{
	int			owner;			/* MyProcPid of the process that drew it */
	uint64		bytes;
}			comb_head;

/* The same, with a note of steps back: an eye on the clock, not a filter */
static inline uint64
comb_watch_clock(void)
{
	uint64		now = comb_clock_ticks();

	if (unlikely(now < comb_clock_seen))
		comb_steps_back++;
	return comb_clock_seen = now;
}

/*
 * The clock has not passed the last key: count on from there, unless that
 * would take the keys further ahead of the clock than pg_comb.max_drift.
 * Then true times matter more than order, and the clock is followed again;
 * that no key comes twice then rests on its random bits.
 */
static pg_noinline uint64
comb_advance_behind(uint64 *last, uint64 now, uint64 per_ms)
{
	uint64		ahead_ms = (*last + 1 - now) / per_ms;

	if (likely(ahead_ms <= (uint64) comb_max_drift))
		return ++(*last);

	*last = now;
	comb_head.owner = 0;
	if (comb_resets++ == 0)
		ereport(WARNING,
				(errmsg("the clock went back, and new keys sort before earlier ones of this process"),
				 errdetail("Keys were " UINT64_FORMAT " ms ahead of the clock, which now says %s; \"pg_comb.max_drift\" is %d ms.",
						   ahead_ms,
						   comb_time_text(comb_time_from_tick(comb_clock_seen)),
						   comb_max_drift),
				 errhint("Check the server's clock synchronization.")));
	return now;
}

/*
 * The next number of a counter that starts anew from the clock whenever the
 * clock has passed it.  "per_ms" is the counter's unit.
 */
static inline uint64
comb_advance(uint64 *last, uint64 now, uint64 per_ms)
{
	if (unlikely(now <= *last))
		return comb_advance_behind(last, now, per_ms);
	return *last = now;
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
	uint64		tick = comb_advance(&comb_last_tick, comb_watch_clock(),
									COMB_TICKS_PER_MS);
	uint64		random = comb_random();
	pg_uuid_t  *id = (pg_uuid_t *) palloc(UUID_LEN);

	comb_v7_write(id->data, tick >> COMB_TICK_BITS, tick & COMB_TICK_MASK,
				  random);
	PG_RETURN_UUID_P(id);
}

/* Raise 0A000 for a layout that is only read */
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
 * The time unit that keys of a layout were last made in: first tick and the
 * one after the last, the key's bits that are the same for all keys of the
 * unit, and which bits are random.  In this form, two words each, a key costs
 * a copy; computing the field for every key made keys of other layouts twice
 * as dear as UUIDv7.
 */
typedef struct CombTemplate
{
	const CombLayout *layout;
	uint64		start;
	uint64		end;
	uint64		same[2];
	uint64		random[2];
} CombTemplate;

static CombTemplate comb_template;

/*
 * The bits of a key that are random: those of the last eight bytes of its
 * order.  Time field, ticks and version take the others.
 */
static void
comb_random_mask(const CombLayout *layout, uint64 *mask)
{
	unsigned char bytes[COMB_ID_LEN] = {0};
	int			i;

	for (i = COMB_ID_LEN / 2; i < COMB_ID_LEN; i++)
		bytes[layout->order[i]] = ~layout->fixed_mask[layout->order[i]];
	memcpy(mask, bytes, COMB_ID_LEN);
}

/* Get ready for keys of the layout in the unit of the given instant */
static void
comb_template_set(CombTemplate *unit, const CombLayout *layout, TimestampTz at)
{
	unsigned char bytes[COMB_ID_LEN] = {0};
	uint64		field;
	int64		start;
	int64		next;
	int64		end;

	comb_check_generates(layout);
	comb_check_time(layout, at);
	field = layout->codec->encode(at);
	(void) layout->codec->decode(field, &start);

	comb_set_fixed_bits(layout, bytes);
	comb_set_field(layout, bytes, field);
	memcpy(unit->same, bytes, COMB_ID_LEN);
	comb_random_mask(layout, unit->random);
	unit->start = comb_tick_from_time(start);

	/*
	 * where a unit is cut short, NHibernate's last one of a day, it ends
	 * there
	 */
	end = start + layout->codec->unit->unit_us;
	(void) layout->codec->decode(layout->codec->encode(end - 1), &next);
	unit->end = comb_tick_from_time(next > start ? next : end);
	unit->layout = layout;
}

/* A key of the unit, without its ticks */
static inline pg_uuid_t *
comb_template_key(const CombTemplate *unit)
{
	uint64		random = comb_random();
	pg_uuid_t  *id = (pg_uuid_t *) palloc(UUID_LEN);
	uint64		words[2];

	/* one of the halves has eight random bytes, or they share them */
	words[0] = unit->same[0] | (random & unit->random[0]);
	words[1] = unit->same[1] | (random & unit->random[1]);
	memcpy(id->data, words, UUID_LEN);
	return id;
}

/* Give a key this process's own first half */
static void
comb_set_head(unsigned char *id)
{
	if (comb_head.owner != MyProcPid)
	{
		comb_head.bytes = comb_random();
		comb_head.owner = MyProcPid;
	}
	memcpy(id, &comb_head.bytes, sizeof(comb_head.bytes));
}

/* A new key of a layout whose unit, 100 ns, is itself what keys count */
static pg_uuid_t *
comb_generate_100ns(const CombLayout *layout, uint64 now)
{
	uint64		since_1970;
	pg_uuid_t  *id;

	/* first what can fail, so that only keys are counted */
	if (unlikely(comb_template.layout != layout))
		comb_template_set(&comb_template, layout, comb_time_from_tick(now));
	since_1970 = comb_advance(&comb_last_100ns, comb_100ns_from_tick(now),
							  COMB_100NS_PER_MS);
	id = comb_template_key(&comb_template);
	if (layout->process_head)
		comb_set_head(id->data);
	comb_set_field(layout, id->data,
				   layout->codec->encode(COMB_UNIX_EPOCH) + since_1970);
	return id;
}

/*
 * comb_generate(layout comb_layout) returns uuid
 *
 * A new key in any layout that can be generated, larger than every key of
 * this unit that this process made before, in the order of the database that
 * the layout is for; the exception is the same as for comb_generate().  The
 * time is the clock's own: keys of one time unit are kept in order by the
 * ticks behind the time field, not by letting the time run ahead.  0A000 for
 * a layout that is only read; 22008 when the clock is past the layout's end.
 */
Datum
comb_generate_layout(PG_FUNCTION_ARGS)
{
	const CombLayout *layout = comb_layout_arg(fcinfo, 0);
	uint64		now = comb_watch_clock();
	uint64		tick;
	pg_uuid_t  *id;

	if (layout->codec->unit->tick_bits == 0)
		PG_RETURN_UUID_P(comb_generate_100ns(layout, now));

	tick = comb_advance(&comb_last_tick, now, COMB_TICKS_PER_MS);
	if (unlikely(comb_template.layout != layout ||
				 tick < comb_template.start || tick >= comb_template.end))
		comb_template_set(&comb_template, layout, comb_time_from_tick(tick));
	id = comb_template_key(&comb_template);
	comb_set_sub(layout, id->data, (uint32) (tick - comb_template.start),
				 layout->codec->unit->tick_bits);
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
	uint64		sub;
	pg_uuid_t  *id;

	comb_check_time(comb_layout_default, at);
	us = (uint64) (at - COMB_UNIX_EPOCH);
	sub = comb_ticks_from_100ns(us % COMB_US_PER_MS * COMB_100NS_PER_US) +
		(random >> 56);
	id = (pg_uuid_t *) palloc(UUID_LEN);
	comb_v7_write(id->data, us / COMB_US_PER_MS, sub, random);
	PG_RETURN_UUID_P(id);
}

/*
 * comb_at(at timestamptz, layout comb_layout) returns uuid
 *
 * The same in any layout that can be generated, fresh randomness in place of
 * a process's own bytes: in layouts of 100 ns nothing else would tell two
 * keys of one instant apart.  0A000 and 22008 as comb_generate(layout).
 */
Datum
comb_at_layout(PG_FUNCTION_ARGS)
{
	TimestampTz at = PG_GETARG_TIMESTAMPTZ(0);
	const CombLayout *layout = comb_layout_arg(fcinfo, 1);
	CombTemplate	unit;
	uint32		sub;
	pg_uuid_t  *id;
	int64		start;

	comb_template_set(&unit, layout, at);
	(void) layout->codec->decode(layout->codec->encode(at), &start);
	sub = comb_ticks_from_100ns((at - start) * COMB_100NS_PER_US) +
		(uint32) (comb_random() >> 56);
	id = comb_template_key(&unit);
	comb_set_sub(layout, id->data, sub, layout->codec->unit->tick_bits);
	PG_RETURN_UUID_P(id);
}

/* What this process made so far, for comb_clock_status() */
void
comb_generate_status(CombGenerateStatus *status)
{
	status->last = Max(comb_time_from_tick(comb_last_tick),
					   COMB_UNIX_EPOCH +
					   (int64) (comb_last_100ns / COMB_100NS_PER_US));
	status->made = (status->last != COMB_UNIX_EPOCH);
	status->steps_back = comb_steps_back;
	status->resets = comb_resets;
}
