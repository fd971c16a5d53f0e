--
-- Keys as text, and keys that hide their time
--
SET client_min_messages = warning;

-- what a failed expression says
CREATE FUNCTION pg_temp.failure(expression text, OUT state text, OUT message text, OUT detail text, OUT hint text)
LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE 'SELECT ' || expression INTO message;
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT,
		detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
END $$;

\pset format unaligned
\pset tuples_only on

--
-- Text
--
SELECT comb_text('01890a5d-ac96-774b-bcce-b302099a8057'),
       comb_text('01890a5d-ac96-774b-bcce-b302099a8057', 'user'),
       comb_text('01890a5d-ac96-774b-bcce-b302099a8057', 'a__b'),
       comb_text('01890a5d-ac96-774b-bcce-b302099a8057', '');
SELECT comb_parse('01h455vb4pex5vsknk084sn02q'),
       comb_parse('user_01h455vb4pex5vsknk084sn02q', 'user'),
       comb_parse('a__b_01h455vb4pex5vsknk084sn02q', 'a__b'),
       comb_parse('01h455vb4pex5vsknk084sn02q', '');

-- both cases of the digits, each digit
SELECT comb_parse('01H455VB4PEX5VSKNK084SN02Q'), comb_parse('user_01H455VB4PEX5VSKNK084SN02q', 'user');
SELECT comb_parse('0123456789ABCDEFGHJKMNPQRS') = comb_parse('0123456789abcdefghjkmnpqrs') AS t,
       comb_parse('7TVWXYZTVWXYZTVWXYZTVWXYZZ') = comb_parse('7tvwxyztvwxyztvwxyztvwxyzz') AS t;

-- the first and the last uuid, and both bits beside the middle
SELECT comb_text('00000000-0000-0000-0000-000000000000'), comb_text('ffffffff-ffff-ffff-ffff-ffffffffffff'),
       comb_text('00000000-0000-0001-0000-000000000000'), comb_text('00000000-0000-0000-8000-000000000000');

-- a TSID, by the recipe of migration.md
SELECT ('x' || right(translate(comb_parse(lpad('0SBS2792R9NPZ', 26, '0'))::text, '-', ''), 16))::bit(64)::bigint;

-- the longest prefix
SELECT comb_text('01890a5d-ac96-774b-bcce-b302099a8057', repeat('x', 63)),
       comb_parse(repeat('x', 63) || '_01h455vb4pex5vsknk084sn02q', repeat('x', 63));

-- NULL gives NULL
SELECT comb_text(NULL) IS NULL AS t, comb_text(NULL, 'user') IS NULL AS t, comb_text('01890a5d-ac96-774b-bcce-b302099a8057', NULL) IS NULL AS t,
       comb_parse(NULL) IS NULL AS t, comb_parse(NULL, 'user') IS NULL AS t, comb_parse('01h455vb4pex5vsknk084sn02q', NULL) IS NULL AS t;

-- values that come compressed, or with a long header, from a table
CREATE TEMP TABLE stored (t text, prefix text, key bytea);
ALTER TABLE stored ALTER t SET STORAGE EXTERNAL;
INSERT INTO stored VALUES ('user_01h455vb4pex5vsknk084sn02q', 'user', '\x000102030405060708090a0b0c0d0e0f'),
	(repeat('0', 100000), repeat('x', 100000), repeat('x', 100000)::bytea);
SELECT comb_parse(t, prefix), comb_text(comb_parse(t, prefix), prefix), comb_mask(comb_parse(t, prefix), key)
FROM stored WHERE length(t) = 31;
SELECT f.state, left(f.message, 40), f.detail
FROM stored, LATERAL pg_temp.failure(format('comb_parse(%L)', t)) f WHERE length(t) > 31;
SELECT f.state, left(f.message, 40), f.detail
FROM stored, LATERAL pg_temp.failure(format('comb_text(NULL::uuid, %1$L) || comb_text(%2$L, %1$L)', prefix, '01890a5d-ac96-774b-bcce-b302099a8057')) f WHERE length(t) > 31;

-- bad text, and prefixes that no TypeID can have
SELECT input, f.*
FROM (VALUES
	(1, $$comb_parse('')$$),
	(2, $$comb_parse('01h455vb4pex5vsknk084sn02')$$),
	(3, $$comb_parse('01h455vb4pex5vsknk084sn02qq')$$),
	(4, $$comb_parse('user_01h455vb4pex5vsknk084sn02q')$$),
	(5, $$comb_parse('01890a5d-ac96-774b-bcce-b302099a8057')$$),
	(6, $$comb_parse('01h455vb4pex5vsknk084sn0il')$$),
	(7, $$comb_parse('01H455VB4PEX5VSKNK084SN0OL')$$),
	(8, $$comb_parse('u1h455vb4pex5vsknk084sn02q')$$),
	(9, $$comb_parse('01h455vb4pex5usknk084sn02q')$$),
	(10, $$comb_parse(' 01h455vb4pex5vsknk084sn02')$$),
	(11, $$comb_parse('01h455vb4pex5-vsknk084sn02')$$),
	(12, $$comb_parse('01h455vb4p' || chr(233) || 'x5vsknk084sn02q')$$),
	(13, $$comb_parse('01h455vb4p' || chr(233) || 'x5vsknk084sn02')$$),
	(14, $$comb_parse('80000000000000000000000000')$$),
	(15, $$comb_parse('zzzzzzzzzzzzzzzzzzzzzzzzzz')$$),
	(20, $$comb_parse('', 'user')$$),
	(21, $$comb_parse('user', 'user')$$),
	(22, $$comb_parse('user_', 'user')$$),
	(23, $$comb_parse('user_01h455vb4pex5vsknk084sn02', 'user')$$),
	(24, $$comb_parse('user_01h455vb4pex5vsknk084sn02qq', 'user')$$),
	(25, $$comb_parse('01h455vb4pex5vsknk084sn02q', 'user')$$),
	(26, $$comb_parse('uses_01h455vb4pex5vsknk084sn02q', 'user')$$),
	(27, $$comb_parse('User_01h455vb4pex5vsknk084sn02q', 'user')$$),
	(28, $$comb_parse('users_01h455vb4pex5vsknk084sn02q', 'user')$$),
	(29, $$comb_parse('user-01h455vb4pex5vsknk084sn02q', 'user')$$),
	(30, $$comb_parse('us' || chr(8364) || 'r_01h455vb4pex5vsknk084sn02q', 'user')$$),
	(31, $$comb_parse('user_01h455vb4pex5vsknk084sn0iq', 'user')$$),
	(32, $$comb_parse('user_81h455vb4pex5vsknk084sn02q', 'user')$$),
	(33, $$comb_parse('user_01h455vb4pex5vsknk084sn02q', '')$$),
	(34, $$comb_parse('user_01h455vb4pex5vsknk084sn02q', 'User')$$),
	(40, $$comb_text('01890a5d-ac96-774b-bcce-b302099a8057', 'User')$$),
	(41, $$comb_text('01890a5d-ac96-774b-bcce-b302099a8057', '_user')$$),
	(42, $$comb_text('01890a5d-ac96-774b-bcce-b302099a8057', 'user_')$$),
	(43, $$comb_text('01890a5d-ac96-774b-bcce-b302099a8057', '_')$$),
	(44, $$comb_text('01890a5d-ac96-774b-bcce-b302099a8057', 'user2')$$),
	(45, $$comb_text('01890a5d-ac96-774b-bcce-b302099a8057', 'us er')$$),
	(46, $$comb_text('01890a5d-ac96-774b-bcce-b302099a8057', 'us{er')$$),
	(47, $$comb_text('01890a5d-ac96-774b-bcce-b302099a8057', 'us`er')$$),
	(48, $$comb_text('01890a5d-ac96-774b-bcce-b302099a8057', repeat('x', 64))$$)
) v (n, input), LATERAL pg_temp.failure(input) f
ORDER BY n;
-- a text can have any length; a message shows at most 63 bytes, and whole characters
SELECT f.state, f.message
FROM (VALUES
	(1, $$comb_parse(repeat('0', 100000))$$),
	(2, $$comb_parse(repeat(chr(8364), 100000))$$),
	(3, $$comb_parse('user_' || repeat('0', 100000), 'user')$$),
	(4, $$comb_parse('', repeat(chr(233), 100000))$$),
	(5, $$comb_text('01890a5d-ac96-774b-bcce-b302099a8057', repeat(chr(128512), 100000))$$),
	(6, $$comb_time_decoder(repeat(chr(233), 100000))$$),
	(7, $$comb_time_decoder('01890a5d-ac96-774b-bcce-b302099a8057' || repeat(' ', 100000))$$)
) v (n, input), LATERAL pg_temp.failure(input) f
ORDER BY n;

\pset format aligned
\pset tuples_only off

-- The column is a uuid; the text of a parameter finds the row by the primary key.
CREATE TABLE people (
	id uuid PRIMARY KEY,
	public_id text COLLATE "C" GENERATED ALWAYS AS (comb_text(id, 'user')) STORED,
	n int
);
INSERT INTO people (id, n) SELECT md5(n::text)::uuid, n FROM generate_series(1, 2000) n;
INSERT INTO people (id, n) VALUES ('01890a5d-ac96-774b-bcce-b302099a8057', 0);
ANALYZE people;
EXPLAIN (COSTS OFF) SELECT n FROM people WHERE id = comb_parse('user_01h455vb4pex5vsknk084sn02q', 'user');
SELECT n, public_id FROM people WHERE id = comb_parse('user_01h455vb4pex5vsknk084sn02q', 'user');
PREPARE person (text) AS SELECT n FROM people WHERE id = comb_parse($1, 'user');
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE person ('user_01h455vb4pex5vsknk084sn02q');
EXECUTE person ('user_01h455vb4pex5vsknk084sn02q');
RESET plan_cache_mode;
SELECT bool_and(comb_parse(public_id, 'user') = id) AS t,
       array_agg(id ORDER BY public_id) = array_agg(id ORDER BY id) AS t FROM people;

-- an index on the expression serves the text's order
CREATE INDEX people_text ON people (comb_text(id) COLLATE "C");
SET enable_sort = off;
EXPLAIN (COSTS OFF) SELECT n FROM people ORDER BY comb_text(id) COLLATE "C" LIMIT 1;
RESET enable_sort;

--
-- Mask
--
SELECT comb_mask('018f2d9f-9a2a-7def-8c3f-7b1a2c4d5e6f', '\xefcdab89674523011032547698badcfe'),
       comb_unmask('2463c780-7fca-4def-8c3f-7b1a2c4d5e6f', '\xefcdab89674523011032547698badcfe');

-- NULL for other versions, other variants and NULL
SELECT id, comb_mask(id, key) IS NULL AS no_mask, comb_unmask(id, key) IS NULL AS no_unmask
FROM (VALUES (uuid '00000000-0000-0000-0000-000000000000'), ('ffffffff-ffff-ffff-ffff-ffffffffffff'),
	('018f2d9f-9a2a-1def-8c3f-7b1a2c4d5e6f'), ('018f2d9f-9a2a-4def-8c3f-7b1a2c4d5e6f'),
	('018f2d9f-9a2a-5def-8c3f-7b1a2c4d5e6f'), ('018f2d9f-9a2a-6def-8c3f-7b1a2c4d5e6f'),
	('018f2d9f-9a2a-7def-8c3f-7b1a2c4d5e6f'), ('018f2d9f-9a2a-7def-bc3f-7b1a2c4d5e6f'),
	('018f2d9f-9a2a-7def-0c3f-7b1a2c4d5e6f'), ('018f2d9f-9a2a-7def-cc3f-7b1a2c4d5e6f'),
	('018f2d9f-9a2a-4def-0c3f-7b1a2c4d5e6f'), ('018f2d9f-9a2a-4def-cc3f-7b1a2c4d5e6f'),
	('018f2d9f-9a2a-fdef-8c3f-7b1a2c4d5e6f'), (NULL)) v (id), (VALUES ('\xefcdab89674523011032547698badcfe'::bytea)) k (key);
SELECT comb_mask('018f2d9f-9a2a-7def-8c3f-7b1a2c4d5e6f', NULL) IS NULL AS t,
       comb_unmask('018f2d9f-9a2a-4def-8c3f-7b1a2c4d5e6f', NULL) IS NULL AS t;

-- keys of another length, whatever the uuid is
\pset format unaligned
\pset tuples_only on
SELECT input, f.*
FROM (VALUES
	(1, $$comb_mask('018f2d9f-9a2a-7def-8c3f-7b1a2c4d5e6f', '')$$),
	(2, $$comb_mask('018f2d9f-9a2a-7def-8c3f-7b1a2c4d5e6f', '\xefcdab89674523011032547698badc')$$),
	(3, $$comb_mask('018f2d9f-9a2a-7def-8c3f-7b1a2c4d5e6f', '\xefcdab89674523011032547698badcfe00')$$),
	(4, $$comb_mask('00000000-0000-0000-0000-000000000000', '\x00')$$),
	(5, $$comb_unmask('2463c780-7fca-4def-8c3f-7b1a2c4d5e6f', 'efcdab89674523011032547698badcfe')$$),
	(6, $$comb_unmask('00000000-0000-0000-0000-000000000000', '\x00')$$)
) v (n, input), LATERAL pg_temp.failure(input) f
ORDER BY n;
\pset format aligned
\pset tuples_only off

-- A masked id finds its row by the primary key.
EXPLAIN (COSTS OFF) SELECT n FROM people
WHERE id = comb_unmask(comb_mask('01890a5d-ac96-774b-bcce-b302099a8057', '\xefcdab89674523011032547698badcfe'), '\xefcdab89674523011032547698badcfe');
SELECT n FROM people
WHERE id = comb_unmask(comb_mask('01890a5d-ac96-774b-bcce-b302099a8057', '\xefcdab89674523011032547698badcfe'), '\xefcdab89674523011032547698badcfe');

DROP TABLE people;

--
-- In a database without an encoding, messages show whole characters of the client
--
SELECT current_database() AS here \gset
CREATE DATABASE regress_comb_ascii ENCODING 'SQL_ASCII' LOCALE 'C' TEMPLATE template0;
\c regress_comb_ascii
SET client_encoding = 'UTF8';
SET max_parallel_workers = 0; -- workers do not have the client's encoding
SET client_min_messages = warning;
CREATE EXTENSION pg_comb;
SELECT comb_generate(repeat(convert_from('\xc3a9', 'SQL_ASCII'), 100));
SELECT comb_parse('01' || repeat(convert_from('\xe282ac', 'SQL_ASCII'), 100));
SELECT comb_parse('01h455vb4p' || convert_from('\xf09f9880', 'SQL_ASCII') || 'x5vsknk084sn');
SELECT comb_parse(convert_from('\xc3a9', 'SQL_ASCII') || '_01h455vb4pex5vsknk084sn02q', 'e');
\c :"here"
DROP DATABASE regress_comb_ascii;
