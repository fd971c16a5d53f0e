# shellcheck shell=bash disable=SC2034,SC2154 # shared with test/bench/run
#
# One day out of ten million rows in a thousand days, about 10000 rows of
# 100 characters: by the operator, by bounds written by hand, and by the time
# of every key.  The day is another one each time.

range_title="count(*) of one day of 1000, out of $((million * 10)) rows (ms)"
range_ours="id <@ period"
range_better="less"

# Shared with range_plan and range_estimate.  Days of "grown" have ten times as
# many rows at the end as at the start.
range_tables() {
	[ "$(query "SELECT to_regclass('grown') IS NULL")" = f ] && return
	query "CREATE TABLE even AS
			SELECT comb_at('2024-01-01 00:00+00'::timestamptz + n * interval '86400 s' / ($million / 100)) AS id,
				repeat('x', 100) AS note
			FROM generate_series(0, $million * 10 - 1) n" &&
		query "CREATE TABLE grown AS
			SELECT comb_at('2024-01-01 00:00+00'::timestamptz
					+ interval '1000 days' * ln(1 + 9 * n / ($million * 10.0)::float8) / ln(10::float8)) AS id,
				repeat('x', 100) AS note
			FROM generate_series(0, $million * 10 - 1) n" &&
		query "CREATE INDEX even_id ON even (id)" &&
		query "CREATE INDEX grown_id ON grown (id)" &&
		query "VACUUM (FREEZE, ANALYZE) even" &&
		query "VACUUM (FREEZE, ANALYZE) grown"
}

# range_clause LABEL DAY: the condition of the label for a day, 0 to 999
range_clause() {
	local first="'2024-01-01 00:00+00'::timestamptz + interval '$2 days'"
	local next="'2024-01-01 00:00+00'::timestamptz + interval '$(($2 + 1)) days'"
	local day
	day=$(query "SET timezone = 'UTC'; SELECT tstzrange($first, $next)")
	first=$(query "SELECT quote_literal(lower('$day'::tstzrange))")
	next=$(query "SELECT quote_literal(upper('$day'::tstzrange))")
	case $1 in
	"id <@ period") say "id <@ tstzrange($first, $next)" ;;
	"comb_timestamp(id) <@ period") say "comb_timestamp(id) <@ tstzrange($first, $next)" ;;
	*) say "id >= comb_min($first) AND id < comb_min($next)" ;;
	esac
}

# Timed in the server: a new session's first look at the catalogs takes longer
# than a day's rows.  The first run, which is not counted, also brings the
# day's pages into the cache.
range_setup() {
	range_tables && query "CREATE FUNCTION elapsed_ms(query text, n int) RETURNS numeric LANGUAGE plpgsql AS \$\$
		DECLARE
			start timestamptz;
		BEGIN
			EXECUTE query;
			start := clock_timestamp();
			FOR i IN 1..n LOOP
				EXECUTE query;
			END LOOP;
			RETURN round((extract(epoch FROM clock_timestamp() - start) * 1000 / n)::numeric, 3);
		END \$\$"
}

range_labels() {
	say "id <@ period"
	say "id >= ... AND id < ..."
	say "comb_timestamp(id) <@ period"
}

range_measure() {
	local clause runs=100
	[ "$1" != "comb_timestamp(id) <@ period" ] || runs=1
	clause=$(range_clause "$1" $((RANDOM % 1000)))
	query "SELECT elapsed_ms(\$q\$SELECT count(*) FROM even WHERE $clause\$q\$, $runs)"
}
