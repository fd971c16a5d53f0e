/*-------------------------------------------------------------------------
 *
 * comb_compat.h
 *	  What differs between PostgreSQL 13 and 19.
 *
 * The only file that knows PG_VERSION_NUM.  The newest spelling is used
 * everywhere else; here it is emulated for the servers that lack it.
 *
 * Copyright (c) 2026, pg_comb developers
 *
 * IDENTIFICATION
 *	  src/comb_compat.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef COMB_COMPAT_H
#define COMB_COMPAT_H

#if PG_VERSION_NUM < 130000
#error "pg_comb requires PostgreSQL 13 or newer"
#endif

/*
 * 15 made a prefix a reservation; before, one could only be warned of
 * settings that nobody had defined.
 */
#if PG_VERSION_NUM < 150000
#define MarkGUCPrefixReserved(prefix)	EmitWarningsOnPlaceholders(prefix)
#endif

/* 14 gave these the planner's state, to find what placeholders stand for */
#if PG_VERSION_NUM < 140000
#define pull_varnos(root, node)		pull_varnos(node)
#define is_pseudo_constant_for_index(root, expr, index) \
	is_pseudo_constant_for_index(expr, index)
#endif

/* 16 moved what reads text and other varlena types out of postgres.h */
#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif

/* 16 has one function for the privileges on all kinds of objects */
#if PG_VERSION_NUM < 160000
#define object_aclcheck(classid, objectid, roleid, mode) \
	pg_proc_aclcheck(objectid, roleid, mode)
#endif

/* 18 can show a module's name and version (pg_get_loaded_modules) */
#ifdef PG_MODULE_MAGIC_EXT
#define COMB_MODULE_MAGIC \
	PG_MODULE_MAGIC_EXT(.name = "pg_comb", .version = COMB_VERSION)
#else
#define COMB_MODULE_MAGIC	PG_MODULE_MAGIC
#endif

/*
 * 15 exported its comparison of abbreviated keys, which its sort recognizes
 * and inlines.  Before, every type brought one of its own.
 */
#if PG_VERSION_NUM < 150000
#include "utils/sortsupport.h"

static inline int
ssup_datum_unsigned_cmp(Datum x, Datum y, SortSupport ssup)
{
	return (x > y) - (x < y);
}
#endif

/*
 * trace_sort: from 17 always there, before only with TRACE_SORT, and before
 * 15 out of a module's reach on Windows.
 */
#if PG_VERSION_NUM >= 170000 || (PG_VERSION_NUM >= 150000 && defined(TRACE_SORT))
#define COMB_TRACE_SORT		trace_sort
#else
#define COMB_TRACE_SORT		false
#endif

/* 18 brought skip scans, and with them support function 6 of btree */
#if PG_VERSION_NUM >= 180000
#define COMB_HAVE_SKIP_SUPPORT
#endif

/*
 * Shared memory under a name, made at first use: 17 has the registry of
 * dynamic segments, 19 gave its callback an argument.  Before 17 it is a
 * named piece of the main segment, which has some space to spare for that.
 */
#if PG_VERSION_NUM >= 190000
#define COMB_SEGMENT_INIT_PARAMS	void *segment, void *arg
#else
#define COMB_SEGMENT_INIT_PARAMS	void *segment
#endif

#if PG_VERSION_NUM >= 170000
#include "storage/dsm_registry.h"

#if PG_VERSION_NUM >= 190000
#define COMB_SEGMENT_ARGS(name, size, init, found) \
	name, size, init, found, NULL
#else
#define COMB_SEGMENT_ARGS(name, size, init, found) \
	name, size, init, found
#endif

static inline void *
comb_get_segment(const char *name, Size size,
				 void (*init) (COMB_SEGMENT_INIT_PARAMS))
{
	bool		found;

	return GetNamedDSMSegment(COMB_SEGMENT_ARGS(name, size, init, &found));
}
#else
#include "storage/ipc.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"

#define COMB_SHMEM_RESERVED

static inline void *
comb_get_segment(const char *name, Size size,
				 void (*init) (COMB_SEGMENT_INIT_PARAMS))
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

/* 15 made reserving a matter of a hook; before, it was done in _PG_init */
typedef void (*comb_shmem_hook) (void);

#if PG_VERSION_NUM >= 150000
#define COMB_RESERVE_SHMEM(request, next) \
	(next = shmem_request_hook, shmem_request_hook = request)
#else
#define COMB_RESERVE_SHMEM(request, next) \
	(next = NULL, request())
#endif
#endif

/*
 * Places where a test can hold a session up.  They came in 17, are there in
 * servers built for them and cost nothing in others; 18 gave them an argument.
 */
#if PG_VERSION_NUM >= 180000
#include "utils/injection_point.h"
#define COMB_INJECTION_POINT(name)	INJECTION_POINT(name, NULL)
#elif PG_VERSION_NUM >= 170000
#include "utils/injection_point.h"
#define COMB_INJECTION_POINT(name)	INJECTION_POINT(name)
#else
#define COMB_INJECTION_POINT(name)	((void) 0)
#endif

#endif							/* COMB_COMPAT_H */
