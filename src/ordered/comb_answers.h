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

extern bool comb_answer_find(CombSeries series, Snapshot snapshot,
							 uint64 *bound);
extern void comb_answer_keep(CombSeries series, Snapshot snapshot,
							 uint64 bound);

#endif							/* COMB_ANSWERS_H */
