# shellcheck shell=bash disable=SC2034,SC2154 # shared with test/bench/run
#
# How full 16 sessions leave that index, as in density.sh.  Keys and tables
# are those of mssql_insert.sh.

mssql_density_title="Leaf density of the unique index after $million rows from 16 sessions (%)"
mssql_density_ours="rtcomb_sql, comb_mssql_ops"
mssql_density_better="more"

mssql_density_setup() { :; }
mssql_density_labels() { printf '%s\n' "${mssql_keys[@]%%|*}"; }
mssql_density_rounds() { say 1; }

mssql_density_measure() {
	mssql_table "$1" || return
	say 'INSERT INTO mssql (n) VALUES (:client_id)' | as_owner tee "$work/mssql.sql" >/dev/null
	bounded env PGOPTIONS="-c synchronous_commit=off" pgbench -h "$work/s" -p 5432 -U postgres \
		-n -M prepared -c 16 -j 2 -t $((million / 16)) -f "$work/mssql.sql" bench >"$work/pgbench.log" 2>&1 ||
		{ show_tail "$work/pgbench.log" >&2; return 1; }
	query "SELECT round(avg_leaf_density::numeric, 1) FROM pgstatindex('mssql_id')"
	query "DROP TABLE mssql"
}
