/*
 * late_key.c - a module that makes a key while a transaction is prepared
 *
 * PostgreSQL calls the callback that was registered last first.  A session that
 * loads this module before it makes keys therefore inserts a row here after
 * pg_comb has entered the transaction into the list of prepared transactions.
 * test/t/102_feed_late_key.pl compiles and loads the module.
 */
#include "postgres.h"

#include "access/xact.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "utils/snapmgr.h"

PG_MODULE_MAGIC;

void		_PG_init(void);

static void
late_key(XactEvent event, void *arg)
{
	if (event != XACT_EVENT_PRE_PREPARE)
		return;
	PushActiveSnapshot(GetTransactionSnapshot());
	if (SPI_connect() != SPI_OK_CONNECT ||
		SPI_execute("INSERT INTO event (what) VALUES ('late')", false,
					0) != SPI_OK_INSERT)
		elog(ERROR, "no late row");
	SPI_finish();
	PopActiveSnapshot();
}

void
_PG_init(void)
{
	RegisterXactCallback(late_key, NULL);
}
