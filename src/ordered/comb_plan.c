/*-------------------------------------------------------------------------
 *
 * comb_plan.c
 *	  Bounds that are no younger than the plan of the query that asks.
 *
 * A query reads the tables that were partitions or children when it was
 * planned.  ATTACH PARTITION and INHERIT do not wait for readers:
 *
 *	reader		plan ------------------------------- snapshot, bound, messages
 *	others				attach a table, messages, a row
 *
 * The plan lacks the table, and the bound would pass the row.  But whoever
 * attaches a table locks it against writers until the messages for its parent
 * are sent, so a snapshot that sees the row comes after the messages.  We
 * process the messages once we have found a bound.  If no parent has changed,
 * then no plan lacks a table with rows below the bound.
 *
 * If a parent has changed, we return the last bound found before this
 * transaction.  Plans know all tables with rows below that one: each transaction
 * begins with processing the messages, and each plan is checked or made in the
 * transaction that runs it.  A session's first transaction that asks has no bound
 * from before.  Then it is one without the commits since the transaction's start.
 * Times are compared, so the clock must not be set back between.
 *
 * In this first transaction we also do not know what changed before the query
 * asked: the module may have been loaded only then.  So its queries get no more
 * than that bound, and no end for a position.  Queries that the planner announces
 * early enough are the exception: comb_plan_begin().
 *
 * PostgreSQL itself can lose a table.  If a message for the parent is processed
 * while RelationBuildPartitionDesc() waits to look a partition up, the list that
 * the function has read before is kept, although it is out of date.  No query of
 * the session reads the new partition until the parent changes again.  So we have
 * PostgreSQL forget every parent whose change we have counted, at a time when it
 * builds no such list.  The plans that were made with it are forgotten as well.
 * comb_plan_begin() also has PostgreSQL forget all lists that it had before.
 *
 * doc/feed.md says what is not promised.
 *
 * Who takes the largest key from one session, and then rows up to it from another
 * one, gets fewer rows from an older bound.  So only messages that come during the
 * transaction count.
 *
 * A table can also lose rows to a snapshot.  Commands that rewrite it put a new
 * file in its place, which a snapshot from before reads as well.  Rows that were
 * written into the file by transactions that the snapshot does not see are
 * missing then: all of them after ALTER TABLE, and what was copied late after
 * tools that copy beside writers.  The transaction that puts the file in place
 * writes the table's row of pg_class, so a snapshot that sees this transaction
 * reads all rows.  The planner tells us each table after it has locked it, and
 * cached plans are made anew when the row changes: comb_plan_table().  A query
 * whose snapshot does not see the row as it is has nothing settled.  The bound
 * from before would not do, as the rows below it are missing, too.
 *
 * Copyright (c) 2026, pg_comb developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_class.h"
#include "storage/sinval.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/portal.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "comb_order.h"

/* How many changed relations to remember before all count as parents */
#define COMB_CHANGED		1024

/* The last bound of a series, and the last one of earlier transactions */
typedef struct CombFound
{
	LocalTransactionId lxid;	/* that found "bound"; invalid = none did */
	uint64		bound;
	uint64		before;
} CombFound;

static CombFound comb_found[COMB_NSERIES];

/* Relations that have changed, and how many changes were those of parents */
static Oid	comb_changed[COMB_CHANGED];
static int	comb_nchanged = 0;
static uint64 comb_changes = 0;

/*
 * The transaction that counted last, and how many changes all of its plans know.
 * 0 = nobody knows.
 */
static LocalTransactionId comb_counted = InvalidLocalTransactionId;
static uint64 comb_changes_known = 0;

/*
 * Do we know what has changed?  Not before the first count, because the module
 * was loaded only then, nor if a count was broken off by an error.
 */
static bool comb_listening = false;

/*
 * Which transactions wrote the rows of pg_class for tables that were planned, if
 * a snapshot may not see them, and the transaction in which that was
 */
static List *comb_writers;
static LocalTransactionId comb_writers_in = InvalidLocalTransactionId;

/*
 * A relation has changed, or any may have if "relid" is invalid.  We must not read
 * the catalog here.
 *
 * What we learn between two transactions, or when one starts, the plans of the
 * next one know.  But what we learn while a subtransaction is aborted, the plans
 * of cursors from before it do not.
 */
void
comb_plan_changed(Oid relid)
{
	if (!comb_listening ||
		!(IsTransactionState() || IsAbortedTransactionBlockState()) ||
		(comb_nchanged > 0 && comb_changed[comb_nchanged - 1] == relid))
		return;
	if (OidIsValid(relid) && comb_nchanged < COMB_CHANGED)
		comb_changed[comb_nchanged++] = relid;
	else
		comb_listening = false;
}

/*
 * Has the relation partitions or children, or had it some?  Temporary ones do not
 * count: nobody else reads or writes them.
 */
static bool
comb_is_parent(Oid relid)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	Form_pg_class form;
	bool		parent;

	if (!HeapTupleIsValid(tuple))
		return false;
	form = (Form_pg_class) GETSTRUCT(tuple);
	parent = form->relhassubclass && form->relpersistence != RELPERSISTENCE_TEMP;
	ReleaseSysCache(tuple);
	return parent;
}

/*
 * Count the changes of parents that this session has seen by now.  Other
 * relations change all the time: temporary tables come and go, and VACUUM and
 * ANALYZE update pg_class.  If these counted, a reader that makes a temporary
 * table in each transaction would stand still beside a writer that idles.
 *
 * To look a relation up can process messages that were sent after our caller had
 * its snapshot.  They count, because the caller may be the planner, which has
 * read its lists of partitions and takes another snapshot to run the query.  We do
 * not listen while we forget relations: these messages are our own, and others
 * need no count beside the one for this parent.
 */
static void
comb_count_changes(void)
{
	int			i;

	if (comb_counted != comb_local_xid())
	{
		comb_counted = comb_local_xid();
		comb_changes_known = comb_changes;
	}
	comb_listen();
	AcceptInvalidationMessages();
	for (i = 0; comb_listening && i < comb_nchanged; i++)
	{
		if (comb_is_parent(comb_changed[i]))
		{
			SharedInvalidationMessage message;

			/* have PostgreSQL forget it, and the plans that read it */
			message.rc.id = SHAREDINVALRELCACHE_ID;
			message.rc.dbId = MyDatabaseId;
			message.rc.relId = comb_changed[i];
			comb_changes++;
			comb_listening = false;
			LocalExecuteInvalidationMessage(&message);
			comb_listening = true;
		}
	}
	if (!comb_listening)
	{
		comb_changes++;
		InvalidateSystemCaches();
	}
	comb_nchanged = 0;
	comb_listening = true;
}

/*
 * Has the planner looked for the children of a table of this query, or of a
 * query in its FROM?  It first looks whether there are any, which is the end if
 * not, and reads them after "simple_rel_array" is there.
 */
static bool
comb_plan_has_looked(const PlannerInfo *root)
{
	bool		planned = root->simple_rel_array != NULL;
	ListCell   *cell;
	int			i;

	foreach(cell, root->parse->rtable)
	{
		RangeTblEntry *rte = lfirst_node(RangeTblEntry, cell);

		if (rte->rtekind == RTE_RELATION &&
			(rte->inh ? planned : comb_is_parent(rte->relid)))
			return true;
	}
	for (i = 1; planned && i < root->simple_rel_array_size; i++)
	{
		RelOptInfo *rel = root->simple_rel_array[i];

		if (rel != NULL && rel->subroot != NULL &&
			comb_plan_has_looked(rel->subroot))
			return true;
	}
	return false;
}

/*
 * Is a portal open that may have an older plan?  ThereAreNoReadyPortals() must
 * not be asked: when it finds one, it leaves its scan of the portals open, and a
 * hundred open scans end the server.  Each portal has a memory context that bears
 * its name.
 */
static bool
comb_portal_is_open(void)
{
	MemoryContext context = TopMemoryContext->firstchild;

	while (context != NULL && strcmp(context->name, "TopPortalContext") != 0)
		context = context->nextchild;
	if (context == NULL)
		return true;
	for (context = context->firstchild; context != NULL;
		 context = context->nextchild)
	{
		const char *name = context->ident;
		Portal		portal = name == NULL ? NULL : GetPortalByName(name);

		/* a cursor can be named like this, too */
		if (portal == NULL && name != NULL && strcmp(name, "<unnamed>") == 0)
			portal = GetPortalByName("");
		if (portal == NULL || portal->status == PORTAL_READY)
			return true;
	}
	return false;
}

/*
 * The planner begins to plan a query that asks.  While nobody knows the changes
 * that all plans know, we may learn it now, early enough for all plans in use.
 *
 * It is too late if the planner has read lists of partitions, in a query that runs
 * inside another one, or in one that the planner evaluates for the estimates of
 * another: that one has read its lists.  A client's statement is planned in
 * MessageContext or, before others in one message, in a child of it.  What runs
 * has the memory of a portal or transaction, and functions have contexts further
 * below.  It is too late while a cursor of an older plan may be open, and if the
 * planner has looked for children before we have processed the messages: those of
 * WITH and other subqueries that it plans before this one, and of the queries
 * around it.
 *
 * An expression of PL/pgSQL keeps a function in SQL, with its plans, until the
 * transaction ends, and PostgreSQL before 18 does not check these plans again.  So
 * it has to forget all plans of this transaction.
 */
void
comb_plan_begin(const PlannerInfo *root)
{
	bool		early = comb_changes_known == 0 && root != NULL &&
		root->parse != NULL &&	/* not so for a bare expression */
		root->glob->partition_directory == NULL && MessageContext != NULL &&
		(CurrentMemoryContext == MessageContext ||
		 MemoryContextGetParent(CurrentMemoryContext) == MessageContext) &&
		!comb_portal_is_open();
	ListCell   *cell;

	if (comb_listening && !early)
		return;
	comb_listening = false;
	comb_count_changes();
	if (!early)
		return;
	foreach(cell, root->glob->subroots)
	{
		if (comb_plan_has_looked(lfirst_node(PlannerInfo, cell)))
			return;
	}
	for (; root != NULL; root = root->parent_root)
	{
		if (comb_plan_has_looked(root))
			return;
	}
	comb_changes_known = comb_changes;
}

/*
 * A bound has just been found.  Remember it.  Does the query's plan know all
 * tables with rows below it?  If not, "before" becomes a bound for which it
 * does, or COMB_UNKNOWN if the session has none.
 */
bool
comb_plan_knows(CombSeries series, uint64 bound, uint64 *before)
{
	CombFound  *found = &comb_found[series];
	LocalTransactionId lxid = comb_local_xid();

	if (found->lxid != lxid)
		found->before = found->bound;
	found->lxid = lxid;
	found->bound = bound;
	*before = found->before;
	comb_count_changes();
	return comb_changes == comb_changes_known;
}

/*
 * The planner has locked a table of a query.  Who wrote its row of pg_class?  All
 * snapshots of this transaction see xids before TransactionXmin.  It sees its
 * own changes, too, but with one snapshot for all statements the row that it
 * changed may already have been one that the snapshot does not see, unless nobody
 * else can change the table.  Lists of xids come with PostgreSQL 16.
 */
void
comb_plan_table(Oid relid)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	TransactionId writer;
	char		persistence;
	MemoryContext old;

	if (!HeapTupleIsValid(tuple))
		return;
	writer = HeapTupleHeaderGetXmin(tuple->t_data);
	persistence = ((Form_pg_class) GETSTRUCT(tuple))->relpersistence;
	ReleaseSysCache(tuple);
	if (likely(TransactionIdPrecedes(writer, TransactionXmin)) ||
		persistence == RELPERSISTENCE_TEMP ||
		(TransactionIdIsCurrentTransactionId(writer) &&
		 !IsolationUsesXactSnapshot()))
		return;
	if (comb_writers_in != comb_local_xid())
		comb_writers = NIL;
	comb_writers_in = comb_local_xid();
	old = MemoryContextSwitchTo(TopTransactionContext);
	comb_writers = list_append_unique_oid(comb_writers, writer);
	MemoryContextSwitchTo(old);
}

/* Has a table that was planned a row of pg_class that the snapshot does not see? */
bool
comb_plan_hides(Snapshot snapshot)
{
	ListCell   *cell;

	if (likely(comb_writers_in != comb_local_xid()))
		return false;
	foreach(cell, comb_writers)
	{
		if (TransactionIdIsCurrentTransactionId(lfirst_oid(cell)) ||
			XidInMVCCSnapshot(lfirst_oid(cell), snapshot))
			return true;
	}
	return false;
}
