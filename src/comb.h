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
#define COMB_LEASE_MAX_MS	60000

extern int	comb_max_drift;		/* pg_comb.max_drift, in ms */
extern int	comb_max_ordered_drift; /* pg_comb.max_ordered_drift, in s */
extern int	comb_lease_ms;		/* pg_comb.lease, up to COMB_LEASE_MAX_MS */
extern int	comb_instance;		/* pg_comb.snowflake_instance */

/* comb_layout.c */
extern const CombLayout *const comb_layout_default;

extern const CombLayout *comb_layout_find(const text *label);
extern const CombLayout *comb_layout_arg_or_null(FunctionCallInfo fcinfo,
												 int argno);
extern const CombLayout *comb_layout_arg(FunctionCallInfo fcinfo, int argno);
extern char *comb_time_text(TimestampTz at);
extern void comb_check_time(const CombLayout *layout, TimestampTz at);
extern void comb_check_sorts(const CombLayout *layout);

/* comb_generate.c */
extern uint64 comb_clock_ticks(void);
extern uint64 comb_random_bits(void);

/* comb_shared.c */
#define COMB_STATUS_COLUMNS		6

extern void comb_shared_preload(void);
extern void comb_shared_status(int64 now, Datum *values, bool *nulls);

#endif							/* COMB_H */
