/*
 * sql/portable/migrate_online.sql
 *
 * Gives a table in use new keys, uuids with the time of each row, and changes all columns that
 * refer to it.  doc/migration.md says how to use it.  The owner of all these tables runs it with psql, on a direct
 * connection:
 *
 *     psql -v table=customer -v step=prepare -f sql/portable/migrate_online.sql
 *
 * step     prepare, swap and drop, in this order; undo, before the swap
 * table    its primary key is one column, a uuid, bigint, integer or smallint
 * created  the column with the time of a row, which never changes: created_at
 * zone     of created, if it is a timestamp without time zone: UTC
 *
 * It makes columns "new_id" and "new_customer_id" beside the old ones.  Triggers fill them in rows
 * that are written, and prepare in all others.  The swap renames the columns.
 *
 * Each step can be stopped, and run again.  Nobody waits for it longer than lock_timeout.
 */
\set ON_ERROR_STOP on
\set QUIET on
\if :{?created}
\else
	\set created created_at
\endif
\if :{?zone}
\else
	\set zone UTC
\endif
\if :{?step}
\else
	\set step ''
\endif
-- What the caller names is found by his search_path, as are the functions of his triggers.  All else is
-- PostgreSQL's own, whoever may create functions in the schemas of the path.
SELECT coalesce(pg_catalog.to_regprocedure('comb_stamp(pg_catalog.uuid, pg_catalog.timestamptz)')::pg_catalog.oid::pg_catalog.text, '') AS stamp,
	:'table'::pg_catalog.regclass::pg_catalog.oid AS "table",
	pg_catalog.set_config('comb.path', pg_catalog.current_setting('search_path'), false) AS "unused" \gset
SET search_path = pg_catalog, pg_temp;
-- A zone that is none, or a server without md5(), would stop writers only later.
SELECT timezone(:'zone', now()) AS "unused", md5('') AS "unused" \gset
SELECT :'step' = 'prepare' AS prepare, :'step' = 'swap' AS swap, :'step' = 'drop' AS drop, :'step' = 'undo' AS undo \gset
SET client_min_messages = warning;
SET lock_timeout = '200ms';
-- A role's limits are for its other work.
SELECT count(set_config(name, '0', false)) AS "unused" FROM pg_settings WHERE name IN ('statement_timeout', 'transaction_timeout') \gset
SET default_transaction_isolation = 'read committed';
-- An autovacuum gives way after this time, if we wait for it so long.
SELECT count(set_config('deadlock_timeout', '100ms', false)) AS "unused" FROM pg_roles WHERE rolname = current_user AND rolsuper \gset

-- The key, and the columns that refer to it
DROP TABLE IF EXISTS pg_temp.comb_moved;
CREATE TEMP TABLE comb_moved AS
	SELECT k.oid, k.contype, k.conname, k.conrelid AS tab, a.attnum, format('%I.%I', n.nspname, c.relname) AS name,
		n.nspname, left(c.relname, 25) || '_new_' || left(a.attname, 25) AS object,
		a.attname AS col, a.atttypid AS type, 'new_' || a.attname AS new, 'old_' || a.attname AS old, a.attnotnull AS filled,
		CASE k.confupdtype WHEN 'c' THEN ' ON UPDATE CASCADE' WHEN 'r' THEN ' ON UPDATE RESTRICT' ELSE '' END ||
		CASE k.confdeltype WHEN 'c' THEN ' ON DELETE CASCADE' WHEN 'r' THEN ' ON DELETE RESTRICT'
			WHEN 'n' THEN ' ON DELETE SET NULL' ELSE '' END AS actions,
		CASE WHEN c.relkind <> 'r' OR EXISTS (SELECT FROM pg_inherits WHERE c.oid IN (inhrelid, inhparent)) THEN 'is not a plain table'
			WHEN c.relowner <> quote_ident(current_user)::regrole THEN 'belongs to another role, who is to run this file'
			WHEN c.relreplident = 'i' THEN 'has an index as its replica identity'
			WHEN cardinality(k.conkey) > 1 THEN 'has a key of several columns'
			WHEN EXISTS (SELECT FROM pg_seclabel WHERE classoid = 'pg_class'::regclass AND objoid = k.conrelid AND objsubid = a.attnum)
				THEN 'has a security label on its key'
			-- It has no value yet when a trigger runs.
			WHEN a.attgenerated <> '' THEN 'has a generated column as its key'
			WHEN k.contype = 'p' AND (k.condeferrable OR EXISTS (SELECT FROM pg_index WHERE indexrelid = k.conindid AND indnatts > 1))
				THEN 'has a primary key that is deferrable, or includes columns'
			WHEN k.contype = 'p' AND a.atttypid NOT IN ('uuid'::regtype, 'bigint'::regtype, 'integer'::regtype, 'smallint'::regtype)
				THEN 'has a key of another type'
			WHEN k.contype = 'f' AND k.conrelid = k.confrelid THEN 'refers to itself'
			WHEN k.contype = 'f' AND EXISTS (SELECT FROM pg_constraint AS p
				WHERE p.conrelid = k.conrelid AND p.contype = 'p' AND k.conkey[1] = ANY (p.conkey)) THEN 'refers by its primary key'
			WHEN k.contype = 'f' AND (k.condeferrable OR k.confupdtype IN ('n', 'd') OR k.confdeltype = 'd' OR NOT k.convalidated)
				THEN 'has a foreign key that is deferrable, not valid, or of another action'
		END AS problem
	FROM pg_constraint AS k JOIN pg_class AS c ON c.oid = k.conrelid JOIN pg_namespace AS n ON n.oid = c.relnamespace
		JOIN pg_attribute AS a ON a.attrelid = k.conrelid AND a.attnum = k.conkey[1]
	WHERE k.conrelid = :'table'::regclass AND k.contype = 'p'
		OR k.confrelid = :'table'::regclass AND k.contype = 'f'
			AND k.confkey = (SELECT conkey FROM pg_constraint WHERE conrelid = :'table'::regclass AND contype = 'p');
-- How a new key is made from a row c, or in a trigger from NEW
SELECT format(text, p.pronamespace::regnamespace, k.col, a.attname, zone, 'c') AS expression,
	format(text, p.pronamespace::regnamespace, k.col, a.attname, zone, 'NEW') AS own,
	p.pronamespace::regnamespace::text AS schema, k.name AS parent, k.col AS key
FROM pg_proc AS p, pg_attribute AS a, pg_temp.comb_moved AS k,
	LATERAL (SELECT CASE WHEN a.atttypid = 'timestamp'::regtype THEN format(' AT TIME ZONE %L', :'zone') ELSE '' END AS zone,
		'%1$s.comb_stamp(pg_catalog.md5(%5$s.%2$I::pg_catalog.text)::pg_catalog.uuid, %5$s.%3$I%4$s)' AS hashed) AS z,
	-- comb_stamp() keeps the second half, which is random in version 4 alone.
	LATERAL (SELECT CASE WHEN k.type = 'uuid'::regtype
			THEN 'CASE WHEN %1$s.comb_timestamp(%5$s.%2$I) IS NOT NULL THEN %5$s.%2$I
				WHEN pg_catalog.substr(%5$s.%2$I::pg_catalog.text, 15, 1) = ''4'' THEN %1$s.comb_stamp(%5$s.%2$I, %5$s.%3$I%4$s)
				ELSE ' || hashed || ' END'
			ELSE hashed END AS text) AS t
WHERE p.oid::text = :'stamp' AND k.contype = 'p'
	-- The triggers run it as the table's owner.
	AND (p.proowner = quote_ident(current_user)::regrole
		OR pg_has_role(p.proowner, (SELECT nspowner FROM pg_namespace WHERE oid = p.pronamespace), 'USAGE'))
	AND a.attrelid = k.tab AND a.attname = :'created' AND a.attgenerated = '' AND a.atttypid IN ('timestamptz'::regtype, 'timestamp'::regtype)
UNION ALL SELECT '', '', '', '', '' LIMIT 1 \gset
SELECT set_config('comb.parent', :'parent', false) AS "unused", set_config('comb.step', :'step', false) AS "unused" \gset
DO $$
DECLARE
	step text := current_setting('comb.step');
	problem text;
BEGIN
	IF step NOT IN ('prepare', 'swap', 'drop', 'undo') THEN
		RAISE 'step must be prepare, swap, drop or undo';
	END IF;
	SELECT format('%s %s', m.name, m.problem) INTO problem FROM pg_temp.comb_moved AS m WHERE m.problem IS NOT NULL;
	IF FOUND THEN
		RAISE '%', problem;
	END IF;
	SELECT format('%s.%I', min(m.name), min(m.col)) INTO problem FROM pg_temp.comb_moved AS m
	GROUP BY nspname, object HAVING count(*) > 1 OR octet_length(object) > 63 OR octet_length('zz_' || min(new)) > 63;
	IF FOUND THEN
		RAISE '% has two foreign keys to the table, a long name, or the first 25 characters of another column''s name', problem;
	END IF;
	SELECT format('%s of %s', quote_ident(k.conname), k.conrelid::regclass) INTO problem FROM pg_temp.comb_moved AS m JOIN pg_constraint AS k ON k.confrelid = tab
	WHERE m.attnum = ANY (k.confkey) AND k.oid NOT IN (SELECT oid FROM pg_temp.comb_moved) AND step IN ('prepare', 'swap');
	IF FOUND THEN
		RAISE 'the foreign key % refers to a moved column, but not to the primary key alone', problem;
	END IF;
	SELECT format('%I of %s', k.conname, m.name) INTO problem FROM pg_temp.comb_moved AS m JOIN pg_constraint AS k ON k.conrelid = tab AND k.conname IN (new, object)
		LEFT JOIN pg_attribute AS a ON a.attrelid = tab AND a.attname = new WHERE (a.attnum = ANY (k.conkey)) IS NOT TRUE AND step = 'prepare';
	IF FOUND THEN
		RAISE 'the constraint % is not of this file: rename it', problem;
	END IF;
	-- Of the triggers BEFORE ... FOR EACH ROW that of this file must be the last.
	SELECT format('%I of %s', tgname, m.name) INTO problem FROM pg_temp.comb_moved AS m JOIN pg_trigger ON tgrelid = tab
	WHERE tgtype & 3 = 3 AND tgname > ('zz_' || new)::name AND tgname NOT LIKE 'zz\_new\_%' AND step IN ('prepare', 'swap');
	IF FOUND THEN
		RAISE 'the trigger % runs after that of this file: rename it', problem;
	END IF;
	SELECT format('%s.%I', m.name, attname) INTO problem FROM pg_temp.comb_moved AS m JOIN pg_attribute AS a ON attrelid = tab
	WHERE attname = new AND NOT EXISTS (SELECT FROM pg_trigger WHERE tgrelid = tab AND tgname = 'zz_' || new)
		OR attname = old AND col_description(tab, a.attnum) IS DISTINCT FROM 'old, after migrate_online.sql';
	IF FOUND THEN
		RAISE 'the column % is not of this file: rename it', problem;
	ELSIF current_setting('comb.parent') = '' AND (step IN ('prepare', 'swap') OR NOT EXISTS (SELECT FROM pg_temp.comb_moved)) THEN
		RAISE 'the table needs a primary key, the column "created" of type timestamptz or timestamp, and comb_stamp(), not of a stranger';
	-- A subscriber has no column of the new name, and none of the new type.
	ELSIF step IN ('prepare', 'swap') AND EXISTS (SELECT FROM pg_temp.comb_moved JOIN pg_class AS c ON c.oid = tab
		JOIN pg_publication_tables AS p ON p.schemaname = nspname AND p.tablename = c.relname
		UNION ALL SELECT FROM pg_temp.comb_moved JOIN pg_subscription_rel ON srrelid = tab) THEN
		RAISE 'a table is published, or of a subscription';
	ELSIF step IN ('prepare', 'undo') AND EXISTS (SELECT FROM pg_temp.comb_moved JOIN pg_attribute ON attrelid = tab AND attname = old) THEN
		RAISE 'the columns were swapped: go on with the step drop';
	ELSIF step = 'prepare' AND EXISTS (SELECT FROM pg_temp.comb_moved JOIN pg_class AS c ON c.oid = to_regclass(format('%I.%I', nspname, object))
		LEFT JOIN pg_attribute AS a ON attrelid = tab AND attname = new
		WHERE NOT EXISTS (SELECT FROM pg_index WHERE indexrelid = c.oid AND indrelid = tab AND indkey[0] = a.attnum)) THEN
		RAISE 'a relation of this name is not of this file, rename it: %', (SELECT string_agg(nspname || '.' || object, ', ') FROM pg_temp.comb_moved
			WHERE to_regclass(format('%I.%I', nspname, object)) IS NOT NULL);
	-- CREATE OR REPLACE would leave a function to a stranger
	ELSIF EXISTS (SELECT FROM pg_temp.comb_moved JOIN pg_class AS c ON c.oid = tab
		JOIN pg_proc ON pronamespace = relnamespace AND proname = object
		AND (proowner <> quote_ident(current_user)::regrole OR NOT starts_with(prosrc, format('BEGIN NEW.%I := ', new)))) THEN
		RAISE 'a function of this name belongs to another role, or is not of this file: %', (SELECT string_agg(nspname || '.' || object, ', ') FROM pg_temp.comb_moved);
	-- What was written meanwhile has the keys of before.
	ELSIF step IN ('prepare', 'swap') AND EXISTS (SELECT FROM pg_temp.comb_moved JOIN pg_trigger ON tgrelid = tab AND tgname = 'zz_' || new
		WHERE tgenabled <> 'A') THEN
		RAISE 'the triggers of this file were disabled: run the step undo, and prepare again';
	ELSIF step IN ('prepare', 'swap') AND EXISTS (SELECT FROM pg_trigger AS t JOIN pg_proc AS p ON p.oid = tgfoid
		JOIN pg_temp.comb_moved AS k ON k.contype = 'p' AND strpos(prosrc, format(' FROM %s AS c WHERE c.%I = NEW.', k.name, k.col)) > 0
		WHERE t.tgname LIKE 'zz\_new\_%' AND NOT EXISTS (SELECT FROM pg_temp.comb_moved WHERE tab = tgrelid AND tgname = 'zz_' || new)) THEN
		RAISE 'a foreign key is gone since the step prepare: make it again';
	ELSIF step = 'swap' AND EXISTS (SELECT FROM pg_temp.comb_moved AS m
		LEFT JOIN pg_constraint AS k ON k.conrelid = tab AND k.conname = object AND convalidated
		LEFT JOIN pg_attribute AS a ON a.attrelid = tab AND a.attname = new
		WHERE CASE m.contype WHEN 'p' THEN NOT coalesce(a.attnotnull, false) ELSE k.conname IS NULL END) THEN
		RAISE 'run the step prepare to its end first';
	END IF;
END $$;

-- Run statements together, and again while they wait too long for a lock.
CREATE OR REPLACE PROCEDURE pg_temp.patiently(statements text) LANGUAGE plpgsql AS $$
DECLARE
	done boolean := false;
BEGIN
	FOR try IN 1 .. 100000 LOOP
		BEGIN
			EXECUTE statements;
			done := true;
		EXCEPTION WHEN lock_not_available OR deadlock_detected THEN
			IF try % 10 = 0 THEN
				RAISE INFO 'others hold a lock: tried % times', try;
			END IF;
		END;
		COMMIT;
		IF done THEN
			RETURN;
		END IF;
		PERFORM pg_sleep(0.3);
	END LOOP;
	RAISE 'others held a lock each time' USING ERRCODE = 'lock_not_available';
END $$;

-- Make the function of a trigger.  It runs as the owner of the table, who may read the other one.  Nobody else may
-- use it for a trigger, on a table of his own, whatever the default privileges are.
CREATE OR REPLACE PROCEDURE pg_temp.make(function text, body text) LANGUAGE plpgsql AS $$
DECLARE
	other text;
BEGIN
	IF EXISTS (SELECT FROM pg_proc WHERE oid = to_regprocedure(function) AND prosrc <> body) THEN
		RAISE 'the function % was made with another table, created or zone: run the step undo first', function;
	END IF;
	EXECUTE format('CREATE OR REPLACE FUNCTION %s RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
		SET search_path = pg_catalog, pg_temp AS %L', function, body);
	FOR other IN SELECT CASE grantee WHEN 0 THEN 'PUBLIC' ELSE grantee::regrole::text END
		FROM pg_proc, aclexplode(coalesce(proacl, acldefault('f', proowner)))
		WHERE pg_proc.oid = to_regprocedure(function) AND grantee <> proowner LOOP
		EXECUTE format('REVOKE ALL ON FUNCTION %s FROM %s', function, other);
	END LOOP;
END $$;

-- Let the triggers fill a new column, but for rows that are being changed, until none is left.
CREATE OR REPLACE PROCEDURE pg_temp.fill(tab text, col name, new name) LANGUAGE plpgsql AS $$
DECLARE
	said timestamptz := clock_timestamp();
	remain boolean := true;
	pages bigint;
	page bigint;
	size bigint := 50;
	empty bigint;
BEGIN
	WHILE remain LOOP
		page := 0;
		pages := pg_relation_size(tab) / current_setting('block_size')::integer;
		WHILE page < pages LOOP
			PERFORM set_config('search_path', current_setting('comb.path'), true);
			BEGIN
				EXECUTE format('WITH empty AS (SELECT ctid FROM %1$s WHERE %2$I IS NULL AND %3$I IS NOT NULL AND ctid >= $1 AND ctid < $2
						FOR NO KEY UPDATE SKIP LOCKED),
					filled AS (UPDATE %1$s SET %2$I = NULL WHERE ctid = ANY (ARRAY(SELECT ctid FROM empty)) RETURNING %2$I)
					SELECT (SELECT pg_catalog.count(*) FROM empty) OPERATOR(pg_catalog.-) pg_catalog.count(%2$I) FROM filled', tab, new, col) INTO empty
					USING format('(%s,0)', page)::tid, format('(%s,0)', page + size)::tid;
				page := least(page + size, pages);
				size := least(size * 2, 50);
			-- A trigger of the table waited for a row, and its writer perhaps for one of these.
			EXCEPTION WHEN lock_not_available OR deadlock_detected THEN
				empty := 0;
				size := greatest(size / 2, 1);
			END;
			IF empty > 0 THEN
				RAISE '% rows of % get no %', empty, tab, new
					USING HINT = 'Their time is NULL, the row that they refer to is hidden by row security, or a trigger leaves them out.';
			END IF;
			COMMIT;
			IF clock_timestamp() > said + interval '1 s' OR page = pages THEN
				said := clock_timestamp();
				RAISE INFO '%.%: % of % pages', tab, new, page, pages;
			END IF;
		END LOOP;
		EXECUTE format('SELECT EXISTS (SELECT FROM %s WHERE %I IS NULL AND %I IS NOT NULL)', tab, new, col) INTO remain;
		COMMIT;
		PERFORM pg_sleep(0.3) WHERE remain;
	END LOOP;
END $$;

\if :prepare
	\echo '1 of 4: columns and triggers'
	-- The new foreign key may act before the old one, when the row that is referred to is gone.
	SELECT format('CALL pg_temp.make(%L, %L)', format('%I.%I()', nspname, object), format('BEGIN NEW.%I := %s; RETURN NEW; END', new,
		CASE contype WHEN 'p' THEN :'own'
			ELSE format('coalesce((SELECT %1$s FROM %2$s AS c WHERE c.%3$I = NEW.%4$I),
				CASE WHEN NEW.%4$I = OLD.%4$I THEN coalesce(NEW.%5$I, OLD.%5$I) END)', :'expression', :'parent', :'key', col, new) END))
	FROM pg_temp.comb_moved \gexec
	-- Triggers run in the order of their names.  This one reads what others may set.  It also fills what
	-- an apply worker writes.
	SELECT format('CALL pg_temp.patiently(%L)', format('ALTER TABLE %2$s ADD COLUMN IF NOT EXISTS %5$I uuid;
		CREATE OR REPLACE TRIGGER %1$I BEFORE INSERT OR UPDATE ON %2$s FOR EACH ROW EXECUTE FUNCTION %3$I.%4$I();
		ALTER TABLE %2$s ENABLE ALWAYS TRIGGER %1$I',
		'zz_' || new, name, nspname, object, new))
	FROM pg_temp.comb_moved \gexec

	\echo '2 of 4: fill'
	SELECT format('CALL pg_temp.fill(%L, %L, %L)', name, col, new) FROM pg_temp.comb_moved ORDER BY contype DESC \gexec

	\echo '3 of 4: indexes'
	SET lock_timeout = 0;
	SELECT format('DROP INDEX CONCURRENTLY %I.%I', nspname, object) FROM pg_temp.comb_moved
	WHERE EXISTS (SELECT FROM pg_index WHERE indexrelid = to_regclass(format('%I.%I', nspname, object)) AND NOT indisvalid) \gexec
	SELECT format('CREATE %s INDEX CONCURRENTLY %I ON %s (%I)', CASE WHEN EXISTS (SELECT FROM pg_index WHERE indrelid = tab AND indisunique
		AND indimmediate AND indpred IS NULL AND indnkeyatts = 1 AND indkey[0] = attnum) THEN 'UNIQUE' END, object, name, new)
	FROM pg_temp.comb_moved WHERE to_regclass(format('%I.%I', nspname, object)) IS NULL \gexec
	SELECT format('ANALYZE %s (%I)', name, new) FROM pg_temp.comb_moved \gexec

	\echo '4 of 4: constraints'
	SET lock_timeout = '200ms';
	SELECT format('CALL pg_temp.patiently(%L)', format('ALTER TABLE %s ADD CONSTRAINT %I CHECK (%s%I IS NOT NULL) NOT VALID',
		name, new, CASE WHEN NOT filled THEN format('%I IS NULL OR ', col) END, new))
	FROM pg_temp.comb_moved WHERE NOT EXISTS (SELECT FROM pg_constraint WHERE conrelid = tab AND conname = new) \gexec
	SET lock_timeout = 0;
	SELECT format('ALTER TABLE %s VALIDATE CONSTRAINT %I', name, new) FROM pg_temp.comb_moved \gexec
	SET lock_timeout = '200ms';
	SELECT format('CALL pg_temp.patiently(%L)', format('ALTER TABLE %s ALTER %I SET NOT NULL', name, new))
	FROM pg_temp.comb_moved WHERE filled \gexec
	SELECT format('CALL pg_temp.patiently(%L)', format('ALTER TABLE %s ADD CONSTRAINT %I FOREIGN KEY (%I) REFERENCES %s (%I)%s NOT VALID',
		name, object, new, :'parent', 'new_' || :'key', actions))
	FROM pg_temp.comb_moved WHERE contype = 'f'
		AND NOT EXISTS (SELECT FROM pg_constraint WHERE conrelid = tab AND conname = object) \gexec
	SET lock_timeout = 0;
	SELECT format('ALTER TABLE %s VALIDATE CONSTRAINT %I', name, object) FROM pg_temp.comb_moved WHERE contype = 'f' \gexec

	\echo 'Prepared. These use the old columns, which are NULL in new rows after the swap. Before it, drop what this breaks, and make the like.'
	SELECT DISTINCT pg_describe_object(CASE WHEN w.oid IS NULL THEN d.classid ELSE 'pg_class'::regclass END,
		coalesce(w.ev_class, d.objid), CASE WHEN w.oid IS NULL THEN d.objsubid ELSE 0 END) AS dependent
	FROM pg_temp.comb_moved AS m JOIN pg_depend AS d ON d.refclassid = 'pg_class'::regclass AND d.refobjid = tab AND d.refobjsubid = m.attnum
		LEFT JOIN pg_rewrite AS w ON d.classid = 'pg_rewrite'::regclass AND w.oid = d.objid
		LEFT JOIN pg_constraint AS k ON d.classid = 'pg_constraint'::regclass AND k.oid = d.objid
		LEFT JOIN pg_class AS c ON d.classid = 'pg_class'::regclass AND c.oid = d.objid
		LEFT JOIN pg_index AS i ON i.indexrelid = c.oid
		LEFT JOIN pg_attrdef AS e ON d.classid = 'pg_attrdef'::regclass AND e.oid = d.objid
	WHERE d.deptype IN ('n', 'a') AND (m.contype = 'p' AND e.adnum = m.attnum) IS NOT TRUE AND c.relkind IS DISTINCT FROM 'S'
		AND k.oid NOT IN (SELECT oid FROM pg_temp.comb_moved) IS NOT FALSE
		AND k.conname IS DISTINCT FROM new AND k.contype IS DISTINCT FROM 'n'
		AND (i.indnatts = 1 AND i.indpred IS NULL AND i.indexprs IS NULL AND NOT i.indisunique) IS NOT TRUE
	ORDER BY dependent;
\endif

\if :swap
	SELECT format('CALL pg_temp.patiently(%L)', concat_ws('; ',
		(SELECT format('LOCK TABLE %s IN ACCESS EXCLUSIVE MODE', string_agg(DISTINCT name, ', ')) FROM pg_temp.comb_moved),
		(SELECT string_agg(format('DROP TRIGGER %1$I ON %2$s; DROP FUNCTION %3$I.%4$I(); ALTER TABLE %2$s DROP CONSTRAINT %5$I, DROP CONSTRAINT %6$I',
			'zz_' || new, name, nspname, object, conname, new), '; ' ORDER BY contype) FROM pg_temp.comb_moved),
		(SELECT format('ALTER TABLE %1$s ALTER %2$I DROP IDENTITY IF EXISTS; ALTER TABLE %1$s ALTER %2$I DROP DEFAULT,
				ALTER %3$I SET DEFAULT %4$s, ADD CONSTRAINT %5$I PRIMARY KEY USING INDEX %6$I', name, col, new,
			-- A feed relies on the default of the old column.
			coalesce((SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef WHERE adrelid = tab AND adnum = attnum
				AND type = 'uuid'::regtype AND pg_get_expr(adbin, adrelid) LIKE '%comb\_%'), :'schema' || '.comb_generate()'),
			conname, object) FROM pg_temp.comb_moved WHERE contype = 'p'),
		(SELECT string_agg(format('ALTER TABLE %1$s ALTER %2$I DROP NOT NULL; ALTER TABLE %1$s RENAME %2$I TO %3$I; ALTER TABLE %1$s RENAME %4$I TO %2$I',
			name, col, old, new), '; ') FROM pg_temp.comb_moved),
		(SELECT string_agg(format('ALTER TABLE %s RENAME CONSTRAINT %I TO %I', name, object, conname), '; ')
		FROM pg_temp.comb_moved WHERE contype = 'f'),
		(SELECT string_agg(format('GRANT %s (%I) ON %s TO %s%s', p.privilege_type, col, name,
			CASE p.grantee WHEN 0 THEN 'PUBLIC' ELSE p.grantee::regrole::text END, CASE WHEN p.is_grantable THEN ' WITH GRANT OPTION' END), '; ')
		FROM pg_temp.comb_moved JOIN pg_attribute AS a ON a.attrelid = tab AND a.attname = col, aclexplode(a.attacl) AS p),
		(SELECT string_agg(format('COMMENT ON COLUMN %s.%I IS %L', name, col, d.description), '; ')
		FROM pg_temp.comb_moved JOIN pg_attribute AS a ON a.attrelid = tab AND a.attname = col
			JOIN pg_description AS d ON d.classoid = 'pg_class'::regclass AND d.objoid = tab AND d.objsubid = a.attnum),
		(SELECT string_agg(format('COMMENT ON COLUMN %s.%I IS %L', name, old, 'old, after migrate_online.sql'), '; ') FROM pg_temp.comb_moved))) \gexec
	\echo 'Swapped. When nobody needs the old columns, run the step drop.'
\endif

\if :drop
	SELECT format('CALL pg_temp.patiently(%L)', format('ALTER TABLE %s DROP COLUMN IF EXISTS %I', name, old)) FROM pg_temp.comb_moved \gexec
\endif

\if :undo
	SELECT format('CALL pg_temp.patiently(%L)', format('DROP TRIGGER IF EXISTS %1$I ON %2$s; DROP FUNCTION IF EXISTS %3$I.%4$I();
		ALTER TABLE %2$s DROP COLUMN IF EXISTS %5$I', 'zz_' || new, name, nspname, object, new))
	FROM pg_temp.comb_moved ORDER BY contype \gexec
\endif
