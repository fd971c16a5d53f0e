/*-------------------------------------------------------------------------
 *
 * comb_sequence.h
 *	  The sequences of the extension, each of which is one page.
 *
 * Copyright (c) 2026, pg_comb developers
 *
 * IDENTIFICATION
 *	  src/ordered/comb_sequence.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef COMB_SEQUENCE_H
#define COMB_SEQUENCE_H

#include "access/xlogdefs.h"
#include "storage/buf.h"
#include "storage/lockdefs.h"
#include "utils/relcache.h"

#include "comb_shared.h"

/* How to open a sequence's page */
typedef enum CombPageMode
{
	COMB_PAGE_READ,
	COMB_PAGE_READ_NOWAIT,		/* do not wait for the sequence's lock */
	COMB_PAGE_WRITE,
	COMB_PAGE_WRITE_NOWAIT		/* nor for the page's */
} CombPageMode;

/* A sequence's page, and what we have read from it */
typedef struct CombPage
{
	Relation	relation;
	LOCKMODE	lockmode;
	Buffer		buffer;
	int64		value;			/* last_value */
	uint64		incarnation;	/* log_cnt */
	XLogRecPtr	lsn;			/* the end of the record of "value" */
} CombPage;

/* Changes when a sequence is altered, moved or dropped, here or elsewhere */
extern PGDLLEXPORT uint64 comb_sequence_generation;

extern void comb_sequence_forget(Datum arg, Oid relid);
extern bool comb_page_open(CombPage *page, CombSeries series,
						   CombPageMode mode);
extern void comb_page_write(CombPage *page, int64 value, uint64 incarnation);
extern void comb_page_unlock(CombPage *page);
extern void comb_page_flush(const CombPage *page);
extern void comb_page_close(CombPage *page);

#endif							/* COMB_SEQUENCE_H */
