/*
 * sql/portable/pg_comb.sql
 *
 * Functions of pg_comb in SQL and PL/pgSQL, for servers on which nobody can
 * install an extension in C.  doc/installation.md says how to install this file, what
 * is missing, and how to move to the extension.
 *
 * The file needs PostgreSQL 15 or later and the privilege CREATE on the first
 * schema of search_path, and no superuser.  You can run the file again: it then
 * replaces the functions, and keeps what uses them.
 *
 * The functions work with any search_path.  Bodies that the planner inlines, and
 * those that run for each row, name the schema of each function and operator.  The
 * others set a search_path of their own, which takes 1.6 us a call.
 *
 * No body calls a function of this file by its name.  Bodies in SQL are expressions
 * that PostgreSQL has parsed, and what they call stays the same if somebody else makes
 * a function of this name, or if the schema is renamed.
 */

-- CREATE OR REPLACE leaves a function to its owner, who can replace it later, or to the
-- extension, so that a dump would not have it.
DO $owners$
DECLARE
	object text;
	owner text;
BEGIN
	SELECT pg_catalog.pg_describe_object(catalog, made.oid, 0),
			coalesce('extension ' OPERATOR(pg_catalog.||) extname::pg_catalog.text,
				pg_catalog.format('role %I', pg_catalog.pg_get_userbyid(owned_by))) INTO object, owner
	FROM (SELECT 'pg_catalog.pg_proc'::pg_catalog.regclass, oid, proowner, pronamespace
			FROM pg_catalog.pg_proc WHERE pg_catalog.starts_with(proname::pg_catalog.text, 'comb_')
		UNION ALL
		SELECT 'pg_catalog.pg_type'::pg_catalog.regclass, oid, typowner, typnamespace
			FROM pg_catalog.pg_type WHERE typname OPERATOR(pg_catalog.=) 'comb_period'
		UNION ALL
		SELECT 'pg_catalog.pg_operator'::pg_catalog.regclass, oid, oprowner, oprnamespace
			FROM pg_catalog.pg_operator WHERE oprname OPERATOR(pg_catalog.=) ANY ('{<@,@>}'::pg_catalog.name[])
			AND 'pg_catalog.uuid'::pg_catalog.regtype OPERATOR(pg_catalog.=) ANY (ARRAY[oprleft, oprright])
		) AS made (catalog, oid, owned_by, namespace)
		LEFT JOIN (pg_catalog.pg_depend AS d JOIN pg_catalog.pg_extension AS e
				ON e.oid OPERATOR(pg_catalog.=) d.refobjid AND e.extname OPERATOR(pg_catalog.=) 'pg_comb')
			ON d.classid OPERATOR(pg_catalog.=) catalog AND d.objid OPERATOR(pg_catalog.=) made.oid
			AND d.deptype OPERATOR(pg_catalog.=) 'e'
	WHERE namespace OPERATOR(pg_catalog.=) (
			SELECT n.oid FROM pg_catalog.pg_namespace AS n WHERE n.nspname OPERATOR(pg_catalog.=) pg_catalog.current_schema())
		AND (e.oid IS NOT NULL OR pg_catalog.pg_get_userbyid(owned_by) OPERATOR(pg_catalog.<>) CURRENT_USER)
	LIMIT 1;
	IF object IS NOT NULL THEN
		RAISE EXCEPTION USING
			ERRCODE = 'insufficient_privilege',
			MESSAGE = pg_catalog.format('%s belongs to %s', object, owner),
			HINT = 'Drop it, or set search_path to a schema in which only you may create.';
	END IF;
END
$owners$;

-- The operators are declared with this domain, as in the extension.  A column or a
-- view can then stay as it is when the extension comes.
DO $domain$
BEGIN
	IF pg_catalog.current_schema() IS NULL THEN
		RAISE EXCEPTION USING
			ERRCODE = 'invalid_schema_name',
			MESSAGE = 'no schema has been selected to create in',
			HINT = 'Set search_path to the schema for the functions.';
	END IF;
	IF pg_catalog.to_regtype(pg_catalog.format('%I.comb_period', pg_catalog.current_schema())) IS NULL THEN
		CREATE DOMAIN comb_period AS tstzrange;
	END IF;
END
$domain$;

COMMENT ON DOMAIN comb_period IS
	'type of the period in "uuid <@ period"; every tstzrange is a comb_period';

--
-- Keys of a given time, and bounds
--
-- Microseconds since 1970 are the whole seconds and the rest of a second, each as a
-- number that float8 holds exactly.  date_part('epoch', ...) alone is not exact
-- enough.
--

CREATE OR REPLACE FUNCTION comb_at(at timestamptz) RETURNS uuid
	LANGUAGE plpgsql VOLATILE STRICT PARALLEL SAFE
AS $$
DECLARE
	utc timestamp := pg_catalog.timezone(interval '0', at);
	random pg_catalog.bytea := pg_catalog.uuid_send(pg_catalog.gen_random_uuid());
	us bigint;
	tick int;
BEGIN
	IF at OPERATOR(pg_catalog.<) '1970-01-01 00:00:00+00' OR at OPERATOR(pg_catalog.>) '10889-08-02 05:31:50.655999+00' THEN
		RAISE EXCEPTION USING
			ERRCODE = 'datetime_field_overflow',
			MESSAGE = 'timestamp out of range for layout "uuidv7"',
			DETAIL = 'The layout holds times from 1970-01-01 00:00:00+00 to 10889-08-02 05:31:50.655999+00.';
	END IF;
	us := (pg_catalog.date_part('epoch', pg_catalog.date_trunc('second', utc))::bigint OPERATOR(pg_catalog.*) 1000000)
		OPERATOR(pg_catalog.+) (pg_catalog.date_part('microseconds', utc)::bigint OPERATOR(pg_catalog.%) 1000000);

	-- 18 bits: the microseconds of the millisecond, and below them a random byte
	tick := (us OPERATOR(pg_catalog.%) 1000 OPERATOR(pg_catalog.*) 262144 OPERATOR(pg_catalog./) 1000)
		OPERATOR(pg_catalog.+) pg_catalog.get_byte(random, 0);
	random := pg_catalog.set_byte(random, 8, 128 OPERATOR(pg_catalog.|) (tick OPERATOR(pg_catalog.&) 63));
	RETURN pg_catalog.encode(pg_catalog.overlay(random,
		pg_catalog.int8send((us OPERATOR(pg_catalog./) 1000 OPERATOR(pg_catalog.<<) 16)
			OPERATOR(pg_catalog.|) 28672 OPERATOR(pg_catalog.|) (tick OPERATOR(pg_catalog.>>) 6)), 1, 8), 'hex');
END
$$;

COMMENT ON FUNCTION comb_at(timestamptz) IS
	'new UUIDv7 for the given time';

CREATE OR REPLACE FUNCTION comb_stamp(id uuid, at timestamptz) RETURNS uuid
	LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
AS $$
DECLARE
	utc timestamp := pg_catalog.timezone(interval '0', at);
	bytes pg_catalog.bytea := pg_catalog.uuid_send(id);
	us bigint;
BEGIN
	IF at OPERATOR(pg_catalog.<) '1970-01-01 00:00:00+00' OR at OPERATOR(pg_catalog.>) '10889-08-02 05:31:50.655999+00' THEN
		RAISE EXCEPTION USING
			ERRCODE = 'datetime_field_overflow',
			MESSAGE = 'timestamp out of range for layout "uuidv7"',
			DETAIL = 'The layout holds times from 1970-01-01 00:00:00+00 to 10889-08-02 05:31:50.655999+00.';
	END IF;
	us := (pg_catalog.date_part('epoch', pg_catalog.date_trunc('second', utc))::bigint OPERATOR(pg_catalog.*) 1000000)
		OPERATOR(pg_catalog.+) (pg_catalog.date_part('microseconds', utc)::bigint OPERATOR(pg_catalog.%) 1000000);
	bytes := pg_catalog.set_byte(bytes, 6, 112 OPERATOR(pg_catalog.|) (pg_catalog.get_byte(bytes, 6) OPERATOR(pg_catalog.&) 15));
	bytes := pg_catalog.set_byte(bytes, 8, 128 OPERATOR(pg_catalog.|) (pg_catalog.get_byte(bytes, 8) OPERATOR(pg_catalog.&) 63));
	RETURN pg_catalog.encode(pg_catalog.overlay(bytes,
		pg_catalog.substring(pg_catalog.int8send(us OPERATOR(pg_catalog./) 1000), 3), 1, 6), 'hex');
END
$$;

COMMENT ON FUNCTION comb_stamp(uuid, timestamptz) IS
	'the uuid turned into a UUIDv7 of the given time; all other bits stay';

CREATE OR REPLACE FUNCTION comb_min(at timestamptz) RETURNS uuid
	LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	utc timestamp := timezone(interval '0', greatest(at, '1970-01-01 00:00:00+00'));
	ms bigint;
BEGIN
	IF at > '10889-08-02 05:31:50.655+00' THEN
		RETURN 'ffffffff-ffff-ffff-ffff-ffffffffffff';
	END IF;

	-- an instant inside a millisecond is rounded up
	ms := date_part('epoch', date_trunc('second', utc))::bigint * 1000
		+ (date_part('microseconds', utc)::bigint % 1000000 + 999) / 1000;
	RETURN lpad(to_hex(ms), 12, '0') || '70008000000000000000';
END
$$;

COMMENT ON FUNCTION comb_min(timestamptz) IS
	'smallest UUIDv7 whose time is at or after the given one';

CREATE OR REPLACE FUNCTION comb_max(at timestamptz) RETURNS uuid
	LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	utc timestamp := timezone(interval '0', least(at, '10889-08-02 05:31:50.655+00'));
	ms bigint;
BEGIN
	IF at < '1970-01-01 00:00:00+00' THEN
		RETURN '00000000-0000-0000-0000-000000000000';
	END IF;
	ms := date_part('epoch', date_trunc('second', utc))::bigint * 1000
		+ date_part('microseconds', utc)::bigint % 1000000 / 1000;
	RETURN lpad(to_hex(ms), 12, '0') || '7fffbfffffffffffffff';
END
$$;

COMMENT ON FUNCTION comb_max(timestamptz) IS
	'largest UUIDv7 whose time is at or before the given one';

--
-- For pg_partman
--

-- 48 bits of milliseconds are 32 bits that count 65.536 s, and 16 bits that count
-- milliseconds.  Both products are exact in float8, with which PostgreSQL multiplies
-- intervals.  Adding to a timestamp without time zone is immutable.
CREATE OR REPLACE FUNCTION comb_time_decoder(id text) RETURNS timestamptz
	LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	field text := 'x' || encode(substring(uuid_send(left(id, 63)::uuid) FOR 6), 'hex');
BEGIN
	RETURN timezone(interval '0', timestamp '1970-01-01 00:00:00'
		+ left(field, 9)::bit(32)::bigint * interval '65.536 s'
		+ ('x' || right(field, 4))::bit(16)::int * interval '1 ms');
END
$$;

COMMENT ON FUNCTION comb_time_decoder(text) IS
	'time of a partition bound or of a key, given as text, for pg_partman';

--
-- Layouts
--

-- The functions with a layout know two: "uuidv7", so that calls with it can stay as they
-- are, and "behind_v4".  Any other is an error.
CREATE OR REPLACE FUNCTION comb_portable_layout(layout text) RETURNS boolean
	LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF layout IN ('uuidv7', 'behind_v4') THEN
		RETURN layout = 'uuidv7';
	END IF;
	RAISE EXCEPTION USING
		ERRCODE = 'feature_not_supported',
		MESSAGE = format('layout "%s" needs the extension pg_comb', left(layout, 63)),
		HINT = 'The functions of sql/portable support the layouts "uuidv7" and "behind_v4".';
END
$$;

COMMENT ON FUNCTION comb_portable_layout(text) IS
	'true for the layout "uuidv7", false for "behind_v4", an error for any other';

-- A key of behind_v4 has the last 42 bits of a UUIDv7's time and the first 56 of its others:
--
--	24 ones | 24 bits ms | 1000 | 12 bits ms | 10 | 6 bits ms | 56 bits
CREATE OR REPLACE FUNCTION comb_portable_behind_v4(id uuid) RETURNS uuid
	LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
AS $$
DECLARE
	b pg_catalog.varbit := ('x' OPERATOR(pg_catalog.||) pg_catalog.encode(pg_catalog.uuid_send(id), 'hex'))::pg_catalog.bit(128);
BEGIN
	-- bounds before the first time and after the last one
	IF pg_catalog.substring(b, 49, 4) OPERATOR(pg_catalog.<>) B'0111' OR pg_catalog.substring(b, 1, 6) OPERATOR(pg_catalog.<>) B'000000' THEN
		RETURN CASE WHEN id OPERATOR(pg_catalog.>) '00000000-0000-0000-0000-000000000000' THEN 'ffffffff-ffff-ffff-ffff-ffffffffffff' ELSE id END;
	END IF;
	RETURN pg_catalog.encode(pg_catalog.int8send((B'111111111111111111111111' OPERATOR(pg_catalog.||) pg_catalog.substring(b, 7, 24)
			OPERATOR(pg_catalog.||) B'1000' OPERATOR(pg_catalog.||) pg_catalog.substring(b, 31, 12))::pg_catalog.bit(64)::pg_catalog.int8)
		OPERATOR(pg_catalog.||) pg_catalog.int8send((B'10' OPERATOR(pg_catalog.||) pg_catalog.substring(b, 43, 6)
			OPERATOR(pg_catalog.||) pg_catalog.substring(b, 53, 12) OPERATOR(pg_catalog.||) pg_catalog.substring(b, 67, 44))
			::pg_catalog.bit(64)::pg_catalog.int8), 'hex');
END
$$;

COMMENT ON FUNCTION comb_portable_behind_v4(uuid) IS
	'a UUIDv7, or a bound of comb_min() and comb_max(), in the layout "behind_v4"';

-- The way back, of any uuid
CREATE OR REPLACE FUNCTION comb_portable_v7(id uuid) RETURNS uuid
	LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
AS $$
DECLARE
	b pg_catalog.varbit := ('x' OPERATOR(pg_catalog.||) pg_catalog.encode(pg_catalog.uuid_send(id), 'hex'))::pg_catalog.bit(128);
BEGIN
	RETURN pg_catalog.encode(pg_catalog.int8send((B'000000' OPERATOR(pg_catalog.||) pg_catalog.substring(b, 25, 24)
			OPERATOR(pg_catalog.||) pg_catalog.substring(b, 53, 12) OPERATOR(pg_catalog.||) pg_catalog.substring(b, 67, 6)
			OPERATOR(pg_catalog.||) B'0111' OPERATOR(pg_catalog.||) pg_catalog.substring(b, 73, 12))::pg_catalog.bit(64)::pg_catalog.int8)
		OPERATOR(pg_catalog.||) pg_catalog.int8send((B'10' OPERATOR(pg_catalog.||) pg_catalog.substring(b, 85, 44)
			OPERATOR(pg_catalog.||) B'000000000000000000')::pg_catalog.bit(64)::pg_catalog.int8), 'hex');
END
$$;

COMMENT ON FUNCTION comb_portable_v7(uuid) IS
	'a key of the layout "behind_v4" as a UUIDv7';

CREATE OR REPLACE FUNCTION comb_portable_time(at timestamptz) RETURNS timestamptz
	LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
AS $$
BEGIN
	IF at OPERATOR(pg_catalog.<) '1970-01-01 00:00:00+00' OR at OPERATOR(pg_catalog.>) '2109-05-15 07:35:11.103999+00' THEN
		RAISE EXCEPTION USING
			ERRCODE = 'datetime_field_overflow',
			MESSAGE = 'timestamp out of range for layout "behind_v4"',
			DETAIL = 'The layout holds times from 1970-01-01 00:00:00+00 to 2109-05-15 07:35:11.103999+00.';
	END IF;
	RETURN at;
END
$$;

COMMENT ON FUNCTION comb_portable_time(timestamptz) IS
	'the time, if the layout "behind_v4" holds it, else an error';

--
-- What depends on the server's version, and what calls other functions of this file
--
-- EXECUTE puts the schema into the bodies, in place of "@schema@".  The planner
-- inlines most of these functions, and reads their bodies with the search_path of
-- the query.
--
DO $functions$
DECLARE
	create_function text;
	in_schema text := pg_catalog.quote_ident(pg_catalog.current_schema());
	modern boolean := pg_catalog.current_setting('server_version_num')::int OPERATOR(pg_catalog.>=) 180000;

	-- Is the id a UUIDv7, and the same of another version?  In a filter the planner has no
	-- statistics for the test: it takes "<> 0" for true in nearly all rows, and "= 7" in one row of 200.
	is_of text := CASE WHEN modern THEN
		'(coalesce(pg_catalog.uuid_extract_version(id), 0) OPERATOR(pg_catalog.=) %s)'
	ELSE
		'(pg_catalog.get_byte(pg_catalog.uuid_send(id), 6) OPERATOR(pg_catalog.>>) 4 OPERATOR(pg_catalog.=) %s'
		' AND pg_catalog.get_byte(pg_catalog.uuid_send(id), 8) OPERATOR(pg_catalog.>>) 6 OPERATOR(pg_catalog.=) 2)'
	END;
	is_key text := pg_catalog.format(is_of, 7);
	is_behind text := pg_catalog.format(is_of, 8)
		OPERATOR(pg_catalog.||) ' AND id OPERATOR(pg_catalog.>=) ''ffffff00-0000-8000-8000-000000000000''';
	checked text := is_key OPERATOR(pg_catalog.||) '::pg_catalog.int4 OPERATOR(pg_catalog.<>) 0';
BEGIN
	FOREACH create_function IN ARRAY ARRAY[

	-- STRICT would keep the planner from inlining what has a CASE
	CASE WHEN modern THEN $create$
		CREATE OR REPLACE FUNCTION comb_generate() RETURNS uuid
			LANGUAGE sql VOLATILE PARALLEL SAFE
			RETURN pg_catalog.uuidv7()
	$create$ ELSE $create$
		CREATE OR REPLACE FUNCTION comb_generate() RETURNS uuid
			LANGUAGE plpgsql VOLATILE STRICT PARALLEL SAFE
		AS $$
		DECLARE
			at pg_catalog.timestamptz := pg_catalog.clock_timestamp();
			-- float8 is exact until the year 2041, and rounds to a microsecond or two after
			us bigint := pg_catalog.date_part('epoch', at) OPERATOR(pg_catalog.*) 1000000;
			id pg_catalog.uuid := pg_catalog.encode(pg_catalog.overlay(
				pg_catalog.uuid_send(pg_catalog.gen_random_uuid()),
				pg_catalog.int8send((us OPERATOR(pg_catalog./) 1000 OPERATOR(pg_catalog.<<) 16)
					OPERATOR(pg_catalog.|) 28672
					OPERATOR(pg_catalog.|) (us OPERATOR(pg_catalog.%) 1000 OPERATOR(pg_catalog.*) 4096 OPERATOR(pg_catalog./) 1000)), 1, 8), 'hex');
		BEGIN
			-- The next key of this session is larger, because it gets a later
			-- microsecond.  The clock has nearly always moved on by itself.
			LOOP
				EXIT WHEN pg_catalog.clock_timestamp() OPERATOR(pg_catalog.<>) at;
			END LOOP;
			RETURN id;
		END
		$$
	$create$ END,
	$create$
		COMMENT ON FUNCTION comb_generate() IS
			'new UUIDv7, larger than all earlier UUIDv7 of this session unless the clock was set back'
	$create$,

	CASE WHEN modern THEN $create$
		CREATE OR REPLACE FUNCTION comb_timestamp(id uuid) RETURNS timestamptz
			LANGUAGE sql IMMUTABLE PARALLEL SAFE
			RETURN CASE WHEN @key@ THEN pg_catalog.uuid_extract_timestamp(id) END
	$create$ ELSE $create$
		CREATE OR REPLACE FUNCTION comb_timestamp(id uuid) RETURNS timestamptz
			LANGUAGE sql IMMUTABLE PARALLEL SAFE
		RETURN CASE WHEN @key@ THEN
				pg_catalog.timezone('0'::pg_catalog.interval, '1970-01-01 00:00:00'::pg_catalog.timestamp
					OPERATOR(pg_catalog.+)
					(('x' OPERATOR(pg_catalog.||) pg_catalog.encode(pg_catalog.substring(pg_catalog.uuid_send(id), 1, 4), 'hex'))
						::pg_catalog.bit(32)::pg_catalog.int8 OPERATOR(pg_catalog.*) '65.536 s'::pg_catalog.interval)
					OPERATOR(pg_catalog.+)
					(('x' OPERATOR(pg_catalog.||) pg_catalog.encode(pg_catalog.substring(pg_catalog.uuid_send(id), 5, 2), 'hex'))
						::pg_catalog.bit(16)::pg_catalog.int4 OPERATOR(pg_catalog.*) '1 ms'::pg_catalog.interval))
				END
	$create$ END,
	$create$
		COMMENT ON FUNCTION comb_timestamp(uuid) IS
			'time of creation of a UUIDv7, NULL for any other uuid'
	$create$,

	-- Bounds of periods
	$create$
		CREATE OR REPLACE FUNCTION comb_range_min(period tstzrange) RETURNS uuid
			LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
			SET search_path = pg_catalog, pg_temp
		AS $$
		DECLARE
			first timestamptz := coalesce(lower(period), '-infinity');
			last timestamptz := coalesce(upper(period), 'infinity');
			utc timestamp;
			ms bigint;
		BEGIN
			-- the comparisons keep the sums inside the range of timestamptz
			IF NOT lower_inc(period) AND first < '20000-01-01 00:00:00+00' THEN
				first := first + interval '1 us';
			END IF;
			IF NOT upper_inc(period) AND last > '1969-01-01 00:00:00+00' THEN
				last := last - interval '1 us';
			END IF;
			IF isempty(period) OR first > last OR last < '1970-01-01 00:00:00+00' OR first > '10889-08-02 05:31:50.655+00' THEN
				RETURN 'ffffffff-ffff-ffff-ffff-ffffffffffff';
			END IF;
			utc := timezone(interval '0', greatest(first, '1970-01-01 00:00:00+00'));
			ms := date_part('epoch', date_trunc('second', utc))::bigint * 1000
				+ (date_part('microseconds', utc)::bigint % 1000000 + 999) / 1000;
			RETURN lpad(to_hex(ms), 12, '0') || '70008000000000000000';
		END
		$$
	$create$,
	$create$
		COMMENT ON FUNCTION comb_range_min(tstzrange) IS
			'smallest UUIDv7 whose time is in the period; all ones if no UUIDv7 has such a time'
	$create$,
	$create$
		CREATE OR REPLACE FUNCTION comb_range_max(period tstzrange) RETURNS uuid
			LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
			SET search_path = pg_catalog, pg_temp
		AS $$
		DECLARE
			first timestamptz := coalesce(lower(period), '-infinity');
			last timestamptz := coalesce(upper(period), 'infinity');
			utc timestamp;
			ms bigint;
		BEGIN
			IF NOT lower_inc(period) AND first < '20000-01-01 00:00:00+00' THEN
				first := first + interval '1 us';
			END IF;
			IF NOT upper_inc(period) AND last > '1969-01-01 00:00:00+00' THEN
				last := last - interval '1 us';
			END IF;
			IF isempty(period) OR first > last OR last < '1970-01-01 00:00:00+00' OR first > '10889-08-02 05:31:50.655+00' THEN
				RETURN '00000000-0000-0000-0000-000000000000';
			END IF;
			utc := timezone(interval '0', least(last, '10889-08-02 05:31:50.655+00'));
			ms := date_part('epoch', date_trunc('second', utc))::bigint * 1000
				+ date_part('microseconds', utc)::bigint % 1000000 / 1000;
			RETURN lpad(to_hex(ms), 12, '0') || '7fffbfffffffffffffff';
		END
		$$
	$create$,
	$create$
		COMMENT ON FUNCTION comb_range_max(tstzrange) IS
			'largest UUIDv7 whose time is in the period; the nil uuid if no UUIDv7 has such a time'
	$create$,

	-- Was the key made in the period?  The planner puts these bodies in place of the
	-- calls, and the first two conditions use the index.  Where the two are NULL, the
	-- third must not be false.
	$create$
		CREATE OR REPLACE FUNCTION comb_contained(id uuid, period comb_period) RETURNS boolean
			LANGUAGE sql IMMUTABLE PARALLEL SAFE
		RETURN id OPERATOR(pg_catalog.>=) @schema@.comb_range_min(period::pg_catalog.tstzrange)
				AND id OPERATOR(pg_catalog.<=) @schema@.comb_range_max(period::pg_catalog.tstzrange)
				AND (@checked@ OR id IS NULL OR period IS NULL)
	$create$,
	$create$
		COMMENT ON FUNCTION comb_contained(uuid, comb_period) IS
			'implementation of <@ operator'
	$create$,
	$create$
		CREATE OR REPLACE FUNCTION comb_contains(period comb_period, id uuid) RETURNS boolean
			LANGUAGE sql IMMUTABLE PARALLEL SAFE
		RETURN id OPERATOR(pg_catalog.>=) @schema@.comb_range_min(period::pg_catalog.tstzrange)
				AND id OPERATOR(pg_catalog.<=) @schema@.comb_range_max(period::pg_catalog.tstzrange)
				AND (@checked@ OR id IS NULL OR period IS NULL)
	$create$,
	$create$
		COMMENT ON FUNCTION comb_contains(comb_period, uuid) IS
			'implementation of @> operator'
	$create$,
	$create$
		CREATE OR REPLACE FUNCTION comb_created(id uuid, period tstzrange) RETURNS boolean
			LANGUAGE sql IMMUTABLE PARALLEL SAFE
		RETURN id OPERATOR(pg_catalog.>=) @schema@.comb_range_min(period)
				AND id OPERATOR(pg_catalog.<=) @schema@.comb_range_max(period)
				AND (@checked@ OR id IS NULL OR period IS NULL)
	$create$,
	$create$
		COMMENT ON FUNCTION comb_created(uuid, tstzrange) IS
			'is the time of the UUIDv7 in the period? False for any other uuid'
	$create$,
	$create$
		CREATE OR REPLACE FUNCTION comb_during(id uuid, since timestamptz, until timestamptz) RETURNS boolean
			LANGUAGE sql IMMUTABLE PARALLEL SAFE
		RETURN id OPERATOR(pg_catalog.>=) @schema@.comb_range_min(pg_catalog.tstzrange(since, until))
				AND id OPERATOR(pg_catalog.<=) @schema@.comb_range_max(pg_catalog.tstzrange(since, until))
				AND (@checked@ OR id IS NULL)
	$create$,
	$create$
		COMMENT ON FUNCTION comb_during(uuid, timestamptz, timestamptz) IS
			'is the time of the UUIDv7 at or after the first and before the second? NULL for a time means no bound'
	$create$,

	-- The same with a layout
	$create$
		CREATE OR REPLACE FUNCTION comb_generate(layout text) RETURNS uuid
			LANGUAGE sql VOLATILE PARALLEL SAFE
			RETURN CASE WHEN @schema@.comb_portable_layout(layout) THEN @schema@.comb_generate()
				WHEN layout IS NOT NULL THEN @schema@.comb_portable_behind_v4(@schema@.comb_generate()) END
	$create$,
	$create$
		COMMENT ON FUNCTION comb_generate(text) IS
			'comb_generate() for the layout "uuidv7", and the same for "behind_v4"'
	$create$,
	$create$
		CREATE OR REPLACE FUNCTION comb_at(at timestamptz, layout text) RETURNS uuid
			LANGUAGE sql VOLATILE PARALLEL SAFE
			RETURN CASE WHEN at IS NOT NULL AND @schema@.comb_portable_layout(layout) THEN @schema@.comb_at(at)
				WHEN layout IS NOT NULL THEN @schema@.comb_portable_behind_v4(@schema@.comb_at(@schema@.comb_portable_time(at))) END
	$create$,
	$create$
		COMMENT ON FUNCTION comb_at(timestamptz, text) IS
			'comb_at(at) for the layout "uuidv7", and the same for "behind_v4"'
	$create$,
	$create$
		CREATE OR REPLACE FUNCTION comb_stamp(id uuid, at timestamptz, layout text) RETURNS uuid
			LANGUAGE sql IMMUTABLE PARALLEL SAFE
			RETURN CASE WHEN id IS NOT NULL AND at IS NOT NULL AND @schema@.comb_portable_layout(layout)
				THEN @schema@.comb_stamp(id, at) WHEN id IS NOT NULL AND layout IS NOT NULL THEN @schema@.comb_portable_behind_v4(
					@schema@.comb_stamp(@schema@.comb_portable_v7(id), @schema@.comb_portable_time(at))) END
	$create$,
	$create$
		COMMENT ON FUNCTION comb_stamp(uuid, timestamptz, text) IS
			'comb_stamp(id, at) for the layout "uuidv7", and the same for "behind_v4"'
	$create$,
	$create$
		CREATE OR REPLACE FUNCTION comb_timestamp(id uuid, layout text) RETURNS timestamptz
			LANGUAGE sql IMMUTABLE PARALLEL SAFE
			RETURN CASE WHEN id IS NOT NULL AND @schema@.comb_portable_layout(layout) THEN @schema@.comb_timestamp(id)
				WHEN layout IS NOT NULL AND @behind@ THEN @schema@.comb_timestamp(@schema@.comb_portable_v7(id)) END
	$create$,
	$create$
		COMMENT ON FUNCTION comb_timestamp(uuid, text) IS
			'comb_timestamp(id) for the layout "uuidv7", and the same for "behind_v4"'
	$create$,
	$create$
		CREATE OR REPLACE FUNCTION comb_min(at timestamptz, layout text) RETURNS uuid
			LANGUAGE sql IMMUTABLE PARALLEL SAFE
			RETURN CASE WHEN at IS NOT NULL AND @schema@.comb_portable_layout(layout) THEN @schema@.comb_min(at)
				WHEN layout IS NOT NULL THEN @schema@.comb_portable_behind_v4(@schema@.comb_min(at)) END
	$create$,
	$create$
		COMMENT ON FUNCTION comb_min(timestamptz, text) IS
			'comb_min(at) for the layout "uuidv7", and the same for "behind_v4"'
	$create$,
	$create$
		CREATE OR REPLACE FUNCTION comb_max(at timestamptz, layout text) RETURNS uuid
			LANGUAGE sql IMMUTABLE PARALLEL SAFE
			RETURN CASE WHEN at IS NOT NULL AND @schema@.comb_portable_layout(layout) THEN @schema@.comb_max(at)
				WHEN layout IS NOT NULL AND at IS NOT NULL THEN @schema@.comb_portable_behind_v4(
					@schema@.comb_max(least(at, '2109-05-15 07:35:11.103+00'))) END
	$create$,
	$create$
		COMMENT ON FUNCTION comb_max(timestamptz, text) IS
			'comb_max(at) for the layout "uuidv7", and the same for "behind_v4"'
	$create$,
	$create$
		CREATE OR REPLACE FUNCTION comb_range_min(period tstzrange, layout text) RETURNS uuid
			LANGUAGE sql IMMUTABLE PARALLEL SAFE
			RETURN CASE WHEN period IS NOT NULL AND @schema@.comb_portable_layout(layout) THEN @schema@.comb_range_min(period)
				WHEN layout IS NOT NULL THEN @schema@.comb_portable_behind_v4(@schema@.comb_range_min(period OPERATOR(pg_catalog.*)
					'[1970-01-01 00:00:00+00, 2109-05-15 07:35:11.103+00]')) END
	$create$,
	$create$
		COMMENT ON FUNCTION comb_range_min(tstzrange, text) IS
			'comb_range_min(period) for the layout "uuidv7", and the same for "behind_v4"'
	$create$,
	$create$
		CREATE OR REPLACE FUNCTION comb_range_max(period tstzrange, layout text) RETURNS uuid
			LANGUAGE sql IMMUTABLE PARALLEL SAFE
			RETURN CASE WHEN period IS NOT NULL AND @schema@.comb_portable_layout(layout) THEN @schema@.comb_range_max(period)
				WHEN layout IS NOT NULL THEN @schema@.comb_portable_behind_v4(@schema@.comb_range_max(period OPERATOR(pg_catalog.*)
					'[1970-01-01 00:00:00+00, 2109-05-15 07:35:11.103+00]')) END
	$create$,
	$create$
		COMMENT ON FUNCTION comb_range_max(tstzrange, text) IS
			'comb_range_max(period) for the layout "uuidv7", and the same for "behind_v4"'
	$create$,
	$create$
		CREATE OR REPLACE FUNCTION comb_created(id uuid, period tstzrange, layout text) RETURNS boolean
			LANGUAGE sql IMMUTABLE PARALLEL SAFE
		RETURN id OPERATOR(pg_catalog.>=) @schema@.comb_range_min(period, layout)
				AND id OPERATOR(pg_catalog.<=) @schema@.comb_range_max(period, layout)
				AND (CASE WHEN @schema@.comb_portable_layout(layout) THEN @key@ ELSE @behind@ END::pg_catalog.int4 OPERATOR(pg_catalog.<>) 0
					OR id IS NULL OR period IS NULL OR layout IS NULL)
	$create$,
	$create$
		COMMENT ON FUNCTION comb_created(uuid, tstzrange, text) IS
			'comb_created(id, period) for the layout "uuidv7", and the same for "behind_v4"'
	$create$]
	LOOP
		EXECUTE pg_catalog.replace(pg_catalog.replace(pg_catalog.replace(pg_catalog.replace(create_function,
			'@schema@', in_schema), '@checked@', checked), '@key@', is_key), '@behind@', is_behind);
	END LOOP;
END
$functions$;

--
-- The operators
--
DO $operators$
BEGIN
	IF pg_catalog.to_regoperator(pg_catalog.format('%1$I.<@(uuid,%1$I.comb_period)', pg_catalog.current_schema())) IS NULL THEN
		CREATE OPERATOR <@ (
			LEFTARG = uuid,
			RIGHTARG = comb_period,
			FUNCTION = comb_contained,
			COMMUTATOR = @>
		);
		CREATE OPERATOR @> (
			LEFTARG = comb_period,
			RIGHTARG = uuid,
			FUNCTION = comb_contains,
			COMMUTATOR = <@
		);
	END IF;
END
$operators$;

COMMENT ON OPERATOR <@ (uuid, comb_period) IS
	'is the time of the UUIDv7 in the period? False for any other uuid';

COMMENT ON OPERATOR @> (comb_period, uuid) IS
	'is the time of the UUIDv7 in the period? False for any other uuid';
