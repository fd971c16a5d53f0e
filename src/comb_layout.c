/*-------------------------------------------------------------------------
 *
 * comb_layout.c
 *	  The layout table, and what needs no clock: reading and writing the time
 *	  of a key, and bounds.
 *
 * Copyright (c) 2026, pg_comb developers
 *
 * IDENTIFICATION
 *	  src/comb_layout.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/datetime.h"
#include "utils/timestamp.h"

#include "comb.h"

PG_FUNCTION_INFO_V1(comb_timestamp);
PG_FUNCTION_INFO_V1(comb_stamp);
PG_FUNCTION_INFO_V1(comb_min);
PG_FUNCTION_INFO_V1(comb_max);
PG_FUNCTION_INFO_V1(comb_time_encoder);
PG_FUNCTION_INFO_V1(comb_time_decoder);
PG_FUNCTION_INFO_V1(comb_time_decoder_text);

static const CombCodec comb_unix_ms = {
	.decode = comb_unix_ms_decode,
	.encode = comb_unix_ms_encode,
	.earliest = COMB_UNIX_EPOCH,
	.latest = COMB_UNIX_MS_LATEST,
	.unit_us = 1000,
	.fields_per_us = 1,
	.tick_bits = COMB_TICK_BITS
};

/* Byte orders: how the database that a layout is made for compares */
#define COMB_ORDER_PLAIN \
	{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}

/* Version and variant of RFC 9562: the high bits of bytes 6 and 8 */
#define COMB_RFC_BITS		{[6] = 4, [8] = 2}
#define COMB_RFC_VALUE(v)	{[6] = (v) << 4, [8] = 0x80}

const CombLayout comb_layout_table[] = {
	{
		.label = "uuidv7",
		.codec = &comb_unix_ms,
		.versioned = true,
		.field_bytes = 6,
		.order = COMB_ORDER_PLAIN,
		.fixed_bits = COMB_RFC_BITS,
		.fixed_value = COMB_RFC_VALUE(7)
	},
	{
		.label = "ulid",
		.codec = &comb_unix_ms,
		.field_bytes = 6,
		.order = COMB_ORDER_PLAIN
	}
};

/* Times at the front without version bits: what partition bounds look like */
#define COMB_LAYOUT_BARE	(&comb_layout_table[1])

/*
 * An instant for a message, in UTC whatever the session's settings, so that
 * messages of servers and tests can be compared.
 */
char *
comb_time_text(TimestampTz at)
{
	struct pg_tm tm;
	fsec_t		fsec;
	char		buf[MAXDATELEN + 1];

	if (TIMESTAMP_NOT_FINITE(at) ||
		timestamp2tm(at, NULL, &tm, &fsec, NULL, NULL) != 0)
		return pstrdup(at < 0 ? "-infinity" : "infinity");
	tm.tm_isdst = 0;			/* the zone is known: UTC */
	EncodeDateTime(&tm, fsec, true, 0, NULL, USE_ISO_DATES, buf);
	return pstrdup(buf);
}

/* Raise 22008 for a time that the layout cannot hold, infinities included */
void
comb_check_time(const CombLayout *layout, TimestampTz at)
{
	const CombCodec *codec = layout->codec;

	if (at < codec->earliest || at > codec->latest)
		ereport(ERROR,
				(errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
				 errmsg("timestamp out of range for layout \"%s\"",
						layout->label),
				 errdetail("The layout holds times from %s to %s.",
						   comb_time_text(codec->earliest),
						   comb_time_text(codec->latest))));
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
	pg_uuid_t  *id;

	comb_check_time(COMB_LAYOUT_DEFAULT, at);
	id = (pg_uuid_t *) palloc(UUID_LEN);
	memcpy(id, base, UUID_LEN);
	comb_encode(COMB_LAYOUT_DEFAULT, id->data, at);
	PG_RETURN_UUID_P(id);
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

	comb_lower_bound(COMB_LAYOUT_DEFAULT, id->data, PG_GETARG_TIMESTAMPTZ(0));
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

	comb_upper_bound(COMB_LAYOUT_DEFAULT, id->data, PG_GETARG_TIMESTAMPTZ(0));
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
	TimestampTz at = PG_GETARG_TIMESTAMPTZ(0);
	pg_uuid_t  *id;

	comb_check_time(COMB_LAYOUT_BARE, at);
	at += COMB_US_PER_MS - 1;
	comb_check_time(COMB_LAYOUT_BARE, at);
	id = (pg_uuid_t *) palloc0(UUID_LEN);
	comb_encode(COMB_LAYOUT_BARE, id->data, at);
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

	(void) comb_decode(COMB_LAYOUT_BARE, id->data, &at);
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
