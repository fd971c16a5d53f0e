-- The catalog entries of each object, on which users rely; sql/sanity.sql has the labels of functions
SET client_min_messages = warning;
BEGIN;
CREATE EXTENSION IF NOT EXISTS pgtap;
CREATE EXTENSION IF NOT EXISTS pg_comb_ordered CASCADE;

SELECT plan(7);

CREATE TEMP TABLE member AS
SELECT extname, classid, objid FROM pg_depend JOIN pg_extension e ON refobjid = e.oid
WHERE refclassid = 'pg_extension'::regclass AND deptype = 'e' AND extname IN ('pg_comb', 'pg_comb_ordered');
CREATE TEMP TABLE function AS
SELECT extname, p.*, lanname FROM member JOIN pg_proc p ON classid = 'pg_proc'::regclass AND objid = p.oid
     JOIN pg_language l ON l.oid = prolang;
SELECT cmp_ok(count(*), '>', 50::bigint, 'functions') FROM function;

SELECT is_empty($$ SELECT oid::regprocedure FROM function WHERE extname = 'pg_comb'
                   AND (prosecdef OR NOT has_function_privilege('public', oid, 'EXECUTE')) $$,
  'no SECURITY DEFINER, for everybody');
SELECT is_empty($$ SELECT oid::regprocedure FROM function f WHERE EXISTS (
                   SELECT FROM pg_proc p WHERE p.proname = f.proname AND pronamespace = 'pg_catalog'::regnamespace) $$,
  'no function has a name of the server');
-- A body can be a text, in which PostgreSQL looks names up at each call.  Whoever may
-- create in the schema could make a better match.
SELECT is_empty($$ SELECT oid::regprocedure FROM function
                   WHERE extname = 'pg_comb'
                   AND (lanname NOT IN ('c', 'internal') AND prosqlbody IS NULL OR proconfig IS NOT NULL) $$,
  'no function looks names up when it is called, or changes settings');
-- with a cast, a string of the wrong kind would pass without an error
SELECT is_empty($$ SELECT objid FROM member WHERE classid = 'pg_cast'::regclass $$, 'no casts');
-- pg_partman calls both with one untyped literal, which only one function of the name may take
SELECT is(string_agg(proname, ' ' ORDER BY proname COLLATE "C"), 'comb_min comb_time_decoder', 'one encoder and one decoder')
FROM function WHERE proname IN ('comb_min', 'comb_time_decoder') AND pronargs = 1;
SELECT ok(extrelocatable, 'relocatable') FROM pg_extension WHERE extname = 'pg_comb';

SELECT * FROM finish();
ROLLBACK;
