-- Periods on the key: answers outside of plain queries, and the estimates
--
-- Queries of all kinds are in test/t/083_period_fuzz.pl, and their answers by brute force.
SET client_min_messages = warning;
BEGIN;
CREATE EXTENSION IF NOT EXISTS pgtap;
CREATE EXTENSION IF NOT EXISTS pg_comb;
SET LOCAL timezone = 'UTC';
SET LOCAL jit = off;

SELECT no_plan();

--
-- Answers
--
CREATE FUNCTION hour(n int) RETURNS timestamptz IMMUTABLE LANGUAGE sql AS
$$ SELECT timestamptz '2026-01-01 00:00+00' + n * interval '1 hour' $$;

CREATE TABLE key AS
SELECT n, comb_min(hour(n)) AS id FROM generate_series(0, 99) n WHERE n <= 21 OR n >= 89 OR n BETWEEN 29 AND 32;
-- a value without a time between every two keys, and a row without a key
INSERT INTO key SELECT -n - 1, overlay(id::text PLACING CASE n % 2 WHEN 0 THEN '4' ELSE '1' END FROM 15 FOR 1)::uuid FROM key;
INSERT INTO key VALUES (1000, NULL);
-- All kinds of bounds, stored with short headers.  "first" and "last" are the hours
-- that the period has; no hour if the first is above the last.
CREATE TABLE during (i int, period tstzrange, first int, last int);
INSERT INTO during VALUES
(1, tstzrange(hour(10), hour(20)), 10, 19),
(2, tstzrange(hour(10), hour(20), '[]'), 10, 20),
(3, tstzrange(hour(10), hour(20), '()'), 11, 19),
(4, tstzrange(hour(10), hour(20), '(]'), 11, 20),
(5, tstzrange(hour(90), NULL), 90, 99),
(6, tstzrange(hour(90), NULL, '()'), 91, 99),
(7, tstzrange(NULL, hour(5)), 0, 4),
(8, tstzrange(NULL, hour(5), '[]'), 0, 5),
(9, '(,)', 0, 99),
(10, 'empty', 1, 0),
(11, NULL, 1, 0),
(12, '[-infinity,infinity]', 0, 99),
(13, '(-infinity,infinity)', 0, 99),
(14, '[infinity,infinity]', 1, 0),
(15, '[-infinity,-infinity]', 1, 0),
(16, tstzrange(hour(7), hour(7), '[]'), 7, 7),
(17, tstzrange('-infinity', hour(3), '()'), 0, 2),
(18, tstzrange(hour(97), 'infinity', '()'), 98, 99),
(19, tstzrange(hour(30), hour(31)), 30, 30);

-- PL/pgSQL keeps the call site of a simple expression for the whole transaction, while
-- the variables change
CREATE FUNCTION wrong_simple() RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE r record; result bigint := 0;
BEGIN
	FOR r IN SELECT n, id, period, first, last FROM key, during LOOP
		result := result + ((r.id <@ r.period) IS DISTINCT FROM
			CASE WHEN r.id IS NOT NULL AND r.period IS NOT NULL THEN r.n BETWEEN r.first AND r.last END)::int;
	END LOOP;
	RETURN result;
END $$;
SELECT is(wrong_simple(), 0::bigint, 'a simple expression of PL/pgSQL');

-- MERGE compares in its ON, and rows of the source without a partner stay
CREATE TABLE merged (n int, id uuid, i int);
INSERT INTO merged SELECT n, id FROM key;
CREATE INDEX ON merged (id);
MERGE INTO merged m USING (SELECT * FROM during WHERE i IN (5, 7, 10)) d
ON m.id <@ d.period AND comb_timestamp(m.id) <> hour(91)
WHEN MATCHED AND comb_timestamp(m.id) = hour(2) THEN DELETE
WHEN MATCHED THEN UPDATE SET i = d.i
WHEN NOT MATCHED THEN INSERT VALUES (-1000, NULL, d.i);
SELECT results_eq('SELECT i, array_agg(n ORDER BY n) FROM merged WHERE i IS NOT NULL GROUP BY i ORDER BY i',
                  $$VALUES (5, '{90,92,93,94,95,96,97,98,99}'::int[]), (7, '{0,1,3,4}'), (10, '{-1000}')$$, 'MERGE');
SELECT is((SELECT count(*) FROM merged), (SELECT count(*) FROM key), 'MERGE deleted one row and inserted one');

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
SELECT cmp_ok(max(miss(query)), '<', 1.1::float8, 'a day of partitions') FROM days('month') query;
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
-- The same of comparisons of the time, which share the estimates of their bounds.  Six
-- hours of partitions are within one bin of the histogram.
SELECT cmp_ok(max(miss(format('SELECT * FROM %I WHERE comb_timestamp(id) >= %L AND comb_timestamp(id) < %L', source, day, day + length))), '<', 1.2::float8,
              length || ' of times of ' || source)
FROM unnest('{even,skewed,nulls,mixed,month}'::text[]) source, unnest('{12 hours,1 day}'::interval[]) length,
     generate_series('2026-01-02'::timestamptz, '2026-01-29', '1 day') day GROUP BY source, length;
SELECT cmp_ok(miss(format('SELECT * FROM %I WHERE id <@ tstzrange(''2026-01-05'', NULL) AND id <@ tstzrange(NULL, ''2026-01-15'') AND comb_timestamp(id) < ''2026-01-10''', source)),
              '<', 1.1::float8, 'three conditions of ' || source)
FROM unnest('{even,skewed,nulls,mixed,month}'::text[]) source;
-- A few other uuids, as earlier defaults and sentinels leave them, take no end of the keys away: any
-- 8 hours of the 30 days are within 1.4 of the truth.
CREATE TABLE strays (kind text, stray uuid, every int);
INSERT INTO strays VALUES ('one v4', 'b1d2c0de-0000-4000-8000-000000000000', 30000), ('a thousandth of v4', NULL, 1000),
	('a third of v4', NULL, 3), ('nil', '00000000-0000-0000-0000-000000000000', 30000), ('all ones', 'ffffffff-ffff-ffff-ffff-ffffffffffff', 30000);
CREATE FUNCTION worst(kind text) RETURNS float8 LANGUAGE plpgsql AS $$
BEGIN
	DROP TABLE IF EXISTS strayed;
	CREATE TABLE strayed AS
	SELECT n, CASE WHEN n % every < every - 1 THEN id ELSE coalesce(stray, overlay(md5(n::text) PLACING '4' FROM 13 FOR 1)::uuid) END AS id
	FROM strays s, even WHERE s.kind = worst.kind;
	ANALYZE strayed;
	RETURN (SELECT max(miss(format('SELECT * FROM strayed WHERE comb_timestamp(id) >= %L AND comb_timestamp(id) < %L', hour(h), hour(h + 8))))
		FROM generate_series(0, 712, 8) h);
END $$;
SELECT cmp_ok(worst(kind), '<', 1.4::float8, 'any 8 hours beside ' || kind) FROM strays;
SELECT cmp_ok(miss('SELECT * FROM strayed WHERE comb_timestamp(id) >= ''2026-01-30 16:00'''), '<', 1.4::float8, 'the newest hours before all ones');
-- the tables of a UNION ALL, and joins by times, have the estimates of a column of times
CREATE VIEW united AS SELECT id, comb_timestamp(id) AS at FROM even UNION ALL SELECT id, comb_timestamp(id) FROM skewed;
SELECT cmp_ok(miss('SELECT * FROM united WHERE ' || clause), '<', 1.1::float8, 'UNION ALL: ' || clause)
FROM unnest(ARRAY['comb_timestamp(id) >= ''2026-01-10'' AND comb_timestamp(id) < ''2026-01-11''', 'at >= ''2026-01-10'' AND at < ''2026-01-12''']) clause;
CREATE TABLE stamp AS SELECT comb_timestamp(id) AS at FROM even;
ANALYZE stamp;
SELECT cmp_ok(miss('SELECT FROM even JOIN stamp ON comb_timestamp(id) = at'), '<', 1.1::float8, 'a join by times');
-- each of two keys has the estimate of its own bounds
CREATE TABLE two AS SELECT e.n, e.id, o.id AS other FROM even e JOIN even o ON o.n = (e.n * 7919) % 30000;
ANALYZE two;
SELECT cmp_ok(miss('SELECT * FROM two WHERE comb_timestamp(id) < ''2026-01-10'' AND comb_timestamp(other) >= ''2026-01-20'''),
              '<', 1.1::float8, 'conditions on two keys');
-- many keys of one time, as imports bring them, are not before or after this time
CREATE TABLE batch AS
SELECT n, comb_stamp(md5(n::text)::uuid, '2026-01-01'::timestamptz + n % 10 * interval '1 day') AS id FROM generate_series(1, 30000) n;
ANALYZE batch;
SELECT cmp_ok(miss('SELECT * FROM batch WHERE ' || replace(clause, 'at', 'comb_timestamp(id)')), '<', 5::float8, 'imports: ' || clause)
FROM unnest(ARRAY['at > ''2026-01-10''', 'at < ''2026-01-01''', 'at >= ''2026-01-05'' AND at < ''2026-01-06''']) clause;
-- a generic plan of an open period expects what core expects of a bound
PREPARE opened(timestamptz) AS SELECT * FROM even WHERE id <@ tstzrange($1, NULL);
PREPARE bound(uuid) AS SELECT * FROM even WHERE id >= $1;
SET LOCAL plan_cache_mode = force_generic_plan;
SELECT is(estimate('EXECUTE opened(now())'), estimate('EXECUTE bound(''ffffffff-ffff-7fff-bfff-ffffffffffff'')'), 'an open period of a generic plan');
RESET plan_cache_mode;
DEALLOCATE opened;
DEALLOCATE bound;
-- of a table that was never analyzed, a period without an end has a third, as with any other column
CREATE TABLE unseen AS SELECT n, id, comb_timestamp(id) AS created_at FROM even;
SELECT is(estimate('SELECT * FROM unseen WHERE ' || clause), estimate('SELECT * FROM unseen WHERE ' || replace(alike, 'at', 'created_at')), 'never analyzed: ' || clause)
FROM (VALUES ('comb_timestamp(id) >= ''2026-01-10''', 'at >= ''2026-01-10'''), ('comb_timestamp(id) <= ''2026-01-10''', 'at <= ''2026-01-10'''),
             ('id <@ tstzrange(''2026-01-10'', NULL)', 'at >= ''2026-01-10'''), ('id <@ tstzrange(NULL, now())', 'at < now()'),
             ('id <@ tstzrange(''2026-01-10'', ''2026-01-20'')', 'at >= ''2026-01-10'' AND at < ''2026-01-20''')) v (clause, alike);
-- the index of the key is not free: the other one finds 30 rows, and the period 500
CREATE TABLE chosen AS SELECT n, id, n % 1000 AS ref FROM even;
CREATE UNIQUE INDEX chosen_id ON chosen (id);
CREATE INDEX chosen_ref ON chosen (ref);
ANALYZE chosen;
CREATE FUNCTION chosen(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE result json;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT json) ' || query INTO result;
	RETURN (regexp_match(result::text, '"Index Name": "([a-z_]+)"'))[1];
END $$;
SELECT is(chosen('SELECT * FROM chosen WHERE ref = 5 AND ' || clause), 'chosen_ref', 'the better index beside ' || clause)
FROM unnest(ARRAY['id <@ tstzrange(''2026-01-10'', ''2026-01-10 12:00'')',
                  'comb_timestamp(id) >= ''2026-01-10'' AND comb_timestamp(id) < ''2026-01-10 12:00''']) clause;

-- v4 keys sort above all keys of the period; an open period must not count them
CREATE TABLE leftover AS
SELECT n, CASE WHEN n % 2 = 0 THEN id ELSE overlay(md5(n::text) PLACING '4' FROM 13 FOR 1)::uuid END AS id FROM even;
ANALYZE leftover;
SELECT is(estimate('SELECT * FROM leftover WHERE id <@ tstzrange(''2027-01-01'', NULL)'), 1::float8, 'leftover: no row of an open period');
-- but an index reads them
CREATE INDEX leftover_id ON leftover (id);
SELECT is(chosen('SELECT * FROM leftover WHERE ' || clause), NULL, 'leftover: no index for ' || clause)
FROM unnest(ARRAY['id <@ tstzrange(''2026-01-30'', NULL)', 'comb_timestamp(id) >= ''2026-01-30''']) clause;
SELECT is(chosen('SELECT * FROM leftover WHERE comb_timestamp(id) >= ''2026-01-29'' AND comb_timestamp(id) < ''2026-01-30'''), 'leftover_id', 'leftover: the index for a day');
SELECT cmp_ok(miss('SELECT * FROM even WHERE ' || clause), '<', 1.1::float8, clause)
FROM unnest(ARRAY['tstzrange(''2026-01-10'', ''2026-01-11'') @> id',
                  'comb_contained(id, tstzrange(''2026-01-10'', ''2026-01-11''))',
                  'comb_created(id, tstzrange(''2026-01-10'', ''2026-01-11''), ''ulid'')',
                  'NOT id <@ tstzrange(''2026-01-10'', NULL)']) clause;
-- beyond the last of the values that ANALYZE kept there are some keys more
SELECT cmp_ok(estimate('SELECT * FROM sequel WHERE comb_timestamp(id, ''rtcomb_sql'') >= ''2026-01-30 23:59'''), '>', 100::float8, 'the newest keys that sort in SQL Server');
-- the planner counts the values of a histogram that is in another order
SELECT cmp_ok(miss('SELECT * FROM sequel WHERE id #<# comb_min(''2026-01-08'', ''rtcomb_sql'')'), '<', 1.25::float8, 'a bound in SQL Server''s order');
-- bounds that the user compares two keys by are not those of a period
SELECT is(estimate('SELECT FROM even x, even y WHERE x.id > y.id AND x.id < y.id AND comb_timestamp(x.id) >= ''-infinity'''),
          estimate('SELECT FROM even x, even y WHERE x.id > y.id AND x.id < y.id'), 'a join by the keys themselves');
-- keys newer than the last ANALYZE: the index shows that there are some
CREATE INDEX ON even (id);
INSERT INTO even SELECT n, comb_stamp(md5(n::text)::uuid, '2026-01-01'::timestamptz + n * interval '1.44 min') FROM generate_series(30000, 30999) n;
SELECT cmp_ok(estimate('SELECT * FROM even WHERE id <@ tstzrange(''2026-01-31 01:00'', NULL)'), '>', 50::float8, 'keys after ANALYZE');
SELECT is(estimate('SELECT * FROM even WHERE id <@ tstzrange(''2026-02-03'', NULL)'), 1::float8, 'no keys after those');

SELECT * FROM finish();
ROLLBACK;
