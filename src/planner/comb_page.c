/*-------------------------------------------------------------------------
 *
 * comb_page.c
 *	  Bounds of the key for pages by time and key.
 *
 * A program that shows rows by their time, newest first, asks for the page after
 * the row with the time "at" and the key "last" in one of these forms:
 *
 *	(time, id) < (at, last)
 *	time < at OR (time = at AND id < last)
 *	time <= at AND (time < at OR id < last)
 *
 * In the first two no key is above comb_max(at), and in all of them those of an
 * earlier time are below comb_min(at), and all others below "last":
 *
 *	id <= LEAST(GREATEST(last, comb_min(at)), comb_max(at))
 *
 * Where constants show that this is "last", id < last says it all.  Else the condition
 * stays.  GREATEST and LEAST ignore NULL, as an OR does.
 *
 * Copyright (c) 2026, pg_comb developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/stratnum.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "optimizer/optimizer.h"

#include "comb_call.h"

/* A page, taken apart */
typedef struct CombPage
{
	CombKey		key;
	int			of_time;		/* strategy of btree, for time and "at" */
	Node	   *at;
	Oid			key_op;			/* compares the key with "last" */
	Node	   *last;
	bool		whole;			/* no other time than "at" is compared with it */
	bool		exact;			/* and it says no more */
} CombPage;

/* Take (time, id) < (at, last) and the like apart */
static bool
comb_row_page(PlannerInfo *root, const RowCompareExpr * row, CombPage *page)
{
	page->of_time = comb_time_strategy(linitial_oid(row->opnos), false);
	page->at = linitial(row->rargs);
	page->key_op = lsecond_oid(row->opnos);
	page->last = lsecond(row->rargs);
	page->whole = page->exact = true;
	return list_length(row->largs) == 2 &&
		comb_time_call(root, linitial(row->largs), &page->key) &&
		equal(lsecond(row->largs), page->key.id);
}

/*
 * Take time < at OR (time = at AND id < last) apart.  The second arm may say
 * more, and another time.
 */
static bool
comb_or_page(PlannerInfo *root, List *arms, CombPage *page)
{
	int			i;

	for (i = 0; i < 2 && list_length(arms) == 2; i++)
	{
		OpExpr	   *first = list_nth(arms, i);
		Node	   *second = list_nth(arms, 1 - i);
		List	   *others = is_andclause(second) ? ((BoolExpr *) second)->args : list_make1(second);
		ListCell   *lc;

		if (!IsA(first, OpExpr) || !comb_time_call(root, linitial(first->args), &page->key))
			continue;
		page->of_time = comb_time_strategy(first->opno, false);
		if (page->of_time != BTLessStrategyNumber && page->of_time != BTGreaterStrategyNumber)
			continue;
		page->at = lsecond(first->args);
		foreach(lc, others)
		{
			OpExpr	   *other = lfirst(lc);

			if (!IsA(other, OpExpr) || list_length(other->args) != 2)
				continue;
			if (equal(linitial(other->args), page->key.id))
			{
				page->key_op = other->opno;
				page->last = lsecond(other->args);
			}
			else if (comb_time_strategy(other->opno, false) == BTEqualStrategyNumber &&
					 equal(linitial(other->args), linitial(first->args)) &&
					 equal(lsecond(other->args), page->at))
				page->whole = true;
		}
		page->exact = page->whole && list_length(others) == 2;
		if (page->last)
			return true;
	}
	return false;
}

static Node *
comb_extreme(Node *a, Node *b, MinMaxOp op)
{
	MinMaxExpr *extreme = makeNode(MinMaxExpr);

	extreme->minmaxtype = UUIDOID;
	extreme->op = op;
	extreme->args = list_make2(a, b);
	extreme->location = -1;
	return (Node *) extreme;
}

/*
 * Find the bound of a page, which is a row comparison or an OR.  What it is
 * computed from is known when a scan begins, and can raise no error there.
 */
bool
comb_page_bounds(PlannerInfo *root, Node *clause, CombBounds *found)
{
	CombPage	page = {0};
	int			strategy;
	bool		below;
	Node	   *at;
	Node	   *bound;
	Node	   *min;
	Node	   *max;

	if (!(IsA(clause, RowCompareExpr) ? comb_row_page(root, (RowCompareExpr *) clause, &page) :
		  comb_or_page(root, ((BoolExpr *) clause)->args, &page)))
		return false;
	strategy = get_op_opfamily_strategy(page.key_op, page.key.family);
	below = strategy < BTEqualStrategyNumber;
	if (strategy == 0 || strategy == BTEqualStrategyNumber || page.of_time == 0 ||
		below != (page.of_time < BTEqualStrategyNumber) || page.key.label != NIL ||
		!(IsA(page.at, Const) || IsA(page.at, Param)) ||
		!(IsA(page.last, Const) || IsA(page.last, Param)))
		return false;
	at = comb_as_time(root, page.at);
	if (at == NULL)
		return false;
	min = comb_call(root, COMB_MIN, list_make1(copyObject(at)));
	max = comb_call(root, COMB_MAX, list_make1(copyObject(at)));
	bound = comb_extreme(copyObject(page.last), below ? min : max, below ? IS_GREATEST : IS_LEAST);
	if (page.whole)
		bound = comb_extreme(bound, below ? max : min, below ? IS_LEAST : IS_GREATEST);
	bound = eval_const_expressions(root, bound);
	found->key = page.key;
	found->timed = page.whole;
	found->exact = page.exact && IsA(at, Const) && !((Const *) at)->constisnull && equal(bound, page.last);
	if (!found->exact)
		strategy = below ? BTLessEqualStrategyNumber : BTGreaterEqualStrategyNumber;
	found->bounds = list_make1(comb_compare_key(&page.key, strategy, bound));
	return true;
}
