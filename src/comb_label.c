/*-------------------------------------------------------------------------
 *
 * comb_label.c
 *	  Looking up the labels of layouts, and errors about layouts.
 *
 * Copyright (c) 2026, pg_comb developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "mb/pg_wchar.h"
#include "nodes/primnodes.h"
#include "utils/datetime.h"
#include "utils/formatting.h"
#include "utils/varlena.h"

#include "comb.h"

static inline bool
comb_label_is(const CombLayout *layout, const text *label)
{
	size_t		length = VARSIZE_ANY_EXHDR(label);

	return strlen(layout->label) == length &&
		memcmp(layout->label, VARDATA_ANY(label), length) == 0;
}

/* Return the layout that has the label, or NULL */
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

/*
 * Is this argument of the call a constant in the query?
 *
 * get_fn_expr_arg_stable() would not do, because it is true for parameters.
 * PL/pgSQL keeps a call site while it evaluates the expression again with
 * other values.
 */
static bool
comb_arg_is_const(const FmgrInfo *flinfo, int argno)
{
	const Node *call = flinfo->fn_expr;
	const List *args = NIL;

	if (call != NULL && IsA(call, FuncExpr))
		args = ((const FuncExpr *) call)->args;
	else if (call != NULL && IsA(call, OpExpr))
		args = ((const OpExpr *) call)->args;
	return argno < list_length(args) && IsA(list_nth(args, argno), Const);
}

/*
 * Clip a user's text to the length of a name, for a message.  The user could
 * pass a gigabyte.
 *
 * With a divided character the client would get 22021 instead of the message.
 * In a database with SQL_ASCII the characters are those of the client's
 * encoding, which a parallel worker does not have.
 */
char *
comb_clipped(const text *source)
{
	const char *str = VARDATA_ANY(source);
	int			size = VARSIZE_ANY_EXHDR(source);
	int			shown = size;
	int			encoding = GetDatabaseEncoding();

	if (encoding == PG_SQL_ASCII)
		encoding = pg_get_client_encoding();
	if (size >= NAMEDATALEN)
		shown = pg_encoding_mbcliplen(encoding, str, size, NAMEDATALEN - 1);
	return psprintf("%.*s%s", shown, str, shown < size ? "..." : "");
}

/*
 * Raise 22023 for a label that no layout has.  The hint names the layout with the
 * nearest label, if at most four characters differ, and half of the user's.  Upper
 * and lower case are the same there.
 */
static void
comb_layout_error(const text *label)
{
	const char *clipped = comb_clipped(label);
	int			length = strlen(clipped);
	const char *lower = asc_tolower(clipped, length);
	int			max = Min(4, length / 2);
	const char *closest = NULL;
	int			i;

	for (i = 0; i < COMB_NLAYOUTS; i++)
	{
		const char *other = comb_layout_table[i].label;
		int			distance =
			varstr_levenshtein_less_equal(lower, length, other, strlen(other),
										  1, 1, 1, max, true);

		if (distance <= max)
		{
			closest = other;
			max = distance - 1;
		}
	}

	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("unrecognized layout: \"%s\"", clipped),
			 closest != NULL ?
			 errhint("Perhaps you meant the layout \"%s\".  comb_layouts() lists the layouts.", closest) :
			 errhint("comb_layouts() lists the layouts.")));
}

/*
 * Look up the label in an argument, and remember the layout with the call site.
 * A label that is not constant, such as a column, can differ in every row, but
 * most rows repeat the label of the row before.
 */
const CombLayout *
comb_layout_arg_lookup(FunctionCallInfo fcinfo, int argno, bool missing_ok)
{
	CombCachedLabel *cache = (CombCachedLabel *) fcinfo->flinfo->fn_extra;
	text	   *label = PG_GETARG_TEXT_PP(argno);
	const CombLayout *layout;

	if (cache == NULL)
	{
		cache = (CombCachedLabel *)
			MemoryContextAllocZero(fcinfo->flinfo->fn_mcxt,
								   PG_NARGS() * sizeof(CombCachedLabel));
		fcinfo->flinfo->fn_extra = cache;
	}

	layout = cache[argno].layout;
	if (layout == NULL || !comb_label_is(layout, label))
	{
		layout = comb_layout_find(label);
		cache[argno].layout = layout;
		cache[argno].constant = (layout != NULL &&
								 comb_arg_is_const(fcinfo->flinfo, argno));
	}
	if (layout == NULL && !missing_ok)
		comb_layout_error(label);
	return layout;
}

/*
 * Return the text of an instant, for messages.  It is in UTC whatever the
 * session's settings are, so that messages can be compared.
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
	tm.tm_isdst = 0;			/* -1 would leave the zone out */
	EncodeDateTime(&tm, fsec, true, 0, NULL, USE_ISO_DATES, buf);
	return pstrdup(buf);
}

/* Raise 22008 for a time that the layout cannot hold, such as an infinity */
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

/* Raise 0A000 if no range of the layout's values is a range of time */
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
