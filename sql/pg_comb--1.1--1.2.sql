/* sql/pg_comb--1.1--1.2.sql */

-- complain if script is sourced in psql, rather than via ALTER EXTENSION
\echo Use "ALTER EXTENSION pg_comb UPDATE TO '1.2'" to load this file. \quit

--
-- comb_layout.c: behind_v4 is new
--

ALTER FUNCTION comb_layouts() ROWS 24;

--
-- comb_unwrap.c
--

CREATE FUNCTION comb_unwrap(value "any", strategy int, wrapper regprocedure, VARIADIC arguments "any") RETURNS tstzrange
	AS 'MODULE_PATHNAME', 'comb_unwrap'
	LANGUAGE C STABLE LEAKPROOF PARALLEL SAFE COST 20;

COMMENT ON FUNCTION comb_unwrap("any", int, regprocedure, "any") IS
	'a period with all times of which the wrapper makes what compares so with the value, by a strategy of btree; its arguments have NULL in the place of the time';

-- As comb_instant() and the other functions that the planner calls, for everyone
DO $$
DECLARE
	grantee pg_catalog.oid;
BEGIN
	FOR grantee IN
		SELECT DISTINCT acl.grantee
		FROM pg_catalog.pg_proc AS p, pg_catalog.aclexplode(p.proacl) AS acl
		WHERE p.oid OPERATOR(pg_catalog.=) 'comb_unwrap("any", int, regprocedure, "any")'::pg_catalog.regprocedure
			AND acl.grantee OPERATOR(pg_catalog.<>) 0::pg_catalog.oid
			AND acl.grantee OPERATOR(pg_catalog.<>) p.proowner
	LOOP
		EXECUTE pg_catalog.format('REVOKE ALL ON FUNCTION comb_unwrap("any", int, regprocedure, "any") FROM %I CASCADE',
			pg_catalog.pg_get_userbyid(grantee));
	END LOOP;
END
$$;

GRANT EXECUTE ON FUNCTION comb_unwrap("any", int, regprocedure, "any") TO PUBLIC;
