-- The catalog entries of each object, on which the planner and users rely
SET client_min_messages = warning;
BEGIN;
CREATE EXTENSION IF NOT EXISTS pgtap;
CREATE EXTENSION IF NOT EXISTS pg_comb_ordered CASCADE;

SELECT plan(10);

SELECT is((extversion, extrelocatable)::text, '(1.0,t)', 'version, relocatable')
FROM pg_extension WHERE extname = 'pg_comb';

CREATE TEMP TABLE promised (function regprocedure, returns regtype, retset boolean, volatility "char",
                            parallel "char", leakproof boolean);
INSERT INTO promised VALUES
  ('comb_generate()',               'uuid', false, 'v', 's', false),
  ('comb_at(timestamptz)',          'uuid', false, 'v', 's', false),
  ('comb_stamp(uuid, timestamptz)', 'uuid', false, 'i', 's', false),
  ('comb_timestamp(uuid)',          'timestamptz', false, 'i', 's', true),
  ('comb_min(timestamptz)',         'uuid', false, 'i', 's', true),
  ('comb_max(timestamptz)',         'uuid', false, 'i', 's', true),
  ('comb_time_decoder(text)',       'timestamptz', false, 'i', 's', false),
  ('comb_ordered_status()',         'record', true, 'v', 'r', false);
SELECT bag_eq(
  $$ SELECT p.oid::regprocedure, prorettype::regtype, proretset, provolatile, proparallel, proleakproof, lanname,
            proisstrict, prosecdef, has_function_privilege('public', p.oid, 'EXECUTE')
     FROM promised JOIN pg_proc p ON p.oid = function JOIN pg_language l ON l.oid = prolang
     WHERE probin IS NOT NULL $$,
  $$ SELECT promised.*, 'c'::name, true AS strict, false AS definer, true AS everybody FROM promised $$,
  'results and labels; C, strict, no SECURITY DEFINER, for everybody');

SELECT is_empty(
  $$ SELECT proname, count(*) FROM pg_proc
     WHERE proname LIKE 'comb\_%' AND pronamespace <> 'pg_catalog'::regnamespace
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
