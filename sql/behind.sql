-- Keys of behind_v4 in a table that has v4 keys: what queries read
SET TimeZone = 'UTC';
SET DateStyle = 'ISO, YMD';
\set SHOW_CONTEXT never

-- keys that stay the same: 9000 of version 4, and one a minute from 2026-11-01 on
CREATE TABLE visit (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), n int);
INSERT INTO visit SELECT overlay(overlay(md5(n::text) PLACING '4' FROM 13) PLACING 'a' FROM 17)::uuid, -n FROM generate_series(1, 9000) n;
ALTER TABLE visit ALTER id SET DEFAULT comb_generate('behind_v4');
INSERT INTO visit SELECT comb_stamp(md5(n::text)::uuid, '2026-11-01'::timestamptz + n * interval '1 min', 'behind_v4'), n FROM generate_series(1, 9000) n;
-- one v4 key is behind them all
INSERT INTO visit VALUES ('fffffffa-0000-4000-8000-000000000000', 0);
VACUUM ANALYZE visit;
CREATE VIEW visit_times AS SELECT id, n, comb_timestamp(id, 'behind_v4') AS created_at FROM visit;
CREATE FUNCTION created_at(visit) RETURNS timestamptz IMMUTABLE PARALLEL SAFE LANGUAGE sql AS $$ SELECT comb_timestamp($1.id, 'behind_v4') $$;
SET enable_bitmapscan = off;
SET enable_seqscan = off;

-- A period with an open end reads the new keys, and the v4 keys behind them, and one with an
-- open start no v4 keys.
EXPLAIN (COSTS OFF) SELECT * FROM visit_times WHERE created_at >= '2026-11-07';
EXPLAIN (COSTS OFF) SELECT * FROM visit v WHERE v.created_at >= '2026-11-06' AND v.created_at < '2026-11-07';
EXPLAIN (COSTS OFF) SELECT * FROM visit WHERE comb_created(id, '[2026-11-06,)', 'behind_v4');
CREATE FUNCTION rows_read(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  plan jsonb;
  node jsonb;
BEGIN
  EXECUTE 'EXPLAIN (FORMAT JSON, ANALYZE, TIMING OFF, COSTS ON) ' || query INTO plan;
  node := jsonb_path_query_first(plan, 'strict $.** ? (@."Node Type" like_regex "Scan")');
  RETURN format('%s: %s rows, %s more, estimated well: %s', node->>'Node Type', (node->>'Actual Rows')::float8, coalesce(node->>'Rows Removed by Filter', '0'),
    (node->>'Plan Rows')::float8 / greatest((node->>'Actual Rows')::float8, 1) BETWEEN 0.8 AND 1.25);
END $$;
SELECT rows_read('SELECT * FROM visit_times WHERE created_at >= ''2026-11-05''');
SELECT rows_read('SELECT * FROM visit_times WHERE created_at < ''2026-11-02''');
SELECT rows_read('SELECT * FROM visit v WHERE v.created_at BETWEEN ''2026-11-06'' AND ''2026-11-06 12:00''');
SELECT rows_read('SELECT * FROM visit WHERE comb_created(id, ''(,2026-11-02)'', ''behind_v4'')');

-- Newest first: the keys themselves, and the time, without the rows that have none
SELECT n FROM visit ORDER BY id DESC LIMIT 3;
EXPLAIN (COSTS OFF) SELECT n FROM visit_times WHERE created_at IS NOT NULL ORDER BY created_at DESC LIMIT 3;
SELECT n FROM visit_times WHERE created_at IS NOT NULL ORDER BY created_at DESC LIMIT 3;
EXPLAIN (COSTS OFF) SELECT n FROM visit_times WHERE created_at < '2026-11-05' ORDER BY created_at DESC LIMIT 3;
SELECT n FROM visit_times WHERE created_at < '2026-11-05' ORDER BY created_at DESC LIMIT 3;
SELECT max(created_at) FROM visit_times WHERE created_at < '2026-12-01';
RESET enable_bitmapscan;
RESET enable_seqscan;

-- The table becomes a partition by time as it is, when the v4 keys behind have left it.
SELECT comb_min('2026-12-01', 'behind_v4') AS december, comb_min('2027-01-01', 'behind_v4') AS january \gset
CREATE TABLE visits (LIKE visit INCLUDING DEFAULTS, PRIMARY KEY (id)) PARTITION BY RANGE (id);
ALTER TABLE visits ATTACH PARTITION visit FOR VALUES FROM (MINVALUE) TO (:'december');
DELETE FROM visit WHERE id > :'december';
ALTER TABLE visits ATTACH PARTITION visit FOR VALUES FROM (MINVALUE) TO (:'december');
CREATE TABLE visits_2026_12 PARTITION OF visits FOR VALUES FROM (:'december') TO (:'january');
INSERT INTO visits SELECT comb_at('2026-12-31 23:59:59.999', 'behind_v4'), 10000;
EXPLAIN (COSTS OFF) SELECT * FROM visits WHERE comb_timestamp(id, 'behind_v4') >= '2026-12-10';
SELECT n, tableoid::regclass FROM visits WHERE comb_timestamp(id, 'behind_v4') >= '2026-12-10';

-- What pg_comb does with other keys it does with these: text, and the time hidden
SELECT comb_text('ffffff68-88be-8260-a7aa-30b2eca51b19', 'visit'), comb_parse('visit_7zzzzph25yg9gafahgpbpaa6rs', 'visit');
SELECT comb_mask('ffffff68-88be-8260-a7aa-30b2eca51b19', '\x000102030405060708090a0b0c0d0e0f') IS NULL AS "not a UUIDv7",
  comb_mask(comb_convert('ffffff68-88be-8260-a7aa-30b2eca51b19', 'behind_v4', 'uuidv7'), '\x000102030405060708090a0b0c0d0e0f') AS masked;
SELECT comb_convert(comb_unmask('e705ef95-b187-4aa3-82cb-b2946c640000', '\x000102030405060708090a0b0c0d0e0f'), 'uuidv7', 'behind_v4');
SELECT * FROM comb_inspect('ffffff68-88be-8260-a7aa-30b2eca51b19', '2000-01-01', '2040-01-01');

-- Times that the layout does not hold
SELECT comb_at('2109-05-15 07:35:11.104', 'behind_v4');
SELECT comb_stamp('ffffff68-88be-8260-a7aa-30b2eca51b19', '1969-12-31 23:59:59.999999', 'behind_v4');
SELECT comb_convert(comb_min('2110-01-01'), 'uuidv7', 'behind_v4');
SELECT comb_min('2109-05-15 07:35:11.103001', 'behind_v4'), comb_max('1969-12-31', 'behind_v4'), comb_max('infinity', 'behind_v4');

DROP TABLE visits CASCADE;
DROP FUNCTION rows_read;
