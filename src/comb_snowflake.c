/*-------------------------------------------------------------------------
 *
 * comb_snowflake.c
 *	  64-bit keys: making Snowflakes, reading them, bounds, and instance
 *	  numbers for programs that make their own.
 *
 * The format is the one of Twitter's generator (2010).  Twitter's four
 * constants are parameters: the epoch, the bits of the instance number, the
 * bits of the sequence number, and the length of a tick.  doc/snowflake.md
 * has the parameters of other services.
 *
 * Ids take their slots from counters in shared memory (comb_shared.c).
 * Different parameter sets share a counter; comb_snowflake.h says why this
 * works.  The instance number plays no part in a slot either.  A server whose
 * instance number changes therefore repeats no id.
 *
 * Copyright (c) 2026, pg_comb developers
 *
 * IDENTIFICATION
 *	  src/comb_snowflake.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/int.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "storage/lock.h"
#include "utils/timestamp.h"

#include "comb_snowflake.h"
#include "ordered/comb_settled.h"

PG_FUNCTION_INFO_V1(comb_snowflake);
PG_FUNCTION_INFO_V1(comb_snowflake_timestamp);
PG_FUNCTION_INFO_V1(comb_snowflake_instance);
PG_FUNCTION_INFO_V1(comb_snowflake_sequence);
PG_FUNCTION_INFO_V1(comb_snowflake_min);
PG_FUNCTION_INFO_V1(comb_snowflake_max);
PG_FUNCTION_INFO_V1(comb_snowflake_settled);
PG_FUNCTION_INFO_V1(comb_snowflake_claim);

/* The parameters of a call, and the parameter set made of them */
typedef struct CombSnowflakeCall
{
	TimestampTz epoch;
	Interval	tick;
	CombSnowflake set;
} CombSnowflakeCall;

/* The slot that comb_snowflake_step() takes, and the parameter set to use */
typedef struct CombSnowflakeTaken
{
	CombSnowflake *set;
	CombSlot	slot;
} CombSnowflakeTaken;

/* One day: no known use of Snowflakes needs longer ticks */
#define COMB_TICK_US_MAX	COMB_US_PER_DAY

#define COMB_BITS_DETAIL \
	errdetail("Instance number and sequence have 0 to %d bits each; the time has what they leave of %d.", \
			  COMB_PART_BITS_MAX, COMB_SNOWFLAKE_BITS)

/* Raise 22023 for a number of bits that is out of range */
static void
comb_check_instance_bits(int32 bits)
{
	if (bits < 0 || bits > COMB_PART_BITS_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("instance number of %d bits is out of range", bits),
				 COMB_BITS_DETAIL));
}

static void
comb_check_sequence_bits(int32 bits)
{
	if (bits < 0 || bits > COMB_PART_BITS_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("sequence of %d bits is out of range", bits),
				 COMB_BITS_DETAIL));
}

/*
 * Return the microseconds of a tick.  Raises 22023 for a length out of range,
 * and for months, whose length varies.
 */
static int64
comb_tick_us(const Interval *tick)
{
	int64		us;

	if (tick->month != 0 ||
		pg_mul_s64_overflow(tick->day, COMB_US_PER_DAY, &us) ||
		pg_add_s64_overflow(us, tick->time, &us) ||
		us <= 0 || us > COMB_TICK_US_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("tick of a Snowflake is out of range"),
				 errdetail("A tick lasts from 1 microsecond to 1 day.")));
	return us;
}

/*
 * Check the parameters of a call and make a parameter set of them.  Raises
 * 22008 for an epoch that is out of range, and 22023 for other bad
 * parameters.
 */
static void
comb_snowflake_prepare(CombSnowflakeCall *call)
{
	CombSnowflake *set = &call->set;

	comb_check_instance_bits(set->instance_bits);
	comb_check_sequence_bits(set->sequence_bits);
	if (call->epoch < COMB_UNIX_EPOCH ||
		call->epoch > COMB_CLOCK_MAX_US + COMB_UNIX_EPOCH)
		ereport(ERROR,
				(errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
				 errmsg("epoch of a Snowflake is out of range"),
				 errdetail("An epoch is from %s to %s.",
						   comb_time_text(COMB_UNIX_EPOCH),
						   comb_time_text(COMB_CLOCK_MAX_US + COMB_UNIX_EPOCH))));
	set->epoch_us = call->epoch - COMB_UNIX_EPOCH;
	set->tick_us = comb_tick_us(&call->tick);
	comb_snowflake_derive(set);
}

/*
 * Return the parameter set of a call.  The arguments from "first" on are
 * epoch, instance_bits, sequence_bits and tick.  Raises errors as
 * comb_snowflake_prepare() does.
 *
 * Nearly all statements use the same parameters in every call.  The call site
 * therefore remembers a parameter set, and parameters are checked only if
 * they differ from those of the previous call.
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
		/* the next call must not find parameters that fail the checks */
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

/*
 * Compute the instant of a time in ticks.  False if the instant is beyond the
 * range of timestamptz.
 */
static bool
comb_snowflake_instant(const CombSnowflake *set, CombSlotTime time,
					   TimestampTz *at)
{
	int64		us;

	return !pg_mul_s64_overflow((int64) time, set->tick_us, &us) &&
		!pg_add_s64_overflow(us, set->epoch_us + COMB_UNIX_EPOCH, at) &&
		IS_VALID_TIMESTAMP(*at);
}

/* Raise 22008, and tell for which times the parameters can make ids */
static pg_noinline void
comb_snowflake_range_error(const CombSnowflake *set)
{
	TimestampTz end = 0;		/* keep compiler quiet */

	if (!comb_snowflake_instant(set, set->end, &end))
		end = DT_NOEND;
	ereport(ERROR,
			(errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
			 errmsg("the clock is out of range for Snowflakes of these parameters"),
			 errdetail("With %d bits for the time, they can be made from %s until %s.",
					   COMB_SNOWFLAKE_BITS - comb_snowflake_shift(set),
					   comb_time_text(set->epoch_us + COMB_UNIX_EPOCH),
					   comb_time_text(end)),
			 errhint("Use another epoch, fewer bits for instance number and sequence, or a longer tick.")));
}

/*
 * Return this server's instance number, or 0 if the parameter set has no
 * instance bits.  Raises 55000 for a server without an instance number, and
 * 22023 for an instance number that the bits cannot hold.
 */
static inline uint64
comb_snowflake_server(const CombSnowflake *set)
{
	if (set->instance_bits == 0)
		return 0;
	if (unlikely(comb_instance < 0))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("this server has no instance number for Snowflakes"),
				 errhint("Set \"pg_comb.snowflake_instance\" to a number that no other server has, and reload the configuration.")));
	if (unlikely(comb_instance >> set->instance_bits != 0))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("instance number %d does not fit into %d bits",
						comb_instance, set->instance_bits),
				 errdetail("With %d bits, instance numbers are from 0 to %d.",
						   set->instance_bits,
						   (int) ((UINT64CONST(1) << set->instance_bits) - 1)),
				 errhint("Change \"pg_comb.snowflake_instance\", or give more bits to the instance number.")));
	return (uint64) comb_instance;
}

/*
 * Take the next slot from the counter.  Moves the counter to the start of the
 * slot, and returns this start.
 *
 * This is the clock's slot if it begins after the counter's time, and
 * otherwise the slot after the counter's.  When a tick is full, ids borrow
 * slots of the next tick, as far ahead of the clock as
 * pg_comb.max_ordered_drift allows.
 */
static inline CombTime
comb_snowflake_step(void *arg)
{
	CombSnowflakeTaken *taken = (CombSnowflakeTaken *) arg;
	CombSnowflake *set = taken->set;
	CombSlot   *slot = &taken->slot;
	pg_atomic_uint64 *counter = comb_leases[set->series].counter;
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
 * comb_snowflake(epoch timestamptz, instance_bits int, sequence_bits int,
 *				  tick interval) returns bigint
 *
 * Returns a new Snowflake with this server's instance number.  The new id is
 * larger than every id with the same parameters and instance number that any
 * session received before the call.  This holds across restart, crash,
 * failover and a clock set back.
 *
 * Raises 22008 for an epoch out of range, and for a clock before the epoch or
 * after the last time that the bits hold.  Raises 22023 for other bad
 * parameters, and for an instance number that the bits cannot hold.  Raises
 * 55000 on a standby, and without an instance number.  Raises 55000 also if
 * the clock is behind by more than pg_comb.max_ordered_drift, or if the clock
 * jumped ten years ahead.
 *
 * PARALLEL RESTRICTED for the same reason as comb_generate_ordered().
 */
Datum
comb_snowflake(PG_FUNCTION_ARGS)
{
	CombSnowflakeTaken taken;
	uint64		instance;

	taken.set = comb_snowflake_set(fcinfo, 0);
	instance = comb_snowflake_server(taken.set);
	(void) comb_lease_take(taken.set->series, comb_snowflake_step, &taken);
	PG_RETURN_INT64(comb_snowflake_compose(taken.set, taken.slot, instance));
}

/*
 * comb_snowflake_settled(epoch timestamptz, instance_bits int,
 *						  sequence_bits int, tick interval) returns bigint
 *
 * Returns a bound for the Snowflakes that this database makes with this
 * server's instance number and these parameters.  The bound has the same
 * meaning as comb_settled(), which has the same errors.  Returns 0 if the
 * bound cannot be found just now, or is before the epoch.  Bad parameters and
 * a missing instance number raise the errors of comb_snowflake().
 */
Datum
comb_snowflake_settled(PG_FUNCTION_ARGS)
{
	CombSnowflake *set = comb_snowflake_set(fcinfo, 0);
	uint64		instance = comb_snowflake_server(set);
	CombTime	bound = comb_settled_bound(set->series);
	CombSlot	slot;

	if (bound <= set->epoch)
		PG_RETURN_INT64(0);
	slot = comb_slot_at(set, bound);
	if (comb_slot_start(set, slot) < bound)
		slot = comb_slot_after(set, slot);
	/* other parameters can have taken the counter beyond the last id */
	if (slot.time >= set->end)
	{
		slot.time = set->end;
		slot.sequence = 0;
	}
	PG_RETURN_INT64(comb_snowflake_compose(set, slot, instance));
}

/*
 * comb_snowflake_timestamp(id bigint, epoch timestamptz, instance_bits int,
 *							sequence_bits int, tick interval)
 * returns timestamptz
 *
 * Returns the start of the tick in which a Snowflake was made, or NULL for a
 * negative number, which is no Snowflake.  Raises 22008 for a time beyond the
 * range of timestamptz.  Raises 22023 and 22008 for bad parameters, as all
 * functions of Snowflakes do.
 */
Datum
comb_snowflake_timestamp(PG_FUNCTION_ARGS)
{
	int64		id = PG_GETARG_INT64(0);
	CombSnowflake *set = comb_snowflake_set(fcinfo, 1);
	TimestampTz at;

	if (id < 0)
		PG_RETURN_NULL();
	if (!comb_snowflake_instant(set, (uint64) id >> comb_snowflake_shift(set),
								&at))
		ereport(ERROR,
				(errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
				 errmsg("timestamp of the Snowflake is out of range"),
				 errdetail("With these parameters, its time is after the last one of type timestamp with time zone.")));
	PG_RETURN_TIMESTAMPTZ(at);
}

/*
 * comb_snowflake_instance(id bigint, ...) returns int
 *
 * Returns the instance number of a Snowflake, or NULL for a negative number.
 * The parameters and their errors are those of comb_snowflake_timestamp().
 */
Datum
comb_snowflake_instance(PG_FUNCTION_ARGS)
{
	int64		id = PG_GETARG_INT64(0);
	CombSnowflake *set = comb_snowflake_set(fcinfo, 1);

	if (id < 0)
		PG_RETURN_NULL();
	PG_RETURN_INT32((int32) (((uint64) id >> set->sequence_bits) &
							 ((UINT64CONST(1) << set->instance_bits) - 1)));
}

/*
 * comb_snowflake_sequence(id bigint, ...) returns int
 *
 * Returns the sequence number of a Snowflake, or NULL for a negative number.
 * The parameters and their errors are those of comb_snowflake_timestamp().
 */
Datum
comb_snowflake_sequence(PG_FUNCTION_ARGS)
{
	int64		id = PG_GETARG_INT64(0);
	CombSnowflake *set = comb_snowflake_set(fcinfo, 1);

	if (id < 0)
		PG_RETURN_NULL();
	PG_RETURN_INT32((int32) ((uint64) id &
							 ((UINT64CONST(1) << set->sequence_bits) - 1)));
}

/*
 * Return the whole ticks from the epoch to "at", rounded down, but at most
 * one more than the bits hold.  "at" must not be before the epoch.  "exact"
 * tells whether "at" is the start of a tick.
 */
static CombSlotTime
comb_snowflake_ticks(const CombSnowflake *set, TimestampTz at, bool *exact)
{
	uint64		us = (uint64) at - (uint64) (set->epoch_us + COMB_UNIX_EPOCH);

	*exact = (us % (uint64) set->tick_us == 0);
	return Min(us / (uint64) set->tick_us, comb_snowflake_time_max(set) + 1);
}

/*
 * comb_snowflake_min(at timestamptz, epoch timestamptz, instance_bits int,
 *					  sequence_bits int, tick interval) returns bigint
 *
 * Returns the smallest Snowflake whose time is at or after "at".  "at" may be
 * inside a tick, or infinite.  Before the epoch the result is 0.  After the
 * last time that the bits hold, the result is the largest bigint, an id that
 * comb_snowflake() never makes.
 */
Datum
comb_snowflake_min(PG_FUNCTION_ARGS)
{
	TimestampTz at = PG_GETARG_TIMESTAMPTZ(0);
	CombSnowflake *set = comb_snowflake_set(fcinfo, 1);
	CombSlotTime time;
	bool		exact;

	if (at <= set->epoch_us + COMB_UNIX_EPOCH)
		PG_RETURN_INT64(0);
	time = comb_snowflake_ticks(set, at, &exact);
	if (!exact)
		time++;
	if (TIMESTAMP_IS_NOEND(at) || time > comb_snowflake_time_max(set))
		PG_RETURN_INT64(PG_INT64_MAX);
	PG_RETURN_INT64((int64) (time << comb_snowflake_shift(set)));
}

/*
 * comb_snowflake_max(at timestamptz, ...) returns bigint
 *
 * Returns the largest Snowflake whose time is at or before "at", with the
 * same parameters.  Before the epoch the result is -1, which is no Snowflake.
 * From the last time that the bits hold on, the result is the largest bigint.
 */
Datum
comb_snowflake_max(PG_FUNCTION_ARGS)
{
	TimestampTz at = PG_GETARG_TIMESTAMPTZ(0);
	CombSnowflake *set = comb_snowflake_set(fcinfo, 1);
	CombSlotTime time;
	bool		exact;

	if (at < set->epoch_us + COMB_UNIX_EPOCH)
		PG_RETURN_INT64(-1);
	time = comb_snowflake_ticks(set, at, &exact);
	if (TIMESTAMP_IS_NOEND(at) || time >= comb_snowflake_time_max(set))
		PG_RETURN_INT64(PG_INT64_MAX);
	PG_RETURN_INT64((int64) (((time + 1) << comb_snowflake_shift(set)) - 1));
}

/*
 * The last field of the lock's tag is 3.  PostgreSQL's own functions for
 * advisory locks write 1 or 2 there, so they cannot hold or release these
 * locks by chance.  pg_locks shows the field as objsubid.
 */
static LOCKTAG
comb_claim_tag(uint32 number)
{
	LOCKTAG		tag;

	SET_LOCKTAG_ADVISORY(tag, MyDatabaseId, 0, number, 3);
	return tag;
}

/*
 * Lock an instance number for this transaction, so that an error frees it.
 * False if a session holds the number, even if this session does.
 */
static bool
comb_claim_lock(uint32 number)
{
	LOCKTAG		tag = comb_claim_tag(number);
	LockAcquireResult result = LockAcquire(&tag, ExclusiveLock, false, true);

	if (result == LOCKACQUIRE_ALREADY_HELD)
		(void) LockRelease(&tag, ExclusiveLock, false);
	return result == LOCKACQUIRE_OK;
}

/* Let the session keep a number that the transaction has locked */
static void
comb_claim_keep(uint32 number)
{
	LOCKTAG		tag = comb_claim_tag(number);

	(void) LockAcquire(&tag, ExclusiveLock, true, true);
	(void) LockRelease(&tag, ExclusiveLock, false);
}

/*
 * Lock and return the first free number after "last", beginning again at 0
 * after the last number.  Returns -1 if no number is free.  The server's own
 * instance number is not free, although no session locks this number.
 */
static int64
comb_claim_next(uint64 last, uint64 numbers)
{
	uint64		i;

	for (i = 1; i <= numbers; i++)
	{
		uint64		number = (last + i) % numbers;

		CHECK_FOR_INTERRUPTS();
		if ((int64) number != comb_instance &&
			comb_claim_lock((uint32) number))
			return (int64) number;
	}
	return -1;
}

/*
 * comb_snowflake_claim(instance_bits int) returns int
 *
 * Returns an instance number for a program that makes its own Snowflakes.
 * The number belongs to the session until the session ends.  Raises 22023 for
 * bad bits, 55006 if no number is free, and 55000 on a standby.
 *
 * Numbers continue after the one that this database gave last, without those
 * that live sessions hold, and without the server's own.  The lowest free
 * number would not do: the last holder's ids may be ahead of the next
 * holder's clock, so a number should rest as long as possible.
 *
 * The lock on the sequence, held to the end, lets one session claim at a
 * time.  The page is closed while numbers are locked, because a process must
 * not wait for a lock while it holds the lock of a buffer.
 */
Datum
comb_snowflake_claim(PG_FUNCTION_ARGS)
{
	int32		bits = PG_GETARG_INT32(0);
	uint64		numbers;
	int64		number;
	CombPage	page;
	Oid			locked;

	comb_check_instance_bits(bits);
	numbers = UINT64CONST(1) << bits;

	locked = comb_sequence_lock(COMB_SERIES_CLAIM, ShareRowExclusiveLock);
	comb_page_open(&page, COMB_SERIES_CLAIM, RowExclusiveLock);
	comb_page_close(&page, true);
	number = comb_claim_next((uint64) page.value, numbers);
	if (number < 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_IN_USE),
				 errmsg("all " UINT64_FORMAT " instance numbers of %d bits are in use",
						numbers, bits),
				 errhint("End sessions that hold one, or claim numbers of more bits.")));
	COMB_INJECTION_POINT("comb-claim-locked");
	comb_page_open(&page, COMB_SERIES_CLAIM, RowExclusiveLock);
	comb_page_write(&page, number, page.incarnation);
	comb_page_close(&page, true);
	comb_claim_keep((uint32) number);
	UnlockRelationOid(locked, ShareRowExclusiveLock);
	PG_RETURN_INT32((int32) number);
}
