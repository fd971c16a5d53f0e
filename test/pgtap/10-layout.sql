-- Properties of reading, stamping and bounding keys, over random times and ids
--
-- Every run draws other values.  A failure names the seed; to repeat the run, use
--     pg_prove --set seed=0.123456 ... test/pgtap/10-layout.sql
--
-- The expected values come from the milliseconds as a number, by to_hex() and
-- text, and not from the functions under test.
SET client_min_messages = warning;
BEGIN;
CREATE EXTENSION IF NOT EXISTS pgtap;
\if :{?portable}
\else
CREATE EXTENSION IF NOT EXISTS pg_comb;
\endif

\ir include/seed.sql

SELECT plan(27);

-- The instant "us" microseconds after 1970, exact from 4713 BC to the year 18000.
-- PostgreSQL multiplies an interval in float8, so the parts stay small.
CREATE FUNCTION pg_temp.instant(us bigint) RETURNS timestamptz LANGUAGE sql AS $$
  SELECT timestamptz '1970-01-01 00:00:00+00' + (us / 1000000) * interval '1 second'
                                              + (us % 1000000) * interval '1 microsecond'
$$;

-- A uuid with the given milliseconds, the digit of the version, and 74 bits.  The
-- text "rest" has 20 hex digits: 3 digits, a digit of which the low two bits
-- count, 15 digits, and a spare digit.
CREATE FUNCTION pg_temp.uuid_of(ms bigint, version text, rest text) RETURNS uuid LANGUAGE sql AS $$
  SELECT (lpad(to_hex(ms), 12, '0') || version || substr(rest, 1, 3)
          || translate(substr(rest, 4, 1), '0123456789abcdef', '89ab89ab89ab89ab')
          || substr(rest, 5, 15))::uuid
$$;

-- The last millisecond that 48 bits hold
\set last_ms 281474976710655

-- Instants as microseconds after 1970: anywhere in the layout, around now, on
-- both sides of whole milliseconds, around both ends, and far outside
CREATE TEMP TABLE instants AS
SELECT DISTINCT us, pg_temp.instant(us) AS at
FROM (SELECT (random() * :last_ms)::bigint * 1000 + (random() * 999)::bigint
      FROM generate_series(1, 4000)
      UNION ALL
      SELECT 1790000000000000 + (random() * 1e15)::bigint FROM generate_series(1, 2000)
      UNION ALL
      SELECT (random() * :last_ms)::bigint * 1000 + d
      FROM generate_series(1, 500), unnest('{-999, -1, 0, 1, 500, 999}'::int[]) d
      UNION ALL
      SELECT edge + d
      FROM unnest(ARRAY[0, 946684800000000, :last_ms * 1000]) edge,
           unnest('{-1001, -1000, -999, -1, 0, 1, 499, 999, 1000, 1001, 1999, 2000}'::int[]) d
      UNION ALL
      SELECT -(random() * 2.1e17)::bigint FROM generate_series(1, 200)
      UNION ALL
      SELECT :last_ms * 1000 + (random() * 8.9e18)::bigint FROM generate_series(1, 200)
     ) drawn (us)
WHERE us BETWEEN -210866803200000000 AND 9223000000000000000;
ALTER TABLE instants ADD ms bigint;
UPDATE instants SET ms = floor(us / 1000::numeric);
ANALYZE instants;

SELECT cmp_ok(count(*), '>', 8000::bigint, 'enough instants' || :'why') FROM instants;
SELECT ok(bool_or(at < '0001-01-01') AND bool_or(at > '200000-01-01')
          AND bool_or(ms < 0) AND bool_or(ms = 0) AND bool_or(ms = :last_ms)
          AND bool_or(ms > :last_ms), 'instants on all sides' || :'why') FROM instants;
SELECT is_empty(
  $$ SELECT us, at FROM instants
     WHERE ms <= 281474976710656 AND date_trunc('milliseconds', at) <> pg_temp.instant(ms * 1000) LIMIT 3 $$,
  'instants are what they should be' || :'why');

-- For each instant, the keys that could lie on the wrong side of a bound: keys
-- of the same millisecond and of its neighbours, with all other bits zero, all
-- one, and random
CREATE TEMP TABLE pairs AS
SELECT us, at, k.ms, pg_temp.uuid_of(k.ms, '7', rest) AS id
FROM instants i, generate_series(-1, 1) d,
     LATERAL (SELECT least(greatest(i.ms + d, 0), :last_ms)) k (ms),
     LATERAL (VALUES (repeat('0', 20)), (repeat('f', 20)), (substr(md5(random()::text || us), 1, 20))) r (rest);
INSERT INTO pairs
SELECT us, at, k.ms, pg_temp.uuid_of(k.ms, '7', substr(md5(random()::text || us), 1, 20))
FROM instants, LATERAL (SELECT (random() * :last_ms)::bigint + us * 0) k (ms);
INSERT INTO pairs
SELECT NULL, inf, k.ms, pg_temp.uuid_of(k.ms, '7', rest)
FROM (VALUES ('-infinity'::timestamptz), ('infinity')) i (inf),
     (VALUES (0::bigint), (1), (:last_ms - 1), (:last_ms)) k (ms),
     (VALUES (repeat('0', 20)), (repeat('f', 20))) r (rest);
ALTER TABLE pairs ADD made timestamptz;
UPDATE pairs SET made = pg_temp.instant(ms * 1000);

--
-- comb_timestamp
--
SELECT is_empty(
  $$ SELECT id, made, comb_timestamp(id) FROM pairs
     WHERE comb_timestamp(id) IS DISTINCT FROM made LIMIT 3 $$,
  'comb_timestamp gives the milliseconds of the first 48 bits' || :'why');
SELECT is_empty(
  $$ SELECT id, comb_timestamp(id)
     FROM (SELECT pg_temp.uuid_of(ms, to_hex(v), substr(md5(ms::text), 1, 20)) AS id
           FROM instants, generate_series(0, 15) v
           WHERE v <> 7 AND ms BETWEEN 0 AND 281474976710655) other
     WHERE comb_timestamp(id) IS NOT NULL LIMIT 3 $$,
  'comb_timestamp is NULL for all other versions' || :'why');
SELECT is_empty(
  $$ SELECT id, comb_timestamp(id)
     FROM (SELECT overlay(id::text PLACING digit FROM 20 FOR 1)::uuid AS id
           FROM pairs, unnest('{0,1,2,3,4,5,6,7,c,d,e,f}'::text[]) digit) other
     WHERE comb_timestamp(id) IS NOT NULL LIMIT 3 $$,
  'comb_timestamp is NULL for all other variants' || :'why');
SELECT is_empty(
  $$ SELECT id FROM (SELECT gen_random_uuid() AS id FROM generate_series(1, 20000)) v4
     WHERE comb_timestamp(id) IS NOT NULL LIMIT 3 $$,
  'comb_timestamp is NULL for random uuids');

--
-- comb_min and comb_max: the four equivalences
--
SELECT is_empty(
  $$ SELECT id, made, at, comb_min(at) FROM pairs
     WHERE (made >= at) <> (id >= comb_min(at)) LIMIT 3 $$,
  'ts >= x if and only if id >= comb_min(x)' || :'why');
SELECT is_empty(
  $$ SELECT id, made, at, comb_min(at) FROM pairs
     WHERE (made < at) <> (id < comb_min(at)) LIMIT 3 $$,
  'ts < x if and only if id < comb_min(x)' || :'why');
SELECT is_empty(
  $$ SELECT id, made, at, comb_max(at) FROM pairs
     WHERE (made <= at) <> (id <= comb_max(at)) LIMIT 3 $$,
  'ts <= x if and only if id <= comb_max(x)' || :'why');
SELECT is_empty(
  $$ SELECT id, made, at, comb_max(at) FROM pairs
     WHERE (made > at) <> (id > comb_max(at)) LIMIT 3 $$,
  'ts > x if and only if id > comb_max(x)' || :'why');
SELECT ok(bool_or(made > at) AND bool_or(made = at) AND bool_or(made < at)
          AND bool_or(id = comb_min(at)) AND bool_or(id = comb_max(at)),
          'the pairs have keys before, at and after, and the bounds themselves' || :'why')
FROM pairs;
SELECT is_empty(
  $$ SELECT at FROM (SELECT at, lag(at) OVER w AS before FROM instants WINDOW w AS (ORDER BY at)) i
     WHERE comb_min(before) > comb_min(at) OR comb_max(before) > comb_max(at) LIMIT 3 $$,
  'a later instant has no smaller bound' || :'why');
SELECT is_empty(
  $$ SELECT at, comb_min(at), comb_max(at) FROM instants
     WHERE ms BETWEEN 0 AND 281474976710655
       AND ((us % 1000 = 0) <> (comb_timestamp(comb_min(at)) IS NOT DISTINCT FROM at)
            OR comb_timestamp(comb_max(at)) <> pg_temp.instant(ms * 1000)
            OR (us % 1000 = 0) <> (comb_min(at) <= comb_max(at))) LIMIT 3 $$,
  'bounds of an instant are of its millisecond, and inside one there is none' || :'why');

--
-- comb_stamp
--
CREATE TEMP TABLE stamped AS
SELECT base, at, i.ms, comb_stamp(base, at) AS id
FROM instants i,
     LATERAL (VALUES (overlay(overlay(md5(random()::text || us) PLACING '4' FROM 13 FOR 1)
                              PLACING 'a' FROM 17 FOR 1)::uuid), -- version 4
                     (md5(random()::text || us)::uuid),
                     ('00000000-0000-0000-0000-000000000000'),
                     ('ffffffff-ffff-ffff-ffff-ffffffffffff')) b (base)
WHERE ms BETWEEN 0 AND :last_ms;

SELECT is_empty(
  $$ SELECT base, at, id FROM stamped
     WHERE comb_timestamp(id) IS DISTINCT FROM date_trunc('milliseconds', at) LIMIT 3 $$,
  'comb_timestamp gives back what comb_stamp wrote' || :'why');
SELECT is_empty(
  $$ SELECT base, at, id FROM stamped
     WHERE id <> pg_temp.uuid_of(ms, '7', substr(base::text, 16, 3)
                                          || translate(substr(base::text, 20), '-', '')) LIMIT 3 $$,
  'comb_stamp keeps all bits but time, version and variant' || :'why');
SELECT is_empty(
  $$ SELECT base, at, id FROM stamped
     WHERE comb_stamp(base, at) <> id OR comb_stamp(id, at) <> id
        OR comb_stamp(comb_stamp(base, '2026-11-20'), at) <> id LIMIT 3 $$,
  'comb_stamp always gives the same, also when done again' || :'why');
SELECT is_empty(
  $$ SELECT base, at, id FROM stamped WHERE NOT id BETWEEN comb_min(pg_temp.instant(ms * 1000)) AND comb_max(at) LIMIT 3 $$,
  'stamped keys are inside the bounds of their time' || :'why');

--
-- comb_at
--
SELECT is_empty(
  $$ SELECT at, comb_at(at) FROM instants
     WHERE ms BETWEEN 0 AND 281474976710655
       AND comb_timestamp(comb_at(at)) IS DISTINCT FROM date_trunc('milliseconds', at) LIMIT 3 $$,
  'comb_timestamp gives back what comb_at wrote' || :'why');
SELECT is_empty(
  $$ SELECT us FROM (SELECT us, id, lag(id) OVER (ORDER BY us) AS before
                     FROM (SELECT i.ms * 1000 + u AS us, comb_at(pg_temp.instant(i.ms * 1000 + u)) AS id
                           FROM (SELECT DISTINCT ms FROM instants
                                 WHERE ms BETWEEN 0 AND 281474976710655
                                 ORDER BY ms DESC LIMIT 20) i,
                                generate_series(0, 999) u) made) lagged
     WHERE id <= before LIMIT 3 $$,
  'comb_at keeps the order of microseconds in a millisecond' || :'why');
SELECT is(count(DISTINCT id), 200000::bigint, 'comb_at never gives the same key for one instant')
FROM (SELECT comb_at('2026-11-20 04:22:18.367999+00') AS id FROM generate_series(1, 200000)) made;
-- the first eight bytes have two of the bits below the microsecond
SELECT cmp_ok(count(DISTINCT left(id::text, 18)), '>', 1::bigint, 'nor always the same bits below the microsecond')
FROM (SELECT comb_at('2026-11-20 04:22:18.367999+00') AS id FROM generate_series(1, 1000)) made;
-- each of the 56 random bits is set in about half of the keys: 632 is 20 standard
-- deviations of 4000 draws
SELECT is_empty(
  $$ SELECT b, count(*) FILTER (WHERE get_bit(bits, b) = 1)
     FROM (SELECT ('x' || translate(substr(comb_at('2026-11-20')::text, 20), '-', ''))::bit(64) AS bits
           FROM generate_series(1, 4000)) made, generate_series(8, 63) b
     GROUP BY b HAVING abs(count(*) FILTER (WHERE get_bit(bits, b) = 1) - 2000) > 632 $$,
  'each of the last 56 bits of comb_at is random');

--
-- Partition bounds (comb_min and comb_time_decoder)
--
SELECT is_empty(
  $$ SELECT at FROM instants
     WHERE us BETWEEN 0 AND 281474976710655000
       AND comb_time_decoder(comb_min(at)::text) <> at + (999 - (us + 999) % 1000) * interval '1 microsecond' LIMIT 3 $$,
  'the decoder reads a bound as its first whole millisecond' || :'why');
SELECT is_empty(
  $$ SELECT b, comb_min(b)
     FROM generate_series('1970-01-01 00:00:00+00'::timestamptz, '2100-01-01 00:00:00+00', '1 day 1 second') b
     WHERE comb_time_decoder(comb_min(b)::text) IS DISTINCT FROM b LIMIT 3 $$,
  'the same for bounds of days and seconds');
SELECT is_empty(
  $$ SELECT id FROM pairs
     WHERE comb_time_decoder(id::text) IS DISTINCT FROM made
        OR comb_time_decoder('{' || upper(id::text) || '}') IS DISTINCT FROM made
        OR comb_time_decoder(translate(id::text, '-', '')) IS DISTINCT FROM made LIMIT 3 $$,
  'comb_time_decoder reads every spelling of a key' || :'why');

--
-- Times that no key can hold
--
CREATE FUNCTION pg_temp.sqlstate_of(call text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE call;
  RETURN '00000';
EXCEPTION WHEN OTHERS THEN
  RETURN SQLSTATE;
END $$;
SELECT is_empty(
  $$ SELECT at, call, pg_temp.sqlstate_of(format(call, at))
     FROM (SELECT at FROM instants WHERE NOT ms BETWEEN 0 AND 281474976710655
           UNION VALUES ('infinity'::timestamptz), ('-infinity')) outside,
          unnest('{SELECT comb_at(%L),
                   "SELECT comb_stamp(''919108f7-52d1-4320-9bac-f847db4148a8'', %L)"}'::text[]) call
     WHERE pg_temp.sqlstate_of(format(call, at)) <> '22008' LIMIT 3 $$,
  'a time outside is refused with 22008' || :'why');

SELECT * FROM finish();
ROLLBACK;
