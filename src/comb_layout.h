/*-------------------------------------------------------------------------
 *
 * comb_layout.h
 *	  Bit arithmetic of COMB layouts: no fmgr, no ereport, no allocation.
 *
 * A layout says where in the 16 bytes of a uuid the time stands and in which
 * unit.  It is data: one row of the table in comb_layout.c.  A codec, a row's
 * unit, converts between the number in the time field and an instant; there
 * are far fewer units than layouts.
 *
 * Instants are int64 microseconds since 2000-01-01 00:00 UTC, which is
 * PostgreSQL's TimestampTz.  Its own range is wider than that of any layout,
 * so all comparisons with a layout's limits are made in this unit, before any
 * arithmetic that could overflow.
 *
 * Copyright (c) 2026, pg_comb developers
 *
 * IDENTIFICATION
 *	  src/comb_layout.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef COMB_LAYOUT_H
#define COMB_LAYOUT_H

#include "port/pg_bswap.h"

#define COMB_ID_LEN				16

#define COMB_US_PER_MS			INT64CONST(1000)
#define COMB_NS_PER_MS			1000000
#define COMB_MS_PER_S			1000
#define COMB_US_PER_S			INT64CONST(1000000)
#define COMB_US_PER_DAY			INT64CONST(86400000000)

/* Instants of the epochs of other software, before 2000-01-01 */
#define COMB_UNIX_EPOCH			(-INT64CONST(10957) * COMB_US_PER_DAY)

/*
 * A tick is 2^-18 ms, 3.8 ns.  Time and counter of a key are this one number:
 * Unix milliseconds above, the clock's position inside the millisecond below.
 * 18 bits because a tick then is shorter than any call that makes a key, so
 * that counting one tick per key never gets ahead of a running clock; and 46
 * bits remain for the milliseconds, enough until the year 4199.
 */
#define COMB_TICK_BITS			18
#define COMB_TICKS_PER_MS		(UINT64CONST(1) << COMB_TICK_BITS)
#define COMB_TICK_MASK			(COMB_TICKS_PER_MS - 1)
#define COMB_TICKS_PER_S		(COMB_TICKS_PER_MS * COMB_MS_PER_S)
#define COMB_TICKS_MAX_S		(((INT64CONST(1) << 46) / COMB_MS_PER_S) - 1)

/*
 * The unit of a time field.
 *
 * "decode" gives the first instant, in whole microseconds, that "encode"
 * turns into that field, so encode(decode(field)) = field; false where no
 * encoder could have written the field.  "encode" truncates and may only be
 * called with instants from "earliest" to "latest".  One field spans at most
 * unit_us microseconds, and one microsecond at most fields_per_us fields.
 */
typedef struct CombCodec
{
	bool		(*decode) (uint64 field, int64 *at);
	uint64		(*encode) (int64 at);
	int64		earliest;
	int64		latest;
	int32		unit_us;
	int32		fields_per_us;
	int32		tick_bits;		/* ticks in one unit take this many bits */
} CombCodec;

/*
 * A layout.  "order" names the bytes as the database that the layout is made
 * for compares them, most significant first; the time field is its first
 * field_bytes bytes.  The high fixed_bits[n] bits of byte n are not the
 * layout's to use and hold those of fixed_value[n]; with "versioned" they are
 * also part of what a value must have to belong to the layout.
 */
typedef struct CombLayout
{
	const char *label;
	const CombCodec *codec;
	bool		versioned;
	uint8		field_bytes;
	uint8		order[COMB_ID_LEN];
	uint8		fixed_bits[COMB_ID_LEN];
	uint8		fixed_value[COMB_ID_LEN];
} CombLayout;

/*
 * 48-bit Unix milliseconds: 1970-01-01 to 10889-08-02 05:31:50.655, RFC 9562
 * section 5.7 and many older formats.
 */
#define COMB_UNIX_MS_LATEST \
	(COMB_UNIX_EPOCH + ((INT64CONST(1) << 48) * COMB_US_PER_MS) - 1)

static inline bool
comb_unix_ms_decode(uint64 field, int64 *at)
{
	*at = (int64) field * COMB_US_PER_MS + COMB_UNIX_EPOCH;
	return true;
}

static inline uint64
comb_unix_ms_encode(int64 at)
{
	return (uint64) (at - COMB_UNIX_EPOCH) / COMB_US_PER_MS;
}

/* The bits of byte "pos" that are the layout's to use */
static inline unsigned char
comb_free_mask(const CombLayout *layout, int pos)
{
	return 0xff >> layout->fixed_bits[pos];
}

/* Does the value have the version and variant that the layout demands? */
static inline bool
comb_has_fixed_bits(const CombLayout *layout, const unsigned char *id)
{
	int			pos;

	for (pos = 0; pos < COMB_ID_LEN; pos++)
	{
		if ((id[pos] & ~comb_free_mask(layout, pos)) != layout->fixed_value[pos])
			return false;
	}
	return true;
}

static inline void
comb_set_fixed_bits(const CombLayout *layout, unsigned char *id)
{
	int			pos;

	for (pos = 0; pos < COMB_ID_LEN; pos++)
		id[pos] = (id[pos] & comb_free_mask(layout, pos)) |
			layout->fixed_value[pos];
}

/* The number in the time field */
static inline uint64
comb_get_field(const CombLayout *layout, const unsigned char *id)
{
	uint64		field = 0;
	int			i;

	for (i = 0; i < layout->field_bytes; i++)
	{
		int			pos = layout->order[i];

		field <<= 8 - layout->fixed_bits[pos];
		field |= id[pos] & comb_free_mask(layout, pos);
	}
	return field;
}

static inline void
comb_set_field(const CombLayout *layout, unsigned char *id, uint64 field)
{
	int			i;

	for (i = layout->field_bytes - 1; i >= 0; i--)
	{
		int			pos = layout->order[i];
		unsigned char mask = comb_free_mask(layout, pos);

		id[pos] = (id[pos] & ~mask) | ((unsigned char) field & mask);
		field >>= 8 - layout->fixed_bits[pos];
	}
}

/*
 * Put "nbits" bits of "sub" right after the time field, in the layout's byte
 * order and around its fixed bits: the part of a key that keeps the keys of
 * one time unit in order.
 */
static inline void
comb_set_sub(const CombLayout *layout, unsigned char *id, uint32 sub, int nbits)
{
	int			i;

	for (i = layout->field_bytes; nbits > 0; i++)
	{
		int			pos = layout->order[i];
		int			room = 8 - layout->fixed_bits[pos];
		unsigned char mask = comb_free_mask(layout, pos);

		if (nbits >= room)
			id[pos] = (id[pos] & ~mask) | ((sub >> (nbits - room)) & mask);
		else
		{
			mask = (mask >> (room - nbits)) << (room - nbits);
			id[pos] = (id[pos] & ~mask) | ((sub << (room - nbits)) & mask);
		}
		nbits -= room;
	}
}

/* Time of a value, false where the value cannot be one of the layout */
static inline bool
comb_decode(const CombLayout *layout, const unsigned char *id, int64 *at)
{
	if (layout->versioned && !comb_has_fixed_bits(layout, id))
		return false;
	return layout->codec->decode(comb_get_field(layout, id), at);
}

/*
 * Write an instant, which must be inside the codec's limits, and the version
 * bits where the layout has them.  All other bits stay.
 */
static inline void
comb_encode(const CombLayout *layout, unsigned char *id, int64 at)
{
	comb_set_field(layout, id, layout->codec->encode(at));
	if (layout->versioned)
		comb_set_fixed_bits(layout, id);
}

/*
 * Smallest value whose time is at or after "at".  Beyond the last instant of
 * the layout there is none, and the value is all ones, which sorts after all
 * versioned values.
 */
static inline void
comb_lower_bound(const CombLayout *layout, unsigned char *id, int64 at)
{
	const CombCodec *codec = layout->codec;
	int64		start;

	memset(id, 0x00, COMB_ID_LEN);
	if (at <= codec->earliest)
		at = codec->earliest;
	else if (at <= codec->latest)
	{
		/* an instant inside a unit belongs to the next one */
		(void) codec->decode(codec->encode(at), &start);
		if (start < at)
			at = start + codec->unit_us;
	}
	if (at <= codec->latest)
		comb_encode(layout, id, at);
	else
		memset(id, 0xff, COMB_ID_LEN);
}

/*
 * Largest value whose time is at or before "at".  Before the first instant
 * of the layout there is none, and the value is all zeros.
 */
static inline void
comb_upper_bound(const CombLayout *layout, unsigned char *id, int64 at)
{
	const CombCodec *codec = layout->codec;

	if (at < codec->earliest)
	{
		memset(id, 0x00, COMB_ID_LEN);
		return;
	}
	memset(id, 0xff, COMB_ID_LEN);
	comb_set_field(layout, id,
				   codec->encode(Min(at, codec->latest)) +
				   codec->fields_per_us - 1);
	if (layout->versioned)
		comb_set_fixed_bits(layout, id);
}

/*
 * Ticks from the start of a unit to "us" microseconds into it.  Rounded down:
 * two microseconds are 262 ticks apart or more, so their order is kept, and
 * the low 8 bits are free for the caller.
 */
static inline uint32
comb_ticks_from_us(int64 us)
{
	return (uint32) (((uint64) us << COMB_TICK_BITS) / COMB_US_PER_MS);
}

/*
 * The default layout, UUIDv7, done by whole words: a loop over table rows
 * costs 10 ns, half of what a key may cost.
 *
 *	48 bits ms | 4 bits 0111 | 12 bits | 2 bits 10 | 6 bits | 56 bits random
 *
 * The two gaps, 12 and 6 bits, are the tick's position in the millisecond.
 */
static inline void
comb_v7_write(unsigned char *id, uint64 tick, uint64 random)
{
	uint64		hi;
	uint64		lo;

	hi = (tick >> COMB_TICK_BITS) << 16;
	hi |= 0x7000 | ((tick >> 6) & 0x0fff);
	lo = (UINT64CONST(1) << 63) | ((tick & 0x3f) << 56);
	lo |= random & UINT64CONST(0x00ffffffffffffff);
	hi = pg_hton64(hi);
	lo = pg_hton64(lo);
	memcpy(id, &hi, sizeof(hi));
	memcpy(id + sizeof(hi), &lo, sizeof(lo));
}

/* Milliseconds of a UUIDv7, or false */
static inline bool
comb_v7_read(const unsigned char *id, int64 *at)
{
	uint64		hi;

	memcpy(&hi, id, sizeof(hi));
	hi = pg_ntoh64(hi);
	if ((hi & 0xf000) != 0x7000 || (id[8] & 0xc0) != 0x80)
		return false;
	return comb_unix_ms_decode(hi >> 16, at);
}

#endif							/* COMB_LAYOUT_H */
