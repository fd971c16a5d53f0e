--
-- Sorting in SQL Server's order, where the sort keeps abbreviated keys and where
-- the sort gives them up
--

-- keep the order of equal rows fixed: no parallel plans
SET max_parallel_maintenance_workers = 0;
SET max_parallel_workers_per_gather = 0;

-- An abbreviated key is the eight bytes that SQL Server compares first, the last
-- two groups of the text.  If all rows have the same eight bytes, the sort gives
-- abbreviation up after 10,000 rows.  With 10,009 different values the sort keeps
-- abbreviation.
CREATE TABLE sorted (
	id serial NOT NULL,
	abort_increasing uuid,
	abort_decreasing uuid,
	noabort_increasing uuid,
	noabort_decreasing uuid);

INSERT INTO sorted (abort_increasing, abort_decreasing, noabort_increasing, noabort_decreasing)
SELECT (to_char(i, 'FM00000000') || '-0000-0000-0000-000000000000')::uuid,
       (to_char(20000 - i, 'FM00000000') || '-0000-0000-0000-000000000000')::uuid,
       (to_char(i, 'FM00000000') || '-0000-0000-0000-' || to_char(i % 10009, 'FM000000000000'))::uuid,
       (to_char(20000 - i, 'FM00000000') || '-0000-0000-0000-' || to_char((20000 - i) % 10009, 'FM000000000000'))::uuid
FROM generate_series(0, 20000) i;

-- add NULLs and duplicates
INSERT INTO sorted (id) VALUES (0);
INSERT INTO sorted DEFAULT VALUES;
INSERT INTO sorted (abort_increasing, abort_decreasing, noabort_increasing, noabort_decreasing)
SELECT abort_increasing, abort_decreasing, noabort_increasing, noabort_decreasing
FROM sorted
WHERE (id < 10 OR id > 19990) AND id % 3 = 0 AND abort_increasing IS NOT NULL;
ANALYZE sorted;


-- a plain sort that gives abbreviation up
SELECT abort_increasing, abort_decreasing FROM sorted ORDER BY abort_increasing USING #<# OFFSET 20000 - 4;
SELECT abort_increasing, abort_decreasing FROM sorted ORDER BY abort_decreasing USING #<# NULLS FIRST OFFSET 20000 - 4;

-- a plain sort that keeps abbreviation
SELECT noabort_increasing, noabort_decreasing FROM sorted ORDER BY noabort_increasing USING #<# OFFSET 20000 - 4;
SELECT noabort_increasing, noabort_decreasing FROM sorted ORDER BY noabort_decreasing USING #<# NULLS FIRST OFFSET 20000 - 4;

-- a bounded sort, which never abbreviates
SELECT abort_increasing, noabort_increasing FROM sorted ORDER BY abort_increasing USING #<# LIMIT 5;
SELECT abort_increasing, noabort_increasing FROM sorted ORDER BY noabort_increasing USING #># NULLS LAST LIMIT 5;

-- Every way to sort gives the order of the permuted keys: in memory and on disk,
-- up and down, with abbreviation and without.  (A sort abbreviates its first
-- column only.)
CREATE FUNCTION sorts(col text) RETURNS SETOF boolean LANGUAGE plpgsql AS $$
DECLARE
	mem text;
	wanted text;
	got text;
	q text := 'SELECT md5(string_agg(v::text, '','')) FROM (SELECT %1$I AS v FROM sorted WHERE %1$I IS NOT NULL ORDER BY %2$s) s';
BEGIN
	FOREACH mem IN ARRAY '{64MB,100kB}'::text[] LOOP
		PERFORM set_config('work_mem', mem, false);
		EXECUTE format(q, col, format('comb_mssql_key(%I)', col)) INTO wanted;
		EXECUTE format(q, col, format('%I USING #<#', col)) INTO got;
		RETURN NEXT got = wanted;
		EXECUTE format(q, col, format('id < 0, %I USING #<#', col)) INTO got;
		RETURN NEXT got = wanted;
		EXECUTE format(q, col, format('comb_mssql_key(%I) DESC', col)) INTO wanted;
		EXECUTE format(q, col, format('%I USING #>#', col)) INTO got;
		RETURN NEXT got = wanted;
	END LOOP;
END
$$;
SELECT col, count(*), bool_and(sorts) AS t
FROM unnest('{abort_increasing,abort_decreasing,noabort_increasing,noabort_decreasing}'::text[]) col, sorts(col)
GROUP BY 1 ORDER BY 1;

-- indexes are sound and give the order
CREATE EXTENSION amcheck;
CREATE INDEX abort_increasing_idx ON sorted (abort_increasing comb_mssql_ops);
CREATE INDEX abort_decreasing_idx ON sorted (abort_decreasing comb_mssql_ops);
CREATE INDEX noabort_increasing_idx ON sorted (noabort_increasing comb_mssql_ops);
CREATE INDEX noabort_decreasing_idx ON sorted (noabort_decreasing comb_mssql_ops);
SELECT indexrelid::regclass, bt_index_parent_check(indexrelid, true)
FROM pg_index WHERE indrelid = 'sorted'::regclass
ORDER BY indexrelid::regclass::text COLLATE "C";
SET work_mem = '4MB';
EXPLAIN (COSTS OFF)
SELECT noabort_increasing FROM sorted ORDER BY noabort_increasing USING #<# LIMIT 5;
SELECT noabort_increasing FROM sorted ORDER BY noabort_increasing USING #<# LIMIT 5;
EXPLAIN (COSTS OFF)
SELECT abort_decreasing FROM sorted ORDER BY abort_decreasing USING #<# LIMIT 5;
SELECT abort_decreasing FROM sorted ORDER BY abort_decreasing USING #<# LIMIT 5;

-- CLUSTER sorts the rows
BEGIN;
SET LOCAL enable_indexscan = false;
CLUSTER sorted USING abort_decreasing_idx;
SELECT abort_decreasing FROM sorted ORDER BY ctid LIMIT 5;
ROLLBACK;
BEGIN;
SET LOCAL enable_indexscan = false;
CLUSTER sorted USING noabort_increasing_idx;
SELECT noabort_increasing FROM sorted ORDER BY ctid LIMIT 5;
ROLLBACK;

-- cursors move forward and backward, in memory and on disk
DROP INDEX noabort_decreasing_idx;
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT noabort_decreasing FROM sorted ORDER BY noabort_decreasing USING #<#;
FETCH NEXT FROM c;
FETCH NEXT FROM c;
FETCH BACKWARD FROM c;
FETCH BACKWARD FROM c;
FETCH LAST FROM c;
FETCH BACKWARD FROM c;
COMMIT;
BEGIN;
SET LOCAL work_mem = '100kB';
DECLARE c SCROLL CURSOR FOR SELECT noabort_decreasing FROM sorted ORDER BY noabort_decreasing USING #<#;
FETCH NEXT FROM c;
FETCH NEXT FROM c;
FETCH BACKWARD FROM c;
FETCH BACKWARD FROM c;
FETCH LAST FROM c;
FETCH RELATIVE -3 FROM c;
COMMIT;

-- ordered aggregates and hypothetical-set aggregates
SELECT (array_agg(abort_increasing ORDER BY abort_increasing USING #># NULLS LAST))[1:3] AS top,
       percentile_disc(0.8) WITHIN GROUP (ORDER BY abort_increasing USING #<#) AS eighth,
       rank('00000000-0000-0000-0000-000000000001') WITHIN GROUP (ORDER BY noabort_increasing USING #<#) AS rank
FROM sorted;

DROP FUNCTION sorts(text);
DROP TABLE sorted;
DROP EXTENSION amcheck;
