/*-------------------------------------------------------------------------
 *
 * comb_clock.c
 *	  The rare paths of comb_clock.h.
 *
 * Copyright (c) 2026, pg_comb developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "comb_clock.h"

CombPool	comb_pool;

/* Raise 22008 for a clock before 1970 or after 4199 */
void
comb_clock_error(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
			 errmsg("the system clock is out of range for keys"),
			 errdetail("Keys can be made from 1970 to the year 4199."),
			 errhint("Correct the server's clock.")));
}

/* Draw a block of random bytes for this process */
void
comb_pool_fill(void)
{
	/* the pool is empty if the source fails */
	comb_pool.used = COMB_POOL_SIZE;
	if (!pg_strong_random(comb_pool.bytes, COMB_POOL_SIZE))
		ereport(ERROR,
				(errcode(ERRCODE_INTERNAL_ERROR),
				 errmsg("could not generate random values")));
	comb_pool.owner = MyProcPid;
	comb_pool.used = 0;
}
