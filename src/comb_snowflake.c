/*-------------------------------------------------------------------------
 *
 * comb_snowflake.c
 *	  64-bit keys: reading Snowflakes, and their bounds.
 *
 * The format is that of Twitter's generator (2010).  Its four constants are
 * parameters here: the epoch, the bits of the instance number, the bits of the
 * sequence number, and the length of a tick.  doc/ordered.md has the
 * parameters of other services.
 *
 * ordered/comb_snowflake_generate.c makes Snowflakes.
 *
 * Copyright (c) 2026, pg_comb developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/int.h"

#include "comb_snowflake.h"

PG_FUNCTION_INFO_V1(comb_snowflake_timestamp);
PG_FUNCTION_INFO_V1(comb_snowflake_instance);
PG_FUNCTION_INFO_V1(comb_snowflake_sequence);
PG_FUNCTION_INFO_V1(comb_snowflake_min);
PG_FUNCTION_INFO_V1(comb_snowflake_max);

/* Raise 22023 for a number of bits that is out of range */
static void
comb_check_bits(const char *name, int32 bits)
{
	if (bits < 0 || bits > COMB_PART_BITS_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("\"%s\" must be between 0 and %d",
						name, COMB_PART_BITS_MAX)));
}

/*
 * Check the parameters of a set and derive the other members from them.
 * Raises 22008 for an epoch that is out of range, and 22023 for other bad
 * parameters, such as a tick with months, whose length varies.
 */
void
comb_snowflake_prepare(CombSnowflake *set)
{
	const Interval *tick = &set->tick;

	comb_check_bits("instance_bits", set->instance_bits);
	comb_check_bits("sequence_bits", set->sequence_bits);
	if (set->epoch_instant < COMB_UNIX_EPOCH ||
		set->epoch_instant > COMB_CLOCK_MAX_US + COMB_UNIX_EPOCH)
		ereport(ERROR,
				(errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
				 errmsg("\"epoch\" must be between %s and %s",
						comb_time_text(COMB_UNIX_EPOCH),
						comb_time_text(COMB_CLOCK_MAX_US + COMB_UNIX_EPOCH))));
	if (tick->month != 0 ||
		pg_mul_s64_overflow(tick->day, USECS_PER_DAY, &set->tick_us) ||
		pg_add_s64_overflow(set->tick_us, tick->time, &set->tick_us) ||
		set->tick_us <= 0 || set->tick_us > USECS_PER_DAY)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("\"tick\" must be between 1 microsecond and 1 day")));

	set->epoch = comb_time_from_us(set->epoch_instant - COMB_UNIX_EPOCH);
	set->span = comb_time_from_us(set->tick_us);
	set->slot = Max(set->span >> set->sequence_bits, 1);
	set->last_sequence = Min(UINT64CONST(1) << set->sequence_bits,
							 set->span) - 1;
	/* no id has the last time, so that a bound can be above all ids */
	set->end = (UINT64CONST(1) <<
				(COMB_SNOWFLAKE_BITS - comb_snowflake_shift(set))) - 1;
	set->slow = (set->tick_us >
				 (int64) (set->last_sequence + 1) * COMB_SLOT_US_MAX);
	set->tick_time = 0;
	set->tick_start = set->epoch;
}

/*
 * Compute the instant of a time in ticks: infinity if it is beyond the range of
 * timestamptz.
 */
TimestampTz
comb_snowflake_instant(const CombSnowflake *set, CombSlotTime time)
{
	int64		at;

	if (pg_mul_s64_overflow((int64) time, set->tick_us, &at) ||
		pg_add_s64_overflow(at, set->epoch_instant, &at) ||
		!IS_VALID_TIMESTAMP(at))
		return DT_NOEND;
	return at;
}

/*
 * All functions of Snowflakes have the parameters epoch timestamptz,
 * instance_bits int, sequence_bits int and tick interval, and raise 22023 and
 * 22008 for bad ones.  Negative numbers are no Snowflakes, and read as NULL.
 */

/*
 * comb_snowflake_timestamp(id bigint, ...) returns timestamptz: the start of the
 * tick in which a Snowflake was made.  Raises 22008 for a time beyond the range
 * of timestamptz.
 */
Datum
comb_snowflake_timestamp(PG_FUNCTION_ARGS)
{
	int64		id = PG_GETARG_INT64(0);
	CombSnowflake *set = comb_snowflake_set(fcinfo, 1);
	TimestampTz at;

	if (id < 0)
		PG_RETURN_NULL();
	at = comb_snowflake_instant(set, (uint64) id >> comb_snowflake_shift(set));
	if (TIMESTAMP_IS_NOEND(at))
		ereport(ERROR,
				(errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
				 errmsg("timestamp of the Snowflake is out of range"),
				 errdetail("With these parameters, its time is after the last one of type timestamp with time zone.")));
	PG_RETURN_TIMESTAMPTZ(at);
}

/* Return "bits" bits of a Snowflake, above the lowest "shift" ones */
static Datum
comb_snowflake_part(FunctionCallInfo fcinfo, int bits, int shift)
{
	int64		id = PG_GETARG_INT64(0);

	if (id < 0)
		PG_RETURN_NULL();
	PG_RETURN_INT32((id >> shift) & ((INT64CONST(1) << bits) - 1));
}

/* comb_snowflake_instance(id bigint, ...) returns int */
Datum
comb_snowflake_instance(PG_FUNCTION_ARGS)
{
	CombSnowflake *set = comb_snowflake_set(fcinfo, 1);

	return comb_snowflake_part(fcinfo, set->instance_bits, set->sequence_bits);
}

/* comb_snowflake_sequence(id bigint, ...) returns int */
Datum
comb_snowflake_sequence(PG_FUNCTION_ARGS)
{
	return comb_snowflake_part(fcinfo, comb_snowflake_set(fcinfo, 1)->sequence_bits, 0);
}

/*
 * Return the smallest number whose time is at or after "at", and 2^63 after
 * the last time that the bits hold.
 */
static uint64
comb_snowflake_bound(const CombSnowflake *set, TimestampTz at)
{
	CombSlotTime time = set->end + 1;

	if (at <= set->epoch_instant)
		return 0;
	if (!TIMESTAMP_IS_NOEND(at))
		time = ((uint64) at - (uint64) set->epoch_instant - 1) / set->tick_us + 1;
	return Min(time, set->end + 1) << comb_snowflake_shift(set);
}

/*
 * comb_snowflake_min(at timestamptz, ...) returns bigint: the smallest Snowflake
 * whose time is at or after "at".  After the last time that the bits hold, it is
 * the largest bigint, an id that comb_snowflake() never makes.
 */
Datum
comb_snowflake_min(PG_FUNCTION_ARGS)
{
	TimestampTz at = PG_GETARG_TIMESTAMPTZ(0);
	uint64		first = comb_snowflake_bound(comb_snowflake_set(fcinfo, 1), at);

	PG_RETURN_INT64((int64) Min(first, PG_INT64_MAX));
}

/*
 * comb_snowflake_max(at timestamptz, ...) returns bigint: the largest Snowflake
 * whose time is at or before "at".  Before the epoch it is -1, and at and after
 * the last time that the bits hold the largest bigint.
 */
Datum
comb_snowflake_max(PG_FUNCTION_ARGS)
{
	TimestampTz at = PG_GETARG_TIMESTAMPTZ(0);
	TimestampTz after = TIMESTAMP_IS_NOEND(at) ? at : at + 1;
	uint64		first = comb_snowflake_bound(comb_snowflake_set(fcinfo, 1), after);

	PG_RETURN_INT64((int64) (first - 1));
}
