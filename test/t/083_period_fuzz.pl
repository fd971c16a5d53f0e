
# Copyright (c) 2026, pg_comb developers

# Random queries with the clauses on periods, on random tables, and each answer
# compared with the one by brute force; see test/perl/PeriodFuzz.pm.
# PERIOD_FUZZ_QUERIES is the number of queries.  PERIOD_FUZZ_SEED repeats a run, and
# the seed that a wrong answer is shown with repeats its round alone.

use strict;
use warnings;

use File::Basename qw(dirname);
use FindBin qw($RealBin);
use lib "$RealBin/../perl";
use IPC::Run ();
use PeriodFuzz;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $queries = $ENV{PERIOD_FUZZ_QUERIES} || 2000;
my $seed = defined $ENV{PERIOD_FUZZ_SEED} ? $ENV{PERIOD_FUZZ_SEED} : int(rand(1_000_000_000));
my $in_round = 125;
my $dir = PostgreSQL::Test::Utils::tempdir;

note "PERIOD_FUZZ_SEED=$seed";

my $node = PostgreSQL::Test::Cluster->new('period_fuzz');
$node->init;
$node->append_conf(
	'postgresql.conf', q{
fsync = off
autovacuum = off
timezone = 'UTC'
jit = off
client_min_messages = warning
max_parallel_workers_per_gather = 0
statement_timeout = '10min'
log_statement = none
});
$node->start;
my ($host, $port) = ($node->host, $node->port);

# The other side of foreign tables is a database of the same server.
$node->safe_psql('postgres', 'CREATE DATABASE far; CREATE ROLE fuzz_reader');
my $functions = slurp_file("$RealBin/../fuzz/periods.sql");
for my $database ('postgres', 'far')
{
	$node->safe_psql($database, "CREATE EXTENSION pg_comb; $functions");
	$node->psql($database, 'CREATE EXTENSION btree_gist');
}
$node->safe_psql(
	'postgres', qq{
CREATE ACCESS METHOD heap2 TYPE TABLE HANDLER heap_tableam_handler;
CREATE EXTENSION postgres_fdw;
DO \$\$
DECLARE
	name text;
BEGIN
	FOREACH name IN ARRAY ARRAY['bare', 'same'] LOOP
		EXECUTE format('CREATE SERVER %I FOREIGN DATA WRAPPER postgres_fdw
			OPTIONS (host %L, port %L, dbname %L)', name, '$host', '$port', 'far');
		EXECUTE format('CREATE USER MAPPING FOR CURRENT_USER SERVER %I', name);
		EXECUTE format('CREATE USER MAPPING FOR fuzz_reader SERVER %I
			OPTIONS (user %L, password_required %L)', name, current_user, 'false');
	END LOOP;
END \$\$;
ALTER SERVER same OPTIONS (ADD extensions 'pg_comb');
});

my %server = (
	major => $node->safe_psql('postgres', q{SELECT current_setting('server_version_num')::int / 10000}),
	btree_gist => $node->safe_psql('postgres', q{SELECT count(*) FROM pg_opclass WHERE opcname = 'gist_uuid_ops'}));

$node->safe_psql('postgres', q{ALTER SERVER same OPTIONS (ADD async_capable 'true')});

# Some minor releases, such as 15.18, leave a default partition out if a
# condition says IS NOT NULL of the key.  There the random queries do without, for the
# answer is wrong with integers, too.
$server{prunes_rightly} = $node->safe_psql(
	'postgres', q{
CREATE TABLE pruned (n int) PARTITION BY RANGE (n);
CREATE TABLE pruned_1 PARTITION OF pruned FOR VALUES FROM (MINVALUE) TO (20);
CREATE TABLE pruned_default PARTITION OF pruned DEFAULT;
INSERT INTO pruned SELECT generate_series(0, 40);
CREATE FUNCTION pruned_at(n int) RETURNS int STABLE LANGUAGE plpgsql AS 'BEGIN RETURN n; END';
SELECT count(*) = 16 FROM pruned
WHERE (n BETWEEN 10 AND 38 OR n BETWEEN 11 AND 30) AND n BETWEEN pruned_at(15) AND pruned_at(30) AND n IS NOT NULL;
DROP FUNCTION pruned_at;
DROP TABLE pruned;
}) eq 't';

# Runs one round and returns what PeriodFuzz's compare() does.
sub run_round
{
	my ($round) = @_;
	my $name = $round->name;
	my $file = "$dir/$name";

	for my $step ([ 'far', $round->far_script ], [ 'postgres', $round->near_script ])
	{
		my ($database, $script) = @$step;
		my ($status, undef, $err) = $node->psql($database, $script);
		next if $status == 0;
		diag "seed $round->{seed}, tables in $database: $err";
		return (0, 0, 'the tables cannot be made');
	}

	append_to_file("$file.sql", $round->script);
	IPC::Run::run([ 'psql', '-XqAt', '-d', $node->connstr('postgres'), '-f', "$file.sql" ],
		'>', "$file.out", '2>', "$file.err");
	return $round->compare(slurp_file("$file.out"));
}

# Next to the server's log, for psql to run by hand
sub keep_scripts
{
	my ($round) = @_;
	my $file = dirname($node->logfile) . '/' . $round->name;

	append_to_file("${file}_far.sql", $round->far_script);
	append_to_file("${file}_tables.sql", $round->near_script);
	append_to_file("${file}_queries.sql", $round->script);
	diag "the scripts of this round are ${file}_*.sql";
	return;
}

sub drop_round
{
	my ($round) = @_;
	my $name = $round->name;

	$node->safe_psql($_, "DROP SCHEMA $name CASCADE") for ('postgres', 'far');
	unlink(glob("$dir/$name.*"));
	return;
}

my ($compared, $with_rows, $wrong) = (0, 0, 0);
my $at = $seed;
for (my $left = $queries; $left > 0; $left -= $in_round)
{
	my $round = PeriodFuzz->new($at++, $left < $in_round ? $left : $in_round, \%server);
	my ($all, $some, @wrong) = run_round($round);

	$compared += $all;
	$with_rows += $some;
	for (@wrong)
	{
		diag ref ? $round->show($_) : $_ if ++$wrong <= 5;
	}
	keep_scripts($round) if @wrong;
	drop_round($round);
}
is($wrong, 0, 'all answers are those by brute force');
cmp_ok($with_rows, '>', $compared / 2, "$with_rows of $compared answers have rows");

# The comparison can fail: with a brute force whose periods include their end, and
# with one that says NULL where a key has no time, the same queries differ.
my $function = $node->safe_psql('postgres',
	q{SELECT pg_get_functiondef(oid) FROM pg_proc WHERE oid = 'fuzz.brute(uuid, tstzrange, text)'::regprocedure});
for my $change (
	[ 'AND upper_inc(period)', '', 'an end that is included' ],
	[ 'IF at IS NULL OR isempty(period) THEN', 'IF at IS NULL THEN RETURN NULL; ELSIF isempty(period) THEN', 'a key without a time' ])
{
	my ($from, $to, $what) = @$change;
	(my $broken = $function) =~ s/\Q$from\E/$to/ or die "the function has no \"$from\"";

	my $round = PeriodFuzz->new($seed, 150, \%server);
	my $found = 0;
	$node->safe_psql('postgres', $broken);
	(undef, undef, my @wrong) = run_round($round);
	cmp_ok(scalar(grep { ref } @wrong), '>', 0, scalar(@wrong) . " wrong answers found: $what");
	like($round->show($wrong[0]), qr/seed $seed, query \d+.*(missing rows|rows too many), [1-9]/s, 'shown with the seed and the rows')
	  if ref $wrong[0];
	drop_round($round);
}

$node->stop;
done_testing();
