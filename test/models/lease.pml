/*
 * lease.pml - order that survives: comb_lease.c, comb_sequence.c and comb_ordered.c of src/ordered
 *
 * Sessions take keys from their database's counter in shared memory, under a limit in the WAL.  A record is first
 * written and later flushed.  The WAL writer may flush at any time.  The server may crash at any
 * time, and loses shared memory and the WAL that is not flushed.
 *
 *   NS, ND    sessions and databases; session s is in database s % ND
 *   MAXK      the largest key
 *   LEASE     pg_comb.lease_duration
 *   NCRASH    how often the server crashes
 *   PROMOTE   a standby that has some prefix of the flushed WAL may take over instead
 *   NRESET    how often comb_ordered_reset() is called, in database 0
 *   SETVAL    somebody sets a sequence NSETVAL (2) times, to 0 or to this value
 *   TELL      comb_settled() is called in database 0, and clients keep its largest answer
 *
 * What must hold:
 * Order     A key is larger than each key of its database whose call returned before this call
 *           began.  A promotion ends it for keys whose WAL the standby lacks.
 * Unique    No key comes twice in a database.
 * Durable   A key is below a limit that is on disk.  Sessions never lower the limit on a page.
 * Told      No key below an answer of comb_settled() is handed out later.
 * Reset     Once comb_ordered_reset() has returned, the next start finds its limit, unless somebody
 *           sets the sequence.  Sessions are refused only by a reset in the same life of the server.
 * Order, Unique and Told end in a database when the server starts at a limit that a reset or
 * setval() has lowered, and when setval() lowers it before this life of the server has made a key.
 *
 * What is left out, and why that is sound:
 * - The clock.  A key is any number from the counter + 1 to the counter + JUMP.  This includes
 *   every clock, also one that is behind or set back.  The checks of drift and jump only refuse.
 * - One series stands for two.  snowflake.pml has the server's counter, which Snowflakes take their times from.
 * - Locks.  What is done under a buffer's lock is one step.
 * - Memory is sequentially consistent.  The counter is moved by exchanges, and all else that
 *   processes share is read under a lock.
 * - WAL that is on disk and that no standby can lack is cut off, see shorten().
 */
#ifndef NS
#define NS 2
#endif
#ifndef ND
#define ND 1
#endif
#ifndef NCRASH
#define NCRASH 1
#endif
#ifndef NRESET
#define NRESET 0
#endif
#ifndef NSETVAL
#define NSETVAL 2
#endif
#define JUMP 2
#define LEASE 2
#define HALF (LEASE / 2)	/* comb_lease_half() */
#define W 10			/* records that fit into the WAL; page_write() checks it */

#define MAX(a,b) ((a) > (b) -> (a) : (b))
#define MIN(a,b) ((a) < (b) -> (a) : (b))
#define DB(s) ((s) % ND)
#define RESETTER NS		/* numbers of processes that are no sessions */
#define TELLER (NS + 1)

/* Shared memory (comb_order.h).  An incarnation is a number not used before. */
#define NONE 0			/* the incarnation that setval() leaves */
#define MARK(i) ((i) + 1)	/* COMB_RESET_MARK */
byte counter[ND], inc[ND];

/* The WAL: what stands on a sequence's page after each record.  The page has wal[page[d]]. */
typedef Record { byte value, inc, db, high; short keys[ND] }
Record wal[W];			/* high: the largest value up to here */
byte end = ND, disk = ND;	/* records written, records on disk */
byte page[ND];
byte lsn[NS + 2], nlsn[NS];	/* LSNs that processes hold: CombPage.lsn, CombLease.next_lsn */

/* For the checks.  wal[i].keys are the keys handed out between record i and the next, as bits. */
byte top[ND], floor[NS];	/* the largest key; the same when the call began */
byte first[NS], told;		/* announcements (all about them in settled.pml); largest answer */
bit  dead[NS + 2];		/* the server has crashed, and the process has to start anew */
byte crashed, resetted;
#define NOTHING 255
byte done = NOTHING;		/* the limit of a reset that has returned */
bit  marked;			/* a reset has begun in this life of the server */

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
				:: q >= ND -> wal[z].value = wal[q].value; wal[z].high = wal[q].high;
					wal[z].inc = wal[q].inc; page[z] = z
				:: else
				fi
			}
			do
			:: end > ND -> end--; wal[end].value = 0; wal[end].high = 0;
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

/* comb_page_read(): nobody writes the page while the buffer is locked */
inline page_read() { pval = wal[page[d]].value; pinc = wal[page[d]].inc; lsn[s] = page[d] }

inline forget_page() { pval = 0; pinc = 0; lsn[s] = 0 }

/* comb_page_write(), and setval() */
inline page_write(v, i) {
	assert(end < W);
	wal[end].value = v; wal[end].inc = i; wal[end].db = d;
	wal[end].high = MAX(v, wal[page[d]].high);
	pval = v; pinc = i; lsn[s] = end; page[d] = end; end++
}

inline raise_limit() { assert(k + LEASE > pval); page_write(k + LEASE, inc[d]) }

/* comb_lease_schedule() */
inline schedule() { renew = (next > limit || limit < HALF -> limit : limit - HALF) }

/* The end of comb_lease_read(), when the record is on disk */
inline remember() {
	known = 1;
	limit = (pinc == inc[d] -> pval : 0);
	next = limit; nlsn[s] = 0;
	schedule();
	forget_page()
}

inline hand_out() {
	d_step {
		y = end - 1;			/* Durable */
		do
		:: y >= ND && (y >= disk || wal[y].db != d) -> y--
		:: else -> y = (y < ND -> d : y); break
		od;
		assert(k < wal[y].high);
		assert(k > floor[s]);		/* Order */
		for (y : 0 .. end - 1) { assert((wal[y].keys[d] & (1 << k)) == 0) }	/* Unique */
		NOWKEYS[d] = NOWKEYS[d] | (1 << k);
		top[d] = MAX(top[d], k);
		assert(d != 0 || k >= told);	/* Told */
		y = 0; k = 0
	}
}

/* The order of the keys and of the answers before record r counts no longer */
#define LOWER(r) (wal[r].value < wal[r].high)
inline forget_order(r) {
	for (y : 0 .. end - 1) { wal[y].keys[d] = 0 }
	for (y : 0 .. NS - 1) { floor[y] = (DB(y) == d -> 0 : floor[y]) }
	wal[r].high = wal[r].value; top[d] = 0; told = (d == 0 -> 0 : told); y = 0
}

#define ON_CRASH atomic { dead[s] -> dead[s] = 0

proctype session(byte s) {
	bit  known;					/* comb_lease_known() */
	byte limit, next, renew;			/* CombLease */
	byte k, d, pval, pinc, y, z, q;

start:	{
	d = DB(s);
begin:						/* comb_lease_begin() */
#ifdef TELL
		if :: first[s] = 0 :: skip fi;	/* the transaction ends, or makes more keys */
#endif
		atomic { floor[s] = top[d];
			if :: known -> goto step :: else fi };
read:						/* comb_lease_read() */
		atomic { known = 0; page_read();
			if :: pinc == MARK(inc[d]) -> k = 0; goto refused :: else fi;	/* comb_lease_check() */
			if :: k > pval -> raise_limit() :: else fi };
		flush(lsn[s]);
		if :: pinc != inc[d] -> counter[d] = MAX(counter[d], pval) :: else fi;
		atomic { remember();
			if :: k > 0 && k < limit -> goto covered :: else k = 0 fi };
step:
#ifdef TELL
		atomic { if :: first[s] == 0 -> first[s] = counter[d] + 1 :: else fi };	/* comb_lease_begin() */
#endif
		atomic {			/* comb_ordered_step(): the CAS */
			counter[d] < MAXK;
			k = counter[d] + 1;
			if :: counter[d] + JUMP <= MAXK -> k = counter[d] + JUMP :: skip fi;
			counter[d] = k };
						/* comb_lease_extend() */
		if
		:: k >= limit && k < next -> atomic { flush(nlsn[s]); limit = next; schedule() }
		:: else
		fi;
		if
		:: k >= limit ->
#ifdef TELL			/* the wait for the lock may be cancelled; the transaction aborts */
			if :: atomic { first[s] = 0; known = 0; k = 0; goto begin } :: skip fi;
#endif
			goto read
		:: k < limit && k >= renew ->	/* comb_lease_renew() */
			if			/* comb_page_open() */
			:: renew = limit - (limit - k) / 2
			:: atomic { page_read();
				if
				:: pinc != inc[d] -> known = 0
				:: else ->
					if :: k + HALF >= pval -> raise_limit() :: else fi;
					next = pval; nlsn[s] = lsn[s]; schedule()
				fi;
				forget_page() }
			fi
		:: else
		fi;
covered:	atomic { hand_out(); goto begin };
refused:	atomic { assert(marked); forget_page(); first[s] = 0 };
		false
	} unless { ON_CRASH; known = 0; limit = 0; next = 0; renew = 0;
		k = 0; pval = 0; pinc = 0; y = 0; z = 0; q = 0; goto start } }
}

proctype walwriter() {	/* and everybody's commits */
	byte z, q;

end1:	do
	:: atomic { disk < end -> disk++; shorten() }
	od
}

#ifdef SETVAL
/* setval() writes last_value and log_cnt */
proctype setval() {
	byte d, n, y, pval, pinc, s = RESETTER;

end3:	do
	:: atomic { n < NSETVAL -> n++; done = NOTHING;
		if :: page_write(0, NONE) :: page_write(SETVAL, NONE) fi;
		if
		:: LOWER(end - 1) && (counter[d] < top[d] || counter[d] + 1 < told) -> forget_order(end - 1)
		:: else
		fi;
		forget_page() }
	od
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
			assert(d != 0 || promoted || done == NOTHING || wal[x].value == done);	/* Reset */
			keys = wal[0].keys[d];
			for (y : 1 .. end - 1) {
				if :: y < p || !promoted -> keys = keys | wal[y].keys[d] :: else fi;
				wal[y].keys[d] = 0
			}
			wal[0].keys[d] = keys;
			if :: LOWER(x) -> forget_order(x) :: else fi;
			keys = wal[0].keys[d];
			wal[d].value = wal[x].value; wal[d].high = wal[x].high; wal[d].inc = wal[x].inc; wal[d].db = d;
			top[d] = MAXK + 1;
			do :: top[d] > 0 && (keys & (1 << top[d])) == 0 -> top[d]-- :: else -> break od;
			page[d] = d
		}
		for (y : ND .. end - 1) { wal[y].value = 0; wal[y].high = 0; wal[y].inc = 0; wal[y].db = 0 }
		end = ND; disk = ND;
		done = NOTHING; marked = 0;
		for (y : 0 .. ND - 1) { counter[y] = 0; inc[y] = inc[y] + 2 * ND }
		for (y : 0 .. NS - 1) { floor[y] = 0; nlsn[y] = 0; first[y] = 0 }
		for (y : 0 .. NS + 1) { lsn[y] = 0; dead[y] = 1 }
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

#if NRESET > 0
/* comb_ordered_reset(), which takes effect at a restart */
proctype reset() {
	byte d, pval, pinc, z, q, s = RESETTER;

start:	{
	do
	:: atomic { resetted < NRESET -> resetted++; marked = 1; done = NOTHING; page_read();	/* comb_reset_limit() */
			if :: page_write(0, MARK(inc[d])) :: page_write(pval, MARK(inc[d])) fi };
		atomic { flush(lsn[s]) };
		atomic { done = (wal[page[d]].inc == MARK(inc[d]) -> pval : NOTHING); forget_page() }
	od
	} unless { ON_CRASH; pval = 0; pinc = 0; z = 0; q = 0; goto start } }
}
#endif

#ifdef TELL
/* comb_settled_scan() in database 0, for a client that keeps the bound */
proctype teller() {
	byte durable, b, pval, pinc, y, z, q, d, s = TELLER;
	bit  known;

start:	{
	do
	:: if
		:: !known ->			/* comb_lease_read() */
			atomic { page_read() };
			if :: pinc == MARK(inc[d]) -> goto refused :: else fi;
			flush(lsn[s]);
			if :: pinc != inc[d] -> counter[d] = MAX(counter[d], pval) :: else fi;
			atomic { known = 1; durable = pval; forget_page() }
		:: else
		fi;
		b = counter[d] + 1;		/* comb_settled_scan() */
		if				/* comb_lease_survives() */
		:: b > durable ->
			if :: atomic { page_read() };	/* comb_page_open() */
				atomic { flush(lsn[s]); durable = MAX(durable, pval); forget_page() }
			:: skip			/* the sequence is locked */
			fi
		:: else
		fi;
		atomic { b = MIN(b, durable) };
		for (y : 0 .. NS - 1) {		/* comb_seat_bound() */
			b = (DB(y) == d && first[y] != 0 && first[y] < b -> first[y] : b)
		}
		atomic { told = MAX(told, b); b = 0; y = 0 }
	od;
refused:	atomic { forget_page() };
	false
	} unless { ON_CRASH; known = 0; durable = 0; b = 0;
		pval = 0; pinc = 0; y = 0; z = 0; q = 0; goto start } }
}
#endif

init { atomic {
	byte z;
	for (z : 0 .. ND - 1) { page[z] = z; wal[z].db = z; inc[z] = 2 + 2 * z }
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
