/* sql/pg_comb_ordered--1.2.sql */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION pg_comb_ordered" to load this file. \quit

--
-- comb_ordered.c: order across sessions, and its time limits
--

-- The sequences have a schema of their own.  Migration tools want to drop
-- sequences that they did not make, and do not look there.  GRANT on all
-- sequences of a schema does not reach them either.  Users of the functions
-- need no rights on the schema.
CREATE SCHEMA comb_internal;

COMMENT ON SCHEMA comb_internal IS
	'internal objects of pg_comb_ordered; do not change';

-- The module writes the first two sequences.  pg_dump dumps the sequences, so
-- that a restored database continues after the keys that it contains.
CREATE SEQUENCE comb_internal.comb_lease_ordered AS bigint MINVALUE 0 START WITH 0;
CREATE SEQUENCE comb_internal.comb_lease_snowflake AS bigint MINVALUE 0 START WITH 0;
CREATE SEQUENCE comb_internal.comb_snowflake_claimed AS int MINVALUE 0 START WITH 0 CYCLE;

SELECT pg_catalog.pg_extension_config_dump('comb_internal.comb_lease_ordered', '');
SELECT pg_catalog.pg_extension_config_dump('comb_internal.comb_lease_snowflake', '');
SELECT pg_catalog.pg_extension_config_dump('comb_internal.comb_snowflake_claimed', '');

COMMENT ON SEQUENCE comb_internal.comb_lease_ordered IS
	'time limit of ordered keys, in microseconds since 1970; do not change';
COMMENT ON SEQUENCE comb_internal.comb_lease_snowflake IS
	'time limit of Snowflakes, in microseconds since 1970; do not change';
COMMENT ON SEQUENCE comb_internal.comb_snowflake_claimed IS
	'last number that comb_snowflake_claim() tried; do not change';

CREATE FUNCTION comb_generate_ordered() RETURNS uuid
	AS 'MODULE_PATHNAME', 'comb_generate_ordered'
	LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;

COMMENT ON FUNCTION comb_generate_ordered() IS
	'new UUIDv7, larger than all earlier ordered keys of the database, across crash, failover and a clock set back';

CREATE FUNCTION comb_ordered_key() RETURNS trigger
	AS 'MODULE_PATHNAME', 'comb_ordered_key'
	LANGUAGE C VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION comb_ordered_key() IS
	'trigger function that gives each row a new ordered key in the column that its argument names';

-- UNSAFE: it changes what all sessions share.
CREATE FUNCTION comb_ordered_reset(at timestamptz) RETURNS void
	AS 'MODULE_PATHNAME', 'comb_ordered_reset'
	LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;

COMMENT ON FUNCTION comb_ordered_reset(timestamptz) IS
	'let ordered keys and Snowflakes of this database continue after the given time once the server has restarted';

--
-- comb_snowflake_generate.c: 64-bit keys of this server
--

CREATE FUNCTION comb_snowflake(
	epoch timestamptz DEFAULT '2024-01-01 00:00:00+00',
	instance_bits int DEFAULT 10,
	sequence_bits int DEFAULT 12,
	tick interval DEFAULT '1 ms')
	RETURNS bigint
	AS 'MODULE_PATHNAME', 'comb_snowflake'
	LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;

COMMENT ON FUNCTION comb_snowflake(
	timestamptz, int, int, interval) IS
	'new Snowflake, larger than all earlier Snowflakes of the database with the same parameters, across crash, failover and a clock set back';

-- The sequence goes from number to number, and a session that gets a number
-- holds its advisory lock.  The lowest free number would not do: ids of its
-- last holder may be ahead of the next holder's clock, so a number should rest
-- as long as possible.  The sequence has 2^31 numbers, so with fewer bits it
-- repeats all numbers of these bits in turn.
--
-- A session gets its own locks again, so pg_try_advisory_lock() alone would
-- give it a number twice.
--
-- The function runs with its owner's rights, because its callers may only read
-- the sequence.  LOAD defines the setting in sessions that have not called
-- the module yet.
CREATE FUNCTION comb_snowflake_claim(instance_bits int DEFAULT 10) RETURNS int
	LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	sequence CONSTANT oid := 'comb_internal.comb_snowflake_claimed'::regclass;
	numbers bigint;
	excluded int[];
	number int;
	tried bigint := 0;
BEGIN
	IF current_setting('transaction_read_only')::boolean THEN
		RAISE EXCEPTION 'cannot execute comb_snowflake_claim() in a read-only transaction'
			USING ERRCODE = 'read_only_sql_transaction';
	END IF;
	IF instance_bits NOT BETWEEN 0 AND 31 THEN
		RAISE EXCEPTION '"%" must be between 0 and %', 'instance_bits', 31
			USING ERRCODE = 'invalid_parameter_value';
	END IF;
	numbers := 1::bigint << instance_bits;
	LOAD 'pg_comb';
	SELECT array_agg(objid::int) || current_setting('pg_comb.snowflake_instance')::int
		INTO excluded
		FROM pg_locks
		WHERE locktype = 'advisory' AND pid = pg_backend_pid()
			AND classid = sequence AND objsubid = 2;
	WHILE tried < numbers LOOP
		number := nextval(sequence) % numbers;
		IF number <> ALL (excluded) AND pg_try_advisory_lock(sequence::int, number) THEN
			RETURN number;
		END IF;
		tried := tried + 1;
	END LOOP;
	RAISE EXCEPTION 'all % instance numbers of % bits are in use', numbers, instance_bits
		USING ERRCODE = 'object_in_use',
			HINT = 'End sessions that hold one, or claim with more "instance_bits".';
END
$$;

COMMENT ON FUNCTION comb_snowflake_claim(int) IS
	'instance number for a program that makes its own Snowflakes; the session keeps the number until the session ends';

--
-- comb_settled.c: up to which key a reader has seen everything
--

-- The planner calls this before it plans a query that asks.
CREATE FUNCTION comb_settled_support(internal) RETURNS internal
	AS 'MODULE_PATHNAME', 'comb_settled_support'
	LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;

COMMENT ON FUNCTION comb_settled_support(internal) IS
	'planner support for comb_settled() and comb_snowflake_settled()';

CREATE FUNCTION comb_settled() RETURNS uuid
	AS 'MODULE_PATHNAME', 'comb_settled'
	LANGUAGE C STABLE STRICT PARALLEL RESTRICTED
	SUPPORT comb_settled_support;

COMMENT ON FUNCTION comb_settled() IS
	'bound of ordered keys: all rows with smaller keys are visible, or never will be';

CREATE FUNCTION comb_snowflake_settled(
	epoch timestamptz DEFAULT '2024-01-01 00:00:00+00',
	instance_bits int DEFAULT 10,
	sequence_bits int DEFAULT 12,
	tick interval DEFAULT '1 ms')
	RETURNS bigint
	AS 'MODULE_PATHNAME', 'comb_snowflake_settled'
	LANGUAGE C STABLE STRICT PARALLEL RESTRICTED
	SUPPORT comb_settled_support;

COMMENT ON FUNCTION comb_snowflake_settled(
	timestamptz, int, int, interval) IS
	'bound of Snowflakes: all rows with smaller ids of this server are visible, or never will be';

--
-- comb_position.c: a feed that waits for nobody
--

CREATE FUNCTION comb_position(previous text) RETURNS text
	AS 'MODULE_PATHNAME', 'comb_position'
	LANGUAGE C STABLE PARALLEL RESTRICTED SUPPORT comb_settled_support;

COMMENT ON FUNCTION comb_position(text) IS
	'position of a reader that gets the rows of this statement with comb_unread(id, xmin, previous)';

CREATE FUNCTION comb_position_after(id uuid) RETURNS text
	AS 'MODULE_PATHNAME', 'comb_position_after'
	LANGUAGE C STABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION comb_position_after(uuid) IS
	'position of a reader that has all rows up to a key';

CREATE FUNCTION comb_position_bound(since text) RETURNS uuid
	AS 'MODULE_PATHNAME', 'comb_position_bound'
	LANGUAGE C STABLE PARALLEL SAFE;

COMMENT ON FUNCTION comb_position_bound(text) IS
	'a reader at a position needs no row with a smaller key again';

CREATE FUNCTION comb_position_edge(since text, edge int) RETURNS uuid
	AS 'MODULE_PATHNAME', 'comb_position_edge'
	LANGUAGE C STABLE PARALLEL SAFE;

COMMENT ON FUNCTION comb_position_edge(text, int) IS
	'a part of comb_unread(): the key at which the rows end that a reader at a position needs (1), or begin again (2)';

CREATE FUNCTION comb_position_limit() RETURNS uuid
	AS 'MODULE_PATHNAME', 'comb_position_limit'
	LANGUAGE C STABLE STRICT PARALLEL RESTRICTED SUPPORT comb_settled_support;

COMMENT ON FUNCTION comb_position_limit() IS
	'a part of comb_unread(): the key at which this statement has to stop';

CREATE FUNCTION comb_unread_row(id uuid, xmin xid, since text) RETURNS boolean
	AS 'MODULE_PATHNAME', 'comb_unread_row'
	LANGUAGE C STABLE PARALLEL SAFE;

COMMENT ON FUNCTION comb_unread_row(uuid, xid, text) IS
	'a part of comb_unread(): whether a row is new since a position';

-- PostgreSQL inlines the body.  The ranges between the edges are the index
-- conditions of a bitmap scan, and prune partitions.  There is no condition
-- for them together: the planner would prefer to scan all of it when its
-- statistics are older than the rows.
CREATE FUNCTION comb_unread(id uuid, xmin xid, since text) RETURNS boolean
	LANGUAGE SQL STABLE PARALLEL RESTRICTED
	RETURN (id OPERATOR(pg_catalog.>=) @extschema@.comb_position_edge(since, 2)
			AND id OPERATOR(pg_catalog.<) @extschema@.comb_position_limit()
			OR id OPERATOR(pg_catalog.>=) @extschema@.comb_position_bound(since)
			AND id OPERATOR(pg_catalog.<) LEAST(@extschema@.comb_position_edge(since, 1), @extschema@.comb_position_limit()))
		AND @extschema@.comb_unread_row(id, xmin, since);

COMMENT ON FUNCTION comb_unread(uuid, xid, text) IS
	'whether a row with an ordered key is new since a position';

--
-- comb_wait.c: a reader that sleeps until there is something to read
--

CREATE PROCEDURE comb_wait(INOUT seen bigint, timeout interval DEFAULT '1 minute')
	AS 'MODULE_PATHNAME', 'comb_wait'
	LANGUAGE C;

COMMENT ON PROCEDURE comb_wait(bigint, interval) IS
	'commits, and waits until another transaction with ordered keys or Snowflakes has ended';

--
-- comb_monitor.c: keys ahead of the clock, and transactions that hold feeds back
--

CREATE FUNCTION comb_ordered_status(
	OUT series text,
	OUT last timestamptz,
	OUT ahead interval,
	OUT reserved_until timestamptz)
	RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'comb_ordered_status'
	LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED ROWS 2;

COMMENT ON FUNCTION comb_ordered_status() IS
	'how far ordered keys and Snowflakes are ahead of the clock, and their time limits in this database';

CREATE FUNCTION comb_unsettled(
	OUT pid int,
	OUT datname name,
	OUT transaction xid,
	OUT series text,
	OUT first_key uuid,
	OUT age interval)
	RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'comb_unsettled'
	LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED ROWS 10;

COMMENT ON FUNCTION comb_unsettled() IS
	'the open transactions that hold comb_settled() and comb_snowflake_settled() back';

--
-- What a table's feed relies on
--

-- The columns that a feed can read by are those with ordered keys, and without one the first column of the primary key.
-- Functions in other languages make ordered keys if their text names a generator.
CREATE FUNCTION comb_ordered_check(source regclass, OUT place text, OUT severity text, OUT finding text, OUT advice text)
	RETURNS SETOF record
	LANGUAGE plpgsql STABLE STRICT PARALLEL RESTRICTED ROWS 10
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	generator CONSTANT text := 'comb_(generate_ordered|snowflake)($|[^a-z_])';
	soon CONSTANT uuid := rpad(lpad(to_hex((extract(epoch FROM clock_timestamp() + interval '5 minutes') * 1000)::bigint), 12, '0'), 32, '0')::uuid;
	settled uuid := CASE WHEN NOT pg_is_in_recovery() THEN @extschema@.comb_settled() END;
	held interval := (SELECT max(age) FROM @extschema@.comb_unsettled());
	key record;
	readable boolean;
	nulls boolean;
	ahead bigint;
	others bigint;
BEGIN
	FOR key IN
		WITH RECURSIVE below (id) AS (	-- a view's tables
			SELECT source::oid
			UNION SELECT d.refobjid FROM below JOIN pg_rewrite AS r ON r.ev_class = id
				JOIN pg_depend AS d ON d.classid = 'pg_rewrite'::regclass AND d.objid = r.oid AND d.refclassid = 'pg_class'::regclass
		), made AS (
			SELECT a.*, c.relkind, pg_get_expr(f.adbin, f.adrelid) AS text, t.*, x.*,
				pg_get_expr(f.adbin, f.adrelid) ~ generator OR EXISTS (
					SELECT FROM pg_depend AS d JOIN pg_proc AS p ON p.oid = d.refobjid
					WHERE d.classid = 'pg_attrdef'::regclass AND d.objid = f.oid AND d.refclassid = 'pg_proc'::regclass
						AND (p.prosrc ~ generator OR pg_get_function_sqlbody(p.oid) ~ generator)) AS by_default
			FROM below JOIN pg_class AS c ON c.oid = id JOIN pg_attribute AS a ON attrelid = id
				LEFT JOIN pg_attrdef AS f ON f.adrelid = id AND f.adnum = attnum
				CROSS JOIN LATERAL (SELECT count(*) > 0 AS fires, coalesce(bool_or(ours OR prosrc ~ generator), false) AS by_trigger,
						coalesce(bool_or(ours AND tgenabled IN ('A', 'R')), false) AS always
					FROM (SELECT *, p.prosrc = 'comb_ordered_key' AND tgargs = convert_to(attname, getdatabaseencoding()) || decode('00', 'hex') AS ours
						FROM pg_trigger JOIN pg_proc AS p ON p.oid = tgfoid
						WHERE tgrelid = attrelid AND tgtype & 7 = 7 AND tgenabled <> 'D') AS fired) AS t
				CROSS JOIN LATERAL (SELECT coalesce(bool_or(indisprimary), false) AS main, coalesce(bool_or(indpred IS NULL AND amname = 'btree'), false) AS indexed
					FROM pg_index JOIN pg_class AS i ON i.oid = indexrelid JOIN pg_am AS m ON m.oid = i.relam WHERE indrelid = attrelid AND indkey[0] = attnum AND indisvalid) AS x
			WHERE relkind IN ('r', 'p', 'f') AND attnum > 0 AND NOT attisdropped AND atttypid IN ('uuid'::regtype, 'bigint'::regtype)
		), known AS (
			SELECT *, bool_or(by_default OR by_trigger) OVER (PARTITION BY attrelid) AS any_ordered FROM made
		)
		SELECT *, attrelid::regclass AS name, row_number() OVER (PARTITION BY attrelid ORDER BY main DESC, attnum) = 1 AS first
		FROM known WHERE by_default OR by_trigger OR main AND any_ordered IS NOT TRUE
		ORDER BY attrelid, attnum
	LOOP
		readable := key.relkind <> 'f' AND has_column_privilege(key.attrelid, key.attnum, 'SELECT');
		nulls := false; ahead := 0; others := 0;
		IF readable AND NOT key.attnotnull THEN
			EXECUTE format('SELECT EXISTS (SELECT FROM %s WHERE %I IS NULL)', key.name, key.attname) INTO nulls;
		END IF;
		-- behind v4 keys, these come first, and new keys are above all others
		IF readable AND key.atttypid = 'uuid'::regtype AND key.indexed AND strpos(coalesce(key.text, ''), 'behind_v4') = 0 THEN
			EXECUTE format('SELECT count(*) FROM (SELECT FROM %1$s WHERE %2$I > $1 LIMIT 1000) AS s', key.name, key.attname) INTO ahead USING soon;
			EXECUTE format('SELECT count(*) FROM ((SELECT %2$I AS id FROM %1$s ORDER BY 1 LIMIT 1000)
				UNION (SELECT %2$I FROM %1$s WHERE %2$I <= $1 ORDER BY 1 DESC LIMIT 1000)) AS s WHERE substr(id::text, 15, 1) <> ''7''',
				key.name, key.attname) INTO others USING soon;
		END IF;
		place := format('%s.%I', key.name, key.attname);
		RETURN QUERY SELECT place, v.severity, v.finding, v.advice FROM (VALUES
			(key.text IS NULL AND NOT key.fires AND key.relkind <> 'f', 'error', 'has no default, so programs make its keys',
				'SET DEFAULT comb_generate_ordered(), or let a trigger with comb_ordered_key() make the keys'),
			(key.text IS NULL AND key.fires AND NOT key.by_trigger, 'note', 'has no default; a trigger may make its keys',
				'look whether it calls comb_generate_ordered() or comb_snowflake()'),
			(key.text IS NOT NULL AND NOT key.by_default AND NOT key.by_trigger, 'error', format('has the default %s, which makes no ordered keys', key.text),
				'SET DEFAULT comb_generate_ordered(), or comb_snowflake() of the bound''s parameters'),
			(key.relkind = 'f', 'error', 'is of a foreign table, whose keys this server''s bounds do not know', 'fetch the bound from the server that makes the keys'),
			(NOT readable AND key.relkind <> 'f', 'note', 'was not looked at in the rows', 'GRANT SELECT'),
			(nulls, 'error', 'is NULL in some rows, which no reader gets', 'give these rows keys, and SET NOT NULL'),
			(ahead > 0, 'error', format('has keys ahead of the clock (%s), which no reader below a bound gets', CASE ahead WHEN 1000 THEN '1000 or more' ELSE ahead::text END),
				'give these rows keys of comb_generate_ordered()'),
			(others > 0, 'warning', 'has keys of other kinds, which come in no order, or never', 'give these rows keys of comb_generate_ordered()'),
			(NOT key.indexed AND key.relkind <> 'f', 'warning', 'is the first column of no index, so each poll reads the table', 'CREATE INDEX CONCURRENTLY'),
			(key.always, 'warning', 'has a trigger that also changes the keys of replicated rows', 'ALTER TABLE ... ENABLE TRIGGER'),
			(EXISTS (SELECT FROM pg_subscription_rel WHERE srrelid = key.attrelid), CASE WHEN key.main THEN 'warning' ELSE 'note' END,
				'is of a table that a subscription fills, so that keys may be another server''s',
				'read by a column that the publisher lacks, as the documentation on subscribers says'),
			(key.atttypid = 'uuid'::regtype AND settled = '00000000-0000-0000-0000-000000000000', 'warning', 'has the smallest bound, so readers get nothing',
				'SELECT comb_generate_ordered(), and end transactions that were prepared before the server started'),
			(held > interval '1 minute', 'warning', format('has readers that wait for a transaction of %s', date_trunc('second', held)), 'SELECT * FROM comb_unsettled()')
		) AS v (found, severity, finding, advice) WHERE v.found;
		RETURN QUERY SELECT format('%s.%I', relid, key.attname), 'warning', format('is a partition with the default %s', pg_get_expr(adbin, adrelid)),
				'give it the default of the table above, for rows that are inserted into the partition'
			FROM pg_partition_tree(key.attrelid) JOIN pg_attribute ON attrelid = relid AND attname = key.attname
				JOIN pg_attrdef ON adrelid = relid AND adnum = attnum
			WHERE relid <> key.attrelid AND NOT key.by_trigger AND pg_get_expr(adbin, adrelid) IS DISTINCT FROM key.text;
		RETURN QUERY SELECT format('%s.%I', key.name, g.attname), 'warning', format('is left out by the publication %I', p.pubname),
				'compute it at the subscriber, or from PostgreSQL 18 on publish_generated_columns = stored'
			FROM pg_publication_tables AS p JOIN pg_attribute AS g ON g.attrelid = key.attrelid AND g.attgenerated = 's'
			WHERE key.first AND (p.schemaname, p.tablename)
					= (SELECT nspname, relname FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = relnamespace WHERE c.oid = key.attrelid)
				AND (current_setting('server_version_num')::integer < 180000 OR g.attname <> ALL (p.attnames));
	END LOOP;
	IF place IS NULL THEN
		RETURN QUERY SELECT source::text, 'error', 'has no column of ordered keys, and none of type uuid or bigint leads its primary key',
			'give it a column DEFAULT comb_generate_ordered()';
	END IF;
END
$$;

COMMENT ON FUNCTION comb_ordered_check(regclass) IS
	'what could make readers of a table or view lose rows or wait';

--
-- Privileges
--

-- Only the owner may move the limits.  Default privileges may have granted
-- rights to any role, so look all grantees up and revoke their rights.
DO $$
DECLARE
	entry record;
BEGIN
	FOR entry IN
		SELECT pg_catalog.format('%s %s', object.kind, object.name) AS object,
			CASE WHEN acl.grantee OPERATOR(pg_catalog.=) 0::pg_catalog.oid THEN 'PUBLIC'
				ELSE pg_catalog.quote_ident(pg_catalog.pg_get_userbyid(acl.grantee)) END AS grantee
		FROM (
				SELECT 'FUNCTION' AS kind, p.oid::pg_catalog.regprocedure::pg_catalog.text AS name,
					coalesce(p.proacl, pg_catalog.acldefault('f', p.proowner)) AS acl, p.proowner AS owner
				FROM pg_catalog.pg_proc AS p
				WHERE p.oid OPERATOR(pg_catalog.=)
					'@extschema@.comb_ordered_reset(pg_catalog.timestamptz)'::pg_catalog.regprocedure
				UNION ALL
				SELECT 'SCHEMA', 'comb_internal', n.nspacl, n.nspowner
				FROM pg_catalog.pg_namespace AS n
				WHERE n.nspname OPERATOR(pg_catalog.=) 'comb_internal'
				UNION ALL
				SELECT 'SEQUENCE', c.oid::pg_catalog.regclass::pg_catalog.text, c.relacl, c.relowner
				FROM pg_catalog.pg_class AS c
				WHERE c.relnamespace OPERATOR(pg_catalog.=) 'comb_internal'::pg_catalog.regnamespace
			) AS object, pg_catalog.aclexplode(object.acl) AS acl
		WHERE acl.grantee OPERATOR(pg_catalog.<>) object.owner
		GROUP BY 1, 2
	LOOP
		EXECUTE pg_catalog.format('REVOKE ALL ON %s FROM %s', entry.object, entry.grantee);
	END LOOP;
END
$$;

-- Any role can dump the database, with the limits.  A database's owner restores the
-- dump, and need not be a superuser.  A grant to the extension's owner would outlive
-- the role in pg_init_privs, from which pg_dump learns the extension's own privileges.
GRANT USAGE ON SCHEMA comb_internal TO pg_database_owner, PUBLIC;
GRANT SELECT, UPDATE ON ALL SEQUENCES IN SCHEMA comb_internal TO pg_database_owner;
GRANT SELECT ON ALL SEQUENCES IN SCHEMA comb_internal TO PUBLIC;
