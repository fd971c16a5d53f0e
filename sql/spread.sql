-- Spread keys in hash partitions: what queries read, and messages

CREATE TABLE spread (id uuid PRIMARY KEY DEFAULT comb_spread(comb_generate_ordered(), 16), n int) PARTITION BY HASH (id);
SELECT format('CREATE TABLE spread_%1$s PARTITION OF spread FOR VALUES WITH (MODULUS 16, REMAINDER %1$s)', n)
FROM generate_series(0, 15) n \gexec
INSERT INTO spread SELECT comb_spread(comb_at('2026-11-01 00:00+00'::timestamptz + n * interval '1 ms'), 16), n FROM generate_series(1, 32000) n;
INSERT INTO spread (n) VALUES (0);
VACUUM ANALYZE spread;
SELECT count(*) AS sixteen, max(n) <= 2112 AND min(n) >= 1888 AS as_many_in_each
FROM (SELECT count(*) AS n FROM spread GROUP BY tableoid) AS s;

-- How many nodes of each kind a plan has, and the rows that its scans read, in hundreds
CREATE FUNCTION scans(query text) RETURNS text LANGUAGE plpgsql AS
$$
DECLARE
	plan jsonb;
	result text;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT JSON, ANALYZE, TIMING OFF) ' || query INTO plan;
	SELECT string_agg(format('%s: %s', kind, n), ', ' ORDER BY place) || format('; %s hundred rows', sum(rows)::int / 100) INTO result
	FROM (SELECT node->>'Node Type' AS kind, count(*) AS n, min(place) AS place,
			sum((node->>'Actual Rows')::float8 * (node->>'Actual Loops')::int) FILTER (WHERE node->>'Node Type' LIKE '%Scan') AS rows
		FROM jsonb_path_query(plan, 'strict $.** ? (exists (@."Node Type"))') WITH ORDINALITY AS p (node, place) GROUP BY kind) AS s;
	RETURN result;
END
$$;

-- A poll reads what it returns, and a row of each partition.
SELECT scans(query), query FROM unnest(ARRAY[
	$q$SELECT * FROM spread WHERE id > comb_min('2026-11-01 00:00:02+00') AND id < comb_settled() ORDER BY id LIMIT 1000$q$,
	$q$SELECT * FROM spread ORDER BY id DESC LIMIT 20$q$,
	$q$SELECT * FROM spread WHERE id <@ '[2026-11-01 00:00:03+00, 2026-11-01 00:00:03.1+00)' ORDER BY id$q$,
	$q$SELECT * FROM spread WHERE comb_timestamp(id) >= '2026-11-01 00:00:31.9+00'$q$]) AS query;
-- one key is in one partition
SELECT id AS key FROM spread WHERE n = 7 \gset
SELECT scans(format('SELECT * FROM spread WHERE id = %L', :'key'));
-- A join by many keys reads everything, unless a sub-query has to be repeated for each key.
CREATE TABLE wanted AS SELECT id FROM spread WHERE n % 32 = 0;
ANALYZE wanted;
SET max_parallel_workers_per_gather = 0;
SELECT scans('SELECT * FROM wanted JOIN spread USING (id)') ~ '; 330 hundred rows' AS reads_everything;
SELECT scans('SELECT * FROM wanted, LATERAL (SELECT * FROM spread WHERE spread.id = wanted.id OFFSET 0) AS s') ~ '; 20 hundred rows' AS reads_keys;
RESET max_parallel_workers_per_gather;

SELECT comb_spread('01a1f746-65a8-7b2a-86fb-70e6f2158327', 0);
SELECT comb_spread('01a1f746-65a8-7b2a-86fb-70e6f2158327', 1025);
SELECT comb_spread('01a1f746-65a8-4b2a-86fb-70e6f2158327', 16);

DROP TABLE spread, wanted;
DROP FUNCTION scans;
