/*-------------------------------------------------------------------------
 *
 * comb_shared.c
 *	  Shared memory: attaching to it, and choosing its incarnation.  The settings
 *	  of what all sessions share.
 *
 * The counters need little more than a kilobyte.  That is little enough to be
 * allocated when the first session asks, so the module need not be preloaded.
 * If it is preloaded, the server reserves the memory at its start, and no
 * session can find that there is none left.
 *
 * Copyright (c) 2026, pg_comb developers
 *
 * IDENTIFICATION
 *	  src/ordered/comb_shared.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>

#include "storage/lwlock.h"
#include "storage/shmem.h"
#include "utils/guc.h"

#include "comb_compat.h"
#include "comb_shared.h"

/*
 * The name must change when the layout of CombShared changes.  After an update
 * of the module, a running server still has the old module's segment.  If the
 * new module asked for another size under the same name, every new session
 * would fail.
 */
#define COMB_SEGMENT_NAME	"pg_comb 6"

int			comb_max_ordered_drift = 86400;
int			comb_lease_ms = 1000;
int			comb_instance = -1;

bool		comb_preloaded = false;
CombShared *comb_shared = NULL;

/* Called once for a segment, by the first session that attaches */
static void
comb_shared_init(void *segment)
{
	CombShared *shared = (CombShared *) segment;
	int			series;

	pg_atomic_init_u64(&shared->incarnation, COMB_INCARNATION_NONE);
	for (series = 0; series < COMB_SERIES; series++)
		pg_atomic_init_u64(&shared->last[series].value, 0);
	pg_atomic_init_u32(&shared->seats, 0);
}

/*
 * Return a part of the main segment by name.  The first session that asks for
 * it initializes it.  "init" must not fail.
 */
void *
comb_main_segment(const char *name, Size size, comb_segment_init init)
{
	void	   *segment;
	bool		found;

	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	segment = ShmemInitStruct(name, size, &found);
	if (!found)
		init(segment);
	LWLockRelease(AddinShmemInitLock);
	return segment;
}

static CombShared *
comb_shared_segment(void)
{
#ifdef COMB_HAVE_SEGMENT_REGISTRY
	if (!comb_preloaded)
		return (CombShared *) comb_registry_segment(COMB_SEGMENT_NAME,
													sizeof(CombShared),
													comb_shared_init);
#endif
	return (CombShared *) comb_main_segment(COMB_SEGMENT_NAME,
											sizeof(CombShared),
											comb_shared_init);
}

/*
 * Return a new random incarnation.  The sequences show it as log_cnt, where a
 * negative number would look like damage.  One high bit is always set, so that
 * nothing else writes the same number: setval() writes 0, and nextval() at
 * most 32.
 */
static uint64
comb_incarnation_new(void)
{
	return ((comb_random() >> 1) & ~(uint64) COMB_RESET_MARK) |
		(UINT64CONST(1) << 61);
}

/*
 * Attach this process, and choose an incarnation if there is none.
 * comb_shared_init() cannot do that, because drawing random bytes may fail.
 */
void
comb_shared_attach(void)
{
	CombShared *shared = comb_shared;

	if (shared == NULL)
	{
		uint64		none = COMB_INCARNATION_NONE;

		shared = comb_shared_segment();
		if (pg_atomic_read_u64(&shared->incarnation) == none)
			(void) pg_atomic_compare_exchange_u64(&shared->incarnation, &none,
												  comb_incarnation_new());
		comb_shared = shared;
	}
}

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
void
comb_shared_settings(void)
{
	DefineCustomIntVariable("pg_comb.max_ordered_drift",
							"Sets how far ordered keys and Snowflakes may be ahead of the clock.",
							"Beyond it, comb_generate_ordered() and comb_snowflake() fail.",
							&comb_max_ordered_drift,
							86400,
							1,
							INT_MAX,
							PGC_SIGHUP,
							GUC_UNIT_S,
							NULL,
							NULL,
							NULL);

	DefineCustomIntVariable("pg_comb.lease_duration",
							"Sets how far ahead of a key the limit of ordered keys or Snowflakes is written.",
							"After a crash, keys continue up to this far after the last one.",
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
							"Sets the instance number of this server in its Snowflakes.",
							"-1 means none, and Snowflakes with an instance number cannot be made.",
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
