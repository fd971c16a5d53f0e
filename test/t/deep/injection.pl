# A session that is held up between two steps, on a server that is built with
# injection points: after its time is taken from the shared word and before the
# lease is looked at, after a lease is written and before it is flushed, and in
# comb_ordered_reset() before the words are set.
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

# Nobody else flushes the WAL.
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
$node->safe_psql('postgres', 'CREATE EXTENSION injection_points; CREATE EXTENSION pg_comb');

my $make = 'SELECT comb_generate_ordered(), comb_snowflake()';
my $held;                       # number of sessions held so far

# A psql that makes a key, waits until its lease is over, and is held at the
# point in the next call of the function.  With its output so far.
sub hold
{
	my ($point, $function, $then) = @_;
	my $file = "$dir/held" . ++$held;
	my $run  = background($node, 'postgres', qq{
		\\set ON_ERROR_STOP 0
		SELECT pg_backend_pid();
		SELECT $function;
		SELECT pg_sleep(0.3);
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

# It passes the point, once and from now on.
sub release
{
	my ($point) = @_;
	$node->safe_psql('postgres',
		"SELECT injection_points_detach('$point'), injection_points_wakeup('$point')");
	return;
}

# Its key, shown after the "held" lines
sub key_of
{
	my ($run, $file, @before) = @_;
	my @lines = grep { $_ ne '' } split(/\n/, shown_in($file, qr/^passed$/m));
	finish_background($run);
	return $lines[ scalar(@before) ];
}

#
# A time taken beyond the lease, and others who make keys in the meantime
#
my @session = hold('comb-lease-renew', 'comb_generate_ordered()', '');
my $first = $session[3];
my ($between, $limit) = ask($node, 'postgres',
	'SELECT comb_generate_ordered(), (SELECT ordered_lease FROM comb_clock_status())');
release('comb-lease-renew');
my $key = key_of(@session);
cmp_ok($key, 'gt', $first, 'a key held before its lease is above the session\'s last');
cmp_ok($key, 'lt', $between, 'and below that of a call which began and ended meanwhile');
cmp_ok((ask($node, 'postgres', 'SELECT comb_generate_ordered()'))[0], 'gt', $between, 'the next is above both');

#
# A time taken beyond the lease of an earlier life, an hour ahead, and a reset
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
			                    ${line}_lease - clock < interval '1 minute' FROM comb_clock_status()"),
		't|t',
		"$function: neither key nor lease is from before the reset");
}

# A psql that is held with the first time after a start
sub hold_first
{
	my ($function) = @_;
	my $file = "$dir/held" . ++$held;
	my $run  = background($node, 'postgres', qq{
		SET client_min_messages = warning;
		DO 'BEGIN PERFORM injection_points_set_local(), injection_points_attach(''comb-lease-renew'', ''wait''); END';
		SELECT $function;
		SELECT 'passed';
	}, $file);
	$node->poll_query_until('postgres',
		"SELECT count(*) = 1 FROM pg_stat_activity WHERE wait_event = 'comb-lease-renew'")
	  or die 'no session is held with the first key';
	return ($run, $file);
}

#
# A lease written and not flushed, on which another session relies; a crash
#
my ($run, $file, @before) = hold('comb-lease-flush', 'comb_generate_ordered()', '');
my ($shown) = ask($node, 'postgres', 'SELECT comb_generate_ordered()');
crash($node);
finish_background($run);
start_at($node, '-1h');
cmp_ok((ask($node, 'postgres', 'SELECT comb_generate_ordered()'))[0],
	'gt', $shown, 'whoever relies on a lease flushes it');

#
# Its session is told to give up there, and asked again
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
# A reset that has ended the old life, and another one in another database
#
$node->safe_psql('postgres', 'CREATE DATABASE other');
$node->safe_psql('other',    'CREATE EXTENSION pg_comb; SELECT comb_generate_ordered()');
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

$node->stop;
done_testing();
