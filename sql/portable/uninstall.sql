/*
 * sql/portable/uninstall.sql
 *
 * Drops what sql/portable/pg_comb.sql made, from the first schema of search_path
 * that has it.  PostgreSQL refuses while a default, a view or an index still uses
 * one of the functions, and names what does.  Run this file in a transaction, so
 * that it drops all or nothing.
 */
DROP OPERATOR <@ (uuid, comb_period), @> (comb_period, uuid);

DROP FUNCTION comb_during(uuid, timestamptz, timestamptz),
	comb_created(uuid, tstzrange),
	comb_created(uuid, tstzrange, text),
	comb_contained(uuid, comb_period),
	comb_contains(comb_period, uuid),
	comb_range_min(tstzrange),
	comb_range_min(tstzrange, text),
	comb_range_max(tstzrange),
	comb_range_max(tstzrange, text),
	comb_min(timestamptz),
	comb_min(timestamptz, text),
	comb_max(timestamptz),
	comb_max(timestamptz, text),
	comb_timestamp(uuid),
	comb_timestamp(uuid, text),
	comb_generate(),
	comb_generate(text),
	comb_at(timestamptz),
	comb_at(timestamptz, text),
	comb_stamp(uuid, timestamptz),
	comb_stamp(uuid, timestamptz, text),
	comb_time_decoder(text),
	comb_portable_layout(text),
	comb_portable_behind_v4(uuid),
	comb_portable_v7(uuid),
	comb_portable_time(timestamptz);

DROP DOMAIN comb_period;
