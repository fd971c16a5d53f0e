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
 * (comb_sequence.c).
 */
typedef enum CombSeries
{
	COMB_SERIES_ORDERED,		/* uuid keys */
	COMB_SERIES_SNOWFLAKE		/* Snowflakes of all parameters */
} CombSeries;

#define COMB_SERIES			(COMB_SERIES_SNOWFLAKE + 1)

/* A number on a cache line of its own */
typedef union CombCounter
{
	pg_atomic_uint64 value;
	char		pad[PG_CACHE_LINE_SIZE];
} CombCounter;

/*
 * The incarnation is a random number, chosen anew at each start of the server.
 * A counter has the time of the series' last key, a CombTime (comb_clock.h),
 * and only grows.
 *
 * "seats" is the handle of a dynamic segment (comb_announce.c), or 0 if there
 * is none.
 */
typedef struct CombShared
{
	CombCounter last[COMB_SERIES];
	pg_atomic_uint64 incarnation;
	pg_atomic_uint32 seats;
} CombShared;

/* No incarnation was chosen yet */
#define COMB_INCARNATION_NONE	0

/* What comb_ordered_reset() adds to the incarnation on the page of a sequence */
#define COMB_RESET_MARK			1

/* The settings of pg_comb_ordered */
#define COMB_LEASE_MAX_MS	60000

extern int	comb_max_ordered_drift; /* pg_comb.max_ordered_drift, in s */
extern int	comb_lease_ms;		/* pg_comb.lease_duration, in ms */
extern int	comb_instance;		/* pg_comb.snowflake_instance */

/* Was the module preloaded, so that the server has reserved memory for it? */
extern bool comb_preloaded;

extern PGDLLEXPORT CombShared *comb_shared;

extern void *comb_main_segment(const char *name, Size size,
							   comb_segment_init init);
extern void comb_shared_attach(void);
extern void comb_shared_settings(void);

static inline uint64
comb_incarnation(void)
{
	return pg_atomic_read_u64(&comb_shared->incarnation);
}

static inline pg_atomic_uint64 *
comb_counter(CombSeries series)
{
	return &comb_shared->last[series].value;
}

#endif							/* COMB_SHARED_H */
