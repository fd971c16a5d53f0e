# However a server ends under load, preloaded or not: new keys are larger than all that a client has seen, a reader of
# the feed gets each row once, and a prepared transaction holds the reader back.  The extension may go and come again
# under load.  The clock is right all the time, so this needs no libfaketime.
use lib 'test/perl';
use CombSession;
use CombTest;

my $node = server('main', start => 0, conf => q{
autovacuum = off
max_prepared_transactions = 2
restart_after_crash = on
pg_comb.lease_duration = 200ms
});
my $dir = tempdir();
my %ends = (
	fast      => sub { $node->stop },
	immediate => sub { $node->stop('immediate') },
	killed    => sub { crash($node) });
my $last = CombSession::NIL;

sub load
{
	my ($name, $database) = @_;
	return IPC::Run::start(
		[ qw(pgbench -n -c 4 -j 2 -T 90 --max-tries 1 -f), "$dir/$name.sql", $node->connstr($database) ],
		'>', "$dir/load.out", '2>', "$dir/load.err");
}

sub larger
{
	my ($name) = @_;
	my ($key, $rows, $above) = ask($node, 'postgres', 'WITH made AS MATERIALIZED (SELECT comb_generate_ordered() AS key)
		SELECT max(key::text), count(*), bool_and(id < key) FROM made, event');
	ok($key gt $last && $above eq 't', "$name: a new key is above all $rows rows and what clients have seen");
	$last = $key;
	return;
}

append_to_file("$dir/insert.sql", "INSERT INTO event DEFAULT VALUES;\n");
append_to_file("$dir/key.sql",    "SELECT comb_generate_ordered();\n");
$node->start;
$node->safe_psql('postgres', $CombSession::setup);
my $reader = CombSession->new($node);

foreach my $libraries ('', 'pg_comb')
{
	$node->append_conf('postgresql.conf', "shared_preload_libraries = '$libraries'");
	$node->restart;
	foreach my $end (sort keys %ends)
	{
		my $name = $end . ($libraries ? ', preloaded' : '');
		my $load = load('insert', 'postgres');
		my $client;

		$reader->again;
		wait_until($node, "SELECT count(*) > 200 FROM event WHERE id > '$last'", 'the load does not run');
		configure($node, 'pg_comb.lease_duration = ' . ($libraries ? '100ms' : '300ms'));
		$client = CombSession->new($node);
		$client->ask(q{BEGIN; INSERT INTO event VALUES (DEFAULT, 'prepared'); PREPARE TRANSACTION 'held'});
		$client->ask('BEGIN');
		$last = $client->ask('SELECT comb_generate_ordered()');
		$reader->poll;
		$ends{$end}->();
		eval { $load->finish };
		$client->quit;
		start_at($node);
		larger($name);
		$reader->again;
		$reader->poll;
		my $held = $node->safe_psql('postgres', "SELECT count(*) FROM event WHERE id > '$reader->{last}'");
		$node->safe_psql('postgres', q{COMMIT PREPARED 'held'});
		cmp_ok($held, '>', 0, "$name: the prepared transaction holds the reader back");
		$reader->reads_all("$name: the reader gets all");
	}
}

# a backend ends by force, and a lease by time
my $victim = CombSession->new($node);
$last = $victim->ask('BEGIN; SELECT comb_generate_ordered()');
kill 'KILL', $victim->{pid};
$victim->quit;
wait_for_server($node);
larger('a killed backend');
$reader->again;
$reader->reads_all('a killed backend: the reader gets all');
my $idle = CombSession->new($node);
$last = $idle->ask('SELECT comb_generate_ordered()');
$idle->ask('SELECT pg_sleep(0.7)');
cmp_ok($idle->ask('SELECT comb_generate_ordered()'), 'gt', $last, 'a lease has run out');

# the extension goes and comes under load
$node->safe_psql('postgres', 'CREATE DATABASE other');
my $down = 0;
foreach my $round (1 .. 5)
{
	$node->safe_psql('other', 'CREATE EXTENSION pg_comb_ordered CASCADE');
	my $load = load('key', 'other');
	wait_until($node, q{SELECT count(*) > 2 FROM pg_stat_activity WHERE datname = 'other' AND query LIKE 'SELECT comb%'}, 'the load does not run');
	my $key = $node->safe_psql('other', 'SELECT comb_generate_ordered()');
	$node->safe_psql('other', 'DROP EXTENSION pg_comb_ordered; DROP EXTENSION pg_comb; CREATE EXTENSION pg_comb_ordered CASCADE');
	$down += $node->safe_psql('other', 'SELECT comb_generate_ordered()') le $key;
	$node->safe_psql('other', 'DROP EXTENSION pg_comb_ordered; DROP EXTENSION pg_comb');
	eval { $load->finish };
}
is($down, 0, 'an extension that comes again under load: keys go on');

done_testing();
