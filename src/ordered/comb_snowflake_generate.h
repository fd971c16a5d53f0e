/*-------------------------------------------------------------------------
 *
 * comb_snowflake_generate.h
 *	  Snowflakes as bounds.
 *
 * Copyright (c) 2026, pg_comb developers
 *
 * IDENTIFICATION
 *	  src/ordered/comb_snowflake_generate.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef COMB_SNOWFLAKE_GENERATE_H
#define COMB_SNOWFLAKE_GENERATE_H

#include "fmgr.h"

#include "comb_clock.h"

extern int64 comb_snowflake_key(FunctionCallInfo fcinfo, int first,
								CombTime time);

#endif							/* COMB_SNOWFLAKE_GENERATE_H */
