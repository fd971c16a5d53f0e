/* sql/pg_comb--1.0.sql */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION pg_comb" to load this file. \quit

--
-- comb_layout.c: time of a key, and bounds
--

CREATE FUNCTION comb_timestamp(id uuid) RETURNS timestamptz
	AS 'MODULE_PATHNAME', 'comb_timestamp'
	LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;

COMMENT ON FUNCTION comb_timestamp(uuid) IS
	'time of creation of a UUIDv7, NULL for any other uuid';

CREATE FUNCTION comb_stamp(base uuid, at timestamptz) RETURNS uuid
	AS 'MODULE_PATHNAME', 'comb_stamp'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION comb_stamp(uuid, timestamptz) IS
	'the uuid made a UUIDv7 of the given time, with all its other bits kept';

CREATE FUNCTION comb_min(at timestamptz) RETURNS uuid
	AS 'MODULE_PATHNAME', 'comb_min'
	LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;

COMMENT ON FUNCTION comb_min(timestamptz) IS
	'smallest UUIDv7 whose time is at or after the given one';

CREATE FUNCTION comb_max(at timestamptz) RETURNS uuid
	AS 'MODULE_PATHNAME', 'comb_max'
	LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;

COMMENT ON FUNCTION comb_max(timestamptz) IS
	'largest UUIDv7 whose time is at or before the given one';

CREATE FUNCTION comb_time_encoder(at timestamptz) RETURNS uuid
	AS 'MODULE_PATHNAME', 'comb_time_encoder'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION comb_time_encoder(timestamptz) IS
	'partition bound for a time, as pg_partman asks for it';

CREATE FUNCTION comb_time_decoder(id uuid) RETURNS timestamptz
	AS 'MODULE_PATHNAME', 'comb_time_decoder'
	LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;

COMMENT ON FUNCTION comb_time_decoder(uuid) IS
	'time of a partition bound or of a key whose first 48 bits are Unix milliseconds';

CREATE FUNCTION comb_time_decoder(id text) RETURNS timestamptz
	AS 'MODULE_PATHNAME', 'comb_time_decoder_text'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION comb_time_decoder(text) IS
	'time of a partition bound or of a key, given as text, as pg_partman asks for it';

--
-- comb_generate.c: keys of one process
--

CREATE FUNCTION comb_generate() RETURNS uuid
	AS 'MODULE_PATHNAME', 'comb_generate'
	LANGUAGE C VOLATILE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION comb_generate() IS
	'new UUIDv7, larger than every earlier one of this server process';

CREATE FUNCTION comb_at(at timestamptz) RETURNS uuid
	AS 'MODULE_PATHNAME', 'comb_at'
	LANGUAGE C VOLATILE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION comb_at(timestamptz) IS
	'new UUIDv7 for the given time';

CREATE FUNCTION comb_clock_status(
	OUT clock timestamptz,
	OUT process_last timestamptz,
	OUT process_ahead interval,
	OUT process_steps_back bigint,
	OUT process_resets bigint)
	AS 'MODULE_PATHNAME', 'comb_clock_status'
	LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;

COMMENT ON FUNCTION comb_clock_status() IS
	'the clock, and how far the keys of this process are ahead of it';
