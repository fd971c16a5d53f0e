/*
 * snowflake.pml - a database's counter beside the server's: src/ordered/comb_snowflake_generate.c
 *
 * Sessions of database 0 take Snowflakes, each of which is larger than two counters.  The limit of the
 * database may be ahead of the server at the start, and somebody may set the limit ahead later.  A session of
 * another database moves the server's counter.  A client keeps the largest bound.
 *
 *   NS, NK    sessions of database 0, and Snowflakes of each
 *   AHEAD     how far the database's counter is set ahead
 *   MAXK      the largest time
 *
 * What must hold:
 * Order     A Snowflake is larger than each one of its database whose call returned before this call began.
 * Unique    No Snowflake comes twice in a database, and none that was taken from the server's counter in two.
 * Told      No Snowflake below an answer of comb_snowflake_settled() is handed out later.
 *
 * What is left out, and why that is sound:
 * - Leases, crashes and resets are in lease.pml, and seats in settled.pml.
 * - The clock: a time is the counter + 1 or + 2.
 * - Parameters: their slots differ, and each slot's start is a time.
 * - Memory is sequentially consistent.  Exchanges are full barriers, and so is what stands between the looks at
 *   the two counters.
 */
#ifndef NS
#define NS 2
#endif
#ifndef NK
#define NK 2
#endif
#ifndef AHEAD
#define AHEAD 2
#endif
#ifndef MAXK
#define MAXK 6
#endif
#define MAX(a,b) ((a) > (b) -> (a) : (b))

byte server, own;
short keys, serverkeys;		/* handed out, as bits; the latter also in the other database */
byte top, told, first[NS];

proctype session(byte s) {
	byte n, k, floor, f;
	bit  fromserver;

	do
	:: n < NK ->
		n++;
		if :: first[s] = 0 :: skip fi;	/* the transaction has ended, or makes more */
		floor = top;
		if			/* comb_announce() */
		:: first[s] == 0 -> f = own; f = MAX(f, server); first[s] = f + 1; f = 0
		:: else
		fi;
again:		atomic {		/* comb_snowflake_next(): the CAS */
			server < MAXK; k = server + 1;
			if :: server + 2 <= MAXK -> k = server + 2 :: skip fi;
			server = k; fromserver = 1 };
		if			/* comb_snowflake_step() */
		:: k > own -> goto taken
		:: else
		fi;
		atomic {		/* comb_snowflake_next(), from the other counter: the CAS */
			own < MAXK; k = own + 1;
			if :: own + 2 <= MAXK -> k = own + 2 :: skip fi;
			own = k; fromserver = 0 };
		if
		:: k > server -> goto taken
		:: else -> goto again
		fi;
taken:		atomic {
			assert(k > floor);
			assert((keys & (1 << k)) == 0);
			assert(!fromserver || (serverkeys & (1 << k)) == 0);
			assert(k >= told);
			keys = keys | (1 << k);
			serverkeys = (fromserver -> serverkeys | (1 << k) : serverkeys);
			top = MAX(top, k); k = 0; floor = 0; fromserver = 0 }
	:: else -> break
	od;
	first[s] = 0
}

/* A session of another database, which is not ahead */
proctype other() {
	byte k;

end1:	do
	:: atomic { server < MAXK; server++; k = server; assert((serverkeys & (1 << k)) == 0);
		serverkeys = serverkeys | (1 << k); k = 0 }
	od
}

/* comb_lease_step_over(), for a limit that somebody has set ahead */
proctype limit() {
	if
	:: atomic { own = MAX(own, AHEAD) }
	:: atomic { own = MAX(own, AHEAD); server = MAX(server, AHEAD) }	/* near the clock */
	fi
}

/* comb_series_last(), comb_settled_scan() */
proctype teller() {
	byte b, y;

end2:	do
	:: b = own;
		b = MAX(b, server);
		b++;
		y = 0;
		do
		:: y < NS -> b = (first[y] != 0 && first[y] < b -> first[y] : b); y++
		:: else -> break
		od;
		atomic { told = MAX(told, b); b = 0; y = 0 }
	od
}

init { atomic {
	byte s;
	if :: own = AHEAD :: skip fi;
	for (s : 0 .. NS - 1) { run session(s) }
	run other(); run limit(); run teller()
} }
