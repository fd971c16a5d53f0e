/*-------------------------------------------------------------------------
 *
 * comb_snowflake.h
 *	  Arithmetic of Snowflakes, and the parameter set of a call.
 *
 *	0 | time | instance | sequence
 *
 * A Snowflake is a bigint that is not negative.  A parameter set gives some of
 * the 63 bits to the instance number and some to the sequence number.  The
 * other bits are the time, which counts ticks since the set's epoch.  The
 * length of a tick is also a parameter, for example one millisecond.
 *
 * A slot is the part of a tick that one Snowflake takes.  The sequence number
 * is the slot's position in the tick, not a counter that starts at 0 in every
 * tick.  Slots are therefore intervals of real time, and every instant falls
 * into exactly one slot.
 *
 * This lets different parameter sets share a counter.  Each Snowflake takes a
 * slot that begins after the counter's time, and moves the counter to the
 * slot's start.  Nothing else is needed for order and uniqueness.
 *
 * Copyright (c) 2026, pg_comb developers
 *
 *-------------------------------------------------------------------------
 */
#ifndef COMB_SNOWFLAKE_H
#define COMB_SNOWFLAKE_H

#include "comb.h"

#define COMB_SNOWFLAKE_BITS		63

/* Each number fits in an int, and at least one bit is left for the time */
#define COMB_PART_BITS_MAX		31

/*
 * comb_snowflake() needs a slot for each of these, on average.  With longer
 * slots, a few ids would push the counter, and so the time of all other ids,
 * far ahead of the clock.
 */
#define COMB_SLOT_US_MAX		100
#define COMB_RATE_MIN			(USECS_PER_SEC / COMB_SLOT_US_MAX)

typedef uint64 CombSlotTime;	/* in ticks, since the set's epoch */

/*
 * A parameter set, and what is derived from the parameters.  "span" and "slot"
 * are lengths in units of CombTime.
 *
 * A tick has 2^sequence_bits slots of length "slot", and the last slot is
 * longer by the remainder of this division.  A tick of fewer than
 * 2^sequence_bits units has a slot for each unit, and does not use the other
 * sequence numbers.
 *
 * tick_time and tick_start describe the tick that was looked up last.  Many
 * ids in a row fall into the same tick, and a 64-bit division costs as much
 * as the rest of an id's arithmetic.
 */
typedef struct CombSnowflake
{
	TimestampTz epoch_instant;
	int32		instance_bits;
	int32		sequence_bits;
	Interval	tick;
	int64		tick_us;
	CombTime	epoch;
	uint64		span;			/* of a tick */
	uint64		slot;			/* of all slots but the last */
	uint64		last_sequence;
	CombSlotTime end;			/* the largest time, which no id has */
	bool		slow;			/* slots are longer than COMB_SLOT_US_MAX */
	CombSlotTime tick_time;
	CombTime	tick_start;
} CombSnowflake;

typedef struct CombSlot
{
	CombSlotTime time;
	uint64		sequence;
} CombSlot;

/* Return the number of bits below the time */
static inline int
comb_snowflake_shift(const CombSnowflake *set)
{
	return set->instance_bits + set->sequence_bits;
}

/* Return the slot of a time, which must not be before the epoch */
static inline CombSlot
comb_slot_at(CombSnowflake *set, CombTime at)
{
	CombSlot	slot;

	if (at - set->tick_start >= set->span)
	{
		set->tick_time = (at - set->epoch) / set->span;
		set->tick_start = set->epoch + set->tick_time * set->span;
	}
	slot.time = set->tick_time;
	slot.sequence = Min((at - set->tick_start) / set->slot,
						set->last_sequence);
	return slot;
}

static inline CombSlot
comb_slot_after(const CombSnowflake *set, CombSlot slot)
{
	if (slot.sequence < set->last_sequence)
		slot.sequence++;
	else
	{
		slot.time++;
		slot.sequence = 0;
	}
	return slot;
}

static inline CombTime
comb_slot_start(const CombSnowflake *set, CombSlot slot)
{
	return set->epoch + slot.time * set->span + slot.sequence * set->slot;
}

/* Return the Snowflake of a slot and an instance number */
static inline int64
comb_snowflake_compose(const CombSnowflake *set, CombSlot slot, uint64 instance)
{
	return (int64) (slot.time << comb_snowflake_shift(set) |
					instance << set->sequence_bits | slot.sequence);
}

/* comb_snowflake.c */
extern void comb_snowflake_prepare(CombSnowflake *set);
extern TimestampTz comb_snowflake_instant(const CombSnowflake *set,
										  CombSlotTime time);

/*
 * Return the parameter set of a call.  The arguments from "argno" on are
 * epoch, instance_bits, sequence_bits and tick.  Raises errors as
 * comb_snowflake_prepare() does.
 *
 * Nearly all statements use the same parameters in every call.  The call site
 * therefore remembers the parameter set, and we check parameters only if they
 * differ from those of the previous call.
 */
static inline CombSnowflake *
comb_snowflake_set(FunctionCallInfo fcinfo, int argno)
{
	CombSnowflake *set = (CombSnowflake *) fcinfo->flinfo->fn_extra;
	TimestampTz epoch = PG_GETARG_TIMESTAMPTZ(argno);
	int32		instance_bits = PG_GETARG_INT32(argno + 1);
	int32		sequence_bits = PG_GETARG_INT32(argno + 2);
	Interval   *tick = PG_GETARG_INTERVAL_P(argno + 3);

	if (unlikely(set == NULL ||
				 set->epoch_instant != epoch ||
				 set->instance_bits != instance_bits ||
				 set->sequence_bits != sequence_bits ||
				 memcmp(&set->tick, tick, sizeof(Interval)) != 0))
	{
		if (set == NULL)
			set = (CombSnowflake *)
				MemoryContextAlloc(fcinfo->flinfo->fn_mcxt,
								   sizeof(CombSnowflake));

		/* the next call must not find parameters that failed the checks */
		fcinfo->flinfo->fn_extra = NULL;
		set->epoch_instant = epoch;
		set->instance_bits = instance_bits;
		set->sequence_bits = sequence_bits;
		set->tick = *tick;
		comb_snowflake_prepare(set);
		fcinfo->flinfo->fn_extra = set;
	}
	return set;
}

#endif							/* COMB_SNOWFLAKE_H */
