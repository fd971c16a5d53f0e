/*-------------------------------------------------------------------------
 *
 * comb_plan.c
 *	  Bounds that are no younger than the plan of the query that asks.
 *
 * A query reads the tables that were partitions or children when it was
 * planned.  ATTACH PARTITION and INHERIT do not wait for readers.  So a table
 * can be attached, and get rows, after the planning and before the query takes
 * its snapshot.  The query does not read these rows, and a bound found with its
 * snapshot passes them.
 *
 * Whoever attaches a table locks it against writers, and lets go of the lock
 * after sending invalidation messages for the parent.  A row written after that
 * is therefore visible only to snapshots that are taken after the messages have
 * been sent.  So we process the messages after we have found a bound.  If no
 * parent has changed, then no plan lacks a table with rows below the bound.
 *
 * If a parent has changed, the plan may be older than the change.  We cannot
 * look at the plan, but it is no older than its transaction: each transaction
 * begins with processing the messages, and each plan is checked or made in the
 * transaction that runs it.  So the last bound found before this transaction
 * is returned.  Plans know all tables with rows below that bound.
 *
 * A session's first query has no bound from before.  The planner calls
 * comb_settled_support(), which finds one with the snapshot of the planning.
 * PostgreSQL takes that snapshot before it locks the query's tables.
 *
 * The answer is only older: the next transaction has a newer one.
 *
 * This reasoning has a gap.  In soaks with attaches beside other load a row was
 * lost in about one of ten runs.  In the one that was looked into, a generic
 * plan ran without the partition in the transaction after the one that had
 * counted the attach.  doc/feed.md says how to attach safely.
 *
 * Copyright (c) 2026, pg_comb developers
 *
 * IDENTIFICATION
 *	  src/ordered/comb_plan.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_class.h"
#include "storage/proc.h"
#include "utils/inval.h"
#include "utils/syscache.h"

#include "comb_plan.h"

/* How many changed relations to remember before all count as parents */
#define COMB_CHANGED		64

/* A bound, the transaction that found it, and how many changes it knew of */
typedef struct CombFound
{
	LocalTransactionId lxid;	/* invalid = none was found yet */
	uint64		bound;
	uint64		changes;
} CombFound;

/* The last bound, and the last one of the transactions before this one */
static CombFound comb_found[COMB_SERIES];
static CombFound comb_before[COMB_SERIES];

/* Relations that have changed, and how many changes were those of parents */
static Oid	comb_changed[COMB_CHANGED];
static int	comb_nchanged = 0;
static uint64 comb_changes = 0;

/*
 * A relation has changed, or any may have if "relid" is invalid.  For
 * CacheRegisterRelcacheCallback().  We must not read the catalog here.
 */
void
comb_plan_changed(Datum arg, Oid relid)
{
	if (comb_nchanged > 0 && comb_changed[comb_nchanged - 1] == relid)
		return;
	if (OidIsValid(relid) && comb_nchanged < COMB_CHANGED)
		comb_changed[comb_nchanged++] = relid;
	else
	{
		comb_changes++;
		comb_nchanged = 0;
	}
}

/* Has the relation partitions or children, or had it some? */
static bool
comb_is_parent(Oid relid)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	bool		parent;

	if (!HeapTupleIsValid(tuple))
		return false;
	parent = ((Form_pg_class) GETSTRUCT(tuple))->relhassubclass;
	ReleaseSysCache(tuple);
	return parent;
}

/*
 * Return how many changes of parents this session has seen by now.  Other
 * relations change all the time: temporary tables come and go, and VACUUM and
 * ANALYZE update pg_class.  Looking a relation up can process more messages.
 */
static uint64
comb_count_changes(void)
{
	AcceptInvalidationMessages();
	while (comb_nchanged > 0)
	{
		if (comb_is_parent(comb_changed[--comb_nchanged]))
			comb_changes++;
	}
	return comb_changes;
}

/* Has this session found a bound? */
bool
comb_plan_has_bound(CombSeries series)
{
	return comb_found[series].lxid != InvalidLocalTransactionId;
}

/*
 * A bound has just been found.  Replace it with an older one if the plan may
 * be older.  Returns false in this case.
 *
 * The first bound of a session counts as one from before.  If a parent changes
 * while it is found, the plan in the making may lack a table.  Then no bound
 * is known.
 */
bool
comb_plan_bound(CombSeries series, uint64 *bound)
{
	CombFound  *found = &comb_found[series];
	CombFound  *before = &comb_before[series];
	LocalTransactionId lxid = comb_local_xid();
	uint64		changes;

	if (found->lxid == InvalidLocalTransactionId)
	{
		comb_nchanged = 0;
		before->changes = comb_changes;
		before->bound = COMB_UNKNOWN;
		changes = comb_count_changes();
		if (changes == before->changes)
			before->bound = *bound;
	}
	else
	{
		if (found->lxid != lxid)
			*before = *found;
		changes = comb_count_changes();
	}
	found->lxid = lxid;
	found->bound = *bound;
	found->changes = changes;
	if (changes == before->changes)
		return true;
	*bound = Min(*bound, before->bound);
	return false;
}
