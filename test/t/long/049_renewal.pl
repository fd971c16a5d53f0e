# Limits are renewed when half of a lease is used, and nobody waits for the disk.  A
# crash between the writing of a limit and its flush takes no key back.
use lib 'test/perl';
use CombTest;

need_faketime();

# Nothing but the WAL writer flushes the WAL of transactions that write no rows, and
# nothing but the module's sessions locks the pages of the limits.
my $dir  = tempdir();
my $node = server('main', clock => undef, conf => q{
autovacuum = off
checkpoint_timeout = 1d
bgwriter_lru_maxpages = 0
wal_level = minimal
max_wal_senders = 0
pg_comb.snowflake_instance = 5
pg_comb.lease_duration = 1s
});
my @databases = ('postgres', 'other');
my $make      = 'SELECT comb_generate_ordered(), comb_snowflake()';
my $limits = q{(SELECT last_value FROM comb_internal.comb_lease_ordered) AS ordered,
	(SELECT last_value FROM comb_internal.comb_lease_snowflake) AS snowflake};
$node->safe_psql('postgres', 'CREATE DATABASE other');
$node->safe_psql(
	$_, q{
	CREATE EXTENSION pg_comb_ordered CASCADE;
	-- sleep until the clock has reached a time in microseconds since 1970
	CREATE FUNCTION wait_until(us bigint) RETURNS void LANGUAGE sql AS
		'SELECT pg_sleep(greatest(0, us / 1000000.0 - extract(epoch FROM clock_timestamp())::numeric)::float8)'})
  for @databases;

# Count the records of limits that a piece of the test writes.
sub records
{
	my ($code) = @_;
	my $start = $node->lsn('insert');
	$code->();
	# flushes the WAL
	$node->safe_psql('postgres', 'SELECT txid_current()');
	my ($out) = run_command(
		[
			'pg_waldump', '--rmgr=Generic', '--start', $start, '--end', $node->lsn('flush'),
			'--path', $node->data_dir . '/pg_wal'
		]);
	return scalar(() = $out =~ /^rmgr: Generic/mg);
}

#
# When limits are written
#

# The only session renews a limit with the first key in the second half of the lease.
my @ahead = split(/\n/, $node->safe_psql(
		'postgres', q{
		SELECT CASE WHEN comb_generate_ordered() IS NOT NULL AND comb_snowflake() > 0 AND pg_sleep(0.01) IS NOT NULL THEN
			(SELECT string_agg(extract(epoch FROM (status).reserved_until - (status).last)::text, ' ')
			 FROM (SELECT comb_ordered_status() AS status WHERE n > 0 OFFSET 0) s) END
		FROM generate_series(1, 250) n}));
my @seconds = sort { $a <=> $b } map { split(/ /) } @ahead;
is(scalar(@seconds), 500, 'keys for some leases');
cmp_ok($seconds[0],  '>=', 0.5,      'at least half a lease is left after each key');
cmp_ok($seconds[-1], '<=', 1.000001, 'and at most a lease');

# Eight sessions write as many records as one session would.
my $started = time();
my $records = records(sub {
	$node->pgbench('-n -c 8 -j 2 -T 4', 0, [qr{number of failed transactions: 0|processed}],
		[qr{^$}], 'eight sessions make keys', { '049_make' => "$make FROM generate_series(1, 1000);" });
});
my $most = 2 * (2 * (time() - $started + 1) + 1);
cmp_ok($records, '>=', 2 * 4,  'eight sessions renew both limits');
cmp_ok($records, '<=', $most, 'at most twice for each lease');

# A session whose keys are further apart than a lease writes a limit for each key.  The
# last lease of the eight sessions ends first.
configure($node, 'pg_comb.lease_duration = 100ms');
$node->safe_psql('postgres', 'SELECT pg_sleep(1.1)');
is(records(sub { $node->safe_psql('postgres', ('SELECT comb_generate_ordered(), pg_sleep(0.3);') x 5 . 'SELECT pg_sleep(1)') }),
	5, 'nobody renews the limit of an idle server');
configure($node, 'pg_comb.lease_duration = 5s');

# The WAL writer flushes the record, while the transaction is still open.
my ($written, $flushed) = ask($node, 'postgres', q{
	DO $$
	DECLARE
		lsn pg_lsn; before bigint; after bigint; tries int := 0;
	BEGIN
		PERFORM comb_generate_ordered();
		SELECT last_value FROM comb_internal.comb_lease_ordered INTO before;
		PERFORM pg_sleep(2.9), comb_generate_ordered();
		lsn := pg_current_wal_insert_lsn();
		SELECT last_value FROM comb_internal.comb_lease_ordered INTO after;
		WHILE pg_current_wal_flush_lsn() < lsn AND tries < 100 LOOP
			PERFORM pg_sleep(0.1);
			tries := tries + 1;
		END LOOP;
		PERFORM set_config('my.result', (after > before) || '|' || (tries < 100), false);
	END $$;
	SELECT current_setting('my.result')});
is($written, 'true', 'a key in the second half of the lease renews the limit');
is($flushed, 'true', 'and the WAL writer brings the record to disk');

# The renewal does not wait for a lock.
my $holder = background($node, 'postgres', qq{
	SET application_name = 'holder';
	SELECT pg_sleep(2);
	BEGIN;
	ALTER SEQUENCE comb_internal.comb_lease_ordered OWNED BY NONE;
	ALTER SEQUENCE comb_internal.comb_lease_snowflake OWNED BY NONE;
	SELECT 'locked';
	SELECT pg_sleep(60);
}, "$dir/holder");
my $renewer = background($node, 'postgres', qq{
	SET lock_timeout = '100ms';
	$make;
	SELECT $limits \\gset
	SELECT wait_until(:ordered - 2200000);
	$make;
	SELECT 'made';
}, "$dir/renewer");
shown_in("$dir/holder",  qr/^locked$/m);
shown_in("$dir/renewer", qr/^made$/m);
finish_background($renewer);
is(slurp_file("$dir/renewer.err"), '', 'a session whose limit is locked goes on under its lease');
$node->safe_psql('postgres', q{SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'holder'});
finish_background($holder);

#
# Crashes.  The WAL writer is stopped, so only the sessions flush the WAL.
#

my $walwriter;

sub start_without_walwriter
{
	$node->stop if $node->{_pid};
	$node->append_conf('postgresql.conf', 'pg_comb.lease_duration = 5s');
	start_at($node);
	wait_until($node, q{SELECT wait_event = 'WalWriterMain' FROM pg_stat_activity WHERE backend_type = 'walwriter'});
	$walwriter = $node->safe_psql('postgres', q{SELECT pid FROM pg_stat_activity WHERE backend_type = 'walwriter'});
	kill 'STOP', $walwriter;
	return;
}

# Crash, and start with the clock an hour back.  Return the limits found by database.
sub crash_and_look
{
	my (@runs) = @_;
	crash($node);
	kill 'KILL', $walwriter;
	finish_background($_) foreach @runs;
	# the next start is not far ahead of the clock
	$node->append_conf('postgresql.conf', 'pg_comb.lease_duration = 100ms');
	start_at($node, '-1h');
	return map { ($_ => [ ask($node, $_, "SELECT $limits") ]) } @databases;
}

# The keys and ids in the output of a background psql, the largest of each last
sub shown
{
	my ($file) = @_;
	my @lines = map { [ split(/\|/) ] } grep { /^[0-9a-f-]{36}\|\d{18,}$/ } split(/\n/, slurp_file($file));
	my @rising = grep { $lines[$_][0] gt $lines[ $_ - 1 ][0] && $lines[$_][1] > $lines[ $_ - 1 ][1] } 1 .. $#lines;
	is(scalar(@rising), $#lines, "$file: keys rise");
	return @{ $lines[-1] };
}

sub larger
{
	my ($database, $name, @last) = @_;
	my ($key, $id) = ask($node, $database, $make);
	ok($key gt $last[0] && $id > $last[1], "$name, $database: new keys are larger");
	return;
}

# Start a session in each database that makes keys, renews both limits in the second
# half of the lease, and then runs a script.  Return the runs by database.  Both leases
# begin together: after the start, the counters may be ahead of the clock.
my $scene = 0;

sub renew_in_all
{
	my ($script) = @_;
	$scene++;
	start_without_walwriter();
	return map {
		$_ => background($node, $_, qq{
			BEGIN;
			$make;
			SELECT wait_until(greatest(ordered, snowflake)) FROM (SELECT $limits) AS now;
			$make;
			SELECT $limits \\gset
			SELECT wait_until(:ordered - 2200000);
			$make;
			SELECT 'limits', :ordered, :snowflake;
			SELECT 'renewed', ordered > :ordered AND snowflake > :snowflake, pg_current_wal_flush_lsn() < pg_current_wal_insert_lsn()
			FROM (SELECT $limits) AS now;
			$make;
			$script;
			SELECT 'done';
			SELECT pg_sleep(60);
		}, "$dir/$_$scene")
	} @databases;
}

sub limits_before
{
	my ($database) = @_;
	my (undef, @before) = split(/\|/, (grep { /^limits/ } split(/\n/, slurp_file("$dir/$database$scene")))[0]);
	return @before;
}

# A new limit is in memory only
my %run = renew_in_all('');
like(shown_in("$dir/$_$scene", qr/^done$/m), qr/^renewed\|t\|t$/m, "$_: limits are written, and not flushed") foreach @databases;
my %found = crash_and_look(values %run);
foreach my $database (@databases)
{
	is("@{ $found{$database} }", join(' ', limits_before($database)), "$database: the crash leaves the old limits");
	larger($database, 'a crash before the flush', shown("$dir/$database$scene"));
}

# The session that wrote the limit goes on beyond the old limit
%run = renew_in_all("SELECT wait_until(:ordered + 10000); $make");
shown_in("$dir/$_$scene", qr/^done$/m) foreach @databases;
%found = crash_and_look(values %run);
foreach my $database (@databases)
{
	my @before = limits_before($database);
	ok($found{$database}[0] > $before[0] && $found{$database}[1] > $before[1], "$database: the crash leaves the new limits");
	larger($database, 'a crash beyond the old limit', shown("$dir/$database$scene"));
}

# A session that starts then flushes the new limit, and relies on it
%run = renew_in_all('');
shown_in("$dir/$_$scene", qr/^done$/m) foreach @databases;
foreach my $database (@databases)
{
	my @before = limits_before($database);
	$run{"new $database"} = background($node, $database, qq{
		SELECT pg_current_wal_flush_lsn() AS flushed \\gset
		$make;
		SELECT 'flushed', pg_current_wal_flush_lsn() > :'flushed';
		SELECT wait_until($before[0] + 10000);
		$make;
		SELECT 'done';
		SELECT pg_sleep(60);
	}, "$dir/new$database$scene");
	# The WAL is all databases': the next session must not flush it before this one.
	shown_in("$dir/new$database$scene", qr/^flushed/m);
}
shown_in("$dir/new$_$scene", qr/^done$/m) foreach @databases;
like(slurp_file("$dir/new$databases[0]$scene"), qr/^flushed\|t$/m, 'a new session flushes the limit that it reads');
crash_and_look(values %run);
larger($_, 'a crash of a new session', shown("$dir/new$_$scene")) foreach @databases;

# Somebody raises a limit, and a reader's bound is beyond that limit
start_without_walwriter();
my $setter = background($node, 'postgres', q{
	BEGIN;
	SELECT setval('comb_internal.comb_lease_ordered', last_value + 3000000) AS raised FROM comb_internal.comb_lease_ordered;
	SELECT 'done';
	SELECT pg_sleep(60);
}, "$dir/setter");
my ($raised) = split(/\n/, shown_in("$dir/setter", qr/^done$/m));
my ($settled) = ask($node, 'postgres', 'SELECT comb_settled()');
is($node->safe_psql('postgres', "SELECT comb_timestamp('$settled') > to_timestamp($raised / 1000000.0) - interval '1 s'"), 't',
	'a bound beyond a limit that is not committed');
%found = crash_and_look($setter);
cmp_ok($found{postgres}[0], '>=', $raised, 'the limit is on disk');
cmp_ok((ask($node, 'postgres', 'SELECT comb_generate_ordered()'))[0], 'gt', $settled, 'and keys after a crash are beyond the bound');

#
# The clock is set back and forward between the writing of a limit and its use
#
$node->stop;
my $clock = $node->data_dir . '/clock';
$node->append_conf('postgresql.conf', 'pg_comb.lease_duration = 5s');
start_with_clock($node, $clock);
my $set_clock = sub { "COPY (SELECT '$_[0]') TO PROGRAM 'cat >$clock.new && mv $clock.new $clock';" };
my ($rc, $out, $err) = $node->psql(
	'postgres', qq{
	$make;
	SELECT wait_until(greatest(ordered, snowflake)) FROM (SELECT $limits) AS now;
	$make;
	SELECT $limits \\gset
	SELECT wait_until(:ordered - 2200000);
	$make;
	SELECT 'renewed', ordered > :ordered AND snowflake > :snowflake FROM (SELECT $limits) AS now;
	@{[ $set_clock->('-36000') ]}
	$make FROM generate_series(1, 1000);
	@{[ $set_clock->('+1') ]}
	$make FROM generate_series(1, 1000);
	@{[ $set_clock->('+36000') ]}
	$make FROM generate_series(1, 1000);
	@{[ $set_clock->('-3600') ]}
	$make FROM generate_series(1, 1000);
});
append_to_file("$dir/clock", $out);
like($out, qr/^renewed\|t$/m, 'the clock moves after a limit was written');
is(scalar(() = $out =~ /^[0-9a-f-]{36}\|/mg), 4003, 'keys are made all the time');
my @last = shown("$dir/clock");
crash($node);
start_at($node, '-1h');
larger('postgres', 'a crash after that', @last);

done_testing();
