-- comb_spread() against PostgreSQL's own rule for hash partitions, in tables that have no partitions
-- of their own.  The numbers of partitions include some that are no powers of two.
SET client_min_messages = warning;
BEGIN;
CREATE EXTENSION IF NOT EXISTS pgtap;
CREATE EXTENSION IF NOT EXISTS pg_comb_ordered CASCADE;
\if :{?keys}
\else
\set keys 20000
\endif
SET LOCAL max_parallel_workers_per_gather = 0;
SELECT no_plan();

CREATE DOMAIN event_id AS uuid;
CREATE TABLE plain (id uuid) PARTITION BY HASH (id);
CREATE TABLE of_domain (id event_id) PARTITION BY HASH (id);

-- The remainder: hash and seed of partitions, combined with 0.  PostgreSQL's own function must agree.
CREATE FUNCTION remainder(id uuid, partitions int) RETURNS int IMMUTABLE LANGUAGE sql
RETURN mod(mod(uuid_hash_extended(id, 8816678312871386365)::numeric + 18446744073709551616 + 5305509591434766563, 18446744073709551616), partitions)::int;

-- Keys of five whole rounds, each of which has one stay of 64 ms for each partition
CREATE TABLE kind (partitions int, keys int);
INSERT INTO kind VALUES (1, :keys), (2, :keys), (3, :keys), (16, :keys), (60, :keys), (97, :keys), (1024, :keys);
CREATE TABLE spread (partitions int, stay int, id uuid, spread uuid);
INSERT INTO spread SELECT partitions, stay, id, comb_spread(id, partitions)
FROM (SELECT partitions, n % (5 * partitions) AS stay,
             comb_at(to_timestamp((64 * (27000000000 / partitions * partitions + n % (5 * partitions)) + n % 64) / 1000.0)) AS id
      FROM kind, generate_series(1, keys) n) made;
CREATE TABLE placed AS SELECT *, remainder(spread, partitions) AS place FROM spread;

SELECT is(count(*) FILTER (WHERE satisfies_hash_partition('plain'::regclass, partitions, place, spread)
                          AND satisfies_hash_partition('of_domain'::regclass, partitions, place, spread::event_id)),
          keys::bigint, format('the rule is PostgreSQL''s for %s partitions', partitions))
FROM placed JOIN kind USING (partitions) GROUP BY partitions, keys;
SELECT is_empty($$ SELECT partitions, stay FROM placed GROUP BY 1, 2 HAVING count(DISTINCT place) <> 1 $$,
  'all keys of a stay are in one partition');
SELECT is_empty($$ SELECT partitions, stay / partitions FROM placed GROUP BY 1, 2
                   HAVING count(DISTINCT place) <> partitions $$,
  'a round goes through all partitions');
SELECT isnt(min(place), max(place), 'rounds begin at different partitions') FROM placed WHERE partitions = 1024 AND stay % 1024 = 0;

-- what may change
SELECT is_empty($$ SELECT * FROM spread WHERE substr(uuid_send(id), 1, 12) <> substr(uuid_send(spread), 1, 12) $$,
  'the first twelve bytes stay');
SELECT is(count(*), :keys::bigint, 'one partition takes each key as it is') FROM spread WHERE partitions = 1 AND id = spread;
SELECT is(count(DISTINCT spread), count(*), 'all keys differ') FROM spread;
-- 0.0625 off is 17 standard deviations, with 20000 keys
SELECT is_empty(
  $$ SELECT b FROM (SELECT ('x' || right(spread::text, 8))::bit(32) AS bits FROM spread WHERE partitions = 60) s,
            generate_series(0, 31) b GROUP BY b HAVING abs(avg(get_bit(bits, b)) - 0.5) > 0.0625 $$,
  'each bit of bytes 12 to 15 is set in half of the keys');

-- the same end each time: bytes 12 to 15 are random nevertheless, but for a key that can stay, one of 1024 on average
CREATE TABLE same AS SELECT comb_spread(('01a1f746-65a8-7b2a-86fb-' || n % 8 || '00000000000')::uuid, 1024) AS id FROM generate_series(1, 1000) n;
SELECT cmp_ok(count(DISTINCT id), '>=', 800::bigint, 'new random bits for each key') FROM same;
SELECT cmp_ok(count(DISTINCT substr(uuid_send(id), b, 1)), '>', 200::bigint, 'in byte ' || b - 1)
FROM same, generate_series(13, 16) b GROUP BY b;

-- what it composes with, in the order of each
CREATE TABLE made (n serial, call text, id uuid);
SELECT format('INSERT INTO made (call, id) SELECT %L, comb_spread(%s, 16) FROM generate_series(1, 20000) n', call, call)
FROM (VALUES ('comb_generate()'), ('comb_generate(''behind_v4'')'), ('comb_generate_ordered()'),
             ('comb_at(timestamptz ''2026-11-01 00:00+00'' + interval ''1 us'' * n)'), ('uuidv7()')) AS g (call)
WHERE call <> 'uuidv7()' OR current_setting('server_version_num')::int >= 180000 \gexec
SELECT is(count(*) FILTER (WHERE id <= before), 0::bigint, call || ': each key is larger than the one before')
FROM (SELECT call, id, lag(id) OVER (PARTITION BY call ORDER BY n) AS before FROM made) lagged GROUP BY call;
SELECT is_empty($$ SELECT call FROM (SELECT call, remainder(id, 16) AS place,
                     comb_timestamp(id, CASE WHEN call ~ 'behind_v4' THEN 'behind_v4' ELSE 'uuidv7' END) FROM made) s
                   GROUP BY call, div(extract(epoch FROM comb_timestamp) * 1000, 64) HAVING count(DISTINCT place) <> 1 $$,
  'the partition depends on the session and the key''s time only');

-- calls for different tables in turn
SELECT is(count(DISTINCT (n, place)), 3::bigint, 'tables with different numbers of partitions do not get in each other''s way')
FROM (SELECT n, remainder(comb_spread('01a1f746-65a8-7b2a-86fb-70e6f2158327', n), n) AS place
      FROM generate_series(1, 300), unnest('{1024, 3, 16}'::int[]) n) s;

-- refusals
CREATE TABLE refused (id uuid, partitions int, message text);
INSERT INTO refused
SELECT '01a1f746-65a8-7b2a-86fb-70e6f2158327', p, 'number of partitions must be between 1 and 1024'
FROM unnest('{0, -1, -2147483648, 1025, 2147483647}'::int[]) p
UNION ALL
SELECT id, p, 'key to spread is neither a UUIDv7 nor of layout "behind_v4"'
FROM unnest('{1, 16}'::int[]) p, unnest(ARRAY['00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff',
       '01a1f746-65a8-4b2a-86fb-70e6f2158327', '01a1f746-65a8-7b2a-06fb-70e6f2158327', '01a1f746-65a8-7b2a-c6fb-70e6f2158327',
       '01a1f746-65a8-8b2a-86fb-70e6f2158327']::uuid[]
     || (SELECT array_agg(comb_stamp('89ac94fd-0ce7-0a58-9d5b-21a3dfba0e5c', '2026-11-01 00:00+00', layout))
         FROM comb_layouts() WHERE layout NOT IN ('uuidv7', 'uuid7_pypi', 'behind_v4'))) id;    -- the first two are marked version 7
SELECT throws_ok(format('SELECT comb_spread(%L, %s)', id, partitions), '22023', message, format('not %s of %s', id, partitions)) FROM refused;
SELECT is((comb_spread(NULL, 16), comb_spread(comb_generate(), NULL), comb_spread(NULL, 0))::text,
  '(,,)', 'NULL for NULL');
SELECT is(left(comb_spread(id, 16)::text, 23), left(id::text, 23), id || ' is the edge of what there is')
FROM (VALUES (comb_min('1970-01-01 00:00+00')), (comb_max('infinity'))) AS e (id);

SELECT * FROM finish();
ROLLBACK;
