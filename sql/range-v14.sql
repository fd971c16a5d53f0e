--
-- Periods with BRIN operator classes that PostgreSQL 13 does not have
--
SET timezone = 'UTC';
SET datestyle = 'ISO';
CREATE TABLE orders (id uuid, n int);
INSERT INTO orders SELECT comb_stamp(md5(g::text)::uuid, '2026-01-01'::timestamptz + g * interval '1 hour'), g FROM generate_series(0, 2399) g;
VACUUM ANALYZE orders;

CREATE INDEX orders_multi ON orders USING brin (id uuid_minmax_multi_ops) WITH (pages_per_range = 1);
SET enable_seqscan = off;
EXPLAIN (COSTS OFF)
SELECT * FROM orders WHERE id <@ tstzrange('2026-02-01', '2026-02-02');
SELECT count(*) AS "24" FROM orders WHERE id <@ tstzrange('2026-02-01', '2026-02-02');
DROP INDEX orders_multi;

-- bloom has no order, so the planner adds no bounds
CREATE INDEX orders_bloom ON orders USING brin (id uuid_bloom_ops);
RESET enable_seqscan;
EXPLAIN (COSTS OFF)
SELECT * FROM orders WHERE id <@ tstzrange('2026-02-01', '2026-02-02');
DROP TABLE orders;
