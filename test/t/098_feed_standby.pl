# Readers on a physical standby, by the recipes of doc/feed_readers.md: a heartbeat,
# before and after a promotion, and from PostgreSQL 19 on WAIT FOR.
use strict;
use warnings;

use FindBin qw($RealBin);
use lib "$RealBin/../perl";
use CombFeed;
use CombSession;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

my ($heartbeat, $query, $fetch, $wait) = recipes('On a physical standby');
my $beat = 'UPDATE heartbeat SET bound = comb_settled()';
like($heartbeat, qr/\Q$beat\E/, 'this is what the heart does');

my $primary = PostgreSQL::Test::Cluster->new('primary');
$primary->init(allows_streaming => 1);
$primary->append_conf('postgresql.conf', "autovacuum = off\nmax_prepared_transactions = 4\n");
$primary->start;
$primary->safe_psql('postgres', q{
	CREATE EXTENSION pg_comb_ordered CASCADE;
	CREATE TABLE outbox (id uuid PRIMARY KEY DEFAULT comb_generate_ordered(), what text)});
$primary->safe_psql('postgres', $heartbeat) foreach 1 .. 2;
$primary->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'backup', has_streaming => 1);
$standby->start;
my $has_wait = $primary->safe_psql('postgres', 'SHOW server_version_num') >= 190000;

# A reader by the recipe, and readers that leave out a part of it
my ($first, $second, $heart) = map { CombSession->new($primary, 'postgres', table => 'outbox') } 1 .. 3;
my $select = 'SELECT * FROM outbox WHERE id > $last AND id < %s ORDER BY id';
my $reader = CombSession->new($standby, 'postgres', table => 'outbox', query => $query);
my $naive  = on_standby("'ffffffff-ffff-ffff-ffff-ffffffffffff'");
my $margin = on_standby("comb_min(clock_timestamp() - interval '1 s')");
my $incautious = CombFetchingReader->new($standby, 'postgres', table => 'outbox', primary => $second,
	fetch => 'SELECT comb_settled()', query => sprintf($select, '$bound'));

sub on_standby
{
	my ($bound) = @_;
	return CombSession->new($standby, 'postgres', table => 'outbox', query => sprintf($select, $bound));
}

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
	$first->event;
	$second->event;
	return;
}

sub loses
{
	my ($twin, $lost, $name) = @_;
	$twin->poll;
	is(($twin->counts)[1], $lost, $name);
	return;
}

#
# The heartbeat
#
cross();
$heart->ask($beat);
catch_up();
is($reader->poll, 0, 'the heartbeat knows of the open transaction');
is($naive->poll, 1, 'a reader without it does not');
usleep(1_100_000);
is($margin->poll, 1, 'nor one that stays behind by a second');
$first->ask('COMMIT');
catch_up();
is($reader->poll, 0, 'the next heartbeat');
$heart->ask($beat);
catch_up();
is($reader->poll, 2, 'lets both rows pass');
loses($naive, 1, 'a reader without a bound loses one');
loses($margin, 1, 'a margin loses one');

#
# The standby is behind its primary.
#
$incautious->poll;
cross();
$heart->ask($beat);
catch_up();
$standby->safe_psql('postgres', 'SELECT pg_wal_replay_pause()');
$first->ask('COMMIT');
$heart->ask($beat);
is($incautious->poll, 1, 'the bound of the primary is ahead of the standby');
is($reader->poll, 0, 'the heartbeat is not');
my $patient;
if ($has_wait)
{
	$patient = CombFetchingReader->new($standby, 'postgres', table => 'outbox', primary => $second,
		fetch => $fetch, query => $wait, wait => 1);
	is($patient->poll, 0, 'WAIT FOR: the standby is not there yet');
}
$standby->safe_psql('postgres', 'SELECT pg_wal_replay_resume()');
catch_up();
is($reader->poll, 2, 'the standby has caught up');
loses($incautious, 1, 'with the bound of the primary, a row is lost');

SKIP:
{
	skip 'WAIT FOR comes with PostgreSQL 19', 1 unless $has_wait;
	$patient->reads_all('WAIT FOR: nothing is lost');
	$standby->safe_psql('postgres', 'SELECT pg_wal_replay_pause()');
	$second->event;
	my ($bound, $lsn) = split(/\|/, $second->ask($fetch));
	$patient->send($patient->query =~ s/\$bound/'$bound'/r =~ s/\$lsn/$lsn/r =~ s/1s/1min/r);
	$standby->poll_query_until('postgres', "SELECT wait_event = 'WaitForWalReplay' FROM pg_stat_activity WHERE pid = $patient->{pid}")
	  or die 'the reader does not wait';
	$standby->safe_psql('postgres', 'SELECT pg_wal_replay_resume()');
	my ($out) = $patient->result;
	like($out, qr/^success\n/, 'WAIT FOR: the standby comes to the position');
	is($patient->take($out =~ s/^success\n//r), 1, 'and the reader gets the row');
	# The WAL of an open transaction is not flushed, and nobody else flushes it.
	$second->event;
	$first->ask("BEGIN; INSERT INTO outbox (what) VALUES ('open')");
	my $polls = 1;
	$polls++ until $patient->poll || $polls > 8;
	cmp_ok($polls, '<=', 8, 'WAIT FOR: does not wait for an open transaction');
	$first->ask('ROLLBACK');
	$patient->reads_all('WAIT FOR: and nothing is lost');
}

#
# The loop that beats
#
my $beating = CombSession->new($primary);
$beating->send('CALL beat()');
cross();
usleep(300_000);
catch_up();
is($reader->poll, $has_wait ? 2 : 0, 'the heart beats, and knows of the open transaction');
$first->ask('COMMIT');
$standby->poll_query_until('postgres',
	q{SELECT bound > (SELECT id FROM outbox ORDER BY id DESC LIMIT 1) FROM heartbeat})
  or die 'the heart does not beat';
is($reader->poll, 2, 'the rows come with its next beat');
$primary->safe_psql('postgres', "SELECT pg_terminate_backend($beating->{pid})");
$beating->forget;

#
# A promotion.  One transaction is open, one is prepared, and a snapshot is kept.
#
my $old = CombSession->new($standby, 'postgres', table => 'outbox', query => $query);
$first->ask('BEGIN');
$first->event;
$first->ask("PREPARE TRANSACTION 'p'");
$first->ask('BEGIN');
$first->event;
$second->event;
$heart->ask($beat);
catch_up();
$old->ask('BEGIN ISOLATION LEVEL REPEATABLE READ');
cmp_ok($old->poll, '>', 0, 'a reader keeps its snapshot');
my $before = $old->{last};
is($reader->poll, 0, 'before the promotion');
$primary->stop('immediate');
$_->forget foreach ($first, $second, $heart);
$standby->promote;
$standby->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()')
  or die 'timed out waiting for the promotion';
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

is($patient->ask("WAIT FOR LSN 'F/0' WITH (NO_THROW)"), 'not in recovery', 'WAIT FOR tells of the promotion') if $has_wait;

$_->quit foreach ($reader, $naive, $margin, $incautious, $old, $first, $second, $patient || ());
$standby->stop;
done_testing();
