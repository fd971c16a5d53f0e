/*
 * settled.pml - which keys are settled: src/ordered/comb_announce.c against comb_settled.c
 *
 * Backends make transactions that take a key, and then commit, abort or are prepared.  A process
 * ends prepared transactions.  A reader takes a snapshot at any time, and computes the bound at any
 * later time.
 *
 *   NS         backends' seats; a seat's backends follow each other
 *   NX         transactions, on any seats; at most 5
 *   PAST       COMB_PAST
 *   NP         PGPROCs of prepared transactions, each with a seat; at most 2
 *   NOPREPARE  no transaction is prepared
 *   KEYLESS    transactions may take no key
 *   RECOVERED  the first transaction has a key, and was prepared before the server started
 *   LIVE       the reader begins when nothing that may hold it back is open
 *   LAG        the reader takes its snapshot at any time, and begins when all writers have ended
 *   GAPS       the reader looks for the spans of keys that a position has to read again
 *
 * What must hold:
 * Safety     No transaction that is in progress to the snapshot, and that is not aborted, has a key
 *            below the bound, and no key taken later is below the bound.  Whatever runs may still
 *            commit, so this is the promise of doc/feed.md.
 * LIVE       The bound is then the counter + 1.  Nobody hangs: no invalid end state.
 * LAG        With one seat: if the snapshot misses k commits, the bound is one of the last 3 k - 1
 *            announcements.  If k is 1 or 2, the bound is the announcement of the first one missed.  With
 *            prepared transactions, and one seat for them: if the snapshot misses up to two in each
 *            seat, the bound is their smallest announcement.  The bound is never unknown.
 * GAPS       Each key of such a transaction that is below the end of the keys lies in a span.  Gaps lie
 *            between spans (comb_settled_between()), so no gap has such a key.
 *
 * What is left out, and why that is sound:
 * - Memory is sequentially consistent.  Twins swap the accesses that a barrier keeps apart.  Two
 *   stores of a commit that no barrier keeps apart are made in either order.
 * - A transaction takes one key.  Its later keys are larger, and the same announcement covers them.
 *   A span goes on to the last key, or beyond.
 * - One series stands for two, which have a seat each.
 * - Leases are in lease.pml.  Counters only grow while a server runs.
 * - Other databases, whose seats and counters are their own.
 * - Subtransactions: keys are announced for the top-level transaction.
 * - CombSeats.used: the number of seats used grows before an announcement is written, and the
 *   reader reads it before the seats.  A seat that the reader leaves out has nothing yet.
 * - Answers kept for a query.  Equal snapshots see the same, and a bound holds for good.
 */
#ifndef NS
#define NS 2
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
#define NOBOUND 255		/* COMB_NO_BOUND */

#define MIN(a,b) ((a) < (b) -> (a) : (b))
#define MAX(a,b) ((a) > (b) -> (a) : (b))

/* PostgreSQL: the array of transactions */
#define RUN 1
#define PREP 2			/* prepared, and any session may finish it */
#define ENDED 3
#define OPEN(x) (st[x] == RUN || st[x] == PREP)
byte st[XMAX];
byte nextxid = X0, completed = X0 - 1;	/* nextXid, latestCompletedXid */
byte pgproc[NP];		/* the last transaction of each PGPROC for prepared transactions */
byte begun;			/* transactions */

/*
 * For the checks: keys that may become visible to somebody to whom they are not visible yet.  Before
 * the reader has its snapshot, a commit makes its key visible to the reader.
 */
byte key[XMAX], wkey[NS];	/* wkey: of a transaction that has no xid yet */
#ifdef LAG
byte announced[XMAX];		/* by those that have committed */
byte nth[NX];			/* announcements of the seat's commits */
byte missed[2];			/* how many of them, and of the prepared ones, the snapshot does not see */
bit  wasprepared[XMAX];
#define LIVE
#endif
#ifdef LIVE
byte left;			/* writers that have ended */
#define LEAVE left++
#else
#define LEAVE skip
#endif
bit  stop;			/* the reader's answer is sure to be right, so the rest does not matter */

/* Shared memory of the module (comb_order.h) */
byte counter;
#ifdef GAPS
#define TAKING 7		/* COMB_TAKING, larger than all keys */
byte latest[NS + NP];
#define BEFORE_CAS latest[w] = TAKING;	/* comb_ordered_step() */
#define AFTER_CAS latest[w] = (me -> key[me] : wkey[w]);
#define PREPARED_LATEST latest[place] = MAX(latest[place], latest[w]);
#else
#define BEFORE_CAS
#define AFTER_CAS
#define PREPARED_LATEST
#endif
typedef Seat { byte first, last, commits; byte prev[PAST], low[PAST] }
Seat seat[NS + NP];		/* low is CombPast.first; prepared transactions have the last NP seats */
#ifdef RECOVERED
byte started;			/* 0 = the seats are not made yet; another database may have set it long before */
#define MAKE_SEATS atomic { if :: !started -> if :: started = X0 + 1 :: started = nextxid fi; \
	seat[NS].last = (pgproc[0] == X0 && st[X0] == PREP -> X0 : 0) :: else fi }	/* comb_seats_recover() */
#else
#define started 0
#define MAKE_SEATS skip
#endif

#define SLOT(n) ((n) == 0 -> PAST - 1 : MIN(PAST - 1, ((n) % 2 -> 0 : ((n) % 4 -> 1 : 2))))	/* comb_history_put() */

/* The reader's snapshot; sxmin is published, as MyProc->xmin is.  255 = no snapshot */
byte sxmin = 255, sxmax;
bit  sxip[XMAX];
#define INPROGRESS(x) ((x) >= sxmax || sxip[x])		/* comb_in_progress() */

#define TAKE_XID atomic { me = nextxid; nextxid++; st[me] = RUN; \
	key[me] = wkey[w]; wkey[w] = 0 }
#define END(x) completed = MAX(completed, x); st[x] = ENDED	/* ProcArrayEndTransaction() */
#define COMMIT(x) END(x); if :: sxmin == 255 -> key[x] = 0 :: else fi
#define ABORT(x) END(x); key[x] = 0

/* comb_history_put(), without the entry's "first".  A reader may see the two stores in either order. */
#define PUT(s) \
	atomic { n = SLOT(seat[s].commits); seat[s].commits++ }; \
	if \
	:: seat[s].prev[n] = seat[s].last; seat[s].last = me \
	:: atomic { h = seat[s].last; seat[s].last = me }; seat[s].prev[n] = h \
	fi

#define IS_FREE(p) (pgproc[p] == 0 || st[pgproc[p]] == ENDED)

proctype writer(byte w) provided (!stop) {
	byte me, f, h, n, place;

	do
	:: atomic { begun < NX -> begun++;
			if :: skip :: TAKE_XID fi };	/* there may be an xid before there is a key */
#ifdef KEYLESS
		if :: me -> goto ending :: skip fi;
#endif
		MAKE_SEATS;			/* comb_seats_attach() */
		atomic { f = counter + 1; seat[w].first = f };	/* comb_announce(); an older counter is a smaller bound */
		BEFORE_CAS
		/* comb_ordered_step(): the CAS */
		atomic { counter++; if :: me -> key[me] = counter :: !me -> wkey[w] = counter fi };
		AFTER_CAS
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
				PUT(w);
				if
				:: seat[w].low[n] = f
				:: seat[w].first = 0; atomic { seat[w].low[n] = f; f = 0 }
				fi
			:: else
			fi
		:: atomic { ABORT(me) }
#ifndef NOPREPARE
		:: if			/* MarkAsPreparing() */
			:: atomic { IS_FREE(0) -> place = NS; pgproc[0] = me }
			:: atomic { NP > 1 && IS_FREE(NP - 1) -> place = NS + NP - 1; pgproc[NP - 1] = me }
			:: else
			fi;
			if		/* XACT_EVENT_PREPARE: comb_prepared_enter() */
			:: place && f ->
#ifdef LAG
				atomic { announced[me] = f; wasprepared[me] = 1 };
#endif
				PREPARED_LATEST
				do	/* comb_prepared_enter() */
				:: n < PAST -> atomic { seat[place].low[n] = MIN(seat[place].low[n], f); n++ }
				:: else -> break
				od;
				PUT(place);
				atomic { seat[place].low[n] = f }
			:: place && !f
			:: !place -> atomic { ABORT(me) }
			fi;
			atomic { seat[w].first = (f -> 0 : seat[w].first); f = 0 };	/* comb_take_back() */
			atomic { st[me] = (place -> PREP : ENDED) }	/* PostPrepare_Twophase() */
#endif
		fi;
		atomic { seat[w].first = (f -> 0 : seat[w].first);	/* comb_take_back() */
			me = 0; f = 0; h = 0; n = 0; place = 0 }
	:: atomic { begun == NX -> LEAVE; break }
	od
}

/* COMMIT PREPARED and ROLLBACK PREPARED tell nothing to the module */
#if defined(LIVE) && !defined(LAG)	/* what ends after the snapshot may have had keys, and the next snapshot tells */
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
#ifdef GAPS
#define RIGHT(k) (k == 0 || k >= bound || (held >> k) & 1)
#else
#define RIGHT(k) (k == 0 || k >= bound)
#endif
#define SURE (bound <= counter + 1 && RIGHT(wkey[0]) && RIGHT(wkey[NS / 2]) && RIGHT(wkey[NS - 1]) && \
	RIGHT(key[2]) && RIGHT(key[3]) && RIGHT(key[4]) && RIGHT(key[5]) && RIGHT(key[6]))
#define STOP_IF_SURE if :: SURE -> goto sure :: else fi
#ifdef GAPS	/* "bound" is the end of the keys, and "from" begins a span */
#define LOWER(to) from = MIN(from, to)
#define UNKNOWN atomic { held = held | BELOW(low); STOP_IF_SURE }
#define BELOW(k) ((1 << (k)) - 1)	/* as bits */
#elif defined(LIVE)
#define LOWER(to) bound = MIN(bound, to)
#define UNKNOWN assert(false)	/* COMB_UNKNOWN: no key is below */
#else
#define LOWER(to) bound = MIN(bound, to); STOP_IF_SURE
#define UNKNOWN goto sure
#endif

#ifdef GAPS
inline read_counter() { atomic { bound = counter + 1; low = bound; STOP_IF_SURE } }
#else
inline read_counter() { atomic { x = counter + 1; LOWER(x); x = 0 } }
#endif

/* comb_seat_bound(), the announcement of the running transaction */
inline read_first() {
	f = seat[i].first;
	atomic { if :: f != 0 -> LOWER(f) :: else fi; f = 0 }
}

/* comb_seat_bound(), comb_history_bound() */
inline read_history() {
	f = seat[i].last;
	if
	:: !INPROGRESS(f) -> f = 0
	:: else ->
		do
		:: e < PAST ->
			f = seat[i].low[e];
			atomic { b = (INPROGRESS(seat[i].prev[e]) -> b : MAX(b, f)); e++ }
		:: else -> break
		od;
		atomic { LOWER(b); f = 0; e = 0; b = 0 }
	fi
}

#ifdef GAPS
/* comb_seats_held(): the span from "from" to "latest" */
inline read_latest() {
	if
	:: from != NOBOUND ->
		f = latest[i];
		atomic { f = (from == 0 -> TAKING : f);
			held = held | (BELOW(f + 1) & ~BELOW(from)); low = MIN(low, from);
			from = NOBOUND; f = 0; STOP_IF_SURE }
	:: else
	fi
}
#define READ_LATEST read_latest();
#else
#define READ_LATEST
#endif

inline read_seats(begin, to) {
	i = begin;
	do
	:: i < to -> read_first(); read_history(); READ_LATEST i++
	:: else -> i = 0; break
	od
}

/* comb_any_forgotten() */
inline read_forgotten() {
	do
	:: f < sxmax && f < started ->
		if :: sxip[f] && st[f] == ENDED -> UNKNOWN :: else fi;
		f++
	:: else -> f = 0; break
	od
}

proctype reader() {
	byte bound = NOBOUND, i, f, e, b, x;
#ifdef GAPS
	byte from = NOBOUND, low, held;	/* held: the keys in spans, as bits */
#endif

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
	read_seats(0, NS);
	read_seats(NS, NS + NP);
	read_forgotten();
#if defined(LAG)
	skip;
	d_step {
		f = counter + 1;
		for (x : X0 .. XEND - 1) {
			if
			:: announced[x] && INPROGRESS(x) -> missed[wasprepared[x]]++; f = MIN(f, announced[x])
			:: else
			fi
		}
	}
	assert(bound > 0);
	assert(missed[0] > 2 || missed[1] > 2 || bound == f);
#ifdef NOPREPARE
	assert(missed[0] == 0 || bound >= nth[(seat[0].commits > 3 * missed[0] - 1 -> seat[0].commits - (3 * missed[0] - 1) : 0)])
#endif
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
	st[X0] = PREP; completed = X0; nextxid++; begun++; counter = 1; key[X0] = 1; pgproc[0] = X0;
#endif
	for (w : 0 .. NS - 1) { run writer(w) }
	run finisher();
	run reader()
} }
