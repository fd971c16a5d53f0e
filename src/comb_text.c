/*-------------------------------------------------------------------------
 *
 * comb_text.c
 *	  Keys as text: comb_text() writes a TypeID, and comb_parse() reads one.
 *
 * The format is TypeID, specification 0.3: a prefix, an underscore and 26
 * digits of base 32.  Without a prefix, the 26 digits stand alone.  In upper
 * case these are the text of a ULID.
 *
 * Two zero bits and the 128 bits of the uuid make 26 digits of five bits, most
 * significant first.  The alphabet ascends in ASCII, so text with the same
 * prefix and case sorts as the uuids do, in collation "C".  The halves of the
 * uuid meet inside digit 13:
 *
 *	digit	0		1 to 12		13			14 to 25
 *	bits	3 hi	60 hi		1 hi, 4 lo	60 lo
 *
 * Copyright (c) 2026, pg_comb developers
 *
 * IDENTIFICATION
 *	  src/comb_text.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "comb.h"

PG_FUNCTION_INFO_V1(comb_text);
PG_FUNCTION_INFO_V1(comb_text_prefix);
PG_FUNCTION_INFO_V1(comb_parse);
PG_FUNCTION_INFO_V1(comb_parse_prefix);

#define COMB_DIGITS		26		/* in the text of a key */
#define COMB_PREFIX_MAX 63		/* characters */

/* Crockford's alphabet: digits and letters without i, l, o and u */
static const char comb_alphabet[] = "0123456789abcdefghjkmnpqrstvwxyz";

/* All pairs of digits, in order.  Writing two at once halves the work */
#define P(d) d "0" d "1" d "2" d "3" d "4" d "5" d "6" d "7" \
	d "8" d "9" d "a" d "b" d "c" d "d" d "e" d "f" \
	d "g" d "h" d "j" d "k" d "m" d "n" d "p" d "q" \
	d "r" d "s" d "t" d "v" d "w" d "x" d "y" d "z"

static const char comb_pairs[] =
P("0") P("1") P("2") P("3") P("4") P("5") P("6") P("7")
P("8") P("9") P("a") P("b") P("c") P("d") P("e") P("f")
P("g") P("h") P("j") P("k") P("m") P("n") P("p") P("q")
P("r") P("s") P("t") P("v") P("w") P("x") P("y") P("z");

#undef P

/* The value of each character, with a flag that no other character has */
#define COMB_IS_DIGIT	0x20
#define D(value)		(COMB_IS_DIGIT | (value))

static const uint8 comb_digit_value[256] = {
	['0'] = D(0), D(1), D(2), D(3), D(4), D(5), D(6), D(7), D(8), D(9),
	['A'] = D(10), D(11), D(12), D(13), D(14), D(15), D(16), D(17),
	['J'] = D(18), D(19),
	['M'] = D(20), D(21),
	['P'] = D(22), D(23), D(24), D(25), D(26),
	['V'] = D(27), D(28), D(29), D(30), D(31),
	['a'] = D(10), D(11), D(12), D(13), D(14), D(15), D(16), D(17),
	['j'] = D(18), D(19),
	['m'] = D(20), D(21),
	['p'] = D(22), D(23), D(24), D(25), D(26),
	['v'] = D(27), D(28), D(29), D(30), D(31)
};

#undef D

/* Write the last 60 bits of a number */
static inline void
comb_write_12_digits(char *digits, uint64 bits)
{
	int			i;

	for (i = 10; i >= 0; i -= 2, bits >>= 10)
		memcpy(digits + i, &comb_pairs[2 * (bits & 1023)], 2);
}

static inline void
comb_write_digits(char *digits, const unsigned char *id)
{
	uint64		hi;
	uint64		lo;

	memcpy(&hi, id, sizeof(hi));
	memcpy(&lo, id + sizeof(hi), sizeof(lo));
	hi = pg_ntoh64(hi);
	lo = pg_ntoh64(lo);
	digits[0] = comb_alphabet[hi >> 61];
	comb_write_12_digits(digits + 1, hi >> 1);
	digits[13] = comb_alphabet[(hi & 1) << 4 | lo >> 60];
	comb_write_12_digits(digits + 14, lo);
}

static inline uint8
comb_read_digit(const char *digit)
{
	return comb_digit_value[(unsigned char) *digit];
}

/* Read 60 bits.  *all loses COMB_IS_DIGIT if a character is no digit. */
static inline uint64
comb_read_12_digits(const char *digits, uint8 *all)
{
	uint64		bits = 0;
	int			i;

	for (i = 0; i < 12; i += 2)
	{
		uint8		a = comb_read_digit(digits + i);
		uint8		b = comb_read_digit(digits + i + 1);

		*all &= a & b;
		bits = bits << 10 | (a & 31) << 5 | (b & 31);
	}
	return bits;
}

/* False if a character is no digit, or if the number has more than 128 bits */
static inline bool
comb_read_digits(unsigned char *id, const char *digits)
{
	uint8		first = comb_read_digit(digits);
	uint8		middle = comb_read_digit(digits + 13);
	uint8		all = first & middle;
	uint64		hi = comb_read_12_digits(digits + 1, &all);
	uint64		lo = comb_read_12_digits(digits + 14, &all);

	hi = pg_hton64((uint64) first << 61 | hi << 1 | (middle >> 4 & 1));
	lo = pg_hton64((uint64) middle << 60 | lo);
	memcpy(id, &hi, sizeof(hi));
	memcpy(id + sizeof(hi), &lo, sizeof(lo));
	return (all & COMB_IS_DIGIT) != 0 && (first & 31) <= 7;
}

/* Is this the prefix of a TypeID?  It may be empty */
static bool
comb_is_prefix(const char *prefix, int length)
{
	int			i;

	for (i = 0; i < length; i++)
	{
		if (prefix[i] != '_' && (prefix[i] < 'a' || prefix[i] > 'z'))
			return false;
	}
	return length == 0 ||
		(length <= COMB_PREFIX_MAX &&
		 prefix[0] != '_' && prefix[length - 1] != '_');
}

/* Return the prefix in an argument.  Raises 22023 if a TypeID cannot have it */
static const text *
comb_prefix_arg(FunctionCallInfo fcinfo, int argno)
{
	const text *prefix = PG_GETARG_TEXT_PP(argno);

	if (unlikely(!comb_is_prefix(VARDATA_ANY(prefix),
								 VARSIZE_ANY_EXHDR(prefix))))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid prefix: \"%s\"", comb_clipped(prefix)),
				 errdetail("A prefix has at most %d characters, a to z and underscores, and no underscore at its ends.",
						   COMB_PREFIX_MAX)));
	return prefix;
}

static void
comb_parse_error(const text *source, const char *prefix, int prefix_length)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
			 errmsg("invalid key text: \"%s\"", comb_clipped(source)),
			 prefix_length != 0 ?
			 errhint("A key with this prefix is \"%.*s_\" and %d digits of base 32, of which the first is 0 to 7.",
					 prefix_length, prefix, COMB_DIGITS) :
			 errhint("A key is %d digits of base 32, of which the first is 0 to 7.  To read a text with a prefix, call comb_parse(id, prefix).",
					 COMB_DIGITS)));
}

/* Read the key that follows the prefix, which may be empty */
static pg_always_inline pg_uuid_t *
comb_parsed(const text *source, const char *prefix, int prefix_length)
{
	const char *str = VARDATA_ANY(source);
	int			size = VARSIZE_ANY_EXHDR(source);
	int			start = prefix_length + (prefix_length != 0);
	pg_uuid_t  *id = (pg_uuid_t *) palloc(UUID_LEN);

	if (unlikely(size != start + COMB_DIGITS ||
				 memcmp(str, prefix, prefix_length) != 0 ||
				 (start != 0 && str[prefix_length] != '_') ||
				 !comb_read_digits(id->data, str + start)))
		comb_parse_error(source, prefix, prefix_length);
	return id;
}

/*
 * comb_text(id uuid) returns text: the 26 digits of a uuid in lower case, a TypeID
 * without a prefix.  Raises no error.
 */
Datum
comb_text(PG_FUNCTION_ARGS)
{
	text	   *result = (text *) palloc(VARHDRSZ + COMB_DIGITS);

	SET_VARSIZE(result, VARHDRSZ + COMB_DIGITS);
	comb_write_digits(VARDATA(result), PG_GETARG_UUID_P(0)->data);
	PG_RETURN_TEXT_P(result);
}

/*
 * comb_text(id uuid, prefix text) returns text: a TypeID, of a uuid of any version.
 * With an empty prefix there is no underscore.  Raises 22023 if a TypeID cannot
 * have the prefix.
 */
Datum
comb_text_prefix(PG_FUNCTION_ARGS)
{
	const text *prefix = comb_prefix_arg(fcinfo, 1);
	int			length = VARSIZE_ANY_EXHDR(prefix);
	int			start = length + (length != 0);
	text	   *result = (text *) palloc(VARHDRSZ + start + COMB_DIGITS);

	SET_VARSIZE(result, VARHDRSZ + start + COMB_DIGITS);
	memcpy(VARDATA(result), VARDATA_ANY(prefix), length);
	if (length != 0)
		VARDATA(result)[length] = '_';
	comb_write_digits(VARDATA(result) + start, PG_GETARG_UUID_P(0)->data);
	PG_RETURN_TEXT_P(result);
}

/*
 * comb_parse(id text) returns uuid: of 26 digits in either case, a ULID or a TypeID
 * without a prefix.  Raises 22P02 for any other text.
 */
Datum
comb_parse(PG_FUNCTION_ARGS)
{
	PG_RETURN_UUID_P(comb_parsed(PG_GETARG_TEXT_PP(0), "", 0));
}

/*
 * comb_parse(id text, prefix text) returns uuid: of a TypeID with exactly this
 * prefix.  The digits may be in either case, although the specification allows
 * only lower case.  Raises 22P02 for any other text, and 22023 if a TypeID cannot
 * have the prefix.
 */
Datum
comb_parse_prefix(PG_FUNCTION_ARGS)
{
	const text *prefix = comb_prefix_arg(fcinfo, 1);

	PG_RETURN_UUID_P(comb_parsed(PG_GETARG_TEXT_PP(0), VARDATA_ANY(prefix),
								 VARSIZE_ANY_EXHDR(prefix)));
}
