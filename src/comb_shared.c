/*-------------------------------------------------------------------------
 *
 * comb_shared.c
 *	  Order that survives: keys that increase across all sessions of a server,
 *	  and across restart, crash, failover and a clock set back.
 *
 * The shared word.  Every key takes the time
 *
 *		last = max(now, last + 1)
 *
 * from one 64-bit word by compare-and-swap.  There is no lock: whoever loses
 * the race tries again with a word that somebody else has moved forward.  So
 * a key is larger than every key whose making ended before its own began.
 *
 * The lease.  Shared memory does not survive a crash, and the clock cannot be
 * trusted after one.  So no key is handed out whose time is not below a limit
 * that is in the WAL already, and a server starts beyond the limit that it
 * finds.  The limit is last_value of a sequence of the extension, in us since
 * 1970, written by generic WAL onto the sequence's only page: a documented
 * interface that needs no preloaded library, neither now nor at recovery, no
 * transaction id, nothing of a read-only transaction, and that reaches crash
 * recovery, standbys, base backups, copies of a database, pg_upgrade and, as
 * an extension's configuration, pg_dump.  It costs one record of some 60
 * bytes and one flush per pg_comb.lease.  setval() instead is refused in
 * read-only transactions, needs an xid and can lose a race.  A commit that
 * contains a key is later in the WAL than the lease that covers it; the flush
 * is for keys that a client sees before any commit.
 *
 * Whose lease?  A limit found on the page must be stepped over if an earlier
 * life of the server wrote it, but not if a session of this one did, or each
 * new session would push the word one lease ahead of the clock.  So shared
 * memory holds a random number, its life, and the page says in which life its
 * limit was written.  The place for that is log_cnt, which nextval() alone
 * uses and nobody calls here.  Everything that moves last_value without our
 * knowledge also changes log_cnt or comes with another life: setval() by a
 * restore, promotion, a cloned data directory.
 *
 * What a process may rely on:
 * - words only grow, but for comb_ordered_reset(), which gives shared memory
 *	 a new life first;
 * - the page is read and written under the buffer's exclusive lock and a
 *	 RowExclusiveLock on the sequence; comb_ordered_reset() locks those out;
 * - within a life the limit on a page only grows.
 *
 * Shared memory has 512 bytes: little enough to be allocated when first used,
 * so that the module need not be preloaded.
 *
 * Copyright (c) 2026, pg_comb developers
 *
 * IDENTIFICATION
 *	  src/comb_shared.c
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
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "utils/array.h"
#include "utils/fmgroids.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/timestamp.h"
#include "utils/uuid.h"

#include "comb.h"
#include "comb_shared.h"

PG_FUNCTION_INFO_V1(comb_generate_ordered);
PG_FUNCTION_INFO_V1(comb_ordered_reset);

CombShared *comb_shared = NULL;
CombLease	comb_leases[COMB_LINES];

/*
 * A restart takes a line ahead of the clock by one lease, and so does the
 * reset of another database, whose new life makes limits foreign.
 */
#define COMB_KEPT_LEASES	4

/*
 * The layout of CombShared is part of the segment's name: after an update, a
 * running server has the segment of the old module, and one with another
 * size under the same name would be an error in every new session.
 */
#define COMB_SEGMENT_NAME	"pg_comb 1"

/* Sequences of the extension: a lease for each line, and the last claim */
static const char *const comb_sequence_names[COMB_SEQUENCES] = {
	[COMB_LINE_ORDERED] = "comb_lease_ordered",
	[COMB_LINE_SNOWFLAKE] = "comb_lease_snowflake",
	[COMB_LINE_SLOW] = "comb_lease_snowflake_slow",
	[COMB_SEQUENCE_CLAIM] = "comb_snowflake_claimed"
};

static Oid	comb_sequence_oids[COMB_SEQUENCES];

/* Called once in the life of the segment, by whoever asks for it first */
static void
comb_shared_init(COMB_SEGMENT_INIT_PARAMS)
{
	CombShared *shared = (CombShared *) segment;
	int			line;

	pg_atomic_init_u64(&shared->life.value, COMB_LIFE_NONE);
	for (line = 0; line < COMB_LINES; line++)
		pg_atomic_init_u64(&shared->last[line].value, 0);
}

#ifdef COMB_SHMEM_RESERVED
static comb_shmem_hook comb_next_shmem_request;

static void
comb_shmem_request(void)
{
	if (comb_next_shmem_request)
		comb_next_shmem_request();
	RequestAddinShmemSpace(sizeof(CombShared));
}
#endif

/*
 * Called while the module is being preloaded.  Servers that have no registry
 * of shared memory keep some unreserved, from which the segment can always be
 * had as long as other modules leave some; reserved, it is certain.  It is
 * made at first use in either case.
 */
void
comb_shared_preload(void)
{
#ifdef COMB_SHMEM_RESERVED
	COMB_RESERVE_SHMEM(comb_shmem_request, comb_next_shmem_request);
#endif
}

static uint64
comb_new_life(void)
{
	uint64		life = comb_random_bits();

	/* shown as log_cnt, where a negative number would look like damage */
	return (life >> 1) | (COMB_LIFE_ENDING + 1);
}

/*
 * Give shared memory a life if nobody has.  Not in comb_shared_init(), which
 * must not fail, as drawing random bytes may.
 */
static void
comb_shared_attach(void)
{
	CombShared *shared = comb_shared;

	if (shared == NULL)
	{
		uint64		none = COMB_LIFE_NONE;

		shared = comb_get_segment(COMB_SEGMENT_NAME, sizeof(CombShared),
								  comb_shared_init);
		if (pg_atomic_read_u64(&shared->life.value) == COMB_LIFE_NONE)
			(void) pg_atomic_compare_exchange_u64(&shared->life.value, &none,
												  comb_new_life());
		comb_shared = shared;
	}
}

/* Raise a word to at least "floor" */
static void
comb_word_raise(CombLine line, uint64 floor)
{
	pg_atomic_uint64 *word = &comb_shared->last[line].value;
	uint64		last = pg_atomic_read_u64(word);

	while (last < floor &&
		   !pg_atomic_compare_exchange_u64(word, &last, floor))
		;
}

/* A sequence of ours was altered, moved or dropped, here or elsewhere */
static void
comb_sequences_forget(Datum arg, Oid relid)
{
	int			i;

	for (i = 0; i < COMB_SEQUENCES; i++)
	{
		if (relid == InvalidOid || relid == comb_sequence_oids[i])
		{
			comb_sequence_oids[i] = InvalidOid;
			if (i < COMB_LINES)
				comb_leases[i].life = COMB_LIFE_NONE;
		}
	}
}

/* The relation of that name in an array of relations */
static Oid
comb_relation_named(ArrayType *relations, const char *name)
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
 * Look a sequence up among those that the extension's script has declared to
 * be dumped.  The extension's schema can be changed at any time, a name alone
 * would be searched for along a path that the caller chooses, and the
 * extension's owner can make any sequence a member, of the same name too.
 */
static Oid
comb_sequence_find(int sequence)
{
	static bool registered = false;
	Oid			found = InvalidOid;
	Relation	extensions;
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;

	if (!registered)
	{
		CacheRegisterRelcacheCallback(comb_sequences_forget, (Datum) 0);
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
			found = comb_relation_named(DatumGetArrayTypeP(config),
										comb_sequence_names[sequence]);
	}
	systable_endscan(scan);
	table_close(extensions, AccessShareLock);
	return found;
}

/*
 * The sequence opened and locked, or NULL where there is none (any more).
 * Any access to a catalog, and locking, can make us forget the sequences, so
 * what was found is remembered when it is locked: what changes it from then
 * on will be heard of.  What was remembered or found can be gone when it is
 * locked, and another one be there: then the search begins again.
 */
static Relation
comb_sequence_open(int sequence, LOCKMODE lockmode)
{
	for (;;)
	{
		Oid			oid = comb_sequence_oids[sequence];
		Relation	relation;

		if (!OidIsValid(oid))
			oid = comb_sequence_find(sequence);
		if (!OidIsValid(oid))
			return NULL;
		relation = try_relation_open(oid, lockmode);
		comb_sequence_oids[sequence] = relation != NULL ? oid : InvalidOid;
		if (relation != NULL)
			return relation;
	}
}

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
 * The place behind the columns of the sequence's tuple where the value stands
 * a second time.  setval() and ALTER SUBSCRIPTION ... REFRESH SEQUENCES write
 * the columns only, and log the tuple in its whole length, so what has been
 * promised stays there, and a smaller last_value takes nothing back.  The
 * rest of the page would not do: recovery makes it anew from the tuple.
 */
static inline Size
comb_promise_offset(HeapTupleHeader tuple)
{
	return tuple->t_hoff + sizeof(FormData_pg_sequence_data);
}

static inline Size
comb_promise_end(HeapTupleHeader tuple)
{
	return comb_promise_offset(tuple) + sizeof(int64);
}

/* The value on a page: last_value or, if larger, what was promised */
static int64
comb_page_value(Page page, uint64 *life)
{
	Size		length;
	HeapTupleHeader tuple = comb_page_tuple(page, &length);
	Form_pg_sequence_data data;
	int64		promised = 0;

	data = (Form_pg_sequence_data) ((char *) tuple + tuple->t_hoff);
	if (length >= comb_promise_end(tuple))
		memcpy(&promised, (char *) tuple + comb_promise_offset(tuple),
			   sizeof(promised));
	*life = (uint64) data->log_cnt;
	return Max(data->last_value, promised);
}

/*
 * Lock a sequence and its page for a change.  "page" is what there is now;
 * comb_page_write() may follow, and comb_page_close() must.
 */
void
comb_page_open(CombPage *page, int sequence, LOCKMODE lockmode)
{
	if (RecoveryInProgress())
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("ordered keys and Snowflakes cannot be made on a standby"),
				 errdetail("They need a time limit in the write-ahead log."),
				 errhint("Make them on the primary, or use comb_generate(), which works on every server.")));
	comb_shared_attach();
	page->relation = comb_sequence_open(sequence, lockmode);
	if (page->relation == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("sequence \"%s\" of extension pg_comb does not exist",
						comb_sequence_names[sequence]),
				 errhint("Create the extension in this database.")));
	page->lockmode = lockmode;
	page->buffer = ReadBuffer(page->relation, 0);
	LockBuffer(page->buffer, BUFFER_LOCK_EXCLUSIVE);
	page->value = comb_page_value(BufferGetPage(page->buffer), &page->life);
}

/* Make room behind the columns, which a new sequence's tuple has not */
static HeapTupleHeader
comb_page_lengthen(Page page)
{
	Size		length;
	HeapTupleHeader tuple = comb_page_tuple(page, &length);
	Size		end = comb_promise_end(tuple);

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
 * The record has an image of the page, which is nearly empty: 200 bytes
 * instead of 60, and a page that was torn when the server crashed is whole
 * again also with full_page_writes off, as with core's own records of
 * sequences.  The buffer is marked dirty before GenericXLogFinish() does it,
 * which before 13.13, 14.10, 15.5 and 16.1 came after the record: a checkpoint
 * in between would have left the page behind.
 */
void
comb_page_write(CombPage *page, int64 value, uint64 life)
{
	GenericXLogState *state = GenericXLogStart(page->relation);
	HeapTupleHeader tuple;
	Form_pg_sequence_data data;

	tuple = comb_page_lengthen(GenericXLogRegisterBuffer(state, page->buffer,
														 GENERIC_XLOG_FULL_IMAGE));
	memcpy((char *) tuple + comb_promise_offset(tuple), &value, sizeof(value));
	data = (Form_pg_sequence_data) ((char *) tuple + tuple->t_hoff);
	data->last_value = value;
	data->log_cnt = (int64) life;
	data->is_called = true;
	MarkBufferDirty(page->buffer);
	GenericXLogFinish(state);
	page->value = value;
	page->life = life;
}

/*
 * The flush is also for what another session wrote and has not flushed yet,
 * because this one is about to rely on it.
 */
void
comb_page_close(CombPage *page)
{
	XLogRecPtr	lsn = PageGetLSN(BufferGetPage(page->buffer));

	UnlockReleaseBuffer(page->buffer);
	COMB_INJECTION_POINT("comb-lease-flush");
	XLogFlush(lsn);
	relation_close(page->relation, page->lockmode);
}

/* Microseconds since 1970 of the clock, and an instant for messages */
static int64
comb_clock_us(void)
{
	return comb_word_to_us(COMB_LINE_ORDERED, comb_clock_ticks());
}

static char *
comb_us_text(int64 us)
{
	return comb_time_text(us + COMB_UNIX_EPOCH);
}

/* The life of shared memory; between two of them are four stores */
static uint64
comb_current_life(void)
{
	uint64		life;

	while ((life = pg_atomic_read_u64(&comb_shared->life.value)) ==
		   COMB_LIFE_ENDING)
		pg_usleep(1L);
	return life;
}

/* The last time that ordered keys may have, in us; words end in the year 4199 */
static int64
comb_latest_us(int64 now)
{
	return Min(now + comb_max_ordered_drift * COMB_US_PER_S, COMB_US_MAX);
}

/*
 * Step over a limit that another life of the server left behind, unless that
 * is further ahead of the clock than keys may be.  Then the word stays as it
 * is: it is also that of other databases, whose limits may be all right.  A
 * clock too far beyond the limit is refused here as well, because the word
 * may come from a database without keys, which takes any clock.
 */
static void
comb_lease_adopt(CombLine line, int64 limit)
{
	int64		now = comb_clock_us();

	if (limit > 0 && limit < now)
		comb_check_leap(line, comb_word_from_us(line, limit),
						comb_word_from_us(line, now));
	if (limit < 0 || limit > comb_latest_us(now))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("keys were made in this database under a clock too far ahead"),
				 errdetail("They can have times up to %s, and the clock now is %s; pg_comb.max_ordered_drift allows keys to be %d s ahead.",
						   comb_us_text(limit), comb_us_text(now),
						   comb_max_ordered_drift),
				 errhint("Correct the server's clock, raise pg_comb.max_ordered_drift, or have comb_ordered_reset() called in this database.")));
	comb_word_raise(line, comb_word_from_us(line, limit));
}

/*
 * Learn the lease of a line, or prolong it beyond "last", a time just taken
 * from the word and not handed out yet; 0 for none.  Returns the time, or 0
 * if it must be given up: because it is not beyond what an earlier life
 * handed out, or was taken in a life that has ended since.
 */
uint64
comb_lease_renew(CombLine line, uint64 last)
{
	CombPage	page;
	CombLease	lease;
	uint64		taken_in = comb_leases[line].life;
	bool		foreign;

	comb_leases[line].life = COMB_LIFE_NONE;
	if (last != 0)
		COMB_INJECTION_POINT("comb-lease-renew");
	comb_page_open(&page, line, RowExclusiveLock);
	lease.life = comb_current_life();
	if (lease.life != taken_in)
		last = 0;
	foreign = (page.life != lease.life);
	if (foreign && (page.value < 0 || page.value > COMB_US_MAX ||
					last <= comb_word_from_us(line, page.value)))
	{
		comb_lease_adopt(line, page.value);
		lease.limit = 0;
		last = 0;
	}
	else
	{
		if (last != 0 &&
			(foreign || last >= comb_word_from_us(line, page.value)))
			comb_page_write(&page,
							comb_word_to_us(line, last) +
							comb_lease_ms * COMB_US_PER_MS,
							lease.life);
		lease.limit = comb_word_from_us(line, page.value);
	}
	comb_page_close(&page);
	comb_leases[line] = lease;
	return last;
}

void
comb_drift_error(CombLine line, uint64 next, uint64 now)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("the next key would be too far ahead of the clock"),
			 errdetail("Its time would be %s, and the clock now is %s; pg_comb.max_ordered_drift allows keys to be %d s ahead.",
					   comb_us_text(comb_word_to_us(line, next)),
					   comb_us_text(comb_word_to_us(line, now)),
					   comb_max_ordered_drift),
			 errhint("Correct the server's clock, raise pg_comb.max_ordered_drift, or have comb_ordered_reset() called if keys were made under a clock far ahead.")));
}

void
comb_leap_error(CombLine line, uint64 last, uint64 now)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("the clock is more than ten years ahead of the last key"),
			 errdetail("The time of the last key or of the limit for it was %s, and the clock now is %s.",
					   comb_us_text(comb_word_to_us(line, last)),
					   comb_us_text(comb_word_to_us(line, now))),
			 errhint("Correct the server's clock, or have comb_ordered_reset() called if the clock is right.")));
}

/* max(now, last + 1), taken from the word */
static inline uint64
comb_ordered_step(void)
{
	pg_atomic_uint64 *word = &comb_shared->last[COMB_LINE_ORDERED].value;
	uint64		now = comb_clock_ticks();
	uint64		last = pg_atomic_read_u64(word);
	uint64		next;

	do
	{
		if (likely(now > last))
		{
			comb_check_leap(COMB_LINE_ORDERED, last, now);
			next = now;
		}
		else
		{
			next = last + 1;
			comb_check_drift(COMB_LINE_ORDERED, next, now);
		}
	} while (!pg_atomic_compare_exchange_u64(word, &last, next));
	return next;
}

/*
 * comb_generate_ordered() returns uuid
 *
 * A new UUIDv7 (RFC 9562, 5.7), larger than every one that any session of
 * this server was given by this function before the call, across restart,
 * crash, failover and a clock set back.  55000 on a standby, where the clock
 * is behind by more than pg_comb.max_ordered_drift, and where it has leapt
 * ahead by ten years.
 *
 * PARALLEL RESTRICTED, although a worker could do it: marked safe, it would
 * be evaluated below a Gather Merge, and the keys of sorted rows would not be
 * in the order of the rows.
 */
Datum
comb_generate_ordered(PG_FUNCTION_ARGS)
{
	uint64		last = 0;
	pg_uuid_t  *id;

	for (;;)
	{
		if (likely(comb_lease_known(COMB_LINE_ORDERED)))
		{
			if (likely(last == 0))
				last = comb_ordered_step();
			if (likely(comb_lease_covers(COMB_LINE_ORDERED, last)))
				break;
		}
		last = comb_lease_renew(COMB_LINE_ORDERED, last);
	}

	id = (pg_uuid_t *) palloc(UUID_LEN);
	comb_v7_write(id->data, last >> COMB_TICK_BITS, last & COMB_TICK_MASK,
				  comb_random_bits());
	PG_RETURN_UUID_P(id);
}

/*
 * End the life of shared memory, and tell which one it was.  Until the next
 * one begins, which must not be long, nobody relies on a lease and nobody
 * learns one.
 */
static uint64
comb_life_end(void)
{
	uint64		life;

	do
		life = comb_current_life();
	while (!pg_atomic_compare_exchange_u64(&comb_shared->life.value, &life,
										   COMB_LIFE_ENDING));
	return life;
}

static void
comb_life_begin(uint64 life)
{
	pg_memory_barrier();
	pg_atomic_write_u64(&comb_shared->life.value, life);
}

/*
 * Set the words to "us", or to the clock where that is later, and begin a new
 * life.  Whoever has moved a word looks at the life afterwards, sees that it
 * is over, and drops the time.  The clock is read once that is so: it is then
 * beyond all times taken from it before.
 */
static void
comb_shared_restart(const int64 *us, uint64 life)
{
	int64		now;
	int			line;

	(void) comb_life_end();
	COMB_INJECTION_POINT("comb-reset-words");
	now = GetCurrentTimestamp() - COMB_UNIX_EPOCH + 1;
	for (line = 0; line < COMB_LINES; line++)
		pg_atomic_write_u64(&comb_shared->last[line].value,
							comb_word_from_us(line, Max(us[line], now)));
	comb_life_begin(life);
}

/*
 * Lock the limits of all lines, before any of them is changed: this can wait
 * for others, and be cancelled.
 */
static void
comb_lines_lock(Oid *sequences)
{
	int			line;

	for (line = 0; line < COMB_LINES; line++)
	{
		CombPage	page;

		comb_page_open(&page, line, ShareRowExclusiveLock);
		sequences[line] = RelationGetRelid(page.relation);
		page.lockmode = NoLock; /* kept for now */
		comb_page_close(&page);
	}
}

/*
 * Where a line continues after a reset to "us".  One that is ahead by no more
 * than what restarts and resets in other databases leave is not set back:
 * nothing would be gained, and Snowflakes would repeat that were made under a
 * clock that was right.  A limit of an earlier life counts as well, because
 * nobody may have stepped over it yet, and is ahead of the keys by the lease of
 * its time.  A limit of the life that "ended" is ahead of the word only by
 * what nobody has used.
 */
static int64
comb_line_continues(CombLine line, int64 us, const CombPage *page, uint64 ended)
{
	uint64		word = pg_atomic_read_u64(&comb_shared->last[line].value);
	int64		last = comb_word_to_us(line, word) + 1;
	int64		kept = COMB_KEPT_LEASES * comb_lease_ms * COMB_US_PER_MS;

	if (page->life != ended && page->value > last)
	{
		last = page->value;
		kept += COMB_LEASE_MAX_MS * COMB_US_PER_MS;
	}
	return last - us <= kept ? Max(last, us) : us;
}

/*
 * comb_ordered_reset(at timestamptz)
 *
 * Let the ordered keys and Snowflakes of the server continue after "at", or
 * after the clock where that is later, although larger ones were made: for
 * the time after a clock that was far ahead; a line that is no more than
 * COMB_KEPT_LEASES ahead stays where it is.  This database's limits are set
 * back too.  Another database whose limit is too far ahead still refuses to
 * make keys, until it is called there.  22008 for a time further ahead of the
 * clock than pg_comb.max_ordered_drift, 55000 on a standby.
 *
 * The limits are locked until the new life has begun.  Otherwise a session
 * could write, in between, the limit of a key from before.  And while they
 * are written there is a life in between, which no page knows, so that all
 * sessions wait for the locks: a key of a larger limit, learned before, would
 * not be covered by the page any more.  Should the writing fail, sessions
 * step over whatever they find, from words that are as they were.
 */
Datum
comb_ordered_reset(PG_FUNCTION_ARGS)
{
	TimestampTz at = PG_GETARG_TIMESTAMPTZ(0);
	int64		now = comb_clock_us();
	int64		us[COMB_LINES];
	Oid			locked[COMB_LINES];
	uint64		between = comb_new_life();
	uint64		life = comb_new_life();
	uint64		ended;
	int			line;

	if (at > comb_latest_us(now) + COMB_UNIX_EPOCH)
		ereport(ERROR,
				(errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
				 errmsg("time too far ahead of the clock"),
				 errdetail("pg_comb.max_ordered_drift allows times up to %s.",
						   comb_us_text(comb_latest_us(now)))));

	comb_lines_lock(locked);
	HOLD_INTERRUPTS();
	ended = comb_life_end();
	comb_life_begin(between);
	now = Max(at - COMB_UNIX_EPOCH, comb_clock_us());
	for (line = 0; line < COMB_LINES; line++)
	{
		CombPage	page;

		comb_page_open(&page, line, ShareRowExclusiveLock);
		us[line] = comb_line_continues(line, now, &page, ended);
		comb_page_write(&page, us[line] + comb_lease_ms * COMB_US_PER_MS,
						life);
		comb_page_close(&page);
	}
	comb_shared_restart(us, life);
	RESUME_INTERRUPTS();
	for (line = 0; line < COMB_LINES; line++)
		UnlockRelationOid(locked[line], ShareRowExclusiveLock);
	PG_RETURN_VOID();
}

/* The limit on a line's page, false where the extension has lost it */
static bool
comb_lease_peek(CombLine line, int64 *limit)
{
	Relation	relation = comb_sequence_open(line, AccessShareLock);
	Buffer		buffer;
	uint64		life;

	if (relation == NULL)
		return false;
	buffer = ReadBuffer(relation, 0);
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	*limit = comb_page_value(BufferGetPage(buffer), &life);
	UnlockReleaseBuffer(buffer);
	relation_close(relation, AccessShareLock);
	return true;
}

/*
 * The server's part of comb_clock_status(): time of the last key, its
 * distance from the clock and the limit in this database, for ordered keys
 * and for the Snowflakes that are further ahead.  NULL where there is none.
 */
void
comb_shared_status(int64 now, Datum *values, bool *nulls)
{
	int			line;

	comb_shared_attach();
	memset(nulls, true, COMB_STATUS_COLUMNS * sizeof(bool));
	for (line = COMB_LINES - 1; line >= 0; line--)
	{
		int			column = (line == COMB_LINE_ORDERED) ? 0 : 3;
		uint64		word = pg_atomic_read_u64(&comb_shared->last[line].value);
		TimestampTz last = comb_word_to_us(line, word) + COMB_UNIX_EPOCH;
		int64		limit;

		if (word != 0 && (nulls[column] ||
						  last > DatumGetTimestampTz(values[column])))
		{
			Interval   *ahead = (Interval *) palloc0(sizeof(Interval));

			ahead->time = Max(last - now, 0);
			values[column] = TimestampTzGetDatum(last);
			values[column + 1] = IntervalPGetDatum(ahead);
			nulls[column] = nulls[column + 1] = false;
		}
		if (comb_lease_peek(line, &limit) && limit > 0 && limit <= COMB_US_MAX &&
			(nulls[column + 2] ||
			 limit + COMB_UNIX_EPOCH > DatumGetTimestampTz(values[column + 2])))
		{
			values[column + 2] = TimestampTzGetDatum(limit + COMB_UNIX_EPOCH);
			nulls[column + 2] = false;
		}
	}
}
