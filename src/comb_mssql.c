/*-------------------------------------------------------------------------
 *
 * comb_mssql.c
 *	  uuid in the order of SQL Server's uniqueidentifier.
 *
 * Keys made for SQL Server have their time in the last six bytes, where that
 * server looks first.  In PostgreSQL's own order these keys are random: every
 * insert hits another page, and the index grows by splitting pages in the
 * middle.  The btree operator class comb_mssql_ops compares as SQL Server
 * does, so new keys go to the end of the index.  Stored keys do not change.
 *
 * Equality is plain "=", because both orders look at all 16 bytes.  An index
 * of this class therefore also serves "=" and IN, merge joins, unique
 * constraints, and foreign keys that refer to unique indexes.
 *
 * Sorting follows uuid's own support functions (adt/uuid.c), but compares
 * 64-bit numbers instead of calling memcmp().
 *
 * Copyright (c) 2026, pg_comb developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/sortsupport.h"

#include "comb.h"

PG_FUNCTION_INFO_V1(comb_mssql_lt);
PG_FUNCTION_INFO_V1(comb_mssql_le);
PG_FUNCTION_INFO_V1(comb_mssql_ge);
PG_FUNCTION_INFO_V1(comb_mssql_gt);
PG_FUNCTION_INFO_V1(comb_mssql_cmp);
PG_FUNCTION_INFO_V1(comb_mssql_key);
PG_FUNCTION_INFO_V1(comb_guid_swap);
PG_FUNCTION_INFO_V1(comb_mssql_sortsupport);

/*
 * SQL Server's order of uniqueidentifier.
 *
 * SQL Server compares bytes 10-15, then 8-9, then 7-6, 5-4 and 3-0.  It
 * compares the last three groups from their ends.  All 16 bytes count.
 *
 * "hi" and "lo" are the bytes in this order, read as two numbers.  "hi" is
 * the second half of the uuid, rotated by two bytes.  "lo" is the first half
 * with its bytes swapped, which costs nothing on a little-endian machine.
 */
static inline uint64
comb_mssql_hi(const unsigned char *id)
{
	uint64		word = comb_get_word(id + 8);

	return (word << 16) | (word >> 48);
}

static inline uint64
comb_mssql_lo(const unsigned char *id)
{
	return pg_bswap64(comb_get_word(id));
}

/* -1, 0 or 1 if SQL Server sorts "a" before, with or after "b" */
static inline int
comb_mssql_compare(const unsigned char *a, const unsigned char *b)
{
	uint64		x = comb_mssql_hi(a);
	uint64		y = comb_mssql_hi(b);

	if (x == y)
	{
		x = comb_mssql_lo(a);
		y = comb_mssql_lo(b);
	}
	return (x > y) - (x < y);
}

static inline int
comb_mssql_compare_args(FunctionCallInfo fcinfo)
{
	return comb_mssql_compare(PG_GETARG_UUID_P(0)->data,
							  PG_GETARG_UUID_P(1)->data);
}

/* Operators #<# #<=# #>=# #>#: (uuid, uuid) returns boolean */
Datum
comb_mssql_lt(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(comb_mssql_compare_args(fcinfo) < 0);
}

Datum
comb_mssql_le(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(comb_mssql_compare_args(fcinfo) <= 0);
}

Datum
comb_mssql_ge(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(comb_mssql_compare_args(fcinfo) >= 0);
}

Datum
comb_mssql_gt(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(comb_mssql_compare_args(fcinfo) > 0);
}

/* comb_mssql_cmp(uuid, uuid) returns integer: support function 1 */
Datum
comb_mssql_cmp(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT32(comb_mssql_compare_args(fcinfo));
}

/*
 * comb_mssql_key(id uuid) returns uuid: the bytes rearranged, so that comparing
 * two results with "<" compares the arguments as SQL Server does.  This is for
 * BRIN, indexes of other tools, and statistics on the expression.  The result is
 * no key: version and time are not where readers look for them.
 */
Datum
comb_mssql_key(PG_FUNCTION_ARGS)
{
	const unsigned char *id = PG_GETARG_UUID_P(0)->data;
	pg_uuid_t  *key = (pg_uuid_t *) palloc(UUID_LEN);

	comb_set_word(key->data, comb_mssql_hi(id));
	comb_set_word(key->data + 8, comb_mssql_lo(id));
	PG_RETURN_UUID_P(key);
}

/*
 * comb_guid_swap(id uuid) returns uuid: from the bytes of .NET's
 * Guid.ToByteArray(), and of SQL Server's cast to binary(16), to the uuid whose
 * text both show, and back.  .NET keeps the first three groups of a Guid as
 * little-endian integers, so Guid.ToByteArray() has bytes 3-0, 5-4, 7-6 and 8-15
 * of the text.
 */
Datum
comb_guid_swap(PG_FUNCTION_ARGS)
{
	static const uint8 from[8] = {3, 2, 1, 0, 5, 4, 7, 6};
	pg_uuid_t  *id = PG_GETARG_UUID_P(0);
	pg_uuid_t  *swapped = (pg_uuid_t *) palloc(UUID_LEN);
	int			i;

	memcpy(swapped, id, UUID_LEN);
	for (i = 0; i < (int) lengthof(from); i++)
		swapped->data[i] = id->data[from[i]];
	PG_RETURN_UUID_P(swapped);
}

static int
comb_mssql_fast_cmp(Datum x, Datum y, SortSupport ssup)
{
	return comb_mssql_compare(DatumGetUUIDP(x)->data, DatumGetUUIDP(y)->data);
}

/*
 * Abbreviate a uuid to its first bytes in SQL Server's order, as many as a
 * Datum holds.  In keys made for SQL Server these start with the time.
 */
static Datum
comb_mssql_abbrev_convert(Datum original, SortSupport ssup)
{
	uint64		hi = comb_mssql_hi(DatumGetUUIDP(original)->data);

	return (Datum) (hi >> (64 - SIZEOF_DATUM * BITS_PER_BYTE));
}

/*
 * Never give up abbreviated keys.  uuid's own sort counts distinct values, and
 * gives up if they are few.  That pays only for indexes that keys do not make.
 */
static bool
comb_mssql_abbrev_abort(int memtupcount, SortSupport ssup)
{
	return false;
}

/* comb_mssql_sortsupport(internal) returns void: support function 2 */
Datum
comb_mssql_sortsupport(PG_FUNCTION_ARGS)
{
	SortSupport ssup = (SortSupport) PG_GETARG_POINTER(0);

	ssup->comparator = comb_mssql_fast_cmp;
	if (ssup->abbreviate)
	{
		ssup->comparator = ssup_datum_uint64_cmp;
		ssup->abbrev_converter = comb_mssql_abbrev_convert;
		ssup->abbrev_abort = comb_mssql_abbrev_abort;
		ssup->abbrev_full_comparator = comb_mssql_fast_cmp;
	}
	PG_RETURN_VOID();
}
