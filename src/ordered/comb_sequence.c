/*-------------------------------------------------------------------------
 *
 * comb_sequence.c
 *	  The sequences of the extension: finding, locking and writing them.
 *
 * A sequence holds a time limit that must survive a crash (comb_lease.c).
 * Sequences reach standbys, base backups, copies of a database and
 * pg_upgrade.  pg_dump dumps them too, because the extension's script declares
 * them as configuration.
 *
 * We write the sequence's only page with generic WAL, which needs neither a
 * transaction id nor a preloaded library, not even for recovery.  setval()
 * needs a transaction id, and can lose a race.
 *
 * The page has the bytes of any sequence's page:
 *
 *	 page header	LSN: the end of the last record
 *	 line pointer	of the only tuple
 *	 (free)
 *	 tuple header
 *	 last_value		8 bytes: the limit, in microseconds since 1970
 *	 log_cnt		8 bytes: the incarnation that wrote it; the last bit is
 *					COMB_RESET_MARK
 *	 is_called		1 byte: true
 *	 special space	PostgreSQL's magic number for sequences
 *
 * Only nextval() uses log_cnt, and nobody calls nextval() on these sequences.
 * Whatever changes last_value behind our back also changes log_cnt, as
 * setval() in a restore does, or comes with a new incarnation, as promotion
 * and a cloned data directory do.
 *
 * Copyright (c) 2026, pg_comb developers
 *
 * IDENTIFICATION
 *	  src/ordered/comb_sequence.c
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
#include "comb_sequence.h"

static const char *const comb_sequence_names[COMB_SERIES] = {
	[COMB_SERIES_ORDERED] = "comb_lease_ordered",
	[COMB_SERIES_SNOWFLAKE] = "comb_lease_snowflake"
};

/* The sequences that this process has found, or InvalidOid */
static Oid	comb_sequence_oids[COMB_SERIES];

uint64		comb_sequence_generation = 1;

/* Relcache callback: forget a relation that was altered, moved or dropped */
void
comb_sequence_forget(Datum arg, Oid relid)
{
	int			i;

	for (i = 0; i < COMB_SERIES; i++)
	{
		if (OidIsValid(comb_sequence_oids[i]) &&
			(relid == InvalidOid || relid == comb_sequence_oids[i]))
		{
			comb_sequence_oids[i] = InvalidOid;
			comb_sequence_generation++;
		}
	}
}

/* Find the relation of this name in an array of OIDs */
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
 * Look up a sequence among the relations that the extension's script has
 * declared as configuration.  Schema and name are not enough, and neither is
 * membership, because the extension's owner can make any sequence a member.
 */
static Oid
comb_sequence_find(CombSeries series)
{
	Oid			found = InvalidOid;
	Relation	extensions;
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;

	extensions = table_open(ExtensionRelationId, AccessShareLock);
	ScanKeyInit(&key, Anum_pg_extension_extname, BTEqualStrategyNumber,
				F_NAMEEQ, CStringGetDatum("pg_comb_ordered"));
	scan = systable_beginscan(extensions, ExtensionNameIndexId, true, NULL, 1,
							  &key);
	tuple = systable_getnext(scan);
	if (HeapTupleIsValid(tuple))
	{
		/*
		 * heap_getattr() of newer minor releases calls heap_datum_check(),
		 * which older ones do not have: they would refuse to load the module.
		 * A tuple of the catalog needs no check.
		 */
		bool		isnull;
		Datum		config = fastgetattr(tuple, Anum_pg_extension_extconfig,
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
 * Open and lock a sequence.  Returns NULL if there is none.
 *
 * Any catalog access can run the callback above, and so can locking.  We
 * therefore remember the OID only once we hold the lock: from then on the
 * callback runs at every change.  If the sequence was dropped before that,
 * there may be a new one, so search again.
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
 * Open and lock a sequence that this process has found before, without
 * waiting for the lock.  Returns NULL if that is not possible.
 */
static Relation
comb_sequence_open_nowait(CombSeries series, LOCKMODE lockmode)
{
	Oid			oid = comb_sequence_oids[series];
	Relation	relation = NULL;

	if (!OidIsValid(oid) || !ConditionalLockRelationOid(oid, lockmode))
		return NULL;
	/* locking may have run the callback */
	if (comb_sequence_oids[series] == oid)
		relation = try_relation_open(oid, NoLock);
	if (relation == NULL)
		UnlockRelationOid(oid, lockmode);
	return relation;
}

/*
 * Return the columns of the sequence's tuple on a page.  Raises XX001 if the
 * file was damaged.
 */
static Form_pg_sequence_data
comb_page_columns(Page page)
{
	ItemId		item = PageGetItemId(page, FirstOffsetNumber);
	HeapTupleHeader tuple;

	if (!ItemIdIsNormal(item))
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("page of a pg_comb sequence holds no tuple"),
				 errhint("Restore the database, or drop the extension and create it again.  Keys then start at the clock.")));
	tuple = (HeapTupleHeader) PageGetItem(page, item);
	return (Form_pg_sequence_data) ((char *) tuple + tuple->t_hoff);
}

/*
 * Read a page that was just locked.
 *
 * After pg_resetwal, or in files copied from another server, the page's LSN
 * can be beyond the end of the WAL.  Such a page was read from disk, so there
 * is nothing to flush.  XLogFlush() would fail until the WAL has grown that
 * far.
 */
static void
comb_page_read(CombPage *page)
{
	Page		content = BufferGetPage(page->buffer);
	Form_pg_sequence_data data = comb_page_columns(content);

	page->value = data->last_value;
	page->incarnation = (uint64) data->log_cnt;
	page->lsn = PageGetLSN(content);
	if (page->lsn > GetXLogInsertRecPtr())
		page->lsn = InvalidXLogRecPtr;
}

/*
 * Read a sequence's page without changing it, as a standby may.  False if the
 * sequence does not exist or, without "wait", if somebody has locked it or
 * this process has not opened it before.
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
	comb_page_read(page);
	comb_page_close(page, false);
	return true;
}

/*
 * Lock a sequence and its page for writing, and read the page.  The caller
 * may call comb_page_write(), and must call comb_page_close().  Raises 55000
 * if the sequence does not exist.  Not on a standby, which cannot write WAL.
 */
void
comb_page_open(CombPage *page, CombSeries series)
{
	Assert(!RecoveryInProgress());
	page->lockmode = RowExclusiveLock;
	page->relation = comb_sequence_try_open(series, page->lockmode);
	if (page->relation == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("sequence \"%s\" of extension pg_comb_ordered does not exist",
						comb_sequence_names[series]),
				 errhint("Drop the extension and create it again.  Keys then start at the clock.")));
	page->buffer = ReadBuffer(page->relation, 0);
	LockBuffer(page->buffer, BUFFER_LOCK_EXCLUSIVE);
	comb_page_read(page);
}

/*
 * The same without waiting for a lock.  False if a lock is taken, or if this
 * process has not found the sequence before.
 */
bool
comb_page_try_open(CombPage *page, CombSeries series)
{
	page->lockmode = RowExclusiveLock;
	page->relation = comb_sequence_open_nowait(series, page->lockmode);
	if (page->relation == NULL)
		return false;
	page->buffer = ReadBuffer(page->relation, 0);
	if (!ConditionalLockBuffer(page->buffer))
	{
		ReleaseBuffer(page->buffer);
		relation_close(page->relation, page->lockmode);
		return false;
	}
	comb_page_read(page);
	return true;
}

/*
 * Write a page.
 *
 * The WAL record has an image of the nearly empty page: 149 bytes instead of
 * 60.  Recovery can therefore repair a torn page even if full_page_writes is
 * off, as it can from core's own records of sequences.
 *
 * MarkBufferDirty() comes first because GenericXLogFinish() called it after
 * writing the record before 15.5 and 16.1.  A checkpoint in between would have
 * left the page behind.
 */
void
comb_page_write(CombPage *page, int64 value, uint64 incarnation)
{
	GenericXLogState *state = GenericXLogStart(page->relation);
	Form_pg_sequence_data data;

	data = comb_page_columns(GenericXLogRegisterBuffer(state, page->buffer,
													   GENERIC_XLOG_FULL_IMAGE));
	data->last_value = value;
	data->log_cnt = (int64) incarnation;
	data->is_called = true;
	MarkBufferDirty(page->buffer);
	GenericXLogFinish(state);
	comb_page_read(page);
}

/*
 * Flush the record of a page, after the page was unlocked.  A caller that
 * relies on the number must do this even if another session wrote the record.
 */
void
comb_page_flush(CombPage *page)
{
	COMB_INJECTION_POINT("comb-lease-flush");
	XLogFlush(page->lsn);
}

/*
 * Unlock a page and, with "flush", flush its record.  The sequence stays
 * locked, and comb_page_close() must follow.
 */
void
comb_page_unlock(CombPage *page, bool flush)
{
	UnlockReleaseBuffer(page->buffer);
	page->buffer = InvalidBuffer;
	if (flush)
		comb_page_flush(page);
}

/* Unlock a page, unless comb_page_unlock() has done so, and its sequence */
void
comb_page_close(CombPage *page, bool flush)
{
	if (BufferIsValid(page->buffer))
		comb_page_unlock(page, flush);
	relation_close(page->relation, page->lockmode);
}
