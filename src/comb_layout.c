/*-------------------------------------------------------------------------
 *
 * comb_layout.c
 *	  The layout table, and what needs no clock: reading and writing the time
 *	  of a key, and bounds.
 *
 * Copyright (c) 2026, pg_comb developers
 *
 * IDENTIFICATION
 *	  src/comb_layout.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>				/* for ldexp() */

#include "access/htup_details.h"
#include "funcapi.h"
#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "nodes/primnodes.h"
#include "utils/builtins.h"
#include "utils/datetime.h"
#include "utils/timestamp.h"

#include "comb.h"

PG_FUNCTION_INFO_V1(comb_timestamp);
PG_FUNCTION_INFO_V1(comb_timestamp_layout);
PG_FUNCTION_INFO_V1(comb_stamp);
PG_FUNCTION_INFO_V1(comb_stamp_layout);
PG_FUNCTION_INFO_V1(comb_min);
PG_FUNCTION_INFO_V1(comb_min_layout);
PG_FUNCTION_INFO_V1(comb_max);
PG_FUNCTION_INFO_V1(comb_max_layout);
PG_FUNCTION_INFO_V1(comb_time_encoder);
PG_FUNCTION_INFO_V1(comb_time_decoder);
PG_FUNCTION_INFO_V1(comb_time_decoder_text);
PG_FUNCTION_INFO_V1(comb_inspect);
PG_FUNCTION_INFO_V1(comb_layouts);
PG_FUNCTION_INFO_V1(comb_convert);

/*
 * Ticks in a unit: 2^18 in a millisecond, 873,814 in 1/300 s, which take 20
 * bits.  100 ns are counted themselves.
 */
static const CombCodec comb_unix_ms = {
	.unit = "1 ms",
	.decode = comb_unix_ms_decode,
	.encode = comb_unix_ms_encode,
	.earliest = COMB_UNIX_EPOCH,
	.latest = COMB_UNIX_MS_LATEST,
	.unit_us = 1000,
	.fields_per_us = 1,
	.tick_bits = COMB_TICK_BITS
};

static const CombCodec comb_ms0001 = {
	.unit = "1 ms",
	.decode = comb_ms0001_decode,
	.encode = comb_ms0001_encode,
	.earliest = COMB_EPOCH_0001,
	.latest = COMB_MS0001_LATEST,
	.unit_us = 1000,
	.fields_per_us = 1,
	.tick_bits = COMB_TICK_BITS
};

static const CombCodec comb_datetime = {
	.unit = "1/300 s",
	.decode = comb_datetime_decode,
	.encode = comb_datetime_encode,
	.earliest = COMB_EPOCH_1900,
	.latest = COMB_DATETIME_LATEST,
	.gaps = true,
	.unit_us = 3333,
	.fields_per_us = 1,
	.tick_bits = 20
};

static const CombCodec comb_nhibernate = {
	.unit = "3.333333 ms",
	.decode = comb_nhibernate_decode,
	.encode = comb_nhibernate_encode,
	.earliest = COMB_EPOCH_1900,
	.latest = COMB_DATETIME_LATEST,
	.gaps = true,
	.unit_us = 3333,
	.fields_per_us = 1,
	.tick_bits = 20
};

static const CombCodec comb_dotnet_ticks = {
	.unit = "100 ns",
	.decode = comb_dotnet_decode,
	.encode = comb_dotnet_encode,
	.earliest = COMB_EPOCH_0001,
	.latest = COMB_DOTNET_LATEST,
	.unit_us = 1,
	.fields_per_us = COMB_100NS_PER_US,
	.tick_bits = 0
};

static const CombCodec comb_gregorian = {
	.unit = "100 ns",
	.decode = comb_gregorian_decode,
	.encode = comb_gregorian_encode,
	.earliest = COMB_EPOCH_1582,
	.latest = COMB_GREGORIAN_LATEST,
	.unit_us = 1,
	.fields_per_us = COMB_100NS_PER_US,
	.tick_bits = 0
};

/* Byte orders: how the database that a layout is made for compares */
#define COMB_ORDER_PLAIN \
	{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}
#define COMB_ORDER_DOTNET \
	{3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15}
#define COMB_ORDER_MSSQL \
	{10, 11, 12, 13, 14, 15, 8, 9, 7, 6, 5, 4, 3, 2, 1, 0}

/* Version and variant of RFC 9562 */
#define COMB_RFC_MASK		{[6] = 0xf0, [8] = 0xc0}
#define COMB_RFC_VALUE(v)	{[6] = (v) << 4, [8] = 0x80}

/*
 * The layouts, in the order of comb_layouts().  The first is the default.
 * NEWSEQUENTIALID()'s values do sort in SQL Server, but by the machine before
 * the time, so that no range of values is a range of time.
 */
static const CombLayout comb_layout_table[] = {
	{
		.label = "uuidv7",
		.description = "RFC 9562 version 7: PostgreSQL 18, pg_uuidv7 and others",
		.codec = &comb_unix_ms,
		.sorts_in = COMB_SORTS_PLAIN,
		.generates = true,
		.versioned = true,
		.field_bytes = 6,
		.order = COMB_ORDER_PLAIN,
		.fixed_mask = COMB_RFC_MASK,
		.fixed_value = COMB_RFC_VALUE(7)
	},
	{
		.label = "ulid",
		.description = "ULID stored as uuid",
		.codec = &comb_unix_ms,
		.sorts_in = COMB_SORTS_PLAIN,
		.generates = true,
		.field_bytes = 6,
		.order = COMB_ORDER_PLAIN
	},
	{
		.label = "rtcomb_postgresql",
		.description = "RT.Comb Provider.PostgreSql, Marten, JasperFx",
		.codec = &comb_unix_ms,
		.sorts_in = COMB_SORTS_PLAIN,
		.generates = true,
		.field_bytes = 6,
		.order = COMB_ORDER_PLAIN,
		.fixed_mask = COMB_RFC_MASK,
		.fixed_value = COMB_RFC_VALUE(4)
	},
	{
		.label = "rtcomb_postgresql_datetime",
		.description = "RT.Comb Provider.PostgreSql with SqlDateTimeStrategy",
		.codec = &comb_datetime,
		.sorts_in = COMB_SORTS_PLAIN,
		.generates = true,
		.field_bytes = 6,
		.order = COMB_ORDER_PLAIN,
		.fixed_mask = COMB_RFC_MASK,
		.fixed_value = COMB_RFC_VALUE(4)
	},
	{
		.label = "rtcomb_sql",
		.description = "RT.Comb Provider.Sql",
		.codec = &comb_unix_ms,
		.sorts_in = COMB_SORTS_MSSQL,
		.generates = true,
		.field_bytes = 6,
		.order = COMB_ORDER_MSSQL,
		.fixed_mask = COMB_RFC_MASK,
		.fixed_value = COMB_RFC_VALUE(4)
	},
	{
		.label = "rtcomb_legacy",
		.description = "RT.Comb Provider.Legacy, Nilsson's T-SQL COMB",
		.codec = &comb_datetime,
		.sorts_in = COMB_SORTS_MSSQL,
		.generates = true,
		.field_bytes = 6,
		.order = COMB_ORDER_MSSQL,
		.fixed_mask = COMB_RFC_MASK,
		.fixed_value = COMB_RFC_VALUE(4)
	},
	{
		.label = "rtcomb_binary",
		.description = "RT.Comb for Oracle and SQLite",
		.codec = &comb_unix_ms,
		.sorts_in = COMB_SORTS_DOTNET,
		.generates = true,
		.field_bytes = 6,
		.order = COMB_ORDER_DOTNET,
		.fixed_mask = COMB_RFC_MASK,
		.fixed_value = COMB_RFC_VALUE(4)
	},
	{
		.label = "rtcomb_binary_datetime",
		.description = "RT.Comb for Oracle and SQLite with SqlDateTimeStrategy",
		.codec = &comb_datetime,
		.sorts_in = COMB_SORTS_DOTNET,
		.generates = true,
		.field_bytes = 6,
		.order = COMB_ORDER_DOTNET,
		.fixed_mask = COMB_RFC_MASK,
		.fixed_value = COMB_RFC_VALUE(4)
	},
	{
		.label = "nhibernate",
		.description = "NHibernate guid.comb, NServiceBus, Bitwarden",
		.codec = &comb_nhibernate,
		.sorts_in = COMB_SORTS_MSSQL,
		.generates = true,
		.field_bytes = 6,
		.order = COMB_ORDER_MSSQL,
		.fixed_mask = COMB_RFC_MASK,
		.fixed_value = COMB_RFC_VALUE(4)
	},
	{
		.label = "sequential_string",
		.description = "jhtodd and Zaabee SequentialGuid as string, ABP",
		.codec = &comb_ms0001,
		.sorts_in = COMB_SORTS_PLAIN,
		.generates = true,
		.field_bytes = 6,
		.order = COMB_ORDER_PLAIN
	},
	{
		.label = "sequential_binary",
		.description = "jhtodd and Zaabee SequentialGuid as binary, ABP",
		.codec = &comb_ms0001,
		.sorts_in = COMB_SORTS_DOTNET,
		.generates = true,
		.field_bytes = 6,
		.order = COMB_ORDER_DOTNET
	},
	{
		.label = "sequential_end",
		.description = "jhtodd and Zaabee SequentialGuid at end, ABP",
		.codec = &comb_ms0001,
		.sorts_in = COMB_SORTS_MSSQL,
		.generates = true,
		.field_bytes = 6,
		.order = COMB_ORDER_MSSQL
	},
	{
		.label = "morris",
		.description = "Morris: 8 bytes of the process, then .NET ticks",
		.codec = &comb_dotnet_ticks,
		.sorts_in = COMB_SORTS_MSSQL,
		.generates = true,
		.process_head = true,
		.field_bytes = 8,
		.order = COMB_ORDER_MSSQL
	},
	{
		.label = "efcore",
		.description = "EF Core SequentialGuidValueGenerator",
		.codec = &comb_dotnet_ticks,
		.sorts_in = COMB_SORTS_MSSQL,
		.generates = true,
		.field_bytes = 8,
		.order = COMB_ORDER_MSSQL,
		.fixed_mask = {[6] = 0xf0},
		.fixed_value = {[6] = 0x40}
	},
	{
		.label = "newid",
		.description = "MassTransit NewId",
		.codec = &comb_dotnet_ticks,
		.sorts_in = COMB_SORTS_MSSQL,
		.field_bytes = 8,
		.order = COMB_ORDER_MSSQL
	},
	{
		.label = "newid_sequential",
		.description = "MassTransit NewId, NextSequentialGuid",
		.codec = &comb_dotnet_ticks,
		.sorts_in = COMB_SORTS_PLAIN,
		.field_bytes = 8,
		.order = COMB_ORDER_PLAIN
	},
	{
		.label = "uuidv1",
		.description = "RFC 9562 version 1",
		.codec = &comb_gregorian,
		.sorts_in = COMB_SORTS_NOWHERE,
		.versioned = true,
		.field_bytes = 8,
		.order = {6, 7, 4, 5, 0, 1, 2, 3, 8, 9, 10, 11, 12, 13, 14, 15},
		.fixed_mask = COMB_RFC_MASK,
		.fixed_value = COMB_RFC_VALUE(1)
	},
	{
		.label = "uuidv6",
		.description = "RFC 9562 version 6",
		.codec = &comb_gregorian,
		.sorts_in = COMB_SORTS_PLAIN,
		.versioned = true,
		.field_bytes = 8,
		.order = COMB_ORDER_PLAIN,
		.fixed_mask = COMB_RFC_MASK,
		.fixed_value = COMB_RFC_VALUE(6)
	},
	{
		.label = "newsequentialid",
		.description = "SQL Server NEWSEQUENTIALID()",
		.codec = &comb_gregorian,
		.sorts_in = COMB_SORTS_NOWHERE,
		.versioned = true,
		.field_bytes = 8,
		.order = {7, 6, 5, 4, 3, 2, 1, 0, 8, 9, 10, 11, 12, 13, 14, 15},
		.fixed_mask = {[7] = 0xf0,[8] = 0xc0},
		.fixed_value = {[7] = 0x10,[8] = 0x80}
	}
};

#define COMB_NLAYOUTS	((int) lengthof(comb_layout_table))

const CombLayout *const comb_layout_default = &comb_layout_table[0];

/* Times at the front without version bits: what partition bounds look like */
#define COMB_LAYOUT_BARE	(&comb_layout_table[1])

static const char *const comb_sorts_in_text[] = {
	[COMB_SORTS_NOWHERE] = NULL,
	[COMB_SORTS_PLAIN] = "PostgreSQL",
	[COMB_SORTS_DOTNET] = "raw .NET bytes",
	[COMB_SORTS_MSSQL] = "SQL Server"
};

/* Is this the layout's label?  A text holds no zero byte, and ends in none */
static inline bool
comb_label_is(const CombLayout *layout, const text *label)
{
	size_t		length = VARSIZE_ANY_EXHDR(label);

	return strncmp(layout->label, VARDATA_ANY(label), length) == 0 &&
		layout->label[length] == '\0';
}

/* The layout of a label, or NULL */
const CombLayout *
comb_layout_find(const text *label)
{
	int			i;

	for (i = 0; i < COMB_NLAYOUTS; i++)
	{
		if (comb_label_is(&comb_layout_table[i], label))
			return &comb_layout_table[i];
	}
	return NULL;
}

/* Is an argument of the call a constant of the query? */
static bool
comb_arg_is_const(const FmgrInfo *flinfo, int argno)
{
	const Node *call = flinfo->fn_expr;

	return call != NULL && IsA(call, FuncExpr) &&
		argno < list_length(((const FuncExpr *) call)->args) &&
		IsA(list_nth(((const FuncExpr *) call)->args, argno), Const);
}

/* What a call site knows of one of its labels */
typedef struct CombKnownLabel
{
	const CombLayout *layout;
	bool		constant;		/* the label cannot change */
} CombKnownLabel;

/*
 * Look the label of an argument up and remember it with the call site, by
 * argument.  A label that is no constant, such as a column, is looked at for
 * every row and compared with the one before, since most rows repeat it.
 */
static pg_noinline const CombLayout *
comb_layout_arg_lookup(FunctionCallInfo fcinfo, int argno)
{
	CombKnownLabel *known = (CombKnownLabel *) fcinfo->flinfo->fn_extra;
	text	   *label = PG_GETARG_TEXT_PP(argno);
	const CombLayout *layout;

	if (known == NULL)
	{
		known = (CombKnownLabel *)
			MemoryContextAllocZero(fcinfo->flinfo->fn_mcxt,
								   PG_NARGS() * sizeof(CombKnownLabel));
		fcinfo->flinfo->fn_extra = known;
	}

	layout = known[argno].layout;
	if (layout == NULL || !comb_label_is(layout, label))
	{
		layout = comb_layout_find(label);
		known[argno].layout = layout;
		known[argno].constant = (layout != NULL &&
								 comb_arg_is_const(fcinfo->flinfo, argno));
	}
	return layout;
}

/* The layout that a function was called with, NULL where it is not known */
const CombLayout *
comb_layout_arg_or_null(FunctionCallInfo fcinfo, int argno)
{
	CombKnownLabel *known = (CombKnownLabel *) fcinfo->flinfo->fn_extra;

	if (likely(known != NULL && known[argno].constant))
		return known[argno].layout;
	return comb_layout_arg_lookup(fcinfo, argno);
}

/* The labels of all layouts, for a hint */
static char *
comb_layout_labels(void)
{
	StringInfoData labels;
	int			i;

	initStringInfo(&labels);
	for (i = 0; i < COMB_NLAYOUTS; i++)
		appendStringInfo(&labels, "%s%s", i > 0 ? ", " : "",
						 comb_layout_table[i].label);
	return labels.data;
}

/* Not more of an unknown label than a name may have: it can be any text */
static void
comb_layout_error(const text *label)
{
	int			length = pg_mbcliplen(VARDATA_ANY(label),
									  VARSIZE_ANY_EXHDR(label),
									  NAMEDATALEN - 1);

	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("layout \"%s\" is not known",
					pnstrdup(VARDATA_ANY(label), length)),
			 errhint("The layouts are %s.", comb_layout_labels())));
}

/* The layout that a function was called with, 22023 where it is not known */
const CombLayout *
comb_layout_arg(FunctionCallInfo fcinfo, int argno)
{
	const CombLayout *layout = comb_layout_arg_or_null(fcinfo, argno);

	if (unlikely(layout == NULL))
		comb_layout_error(PG_GETARG_TEXT_PP(argno));
	return layout;
}

/*
 * An instant for a message, in UTC whatever the session's settings, so that
 * messages of servers and tests can be compared.
 */
char *
comb_time_text(TimestampTz at)
{
	struct pg_tm tm;
	fsec_t		fsec;
	char		buf[MAXDATELEN + 1];

	if (TIMESTAMP_NOT_FINITE(at) ||
		timestamp2tm(at, NULL, &tm, &fsec, NULL, NULL) != 0)
		return pstrdup(at < 0 ? "-infinity" : "infinity");
	tm.tm_isdst = 0;			/* the zone is known: UTC */
	EncodeDateTime(&tm, fsec, true, 0, NULL, USE_ISO_DATES, buf);
	return pstrdup(buf);
}

/* Raise 22008 for a time that the layout cannot hold, infinities included */
void
comb_check_time(const CombLayout *layout, TimestampTz at)
{
	const CombCodec *codec = layout->codec;

	if (at < codec->earliest || at > codec->latest)
		ereport(ERROR,
				(errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
				 errmsg("timestamp out of range for layout \"%s\"",
						layout->label),
				 errdetail("The layout holds times from %s to %s.",
						   comb_time_text(codec->earliest),
						   comb_time_text(codec->latest))));
}

/* Raise 0A000 where no range of values is a range of time */
void
comb_check_sorts(const CombLayout *layout)
{
	if (layout->sorts_in == COMB_SORTS_NOWHERE)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("keys of layout \"%s\" do not sort by time",
						layout->label),
				 errhint("Compare comb_timestamp(id, '%s') instead.",
						 layout->label)));
}

/*
 * A copy of "base" with another time.  A field that says that time already
 * stays as it is, so that a key stamped with its own time is itself also
 * where the field is finer than the microseconds of timestamptz.
 */
static pg_uuid_t *
comb_stamped(const CombLayout *layout, const pg_uuid_t *base, TimestampTz at)
{
	pg_uuid_t  *id;
	TimestampTz now;

	comb_check_time(layout, at);
	id = (pg_uuid_t *) palloc(UUID_LEN);
	memcpy(id, base, UUID_LEN);
	if (!comb_decode(layout, id->data, &now) || now != at)
		comb_encode(layout, id->data, at);
	return id;
}

/*
 * comb_timestamp(id uuid) returns timestamptz
 *
 * Time of creation of a UUIDv7, in whole milliseconds (RFC 9562, 5.7).  NULL
 * for any other uuid; no input raises an error.
 */
Datum
comb_timestamp(PG_FUNCTION_ARGS)
{
	pg_uuid_t  *id = PG_GETARG_UUID_P(0);
	TimestampTz at;

	if (!comb_v7_read(id->data, &at))
		PG_RETURN_NULL();
	PG_RETURN_TIMESTAMPTZ(at);
}

/*
 * comb_timestamp(id uuid, layout comb_layout) returns timestamptz
 *
 * The same for any layout: the first instant, rounded up to the microsecond,
 * that the layout's encoder turns into this field.  NULL where the version is
 * not the layout's, or no encoder could have written the field.
 */
Datum
comb_timestamp_layout(PG_FUNCTION_ARGS)
{
	pg_uuid_t  *id = PG_GETARG_UUID_P(0);
	const CombLayout *layout = comb_layout_arg(fcinfo, 1);
	TimestampTz at;

	if (!comb_decode(layout, id->data, &at))
		PG_RETURN_NULL();
	PG_RETURN_TIMESTAMPTZ(at);
}

/*
 * comb_stamp(base uuid, at timestamptz) returns uuid
 *
 * "base" with the 48 bits of time, the version and the variant of a UUIDv7
 * (RFC 9562, 5.7), all other bits kept.  Microseconds below the millisecond
 * are cut off.  22008 for a time that 48 bits of milliseconds cannot hold.
 */
Datum
comb_stamp(PG_FUNCTION_ARGS)
{
	pg_uuid_t  *base = PG_GETARG_UUID_P(0);
	TimestampTz at = PG_GETARG_TIMESTAMPTZ(1);

	PG_RETURN_UUID_P(comb_stamped(comb_layout_default, base, at));
}

/*
 * comb_stamp(base uuid, at timestamptz, layout comb_layout) returns uuid
 *
 * The same for any layout, bit by bit what the original software's encoder
 * makes of this base and time: the time cut off to the layout's unit, version
 * and variant set where the layout has them.  Layouts that cannot be
 * generated can be stamped.  22008 for a time that the field cannot hold,
 * also where the original wraps around.
 */
Datum
comb_stamp_layout(PG_FUNCTION_ARGS)
{
	pg_uuid_t  *base = PG_GETARG_UUID_P(0);
	TimestampTz at = PG_GETARG_TIMESTAMPTZ(1);
	const CombLayout *layout = comb_layout_arg(fcinfo, 2);

	PG_RETURN_UUID_P(comb_stamped(layout, base, at));
}

/*
 * comb_min(at timestamptz) returns uuid
 *
 * The smallest UUIDv7 whose time is at or after "at", also for infinity and
 * for instants between two milliseconds.  After the last time that a UUIDv7
 * can hold it is ffffffff-ffff-ffff-ffff-ffffffffffff, which is larger than
 * every UUIDv7.  No input raises an error.
 */
Datum
comb_min(PG_FUNCTION_ARGS)
{
	pg_uuid_t  *id = (pg_uuid_t *) palloc(UUID_LEN);

	comb_lower_bound(comb_layout_default, id->data, PG_GETARG_TIMESTAMPTZ(0));
	PG_RETURN_UUID_P(id);
}

/*
 * comb_min(at timestamptz, layout comb_layout) returns uuid
 *
 * The same for any layout, in the order of the database that the layout is
 * for.  Beyond the layout's last time it is all ones; in layouts without a
 * version that is a key too, the last one of the last unit of time.  0A000
 * for layouts whose keys do not sort by time.
 */
Datum
comb_min_layout(PG_FUNCTION_ARGS)
{
	const CombLayout *layout = comb_layout_arg(fcinfo, 1);
	pg_uuid_t  *id;

	comb_check_sorts(layout);
	id = (pg_uuid_t *) palloc(UUID_LEN);
	comb_lower_bound(layout, id->data, PG_GETARG_TIMESTAMPTZ(0));
	PG_RETURN_UUID_P(id);
}

/*
 * comb_max(at timestamptz) returns uuid
 *
 * The largest UUIDv7 whose time is at or before "at"; before 1970 the nil
 * uuid, which is smaller than every UUIDv7.  No input raises an error.
 */
Datum
comb_max(PG_FUNCTION_ARGS)
{
	pg_uuid_t  *id = (pg_uuid_t *) palloc(UUID_LEN);

	comb_upper_bound(comb_layout_default, id->data, PG_GETARG_TIMESTAMPTZ(0));
	PG_RETURN_UUID_P(id);
}

/*
 * comb_max(at timestamptz, layout comb_layout) returns uuid
 *
 * The same for any layout; all zeros before the layout's first time, which in
 * layouts without a version is a key too.  0A000 as comb_min.
 */
Datum
comb_max_layout(PG_FUNCTION_ARGS)
{
	const CombLayout *layout = comb_layout_arg(fcinfo, 1);
	pg_uuid_t  *id;

	comb_check_sorts(layout);
	id = (pg_uuid_t *) palloc(UUID_LEN);
	comb_upper_bound(layout, id->data, PG_GETARG_TIMESTAMPTZ(0));
	PG_RETURN_UUID_P(id);
}

/*
 * comb_time_encoder(at timestamptz) returns uuid
 *
 * A partition bound for pg_partman: 48 bits of milliseconds, then zeros, the
 * version's place included, so that keys of the first millisecond stand above
 * it whatever their version.  An instant inside a millisecond gives the next
 * one, as a lower bound must.  22008 for a time that does not fit.
 */
Datum
comb_time_encoder(PG_FUNCTION_ARGS)
{
	const CombCodec *codec = comb_layout_default->codec;
	TimestampTz at = PG_GETARG_TIMESTAMPTZ(0);
	TimestampTz latest = codec->latest - (COMB_US_PER_MS - 1);
	pg_uuid_t  *id;

	/* not comb_check_time(): the last millisecond has no next one */
	if (at < codec->earliest || at > latest)
		ereport(ERROR,
				(errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
				 errmsg("timestamp out of range for a partition bound"),
				 errdetail("Bounds can be from %s to %s.",
						   comb_time_text(codec->earliest),
						   comb_time_text(latest))));
	at += COMB_US_PER_MS - 1;
	id = (pg_uuid_t *) palloc0(UUID_LEN);
	comb_encode(COMB_LAYOUT_BARE, id->data, at);
	PG_RETURN_UUID_P(id);
}

/*
 * comb_time_decoder(id uuid) returns timestamptz
 *
 * The first 48 bits read as milliseconds whatever the version, because a
 * partition bound has none.  No input raises an error.
 */
Datum
comb_time_decoder(PG_FUNCTION_ARGS)
{
	pg_uuid_t  *id = PG_GETARG_UUID_P(0);
	TimestampTz at = 0;

	(void) comb_decode(COMB_LAYOUT_BARE, id->data, &at);
	PG_RETURN_TIMESTAMPTZ(at);
}

/*
 * comb_time_decoder(id text) returns timestamptz
 *
 * The same for the text of a uuid, which is how pg_partman passes it; every
 * spelling that uuid's input takes, and its error, 22P02, for anything else.
 */
Datum
comb_time_decoder_text(PG_FUNCTION_ARGS)
{
	char	   *str = text_to_cstring(PG_GETARG_TEXT_PP(0));

	return DirectFunctionCall1(comb_time_decoder,
							   DirectFunctionCall1(uuid_in,
												   CStringGetDatum(str)));
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
	bool		same_unit = comb_same_unit(from, to);
	uint64		below_us;
	pg_uuid_t  *result;
	CombTail	tail = {{0}, 0};
	TimestampTz at;
	TimestampTz start;

	if (!comb_decode(source, id->data, &at))
		PG_RETURN_NULL();
	comb_check_time(target, at);

	/* in fields, and only where these are 100 ns there is any */
	below_us = comb_get_field(source, id->data) - from->encode(at);
	if (!same_unit && from->unit_us <= to->unit_us)
	{
		(void) to->decode(to->encode(at), &start);
		comb_tail_append(&tail,
						 comb_ticks_from_100ns((at - start) * COMB_100NS_PER_US +
											   below_us),
						 to->tick_bits);
	}

	result = (pg_uuid_t *) palloc0(UUID_LEN);
	comb_set_fixed_bits(target, result->data);
	if (same_unit && comb_moves_bytes(source, target))
		comb_move_bytes(target, result->data, source, id->data);
	else
	{
		comb_get_tail(source, id->data, &tail);
		comb_set_tail(target, result->data, &tail, same_unit);
	}
	comb_set_field(target, result->data,
				   to->encode(at) + (same_unit ? below_us : 0));
	PG_RETURN_UUID_P(result);
}

/*
 * How likely a random uuid is to have a time of the window in this layout.
 * Version and variant count where they are as new keys have them, demanded or
 * not.  Of the window only what the layout can hold counts, and a window of
 * one instant still is one field.
 */
static double
comb_chance(const CombLayout *layout, const pg_uuid_t *id,
			TimestampTz since, TimestampTz until)
{
	const CombCodec *codec = layout->codec;
	double		us = (double) Min(until, codec->latest) -
		(double) Max(since, codec->earliest);
	double		units = us * codec->fields_per_us / codec->unit_us + 1;
	int			bits = 0;
	int			pos;

	for (pos = 0; pos < layout->field_bytes; pos++)
		bits += comb_room(layout, layout->order[pos]);
	if (comb_has_fixed_bits(layout, id->data))
	{
		for (pos = 0; pos < COMB_ID_LEN; pos++)
			bits += 8 - comb_room(layout, pos);
	}
	return ldexp(units, -bits);
}

typedef struct CombCandidate
{
	const CombLayout *layout;
	TimestampTz created;
	double		chance;
} CombCandidate;

typedef struct CombCandidates
{
	int			n;
	CombCandidate found[COMB_NLAYOUTS];
} CombCandidates;

/* The layouts in whose window the value lies, the least likely first */
static void
comb_find_candidates(CombCandidates *list, const pg_uuid_t *id,
					 TimestampTz since, TimestampTz until)
{
	CombCandidate new;
	int			row;
	int			i;

	for (row = 0; row < COMB_NLAYOUTS; row++)
	{
		new.layout = &comb_layout_table[row];
		if (!comb_decode(new.layout, id->data, &new.created) ||
			new.created < since || new.created > until)
			continue;
		new.chance = comb_chance(new.layout, id, since, until);
		for (i = list->n++; i > 0 && list->found[i - 1].chance > new.chance; i--)
			list->found[i] = list->found[i - 1];
		list->found[i] = new;
	}
}

static void
comb_srf_init(FunctionCallInfo fcinfo, FuncCallContext *context)
{
	TupleDesc	desc;

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	context->tuple_desc = BlessTupleDesc(desc);
}

/*
 * comb_inspect(id uuid, since timestamptz, until timestamptz)
 *		returns setof (layout comb_layout, created timestamptz)
 *
 * The layouts that could have made this value between two instants, both
 * included, with the time that each would give.  It is a set because one
 * value cannot tell: layouts share fields, and in most of them random bits
 * pass for a time now and then.  Most specific first: in the order of how
 * unlikely a random uuid is to look like this.
 */
Datum
comb_inspect(PG_FUNCTION_ARGS)
{
	FuncCallContext *context;
	CombCandidates *list;
	CombCandidate *next;
	Datum		values[2];
	bool		nulls[2] = {false, false};

	if (SRF_IS_FIRSTCALL())
	{
		MemoryContext old;

		context = SRF_FIRSTCALL_INIT();
		old = MemoryContextSwitchTo(context->multi_call_memory_ctx);
		comb_srf_init(fcinfo, context);
		list = (CombCandidates *) palloc0(sizeof(CombCandidates));
		comb_find_candidates(list, PG_GETARG_UUID_P(0),
							 PG_GETARG_TIMESTAMPTZ(1),
							 PG_GETARG_TIMESTAMPTZ(2));
		context->user_fctx = list;
		MemoryContextSwitchTo(old);
	}

	context = SRF_PERCALL_SETUP();
	list = (CombCandidates *) context->user_fctx;
	if ((int) context->call_cntr >= list->n)
		SRF_RETURN_DONE(context);

	next = &list->found[context->call_cntr];
	values[0] = CStringGetTextDatum(next->layout->label);
	values[1] = TimestampTzGetDatum(next->created);
	SRF_RETURN_NEXT(context,
					HeapTupleGetDatum(heap_form_tuple(context->tuple_desc,
													  values, nulls)));
}

/*
 * comb_layouts() returns setof record
 *
 * The layout table for people.  "earliest" and "latest" are the first and the
 * last instant that the time field can say.
 */
Datum
comb_layouts(PG_FUNCTION_ARGS)
{
	FuncCallContext *context;
	const CombLayout *layout;
	const char *sorts_in;
	Datum		values[7];
	bool		nulls[7] = {false, false, false, false, false, false, false};

	if (SRF_IS_FIRSTCALL())
	{
		MemoryContext old;

		context = SRF_FIRSTCALL_INIT();
		old = MemoryContextSwitchTo(context->multi_call_memory_ctx);
		comb_srf_init(fcinfo, context);
		MemoryContextSwitchTo(old);
	}

	context = SRF_PERCALL_SETUP();
	if ((int) context->call_cntr >= COMB_NLAYOUTS)
		SRF_RETURN_DONE(context);

	layout = &comb_layout_table[context->call_cntr];
	sorts_in = comb_sorts_in_text[layout->sorts_in];
	values[0] = CStringGetTextDatum(layout->label);
	values[1] = CStringGetTextDatum(layout->description);
	values[2] = BoolGetDatum(layout->generates);
	nulls[3] = (sorts_in == NULL);
	values[3] = nulls[3] ? (Datum) 0 : CStringGetTextDatum(sorts_in);
	values[4] = CStringGetTextDatum(layout->codec->unit);
	values[5] = TimestampTzGetDatum(layout->codec->earliest);
	values[6] = TimestampTzGetDatum(layout->codec->latest);
	SRF_RETURN_NEXT(context,
					HeapTupleGetDatum(heap_form_tuple(context->tuple_desc,
													  values, nulls)));
}
