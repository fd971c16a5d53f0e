--
-- What users can do with the extension's functions, and with rights on them
--
SET TimeZone = 'UTC';
\set SHOW_CONTEXT never

--
-- Users attach our estimators and planner support to operators and functions of
-- other types.  The estimators must not take a value for another type: the server
-- survives and uses the default estimate.
--
CREATE TABLE hostile (id uuid, number bigint, label text, during tstzrange, at timestamptz);
INSERT INTO hostile
SELECT comb_stamp(md5(n::text)::uuid, '2026-01-01'::timestamptz + n * interval '1 hour'), n,
       'ulid', tstzrange('2026-01-01', '2026-01-02'), '2026-01-01'
FROM generate_series(1, 1000) n;
CREATE INDEX ON hostile (id);
ANALYZE hostile;
CREATE TABLE hostile_parted (LIKE hostile) PARTITION BY RANGE (id);
CREATE TABLE hostile_part PARTITION OF hostile_parted DEFAULT;
INSERT INTO hostile_parted TABLE hostile;
ANALYZE hostile_parted;

-- operators with two arguments: every pair of types, with both estimators; the
-- functions are not in SQL, because the planner would inline them
CREATE FUNCTION operator_on(one text, other text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE format('CREATE FUNCTION hostile_is(%s, %s) RETURNS boolean IMMUTABLE LANGUAGE plpgsql AS ''BEGIN RETURN $1 IS NOT NULL OR $2 IS NOT NULL; END''',
                 one, other);
  EXECUTE format('CREATE OPERATOR ==== (LEFTARG = %s, RIGHTARG = %s, FUNCTION = hostile_is, RESTRICT = comb_period_sel, JOIN = comb_period_joinsel)',
                 one, other);
  RETURN one || ' ==== ' || other;
END $$;
SELECT operator_on(one, other)
FROM unnest('{uuid,bigint,text,tstzrange}'::text[]) one, unnest('{uuid,bigint,text,tstzrange,timestamptz}'::text[]) other;
-- an operator with a single argument
CREATE FUNCTION hostile_is(bigint) RETURNS boolean IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN $1 IS NOT NULL; END';
CREATE OPERATOR ==== (RIGHTARG = bigint, FUNCTION = hostile_is, RESTRICT = comb_period_sel);
-- the arguments are columns, constants, NULL and expressions of both tables
CREATE FUNCTION answers(clause text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  answer text;
BEGIN
  FOR answer IN EXECUTE 'EXPLAIN SELECT count(*) FROM hostile a, hostile_parted b WHERE a.number = b.number AND ' || clause LOOP
  END LOOP;
  EXECUTE 'SELECT count(*) FROM hostile a, hostile_parted b WHERE a.number = b.number AND ' || clause INTO answer;
  RETURN answer;
END $$;
CREATE TABLE operand (type text, value text);
INSERT INTO operand VALUES
  ('uuid', 'a.id'), ('uuid', 'b.id'), ('uuid', '''01a1f744-053e-76e2-9b7d-f2a1cb024a36''::uuid'),
  ('bigint', 'a.number'), ('bigint', 'b.number'), ('bigint', '81985529216486895::bigint'), ('bigint', 'a.number + b.number'), ('bigint', 'NULL::bigint'),
  ('text', 'a.label'), ('text', '''ulid''::text'), ('text', 'lower(b.label)'),
  ('tstzrange', 'a.during'), ('tstzrange', '''[2026-01-01,2026-01-02)''::tstzrange'), ('tstzrange', 'tstzrange(a.at, now() + interval ''1 day'')'),
  ('timestamptz', 'a.at'), ('timestamptz', 'now()'), ('timestamptz', 'NULL::timestamptz');
SELECT answers(one.value || ' ==== ' || other.value) AS answer, count(*)
FROM operand one, operand other WHERE one.type <> 'timestamptz'
GROUP BY 1 ORDER BY 1;
SELECT answers('==== a.number') AS "1000", answers('==== 81985529216486895::bigint') AS "1000", answers('==== NULL::bigint') AS "0";
-- outer and semi joins, where the estimator gets information on the join
SELECT count(*) AS "1000" FROM hostile a LEFT JOIN hostile_parted b ON a.id ==== b.number AND a.number = b.number;
SELECT count(*) AS "1000" FROM hostile a WHERE EXISTS (SELECT FROM hostile_parted b WHERE b.label ==== a.number AND a.number = b.number);

-- functions with wrong types, with none to four arguments, and with another result
CREATE FUNCTION f(uuid, bigint) RETURNS boolean IMMUTABLE LANGUAGE plpgsql SUPPORT comb_period_support AS 'BEGIN RETURN true; END';
CREATE FUNCTION f(bigint, tstzrange) RETURNS boolean IMMUTABLE LANGUAGE plpgsql SUPPORT comb_period_support AS 'BEGIN RETURN true; END';
CREATE FUNCTION f(tstzrange, tstzrange) RETURNS boolean IMMUTABLE LANGUAGE plpgsql SUPPORT comb_period_support AS 'BEGIN RETURN true; END';
CREATE FUNCTION f(uuid) RETURNS boolean IMMUTABLE LANGUAGE plpgsql SUPPORT comb_period_support AS 'BEGIN RETURN true; END';
CREATE FUNCTION f() RETURNS boolean IMMUTABLE LANGUAGE plpgsql SUPPORT comb_recheck_support AS 'BEGIN RETURN true; END';
CREATE FUNCTION f(uuid, tstzrange, bigint) RETURNS boolean IMMUTABLE LANGUAGE plpgsql SUPPORT comb_period_support AS 'BEGIN RETURN true; END';
CREATE FUNCTION f(uuid, tstzrange, text) RETURNS boolean IMMUTABLE LANGUAGE plpgsql SUPPORT comb_recheck_support AS 'BEGIN RETURN true; END';
CREATE FUNCTION f(uuid, tstzrange, text, text) RETURNS boolean IMMUTABLE LANGUAGE plpgsql SUPPORT comb_period_support AS 'BEGIN RETURN true; END';
CREATE FUNCTION g(uuid, tstzrange) RETURNS int IMMUTABLE LANGUAGE plpgsql SUPPORT comb_period_support AS 'BEGIN RETURN 1; END';
SELECT clause, answers(clause)
FROM unnest(ARRAY[
  'f(a.id, 81985529216486895)', 'f(b.id, b.number)', 'f(b.id, NULL::bigint)',
  'f(a.number, a.during)', 'f(81985529216486895, b.during)', 'f(b.number, ''[2026-01-01,2026-01-02)'')',
  'f(a.during, b.during)', 'f(b.during, ''[2026-01-01,2026-01-02)'')',
  'f(b.id)', 'f()',
  'f(b.id, ''[2026-01-01,2026-01-02)'', 1::bigint)', 'f(b.id, NULL, b.number)', 'f(b.id, b.during, NULL::bigint)',
  'f(b.id, ''[2026-01-01,2026-01-02)'', ''ulid'')', 'f(a.id, ''[2026-01-01,2026-01-02)'', ''no such layout'')',
  'f(b.id, ''[2026-01-01,2026-01-02)'', NULL::text)', 'f(b.id, b.during, b.label)', 'f(b.id, b.during, lower(''ULID''))',
  'f(b.id, ''[2026-01-01,2026-01-02)'', ''ulid'', ''ulid'')',
  'g(b.id, ''[2026-01-01,2026-01-02)'') = 1', 'g(a.id, a.during) > 0']) clause;
DROP TABLE hostile, hostile_parted, operand;
SET client_min_messages = warning;
DROP FUNCTION hostile_is(bigint), hostile_is(uuid, bigint) CASCADE;
RESET client_min_messages;

--
-- Default privileges of the installing role: only the owner can move the limits
--
CREATE ROLE regress_comb_app;
CREATE ROLE "regress_comb_o'wner";
SET client_min_messages = warning;
DROP EXTENSION pg_comb CASCADE;
RESET client_min_messages;
ALTER DEFAULT PRIVILEGES GRANT EXECUTE ON FUNCTIONS TO regress_comb_app, "regress_comb_o'wner";
ALTER DEFAULT PRIVILEGES GRANT ALL ON SEQUENCES TO regress_comb_app, PUBLIC;
ALTER DEFAULT PRIVILEGES GRANT ALL ON SCHEMAS TO regress_comb_app, "regress_comb_o'wner";
CREATE EXTENSION pg_comb;
SELECT role, has_function_privilege(role, 'comb_generate()', 'EXECUTE') AS t,
       has_function_privilege(role, 'comb_ordered_reset(timestamptz)', 'EXECUTE') AS f,
       has_schema_privilege(role, 'comb_internal', 'CREATE') AS f,
       count(*) FILTER (WHERE has_sequence_privilege(role, oid, 'UPDATE') OR has_sequence_privilege(role, oid, 'USAGE')) AS "0"
FROM unnest('{regress_comb_app,regress_comb_o''wner}'::name[]) role, pg_class
WHERE relnamespace = 'comb_internal'::regnamespace GROUP BY role ORDER BY role;
ALTER DEFAULT PRIVILEGES REVOKE EXECUTE ON FUNCTIONS FROM regress_comb_app, "regress_comb_o'wner";
ALTER DEFAULT PRIVILEGES REVOKE ALL ON SEQUENCES FROM regress_comb_app, PUBLIC;
ALTER DEFAULT PRIVILEGES REVOKE ALL ON SCHEMAS FROM regress_comb_app, "regress_comb_o'wner";

--
-- Default privileges that take everything from PUBLIC: only the right on the clause's
-- own function counts, in every plan
--
DROP EXTENSION pg_comb;
ALTER DEFAULT PRIVILEGES REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC;
CREATE EXTENSION pg_comb;
CREATE TABLE plain (id uuid);
INSERT INTO plain SELECT comb_stamp(md5(n::text)::uuid, '2026-01-01'::timestamptz + n * interval '1 hour') FROM generate_series(1, 1000) n;
CREATE INDEX ON plain (id);
CREATE TABLE parted (id uuid) PARTITION BY RANGE (id);
CREATE TABLE part PARTITION OF parted DEFAULT;
INSERT INTO parted TABLE plain;
ANALYZE plain;
ANALYZE parted;
GRANT SELECT ON plain, parted TO regress_comb_app;
CREATE FUNCTION by_plans() RETURNS TABLE (clause text, relation text, plan text, answer text)
LANGUAGE plpgsql AS $$
BEGIN
  FOR clause, relation, plan IN
    SELECT * FROM unnest(ARRAY['id <@ $1', '$1 @> id', 'comb_created(id, $1)', 'comb_created(id, $1, ''uuidv7'')', 'comb_created(id, $1, ''ulid'')']) c,
                  unnest('{plain,parted}'::text[]) r, unnest('{force_custom_plan,force_generic_plan}'::text[]) p
  LOOP
    PERFORM set_config('plan_cache_mode', plan, true);
    EXECUTE format('PREPARE asked(tstzrange) AS SELECT count(*) FROM %s WHERE %s', relation, clause);
    BEGIN
      EXECUTE 'EXECUTE asked(''[2026-01-02,2026-01-03)'')' INTO answer;
    EXCEPTION WHEN insufficient_privilege THEN
      answer := SQLERRM;
    END;
    DEALLOCATE asked;
    RETURN NEXT;
  END LOOP;
END $$;
GRANT EXECUTE ON FUNCTION by_plans() TO regress_comb_app;
SET ROLE regress_comb_app;
SELECT answer, count(*) FROM by_plans() GROUP BY 1 ORDER BY 1;
RESET ROLE;
GRANT EXECUTE ON FUNCTION comb_contained(uuid, comb_period), comb_contains(comb_period, uuid),
	comb_created(uuid, tstzrange), comb_created(uuid, tstzrange, comb_layout) TO regress_comb_app;
SET ROLE regress_comb_app;
SELECT answer AS "24", count(*) FROM by_plans() GROUP BY 1 ORDER BY 1;
RESET ROLE;
-- in a session, a plan that one role has made serves others
SET plan_cache_mode = force_generic_plan;
PREPARE asked(tstzrange) AS SELECT count(*) AS "24" FROM plain WHERE id <@ $1;
EXECUTE asked('[2026-01-02,2026-01-03)');
SET ROLE regress_comb_app;
EXECUTE asked('[2026-01-02,2026-01-03)');
RESET ROLE;
DEALLOCATE asked;
RESET plan_cache_mode;
-- the script's own grants to PUBLIC do not matter either
REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA public FROM PUBLIC;
SET ROLE regress_comb_app;
SELECT answer AS "24", count(*) FROM by_plans() GROUP BY 1 ORDER BY 1;
RESET ROLE;
ALTER DEFAULT PRIVILEGES GRANT EXECUTE ON FUNCTIONS TO PUBLIC;
DROP TABLE plain, parted;
DROP FUNCTION by_plans;
DROP EXTENSION pg_comb;
DROP ROLE regress_comb_app, "regress_comb_o'wner";

-- put the extension back where the other tests expect it
CREATE EXTENSION pg_comb;

--
-- A stranger's schema.  Superusers can attach our planner support to the functions in
-- it, but no plan calls a stranger's function for that.
--
CREATE ROLE regress_comb_stranger;
CREATE SCHEMA stranger AUTHORIZATION regress_comb_stranger;
CREATE TABLE victim (id uuid, n int) PARTITION BY RANGE (id);
CREATE TABLE victim_1 PARTITION OF victim DEFAULT;
INSERT INTO victim
SELECT comb_stamp(md5(n::text)::uuid, '2026-01-01'::timestamptz + n * interval '1 hour'), n FROM generate_series(1, 1000) n;
CREATE INDEX ON victim (id);
ANALYZE victim, victim_1;
SET ROLE regress_comb_stranger;
CREATE FUNCTION stranger.trap(what text) RETURNS boolean IMMUTABLE LANGUAGE plpgsql AS $$
BEGIN
  RAISE WARNING '% is called', what;
  RETURN true;
END $$;
CREATE FUNCTION stranger.comb_range_min(tstzrange) RETURNS uuid IMMUTABLE LANGUAGE plpgsql AS
$$ BEGIN PERFORM stranger.trap('comb_range_min'); RETURN '00000000-0000-0000-0000-000000000000'; END $$;
CREATE FUNCTION stranger.comb_range_max(tstzrange) RETURNS uuid IMMUTABLE LANGUAGE plpgsql AS
$$ BEGIN PERFORM stranger.trap('comb_range_max'); RETURN 'ffffffff-ffff-ffff-ffff-ffffffffffff'; END $$;
CREATE FUNCTION stranger.comb_recheck(uuid, tstzrange) RETURNS boolean IMMUTABLE LANGUAGE plpgsql AS
$$ BEGIN RETURN stranger.trap('comb_recheck'); END $$;
CREATE FUNCTION stranger.comb_in_range(uuid, tstzrange) RETURNS boolean IMMUTABLE LANGUAGE plpgsql AS
$$ BEGIN RETURN stranger.trap('comb_in_range'); END $$;
CREATE FUNCTION stranger.comb_timestamp(uuid) RETURNS timestamptz IMMUTABLE LANGUAGE plpgsql AS
$$ BEGIN RETURN '2026-01-01'; END $$;
CREATE FUNCTION stranger.is(uuid, uuid) RETURNS boolean IMMUTABLE LANGUAGE plpgsql AS
$$ BEGIN RETURN stranger.trap('an operator'); END $$;
CREATE OPERATOR stranger.#>=# (LEFTARG = uuid, RIGHTARG = uuid, FUNCTION = stranger.is);
CREATE OPERATOR stranger.#<=# (LEFTARG = uuid, RIGHTARG = uuid, FUNCTION = stranger.is);
RESET ROLE;
-- functions with another meaning, with our code, and with our code and a wrong type
CREATE FUNCTION stranger.outside(uuid, tstzrange) RETURNS boolean IMMUTABLE LANGUAGE plpgsql
SUPPORT comb_period_support AS 'BEGIN RETURN NOT $1 <@ $2; END';
DO $$
DECLARE
  form text := format('CREATE FUNCTION stranger.%%s RETURNS boolean IMMUTABLE STRICT LANGUAGE C
    SUPPORT comb_period_support AS %L, %%L',
    (SELECT probin FROM pg_proc WHERE oid = 'comb_contained(uuid, comb_period)'::regprocedure));
BEGIN
  EXECUTE format(form, 'created(uuid, tstzrange)', 'comb_contained');
  EXECUTE format(form, 'created(uuid, tstzrange, comb_layout)', 'comb_created');
  EXECUTE format(form, 'wrong(uuid, bigint)', 'comb_contained');
END $$;
SET plan_cache_mode = force_generic_plan;
SELECT count(*) AS "976" FROM victim WHERE stranger.outside(id, '[2026-01-02,2026-01-03)');
PREPARE outside(tstzrange) AS SELECT count(*) AS "976" FROM victim_1 WHERE stranger.outside(id, $1);
EXECUTE outside('[2026-01-02,2026-01-03)');
PREPARE created(tstzrange) AS SELECT count(*) AS "24" FROM victim WHERE stranger.created(id, $1);
EXECUTE created('[2026-01-02,2026-01-03)');
PREPARE created_1(tstzrange) AS SELECT count(*) AS "24" FROM victim_1 WHERE stranger.created(id, $1);
EXECUTE created_1('[2026-01-02,2026-01-03)');
PREPARE created_mssql(tstzrange) AS SELECT count(*) AS "0" FROM victim WHERE stranger.created(id, $1, 'efcore');
EXECUTE created_mssql('[2026-01-02,2026-01-03)');
SELECT count(*) AS "0" FROM victim WHERE stranger.created(id, '[2026-01-02,2026-01-03)', 'efcore');
DEALLOCATE ALL;
RESET plan_cache_mode;
EXPLAIN (COSTS OFF) SELECT FROM victim_1 WHERE stranger.wrong(id, 81985529216486895);
-- a constraint by a stranger's comb_timestamp() says nothing of times
CREATE TABLE stranger.claims (id uuid CHECK (stranger.comb_timestamp(id) IS NOT NULL));
INSERT INTO stranger.claims SELECT overlay(id::text PLACING '4' FROM 15 FOR 1)::uuid FROM victim;
CREATE INDEX ON stranger.claims (id);
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SELECT count(*) AS "0" FROM stranger.claims WHERE id <@ '[2026-01-02,2026-01-03)';
SELECT count(*) AS "0" FROM stranger.claims WHERE stranger.created(id, '[2026-01-02,2026-01-03)');
RESET enable_seqscan;
RESET enable_bitmapscan;
SET client_min_messages = warning;
DROP SCHEMA stranger CASCADE;
RESET client_min_messages;
DROP TABLE victim;
DROP ROLE regress_comb_stranger;
