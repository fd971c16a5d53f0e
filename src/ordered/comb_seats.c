/*-------------------------------------------------------------------------
 *
 * comb_seats.c
 *	  Seats, in which transactions announce which times they take, and their
 *	  history.
 *
 * Copyright (c) 2026, pg_comb developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "comb_order.h"

CombSeats  *comb_seats = NULL;

/* This backend's seat, or NULL if the transaction has not announced the series */
CombSeat   *comb_own_seat[COMB_NSERIES];

/* In which command it has.  Later ones can see rows with its keys */
CommandId	comb_announced_command[COMB_NSERIES];

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
comb_view_init(CombView *view, Snapshot snapshot, TimestampTz until)
{
	view->snapshot = snapshot;
	view->until = until;
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

	pg_atomic_init_u64(&seat->first, 0);
	pg_atomic_init_u64(&seat->last, 0);
	pg_atomic_init_u64(&seat->ended, (uint64) PG_INT64_MIN);
	pg_atomic_init_u64(&seat->latest, 0);
	seat->announced = 0;
	seat->commits = UINT64CONST(1) << (COMB_PAST - 1);
	for (i = 0; i < COMB_PAST; i++)
	{
		pg_atomic_init_u64(&seat->past[i].prev, 0);
		pg_atomic_init_u64(&seat->past[i].ended, (uint64) PG_INT64_MIN);
		pg_atomic_init_u64(&seat->past[i].first, 0);
	}
}

/*
 * Return the seat of a place, or NULL if nobody has taken it.  The first call maps
 * the seat, and may fail.  Later calls cannot.
 */
static CombSeat *
comb_seat_at(uint32 place)
{
	dsa_pointer pointer = dsa_pointer_atomic_read(&comb_seats->places[place]);

	if (!DsaPointerIsValid(pointer))
		return NULL;
	/* the place before its seat, which was made first */
	pg_read_barrier();
	return (CombSeat *) comb_shared_address(pointer);
}

/* Return a seat of a series, or NULL.  Those of backends come first */
CombSeat *
comb_seat(CombSeries series, uint32 number)
{
	return comb_seat_at(series * COMB_PLACES + number);
}

/*
 * Make the seat of a place, unless it exists.  The caller holds the lock.
 *
 * A seat gets its memory when it is taken for the first time, so a database has
 * no more seats than it has had backends at a time.  If there is no memory, the
 * writer fails: without its announcement readers could pass over its rows.
 */
void
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
void
comb_seats_make(CombSeries series, uint32 number, uint32 n)
{
	uint32		place = series * COMB_PLACES + number;
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
 * Find or make the seats of the database.  Unless these are ready, they are new, or
 * those of a database that was dropped.  The caller holds the lock.
 */
void
comb_seats_find(void)
{
	uint32		nplaces = COMB_NSERIES * COMB_PLACES;
	bool		made = !DsaPointerIsValid(comb_database->seats);
	uint32		i;

	if (made)
		comb_database->seats =
			comb_shared_allocate(add_size(offsetof(CombSeats, places),
										  mul_size(nplaces,
												   sizeof(dsa_pointer_atomic))));
	comb_seats = (CombSeats *) comb_shared_address(comb_database->seats);
	if (comb_database->seats_ready)
		return;
	pg_atomic_init_u64(&comb_seats->used, 0);
	pg_atomic_init_u64(&comb_seats->used_prepared, 0);
	for (i = 0; i < nplaces; i++)
	{
		if (made)
			dsa_pointer_atomic_init(&comb_seats->places[i], InvalidDsaPointer);
		else if (comb_seat_at(i) != NULL)
			comb_seat_init(comb_seat_at(i));
	}
}

/*
 * Remember a transaction that is leaving its seat, and what it announced.
 *
 * The entry says: a snapshot that sees the seat's last commit before this
 * transaction, "prev", sees every transaction of the seat with times below
 * "first".  Transactions of a seat follow each other, so the snapshot sees all
 * up to "prev".  A counter only grows, so this transaction and all later ones
 * have times from "first" on.  comb_prepared_enter() takes care of the exception.
 *
 * The slot of an entry is the number of zeros at the end of the entry's number, and
 * numbers begin at 2^20.  Each slot keeps its latest entry.  After 13 commits the
 * slots have, without 2^20,
 *
 *		slot	0	1	2	3	...		20
 *		entry	11	10	12	8			0
 *
 * The history thus has the last two entries, and is less dense the older they
 * are.  A snapshot that misses k commits finds an entry among those from k to 3 k
 * commits before the end.  So the bound of an old snapshot lags behind, but moves
 * on with each later snapshot.
 *
 * What an entry says stays true for ever.  So a reader may use any entries, from
 * whatever times, and takes the largest "first" whose "prev" it sees.
 *
 * "ended" is when PostgreSQL began to commit "prev", after all its rows were
 * written: for who asks what was settled when a transaction began
 * (comb_plan.c).
 */
void
comb_history_put(CombSeat *seat, uint64 fxid, uint64 first)
{
	int			slot = pg_rightmost_one_pos64(seat->commits++);
	CombPast   *past = &seat->past[Min(slot, COMB_PAST - 1)];

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
