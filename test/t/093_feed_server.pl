# A reader of events on a standby and after its promotion, on servers whose
# transaction ids pass 2^32, and after a restart with more connections.
use lib 'test/perl';
use CombSession;
use CombTest;

#
# Transaction ids: 50 below 2^32, in epoch 2
#
# initdb leaves rows that are not frozen, and half of all ids are in the future.
# So the ids go to 2^30 first, where all rows are frozen.
#
my $primary = server('primary', init => [ allows_streaming => 1 ], start => 0, conf => q{
autovacuum = off
autovacuum_freeze_max_age = 2000000000
max_connections = 10
max_prepared_transactions = 4
});
next_xid(2**30);
$primary->start;
$primary->safe_psql($_, 'VACUUM FREEZE') foreach ('postgres', 'template1');
$primary->stop;
next_xid(2**32 - 50);
$primary->start;
$primary->safe_psql('postgres', $CombSession::setup);

# A file of the commit log has 32 pages of 32768 transactions.
sub next_xid
{
	my ($xid) = @_;
	my $file = sprintf('%s/pg_xact/%04X', $primary->data_dir, $xid >> 20);

	system_or_bail('pg_resetwal', '-e', 2, '-x', $xid, $primary->data_dir);
	open(my $log, '>', $file) or die "could not open $file: $!";
	print $log "\0" x (32 * 8192);
	close($log);
	return;
}

my ($first, $second, $reader) = map { CombSession->new($primary) } 1 .. 3;
my ($before) = $first->ask('SELECT txid_current()');
cmp_ok($before, '>', 3 * 2**32 - 51, 'the ids begin just below the end of epoch 2');
cmp_ok($before, '<', 3 * 2**32, 'and have not passed it');
$first->ask("BEGIN");
$first->event;
$second->event;
is($reader->poll, 0, 'a transaction before the end of the epoch');
$reader->poll_late(
	sub {
		$first->ask('COMMIT');
		$second->ask('CALL many(60)');
		$first->ask('CALL many(3)');
	});
cmp_ok($second->ask('SELECT txid_current()'), '>', 3 * 2**32, 'the ids have passed the end');
$reader->reads_all('nothing is lost');

# one from before, prepared
$first->ask("BEGIN");
$first->event;
$first->ask("PREPARE TRANSACTION 'a'");
$second->event;
is($reader->poll, 0, 'a prepared transaction of the next epoch');
$reader->poll_late(sub { $second->ask("COMMIT PREPARED 'a'"); $second->ask('CALL many(12)') });
$reader->reads_all('is not lost');

#
# More connections after a restart
#
$first->ask('BEGIN');
$first->event;
$first->ask("PREPARE TRANSACTION 'a'");
$second->event;
$primary->stop;
$primary->append_conf('postgresql.conf', "max_connections = 60\nmax_prepared_transactions = 12");
$primary->start;
$_->again foreach ($first, $second, $reader);
my @more = map { CombSession->new($primary) } 1 .. 20;
$_->ask('BEGIN'), $_->event foreach (@more);
is($reader->poll, 0, 'after a restart with more connections');
$second->ask("COMMIT PREPARED 'a'");
is($reader->poll, 2, 'what was prepared before is read');
$reader->poll_late(sub { $_->ask('COMMIT') foreach (reverse @more) });
$reader->reads_all('twenty transactions of new seats');
$_->quit foreach (@more);

#
# Standby
#
my $standby = standby($primary, 'standby');
foreach my $call ('comb_settled()', 'comb_snowflake_settled(instance_bits => 0)', 'count(*) FROM comb_unsettled()')
{
	like(error_of($standby, 'postgres', "SELECT $call"),
		qr/ERROR:  55000: a standby does not know which keys are settled\nDETAIL:  Below a bound fetched .*\nHINT:  Run the query on the primary\./, "$call on a standby");
}

# A snapshot of the standby, kept over its promotion
$first->ask('BEGIN');
$first->event;
$second->event;
$primary->wait_for_catchup($standby, 'replay', $primary->lsn('insert'));
my $old = CombSession->new($standby);
$old->ask('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM event');
my $rows = $old->ask('SELECT count(*) FROM event');
$first->ask('COMMIT');
$primary->wait_for_catchup($standby, 'replay', $primary->lsn('insert'));
$primary->stop;
$standby->promote;
wait_until($standby, 'SELECT NOT pg_is_in_recovery()', 'the standby is not promoted');
my $new = CombSession->new($standby);
is($new->poll, $rows + 1, 'a new session reads everything after the promotion');
$new->event;
is($old->poll, 0, 'a snapshot from before the promotion tells nothing');
$old->ask('COMMIT');
is($old->poll, $rows + 2, 'the next one does');
$old->reads_all('as on any primary');
$new->reads_all('in all sessions');

done_testing();
