/*-------------------------------------------------------------------------
 *
 * comb_time.c
 *	  The time of a key: reading it, writing it, and its bounds.
 *
 * Copyright (c) 2026, pg_comb developers
 *
 * IDENTIFICATION
 *	  src/comb_time.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "comb.h"

PG_FUNCTION_INFO_V1(comb_timestamp);
PG_FUNCTION_INFO_V1(comb_timestamp_layout);
PG_FUNCTION_INFO_V1(comb_stamp);
PG_FUNCTION_INFO_V1(comb_stamp_layout);
PG_FUNCTION_INFO_V1(comb_min);
PG_FUNCTION_INFO_V1(comb_min_layout);
PG_FUNCTION_INFO_V1(comb_max);
PG_FUNCTION_INFO_V1(comb_max_layout);
PG_FUNCTION_INFO_V1(comb_time_encoder);
PG_FUNCTION_INFO_V1(comb_time_decoder);
PG_FUNCTION_INFO_V1(comb_time_decoder_text);

/* Times at the front without version bits: what partition bounds look like */
static const CombLayout *const comb_partition_layout =
	&comb_layout_table[COMB_ULID];

/*
 * A copy of "base" with another time.  A field that says that time already
 * stays as it is, so that a key stamped with its own time is itself also
 * where the field is finer than the microseconds of timestamptz.
 */
static pg_uuid_t *
comb_stamped(const CombLayout *layout, const pg_uuid_t *base, TimestampTz at)
{
	pg_uuid_t  *id;
	TimestampTz now;

	comb_check_time(layout, at);
	id = (pg_uuid_t *) palloc(UUID_LEN);
	memcpy(id, base, UUID_LEN);
	if (!comb_decode(layout, id->data, &now) || now != at)
		comb_encode(layout, id->data, at);
	return id;
}

/*
 * comb_timestamp(id uuid) returns timestamptz
 *
 * Time of creation of a UUIDv7, in whole milliseconds (RFC 9562, 5.7).  NULL
 * for any other uuid; no input raises an error.
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
 * comb_timestamp(id uuid, layout comb_layout) returns timestamptz
 *
 * The same for any layout: the first instant, rounded up to the microsecond,
 * that the layout's encoder turns into this field.  NULL where the version is
 * not the layout's, or no encoder could have written the field.
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
 * comb_stamp(base uuid, at timestamptz) returns uuid
 *
 * "base" with the 48 bits of time, the version and the variant of a UUIDv7
 * (RFC 9562, 5.7), all other bits kept.  Microseconds below the millisecond
 * are cut off.  22008 for a time that 48 bits of milliseconds cannot hold.
 */
Datum
comb_stamp(PG_FUNCTION_ARGS)
{
	pg_uuid_t  *base = PG_GETARG_UUID_P(0);
	TimestampTz at = PG_GETARG_TIMESTAMPTZ(1);

	PG_RETURN_UUID_P(comb_stamped(comb_layout_default, base, at));
}

/*
 * comb_stamp(base uuid, at timestamptz, layout comb_layout) returns uuid
 *
 * The same for any layout, bit by bit what the original software's encoder
 * makes of this base and time: the time cut off to the layout's unit, version
 * and variant set where the layout has them.  Layouts that cannot be
 * generated can be stamped.  22008 for a time that the field cannot hold,
 * also where the original wraps around.
 */
Datum
comb_stamp_layout(PG_FUNCTION_ARGS)
{
	pg_uuid_t  *base = PG_GETARG_UUID_P(0);
	TimestampTz at = PG_GETARG_TIMESTAMPTZ(1);
	const CombLayout *layout = comb_layout_arg(fcinfo, 2);

	PG_RETURN_UUID_P(comb_stamped(layout, base, at));
}

/*
 * comb_min(at timestamptz) returns uuid
 *
 * The smallest UUIDv7 whose time is at or after "at", also for infinity and
 * for instants between two milliseconds.  After the last time that a UUIDv7
 * can hold it is ffffffff-ffff-ffff-ffff-ffffffffffff, which is larger than
 * every UUIDv7.  No input raises an error.
 */
Datum
comb_min(PG_FUNCTION_ARGS)
{
	pg_uuid_t  *id = (pg_uuid_t *) palloc(UUID_LEN);

	comb_lower_bound(comb_layout_default, id->data, PG_GETARG_TIMESTAMPTZ(0));
	PG_RETURN_UUID_P(id);
}

/*
 * comb_min(at timestamptz, layout comb_layout) returns uuid
 *
 * The same for any layout, in the order of the database that the layout is
 * for.  Beyond the layout's last time it is all ones; in layouts without a
 * version that is a key too, the last one of the last unit of time.  0A000
 * for layouts whose keys do not sort by time.
 */
Datum
comb_min_layout(PG_FUNCTION_ARGS)
{
	const CombLayout *layout = comb_layout_arg(fcinfo, 1);
	pg_uuid_t  *id;

	comb_check_sorts(layout);
	id = (pg_uuid_t *) palloc(UUID_LEN);
	comb_lower_bound(layout, id->data, PG_GETARG_TIMESTAMPTZ(0));
	PG_RETURN_UUID_P(id);
}

/*
 * comb_max(at timestamptz) returns uuid
 *
 * The largest UUIDv7 whose time is at or before "at"; before 1970 the nil
 * uuid, which is smaller than every UUIDv7.  No input raises an error.
 */
Datum
comb_max(PG_FUNCTION_ARGS)
{
	pg_uuid_t  *id = (pg_uuid_t *) palloc(UUID_LEN);

	comb_upper_bound(comb_layout_default, id->data, PG_GETARG_TIMESTAMPTZ(0));
	PG_RETURN_UUID_P(id);
}

/*
 * comb_max(at timestamptz, layout comb_layout) returns uuid
 *
 * The same for any layout; all zeros before the layout's first time, which in
 * layouts without a version is a key too.  0A000 as comb_min.
 */
Datum
comb_max_layout(PG_FUNCTION_ARGS)
{
	const CombLayout *layout = comb_layout_arg(fcinfo, 1);
	pg_uuid_t  *id;

	comb_check_sorts(layout);
	id = (pg_uuid_t *) palloc(UUID_LEN);
	comb_upper_bound(layout, id->data, PG_GETARG_TIMESTAMPTZ(0));
	PG_RETURN_UUID_P(id);
}

/*
 * comb_time_encoder(at timestamptz) returns uuid
 *
 * A partition bound for pg_partman: 48 bits of milliseconds, then zeros, the
 * version's place included, so that keys of the first millisecond stand above
 * it whatever their version.  An instant inside a millisecond gives the next
 * one, as a lower bound must.  22008 for a time that does not fit.
 */
Datum
comb_time_encoder(PG_FUNCTION_ARGS)
{
	const CombCodec *codec = comb_layout_default->codec;
	TimestampTz at = PG_GETARG_TIMESTAMPTZ(0);
	TimestampTz latest = codec->latest - (COMB_US_PER_MS - 1);
	pg_uuid_t  *id;

	/* not comb_check_time(): the last millisecond has no next one */
	if (at < codec->earliest || at > latest)
		ereport(ERROR,
				(errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
				 errmsg("timestamp out of range for a partition bound"),
				 errdetail("Bounds can be from %s to %s.",
						   comb_time_text(codec->earliest),
						   comb_time_text(latest))));
	at += COMB_US_PER_MS - 1;
	id = (pg_uuid_t *) palloc0(UUID_LEN);
	comb_encode(comb_partition_layout, id->data, at);
	PG_RETURN_UUID_P(id);
}

/*
 * comb_time_decoder(id uuid) returns timestamptz
 *
 * The first 48 bits read as milliseconds whatever the version, because a
 * partition bound has none.  No input raises an error.
 */
Datum
comb_time_decoder(PG_FUNCTION_ARGS)
{
	pg_uuid_t  *id = PG_GETARG_UUID_P(0);
	TimestampTz at = 0;

	(void) comb_decode(comb_partition_layout, id->data, &at);
	PG_RETURN_TIMESTAMPTZ(at);
}

/*
 * comb_time_decoder(id text) returns timestamptz
 *
 * The same for the text of a uuid, which is how pg_partman passes it; every
 * spelling that uuid's input takes, and its error, 22P02, for anything else.
 */
Datum
comb_time_decoder_text(PG_FUNCTION_ARGS)
{
	char	   *str = text_to_cstring(PG_GETARG_TEXT_PP(0));

	return DirectFunctionCall1(comb_time_decoder,
							   DirectFunctionCall1(uuid_in,
												   CStringGetDatum(str)));
}
