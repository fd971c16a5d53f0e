-- Bounds of every layout, in the order of the layout's database
--
-- Every run draws other values.  A failure names the seed; to repeat the run, use
--     pg_prove --set seed=0.123456 ... test/pgtap/23-layout-bounds.sql
-- Each row is one instant, so --set n=100000 makes a deep run.
SET client_min_messages = warning;
SET timezone = 'UTC';
BEGIN;
CREATE EXTENSION IF NOT EXISTS pgtap;
CREATE EXTENSION IF NOT EXISTS pg_comb;

\ir include/seed.sql
\if :{?n}
\else
\set n 150
\endif

SELECT plan(13);

\ir include/in_order.sql

CREATE TEMP TABLE layouts AS
SELECT layout, sorts_in, earliest, latest FROM comb_layouts() WHERE sorts_in IS NOT NULL;
SELECT is(count(*), 17::bigint, 'as many layouts sort by time') FROM layouts;

-- Instants: anywhere in the layout, whole milliseconds and times between them,
-- the last units of a day, its first units, around both ends, and outside
CREATE TEMP TABLE instants AS
SELECT layout, sorts_in, earliest, latest, i.at
FROM layouts, LATERAL (
  SELECT date_trunc(CASE n % 3 WHEN 0 THEN 'milliseconds' WHEN 1 THEN 'seconds' ELSE 'microseconds' END,
                    earliest + random() * (latest - earliest))
  FROM generate_series(1, :n) n
  UNION ALL
  SELECT timestamptz '2026-11-20' + (random() * 3e8)::int * interval '10 us' FROM generate_series(1, :n)
  UNION ALL
  SELECT timestamptz '2026-11-20' + d * interval '1 us' FROM generate_series(-11000, 10000, 331) d
  UNION ALL
  SELECT timestamptz '2026-11-20' + (u + d) * interval '1 us'
  FROM unnest('{23333331, 43333329, 46666662}'::int[]) u, generate_series(-2, 2) d
  UNION ALL
  SELECT e + d * interval '1 us' FROM unnest(ARRAY[earliest, latest]) e,
         unnest('{-3334, -3333, -1001, -1000, -1, 0, 1, 999, 1000, 3333, 3334}'::int[]) d
  UNION ALL
  SELECT unnest('{-infinity, infinity, 4000-01-01 BC, 200000-01-01}'::timestamptz[])
) i (at);
ANALYZE instants;

-- Beyond the ends of a layout there is no key for a bound.  The bound is an error if
-- the nil uuid, or the uuid of all ones, is a key; here it is then NULL.
CREATE FUNCTION pg_temp.bound(name text, at timestamptz, layout text) RETURNS uuid LANGUAGE plpgsql AS $$
BEGIN
  RETURN CASE name WHEN 'min' THEN comb_min(at, layout) ELSE comb_max(at, layout) END;
EXCEPTION WHEN datetime_field_overflow THEN
  RETURN NULL;
END $$;
ALTER TABLE instants ADD min uuid, ADD max uuid;
UPDATE instants SET min = pg_temp.bound('min', at, layout), max = pg_temp.bound('max', at, layout);
ANALYZE instants;

-- A unit can be longer than a microsecond.  The neighbours of an instant are
-- therefore the start of its unit and the starts of the next and the previous
-- unit, each with the smallest, the largest and some other bits.
CREATE TEMP TABLE keys AS
SELECT layout, sorts_in, at, min, max, comb_stamp(b.base, i.near, layout) AS id, i.near
FROM (SELECT layout, sorts_in, at, min, max, greatest(least(at + d * interval '1 us', latest), earliest) AS near
      FROM instants, unnest('{-3334, -1000, -1, 0, 1, 1000, 3334}'::int[]) d WHERE isfinite(at)
      UNION ALL
      SELECT layout, sorts_in, at, min, max, e FROM instants, unnest(ARRAY[earliest, latest, '2026-11-20']) e) i,
     LATERAL (VALUES ('00000000-0000-0000-0000-000000000000'::uuid),
                     ('ffffffff-ffff-ffff-ffff-ffffffffffff'), (md5(random()::text || near)::uuid)) b (base)
UNION ALL
SELECT layout, sorts_in, at, min, max, b.id, at
FROM instants, LATERAL (VALUES (min), (max)) b (id)
WHERE b.id NOT IN ('00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff')
UNION ALL
SELECT layout, sorts_in, at, min, max, b.id, at
FROM instants, unnest('{00000000-0000-0000-0000-000000000000, ffffffff-ffff-ffff-ffff-ffffffffffff}'::uuid[]) b (id)
WHERE comb_timestamp(b.id, layout) IS NOT NULL;
ALTER TABLE keys ADD made timestamptz, ADD k uuid, ADD lower uuid, ADD upper uuid;
UPDATE keys SET made = comb_timestamp(id, layout), k = pg_temp.in_order(id, sorts_in),
                lower = pg_temp.in_order(min, sorts_in), upper = pg_temp.in_order(max, sorts_in);
ANALYZE keys;

SELECT is_empty('SELECT * FROM keys WHERE made IS NULL LIMIT 3', 'all keys have a time' || :'why');
SELECT is_empty('SELECT * FROM keys WHERE (made >= at) <> (k >= lower) LIMIT 3',
                'ts >= x if and only if id >= comb_min(x)' || :'why');
SELECT is_empty('SELECT * FROM keys WHERE (made < at) <> (k < lower) LIMIT 3',
                'ts < x if and only if id < comb_min(x)' || :'why');
SELECT is_empty('SELECT * FROM keys WHERE (made <= at) <> (k <= upper) LIMIT 3',
                'ts <= x if and only if id <= comb_max(x)' || :'why');
SELECT is_empty('SELECT * FROM keys WHERE (made > at) <> (k > upper) LIMIT 3',
                'ts > x if and only if id > comb_max(x)' || :'why');
SELECT is_empty(
  $$ SELECT layout FROM layouts EXCEPT
     SELECT layout FROM keys GROUP BY layout
     HAVING bool_or(made < at) AND bool_or(made = at) AND bool_or(made > at)
        AND bool_or(k = lower) AND bool_or(k = upper) $$,
  'every layout has keys before, at and after, and the bounds themselves' || :'why');
SELECT is_empty(
  $$ SELECT * FROM (SELECT layout, at, lag(at) OVER w AS before,
                           pg_temp.in_order(min, sorts_in) AS lower,
                           pg_temp.in_order(max, sorts_in) AS upper,
                           lag(pg_temp.in_order(min, sorts_in)) OVER w AS lower_before,
                           lag(pg_temp.in_order(max, sorts_in)) OVER w AS upper_before
                    FROM instants WINDOW w AS (PARTITION BY layout ORDER BY at)) i
     WHERE lower < lower_before OR upper < upper_before LIMIT 3 $$,
  'a later instant has no smaller bound' || :'why');
SELECT is_empty(
  $$ SELECT layout, at FROM instants
     WHERE at BETWEEN earliest AND latest
       AND (comb_timestamp(max, layout) <= at) IS NOT TRUE LIMIT 3 $$,
  'comb_max has a time at or before the given one' || :'why');
SELECT is_empty(
  $$ SELECT layout, at FROM instants
     WHERE at BETWEEN earliest AND latest AND min <> 'ffffffff-ffff-ffff-ffff-ffffffffffff'
       AND (comb_timestamp(min, layout) >= at) IS NOT TRUE LIMIT 3 $$,
  'comb_min has a time at or after the given one' || :'why');
SELECT is_empty(
  $$ SELECT layout, at FROM instants
     WHERE at < earliest AND max <> '00000000-0000-0000-0000-000000000000'
        OR at > latest AND min <> 'ffffffff-ffff-ffff-ffff-ffffffffffff' LIMIT 3 $$,
  'beyond the ends they are all zeros and all ones' || :'why');
-- the last unit begins less than a unit before the latest instant
SELECT is_empty(
  $$ SELECT layout, at FROM instants
     WHERE (max IS NULL) <> (at < earliest AND comb_timestamp('00000000-0000-0000-0000-000000000000', layout) IS NOT NULL)
        OR (min IS NULL) <> (at > comb_timestamp('ffffffff-ffff-ffff-ffff-ffffffffffff', layout)) IS TRUE LIMIT 3 $$,
  'no bound of a layout is a key with a time on the other side' || :'why');
-- Fields of 100 ns: ten of them are in a microsecond, and comb_max has the last.
-- The 64 bits of the time come first in the layout's order.
SELECT is_empty(
  $$ SELECT layout, at
     FROM (SELECT layout, at, comb_max(at, layout) AS last, comb_min(at + interval '1 us', layout) AS next, sorts_in
           FROM instants WHERE layout IN ('morris', 'efcore', 'masstransit', 'masstransit_sequential')
             AND at BETWEEN '2020-01-01' AND '2030-01-01') bounds
     WHERE ('x' || left(replace((CASE sorts_in WHEN 'SQL Server' THEN comb_mssql_key(last) ELSE last END)::text, '-', ''), 16))::bit(64)::bigint + 1
        <> ('x' || left(replace((CASE sorts_in WHEN 'SQL Server' THEN comb_mssql_key(next) ELSE next END)::text, '-', ''), 16))::bit(64)::bigint
     LIMIT 3 $$,
  'no field of 100 ns is between comb_max and the next comb_min' || :'why');

SELECT * FROM finish();
ROLLBACK;
