--
-- comb_ordered_check(): what could make readers lose rows or wait
--

\pset format unaligned
-- a database without a key has no bound
DROP EXTENSION pg_comb_ordered;
CREATE EXTENSION pg_comb_ordered;
CREATE TABLE outbox (id uuid PRIMARY KEY DEFAULT comb_generate_ordered(), version uuid, body text);
SELECT * FROM comb_ordered_check('outbox');
CREATE TABLE numbered (id bigint PRIMARY KEY DEFAULT comb_snowflake(instance_bits => 0));
SELECT * FROM comb_ordered_check('numbered');
INSERT INTO outbox (body) SELECT 'row' FROM generate_series(1, 10);
SELECT * FROM comb_ordered_check('outbox');

-- other keys, or none
CREATE TABLE of_v4 (id uuid PRIMARY KEY DEFAULT gen_random_uuid());
CREATE TABLE of_start (id uuid PRIMARY KEY DEFAULT comb_at(now()));
CREATE TABLE of_clients (id uuid PRIMARY KEY);
CREATE TABLE of_numbers (id bigserial PRIMARY KEY);
CREATE TABLE without (n int PRIMARY KEY, id uuid);
INSERT INTO of_v4 SELECT FROM generate_series(1, 2000);
INSERT INTO of_clients VALUES ('00000000-0000-0000-0000-000000000000'), (comb_generate()), (comb_at(now() + interval '1 hour'));
SELECT * FROM comb_ordered_check('of_v4');
SELECT * FROM comb_ordered_check('of_start');
SELECT * FROM comb_ordered_check('of_clients');
SELECT * FROM comb_ordered_check('of_numbers');
SELECT * FROM comb_ordered_check('without');

-- ordered keys behind v4 keys
CREATE TABLE behind (id uuid PRIMARY KEY DEFAULT gen_random_uuid());
INSERT INTO behind SELECT FROM generate_series(1, 20);
ALTER TABLE behind ALTER id SET DEFAULT comb_convert(comb_generate_ordered(), 'uuidv7', 'behind_v4');
INSERT INTO behind SELECT FROM generate_series(1, 20);
SELECT * FROM comb_ordered_check('behind');

-- a view, and one of two tables
CREATE VIEW settled AS SELECT id FROM outbox WHERE id < comb_settled();
CREATE VIEW all_of_them AS SELECT * FROM settled UNION ALL SELECT id FROM of_start;
SELECT * FROM comb_ordered_check('settled');
SELECT * FROM comb_ordered_check('all_of_them');

-- columns that may be NULL, without an index, and with a trigger
CREATE TABLE item (id int PRIMARY KEY, "Version" uuid DEFAULT comb_generate_ordered(), n bigint DEFAULT comb_snowflake(instance_bits => 0), other uuid);
CREATE INDEX ON item ("Version") WHERE id > 0;
CREATE INDEX ON item (n, id);
INSERT INTO item VALUES (1, NULL), (2, DEFAULT);
SELECT * FROM comb_ordered_check('item');
CREATE FUNCTION own_key() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.id := public.comb_generate_ordered(); RETURN NEW; END';
CREATE FUNCTION changed() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
CREATE FUNCTION next_key() RETURNS uuid LANGUAGE sql RETURN comb_generate_ordered();
TRUNCATE of_v4, of_clients;
ALTER TABLE of_v4 ALTER id SET DEFAULT next_key();
CREATE TRIGGER changed BEFORE INSERT ON of_clients FOR EACH ROW EXECUTE FUNCTION changed();
CREATE TRIGGER own_key BEFORE INSERT ON of_start FOR EACH ROW EXECUTE FUNCTION comb_ordered_key('id');
ALTER TABLE of_start ENABLE ALWAYS TRIGGER own_key;
SELECT * FROM comb_ordered_check('of_v4');
SELECT * FROM comb_ordered_check('of_clients');
SELECT * FROM comb_ordered_check('of_start');
CREATE TRIGGER own_key BEFORE INSERT ON of_clients FOR EACH ROW EXECUTE FUNCTION own_key();
SELECT * FROM comb_ordered_check('of_clients');

-- names with a backslash, and an index without an order
CREATE TABLE "Of \ Names" ("Key\" uuid NOT NULL);
CREATE TRIGGER own_key BEFORE INSERT ON "Of \ Names" FOR EACH ROW EXECUTE FUNCTION comb_ordered_key('Key\');
CREATE INDEX ON "Of \ Names" USING hash ("Key\");
SELECT * FROM comb_ordered_check('"Of \ Names"');

-- partitions, and publications without a stored time
CREATE TABLE parted (id uuid NOT NULL DEFAULT comb_generate_ordered(), n int, at timestamptz GENERATED ALWAYS AS (comb_timestamp(id)) STORED) PARTITION BY LIST (n);
CREATE INDEX ON parted (id);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES IN (1);
CREATE TABLE parted_2 PARTITION OF parted FOR VALUES IN (2);
ALTER TABLE parted_2 ALTER id SET DEFAULT comb_generate();
\set VERBOSITY terse
SET client_min_messages = error;
SET log_min_messages = error;
CREATE PUBLICATION regress_comb FOR TABLE parted WITH (publish_via_partition_root);
RESET client_min_messages;
RESET log_min_messages;
SELECT * FROM comb_ordered_check('parted');
DROP PUBLICATION regress_comb;

-- as if a publisher filled the table
CREATE TABLE subscribed (id uuid PRIMARY KEY DEFAULT comb_generate_ordered(), seen uuid NOT NULL UNIQUE DEFAULT comb_generate_ordered());
SET allow_system_table_mods = on;
INSERT INTO pg_subscription_rel VALUES (1, 'subscribed'::regclass, 'r');
SELECT * FROM comb_ordered_check('subscribed');
DELETE FROM pg_subscription_rel WHERE srrelid = 'subscribed'::regclass;
RESET allow_system_table_mods;
SELECT * FROM comb_ordered_check('subscribed');

-- the rights of the caller, and nothing of the caller's search_path
CREATE ROLE regress_comb_user;
SET ROLE regress_comb_user;
SELECT * FROM comb_ordered_check('item');
RESET ROLE;
GRANT SELECT ON outbox TO regress_comb_user;
SET ROLE regress_comb_user;
SET search_path = '';
SELECT * FROM public.comb_ordered_check('public.outbox');
RESET search_path;
RESET ROLE;
REVOKE ALL ON outbox FROM regress_comb_user;
DROP ROLE regress_comb_user;
SELECT * FROM comb_ordered_check(NULL);

DROP TABLE outbox, of_v4, of_start, of_clients, of_numbers, without, item, "Of \ Names", parted, subscribed CASCADE;
DROP FUNCTION own_key, changed, next_key;
