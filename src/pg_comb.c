/*-------------------------------------------------------------------------
 *
 * pg_comb.c
 *	  Module magic, the setting of comb_generate(), and the shared memory of a
 *	  preloaded module.
 *
 * Copyright (c) 2026, pg_comb developers
 *
 * IDENTIFICATION
 *	  src/pg_comb.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>

#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/shmem.h"
#include "utils/guc.h"
#include "utils/inval.h"

#include "comb_period.h"
#include "ordered/comb_announce.h"
#include "ordered/comb_plan.h"
#include "ordered/comb_sequence.h"

COMB_MODULE_MAGIC;

int			comb_max_drift = 10000;
bool		comb_enable_time_conditions = true;

void		_PG_init(void);

static shmem_request_hook_type prev_shmem_request_hook;
static comb_relation_hook_type prev_relation_hook;

/* Reserve what a server may need, so that no session finds too little */
static void
comb_shmem_request(void)
{
	if (prev_shmem_request_hook)
		prev_shmem_request_hook();
	RequestAddinShmemSpace(comb_shared_size());
}

/* Look at a relation that the planner begins to plan */
static void
comb_relation(COMB_RELATION_HOOK_ARGS)
{
	if (prev_relation_hook)
		prev_relation_hook(COMB_RELATION_HOOK_PASS);
	comb_add_ranges(root, rel);
}

/*
 * Define the settings, register the callbacks, and reserve shared memory if
 * the module is preloaded.
 *
 * A preloaded module runs this function in the postmaster.  A process that
 * will fork must neither make keys nor draw random bytes.
 */
void
_PG_init(void)
{
	DefineCustomIntVariable("pg_comb.max_drift",
							"Sets how far keys of comb_generate() may be ahead of the clock.",
							"Beyond it, the process warns, and its keys follow the clock again.",
							&comb_max_drift,
							10000,
							1,
							INT_MAX,
							PGC_SIGHUP,
							GUC_UNIT_MS,
							NULL,
							NULL,
							NULL);

	DefineCustomBoolVariable("pg_comb.enable_time_conditions",
							 "Enables the planner's use of ranges of keys for conditions on their times.",
							 NULL,
							 &comb_enable_time_conditions,
							 true,
							 PGC_USERSET,
							 GUC_EXPLAIN,
							 NULL,
							 NULL,
							 NULL);

	comb_shared_settings();

	MarkGUCPrefixReserved("pg_comb");

	RegisterXactCallback(comb_xact_callback, NULL);

	CacheRegisterRelcacheCallback(comb_sequence_forget, (Datum) 0);
	CacheRegisterRelcacheCallback(comb_plan_changed, (Datum) 0);

	comb_call_init();
	prev_relation_hook = comb_relation_hook;
	comb_relation_hook = comb_relation;

	if (process_shared_preload_libraries_in_progress)
	{
		comb_preloaded = true;
		prev_shmem_request_hook = shmem_request_hook;
		shmem_request_hook = comb_shmem_request;
	}
}
