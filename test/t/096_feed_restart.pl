# A consumer begins at a bound that comb_settled() gave before a restart.  No key made
# after the restart is below that bound, wherever other databases and cancelled calls
# had taken the counters.  The bound still passes all keys of its own database.
use lib 'test/perl';
use CombSchedule;
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

# End the server, start it, and connect again.
sub again
{
	my ($self) = @_;
	start_with_clock($node, $clock);
	$_->again foreach $self->all;
	return;
}

# No new row is below a bound of before.
sub above { return "TRUNCATE $_[0]; " . "INSERT INTO $_[0] DEFAULT VALUES;" x 5 . "SELECT count(*) FROM $_[0] WHERE id >= '$_[1]'" }

# The reader sees each row of a table, and there is one.
sub sees { return "SELECT count(*) > 0 AND bool_and(id < $_[1]) FROM $_[0]" }

my ($bound, $raised, $walwriter);
my $schedule = CombSchedule->new($node, 'h r w', clean => 'SELECT', statements => {
	row     => 'INSERT INTO slow_event DEFAULT VALUES',
	rows    => 'INSERT INTO slow_event SELECT FROM generate_series(1, 10)',
	async   => 'SET synchronous_commit = off; INSERT INTO slow_event DEFAULT VALUES',
	event   => 'INSERT INTO event DEFAULT VALUES',
	sees    => sees('slow_event', 'slow_settled()'),
	seeskey => sees('event', 'comb_settled()'),
	bound   => sub { $bound = $_[1]->ask('SELECT slow_settled()'); return },
	keybound => sub { $bound = $_[1]->ask('SELECT comb_settled()'); return },
	above    => sub { return above('slow_event', $bound) },
	keyabove => sub { return above('event', $bound) },
	timeout  => q{SET lock_timeout = '1s'},
	rename   => 'ALTER SEQUENCE comb_internal.comb_lease_snowflake RENAME TO renamed',
	raise    => sub {
		$raised = $_[1]->ask(q{BEGIN;
			SELECT setval('comb_internal.comb_lease_snowflake', last_value + 30 * 1000000::bigint) FROM comb_internal.comb_lease_snowflake});
		return;
	},
	atlimit => sub { return "SELECT comb_snowflake_min(to_timestamp($raised / 1000000), instance_bits => 0, sequence_bits => 0, tick => '100 us') <= $bound" },

	# another database takes N thousand Snowflakes, ten a millisecond, or a key by the clock an hour ahead
	take  => sub { $node->safe_psql('other', "SELECT count(slow()) FROM generate_series(1, 1000 * $_[2])"); return },
	ahead => sub { replace_file($clock, '+3600'); $node->safe_psql('other', 'SELECT comb_generate_ordered()'); replace_file($clock, '+0'); return },
	stopwal => sub {
		$walwriter = $node->safe_psql('postgres', q{SELECT pid FROM pg_stat_activity WHERE backend_type = 'walwriter'});
		kill 'STOP', $walwriter;
		return;
	},
	restart => sub { $node->stop; return again(@_) },
	crash   => sub { crash($node); kill 'KILL', $walwriter; return again(@_) } });
$schedule->test(q{
	# another database has taken the counter a minute ahead
	w.row r.sees=t take600 r.bound r.sees=t restart w.above=5
	# the reader is the first to use the limit after the restart
	restart r.sees=t
	# it follows writers whose limits it does not know, while another database keeps ahead of all limits
	take100 w.rows r.sees=t w.rows r.sees=t take100 w.rows r.sees=t w.rows r.sees=t take100 w.rows r.sees=t
	# also if a commit did not wait for the disk, or somebody has the sequence locked, for longer than the reader may wait
	w.async r.sees=t r.timeout take20 h.begin h.rename r.sees=t w.pause2000 h.rollback
	# the bound follows a limit not committed, whose record only the reader flushes
	take600 stopwal h.raise r.bound r.atlimit=t crash w.above=5
	# the clock was ahead when another database made keys
	w.event r.seeskey=t ahead r.keybound r.seeskey=t restart w.keyabove=5 r.seeskey=t
});
done_testing();
