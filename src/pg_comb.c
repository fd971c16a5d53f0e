/*-------------------------------------------------------------------------
 *
 * pg_comb.c
 *	  Module identity and settings.
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
#include "utils/guc.h"

#include "comb.h"
#include "comb_shared.h"

COMB_MODULE_MAGIC;

int			comb_max_drift = 10000;
int			comb_max_ordered_drift = 86400;
int			comb_lease_ms = 1000;
int			comb_instance = -1;

void		_PG_init(void);

/*
 * Settings of what all sessions share.  None can be set by a session: the
 * promises are the server's.  A session that gives one in its connection
 * options is refused if the module is preloaded.  If not, the value is dropped
 * when the module comes, and that of postgresql.conf with it, which the
 * session has overwritten: the default holds for it.
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

/*
 * Only settings: no key may be made, nor randomness drawn, in a process that
 * will fork, and this runs in the postmaster when the module is preloaded.
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
		comb_shared_preload();
}
