# shellcheck shell=bash disable=SC2034,SC2154 # shared with test/bench/run
#
# How good the estimates are: the mean error of the rows estimated for 100
# days after a fresh ANALYZE, in percent of the days' rows.  A day is a tenth
# of one bin of the histogram.

range_estimate_title="Rows estimated for one day of 1000, mean error (%)"
range_estimate_ours="id <@ period"
range_estimate_better="less"

range_estimate_setup() {
	range_tables && query "CREATE FUNCTION estimated(query text) RETURNS float8 LANGUAGE plpgsql AS \$\$
		DECLARE
			plan json;
		BEGIN
			EXECUTE 'EXPLAIN (FORMAT json) ' || query INTO plan;
			RETURN plan->0->'Plan'->>'Plan Rows';
		END \$\$"
}

range_estimate_labels() {
	say "id <@ period"
	say "id <@ period, ten times as many rows at the end"
	say "id >= ... AND id < ..."
	say "id >= ... AND id < ..., ten times as many rows at the end"
}

range_estimate_measure() {
	local table=even clause="id >= comb_min(lower(%1\$L::tstzrange)) AND id < comb_min(upper(%1\$L::tstzrange))"
	case $1 in *" at the end") table=grown ;; esac
	case $1 in "id <@"*) clause="id <@ %1\$L::tstzrange" ;; esac
	query "ANALYZE $table"
	query "SET timezone = 'UTC';
		WITH day AS MATERIALIZED (
			SELECT tstzrange(d, d + interval '1 day') AS period
			FROM generate_series('2024-01-05'::timestamptz, '2026-09-20', '10 days') d
		), judged AS MATERIALIZED (
			SELECT estimated(format('SELECT * FROM $table WHERE $clause', period)) AS rows,
				(SELECT count(*) FROM $table WHERE id <@ period) AS actual
			FROM day
		)
		SELECT round(avg(abs(rows / actual - 1) * 100)::numeric, 1) FROM judged"
}
