# comb_ordered_reset() runs again and again, half a day ahead and back, while eight
# sessions make keys.  Between two resets the keys are in order.  After a reset to
# the present no key is far ahead, whatever the sessions were doing at the reset.
use strict;
use warnings;

use FindBin qw($RealBin);
use lib "$RealBin/../perl";
use CombTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf(
	'postgresql.conf', q{
autovacuum = off
log_statement = none
pg_comb.lease = 100ms
pg_comb.snowflake_instance = 5
});
$node->start;

# The generation is odd while a reset runs.  Snowflakes here allow two ids a second,
# which is less than the sessions ask for.  The ids therefore run far ahead of the
# clock, and every id needs a new lease.
$node->safe_psql(
	'postgres', q{
	CREATE EXTENSION pg_comb_ordered CASCADE;
	CREATE SEQUENCE resets;
	SELECT nextval('resets');
	CREATE FUNCTION generation() RETURNS bigint VOLATILE LANGUAGE sql AS
		'SELECT last_value - 1 FROM resets';
	CREATE FUNCTION us() RETURNS bigint VOLATILE LANGUAGE sql AS
		'SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint';
	CREATE TABLE made (generation_before bigint, before bigint, key uuid, number bigint,
	                   after bigint, generation_after bigint)});

my $cycles = 60;
my $reset  = q{
SELECT nextval('resets');
SELECT comb_ordered_reset(clock_timestamp() + interval '%s');
SELECT nextval('resets');
SELECT pg_sleep(0.02);
};
my $resets = join('',
	map { sprintf($reset, '12 hours') . sprintf($reset, '0')
		  . "SELECT 'near', bool_and(greatest(last, time_limit) - clock_timestamp() < interval '6 hours') FROM comb_ordered_status();\n" }
	  1 .. $cycles);
my $load = PostgreSQL::Test::Utils::tempdir() . '/load.sql';
append_to_file(
	$load, q{
INSERT INTO made SELECT generation(), us(), comb_generate_ordered(),
	comb_snowflake(instance_bits => 0), us(), generation();
});
my $clients = IPC::Run::start(
	[ 'pgbench', '-n', '-M', 'prepared', '-c', '8', '-j', '2', '-R', '2000', '-T', '60', '-f', $load,
		$node->connstr('postgres') . " application_name=load" ],
	'<', '/dev/null', '>', \my $summary, '2>', \my $complaints);
$node->poll_query_until('postgres', 'SELECT count(*) > 100 FROM made')
  or die 'the clients do not start';
my $output = $node->safe_psql('postgres', $resets);
$node->safe_psql('postgres',
	q{SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'load'});
IPC::Run::finish($clients);
unlike($complaints, qr/ERROR/, 'no call fails');
my @near = $output =~ /^near\|(.)$/mg;
is(scalar(grep { $_ eq 't' } @near), $cycles, "nothing far ahead is left after any of $cycles resets to the present");

# By the clients' clock, a call that began after another call ended has the larger
# key.  In the same microsecond, beginnings come before ends.
my $rows = 0;
my ($generation, %last, %disordered) = (-1);
foreach my $event (
	split(/\n/, $node->safe_psql(
		'postgres', q{
		WITH whole AS (SELECT * FROM made WHERE generation_before = generation_after AND generation_after % 2 = 0)
		SELECT generation_after, before AS at, 0, key, number FROM whole
		UNION ALL SELECT generation_after, after, 1, key, number FROM whole
		ORDER BY 1, 2, 3})))
{
	my ($in, $at, $ended, $key, $number) = split(/\|/, $event);
	($generation, %last) = ($in, key => '', number => 0) if $in != $generation;
	if (!$ended)
	{
		$rows++;
		$disordered{$event} = 1 if $key le $last{key} || $number <= $last{number};
		next;
	}
	$last{key}    = $key    if $key gt $last{key};
	$last{number} = $number if $number > $last{number};
}
cmp_ok($rows, '>', 0, 'keys were made between the resets');
is(join("\n", keys %disordered), '', 'they are in the order of the calls');
is( $node->safe_psql(
		'postgres', q{
		SELECT count(*) - count(DISTINCT (generation_after, key)), count(*) - count(DISTINCT (generation_after, number))
		FROM made WHERE generation_before = generation_after AND generation_after % 2 = 0}),
	'0|0',
	'and none twice');

# Two databases have limits ahead by less than max_ordered_drift.  After a reset in
# one database, the other database's limit takes the server ahead again.  With a
# lower max_ordered_drift, both resets together lead back.
my $far = "SELECT comb_ordered_reset(now() + interval '1 hour'), comb_generate_ordered()";
my $ahead = q{SELECT comb_timestamp(comb_generate_ordered()) - clock_timestamp() > interval '50 minutes'};
$node->safe_psql('postgres', 'CREATE DATABASE other');
$node->safe_psql('other',    "CREATE EXTENSION pg_comb_ordered CASCADE; $far");
$node->safe_psql('postgres', $far);
$node->safe_psql('postgres', 'SELECT comb_ordered_reset(now())');
is($node->safe_psql('other', $ahead), 't', 'a limit allowed is gone on from');
is($node->safe_psql('postgres', $ahead), 't', 'by the whole server');
$node->append_conf('postgresql.conf', 'pg_comb.max_ordered_drift = 10s');
$node->reload;
foreach my $database ('postgres', 'other')
{
	$node->poll_query_until($database, "SELECT current_setting('pg_comb.max_ordered_drift') FROM comb_clock_status()", '10s');
	$node->safe_psql($database, 'SELECT comb_ordered_reset(now())');
}
$node->append_conf('postgresql.conf', 'pg_comb.max_ordered_drift = 1d');
$node->reload;
foreach my $database ('postgres', 'other')
{
	$node->poll_query_until($database, "SELECT current_setting('pg_comb.max_ordered_drift') FROM comb_clock_status()", '1d');
	is($node->safe_psql($database, $ahead), 'f', 'with a lower setting meanwhile, none is left');
}

# After a crash, keys are up to a lease ahead of a clock that was always right.  A
# reset leaves these keys alone, because otherwise Snowflakes would repeat.
$node->append_conf('postgresql.conf', 'pg_comb.lease = 60s');
$node->restart;
$node->safe_psql('postgres', 'SELECT comb_snowflake()');
crash($node);
start_at($node);
my $ahead_id = $node->safe_psql('postgres', 'SELECT comb_snowflake()');
my $reset_id = $node->safe_psql('postgres', 'SELECT comb_ordered_reset(now()); SELECT comb_snowflake()');
is( $node->safe_psql('postgres', "SELECT comb_snowflake_timestamp($ahead_id) > clock_timestamp()"),
	't', 'ids after a crash are ahead');
cmp_ok($reset_id =~ s/\s+//r, '>', $ahead_id, 'and a reset goes on from them');

# The setting pg_comb.lease is lowered after a session has learned a limit.  A reset that
# sets nothing back must not write a lower limit, under which the session's keys would
# not be.
my $limits;
foreach my $lease ('100ms', '1min', '100ms')
{
	$node->append_conf('postgresql.conf', "pg_comb.lease = $lease");
	$node->reload;
	$node->poll_query_until('postgres', "SELECT current_setting('pg_comb.lease') FROM comb_clock_status()", $lease);
	my $before = $limits;
	$limits = $node->safe_psql('postgres', $lease eq '1min'
		? q{SELECT pg_sleep(0.2); SELECT comb_generate_ordered(), comb_snowflake() \gset
			SELECT string_agg(time_limit::text, ',' ORDER BY series) FROM comb_ordered_status()}
		: q{SELECT comb_ordered_reset(now());
			SELECT string_agg(time_limit::text, ',' ORDER BY series) FROM comb_ordered_status()}) =~ s/\s+/ /gr;
	s/^ +// foreach $limits;
	is($limits, $before, 'a reset that sets nothing back lowers no limit') if $before && $lease eq '100ms';
}

$node->stop;
done_testing();
