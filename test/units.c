/*
 * units.c - every unit of a day, in the codecs that count days and units
 *
 * usage: units LAYOUT
 *
 * Compares the codec of layout "nhibernate" or "rtcomb_legacy" with the
 * original's arithmetic, at the first microseconds of each unit of a day, and
 * at the last microsecond before.  Prints the differences, and at the end how
 * many units there are.  test/t/023_layouts_units.pl compiles and runs the
 * program.
 */
#include "postgres.h"

#include <assert.h>
#include <float.h>

/* The program is linked with nothing of the server */
#undef Assert
#define Assert(condition)	assert(condition)

#include "../src/comb_codec.c"

#undef printf

/* A day of the year 2024 */
#define MIDNIGHT		(INT64CONST(8766) * USECS_PER_DAY)
#define US_AFTER		3		/* how many us of each unit to look at */
#define MAX_SHOWN		10

/* NHibernate: (long) (TimeOfDay.TotalMilliseconds / 3.333333) */
static uint32
nhibernate_original(int64 us)
{
	volatile double ms = (double) (us * 10) / 10000.0;
	volatile double units = ms / 3.333333;

	return (uint32) units;
}

/* SQL Server: whole units of 1/300 s, which is 10000/3 us */
static uint32
datetime_original(int64 us)
{
	return (uint32) (us * 3 / 10000);
}

int
main(int argc, char **argv)
{
	bool		nhibernate = argc == 2 && strcmp(argv[1], "nhibernate") == 0;
	const CombCodec *codec = nhibernate ? &comb_nhibernate : &comb_datetime;
	uint32		(*original) (int64 us) = nhibernate ? nhibernate_original : datetime_original;
	uint64		day = codec->encode(codec, MIDNIGHT);
	uint32		last = original(USECS_PER_DAY - 1);
	int			differences = 0;
	uint32		unit;
	int64		at;

	/* The original computes in doubles of 64 bits, as the IEEE says. */
	if (nhibernate && FLT_EVAL_METHOD != 0)
	{
		printf("no doubles of 64 bits\n");
		return 0;
	}
	for (unit = 0; unit <= last; unit++)
	{
		bool		read = codec->decode(codec, day + unit, &at);
		int64		us = at - MIDNIGHT;
		bool		same = read && (us == 0 || original(us - 1) == unit - 1);
		int			i;

		for (i = us > 0 ? -1 : 0; same && i < US_AFTER; i++)
			same = us + i >= USECS_PER_DAY ||
				codec->encode(codec, at + i) == day + original(us + i);
		same = same && original(us) == unit;
		if (!same && ++differences <= MAX_SHOWN)
			printf("differs: unit %u, read as %lld us\n", (unsigned) unit, (long long) us);
	}
	if (codec->decode(codec, day + last + 1, &at))
		printf("differs: unit %u is read, but no day has it\n", (unsigned) last + 1);
	printf("%u units, %d differences\n", (unsigned) last + 1, differences);
	return 0;
}
