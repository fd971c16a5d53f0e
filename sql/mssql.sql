--
-- SQL Server's order: the operator class, and what users do with it
--

-- operator classes of the extension that amvalidate refuses: none
SELECT opcname AS invalid
FROM pg_opclass
WHERE oid IN (SELECT objid FROM pg_depend
              WHERE classid = 'pg_opclass'::regclass AND deptype = 'e'
                AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'pg_comb'))
  AND NOT amvalidate(oid);

SELECT opcname, opcintype::regtype, opcdefault AS f, opckeytype = 0 AS t
FROM pg_opclass WHERE opcname = 'comb_mssql_ops';

SELECT amopstrategy, amopopr::regoperator
FROM pg_amop WHERE amopfamily = (SELECT oid FROM pg_opfamily WHERE opfname = 'comb_mssql_ops')
ORDER BY 1;

SELECT amprocnum, amproc
FROM pg_amproc WHERE amprocfamily = (SELECT oid FROM pg_opfamily WHERE opfname = 'comb_mssql_ops')
ORDER BY 1;

SELECT oprname, oprcom::regoper AS commutator, oprnegate::regoper AS negator,
       oprcode, oprrest, oprjoin
FROM pg_operator WHERE oprname IN ('#<#', '#<=#', '#>=#', '#>#')
ORDER BY oprname COLLATE "C";

--
-- The order itself, checked on lists that others published
--
CREATE TABLE published (list text, rank int, id uuid);
INSERT INTO published VALUES
  ('sqlbi16', 1, '01000000-0000-0000-0000-000000000000'),
  ('sqlbi16', 2, '00010000-0000-0000-0000-000000000000'),
  ('sqlbi16', 3, '00000100-0000-0000-0000-000000000000'),
  ('sqlbi16', 4, '00000001-0000-0000-0000-000000000000'),
  ('sqlbi16', 5, '00000000-0100-0000-0000-000000000000'),
  ('sqlbi16', 6, '00000000-0001-0000-0000-000000000000'),
  ('sqlbi16', 7, '00000000-0000-0100-0000-000000000000'),
  ('sqlbi16', 8, '00000000-0000-0001-0000-000000000000'),
  ('sqlbi16', 9, '00000000-0000-0000-0001-000000000000'),
  ('sqlbi16', 10, '00000000-0000-0000-0100-000000000000'),
  ('sqlbi16', 11, '00000000-0000-0000-0000-000000000001'),
  ('sqlbi16', 12, '00000000-0000-0000-0000-000000000100'),
  ('sqlbi16', 13, '00000000-0000-0000-0000-000000010000'),
  ('sqlbi16', 14, '00000000-0000-0000-0000-000001000000'),
  ('sqlbi16', 15, '00000000-0000-0000-0000-000100000000'),
  ('sqlbi16', 16, '00000000-0000-0000-0000-010000000000'),
  ('azuredbsupport497', 1, 'c2eb258a-147f-4f26-97d7-0000f053cca8'),
  ('azuredbsupport497', 2, '6682bc4f-949e-478f-bba2-0003c71cd035'),
  ('azuredbsupport497', 3, 'a6d423b8-07f3-4f13-b34e-0004dc3317b7'),
  ('azuredbsupport497', 4, 'ee2c394e-7ab0-468f-b959-0005c0cc598d'),
  ('uuidnext2', 1, '01855978-effc-758f-8fc1-6b755429799c'),
  ('uuidnext2', 2, '01855978-f019-7104-bab4-79f068bc8150'),
  ('uuidnext2', 3, '01855978-f00f-74c2-a6f0-8e8c5445ec9a'),
  ('babelfish4858', 1, 'ffffffff-ffff-ffff-ffff-000000000000'),
  ('babelfish4858', 2, '00000000-0000-0000-0000-ffffffffffff'),
  ('newid_specs', 1, 'fc070000-9565-3668-e000-08d5893343c6'),
  ('newid_specs', 2, 'fc070000-9565-3668-9180-08d589338b38'),
  ('rtcomb_rtcomb_legacy', 1, '7fffffff-7fff-7fff-ffff-8eac00000000'),
  ('rtcomb_rtcomb_legacy', 2, '00000000-0000-0000-0000-8eac00000003'),
  ('buv_legacy_rfc', 1, 'ac210700-c656-4cf2-cc8b-08de7bf5381d'),
  ('buv_legacy_rfc', 2, 'aca70268-aa56-4cb2-8c8b-8de7bf5381dc');

-- lists that the operators sort in another order: none
SELECT list FROM published
GROUP BY list
HAVING array_agg(rank ORDER BY id USING #<#) <> array_agg(rank ORDER BY rank)
    OR array_agg(rank ORDER BY id USING #>#) <> array_agg(rank ORDER BY rank DESC)
    OR array_agg(rank ORDER BY comb_mssql_key(id)) <> array_agg(rank ORDER BY rank);

-- lists that plain order happens to sort right: few
SELECT list, count(*) FROM published
GROUP BY list
HAVING array_agg(rank ORDER BY id) = array_agg(rank ORDER BY rank)
ORDER BY list COLLATE "C";

-- every operator on every pair
SELECT count(*) AS pairs,
       bool_and((a.id #<# b.id) = (a.rank < b.rank)) AS t,
       bool_and((a.id #<=# b.id) = (a.rank <= b.rank)) AS t,
       bool_and((a.id #>=# b.id) = (a.rank >= b.rank)) AS t,
       bool_and((a.id #># b.id) = (a.rank > b.rank)) AS t,
       bool_and(comb_mssql_cmp(a.id, b.id) = sign(a.rank - b.rank)) AS t
FROM published a JOIN published b USING (list);

-- NULL gives NULL
SELECT NULL::uuid #<# a IS NULL AS t, a #>=# NULL::uuid IS NULL AS t,
       comb_mssql_cmp(a, NULL) IS NULL AS t, comb_mssql_key(NULL) IS NULL AS t,
       comb_guid_swap(NULL) IS NULL AS t
FROM (VALUES ('00000000-0000-0000-0000-000000000000'::uuid)) v (a);

-- a published pair of value and permutation, and a Guid with its ToByteArray()
SELECT comb_mssql_key('ffeeddcc-bbaa-9988-6677-001122334455');
SELECT comb_guid_swap('b4bcba39-58eb-47ce-8890-71e7867d67a5');
SELECT bool_and(comb_guid_swap(comb_guid_swap(id)) = id) AS t,
       bool_or(comb_guid_swap(id) = id) AS f
FROM published WHERE list = 'azuredbsupport497';

--
-- Indexes
--
CREATE TABLE orders (id uuid NOT NULL, n int);
INSERT INTO orders SELECT md5(i::text)::uuid, i FROM generate_series(1, 5000) i;
CREATE UNIQUE INDEX orders_id ON orders (id comb_mssql_ops);
VACUUM ANALYZE orders;
SET enable_seqscan = off;
SET enable_bitmapscan = off;

-- an index scan gives the order without a sort, in both directions
EXPLAIN (COSTS OFF) SELECT * FROM orders ORDER BY id USING #<# LIMIT 5;
EXPLAIN (COSTS OFF) SELECT * FROM orders ORDER BY id USING #># LIMIT 5;
SELECT array_agg(id) = (SELECT array_agg(id ORDER BY comb_mssql_key(id)) FROM orders) AS t
FROM (SELECT id FROM orders ORDER BY id USING #<#) s;
SELECT array_agg(id) = (SELECT array_agg(id ORDER BY comb_mssql_key(id) DESC) FROM orders) AS t
FROM (SELECT id FROM orders ORDER BY id USING #>#) s;

-- ranges, "=" and IN
EXPLAIN (COSTS OFF)
SELECT * FROM orders
WHERE id #>=# '00000000-0000-0000-0000-400000000000' AND id #<# '00000000-0000-0000-0000-500000000000';
SELECT array_agg(id ORDER BY n)
       = (SELECT array_agg(id ORDER BY n) FROM orders WHERE id::text LIKE '________-____-____-____-4%') AS t
FROM orders
WHERE id #>=# '00000000-0000-0000-0000-400000000000' AND id #<# '00000000-0000-0000-0000-500000000000';
EXPLAIN (COSTS OFF) SELECT * FROM orders WHERE id = md5('1')::uuid;
EXPLAIN (COSTS OFF) SELECT * FROM orders WHERE id IN (md5('1')::uuid, md5('2')::uuid);
SELECT n FROM orders WHERE id IN (md5('1')::uuid, md5('2')::uuid) ORDER BY n;

-- an index-only scan answers
EXPLAIN (COSTS OFF) SELECT count(id) FROM orders WHERE id #<# '00000000-0000-0000-0000-100000000000';
SELECT count(id) = (SELECT count(*) FROM orders WHERE id::text LIKE '________-____-____-____-0%') AS t
FROM orders WHERE id #<# '00000000-0000-0000-0000-100000000000';

-- the index does not serve the plain order
RESET enable_seqscan;
EXPLAIN (COSTS OFF) SELECT * FROM orders ORDER BY id LIMIT 5;
EXPLAIN (COSTS OFF) SELECT id FROM orders WHERE id > '40000000-0000-0000-0000-000000000000';
SET enable_seqscan = off;

-- DISTINCT ON
EXPLAIN (COSTS OFF) SELECT DISTINCT ON (id) id, n FROM orders ORDER BY id USING #<#;
SELECT count(*) FROM (SELECT DISTINCT ON (id) id, n FROM orders ORDER BY id USING #<#) s;

-- a merge join of two such indexes
CREATE TABLE lines (order_id uuid NOT NULL, line int);
INSERT INTO lines SELECT id, l FROM orders, generate_series(1, 2) l;
CREATE INDEX lines_order_id ON lines (order_id comb_mssql_ops);
VACUUM ANALYZE lines;
SET enable_hashjoin = off;
SET enable_nestloop = off;
SET enable_sort = off;
EXPLAIN (COSTS OFF) SELECT count(*) FROM orders o JOIN lines l ON l.order_id = o.id;
SELECT count(*) FROM orders o JOIN lines l ON l.order_id = o.id;
RESET enable_hashjoin;
RESET enable_nestloop;
RESET enable_sort;

-- foreign keys need only the operator "="
ALTER TABLE lines ADD FOREIGN KEY (order_id) REFERENCES orders (id) ON DELETE CASCADE;
INSERT INTO lines VALUES ('00000000-0000-0000-0000-000000000000', 1);
DELETE FROM orders WHERE n = 1;
SELECT count(*) AS f FROM lines WHERE order_id = md5('1')::uuid;

-- the unique index refuses a duplicate
INSERT INTO orders VALUES (md5('2')::uuid, 2);
INSERT INTO orders VALUES (md5('2')::uuid, -2) ON CONFLICT (id) DO UPDATE SET n = excluded.n RETURNING n;

-- a primary key needs the default order; replication accepts the unique index
ALTER TABLE orders ADD PRIMARY KEY USING INDEX orders_id;
ALTER TABLE orders REPLICA IDENTITY USING INDEX orders_id;

-- the index stores duplicates once
CREATE EXTENSION pageinspect;
SELECT allequalimage AS t FROM bt_metap('orders_id');

-- the index is sound after inserts, after REINDEX and after a parallel build
CREATE EXTENSION amcheck;
INSERT INTO orders SELECT md5(i::text)::uuid, i FROM generate_series(5001, 6000) i;
SELECT bt_index_parent_check('orders_id', true);
REINDEX INDEX orders_id;
SELECT bt_index_parent_check('orders_id', true);
SET min_parallel_table_scan_size = 0;
SET maintenance_work_mem = '64MB';
SET max_parallel_maintenance_workers = 2;
ALTER TABLE orders SET (parallel_workers = 2);
SET client_min_messages = debug1;
CREATE INDEX orders_parallel ON orders (id comb_mssql_ops);
RESET client_min_messages;
SELECT bt_index_parent_check('orders_parallel', true);
DROP INDEX orders_parallel;

-- Skip scans, on servers that know them: the server steps from each first value
-- to the next one.
CREATE TABLE skip (id uuid, n int);
INSERT INTO skip
SELECT v.id, n
FROM (VALUES ('00000000-0000-0000-0000-000000000000'::uuid),
             ('ffffffff-ffff-ffff-0000-000000000000'),
             ('00000000-0000-0000-0001-000000000000'),
             ('ffffffff-ffff-ffff-ffff-0000000000ff'),
             ('00000000-0000-0000-0000-000000000100'),
             ('ffffffff-ffff-ffff-ffff-ffffffffffff'),
             (NULL)) v (id), generate_series(1, 2000) n;
CREATE INDEX skip_idx ON skip (id comb_mssql_ops, n);
VACUUM ANALYZE skip;
EXPLAIN (COSTS OFF) SELECT id FROM skip WHERE n = 1000 ORDER BY id USING #<#;
SELECT id FROM skip WHERE n = 1000 ORDER BY id USING #<#;
SELECT id FROM skip WHERE n = 1000 ORDER BY id USING #>#;
-- the skip scan begins above a strict bound, or ends below it
SELECT (SELECT count(*) FROM skip s WHERE n = 1000 AND s.id #># v.id) AS above,
       (SELECT count(*) FROM skip s WHERE n = 1000 AND s.id #<# v.id) AS below, id
FROM (SELECT DISTINCT id FROM skip WHERE id IS NOT NULL) v
ORDER BY id USING #<#;
SELECT id FROM skip
WHERE n = 1000 AND id #># 'ffffffff-ffff-ffff-0000-000000000000' ORDER BY id USING #<#;
SELECT id FROM skip
WHERE n = 1000 AND id #<# '00000000-0000-0000-0001-000000000000' ORDER BY id USING #<#;
SELECT id FROM skip
WHERE n = 1000 AND id #># '00000000-0000-0000-0000-000000000000'
  AND id #<# 'ffffffff-ffff-ffff-ffff-ffffffffffff'
ORDER BY id USING #>#;

-- BRIN through the expression: the rows are in order of insertion, like a log
CREATE TABLE log AS
SELECT id, n FROM (SELECT id, n FROM orders ORDER BY id USING #<#) s;
CREATE INDEX log_brin ON log USING brin (comb_mssql_key(id)) WITH (pages_per_range = 4);
VACUUM ANALYZE log;
RESET enable_bitmapscan;
EXPLAIN (COSTS OFF)
SELECT * FROM log
WHERE comb_mssql_key(id) >= comb_mssql_key('00000000-0000-0000-0000-400000000000')
  AND comb_mssql_key(id) < comb_mssql_key('00000000-0000-0000-0000-500000000000');
SELECT count(*) = (SELECT count(*) FROM log WHERE id::text LIKE '________-____-____-____-4%') AS t
FROM log
WHERE comb_mssql_key(id) >= comb_mssql_key('00000000-0000-0000-0000-400000000000')
  AND comb_mssql_key(id) < comb_mssql_key('00000000-0000-0000-0000-500000000000');
RESET enable_seqscan;

--
-- Partitions
--
CREATE TABLE parted (id uuid NOT NULL, n int, PRIMARY KEY (id)) PARTITION BY RANGE (id comb_mssql_ops);
CREATE TABLE parted_1 PARTITION OF parted
	FOR VALUES FROM (MINVALUE) TO ('ffffffff-0000-0000-0000-400000000000');
CREATE TABLE parted_2 PARTITION OF parted
	FOR VALUES FROM ('ffffffff-0000-0000-0000-400000000000') TO ('00000000-0000-0000-0000-800000000000');
CREATE TABLE parted_3 PARTITION OF parted
	FOR VALUES FROM ('00000000-0000-0000-0000-800000000000') TO (MAXVALUE);

-- Partition bounds must ascend in SQL Server's order; these bounds only ascend in
-- plain order.
CREATE TABLE parted_4 PARTITION OF parted
	FOR VALUES FROM ('00000000-0000-0000-0000-800000000000') TO ('ffffffff-0000-0000-0000-400000000000');

INSERT INTO parted SELECT id, n FROM orders;
SELECT min(substr(id::text, 25, 1)) AS first, max(substr(id::text, 25, 1)) AS last
FROM parted GROUP BY tableoid ORDER BY 1;
EXPLAIN (COSTS OFF)
SELECT * FROM parted
WHERE id #>=# '00000000-0000-0000-0000-500000000000' AND id #<# '00000000-0000-0000-0000-600000000000';
EXPLAIN (COSTS OFF) SELECT * FROM parted WHERE id = 'ffffffff-0000-0000-0000-300000000000';

-- PostgreSQL refuses other types and other access methods
\set VERBOSITY terse
SELECT '00000000-0000-0000-0000-000000000000'::uuid #<# 'x';
CREATE INDEX ON orders USING hash (id comb_mssql_ops);
CREATE INDEX ON orders (n comb_mssql_ops);
\set VERBOSITY default

-- Users cannot call the support function, because SQL has no value of type
-- internal.  The error depends on the server's version.
DO $$
BEGIN
	PERFORM comb_mssql_sortsupport(NULL);
	RAISE 'it can be called';
EXCEPTION
	WHEN feature_not_supported OR undefined_function THEN
		RAISE NOTICE 'it cannot be called';
END
$$;

-- PostgreSQL refuses to drop what an index or a partition key uses
DROP TABLE parted;
DROP EXTENSION pg_comb;
DROP OPERATOR CLASS comb_mssql_ops USING btree;

DROP TABLE published, orders, lines, skip, log;
DROP EXTENSION amcheck, pageinspect;
