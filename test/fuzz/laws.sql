--
-- Laws that hold for every input, and inputs to test them with
--
-- fuzz_round(seed, rows) makes "rows" inputs from the seed.  Half of them are of kinds
-- that break things: edges of ranges, and values one bit off.  If an input breaks a
-- law, an error names the law, the seed and the first such input.  The result is the
-- number of calls of the extension's functions.  The expression of a law can use all
-- columns of fuzz_input.
--
-- All inputs come from random() after setseed(), so that a round can be repeated.

CREATE TABLE fuzz_law (
	name text PRIMARY KEY,
	calls int NOT NULL,			-- of the extension's functions, for one input
	law text NOT NULL
);

CREATE TABLE fuzz_layout AS
	SELECT row_number() OVER () AS n, layout, sorts_in, generates, earliest, latest,
	       resolution
	FROM comb_layouts();

CREATE UNLOGGED TABLE fuzz_input (
	n int, id uuid, other uuid, at timestamptz, until timestamptz,
	layout text, sorts_in text, generates boolean, earliest timestamptz, latest timestamptz,
	period tstzrange,
	num bigint, ibits int, sbits int,	-- a Snowflake and its bits
	target text, target_earliest timestamptz, target_latest timestamptz,
	created timestamptz			-- comb_timestamp(id, layout)
);

-- 16 bytes of random(), because gen_random_uuid() would not repeat
CREATE FUNCTION fuzz_uuid() RETURNS uuid LANGUAGE sql VOLATILE AS
	'SELECT md5(random()::text)::uuid';

-- A uuid of the given kind: any bits, few bits set, or few bits clear
CREATE FUNCTION fuzz_id(kind int) RETURNS uuid LANGUAGE sql VOLATILE AS $$
	SELECT CASE
		WHEN kind < 6 THEN fuzz_uuid()
		WHEN kind = 6 THEN encode(set_bit('\x00000000000000000000000000000000'::bytea, (random() * 127)::int, 1), 'hex')::uuid
		WHEN kind = 7 THEN encode(set_bit('\xffffffffffffffffffffffffffffffff'::bytea, (random() * 127)::int, 0), 'hex')::uuid
		WHEN kind = 8 THEN '00000000-0000-0000-0000-000000000000'
		ELSE 'ffffffff-ffff-ffff-ffff-ffffffffffff'
	END
$$;

-- An instant of the given kind: near now, anywhere, or at an edge of a layout
CREATE FUNCTION fuzz_time(kind int, earliest timestamptz, latest timestamptz)
	RETURNS timestamptz LANGUAGE sql VOLATILE AS $$
	SELECT CASE
		WHEN kind < 4 THEN '2000-01-01 00:00:00+00'::timestamptz + random() * interval '30 years'
		WHEN kind = 4 THEN '4713-01-01 00:00:00+00 BC'::timestamptz + random() * interval '290000 years'
		WHEN kind = 5 THEN date_trunc('milliseconds', now() - random() * interval '9000 days')
		WHEN kind = 6 THEN earliest + (random() * 20 - 10)::int * interval '500 microseconds'
		WHEN kind = 7 THEN latest + (random() * 20 - 10)::int * interval '500 microseconds'
		WHEN kind = 8 THEN 'infinity'::timestamptz
		ELSE '-infinity'::timestamptz
	END
$$;

-- A value whose plain order is the order of the layout's database
CREATE FUNCTION fuzz_key(id uuid, sorts_in text) RETURNS uuid LANGUAGE sql IMMUTABLE AS $$
	SELECT CASE sorts_in WHEN 'SQL Server' THEN comb_mssql_key(id)
	                     WHEN 'raw .NET bytes' THEN comb_guid_swap(id)
	                     ELSE id END
$$;

INSERT INTO fuzz_law VALUES
('a time stays inside its bounds', 3,
 'comb_timestamp(id) IS NULL OR id BETWEEN comb_min(comb_timestamp(id)) AND comb_max(comb_timestamp(id))'),
('the default layout is uuidv7', 6,
 'comb_timestamp(id) IS NOT DISTINCT FROM comb_timestamp(id, ''uuidv7'')
  AND comb_min(at) = comb_min(at, ''uuidv7'') AND comb_max(at) = comb_max(at, ''uuidv7'')'),
('a key stamped with its own time is itself', 1,
 'created IS NULL OR comb_stamp(id, created, layout) = id'),
('a stamp changes nothing but time and version', 3,
 'at NOT BETWEEN earliest AND latest OR
  comb_stamp(comb_stamp(id, at, layout), at, layout) = comb_stamp(id, at, layout)'),
('a stamped time is read back, cut to the unit', 2,
 'at NOT BETWEEN earliest AND latest OR
  comb_timestamp(comb_stamp(id, at, layout), layout) BETWEEN at - interval ''3334 microseconds'' AND at'),
('the field decides, not the base', 2,
 'created IS NULL OR created NOT BETWEEN earliest AND latest OR
  comb_timestamp(comb_stamp(other, created, layout), layout) = created'),
('at or after, in the order of the layout', 3,
 'created IS NULL OR sorts_in IS NULL OR at > latest - interval ''1 ms'' OR
  (created >= at) = (fuzz_key(id, sorts_in) >= fuzz_key(comb_min(at, layout), sorts_in))'),
('at or before, in the order of the layout', 3,
 'created IS NULL OR sorts_in IS NULL OR at < earliest OR
  (created <= at) = (fuzz_key(id, sorts_in) <= fuzz_key(comb_max(at, layout), sorts_in))'),
('a new key has the time it is made for', 2,
 'NOT generates OR at NOT BETWEEN earliest AND latest OR
  comb_timestamp(comb_at(at, layout), layout) BETWEEN at - interval ''3334 microseconds'' AND at'),
('two new keys of one time differ', 2,
 'NOT generates OR at NOT BETWEEN earliest AND latest OR comb_at(at, layout) <> comb_at(at, layout)'),
('a conversion keeps the instant to the target''s unit', 2,
 'created IS NULL OR created NOT BETWEEN target_earliest AND target_latest OR
  comb_timestamp(comb_convert(id, layout, target), target)
	BETWEEN created - interval ''3334 microseconds'' AND created'),
('partition bounds are read back', 2,
 'at NOT BETWEEN ''1970-01-01 00:00:00+00'' AND ''10889-08-02 05:31:50.655+00'' OR
  comb_time_decoder(comb_min(at)::text) BETWEEN at AND at + interval ''999 microseconds'''),
('SQL Server''s order is the plain order of its key', 3,
 'comb_mssql_cmp(id, other) = CASE WHEN comb_mssql_key(id) < comb_mssql_key(other) THEN -1
	WHEN comb_mssql_key(id) > comb_mssql_key(other) THEN 1 ELSE 0 END'),
('SQL Server''s operators are its comparison', 5,
 '(id #<# other) = (comb_mssql_cmp(id, other) < 0) AND (id #<=# other) = (comb_mssql_cmp(id, other) <= 0)
  AND (id #>=# other) = (comb_mssql_cmp(id, other) >= 0) AND (id #># other) = (comb_mssql_cmp(id, other) > 0)'),
('created in a period = its time is in it', 2,
 '(id <@ period) = coalesce(comb_timestamp(id) <@ period, false)'),
('a period contains what is in it', 2,
 '(period @> id) = (id <@ period)'),
('in a period = between its bounds, for keys', 4,
 'comb_timestamp(id) IS NULL OR
  (id <@ period) = (id >= comb_range_min(period) AND id <= comb_range_max(period))'),
('created, in any layout', 1,
 'comb_created(id, period, layout) = coalesce(created <@ period, false)'),
('a Snowflake is its three parts', 3,
 'comb_snowflake_timestamp(num) = ''2024-01-01 00:00:00+00''::timestamptz + (num >> 22) * interval ''1 ms''
  AND comb_snowflake_instance(num) = ((num >> 12) & 1023) AND comb_snowflake_sequence(num) = (num & 4095)'),
('Snowflakes of other bits are theirs', 3,
 'comb_snowflake_timestamp(num, ''1970-01-01 00:00:00+00'', ibits, sbits)
	= ''1970-01-01 00:00:00+00''::timestamptz + (num >> (ibits + sbits)) * interval ''1 ms''
  AND comb_snowflake_instance(num, ''1970-01-01 00:00:00+00'', ibits, sbits) = ((num >> sbits) & ((1 << ibits) - 1))
  AND comb_snowflake_sequence(num, ''1970-01-01 00:00:00+00'', ibits, sbits) = (num & ((1 << sbits) - 1))'),
('at or after, for Snowflakes', 2,
 '(comb_snowflake_timestamp(num, ''1970-01-01 00:00:00+00'', ibits, sbits) >= at)
	= (num >= comb_snowflake_min(at, ''1970-01-01 00:00:00+00'', ibits, sbits))'),
('at or before, for Snowflakes', 2,
 '(comb_snowflake_timestamp(num, ''1970-01-01 00:00:00+00'', ibits, sbits) <= at)
	= (num <= comb_snowflake_max(at, ''1970-01-01 00:00:00+00'', ibits, sbits))'),
('the byte swap is its own inverse', 2,
 'comb_guid_swap(comb_guid_swap(id)) = id'),
('a key''s text reads back', 6,
 'comb_parse(comb_text(id)) = id AND comb_parse(upper(comb_text(id))) = id
  AND comb_parse(comb_text(id, ''key''), ''key'') = id'),
('texts sort as the keys do', 2,
 '(comb_text(id) COLLATE "C" < comb_text(other) COLLATE "C") = (id < other)'),
('a mask comes off, and changes time and version only', 2,
 '(comb_mask(id, uuid_send(other)) IS NULL) = (id::text !~ ''^.{14}7.{4}[89ab]'') AND
  (comb_mask(id, uuid_send(other)) IS NULL OR
   comb_unmask(comb_mask(id, uuid_send(other)), uuid_send(other)) = id AND
   overlay(comb_mask(id, uuid_send(other))::text PLACING left(id::text, 15) FROM 1)::uuid = id)');

CREATE FUNCTION fuzz_inputs(seed float8, rows int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	PERFORM setseed(seed);
	TRUNCATE fuzz_input;
	INSERT INTO fuzz_input (n, id, other, layout, sorts_in, generates, earliest, latest,
	                        target, target_earliest, target_latest, at, until)
	SELECT i, fuzz_id((i * 7) % 10), fuzz_id((i * 3) % 8), l.layout, l.sorts_in, l.generates, l.earliest, l.latest,
	       t.layout, t.earliest, t.latest,
	       fuzz_time(i % 10, l.earliest, l.latest), fuzz_time((i / 10) % 10, t.earliest, t.latest)
	FROM generate_series(1, rows) i
	JOIN fuzz_layout l ON l.n = 1 + (i / 7) % (SELECT count(*) FROM fuzz_layout)
	JOIN fuzz_layout t ON t.n = 1 + (i / 133) % (SELECT count(*) FROM fuzz_layout);
	-- a random uuid is seldom a key: turn two thirds into keys of their layout
	UPDATE fuzz_input SET id = comb_stamp(id, at, layout)
	WHERE n % 3 > 0 AND at BETWEEN earliest AND latest;
	-- two bounds in order; every 16th period lacks a bound, or is empty
	UPDATE fuzz_input SET period = CASE n % 16
		WHEN 0 THEN tstzrange(NULL, at) WHEN 1 THEN tstzrange(at, NULL) WHEN 2 THEN 'empty'
		ELSE tstzrange(least(at, until), greatest(at, until), (ARRAY['[)', '[]', '()', '(]'])[1 + n % 4]) END;
	-- half of the numbers are ids of the instant "at", or up to 2 beside such an id
	UPDATE fuzz_input SET ibits = 5 + n % 10, sbits = 5 + (n / 10) % 10;
	UPDATE fuzz_input SET num = CASE
		WHEN n % 2 = 0 AND ibits + sbits <= 20 AND
		     at BETWEEN '1970-01-02 00:00:00+00' AND '2200-01-01 00:00:00+00'
		THEN least((floor(extract(epoch FROM at) * 1000)::bigint << (ibits + sbits)) + (random() * 4 - 2)::int,
		           9223372036854775806)
		ELSE floor(random() * 9223372036854774784)::bigint >> (n % 60) END;
	-- up to 2^43 ms, "* interval" in float8 is exact to the microsecond
	UPDATE fuzz_input SET num = num & ((1::bigint << (43 + ibits + sbits)) - 1)
	WHERE 43 + ibits + sbits < 63;
	UPDATE fuzz_input SET created = comb_timestamp(id, layout);
END
$$;

CREATE FUNCTION fuzz_round(seed float8, rows int) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	l fuzz_law;
	broken record;
	calls bigint := 0;
BEGIN
	PERFORM fuzz_inputs(seed, rows);
	FOR l IN SELECT * FROM fuzz_law ORDER BY name LOOP
		BEGIN
			EXECUTE format('SELECT fuzz_input.* FROM fuzz_input WHERE (%s) IS NOT TRUE LIMIT 1', l.law) INTO broken;
		EXCEPTION WHEN OTHERS THEN
			RAISE EXCEPTION 'law "%" failed with seed %, rows %: % (%)', l.name, seed, rows, SQLERRM, SQLSTATE;
		END;
		IF broken.n IS NOT NULL THEN
			RAISE EXCEPTION 'law "%" is broken with seed %, rows %: %', l.name, seed, rows, row_to_json(broken);
		END IF;
		calls := calls + l.calls * rows;
	END LOOP;
	RETURN calls;
END
$$;
