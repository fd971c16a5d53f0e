# shellcheck shell=bash disable=SC2034,SC2154 # shared with test/bench/run
#
# Reading the time of every key in a table, net of reading the table.  Core's
# uuid_extract_timestamp() counts only where it knows version 7, from 18 on.

read_title="Reading a key's time over a table, net of the scan (ns)"
read_ours="comb_timestamp(id)"
read_better="less"

# All pages cached, and their rows known to be visible
read_setup() {
	query "CREATE TABLE scanned AS SELECT comb_generate() AS id FROM generate_series(1, $million * 4)" &&
		query "VACUUM (FREEZE, ANALYZE) scanned" &&
		query "SELECT count(id) FROM scanned" >/dev/null
}

read_labels() {
	say "comb_timestamp(id)"
	if has_function 'uuid_extract_timestamp(uuid)' &&
		[ "$(query "SELECT uuid_extract_timestamp(comb_generate()) IS NOT NULL")" = t ]; then
		say "uuid_extract_timestamp(id)"
	fi
	if has_function 'uuid_v7_to_timestamptz(uuid)'; then
		say "uuid_v7_to_timestamptz(id)"
	fi
}

read_measure() {
	net_ns $((million * 4)) "SELECT count($1) FROM scanned" "SELECT count(id) FROM scanned"
}
