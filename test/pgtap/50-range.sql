-- Periods on the key: the answers are the same in every plan, and the estimates
-- are good
--
-- Every run draws other keys and periods.  A failure names the seed; to repeat the
-- run, use
--     pg_prove --set seed=0.123456 ... test/pgtap/50-range.sql
SET client_min_messages = warning;
BEGIN;
CREATE EXTENSION IF NOT EXISTS pgtap;
\if :{?portable}
\else
CREATE EXTENSION IF NOT EXISTS pg_comb;
\endif

\ir include/seed.sql
\if :{?periods}
\else
\set periods 15
\endif
\if :{?keys}
\else
\set keys 2000
\endif
SET LOCAL timezone = 'UTC';
SET LOCAL jit = off;

SELECT no_plan();

--
-- Answers
--

-- 30 days of v7 keys, some rows with v4 and v1 keys that begin with the same bits,
-- some with keys without a time, some with NULL
CREATE TABLE key AS
SELECT n, CASE WHEN kind < 0.6 THEN id
               WHEN kind < 0.7 THEN overlay(id::text PLACING '4' FROM 15 FOR 1)::uuid
               WHEN kind < 0.8 THEN overlay(id::text PLACING '1' FROM 15 FOR 1)::uuid
               WHEN kind < 0.95 THEN md5(random()::text)::uuid
          END AS id
FROM (SELECT n, random() AS kind,
             comb_stamp(md5(random()::text)::uuid,
                        '2026-01-01'::timestamptz + random() * interval '30 days') AS id
      FROM generate_series(1, :keys) n) s;

-- a row for each period: bounds are exact times of keys, so that inclusive and
-- exclusive bounds differ; then all special periods
CREATE TABLE during (i serial, period tstzrange);
INSERT INTO during (period)
SELECT tstzrange(least(a, b), greatest(a, b), (ARRAY['[)', '(]', '[]', '()'])[1 + i % 4])
FROM (SELECT i, (SELECT comb_timestamp(id) FROM key WHERE comb_timestamp(id) IS NOT NULL AND i > 0 ORDER BY random() LIMIT 1) AS a,
             (SELECT comb_timestamp(id) FROM key WHERE comb_timestamp(id) IS NOT NULL AND i > 0 ORDER BY random() LIMIT 1) AS b
      FROM generate_series(1, :periods) i) s;
INSERT INTO during (period)
SELECT tstzrange(lower(period), lower(period), '[]') FROM during WHERE i < 3
UNION ALL
SELECT tstzrange(lower(period) + interval '1 us', NULL) FROM during WHERE i = 3
UNION ALL
SELECT tstzrange(NULL, upper(period) + interval '999 us', '[]') FROM during WHERE i = 4;
INSERT INTO during (period)
VALUES ('empty'), (NULL), ('(,)'), ('[-infinity,infinity]'), ('(infinity,)'), ('[infinity,]'),
       ('[,-infinity]'), ('(,-infinity)'), ('[,2026-01-11)'), ('(2026-01-11,]'),
       ('[1900-01-01,1970-01-01]'), ('[20000-01-01,)');

-- the right answers, computed without the operator
CREATE TABLE expected AS
SELECT i, ARRAY(SELECT n FROM key WHERE comb_timestamp(id) <@ period ORDER BY n) AS yes,
       ARRAY(SELECT n FROM key
             WHERE id IS NOT NULL AND period IS NOT NULL
               AND NOT COALESCE(comb_timestamp(id) <@ period, false) ORDER BY n) AS no
FROM during;
SELECT cmp_ok((SELECT count(*) FROM expected WHERE cardinality(yes) BETWEEN 1 AND 1500), '>', (:periods / 2)::bigint,
              'the periods tell keys apart' || :'why');

-- An index, partitions and row security, with the same rows.  Random queries in
-- test/t/083_period_fuzz.pl have the other kinds of tables, and all ways to scan and
-- to join them.
CREATE TABLE heap AS TABLE key;
CREATE INDEX ON heap (id);
CREATE TABLE parted (n int, id uuid) PARTITION BY RANGE (id);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM (comb_min('2026-01-01')) TO (comb_min('2026-01-16'));
CREATE TABLE parted_0 PARTITION OF parted DEFAULT;
INSERT INTO parted TABLE key;
CREATE INDEX ON parted (id);
CREATE TABLE secured AS TABLE key;
CREATE INDEX ON secured (id);
ALTER TABLE secured ENABLE ROW LEVEL SECURITY;
ALTER TABLE secured FORCE ROW LEVEL SECURITY;
CREATE POLICY everything ON secured USING (n + 1 > 1);
ANALYZE;
SET LOCAL enable_seqscan = off;

-- ways to write a period
CREATE TABLE form (form text, positive bool, clause text);
INSERT INTO form VALUES
('constant', true, 'q.id <@ %L::tstzrange'),
('commuted', true, '%L::tstzrange @> q.id'),
('by name', true, 'comb_contained(q.id, %L)'),
('any layout', true, 'comb_created(q.id, %L, ''uuidv7'')'),
('stable', true, 'q.id <@ tstzrange(lower(%1$L::tstzrange) + interval ''0'', upper(%1$L::tstzrange), CASE WHEN lower_inc(%1$L::tstzrange) THEN ''['' ELSE ''('' END || CASE WHEN upper_inc(%1$L::tstzrange) THEN '']'' ELSE '')'' END) AND NOT isempty(%1$L::tstzrange)'),
('sub-select', true, 'q.id <@ (SELECT period FROM during WHERE i = %2$s)'),
('not', false, 'NOT q.id <@ %L::tstzrange'),
('volatile', true, 'q.id <@ CASE WHEN random() < 2 THEN %L::tstzrange END');

CREATE FUNCTION numbers(query text) RETURNS int[] LANGUAGE plpgsql AS $$
DECLARE result int[];
BEGIN
	EXECUTE 'SELECT ARRAY(' || query || ' ORDER BY n)' INTO result;
	RETURN result;
END $$;
SELECT is(count(*) FILTER (WHERE numbers(format('SELECT n FROM %I q WHERE %s', source, format(clause, period, i)))
                                 IS DISTINCT FROM CASE WHEN positive THEN yes ELSE no END),
          0::bigint, source || ', period given as ' || form || :'why')
FROM unnest('{heap,parted,secured}'::text[]) source, form, during JOIN expected USING (i)
GROUP BY source, form ORDER BY source, form;

-- generic plans of prepared statements
SET LOCAL plan_cache_mode = force_generic_plan;
CREATE FUNCTION wrong_prepared(source text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE d record; got int[]; wrong bigint := 0;
BEGIN
	EXECUTE format('PREPARE asked(tstzrange) AS SELECT ARRAY(SELECT n FROM %I q WHERE id <@ $1 ORDER BY n)', source);
	FOR d IN SELECT * FROM during JOIN expected USING (i) LOOP
		EXECUTE format('EXECUTE asked(%L)', d.period) INTO got;
		wrong := wrong + (got IS DISTINCT FROM d.yes)::int;
	END LOOP;
	DEALLOCATE asked;
	RETURN wrong;
END $$;
SELECT is(wrong_prepared(source), 0::bigint, source || ', generic plan' || :'why') FROM unnest('{heap,parted,secured}'::text[]) source;
RESET plan_cache_mode;

-- a join with the table of periods
SELECT is((SELECT count(*) FROM during d JOIN expected e USING (i)
           WHERE ARRAY(SELECT q.n FROM parted q WHERE q.id <@ d.period ORDER BY q.n) <> e.yes),
          0::bigint, 'periods of another table' || :'why');
RESET enable_seqscan;

\if :{?portable}
\else
--
-- Estimates.  ANALYZE reads tables up to 30000 rows as a whole, so the estimates do
-- not depend on a sample.
--
CREATE FUNCTION estimate(query text) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE result json;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT json) ' || query INTO result;
	RETURN (result -> 0 -> 'Plan' ->> 'Plan Rows')::float8;
END $$;
-- the larger of estimate and true count, as a multiple of the smaller
CREATE FUNCTION miss(query text) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE actual float8; e float8 := estimate(query);
BEGIN
	EXECUTE 'SELECT count(*) FROM (' || query || ') s' INTO actual;
	RETURN greatest(e, actual, 1) / greatest(least(e, actual), 1);
END $$;
CREATE FUNCTION days(source text) RETURNS SETOF text LANGUAGE sql AS $$
	SELECT format('SELECT * FROM %I WHERE id <@ tstzrange(%L, %L)', source, day, day + interval '1 day')
	FROM generate_series('2026-01-02'::timestamptz, '2026-01-29', '1 day') day
$$;

CREATE TABLE even AS
SELECT n, comb_stamp(md5(n::text)::uuid, '2026-01-01'::timestamptz + n * interval '1.44 min') AS id
FROM generate_series(0, 29999) n;
-- ten times as many keys on the last day as on the first
CREATE TABLE skewed AS
SELECT n, comb_stamp(md5(n::text)::uuid, '2026-01-01'::timestamptz + interval '30 days' * (ln(1 + 9 * n / 30000.0) / ln(10))::float8) AS id
FROM generate_series(0, 29999) n;
CREATE TABLE nulls AS SELECT n, CASE WHEN n % 2 = 0 THEN id END AS id FROM even;
CREATE TABLE mixed AS SELECT n, CASE WHEN n % 2 = 0 THEN id ELSE md5(n::text)::uuid END AS id FROM even;
-- a foreign key: 40 orders, some of which have most of the lines
CREATE TABLE lines AS
SELECT n, comb_stamp(md5(k::text)::uuid, '2026-01-01'::timestamptz + k * interval '18 h') AS id
FROM (SELECT n, (40 * (n / 30000.0) ^ 3)::int AS k FROM generate_series(1, 30000) n) s;
-- few keys, half of them without a time
CREATE TABLE halves AS
SELECT n, CASE WHEN n % 2 = 0 THEN id ELSE md5(id::text)::uuid END AS id
FROM (SELECT n, comb_stamp(md5((n % 40)::text)::uuid, '2026-01-01'::timestamptz + n % 40 * interval '18 h') AS id
      FROM generate_series(1, 30000) n) s;
CREATE TABLE month (n int, id uuid NOT NULL) PARTITION BY RANGE (id);
CREATE TABLE month_1 PARTITION OF month FOR VALUES FROM (comb_min('2026-01-01')) TO (comb_min('2026-01-16'));
CREATE TABLE month_2 PARTITION OF month FOR VALUES FROM (comb_min('2026-01-16')) TO (comb_min('2026-02-01'));
INSERT INTO month SELECT * FROM even;
CREATE TABLE sequel AS
SELECT n, comb_stamp(md5(n::text)::uuid, '2026-01-01'::timestamptz + n * interval '1.44 min', 'rtcomb_sql') AS id
FROM generate_series(0, 29999) n;
-- half of the keys without a time, in one partition
CREATE TABLE mixed_month (n int, id uuid) PARTITION BY RANGE (id);
CREATE TABLE mixed_part PARTITION OF mixed_month DEFAULT;
INSERT INTO mixed_month TABLE mixed;
ANALYZE even, skewed, nulls, mixed, lines, halves, month, mixed_month, sequel;

SELECT cmp_ok(max(miss(query)), '<', 1.1::float8, 'a day of ' || source)
FROM unnest('{even,skewed,nulls,mixed}'::text[]) source, days(source) query GROUP BY source;
-- for partitions core estimates the bounds and counts half bins, so the error is
-- larger
SELECT cmp_ok(max(miss(query)), '<', 1.2::float8, 'a day of partitions') FROM days('month') query;
SELECT cmp_ok(max(miss(query)), '<', 1.2::float8, 'a day of few keys, often')
FROM days('lines') query;
SELECT cmp_ok(miss('SELECT * FROM halves WHERE id <@ tstzrange(''2026-01-10'', ''2026-01-20'')'), '<', 1.1::float8,
              'ten days of few keys, half of them without a time');
-- random keys are hardly ever between the bounds
SELECT cmp_ok(miss('SELECT * FROM mixed_month WHERE id <@ ' || period), '<', 1.1::float8, 'partitions, half of the keys random: ' || period)
FROM unnest(ARRAY['tstzrange(''2026-01-10'', ''2026-01-20'')', '''(,)''',
                  'tstzrange(now() - (now() - ''2026-01-10''), now() - (now() - ''2026-01-20''))']) period;
SELECT is(estimate('SELECT * FROM even WHERE id <@ CASE WHEN now() < ''2000-01-01'' THEN tstzrange(now(), NULL) END'), 1::float8,
          'even: a period that is NULL');
SELECT cmp_ok(miss(format('SELECT * FROM %I WHERE id <@ tstzrange(%s)', source, bounds)), '<', 1.1::float8,
              source || ' in ' || bounds)
FROM unnest('{even,skewed,nulls,mixed,month}'::text[]) source,
     unnest(ARRAY['NULL, NULL', '''2026-01-10'', NULL', 'NULL, ''2026-01-20''']) bounds;
SELECT is(estimate(format('SELECT * FROM %I WHERE id <@ %s', source, period)), 1::float8,
          source || ': no row of ' || period)
FROM unnest('{even,skewed,nulls,mixed}'::text[]) source,
     unnest(ARRAY['''empty''', 'tstzrange(NULL, ''1999-01-01'')', 'tstzrange(''2027-01-01'', ''2027-01-02'')',
                  'tstzrange(''infinity'', NULL)', 'tstzrange(NULL, ''-infinity'')']) period;
-- v4 keys sort above all keys of the period; an open period must not count them
CREATE TABLE leftover AS
SELECT n, CASE WHEN n % 2 = 0 THEN id ELSE overlay(md5(n::text) PLACING '4' FROM 13 FOR 1)::uuid END AS id FROM even;
ANALYZE leftover;
SELECT is(estimate('SELECT * FROM leftover WHERE id <@ tstzrange(''2027-01-01'', NULL)'), 1::float8, 'leftover: no row of an open period');
SELECT cmp_ok(miss('SELECT * FROM even WHERE ' || clause), '<', 1.1::float8, clause)
FROM unnest(ARRAY['tstzrange(''2026-01-10'', ''2026-01-11'') @> id',
                  'comb_contained(id, tstzrange(''2026-01-10'', ''2026-01-11''))',
                  'comb_created(id, tstzrange(''2026-01-10'', ''2026-01-11''), ''ulid'')',
                  'NOT id <@ tstzrange(''2026-01-10'', NULL)']) clause;
SELECT cmp_ok(miss('SELECT * FROM sequel WHERE comb_created(id, tstzrange(''2026-01-10'', ''2026-01-20''), ''rtcomb_sql'')'), '<', 1.5::float8,
              'ten days of keys that sort in SQL Server');
-- the planner counts the values of a histogram that is in another order
SELECT cmp_ok(miss('SELECT * FROM sequel WHERE id #<# comb_min(''2026-01-08'', ''rtcomb_sql'')'), '<', 1.25::float8, 'a bound in SQL Server''s order');
-- keys newer than the last ANALYZE: the index shows that there are some
CREATE INDEX ON even (id);
INSERT INTO even SELECT n, comb_stamp(md5(n::text)::uuid, '2026-01-01'::timestamptz + n * interval '1.44 min') FROM generate_series(30000, 30999) n;
SELECT cmp_ok(estimate('SELECT * FROM even WHERE id <@ tstzrange(''2026-01-31 01:00'', NULL)'), '>', 50::float8, 'keys after ANALYZE');
SELECT is(estimate('SELECT * FROM even WHERE id <@ tstzrange(''2026-02-03'', NULL)'), 1::float8, 'no keys after those');

\endif

SELECT * FROM finish();
ROLLBACK;
