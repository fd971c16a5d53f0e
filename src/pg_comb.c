/*-------------------------------------------------------------------------
 *
 * pg_comb.c
 *	  Module magic, the settings of keys without state, and the callbacks.
 *
 * Copyright (c) 2026, pg_comb developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>

#include "utils/guc.h"

#include "planner/comb_call.h"
#include "ordered/comb_order.h"

COMB_MODULE_MAGIC;

int			comb_max_drift = 10000;
bool		comb_enable_time_conditions = true;

void		_PG_init(void);

static comb_relation_hook_type prev_relation_hook;

/* Look at a relation that the planner begins to plan */
static void
comb_relation(COMB_RELATION_HOOK_ARGS)
{
	const RangeTblEntry *entry = root->simple_rte_array[rel->relid];

	if (prev_relation_hook)
		prev_relation_hook(COMB_RELATION_HOOK_PASS);
	if (entry->rtekind == RTE_RELATION)
	{
		comb_plan_table(entry->relid);
		comb_warn_table(root, rel);
	}
	comb_add_ranges(root, rel);
}

/*
 * A preloaded module runs this function in the postmaster.  A process that
 * will fork must neither make keys nor draw random bytes.
 */
void
_PG_init(void)
{
	DefineCustomIntVariable("pg_comb.max_drift",
							"Sets how far keys of comb_generate() may be ahead of the clock.",
							"Beyond it, the process warns, and its keys follow the clock again.",
							&comb_max_drift, 10000, 1, INT_MAX,
							PGC_SIGHUP, GUC_UNIT_MS, NULL, NULL, NULL);

	DefineCustomBoolVariable("pg_comb.enable_time_conditions",
							 "Enables the planner's use of ranges of keys for conditions on their times.",
							 NULL,
							 &comb_enable_time_conditions, true,
							 PGC_USERSET, GUC_EXPLAIN, NULL, NULL, NULL);

	comb_shared_settings();

	MarkGUCPrefixReserved("pg_comb");

	RegisterXactCallback(comb_xact_callback, NULL);
	comb_changed_hook = comb_plan_changed;

	prev_relation_hook = comb_relation_hook;
	comb_relation_hook = comb_relation;
}
