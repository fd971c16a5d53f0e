--
-- The extensions as objects: which schema they go into, who may create them, what
-- may stand beside them, and how they are dropped
--
\set SHOW_CONTEXT never
DROP EXTENSION pg_comb_ordered, pg_comb;

--
-- A chosen schema, with a search_path that puts traps before pg_catalog: types,
-- operators and functions with the names that the script or the C code could
-- mean
--
CREATE SCHEMA traps;
CREATE DOMAIN traps.uuid AS text;
CREATE DOMAIN traps.text AS int;
CREATE DOMAIN traps.timestamptz AS int;
CREATE DOMAIN traps.interval AS int;
CREATE FUNCTION traps.trap(pg_catalog.uuid, pg_catalog.uuid) RETURNS boolean LANGUAGE plpgsql AS
  $$ BEGIN RAISE EXCEPTION 'walked into a trap'; END $$;
CREATE FUNCTION traps.trap(pg_catalog.timestamptz, pg_catalog.timestamptz) RETURNS boolean LANGUAGE plpgsql AS
  $$ BEGIN RAISE EXCEPTION 'walked into a trap'; END $$;
CREATE FUNCTION traps.now() RETURNS pg_catalog.timestamptz LANGUAGE plpgsql AS
  $$ BEGIN RAISE EXCEPTION 'walked into a trap'; END $$;
CREATE FUNCTION traps.clock_timestamp() RETURNS pg_catalog.timestamptz LANGUAGE plpgsql AS
  $$ BEGIN RAISE EXCEPTION 'walked into a trap'; END $$;
CREATE OPERATOR traps.= (FUNCTION = traps.trap, LEFTARG = pg_catalog.uuid, RIGHTARG = pg_catalog.uuid);
CREATE OPERATOR traps.< (FUNCTION = traps.trap, LEFTARG = pg_catalog.uuid, RIGHTARG = pg_catalog.uuid);
CREATE OPERATOR traps.= (FUNCTION = traps.trap, LEFTARG = pg_catalog.timestamptz, RIGHTARG = pg_catalog.timestamptz);
CREATE OPERATOR traps.<= (FUNCTION = traps.trap, LEFTARG = pg_catalog.timestamptz, RIGHTARG = pg_catalog.timestamptz);
CREATE SCHEMA keys;

SET search_path = traps, pg_catalog;
CREATE EXTENSION pg_comb_ordered SCHEMA keys CASCADE;
-- the traps work: a name without a schema finds them
SELECT keys.comb_generate() = keys.comb_generate();
-- the extension does not step into the traps
SELECT keys.comb_generate() IS NOT NULL AS t,
       keys.comb_at('2026-11-20+00') IS NOT NULL AS t,
       keys.comb_stamp('919108f7-52d1-4320-9bac-f847db4148a8', '2026-11-20+00') AS stamp,
       keys.comb_min('2026-11-20+00') AS min,
       keys.comb_max('2026-11-20+00') AS max;
SELECT date_part('epoch', keys.comb_timestamp('017f22e2-79b0-7cc3-98c4-dc0c0c07398f')) AS epoch,
       date_part('epoch', keys.comb_time_decoder('017f22e2-79b0-7cc3-98c4-dc0c0c07398f')) AS epoch;
SELECT series FROM keys.comb_ordered_status();
RESET search_path;

-- what it calls cannot be dropped meanwhile
SELECT e.extname FROM pg_depend d JOIN pg_extension e ON e.oid = d.refobjid
WHERE d.classid = 'pg_extension'::regclass AND d.refclassid = 'pg_extension'::regclass
  AND d.objid = (SELECT oid FROM pg_extension WHERE extname = 'pg_comb_ordered')
ORDER BY 1;

-- all functions are in this schema; their types are pg_comb's own or pg_catalog's
SELECT count(*) > 0 AS t, bool_and(p.pronamespace = 'keys'::regnamespace) AS t
FROM pg_depend d JOIN pg_proc p ON p.oid = d.objid AND d.classid = 'pg_proc'::regclass
WHERE d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e'
  AND d.refobjid IN (SELECT oid FROM pg_extension WHERE extname IN ('pg_comb', 'pg_comb_ordered'));
SELECT bool_and(t.typnamespace IN ('keys'::regnamespace, 'pg_catalog'::regnamespace)) AS t
FROM pg_depend d JOIN pg_proc p ON p.oid = d.objid AND d.classid = 'pg_proc'::regclass,
     unnest(p.proargtypes::oid[] || p.prorettype) arg JOIN pg_type t ON t.oid = arg
WHERE d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e'
  AND d.refobjid IN (SELECT oid FROM pg_extension WHERE extname IN ('pg_comb', 'pg_comb_ordered'));

-- pg_comb has nothing but functions, types and operators.  It can move, and what uses
-- it goes on; pg_comb_ordered has a schema of its own, and stays.
SELECT count(*) AS "0" FROM pg_depend d
WHERE d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e'
  AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'pg_comb')
  AND d.classid NOT IN ('pg_proc'::regclass, 'pg_type'::regclass, 'pg_operator'::regclass,
                        'pg_opclass'::regclass, 'pg_opfamily'::regclass);
CREATE TABLE orders (id uuid PRIMARY KEY DEFAULT keys.comb_generate());
CREATE INDEX orders_created ON orders (keys.comb_timestamp(id));
CREATE TABLE parted (id uuid) PARTITION BY RANGE (id);
CREATE TABLE parted_0 PARTITION OF parted DEFAULT;
INSERT INTO orders DEFAULT VALUES;
INSERT INTO parted TABLE orders;
CREATE SCHEMA moved;
ALTER EXTENSION pg_comb_ordered SET SCHEMA moved;
ALTER EXTENSION pg_comb SET SCHEMA moved;
INSERT INTO orders DEFAULT VALUES;
SELECT count(*) = 2 AS t FROM orders WHERE moved.comb_timestamp(id) <= clock_timestamp();
SELECT count(*) = 2 AS t FROM orders WHERE moved.comb_during(id, now() - interval '1 hour', NULL);
SELECT count(*) = 1 AS t FROM parted WHERE moved.comb_created(id, tstzrange(now() - interval '1 hour', NULL));
SELECT count(*) = 1 AS t FROM parted WHERE id OPERATOR(moved.<@) tstzrange(now() - interval '1 hour', NULL);
SELECT keys.comb_generate_ordered() < keys.comb_generate_ordered() AS t;
DROP TABLE parted;
ALTER EXTENSION pg_comb SET SCHEMA keys;
DROP SCHEMA moved;

--
-- DROP EXTENSION: refused while a table uses it; with CASCADE the rows stay
--
DROP EXTENSION pg_comb;
\set VERBOSITY terse
DROP EXTENSION pg_comb, pg_comb_ordered CASCADE;
\set VERBOSITY default
SELECT count(*) FROM orders;
\d orders
DROP TABLE orders;

--
-- A schema where someone else has a function of the same name and arguments:
-- CREATE EXTENSION refuses, and does not replace the other function
--
CREATE FUNCTION traps.comb_min(timestamp with time zone) RETURNS pg_catalog.uuid
  LANGUAGE sql AS $$ SELECT NULL::pg_catalog.uuid $$;
CREATE EXTENSION pg_comb SCHEMA traps;
SELECT traps.comb_min('2026-11-20+00') IS NULL AS t;
SELECT count(*) AS extensions FROM pg_extension WHERE extname = 'pg_comb';
DROP FUNCTION traps.comb_min;
-- the traps' schema as the extension's own
CREATE EXTENSION pg_comb SCHEMA traps;
SELECT traps.comb_timestamp(traps.comb_stamp('919108f7-52d1-4320-9bac-f847db4148a8', '2026-11-20+00'))
       = timestamp with time zone '2026-11-20+00' AS t;
DROP EXTENSION pg_comb;

--
-- An ordinary role: the extensions are trusted, so that CREATE on the database is
-- enough, but a role without this right is refused
--
CREATE ROLE "regress_comb_o'wner";
CREATE ROLE regress_comb_other;
GRANT CREATE ON DATABASE :"DBNAME" TO "regress_comb_o'wner";

SET SESSION AUTHORIZATION regress_comb_other;
CREATE EXTENSION pg_comb SCHEMA keys;
\echo :LAST_ERROR_SQLSTATE

SET SESSION AUTHORIZATION "regress_comb_o'wner";
CREATE SCHEMA owned;
SET client_min_messages = warning;
CREATE EXTENSION pg_comb_ordered SCHEMA owned CASCADE;
RESET client_min_messages;
CREATE TABLE owned.orders (id uuid PRIMARY KEY DEFAULT owned.comb_generate());
INSERT INTO owned.orders DEFAULT VALUES RETURNING owned.comb_timestamp(id) <= clock_timestamp() AS t;
GRANT USAGE ON SCHEMA owned TO regress_comb_other;
GRANT INSERT, SELECT ON owned.orders TO regress_comb_other;

-- every role may make and read keys
SET SESSION AUTHORIZATION regress_comb_other;
INSERT INTO owned.orders DEFAULT VALUES RETURNING owned.comb_timestamp(id) <= clock_timestamp() AS t;
SELECT series FROM owned.comb_ordered_status();
SELECT owned.comb_generate_ordered() IS NOT NULL AS t;
DROP EXTENSION pg_comb_ordered;
DROP EXTENSION pg_comb;

RESET SESSION AUTHORIZATION;
SELECT rolname, rolsuper FROM pg_extension JOIN pg_roles r ON r.oid = extowner
WHERE extname IN ('pg_comb', 'pg_comb_ordered');
-- functions that run C code belong to the superuser, whoever created the
-- extension
SELECT DISTINCT rolsuper AS t
FROM pg_depend d JOIN pg_proc p ON p.oid = d.objid AND d.classid = 'pg_proc'::regclass
     JOIN pg_roles r ON r.oid = p.proowner
WHERE d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e'
  AND d.refobjid IN (SELECT oid FROM pg_extension WHERE extname IN ('pg_comb', 'pg_comb_ordered'));
SET SESSION AUTHORIZATION "regress_comb_o'wner";
DROP TABLE owned.orders;
DROP EXTENSION pg_comb_ordered, pg_comb;
DROP SCHEMA owned;
RESET SESSION AUTHORIZATION;
REVOKE CREATE ON DATABASE :"DBNAME" FROM "regress_comb_o'wner";
DROP ROLE "regress_comb_o'wner", regress_comb_other;

DROP SCHEMA keys;
\set VERBOSITY terse
SET client_min_messages = warning;
DROP SCHEMA traps CASCADE;
RESET client_min_messages;

-- put the extensions back where the other tests expect them
CREATE EXTENSION pg_comb;
CREATE EXTENSION pg_comb_ordered;
