-- Properties of new Snowflakes; 10-laws has what holds for those of other services, too
SET client_min_messages = warning;
BEGIN;
CREATE EXTENSION IF NOT EXISTS pgtap;
CREATE EXTENSION IF NOT EXISTS pg_comb_ordered CASCADE;
SET LOCAL timezone = 'UTC';

SELECT plan(10);

-- with 0 instance bits new ids need no configuration
CREATE TEMP TABLE million AS
SELECT n, comb_snowflake(instance_bits => 0) AS id FROM generate_series(1, 1000000) n;
SELECT is(count(*), 0::bigint, 'a million Snowflakes, each larger than the one before')
FROM (SELECT id, lag(id) OVER (ORDER BY n) AS before FROM million) lagged
WHERE id <= before;
-- a million ids take the slots of a quarter of a second, on any machine
SELECT cmp_ok(ahead, '<', interval '1 second', 'and the last not far ahead of the clock')
FROM comb_ordered_status() WHERE series = 'snowflake';
-- Some sequence numbers may be missing: a host can take the processor away at the
-- same position of each millisecond.
SELECT cmp_ok(count(DISTINCT comb_snowflake_sequence(id, instance_bits => 0)), '>', 3000::bigint,
              'nearly all sequence numbers are used') FROM million;

-- the sequence number is the position in the tick, so an id tells the slot's time
CREATE TEMP TABLE seconds AS
SELECT clock_timestamp() AS before, id, clock_timestamp() AS after
FROM generate_series(1, 50) n, LATERAL comb_snowflake('2024-01-01 00:00:00+00', 0, 20 + n * 0, '1 s') id, pg_sleep(0.002);
SELECT cmp_ok(count(*), '>=', 45::bigint, 'the sequence number is the position in the tick')
FROM (SELECT comb_snowflake_timestamp(id, '2024-01-01 00:00:00+00', 0, 20, '1 s')
             + comb_snowflake_sequence(id, '2024-01-01 00:00:00+00', 0, 20, '1 s') / 1048576.0 * interval '1 s' AS place,
             before, after
      FROM seconds) places
WHERE place BETWEEN before - interval '50 ms' AND after + interval '50 ms';

-- parameter sets whose tick has fewer microseconds than sequence numbers, or a
-- single slot
SELECT is(count(DISTINCT comb_snowflake('2024-01-01 00:00:00+00', 0, 12, '1 us')), 10000::bigint,
          'a tick shorter than its sequence')
FROM generate_series(1, 10000);
SELECT is(count(DISTINCT comb_snowflake('2024-01-01 00:00:00+00', 0, 0, '1 us')), 10000::bigint,
          'no sequence at all')
FROM generate_series(1, 10000);

-- an odd tick has slots of unequal length, and ids use all of them
SELECT is(max(comb_snowflake_sequence(id, '2024-01-01 00:00:00+00', 0, 7, '777 us')), 127,
          'the last sequence number is used')
FROM (SELECT comb_snowflake('2024-01-01 00:00:00+00', 0, 7, '777 us') AS id FROM generate_series(1, 2000)) made;

-- The last slot of a tick takes the rest of the tick.  This tick has 2^31 - 1 slots of
-- 2^-8 us, which are 8.388608 s, and a last slot of the same length.  It began 0.1 s ago,
-- after all ids.  The next id is the first of the next tick.
SELECT pg_sleep(0.2);
SELECT is((comb_snowflake_timestamp(a, epoch, 0, 31, '16.777215 s') - epoch,
           comb_snowflake_sequence(a, epoch, 0, 31, '16.777215 s'), b - a)::text,
          '(00:00:00,2147483647,1)', 'the last slot of a tick takes the rest of the tick')
FROM (SELECT clock_timestamp() - interval '8.488608 s' AS epoch OFFSET 0) now,
     LATERAL (SELECT comb_snowflake(epoch, 0, 31, '16.777215 s') AS a,
                     comb_snowflake(epoch, 0, 31, '16.777215 s') AS b OFFSET 0) made;

-- If a tick has fewer units than sequence numbers, ids use only as many numbers as the
-- tick has units, even if the ids are ahead of the clock.  100000 ids of 10000 a second
-- take them there.
SELECT cmp_ok(max(comb_snowflake_timestamp(id, '2024-01-01 00:00:00+00', 0, 0, '100 us')), '>',
              clock_timestamp() + interval '1 s', 'ids are ahead of the clock')
FROM (SELECT comb_snowflake('2024-01-01 00:00:00+00', 0, 0, '100 us') AS id FROM generate_series(1, 100000) OFFSET 0) made;
CREATE TEMP TABLE short AS
SELECT n, comb_snowflake('2024-01-01 00:00:00+00', 0, 12 + n * 0, '1 us') AS id FROM generate_series(1, 1000) n;
SELECT is((max(comb_snowflake_sequence(id, '2024-01-01 00:00:00+00', 0, 12, '1 us')), count(DISTINCT id))::text, '(255,1000)',
          'a tick of 1 us has 256 units, and no more sequence numbers') FROM short;

SELECT finish();
ROLLBACK;
