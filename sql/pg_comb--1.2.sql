/* sql/pg_comb--1.2.sql */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION pg_comb" to load this file. \quit

--
-- comb_planner.c: conditions on the time of a key
--

-- The module is loaded, and its hook in place, once a query calls one of the
-- functions that have this support.
CREATE FUNCTION comb_period_support(internal) RETURNS internal
	AS 'MODULE_PATHNAME', 'comb_period_support'
	LANGUAGE C STABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION comb_period_support(internal) IS
	'planner support for functions that read the time of a key, or compare a uuid with a period';

--
-- comb_time.c, comb_convert.c, comb_inspect.c: layouts; the time of a key, bounds,
-- conversion
--

/*
 * Labels of layouts are text, and the functions check them.  Migration tools
 * want to drop enums that they did not make.  They would also find a default
 * with the cast to a domain changed at each run, and drivers that send text
 * could not call functions of an enum.
 */

CREATE FUNCTION comb_timestamp(id uuid) RETURNS timestamptz
	AS 'MODULE_PATHNAME', 'comb_timestamp'
	LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE
	SUPPORT comb_period_support;

COMMENT ON FUNCTION comb_timestamp(uuid) IS
	'time of creation of a UUIDv7, NULL for any other uuid';

CREATE FUNCTION comb_timestamp(id uuid, layout text) RETURNS timestamptz
	AS 'MODULE_PATHNAME', 'comb_timestamp_layout'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
	SUPPORT comb_period_support;

COMMENT ON FUNCTION comb_timestamp(uuid, text) IS
	'time of a key of the given layout, NULL if the value cannot be a key of the layout';

CREATE FUNCTION comb_stamp(id uuid, at timestamptz) RETURNS uuid
	AS 'MODULE_PATHNAME', 'comb_stamp'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION comb_stamp(uuid, timestamptz) IS
	'the uuid turned into a UUIDv7 of the given time; all other bits stay';

CREATE FUNCTION comb_stamp(id uuid, at timestamptz, layout text) RETURNS uuid
	AS 'MODULE_PATHNAME', 'comb_stamp'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION comb_stamp(uuid, timestamptz, text) IS
	'the uuid turned into a key of the layout and the given time; all other bits stay';

CREATE FUNCTION comb_min(at timestamptz) RETURNS uuid
	AS 'MODULE_PATHNAME', 'comb_min'
	LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;

COMMENT ON FUNCTION comb_min(timestamptz) IS
	'smallest UUIDv7 whose time is at or after the given one';

CREATE FUNCTION comb_min(at timestamptz, layout text) RETURNS uuid
	AS 'MODULE_PATHNAME', 'comb_min'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION comb_min(timestamptz, text) IS
	'smallest key of the layout whose time is at or after the given one, in the order of the layout''s database';

CREATE FUNCTION comb_max(at timestamptz) RETURNS uuid
	AS 'MODULE_PATHNAME', 'comb_max'
	LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;

COMMENT ON FUNCTION comb_max(timestamptz) IS
	'largest UUIDv7 whose time is at or before the given one';

CREATE FUNCTION comb_max(at timestamptz, layout text) RETURNS uuid
	AS 'MODULE_PATHNAME', 'comb_max'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION comb_max(timestamptz, text) IS
	'largest key of the layout whose time is at or before the given one, in the order of the layout''s database';

CREATE FUNCTION comb_time_decoder(id text) RETURNS timestamptz
	AS 'MODULE_PATHNAME', 'comb_time_decoder'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION comb_time_decoder(text) IS
	'time of a partition bound or of a key, given as text, for pg_partman';

CREATE FUNCTION comb_inspect(
	id uuid,
	since timestamptz DEFAULT '2000-01-01 00:00:00+00',
	until timestamptz DEFAULT pg_catalog.now() OPERATOR(pg_catalog.+) '1 day'::pg_catalog.interval,
	OUT layout text,
	OUT created timestamptz)
	RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'comb_inspect'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE ROWS 3;

COMMENT ON FUNCTION comb_inspect(uuid, timestamptz, timestamptz) IS
	'layouts in which the value could have been made between two times, most specific first';

CREATE FUNCTION comb_layouts(
	OUT layout text,
	OUT description text,
	OUT generates boolean,
	OUT sorts_in text,
	OUT resolution text,
	OUT earliest timestamptz,
	OUT latest timestamptz)
	RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'comb_layouts'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE ROWS 24;

COMMENT ON FUNCTION comb_layouts() IS
	'all layouts, with who uses each layout and what each layout can do';

CREATE FUNCTION comb_convert(id uuid, source_layout text, target_layout text) RETURNS uuid
	AS 'MODULE_PATHNAME', 'comb_convert'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION comb_convert(uuid, text, text) IS
	'the key in another layout, with the same instant and the same other bits';

--
-- comb_text.c: keys as text
--

CREATE FUNCTION comb_text(id uuid) RETURNS text
	AS 'MODULE_PATHNAME', 'comb_text'
	LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;

COMMENT ON FUNCTION comb_text(uuid) IS
	'the uuid as 26 characters that sort as the uuid, in collation "C"';

CREATE FUNCTION comb_text(id uuid, prefix text) RETURNS text
	AS 'MODULE_PATHNAME', 'comb_text_prefix'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION comb_text(uuid, text) IS
	'the uuid as a TypeID: prefix, underscore and 26 characters';

CREATE FUNCTION comb_parse(id text) RETURNS uuid
	AS 'MODULE_PATHNAME', 'comb_parse'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION comb_parse(text) IS
	'the uuid of 26 characters, such as comb_text() writes, or of a ULID';

CREATE FUNCTION comb_parse(id text, prefix text) RETURNS uuid
	AS 'MODULE_PATHNAME', 'comb_parse_prefix'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION comb_parse(text, text) IS
	'the uuid of a TypeID with the given prefix';

--
-- comb_mask.c: keys that hide their time
--

CREATE FUNCTION comb_mask(id uuid, secret bytea) RETURNS uuid
	AS 'MODULE_PATHNAME', 'comb_mask'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION comb_mask(uuid, bytea) IS
	'the UUIDv7 with its time masked, as a UUIDv4; NULL for any other uuid';

CREATE FUNCTION comb_unmask(id uuid, secret bytea) RETURNS uuid
	AS 'MODULE_PATHNAME', 'comb_unmask'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION comb_unmask(uuid, bytea) IS
	'the UUIDv7 of a UUIDv4 that comb_mask() made with the same secret; NULL for any other version';

--
-- comb_generate.c: keys of one process
--

CREATE FUNCTION comb_generate() RETURNS uuid
	AS 'MODULE_PATHNAME', 'comb_generate'
	LANGUAGE C VOLATILE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION comb_generate() IS
	'new UUIDv7, larger than all earlier UUIDv7 of this server process';

CREATE FUNCTION comb_generate(layout text) RETURNS uuid
	AS 'MODULE_PATHNAME', 'comb_generate_layout'
	LANGUAGE C VOLATILE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION comb_generate(text) IS
	'new key of the layout, larger than all earlier keys of this server process in the order of the layout''s database';

CREATE FUNCTION comb_at(at timestamptz) RETURNS uuid
	AS 'MODULE_PATHNAME', 'comb_at'
	LANGUAGE C VOLATILE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION comb_at(timestamptz) IS
	'new UUIDv7 for the given time';

CREATE FUNCTION comb_at(at timestamptz, layout text) RETURNS uuid
	AS 'MODULE_PATHNAME', 'comb_at_layout'
	LANGUAGE C VOLATILE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION comb_at(timestamptz, text) IS
	'new key of the layout for the given time';

--
-- comb_spread.c: sessions in hash partitions of their own
--

CREATE FUNCTION comb_spread(id uuid, partitions int) RETURNS uuid
	AS 'MODULE_PATHNAME', 'comb_spread'
	LANGUAGE C VOLATILE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION comb_spread(uuid, int) IS
	'the UUIDv7 with other random bits, such that it belongs to the session''s own of so many hash partitions';

--
-- comb_snowflake.c: 64-bit keys, read and bounded by their time
--

CREATE FUNCTION comb_snowflake_timestamp(
	id bigint,
	epoch timestamptz DEFAULT '2024-01-01 00:00:00+00',
	instance_bits int DEFAULT 10,
	sequence_bits int DEFAULT 12,
	tick interval DEFAULT '1 ms')
	RETURNS timestamptz
	AS 'MODULE_PATHNAME', 'comb_snowflake_timestamp'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION comb_snowflake_timestamp(
	bigint, timestamptz, int, int, interval) IS
	'time of creation of a Snowflake';

CREATE FUNCTION comb_snowflake_instance(
	id bigint,
	epoch timestamptz DEFAULT '2024-01-01 00:00:00+00',
	instance_bits int DEFAULT 10,
	sequence_bits int DEFAULT 12,
	tick interval DEFAULT '1 ms')
	RETURNS int
	AS 'MODULE_PATHNAME', 'comb_snowflake_instance'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION comb_snowflake_instance(
	bigint, timestamptz, int, int, interval) IS
	'instance number of a Snowflake';

CREATE FUNCTION comb_snowflake_sequence(
	id bigint,
	epoch timestamptz DEFAULT '2024-01-01 00:00:00+00',
	instance_bits int DEFAULT 10,
	sequence_bits int DEFAULT 12,
	tick interval DEFAULT '1 ms')
	RETURNS int
	AS 'MODULE_PATHNAME', 'comb_snowflake_sequence'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION comb_snowflake_sequence(
	bigint, timestamptz, int, int, interval) IS
	'sequence number of a Snowflake';

CREATE FUNCTION comb_snowflake_min(
	at timestamptz,
	epoch timestamptz DEFAULT '2024-01-01 00:00:00+00',
	instance_bits int DEFAULT 10,
	sequence_bits int DEFAULT 12,
	tick interval DEFAULT '1 ms')
	RETURNS bigint
	AS 'MODULE_PATHNAME', 'comb_snowflake_min'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION comb_snowflake_min(
	timestamptz, timestamptz, int, int, interval) IS
	'smallest Snowflake whose time is at or after the given one';

CREATE FUNCTION comb_snowflake_max(
	at timestamptz,
	epoch timestamptz DEFAULT '2024-01-01 00:00:00+00',
	instance_bits int DEFAULT 10,
	sequence_bits int DEFAULT 12,
	tick interval DEFAULT '1 ms')
	RETURNS bigint
	AS 'MODULE_PATHNAME', 'comb_snowflake_max'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION comb_snowflake_max(
	timestamptz, timestamptz, int, int, interval) IS
	'largest Snowflake whose time is at or before the given one';

--
-- comb_period.c: keys created during a period
--

/*
 * The operators take a domain over tstzrange.  Operators on tstzrange itself
 * would also be the best match for tstzrange @> '[...)' and tstzrange @> $1.
 * PostgreSQL has always taken the untyped operand for another range there, and
 * would then take the operand for a uuid.
 */
CREATE DOMAIN comb_period AS tstzrange;

COMMENT ON DOMAIN comb_period IS
	'type of the period in "uuid <@ period"; every tstzrange is a comb_period';

CREATE FUNCTION comb_range_min(period tstzrange) RETURNS uuid
	AS 'MODULE_PATHNAME', 'comb_range_min'
	LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;

COMMENT ON FUNCTION comb_range_min(tstzrange) IS
	'smallest UUIDv7 whose time is in the period; all ones if no UUIDv7 has such a time';

CREATE FUNCTION comb_range_min(period tstzrange, layout text) RETURNS uuid
	AS 'MODULE_PATHNAME', 'comb_range_min'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION comb_range_min(tstzrange, text) IS
	'smallest key of the layout whose time is in the period, in the order of the layout''s database';

CREATE FUNCTION comb_range_max(period tstzrange) RETURNS uuid
	AS 'MODULE_PATHNAME', 'comb_range_max'
	LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;

COMMENT ON FUNCTION comb_range_max(tstzrange) IS
	'largest UUIDv7 whose time is in the period; the nil uuid if no UUIDv7 has such a time';

CREATE FUNCTION comb_range_max(period tstzrange, layout text) RETURNS uuid
	AS 'MODULE_PATHNAME', 'comb_range_max'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION comb_range_max(tstzrange, text) IS
	'largest key of the layout whose time is in the period, in the order of the layout''s database';

CREATE FUNCTION comb_period_sel(internal, oid, internal, integer) RETURNS float8
	AS 'MODULE_PATHNAME', 'comb_period_sel'
	LANGUAGE C STABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION comb_period_sel(internal, oid, internal, integer) IS
	'restriction selectivity of uuid <@ period';

CREATE FUNCTION comb_period_joinsel(internal, oid, internal, smallint, internal) RETURNS float8
	AS 'MODULE_PATHNAME', 'comb_period_joinsel'
	LANGUAGE C STABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION comb_period_joinsel(internal, oid, internal, smallint, internal) IS
	'join selectivity of uuid <@ period';

CREATE FUNCTION comb_contained(id uuid, period comb_period) RETURNS boolean
	AS 'MODULE_PATHNAME', 'comb_contained'
	LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE
	SUPPORT comb_period_support;

COMMENT ON FUNCTION comb_contained(uuid, comb_period) IS
	'implementation of <@ operator';

CREATE FUNCTION comb_contains(period comb_period, id uuid) RETURNS boolean
	AS 'MODULE_PATHNAME', 'comb_contains'
	LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE
	SUPPORT comb_period_support;

COMMENT ON FUNCTION comb_contains(comb_period, uuid) IS
	'implementation of @> operator';

CREATE OPERATOR <@ (
	LEFTARG = uuid,
	RIGHTARG = comb_period,
	FUNCTION = comb_contained,
	COMMUTATOR = @>,
	RESTRICT = comb_period_sel,
	JOIN = comb_period_joinsel
);

COMMENT ON OPERATOR <@ (uuid, comb_period) IS
	'is the time of the UUIDv7 in the period? False for any other uuid';

CREATE OPERATOR @> (
	LEFTARG = comb_period,
	RIGHTARG = uuid,
	FUNCTION = comb_contains,
	COMMUTATOR = <@,
	RESTRICT = comb_period_sel,
	JOIN = comb_period_joinsel
);

COMMENT ON OPERATOR @> (comb_period, uuid) IS
	'is the time of the UUIDv7 in the period? False for any other uuid';

CREATE FUNCTION comb_created(id uuid, period tstzrange, layout text) RETURNS boolean
	AS 'MODULE_PATHNAME', 'comb_created_layout'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
	SUPPORT comb_period_support;

COMMENT ON FUNCTION comb_created(uuid, tstzrange, text) IS
	'is the uuid a key of the given layout whose time is in the period?';

/*
 * Names for the operator, for callers that cannot write operators, and for
 * drivers that cannot name the type of the right side.  They are two names,
 * because untyped parameters in f(id, $1, $2) could be a period and a layout
 * as well as two times.
 *
 * A body of the SQL standard is parsed here and now, so nobody who may create
 * in this schema can put another operator into it.  The planner inlines the
 * body, and plans the operator as if the user had written it.
 */
CREATE FUNCTION comb_created(id uuid, period tstzrange) RETURNS boolean
	LANGUAGE SQL IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE
	RETURN id <@ period::comb_period;

COMMENT ON FUNCTION comb_created(uuid, tstzrange) IS
	'is the time of the UUIDv7 in the period? False for any other uuid';

-- Not STRICT, because a NULL time leaves its side open.
CREATE FUNCTION comb_during(id uuid, since timestamptz, until timestamptz) RETURNS boolean
	LANGUAGE SQL IMMUTABLE PARALLEL SAFE
	RETURN id <@ pg_catalog.tstzrange(since, until)::comb_period;

COMMENT ON FUNCTION comb_during(uuid, timestamptz, timestamptz) IS
	'is the time of the UUIDv7 at or after the first and before the second? NULL for a time means no bound';

--
-- What plans call
--

-- Where plans add a range of keys, comb_recheck() stands in for the clauses above.
-- Bounds come first: they are cheaper, and most rows fail them.
CREATE FUNCTION comb_recheck(id uuid, period tstzrange) RETURNS boolean
	AS 'MODULE_PATHNAME', 'comb_recheck'
	LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE COST 2
	SUPPORT comb_period_support;

COMMENT ON FUNCTION comb_recheck(uuid, tstzrange) IS
	'uuid <@ period, in plans that compare the key with bounds';

CREATE FUNCTION comb_recheck(id uuid, period tstzrange, layout text) RETURNS boolean
	AS 'MODULE_PATHNAME', 'comb_recheck_layout'
	LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE COST 2
	SUPPORT comb_period_support;

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

CREATE FUNCTION comb_unwrap(value "any", strategy int, wrapper regprocedure, VARIADIC arguments "any") RETURNS tstzrange
	AS 'MODULE_PATHNAME', 'comb_unwrap'
	LANGUAGE C STABLE LEAKPROOF PARALLEL SAFE COST 20;

COMMENT ON FUNCTION comb_unwrap("any", int, regprocedure, "any") IS
	'a period with all times of which the wrapper makes what compares so with the value, by a strategy of btree; its arguments have NULL in the place of the time';

--
-- comb_mssql.c: SQL Server's order
--

CREATE FUNCTION comb_mssql_lt(uuid, uuid) RETURNS boolean
	AS 'MODULE_PATHNAME', 'comb_mssql_lt'
	LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;

COMMENT ON FUNCTION comb_mssql_lt(uuid, uuid) IS
	'implementation of operator #<#';

CREATE FUNCTION comb_mssql_le(uuid, uuid) RETURNS boolean
	AS 'MODULE_PATHNAME', 'comb_mssql_le'
	LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;

COMMENT ON FUNCTION comb_mssql_le(uuid, uuid) IS
	'implementation of operator #<=#';

CREATE FUNCTION comb_mssql_ge(uuid, uuid) RETURNS boolean
	AS 'MODULE_PATHNAME', 'comb_mssql_ge'
	LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;

COMMENT ON FUNCTION comb_mssql_ge(uuid, uuid) IS
	'implementation of operator #>=#';

CREATE FUNCTION comb_mssql_gt(uuid, uuid) RETURNS boolean
	AS 'MODULE_PATHNAME', 'comb_mssql_gt'
	LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;

COMMENT ON FUNCTION comb_mssql_gt(uuid, uuid) IS
	'implementation of operator #>#';

CREATE FUNCTION comb_mssql_cmp(uuid, uuid) RETURNS integer
	AS 'MODULE_PATHNAME', 'comb_mssql_cmp'
	LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;

COMMENT ON FUNCTION comb_mssql_cmp(uuid, uuid) IS
	'comparison in SQL Server''s order of uniqueidentifier: -1, 0 or 1';

CREATE FUNCTION comb_mssql_key(id uuid) RETURNS uuid
	AS 'MODULE_PATHNAME', 'comb_mssql_key'
	LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;

COMMENT ON FUNCTION comb_mssql_key(uuid) IS
	'the bytes rearranged so that plain order of the result is SQL Server''s order of the argument';

CREATE FUNCTION comb_guid_swap(id uuid) RETURNS uuid
	AS 'MODULE_PATHNAME', 'comb_guid_swap'
	LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;

COMMENT ON FUNCTION comb_guid_swap(uuid) IS
	'.NET byte order of a Guid to text order, and back';

CREATE FUNCTION comb_mssql_sortsupport(internal) RETURNS void
	AS 'MODULE_PATHNAME', 'comb_mssql_sortsupport'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION comb_mssql_sortsupport(internal) IS
	'sort support of comb_mssql_ops';

-- The estimators are core's, because the planner pairs only core's.  A lower and
-- an upper bound on one column then become one range instead of two independent
-- filters.  Core's estimators notice that the column's histogram is in another
-- order, and count the histogram's entries instead of searching the histogram.

CREATE OPERATOR #<# (
	LEFTARG = uuid,
	RIGHTARG = uuid,
	FUNCTION = comb_mssql_lt,
	COMMUTATOR = #>#,
	NEGATOR = #>=#,
	RESTRICT = scalarltsel,
	JOIN = scalarltjoinsel
);

COMMENT ON OPERATOR #<# (uuid, uuid) IS
	'less than, in SQL Server''s order of uniqueidentifier';

CREATE OPERATOR #<=# (
	LEFTARG = uuid,
	RIGHTARG = uuid,
	FUNCTION = comb_mssql_le,
	COMMUTATOR = #>=#,
	NEGATOR = #>#,
	RESTRICT = scalarlesel,
	JOIN = scalarlejoinsel
);

COMMENT ON OPERATOR #<=# (uuid, uuid) IS
	'less than or equal, in SQL Server''s order of uniqueidentifier';

CREATE OPERATOR #>=# (
	LEFTARG = uuid,
	RIGHTARG = uuid,
	FUNCTION = comb_mssql_ge,
	COMMUTATOR = #<=#,
	NEGATOR = #<#,
	RESTRICT = scalargesel,
	JOIN = scalargejoinsel
);

COMMENT ON OPERATOR #>=# (uuid, uuid) IS
	'greater than or equal, in SQL Server''s order of uniqueidentifier';

CREATE OPERATOR #># (
	LEFTARG = uuid,
	RIGHTARG = uuid,
	FUNCTION = comb_mssql_gt,
	COMMUTATOR = #<#,
	NEGATOR = #<=#,
	RESTRICT = scalargtsel,
	JOIN = scalargtjoinsel
);

COMMENT ON OPERATOR #># (uuid, uuid) IS
	'greater than, in SQL Server''s order of uniqueidentifier';

CREATE OPERATOR CLASS comb_mssql_ops
	FOR TYPE uuid USING btree AS
	OPERATOR 1 #<#,
	OPERATOR 2 #<=#,
	OPERATOR 3 pg_catalog.=,
	OPERATOR 4 #>=#,
	OPERATOR 5 #>#,
	FUNCTION 1 comb_mssql_cmp(uuid, uuid),
	FUNCTION 2 comb_mssql_sortsupport(internal),
	FUNCTION 4 pg_catalog.btequalimage(oid);

COMMENT ON OPERATOR CLASS comb_mssql_ops USING btree IS
	'uuid in SQL Server''s order of uniqueidentifier';

COMMENT ON OPERATOR FAMILY comb_mssql_ops USING btree IS
	'uuid in SQL Server''s order of uniqueidentifier';

--
-- Privileges
--

-- The planner puts a call of these in place of a clause.  It does so only if the
-- user may call these, too.  As everyone may, one plan serves all roles.  What default
-- privileges gave to other roles has to go first: as initial privileges, which no dump
-- has, it would outlive these roles.
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
		'comb_unwrap("any", int, regprocedure, "any")',
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
