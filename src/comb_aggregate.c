/*-------------------------------------------------------------------------
 *
 * comb_aggregate.c
 *	  The transition functions of min(uuid) and max(uuid).
 *
 * PostgreSQL has these aggregates from version 20 on.  The extension's script
 * creates them on older servers only.  The order is that of uuid's operators,
 * so that the aggregates can name "<" and ">" as their sort operators.  The
 * planner then replaces an aggregate by the first entry of an index.
 *
 * Copyright (c) 2026, pg_comb developers
 *
 * IDENTIFICATION
 *	  src/comb_aggregate.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "comb.h"

PG_FUNCTION_INFO_V1(comb_smaller);
PG_FUNCTION_INFO_V1(comb_larger);

/*
 * comb_smaller(uuid, uuid) returns uuid
 *
 * The smaller of two uuids, in uuid's own order.  NULL for NULL.  No input
 * raises an error.
 */
Datum
comb_smaller(PG_FUNCTION_ARGS)
{
	pg_uuid_t  *a = PG_GETARG_UUID_P(0);
	pg_uuid_t  *b = PG_GETARG_UUID_P(1);

	PG_RETURN_UUID_P(memcmp(a->data, b->data, UUID_LEN) < 0 ? a : b);
}

/*
 * comb_larger(uuid, uuid) returns uuid
 *
 * The larger of two uuids, in uuid's own order.  NULL for NULL.  No input
 * raises an error.
 */
Datum
comb_larger(PG_FUNCTION_ARGS)
{
	pg_uuid_t  *a = PG_GETARG_UUID_P(0);
	pg_uuid_t  *b = PG_GETARG_UUID_P(1);

	PG_RETURN_UUID_P(memcmp(a->data, b->data, UUID_LEN) > 0 ? a : b);
}
