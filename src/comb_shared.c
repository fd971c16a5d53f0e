/*-------------------------------------------------------------------------
 *
 * comb_shared.c
 *	  Shared memory: attaching to it, and its incarnation.
 *
 * Shared memory has little more than a kilobyte.  That is little enough to be
 * allocated when the first session asks, so the module need not be preloaded.
 *
 * Copyright (c) 2026, pg_comb developers
 *
 * IDENTIFICATION
 *	  src/comb_shared.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "comb_compat.h"
#include "comb_shared.h"

/*
 * The name changes when the layout of CombShared changes.  After an update of
 * the module, a running server still has the old module's segment.  If the
 * new module asked for another size under the same name, every new session
 * would fail.
 */
#define COMB_SEGMENT_NAME	"pg_comb 4"

CombShared *comb_shared = NULL;

/* Called once for a segment, by the first session that attaches */
static void
comb_shared_init(COMB_SEGMENT_INIT_PARAMS)
{
	CombShared *shared = (CombShared *) segment;
	int			series;

	pg_atomic_init_u64(&shared->incarnation.value, COMB_INCARNATION_NONE);
	for (series = 0; series < COMB_SERIES; series++)
	{
		pg_atomic_init_u64(&shared->last[series][0].value, 0);
		pg_atomic_init_u64(&shared->last[series][1].value, 0);
	}
	pg_atomic_init_u64(&shared->unseated.s.running, 0);
	pg_atomic_init_u64(&shared->unseated.s.until, 0);
	pg_atomic_init_u32(&shared->seats, 0);
}

#ifdef COMB_SHMEM_RESERVED
static comb_shmem_hook comb_next_shmem_request;

static void
comb_shmem_request(void)
{
	if (comb_next_shmem_request)
		comb_next_shmem_request();
	RequestAddinShmemSpace(sizeof(CombShared));
}
#endif

/*
 * Reserve the memory while the module is being preloaded.  Servers without a
 * registry of shared memory keep some memory unreserved, which suffices
 * unless other modules take all of it.
 */
void
comb_shared_preload(void)
{
#ifdef COMB_SHMEM_RESERVED
	COMB_RESERVE_SHMEM(comb_shmem_request, comb_next_shmem_request);
#endif
}

/*
 * Attach this process, and choose an incarnation if there is none.  The
 * choice is not made in comb_shared_init(), which must not fail, as drawing
 * random bytes may.
 */
void
comb_shared_attach(void)
{
	CombShared *shared = comb_shared;

	if (shared == NULL)
	{
		uint64		none = COMB_INCARNATION_NONE;

		shared = comb_get_segment(COMB_SEGMENT_NAME, sizeof(CombShared),
								  comb_shared_init);
		if (pg_atomic_read_u64(&shared->incarnation.value) == none)
			(void) pg_atomic_compare_exchange_u64(&shared->incarnation.value,
												  &none,
												  comb_incarnation_new());
		comb_shared = shared;
	}
}

/* The bits of an incarnation that choose counters, one for each series */
#define COMB_COUNTER_BITS	((UINT64CONST(1) << COMB_SERIES) - 1)

/*
 * Return a new random incarnation, with the first counter of each series.  The
 * number is shown as log_cnt, where a negative number would look like damage.
 * One bit is always set, because nothing writes that log_cnt but this module:
 * setval() writes 0, and nextval() at most 32.
 */
uint64
comb_incarnation_new(void)
{
	return ((comb_random() >> 1) & ~COMB_COUNTER_BITS) | (UINT64CONST(1) << 61);
}

/*
 * Return an incarnation to follow "ended".  Series that are set back use the
 * counter that is free.
 */
uint64
comb_incarnation_after(uint64 ended, const bool *back)
{
	uint64		bits = ended & COMB_COUNTER_BITS;
	int			series;

	for (series = 0; series < COMB_SERIES; series++)
		bits ^= (uint64) back[series] << series;
	return comb_incarnation_new() | bits;
}

/*
 * Begin an incarnation.  An exchange and not a store, because it is a barrier:
 * the counters were set before, and what the caller reads next is later.
 */
void
comb_incarnation_change(uint64 next)
{
	(void) pg_atomic_exchange_u64(&comb_shared->incarnation.value, next);
}
