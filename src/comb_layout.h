/*-------------------------------------------------------------------------
 *
 * comb_layout.h
 *	  Layouts as data, and the bit arithmetic on a key's bytes.
 *
 * A layout defines where in the 16 bytes of a uuid the time is, and in which
 * unit.  Each layout is one row of the table in comb_layout.c.  A codec
 * converts between the number in the time field and an instant.  Many layouts
 * share a codec.
 *
 * The inline functions use neither fmgr nor ereport(), and allocate no
 * memory.  TimestampTz has a wider range than any layout, so callers must
 * compare an instant with the layout's limits first; the arithmetic could
 * overflow.
 *
 * Copyright (c) 2026, pg_comb developers
 *
 *-------------------------------------------------------------------------
 */
#ifndef COMB_LAYOUT_H
#define COMB_LAYOUT_H

#include "port/pg_bitutils.h"
#include "port/pg_bswap.h"
#include "utils/uuid.h"

#include "comb_clock.h"

/* A unit of time fields, which lasts us / per microseconds */
typedef struct CombUnit
{
	const char *name;			/* as comb_layouts() shows it */
	uint32		us;
	uint32		per;
	int32		tick_bits;		/* bits for the ticks of one unit; 0 if keys
								 * count in the unit itself */
} CombUnit;

/*
 * What a time field means: a number of units since "earliest", or of days and
 * units.
 *
 * "decode" finds the first instant, in whole microseconds, that "encode"
 * turns into the field, so encode(decode(field)) = field.  It returns false
 * for a field that no encoder could have written.  "encode" truncates the
 * instant to the unit, and takes only instants from "earliest" to "latest".
 */
typedef struct CombCodec
{
	const CombUnit *unit;
	int64		earliest;
	int64		latest;
	bool		(*decode) (const struct CombCodec *codec, uint64 field, int64 *at);
	uint64		(*encode) (const struct CombCodec *codec, int64 at);
} CombCodec;

/* The database that sorts a layout's keys by time */
typedef enum CombSortsIn
{
	COMB_SORTS_NOWHERE,			/* no database does */
	COMB_SORTS_PLAIN,			/* byte by byte as in the text: PostgreSQL */
	COMB_SORTS_DOTNET,			/* byte by byte as in .NET's Guid.ToByteArray */
	COMB_SORTS_MSSQL			/* SQL Server's uniqueidentifier */
} CombSortsIn;

/*
 * A layout.
 *
 * "order" lists the positions of the bytes, most significant first, as the
 * layout's database compares them.  The time field is the first field_bytes
 * bytes of this order.
 *
 * "fixed_mask" marks the bits of version and variant, which are always the
 * high bits of their byte, or a whole one.  All other bits are free.  New keys have
 * "fixed_value" in the marked bits.  If "versioned" is set, a value with other
 * bits there is not a key of the layout.  Otherwise the original software
 * accepts any bits there, and so do we.  "split" says that bytes of the time
 * field have such bits.
 */
typedef struct CombLayout
{
	const char *label;
	const char *description;
	const CombCodec *codec;
	uint8		field_bytes;
	CombSortsIn sorts_in;
	uint8		order[UUID_LEN];
	uint8		fixed_mask[UUID_LEN];
	uint8		fixed_value[UUID_LEN];
	bool		versioned;
	bool		split;
	bool		generates;
	bool		process_head;	/* bytes 0-7 are random, once per process */
} CombLayout;

#define COMB_NLAYOUTS			24

/* comb_layout.c: the layouts, in the order of comb_layouts() */
extern const CombLayout comb_layout_table[COMB_NLAYOUTS];

#define comb_layout_default		(&comb_layout_table[0]) /* uuidv7 */
#define comb_layout_ulid		(&comb_layout_table[1])
#define comb_layout_behind_v4	(&comb_layout_table[2])

/*
 * Return the number of free bits in byte "pos".  Most bytes have no fixed
 * bits, and the test for zero saves the look-up for them.
 */
static inline int
comb_free_bits(const CombLayout *layout, int pos)
{
	unsigned char mask = layout->fixed_mask[pos];

	return likely(mask == 0) ? 8 : 8 - pg_number_of_ones[mask];
}

/*
 * Does the value have the version and variant of new keys?  The loop does not
 * stop early, so that compilers turn it into one comparison of 16 bytes.
 */
static inline bool
comb_has_fixed_bits(const CombLayout *layout, const unsigned char *id)
{
	unsigned char differ = 0;
	int			pos;

	for (pos = 0; pos < UUID_LEN; pos++)
		differ |= (id[pos] & layout->fixed_mask[pos]) ^ layout->fixed_value[pos];
	return differ == 0;
}

/* Write the version and variant of new keys */
static inline void
comb_set_fixed_bits(const CombLayout *layout, unsigned char *id)
{
	int			pos;

	for (pos = 0; pos < UUID_LEN; pos++)
		id[pos] = (id[pos] & ~layout->fixed_mask[pos]) |
			layout->fixed_value[pos];
}

static inline uint64
comb_get_field(const CombLayout *layout, const unsigned char *id)
{
	const uint8 *order = layout->order;
	uint64		field = 0;
	int			i;

	/* whole bytes, 6 or 8 of them, save two thirds of the work */
	if (likely(!layout->split))
	{
		field = (uint64) id[order[0]] << 40 | (uint64) id[order[1]] << 32 |
			(uint64) id[order[2]] << 24 | id[order[3]] << 16 |
			id[order[4]] << 8 | id[order[5]];
		return layout->field_bytes == 6 ? field :
			field << 16 | id[order[6]] << 8 | id[order[7]];
	}

	for (i = 0; i < layout->field_bytes; i++)
	{
		int			pos = layout->order[i];

		field = (field << comb_free_bits(layout, pos)) |
			(id[pos] & (unsigned char) ~layout->fixed_mask[pos]);
	}
	return field;
}

/* Write the number into the time field; all other bits stay */
static inline void
comb_set_field(const CombLayout *layout, unsigned char *id, uint64 field)
{
	int			i;

	if (!layout->split)
	{
		for (i = layout->field_bytes - 1; i >= 0; i--, field >>= 8)
			id[layout->order[i]] = (unsigned char) field;
		return;
	}

	for (i = layout->field_bytes - 1; i >= 0; i--)
	{
		int			pos = layout->order[i];
		unsigned char mask = layout->fixed_mask[pos];

		id[pos] = (id[pos] & mask) | ((unsigned char) field & ~mask);
		field >>= comb_free_bits(layout, pos);
	}
}

/*
 * Write "nbits" bits of "sub" right after the time field, in the layout's
 * byte order and around its fixed bits.  They keep keys of one time unit in
 * order.
 */
static inline void
comb_set_sub(const CombLayout *layout, unsigned char *id, uint32 sub, int nbits)
{
	int			i;

	for (i = layout->field_bytes; nbits > 0; i++)
	{
		int			pos = layout->order[i];
		int			room = comb_free_bits(layout, pos);
		int			rest = Max(room - nbits, 0);	/* bits to leave alone */
		unsigned char mask = ~layout->fixed_mask[pos] & (0xff << rest);
		uint32		bits = rest > 0 ? sub << rest : sub >> (nbits - room);

		id[pos] = (id[pos] & ~mask) | ((unsigned char) bits & mask);
		nbits -= room;
	}
}

/* Read the time of a value.  False if it is not a key of the layout. */
static inline bool
comb_decode(const CombLayout *layout, const unsigned char *id, int64 *at)
{
	if (layout->versioned && !comb_has_fixed_bits(layout, id))
		return false;
	return layout->codec->decode(layout->codec, comb_get_field(layout, id), at);
}

/*
 * Write an instant, and the version bits if the layout is versioned.  All
 * other bits stay.  The caller must have checked that the codec can hold the
 * instant.
 */
static inline void
comb_encode(const CombLayout *layout, unsigned char *id, int64 at)
{
	comb_set_field(layout, id, layout->codec->encode(layout->codec, at));
	if (layout->versioned)
		comb_set_fixed_bits(layout, id);
}

/*
 * Make the smallest value whose time is at or after "at".  If there is none,
 * return false and make it all ones, which sorts after all other values.
 */
static inline bool
comb_lower_bound(const CombLayout *layout, unsigned char *id, int64 at)
{
	const CombCodec *codec = layout->codec;
	int64		start;

	memset(id, 0x00, UUID_LEN);
	if (at <= codec->earliest)
		at = codec->earliest;
	else if (at <= codec->latest)
	{
		/* round an instant inside a unit up to the next unit */
		(void) codec->decode(codec, codec->encode(codec, at), &start);
		if (start < at)
			at = start + codec->unit->us / codec->unit->per + 1;
	}
	if (at > codec->latest)
	{
		memset(id, 0xff, UUID_LEN);
		return false;
	}
	comb_encode(layout, id, at);
	return true;
}

/*
 * Make the largest value whose time is at or before "at".  If there is none,
 * return false and make it all zeros, which sorts before all other values.
 */
static inline bool
comb_upper_bound(const CombLayout *layout, unsigned char *id, int64 at)
{
	const CombCodec *codec = layout->codec;

	if (at < codec->earliest)
	{
		memset(id, 0x00, UUID_LEN);
		return false;
	}
	memset(id, 0xff, UUID_LEN);
	/* a microsecond can begin several units */
	comb_set_field(layout, id,
				   codec->encode(codec, Min(at, codec->latest)) +
				   (codec->unit->per - 1) / codec->unit->us);
	if (layout->versioned)
		comb_set_fixed_bits(layout, id);
	return true;
}

/* Read eight bytes, most significant first, and write them */
static inline uint64
comb_get_word(const void *bytes)
{
	uint64		word;

	memcpy(&word, bytes, sizeof(word));
	return pg_ntoh64(word);
}

static inline void
comb_set_word(void *bytes, uint64 word)
{
	word = pg_hton64(word);
	memcpy(bytes, &word, sizeof(word));
}

/*
 * Write a UUIDv7, the default layout, as two 64-bit numbers, which costs less
 * than the layout's row in the table.
 *
 *	48 bits ms | 0111 | 12 bits sub | 10 | 6 bits sub | 56 bits random
 *
 * "sub" is the tick in the millisecond, 18 bits on both sides of the variant.
 */
static inline void
comb_v7_write(unsigned char *id, uint64 ms, uint64 sub, uint64 random)
{
	comb_set_word(id, ms << 16 | 0x7000 | sub >> 6);
	comb_set_word(id + 8, UINT64CONST(1) << 63 | (sub & 0x3f) << 56 |
				  (random & UINT64CONST(0x00ffffffffffffff)));
}

/* The same for a time of CombTime, which ends before the 48 bits do */
static inline void
comb_v7_write_time(unsigned char *id, CombTime at, uint64 random)
{
	comb_v7_write(id, at / COMB_TIME_PER_MS,
				  comb_tick(at % COMB_TIME_PER_MS), random);
}

/*
 * Write a key of behind_v4 in the same way.  "ms" has at most 42 bits.
 *
 *	24 ones | 24 bits ms | 1000 | 12 bits ms | 10 | 6 bits ms | 18 bits sub | 38 bits random
 */
static inline void
comb_behind_v4_write(unsigned char *id, uint64 ms, uint64 sub, uint64 random)
{
	uint64		ticks = ms << COMB_TICK_BITS | sub;

	comb_set_word(id, UINT64CONST(0xffffff0000008000) | ticks >> 36 << 16 |
				  (ticks >> 24 & 0xfff));
	comb_set_word(id + 8, UINT64CONST(1) << 63 | ticks << 40 >> 2 |
				  random >> 26);
}

/* Read the time of a UUIDv7.  False if the value is not a UUIDv7. */
static inline bool
comb_v7_read(const unsigned char *id, int64 *at)
{
	uint64		hi = comb_get_word(id);

	if ((hi & 0xf000) != 0x7000 || (id[8] & 0xc0) != 0x80)
		return false;
	*at = (int64) (hi >> 16) * COMB_US_PER_MS + COMB_UNIX_EPOCH;
	return true;
}

#endif							/* COMB_LAYOUT_H */
