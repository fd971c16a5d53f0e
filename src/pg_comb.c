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

#include "comb.h"
#include "ordered/comb_announce.h"
#include "ordered/comb_plan.h"
#include "ordered/comb_sequence.h"

COMB_MODULE_MAGIC;

int			comb_max_drift = 10000;

void		_PG_init(void);

static shmem_request_hook_type prev_shmem_request_hook;

/* Reserve what a server may need, so that no session finds too little */
static void
comb_shmem_request(void)
{
	if (prev_shmem_request_hook)
		prev_shmem_request_hook();
	RequestAddinShmemSpace(add_size(CACHELINEALIGN(sizeof(CombShared)),
									CACHELINEALIGN(comb_seats_size())));
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

	comb_shared_settings();

	MarkGUCPrefixReserved("pg_comb");

	RegisterXactCallback(comb_at_end, NULL);

	CacheRegisterRelcacheCallback(comb_sequence_forget, (Datum) 0);
	CacheRegisterRelcacheCallback(comb_plan_changed, (Datum) 0);

	if (process_shared_preload_libraries_in_progress)
	{
		comb_preloaded = true;
		prev_shmem_request_hook = shmem_request_hook;
		shmem_request_hook = comb_shmem_request;
	}
}
