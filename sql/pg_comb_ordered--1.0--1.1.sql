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
