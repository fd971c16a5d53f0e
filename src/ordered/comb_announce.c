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
 * - A transaction that is prepared leaves its seat for an entry in a list.
 *	 PostgreSQL does not call the module for COMMIT PREPARED, so nobody clears
 *	 the entry.
 *	 A new transaction takes an entry that no snapshot can need any more.
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
 * The history keeps ever fewer of the older entries.  The n-th goes to the
 * slot of comb_history_slot().  A snapshot that misses the last one or two
 * commits of a seat finds the announcement of the first one that it misses.  A
 * snapshot that misses k commits finds an announcement that is at most 3 k old.
 * So the bound of an old snapshot lags behind, but moves on with each later
 * snapshot.
 *
 * A commit writes "prev" and "last", then after a barrier the entry's "first",
 * and ends the announcement.  A reader reads the announcement, then "last",
 * and of an entry first "first" and then "prev".  While an entry is
 * overwritten it may find the old "first" with the new "prev", which is true
 * as well.
 *
 * If the seat's backend is in another database, a reader has to care only for
 * the transactions before that backend's.  If the snapshot sees the last of
 * them, it sees them all.
 *
 * Seats outlive backends, and their history stays valid.
 *
 * If the module is preloaded, the server has reserved main memory for the
 * seats.  Otherwise their memory is a dynamic segment: with thousands of
 * connections it is too large for what the main segment keeps unreserved.
 * One way serves all versions, so the segment is not one of the registry of
 * 17.  Besides, the first releases of 17 and 18 did not try again to make a
 * segment of the registry after they had failed once.
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
#include "storage/proc.h"
#include "storage/procarray.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "comb_announce.h"

CombSeats  *comb_seats = NULL;

/* Which series has this transaction announced? */
bool		comb_announced[COMB_SERIES];

/* Is this transaction being prepared, so that it may announce nothing more? */
static bool comb_preparing = false;

/*
 * Twice the maximum: a full set may be prepared while readers still need the
 * previous one.
 */
#define COMB_PREPARED_MAX	(2 * max_prepared_xacts)

static bool
comb_any_announced(void)
{
	return comb_announced[COMB_SERIES_ORDERED] ||
		comb_announced[COMB_SERIES_SNOWFLAKE];
}

Size
comb_seats_size(void)
{
	Size		size = offsetof(CombSeats, seats);

	size = add_size(size, mul_size(COMB_SERIES * sizeof(CombSeat),
								   MaxBackends));
	return add_size(size, mul_size(sizeof(CombPrepared), COMB_PREPARED_MAX));
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

static void
comb_seats_init(CombSeats *seats)
{
	uint32		i;

	memset(seats, 0, comb_seats_size());
	seats->head.h.started = comb_next_full_xid();
	pg_atomic_init_u64(&seats->head.h.no_room, 0);
	pg_atomic_init_u64(&seats->head.h.overwritten, 0);
	pg_atomic_init_u64(&seats->head.h.used, 0);
	seats->head.h.nseats = MaxBackends;
	seats->head.h.nprepared = COMB_PREPARED_MAX;
	for (i = 0; i < COMB_SERIES * seats->head.h.nseats; i++)
		comb_seat_init(&seats->seats[i]);
	for (i = 0; i < seats->head.h.nprepared; i++)
		pg_atomic_init_u64(&comb_prepared(seats, i)->fxid, 0);
}

static void
comb_seats_init_main(void *segment)
{
	comb_seats_init((CombSeats *) segment);
}

/* Add a hint to PostgreSQL's errors about dynamic shared memory */
static void
comb_segment_hint(void *arg)
{
	errhint("Set \"shared_preload_libraries\" to \"pg_comb\", so that the server reserves this memory at its start.");
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
 * Map the seats.  Raises PostgreSQL's error if the memory cannot be had.  Not
 * on a standby, where the next xid is not known.
 */
void
comb_seats_attach(void)
{
	ErrorContextCallback hint = {.callback = comb_segment_hint};
	dsm_segment *segment;

	if (likely(comb_seats != NULL))
		return;
	Assert(!RecoveryInProgress());
	if (comb_preloaded)
	{
		comb_seats = (CombSeats *) comb_main_segment("pg_comb 5 seats",
													 comb_seats_size(),
													 comb_seats_init_main);
		return;
	}
	COMB_INJECTION_POINT("comb-seats-attach");
	hint.previous = error_context_stack;
	error_context_stack = &hint;
	segment = comb_seats_segment();
	error_context_stack = hint.previous;
	dsm_pin_mapping(segment);
	comb_seats = (CombSeats *) dsm_segment_address(segment);
}

/*
 * Copy an entry of the list of prepared transactions.  False if the entry has
 * none.
 *
 * The barriers are for comb_unsettled(), which must not show half an entry.
 * comb_settled() could do without.  If it reads an entry that is being
 * overwritten, it still counts the old transaction, because "overwritten" has
 * been raised before.  It also counts the new one, because a reader that finds
 * the new one's seat empty finds the entry complete.
 */
bool
comb_prepared_copy(uint32 number, CombPrepared *copy)
{
	CombPrepared *entry = comb_prepared(comb_seats, number);
	uint64		fxid;

	do
	{
		fxid = pg_atomic_read_u64(&entry->fxid);
		if (fxid <= COMB_PREPARED_BUSY)
			return false;
		/* "fxid" before the rest, which must be complete */
		pg_read_barrier();
		*copy = *entry;
		/* the rest before "fxid": what overwrites it has changed "fxid" */
		pg_read_barrier();
	} while (pg_atomic_read_u64(&entry->fxid) != fxid);
	pg_atomic_init_u64(&copy->fxid, fxid);
	return true;
}

/*
 * Return the entry of the list for a transaction that is about to be prepared,
 * and the full xid that the entry has.  NULL if all entries are needed.
 *
 * The best entry is the oldest one that no snapshot can need.  The next best
 * is the oldest one whose transaction is not in progress to the snapshot "now".
 */
static CombPrepared *
comb_prepared_choose(const CombView *now, uint64 *fxid)
{
	CombPrepared *chosen = NULL;
	TransactionId oldest = GetOldestNonRemovableTransactionId(NULL);
	uint64		horizon = comb_full_xid(oldest, comb_next_full_xid());
	uint32		i;

	*fxid = PG_UINT64_MAX;
	for (i = 0; i < comb_seats->head.h.nprepared; i++)
	{
		CombPrepared *entry = comb_prepared(comb_seats, i);
		uint64		at = pg_atomic_read_u64(&entry->fxid);

		if (at == COMB_PREPARED_BUSY || at >= *fxid)
			continue;
		if (at < horizon || !comb_in_progress(now, at))
		{
			chosen = entry;
			*fxid = at;
		}
	}

	/*
	 * "overwritten" before the entry is: a reader that no longer finds the
	 * old transaction must see it.  The exchange by which the caller takes
	 * the entry keeps earlier writes before its own.
	 */
	if (chosen != NULL && *fxid >= horizon)
		(void) pg_atomic_monotonic_advance_u64(&comb_seats->head.h.overwritten,
											   *fxid + 1);
	return chosen;
}

/* A transaction is prepared, and the list does not have it */
static void
comb_prepared_unlisted(uint64 fxid)
{
	(void) pg_atomic_monotonic_advance_u64(&comb_seats->head.h.no_room,
										   fxid + 1);
}

/*
 * Enter the transaction, which is about to be prepared, into the list.  The
 * seat keeps the announcement until the transaction has been prepared.
 */
static void
comb_prepared_enter(void)
{
	uint64		fxid = U64FromFullTransactionId(GetTopFullTransactionId());
	CombPrepared *entry;
	CombView	now;
	uint64		old;
	int			series;

	comb_view_init(&now, GetLatestSnapshot());
	do
	{
		entry = comb_prepared_choose(&now, &old);
		if (entry == NULL)
		{
			comb_prepared_unlisted(fxid);
			return;
		}
	} while (!pg_atomic_compare_exchange_u64(&entry->fxid, &old,
											 COMB_PREPARED_BUSY));

	/*
	 * COMB_PREPARED_BUSY before the rest is overwritten.  On AArch64 and
	 * Power an atomic exchange does not keep a later write behind its own.
	 */
	pg_write_barrier();
	entry->database = MyDatabaseId;
	entry->start = GetCurrentTransactionStartTimestamp();
	for (series = 0; series < COMB_SERIES; series++)
		entry->first[series] = !comb_announced[series] ? 0 :
			pg_atomic_read_u64(&comb_seat(series, MyProcNumber)->s.first);
	/* the rest before "fxid": for comb_unsettled(), see comb_prepared_copy() */
	pg_write_barrier();
	pg_atomic_write_u64(&entry->fxid, fxid);
}

/*
 * The transaction has been prepared, and is about to leave its seats.
 *
 * If another module's callback for PREPARE made the first key of the session,
 * PostgreSQL has not called comb_at_end() before, so the list does not have
 * the transaction.
 */
static void
comb_prepared_leave(void)
{
	if (comb_any_announced() && !comb_preparing)
		comb_prepared_unlisted(U64FromFullTransactionId(GetTopFullTransactionIdIfAny()));

	/*
	 * The entry, or "no_room", before the end of "first": a reader that sees
	 * "first" gone must find what holds now.
	 */
	pg_write_barrier();
}

/*
 * The slot of the entry with this number: the number of zeros at its end.  Half
 * of the entries go to slot 0, and each slot has its latest one.  Entry 0, with
 * the seat's first announcement, is in the last slot, which the next entry
 * takes after 2^20 commits.
 */
static uint32
comb_history_slot(uint64 number)
{
	if (number == 0)
		return COMB_PAST - 1;
	return Min(pg_rightmost_one_pos64(number), COMB_PAST - 1);
}

/* Remember the transaction of a seat, which has committed */
static void
comb_history_put(CombSeat *seat, uint64 fxid)
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
	pg_atomic_write_u64(&past->first, pg_atomic_read_u64(&seat->s.first));
}

/*
 * Take everything back that the transaction announced.  "fxid" is its full
 * xid if it has committed, and 0 if nobody will ever see its rows or the list
 * of prepared transactions has them.
 */
static void
comb_take_back(uint64 fxid)
{
	int			series;

	comb_preparing = false;
	for (series = 0; series < COMB_SERIES; series++)
	{
		if (comb_announced[series])
		{
			CombSeat   *seat = comb_seat(series, MyProcNumber);

			COMB_INJECTION_POINT("comb-end-seat");
			if (fxid != 0)
				comb_history_put(seat, fxid);
			COMB_INJECTION_POINT("comb-end-clear");
			pg_atomic_write_u64(&seat->s.first, 0);
			comb_announced[series] = false;
		}
	}
}

/*
 * End of a top-level transaction.  Nothing here may fail or allocate, except
 * before a transaction is prepared, when the transaction may still fail.
 */
static void
comb_at_end(XactEvent event, void *arg)
{
	switch (event)
	{
		case XACT_EVENT_PRE_PREPARE:
			comb_preparing = true;
			if (comb_any_announced())
				comb_prepared_enter();
			break;
		case XACT_EVENT_COMMIT:
			comb_take_back(U64FromFullTransactionId(GetTopFullTransactionIdIfAny()));
			break;
		case XACT_EVENT_PREPARE:
			comb_prepared_leave();
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
 * Readers look only at seats that were ever taken.  "used" before the counter:
 * a reader that sees the time of a transaction must see that its seat is used.
 */
static void
comb_seats_use(uint32 number)
{
	pg_atomic_uint64 *used = &comb_seats->head.h.used;

	if (unlikely(pg_atomic_read_u64(used) <= number))
		(void) pg_atomic_monotonic_advance_u64(used, (uint64) number + 1);
}

/* Take a seat over from backends of another database */
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
 * Announce that this transaction is going to take times from the counter of a
 * series, none of them below what the counter has now + 1.
 */
void
comb_announce(CombSeries series)
{
	static bool registered = false;
	CombSeat   *seat;
	uint64		first;

	if (IsParallelWorker())
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TRANSACTION_STATE),
				 errmsg("ordered keys and Snowflakes cannot be made in a parallel worker"),
				 errhint("Mark functions that make them PARALLEL RESTRICTED.")));
	if (comb_preparing)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TRANSACTION_STATE),
				 errmsg("ordered keys and Snowflakes cannot be made while the transaction is being prepared")));
	if (!registered)
		RegisterXactCallback(comb_at_end, NULL);
	registered = true;
	comb_seats_attach();
	Assert((uint32) MyProcNumber < comb_seats->head.h.nseats);
	seat = comb_seat(series, MyProcNumber);
	comb_seats_use(MyProcNumber);
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
