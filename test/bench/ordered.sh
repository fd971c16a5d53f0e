# shellcheck shell=bash disable=SC2034,SC2154 # shared with test/bench/run
#
# Numbers that are ordered across sessions, from one to eight sessions at once:
# millions a second in all.  The rows come from the target list, because a
# function in FROM first stores them all, which costs more than a number does.

ordered_title="Ordered across sessions (million a second, all sessions together)"
ordered_ours="comb_generate_ordered(), 1 session"
ordered_better="more"

ordered_setup() { :; }

ordered_labels() {
	local sessions what
	for sessions in "1 session" "2 sessions" "4 sessions" "8 sessions"; do
		for what in "comb_generate_ordered()" "comb_snowflake()" "nextval('numbers')"; do
			say "$what, $sessions"
		done
	done
}

ordered_measure() {
	local sessions n=$((million / 10)) script=$work/ordered.sql
	sessions=${1##*, }
	say "SELECT count(${1%, *}) FROM (SELECT generate_series(1, $n)) s" | as_owner tee "$script" >/dev/null
	bounded pgbench -h "$work/s" -p 5432 -U postgres -n -c "${sessions% *}" -j "${sessions% *}" -T 3 \
		-f "$script" bench >"$work/pgbench.log" 2>&1 || { show_tail "$work/pgbench.log" >&2; return 1; }
	awk -v n="$n" '/^tps = / { printf "%.2f\n", $3 * n / 1e6 }' "$work/pgbench.log"
}
