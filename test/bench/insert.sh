# shellcheck shell=bash disable=SC2034,SC2154 # shared with test/bench/run
#
# A million rows in one INSERT: key, primary key index and 100 characters of
# text.  The table is fresh each time and begins right after a checkpoint, so
# that every measurement writes the same full pages to the WAL.

insert_title="INSERT of $million rows: uuid or bigint primary key, 100 characters of text (s)"
insert_ours="comb_generate()"
insert_better="less"

insert_setup() { :; }
insert_labels() { generator_labels; }

insert_measure() {
	local column expression ms
	generator "$1" || return
	query "DROP TABLE IF EXISTS filled" 2>/dev/null
	query "CREATE TABLE filled (id $column PRIMARY KEY, payload text NOT NULL)" || return
	query "CHECKPOINT" || return
	ms=$(timed "INSERT INTO filled (payload) SELECT repeat('x', 100) FROM generate_series(1, $million)") || return
	query "DROP TABLE filled"
	awk -v ms="$ms" 'BEGIN { printf "%.2f\n", ms / 1000 }'
}
