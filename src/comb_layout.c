/*-------------------------------------------------------------------------
 *
 * comb_layout.c
 *	  The table of layouts, and their codecs: conversion between the number in
 *	  a time field and an instant.
 *
 * Copyright (c) 2026, pg_comb developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "comb_layout.h"

/* The epochs of other software, as instants */
#define COMB_EPOCH_0001			(-INT64CONST(730119) * USECS_PER_DAY)
#define COMB_EPOCH_1582			(-INT64CONST(152384) * USECS_PER_DAY)
#define COMB_EPOCH_1900			(-INT64CONST(36524) * USECS_PER_DAY)

/*
 * The units of time fields.
 *
 * Codecs with the same unit share one struct, so comparing two pointers tells
 * whether a field of one codec is a whole field of the other.  1/300 s and
 * NHibernate's 3.333333 ms are different units: twice a day NHibernate's field
 * gets one unit further ahead, and around that instant two fields of one unit
 * fall into one field of the other.
 *
 * 1/300 s has 873,814 ticks, which need 20 bits, and 10 us have 2,622.  Keys
 * with a unit of 100 ns count in 100 ns, without ticks.
 */
static const CombUnit comb_ms = {"1 ms", 1000, 1, COMB_TICK_BITS};
static const CombUnit comb_300th = {"1/300 s", 10000, 3, 20};
static const CombUnit comb_nhibernate_ms = {"3.333333 ms", 3333333, 1000, 20};
static const CombUnit comb_4096th = {"1/4096 s", 15625, 64, 16};
static const CombUnit comb_10us = {"10 us", 10, 1, 12};
static const CombUnit comb_100ns = {"100 ns", 1, COMB_100NS_PER_US, 0};

/*
 * Return the first whole microsecond of a unit.  If units are shorter than a
 * microsecond, return the one that it begins in.
 *
 * Rounding to the nearest microsecond would not do.  Every third field of
 * 1/300 s would encode back to the field before, as it does with RT.Comb on
 * .NET 7.
 */
static inline uint64
comb_unit_start(const CombUnit *unit, uint64 n)
{
	/* most units are whole microseconds, and a division costs more */
	if (likely(unit->per == 1))
		return n * unit->us;
	return (n * unit->us + Min(unit->us, unit->per) - 1) / unit->per;
}

/* Return the number of whole units in the microseconds */
static inline uint64
comb_units_in(const CombUnit *unit, uint64 us)
{
	return us * unit->per / unit->us;
}

/*
 * A number of units since "earliest".  The number can be larger than any
 * instant that the codec writes.
 */
static bool
comb_count_decode(const CombCodec *codec, uint64 field, int64 *at)
{
	*at = codec->earliest + (int64) comb_unit_start(codec->unit, field);
	return *at <= codec->latest;
}

static uint64
comb_count_encode(const CombCodec *codec, int64 at)
{
	return comb_units_in(codec->unit, (uint64) (at - codec->earliest));
}

/* The codec of a number that counts units for so many microseconds */
#define COMB_COUNT(unit, epoch, range) \
	{&(unit), (epoch), (epoch) + (range) - 1, \
		comb_count_decode, comb_count_encode}

/* 48 bits of Unix milliseconds: RFC 9562, section 5.7, and many older formats */
static const CombCodec comb_unix_ms =
COMB_COUNT(comb_ms, COMB_UNIX_EPOCH, (INT64CONST(1) << 48) * COMB_US_PER_MS);

/*
 * 48 bits of milliseconds since the year 1, which is .NET's DateTime.Ticks /
 * 10000 (SequentialGuid by jhtodd and Zaabee)
 */
static const CombCodec comb_ms0001 =
COMB_COUNT(comb_ms, COMB_EPOCH_0001, (INT64CONST(1) << 48) * COMB_US_PER_MS);

/*
 * .NET ticks: 100 ns since the year 1, as a signed 64-bit number (Morris, EF
 * Core, NewId).  DateTime ends with the year 9999, but the number can be
 * larger.  The range has the microseconds whose ten ticks all fit.
 */
static const CombCodec comb_dotnet =
COMB_COUNT(comb_100ns, COMB_EPOCH_0001, PG_INT64_MAX / COMB_100NS_PER_US);

/*
 * 60 bits of 100 ns since 1582-10-15, the start of the Gregorian calendar
 * (RFC 9562, sections 5.1 and 5.6, and SQL Server's NEWSEQUENTIALID())
 */
static const CombCodec comb_gregorian =
COMB_COUNT(comb_100ns, COMB_EPOCH_1582,
		   (INT64CONST(1) << 60) / COMB_100NS_PER_US);

/*
 * 48 bits of 10 us since 1970, in Laravel's Str::orderedUuid() and in keys of
 * ramsey/uuid's CombGenerator
 */
static const CombCodec comb_unix_10us =
COMB_COUNT(comb_10us, COMB_UNIX_EPOCH, (INT64CONST(1) << 48) * 10);

/* 36 bits of seconds since 1970 and 12 bits of fraction: uuid7 of PyPI */
static const CombCodec comb_unix_4096th =
COMB_COUNT(comb_4096th, COMB_UNIX_EPOCH, (INT64CONST(1) << 36) * USECS_PER_SEC);

/*
 * Unix milliseconds in the bytes 8 to 13 of keys of Hibernate.  Where the
 * variant is, UUIDHexGenerator has bits of the time, and
 * CustomVersionOneStrategy masks them.  The lower one is 0 in both, so the
 * range ends with 46 bits, in the year 4199.
 */
static const CombCodec comb_unix_ms46 =
COMB_COUNT(comb_ms, COMB_UNIX_EPOCH, (INT64CONST(1) << 46) * COMB_US_PER_MS);

/*
 * 42 bits of Unix milliseconds, in keys of behind_v4
 *
 * These keys sort behind version 4 because they begin with ones.  Few keys of
 * version 4 must begin with as many: PostgreSQL splits the last leaf page of an
 * index for growing keys only while the keys behind them fit into a tenth of the
 * page, which holds 30, and a list of the newest rows shows these old keys
 * first.  In front of today's time 24 ones leave one key in 28 million, so a
 * table may have several hundred million.
 */
static const CombCodec comb_unix_ms42 =
COMB_COUNT(comb_ms, COMB_UNIX_EPOCH, (INT64CONST(1) << 42) * COMB_US_PER_MS);

/*
 * SQL Server's datetime: 16 bits of days since 1900, then 32 bits of 1/300 s
 * since midnight.  A day has 25,920,000 such units, and no encoder writes
 * more.
 */
#define COMB_DATETIME_LATEST \
	(COMB_EPOCH_1900 + INT64CONST(65536) * USECS_PER_DAY - 1)
#define COMB_DATETIME_PER_DAY	25920000

static bool
comb_datetime_decode(const CombCodec *codec, uint64 field, int64 *at)
{
	uint32		unit = (uint32) field;

	*at = COMB_EPOCH_1900 + (int64) (field >> 32) * USECS_PER_DAY +
		(int64) comb_unit_start(&comb_300th, unit);
	return unit < COMB_DATETIME_PER_DAY;
}

static uint64
comb_datetime_encode(const CombCodec *codec, int64 at)
{
	uint64		us = (uint64) (at - COMB_EPOCH_1900);

	return ((us / USECS_PER_DAY) << 32) |
		comb_units_in(&comb_300th, us % USECS_PER_DAY);
}

static const CombCodec comb_datetime = {
	&comb_300th, COMB_EPOCH_1900, COMB_DATETIME_LATEST,
	comb_datetime_decode, comb_datetime_encode
};

/*
 * NHibernate's guid.comb: the field of datetime, but with units of 3.333333
 * ms, computed in floating point.
 *
 * The original divides 100 ns by 10000.0, as TimeSpan's TotalMilliseconds
 * does, and the result by 3.333333.  We compute the same whole units with
 * integers, on every machine.  Doubles would not do, because the x87 keeps
 * more digits than a double has.  test/models/units.c compares all units of
 * a day.
 *
 * The field runs fast by up to two units a day, so the last unit of a day is
 * 25,920,002.
 *
 * We read the field in NHibernate's unit.  The result is never later than the
 * microsecond after the instant that the field was made from: a unit can begin
 * inside a microsecond.  In SQL Server's unit, 1/300 s, the result would be up
 * to 8.6 ms late, and would not encode back to the field.
 */
#define COMB_NHIBERNATE_LAST	25920002

/* The double nearest to 3.333333 is this number / 2^51 */
#define COMB_NHIBERNATE_DIVISOR	UINT64CONST(7505998628350889)

/*
 * Does the original compute less than "unit", where "unit" is the exact
 * quotient?
 *
 * A double has 53 bits.  "ms" is the milliseconds as a double, times
 * 2^shift.  The second division rounds to "unit" unless the quotient is below
 * it by more than half of the last bit that doubles have there.  "less" is how
 * far the quotient is below, and "half" is that half, both multiplied by the
 * divisor and 2^51.  The two terms of "less" overflow 64 bits, but their
 * difference does not.
 */
static bool
comb_nhibernate_rounds_down(uint64 us, uint32 unit)
{
	int			shift = 52 - pg_leftmost_one_pos64(us / 1000);
	uint64		ms = ((us << shift) + 500) / 1000;
	uint64		less = COMB_NHIBERNATE_DIVISOR * unit - (ms << (51 - shift));
	uint64		half = COMB_NHIBERNATE_DIVISOR >>
		(53 - pg_leftmost_one_pos32(unit));

	return (int64) less > (int64) half;
}

/*
 * Return the number of whole units in the microseconds since midnight.
 *
 * Only an exact integer quotient needs care.  Any other is at least 3e-7 away
 * from the next integer, and the rounding errors of doubles are below 1e-8.
 */
static inline uint32
comb_nhibernate_unit(uint64 us)
{
	uint32		unit = (uint32) comb_units_in(&comb_nhibernate_ms, us);

	if (unit > 0 && unit * (uint64) comb_nhibernate_ms.us == us * 1000 &&
		comb_nhibernate_rounds_down(us, unit))
		unit--;
	return unit;
}

static bool
comb_nhibernate_decode(const CombCodec *codec, uint64 field, int64 *at)
{
	uint32		unit = (uint32) field;
	uint64		us = comb_unit_start(&comb_nhibernate_ms, unit);

	if (unit > COMB_NHIBERNATE_LAST)
		return false;
	if (comb_nhibernate_unit(us) < unit)
		us++;					/* the unit begins a microsecond late */
	*at = COMB_EPOCH_1900 + (int64) (field >> 32) * USECS_PER_DAY +
		(int64) us;
	return true;
}

static uint64
comb_nhibernate_encode(const CombCodec *codec, int64 at)
{
	uint64		us = (uint64) (at - COMB_EPOCH_1900);

	return ((us / USECS_PER_DAY) << 32) |
		comb_nhibernate_unit(us % USECS_PER_DAY);
}

static const CombCodec comb_nhibernate = {
	&comb_nhibernate_ms, COMB_EPOCH_1900, COMB_DATETIME_LATEST,
	comb_nhibernate_decode, comb_nhibernate_encode
};

/* Databases, and the order in which each compares the bytes */
#define PLAIN	COMB_SORTS_PLAIN, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}
#define DOTNET	COMB_SORTS_DOTNET, {3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15}
#define MSSQL	COMB_SORTS_MSSQL, {10, 11, 12, 13, 14, 15, 8, 9, 7, 6, 5, 4, 3, 2, 1, 0}
#define NOWHERE(...)	COMB_SORTS_NOWHERE, {__VA_ARGS__}

/* Version and variant of RFC 9562 in new keys, and in all keys if VERSIONED */
#define VERSION_AT(pos, v)	{[pos] = 0xf0, [8] = 0xc0}, {[pos] = (v) << 4, [8] = 0x80}
#define VERSION(v)			VERSION_AT(6, v)
#define ANY			.fixed_mask = {0}
#define BITS(pos, mask, value)	{[pos] = (mask)}, {[pos] = (value)}
#define ONES_AND_VERSION(v)	{0xff, 0xff, 0xff, [6] = 0xf0, [8] = 0xc0}, {0xff, 0xff, 0xff, [6] = (v) << 4, [8] = 0x80}

#define VERSIONED	.versioned = true
#define SPLIT		.split = true
#define GENERATED	.generates = true
#define PROCESS_HEAD	.process_head = true

#define ROW(...) {__VA_ARGS__}

/*
 * The layouts, in the order of comb_layouts().  The first one is the default.
 *
 * SQL Server does sort the values of NEWSEQUENTIALID(), but by the machine
 * before the time, so no range of values is a range of time.
 */
const CombLayout comb_layout_table[] = {
	ROW("uuidv7", "RFC 9562 version 7: PostgreSQL 18, pg_uuidv7 and others",
		&comb_unix_ms, 6, PLAIN, VERSION(7), VERSIONED, GENERATED),
	ROW("ulid", "ULID stored as uuid",
		&comb_unix_ms, 6, PLAIN, ANY, GENERATED),
	ROW("behind_v4", "pg_comb, in tables with version 4: sorts behind these",
		&comb_unix_ms42, 9, PLAIN, ONES_AND_VERSION(8), VERSIONED, SPLIT, GENERATED),
	ROW("rtcomb_postgresql", "RT.Comb Provider.PostgreSql, Marten, JasperFx",
		&comb_unix_ms, 6, PLAIN, VERSION(4), GENERATED),
	ROW("rtcomb_postgresql_datetime", "RT.Comb Provider.PostgreSql with SqlDateTimeStrategy",
		&comb_datetime, 6, PLAIN, VERSION(4), GENERATED),
	ROW("rtcomb_sql", "RT.Comb Provider.Sql",
		&comb_unix_ms, 6, MSSQL, VERSION(4), GENERATED),
	ROW("rtcomb_legacy", "RT.Comb Provider.Legacy, Nilsson's T-SQL COMB",
		&comb_datetime, 6, MSSQL, VERSION(4), GENERATED),
	ROW("rtcomb_binary", "RT.Comb for Oracle and SQLite",
		&comb_unix_ms, 6, DOTNET, VERSION(4), GENERATED),
	ROW("rtcomb_binary_datetime", "RT.Comb for Oracle and SQLite with SqlDateTimeStrategy",
		&comb_datetime, 6, DOTNET, VERSION(4), GENERATED),
	ROW("nhibernate", "NHibernate guid.comb, NServiceBus, Bitwarden",
		&comb_nhibernate, 6, MSSQL, VERSION(4), GENERATED),
	ROW("sequential_string", "jhtodd and Zaabee SequentialGuid as string, ABP",
		&comb_ms0001, 6, PLAIN, ANY, GENERATED),
	ROW("sequential_binary", "jhtodd and Zaabee SequentialGuid as binary, ABP",
		&comb_ms0001, 6, DOTNET, ANY, GENERATED),
	ROW("sequential_end", "jhtodd and Zaabee SequentialGuid at end, ABP",
		&comb_ms0001, 6, MSSQL, ANY, GENERATED),
	ROW("morris", "Morris: 8 bytes of the process, then .NET ticks",
		&comb_dotnet, 8, MSSQL, ANY, GENERATED, PROCESS_HEAD),
	ROW("efcore", "EF Core SequentialGuidValueGenerator",
		&comb_dotnet, 8, MSSQL, BITS(6, 0xf0, 0x40), GENERATED),
	ROW("masstransit", "MassTransit NewId",
		&comb_dotnet, 8, MSSQL, ANY),
	ROW("masstransit_sequential", "MassTransit NewId, NextSequentialGuid",
		&comb_dotnet, 8, PLAIN, ANY),
	ROW("uuidv1", "RFC 9562 version 1",
		&comb_gregorian, 8, NOWHERE(6, 7, 4, 5, 0, 1, 2, 3, 8, 9, 10, 11, 12, 13, 14, 15), VERSION(1), VERSIONED, SPLIT),
	ROW("uuidv6", "RFC 9562 version 6",
		&comb_gregorian, 8, PLAIN, VERSION(6), VERSIONED, SPLIT),
	ROW("newsequentialid", "SQL Server NEWSEQUENTIALID()",
		&comb_gregorian, 8, NOWHERE(7, 6, 5, 4, 3, 2, 1, 0, 8, 9, 10, 11, 12, 13, 14, 15), VERSION_AT(7, 1), VERSIONED, SPLIT),
	ROW("laravel", "Laravel's Str::orderedUuid(), ramsey/uuid CombGenerator",
		&comb_unix_10us, 6, PLAIN, VERSION(4), VERSIONED, GENERATED),
	ROW("uuid7_pypi", "uuid7 of PyPI, marked version 7",
		&comb_unix_4096th, 6, PLAIN, VERSION(7), VERSIONED),
	ROW("hibernate", "Hibernate UuidGenerator style TIME and UUIDHexGenerator",
		&comb_unix_ms46, 6, NOWHERE(8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7), BITS(8, 0x80, 0x80), SPLIT),
	ROW("uuidv1_swapped", "version 1 with its parts swapped: MySQL, ramsey/uuid OrderedTime",
		&comb_gregorian, 8, PLAIN, VERSION_AT(0, 1), VERSIONED, SPLIT)
};
