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

done_testing();
