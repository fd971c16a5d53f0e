/*
 * portable.pml - the portable feed: sql/portable/pg_comb_feed.sql against PostgreSQL's locks
 *
 * Sessions make transactions that draw numbers from a sequence, insert rows, and then commit, abort
 * or are prepared.  comb_feed_advance() reads the sequence, and then in pg_locks who holds the
 * sequence's lock.  Once none of them holds it any more, comb_feed_advance() stores the bound.
 * Readers rely on comb_feed_number() of their snapshots, on the primary and on a standby.
 *
 *   NS       sessions
 *   NX       transactions; at most 3
 *   ND       numbers that a transaction may draw
 *   NA       sessions that call comb_feed_advance()
 *   NCRASH   how often the server crashes
 *   LOSE     a crash loses the WAL's end; otherwise it comes as soon as the WAL is flushed
 *   OWN      a later statement of the advancing transaction relies on the new bound
 *   DRAWS    the advancing transaction draws a number itself, or holds the lock as if it did, as
 *            pg_sequence_last_value() lets it before PostgreSQL 18; with NCRASH=0 and without OWN
 *   INSIDE   readers store their position in that transaction, so that a crash may take it back
 *   TIME     the key is the clock, as for comb_feed_time(), and the lock is the table's
 *   MARGIN   how far the bound stays behind the clock
 *   BACK     how far the clock may be set back
 *
 * What must hold:
 * Safety   No row below the bound of a snapshot becomes visible after the snapshot.  This holds on
 *          the primary and on a standby, and also across a crash.
 * Forward  The bound never goes back.
 * Live     An advance that begins when all transactions have ended stores the last number + 1.
 * Alarm    comb_feed_next() never reports that a sequence was set back.
 *
 * What is left out, and why that is sound:
 * - Later snapshots.  A snapshot taken when the bound has become visible misses the most rows.
 * - Rows of a subset of the numbers.  The lock is the same, and fewer rows are lost.
 * - Transactions that begin after the WAL that survives.  Those that began before it can do the same.
 * - A subscriber sees commits in the order of the WAL, like a standby.
 * - Only flushed WAL gets to a standby.  So to its readers a promotion is a crash.
 * - Writers do not wait for the flush of their commit, as with synchronous_commit = off.
 * - After a crash, a sequence goes on at a number logged in advance.  Here all numbers come again.
 * - A transaction that is visible and has not yet released its locks has no number in its virtual
 *   xid.  An advance that takes it for another transaction is right.
 * - nextval() changes last_value in one step: whoever reads it holds a lock on the page.
 */
#define NS 2
#ifndef ND
#define ND 2
#endif
#ifndef NA
#define NA 1
#endif
#ifndef NCRASH
#define NCRASH 1
#endif
#ifndef MARGIN
#define MARGIN 1
#endif
#define BACK 1

#define MAX(a,b) ((a) > (b) -> (a) : (b))
#define BIT(n) (1 << (n))
#define BELOW(k) (BIT(k) - 1)

#ifdef TIME
#define LAST 3			/* the clock's end */
byte key = 1, latest = 1;	/* the clock now, and at its latest */
#define CANDIDATE (key > MARGIN -> key - MARGIN : 0)
#define AHEAD true		/* the clock may be set back */
#define LIVE true
#else
byte key;			/* the sequence: last_value */
#define CANDIDATE (key + 1)
#define AHEAD false
#ifdef DRAWS
#define LIVE (new.bound == key + 1 || NA > 1)	/* callers wait for each other */
#else
#define LIVE (new.bound == key + 1)
#endif
#endif

/* PostgreSQL: transactions, and the lock on the sequence or on the table */
#define RUN 0
#define PREPARED 1
#define LOGGED 2		/* the record of the commit is in the WAL, and standbys see it */
#define VISIBLE 3
#define ENDED 4
byte st[NX];
bit  held[NX];			/* RowExclusiveLock */
byte vx[NX];			/* what pg_locks.virtualtransaction shows */
#define NOBODY 0		/* '-1/xid', of those prepared before the server started */
byte rows[NX];			/* keys inserted, as bits */
byte begun, used;		/* transactions; virtual xids of this life of the server */
#ifdef OWN
byte visible;			/* keys of committed rows, as bits */
#endif
#ifdef DRAWS
bit  locks[NA], drew[NA];	/* of the transactions that advance */
#endif

/* The row of comb_feed, and a version that is not yet visible */
typedef Feed { byte bound, next, waits }	/* waits: virtual xids, as bits */
Feed feed, new;
bit  locked;			/* FOR UPDATE */
bit  logged;			/* the commit of the new version is in the WAL */

/* Readers: the largest bound that a snapshot saw on the primary, and on a standby */
byte told, standby_told;

/* The WAL that will survive the next crash ends where these were saved */
bit  cut;
byte cut_key, cut_prepared, cut_logged;
Feed cut_feed;
bit  cut_flushed;		/* ... and it has the new version */
#ifdef OWN
byte cut_visible;
#endif
byte crashed;
bit  dead[NS + NA];

#define SURVIVES(x) (cut && ((cut_prepared | cut_logged) & BIT(x)))

/* ProcArrayEndTransaction() or, of a prepared transaction, ProcArrayRemove() */
inline appear(x) {
	assert((rows[x] & BELOW(told)) == 0);	/* Safety */
#ifdef OWN
	visible = visible | rows[x];
#endif
	rows[x] = (SURVIVES(x) -> rows[x] : 0)
}

/* LockReleaseAll() */
inline release(x) { held[x] = 0; vx[x] = 0 }

inline log_commit(x) {
	assert((rows[x] & BELOW(standby_told)) == 0);	/* Safety */
	st[x] = LOGGED
}

/* AbortTransaction(), FinishPreparedTransaction() */
inline abort(x) { st[x] = ENDED; release(x); rows[x] = (SURVIVES(x) -> rows[x] : 0) }

#ifdef TIME
inline draw() { atomic { n++; rows[me] = rows[me] | BIT(key) } }
#define ROLLBACK_TO rows[me] = 0; if :: held[me] = 0 :: skip fi	/* if it began after the savepoint */
#else
inline draw() { atomic { n++; key++; rows[me] = rows[me] | BIT(key) } }	/* nextval() */
#define ROLLBACK_TO skip	/* gives neither the lock nor the numbers back */
#endif

#define ON_CRASH atomic { dead[s] -> dead[s] = 0

proctype session(byte s) {
	byte me, n;

start:	{
	do
	:: atomic { begun < NX && begun >= s && !cut -> me = begun; begun++;
			if			/* GetNextLocalTransactionId(); a restart sets it back */
			:: !crashed -> vx[me] = me + 1
			:: crashed && !(used & BIT(1)) -> vx[me] = 1
			:: crashed && NX > 1 && !(used & BIT(2)) -> vx[me] = 2
			:: crashed && NX > 2 && !(used & BIT(3)) -> vx[me] = 3
			fi;
			used = (crashed -> used | BIT(vx[me]) : 0) };
		do
		:: atomic { !held[me] -> held[me] = 1 };	/* lock_and_open_sequence(), parserOpenTable() */
		:: held[me] && n < ND -> draw()
		:: atomic { rows[me] -> ROLLBACK_TO }
		:: break
		od;
		if
		:: atomic { rows[me] -> log_commit(me) };
			st[me] == ENDED
		:: atomic { held[me] -> st[me] = PREPARED }	/* PostPrepare_Locks() keeps the virtual xid */
		:: atomic { abort(me) }
		fi;
		atomic { me = 0; n = 0 }
	:: atomic { begun == NX -> break }
	od
	} unless { ON_CRASH; me = 0; n = 0; goto start } }
}

/* What follows the record of a commit, and other sessions that end prepared transactions */
#define END(x) \
	:: atomic { x < NX && st[x] == LOGGED -> appear(x); st[x] = VISIBLE } \
	:: atomic { x < NX && st[x] == VISIBLE -> release(x); st[x] = ENDED } \
	:: atomic { x < NX && st[x] == PREPARED -> log_commit(x) } \
	:: atomic { x < NX && st[x] == PREPARED -> abort(x) }
proctype ender() {
end:	do
	END(0) END(1) END(2)
	od
}

/*
 * pg_locks reads the locks of one backend after the other.  Other orders would change nothing: each
 * lock is read at any time between begin and end.
 */
inline read_locks() {
	do
	:: atomic { x < NX -> h = (held[x] -> h | BIT(vx[x]) : h);
			x++; if :: x == NX -> x = 0; break :: else fi }
	od;
#ifdef DRAWS
	h = (NA > 1 && locks[NS + NA - 1 - s] -> h | BIT(NX + 1 + NS + NA - 1 - s) : h)	/* not its own */
#endif
}

#ifdef OWN
inline take_snapshot() { seen = visible }
inline use_own() {
	atomic { assert((visible & ~seen & BELOW(new.bound)) == 0);	/* Safety */
		told = MAX(told, new.bound); seen = 0 }
}
#endif

#define IDLE(x) (x >= NX || st[x] == ENDED)
#define CHANGED (bound != feed.bound || next != feed.next || waits != feed.waits)
#define FORGET bound = 0; next = 0; waits = 0; c = 0; h = 0; quiet = 0

#ifdef DRAWS
#define APPEAR assert((mine & BELOW(told)) == 0); FORGET_ROW	/* Safety; its row becomes visible */
#define FORGET_ROW mine = 0
#else
#define APPEAR skip
#define FORGET_ROW skip
#endif

/* comb_feed_advance() */
proctype advance(byte s) {
	byte bound, next, waits;	/* the row before */
	byte c, h, x;
	bit  quiet;
#ifdef DRAWS
	byte mine;			/* a row of this transaction, as a bit */
#endif
#ifdef OWN
	byte seen;
#endif

start:	{
	do
	:: atomic { bound = feed.bound; next = feed.next; waits = feed.waits;
			quiet = (begun == NX && IDLE(0) && IDLE(1) && IDLE(2)) };
#ifdef DRAWS
		locks[s - NS] = 1;
		if
		:: atomic { !drew[s - NS] -> drew[s - NS] = 1; key++; mine = BIT(key) }
		:: skip
		fi;
#endif
		c = CANDIDATE;			/* comb_feed_next() */
		read_locks();
		atomic {
			assert(c >= MAX(bound, next) || AHEAD);	/* Alarm */
			if
			:: waits && (h & (waits | BIT(NOBODY))) || locked || CHANGED -> goto done
			:: else
			fi;
			locked = 1;		/* FOR UPDATE SKIP LOCKED */
			new.bound = MAX(bound, next);
			if
			:: h == 0 -> new.bound = MAX(new.bound, c)
			:: else -> new.next = c; new.waits = h
			fi };
#ifdef OWN
		take_snapshot();
		use_own();
#endif
		atomic {			/* an advance that dies anywhere has changed nothing so far */
			if :: goto aborted :: skip fi;
			logged = 1;		/* the record of its commit */
#ifdef DRAWS
			assert((mine & BELOW(standby_told)) == 0);	/* Safety */
#endif
			standby_told = (cut -> standby_told : MAX(standby_told, new.bound));
			assert(!quiet || LIVE)
		};
		atomic { !cut || cut_flushed;	/* XLogFlush(), and then it is visible */
			assert(new.bound >= feed.bound);	/* Forward */
			APPEAR;
			feed.bound = new.bound; feed.next = new.next; feed.waits = new.waits;
			told = MAX(told, feed.bound); logged = 0; cut_flushed = 0;
aborted:		FORGET_ROW; locked = 0; new.bound = 0; new.next = 0; new.waits = 0;
done:			APPEAR; FORGET };
#ifdef DRAWS
		locks[s - NS] = 0
#endif
	od
	} unless { ON_CRASH; x = 0; FORGET; goto start } }
}

inline save() {
	d_step {
		cut = 1; cut_key = key; cut_flushed = logged;
#ifdef OWN
		cut_visible = visible;
#endif
		cut_feed.bound = (logged -> new.bound : feed.bound);
		cut_feed.next = (logged -> new.next : feed.next);
		cut_feed.waits = (logged -> new.waits : feed.waits);
		for (x : 0 .. NX - 1) {
			cut_prepared = (st[x] == PREPARED -> cut_prepared | BIT(x) : cut_prepared);
#ifdef OWN
			cut_visible = (st[x] == LOGGED -> cut_visible | rows[x] : cut_visible);
#endif
			cut_logged = (st[x] == LOGGED -> cut_logged | BIT(x) : cut_logged)
		}
		x = 0
	}
}

inline restart() {
	d_step {
#ifdef OWN
		visible = cut_visible; cut_visible = 0;
#endif
		cut = 0; x = 0;
		do
		:: x < begun ->
			if
			:: cut_prepared & BIT(x) -> st[x] = PREPARED; held[x] = 1; vx[x] = NOBODY
			:: cut_logged & BIT(x) -> if :: st[x] == LOGGED -> appear(x) :: else fi;
				abort(x)
			:: else -> abort(x)
			fi;
			x++
		:: else -> break
		od;
#ifndef TIME
		key = cut_key;
#endif
		feed.bound = cut_feed.bound; feed.next = cut_feed.next; feed.waits = cut_feed.waits;
#ifdef INSIDE
		told = feed.bound;
#endif
		new.bound = 0; new.next = 0; new.waits = 0;
		cut_feed.bound = 0; cut_feed.next = 0; cut_feed.waits = 0;
		cut_key = 0; cut_prepared = 0; cut_logged = 0; cut_flushed = 0;
		locked = 0; logged = 0; used = 0;
		for (x : 0 .. NS + NA - 1) { dead[x] = 1 }
		x = 0
	}
}

proctype fate() {
	byte x;

	do
#ifdef LOSE
	:: atomic { crashed < NCRASH && !cut -> save() }
	:: atomic { cut -> crashed++; restart() }
#else
	:: atomic { crashed < NCRASH -> save(); crashed++; restart() }
#endif
#ifdef TIME
	:: atomic { key < LAST -> key++; latest = MAX(latest, key) }
	:: atomic { key > 1 && key + BACK > latest -> key-- }
#endif
	od
}

init { atomic {
	byte z;
	feed.bound = 1;
	for (z : 0 .. NS - 1) { run session(z) }
	for (z : NS .. NS + NA - 1) { run advance(z) }
	run ender(); run fate()
} }
