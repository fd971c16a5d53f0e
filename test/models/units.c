/*
 * units.c - each unit of time of the layouts that divide, by trying all
 *
 * Divisions of 64 bits are too hard for CBMC.  This program therefore tries all
 * units of a day, or 400 million, and the first and last unit of each day, in each codec whose
 * unit is longer than a microsecond.  It checks what layouts.c assumes of a codec:
 *
 * - a unit is read as its first instant, and written from each instant that it
 *	 lasts.  Its first two instants, the one in the middle and the last one are
 *	 tried.  An encoder rounds a quotient down, so what holds for two instants
 *	 holds between them.  Only NHibernate's may put an instant with a whole
 *	 quotient into the unit before, of which it is then the last instant;
 * - units follow each other without gaps or overlaps, and a unit lasts us / per,
 *	 rounded down or up, or less at the end of a day;
 * - the instant where comb_lower_bound() lets the following unit begin is in that
 *	 unit;
 * - the original's arithmetic, where that rounds in a way of its own, counts a
 *	 unit from the instant on as which the codec reads it.
 *
 * A codec uses nothing but the day of an instant and the time since midnight, or
 * the number of milliseconds, so a unit of one day is like that of any other.
 *
 * Prints TAP.
 */
#include <stdio.h>

#include "comb_layout.c"

CombPool	comb_pool;
int			MyProcPid;
void		comb_pool_fill(void) {}
void		comb_clock_error(void) {}

/* NHibernate: (long) (TimeOfDay.TotalMilliseconds / 3.333333) */
static int64
nhibernate_original(int64 us)
{
	volatile double ms = (double) (us * 10) / 10000.0;
	volatile double units = ms / 3.333333;

	return (int64) units;
}

/* SQL Server: whole units of 1/300 s, which is 10000/3 us */
static int64
datetime_original(int64 us)
{
	return us * 3 / 10000;
}

static const struct
{
	const char *name;
	const CombCodec *codec;
	int64		per_day;		/* units */
	int			shift;			/* bits for a unit's number below the day's; 0 = none */
	int64		(*original) (int64 us);
}			codecs[] = {
	{"Unix milliseconds", &comb_unix_ms, 86400000, 0},
	{"46 bits of Unix milliseconds", &comb_unix_ms46, 86400000, 0},
	{"milliseconds since the year 1", &comb_ms0001, 86400000, 0},
	{"10 us", &comb_unix_10us, 8640000000, 0},
	{"1/4096 s", &comb_unix_4096th, 353894400, 0},
	{"datetime", &comb_datetime, 25920000, 32, datetime_original},
	{"NHibernate's datetime", &comb_nhibernate, 25920003, 32, nhibernate_original}
};

/* Units of 10 us divide a second evenly, so as many as this stand for a day's */
#define TRIED	INT64CONST(400000000)

static int	test = 0;
static int	failures = 0;

/* A unit lasts so many microseconds, or one more */
static int64
length_us(const CombCodec *codec)
{
	return codec->unit->us / codec->unit->per;
}

/* The field of a unit, counted over all days */
static uint64
field_of(int i, int64 day, int64 unit)
{
	return codecs[i].shift > 0 ? ((uint64) day << codecs[i].shift) + unit :
		(uint64) (day * codecs[i].per_day + unit);
}

/*
 * Check one unit.  "last_unit" is whether a following one does not exist, or is
 * the next day's first.
 */
static bool
unit_holds(int i, int64 day, int64 unit, int64 days)
{
	const CombCodec *codec = codecs[i].codec;
	bool		last = (unit == codecs[i].per_day - 1);
	uint64		field = field_of(i, day, unit);
	uint64		next = last ? field_of(i, day + 1, 0) : field + 1;
	int64		start;
	int64		end = codec->latest + 1;
	int64		length;

	if (!codec->decode(codec, field, &start) || start < codec->earliest || start > codec->latest)
		return false;
	if (day + 1 < days || !last)
	{
		if (!codec->decode(codec, next, &end) || end > codec->latest)
			return false;
		if (start + length_us(codec) + 1 <= codec->latest &&
			codec->encode(codec, start + length_us(codec) + 1) != next)
			return false;
	}
	else if (start + length_us(codec) + 1 <= codec->latest)
		return false;
	if (codecs[i].original != NULL)
	{
		int64		us = start - codec->earliest - day * USECS_PER_DAY;

		if (codecs[i].original(us) != unit || (us > 0 && codecs[i].original(us - 1) != unit - 1))
			return false;
	}
	length = end - start;
	if (length <= 0 || length > length_us(codec) + 1 ||
		(length < length_us(codec) && !last))
		return false;
	return codec->encode(codec, start) == field && codec->encode(codec, end - 1) == field &&
		codec->encode(codec, start + length / 2) == field &&
		codec->encode(codec, Min(start + 1, end - 1)) == field;
}

static void
result(bool ok, const char *name, const char *what, int64 tried)
{
	failures += !ok;
	printf("%sok %d - %s: %s (%lld)\n", ok ? "" : "not ", ++test, name, what,
		   (long long) tried);
}

int
main(void)
{
	int			i;

	printf("1..%d\n", 2 * (int) lengthof(codecs));
	for (i = 0; i < (int) lengthof(codecs); i++)
	{
		const CombCodec *codec = codecs[i].codec;
		int64		days = (codec->latest - codec->earliest) / USECS_PER_DAY + 1;
		int64		some = days / 2;
		int64		day;
		int64		unit;
		bool		ok = true;

		for (unit = 0; ok && unit < Min(codecs[i].per_day, TRIED); unit++)
			ok = unit_holds(i, some, unit, days);
		result(ok, codecs[i].name, unit < codecs[i].per_day ? "units of a day" :
			   "all units of a day", unit);
		ok = true;
		/* the last day of a number of units is not whole */
		for (day = 0; ok && day < (codecs[i].shift > 0 ? days : days - 1); day++)
			ok = unit_holds(i, day, 0, days) &&
				unit_holds(i, day, codecs[i].per_day - 1, days);
		result(ok && codec->encode(codec, codec->latest) == field_of(i, days - 1, 0) +
			   (int64) comb_units_in(codec->unit, (codec->latest - codec->earliest) % USECS_PER_DAY) * (codecs[i].shift == 0) +
			   (codecs[i].shift > 0 ? codecs[i].per_day - 1 : 0),
			   codecs[i].name, "the first and last unit of each day", day);
	}
	return failures > 0;
}
