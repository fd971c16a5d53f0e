/*-------------------------------------------------------------------------
 *
 * comb_inspect.c
 *	  comb_layouts() and comb_inspect(): all layouts, and those that could
 *	  have made a value.
 *
 * Copyright (c) 2026, pg_comb developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>				/* for ldexp() */

#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/tuplestore.h"

#include "comb.h"

PG_FUNCTION_INFO_V1(comb_inspect);
PG_FUNCTION_INFO_V1(comb_layouts);

static const char *const comb_sorts_in_text[] = {
	[COMB_SORTS_NOWHERE] = NULL,
	[COMB_SORTS_PLAIN] = "PostgreSQL",
	[COMB_SORTS_DOTNET] = "raw .NET bytes",
	[COMB_SORTS_MSSQL] = "SQL Server"
};

/*
 * Return the probability that a random uuid, read in this layout, has a time
 * in the window.  The version and variant of new keys count if the value has
 * them, even if the layout does not require them.  Only the part of the
 * window that the layout can hold counts.  Even a window of one instant has
 * one field.
 */
static double
comb_chance(const CombLayout *layout, const pg_uuid_t *id,
			TimestampTz since, TimestampTz until)
{
	const CombCodec *codec = layout->codec;
	double		us = (double) Min(until, codec->latest) -
		(double) Max(since, codec->earliest);
	double		units = us * codec->unit->per / codec->unit->us + 1;
	int			bits = 0;
	int			pos;

	for (pos = 0; pos < layout->field_bytes; pos++)
		bits += comb_free_bits(layout, layout->order[pos]);
	if (comb_has_fixed_bits(layout, id->data))
	{
		for (pos = 0; pos < UUID_LEN; pos++)
			bits += 8 - comb_free_bits(layout, pos);
	}
	return ldexp(units, -bits);
}

typedef struct CombCandidate
{
	const CombLayout *layout;
	TimestampTz created;
	double		chance;
} CombCandidate;

/*
 * comb_inspect(id uuid, since timestamptz, until timestamptz)
 *		returns setof (layout text, created timestamptz): the layouts that could
 * have made this value from "since" to "until", both inclusive, and its time in
 * each.  Layouts share fields, and random bits can look like a time.  The layout
 * that a random uuid is least likely to match comes first.  Raises no error.
 */
Datum
comb_inspect(PG_FUNCTION_ARGS)
{
	pg_uuid_t  *id = PG_GETARG_UUID_P(0);
	TimestampTz since = PG_GETARG_TIMESTAMPTZ(1);
	TimestampTz until = PG_GETARG_TIMESTAMPTZ(2);
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	CombCandidate list[COMB_NLAYOUTS];
	CombCandidate new;
	int			n = 0;
	int			i;

	for (new.layout = comb_layout_table;
		 new.layout < comb_layout_table + COMB_NLAYOUTS; new.layout++)
	{
		if (!comb_decode(new.layout, id->data, &new.created) ||
			new.created < since || new.created > until)
			continue;
		new.chance = comb_chance(new.layout, id, since, until);
		for (i = n++; i > 0 && list[i - 1].chance > new.chance; i--)
			list[i] = list[i - 1];
		list[i] = new;
	}

	InitMaterializedSRF(fcinfo, 0);
	for (i = 0; i < n; i++)
	{
		Datum		values[2];
		bool		nulls[2] = {false};

		values[0] = CStringGetTextDatum(list[i].layout->label);
		values[1] = TimestampTzGetDatum(list[i].created);
		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	}
	return (Datum) 0;
}

/*
 * comb_layouts() returns setof record: a row for each layout.  "earliest" and
 * "latest" are the first and the last instant that the time field can hold.
 * "sorts_in" is NULL if no database sorts the keys by time.
 */
Datum
comb_layouts(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	const CombLayout *layout;

	InitMaterializedSRF(fcinfo, 0);
	for (layout = comb_layout_table;
		 layout < comb_layout_table + COMB_NLAYOUTS; layout++)
	{
		const char *sorts_in = comb_sorts_in_text[layout->sorts_in];
		Datum		values[7];
		bool		nulls[7] = {false};

		values[0] = CStringGetTextDatum(layout->label);
		values[1] = CStringGetTextDatum(layout->description);
		values[2] = BoolGetDatum(layout->generates);
		nulls[3] = (sorts_in == NULL);
		values[3] = nulls[3] ? (Datum) 0 : CStringGetTextDatum(sorts_in);
		values[4] = CStringGetTextDatum(layout->codec->unit->name);
		values[5] = TimestampTzGetDatum(layout->codec->earliest);
		values[6] = TimestampTzGetDatum(layout->codec->latest);
		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	}
	return (Datum) 0;
}
