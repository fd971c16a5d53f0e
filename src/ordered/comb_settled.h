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

#include "comb.h"
#include "comb_shared.h"

/* No time is known to be settled */
#define COMB_UNKNOWN		UINT64CONST(0)

extern uint64 comb_settled_bound(CombSeries series);

#endif							/* COMB_SETTLED_H */
