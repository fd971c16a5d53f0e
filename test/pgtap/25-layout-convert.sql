-- Converting keys from one layout to another
--
-- Every run draws other values.  A failure names the seed; to repeat the run, use
--     pg_prove --set seed=0.123456 ... test/pgtap/25-layout-convert.sql
SET client_min_messages = warning;
SET timezone = 'UTC';
BEGIN;
CREATE EXTENSION IF NOT EXISTS pgtap;
CREATE EXTENSION IF NOT EXISTS pg_comb;
SET LOCAL max_parallel_workers_per_gather = 0;

\ir include/seed.sql

SELECT plan(15);

\ir include/in_order.sql

CREATE TEMP TABLE layouts AS
SELECT layout, generates, sorts_in, resolution,
       CASE WHEN layout IN ('uuidv7') THEN 74 WHEN layout IN ('uuidv1', 'uuidv6', 'newsequentialid') THEN 62
            WHEN resolution = '100 ns' THEN 64 ELSE 80 END AS bits,
       CASE resolution WHEN '1 ms' THEN interval '1 ms' WHEN '100 ns' THEN '1 us' ELSE '3.335 ms' END AS longest
FROM comb_layouts();

-- Keys of each source at a few instants: some microseconds apart, where
-- NHibernate's units overtake units of 1/300 s, and at random.  Some keys have the
-- version of new keys, others have any bits.
CREATE TEMP TABLE instants AS
SELECT at FROM (SELECT timestamptz '2026-11-20 00:00:03.33' + u * interval '1 us' FROM generate_series(0, 4000, 13) u
                UNION ALL
                SELECT timestamptz '2026-11-20' + (9999000 + u) * interval '3.333333 ms' FROM generate_series(0, 60) u
                UNION ALL
                SELECT timestamptz '1990-01-01' + random() * interval '80 years' FROM generate_series(1, 200)) i (at);
CREATE TEMP TABLE keys AS
SELECT layout AS source, at, true AS new, comb_at(at, layout) AS id FROM layouts, instants WHERE generates
UNION ALL
SELECT layout, at, false, comb_stamp(md5(random()::text || at)::uuid, at, layout) FROM layouts, instants;
CREATE TEMP TABLE pairs AS
SELECT k.*, t.layout AS target, comb_convert(id, source, t.layout) AS converted,
       pg_temp.in_order(id, s.sorts_in) AS k, pg_temp.in_order(comb_convert(id, source, t.layout), t.sorts_in) AS k_converted,
       s.resolution AS unit, t.resolution AS target_unit, s.bits, t.bits AS target_bits, s.sorts_in, t.sorts_in AS target_sorts_in,
       greatest(s.longest, t.longest) AS longest
FROM keys k JOIN layouts s ON s.layout = source, layouts t;
ANALYZE pairs;
SELECT cmp_ok(count(*), '>', 300000::bigint, 'enough of them') FROM pairs;

SELECT is_empty('SELECT source, target, id FROM pairs WHERE converted IS NULL LIMIT 3', 'all can be converted' || :'why');
SELECT is_empty('SELECT source, target, id FROM pairs WHERE source = target AND converted <> id LIMIT 3',
                'converting into the same layout changes nothing' || :'why');
SELECT is_empty(
  $$ SELECT source, target, id, converted FROM pairs
     WHERE comb_timestamp(converted, target) IS DISTINCT FROM
           comb_timestamp(comb_stamp('00000000-0000-0000-0000-000000000000', comb_timestamp(id, source), target), target) LIMIT 3 $$,
  'the instant is the same, cut off to the target''s unit' || :'why');
SELECT is_empty(
  $$ SELECT source, target, id, converted FROM pairs
     WHERE unit = target_unit AND target_bits >= bits AND comb_convert(converted, target, source) <> id LIMIT 3 $$,
  'same unit and enough free bits: converting back gives the same key' || :'why');
-- converting back restores the version of new keys, even through a layout whose
-- own version takes its place
SELECT is_empty(
  $$ SELECT source, target, id, converted FROM pairs
     WHERE unit = target_unit AND new AND target = 'uuidv7' AND source::text LIKE 'rtcomb%'
       AND comb_convert(converted, target, source) <> id LIMIT 3 $$,
  'version 4 and back, through version 7' || :'why');
SELECT ok(count(*) FILTER (WHERE unit = target_unit AND target_bits >= bits AND source <> target AND new) > 10000
          AND count(*) FILTER (WHERE unit = target_unit AND target_bits >= bits AND source <> target AND NOT new) > 10000,
          'there are such keys' || :'why')
FROM pairs;

-- Keys keep their order: before in the source's order, afterwards in the target's
SELECT is_empty(
  $$ SELECT * FROM (SELECT source, target, id, converted, k_converted,
                           lag(k_converted) OVER (PARTITION BY source, target ORDER BY k) AS before
                    FROM pairs WHERE new AND target_sorts_in IS NOT NULL) lagged
     WHERE k_converted <= before LIMIT 3 $$,
  'new keys keep their order and stay distinct' || :'why');
SELECT is_empty(
  $$ SELECT * FROM (SELECT source, target, id, converted, k_converted,
                           lag(k_converted) OVER (PARTITION BY source, target ORDER BY k) AS before
                    FROM pairs WHERE NOT new AND sorts_in IS NOT NULL AND target_sorts_in IS NOT NULL
                      AND source NOT IN ('efcore', 'nhibernate') AND source::text NOT LIKE 'rtcomb%') lagged
     WHERE k_converted <= before LIMIT 3 $$,
  'and so do any where no version is left out of the order' || :'why');

-- Ten thousand keys, 100 ns apart, in units that hold thousands of them
CREATE TEMP TABLE fine AS
SELECT n, comb_convert(('ac210700-c656-4cf2-' || right(lpad(to_hex(field), 16, '0'), 4) || '-'
                        || left(lpad(to_hex(field), 16, '0'), 12))::uuid, 'morris', t.layout) AS id,
       layout, sorts_in
FROM (SELECT n, 639084490271870091 + n AS field FROM generate_series(1, 10000) n) f, layouts t;
SELECT is_empty(
  $$ SELECT layout FROM fine GROUP BY 1 HAVING count(DISTINCT id) < 10000 $$,
  'ten thousand of 100 ns stay distinct in every layout');
SELECT is_empty(
  $$ SELECT layout, n FROM (SELECT layout, n, pg_temp.in_order(id, sorts_in) AS k,
                                   lag(pg_temp.in_order(id, sorts_in)) OVER (PARTITION BY layout ORDER BY n) AS before
                            FROM fine WHERE sorts_in IS NOT NULL) lagged
     WHERE k <= before LIMIT 3 $$,
  'and in order');
SELECT is(count(DISTINCT comb_timestamp(id, layout)), 2::bigint, 'in two milliseconds')
FROM fine WHERE layout = 'uuidv7';

-- The target writes the version of new keys, unless all bits come from the source
SELECT is_empty(
  $$ SELECT source, target, converted FROM pairs
     WHERE new AND unit <> target_unit
       AND (target::text LIKE 'rtcomb%' OR target IN ('nhibernate', 'efcore'))
       AND substr(converted::text, 15, 1) <> '4' LIMIT 3 $$,
  'from another unit keys have the version of new ones' || :'why');
SELECT is_empty(
  $$ SELECT source, target, converted FROM pairs
     WHERE new AND unit = target_unit AND source::text LIKE 'rtcomb%' AND target::text LIKE 'rtcomb%'
       AND substr(converted::text, 15, 1) <> '4' LIMIT 3 $$,
  'and among those of version 4 keep it' || :'why');

-- comb_inspect finds the layout of a converted key
SELECT is_empty(
  $$ SELECT source, target, converted FROM pairs
     WHERE new AND at > '2026-11-20' AND source = 'uuidv7'
       AND NOT EXISTS (SELECT FROM comb_inspect(converted, '1900-01-01', '2100-01-01') c WHERE c.layout = target) LIMIT 3 $$,
  'comb_inspect names the target' || :'why');

SELECT * FROM finish();
ROLLBACK;
