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

#include "port/pg_bitutils.h"
#include "port/pg_bswap.h"

#define COMB_ID_LEN				16

#define COMB_US_PER_MS			INT64CONST(1000)
#define COMB_NS_PER_MS			1000000
#define COMB_MS_PER_S			1000
#define COMB_US_PER_S			INT64CONST(1000000)
#define COMB_US_PER_DAY			INT64CONST(86400000000)

/* The epochs of other software, as instants before 2000-01-01 */
#define COMB_EPOCH_0001			(-INT64CONST(730119) * COMB_US_PER_DAY)
#define COMB_EPOCH_1582			(-INT64CONST(152384) * COMB_US_PER_DAY)
#define COMB_EPOCH_1900			(-INT64CONST(36524) * COMB_US_PER_DAY)
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
 * called with instants from "earliest" to "latest".  One field spans unit_us
 * microseconds or one more, and one microsecond at most fields_per_us fields.
 */
typedef struct CombCodec
{
	const char *unit;			/* for people */
	bool		(*decode) (uint64 field, int64 *at);
	uint64		(*encode) (int64 at);
	int64		earliest;
	int64		latest;
	bool		gaps;			/* not every number could be a field */
	int32		unit_us;
	int32		fields_per_us;
	int32		tick_bits;		/* ticks in one unit take this many bits; 0
								 * where the unit itself is counted */
} CombCodec;

/* The database whose comparison of keys a layout is made for */
typedef enum CombSortsIn
{
	COMB_SORTS_NOWHERE,			/* no database sorts it by time */
	COMB_SORTS_PLAIN,			/* byte by byte as in the text: PostgreSQL */
	COMB_SORTS_DOTNET,			/* byte by byte as in .NET's Guid.ToByteArray */
	COMB_SORTS_MSSQL			/* SQL Server's uniqueidentifier */
} CombSortsIn;

/*
 * A layout.  "order" names the bytes as the database that the layout is made
 * for compares them, most significant first; the time field is its first
 * field_bytes bytes.  The bits of fixed_mask, always the high ones of their
 * byte, are not the layout's to use: new keys have fixed_value there.  With
 * "versioned" that is also a condition: other values do not belong to the
 * layout.  Without it the original software lets any value stand there.
 */
typedef struct CombLayout
{
	const char *label;
	const char *description;
	const CombCodec *codec;
	CombSortsIn sorts_in;
	bool		generates;
	bool		process_head;	/* bytes 0-7 are drawn once per process */
	bool		versioned;
	uint8		field_bytes;
	uint8		order[COMB_ID_LEN];
	uint8		fixed_mask[COMB_ID_LEN];
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

/*
 * 48-bit milliseconds since the year 1, .NET's DateTime.Ticks / 10000
 * (jhtodd and Zaabee SequentialGuid): to 8920-08-03 05:31:50.655.
 */
#define COMB_MS0001_LATEST \
	(COMB_EPOCH_0001 + ((INT64CONST(1) << 48) * COMB_US_PER_MS) - 1)

static inline bool
comb_ms0001_decode(uint64 field, int64 *at)
{
	*at = (int64) field * COMB_US_PER_MS + COMB_EPOCH_0001;
	return true;
}

static inline uint64
comb_ms0001_encode(int64 at)
{
	return (uint64) (at - COMB_EPOCH_0001) / COMB_US_PER_MS;
}

/*
 * SQL Server's datetime: 16 bits of days since 1900, 32 bits of 1/300 s since
 * midnight.  A day has 25,920,000 of these; nothing that was encoded holds
 * more.  1/300 s is 10000/3 us, so a field's first whole microsecond is that
 * rounded up: rounded to the nearest, every third field would encode back to
 * the one before it, as it does in RT.Comb itself on .NET 7.
 */
#define COMB_DATETIME_LATEST \
	(COMB_EPOCH_1900 + INT64CONST(65536) * COMB_US_PER_DAY - 1)
#define COMB_DATETIME_PER_DAY	25920000

static inline bool
comb_datetime_decode(uint64 field, int64 *at)
{
	uint32		unit = (uint32) field;

	*at = COMB_EPOCH_1900 + (int64) (field >> 32) * COMB_US_PER_DAY +
		((int64) unit * 10000 + 2) / 3;
	return unit < COMB_DATETIME_PER_DAY;
}

static inline uint64
comb_datetime_encode(int64 at)
{
	uint64		us = (uint64) (at - COMB_EPOCH_1900);

	return ((us / COMB_US_PER_DAY) << 32) | (us % COMB_US_PER_DAY * 3 / 10000);
}

/*
 * NHibernate's guid.comb: the same field, but its unit is 3.333333 ms in
 * floating point.  The expression is the original's (TimeSpan's
 * TotalMilliseconds is such a division), because integers give another result
 * at three microseconds of the day.  The field runs fast by up to two units a
 * day, hence 25920002 as the last one.  It is read by its own unit, never
 * later than the instant it was made from; SQL Server's 1/300 s would be up
 * to 8.6 ms late, and could not be encoded back.
 */
#define COMB_NHIBERNATE_LAST	25920002

static inline uint32
comb_nhibernate_unit(int64 us)
{
	double		ms = (double) (us * 10) / 10000.0;

	return (uint32) (ms / 3.333333);
}

static inline bool
comb_nhibernate_decode(uint64 field, int64 *at)
{
	uint32		unit = (uint32) field;
	int64		us = ((int64) unit * 3333333 + 999) / 1000;

	if (unit > COMB_NHIBERNATE_LAST)
		return false;
	if (comb_nhibernate_unit(us) < unit)
		us++;					/* one of the three */
	*at = COMB_EPOCH_1900 + (int64) (field >> 32) * COMB_US_PER_DAY + us;
	return true;
}

static inline uint64
comb_nhibernate_encode(int64 at)
{
	uint64		us = (uint64) (at - COMB_EPOCH_1900);

	return ((us / COMB_US_PER_DAY) << 32) |
		comb_nhibernate_unit(us % COMB_US_PER_DAY);
}

/*
 * .NET ticks, 100 ns since the year 1, a signed 64-bit number there (Morris,
 * EF Core, NewId).  DateTime ends with the year 9999 but such a number may be
 * larger.  The last microsecond is one of which all ten ticks fit.
 */
#define COMB_100NS_PER_US		10
#define COMB_100NS_PER_MS		(COMB_100NS_PER_US * COMB_US_PER_MS)
#define COMB_DOTNET_LATEST \
	(COMB_EPOCH_0001 + PG_INT64_MAX / COMB_100NS_PER_US - 1)

static inline bool
comb_dotnet_decode(uint64 field, int64 *at)
{
	*at = COMB_EPOCH_0001 + (int64) (field / COMB_100NS_PER_US);
	return *at <= COMB_DOTNET_LATEST;
}

static inline uint64
comb_dotnet_encode(int64 at)
{
	return (uint64) (at - COMB_EPOCH_0001) * COMB_100NS_PER_US;
}

/*
 * 60 bits of 100 ns since 1582-10-15, the start of the Gregorian calendar
 * (RFC 9562 sections 5.1 and 5.6, SQL Server's NEWSEQUENTIALID): to 5236.
 */
#define COMB_GREGORIAN_LATEST \
	(COMB_EPOCH_1582 + (INT64CONST(1) << 60) / COMB_100NS_PER_US - 1)

static inline bool
comb_gregorian_decode(uint64 field, int64 *at)
{
	*at = COMB_EPOCH_1582 + (int64) (field / COMB_100NS_PER_US);
	return *at <= COMB_GREGORIAN_LATEST;
}

static inline uint64
comb_gregorian_encode(int64 at)
{
	return (uint64) (at - COMB_EPOCH_1582) * COMB_100NS_PER_US;
}

/*
 * How many bits of byte "pos" are the layout's to use.  Most bytes have no
 * fixed bits, and asking for that first saves them the look-up.
 */
static inline int
comb_room(const CombLayout *layout, int pos)
{
	unsigned char mask = layout->fixed_mask[pos];

	return likely(mask == 0) ? 8 : 8 - pg_number_of_ones[mask];
}

/*
 * Does the value have the version and variant that new keys have?  Without
 * an early end, so that compilers turn it into one comparison of 16 bytes.
 */
static inline bool
comb_has_fixed_bits(const CombLayout *layout, const unsigned char *id)
{
	unsigned char differ = 0;
	int			pos;

	for (pos = 0; pos < COMB_ID_LEN; pos++)
		differ |= (id[pos] & layout->fixed_mask[pos]) ^ layout->fixed_value[pos];
	return differ == 0;
}

static inline void
comb_set_fixed_bits(const CombLayout *layout, unsigned char *id)
{
	int			pos;

	for (pos = 0; pos < COMB_ID_LEN; pos++)
		id[pos] = (id[pos] & ~layout->fixed_mask[pos]) |
			layout->fixed_value[pos];
}

/* The number in the time field */
static inline uint64
comb_get_field(const CombLayout *layout, const unsigned char *id)
{
	uint64		field = 0;
	int			i;

	/* whole bytes where there is no version: a quarter less to execute */
	if (!layout->versioned)
	{
		for (i = 0; i < layout->field_bytes; i++)
			field = (field << 8) | id[layout->order[i]];
		return field;
	}

	for (i = 0; i < layout->field_bytes; i++)
	{
		int			pos = layout->order[i];

		field = (field << comb_room(layout, pos)) |
			(id[pos] & (unsigned char) ~layout->fixed_mask[pos]);
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
		unsigned char mask = layout->fixed_mask[pos];

		id[pos] = (id[pos] & mask) | ((unsigned char) field & ~mask);
		field >>= comb_room(layout, pos);
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
		int			room = comb_room(layout, pos);
		int			rest = Max(room - nbits, 0);	/* stays as it was */
		unsigned char mask = ~layout->fixed_mask[pos] & (0xff << rest);
		uint32		bits = rest > 0 ? sub << rest : sub >> (nbits - room);

		id[pos] = (id[pos] & ~mask) | ((unsigned char) bits & mask);
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
			at = start + codec->unit_us + 1;
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
 * Ticks in a time given in 100 ns, rounded down.  A microsecond has 262 ticks
 * or more, so times in microseconds leave the low 8 bits free for the caller.
 */
static inline uint32
comb_ticks_from_100ns(int64 time)
{
	return (uint32) (((uint64) time << COMB_TICK_BITS) /
					 COMB_100NS_PER_MS);
}

/* The first tick, counted from 1970, that is at or after an instant */
static inline uint64
comb_tick_from_time(int64 at)
{
	uint64		us = (uint64) (at - COMB_UNIX_EPOCH);

	return ((us / COMB_US_PER_MS) << COMB_TICK_BITS) +
		(((us % COMB_US_PER_MS) << COMB_TICK_BITS) + COMB_US_PER_MS - 1) /
		COMB_US_PER_MS;
}

/* A tick's time since 1970 in 100 ns, rounded down */
static inline uint64
comb_100ns_from_tick(uint64 tick)
{
	return (tick >> COMB_TICK_BITS) * COMB_100NS_PER_MS +
		(((tick & COMB_TICK_MASK) * COMB_100NS_PER_MS) >> COMB_TICK_BITS);
}

/* The instant of a tick, rounded down to the microsecond */
static inline int64
comb_time_from_tick(uint64 tick)
{
	return COMB_UNIX_EPOCH +
		(int64) (tick >> COMB_TICK_BITS) * COMB_US_PER_MS +
		(int64) (((tick & COMB_TICK_MASK) * COMB_US_PER_MS) >> COMB_TICK_BITS);
}

/*
 * Are the units of two codecs one, so that a field of either is a whole field
 * of the other?  1/300 s and NHibernate's 3.333333 ms are not: twice a day the
 * latter gains one, and near that two fields of either fall into one.
 */
static inline bool
comb_same_unit(const CombCodec *a, const CombCodec *b)
{
	return strcmp(a->unit, b->unit) == 0;
}

/*
 * A key's bits outside the time field as one string of bits: first those that
 * are the layout's to use, in its byte order; then, where the layout lets any
 * value stand in their place, the version's and variant's.  Moved between
 * layouts in this form, keys of one instant keep their order, a version that
 * only looks like one is not lost, and one that the target demands costs
 * nothing but itself.
 */
typedef struct CombTail
{
	unsigned char bits[COMB_ID_LEN];	/* left-justified */
	int			nbits;
} CombTail;

/* Append the low "nbits" bits of "value" */
static inline void
comb_tail_append(CombTail *tail, unsigned int value, int nbits)
{
	while (nbits-- > 0 && tail->nbits < COMB_ID_LEN * 8)
	{
		if ((value >> nbits) & 1)
			tail->bits[tail->nbits / 8] |= 0x80 >> (tail->nbits % 8);
		tail->nbits++;
	}
}

static inline void
comb_get_tail(const CombLayout *layout, const unsigned char *id, CombTail *tail)
{
	int			i;

	for (i = layout->field_bytes; i < COMB_ID_LEN; i++)
		comb_tail_append(tail, id[layout->order[i]],
						 comb_room(layout, layout->order[i]));
	for (i = 0; i < COMB_ID_LEN && !layout->versioned; i++)
		comb_tail_append(tail, id[i] >> comb_room(layout, i),
						 8 - comb_room(layout, i));
}

/*
 * Overwrite bits of "byte" with those of the tail from bit "*from" on: the
 * "nbits" bits that end "shift" bits above its lowest.  Where the tail has
 * ended the byte stays as it is.
 */
static inline unsigned char
comb_tail_take(const CombTail *tail, int *from, unsigned char byte,
			   int nbits, int shift)
{
	for (; nbits > 0 && *from < tail->nbits; nbits--, (*from)++)
	{
		unsigned char mask = 1 << (nbits - 1 + shift);
		bool		bit = (tail->bits[*from / 8] << (*from % 8)) & 0x80;

		byte = bit ? byte | mask : byte & ~mask;
	}
	return byte;
}

/*
 * With "all", bits that the layout has no room for take the version's place
 * if it lets them; without, they are dropped and a new key's version stands
 * there, because the place is in front of bits that keep keys in order.
 */
static inline void
comb_set_tail(const CombLayout *layout, unsigned char *id,
			  const CombTail *tail, bool all)
{
	int			from = 0;
	int			i;

	for (i = layout->field_bytes; i < COMB_ID_LEN; i++)
	{
		int			pos = layout->order[i];

		id[pos] = comb_tail_take(tail, &from, id[pos],
								 comb_room(layout, pos), 0);
	}
	for (i = 0; i < COMB_ID_LEN && all && !layout->versioned; i++)
		id[i] = comb_tail_take(tail, &from, id[i], 8 - comb_room(layout, i),
							   comb_room(layout, i));
}

/*
 * Do a key's bytes outside the time field move as they are?  So they must
 * where all of them fit and one of the layouts has a version and the other
 * has none: no other way keeps both every bit and the order.
 */
static inline bool
comb_moves_bytes(const CombLayout *source, const CombLayout *target)
{
	int			room = 0;
	int			pos;

	if (source->versioned || target->versioned ||
		source->field_bytes != target->field_bytes)
		return false;
	for (pos = 0; pos < COMB_ID_LEN; pos++)
		room += comb_room(source, pos) - comb_room(target, pos);
	return room != 0;
}

/* Give "id" the bytes outside the time field of a key of another layout */
static inline void
comb_move_bytes(const CombLayout *layout, unsigned char *id,
				const CombLayout *source, const unsigned char *source_id)
{
	int			i;

	for (i = layout->field_bytes; i < COMB_ID_LEN; i++)
		id[layout->order[i]] = source_id[source->order[i]];
}

/*
 * The default layout, UUIDv7, done by whole words: by way of its row of the
 * table a key takes 5 ns more ("make bench", row layouts).
 *
 *	48 bits ms | 4 bits 0111 | 12 bits | 2 bits 10 | 6 bits | 56 bits random
 *
 * The two gaps, 12 and 6 bits, are "sub", the tick's position in the
 * millisecond.  It comes apart from the milliseconds because these may have
 * all their 48 bits here, and a tick only holds 46 of them.
 */
static inline void
comb_v7_write(unsigned char *id, uint64 ms, uint64 sub, uint64 random)
{
	uint64		hi;
	uint64		lo;

	hi = (ms << 16) | 0x7000 | (sub >> 6);
	lo = (UINT64CONST(1) << 63) | ((sub & 0x3f) << 56);
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

/*
 * SQL Server's order of uniqueidentifier.  It compares bytes 10-15, then 8-9,
 * then 7-6, 5-4 and 3-0, each of the last three from its end: all 16 bytes
 * count, not only the last six.  (System.Data.SqlTypes.SqlGuid names the same
 * order in the numbering of Guid.ToByteArray().)
 *
 * "hi" and "lo" are the bytes in that order read as two numbers.  In words
 * this is a rotation of the second half and a byte swap of the first, which
 * on a little-endian machine costs nothing; 16 table look-ups would cost more
 * than the comparison itself.
 */
static inline uint64
comb_mssql_hi(const unsigned char *id)
{
	uint64		word;

	memcpy(&word, id + sizeof(word), sizeof(word));
	word = pg_ntoh64(word);
	return (word << 16) | (word >> 48);
}

static inline uint64
comb_mssql_lo(const unsigned char *id)
{
	uint64		word;

	memcpy(&word, id, sizeof(word));
	return pg_bswap64(pg_ntoh64(word));
}

/* The value that has these two numbers */
static inline void
comb_mssql_write(unsigned char *id, uint64 hi, uint64 lo)
{
	lo = pg_hton64(pg_bswap64(lo));
	hi = pg_hton64((hi >> 16) | (hi << 48));
	memcpy(id, &lo, sizeof(lo));
	memcpy(id + sizeof(lo), &hi, sizeof(hi));
}

/* Which of two values SQL Server sorts first: -1, 0 or 1 */
static inline int
comb_mssql_compare(const unsigned char *a, const unsigned char *b)
{
	uint64		x = comb_mssql_hi(a);
	uint64		y = comb_mssql_hi(b);

	if (x == y)
	{
		x = comb_mssql_lo(a);
		y = comb_mssql_lo(b);
	}
	return (x > y) - (x < y);
}

/* The bytes rearranged so that memcmp() sorts them as SQL Server does */
static inline void
comb_mssql_permute(unsigned char *key, const unsigned char *id)
{
	uint64		hi = pg_hton64(comb_mssql_hi(id));
	uint64		lo = pg_hton64(comb_mssql_lo(id));

	memcpy(key, &hi, sizeof(hi));
	memcpy(key + sizeof(hi), &lo, sizeof(lo));
}

/*
 * .NET keeps the first three groups of a Guid as integers, so that
 * Guid.ToByteArray() has each of them from its end: bytes 3-0, 5-4, 7-6, 8-15
 * of the text.  Doing it twice gives the original.
 */
static inline void
comb_guid_swap_bytes(unsigned char *swapped, const unsigned char *id)
{
	static const uint8 from[8] = {3, 2, 1, 0, 5, 4, 7, 6};
	int			i;

	for (i = 0; i < 8; i++)
		swapped[i] = id[from[i]];
	memcpy(swapped + 8, id + 8, 8);
}

#endif							/* COMB_LAYOUT_H */
