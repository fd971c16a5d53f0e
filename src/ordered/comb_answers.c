/*-------------------------------------------------------------------------
 *
 * comb_answers.c
 *	  The bounds that queries of a transaction got.
 *
 * All calls in one query must get the same bound.  A filter that is evaluated
 * for each row, or once for each partition, would otherwise leave out a row and
 * let a later row through.  A query and its stable functions share one
 * snapshot, so that is the query's identity.
 *
 * The executor registers the snapshot of a query for as long as the query
 * runs.  Other snapshots need no memory of their bounds, because no rows are
 * read with them.  They are the planner's, which asks for its estimates and
 * would use up half of the memory, and those of expressions that PL/pgSQL
 * evaluates without the executor.
 *
 * Copyright (c) 2026, pg_comb developers
 *
 * IDENTIFICATION
 *	  src/ordered/comb_answers.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "lib/ilist.h"
#include "utils/memutils.h"

#include "comb_ordered.h"

/* How many answers a transaction keeps for a series */
#define COMB_ANSWERS		64

/*
 * An answer, with the snapshot that it was found for.  Two snapshots see the
 * same top-level transactions if they have these members in common, and keys
 * belong to top-level transactions.
 */
typedef struct CombAnswer
{
	dlist_node	node;
	CombSettled settled;
	TransactionId xmin;
	TransactionId xmax;
	uint32		xcnt;
	TransactionId xip[FLEXIBLE_ARRAY_MEMBER];
} CombAnswer;

/*
 * The answers of a transaction for a series, in the order of their last use,
 * and the newest snapshot whose answer had to make room.  They are in the
 * transaction's memory.
 */
typedef struct CombAnswers
{
	LocalTransactionId lxid;
	dlist_head	list;
	int			n;
	bool		lost;
	TransactionId lost_xmax;
	uint32		lost_xcnt;
} CombAnswers;

static CombAnswers comb_answers[COMB_NSERIES];

/* Return the answers of this transaction.  Those of an earlier one are gone */
static CombAnswers *
comb_answers_here(CombSeries series)
{
	CombAnswers *answers = &comb_answers[series];

	if (answers->lxid != comb_local_xid())
	{
		memset(answers, 0, sizeof(CombAnswers));
		dlist_init(&answers->list);
		answers->lxid = comb_local_xid();
	}
	return answers;
}

/*
 * May the answer for a snapshot be among those that had to make room?  Of two
 * snapshots of a session, the newer one has the larger xmax or, with the same
 * xmax, fewer transactions in progress below.
 */
static bool
comb_answer_lost(const CombAnswers *answers, TransactionId xmax, uint32 xcnt)
{
	if (!answers->lost)
		return false;
	if (xmax != answers->lost_xmax)
		return TransactionIdPrecedes(xmax, answers->lost_xmax);
	return xcnt >= answers->lost_xcnt;
}

/*
 * Find the answer for a snapshot.  Raises 54000 if the snapshot is a query's,
 * and its answer may have made room.
 *
 * A later statement of the transaction may have the same snapshot, and see rows
 * that the transaction wrote in between with keys from "end" on.  A query that
 * had begun before the transaction took its first key does not see them, and
 * keeps its answer.
 *
 * The later statement's snapshot may also have lost the subtransactions that the
 * earlier one knew, because their transaction has begun too many others.
 */
bool
comb_answer_find(CombSeries series, Snapshot snapshot, CombSettled *settled)
{
	CombAnswers *answers = comb_answers_here(series);
	dlist_iter	iter;

	dlist_foreach(iter, &answers->list)
	{
		CombAnswer *answer = dlist_container(CombAnswer, node, iter.cur);

		if (answer->xmax == snapshot->xmax &&
			answer->xmin == snapshot->xmin &&
			answer->xcnt == snapshot->xcnt &&
			(answer->xcnt == 0 ||
			 memcmp(answer->xip, snapshot->xip,
					answer->xcnt * sizeof(TransactionId)) == 0))
		{
			dlist_move_head(&answers->list, &answer->node);
			*settled = answer->settled;
			if (snapshot->suboverflowed ||
				(comb_own_seat[series] != NULL &&
				 snapshot->curcid > comb_announced_command[series]))
				settled->end = 0;
			return true;
		}
	}
	if (snapshot->regd_count > 0 &&
		comb_answer_lost(answers, snapshot->xmax, snapshot->xcnt))
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("too many queries of the transaction ask which keys are settled"),
				 errdetail("The transaction keeps the bounds of %d snapshots, and the bound of this query's snapshot may have made room.",
						   COMB_ANSWERS),
				 errhint("Read a cursor to its end before so many other queries ask.")));
	return false;
}

/* Keep the answer for a query's snapshot until the transaction ends */
void
comb_answer_keep(CombSeries series, Snapshot snapshot,
				 const CombSettled *settled)
{
	CombAnswers *answers = comb_answers_here(series);
	CombAnswer *answer;

	if (snapshot->regd_count == 0)
		return;
	if (answers->n == COMB_ANSWERS)
	{
		/* make room: the last one was used least recently */
		answer = dlist_tail_element(CombAnswer, node, &answers->list);
		if (!comb_answer_lost(answers, answer->xmax, answer->xcnt))
		{
			answers->lost = true;
			answers->lost_xmax = answer->xmax;
			answers->lost_xcnt = answer->xcnt;
		}
		dlist_delete(&answer->node);
		answers->n--;
		pfree(answer);
	}
	answer = (CombAnswer *)
		MemoryContextAlloc(TopTransactionContext, offsetof(CombAnswer, xip) +
						   snapshot->xcnt * sizeof(TransactionId));
	answer->settled = *settled;
	answer->xmin = snapshot->xmin;
	answer->xmax = snapshot->xmax;
	answer->xcnt = snapshot->xcnt;
	if (snapshot->xcnt > 0)
		memcpy(answer->xip, snapshot->xip,
			   snapshot->xcnt * sizeof(TransactionId));
	dlist_push_head(&answers->list, &answer->node);
	answers->n++;
}
