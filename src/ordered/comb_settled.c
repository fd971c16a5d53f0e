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
 * 2. every seat (comb_seats.c): first the announcement of the running
 *	  transaction, then the history of those that have committed, and
 * 3. the seats of prepared transactions: their history.
 * Writers go the same way in the opposite order.  Whatever a reader misses in
 * one place, because it has just moved on, the reader finds in the next.
 *
 * Xids are full ones, since a seat can lie idle for two billion transactions.
 *
 * Copyright (c) 2026, pg_comb developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/parallel.h"
#include "access/xlog.h"
#include "nodes/supportnodes.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "comb_order.h"

PG_FUNCTION_INFO_V1(comb_settled);
PG_FUNCTION_INFO_V1(comb_settled_support);

#define COMB_NO_BOUND		PG_UINT64_MAX

/* A second range of an index costs more than the rows of a shorter gap */
#define COMB_GAP_MIN		(10 * COMB_TIME_PER_MS)

/*
 * The times of each seat that may not be settled, in memory that is kept, and has
 * room for one more
 */
static CombSpan *comb_held;
static uint32 comb_nheld;

/* Does the reader not count on a commit, which ended at "ended"? */
static inline bool
comb_misses(const CombView *view, uint64 fxid, uint64 ended)
{
	return comb_in_progress(view, fxid) || (TimestampTz) ended >= view->until;
}

/*
 * Return a bound for the commits of a seat that the reader misses, from the
 * seat's history.  COMB_UNKNOWN if the history does not reach back far enough.
 */
static uint64
comb_history_bound(CombSeat *seat, const CombView *view)
{
	uint64		bound = COMB_UNKNOWN;
	int			i;

	for (i = 0; i < COMB_PAST; i++)
	{
		uint64		first = pg_atomic_read_u64(&seat->past[i].first);

		/* "first" before the rest, which must not be that of an older entry */
		pg_read_barrier();
		COMB_INJECTION_POINT("comb-history-read");
		if (!comb_misses(view, pg_atomic_read_u64(&seat->past[i].prev),
						 pg_atomic_read_u64(&seat->past[i].ended)))
			bound = Max(bound, first);
	}
	return bound;
}

/*
 * Return when a seat's last commit ended, for a reader that compares times.  If the
 * clock was set back since then, the seat says from now on that it ended now.
 * Readers would otherwise miss the commit until the clock is there again.
 */
static uint64
comb_seat_ended(CombSeat *seat, const CombView *view)
{
	uint64		ended = pg_atomic_read_u64(&seat->ended);

	if (view->until != PG_INT64_MAX)
	{
		TimestampTz now = GetCurrentTimestamp();

		if ((TimestampTz) ended > now &&
			pg_atomic_compare_exchange_u64(&seat->ended, &ended, (uint64) now))
			ended = (uint64) now;
	}
	return ended;
}

/* Return the smallest time that a seat's transactions may have taken */
static uint64
comb_seat_bound(CombSeat *seat, const CombView *view)
{
	uint64		first = pg_atomic_read_u64(&seat->first);
	uint64		bound;
	uint64		last;

	if (first == 0)
		first = COMB_NO_BOUND;
	else
		COMB_INJECTION_POINT("comb-seat-running");
	COMB_INJECTION_POINT("comb-seat-first");

	/* "first" before "last", which must have the commit that took it back */
	pg_read_barrier();
	last = pg_atomic_read_u64(&seat->last);
	if (!comb_misses(view, last, comb_seat_ended(seat, view)))
		return first;
	bound = comb_history_bound(seat, view);
	return Min(bound, first);
}

/*
 * Find the times that transactions of these seats may have taken.  "number" is
 * that of the first one, and "used" how many there are.
 *
 * "latest" is read after what has led to the transaction.  So it is the
 * transaction's or that of a later one, which is larger.  It says nothing of
 * transactions that were recovered, nor of Snowflakes, which have no positions.
 * It is an earlier transaction's if this one has announced itself only: then it
 * has taken nothing up to the counter that we have read.
 */
static void
comb_seats_held(CombSeries series, uint32 number, pg_atomic_uint64 *used,
				const CombView *view)
{
	uint32		end = number + (uint32) pg_atomic_read_u64(used);

	/* the number of seats before their places */
	pg_read_barrier();
	for (; number < end; number++)
	{
		CombSeat   *seat = comb_seat(series, number);
		CombSpan	span;

		if (seat == NULL)
			continue;
		span.from = comb_seat_bound(seat, view);
		if (span.from == COMB_NO_BOUND)
			continue;
		pg_read_barrier();
		span.to = pg_atomic_read_u64(&seat->latest);
		if (span.from == COMB_UNKNOWN || series == COMB_SERIES_SNOWFLAKE)
			span.to = COMB_TAKING;
		if (span.to != COMB_TAKING)
			span.to++;
		span.to = Max(span.to, span.from);
		comb_held[comb_nheld++] = span;
	}
}

/* Compare numbers, or spans, which begin with one, for qsort() and the like */
int
comb_compare_numbers(const void *a, const void *b)
{
	uint64		x = *(const uint64 *) a;
	uint64		y = *(const uint64 *) b;

	return x < y ? -1 : x > y;
}

/* Find the bound below all times that are held, and the longest gap between them */
static void
comb_settled_between(CombSettled *settled, CombTime end)
{
	CombSpan   *spans = comb_held;
	uint64		longest = COMB_GAP_MIN;
	uint64		to;
	uint32		i;

	/* "end" as one more span closes the last gap */
	spans[comb_nheld].from = spans[comb_nheld].to = end;
	qsort(spans, comb_nheld + 1, sizeof(CombSpan), comb_compare_numbers);
	settled->bound = to = spans[0].from;
	settled->gap.from = settled->gap.to = 0;
	for (i = 0; i <= comb_nheld && spans[i].from <= end; i++)
	{
		if (spans[i].from > to && spans[i].from - to >= longest)
		{
			longest = spans[i].from - to;
			settled->gap.from = to;
			settled->gap.to = spans[i].from;
		}
		to = Max(to, spans[i].to);
	}
}

/*
 * Find the smallest time that is not settled for a snapshot without the commits
 * from a time on, or COMB_UNKNOWN, the end of the keys that the snapshot sees, and
 * the gap.  The counter is read after the snapshot was taken, so the end is beyond
 * these keys.  A restart continues from the end or later, so the end is not beyond
 * keys made later.
 */
static void
comb_settled_scan(CombSeries series, Snapshot snapshot, TimestampTz until,
				  CombSettled *settled)
{
	CombView	view;
	CombTime	end;

	/* a standby took the snapshot, before it was promoted */
	if (snapshot->takenDuringRecovery)
	{
		memset(settled, 0, sizeof(CombSettled));
		return;
	}
	comb_view_init(&view, snapshot, until);
	/* until then the counter is behind the keys of earlier incarnations */
	if (!comb_lease_known(series))
		comb_lease_read(series, 0);
	comb_seats_attach();
	if (comb_held == NULL)
		comb_held = (CombSpan *)
			MemoryContextAlloc(TopMemoryContext,
							   (COMB_PLACES + 1) * sizeof(CombSpan));
	comb_nheld = 0;
	end = comb_series_last(series) + 1;
	settled->end = comb_lease_survives(series, &end) ? end : 0;

	/*
	 * The counters before "used" and the seats: a transaction that took a
	 * time up to theirs has announced itself there before.  With two counters
	 * this needs a full barrier: the transaction may have taken its time from
	 * the one that another transaction has moved beyond it only later.
	 */
	pg_memory_barrier();
	COMB_INJECTION_POINT("comb-counter-read");
	comb_seats_held(series, 0, &comb_seats->used, &view);
	/* these seats before the next ones, which have what has left these */
	pg_read_barrier();
	COMB_INJECTION_POINT("comb-seats-read");
	comb_seats_held(series, MaxBackends, &comb_seats->used_prepared, &view);
	comb_settled_between(settled, end);
	/* what is forgotten took times below the gap, before the server started */
	if (comb_any_forgotten(&view))
		settled->bound = COMB_UNKNOWN;
}

/* Return the calling statement's snapshot.  Raises 55000 and 25000, as below */
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
 * Find what is settled as the calling statement sees the database.  Raises the
 * errors of comb_settled_snapshot() and comb_lease_read(), and 40001 if nothing is
 * settled, and a query with the same snapshot got a bound before.
 *
 * There is no end if the plan may lack a table (comb_plan.c), if the snapshot does
 * not know all subtransactions or nobody knows the transaction's own, and if the
 * transaction has made keys of its own: the statement sees their rows, and nobody
 * else does.
 */
void
comb_settled_find(CombSeries series, CombSettled *settled)
{
	Snapshot	snapshot = comb_settled_snapshot();
	bool		hidden = comb_plan_hides(snapshot);
	uint64		before;

	if (comb_answer_find(series, snapshot, settled))
	{
		if (unlikely(hidden) && (settled->bound != COMB_UNKNOWN || settled->end != 0))
			ereport(ERROR,
					(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
					 errmsg("a table was rewritten or altered since the snapshot was taken"),
					 errdetail("Another query with the snapshot has a bound that does not hold for this table."),
					 errhint("Run the transaction again.")));
		return;
	}
	comb_settled_scan(series, snapshot, PG_INT64_MAX, settled);
	if (!comb_plan_knows(series, settled->bound, &before))
	{
		CombSettled late = {.bound = before};

		if (before == COMB_UNKNOWN)
			comb_settled_scan(series, snapshot,
							  GetCurrentTransactionStartTimestamp(), &late);
		settled->bound = Min(settled->bound, late.bound);
		settled->end = 0;
	}
	if (snapshot->suboverflowed || MyProc->subxidStatus.overflowed ||
		comb_own_seat[series] != NULL)
		settled->end = 0;
	if (unlikely(hidden))
		memset(settled, 0, sizeof(CombSettled));
	comb_answer_keep(series, snapshot, settled);
}

/* Return the smallest ordered key of a time, or the nil uuid if unknown */
pg_uuid_t *
comb_settled_key(uint64 time)
{
	pg_uuid_t  *id = (pg_uuid_t *) palloc(UUID_LEN);

	if (time != COMB_UNKNOWN)
		comb_v7_write_time(id->data, time, 0);
	else
		memset(id->data, 0, UUID_LEN);
	return id;
}

/*
 * comb_settled() returns uuid: a bound for ordered keys of this database.  The nil
 * uuid, which is smaller than all keys, if this snapshot knows none.  Raises the
 * errors of comb_settled_find(), and one of dynamic shared memory if there is none
 * left.
 */
Datum
comb_settled(PG_FUNCTION_ARGS)
{
	CombSettled settled;

	comb_settled_find(COMB_SERIES_ORDERED, &settled);
	PG_RETURN_UUID_P(comb_settled_key(settled.bound));
}

/*
 * comb_settled_support(internal) returns internal: a planner support function,
 * which changes nothing in the plan, see comb_plan.c and comb_warn.c.  Only superusers can
 * attach it, so it does not look at what is simplified.
 */
Datum
comb_settled_support(PG_FUNCTION_ARGS)
{
	SupportRequestSimplify *request =
		(SupportRequestSimplify *) PG_GETARG_POINTER(0);

	if (IsA(request, SupportRequestSimplify))
	{
		comb_plan_begin(request->root);
		comb_warn_begin(request->root, request->fcall->funcid);
	}
	PG_RETURN_POINTER(NULL);
}
