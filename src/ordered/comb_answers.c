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
 * read with them.  They are the planner's, which asks for its estimates, and those
 * of expressions that PL/pgSQL evaluates without the executor.
 *
 * Copyright (c) 2026, pg_comb developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "comb_order.h"

/*
 * An answer, with the snapshot that it was found for.  Two snapshots see the
 * same top-level transactions if they have these members in common, and keys
 * belong to top-level transactions.
 */
typedef struct CombAnswer
{
	struct CombAnswer *next;
	CombSettled settled;
	TransactionId xmin;
	TransactionId xmax;
	uint32		xcnt;
	TransactionId xip[FLEXIBLE_ARRAY_MEMBER];
} CombAnswer;

/*
 * The answers of a transaction for each series, in its memory, and which
 * transaction that is.  Those with the largest xmax, which are the newest, come
 * first: so a new query finds soon that it has none.
 */
static CombAnswer *answers[COMB_NSERIES];
static LocalTransactionId answers_of[COMB_NSERIES];

/* Return where the answers begin that are not newer than a snapshot */
static inline CombAnswer **
answers_from(CombSeries series, Snapshot snapshot)
{
	CombAnswer **at = &answers[series];

	if (unlikely(answers_of[series] != comb_local_xid()))
	{
		*at = NULL;
		answers_of[series] = comb_local_xid();
	}
	while (*at != NULL && (*at)->xmax != snapshot->xmax &&
		   TransactionIdPrecedes(snapshot->xmax, (*at)->xmax))
		at = &(*at)->next;
	return at;
}

/*
 * Find the answer for a snapshot.
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
	const CombAnswer *answer = *answers_from(series, snapshot);

	for (; answer != NULL && answer->xmax == snapshot->xmax; answer = answer->next)
	{
		if (answer->xmin == snapshot->xmin &&
			answer->xcnt == snapshot->xcnt &&
			(answer->xcnt == 0 ||
			 memcmp(answer->xip, snapshot->xip,
					answer->xcnt * sizeof(TransactionId)) == 0))
		{
			*settled = answer->settled;
			if (snapshot->suboverflowed ||
				(comb_own_seat[series] != NULL &&
				 snapshot->curcid > comb_announced_command[series]))
				settled->end = 0;
			return true;
		}
	}
	return false;
}

/* Keep the answer for a query's snapshot until the transaction ends */
void
comb_answer_keep(CombSeries series, Snapshot snapshot,
				 const CombSettled *settled)
{
	CombAnswer **at = answers_from(series, snapshot);
	CombAnswer *answer;

	if (snapshot->regd_count == 0)
		return;
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
	answer->next = *at;
	*at = answer;
}
