/*-------------------------------------------------------------------------
 *
 * comb_convert.c
 *	  Keys converted from one layout to another.
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
 * A key's bits outside the time field as one string of bits: first those that
 * are the layout's to use, in its byte order; then, where the layout lets any
 * value stand in their place, the version's and variant's.  Moved between
 * layouts in this form, keys of one instant keep their order, a version that
 * only looks like one is not lost, and one that the target demands costs
 * nothing but itself.
 */
typedef struct CombPayload
{
	unsigned char bits[COMB_ID_LEN];	/* left-justified */
	int			nbits;
} CombPayload;

/* Append the low "nbits" bits of "value" */
static void
comb_payload_append(CombPayload *payload, unsigned int value, int nbits)
{
	while (nbits-- > 0 && payload->nbits < COMB_ID_LEN * 8)
	{
		if ((value >> nbits) & 1)
			payload->bits[payload->nbits / 8] |= 0x80 >> (payload->nbits % 8);
		payload->nbits++;
	}
}

static void
comb_payload_get(const CombLayout *layout, const unsigned char *id, CombPayload *payload)
{
	int			i;

	for (i = layout->field_bytes; i < COMB_ID_LEN; i++)
		comb_payload_append(payload, id[layout->order[i]],
						 comb_free_bits(layout, layout->order[i]));
	for (i = 0; i < COMB_ID_LEN && !layout->versioned; i++)
		comb_payload_append(payload, id[i] >> comb_free_bits(layout, i),
						 8 - comb_free_bits(layout, i));
}

/*
 * Overwrite bits of "byte" with those of the payload from bit "*from" on: the
 * "nbits" bits that end "shift" bits above its lowest.  Where the payload has
 * ended the byte stays as it is.
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
 * With "all", bits that the layout has no room for take the version's place
 * if it lets them; without, they are dropped and a new key's version stands
 * there, because the place is in front of bits that keep keys in order.
 */
static void
comb_payload_set(const CombLayout *layout, unsigned char *id,
			  const CombPayload *payload, bool all)
{
	int			from = 0;
	int			i;

	for (i = layout->field_bytes; i < COMB_ID_LEN; i++)
	{
		int			pos = layout->order[i];

		id[pos] = comb_payload_take(payload, &from, id[pos],
								 comb_free_bits(layout, pos), 0);
	}
	for (i = 0; i < COMB_ID_LEN && all && !layout->versioned; i++)
		id[i] = comb_payload_take(payload, &from, id[i], 8 - comb_free_bits(layout, i),
							   comb_free_bits(layout, i));
}

/*
 * Do a key's bytes outside the time field move as they are?  So they must
 * where all of them fit and one of the layouts has a version and the other
 * has none: no other way keeps both every bit and the order.
 */
static bool
comb_payload_is_bytes(const CombLayout *source, const CombLayout *target)
{
	int			room = 0;
	int			pos;

	if (source->versioned || target->versioned ||
		source->field_bytes != target->field_bytes)
		return false;
	for (pos = 0; pos < COMB_ID_LEN; pos++)
		room += comb_free_bits(source, pos) - comb_free_bits(target, pos);
	return room != 0;
}

/* Give "id" the bytes outside the time field of a key of another layout */
static void
comb_payload_copy(const CombLayout *layout, unsigned char *id,
				const CombLayout *source, const unsigned char *source_id)
{
	int			i;

	for (i = layout->field_bytes; i < COMB_ID_LEN; i++)
		id[layout->order[i]] = source_id[source->order[i]];
}

/*
 * comb_convert(id uuid, source comb_layout, target comb_layout) returns uuid
 *
 * The same instant and the same other bits in another layout.  Keys of one
 * source, as its libraries make them, keep their order, each in the order of
 * its own database; but from uuidv6 to efcore not within 100 ns, since two of
 * 62 bits take the version's place, which is not the last.  Where units of the
 * target do not lie inside units of the source, the rest of the instant goes
 * in front of the other bits, and as many of these fall off the end.
 * Converting back gives the same key where both have one unit and the target
 * no fewer bits to use, a version that it does not demand included.  NULL
 * where comb_timestamp(id, source) is; 22008 where the target cannot hold the
 * time.
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
	uint64		below_us;
	pg_uuid_t  *result;
	CombPayload	payload = {{0}, 0};
	TimestampTz at;
	TimestampTz start;

	if (!comb_decode(source, id->data, &at))
		PG_RETURN_NULL();
	comb_check_time(target, at);

	/* in fields, and only where these are 100 ns there is any */
	below_us = comb_get_field(source, id->data) - from->encode(at);
	if (!same_unit && from->unit->unit_us <= to->unit->unit_us)
	{
		(void) to->decode(to->encode(at), &start);
		comb_payload_append(&payload,
						 comb_ticks_from_100ns((at - start) * COMB_100NS_PER_US +
											   below_us),
						 to->unit->tick_bits);
	}

	result = (pg_uuid_t *) palloc0(UUID_LEN);
	comb_set_fixed_bits(target, result->data);
	if (same_unit && comb_payload_is_bytes(source, target))
		comb_payload_copy(target, result->data, source, id->data);
	else
	{
		comb_payload_get(source, id->data, &payload);
		comb_payload_set(target, result->data, &payload, same_unit);
	}
	comb_set_field(target, result->data,
				   to->encode(at) + (same_unit ? below_us : 0));
	PG_RETURN_UUID_P(result);
}
