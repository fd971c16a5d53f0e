-- Layouts made for SQL Server: their order there, and converting them
BEGIN;
CREATE EXTENSION IF NOT EXISTS pgtap;
CREATE EXTENSION IF NOT EXISTS pg_comb;
SET LOCAL max_parallel_workers_per_gather = 0;
SET LOCAL timezone = 'UTC';

SELECT no_plan();

CREATE TEMP TABLE layout AS
SELECT layout, generates, earliest, latest FROM comb_layouts() WHERE sorts_in = 'SQL Server';
SELECT set_eq('SELECT layout FROM layout WHERE generates',
              ARRAY['rtcomb_sql', 'rtcomb_legacy', 'nhibernate', 'sequential_end', 'morris', 'efcore'],
              'the layouts of SQL Server that can be generated');

-- New keys ascend in SQL Server's order
CREATE TEMP TABLE made (layout text, n int, id uuid);
INSERT INTO made SELECT layout, n, comb_generate(layout) FROM layout, generate_series(1, 5000) n WHERE generates;
SELECT is(count(*) FILTER (WHERE NOT id #># before), 0::bigint, layout || ' ascends in SQL Server''s order')
FROM (SELECT layout, id, lag(id) OVER (PARTITION BY layout ORDER BY n) AS before FROM made) s
WHERE before IS NOT NULL
GROUP BY layout ORDER BY layout;

-- Keys of a time long past
CREATE TEMP TABLE past AS
SELECT layout, comb_at('2024-02-29 12:00:00'::timestamptz + n * interval '997 us', layout) AS id
FROM layout, generate_series(1, 500) n WHERE generates;

-- Ranges by bounds, on a column with a unique index, partitioned by time
CREATE TABLE log (id uuid NOT NULL DEFAULT comb_generate('rtcomb_sql'), n int)
	PARTITION BY RANGE (id comb_mssql_ops);
DO $$
BEGIN
	FOR m IN 1 .. 12 LOOP
		EXECUTE format('CREATE TABLE log_%s PARTITION OF log FOR VALUES FROM (%L) TO (%L)', m,
		               comb_min(make_timestamptz(2024, m, 1, 0, 0, 0), 'rtcomb_sql'),
		               comb_min(make_timestamptz(2024, m, 1, 0, 0, 0) + interval '1 month', 'rtcomb_sql'));
	END LOOP;
END
$$;
CREATE UNIQUE INDEX log_id ON log (id comb_mssql_ops);
INSERT INTO log SELECT comb_at('2024-01-01'::timestamptz + n * interval '1 hour', 'rtcomb_sql'), n
FROM generate_series(0, 366 * 24 - 1) n;
SELECT is(count(*), 366 * 24::bigint, 'every key of the year found its partition') FROM log;
SELECT is(count(*) FILTER (WHERE month <> part), 0::bigint, 'and the right one')
FROM (SELECT tableoid::regclass::text AS part, 'log_' || extract(month FROM comb_timestamp(id, 'rtcomb_sql')) AS month
      FROM log) s;
SELECT is(count(*), 24::bigint, 'a day is a range of keys')
FROM log WHERE id #>=# comb_min('2024-02-29', 'rtcomb_sql') AND id #<# comb_min('2024-03-01', 'rtcomb_sql');
SELECT is(count(*), 25::bigint, 'with its end')
FROM log WHERE id #>=# comb_min('2024-02-29', 'rtcomb_sql') AND id #<=# comb_max('2024-03-01', 'rtcomb_sql');
SELECT throws_ok('INSERT INTO log DEFAULT VALUES', '23514', NULL, 'a key of another year has no partition');

-- Conversion out of a layout and back
CREATE FUNCTION pg_temp.lost(source text, target text) RETURNS SETOF text LANGUAGE sql AS $$
	SELECT is(count(*) FILTER (WHERE comb_convert(comb_convert(id, source, target), target, source)
	                                 IS DISTINCT FROM id), 0::bigint, source || ' to ' || target || ' and back')
	FROM (SELECT id FROM made WHERE layout = source UNION ALL SELECT id FROM past WHERE layout = source) s
	UNION ALL
	SELECT is(count(*) FILTER (WHERE comb_timestamp(comb_convert(id, source, target), target)
	                                 IS DISTINCT FROM comb_timestamp(id, source)), 0::bigint,
	          source || ' to ' || target || ' keeps the time')
	FROM past WHERE layout = source
	UNION ALL
	SELECT is(count(*) FILTER (WHERE NOT comb_convert(id, source, target) > comb_convert(before, source, target)),
	          0::bigint, source || ' to ' || target || ' keeps the order, now PostgreSQL''s')
	FROM (SELECT id, lag(id) OVER (ORDER BY id USING #<#) AS before FROM made WHERE layout = source) s
	WHERE before IS NOT NULL
$$;
SELECT pg_temp.lost('rtcomb_sql', 'uuidv7');
SELECT pg_temp.lost('rtcomb_sql', 'rtcomb_postgresql');
SELECT pg_temp.lost('rtcomb_legacy', 'rtcomb_postgresql_datetime');
SELECT pg_temp.lost('sequential_end', 'sequential_string');
SELECT pg_temp.lost('efcore', 'masstransit_sequential');
SELECT pg_temp.lost('morris', 'masstransit_sequential');

SELECT * FROM finish();
ROLLBACK;
