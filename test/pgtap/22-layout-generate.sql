-- Keys that one process makes, in every layout with new keys
SET client_min_messages = warning;
SET timezone = 'UTC';
BEGIN;
CREATE EXTENSION IF NOT EXISTS pgtap;
CREATE EXTENSION IF NOT EXISTS pg_comb_ordered CASCADE;
-- each process keeps its own promise, so no parallel worker may make keys
SET LOCAL max_parallel_workers_per_gather = 0;

SELECT plan(21);

SELECT throws_ok($$SELECT comb_generate('masstransit')$$, '0A000', 'keys of layout "masstransit" can only be read',
                 'a layout that is only read');

\ir include/in_order.sql

CREATE TEMP TABLE layouts AS
SELECT layout, sorts_in, resolution FROM comb_layouts() WHERE generates;
SELECT is(count(*), 14::bigint, 'as many layouts can be generated') FROM layouts;

-- First one layout after the other: each layout makes its keys in one run
CREATE TEMP TABLE made (layout text, n int, before timestamptz, id uuid, after timestamptz);
INSERT INTO made
SELECT layout, n, clock_timestamp(), comb_generate(layout), clock_timestamp()
FROM (SELECT layout, n FROM layouts, generate_series(1, 20000) n ORDER BY layout, n OFFSET 0) l;
-- Then all layouts in turn: a key never has the layout of the previous key
INSERT INTO made
SELECT layout, 20000 + n, clock_timestamp(), comb_generate(layout), clock_timestamp()
FROM (SELECT layout, n FROM layouts, generate_series(1, 5000) n ORDER BY n, layout OFFSET 0) l;
ALTER TABLE made ADD k uuid;
UPDATE made SET k = pg_temp.in_order(id, sorts_in) FROM layouts l WHERE l.layout = made.layout;
ANALYZE made;
SELECT is(count(*), 14 * 25000::bigint, 'keys are made') FROM made;

SELECT is_empty(
  $$ SELECT * FROM (SELECT *, lag(k) OVER (PARTITION BY layout ORDER BY n) AS k_before FROM made) lagged
     WHERE k <= k_before LIMIT 3 $$,
  'each is larger than the one before in the order of the layout''s database');
SELECT is_empty(
  $$ SELECT layout FROM made GROUP BY layout HAVING count(DISTINCT id) < 25000 $$,
  'no two are the same');

-- A key's time is the start of the clock's unit.  The longest unit is 3.334 ms.
-- timestamptz cannot tell times apart that differ by less than 1 us.
SELECT is_empty(
  $$ SELECT layout, before, comb_timestamp(id, layout) AS made, after FROM made
     WHERE comb_timestamp(id, layout) > after
        OR comb_timestamp(id, layout) <= before - CASE (SELECT resolution FROM layouts l WHERE l.layout = made.layout)
                                                  WHEN '1 ms' THEN '1 ms'::interval
                                                  WHEN '100 ns' THEN '2 us'
                                                  ELSE '3.335 ms' END LIMIT 3 $$,
  'a key''s time is the clock''s, cut off to the layout''s unit');
SELECT is_empty(
  $$ SELECT layout FROM layouts
     WHERE comb_timestamp(comb_generate(layout), layout) IS NULL $$,
  'every one has a time');

-- Version and variant must be as the original software sets them
CREATE TEMP TABLE bits AS
SELECT layout, substr(id::text, 15, 1) AS version,
       translate(substr(id::text, 20, 1), '89ab', 'vvvv') AS variant FROM made;
SELECT is_empty(
  $$ SELECT layout, version FROM bits
     WHERE version <> '4' AND (layout LIKE 'rtcomb%' OR layout IN ('nhibernate', 'efcore')) LIMIT 3 $$,
  'RT.Comb, NHibernate and EF Core are of version 4');
SELECT is_empty(
  $$ SELECT layout, variant FROM bits
     WHERE variant <> 'v' AND (layout LIKE 'rtcomb%' OR layout = 'nhibernate') LIMIT 3 $$,
  'RT.Comb and NHibernate have the RFC''s variant');
SELECT is_empty(
  $$ SELECT layout, version, variant FROM bits
     WHERE (version, variant) <> ('7', 'v') AND layout = 'uuidv7' LIMIT 3 $$,
  'UUIDv7 is of version 7');
SELECT is(string_agg(layout, ' ' ORDER BY layout COLLATE "C"),
          'sequential_binary sequential_end sequential_string ulid',
          'these have any version')
FROM (SELECT layout FROM bits GROUP BY 1 HAVING count(DISTINCT version) = 16) l;
-- where the time covers the variant's bits, the test is too short to see all values
SELECT is(string_agg(layout, ' ' ORDER BY layout COLLATE "C"), 'efcore morris sequential_binary sequential_end sequential_string ulid',
          'and these any variant')
FROM (SELECT layout FROM bits WHERE layout NOT IN ('efcore', 'morris')
      GROUP BY 1 HAVING count(DISTINCT variant) = 13
      UNION ALL
      SELECT layout FROM bits WHERE layout IN ('efcore', 'morris')
      GROUP BY 1 HAVING count(DISTINCT variant) > 1) l;

-- Bits that the layout does not use are random; the check is by digit of the text
CREATE TEMP TABLE digits AS
SELECT layout, pos, count(DISTINCT digit) AS kinds
FROM (SELECT layout, pos, substr(replace(id::text, '-', ''), pos, 1) AS digit
      FROM made, generate_series(1, 32) pos WHERE n <= 500) d
GROUP BY 1, 2;
SELECT is_empty(
  $$ SELECT layout, pos, kinds FROM digits
     WHERE kinds < 16 AND pos BETWEEN 1 AND 12
       AND layout IN ('rtcomb_sql', 'rtcomb_legacy', 'nhibernate', 'sequential_end', 'efcore') $$,
  'the first six bytes are random where the time is at the end');
SELECT is_empty(
  $$ SELECT layout, pos, kinds FROM digits
     WHERE kinds < 16 AND pos BETWEEN 19 AND 32
       AND layout IN ('uuidv7', 'ulid', 'rtcomb_postgresql', 'rtcomb_postgresql_datetime', 'rtcomb_binary',
                      'rtcomb_binary_datetime', 'sequential_string', 'sequential_binary') $$,
  'the last seven bytes are random where the time is in front');
SELECT is(max(kinds), 1::bigint, 'Morris''s first eight bytes are one process''s')
FROM digits WHERE layout = 'morris' AND pos <= 16;
SELECT isnt((SELECT left(comb_generate('morris')::text, 18)), '00000000-0000-0000', 'and are drawn');
SELECT ok(count(DISTINCT left(id::text, 18)) = 1000, 'comb_at draws them for each key')
FROM (SELECT comb_at('2026-11-20', 'morris') AS id FROM generate_series(1, 1000)) m;

--
-- comb_at
--
CREATE TEMP TABLE at_us AS
SELECT layout, us, pg_temp.in_order(comb_at(timestamptz '2026-11-20 04:22:18.36+00' + us * interval '1 us', layout),
                                    sorts_in) AS k
FROM layouts, generate_series(0, 9999) us;
SELECT is_empty(
  $$ SELECT * FROM (SELECT layout, us, k, lag(k) OVER (PARTITION BY layout ORDER BY us) AS k_before FROM at_us) lagged
     WHERE k <= k_before LIMIT 3 $$,
  'comb_at keeps the order of microseconds over three units of time');
SELECT is_empty(
  $$ SELECT layout, us FROM (SELECT layout, timestamptz '2026-11-20 04:22:18+00' + us * interval '1 us' AS at
                             FROM layouts, generate_series(0, 99999, 37) us) i (layout, us)
     WHERE comb_timestamp(comb_at(us, layout), layout)
        <> comb_timestamp(comb_stamp('00000000-0000-0000-0000-000000000000', us, layout), layout) LIMIT 3 $$,
  'comb_at''s time is comb_stamp''s');
SELECT is_empty(
  $$ SELECT layout FROM (SELECT layout, comb_at('2026-11-20 04:22:18.367999', layout) AS id
                         FROM layouts, generate_series(1, 20000)) m
     GROUP BY layout HAVING count(DISTINCT id) < 20000 $$,
  'comb_at never gives the same key for one instant');
-- ULID has 16 bits of the tick in the first eight bytes, so these have six random bits
SELECT cmp_ok(count(DISTINCT left(id::text, 18)), '>', 10::bigint, 'nor always the same bits below the microsecond')
FROM (SELECT comb_at('2026-11-20 04:22:18.367999', 'ulid') AS id FROM generate_series(1, 1000)) made;

SELECT * FROM finish();
ROLLBACK;
