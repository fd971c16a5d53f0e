# shellcheck shell=bash disable=SC2034,SC2154 # shared with test/bench/run
#
# A million rows in one INSERT, as in insert.sh: keys with their time at the
# end into a unique index in SQL Server's order, beside keys of the default
# layout in plain order, and beside the same keys in the order they are not
# made for.

mssql_insert_title="INSERT of $million rows, unique index, 100 characters of text (s)"
mssql_insert_ours="rtcomb_sql, comb_mssql_ops"
mssql_insert_better="less"

# label, default expression, operator class, between bars; for mssql_density too
mssql_keys=(
	"rtcomb_sql, comb_mssql_ops|comb_generate('rtcomb_sql')|comb_mssql_ops"
	"uuidv7, uuid_ops|comb_generate()|uuid_ops"
	"rtcomb_sql, uuid_ops|comb_generate('rtcomb_sql')|uuid_ops"
)

mssql_insert_setup() { :; }
mssql_insert_labels() { printf '%s\n' "${mssql_keys[@]%%|*}"; }

# mssql_table LABEL: an empty table with that label's keys and index
mssql_table() {
	local entry expression class
	for entry in "${mssql_keys[@]}"; do
		[ "${entry%%|*}" = "$1" ] || continue
		IFS='|' read -r _ expression class <<<"$entry"
		query "DROP TABLE IF EXISTS mssql" 2>/dev/null
		query "CREATE TABLE mssql (id uuid NOT NULL DEFAULT $expression, n int, payload text);
			CREATE UNIQUE INDEX mssql_id ON mssql (id $class)"
		return
	done
	return 1
}

mssql_insert_measure() {
	local ms
	mssql_table "$1" && query "CHECKPOINT" || return
	ms=$(timed "INSERT INTO mssql (payload) SELECT repeat('x', 100) FROM generate_series(1, $million)") || return
	query "DROP TABLE mssql"
	awk -v ms="$ms" 'BEGIN { printf "%.2f\n", ms / 1000 }'
}
