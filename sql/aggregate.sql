--
-- The smallest and the largest key: ORDER BY in either order, and an aggregate that users
-- make themselves
--
SET TimeZone = 'UTC';
SET max_parallel_workers_per_gather = 0;

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
SELECT scans($$ SELECT id FROM invoice ORDER BY id USING #<# LIMIT 1 $$);
SELECT comb_timestamp(id, 'rtcomb_sql') FROM invoice ORDER BY id USING #<# LIMIT 1;
SELECT scans($$ SELECT id FROM invoice ORDER BY id USING #># LIMIT 1 $$);
SELECT comb_timestamp(id, 'rtcomb_sql') FROM invoice ORDER BY id USING #># LIMIT 1;
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

-- workers of a parallel query, whose results the combine function puts together
CREATE TABLE heap AS SELECT id FROM orders WHERE n >= 42200;
ANALYZE heap;
SET max_parallel_workers_per_gather = 2;
SET min_parallel_table_scan_size = 0;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SELECT scans($$ SELECT mine.max(id) FROM heap $$);
SELECT comb_timestamp(mine.max(id)) FROM heap;
RESET parallel_tuple_cost;
RESET parallel_setup_cost;
RESET min_parallel_table_scan_size;
RESET max_parallel_workers_per_gather;

DROP TABLE orders, invoice, event, heap;
DROP FUNCTION scans;
DROP AGGREGATE mine.max(uuid);
DROP FUNCTION mine.uuid_larger;
DROP SCHEMA mine;
