/*
 * sql/portable/pg_comb_feed.sql
 *
 * Bounds for readers of new rows, for keys from sequences, clocks and uuidv7().
 * doc/feed_anywhere.md says how to use them, and what is promised.
 *
 * The file needs PostgreSQL 15 or later and CREATE on the first schema of search_path,
 * where only you may create; no superuser, no extension, no other file.  It works with
 * any search_path: bodies in SQL are parsed here, those in PL/pgSQL use pg_catalog alone.
 * DROP TABLE comb_feed CASCADE drops everything, and the views that use it.
 *
 * A writer locks before it draws a key: nextval() its sequence, and a command its table.
 * Its commit is visible before the lock goes.  So read a candidate first, and then who
 * holds this lock.  When none of them holds it any more, all who drew smaller keys have
 * ended, and the candidate becomes the bound.  Whoever sees the bound sees their rows.
 */
CREATE TABLE comb_feed (
	source regclass PRIMARY KEY, name text NOT NULL, margin interval NOT NULL CHECK (margin >= '0'),
	number bigint, at timestamptz NOT NULL DEFAULT '-infinity',
	next_number bigint, next_at timestamptz, writers text[]
) WITH (fillfactor = 10);
COMMENT ON TABLE comb_feed IS 'bounds: rows below are visible, or will never be; and candidates for the next bounds';
COMMENT ON COLUMN comb_feed.number IS 'bound of a sequence, NULL for a table';
COMMENT ON COLUMN comb_feed.at IS 'bound of a table, time of a sequence''s bound';
COMMENT ON COLUMN comb_feed.writers IS 'virtual transactions that must end before next_number and next_at become the bound';

CREATE FUNCTION comb_feed_refuse(source regclass, what text) RETURNS comb_feed
	LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$ BEGIN
	IF what = 'subscriber' OR what = 'bound' AND pg_is_in_recovery() THEN
		RAISE 'bounds do not move on a %', CASE what WHEN 'bound' THEN 'standby' ELSE what END USING ERRCODE = 'object_not_in_prerequisite_state',
			HINT = 'Call the function where the rows are written. The bounds arrive with them.';
	ELSIF what = 'bound' AND current_setting('transaction_isolation') NOT LIKE 'read %' THEN
		RAISE 'bounds do not move in a % transaction', upper(current_setting('transaction_isolation'))
			USING ERRCODE = 'invalid_transaction_state', HINT = 'Call the function in a READ COMMITTED transaction.',
			DETAIL = 'The transaction would see its new bound, and not all rows below.';
	END IF;
	RAISE 'comb_feed has no % for "%"', what, source USING ERRCODE = 'undefined_object',
		HINT = 'Call comb_feed_add() with the sequence of numbers, or with the table of times and uuids.';
END $$;
COMMENT ON FUNCTION comb_feed_refuse IS 'error of a bound that does not move, or that a source does not have';

CREATE FUNCTION comb_feed_next(f comb_feed, strict boolean) RETURNS comb_feed
	LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$ DECLARE
	kind "char" := (SELECT relkind FROM pg_class WHERE oid = f.source);
	reading text := format('SELECT ARRAY[last_value + is_called::int, log_cnt] FROM %s', f.source);
	seen bigint[]; seen_before bigint[]; busy boolean; number bigint; at timestamptz; holders text[]; wrong text;
BEGIN
	FOR reading_no IN 1 .. CASE kind WHEN 'S' THEN 2 ELSE 1 END LOOP
		SELECT seen, holders IS NOT NULL INTO seen_before, busy;
		-- The candidate first ...
		IF kind = 'S' THEN EXECUTE reading INTO seen; number := seen[1]; END IF;
		at := clock_timestamp() - CASE kind WHEN 'S' THEN interval '0' ELSE f.margin END;
		-- ... and the holders of the lock second.  A partition's rows come through its parents, too.
		WITH RECURSIVE up (id) AS (SELECT f.source::oid UNION SELECT inhparent FROM pg_inherits JOIN up ON inhrelid = id),
			down (id) AS (SELECT f.source::oid UNION SELECT inhrelid FROM pg_inherits JOIN down ON inhparent = id)
		SELECT array_agg(DISTINCT l.virtualtransaction) INTO holders FROM pg_locks AS l
		WHERE l.locktype = 'relation' AND l.mode = 'RowExclusiveLock' AND l.granted
			AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
			AND l.relation IN (SELECT id FROM up UNION SELECT id FROM down);
	END LOOP;
	-- Asked after the readings, because numbers in a session's cache are inserted later
	SELECT CASE WHEN relkind NOT IN ('S', 'r', 'p') OR relpersistence <> 'p' THEN 'is not a permanent sequence or table'
			WHEN seqcache > 1 THEN 'has CACHE ' || seqcache WHEN seqcycle THEN 'has CYCLE'
			WHEN seqincrement <> 1 THEN 'has INCREMENT ' || seqincrement END
		INTO wrong FROM pg_class LEFT JOIN pg_sequence ON seqrelid = oid WHERE oid = f.source;
	IF NOT FOUND THEN
		RAISE 'the source "%" of comb_feed is gone', f.name USING ERRCODE = 'undefined_table',
			HINT = format('DELETE FROM comb_feed WHERE name = %L', f.name);
	ELSIF wrong IS NOT NULL THEN
		RAISE 'there is no bound for "%": it %', f.name, wrong USING ERRCODE = 'feature_not_supported',
			HINT = 'A sequence needs CACHE 1, NO CYCLE and INCREMENT 1. Otherwise give the table '
				'a column DEFAULT clock_timestamp(), and call comb_feed_add() with the table.';
	ELSIF number < greatest(f.number, f.next_number) OR kind <> 'S' AND at + f.margin < greatest(f.at, f.next_at) THEN
		RAISE 'the % is behind the bound of "%"', CASE kind WHEN 'S' THEN 'sequence' ELSE 'clock' END, f.name
			USING ERRCODE = 'object_not_in_prerequisite_state',
			DETAIL = 'It was set back. New rows are below the bound, and can come behind a reader.',
			HINT = format('DELETE FROM comb_feed WHERE name = %L, call comb_feed_add(), and let readers begin again.', f.name);
	END IF;
	-- While nextval() writes WAL, SELECT sees a number 32 too large with log_cnt = 0.  If both readings saw
	-- that, its writer held the lock between them, because a sequence comes to the larger number only later.
	IF seen <> seen_before OR seen[2] = 0 AND busy THEN number := number - 32; END IF;
	-- A transaction prepared before a restart has -1 in place of its session.
	IF EXISTS (SELECT FROM unnest(holders) AS h WHERE h = ANY (f.writers) OR h LIKE '-1/%' AND f.writers IS NOT NULL)
		OR f.writers IS NULL AND (number <= f.number AND at < f.at + interval '1 minute' OR kind <> 'S' AND at <= f.at) THEN
		RETURN f;	-- waits, or has nothing new
	END IF;
	f.number := greatest(f.number, f.next_number, CASE WHEN holders IS NULL THEN number END);
	f.at := greatest(f.at, f.next_at, CASE WHEN holders IS NULL THEN at END);
	f.next_number := CASE WHEN holders IS NOT NULL THEN number END;
	f.next_at := CASE WHEN holders IS NOT NULL THEN at END;
	f.writers := holders;
	RETURN f;
EXCEPTION WHEN OTHERS THEN
	IF strict THEN RAISE; END IF;
	GET STACKED DIAGNOSTICS wrong = PG_EXCEPTION_HINT;
	RAISE WARNING USING ERRCODE = SQLSTATE, MESSAGE = SQLERRM, HINT = wrong;
	RETURN f;
END $$;
COMMENT ON FUNCTION comb_feed_next IS 'what the row of a source becomes now; strict: errors instead of warnings';

CREATE FUNCTION comb_feed_advance(source regclass DEFAULT NULL) RETURNS integer LANGUAGE sql
BEGIN ATOMIC
	SELECT comb_feed_refuse($1, 'subscriber') FROM pg_subscription_rel WHERE srrelid = 'comb_feed'::regclass;
	SELECT comb_feed_refuse($1, 'bound') WHERE pg_is_in_recovery() OR current_setting('transaction_isolation') NOT LIKE 'read %'
		OR $1 IS NOT NULL AND NOT EXISTS (SELECT FROM comb_feed AS f WHERE f.source = $1);
	-- Nobody waits, and only a caller whose row nobody else has moved meanwhile writes.
	WITH step AS MATERIALIZED (SELECT was, comb_feed_next(was, $1 IS NOT NULL) AS now
		FROM comb_feed AS was WHERE was.source = $1 OR $1 IS NULL),
	mine AS MATERIALIZED (SELECT f.number, f.at, s.now FROM step AS s
		JOIN comb_feed AS f ON f = s.was WHERE s.was <> s.now FOR UPDATE OF f SKIP LOCKED),
	moved AS (UPDATE comb_feed AS f SET (number, at, next_number, next_at, writers)
		= ROW ((m.now).number, (m.now).at, (m.now).next_number, (m.now).next_at, (m.now).writers)
		FROM mine AS m WHERE f.source = (m.now).source RETURNING f.number > m.number OR f.number IS NULL AND f.at > m.at AS up)
	SELECT count(*)::integer FROM moved WHERE up;
END;
COMMENT ON FUNCTION comb_feed_advance IS 'move the bound of a source, or of all, and return how many bounds are larger now';

CREATE FUNCTION comb_feed_add(source regclass, margin interval DEFAULT '1 second') RETURNS void LANGUAGE sql
BEGIN ATOMIC
	INSERT INTO comb_feed (source, name, margin, number)
		SELECT c.oid, format('%I.%I', nspname, relname), $2, CASE relkind WHEN 'S' THEN -9223372036854775808 END
		FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = relnamespace WHERE c.oid = $1
		ON CONFLICT (source) DO UPDATE SET margin = excluded.margin;
	SELECT comb_feed_advance($1);
END;
COMMENT ON FUNCTION comb_feed_add IS 'follow a sequence, or the clock of a table, which may be set back by less than the margin';

CREATE FUNCTION comb_feed_number(source regclass) RETURNS bigint LANGUAGE sql STABLE PARALLEL SAFE RETURN
	coalesce((SELECT number FROM comb_feed AS f WHERE f.source = $1), (comb_feed_refuse($1, 'number')).number);
COMMENT ON FUNCTION comb_feed_number IS 'bound of a sequence: id < comb_feed_number(...)';
CREATE FUNCTION comb_feed_time(source regclass) RETURNS timestamptz LANGUAGE sql STABLE PARALLEL SAFE RETURN
	coalesce((SELECT at FROM comb_feed AS f WHERE f.source = $1 AND number IS NULL), (comb_feed_refuse($1, 'time')).at);
COMMENT ON FUNCTION comb_feed_time IS 'bound of a table''s times: created_at < comb_feed_time(...)';
CREATE FUNCTION comb_feed_uuid(source regclass) RETURNS uuid LANGUAGE sql STABLE PARALLEL SAFE RETURN
	rpad(lpad(to_hex(floor(1000 * extract(epoch FROM greatest(comb_feed_time(source), 'epoch')))::bigint), 12, '0'), 32, '0')::uuid;
COMMENT ON FUNCTION comb_feed_uuid IS 'bound of a table''s UUIDv7: id < comb_feed_uuid(...)';

CREATE VIEW comb_feed_status AS
SELECT f.source, f.name, clock_timestamp() - f.at AS age, w.pid, p.gid, coalesce(a.usename, p.owner) AS usename,
	coalesce(a.xact_start, p.prepared) AS since, a.state, a.query
FROM comb_feed AS f
	LEFT JOIN LATERAL (SELECT DISTINCT l.pid, l.virtualtransaction AS id FROM pg_locks AS l
		WHERE f.writers IS NOT NULL AND l.mode = 'RowExclusiveLock' AND l.granted AND (l.virtualtransaction = ANY (f.writers)
			OR l.virtualtransaction LIKE '-1/%' AND (l.relation = f.source OR f.number IS NULL))) AS w ON true
	LEFT JOIN pg_stat_activity AS a ON a.pid = w.pid
	LEFT JOIN (pg_locks AS x JOIN pg_prepared_xacts AS p ON p.transaction = x.transactionid)
		ON x.virtualtransaction = w.id AND x.locktype = 'transactionid' AND w.pid IS NULL AND x.pid IS NULL;
COMMENT ON VIEW comb_feed_status IS 'how old each bound is, and which sessions and prepared transactions it waits for';
