/*-------------------------------------------------------------------------
 *
 * comb_snowflake_generate.c
 *	  64-bit keys: making Snowflakes, and the bound of their feeds.
 *
 * Ids take their slots from the server's counter (comb_order.h), which all
 * databases and all parameter sets share; comb_snowflake.h explains why this
 * works.  So ids of two databases with the same instance number differ.  Slots
 * do not depend on the instance number either, so a server whose instance
 * number changes repeats no id.
 *
 * A database can have to continue after a limit that is ahead of the server's
 * counter, and that it may not push the other databases to.  Until the server's
 * counter has passed the database's own one, ids take their slots from that.
 * They are not checked against other databases', whose ids may be the same once
 * the clock has got there.
 *
 * Ids of one database stay in order, and do not repeat, because each is larger
 * than both counters.  Who has moved one counter looks at the other one
 * afterwards, and gives the slot up if that one is not smaller.  So if two
 * sessions take the same slot from the two counters, at least one gives it up.
 *
 * Copyright (c) 2026, pg_comb developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "comb_snowflake.h"
#include "comb_take.h"

PG_FUNCTION_INFO_V1(comb_snowflake);
PG_FUNCTION_INFO_V1(comb_snowflake_settled);

/* Raise 22023 for a parameter set with too few slots, and name larger ones */
static pg_noinline void
comb_snowflake_slow_error(const CombSnowflake *set)
{
	uint64		numbers = set->last_sequence + 1;
	int64		tick_max = (int64) numbers * COMB_SLOT_US_MAX;
	int			bits = set->sequence_bits;

	while (set->tick_us > (INT64CONST(1) << bits) * COMB_SLOT_US_MAX)
		bits++;
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("parameters of a Snowflake have room for too few ids"),
			 errdetail("They have room for %g ids a second.  Below %d, a few ids would push all Snowflakes of the server ahead of the clock.",
					   (double) numbers * USECS_PER_SEC / set->tick_us,
					   (int) COMB_RATE_MIN),
			 errhint("Use \"sequence_bits\" of at least %d, or a \"tick\" of at most " INT64_FORMAT " us.",
					 bits, tick_max)));
}

/* Raise 22008, with the times for which the parameters can make ids */
static pg_noinline void
comb_snowflake_range_error(const CombSnowflake *set)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
			 errmsg("the clock is out of range for Snowflakes of these parameters"),
			 errdetail("With %d bits for the time, they can be made from %s until %s.",
					   COMB_SNOWFLAKE_BITS - comb_snowflake_shift(set),
					   comb_time_text(set->epoch_instant),
					   comb_time_text(comb_snowflake_instant(set, set->end))),
			 errhint("Use another \"epoch\", a longer \"tick\", or fewer \"instance_bits\" or \"sequence_bits\".")));
}

/*
 * Return the parameter set of a call that makes ids, or is about them.  *instance
 * becomes this server's instance number, or 0 if the set has no instance bits.
 * Raises 55000 for a server without an instance number, and 22023 for an instance
 * number that the bits cannot hold and for too few slots.
 */
static pg_always_inline CombSnowflake *
comb_snowflake_own_set(FunctionCallInfo fcinfo, uint64 *instance)
{
	CombSnowflake *set = comb_snowflake_set(fcinfo, 0);

	if (unlikely(set->slow))
		comb_snowflake_slow_error(set);
	*instance = 0;
	if (set->instance_bits == 0)
		return set;
	if (unlikely(comb_instance < 0))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("this server has no instance number for Snowflakes"),
				 errhint("Set \"pg_comb.snowflake_instance\" in postgresql.conf to a number that no other server has and reload the configuration, or make ids without an instance number by instance_bits => 0.")));
	if (unlikely(comb_instance >> set->instance_bits != 0))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("instance number %d of this server does not fit into \"instance_bits\" of %d",
						comb_instance, set->instance_bits),
				 errdetail("\"pg_comb.snowflake_instance\" must be between 0 and %d for these ids.",
						   (int) ((UINT64CONST(1) << set->instance_bits) - 1)),
				 errhint("Change \"pg_comb.snowflake_instance\", or raise \"instance_bits\".")));
	*instance = (uint64) comb_instance;
	return set;
}

/*
 * Take the next slot, and advance a counter to its start.  Returns the start of
 * the slot.
 *
 * This is the clock's slot if it begins after the counter's time, and
 * otherwise the slot after the counter's.  When a tick is full, ids borrow
 * slots of the next tick, as far ahead of the clock as
 * pg_comb.max_ordered_drift allows.
 */
static inline CombTime
comb_snowflake_next(CombSnowflake *set, pg_atomic_uint64 *counter,
					CombSlot *slot)
{
	CombTime	now = comb_clock_time();
	CombTime	last = pg_atomic_read_u64(counter);
	CombTime	next;

	do
	{
		if (unlikely(Max(now, last) < set->epoch))
			comb_snowflake_range_error(set);
		next = 0;
		if (now > last)
		{
			comb_check_jump(last, now);
			*slot = comb_slot_at(set, now);
			next = comb_slot_start(set, *slot);
		}
		if (next <= last)
		{
			*slot = comb_slot_after(set, comb_slot_at(set, last));
			next = comb_slot_start(set, *slot);
			comb_check_drift(next, now);
		}
		if (unlikely(slot->time >= set->end))
			comb_snowflake_range_error(set);
	} while (!pg_atomic_compare_exchange_u64(counter, &last, next));
	return next;
}

/*
 * Take a slot that is beyond both counters, and return its start.  It comes from
 * the server's counter or, if the database is ahead, from the database's.  The
 * counters are compared after the exchanges, which are full barriers.
 */
static inline CombTime
comb_snowflake_step(CombSnowflake *set, CombSlot *slot)
{
	pg_atomic_uint64 *counter = &comb_shared->snowflake.value;
	pg_atomic_uint64 *other = comb_counter(COMB_SERIES_SNOWFLAKE);

	for (;;)
	{
		CombTime	next = comb_snowflake_next(set, counter, slot);
		pg_atomic_uint64 *passed = counter;

		if (likely(next > pg_atomic_read_u64(other)))
			return next;
		counter = other;
		other = passed;
	}
}

/*
 * comb_snowflake(...) returns bigint: a new Snowflake with this server's instance
 * number.  Raises the errors of comb_generate_ordered().  Also 22008 for a clock
 * before the epoch or after the last time that the bits hold, 22023 for bad
 * parameters and those with room for fewer than COMB_RATE_MIN ids a second, and
 * 55000 without an instance number.  PARALLEL RESTRICTED for the same reason.
 */
Datum
comb_snowflake(PG_FUNCTION_ARGS)
{
	CombSnowflake *set;
	CombSlot	slot;
	CombTime	at;
	uint64		instance;

	PreventCommandIfReadOnly("comb_snowflake()");
	set = comb_snowflake_own_set(fcinfo, &instance);
	do
	{
		comb_lease_begin(COMB_SERIES_SNOWFLAKE);
		at = comb_snowflake_step(set, &slot);
		COMB_INJECTION_POINT("comb-lease-taken");
	} while (!comb_lease_covers(COMB_SERIES_SNOWFLAKE, at));
	PG_RETURN_INT64(comb_snowflake_compose(set, slot, instance));
}

/*
 * comb_snowflake_settled(...) returns bigint: comb_settled() for the Snowflakes
 * that this database makes with this server's instance number and these
 * parameters.  0 if the bound cannot be found at the moment, or is before the
 * epoch.
 */
Datum
comb_snowflake_settled(PG_FUNCTION_ARGS)
{
	/* bad parameters before anything else */
	uint64		instance;
	CombSnowflake *set = comb_snowflake_own_set(fcinfo, &instance);
	CombSettled settled;
	CombSlot	slot;

	comb_settled_find(COMB_SERIES_SNOWFLAKE, &settled);
	if (settled.bound <= set->epoch)
		PG_RETURN_INT64(0);
	slot = comb_slot_at(set, settled.bound);
	if (comb_slot_start(set, slot) < settled.bound)
		slot = comb_slot_after(set, slot);
	/* other parameters may have taken the counter beyond the last id */
	if (slot.time >= set->end)
	{
		slot.time = set->end;
		slot.sequence = 0;
	}
	PG_RETURN_INT64(comb_snowflake_compose(set, slot, instance));
}
