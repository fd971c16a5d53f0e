# Readers on a physical standby, by the recipes of doc/topologies.md, in the cases that
# the soak does not meet: prepared transactions at a promotion, and WAIT FOR while nobody
# else writes.
use lib 'test/perl';
use CombTest;
use CombFeed;

my $beat    = 'UPDATE heartbeat SET bound = comb_settled()';
my $primary = server('primary', init => [ allows_streaming => 1 ], conf => "autovacuum = off\nmax_prepared_transactions = 4\n",
	sql => 'CREATE EXTENSION pg_comb_ordered CASCADE;' . recipe('outbox') . q{
	CREATE TABLE item (id bigint PRIMARY KEY, name text);
	INSERT INTO item SELECT n, 'old' FROM generate_series(1, 20) AS n;} . recipe('changes') . recipe('heartbeat') x 2);
my $standby = standby($primary, 'standby');

my ($first, $second, $heart) = map { CombSession->new($primary, 'postgres', table => 'outbox') } 1 .. 3;
my $reader = CombSession->new($standby, 'postgres', table => 'outbox', query => recipe('standby'));
my $item = CombFeed->new($standby, query => changed_on_standby());

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
$item->reads_all('rows that change');
# In two looks the bound could be the heartbeat's before a promotion, and comb_settled() after it.
my @looks = $item->ask('EXPLAIN ' . $item->query) =~ / on heartbeat/g;
is(scalar(@looks), 1, 'both parts of the query have one bound');

# The procedure ends with its service, which is killed here
{
	my ($connstr, $beats) = ($primary->connstr('postgres'), q{FROM pg_stat_activity WHERE query = 'CALL beat()' AND state <> 'idle'});
	my $service = fork // die;
	if ($service == 0)
	{
		setpgrp;
		exec 'sh', '-c', recipe('heart') =~ s/host=one,two [^"]*/$connstr/r =~ s/psql/psql -Xq/r;
	}
	wait_until($primary, "SELECT count(*) = 1 $beats");
	kill KILL => -$service;
	waitpid $service, 0;
	ok($primary->poll_query_until('postgres', "SELECT count(*) = 0 $beats"), 'the heartbeat ends with its service');
}

#
# From PostgreSQL 19 on, WAIT FOR
#
SKIP:
{
	skip 'WAIT FOR comes with PostgreSQL 19', 1 if $primary->safe_psql('postgres', 'SHOW server_version_num') < 190000;
	my $patient = CombFetchingReader->new($standby, 'postgres', table => 'outbox', primary => $second,
		waiting_for_lsn());
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
# The promotion: one transaction is prepared, and one is open.
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
$reader->poll;
is($reader->poll, 0, 'before the promotion');
$primary->stop('immediate');
$_->quit foreach ($first, $second, $heart);
$standby->promote;
($first, $second) = map { CombSession->new($standby, 'postgres', table => 'outbox') } 1 .. 2;
cross();
is($reader->poll, 0, 'after the promotion, what is prepared holds the feed');
$second->ask("COMMIT PREPARED 'p'");
is($reader->poll, 2, 'then the rows from before come');
$first->ask('COMMIT');
$reader->reads_all('the same query has read everything, in order');
$item->reads_all('rows that change');
done_testing();
