--
-- min(uuid) and max(uuid) as aggregates of the extension: PostgreSQL has its own from
-- 20 on
--

-- functions with the name of a function in pg_catalog: min and max, with an argument
-- that no function of this name has there
SELECT p.oid::regprocedure AS overloads, bool_or(c.proargtypes = p.proargtypes) AS shadows
FROM pg_proc p JOIN pg_proc c ON c.proname = p.proname
WHERE p.oid IN (SELECT objid FROM pg_depend
                WHERE classid = 'pg_proc'::regclass AND deptype = 'e'
                  AND refclassid = 'pg_extension'::regclass
                  AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'pg_comb'))
  AND c.pronamespace = 'pg_catalog'::regnamespace
GROUP BY p.oid ORDER BY p.oid::regprocedure::text;

SELECT a.aggfnoid::regprocedure AS aggregate, a.aggtransfn AS transition, p.provolatile AS volatile,
       p.proisstrict AS strict, p.proparallel AS parallel, p.proleakproof AS leakproof
FROM pg_aggregate a JOIN pg_proc p ON p.oid = a.aggfnoid
WHERE p.proname IN ('min', 'max') AND p.proargtypes = '2950'::oidvector
ORDER BY p.proname;

--
-- Users may have made such an aggregate themselves; the extension then wants another
-- schema
--
DROP EXTENSION pg_comb;
CREATE SCHEMA taken;
CREATE FUNCTION taken.larger(uuid, uuid) RETURNS uuid LANGUAGE sql AS $$ SELECT greatest($1, $2) $$;
CREATE AGGREGATE taken.max(uuid) (SFUNC = taken.larger, STYPE = uuid);
\set VERBOSITY terse
CREATE EXTENSION pg_comb SCHEMA taken;
\set VERBOSITY default
\echo :LAST_ERROR_SQLSTATE
CREATE EXTENSION pg_comb SCHEMA public;
DROP AGGREGATE taken.max(uuid);
DROP FUNCTION taken.larger;
DROP SCHEMA taken;

--
-- What the documents tell to do after pg_upgrade to 20
--
CREATE TABLE orders (id uuid PRIMARY KEY);
-- the scans of a plan and what is done with them; versions differ in the other lines
CREATE FUNCTION scans(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
  line text;
BEGIN
  FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
    IF line ~ 'Scan|Append|Limit|Aggregate|Gather' AND line !~ 'Replaces' THEN
      RETURN NEXT regexp_replace(line, '^[ >-]*', '');
    END IF;
  END LOOP;
END $$;
BEGIN;
CREATE VIEW newest AS SELECT max(id) AS id FROM orders;
ALTER EXTENSION pg_comb DROP AGGREGATE public.min(uuid);
ALTER EXTENSION pg_comb DROP AGGREGATE public.max(uuid);
SAVEPOINT with_view;
DROP AGGREGATE public.min(uuid), public.max(uuid);
ROLLBACK TO with_view;
DROP VIEW newest;
DROP AGGREGATE public.min(uuid), public.max(uuid);
SELECT count(*) AS "0" FROM pg_proc WHERE proname IN ('min', 'max') AND proargtypes = '2950'::oidvector;
ROLLBACK;
BEGIN;
-- and before the restore of a view of such a server
ALTER EXTENSION pg_comb DROP AGGREGATE public.max(uuid);
DROP AGGREGATE public.max(uuid);
CREATE AGGREGATE public.max(uuid) (SFUNC = comb_larger, STYPE = uuid,
    COMBINEFUNC = comb_larger, SORTOP = OPERATOR(pg_catalog.>), PARALLEL = SAFE);
SELECT scans($$ SELECT max(id) FROM orders $$);
ROLLBACK;

DROP TABLE orders;
DROP FUNCTION scans;
