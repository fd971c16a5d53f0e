--
-- The table of layouts, and what the functions answer for single values
--
SET TimeZone = 'UTC';
SET DateStyle = 'ISO, YMD';
\set SHOW_CONTEXT never

SELECT layout, generates, sorts_in, resolution, earliest, latest FROM comb_layouts();
SELECT layout, description FROM comb_layouts();

-- the rows are the same each time, also side by side
SELECT count(*) AS "576", count(*) FILTER (WHERE a = b) AS "24"
FROM comb_layouts() a, comb_layouts() b;

--
-- Errors
--
-- labels that pg_comb does not know
SELECT comb_generate('rtcomb');
SELECT comb_timestamp('919108f7-52d1-4320-9bac-f847db4148a8', 'UUIDv7');
-- beginnings and extensions of known labels, of which the nearest is named, and the empty text
SELECT comb_timestamp('919108f7-52d1-4320-9bac-f847db4148a8', 'uuidv');
SELECT comb_timestamp('919108f7-52d1-4320-9bac-f847db4148a8', 'ulidx');
SELECT comb_timestamp('919108f7-52d1-4320-9bac-f847db4148a8', 'rtcomb_postgres_datetime');
SELECT comb_timestamp('919108f7-52d1-4320-9bac-f847db4148a8', '');
-- an unknown label may have any length; the message shows at most 63 bytes
SELECT comb_generate(repeat('x', 100000));
-- comb_recheck() is leakproof, so it gives false for an unknown label, not an error
SELECT comb_recheck('01a1f744-053e-76e2-9b7d-f2a1cb024a36', '(,)', 'rtcomb') AS f,
       comb_recheck('01a1f744-053e-76e2-9b7d-f2a1cb024a36', '(,)', 'ulid') AS t;

--
-- Labels also come as text and varchar, as drivers send them, and from columns
--
PREPARE by_text(text) AS SELECT comb_timestamp('01a1f744-053e-76e2-9b7d-f2a1cb024a36', $1);
EXECUTE by_text('ulid');
PREPARE by_varchar(varchar) AS SELECT comb_timestamp('01a1f744-053e-76e2-9b7d-f2a1cb024a36', $1);
EXECUTE by_varchar('ulid');
SELECT n, comb_timestamp('01a1f744-053e-76e2-9b7d-f2a1cb024a36', label) IS NOT NULL AS "has time", label
FROM (VALUES (1, 'ulid'), (2, 'ulid'), (3, 'uuidv7'), (4, 'uuidv6'), (5, 'ulid'), (6, NULL)) v (n, label) ORDER BY n;
-- a function in PL/pgSQL uses a single plan for two labels
CREATE FUNCTION by_parameter(label text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  RETURN comb_timestamp('01a1f744-053e-76e2-9b7d-f2a1cb024a36', label) IS NOT NULL;
END $$;
SELECT by_parameter('ulid') AS t, by_parameter('uuidv6') AS f, by_parameter('ulid') AS t;
DROP FUNCTION by_parameter;
-- the planner folds calls with a constant label, so that an index can use them
EXPLAIN (COSTS off, VERBOSE) SELECT comb_min('2026-11-20', 'ulid'), comb_min('2026-11-20', 'ulid'::text), comb_min('2026-11-20', 'ulid'::varchar);

-- layouts that pg_comb only reads; the SQLSTATE for each of them
CREATE FUNCTION sqlstate_of(call text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE call;
  RETURN '00000';
EXCEPTION WHEN OTHERS THEN
  RETURN SQLSTATE || ' ' || SQLERRM;
END $$;
SELECT comb_generate('masstransit');
SELECT comb_at('2026-11-20', 'uuidv1');
SELECT sqlstate_of(format('SELECT %s%L)', call, layout))
FROM comb_layouts(), unnest('{comb_generate(,"comb_at(''2026-11-20'', "}'::text[]) call
WHERE NOT generates;
-- stamping works in all layouts
SELECT layout, comb_stamp('919108f7-52d1-4320-9bac-f847db4148a8', '2026-11-20 04:22:18.367', layout)
FROM comb_layouts();

-- layouts that no database sorts by time
SELECT comb_min('2026-11-20', 'uuidv1');
SELECT comb_max('2026-11-20', 'newsequentialid');

-- the last times inside a layout's range and the first times outside, at both
-- ends
SELECT layout, comb_timestamp(comb_stamp('919108f7-52d1-4320-9bac-f847db4148a8', earliest, layout), layout) = earliest AS t,
       latest - comb_timestamp(comb_stamp('919108f7-52d1-4320-9bac-f847db4148a8', latest, layout), layout) AS in_unit
FROM comb_layouts();
SELECT resolution, layout, sqlstate_of(format('SELECT %s%L, %L)', call, at, layout))
FROM (SELECT DISTINCT ON (resolution, earliest, latest) * FROM comb_layouts() ORDER BY resolution, earliest, latest, layout COLLATE "C") l,
     LATERAL unnest(ARRAY[earliest - interval '1 us', latest + interval '1 us', '-infinity', 'infinity']) at,
     unnest('{"comb_stamp(''919108f7-52d1-4320-9bac-f847db4148a8'', "}'::text[]) call
ORDER BY layout COLLATE "C", at;
SELECT count(*) AS "64", count(*) FILTER (WHERE sqlstate_of(format('SELECT comb_at(%L, %L)', at, layout)) LIKE '22008 %') AS "64"
FROM comb_layouts(),
     LATERAL unnest(ARRAY[earliest - interval '1 us', latest + interval '1 us', '-infinity', 'infinity']) at
WHERE generates;
-- the message gives the limits in UTC and ISO style, whatever the session sets
SET TimeZone = 'Asia/Kathmandu';
SET DateStyle = 'German';
SELECT comb_stamp('919108f7-52d1-4320-9bac-f847db4148a8', '2079-06-07 05:45:00', 'rtcomb_legacy');
SELECT comb_at('0001-01-01 00:00:00+00 BC', 'sequential_string');
SELECT comb_stamp('919108f7-52d1-4320-9bac-f847db4148a8', 'infinity', 'morris');
SELECT comb_at('-infinity', 'uuidv7');
SELECT comb_stamp('919108f7-52d1-4320-9bac-f847db4148a8', '1582-10-14', 'uuidv6');
SET DateStyle = 'ISO, YMD';
SET TimeZone = 'UTC';
-- a conversion into a layout that ends before the key's time
SELECT comb_convert('01a1f744-053e-76e2-9b7d-f2a1cb024a36', 'uuidv7', 'rtcomb_legacy');
SELECT comb_convert(comb_max('2079-06-06 23:59:59.999'), 'uuidv7', 'rtcomb_legacy');
SELECT comb_convert(comb_min('2079-06-07'), 'uuidv7', 'rtcomb_legacy');

-- NULL gives NULL, and so does a value that is no key of the layout
SELECT comb_timestamp(NULL, 'morris') IS NULL AND comb_timestamp('919108f7-52d1-4320-9bac-f847db4148a8', NULL) IS NULL
   AND comb_generate(NULL::text) IS NULL AND comb_at(NULL, 'morris') IS NULL
   AND comb_stamp(NULL, '2026-11-20', 'morris') IS NULL AND comb_min(NULL, 'morris') IS NULL
   AND comb_convert('919108f7-52d1-4320-9bac-f847db4148a8', NULL, 'morris') IS NULL AS t;
SELECT comb_timestamp('919108f7-52d1-4320-9bac-f847db4148a8', 'uuidv7') IS NULL
   AND comb_convert('919108f7-52d1-4320-9bac-f847db4148a8', 'uuidv7', 'ulid') IS NULL AS t;

-- a label that changes from row to row
SELECT layout, comb_timestamp(id, layout), comb_convert(id, layout, 'uuidv7'), comb_convert(id, layout, 'masstransit')
FROM (VALUES ('rtcomb_sql'::text, 'd01c25cc-63a7-47cc-b5ba-018e5f3bff48'::uuid),
             ('morris', 'ac210700-c656-4cf2-cc8b-08de7bf5381d'), ('morris', 'b8a7f6e5-d4c3-b2a1-1b80-08c368475598'),
             ('efcore', '011aaf6f-d588-4fad-d4ac-08da7aca624f')) v (layout, id);

--
-- comb_inspect on published keys: the layout that fits least by chance is first
--
\set window '''2000-01-01'', ''2040-01-01'''
SELECT * FROM comb_inspect('d01c25cc-63a7-47cc-b5ba-018e5f3bff48', :window);  -- RT.Comb, DateFromComb.sql
SELECT * FROM comb_inspect('e25afe33-db2d-4502-9bf0-919001862cc4', :window);  -- RT.Comb, DateFromCombLegacy.sql
SELECT * FROM comb_inspect('076a04fa-ef4e-4093-8479-b0e10103cdc5', :window);  -- NHibernate, GuidCombFixture.cs
SELECT * FROM comb_inspect('39babcb4-e446-4ed5-4012-2e27653a9d13', :window);  -- Zaabee.SequentialGuid, README
SELECT * FROM comb_inspect('011aaf6f-d588-4fad-d4ac-08da7aca624f', :window);  -- EF Core, inheritance.md
SELECT * FROM comb_inspect('181c0000-6393-3630-36a4-08daf4e7c6da', :window);  -- MassTransit, serialization.md
SELECT * FROM comb_inspect('017f22e2-79b0-7cc3-98c4-dc0c0c07398f', :window);  -- RFC 9562, A.6
SELECT * FROM comb_inspect('c232ab00-9414-11ec-b3c8-9f6bdeced846', :window);  -- RFC 9562, A.1
SELECT * FROM comb_inspect('1ec9414c-232a-6b00-b3c8-9f6bdeced846', :window);  -- RFC 9562, A.5
SELECT * FROM comb_inspect('919108f7-52d1-4320-9bac-f847db4148a8', :window);  -- RFC 9562, A.3, a version 4
SELECT * FROM comb_inspect('00000000-0000-0000-0000-000000000000', :window);
SELECT * FROM comb_inspect('ffffffff-ffff-ffff-ffff-ffffffffffff', :window);
-- the default window ends tomorrow
SELECT * FROM comb_inspect('017f22e2-79b0-7cc3-98c4-dc0c0c07398f');
SELECT count(*) AS "0" FROM comb_inspect(comb_stamp('017f22e2-79b0-7cc3-98c4-dc0c0c07398f', now() + '2 days'))
WHERE layout IN ('uuidv7', 'ulid', 'rtcomb_postgresql');  -- other layouts read other bytes, and sometimes a time
SELECT count(*) AS "3" FROM comb_inspect(comb_stamp('017f22e2-79b0-7cc3-98c4-dc0c0c07398f', now()))
WHERE layout IN ('uuidv7', 'ulid', 'rtcomb_postgresql');  -- other layouts read other bytes, and sometimes a time
SELECT count(*) AS "0" FROM comb_inspect('017f22e2-79b0-7cc3-98c4-dc0c0c07398f', '2040-01-01', '2000-01-01');
-- both ends belong to the window, and a window may be a single instant
SELECT * FROM comb_inspect('018e5f3b-ff48-47cc-b5ba-d01c25cc63a7', '2024-03-21 04:19:11.304', '2024-03-21 04:19:11.304');
SELECT count(*) AS "0" FROM comb_inspect('018e5f3b-ff48-47cc-b5ba-d01c25cc63a7', '2024-03-21 04:19:11.304001', 'infinity')
WHERE layout = 'rtcomb_postgresql';
-- a window without ends: most layouts are candidates
SELECT * FROM comb_inspect('018e5f3b-ff48-47cc-b5ba-d01c25cc63a7', '-infinity', 'infinity');
-- a set of candidates for each of several values
SELECT n, count(*) FROM (VALUES (1, 'd01c25cc-63a7-47cc-b5ba-018e5f3bff48'::uuid), (2, '919108f7-52d1-4320-9bac-f847db4148a8'),
                                (3, '076a04fa-ef4e-4093-8479-b0e10103cdc5')) v (n, id), comb_inspect(id, :window) GROUP BY n ORDER BY n;

--
-- comb_convert: one key into every layout, and back
--
SELECT layout, comb_convert('01a1f744-053e-76e2-9b7d-f2a1cb024a36', 'uuidv7', layout),
       comb_convert(comb_convert('01a1f744-053e-76e2-9b7d-f2a1cb024a36', 'uuidv7', layout), layout, 'uuidv7')
         = '01a1f744-053e-76e2-9b7d-f2a1cb024a36' AS same_back
FROM comb_layouts();
SELECT layout, comb_convert('b8a7f6e5-d4c3-b2a1-1b83-08c368475598', 'morris', layout),
       comb_timestamp(comb_convert('b8a7f6e5-d4c3-b2a1-1b83-08c368475598', 'morris', layout), layout)
FROM comb_layouts();

--
-- Stored: an index on the time, a generated column, and a constraint
--
CREATE TABLE combs (id uuid PRIMARY KEY DEFAULT comb_generate('rtcomb_sql'), n int,
                    created timestamptz GENERATED ALWAYS AS (comb_timestamp(id, 'rtcomb_sql')) STORED,
                    CHECK (comb_timestamp(id, 'rtcomb_sql') > '2000-01-01'));
CREATE INDEX combs_created ON combs (comb_timestamp(id, 'rtcomb_sql'));
-- migration tools compare what they wrote with what PostgreSQL writes, a label with a cast
SELECT pg_get_expr(adbin, adrelid) AS "default" FROM pg_attrdef WHERE adrelid = 'combs'::regclass AND adnum = 1;
INSERT INTO combs (n) SELECT generate_series(1, 1000);
INSERT INTO combs (id, n) VALUES ('d01c25cc-63a7-47cc-b5ba-018e5f3bff48', 0);
ANALYZE combs;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
EXPLAIN (COSTS OFF) SELECT n FROM combs WHERE comb_timestamp(id, 'rtcomb_sql') < '2025-01-01';
SELECT n, created FROM combs WHERE comb_timestamp(id, 'rtcomb_sql') < '2025-01-01';
RESET enable_seqscan;
RESET enable_bitmapscan;
SELECT count(*) AS "1000" FROM combs WHERE created BETWEEN now() - interval '1 hour' AND clock_timestamp();
DROP TABLE combs;
DROP FUNCTION sqlstate_of(text);
