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
 * IDENTIFICATION
 *	  src/comb_convert.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "comb.h"

PG_FUNCTION_INFO_V1(comb_convert);

/*
 * The payload of a key, as one string of bits.
 *
 * The free bits come first, in the layout's byte order.  The bits of version
 * and variant follow, unless the layout requires certain values there.
 *
 * In this form a payload can move to any layout.  Keys of one instant keep
 * their order.  Bits that only look like a version are not lost, and a
 * version that the target requires costs only the version's own bits.
 */
typedef struct CombPayload
{
	unsigned char bits[UUID_LEN];	/* left-justified */
	int			nbits;
} CombPayload;

/* Append the low "nbits" bits of "value" */
static void
comb_payload_append(CombPayload *payload, unsigned int value, int nbits)
{
	while (nbits-- > 0 && payload->nbits < UUID_LEN * 8)
	{
		if ((value >> nbits) & 1)
			payload->bits[payload->nbits / 8] |= 0x80 >> (payload->nbits % 8);
		payload->nbits++;
	}
}

/* Append the payload of a key */
static void
comb_payload_get(const CombLayout *layout, const unsigned char *id,
				 CombPayload *payload)
{
	int			i;

	for (i = layout->field_bytes; i < UUID_LEN; i++)
		comb_payload_append(payload, id[layout->order[i]],
							comb_free_bits(layout, layout->order[i]));
	for (i = 0; i < UUID_LEN && !layout->versioned; i++)
		comb_payload_append(payload, id[i] >> comb_free_bits(layout, i),
							8 - comb_free_bits(layout, i));
}

/*
 * Replace "nbits" bits of "byte" by the next bits of the payload, and return
 * the result.  The replaced bits end "shift" bits above the lowest bit of the
 * byte.  "*from" counts the payload bits used so far.  Once the payload is
 * used up, the remaining bits of the byte do not change.
 */
static unsigned char
comb_payload_take(const CombPayload *payload, int *from, unsigned char byte,
				  int nbits, int shift)
{
	for (; nbits > 0 && *from < payload->nbits; nbits--, (*from)++)
	{
		unsigned char mask = 1 << (nbits - 1 + shift);
		bool		bit = (payload->bits[*from / 8] << (*from % 8)) & 0x80;

		byte = bit ? byte | mask : byte & ~mask;
	}
	return byte;
}

/*
 * Write a payload into a key that has the version and variant of a new key.
 *
 * With "all", bits of the payload that exceed the free bits replace version
 * and variant, if the layout does not require these.  Otherwise such bits are
 * dropped, because version and variant come before bits that keep keys in
 * order.
 */
static void
comb_payload_set(const CombLayout *layout, unsigned char *id,
				 const CombPayload *payload, bool all)
{
	int			from = 0;
	int			i;

	for (i = layout->field_bytes; i < UUID_LEN; i++)
	{
		int			pos = layout->order[i];

		id[pos] = comb_payload_take(payload, &from, id[pos],
									comb_free_bits(layout, pos), 0);
	}
	for (i = 0; i < UUID_LEN && all && !layout->versioned; i++)
		id[i] = comb_payload_take(payload, &from, id[i],
								  8 - comb_free_bits(layout, i),
								  comb_free_bits(layout, i));
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
	uint64		below_us;
	pg_uuid_t  *result;
	CombPayload payload = {{0}, 0};
	TimestampTz at;
	TimestampTz start;
	int			i;

	if (!comb_decode(source, id->data, &at))
		PG_RETURN_NULL();
	comb_check_time(target, at);

	/* in units of the field: always 0 unless the unit is 100 ns */
	below_us = comb_get_field(source, id->data) - from->encode(from, at);
	if (!same_unit &&
		from->unit->us / from->unit->per <= to->unit->us / to->unit->per)
	{
		(void) to->decode(to, to->encode(to, at), &start);
		comb_payload_append(&payload,
							comb_tick(comb_time_from_us(at - start) +
									  comb_time_from_us(below_us) /
									  COMB_100NS_PER_US),
							to->unit->tick_bits);
	}

	result = (pg_uuid_t *) palloc0(UUID_LEN);
	comb_set_fixed_bits(target, result->data);
	for (i = 0; i < UUID_LEN; i++)
		reserved += comb_free_bits(source, i) - comb_free_bits(target, i);

	/*
	 * If all bytes fit, neither layout requires its version bits, and only
	 * one of them reserves any, then only unchanged bytes keep both every bit
	 * and the order.
	 */
	if (same_unit && source->field_bytes == target->field_bytes &&
		!source->versioned && !target->versioned && reserved != 0)
	{
		for (i = source->field_bytes; i < UUID_LEN; i++)
			result->data[target->order[i]] = id->data[source->order[i]];
	}
	else
	{
		comb_payload_get(source, id->data, &payload);
		comb_payload_set(target, result->data, &payload, same_unit);
	}
	comb_set_field(target, result->data,
				   to->encode(to, at) + (same_unit ? below_us : 0));
	PG_RETURN_UUID_P(result);
}
