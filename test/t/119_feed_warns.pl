# logged: readers of public\.(other|second)_table by "id" can lose rows
# Where the warning of feeds over other keys is seen: in the client, by any protocol, and in the
# server's log.
use lib 'test/perl';
use CombTest;

my $node = server('main', conf => "log_statement = none\n", sql => q{
	CREATE EXTENSION pg_comb_ordered CASCADE;
	CREATE TABLE other_table (id uuid PRIMARY KEY DEFAULT comb_generate());
	CREATE TABLE second_table (id uuid PRIMARY KEY DEFAULT gen_random_uuid());
	CREATE TABLE ordered (id uuid PRIMARY KEY DEFAULT comb_generate_ordered());
	CREATE ROLE who_knows LOGIN;
	ALTER ROLE who_knows SET pg_comb.warn_unordered_keys = off;
	GRANT SELECT ON other_table TO who_knows});
my $poll = 'SELECT count(*) FROM other_table WHERE id < comb_settled();';
my $warning = qr/WARNING:  readers of public\.other_table by "id" can lose rows/;
my $log = -s $node->logfile;

# Return how often the log has the warning since the last look.
sub logged
{
	my $new = slurp_file($node->logfile, $log);
	$log = -s $node->logfile;
	return scalar(() = $new =~ /$warning/g);
}

my ($rc, $out, $err) = $node->psql('postgres', $poll x 3);
is($out, "0\n0\n0", 'polls get their rows');
like($err, $warning, 'psql shows the warning');
like($err, qr/^DETAIL:  The column's default is comb_generate\(\), and the query's bound only holds for keys of comb_generate_ordered\(\)\.$/m,
	'with the default');
is(logged(), 1, 'the log has it once a session');

my $script = tempdir() . '/poll';
replace_file($script, $poll);
foreach my $protocol ('simple', 'extended', 'prepared')
{
	$node->command_ok([ 'pgbench', '-n', '-c', '2', '-t', '5', '-M', $protocol, '-f', $script, $node->connstr('postgres') ],
		"polls by the $protocol protocol");
	is(logged(), 2, 'once in each of two sessions');
}
($rc, $out, $err) = $node->psql('postgres', $poll, extra_params => [ '-U', 'who_knows' ]);
is("$rc $err " . logged(), '0  0', 'a role that knows better is not warned');
($rc, $out, $err) = $node->psql('postgres', "SET client_min_messages = error; $poll");
is("$rc $err " . logged(), '0  1', 'who hears no warnings leaves one in the log');
($rc, $out, $err) = $node->psql('postgres', "BEGIN READ ONLY; $poll COMMIT; COPY (SELECT FROM other_table WHERE id < comb_settled()) TO stdout");
is("$rc " . logged(), '0 1', 'nothing fails where nothing may be written');
($rc, $out, $err) = $node->psql('postgres', 'BEGIN; ALTER TABLE other_table ALTER id SET DEFAULT comb_generate_ordered(); '
	  . "$poll ROLLBACK; SELECT count(*) FROM second_table WHERE id < comb_settled()");
unlike($err, $warning, 'a default that was mended is right');
like($err, qr/second_table/, 'and the next table is looked at');

# A generic plan was made once, and tells its session once
($rc, $out, $err) = $node->psql('postgres', 'SET plan_cache_mode = force_generic_plan; PREPARE poll AS '
	  . 'SELECT count(*) FROM other_table WHERE id < comb_settled() AND id > $1; '
	  . q{EXECUTE poll('00000000-0000-0000-0000-000000000000');} x 3);
is("$rc " . (() = $err =~ /$warning/g), '0 1', 'a prepared statement warns once');

done_testing();
