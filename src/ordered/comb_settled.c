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
 *	  transaction, then the history of those that have committed, and
 * 3. the seats of prepared transactions: their history.
 * Writers go the same way in the opposite order.  Whatever a reader misses in
 * one place, because it has just moved on, the reader finds in the next.
 *
 * Xids are full ones, since a seat can lie idle for two billion transactions.
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
#include "access/xlog.h"
#include "lib/ilist.h"
#include "storage/lwlock.h"
#include "storage/proc.h"
#include "storage/procarray.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "comb_lease.h"
#include "comb_settled.h"

PG_FUNCTION_INFO_V1(comb_settled);

#define COMB_NO_BOUND		PG_UINT64_MAX

/* How many answers a transaction keeps for a series */
#define COMB_ANSWERS		64

/*
 * An answer, with the snapshot that it was found for.  Two snapshots see the
 * same top-level transactions if they have these members in common, and keys
 * belong to top-level transactions.
 */
typedef struct CombAnswer
{
	dlist_node	node;
	uint64		bound;
	TransactionId xmin;
	TransactionId xmax;
	uint32		xcnt;
	TransactionId xip[FLEXIBLE_ARRAY_MEMBER];
} CombAnswer;

/*
 * The answers of this transaction for a series, in the order of their last
 * use, and the newest snapshot whose answer had to make room.
 */
typedef struct CombAnswers
{
	dlist_head	list;
	int			n;
	bool		lost;
	TransactionId lost_xmax;
	uint32		lost_xcnt;
	MemoryContextCallback forget;
} CombAnswers;

/* They are in the transaction's memory; NULL = nobody has asked yet */
static CombAnswers *comb_answers[COMB_SERIES];

/*
 * Return a bound for the commits of a seat that the snapshot does not see, from
 * the seat's history.  COMB_UNKNOWN if the history does not reach back far
 * enough.
 */
static uint64
comb_history_bound(CombSeat *seat, const CombView *view)
{
	uint64		bound = COMB_UNKNOWN;
	int			i;

	for (i = 0; i < COMB_PAST; i++)
	{
		uint64		first = pg_atomic_read_u64(&seat->s.past[i].first);

		/* "first" before "prev", which must not be that of an older entry */
		pg_read_barrier();
		COMB_INJECTION_POINT("comb-history-read");
		if (!comb_in_progress(view, pg_atomic_read_u64(&seat->s.past[i].prev)))
			bound = Max(bound, first);
	}
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
	uint64		last;
	bool		mine = (pg_atomic_read_u32(&seat->s.database) == MyDatabaseId);

	if (first == 0 || !mine)
		first = COMB_NO_BOUND;
	else
		COMB_INJECTION_POINT("comb-seat-running");
	COMB_INJECTION_POINT("comb-seat-first");

	/*
	 * "first" before "last", which must have the commit whose announcement is
	 * gone, and "database" before "before"
	 */
	pg_read_barrier();
	last = pg_atomic_read_u64(mine ? &seat->s.last : &seat->s.before);
	if (!comb_in_progress(view, last))
		return first;
	bound = comb_history_bound(seat, view);
	return Min(bound, first);
}

/*
 * May the snapshot have in progress what was prepared before the server started
 * and had ended when the seats were made?  Nothing is left of such a
 * transaction but its xid.  Other transactions of that time that have ended
 * look the same.
 */
static bool
comb_any_forgotten(const CombView *view)
{
	uint64		started = comb_seats->head.h.started;
	uint32		i;

	if (max_prepared_xacts == 0 || view->xmin >= started)
		return false;
	for (i = 0; i < view->snapshot->xcnt; i++)
	{
		TransactionId xid = view->snapshot->xip[i];

		if (comb_full_xid(xid, view->next) < started &&
			!TransactionIdIsInProgress(xid))
			return true;
	}
	return false;
}

/* Return the smallest time that the transactions of some seats may have taken */
static uint64
comb_seats_bound(CombSeat *seats, pg_atomic_uint64 *used, const CombView *view)
{
	uint64		bound = COMB_NO_BOUND;
	uint32		n = (uint32) pg_atomic_read_u64(used);
	uint32		i;

	for (i = 0; i < n; i++)
	{
		/* Min() evaluates its arguments twice, and a seat may change */
		uint64		seat = comb_seat_bound(&seats[i], view);

		bound = Min(bound, seat);
	}
	return bound;
}

/* Return the smallest time that is not settled, as of now, or COMB_UNKNOWN */
static uint64
comb_settled_scan(CombSeries series, const CombView *view)
{
	uint64		last = pg_atomic_read_u64(comb_counter(series));
	uint64		bound = comb_lease_survives(series, last + 1);
	uint64		running;
	uint64		prepared;

	/*
	 * The counter before "used" and the seats: a transaction that took a time
	 * up to the counter's has announced itself there before.
	 */
	pg_read_barrier();
	COMB_INJECTION_POINT("comb-counter-read");
	running = comb_seats_bound(comb_seat(series, 0),
							   &comb_seats->head.h.used, view);
	/* these seats before the next ones, which have what has left these */
	pg_read_barrier();
	COMB_INJECTION_POINT("comb-seats-read");
	prepared = comb_seats_bound(comb_prepared_seat(comb_seats, series, 0),
								&comb_seats->head.h.used_prepared, view);
	if (comb_any_forgotten(view))
		return COMB_UNKNOWN;
	bound = Min(bound, running);
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
		comb_lease_read(series, 0);
	comb_seats_attach();
	return comb_settled_scan(series, view);
}

/*
 * The transaction's memory is freed, and its answers with it.  "arg" is the
 * pointer to them.
 */
static void
comb_answers_forget(void *arg)
{
	*(CombAnswers **) arg = NULL;
}

/* Return the answers of this transaction, and make room for them if need be */
static CombAnswers *
comb_answers_get(CombSeries series)
{
	CombAnswers *answers = comb_answers[series];

	if (answers == NULL)
	{
		answers = (CombAnswers *)
			MemoryContextAllocZero(TopTransactionContext,
								   sizeof(CombAnswers));
		dlist_init(&answers->list);
		answers->forget.func = comb_answers_forget;
		answers->forget.arg = &comb_answers[series];
		MemoryContextRegisterResetCallback(TopTransactionContext,
										   &answers->forget);
		comb_answers[series] = answers;
	}
	return answers;
}

/* Return the answer for a snapshot, or NULL */
static CombAnswer *
comb_answer_find(CombAnswers *answers, Snapshot snapshot)
{
	dlist_iter	iter;

	dlist_foreach(iter, &answers->list)
	{
		CombAnswer *answer = dlist_container(CombAnswer, node, iter.cur);

		if (answer->xmax == snapshot->xmax &&
			answer->xmin == snapshot->xmin &&
			answer->xcnt == snapshot->xcnt &&
			(answer->xcnt == 0 ||
			 memcmp(answer->xip, snapshot->xip,
					answer->xcnt * sizeof(TransactionId)) == 0))
		{
			dlist_move_head(&answers->list, &answer->node);
			return answer;
		}
	}
	return NULL;
}

/*
 * May the answer for a snapshot be among those that had to make room?  Of two
 * snapshots of a session, the newer one has the larger xmax or, with the same
 * xmax, fewer transactions in progress below.
 */
static bool
comb_answer_lost(const CombAnswers *answers, TransactionId xmax, uint32 xcnt)
{
	if (!answers->lost)
		return false;
	if (xmax != answers->lost_xmax)
		return TransactionIdPrecedes(xmax, answers->lost_xmax);
	return xcnt >= answers->lost_xcnt;
}

/* Remove the answer that was used least recently */
static void
comb_answers_shrink(CombAnswers *answers)
{
	CombAnswer *answer = dlist_tail_element(CombAnswer, node, &answers->list);

	if (!comb_answer_lost(answers, answer->xmax, answer->xcnt))
	{
		answers->lost = true;
		answers->lost_xmax = answer->xmax;
		answers->lost_xcnt = answer->xcnt;
	}
	dlist_delete(&answer->node);
	answers->n--;
	pfree(answer);
}

/* Keep an answer until the transaction ends */
static void
comb_answer_keep(CombAnswers *answers, Snapshot snapshot, uint64 bound)
{
	CombAnswer *answer = (CombAnswer *)
		MemoryContextAlloc(TopTransactionContext, offsetof(CombAnswer, xip) +
						   snapshot->xcnt * sizeof(TransactionId));

	answer->bound = bound;
	answer->xmin = snapshot->xmin;
	answer->xmax = snapshot->xmax;
	answer->xcnt = snapshot->xcnt;
	if (snapshot->xcnt > 0)
		memcpy(answer->xip, snapshot->xip,
			   snapshot->xcnt * sizeof(TransactionId));
	if (answers->n == COMB_ANSWERS)
		comb_answers_shrink(answers);
	dlist_push_head(&answers->list, &answer->node);
	answers->n++;
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
				 errmsg("cannot determine which keys are settled in a parallel worker"),
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
 * comb_settled_snapshot() and comb_lease_read(), and 54000 if too many other
 * queries of the transaction have asked since this one did.
 *
 * All calls in one query get the same answer.  A filter that is evaluated for
 * each row, or once for each partition, would otherwise leave out a row and
 * let a later row through.  A query and its stable functions share one
 * snapshot, so that is the query's identity.
 */
uint64
comb_settled_bound(CombSeries series)
{
	Snapshot	snapshot = comb_settled_snapshot();
	CombAnswers *answers;
	const CombAnswer *answer;
	CombView	view;
	uint64		bound;

	/* a standby took the snapshot, before it was promoted */
	if (snapshot->takenDuringRecovery)
		return COMB_UNKNOWN;
	answers = comb_answers_get(series);
	answer = comb_answer_find(answers, snapshot);
	if (answer != NULL)
		return answer->bound;
	if (comb_answer_lost(answers, snapshot->xmax, snapshot->xcnt))
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("too many queries of the transaction ask which keys are settled"),
				 errdetail("The transaction keeps the bounds of %d snapshots, and the bound of this query's snapshot may have made room.",
						   COMB_ANSWERS),
				 errhint("Read a cursor to its end before so many other queries ask.")));
	comb_view_init(&view, snapshot);
	bound = comb_settled_compute(series, &view);
	comb_answer_keep(answers, snapshot, bound);
	return bound;
}

/* Return the smallest ordered key of a time, or the nil uuid if unknown */
pg_uuid_t *
comb_settled_key(uint64 time)
{
	pg_uuid_t  *id = (pg_uuid_t *) palloc0(UUID_LEN);

	if (time != COMB_UNKNOWN)
		comb_v7_write_time(id->data, time, 0);
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
