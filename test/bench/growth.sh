# shellcheck shell=bash disable=SC2034,SC2154 # shared with test/bench/run
#
# Where random keys hurt: a table that outgrows shared_buffers.  It grows by a
# million rows at a time, each time right after a checkpoint, so that the first
# change of a page writes the whole page to the WAL.  The figure is the time for
# all rows; growth.series has each step's for the charts: rows in millions,
# thousand rows a second, MB of the key's index, bytes of WAL a row.

growth_title="Growing a table to $((${GROWTH:-50} * million)) rows, shared_buffers 256MB (s)"
growth_ours="comb_generate()"
growth_better="less"

growth_setup() {
	query "ALTER SYSTEM SET shared_buffers = '256MB'" &&
		bounded pg_ctl -D "$work/server" -w -t 60 -l "$work/log/server.log" restart >"$work/log/server.restart"
}

# Four kinds of key, each by one generator: other extensions' keys grow as these do
growth_labels() { generator_labels | grep -vxE 'pg_uuidv7|TimescaleDB|sequential-uuids'; }

growth_rounds() { say 1; }

growth_measure() {
	local column expression step ms bytes index total=0
	local start=$SECONDS
	generator "$1" || return
	query "CREATE TABLE grown_by_key (id $column PRIMARY KEY, n bigint)" || return
	for ((step = 1; step <= ${GROWTH:-50}; step++)); do
		query "CHECKPOINT" || return
		bytes=$(query "SELECT pg_current_wal_insert_lsn() - '0/0'")
		ms=$(timed "INSERT INTO grown_by_key (n) SELECT n FROM generate_series(1, $million) n") || return
		bytes=$(query "SELECT pg_current_wal_insert_lsn() - '0/0' - $bytes")
		index=$(query "SELECT pg_relation_size('grown_by_key_pkey') / 1048576")
		total=$(awk -v a="$total" -v b="$ms" 'BEGIN { print a + b }')
		awk -v OFS='\t' -v label="$1" -v rows="$((step * million))" -v n="$million" -v ms="$ms" \
			-v index_mb="$index" -v bytes="$bytes" \
			'BEGIN { print label, rows / 1e6, n / ms, index_mb, bytes / n }' >>"$work/growth.series"
		printf '\rgrowth: %s, step %d, %d s   ' "$1" "$step" $((SECONDS - start)) >>"$progress"
	done
	query "DROP TABLE grown_by_key"
	awk -v ms="$total" 'BEGIN { printf "%.1f\n", ms / 1000 }'
}
