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

#include "utils/guc.h"

#include "comb.h"

COMB_MODULE_MAGIC;

int			comb_max_drift = 10000;

void		_PG_init(void);

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

	MarkGUCPrefixReserved("pg_comb");
}
