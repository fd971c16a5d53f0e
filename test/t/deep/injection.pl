# Sessions are held between two steps, on a server built with injection points.
#
# - A session that makes a key is held between taking its time from the shared counter and
#   checking the lease, before it extends the lease, and between writing the lease and
#   flushing the WAL.
# - A session that renews a limit ahead is held before it writes the limit, after that, and
#   before it relies on the limit.
use lib 'test/perl';
use CombTest;

need_faketime();

# No other process flushes the WAL.
my $dir  = tempdir();
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

my $make = 'SELECT comb_generate_ordered(), comb_snowflake()';
my $held;                       # number of sessions held so far

# Start a psql that makes a key, waits until its lease has ended or for "$wait", and is
# held at the point in the next call of the function.  Return the psql and its output so
# far.
sub hold
{
	my ($point, $function, $then, $wait) = @_;
	$wait //= 'SELECT pg_sleep(0.3)';
	my $file = "$dir/held" . ++$held;
	my $run  = background($node, 'postgres', qq{
		\\set ON_ERROR_STOP 0
		SELECT pg_backend_pid();
		SELECT $function;
		$wait;
		SELECT injection_points_set_local();
		SELECT injection_points_attach('$point', 'wait');
		SELECT $function;
		SELECT 'passed';
		$then
	}, $file);
	$node->poll_query_until('postgres',
		"SELECT count(*) = 1 FROM pg_stat_activity WHERE wait_event = '$point'")
	  or die "no session is held at $point";
	my @lines = grep { $_ ne '' } split(/\n/, slurp_file($file));
	return ($run, $file, @lines);
}

# Let the session pass the point; from now on the point holds nobody.
sub release
{
	my ($point) = @_;
	$node->safe_psql('postgres',
		"SELECT injection_points_detach('$point'), injection_points_wakeup('$point')");
	return;
}

# The key of the held session, shown after the earlier lines
sub key_of
{
	my ($run, $file, @before) = @_;
	my @lines = grep { $_ ne '' } split(/\n/, shown_in($file, qr/^passed$/m));
	finish_background($run);
	return $lines[ scalar(@before) ];
}

#
# A session takes a time beyond its lease, and other sessions make keys meanwhile
#
my @session = hold('comb-lease-renew', 'comb_generate_ordered()', '');
my $first = $session[3];
my ($between, $limit) = ask($node, 'postgres',
	q{SELECT comb_generate_ordered(), (SELECT reserved_until FROM comb_ordered_status() WHERE series = 'ordered')});
release('comb-lease-renew');
my $key = key_of(@session);
cmp_ok($key, 'gt', $first, 'a key held before its lease is above the session\'s last');
cmp_ok($key, 'lt', $between, 'and below that of a call which began and ended meanwhile');
cmp_ok((ask($node, 'postgres', 'SELECT comb_generate_ordered()'))[0], 'gt', $between, 'the next is above both');

# Start a psql that is held with its first key
sub hold_first
{
	my ($function, $point) = @_;
	$point //= 'comb-lease-renew';
	my $file = "$dir/held" . ++$held;
	my $run  = background($node, 'postgres', qq{
		SET client_min_messages = warning;
		DO 'BEGIN PERFORM injection_points_set_local(), injection_points_attach(''$point'', ''wait''); END';
		SELECT $function;
		SELECT 'passed';
	}, $file);
	$node->poll_query_until('postgres',
		"SELECT count(*) = 1 FROM pg_stat_activity WHERE wait_event = '$point'")
	  or die 'no session is held with the first key';
	return ($run, $file);
}

#
# A session writes a lease without flushing the WAL, another session relies on this
# lease, and the server crashes
#
my ($run, $file, @before) = hold('comb-lease-flush', 'comb_generate_ordered()', '');
my ($shown) = ask($node, 'postgres', 'SELECT comb_generate_ordered()');
crash($node);
finish_background($run);
start_at($node, '-1h');
cmp_ok((ask($node, 'postgres', 'SELECT comb_generate_ordered()'))[0],
	'gt', $shown, 'whoever relies on a lease flushes it');

#
# The held session is cancelled there, and asks again
#
$node->stop;
start_at($node);
($run, $file, @before) = hold('comb-lease-flush', 'comb_generate_ordered()',
	"SELECT comb_generate_ordered();\nSELECT 'again';");
$node->safe_psql('postgres', "SELECT injection_points_detach('comb-lease-flush')");
($between) = ask($node, 'postgres', 'SELECT comb_generate_ordered()');
$node->safe_psql('postgres', "SELECT pg_cancel_backend($before[0])");
my $lines = shown_in($file, qr/^again$/m);
finish_background($run);
like(slurp_file("$file.err"), qr/canceling statement due to user request/, 'a call is cancelled before the flush');
my @after = grep { $_ ne '' } split(/\n/, $lines);
cmp_ok($after[-2], 'gt', $between, 'the session goes on after it');

#
# A session is about to step over a limit that is not on disk
#
my $setter = background($node, 'postgres', q{
	BEGIN;
	SELECT setval('comb_internal.comb_lease_ordered', last_value + 20000000) FROM comb_internal.comb_lease_ordered;
	SELECT 'raised';
	SELECT pg_sleep(120);
}, "$dir/setter");
shown_in("$dir/setter", qr/^raised$/m);
($run, $file) = hold_first('comb_generate_ordered()', 'comb-lease-flush');
is($node->safe_psql('postgres', q{SELECT ahead < '10 s' FROM comb_ordered_status() WHERE series = 'ordered'}),
	't', 'the counter does not step over a limit that is in memory only');
release('comb-lease-flush');
key_of($run, $file);
is($node->safe_psql('postgres', q{SELECT ahead > '10 s' FROM comb_ordered_status() WHERE series = 'ordered'}), 't', 'but does then');
$node->safe_psql('postgres', q{SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE '%pg_sleep(120)%' AND pid <> pg_backend_pid()});
finish_background($setter);

#
# The next limit is written while the lease still lasts
#
$node->stop;
$node->append_conf('postgresql.conf', 'pg_comb.lease_duration = 3s');
my $clock = $node->data_dir . '/clock';
start_with_clock($node, $clock);

# In the second half of the lease, and beyond its end
my $half   = 'SELECT pg_sleep(1.8)';
my $beyond = 'SELECT pg_sleep(1.8); SELECT %s; SELECT pg_sleep(1.4)';
my %line   = ('comb_generate_ordered()' => 'ordered', 'comb_snowflake()' => 'snowflake');

sub set_clock
{
	my ($shift) = @_;
	append_to_file("$clock.new", "$shift\n");
	rename("$clock.new", $clock) or die "could not rename the clock: $!";
	return;
}

sub limit_of
{
	my ($function) = @_;
	return $node->safe_psql('postgres', "SELECT last_value FROM comb_internal.comb_lease_$line{$function}");
}

# Hold a session whose first key begins a lease
sub hold_in_lease
{
	my ($point, $function, $wait) = @_;
	$node->safe_psql('postgres',
		"SELECT $function; SELECT pg_sleep(greatest(0, extract(epoch FROM reserved_until - clock_timestamp()) + 0.01)) FROM comb_ordered_status() WHERE series = '$line{$function}'");
	return hold($point, $function, '', $wait);
}

# Crash with a session held, start with the clock an hour back, and compare a new key
# with earlier ones.  Texts do: ids have the same number of digits.  Return the limit
# that the server found.
sub crash_and_compare
{
	my ($function, $name, $run, @before) = @_;
	crash($node);
	finish_background($run);
	start_with_clock($node, $clock, '-3600');
	my $found = limit_of($function);
	my ($largest) = reverse sort @before;
	cmp_ok((ask($node, 'postgres', "SELECT $function"))[0], 'gt', $largest, "$function: $name: new keys are larger");
	set_clock('+0');
	return $found;
}

foreach my $function (sort keys %line)
{
	# Two sessions are about to renew, and only one does
	my @held    = hold_in_lease('comb-lease-ahead', $function, $half);
	my $old     = limit_of($function);
	my ($other) = ask($node, 'postgres', "SELECT $function");
	my $new     = limit_of($function);
	cmp_ok($new, '>', $old, "$function: while a session is about to renew the limit, another one does");
	release('comb-lease-ahead');
	cmp_ok(key_of(@held), 'lt', $other, "$function: the first session makes the key that it has taken");
	is(limit_of($function), $new, "$function: and leaves that limit");

	@held = hold_in_lease('comb-lease-ahead', $function, $half);
	$old  = limit_of($function);
	is(crash_and_compare($function, 'a crash before a limit is written', $held[0], $held[3], $other),
		$old, "$function: which leaves the old limit");

	# Another session makes a key while the new limit is in memory only
	@held = hold_in_lease('comb-lease-ahead-written', $function, $half);
	$new  = limit_of($function);
	my ($before, $after);
	($before, $other, $after) = ask($node, 'postgres', "SELECT pg_current_wal_flush_lsn(), $function, pg_current_wal_flush_lsn()");
	isnt($before, $after, "$function: a new session flushes the limit that it reads");
	is(limit_of($function), $new, "$function: and does not write it again");
	is(crash_and_compare($function, 'a crash after that', $held[0], $held[3], $other),
		$new, "$function: which leaves the new limit");

	# Two sessions rely on the new limit
	@held    = hold_in_lease('comb-lease-advance', $function, sprintf($beyond, $function));
	$new     = limit_of($function);
	($other) = ask($node, 'postgres', "SELECT $function");
	cmp_ok(crash_and_compare($function, 'a crash before a session relies on a limit', $held[0], @held[ 3, 4 ], $other),
		'>=', $new, "$function: which leaves the new limit, on which another session relies");
}

done_testing();
