--
-- Newest first: ORDER BY with a key's time, and pages of it
--
SET timezone = 'UTC';
SET datestyle = 'ISO';
SET max_parallel_workers_per_gather = 0;
SET enable_bitmapscan = off;
CREATE SCHEMA newest;
SET search_path = newest, public;

-- a key for a time, the same in every run
CREATE FUNCTION key_at(at timestamptz, n int) RETURNS uuid
	LANGUAGE sql IMMUTABLE AS $$ SELECT comb_stamp(md5(n::text)::uuid, at) $$;

-- what a plan scans, and what it sorts by
CREATE FUNCTION plan(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		IF line ~ 'Scan|Sort Key|Presorted|Index Cond|Append|WindowAgg|Unique' THEN
			RETURN NEXT regexp_replace(replace(line, 'unnamed_subquery', '"*SELECT*"'), '^ *(-> *)?', '');
		END IF;
	END LOOP;
END $$;

CREATE TABLE checked (id uuid NOT NULL PRIMARY KEY, k int, CHECK (id <@ tstzrange('2000-01-01 00:00+00', '2100-01-01 00:00+00')));
INSERT INTO checked SELECT key_at('2026-01-01+00'::timestamptz + (n / 3) * interval '1 hour', n), n % 10 FROM generate_series(1, 3000) n;
CREATE TABLE free (LIKE checked);
INSERT INTO free SELECT * FROM checked;
INSERT INTO free SELECT overlay(md5(n::text) PLACING '4' FROM 13 FOR 1)::uuid, 11 FROM generate_series(1, 400) n;
CREATE INDEX free_id ON free (id);
VACUUM ANALYZE checked, free;
CREATE VIEW posts AS SELECT id, k, comb_timestamp(id) AS created_at FROM checked;
CREATE VIEW open_posts AS SELECT id, k, comb_timestamp(id) AS created_at FROM free;

-- A CHECK says that each key has a time

SELECT plan('SELECT * FROM posts ORDER BY created_at DESC LIMIT 5');
SELECT plan('SELECT * FROM posts ORDER BY created_at LIMIT 5');
SELECT plan('SELECT k FROM posts ORDER BY created_at DESC NULLS LAST FETCH FIRST 5 ROWS ONLY');
SELECT plan('SELECT created_at FROM posts ORDER BY 1 NULLS FIRST OFFSET 5 LIMIT 5');
SELECT plan('SELECT * FROM posts ORDER BY created_at DESC, id DESC LIMIT 5');
SELECT plan('SELECT * FROM posts ORDER BY created_at DESC NULLS LAST, id DESC NULLS LAST LIMIT 5');
SELECT plan('SELECT * FROM posts ORDER BY created_at USING >, id USING > LIMIT 5');
SELECT plan('SELECT * FROM posts ORDER BY created_at DESC LIMIT 5 FOR UPDATE OF posts');
SET enable_sort = off;
SELECT plan('SELECT k FROM posts ORDER BY created_at DESC');
RESET enable_sort;
SELECT plan('SELECT p.k FROM posts p JOIN free f ON f.id = p.id LEFT JOIN free g ON g.id = p.id ORDER BY p.created_at DESC LIMIT 5');
SELECT plan('SELECT * FROM (SELECT * FROM posts ORDER BY created_at DESC LIMIT 5) s WHERE k < 5');
SELECT plan('WITH c AS (SELECT * FROM posts) SELECT * FROM c ORDER BY created_at DESC LIMIT 5');
SELECT plan('(SELECT * FROM posts ORDER BY created_at DESC LIMIT 2) UNION ALL (SELECT * FROM posts ORDER BY created_at LIMIT 2)');
SELECT plan('SELECT ARRAY(SELECT k FROM posts ORDER BY created_at DESC LIMIT 5)');
SELECT plan('SELECT n, s.k FROM generate_series(1, 2) n, LATERAL (SELECT k FROM posts WHERE k <> n ORDER BY created_at DESC LIMIT 2) s');
SELECT plan('INSERT INTO free SELECT id, k FROM posts ORDER BY created_at DESC LIMIT 5');

-- the rows are those of a sort, and no column is seen that was not asked for
SELECT * FROM (SELECT k, created_at FROM posts ORDER BY created_at DESC, id DESC LIMIT 4) s;
SELECT * FROM (SELECT created_at FROM posts ORDER BY created_at LIMIT 4) s;
SELECT k FROM posts ORDER BY created_at DESC, id DESC LIMIT 4;
CREATE TABLE copied AS SELECT created_at FROM posts ORDER BY created_at DESC LIMIT 3;
TABLE copied;
DROP TABLE copied;

-- min() and max() read one end of the index
SELECT plan('SELECT min(created_at), max(created_at) FROM posts');
SELECT min(created_at), max(created_at) FROM posts;

-- Conditions say it, and where they bound the key, also where other uuids are

SELECT plan($$SELECT k FROM open_posts WHERE created_at < '2026-01-03' ORDER BY created_at DESC LIMIT 5$$);
SELECT plan($$SELECT k FROM open_posts WHERE created_at >= '2026-01-03' ORDER BY created_at LIMIT 5$$);
SELECT plan($$SELECT k FROM open_posts WHERE id <@ '[2026-01-03,2026-01-05)' ORDER BY created_at DESC LIMIT 5$$);
SELECT plan($$SELECT k FROM open_posts WHERE created_at IS NOT NULL ORDER BY created_at LIMIT 5$$);
SELECT plan($$SELECT k FROM open_posts WHERE created_at < '2026-01-03' OR created_at < '2026-01-02' AND k = 5 ORDER BY created_at LIMIT 5$$);
SELECT plan($$SELECT o.k FROM open_posts o JOIN checked c ON o.created_at < '2026-01-03' AND c.id = o.id ORDER BY o.created_at DESC LIMIT 5$$);
SELECT plan($$SELECT o.k FROM (SELECT * FROM open_posts WHERE created_at < '2026-01-03') o LEFT JOIN checked c ON c.id = o.id ORDER BY o.created_at DESC LIMIT 5$$);
-- version 4 sorts above the newest key, and all of it would be read first
SELECT plan('SELECT k FROM open_posts WHERE created_at IS NOT NULL ORDER BY created_at DESC LIMIT 5');
SELECT plan($$SELECT k FROM open_posts WHERE created_at >= '2026-01-03' ORDER BY created_at DESC LIMIT 5$$);
SELECT plan('SELECT max(created_at) FROM open_posts');

-- Pages

SELECT id AS last, comb_timestamp(id) AS at FROM checked ORDER BY id DESC OFFSET 1000 LIMIT 1 \gset
SELECT count(*) AS same_time FROM posts WHERE created_at = :'at';
CREATE FUNCTION bounds(query text) RETURNS SETOF text LANGUAGE sql AS $$
	SELECT regexp_replace(line, '''[^'']*''::\w+', '...', 'g') FROM plan(query) AS line
$$;
SET plan_cache_mode = force_generic_plan;
PREPARE f3 AS SELECT k, id FROM posts WHERE (created_at, id) < ($1, $2) ORDER BY created_at DESC, id DESC LIMIT $3;
PREPARE f3a AS SELECT k, id FROM posts WHERE (created_at, id) >= ($1, $2) ORDER BY created_at, id LIMIT $3;
PREPARE f3t(timestamp, uuid, int) AS SELECT k, id FROM posts WHERE (created_at, id) < ($1, $2) ORDER BY created_at DESC, id DESC LIMIT $3;
PREPARE f4 AS SELECT k, id FROM posts WHERE created_at < $1 OR (created_at = $2 AND id < $3) ORDER BY created_at DESC, id DESC LIMIT $4;
PREPARE f4r AS SELECT k, id FROM posts WHERE created_at > $1 OR (created_at = $2 AND id > $3) ORDER BY created_at, id LIMIT $4;
PREPARE f4a AS SELECT k, id FROM posts WHERE created_at <= $1 AND (created_at < $2 OR id < $3) ORDER BY created_at DESC, id DESC LIMIT $4;
PREPARE f5 AS SELECT k, id FROM posts WHERE created_at <= (SELECT created_at FROM posts WHERE id = $1) ORDER BY created_at DESC LIMIT $2;
SELECT plan(format('EXECUTE f3(%L, %L, 5)', :'at', :'last'));
SELECT plan(format('EXECUTE f3a(%L, %L, 5)', :'at', :'last'));
SELECT plan(format('EXECUTE f3t(%L, %L, 5)', :'at', :'last'));
SELECT plan(format('EXECUTE f4(%L, %1$L, %L, 5)', :'at', :'last'));
SELECT plan(format('EXECUTE f4r(%L, %1$L, %L, 5)', :'at', :'last'));
SELECT plan(format('EXECUTE f4a(%L, %1$L, %L, 5)', :'at', :'last'));
SELECT regexp_replace(line, '\(InitPlan \w+\).col1|\$[01]', '...') FROM plan(format('EXECUTE f5(%L, 5)', :'last')) AS line;
SELECT array_agg(id) AS page FROM (SELECT id FROM checked WHERE id < :'last' ORDER BY id DESC LIMIT 5) s \gset
CREATE FUNCTION page(query text) RETURNS uuid[] LANGUAGE plpgsql AS $$
DECLARE
	row record;
	ids uuid[];
BEGIN
	FOR row IN EXECUTE query LOOP ids := ids || row.id; END LOOP;
	RETURN ids;
END $$;
SELECT page(format('EXECUTE f3(%L, %L, 5)', :'at', :'last')) = :'page' AS t,
       page(format('EXECUTE f3t(%L, %L, 5)', :'at', :'last')) = :'page' AS t,
       page(format('EXECUTE f4(%L, %1$L, %L, 5)', :'at', :'last')) = :'page' AS t,
       page(format('EXECUTE f4a(%L, %1$L, %L, 5)', :'at', :'last')) = :'page' AS t,
       page(format('EXECUTE f3(NULL, %L, 5)', :'last')) IS NULL AS t,
       page(format('EXECUTE f4(NULL, NULL, %L, 5)', :'last')) IS NULL AS t;
SELECT count(*) AS "0" FROM posts WHERE (created_at, id) < (NULL, :'last');
-- only the key is compared, where constants say that the bound is the page
RESET plan_cache_mode;
CREATE FUNCTION filters(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		IF line ~ 'Filter|Cond' THEN
			RETURN NEXT regexp_replace(regexp_replace(line, '^ *', ''), '''[^'']*''::\w+( with time zone)?', '...', 'g');
		END IF;
	END LOOP;
END $$;
SELECT filters(format('SELECT k, id FROM posts WHERE (created_at, id) < (%L, %L) ORDER BY created_at DESC, id DESC LIMIT 5', :'at', :'last'));
SELECT filters(format('SELECT k, id FROM posts WHERE created_at < %L OR (id < %L AND created_at = %1$L) ORDER BY created_at DESC LIMIT 5', :'at', :'last'));
SELECT filters(format('SELECT k, id FROM posts WHERE created_at = %L AND id > %L OR created_at > %1$L ORDER BY created_at LIMIT 5', :'at', :'last'));
SELECT filters(format('SELECT k, id FROM posts WHERE (created_at, id) <= (%L, %L) ORDER BY created_at DESC LIMIT 5', :'at', :'last'));
SELECT filters(format('SELECT k, id FROM posts WHERE created_at < %L OR created_at = %1$L AND id < %L AND k = 5 ORDER BY created_at DESC LIMIT 5', :'at', :'last'));
SELECT filters(format('SELECT k, id FROM posts WHERE created_at < %L OR created_at = ''2026-01-02'' AND id < %L ORDER BY created_at DESC LIMIT 5', :'at', :'last'));
SELECT filters(format('SELECT k, id FROM posts WHERE created_at <= %L OR created_at = %1$L AND id < %L ORDER BY created_at DESC LIMIT 5', :'at', :'last'));
SELECT filters(format('SELECT k, id FROM posts WHERE (created_at, id) < (%L, %L)', :'at', :'last'));
SELECT filters(format('SELECT f.k FROM (SELECT * FROM posts WHERE (created_at, id) < (%L, %L)) p JOIN free f USING (id) WHERE f.k < 9 ORDER BY created_at DESC LIMIT 5', :'at', :'last'));
SELECT filters(format('SELECT k, id FROM open_posts WHERE (created_at, id) < (%L, %L) ORDER BY created_at DESC LIMIT 5', :'at', :'last'));
SELECT filters($$SELECT k FROM posts WHERE comb_recheck(id, '[2026-01-02,2026-01-03)') ORDER BY created_at LIMIT 5$$);
SET plan_cache_mode = force_generic_plan;
-- as Hibernate sends them, with a @Formula, and as PostgREST does
PREPARE hibernate AS select p1_0.id,comb_timestamp(p1_0.id),p1_0.k from newest.checked p1_0 order by comb_timestamp(p1_0.id) desc fetch first $1 rows only;
PREPARE hibernate_keyed AS select p1_0.id,comb_timestamp(p1_0.id),p1_0.k from newest.checked p1_0 order by 2 desc,1 desc offset $1 rows fetch first $2 rows only;
PREPARE hibernate_page AS select p1_0.id,comb_timestamp(p1_0.id),p1_0.k from newest.checked p1_0 where comb_timestamp(p1_0.id)<$1 or p1_0.id<$2 and comb_timestamp(p1_0.id)=$3 order by 2 desc,1 desc offset $4 rows fetch first $5 rows only;
PREPARE postgrest AS WITH pgrst_source AS ( SELECT "newest"."posts".* FROM "newest"."posts" WHERE  "newest"."posts"."created_at" < $1  ORDER BY "newest"."posts"."created_at" DESC  LIMIT $2 OFFSET $3 )  SELECT null::bigint AS total_result_set, pg_catalog.count(_postgrest_t) AS page_total, coalesce(json_agg(_postgrest_t), '[]') AS body, nullif(current_setting('response.headers', true), '') AS response_headers, nullif(current_setting('response.status', true), '') AS response_status, '' AS response_inserted FROM ( SELECT * FROM pgrst_source ) _postgrest_t;
SELECT plan('EXECUTE hibernate(5)');
SELECT plan('EXECUTE hibernate_keyed(0, 5)');
SELECT plan(format('EXECUTE hibernate_page(%L, %L, %1$L, 0, 5)', :'at', :'last'));
SELECT plan(format('EXECUTE postgrest(%L, 5, 0)', :'at'));
SELECT page(format('EXECUTE hibernate_page(%L, %L, %1$L, 0, 5)', :'at', :'last')) = :'page' AS t;
-- page after page until the end: all rows, none twice, and in the order of time
CREATE FUNCTION walk(rows text, condition text, direction text) RETURNS uuid[] LANGUAGE plpgsql AS $$
DECLARE
	row record;
	ids uuid[];
	page int := 7;
	after text := 'true';
BEGIN
	WHILE page = 7 LOOP
		page := 0;
		FOR row IN EXECUTE format('SELECT id, created_at AS at FROM %s WHERE %s ORDER BY created_at %s, id %3$s LIMIT 7', rows, after, direction) LOOP
			ids := ids || row.id;
			page := page + 1;
		END LOOP;
		after := format(condition, row.at, row.id);
	END LOOP;
	RETURN ids;
END $$;
SELECT condition, walk('posts', condition, 'DESC') = (SELECT array_agg(id ORDER BY comb_timestamp(id) DESC, id DESC) FROM checked) AS t,
       walk('(SELECT * FROM open_posts WHERE created_at IS NOT NULL) s', replace(condition, '<', '>'), 'ASC') =
       (SELECT array_agg(id ORDER BY comb_timestamp(id), id) FROM free WHERE comb_timestamp(id) IS NOT NULL) AS t
FROM (VALUES ('(created_at, id) < (%1$L, %2$L)'), ('created_at < %1$L OR (created_at = %1$L AND id < %2$L)'),
             ('created_at <= %1$L AND (created_at < %1$L OR id < %2$L)')) AS v(condition);
RESET plan_cache_mode;
SELECT bounds(format('SELECT * FROM posts WHERE (created_at, id) < (%L, %L) ORDER BY created_at DESC LIMIT 5', :'at', :'last'));
-- an arm without a bound leaves the key without one
SELECT bounds(format('SELECT * FROM posts WHERE created_at < %L OR created_at IS NULL ORDER BY created_at DESC LIMIT 5', :'at'));
-- what can raise an error stays where it is
SELECT bounds(format('SELECT * FROM posts WHERE created_at < %L OR k = 1 AND id < overlay(%L PLACING k::text FROM 15)::uuid ORDER BY created_at DESC LIMIT 5', :'at', :'last'));

-- Partitions: the parent and each of them has the CHECK

CREATE TABLE parted (id uuid NOT NULL, k int, CHECK (id <@ tstzrange('2000-01-01 00:00+00', '2100-01-01 00:00+00'))) PARTITION BY RANGE (id);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM (MINVALUE) TO (comb_min('2026-01-15'));
CREATE TABLE parted_2 (k int, id uuid NOT NULL, CHECK (comb_timestamp(id) IS NOT NULL), CONSTRAINT parted_id_check CHECK (id <@ tstzrange('2000-01-01 00:00+00', '2100-01-01 00:00+00')));
ALTER TABLE parted ATTACH PARTITION parted_2 FOR VALUES FROM (comb_min('2026-01-15')) TO (comb_min('2026-01-20'));
CREATE TABLE parted_3 PARTITION OF parted FOR VALUES FROM (comb_min('2026-01-20')) TO (MAXVALUE) PARTITION BY HASH (id);
CREATE TABLE parted_3_0 PARTITION OF parted_3 FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE parted_3_1 PARTITION OF parted_3 FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO parted (id, k) SELECT id, k FROM checked;
CREATE INDEX ON parted (id);
VACUUM ANALYZE parted;
SELECT plan('SELECT k FROM parted ORDER BY comb_timestamp(id) DESC LIMIT 5');
SELECT plan('SELECT k FROM parted ORDER BY comb_timestamp(id) DESC NULLS LAST LIMIT 5');
SELECT bool_and(a.id = b.id) AS t FROM
	(SELECT id, row_number() OVER () FROM (SELECT id FROM parted ORDER BY comb_timestamp(id) DESC, id DESC) s) a JOIN
	(SELECT id, row_number() OVER () FROM (SELECT id FROM parted ORDER BY id DESC) s) b USING (row_number);
-- an index with the time in it
CREATE INDEX parted_k_time ON parted (k, comb_timestamp(id));
SELECT plan('SELECT k FROM parted WHERE k = 5 ORDER BY comb_timestamp(id) DESC LIMIT 5') LIKE 'Sort Key%' AS t LIMIT 1 OFFSET 1;

-- Without a proof, the rows are sorted by their times

SELECT plan('SELECT k FROM open_posts ORDER BY created_at DESC LIMIT 5');
-- a condition below OR
SELECT plan($$SELECT k FROM open_posts WHERE (created_at < '2026-01-03' OR k = 11) ORDER BY created_at DESC LIMIT 5$$);
SELECT plan($$SELECT k FROM open_posts WHERE (id <@ '[2026-01-03,2026-01-05)' OR k = 11) ORDER BY created_at DESC LIMIT 5$$);
-- of another table, and of another key
SELECT plan($$SELECT o.k FROM open_posts p JOIN open_posts o ON p.k = o.k WHERE p.created_at < '2026-01-01 01:00' ORDER BY o.created_at LIMIT 5$$) ~ '^Sort Key: .*comb_timestamp' AS t LIMIT 1;
SELECT plan($$SELECT o.k FROM free o WHERE comb_timestamp(o.id, 'ulid') < '2026-01-03' ORDER BY comb_timestamp(o.id) LIMIT 5$$);
-- on the nullable side, also in ON
SELECT plan($$SELECT o.k FROM checked c LEFT JOIN open_posts o ON o.id = c.id AND o.created_at < '2026-01-03' ORDER BY o.created_at DESC LIMIT 5$$) ~ '^Sort Key: .*comb_timestamp' AS t LIMIT 1;
SELECT plan($$SELECT p.k FROM free c LEFT JOIN posts p ON p.id = c.id ORDER BY p.created_at DESC LIMIT 5$$) ~ '^Sort Key: .*comb_timestamp' AS t LIMIT 1;
SELECT plan($$SELECT o.k FROM open_posts o LEFT JOIN checked c ON o.created_at < '2026-01-03' AND c.id = o.id ORDER BY o.created_at LIMIT 5$$) ~ '^Sort Key: .*comb_timestamp' AS t LIMIT 1;
SELECT plan($$SELECT o.k FROM open_posts o FULL JOIN checked c ON c.id = o.id WHERE c.k > 1 ORDER BY o.created_at LIMIT 5$$) ~ '^Sort Key: .*comb_timestamp' AS t LIMIT 1;
-- conditions that are true for NULL
SELECT plan($$SELECT k FROM open_posts WHERE coalesce(created_at, '2026-01-01') < '2026-01-03' ORDER BY created_at LIMIT 5$$);
SELECT plan($$SELECT k FROM open_posts WHERE created_at IS DISTINCT FROM '2026-01-03' ORDER BY created_at LIMIT 5$$);

-- Orders in which ties count, or others

SELECT plan('SELECT * FROM posts ORDER BY created_at DESC FETCH FIRST 5 ROWS WITH TIES');
SELECT plan('SELECT * FROM posts ORDER BY created_at DESC, id LIMIT 5');
SELECT plan('SELECT * FROM posts ORDER BY created_at DESC, k LIMIT 5');
SELECT plan('SELECT * FROM posts ORDER BY created_at DESC, id DESC, k LIMIT 5');
SELECT plan('SELECT DISTINCT created_at FROM posts ORDER BY created_at DESC LIMIT 5');
SELECT plan('SELECT DISTINCT ON (created_at) * FROM posts ORDER BY created_at DESC LIMIT 5');
SELECT plan('SELECT rank() OVER (ORDER BY created_at DESC) FROM posts ORDER BY created_at DESC LIMIT 5') ~ 'Sort Key: .*comb_timestamp' AS t LIMIT 1 OFFSET 1;
SELECT plan('SELECT created_at, count(*) FROM posts GROUP BY created_at ORDER BY created_at DESC LIMIT 5') ~ 'Sort Key: .*comb_timestamp' AS t LIMIT 1;
SELECT plan('SELECT created_at FROM posts UNION ALL SELECT created_at FROM posts ORDER BY created_at DESC LIMIT 5');
CREATE FUNCTION later(timestamptz, timestamptz) RETURNS boolean LANGUAGE sql IMMUTABLE STRICT AS $$ SELECT $1 > $2 $$;
CREATE FUNCTION later_cmp(timestamptz, timestamptz) RETURNS int LANGUAGE sql IMMUTABLE STRICT AS $$ SELECT timestamptz_cmp($2, $1) $$;
CREATE OPERATOR <<< (FUNCTION = later, LEFTARG = timestamptz, RIGHTARG = timestamptz);
CREATE OPERATOR CLASS later_ops FOR TYPE timestamptz USING btree AS OPERATOR 1 <<<, OPERATOR 3 =, FUNCTION 1 later_cmp(timestamptz, timestamptz);
SELECT plan('SELECT * FROM posts ORDER BY created_at USING <<< LIMIT 5');
SET pg_comb.enable_time_conditions = off;
SELECT plan('SELECT * FROM posts ORDER BY created_at DESC LIMIT 5');
RESET pg_comb.enable_time_conditions;
-- an index with the time in it
CREATE INDEX checked_time ON checked (k, comb_timestamp(id));
SELECT plan('SELECT k FROM posts WHERE k = 5 ORDER BY created_at DESC LIMIT 5');
-- one that does not sort these rows is in nobody's way
CREATE FUNCTION three_ways(definition text) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE 'CREATE INDEX checked_time ON checked ' || definition;
	RETURN QUERY SELECT definition || ': ' || line FROM unnest(ARRAY['SELECT k FROM posts ORDER BY created_at DESC LIMIT 5', 'SELECT max(created_at) FROM posts',
		'SELECT k FROM posts WHERE created_at < ''2026-01-01 06:00'' AND k < 5']) query, plan(query) line WHERE line ~ 'Scan';
	DROP INDEX checked_time;
END $$;
DROP INDEX checked_time;
SELECT three_ways(definition) FROM unnest(ARRAY['(k, comb_timestamp(id))', '(comb_timestamp(id)) WHERE k = 5', 'USING hash (comb_timestamp(id))', 'USING brin (comb_timestamp(id))']) definition;
CREATE INDEX checked_time ON checked (comb_timestamp(id)) WHERE k = 5;
SELECT plan('SELECT k FROM posts WHERE k = 5 ORDER BY created_at DESC LIMIT 5');
DROP INDEX checked_time;
-- layouts that sort elsewhere, and one of another database
SELECT plan($$SELECT k FROM free WHERE comb_timestamp(id, 'uuidv1') < '2026-01-03' ORDER BY comb_timestamp(id, 'uuidv1') LIMIT 5$$);
CREATE TABLE mssql (id uuid NOT NULL, k int, CHECK (comb_timestamp(id, 'rtcomb_sql') IS NOT NULL));
INSERT INTO mssql SELECT comb_stamp(md5(n::text)::uuid, '2026-01-01+00'::timestamptz + n * interval '1 hour', 'rtcomb_sql'), n % 10 FROM generate_series(1, 1000) n;
CREATE INDEX ON mssql (id comb_mssql_ops);
VACUUM ANALYZE mssql;
SELECT plan($$SELECT k FROM mssql ORDER BY comb_timestamp(id, 'rtcomb_sql') DESC LIMIT 5$$);
SELECT plan($$SELECT k FROM mssql ORDER BY comb_timestamp(id, 'rtcomb_sql') DESC, id DESC LIMIT 5$$);

-- Constraints that are no proof

CREATE FUNCTION newest(name text, OUT by_key boolean, OUT last_null boolean) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('SELECT bool_and(line !~ ''Sort Key: .*comb_timestamp'') FROM plan(''SELECT k FROM %I ORDER BY comb_timestamp(id) DESC LIMIT 5'') line', name) INTO by_key;
	EXECUTE format('SELECT bool_and(line !~ ''Sort Key: .*comb_timestamp'') FROM plan(''SELECT k FROM %I ORDER BY comb_timestamp(id) DESC NULLS LAST LIMIT 5'') line', name) INTO last_null;
END $$;
CREATE TABLE c (id uuid, k int);
INSERT INTO c SELECT * FROM checked LIMIT 1000;
CREATE INDEX ON c (id);
ANALYZE c;
ALTER TABLE c ADD CONSTRAINT c_time CHECK (comb_timestamp(id) IS NOT NULL) NOT VALID;
SELECT * FROM newest('c');
ALTER TABLE c VALIDATE CONSTRAINT c_time;
-- this CHECK refuses NULL, that of a period needs NOT NULL
SELECT * FROM newest('c');
ALTER TABLE c ADD CHECK (id <@ '[2000-01-01,2100-01-01)'), DROP CONSTRAINT c_time;
SELECT * FROM newest('c');
ALTER TABLE c ALTER id SET NOT NULL;
SELECT * FROM newest('c');
ALTER TABLE c DROP CONSTRAINT c_id_check, ADD CONSTRAINT c_time CHECK (comb_timestamp(id) IS NOT NULL);
-- not in the transaction that makes it
BEGIN;
ALTER TABLE c DROP CONSTRAINT c_time;
SELECT * FROM newest('c');
ALTER TABLE c ADD CONSTRAINT c_time CHECK (id <@ '[2000-01-01,2100-01-01)');
SELECT * FROM newest('c');
COMMIT;
SELECT * FROM newest('c');
-- a condition that is NULL for a NULL time is fulfilled
ALTER TABLE c DROP CONSTRAINT c_time, ADD CHECK (comb_timestamp(id) > '2000-01-01');
SELECT * FROM newest('c');
ALTER TABLE c DROP CONSTRAINT c_id_check, ADD CHECK (id <@ '[2000-01-01,2100-01-01)' OR k > 100);
SELECT * FROM newest('c');
ALTER TABLE c DROP CONSTRAINT c_check, ADD CHECK (id <@ NULL::tstzrange);
SELECT * FROM newest('c');
-- one that children do not inherit, and children at all
ALTER TABLE c DROP CONSTRAINT c_id_check, ADD CHECK (id <@ '[2000-01-01,2100-01-01)') NO INHERIT;
SELECT * FROM newest('c');
CREATE TABLE child () INHERITS (c);
CREATE INDEX ON child (id);
SELECT * FROM newest('c');
SELECT plan('SELECT k FROM ONLY c ORDER BY comb_timestamp(id) DESC LIMIT 5');
DROP TABLE child;
ANALYZE c;
SELECT * FROM newest('c');

-- outer queries that read some columns of an ordered sub-select, or none
SELECT count(*) FROM (SELECT k FROM checked ORDER BY comb_timestamp(id) DESC, id DESC LIMIT 5) s;
SELECT sum(k) FROM (SELECT id, k FROM checked ORDER BY comb_timestamp(id) DESC LIMIT 5) s;
SELECT sum(k) FROM (SELECT k FROM checked ORDER BY comb_timestamp(id) DESC, id DESC LIMIT 5 FOR UPDATE) s;
WITH ordered AS MATERIALIZED (SELECT k, id FROM checked ORDER BY comb_timestamp(id), id LIMIT 5) SELECT count(*), sum(k) FROM ordered;

-- a cast by a function, which returns NULL where the column is not
CREATE FUNCTION as_uuid(text) RETURNS uuid LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN uuid_in(textout(nullif($1, 'none'))); END $$;
CREATE CAST (text AS uuid) WITH FUNCTION as_uuid(text) AS IMPLICIT;
CREATE TABLE texts (id text NOT NULL, CHECK (id <@ tstzrange('2000-01-01 00:00+00', '2100-01-01 00:00+00')));
INSERT INTO texts SELECT key_at('2026-01-01+00'::timestamptz + n * interval '1 hour', n)::text FROM generate_series(1, 3) n;
INSERT INTO texts VALUES ('none');
SELECT id = 'none' AS none FROM texts ORDER BY comb_timestamp(id) DESC NULLS LAST;
DROP TABLE texts;
DROP CAST (text AS uuid);

-- a cached plan notices that the CHECK goes
PREPARE newest AS SELECT k FROM checked ORDER BY comb_timestamp(id) DESC LIMIT 5;
SET plan_cache_mode = force_generic_plan;
SELECT plan('EXECUTE newest');
ALTER TABLE checked DROP CONSTRAINT checked_id_check;
SELECT plan('EXECUTE newest');
PREPARE newest_parted AS SELECT k FROM parted WHERE k < 20 ORDER BY comb_timestamp(id) DESC LIMIT 5;
DROP INDEX parted_k_time;
SELECT plan('EXECUTE newest_parted');
ALTER TABLE parted DROP CONSTRAINT parted_id_check;
SELECT plan('EXECUTE newest_parted') ~ 'Sort Key: .*comb_timestamp' AS t LIMIT 1;
RESET plan_cache_mode;

-- a user who may not call the function is told so
CREATE ROLE regress_newest;
GRANT USAGE ON SCHEMA newest TO regress_newest;
GRANT SELECT ON ALL TABLES IN SCHEMA newest TO regress_newest;
REVOKE EXECUTE ON FUNCTION comb_timestamp(uuid) FROM public;
SET ROLE regress_newest;
SELECT k FROM c ORDER BY comb_timestamp(id) DESC LIMIT 1;
RESET ROLE;
GRANT EXECUTE ON FUNCTION comb_timestamp(uuid) TO public;
-- but reading a table needs no right on the functions of its constraints
CREATE FUNCTION from_time(timestamptz) RETURNS timestamptz LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN $1; END $$;
REVOKE EXECUTE ON FUNCTION from_time FROM public;
CREATE TABLE guarded (id uuid NOT NULL, k int, CHECK (comb_timestamp(id) > from_time('2020-01-01 00:00+00')), CHECK (k IS NULL OR k <> 1 / 0));
GRANT SELECT ON guarded TO regress_newest;
SET ROLE regress_newest;
SELECT k FROM guarded ORDER BY comb_timestamp(id) DESC LIMIT 1;
RESET ROLE;
-- and a cached plan calls only what its user may call
REVOKE EXECUTE ON FUNCTION comb_max(timestamptz) FROM public;
SET plan_cache_mode = force_generic_plan;
PREPARE since(timestamptz) AS SELECT count(*) FROM c WHERE comb_timestamp(id) > $1;
EXECUTE since('2000-01-01 00:00+00');
SET ROLE regress_newest;
EXECUTE since('2000-01-01 00:00+00');
SELECT count(*) FROM c WHERE (comb_timestamp(id), id) < ('2100-01-01 00:00+00', 'ffffffff-ffff-ffff-ffff-ffffffffffff');
RESET ROLE;
RESET plan_cache_mode;
GRANT EXECUTE ON FUNCTION comb_max(timestamptz) TO public;
DROP OWNED BY regress_newest;
DROP ROLE regress_newest;

SET client_min_messages = warning;
DROP SCHEMA newest CASCADE;
