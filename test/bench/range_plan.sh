# shellcheck shell=bash disable=SC2034,SC2154 # shared with test/bench/run
#
# What planning costs: the mean of 2000 EXPLAINs of one statement, in one
# session, as the server itself reports it.

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
			RETURN round((ms / n * 1000)::numeric, 2);
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
	query "SELECT planning_us(q, 2000)
		FROM (SELECT 'SELECT * FROM even WHERE ' || \$q\$$clause\$q\$ AS q) s
		WHERE planning_us(q, 100) > 0"
}
