/*-------------------------------------------------------------------------
 *
 * comb.h
 *	  What the files of pg_comb share, grouped by file.
 *
 * Copyright (c) 2026, pg_comb developers
 *
 * IDENTIFICATION
 *	  src/comb.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef COMB_H
#define COMB_H

#include "datatype/timestamp.h"
#include "fmgr.h"
#include "utils/uuid.h"

#include "comb_compat.h"
#include "comb_layout.h"

/* Version of the distribution; the extension's has the first two parts */
#define COMB_VERSION	"1.0.0"

/* pg_comb.c */
extern int	comb_max_drift;		/* pg_comb.max_drift, in ms */

/* comb_layout.c */
extern const CombLayout *const comb_layout_default;

extern const CombLayout *comb_layout_of_label(Oid label);
extern const CombLayout *comb_layout_arg(FunctionCallInfo fcinfo, int argno);
extern char *comb_time_text(TimestampTz at);
extern void comb_check_time(const CombLayout *layout, TimestampTz at);
extern void comb_check_sorts(const CombLayout *layout);

#endif							/* COMB_H */
