/*
 * position.pml - readers with positions: src/ordered/comb_position.c
 *
 * Transactions take a key and write a row, in a subtransaction or not.  They commit, abort or are
 * prepared.  A process ends prepared transactions, and another one crashes the server.  A reader polls
 * at any time.  A poll takes a snapshot, finds the end of the keys and then the bound, and delivers
 * what is new since its position.
 *
 *   NW         sessions that write
 *   NX         transactions
 *   NCRASH     crashes
 *   NOPREPARE  no transaction is prepared
 *   OVERFLOW   a transaction may have more subtransactions than a snapshot knows
 *
 * What must hold: no row comes twice.  Once everything has ended, a poll makes each row that is there
 * come once.
 *
 * What is left out, and why that is sound:
 * - How the bound is found is in settled.pml.  Here it is the largest that is right.
 * - That keys go on after the end is in lease.pml.
 * - Gaps, which have no key of a transaction that the snapshot does not see, are in settled.pml, too.
 * - Xids do not wrap around: a position that is too old for 32 bits is refused.
 */
#ifndef NW
#define NW 2
#endif
#ifndef NCRASH
#define NCRASH 0
#endif
#define XIDS (2 * NX + 1)	/* xids begin at 1 */

#define MAX(a,b) ((a) > (b) -> (a) : (b))

/* PostgreSQL.  The row's xmin is that of the subtransaction, if there is one. */
#define RUN 1
#define PREP 2
#define COMMITTED 3
#define GONE 4
byte st[NX], xid[NX], xmin[NX], seq[NX];
byte sub[NX];			/* 1 = has a subtransaction, 2 = and snapshots do not know it */
byte nextxid = 1, completed;	/* nextXid, latestCompletedXid */
byte commits, durable;		/* how many, and how many a crash cannot lose */
byte begun, left;

/* The module */
byte key[NX];
byte counter;

/* The reader, which survives a crash, and its position */
bit  alive;			/* the poll's connection */
byte got[NX];
byte pbound, pend, pmax;	/* no end = 0 */
bit  pxip[XIDS];

inline end_of(t, how) {
	completed = MAX(completed, xmin[t]);
	commits = commits + (how == COMMITTED -> 1 : 0);
	seq[t] = commits;
	st[t] = how
}

inline take_key(t) { atomic { if :: st[t] == RUN -> counter++; key[t] = counter :: else -> skip fi } }
inline take_xids(t) {
	atomic {
		if
		:: st[t] == RUN ->
			xid[t] = nextxid; xmin[t] = nextxid + (sub[t] -> 1 : 0);
			nextxid = xmin[t] + 1
		:: else -> skip
		fi
	}
}

proctype writer() {
	byte t;

	do
	:: atomic { begun < NX -> t = begun; begun++; st[t] = RUN;
			if
			:: skip
			:: sub[t] = 1
#ifdef OVERFLOW
			:: sub[t] = 2
#endif
			fi };
		if
		:: true -> take_key(t); take_xids(t)
		:: true -> take_xids(t); take_key(t)
		fi;
		atomic {
			if
			:: st[t] == RUN -> end_of(t, COMMITTED)
			:: st[t] == RUN -> end_of(t, GONE)
#ifndef NOPREPARE
			:: st[t] == RUN -> st[t] = PREP; durable = commits
#endif
			:: else -> skip
			fi
		}
	:: atomic { begun == NX -> left++; break }
	od
}

/* COMMIT PREPARED and ROLLBACK PREPARED.  The former is flushed. */
proctype finisher() {
	byte t;

end:	do
	:: atomic { t < NX && st[t] == PREP -> end_of(t, COMMITTED); durable = commits }
	:: atomic { t < NX && st[t] == PREP -> end_of(t, GONE) }
	:: atomic { t < NX - 1 -> t++ }
	:: atomic { t > 0 -> t-- }
	od
}

/* The last commits are lost, and xids that have left nothing come again.  Keys do not. */
proctype crash() {
	byte n, cut, t;

end:	do
	:: atomic { n < NCRASH -> n++; alive = 0; cut = durable;
			do :: cut < commits -> cut++ :: break od;
			commits = cut; durable = cut; nextxid = 1;
			for (t : 0 .. NX - 1) {
				if
				:: st[t] == RUN || (st[t] == COMMITTED && seq[t] > cut) -> st[t] = GONE
				:: st[t] == PREP || (st[t] == COMMITTED && seq[t] <= cut) -> nextxid = MAX(nextxid, xmin[t] + 1)
				:: else -> skip
				fi
			};
			completed = nextxid - 1; cut = 0; t = 0 }
	od
}

proctype reader() {
	byte bound, end, max, t, x;
	bit  seen[NX], xip[XIDS], overflowed, last;

	do
	:: atomic { last = (left == NW);
			for (t : 0 .. NX - 1) { last = last && st[t] != PREP }; t = 0 };
		d_step {	/* GetSnapshotData() */
			alive = 1; max = completed + 1; overflowed = 0;
			for (x : 0 .. XIDS - 1) { xip[x] = 0 };
			for (t : 0 .. NX - 1) {
				seen[t] = (st[t] == COMMITTED);
				if
				:: (st[t] == RUN || st[t] == PREP) && xid[t] ->
					xip[xid[t]] = (xid[t] < max);
					if
					:: sub[t] == 1 && xmin[t] < max -> xip[xmin[t]] = 1
					:: sub[t] == 2 -> overflowed = 1
					:: else -> skip
					fi
				:: else -> skip
				fi
			};
			t = 0; x = 0
		};
		end = counter + 1;	/* comb_settled_scan() */
		d_step {
			bound = counter + 1;
			for (t : 0 .. NX - 1) {
				if
				:: !seen[t] && st[t] != GONE && key[t] && key[t] < bound -> bound = key[t]
				:: else -> skip
				fi
			};
			t = 0
		};
		d_step {	/* comb_unread_row(), comb_position() */
			if
			:: alive ->
				for (t : 0 .. NX - 1) {
					if
					:: seen[t] && key[t] >= pbound && (!overflowed || key[t] < bound) &&
						(pend == 0 || key[t] >= pend || xmin[t] >= pmax || pxip[xmin[t]]) ->
						got[t]++; assert(got[t] == 1)
					:: else -> skip
					fi;
					assert(!last || overflowed || st[t] != COMMITTED || got[t] == 1)
				};
				pbound = MAX(pbound, bound);
				if		/* comb_position_take_snapshot() */
				:: !overflowed ->
					pend = end; pmax = max;
					for (x : 0 .. XIDS - 1) { pxip[x] = xip[x] }
				:: else -> skip
				fi
			:: else -> last = 0
			fi;
			t = 0; x = 0; bound = 0; end = 0; max = 0; overflowed = 0
		};
		if :: last -> break :: else -> skip fi
	od
}

init { atomic {
	byte w;

	for (w : 1 .. NW) { run writer() }
	run finisher();
	run crash();
	run reader()
} }
