/*-------------------------------------------------------------------------
 *
 * comb_convert.c
 *	  comb_convert(): converting keys from one layout to another.
 *
 * A conversion keeps the time and the payload, which is all bits outside the
 * time field.  The following converts a key from rtcomb_sql to uuidv7.  In SQL
 * Server's byte order, the bytes of d01c25cc-63a7-47cc-b5ba-018e5f3bff48 are:
 *
 *	byte   10 11 12 13 14 15    8  9  7  6  5  4  3  2  1  0
 *	value  01 8e 5f 3b ff 48   b5 ba cc 47 a7 63 cc 25 1c d0
 *
 * The first six bytes are the time.  b5 begins with the variant, binary 10,
 * and 47 begins with the version, 4.  All other bits of the last ten bytes
 * are free.  The payload has the free bits first, then version and variant:
 *
 *	110101 10111010 11001100 0111 a7 63 cc 25 1c d0   0100 10
 *
 * After the time, uuidv7 has 12 free bits in front of its variant, and 62
 * behind.  The payload fills the free bits from the left:
 *
 *	time         ver. payload       var. payload
 *	018e5f3bff48 0111 1101 01101110 10   101100 11000111 a7 63 cc 25 1c d0
 *
 * The result is 018e5f3b-ff48-7d6e-acc7-a763cc251cd0.  The last six bits of
 * the payload, 0100 10, no longer fit.  Converting back to rtcomb_sql starts
 * from a new key, whose version and variant are the same six bits, and so
 * returns the original key.
 *
 * Copyright (c) 2026, pg_comb developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "comb.h"

PG_FUNCTION_INFO_V1(comb_convert);

/*
 * List the bits of a key's payload, as numbers from the lowest bit of byte 0 on.
 * Returns how many there are.
 *
 * The free bits come first, in the layout's byte order.  With "all" the bits of
 * version and variant follow, unless the layout requires certain values there.
 *
 * In this order a payload can move to any layout.  Keys of one instant keep
 * their order.  Bits that only look like a version are not lost, and a
 * version that the target requires costs only the version's own bits.
 */
static int
comb_payload_bits(const CombLayout *layout, bool all, uint8 *bits)
{
	int			n = 0;
	int			bit;
	int			i;

	for (i = layout->field_bytes; i < UUID_LEN; i++)
	{
		int			pos = layout->order[i];

		for (bit = comb_free_bits(layout, pos) - 1; bit >= 0; bit--)
			bits[n++] = pos * 8 + bit;
	}
	for (i = 0; i < UUID_LEN && all && !layout->versioned; i++)
	{
		for (bit = 7; bit >= comb_free_bits(layout, i); bit--)
			bits[n++] = i * 8 + bit;
	}
	return n;
}

/*
 * Copy the payload of a key of "source" to a new key of "target", behind the
 * first "used" bits of its payload.
 *
 * With "all", bits of the payload that exceed the free bits replace version
 * and variant, if the layout does not require these.  Otherwise such bits are
 * dropped, because version and variant come before bits that keep keys in
 * order.
 */
static void
comb_copy_payload(const CombLayout *source, const unsigned char *id,
				  const CombLayout *target, unsigned char *result,
				  int used, bool all)
{
	uint8		from[UUID_LEN * 8];
	uint8		to[UUID_LEN * 8];
	int			nfrom = comb_payload_bits(source, true, from);
	int			nto = comb_payload_bits(target, all, to);
	int			i;

	for (i = 0; i < Min(nfrom, nto - used); i++)
	{
		unsigned int bit = (id[from[i] / 8] >> (from[i] % 8)) & 1;
		int			pos = to[used + i] / 8;
		int			shift = to[used + i] % 8;

		result[pos] = (result[pos] & ~(1 << shift)) | bit << shift;
	}
}

/*
 * comb_convert(id uuid, source_layout text, target_layout text) returns uuid: the
 * key of the target layout with the same instant and the same payload.  NULL if
 * comb_timestamp(id, source_layout) is.  Raises 22008 for a time that the target
 * cannot hold, and 22023 for an unknown layout.
 *
 * Keys made by the source's libraries keep their order: the results sort in
 * the target's database as the keys did in the source's.  There is one
 * exception.  From uuidv6 to efcore, keys of the same 100 ns can swap: two of
 * their 62 payload bits replace version bits, and efcore's version is not at
 * the end.
 *
 * If the target's units do not lie inside the source's units, the rest of the
 * instant goes in front of the payload, which loses as many bits at its end.
 *
 * Converting back gives the same key if both layouts have the same unit and
 * the target has at least as many bits for the payload as the source.  Bits
 * of version and variant count, unless the layout requires them.
 */
Datum
comb_convert(PG_FUNCTION_ARGS)
{
	pg_uuid_t  *id = PG_GETARG_UUID_P(0);
	const CombLayout *source = comb_layout_arg(fcinfo, 1);
	const CombLayout *target = comb_layout_arg(fcinfo, 2);
	const CombCodec *from = source->codec;
	const CombCodec *to = target->codec;
	bool		same_unit = (from->unit == to->unit);
	int			reserved = 0;	/* bits that the target reserves more */
	int			ticks = 0;		/* bits of the instant behind the time field */
	uint64		below_us;
	pg_uuid_t  *result;
	TimestampTz at;
	TimestampTz start;
	int			i;

	if (!comb_decode(source, id->data, &at))
		PG_RETURN_NULL();
	comb_check_time(target, at);

	/* in units of the field: always 0 unless the unit is 100 ns */
	below_us = comb_get_field(source, id->data) - from->encode(from, at);
	result = (pg_uuid_t *) palloc0(UUID_LEN);
	comb_set_fixed_bits(target, result->data);
	if (!same_unit &&
		from->unit->us / from->unit->per <= to->unit->us / to->unit->per)
	{
		ticks = to->unit->tick_bits;
		(void) to->decode(to, to->encode(to, at), &start);
		comb_set_sub(target, result->data,
					 comb_tick(comb_time_from_us(at - start) +
							   comb_time_from_us(below_us) / COMB_100NS_PER_US),
					 ticks);
	}

	/*
	 * If all bytes fit, neither layout requires its version bits, and only
	 * one of them reserves any, then only unchanged bytes keep both every bit
	 * and the order.
	 */
	for (i = 0; i < UUID_LEN; i++)
		reserved += comb_free_bits(source, i) - comb_free_bits(target, i);
	if (same_unit && source->field_bytes == target->field_bytes &&
		!source->versioned && !target->versioned && reserved != 0)
	{
		for (i = source->field_bytes; i < UUID_LEN; i++)
			result->data[target->order[i]] = id->data[source->order[i]];
	}
	else
		comb_copy_payload(source, id->data, target, result->data, ticks, same_unit);
	comb_set_field(target, result->data,
				   to->encode(to, at) + (same_unit ? below_us : 0));
	PG_RETURN_UUID_P(result);
}
