/*-------------------------------------------------------------------------
 *
 * comb_position.c
 *	  Positions of readers that wait for no writer.
 *
 * A reader below comb_settled() stands still behind a transaction that is open
 * for long.  A position lets the reader go on, and come back for the
 * transaction's rows.  It has a bound, an end, the longest gap between the keys of
 * open transactions, and the snapshot of its query:
 *
 *	keys		  |   below the bound	|	...	  |		gap	   |	...	  |	from the end on
 *	the query saw |		  all			|	some  |		all	   |	some  |		 none
 *
 * "All" are all rows that anybody will ever see.  To the next query all rows from
 * the end on are new, and of "some" those whose xmin the snapshot does not see.
 * So a writer that idles in its transaction does not make it read all keys made
 * meanwhile.
 *
 * The snapshot needs the subtransactions in progress, which write their own
 * xids into rows.  pg_current_snapshot() does not have them.
 *
 * The end makes the position survive a crash.  A crash can lose xids that the
 * snapshot saw as committed, if their commit was asynchronous, and the server
 * then gives them out again.  Ordered keys never come again, so a row that is
 * written after the crash has a key beyond the end.
 *
 * The bound also makes xmin unambiguous: a transaction that wrote a row beyond
 * the bound was running when the bound was found, or began later.  Its xid is
 * usually within 2^31 of the snapshot's, and we refuse a position whose snapshot
 * is 2^31 xids old.  So 32 bits of xmin lie within 2^32 of the next xid, and can
 * be completed.  A transaction that has made a key, and has neither an xid nor a
 * snapshot, holds the bound and not the xids: 2^32 xids later rows above the bound
 * come again.  VACUUM FREEZE does not change the xmin that SQL sees.
 *
 * Two readers that share a position wait for each other's lock on it.  The
 * second one then has the first one's position, and a snapshot that may be older.
 * Nothing is new to it, and it keeps the position.  Snapshots of one server
 * run are ordered by xmax and, if that is the same, by what is in progress.
 *
 * Sometimes there is no end, see comb_settled_find().  The query then gets only
 * the new rows below the bound, as comb_position_limit() says.  Its position is
 * the previous one with a larger bound.
 *
 * A position is text: a version, the cluster's system identifier, the
 * database's OID, the bound and, unless it is a key's position, the gap, if there
 * is one, the end, the server's incarnation, and the snapshot as pg_snapshot
 * shows it.  The parentheses show that no xid was cut off.
 *
 *		1 7312345678901234567 16384 0193... 0193.../0193... 0193... 23...4 (740:745:741,743)
 *
 * Copyright (c) 2026, pg_comb developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <ctype.h>
#include <limits.h>

#include "access/detoast.h"
#include "access/xlog.h"
#include "lib/qunique.h"
#include "lib/stringinfo.h"
#include "utils/builtins.h"

#include "comb_order.h"

PG_FUNCTION_INFO_V1(comb_position);
PG_FUNCTION_INFO_V1(comb_position_after);
PG_FUNCTION_INFO_V1(comb_position_bound);
PG_FUNCTION_INFO_V1(comb_position_edge);
PG_FUNCTION_INFO_V1(comb_position_limit);
PG_FUNCTION_INFO_V1(comb_unread_row);

#define COMB_POSITION_VERSION	1

/* Half of the xids that 32 bits tell apart */
#define COMB_XIDS_HALF			(UINT64CONST(1) << 31)

/* A position.  The beginning is all zeros. */
typedef struct CombPosition
{
	pg_uuid_t	bound;
	pg_uuid_t	gap_from;		/* the reader has all rows from here on, */
	pg_uuid_t	gap_to;			/* and below this; the bound if no gap is
								 * known */
	bool		has_end;		/* else all keys from the bound on are new */
	pg_uuid_t	end;
	uint64		incarnation;	/* of the server, when the snapshot was taken */
	uint64		xmin;			/* full xids */
	uint64		xmax;
	int			nxip;
	uint64	   *xip;			/* in their order */
	uint64		next;			/* came next when the position was read */
} CombPosition;

/* What a call site keeps: a position, and the bytes of its text */
typedef struct CombSince
{
	Size		size;
	char	   *since;
	CombPosition position;
} CombSince;

static inline int
comb_key_compare(const pg_uuid_t *a, const pg_uuid_t *b)
{
	return memcmp(a->data, b->data, UUID_LEN);
}

/* Return a copy for the caller of a function */
static Datum
comb_key_datum(const pg_uuid_t *key)
{
	pg_uuid_t  *id = (pg_uuid_t *) palloc(UUID_LEN);

	*id = *key;
	return UUIDPGetDatum(id);
}

static void
comb_key_append(StringInfo out, char before, const pg_uuid_t *key)
{
	appendStringInfo(out, "%c%s", before,
					 DatumGetCString(DirectFunctionCall1(uuid_out,
														 UUIDPGetDatum(key))));
}

/*
 * Raise 22P02 for a text that is no position.  A text that was cut off or mixed up
 * would lose rows.  A digit that is another one goes unnoticed.
 */
static pg_noinline void
comb_position_error(const text *since)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
			 errmsg("invalid position: \"%s\"", comb_clipped(since)),
			 errdetail("It is not a text that comb_position() returned."),
			 errhint("Pass the text unchanged, or make a position of a key by comb_position_after().  NULL and '' are the beginning.")));
}

static char *
comb_position_text(const CombPosition *position)
{
	StringInfoData out;
	int			i;

	initStringInfo(&out);
	appendStringInfo(&out, "%d %llu %u", COMB_POSITION_VERSION,
					 (unsigned long long) GetSystemIdentifier(), MyDatabaseId);
	comb_key_append(&out, ' ', &position->bound);
	if (position->has_end)
	{
		if (comb_key_compare(&position->gap_from, &position->gap_to) < 0)
		{
			comb_key_append(&out, ' ', &position->gap_from);
			comb_key_append(&out, '/', &position->gap_to);
		}
		comb_key_append(&out, ' ', &position->end);
		appendStringInfo(&out, " %llu (%llu:%llu:",
						 (unsigned long long) position->incarnation,
						 (unsigned long long) position->xmin,
						 (unsigned long long) position->xmax);
		for (i = 0; i < position->nxip; i++)
			appendStringInfo(&out, i == 0 ? "%llu" : ",%llu",
							 (unsigned long long) position->xip[i]);
		appendStringInfoChar(&out, ')');
	}
	return out.data;
}

/* Read a number, and skip what ends it */
static uint64
comb_read_number(char **at)
{
	uint64		number = strtoull(*at, at, 10);

	*at += (**at != '\0');
	return number;
}

/* Read a key, and skip what ends it */
static pg_uuid_t
comb_read_key(char **at)
{
	static const char digits[] = "0123456789abcdef-";
	pg_uuid_t	key = {{0}};
	const char *digit;
	int			n = 0;

	for (; **at != '\0'; (*at)++)
	{
		unsigned char *byte = &key.data[n / 2 % UUID_LEN];

		digit = strchr(digits, **at);
		if (digit == NULL)
			break;
		if (*digit == '-')
			continue;
		*byte = (unsigned char) (*byte << 4 | (digit - digits));
		n++;
	}
	*at += (**at != '\0');
	return key;
}

/*
 * Read what follows a position's bound: the gap, if there is one, as from/to, the
 * end, and the snapshot.  False if they are not in order.
 */
static bool
comb_read_end(CombPosition *position, char *at)
{
	uint64		from;
	int			i;

	if (at[strcspn(at, " /")] == '/')
	{
		position->gap_from = comb_read_key(&at);
		position->gap_to = comb_read_key(&at);
	}
	position->end = comb_read_key(&at);
	position->incarnation = comb_read_number(&at);
	at += (*at == '(');
	position->xmin = comb_read_number(&at);
	position->xmax = comb_read_number(&at);
	position->xip = (uint64 *) palloc((strlen(at) / 2 + 1) * sizeof(uint64));
	while (isdigit((unsigned char) *at))
		position->xip[position->nxip++] = comb_read_number(&at);

	from = position->xmin;
	for (i = 0; i < position->nxip && position->xip[i] >= from &&
		 position->xip[i] < position->xmax; i++)
		from = position->xip[i] + 1;
	return i == position->nxip && position->xmin <= position->xmax &&
		comb_key_compare(&position->gap_from, &position->bound) >= 0 &&
		(comb_key_compare(&position->gap_to, &position->bound) == 0 ||
		 comb_key_compare(&position->end, &position->gap_to) >= 0);
}

/*
 * Read a position from text.  The arrays are in the current memory context.  A
 * text is a position only if we would write the same text.  So the parts are read
 * without checks.
 */
static void
comb_position_read(CombPosition *position, const text *since)
{
	char	   *given = text_to_cstring(since);
	char	   *at = given;
	uint64		version;
	uint64		cluster;
	uint64		database;

	memset(position, 0, sizeof(CombPosition));
	if (*given == '\0')
		return;
	version = comb_read_number(&at);
	cluster = comb_read_number(&at);
	database = comb_read_number(&at);
	/* a uuid and a time have other characters */
	if (version == 0 || database == 0 ||
		strspn(given, "0123456789 ") < (size_t) (at - given))
		comb_position_error(since);
	if (version != COMB_POSITION_VERSION)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("position has version %d", (int) Min(version, INT_MAX)),
				 errdetail("This version of pg_comb reads version %d.",
						   COMB_POSITION_VERSION)));
	if (cluster != GetSystemIdentifier() || database != MyDatabaseId)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("position is of another database"),
				 errdetail("It is of database %llu in cluster %llu, and this is database %u in cluster %llu.",
						   (unsigned long long) database,
						   (unsigned long long) cluster, MyDatabaseId,
						   (unsigned long long) GetSystemIdentifier()),
				 errhint("Begin with the last key before which nothing is missing, by comb_position_after().")));
	position->bound = comb_read_key(&at);
	position->gap_from = position->gap_to = position->bound;
	position->has_end = (*at != '\0');
	position->next = comb_next_full_xid();
	if ((position->has_end && !comb_read_end(position, at)) ||
		strcmp(comb_position_text(position), given) != 0)
		comb_position_error(since);
}

/*
 * Return the position in an argument, in which NULL means the beginning.  The
 * call site keeps the last one, since it is nearly always the same for all rows.
 * Long positions may be compressed or stored elsewhere, and are compared as they
 * are: a stored value keeps its place as long as a query may read it.
 */
static CombSince *
comb_since_position(FunctionCallInfo fcinfo, int argno)
{
	CombSince  *kept = (CombSince *) fcinfo->flinfo->fn_extra;
	struct varlena *since;
	CombPosition position;
	Size		xips;

	if (PG_ARGISNULL(argno))
		since = (struct varlena *) cstring_to_text("");
	else
		since = PG_GETARG_RAW_VARLENA_P(argno);
	if (VARATT_IS_EXTERNAL(since) && !VARATT_IS_EXTERNAL_ONDISK(since))
		since = detoast_external_attr(since);
	if (likely(kept != NULL && kept->size == VARSIZE_ANY(since) &&
			   memcmp(kept->since, since, kept->size) == 0))
		return kept;
	comb_position_read(&position, pg_detoast_datum_packed(since));
	if (kept != NULL)
		pfree(kept);
	fcinfo->flinfo->fn_extra = NULL;
	xips = position.nxip * sizeof(uint64);
	kept = (CombSince *)
		MemoryContextAlloc(fcinfo->flinfo->fn_mcxt,
						   sizeof(CombSince) + xips + VARSIZE_ANY(since));
	kept->position = position;
	kept->position.xip = (uint64 *) (kept + 1);
	if (xips > 0)
		memcpy(kept->position.xip, position.xip, xips);
	kept->size = VARSIZE_ANY(since);
	kept->since = (char *) kept->position.xip + xips;
	memcpy(kept->since, since, kept->size);
	fcinfo->flinfo->fn_extra = kept;
	return kept;
}

/*
 * Put the statement's snapshot into a position.  Subtransactions are in an array
 * of their own, which has those that began after the snapshot's xmax, too.  A
 * snapshot has an xid twice while the transaction is being prepared.
 *
 * A snapshot does not have the xids of its own transaction.  The position has
 * them: the transaction may still update a row that is new to the reader, and
 * what it updates must stay new.  So the snapshots of all readers compare, too.
 */
static void
comb_position_take_snapshot(CombPosition *position, Snapshot snapshot)
{
	uint64		next = comb_next_full_xid();
	int			nown = MyProc->subxidStatus.count;
	uint64	   *xip = (uint64 *) palloc((snapshot->xcnt + snapshot->subxcnt +
										 nown + 1) * sizeof(uint64));
	TransactionId own = GetTopTransactionIdIfAny();
	int			n = 0;
	int			i;

	if (TransactionIdIsValid(own) &&
		TransactionIdPrecedes(own, snapshot->xmax))
		xip[n++] = comb_full_xid(own, next);
	for (i = 0; i < nown; i++)
	{
		if (TransactionIdPrecedes(MyProc->subxids.xids[i], snapshot->xmax))
			xip[n++] = comb_full_xid(MyProc->subxids.xids[i], next);
	}

	for (i = 0; i < (int) snapshot->xcnt; i++)
		xip[n++] = comb_full_xid(snapshot->xip[i], next);
	for (i = 0; i < snapshot->subxcnt; i++)
	{
		if (TransactionIdPrecedes(snapshot->subxip[i], snapshot->xmax))
			xip[n++] = comb_full_xid(snapshot->subxip[i], next);
	}
	qsort(xip, n, sizeof(uint64), comb_compare_numbers);
	n = (int) qunique(xip, n, sizeof(uint64), comb_compare_numbers);
	position->xip = xip;
	position->nxip = n;
	position->xmax = comb_full_xid(snapshot->xmax, next);
	position->xmin = n > 0 ? xip[0] : position->xmax;
}

/*
 * comb_position(previous text) returns text: the position of a reader that has
 * got the rows of the calling statement with comb_unread(id, xmin, previous).
 * Raises the errors of comb_settled() and comb_unread_row().
 */
Datum
comb_position(PG_FUNCTION_ARGS)
{
	CombSettled settled;
	CombPosition previous;
	CombPosition position;
	pg_uuid_t  *bound;

	comb_settled_find(COMB_SERIES_ORDERED, &settled);
	previous = comb_since_position(fcinfo, 0)->position;
	position = previous;
	if (settled.end != 0)
	{
		position.has_end = true;
		position.end = *comb_settled_key(settled.end);
		position.gap_from = *comb_settled_key(settled.gap.from);
		position.gap_to = *comb_settled_key(settled.gap.to);
		position.incarnation = comb_database->incarnation;
		comb_position_take_snapshot(&position, comb_settled_snapshot());
		/* a snapshot that is older, from the same run, has nothing new */
		if (previous.has_end && position.incarnation == previous.incarnation &&
			(position.xmax < previous.xmax ||
			 (position.xmax == previous.xmax && position.nxip > previous.nxip)))
			position = previous;
	}
	bound = comb_settled_key(settled.bound);
	if (comb_key_compare(&position.bound, bound) < 0)
		position.bound = *bound;
	/* a gap that lies below the bound is then none */
	if (comb_key_compare(&position.gap_from, &position.bound) < 0)
		position.gap_from = position.bound;
	PG_RETURN_TEXT_P(cstring_to_text(comb_position_text(&position)));
}

/*
 * comb_position_after(id uuid) returns text: the position of a reader that needs
 * no rows up to a key.  Raises 22003 for the largest uuid.
 */
Datum
comb_position_after(PG_FUNCTION_ARGS)
{
	CombPosition position = {.has_end = false};
	int			i = UUID_LEN - 1;

	position.bound = *PG_GETARG_UUID_P(0);
	while (i >= 0 && ++position.bound.data[i] == 0)
		i--;
	if (i < 0)
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("no key comes after this one")));
	PG_RETURN_TEXT_P(cstring_to_text(comb_position_text(&position)));
}

/*
 * comb_position_bound(since text) returns uuid: a reader at the position has got
 * all rows with smaller keys.  The nil uuid for the beginning.
 */
Datum
comb_position_bound(PG_FUNCTION_ARGS)
{
	return comb_key_datum(&comb_since_position(fcinfo, 0)->position.bound);
}

/*
 * comb_position_edge(since text, edge int) returns uuid: the key at which the rows
 * end that a reader at a position needs (1), or at which they begin again (2).
 * Without a gap both are the bound.  NULL for other numbers.
 */
Datum
comb_position_edge(PG_FUNCTION_ARGS)
{
	int			edge = PG_ARGISNULL(1) ? 0 : PG_GETARG_INT32(1);
	CombPosition *position = &comb_since_position(fcinfo, 0)->position;

	if (edge != 1 && edge != 2)
		PG_RETURN_NULL();
	return comb_key_datum(edge == 1 ? &position->gap_from : &position->gap_to);
}

/*
 * comb_position_limit() returns uuid: a key at which the calling statement must
 * stop.  This is the largest uuid, or comb_settled() if the statement can have no
 * position with an end.  Once the transaction has made a key, it is the end: a
 * function's commands see rows of the command that called it, and these come
 * again from the end on.
 */
Datum
comb_position_limit(PG_FUNCTION_ARGS)
{
	CombSettled settled;
	pg_uuid_t  *limit;

	comb_settled_find(COMB_SERIES_ORDERED, &settled);
	limit = comb_settled_key(Max(settled.bound, settled.end));
	if (settled.end != 0 && comb_own_seat[COMB_SERIES_ORDERED] == NULL)
		memset(limit, 0xff, UUID_LEN);
	PG_RETURN_UUID_P(limit);
}

/*
 * Is a row with this key and xmin new to a reader at the position?  Xids below
 * those of normal transactions are those of the first rows of the cluster.
 *
 * An xid that seems to be older than half of all may have been given out since
 * "next" was read.  Reading "next" takes a lock, so we do not for each row.
 */
static bool
comb_is_unread(CombPosition *position, const pg_uuid_t *key,
			   TransactionId xmin)
{
	uint64		fxid;

	if (unlikely(!TransactionIdIsValid(xmin)))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot tell whether a row with xmin 0 is new"),
				 errdetail("Rows of foreign tables have no xmin."),
				 errhint("Run the query on the server that stores the rows.")));
	if (comb_key_compare(key, &position->bound) < 0)
		return false;
	if (!position->has_end || comb_key_compare(key, &position->end) >= 0)
		return true;
	if (!TransactionIdIsNormal(xmin))
		return false;
	if ((uint32) position->next - xmin >= COMB_XIDS_HALF)
		position->next = comb_next_full_xid();
	fxid = comb_full_xid(xmin, position->next);
	return fxid >= position->xmax ||
		(fxid >= position->xmin && position->nxip > 0 &&
		 bsearch(&fxid, position->xip, position->nxip, sizeof(uint64),
				 comb_compare_numbers) != NULL);
}

/*
 * comb_unread_row(id uuid, xmin xid, since text) returns boolean: is a row that the
 * calling statement sees new since a position?  NULL and '' are the beginning,
 * since when all rows are new.  Raises 22P02 for text that is no position, 0A000
 * for one of another version and for xmin 0, 22023 for one of another database,
 * and 55000 if 32 bits of an xid no longer tell on which side of it they lie.
 *
 * Readers call comb_unread(), which adds the bound and the limit.
 */
Datum
comb_unread_row(PG_FUNCTION_ARGS)
{
	CombPosition *position = &comb_since_position(fcinfo, 2)->position;

	if (position->has_end &&
		unlikely(position->next >= position->xmin + COMB_XIDS_HALF))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("position is too old"),
				 errdetail("%llu transactions have begun since, and 2147483648 are too many.",
						   (unsigned long long) (position->next - position->xmin)),
				 errhint("Begin again with a key, by comb_position_after().  The bound of this position is in comb_position_bound().")));
	if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
		PG_RETURN_NULL();
	PG_RETURN_BOOL(comb_is_unread(position, PG_GETARG_UUID_P(0),
								  PG_GETARG_TRANSACTIONID(1)));
}
