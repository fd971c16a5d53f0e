/*-------------------------------------------------------------------------
 *
 * comb_shared.h
 *	  Shared memory: the counters that all sessions of a server take times
 *	  from, and the incarnation of this memory.
 *
 * Copyright (c) 2026, pg_comb developers
 *
 * IDENTIFICATION
 *	  src/ordered/comb_shared.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef COMB_SHARED_H
#define COMB_SHARED_H

#include "port/atomics.h"

#include "comb_clock.h"
#include "comb_compat.h"

/*
 * A series of ever larger times has a counter in shared memory, and in every
 * database a lease (comb_lease.h) and a sequence with its limit
 * (comb_page.c).
 */
typedef enum CombSeries
{
	COMB_SERIES_ORDERED,		/* uuid keys */
	COMB_SERIES_SNOWFLAKE		/* Snowflakes of all parameters */
} CombSeries;

#define COMB_SERIES			(COMB_SERIES_SNOWFLAKE + 1)

/* As SQL functions show them */
extern const char *const comb_series_names[COMB_SERIES];

/* A number on a cache line of its own */
typedef union CombCounter
{
	pg_atomic_uint64 value;
	char		pad[PG_CACHE_LINE_SIZE];
} CombCounter;

/*
 * The incarnation is a random number, chosen anew at the server's start and by
 * comb_ordered_reset().  A counter has the time of the series' last key, a
 * CombTime (comb_clock.h), and only grows within an incarnation.
 *
 * Every series has two counters, and one bit of the incarnation says which
 * one is in use.  A reset that sets a series back prepares the other counter,
 * and then changes incarnation and counter with a single store, so no session
 * sees an incarnation with a counter of another one.  A session that has not
 * noticed the reset takes a time from the old counter, and drops it.
 *
 * "seats" is the handle of a dynamic segment (comb_announce.c), or 0 if there
 * is none.
 */
typedef struct CombShared
{
	CombCounter incarnation;
	CombCounter last[COMB_SERIES][2];
	pg_atomic_uint32 seats;
} CombShared;

/* No incarnation was chosen yet */
#define COMB_INCARNATION_NONE	0

/* Was the module preloaded, so that the server has reserved memory for it? */
extern bool comb_preloaded;

extern PGDLLEXPORT CombShared *comb_shared;

extern void *comb_main_segment(const char *name, Size size,
							   comb_segment_init init);
extern void comb_shared_attach(void);

extern uint64 comb_incarnation_new(void);
extern uint64 comb_incarnation_after(uint64 ended, const bool *back);
extern void comb_incarnation_change(uint64 next);

/* Return the current incarnation */
static inline uint64
comb_incarnation_current(void)
{
	return pg_atomic_read_u64(&comb_shared->incarnation.value);
}

/* Return the counter of a series in an incarnation */
static inline pg_atomic_uint64 *
comb_counter(CombSeries series, uint64 incarnation)
{
	return &comb_shared->last[series][(incarnation >> series) & 1].value;
}

#endif							/* COMB_SHARED_H */
