/*-------------------------------------------------------------------------
 *
 * comb_plan.h
 *	  Bounds that are no younger than the plan of the query that asks.
 *
 * Copyright (c) 2026, pg_comb developers
 *
 * IDENTIFICATION
 *	  src/ordered/comb_plan.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef COMB_PLAN_H
#define COMB_PLAN_H

#include "nodes/pathnodes.h"
#include "utils/snapshot.h"

#include "comb_shared.h"

/* No time is known to be settled */
#define COMB_UNKNOWN		UINT64CONST(0)

extern void comb_plan_changed(Datum arg, Oid relid);
extern void comb_plan_listen(void);
extern bool comb_plan_started(CombSeries series);
extern bool comb_plan_can_start(CombSeries series, const PlannerInfo *root);
extern void comb_plan_start(CombSeries series, uint64 bound,
							const PlannerInfo *root);
extern void comb_plan_start_late(CombSeries series, uint64 bound);
extern bool comb_plan_bound(CombSeries series, uint64 *bound);
extern void comb_plan_table(Oid relid);
extern bool comb_plan_hides(Snapshot snapshot);

#endif							/* COMB_PLAN_H */
