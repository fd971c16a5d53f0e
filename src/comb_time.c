/*-------------------------------------------------------------------------
 *
 * comb_time.c
 *	  Functions that read and write the time of a key, and bounds by time.
 *
 * Copyright (c) 2026, pg_comb developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/builtins.h"

#include "comb.h"

PG_FUNCTION_INFO_V1(comb_timestamp);
PG_FUNCTION_INFO_V1(comb_timestamp_layout);
PG_FUNCTION_INFO_V1(comb_stamp);
PG_FUNCTION_INFO_V1(comb_min);
PG_FUNCTION_INFO_V1(comb_max);
PG_FUNCTION_INFO_V1(comb_time_decoder);
PG_FUNCTION_INFO_V1(comb_instant_date);
PG_FUNCTION_INFO_V1(comb_instant_timestamp);

/*
 * All functions of this file return NULL for NULL, and with a layout raise 22023
 * if the layout is unknown.
 */

/*
 * comb_timestamp(id uuid) returns timestamptz: the time of a UUIDv7, in whole
 * milliseconds (RFC 9562, 5.7), and NULL for any other uuid.  Raises no error.
 */
Datum
comb_timestamp(PG_FUNCTION_ARGS)
{
	pg_uuid_t  *id = PG_GETARG_UUID_P(0);
	TimestampTz at;

	if (!comb_v7_read(id->data, &at))
		PG_RETURN_NULL();
	PG_RETURN_TIMESTAMPTZ(at);
}

/*
 * comb_timestamp(id uuid, layout text) returns timestamptz: the first whole
 * microsecond that the layout's encoder turns into the key's time field.  NULL
 * for a value whose version is not the layout's, and for a field that no encoder
 * could have written.
 */
Datum
comb_timestamp_layout(PG_FUNCTION_ARGS)
{
	pg_uuid_t  *id = PG_GETARG_UUID_P(0);
	const CombLayout *layout = comb_layout_arg(fcinfo, 1);
	TimestampTz at;

	if (!comb_decode(layout, id->data, &at))
		PG_RETURN_NULL();
	PG_RETURN_TIMESTAMPTZ(at);
}

/*
 * comb_stamp(id uuid, at timestamptz [, layout text]) returns uuid: the key that
 * the original software would make from this time, truncated to its unit, and
 * the other bits of the uuid.  Version and variant are written if the layout
 * requires them.  Also for layouts that comb_generate() cannot make.  Raises
 * 22008 for a time that the field cannot hold, even if the original wraps around.
 */
Datum
comb_stamp(PG_FUNCTION_ARGS)
{
	pg_uuid_t  *given = PG_GETARG_UUID_P(0);
	TimestampTz at = PG_GETARG_TIMESTAMPTZ(1);
	const CombLayout *layout = comb_layout_arg_or_default(fcinfo, 2);
	pg_uuid_t  *id;
	TimestampTz now;

	comb_check_time(layout, at);
	id = (pg_uuid_t *) palloc(UUID_LEN);
	memcpy(id, given, UUID_LEN);

	/*
	 * A key whose time is "at" already stays as it is, even if its field is
	 * finer than the microseconds of timestamptz.
	 */
	if (!comb_decode(layout, id->data, &now) || now != at)
		comb_encode(layout, id->data, at);
	PG_RETURN_UUID_P(id);
}

/*
 * Raise 22008 if the bound beyond a layout's end is itself a key.
 *
 * Beyond the ends the bounds are all zeros and all ones.  In a layout with a
 * version no key is so small or so large.  In other layouts these can be the
 * first and the last key, so the bound would let a key through whose time is
 * outside.
 */
static void
comb_check_no_key(const CombLayout *layout, const pg_uuid_t *bound,
				  TimestampTz at, bool last)
{
	TimestampTz other;

	if (comb_decode(layout, bound->data, &other))
		ereport(ERROR,
				(errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
				 errmsg("timestamp out of range for a bound of layout \"%s\"",
						layout->label),
				 last ?
				 errdetail("No key of the layout has a time at or before %s.",
						   comb_time_text(at)) :
				 errdetail("No key of the layout has a time at or after %s.",
						   comb_time_text(at)),
				 errhint("comb_created(id, period, '%s') takes every period.",
						 layout->label)));
}

/*
 * Return the smallest or the largest key of a time.  Filters without a layout
 * ask in each row, so times from 1970 to 4199 take a shortcut.
 */
static pg_always_inline pg_uuid_t *
comb_time_end(FunctionCallInfo fcinfo, bool largest)
{
	TimestampTz at = PG_GETARG_TIMESTAMPTZ(0);
	uint64		us = (uint64) at - (uint64) COMB_UNIX_EPOCH;
	uint64		ones = largest ? PG_UINT64_MAX : 0;
	pg_uuid_t  *id = (pg_uuid_t *) palloc(UUID_LEN);
	const CombLayout *layout;

	if (PG_NARGS() == 1 && us <= COMB_CLOCK_MAX_US)
	{
		if (!largest)
			us += COMB_US_PER_MS - 1;
		comb_v7_write(id->data, us / COMB_US_PER_MS,
					  ones >> (64 - COMB_TICK_BITS), ones);
		return id;
	}
	layout = comb_layout_arg_or_default(fcinfo, 1);
	comb_check_sorts(layout);
	if (!(largest ? comb_upper_bound(layout, id->data, at) :
		  comb_lower_bound(layout, id->data, at)))
		comb_check_no_key(layout, id, at, largest);
	return id;
}

/*
 * comb_min(at timestamptz [, layout text]) returns uuid: the smallest key whose
 * time is at or after "at", in the order of the layout's database.  "at" may be
 * infinite, or between two units of time.  After the layout's last time the
 * result is all ones, which is larger than every key.
 *
 * Raises 22008 after the last time of a layout in which all ones is a key, and
 * 0A000 for a layout whose keys do not sort by time.
 */
Datum
comb_min(PG_FUNCTION_ARGS)
{
	PG_RETURN_UUID_P(comb_time_end(fcinfo, false));
}

/*
 * comb_max(at timestamptz [, layout text]) returns uuid: the largest key whose
 * time is at or before "at", and before the layout's first time the nil uuid.
 * Raises 22008 before the first time of a layout in which the nil uuid is a key,
 * and the other errors of comb_min().
 */
Datum
comb_max(PG_FUNCTION_ARGS)
{
	PG_RETURN_UUID_P(comb_time_end(fcinfo, true));
}

/*
 * comb_time_decoder(id text) returns timestamptz: the first 48 bits of a uuid,
 * whatever its version, as milliseconds since 1970, as in a ULID.  For
 * pg_partman, which passes texts of partition bounds and of keys.  Raises 22P02
 * for a text that uuid's input function does not take.
 */
Datum
comb_time_decoder(PG_FUNCTION_ARGS)
{
	/* a text that is clipped is too long for a uuid anyway */
	char	   *str = comb_clipped(PG_GETARG_TEXT_PP(0));
	pg_uuid_t  *id = DatumGetUUIDP(DirectFunctionCall1(uuid_in,
													   CStringGetDatum(str)));
	TimestampTz at = 0;

	(void) comb_decode(comb_layout_ulid, id->data, &at);
	PG_RETURN_TIMESTAMPTZ(at);
}

/*
 * comb_instant(at date) returns timestamptz
 * comb_instant(at timestamp) returns timestamptz
 *
 * Return the instant that comparisons of a timestamptz with this date or
 * timestamp take it for, in the session's zone: an infinite one if timestamptz
 * has none, where the casts raise 22008.  Raise no error.
 */
Datum
comb_instant_date(PG_FUNCTION_ARGS)
{
	PG_RETURN_TIMESTAMPTZ(comb_date_instant(PG_GETARG_DATEADT(0)));
}

Datum
comb_instant_timestamp(PG_FUNCTION_ARGS)
{
	PG_RETURN_TIMESTAMPTZ(comb_timestamp_instant(PG_GETARG_TIMESTAMP(0)));
}
