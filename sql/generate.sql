--
-- Keys in tables, queries and sessions (comb_generate.c)
--
-- The output shows no generated key: each comparison's alias states the answer.
--
SET TimeZone = 'UTC';
SET DateStyle = 'ISO, YMD';
\set SHOW_CONTEXT never

-- a key has version 7, the RFC's variant and the clock's time
SELECT clock_timestamp() AS before, comb_generate() AS id, clock_timestamp() AS after \gset
SELECT substr(:'id', 15, 1) = '7' AS t,
       substr(:'id', 20, 1) IN ('8', '9', 'a', 'b') AS t,
       comb_timestamp(:'id') BETWEEN date_trunc('milliseconds', timestamptz :'before')
                                 AND :'after' AS t;

-- the planner never folds the call into a constant: each row gets a larger key
SELECT count(DISTINCT id) = 1000 AS t,
       bool_and(id > before) AS t,
       count(before) = 999 AS t
FROM (SELECT id, lag(id) OVER (ORDER BY n) AS before
      FROM (SELECT n, comb_generate() AS id FROM generate_series(1, 1000) n) made) lagged;

--
-- DEFAULT, INSERT ... SELECT, COPY, prepared statements: the order of the keys
-- is the order of the rows
--
CREATE TABLE orders (id uuid PRIMARY KEY DEFAULT comb_generate(), n serial, item text);

INSERT INTO orders (item) VALUES ('one'), ('two'), ('three');
INSERT INTO orders (id, item) VALUES (DEFAULT, 'four');
INSERT INTO orders (item) SELECT 'selected ' || n FROM generate_series(5, 1004) n;
COPY orders (item) FROM stdin;
copied 1005
copied 1006
copied 1007
\.
PREPARE place (text) AS INSERT INTO orders (item) VALUES ($1);
SET plan_cache_mode = force_generic_plan;
EXECUTE place ('prepared 1008');
EXECUTE place ('prepared 1009');
RESET plan_cache_mode;

SELECT count(*) AS rows, count(DISTINCT id) = count(*) AS t,
       array_agg(n ORDER BY id) = array_agg(n ORDER BY n) AS t,
       bool_and(comb_timestamp(id) <= clock_timestamp()) AS t
FROM orders;

-- RETURNING
INSERT INTO orders (item) VALUES ('returned') RETURNING id AS returned \gset
SELECT id = :'returned' AS t FROM orders WHERE item = 'returned';
UPDATE orders SET id = comb_generate() WHERE item = 'returned'
  RETURNING id > :'returned' AS t;
DELETE FROM orders WHERE item = 'returned' RETURNING comb_timestamp(id) IS NOT NULL AS t;

-- ON CONFLICT: a generated key never conflicts, a stamped key does
INSERT INTO orders (item) VALUES ('new')
  ON CONFLICT (id) DO NOTHING RETURNING item;
INSERT INTO orders (id, item)
  VALUES (comb_stamp('919108f7-52d1-4320-9bac-f847db4148a8', '2026-11-20'), 'imported');
INSERT INTO orders (id, item)
  VALUES (comb_stamp('919108f7-52d1-4320-9bac-f847db4148a8', '2026-11-20'), 'imported again')
  ON CONFLICT (id) DO NOTHING RETURNING item;
INSERT INTO orders (id, item)
  VALUES (comb_stamp('919108f7-52d1-4320-9bac-f847db4148a8', '2026-11-20'), 'imported last')
  ON CONFLICT (id) DO UPDATE SET item = excluded.item
  RETURNING id, item, comb_timestamp(id);
INSERT INTO orders (id, item)
  VALUES (comb_stamp('919108f7-52d1-4320-9bac-f847db4148a8', '2026-11-20'), 'twice');

-- a subtransaction that fails loses its keys, and later keys go on
BEGIN;
SAVEPOINT s;
SELECT comb_generate() AS lost \gset
SELECT 1 / 0;
ROLLBACK TO s;
SELECT comb_generate() > :'lost' AS t;
COMMIT;

--
-- Triggers
--
CREATE TABLE invoices (id uuid PRIMARY KEY, n serial, audit uuid);
CREATE FUNCTION number_invoice() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.id := comb_generate();
  NEW.audit := comb_generate();
  RETURN NEW;
END $$;
CREATE TRIGGER number_invoice BEFORE INSERT ON invoices
  FOR EACH ROW EXECUTE FUNCTION number_invoice();
INSERT INTO invoices SELECT FROM generate_series(1, 100);
SELECT count(*) AS rows, bool_and(audit > id) AS t,
       array_agg(n ORDER BY id) = array_agg(n ORDER BY n) AS t
FROM invoices;

--
-- The key of a partitioned table: comb_min() makes the bounds, a row's time
-- chooses the partition, and queries by time read one partition
--
CREATE TABLE events (id uuid PRIMARY KEY DEFAULT comb_generate(), what text)
  PARTITION BY RANGE (id);
CREATE TABLE events_before PARTITION OF events
  FOR VALUES FROM (MINVALUE) TO (comb_min('2026-01-01'));
CREATE TABLE events_2026_01 PARTITION OF events
  FOR VALUES FROM (comb_min('2026-01-01')) TO (comb_min('2026-02-01'));
CREATE TABLE events_2026_02 PARTITION OF events
  FOR VALUES FROM (comb_min('2026-02-01')) TO (comb_min('2026-03-01'));
CREATE TABLE events_after PARTITION OF events
  FOR VALUES FROM (comb_min('2026-03-01')) TO (MAXVALUE);
INSERT INTO events
SELECT comb_at(at), at::text
FROM unnest('{2025-12-31 23:59:59.999, 2026-01-01, 2026-01-31 23:59:59.999999,
              2026-02-01, 2026-02-28 23:59:59.999, 2026-03-01}'::timestamptz[]) at;
SELECT tableoid::regclass, what FROM events ORDER BY id;
INSERT INTO events (what) VALUES ('now');
SELECT tableoid = CASE WHEN comb_timestamp(id) < '2026-01-01' THEN 'events_before'
                       WHEN comb_timestamp(id) < '2026-02-01' THEN 'events_2026_01'
                       WHEN comb_timestamp(id) < '2026-03-01' THEN 'events_2026_02'
                       ELSE 'events_after' END::regclass AS t
FROM events WHERE what = 'now';
SET enable_seqscan = off;
SET enable_bitmapscan = off;
EXPLAIN (COSTS OFF)
SELECT * FROM events WHERE id >= comb_min('2026-01-10') AND id < comb_min('2026-01-11');
EXPLAIN (COSTS OFF)
SELECT * FROM events WHERE id > comb_max('2026-01-20') AND id <= comb_max('2026-01-31 23:59:59.9999');
RESET enable_seqscan;
RESET enable_bitmapscan;

--
-- Where PostgreSQL demands an immutable expression, users may read a key but
-- not make a key
--
CREATE TABLE stored (id uuid PRIMARY KEY DEFAULT comb_generate(),
  created timestamptz GENERATED ALWAYS AS (comb_timestamp(id)) STORED);
INSERT INTO stored DEFAULT VALUES RETURNING created = comb_timestamp(id) AS t;
CREATE TABLE refused (n int, id uuid GENERATED ALWAYS AS (comb_generate()) STORED);
CREATE TABLE refused (at timestamptz, id uuid GENERATED ALWAYS AS (comb_at(at)) STORED);
CREATE TABLE stamped (old uuid, at timestamptz,
  id uuid GENERATED ALWAYS AS (comb_stamp(old, at)) STORED);
INSERT INTO stamped VALUES ('919108f7-52d1-4320-9bac-f847db4148a8', '2026-11-20') RETURNING id;
\set VERBOSITY sqlstate
CREATE INDEX ON orders ((comb_generate()));
\set VERBOSITY default
CREATE INDEX orders_created ON orders (comb_timestamp(id));
SET enable_seqscan = off;
SET enable_bitmapscan = off;
-- extension only
EXPLAIN (COSTS OFF)
SELECT item FROM orders WHERE comb_timestamp(id) = '2026-11-20';
-- extension and sql/portable
SELECT item FROM orders WHERE comb_timestamp(id) = '2026-11-20';
RESET enable_seqscan;
RESET enable_bitmapscan;

--
-- A read-only transaction
--
BEGIN READ ONLY;
SELECT comb_generate() < comb_generate() AS t,
       comb_timestamp(comb_at('2026-11-20')) = '2026-11-20' AS t;
COMMIT;

--
-- Parallel query.  The setting that forces it was renamed in 16.
--
SELECT set_config(name, 'on', false)
FROM pg_settings WHERE name IN ('force_parallel_mode', 'debug_parallel_query');
EXPLAIN (COSTS OFF) SELECT comb_generate() IS NOT NULL AS t;
SELECT comb_generate() IS NOT NULL AS t;
SELECT count(DISTINCT comb_generate()) = 10000 AS t FROM generate_series(1, 10000);
SELECT set_config(name, 'off', false)
FROM pg_settings WHERE name IN ('force_parallel_mode', 'debug_parallel_query');

-- several processes in one query: keys are unique over all of them
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
CREATE TABLE rows AS SELECT n FROM generate_series(1, 20000) n;
ALTER TABLE rows SET (parallel_workers = 2);
-- extension only
EXPLAIN (VERBOSE, COSTS OFF) SELECT comb_generate() FROM rows;
-- extension and sql/portable
SELECT count(DISTINCT id) = 20000 AS t
FROM (SELECT comb_generate() AS id FROM rows OFFSET 0) made;
EXPLAIN (COSTS OFF)
SELECT count(*) FROM rows WHERE comb_min(to_timestamp(n)) < comb_max(to_timestamp(n + 1));
SELECT count(*) FROM rows WHERE comb_min(to_timestamp(n)) < comb_max(to_timestamp(n + 1));
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;
RESET max_parallel_workers_per_gather;

--
-- extension only
-- The server sets pg_comb.max_drift; a session cannot
--
SHOW pg_comb.max_drift;
SET pg_comb.max_drift = '1h';
\set VERBOSITY sqlstate
ALTER SYSTEM SET pg_comb.max_drift = 0;
ALTER SYSTEM SET pg_comb.max_drift = '30 days';
ALTER SYSTEM SET pg_comb.max_drift = 'long';
\set VERBOSITY default
SHOW pg_comb.max_drift;

-- extension and sql/portable
DROP TABLE orders, invoices, events, stored, stamped, rows;
DROP FUNCTION number_invoice;
