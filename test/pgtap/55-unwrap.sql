-- comb_unwrap() finds each time again in what PostgreSQL's functions make of it, near changes of clocks and elsewhere
SET client_min_messages = warning;
BEGIN;
CREATE EXTENSION IF NOT EXISTS pgtap;
CREATE EXTENSION IF NOT EXISTS pg_comb;
SET LOCAL max_parallel_workers_per_gather = 0;
\ir include/seed.sql

SELECT no_plan();

-- Clocks that change at midnight, by half an hour, by a day, by seconds; abbreviations that are also names of zones, and
-- zones as POSIX writes them, with one day of summer and with days between them
CREATE TABLE zone AS SELECT unnest(ARRAY['America/Santiago', 'Asia/Beirut', 'Pacific/Apia', 'Asia/Manila', 'America/Juneau',
  'Asia/Kolkata', 'Australia/Lord_Howe', 'Africa/Monrovia', 'Africa/Casablanca', 'Europe/Dublin', 'America/New_York', 'Antarctica/Troll',
  'UTC', 'CET', 'EST', 'MST7MDT', '<-04:30>+04:30', 'X+100', 'A0B,J66,J67', 'A+100B-100,J66,J67', 'A0B,M3.5.0/-100,M10.5.0/167', 'A+167B-100,M3.2.0,M11.1.0', 'A+167B-167,J66,J200']) AS z;
DELETE FROM zone WHERE z IN ('CET', 'EST', 'MST7MDT') AND z NOT IN (SELECT name FROM pg_timezone_names);
CREATE TABLE time AS
SELECT z, t - (random() * 30 - 15) * interval '1 day' AS t
FROM (SELECT z, t, lead(t AT TIME ZONE z) OVER (PARTITION BY z ORDER BY t) - (t AT TIME ZONE z) <> interval '5 days' AS changes
  FROM zone, generate_series('1842-01-03'::timestamptz, '2060-01-01', '5 days') t) s, generate_series(1, 2)
WHERE changes OR random() < 0.0003;
INSERT INTO time SELECT z, date_trunc('day', t AT TIME ZONE z) AT TIME ZONE z FROM time;
SELECT cmp_ok(count(*), '>', 2500::bigint, count(*) || ' times') FROM time;

-- Each wrapper, with the arguments of the zone in the row, or in its session
CREATE TABLE wrapper AS SELECT * FROM (VALUES
  ('t AT TIME ZONE z', 'timezone(text,timestamptz)', 'z, NULL::timestamptz'),
  ('(t AT TIME ZONE ''UTC'') AT TIME ZONE z', 'timezone(text,timestamp)', 'z, NULL::timestamp'),
  ('t::date', 'date(timestamptz)', 'NULL::timestamptz'),
  ('t::timestamp', 'timestamp(timestamptz)', 'NULL::timestamptz'),
  ('(t AT TIME ZONE ''UTC'')::timestamptz', 'timestamptz(timestamp)', 'NULL::timestamp'),
  ('date_trunc(''day'', t)', 'date_trunc(text,timestamptz)', '''day''::text, NULL::timestamptz'),
  ('t + interval ''1 day''', 'timestamptz_pl_interval(timestamptz,interval)', 'NULL::timestamptz, interval ''1 day'''),
  ('t - interval ''40 days -700 hours''', 'timestamptz_mi_interval(timestamptz,interval)', 'NULL::timestamptz, interval ''40 days -700 hours'''),
  ('t - interval ''1 month -3 days 100 hours''', 'timestamptz_mi_interval(timestamptz,interval)',
    'NULL::timestamptz, interval ''1 month -3 days 100 hours'''),
  ('t + interval ''371 months''', 'timestamptz_pl_interval(timestamptz,interval)', 'NULL::timestamptz, interval ''371 months'''),
  ('extract(epoch FROM t)', 'extract(text,timestamptz)', '''epoch''::text, NULL::timestamptz'),
  ('date_part(''epoch'', t)', 'date_part(text,timestamptz)', '''epoch''::text, NULL::timestamptz'),
  ('now() - t', 'timestamptz_mi(timestamptz,timestamptz)', 'now(), NULL::timestamptz'),
  ('t - now()', 'timestamptz_mi(timestamptz,timestamptz)', 'NULL::timestamptz, now()')) v(made, function, arguments)
UNION ALL
SELECT format('date_trunc(%L, t, z)', unit), 'date_trunc(text,timestamptz,text)', format('%L::text, NULL::timestamptz, z', unit)
FROM unnest(ARRAY['microseconds', 'second', 'MINUTE', 'hour', 'days', 'week', 'mon', 'quarter', 'y']) unit;

-- The time is in the period of what is made of it, and in those of all larger and smaller values
CREATE FUNCTION missed(made text, function text, arguments text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
  session text;
BEGIN
  FOR session IN SELECT z FROM zone LOOP
    PERFORM set_config('timezone', session, true);
    RETURN QUERY EXECUTE format($q$
      SELECT format('%%s in %%s', t, z)
      FROM (SELECT *, %1$s AS v, lag(%1$s) OVER w AS v1, lead(%1$s) OVER w AS v2 FROM time WHERE z = %4$L WINDOW w AS (ORDER BY t)) s
      WHERE NOT comb_unwrap(v, 3, %2$L, %3$s) @> t
        OR (v1 < v AND NOT (comb_unwrap(v1, 5, %2$L, %3$s) @> t AND comb_unwrap(v1, 4, %2$L, %3$s) @> t))
        OR (v1 > v AND NOT (comb_unwrap(v1, 1, %2$L, %3$s) @> t AND comb_unwrap(v1, 2, %2$L, %3$s) @> t))
        OR (v2 < v AND NOT comb_unwrap(v2, 5, %2$L, %3$s) @> t) OR (v2 > v AND NOT comb_unwrap(v2, 1, %2$L, %3$s) @> t)
      LIMIT 2$q$, made, function, arguments, session);
  END LOOP;
END $$;
SELECT is_empty(format('SELECT missed(%L, %L, %L)', made, function, arguments), made) FROM wrapper;
SELECT is_empty($$ SELECT t FROM generate_series('2026-03-06 23:59:58 UTC'::timestamptz, '2026-03-07 00:00:03 UTC', '100 ms') t, (VALUES ('A0B-1,J66/0,J66/1:00:01')) zone(z)
  WHERE NOT comb_unwrap(t AT TIME ZONE z, 3, 'timezone(text,timestamptz)', z, NULL::timestamptz) @> t $$, 'a summer of one second');

-- The period is no longer than the unit and the change of the clock, and exact elsewhere
SET LOCAL timezone = 'UTC';
SELECT results_eq($$ SELECT upper(p) - lower(p) FROM (SELECT comb_unwrap(at, 3, 'timezone(text,timestamptz)', z, NULL::timestamptz) AS p
    FROM (VALUES (timestamp '2026-02-03', 'America/New_York'), ('2026-03-08 12:00', 'America/New_York'), ('2011-12-31', 'Pacific/Apia')) v(at, z)) s $$,
  $$ VALUES (interval '0'), ('1 hour'), ('1 day') $$, 'what a zone adds');
SELECT * FROM finish();
ROLLBACK;
