-- Positions of readers that wait for no writer: plans, text, and errors

-- the rows that the planner expects, and whether a plan reads a table
CREATE FUNCTION estimated(query text) RETURNS numeric LANGUAGE plpgsql AS
$$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
	RETURN plan->0->'Plan'->>'Plan Rows';
END
$$;
CREATE FUNCTION reads(query text, tablename text) RETURNS boolean LANGUAGE plpgsql AS
$$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT JSON, ANALYZE, TIMING OFF) ' || query INTO plan;
	RETURN plan::text LIKE '%"' || tablename || '"%';
END
$$;

CREATE TABLE event (id uuid PRIMARY KEY DEFAULT comb_generate_ordered(), body text);
INSERT INTO event (body) SELECT 'event' FROM generate_series(1, 1000);
VACUUM ANALYZE event;

-- one statement gives the rows, and the position for the next one
SELECT position AS p1, count(id) = 1000 AS all_rows
FROM comb_position(NULL) AS position LEFT JOIN event ON comb_unread(id, event.xmin, NULL) GROUP BY position \gset
\echo :all_rows
SELECT count(*) = 0 AS nothing_new FROM event WHERE comb_unread(id, xmin, :'p1');
INSERT INTO event (body) VALUES ('new');
SELECT body FROM event WHERE comb_unread(id, xmin, :'p1');
-- a position of a key
SELECT id AS key FROM event ORDER BY id LIMIT 1 OFFSET 990 \gset
SELECT count(*) = 10 AS rows_after_the_key FROM event WHERE comb_unread(id, xmin, comb_position_after(:'key'));
SELECT array_agg(n ORDER BY n) AS "{10,20}" FROM (SELECT since, count(*) AS n
	FROM (SELECT comb_position_after(id) AS since FROM event ORDER BY id OFFSET 980 LIMIT 11) AS places, event
	WHERE comb_unread(id, xmin, since) GROUP BY since) AS counts WHERE n % 10 = 0;
SELECT comb_position_bound(comb_position_after(:'key')) > :'key' AS bound_is_after_the_key,
	comb_position_bound('') = '00000000-0000-0000-0000-000000000000' AS beginning,
	comb_position_bound(:'p1') <= comb_settled() AS bound_is_settled;
SELECT comb_unread(NULL, '3', :'p1') IS NULL AS no_key, comb_unread(:'key', NULL, '') IS NULL AS no_xmin,
	comb_unread(:'key', '2', :'p1') AS frozen_below, comb_position_after(NULL) IS NULL AS no_key_after;

-- foreign tables show xmin 0
SELECT comb_unread(:'key', '0', '');
-- long positions, which are stored outside of their rows
CREATE TABLE place (n integer, position text);
ALTER TABLE place ALTER position SET STORAGE EXTERNAL;
INSERT INTO place SELECT n, regexp_replace(regexp_replace(:'p1', '[(].*', '(3:9999:' || string_agg(xid::text, ',') || ')'),
	'^((?:\S+ ){3})\S+', '\1' || comb_position_bound('')::text)
FROM generate_series(3, 4) AS n, generate_series(n, 1999, 2) AS xid GROUP BY n;
SELECT xid, (SELECT array_agg(n ORDER BY n) FROM place WHERE comb_unread(:'key', xid, position)) AS new
FROM unnest('{2,5,6}'::xid[]) AS xid;

-- what it looks like
SELECT regexp_replace(:'p1', '[0-9a-f]{8}-[0-9a-f-]{27}', 'UUID', 'g') ~ '^1 [0-9]+ [0-9]+ UUID UUID [0-9]+ \([0-9]+:[0-9]+:[0-9,]*\)$' AS position,
	regexp_replace(comb_position_after(:'key'), '[0-9a-f]{8}-[0-9a-f-]{27}', 'UUID') ~ '^1 [0-9]+ [0-9]+ UUID$' AS position_after;

-- plans: the ranges between the edges are index conditions, and prune partitions
PREPARE unread(text) AS SELECT * FROM event WHERE comb_unread(id, xmin, $1) ORDER BY id;
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE unread(NULL);
RESET plan_cache_mode;
CREATE TABLE parts (id uuid DEFAULT comb_generate_ordered()) PARTITION BY RANGE (id);
CREATE TABLE parts_old PARTITION OF parts FOR VALUES FROM (MINVALUE) TO (:'key');
CREATE TABLE parts_new PARTITION OF parts FOR VALUES FROM (:'key') TO (MAXVALUE);
SELECT reads(query, 'parts_new') AS t, reads(query, 'parts_old') AS f
FROM format('SELECT * FROM parts WHERE comb_unread(id, xmin, %L)', comb_position_after(:'key')) AS query;
-- an estimate from statistics
SELECT rows < 20 AS few, (SELECT rows > 200 FROM estimated('SELECT * FROM event WHERE comb_unread(id, xmin, NULL)') AS rows) AS many
FROM estimated(format('SELECT * FROM event WHERE comb_unread(id, xmin, comb_position_after(%L))', :'key')) AS rows;

-- text that is no position
CREATE FUNCTION error_of(since text) RETURNS text LANGUAGE plpgsql AS
$$
DECLARE
	detail text;
	hint text;
BEGIN
	PERFORM FROM event WHERE comb_unread(id, xmin, since);
	RETURN 'no error';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
	RETURN SQLSTATE || ' ' || regexp_replace(regexp_replace(SQLERRM, '".*"', '"..."'), 'version .*', 'version ...')
		|| CASE WHEN detail = '' THEN '' ELSE ' +' END || CASE WHEN hint = '' THEN '' ELSE ' +' END;
END
$$;
SELECT what, error_of(since) FROM (VALUES
	(1, 'not changed', :'p1'),
	(2, 'a word', 'now'),
	(26, 'a key', '01a2228e-618a-76f5-8bf2-218a8ecf2906'),
	(27, 'a key that begins with digits', '019a2228-618a-76f5-8bf2-218a8ecf2906'),
	(28, 'a time', '2026-11-28 10:00'),
	(3, 'a space before', ' ' || :'p1'),
	(4, 'a space after', :'p1' || ' '),
	(5, 'a comma after', :'p1' || ','),
	(6, 'a number after', :'p1' || '1'),
	(7, 'cut off', left(:'p1', 70)),
	(8, 'cut off at the end', left(:'p1', -1)),
	(25, 'a number', '5'),
	(23, 'cut off in the cluster', left(:'p1', 5)),
	(21, 'an end too many', :'p1' || ')'),
	(9, 'no snapshot', regexp_replace(:'p1', '[(].*', '')),
	(10, 'another version', '2' || substr(:'p1', 2)),
	(11, 'no version', substr(:'p1', 3)),
	(12, 'another cluster', regexp_replace(:'p1', '^1 [0-9]', '1 1')),
	(13, 'another database', regexp_replace(:'p1', '^(1 [0-9]+) [0-9]+', '\1 1')),
	(14, 'a bound in upper case', regexp_replace(:'p1', '^(1 [0-9]+ [0-9]+) [0-9a-f]{8}', '\1 ABCDEF01')),
	(22, 'a hyphen moved', regexp_replace(:'p1', '-(.)', '\1-')),
	(15, 'snapshot upside down', regexp_replace(:'p1', '[(].*', '(9:8:)')),
	(16, 'xids not in order', regexp_replace(:'p1', '[(].*', '(3:9:5,4)')),
	(17, 'an xid outside', regexp_replace(:'p1', '[(].*', '(3:9:9)')),
	(24, 'the largest xid', regexp_replace(:'p1', '[(].*', '(3:9:18446744073709551615)')),
	(18, 'a negative xid', regexp_replace(:'p1', '[(].*', '(-3:9:)')),
	(19, 'a large number', regexp_replace(:'p1', '[(].*', '(3:99999999999999999999:)')),
	(20, 'a number as bound', regexp_replace(:'p1', '^(1 [0-9]+ [0-9]+) [^ ]+', '\1 5'))) AS given (n, what, since) ORDER BY n;
SELECT what, error_of(regexp_replace(:'p1', '^((?:\S+ ){3})(\S+) ', '\1\2 ' || gaps)) FROM (VALUES
	(1, 'no gap', ''),
	(2, 'an empty gap', 'B/B '),
	(3, 'two gaps', 'B/B B/B '),
	(4, 'a gap below the bound', '0/B '),
	(5, 'a gap beyond the end', 'B/f '),
	(6, 'a gap upside down', 'f/B '),
	(8, 'a gap without an end', 'B/ '),
	(9, 'a gap of three', 'B/B/B ')) AS given (n, what, digits),
	replace(replace(replace(replace(digits, '0', '00000000-0000-0000-0000-000000000000'), 'f', 'ffffffff-ffff-ffff-ffff-ffffffffffff'),
		'B', split_part(:'p1', ' ', 4)), 'E', split_part(:'p1', ' ', 5)) AS gaps ORDER BY n;
SELECT comb_position_edge(:'p1', 1) = comb_position_bound(:'p1') AS no_gap,
	comb_position_edge(:'p1', 2) = comb_position_bound(:'p1') AS begins;
SELECT comb_position_edge('', 0) IS NULL AND comb_position_edge('', 3) IS NULL AND comb_position_edge('', NULL) IS NULL AS no_edge;
SELECT comb_position('now');
SELECT comb_position_after('ffffffff-ffff-ffff-ffff-ffffffffffff');
DROP TABLE event, parts, place;
