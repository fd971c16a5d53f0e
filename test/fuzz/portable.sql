--
-- Comparisons of the functions of sql/portable with those of the extension, for
-- test/t/070_portable.pl.  The extension is in the schema ext, and the other
-- functions are in the schema portable.
--

-- Random instants: anywhere, around now, around whole milliseconds, around the
-- limits of both layouts and of timestamptz
CREATE FUNCTION fuzz_instant() RETURNS timestamptz LANGUAGE sql VOLATILE AS $$
	SELECT CASE floor(random() * 9)::int
		WHEN 0 THEN '-infinity'::timestamptz
		WHEN 1 THEN 'infinity'
		WHEN 2 THEN timestamptz '1970-01-01 00:00:00+00' + floor(random() * 9 - 4) * interval '1 us' + floor(random() * 3 - 1) * interval '1 ms'
		WHEN 3 THEN timestamptz '10889-08-02 05:31:50.655+00' + floor(random() * 2010 - 1005) * interval '1 us'
		WHEN 4 THEN timestamptz '2026-01-01 00:00:00+00' + floor(random() * 1e9) * interval '1 ms' + floor(random() * 5 - 2) * interval '1 us'
		WHEN 5 THEN timestamptz '1970-01-01 00:00:00+00' + floor(random() * 281474976710) * interval '1 s' + floor(random() * 1e6) * interval '1 us'
		WHEN 6 THEN timestamptz '4713-01-01 00:00:00+00 BC' + floor(random() * 9e12) * interval '1 s' + floor(random() * 1e6) * interval '1 us'
		WHEN 7 THEN timestamptz '2109-05-15 07:35:11.103+00' + floor(random() * 2010 - 1005) * interval '1 us'
		ELSE CASE WHEN random() < 0.5 THEN timestamptz '294276-12-31 23:59:59.999999+00' ELSE '4714-11-24 00:00:00+00 BC' END
	END
$$;

-- Random uuids: keys of both layouts of all times, the same with another version or variant, any
CREATE FUNCTION fuzz_id() RETURNS uuid LANGUAGE sql VOLATILE AS $$
	SELECT CASE floor(random() * 7)::int
		WHEN 0 THEN overlay(overlay(md5(random()::text) PLACING '7' FROM 13 FOR 1) PLACING 'a' FROM 17 FOR 1)::uuid
		WHEN 1 THEN ext.comb_at(timestamptz '2026-01-01 00:00:00+00' + random() * interval '30 days')
		WHEN 2 THEN overlay(md5(random()::text) PLACING '7' FROM 13 FOR 1)::uuid
		WHEN 3 THEN (ARRAY['00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff',
			'00000000-0000-7000-8000-000000000000', 'ffffffff-ffff-7fff-bfff-ffffffffffff',
			'ffffff00-0000-8000-8000-000000000000', 'ffffffff-ffff-8fff-bfff-ffffffffffff']::uuid[])[1 + floor(random() * 6)::int]
		WHEN 4 THEN overlay(overlay('ffffff' || substr(md5(random()::text), 7) PLACING '8' FROM 13 FOR 1) PLACING 'a' FROM 17 FOR 1)::uuid
		WHEN 5 THEN overlay('ffffff' || substr(md5(random()::text), 7) PLACING (6 + floor(random() * 3))::text FROM 13 FOR 1)::uuid
		ELSE gen_random_uuid()
	END
$$;

CREATE FUNCTION fuzz_period(a timestamptz, b timestamptz) RETURNS tstzrange LANGUAGE sql VOLATILE AS $$
	SELECT CASE WHEN random() < 0.05 THEN 'empty'::tstzrange ELSE
		tstzrange(CASE WHEN random() < 0.9 THEN least(a, b) END, CASE WHEN random() < 0.9 THEN greatest(a, b) END,
			(ARRAY['[)', '(]', '[]', '()'])[1 + floor(random() * 4)::int]) END
$$;

-- What a call gives in a schema, which stands for {}: a value, or the error
CREATE FUNCTION outcome(schema text, call text, id uuid, other uuid, at timestamptz, until timestamptz, period tstzrange)
RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result text;
	detail text;
	hint text;
BEGIN
	EXECUTE 'SELECT (' || replace(call, '{}', schema || '.') || ')::text' INTO result
		USING id, other, at, until, period;
	RETURN coalesce(result, 'NULL');
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
	RETURN concat_ws('|', SQLSTATE, SQLERRM, detail, hint);
END $$;

CREATE TABLE call (text text);
INSERT INTO call VALUES
	('{}comb_timestamp($1)'),
	('{}comb_timestamp($1, ''uuidv7'')'),
	('{}comb_stamp($1, $3)'),
	('{}comb_stamp($1, $3, ''uuidv7'')'),
	('{}comb_min($3)'),
	('{}comb_min($3, ''uuidv7'')'),
	('{}comb_max($3)'),
	('{}comb_max($3, ''uuidv7'')'),
	('{}comb_range_min($5)'),
	('{}comb_range_min($5, ''uuidv7'')'),
	('{}comb_range_max($5)'),
	('{}comb_range_max($5, ''uuidv7'')'),
	('$1 OPERATOR({}<@) $5'),
	('$5 OPERATOR({}@>) $1'),
	('NOT $1 OPERATOR({}<@) $5'),
	('{}comb_contained($1, $5)'),
	('{}comb_contains($5, $1)'),
	('{}comb_created($1, $5)'),
	('{}comb_created($1, $5, ''uuidv7'')'),
	('{}comb_created($1, $5, NULL)'),
	('{}comb_during($1, $3, $4)'),
	('NOT {}comb_during($1, $3, $4)'),
	('{}comb_time_decoder($1::text)'),
	('{}comb_time_decoder(upper($1::text) || left(''x'', ascii($1::text) % 2))'),
	('{}comb_timestamp($1, ''behind_v4'')'),
	('{}comb_stamp($1, $3, ''behind_v4'')'),
	('{}comb_min($3, ''behind_v4'')'),
	('{}comb_max($3, ''behind_v4'')'),
	('{}comb_range_min($5, ''behind_v4'')'),
	('{}comb_range_max($5, ''behind_v4'')'),
	('{}comb_created($1, $5, ''behind_v4'')'),
	('{}comb_timestamp({}comb_at($3, ''behind_v4''), ''behind_v4'')'),
	('regexp_replace({}comb_at($3, ''behind_v4'')::text, ''^ffffff.{8}8...-[89ab]...-.{12}$'', '''')'),
	-- the time of a new key, and where it stands among stamped keys of its microsecond
	('{}comb_timestamp({}comb_at($3))'),
	('{}comb_timestamp({}comb_at($3, ''uuidv7''))'),
	('substr({}comb_at($3)::text, 15, 1) || translate(substr({}comb_at($3)::text, 20, 1), ''89ab'', ''****'')');

CREATE TABLE input AS
SELECT n, CASE WHEN random() < 0.95 THEN fuzz_id() END AS id, fuzz_id() AS other,
	CASE WHEN random() < 0.95 THEN at END AS at, CASE WHEN random() < 0.9 THEN until END AS until,
	CASE WHEN random() < 0.95 THEN fuzz_period(at, until) END AS period
FROM (SELECT n, fuzz_instant() AS at, CASE WHEN random() < 0.2 THEN at ELSE fuzz_instant() END AS until
      FROM (SELECT n, fuzz_instant() AS at FROM generate_series(1, :inputs) n) s) s;
-- half of the periods are around the id's own time
UPDATE input SET period = fuzz_period(made + floor(random() * 3 - 1) * interval '1 us',
		made + floor(random() * CASE WHEN random() < 0.5 THEN 4 ELSE 4000 END) * interval '1 us')
FROM (SELECT n AS of, coalesce(ext.comb_timestamp(id), ext.comb_timestamp(id, 'behind_v4')) AS made FROM input) s
WHERE n = of AND n % 2 = 0 AND made < '290000-01-01';
