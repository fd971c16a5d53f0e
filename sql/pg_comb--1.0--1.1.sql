/* sql/pg_comb--1.0--1.1.sql */

-- complain if script is sourced in psql, rather than via ALTER EXTENSION
\echo Use "ALTER EXTENSION pg_comb UPDATE TO '1.1'" to load this file. \quit

--
-- comb_planner.c: conditions on the time of a key
--

-- The module is loaded, and its hook in place, once a query calls one of these.
ALTER FUNCTION comb_timestamp(uuid) SUPPORT comb_period_support;
ALTER FUNCTION comb_timestamp(uuid, text) SUPPORT comb_period_support;

COMMENT ON FUNCTION comb_period_support(internal) IS
	'planner support for functions that read the time of a key, or compare a uuid with a period';

-- Bounds come first: they are cheaper, and most rows fail them.
ALTER FUNCTION comb_recheck(uuid, tstzrange) COST 2;
ALTER FUNCTION comb_recheck(uuid, tstzrange, text) COST 2;

COMMENT ON FUNCTION comb_recheck(uuid, tstzrange) IS
	'uuid <@ period, in plans that compare the key with bounds';

COMMENT ON FUNCTION comb_recheck(uuid, tstzrange, text) IS
	'comb_created(), in plans that compare the key with bounds; false for an unknown layout';

-- Row security allows plans to use indexes with these.
CREATE FUNCTION comb_bound_min(period tstzrange, layout text) RETURNS uuid
	AS 'MODULE_PATHNAME', 'comb_bound_min'
	LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;

COMMENT ON FUNCTION comb_bound_min(tstzrange, text) IS
	'comb_range_min(), in plans; NULL for an unknown layout';

CREATE FUNCTION comb_bound_max(period tstzrange, layout text) RETURNS uuid
	AS 'MODULE_PATHNAME', 'comb_bound_max'
	LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;

COMMENT ON FUNCTION comb_bound_max(tstzrange, text) IS
	'comb_range_max(), in plans; NULL for an unknown layout';

CREATE FUNCTION comb_instant(at date) RETURNS timestamptz
	AS 'MODULE_PATHNAME', 'comb_instant_date'
	LANGUAGE C STABLE STRICT LEAKPROOF PARALLEL SAFE;

COMMENT ON FUNCTION comb_instant(date) IS
	'the time that comparisons with a timestamptz take the date for';

CREATE FUNCTION comb_instant(at timestamp) RETURNS timestamptz
	AS 'MODULE_PATHNAME', 'comb_instant_timestamp'
	LANGUAGE C STABLE STRICT LEAKPROOF PARALLEL SAFE;

COMMENT ON FUNCTION comb_instant(timestamp) IS
	'the time that comparisons with a timestamptz take the timestamp for';

--
-- comb_layout.c: laravel, uuid7_pypi, hibernate and uuidv1_swapped are new
--

ALTER FUNCTION comb_layouts() ROWS 23;

--
-- comb_spread.c: sessions in hash partitions of their own
--

CREATE FUNCTION comb_spread(id uuid, partitions int) RETURNS uuid
	AS 'MODULE_PATHNAME', 'comb_spread'
	LANGUAGE C VOLATILE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION comb_spread(uuid, int) IS
	'the UUIDv7 with other random bits, such that it belongs to the session''s own of so many hash partitions';

-- Plans compare with comb_range_min() and comb_range_max() themselves.
DROP FUNCTION comb_in_range(uuid, tstzrange);
DROP FUNCTION comb_in_range(uuid, tstzrange, text);

-- The planner puts a call of these in place of a call of another function.  It does so
-- only if the user may call these, too.  As everyone may, one plan serves all roles.
-- Rights of other roles have to go first: as initial privileges, which no dump has, they
-- would outlive these roles.
DO $$
DECLARE
	function pg_catalog.regprocedure;
	grantee pg_catalog.oid;
BEGIN
	FOREACH function IN ARRAY ARRAY[
		'comb_min(timestamptz)',
		'comb_min(timestamptz, text)',
		'comb_max(timestamptz)',
		'comb_max(timestamptz, text)',
		'comb_range_min(tstzrange)',
		'comb_range_min(tstzrange, text)',
		'comb_range_max(tstzrange)',
		'comb_range_max(tstzrange, text)',
		'comb_recheck(uuid, tstzrange)',
		'comb_recheck(uuid, tstzrange, text)',
		'comb_bound_min(tstzrange, text)',
		'comb_bound_max(tstzrange, text)',
		'comb_instant(date)',
		'comb_instant(timestamp)',
		'comb_mssql_lt(uuid, uuid)',
		'comb_mssql_le(uuid, uuid)',
		'comb_mssql_ge(uuid, uuid)',
		'comb_mssql_gt(uuid, uuid)'
	]::pg_catalog.regprocedure[] LOOP
		FOR grantee IN
			SELECT DISTINCT acl.grantee
			FROM pg_catalog.pg_proc AS p, pg_catalog.aclexplode(p.proacl) AS acl
			WHERE p.oid OPERATOR(pg_catalog.=) function
				AND acl.grantee OPERATOR(pg_catalog.<>) 0::pg_catalog.oid
				AND acl.grantee OPERATOR(pg_catalog.<>) p.proowner
		LOOP
			EXECUTE pg_catalog.format('REVOKE ALL ON FUNCTION %s FROM %I CASCADE', function, pg_catalog.pg_get_userbyid(grantee));
		END LOOP;
		EXECUTE pg_catalog.format('GRANT EXECUTE ON FUNCTION %s TO PUBLIC', function);
	END LOOP;
END
$$;
