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
my $make   = 'SELECT comb_generate_ordered(), comb_snowflake()';
my $limits = q{(SELECT last_value FROM comb_internal.comb_lease_ordered) AS ordered,
	(SELECT last_value FROM comb_internal.comb_lease_snowflake) AS snowflake};
$node->safe_psql('postgres', q{
	CREATE EXTENSION pg_comb_ordered CASCADE;
	-- sleep until the clock has reached a time in microseconds since 1970
	CREATE FUNCTION wait_until(us bigint) RETURNS void LANGUAGE sql AS
		'SELECT pg_sleep(greatest(0, us / 1000000.0 - extract(epoch FROM clock_timestamp())::numeric)::float8)'});

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
my $start = $node->lsn('insert');
$node->pgbench('-n -c 8 -j 2 -T 4', 0, [qr{number of failed transactions: 0|processed}],
	[qr{^$}], 'eight sessions make keys', { '049_make' => "$make FROM generate_series(1, 1000);" });
# flushes the WAL
$node->safe_psql('postgres', 'SELECT txid_current()');
my ($out) = run_command(
	[
		'pg_waldump', '--rmgr=Generic', '--start', $start, '--end', $node->lsn('flush'),
		'--path', $node->data_dir . '/pg_wal'
	]);
my $records = () = $out =~ /^rmgr: Generic/mg;
my $most = 2 * (2 * (time() - $started + 1) + 1);
cmp_ok($records, '>=', 2 * 4,  'eight sessions renew both limits');
cmp_ok($records, '<=', $most, 'at most twice for each lease');

# The last lease of the eight sessions ends before the next key.
configure($node, 'pg_comb.lease_duration = 5s');
$node->safe_psql('postgres', 'SELECT pg_sleep(1.1)');

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
# Crashes.  The WAL writer is stopped, so only the sessions flush the WAL.  A session
# renews both limits, in memory only.  Then it goes on beyond the old limits itself, or a
# session that starts now relies on the new ones.
#
foreach my $who ('the session', 'a new session')
{
	my $beyond = $who eq 'the session' ? "SELECT wait_until(:ordered + 10000);\n$make;" : '';
	$node->stop;
	$node->append_conf('postgresql.conf', 'pg_comb.lease_duration = 5s');
	start_at($node);
	wait_until($node, q{SELECT wait_event = 'WalWriterMain' FROM pg_stat_activity WHERE backend_type = 'walwriter'});
	my $walwriter = $node->safe_psql('postgres', q{SELECT pid FROM pg_stat_activity WHERE backend_type = 'walwriter'});
	kill 'STOP', $walwriter;

	# Both leases begin together: after the start, the counters may be ahead of the clock.
	my @runs = background($node, 'postgres', qq{
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
		$beyond
		SELECT 'done';
		SELECT pg_sleep(60);
	}, "$dir/session$who");
	my $shown = shown_in("$dir/session$who", qr/^done$/m);
	like($shown, qr/^renewed\|t\|t$/m, 'limits are written, and not flushed');
	my @before = $shown =~ /^limits\|(\d+)\|(\d+)$/m;
	if ($who eq 'a new session')
	{
		push @runs, background($node, 'postgres', qq{
			SELECT pg_current_wal_flush_lsn() AS flushed \\gset
			$make;
			SELECT 'flushed', pg_current_wal_flush_lsn() > :'flushed';
			SELECT wait_until($before[0] + 10000);
			$make;
			SELECT 'done';
			SELECT pg_sleep(60);
		}, "$dir/new");
		$shown = shown_in("$dir/new", qr/^done$/m);
		like($shown, qr/^flushed\|t$/m, 'a new session flushes the limit that it reads');
	}
	crash($node);
	kill 'KILL', $walwriter;
	finish_background($_) foreach @runs;

	# The next start is not far ahead of the clock, which is an hour back.
	$node->append_conf('postgresql.conf', 'pg_comb.lease_duration = 100ms');
	start_at($node, '-1h');
	my @found = ask($node, 'postgres', "SELECT $limits");
	ok($found[0] > $before[0] && $found[1] > $before[1], "$who goes beyond the old limits: a crash leaves the new ones");
	my @last = (map { [ split(/\|/) ] } $shown =~ /^([0-9a-f-]{36}\|\d{18,})$/mg)[-1]->@*;
	my ($key, $id) = ask($node, 'postgres', $make);
	ok($key gt $last[0] && $id > $last[1], 'and new keys are larger');
}

done_testing();
