--
-- Sorting in SQL Server's order, where abbreviated keys decide and where they are
-- all the same
--

-- keep the order of equal rows fixed: no parallel plans
SET max_parallel_maintenance_workers = 0;
SET max_parallel_workers_per_gather = 0;

-- An abbreviated key is the eight bytes that SQL Server compares first, the last
-- two groups of the text.  They are the same in all rows, or have 10,009 values.
CREATE TABLE sorted (
	id serial NOT NULL,
	same_increasing uuid,
	same_decreasing uuid,
	differ_increasing uuid,
	differ_decreasing uuid);

INSERT INTO sorted (same_increasing, same_decreasing, differ_increasing, differ_decreasing)
SELECT (to_char(i, 'FM00000000') || '-0000-0000-0000-000000000000')::uuid,
       (to_char(20000 - i, 'FM00000000') || '-0000-0000-0000-000000000000')::uuid,
       (to_char(i, 'FM00000000') || '-0000-0000-0000-' || to_char(i % 10009, 'FM000000000000'))::uuid,
       (to_char(20000 - i, 'FM00000000') || '-0000-0000-0000-' || to_char((20000 - i) % 10009, 'FM000000000000'))::uuid
FROM generate_series(0, 20000) i;

-- add NULLs and duplicates
INSERT INTO sorted (id) VALUES (0);
INSERT INTO sorted DEFAULT VALUES;
INSERT INTO sorted (same_increasing, same_decreasing, differ_increasing, differ_decreasing)
SELECT same_increasing, same_decreasing, differ_increasing, differ_decreasing
FROM sorted
WHERE (id < 10 OR id > 19990) AND id % 3 = 0 AND same_increasing IS NOT NULL;
ANALYZE sorted;


-- a plain sort by the whole values
SELECT same_increasing, same_decreasing FROM sorted ORDER BY same_increasing USING #<# OFFSET 20000 - 4;
SELECT same_increasing, same_decreasing FROM sorted ORDER BY same_decreasing USING #<# NULLS FIRST OFFSET 20000 - 4;

-- a plain sort by abbreviated keys
SELECT differ_increasing, differ_decreasing FROM sorted ORDER BY differ_increasing USING #<# OFFSET 20000 - 4;
SELECT differ_increasing, differ_decreasing FROM sorted ORDER BY differ_decreasing USING #<# NULLS FIRST OFFSET 20000 - 4;

-- a bounded sort, which never abbreviates
SELECT same_increasing, differ_increasing FROM sorted ORDER BY same_increasing USING #<# LIMIT 5;
SELECT same_increasing, differ_increasing FROM sorted ORDER BY differ_increasing USING #># NULLS LAST LIMIT 5;

-- Every way to sort gives the order of the permuted keys: in memory and on disk,
-- up and down, with abbreviated keys and without.  (A sort abbreviates its first
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
FROM unnest('{same_increasing,same_decreasing,differ_increasing,differ_decreasing}'::text[]) col, sorts(col)
GROUP BY 1 ORDER BY 1;

-- indexes are sound and give the order
CREATE EXTENSION amcheck;
CREATE INDEX same_increasing_idx ON sorted (same_increasing comb_mssql_ops);
CREATE INDEX same_decreasing_idx ON sorted (same_decreasing comb_mssql_ops);
CREATE INDEX differ_increasing_idx ON sorted (differ_increasing comb_mssql_ops);
CREATE INDEX differ_decreasing_idx ON sorted (differ_decreasing comb_mssql_ops);
SELECT indexrelid::regclass, bt_index_parent_check(indexrelid, true)
FROM pg_index WHERE indrelid = 'sorted'::regclass
ORDER BY indexrelid::regclass::text COLLATE "C";
SET work_mem = '4MB';
EXPLAIN (COSTS OFF)
SELECT differ_increasing FROM sorted ORDER BY differ_increasing USING #<# LIMIT 5;
SELECT differ_increasing FROM sorted ORDER BY differ_increasing USING #<# LIMIT 5;
EXPLAIN (COSTS OFF)
SELECT same_decreasing FROM sorted ORDER BY same_decreasing USING #<# LIMIT 5;
SELECT same_decreasing FROM sorted ORDER BY same_decreasing USING #<# LIMIT 5;

-- CLUSTER sorts the rows
BEGIN;
SET LOCAL enable_indexscan = false;
CLUSTER sorted USING same_decreasing_idx;
SELECT same_decreasing FROM sorted ORDER BY ctid LIMIT 5;
ROLLBACK;
BEGIN;
SET LOCAL enable_indexscan = false;
CLUSTER sorted USING differ_increasing_idx;
SELECT differ_increasing FROM sorted ORDER BY ctid LIMIT 5;
ROLLBACK;

-- cursors move forward and backward, in memory and on disk
DROP INDEX differ_decreasing_idx;
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT differ_decreasing FROM sorted ORDER BY differ_decreasing USING #<#;
FETCH NEXT FROM c;
FETCH NEXT FROM c;
FETCH BACKWARD FROM c;
FETCH BACKWARD FROM c;
FETCH LAST FROM c;
FETCH BACKWARD FROM c;
COMMIT;
BEGIN;
SET LOCAL work_mem = '100kB';
DECLARE c SCROLL CURSOR FOR SELECT differ_decreasing FROM sorted ORDER BY differ_decreasing USING #<#;
FETCH NEXT FROM c;
FETCH NEXT FROM c;
FETCH BACKWARD FROM c;
FETCH BACKWARD FROM c;
FETCH LAST FROM c;
FETCH RELATIVE -3 FROM c;
COMMIT;

-- ordered aggregates and hypothetical-set aggregates
SELECT (array_agg(same_increasing ORDER BY same_increasing USING #># NULLS LAST))[1:3] AS top,
       percentile_disc(0.8) WITHIN GROUP (ORDER BY same_increasing USING #<#) AS eighth,
       rank('00000000-0000-0000-0000-000000000001') WITHIN GROUP (ORDER BY differ_increasing USING #<#) AS rank
FROM sorted;

DROP FUNCTION sorts(text);
DROP TABLE sorted;
DROP EXTENSION amcheck;
