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
 * cache lines of its own (comb_seats.c):
 *
 * - Before its transaction takes the first time from a counter, the backend
 *	 writes a lower bound of the transaction's times into the seat:
 *	 comb_announce().
 * - PostgreSQL calls the module after a commit has become visible to new
 *	 snapshots.  A reader's snapshot may be older.  So the commit enters the
 *	 seat's history before the backend takes the announcement back:
 *	 comb_take_back().
 * - A transaction that is prepared moves to another seat (comb_prepared.c).
 *
 * Seats outlive backends, and what their history says stays true.  They do not
 * outlive the server: comb_seats_recover().
 *
 * Readers take no lock.  They look at these places in the opposite order, and
 * each barrier here has its counterpart there: test/models/barriers.list.
 *
 * Copyright (c) 2026, pg_comb developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/parallel.h"

#include "comb_order.h"

/* Has this process found the seats with all that belongs into them? */
static bool comb_seats_attached = false;

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
	LWLockAcquire(&comb_shared->lock, LW_EXCLUSIVE);
	comb_seats_find();
	if (!comb_database->seats_ready)
		comb_seats_recover();
	comb_database->seats_ready = true;
	LWLockRelease(&comb_shared->lock);
	/* not if memory for a prepared transaction's seats was missing */
	comb_seats_attached = true;
}

/* Has this transaction announced anything? */
static bool
comb_announced_any(void)
{
	return comb_own_seat[COMB_SERIES_ORDERED] != NULL ||
		comb_own_seat[COMB_SERIES_SNOWFLAKE] != NULL;
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
		CombSeat   *seat = comb_own_seat[series];

		if (seat != NULL)
		{
			COMB_INJECTION_POINT("comb-end-seat");
			if (fxid != 0)
				comb_history_put(seat, fxid,
								 pg_atomic_read_u64(&seat->first));
			COMB_INJECTION_POINT("comb-end-clear");
			pg_atomic_write_u64(&seat->first, 0);
			comb_own_seat[series] = NULL;
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
				comb_prepared_enter(comb_dummy_proc(GetTopFullTransactionIdIfAny()));
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
 * these are few, see comb_history_put().
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
	comb_seats_make(series, comb_proc_number(), 1);
	if (unlikely(comb_preparing))
		comb_seats_make(series, MaxBackends, max_prepared_xacts);
	seat = comb_seat(series, comb_proc_number());
	(void) pg_atomic_monotonic_advance_u64(&comb_seats->used,
										   comb_proc_number() + 1);
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
	comb_announced_command[series] = GetCurrentCommandId(false);
	comb_own_seat[series] = seat;
	COMB_INJECTION_POINT("comb-announced");
}
