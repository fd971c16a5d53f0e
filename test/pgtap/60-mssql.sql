-- SQL Server's order on many values
--
-- For a deep run, use pg_prove --set pairs=10000000 --set rows=2000000.
\if :{?pairs}
\else
	\set pairs 200000
\endif
\if :{?rows}
\else
	\set rows 50000
\endif

BEGIN;
CREATE EXTENSION IF NOT EXISTS pgtap;
CREATE EXTENSION IF NOT EXISTS pg_comb;
SET LOCAL max_parallel_workers_per_gather = 0;

SELECT plan(16);

-- The permutation in the digits of the text; the module computes the permutation
-- in another way.
CREATE FUNCTION pg_temp.permuted(id uuid) RETURNS uuid IMMUTABLE LANGUAGE sql AS $$
	SELECT (substr(h, 21, 12) || substr(h, 17, 4) || substr(h, 15, 2) || substr(h, 13, 2) ||
	        substr(h, 11, 2) || substr(h, 9, 2) || substr(h, 7, 2) || substr(h, 5, 2) ||
	        substr(h, 3, 2) || substr(h, 1, 2))::uuid
	FROM (SELECT replace(id::text, '-', '') AS h OFFSET 0) s
$$;

-- Two random values differ in nearly every byte.  The second value therefore takes
-- its last 0 to 32 digits from the first, so that every byte decides for some pairs.
CREATE TEMP TABLE pair AS
SELECT a, (left(c, 32 - i % 33) || right(replace(a::text, '-', ''), i % 33))::uuid AS b
FROM (SELECT i, gen_random_uuid() AS a, replace(gen_random_uuid()::text, '-', '') AS c
      FROM generate_series(1, :pairs) i) s;
CREATE TEMP TABLE verdict AS
SELECT count(*) AS pairs,
       count(*) FILTER (WHERE comb_mssql_key(a) <> pg_temp.permuted(a)) AS key,
       count(*) FILTER (WHERE comb_mssql_cmp(a, b) <> sign(uuid_cmp(comb_mssql_key(a), comb_mssql_key(b)))) AS cmp,
       count(*) FILTER (WHERE comb_mssql_cmp(b, a) <> - comb_mssql_cmp(a, b)) AS anti,
       count(*) FILTER (WHERE (a #<# b) <> (comb_mssql_cmp(a, b) < 0)) AS lt,
       count(*) FILTER (WHERE (a #<=# b) <> (comb_mssql_cmp(a, b) <= 0)) AS le,
       count(*) FILTER (WHERE (a = b) <> (comb_mssql_cmp(a, b) = 0)) AS eq,
       count(*) FILTER (WHERE (a #>=# b) <> (comb_mssql_cmp(a, b) >= 0)) AS ge,
       count(*) FILTER (WHERE (a #># b) <> (comb_mssql_cmp(a, b) > 0)) AS gt,
       count(*) FILTER (WHERE comb_guid_swap(comb_guid_swap(a)) <> a) AS swap,
       count(*) FILTER (WHERE a = b) AS same,
       count(*) FILTER (WHERE a <> b AND substr(a::text, 3) = substr(b::text, 3)) AS last_byte
FROM pair;

SELECT is(pairs, :pairs::bigint, 'as many pairs as asked for') FROM verdict;
SELECT cmp_ok(same, '>', 0::bigint, 'some pairs are equal') FROM verdict;
SELECT cmp_ok(last_byte, '>', 0::bigint, 'some pairs differ in the least byte only') FROM verdict;
SELECT is(key, 0::bigint, 'comb_mssql_key is the published permutation') FROM verdict;
SELECT is(cmp, 0::bigint, 'comb_mssql_cmp is memcmp of comb_mssql_key') FROM verdict;
SELECT is(anti, 0::bigint, 'comb_mssql_cmp is antisymmetric') FROM verdict;
SELECT is(lt, 0::bigint, '#<# agrees with comb_mssql_cmp') FROM verdict;
SELECT is(le, 0::bigint, '#<=# agrees with comb_mssql_cmp') FROM verdict;
SELECT is(eq, 0::bigint, '= agrees with comb_mssql_cmp') FROM verdict;
SELECT is(ge, 0::bigint, '#>=# agrees with comb_mssql_cmp') FROM verdict;
SELECT is(gt, 0::bigint, '#># agrees with comb_mssql_cmp') FROM verdict;
SELECT is(swap, 0::bigint, 'comb_guid_swap is its own inverse') FROM verdict;

-- Sorting with abbreviated keys.  A sort abbreviates only its first column.  A third
-- of the values has the same abbreviated bytes.
CREATE TEMP TABLE many AS
SELECT false AS one,
       CASE WHEN i % 3 = 0 THEN overlay(gen_random_uuid()::text PLACING '8000-000000000001' FROM 20)::uuid
            ELSE gen_random_uuid() END AS id
FROM generate_series(1, :rows) i;
CREATE FUNCTION pg_temp.sorted(by text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	digest text;
BEGIN
	EXECUTE 'SELECT md5(string_agg(md5(block), '''')) FROM (SELECT n / 1000, string_agg(id::text, '','' ORDER BY n) AS block
	         FROM (SELECT id, row_number() OVER () AS n FROM (SELECT id FROM many ORDER BY ' || by || ' OFFSET 0) s) s GROUP BY 1 ORDER BY 1) s'
	INTO digest;
	RETURN digest;
END
$$;
SELECT is(pg_temp.sorted('id USING #<#'), pg_temp.sorted('comb_mssql_key(id)'),
          'abbreviated sort is the order of comb_mssql_key');
SELECT is(pg_temp.sorted('one, id USING #<#'), pg_temp.sorted('comb_mssql_key(id)'),
          'full sort is the order of comb_mssql_key');
SELECT isnt(pg_temp.sorted('id USING #<#'), pg_temp.sorted('id'),
            'which is not the plain order');

-- The estimate of a range: the planner counts the values of a histogram that is in
-- another order.  SET STATISTICS sets how fine the estimate is.
CREATE TEMP TABLE est AS SELECT md5(i::text)::uuid AS id FROM generate_series(1, 20000) i;
ALTER TABLE est ALTER id SET STATISTICS 1000;
ANALYZE est;
CREATE FUNCTION pg_temp.estimate(q text) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT json) ' || q INTO plan;
	RETURN plan -> 0 -> 'Plan' ->> 'Plan Rows';
END
$$;
SELECT ok(pg_temp.estimate($$SELECT * FROM est WHERE id #>=# '00000000-0000-0000-0000-400000000000'
                             AND id #<# '00000000-0000-0000-0000-800000000000'$$) / 5000 BETWEEN 0.8 AND 1.25,
          'a quarter of the values is estimated as one');

SELECT * FROM finish();
ROLLBACK;
