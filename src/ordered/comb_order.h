/*-------------------------------------------------------------------------
 *
 * comb_order.h
 *	  What the files of order that needs state share, by file, from the lowest
 *	  one up.
 *
 * Copyright (c) 2026, pg_comb developers
 *
 *-------------------------------------------------------------------------
 */
#ifndef COMB_ORDER_H
#define COMB_ORDER_H

#include "access/transam.h"
#include "access/xact.h"
#include "access/xlogdefs.h"
#include "nodes/pathnodes.h"
#include "storage/buf.h"
#include "storage/condition_variable.h"
#include "storage/lockdefs.h"
#include "storage/lwlock.h"
#include "storage/proc.h"
#include "utils/dsa.h"
#include "utils/relcache.h"
#include "utils/snapshot.h"

#include "comb.h"

/* comb_shared.c: shared memory */

/*
 * A series of ever larger times has a counter in shared memory, a lease
 * (comb_lease.c) and a sequence with its limit (comb_sequence.c) in every
 * database.
 */
typedef enum CombSeries
{
	COMB_SERIES_ORDERED,		/* uuid keys */
	COMB_SERIES_SNOWFLAKE		/* Snowflakes of all parameters */
} CombSeries;

#define COMB_NSERIES			(COMB_SERIES_SNOWFLAKE + 1)

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
 * COMB_END, and in the bits below the sessions that wait until the next one
 * ends.  So each transaction looks at one number, and what it adds and whom it
 * has to wake have one order for all processes.
 */
typedef struct CombDatabase
{
	CombCounter last[COMB_NSERIES];
	CombCounter ends;
	ConditionVariable ended;	/* who sleeps until "ends" has another count */
	uint64		incarnation;
	Oid			oid;
	bool		seats_ready;	/* are the seats those of this database? */
	dsa_pointer seats;			/* CombSeats (below), or invalid */
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

/* What comb_ordered_reset() adds to the incarnation on the page of a sequence */
#define COMB_RESET_MARK			1

/* The settings of pg_comb_ordered */
#define COMB_LEASE_MAX_MS	60000

extern int	comb_max_ordered_drift; /* pg_comb.max_ordered_drift, in s */
extern int	comb_lease_ms;		/* pg_comb.lease_duration, in ms */
extern int	comb_instance;		/* pg_comb.snowflake_instance */
extern bool comb_warn_unordered_keys;	/* pg_comb.warn_unordered_keys */

extern CombShared *comb_shared;
extern PGDLLEXPORT CombDatabase *comb_database;

extern void comb_shared_attach(void);
extern dsa_pointer comb_shared_allocate(Size size);
extern void *comb_shared_address(dsa_pointer pointer);
extern void comb_count_end(void);
extern void comb_shared_settings(void);

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

/* comb_sequence.c: the sequences of the extension, each of which is one page */

/* How to open a sequence's page */
typedef enum CombPageMode
{
	COMB_PAGE_READ,
	COMB_PAGE_READ_NOWAIT,		/* do not wait for the sequence's lock */
	COMB_PAGE_WRITE,
	COMB_PAGE_WRITE_NOWAIT		/* nor for the page's */
} CombPageMode;

/* A sequence's page, and what we have read from it */
typedef struct CombPage
{
	Relation	relation;
	LOCKMODE	lockmode;
	Buffer		buffer;
	int64		value;			/* last_value */
	uint64		incarnation;	/* log_cnt */
	XLogRecPtr	lsn;			/* the end of the record of "value" */
} CombPage;

/* Changes when a sequence is altered, moved or dropped, here or elsewhere */
extern PGDLLEXPORT uint64 comb_sequence_generation;

extern const char *const comb_series_names[COMB_NSERIES];

extern void (*comb_changed_hook) (Oid relid);

extern void comb_listen(void);
extern bool comb_page_open(CombPage *page, CombSeries series,
						   CombPageMode mode);
extern void comb_page_write(CombPage *page, int64 value, uint64 incarnation);
extern void comb_page_flush(CombPage *page);
extern void comb_page_close(CombPage *page);

/* comb_seats.c: where transactions announce which times they take */

/* How many commits a seat remembers.  These reach back a million commits */
#define COMB_PAST			21

/*
 * An entry of a seat's history, see comb_history_put().  "first" of an unused
 * one is 0, which settles nothing.
 */
typedef struct CombPast
{
	pg_atomic_uint64 prev;		/* full xid of a top-level transaction */
	pg_atomic_uint64 ended;		/* a TimestampTz */
	pg_atomic_uint64 first;
} CombPast;

/* A backend is taking a time, and nobody can tell yet which */
#define COMB_TAKING			PG_UINT64_MAX

/*
 * What one backend announces for one series, and the history of its seat.
 * From "pid" to "announced" all is only for comb_unsettled(), "commits" only
 * for who writes.
 */
typedef struct CombSeat
{
	pg_atomic_uint64 first;		/* of the running transaction; 0 = none */
	pg_atomic_uint64 last;		/* full xid of the last commit; 0 = none */
	pg_atomic_uint64 ended;		/* when that was, a TimestampTz */
	pg_atomic_uint64 latest;	/* the last time of an ordered key, or
								 * COMB_TAKING */
	int32		pid;
	Oid			role;
	TimestampTz start;			/* of the running or prepared transaction */
	uint64		announced;		/* "first" of a prepared one; 0 = unknown */
	uint64		commits;		/* + 2^20, see comb_history_put() */
	pg_atomic_uint64 unused;	/* 1.1.0, with which a session may still run,
								 * counts ends of prepared transactions here */
	CombPast	past[COMB_PAST];
} CombSeat;

/*
 * The seats of a database.  For each series there are places for all backends
 * of the server, by number, and from MaxBackends on for all prepared transactions
 * (comb_prepared.c).  A place leads to its seat once the seat was taken for the
 * first time.
 *
 * Readers look only at seats below "used" and "used_prepared".  Whoever takes
 * a seat raises the number before it takes a time from the counter, or before
 * it leaves another seat.  So a reader that sees the time, or that finds the
 * other seat empty, looks at this one: the exchange keeps its place among the
 * writes.
 */
typedef struct CombSeats
{
	pg_atomic_uint64 used;
	pg_atomic_uint64 used_prepared;
	dsa_pointer_atomic places[FLEXIBLE_ARRAY_MEMBER];
} CombSeats;

/*
 * A snapshot, with its xids completed, and a time.  The reader does not count on
 * commits from this time on, even if the snapshot sees them.
 */
typedef struct CombView
{
	Snapshot	snapshot;
	TimestampTz until;			/* or PG_INT64_MAX */
	uint64		next;			/* full xid that came next, read later */
	uint64		xmin;
	uint64		xmax;
} CombView;

/* How many places a series has */
#define COMB_PLACES			((uint32) (MaxBackends + max_prepared_xacts))

extern CombSeats *comb_seats;
extern CombSeat *comb_own_seat[COMB_NSERIES];
extern CommandId comb_announced_command[COMB_NSERIES];

extern uint64 comb_next_full_xid(void);
extern uint64 comb_full_xid(TransactionId xid, uint64 next);
extern void comb_view_init(CombView *view, Snapshot snapshot,
						   TimestampTz until);
extern bool comb_in_progress(const CombView *view, uint64 fxid);
extern CombSeat *comb_seat(CombSeries series, uint32 number);
extern void comb_seat_make(uint32 place);
extern void comb_seats_make(CombSeries series, uint32 number, uint32 n);
extern void comb_seats_find(void);
extern void comb_history_put(CombSeat *seat, uint64 fxid, uint64 first);

/* comb_prepared.c: prepared transactions */

/* A row of comb_unsettled().  "pid" is 0 for a prepared transaction, "xid" for a running one */
typedef struct CombUnsettled
{
	int32		pid;
	Oid			role;
	TransactionId xid;
	CombSeries	series;
	uint64		first;
	TimestampTz start;
} CombUnsettled;

extern bool comb_preparing;

extern void comb_seats_recover(void);
extern void comb_before_prepare(void);
extern void comb_prepared_enter(const PGPROC *proc);
extern void comb_prepared_enter_failed(void);
extern bool comb_any_forgotten(const CombView *view);
extern bool comb_prepared_row(CombSeat *seat, const CombView *view,
							  CombUnsettled *row);

/* comb_announce.c: which transactions may still add rows with keys */

extern void comb_seats_attach(void);
extern void comb_xact_callback(XactEvent event, void *arg);
extern void comb_announce(CombSeries series);

/* comb_lease.c: taking a time under a limit that survives a crash */

/*
 * A clock that is ten years beyond the last key is considered broken.
 * Counters do not go back, so a single start with such a clock would use up
 * decades of times.
 */
#define COMB_JUMP_S			UINT64CONST(315576000)

/*
 * What this process has read of a series' lease in its database.
 *
 * Times below limit_flushed may be handed out.  From renew_at on, which is at
 * most limit_flushed, comb_lease_extend() has something to do.
 */
typedef struct CombLease
{
	uint64		generation;		/* comb_sequence_generation; 0 = unknown */
	CombTime	renew_at;
	CombTime	limit_flushed;	/* 0 = none of this incarnation */
	CombTime	limit_written;	/* perhaps in memory only */
	XLogRecPtr	written_lsn;	/* the end of its record */
	CombTime	limit_durable;	/* a restart begins at this time or later */
} CombLease;

extern PGDLLEXPORT CombLease comb_leases[COMB_NSERIES];

extern int64 comb_lease_latest_us(int64 now);
extern void comb_lease_read(CombSeries series, CombTime at);
extern bool comb_lease_extend(CombSeries series, CombTime at);
extern bool comb_lease_survives(CombSeries series, CombTime *at);
extern void comb_drift_error(CombTime next, CombTime now);
extern void comb_jump_error(CombTime last, CombTime now);

/* Has this process read the lease, and is the sequence still the same? */
static inline bool
comb_lease_known(CombSeries series)
{
	return comb_leases[series].generation == comb_sequence_generation;
}

/* comb_answers.c: the bounds that queries of a transaction got */

/* Times from "from" on and below "to" */
typedef struct CombSpan
{
	uint64		from;
	uint64		to;
} CombSpan;

/*
 * What a query gets.  All times below "bound" are settled.  All keys that the
 * snapshot sees, and none that will ever be made later, have times below "end".
 * "end" is 0 if only "bound" can be relied on.  Otherwise all times in the gap are
 * settled, too: the longest one between the times of transactions that the
 * snapshot does not see, or an empty one.
 */
typedef struct CombSettled
{
	uint64		bound;
	uint64		end;
	CombSpan	gap;
} CombSettled;

extern bool comb_answer_find(CombSeries series, Snapshot snapshot,
							 CombSettled *settled);
extern void comb_answer_keep(CombSeries series, Snapshot snapshot,
							 const CombSettled *settled);

/* comb_plan.c: bounds that are no younger than the plan of the query that asks */

/* No time is known to be settled */
#define COMB_UNKNOWN		UINT64CONST(0)

extern void comb_plan_begin(const PlannerInfo *root);
extern bool comb_plan_knows(CombSeries series, uint64 bound, uint64 *before);
extern void comb_plan_table(Oid relid);
extern void comb_plan_changed(Oid relid);
extern bool comb_plan_hides(Snapshot snapshot);

/* comb_warn.c: a warning of feeds over keys that are not ordered */

extern void comb_warn_begin(PlannerInfo *root, Oid funcid);
extern void comb_warn_table(PlannerInfo *root, RelOptInfo * rel);

/* comb_settled.c: up to which time the keys of a series are settled */

extern int	comb_compare_numbers(const void *a, const void *b);
extern Snapshot comb_settled_snapshot(void);
extern void comb_settled_find(CombSeries series, CombSettled *settled);
extern pg_uuid_t *comb_settled_key(uint64 time);

#endif							/* COMB_ORDER_H */
