-- Keys of behind_v4: in order within a process, behind version 4, and at the right edge of the index
SET client_min_messages = warning;
BEGIN;
CREATE EXTENSION IF NOT EXISTS pgtap;
CREATE EXTENSION IF NOT EXISTS pg_comb_ordered CASCADE;
SET LOCAL timezone = 'UTC';
SET LOCAL max_parallel_workers_per_gather = 0;

SELECT no_plan();

-- 100,000 keys, of which none has to be like another
CREATE TABLE made AS
SELECT n, clock_timestamp() AS before, comb_generate('behind_v4') AS id, clock_timestamp() AS after FROM generate_series(1, 100000) n;
SELECT is((count(*), count(*) FILTER (WHERE id > before))::text, '(100000,99999)', 'each key is larger than the one before')
FROM (SELECT id, lag(id) OVER (ORDER BY n) AS before FROM made) s;
SELECT is(count(*) FILTER (WHERE id::text ~ '^ffffff.{8}8.{4}[89ab]'), 100000::bigint, 'all begin with 24 ones, and have version 8') FROM made;
SELECT is_empty($$ SELECT * FROM made WHERE comb_timestamp(id, 'behind_v4') NOT BETWEEN date_trunc('ms', before) AND after LIMIT 3 $$,
  'the time is the clock''s');
SELECT cmp_ok(count(DISTINCT right(id::text, 10)), '>', 99900::bigint, 'the 38 random bits are different, too') FROM made;
-- 3000 is 19 standard deviations of 100,000 draws
SELECT is_empty(
  $$ SELECT b, sum(get_bit(bits, b)) FROM (SELECT ('x' || right(translate(id::text, '-', ''), 10))::bit(40) AS bits FROM made) s,
       generate_series(2, 39) b GROUP BY b HAVING abs(sum(get_bit(bits, b)) - 50000) > 3000 $$,
  'each random bit is set in half of the keys');
-- in turns with UUIDv7 and another layout, which share the process's counter
SELECT is(count(*) FILTER (WHERE a <= before), 0::bigint, 'in order also between keys of other layouts')
FROM (SELECT a, lag(a) OVER (ORDER BY n) AS before FROM (
  SELECT n, comb_generate('behind_v4') AS a, comb_generate() AS b, comb_generate('ulid') AS c FROM generate_series(1, 10000) n) s) s;

-- Keys of given times, in the order of the microsecond
SELECT is(count(*) FILTER (WHERE id <= before OR comb_timestamp(id, 'behind_v4') <> date_trunc('ms', at)), 0::bigint,
  'keys of given times have these, and their order')
FROM (SELECT *, lag(id) OVER (ORDER BY at) AS before FROM (
  SELECT at, comb_at(at, 'behind_v4') AS id FROM (
    SELECT timestamptz '2026-11-28' + n * interval '1 us' AS at FROM generate_series(1, 10000) n) t) s) s;

-- Pages.  How many the primary key's index gets for as many new keys as there are: in a table of its own, in one with v4
-- keys, and with some of these behind the new keys.  A tenth of the last page holds 30, as src/comb_layout.c says.
CREATE FUNCTION pages(generator text, v4 int, behind int) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  before bigint := 0;
BEGIN
  CREATE TABLE grown (id uuid PRIMARY KEY);
  INSERT INTO grown SELECT ('e' || substr(gen_random_uuid()::text, 2))::uuid FROM generate_series(1, v4);
  INSERT INTO grown SELECT ('ffffffff' || substr(gen_random_uuid()::text, 9))::uuid FROM generate_series(1, behind);
  IF v4 > 0 THEN
    before := pg_relation_size('grown_pkey');
  END IF;
  EXECUTE format('INSERT INTO grown SELECT %s FROM generate_series(1, 30000)', generator);
  before := pg_relation_size('grown_pkey') - before;
  DROP TABLE grown;
  RETURN before / current_setting('block_size')::int;
END $$;
CREATE TABLE growth AS
SELECT pages('comb_generate()', 0, 0) AS own, pages('comb_generate()', 20000, 0) AS middle,
  pages('comb_generate(''behind_v4'')', 20000, 0) AS edge, pages('comb_generate(''behind_v4'')', 20000, 25) AS few,
  pages('comb_generate(''behind_v4'')', 20000, 40) AS many;
SELECT cmp_ok(edge / own::float8, '<=', 1.03::float8, 'the index grows as one of its own') FROM growth;
SELECT cmp_ok(few / own::float8, '<=', 1.03::float8, 'with a few v4 keys behind, too') FROM growth;
SELECT cmp_ok(middle / own::float8, '>=', 1.6::float8, 'UUIDv7 take the pages of keys in the middle') FROM growth;
SELECT cmp_ok(many / own::float8, '>=', 1.6::float8, 'and so do these with too many v4 keys behind') FROM growth;

-- Ordered keys, and the bound of a feed
CREATE TABLE ordered (n int, id uuid DEFAULT comb_convert(comb_generate_ordered(), 'uuidv7', 'behind_v4'));
INSERT INTO ordered SELECT generate_series(1, 100000);
SELECT is((count(*), count(*) FILTER (WHERE id > before))::text, '(100000,99999)', 'ordered keys stay in order')
FROM (SELECT id, lag(id) OVER (ORDER BY n) AS before FROM ordered) s;
SELECT is(count(*), 0::bigint, 'the bound is below keys of the transaction')
FROM ordered WHERE id < comb_convert(comb_settled(), 'uuidv7', 'behind_v4');

SELECT * FROM finish();
ROLLBACK;
