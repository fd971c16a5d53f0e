# Crashes under load, each with the clock set back: every new key is larger than
# every key that was committed or shown to a client
use lib 'test/perl';
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
	my ($round) = @_;
	my $shown_file = "$dir/shown$round";
	my $load = IPC::Run::start(
		[
			'pgbench', '-n', '-c', '4', '-j', '2', '-T', '60', '-M', 'prepared',
			'-f', "$dir/load.sql", $node->connstr('postgres')
		],
		'>', "$dir/load.out", '2>', "$dir/load.err");
	my $shown = background($node, 'postgres',
		"BEGIN;\n$make, pg_sleep(0.001) FROM generate_series(1, 1000000);\n",
		$shown_file);

	# wait until both kinds of sessions have made keys
	my $rows = $node->safe_psql('postgres', 'SELECT count(*) FROM made');
	wait_until($node, "SELECT count(*) > $rows + 500 FROM made", 'the load does not run');
	shown_in($shown_file, qr/(.+\n){20}/);
	crash($node);
	finish_background($load);
	finish_background($shown);

	my @lines = grep { /^[0-9a-f-]{36}\|\d{18,}\|$/ } split(/\n/, slurp_file($shown_file));
	cmp_ok(scalar(@lines), '>', 10, 'a client saw keys before the crash');
	my ($key, $id) = split(/\|/, $lines[-1]);
	return [ $key, $id ];
}

append_to_file("$dir/load.sql", "INSERT INTO made DEFAULT VALUES;\n");

my $shown = crash_under_load(1);
start_at($node, '-12h');
my ($key, $id) = larger('twelve hours back', $shown);
is( $node->safe_psql(
		'postgres', q{
		SELECT bool_and(ahead BETWEEN '11:59' AND '12:01') FROM comb_ordered_status()}),
	't', 'the status shows how far ahead of the clock they are');

# The same again, with the keys twelve hours ahead: now they are 23 hours ahead of
# the clock, which is within the default drift of a day.
my $again = crash_under_load(2);
start_at($node, '-23h');
($key, $id) = larger('another eleven hours back', $shown, $again);

#
# A week back is more than pg_comb.max_ordered_drift
#
$node->stop;
start_at($node, '-7d');
foreach my $function ('comb_generate_ordered()', 'comb_snowflake()')
{
	my $error = error_of($node, 'postgres', "SELECT $function");
	like($error, qr/ERROR:  55000: keys were made in this database under a clock too far ahead/,
		"$function a week back: refused");
	like($error, qr/DETAIL:  They can have times up to [^;]*; "pg_comb.max_ordered_drift" allows keys to be 86400 s ahead\./,
		'the detail has times and limit');
	like($error, qr/HINT:  Correct the server's clock, raise "pg_comb.max_ordered_drift", or have comb_ordered_reset\(\) called/,
		'the hint has three ways out');
}
is( $node->safe_psql(
		'postgres', q{SELECT comb_timestamp(comb_generate()) - clock_timestamp() BETWEEN '-1 min' AND '0'}),
	't', 'comb_generate() still works');
configure($node, "pg_comb.max_ordered_drift = '10d'");
($key, $id) = larger('a week back, drift allowed', $shown, $again, [ $key, $id ]);

# with the drift lowered again, keys are refused
configure($node, "pg_comb.max_ordered_drift = '1d'");
like(error_of($node, 'postgres', "SELECT comb_generate_ordered()"),
	qr/ERROR:  55000: the next key would be too far ahead of the clock/,
	'with the drift lowered, refused again');

# the clock is right again
$node->stop;
start_at($node);
($key, $id) = larger('the clock put right', $shown, $again, [ $key, $id ]);

#
# A crash after the step of the shared counter and before the session writes the
# lease.  A session makes a key, and waits until its lease has ended.  Another
# session then locks the sequence, by an ALTER SEQUENCE that does not commit.  When
# the first session asks for one more key, it stops exactly at this point.
#
sub stop_at_lease
{
	my ($function, $time, $line, $shift) = @_;
	my $sequence = "comb_internal.comb_lease_$line";
	my $holder   = background($node, 'postgres', qq{
		BEGIN;
		SELECT pg_advisory_lock(1);
		DO \$\$ BEGIN
			WHILE NOT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted) LOOP
				PERFORM pg_sleep(0.01);
			END LOOP;
		END \$\$;
		ALTER SEQUENCE $sequence OWNED BY NONE;
		SELECT pg_sleep(0.3);
		SELECT pg_advisory_unlock(1);
		SELECT pg_sleep(60);
	}, "$dir/holder");
	wait_until($node, q{SELECT count(*) = 1 FROM pg_locks WHERE locktype = 'advisory'}, 'the holder does not start');
	my $maker = background($node, 'postgres',
		"SELECT $function;\nSELECT pg_advisory_lock(1);\nSELECT $function;\n", "$dir/maker");
	wait_until($node, "SELECT count(*) = 1 FROM pg_locks
		 WHERE relation = '$sequence'::regclass AND mode = 'RowExclusiveLock' AND NOT granted", 'no session waits for the lease');
	my ($first) = split(/\n/, slurp_file("$dir/maker"));
	is( $node->safe_psql(
			'postgres', "SELECT last >= $time('$first') + interval '0.2 s' FROM comb_ordered_status() WHERE series = '$line'"),
		't', "$function: the step is made");
	crash($node);
	finish_background($maker);
	finish_background($holder);
	is(slurp_file("$dir/maker"), "$first\n\n", "$function: its key is not shown");
	start_at($node, $shift);
	return;
}

stop_at_lease('comb_generate_ordered()', 'comb_timestamp', 'ordered', '-1h');
($key, $id) = larger('crash at the lease', [ $key, $id ]);
# the clock must be right: while keys are ahead of the clock, waiting does not end
# a lease
$node->stop;
start_at($node);
stop_at_lease('comb_snowflake()', 'comb_snowflake_timestamp', 'snowflake', '-2h');
($key, $id) = larger('crash at the lease of Snowflakes', [ $key, $id ]);

#
# Keys of the only session, which does not commit: no other session has flushed the
# WAL of the lease
#
$node->stop;
start_at($node);
my $alone = background($node, 'postgres',
	"BEGIN;\n$make FROM generate_series(1, 10);\nSELECT pg_sleep(60);\n", "$dir/alone");
my ($alone_key, $alone_id) = split(/\|/, (split(/\n/, shown_in("$dir/alone", qr/(.+\n){10}/)))[9]);
crash($node);
finish_background($alone);
start_at($node, '-1h');
($key, $id) = larger('crash of an idle server', [ $key, $id ], [ $alone_key, $alone_id ]);

#
# A killed backend makes the server start again with new shared memory
#
my $victim = background($node, 'postgres', "$make;\nSELECT pg_backend_pid();\nSELECT pg_sleep(60);\n", "$dir/victim");
my ($line, $pid) = split(/\n/, shown_in("$dir/victim", qr/^\d+$/m));
kill 'KILL', $pid;
finish_background($victim);
wait_for_server($node);
larger('crash of a backend', [ $key, $id ], [ split(/\|/, $line) ]);

done_testing();
