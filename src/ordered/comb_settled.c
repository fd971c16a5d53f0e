/*-------------------------------------------------------------------------
 *
 * comb_settled.c
 *	  Up to which key a reader has seen everything.
 *
 * A time is settled, as a snapshot sees it, if every transaction that took
 * the time for a key is visible to the snapshot, or never will be visible to
 * any.  comb_settled() is a bound: all times below are settled for good.
 *
 * A reader looks, in this order, at
 * 1. the counter of the series, but no further than this database's limit on
 *	  disk: greater times are not settled,
 * 2. every seat (comb_announce.c): first the announcement of the running
 *	  transaction, then the ring of transactions that have committed, from the
 *	  latest back to the first one that the snapshot sees, and
 * 3. the list of prepared transactions.
 * Writers go the same way in the opposite order.  Whatever a reader misses in
 * one place, because it has just moved on, the reader finds in the next.
 *
 * Xids are full ones, since a seat can lie idle for two billion transactions.
 *
 * If the answer cannot be found, the function says that nothing is settled.
 * The reader gets no rows, and its next query gets them.
 *
 * Copyright (c) 2026, pg_comb developers
 *
 * IDENTIFICATION
 *	  src/ordered/comb_settled.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/parallel.h"
#include "access/transam.h"
#include "access/twophase.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "storage/lwlock.h"
#include "storage/proc.h"
#include "storage/procarray.h"
#include "utils/memutils.h"
#include "utils/resowner.h"
#include "utils/snapmgr.h"

#include "comb_lease.h"
#include "comb_settled.h"

PG_FUNCTION_INFO_V1(comb_settled);

#define COMB_NO_BOUND		PG_UINT64_MAX

/*
 * An answer, with the snapshot that it was found for.  It holds for every
 * snapshot that sees as much.
 */
typedef struct CombAnswer
{
	struct CombAnswer *next;
	CombSeries	series;
	Snapshot	query;			/* of the query that got it; NULL = has ended */
	uint64		bound;
	uint64		xmax;
	uint32		xcnt;
	TransactionId xip[FLEXIBLE_ARRAY_MEMBER];
} CombAnswer;

/* The answers of the queries that run, and the best one of those that ran */
static CombAnswer *comb_answers = NULL;
static CombAnswer *comb_answered[COMB_SERIES];

/*
 * Return the smallest announcement on a seat's ring that the snapshot does
 * not see.  COMB_UNKNOWN if the ring does not reach back far enough.
 *
 * Entries may be overwritten while they are read.  The counter has then moved
 * on, and the ring is read once more.
 */
static uint64
comb_ring_bound(CombSeat *seat, const CombView *view)
{
	uint64		bound;
	uint64		ended;

	do
	{
		uint64		oldest;
		uint64		i;

		bound = COMB_NO_BOUND;
		ended = pg_atomic_read_u64(&seat->s.ended);
		oldest = ended > COMB_RING - 1 ? ended - (COMB_RING - 1) : 0;
		/* "ended" before the entries: those that it counts, or later ones */
		pg_read_barrier();
		for (i = ended; i > oldest; i--)
		{
			CombEnded  *entry = &seat->s.ring[(i - 1) % COMB_RING];

			if (!comb_in_progress(view, entry->fxid))
				break;
			bound = Min(bound, entry->first);
		}
		if (i == oldest && oldest > 0)
			bound = COMB_UNKNOWN;
		/* the entries before "ended", which has moved on if one is later */
		pg_read_barrier();
	} while (pg_atomic_read_u64(&seat->s.ended) != ended);
	return bound;
}

/*
 * Return the smallest time that a seat's transactions may have taken.
 *
 * "first" and "database" can be read in any order.  A transaction that took a
 * time up to the counter, which was read before, has written both before it
 * took the time.  If "database" is that of a later transaction, "before" tells
 * of this one, and if "first" is, the bound is too small at most.
 */
static uint64
comb_seat_bound(CombSeat *seat, const CombView *view)
{
	uint64		first = pg_atomic_read_u64(&seat->s.first);
	uint64		bound;
	bool		mine = (pg_atomic_read_u32(&seat->s.database) == MyDatabaseId);

	if (first == 0 || !mine)
		first = COMB_NO_BOUND;
	else
		COMB_INJECTION_POINT("comb-seat-running");
	COMB_INJECTION_POINT("comb-seat-first");

	/*
	 * "first" before the ring, which must have the entry of an announcement
	 * that is gone, and "database" before "before"
	 */
	pg_read_barrier();
	if (!mine && !comb_in_progress(view, pg_atomic_read_u64(&seat->s.before)))
		return COMB_NO_BOUND;
	bound = comb_ring_bound(seat, view);
	return Min(bound, first);
}

/* Is the prepared transaction in the list? */
static bool
comb_prepared_listed(uint64 fxid)
{
	uint32		i;

	for (i = 0; i < comb_seats->head.h.nprepared; i++)
	{
		if (pg_atomic_read_u64(&comb_prepared(comb_seats, i)->fxid) == fxid)
			return true;
	}
	return false;
}

/*
 * Return the database of a prepared transaction, or InvalidOid if it ended and
 * another one has its place in the server.
 */
static Oid
comb_prepared_database(TransactionId xid)
{
	Oid			database = InvalidOid;
	int			i;

	LWLockAcquire(ProcArrayLock, LW_SHARED);
	for (i = 0; i < max_prepared_xacts; i++)
	{
		PGPROC	   *proc = &PreparedXactProcs[i];

		if (proc->xid == xid)
			database = proc->databaseId;
	}
	LWLockRelease(ProcArrayLock);
	return database;
}

/*
 * May the transaction, which is in progress to the snapshot, have been
 * prepared without standing in the list?  "database" is InvalidOid if the
 * transaction has ended meanwhile.
 */
static bool
comb_is_unlisted(const CombView *view, TransactionId xid, Oid *database)
{
	uint64		fxid = comb_full_xid(xid, view->next);

	if (fxid >= comb_unlisted_limit() ||
		BackendXidGetPid(xid) != 0 ||
		comb_prepared_listed(fxid))
		return false;
	*database = comb_prepared_database(xid);
	return true;
}

/*
 * May a transaction that the snapshot does not see have been prepared with
 * keys of this database, without standing in the list?
 *
 * The transaction may have got its xid after the snapshot, and is then not
 * among the snapshot's xids.  Only "dropped" counts there.  "started" can
 * exceed a snapshot's xmax for as long as no transaction ends.
 */
static bool
comb_any_unlisted(const CombView *view)
{
	uint32		i;

	if (max_prepared_xacts == 0 || view->xmin >= comb_unlisted_limit())
		return false;
	if (view->xmax < pg_atomic_read_u64(&comb_seats->head.h.dropped))
		return true;
	for (i = 0; i < view->snapshot->xcnt; i++)
	{
		Oid			database;

		if (comb_is_unlisted(view, view->snapshot->xip[i], &database) &&
			(database == InvalidOid || database == MyDatabaseId))
			return true;
	}
	return false;
}

/* Return the smallest time that prepared transactions may have taken */
static uint64
comb_prepared_bound(CombSeries series, const CombView *view)
{
	uint64		bound = COMB_NO_BOUND;
	uint32		i;

	for (i = 0; i < comb_seats->head.h.nprepared; i++)
	{
		CombPrepared prepared;

		if (comb_prepared_copy(i, &prepared) &&
			prepared.first[series] != 0 &&
			prepared.database == MyDatabaseId &&
			comb_in_progress(view, pg_atomic_read_u64(&prepared.fxid)))
			bound = Min(bound, prepared.first[series]);
	}
	/* the list before "dropped", which was raised before an entry was lost */
	pg_read_barrier();
	return comb_any_unlisted(view) ? COMB_UNKNOWN : bound;
}

/*
 * Return the smallest time that is not settled, as of now, or COMB_UNKNOWN.
 *
 * Min() evaluates its arguments twice, so nothing that changes may stand in
 * it.
 */
static uint64
comb_settled_scan(CombSeries series, const CombView *view)
{
	uint64		last = pg_atomic_read_u64(comb_counter(series));
	uint64		bound = comb_lease_survives(series, last + 1);
	uint64		prepared;
	uint32		used;
	uint32		i;

	/*
	 * The counter before "used" and the seats: a transaction that took a time
	 * up to the counter's has announced itself there before.
	 */
	pg_read_barrier();
	COMB_INJECTION_POINT("comb-counter-read");
	used = (uint32) pg_atomic_read_u64(&comb_seats->head.h.used);
	for (i = 0; i < used; i++)
	{
		uint64		seat = comb_seat_bound(comb_seat(series, i), view);

		bound = Min(bound, seat);
	}
	/* the seats before the list, which must have what has left its seat */
	pg_read_barrier();
	COMB_INJECTION_POINT("comb-seats-read");
	prepared = comb_prepared_bound(series, view);
	return Min(bound, prepared);
}

/*
 * Return the smallest time that is not settled, or COMB_UNKNOWN.
 *
 * The lease must be known, because the counter is behind the keys of earlier
 * incarnations until then.
 */
static uint64
comb_settled_compute(CombSeries series, const CombView *view)
{
	if (!comb_lease_known(series))
		comb_lease_learn(series);
	comb_seats_attach();
	return comb_settled_scan(series, view);
}

/*
 * Does the snapshot see every transaction that the one of the answer saw?
 * What is in progress to it must then have been in progress before, or must
 * have begun later.
 */
static bool
comb_sees_answer(const CombView *view, const CombAnswer *answer)
{
	uint32		i;

	if (view->xmax < answer->xmax)
		return false;
	for (i = 0; i < view->snapshot->xcnt; i++)
	{
		TransactionId xid = view->snapshot->xip[i];

		if (comb_full_xid(xid, view->next) < answer->xmax &&
			!pg_lfind32(xid, answer->xip, answer->xcnt))
			return false;
	}
	return true;
}

/* Does an answer give the snapshot a larger bound? */
static bool
comb_answer_helps(const CombAnswer *answer, CombSeries series,
				  const CombView *view, uint64 bound)
{
	return answer->series == series && answer->bound > bound &&
		comb_sees_answer(view, answer);
}

/* Return the bound, or the largest one that an answer gives the snapshot */
static uint64
comb_answers_improve(CombSeries series, const CombView *view, uint64 bound)
{
	const CombAnswer *answer = comb_answered[series];

	if (answer != NULL && comb_answer_helps(answer, series, view, bound))
		bound = answer->bound;
	for (answer = comb_answers; answer != NULL; answer = answer->next)
	{
		if (comb_answer_helps(answer, series, view, bound))
			bound = answer->bound;
	}
	return bound;
}

/*
 * The query of an answer has ended.  Keep the answer if it is the best one.
 * Of equal ones the older is better, because more snapshots see as much.
 */
static void
comb_answer_retire(CombAnswer *answer)
{
	CombAnswer **best = &comb_answered[answer->series];

	answer->query = NULL;
	if (*best != NULL && answer->bound <= (*best)->bound)
		pfree(answer);
	else
	{
		if (*best != NULL)
			pfree(*best);
		*best = answer;
	}
}

/* Is a snapshot held by nobody but the answers that were found for it? */
static bool
comb_query_ended(Snapshot query)
{
	const CombAnswer *answer;
	uint32		held = 0;

	for (answer = comb_answers; answer != NULL; answer = answer->next)
		held += (answer->query == query);
	return query->active_count == 0 && query->regd_count == held;
}

/*
 * Retire the answers of queries that have ended.  "all" is for the end of the
 * transaction, when no query is left.
 */
static void
comb_answers_release(bool all)
{
	CombAnswer **link = &comb_answers;
	CombAnswer *answer;

	while ((answer = *link) != NULL)
	{
		if (all || comb_query_ended(answer->query))
		{
			*link = answer->next;
			UnregisterSnapshotFromOwner(answer->query,
										TopTransactionResourceOwner);
			comb_answer_retire(answer);
		}
		else
			link = &answer->next;
	}
}

/*
 * A transaction commits, or has ended.  A transaction that aborts releases its
 * snapshots itself.
 */
static void
comb_answers_xact(XactEvent event, void *arg)
{
	CombAnswer *answer;

	if (event == XACT_EVENT_PRE_COMMIT || event == XACT_EVENT_PRE_PREPARE)
		comb_answers_release(true);
	else
	{
		while ((answer = comb_answers) != NULL)
		{
			comb_answers = answer->next;
			comb_answer_retire(answer);
		}
	}
}

/*
 * A statement, or something else with resources of its own, has ended.  What
 * its queries held is released before.  Without this a transaction that stays
 * open after its query would keep VACUUM from removing rows.
 */
static void
comb_answers_resources(ResourceReleasePhase phase, bool isCommit,
					   bool isTopLevel, void *arg)
{
	if (phase == RESOURCE_RELEASE_AFTER_LOCKS && !isTopLevel)
		comb_answers_release(false);
}

/*
 * Keep an answer, for the query as long as it has its snapshot registered, and
 * for later ones.
 */
static void
comb_answer_keep(CombSeries series, const CombView *view, uint64 bound)
{
	static bool registered = false;
	Snapshot	snapshot = view->snapshot;
	CombAnswer *answer;

	if (!registered)
	{
		RegisterXactCallback(comb_answers_xact, NULL);
		RegisterResourceReleaseCallback(comb_answers_resources, NULL);
		registered = true;
	}
	answer = (CombAnswer *)
		MemoryContextAlloc(TopMemoryContext, offsetof(CombAnswer, xip) +
						   snapshot->xcnt * sizeof(TransactionId));
	answer->series = series;
	answer->bound = bound;
	answer->xmax = view->xmax;
	answer->xcnt = snapshot->xcnt;
	if (snapshot->xcnt > 0)
		memcpy(answer->xip, snapshot->xip,
			   snapshot->xcnt * sizeof(TransactionId));
	if (snapshot->regd_count == 0)
		comb_answer_retire(answer);
	else
	{
		answer->query = RegisterSnapshotOnOwner(snapshot,
												TopTransactionResourceOwner);
		answer->next = comb_answers;
		comb_answers = answer;
	}
}

/*
 * Return the smallest time that is not settled, or COMB_UNKNOWN, from what
 * shared memory says now and from what this session has found before.
 *
 * A reader that always asks late in its query finds rings that no longer
 * reach back to its snapshot, and would stand still under load.  After an
 * unknown answer the session therefore finds one for the latest snapshot, for
 * the next query.
 */
static uint64
comb_settled_now(CombSeries series, Snapshot snapshot)
{
	CombView	view;
	uint64		bound;
	bool		unknown;

	/* a standby took the snapshot, before it was promoted */
	if (snapshot->takenDuringRecovery)
		return COMB_UNKNOWN;
	comb_view_init(&view, snapshot);
	bound = comb_settled_compute(series, &view);
	unknown = (bound == COMB_UNKNOWN);
	bound = comb_answers_improve(series, &view, bound);
	comb_answer_keep(series, &view, bound);
	if (unknown && !IsInParallelMode())
	{
		CombView	latest;
		uint64		later;

		comb_view_init(&latest, GetLatestSnapshot());
		later = comb_settled_compute(series, &latest);
		if (later != COMB_UNKNOWN)
			comb_answer_keep(series, &latest, later);
	}
	return bound;
}

/*
 * Return the snapshot of the calling statement.  Raises 55000 on a standby,
 * and 25000 in a parallel worker.
 */
Snapshot
comb_settled_snapshot(void)
{
	Snapshot	snapshot;

	if (RecoveryInProgress())
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("a standby does not know which keys are settled"),
				 errdetail("Below a bound fetched from the primary, rows can be missing until this standby has replayed them."),
				 errhint("Run the query on the primary.  The documentation on feeds has a query for standbys.")));
	if (IsParallelWorker())
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TRANSACTION_STATE),
				 errmsg("a parallel worker does not know which keys are settled"),
				 errhint("Mark functions that ask PARALLEL RESTRICTED.")));
	snapshot = ActiveSnapshotSet() ? GetActiveSnapshot() :
		GetTransactionSnapshot();
	if (snapshot->snapshot_type != SNAPSHOT_MVCC)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("this snapshot does not tell which keys are settled")));
	return snapshot;
}

/*
 * Return the smallest time of a series that is not settled, as the calling
 * statement sees the database, or COMB_UNKNOWN.  Raises the errors of
 * comb_settled_snapshot() and comb_lease_learn().
 *
 * All calls in one query get the same answer.  A filter that is evaluated for
 * each row, or once for each partition, would otherwise leave out a row and
 * let a later row through.  What identifies a query, with all the stable
 * functions that it calls, is its snapshot.  The answer has the snapshot
 * registered, so no other one can have the same address, and lasts until the
 * query has given up the snapshot.  The memory of the caller would not do as a
 * measure: that of a stable function can go at the end of each call, or stay
 * for the transaction.
 */
uint64
comb_settled_bound(CombSeries series)
{
	Snapshot	snapshot = comb_settled_snapshot();
	const CombAnswer *answer;

	comb_answers_release(false);
	for (answer = comb_answers; answer != NULL; answer = answer->next)
	{
		if (answer->query == snapshot && answer->series == series)
			return answer->bound;
	}
	return comb_settled_now(series, snapshot);
}

/* Return the smallest ordered key of a time, or the nil uuid if unknown */
pg_uuid_t *
comb_settled_key(uint64 time)
{
	pg_uuid_t  *id = (pg_uuid_t *) palloc0(UUID_LEN);

	if (time != COMB_UNKNOWN)
		comb_ordered_write(id->data, time, 0);
	return id;
}

/*
 * comb_settled() returns uuid
 *
 * Returns a bound for ordered keys of this database.  Every key below belongs
 * to a transaction that the calling statement sees, or to one that nobody
 * will ever see.  Returns the nil uuid if the bound cannot be found just now;
 * then no key is below.  Raises 55000 on a standby, and in the cases in which
 * comb_generate_ordered() raises it for the limit of this database.  Raises
 * an error of dynamic shared memory if there is none left.
 */
Datum
comb_settled(PG_FUNCTION_ARGS)
{
	uint64		bound = comb_settled_bound(COMB_SERIES_ORDERED);

	PG_RETURN_UUID_P(comb_settled_key(bound));
}
