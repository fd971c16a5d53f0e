/*
 * settled.pml - which keys are settled: src/ordered/comb_announce.c against comb_settled.c
 *
 * Backends make transactions that take a key, and then commit, abort or are prepared.  A process
 * ends prepared transactions.  A reader takes a snapshot at any time, and computes the bound at any
 * later time.
 *
 *   NS         seats; a seat's backends follow each other
 *   NX         transactions, on any seats; at most 5
 *   PAST       COMB_PAST
 *   NP         places in the list of prepared transactions
 *   NOPREPARE  no transaction is prepared
 *   DATABASES  backends are in the reader's database or in another one
 *   KEYLESS    transactions may take no key
 *   RECOVERED  the first transaction has a key, and was prepared before the server started
 *   LIVE       the reader begins when nothing that may hold it back is open
 *   LAG        the reader takes its snapshot at any time, and begins when all writers have ended
 *
 * What must hold:
 * Safety     No transaction that is in progress to the snapshot, and that is not aborted, has a key
 *            below the bound, and no key taken later is below the bound.  Whatever runs may still
 *            commit, so this is the promise of doc/feed.md.
 * LIVE       The bound is then the counter + 1.  Nobody hangs: no invalid end state.
 * LAG        With one seat: if the snapshot misses k commits, the bound is one of the last 3 k - 1
 *            announcements.  If k is 1 or 2, the bound is the announcement of the first one missed.
 *
 * What is left out, and why that is sound:
 * - Memory is sequentially consistent.  Twins swap the accesses that a barrier keeps apart.  Two
 *   stores of a commit that no barrier keeps apart are made in either order.
 * - A transaction takes one key.  Its later keys are larger, and the same announcement covers them.
 * - A key taken after XACT_EVENT_PRE_PREPARE is an error, so the transaction aborts.
 * - One series stands for two: a seat each, and a number each in a place of the list.
 * - Leases are in lease.pml.  Counters only grow while a server runs.
 * - Subtransactions: keys are announced for the top-level transaction.
 * - comb_seats_use(): the number of seats used grows before the announcement is written, and the
 *   reader reads it before the seats.  A seat that the reader leaves out has announced nothing yet.
 * - Answers kept for a query.  Equal snapshots see the same, and a bound holds for good.
 */
#ifndef NS
#define NS 2
#endif
#ifndef NX
#define NX 3
#endif
#ifndef PAST
#define PAST 2
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
#ifdef LAG
byte announced[XMAX];		/* by those that have committed */
byte nth[NX];			/* announcements of the seat's commits */
byte missed;			/* how many of them the snapshot does not see */
#define LIVE
#endif
#ifdef LIVE
byte left;			/* writers that have ended */
#define LEAVE left++
#else
#define LEAVE skip
#endif
bit  stop;			/* the reader's answer is sure to be right, so the rest does not matter */

/* Shared memory of the module (comb_shared.h, comb_announce.h) */
byte counter;
typedef Seat { byte first, last, before, commits; bit database; byte prev[PAST], low[PAST] }
Seat seat[NS];			/* low is CombPast.first */
byte pfxid[NP], pfirst[NP];	/* CombPrepared */
bit  pdatabase[NP];
byte overwritten, noroom;
#ifdef RECOVERED
byte started;			/* 0 = the seats are not made yet */
#define MAKE_SEATS atomic { started = (started -> started : nextxid) }
#define WAS_PREPARED(x) ((x) == X0)
#else
#define started 0
#define MAKE_SEATS skip
#define WAS_PREPARED(x) false
#endif

#define SLOT(n) ((n) == 0 -> PAST - 1 : MIN(PAST - 1, ((n) % 2 -> 0 : ((n) % 4 -> 1 : 2))))	/* comb_history_slot() */

/* The reader's snapshot; sxmin is published, as MyProc->xmin is.  255 = no snapshot */
byte sxmin = 255, sxmax;
bit  sxip[XMAX];
#define INPROGRESS(x) ((x) >= sxmax || sxip[x])		/* comb_in_progress() */

#define TAKE_XID atomic { me = nextxid; nextxid++; st[me] = RUN; elsewhere[me] = db; \
	key[me] = wkey[w]; wkey[w] = 0 }
#define END(x) completed = MAX(completed, x); st[x] = ENDED	/* ProcArrayEndTransaction() */
#define COMMIT(x) END(x); if :: sxmin == 255 -> key[x] = 0 :: else fi
#define ABORT(x) END(x); key[x] = 0

/*
 * comb_prepared_choose().  One step: with an older horizon or snapshot, more transactions would count
 * as open, and "overwritten" would rise more often.
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
		h = (at >= h -> at + 1 : 0);	/* what "overwritten" must become */
		i = 0
	}
}

proctype writer(byte w) provided (!stop) {
	byte me, f, at, h, i, n, place;
	bit db;

	do
	:: atomic { begun < NX -> begun++;
#ifdef DATABASES
			if :: db = 0 :: db = 1 fi;	/* a new backend on the same seat */
#endif
			if :: skip :: TAKE_XID fi };	/* there may be an xid before there is a key */
#ifdef KEYLESS
		if :: me -> goto ending :: skip fi;
#endif
		MAKE_SEATS;			/* comb_seats_attach() */
#ifdef DATABASES
		if				/* comb_seat_move() */
		:: seat[w].database != db -> seat[w].before = seat[w].last; seat[w].database = db
		:: else
		fi;
#endif
		atomic { f = counter + 1; seat[w].first = f };	/* comb_announce(); an older counter is a smaller bound */
		/* comb_ordered_step(): the CAS */
		atomic { counter++; if :: db :: !db && me -> key[me] = counter :: !db && !me -> wkey[w] = counter fi };
		if				/* heap_insert() takes the xid after the default was computed */
		:: me
		:: !me -> TAKE_XID
		fi;
ending:		if
		:: atomic { COMMIT(me) };	/* visible first, then XACT_EVENT_COMMIT */
			if			/* comb_history_put() */
			:: f ->
#ifdef LAG
				atomic { announced[me] = f; nth[seat[w].commits] = f };
#endif
				atomic { n = SLOT(seat[w].commits); seat[w].commits++ };
				if
				:: seat[w].prev[n] = seat[w].last; seat[w].last = me
				:: atomic { h = seat[w].last; seat[w].last = me }; seat[w].prev[n] = h
				fi;
				if
				:: seat[w].low[n] = f
				:: seat[w].first = 0; atomic { seat[w].low[n] = f; f = 0 }
				fi
			:: else
			fi
		:: atomic { ABORT(me) }
#ifndef NOPREPARE
		:: if				/* XACT_EVENT_PRE_PREPARE: comb_prepared_enter() */
			:: f ->
choose:				choose_place();
				if
				:: place == NP -> atomic { noroom = MAX(noroom, me + 1) }	/* comb_prepared_unlisted() */
				:: else ->
					if :: h -> atomic { overwritten = MAX(overwritten, h); h = 0 } :: else fi;
					if	/* compare and exchange; nobody reads a busy place */
					:: atomic { pfxid[place] == at -> pfxid[place] = BUSY };
						atomic { pdatabase[place] = db; pfirst[place] = f; at = 0 };
						atomic { pfxid[place] = me; place = 0 }
					:: atomic { pfxid[place] != at -> goto choose }
					fi
				fi
			:: !f			/* "else" would count the options outside, too */
			fi;
			if
			:: st[me] = PREP	/* EndPrepare(), then XACT_EVENT_PREPARE */
			:: atomic { ABORT(me) }
			fi
#endif
		fi;
		atomic { seat[w].first = (f -> 0 : seat[w].first);	/* comb_take_back() */
			me = 0; f = 0; at = 0; h = 0; n = 0; place = 0; db = 0 }
	:: atomic { begun == NX -> LEAVE; break }
	od
}

/* COMMIT PREPARED and ROLLBACK PREPARED tell nothing to the module */
#ifdef LIVE			/* what ends after the snapshot may have had keys, and the next snapshot tells */
#define CAN_FINISH(x) (st[x] == PREP && sxmin == 255)
#else
#define CAN_FINISH(x) (st[x] == PREP)
#endif
#define FINISH(x) \
	:: atomic { CAN_FINISH(x) -> COMMIT(x) } \
	:: atomic { CAN_FINISH(x) -> ABORT(x) }
proctype finisher() provided (!stop) {
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
#define UNKNOWN assert(f < noroom)	/* COMB_UNKNOWN: no key is below */
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
inline read_history() {
	f = (mine -> seat[i].last : seat[i].before);
	if
	:: !INPROGRESS(f) -> f = 0	/* all unseen ones are of the other database */
	:: else ->
		do
		:: e < PAST ->
			f = seat[i].low[e];
			atomic { b = (INPROGRESS(seat[i].prev[e]) -> b : MAX(b, f)); e++ }
		:: else -> break
		od;
		atomic { LOWER(b); f = 0; e = 0; b = 0 }
	fi;
	mine = 0
}

inline read_seats() {
	do
	:: i < NS -> read_first(); read_history(); i++
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

/* comb_any_unlisted(), comb_is_unlisted(), comb_prepared_listed(), comb_prepared_has_keys() */
inline read_unlisted() {
	atomic { x = MAX(overwritten, noroom);
		if :: x > sxmax -> UNKNOWN :: else fi };
	x = MAX(x, started);
	f = sxmin;
	do
	:: f < sxmax && f < x ->
		if
		:: sxip[f] && st[f] != RUN ->
			do :: i < NP && pfxid[i] != f -> i++ :: else -> break od;
			if
			:: i == NP && st[f] == PREP && !elsewhere[f] && (WAS_PREPARED(f) || f < noroom) -> UNKNOWN
			:: else
			fi;
			if	/* it has ended, and nothing tells */
			:: i == NP && st[f] != PREP -> UNKNOWN
			:: else
			fi;
			i = 0
		:: else
		fi;
		f++
	:: else -> f = 0; x = 0; break
	od
}

proctype reader() {
	byte bound = NOBOUND, i, f, e, b, x;
	bit d, mine;

#define HOLDS(x) (st[x] == PREP && key[x])
#if defined(LIVE) && !defined(LAG)
	left == NS && !(HOLDS(2) || HOLDS(3) || HOLDS(4) || HOLDS(5) || HOLDS(6));
#endif
	snapshot();
#ifdef LAG
	left == NS;
#endif
	MAKE_SEATS;
	read_counter();		/* comb_settled_scan() */
	read_seats();
	read_list();
	read_unlisted();
#if defined(LAG)
	skip;
	d_step {
		f = counter + 1;
		for (x : X0 .. XEND - 1) {
			if
			:: announced[x] && INPROGRESS(x) -> missed++; f = MIN(f, announced[x])
			:: else
			fi
		}
	}
	assert(missed > 2 || bound == f);
	assert(missed == 0 || bound >= nth[(seat[0].commits > 3 * missed - 1 -> seat[0].commits - (3 * missed - 1) : 0)])
#elif defined(LIVE)
	assert(bound == counter + 1)
#else
	assert(SURE);
sure:	stop = 1
#endif
}

init { atomic {
	byte w;
#ifdef RECOVERED
	st[X0] = PREP; completed = X0; nextxid++; begun++; counter = 1; key[X0] = 1;
#endif
	for (w : 0 .. NS - 1) { run writer(w) }
	run finisher();
	run reader()
} }
