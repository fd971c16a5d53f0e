/* sql/pg_comb_ordered--1.1--1.2.sql */

-- complain if script is sourced in psql, rather than via ALTER EXTENSION
\echo Use "ALTER EXTENSION pg_comb_ordered UPDATE TO '1.2'" to load this file. \quit
