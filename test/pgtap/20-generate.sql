-- Properties of the keys that one process makes
SET client_min_messages = warning;
BEGIN;
CREATE EXTENSION IF NOT EXISTS pgtap;
\if :{?portable}
\else
CREATE EXTENSION IF NOT EXISTS pg_comb_ordered CASCADE;
\endif
-- each process keeps its own promise, so no parallel worker may make keys
SET LOCAL max_parallel_workers_per_gather = 0;

-- a million keys, unless the caller says otherwise
\if :{?keys}
\else
\set keys 1000000
\endif
SELECT plan(12);

CREATE TEMP TABLE million AS
SELECT n, comb_generate() AS id FROM generate_series(1, :keys) n;
ANALYZE million;

SELECT is(count(*), 0::bigint, 'many keys, each larger than the one before')
FROM (SELECT id, lag(id) OVER (ORDER BY n) AS before FROM million) lagged
WHERE id <= before;
SELECT is(count(DISTINCT id), :keys::bigint, 'many keys, no two the same')
FROM million;
SELECT is(count(*), 0::bigint, 'all of version 7 and the RFC''s variant')
FROM million
WHERE substr(id::text, 15, 1) <> '7' OR substr(id::text, 20, 1) NOT IN ('8', '9', 'a', 'b');
SELECT is(count(DISTINCT right(id::text, 14)), :keys::bigint,
          'the 56 random bits alone are different too')
FROM million;
-- 2000 is 20 standard deviations of 40000 draws
SELECT is_empty(
  $$ SELECT b, count(*) FILTER (WHERE get_bit(bits, b) = 1)
     FROM (SELECT ('x' || right(translate(id::text, '-', ''), 14))::bit(56) AS bits
           FROM million WHERE n <= 40000) made, generate_series(0, 55) b
     GROUP BY b HAVING abs(count(*) FILTER (WHERE get_bit(bits, b) = 1) - 20000) > 2000 $$,
  'each random bit is set in half of the keys');
-- The counter starts from the clock.  Its first 8 bits of 18 count 3.9 us each, so
-- the keys of a second are spread over the whole millisecond.
SELECT cmp_ok(count(DISTINCT substr(id::text, 16, 2)), '>', 200::bigint,
              'keys are spread over the millisecond')
FROM million;

-- the key's time is the clock's, between two other readings of the clock
SELECT is_empty(
  $$ SELECT before, comb_timestamp(id), after
     FROM (SELECT clock_timestamp() AS before, comb_generate() AS id, clock_timestamp() AS after
           FROM generate_series(1, 50000)) made
     WHERE NOT comb_timestamp(id) BETWEEN date_trunc('milliseconds', before) AND after LIMIT 3 $$,
  'a key''s time is the clock''s at that moment');

-- keys rise from statement to statement and from function to function
CREATE TEMP TABLE calls (n serial, id uuid DEFAULT comb_generate());
CREATE FUNCTION pg_temp.call_them() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  FOR i IN 1..1000 LOOP
    INSERT INTO calls DEFAULT VALUES;
    PERFORM comb_generate();
    INSERT INTO calls (id) SELECT comb_generate();
    PERFORM comb_at('2000-01-01'), comb_at('10889-08-02');
    BEGIN
      PERFORM comb_generate() / 0;
    EXCEPTION WHEN undefined_function THEN
      INSERT INTO calls (id) VALUES (comb_generate());
    END;
  END LOOP;
END $$;
SELECT lives_ok('SELECT pg_temp.call_them()', 'keys from many places');
SELECT is(count(*), 3000::bigint, 'all are there') FROM calls;
SELECT is(count(*), 0::bigint, 'rising over statements and whatever lies between them')
FROM (SELECT id, lag(id) OVER (ORDER BY n) AS before FROM calls) lagged
WHERE id <= before;
SELECT ok(min(id::text) > (SELECT max(id::text) FROM million), 'and all after the many')
FROM calls;

-- a bound of the present time divides earlier keys from later keys
SELECT comb_max(clock_timestamp()) AS boundary \gset
SELECT is((SELECT count(*) FROM calls WHERE id <= :'boundary'), 3000::bigint,
          'comb_max(now) is above all keys made so far');

SELECT * FROM finish();
ROLLBACK;
