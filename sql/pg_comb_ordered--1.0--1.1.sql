/* sql/pg_comb_ordered--1.0--1.1.sql */

-- complain if script is sourced in psql, rather than via ALTER EXTENSION
\echo Use "ALTER EXTENSION pg_comb_ordered UPDATE TO '1.1'" to load this file. \quit

--
-- comb_ordered.c, comb_snowflake_generate.c: what is kept across a crash or a
-- failover is the order within a database
--

COMMENT ON FUNCTION comb_generate_ordered() IS
	'new UUIDv7, larger than all earlier ordered keys of the database, across crash, failover and a clock set back';

COMMENT ON FUNCTION comb_snowflake(
	timestamptz, int, int, interval) IS
	'new Snowflake, larger than all earlier Snowflakes of the database with the same parameters, across crash, failover and a clock set back';

-- it changes what all sessions share
ALTER FUNCTION comb_ordered_reset(timestamptz) PARALLEL UNSAFE;

--
-- comb_settled.c: a bound that is no younger than the plan
--

CREATE FUNCTION comb_settled_support(internal) RETURNS internal
	AS 'MODULE_PATHNAME', 'comb_settled_support'
	LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;

COMMENT ON FUNCTION comb_settled_support(internal) IS
	'planner support for comb_settled() and comb_snowflake_settled()';

ALTER FUNCTION comb_settled() SUPPORT comb_settled_support;

ALTER FUNCTION comb_snowflake_settled(timestamptz, int, int, interval)
	SUPPORT comb_settled_support;

--
-- comb_position.c: a feed that waits for nobody
--

CREATE FUNCTION comb_position(previous text) RETURNS text
	AS 'MODULE_PATHNAME', 'comb_position'
	LANGUAGE C STABLE PARALLEL RESTRICTED SUPPORT comb_settled_support;

COMMENT ON FUNCTION comb_position(text) IS
	'position of a reader that gets the rows of this statement with comb_unread(id, xmin, previous)';

CREATE FUNCTION comb_position_after(id uuid) RETURNS text
	AS 'MODULE_PATHNAME', 'comb_position_after'
	LANGUAGE C STABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION comb_position_after(uuid) IS
	'position of a reader that has all rows up to a key';

CREATE FUNCTION comb_position_bound(since text) RETURNS uuid
	AS 'MODULE_PATHNAME', 'comb_position_bound'
	LANGUAGE C STABLE PARALLEL SAFE;

COMMENT ON FUNCTION comb_position_bound(text) IS
	'a reader at a position needs no row with a smaller key again';

CREATE FUNCTION comb_position_edge(since text, edge int) RETURNS uuid
	AS 'MODULE_PATHNAME', 'comb_position_edge'
	LANGUAGE C STABLE PARALLEL SAFE;

COMMENT ON FUNCTION comb_position_edge(text, int) IS
	'a part of comb_unread(): the key at which the rows end that a reader at a position needs (1), or begin again (2)';

CREATE FUNCTION comb_position_limit() RETURNS uuid
	AS 'MODULE_PATHNAME', 'comb_position_limit'
	LANGUAGE C STABLE STRICT PARALLEL RESTRICTED SUPPORT comb_settled_support;

COMMENT ON FUNCTION comb_position_limit() IS
	'a part of comb_unread(): the key at which this statement has to stop';

CREATE FUNCTION comb_unread_row(id uuid, xmin xid, since text) RETURNS boolean
	AS 'MODULE_PATHNAME', 'comb_unread_row'
	LANGUAGE C STABLE PARALLEL SAFE;

COMMENT ON FUNCTION comb_unread_row(uuid, xid, text) IS
	'a part of comb_unread(): whether a row is new since a position';

-- PostgreSQL inlines the body.  The ranges between the edges are the index
-- conditions of a bitmap scan, and prune partitions.  There is no condition
-- for them together: the planner would prefer to scan all of it when its
-- statistics are older than the rows.
CREATE FUNCTION comb_unread(id uuid, xmin xid, since text) RETURNS boolean
	LANGUAGE SQL STABLE PARALLEL RESTRICTED
	RETURN (id OPERATOR(pg_catalog.>=) @extschema@.comb_position_edge(since, 2)
			AND id OPERATOR(pg_catalog.<) @extschema@.comb_position_limit()
			OR id OPERATOR(pg_catalog.>=) @extschema@.comb_position_bound(since)
			AND id OPERATOR(pg_catalog.<) LEAST(@extschema@.comb_position_edge(since, 1), @extschema@.comb_position_limit()))
		AND @extschema@.comb_unread_row(id, xmin, since);

COMMENT ON FUNCTION comb_unread(uuid, xid, text) IS
	'whether a row with an ordered key is new since a position';

--
-- comb_wait.c: a reader that sleeps until there is something to read
--

CREATE PROCEDURE comb_wait(INOUT seen bigint, timeout interval DEFAULT '1 minute')
	AS 'MODULE_PATHNAME', 'comb_wait'
	LANGUAGE C;

COMMENT ON PROCEDURE comb_wait(bigint, interval) IS
	'commits, and waits until another transaction with ordered keys or Snowflakes has ended';

--
-- Privileges: pg_dump reads the limits as any role
--

-- What a script grants is no part of a dump.  Rights of other roles have to go
-- first: as initial privileges they would outlive their roles.
DO $$
DECLARE
	entry record;
BEGIN
	FOR entry IN
		SELECT object.name AS object,
			CASE WHEN acl.grantee OPERATOR(pg_catalog.=) 0::pg_catalog.oid THEN 'PUBLIC'
				ELSE pg_catalog.quote_ident(pg_catalog.pg_get_userbyid(acl.grantee)) END AS grantee
		FROM (
				SELECT 'SCHEMA comb_internal' AS name, n.nspacl AS acl, n.nspowner AS owner
				FROM pg_catalog.pg_namespace AS n
				WHERE n.nspname OPERATOR(pg_catalog.=) 'comb_internal'
				UNION ALL
				SELECT pg_catalog.format('SEQUENCE comb_internal.%I', c.relname), c.relacl, c.relowner
				FROM pg_catalog.pg_class AS c
				WHERE c.relnamespace OPERATOR(pg_catalog.=) 'comb_internal'::pg_catalog.regnamespace
					AND c.relkind OPERATOR(pg_catalog.=) 'S'
			) AS object, pg_catalog.aclexplode(object.acl) AS acl
		WHERE acl.grantee OPERATOR(pg_catalog.<>) object.owner
			AND acl.grantee OPERATOR(pg_catalog.<>) 'pg_database_owner'::pg_catalog.regrole
		GROUP BY 1, 2
	LOOP
		EXECUTE pg_catalog.format('REVOKE ALL ON %s FROM %s CASCADE', entry.object, entry.grantee);
	END LOOP;
END
$$;

GRANT USAGE ON SCHEMA comb_internal TO PUBLIC;
GRANT SELECT ON ALL SEQUENCES IN SCHEMA comb_internal TO PUBLIC;
