-- Properties of the keys that one session makes, with each of the two generators
SET client_min_messages = warning;
BEGIN;
CREATE EXTENSION IF NOT EXISTS pgtap;
CREATE TABLE generator (call text);
INSERT INTO generator VALUES ('comb_generate()');
\if :{?portable}
\else
CREATE EXTENSION IF NOT EXISTS pg_comb_ordered CASCADE;
INSERT INTO generator VALUES ('comb_generate_ordered()');
\endif
-- each process keeps its own promise, so no parallel worker may make keys
SET LOCAL max_parallel_workers_per_gather = 0;

-- a million keys, unless the caller says otherwise
\if :{?keys}
\else
\set keys 1000000
\endif
SELECT no_plan();

CREATE TABLE made (n serial, call text, id uuid);
CREATE TABLE timed (call text, before timestamptz, id uuid, after timestamptz);
SELECT format('INSERT INTO made (call, id) SELECT %L, %s FROM generate_series(1, %s)', call, call, :keys),
       format('INSERT INTO timed SELECT %L, clock_timestamp(), %s, clock_timestamp() FROM generate_series(1, 50000)', call, call)
FROM generator \gexec
CREATE TABLE million AS TABLE made;
ANALYZE million;

-- keys rise from statement to statement, from function to function, and over subtransactions
CREATE FUNCTION call_them(call text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE format('ALTER TABLE made ALTER call SET DEFAULT %L, ALTER id SET DEFAULT %s', call, call);
  FOR i IN 1..1000 LOOP
    INSERT INTO made DEFAULT VALUES;
    EXECUTE 'SELECT ' || call;
    EXECUTE format('INSERT INTO made (id) SELECT %s', call);
    PERFORM comb_at('2000-01-01'), comb_at('10889-08-02');
    BEGIN
      INSERT INTO made DEFAULT VALUES;
      RAISE division_by_zero;
    EXCEPTION WHEN division_by_zero THEN
      INSERT INTO made DEFAULT VALUES;
    END;
  END LOOP;
END $$;
SELECT lives_ok(format('SELECT call_them(%L)', call), call || ' in many places') FROM generator;

SELECT is((count(*), count(*) FILTER (WHERE id <= before))::text, format('(%s,0)', :keys + 3000),
          call || ': each key is larger than the one before')
FROM (SELECT call, id, lag(id) OVER (PARTITION BY call ORDER BY n) AS before FROM made) lagged GROUP BY call;
SELECT is(count(*), 0::bigint, 'all of version 7 and the RFC''s variant')
FROM million WHERE id::text !~ '^.{14}7.{4}[89ab]';
SELECT is(count(DISTINCT right(id::text, 14)), :keys::bigint, call || ': the 56 random bits alone are different too')
FROM million GROUP BY call;
-- a trigger makes the keys, whatever clients send, and NULL
\if :{?portable}
\else
CREATE TABLE sent (n serial, id uuid);
CREATE TRIGGER sent_key BEFORE INSERT ON sent FOR EACH ROW EXECUTE FUNCTION comb_ordered_key('id');
INSERT INTO sent (id) SELECT CASE n % 3 WHEN 0 THEN gen_random_uuid() WHEN 1 THEN comb_at(now() + n * interval '1 s') END
FROM generate_series(1, 50000) AS n;
SELECT is((count(DISTINCT id), count(*) FILTER (WHERE id <= before), max(id::text) < comb_generate_ordered()::text)::text, '(50000,0,t)',
          'keys of the trigger rise, and the function goes on after them')
FROM (SELECT id, lag(id) OVER (ORDER BY n) AS before FROM sent) lagged;
\endif
-- 2000 is 18 standard deviations of 50000 draws
SELECT is_empty(
  $$ SELECT call, b, sum(get_bit(bits, b))
     FROM (SELECT call, ('x' || right(translate(id::text, '-', ''), 14))::bit(56) AS bits
           FROM timed) made, generate_series(0, 55) b
     GROUP BY call, b HAVING abs(sum(get_bit(bits, b)) - 25000) > 2000 $$,
  'each random bit is set in half of the keys');
-- The counter starts from the clock.  Its first 8 bits of 18 count 3.9 us each, so
-- the keys of a second are spread over the whole millisecond.
SELECT cmp_ok(count(DISTINCT substr(id::text, 16, 2)), '>', 200::bigint, call || ': keys are spread over the millisecond')
FROM million GROUP BY call;
-- the key's time is the clock's, between two other readings of the clock
SELECT is_empty(
  $$ SELECT *, comb_timestamp(id) FROM timed
     WHERE NOT comb_timestamp(id) BETWEEN date_trunc('milliseconds', before) AND after LIMIT 3 $$,
  'a key''s time is the clock''s at that moment');

SELECT * FROM finish();
ROLLBACK;
