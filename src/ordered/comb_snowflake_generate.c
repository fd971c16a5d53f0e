/*-------------------------------------------------------------------------
 *
 * comb_snowflake_generate.c
 *	  64-bit keys: making Snowflakes, the bound of their feeds, and instance
 *	  numbers for programs that make their own.
 *
 * Ids take their slots from counters in shared memory (comb_shared.c).
 * Different parameter sets share a counter; comb_snowflake.h says why this
 * works.  Slots do not depend on the instance number either, so a server whose
 * instance number changes repeats no id.
 *
 * Copyright (c) 2026, pg_comb developers
 *
 * IDENTIFICATION
 *	  src/ordered/comb_snowflake_generate.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/lmgr.h"
#include "storage/lock.h"

#include "comb_lease.h"
#include "comb_settled.h"
#include "comb_snowflake.h"

PG_FUNCTION_INFO_V1(comb_snowflake);
PG_FUNCTION_INFO_V1(comb_snowflake_settled);
PG_FUNCTION_INFO_V1(comb_snowflake_claim);

/* The argument of comb_snowflake_step(): the set to use, and the slot taken */
typedef struct CombSnowflakeTaken
{
	CombSnowflake *set;
	CombSlot	slot;
} CombSnowflakeTaken;

static inline CombSeries
comb_snowflake_series(const CombSnowflake *set)
{
	return set->slow ? COMB_SERIES_SLOW : COMB_SERIES_SNOWFLAKE;
}

/* Raise 22008, and say for which times the parameters can make ids */
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
 * Take the next slot, and advance the counter to its start.  Returns the start
 * of the slot.
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
	pg_atomic_uint64 *counter = comb_leases[comb_snowflake_series(set)].counter;
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
 * Returns a new Snowflake with this server's instance number.  It is larger
 * than every id with the same parameters and instance number that any session
 * received before the call, even after a restart, a crash, a failover, or when
 * the clock is set back.
 *
 * Raises 22008 for an epoch out of range, and for a clock before the epoch or
 * after the last time that the bits hold.  Raises 22023 for other bad
 * parameters, and for an instance number that the bits cannot hold.  Raises
 * 55000 on a standby, without an instance number, if the clock is behind by
 * more than pg_comb.max_ordered_drift, and if the clock jumped ahead by ten
 * years.
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
	(void) comb_lease_take(comb_snowflake_series(taken.set), comb_snowflake_step, &taken);
	PG_RETURN_INT64(comb_snowflake_compose(taken.set, taken.slot, instance));
}

/*
 * comb_snowflake_settled(epoch timestamptz, instance_bits int,
 *						  sequence_bits int, tick interval) returns bigint
 *
 * Returns a bound for the Snowflakes that this database makes with this
 * server's instance number and these parameters.  It means the same as the
 * result of comb_settled().  Returns 0 if the bound cannot be found at the
 * moment, or is before the epoch.  Raises the errors of comb_settled(), and
 * those of comb_snowflake() for bad parameters and a missing instance number.
 */
Datum
comb_snowflake_settled(PG_FUNCTION_ARGS)
{
	CombSnowflake *set = comb_snowflake_set(fcinfo, 0);
	uint64		instance = comb_snowflake_server(set);
	CombTime	bound = comb_settled_bound(comb_snowflake_series(set));
	CombSlot	slot;

	if (bound <= set->epoch)
		PG_RETURN_INT64(0);
	slot = comb_slot_at(set, bound);
	if (comb_slot_start(set, slot) < bound)
		slot = comb_slot_after(set, slot);
	/* other parameters may have taken the counter beyond the last id */
	if (slot.time >= set->end)
	{
		slot.time = set->end;
		slot.sequence = 0;
	}
	PG_RETURN_INT64(comb_snowflake_compose(set, slot, instance));
}

/*
 * Return the tag of an instance number's lock.  Its last field is 3.
 * PostgreSQL's own functions for advisory locks write 1 or 2 there, so they
 * cannot take or release these locks by accident.  pg_locks shows the field as
 * objsubid.
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
 * False if a session holds the number, even if it is this one.
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

/* Keep a number that the transaction has locked until the session ends */
static void
comb_claim_keep(uint32 number)
{
	LOCKTAG		tag = comb_claim_tag(number);

	(void) LockAcquire(&tag, ExclusiveLock, true, true);
	(void) LockRelease(&tag, ExclusiveLock, false);
}

/*
 * Lock and return the first free number after "last", starting over at 0 after
 * the last number.  Returns -1 if no number is free.  The server's own
 * instance number is never free, although no session locks it.
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
 * Returns an instance number for a program that makes its own Snowflakes.  The
 * session holds the number until the session ends.  Raises 22023 for bad bits,
 * 55006 if no number is free, and 55000 on a standby.
 *
 * The search starts after the number that this database returned last, and
 * skips numbers that sessions hold, and the server's own.  The lowest free
 * number would not do: ids of its last holder may be ahead of the next
 * holder's clock, so a number should rest as long as possible.
 *
 * The lock on the sequence lets only one session claim at a time.  The page is
 * closed while we lock numbers, because a process must not wait for a
 * heavyweight lock while it holds a buffer lock.
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
