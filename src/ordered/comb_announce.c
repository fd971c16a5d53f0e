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
 * In each database that it uses, a backend has a seat for each series, with
 * cache lines of its own:
 *
 * - Before its transaction takes the first time from a counter, the backend
 *	 writes into the seat a lower bound of the times that the transaction is
 *	 going to take: comb_announce().
 * - PostgreSQL calls the module after a commit has become visible to new
 *	 snapshots.  A reader's snapshot may be older.  So the commit enters the
 *	 seat's history before the backend takes the announcement back:
 *	 comb_history_put().
 * - A transaction that is prepared moves from its backend's seat to a seat of
 *	 prepared transactions: comb_prepared_enter().
 *
 * Seats outlive backends, and what their history says stays true.  They do not
 * outlive the server: comb_seats_recover().
 *
 * Readers take no lock.  They look at these places in the opposite order, and
 * each barrier here has its counterpart there: test/models/barriers.list.
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
#include "storage/lwlock.h"
#include "storage/proc.h"
#include "storage/procarray.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "comb_ordered.h"

CombSeats  *comb_seats = NULL;

/* Which series has this transaction announced? */
bool		comb_announced[COMB_NSERIES];

/* In which command?  Later ones can see rows with its keys */
CommandId	comb_announced_command[COMB_NSERIES];

/* This backend's seat, if the transaction has announced the series */
CombSeat   *comb_own_seat[COMB_NSERIES];

/* Has this process found them with all that belongs into them? */
static bool comb_seats_attached = false;

/* Where this process has mapped the seats of "places", or NULL */
static CombSeat **comb_seats_mapped;

/* Is the transaction about to be prepared? */
static bool comb_preparing = false;

/* Has this transaction announced anything? */
static bool
comb_announced_any(void)
{
	return comb_announced[COMB_SERIES_ORDERED] ||
		comb_announced[COMB_SERIES_SNOWFLAKE];
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

uint64
comb_next_full_xid(void)
{
	return U64FromFullTransactionId(ReadNextFullTransactionId());
}

/* The xids of a snapshot are older than the next one, read afterwards */
void
comb_view_init(CombView *view, Snapshot snapshot)
{
	view->snapshot = snapshot;
	view->until = PG_INT64_MAX;
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

/* How many places a series has */
static uint32
comb_places(void)
{
	return MaxBackends + max_prepared_xacts;
}

static void
comb_seat_init(CombSeat *seat)
{
	int			i;

	pg_atomic_init_u64(&seat->first, 0);
	pg_atomic_init_u64(&seat->last, 0);
	pg_atomic_init_u64(&seat->ended, (uint64) PG_INT64_MIN);
	pg_atomic_init_u64(&seat->latest, 0);
	seat->commits = 0;
	pg_atomic_init_u64(&seat->counted, 0);
	for (i = 0; i < COMB_PAST; i++)
	{
		pg_atomic_init_u64(&seat->past[i].prev, 0);
		pg_atomic_init_u64(&seat->past[i].ended, (uint64) PG_INT64_MIN);
		pg_atomic_init_u64(&seat->past[i].first, 0);
	}
}

/* Return the seat of a place, or NULL if nobody has taken it */
static CombSeat *
comb_seat_at(uint32 place)
{
	dsa_pointer pointer;

	if (likely(comb_seats_mapped[place] != NULL))
		return comb_seats_mapped[place];
	pointer = dsa_pointer_atomic_read(&comb_seats->places[place]);
	if (!DsaPointerIsValid(pointer))
		return NULL;
	/* the place before its seat, which was made first */
	pg_read_barrier();
	comb_seats_mapped[place] = (CombSeat *) comb_shared_address(pointer);
	return comb_seats_mapped[place];
}

/* Return a backend's seat, or NULL */
CombSeat *
comb_seat(CombSeries series, uint32 number)
{
	return comb_seat_at(series * comb_places() + number);
}

/* Return a seat of prepared transactions, or NULL */
CombSeat *
comb_prepared_seat(CombSeries series, uint32 number)
{
	return comb_seat_at(series * comb_places() + MaxBackends + number);
}

/*
 * Make the seat of a place, unless it exists.  The caller holds the lock.
 *
 * A seat gets its memory when it is taken for the first time, so a database has
 * no more seats than it has had backends at a time.  If there is no memory, the
 * writer fails: without its announcement readers could pass over its rows.
 */
static void
comb_seat_make(uint32 place)
{
	dsa_pointer_atomic *known = &comb_seats->places[place];
	dsa_pointer pointer;

	if (DsaPointerIsValid(dsa_pointer_atomic_read(known)))
		return;
	pointer = comb_shared_allocate(sizeof(CombSeat));
	comb_seat_init((CombSeat *) comb_shared_address(pointer));
	/* the seat before its place, which readers look at without the lock */
	pg_write_barrier();
	dsa_pointer_atomic_write(known, pointer);
}

/* Make the seats of "n" places of a series from "number" on, and map them */
static void
comb_seats_make(CombSeries series, uint32 number, uint32 n)
{
	uint32		place = series * comb_places() + number;
	uint32		i;

	for (i = place; i < place + n; i++)
	{
		if (comb_seat_at(i) != NULL)
			continue;
		LWLockAcquire(&comb_shared->lock, LW_EXCLUSIVE);
		comb_seat_make(i);
		LWLockRelease(&comb_shared->lock);
		(void) comb_seat_at(i);
	}
}

/*
 * Readers look only at seats below "used", or "used_prepared".  The caller marks
 * its seat before it takes a time from the counter, or before it leaves another
 * seat.  So a reader that sees the time, or that finds the other seat empty,
 * looks at this one: the exchange keeps its place among the caller's writes.
 */
static void
comb_seats_mark_used(pg_atomic_uint64 *used, uint32 number)
{
	if (unlikely(pg_atomic_read_u64(used) <= number))
		(void) pg_atomic_monotonic_advance_u64(used, (uint64) number + 1);
}

/*
 * Return the number of a prepared transaction's seat.  There are as many seats
 * as PostgreSQL has PGPROCs for prepared transactions, and each transaction
 * takes the seat of its PGPROC.  PostgreSQL hands out the last PGPROC first, so
 * this one has number 0, and "used_prepared" stays small.
 */
static uint32
comb_prepared_number(const PGPROC *proc)
{
	return max_prepared_xacts - 1 - (uint32) (proc - PreparedXactProcs);
}

/*
 * Enter the transactions of this database that were prepared before the server
 * started into their seats.  Nothing is left of their announcements.  An empty
 * history settles nothing for a snapshot that does not see "last".  Those that
 * have ended by now are left to comb_any_forgotten().
 */
static void
comb_seats_recover(void)
{
	uint64		next = comb_next_full_xid();
	int			i;

	LWLockAcquire(TwoPhaseStateLock, LW_SHARED);
	for (i = 0; i < max_prepared_xacts; i++)
	{
		PGPROC	   *proc = &PreparedXactProcs[i];
		uint32		number = comb_prepared_number(proc);
		int			series;

		if (proc->databaseId != MyDatabaseId ||
			!COMB_PROC_HAS_NO_BACKEND(proc) ||
			!TransactionIdIsInProgress(proc->xid))
			continue;
		for (series = 0; series < COMB_NSERIES; series++)
		{
			comb_seat_make(series * comb_places() + MaxBackends + number);
			pg_atomic_write_u64(&comb_prepared_seat(series, number)->last,
								comb_full_xid(proc->xid, next));
		}
		comb_seats_mark_used(&comb_seats->used_prepared, number);
	}
	LWLockRelease(TwoPhaseStateLock);
}

/*
 * Make the seats those of this database.  They are new, or those of a database
 * that was dropped.
 */
static void
comb_seats_init(void)
{
	uint32		i;

	pg_atomic_init_u64(&comb_seats->used, 0);
	pg_atomic_init_u64(&comb_seats->used_prepared, 0);
	for (i = 0; i < COMB_NSERIES * comb_places(); i++)
	{
		if (comb_seat_at(i) != NULL)
			comb_seat_init(comb_seat_at(i));
	}
	comb_seats_recover();
}

/* Find or make the seats of the database.  The caller holds the lock */
static CombSeats *
comb_seats_find(void)
{
	uint32		nplaces = COMB_NSERIES * comb_places();
	CombSeats  *seats;
	dsa_pointer pointer = comb_database->seats;
	uint32		i;

	if (DsaPointerIsValid(pointer))
		return (CombSeats *) comb_shared_address(pointer);
	pointer = comb_shared_allocate(add_size(offsetof(CombSeats, places),
											mul_size(nplaces,
													 sizeof(dsa_pointer_atomic))));
	seats = (CombSeats *) comb_shared_address(pointer);
	for (i = 0; i < nplaces; i++)
		dsa_pointer_atomic_init(&seats->places[i], InvalidDsaPointer);
	comb_database->seats = pointer;
	return seats;
}

/*
 * Map the seats of the database.  Raises PostgreSQL's error if the memory
 * cannot be had.
 */
void
comb_seats_attach(void)
{
	if (likely(comb_seats_attached))
		return;
	comb_shared_attach();
	if (comb_seats_mapped == NULL)
		comb_seats_mapped = (CombSeat **)
			MemoryContextAllocZero(TopMemoryContext,
								   mul_size(COMB_NSERIES * sizeof(CombSeat *),
											comb_places()));
	LWLockAcquire(&comb_shared->lock, LW_EXCLUSIVE);
	comb_seats = comb_seats_find();
	if (!comb_database->seats_ready)
		comb_seats_init();
	comb_database->seats_ready = true;
	LWLockRelease(&comb_shared->lock);
	/* not if memory for a prepared transaction's seats was missing */
	comb_seats_attached = true;
}

/*
 * Return the slot of an entry: the number of zeros at the end of the entry's
 * number.  Each slot keeps its latest entry.  Entry 0, with the seat's first
 * announcement, is in the last slot, which the next entry takes after 2^20
 * commits.
 *
 * So the history has, for each t, the last two entries whose numbers are
 * multiples of 2^t: one of them is an odd multiple and the latest one in slot
 * t, and the other one is the latest in its slot, because the multiple of
 * 2^(t+1) after it is not there yet.  With t = 0 these are the last two entries
 * of all: a snapshot that misses one or two commits finds the announcement of
 * the first one that it misses.  A snapshot that misses k commits, 2^t <= k <
 * 2^(t+1), needs an entry that is k or more from the end.  The last two
 * multiples of 2^t or those of 2^(t+1) have one, which is at most 3 k from the
 * end.  So the bound of an old snapshot lags behind, but moves on with each later
 * snapshot.
 */
static uint32
comb_history_slot(uint64 number)
{
	if (number == 0)
		return COMB_PAST - 1;
	return Min(pg_rightmost_one_pos64(number), COMB_PAST - 1);
}

/*
 * Remember a transaction that is leaving its seat, and what it announced.
 *
 * The entry says: a snapshot that sees the seat's last commit before this
 * transaction, "prev", sees every transaction of the seat with times below
 * "first".  Transactions of a seat follow each other, so the snapshot sees all
 * up to "prev".  A counter only grows, so this transaction and all later ones
 * have times from "first" on.  comb_history_lower() takes care of the exception.
 *
 * What an entry says stays true for ever.  So a reader may use any entries, from
 * whatever times, and takes the largest "first" whose "prev" it sees.
 *
 * A session's first query asks what was settled when its transaction began
 * (comb_plan.c).  For this, "ended" is when PostgreSQL began to commit "prev":
 * all its rows were written before.
 */
static void
comb_history_put(CombSeat *seat, uint64 fxid, uint64 first)
{
	CombPast   *past = &seat->past[comb_history_slot(seat->commits++)];

	pg_atomic_write_u64(&past->prev, pg_atomic_read_u64(&seat->last));
	pg_atomic_write_u64(&past->ended, pg_atomic_read_u64(&seat->ended));
	pg_atomic_write_u64(&seat->last, fxid);
	pg_atomic_write_u64(&seat->ended, (uint64) GetCurrentTransactionStopTimestamp());

	/*
	 * "prev" and "ended" before "first", which readers read in the opposite
	 * order.  The new "first" never comes with the old ones.  The old "first"
	 * may come with any of the new ones, which is true as well: whoever sees
	 * a later commit of the seat sees the earlier one, which ended earlier.
	 *
	 * And "last" before the end of the announcement: a reader that finds none
	 * must look at the history.
	 */
	pg_write_barrier();
	COMB_INJECTION_POINT("comb-history-entry");
	pg_atomic_write_u64(&past->first, first);
}

/*
 * Let no entry of a seat's history promise more than an announcement.
 *
 * Prepared transactions of one seat follow each other, too: the PGPROC is free
 * when the transaction before has ended.  But a later one may have announced
 * less than the history has, because it was in its backend's seat before the
 * earlier one began.  It has no times below its own announcement, so entries
 * that are lowered to this are true again.  A reader that has used an entry
 * before still finds the transaction in its backend's seat, where it stays
 * until all entries are lowered.
 */
static void
comb_history_lower(CombSeat *seat, uint64 first)
{
	int			i;

	for (i = 0; i < COMB_PAST; i++)
	{
		if (pg_atomic_read_u64(&seat->past[i].first) > first)
			pg_atomic_write_u64(&seat->past[i].first, first);
	}
}

/*
 * The transaction is going to be prepared, and nobody can tell in which PGPROC.
 * Make all seats of prepared transactions now, because nothing may fail later.
 */
static void
comb_before_prepare(void)
{
	int			series;

	comb_preparing = true;
	for (series = 0; series < COMB_NSERIES; series++)
	{
		if (comb_announced[series])
			comb_seats_make((CombSeries) series, MaxBackends,
							max_prepared_xacts);
	}
}

/*
 * The transaction has been prepared.  Enter it into the seats of its PGPROC,
 * before it leaves those of its backend.
 *
 * PostgreSQL does not call the module for COMMIT PREPARED, so nobody could take
 * an announcement back.  The transaction therefore enters the history as if it
 * had committed.  To a snapshot that does not see it, that makes no difference.
 *
 * Nobody else writes to these seats until PostgreSQL lets other sessions
 * finish the transaction, which is later.
 */
static void
comb_prepared_enter(const PGPROC *proc)
{
	FullTransactionId fxid = GetTopFullTransactionIdIfAny();
	uint32		number = comb_prepared_number(proc);
	int			series;

	comb_seats_mark_used(&comb_seats->used_prepared, number);
	for (series = 0; series < COMB_NSERIES; series++)
	{
		CombSeat   *from;
		CombSeat   *seat;
		uint64		first;
		uint64		latest;

		if (!comb_announced[series])
			continue;
		from = comb_seat((CombSeries) series, MyProcNumber);
		seat = comb_prepared_seat((CombSeries) series, number);
		first = pg_atomic_read_u64(&from->first);
		latest = pg_atomic_read_u64(&from->latest);
		/* a call that failed in a savepoint has left it, and took nothing */
		if (latest == COMB_TAKING)
			latest = comb_series_last((CombSeries) series);
		seat->role = from->role;
		seat->start = from->start;
		(void) pg_atomic_monotonic_advance_u64(&seat->latest, latest);
		/* the rest before "last": for comb_unsettled() and comb_seats_held() */
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
 * PREPARE has failed.  If another module has raised the error at
 * XACT_EVENT_PREPARE, before it was our turn, then the transaction is prepared
 * all the same, and other sessions can finish it.  So enter it while the lock
 * keeps its PGPROC from passing to another transaction.
 *
 * A PGPROC that is free still has the xid of its last transaction.  Entering
 * one that has ended does no harm.
 */
static void
comb_prepared_enter_failed(void)
{
	TransactionId xid = GetTopTransactionIdIfAny();
	int			i;

	if (!TransactionIdIsValid(xid))
		return;
	LWLockAcquire(TwoPhaseStateLock, LW_SHARED);
	for (i = 0; i < max_prepared_xacts; i++)
	{
		if (PreparedXactProcs[i].xid == xid)
			comb_prepared_enter(&PreparedXactProcs[i]);
	}
	LWLockRelease(TwoPhaseStateLock);
}

/*
 * Take everything back that the transaction announced.  "fxid" is its full
 * xid if it has committed, and 0 if nobody will ever see its rows or if it has
 * been prepared.
 */
static void
comb_take_back(uint64 fxid)
{
	bool		any = comb_announced_any();
	int			series;

	comb_preparing = false;
	for (series = 0; series < COMB_NSERIES; series++)
	{
		if (comb_announced[series])
		{
			CombSeat   *seat = comb_seat(series, MyProcNumber);

			COMB_INJECTION_POINT("comb-end-seat");
			if (fxid != 0)
				comb_history_put(seat, fxid,
								 pg_atomic_read_u64(&seat->first));
			COMB_INJECTION_POINT("comb-end-clear");
			pg_atomic_write_u64(&seat->first, 0);
			comb_announced[series] = false;
		}
	}
	/* last, so that the session that wakes finds all of the above done */
	if (any)
		comb_count_end();
}

/*
 * End of a top-level transaction, for RegisterXactCallback().  Nothing here may
 * fail or allocate, except for PRE_PREPARE.
 */
void
comb_xact_callback(XactEvent event, void *arg)
{
	switch (event)
	{
		case XACT_EVENT_PRE_PREPARE:
			comb_before_prepare();
			break;
		case XACT_EVENT_COMMIT:
			comb_take_back(U64FromFullTransactionId(GetTopFullTransactionIdIfAny()));
			break;
		case XACT_EVENT_PREPARE:
			if (comb_announced_any())
				comb_prepared_enter(TwoPhaseGetDummyProc(GetTopFullTransactionIdIfAny(), false));
			comb_take_back(0);
			break;
		case XACT_EVENT_ABORT:
			if (comb_preparing && comb_announced_any())
				comb_prepared_enter_failed();
			comb_take_back(0);
			break;
		default:
			break;
	}
}

/*
 * Announce that this transaction is going to take times from the counter of a
 * series, none of them below what the counter has now + 1.
 *
 * After a pause the announcement is as old as the series' last key.  A bound
 * made of it looks old then, but holds nothing back: no key was made in the
 * pause.  The clock would not do as an announcement, because the clock can be
 * set back before the key is made.
 *
 * In a database without keys the announcement is 1, a time of 1970.  It is the
 * bound for a snapshot that misses more than a third of the seat's commits while
 * these are few, see comb_history_slot().
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
	comb_seats_make(series, MyProcNumber, 1);
	if (unlikely(comb_preparing))
		comb_seats_make(series, MaxBackends, max_prepared_xacts);
	seat = comb_seat(series, MyProcNumber);
	comb_seats_mark_used(&comb_seats->used, MyProcNumber);
	seat->pid = MyProcPid;
	seat->role = GetSessionUserId();
	seat->start = GetCurrentTransactionStartTimestamp();

	/*
	 * The pid before "first": for comb_unsettled(), which must not show
	 * another backend's.
	 *
	 * comb_settled() needs no barrier here.  It reads the counter first, and
	 * the seats after a barrier of its own.  The time is taken by a
	 * compare-and-swap, which keeps all stores of this function before it. So
	 * a reader that sees the counter moved by us sees our announcement.
	 */
	pg_write_barrier();
	first = comb_series_last(series) + 1;
	COMB_INJECTION_POINT("comb-announce");
	pg_atomic_write_u64(&seat->first, first);
	comb_own_seat[series] = seat;
	comb_announced_command[series] = GetCurrentCommandId(false);
	comb_announced[series] = true;
	COMB_INJECTION_POINT("comb-announced");
}
