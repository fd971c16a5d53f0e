# A consumer begins at a bound that comb_settled() gave before a restart.  No key made
# after the restart is below that bound, wherever other databases and cancelled calls
# had taken the counters.  The bound still passes all keys of its own database.
use lib 'test/perl';
use CombSession;
use CombTest;

need_faketime();

my $clock = tempdir() . '/clock';
my $node  = server('main', start => 0, conf => q{
autovacuum = off
log_statement = none
checkpoint_timeout = 1d
bgwriter_lru_maxpages = 0
wal_level = minimal
max_wal_senders = 0
pg_comb.snowflake_instance = 5
});
start_with_clock($node, $clock);
$node->safe_psql('postgres', 'CREATE DATABASE other');
foreach my $database ('postgres', 'other')
{
	$node->safe_psql(
		$database, q{
		CREATE EXTENSION pg_comb_ordered CASCADE;
		CREATE FUNCTION slow() RETURNS bigint VOLATILE LANGUAGE sql AS
			$$SELECT comb_snowflake(instance_bits => 0, sequence_bits => 0, tick => '100 us')$$;
		CREATE FUNCTION slow_settled() RETURNS bigint STABLE LANGUAGE sql AS
			$$SELECT comb_snowflake_settled(instance_bits => 0, sequence_bits => 0, tick => '100 us')$$;
		CREATE TABLE event (id uuid PRIMARY KEY DEFAULT comb_generate_ordered());
		CREATE TABLE slow_event (id bigint PRIMARY KEY DEFAULT slow())});
}

# Insert five rows, and return how many are not below a bound.
sub found
{
	my ($table, $bound) = @_;
	$node->safe_psql('postgres', "TRUNCATE $table; " . "INSERT INTO $table DEFAULT VALUES;" x 5);
	return $node->safe_psql('postgres', "SELECT count(*) FROM $table WHERE id >= '$bound'");
}

# Whether a reader sees each row of a table below the bound
my $all = q{SELECT count(*) > 0 AND bool_and(id < %s) FROM %s};
my $all_slow    = sprintf($all, 'slow_settled()', 'slow_event');
my $all_ordered = sprintf($all, 'comb_settled()', 'event');

#
# Another database has taken the counter a minute ahead
#
my $reader = CombSession->new($node);
my $writer = CombSession->new($node);
$writer->ask('INSERT INTO slow_event DEFAULT VALUES');
is($reader->ask($all_slow), 't', 'a reader sees a row');
$node->safe_psql('other', 'SELECT count(slow()) FROM generate_series(1, 600000)');
my $bound = $reader->ask('SELECT slow_settled()');
is($reader->ask($all_slow), 't', 'also while another database is ahead');
$_->quit foreach ($reader, $writer);
$node->stop;
start_with_clock($node, $clock);
is(found('slow_event', $bound), 5, 'Snowflakes after a restart are not below the bound from before');

# The reader is the first to use the limit after the restart
$node->restart;
$reader->connect;
is($reader->ask($all_slow), 't', 'a reader that comes first after a restart sees all rows');

#
# A reader follows writers whose limits it does not know.  Another database keeps ahead
# of all limits.
#
$writer->connect;
foreach my $round (1 .. 5)
{
	$node->safe_psql('other', 'SELECT count(slow()) FROM generate_series(1, 100000)') if $round % 2;
	$writer->ask('INSERT INTO slow_event SELECT FROM generate_series(1, 10)');
	is($reader->ask($all_slow), 't', "the bound passes the rows of round $round");
}
$writer->ask('SET synchronous_commit = off; INSERT INTO slow_event DEFAULT VALUES');
is($reader->ask($all_slow), 't', 'also if a commit did not wait for the disk');

# Somebody has the sequence locked
my $holder = CombSession->new($node);
$reader->ask(q{SET statement_timeout = '20s'});
$node->safe_psql('other', 'SELECT count(slow()) FROM generate_series(1, 20000)');
$holder->ask('BEGIN; ALTER SEQUENCE comb_internal.comb_lease_snowflake RENAME TO renamed');
is($reader->ask($all_slow), 't', 'a reader does not wait for the lock of the limit');
$holder->ask('ROLLBACK');

#
# Calls that are cancelled while they wait for their limit have moved the counter
#
$holder->ask('BEGIN; ALTER SEQUENCE comb_internal.comb_lease_snowflake OWNED BY NONE');
foreach (1 .. 60)
{
	my $complaint = $writer->complaints(q{SET statement_timeout = '10ms'; INSERT INTO slow_event SELECT FROM generate_series(1, 100000)});
	die $complaint unless $complaint =~ /canceling statement due to statement timeout/;
}
is($reader->ask(q{SELECT last > reserved_until FROM comb_ordered_status() WHERE series = 'snowflake'}), 't', 'the counter is beyond the limit');
$bound = $reader->ask('SELECT slow_settled()');
is($reader->ask($all_slow), 't', 'the bound passes all rows');
crash($node);
$_->quit foreach ($holder, $reader, $writer);
start_with_clock($node, $clock);
is(found('slow_event', $bound), 5, 'Snowflakes after a crash are not below the bound from before');

#
# A bound that follows a limit not committed.  Another database is ahead, and only the
# reader flushes the limit's record.
#
$node->restart;
$_->connect foreach ($holder, $reader, $writer);
$writer->ask('INSERT INTO slow_event DEFAULT VALUES');
is($reader->ask($all_slow), 't', 'a reader knows a limit');
$node->safe_psql('other', 'SELECT count(slow()) FROM generate_series(1, 600000)');
my $walwriter = $node->safe_psql('postgres', q{SELECT pid FROM pg_stat_activity WHERE backend_type = 'walwriter'});
kill 'STOP', $walwriter;
my $raised = $holder->ask(q{
	BEGIN;
	SELECT setval('comb_internal.comb_lease_snowflake', last_value + 30 * 1000000::bigint) FROM comb_internal.comb_lease_snowflake});
$bound = $reader->ask('SELECT slow_settled()');
is($reader->ask("SELECT comb_snowflake_min(to_timestamp($raised / 1000000), instance_bits => 0, sequence_bits => 0, tick => '100 us') <= $bound"),
	't', 'a bound at a limit that is not committed');
crash($node);
kill 'KILL', $walwriter;
$_->quit foreach ($holder, $reader, $writer);
start_with_clock($node, $clock);
is(found('slow_event', $bound), 5, 'Snowflakes after a crash are not below that bound');

#
# The clock was ahead when another database made keys
#
$node->stop;
start_with_clock($node, $clock);
$_->connect foreach ($reader, $writer);
$writer->ask('INSERT INTO event DEFAULT VALUES');
is($reader->ask($all_ordered), 't', 'a reader sees a row with a uuid');
replace_file($clock, '+3600');
$node->safe_psql('other', 'SELECT comb_generate_ordered()');
replace_file($clock, '+0');
$bound = $reader->ask('SELECT comb_settled()');
is($reader->ask($all_ordered), 't', 'also with the counter an hour ahead');
$_->quit foreach ($reader, $writer);
$node->stop;
start_with_clock($node, $clock);
is(found('event', $bound), 5, 'keys after a restart are not below the bound from before');
$reader->connect;
is($reader->ask($all_ordered), 't', 'and the bound passes them');
$reader->quit;

$node->stop;
done_testing();
