/*-------------------------------------------------------------------------
 *
 * comb_shared.c
 *	  Shared memory: attaching to it, and choosing its incarnation.  The settings
 *	  of what all sessions share.
 *
 * A small segment leads to a shared memory area, in which each database has
 * counters and seats (comb_announce.c) of its own.  So no database can move the
 * counters of another one, and readers look at the seats of their database
 * only.  A database gets its memory when its first session asks.  The memory of
 * a dropped database goes to the next one that asks.
 *
 * The module need not be preloaded: the area is then dynamic shared memory.  If
 * it is preloaded, the server reserves an area that is large enough for one
 * database with as many sessions as the server may have, or for some databases
 * with fewer.  Beyond that, the area grows into dynamic shared memory as well.
 *
 * Copyright (c) 2026, pg_comb developers
 *
 * IDENTIFICATION
 *	  src/ordered/comb_shared.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>

#include "access/transam.h"
#include "access/twophase.h"
#include "access/xlog.h"
#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"
#include "utils/guc.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "comb_compat.h"
#include "comb_shared.h"

/*
 * The number of the layout of shared memory: of CombShared, CombDatabase and
 * CombSeats.  It must change whenever one of them does.  After an update of the
 * module in a running server, sessions that have loaded the old module go on
 * with it.  If the new module then had memory of its own, there would be two
 * counters, and keys would lose their order.
 */
#ifndef COMB_LAYOUT
#define COMB_LAYOUT			4
#endif

/*
 * Name and size of the segment never change again, or a module would not find
 * the other one's.  1.0.0 has a segment of this name and of 272 bytes.
 * PostgreSQL refuses a segment of another size, so 1.0.0 and a later module
 * cannot both have memory in one server, whichever comes first.
 */
#define COMB_SEGMENT_NAME	"pg_comb 6"
#define COMB_SEGMENT_SIZE	1024

StaticAssertDecl(sizeof(CombShared) <= COMB_SEGMENT_SIZE,
				 "the segment has to hold the server's shared memory");

/*
 * What a preloaded module reserves: for each session two seats of 568 bytes,
 * each in a slot of 640 bytes.  The rest is for their places in CombSeats, what
 * the area wastes, and other databases.
 */
#define COMB_RESERVED_PER_SESSION	1280
#define COMB_RESERVED				(512 * 1024)

int			comb_max_ordered_drift = 86400;
int			comb_lease_ms = 1000;
int			comb_instance = -1;

bool		comb_preloaded = false;
CombShared *comb_shared = NULL;
CombDatabase *comb_database = NULL;

static dsa_area *comb_area = NULL;

static Size
comb_area_size(void)
{
	Size		sessions = add_size(MaxBackends, max_prepared_xacts);

	return add_size(add_size(dsa_minimum_size(), COMB_RESERVED),
					mul_size(sessions, COMB_RESERVED_PER_SESSION));
}

/* What a preloaded module has to reserve */
Size
comb_shared_size(void)
{
	return add_size(CACHELINEALIGN(COMB_SEGMENT_SIZE),
					CACHELINEALIGN(comb_area_size()));
}

/* Called once for the segment, by the first session that attaches */
static void
comb_shared_init(void *segment)
{
	CombShared *shared = (CombShared *) segment;

	shared->layout = COMB_LAYOUT;
	shared->has_area = false;
	shared->databases = InvalidDsaPointer;
	shared->started = U64FromFullTransactionId(ReadNextFullTransactionId());
	pg_atomic_init_u64(&shared->snowflake.value, 0);
}

/* The area is made later, because that may fail */
static void
comb_area_init(void *segment)
{
}

/*
 * Return a part of the main segment by name.  The first session that asks for
 * it initializes it.  "init" must not fail.
 */
static void *
comb_main_segment(const char *name, Size size, comb_segment_init init)
{
	void	   *segment;
	bool		found;

	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	segment = ShmemInitStruct(name, size, &found);
	if (!found)
		init(segment);
	LWLockRelease(AddinShmemInitLock);
	return segment;
}

static CombShared *
comb_shared_segment(void)
{
#ifdef COMB_HAVE_SEGMENT_REGISTRY
	if (!comb_preloaded)
		return (CombShared *) comb_registry_segment(COMB_SEGMENT_NAME,
													COMB_SEGMENT_SIZE,
													comb_shared_init);
#endif
	return (CombShared *) comb_main_segment(COMB_SEGMENT_NAME,
											COMB_SEGMENT_SIZE,
											comb_shared_init);
}

/* Explain that sessions of this server use a module with another layout */
static int
comb_layout_explain(void)
{
	errdetail("Sessions of this server have loaded another version of pg_comb, which uses shared memory in another way.");
	return errhint("Restart the server.");
}

/*
 * Complete PostgreSQL's errors for shared memory.  With "arg", its internal
 * error is that the segment has another size.  All others say what failed, but
 * not that there is another way to have this memory.  Class 57 is of sessions
 * that are cancelled or ended.
 */
static void
comb_shared_context(void *arg)
{
	int			code = geterrcode();

	if (arg != NULL && code == ERRCODE_INTERNAL_ERROR)
	{
		errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE);
		comb_layout_explain();
	}
	else if (!comb_preloaded && code != ERRCODE_SUCCESSFUL_COMPLETION &&
			 ERRCODE_TO_CATEGORY(code) != ERRCODE_OPERATOR_INTERVENTION)
		errhint("Set \"shared_preload_libraries\" to \"pg_comb\", so that the server reserves this memory at its start.");
}

/* Find the segment.  Raises 55000 if a module with another layout made it */
static void
comb_shared_find(void)
{
	ErrorContextCallback context = {
		.callback = comb_shared_context,
		.arg = COMB_SEGMENT_NAME
	};

	if (comb_shared == NULL)
	{
		context.previous = error_context_stack;
		error_context_stack = &context;
		comb_shared = comb_shared_segment();
		error_context_stack = context.previous;
	}
	if (comb_shared->layout != COMB_LAYOUT)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("pg_comb was updated while the server was running"),
				 comb_layout_explain()));
}

/* Make the area, unless another session has, and attach to it */
static dsa_area *
comb_area_open(void *place)
{
	bool		make = !comb_shared->has_area;
	dsa_area   *area;

	if (place != NULL)
	{
		area = make ?
			dsa_create_in_place(place, comb_area_size(),
								LWTRANCHE_PER_SESSION_DSA, NULL) :
			dsa_attach_in_place(place, NULL);
		on_shmem_exit(dsa_on_shmem_exit_release_in_place,
					  PointerGetDatum(place));
	}
	else
		area = make ? dsa_create(LWTRANCHE_PER_SESSION_DSA) :
			dsa_attach(comb_shared->area);
	if (make)
	{
		dsa_pin(area);
		if (place == NULL)
			comb_shared->area = dsa_get_handle(area);
		comb_shared->has_area = true;
	}
	dsa_pin_mapping(area);
	return area;
}

/*
 * The lock is PostgreSQL's for what modules do rarely with shared memory.  It
 * is released if an error is raised.
 */
static void
comb_area_attach(void)
{
	ErrorContextCallback context = {.callback = comb_shared_context};
	MemoryContext caller;
	static void *place = NULL;

	if (comb_area != NULL)
		return;
	COMB_INJECTION_POINT("comb-seats-attach");
	if (comb_preloaded && place == NULL)
		place = comb_main_segment(COMB_SEGMENT_NAME " area", comb_area_size(),
								  comb_area_init);
	context.previous = error_context_stack;
	error_context_stack = &context;
	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	caller = MemoryContextSwitchTo(TopMemoryContext);
	comb_area = comb_area_open(place);
	MemoryContextSwitchTo(caller);
	LWLockRelease(AddinShmemInitLock);
	error_context_stack = context.previous;
}

/*
 * Return new memory of the area, filled with zeros, on cache lines of its own.
 * It cannot be given back.
 */
dsa_pointer
comb_shared_allocate(Size size)
{
	ErrorContextCallback context = {.callback = comb_shared_context};
	dsa_pointer pointer;
	char	   *address;

	context.previous = error_context_stack;
	error_context_stack = &context;
	pointer = dsa_allocate0(comb_area, add_size(size, PG_CACHE_LINE_SIZE));
	address = (char *) dsa_get_address(comb_area, pointer);
	error_context_stack = context.previous;
	return pointer + ((char *) CACHELINEALIGN(address) - address);
}

/* Return where this process has memory of the area, and map it if need be */
void *
comb_shared_address(dsa_pointer pointer)
{
	ErrorContextCallback context = {.callback = comb_shared_context};
	void	   *address;

	context.previous = error_context_stack;
	error_context_stack = &context;
	address = dsa_get_address(comb_area, pointer);
	error_context_stack = context.previous;
	return address;
}

/*
 * Return a new random incarnation.  The sequences show it as log_cnt, where a
 * negative number would look like damage.  One high bit is always set, so that
 * nothing else writes the same number: setval() writes 0, and nextval() at
 * most 32.
 */
static uint64
comb_incarnation_new(void)
{
	return ((comb_random() >> 1) & ~(uint64) COMB_RESET_MARK) |
		COMB_INCARNATION_MIN;
}

/* Find the memory of a database.  The caller holds the lock */
static CombDatabase *
comb_database_find(Oid oid)
{
	dsa_pointer next = comb_shared->databases;

	while (DsaPointerIsValid(next))
	{
		CombDatabase *database = (CombDatabase *) comb_shared_address(next);

		if (database->oid == oid)
			return database;
		next = database->next;
	}
	return NULL;
}

/*
 * Return a database that has memory and does not exist any more, or InvalidOid.
 *
 * A session needs the catalogs to know that, so it cannot hold the lock.  A
 * database that was dropped stays dropped, and has no sessions.
 *
 * A catalog snapshot may be older than a database in the list: the calling
 * query has one if it reads pg_database, and then its lock processes no messages
 * here.  The messages of a new database can come after its first session.
 */
static Oid
comb_database_dropped(void)
{
	List	   *oids = NIL;
	ListCell   *cell;
	dsa_pointer next;

	LWLockAcquire(AddinShmemInitLock, LW_SHARED);
	next = comb_shared->databases;
	while (DsaPointerIsValid(next))
	{
		CombDatabase *database = (CombDatabase *) comb_shared_address(next);

		oids = lappend_oid(oids, database->oid);
		next = database->next;
	}
	LWLockRelease(AddinShmemInitLock);
	AcceptInvalidationMessages();
	InvalidateCatalogSnapshot();
	foreach(cell, oids)
	{
		if (!SearchSysCacheExists1(DATABASEOID,
								   ObjectIdGetDatum(lfirst_oid(cell))))
			return lfirst_oid(cell);
	}
	return InvalidOid;
}

/* Give the memory of a dropped database, or new memory, to this database */
static CombDatabase *
comb_database_make(Oid dropped, uint64 incarnation)
{
	CombDatabase *database = comb_database_find(dropped);
	dsa_pointer pointer = InvalidDsaPointer;
	int			series;

	if (database == NULL)
	{
		pointer = comb_shared_allocate(sizeof(CombDatabase));
		database = (CombDatabase *) comb_shared_address(pointer);
		database->seats = InvalidDsaPointer;
	}
	for (series = 0; series < COMB_SERIES; series++)
		pg_atomic_init_u64(&database->last[series].value, 0);

	/*
	 * A count from before a restart must not come again, or its reader would
	 * sleep although rows are there.  So counts begin at a random number.
	 */
	pg_atomic_init_u64(&database->ends.value, incarnation * COMB_END);
	ConditionVariableInit(&database->ended);
	pg_atomic_init_u32(&database->readers, 0);
	database->incarnation = incarnation;
	database->seats_ready = false;
	database->oid = MyDatabaseId;
	if (DsaPointerIsValid(pointer))
	{
		database->next = comb_shared->databases;
		comb_shared->databases = pointer;
	}
	return database;
}

static CombDatabase *
comb_database_attach(void)
{
	CombDatabase *database;
	uint64		incarnation;
	Oid			dropped;

	LWLockAcquire(AddinShmemInitLock, LW_SHARED);
	database = comb_database_find(MyDatabaseId);
	LWLockRelease(AddinShmemInitLock);
	if (database != NULL)
		return database;

	incarnation = comb_incarnation_new();
	dropped = comb_database_dropped();
	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	database = comb_database_find(MyDatabaseId);
	if (database == NULL)
		database = comb_database_make(dropped, incarnation);
	LWLockRelease(AddinShmemInitLock);
	return database;
}

/*
 * Attach this process to the memory of its database, and make the memory if no
 * session has.  Raises 55000 after an update of the module that needs a
 * restart, and PostgreSQL's error if there is no memory.  Not on a standby,
 * where the next xid is not known.
 */
void
comb_shared_attach(void)
{
	if (likely(comb_database != NULL))
		return;
	Assert(!RecoveryInProgress());
	comb_shared_find();
	comb_area_attach();
	comb_database = comb_database_attach();
}

/*
 * Count the end of a transaction that made keys in this database, and wake the
 * sessions that wait for one.  The transaction's rows are visible to new
 * snapshots, and it holds no bound back any more.
 *
 * A session that is going to sleep gets onto the list of "ended" first, then
 * adds itself to "ends", and then looks at the count.  If it has added itself
 * before us, we see it and wake it.  If not, it sees our end and does not sleep.
 * Nothing here fails or allocates.
 */
void
comb_count_end(void)
{
	uint64		before = pg_atomic_fetch_add_u64(&comb_database->ends.value,
												 COMB_END);

	COMB_INJECTION_POINT("comb-end-count");
	if (unlikely(before % COMB_END != 0))
		ConditionVariableBroadcast(&comb_database->ended);
}

/*
 * Define the settings of what all sessions share.
 *
 * No session can change these settings, because the promises are the
 * server's.  If the module is preloaded, PostgreSQL refuses a session that
 * gives a value in its connection options.  If not, PostgreSQL drops the
 * session's value when the session loads the module.  The session's value has
 * already replaced the value of postgresql.conf, so the session then uses the
 * default.
 */
void
comb_shared_settings(void)
{
	DefineCustomIntVariable("pg_comb.max_ordered_drift",
							"Sets how far ordered keys and Snowflakes may be ahead of the clock.",
							"Beyond it, comb_generate_ordered() and comb_snowflake() fail.",
							&comb_max_ordered_drift,
							86400,
							1,
							INT_MAX,
							PGC_SIGHUP,
							GUC_UNIT_S,
							NULL,
							NULL,
							NULL);

	DefineCustomIntVariable("pg_comb.lease_duration",
							"Sets how far ahead of a key the limit of ordered keys or Snowflakes is written.",
							"After a crash, keys continue up to this far after the last one.",
							&comb_lease_ms,
							1000,
							100,
							COMB_LEASE_MAX_MS,
							PGC_SIGHUP,
							GUC_UNIT_MS,
							NULL,
							NULL,
							NULL);

	DefineCustomIntVariable("pg_comb.snowflake_instance",
							"Sets the instance number of this server in its Snowflakes.",
							"-1 means none, and Snowflakes with an instance number cannot be made.",
							&comb_instance,
							-1,
							-1,
							INT_MAX,
							PGC_SIGHUP,
							0,
							NULL,
							NULL,
							NULL);
}
