/*-------------------------------------------------------------------------
 *
 * comb_shared.c
 *	  Shared memory: attaching to it, and choosing its incarnation.  The settings
 *	  of pg_comb_ordered.
 *
 * A small segment leads to an area of dynamic shared memory, in which each
 * database has counters and seats (comb_seats.c) of its own.  So no database
 * can move the counters of another one, and readers look at the seats of their
 * database only.  A database gets its memory when its first session asks.  The
 * memory of a dropped database goes to the next one that asks.
 *
 * Copyright (c) 2026, pg_comb developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>

#include "access/xlog.h"
#include "utils/guc.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "comb_order.h"

/*
 * The version of CombShared, CombDatabase and CombSeats.  It must change whenever
 * one of them does.  After an update of the module in a running server, sessions
 * that have loaded the old module go on with it.  If the new module then had
 * memory of its own, there would be two counters, and keys would lose their
 * order.
 */
#define COMB_SHMEM_VERSION	6

/*
 * Name and size of the segment never change again, or a module would not find
 * the other one's.  PostgreSQL refuses a segment of another size.  1.0.0 has one
 * of this name and another size, so it never runs beside a later module.
 */
#define COMB_SEGMENT_NAME	"pg_comb 6"
#define COMB_SEGMENT_SIZE	1024

StaticAssertDecl(sizeof(CombShared) <= COMB_SEGMENT_SIZE,
				 "the segment has to hold the server's shared memory");

int			comb_max_ordered_drift = 86400;
int			comb_lease_ms = 1000;
int			comb_instance = -1;
bool		comb_warn_unordered_keys = true;

CombShared *comb_shared = NULL;
CombDatabase *comb_database = NULL;

static dsa_area *comb_area = NULL;

/* Called once for the segment, by the first session that attaches */
static void
comb_shared_init(void *segment)
{
	CombShared *shared = (CombShared *) segment;

	shared->version = COMB_SHMEM_VERSION;
	shared->tranche = comb_new_tranche("pg_comb");
	LWLockInitialize(&shared->lock, shared->tranche);
	shared->has_area = false;
	shared->databases = InvalidDsaPointer;
	shared->started = U64FromFullTransactionId(ReadNextFullTransactionId());
	pg_atomic_init_u64(&shared->snowflake.value, 0);
}

/* Attach to the area, and make it if no session has */
static void
comb_area_attach(void)
{
	MemoryContext caller;
	dsa_area   *area;

	COMB_INJECTION_POINT("comb-seats-attach");
	LWLockAcquire(&comb_shared->lock, LW_EXCLUSIVE);
	caller = MemoryContextSwitchTo(TopMemoryContext);
	if (comb_shared->has_area)
		area = dsa_attach(comb_shared->area);
	else
	{
		area = dsa_create(comb_shared->tranche);
		dsa_pin(area);
		comb_shared->area = dsa_get_handle(area);
		comb_shared->has_area = true;
	}
	dsa_pin_mapping(area);
	MemoryContextSwitchTo(caller);
	LWLockRelease(&comb_shared->lock);
	comb_area = area;
}

/*
 * Return new memory of the area, filled with zeros, on cache lines of its own.
 * It cannot be given back.
 */
dsa_pointer
comb_shared_allocate(Size size)
{
	dsa_pointer pointer = dsa_allocate0(comb_area,
										add_size(size, PG_CACHE_LINE_SIZE));
	char	   *address = (char *) dsa_get_address(comb_area, pointer);

	return pointer + ((char *) CACHELINEALIGN(address) - address);
}

/* Return where this process has memory of the area, and map it if need be */
void *
comb_shared_address(dsa_pointer pointer)
{
	return dsa_get_address(comb_area, pointer);
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

	LWLockAcquire(&comb_shared->lock, LW_SHARED);
	next = comb_shared->databases;
	while (DsaPointerIsValid(next))
	{
		CombDatabase *database = (CombDatabase *) comb_shared_address(next);

		oids = lappend_oid(oids, database->oid);
		next = database->next;
	}
	LWLockRelease(&comb_shared->lock);
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
	for (series = 0; series < COMB_NSERIES; series++)
		pg_atomic_init_u64(&database->last[series].value, 0);

	/*
	 * A count from before a restart must not come again, or its reader would
	 * sleep although rows are there.  So counts begin at a random number.
	 */
	pg_atomic_init_u64(&database->ends.value, incarnation * COMB_END);
	ConditionVariableInit(&database->ended);
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

	LWLockAcquire(&comb_shared->lock, LW_SHARED);
	database = comb_database_find(MyDatabaseId);
	LWLockRelease(&comb_shared->lock);
	if (database != NULL)
		return database;

	/*
	 * The sequences show it as log_cnt, where a negative number would look
	 * like damage.  One high bit is always set, so that nothing else writes
	 * the same number: setval() writes 0, and nextval() at most 32.
	 */
	incarnation = ((comb_random() >> 1) & ~(uint64) COMB_RESET_MARK) |
		UINT64CONST(1) << 61;
	dropped = comb_database_dropped();
	LWLockAcquire(&comb_shared->lock, LW_EXCLUSIVE);
	database = comb_database_find(MyDatabaseId);
	if (database == NULL)
		database = comb_database_make(dropped, incarnation);
	LWLockRelease(&comb_shared->lock);
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
	if (comb_shared == NULL)
		comb_shared = (CombShared *) comb_segment(COMB_SEGMENT_NAME,
												  COMB_SEGMENT_SIZE,
												  comb_shared_init);
	if (comb_shared->version != COMB_SHMEM_VERSION)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("pg_comb was updated while the server was running"),
				 errdetail("Sessions of this server have loaded another version of pg_comb, which uses shared memory in another way."),
				 errhint("Restart the server.")));
	comb_register_tranche(comb_shared->tranche, "pg_comb");
	if (comb_area == NULL)
		comb_area_attach();
	comb_database = comb_database_attach();
}

/*
 * Count the end of a transaction that made keys in this database, and wake the
 * sessions that wait for one.  The transaction's rows are visible to new
 * snapshots, and it holds no bound back any more.
 *
 * A session adds itself to "ends", gets onto the list of "ended", and then
 * looks at the count.  If we see no waiting session, one that adds itself
 * later sees our end and does not sleep.  If we see one that is not on the
 * list yet, it looks at the count after us, because the list has a lock.
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
 * Define the settings of pg_comb_ordered.  Sessions cannot change what the promises
 * rely on.  One that gave such a value before it loaded the module has the default,
 * because its value has replaced that of postgresql.conf.
 */
void
comb_shared_settings(void)
{
	DefineCustomIntVariable("pg_comb.max_ordered_drift",
							"Sets how far ordered keys and Snowflakes may be ahead of the clock.",
							"Beyond it, comb_generate_ordered() and comb_snowflake() fail.",
							&comb_max_ordered_drift, 86400, 1, INT_MAX,
							PGC_SIGHUP, GUC_UNIT_S, NULL, NULL, NULL);

	DefineCustomIntVariable("pg_comb.lease_duration",
							"Sets how far ahead of a key the limit of ordered keys or Snowflakes is written.",
							"After a crash, keys continue up to this far after the last one.",
							&comb_lease_ms, 1000, 100, COMB_LEASE_MAX_MS,
							PGC_SIGHUP, GUC_UNIT_MS, NULL, NULL, NULL);

	DefineCustomIntVariable("pg_comb.snowflake_instance",
							"Sets the instance number of this server in its Snowflakes.",
							"-1 means none, and Snowflakes with an instance number cannot be made.",
							&comb_instance, -1, -1, INT_MAX,
							PGC_SIGHUP, 0, NULL, NULL, NULL);

	DefineCustomBoolVariable("pg_comb.warn_unordered_keys",
							 "Warns of queries that compare other keys than ordered ones with a bound of ordered keys.",
							 "Each session warns once of each column.",
							 &comb_warn_unordered_keys, true,
							 PGC_USERSET, 0, NULL, NULL, NULL);
}
