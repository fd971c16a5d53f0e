-- Every published or computed key of test/data/: read the key, and make it again
SET client_min_messages = warning;
SET timezone = 'UTC';
BEGIN;
CREATE EXTENSION IF NOT EXISTS pgtap;
CREATE EXTENSION IF NOT EXISTS pg_comb;

SELECT plan(16);

CREATE TEMP TABLE vectors (layout text, id uuid, at timestamptz, source text, kind text);
\copy vectors FROM 'test/data/vectors.csv' CSV HEADER
CREATE TEMP TABLE encode_vectors (layout text, base text, at timestamptz, id uuid, source text);
\copy encode_vectors FROM 'test/data/encode_vectors.csv' CSV HEADER

SELECT is(count(*), 155::bigint, 'all vectors are loaded') FROM vectors;
SELECT is(count(*), 105::bigint, 'all encode vectors are loaded') FROM encode_vectors;

-- Three labels come from another program.  Two of them have the fields of layouts
-- of ours.  pg_comb does not have the third, with version 8.
UPDATE vectors SET layout = 'efcore' WHERE layout = 'guid_sql_legacy_ticks';
UPDATE vectors SET layout = 'masstransit_sequential' WHERE layout = 'guid_legacy_ticks';
SELECT is(string_agg(layout, ', '), 'guidv8time', 'the other labels are those of comb_layouts()')
FROM (SELECT layout FROM vectors UNION SELECT layout FROM encode_vectors) l
WHERE layout <> ALL (SELECT l.layout FROM comb_layouts() l);
DELETE FROM vectors WHERE layout = 'guidv8time';

-- Reading
CREATE TEMP TABLE read AS
SELECT layout, id, at, comb_timestamp(id, layout) AS got, source
FROM vectors;
SELECT is_empty('SELECT * FROM read WHERE got IS NULL', 'every vector has a time');
SELECT is_empty(
  $$ SELECT * FROM read WHERE got <> at
     AND layout NOT IN ('rtcomb_legacy', 'rtcomb_postgresql_datetime', 'rtcomb_binary_datetime', 'nhibernate') $$,
  'fields of whole units are read exactly');
-- the vectors round 1/300 s to the nearest microsecond, comb_timestamp rounds up
SELECT is_empty(
  $$ SELECT * FROM read WHERE NOT got - at BETWEEN '0 us' AND '1 us'
     AND layout IN ('rtcomb_legacy', 'rtcomb_postgresql_datetime', 'rtcomb_binary_datetime') $$,
  'fields of 1/300 s are read within a microsecond');
-- the vectors have NHibernate's field as SQL Server reads the field
SELECT is_empty(
  $$ SELECT * FROM read WHERE NOT at - got BETWEEN '0 ms' AND '8.7 ms'
     AND layout = 'nhibernate' $$,
  'NHibernate''s fields are read 8.7 ms or less before SQL Server''s reading');
-- The application sends a message soon after it makes the key
SELECT is_empty(
  $$ SELECT * FROM (SELECT *, (regexp_match(source,
       '(?:input time |TimeSent header |t=)(\d+-\d+-\d+ \d+:\d+:[\d.]+)'))[1]::timestamptz AS made FROM read) r
     WHERE layout = 'nhibernate' AND (NOT made - got BETWEEN '0 ms' AND '15 ms') IS NOT FALSE $$,
  'NHibernate''s fields are never read later than what they were made from');
SELECT is_empty(
  $$ SELECT * FROM read WHERE comb_stamp(id, got, layout) <> id $$,
  'stamped with its own time a vector is itself');
SELECT is_empty(
  $$ SELECT * FROM read
     WHERE comb_timestamp(comb_stamp('00000000-0000-0000-0000-000000000000', got, layout),
                          layout) <> got $$,
  'nil stamped with its time has that time');

-- Writing
-- The vectors of NewId have a worker instead of a base uuid.  Their other bits
-- come from the key itself, stamped with another time.
UPDATE encode_vectors SET base = comb_stamp(id, '2001-02-03', layout)
WHERE base LIKE 'worker %';
SELECT is_empty(
  $$ SELECT * FROM (SELECT *, comb_stamp(base::uuid, at, layout) AS got FROM encode_vectors) e
     WHERE got <> id $$,
  'every encode vector is stamped bit by bit');
SELECT is_empty(
  $$ SELECT * FROM encode_vectors
     WHERE (comb_timestamp(id, layout) > at) IS NOT FALSE
        OR at - comb_timestamp(id, layout) > '3.334 ms' $$,
  'and read back as the start of its unit');

-- Recognizing: comb_inspect must list the layout that made the value
SELECT is_empty(
  $$ SELECT * FROM read
     WHERE NOT EXISTS (SELECT FROM comb_inspect(id, '0001-01-01', '29000-01-01') c
                       WHERE c.layout = read.layout AND c.created = got) $$,
  'comb_inspect names the layout of every vector');
SELECT is_empty(
  $$ SELECT * FROM read WHERE EXISTS (SELECT FROM comb_inspect(id, got + '1 us', '29000-01-01') c
                                      WHERE c.layout = read.layout)
                           OR EXISTS (SELECT FROM comb_inspect(id, '0001-01-01', got - '1 us'::interval) c
                                      WHERE c.layout = read.layout) $$,
  'but not outside the window');
SELECT is_empty(
  $$ SELECT id, array_agg(layout) FROM vectors WHERE at > '2000-01-01' AND at < '2040-01-01'
     GROUP BY id HAVING (SELECT count(*) FROM comb_inspect(id, '2000-01-01', '2040-01-01')) > 8 $$,
  'comb_inspect''s sets are small');
SELECT ok(bool_and(created BETWEEN '2000-01-01' AND '2040-01-01'), 'all in the window')
FROM vectors, comb_inspect(id, '2000-01-01', '2040-01-01');

SELECT * FROM finish();
ROLLBACK;
