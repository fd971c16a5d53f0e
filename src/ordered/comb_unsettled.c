/*-------------------------------------------------------------------------
 *
 * comb_unsettled.c
 *	  comb_unsettled(): the transactions that hold feeds back.
 *
 * The rows say what holds feeds back now, regardless of the calling
 * statement's snapshot.  Only the leader of a parallel query cannot take a
 * newer snapshot, and may show a prepared transaction that has ended.
 *
 * Copyright (c) 2026, pg_comb developers
 *
 * IDENTIFICATION
 *	  src/ordered/comb_unsettled.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/twophase.h"
#include "access/xact.h"
#include "catalog/pg_authid.h"
#include "commands/dbcommands.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/lwlock.h"
#include "storage/proc.h"
#include "storage/procarray.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

#include "comb_lease.h"
#include "comb_settled.h"

PG_FUNCTION_INFO_V1(comb_unsettled);

/* The columns, in the order of the SQL function */
enum
{
	COMB_UNSETTLED_PID,
	COMB_UNSETTLED_DATABASE,
	COMB_UNSETTLED_STATE,
	COMB_UNSETTLED_TRANSACTION,
	COMB_UNSETTLED_SERIES,
	COMB_UNSETTLED_FIRST,
	COMB_UNSETTLED_SINCE,
	COMB_UNSETTLED_AGE,
	COMB_UNSETTLED_COLUMNS
};

/* A row.  Unknown members are zero */
typedef struct CombUnsettled
{
	int32		pid;
	Oid			database;
	Oid			role;
	const char *state;
	TransactionId xid;
	CombSeries	series;
	uint64		first;
} CombUnsettled;

/* A transaction that is prepared now */
typedef struct CombPreparedNow
{
	TransactionId xid;
	Oid			database;
	Oid			role;
	bool		open;
	bool		listed;			/* its rows have been written */
} CombPreparedNow;

typedef struct CombPreparedNows
{
	int			n;
	CombPreparedNow at[FLEXIBLE_ARRAY_MEMBER];
} CombPreparedNows;

/* Set the columns that other roles may not see */
static void
comb_unsettled_details(const CombUnsettled *row, Datum *values, bool *nulls)
{
	int64		us = comb_us_from_time(row->first);
	Interval   *age;

	values[COMB_UNSETTLED_STATE] = CStringGetTextDatum(row->state);
	nulls[COMB_UNSETTLED_STATE] = false;
	values[COMB_UNSETTLED_TRANSACTION] = TransactionIdGetDatum(row->xid);
	nulls[COMB_UNSETTLED_TRANSACTION] = (row->xid == InvalidTransactionId);
	if (row->first == 0)
		return;
	age = (Interval *) palloc0(sizeof(Interval));
	age->time = GetCurrentTimestamp() - (us + COMB_UNIX_EPOCH);
	values[COMB_UNSETTLED_SERIES] =
		CStringGetTextDatum(comb_series_names[row->series]);
	values[COMB_UNSETTLED_SINCE] = TimestampTzGetDatum(us + COMB_UNIX_EPOCH);
	values[COMB_UNSETTLED_AGE] = IntervalPGetDatum(age);
	nulls[COMB_UNSETTLED_SERIES] = false;
	nulls[COMB_UNSETTLED_SINCE] = false;
	nulls[COMB_UNSETTLED_AGE] = false;
	values[COMB_UNSETTLED_FIRST] = UUIDPGetDatum(comb_settled_key(row->first));
	nulls[COMB_UNSETTLED_FIRST] = (row->series != COMB_SERIES_ORDERED);
}

/* Write a row, without the details of other roles' transactions */
static void
comb_unsettled_put(ReturnSetInfo *result, const CombUnsettled *row)
{
	Datum		values[COMB_UNSETTLED_COLUMNS];
	bool		nulls[COMB_UNSETTLED_COLUMNS];
	char	   *database = get_database_name(row->database);

	memset(nulls, true, sizeof(nulls));
	values[COMB_UNSETTLED_PID] = Int32GetDatum(row->pid);
	nulls[COMB_UNSETTLED_PID] = (row->pid == 0);
	if (database != NULL)
	{
		values[COMB_UNSETTLED_DATABASE] =
			DirectFunctionCall1(namein, CStringGetDatum(database));
		nulls[COMB_UNSETTLED_DATABASE] = false;
	}
	if (has_privs_of_role(GetUserId(), ROLE_PG_READ_ALL_STATS) ||
		(OidIsValid(row->role) && has_privs_of_role(GetUserId(), row->role)))
		comb_unsettled_details(row, values, nulls);
	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

/* Set the process of a row.  It may have ended in the meantime */
static void
comb_unsettled_backend(CombUnsettled *row, int pid)
{
	PGPROC	   *proc = BackendPidGetProc(pid);

	row->pid = pid;
	if (proc != NULL)
	{
		row->database = proc->databaseId;
		row->role = proc->roleId;
	}
}

/* Write the running transactions of a series */
static void
comb_unsettled_seats(ReturnSetInfo *result, CombSeries series)
{
	uint32		used = (uint32) pg_atomic_read_u64(&comb_seats->head.h.used);
	uint32		i;

	for (i = 0; i < used; i++)
	{
		CombSeat   *seat = comb_seat(series, i);
		CombUnsettled row = {.state = "running"};

		row.series = series;
		row.first = pg_atomic_read_u64(&seat->s.first);
		if (row.first == 0)
			continue;
		/* "first" before the pid and the database, which must be its own */
		pg_read_barrier();
		comb_unsettled_backend(&row, seat->s.pid);
		row.database = pg_atomic_read_u32(&seat->s.database);
		comb_unsettled_put(result, &row);
	}
}

static int
comb_prepared_cmp(const void *a, const void *b)
{
	TransactionId left = ((const CombPreparedNow *) a)->xid;
	TransactionId right = ((const CombPreparedNow *) b)->xid;

	return (left > right) - (left < right);
}

static CombPreparedNow *
comb_prepared_find(CombPreparedNows *nows, TransactionId xid)
{
	CombPreparedNow key;

	key.xid = xid;
	return (CombPreparedNow *) bsearch(&key, nows->at, nows->n, sizeof(key),
									   comb_prepared_cmp);
}

/* Copy what PostgreSQL knows about prepared transactions, sorted by xid */
static CombPreparedNows *
comb_prepared_procs(void)
{
	CombPreparedNows *nows = (CombPreparedNows *)
		palloc0(offsetof(CombPreparedNows, at) +
				sizeof(CombPreparedNow) * max_prepared_xacts);
	int			i;

	LWLockAcquire(ProcArrayLock, LW_SHARED);
	for (i = 0; i < max_prepared_xacts; i++)
	{
		PGPROC	   *proc = &PreparedXactProcs[i];

		nows->at[i].xid = proc->xid;
		nows->at[i].database = proc->databaseId;
		nows->at[i].role = proc->roleId;
	}
	LWLockRelease(ProcArrayLock);
	nows->n = max_prepared_xacts;
	qsort(nows->at, nows->n, sizeof(CombPreparedNow), comb_prepared_cmp);
	return nows;
}

/*
 * Return the transactions that are prepared now.  PostgreSQL does not clear
 * the xid of one that has ended, so count only those that the snapshot has in
 * progress.
 */
static CombPreparedNows *
comb_prepared_nows(const CombView *view)
{
	CombPreparedNows *nows = comb_prepared_procs();
	int			n = 0;
	int			i;

	for (i = 0; i < (int) view->snapshot->xcnt; i++)
	{
		CombPreparedNow *now = comb_prepared_find(nows, view->snapshot->xip[i]);

		if (now != NULL)
			now->open = true;
	}
	for (i = 0; i < nows->n; i++)
	{
		TransactionId xid = nows->at[i].xid;

		if (nows->at[i].open ||
			(xid != InvalidTransactionId &&
			 comb_full_xid(xid, view->next) >= view->xmax))
			nows->at[n++] = nows->at[i];
	}
	nows->n = n;
	return nows;
}

/* Write the prepared transactions of the list, and mark them */
static void
comb_unsettled_listed(ReturnSetInfo *result, CombPreparedNows *nows)
{
	uint32		i;

	for (i = 0; i < comb_seats->head.h.nprepared; i++)
	{
		CombPrepared prepared;
		CombPreparedNow *now;
		CombUnsettled row = {.state = "prepared"};

		if (!comb_prepared_copy(i, &prepared))
			continue;
		now = comb_prepared_find(nows, (TransactionId)
								 pg_atomic_read_u64(&prepared.fxid));
		if (now == NULL)
			continue;
		now->listed = true;
		row.xid = now->xid;
		row.database = prepared.database;
		row.role = prepared.role;
		for (row.series = 0; row.series < COMB_SERIES; row.series++)
		{
			row.first = prepared.first[row.series];
			if (row.first != 0)
				comb_unsettled_put(result, &row);
		}
	}
}

/* Write the prepared transactions that may have keys but are not in the list */
static void
comb_unsettled_unlisted(ReturnSetInfo *result, const CombView *view,
						const CombPreparedNows *nows)
{
	int			i;

	for (i = 0; i < nows->n; i++)
	{
		const CombPreparedNow *now = &nows->at[i];
		CombUnsettled row = {.state = "prepared"};

		if (now->listed ||
			comb_full_xid(now->xid, view->next) >= comb_unlisted_limit())
			continue;
		row.xid = now->xid;
		row.database = now->database;
		row.role = now->role;
		comb_unsettled_put(result, &row);
	}
}

/*
 * comb_unsettled() returns setof (pid int, database name, state text,
 *		transaction xid, series text, first_key uuid, since timestamptz,
 *		age interval)
 *
 * Returns the open transactions of all databases that have made ordered keys
 * or Snowflakes, or may have.  Each holds back comb_settled() or
 * comb_snowflake_settled() of its database.  "state" is running or prepared.
 *
 * pid is NULL for a prepared transaction, and transaction for a running one.
 * series, first_key, since and age are NULL if the keys
 * are not known.  first_key is a lower bound of the transaction's keys, and
 * NULL for Snowflakes.  For other roles' transactions only pid and database
 * are shown, as in pg_stat_activity.  Raises 55000 on a standby, and
 * PostgreSQL's error if there is no shared memory for announcements.
 */
Datum
comb_unsettled(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	CombPreparedNows *nows;
	Snapshot	snapshot;
	CombView	view;
	int			series;

	InitMaterializedSRF(fcinfo, 0);
	snapshot = comb_settled_snapshot();
	comb_view_init(&view, IsInParallelMode() ? snapshot : GetLatestSnapshot());
	comb_shared_attach();
	comb_seats_attach();
	nows = comb_prepared_nows(&view);
	for (series = 0; series < COMB_SERIES; series++)
		comb_unsettled_seats(result, (CombSeries) series);
	comb_unsettled_listed(result, nows);
	comb_unsettled_unlisted(result, &view, nows);
	return (Datum) 0;
}
