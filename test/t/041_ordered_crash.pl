# Crashes under load, each with the clock set back: every new key is larger than
# every key that was committed or shown to a client
use lib 'test/perl';
use CombSession;
use CombTest;

need_faketime();

my $node = server('main', clock => undef, conf => q{
autovacuum = off
restart_after_crash = on
wal_writer_delay = 10s
pg_comb.snowflake_instance = 5
pg_comb.lease_duration = 200ms
}, sql => q{
	CREATE EXTENSION pg_comb_ordered CASCADE;
	CREATE TABLE made (n bigserial, key uuid PRIMARY KEY DEFAULT comb_generate_ordered(),
	                   id bigint UNIQUE DEFAULT comb_snowflake())});
my $dir = tempdir();
my $make = 'SELECT comb_generate_ordered(), comb_snowflake()';

# New keys must be larger than all rows, and than all keys that a client has seen
sub larger
{
	my ($name, @shown) = @_;
	my ($key, $id) = eval { ask($node, 'postgres', "SET statement_timeout = '60s'; $make") }
	  or fail("$name: keys are made") || die $@;
	my ($rows, $above_keys, $above_ids) = ask(
		$node, 'postgres',
		"SELECT count(*), bool_and(key < '$key'), bool_and(id < $id) FROM made");

	is("$above_keys $above_ids", 't t', "$name: above all $rows rows");
	foreach my $shown (@shown)
	{
		ok($key gt $shown->[0] && $id > $shown->[1], "$name: above what a client saw");
	}
	return ($key, $id);
}

#
# Kill the postmaster with kill -9.  Four sessions commit keys, and one session
# shows keys of a transaction that never commits.
#
sub crash_under_load
{
	my $rows   = $node->safe_psql('postgres', 'SELECT count(*) FROM made');
	my $client = CombSession->new($node);
	my $load   = IPC::Run::start(
		[ qw(pgbench -n -c 4 -j 2 -T 60 -M prepared -f), "$dir/load.sql", $node->connstr('postgres') ],
		'>', "$dir/load.out", '2>', "$dir/load.err");
	my $shown;

	$client->ask('BEGIN');
	wait_until($node, "SELECT count(*) > $rows + 500 FROM made", 'the load does not run');
	$shown = $client->ask($make) foreach 1 .. 20;
	crash($node);
	eval { IPC::Run::finish($load) };
	$client->quit;
	return [ split(/\|/, $shown) ];
}

append_to_file("$dir/load.sql", "INSERT INTO made DEFAULT VALUES;\n");

# In the second round keys are twelve hours ahead.  Then they are 23 hours ahead of the
# clock, which is within the default drift of a day.
my @shown;
my ($key, $id);
foreach my $shift ('-12h', '-23h')
{
	push @shown, crash_under_load();
	start_at($node, $shift);
	($key, $id) = larger("a crash, and the clock at $shift", @shown);
}

#
# A week back is more than pg_comb.max_ordered_drift
#
$node->stop;
start_at($node, '-7d');
like(error_of($node, 'postgres', "SELECT $_"),
	qr/ERROR:  55000: keys were made in this database under a clock too far ahead
DETAIL:  They can have times up to [^;]*; "pg_comb.max_ordered_drift" allows keys to be 86400 s ahead\.
HINT:  Correct the server's clock, raise "pg_comb.max_ordered_drift", or have comb_ordered_reset\(\) called/,
	"$_ a week back: refused, with three ways out") foreach ('comb_generate_ordered()', 'comb_snowflake()');
configure($node, "pg_comb.max_ordered_drift = '10d'");
($key, $id) = larger('a week back, drift allowed', @shown, [ $key, $id ]);

configure($node, "pg_comb.max_ordered_drift = '1d'");

# the clock is right again
$node->stop;
start_at($node);
($key, $id) = larger('the clock put right', @shown, [ $key, $id ]);

#
# A crash after the step of the shared counter and before the session writes the
# lease.  A session makes a key.  When its lease has ended, another session locks the
# sequence, by an ALTER SEQUENCE that does not commit.  When the first session asks for
# one more key, it stops exactly at this point.
#
my %at_lease = (
	ordered   => [qw(comb_generate_ordered() comb_timestamp)],
	snowflake => [qw(comb_snowflake() comb_snowflake_timestamp)]);
foreach my $series (sort keys %at_lease)
{
	my ($function, $time) = @{ $at_lease{$series} };
	my $sequence = "comb_internal.comb_lease_$series";
	my ($maker, $holder) = map { CombSession->new($node) } 1 .. 2;

	my $first = $maker->ask("SELECT $function");
	$holder->ask("SELECT pg_sleep(0.3); BEGIN; ALTER SEQUENCE $sequence OWNED BY NONE");
	$maker->send("SELECT $function");
	wait_until($node, "SELECT count(*) = 1 FROM pg_locks
		WHERE relation = '$sequence'::regclass AND mode = 'RowExclusiveLock' AND NOT granted", 'no session waits for the lease');
	is( $node->safe_psql(
			'postgres', "SELECT last >= $time('$first') + interval '0.2 s' FROM comb_ordered_status() WHERE series = '$series'"),
		't', "$function: the step is made");
	crash($node);
	is(($maker->result)[0], '', "$function: its key is not shown");
	$holder->quit;
	start_at($node, '-1h');
	($key, $id) = larger("crash at the lease of $function", [ $key, $id ]);

	# the clock must be right: while keys are ahead of the clock, waiting does not end a lease
	$node->stop;
	start_at($node);
}

#
# Keys of the only session, which does not commit: no other session has flushed the
# WAL of the lease
#
my $alone = CombSession->new($node);
my ($alone_key, $alone_id) = split(/\|/, (split(/\n/, $alone->ask("BEGIN; $make FROM generate_series(1, 10)")))[9]);
crash($node);
$alone->quit;
start_at($node, '-1h');
($key, $id) = larger('crash of an idle server', [ $key, $id ], [ $alone_key, $alone_id ]);

#
# A killed backend makes the server start again with new shared memory
#
my $victim = CombSession->new($node);
my $line = $victim->ask($make);
kill 'KILL', $victim->{pid};
$victim->quit;
wait_for_server($node);
larger('crash of a backend', [ $key, $id ], [ split(/\|/, $line) ]);

done_testing();
