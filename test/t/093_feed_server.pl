# A reader of events on a standby and after its promotion, on servers whose
# transaction ids pass 2^32, and after a restart with more connections.
use lib 'test/perl';
use CombSchedule;
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
$primary->safe_psql('postgres', $CombSchedule::setup);

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

my @more;
my $schedule = CombSchedule->new($primary, 'a b r w', statements => {
	epoch => 'SELECT txid_current() - 3 * 2::bigint ^ 32 BETWEEN -50 AND -1',

	# a restart with more connections, and twenty transactions with them
	more => sub {
		my ($self) = @_;
		$primary->append_conf('postgresql.conf', "max_connections = 60\nmax_prepared_transactions = 12");
		$self->restart('fast');
		@more = map { CombSession->new($primary) } 1 .. 20;
		$_->ask('BEGIN'), $_->event foreach @more;
		return;
	},
	end => sub { $_->ask('COMMIT'), $_->quit foreach (reverse @more); return } });

$schedule->test(q{
	# the ids pass the end of epoch 2
	a.epoch=t a.begin a.event b.event r.poll=0 w.lock r.pollate=0 a.commit b.many60 a.many3 w.unlock a.epoch=f r.check
	a.prepared1 b.event r.poll=0 w.lock r.pollate=0 b.commitp1 b.many12 w.unlock r.check
	# what was prepared before a restart with more connections is read, and then the transactions of new seats
	a.prepared1 b.event more r.poll=0 b.commitp1 r.poll=2 w.lock r.pollate=0 end w.unlock r.check
});
my ($first, $second) = map { CombSession->new($primary) } 1 .. 2;

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
my $new = CombSession->new($standby);
is($new->poll, $rows + 1, 'a new session reads everything after the promotion');
$new->event;
is($old->poll, 0, 'a snapshot from before the promotion tells nothing');
$old->ask('COMMIT');
is($old->poll, $rows + 2, 'the next one does');
$old->reads_all('as on any primary');
$new->reads_all('in all sessions');

done_testing();
