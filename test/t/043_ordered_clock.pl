# The clock is far ahead for a while, in a running server and across a restart.
# comb_ordered_reset() and a restart then bring each database back to the right time.
use lib 'test/perl';
use CombTest;

need_faketime();

my $node = server('main', conf => q{
autovacuum = off
checkpoint_timeout = 1d
pg_comb.snowflake_instance = 5
pg_comb.lease_duration = 100ms
});
foreach my $database ('one', 'two', 'three')
{
	$node->safe_psql('postgres', "CREATE DATABASE $database");
	$node->safe_psql(
		$database, q{
		CREATE EXTENSION pg_comb_ordered CASCADE;
		CREATE TABLE made (n serial, key uuid PRIMARY KEY DEFAULT comb_generate_ordered(),
		                   id bigint UNIQUE DEFAULT comb_snowflake())});
	rises('at first', $database);
}
my @functions = ('comb_generate_ordered()', 'comb_snowflake()');

# Make rows in a database, and look whether the keys of all rows, or of those with this
# condition, rise.
sub rises
{
	my ($name, $database, $where) = @_;
	$where //= 'true';
	is($node->safe_psql($database, qq{INSERT INTO made SELECT FROM generate_series(1, 100);
			SELECT count(*) FROM (SELECT key, id, lag(key) OVER w AS key_before, lag(id) OVER w AS id_before
				FROM made WHERE $where WINDOW w AS (ORDER BY n)) lagged
			WHERE key <= key_before OR id <= id_before}),
		'0', "$name, keys are made in database $database, and rise");
	return;
}

sub restart_at
{
	my ($shift) = @_;
	$node->stop;
	start_at($node, $shift);
	return;
}

#
# Two years ahead, in databases one and two
#
restart_at('+730d');
rises('two years ahead', $_) foreach 'one', 'two';

#
# The clock is right again: databases one and two refuse keys, database three does not
#
restart_at();
rises('the clock put right', 'three');
foreach my $database ('one', 'two')
{
	foreach my $function (@functions)
	{
		my $error = error_of($node, $database, "SELECT $function");
		like($error, qr/ERROR:  55000: keys were made in this database under a clock too far ahead/,
			"the clock put right, database $database: $function is refused");
		like($error, qr/HINT: .* or have comb_ordered_reset\(\) called in this database and restart the server\./, 'with a hint');
	}
}
rises('while others make none', 'three');
is( $node->safe_psql('three', q{SELECT bool_and(ahead < '1 s') FROM comb_ordered_status()}),
	't', 'whose clock for keys is not ahead');

# a session of database three makes keys while other databases reset
my $dir    = tempdir();
my $beside = background($node, 'three', q{
	DO $$
	DECLARE
		key uuid; key_before uuid; id bigint; id_before bigint; made int := 0;
	BEGIN
		RAISE NOTICE 'running';
		WHILE NOT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory') LOOP
			FOR i IN 1 .. 100 LOOP
				key := comb_generate_ordered();
				id := comb_snowflake();
				IF key <= key_before OR id <= id_before THEN
					RAISE EXCEPTION 'not larger than the one before';
				END IF;
				key_before := key;
				id_before := id;
				made := made + 1;
			END LOOP;
		END LOOP;
		RAISE NOTICE 'done with %', made > 100;
	END $$;
}, "$dir/beside");
shown_in("$dir/beside.err", qr/running/);

$node->safe_psql('one', q{SELECT comb_ordered_reset('-infinity')});
like(error_of($node, 'one', "SELECT $functions[0]"), qr/ERROR:  55000: the limits of this database were reset/, 'a reset needs a restart');
like(error_of($node, 'two', "SELECT $functions[0]"), qr/ERROR:  55000: keys were made/, 'another database has to be reset itself');
$node->safe_psql('two', q{SELECT comb_ordered_reset(now() + interval '1 second')});

my $stop = background($node, 'three', "SELECT pg_advisory_lock(1);\nSELECT pg_sleep(60);\n", "$dir/stop");
shown_in("$dir/beside.err", qr/done with t/);
finish_background($beside);
$node->safe_psql('three', q{SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory'});
finish_background($stop);
pass('a session of another database was not disturbed');

restart_at();
rises('after the restart', $_, 'n > 200') foreach 'one', 'two';
is( $node->safe_psql(
		'one', q{
		SELECT bool_and(comb_timestamp(key) < clock_timestamp() + interval '1 minute'
		                AND comb_snowflake_timestamp(id) < clock_timestamp() + interval '1 minute')
		FROM made WHERE n > 200}),
	't', 'with the time of the clock');
# the new limits hold after a crash and restart too
$node->stop('immediate');
start_at($node, '-1h');
rises('after a crash with the clock an hour back', $_, $_ eq 'three' ? 'true' : 'n > 200') foreach 'one', 'two', 'three';

#
# A clock fifty years ahead is refused at once as broken
#
SKIP:
{
	skip 'the clock of this machine ends in 2038', 2 * @functions + 2 if clock_ends_in_2038();

	restart_at('+18262d');
	foreach my $function (@functions)
	{
		my $error = error_of($node, 'three', "SELECT $function");
		like($error, qr/ERROR:  55000: the clock is more than ten years ahead of the last key/, "fifty years ahead: $function is refused");
		like($error, qr/HINT:  Correct the server's clock, or have comb_ordered_reset\(\) called and restart the server if the clock is right\./, 'with a hint');
	}
	restart_at();
	rises('after that', 'three');

	# If the clock is right (the database was unused for years), a reset confirms it
	restart_at('+18262d');
	$node->safe_psql('three', 'SELECT comb_ordered_reset(now())');
	restart_at('+18262d');
	rises('after the reset', 'three');
}

#
# The clock moves under a running session
#
my $shift = $node->data_dir . '/clock';
$node->stop;
start_with_clock($node, $shift);
my ($rc, $out, $err) = $node->psql(
	'one', qq{
	@{[ clock_function($shift) ]}
	DELETE FROM made;
	INSERT INTO made DEFAULT VALUES;
	SELECT set_clock('-36000') < (SELECT comb_timestamp(max(key::text)::uuid) FROM made);
	INSERT INTO made SELECT FROM generate_series(1, 100);
	SELECT set_clock('+36000') > (SELECT comb_timestamp(max(key::text)::uuid) FROM made);
	INSERT INTO made SELECT FROM generate_series(1, 100);
	SELECT set_clock('-36000') < (SELECT comb_timestamp(max(key::text)::uuid) FROM made);
	INSERT INTO made SELECT FROM generate_series(1, 100);
	-- now the clock is 30 hours behind the keys
	SELECT set_clock('-72000') IS NOT NULL;
	INSERT INTO made DEFAULT VALUES;
	SELECT set_clock('+0') IS NOT NULL;
	INSERT INTO made SELECT FROM generate_series(1, 100);
	SELECT bool_and(ahead BETWEEN '9:59' AND '10:01') FROM comb_ordered_status();
}, on_error_stop => 0);
is($out, "t\nt\nt\nt\nt\nt", 'the clock went back and forth');
like($err, qr/ERROR:  the next key would be too far ahead of the clock.*HINT:  Correct the server's clock, raise "pg_comb.max_ordered_drift", or have comb_ordered_reset\(\) called/s,
	'and was too far back once');
rises('after all that', 'one');

done_testing();
