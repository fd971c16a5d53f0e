# No dynamic shared memory is left for announcements.  Writers and readers get
# PostgreSQL's error, nothing leaks, and all goes on once there is memory.
#
# The memory is in files here, in a directory that the test makes read-only.
use lib 'test/perl';
use CombSchedule;
use CombTest;

plan skip_all => 'nothing is read-only to root' if $> == 0;

my $node = server('main', conf => "autovacuum = off\ndynamic_shared_memory_type = mmap", sql => "$CombSchedule::setup CREATE DATABASE other");
my $directory = $node->data_dir . '/pg_dynshmem';
my $prepared = 900;

sub memory
{
	my ($mode, @files) = @_;
	return sub { chmod($mode, @files ? glob("$directory/*") : $directory) or die "could not change the directory: $!"; return };
}

my $schedule = CombSchedule->new($node, 'l r w', statements => {
	closed    => memory(0555),
	open      => memory(0700),
	# what other sessions have mapped
	unmapped  => memory(0, 'files'),
	mapped    => memory(0600, 'files'),
	asks      => 'SELECT comb_settled() IS NOT NULL',
	flakes    => 'SELECT comb_snowflake_settled(instance_bits => 0) > 0',
	unsettled => 'SELECT count(*) FROM comb_unsettled()',
	status    => 'SELECT count(*) FROM comb_ordered_status()',
	# many transactions that were prepared before the start
	many => sub {
		$node->append_conf('postgresql.conf', "max_prepared_transactions = $prepared");
		$node->restart;
		$node->safe_psql('postgres', join('', map { qq{
			BEGIN; INSERT INTO event (what) VALUES ('prepared'); PREPARE TRANSACTION 'p$_';} } 1 .. $prepared));
		$node->safe_psql('other', 'CREATE EXTENSION pg_comb_ordered CASCADE');
		$node->restart;
		$node->safe_psql('other', 'SELECT comb_settled()');
		$_->again foreach $_[0]->all;
		return;
	},
	end => join(';', map { "COMMIT PREPARED 'p$_'" } 1 .. $prepared) });
$schedule->test(q{
	# each call fails with PostgreSQL's error, and with memory again sessions go on
	closed w.key=42501 w.snowflake=42501 w.asks=42501 w.flakes=42501 w.unsettled=42501 w.status=42501 open w.event r.poll=1 w.begin w.event r.poll=0 w.commit r.check
});
like("@{ $schedule->{errors} }", qr/could not open shared memory segment [^\n]*: Permission denied/, "the error is PostgreSQL's");
$schedule->test(q{
	# a session cannot map the memory that others have, and holds nobody back
	l.fresh unmapped l.event=42501 w.event mapped l.event r.poll=2 r.check
	# a session has no memory for some of the prepared transactions: all are read, but nothing beyond that session
	many closed l.asks=42501 open l.begin l.event r.poll=0 w.end w.event r.poll=900 l.commit r.check
});
$_->quit foreach $schedule->all;
$node->stop;
done_testing();
