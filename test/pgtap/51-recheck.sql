-- The filter on periods: a call site keeps a period only if it is constant
--
-- Every expected answer is computed without the operator, from the number of the
-- key's hour.
SET client_min_messages = warning;
BEGIN;
CREATE EXTENSION IF NOT EXISTS pgtap;
CREATE EXTENSION IF NOT EXISTS pg_comb;

SET LOCAL timezone = 'UTC';
SET LOCAL jit = off;
-- filters, without help from an index
SET LOCAL enable_indexscan = off;
SET LOCAL enable_bitmapscan = off;

SELECT no_plan();

CREATE FUNCTION hour(n int) RETURNS timestamptz IMMUTABLE LANGUAGE sql AS
$$ SELECT timestamptz '2026-01-01 00:00+00' + n * interval '1 hour' $$;

CREATE TABLE key AS
SELECT n, comb_min(hour(n)) AS id FROM generate_series(0, 99) n;
-- a value without a time between every two keys, and a row without a key
INSERT INTO key SELECT -n - 1, overlay(id::text PLACING '4' FROM 15 FOR 1)::uuid FROM key;
INSERT INTO key VALUES (1000, NULL);

-- All kinds of bounds, stored with short headers.  "first" and "last" are the hours
-- that the period has; no hour if the first is above the last.
CREATE TABLE during (i int, period tstzrange, first int, last int);
INSERT INTO during VALUES
(1, tstzrange(hour(10), hour(20)), 10, 19),
(2, tstzrange(hour(10), hour(20), '[]'), 10, 20),
(3, tstzrange(hour(10), hour(20), '()'), 11, 19),
(4, tstzrange(hour(10), hour(20), '(]'), 11, 20),
(5, tstzrange(hour(90), NULL), 90, 99),
(6, tstzrange(hour(90), NULL, '()'), 91, 99),
(7, tstzrange(NULL, hour(5)), 0, 4),
(8, tstzrange(NULL, hour(5), '[]'), 0, 5),
(9, '(,)', 0, 99),
(10, 'empty', 1, 0),
(11, NULL, 1, 0),
(12, '[-infinity,infinity]', 0, 99),
(13, '(-infinity,infinity)', 0, 99),
(14, '[infinity,infinity]', 1, 0),
(15, '[-infinity,-infinity]', 1, 0),
(16, tstzrange(hour(7), hour(7), '[]'), 7, 7),
(17, tstzrange('-infinity', hour(3), '()'), 0, 2),
(18, tstzrange(hour(97), 'infinity', '()'), 98, 99),
(19, tstzrange(hour(30), hour(31)), 30, 30);
ANALYZE;

CREATE VIEW expected AS
SELECT i, array_remove(array_agg(n ORDER BY n), NULL) AS ns
FROM during LEFT JOIN key ON n BETWEEN first AND last GROUP BY i;

-- ways to write the clause
CREATE TABLE form (form text, clause text);
INSERT INTO form VALUES
('operator', 'k.id <@ %s'), ('commuted', '%s @> k.id'), ('comb_created', 'comb_created(k.id, %s)'),
('comb_recheck', 'comb_recheck(k.id, %s)'), ('a layout', 'comb_created(k.id, %s, ''uuidv7'')'),
('comb_recheck with a layout', 'comb_recheck(k.id, %s, ''uuidv7'')'),
('layouts of a column', 'comb_created(k.id, %s, (ARRAY[''uuidv7'', ''uuidv7''])[1 + k.n % 2])');
UPDATE form SET clause = replace(clause, '1 + k.n % 2', '1 + abs(k.n) %% 2');

-- a column of periods: the period of one call site changes from row to row
CREATE FUNCTION wrong_joined(clause text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE result bigint;
BEGIN
	EXECUTE format('SELECT count(*) FROM expected e JOIN
		(SELECT d.i, array_remove(array_agg(k.n ORDER BY k.n), NULL) AS ns
		 FROM during d LEFT JOIN key k ON %s GROUP BY d.i) s USING (i) WHERE s.ns <> e.ns',
		format(clause, 'd.period')) INTO result;
	RETURN result;
END $$;
SELECT is(wrong_joined(clause), 0::bigint, 'a column of periods: ' || form) FROM form;

-- a constant: the period of a call site cannot change
CREATE FUNCTION wrong_constant(clause text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE d record; result bigint := 0; ns int[];
BEGIN
	FOR d IN SELECT * FROM during JOIN expected USING (i) LOOP
		EXECUTE 'SELECT ARRAY(SELECT n FROM key k WHERE ' || format(clause, format('%L::tstzrange', d.period)) || ' ORDER BY n)' INTO ns;
		result := result + (ns IS DISTINCT FROM d.ns)::int;
	END LOOP;
	RETURN result;
END $$;
SELECT is(wrong_constant(clause), 0::bigint, 'a constant: ' || form) FROM form;
-- two call sites, each with a constant of its own
SELECT is(ARRAY(SELECT n FROM key
                WHERE id <@ '[2026-01-01 02:00+00,2026-01-01 04:00+00)'::tstzrange
                   OR id <@ '[2026-01-01 06:00+00,2026-01-01 07:00+00]'::tstzrange ORDER BY n),
          '{2,3,6,7}', 'two constants');

-- a prepared statement: one generic plan, other values
SET LOCAL plan_cache_mode = force_generic_plan;
CREATE FUNCTION wrong_prepared(clause text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE d record; result bigint := 0; ns int[];
BEGIN
	EXECUTE 'PREPARE asked(tstzrange) AS SELECT ARRAY(SELECT n FROM key k WHERE ' || format(clause, '$1') || ' ORDER BY n)';
	FOR d IN SELECT * FROM during JOIN expected USING (i) LOOP
		EXECUTE format('EXECUTE asked(%L)', d.period) INTO ns;
		result := result + (ns IS DISTINCT FROM d.ns)::int;
	END LOOP;
	DEALLOCATE asked;
	RETURN result;
END $$;
SELECT is(wrong_prepared(clause), 0::bigint, 'a prepared statement: ' || form) FROM form;
RESET plan_cache_mode;

-- PL/pgSQL keeps the call site of a simple expression for the whole transaction, while
-- the variables change
CREATE FUNCTION wrong_simple() RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE d record; k record; yes boolean; result bigint := 0;
BEGIN
	FOR k IN SELECT * FROM key LOOP
		FOR d IN SELECT * FROM during LOOP
			yes := k.id <@ d.period;
			IF d.period IS NULL OR k.id IS NULL THEN
				result := result + (yes IS NOT NULL)::int;
			ELSE
				result := result + (yes IS DISTINCT FROM (k.n BETWEEN d.first AND d.last))::int;
			END IF;
		END LOOP;
	END LOOP;
	RETURN result;
END $$;
SELECT is(wrong_simple(), 0::bigint, 'a simple expression of PL/pgSQL');

-- comb_in_range() is the range between the bounds, whatever has a time
SELECT is((SELECT count(*) FROM key k, during d
           WHERE comb_in_range(k.id, d.period) IS DISTINCT FROM
                 k.id BETWEEN comb_range_min(d.period) AND comb_range_max(d.period)),
          0::bigint, 'comb_in_range()');
SELECT is((SELECT count(*) FROM key k, during d, comb_layouts() l
           WHERE l.sorts_in = 'PostgreSQL' AND comb_in_range(k.id, d.period, l.layout) IS DISTINCT FROM
                 k.id BETWEEN comb_range_min(d.period, l.layout) AND comb_range_max(d.period, l.layout)),
          0::bigint, 'comb_in_range() of layouts');
SELECT is((SELECT count(*) FROM during d, comb_layouts() l,
                  LATERAL (SELECT comb_stamp(id, hour(n), l.layout) AS id FROM key WHERE n BETWEEN 0 AND 99) k
           WHERE l.sorts_in = 'SQL Server' AND comb_in_range(k.id, d.period, l.layout) IS DISTINCT FROM
                 (k.id #>=# comb_range_min(d.period, l.layout) AND k.id #<=# comb_range_max(d.period, l.layout))),
          0::bigint, 'comb_in_range() in SQL Server''s order');
SELECT is(comb_in_range(comb_min('2026-01-01'), '(,)', 'rtcomb'), false, 'an unknown layout');
SELECT is(comb_in_range('c232ab00-9414-11ec-b3c8-9f6bdeced846', '(,)', 'uuidv1'), false, 'a layout that no database sorts');

SELECT * FROM finish();
ROLLBACK;
