/* sql/pg_comb--1.1--1.2.sql */

-- complain if script is sourced in psql, rather than via ALTER EXTENSION
\echo Use "ALTER EXTENSION pg_comb UPDATE TO '1.2'" to load this file. \quit

--
-- comb_layout.c: behind_v4 is new
--

ALTER FUNCTION comb_layouts() ROWS 24;
