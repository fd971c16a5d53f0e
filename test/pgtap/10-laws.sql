-- What must hold for every input: edges, published vectors, and random values
--
-- Each law is a condition on the rows of a table of inputs.  A failure shows the first row
-- that breaks the law.  Every run draws other random values from a seed, which the names
-- of the tests have; n says how many of each kind.  To repeat a run, or for a deeper one:
--     pg_prove --set seed=0.123456 --set n=200 ... test/pgtap/10-laws.sql
-- test/t/080_fuzz.pl does so for some seconds.  The functions of sql/portable give the same as
-- these on random values, see test/t/070_portable.pl.
--
-- The expected values come from the digits of the text, and not from the functions
-- under test.
SET client_min_messages = warning;
SET timezone = 'UTC';
SET jit = off;
BEGIN;
CREATE EXTENSION IF NOT EXISTS pgtap;
CREATE EXTENSION IF NOT EXISTS pg_comb;
-- each process keeps the order of its own keys
SET LOCAL max_parallel_workers_per_gather = 0;

\ir include/seed.sql
\ir include/in_order.sql
\ir include/law.sql
\if :{?n}
\else
\set n 50
\endif

SELECT no_plan();

CREATE FUNCTION nil() RETURNS uuid IMMUTABLE LANGUAGE sql AS $$ SELECT '00000000-0000-0000-0000-000000000000'::uuid $$;
CREATE FUNCTION ones() RETURNS uuid IMMUTABLE LANGUAGE sql AS $$ SELECT 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid $$;
CREATE FUNCTION random_id() RETURNS uuid VOLATILE LANGUAGE sql AS 'SELECT md5(random()::text)::uuid';
CREATE FUNCTION digits(id uuid) RETURNS text IMMUTABLE LANGUAGE sql AS $$ SELECT replace(id::text, '-', '') $$;
CREATE FUNCTION bits(id uuid) RETURNS bit(128) IMMUTABLE LANGUAGE sql AS $$ SELECT ('x' || digits(id))::bit(128) $$;
CREATE FUNCTION number(hex text) RETURNS bigint IMMUTABLE LANGUAGE sql AS
$$ SELECT ('x' || lpad(hex, 16, '0'))::bit(64)::bigint $$;
-- PostgreSQL multiplies an interval in float8, so the parts stay small.
CREATE FUNCTION later(at timestamptz, us bigint) RETURNS timestamptz IMMUTABLE LANGUAGE sql AS
$$ SELECT at + us / 86400000000 * interval '1 day' + us % 86400000000 * interval '1 microsecond' $$;
-- A random uuid of a version, with a digit of the variant
CREATE FUNCTION random_of(version int, variant int) RETURNS uuid VOLATILE LANGUAGE sql AS $$
  SELECT overlay(overlay(random_id()::text PLACING to_hex(version) FROM 15) PLACING to_hex(variant) FROM 20)::uuid
$$;
-- Kinds that break things: any bits, one bit set, one bit clear
CREATE FUNCTION strange_id(kind int) RETURNS uuid VOLATILE LANGUAGE sql AS $$
  SELECT CASE kind % 4
    WHEN 0 THEN encode(set_bit('\x00000000000000000000000000000000'::bytea, (random() * 127)::int, 1), 'hex')::uuid
    WHEN 1 THEN encode(set_bit('\xffffffffffffffffffffffffffffffff'::bytea, (random() * 127)::int, 0), 'hex')::uuid
    ELSE random_id() END
$$;
CREATE FUNCTION state(expression text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE 'SELECT ' || expression;
  RETURN 'accepted';
EXCEPTION WHEN OTHERS THEN
  RETURN SQLSTATE;
END $$;

--
-- Layouts, and what their keys look like
--
CREATE TABLE given AS SELECT layout, generates, sorts_in, resolution, earliest, latest FROM comb_layouts();
-- "form" is a pattern of the keys that have a time.  "free" bits are not the time's
-- nor a demanded version's.  "random" are those of new keys, less the bits that new keys
-- take for the time in a unit.
CREATE TABLE layout AS
SELECT given.*, unit,
       CASE layout WHEN 'uuidv7' THEN '^.{14}7.{4}[89ab]' WHEN 'uuidv1' THEN '^.{14}1.{4}[89ab]'
                   WHEN 'uuidv6' THEN '^.{14}6.{4}[89ab]' WHEN 'newsequentialid' THEN '^.{16}1.{2}[89ab]'
                   WHEN 'laravel' THEN '^.{14}4.{4}[89ab]' WHEN 'uuid7_pypi' THEN '^.{14}7.{4}[89ab]'
                   WHEN 'behind_v4' THEN '^ffffff.{8}8.{4}[89ab]'
                   WHEN 'uuidv1_swapped' THEN '^1.{18}[89ab]' WHEN 'hibernate' THEN '^.{19}[012389ab]'
                   ELSE '' END AS form,
       CASE WHEN layout IN ('uuidv7', 'laravel', 'uuid7_pypi') THEN 74
            WHEN layout IN ('uuidv1', 'uuidv6', 'newsequentialid', 'uuidv1_swapped') THEN 62
            WHEN layout = 'hibernate' THEN 81 WHEN layout = 'behind_v4' THEN 56 WHEN resolution = '100 ns' THEN 64 ELSE 80 END AS free,
       CASE WHEN layout IN ('uuidv7', 'laravel') OR layout LIKE 'rtcomb%' OR layout = 'nhibernate' THEN 74
            WHEN layout = 'morris' THEN 64 WHEN layout = 'efcore' THEN 60 WHEN layout = 'behind_v4' THEN 56 ELSE 80 END AS random,
       (SELECT bits(comb_stamp(nil(), earliest, layout)) # bits(comb_stamp(ones(), earliest, layout))) AS kept
FROM given JOIN (VALUES ('1 ms', interval '1 ms'), ('1/300 s', '3.334 ms'), ('3.333333 ms', '3.334 ms'),
                        ('10 us', '10 us'), ('1/4096 s', '245 us'), ('100 ns', '1 us')) u (resolution, unit) USING (resolution);
INSERT INTO law (inputs, name, holds) VALUES
('layout', 'so many bits are not the time''s nor a demanded version''s',
  $$length(replace(kept::text, '0', '')) = free$$);

--
-- Reading any uuid
--
-- The time's digits, as a number that counts units
CREATE FUNCTION time_digits(id uuid, layout text, sorts_in text, resolution text) RETURNS text
IMMUTABLE LANGUAGE plpgsql AS $$
DECLARE
  h text := digits(in_order(id, CASE layout WHEN 'newsequentialid' THEN 'raw .NET bytes' ELSE sorts_in END));
BEGIN
  RETURN CASE WHEN layout = 'uuidv6' THEN left(h, 12) || substr(h, 14, 3)
              WHEN layout = 'uuidv1_swapped' THEN substr(h, 2, 15)
              WHEN layout = 'hibernate' THEN overlay(substr(h, 17, 12) PLACING
                to_hex(number(substr(h, 17, 1)) & 7) FROM 1)
              WHEN layout = 'behind_v4' THEN to_hex((substring(bits(id), 25, 24) || substring(bits(id), 53, 12)
                || substring(bits(id), 67, 6))::bit(42)::bigint)
              WHEN sorts_in IS NULL THEN substr(h, 14, 3) || substr(h, 9, 4) || left(h, 8)
              WHEN resolution = '100 ns' THEN left(h, 16) ELSE left(h, 12) END;
END $$;
-- Ids of any layout, and those with a number of units around the end of a day
CREATE TABLE any_id AS
SELECT l.*, i.id, comb_timestamp(i.id, layout) AS created, time_digits(i.id, layout, sorts_in, resolution) AS field
FROM layout l, LATERAL (
  SELECT strange_id(n) FROM generate_series(1, 5 * :n) n
  UNION ALL SELECT unnest(ARRAY[nil(), ones()])
  UNION ALL SELECT random_of(n % 16, n / 16) FROM generate_series(0, 255) n
  UNION ALL SELECT ('ffffff' || substr(random_of(7 + n % 3, n % 16)::text, 7))::uuid FROM generate_series(0, 47) n
  UNION ALL SELECT in_order(overlay(digits(random_id()) PLACING 'b0ea' || lpad(to_hex(u), 8, '0')
                                    FROM CASE sorts_in WHEN 'SQL Server' THEN 21 ELSE 1 END)::uuid,
                            nullif(sorts_in, 'SQL Server'))
  FROM unnest('{-1, 0, 25919999, 25920000, 25920001, 25920002, 25920003}'::int[]) u) i (id);
ALTER TABLE any_id ADD days bigint, ADD units bigint, ADD us bigint;
UPDATE any_id SET days = number(left(field, 4)), units = number(substr(field, 5)),
                  us = extract(epoch FROM created::time) * 1000000;
INSERT INTO law (inputs, name, holds) VALUES
('any_id', 'a key''s time is the number in its digits', $$resolution = '3.333333 ms' OR
  created IS NOT DISTINCT FROM CASE
    WHEN id::text !~ form THEN NULL
    WHEN resolution = '1 ms' THEN later(earliest, number(field) * 1000)
    WHEN resolution = '10 us' THEN later(earliest, number(field) * 10)
    WHEN resolution = '1/4096 s' THEN later(earliest, (number(field) * 15625 + 63) / 64)
    WHEN resolution = '100 ns' THEN
      CASE WHEN number(field) BETWEEN 0 AND 9223372036854775799 THEN later(earliest, number(field) / 10) END
    WHEN units < 25920000 THEN later(earliest + days * interval '1 day', (units * 10000 + 2) / 3) END$$),
('any_id', 'NHibernate''s time is the first of the number of its field', $$resolution <> '3.333333 ms' OR
  (created IS NOT NULL) = (units < 25920003) AND (created IS NULL OR
    floor((us * 10 / 10000::float8) / 3.333333::float8) = units AND
    (units = 0 OR floor(((us - 1) * 10 / 10000::float8) / 3.333333::float8) = units - 1))$$),
('any_id', 'a key stamped with its own time is itself', $$created IS NULL OR
  created BETWEEN earliest AND latest AND comb_stamp(id, created, layout) = id$$);

--
-- Stamping, and bounds in the order of the layout's database
--
-- Beyond the ends of a layout there is no key for a bound.  The bound is an error if
-- the nil uuid, or the uuid of all ones, is a key; here it is then NULL.
CREATE FUNCTION bound(name text, at timestamptz, layout text) RETURNS uuid LANGUAGE plpgsql AS $$
BEGIN
  RETURN CASE name WHEN 'min' THEN comb_min(at, layout) ELSE comb_max(at, layout) END;
EXCEPTION WHEN datetime_field_overflow THEN
  RETURN NULL;
END $$;
-- Instants: anywhere in the layout, whole milliseconds and times between them, the last
-- and the first units of a day, where NHibernate's floating point differs from exact
-- arithmetic, around both ends, and outside
CREATE TABLE instant AS
SELECT l.*, at, CASE WHEN sorts_in <> '' THEN bound('min', at, layout) END AS min,
       CASE WHEN sorts_in <> '' THEN bound('max', at, layout) END AS max
FROM layout l, LATERAL (
  SELECT date_trunc((ARRAY['milliseconds', 'seconds', 'microseconds'])[1 + n % 3],
                    earliest + random() * (latest - earliest))
  FROM generate_series(1, :n) n
  UNION ALL SELECT timestamptz '2026-11-20' + (random() * 86399999999)::bigint * interval '1 us'
  FROM generate_series(1, :n)
  UNION ALL SELECT timestamptz '2026-11-20' + d * interval '1 us' FROM generate_series(-11000, 10000, 331) d
  UNION ALL SELECT timestamptz '2026-11-20' + (u + d) * interval '1 us'
  FROM unnest('{23333331, 43333329, 46666662}'::int[]) u, generate_series(-5, 5) d
  UNION ALL SELECT e + d * interval '1 us' FROM unnest(ARRAY[earliest, latest]) e,
                   unnest('{-3334, -3333, -1001, -1000, -1, 0, 1, 999, 1000, 3333, 3334}'::int[]) d
  UNION ALL SELECT unnest('{-infinity, infinity, 4000-01-01 BC, 200000-01-01}'::timestamptz[])) i (at);
ALTER TABLE instant ADD lower uuid, ADD upper uuid;
UPDATE instant SET lower = in_order(min, sorts_in), upper = in_order(max, sorts_in);
-- A unit can be longer than a microsecond.  The neighbours of an instant are therefore
-- the instant, the start of its unit and the starts of the next and the previous one, each
-- with the smallest, the largest and some other bits.  Bounds are keys as well.
CREATE TABLE stamped AS
SELECT i.*, near, base, comb_stamp(base, near, layout) AS id
FROM instant i,
     LATERAL (SELECT greatest(least(at + d * interval '1 us', latest), earliest)
              FROM unnest('{-3334, -1000, -1, 0, 1, 1000, 3334}'::int[]) d WHERE isfinite(at)
              UNION SELECT unnest(ARRAY[earliest, latest, '2026-11-20'])) s (near),
     LATERAL (VALUES (nil()), (ones()), (random_of((random() * 15)::int, 8))) b (base);
ALTER TABLE stamped ADD created timestamptz;
UPDATE stamped SET created = comb_timestamp(id, layout);
CREATE TABLE neighbour AS
SELECT layout, sorts_in, at, lower, upper, id, created FROM stamped WHERE sorts_in IS NOT NULL
UNION ALL
SELECT layout, sorts_in, at, lower, upper, b.id, comb_timestamp(b.id, layout)
FROM instant, unnest(ARRAY[min, max, nil(), ones()]) b (id)
WHERE sorts_in IS NOT NULL AND comb_timestamp(b.id, layout) IS NOT NULL;
ALTER TABLE neighbour ADD k uuid;
UPDATE neighbour SET k = in_order(id, sorts_in);
INSERT INTO law (inputs, name, holds) VALUES
('stamped', 'a stamped key has the start of the unit that the instant is in',
  $$created <= near AND near < created + unit
  AND (resolution IN ('1/300 s', '3.333333 ms', '1/4096 s') OR
       resolution = '10 us' AND created = near - extract(us FROM near)::int % 10 * interval '1 us' OR
       created = date_trunc(CASE resolution WHEN '1 ms' THEN 'milliseconds' ELSE 'microseconds' END, near))$$),
('stamped', 'fields of days and units are what the originals compute',
  $$layout NOT IN ('rtcomb_legacy', 'nhibernate') OR
  right(id::text, 12) = lpad(to_hex(near::date - date '1900-01-01'), 4, '0') || lpad(to_hex(CASE layout
      WHEN 'rtcomb_legacy' THEN floor(extract(epoch FROM near::time)::numeric * 300)
      ELSE floor((extract(epoch FROM near::time)::float8 * 1000000 * 10 / 10000) / 3.333333::float8) END::bigint), 8, '0')$$),
('stamped', 'a key stamped again is itself',
  $$comb_stamp(base, created, layout) = id AND comb_stamp(id, created, layout) = id
  AND comb_stamp(id, near, layout) = id AND comb_stamp(comb_stamp(base, '2026-11-20', layout), near, layout) = id$$),
('stamped', 'all bits but the time''s and a demanded version''s stay',
  $$(bits(id) # bits(base)) & kept = 0::bit(128)$$),
('neighbour', 'at or after x if and only if the key is not below comb_min(x)',
  $$lower IS NULL OR (created >= at) = (k >= lower)$$),
('neighbour', 'at or before x if and only if the key is not above comb_max(x)',
  $$upper IS NULL OR (created <= at) = (k <= upper)$$),
('instant', 'comb_min has a time at or after the given one, and comb_max one at or before',
  $$sorts_in IS NULL OR at NOT BETWEEN earliest AND latest OR
  comb_timestamp(max, layout) <= at AND (coalesce(min, ones()) = ones() OR comb_timestamp(min, layout) >= at)$$),
('instant', 'beyond the ends bounds are all zeros and all ones', $$sorts_in IS NULL OR
  (at >= earliest OR coalesce(max, nil()) = nil()) AND (at <= latest OR coalesce(min, ones()) = ones())$$),
-- the last unit begins less than a unit before the latest instant
('instant', 'a bound is an error where it were a key with a time on the other side', $$sorts_in IS NULL OR
  (max IS NULL) = (at < earliest AND comb_timestamp(nil(), layout) IS NOT NULL)
  AND (min IS NULL) = coalesce(at > comb_timestamp(ones(), layout), false)$$),
-- ten fields of 100 ns are in a microsecond, and comb_max has the last
('instant', 'no field of 100 ns is between comb_max and the next comb_min', $$resolution <> '100 ns' OR form <> '' OR
  at NOT BETWEEN earliest AND latest - interval '1 us' OR
  number(time_digits(max, layout, sorts_in, resolution)) + 1 =
  number(time_digits(comb_min(at + interval '1 us', layout), layout, sorts_in, resolution))$$),
('instant', 'a time outside is refused with 22008', $$at BETWEEN earliest AND latest OR
  state(format('comb_stamp(''%s'', %L, %L)', nil(), at, layout)) = '22008' AND
  (layout <> 'uuidv7' OR state(format('comb_at(%L)', at)) = '22008' AND state(format('comb_stamp(nil(), %L)', at)) = '22008') AND
  state(format('comb_at(%L, %L)', at, layout)) = CASE WHEN generates THEN '22008' ELSE '0A000' END$$),
('instant', 'the default layout is uuidv7', $$layout <> 'uuidv7' OR at NOT BETWEEN earliest AND latest OR
  (comb_min(at), comb_max(at), comb_stamp(ones(), at)) = (min, max, comb_stamp(ones(), at, 'uuidv7'))$$),
('any_id', 'UUIDv7 is the default for reading',
  $$layout <> 'uuidv7' OR comb_timestamp(id) IS NOT DISTINCT FROM created$$),
('instant', 'the decoder reads a bound as its first whole millisecond',
  $$layout <> 'uuidv7' OR at NOT BETWEEN earliest AND latest OR
  min = ones() OR comb_time_decoder(comb_min(at)::text) 
    = later(at, (1000 - extract(microseconds FROM at)::bigint % 1000) % 1000)$$),
('any_id', 'the decoder reads every spelling', $$layout <> 'uuidv7' OR created IS NULL OR
  ARRAY[comb_time_decoder(id::text), comb_time_decoder('{' || upper(id::text) || '}'), comb_time_decoder(digits(id))]
    = ARRAY[created, created, created]$$);

--
-- New keys, of an instant and of now
--
-- Half of the keys of the default layout come from the function without a layout.
CREATE FUNCTION new_key(at timestamptz, layout text) RETURNS uuid VOLATILE LANGUAGE sql AS
$$ SELECT CASE WHEN layout = 'uuidv7' AND random() < 0.5 THEN comb_at(at) ELSE comb_at(at, layout) END $$;
CREATE TABLE at_instant AS
SELECT i.*, new_key(at, layout) AS id, new_key(at, layout) AS other, new_key(at + interval '1 us', layout) AS next
FROM instant i WHERE generates AND at BETWEEN earliest AND latest - interval '1 us';
-- Each layout makes its keys in one run, and then all layouts in turn.
CREATE TABLE made AS
SELECT l.*, clock_timestamp() AS before, comb_generate(layout) AS id, clock_timestamp() AS after
FROM (SELECT l.*, n FROM layout l, generate_series(1, 40 * :n) n WHERE generates ORDER BY layout, n OFFSET 0) l;
INSERT INTO made
SELECT l.*, clock_timestamp(), comb_generate(layout), clock_timestamp()
FROM (SELECT l.*, 40 * :n + n FROM layout l, generate_series(1, 10 * :n) n
      WHERE generates ORDER BY n, layout OFFSET 0) l;
CREATE TABLE now AS
SELECT *, lag(k) OVER (PARTITION BY layout ORDER BY n) AS k_before
FROM (SELECT *, in_order(id, sorts_in) AS k FROM made) m;
-- How often each bit is set in 1000 keys.  342 and 658 are ten standard deviations apart
-- from the half.
CREATE TABLE drawn AS
SELECT layout, bit, (SELECT sum(get_bit(key, bit)) FROM unnest(of_instant) key) BETWEEN 342 AND 658 AS of_instant,
       (SELECT sum(get_bit(key, bit)) FROM unnest(of_now) key) BETWEEN 342 AND 658 AS of_now
FROM (SELECT layout, array_agg(bits(new_key('2026-11-20 04:22:18.367', layout))) AS of_instant,
             array_agg(bits(id)) AS of_now
      FROM made WHERE n <= 1000 GROUP BY 1) m, generate_series(0, 127) bit;
INSERT INTO law (inputs, name, holds) VALUES
('at_instant', 'a new key has the time that comb_stamp would write',
  $$comb_timestamp(id, layout) = comb_timestamp(comb_stamp(nil(), at, layout), layout)$$),
('at_instant', 'two new keys of one instant differ', $$id <> other$$),
('at_instant', 'a key of the next microsecond is larger', $$in_order(id, sorts_in) < in_order(next, sorts_in)$$),
('now', 'each key is larger than the one before', $$n = 1 OR k > k_before$$),
-- timestamptz cannot tell times apart that differ by less than 1 us
('now', 'a key''s time is the clock''s, cut off to the unit', $$comb_timestamp(id, layout) <= after
  AND comb_timestamp(id, layout) > before - unit - interval '1 us'$$),
('now', 'new keys have the version and variant of the original software', $$id::text ~ CASE
  WHEN layout IN ('uuidv7', 'behind_v4') THEN form
  WHEN layout LIKE 'rtcomb%' OR layout IN ('nhibernate', 'laravel') THEN '^.{14}4.{4}[89ab]'
  WHEN layout = 'efcore' THEN '^.{14}4' ELSE '' END$$),
('layout', 'so many bits of new keys are random, also below the microsecond', $$NOT generates OR
  (SELECT count(*) FILTER (WHERE of_instant) FROM drawn d WHERE d.layout = i.layout)
    = random - CASE resolution WHEN '1 ms' THEN 10 WHEN '10 us' THEN 4 WHEN '100 ns' THEN 0 ELSE 12 END$$),
('layout', 'so many bits of keys of now are random', $$NOT generates OR layout = 'morris' OR
  (SELECT count(*) FILTER (WHERE of_now) FROM drawn d WHERE d.layout = i.layout)
    >= random - CASE resolution WHEN '1 ms' THEN 18 WHEN '10 us' THEN 12 WHEN '100 ns' THEN 0 ELSE 20 END$$);

--
-- Periods: bounds that a key's time is near to, and any other bounds
--
CREATE TABLE during AS
SELECT layout, sorts_in, id, created, CASE n % 16
         WHEN 0 THEN tstzrange(NULL, at) WHEN 1 THEN tstzrange(at, NULL) WHEN 2 THEN 'empty' WHEN 3 THEN '(,)'
         ELSE tstzrange(least(at, until), greatest(at, until), (ARRAY['[)', '[]', '()', '(]'])[1 + n % 4]) END AS period
FROM (SELECT *, (random() * 1e6)::int AS n, earliest + random() * (latest - earliest) AS until FROM stamped
      WHERE random() < 0.1) s;
INSERT INTO during SELECT a.layout, a.sorts_in, a.id, a.created, d.period FROM any_id a JOIN during d USING (layout)
WHERE random() < 0.002;
INSERT INTO law (inputs, name, holds) VALUES
('during', 'created in a period = its time is in the period',
  $$comb_created(id, period, layout) = coalesce(created <@ period, false)$$),
('during', 'the operators are comb_created',
  $$((id <@ period), (period @> id)) = (comb_created(id, period), comb_created(id, period))
  AND comb_created(id, period) = comb_created(id, period, 'uuidv7')
  AND comb_range_min(period) = comb_range_min(period, 'uuidv7') AND comb_range_max(period) = comb_range_max(period, 'uuidv7')$$),
('during', 'in a period = between the period''s bounds, for keys',
  $$sorts_in IS NULL OR created IS NULL OR (created <@ period) =
  (in_order(id, sorts_in) BETWEEN in_order(comb_range_min(period, layout), sorts_in)
                              AND in_order(comb_range_max(period, layout), sorts_in))$$);

INSERT INTO law (inputs, name, holds) VALUES
('during', 'plans compute the bounds of a period and a label as of a period',
  $$CASE WHEN sorts_in IS NULL THEN comb_bound_min(period, layout) IS NULL AND comb_bound_max(period, layout) IS NULL
  ELSE comb_bound_min(period, layout) = comb_range_min(period, layout) AND
       comb_bound_max(period, layout) = comb_range_max(period, layout) END$$);

--
-- Published keys, and computed ones of layouts without any
--
CREATE TABLE vector (layout text, id uuid, at timestamptz, source text, kind text);
\copy vector FROM 'test/data/vectors.csv' CSV HEADER
-- Three labels come from another program.  Two of them have the fields of layouts of
-- ours.  pg_comb does not have the third, with version 8.
UPDATE vector SET layout = 'efcore' WHERE layout = 'guid_sql_legacy_ticks';
UPDATE vector SET layout = 'masstransit_sequential' WHERE layout = 'guid_legacy_ticks';
DELETE FROM vector WHERE layout = 'guidv8time';
-- what a message of NHibernate was made from; the application sends it soon afterwards
ALTER TABLE vector ADD got timestamptz, ADD made timestamptz;
UPDATE vector SET got = comb_timestamp(id, layout),
  made = (regexp_match(source, '(?:input time |TimeSent header |t=)(\d+-\d+-\d+ \d+:\d+:[\d.]+)'))[1]::timestamptz;
INSERT INTO law (inputs, name, holds) VALUES
-- the vectors round 1/300 s to the nearest microsecond, comb_timestamp rounds up; and they
-- have NHibernate's field as SQL Server reads the field
('vector', 'vectors have the published time', $$CASE
  WHEN layout = 'nhibernate' THEN at - got BETWEEN '0 ms' AND '8.7 ms'
    AND (made IS NULL OR made - got BETWEEN '0 ms' AND '15 ms')
  WHEN layout IN ('rtcomb_legacy', 'rtcomb_postgresql_datetime', 'rtcomb_binary_datetime')
    THEN got - at BETWEEN '0 us' AND '1 us'
  ELSE got = at END$$),
('vector', 'stamped with its own time a vector is itself', $$comb_stamp(id, got, layout) = id$$),
('vector', 'the published input makes the published key',
  $$source !~ 'input time' OR comb_stamp(comb_stamp(id, '2001-02-03', layout), made, layout) = id$$),
('vector', 'comb_inspect names the layout, and not outside the window', $$
  EXISTS (SELECT FROM comb_inspect(id, '0001-01-01', '29000-01-01') c WHERE (c.layout, c.created) = (i.layout, got)) AND
  NOT EXISTS (SELECT FROM comb_inspect(id, got + '1 us', '29000-01-01') c WHERE c.layout = i.layout) AND
  NOT EXISTS (SELECT FROM comb_inspect(id, '0001-01-01', got - interval '1 us') c WHERE c.layout = i.layout)$$),
('vector', 'comb_inspect''s sets are small', $$at NOT BETWEEN '2000-01-01' AND '2040-01-01' OR
  (SELECT count(*) <= 8 AND bool_and(created BETWEEN '2000-01-01' AND '2040-01-01')
   FROM comb_inspect(id, '2000-01-01', '2040-01-01'))$$);

--
-- Conversion
--
-- Pairs of keys that are close to each other, new ones and any bits: microseconds apart, at
-- random, and in units that follow each other where NHibernate's overtake those of 1/300 s
CREATE TABLE moment AS
SELECT at, at + interval '1 us' * (1 + (random() * 12)::int) AS after
FROM (SELECT timestamptz '2026-11-20 00:00:03.33' + u * interval '1 us' FROM generate_series(0, 4000, 61) u
      UNION ALL SELECT timestamptz '1990-01-01' + random() * interval '69 years' FROM generate_series(1, :n)) i (at)
UNION ALL
SELECT timestamptz '2026-11-20' + u * interval '3.333333 ms', timestamptz '2026-11-20' + (u + 1) * interval '3.333333 ms'
FROM generate_series(9999000, 9999060) u;
CREATE TABLE source AS
SELECT l.*, true AS new, at, comb_at(at, layout) AS id, comb_at(after, layout) AS other
FROM layout l, moment WHERE generates
UNION ALL
SELECT l.*, false, at, comb_stamp(random_id(), at, layout), comb_stamp(random_id(), after, layout) FROM layout l, moment;
-- times that are 100 ns apart, in units that hold thousands of them
INSERT INTO source
SELECT l.*, false, '2026-03-05', (lpad(to_hex(field), 16, '0') || rest)::uuid,
       (lpad(to_hex(field + 1), 16, '0') || rest)::uuid
FROM layout l, generate_series(639084490271870091, 639084490271880090, 97) field,
     LATERAL (SELECT left(digits(random_id()), 16)) b (rest)
WHERE layout = 'masstransit_sequential';
CREATE TABLE conversion AS
SELECT s.layout, t.layout AS target, s.resolution = t.resolution AS same_unit, s.free <= t.free AS roomy,
       new, at, id, other, comb_convert(id, s.layout, t.layout) AS converted,
       comb_convert(other, s.layout, t.layout) AS other_converted, s.sorts_in, t.sorts_in AS target_sorts_in
FROM source s, layout t;
INSERT INTO law (inputs, name, holds) VALUES
('conversion', 'all can be converted, and into the same layout nothing changes',
  $$converted IS NOT NULL AND (layout <> target OR converted = id)$$),
('conversion', 'the instant is the same, cut off to the target''s unit', $$comb_timestamp(converted, target) =
  comb_timestamp(comb_stamp(nil(), comb_timestamp(id, layout), target), target)$$),
('conversion', 'same unit and enough free bits: converting back gives the same key', $$NOT (same_unit AND roomy)
  OR comb_convert(converted, target, layout) = id$$),
('conversion', 'version 4 comes back through version 7',
  $$NOT (new AND same_unit AND target = 'uuidv7' AND layout LIKE 'rtcomb%')
  OR comb_convert(converted, target, layout) = id$$),
-- a version that the target writes may have been bits that put other keys in order
('conversion', 'keys keep their order and stay distinct', $$sorts_in IS NULL OR target_sorts_in IS NULL
  OR NOT new AND (layout LIKE 'rtcomb%' OR layout IN ('efcore', 'nhibernate'))
  OR sign(uuid_cmp(in_order(id, sorts_in), in_order(other, sorts_in)))
     = sign(uuid_cmp(in_order(converted, target_sorts_in), in_order(other_converted, target_sorts_in)))$$),
('conversion', 'the target''s version is that of new keys, unless all bits come from the source', $$NOT new
  OR NOT (target LIKE 'rtcomb%' OR target IN ('nhibernate', 'efcore') AND NOT same_unit)
  OR same_unit AND layout NOT LIKE 'rtcomb%'
  OR converted::text ~ '^.{14}4'$$),
('conversion', 'comb_inspect names the target',
  $$layout <> 'uuidv7' OR NOT new OR at NOT BETWEEN '2026-11-20' AND '2026-11-21'
  OR EXISTS (SELECT FROM comb_inspect(converted, '1900-01-01', '2100-01-01') c WHERE c.layout = target)$$);

--
-- SQL Server's order
--
-- Two random values differ in nearly every byte.  The second value therefore takes its
-- last 0 to 32 digits from the first, so that every byte decides for some pairs.
CREATE TABLE pair AS
SELECT n, a, (left(digits(random_id()), 32 - n % 33) || right(digits(a), n % 33))::uuid AS b
FROM (SELECT n, random_id() AS a FROM generate_series(1, 100 * :n) n) s;
INSERT INTO law (inputs, name, holds) VALUES
('pair', 'comb_mssql_key is the published permutation', $$comb_mssql_key(a) = in_order(a, 'SQL Server')$$),
('pair', 'comb_mssql_cmp is memcmp of the permutation',
  $$comb_mssql_cmp(a, b) = sign(uuid_cmp(comb_mssql_key(a), comb_mssql_key(b)))$$),
('pair', 'the operators agree with comb_mssql_cmp', $$ARRAY[a #<# b, a #<=# b, a = b, a #>=# b, a #># b] =
  (SELECT ARRAY[c < 0, c <= 0, c = 0, c >= 0, c > 0] FROM comb_mssql_cmp(a, b) c)$$),
('pair', 'comb_guid_swap is .NET''s byte order, and its own inverse',
  $$comb_guid_swap(a) = in_order(a, 'raw .NET bytes')
  AND comb_guid_swap(comb_guid_swap(a)) = a$$);

--
-- Keys as text: the specification's vectors, single characters, random values
--
CREATE TABLE typeid (name text, typeid text, prefix text, id uuid, source text);
\copy typeid FROM 'test/data/typeid_valid.csv' CSV HEADER
CREATE TABLE refused (name text, typeid text, source text);
\copy refused FROM 'test/data/typeid_invalid.csv' CSV HEADER
-- any single character at any place, against a list of what is allowed
CREATE TABLE changed AS
SELECT place, c, value, overlay('01h455vb4pex5vsknk084sn02q' PLACING c FROM place) AS t
FROM generate_series(1, 26) place, LATERAL (
  SELECT chr(c), strpos('0123456789abcdefghjkmnpqrstvwxyz', lower(chr(c))) - 1
  FROM generate_series(1, 255) c) s (c, value);
INSERT INTO law (inputs, name, holds) VALUES
('typeid', 'the valid vectors are written and read',
  $$comb_text(id, prefix) = typeid AND comb_parse(typeid, prefix) = id
  AND (prefix <> '' OR comb_text(id) = typeid AND comb_parse(typeid) = id)$$),
-- The callers of comb_parse() know the prefix, so each vector meets its own prefix, which
-- precedes the last underscore, the vectors' usual one, and none.  Digits may be upper case.
('refused', 'the invalid vectors are refused',
  $$state(format('comb_parse(%L)', typeid)) = '22P02' AND (name = 'suffix-uppercase'
  OR state(format('comb_parse(%L, %L)', typeid, coalesce(substring(typeid FROM '^(.*)_'), ''))) IN ('22P02', '22023')
  AND state(format('comb_parse(%L, ''prefix'')', typeid)) = '22P02')$$),
('changed', 'a character is refused where it is no digit or the first one is above 7, and else read', $$CASE
  WHEN value < 0 OR place = 1 AND value > 7 THEN state(format('comb_parse(%L)', t)) = '22P02'
  ELSE comb_text(comb_parse(t)) = lower(t) END$$),
('pair', 'the text has the bits in groups of five', $$comb_text(a) =
  (SELECT string_agg(substr('0123456789abcdefghjkmnpqrstvwxyz', substr('00' || bits(a)::text, at, 5)::bit(5)::int + 1, 1),
                     '' ORDER BY at)
   FROM generate_series(1, 126, 5) at)$$),
('pair', 'the text reads back, in upper case and with a prefix',
  $$comb_parse(comb_text(a)) = a AND comb_parse(upper(comb_text(a))) = a
  AND comb_parse(comb_text(a, 'user'), 'user') = a AND comb_text(a, 'user') = 'user_' || comb_text(a)$$),
('pair', 'texts sort as the keys do', $$(comb_text(a) COLLATE "C" < comb_text(b) COLLATE "C") = (a < b)$$);

--
-- Keys that hide their time
--
CREATE TABLE hidden (secret text, id uuid, masked uuid, source text);
\copy hidden FROM 'test/data/uuidv47_vectors.csv' CSV HEADER
CREATE TABLE masked AS
SELECT id, secret, bare, version = 7 AND rfc AS is_key, version = 4 AND rfc AS is_masked,
       comb_mask(id, secret) AS masked, comb_unmask(id, secret) AS unmasked
FROM (SELECT version, variant BETWEEN 8 AND 11 AS rfc, id, uuid_send(random_id()) AS secret,
             overlay(id::text PLACING '00000000-0000' FROM 1)::uuid AS bare
      FROM (SELECT version, variant, random_of(version, variant) AS id
            FROM (SELECT n % 16 AS version, n / 16 % 16 AS variant FROM generate_series(0, 255) n
                  UNION ALL SELECT CASE n % 2 WHEN 0 THEN 4 ELSE 7 END, 8 + n / 2 % 4 FROM generate_series(1, 4 * :n) n) v) i) r;
INSERT INTO law (inputs, name, holds) VALUES
('hidden', 'vectors are masked and unmasked',
  $$comb_mask(id, decode(secret, 'hex')) = masked AND comb_unmask(masked, decode(secret, 'hex')) = id$$),
('masked', 'a key of version 7, and no other, gets version 4 and another time, and comes back', $$CASE WHEN is_key
  THEN masked::text ~ '^.{14}4' AND left(digits(masked), 12) <> left(digits(id), 12) AND comb_unmask(masked, secret) = id
  ELSE masked IS NULL END$$),
('masked', 'a key of version 4, and no other, gets its time and version 7 back',
  $$CASE WHEN is_masked THEN unmasked::text ~ '^.{14}7' AND comb_mask(unmasked, secret) = id ELSE unmasked IS NULL END$$),
-- "bare" has another time, on which the mask must not depend
('masked', 'nothing but the time is masked, with what the random bits give',
  $$NOT is_key OR bits(masked) # bits(id) = bits(comb_mask(bare, secret)) # bits(bare)$$);

--
-- Snowflakes of any epoch, bits and tick
--
CREATE TABLE snowflake (layout text, id bigint, created timestamptz, epoch_ms bigint, unit_ms int,
                        bits text, raw_time bigint, node int, sequence int, source text, kind text);
\copy snowflake FROM 'test/data/snowflake_vectors.csv' CSV HEADER
ALTER TABLE snowflake ADD epoch timestamptz, ADD tick interval, ADD nbits int, ADD sbits int;
UPDATE snowflake SET epoch = 'epoch'::timestamptz + epoch_ms * interval '1 ms', tick = unit_ms * interval '1 ms',
                     nbits = split_part(bits, '/', 2)::int, sbits = split_part(bits, '/', 3)::int;
-- an id, and an instant in its tick, beside its tick, before the epoch or at no time
CREATE TABLE slot AS
SELECT *, CASE n % 20 WHEN 0 THEN 'infinity' WHEN 1 THEN '-infinity'
                      WHEN 2 THEN epoch - random() * interval '1 day'
                      WHEN 3 THEN timestamptz '2000-01-01' + random() * interval '100 years'
                      ELSE epoch + (count + (random() * 2 - 1)::int) * tick
                           + (random() * 2 - 1)::int * interval '1 us' END AS at,
       (count << (ibits + sbits)) + floor(random() * (1::bigint << (ibits + sbits)))::bigint AS id
FROM (SELECT n, ibits, sbits, '1970-01-01'::timestamptz + (random() * 29000)::int * interval '1 day 1 us' AS epoch,
             tick, floor(random() * least((1::bigint << least(63 - ibits - sbits, 62)) - 1, 1000 ^ (1 + n % 3),
                                          1e9 / extract(epoch FROM tick)))::bigint AS count
      FROM (SELECT n, (random() * 25)::int AS ibits, (random() * 25)::int AS sbits,
                   (ARRAY['1 us', '2 us', '333 us', '1 ms', '10 ms', '1 s', '7 s', '1 day']::interval[])[1 + n / 20 % 8] AS tick
            FROM generate_series(1, 100 * :n) n) b) p;
INSERT INTO law (inputs, name, holds) VALUES
-- Sonyflake has the sequence above the instance number
('snowflake', 'published Snowflakes have their parts',
  $$comb_snowflake_timestamp(id, epoch, nbits, sbits, tick) = created AND 
  CASE bits ~ 'tns'
  WHEN true THEN comb_snowflake_instance(id, epoch, nbits, sbits, tick) = node
    AND comb_snowflake_sequence(id, epoch, nbits, sbits, tick) = sequence
  ELSE comb_snowflake_instance(id, epoch, sbits, nbits, tick) = sequence
    AND comb_snowflake_sequence(id, epoch, sbits, nbits, tick) = node END$$),
('slot', 'a Snowflake is its three parts',
  $$comb_snowflake_timestamp(id, epoch, ibits, sbits, tick) = epoch + count * tick
  AND comb_snowflake_instance(id, epoch, ibits, sbits, tick) = ((id >> sbits) & ((1::bigint << ibits) - 1))
  AND comb_snowflake_sequence(id, epoch, ibits, sbits, tick) = (id & ((1::bigint << sbits) - 1))$$),
('slot', 'the parts of a Snowflake of pg_comb''s own', $$comb_snowflake_timestamp(id & ((1::bigint << 62) - 1)) =
    later('2024-01-01', ((id & ((1::bigint << 62) - 1)) >> 22) * 1000)
  AND comb_snowflake_instance(id) = ((id >> 12) & 1023) AND comb_snowflake_sequence(id) = (id & 4095)$$),
('slot', 'at or after x if and only if not below comb_snowflake_min(x)',
  $$(epoch + count * tick >= at) = (id >= comb_snowflake_min(at, epoch, ibits, sbits, tick))$$),
('slot', 'at or before x if and only if not above comb_snowflake_max(x)',
  $$(epoch + count * tick <= at) = (id <= comb_snowflake_max(at, epoch, ibits, sbits, tick))$$),
('slot', 'comb_snowflake_min is the smallest, and comb_snowflake_max the largest of a tick',
  $$NOT isfinite(at) OR at < epoch OR
  (SELECT max = 9223372036854775807
     OR min & ((1::bigint << (ibits + sbits)) - 1) = 0 AND (max + 1) & ((1::bigint << (ibits + sbits)) - 1) = 0
   FROM comb_snowflake_min(at, epoch, ibits, sbits, tick) min, comb_snowflake_max(at, epoch, ibits, sbits, tick) max)$$);

SELECT is(counterexample(inputs, holds), NULL, name || :'why') FROM law ORDER BY n;

SELECT * FROM finish();
ROLLBACK;
