/*
 * limit.c - a function that reads the clock and allocates 16 bytes, for the row "generate"
 *
 * No function written in C can make a uuid with a time for less.  The row shows what
 * comb_generate() takes more.
 */
#include "postgres.h"

#include <time.h>

#include "fmgr.h"
#include "utils/uuid.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(clock_and_16_bytes);

Datum
clock_and_16_bytes(PG_FUNCTION_ARGS)
{
	pg_uuid_t  *id = (pg_uuid_t *) palloc(UUID_LEN);
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	memcpy(id->data, &now.tv_sec, 8);
	memcpy(id->data + 8, &now.tv_nsec, 8);
	PG_RETURN_UUID_P(id);
}
