/*
 * settled.pml - which keys are settled: src/ordered/comb_announce.c against comb_settled.c
 *
 * Backends make transactions that take a key, and then commit, abort or are prepared.  A process
 * ends prepared transactions.  A reader takes a snapshot at any time, and computes the bound at any
 * later time.
 *
 *   NS         seats; a seat's backends follow each other
 *   NX         transactions, on any seats; at most 5
 *   RING       COMB_RING
 *   NP         places in the list of prepared transactions
 *   NOPREPARE  no transaction is prepared
 *   DATABASES  backends are in the reader's database or in another one
 *   UNSEATED   a transaction may find no memory for seats
 *   LATE       another module's XACT_EVENT_PRE_PREPARE may take the first key, after ours
 *   LIVE       the reader begins when all transactions have ended
 *
 * What must hold:
 * Safety     No transaction that is in progress to the snapshot, and that is not aborted, has a key
 *            below the bound, and no key taken later is below the bound.  Whatever runs may still
 *            commit, so this is the promise of doc/feed.md.
 * LIVE       The bound is then the counter + 1.  Nobody hangs: no invalid end state.
 *
 * What is left out, and why that is sound:
 * - Memory is sequentially consistent.  Twins swap the accesses that a barrier keeps apart.
 * - A transaction takes one key.  Its later keys are larger, and the same announcement covers them.
 * - One series stands for three: a seat each, and a number each in a place of the list.
 * - Leases and incarnations are in lease.pml.  If the incarnation changes, the reader begins anew.
 * - Subtransactions: keys are announced for the top-level transaction.
 * - comb_seats_use(): the number of seats used grows before the announcement is written, and the
 *   reader reads it before the seats.  A seat that the reader leaves out has announced nothing yet.
 * - Answers kept for later snapshots (CombAnswer).  What a snapshot that sees as much does not see,
 *   the snapshot of the answer did not see either, and the promise covers all of that.
 */
#ifndef NS
#define NS 2
#endif
#ifndef NX
#define NX 3
#endif
#ifndef RING
#define RING 2
#endif
#ifndef NP
#define NP 1
#endif
#define X0 2			/* the first full xid */
#define XEND (X0 + NX)
#define XMAX (X0 + 5)
#define BUSY 1			/* COMB_PREPARED_BUSY */
#define NOBOUND 255		/* COMB_NO_BOUND */

#define MIN(a,b) ((a) < (b) -> (a) : (b))
#define MAX(a,b) ((a) > (b) -> (a) : (b))

/* PostgreSQL: the array of transactions */
#define RUN 1			/* a backend has the xid: BackendXidGetPid() != 0 */
#define PREP 2			/* TransactionIdIsInProgress(), without a backend */
#define ENDED 3
#define OPEN(x) (st[x] == RUN || st[x] == PREP)
byte st[XMAX];
byte nextxid = X0, completed = X0 - 1;	/* nextXid, latestCompletedXid */
bit  elsewhere[XMAX];		/* the transaction is in another database than the reader */
byte begun;			/* transactions */

/*
 * For the checks: keys that may become visible to somebody to whom they are not visible yet.  Before
 * the reader has its snapshot, a commit makes its key visible to the reader.
 */
byte key[XMAX], wkey[NS];	/* wkey: of a transaction that has no xid yet */
#ifdef LIVE
byte left;			/* writers that have ended */
#define LEAVE left++
#else
#define LEAVE skip
#endif
bit  stop;			/* the reader's answer is sure to be right, so the rest does not matter */

/* Shared memory of the module (comb_shared.h, comb_announce.h) */
byte counter;
typedef Seat { byte first, ended, before; bit database; byte fxid[RING]; byte low[RING] }
Seat seat[NS];			/* low is CombEnded.first */
byte pfxid[NP], pfirst[NP];	/* CombPrepared */
bit  pdatabase[NP];
byte dropped;
byte running, until;		/* CombUnseated */

/* The reader's snapshot; sxmin is published, as MyProc->xmin is.  255 = no snapshot */
byte sxmin = 255, sxmax;
bit  sxip[XMAX];
#define INPROGRESS(x) ((x) >= sxmax || sxip[x])		/* comb_in_progress() */

#ifdef LATE			/* the key may come after comb_prepared_enter() */
#define LISTED_KEY (listed -> f : 0)
#else
#define LISTED_KEY f
#endif
#define TAKE_XID atomic { me = nextxid; nextxid++; st[me] = RUN; elsewhere[me] = db; \
	key[me] = wkey[w]; wkey[w] = 0 }
#define END(x) completed = MAX(completed, x); st[x] = ENDED	/* ProcArrayEndTransaction() */
#define COMMIT(x) END(x); if :: sxmin == 255 -> key[x] = 0 :: else fi
#define ABORT(x) END(x); key[x] = 0

/*
 * comb_prepared_choose().  One step: with an older horizon or snapshot, more transactions would count
 * as open, and "dropped" would rise more often.
 */
inline choose_place() {
	d_step {
		h = MIN(sxmin, completed + 1);	/* GetOldestNonRemovableTransactionId(NULL) */
		for (i : X0 .. XEND - 1) { h = (OPEN(i) && i < h -> i : h) }
		at = 255; place = NP;
		for (i : 0 .. NP - 1) {
			if
			:: pfxid[i] != BUSY && pfxid[i] < at && (pfxid[i] < h || !OPEN(pfxid[i])) ->
				at = pfxid[i]; place = i
			:: else
			fi
		}
		h = (at >= h -> at + 1 : 0);	/* what "dropped" must become */
		i = 0
	}
}

proctype writer(byte w) provided (!stop) {
	byte me, f, at, h, i, place;
	bit db, seated, listed;

	do
	:: atomic { begun < NX -> begun++; seated = 1;
#ifdef DATABASES
			if :: db = 0 :: db = 1 fi;	/* a new backend on the same seat */
#endif
#ifdef UNSEATED
			if :: seated = 0 :: skip fi;	/* no memory for seats */
#endif
			if :: skip :: TAKE_XID fi };	/* there may be an xid before there is a key */
		if				/* comb_announce() */
		:: seated ->
#ifdef DATABASES
			if			/* comb_seat_move() */
			:: seat[w].database != db ->
				if :: seat[w].ended > 0 -> seat[w].before = seat[w].fxid[(seat[w].ended - 1) % RING] :: else fi;
				seat[w].database = db
			:: else
			fi;
#endif
			atomic { f = counter + 1; seat[w].first = f }	/* an older counter is a smaller bound */
		:: else -> running++		/* counted */
		fi;
		/* comb_ordered_step(): the CAS */
		atomic { counter++; if :: db :: !db && me -> key[me] = counter :: !db && !me -> wkey[w] = counter fi };
		if				/* heap_insert() takes the xid after the default was computed */
		:: me
		:: !me -> TAKE_XID
		fi;
		if
		:: atomic { COMMIT(me) };	/* visible first, then XACT_EVENT_COMMIT */
			if			/* comb_history_put() */
			:: seated ->
				seat[w].fxid[seat[w].ended % RING] = me;
				seat[w].low[seat[w].ended % RING] = f;
				seat[w].ended++
			:: !seated
			fi
		:: atomic { ABORT(me) }
#ifndef NOPREPARE
		:: if				/* XACT_EVENT_PRE_PREPARE: comb_prepared_enter() */
			:: seated ->
#ifdef LATE
				if :: listed = 1 :: skip fi;	/* 0: the entry has a key of the other series */
#endif
choose:				choose_place();
				if
				:: place == NP -> atomic { dropped = MAX(dropped, me + 1) }
				:: else ->
					if :: h -> atomic { dropped = MAX(dropped, h); h = 0 } :: else fi;
					if	/* compare and exchange; nobody reads a busy place */
					:: atomic { pfxid[place] == at -> pfxid[place] = BUSY };
						atomic { pdatabase[place] = db; pfirst[place] = LISTED_KEY; at = 0 };
						atomic { pfxid[place] = me; place = 0 }
					:: atomic { pfxid[place] != at -> goto choose }
					fi
				fi;
#ifdef LATE
			:: seated		/* no entry */
#endif
			:: !seated
			fi;
			st[me] = PREP;		/* EndPrepare(), then XACT_EVENT_PREPARE */
#ifdef LATE
			if			/* comb_prepared_check */
			:: seated && !listed -> atomic { dropped = MAX(dropped, me + 1) };
				atomic { for (i : 0 .. NP - 1) { pfxid[i] = (pfxid[i] == me -> 0 : pfxid[i]) } i = 0 }
			:: else
			fi
#endif
#endif
		fi;
		if				/* comb_take_back() */
		:: seated -> atomic { seat[w].first = 0; goto over }
		:: else -> atomic { until = MAX(until, nextxid) };
			atomic { running--; goto over }
		fi;
over:		atomic { me = 0; f = 0; at = 0; h = 0; place = 0; db = 0; seated = 0; listed = 0 }
	:: atomic { begun == NX -> LEAVE; break }
	od
}

/* COMMIT PREPARED and ROLLBACK PREPARED tell nothing to the module */
#define FINISH(x) \
	:: atomic { st[x] == PREP -> COMMIT(x) } \
	:: atomic { st[x] == PREP -> ABORT(x) }
active proctype finisher() provided (!stop) {
end:	do
	FINISH(X0) FINISH(X0 + 1) FINISH(X0 + 2) FINISH(X0 + 3) FINISH(X0 + 4)
	od
}

/* GetSnapshotData() */
inline snapshot() {
	d_step {
		sxmax = completed + 1; sxmin = sxmax;
		for (x : X0 .. XEND - 1) {
			sxip[x] = (x < sxmax && OPEN(x));
			sxmin = (sxip[x] && x < sxmin -> x : sxmin)
		}
		x = 0
	}
}

/*
 * The bound only goes down, and keys taken from now on are above the counter.  So once no unseen key
 * is below the bound, the answer is right.
 */
#define RIGHT(k) (k == 0 || k >= bound)
#define SURE (bound <= counter + 1 && RIGHT(wkey[0]) && RIGHT(wkey[NS / 2]) && RIGHT(wkey[NS - 1]) && \
	RIGHT(key[2]) && RIGHT(key[3]) && RIGHT(key[4]) && RIGHT(key[5]) && RIGHT(key[6]))
#ifdef LIVE
#define LOWER(to) bound = MIN(bound, to)
#define UNKNOWN assert(false)	/* COMB_UNKNOWN: no key is below */
#else
#define LOWER(to) bound = MIN(bound, to); if :: SURE -> goto sure :: else fi
#define UNKNOWN goto sure
#endif

inline read_counter() { atomic { x = counter + 1; LOWER(x); x = 0 } }

/* comb_seat_bound(), the announcement of the running transaction */
inline read_first() {
	f = seat[i].first;
	mine = (seat[i].database == 0);
	atomic { if :: f != 0 && mine -> LOWER(f) :: else fi; f = 0 }
}

/* comb_seat_bound(), comb_history_bound() */
inline read_ring() {
	f = (mine -> 255 : seat[i].before);
	if
	:: f != 255 && !(f >= sxmin && INPROGRESS(f)) -> f = 0	/* all unseen ones are of the other database */
	:: else ->
		do
		:: atomic { e = seat[i].ended; b = NOBOUND; x = e; old = (e > RING - 1 -> e - (RING - 1) : 0) };
			do
			:: x > old ->
				f = seat[i].fxid[(x - 1) % RING];
				if
				:: INPROGRESS(f) -> f = seat[i].low[(x - 1) % RING]; b = MIN(b, f); x--
				:: else -> break
				fi
			:: else -> if :: old > 0 -> b = 0 :: else fi; break
			od;
			if
			:: seat[i].ended == e -> break
			:: seat[i].ended != e
			fi
		od;
		atomic { LOWER(b); f = 0; e = 0; b = 0; old = 0; x = 0 }
	fi;
	mine = 0
}

inline read_seats() {
	do
	:: i < NS -> read_first(); read_ring(); i++
	:: else -> i = 0; break
	od
}

/* comb_prepared_bound() */
inline read_list() {
	do
	:: i < NP ->
		do	/* comb_prepared_copy() */
		:: x = pfxid[i];
			if :: x <= BUSY -> break :: else fi;
			atomic { f = pfirst[i]; d = pdatabase[i] };
			if
			:: pfxid[i] == x -> break
			:: pfxid[i] != x
			fi
		od;
		if :: x > BUSY && f != 0 && !d && INPROGRESS(x) -> atomic { LOWER(f) } :: else fi;
		i++
	:: else -> i = 0; f = 0; d = 0; x = 0; break
	od
}

/* comb_any_unlisted().  Nothing was prepared before the server started: see "started" there. */
inline read_dropped() {
	x = dropped;
	if :: x > sxmax -> UNKNOWN :: else fi;
	f = sxmin;
	do
	:: f < sxmax && f < x ->
		if
		:: sxip[f] && st[f] != RUN ->	/* comb_is_unlisted(), comb_prepared_listed() */
			do :: i < NP && pfxid[i] != f -> i++ :: else -> break od;
			if :: i == NP && (st[f] != PREP || !elsewhere[f]) -> UNKNOWN :: else fi;
			i = 0
		:: else
		fi;
		f++
	:: else -> f = 0; x = 0; break
	od
}

/* are transactions counted? */
inline read_unseated() {
	if :: running != 0 -> UNKNOWN :: else fi;
	if :: sxmin < until -> UNKNOWN :: else fi
}

active proctype reader() {
	byte bound = NOBOUND, i, f, e, b, old, x;
	bit d, mine;

#ifdef LIVE
	left == NS && !(st[2] == PREP || st[3] == PREP || st[4] == PREP || st[5] == PREP || st[6] == PREP);
#endif
	snapshot();
	read_counter();		/* comb_settled_scan() */
	read_seats();
	read_list();
	read_dropped();
	read_unseated();
#ifdef LIVE
	assert(bound == counter + 1)
#else
	assert(SURE);
sure:	stop = 1
#endif
}

init { atomic { byte w; for (w : 0 .. NS - 1) { run writer(w) } } }
