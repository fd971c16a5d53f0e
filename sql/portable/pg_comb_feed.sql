/*
 * sql/portable/pg_comb_feed.sql
 *
 * Bounds for readers of new rows, for keys from sequences, clocks and uuidv7().
 * doc/feed_anywhere.md says how to use them, and what is promised.
 *
 * The file needs PostgreSQL 15 or later and CREATE on the first schema of search_path,
 * where only you may create; no superuser, no extension, no other file.  It works with
 * any search_path: bodies in SQL are parsed here, those in PL/pgSQL use pg_catalog alone.
 * Outside of strings it has no $1, because Flyway takes that for a quote.
 * Run it again, in one transaction, to go to another version: bounds, views and privileges stay.
 * DROP TABLE comb_feed CASCADE drops everything, and the views that use it.
 *
 * A writer locks before it draws a key: nextval() its sequence, and a command its table.
 * Its commit is visible before the lock goes.  So read a candidate first, and then who
 * holds this lock.  When none of them holds it any more, all who drew smaller keys have
 * ended, and the candidate becomes the bound.  Whoever sees the bound sees their rows.
 */
DO $$ BEGIN	-- Bodies must find no operators of strangers in other schemas
	PERFORM pg_catalog.set_config('comb_feed.search_path', pg_catalog.current_setting('search_path'), true),
		pg_catalog.set_config('search_path', coalesce(pg_catalog.quote_ident(current_schema), ''), true),
		-- What is skipped is no news
		pg_catalog.set_config('comb_feed.messages', pg_catalog.current_setting('client_min_messages'), true),
		pg_catalog.set_config('client_min_messages', 'warning', true);
	-- CREATE OR REPLACE would leave a function to a stranger
	IF EXISTS (SELECT FROM pg_namespace AS n JOIN (SELECT relnamespace, relowner, relname FROM pg_class
			UNION ALL SELECT pronamespace, proowner, proname FROM pg_proc) AS made (namespace, owner, name) ON n.oid = namespace
		WHERE nspname = current_schema AND name LIKE 'comb\_feed%' AND pg_get_userbyid(owner) <> current_user) THEN
		RAISE 'comb_feed belongs to another role' USING ERRCODE = 'insufficient_privilege',
			HINT = 'Run the file as the owner of all that is called comb_feed..., or with another schema first in search_path.';
	END IF;
END $$;
DO $$ BEGIN	-- The settings of the first block last until the transaction ends
	IF coalesce(current_setting('comb_feed.messages', true), '') = '' THEN
		RAISE 'pg_comb_feed.sql runs in one transaction only' USING ERRCODE = 'no_active_sql_transaction', HINT = 'Run it by psql -1.';
	END IF;
END $$;
CREATE TABLE IF NOT EXISTS comb_feed (
	source regclass PRIMARY KEY, name text NOT NULL, margin interval NOT NULL CHECK (margin >= '0'),
	number bigint, at timestamptz NOT NULL DEFAULT '-infinity',
	next_number bigint, next_at timestamptz, writers text[]
) WITH (fillfactor = 10);
COMMENT ON TABLE comb_feed IS 'pg_comb 1.2.0: bounds, below which rows are visible, or will never be; and candidates for the next bounds';
COMMENT ON COLUMN comb_feed.number IS 'bound of a sequence, NULL for a table';
COMMENT ON COLUMN comb_feed.at IS 'bound of a table, time of a sequence''s bound';
COMMENT ON COLUMN comb_feed.writers IS 'virtual transactions that must end before next_number and next_at become the bound';

CREATE OR REPLACE FUNCTION comb_feed_refuse(source regclass, what text) RETURNS comb_feed
	LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$ BEGIN
	IF what = 'subscriber' OR what = 'bound' AND pg_is_in_recovery() THEN
		RAISE 'bounds do not move on a %', CASE what WHEN 'bound' THEN 'standby' ELSE what END USING ERRCODE = 'object_not_in_prerequisite_state',
			HINT = 'Call the function where the rows are written. The bounds arrive with them.';
	ELSIF what = 'bound' AND current_setting('transaction_isolation') NOT LIKE 'read %' THEN
		RAISE 'bounds do not move in a % transaction', upper(current_setting('transaction_isolation'))
			USING ERRCODE = 'invalid_transaction_state', HINT = 'Call the function in a READ COMMITTED transaction.',
			DETAIL = 'The transaction would see its new bound, and not all rows below.';
	ELSIF what = 'position' THEN
		RAISE 'there are no positions on a standby' USING ERRCODE = 'object_not_in_prerequisite_state',
			DETAIL = 'Its snapshots do not list the transactions that are open.', HINT = 'Call the function on the primary.';
	ELSIF what = 'argument' THEN
		RAISE 'comb_feed_add() needs a sequence or a table, and no negative margin' USING ERRCODE = 'invalid_parameter_value',
			HINT = 'pg_get_serial_sequence(''table'', ''column'') names the sequence of a column.';
	ELSIF what LIKE '% DEFAULT%' THEN
		RAISE WARNING 'readers of "%" by % lose rows', source, what
			USING HINT = 'A column to read by needs the type timestamptz and DEFAULT clock_timestamp(), or a uuid of the server''s clock. '
				'Call comb_feed_add() after the change.';
		RETURN NULL;
	END IF;
	RAISE 'comb_feed has no % for "%"', what, source USING ERRCODE = 'undefined_object',
		HINT = 'Call comb_feed_add() with the sequence of numbers, or with the table of times and uuids.';
END $$;
COMMENT ON FUNCTION comb_feed_refuse IS 'error of a bound that does not move, or that a source does not have, and warning of a default';

CREATE OR REPLACE FUNCTION comb_feed_next(feeds comb_feed[], strict boolean) RETURNS comb_feed[]
	LANGUAGE plpgsql VOLATILE STRICT SET search_path = pg_catalog, pg_temp SET lock_timeout = '100ms'
AS $$ DECLARE
	now timestamptz := clock_timestamp(); numbers bigint[]; data record; s record; hint text; denied integer := 0;
BEGIN
	-- The candidates first ...  By OID, because the owner of a sequence can give its name to a view that runs code of his.
	FOR i IN 1 .. cardinality(feeds) LOOP BEGIN
		CONTINUE WHEN feeds[i].number IS NULL;
		IF current_setting('server_version_num')::integer >= 180000 THEN
			data := pg_get_sequence_data(feeds[i].source);
			numbers[i] := data.last_value + data.is_called::integer;
		ELSE	-- NULL before the first number.  It keeps the lock of a writer.
			numbers[i] := coalesce(pg_sequence_last_value(feeds[i].source) + 1, feeds[i].next_number, feeds[i].number);
		END IF;
	EXCEPTION WHEN OTHERS THEN	-- Locked longer than lock_timeout, which is shorter than deadlock_timeout, or gone: see below.
	END; END LOOP;
	-- ... and the holders of the locks second.  A partition's rows come through its parents, too, and with a parent's other
	-- locks while it is attached.  This transaction is left out: its rows and its bounds become visible at once.
	FOR s IN WITH RECURSIVE
		up (source, id) AS (SELECT f.source, f.source::oid FROM unnest(feeds) AS f
			UNION SELECT source, inhparent FROM up JOIN pg_inherits ON inhrelid = id),
		down (source, id) AS (SELECT f.source, f.source::oid FROM unnest(feeds) AS f
			UNION SELECT source, inhrelid FROM down JOIN pg_inherits ON inhparent = id),
		tree AS MATERIALIZED (SELECT source, id, relkind FROM (TABLE up UNION TABLE down) AS t JOIN pg_class ON oid = id),
		-- A transaction prepared before a restart has -1 in place of its session.
		held (source, holders, recovered) AS (SELECT source, array_agg(DISTINCT virtualtransaction), bool_or(virtualtransaction LIKE '-1/%')
			FROM tree JOIN pg_locks ON relation = id
			WHERE database = (SELECT oid FROM pg_database WHERE datname = current_database())
				AND granted AND pid IS DISTINCT FROM pg_backend_pid()
				AND (mode = 'RowExclusiveLock' OR relkind = 'p' AND mode LIKE '%ExclusiveLock')
			GROUP BY source)
		-- CACHE is asked after the candidates, because numbers in a session's cache are inserted later
		SELECT f.*, holders, recovered, numbers[ordinality] AS candidate, now - CASE WHEN f.number IS NULL THEN margin ELSE '0' END AS time, oid,
			CASE WHEN relkind NOT IN ('S', 'r', 'p') OR relpersistence <> 'p' THEN 'is not a permanent sequence or table'
				WHEN seqcache > 1 THEN 'has CACHE ' || seqcache WHEN seqcycle THEN 'has CYCLE'
				WHEN seqincrement <> 1 THEN 'has INCREMENT ' || seqincrement END AS wrong
		FROM unnest(feeds) WITH ORDINALITY AS f LEFT JOIN held USING (source)
			LEFT JOIN pg_class ON oid = f.source LEFT JOIN pg_sequence ON seqrelid = oid
	LOOP BEGIN
		IF s.oid IS NULL THEN
			RAISE 'the source "%" of comb_feed is gone', s.name USING ERRCODE = 'undefined_table',
				HINT = format('SELECT comb_feed_remove(%L)', s.source);
		ELSIF s.wrong IS NOT NULL THEN
			RAISE 'there is no bound for "%": it %', s.name, s.wrong USING ERRCODE = 'feature_not_supported',
				HINT = 'A sequence needs CACHE 1, NO CYCLE and INCREMENT 1. Otherwise give the table '
					'a column DEFAULT clock_timestamp(), and call comb_feed_add() with the table.';
		ELSIF s.number IS NOT NULL AND s.candidate IS NULL THEN
			IF has_sequence_privilege(s.oid, 'SELECT') THEN
				RAISE 'the sequence "%" is locked', s.name USING ERRCODE = 'lock_not_available', HINT = 'Call again.';
			END IF;
			RAISE 'permission denied for sequence "%"', s.name USING ERRCODE = 'insufficient_privilege',
				HINT = format('GRANT SELECT ON SEQUENCE %s TO %I', s.source, current_user);
		ELSIF s.candidate < greatest(s.number, s.next_number) OR s.number IS NULL AND now < greatest(s.at, s.next_at) THEN
			RAISE 'the % is behind the bound of "%"', CASE WHEN s.number IS NULL THEN 'clock' ELSE 'sequence' END, s.name
				USING ERRCODE = 'object_not_in_prerequisite_state',
				DETAIL = 'It was set back. New rows are below the bound, and can come behind a reader.',
				HINT = format('SELECT comb_feed_remove(%L), call comb_feed_add(), and let readers begin again.', s.source);
		END IF;
		CONTINUE WHEN s.holders && s.writers OR s.recovered AND s.writers IS NOT NULL
			OR s.writers IS NULL AND (s.candidate <= s.number AND now < s.at + interval '1 minute' OR s.number IS NULL AND s.time <= s.at);
		feeds[s.ordinality].number := greatest(s.number, s.next_number, CASE WHEN s.holders IS NULL THEN s.candidate END);
		feeds[s.ordinality].at := greatest(s.at, s.next_at, CASE WHEN s.holders IS NULL THEN s.time END);
		feeds[s.ordinality].next_number := CASE WHEN s.holders IS NOT NULL THEN s.candidate END;
		feeds[s.ordinality].next_at := CASE WHEN s.holders IS NOT NULL THEN s.time END;
		feeds[s.ordinality].writers := s.holders;
	EXCEPTION WHEN OTHERS THEN
		denied := denied + (SQLSTATE = '42501')::integer;
		IF strict OR denied = cardinality(feeds) THEN RAISE; END IF;
		GET STACKED DIAGNOSTICS hint = PG_EXCEPTION_HINT;
		RAISE WARNING USING ERRCODE = SQLSTATE, MESSAGE = SQLERRM, HINT = hint;
	END; END LOOP;
	RETURN feeds;
END $$;

CREATE OR REPLACE FUNCTION comb_feed_advance(source regclass DEFAULT NULL) RETURNS integer LANGUAGE sql
BEGIN ATOMIC
	SELECT comb_feed_refuse(source, 'subscriber') FROM pg_subscription_rel WHERE srrelid = 'comb_feed'::regclass;
	SELECT comb_feed_refuse(source, 'bound') WHERE pg_is_in_recovery() OR current_setting('transaction_isolation') NOT LIKE 'read %'
		OR source IS NOT NULL AND NOT EXISTS (SELECT FROM comb_feed AS f WHERE f.source = comb_feed_advance.source);
	-- No caller waits for another one, and only a caller whose row nobody else has moved meanwhile writes.
	WITH feeds AS MATERIALIZED (SELECT was, comb_feed_next(was, source IS NOT NULL) AS now
		FROM (SELECT array_agg(f) AS was FROM comb_feed AS f WHERE f.source = comb_feed_advance.source OR comb_feed_advance.source IS NULL) AS f),
	step AS (SELECT was[i] AS was, now[i] AS now FROM feeds, generate_subscripts(was, 1) AS i),
	mine AS MATERIALIZED (SELECT f.number, f.at, s.now FROM step AS s
		JOIN comb_feed AS f ON f = s.was WHERE s.was <> s.now FOR UPDATE OF f SKIP LOCKED),
	moved AS (UPDATE comb_feed AS f SET (number, at, next_number, next_at, writers)
		= ROW ((m.now).number, (m.now).at, (m.now).next_number, (m.now).next_at, (m.now).writers)
		FROM mine AS m WHERE f.source = (m.now).source RETURNING f.number > m.number OR f.number IS NULL AND f.at > m.at AS up)
	SELECT count(*)::integer FROM moved WHERE up;
END;
COMMENT ON FUNCTION comb_feed_advance IS 'move the bound of a source, or of all, and return how many bounds are larger now';
DROP FUNCTION IF EXISTS comb_feed_next(comb_feed, boolean);	-- of 1.0
COMMENT ON FUNCTION comb_feed_next IS 'what the rows of sources become now; strict: errors instead of warnings';

CREATE OR REPLACE FUNCTION comb_feed_any(feed comb_feed, place regclass, key name, rows text) RETURNS boolean
	LANGUAGE plpgsql STABLE STRICT SET search_path = pg_catalog, pg_temp
AS $$ DECLARE found boolean; BEGIN
	EXECUTE format('SELECT EXISTS (SELECT FROM ' || rows || ')', place, key, feed.source) INTO found;
	RETURN found;
END $$;
COMMENT ON FUNCTION comb_feed_any IS 'whether a table has rows: 1 is its name, 2 a column, 3 the source';

-- Of a table, below a view or with a sequence: the columns that a reader can go by.  A uuid counts if it is the primary key, and
-- without a right column in the table whatever does not make its values by the server's clock counts as wrong.  Of a table that
-- is read by its number alone nothing else does.
CREATE OR REPLACE FUNCTION comb_feed_check(source regclass, OUT place text, OUT severity text, OUT finding text, OUT advice text)
	RETURNS SETOF record LANGUAGE sql STABLE
BEGIN ATOMIC
	WITH RECURSIVE below (id) AS (
		SELECT comb_feed_check.source::oid
		UNION SELECT d.refobjid FROM below JOIN pg_rewrite AS r ON r.ev_class = id
			JOIN pg_depend AS d ON d.classid = 'pg_rewrite'::regclass AND d.objid = r.oid AND d.refclassid = 'pg_class'::regclass),
	columns AS (
		SELECT c.oid AS id, c.oid::regclass AS name, a.attname, a.atttypid::regtype AS type, a.attnotnull, a.attgenerated, s.source AS sequence,
			pg_get_expr(f.adbin, f.adrelid) AS made, i.main, i.sorted,
			a.atttypid = 'timestamptz'::regtype AND pg_get_expr(f.adbin, f.adrelid) ~ 'clock_timestamp'
				OR a.atttypid = 'uuid'::regtype AND i.main AND pg_get_expr(f.adbin, f.adrelid) ~ '7|comb_generate' AS fit
		FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid
			LEFT JOIN pg_attrdef AS f ON f.adrelid = c.oid AND f.adnum = a.attnum
			LEFT JOIN (pg_depend AS d JOIN comb_feed AS s ON s.source = d.objid AND d.classid = 'pg_class'::regclass AND d.deptype IN ('a', 'i') AND s.number IS NOT NULL)
				ON d.refobjid = c.oid AND d.refobjsubid = a.attnum
			CROSS JOIN LATERAL (SELECT coalesce(bool_or(indisprimary), false) AS main, coalesce(bool_or(indpred IS NULL AND pg_indexam_has_property(relam, 'can_order')), false) AS sorted
				FROM pg_index JOIN pg_class AS x ON x.oid = indexrelid WHERE indrelid = c.oid AND indkey[0] = a.attnum AND indisvalid) AS i
		WHERE c.relkind IN ('r', 'p') AND a.attnum > 0 AND NOT a.attisdropped AND (c.oid IN (SELECT b.id FROM below AS b) OR s.source IN (SELECT b.id FROM below AS b))),
	followed AS (SELECT c.*, f AS feed, has_column_privilege(c.id, c.attname, 'SELECT') AND (c.sequence IS NULL OR has_sequence_privilege(c.sequence, 'SELECT')) AS readable
		FROM columns AS c JOIN comb_feed AS f ON f.source = c.sequence OR c.fit AND f.source = c.id),
	wrong AS (
		SELECT *, sequence IS NULL AND attgenerated = '' AND (id IN (SELECT f.source FROM comb_feed AS f) OR id NOT IN (SELECT f.id FROM followed AS f)) AND (
				NOT coalesce(fit, false) AND (type IN ('timestamp'::regtype, 'timestamptz'::regtype) AND made ~ 'now\(\)|_timestamp\(\)|(CURRENT_|LOCAL)TIMESTAMP'
					OR type = 'uuid'::regtype AND made ~ 'now\(\)')
				OR NOT coalesce(bool_or(fit OR sequence IS NOT NULL) OVER (PARTITION BY id), false) AND type = 'uuid'::regtype AND main
				OR NOT coalesce(bool_or(fit OR sequence IS NOT NULL) OVER (PARTITION BY id), false) AND type = 'timestamp'::regtype AND made IS NULL) AS wrong
		FROM columns)
	SELECT name::text, 'error', format('%s %s %s', attname, type, coalesce('DEFAULT ' || made, 'without DEFAULT')),
			'A column to read by needs the type timestamptz and DEFAULT clock_timestamp(), or a uuid of the server''s clock.'
		FROM wrong WHERE wrong.wrong
	UNION ALL SELECT name::text, 'warning', format('%s is the first column of no index', attname), 'CREATE INDEX CONCURRENTLY'
		FROM followed WHERE NOT sorted
	UNION ALL SELECT name::text, 'warning', format('%s may be NULL, and readers get no such row', attname), 'ALTER TABLE ... SET NOT NULL'
		FROM followed WHERE NOT attnotnull
	UNION ALL SELECT name::text, v.severity, format('%s %s', attname, v.finding), v.advice
		FROM followed, clock_timestamp() AS c, LATERAL (SELECT c + '5 minutes') AS s (soon), LATERAL (VALUES
			('note', 'was not looked at in the rows', 'GRANT SELECT', CASE WHEN NOT readable THEN '(VALUES (1)) AS v' END),
			('error', 'is NULL in some rows, which no reader gets', 'Give these rows values, and SET NOT NULL.',
				CASE WHEN readable AND NOT attnotnull THEN '%1$s WHERE %2$I IS NULL' END),
			('error', 'has values that its sequence has not made yet', 'Move the sequence past them by setval(), and let readers begin again.',
				-- the type of a stranger can have a cast, which runs his code
				CASE WHEN readable AND sorted AND sequence IS NOT NULL AND type = ANY ('{smallint,integer,bigint,numeric}'::regtype[])
					THEN '(SELECT max(%2$I) AS id FROM %1$s) AS s WHERE id > (SELECT last_value FROM %3$s)' END),
			('error', 'has values ahead of the clock, which no reader gets before', 'Give these rows values of the clock.',
				CASE WHEN readable AND sorted AND sequence IS NULL THEN '%1$s WHERE %2$I > ' || quote_literal(CASE type WHEN 'uuid'::regtype
					THEN rpad(lpad(to_hex(floor(1000 * extract(epoch FROM soon))::bigint), 12, '0'), 32, '0') ELSE to_char(soon AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS+00') END) END),
			('warning', 'has uuids of other kinds, which come in no order, or never', 'Give these rows values of the clock.',
				CASE WHEN readable AND sorted AND type = 'uuid'::regtype THEN '((SELECT %2$I AS id FROM %1$s ORDER BY 1 LIMIT 1000)
					UNION ALL (SELECT %2$I FROM %1$s ORDER BY 1 DESC LIMIT 1000)) AS s WHERE substr(id::text, 15, 1) <> ''7''' END)
		) AS v (severity, finding, advice, rows)
		WHERE comb_feed_any(feed, name, attname, v.rows)
	UNION ALL SELECT relid::text, 'warning', format('%s has another default than the table above: %s', a.attname, coalesce(pg_get_expr(adbin, adrelid), 'none')),
			'Give it the same default, for rows that are inserted into the partition.'
		FROM followed, pg_partition_tree(id) JOIN pg_attribute AS a ON attrelid = relid LEFT JOIN pg_attrdef ON adrelid = relid AND adnum = attnum
		WHERE relid <> id AND a.attname = followed.attname AND pg_get_expr(adbin, adrelid) IS DISTINCT FROM made
	UNION ALL SELECT name::text, 'warning', format('%s is left out by the publication %I', columns.attname, pubname), 'Compute it at the subscriber.'
		FROM columns JOIN pg_class AS c ON c.oid = id JOIN pg_namespace AS n ON n.oid = relnamespace
			JOIN pg_publication_tables AS p ON p.schemaname = nspname AND p.tablename = relname
		WHERE attgenerated = 's' AND (current_setting('server_version_num')::integer < 180000 OR columns.attname <> ALL (p.attnames))
	UNION ALL SELECT comb_feed_check.source::text, 'error', 'no bound follows it', 'Call comb_feed_add() with the sequence of numbers, or with the table of times and uuids.'
		WHERE NOT EXISTS (SELECT FROM below JOIN comb_feed AS f ON f.source = id
			UNION ALL SELECT FROM below, pg_depend AS d JOIN comb_feed AS f ON f.source = d.objid WHERE d.refobjid = id AND d.classid = 'pg_class'::regclass)
	UNION ALL SELECT f.name, 'warning', format('its bound is %s old', date_trunc('second', now() - f.at)), 'Call comb_feed_advance(), and look at comb_feed_status.'
		FROM comb_feed AS f WHERE at > '-infinity' AND f.at + f.margin < now() - interval '2 minutes'
			AND f.source IN (SELECT b.id FROM below AS b UNION ALL SELECT c.sequence FROM followed AS c);
END;
COMMENT ON FUNCTION comb_feed_check IS 'what could make readers of a sequence, a table or a view lose rows or wait';

CREATE OR REPLACE FUNCTION comb_feed_add(source regclass, margin interval DEFAULT '1 second') RETURNS void LANGUAGE sql
BEGIN ATOMIC
	SELECT comb_feed_refuse(source, 'argument') WHERE source IS NULL OR margin IS NULL OR margin < '0';
	INSERT INTO comb_feed (source, name, margin, number)
		SELECT c.oid, format('%I.%I', nspname, relname), margin, CASE relkind WHEN 'S' THEN -9223372036854775808 END
		FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = relnamespace WHERE c.oid = source
		ON CONFLICT (source) DO UPDATE SET margin = excluded.margin;
	SELECT comb_feed_refuse(source, finding) FROM comb_feed_check(source) WHERE finding LIKE '% DEFAULT%';
	SELECT comb_feed_advance(source);
END;
COMMENT ON FUNCTION comb_feed_add IS 'follow a sequence, or the clock of a table, which may be set back by less than the margin';
CREATE OR REPLACE FUNCTION comb_feed_remove(source regclass) RETURNS void LANGUAGE sql
BEGIN ATOMIC
	SELECT comb_feed_refuse(source, 'row') WHERE NOT EXISTS (SELECT FROM comb_feed AS f WHERE f.source = comb_feed_remove.source);
	DELETE FROM comb_feed AS f WHERE f.source = comb_feed_remove.source;
END;
COMMENT ON FUNCTION comb_feed_remove IS 'do not follow a source any longer';

CREATE OR REPLACE FUNCTION comb_feed_number(source regclass) RETURNS bigint LANGUAGE sql STABLE PARALLEL SAFE RETURN
	coalesce((SELECT number FROM comb_feed AS f WHERE f.source = comb_feed_number.source), (comb_feed_refuse(source, 'number')).number);
COMMENT ON FUNCTION comb_feed_number IS 'bound of a sequence: id < comb_feed_number(...)';
CREATE OR REPLACE FUNCTION comb_feed_time(source regclass) RETURNS timestamptz LANGUAGE sql STABLE PARALLEL SAFE RETURN
	coalesce((SELECT at FROM comb_feed AS f WHERE f.source = comb_feed_time.source AND number IS NULL), (comb_feed_refuse(source, 'time')).at);
COMMENT ON FUNCTION comb_feed_time IS 'bound of a table''s times: created_at < comb_feed_time(...)';
CREATE OR REPLACE FUNCTION comb_feed_uuid(source regclass) RETURNS uuid LANGUAGE sql STABLE PARALLEL SAFE RETURN
	rpad(lpad(to_hex(floor(1000 * extract(epoch FROM greatest(comb_feed_time(source), 'epoch')))::bigint), 12, '0'), 32, '0')::uuid;
COMMENT ON FUNCTION comb_feed_uuid IS 'bound of a table''s UUIDv7: id < comb_feed_uuid(...)';

-- A snapshot lacks the transaction that asks, and on a standby all, as after a promotion one made before.
-- Both functions are VOLATILE, so that in READ COMMITTED each of their queries gets a new snapshot: the position
-- is found after the wait for a lock in the same statement, and rows are read after both positions are known.
CREATE OR REPLACE FUNCTION comb_feed_position() RETURNS pg_snapshot LANGUAGE sql
BEGIN ATOMIC
	SELECT comb_feed_refuse(NULL, 'position') FROM pg_current_snapshot() AS s WHERE pg_is_in_recovery()
		OR pg_snapshot_xmin(s) < least(pg_snapshot_xmax(s), pg_current_xact_id_if_assigned()) AND NOT EXISTS (SELECT pg_snapshot_xip(s));
	SELECT CASE WHEN own < pg_snapshot_xmax(s) THEN format('%s:%s:%s', least(own, pg_snapshot_xmin(s)), pg_snapshot_xmax(s),
			(SELECT string_agg(id::text, ',' ORDER BY id) FROM (SELECT pg_snapshot_xip(s) UNION SELECT own) AS q (id)))::pg_snapshot ELSE s END
		FROM (SELECT pg_current_snapshot(), pg_current_xact_id_if_assigned()) AS c (s, own);
END;
COMMENT ON FUNCTION comb_feed_position IS 'position of a reader that waits for nobody: which transactions have ended';

-- Two queries instead of OR, and not pg_visible_in_snapshot() alone, so that each plan uses the index.  Row security may
-- need the caller's search_path, so it stays.  By the last argument DROP TABLE comb_feed CASCADE drops the function.
CREATE OR REPLACE FUNCTION comb_feed_between(source anyelement, since pg_snapshot, until pg_snapshot, feed comb_feed DEFAULT NULL)
	RETURNS SETOF anyelement LANGUAGE plpgsql
AS $$ BEGIN
	IF NOT EXISTS (SELECT FROM pg_catalog.pg_type AS t JOIN pg_catalog.pg_attribute ON attrelid OPERATOR(pg_catalog.=) typrelid
		WHERE t.oid OPERATOR(pg_catalog.=) pg_catalog.pg_typeof(source) AND attname OPERATOR(pg_catalog.=) 'comb_xid'
			AND atttypid OPERATOR(pg_catalog.=) 'pg_catalog.xid8'::pg_catalog.regtype) THEN
		RAISE '% has no column comb_xid of the type xid8', pg_catalog.pg_typeof(source) USING ERRCODE = 'undefined_column',
			HINT = 'Add it to the table: comb_xid xid8 NOT NULL DEFAULT pg_current_xact_id()';
	END IF;
	IF pg_catalog.pg_snapshot_xmax(since) OPERATOR(pg_catalog.>) pg_catalog.pg_snapshot_xmax(until) THEN
		RAISE 'the position is ahead of this server' USING ERRCODE = 'object_not_in_prerequisite_state',
			DETAIL = 'It comes from another server, or from before a restored dump or a crash that took transactions back.',
			HINT = 'Begin again with NULL, and drop the rows that the reader has.';
	END IF;
	RETURN QUERY EXECUTE pg_catalog.format('SELECT * FROM %1$s WHERE comb_xid OPERATOR(pg_catalog.>=)
			coalesce(pg_catalog.pg_snapshot_xmax($1), ''0'') AND comb_xid OPERATOR(pg_catalog.<) pg_catalog.pg_snapshot_xmax($2)
			AND pg_catalog.pg_visible_in_snapshot(comb_xid, $2)
		UNION ALL SELECT * FROM %1$s WHERE comb_xid OPERATOR(pg_catalog.=) ANY (ARRAY(SELECT pg_catalog.pg_snapshot_xip($1)))
			AND pg_catalog.pg_visible_in_snapshot(comb_xid, $2)', pg_catalog.pg_typeof(source)) USING since, until;
END $$;
COMMENT ON FUNCTION comb_feed_between IS 'rows of a table, NULL::name, that came between two positions, by its column comb_xid';

CREATE OR REPLACE VIEW comb_feed_status AS
SELECT f.source, f.name, clock_timestamp() - nullif(f.at, '-infinity') AS age, w.pid, p.gid, coalesce(a.usename, p.owner) AS usename,
	coalesce(a.xact_start, p.prepared) AS since, a.state, a.query
FROM comb_feed AS f
	LEFT JOIN LATERAL (SELECT DISTINCT l.pid, l.virtualtransaction AS id FROM pg_locks AS l
		WHERE f.writers IS NOT NULL AND l.mode LIKE '%ExclusiveLock' AND l.locktype = 'relation' AND l.granted AND (l.virtualtransaction = ANY (f.writers)
			OR l.virtualtransaction LIKE '-1/%' AND (l.relation = f.source OR f.number IS NULL))) AS w ON true
	LEFT JOIN pg_stat_activity AS a ON a.pid = w.pid
	LEFT JOIN (pg_locks AS x JOIN pg_prepared_xacts AS p ON p.transaction = x.transactionid)
		ON x.virtualtransaction = w.id AND x.locktype = 'transactionid' AND w.pid IS NULL AND x.pid IS NULL;
COMMENT ON VIEW comb_feed_status IS 'how old each bound is, and which sessions and prepared transactions it waits for';
DO $$ BEGIN	-- for what follows in the caller's transaction
	PERFORM set_config('search_path', coalesce(nullif(current_setting('comb_feed.search_path', true), ''), current_setting('search_path')), true),
		set_config('client_min_messages', coalesce(nullif(current_setting('comb_feed.messages', true), ''), 'notice'), true);
END $$;
