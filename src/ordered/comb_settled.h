/*-------------------------------------------------------------------------
 *
 * comb_settled.h
 *	  Up to which time the keys of a series are settled.
 *
 * Copyright (c) 2026, pg_comb developers
 *
 * IDENTIFICATION
 *	  src/ordered/comb_settled.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef COMB_SETTLED_H
#define COMB_SETTLED_H

#include "utils/snapshot.h"
#include "utils/uuid.h"

#include "comb.h"
#include "comb_answers.h"
#include "comb_plan.h"
#include "comb_shared.h"

extern Snapshot comb_settled_snapshot(void);
extern void comb_settled_find(CombSeries series, CombSettled *settled);
extern pg_uuid_t *comb_settled_key(uint64 time);

#endif							/* COMB_SETTLED_H */
