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

--
-- comb_settled.c: a bound that is no younger than the plan
--

CREATE FUNCTION comb_settled_support(internal) RETURNS internal
	AS 'MODULE_PATHNAME', 'comb_settled_support'
	LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;

COMMENT ON FUNCTION comb_settled_support(internal) IS
	'planner support for comb_settled()';

ALTER FUNCTION comb_settled() SUPPORT comb_settled_support;

CREATE FUNCTION comb_snowflake_settled_support(internal) RETURNS internal
	AS 'MODULE_PATHNAME', 'comb_snowflake_settled_support'
	LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;

COMMENT ON FUNCTION comb_snowflake_settled_support(internal) IS
	'planner support for comb_snowflake_settled()';

ALTER FUNCTION comb_snowflake_settled(timestamptz, int, int, interval)
	SUPPORT comb_snowflake_settled_support;
