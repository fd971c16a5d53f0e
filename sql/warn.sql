--
-- The warning of feeds over keys that are not ordered
--

\set VERBOSITY default
-- once a session for each column, at planning
CREATE TABLE ordered (id uuid PRIMARY KEY DEFAULT comb_generate_ordered(), n bigint DEFAULT comb_snowflake(instance_bits => 0));
CREATE TABLE of_generate (id uuid PRIMARY KEY DEFAULT comb_generate(), version uuid DEFAULT comb_generate_ordered(), body text);
CREATE TABLE of_v4 (id uuid PRIMARY KEY DEFAULT gen_random_uuid());
CREATE TABLE of_start (id uuid PRIMARY KEY DEFAULT comb_at(now()));
CREATE TABLE of_clients (id uuid PRIMARY KEY);
CREATE TABLE "Of Numbers" (id bigserial, "N" bigint GENERATED ALWAYS AS IDENTITY, day int);
CREATE TABLE right_key (a int, b int, c int, d int, e int, f int, g int, id uuid DEFAULT comb_generate_ordered());
CREATE TABLE other_key (a int, b int, c int, d int, e int, f int, g int, id uuid DEFAULT comb_generate());
CREATE FUNCTION first_of_all() RETURNS uuid LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
	AS $$ BEGIN RETURN '00000000-0000-0000-0000-000000000000'; END $$;
SELECT count(*) FROM ordered WHERE id < comb_settled();
SELECT count(*) FROM of_generate WHERE id < comb_settled();
SELECT count(*) FROM of_generate WHERE id < comb_settled();
SELECT count(*) FROM of_generate WHERE version < comb_settled();
EXPLAIN (COSTS OFF) SELECT FROM of_v4 WHERE comb_settled() >= id AND id > '00000000-0000-0000-0000-000000000001';
SELECT count(*) FROM of_start AS o JOIN of_clients AS c ON o.id = c.id AND c.id <= comb_settled() WHERE o.id < comb_settled();
SELECT count(*) FROM "Of Numbers" WHERE id < comb_snowflake_settled(instance_bits => 0) AND "N" < 100;
SELECT count(*) FROM "Of Numbers" WHERE "N" < comb_snowflake_settled(instance_bits => 0);
-- positions
\c -
SELECT count(*) FROM of_generate WHERE comb_unread(id, xmin, NULL);
SELECT count(*) FROM ordered WHERE comb_unread(id, xmin, NULL);

-- not of what is no bound, or of a table that another one is read beside
\c -
SELECT count(*) FROM of_v4 WHERE id > comb_settled() OR id = comb_settled();
SELECT count(*) FROM of_v4 AS v, ordered AS o WHERE o.id < comb_settled() AND v.id < o.id AND v.id <= (SELECT id FROM of_clients ORDER BY id LIMIT 1);
SELECT count(*) FROM of_clients WHERE id < comb_max(now());
SELECT count(*) FROM of_clients WHERE id <= (SELECT id FROM ordered WHERE id < comb_settled() ORDER BY id LIMIT 1);
SELECT count(*) FROM ordered WHERE id < comb_settled() AND EXISTS (SELECT FROM of_v4 WHERE of_v4.id < ordered.id OFFSET 0);
SELECT count(*) FROM other_key AS o, LATERAL (SELECT o.id FROM of_v4 UNION ALL SELECT o.id FROM of_start) AS s WHERE s.id < comb_settled();
-- nor of a query that is planned in the memory of one with a bound
DO $$
BEGIN
	FOR i IN 1 .. 5 LOOP
		EXECUTE 'SELECT FROM right_key AS k, (SELECT comb_settled() OFFSET 0) AS s (id) WHERE k.id < s.id';
		EXECUTE 'SELECT FROM other_key AS k, (SELECT first_of_all() OFFSET 0) AS s (id) WHERE k.id < s.id';
	END LOOP;
END
$$;
-- nor with the setting off; each of these warns with it on
SET pg_comb.warn_unordered_keys = off;
SELECT count(*) FROM of_v4 WHERE id < comb_settled();
RESET pg_comb.warn_unordered_keys;
SELECT count(*) FROM of_v4 WHERE id < comb_settled();

-- through views, sub-selects, WITH and functions in SQL
\c -
\set VERBOSITY terse
CREATE VIEW settled AS SELECT id AS key, body FROM of_generate WHERE id < comb_settled();
CREATE VIEW barrier WITH (security_barrier) AS SELECT * FROM of_v4;
CREATE VIEW both_tables AS SELECT id FROM of_start UNION ALL SELECT id FROM of_clients;
CREATE VIEW number AS SELECT id FROM "Of Numbers" WHERE id < (SELECT comb_snowflake_settled());
SELECT count(*) FROM settled WHERE key > '00000000-0000-0000-0000-000000000001';
SELECT count(*) FROM barrier WHERE id < comb_settled();
SELECT count(*) FROM both_tables WHERE id < comb_settled();
SELECT count(*) FROM number;
\c -
\set VERBOSITY terse
WITH b AS MATERIALIZED (SELECT comb_settled() AS bound) SELECT count(*) FROM of_generate WHERE id < (SELECT bound FROM b);
SELECT count(*) FROM of_v4, comb_settled() AS bound WHERE id < bound;
SELECT count(*) FROM (SELECT comb_settled() AS bound) AS b JOIN of_start ON id < bound;
SELECT count(*) FROM of_clients WHERE id < (SELECT CASE WHEN pg_is_in_recovery() THEN id ELSE comb_settled() END FROM ordered);
CREATE FUNCTION settled_id() RETURNS bigint STABLE PARALLEL RESTRICTED LANGUAGE sql RETURN comb_snowflake_settled(instance_bits => 0);
CREATE FUNCTION next_id() RETURNS bigint VOLATILE PARALLEL RESTRICTED LANGUAGE sql RETURN comb_snowflake(instance_bits => 0);
SELECT count(*) FROM "Of Numbers" WHERE "N" < settled_id();
PREPARE poll AS SELECT count(*) FROM "Of Numbers" WHERE id < settled_id();
EXECUTE poll;
DO $$ DECLARE t text; BEGIN FOR i IN 1 .. 20 LOOP PERFORM FROM settled; END LOOP; END $$;
-- row security
\c -
\set VERBOSITY terse
CREATE ROLE regress_comb_tool;
GRANT SELECT ON of_v4 TO regress_comb_tool;
ALTER TABLE of_v4 ENABLE ROW LEVEL SECURITY;
CREATE POLICY settled ON of_v4 FOR SELECT TO regress_comb_tool USING (id < comb_settled());
SET ROLE regress_comb_tool;
SELECT count(*) FROM of_v4;
RESET ROLE;
ALTER TABLE of_v4 DISABLE ROW LEVEL SECURITY;
DROP POLICY settled ON of_v4;
REVOKE ALL ON of_v4 FROM regress_comb_tool;
DROP ROLE regress_comb_tool;

-- Snowflakes of other parameters than the bound's
\c -
SELECT count(*) FROM ordered WHERE n < comb_snowflake_settled(instance_bits => 0);
\c -
SET pg_comb.warn_unordered_keys = on;
SELECT count(*) FROM ordered WHERE n < (SELECT comb_snowflake_settled(instance_bits => 0, tick => '2 ms'));
\c -
\set VERBOSITY terse
ALTER TABLE ordered ALTER n SET DEFAULT next_id();
SELECT count(*) FROM ordered WHERE n < settled_id();
-- a bound of another layout
\set VERBOSITY default
CREATE TABLE behind (id uuid DEFAULT comb_convert(comb_generate_ordered(), 'uuidv7', 'behind_v4'));
SELECT count(*) FROM behind WHERE id < comb_convert(comb_settled(), 'uuidv7', 'behind_v4');
\c -
SELECT count(*) FROM behind WHERE id < comb_settled();
\set VERBOSITY terse
\c -
-- what the parameters are nobody knows
PREPARE bits AS SELECT count(*) FROM ordered WHERE n < comb_snowflake_settled(instance_bits => $1);
SET plan_cache_mode = force_generic_plan;
EXECUTE bits(0);

-- columns whose keys are ordered, and what cannot be read
\c -
CREATE FUNCTION in_sql() RETURNS uuid LANGUAGE sql BEGIN ATOMIC SELECT 1; SELECT comb_spread(comb_generate_ordered(), 16); END;
CREATE FUNCTION in_text() RETURNS uuid LANGUAGE sql AS 'SELECT gen_random_uuid()';
CREATE FUNCTION in_plpgsql() RETURNS uuid LANGUAGE plpgsql AS 'BEGIN RETURN gen_random_uuid(); END';
CREATE FUNCTION own_key() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.id := comb_generate_ordered(); RETURN NEW; END';
CREATE DOMAIN key AS uuid DEFAULT comb_generate_ordered();
CREATE TABLE right_1 (id uuid DEFAULT in_sql());
CREATE TABLE right_2 (id uuid DEFAULT in_text());
CREATE TABLE right_3 (id uuid DEFAULT in_plpgsql());
CREATE TABLE right_4 (id key);
CREATE TABLE right_5 (id uuid);
CREATE TRIGGER own_key BEFORE INSERT ON right_5 FOR EACH ROW EXECUTE FUNCTION own_key();
CREATE TABLE right_6 (id uuid DEFAULT gen_random_uuid());
CREATE TRIGGER own_key BEFORE INSERT OR UPDATE ON right_6 FOR EACH ROW EXECUTE FUNCTION comb_ordered_key('id');
CREATE TABLE right_7 (id uuid, copy uuid GENERATED ALWAYS AS (id) STORED);
CREATE TEMP TABLE right_8 (id uuid DEFAULT gen_random_uuid());
SELECT count(*) FROM right_1 JOIN right_2 USING (id) JOIN right_3 USING (id) JOIN right_4 USING (id) JOIN right_5 USING (id) JOIN right_6 USING (id)
	JOIN right_7 USING (id) JOIN right_8 USING (id)
WHERE right_1.id < comb_settled() AND right_2.id < comb_settled() AND right_3.id < comb_settled() AND right_4.id < comb_settled()
	AND right_5.id < comb_settled() AND right_6.id < comb_settled() AND right_7.copy < comb_settled() AND right_8.id < comb_settled();
CREATE TABLE right_9 (id uuid DEFAULT gen_random_uuid());
CREATE TRIGGER own_key BEFORE INSERT ON right_9 FOR EACH ROW EXECUTE FUNCTION own_key();
SELECT count(*) FROM right_9 WHERE id < comb_settled();
-- and where it is not
CREATE FUNCTION changed() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.body := 1; RETURN NEW; END';
CREATE TABLE wrong_1 (id uuid DEFAULT comb_stamp(gen_random_uuid(), now()));
CREATE TABLE wrong_2 (id uuid DEFAULT gen_random_uuid(), body text);
CREATE TRIGGER changed BEFORE INSERT OR UPDATE ON wrong_2 FOR EACH ROW EXECUTE FUNCTION changed();
CREATE TABLE wrong_3 (id uuid, other uuid DEFAULT gen_random_uuid());
CREATE TRIGGER own_key AFTER INSERT ON wrong_3 FOR EACH ROW EXECUTE FUNCTION own_key();
CREATE TRIGGER other_key BEFORE UPDATE ON wrong_3 FOR EACH ROW EXECUTE FUNCTION comb_ordered_key('id');
CREATE TRIGGER third_key BEFORE INSERT ON wrong_3 FOR EACH ROW EXECUTE FUNCTION comb_ordered_key('id');
ALTER TABLE wrong_3 DISABLE TRIGGER third_key;
\set VERBOSITY terse
SELECT count(*) FROM wrong_1 WHERE id < comb_settled();
SELECT count(*) FROM wrong_2 WHERE id < comb_settled();
SELECT count(*) FROM wrong_3 WHERE id < comb_settled();

-- partitions have defaults of their own, and rows come by the one of the table above
CREATE TABLE parted (n int, id uuid DEFAULT comb_generate_ordered()) PARTITION BY LIST (n);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES IN (1);
CREATE TABLE parted_2 (gone int, id uuid DEFAULT comb_generate(), n int);
ALTER TABLE parted_2 DROP gone;
CREATE TABLE parted_3 (id uuid, n int);
CREATE TABLE parted_4 (LIKE parted) PARTITION BY LIST (n);
CREATE TABLE parted_4_1 (LIKE parted, CHECK (n = 4));
ALTER TABLE parted_4 ATTACH PARTITION parted_4_1 FOR VALUES IN (4);
ALTER TABLE parted ATTACH PARTITION parted_2 FOR VALUES IN (2);
ALTER TABLE parted ATTACH PARTITION parted_3 FOR VALUES IN (3);
ALTER TABLE parted ATTACH PARTITION parted_4 FOR VALUES IN (4);
CREATE TABLE above (id uuid);
CREATE TABLE below () INHERITS (above);
CREATE VIEW all_of_them AS SELECT id FROM parted UNION ALL SELECT id FROM of_v4;
SELECT count(*) FROM parted WHERE n = 1 AND id < comb_settled();
SELECT count(*) FROM parted WHERE id < comb_settled();
SELECT count(*) FROM parted WHERE id < comb_settled();
SELECT count(*) FROM above WHERE id < comb_settled();
\c -
\set VERBOSITY terse
ALTER TABLE parted_4 ALTER id SET DEFAULT comb_generate();
ALTER TABLE parted_4_1 ALTER id SET DEFAULT comb_generate();
SELECT count(*) FROM all_of_them WHERE id < comb_settled();
\c -
\set VERBOSITY terse
ALTER TABLE parted ALTER id SET DEFAULT comb_generate();
SELECT count(*) FROM parted WHERE id < comb_settled();
UPDATE above SET id = NULL WHERE id < comb_settled();
DELETE FROM of_clients WHERE id < comb_settled();
\set VERBOSITY default

DROP VIEW settled, barrier, both_tables, number, all_of_them;
DROP TABLE ordered, right_key, other_key, of_generate, of_v4, of_start, of_clients, "Of Numbers", right_1, right_2, right_3, right_4, right_5, right_6, right_7, right_9,
	wrong_1, wrong_2, wrong_3, behind, parted, below, above;
DROP DOMAIN key;
DROP FUNCTION first_of_all, next_id, settled_id, in_sql, in_text, in_plpgsql, own_key, changed;
