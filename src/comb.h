/*-------------------------------------------------------------------------
 *
 * comb.h
 *	  What the files of pg_comb share.  README.md beside this file lists what
 *	  each file is for, and explains the terms.
 *
 * Copyright (c) 2026, pg_comb developers
 *
 *-------------------------------------------------------------------------
 */
#ifndef COMB_H
#define COMB_H

#include "fmgr.h"
#include "utils/timestamp.h"
#include "utils/uuid.h"

#include "comb_compat.h"
#include "comb_layout.h"

/* Version of the distribution; the extension's has the first two parts */
#define COMB_VERSION	"1.2.0"

/* pg_comb.c */
extern int	comb_max_drift;		/* pg_comb.max_drift, in ms */
extern bool comb_enable_time_conditions;

/* comb_label.c */
extern const CombLayout *comb_layout_find(const text *label);
extern const CombLayout *comb_layout_arg_lookup(FunctionCallInfo fcinfo,
												int argno, bool missing_ok);
extern char *comb_clipped(const text *source);
extern char *comb_time_text(TimestampTz at);
extern void comb_check_time(const CombLayout *layout, TimestampTz at);
extern void comb_check_sorts(const CombLayout *layout);

/*
 * The layout of a label, cached by the call site.  fn_extra is an array of
 * these, by argument.
 */
typedef struct CombCachedLabel
{
	const CombLayout *layout;
	bool		constant;		/* the label cannot change */
} CombCachedLabel;

/*
 * The layout that a function was called with.  A constant label is looked up
 * once per query.  NULL for an unknown label if "missing_ok", else 22023.
 */
static inline const CombLayout *
comb_layout_arg_extended(FunctionCallInfo fcinfo, int argno, bool missing_ok)
{
	const CombCachedLabel *cache = (CombCachedLabel *) fcinfo->flinfo->fn_extra;

	if (likely(cache != NULL && cache[argno].constant))
		return cache[argno].layout;
	return comb_layout_arg_lookup(fcinfo, argno, missing_ok);
}

static inline const CombLayout *
comb_layout_arg(FunctionCallInfo fcinfo, int argno)
{
	return comb_layout_arg_extended(fcinfo, argno, false);
}

/* The same for functions that SQL can also call without the layout */
static inline const CombLayout *
comb_layout_arg_or_default(FunctionCallInfo fcinfo, int argno)
{
	return PG_NARGS() > argno ? comb_layout_arg(fcinfo, argno) :
		comb_layout_default;
}

#endif							/* COMB_H */
