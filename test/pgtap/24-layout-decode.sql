-- Reading and stamping keys of every layout
--
-- Every run draws other values.  A failure names the seed; to repeat the run, use
--     pg_prove --set seed=0.123456 ... test/pgtap/24-layout-decode.sql
-- With --set random=10000000 the test reads 10 million random uuids in each
-- layout.
SET client_min_messages = warning;
SET timezone = 'UTC';
BEGIN;
CREATE EXTENSION IF NOT EXISTS pgtap;
CREATE EXTENSION IF NOT EXISTS pg_comb;

\ir include/seed.sql
\if :{?random}
\else
\set random 100000
\endif

SELECT plan(19);

CREATE TEMP TABLE layouts AS SELECT * FROM comb_layouts();

--
-- Instants: which time comes back, for each kind of unit
--
-- The longest unit, and whether the unit is a whole number of microseconds
CREATE TEMP TABLE units (resolution text, longest interval, whole boolean);
INSERT INTO units VALUES ('1 ms', '1 ms', true), ('1/300 s', '3.334 ms', false),
                         ('3.333333 ms', '3.334 ms', false), ('100 ns', '1 us', true);
SELECT results_eq('SELECT DISTINCT resolution FROM layouts ORDER BY 1',
                  'SELECT resolution FROM units ORDER BY 1', 'these are the units');

CREATE TEMP TABLE instants AS
SELECT layout, resolution, i.at, longest, whole
FROM layouts JOIN units USING (resolution), LATERAL (
  SELECT date_trunc('microseconds', earliest + random() * (latest - earliest)) FROM generate_series(1, 3000)
  UNION ALL
  SELECT timestamptz '2026-11-20' + (random() * 86399999999::bigint)::bigint * interval '1 us' FROM generate_series(1, 3000)
  -- every position of a second in a unit
  UNION ALL
  SELECT timestamptz '2026-11-20 04:22:18' + u * interval '1 us' FROM generate_series(0, 999999, 97) u
  -- the last 10 ms of a day and the first 10 ms of the next day
  UNION ALL
  SELECT timestamptz '2026-11-20' + u * interval '1 us' FROM generate_series(-10000, 10000, 3) u
  -- the first microseconds where NHibernate's floating point differs from exact arithmetic
  UNION ALL
  SELECT timestamptz '2026-11-20' + (us + d) * interval '1 us'
  FROM unnest('{23333331, 43333329, 46666662}'::int[]) us, generate_series(-5, 5) d
  UNION ALL
  SELECT unnest(ARRAY[earliest, latest, earliest + interval '1 us', latest - interval '1 us'])
) i (at) WHERE i.at BETWEEN earliest AND latest;

CREATE TEMP TABLE stamped AS
SELECT layout, resolution, at, longest, whole, b.base, comb_stamp(b.base, at, layout) AS id
FROM instants, LATERAL (VALUES (md5(random()::text || at)::uuid),
                               ('00000000-0000-0000-0000-000000000000'),
                               ('ffffffff-ffff-ffff-ffff-ffffffffffff')) b (base);
ALTER TABLE stamped ADD got timestamptz;
UPDATE stamped SET got = comb_timestamp(id, layout);
SELECT cmp_ok(count(*), '>', 1000000::bigint, 'enough of them') FROM stamped;
SELECT is_empty('SELECT * FROM stamped WHERE got IS NULL LIMIT 3', 'what comb_stamp makes has a time' || :'why');
SELECT is_empty('SELECT * FROM stamped WHERE got > at OR got <= at - longest LIMIT 3',
                'the start of the unit that the instant is in' || :'why');
SELECT is_empty(
  $$ SELECT * FROM stamped
     WHERE got <> date_trunc(CASE resolution WHEN '1 ms' THEN 'milliseconds' ELSE 'microseconds' END, at)
       AND whole LIMIT 3 $$,
  'which is the instant cut off where units are whole microseconds' || :'why');
SELECT is_empty('SELECT * FROM stamped WHERE comb_stamp(base, got, layout) <> id LIMIT 3',
                'encode(decode(x)) = x' || :'why');
SELECT is_empty('SELECT * FROM stamped WHERE comb_stamp(id, got, layout) <> id LIMIT 3',
                'a key stamped with its own time is itself' || :'why');
SELECT is_empty('SELECT * FROM stamped WHERE comb_stamp(id, at, layout) <> id LIMIT 3',
                'and stamped again' || :'why');
SELECT is_empty(
  $$ SELECT * FROM (SELECT layout, got, lag(got) OVER (PARTITION BY layout ORDER BY at) AS before FROM stamped) s
     WHERE got < before LIMIT 3 $$,
  'a later instant has no earlier time' || :'why');
-- 1/300 s counted by division, and NHibernate's expression in float8
SELECT is_empty(
  $$ SELECT * FROM (SELECT *, extract(epoch FROM (at AT TIME ZONE 'UTC')::time)::numeric * 1000000 AS us,
                           (at AT TIME ZONE 'UTC')::date - date '1900-01-01' AS days FROM stamped) s
     WHERE layout IN ('rtcomb_legacy', 'nhibernate')
       AND right(id::text, 12) <> lpad(to_hex(days), 4, '0')
         || lpad(to_hex(CASE layout WHEN 'rtcomb_legacy' THEN floor(us * 3 / 10000)
                        ELSE floor((us::float8 * 10 / 10000::float8) / 3.333333::float8) END::bigint), 8, '0') LIMIT 3 $$,
  'fields of days and units are what the originals compute' || :'why');

-- Stamping changes only the time field and a version that the layout demands.
-- Two bases stamped with the same time therefore differ where the bases differ.
CREATE TEMP TABLE masks AS
SELECT layout, ('x' || replace(comb_stamp('00000000-0000-0000-0000-000000000000', latest, layout)::text, '-', ''))::bit(128)
             # ('x' || replace(comb_stamp('00000000-0000-0000-0000-000000000000', earliest, layout)::text, '-', ''))::bit(128) AS written,
       ('x' || replace(comb_stamp('00000000-0000-0000-0000-000000000000', earliest, layout)::text, '-', ''))::bit(128)
     # ('x' || replace(comb_stamp('ffffffff-ffff-ffff-ffff-ffffffffffff', earliest, layout)::text, '-', ''))::bit(128) AS kept
FROM layouts;
SELECT bag_eq(
  $$ SELECT l.layout, (length(replace(kept::text, '0', '')))::int FROM masks m JOIN layouts l USING (layout) $$,
  $$ SELECT layout, CASE WHEN layout = 'uuidv7' THEN 74
                               WHEN layout IN ('uuidv1', 'uuidv6', 'newsequentialid') THEN 62
                               WHEN layout IN ('morris', 'efcore', 'masstransit', 'masstransit_sequential') THEN 64
                               ELSE 80 END FROM layouts $$,
  'so many bits are not the time''s nor a demanded version''s');
SELECT is_empty(
  $$ SELECT s.layout, base, id FROM stamped s JOIN masks USING (layout)
     WHERE (('x' || replace(id::text, '-', ''))::bit(128) & kept)
        <> (('x' || replace(base::text, '-', ''))::bit(128) & kept) LIMIT 3 $$,
  'and these stay' || :'why');

--
-- Random and special uuids: reading raises no error and stays inside the limits
--
CREATE TEMP TABLE verdict (layout text, n bigint, valid bigint, outside bigint, changed bigint);
CREATE FUNCTION pg_temp.decode_random(n bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  block bigint;
BEGIN
  WHILE n > 0 LOOP
    block := least(n, 100000);
    INSERT INTO verdict
    SELECT layout, count(*), count(at), count(*) FILTER (WHERE NOT at BETWEEN earliest AND latest),
           count(*) FILTER (WHERE comb_stamp(id, at, layout) <> id)
    FROM (SELECT layout, earliest, latest, id, comb_timestamp(id, layout) AS at
          FROM (SELECT md5(random()::text || i)::uuid AS id FROM generate_series(n - block + 1, n) i OFFSET 0) r, layouts OFFSET 0) d
    GROUP BY layout;
    n := n - block;
  END LOOP;
END $$;
SELECT lives_ok('SELECT pg_temp.decode_random(' || :random || ')', 'random uuids are read without an error');
SELECT is_empty(
  'SELECT layout, sum(n) FROM verdict GROUP BY 1 HAVING sum(n) <> ' || :random,
  'as many as asked for, in every layout');
SELECT is_empty('SELECT * FROM verdict WHERE outside > 0 OR changed > 0',
                'inside the limits, and encode(decode(x)) = x' || :'why');
-- The share of random uuids with a time: 1 of 64 has the version and variant, 1 of
-- 2 has a top bit of 0, and of 4294.97 million values 25.92 million are units of a
-- day
SELECT is_empty(
  $$ SELECT layout, sum(valid) / sum(n) FROM verdict JOIN layouts USING (layout) GROUP BY 1, resolution
     HAVING NOT sum(valid) / sum(n) BETWEEN
       CASE WHEN layout IN ('uuidv7', 'uuidv1', 'uuidv6', 'newsequentialid') THEN 0.013
            WHEN resolution = '1 ms' THEN 1 WHEN resolution = '100 ns' THEN 0.48 ELSE 0.0045 END AND
       CASE WHEN layout IN ('uuidv7', 'uuidv1', 'uuidv6', 'newsequentialid') THEN 0.018
            WHEN resolution = '1 ms' THEN 1 WHEN resolution = '100 ns' THEN 0.52 ELSE 0.0075 END $$,
  'as many of them have a time as there are fields that an encoder writes' || :'why');
SELECT is(string_agg(layout, ' ' ORDER BY layout COLLATE "C"), 'newsequentialid uuidv1 uuidv6 uuidv7',
          'nil has no time where a version is demanded')
FROM layouts WHERE comb_timestamp('00000000-0000-0000-0000-000000000000', layout) IS NULL;
SELECT is(string_agg(layout, ' ' ORDER BY layout COLLATE "C"),
          'rtcomb_binary rtcomb_postgresql rtcomb_sql sequential_binary sequential_end sequential_string ulid',
          'all ones have one where the unit is a millisecond and no version is demanded')
FROM layouts WHERE comb_timestamp('ffffffff-ffff-ffff-ffff-ffffffffffff', layout) IS NOT NULL;

-- A day's last unit is 25919999, and NHibernate's last unit is 25920002
SELECT results_eq(
  $$ SELECT unit, comb_timestamp(id, 'rtcomb_legacy'), comb_timestamp(id, 'nhibernate')
     FROM (SELECT unit, ('919108f7-52d1-4320-9bac-b0ea' || lpad(to_hex(unit), 8, '0'))::uuid AS id
           FROM unnest('{25919999, 25920000, 25920002, 25920003, -1}'::int[]) unit) f $$,
  $$ VALUES (25919999, timestamptz '2024-01-01 23:59:59.996667', timestamptz '2024-01-01 23:59:59.988027'),
            (25920000, NULL, '2024-01-01 23:59:59.99136'),
            (25920002, NULL, '2024-01-01 23:59:59.998027'),
            (25920003, NULL, NULL), (-1, NULL, NULL) $$,
  'units past midnight are none');

SELECT * FROM finish();
ROLLBACK;
