-- What queries read for conditions on what functions make of a key's time
SET timezone = 'America/New_York';
SET datestyle = 'ISO';
SET intervalstyle = 'postgres';
SET enable_seqscan = off;
SET max_parallel_workers_per_gather = 0;
\set SHOW_CONTEXT never
CREATE SCHEMA wrapped;
SET search_path = wrapped, public;

-- one key each ten minutes, from 2026-01-01 on
CREATE TABLE visit (id uuid PRIMARY KEY, n int);
INSERT INTO visit SELECT comb_stamp(md5(n::text)::uuid, '2026-01-01'::timestamptz + n * interval '10 min'), n FROM generate_series(0, 14399) n;
VACUUM ANALYZE visit;
CREATE VIEW visits AS SELECT comb_timestamp(id) AS at, id, n FROM visit;

EXPLAIN (COSTS OFF) SELECT * FROM visits WHERE at::date = '2026-02-03';
EXPLAIN (COSTS OFF) SELECT * FROM visits WHERE at AT TIME ZONE 'Asia/Tokyo' >= '2026-02-03';
EXPLAIN (COSTS OFF) SELECT * FROM visits WHERE date_trunc('day', at - interval '4 hours') < '2026-02-03'::date;
EXPLAIN (COSTS OFF) SELECT * FROM visits WHERE '2026-02-03'::timestamptz - at < interval '1 hour';

EXPLAIN (COSTS OFF) SELECT * FROM visits WHERE at::date = '2026-02-03' OR at::date = '2026-03-03';

-- How many rows the condition finds, whether they are those of a sequential scan, how many more the
-- index reads, and whether their number is estimated well
CREATE FUNCTION reads(condition text, source text DEFAULT 'visits') RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  query text := format('SELECT n FROM %s WHERE %s', source, condition);
  plan jsonb;
  node jsonb;
  found int[];
  brute int[];
BEGIN
  EXECUTE 'EXPLAIN (FORMAT JSON, ANALYZE, TIMING OFF) ' || query INTO plan;
  node := jsonb_path_query_first(plan, 'strict $.** ? (@."Node Type" like_regex "Scan")');
  EXECUTE format('SELECT array_agg(n ORDER BY n) FROM (%s) s', query) INTO found;
  PERFORM set_config('pg_comb.enable_time_conditions', 'off', true);
  EXECUTE format('SELECT array_agg(n ORDER BY n) FROM (%s) s', query) INTO brute;
  PERFORM set_config('pg_comb.enable_time_conditions', 'on', true);
  RETURN format('%s rows%s, %s more%s', coalesce(cardinality(found), 0),
    CASE WHEN found IS DISTINCT FROM brute THEN format(', for %s', coalesce(cardinality(brute), 0)) END,
    CASE WHEN node->'Index Cond' IS NULL THEN 'all' ELSE coalesce(node->>'Rows Removed by Filter', '0') END,
    CASE WHEN (node->>'Plan Rows')::float8 / greatest((node->>'Actual Rows')::float8, 1) NOT BETWEEN 0.7 AND 1.4
      THEN format(', %s estimated', node->>'Plan Rows') END);
END $$;

SELECT c AS condition, reads(c) FROM unnest(ARRAY[
  'at::date = ''2026-02-03''', 'at::date >= ''2026-04-08''', 'at::date > ''2026-04-08''',
  'at::date <= ''2026-01-03''', 'at::date < ''2026-01-03''', '''2026-04-08'' <= at::date',
  'at::date BETWEEN ''2026-02-03'' AND ''2026-02-04''', 'at::date = ''2026-03-08''', 'at::date <> ''2026-03-08''',
  'at::date = ''2026-02-03 00:00''::timestamp', 'at::date = ''2026-02-03 00:00''::timestamptz',
  'at::date - 1 = ''2026-02-02''', 'at::date + 1 = ''2026-02-04''',
  'at::timestamp >= ''2026-04-08''', 'at::timestamp < ''2026-01-03 UTC''::timestamptz',
  '(at AT TIME ZONE ''Asia/Kolkata'')::date = ''2026-02-03''', 'at AT TIME ZONE ''UTC'' < ''2026-01-03''',
  'at AT TIME ZONE ''MSK'' < ''2026-01-03''',
  'date_trunc(''day'', at) = ''2026-02-03''', 'date_trunc(''day'', at) = ''2026-02-03''::date',
  'date_trunc(''week'', at) = ''2026-02-02''', 'date_trunc(''month'', at) = ''2026-02-01''',
  'date_trunc(''quarter'', at) >= ''2026-04-01''', 'date_trunc(''year'', at) = ''2025-01-01''',
  'date_trunc(''hour'', at) = ''2026-02-03 05:00''', 'date_trunc(''minutes'', at) = ''2026-02-03 05:00''',
  'date_trunc(''day'', at, ''Asia/Tokyo'') = ''2026-02-03 Asia/Tokyo''', 'date_trunc(''century'', at) = ''2001-01-01''',
  'date_trunc(''day'', at AT TIME ZONE ''UTC'') AT TIME ZONE ''UTC'' = ''2026-02-03 UTC''',
  '(at - interval ''4 hours'')::date = ''2026-02-03''', 'at + interval ''1 day'' >= ''2026-04-09''',
  'at - interval ''1 month'' >= ''2026-03-01''', 'at::date + interval ''1 day'' = ''2026-02-04''',
  '''2026-04-10''::timestamptz - at < interval ''1 day''', 'at - ''2026-01-01''::timestamptz < interval ''1 day''',
  '''2026-04-10''::date - at::date = 7', 'at::timestamp - ''2026-01-01'' < interval ''1 day''',
  'extract(epoch FROM at) >= 1775600000', 'date_part(''epoch'', at) BETWEEN 1775600000 AND 1775603600',
  'extract(epoch FROM ''2026-04-10''::timestamptz - at) < 3600', 'extract(dow FROM at) = 1',
  'n < 10 AND at::date = ''2026-01-01''', 'NOT at::date < ''2026-04-09''',
  'at::date = ''infinity''', 'at::date < ''infinity''', 'at::date > ''-infinity''', 'at::date >= ''5874897-12-31''', 'at::date < NULL',
  'at::timestamp < ''4714-11-24 BC''', 'at + interval ''150000 years'' > ''152026-04-09''',
  '''2026-03-01''::date + (''2026-03-01''::date - at::date) = ''2026-02-20''', '(at::date + 106751991) + 1000000000 = ''2026-02-03''::date + 1106751991',
  'at::date + 2145000003 = ''2026-02-03''::date + 2145000003', 'at - interval ''100000000000.000003 s'' = ''2026-02-03 UTC''::timestamptz - interval ''100000000000.000003 s''',
  'now() - at < interval ''170000000 years''', 'extract(epoch FROM at) < ''NaN''', 'extract(epoch FROM at) < ''-Infinity''',
  'date_part(''epoch'', at) < ''Infinity''', 'date_part(''epoch'', at) < 1e300', 'at::date = date_trunc(''day'', at)',
  'at AT TIME ZONE NULL > ''2026-01-01''']) c;

-- the session's zone of each execution counts
SET plan_cache_mode = force_generic_plan;
PREPARE of_day(date) AS SELECT count(*), min(at AT TIME ZONE 'UTC') FROM visits WHERE at::date = $1;
PREPARE of_zone(text) AS SELECT count(*), min(at AT TIME ZONE 'UTC') FROM visits WHERE (at AT TIME ZONE $1)::date = '2026-02-03';
EXECUTE of_day('2026-02-03');
EXECUTE of_zone('UTC');
SET timezone = 'Pacific/Apia';
EXECUTE of_day('2026-02-03');
EXECUTE of_zone('X+100');
SET timezone = 'X+100';
EXECUTE of_day('2026-02-03');
EXECUTE of_zone(NULL);
EXECUTE of_zone('Nowhere');
RESET plan_cache_mode;
SET timezone = 'UTC';

-- Nobody asks for the zone where there is no row, or no value
CREATE TABLE empty_visit (LIKE visit INCLUDING ALL);
SELECT count(*) FROM empty_visit WHERE comb_timestamp(id) AT TIME ZONE 'Nowhere' >= '2026-02-03';
SELECT count(*) FROM empty_visit WHERE date_trunc('nothing', comb_timestamp(id)) >= '2026-02-03';
SELECT count(*) FROM empty_visit WHERE comb_timestamp(id) - interval '170000000 years' >= '2026-02-03';
SELECT count(*) FROM visit WHERE comb_timestamp(id) AT TIME ZONE 'Nowhere' >= '2026-02-03';
SELECT count(*) FROM visit WHERE date_trunc('nothing', comb_timestamp(id)) >= '2026-02-03';

-- Days of another table
CREATE TABLE days AS SELECT day::date FROM generate_series('2026-02-03'::date, '2026-02-05', '1 day') day;
ANALYZE days;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_seqscan = on;
EXPLAIN (COSTS OFF) SELECT day, n FROM days JOIN visits ON at::date = day;
SELECT day, count(*) FROM days JOIN visits ON at::date = day GROUP BY day ORDER BY day;
RESET enable_hashjoin;
RESET enable_mergejoin;
SELECT count(*), count(day) FROM visits LEFT JOIN LATERAL (SELECT day FROM days
    WHERE (at, id) < ('2026-01-02', 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid) AND at::date > '2025-12-31') s ON true
WHERE at < '2026-01-03';
SET enable_seqscan = off;

-- Layouts, behind version 4, partitions, UNION ALL
CREATE TABLE behind (id uuid PRIMARY KEY, n int);
INSERT INTO behind SELECT gen_random_uuid(), -n FROM generate_series(1, 1000) n;
INSERT INTO behind SELECT comb_convert(id, 'uuidv7', 'behind_v4'), n FROM visit;
CREATE TABLE mssql (id uuid, n int);
INSERT INTO mssql SELECT comb_convert(id, 'uuidv7', 'rtcomb_sql'), n FROM visit;
CREATE INDEX ON mssql (id comb_mssql_ops);
CREATE TABLE parted (id uuid PRIMARY KEY, n int) PARTITION BY RANGE (id);
SELECT comb_min('2026-02-01') AS february \gset
CREATE TABLE january PARTITION OF parted FOR VALUES FROM (MINVALUE) TO (:'february');
CREATE TABLE later PARTITION OF parted FOR VALUES FROM (:'february') TO (MAXVALUE);
INSERT INTO parted SELECT * FROM visit;
CREATE VIEW both_visits AS SELECT comb_timestamp(id) AS at, n FROM visit UNION ALL SELECT comb_timestamp(id, 'behind_v4'), n FROM behind;
ANALYZE;
SELECT reads('comb_timestamp(id, ''behind_v4'')::date < ''2026-01-03''', 'behind');
SET enable_bitmapscan = off;
SELECT reads('comb_timestamp(id, ''rtcomb_sql'')::date = ''2026-02-03''', 'mssql');
RESET enable_bitmapscan;
SELECT reads('comb_timestamp(id)::date = ''2026-02-03''', 'parted');
EXPLAIN (COSTS OFF) SELECT n FROM parted WHERE date_trunc('day', comb_timestamp(id), 'UTC') = '2026-02-03 UTC';
EXPLAIN (COSTS OFF) SELECT n FROM both_visits WHERE at::date = '2026-02-03';

-- Row security lets the index be used
CREATE ROLE regress_wrapped;
GRANT USAGE ON SCHEMA wrapped TO regress_wrapped;
GRANT SELECT ON visit TO regress_wrapped;
ALTER TABLE visit ENABLE ROW LEVEL SECURITY;
CREATE POLICY even ON visit USING (n % 2 = 0);
SET ROLE regress_wrapped;
EXPLAIN (COSTS OFF) SELECT n FROM visit WHERE comb_timestamp(id)::date = '2026-02-03';
RESET ROLE;
DROP POLICY even ON visit;
ALTER TABLE visit DISABLE ROW LEVEL SECURITY;

-- An index on what the functions make is used as before
CREATE INDEX by_day ON visit (((comb_timestamp(id) AT TIME ZONE 'UTC')::date));
ANALYZE visit;
EXPLAIN (COSTS OFF) SELECT n FROM visits WHERE (at AT TIME ZONE 'UTC')::date = '2026-02-03';
DROP INDEX by_day;

-- The functions are those of anybody, and check what they get
SELECT comb_unwrap('2026-02-03'::date, 3, 'date(timestamptz)', NULL::timestamptz) AS day,
  comb_unwrap('2026-02-03'::date, 5, 'date(timestamptz)', NULL::timestamptz) AS later,
  comb_unwrap('2026-02-03'::date, 1, 'date(timestamptz)', NULL::timestamptz) AS before;
SELECT comb_unwrap('a'::text, 3, 'date(timestamptz)', NULL::timestamptz) AS open;
SELECT num_nulls(comb_unwrap(NULL::date, 3, 'date(timestamptz)', NULL::timestamptz), comb_unwrap(now(), NULL, 'date(timestamptz)', NULL::timestamptz),
  comb_unwrap(now(), 3, NULL, NULL::timestamptz), comb_unwrap(now(), 3, 'now()', NULL::timestamptz),
  comb_unwrap(now(), 3, 'date(timestamptz)', NULL::text), comb_unwrap(now(), 3, 'date(timestamptz)', now()),
  comb_unwrap(now(), 3, 'date(timestamptz)', NULL::timestamptz, now()), comb_unwrap(now(), 3, 'timezone(text,timestamptz)', NULL::text, NULL::timestamptz)) AS eight;
SELECT num_nulls(comb_unwrap(now(), 3, 'date_trunc(text,timestamptz)', NULL::text, now()), comb_unwrap(now(), 3, 'date_trunc(text,timestamptz,text)', 'day'::text, now(), NULL::text),
  comb_unwrap(now(), 3, 'timezone(text,timestamptz)', NULL::text, now()), comb_unwrap(now(), 3, 'timestamptz_pl_interval(timestamptz,interval)', now(), NULL::interval),
  comb_unwrap(now(), 3, 'timestamptz_mi_interval(timestamptz,interval)', now(), NULL::interval)) AS five;
-- A call remembers its last result, for the same arguments in the same zone
SELECT comb_unwrap(day, 3, 'date(timestamptz)', NULL::timestamptz) AS day
FROM (SELECT set_config('timezone', zone, true), day::date FROM (VALUES (1, 'UTC', '2026-02-03'), (2, 'UTC', '2026-02-03'), (3, 'UTC', '2026-02-04'), (4, 'UTC', NULL),
    (5, 'UTC', '2026-02-04'), (6, 'Asia/Tokyo', '2026-02-04')) v(n, zone, day) ORDER BY n OFFSET 0) s;
RESET search_path;
SET client_min_messages = warning;
DROP SCHEMA wrapped CASCADE;
DROP ROLE regress_wrapped;
