/*-------------------------------------------------------------------------
 *
 * comb_announce.c
 *	  Transactions announce which times they take, for comb_settled().
 *
 * Keys are ordered by generation, and rows become visible by commit.  A
 * reader that wants to pass over no row must therefore stop at the smallest key
 * that a transaction unseen by its snapshot may have used.  Transactions leave
 * that information here, and comb_settled.c reads it.
 *
 * Every backend has a seat for each series, with cache lines of its own:
 *
 * - Before its transaction takes the first time from a counter, the backend
 *	 writes into the seat a lower bound of the times that the transaction is
 *	 going to take.  The announcement needs no barrier: the compare-and-swap
 *	 that takes the time keeps earlier writes before its own.  A reader that
 *	 reads the counter first, and the seats after a read barrier, sees the
 *	 announcement of every transaction that took a time up to the counter's.
 * - PostgreSQL calls the module after a commit has become visible to new
 *	 snapshots.  A reader's snapshot may be older.  The backend therefore
 *	 leaves the full xid in its seat before it takes the announcement back,
 *	 and the reader looks whether its snapshot sees this xid.
 * - A transaction that is prepared leaves its backend's seat for a seat of
 *	 prepared transactions.  There are as many of these as PostgreSQL has
 *	 PGPROCs for prepared transactions, and each transaction takes the seat of
 *	 its PGPROC.  PostgreSQL does not call the module for COMMIT PREPARED, so
 *	 nobody could take an announcement back.  The transaction therefore enters
 *	 the seat's history as if it had committed.  To a snapshot that does not see
 *	 it, that makes no difference.
 *
 * Transactions of one seat follow each other, and a counter only grows.  So do
 * the announcements of a seat: each is above all times of the transactions
 * before.  If a transaction is in progress to a snapshot, then all later ones
 * of the seat are, too.  The history of a seat rests on this.  An entry is a
 * pair: a transaction's announcement, and the xid of the seat's commit before
 * it.  If the snapshot sees that commit, then everything of the seat below the
 * announcement is settled.  This stays true for ever, so a reader may take any
 * entries, from whatever time, and use the largest announcement that it finds.
 *
 * Prepared transactions of one seat follow each other, too: the PGPROC is free
 * when the transaction before has ended.  But a later one may have made its
 * announcement earlier, before the earlier one began.  When a transaction
 * enters the seat, it therefore lowers all larger announcements of the history
 * to its own.  Until it has left its backend's seat, readers find it there.
 * Transactions of several databases share these seats.  That can make the
 * bound of an old snapshot smaller, and never that of a new one.
 *
 * The history has the last two entries.  The older the entries are, the fewer
 * of them it has: see comb_history_slot().  A snapshot that misses the last one
 * or two commits of a seat finds the announcement of the first one that it
 * misses.  A snapshot that misses k commits finds an announcement that is at
 * most 3 k commits old.  So the bound of an old snapshot lags behind, but moves
 * on with each later snapshot.
 *
 * A commit writes "prev" and "last", then after a barrier the entry's "first",
 * and ends the announcement.  A reader reads the announcement, then "last",
 * and of an entry first "first" and then "prev".  While an entry is
 * overwritten it may find the old "first" with the new "prev", which is true
 * as well.
 *
 * If a seat's backend or prepared transaction is of another database, a reader
 * has to care only for the transactions before.  If the snapshot sees the last
 * of them, it sees them all.
 *
 * Seats outlive backends, and their history stays valid.  They do not outlive
 * the server.  Of a transaction that was prepared before the server started,
 * nothing is left but its xid.  It enters its seat without an announcement, so
 * that nothing is settled for a snapshot that does not see it.
 *
 * If the module is preloaded, the server has reserved main memory for the
 * seats.  Otherwise their memory is a dynamic segment: with thousands of
 * connections it is too large for what the main segment keeps unreserved.
 * The segment is not in the registry of 17, because older versions need the
 * code below anyway.  Besides, the first releases of 17 and 18 did not try
 * again to make a segment of the registry after they had failed once.
 *
 * A writer that cannot have the memory fails, because without its announcement
 * readers could pass over its rows.
 *
 * Copyright (c) 2026, pg_comb developers
 *
 * IDENTIFICATION
 *	  src/ordered/comb_announce.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/parallel.h"
#include "access/transam.h"
#include "access/twophase.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "storage/dsm.h"
#include "storage/lwlock.h"
#include "storage/proc.h"
#include "storage/procarray.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "comb_announce.h"

CombSeats  *comb_seats = NULL;

/* Which series has this transaction announced? */
bool		comb_announced[COMB_SERIES];

Size
comb_seats_size(void)
{
	return add_size(offsetof(CombSeats, seats),
					mul_size(COMB_SERIES * sizeof(CombSeat),
							 add_size(MaxBackends, max_prepared_xacts)));
}

/*
 * Complete an xid that is in use or was in use recently.  "next" is the full
 * xid that comes next, read after the xid became known.
 */
uint64
comb_full_xid(TransactionId xid, uint64 next)
{
	return next - (uint32) ((uint32) next - xid);
}

static uint64
comb_next_full_xid(void)
{
	return U64FromFullTransactionId(ReadNextFullTransactionId());
}

/* The xids of a snapshot are older than the next one, read afterwards */
void
comb_view_init(CombView *view, Snapshot snapshot)
{
	view->snapshot = snapshot;
	view->next = comb_next_full_xid();
	view->xmin = comb_full_xid(snapshot->xmin, view->next);
	view->xmax = comb_full_xid(snapshot->xmax, view->next);
}

/*
 * Is a top-level transaction in progress to the snapshot?  As
 * XidInMVCCSnapshot(), for full xids.  All top-level xids stand in xip, even
 * if the array of subtransactions has overflowed.
 */
bool
comb_in_progress(const CombView *view, uint64 fxid)
{
	if (fxid < view->xmin)
		return false;
	if (fxid >= view->xmax)
		return true;
	return pg_lfind32((TransactionId) fxid, view->snapshot->xip,
					  view->snapshot->xcnt);
}

static void
comb_seat_init(CombSeat *seat)
{
	int			i;

	pg_atomic_init_u64(&seat->s.first, 0);
	pg_atomic_init_u64(&seat->s.last, 0);
	pg_atomic_init_u64(&seat->s.before, 0);
	pg_atomic_init_u32(&seat->s.database, InvalidOid);
	for (i = 0; i < COMB_PAST; i++)
	{
		pg_atomic_init_u64(&seat->s.past[i].prev, 0);
		pg_atomic_init_u64(&seat->s.past[i].first, 0);
	}
}

/*
 * Readers look only at seats that were ever taken.  "used" before the counter,
 * and "used_prepared" before the end of "first": a reader that sees the time of
 * a transaction must see that its seat is used.
 */
static void
comb_seats_use(pg_atomic_uint64 *used, uint32 number)
{
	if (unlikely(pg_atomic_read_u64(used) <= number))
		(void) pg_atomic_monotonic_advance_u64(used, (uint64) number + 1);
}

/*
 * PostgreSQL takes the last PGPROC of prepared transactions first.  So it is
 * number 0, and readers can stop at the last one that was ever used.
 */
static uint32
comb_prepared_number(const PGPROC *proc)
{
	return max_prepared_xacts - 1 - (uint32) (proc - PreparedXactProcs);
}

/*
 * Enter the transactions that were prepared before the server started into
 * their seats, without an announcement.
 *
 * A PGPROC that is free still has the xid of its last transaction.  A
 * snapshot that does not see that transaction must be kept back as well.
 */
static void
comb_seats_recover(CombSeats *seats)
{
	int			i;

	LWLockAcquire(TwoPhaseStateLock, LW_SHARED);
	for (i = 0; i < max_prepared_xacts; i++)
	{
		PGPROC	   *proc = &PreparedXactProcs[i];
		uint32		number = comb_prepared_number(proc);
		uint64		fxid;
		int			series;

		if (!TransactionIdIsValid(proc->xid) || !COMB_PROC_HAS_NO_BACKEND(proc))
			continue;
		fxid = comb_full_xid(proc->xid, seats->head.h.started);
		for (series = 0; series < COMB_SERIES; series++)
		{
			CombSeat   *seat = comb_prepared_seat(seats, series, number);

			pg_atomic_write_u64(&seat->s.last, fxid);
			pg_atomic_write_u32(&seat->s.database, proc->databaseId);
		}
		comb_seats_use(&seats->head.h.used_prepared, number);
	}
	LWLockRelease(TwoPhaseStateLock);
}

static void
comb_seats_init(CombSeats *seats)
{
	uint32		nseats = COMB_SERIES * (MaxBackends + max_prepared_xacts);
	uint32		i;

	memset(seats, 0, comb_seats_size());
	seats->head.h.started = comb_next_full_xid();
	pg_atomic_init_u64(&seats->head.h.used, 0);
	pg_atomic_init_u64(&seats->head.h.used_prepared, 0);
	seats->head.h.nbackends = MaxBackends;
	seats->head.h.nprepared = max_prepared_xacts;
	for (i = 0; i < nseats; i++)
		comb_seat_init(&seats->seats[i]);
	comb_seats_recover(seats);
}

static void
comb_seats_init_main(void *segment)
{
	comb_seats_init((CombSeats *) segment);
}

/*
 * Return the dynamic segment of the seats, and create it if no session has.
 */
static dsm_segment *
comb_seats_segment(void)
{
	pg_atomic_uint32 *known = &comb_shared->seats;
	dsm_handle	handle = pg_atomic_read_u32(known);
	dsm_segment *segment = NULL;

	if (handle == DSM_HANDLE_INVALID)
	{
		segment = dsm_create(comb_seats_size(), 0);
		comb_seats_init((CombSeats *) dsm_segment_address(segment));
		dsm_pin_segment(segment);
		if (!pg_atomic_compare_exchange_u32(known, &handle,
											dsm_segment_handle(segment)))
		{
			/* another session was faster, and "handle" is now its segment's */
			dsm_unpin_segment(dsm_segment_handle(segment));
			dsm_detach(segment);
			segment = NULL;
		}
	}
	if (segment == NULL)
		segment = dsm_attach(handle);
	if (segment == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("could not map dynamic shared memory segment")));
	return segment;
}

/*
 * Map the dynamic segment.  PostgreSQL's errors say what failed, but not that
 * there is another way to have this memory.
 */
static void
comb_seats_map(void)
{
	MemoryContext caller = CurrentMemoryContext;

	PG_TRY();
	{
		dsm_segment *segment = comb_seats_segment();

		dsm_pin_mapping(segment);
		comb_seats = (CombSeats *) dsm_segment_address(segment);
	}
	PG_CATCH();
	{
		ErrorData  *error;

		MemoryContextSwitchTo(caller);
		error = CopyErrorData();
		FlushErrorState();
		error->hint = pstrdup("Set \"shared_preload_libraries\" to \"pg_comb\", so that the server reserves this memory at its start.");
		ReThrowError(error);
	}
	PG_END_TRY();
}

/*
 * Map the seats.  Raises PostgreSQL's error if the memory cannot be had.  Not
 * on a standby, where the next xid is not known.
 */
void
comb_seats_attach(void)
{
	if (likely(comb_seats != NULL))
		return;
	Assert(!RecoveryInProgress());
	if (comb_preloaded)
	{
		comb_seats = (CombSeats *) comb_main_segment("pg_comb 6 seats",
													 comb_seats_size(),
													 comb_seats_init_main);
		return;
	}
	COMB_INJECTION_POINT("comb-seats-attach");
	comb_seats_map();
}

/*
 * Return the slot of an entry: the number of zeros at the end of the entry's
 * number.  Half of the entries go to slot 0, and each slot has its latest one.
 * Entry 0, with the seat's first announcement, is in the last slot, which the
 * next entry takes after 2^20 commits.
 */
static uint32
comb_history_slot(uint64 number)
{
	if (number == 0)
		return COMB_PAST - 1;
	return Min(pg_rightmost_one_pos64(number), COMB_PAST - 1);
}

/* Remember a transaction that is leaving its seat, and what it announced */
static void
comb_history_put(CombSeat *seat, uint64 fxid, uint64 first)
{
	CombPast   *past = &seat->s.past[comb_history_slot(seat->s.commits++)];

	pg_atomic_write_u64(&past->prev, pg_atomic_read_u64(&seat->s.last));
	pg_atomic_write_u64(&seat->s.last, fxid);

	/*
	 * "prev" before "first": a reader that sees the new "first" must see the
	 * new "prev".  And "last" before the end of the announcement: a reader
	 * that finds none must look at the history.
	 */
	pg_write_barrier();
	COMB_INJECTION_POINT("comb-history-entry");
	pg_atomic_write_u64(&past->first, first);
}

/* Let no entry of a seat's history promise more than an announcement */
static void
comb_history_lower(CombSeat *seat, uint64 first)
{
	int			i;

	for (i = 0; i < COMB_PAST; i++)
	{
		if (pg_atomic_read_u64(&seat->s.past[i].first) > first)
			pg_atomic_write_u64(&seat->s.past[i].first, first);
	}
}

/* Take a seat over from transactions of another database */
static void
comb_seat_move(CombSeat *seat)
{
	pg_atomic_write_u64(&seat->s.before, pg_atomic_read_u64(&seat->s.last));

	/*
	 * "before" before "database": a reader of the old database that finds the
	 * new one must see which transactions came before.
	 */
	pg_write_barrier();
	pg_atomic_write_u32(&seat->s.database, MyDatabaseId);
}

/*
 * The transaction has been prepared.  Enter it into the seats of its PGPROC,
 * before it leaves those of its backend.
 *
 * Nobody else writes to these seats until PostgreSQL lets other sessions
 * finish the transaction, which is later.
 */
static void
comb_prepared_enter(void)
{
	FullTransactionId fxid = GetTopFullTransactionIdIfAny();
	uint32		number = comb_prepared_number(TwoPhaseGetDummyProc(fxid, false));
	int			series;

	comb_seats_use(&comb_seats->head.h.used_prepared, number);
	for (series = 0; series < COMB_SERIES; series++)
	{
		CombSeat   *from = comb_seat(series, MyProcNumber);
		CombSeat   *seat = comb_prepared_seat(comb_seats, series, number);
		uint64		first = pg_atomic_read_u64(&from->s.first);

		if (!comb_announced[series])
			continue;
		if (pg_atomic_read_u32(&seat->s.database) != MyDatabaseId)
			comb_seat_move(seat);
		seat->s.start = from->s.start;
		/* the rest before "last": for comb_unsettled() */
		pg_write_barrier();
		comb_history_lower(seat, first);
		comb_history_put(seat, U64FromFullTransactionId(fxid), first);
	}

	/*
	 * The history before the end of "first": a reader that sees "first" gone
	 * must find what holds now.
	 */
	pg_write_barrier();
}

/*
 * Take everything back that the transaction announced.  "fxid" is its full
 * xid if it has committed, and 0 if nobody will ever see its rows or if it has
 * been prepared.
 */
static void
comb_take_back(uint64 fxid)
{
	int			series;

	for (series = 0; series < COMB_SERIES; series++)
	{
		if (comb_announced[series])
		{
			CombSeat   *seat = comb_seat(series, MyProcNumber);

			COMB_INJECTION_POINT("comb-end-seat");
			if (fxid != 0)
				comb_history_put(seat, fxid,
								 pg_atomic_read_u64(&seat->s.first));
			COMB_INJECTION_POINT("comb-end-clear");
			pg_atomic_write_u64(&seat->s.first, 0);
			comb_announced[series] = false;
		}
	}
}

/*
 * End of a top-level transaction, for RegisterXactCallback().  Nothing here may
 * fail or allocate.
 */
void
comb_at_end(XactEvent event, void *arg)
{
	switch (event)
	{
		case XACT_EVENT_COMMIT:
			comb_take_back(U64FromFullTransactionId(GetTopFullTransactionIdIfAny()));
			break;
		case XACT_EVENT_PREPARE:
			if (comb_announced[COMB_SERIES_ORDERED] ||
				comb_announced[COMB_SERIES_SNOWFLAKE])
				comb_prepared_enter();
			comb_take_back(0);
			break;
		case XACT_EVENT_ABORT:
			comb_take_back(0);
			break;
		default:
			break;
	}
}

/*
 * Announce that this transaction is going to take times from the counter of a
 * series, none of them below what the counter has now + 1.
 */
void
comb_announce(CombSeries series)
{
	CombSeat   *seat;
	uint64		first;

	if (IsParallelWorker())
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TRANSACTION_STATE),
				 errmsg("cannot generate ordered keys or Snowflakes in a parallel worker"),
				 errhint("Mark functions that generate them PARALLEL RESTRICTED.")));
	comb_seats_attach();
	Assert((uint32) MyProcNumber < comb_seats->head.h.nbackends);
	seat = comb_seat(series, MyProcNumber);
	comb_seats_use(&comb_seats->head.h.used, MyProcNumber);
	if (pg_atomic_read_u32(&seat->s.database) != MyDatabaseId)
		comb_seat_move(seat);
	seat->s.pid = MyProcPid;
	seat->s.start = GetCurrentTransactionStartTimestamp();

	/*
	 * The pid and the database before "first": for comb_unsettled(), which
	 * must not show another backend's.  comb_settled() needs no order here.
	 * It asks only for keys up to the counter that it has read, and whoever
	 * sees the counter moved sees all stores of this function: they come
	 * before the compare-and-swap.
	 */
	pg_write_barrier();
	first = pg_atomic_read_u64(comb_counter(series)) + 1;
	COMB_INJECTION_POINT("comb-announce");
	pg_atomic_write_u64(&seat->s.first, first);
	comb_announced[series] = true;
}
