/*-------------------------------------------------------------------------
 *
 * comb_prepared.c
 *	  All that is about transactions prepared by PREPARE TRANSACTION.
 *
 * PostgreSQL does not call the module for COMMIT PREPARED and ROLLBACK PREPARED.
 * Nobody could take an announcement back.  A transaction that is prepared therefore
 * moves from its backend's seat to that of its PGPROC, and enters the history there
 * as if it had committed.  To a snapshot that does not see it, that makes no
 * difference.
 *
 * Copyright (c) 2026, pg_comb developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "storage/procarray.h"

#include "comb_order.h"

/* Is the transaction about to be prepared? */
bool		comb_preparing = false;

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
void
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
			comb_seat_make(series * COMB_PLACES + MaxBackends + number);
			pg_atomic_write_u64(&comb_seat(series, MaxBackends + number)->last,
								comb_full_xid(proc->xid, next));
		}
		(void) pg_atomic_monotonic_advance_u64(&comb_seats->used_prepared,
											   number + 1);
	}
	LWLockRelease(TwoPhaseStateLock);
}

/*
 * The transaction is going to be prepared, and nobody can tell in which PGPROC.
 * Make all seats of prepared transactions now, because nothing may fail later.
 */
void
comb_before_prepare(void)
{
	int			series;

	comb_preparing = true;
	for (series = 0; series < COMB_NSERIES; series++)
	{
		if (comb_own_seat[series] != NULL)
			comb_seats_make((CombSeries) series, MaxBackends,
							max_prepared_xacts);
	}
}

/*
 * The transaction has been prepared.  Enter it into the seats of its PGPROC,
 * before it leaves those of its backend.
 *
 * Nobody else writes to these seats until PostgreSQL lets other sessions
 * finish the transaction, which is later.
 *
 * Prepared transactions of one seat follow each other, too: the PGPROC is free
 * when the transaction before has ended.  But a later one may have announced
 * less than the history has, because it was in its backend's seat before the
 * earlier one began.  It has no times below its own announcement, so entries
 * that are lowered to this are true again.  A reader that has used an entry
 * before still finds the transaction in its backend's seat, where it stays
 * until all entries are lowered.
 */
void
comb_prepared_enter(const PGPROC *proc)
{
	FullTransactionId fxid = GetTopFullTransactionIdIfAny();
	uint32		number = comb_prepared_number(proc);
	int			series;

	(void) pg_atomic_monotonic_advance_u64(&comb_seats->used_prepared, number + 1);
	for (series = 0; series < COMB_NSERIES; series++)
	{
		CombSeat   *from = comb_own_seat[series];
		CombSeat   *seat;
		uint64		first;
		uint64		latest;
		int			i;

		if (from == NULL)
			continue;
		seat = comb_seat((CombSeries) series, MaxBackends + number);
		first = pg_atomic_read_u64(&from->first);
		latest = pg_atomic_read_u64(&from->latest);
		/* a call that failed in a savepoint has left it, and took nothing */
		if (latest == COMB_TAKING)
			latest = comb_series_last((CombSeries) series);
		seat->role = from->role;
		seat->start = from->start;
		seat->announced = first;
		(void) pg_atomic_monotonic_advance_u64(&seat->latest, latest);
		/* the rest before "last": for comb_unsettled() and comb_seats_held() */
		pg_write_barrier();
		for (i = 0; i < COMB_PAST; i++)
		{
			if (pg_atomic_read_u64(&seat->past[i].first) > first)
				pg_atomic_write_u64(&seat->past[i].first, first);
		}
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
void
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
 * May the snapshot have in progress what was prepared before the server started
 * and had ended when the seats were made?  Nothing is left of such a
 * transaction but its xid.  Other transactions of that time that have ended
 * look the same.
 */
bool
comb_any_forgotten(const CombView *view)
{
	uint64		started = comb_shared->started;
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

/*
 * Find the transaction that is prepared in a seat.  False if there is none, and for
 * those that were prepared before the server started: these have announced nothing.
 */
bool
comb_prepared_row(CombSeat *seat, const CombView *view, CombUnsettled *row)
{
	uint64		fxid = pg_atomic_read_u64(&seat->last);

	if (!comb_in_progress(view, fxid))
		return false;
	/* "last" before the rest, which must be its own */
	pg_read_barrier();
	row->xid = (TransactionId) fxid;
	row->role = seat->role;
	row->start = seat->start;
	row->first = seat->announced;

	/*
	 * The rest before this look: nobody writes to the seat while the
	 * transaction is prepared.
	 */
	pg_read_barrier();
	return row->first != 0 && TransactionIdIsInProgress(row->xid);
}
