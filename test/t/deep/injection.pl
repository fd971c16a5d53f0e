# Sessions are held between two steps, on a server built with injection points.
#
# - A session that makes a key is held between taking its time from the shared counter and
#   checking the lease, before it extends the lease, and between writing the lease and
#   flushing the WAL.
# - A session that renews a limit ahead is held before it writes the limit, after that, and
#   before it relies on the limit.
use lib 'test/perl';
use CombSchedule;
use CombTest;

need_faketime();

# No other process flushes the WAL.
my $node = server('injection', conf => q{
autovacuum = off
checkpoint_timeout = 1d
bgwriter_delay = 10s
wal_writer_delay = 10s
wal_level = minimal
max_wal_senders = 0
pg_comb.lease_duration = 200ms
pg_comb.snowflake_instance = 5
});
plan skip_all => 'the server is not built with injection points'
  unless $node->check_extension('injection_points');
$node->safe_psql('postgres', 'CREATE EXTENSION injection_points; CREATE EXTENSION pg_comb_ordered CASCADE');

my $make = 'SELECT comb_generate_ordered()';

sub asked { return $node->safe_psql('postgres', $_[0]); }

# Hold the next call of a session at a point.
sub hold
{
	my ($session, $point, $call) = @_;
	CombSchedule::attach($session, $point, 'wait');
	$session->send($call);
	return wait_until($node, "SELECT count(*) = 1 FROM pg_stat_activity WHERE wait_event = '$point'",
		"no session is held at $point");
}

# Crash with a session held.  From PostgreSQL 20 on it does not notice.
sub crash_with
{
	my ($session) = @_;
	crash($node);
	kill 'KILL', $session->{pid};
	return $session->quit;
}

# Let the session pass the point, and return its key.
sub key_of
{
	my ($session) = @_;
	asked("SELECT injection_points_detach('$session->{held}'), injection_points_wakeup('$session->{held}')");
	return ($session->result)[0];
}

# Hold a session that has made a key, when its lease has ended.  Return it and that key.
sub hold_after_lease
{
	my ($point) = @_;
	my $session = CombSession->new($node);
	my $first   = $session->ask($make);
	$session->ask('SELECT pg_sleep(0.3)');
	hold($session, $point, $make);
	return ($session, $first);
}

#
# A session takes a time beyond its lease, and other sessions make keys meanwhile
#
my ($session, $first) = hold_after_lease('comb-lease-renew');
my $between = asked($make);
my $key = key_of($session);
cmp_ok($key, 'gt', $first, 'a key held before its lease is above the session\'s last');
cmp_ok($key, 'lt', $between, 'and below that of a call which began and ended meanwhile');
cmp_ok(asked($make), 'gt', $between, 'the next is above both');

#
# A session writes a lease without flushing the WAL, another session relies on this
# lease, and the server crashes
#
($session) = hold_after_lease('comb-lease-flush');
my $shown = asked($make);
crash_with($session);
start_at($node, '-1h');
cmp_ok(asked($make), 'gt', $shown, 'whoever relies on a lease flushes it');

#
# The held session is cancelled there, and asks again
#
$node->stop;
start_at($node);
($session) = hold_after_lease('comb-lease-flush');
asked("SELECT injection_points_detach('comb-lease-flush')");
$between = asked($make);
asked("SELECT pg_cancel_backend($session->{pid})");
like(($session->result)[1], qr/canceling statement due to user request/, 'a call is cancelled before the flush');
cmp_ok($session->ask($make), 'gt', $between, 'the session goes on after it');

#
# A session is about to step over a limit that is not on disk
#
my $ahead = q{SELECT ahead > '10 s' FROM comb_ordered_status() WHERE series = 'ordered'};
my $setter = CombSession->new($node);
$setter->ask(q{BEGIN;
	SELECT setval('comb_internal.comb_lease_ordered', last_value + 20000000) FROM comb_internal.comb_lease_ordered});
$session = CombSession->new($node);
hold($session, 'comb-lease-flush', $make);
is(asked($ahead), 'f', 'the counter does not step over a limit that is in memory only');
key_of($session);
is(asked($ahead), 't', 'but does then');
$setter->quit;

#
# The next limit is written while the lease still lasts
#
$node->stop;
$node->append_conf('postgresql.conf', 'pg_comb.lease_duration = 3s');
my $clock = tempdir() . '/clock';
start_with_clock($node, $clock);

foreach my $series ('ordered', 'snowflake')
{
	my $function = { ordered => 'comb_generate_ordered()', snowflake => 'comb_snowflake()' }->{$series};
	my $limit    = "SELECT last_value FROM comb_internal.comb_lease_$series";
	$make = "SELECT $function";

	# Hold a session in the second half of the lease that its first key begins, or, if $beyond,
	# when that has ended after another key.  Return it and its keys.
	my $hold_in_lease = sub {
		my ($point, $beyond) = @_;
		asked("$make; SELECT pg_sleep(greatest(0, extract(epoch FROM reserved_until - clock_timestamp()) + 0.01))
			FROM comb_ordered_status() WHERE series = '$series'");
		my $session = CombSession->new($node);
		my @keys    = $session->ask($make);
		$session->ask('SELECT pg_sleep(1.8)');
		if ($beyond)
		{
			push @keys, $session->ask($make);
			$session->ask('SELECT pg_sleep(1.4)');
		}
		hold($session, $point, $make);
		return ($session, @keys);
	};

	# Crash with the session held, start with the clock an hour back, and compare a new key
	# with earlier ones.  Texts do: ids have the same number of digits.  Return the limit
	# that the server found.
	my $crash_and_compare = sub {
		my ($name, $session, @before) = @_;
		crash_with($session);
		start_with_clock($node, $clock, '-3600');
		my $found = asked($limit);
		my ($largest) = reverse sort @before;
		cmp_ok(asked($make), 'gt', $largest, "$function: $name: new keys are larger");
		replace_file($clock, '+0');
		return $found;
	};

	# Two sessions are about to renew, and only one does
	my @held  = $hold_in_lease->('comb-lease-ahead');
	my $old   = asked($limit);
	my $other = asked($make);
	my $new   = asked($limit);
	cmp_ok($new, '>', $old, "$function: while a session is about to renew the limit, another one does");
	cmp_ok(key_of($held[0]), 'lt', $other, "$function: the first session makes the key that it has taken");
	is(asked($limit), $new, "$function: and leaves that limit");

	@held = $hold_in_lease->('comb-lease-ahead');
	$old  = asked($limit);
	is($crash_and_compare->('a crash before a limit is written', @held, $other), $old, "$function: which leaves the old limit");

	# Another session makes a key while the new limit is in memory only
	@held = $hold_in_lease->('comb-lease-ahead-written');
	$new  = asked($limit);
	my ($before, $after);
	($before, $other, $after) = ask($node, 'postgres', "SELECT pg_current_wal_flush_lsn(), $function, pg_current_wal_flush_lsn()");
	isnt($before, $after, "$function: a new session flushes the limit that it reads");
	is(asked($limit), $new, "$function: and does not write it again");
	is($crash_and_compare->('a crash after that', @held, $other), $new, "$function: which leaves the new limit");

	# Two sessions rely on the new limit
	@held  = $hold_in_lease->('comb-lease-advance', 'beyond');
	$new   = asked($limit);
	$other = asked($make);
	cmp_ok($crash_and_compare->('a crash before a session relies on a limit', @held, $other),
		'>=', $new, "$function: which leaves the new limit, on which another session relies");
}

done_testing();
