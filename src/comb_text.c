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
 * uuid meet inside the seventh pair of digits:
 *
 *	digits	0 to 11		12 and 13		14 to 25
 *	bits	00, 58 hi	6 hi, 4 lo		60 lo
 *
 * Copyright (c) 2026, pg_comb developers
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

/*
 * All pairs of digits, in order.  Writing two at once halves the work.  The
 * alphabet is Crockford's: digits and letters without i, l, o and u.
 */
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

/* Write the last 5 * "n" bits of a number */
static pg_always_inline void
comb_write_digits(char *digits, int n, uint64 bits)
{
	for (n -= 2; n >= 0; n -= 2, bits >>= 10)
		memcpy(digits + n, &comb_pairs[2 * (bits & 1023)], 2);
}

/* Read 5 * "n" bits.  *all loses COMB_IS_DIGIT if a character is no digit. */
static pg_always_inline uint64
comb_read_digits(const char *digits, int n, uint8 *all)
{
	uint64		bits = 0;
	int			i;

	for (i = 0; i < n; i += 2)
	{
		uint8		a = comb_digit_value[(unsigned char) digits[i]];
		uint8		b = comb_digit_value[(unsigned char) digits[i + 1]];

		*all &= a & b;
		bits = bits << 10 | (a & 31) << 5 | (b & 31);
	}
	return bits;
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
			 errhint("A key is %d digits of base 32, of which the first is 0 to 7.  To read a text with a prefix, call comb_parse(id, prefix).  Cast the usual text of a uuid to uuid.",
					 COMB_DIGITS)));
}

/* Write a key behind a prefix, which may be empty */
static pg_always_inline text *
comb_written(const unsigned char *id, const char *prefix, int prefix_length)
{
	int			start = prefix_length + (prefix_length != 0);
	text	   *result = (text *) palloc(VARHDRSZ + start + COMB_DIGITS);
	char	   *digits = VARDATA(result) + start;
	uint64		hi = comb_get_word(id);
	uint64		lo = comb_get_word(id + 8);

	SET_VARSIZE(result, VARHDRSZ + start + COMB_DIGITS);
	memcpy(VARDATA(result), prefix, prefix_length);
	if (prefix_length != 0)
		VARDATA(result)[prefix_length] = '_';
	comb_write_digits(digits, 12, hi >> 6);
	comb_write_digits(digits + 12, 2, hi << 4 | lo >> 60);
	comb_write_digits(digits + 14, 12, lo);
	return result;
}

/*
 * Read the key behind a prefix, which may be empty.  Raises 22P02 if the prefix is
 * another one, if a character is no digit, and for more than 128 bits.
 */
static pg_always_inline pg_uuid_t *
comb_parsed(const text *source, const char *prefix, int prefix_length)
{
	const char *str = VARDATA_ANY(source);
	int			start = prefix_length + (prefix_length != 0);
	pg_uuid_t  *id = (pg_uuid_t *) palloc(UUID_LEN);
	uint8		all = COMB_IS_DIGIT;
	uint64		hi;
	uint64		middle;
	uint64		lo;

	if (unlikely((int) VARSIZE_ANY_EXHDR(source) != start + COMB_DIGITS ||
				 memcmp(str, prefix, prefix_length) != 0 ||
				 (start != 0 && str[prefix_length] != '_')))
		comb_parse_error(source, prefix, prefix_length);
	hi = comb_read_digits(str + start, 12, &all);
	middle = comb_read_digits(str + start + 12, 2, &all);
	lo = comb_read_digits(str + start + 14, 12, &all);
	if (unlikely(all == 0 || hi >> 58 != 0))
		comb_parse_error(source, prefix, prefix_length);
	comb_set_word(id->data, hi << 6 | middle >> 4);
	comb_set_word(id->data + 8, middle << 60 | lo);
	return id;
}

/*
 * comb_text(id uuid) returns text: the 26 digits of a uuid in lower case, a TypeID
 * without a prefix.  Raises no error.
 */
Datum
comb_text(PG_FUNCTION_ARGS)
{
	PG_RETURN_TEXT_P(comb_written(PG_GETARG_UUID_P(0)->data, "", 0));
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

	PG_RETURN_TEXT_P(comb_written(PG_GETARG_UUID_P(0)->data, VARDATA_ANY(prefix),
								  VARSIZE_ANY_EXHDR(prefix)));
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
