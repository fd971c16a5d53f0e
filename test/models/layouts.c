/*
 * layouts.c - laws of the layouts, for all inputs
 *
 * CBMC proves one law at a time, given by -DLAW, of one layout, given by
 * -DLAYOUT.  It reads src/comb_layout.h and src/comb_layout.c, and headers
 * of the server from stub/.  Besides the laws
 * CBMC proves that no shift is undefined and that no signed number overflows.
 */
#include "comb_layout.c"

#define FIELD	1
#define BOUNDS	2
#define TENTHS	3
#define UUIDV7	4
#define L		(&comb_layout_table[LAYOUT])

/* The server's table, which comb_free_bits() reads */
#define B2(n)	n, n + 1, n + 1, n + 2
#define B4(n)	B2(n), B2(n + 1), B2(n + 1), B2(n + 2)
#define B6(n)	B4(n), B4(n + 1), B4(n + 1), B4(n + 2)
const uint8 pg_number_of_ones[256] = {B6(0), B6(1), B6(1), B6(2)};

CombPool	comb_pool;
int			MyProcPid;
void		comb_pool_fill(void) {}
void		comb_clock_error(void) {}

uint64		nondet_u64(void);
int64		nondet_i64(void);
unsigned char nondet_u8(void);

#define assume(condition)		__CPROVER_assume(condition)
#define law(condition, text)	__CPROVER_assert(condition, text)

static void
any_id(unsigned char *id)
{
	int			i;

	for (i = 0; i < UUID_LEN; i++)
		id[i] = nondet_u8();
}

static bool
fits(uint64 field)
{
	int			bits = 0;
	int			i;

	for (i = 0; i < L->field_bytes; i++)
		bits += comb_free_bits(L, L->order[i]);
	return bits == 64 || field >> bits == 0;
}

/*
 * As the layout's database compares two values.  No database sorts keys whose
 * time field shares bytes with bits that may have any value: these do not count.
 */
static int
compare(const unsigned char *a, const unsigned char *b)
{
	int			result = 0;
	int			i;

	for (i = UUID_LEN - 1; i >= 0; i--)
	{
		int			pos = L->order[i];
		unsigned char mask = L->split && !L->versioned ? L->fixed_mask[pos] : 0;

		if ((a[pos] | mask) != (b[pos] | mask))
			result = (a[pos] | mask) < (b[pos] | mask) ? -1 : 1;
	}
	return result;
}

/* The field comes back, other bits stay, fields are in the order of bytes */
static void
law_field(void)
{
	unsigned char base[UUID_LEN], a[UUID_LEN], b[UUID_LEN];
	uint64		f = nondet_u64(), g = nondet_u64();
	int			i;

	assume(fits(f) && fits(g));
	any_id(base);
	any_id(b);
	memcpy(a, base, UUID_LEN);
	comb_set_field(L, a, f);
	comb_set_field(L, b, g);
	for (i = 0; i < UUID_LEN; i++)
	{
		int			pos = L->order[i];
		unsigned char kept = i < L->field_bytes ? L->fixed_mask[pos] : 0xff;

		law(((a[pos] ^ base[pos]) & kept) == 0, "other bits stay");
	}
	if (L->versioned)
	{
		comb_set_fixed_bits(L, a);
		comb_set_fixed_bits(L, b);
		law(comb_has_fixed_bits(L, a), "the version is written");
	}
	law(comb_get_field(L, a) == f, "the field comes back");
	law(f == g || (f < g) == (compare(a, b) < 0), "fields are in the order of bytes");
}

/*
 * What the bounds need of a codec.  "f" is the field of an instant "at", and
 * "g" any valid field.  "next" is the field in which comb_lower_bound() lets the
 * following unit begin.
 */
#define ROUNDS(at, f, start)	((start) <= (at) && (start) >= L->codec->earliest)
#define MORE	((L->codec->unit->per - 1) / L->codec->unit->us)	/* units of one us */
#define DIVIDES(at, f, g, start_g)	(((start_g) <= (at)) == ((g) <= (f) + MORE))
#define FOLLOWS(f, g, next)		(((g) > (f)) == ((g) >= (next)))
#define NO_MORE(f, g)			((g) <= (f))

/*
 * Units of 100 ns: a field is ten times the microseconds since the first
 * instant, and no multiplication wraps.  Reading divides by ten.  It follows
 * that an instant divides the fields, because g / 10 <= d if g < 10 d + 10.
 */
static void
law_tenths(void)
{
	const CombCodec *codec = L->codec;
	int64		at = nondet_i64(), start;
	uint64		g = nondet_u64(), f;
	bool		valid;

	assume(at >= codec->earliest && at <= codec->latest && fits(g));
	f = codec->encode(codec, at);
	law((unsigned __int128) (uint64) (at - codec->earliest) * 10 == f, "ten times");
	law(fits(f) && f + 9 > f && fits(f + 9), "a microsecond has ten fields");
	valid = codec->decode(codec, g, &start);
	law(start == codec->earliest + (int64) (g / 10), "a tenth");
	law(valid == (start >= codec->earliest && start <= codec->latest), "the valid fields");
}

/*
 * A codec of which nothing is known but these laws: the bounds are right with
 * any codec that keeps them.  "seen" is the field of the key in question.
 */
uint64		__CPROVER_uninterpreted_encode(int64 at);
int64		__CPROVER_uninterpreted_start(uint64 field);
bool		__CPROVER_uninterpreted_valid(uint64 field);

static uint64 seen;
static int64 earliest, latest;

static bool
any_decode(const CombCodec *codec, uint64 field, int64 *at)
{
	*at = __CPROVER_uninterpreted_start(field);
	return __CPROVER_uninterpreted_valid(field);
}

static uint64
any_encode(const CombCodec *codec, int64 at)
{
	uint64		f = __CPROVER_uninterpreted_encode(at);
	int64		start = __CPROVER_uninterpreted_start(f);
	int64		after;

	law(at >= earliest && at <= latest, "encode() gets instants of the codec only");
	assume(fits(f) && fits(f + MORE));
	assume(__CPROVER_uninterpreted_valid(f) && ROUNDS(at, f, start));
	assume(MORE == 0 || start == at);
	after = start + L->codec->unit->us / L->codec->unit->per + 1;
	if (__CPROVER_uninterpreted_valid(seen))
	{
		assume(DIVIDES(at, f, seen, __CPROVER_uninterpreted_start(seen)));
		assume(DIVIDES(start, f, seen, __CPROVER_uninterpreted_start(seen)));
		if (start < at && after <= latest)
			assume(FOLLOWS(f, seen, __CPROVER_uninterpreted_encode(after)));
		else if (start < at)
			assume(NO_MORE(f, seen));
		else
			assume((__CPROVER_uninterpreted_start(seen) >= at) == (seen >= f));
	}
	return f;
}

/* The bounds enclose the keys of a time, and no others */
static void
law_bounds(void)
{
	CombCodec	codec = *L->codec;
	CombLayout	layout = *L;
	unsigned char a[UUID_LEN], lower[UUID_LEN], upper[UUID_LEN];
	int64		at = nondet_i64(), t;
	bool		has_lower, has_upper;

	codec.encode = any_encode;
	codec.decode = any_decode;
	layout.codec = &codec;
	earliest = codec.earliest;
	latest = codec.latest;
	any_id(a);
	seen = comb_get_field(L, a);
	assume(comb_decode(&layout, a, &t) && t >= earliest && t <= latest);
	has_lower = comb_lower_bound(&layout, lower, at);
	has_upper = comb_upper_bound(&layout, upper, at);
	law((t >= at) == (has_lower && compare(a, lower) >= 0), "lower bound");
	law((t <= at) == (has_upper && compare(a, upper) <= 0), "upper bound");
	law(!L->versioned || !has_lower || comb_has_fixed_bits(L, lower), "version of the lower bound");
	law(!L->versioned || !has_upper || comb_has_fixed_bits(L, upper), "version of the upper bound");
}

/* comb_v7_write(), comb_v7_read() and comb_behind_v4_write() agree with the table */
static void
law_uuidv7(void)
{
	const CombLayout *v7 = comb_layout_default;
	const CombLayout *behind_v4 = comb_layout_behind_v4;
	uint64		ms = nondet_u64(), sub = nondet_u64();
	unsigned char a[UUID_LEN], b[UUID_LEN];
	int64		x, y;

	assume(ms >> 48 == 0 && sub >> COMB_TICK_BITS == 0);
	comb_v7_write(a, ms, sub, nondet_u64());
	law(comb_get_field(v7, a) == ms, "milliseconds");
	memcpy(b, a, UUID_LEN);
	comb_set_sub(v7, b, (uint32) sub, COMB_TICK_BITS);
	law(memcmp(a, b, UUID_LEN) == 0, "ticks");
	any_id(a);
	law(comb_v7_read(a, &x) == comb_decode(v7, a, &y), "which values have a time");
	law(!comb_v7_read(a, &x) || x == y, "the time");

	assume(ms >> 42 == 0);
	comb_behind_v4_write(a, ms, sub, nondet_u64());
	law(comb_has_fixed_bits(behind_v4, a), "the version behind v4");
	law(comb_get_field(behind_v4, a) == ms, "milliseconds behind v4");
	memcpy(b, a, UUID_LEN);
	comb_set_sub(behind_v4, b, (uint32) sub, COMB_TICK_BITS);
	law(memcmp(a, b, UUID_LEN) == 0, "ticks behind v4");
}

int
main(void)
{
#if LAW == FIELD
	law_field();
#elif LAW == BOUNDS
	law_bounds();
#elif LAW == TENTHS
	law_tenths();
#else
	law_uuidv7();
#endif
	return 0;
}
