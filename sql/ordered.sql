--
-- Ordered keys and their limits, as one session sees them
--
-- The tests in test/t crash real servers, promote standbys and set clocks back.
--

-- state, message and hint of a failed statement, without the times of its detail
CREATE FUNCTION failure(statement text, OUT state text, OUT message text, OUT hint text)
LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE statement;
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE,
		message = MESSAGE_TEXT, hint = PG_EXCEPTION_HINT;
END $$;

-- keys are UUIDv7, rise, and have the clock's time
SELECT bool_and(id > before) AS t, bool_and(id = comb_stamp(id, comb_timestamp(id))) AS t,
       bool_and(comb_timestamp(id) BETWEEN now() - interval '1 minute' AND clock_timestamp() + interval '1 minute') AS t
FROM (SELECT id, lag(id) OVER (ORDER BY n) AS before
      FROM (SELECT n, comb_generate_ordered() AS id FROM generate_series(1, 10000) n) made) lagged;

-- keys assign no transaction id
BEGIN;
SELECT comb_generate_ordered() < comb_generate_ordered() AS t;
SELECT pg_current_xact_id_if_assigned() IS NULL AS t;
COMMIT;
-- in a read-only transaction no key can be made, as no nextval(), but a bound can be found
BEGIN READ ONLY;
SELECT * FROM failure('SELECT comb_generate_ordered()');
SELECT state, message FROM failure('SELECT comb_ordered_reset(now())');
SELECT comb_settled() > '00000000-0000-0000-0000-000000000000' AS t;
COMMIT;

-- a trigger makes the key, whatever the client sends
CREATE TABLE event (n int, id uuid PRIMARY KEY DEFAULT gen_random_uuid(), "Version" uuid, made_at timestamptz, gone int);
ALTER TABLE event DROP gone;
CREATE TRIGGER event_key BEFORE INSERT ON event FOR EACH ROW EXECUTE FUNCTION comb_ordered_key('id');
CREATE TRIGGER event_version BEFORE INSERT OR UPDATE ON event FOR EACH ROW EXECUTE FUNCTION comb_ordered_key('Version');
SELECT comb_generate_ordered() AS before \gset
INSERT INTO event VALUES (1, gen_random_uuid()) RETURNING id > :'before' AND id < comb_generate_ordered() AS t;
INSERT INTO event (n, id) VALUES (2, NULL), (3, 'ffffffff-ffff-ffff-ffff-ffffffffffff');
INSERT INTO event (n) SELECT generate_series(4, 1000);
COPY event (n, id) FROM stdin;
1001	00000000-0000-0000-0000-000000000000
\.
INSERT INTO event (n, id) VALUES (1002, gen_random_uuid()) ON CONFLICT (id) DO UPDATE SET n = -1;
MERGE INTO event USING (VALUES (1003)) AS v (n) ON false WHEN NOT MATCHED THEN INSERT (n, id) VALUES (v.n, gen_random_uuid());
SELECT count(*) AS "1003", bool_and(id > before AND comb_timestamp(id) BETWEEN now() - interval '1 minute' AND clock_timestamp() + interval '1 minute') AS t,
       bool_and("Version" > id AND made_at IS NULL) AS t
FROM (SELECT *, lag(id, 1, :'before') OVER (ORDER BY n) AS before FROM event) AS lagged;
SELECT id AS last, "Version" AS version FROM event WHERE n = 1003 \gset
UPDATE event SET made_at = now(), "Version" = NULL WHERE n = 1003 RETURNING id = :'last' AS t, "Version" > :'version' AS t;
-- no row conflicts
INSERT INTO event SELECT n, id FROM event WHERE n = 1 ON CONFLICT DO NOTHING RETURNING id > :'last' AS t;
-- a table of partitions
CREATE TABLE parted (n int, id uuid) PARTITION BY LIST (n);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES IN (1);
CREATE TABLE parted_2 (id uuid, note text, n int);
ALTER TABLE parted_2 DROP note;
ALTER TABLE parted ATTACH PARTITION parted_2 FOR VALUES IN (2);
CREATE TRIGGER parted_key BEFORE INSERT ON parted FOR EACH ROW EXECUTE FUNCTION comb_ordered_key('id');
INSERT INTO parted VALUES (1, NULL), (2, NULL), (2, gen_random_uuid());
SELECT count(id) AS "3", min(id::text) > :'last' AS t FROM parted;
-- a row that another one refers to
CREATE TABLE child (id uuid PRIMARY KEY, event uuid REFERENCES event);
CREATE TRIGGER child_key BEFORE INSERT ON child FOR EACH ROW EXECUTE FUNCTION comb_ordered_key('id');
WITH made AS (INSERT INTO event (n) VALUES (1004) RETURNING id) INSERT INTO child (event) SELECT id FROM made;
SELECT c.id < comb_generate_ordered() AND c.id > e.id AS t FROM child AS c JOIN event AS e ON e.id = event;
-- not where rows come from another server, or from a dump
SET session_replication_role = replica;
INSERT INTO event (n, id) VALUES (1005, 'ffffffff-ffff-ffff-ffff-ffffffffffff') RETURNING id;
RESET session_replication_role;
DELETE FROM event WHERE n = 1005;
-- a transaction that is read-only makes no key, not even for a temporary table
CREATE TEMP TABLE mine (id uuid);
CREATE TRIGGER mine_key BEFORE INSERT ON mine FOR EACH ROW EXECUTE FUNCTION comb_ordered_key('id');
BEGIN READ ONLY;
SELECT state, message FROM failure('INSERT INTO mine DEFAULT VALUES');
COMMIT;
-- and what is no such trigger fails
CREATE TABLE wrong (n bigint, id uuid, key text);
INSERT INTO wrong SELECT;
SELECT * FROM failure('SELECT comb_ordered_key()');
SELECT fires, arguments, state, message
FROM (VALUES ('BEFORE INSERT ON wrong FOR EACH ROW', ''), ('BEFORE INSERT ON wrong FOR EACH ROW', 'id, n'),
	('AFTER INSERT ON wrong FOR EACH ROW', 'id'), ('BEFORE INSERT ON wrong', 'id'), ('BEFORE DELETE ON wrong FOR EACH ROW', 'id'),
	('BEFORE INSERT ON wrong FOR EACH ROW', 'n'), ('BEFORE INSERT ON wrong FOR EACH ROW', 'ctid'), ('BEFORE INSERT ON wrong FOR EACH ROW', '"ID"'))
		AS v (fires, arguments),
	failure(format('CREATE TRIGGER wrong %s EXECUTE FUNCTION comb_ordered_key(%s); INSERT INTO wrong SELECT; DELETE FROM wrong', fires, arguments));
DROP TABLE event, child, parted, mine, wrong;

-- a parallel query makes keys above the Gather Merge, in row order
CREATE TABLE rows AS SELECT n, 10000 - n AS place FROM generate_series(1, 10000) n;
ANALYZE rows;
BEGIN;
SET LOCAL parallel_setup_cost = 0;
SET LOCAL parallel_tuple_cost = 0;
SET LOCAL min_parallel_table_scan_size = 0;
SET LOCAL max_parallel_workers_per_gather = 2;
EXPLAIN (COSTS off, VERBOSE) SELECT comb_generate_ordered(), place FROM rows ORDER BY place;
SELECT bool_and(id > before) AS t
FROM (SELECT id, lag(id) OVER (ORDER BY place) AS before
      FROM (SELECT comb_generate_ordered() AS id, place FROM rows ORDER BY place OFFSET 0) made) lagged;
-- if somebody labels the function parallel safe, workers refuse: a worker's
-- transaction ends before the leader's, and comb_settled() could not tell when
ALTER FUNCTION comb_generate_ordered() PARALLEL SAFE;
SET LOCAL parallel_leader_participation = off;
EXPLAIN (COSTS off, VERBOSE) SELECT comb_generate_ordered() AS id FROM rows OFFSET 0;
\set VERBOSITY terse
SELECT count(DISTINCT id) AS "25000"
FROM (SELECT comb_generate_ordered() AS id FROM rows OFFSET 0) made;
\set VERBOSITY default
ROLLBACK;

-- the lease ends after the key, and its limit is on the page of a sequence
SELECT comb_generate_ordered() AS id \gset
SELECT comb_timestamp(:'id') < reserved_until AS t,
       reserved_until = 'epoch'::timestamptz + last_value * interval '1 microsecond' AS t
FROM comb_ordered_status(), comb_internal.comb_lease_ordered WHERE series = 'ordered';

CREATE ROLE regress_comb_user;
-- The sequences are in a schema of their own.  Ordinary roles can read them, as pg_dump
-- does, and not change them.
SELECT relname, relnamespace::regnamespace,
       has_sequence_privilege('regress_comb_user', oid, 'SELECT') AS t,
       has_sequence_privilege('regress_comb_user', oid, 'UPDATE') AS f,
       has_sequence_privilege('regress_comb_user', oid, 'USAGE') AS f
FROM pg_class
WHERE relkind = 'S' AND relname LIKE 'comb\_%' ORDER BY relname;
SELECT has_schema_privilege('regress_comb_user', 'comb_internal', 'USAGE') AS t,
       has_schema_privilege('regress_comb_user', 'comb_internal', 'CREATE') AS f;
SELECT c::regclass::text AS dumped
FROM pg_extension, unnest(extconfig) c WHERE extname IN ('pg_comb', 'pg_comb_ordered') ORDER BY c::regclass::text;

-- making keys needs no right on the sequences; only superusers may reset
SET ROLE regress_comb_user;
SELECT comb_generate_ordered() IS NOT NULL AS t;
SELECT comb_ordered_reset(now());
RESET ROLE;
SELECT 'comb_internal.comb_lease_ordered'::regclass::oid AS limits \gset
SET ROLE regress_comb_user;
\set VERBOSITY sqlstate
SELECT setval(:limits::regclass, 1);
\set VERBOSITY default
RESET ROLE;
DROP ROLE regress_comb_user;

-- a reset goes ahead at most as far as drift allows
SELECT * FROM failure($$SELECT comb_ordered_reset('infinity')$$);
SELECT * FROM failure($$SELECT comb_ordered_reset(now() + interval '25 hours')$$);
SELECT comb_ordered_reset(NULL) IS NULL AS t;
SELECT comb_generate_ordered() IS NOT NULL AS t;

-- after a reset this database makes no key and has no bound until the server restarts
\set VERBOSITY terse
SELECT comb_ordered_reset('-infinity') IS NOT NULL AS t;
SELECT state, message, hint FROM failure('SELECT comb_generate_ordered()');
\c -
SELECT state, message, hint FROM failure('SELECT comb_snowflake(instance_bits => 0)');
SELECT state, message FROM failure('SELECT comb_settled()');
SELECT comb_ordered_reset(now() + interval '1 hour') IS NOT NULL AS t;
\set VERBOSITY default
SELECT state, message FROM failure('SELECT comb_generate_ordered()');
SELECT reserved_until - now() BETWEEN '59 minutes' AND '60 minutes' AS t FROM comb_ordered_status() WHERE series = 'ordered';
-- new sequences have no such mark
DROP EXTENSION pg_comb_ordered;
CREATE EXTENSION pg_comb_ordered;
SELECT comb_timestamp(comb_generate_ordered()) - now() < '1 minute' AS t;

-- A limit from elsewhere, like a limit that a restore of a dump brings.  A session
-- keeps the limit that it knows until the session ends, so a new session begins.
-- The next tests of the server need not wait for a limit five seconds ahead.
SELECT date_trunc('ms', now() + interval '5 s') AS ahead \gset
SELECT setval('comb_internal.comb_lease_ordered',
              (extract(epoch FROM :'ahead'::timestamptz) * 1000000)::bigint) > 0 AS t;
\c -
SELECT comb_timestamp(comb_generate_ordered()) >= :'ahead' AS t;
-- a limit that is lower than the keys already made
SELECT setval('comb_internal.comb_lease_ordered',
              (extract(epoch FROM now() - interval '2 hours') * 1000000)::bigint) > 0 AS t;
\c -
SELECT comb_timestamp(comb_generate_ordered()) BETWEEN :'ahead' AND clock_timestamp() + interval '6 s' AS t;
SELECT to_timestamp(last_value / 1000000) > now() AS t FROM comb_internal.comb_lease_ordered;
-- A first limit so old that the clock must be wrong, whatever time the last key has
DROP EXTENSION pg_comb_ordered;
CREATE EXTENSION pg_comb_ordered;
SELECT setval('comb_internal.comb_lease_ordered', 1000000) > 0 AS t;
\c -
SELECT state, message FROM failure('SELECT comb_generate_ordered()');
-- a limit too far ahead: the session refuses, and counters stay as they are
SELECT setval('comb_internal.comb_lease_ordered',
              (extract(epoch FROM now()) * 1000000)::bigint) > 0 AS t;
SELECT comb_generate_ordered() IS NOT NULL AS t;
SELECT setval('comb_internal.comb_lease_ordered',
              (extract(epoch FROM now() + interval '2 years') * 1000000)::bigint) > 0 AS t;
\c -
SELECT * FROM failure('SELECT comb_generate_ordered()');
SELECT series, last - now() < '2 minutes' AS t, reserved_until - now() > '700 days' AS t_f FROM comb_ordered_status();
-- a sequence of the same name elsewhere has no effect, even as the extension's member
CREATE SCHEMA elsewhere;
CREATE SEQUENCE elsewhere.comb_lease_ordered MINVALUE 0;
ALTER EXTENSION pg_comb_ordered ADD SEQUENCE elsewhere.comb_lease_ordered;
SELECT setval('elsewhere.comb_lease_ordered',
              (extract(epoch FROM now() + interval '2 hours') * 1000000)::bigint) > 0 AS t;
\c -
SELECT state FROM failure('SELECT comb_generate_ordered()');
ALTER EXTENSION pg_comb_ordered DROP SEQUENCE elsewhere.comb_lease_ordered;
DROP SCHEMA elsewhere CASCADE;
-- numbers that are no time
SELECT setval('comb_internal.comb_lease_ordered', 9223372036854775807) > 0 AS t;
\c -
SELECT state FROM failure('SELECT comb_generate_ordered()');
SELECT reserved_until > now() + interval '1000 years' AS t FROM comb_ordered_status() WHERE series = 'ordered';
-- A negative limit, too, leaves the counter alone: with a right limit keys are made again.
ALTER SEQUENCE comb_internal.comb_lease_ordered MINVALUE -10;
SELECT setval('comb_internal.comb_lease_ordered', -5) < 0 AS t;
\c -
SELECT state FROM failure('SELECT comb_generate_ordered()');
SELECT setval('comb_internal.comb_lease_ordered',
              (extract(epoch FROM now()) * 1000000)::bigint) > 0 AS t;
\c -
SELECT comb_generate_ordered() IS NOT NULL AS t;

-- the extension's schema, the search path and sequences of the same name do not
-- matter
DROP EXTENSION pg_comb_ordered;
CREATE SCHEMA keys;
CREATE EXTENSION pg_comb_ordered SCHEMA keys;
CREATE SEQUENCE comb_lease_ordered;
SELECT keys.comb_generate_ordered() < keys.comb_generate_ordered() AS t;
\c -
SELECT keys.comb_generate_ordered() < keys.comb_generate_ordered() AS t;
SELECT last_value AS "1" FROM comb_lease_ordered;
DROP SEQUENCE comb_lease_ordered;
DROP EXTENSION pg_comb_ordered;
DROP SCHEMA keys;
CREATE EXTENSION pg_comb_ordered;
SELECT comb_generate_ordered() < comb_generate_ordered() AS t;

-- a rule that adds a command to a query with comb_settled(), which the server runs under
-- the same snapshot
CREATE TABLE outbox (id uuid PRIMARY KEY DEFAULT comb_generate_ordered());
CREATE TABLE taken (id uuid);
CREATE TABLE consumer AS SELECT 0 AS polls;
CREATE RULE counted AS ON INSERT TO taken DO ALSO UPDATE consumer SET polls = polls + 1;
INSERT INTO outbox SELECT FROM generate_series(1, 5);
INSERT INTO taken SELECT id FROM outbox WHERE id < comb_settled() ORDER BY id LIMIT 3;
SELECT (SELECT count(*) FROM taken) AS "3", polls AS "1" FROM consumer;
DROP TABLE outbox, taken, consumer;

-- DISCARD ALL does not end what a session knows about keys
SELECT comb_generate_ordered()::text AS before \gset
DISCARD ALL;
SELECT comb_generate_ordered() > :'before' AS t;

-- without the sequences, a session has no lease and makes no key
BEGIN;
ALTER EXTENSION pg_comb_ordered DROP SEQUENCE comb_internal.comb_lease_ordered;
DROP SEQUENCE comb_internal.comb_lease_ordered;
SELECT * FROM failure('SELECT comb_generate_ordered()');
SELECT reserved_until IS NULL AS t FROM comb_ordered_status() WHERE series = 'ordered';
ROLLBACK;
SELECT comb_generate_ordered() > :'before' AS t;

-- keys go on above all others when the extension is created anew, even if that is
-- rolled back
SELECT comb_generate_ordered()::text AS before \gset
BEGIN;
DROP EXTENSION pg_comb_ordered;
CREATE EXTENSION pg_comb_ordered;
SELECT comb_generate_ordered() > :'before' AS t;
SELECT comb_generate_ordered()::text AS before \gset
ROLLBACK;
SELECT comb_generate_ordered() > :'before' AS t;
SELECT comb_generate_ordered()::text AS before \gset
DROP EXTENSION pg_comb_ordered;
CREATE EXTENSION pg_comb_ordered;
SELECT comb_generate_ordered() > :'before' AS t;

DROP TABLE rows;
DROP FUNCTION failure;
