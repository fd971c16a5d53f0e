/* sql/pg_comb_ordered--1.1--1.2.sql */

-- complain if script is sourced in psql, rather than via ALTER EXTENSION
\echo Use "ALTER EXTENSION pg_comb_ordered UPDATE TO '1.2'" to load this file. \quit

--
-- comb_ordered.c: order across sessions, and its time limits
--

CREATE FUNCTION comb_ordered_key() RETURNS trigger
	AS 'MODULE_PATHNAME', 'comb_ordered_key'
	LANGUAGE C VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION comb_ordered_key() IS
	'trigger function that gives each row a new ordered key in the column that its argument names';
