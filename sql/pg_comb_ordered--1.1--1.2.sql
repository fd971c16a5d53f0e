/* sql/pg_comb_ordered--1.1--1.2.sql */

-- complain if script is sourced in psql, rather than via ALTER EXTENSION
\echo Use "ALTER EXTENSION pg_comb_ordered UPDATE TO '1.2'" to load this file. \quit

--
-- comb_ordered.c: order across sessions, and its time limits
--

CREATE FUNCTION comb_ordered_key() RETURNS trigger
	AS 'MODULE_PATHNAME', 'comb_ordered_key'
	LANGUAGE C VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION comb_ordered_key() IS
	'trigger function that gives each row a new ordered key in the column that its argument names';

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
