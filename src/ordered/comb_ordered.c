/*-------------------------------------------------------------------------
 *
 * comb_ordered.c
 *	  Keys that increase across all sessions of a database, even after a
 *	  restart, a crash, a failover, or when the clock is set back.
 *
 * Every key takes the time
 *
 *		last = max(now, last + 1)
 *
 * from a counter in shared memory by compare-and-swap.  There is no lock: a
 * session that loses the race tries again with the counter that another
 * session has advanced.  If a call returned before another one began, the
 * later one's key is therefore larger.  comb_lease.c makes the order survive
 * the loss of shared memory.
 *
 * Copyright (c) 2026, pg_comb developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "commands/trigger.h"
#include "executor/spi.h"
#include "utils/inval.h"
#include "utils/rel.h"

#include "comb_take.h"

PG_FUNCTION_INFO_V1(comb_generate_ordered);
PG_FUNCTION_INFO_V1(comb_ordered_key);
PG_FUNCTION_INFO_V1(comb_ordered_reset);

/*
 * A reset does not lower a limit that is at most this far ahead of the time
 * asked for: five of the longest leases.  Restarts alone can put a limit that
 * far ahead.  To lower it would gain nothing, and Snowflakes made while the
 * clock was right would repeat.  A limit beyond pg_comb.max_ordered_drift is
 * lowered all the same, because no key could be made after the restart.
 */
#define COMB_KEPT_US		(5 * COMB_LEASE_MAX_MS * COMB_US_PER_MS)

/*
 * Take max(now, last + 1) from the counter.
 *
 * Readers with positions have to know how far the times of the transaction
 * reach.  So "latest" of our seat is COMB_TAKING before the compare-and-swap, and
 * the time after it: it is never below a time that we have taken and that the
 * reader has found in the counter.
 */
static inline CombTime
comb_ordered_step(void)
{
	pg_atomic_uint64 *counter = comb_counter(COMB_SERIES_ORDERED);
	pg_atomic_uint64 *latest = &comb_own_seat[COMB_SERIES_ORDERED]->latest;
	CombTime	now = comb_clock_time();
	CombTime	last = pg_atomic_read_u64(counter);
	CombTime	next;

	pg_atomic_write_u64(latest, COMB_TAKING);
	do
	{
		if (likely(now > last))
		{
			comb_check_jump(last, now);
			next = now;
		}
		else
		{
			next = last + 1;
			comb_check_drift(next, now);
		}
	} while (!pg_atomic_compare_exchange_u64(counter, &last, next));
	COMB_INJECTION_POINT("comb-lease-taken");
	pg_atomic_write_u64(latest, next);
	return next;
}

/*
 * Return a new UUIDv7 (RFC 9562, 5.7).  Raises 55000 if the clock is behind by
 * more than pg_comb.max_ordered_drift, and if it jumped ahead by ten years.
 * Raises 25006 in a read-only transaction, although no transaction id is needed:
 * so a standby and a read-only session behave alike.
 */
static inline Datum
comb_ordered_make(void)
{
	CombTime	at;
	pg_uuid_t  *id;

	PreventCommandIfReadOnly("comb_generate_ordered()");
	do
	{
		comb_lease_begin(COMB_SERIES_ORDERED);
		at = comb_ordered_step();
	} while (!comb_lease_covers(COMB_SERIES_ORDERED, at));
	id = (pg_uuid_t *) palloc(UUID_LEN);
	comb_v7_write_time(id->data, at, comb_random());
	return UUIDPGetDatum(id);
}

/*
 * comb_generate_ordered() returns uuid: a new key, see comb_ordered_make().
 *
 * PARALLEL RESTRICTED.  The planner would evaluate a safe function below a
 * Gather Merge, and the keys of sorted rows would not be in the order of the
 * rows.  A worker raises 25000: its transaction ends before the leader's, so
 * comb_settled() could not tell when the keys become visible.
 */
Datum
comb_generate_ordered(PG_FUNCTION_ARGS)
{
	return comb_ordered_make();
}

/*
 * comb_ordered_key(column) returns trigger: gives the row a new key in a column of
 * type uuid, whatever the row has there.  For triggers BEFORE INSERT or UPDATE, FOR
 * EACH ROW.  Raises 39P01 in any other place and without one argument, 42703 if
 * the table has no such column, and the errors of comb_ordered_make().
 */
Datum
comb_ordered_key(PG_FUNCTION_ARGS)
{
	TriggerData *data = (TriggerData *) fcinfo->context;
	TupleDesc	columns;
	const char *name;
	int			number;
	Datum		key;
	bool		isnull = false;

	if (!CALLED_AS_TRIGGER(fcinfo) ||
		!TRIGGER_FIRED_BEFORE(data->tg_event) ||
		!TRIGGER_FIRED_FOR_ROW(data->tg_event) ||
		TRIGGER_FIRED_BY_DELETE(data->tg_event) ||
		data->tg_trigger->tgnargs != 1)
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("comb_ordered_key() needs a trigger BEFORE INSERT or UPDATE, FOR EACH ROW, and the name of a column"),
				 errhint("CREATE TRIGGER ... BEFORE INSERT ON ... FOR EACH ROW EXECUTE FUNCTION comb_ordered_key('id')")));
	columns = RelationGetDescr(data->tg_relation);
	name = data->tg_trigger->tgargs[0];
	number = SPI_fnumber(columns, name);
	if (number <= 0 || SPI_gettypeid(columns, number) != UUIDOID)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("table \"%s\" has no column \"%s\" of type uuid",
						RelationGetRelationName(data->tg_relation), name)));
	key = comb_ordered_make();
	return PointerGetDatum(heap_modify_tuple_by_cols(TRIGGER_FIRED_BY_UPDATE(data->tg_event) ?
													 data->tg_newtuple : data->tg_trigtuple,
													 columns, 1, &number,
													 &key, &isnull));
}

/*
 * Write the limit, in microseconds since 1970, from which a series is to
 * continue after the next start, and mark the page.  Returns the limit as
 * text.
 *
 * A session that still has a lease hands out times up to its limit.  The
 * invalidation ends the lease, as soon as the caller commits.
 */
static char *
comb_reset_limit(CombSeries series, int64 limit, int64 latest)
{
	CombPage	page;

	(void) comb_page_open(&page, series, COMB_PAGE_WRITE);
	if (page.value > limit && page.value <= Min(limit + COMB_KEPT_US, latest))
		limit = page.value;
	comb_page_write(&page, limit, comb_database->incarnation | COMB_RESET_MARK);
	CacheInvalidateRelcache(page.relation);
	comb_page_flush(&page);
	comb_page_close(&page);
	return comb_time_text(limit + COMB_UNIX_EPOCH);
}

/*
 * comb_ordered_reset(at timestamptz): let the ordered keys and Snowflakes of this
 * database continue after "at" or the clock, whichever is later.  Until the
 * server restarts, the database makes no such keys: only then the counters can be
 * lower than the last key.  Raises 22008 for a time further ahead of the clock
 * than pg_comb.max_ordered_drift, and 25006 in a read-only transaction.  If an
 * error comes between two series, call the function again.
 */
Datum
comb_ordered_reset(PG_FUNCTION_ARGS)
{
	TimestampTz at = PG_GETARG_TIMESTAMPTZ(0);
	int64		now = comb_clock_us();
	int64		latest = comb_lease_latest_us(now);
	char	   *limits[COMB_NSERIES];
	int			series;

	PreventCommandIfReadOnly("comb_ordered_reset()");
	if (at > latest + COMB_UNIX_EPOCH)
		ereport(ERROR,
				(errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
				 errmsg("time too far ahead of the clock"),
				 errdetail("\"pg_comb.max_ordered_drift\" allows times up to %s.",
						   comb_time_text(latest + COMB_UNIX_EPOCH))));

	comb_shared_attach();
	for (series = 0; series < COMB_NSERIES; series++)
		limits[series] =
			comb_reset_limit((CombSeries) series,
							 Max(at, now + COMB_UNIX_EPOCH) - COMB_UNIX_EPOCH,
							 latest);
	ereport(WARNING,
			(errmsg("no ordered keys or Snowflakes can be made in this database until the server restarts"),
			 errdetail("Ordered keys are to continue after %s, and Snowflakes after %s.",
					   limits[COMB_SERIES_ORDERED],
					   limits[COMB_SERIES_SNOWFLAKE]),
			 errhint("Restart the server to finish the reset.")));
	PG_RETURN_VOID();
}
