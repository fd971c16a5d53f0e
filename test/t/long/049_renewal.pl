# Limits are renewed when half of a lease is used, and nobody waits for the disk.  A
# crash between the writing of a limit and its flush takes no key back.
use lib 'test/perl';
use CombSession;
use CombTest;

need_faketime();

# Nothing but the WAL writer flushes the WAL of transactions that write no rows, and
# nothing but the module's sessions locks the pages of the limits.
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
		-- behind a record that fills a page, this is behind the next page's header, which nobody flushes
		lsn := lsn - CASE (lsn - '0/0') % current_setting('wal_block_size')::int WHEN 24 THEN 24 WHEN 40 THEN 40 ELSE 0 END;
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
my ($holder, $renewer) = map { CombSession->new($node) } 1 .. 2;
$renewer->ask("SET lock_timeout = '100ms'; $make");
my $limit = $renewer->ask('SELECT last_value FROM comb_internal.comb_lease_ordered');
$holder->ask("BEGIN; ALTER SEQUENCE comb_internal.comb_lease_ordered OWNED BY NONE;
	ALTER SEQUENCE comb_internal.comb_lease_snowflake OWNED BY NONE");
is($renewer->complaints("SELECT wait_until($limit - 2200000); $make"), '', 'a session whose limit is locked goes on under its lease');
$_->quit foreach ($holder, $renewer);

#
# Crashes.  The WAL writer is stopped, so only the sessions flush the WAL.  A session
# renews both limits, in memory only.  Then it goes on beyond the old limits itself, or a
# session that starts now relies on the new ones.
#
foreach my $who ('the session', 'a new session')
{
	$node->stop;
	$node->append_conf('postgresql.conf', 'pg_comb.lease_duration = 5s');
	start_at($node);
	wait_until($node, q{SELECT wait_event = 'WalWriterMain' FROM pg_stat_activity WHERE backend_type = 'walwriter'});
	my $walwriter = $node->safe_psql('postgres', q{SELECT pid FROM pg_stat_activity WHERE backend_type = 'walwriter'});
	kill 'STOP', $walwriter;

	# Both leases begin together: after the start, the counters may be ahead of the clock.
	my @sessions = CombSession->new($node);
	$sessions[0]->ask("BEGIN; $make; SELECT wait_until(greatest(ordered, snowflake)) FROM (SELECT $limits) AS now; $make");
	my @before = split(/\|/, $sessions[0]->ask("SELECT $limits"));
	$sessions[0]->ask("SELECT wait_until($before[0] - 2200000); $make");
	is($sessions[0]->ask("SELECT ordered > $before[0] AND snowflake > $before[1],
		pg_current_wal_flush_lsn() < pg_current_wal_insert_lsn() FROM (SELECT $limits) AS now"),
		't|t', 'limits are written, and not flushed');
	if ($who eq 'a new session')
	{
		push @sessions, CombSession->new($node);
		my $flushed = $sessions[1]->ask('SELECT pg_current_wal_flush_lsn()');
		$sessions[1]->ask($make);
		is($sessions[1]->ask("SELECT pg_current_wal_flush_lsn() > '$flushed'"), 't', 'a new session flushes the limit that it reads');
	}
	my ($last_key, $last_id) = split(/\|/, $sessions[-1]->ask("DO 'BEGIN PERFORM wait_until($before[0] + 10000); END'; $make"));
	crash($node);
	kill 'KILL', $walwriter;
	$_->quit foreach @sessions;

	# The next start is not far ahead of the clock, which is an hour back.
	$node->append_conf('postgresql.conf', 'pg_comb.lease_duration = 100ms');
	start_at($node, '-1h');
	my @found = ask($node, 'postgres', "SELECT $limits");
	ok($found[0] > $before[0] && $found[1] > $before[1], "$who goes beyond the old limits: a crash leaves the new ones");
	my ($key, $id) = ask($node, 'postgres', $make);
	ok($key gt $last_key && $id > $last_id, 'and new keys are larger');
}

done_testing();
