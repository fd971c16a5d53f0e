/*-------------------------------------------------------------------------
 *
 * comb_shared.c
 *	  Shared memory: attaching to it, and its incarnation.
 *
 * Shared memory has less than a kilobyte.  That is little enough to be
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
#define COMB_SEGMENT_NAME	"pg_comb 3"

CombShared *comb_shared = NULL;

/* Called once for a segment, by the first session that attaches */
static void
comb_shared_init(COMB_SEGMENT_INIT_PARAMS)
{
	CombShared *shared = (CombShared *) segment;
	int			series;

	pg_atomic_init_u64(&shared->incarnation.value, COMB_INCARNATION_NONE);
	for (series = 0; series < COMB_SERIES; series++)
		pg_atomic_init_u64(&shared->last[series].value, 0);
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

/* Return a new random incarnation */
uint64
comb_incarnation_new(void)
{
	/* shown as log_cnt, where a negative number would look like damage */
	return (comb_random() >> 1) | (COMB_INCARNATION_ENDING + 1);
}

/*
 * Return the current incarnation.  A reset needs only four stores to change
 * the incarnation, so wait until it has.
 */
uint64
comb_incarnation_current(void)
{
	uint64		incarnation;

	while ((incarnation = pg_atomic_read_u64(&comb_shared->incarnation.value)) ==
		   COMB_INCARNATION_ENDING)
		pg_usleep(1L);
	return incarnation;
}

/*
 * End the incarnation, and return it.  Until the next one begins, which must
 * not take long, no session relies on a lease and no session learns one.
 */
uint64
comb_incarnation_end(void)
{
	uint64		incarnation;

	do
		incarnation = comb_incarnation_current();
	while (!pg_atomic_compare_exchange_u64(&comb_shared->incarnation.value,
										   &incarnation,
										   COMB_INCARNATION_ENDING));
	return incarnation;
}

/* Begin an incarnation, after one has ended */
void
comb_incarnation_begin(uint64 incarnation)
{
	pg_memory_barrier();
	pg_atomic_write_u64(&comb_shared->incarnation.value, incarnation);
}

/* Raise a counter to at least "floor" */
void
comb_counter_raise(CombSeries series, uint64 floor)
{
	pg_atomic_uint64 *counter = comb_counter(series);
	uint64		last = pg_atomic_read_u64(counter);

	while (last < floor &&
		   !pg_atomic_compare_exchange_u64(counter, &last, floor))
		;
}
