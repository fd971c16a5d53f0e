# shellcheck shell=bash disable=SC2034,SC2154 # shared with test/bench/run
#
# How full 16 sessions leave the pages of the primary key's index when they
# insert row by row at once.  Commits do not wait for the disk here: that
# changes the time, which is not measured, and not the index.

density_title="Leaf density of the primary key's index after $million rows from 16 sessions (%)"
density_ours="comb_generate()"
density_better="more"

density_setup() { :; }
density_labels() { generator_labels; }

# Hardly varies from run to run.
density_rounds() { say 1; }

density_measure() {
	local column expression
	generator "$1" || return
	query "CREATE TABLE crowded (id $column PRIMARY KEY, n int)" || return
	say 'INSERT INTO crowded (n) VALUES (:client_id)' | as_owner tee "$work/crowded.sql" >/dev/null
	bounded env PGOPTIONS="-c synchronous_commit=off" pgbench -h "$work/s" -p 5432 -U postgres \
		-n -M prepared -c 16 -j 2 -t $((million / 16)) -f "$work/crowded.sql" bench >"$work/pgbench.log" 2>&1 ||
		{ show_tail "$work/pgbench.log" >&2; return 1; }
	query "SELECT round(avg_leaf_density::numeric, 1) FROM pgstatindex('crowded_pkey')"
	query "DROP TABLE crowded"
}
