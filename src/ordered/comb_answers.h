/*-------------------------------------------------------------------------
 *
 * comb_answers.h
 *	  The bounds that queries of a transaction got.
 *
 * Copyright (c) 2026, pg_comb developers
 *
 * IDENTIFICATION
 *	  src/ordered/comb_answers.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef COMB_ANSWERS_H
#define COMB_ANSWERS_H

#include "utils/snapshot.h"

#include "comb_shared.h"

/* Times from "from" on and below "to" */
typedef struct CombSpan
{
	uint64		from;
	uint64		to;
} CombSpan;

/*
 * What a query gets.  All times below "bound" are settled.  All keys that the
 * snapshot sees, and none that will ever be made later, have times below "end".
 * "end" is 0 if only "bound" can be relied on.  Otherwise all times in the gap are
 * settled, too: the longest one between the times of transactions that the
 * snapshot does not see, or an empty one.
 */
typedef struct CombSettled
{
	uint64		bound;
	uint64		end;
	CombSpan	gap;
} CombSettled;

extern bool comb_answer_find(CombSeries series, Snapshot snapshot,
							 CombSettled *settled);
extern void comb_answer_keep(CombSeries series, Snapshot snapshot,
							 const CombSettled *settled);

#endif							/* COMB_ANSWERS_H */
