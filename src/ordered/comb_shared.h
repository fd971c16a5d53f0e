/*-------------------------------------------------------------------------
 *
 * comb_shared.h
 *	  Shared memory: the counters that all sessions of a database take times
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
#include "storage/condition_variable.h"
#include "storage/lwlock.h"
#include "utils/dsa.h"

#include "comb_clock.h"
#include "comb_compat.h"

/*
 * A series of ever larger times has a counter in shared memory, a lease
 * (comb_lease.h) and a sequence with its limit (comb_sequence.c) in every
 * database.
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
 * The shared memory of one database.  A backend stays in its database, so it
 * finds this memory once.
 *
 * A counter only grows.  It has the time of the series' last key, a CombTime
 * (comb_clock.h), or the limit after which the series has to continue.  Most
 * Snowflakes take their times from the server's counter instead
 * (comb_snowflake_generate.c).
 *
 * The incarnation is a random number, chosen anew for each database at each
 * start of the server.
 *
 * "ends" counts the transactions with keys that have ended, in units of
 * COMB_END, and in the bits below the sessions that sleep until the next one
 * ends.  So each transaction looks at one number, and what it adds and whom it
 * has to wake have one order for all processes.
 */
typedef struct CombDatabase
{
	CombCounter last[COMB_SERIES];
	CombCounter ends;
	ConditionVariable ended;	/* who sleeps until "ends" has another count */
	pg_atomic_uint32 readers;	/* sessions in comb_wait() */
	uint64		incarnation;
	Oid			oid;
	bool		seats_ready;	/* are the seats those of this database? */
	dsa_pointer seats;			/* CombSeats (comb_announce.h), or invalid */
	dsa_pointer next;			/* the next CombDatabase, or invalid */
} CombDatabase;

/*
 * The shared memory of the server.  Under "lock" sessions make all other memory,
 * and write what leads to it.
 */
typedef struct CombShared
{
	uint32		version;		/* COMB_SHMEM_VERSION of who made it; stays
								 * first */
	int			tranche;		/* of the lock and of the area */
	LWLock		lock;
	bool		has_area;
	dsa_handle	area;			/* of all other memory */
	dsa_pointer databases;		/* the first CombDatabase, or invalid */
	uint64		started;		/* full xid that came next when this was made */
	CombCounter snowflake;		/* of all databases */
} CombShared;

/* One end in CombDatabase.ends.  Below are as many bits as MAX_BACKENDS has */
#define COMB_END				(UINT64CONST(1) << 18)

/* Incarnations are at least this large; setval() and nextval() write less */
#define COMB_INCARNATION_MIN	(UINT64CONST(1) << 61)

/* What comb_ordered_reset() adds to the incarnation on the page of a sequence */
#define COMB_RESET_MARK			1

/* The settings of pg_comb_ordered */
#define COMB_LEASE_MAX_MS	60000

extern int	comb_max_ordered_drift; /* pg_comb.max_ordered_drift, in s */
extern int	comb_lease_ms;		/* pg_comb.lease_duration, in ms */
extern int	comb_instance;		/* pg_comb.snowflake_instance */

extern CombShared *comb_shared;
extern PGDLLEXPORT CombDatabase *comb_database;

extern void comb_shared_attach(void);
extern dsa_pointer comb_shared_allocate(Size size);
extern void *comb_shared_address(dsa_pointer pointer);
extern void comb_count_end(void);
extern void comb_shared_settings(void);

static inline uint64
comb_incarnation(void)
{
	return comb_database->incarnation;
}

/* Return the database's counter of a series */
static inline pg_atomic_uint64 *
comb_counter(CombSeries series)
{
	return &comb_database->last[series].value;
}

/*
 * Return the largest time that a key of this database may have.  All later
 * keys have larger ones.
 *
 * A Snowflake is larger than both counters.  Without the barrier, this process
 * could read the server's counter as it was before another session moved it and
 * then saw this database's counter lower than we do.
 */
static inline CombTime
comb_series_last(CombSeries series)
{
	CombTime	last = pg_atomic_read_u64(comb_counter(series));
	CombTime	server;

	if (series != COMB_SERIES_SNOWFLAKE)
		return last;
	pg_memory_barrier();
	server = pg_atomic_read_u64(&comb_shared->snowflake.value);
	return Max(last, server);
}

#endif							/* COMB_SHARED_H */
