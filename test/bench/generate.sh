# shellcheck shell=bash disable=SC2034,SC2154 # shared with test/bench/run
#
# What one key costs, net of the query that asks for it.  The expression is an
# aggregate's argument, so it is evaluated for each row; the baseline has a
# constant there.

generate_title="Making a key, net of the query (ns)"
generate_ours="comb_generate()"
generate_better="less"

generate_setup() { :; }
generate_labels() { generator_labels; }

generate_measure() {
	local column expression n=$((million * 4))
	generator "$1" || return
	net_ns "$n" "SELECT count($expression) FROM generate_series(1, $n)" \
		"SELECT count('017f22e2-79b0-7cc3-98c4-dc0c0c07398f'::uuid) FROM generate_series(1, $n)"
}
