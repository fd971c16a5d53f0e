-- Keys that hide their time: vectors, an independent SipHash, and properties of many
-- random values
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

SELECT plan(17);

--
-- Published vectors
--
CREATE TEMP TABLE vector (key text, id uuid, masked uuid, source text);
\copy vector FROM 'test/data/uuidv47_vectors.csv' (FORMAT csv, HEADER)
SELECT is(count(*), 7::bigint, 'all vectors') FROM vector;
SELECT is_empty($$SELECT * FROM vector WHERE comb_mask(id, decode(key, 'hex')) IS DISTINCT FROM masked$$,
                'comb_mask gives the published vectors');
SELECT is_empty($$SELECT * FROM vector WHERE comb_unmask(masked, decode(key, 'hex')) IS DISTINCT FROM id$$,
                'comb_unmask takes them back');

--
-- SipHash-2-4 in SQL, for messages of any length.  It gives SipHash's own vectors, and
-- comb_mask() must agree with it on any message of ten bytes.
--
CREATE FUNCTION pg_temp.plus(a bigint, b bigint) RETURNS bigint IMMUTABLE LANGUAGE sql AS $$
	SELECT (((a >> 32) + (b >> 32) + (((a & 4294967295) + (b & 4294967295)) >> 32)) << 32)
	       | (((a & 4294967295) + (b & 4294967295)) & 4294967295)
$$;
CREATE FUNCTION pg_temp.rotate(a bigint, n int) RETURNS bigint IMMUTABLE LANGUAGE sql AS $$
	SELECT (a << n) | ((a >> (64 - n)) & ((1::bigint << n) - 1))
$$;
CREATE FUNCTION pg_temp.word(bytes bytea) RETURNS bigint IMMUTABLE LANGUAGE sql AS $$
	SELECT bit_or(get_byte(bytes, i)::bigint << (8 * i)) FROM generate_series(0, 7) i
$$;
CREATE FUNCTION pg_temp.sip_round(v bigint[]) RETURNS bigint[] IMMUTABLE LANGUAGE plpgsql AS $$
BEGIN
	v[1] := pg_temp.plus(v[1], v[2]); v[2] := pg_temp.rotate(v[2], 13) # v[1]; v[1] := pg_temp.rotate(v[1], 32);
	v[3] := pg_temp.plus(v[3], v[4]); v[4] := pg_temp.rotate(v[4], 16) # v[3];
	v[1] := pg_temp.plus(v[1], v[4]); v[4] := pg_temp.rotate(v[4], 21) # v[1];
	v[3] := pg_temp.plus(v[3], v[2]); v[2] := pg_temp.rotate(v[2], 17) # v[3]; v[3] := pg_temp.rotate(v[3], 32);
	RETURN v;
END
$$;
CREATE FUNCTION pg_temp.siphash(message bytea, key bytea) RETURNS bigint IMMUTABLE LANGUAGE plpgsql AS $$
DECLARE
	start constant bytea := 'uespemosmodnarodarenegylsetybdet';	-- "somepseudorandomlygeneratedbytes", each word from its end
	k0 constant bigint := pg_temp.word(substr(key, 1, 8));
	k1 constant bigint := pg_temp.word(substr(key, 9, 8));
	padded bytea := message || substr('\x00000000000000'::bytea, 1, 7 - length(message) % 8)
		|| set_byte('\x00', 0, length(message) % 256);
	v bigint[] := ARRAY[k0 # pg_temp.word(substr(start, 1, 8)), k1 # pg_temp.word(substr(start, 9, 8)),
		k0 # pg_temp.word(substr(start, 17, 8)), k1 # pg_temp.word(substr(start, 25, 8))];
	word bigint;
BEGIN
	FOR i IN 0 .. length(padded) / 8 - 1 LOOP
		word := pg_temp.word(substr(padded, 8 * i + 1, 8));
		v[4] := v[4] # word;
		v := pg_temp.sip_round(pg_temp.sip_round(v));
		v[1] := v[1] # word;
	END LOOP;
	v[3] := v[3] # 255;
	v := pg_temp.sip_round(pg_temp.sip_round(pg_temp.sip_round(pg_temp.sip_round(v))));
	RETURN v[1] # v[2] # v[3] # v[4];
END
$$;

CREATE TEMP TABLE sip (length int, hash text, source text);
\copy sip FROM 'test/data/siphash_vectors.csv' (FORMAT csv, HEADER)
SELECT is(count(*), 64::bigint, 'all vectors of SipHash') FROM sip;
SELECT is_empty($$
	SELECT length FROM sip
	WHERE pg_temp.siphash(coalesce((SELECT string_agg(set_byte('\x00', 0, i), '' ORDER BY i) FROM generate_series(0, length - 1) i), ''),
	                      '\x000102030405060708090a0b0c0d0e0f') <> pg_temp.word(decode(hash, 'hex'))$$,
	'the hash in SQL gives them');

-- The mask by its definition
CREATE FUNCTION pg_temp.masked(id uuid, key bytea) RETURNS uuid IMMUTABLE LANGUAGE sql AS $$
	SELECT (left(t, 8) || '-' || right(t, 4) || '-4' || substr(id::text, 16))::uuid
	FROM (SELECT lpad(to_hex((pg_temp.siphash(set_byte(set_byte(rest, 0, get_byte(rest, 0) & 15), 2, get_byte(rest, 2) & 63), key)
	                 & 281474976710655) # ('x' || left(replace(id::text, '-', ''), 12))::bit(48)::bigint), 12, '0') AS t
	      FROM (SELECT substr(uuid_send(id), 7) AS rest) r) s
$$;

--
-- Random values
--
CREATE FUNCTION pg_temp.version(id uuid, version int, variant int) RETURNS uuid IMMUTABLE LANGUAGE sql AS $$
	SELECT overlay(overlay(id::text PLACING to_hex(version) FROM 15) PLACING to_hex(variant) FROM 20)::uuid
$$;
CREATE TEMP TABLE random AS
SELECT pg_temp.version(md5(random()::text || i)::uuid, 7, 8 + i % 4) AS id,
       decode(md5(random()::text || -i), 'hex') AS key, decode(md5(random()::text || i / 10), 'hex') AS other
FROM generate_series(1, :n) i;
SELECT is(count(*), :n::bigint, 'as many keys as asked for') FROM random;
SELECT is_empty('SELECT id, key FROM (SELECT * FROM random LIMIT 500) s WHERE comb_mask(id, key) <> pg_temp.masked(id, key)',
                'comb_mask is UUIDv47 by its definition');

CREATE TEMP TABLE masked AS SELECT id, key, other, comb_mask(id, key) AS m FROM random;
CREATE TEMP TABLE counted AS
SELECT count(*) FILTER (WHERE m IS NULL) AS none,
       count(*) FILTER (WHERE comb_unmask(m, key) IS DISTINCT FROM id) AS back,
       count(*) FILTER (WHERE comb_mask(comb_unmask(pg_temp.version(id, 4, 8), key), key) IS DISTINCT FROM pg_temp.version(id, 4, 8)) AS forth,
       count(*) FILTER (WHERE substr(m::text, 15, 1) <> '4') AS version,
       count(*) FILTER (WHERE substr(m::text, 16) <> substr(id::text, 16)) AS rest,
       count(*) FILTER (WHERE left(m::text, 13) = left(id::text, 13)) AS same_time,
       count(*) FILTER (WHERE comb_unmask(m, other) = id) AS other_key,
       count(*) FILTER (WHERE comb_mask(pg_temp.version(id, v, 8), key) IS NOT NULL AND v <> 7
                           OR comb_unmask(pg_temp.version(id, v, 8), key) IS NOT NULL AND v <> 4) AS versions,
       count(*) FILTER (WHERE comb_mask(pg_temp.version(id, 7, w), key) IS NOT NULL
                           OR comb_unmask(pg_temp.version(id, 4, w), key) IS NOT NULL) AS variants
FROM (SELECT *, get_byte(other, 0) % 16 AS v, (get_byte(other, 1) % 12 + 12) % 16 AS w FROM masked) s;
SELECT is(none, 0::bigint, 'all are masked') FROM counted;
SELECT is(back, 0::bigint, 'the mask comes off') FROM counted;
SELECT is(forth, 0::bigint, 'and goes on again') FROM counted;
SELECT is(version, 0::bigint, 'masked keys have version 4') FROM counted;
SELECT is(rest, 0::bigint, 'nothing after the version changes') FROM counted;
SELECT is(same_time, 0::bigint, 'the time is another one') FROM counted;
SELECT is(other_key, 0::bigint, 'another key does not take the mask off') FROM counted;
SELECT is(versions, 0::bigint, 'NULL for other versions') FROM counted;
SELECT is(variants, 0::bigint, 'NULL for other variants') FROM counted;

-- Each of the 48 bits of the mask is set as often as not.  The bounds are six standard
-- deviations apart.
SELECT is_empty(format($$
	SELECT bit FROM (SELECT uuid_send(id) AS a, uuid_send(m) AS b FROM masked LIMIT 20000) s, generate_series(0, 47) bit
	GROUP BY bit
	HAVING abs(count(*) FILTER (WHERE get_bit(a, bit) <> get_bit(b, bit)) - count(*) / 2.0) > 6 * sqrt(count(*)) / 2$$),
	'each bit of the mask is random');

SELECT * FROM finish();
ROLLBACK;
