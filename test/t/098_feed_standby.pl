# Readers on a physical standby, by the recipes of doc/feed_readers.md, in the cases that
# the soak does not meet: a promotion while a query runs or a snapshot is kept, prepared
# transactions, and WAIT FOR.
use lib 'test/perl';
use CombTest;
use CombFeed;

my $beat    = 'UPDATE heartbeat SET bound = comb_settled()';
my $changed = changed_on_standby();

# Rows that change on a standby, as two evaluations of the bound would read them
my ($with) = $changed =~ /^(WITH b .*FROM heartbeat\))\n/s;
my $twice = $changed =~ s/^\Q$with\E\n//r =~ s/\(SELECT bound FROM b\)/($with SELECT bound FROM b)/gr;

my $primary = server('primary', init => [ allows_streaming => 1 ], conf => "autovacuum = off\nmax_prepared_transactions = 4\n",
	sql => 'CREATE EXTENSION pg_comb_ordered CASCADE;' . recipe('outbox') . q{
	CREATE TABLE item (id bigint PRIMARY KEY, name text);
	INSERT INTO item SELECT n, 'old' FROM generate_series(1, 20) AS n;} . recipe('changes') . recipe('heartbeat') x 2);
# Where a session has set feed.wait, its second look at the heartbeat waits for a lock.
$primary->safe_psql('postgres', q{
	CREATE SCHEMA slow;
	CREATE FUNCTION slow.second_waits() RETURNS boolean LANGUAGE plpgsql AS
	$$
	BEGIN
		PERFORM set_config('feed.looks', (current_setting('feed.looks')::int + 1)::text, false);
		IF current_setting('feed.looks') = '2' THEN PERFORM pg_advisory_lock_shared(1); END IF;
		RETURN true;
	END
	$$;
	CREATE VIEW slow.heartbeat AS SELECT * FROM public.heartbeat WHERE slow.second_waits()});
my $standby = standby($primary, 'standby');
my $has_wait = $primary->safe_psql('postgres', 'SHOW server_version_num') >= 190000;

my ($first, $second, $heart) = map { CombSession->new($primary, 'postgres', table => 'outbox') } 1 .. 3;
my ($reader, $old) = map { CombSession->new($standby, 'postgres', table => 'outbox', query => recipe('standby')) } 1 .. 2;
my ($item, $slow, $slow_twice) = map { CombFeed->new($standby, query => $_) } ($changed, $changed, $twice);

# Wait until the standby has replayed everything.
sub catch_up
{
	my ($lsn) = $second->ask('SELECT pg_current_wal_insert_lsn()');
	$second->ask('SELECT txid_current()');    # flushes the WAL
	$primary->wait_for_catchup($standby, 'replay', $lsn);
	return;
}

# One transaction has made its key, and another commits with a larger key.
sub cross
{
	$first->ask('BEGIN');
	$_->event foreach ($first, $second);
	return;
}

#
# The heartbeat
#
cross();
$heart->ask($beat);
catch_up();
is($reader->poll, 0, 'the heartbeat knows of the open transaction');
$first->ask('COMMIT');
catch_up();
is($reader->poll, 0, 'the next heartbeat');
$heart->ask($beat);
catch_up();
is($reader->poll, 2, 'lets both rows pass');
$_->reads_all('rows that change') foreach ($item, $slow, $slow_twice);

#
# From PostgreSQL 19 on, WAIT FOR
#
my $patient;
SKIP:
{
	skip 'WAIT FOR comes with PostgreSQL 19', 1 unless $has_wait;
	$standby->safe_psql('postgres', 'SELECT pg_wal_replay_pause()');
	$second->event;
	$patient = CombFetchingReader->new($standby, 'postgres', table => 'outbox', primary => $second,
		fetch => recipe('fetch'), query => recipe('wait'), wait => 1);
	is($patient->poll, 0, 'WAIT FOR: the standby is not there yet');
	my ($bound, $lsn) = split(/\|/, $second->ask(recipe('fetch')));
	$patient->send($patient->query =~ s/\$bound/'$bound'/r =~ s/\$lsn/$lsn/r =~ s/1s/1min/r);
	wait_until($standby, "SELECT wait_event = 'WaitForWalReplay' FROM pg_stat_activity WHERE pid = $patient->{pid}");
	$standby->safe_psql('postgres', 'SELECT pg_wal_replay_resume()');
	my ($out) = $patient->result;
	like($out, qr/^success\n/, 'WAIT FOR: the standby comes to the position');
	cmp_ok($patient->take($out =~ s/^success\n//r), '>', 0, 'and the reader gets the row');
	# The WAL of an open transaction is not flushed, and nobody else flushes it.
	$second->event;
	$first->ask("BEGIN; INSERT INTO outbox (body) VALUES ('open')");
	my $polls = 1;
	$polls++ until $patient->poll || $polls > 8;
	cmp_ok($polls, '<=', 8, 'WAIT FOR: does not wait for an open transaction');
	$first->ask('ROLLBACK');
	$patient->reads_all('WAIT FOR: and nothing is lost');
}

#
# The promotion: one transaction is prepared, one is open, and a reader keeps its
# snapshot.  Two readers of rows that change read while it happens.  A delete is below
# the heartbeat's bound and a later change, too.
#
$heart->ask('DELETE FROM item WHERE id = 1');
$heart->ask(q{UPDATE item SET name = 'changed' WHERE id = 2});
$first->ask('BEGIN');
$first->event;
$first->ask("PREPARE TRANSACTION 'p'");
$first->ask('BEGIN');
$_->event foreach ($first, $second);
$heart->ask($beat);
catch_up();
$old->ask('BEGIN ISOLATION LEVEL REPEATABLE READ');
cmp_ok($old->poll, '>', 0, 'a reader keeps its snapshot');
my $before = $old->{last};
$reader->poll;
is($reader->poll, 0, 'before the promotion');
my $holder = CombSession->new($standby);
$holder->ask('SELECT pg_advisory_lock(1)');
foreach my $each ($slow, $slow_twice)
{
	$each->ask(q{SET search_path = slow, public; SET feed.looks = 0});
	$each->send($each->query);
}
wait_until($standby, "SELECT EXISTS (SELECT FROM pg_locks WHERE pid = $slow_twice->{pid} AND NOT granted)");
$primary->stop('immediate');
$_->quit foreach ($first, $second, $heart);
$standby->promote;
wait_until($standby, 'SELECT NOT pg_is_in_recovery()');
$holder->ask('SELECT pg_advisory_unlock(1)');
foreach my $each ($slow, $slow_twice)
{
	my ($out, $err) = $each->result;
	is($err, '', 'a query that runs while the standby is promoted');
	$each->take($out);
	$each->ask('RESET search_path');
}
($first, $second) = map { CombSession->new($standby, 'postgres', table => 'outbox') } 1 .. 2;
cross();
is($old->poll, 0, 'the old snapshot knows nothing new');
is($reader->poll, 0, 'after the promotion, what is prepared holds the feed');
$second->ask("COMMIT PREPARED 'p'");
is($reader->poll, 2, 'then the rows from before come');
$first->ask('COMMIT');
$old->ask('COMMIT');
$reader->reads_all('the same query has read everything, in order');
is($old->{last}, $before, 'the reader with the old snapshot has not moved');
$old->reads_all('and has read everything now');
$_->reads_all('rows that change') foreach ($item, $slow);
$slow_twice->poll;
is($slow_twice->differences, '0 stale, 0 missing, 1 not deleted', 'two evaluations of the bound lose a delete');
is($patient->ask("WAIT FOR LSN 'F/0' WITH (NO_THROW)"), 'not in recovery', 'WAIT FOR tells of the promotion') if $has_wait;
done_testing();
