# shellcheck shell=bash disable=SC2034,SC2154 # shared with test/bench/run
#
# What SQL Server's order costs a sort: CREATE INDEX on random values, in
# memory and without workers, so that comparing is most of it.

mssql_index_title="CREATE INDEX on $((million * 5)) random values (s)"
mssql_index_ours="comb_mssql_ops"
mssql_index_better="less"

# Shared with mssql_sort
mssql_random() {
	[ "$(query "SELECT to_regclass('random') IS NULL")" = f ] && return
	query "CREATE TABLE random AS SELECT gen_random_uuid() AS id FROM generate_series(1, $((million * 5)))" &&
		query "VACUUM ANALYZE random"
}

mssql_index_setup() { mssql_random; }
mssql_index_labels() { printf '%s\n' comb_mssql_ops uuid_ops; }

mssql_index_measure() {
	local ms
	ms=$(timed "SET maintenance_work_mem = '1GB'; SET max_parallel_maintenance_workers = 0;
		CREATE INDEX random_id ON random (id $1)") || return
	query "DROP INDEX random_id"
	awk -v ms="$ms" 'BEGIN { printf "%.2f\n", ms / 1000 }'
}
