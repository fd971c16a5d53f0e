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
 * IDENTIFICATION
 *	  src/comb_snowflake.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef COMB_SNOWFLAKE_H
#define COMB_SNOWFLAKE_H

#include "utils/timestamp.h"

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

/*
 * The time of a Snowflake: a number of its parameter set's ticks, since the
 * set's epoch.
 */
typedef uint64 CombSlotTime;

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
	int32		instance_bits;
	int32		sequence_bits;
	int64		epoch_us;		/* since 1970 */
	int64		tick_us;
	CombTime	epoch;
	uint64		span;			/* of a tick */
	uint64		slot;			/* of all slots but the last */
	uint64		last_sequence;
	CombSlotTime end;			/* the first time that no id has */
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

/* Return the largest time that the bits can hold */
static inline CombSlotTime
comb_snowflake_time_max(const CombSnowflake *set)
{
	return (UINT64CONST(1) <<
			(COMB_SNOWFLAKE_BITS - comb_snowflake_shift(set))) - 1;
}

/* Derive the other members from the parameters, which must be checked */
static inline void
comb_snowflake_derive(CombSnowflake *set)
{
	uint64		numbers = UINT64CONST(1) << set->sequence_bits;

	set->epoch = comb_time_from_us(set->epoch_us);
	set->span = (uint64) set->tick_us << COMB_TIME_BITS;
	set->slot = Max(set->span >> set->sequence_bits, 1);
	set->last_sequence = Min(numbers, set->span) - 1;
	/* no id has the last time, so that a bound can be above all ids */
	set->end = comb_snowflake_time_max(set);
	set->slow = (set->tick_us >
				 (int64) (set->last_sequence + 1) * COMB_SLOT_US_MAX);
	set->tick_time = 0;
	set->tick_start = set->epoch;
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

/* The parameters of a call, and the parameter set derived from them */
typedef struct CombSnowflakeCall
{
	TimestampTz epoch;
	Interval	tick;
	CombSnowflake set;
} CombSnowflakeCall;

/* comb_snowflake.c */
extern void comb_snowflake_prepare(CombSnowflakeCall *call);
extern bool comb_snowflake_instant(const CombSnowflake *set, CombSlotTime time,
								   TimestampTz *at);

/*
 * Return the parameter set of a call.  The arguments from "first" on are
 * epoch, instance_bits, sequence_bits and tick.  Raises errors as
 * comb_snowflake_prepare() does.
 *
 * Nearly all statements use the same parameters in every call.  The call site
 * therefore remembers the parameter set, and we check parameters only if they
 * differ from those of the previous call.
 */
static inline CombSnowflake *
comb_snowflake_set(FunctionCallInfo fcinfo, int first)
{
	CombSnowflakeCall *call = (CombSnowflakeCall *) fcinfo->flinfo->fn_extra;
	TimestampTz epoch = PG_GETARG_TIMESTAMPTZ(first);
	int32		instance_bits = PG_GETARG_INT32(first + 1);
	int32		sequence_bits = PG_GETARG_INT32(first + 2);
	Interval   *tick = PG_GETARG_INTERVAL_P(first + 3);

	if (unlikely(call == NULL ||
				 call->epoch != epoch ||
				 call->set.instance_bits != instance_bits ||
				 call->set.sequence_bits != sequence_bits ||
				 call->tick.time != tick->time ||
				 call->tick.day != tick->day ||
				 call->tick.month != tick->month))
	{
		if (call == NULL)
			call = (CombSnowflakeCall *)
				MemoryContextAlloc(fcinfo->flinfo->fn_mcxt,
								   sizeof(CombSnowflakeCall));

		/*
		 * The next call must not find parameters that failed the checks.  No
		 * caller in PostgreSQL uses a call site after an error, but an
		 * extension that keeps an FmgrInfo can.
		 */
		fcinfo->flinfo->fn_extra = NULL;
		call->epoch = epoch;
		call->set.instance_bits = instance_bits;
		call->set.sequence_bits = sequence_bits;
		call->tick = *tick;
		comb_snowflake_prepare(call);
		fcinfo->flinfo->fn_extra = call;
	}
	return &call->set;
}

#endif							/* COMB_SNOWFLAKE_H */
