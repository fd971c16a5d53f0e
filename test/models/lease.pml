/*
 * lease.pml - order that survives: comb_lease.c, comb_page.c, comb_shared.c and comb_ordered.c of
 * src/ordered
 *
 * Sessions take keys from a counter in shared memory, under a limit in the WAL.  A record is first
 * written and later flushed.  The WAL writer may flush at any time.  The server may crash at any
 * time, and loses shared memory and the WAL that is not flushed.
 *
 *   NS, ND    sessions and databases; session s is in database s % ND
 *   MAXK      the largest key
 *   LEASE     pg_comb.lease; a reset may find the setting lowered to 1
 *   NCRASH    how often the server crashes
 *   PROMOTE   a standby that has some prefix of the flushed WAL may take over instead
 *   NRESET    how often comb_ordered_reset() is called, in database 0
 *   SETVAL    somebody sets a sequence to 0 or to this value
 *   TELL      comb_settled() is called in database 0, and clients keep its largest answer
 *
 * What must hold:
 * Order     A key is larger than each key of its database whose call returned before this call
 *           began.  A reset that sets back ends this for the keys before it.  A promotion ends it
 *           for keys whose WAL the standby lacks.
 * Unique    No key comes twice in a database.
 * Durable   A key is below a limit that is on disk.
 * Server    In one life of the server no key comes twice in two databases, and a key is larger than
 *           keys of other databases whose calls returned before.  A reset that sets back ends this.
 * Told      No key below an answer of comb_settled() is handed out later.
 *
 * What is left out, and why that is sound:
 * - The clock.  A key is any number from the counter + 1 to the counter + JUMP.  This includes
 *   every clock, also one that is behind or set back.  The checks of drift and jump only refuse.
 * - One series stands for three: they share nothing but the incarnation and the reset's locks.
 * - comb_sequence_generation: a sequence altered or made anew makes the lease unknown, as a new
 *   incarnation does.
 * - The distance that makes a reset set a series back.  Here any reset may, or may not.
 * - Memory is sequentially consistent, but for the reset's last look at the counter: of all
 *   accesses outside locks, only there would each of two processes read after its own write.
 * - WAL that is on disk and that no standby can lack is cut off, see shorten().
 */
#ifndef NS
#define NS 2
#endif
#ifndef ND
#define ND 1
#endif
#ifndef MAXK
#define MAXK 5
#endif
#ifndef NCRASH
#define NCRASH 1
#endif
#ifndef NRESET
#define NRESET 0
#endif
#ifndef JUMP
#define JUMP 2
#endif
#ifndef LEASE
#define LEASE 2
#endif
#define HALF (LEASE / 2)	/* comb_lease_half() */
#define W 10			/* records that fit into the WAL; page_write() checks it */

#define MAX(a,b) ((a) > (b) -> (a) : (b))
#define MIN(a,b) ((a) < (b) -> (a) : (b))
#define DB(s) ((s) % ND)
#define RESETTER NS		/* numbers of processes that are no sessions */
#define TELLER (NS + 1)

/*
 * Shared memory (comb_shared.h).  An incarnation is a number not used before, and its last bit
 * chooses the counter, as in comb_counter().
 */
#define NONE 0			/* COMB_INCARNATION_NONE, and the incarnation that setval() leaves */
#define COUNTER(incarnation) counter[(incarnation) & 1]
byte counter[2], inc = 2, newest = 1;

/* The WAL: what stands on a sequence's page after each record.  The page has wal[page[d]]. */
typedef Record { byte value, flushed, inc, db; short keys[ND] }
Record wal[W];
byte end = ND, disk = ND;	/* records written, records on disk */
byte page[ND];
byte lsn[NS + 2], nlsn[NS];	/* LSNs that processes know: CombPage.lsn, CombLease.next_lsn */

/* Locks: on the sequence (RowExclusive, ShareRowExclusive), on the buffer */
byte rowx[ND];
bit  srx[ND], buf[ND];

/* For the checks.  wal[i].keys are the keys handed out between record i and the next, as bits. */
byte top[ND], floor[NS];	/* the largest key; the same when the call began */
byte anytop, anyfloor[NS];	/* the same of all databases, in this life of the server */
short anykeys;
byte first[NS], told;		/* announcements (all about them in settled.pml); largest answer */
bit  dead[NS + 2];		/* the server has crashed, and the process has to start anew */
byte crashed, resetted;

/* XLogFlush() */
inline flush(at) { disk = MAX(disk, (at) + 1); shorten() }
#ifdef PROMOTE
#define NOWKEYS wal[end - 1].keys
inline shorten() { skip }
#else
#define NOWKEYS wal[0].keys
inline shorten() {
	d_step {
		if
		:: disk == end && end > ND ->
			for (z : 0 .. ND - 1) {
				q = page[z];
				if
				:: q >= ND -> wal[z].value = wal[q].value; wal[z].flushed = wal[q].flushed;
					wal[z].inc = wal[q].inc; page[z] = z
				:: else
				fi
			}
			do
			:: end > ND -> end--; wal[end].value = 0; wal[end].flushed = 0;
				wal[end].inc = 0; wal[end].db = 0
			:: else -> break
			od;
			disk = ND;
			for (z : 0 .. NS + 1) { lsn[z] = 0 }
			for (z : 0 .. NS - 1) { nlsn[z] = 0 }
		:: else
		fi;
		z = 0; q = 0
	}
}
#endif

/* comb_page_read(), comb_page_load: the page cannot change while the buffer is locked */
inline page_read() {
	pval = wal[page[d]].value; pinc = wal[page[d]].inc; lsn[s] = page[d];
	pfl = (lsn[s] < disk -> pval : wal[page[d]].flushed)
}

inline forget_page() { pval = 0; pfl = 0; pinc = 0; lsn[s] = 0 }

/* comb_page_open() */
inline page_open() { !srx[d] && !buf[d] -> rowx[d]++; buf[d] = 1; page_read() }

/* comb_page_write() */
inline page_write(v, i) {
	assert(end < W);
	pfl = (pinc == i -> pfl : 0);
	pval = v; pinc = i; lsn[s] = end;
	wal[end].value = pval; wal[end].flushed = pfl; wal[end].inc = i; wal[end].db = d;
	page[d] = end; end++
}

/* comb_lease_schedule() */
inline schedule() { renew = (next > limit || limit < HALF -> limit : limit - HALF) }

/* comb_lease_remember() */
inline remember(i) {
	linc = i;
	limit = (pinc == i -> pfl : 0);
	next = (pinc == i -> pval : 0);
	nlsn[s] = (next > limit -> lsn[s] : 0);	/* not needed otherwise */
	schedule();
	forget_page()
}

inline hand_out() {
	d_step {
		x = wal[page[d]].value;		/* Durable */
		if
		:: page[d] >= disk ->
			x = 0; y = page[d];
			do
			:: y > 0 && (y - 1 >= disk || wal[y - 1].db != d) -> y--
			:: else -> x = (y > 0 -> wal[y - 1].value : 0); break
			od
		:: else
		fi;
		assert(k < x);
		assert(k > floor[s]);		/* Order */
		for (y : 0 .. end - 1) { assert((wal[y].keys[d] & (1 << k)) == 0) }	/* Unique */
		NOWKEYS[d] = NOWKEYS[d] | (1 << k);
		top[d] = MAX(top[d], k);
#if ND > 1
		assert(k > anyfloor[s]);	/* Server */
		assert((anykeys & (1 << k)) == 0);
		anykeys = anykeys | (1 << k);
		anytop = MAX(anytop, k);
#endif
		assert(d != 0 || k >= told);	/* Told */
		x = 0; y = 0; k = 0
	}
}

#define ON_CRASH atomic { dead[s] -> dead[s] = 0

/* comb_lease_known() is linc == inc */
proctype session(byte s) {
	byte linc, limit, next, renew;			/* CombLease */
	byte k, i, taken, announced;
	byte d, pval, pfl, pinc, x, y, z, q;

start:	{
	d = DB(s);
begin:						/* comb_lease_take() */
#ifdef TELL
		if :: atomic { first[s] = 0; announced = 0 } :: skip fi;	/* the transaction ends, or makes more keys */
#endif
		atomic { floor[s] = top[d];
#if ND > 1
			anyfloor[s] = anytop;
#endif
			if :: linc == inc -> goto step :: else fi };
learn:						/* comb_lease_learn() */
		atomic { linc = NONE; page_open() };
		i = inc;			/* comb_incarnation_current */
		buf[d] = 0;			/* comb_page_unlock() */
		atomic { if :: pinc != i -> flush(lsn[s]); pfl = pval :: else fi };
		if :: pinc != i -> COUNTER(i) = MAX(COUNTER(i), pval) :: else fi;	/* comb_lease_adopt() */
		atomic { rowx[d]--; remember(i); i = 0 };
step:
#ifdef TELL
		if				/* comb_announce_once() */
		:: announced != linc -> atomic { announced = linc; x = COUNTER(linc) + 1;
			first[s] = (first[s] == 0 || x < first[s] -> x : first[s]); x = 0 }
		:: else
		fi;
#endif
		atomic {			/* comb_ordered_step(): the CAS */
			COUNTER(linc) < MAXK;
			k = COUNTER(linc) + 1;
			if :: COUNTER(linc) + JUMP <= MAXK -> k = COUNTER(linc) + JUMP :: skip fi;
			COUNTER(linc) = k };
		if				/* comb_lease_fresh */
		:: atomic { k < renew && linc == inc -> hand_out(); goto begin }
		:: atomic { !(k < renew && linc == inc) };
		fi;
						/* comb_lease_extend() */
		if
		:: k >= limit && k < next -> atomic {	/* comb_lease_advance() */
			flush(nlsn[s]);
			limit = next; schedule() }
		:: else
		fi;
		if
		:: k >= limit ->		/* comb_lease_extend_now() */
#ifdef TELL			/* the wait for the lock may be cancelled; the transaction aborts */
			if :: atomic { first[s] = 0; announced = 0; linc = NONE; k = 0; goto begin } :: skip fi;
#endif
			atomic { taken = linc; linc = NONE; page_open() };
			i = inc;		/* comb_incarnation_current */
			atomic {
				if
				:: i != taken || (pinc != i && k <= pval) ->
					buf[d] = 0; rowx[d]--; forget_page(); i = 0; taken = 0; k = 0; goto retry
				:: else
				fi;
				if :: pinc != i || k >= pval -> page_write(k + LEASE, i) :: else fi;
				buf[d] = 0
			};
			atomic {
				if :: k >= pfl -> flush(lsn[s]); pfl = pval :: else fi;
				rowx[d]--; remember(i); i = 0; taken = 0
			}
		:: k < limit && k >= renew ->	/* comb_lease_renew() */
			if			/* comb_page_try_open() */
			:: atomic { srx[d] || buf[d] -> renew = limit - (limit - k) / 2 }
			:: atomic { page_open() };
				atomic {
					if
					:: pinc != linc || linc != inc -> linc = NONE; forget_page()
					:: else ->
						if :: k + HALF >= pval -> page_write(k + LEASE, pinc) :: else fi;
						remember(pinc)
					fi;
					buf[d] = 0; rowx[d]--
				}
			fi
		:: else
		fi;
		if				/* comb_lease_covers */
		:: atomic { k < limit && linc == inc -> hand_out(); goto begin }
		:: atomic { !(k < limit && linc == inc) -> k = 0 }
		fi;
retry:		if
		:: atomic { linc == inc -> goto step }
		:: atomic { linc != inc -> goto learn }
		fi
	} unless { ON_CRASH; linc = 0; limit = 0; next = 0; renew = 0;
		k = 0; i = 0; taken = 0; announced = 0; pval = 0; pfl = 0; pinc = 0;
		x = 0; y = 0; z = 0; q = 0; goto start } }
}

proctype walwriter() {	/* and everybody's commits */
	byte z, q;

end1:	do
	:: atomic { disk < end -> disk++; shorten() }
	od
}

#ifdef SETVAL
/* setval() writes last_value and log_cnt, and leaves what was promised (CombPromise) */
proctype setval() {
	byte d, v;
	if :: v = 0 :: v = SETVAL fi;
	atomic { !srx[d] && !buf[d] -> assert(end < W);
		v = MAX(v, wal[page[d]].value);
		wal[end].value = v; wal[end].flushed = wal[page[d]].flushed; wal[end].inc = NONE;
		wal[end].db = d; page[d] = end; end++; v = 0 }
}
#endif

/* The server dies, and another one goes on from record p of the WAL */
inline restart(p) {
	d_step {
		for (d : 0 .. ND - 1) {
			/* the page after recovery, and the keys that count */
			x = page[d];
			do
			:: x >= p || (x >= ND && wal[x].db != d) || (x < ND && x != d) -> x--
			:: else -> break
			od;
			wal[d].value = wal[x].value; wal[d].inc = wal[x].inc; wal[d].flushed = wal[x].flushed;
			wal[d].db = d;
			keys = wal[0].keys[d];
			for (y : 1 .. end - 1) {
				if :: y < p || !promoted -> keys = keys | wal[y].keys[d] :: else fi;
				wal[y].keys[d] = 0
			}
			wal[0].keys[d] = keys;
			top[d] = MAXK + 1;
			do :: top[d] > 0 && (keys & (1 << top[d])) == 0 -> top[d]-- :: else -> break od;
			page[d] = d; rowx[d] = 0; srx[d] = 0; buf[d] = 0
		}
		for (y : ND .. end - 1) { wal[y].value = 0; wal[y].flushed = 0; wal[y].inc = 0; wal[y].db = 0 }
		end = ND; disk = ND;
		counter[0] = 0; counter[1] = 0; newest++; inc = 2 * newest; anytop = 0; anykeys = 0;
		for (y : 0 .. NS - 1) { floor[y] = 0; anyfloor[y] = 0; nlsn[y] = 0; first[y] = 0 }
		for (y : 0 .. NS + 1) { lsn[y] = 0 }
		for (y : 0 .. NS + 1) { dead[y] = 1 }
		x = 0; y = 0; d = 0; keys = 0; promoted = 0
	}
}

proctype fate() {
	byte d, x, y, p;
	short keys;
	bit promoted;

end2:	do
	:: atomic { crashed < NCRASH -> crashed++; p = disk; restart(p); p = 0 }
#ifdef PROMOTE
	:: atomic { crashed < NCRASH -> crashed++; promoted = 1;
		p = ND; do :: p < disk -> p++ :: break od;
		restart(p); p = 0 }
#endif
	od
}

/* The order of keys before a reset that sets back counts no longer */
inline forget_order() {
	for (y : 0 .. end - 1) { wal[y].keys[d] = 0 }
	for (y : 0 .. NS - 1) { floor[y] = (DB(y) == d -> 0 : floor[y]) }
	top[d] = 0; told = (d == 0 -> 0 : told); y = 0
}
inline forget_server() {
	for (y : 0 .. NS - 1) { anyfloor[y] = 0 }
	anytop = 0; anykeys = 0; y = 0
}

#if NRESET > 0
/* comb_ordered_reset() */
proctype reset() {
	byte d, ended, following, us, pval, pfl, pinc, y, z, q, s = RESETTER;
	bit back;

start:	{
	do
	:: atomic { resetted < NRESET && rowx[d] == 0 -> resetted++; srx[d] = 1;	/* comb_sequence_lock */
			if :: back = 0 :: back = 1 fi;
			ended = inc };		/* comb_incarnation_current */
		us = COUNTER(ended);		/* comb_reset_target */
		atomic { !buf[d] -> page_read();
			us = (pinc != ended && pval > us -> pval : us);
			us = (back -> 0 : us); forget_page();
			newest++; following = 2 * newest + ((ended & 1) ^ back) };	/* comb_incarnation_after */
		if
		:: back -> COUNTER(following) = us
		:: else -> COUNTER(following) = MAX(COUNTER(following), us)
		fi;
		us = COUNTER(following);	/* a processor may read it so early */
		atomic { inc = following;	/* comb_incarnation_change */
			if :: back -> forget_server() :: else fi };
		atomic { !buf[d] -> buf[d] = 1; page_read();	/* comb_reset_limits */
			if :: us = COUNTER(following) :: skip fi };
		atomic { if :: us = us + LEASE :: us = us + 1 fi;
			us = (back -> us : MAX(us, pval));
			page_write(us, following); buf[d] = 0;
			if :: back -> forget_order() :: else fi };
		atomic { flush(lsn[s]) };
		atomic { srx[d] = 0; forget_page(); ended = 0; following = 0; us = 0; back = 0 }
	od
	} unless { ON_CRASH; ended = 0; following = 0; us = 0; pval = 0; pfl = 0; pinc = 0; back = 0;
		y = 0; z = 0; q = 0; goto start } }
}
#endif

#ifdef TELL
/* comb_settled_compute() in database 0, for a client that keeps the bound */
proctype teller() {
	byte linc, durable, i, b, pval, pfl, pinc, y, z, q, d, s = TELLER;

start:	{
	do
	:: if
		:: linc != inc ->		/* comb_lease_learn() */
			atomic { linc = NONE; page_open() };
			i = inc;
			buf[d] = 0;
			atomic { if :: pinc != i -> flush(lsn[s]); pfl = pval :: else fi };
			if :: pinc != i -> COUNTER(i) = MAX(COUNTER(i), pval) :: else fi;
			atomic { rowx[d]--; linc = i; i = 0; durable = pfl; forget_page() }
		:: else
		fi;
		b = COUNTER(linc) + 1;		/* comb_settled_scan() */
		if				/* comb_lease_survives() */
		:: b > durable ->
			if :: atomic { !buf[d] -> page_read(); pfl = wal[page[d]].flushed };	/* comb_page_peek() */
				atomic { if :: b > pfl -> flush(lsn[s]); pfl = pval :: else fi };
				atomic { durable = MAX(durable, pfl); forget_page() }
			:: skip			/* the sequence is locked */
			fi
		:: else
		fi;
		atomic { b = MIN(b, durable) };
		for (y : 0 .. NS - 1) {		/* comb_seat_bound() */
			b = (DB(y) == d && first[y] != 0 && first[y] < b -> first[y] : b)
		}
		atomic { told = (linc == inc -> MAX(told, b) : told); b = 0; y = 0 }
	od
	} unless { ON_CRASH; linc = 0; durable = 0; i = 0; b = 0;
		pval = 0; pfl = 0; pinc = 0; y = 0; z = 0; q = 0; goto start } }
}
#endif

init { atomic {
	byte z;
	for (z : 0 .. ND - 1) { page[z] = z; wal[z].db = z }
	for (z : 0 .. NS - 1) { run session(z) }
	run walwriter(); run fate();
#if NRESET > 0
	run reset();
#endif
#ifdef TELL
	run teller();
#endif
#ifdef SETVAL
	run setval();
#endif
} }
