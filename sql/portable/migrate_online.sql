/*
 * sql/portable/migrate_online.sql
 *
 * Gives a table in use new keys, uuids in the order of its rows, and changes the columns that refer to it by a
 * FOREIGN KEY, also by way of other tables.  doc/migration.md says how to use it.  The owner of all these tables runs
 * it with psql, on a direct connection:
 *
 *     psql -v table=customer -v step=check -f sql/portable/migrate_online.sql
 *
 * step     check, which changes nothing; prepare, swap and drop, in this order; undo, before the swap
 * table    its primary key is one column, a uuid, bigint, integer or smallint; without it, check looks at all tables of
 * schema   public
 * created  the column with the time of a row: created_at
 * zone     of created, if it is a timestamp without time zone: UTC
 * other    columns that look like a reference to the table, and are none: 'public.a.b, public.c.d'
 * before   a file of statements that begin the transaction of the swap
 * after    a file of statements that end it
 * wait     how long others wait for the file's locks at most, all of them together: 200ms
 *
 * It makes columns "new_id" and "new_customer_id" beside the old ones.  Triggers fill them in rows that are written,
 * and prepare in all others.  It makes the like of indexes, constraints and statistics of the old columns, with names
 * "zz_new_...".  The swap renames all.  Each step can be stopped, and run again.
 *
 * The order of the new keys is that of created, to the microsecond, and of the old numbers.
 */
\set ON_ERROR_STOP on
\set QUIET on
\if :{?table} \else \set table '' \endif
\if :{?step} \else \set step '' \endif
\if :{?schema} \else \set schema public \endif
\if :{?created} \else \set created created_at \endif
\if :{?zone} \else \set zone UTC \endif
\if :{?other} \else \set other '' \endif
\if :{?wait} \else \set wait 200ms \endif
-- What the caller names is found by his search_path, as are the functions of his triggers.  All else is
-- PostgreSQL's own, whoever may create functions in the schemas of the path.
SELECT coalesce(nullif(:'table', '')::pg_catalog.regclass::pg_catalog.oid::pg_catalog.text, '') AS root,
	pg_catalog.set_config('comb.stamp', coalesce(pg_catalog.to_regprocedure('comb_stamp(pg_catalog.uuid, pg_catalog.timestamptz)')::pg_catalog.oid::pg_catalog.text,
		'0'), false) AS "unused",
	pg_catalog.set_config('comb.path', pg_catalog.current_setting('search_path'), false) AS "unused" \gset
SET search_path = pg_catalog, pg_temp;
-- A zone that is none would stop writers only later.
SELECT timezone(:'zone', now()) AS "unused", set_config('comb.step', :'step', false) AS "unused", set_config('comb.created', :'created', false) AS "unused",
	set_config('comb.zone', :'zone', false) AS "unused", set_config('comb.other', :'other', false) AS "unused", set_config('comb.wait', :'wait', false) AS "unused",
	set_config('lock_timeout', :'wait', false) AS "unused" \gset
SELECT :'step' = 'check' AS check, :'step' = 'prepare' AS prepare, :'step' = 'swap' AS swap, :'step' = 'drop' AS drop, :'step' = 'undo' AS undo,
	:'root' <> '' AS one, :{?before} AS has_before, :{?after} AS has_after, :{?before} OR :{?after} AS has_files \gset
SET client_min_messages = warning;
-- A role's limits are for its other work.
SELECT count(set_config(name, '0', false)) AS "unused" FROM pg_settings WHERE name IN ('statement_timeout', 'transaction_timeout', 'idle_in_transaction_session_timeout') \gset
SET default_transaction_isolation = 'read committed';
-- Without psql nothing is to go on.
SET client_connection_check_interval = '1s';
-- An autovacuum gives way after this time, if we wait for it so long.
SELECT count(set_config('deadlock_timeout', '100ms', false)) AS "unused" FROM pg_roles WHERE rolname = current_user AND rolsuper \gset

-- The key, and all columns that refer to it
DROP TABLE IF EXISTS pg_temp.comb_moved, pg_temp.comb_like;
CREATE TEMP TABLE comb_moved (root boolean, tab oid, attnum smallint, name text, nspname name, col name, type oid, new name, old name, filled boolean);
-- What is made anew with them: p, u, x, c and f of pg_constraint, indexes (i) and statistics (s)
CREATE TEMP TABLE comb_like (kind text, oid oid, tab oid, name text, nspname name, object name, index oid, valid boolean, new name, def text, problem text);

-- Replace the moved columns of a table in a definition that PostgreSQL wrote.
CREATE FUNCTION pg_temp.renamed(def text, tab oid) RETURNS text LANGUAGE sql AS $$
	SELECT coalesce(string_agg(coalesce((SELECT quote_ident(new) FROM pg_temp.comb_moved AS m WHERE m.tab = $2 AND quote_ident(m.col) = token[1]), token[1]), '' ORDER BY n), '')
	FROM regexp_matches($1, $re$'(?:[^']|'')*'|"(?:[^"]|"")*"|::[A-Za-z0-9_."]+|[A-Za-z0-9_$]+|.$re$, 'g') WITH ORDINALITY AS r (token, n)
$$;

-- The new key of a row of the table, which is called c, NEW or OLD
CREATE FUNCTION pg_temp.key(c text) RETURNS text LANGUAGE sql AS $$
	-- The 64 bits below the microsecond are the number, so that it decides between rows of one time, or a hash.
	SELECT CASE WHEN m.type = 'uuid'::regtype THEN format('CASE WHEN %s.comb_timestamp(%s.%I) IS NOT NULL THEN %2$s.%3$I ELSE %s END', s.schema, c, m.col, made) ELSE made END
	FROM pg_temp.comb_moved AS m, (SELECT (SELECT pronamespace::regnamespace FROM pg_proc WHERE oid = current_setting('comb.stamp')::oid) AS schema,
			current_setting('comb.created')::name AS created) AS s,
		LATERAL (SELECT CASE WHEN m.type = 'uuid'::regtype THEN format('(''x'' || left(encode(sha256(uuid_send(%s.%I)), ''hex''), 16))::bit(64)::bigint', c, m.col)
			ELSE format('%s.%I::bigint', c, m.col) END AS n,
			(SELECT format(' AT TIME ZONE %L', current_setting('comb.zone')) FROM pg_attribute WHERE attrelid = m.tab AND attname = s.created AND atttypid = 'timestamp'::regtype) AS zone) AS e,
		LATERAL (SELECT format('%s.comb_stamp((''000000000000'' || to_hex(28672 + date_part(''microseconds'', %s.%I)::bigint %% 1000 * 4096 / 1000 + (((%s >> 62) & 3) # 2)) ||
			to_hex((%4$s & 4611686018427387903) | (1::bigint << 63)))::uuid, %2$s.%3$I%5$s)', s.schema, c, s.created, n, zone) AS made) AS x
	WHERE m.root
$$;

-- What the trigger of a table does.  The new foreign key may act before the old one, when the row that is referred to is gone.
CREATE FUNCTION pg_temp.body(tab oid) RETURNS text LANGUAGE sql AS $$
	SELECT 'BEGIN' || string_agg(CASE WHEN m.root
		THEN format(' NEW.%1$I := CASE WHEN NEW.%2$I = OLD.%2$I THEN coalesce(OLD.%1$I, %3$s) ELSE %4$s END;', m.new, m.col, pg_temp.key('OLD'), pg_temp.key('NEW'))
		ELSE format(' NEW.%1$I := coalesce((SELECT coalesce(c.%2$I, %3$s) FROM %4$s AS c WHERE c.%5$I = NEW.%6$I), %7$sCASE WHEN NEW.%6$I = OLD.%6$I
			THEN coalesce(NEW.%1$I, OLD.%1$I) END);
			IF NEW.%1$I IS NULL AND NEW.%6$I IS NOT NULL THEN
				RAISE foreign_key_violation USING MESSAGE = concat(%8$L, NEW.%6$I, %9$L), HINT = %10$L;
			END IF;', m.new, k.new, pg_temp.key('c'), k.name, k.col, m.col,
			CASE WHEN m.tab = k.tab THEN format('CASE WHEN NEW.%I = NEW.%I THEN NEW.%I END, ', m.col, k.col, k.new) END,
			k.name || ' has no row ', ' yet, to which a row of ' || m.name || ' refers', 'Until the step swap of migrate_online.sql insert it by an earlier statement.') END,
		'' ORDER BY m.root DESC, m.attnum) || ' RETURN NEW; END'
	FROM pg_temp.comb_moved AS m, pg_temp.comb_moved AS k WHERE m.tab = $1 AND k.root
$$;

-- Fill both tables for one table.
CREATE PROCEDURE pg_temp.find(root oid) LANGUAGE plpgsql AS $$
DECLARE
	item record;
	clone record;
BEGIN
	DELETE FROM pg_temp.comb_moved;
	DELETE FROM pg_temp.comb_like;
	WITH RECURSIVE moved AS (
		SELECT conrelid AS tab, conkey[1] AS attnum FROM pg_constraint WHERE conrelid = root AND contype = 'p' AND cardinality(conkey) = 1
		UNION SELECT k.conrelid, p.col FROM moved AS m JOIN pg_constraint AS k ON k.confrelid = m.tab AND k.contype = 'f',
			unnest(k.conkey, k.confkey) AS p (col, ref) WHERE p.ref = m.attnum)
	INSERT INTO pg_temp.comb_moved
		SELECT EXISTS (SELECT FROM pg_constraint WHERE conrelid = root AND tab = root AND contype = 'p' AND attnum = conkey[1]), tab, attnum,
			format('%I.%I', nspname, relname), nspname, attname, atttypid, 'new_' || attname, 'old_' || attname, attnotnull
		FROM moved JOIN pg_attribute AS a USING (attnum) JOIN pg_class AS c ON c.oid = tab JOIN pg_namespace AS n ON n.oid = relnamespace WHERE attrelid = tab;
	-- Each as PostgreSQL writes it, with the new columns
	INSERT INTO pg_temp.comb_like (kind, oid, tab, name, nspname, object, index, valid, def)
	WITH of AS (SELECT DISTINCT classid, objid, m.tab, m.name FROM pg_depend JOIN pg_temp.comb_moved AS m
		ON refclassid = 'pg_class'::regclass AND refobjid = tab AND refobjsubid = attnum)
		SELECT contype, k.oid, tab, name, n.nspname, conname, CASE WHEN contype IN ('p', 'u') THEN conindid END, convalidated, regexp_replace(pg_get_constraintdef(k.oid), ' NOT VALID$', '')
		FROM of JOIN pg_constraint AS k ON classid = 'pg_constraint'::regclass AND k.oid = objid AND conrelid = tab AND contype IN ('p', 'u', 'x', 'c', 'f')
			JOIN pg_namespace AS n ON n.oid = connamespace
		UNION ALL SELECT 'i', c.oid, tab, name, n.nspname, relname, c.oid, true, pg_get_indexdef(c.oid)
		FROM of JOIN pg_class AS c ON classid = 'pg_class'::regclass AND c.oid = objid AND relkind = 'i' JOIN pg_namespace AS n ON n.oid = relnamespace
		UNION ALL SELECT 's', s.oid, tab, name, n.nspname, stxname, NULL, true, pg_get_statisticsobjdef(s.oid)
		FROM of JOIN pg_statistic_ext AS s ON classid = 'pg_statistic_ext'::regclass AND s.oid = objid JOIN pg_namespace AS n ON n.oid = stxnamespace;
	DELETE FROM pg_temp.comb_like WHERE object LIKE 'zz\_new\_%';
	UPDATE pg_temp.comb_like SET new = format('zz_new_%s_%s', root, coalesce(index, oid)), problem = CASE WHEN kind = 'x' OR EXISTS (SELECT FROM pg_constraint AS k
			WHERE k.oid = comb_like.oid AND condeferrable AND kind IN ('p', 'u')) THEN format('cannot be made while others write. In the file of -v after=...: ALTER TABLE %s DROP CONSTRAINT %I, ADD CONSTRAINT %2$I %s', name, object, def) END;
	UPDATE pg_temp.comb_like SET def = pg_temp.renamed(substr(pg_get_indexdef(index), length(format('CREATE %sINDEX %I ON %s USING ', CASE WHEN indisunique THEN 'UNIQUE ' END, object, name)) + 1), tab)
	FROM pg_index WHERE indexrelid = index;
	UPDATE pg_temp.comb_like SET def = pg_temp.renamed(def, tab) WHERE kind IN ('c', 'x');
	UPDATE pg_temp.comb_like SET def = pg_temp.renamed(substr(left(def, -length(' FROM ' || name)), length(format('CREATE STATISTICS %I.%I', nspname, object)) + 1), tab) WHERE kind = 's';
	UPDATE pg_temp.comb_like AS l SET def = format('FOREIGN KEY (%s) REFERENCES %s (%s)', f.new_cols, f.parent, f.new_refs) || pg_temp.renamed(substr(def, length(f.before) + 1), tab),
		problem = CASE WHEN f.mixed OR NOT starts_with(def, f.before) OR def LIKE '%NOT ENFORCED%' 
			THEN 'is not enforced, has a period, or pairs a moved column with another one' END
	FROM (SELECT k.oid, min(confrelid::regclass::text) AS parent, bool_or((c.tab IS NULL) <> (r.tab IS NULL)) AS mixed,
			format('FOREIGN KEY (%s) REFERENCES %s(%s)', string_agg(quote_ident(a.attname), ', ' ORDER BY n), min(confrelid::regclass::text), string_agg(quote_ident(b.attname), ', ' ORDER BY n)) AS before,
			string_agg(quote_ident(coalesce(c.new, a.attname)), ', ' ORDER BY n) AS new_cols, string_agg(quote_ident(coalesce(r.new, b.attname)), ', ' ORDER BY n) AS new_refs
		FROM pg_constraint AS k CROSS JOIN unnest(conkey, confkey) WITH ORDINALITY AS p (col, ref, n) JOIN pg_attribute AS a ON a.attrelid = conrelid AND a.attnum = p.col
			JOIN pg_attribute AS b ON b.attrelid = confrelid AND b.attnum = p.ref LEFT JOIN pg_temp.comb_moved AS c ON c.tab = conrelid AND c.attnum = p.col
			LEFT JOIN pg_temp.comb_moved AS r ON r.tab = confrelid AND r.attnum = p.ref
		WHERE k.contype = 'f' GROUP BY k.oid) AS f WHERE f.oid = l.oid AND kind = 'f';
	-- Whatever cannot be made for uuids is found on tables without rows.  Expressions of another owner run no code here.
	FOR clone IN SELECT DISTINCT tab, name FROM pg_temp.comb_like JOIN pg_class AS c ON c.oid = tab WHERE kind <> 'f' AND relowner = quote_ident(current_user)::regrole LOOP
		EXECUTE format('CREATE TEMP TABLE comb_try (LIKE %s)', clone.name);
		EXECUTE (SELECT string_agg(format('ALTER TABLE pg_temp.comb_try ADD COLUMN IF NOT EXISTS %I uuid', m.new), '; ') FROM pg_temp.comb_moved AS m WHERE m.tab = clone.tab);
		FOR item IN SELECT * FROM pg_temp.comb_like AS l WHERE l.tab = clone.tab AND kind <> 'f' AND problem IS NULL LOOP
			BEGIN
				EXECUTE format(CASE item.kind WHEN 'c' THEN 'ALTER TABLE pg_temp.comb_try ADD %s' WHEN 's' THEN 'CREATE STATISTICS pg_temp.%2$I %1$s FROM pg_temp.comb_try'
					ELSE 'CREATE INDEX ON pg_temp.comb_try USING %s' END, item.def, item.new);
			EXCEPTION WHEN OTHERS THEN
				UPDATE pg_temp.comb_like AS l SET problem = format('cannot be made for uuids (%s)', SQLERRM) WHERE l.kind = item.kind AND l.oid = item.oid;
			END;
		END LOOP;
		DROP TABLE pg_temp.comb_try;
	END LOOP;
END $$;

-- What else uses the old columns, which are NULL in new rows after the swap
CREATE FUNCTION pg_temp.dependents() RETURNS TABLE (dependent text, "what to do" text) LANGUAGE sql AS $$
	SELECT DISTINCT pg_describe_object(o.class, o.obj, o.sub), coalesce(l.problem, 'make the like of it in the file of -v after=..., and drop it')
	FROM pg_temp.comb_moved AS m JOIN pg_depend AS d ON d.refclassid = 'pg_class'::regclass AND d.refobjid = m.tab AND d.refobjsubid = m.attnum
		LEFT JOIN pg_rewrite AS w ON d.classid = 'pg_rewrite'::regclass AND w.oid = d.objid
		LEFT JOIN pg_attrdef AS e ON d.classid = 'pg_attrdef'::regclass AND e.oid = d.objid
		LEFT JOIN pg_constraint AS k ON d.classid = 'pg_constraint'::regclass AND k.oid = d.objid
		LEFT JOIN pg_class AS c ON d.classid = 'pg_class'::regclass AND c.oid = d.objid
		LEFT JOIN pg_temp.comb_like AS l ON l.oid = d.objid AND d.classid = CASE l.kind WHEN 'i' THEN 'pg_class'::regclass WHEN 's' THEN 'pg_statistic_ext'::regclass ELSE 'pg_constraint'::regclass END,
		LATERAL (SELECT CASE WHEN w.oid IS NULL THEN d.classid ELSE 'pg_class'::regclass END, coalesce(w.ev_class, d.objid), CASE WHEN w.oid IS NULL THEN d.objsubid ELSE 0 END) AS o (class, obj, sub)
	WHERE d.deptype IN ('n', 'a') AND (l.oid IS NULL OR l.problem IS NOT NULL) AND (m.root AND e.adnum = m.attnum) IS NOT TRUE
		AND c.relkind IS DISTINCT FROM 'S' AND k.contype IS DISTINCT FROM 'n' AND starts_with(coalesce(c.relname, k.conname, ''), 'zz_new_') IS NOT TRUE
	ORDER BY 1
$$;

-- The same, with what nobody can know of triggers
CREATE FUNCTION pg_temp.list() RETURNS TABLE (dependent text, "what to do" text) LANGUAGE sql AS $$
	SELECT * FROM pg_temp.dependents()
	UNION ALL SELECT DISTINCT format('function %s', tgfoid::regprocedure), format('has %s in its text: can it be a uuid?', col)
	FROM pg_temp.comb_moved JOIN pg_trigger ON tgrelid = tab AND NOT tgisinternal AND tgname NOT LIKE 'zz\_new\_%' JOIN pg_proc AS p ON p.oid = tgfoid AND prosrc ~* ('(new|old)[.]"?' || col || '\M')
	UNION ALL SELECT format('trigger %I on %s', tgname, name), 'runs for each row that prepare fills, but for PGOPTIONS=''-c session_replication_role=replica'''
	FROM (SELECT DISTINCT tab, name FROM pg_temp.comb_moved) AS m JOIN pg_trigger ON tgrelid = tab AND tgtype & 16 > 0 AND tgattr = '' AND tgenabled = 'O' AND NOT tgisinternal
	WHERE current_setting('comb.step') = 'check'
$$;

CREATE PROCEDURE pg_temp.refuse_dependents() LANGUAGE plpgsql AS $$
DECLARE
	list text := (SELECT string_agg(concat_ws(': ', d.dependent, d."what to do"), E'\n') FROM pg_temp.dependents() AS d);
BEGIN
	IF list IS NOT NULL THEN
		RAISE 'these still use the old columns' USING DETAIL = list, HINT = 'Name a file of statements by -v after=... or -v before=..., which runs in the transaction of the swap.';
	END IF;
END $$;

-- Columns that look like a reference without a FOREIGN KEY: by their names, and if asked by their values
CREATE FUNCTION pg_temp.references(by_value boolean) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	k record;
	c record;
	found bigint;
	missing bigint;
BEGIN
	SELECT m.*, replace(lower(relname), '_', '') AS whole, regexp_replace(replace(lower(relname), '_', ''), '(ies|ses|s)$', '') AS single, replace(lower(col), '_', '') AS key,
		m.type = 'uuid'::regtype AS is_uuid INTO k FROM pg_temp.comb_moved AS m JOIN pg_class ON oid = tab WHERE root;
	FOR c IN SELECT format('%I.%I', nspname, relname) AS tab, attname, atttypid, format('%I.%I.%I', nspname, relname, attname) AS name,
			n.name ~ ('(' || k.whole || '|' || k.single || '(y|s|se)?)(' || k.key || '|id)s?$') OR attname = k.col AND k.key <> 'id'
				OR EXISTS (SELECT FROM pg_attribute AS t WHERE NOT key AND t.attrelid = a.attrelid AND a.attname ~* '.id$' AND lower(t.attname) = regexp_replace(lower(a.attname), 'id$', 'type')) AS named,
			-- A row security policy of another owner runs no code here.
			relowner = quote_ident(current_user)::regrole AS own, n.name ~ '.ids?$' AND NOT (key AND (atthasdef OR attidentity <> '')) AS possible
		FROM pg_attribute AS a JOIN pg_class AS r ON r.oid = attrelid JOIN pg_namespace AS s ON s.oid = relnamespace JOIN pg_type AS t ON t.oid = atttypid AND typnamespace = 'pg_catalog'::regnamespace,
			LATERAL (SELECT replace(lower(attname), '_', '') AS name, EXISTS (SELECT FROM pg_constraint WHERE contype = 'p' AND conrelid = attrelid AND conkey = ARRAY[attnum]) AS key) AS n
		WHERE relkind IN ('r', 'p') AND NOT relispartition AND nspname NOT IN ('pg_catalog', 'information_schema') AND nspname !~ '^pg_(toast|temp)' AND attnum > 0 AND NOT attisdropped
			AND attname !~ '^(old|new)_' AND (typname IN ('text', 'varchar', 'bpchar', '_text', '_varchar') OR CASE WHEN k.is_uuid THEN typname IN ('uuid', '_uuid') ELSE typname IN ('int2', 'int4', 'int8', '_int4', '_int8') END)
			AND NOT EXISTS (SELECT FROM pg_temp.comb_moved AS m WHERE m.tab = attrelid AND m.attnum = a.attnum)
			AND NOT EXISTS (SELECT FROM pg_constraint AS f WHERE f.contype = 'f' AND f.conrelid = attrelid AND a.attnum = ANY (f.conkey))
		ORDER BY 4 LOOP
		CONTINUE WHEN c.name = ANY (regexp_split_to_array(current_setting('comb.other'), '\s*,\s*'));
		found := 0;
		IF by_value AND NOT c.named AND format_type(c.atttypid, NULL) !~ '\[\]$' AND (k.is_uuid OR c.possible) AND c.own THEN
			EXECUTE format('SELECT count(k.v), count(*) - count(k.v)
				FROM (SELECT DISTINCT CASE WHEN v::text ~* %L THEN v::text::%s END AS v FROM (SELECT %I AS v FROM %s LIMIT 1000) AS s WHERE v IS NOT NULL) AS s
				LEFT JOIN LATERAL (SELECT 1 AS v FROM %s AS k WHERE k.%I = s.v) AS k ON true', CASE WHEN k.is_uuid THEN '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' ELSE '^\d{1,18}$' END,
				CASE WHEN k.is_uuid THEN 'uuid' ELSE 'bigint' END, c.attname, c.tab, k.name, k.col) INTO found, missing;
		END IF;
		-- A uuid is never the same by chance.
		IF c.named OR found > 0 AND (k.is_uuid OR missing = 0) THEN
			RETURN NEXT c.name;
		END IF;
	END LOOP;
END $$;

-- Why a step is refused, and the way out
CREATE FUNCTION pg_temp.problems(root oid, step text) RETURNS TABLE (problem text, way text) LANGUAGE plpgsql AS $$
DECLARE
	parent text := (SELECT format('%I.%I', nspname, relname) FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = relnamespace WHERE c.oid = root);
	trig name := 'zz_new_' || root;
	created name := current_setting('comb.created');
	stamp oid := current_setting('comb.stamp');
	forward boolean := step IN ('check', 'prepare', 'swap');
	swapped boolean := EXISTS (SELECT FROM pg_temp.comb_moved AS m JOIN pg_attribute AS a ON attrelid = tab AND attname = old
		WHERE col_description(tab, a.attnum) = 'old, after migrate_online.sql');
	n bigint;
BEGIN
	RETURN QUERY
	-- The table
	SELECT format('%s has no primary key of one column', parent), 'This file changes no other keys.' WHERE NOT EXISTS (SELECT FROM pg_temp.comb_moved)
	UNION ALL SELECT format('%s has a key of type %s', parent, format_type(type, NULL)), 'This file changes keys of type uuid, bigint, integer and smallint.'
		FROM pg_temp.comb_moved AS m WHERE m.root AND NOT swapped AND type NOT IN ('uuid'::regtype, 'bigint'::regtype, 'integer'::regtype, 'smallint'::regtype)
	UNION ALL SELECT format('%s has a deferrable primary key', parent), 'Make it again without DEFERRABLE.' FROM pg_constraint WHERE conrelid = root AND contype = 'p' AND condeferrable
	UNION ALL SELECT format('%s has no column %I of type timestamptz or timestamp, which is not generated', parent, created),
			coalesce('Name one by -v created=...: it has ' || (SELECT string_agg(quote_ident(attname), ', ') FROM pg_attribute WHERE attrelid = root AND attnum > 0 AND attgenerated = ''
				AND atttypid IN ('timestamptz'::regtype, 'timestamp'::regtype)), 'Add one with the times of the rows.')
		WHERE forward AND NOT EXISTS (SELECT FROM pg_attribute WHERE attrelid = root AND attname = created AND attgenerated = '' AND atttypid IN ('timestamptz'::regtype, 'timestamp'::regtype))
	-- comb_stamp(), which the triggers run as the table's owner
	UNION ALL SELECT 'there is no comb_stamp() in this database', 'Run CREATE EXTENSION pg_comb.' WHERE forward AND stamp = 0 AND NOT EXISTS (SELECT FROM pg_proc
		WHERE proname = 'comb_stamp')
	UNION ALL SELECT format('comb_stamp() is in the schema %s, which is not in your search_path', min(pronamespace::regnamespace::text)), 'Add the schema to the search_path.'
		FROM pg_proc WHERE forward AND stamp = 0 AND proname = 'comb_stamp' HAVING count(*) > 0
	UNION ALL SELECT format('the first comb_stamp() in your search_path belongs to the role %s, who does not own its schema %s', proowner::regrole, pronamespace::regnamespace),
			'Begin the search_path with the schema of pg_comb.'
		FROM pg_proc WHERE oid = stamp AND forward AND proowner <> quote_ident(current_user)::regrole
			AND NOT pg_has_role(proowner, (SELECT nspowner FROM pg_namespace WHERE oid = pronamespace), 'USAGE')
	-- All tables with a moved column
	UNION ALL SELECT format('%s is %s', m.name, CASE WHEN relkind = 'p' OR relispartition THEN 'partitioned' ELSE 'not a plain table' END), 'This file changes plain tables.'
		FROM pg_temp.comb_moved AS m JOIN pg_class AS c ON c.oid = tab WHERE relkind <> 'r' OR EXISTS (SELECT FROM pg_inherits WHERE tab IN (inhrelid, inhparent))
	UNION ALL SELECT format('%s belongs to another role, %s', m.name, relowner::regrole), 'One role is to own all these tables, and to run this file.'
		FROM pg_temp.comb_moved AS m JOIN pg_class AS c ON c.oid = tab WHERE relowner <> quote_ident(current_user)::regrole
	UNION ALL SELECT format('%s has an index as its replica identity', m.name), format('ALTER TABLE %s REPLICA IDENTITY DEFAULT', m.name)
		FROM pg_temp.comb_moved AS m JOIN pg_class AS c ON c.oid = tab WHERE relreplident = 'i'
	UNION ALL SELECT format('row security is forced for the owner of %s, who would not see all rows',
		m.name), format('ALTER TABLE %s NO FORCE ROW LEVEL SECURITY, until the swap', m.name)
		FROM pg_temp.comb_moved AS m JOIN pg_class AS c ON c.oid = tab JOIN pg_roles AS r ON r.rolname = current_user
		WHERE forward AND relrowsecurity AND relforcerowsecurity AND NOT rolsuper AND NOT rolbypassrls
	-- A subscriber has no column of the new parent, and none of the new type.
	UNION ALL SELECT format('%s is published, or of a subscription', m.name), 'Take it out of there.' FROM pg_temp.comb_moved AS m JOIN pg_class AS c ON c.oid = tab
		WHERE forward AND (EXISTS (SELECT FROM pg_publication_tables AS p WHERE p.schemaname = nspname AND tablename = relname) OR EXISTS (SELECT
			FROM pg_subscription_rel WHERE srrelid = tab))
	UNION ALL SELECT format('the trigger %I of %s runs after that of this file', tgname, m.name), format('ALTER TRIGGER %I ON %s RENAME TO ..., a name before zz', tgname, m.name)
		FROM pg_temp.comb_moved AS m JOIN pg_trigger ON tgrelid = tab WHERE forward AND tgtype & 3 = 3 AND tgname > trig AND tgname NOT LIKE 'zz\_new\_%'
	-- The moved columns
	UNION ALL SELECT format('%s.%I has a security label', m.name, col), 'Take it away, and give it after the swap.'
		FROM pg_temp.comb_moved AS m WHERE EXISTS (SELECT FROM pg_seclabel WHERE classoid = 'pg_class'::regclass AND objoid = tab AND objsubid = attnum)
	UNION ALL SELECT format('%s.%I is a generated column', m.name, col), 'It has no value yet when a trigger runs.'
		FROM pg_temp.comb_moved AS m JOIN pg_attribute AS a ON attrelid = tab AND a.attnum = m.attnum AND attgenerated <> ''
	UNION ALL SELECT format('%s.%I has a name of more than 56 bytes', m.name, col), 'Rename it.' FROM pg_temp.comb_moved AS m WHERE octet_length(col) > 56
	UNION ALL SELECT format('the foreign key %I of %s %s', object, l.name, l.problem), 'If these tables are one to one, run the file for the other one; else drop it, and make it again after the swap.' FROM pg_temp.comb_like AS l
		WHERE forward AND kind = 'f' AND l.problem IS NOT NULL
	UNION ALL SELECT format('the column %s.%I is not of this file', m.name, attname), 'Rename it.'
		FROM pg_temp.comb_moved AS m JOIN pg_attribute AS a ON attrelid = tab AND (attname = old AND col_description(tab, a.attnum) IS DISTINCT FROM 'old, after migrate_online.sql'
			OR attname = new AND col_description(tab, a.attnum) IS DISTINCT FROM 'new key of ' || parent)
	-- What was done, and what happened since
	UNION ALL SELECT format('the columns of %s were swapped already', parent), 'Go on with the step drop.' WHERE swapped AND step <> 'drop'
	UNION ALL SELECT format('the function %s of the trigger of this file is another one', tgfoid::regproc),
			'Name created and zone as for the step prepare. If foreign keys have changed since, run the step undo, and prepare again.'
		FROM pg_trigger JOIN pg_proc AS p ON p.oid = tgfoid LEFT JOIN (SELECT DISTINCT tab FROM pg_temp.comb_moved) AS m ON tab = tgrelid
		WHERE forward AND tgname = trig AND (prosrc <> pg_temp.body(tab) OR tab IS NULL OR proowner <> quote_ident(current_user)::regrole)
	-- What was written meanwhile has the keys of before.
	UNION ALL SELECT format('the trigger of this file was disabled on %s', tgrelid::regclass), 'Run the step undo, and prepare again.' FROM pg_trigger WHERE forward
		AND tgname = trig AND tgenabled <> 'A'
	UNION ALL SELECT 'the step prepare has not come to its end', 'Run it first.' WHERE step = 'swap' AND NOT swapped AND (
		EXISTS (SELECT FROM pg_temp.comb_moved AS m LEFT JOIN pg_attribute AS a ON attrelid = tab AND attname = new LEFT JOIN pg_constraint AS k ON conrelid = tab
			AND conname = 'zz_' || new AND convalidated
			WHERE k.oid IS NULL OR attnotnull <> filled OR NOT EXISTS (SELECT FROM pg_trigger WHERE tgrelid = tab AND tgname = trig))
		OR EXISTS (SELECT FROM pg_temp.comb_like AS l WHERE l.problem IS NULL AND NOT CASE
			WHEN kind IN ('c', 'f') THEN EXISTS (SELECT FROM pg_constraint WHERE conrelid = tab AND conname = l.new AND (convalidated OR NOT valid))
			WHEN kind = 's' THEN EXISTS (SELECT FROM pg_statistic_ext WHERE stxrelid = tab AND stxname = l.new)
			ELSE EXISTS (SELECT FROM pg_index JOIN pg_class AS c ON c.oid = indexrelid WHERE indrelid = tab AND relname = l.new AND indisvalid) END));
	IF NOT FOUND AND step IN ('check', 'prepare') THEN
		EXECUTE format('SELECT count(*) FROM %s AS c WHERE (%I IS NULL OR %2$I < ''1970-01-02'' OR %2$I > ''10889-08-01'') AND %s', parent, created,
			(SELECT CASE WHEN type = 'uuid'::regtype THEN format('%s.comb_timestamp(%I) IS NULL', (SELECT pronamespace::regnamespace FROM pg_proc
				WHERE oid = stamp), col) ELSE 'true' END FROM pg_temp.comb_moved AS m WHERE m.root)) INTO n;
		RETURN QUERY SELECT format('%s rows of %s have a %I that is NULL or before 1970', n, parent, created), 'Give them a time.' WHERE n > 0
		UNION ALL SELECT format('%s looks like a reference to %s, without a FOREIGN KEY', r, parent),
				format('If it is one: ALTER TABLE %s ADD FOREIGN KEY (%s) REFERENCES %s NOT VALID; else name it in -v other=''...''.',
					regexp_replace(r, '\.("[^"]*"|[^.]*)$', ''), regexp_replace(r, '^.*\.("[^"]*"|[^.]*)$', '\1'), parent)
			FROM pg_temp.references(step = 'prepare' OR current_setting('comb.root') <> '') AS r;
	END IF;
END $$;

-- Lock tables, in a transaction.  Nobody waits for all of the locks together for longer than "wait".
CREATE PROCEDURE pg_temp.lock(tables text[], mode text) LANGUAGE plpgsql AS $$
DECLARE
	wait interval := current_setting('comb.wait');
	deadline timestamptz;
	t text;
BEGIN
	FOR try IN 1 .. 100000 LOOP
		BEGIN
			deadline := clock_timestamp() + wait;
			FOREACH t IN ARRAY tables LOOP
				PERFORM set_config('lock_timeout', greatest(extract(milliseconds FROM deadline - clock_timestamp())::integer, 1) || 'ms', true);
				EXECUTE format('LOCK TABLE %s IN %s MODE', t, mode);
			END LOOP;
			PERFORM set_config('lock_timeout', current_setting('comb.wait'), true);
			RETURN;
		EXCEPTION WHEN lock_not_available OR deadlock_detected THEN
			-- Wait for this one next time, before any other is locked.
			tables := t || array_remove(tables, t);
			IF try % 10 = 0 THEN
				RAISE INFO 'others hold a lock: tried % times', try;
			END IF;
		END;
		PERFORM pg_sleep(0.3);
	END LOOP;
	RAISE 'others held a lock each time' USING ERRCODE = 'lock_not_available';
END $$;

-- Make the function of a trigger.  It runs as the owner of the table, who may read the other one.  Nobody else may
-- use it for a trigger, on a table of his own, whatever the default privileges are.
CREATE PROCEDURE pg_temp.make(function text, body text) LANGUAGE plpgsql AS $$
DECLARE
	other text;
BEGIN
	EXECUTE format('CREATE FUNCTION %s RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS %L', function, body);
	FOR other IN SELECT CASE grantee WHEN 0 THEN 'PUBLIC' ELSE grantee::regrole::text END
		FROM pg_proc, aclexplode(coalesce(proacl, acldefault('f', proowner)))
		WHERE pg_proc.oid = to_regprocedure(function) AND grantee <> proowner LOOP
		EXECUTE format('REVOKE ALL ON FUNCTION %s FROM %s', function, other);
	END LOOP;
END $$;

-- Let the trigger fill the new columns, but for rows that are being changed, until none is left.
CREATE PROCEDURE pg_temp.fill(tab text, new name, empty text) LANGUAGE plpgsql AS $$
DECLARE
	said timestamptz := clock_timestamp();
	remain boolean := true;
	pages bigint;
	page bigint;
	size bigint := 50;
	left_empty bigint;
BEGIN
	WHILE remain LOOP
		page := 0;
		pages := pg_relation_size(tab) / current_setting('block_size')::integer;
		WHILE page < pages LOOP
			PERFORM set_config('search_path', current_setting('comb.path'), true);
			BEGIN
				EXECUTE format('WITH empty AS (SELECT ctid FROM %1$s WHERE (%2$s) AND ctid OPERATOR(pg_catalog.>=) $1 AND ctid OPERATOR(pg_catalog.<) $2
						FOR NO KEY UPDATE SKIP LOCKED),
					filled AS (UPDATE %1$s SET %3$I = NULL WHERE ctid OPERATOR(pg_catalog.=) ANY (ARRAY(SELECT ctid FROM empty)) RETURNING (%2$s) AS empty)
					SELECT (SELECT pg_catalog.count(*) FROM empty) OPERATOR(pg_catalog.-) (SELECT pg_catalog.count(*) FROM filled WHERE NOT empty)',
						tab, empty, new) INTO left_empty
					USING format('(%s,0)', page)::tid, format('(%s,0)', page + size)::tid;
				page := least(page + size, pages);
				size := least(size * 2, 50);
			-- A trigger of the table waited for a row, and its writer perhaps for one of these.
			EXCEPTION WHEN lock_not_available OR deadlock_detected THEN
				left_empty := 0;
				size := greatest(size / 2, 1);
			END;
			IF left_empty > 0 THEN
				RAISE '% rows of % get no %', left_empty, tab, new
					USING HINT = 'Their time is NULL, the row that they refer to is hidden by row security, or a trigger leaves them out.';
			END IF;
			COMMIT;
			IF clock_timestamp() > said + interval '1 s' OR page = pages THEN
				said := clock_timestamp();
				RAISE INFO '%.%: % of % pages', tab, new, page, pages;
			END IF;
		END LOOP;
		EXECUTE format('SELECT EXISTS (SELECT FROM %s WHERE %s)', tab, empty) INTO remain;
		COMMIT;
		PERFORM pg_sleep(0.3) WHERE remain;
	END LOOP;
END $$;

SELECT set_config('comb.root', :'root', false) AS "unused" \gset
\if :one
	CALL pg_temp.find(:root);
\endif
\if :check
	\if :one
		SELECT * FROM pg_temp.problems(:root, 'check');
		SELECT * FROM pg_temp.list();
	\else
		CREATE TEMP TABLE comb_check (name text, result text);
		SELECT format('CALL pg_temp.find(%s); INSERT INTO pg_temp.comb_check SELECT %L, coalesce((SELECT string_agg(concat_ws(''. '', problem, way), E''\n'') FROM pg_temp.problems(%1$s, ''check'')),
			format(''passes%%s'', (SELECT format('', %%s to be made by hand'', count(*)) FROM pg_temp.dependents() HAVING count(*) > 0)))', oid, relname)
		FROM pg_class WHERE relkind IN ('r', 'p') AND relnamespace = quote_ident(:'schema')::regnamespace AND NOT relispartition ORDER BY relname \gexec
		SELECT name AS "table", result FROM pg_temp.comb_check;
	\endif
	\quit
\endif
DO $$
DECLARE
	step text := current_setting('comb.step');
	problems text[];
	ways text[];
BEGIN
	IF step NOT IN ('prepare', 'swap', 'drop', 'undo') OR current_setting('comb.root') = '' THEN
		RAISE 'step must be check, prepare, swap, drop or undo, and "table" a table';
	END IF;
	SELECT array_agg(problem), array_agg(way) INTO problems, ways FROM pg_temp.problems(current_setting('comb.root')::oid, step);
	IF problems IS NOT NULL THEN
		RAISE '%', problems[1] USING HINT = ways[1], DETAIL = array_to_string(ARRAY['Nothing was changed.'] || problems[2:], E'\n');
	END IF;
END $$;
SELECT name AS parent, col AS key, new AS new_key FROM pg_temp.comb_moved WHERE root \gset

\if :prepare
	SET lock_timeout = 0;
	SELECT format('ALTER TABLE %s VALIDATE CONSTRAINT %I', name, object) FROM pg_temp.comb_like WHERE kind = 'f' AND NOT valid \gexec
	\echo '1 of 4: columns and triggers'
	-- Triggers run in the order of their names.  This one reads what others may set.  It also fills what
	-- an apply worker writes.
	SELECT 'BEGIN', format('CALL pg_temp.lock(%L, %L)', ARRAY[name], 'ACCESS EXCLUSIVE'),
		format('CALL pg_temp.make(%L, %L)', format('%I.%I()', nspname, format('zz_new_%s_%s', :root, tab)), pg_temp.body(tab)),
		format('ALTER TABLE %s %s', name, string_agg(format('ADD COLUMN %I uuid', new), ', ' ORDER BY attnum)),
			string_agg(format('COMMENT ON COLUMN %s.%I IS %L', name, new, 'new key of ' || :'parent'), '; '),
		string_agg((SELECT concat_ws('; ', format('ALTER TABLE %s ALTER %I SET STATISTICS ', name, new) || nullif(attstattarget,
			-1), format('ALTER TABLE %s ALTER %I SET (', name, new) || (SELECT string_agg(o, ', ') FROM unnest(attoptions) AS o WHERE o LIKE 'n\_distinct%') || ')')
			FROM pg_attribute AS a WHERE attrelid = tab AND a.attnum = m.attnum), '; '),
		format('CREATE TRIGGER %1$I BEFORE INSERT OR UPDATE ON %2$s FOR EACH ROW EXECUTE FUNCTION %3$I.%4$I(); ALTER TABLE %2$s ENABLE ALWAYS TRIGGER %1$I',
			'zz_new_' || :root, name, nspname, format('zz_new_%s_%s', :root, tab)), 'COMMIT'
	FROM pg_temp.comb_moved AS m WHERE NOT EXISTS (SELECT FROM pg_trigger WHERE tgrelid = tab
		AND tgname = 'zz_new_' || :root) GROUP BY tab, name, nspname ORDER BY bool_or(root) DESC \gexec

	\echo '2 of 4: fill'
	SET lock_timeout = :'wait';
	SELECT format('CALL pg_temp.fill(%L, %L, %L)', name, min(new), string_agg(format('%I IS NULL AND %I IS NOT NULL', new, col), ' OR '))
	FROM pg_temp.comb_moved GROUP BY name ORDER BY bool_or(root) \gexec

	\echo '3 of 4: indexes'
	SET lock_timeout = 0;
	SELECT format('DROP INDEX CONCURRENTLY %I.%I', nspname, new) FROM pg_temp.comb_like AS l
	WHERE EXISTS (SELECT FROM pg_index JOIN pg_class AS c ON c.oid = indexrelid WHERE indrelid = tab AND relname = l.new AND NOT indisvalid) \gexec
	SELECT format('SET default_tablespace = %L', coalesce(spcname, '')), format('CREATE %s INDEX CONCURRENTLY %I ON %s USING %s', CASE WHEN indisunique
		THEN 'UNIQUE' END, new, name, def)
	FROM pg_temp.comb_like AS l JOIN pg_index ON indexrelid = index JOIN pg_class AS c ON c.oid = index LEFT JOIN pg_tablespace AS s ON s.oid = c.reltablespace
	WHERE kind IN ('p', 'u', 'i') AND problem IS NULL AND to_regclass(format('%I.%I', nspname, new)) IS NULL \gexec
	RESET default_tablespace;
	SELECT format('CREATE STATISTICS %I.%I %s FROM %s', nspname, new, def, name) FROM pg_temp.comb_like AS l
	WHERE kind = 's' AND problem IS NULL AND NOT EXISTS (SELECT FROM pg_statistic_ext WHERE stxrelid = tab AND stxname = l.new) \gexec
	SELECT DISTINCT format('ANALYZE %s', name) FROM pg_temp.comb_moved \gexec

	\echo '4 of 4: constraints'
	SET lock_timeout = :'wait';
	-- NOT NULL needs no look at the rows after a CHECK.
	CREATE TEMP TABLE comb_check AS
		SELECT tab, ARRAY[name] AS tables, name, 'zz_' || new AS constr, format('CHECK (%s%I IS NOT NULL)', CASE WHEN NOT filled
			THEN format('%I IS NULL OR ', col) END, new) AS def, true AS valid FROM pg_temp.comb_moved
		UNION ALL SELECT tab, CASE WHEN kind = 'f' THEN ARRAY[(SELECT confrelid::regclass::text FROM pg_constraint AS k
			WHERE k.oid = l.oid)] END || name, name, new, def, kind = 'f' OR valid
		FROM pg_temp.comb_like AS l WHERE kind IN ('c', 'f') AND problem IS NULL;
	SELECT 'BEGIN', format('CALL pg_temp.lock(%L, %L)', tables, CASE WHEN def LIKE 'F%' THEN 'SHARE ROW EXCLUSIVE' ELSE 'ACCESS EXCLUSIVE' END),
		format('ALTER TABLE %s ADD CONSTRAINT %I %s NOT VALID', name, constr, def), 'COMMIT'
	FROM pg_temp.comb_check WHERE NOT EXISTS (SELECT FROM pg_constraint WHERE conrelid = tab AND conname = constr) \gexec
	SET lock_timeout = 0;
	SELECT format('ALTER TABLE %s VALIDATE CONSTRAINT %I', name, constr) FROM pg_temp.comb_check WHERE valid \gexec
	SELECT 'BEGIN', format('CALL pg_temp.lock(%L, %L)', ARRAY[name], 'ACCESS EXCLUSIVE'), format('ALTER TABLE %s ALTER %I SET NOT NULL', name, new), 'COMMIT'
		FROM pg_temp.comb_moved WHERE filled \gexec

	\echo 'Prepared. The swap is refused until nothing but it needs the old columns:'
	SELECT * FROM pg_temp.list();
\endif

\if :swap
	SELECT array_agg(name ORDER BY root DESC) AS tables FROM (SELECT name, bool_or(root) AS root FROM pg_temp.comb_moved GROUP BY name) AS m \gset
	CREATE TEMP TABLE comb_swap (n serial, statement text);
	INSERT INTO comb_swap (statement)
		SELECT format('DROP TRIGGER %I ON %s', tgname, tgrelid::regclass) || format('; DROP FUNCTION %s()', tgfoid::regproc) FROM pg_trigger WHERE tgname = 'zz_new_' || :root
		UNION ALL SELECT format('ALTER TABLE %s DROP CONSTRAINT %I', name, 'zz_' || new) FROM pg_temp.comb_moved
		UNION ALL (SELECT CASE kind WHEN 'i' THEN format('DROP INDEX %I.%I', nspname, object) WHEN 's' THEN format('DROP STATISTICS %I.%I', nspname, object)
			ELSE format('ALTER TABLE %s DROP CONSTRAINT %I', name, object) END FROM pg_temp.comb_like WHERE problem IS NULL ORDER BY kind <> 'f')
		UNION ALL SELECT format('ALTER TABLE %1$s ALTER %2$I DROP IDENTITY IF EXISTS; ALTER TABLE %1$s ALTER %2$I DROP DEFAULT, ALTER %3$I SET DEFAULT %4$s', name, col, new,
			-- A feed relies on the default of the old column.
			coalesce((SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef WHERE adrelid = tab AND adnum = attnum AND type = 'uuid'::regtype
				AND pg_get_expr(adbin, adrelid) LIKE '%comb\_%'),
				(SELECT pronamespace::regnamespace FROM pg_proc WHERE oid = current_setting('comb.stamp')::oid) || '.comb_generate()'))
		FROM pg_temp.comb_moved WHERE root
		UNION ALL SELECT format('ALTER TABLE %1$s ALTER %2$I DROP NOT NULL; ALTER TABLE %1$s RENAME %2$I TO %3$I; ALTER TABLE %1$s RENAME %4$I TO %2$I',
			name, col, old, new) FROM pg_temp.comb_moved
		UNION ALL SELECT format('ALTER TABLE %s RENAME CONSTRAINT %I TO %I', name, n.conname, o.conname)
		FROM pg_temp.comb_moved JOIN pg_constraint AS o ON o.contype = 'n' AND o.conrelid = tab AND o.conkey = ARRAY[attnum] JOIN pg_attribute AS a ON attrelid = tab
			AND attname = new
			JOIN pg_constraint AS n ON n.contype = 'n' AND n.conrelid = tab AND n.conkey = ARRAY[a.attnum]
		UNION ALL SELECT CASE kind WHEN 'p' THEN format('ALTER TABLE %s ADD CONSTRAINT %I PRIMARY KEY USING INDEX %I', name, object, new)
			WHEN 'u' THEN format('ALTER TABLE %s ADD CONSTRAINT %I UNIQUE USING INDEX %I', name, object, new) WHEN 'i'
				THEN format('ALTER INDEX %I.%I RENAME TO %I', nspname, new, object)
			WHEN 's' THEN format('ALTER STATISTICS %I.%I RENAME TO %I', nspname, new, object) ELSE format('ALTER TABLE %s RENAME CONSTRAINT %I TO %I', name, new, object) END
		FROM pg_temp.comb_like WHERE problem IS NULL
		UNION ALL SELECT format('ALTER TABLE %s CLUSTER ON %I', name, object) FROM pg_temp.comb_like JOIN pg_index ON indexrelid = index AND indisclustered
			WHERE kind IN ('p', 'u', 'i') AND problem IS NULL
		UNION ALL SELECT format('ALTER INDEX %I.%I ALTER COLUMN %s SET STATISTICS %s', nspname, object, attnum, attstattarget) FROM pg_temp.comb_like
			JOIN pg_attribute ON attrelid = index AND attstattarget >= 0
		WHERE kind IN ('p', 'u', 'i') AND problem IS NULL
		UNION ALL SELECT format('ALTER STATISTICS %I.%I SET STATISTICS %s', nspname, object, stxstattarget) FROM pg_temp.comb_like AS l
			JOIN pg_statistic_ext AS s ON s.oid = l.oid AND stxstattarget >= 0 WHERE kind = 's' AND problem IS NULL
		UNION ALL SELECT format('COMMENT ON INDEX %I.%I IS %L', nspname, object, obj_description(index, 'pg_class')) FROM pg_temp.comb_like
			WHERE kind IN ('p', 'u', 'i') AND problem IS NULL AND obj_description(index, 'pg_class') IS NOT NULL
		UNION ALL SELECT format(CASE kind WHEN 's' THEN 'COMMENT ON STATISTICS %1$I.%2$I IS %4$L' ELSE 'COMMENT ON CONSTRAINT %2$I ON %3$s IS %4$L' END, nspname,
			object, name, comment)
		FROM pg_temp.comb_like AS l, obj_description(l.oid, CASE kind WHEN 's' THEN 'pg_statistic_ext' ELSE 'pg_constraint' END) AS comment WHERE kind <> 'i'
			AND problem IS NULL AND comment IS NOT NULL
		UNION ALL SELECT format('GRANT %s (%I) ON %s TO %s%s', p.privilege_type, col, name, CASE p.grantee WHEN 0 THEN 'PUBLIC' ELSE p.grantee::regrole::text END, CASE
			WHEN p.is_grantable THEN ' WITH GRANT OPTION' END)
		FROM pg_temp.comb_moved AS m JOIN pg_attribute AS a ON a.attrelid = tab AND a.attnum = m.attnum, aclexplode(a.attacl) AS p
		UNION ALL SELECT format('COMMENT ON COLUMN %s.%I IS %L; COMMENT ON COLUMN %1$s.%4$I IS %5$L',
			name, col, col_description(tab, attnum), old, 'old, after migrate_online.sql') FROM pg_temp.comb_moved;
	\if :has_files
	\else
		CALL pg_temp.refuse_dependents();
	\endif
	BEGIN;
	CALL pg_temp.lock(:'tables', 'ACCESS EXCLUSIVE');
	\if :has_before
		SELECT set_config('search_path', current_setting('comb.path'), false) AS "unused" \gset
		\i :before
		SET search_path = pg_catalog, pg_temp;
	\endif
	SELECT statement FROM pg_temp.comb_swap ORDER BY n \gexec
	\if :has_after
		SELECT set_config('search_path', current_setting('comb.path'), false) AS "unused" \gset
		\i :after
		SET search_path = pg_catalog, pg_temp;
	\endif
	CALL pg_temp.refuse_dependents();
	COMMIT;
	\echo 'Swapped. When nobody needs the old columns, run the step drop.'
\endif

\if :drop
	SELECT 'BEGIN', format('CALL pg_temp.lock(%L, %L)', ARRAY[name], 'ACCESS EXCLUSIVE'), format('ALTER TABLE %s DROP COLUMN IF EXISTS %I', name, old), 'COMMIT'
		FROM pg_temp.comb_moved \gexec
\endif

\if :undo
	SELECT 'BEGIN', format('CALL pg_temp.lock(%L, %L)', ARRAY[confrelid::regclass, conrelid::regclass], 'ACCESS EXCLUSIVE'), format('ALTER TABLE %s DROP CONSTRAINT %I',
		conrelid::regclass, conname), 'COMMIT'
	FROM pg_constraint WHERE contype = 'f' AND starts_with(conname, format('zz_new_%s_', :root)) AND conrelid IN (SELECT tab FROM pg_temp.comb_moved) \gexec
	SELECT 'BEGIN', format('CALL pg_temp.lock(%L, %L)', ARRAY[tgrelid::regclass::text], 'ACCESS EXCLUSIVE'),
		format('DROP TRIGGER %I ON %s', tgname, tgrelid::regclass), format('DROP FUNCTION %s()', tgfoid::regproc),
		(SELECT format('ALTER TABLE %s %s', tgrelid::regclass, string_agg(format('DROP COLUMN %I', attname), ', ')) FROM pg_attribute AS a WHERE attrelid = tgrelid
			AND col_description(tgrelid, attnum) = 'new key of ' || :'parent'), 'COMMIT'
	FROM pg_trigger WHERE tgname = 'zz_new_' || :root ORDER BY tgrelid = :root \gexec
\endif
