# Sessions are held between two steps, on a server built with injection points.
#
# - A session that makes a key is held between taking its time from the shared counter and
#   checking the lease, before it extends the lease, and between writing the lease and
#   flushing the WAL.
# - A session that renews a limit ahead is held before it writes the limit, after that, and
#   before it relies on the limit.
# - comb_ordered_reset() is held before it sets the counters, before it changes the
#   incarnation, and before the first new limit is on disk.
use strict;
use warnings;

use FindBin qw($RealBin);
use lib "$RealBin/../../perl";
use CombTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

need_faketime();

my $dir  = PostgreSQL::Test::Utils::tempdir();
my $node = PostgreSQL::Test::Cluster->new('injection');
$node->init;

# No other process flushes the WAL.
$node->append_conf(
	'postgresql.conf', q{
autovacuum = off
checkpoint_timeout = 1d
bgwriter_delay = 10s
wal_writer_delay = 10s
wal_level = minimal
max_wal_senders = 0
pg_comb.lease = 200ms
pg_comb.snowflake_instance = 5
});
$node->start;
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
	q{SELECT comb_generate_ordered(), (SELECT time_limit FROM comb_ordered_status() WHERE series = 'ordered')});
release('comb-lease-renew');
my $key = key_of(@session);
cmp_ok($key, 'gt', $first, 'a key held before its lease is above the session\'s last');
cmp_ok($key, 'lt', $between, 'and below that of a call which began and ended meanwhile');
cmp_ok((ask($node, 'postgres', 'SELECT comb_generate_ordered()'))[0], 'gt', $between, 'the next is above both');

#
# A session takes a time beyond the lease of an earlier incarnation, which is an hour
# ahead, and another session resets
#
foreach my $function ('comb_generate_ordered()', 'comb_snowflake()')
{
	my ($time, $line) = $function =~ /snow/ ? qw(comb_snowflake_timestamp snowflake) : qw(comb_timestamp ordered);

	$node->safe_psql('postgres', "SELECT comb_ordered_reset(now() + interval '1 hour'), $function");
	crash($node);
	start_at($node);
	my ($run, $file) = hold_first($function);
	$node->safe_psql('postgres', 'SELECT comb_ordered_reset(now())');
	release('comb-lease-renew');
	my $near = key_of($run, $file);
	is( $node->safe_psql(
			'postgres', "SELECT $time('$near') - clock < interval '1 minute',
			                    time_limit - clock_timestamp() < interval '1 minute' FROM comb_ordered_status() WHERE series = '$line'"),
		't|t',
		"$function: neither key nor lease is from before the reset");
}

#
# A session takes a time an hour ahead, under a lease that covers the time, and another
# session resets
#
foreach my $function ('comb_generate_ordered()', 'comb_snowflake()')
{
	my $time = $function =~ /snow/ ? 'comb_snowflake_timestamp' : 'comb_timestamp';

	$node->safe_psql('postgres', "SELECT comb_ordered_reset(now() + interval '1 hour')");
	my @held = hold('comb-lease-taken', $function, '');
	$node->safe_psql('postgres', 'SELECT comb_ordered_reset(now())');
	release('comb-lease-taken');
	my $near = key_of(@held);
	is( $node->safe_psql(
			'postgres', "SELECT $time('$near') - clock_timestamp() < interval '1 minute'"),
		't',
		"$function: the session gives up a time from before the reset");
}

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
	SELECT setval('comb_internal.comb_lease_ordered', last_value + 60000000) FROM comb_internal.comb_lease_ordered;
	SELECT 'raised';
	SELECT pg_sleep(120);
}, "$dir/setter");
shown_in("$dir/setter", qr/^raised$/m);
($run, $file) = hold_first('comb_generate_ordered()', 'comb-lease-flush');
is($node->safe_psql('postgres', q{SELECT ahead < '30 s' FROM comb_ordered_status() WHERE series = 'ordered'}),
	't', 'the counter does not step over a limit that is in memory only');
release('comb-lease-flush');
key_of($run, $file);
is($node->safe_psql('postgres', q{SELECT ahead > '30 s' FROM comb_ordered_status() WHERE series = 'ordered'}), 't', 'but does then');
$node->safe_psql('postgres', q{SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE '%pg_sleep(120)%' AND pid <> pg_backend_pid()});
finish_background($setter);

#
# A reset is stopped in the middle.  Sessions of another database make keys meanwhile.
# No session waits but for locks, and so each can be cancelled.
#
$node->safe_psql('postgres', 'CREATE DATABASE other');
$node->safe_psql('other',    'CREATE EXTENSION pg_comb_ordered CASCADE; SELECT comb_generate_ordered()');
my $both = 'SELECT comb_generate_ordered(), comb_snowflake(instance_bits => 0)';

sub hold_reset
{
	my ($point, $at) = @_;
	my $reset = background($node, 'postgres', qq{
		SELECT injection_points_set_local();
		SELECT injection_points_attach('$point', 'wait');
		SELECT comb_ordered_reset(now() + interval '$at');
		SELECT 'reset';
	}, "$dir/reset" . ++$held);
	$node->poll_query_until('postgres',
		"SELECT count(*) = 1 FROM pg_stat_activity WHERE wait_event = '$point'")
	  or die "no reset is held at $point";
	return ($reset, "$dir/reset$held");
}

foreach my $point ('comb-reset-words', 'comb-reset-change', 'comb-lease-flush')
{
	# Keys that are kept: after a restart the counters are up to a lease ahead.
	$node->append_conf('postgresql.conf', 'pg_comb.lease = 60s');
	$node->reload;
	$node->poll_query_until('postgres', q{SELECT current_setting('pg_comb.lease') = '1min' FROM comb_clock_status()});
	$node->safe_psql($_, $both) foreach ('postgres', 'other');
	crash($node);
	start_at($node);
	$node->safe_psql($_, $both) foreach ('postgres', 'other');
	my ($reset, $out) = hold_reset($point, '0');
	my @between = ask($node, 'other', "SET statement_timeout = '30s'; $both FROM generate_series(1, 10) ORDER BY 1 DESC LIMIT 1");
	is(scalar(@between), 2, "$point: another database makes keys");
	like(error_of($node, 'postgres', "SET statement_timeout = '1s'; SELECT comb_generate_ordered()"),
		qr/57014/, "$point: a session that has to wait can be cancelled");
	like(error_of($node, 'other', "SET statement_timeout = '1s'; SELECT comb_ordered_reset(now())"),
		qr/57014/, "$point: another reset, too");
	release($point);
	shown_in($out, qr/^reset$/m);
	finish_background($reset);
	foreach my $database ('postgres', 'other')
	{
		my @after = ask($node, $database, $both);
		ok($after[0] gt $between[0] && $after[1] > $between[1], "$point: keys kept are larger in $database");
		@between = @after;
	}

	# Keys that are set back, in a database that has no limit of such keys.  The other
	# database has one, and its keys go on.
	$node->safe_psql('postgres', "SELECT comb_ordered_reset(now() + interval '1 hour')");
	$node->safe_psql('other', $both);
	my @before = ask($node, 'other', $both);
	($reset, $out) = hold_reset($point, '0');
	@between = ask($node, 'other', "SET statement_timeout = '30s'; $both");
	ok($between[0] gt $before[0] && $between[1] > $before[1], "$point: keys of another database increase");
	release($point);
	shown_in($out, qr/^reset$/m);
	finish_background($reset);
	is($node->safe_psql('postgres', "SELECT comb_timestamp(comb_generate_ordered()) < now() + interval '30 minutes'"),
		$point eq 'comb-lease-flush' ? 'f' : 't', "$point: keys are set back, unless another database goes on");
	my @after = ask($node, 'other', $both);
	ok($after[0] gt $between[0] && $after[1] > $between[1], "$point: keys of another database increase after that");
	foreach my $database ('other', 'postgres', 'other')
	{
		$node->append_conf('postgresql.conf', 'pg_comb.max_ordered_drift = 20s');
		$node->reload;
		$node->poll_query_until($database, "SELECT current_setting('pg_comb.max_ordered_drift') FROM comb_clock_status()", '20s');
		$node->safe_psql($database, 'SELECT comb_ordered_reset(now())');
	}
	$node->append_conf('postgresql.conf', "pg_comb.max_ordered_drift = 1d\npg_comb.lease = 200ms");
	$node->reload;
	$node->poll_query_until('postgres', "SELECT current_setting('pg_comb.max_ordered_drift') FROM comb_clock_status()", '1d');
}

#
# Two databases start a reset
#
my $reset = background($node, 'postgres', q{
	SELECT injection_points_set_local();
	SELECT injection_points_attach('comb-reset-words', 'wait');
	SELECT comb_ordered_reset(now() + interval '1 hour');
	SELECT 'first';
}, "$dir/first");
$node->poll_query_until('postgres',
	"SELECT count(*) = 1 FROM pg_stat_activity WHERE wait_event = 'comb-reset-words'")
  or die 'no reset is held';
my $second = background($node, 'other', q{
	SELECT comb_ordered_reset(now() + interval '2 hours');
	SELECT 'second', comb_generate_ordered();
}, "$dir/second");
$node->poll_query_until('postgres',
	"SELECT count(*) = 1 FROM pg_stat_activity WHERE datname = 'other' AND state = 'active'");
sleep(1);
unlike(slurp_file("$dir/second"), qr/second/, 'a reset waits for another that has begun');
release('comb-reset-words');
shown_in("$dir/first", qr/^first$/m);
my ($second_key) = shown_in("$dir/second", qr/^second\|/m) =~ /second\|(.*)/;
finish_background($reset);
finish_background($second);
cmp_ok((ask($node, 'other', 'SELECT comb_generate_ordered()'))[0],
	'gt', $second_key, 'and keys of its database go on after it');

#
# The next limit is written while the lease still lasts
#
$node->stop;
$node->append_conf('postgresql.conf', 'pg_comb.lease = 3s');
my $clock = $node->data_dir . '/clock';
start_with_clock($node, $clock);
$node->safe_psql('postgres', 'SELECT comb_ordered_reset(now())');

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
		"SELECT $function; SELECT pg_sleep(greatest(0, extract(epoch FROM time_limit - clock_timestamp()) + 0.01)) FROM comb_ordered_status() WHERE series = '$line{$function}'");
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
	$node->safe_psql('postgres', 'SELECT comb_ordered_reset(now())');
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
	is($before,             $after, "$function: a session under the old limit flushes nothing");
	is(limit_of($function), $new,   "$function: and does not write the new limit again");
	cmp_ok(crash_and_compare($function, 'a crash before a limit is flushed', $held[0], $held[3], $other),
		'<', $new, "$function: which leaves the old limit");

	# Two sessions rely on the new limit
	@held    = hold_in_lease('comb-lease-advance', $function, sprintf($beyond, $function));
	$new     = limit_of($function);
	($other) = ask($node, 'postgres', "SELECT $function");
	cmp_ok(crash_and_compare($function, 'a crash before a session relies on a limit', $held[0], @held[ 3, 4 ], $other),
		'>=', $new, "$function: which leaves the new limit, on which another session relies");

	# A reset meets a session whose lease is an hour ahead
	my $time = $function =~ /snow/ ? 'comb_snowflake_timestamp' : 'comb_timestamp';
	foreach my $point ('comb-lease-ahead', 'comb-lease-advance')
	{
		set_clock('+3600');
		@held = hold_in_lease($point, $function, $point =~ /advance/ ? sprintf($beyond, $function) : $half);
		set_clock('+0');
		$node->safe_psql('postgres', 'SELECT comb_ordered_reset(now())');
		release($point);
		my $near = key_of(@held);
		is( $node->safe_psql(
				'postgres', "SELECT $time('$near') - clock < interval '1 minute',
				                    time_limit - clock_timestamp() < interval '1 minute' FROM comb_ordered_status() WHERE series = '$line{$function}'"),
			't|t',
			"$function: a reset at $point takes the time and the limit back");
	}
}

$node->stop;
done_testing();
