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
CREATE FUNCTION f() RETURNS boolean IMMUTABLE LANGUAGE plpgsql SUPPORT comb_period_support AS 'BEGIN RETURN true; END';
CREATE FUNCTION f(uuid, tstzrange, bigint) RETURNS boolean IMMUTABLE LANGUAGE plpgsql SUPPORT comb_period_support AS 'BEGIN RETURN true; END';
CREATE FUNCTION f(uuid, tstzrange, text) RETURNS boolean IMMUTABLE LANGUAGE plpgsql SUPPORT comb_period_support AS 'BEGIN RETURN true; END';
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
ALTER DEFAULT PRIVILEGES GRANT EXECUTE ON FUNCTIONS TO regress_comb_app, "regress_comb_o'wner";
ALTER DEFAULT PRIVILEGES GRANT ALL ON SEQUENCES TO regress_comb_app, PUBLIC;
ALTER DEFAULT PRIVILEGES GRANT ALL ON SCHEMAS TO regress_comb_app, "regress_comb_o'wner";
CREATE EXTENSION pg_comb_ordered CASCADE;
RESET client_min_messages;
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
DROP EXTENSION pg_comb_ordered, pg_comb;
ALTER DEFAULT PRIVILEGES REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC;
CREATE EXTENSION pg_comb;
CREATE TABLE plain (id uuid);
INSERT INTO plain SELECT comb_stamp(md5(n::text)::uuid, '2026-01-01'::timestamptz + n * interval '1 hour') FROM generate_series(1, 1000) n;
CREATE INDEX ON plain (id);
CREATE TABLE parted (id uuid) PARTITION BY RANGE (id);
CREATE TABLE part PARTITION OF parted DEFAULT;
INSERT INTO parted TABLE plain;
CREATE TABLE moved (id uuid) PARTITION BY RANGE (id comb_mssql_ops);
CREATE TABLE moved_part PARTITION OF moved DEFAULT;
CREATE INDEX ON moved (id comb_mssql_ops);
INSERT INTO moved SELECT comb_stamp(id, comb_timestamp(id), 'rtcomb_sql') FROM plain;
-- the planner compares these constraints with the clause, by any of the order's operators
SELECT comb_min('2026-01-15', 'rtcomb_sql') AS middle \gset
CREATE TABLE checked (id uuid);
CREATE TABLE checked_1 (CHECK (id #<# :'middle')) INHERITS (checked);
CREATE TABLE checked_2 (CHECK (id #># :'middle')) INHERITS (checked);
INSERT INTO checked_1 SELECT id FROM moved WHERE id #<# :'middle';
ANALYZE plain;
ANALYZE parted;
ANALYZE moved;
GRANT SELECT ON plain, parted, moved, moved_part, checked TO regress_comb_app;
CREATE FUNCTION by_plans() RETURNS TABLE (clause text, relation text, plan text, answer text)
LANGUAGE plpgsql AS $$
BEGIN
  FOR clause, relation, plan IN
    SELECT * FROM (SELECT c, r FROM unnest(ARRAY['id <@ $1', '$1 @> id', 'comb_created(id, $1)', 'comb_created(id, $1, ''uuidv7'')', 'comb_created(id, $1, ''ulid'')', 'comb_during(id, lower($1), upper($1))']) c,
                                  unnest('{plain,parted}'::text[]) r
                   UNION ALL SELECT 'comb_created(id, $1, ''rtcomb_sql'')', unnest('{moved,moved_part,checked}'::text[])) cr,
                  unnest('{force_custom_plan,force_generic_plan}'::text[]) p
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
	comb_created(uuid, tstzrange), comb_created(uuid, tstzrange, text),
	comb_during(uuid, timestamptz, timestamptz) TO regress_comb_app;
SET ROLE regress_comb_app;
SELECT answer AS "24", count(*) FROM by_plans() GROUP BY 1 ORDER BY 1;
RESET ROLE;
-- in a session, a plan that one role has made serves others
SET plan_cache_mode = force_generic_plan;
PREPARE asked(tstzrange) AS SELECT count(*) AS "24" FROM plain WHERE id <@ $1;
EXECUTE asked('[2026-01-02,2026-01-03)');
PREPARE computed(timestamptz) AS SELECT count(*) AS "24" FROM plain WHERE id <@ tstzrange($1, $1 + interval '1 day');
EXECUTE computed('2026-01-02');
SET ROLE regress_comb_app;
EXECUTE asked('[2026-01-02,2026-01-03)');
EXECUTE computed('2026-01-02');
RESET ROLE;
DEALLOCATE ALL;
RESET plan_cache_mode;
-- the script's own grants to PUBLIC do not matter either
REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA public FROM PUBLIC;
SET ROLE regress_comb_app;
SELECT answer AS "24", count(*) FROM by_plans() GROUP BY 1 ORDER BY 1;
RESET ROLE;
-- nor do two of the operators that only the planner calls
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA public TO regress_comb_app;
REVOKE EXECUTE ON FUNCTION comb_mssql_lt, comb_mssql_gt FROM regress_comb_app;
SET ROLE regress_comb_app;
SELECT answer AS "24", count(*) FROM by_plans() GROUP BY 1 ORDER BY 1;
RESET ROLE;
REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA public FROM regress_comb_app;
-- nor do the operators alone, for a plan that another role has made
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA public TO PUBLIC;
REVOKE EXECUTE ON FUNCTION comb_mssql_ge, comb_timestamp(uuid) FROM PUBLIC;
SET plan_cache_mode = force_generic_plan;
PREPARE asked(tstzrange) AS SELECT count(*) AS "24" FROM moved WHERE comb_created(id, $1, 'rtcomb_sql');
EXECUTE asked('[2026-01-02,2026-01-03)');
SET ROLE regress_comb_app;
EXECUTE asked('[2026-01-02,2026-01-03)');
RESET ROLE;
-- and such a plan does not leave out what the role may not call
PREPARE since(timestamptz) AS SELECT count(*) AS "977" FROM plain WHERE comb_timestamp(id) >= $1;
EXECUTE since('2026-01-02');
PREPARE newest AS SELECT count(*) AS "5" FROM (SELECT FROM plain WHERE id <@ '[2026-01-01,2027-01-01)' ORDER BY comb_timestamp(id) DESC LIMIT 5) p;
EXECUTE newest;
SET ROLE regress_comb_app;
EXECUTE since('2026-01-02');
EXECUTE newest;
RESET ROLE;
-- nor where the planner has inlined the call, from which it took a range or an order
GRANT EXECUTE ON FUNCTION comb_mssql_ge, comb_timestamp(uuid) TO PUBLIC;
CREATE FUNCTION created(plain) RETURNS timestamptz STABLE LANGUAGE sql AS 'SELECT comb_timestamp($1.id)';
GRANT EXECUTE ON FUNCTION created TO PUBLIC;
PREPARE inlined AS SELECT count(*) AS "977" FROM plain WHERE created(plain) >= '2026-01-02';
PREPARE inlined_newest AS SELECT count(*) AS "5" FROM (SELECT FROM plain WHERE id <@ '[2026-01-01,2027-01-01)' ORDER BY created(plain) DESC LIMIT 5) p;
SET ROLE regress_comb_app;
EXECUTE inlined;
EXECUTE inlined_newest;
RESET ROLE;
REVOKE EXECUTE ON FUNCTION comb_timestamp(uuid) FROM PUBLIC;
SET ROLE regress_comb_app;
EXECUTE inlined;
EXECUTE inlined_newest;
RESET ROLE;
DROP FUNCTION created;
DEALLOCATE ALL;
RESET plan_cache_mode;
REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA public FROM PUBLIC;
-- a condition that the role may not call fails, though its bounds would not
GRANT EXECUTE ON FUNCTION comb_min(timestamptz), comb_recheck(uuid, tstzrange) TO regress_comb_app;
SET ROLE regress_comb_app;
SELECT count(*) FROM plain WHERE comb_timestamp(id) >= '2026-01-02';
RESET ROLE;
GRANT EXECUTE ON FUNCTION comb_timestamp(uuid) TO regress_comb_app;
SET ROLE regress_comb_app;
SELECT count(*) >= 24 AS t FROM plain WHERE comb_timestamp(id) >= '2026-01-02';
RESET ROLE;
REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA public FROM regress_comb_app;
ALTER DEFAULT PRIVILEGES GRANT EXECUTE ON FUNCTIONS TO PUBLIC;
SET client_min_messages = warning;
DROP TABLE plain, parted, moved, checked CASCADE;
RESET client_min_messages;
DROP FUNCTION by_plans;
DROP EXTENSION pg_comb;
DROP ROLE regress_comb_app, "regress_comb_o'wner";

--
-- A role that may create in the extension's schema.  It can capture plain calls such as
-- id <@ tstzrange(...), but no call that the extension makes itself.
--
CREATE SCHEMA keys;
CREATE EXTENSION pg_comb SCHEMA keys;
CREATE ROLE regress_comb_app;
GRANT USAGE, CREATE ON SCHEMA keys TO regress_comb_app;
CREATE TABLE orders (id uuid PRIMARY KEY, at timestamptz);
INSERT INTO orders
SELECT keys.comb_stamp(md5(n::text)::uuid, at), at
FROM generate_series(0, 99) n, LATERAL (SELECT '2026-01-01'::timestamptz + n * interval '1 hour') made (at);
CREATE TABLE guarded (LIKE orders);
INSERT INTO guarded TABLE orders;
CREATE POLICY second ON guarded USING (keys.comb_during(id, '2026-01-02', '2026-01-03'));
ALTER TABLE guarded ENABLE ROW LEVEL SECURITY;
CREATE VIEW third AS SELECT id FROM orders WHERE keys.comb_during(id, '2026-01-03', '2026-01-04');
GRANT SELECT ON orders, guarded, third TO regress_comb_app;

-- Overloads of each function: every argument in turn with every other type that an
-- argument of the extension's functions can be mistaken for.
CREATE FUNCTION take_over(target name) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  overload record;
  made bigint := 0;
BEGIN
  FOR overload IN
    SELECT DISTINCT p.proname AS name, p.prorettype::regtype AS result,
           array_to_string(ARRAY(SELECT CASE WHEN m = n THEN other ELSE t::regtype::text END
                                 FROM unnest(p.proargtypes) WITH ORDINALITY u (t, m) ORDER BY m), ', ') AS arguments
    FROM pg_extension e JOIN pg_depend d ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid
         JOIN pg_proc p ON d.classid = 'pg_proc'::regclass AND p.oid = d.objid,
         generate_series(1, pronargs) n, unnest('{comb_period,text,varchar,tstzrange,timestamp,anyelement}'::text[]) plain,
         LATERAL (SELECT CASE WHEN plain ~ '^comb' THEN format('%I.%s', target, plain) ELSE plain END) named (other)
    WHERE e.extname = 'pg_comb' AND NOT proretset AND provariadic = 0 AND 'internal'::regtype <> ALL (p.proargtypes::oid[])
  LOOP
    BEGIN
      EXECUTE format('CREATE FUNCTION %I.%I(%s) RETURNS %s LANGUAGE plpgsql AS ''BEGIN RAISE ''''taken over''''; END''',
                     target, overload.name, overload.arguments, overload.result);
      made := made + 1;
    EXCEPTION WHEN duplicate_function THEN
    END;
  END LOOP;
  EXECUTE format('CREATE FUNCTION %I.taken(uuid, tstzrange) RETURNS boolean LANGUAGE plpgsql AS ''BEGIN RAISE ''''taken over''''; END''', target);
  EXECUTE format('CREATE OPERATOR %I.<@ (LEFTARG = uuid, RIGHTARG = tstzrange, FUNCTION = %1$I.taken)', target);
  RETURN made;
END $$;
SET ROLE regress_comb_app;
SELECT take_over('keys') > 100 AS t;
RESET ROLE;
SELECT id OPERATOR(keys.<@) tstzrange('2026-01-02', '2026-01-03') FROM orders;

-- The extension's own calls, in custom and generic plans, and by a caller without a
-- search_path.  A value that is not constant keeps PostgreSQL from folding the call.
CREATE FUNCTION counts(extension name) RETURNS TABLE (answer bigint, clauses bigint) LANGUAGE plpgsql
  SET search_path = pg_catalog AS $$
BEGIN
  CREATE TEMP TABLE answered (n bigint);
  FOR clauses IN 1 .. 9 LOOP
    EXECUTE 'INSERT INTO answered SELECT count(*) FROM public.orders WHERE ' || replace((ARRAY[
      'keys.comb_during(id, timestamptz ''2026-01-02'', timestamptz ''2026-01-03'')',
      'keys.comb_during(id, $1, $2)',
      'keys.comb_during(id, at, at + interval ''1 day'') AND at >= $1 AND at < $2',
      'keys.comb_created(id, tstzrange($1, $2))',
      'keys.comb_created(id, tstzrange($1, $2), ''uuidv7'')',
      'id OPERATOR(keys.<@) tstzrange($1, $2)::keys.comb_period',
      'tstzrange($1, $2)::keys.comb_period OPERATOR(keys.@>) id',
      'id BETWEEN keys.comb_min($1, ''uuidv7'') AND keys.comb_max($2 - interval ''1 s'')',
      'keys.comb_timestamp(keys.comb_stamp(id, at)) = at AND at >= $1 AND at < $2'])[clauses], 'keys.', extension || '.')
    USING timestamptz '2026-01-02', timestamptz '2026-01-03';
  END LOOP;
  RETURN QUERY SELECT n, count(*) FROM answered GROUP BY n;
  DROP TABLE answered;
END $$;
SELECT answer AS "24", clauses AS "9" FROM counts('keys');
SET plan_cache_mode = force_generic_plan;
SELECT answer AS "24", clauses AS "9" FROM counts('keys');
RESET plan_cache_mode;
SET enable_indexscan = off;
SET enable_bitmapscan = off;
SELECT answer AS "24", clauses AS "9" FROM counts('keys');
RESET enable_indexscan;
RESET enable_bitmapscan;
SET ROLE regress_comb_app;
SELECT count(*) AS "24" FROM guarded;
RESET ROLE;
SELECT count(*) AS "24" FROM third;

-- the schema gets another name, and the role makes a schema of the old name
ALTER SCHEMA keys RENAME TO moved;
SELECT answer AS "24", clauses AS "9" FROM counts('moved');
CREATE SCHEMA keys AUTHORIZATION regress_comb_app;
SET ROLE regress_comb_app;
CREATE DOMAIN keys.comb_period AS tstzrange;
SELECT take_over('keys') > 100 AS t;
SELECT count(*) AS "24" FROM guarded;
RESET ROLE;
SELECT count(*) AS "24" FROM third;
SELECT answer AS "24", clauses AS "9" FROM counts('moved');

-- no function of the extension is a text in which PostgreSQL looks names up
SELECT p.oid::regprocedure AS function
FROM pg_extension e JOIN pg_depend d ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid
     JOIN pg_proc p ON d.classid = 'pg_proc'::regclass AND p.oid = d.objid JOIN pg_language l ON l.oid = p.prolang
WHERE e.extname = 'pg_comb' AND lanname NOT IN ('c', 'internal') AND prosqlbody IS NULL;

DROP VIEW third;
DROP TABLE orders, guarded;
DROP FUNCTION take_over, counts;
SET client_min_messages = warning;
DROP SCHEMA keys CASCADE;
DROP SCHEMA moved CASCADE;
RESET client_min_messages;

--
-- What stands in the schema before the extension: CREATE EXTENSION fails, and takes nothing
-- of another role into the extension
--
CREATE SCHEMA keys;
GRANT USAGE, CREATE ON SCHEMA keys TO regress_comb_app;
GRANT CREATE ON DATABASE :"DBNAME" TO regress_comb_app;
CREATE FUNCTION create_after(statement text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  SET LOCAL ROLE regress_comb_app;
  EXECUTE statement;
  RESET ROLE;
  BEGIN
    CREATE EXTENSION pg_comb_ordered SCHEMA keys CASCADE;
    RAISE 'created';
  EXCEPTION WHEN syntax_error_or_access_rule_violation OR object_not_in_prerequisite_state THEN
    RAISE 'refused';
  END;
EXCEPTION WHEN OTHERS THEN
  RETURN SQLERRM;
END $$;
SET client_min_messages = warning;
SELECT create_after(statement), count(*) AS "8" FROM unnest(ARRAY[
  'CREATE FUNCTION keys.comb_created(uuid, tstzrange) RETURNS boolean LANGUAGE sql AS ''SELECT true''',
  'CREATE FUNCTION keys.comb_mssql_lt(uuid, uuid) RETURNS boolean LANGUAGE sql AS ''SELECT true''',
  'CREATE FUNCTION keys.f(uuid, uuid) RETURNS uuid LANGUAGE sql AS ''SELECT $1'';
   CREATE AGGREGATE keys.comb_mssql_key(uuid) (SFUNC = keys.f, STYPE = uuid)',
  'CREATE DOMAIN keys.comb_period AS tstzrange CHECK (false)',
  'CREATE TABLE keys.comb_period ()',
  'CREATE OPERATOR keys.#># (LEFTARG = uuid, RIGHTARG = uuid, FUNCTION = uuid_lt)',
  -- the commutator is an operator without a function
  'CREATE OPERATOR keys.%% (LEFTARG = uuid, RIGHTARG = uuid, FUNCTION = uuid_lt, COMMUTATOR = OPERATOR(keys.#>#))',
  'CREATE SCHEMA comb_internal']) statement
GROUP BY 1;
REVOKE CREATE ON DATABASE :"DBNAME" FROM regress_comb_app;
-- what has other arguments, and what the script means in pg_catalog
SET ROLE regress_comb_app;
CREATE FUNCTION keys.comb_mssql_lt(text, text) RETURNS boolean LANGUAGE sql AS 'SELECT true';
CREATE FUNCTION keys.is(uuid, uuid) RETURNS boolean LANGUAGE plpgsql AS 'BEGIN RAISE ''taken over''; END';
CREATE OPERATOR keys.= (LEFTARG = uuid, RIGHTARG = uuid, FUNCTION = keys.is);
CREATE OPERATOR keys.>= (LEFTARG = uuid, RIGHTARG = uuid, FUNCTION = keys.is);
CREATE FUNCTION keys.btequalimage(oid) RETURNS boolean LANGUAGE sql AS 'SELECT true';
CREATE DOMAIN keys.uuid AS text;
CREATE DOMAIN keys.timestamptz AS text;
CREATE DOMAIN keys.tstzrange AS text;
-- what the bodies of comb_created() and comb_during() could mean as well
CREATE FUNCTION keys.tstzrange(pg_catalog.timestamptz, pg_catalog.timestamptz) RETURNS pg_catalog.tstzrange LANGUAGE plpgsql AS 'BEGIN RAISE ''taken over''; END';
CREATE FUNCTION keys.taken(pg_catalog.uuid, pg_catalog.tstzrange) RETURNS boolean LANGUAGE plpgsql AS 'BEGIN RAISE ''taken over''; END';
CREATE FUNCTION keys.taken(pg_catalog.uuid, anyrange) RETURNS boolean LANGUAGE plpgsql AS 'BEGIN RAISE ''taken over''; END';
CREATE OPERATOR keys.<@ (LEFTARG = pg_catalog.uuid, RIGHTARG = pg_catalog.tstzrange, FUNCTION = keys.taken);
CREATE OPERATOR keys.<@ (LEFTARG = pg_catalog.uuid, RIGHTARG = anyrange, FUNCTION = keys.taken);
RESET ROLE;
CREATE EXTENSION pg_comb_ordered SCHEMA keys CASCADE;
SELECT count(*) FILTER (WHERE keys.comb_during(id, '2026-01-02', '2026-01-03')) AS "24",
       count(*) FILTER (WHERE keys.comb_created(id, pg_catalog.tstzrange('2026-01-02', '2026-01-03'))) AS "24",
       bool_and(keys.comb_during(id, at, NULL) AND keys.comb_created(id, pg_catalog.tstzrange(at, NULL))) AS t
FROM (SELECT at, keys.comb_min(at) FROM generate_series('2026-01-01', '2026-01-05', interval '1 hour') at) made (at, id);
SELECT amopstrategy, amopopr::regoperator FROM pg_amop
WHERE amopfamily = (SELECT oid FROM pg_opfamily WHERE opfname = 'comb_mssql_ops') ORDER BY 1;
SELECT count(*) > 70 AS t,
       count(*) FILTER (WHERE (s.refclassid, s.refobjid) = ('pg_authid'::regclass, 'regress_comb_app'::regrole)) AS "0",
       count(*) FILTER (WHERE on_other IS NOT NULL) AS "0"
FROM pg_extension e JOIN pg_depend d ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid AND d.deptype = 'e'
     LEFT JOIN pg_shdepend s ON s.classid = d.classid AND s.objid = d.objid AND s.deptype = 'o'
     LEFT JOIN LATERAL (SELECT 1 FROM pg_depend o JOIN pg_shdepend other ON other.classid = o.refclassid AND other.objid = o.refobjid
                        WHERE o.classid = d.classid AND o.objid = d.objid AND other.deptype = 'o'
                          AND other.refobjid = 'regress_comb_app'::regrole) on_other (on_other) ON true
WHERE extname IN ('pg_comb', 'pg_comb_ordered');
DROP FUNCTION create_after;
DROP SCHEMA keys CASCADE;
RESET client_min_messages;
DROP ROLE regress_comb_app;

-- put the extensions back where the other tests expect them
CREATE EXTENSION pg_comb;
CREATE EXTENSION pg_comb_ordered;

--
-- A stranger's schema.  Superusers can attach our planner support to the functions in
-- it, but no plan calls a stranger's function for that.
--
CREATE ROLE regress_comb_stranger;
CREATE SCHEMA stranger AUTHORIZATION regress_comb_stranger;
CREATE TABLE victim (id uuid, n bigint) PARTITION BY RANGE (id);
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
CREATE DOMAIN stranger.comb_period AS tstzrange;
-- all that the planner looks for in a schema, in another language
DO $$
DECLARE
  ours record;
BEGIN
  FOR ours IN
    SELECT proname AS name, replace(oidvectortypes(proargtypes), 'comb_period', 'stranger.comb_period') AS arguments,
           prorettype::regtype AS result
    FROM pg_proc
    WHERE pronamespace = 'public'::regnamespace
      AND proname ~ '^comb_(timestamp|contained|contains|created|recheck|(range_|bound_)?(min|max)|mssql_[lg][et]|instant)$'
  LOOP
    EXECUTE format('CREATE FUNCTION stranger.%I(%s) RETURNS %s IMMUTABLE LANGUAGE plpgsql AS %L', ours.name, ours.arguments, ours.result,
                   CASE ours.name WHEN 'comb_timestamp' THEN 'BEGIN RETURN ''2026-01-01''; END'
                   ELSE format('BEGIN PERFORM stranger.trap(%L); RETURN NULL; END', ours.name) END);
  END LOOP;
END $$;
CREATE FUNCTION stranger.is(uuid, uuid) RETURNS boolean IMMUTABLE LANGUAGE plpgsql AS
$$ BEGIN RETURN stranger.trap('an operator'); END $$;
CREATE OPERATOR stranger.#>=# (LEFTARG = uuid, RIGHTARG = uuid, FUNCTION = stranger.is);
CREATE OPERATOR stranger.#<=# (LEFTARG = uuid, RIGHTARG = uuid, FUNCTION = stranger.is);
CREATE OPERATOR stranger.#># (LEFTARG = uuid, RIGHTARG = uuid, FUNCTION = stranger.is);
CREATE OPERATOR stranger.#<# (LEFTARG = uuid, RIGHTARG = uuid, FUNCTION = stranger.is);
RESET ROLE;
-- functions with another meaning, with our code, and with our code and a wrong type
CREATE FUNCTION stranger.outside(uuid, tstzrange) RETURNS boolean IMMUTABLE LANGUAGE plpgsql
SUPPORT comb_period_support AS 'BEGIN RETURN NOT $1 <@ $2; END';
DO $$
DECLARE
  form text := format('CREATE OR REPLACE FUNCTION stranger.%%s RETURNS boolean IMMUTABLE LANGUAGE C
    SUPPORT %%s AS %L, %%L',
    (SELECT probin FROM pg_proc WHERE oid = 'comb_contained(uuid, comb_period)'::regprocedure));
BEGIN
  EXECUTE format(form, 'created(uuid, tstzrange)', 'comb_period_support STRICT', 'comb_contained');
  EXECUTE format(form, 'created(uuid, tstzrange, text)', 'comb_period_support STRICT', 'comb_created_layout');
  EXECUTE format(form, 'wrong(uuid, bigint)', 'comb_period_support STRICT', 'comb_contained');
  EXECUTE format(replace(form, 'boolean', 'uuid'), 'comb_range_min(tstzrange, text)', 'comb_period_support STRICT', 'comb_range_min');
  EXECUTE format(replace(form, 'boolean', 'uuid'), 'comb_range_max(tstzrange, text)', 'comb_period_support STRICT', 'comb_range_max');
  form := replace(form, 'RETURNS boolean', 'RETURNS timestamptz');
  EXECUTE format(form, 'made(uuid)', 'comb_period_support STRICT', 'comb_timestamp');
  EXECUTE format(form, 'made(uuid, text)', 'comb_period_support STRICT', 'comb_timestamp_layout');
  EXECUTE format(form, 'made(bigint)', 'comb_period_support STRICT', 'comb_timestamp');
  EXECUTE format(replace(form, 'stranger.', ''), 'made(bigint)', 'comb_period_support STRICT', 'comb_timestamp');
  EXECUTE format(replace(form, 'stranger.', ''), 'made(uuid, text)', 'comb_period_support STRICT', 'comb_timestamp');
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
SELECT count(*) AS "1000" FROM victim WHERE stranger.created(id, '[1900-01-01,11000-01-01)', 'rtcomb_sql');
PREPARE made(timestamptz) AS SELECT count(*) AS "976" FROM victim WHERE stranger.made(id) >= $1;
EXECUTE made('2026-01-02 01:00');
PREPARE made_on(date) AS SELECT count(*) AS "977" FROM victim WHERE stranger.made(id) >= $1;
EXECUTE made_on('2026-01-02');
SELECT count(*) AS "976" FROM victim WHERE stranger.made(id, 'ulid') > '2026-01-02';
DEALLOCATE ALL;
RESET plan_cache_mode;
EXPLAIN (COSTS OFF) SELECT FROM victim_1 WHERE stranger.wrong(id, 81985529216486895);
EXPLAIN (COSTS OFF) SELECT FROM victim_1 WHERE stranger.made(n) > '2026-01-02';
-- beside our own functions
EXPLAIN (COSTS OFF) SELECT FROM victim_1 WHERE made(n) > '2026-01-02';
SELECT count(*) AS "976" FROM victim WHERE made(id, 'uuidv6') > '2026-01-02';
DROP FUNCTION made(bigint), made(uuid, text);
-- a function of the same name that is not ours
SELECT count(*) AS "1000" FROM victim WHERE stranger.comb_timestamp(id) = '2026-01-01';
-- a function in another language with our support function
CREATE FUNCTION stranger.late(uuid) RETURNS timestamptz IMMUTABLE LANGUAGE plpgsql
SUPPORT comb_period_support AS $$ BEGIN RETURN '2030-01-01'; END $$;
SELECT count(*) AS "1000" FROM victim WHERE stranger.late(id) > '2029-01-01';
SET client_min_messages = warning;
DROP SCHEMA stranger CASCADE;
RESET client_min_messages;
DROP TABLE victim;
DROP ROLE regress_comb_stranger;
