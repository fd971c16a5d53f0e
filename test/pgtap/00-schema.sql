-- The catalog entries of each object, on which the planner and users rely
SET client_min_messages = warning;
BEGIN;
CREATE EXTENSION IF NOT EXISTS pgtap;
CREATE EXTENSION IF NOT EXISTS pg_comb_ordered CASCADE;

CREATE TEMP TABLE promised (name name, args name[], returns text, volatility text,
                            parallel "char", leakproof boolean);
INSERT INTO promised VALUES
  ('comb_generate',     '{}', 'uuid', 'volatile', 's', false),
  ('comb_at',           '{timestamptz}', 'uuid', 'volatile', 's', false),
  ('comb_stamp',        '{uuid, timestamptz}', 'uuid', 'immutable', 's', false),
  ('comb_timestamp',    '{uuid}', 'timestamp with time zone', 'immutable', 's', true),
  ('comb_min',          '{timestamptz}', 'uuid', 'immutable', 's', true),
  ('comb_max',          '{timestamptz}', 'uuid', 'immutable', 's', true),
  ('comb_time_decoder', '{text}', 'timestamp with time zone', 'immutable', 's', false),
  ('comb_ordered_status', '{}', 'setof record', 'volatile', 'r', false);

CREATE TEMP TABLE functions AS
SELECT name, format_arguments.args, returns, volatility, parallel, leakproof
FROM promised, LATERAL (SELECT ARRAY(SELECT format_type(a::regtype, NULL)
                                     FROM unnest(args) WITH ORDINALITY u (a, n)
                                     ORDER BY n)::name[]) format_arguments (args);

SELECT plan(11 + 4 * count(*)::int) FROM functions;

SELECT has_extension('pg_comb');
SELECT is((extversion, extrelocatable)::text, '(1.0,t)', 'version, relocatable')
FROM pg_extension WHERE extname = 'pg_comb';

SELECT has_function(name, args) FROM functions;
SELECT function_returns(name, args, returns) FROM functions;
SELECT volatility_is(name, args, volatility) FROM functions;
SELECT is_strict(name, args) FROM functions;

SELECT bag_eq(
  $$ SELECT p.proname, ARRAY(SELECT format_type(t, NULL) FROM unnest(p.proargtypes) t)::name[],
            p.proparallel, p.proleakproof, l.lanname, p.prosecdef AS definer,
            has_function_privilege('public', p.oid, 'EXECUTE') AS everybody
     FROM functions f JOIN pg_proc p ON p.proname = f.name
          AND ARRAY(SELECT format_type(t, NULL) FROM unnest(p.proargtypes) t)::name[] = f.args
          JOIN pg_language l ON l.oid = p.prolang
     WHERE p.probin IS NOT NULL $$,
  $$ SELECT name, args, parallel, leakproof, 'c'::name AS lang, false AS definer,
            true AS everybody FROM functions $$,
  'parallel and leakproof labels; C, no SECURITY DEFINER, for everybody');

SELECT is_empty(
  $$ SELECT proname, count(*) FROM pg_proc
     WHERE proname IN (SELECT name FROM promised) AND pronamespace <> 'pg_catalog'::regnamespace
     GROUP BY proname, proargtypes HAVING count(*) > 1 $$,
  'no function is there twice');
SELECT is_empty(
  $$ SELECT a.proname FROM pg_proc a JOIN pg_proc b ON b.proname = a.proname
       JOIN pg_depend d ON d.objid = a.oid AND d.classid = 'pg_proc'::regclass
     WHERE d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e'
       AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'pg_comb')
       AND b.pronamespace = 'pg_catalog'::regnamespace $$,
  'no function has a name of the server');
-- A body can be a text, in which PostgreSQL looks names up at each call.  Whoever may
-- create in the schema could make a better match.
SELECT is_empty(
  $$ SELECT p.oid::regprocedure FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang
       JOIN pg_depend d ON d.objid = p.oid AND d.classid = 'pg_proc'::regclass
     WHERE d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e'
       AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'pg_comb')
       AND l.lanname NOT IN ('c', 'internal') AND p.prosqlbody IS NULL $$,
  'no function looks names up when it is called');
-- with a cast, a string of the wrong kind would pass without an error
SELECT is_empty(
  $$ SELECT classid::regclass, objid FROM pg_depend
     WHERE refclassid = 'pg_extension'::regclass AND deptype = 'e'
       AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'pg_comb')
       AND classid = 'pg_cast'::regclass $$,
  'no casts');
SELECT is_empty(
  $$ SELECT 1 FROM pg_proc p JOIN pg_depend d ON d.objid = p.oid AND d.classid = 'pg_proc'::regclass
     WHERE d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e'
       AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'pg_comb')
       AND p.proconfig IS NOT NULL $$,
  'no function changes settings');

-- pg_partman calls both with one untyped literal, which only one function of the name may take
SELECT is(string_agg(proname, ' ' ORDER BY proname COLLATE "C"), 'comb_min comb_time_decoder', 'one encoder and one decoder')
FROM pg_proc WHERE proname IN ('comb_min', 'comb_time_decoder') AND pronargs = 1;

-- the settings; they exist after the module is loaded
SELECT ok(comb_generate() IS NOT NULL, 'module loaded');
SELECT is((boot_val, unit, vartype, context)::text, '(10000,ms,integer,sighup)', 'pg_comb.max_drift')
FROM pg_settings WHERE name = 'pg_comb.max_drift';

SELECT * FROM finish();
ROLLBACK;
