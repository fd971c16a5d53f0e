--
-- "Created during": the operators, and what the planner makes of them
--
SET timezone = 'UTC';
SET datestyle = 'ISO';
SET intervalstyle = 'postgres';

-- a key for a time, the same in every run
CREATE FUNCTION key_at(at timestamptz, n int) RETURNS uuid
	LANGUAGE sql IMMUTABLE AS $$ SELECT comb_stamp(md5(n::text)::uuid, at) $$;

-- to show only a part of a plan, or the part that all versions have in common
CREATE FUNCTION plan(query text, options text DEFAULT 'ANALYZE, TIMING OFF, SUMMARY OFF') RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY EXECUTE 'EXPLAIN (COSTS OFF, ' || options || ') ' || query;
END $$;

-- The operators mean comb_timestamp(id) <@ period, but give false for an id
-- without a time

SELECT key_at('2026-01-01 12:00+00', 1) <@ tstzrange('2026-01-01', '2026-01-02') AS t,
       tstzrange('2026-01-01', '2026-01-02') @> key_at('2026-01-01 12:00+00', 1) AS t,
       key_at('2026-01-02 00:00+00', 1) <@ tstzrange('2026-01-01', '2026-01-02') AS f,
       key_at('2026-01-02 00:00+00', 1) <@ tstzrange('2026-01-01', '2026-01-02', '[]') AS t,
       key_at('2026-01-01 00:00+00', 1) <@ tstzrange('2026-01-01', '2026-01-02') AS t,
       key_at('2026-01-01 00:00+00', 1) <@ tstzrange('2026-01-01', '2026-01-02', '()') AS f;

-- an untyped literal beside a key is a period; beside a period it is never a key
SELECT key_at('2026-01-01 12:00+00', 1) <@ '[2026-01-01, 2026-01-02)' AS t,
       '[2026-01-01, 2026-01-02)' @> key_at('2026-01-01 12:00+00', 1) AS t,
       tstzrange('2026-01-01', '2026-01-02') @> '[2026-01-01, 2026-01-02)' AS t,
       '[2026-01-01, 2026-01-02)' <@ tstzrange('2026-01-01', '2026-01-02') AS t;
PREPARE untyped AS SELECT tstzrange('2026-01-01', '2026-01-02') @> $1;
SELECT parameter_types = '{tstzrange}' AS t FROM pg_prepared_statements WHERE name = 'untyped';
DEALLOCATE untyped;

-- ids without a time (v4, v1, nil, max) give false, not NULL; NULL gives NULL
SELECT id <@ period AS f, (id <@ period) IS NULL AS f, NOT id <@ period AS t
FROM unnest(ARRAY['2c5ea4c0-4067-41e9-8bad-9b1deb4d3b7d',
                  'c232ab00-9414-11ec-b3c8-9f6bdeced846',
                  '00000000-0000-0000-0000-000000000000',
                  'ffffffff-ffff-ffff-ffff-ffffffffffff']::uuid[]) AS id,
     (VALUES (tstzrange(NULL, NULL)), ('empty')) AS p(period);
SELECT (NULL::uuid <@ tstzrange(NULL, NULL)) IS NULL AS t,
       (key_at('2026-01-01', 1) <@ NULL) IS NULL AS t,
       ('2c5ea4c0-4067-41e9-8bad-9b1deb4d3b7d'::uuid <@ NULL) IS NULL AS t,
       (NULL @> key_at('2026-01-01', 1)) IS NULL AS t;

-- bounds of periods: unbounded, infinite, inside a millisecond, out of range
SELECT period,
       comb_range_min(period) AS first,
       comb_range_max(period) AS last
FROM (VALUES
	(1, tstzrange('2026-01-01', '2026-01-02')),
	(2, tstzrange('2026-01-01', '2026-01-02', '(]')),
	(3, tstzrange('2026-01-01', '2026-01-01', '[]')),
	(4, tstzrange('2026-01-01 00:00:00.0001', '2026-01-01 00:00:00.0029')),
	(5, tstzrange('2026-01-01 00:00:00.0001', '2026-01-01 00:00:00.0009')),
	(6, 'empty'),
	(7, tstzrange(NULL, NULL)),
	(8, tstzrange('-infinity', 'infinity')),
	(9, tstzrange('-infinity', 'infinity', '()')),
	(10, tstzrange('infinity', 'infinity', '[]')),
	(11, tstzrange('-infinity', '-infinity', '[]')),
	(12, tstzrange('infinity', NULL, '()')),
	(13, tstzrange(NULL, '1970-01-01')),
	(14, tstzrange(NULL, '1970-01-01', '[]')),
	(15, tstzrange('10889-08-02 05:31:50.655', NULL)),
	(16, tstzrange('10889-08-02 05:31:50.655', NULL, '()')),
	(17, tstzrange('20000-01-01', NULL))
) AS v(n, period)
ORDER BY n;

-- extension only
-- no key has a time in these periods, and no key lies between their bounds
SELECT count(*) AS zero
FROM (VALUES (tstzrange('2026-01-01 00:00:00.0001', '2026-01-01 00:00:00.0009')),
             ('empty'), (tstzrange('20000-01-01', NULL))) AS v(period),
     unnest(ARRAY['uuidv7', 'ulid', 'rtcomb_postgresql', 'sequential_string']::text[]) AS layout,
     unnest(ARRAY['00000000-0000-0000-0000-000000000000',
                  'ffffffff-ffff-ffff-ffff-ffffffffffff']::uuid[]) AS id
WHERE id BETWEEN comb_range_min(period, layout) AND comb_range_max(period, layout);
SELECT comb_range_min(tstzrange('2026-01-01', '2026-01-02'), 'uuidv1');

--
-- extension and sql/portable
-- Plans on a plain table.  Keys of other versions lie between the keys of
-- version 7.
--
CREATE TABLE orders (id uuid, n int);
INSERT INTO orders SELECT key_at('2026-01-01'::timestamptz + g * interval '1 hour', g), g FROM generate_series(0, 2399) g;
INSERT INTO orders
	SELECT overlay(id::text PLACING '4' FROM 15 FOR 1)::uuid, -n FROM orders WHERE n % 10 = 0
	UNION ALL
	SELECT overlay(id::text PLACING '1' FROM 15 FOR 1)::uuid, -n FROM orders WHERE n % 10 = 1
	UNION ALL
	SELECT NULL, -n FROM orders WHERE n % 10 = 2;
CREATE INDEX orders_id ON orders (id);
VACUUM ANALYZE orders;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SET enable_indexonlyscan = off;
SET max_parallel_workers_per_gather = 0;

-- constants, on either side, and as a function call
EXPLAIN (COSTS OFF)
SELECT * FROM orders WHERE id <@ tstzrange('2026-02-01', '2026-02-02');
EXPLAIN (COSTS OFF)
SELECT * FROM orders WHERE tstzrange('2026-02-01', '2026-02-02') @> id;

-- stable expressions, and parameters of a generic plan
-- extension only
EXPLAIN (COSTS OFF)
SELECT * FROM orders WHERE id <@ tstzrange(now() - interval '1 day', now());
-- extension and sql/portable
SET plan_cache_mode = force_generic_plan;
PREPARE during(tstzrange) AS SELECT * FROM orders WHERE id <@ $1;
EXPLAIN (COSTS OFF) EXECUTE during('[2026-02-01, 2026-02-02)');
RESET plan_cache_mode;

-- join clauses
CREATE TABLE periods (n int, period tstzrange);
INSERT INTO periods SELECT g, tstzrange('2026-01-01'::timestamptz + g * interval '1 day', '2026-01-02'::timestamptz + g * interval '1 day') FROM generate_series(1, 9) g;
INSERT INTO periods VALUES (10, 'empty'), (11, NULL), (12, '[2026-04-10,)');
ANALYZE periods;
SET enable_seqscan = on;
SET enable_material = off;
-- extension only
EXPLAIN (COSTS OFF)
SELECT p.n, o.n FROM periods p JOIN orders o ON o.id <@ p.period;
-- extension and sql/portable
SELECT p.n, count(o.id) FROM periods p LEFT JOIN orders o ON o.id <@ p.period GROUP BY 1 ORDER BY 1;
SET enable_seqscan = off;

-- the planner adds no bounds for volatile periods, and for periods from the same row
RESET enable_seqscan;
EXPLAIN (COSTS OFF)
SELECT n FROM orders WHERE id <@ tstzrange('2026-02-01'::timestamptz - random() * interval '1 day', '2026-02-02');
EXPLAIN (COSTS OFF)
SELECT n FROM orders WHERE id <@ tstzrange('2026-02-01'::timestamptz + n * interval '1 day', '2026-02-02');
SET enable_seqscan = off;

-- a query that repeats the predicate of a partial index uses the index
CREATE INDEX orders_february ON orders (n) WHERE id <@ tstzrange('2026-02-01', '2026-03-01');
EXPLAIN (COSTS OFF)
SELECT * FROM orders WHERE id <@ tstzrange('2026-02-01', '2026-03-01') AND n = 800;
DROP INDEX orders_february;

-- extension only
-- Other layouts by comb_created().  If every value between the bounds is a key of
-- the layout, the plan has no recheck.
EXPLAIN (COSTS OFF)
SELECT * FROM orders WHERE comb_created(id, tstzrange('2026-02-01', '2026-02-02'), 'uuidv7');
EXPLAIN (COSTS OFF)
SELECT * FROM orders WHERE comb_created(id, tstzrange('2026-02-01', '2026-02-02'), 'rtcomb_postgresql_datetime');
RESET enable_seqscan;
EXPLAIN (COSTS OFF)
SELECT * FROM orders WHERE comb_created(id, tstzrange('2026-02-01', '2026-02-02'), 'uuidv1');
SET enable_seqscan = off;

-- extension and sql/portable
-- the function forms, for users who cannot write the operator
EXPLAIN (COSTS OFF)
SELECT * FROM orders WHERE comb_during(id, '2026-02-01', '2026-02-02');
-- extension and sql/portable
SELECT count(*) AS "24" FROM orders WHERE comb_during(id, '2026-02-01', '2026-02-02');
SELECT count(*) AS "744" FROM orders WHERE comb_during(id, NULL, '2026-02-01');
SELECT count(*) = 2400 - 744 AS t FROM orders WHERE comb_during(id, '2026-02-01', NULL);
SELECT count(*) AS "2400" FROM orders WHERE comb_during(id, NULL, NULL);
SELECT comb_during(NULL, NULL, NULL) IS NULL AS t, comb_during(key_at('2026-02-01', 1), '2026-02-01', '2026-02-01') AS f;
\set SHOW_CONTEXT never
SELECT comb_during(key_at('2026-02-01', 1), '2026-02-02', '2026-02-01');
SELECT comb_during(id, '2026-02-02', '2026-02-01') FROM (SELECT NULL::uuid OFFSET 0) none (id);
\set SHOW_CONTEXT errors

-- tables of other access methods than heap get the bounds as conditions, with or
-- without an index, because the access method may use such conditions
RESET enable_seqscan;
CREATE ACCESS METHOD comb_heap TYPE TABLE HANDLER heap_tableam_handler;
CREATE TABLE columnar (id uuid, n int) USING comb_heap;
INSERT INTO columnar SELECT * FROM orders;
EXPLAIN (COSTS OFF)
SELECT * FROM columnar WHERE id <@ tstzrange('2026-02-01', '2026-02-02');
DROP TABLE columnar;
DROP ACCESS METHOD comb_heap;
-- extension only
-- a computed range whose ends are in the wrong order is none
SELECT count(*) FROM orders WHERE n >= 0 AND id <@ tstzrange(now() - interval '1 day', now() - interval '20 years');
SET enable_seqscan = off;
-- extension and sql/portable

-- BRIN
DROP INDEX orders_id;
SET enable_bitmapscan = on;
CREATE INDEX orders_brin ON orders USING brin (id) WITH (pages_per_range = 1);
EXPLAIN (COSTS OFF)
SELECT * FROM orders WHERE id <@ tstzrange('2026-02-01', '2026-02-02');
DROP INDEX orders_brin;
RESET enable_seqscan;
-- bloom has no order, so the planner adds no bounds
CREATE INDEX orders_bloom ON orders USING brin (id uuid_bloom_ops);
EXPLAIN (COSTS OFF)
SELECT * FROM orders WHERE id <@ tstzrange('2026-02-01', '2026-02-02');
DROP INDEX orders_bloom;

-- The planner adds no bounds for hash indexes and for expressions of the column.
CREATE INDEX orders_hash ON orders USING hash (id);
CREATE INDEX orders_text ON orders ((id::text));
EXPLAIN (COSTS OFF)
SELECT n FROM orders WHERE id <@ tstzrange('2026-02-01', '2026-02-02');
SET enable_seqscan = off;
DROP INDEX orders_hash, orders_text;
-- a key that is an expression is computed only where the condition before it holds
-- extension only
CREATE TABLE texts AS SELECT * FROM (VALUES ('uuid', '019c1686-0400-7000-8000-000000000000'), ('text', 'none')) v (kind, value);
SELECT count(*) AS "1" FROM texts WHERE (kind = 'uuid' AND comb_timestamp(value::uuid) >= '2026-01-01') OR kind = 'other';
SELECT count(*) AS "1" FROM texts WHERE kind IN ('uuid', 'b', 'c', 'd', 'e', 'f', 'g') AND comb_timestamp(value::uuid) >= '2026-01-01';
DROP TABLE texts;
-- extension and sql/portable

-- the operators are leakproof, so row security and security barriers allow the index
CREATE INDEX orders_id ON orders (id);
CREATE ROLE regress_comb_reader;
GRANT SELECT ON orders TO regress_comb_reader;
ALTER TABLE orders ENABLE ROW LEVEL SECURITY;
CREATE POLICY small ON orders USING (n < 1000);
CREATE VIEW barrier WITH (security_barrier) AS SELECT * FROM orders WHERE n % 2 = 0;
SET enable_bitmapscan = off;
-- extension only
EXPLAIN (COSTS OFF)
SELECT * FROM barrier WHERE id <@ tstzrange('2026-02-01', '2026-02-02');
-- extension only
EXPLAIN (COSTS OFF)
SELECT * FROM barrier WHERE id <@ tstzrange(now() - interval '1 day', NULL);
-- extension only
EXPLAIN (COSTS OFF)
SELECT * FROM (SELECT DISTINCT ON (id) * FROM barrier) b WHERE comb_during(id, now() - interval '1 day', now());
-- extension and sql/portable
SET ROLE regress_comb_reader;
EXPLAIN (COSTS OFF)
SELECT * FROM orders WHERE id <@ tstzrange('2026-02-01', '2026-02-02');
-- extension only
EXPLAIN (COSTS OFF)
SELECT * FROM orders WHERE id <@ tstzrange(now() - interval '1 day', NULL);
-- extension and sql/portable
-- comb_created() with a layout is not leakproof, but bounds that read no column are
EXPLAIN (COSTS OFF)
SELECT * FROM orders WHERE comb_created(id, tstzrange('2026-02-01', '2026-02-02'), 'uuidv7');
-- extension only
EXPLAIN (COSTS OFF)
SELECT * FROM orders WHERE comb_created(id, tstzrange(now() - interval '1 day', NULL), 'ulid');
-- the user's own functions see no other rows
RESET ROLE;
CREATE FUNCTION seen(n int) RETURNS boolean COST 0.0001 LANGUAGE plpgsql AS
$$ BEGIN RETURN 1 / (n < 1000)::int = 1; END $$;
SET ROLE regress_comb_reader;
SELECT count(*) AS "1000" FROM orders WHERE comb_timestamp(id) >= '2026-01-01' AND n >= 0 AND seen(n);
RESET ROLE;
DROP FUNCTION seen;
-- extension and sql/portable
RESET ROLE;
DROP VIEW barrier;
DROP TABLE orders;
-- Partitions use their index too, also for a clause with a layout and a period of
-- another table.
CREATE TABLE orders (id uuid NOT NULL, n int) PARTITION BY RANGE (id);
CREATE TABLE orders_01 PARTITION OF orders FOR VALUES FROM (comb_min('2026-01-01')) TO (comb_min('2026-02-01'));
CREATE TABLE orders_02 PARTITION OF orders FOR VALUES FROM (comb_min('2026-02-01')) TO (comb_min('2026-03-01'));
INSERT INTO orders SELECT key_at('2026-01-01'::timestamptz + g * interval '10 minutes', g), g FROM generate_series(0, 8000) g;
CREATE INDEX orders_id ON orders (id);
CREATE TABLE sale AS SELECT tstzrange('2026-01-20', '2026-01-21') AS period;
GRANT SELECT ON orders, sale TO regress_comb_reader;
ALTER TABLE orders ENABLE ROW LEVEL SECURITY;
CREATE POLICY small ON orders USING (n < 1000);
VACUUM ANALYZE orders, sale;
RESET enable_seqscan;
SET ROLE regress_comb_reader;
-- extension only
EXPLAIN (COSTS OFF)
SELECT n FROM sale JOIN orders ON id <@ period;
EXPLAIN (COSTS OFF)
SELECT n FROM sale JOIN orders ON comb_created(id, period, 'ulid');
-- extension and sql/portable
RESET ROLE;
DROP TABLE orders, sale;
DROP ROLE regress_comb_reader;

--
-- Partitioned tables: pruned when planned and when run
--
CREATE TABLE events (id uuid NOT NULL, n int) PARTITION BY RANGE (id);
CREATE TABLE events_01 PARTITION OF events FOR VALUES FROM (comb_min('2026-01-01')) TO (comb_min('2026-02-01'));
CREATE TABLE events_02 PARTITION OF events FOR VALUES FROM (comb_min('2026-02-01')) TO (comb_min('2026-03-01'));
CREATE TABLE events_03 PARTITION OF events FOR VALUES FROM (comb_min('2026-03-01')) TO (comb_min('2026-04-01'));
INSERT INTO events SELECT key_at('2026-01-01'::timestamptz + g * interval '1 hour', g), g FROM generate_series(0, 2159) g;
INSERT INTO events SELECT overlay(id::text PLACING '4' FROM 15 FOR 1)::uuid, -n FROM events WHERE n % 10 = 9;
VACUUM ANALYZE events;

EXPLAIN (COSTS OFF)
SELECT * FROM events WHERE id <@ tstzrange('2026-02-10', '2026-02-20');
SELECT count(*) AS "1" FROM plan('SELECT * FROM events WHERE id <@ ''empty''') AS line WHERE line ~ 'One-Time Filter: false';
SELECT count(*) AS "1" FROM plan('SELECT * FROM events WHERE id <@ NULL::tstzrange') AS line WHERE line ~ 'One-Time Filter: false';
-- extension only
-- partitions by the key have no use for the comparison itself
EXPLAIN (COSTS OFF)
SELECT * FROM events WHERE comb_timestamp(id) >= '2026-02-10' AND comb_timestamp(id) < '2026-02-20';
-- extension and sql/portable
SET plan_cache_mode = force_generic_plan;
PREPARE during_events(tstzrange) AS SELECT * FROM events WHERE id <@ $1;
EXPLAIN (COSTS OFF) EXECUTE during_events('[2026-02-10, 2026-02-20)');
PREPARE unknown(tstzrange) AS SELECT count(*) = (SELECT count(*) FROM events) AS t FROM events WHERE (id <@ $1) IS NULL;
EXECUTE unknown(NULL);
PREPARE function_during_events(timestamptz, timestamptz) AS SELECT * FROM events WHERE comb_during(id, $1, $2);
EXPLAIN (COSTS OFF) EXECUTE function_during_events('2026-02-10', '2026-02-20');
RESET plan_cache_mode;
CREATE INDEX events_id ON events (id);
SET enable_seqscan = off;
SET enable_bitmapscan = off;
EXPLAIN (COSTS OFF)
SELECT * FROM events WHERE id <@ tstzrange('2026-02-10', '2026-02-11');
SELECT count(*) AS "2"
FROM plan('SELECT p.n, e.n FROM (SELECT period, n FROM periods WHERE n < 3 OFFSET 0) p JOIN events e ON e.id <@ p.period') AS line
WHERE line ~ 'never executed';
RESET enable_seqscan;
RESET enable_bitmapscan;
DROP INDEX events_id;

-- extension only
-- a volatile period, and one that depends on the row, stay in the clause as written
SELECT bool_or(line ~ 'comb_recheck') AS f, bool_or(line ~ '<@|comb_contained') AS t
FROM (VALUES ('tstzrange(''2026-02-01''::timestamptz - random() * interval ''1 day'', ''2026-02-02'')'),
             ('(SELECT period FROM periods p WHERE p.n = e.n % 10 + 1)'),
             ('tstzrange(comb_timestamp(e.id), NULL)')) AS v(period),
     plan('SELECT * FROM events e WHERE id <@ ' || period) AS line
GROUP BY period ORDER BY period;
-- an expensive period and a sub-select prune when the query runs, and rows between the
-- bounds do not compute an expensive period again
CREATE FUNCTION expensive() RETURNS tstzrange STABLE COST 100 LANGUAGE plpgsql
	AS $$ BEGIN RETURN tstzrange('2026-02-01', '2026-02-02'); END $$;
SELECT line FROM plan('SELECT * FROM events e WHERE id <@ expensive()') AS line WHERE line ~ 'Filter|Removed: 2';
SELECT count(*) AS "2" FROM plan('SELECT * FROM events e WHERE id <@ (SELECT period FROM periods WHERE n = 1)') AS line
WHERE line ~ 'never executed';

DROP FUNCTION expensive;
-- extension and sql/portable
-- a partitioned table's constraints and index predicates are stored as the user
-- wrote them
ALTER TABLE events ADD CONSTRAINT known CHECK (id <@ tstzrange('2026-01-01', NULL)) NOT VALID;
SELECT pg_get_constraintdef(oid) ~ '<@' AS t FROM pg_constraint WHERE conrelid = 'events'::regclass AND contype = 'c';
ALTER TABLE events DROP CONSTRAINT known;
CREATE INDEX events_february ON events (n) WHERE id <@ tstzrange('2026-02-01', '2026-03-01');
SELECT pg_get_indexdef('events_february'::regclass) ~ '<@' AS t;
DROP INDEX events_february;
CREATE INDEX events_february ON events (n) WHERE comb_during(id, '2026-02-01', '2026-03-01');
SELECT pg_get_indexdef('events_february'::regclass) ~ 'comb_during' AS t;
DROP TABLE events;

--
-- extension only
-- Layouts in SQL Server's order use comb_mssql_ops and no other class
--
CREATE TABLE moved (id uuid, n int);
INSERT INTO moved SELECT comb_stamp(md5(g::text)::uuid, '2026-01-01'::timestamptz + g * interval '1 hour', 'rtcomb_sql'), g FROM generate_series(0, 2399) g;
CREATE INDEX moved_plain ON moved (id);
VACUUM ANALYZE moved;
EXPLAIN (COSTS OFF)
SELECT * FROM moved WHERE comb_created(id, tstzrange('2026-02-01', '2026-02-02'), 'rtcomb_sql');
CREATE INDEX moved_id ON moved (id comb_mssql_ops);
SET enable_seqscan = off;
SET enable_bitmapscan = off;
EXPLAIN (COSTS OFF)
SELECT * FROM moved WHERE comb_created(id, tstzrange('2026-02-01', '2026-02-02'), 'rtcomb_sql');
DROP INDEX moved_plain;
EXPLAIN (COSTS OFF)
SELECT n FROM moved WHERE id <@ tstzrange('2026-02-01', '2026-02-02') ORDER BY id USING #<#;
DROP TABLE moved;
RESET enable_seqscan;
RESET enable_bitmapscan;
CREATE TABLE moved (id uuid, n int) PARTITION BY RANGE (id comb_mssql_ops);
CREATE TABLE moved_01 PARTITION OF moved FOR VALUES FROM (comb_min('2026-01-01', 'rtcomb_sql')) TO (comb_min('2026-02-01', 'rtcomb_sql'));
CREATE TABLE moved_02 PARTITION OF moved FOR VALUES FROM (comb_min('2026-02-01', 'rtcomb_sql')) TO (comb_min('2026-03-01', 'rtcomb_sql'));
EXPLAIN (COSTS OFF)
SELECT * FROM moved WHERE comb_created(id, tstzrange('2026-02-10', '2026-02-20'), 'rtcomb_sql');
DROP TABLE moved;

--
-- extension only
-- Comparisons of a key's time
--
CREATE TABLE posts (id uuid PRIMARY KEY, o uuid, n int);
INSERT INTO posts
SELECT key_at(at, g), comb_stamp(md5(g::text)::uuid, at, 'rtcomb_sql'), g
FROM generate_series(0, 2159) g, LATERAL (SELECT '2026-01-01'::timestamptz + g * interval '1 hour' AS at) a;
INSERT INTO posts SELECT overlay(id::text PLACING '4' FROM 15 FOR 1)::uuid, o, -n FROM posts WHERE n % 10 = 9;
CREATE INDEX posts_o ON posts (o comb_mssql_ops);
VACUUM ANALYZE posts;
CREATE FUNCTION created_at(posts) RETURNS timestamptz IMMUTABLE RETURN comb_timestamp($1.id);
CREATE VIEW posts_with_time AS SELECT *, comb_timestamp(id) AS created_at FROM posts;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
EXPLAIN (COSTS OFF) SELECT n FROM posts p WHERE p.created_at >= '2026-02-01' AND p.created_at < '2026-02-02';
SELECT count(*) AS "24" FROM posts p WHERE p.created_at >= '2026-02-01' AND p.created_at < '2026-02-02';
EXPLAIN (COSTS OFF) SELECT n FROM posts_with_time WHERE created_at BETWEEN '2026-02-01' AND '2026-02-02';
-- as Cube and Superset ask a view
EXPLAIN (COSTS OFF)
SELECT date_trunc('day', ("orders".created_at::timestamptz AT TIME ZONE 'Europe/Paris')) "orders__created_at_day", count("orders".id) "orders__count"
FROM posts_with_time AS "orders" WHERE ("orders".created_at >= '2026-01-31T23:00:00.000Z'::timestamptz AND "orders".created_at <= '2026-02-01T22:59:59.999Z'::timestamptz)
GROUP BY 1 ORDER BY 1 ASC;
SELECT count(*) AS "1" FROM plan($$
SELECT DATE_TRUNC('day', created_at) AS __timestamp, COUNT(*) AS count FROM public.posts_with_time
WHERE created_at >= TO_TIMESTAMP('2026-02-01 00:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US')
AND created_at < TO_TIMESTAMP('2026-02-02 00:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US') GROUP BY DATE_TRUNC('day', created_at) LIMIT 1000$$) line
WHERE line ~ 'Index Cond: \(\(id >= comb_min\(to_timestamp.* AND \(id < comb_min\(to_timestamp';
-- as PostgREST and Hasura ask for a computed field
PREPARE posts_of (timestamptz, timestamptz) AS
WITH pgrst_source AS (SELECT "public"."posts"."n", "public"."posts"."created_at" FROM "public"."posts"
	WHERE "public"."posts"."created_at" >= $1 AND "public"."posts"."created_at" < $2
	ORDER BY "public"."posts"."id" DESC LIMIT 20 OFFSET 0)
SELECT pg_catalog.count(_postgrest_t) AS page_total, coalesce(json_agg(_postgrest_t), '[]') AS body
FROM (SELECT * FROM pgrst_source) _postgrest_t;
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE posts_of('2026-02-01', '2026-02-02');
RESET plan_cache_mode;
DEALLOCATE posts_of;
SELECT count(*) AS "1" FROM plan($$
SELECT coalesce(json_agg("root"), '[]') AS "root" FROM
	(SELECT row_to_json((SELECT "_e" FROM (SELECT "_root.base"."n" AS "n", "public"."created_at"("_root.base") AS "created_at") AS "_e")) AS "root"
	 FROM (SELECT * FROM "public"."posts"
		WHERE (("public"."created_at"("posts")) >= (('2026-02-01') :: timestamptz)
			AND ("public"."created_at"("posts")) < (('2026-02-02') :: timestamptz))) AS "_root.base") AS "_root"$$) line
WHERE line ~ 'Index Cond: \(\(id >= .* AND \(id < ';
EXPLAIN (COSTS OFF) SELECT n FROM posts WHERE now() - interval '1 day' < comb_timestamp(id);
EXPLAIN (COSTS OFF) SELECT n FROM posts WHERE comb_timestamp(id) <= '2026-02-01'::date;
EXPLAIN (COSTS OFF) SELECT n FROM posts WHERE comb_timestamp(id) = '2026-02-01';
EXPLAIN (COSTS OFF) SELECT n FROM posts WHERE comb_timestamp(o, 'rtcomb_sql') >= '2026-02-01';
SELECT count(*) AS "1" FROM plan('SELECT n FROM posts WHERE comb_timestamp(id) < (SELECT max(lower(period)) FROM periods)') line
WHERE line ~ 'Index Cond: \(id < comb_min\(';
RESET enable_seqscan;
EXPLAIN (COSTS OFF) SELECT a.n, b.n FROM posts b LEFT JOIN posts a
ON a.created_at >= b.created_at AND a.created_at < b.created_at + interval '1 h' WHERE b.n = 5;
SET enable_seqscan = off;
SET enable_bitmapscan = on;
EXPLAIN (COSTS OFF) SELECT n FROM posts p WHERE p.created_at < '2026-01-02' OR p.created_at >= '2026-03-30';
SET enable_bitmapscan = off;
-- a UNION ALL hands the condition to its tables, also one on a column with the time
EXPLAIN (COSTS OFF)
SELECT n FROM (SELECT * FROM posts UNION ALL SELECT * FROM posts) u WHERE comb_timestamp(id) >= '2026-02-01';
EXPLAIN (COSTS OFF)
SELECT n FROM (SELECT n, created_at FROM posts_with_time UNION ALL SELECT n, comb_timestamp(id) FROM posts) u
WHERE created_at >= '2026-02-01' AND created_at < '2026-02-02';
SELECT count(*) AS "48" FROM (SELECT created_at FROM posts_with_time UNION ALL SELECT comb_timestamp(id) FROM posts) u
WHERE created_at >= '2026-02-01' AND created_at < '2026-02-02';
RESET enable_seqscan;
-- no bounds for the outer side of a join, where no index can use them
CREATE TABLE days AS SELECT d AS since, d + interval '1 day' AS until, d < '2026-02-01' AS early FROM generate_series('2026-01-01'::timestamptz, '2026-02-28', '1 day') d;
ANALYZE days;
SELECT kind, line FROM (VALUES (1, 'EXISTS (SELECT FROM days WHERE comb_timestamp(id) >= since AND comb_timestamp(id) < until AND early)'),
	(2, 'NOT EXISTS (SELECT FROM days WHERE id <@ tstzrange(since, until))')) v (kind, condition),
	plan('SELECT n FROM posts WHERE ' || condition, 'SUMMARY OFF') AS line WHERE line ~ 'Join|Filter|Scan' ORDER BY kind;
SELECT line FROM plan('SELECT p.n FROM posts p LEFT JOIN days ON p.id <@ tstzrange(since, until)', 'SUMMARY OFF') AS line WHERE line ~ 'Join|Filter|Scan';
SELECT count(*) AS "1" FROM plan('SELECT FROM days WHERE EXISTS (SELECT FROM posts WHERE comb_timestamp(id) >= since AND comb_timestamp(id) < until)', 'SUMMARY OFF') AS line
WHERE line ~ 'Index Cond: \(\(id >= comb_min';
-- so the tables can still be joined from the inner side
SELECT count(*) AS "1" FROM plan('SELECT FROM posts WHERE comb_timestamp(id) IN (SELECT since FROM days)', 'SUMMARY OFF') AS line WHERE line ~ 'Index Cond: .*id >= comb_min';
-- the conditions of each join ask once whether the key has a time
SELECT sum(regexp_count) AS "2" FROM plan('SELECT p.n FROM days d JOIN posts p ON p.id <@ tstzrange(d.since, d.until) JOIN days e ON p.id <@ tstzrange(e.since, e.until)', 'SUMMARY OFF') AS line,
	LATERAL (SELECT count(*) AS regexp_count FROM regexp_matches(line, 'comb_recheck', 'g')) c;
-- nor does the condition of an outer join exclude other uuids from its outer side
CREATE TABLE mixed AS SELECT overlay(key_at('2026-01-10', n)::text PLACING version FROM 15 FOR 1)::uuid AS id FROM (VALUES (1, '7'), (2, '4')) v (n, version);
SELECT count(DISTINCT id) AS "1" FROM mixed LEFT JOIN days ON comb_timestamp(id) >= '2026-01-01' WHERE comb_timestamp(id) >= '2026-01-02';
SELECT count(DISTINCT id) AS "1" FROM mixed LEFT JOIN LATERAL (SELECT FROM days WHERE comb_timestamp(id) >= since) s ON true WHERE comb_timestamp(id) >= '2026-01-02';
SELECT count(DISTINCT id) AS "1" FROM (mixed LEFT JOIN LATERAL (SELECT FROM days WHERE comb_timestamp(id) >= since) s ON true) JOIN days d ON comb_timestamp(id) >= d.since;
DROP TABLE mixed;
DROP TABLE days;
-- not from the key's own row, nor from what is volatile
EXPLAIN (COSTS OFF) SELECT n FROM posts WHERE comb_timestamp(id) > comb_timestamp(o, 'rtcomb_sql');
EXPLAIN (COSTS OFF) SELECT n FROM posts WHERE comb_timestamp(id) > '2026-02-01'::timestamptz + random() * interval '1 day';
-- turned off
SET pg_comb.enable_time_conditions = off;
EXPLAIN (COSTS OFF) SELECT n FROM posts p WHERE p.created_at >= '2026-02-01' AND id <@ '[2026-02-01,2026-03-01)';
RESET pg_comb.enable_time_conditions;
SET enable_seqscan = off;
-- an index on the time serves as before
CREATE INDEX posts_time ON posts (comb_timestamp(id) DESC NULLS LAST);
EXPLAIN (COSTS OFF) SELECT n FROM posts p WHERE p.created_at < '2026-02-01' ORDER BY p.created_at DESC NULLS LAST LIMIT 10;
SELECT count(*) AS "1" FROM plan('SELECT p.n FROM periods, posts p WHERE p.created_at < ''2026-02-01''') line
WHERE line ~ 'comb_timestamp\(id\) <';
DROP VIEW posts_with_time;
DROP FUNCTION created_at;
DROP TABLE posts;
-- also by itself, at the cost of the rows that it finds
RESET enable_seqscan;
CREATE TABLE timed AS SELECT key_at('2026-01-01'::timestamptz + g * interval '1 minute', g) AS id, g AS n FROM generate_series(1, 20000) AS g;
CREATE INDEX timed_comb_timestamp_idx ON timed (comb_timestamp(id));
VACUUM ANALYZE timed;
EXPLAIN (COSTS OFF) SELECT n FROM timed WHERE comb_timestamp(id) = '2026-01-02';
SELECT count(*) AS "1" FROM plan($$SELECT n FROM timed WHERE comb_timestamp(id) >= '2026-01-02' AND comb_timestamp(id) < '2026-01-02 01:00'$$) line
WHERE line ~ 'Index Cond: \(\(comb_timestamp\(id\) >= .* AND \(comb_timestamp\(id\) < ';
-- and in a join, without a second index for it
SELECT line FROM plan('SELECT FROM periods, timed WHERE comb_timestamp(id) BETWEEN lower(period) AND upper(period)', 'SUMMARY OFF') AS line WHERE line ~ 'Scan on timed|Index Cond|Filter';
-- which says little beside a period
SELECT count(*) AS "1" FROM plan($$SELECT n FROM timed WHERE id <@ tstzrange('2026-01-02', '2026-01-02 01:00') AND comb_timestamp(id) > '2026-01-01'$$, 'COSTS ON') line
WHERE line ~ 'timed +\(cost=[^ ]* rows=\d\d width';
-- and in a join of two keys, wherever the other table stands
CREATE TABLE untimed AS SELECT id FROM timed WHERE n % 5000 = 0;
ANALYZE untimed;
SELECT count(*) AS "2" FROM unnest('{"untimed AS u, timed AS t","timed AS t, untimed AS u"}'::text[]) AS tables, plan('SELECT t.n FROM ' || tables ||
	' WHERE comb_timestamp(t.id) > comb_timestamp(u.id) AND comb_timestamp(t.id) < comb_timestamp(u.id) + interval ''3 min''') AS line
WHERE line ~ 'Index Cond: \(\(comb_timestamp\(id\) > .* AND \(comb_timestamp\(id\) < ';
DROP TABLE untimed;
DROP TABLE timed;
-- three frequencies of a third, rounded, are more than 1
CREATE TABLE thirds AS SELECT key_at('2026-01-01', g % 3) AS id FROM generate_series(1, 300) AS g;
ANALYZE thirds;
SELECT count(*) AS "0" FROM thirds WHERE NOT id <@ tstzrange('2026-01-01', '2026-01-02');
SELECT count(*) AS "0" FROM thirds WHERE NOT comb_created(id, '[2026-01-01,2026-01-02)', 'ulid');
DROP TABLE thirds;
-- a comparison with the same row excludes rows beside a period
CREATE TABLE same AS SELECT key_at('2026-01-01'::timestamptz + g * interval '1 minute', g) AS id, now() AS at FROM generate_series(1, 1000) AS g;
ANALYZE same;
SELECT count(*) AS "1" FROM plan('SELECT FROM same WHERE id <@ ''[2026-01-01,2026-02-01)'' AND comb_timestamp(id) = at', 'COSTS ON') AS line
WHERE line ~ 'rows=5 ';
DROP TABLE same;
RESET enable_seqscan;
RESET enable_bitmapscan;

--
-- extension and sql/portable
-- Inheritance: CHECK constraints exclude children
--
CREATE TABLE parent (id uuid, n int);
CREATE TABLE child_01 (CHECK (id >= comb_min('2026-01-01') AND id < comb_min('2026-02-01'))) INHERITS (parent);
CREATE TABLE child_02 (CHECK (id >= comb_min('2026-02-01') AND id < comb_min('2026-03-01'))) INHERITS (parent);
EXPLAIN (COSTS OFF)
SELECT * FROM parent WHERE id <@ tstzrange('2026-02-10', '2026-02-20');
EXPLAIN (COSTS OFF)
SELECT * FROM ONLY parent WHERE id <@ tstzrange('2026-02-10', '2026-02-20');
DROP TABLE parent CASCADE;

-- a column of a domain over uuid is a key too
CREATE DOMAIN order_id AS uuid;
CREATE TABLE domained (id order_id) PARTITION BY RANGE (id);
CREATE TABLE domained_02 PARTITION OF domained FOR VALUES FROM (comb_min('2026-02-01')) TO (comb_min('2026-03-01'));
SELECT count(*) AS "1" FROM plan('SELECT * FROM domained WHERE id <@ tstzrange(''2026-03-10'', ''2026-03-20'')') AS line WHERE line ~ 'One-Time Filter: false';
DROP TABLE domained;
DROP DOMAIN order_id;

--
-- extension only
-- The planner finds the extension's functions by the extension's schema, even if the
-- user may not use this schema
--
BEGIN;
CREATE SCHEMA keys;
SET LOCAL client_min_messages = warning;
DROP EXTENSION pg_comb CASCADE;
CREATE EXTENSION pg_comb SCHEMA keys;
RESET client_min_messages;
CREATE TABLE hidden (id uuid) PARTITION BY RANGE (id);
CREATE TABLE hidden_02 PARTITION OF hidden FOR VALUES FROM (keys.comb_min('2026-02-01')) TO (keys.comb_min('2026-03-01'));
CREATE VIEW hidden_today AS
	SELECT * FROM hidden WHERE id OPERATOR(keys.<@) tstzrange(now() - interval '1 day', NULL);
CREATE ROLE regress_comb_reader;
GRANT SELECT ON hidden_today TO regress_comb_reader;
SET ROLE regress_comb_reader;
SELECT has_schema_privilege('keys', 'USAGE') AS f;
SELECT count(*) AS "1" FROM plan('SELECT * FROM hidden_today') AS line WHERE line ~ 'Subplans Removed|keys.comb_range_min';
ROLLBACK;

--
-- Foreign tables: core's operators go to the remote server, and the local server
-- checks the rest
--
CREATE EXTENSION postgres_fdw;
CREATE SERVER elsewhere FOREIGN DATA WRAPPER postgres_fdw;
CREATE USER MAPPING FOR PUBLIC SERVER elsewhere;
CREATE FOREIGN TABLE remote (id uuid, n int) SERVER elsewhere;
EXPLAIN (COSTS OFF, VERBOSE) SELECT * FROM remote WHERE id <@ tstzrange('2026-02-10', '2026-02-20');
SET plan_cache_mode = force_generic_plan;
PREPARE during_remote(tstzrange) AS SELECT * FROM remote WHERE comb_created(id, $1, 'sequential_string');
EXPLAIN (COSTS OFF, VERBOSE) EXECUTE during_remote('[2026-02-10, 2026-02-20)');
RESET plan_cache_mode;
-- if the remote server is known to have the extension, the whole clause goes there
ALTER SERVER elsewhere OPTIONS (ADD extensions 'pg_comb');
EXPLAIN (COSTS OFF, VERBOSE) SELECT * FROM remote WHERE id <@ tstzrange('2026-02-10', '2026-02-20');
DROP EXTENSION postgres_fdw CASCADE;

--
-- extension only
-- A grouping expression that a grouping set leaves out is NULL
CREATE TABLE grouped (id uuid) PARTITION BY RANGE (id);
CREATE TABLE grouped_1 PARTITION OF grouped DEFAULT;
INSERT INTO grouped SELECT key_at('2026-01-01'::timestamptz + g * interval '1 hour', g) FROM generate_series(0, 99) g;
SELECT NOT (id <@ '[2026-01-01,2026-01-03)') AS "not", count(*) FROM grouped
GROUP BY ROLLUP (id <@ '[2026-01-01,2026-01-03)') ORDER BY 1, 2;
SELECT count(*) AS "48" FROM grouped GROUP BY ROLLUP (id <@ '[2026-01-01,2026-01-03)')
HAVING id <@ '[2026-01-01,2026-01-03)';
DROP TABLE grouped;

-- ON CONFLICT finds the index by a predicate with a label, also under row security
-- and in tables of other access methods
CREATE TABLE source (id uuid, n int);
INSERT INTO source VALUES (key_at('2026-01-10', 1), 1), (key_at('2026-01-10', 2), 1000);
ALTER TABLE source ENABLE ROW LEVEL SECURITY;
CREATE POLICY small ON source USING (n < 1000);
CREATE TABLE once (id uuid, n int);
CREATE UNIQUE INDEX ON once (id) WHERE comb_created(id, '[2026-01-01,2026-02-01)', 'ulid');
CREATE ROLE regress_comb_writer;
GRANT SELECT, INSERT, UPDATE ON source, once TO regress_comb_writer;
SET ROLE regress_comb_writer;
INSERT INTO once SELECT * FROM source ON CONFLICT (id) WHERE comb_created(id, '[2026-01-01,2026-02-01)', 'ulid') DO NOTHING;
INSERT INTO once SELECT * FROM source ON CONFLICT (id) WHERE comb_created(id, '[2026-01-01,2026-02-01)', 'ulid')
DO UPDATE SET n = once.n + excluded.n WHERE comb_created(once.id, '[2026-01-01,2026-02-01)', 'ulid');
SELECT n AS "2" FROM once;
RESET ROLE;
DROP TABLE once, source;
DROP ROLE regress_comb_writer;
CREATE ACCESS METHOD comb_heap TYPE TABLE HANDLER heap_tableam_handler;
CREATE TABLE once (id uuid, n int) USING comb_heap;
CREATE UNIQUE INDEX ON once (id) WHERE id <@ '[2026-01-01,2026-02-01)';
INSERT INTO once VALUES (key_at('2026-01-10', 1), 1);
INSERT INTO once VALUES (key_at('2026-01-10', 1), 1) ON CONFLICT (id) WHERE id <@ '[2026-01-01,2026-02-01)' DO UPDATE SET n = 2;
SELECT n AS "2" FROM once;
DROP TABLE once;
DROP ACCESS METHOD comb_heap;

-- Conditions that a replacement must leave as they are: two equal ones that are
-- volatile, an hour that the clocks skip, the only equality of a FULL JOIN, and
-- what prunes partitions and children by the time itself
CREATE TABLE kept (id uuid, at timestamp);
INSERT INTO kept SELECT key_at(t, 1), t FROM generate_series('2024-03-31 00:30', '2024-03-31 01:30', interval '30 min') AS t;
CREATE SEQUENCE calls;
SELECT count(*) AS "3" FROM kept
WHERE nextval('calls') > 0 AND nextval('calls') > 0 AND comb_timestamp(id) >= '2024-01-01';
SELECT last_value AS "6" FROM calls;
SET timezone = 'Europe/Berlin';
SELECT count(*) AS "2" FROM kept
WHERE comb_timestamp(id) = ANY ('{2024-03-31 02:30,2024-03-31 03:00}'::timestamp[]);
SET timezone = 'UTC';
SELECT count(*) AS "3" FROM kept AS a FULL JOIN kept AS b ON comb_timestamp(a.id) = b.at;
SELECT count(*) AS "3" FROM kept AS b FULL JOIN kept AS a ON comb_timestamp(a.id) = b.at;
CREATE TABLE by_time (id uuid) PARTITION BY RANGE (comb_timestamp(id));
CREATE TABLE by_time_1 PARTITION OF by_time FOR VALUES FROM ('2024-01-01') TO ('2024-02-01');
CREATE TABLE by_time_2 PARTITION OF by_time FOR VALUES FROM ('2024-02-01') TO ('2024-03-01');
CREATE TABLE child (CHECK (comb_timestamp(id) < '2024-01-01')) INHERITS (kept);
SELECT line AS "one partition" FROM plan('SELECT FROM by_time WHERE comb_timestamp(id) < ''2024-01-05''', 'SUMMARY OFF') AS line
WHERE line ~ 'Scan';
SELECT line AS "no child" FROM plan('SELECT FROM kept WHERE comb_timestamp(id) >= ''2024-01-05''', 'SUMMARY OFF') AS line
WHERE line ~ 'Scan';
-- and each table of a UNION ALL gets the bounds once
SELECT line AS "two bounds each" FROM plan('SELECT FROM (TABLE kept UNION ALL TABLE kept UNION ALL TABLE kept) AS u WHERE id <@ tstzrange(''2024-01-01'', ''2024-02-01'')', 'SUMMARY OFF') AS line
WHERE line ~ '>=.*>=';
SELECT count(*) AS "0" FROM (TABLE kept UNION ALL TABLE kept) AS u
WHERE comb_timestamp(id) < '2000-01-01' OR id <@ tstzrange('2025-01-01', '2025-02-01');
SELECT count(*) AS "6" FROM (TABLE kept UNION ALL TABLE kept) AS u WHERE nextval('calls') < 0 OR comb_timestamp(id) >= '2024-01-01';
SELECT last_value AS "12" FROM calls;
DROP TABLE kept, child, by_time;
DROP SEQUENCE calls;

-- extension and sql/portable
DROP TABLE periods;
DROP FUNCTION key_at, plan;
