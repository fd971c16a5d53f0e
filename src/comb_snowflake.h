/*-------------------------------------------------------------------------
 *
 * comb_snowflake.h
 *	  Arithmetic of Snowflakes: no fmgr, no ereport, no allocation.
 *
 *	0 | time | instance | sequence
 *
 * A Snowflake is a bigint that is not negative.  Its time counts the ticks of
 * a parameter set since the set's epoch and has the bits that instance number
 * and sequence leave of 63.
 *
 * A slot is what one id of an instance takes: one sequence number of one
 * tick.  The sequence number is the position in the tick, not a counter that
 * starts at 0 in each: so slots are intervals of real time, every time falls
 * into exactly one, and ids of whatever parameters can be taken from one and
 * the same word, as long as each takes a slot that begins after the word's
 * time.  That is all that order and uniqueness rest on.
 *
 * Copyright (c) 2026, pg_comb developers
 *
 * IDENTIFICATION
 *	  src/comb_snowflake.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef COMB_SNOWFLAKE_H
#define COMB_SNOWFLAKE_H

#include "comb_lease.h"

#define COMB_SNOWFLAKE_BITS		63

/* So that the parts are an int, and at least one bit is left for the time */
#define COMB_PART_BITS_MAX		31

/* Ids a second from which on a parameter set is not a slow one */
#define COMB_FAST_RATE			100000

/*
 * A parameter set, in counts (comb_clock.h).  A tick has 2^sequence_bits slots
 * of "slot" counts; the last slot also has what the division leaves.  A tick
 * with fewer counts than that has a slot for each count, and the other
 * sequence numbers are not used.
 *
 * tick_time and tick_start are the tick that was looked at last: the clock
 * stays in one for many ids, and a 64-bit division costs as much as all the
 * rest of the arithmetic.
 */
typedef struct CombSnowflake
{
	int32		instance_bits;
	int32		sequence_bits;
	int64		epoch_us;		/* since 1970 */
	int64		tick_us;
	uint64		epoch;
	uint64		span;			/* of a tick */
	uint64		slot;
	uint64		last_sequence;
	uint64		end;			/* first time that is not made */
	CombSeries	series;
	uint64		tick_time;
	uint64		tick_start;
} CombSnowflake;

typedef struct CombSlot
{
	uint64		time;
	uint64		sequence;
} CombSlot;

static inline int
comb_snowflake_shift(const CombSnowflake *set)
{
	return set->instance_bits + set->sequence_bits;
}

/* The largest time that the bits can hold */
static inline uint64
comb_snowflake_time_max(const CombSnowflake *set)
{
	return (UINT64CONST(1) <<
			(COMB_SNOWFLAKE_BITS - comb_snowflake_shift(set))) - 1;
}

/* What follows from the parameters, which must have been checked */
static inline void
comb_snowflake_derive(CombSnowflake *set)
{
	uint64		numbers = UINT64CONST(1) << set->sequence_bits;

	set->epoch = (uint64) set->epoch_us << COMB_COUNT_BITS;
	set->span = (uint64) set->tick_us << COMB_COUNT_BITS;
	set->slot = Max(set->span >> set->sequence_bits, 1);
	set->last_sequence = Min(numbers, set->span) - 1;
	/* the last one is left free: an id beyond all others, for bounds */
	set->end = comb_snowflake_time_max(set);
	set->series = set->slot <= COMB_COUNTS_PER_S / COMB_FAST_RATE ?
		COMB_SERIES_SNOWFLAKE : COMB_SERIES_SLOW;
	set->tick_time = 0;
	set->tick_start = set->epoch;
}

/* The slot of a time, which must not be before the epoch */
static inline CombSlot
comb_slot_at(CombSnowflake *set, uint64 at)
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

static inline uint64
comb_slot_start(const CombSnowflake *set, CombSlot slot)
{
	return set->epoch + slot.time * set->span + slot.sequence * set->slot;
}

static inline int64
comb_snowflake_compose(const CombSnowflake *set, CombSlot slot, uint64 instance)
{
	return (int64) (slot.time << comb_snowflake_shift(set) |
					instance << set->sequence_bits | slot.sequence);
}

#endif							/* COMB_SNOWFLAKE_H */
