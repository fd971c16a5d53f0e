/*-------------------------------------------------------------------------
 *
 * comb_page.c
 *	  The sequences of the extension: finding, locking and writing them.
 *
 * A sequence holds a time limit that must survive a crash (comb_lease.c), or
 * the last instance number claimed.  The number reaches crash recovery,
 * standbys, base backups, copies of a database and pg_upgrade.  The number
 * also reaches pg_dump, because the sequences are configuration of the
 * extension.
 *
 * The module writes the sequence's only page by generic WAL.  Generic WAL
 * needs no transaction id and no preloaded library, not even for recovery,
 * and works in read-only transactions.  setval() needs a transaction id,
 * fails in read-only transactions, and can lose a race.
 *
 * Two columns are used: last_value has the number, log_cnt the incarnation of
 * shared memory that wrote the number.  Only nextval() uses log_cnt, and
 * nobody calls nextval() here.  Whatever moves last_value without the
 * module's knowledge also changes log_cnt, or comes with another incarnation:
 * setval() by a restore, promotion, a cloned data directory.
 *
 * Copyright (c) 2026, pg_comb developers
 *
 * IDENTIFICATION
 *	  src/comb_page.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/generic_xlog.h"
#include "access/genam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/table.h"
#include "access/xlog.h"
#include "catalog/indexing.h"
#include "catalog/pg_extension.h"
#include "catalog/pg_type.h"
#include "commands/sequence.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "utils/array.h"
#include "utils/fmgroids.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "comb_compat.h"
#include "comb_page.h"

static const char *const comb_sequence_names[COMB_SEQUENCES] = {
	[COMB_SERIES_ORDERED] = "comb_lease_ordered",
	[COMB_SERIES_SNOWFLAKE] = "comb_lease_snowflake",
	[COMB_SERIES_SLOW] = "comb_lease_snowflake_slow",
	[COMB_SERIES_CLAIM] = "comb_snowflake_claimed"
};

/* What this process found; InvalidOid where it has to look again */
static Oid	comb_sequence_oids[COMB_SEQUENCES];

uint64		comb_sequence_generation = 0;

/* Invalidation callback: a relation was altered, moved or dropped */
static void
comb_sequence_forget(Datum arg, Oid relid)
{
	int			i;

	for (i = 0; i < COMB_SEQUENCES; i++)
	{
		if (OidIsValid(comb_sequence_oids[i]) &&
			(relid == InvalidOid || relid == comb_sequence_oids[i]))
		{
			comb_sequence_oids[i] = InvalidOid;
			comb_sequence_generation++;
		}
	}
}

/* Find the relation of a name in an array of relations */
static Oid
comb_sequence_named(ArrayType *relations, const char *name)
{
	Datum	   *oids;
	int			n;
	int			i;

	deconstruct_array(relations, OIDOID, sizeof(Oid), true, TYPALIGN_INT,
					  &oids, NULL, &n);
	for (i = 0; i < n; i++)
	{
		Oid			oid = DatumGetObjectId(oids[i]);
		char	   *found = get_rel_name(oid);

		if (found != NULL && strcmp(found, name) == 0)
			return oid;
	}
	return InvalidOid;
}

/*
 * Look a sequence up among the relations that the extension's script has
 * declared as configuration.  Neither its schema nor its name would do: the
 * extension's owner can make any sequence a member of the extension.
 */
static Oid
comb_sequence_find(CombSeries series)
{
	static bool registered = false;
	Oid			found = InvalidOid;
	Relation	extensions;
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;

	if (!registered)
	{
		CacheRegisterRelcacheCallback(comb_sequence_forget, (Datum) 0);
		registered = true;
	}

	extensions = table_open(ExtensionRelationId, AccessShareLock);
	ScanKeyInit(&key, Anum_pg_extension_extname, BTEqualStrategyNumber,
				F_NAMEEQ, CStringGetDatum("pg_comb"));
	scan = systable_beginscan(extensions, ExtensionNameIndexId, true, NULL, 1,
							  &key);
	tuple = systable_getnext(scan);
	if (HeapTupleIsValid(tuple))
	{
		bool		isnull;
		Datum		config = heap_getattr(tuple, Anum_pg_extension_extconfig,
										  RelationGetDescr(extensions),
										  &isnull);

		if (!isnull)
			found = comb_sequence_named(DatumGetArrayTypeP(config),
										comb_sequence_names[series]);
	}
	systable_endscan(scan);
	table_close(extensions, AccessShareLock);
	return found;
}

/*
 * Open and lock a sequence; NULL where there is none (any more).
 *
 * Any access to a catalog, and locking, can run the callback above.  The OID
 * is therefore remembered after the lock is held: the callback hears of all
 * later changes.  The sequence can be gone by then, and another one can be
 * there since.  In that case the search begins again.
 */
static Relation
comb_sequence_try_open(CombSeries series, LOCKMODE lockmode)
{
	for (;;)
	{
		Oid			oid = comb_sequence_oids[series];
		Relation	relation;

		if (!OidIsValid(oid))
			oid = comb_sequence_find(series);
		if (!OidIsValid(oid))
			return NULL;
		relation = try_relation_open(oid, lockmode);
		comb_sequence_oids[series] = relation != NULL ? oid : InvalidOid;
		if (relation != NULL)
			return relation;
	}
}

/*
 * Open and lock a sequence.  Raises 55000 on a standby, and if the sequence
 * does not exist.
 */
static Relation
comb_sequence_open(CombSeries series, LOCKMODE lockmode)
{
	Relation	relation;

	if (RecoveryInProgress())
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("ordered keys and Snowflakes cannot be made on a standby"),
				 errdetail("They need a time limit in the write-ahead log."),
				 errhint("Make them on the primary, or use comb_generate(), which works on every server.")));
	relation = comb_sequence_try_open(series, lockmode);
	if (relation == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("sequence \"%s\" of extension pg_comb does not exist",
						comb_sequence_names[series]),
				 errhint("Create the extension in this database.")));
	return relation;
}

/*
 * Open and lock a sequence that this process knows, without waiting for a
 * lock.  NULL where that is not possible.
 */
static Relation
comb_sequence_open_nowait(CombSeries series, LOCKMODE lockmode)
{
	Oid			oid = comb_sequence_oids[series];
	Relation	relation = NULL;

	if (!OidIsValid(oid) || !ConditionalLockRelationOid(oid, lockmode))
		return NULL;
	/* the locking can have run the callback */
	if (comb_sequence_oids[series] == oid)
		relation = try_relation_open(oid, NoLock);
	if (relation == NULL)
		UnlockRelationOid(oid, lockmode);
	return relation;
}

/*
 * Lock a sequence until the caller unlocks it, or until the transaction ends.
 * Raises 55000 on a standby, and if the sequence does not exist.
 */
Oid
comb_sequence_lock(CombSeries series, LOCKMODE lockmode)
{
	Relation	relation = comb_sequence_open(series, lockmode);
	Oid			oid = RelationGetRelid(relation);

	relation_close(relation, NoLock);
	return oid;
}

/* Return the sequence's tuple on a page, and its length */
static HeapTupleHeader
comb_page_tuple(Page page, Size *length)
{
	ItemId		item = PageGetItemId(page, FirstOffsetNumber);

	if (!ItemIdIsNormal(item))
		elog(ERROR, "page of a pg_comb sequence holds no tuple");
	*length = ItemIdGetLength(item);
	return (HeapTupleHeader) PageGetItem(page, item);
}

/*
 * What stands on the page behind the columns of the sequence's tuple.
 *
 * The number stands there a second time.  setval() and ALTER SUBSCRIPTION ...
 * REFRESH SEQUENCES write the columns only, and log the tuple in its whole
 * length.  What was promised therefore stays on the page, and a smaller
 * last_value takes nothing back.  Other places on the page do not survive:
 * recovery builds the page anew from the tuple.
 *
 * The record of a new number can be in memory only.  A session that reads the
 * page then relies on the number before, which was on disk already.
 */
typedef struct CombPromise
{
	int64		value;
	int64		flushed;		/* the number before, or 0 if there is none */
} CombPromise;

static inline Size
comb_page_promise(HeapTupleHeader tuple)
{
	return tuple->t_hoff + sizeof(FormData_pg_sequence_data);
}

/*
 * Read a page's number: last_value or, if larger, what was promised.
 *
 * After pg_resetwal, or in files copied from another server, the page's LSN can
 * be beyond the end of the WAL.  Such a page was read from disk, so nothing is
 * to be flushed.  XLogFlush() would fail until the WAL has grown that far.
 */
static void
comb_page_read(Page content, CombPage *page)
{
	Size		length;
	HeapTupleHeader tuple = comb_page_tuple(content, &length);
	Form_pg_sequence_data data;
	CombPromise promise = {0, 0};

	data = (Form_pg_sequence_data) ((char *) tuple + tuple->t_hoff);
	if (length >= comb_page_promise(tuple) + sizeof(promise))
		memcpy(&promise, (char *) tuple + comb_page_promise(tuple),
			   sizeof(promise));
	page->value = Max(data->last_value, promise.value);
	page->incarnation = (uint64) data->log_cnt;
	page->lsn = PageGetLSN(content);
	page->flushed = promise.flushed;
	if (page->lsn > GetXLogInsertRecPtr())
	{
		page->lsn = InvalidXLogRecPtr;
		page->flushed = page->value;
	}
}

/*
 * Read a sequence's page without changing it, as a standby may.  False if the
 * sequence does not exist or, without "wait", if somebody has locked it or this
 * process has not opened it before.
 */
bool
comb_page_peek(CombPage *page, CombSeries series, bool wait)
{
	page->lockmode = AccessShareLock;
	page->relation = wait ?
		comb_sequence_try_open(series, page->lockmode) :
		comb_sequence_open_nowait(series, page->lockmode);
	if (page->relation == NULL)
		return false;
	page->buffer = ReadBuffer(page->relation, 0);
	LockBuffer(page->buffer, BUFFER_LOCK_SHARE);
	comb_page_read(BufferGetPage(page->buffer), page);
	comb_page_close(page, false);
	return true;
}

/* Load what a locked page has, and find out whether that is on disk */
static void
comb_page_load(CombPage *page)
{
	comb_page_read(BufferGetPage(page->buffer), page);
	if (!XLogNeedsFlush(page->lsn))
		page->flushed = page->value;
}

/*
 * Lock a sequence and its page for a change, and tell in "page" what stands
 * there.  comb_page_write() may follow, and comb_page_close() must follow.
 * Raises 55000 as comb_sequence_lock() does.
 */
void
comb_page_open(CombPage *page, CombSeries series, LOCKMODE lockmode)
{
	page->relation = comb_sequence_open(series, lockmode);
	page->lockmode = lockmode;
	page->buffer = ReadBuffer(page->relation, 0);
	LockBuffer(page->buffer, BUFFER_LOCK_EXCLUSIVE);
	comb_page_load(page);
}

/*
 * The same without waiting for a lock, and only for a sequence that this
 * process has opened before.  False where the function would have to wait.
 */
bool
comb_page_try_open(CombPage *page, CombSeries series, LOCKMODE lockmode)
{
	page->relation = comb_sequence_open_nowait(series, lockmode);
	if (page->relation == NULL)
		return false;
	page->lockmode = lockmode;
	page->buffer = ReadBuffer(page->relation, 0);
	if (!ConditionalLockBuffer(page->buffer))
	{
		ReleaseBuffer(page->buffer);
		relation_close(page->relation, lockmode);
		return false;
	}
	comb_page_load(page);
	return true;
}

/* Make space behind the columns, which a new sequence's tuple lacks */
static HeapTupleHeader
comb_page_lengthen(Page page)
{
	Size		length;
	HeapTupleHeader tuple = comb_page_tuple(page, &length);
	Size		end = comb_page_promise(tuple) + sizeof(CombPromise);

	if (length < end)
	{
		char	   *longer = (char *) palloc0(end);

		memcpy(longer, tuple, length);
		if (!PageIndexTupleOverwrite(page, FirstOffsetNumber, longer, end))
			elog(ERROR, "page of a pg_comb sequence is full");
		pfree(longer);
		tuple = comb_page_tuple(page, &length);
	}
	return tuple;
}

/*
 * Write a page.  A number of an earlier incarnation is no promise of this
 * one, so the page does not keep such a number as the one before.
 *
 * The WAL record has an image of the page, which is nearly empty: 149 bytes
 * instead of 60.  Recovery then mends a page that the crash tore, also with
 * full_page_writes off, as core's own records of sequences do.
 *
 * MarkBufferDirty() comes first because GenericXLogFinish() called it after
 * writing the record before 13.13, 14.10, 15.5 and 16.1.  A checkpoint in
 * between would have left the page behind.
 */
void
comb_page_write(CombPage *page, int64 value, uint64 incarnation)
{
	GenericXLogState *state = GenericXLogStart(page->relation);
	CombPromise promise;
	HeapTupleHeader tuple;
	Form_pg_sequence_data data;

	promise.value = value;
	promise.flushed = page->incarnation == incarnation ? page->flushed : 0;
	tuple = comb_page_lengthen(GenericXLogRegisterBuffer(state, page->buffer,
														 GENERIC_XLOG_FULL_IMAGE));
	memcpy((char *) tuple + comb_page_promise(tuple), &promise,
		   sizeof(promise));
	data = (Form_pg_sequence_data) ((char *) tuple + tuple->t_hoff);
	data->last_value = value;
	data->log_cnt = (int64) incarnation;
	data->is_called = true;
	MarkBufferDirty(page->buffer);
	GenericXLogFinish(state);
	comb_page_read(BufferGetPage(page->buffer), page);
}

/*
 * Bring the record of a page to disk, after the page was unlocked.  A caller
 * that relies on the number needs that even if another session wrote the
 * record.
 */
void
comb_page_flush(CombPage *page)
{
	COMB_INJECTION_POINT("comb-lease-flush");
	XLogFlush(page->lsn);
	page->flushed = page->value;
}

/*
 * Unlock a page and, with "flush", bring its record to disk.  The sequence
 * stays locked, and comb_page_close() must follow.
 */
void
comb_page_unlock(CombPage *page, bool flush)
{
	UnlockReleaseBuffer(page->buffer);
	page->buffer = InvalidBuffer;
	if (flush)
		comb_page_flush(page);
}

/* Unlock a page as comb_page_unlock() does, if it is locked, and its sequence */
void
comb_page_close(CombPage *page, bool flush)
{
	if (BufferIsValid(page->buffer))
		comb_page_unlock(page, flush);
	relation_close(page->relation, page->lockmode);
}
