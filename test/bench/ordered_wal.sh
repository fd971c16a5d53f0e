# shellcheck shell=bash disable=SC2034,SC2154 # shared with test/bench/run
#
# WAL that a million numbers need, made by one session without writing rows.

ordered_wal_title="WAL for $million numbers (bytes)"
ordered_wal_ours="comb_generate_ordered()"
ordered_wal_better="less"

ordered_wal_setup() { :; }
ordered_wal_labels() { printf '%s\n' "comb_generate_ordered()" "comb_snowflake()" "nextval('numbers')"; }

ordered_wal_measure() {
	sql -d bench -c "CREATE TEMP TABLE before AS SELECT pg_current_wal_insert_lsn() AS lsn" \
		-c "SELECT count($1) FROM (SELECT generate_series(1, $million)) s" \
		-c "SELECT pg_current_wal_insert_lsn() - lsn FROM before" | tail -n 1
}
