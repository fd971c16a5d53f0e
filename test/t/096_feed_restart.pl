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

my ($reader, $writer, $holder) = map { CombSession->new($node) } 1 .. 3;

# The reader sees each row of a table, and there is one.
sub sees
{
	my ($table, $name) = @_;
	my $bound = $table eq 'event' ? 'comb_settled()' : 'slow_settled()';
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return is($reader->ask("SELECT count(*) > 0 AND bool_and(id < $bound) FROM $table"), 't', $name);
}

# Start the server after its end.  No new row may be below a bound from before.
sub none_below
{
	my ($bound, $table, $name) = @_;
	start_with_clock($node, $clock);
	$node->safe_psql('postgres', "TRUNCATE $table; " . "INSERT INTO $table DEFAULT VALUES;" x 5);
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is($node->safe_psql('postgres', "SELECT count(*) FROM $table WHERE id >= '$bound'"), 5, $name);
	$_->again foreach ($reader, $writer, $holder);
	return;
}

# Another database takes so many Snowflakes, ten a millisecond.
sub take_elsewhere { return $node->safe_psql('other', "SELECT count(slow()) FROM generate_series(1, $_[0])"); }

#
# Another database has taken the counter a minute ahead
#
$writer->ask('INSERT INTO slow_event DEFAULT VALUES');
sees('slow_event', 'a reader sees a row');
take_elsewhere(600000);
my $bound = $reader->ask('SELECT slow_settled()');
sees('slow_event', 'also while another database is ahead');
$node->stop;
none_below($bound, 'slow_event', 'Snowflakes after a restart are not below the bound from before');

# The reader is the first to use the limit after the restart
$node->restart;
$_->again foreach ($reader, $writer, $holder);
sees('slow_event', 'a reader that comes first after a restart sees all rows');

#
# A reader follows writers whose limits it does not know.  Another database keeps ahead
# of all limits.
#
foreach my $round (1 .. 5)
{
	take_elsewhere(100000) if $round % 2;
	$writer->ask('INSERT INTO slow_event SELECT FROM generate_series(1, 10)');
	sees('slow_event', "the bound passes the rows of round $round");
}
$writer->ask('SET synchronous_commit = off; INSERT INTO slow_event DEFAULT VALUES');
sees('slow_event', 'also if a commit did not wait for the disk');

# Somebody has the sequence locked
$reader->ask(q{SET statement_timeout = '20s'});
take_elsewhere(20000);
$holder->ask('BEGIN; ALTER SEQUENCE comb_internal.comb_lease_snowflake RENAME TO renamed');
sees('slow_event', 'a reader does not wait for the lock of the limit');
$holder->ask('ROLLBACK');

#
# A bound that follows a limit not committed.  Another database is ahead, and only the
# reader flushes the limit's record.
#
take_elsewhere(600000);
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
none_below($bound, 'slow_event', 'Snowflakes after a crash are not below that bound');

#
# The clock was ahead when another database made keys
#
$writer->ask('INSERT INTO event DEFAULT VALUES');
sees('event', 'a reader sees a row with a uuid');
replace_file($clock, '+3600');
$node->safe_psql('other', 'SELECT comb_generate_ordered()');
replace_file($clock, '+0');
$bound = $reader->ask('SELECT comb_settled()');
sees('event', 'also with the counter an hour ahead');
$node->stop;
none_below($bound, 'event', 'keys after a restart are not below the bound from before');
sees('event', 'and the bound passes them');
done_testing();
