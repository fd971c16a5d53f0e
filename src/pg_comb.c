/*-------------------------------------------------------------------------
 *
 * pg_comb.c
 *	  Module magic, settings, and the shared memory of a preloaded module.
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

#include "comb.h"
#include "ordered/comb_announce.h"

COMB_MODULE_MAGIC;

int			comb_max_drift = 10000;
int			comb_max_ordered_drift = 86400;
int			comb_lease_ms = 1000;
int			comb_instance = -1;

void		_PG_init(void);

/*
 * Define the settings of what all sessions share.
 *
 * No session can change these settings, because the promises are the
 * server's.  If the module is preloaded, PostgreSQL refuses a session that
 * gives a value in its connection options.  If not, PostgreSQL drops the
 * session's value when the session loads the module.  The session's value has
 * already replaced the value of postgresql.conf, so the session then uses the
 * default.
 */
static void
comb_define_shared_settings(void)
{
	DefineCustomIntVariable("pg_comb.max_ordered_drift",
							"How far ordered keys and Snowflakes may run ahead of the clock.",
							"Beyond it, making them fails.",
							&comb_max_ordered_drift,
							86400,
							1,
							INT_MAX,
							PGC_SIGHUP,
							GUC_UNIT_S,
							NULL,
							NULL,
							NULL);

	DefineCustomIntVariable("pg_comb.lease",
							"Period for which a time limit of ordered keys and Snowflakes is written ahead.",
							"After a crash, keys start up to this far ahead of the last one.",
							&comb_lease_ms,
							1000,
							100,
							COMB_LEASE_MAX_MS,
							PGC_SIGHUP,
							GUC_UNIT_MS,
							NULL,
							NULL,
							NULL);

	DefineCustomIntVariable("pg_comb.snowflake_instance",
							"Instance number of this server in its Snowflakes.",
							"-1 means that none is set, and no Snowflakes can be made.",
							&comb_instance,
							-1,
							-1,
							INT_MAX,
							PGC_SIGHUP,
							0,
							NULL,
							NULL,
							NULL);
}

static shmem_request_hook_type comb_next_shmem_request;

/* Reserve what a server may need, so that no session finds too little */
static void
comb_shmem_request(void)
{
	if (comb_next_shmem_request)
		comb_next_shmem_request();
	RequestAddinShmemSpace(add_size(CACHELINEALIGN(sizeof(CombShared)),
									CACHELINEALIGN(comb_seats_size())));
}

/*
 * Define the settings, and reserve shared memory if the module is preloaded.
 *
 * A preloaded module runs this function in the postmaster.  A process that
 * will fork must neither make keys nor draw random bytes.
 */
void
_PG_init(void)
{
	DefineCustomIntVariable("pg_comb.max_drift",
							"How far a process's keys may run ahead of the clock.",
							"Beyond it, comb_generate() follows the clock again.",
							&comb_max_drift,
							10000,
							1,
							INT_MAX,
							PGC_SIGHUP,
							GUC_UNIT_MS,
							NULL,
							NULL,
							NULL);

	comb_define_shared_settings();

	MarkGUCPrefixReserved("pg_comb");

	if (process_shared_preload_libraries_in_progress)
	{
		comb_preloaded = true;
		comb_next_shmem_request = shmem_request_hook;
		shmem_request_hook = comb_shmem_request;
	}
}
