# Random queries with the clauses on periods, on random tables, and each answer
# compared with the one by brute force; see test/perl/PeriodFuzz.pm.
# PERIOD_FUZZ_QUERIES is the number of queries.  PERIOD_FUZZ_SEED repeats a run, and
# the seed that a wrong answer is shown with repeats its round alone.
use lib 'test/perl';
use CombTest;
use PeriodFuzz;

my $queries = $ENV{PERIOD_FUZZ_QUERIES} || 2000;
my $seed = $ENV{PERIOD_FUZZ_SEED} // int(rand(1_000_000_000));
my $in_round = 125;
my $dir = tempdir();

note "PERIOD_FUZZ_SEED=$seed";

my $node = server('period_fuzz', conf => q{
fsync = off
autovacuum = off
timezone = 'UTC'
jit = off
client_min_messages = warning
max_parallel_workers_per_gather = 0
statement_timeout = '10min'
log_statement = none
}, sql => 'CREATE DATABASE far; CREATE ROLE fuzz_reader');

# The other side of foreign tables is a database of the same server.
for my $database ('postgres', 'far')
{
	$node->safe_psql($database, 'CREATE EXTENSION pg_comb; CREATE EXTENSION btree_gist; ' . slurp_file('test/fuzz/periods.sql'));
}
my $options = "OPTIONS (host '" . $node->host . "', port '" . $node->port . "', dbname 'far', async_capable 'true')";
$node->safe_psql('postgres', qq{
CREATE ACCESS METHOD heap2 TYPE TABLE HANDLER heap_tableam_handler;
CREATE EXTENSION postgres_fdw;
CREATE SERVER bare FOREIGN DATA WRAPPER postgres_fdw $options;
CREATE SERVER same FOREIGN DATA WRAPPER postgres_fdw $options;
ALTER SERVER same OPTIONS (ADD extensions 'pg_comb');
CREATE USER MAPPING FOR CURRENT_USER SERVER bare;
CREATE USER MAPPING FOR CURRENT_USER SERVER same;
DO \$\$ BEGIN
	EXECUTE format('CREATE USER MAPPING FOR fuzz_reader SERVER bare OPTIONS (user %L, password_required ''false'')', current_user);
	EXECUTE format('CREATE USER MAPPING FOR fuzz_reader SERVER same OPTIONS (user %L, password_required ''false'')', current_user);
END \$\$});
my ($compared, $with_rows, @wrong) = (0, 0);
for (my $at = $seed; $queries > 0; $at++, $queries -= $in_round)
{
	my $round = PeriodFuzz->new($at, $queries < $in_round ? $queries : $in_round);
	my $file  = "$dir/round_$at";

	$node->safe_psql('far', $round->{base});
	$node->safe_psql('postgres', "$round->{base};\n$round->{ddl}");
	append_to_file("$file.sql", $round->script);
	IPC::Run::run([ 'psql', '-XqAt', '-d', $node->connstr('postgres'), '-f', "$file.sql" ], '>', "$file.out", '2>', "$file.err");
	my ($all, $some, @answers) = $round->compare(slurp_file("$file.out"));
	$compared += $all;
	$with_rows += $some;
	push @wrong, @answers;
	$node->safe_psql($_, "DROP SCHEMA round_$at CASCADE") for ('postgres', 'far');
}
is(scalar(@wrong), 0, 'all answers are those by brute force');
diag $_ for grep { defined } @wrong[ 0 .. 4 ];
cmp_ok($with_rows, '>', $compared / 2, "$with_rows of $compared answers have rows");

# Prepared orders of keys, while constraints, partitions, children and keys without a time
# come and go.  Each change is a transaction, and some fail, as where rows violate a CHECK.
my $changes = $node->safe_psql('postgres', q{
SET client_min_messages = error;
SET enable_seqscan = off;
SET plan_cache_mode = force_generic_plan;
CREATE TABLE plain (id uuid);
CREATE TABLE parent (id uuid);
CREATE TABLE child () INHERITS (parent);
CREATE TABLE parted (id uuid) PARTITION BY RANGE (id);
CREATE TABLE old PARTITION OF parted FOR VALUES FROM (MINVALUE) TO (comb_min('2026-01-05'));
CREATE TABLE new PARTITION OF parted FOR VALUES FROM (comb_min('2026-01-05')) TO (MAXVALUE);
DO $do$
DECLARE
	kinds text[] := '{plain,parent,child,parted,new}';
	changes text[] := ARRAY[
		'ALTER TABLE %I ADD CONSTRAINT c CHECK (id <@ ''[2000-01-01,2100-01-01)'')',
		'ALTER TABLE %I ADD CONSTRAINT c CHECK (comb_timestamp(id) IS NOT NULL)',
		'ALTER TABLE %I ADD CONSTRAINT c CHECK (comb_timestamp(id) IS NOT NULL) NOT VALID',
		'ALTER TABLE %I ADD CONSTRAINT c CHECK (comb_timestamp(id) IS NOT NULL) NO INHERIT',
		'ALTER TABLE %I VALIDATE CONSTRAINT c',
		'ALTER TABLE %I DROP CONSTRAINT c', 'ALTER TABLE %I DROP CONSTRAINT c',
		'ALTER TABLE %I ALTER id SET NOT NULL', 'ALTER TABLE %I ALTER id DROP NOT NULL',
		'DELETE FROM %I WHERE comb_timestamp(id) IS NULL', 'DELETE FROM %I WHERE comb_timestamp(id) IS NULL',
		'INSERT INTO %I VALUES (overlay(comb_at(''2026-01-08'')::text PLACING ''4'' FROM 15 FOR 1)::uuid)',
		'INSERT INTO %I VALUES (gen_random_uuid())', 'INSERT INTO %I VALUES (NULL)',
		'ALTER TABLE child NO INHERIT parent', 'ALTER TABLE child INHERIT parent',
		'ALTER TABLE parted DETACH PARTITION new',
		'ALTER TABLE parted ATTACH PARTITION new FOR VALUES FROM (comb_min(''2026-01-05'')) TO (MAXVALUE)'];
	kind text;
	change text;
	direction text;
	line text;
	is_same boolean;
	wrong text := '';
	by_key int := 0;
	done int := 0;
BEGIN
	PERFORM setseed(} . ($seed % 1000 / 1000) . q{);
	FOREACH kind IN ARRAY kinds LOOP
		EXECUTE format('CREATE INDEX ON %I (id)', kind);
		EXECUTE format('INSERT INTO %I SELECT comb_at(''2026-01-05''::timestamptz + n * interval ''1 hour'') FROM generate_series(%s, 50) n',
			kind, CASE WHEN kind = 'new' THEN 0 ELSE -50 END);
		FOREACH direction IN ARRAY '{ASC,DESC,ASC NULLS FIRST,DESC NULLS LAST}'::text[] LOOP
			EXECUTE format('PREPARE %I(int) AS SELECT ARRAY(SELECT comb_timestamp(id) FROM %I ORDER BY comb_timestamp(id) %s LIMIT $1)
				IS NOT DISTINCT FROM ARRAY(SELECT comb_timestamp(id) FROM %2$I ORDER BY comb_timestamp(id) + interval ''0'' %3$s LIMIT $1)',
				kind || ' ' || direction, kind, direction);
		END LOOP;
	END LOOP;
	COMMIT;
	FOR i IN 1 .. 250 LOOP
		change := format(changes[ceil(random() * array_length(changes, 1))], kinds[ceil(random() * array_length(kinds, 1))]);
		BEGIN
			EXECUTE change;
			done := done + 1;
		EXCEPTION WHEN OTHERS THEN NULL;
		END;
		COMMIT;
		FOR kind IN SELECT name FROM pg_prepared_statements WHERE name ~ '[AD]E?SC' LOOP
			EXECUTE format('EXECUTE %I(70)', kind) INTO is_same;
			IF NOT is_same THEN
				wrong := wrong || format(E'%s after change %s: %s
', kind, i, change);
			END IF;
			FOR line IN EXECUTE format('EXPLAIN EXECUTE %I(70)', kind) LOOP
				by_key := by_key - (line ~ 'Sort Key: .*comb_timestamp[^+]*$')::int;
			END LOOP;
			by_key := by_key + 1;
		END LOOP;
	END LOOP;
	PERFORM set_config('fuzz.wrong', wrong, false), set_config('fuzz.done', done || ' ' || by_key, false);
END $do$;
SELECT current_setting('fuzz.done'), current_setting('fuzz.wrong');
});
my ($done, $by_key, $wrong_orders) = $changes =~ /^(\d+) (\d+)\|(.*)/s;
is($wrong_orders, '', 'prepared orders are those of times after each change');
cmp_ok($done, '>', 50, "$done changes");
cmp_ok($by_key, '>', 0, "$by_key plans have the key's order");

done_testing();
