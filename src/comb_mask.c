/*-------------------------------------------------------------------------
 *
 * comb_mask.c
 *	  Keys that hide their time: comb_mask() and comb_unmask().
 *
 * The format is UUIDv47 (stateless-me/uuidv47).  The time of a UUIDv7 is XORed
 * with a mask of 48 bits, and the version becomes 4.  The mask is the low 48
 * bits of SipHash-2-4 over the other 74 bits, which stay as they are.  Anyone
 * who has the secret, the key of the hash, can therefore compute the mask again
 * and remove it.
 *
 * Copyright (c) 2026, pg_comb developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "comb.h"

PG_FUNCTION_INFO_V1(comb_mask);
PG_FUNCTION_INFO_V1(comb_unmask);

#define COMB_SECRET_LEN	16

/* The state of SipHash, named as by its authors, Aumasson and Bernstein */
typedef struct CombSip
{
	uint64		v0;
	uint64		v1;
	uint64		v2;
	uint64		v3;
} CombSip;

static inline uint64
comb_rotate_left(uint64 word, int bits)
{
	return word << bits | word >> (64 - bits);
}

/* One SipRound: two half rounds, and each mixes both pairs of words */
static inline void
comb_sip_round(CombSip *s)
{
	s->v0 += s->v1;
	s->v2 += s->v3;
	s->v1 = comb_rotate_left(s->v1, 13) ^ s->v0;
	s->v3 = comb_rotate_left(s->v3, 16) ^ s->v2;
	s->v0 = comb_rotate_left(s->v0, 32);

	s->v2 += s->v1;
	s->v0 += s->v3;
	s->v1 = comb_rotate_left(s->v1, 17) ^ s->v2;
	s->v3 = comb_rotate_left(s->v3, 21) ^ s->v0;
	s->v2 = comb_rotate_left(s->v2, 32);
}

/* Mix a word of the message in, with two rounds */
static inline void
comb_sip_take(CombSip *s, uint64 word)
{
	s->v3 ^= word;
	comb_sip_round(s);
	comb_sip_round(s);
	s->v0 ^= word;
}

/* SipHash-2-4 of ten bytes, which the caller has packed into two words */
static inline uint64
comb_siphash(const char *key, uint64 first, uint64 last)
{
	/* SipHash reads its key and its message as little-endian words */
	uint64		k0 = pg_bswap64(comb_get_word(key));
	uint64		k1 = pg_bswap64(comb_get_word(key + 8));
	CombSip		s;

	/* "somepseudorandomlygeneratedbytes" */
	s.v0 = k0 ^ UINT64CONST(0x736f6d6570736575);
	s.v1 = k1 ^ UINT64CONST(0x646f72616e646f6d);
	s.v2 = k0 ^ UINT64CONST(0x6c7967656e657261);
	s.v3 = k1 ^ UINT64CONST(0x7465646279746573);

	comb_sip_take(&s, first);
	comb_sip_take(&s, last);

	s.v2 ^= 0xff;
	comb_sip_round(&s);
	comb_sip_round(&s);
	comb_sip_round(&s);
	comb_sip_round(&s);
	return s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
}

/*
 * Compute the mask of a uuid, in the low 48 bits.  "hi" and "lo" are the
 * halves of the uuid.
 *
 * The message is everything after the time, with zeros for version and
 * variant: 2 bytes of "hi" and 8 of "lo".  The last word has the last two of
 * these bytes, and the length of the message in its highest byte.
 */
static inline uint64
comb_mask_bits(const char *key, uint64 hi, uint64 lo)
{
	uint64		rand_a = hi & UINT64CONST(0xfff);
	uint64		rand_b = lo & UINT64CONST(0x3fffffffffffffff);

	return comb_siphash(key,
						pg_bswap64(rand_a << 48 | rand_b >> 16),
						(uint64) 10 << 56 | pg_bswap16((uint16) rand_b));
}

/* Return the bytes of a secret.  Raises 22023 unless there are 16. */
static inline const char *
comb_secret_arg(FunctionCallInfo fcinfo, int argno)
{
	const bytea *secret = PG_GETARG_BYTEA_PP(argno);
	int			length = VARSIZE_ANY_EXHDR(secret);

	if (unlikely(length != COMB_SECRET_LEN))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("mask key must be %d bytes long", COMB_SECRET_LEN),
				 errdetail("\"secret\" has %d bytes.", length),
				 errhint("Write its 32 hexadecimal digits as '\\x...'.")));
	return VARDATA_ANY(secret);
}

/*
 * Apply or remove the mask, and change the version from "from" to "to".  NULL
 * for a uuid with another version, or another variant.
 */
static pg_always_inline Datum
comb_mask_change(FunctionCallInfo fcinfo, uint64 from, uint64 to)
{
	const unsigned char *id = PG_GETARG_UUID_P(0)->data;
	const char *secret = comb_secret_arg(fcinfo, 1);
	uint64		hi = comb_get_word(id);
	uint64		lo = comb_get_word(id + 8);
	pg_uuid_t  *result;

	if ((hi >> 12 & 0xf) != from || lo >> 62 != 2)
		PG_RETURN_NULL();

	result = (pg_uuid_t *) palloc(UUID_LEN);
	hi ^= comb_mask_bits(secret, hi, lo) << 16 | (from ^ to) << 12;
	comb_set_word(result->data, hi);
	comb_set_word(result->data + 8, lo);
	PG_RETURN_UUID_P(result);
}

/*
 * comb_mask(id uuid, secret bytea) returns uuid: a UUIDv4 that hides the time of
 * a UUIDv7, or NULL for another uuid
 */
Datum
comb_mask(PG_FUNCTION_ARGS)
{
	return comb_mask_change(fcinfo, 7, 4);
}

/*
 * comb_unmask(id uuid, secret bytea) returns uuid: the UUIDv7 that comb_mask()
 * got, or NULL for a uuid that is not a UUIDv4.  With another secret, or for a
 * UUIDv4 that was never masked, the result has an arbitrary time, and nothing in
 * the value reveals this.
 */
Datum
comb_unmask(PG_FUNCTION_ARGS)
{
	return comb_mask_change(fcinfo, 4, 7);
}
