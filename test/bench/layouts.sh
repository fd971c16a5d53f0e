# shellcheck shell=bash disable=SC2034,SC2154 # shared with test/bench/run
#
# What keys of other layouts cost beside UUIDv7: one of each unit of time, and
# the one whose first half belongs to the process.

layouts_title="Making a key in other layouts, net of the query (ns)"
layouts_ours="comb_generate()"
layouts_better="less"

layouts_setup() { :; }

layouts_labels() {
	local layout
	say "comb_generate()"
	for layout in uuidv7 rtcomb_sql rtcomb_legacy nhibernate sequential_end efcore morris; do
		say "comb_generate('$layout')"
	done
}

layouts_measure() {
	local n=$((million * 4))
	net_ns "$n" "SELECT count($1) FROM generate_series(1, $n)" \
		"SELECT count('017f22e2-79b0-7cc3-98c4-dc0c0c07398f'::uuid) FROM generate_series(1, $n)"
}
