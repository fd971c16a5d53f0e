--
-- Snowflakes: their parts, bounds and parameters, and what one session can see
-- when it makes them
--

CREATE FUNCTION failure(statement text, OUT state text, OUT message text, OUT detail text, OUT hint text)
LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE statement;
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT,
		detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
END $$;

SET timezone = 'UTC';
SET datestyle = 'ISO';

-- an example from an article, with the parameters of the article's project
SELECT comb_snowflake_timestamp(id), comb_snowflake_instance(id), comb_snowflake_sequence(id)
FROM (VALUES (129996446076932098)) v(id);

-- a number that is no Snowflake, and a time that timestamptz cannot hold
SELECT comb_snowflake_timestamp(-1) IS NULL AS t, comb_snowflake_instance(-1) IS NULL AS t,
       comb_snowflake_sequence(-1) IS NULL AS t;
SELECT * FROM failure($$SELECT comb_snowflake_timestamp(9223372036854775807, tick => '1 day')$$);

-- the planner folds bounds into constants, and prunes partitions by them
CREATE TABLE posts (id bigint) PARTITION BY RANGE (id);
CREATE TABLE posts_2025 PARTITION OF posts FOR VALUES
	FROM (comb_snowflake_min('2025-01-01 00:00:00+00')) TO (comb_snowflake_min('2026-01-01 00:00:00+00'));
CREATE TABLE posts_2026 PARTITION OF posts FOR VALUES
	FROM (comb_snowflake_min('2026-01-01 00:00:00+00')) TO (comb_snowflake_min('2027-01-01 00:00:00+00'));
EXPLAIN (COSTS off) SELECT * FROM posts
WHERE id >= comb_snowflake_min('2026-02-01 00:00:00+00') AND id < comb_snowflake_min('2026-03-01 00:00:00+00');
DROP TABLE posts;

-- bounds for times that the bits cannot hold
SELECT comb_snowflake_min('-infinity') AS "0", comb_snowflake_min('2024-01-01 00:00:00+00') AS "0",
       comb_snowflake_max('-infinity') AS "-1", comb_snowflake_max('2023-12-31 23:59:59.999999+00') AS "-1",
       comb_snowflake_max('2024-01-01 00:00:00+00') AS "4194303";
SELECT comb_snowflake_min('infinity') = 9223372036854775807 AS t,
       comb_snowflake_max('infinity') = 9223372036854775807 AS t,
       comb_snowflake_min('infinity', '1970-01-01 00:00:00+00', 0, 0, '1 us') = 9223372036854775807 AS t,
       comb_snowflake_min('infinity', '1970-01-01 00:00:00+00', 0, 0, '1 ms') = 9223372036854775807 AS t,
       comb_snowflake_max('infinity', '1970-01-01 00:00:00+00', 0, 0, '1 ms') = 9223372036854775807 AS t;
-- the last tick, and times after the last tick
SELECT comb_snowflake_timestamp(comb_snowflake_min('2093-09-06 15:47:35.551+00')) AS "2093-09-06 15:47:35.551",
       comb_snowflake_min('2093-09-06 15:47:35.551+00') = 9223372036854775807 - 4194303 AS t,
       comb_snowflake_min('2093-09-06 15:47:35.551001+00') = 9223372036854775807 AS t,
       comb_snowflake_max('2093-09-06 15:47:35.550999+00') = 9223372036854775807 - 4194304 AS t;

-- wrong parameters are errors, also where ids are read
SELECT call, f.* FROM (VALUES
	(1, '(instance_bits => -1)'),
	(2, '(instance_bits => 32)'),
	(3, '(sequence_bits => -1)'),
	(4, '(sequence_bits => 53)'),
	(5, '(tick => ''0'')'),
	(6, '(tick => ''-1 ms'')'),
	(7, '(tick => ''1 month'')'),
	(8, '(tick => ''1 day 1 us'')'),
	(9, '(tick => ''2147483647 days'')'),
	(10, '(epoch => ''1969-12-31 23:59:59.999999+00'')'),
	(11, '(epoch => ''-infinity'')'),
	(12, '(epoch => ''infinity'')'),
	(13, '_timestamp(1, instance_bits => 32)'),
	(14, '_instance(1, sequence_bits => 32)'),
	(15, '_sequence(1, tick => ''0'')'),
	(16, '_min(now(), epoch => ''infinity'')'),
	(17, '_max(now(), tick => ''1 month'')')) v (n, call), failure('SELECT comb_snowflake' || call) AS f ORDER BY n;
-- ids of parameters with room for fewer than 10000 a second can be read, but not made
SELECT * FROM failure($$SELECT comb_snowflake(instance_bits => 0, sequence_bits => 0, tick => '101 us')$$);
SELECT * FROM failure($$SELECT comb_snowflake(instance_bits => 0, sequence_bits => 7, tick => '13 ms')$$);
SELECT * FROM failure($$SELECT comb_snowflake(instance_bits => 0, sequence_bits => 31, tick => '1 day')$$);
SELECT state, detail, hint FROM failure($$SELECT comb_snowflake(sequence_bits => 0, tick => '1 day')$$);
SELECT state FROM failure($$SELECT comb_snowflake_settled(instance_bits => 0, sequence_bits => 0, tick => '101 us')$$);
SELECT comb_snowflake(instance_bits => 0, sequence_bits => 0, tick => '100 us')
       < comb_snowflake_min(now() + interval '1 minute', instance_bits => 0, sequence_bits => 0, tick => '100 us') AS t,
       comb_snowflake(instance_bits => 0, sequence_bits => 7, tick => '12.8 ms')
       < comb_snowflake_min(now() + interval '1 minute', instance_bits => 0, sequence_bits => 7, tick => '12.8 ms') AS t;
SELECT comb_snowflake_timestamp(7, instance_bits => 0, sequence_bits => 0, tick => '1 day') = '2024-01-08 00:00:00+00' AS t;
-- parameters that change from row to row, with a wrong set among them
SELECT bits, comb_snowflake_sequence(1023, sequence_bits => bits) FROM generate_series(8, 12, 2) bits;
SELECT count(state) AS "2", count(*) AS "5"
FROM generate_series(30, 34) bits,
     failure(format('SELECT comb_snowflake_sequence(5, sequence_bits => %s - 1)', bits));

SELECT state FROM failure($$SELECT comb_snowflake_sequence(5, tick => tick) FROM (VALUES (interval '1 ms'), ('1 month 1 ms')) v(tick)$$);

-- without an instance number only ids with 0 instance bits can be made
SHOW pg_comb.snowflake_instance;
SELECT * FROM failure('SELECT comb_snowflake()');
SELECT comb_snowflake_instance(comb_snowflake(instance_bits => 0), instance_bits => 0) AS "0";

-- The postmaster sees a reload before the next connection does.
ALTER SYSTEM SET pg_comb.snowflake_instance = 937;
SELECT pg_reload_conf();
\c -
SET timezone = 'UTC';
SELECT * FROM failure('SELECT comb_snowflake(instance_bits => 9)');

-- the parts of a new id
SELECT comb_snowflake_timestamp(id) BETWEEN now() - interval '1 ms' AND clock_timestamp() + interval '1 minute' AS t,
       comb_snowflake_instance(id) AS "937",
       comb_snowflake_sequence(id) BETWEEN 0 AND 4095 AS t
FROM comb_snowflake() id;

-- Several parameter sets take turns: each set has its own order.
WITH made AS MATERIALIZED (
	SELECT n, comb_snowflake() AS a,
	       comb_snowflake('2010-11-04 01:42:54.657+00') AS b,
	       comb_snowflake('2011-08-24 21:07:01.721+00', 13, 10) AS c,
	       comb_snowflake('1970-01-01 00:00:00+00', 0, 16) AS d,
	       comb_snowflake('2015-01-01 00:00:00+00', 10, 5, '10 us') AS e,
	       comb_snowflake('2025-01-01 00:00:00+00', 16, 8, '10 ms') AS f,
	       comb_snowflake('2024-01-01 00:00:00+00', 0, 5, '1 us') AS g,
	       comb_snowflake('2024-01-01 00:00:00+00', 10, 24, '7 s') AS h,
	       comb_snowflake('2024-01-01 00:00:00.000001+00', 10, 3, '333 us') AS i,
	       comb_snowflake('2024-01-01 00:00:00+00', 10, 4) AS j
	FROM generate_series(1, 5000) n)
SELECT count(DISTINCT a) + count(DISTINCT b) + count(DISTINCT c) + count(DISTINCT d)
       + count(DISTINCT e) + count(DISTINCT f) + count(DISTINCT g) + count(DISTINCT h)
       + count(DISTINCT i) + count(DISTINCT j) AS "50000",
       bool_and(n = 1 OR (a > a1 AND b > b1 AND c > c1 AND d > d1 AND e > e1 AND f > f1
                          AND g > g1 AND h > h1 AND i > i1 AND j > j1)) AS t
FROM (SELECT *, lag(a) OVER w AS a1, lag(b) OVER w AS b1, lag(c) OVER w AS c1,
             lag(d) OVER w AS d1, lag(e) OVER w AS e1, lag(f) OVER w AS f1,
             lag(g) OVER w AS g1, lag(h) OVER w AS h1, lag(i) OVER w AS i1,
             lag(j) OVER w AS j1
      FROM made WINDOW w AS (ORDER BY n)) lagged;

-- a clock before the epoch, and a clock after the times that the bits hold
SELECT state, message, hint FROM failure($$SELECT comb_snowflake(epoch => now() + interval '1 day')$$);
SELECT * FROM failure($$SELECT comb_snowflake('2024-01-01 00:00:00+00', 31, 31)$$);
SELECT * FROM failure($$SELECT comb_snowflake('1970-01-01 00:00:00+00', 10, 22)$$);
-- one day before the end, and one tick before the end
SELECT comb_snowflake_timestamp(comb_snowflake(now() - interval '2147483647 ms' + interval '1 day', 10, 22),
                                now() - interval '2147483647 ms' + interval '1 day', 10, 22) - now() < '1 s' AS t;
SELECT state FROM failure($$SELECT comb_snowflake(clock_timestamp() - interval '2147483647 ms', 10, 22)$$);

-- bounds enclose the ids of their time
SELECT bool_and(id >= comb_snowflake_min(comb_snowflake_timestamp(id))
                AND id <= comb_snowflake_max(comb_snowflake_timestamp(id))
                AND id > comb_snowflake_max(comb_snowflake_timestamp(id) - interval '1 us')
                AND id < comb_snowflake_min(comb_snowflake_timestamp(id) + interval '1 us')) AS t
FROM (SELECT comb_snowflake() AS id FROM generate_series(1, 1000)) made;

-- as for comb_generate_ordered(), a transaction that makes ids must not be read-only
BEGIN READ ONLY;
SELECT state, message FROM failure('SELECT comb_snowflake()');
SELECT state, message FROM failure('SELECT comb_snowflake_claim()');
SELECT comb_snowflake_settled() > 0 AS t;
COMMIT;

-- the bound is above all ids of parameters whose time has come to its end
SELECT comb_snowflake_settled('2024-01-01 00:00:00+00', 0, 31, '1 ms') = ((1::bigint << 32) - 1) << 31 AS t;

-- instance numbers for other generators
SELECT array_agg(comb_snowflake_claim(2) ORDER BY n) @> '{0,1,2,3}' AS t FROM generate_series(1, 4) n;
SELECT * FROM failure('SELECT comb_snowflake_claim(2)');
SELECT * FROM failure('SELECT comb_snowflake_claim(32)');
SELECT state FROM failure('SELECT comb_snowflake_claim(-1)');
SELECT count(*) AS "4", bool_and(mode = 'ExclusiveLock' AND granted) AS t
FROM pg_locks JOIN pg_class c ON c.oid = classid AND relname = 'comb_snowflake_claimed'
WHERE locktype = 'advisory' AND pid = pg_backend_pid() AND objsubid = 2;
-- an error takes no claim back
BEGIN;
SELECT comb_snowflake_claim(3) = comb_snowflake_claim(3) AS f;
ROLLBACK;
SELECT count(*) AS "6"
FROM pg_locks JOIN pg_class c ON c.oid = classid AND relname = 'comb_snowflake_claimed'
WHERE locktype = 'advisory' AND pid = pg_backend_pid();
SELECT pg_advisory_unlock_all();
-- callers need no rights but EXECUTE, and no search_path
CREATE ROLE claimer;
SET ROLE claimer;
SET search_path = '';
SELECT public.comb_snowflake_claim(31) >= 0 AS t;
SELECT nextval('comb_internal.comb_snowflake_claimed');
RESET ROLE;
RESET search_path;
DROP ROLE claimer;
SELECT pg_advisory_unlock_all();
-- a claim is an advisory lock, and ends with all of them, without a word
SELECT comb_snowflake_claim() >= 0 AS t;
DISCARD ALL;
SELECT count(*) AS "0" FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid();
-- claims leave out the server's own number
ALTER SYSTEM SET pg_comb.snowflake_instance = 2;
SELECT pg_reload_conf();
\c -
SELECT array_agg(n ORDER BY n) AS "{0,1,3}" FROM (SELECT comb_snowflake_claim(2) AS n FROM generate_series(1, 3)) claimed;
SELECT state FROM failure('SELECT comb_snowflake_claim(2)');
SELECT pg_advisory_unlock_all();
-- a claim gets the next number, even if a lower number is free again
SELECT comb_snowflake_claim() AS n FROM generate_series(1, 3) OFFSET 2 \gset
SELECT pg_advisory_unlock_all();
SELECT comb_snowflake_claim() = (:n + 1) % 1024 AS t;
SELECT pg_advisory_unlock_all();
-- after the largest number the sequence starts over
SELECT setval('comb_internal.comb_snowflake_claimed', 2147483647);
SELECT comb_snowflake_claim(31) AS "0";
SELECT pg_advisory_unlock_all();

-- 200000 ids have room in 20 s, more than any server needs to make them, so they
-- take future time
SELECT bool_and(id > before) AS t, count(DISTINCT id) AS "200000",
       max(comb_snowflake_timestamp(id, sequence_bits => 2, tick => '400 us'))
       - min(comb_snowflake_timestamp(id, sequence_bits => 2, tick => '400 us')) >= '19.9 s' AS t
FROM (SELECT id, lag(id) OVER (ORDER BY n) AS before
      FROM (SELECT n, comb_snowflake(sequence_bits => 2, tick => '400 us') AS id FROM generate_series(1, 200000) n) made) lagged;
-- no gaps: each id takes the slot after the previous id
SELECT bool_and(id = before + CASE WHEN before % 4 = 3 THEN 4096 - 3 ELSE 1 END) AS t
FROM (SELECT id, lag(id) OVER (ORDER BY n) AS before
      FROM (SELECT n, comb_snowflake(sequence_bits => 2, tick => '400 us') AS id FROM generate_series(1, 1000) n) made) lagged;
-- ids of other parameters go on from there
SELECT comb_snowflake_timestamp(comb_snowflake()) > clock_timestamp() + interval '1 s' AS t;
-- pg_comb.max_ordered_drift limits the future time
ALTER SYSTEM SET pg_comb.max_ordered_drift = '1s';
SELECT pg_reload_conf();
\c -
SET timezone = 'UTC';
SELECT state, message, hint FROM failure('SELECT comb_snowflake()');
ALTER SYSTEM RESET pg_comb.max_ordered_drift;
SELECT pg_reload_conf();
\c -
SET timezone = 'UTC';

ALTER SYSTEM RESET pg_comb.snowflake_instance;
SELECT pg_reload_conf();
DROP FUNCTION failure;
