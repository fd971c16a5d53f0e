# shellcheck shell=bash disable=SC2034,SC2154 # shared with test/bench/run
#
# The same for ORDER BY.  OFFSET 0 keeps the planner from dropping an order
# that count() does not need.

mssql_sort_title="ORDER BY of $((million * 5)) random values (s)"
mssql_sort_ours="ORDER BY id USING #<#"
mssql_sort_better="less"

mssql_sort_setup() { mssql_random; }
mssql_sort_labels() { printf '%s\n' 'ORDER BY id USING #<#' 'ORDER BY id'; }

mssql_sort_measure() {
	local ms
	ms=$(timed "SET work_mem = '1GB'; SELECT count(*) FROM (SELECT id FROM random $1 OFFSET 0) s") || return
	awk -v ms="$ms" 'BEGIN { printf "%.2f\n", ms / 1000 }'
}
