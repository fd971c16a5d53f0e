/*-------------------------------------------------------------------------
 *
 * comb_compat.h
 *	  Differences between PostgreSQL 15 and 20.
 *
 * Only this file looks at PG_VERSION_NUM.  All other files use the names and
 * arguments of the newest server, and this file emulates them for older
 * servers.
 *
 * Copyright (c) 2026, pg_comb developers
 *
 *-------------------------------------------------------------------------
 */
#ifndef COMB_COMPAT_H
#define COMB_COMPAT_H

#if PG_VERSION_NUM < 150000
#error "pg_comb requires PostgreSQL 15 or newer"
#endif

/* PostgreSQL 16 moved the macros for varlena types out of postgres.h */
#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif

/* PostgreSQL 16 has one function for the privileges on all kinds of objects */
#if PG_VERSION_NUM < 160000
#define object_aclcheck(classid, objectid, roleid, mode) \
	pg_proc_aclcheck(objectid, roleid, mode)
#endif

/*
 * Before 16 the walkers are declared without the types of their arguments, and in
 * C23, the default of gcc from 15 on, that is a function without arguments.
 */
#include "nodes/nodeFuncs.h"
#if PG_VERSION_NUM < 160000
#define COMB_WALKER(walker)	((bool (*) ()) (void (*) (void)) (walker))
#define expression_tree_walker(node, walker, context) \
	expression_tree_walker(node, COMB_WALKER(walker), context)
#endif

/*
 * PostgreSQL 19 has a hook for every relation of a query.  Older servers have
 * one for tables, at the same point.
 */
#include "optimizer/pathnode.h"
#include "optimizer/plancat.h"
#if PG_VERSION_NUM >= 190000
#define comb_relation_hook_type		build_simple_rel_hook_type
#define comb_relation_hook			build_simple_rel_hook
#define COMB_RELATION_HOOK_ARGS		PlannerInfo *root, RelOptInfo *rel, RangeTblEntry *rte
#define COMB_RELATION_HOOK_PASS		root, rel, rte
#else
#define comb_relation_hook_type		get_relation_info_hook_type
#define comb_relation_hook			get_relation_info_hook
#define COMB_RELATION_HOOK_ARGS		PlannerInfo *root, Oid relid, bool inhparent, RelOptInfo *rel
#define COMB_RELATION_HOOK_PASS		root, relid, inhparent, rel
#endif

/* From PostgreSQL 16 on columns show the outer joins that they come through */
#if PG_VERSION_NUM >= 160000
#define comb_jointree_relids(node)	get_relids_in_jointree(node, true, false)
#else
#define comb_jointree_relids(node)	get_relids_in_jointree(node, false)
#endif

/* Before PostgreSQL 18 the direction of an operator is its strategy in btree */
#if PG_VERSION_NUM >= 180000
#include "access/cmptype.h"
#else
typedef int16 CompareType;

#define COMPARE_GT				5
#endif

/* PostgreSQL 18 has a constraint for NOT NULL, which need not be valid */
#include "access/tupdesc.h"
#if PG_VERSION_NUM >= 180000
#define comb_is_not_null(tupdesc, attno) \
	(TupleDescCompactAttr(tupdesc, (attno) - 1)->attnullability == ATTNULLABLE_VALID)
#else
#define comb_is_not_null(tupdesc, attno) \
	(TupleDescAttr(tupdesc, (attno) - 1)->attnotnull)
#endif

/* PostgreSQL 19 reports an overflow by an error context */
#include "utils/date.h"
#include "utils/timestamp.h"
#if PG_VERSION_NUM >= 190000
#include "nodes/miscnodes.h"
#define COMB_OVERFLOW	((Node *) &(ErrorSaveContext) {.type = T_ErrorSaveContext})
#define comb_date_instant(date)	date2timestamptz_safe(date, COMB_OVERFLOW)
#define comb_timestamp_instant(at)	timestamp2timestamptz_safe(at, COMB_OVERFLOW)
#else
#define COMB_OVERFLOW	(&(int) {0})
#define comb_date_instant(date)	date2timestamptz_opt_overflow(date, COMB_OVERFLOW)
#define comb_timestamp_instant(at)	timestamp2timestamptz_opt_overflow(at, COMB_OVERFLOW)
#endif

/* PostgreSQL 16 can report errors of a range's type without raising them */
#include "utils/rangetypes.h"
#if PG_VERSION_NUM < 160000
#define range_serialize(typcache, lower, upper, empty, escontext) \
	range_serialize(typcache, lower, upper, empty)
#endif

/*
 * PostgreSQL 17 numbers backends from 0.  Older servers have two numbers for
 * a backend.  We use the backend's id, which counts from 1, because new
 * backends get the smallest one that is free.  The number of the PGPROC starts
 * with the largest one instead.
 */
#if PG_VERSION_NUM < 170000
#include "storage/backendid.h"
#define comb_proc_number()	(MyBackendId - 1)
#else
#define comb_proc_number()	MyProcNumber
#endif

/* PostgreSQL 17 put the two parts of a virtual transaction id into a struct */
#if PG_VERSION_NUM >= 170000
#define comb_local_xid()	(MyProc->vxid.lxid)
#else
#define comb_local_xid()	(MyProc->lxid)
#endif

/*
 * Does the PGPROC belong to a transaction that recovery found prepared?  A
 * transaction that a session prepared keeps the session's number.
 */
#if PG_VERSION_NUM >= 170000
#define COMB_PROC_HAS_NO_BACKEND(proc)	((proc)->vxid.procNumber == INVALID_PROC_NUMBER)
#else
#define COMB_PROC_HAS_NO_BACKEND(proc)	((proc)->backendId == InvalidBackendId)
#endif

/* PostgreSQL 19 looks a prepared transaction up by its full xid */
#include "access/twophase.h"
#if PG_VERSION_NUM >= 190000
#define comb_dummy_proc(fxid)	TwoPhaseGetDummyProc(fxid, false)
#else
#define comb_dummy_proc(fxid)	TwoPhaseGetDummyProc(XidFromFullTransactionId(fxid), false)
#endif

/* PostgreSQL 16 searches arrays of numbers with SIMD */
#if PG_VERSION_NUM >= 160000
#include "port/pg_lfind.h"
#else
static inline bool
pg_lfind32(uint32 key, const uint32 *base, uint32 nelem)
{
	uint32		i;

	for (i = 0; i < nelem; i++)
	{
		if (base[i] == key)
			return true;
	}
	return false;
}
#endif

/* PostgreSQL 17 can advance an atomic number unless it is larger already */
#if PG_VERSION_NUM < 170000
#include "port/atomics.h"

static inline uint64
pg_atomic_monotonic_advance_u64(volatile pg_atomic_uint64 *ptr, uint64 target)
{
	uint64		value = pg_atomic_read_u64(ptr);

	if (value >= target)
		pg_memory_barrier();	/* as an exchange would be */
	while (value < target)
	{
		if (pg_atomic_compare_exchange_u64(ptr, &value, target))
			return target;
	}
	return value;
}
#endif

/* PostgreSQL 18 shows name and version in pg_get_loaded_modules() */
#ifdef PG_MODULE_MAGIC_EXT
#define COMB_MODULE_MAGIC \
	PG_MODULE_MAGIC_EXT(.name = "pg_comb", .version = COMB_VERSION)
#else
#define COMB_MODULE_MAGIC	PG_MODULE_MAGIC
#endif

/* PostgreSQL 20 shortened a name, and made another one clearer */
#if PG_VERSION_NUM < 200000
#define ssup_datum_uint64_cmp		ssup_datum_unsigned_cmp
#endif
#ifndef pg_always_inline
#define pg_always_inline	pg_attribute_always_inline
#endif

/*
 * PostgreSQL 17 has a registry of dynamic shared memory, to which any session
 * can add a segment.  PostgreSQL 19 added an argument to the callback for a
 * new segment.  Before 17, the main segment has some spare space for modules
 * that were not preloaded.
 *
 * The first session that asks for a segment initializes it.
 */
#include "storage/lwlock.h"
#if PG_VERSION_NUM >= 170000
#include "storage/dsm_registry.h"
#else
#include "storage/shmem.h"
#endif

typedef void (*comb_segment_init) (void *segment);

#if PG_VERSION_NUM >= 190000
static inline void
comb_registry_init(void *segment, void *arg)
{
	(*(comb_segment_init *) arg) (segment);
}
#endif

static inline void *
comb_segment(const char *name, Size size, comb_segment_init init)
{
	bool		found;
#if PG_VERSION_NUM >= 190000
	return GetNamedDSMSegment(name, size, comb_registry_init, &found, &init);
#elif PG_VERSION_NUM >= 170000
	return GetNamedDSMSegment(name, size, init, &found);
#else
	void	   *segment;

	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	segment = ShmemInitStruct(name, size, &found);
	if (!found)
		init(segment);
	LWLockRelease(AddinShmemInitLock);
	return segment;
#endif
}

/* Before PostgreSQL 19 each process has to name the tranches of its locks */
#if PG_VERSION_NUM >= 190000
#define comb_new_tranche(name)			LWLockNewTrancheId(name)
#define comb_register_tranche(id, name)	((void) 0)
#else
#define comb_new_tranche(name)			LWLockNewTrancheId()
#define comb_register_tranche(id, name)	LWLockRegisterTranche(id, name)
#endif

/* PostgreSQL 17 shows by name what a session waits for in an extension */
#include "utils/wait_event.h"
#if PG_VERSION_NUM < 170000
#define WaitEventExtensionNew(name)	PG_WAIT_EXTENSION
#endif

/*
 * Points where a test can hold a session up.  They exist from 17 on, in
 * servers built with injection points, and cost nothing elsewhere.
 * PostgreSQL 18 added an argument.
 *
 * Compiled with COMB_RANDOM_DELAYS, the module instead sleeps for up to 2 ms
 * at about one point of 64, on any server.  With more sleeps readers fall
 * behind, and with fewer a soak finds no seeded bug.
 */
#if defined(COMB_RANDOM_DELAYS)
#include "miscadmin.h"

static inline void
comb_random_delay(void)
{
	static unsigned int seed = 0;

	if (seed == 0)
		seed = (unsigned int) MyProcPid;
	if (rand_r(&seed) % 64 == 0)
		pg_usleep(rand_r(&seed) % 2000);
}
#define COMB_INJECTION_POINT(name)	comb_random_delay()
#elif PG_VERSION_NUM >= 180000
#include "utils/injection_point.h"
#define COMB_INJECTION_POINT(name)	INJECTION_POINT(name, NULL)
#elif PG_VERSION_NUM >= 170000
#include "utils/injection_point.h"
#define COMB_INJECTION_POINT(name)	INJECTION_POINT(name)
#else
#define COMB_INJECTION_POINT(name)	((void) 0)
#endif

#endif							/* COMB_COMPAT_H */
