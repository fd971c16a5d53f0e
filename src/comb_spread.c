/*-------------------------------------------------------------------------
 *
 * comb_spread.c
 *	  comb_spread(): keys that keep sessions out of each other's way in a
 *	  table of hash partitions.
 *
 * Growing keys all go to the last leaf page of an index, where sessions wait
 * for one another.  Hash partitions have an index each, but a session's keys
 * go to all of them in turn.  comb_spread() draws the random end of a key
 * again until the key is of the partition that the session uses at the moment.
 *
 * Time and tick stay, so keys are in the same order as before.  Of the random
 * bits of a key, 56 or in behind_v4 38, log2(partitions) + 1 are no longer free:
 * counting on finds the ends after long gaps more often.
 *
 * Copyright (c) 2026, pg_comb developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/partition.h"
#include "common/hashfn.h"
#include "storage/proc.h"

#include "comb.h"

PG_FUNCTION_INFO_V1(comb_spread);

#define COMB_MAX_PARTITIONS		1024

/* A session stays in a partition for 2^6 ms */
#define COMB_STAY_BITS			6

/* The last four bytes of a key are drawn again */
#define COMB_KEPT_LEN			(UUID_LEN - sizeof(uint32))

/*
 * Return the partition of this session at a time in milliseconds.
 *
 * In each round of as many stays as there are partitions, a session visits
 * every partition once, so that even one session fills them evenly.  Sessions
 * whose numbers are close together are never in one partition at once.  The
 * hash moves the other sessions against each other in each round: without it,
 * two of them would share all their partitions forever.
 */
static uint64
comb_session_partition(uint64 ms, uint64 partitions)
{
	uint64		stay = ms >> COMB_STAY_BITS;
	uint32		session = (uint32) comb_proc_number();
	uint64		hash = hash_bytes_uint32_extended(session / partitions,
												  stay / partitions);

	return (session + stay + hash % partitions) % partitions;
}

/*
 * Return the hash partition of a key.  This is PostgreSQL's rule for one key
 * column of type uuid with the default operator class, see
 * compute_partition_hash_value().
 */
static inline uint64
comb_hash_partition(const pg_uuid_t *id, uint64 partitions)
{
	return hash_combine64(0, hash_bytes_extended(id->data, UUID_LEN,
												 HASH_PARTITION_SEED)) % partitions;
}

/*
 * Return the milliseconds of a UUIDv7, or of a key of behind_v4.  Raises 22023
 * for any other uuid.
 */
static inline uint64
comb_spread_ms(const unsigned char *id)
{
	TimestampTz at;

	/* other layouts have their time, or the order of keys, in these bytes */
	if (unlikely(!comb_v7_read(id, &at) &&
				 !comb_decode(comb_layout_behind_v4, id, &at)))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("key to spread is neither a UUIDv7 nor of layout \"%s\"",
						comb_layout_behind_v4->label),
				 errdetail("Only these are known to end in random bits."),
				 errhint("Spread a key of comb_generate(), comb_generate_ordered(), comb_at() or uuidv7().")));
	return (uint64) ((at - COMB_UNIX_EPOCH) / COMB_US_PER_MS);
}

/*
 * comb_spread(id uuid, partitions integer) returns uuid
 *
 * Returns the key with other random bits in its last four bytes, such that it
 * belongs to the hash partition, of so many, that this session uses at the key's
 * time.  All other bits stay.  NULL for NULL.  Raises 22023 for less than 1 or
 * more than 1024 partitions, and for a uuid that is neither a UUIDv7 nor of
 * behind_v4.
 *
 * The first try is the key itself, and the others count on from a random number,
 * because random bits for each try cost as much as its hash.  A key needs as many
 * tries as there are partitions, on average.
 */
Datum
comb_spread(PG_FUNCTION_ARGS)
{
	static uint64 known_stay;
	static int32 known_partitions = 0;
	static uint64 partition;

	const pg_uuid_t *id = PG_GETARG_UUID_P(0);
	int32		partitions = PG_GETARG_INT32(1);
	uint64		ms = comb_spread_ms(id->data);
	pg_uuid_t  *spread;
	uint32		last;

	if (unlikely(partitions < 1 || partitions > COMB_MAX_PARTITIONS))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("number of partitions must be between 1 and %d",
						COMB_MAX_PARTITIONS),
				 errdetail("\"partitions\" is %d.", partitions),
				 errhint("Write the MODULUS of the table's hash partitions.")));
	if (ms >> COMB_STAY_BITS != known_stay || partitions != known_partitions)
	{
		partition = comb_session_partition(ms, partitions);
		known_stay = ms >> COMB_STAY_BITS;
		known_partitions = partitions;
	}

	spread = (pg_uuid_t *) palloc(UUID_LEN);
	*spread = *id;
	if (comb_hash_partition(spread, partitions) != partition)
	{
		last = (uint32) comb_random();
		do
		{
			memcpy(spread->data + COMB_KEPT_LEN, &last, sizeof(last));
			last++;
		} while (comb_hash_partition(spread, partitions) != partition);
	}
	PG_RETURN_UUID_P(spread);
}
