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
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/generic_xlog.h"
#include "access/genam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/table.h"
#include "access/xlog.h"
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

#include "comb_order.h"

/* The sequence of a series is named comb_lease_ and then this */
const char *const comb_series_names[COMB_NSERIES] = {
	[COMB_SERIES_ORDERED] = "ordered",
	[COMB_SERIES_SNOWFLAKE] = "snowflake"
};

/* The sequences that this process has found, or InvalidOid */
static Oid	comb_sequence_oids[COMB_NSERIES];

uint64		comb_sequence_generation = 1;

/* Who else wants to know what changes: _PG_init() says it */
void		(*comb_changed_hook) (Oid relid);

/* Relcache callback: forget a relation that was altered, moved or dropped */
static void
comb_relation_changed(Datum arg, Oid relid)
{
	int			i;

	for (i = 0; i < COMB_NSERIES; i++)
	{
		if (OidIsValid(comb_sequence_oids[i]) &&
			(relid == InvalidOid || relid == comb_sequence_oids[i]))
		{
			comb_sequence_oids[i] = InvalidOid;
			comb_sequence_generation++;
		}
	}
	comb_changed_hook(relid);
}

/*
 * Begin to hear of changed relations.  A process has room for ten such callbacks
 * of all its modules, so we take one, and none in a process that needs none.
 */
void
comb_listen(void)
{
	static bool listening = false;

	if (!listening)
		CacheRegisterRelcacheCallback(comb_relation_changed, (Datum) 0);
	listening = true;
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
	bool		isnull = true;
	Datum		config = (Datum) 0;
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

	/*
	 * Not heap_getattr(): compiled for a newer minor release, it calls a
	 * function that older ones do not have.
	 */
	if (HeapTupleIsValid(tuple))
		config = fastgetattr(tuple, Anum_pg_extension_extconfig,
							 RelationGetDescr(extensions), &isnull);
	if (!isnull)
	{
		char	   *wanted = psprintf("comb_lease_%s", comb_series_names[series]);
		Datum	   *oids;
		int			n;

		deconstruct_array(DatumGetArrayTypeP(config), OIDOID, sizeof(Oid),
						  true, TYPALIGN_INT, &oids, NULL, &n);
		while (n-- > 0 && !OidIsValid(found))
		{
			char	   *name = get_rel_name(DatumGetObjectId(oids[n]));

			if (name != NULL && strcmp(name, wanted) == 0)
				found = DatumGetObjectId(oids[n]);
		}
	}
	systable_endscan(scan);
	table_close(extensions, AccessShareLock);
	return found;
}

/*
 * Open and lock a sequence, or return NULL, as comb_page_open() says.
 *
 * Any catalog access can run the callback above, and so can locking.  We
 * therefore remember the OID only once we hold the lock: from then on the
 * callback runs at every change.  If the sequence was dropped before that,
 * there may be a new one, so search again.
 */
static Relation
comb_sequence_open(CombSeries series, LOCKMODE lockmode, bool nowait)
{
	comb_listen();
	for (;;)
	{
		Oid			oid = comb_sequence_oids[series];
		Relation	relation;

		if (!OidIsValid(oid) && !nowait)
			oid = comb_sequence_find(series);
		if (!OidIsValid(oid))
			return NULL;
		if (!nowait)
			LockRelationOid(oid, lockmode);
		else if (!ConditionalLockRelationOid(oid, lockmode))
			return NULL;
		relation = try_relation_open(oid, NoLock);
		comb_sequence_oids[series] = relation != NULL ? oid : InvalidOid;
		if (relation != NULL)
			return relation;
		UnlockRelationOid(oid, lockmode);
	}
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
 * Open a sequence, lock its page, and read it.  The caller must call
 * comb_page_close().
 *
 * False if the sequence does not exist, and with a NOWAIT mode if a lock is
 * taken, or if this process has not opened the sequence before.  Raises 42704
 * if the sequence that is to be written does not exist.  A standby can read,
 * but cannot write WAL.
 */
bool
comb_page_open(CombPage *page, CombSeries series, CombPageMode mode)
{
	bool		write = (mode >= COMB_PAGE_WRITE);

	Assert(!write || !RecoveryInProgress());
	page->lockmode = write ? RowExclusiveLock : AccessShareLock;
	page->relation = comb_sequence_open(series, page->lockmode,
										mode == COMB_PAGE_READ_NOWAIT ||
										mode == COMB_PAGE_WRITE_NOWAIT);
	if (page->relation == NULL && mode == COMB_PAGE_WRITE)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("sequence \"%s\" of extension pg_comb_ordered does not exist",
						psprintf("comb_lease_%s", comb_series_names[series])),
				 errhint("Drop the extension and create it again.  Keys then start at the clock.")));
	if (page->relation == NULL)
		return false;

	page->buffer = ReadBuffer(page->relation, 0);
	if (mode != COMB_PAGE_WRITE_NOWAIT)
		LockBuffer(page->buffer,
				   write ? BUFFER_LOCK_EXCLUSIVE : BUFFER_LOCK_SHARE);
	else if (!ConditionalLockBuffer(page->buffer))
	{
		ReleaseBuffer(page->buffer);
		relation_close(page->relation, page->lockmode);
		return false;
	}
	comb_page_read(page);
	return true;
}

/*
 * Write a page that is open for writing.
 *
 * The WAL record has an image of the nearly empty page.  Recovery can therefore
 * repair a torn page even if full_page_writes is off, as it can from core's own
 * records of sequences.
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
 * Unlock a page, and flush its record.  A caller that relies on the number must do
 * this even if another session wrote the record.  The sequence stays locked until
 * comb_page_close().
 */
void
comb_page_flush(CombPage *page)
{
	UnlockReleaseBuffer(page->buffer);
	page->buffer = InvalidBuffer;
	COMB_INJECTION_POINT("comb-lease-flush");
	XLogFlush(page->lsn);
}

void
comb_page_close(CombPage *page)
{
	if (BufferIsValid(page->buffer))
		UnlockReleaseBuffer(page->buffer);
	relation_close(page->relation, page->lockmode);
}
