# shellcheck shell=bash disable=SC2034,SC2154 # shared with test/bench/run
#
# A scan of ten million rows that reads every key's time, by layout.  The whole
# query, because a layout is chosen in the query: what matters is what the
# choice adds to it.

layouts_read_title="Reading the time of $((million * 10)) keys in other layouts, whole scan (s)"
layouts_read_ours="comb_timestamp(id)"
layouts_read_better="less"

layouts_read_setup() {
	query "CREATE TABLE keys AS SELECT comb_generate() AS id FROM generate_series(1, $million * 10)" &&
		query "VACUUM (FREEZE, ANALYZE) keys" &&
		query "SELECT count(id) FROM keys" >/dev/null
}

layouts_read_labels() {
	local layout
	say "comb_timestamp(id)"
	for layout in uuidv7 rtcomb_sql rtcomb_legacy nhibernate sequential_end efcore; do
		say "comb_timestamp(id, '$layout')"
	done
}

layouts_read_measure() {
	local ms
	ms=$(timed "SELECT count($1) FROM keys") || return
	awk -v ms="$ms" 'BEGIN { printf "%.3f\n", ms / 1000 }'
}
