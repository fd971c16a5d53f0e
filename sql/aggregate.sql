--
-- The smallest and the largest key: comb_mssql_min() and comb_mssql_max() in SQL Server's
-- order; in PostgreSQL's order ORDER BY, or aggregates that users make themselves
--
SET TimeZone = 'UTC';
SET max_parallel_workers_per_gather = 0;

-- what the planner is told
SELECT a.aggfnoid::regprocedure AS aggregate, a.aggkind AS kind, a.aggtransfn AS transition,
       a.aggcombinefn = a.aggtransfn AS combines, a.aggsortop::regoperator AS sort, p.proparallel AS parallel,
       a.aggtranstype::regtype AS state, a.agginitval IS NULL AS starts_with_null
FROM pg_aggregate a JOIN pg_proc p ON p.oid = a.aggfnoid
WHERE p.proname IN ('comb_mssql_min', 'comb_mssql_max')
ORDER BY p.proname;

-- against a sort by other means, in which the text of a uuid has its order
CREATE TABLE value (id uuid);
INSERT INTO value SELECT md5(n::text)::uuid FROM generate_series(1, 1000) n;
INSERT INTO value VALUES ('00000000-0000-0000-0000-000000000000'), ('ffffffff-ffff-ffff-ffff-ffffffffffff'),
  ('80000000-0000-0000-0000-000000000000'), ('7fffffff-ffff-ffff-ffff-ffffffffffff'), (NULL);
SELECT comb_mssql_min(id), comb_mssql_max(id) FROM value;
SELECT count(*) FILTER (WHERE comb_mssql_key(smallest)::text <> smallest_text
                           OR comb_mssql_key(largest)::text <> largest_text) AS wrong, count(*) AS groups
FROM (SELECT comb_mssql_min(id) AS smallest, comb_mssql_max(id) AS largest,
             min(comb_mssql_key(id)::text COLLATE "C") AS smallest_text,
             max(comb_mssql_key(id)::text COLLATE "C") AS largest_text
      FROM value GROUP BY left(md5(id::text), 2)) g;
-- each byte decides, and counts as unsigned
SELECT count(*) AS "64", bool_and(smallest = one AND largest = other) AS t
FROM (SELECT overlay('00000000000000000000000000000000' PLACING '7' FROM n)::uuid AS one,
             overlay('00000000000000000000000000000000' PLACING '8' FROM n)::uuid AS other
      FROM generate_series(1, 32) n) v,
     LATERAL (SELECT comb_mssql_min(id) AS smallest, comb_mssql_max(id) AS largest FROM (VALUES (one), (other)) w (id)
              UNION ALL
              SELECT comb_mssql_min(id), comb_mssql_max(id) FROM (VALUES (other), (one)) w (id)) x;

-- without rows, with NULLs only, with FILTER and DISTINCT, and as window functions
SELECT comb_mssql_min(id), comb_mssql_max(id) FROM value WHERE false;
SELECT comb_mssql_min(id), comb_mssql_max(id) FROM value WHERE id IS NULL;
SELECT comb_mssql_max(id) FILTER (WHERE id < '80000000-0000-0000-0000-000000000000') AS below, comb_mssql_max(DISTINCT id) FROM value;
SELECT n, comb_mssql_min(id) OVER w, comb_mssql_max(id) OVER w
FROM (VALUES (1, uuid '00000000-0000-0000-0000-300000000000'), (2, NULL), (3, '00000000-0000-0000-0000-100000000000'),
             (4, '00000000-0000-0000-0000-200000000000')) v (n, id)
WINDOW w AS (ORDER BY n ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) ORDER BY n;
-- a domain over uuid counts as uuid
CREATE DOMAIN order_id AS uuid;
SELECT comb_mssql_max(id::order_id) FROM value;

--
-- One probe of an index
--

-- the scans of a plan and what is done with them; versions differ in the other lines
CREATE FUNCTION scans(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
  line text;
BEGIN
  FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
    IF line ~ 'Scan|Append|Limit|Aggregate|Gather' AND line !~ 'Replaces' THEN
      RETURN NEXT regexp_replace(line, '^[ >-]*', '');
    END IF;
  END LOOP;
END $$;
CREATE TABLE orders (id uuid PRIMARY KEY, n int, customer int);
INSERT INTO orders
SELECT comb_stamp(md5(n::text)::uuid, '2026-11-01'::timestamptz + n * interval '1 min'), n, n % 10
FROM generate_series(0, 43199) n;
CREATE INDEX orders_customer ON orders (customer, id);
VACUUM ANALYZE orders;
CREATE TABLE invoice (id uuid);
INSERT INTO invoice SELECT comb_convert(id, 'uuidv7', 'rtcomb_sql') FROM orders;
CREATE UNIQUE INDEX invoice_id ON invoice (id comb_mssql_ops);
VACUUM ANALYZE invoice;
SELECT scans($$ SELECT comb_mssql_min(id), comb_mssql_max(id) FROM invoice $$);
SELECT comb_timestamp(comb_mssql_min(id), 'rtcomb_sql'), comb_timestamp(comb_mssql_max(id), 'rtcomb_sql') FROM invoice;
-- an index in PostgreSQL's order does not serve them
SELECT scans($$ SELECT comb_mssql_max(id) FROM orders $$);
-- the newest key of a table, of a customer, of a period, of each customer, and of partitions
SELECT scans($$ SELECT comb_timestamp(id) FROM orders ORDER BY id DESC LIMIT 1 $$);
SELECT comb_timestamp(id) FROM orders ORDER BY id DESC LIMIT 1;
SELECT scans($$ SELECT comb_timestamp(id) FROM orders WHERE customer = 7 ORDER BY id DESC LIMIT 1 $$);
SELECT comb_timestamp(id) FROM orders WHERE customer = 7 ORDER BY id DESC LIMIT 1;
SELECT scans($$ SELECT comb_timestamp(id) FROM orders WHERE id <@ tstzrange('2026-11-05', '2026-11-06') ORDER BY id DESC LIMIT 1 $$);
SELECT comb_timestamp(id) FROM orders WHERE id <@ tstzrange('2026-11-05', '2026-11-06') ORDER BY id DESC LIMIT 1;
SELECT customer, comb_timestamp((SELECT id FROM orders WHERE orders.customer = c.customer ORDER BY id DESC LIMIT 1))
FROM generate_series(8, 10) c (customer) ORDER BY customer;
CREATE TABLE event (id uuid PRIMARY KEY, n int) PARTITION BY RANGE (id);
CREATE TABLE event_1 PARTITION OF event FOR VALUES FROM (MINVALUE) TO (comb_min('2026-11-10 00:00:00+00'));
CREATE TABLE event_2 PARTITION OF event FOR VALUES FROM (comb_min('2026-11-10 00:00:00+00')) TO (MAXVALUE);
INSERT INTO event SELECT id, n FROM orders;
VACUUM ANALYZE event;
SELECT scans($$ SELECT comb_timestamp(id) FROM event ORDER BY id DESC LIMIT 1 $$);
SELECT comb_timestamp(id) FROM event ORDER BY id DESC LIMIT 1;

-- max(uuid) as the documents make it, in a schema of its own; PostgreSQL has one from 20 on
CREATE SCHEMA mine;
CREATE FUNCTION mine.uuid_larger(uuid, uuid) RETURNS uuid
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS 'SELECT greatest($1, $2)';
CREATE AGGREGATE mine.max(uuid) (SFUNC = mine.uuid_larger, STYPE = uuid, COMBINEFUNC = mine.uuid_larger,
    SORTOP = OPERATOR(pg_catalog.>), PARALLEL = SAFE);
SELECT scans($$ SELECT mine.max(id) FROM orders $$);
SELECT comb_timestamp(mine.max(id)) FROM orders;
SELECT mine.max(id) FROM value;

-- workers of a parallel query, whose results the combine functions put together
CREATE TABLE heap AS SELECT id FROM orders;
INSERT INTO heap SELECT id FROM value;
ANALYZE heap;
SET max_parallel_workers_per_gather = 2;
SET min_parallel_table_scan_size = 0;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SELECT scans($$ SELECT comb_mssql_min(id), comb_mssql_max(id), mine.max(id) FROM heap $$);
SELECT comb_mssql_min(id), comb_mssql_max(id), mine.max(id) FROM heap;
SELECT comb_mssql_min(id), comb_mssql_max(id) FROM heap WHERE id IS NULL;
RESET parallel_tuple_cost;
RESET parallel_setup_cost;
RESET min_parallel_table_scan_size;
RESET max_parallel_workers_per_gather;

DROP TABLE value, orders, invoice, event, heap;
DROP DOMAIN order_id;
DROP FUNCTION scans;
DROP AGGREGATE mine.max(uuid);
DROP FUNCTION mine.uuid_larger;
DROP SCHEMA mine;
