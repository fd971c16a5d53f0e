-- Keys as text: TypeID's vectors, and properties of many random values
--
-- For a deep run, use pg_prove --set n=10000000.
SET client_min_messages = warning;
\if :{?n}
\else
	\set n 100000
\endif

BEGIN;
CREATE EXTENSION IF NOT EXISTS pgtap;
CREATE EXTENSION IF NOT EXISTS pg_comb;
SET LOCAL max_parallel_workers_per_gather = 0;

SELECT plan(18);

--
-- The specification's vectors
--
CREATE TEMP TABLE valid (name text, typeid text, prefix text, id uuid, source text);
\copy valid FROM 'test/data/typeid_valid.csv' (FORMAT csv, HEADER)
CREATE TEMP TABLE invalid (name text, typeid text, source text);
\copy invalid FROM 'test/data/typeid_invalid.csv' (FORMAT csv, HEADER)

SELECT is(count(*), 9::bigint, 'all valid vectors') FROM valid;
SELECT is_empty('SELECT * FROM valid WHERE comb_text(id, prefix) <> typeid', 'comb_text writes the valid vectors');
SELECT is_empty('SELECT * FROM valid WHERE comb_parse(typeid, prefix) <> id', 'comb_parse reads the valid vectors');
SELECT is_empty($$SELECT * FROM valid WHERE prefix = '' AND (comb_text(id) <> typeid OR comb_parse(typeid) <> id)$$,
                'also without an argument for the prefix');

-- The prefix of an invalid vector is what precedes its last underscore.  The callers
-- of comb_parse() know the prefix, so each vector meets its own prefix, the vectors'
-- usual one, and none.
CREATE FUNCTION pg_temp.state(typeid text, prefix text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	PERFORM CASE WHEN prefix IS NULL THEN comb_parse(typeid) ELSE comb_parse(typeid, prefix) END;
	RETURN 'accepted';
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE;
END
$$;
CREATE TEMP TABLE verdict AS
SELECT name, pg_temp.state(typeid, coalesce(substring(typeid FROM '^(.*)_'), '')) AS own,
       pg_temp.state(typeid, 'prefix') AS usual, pg_temp.state(typeid, NULL) AS bare
FROM invalid;

SELECT is(count(*), 21::bigint, 'all invalid vectors') FROM verdict;
SELECT results_eq($$SELECT name FROM verdict WHERE own NOT IN ('22P02', '22023')$$, $$VALUES ('suffix-uppercase')$$,
                  'comb_parse refuses them with their own prefix, except digits in upper case');
SELECT results_eq($$SELECT name FROM verdict WHERE usual <> '22P02'$$, $$VALUES ('suffix-uppercase')$$,
                  'and with the usual prefix');
SELECT is_empty($$SELECT name FROM verdict WHERE bare <> '22P02'$$, 'and without a prefix');

--
-- Any single character at any place, against a list of what is allowed
--
CREATE TEMP TABLE character AS
SELECT chr(c) AS c, strpos('0123456789abcdefghjkmnpqrstvwxyz', lower(chr(c))) - 1 AS value
FROM generate_series(1, 255) c;
CREATE TEMP TABLE changed AS
SELECT at, c, value, overlay('01h455vb4pex5vsknk084sn02q' PLACING c FROM at) AS t
FROM generate_series(1, 26) at, character;
SELECT results_eq($$SELECT count(*) FROM changed WHERE pg_temp.state(t, NULL) = '22P02'$$,
                  $$SELECT count(*) FROM changed WHERE value < 0 OR (at = 1 AND value > 7)$$,
                  'a character is refused where it is no digit, or the first digit is above 7');
SELECT is_empty($$SELECT at, c FROM changed WHERE value >= 0 AND (at > 1 OR value <= 7)
                  AND comb_text(comb_parse(t)) <> lower(t)$$,
                'the other digits are read, each as its own value');

--
-- Random values.  Every fourth pair shares its first half, every fourth its second.
--
CREATE TEMP TABLE pair AS
SELECT a, CASE i % 4 WHEN 0 THEN overlay(a::text PLACING right(b::text, 17) FROM 20)::uuid
                     WHEN 1 THEN overlay(a::text PLACING left(b::text, 18) FROM 1)::uuid ELSE b END AS b
FROM (SELECT i, gen_random_uuid() AS a, md5(random()::text || i)::uuid AS b FROM generate_series(1, :n) i) s;

-- The digits from the text of the bits; the module computes them in another way.
CREATE FUNCTION pg_temp.digits(id uuid) RETURNS text IMMUTABLE LANGUAGE sql AS $$
	SELECT string_agg(substr('0123456789abcdefghjkmnpqrstvwxyz', substr(bits, at, 5)::bit(5)::int + 1, 1), '' ORDER BY at)
	FROM (SELECT '00' || string_agg(('x' || substr(replace(id::text, '-', ''), h, 1))::bit(4)::text, '' ORDER BY h) AS bits
	      FROM generate_series(1, 32) h) b, generate_series(1, 126, 5) at
$$;

SELECT is(count(*), :n::bigint, 'as many pairs as asked for') FROM pair;
SELECT is_empty('SELECT a FROM (SELECT a FROM pair LIMIT 5000) s WHERE comb_text(a) <> pg_temp.digits(a)',
                'the text has the bits in groups of five');

CREATE TEMP TABLE counted AS
SELECT count(*) FILTER (WHERE comb_parse(comb_text(a)) <> a) AS back,
       count(*) FILTER (WHERE comb_parse(upper(comb_text(a))) <> a) AS back_upper,
       count(*) FILTER (WHERE comb_parse(comb_text(a, 'user'), 'user') <> a) AS back_prefix,
       count(*) FILTER (WHERE comb_text(a, 'user') <> 'user_' || comb_text(a)) AS prefixed,
       count(*) FILTER (WHERE comb_text(a) !~ '^[0-7][0-9a-hjkmnp-tv-z]{25}$') AS shape,
       count(*) FILTER (WHERE (comb_text(a) COLLATE "C" < comb_text(b) COLLATE "C") <> (a < b)
                           OR (comb_text(a) = comb_text(b)) <> (a = b)) AS sorted
FROM pair;
SELECT is(back, 0::bigint, 'the text reads back') FROM counted;
SELECT is(back_upper, 0::bigint, 'in upper case too') FROM counted;
SELECT is(back_prefix, 0::bigint, 'with a prefix too') FROM counted;
SELECT is(prefixed, 0::bigint, 'a prefix changes nothing else') FROM counted;
SELECT is(shape, 0::bigint, 'all texts are 26 characters of the alphabet') FROM counted;
SELECT is(sorted, 0::bigint, 'texts compare as the uuids do') FROM counted;

SELECT * FROM finish();
ROLLBACK;
