--
-- The extension as an object: which schema it goes into, who may create it, what
-- may stand beside it, and how it is dropped
--
\set SHOW_CONTEXT never
DROP EXTENSION pg_comb;

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
CREATE EXTENSION pg_comb SCHEMA keys;
-- the traps work: a name without a schema finds them
SELECT keys.comb_generate() = keys.comb_generate();
-- the extension does not step into the traps
SELECT keys.comb_generate() IS NOT NULL AS t,
       keys.comb_at('2026-11-20+00') IS NOT NULL AS t,
       keys.comb_stamp('919108f7-52d1-4320-9bac-f847db4148a8', '2026-11-20+00') AS stamp,
       keys.comb_min('2026-11-20+00') AS min,
       keys.comb_max('2026-11-20+00') AS max,
       keys.comb_time_encoder('2026-11-20+00') AS bound;
SELECT date_part('epoch', keys.comb_timestamp('017f22e2-79b0-7cc3-98c4-dc0c0c07398f')) AS epoch,
       date_part('epoch', keys.comb_time_decoder('017f22e2-79b0-7cc3-98c4-dc0c0c07398f')) AS epoch;
SELECT clock IS NOT NULL AS t FROM keys.comb_clock_status();
RESET search_path;

-- all functions are in this schema; their types are pg_comb's own or pg_catalog's
SELECT count(*) > 0 AS t, bool_and(p.pronamespace = 'keys'::regnamespace) AS t
FROM pg_depend d JOIN pg_proc p ON p.oid = d.objid AND d.classid = 'pg_proc'::regclass
WHERE d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e'
  AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'pg_comb');
SELECT bool_and(t.typnamespace IN ('keys'::regnamespace, 'pg_catalog'::regnamespace)) AS t
FROM pg_depend d JOIN pg_proc p ON p.oid = d.objid AND d.classid = 'pg_proc'::regclass,
     unnest(p.proargtypes::oid[] || p.prorettype) arg JOIN pg_type t ON t.oid = arg
WHERE d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e'
  AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'pg_comb');

-- the extension cannot move, because its sequences have a schema of their own
CREATE TABLE orders (id uuid PRIMARY KEY DEFAULT keys.comb_generate());
CREATE INDEX orders_created ON orders (keys.comb_timestamp(id));
INSERT INTO orders DEFAULT VALUES;
CREATE SCHEMA moved;
ALTER EXTENSION pg_comb SET SCHEMA moved;
DROP SCHEMA moved;
SELECT count(*) = 1 AS t FROM orders WHERE keys.comb_timestamp(id) <= clock_timestamp();

--
-- DROP EXTENSION: refused while a table uses it; with CASCADE the rows stay
--
DROP EXTENSION pg_comb;
\set VERBOSITY terse
DROP EXTENSION pg_comb CASCADE;
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
-- An ordinary role: the extension is trusted, so that CREATE on the database is
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
CREATE EXTENSION pg_comb SCHEMA owned;
CREATE TABLE owned.orders (id uuid PRIMARY KEY DEFAULT owned.comb_generate());
INSERT INTO owned.orders DEFAULT VALUES RETURNING owned.comb_timestamp(id) <= clock_timestamp() AS t;
GRANT USAGE ON SCHEMA owned TO regress_comb_other;
GRANT INSERT, SELECT ON owned.orders TO regress_comb_other;

-- every role may make and read keys
SET SESSION AUTHORIZATION regress_comb_other;
INSERT INTO owned.orders DEFAULT VALUES RETURNING owned.comb_timestamp(id) <= clock_timestamp() AS t;
SELECT clock IS NOT NULL AS t FROM owned.comb_clock_status();
DROP EXTENSION pg_comb;

RESET SESSION AUTHORIZATION;
SELECT rolname, rolsuper FROM pg_extension JOIN pg_roles r ON r.oid = extowner
WHERE extname = 'pg_comb';
-- functions that run C code belong to the superuser, whoever created the
-- extension
SELECT DISTINCT rolsuper AS t
FROM pg_depend d JOIN pg_proc p ON p.oid = d.objid AND d.classid = 'pg_proc'::regclass
     JOIN pg_roles r ON r.oid = p.proowner
WHERE d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e'
  AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'pg_comb');
SET SESSION AUTHORIZATION "regress_comb_o'wner";
DROP TABLE owned.orders;
DROP EXTENSION pg_comb;
DROP SCHEMA owned;
RESET SESSION AUTHORIZATION;
REVOKE CREATE ON DATABASE :"DBNAME" FROM "regress_comb_o'wner";
DROP ROLE "regress_comb_o'wner", regress_comb_other;

DROP SCHEMA keys;
\set VERBOSITY terse
SET client_min_messages = warning;
DROP SCHEMA traps CASCADE;
RESET client_min_messages;

-- put the extension back where the other tests expect it
CREATE EXTENSION pg_comb;
