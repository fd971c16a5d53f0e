# shellcheck shell=bash disable=SC2034,SC2154 # shared with test/bench/run
#
# What planning costs, as the server itself reports it.  It does so in whole
# microseconds, and one such query takes five of them: so a statement has it a
# hundred times, as sub-selects that are planned one by one.

range_plan_title="Planning one day (us)"
range_plan_ours="id <@ period"
range_plan_better="less"

range_plan_setup() {
	range_tables && query "CREATE FUNCTION planning_us(query text, n int) RETURNS numeric LANGUAGE plpgsql AS \$\$
		DECLARE
			plan json;
			ms float8 := 0;
		BEGIN
			FOR i IN 1..n LOOP
				EXECUTE 'EXPLAIN (SUMMARY, FORMAT json) ' || query INTO plan;
				ms := ms + (plan->0->>'Planning Time')::float8;
			END LOOP;
			RETURN round((ms / n * 10)::numeric, 3);
		END \$\$"
}

range_plan_labels() {
	say "id <@ period"
	say "id >= ... AND id < ..."
}

# After a first one that fills the session's caches
range_plan_measure() {
	local clause
	clause=$(range_clause "$1" 500)
	query "WITH statement AS MATERIALIZED (
			SELECT string_agg(\$q\$(SELECT * FROM even WHERE $clause OFFSET 0)\$q\$, ' UNION ALL ') AS q
			FROM generate_series(1, 100)
		), warm AS MATERIALIZED (
			SELECT planning_us(q, 2) FROM statement
		)
		SELECT planning_us(q, 50) FROM statement, warm"
}
