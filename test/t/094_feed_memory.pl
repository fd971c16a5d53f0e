# No dynamic shared memory is left for announcements.  Writers and readers get
# PostgreSQL's error, nothing leaks, and all goes on once there is memory.
#
# The memory is in files here, in a directory that the test makes read-only.
use lib 'test/perl';
use CombSession;
use CombTest;

plan skip_all => 'nothing is read-only to root' if $> == 0;

my $node = server('main', conf => "autovacuum = off\ndynamic_shared_memory_type = mmap", sql => $CombSession::setup);

sub memory
{
	my ($mode) = @_;
	chmod($mode, $node->data_dir . '/pg_dynshmem') or die "could not change the directory: $!";
	return;
}

memory(0555);
my ($writer, $reader) = map { CombSession->new($node) } 1 .. 2;
foreach my $call (
	'comb_generate_ordered()',
	'comb_snowflake(instance_bits => 0)',
	'comb_settled()',
	'comb_snowflake_settled(instance_bits => 0)',
	'(SELECT count(*) FROM comb_unsettled())',
	'(SELECT count(*) FROM comb_ordered_status())')
{
	like($writer->complaints("SELECT $call"),
		qr/^[^\n]*ERROR:  \w{5}: could not open shared memory segment [^\n]*: Permission denied/,
		"$call fails with PostgreSQL's error");
}

memory(0700);
$writer->event;
is($reader->poll, 1, 'with memory again, sessions go on');
$writer->ask('BEGIN');
$writer->event;
is($reader->poll, 0, 'and announce');
$writer->ask('COMMIT');
$reader->reads_all('nothing is lost');

# One session cannot map the memory that others have.
my $late = CombSession->new($node);
my %mode = map { $_ => (stat($_))[2] & 0777 } glob($node->data_dir . '/pg_dynshmem/*');
chmod(0, $_) foreach (keys %mode);
like($late->complaints(q{INSERT INTO event (what) VALUES ('late')}), qr/ERROR: .*Permission denied/,
	'a session cannot map the memory');
$writer->event;
chmod($mode{$_}, $_) foreach (keys %mode);
$late->event;
is($reader->poll, 2, 'which holds nobody back');
$reader->reads_all('nothing is lost then either');

$_->quit foreach ($writer, $reader, $late);

# A session has no memory for some of the transactions that were prepared before the start.
my $prepared = 900;
my $before   = $node->safe_psql('postgres', 'SELECT count(*) FROM event');
$node->append_conf('postgresql.conf', "max_prepared_transactions = $prepared");
$node->restart;
$node->safe_psql('postgres', join('', 'CREATE DATABASE other;', map { qq{
	BEGIN; INSERT INTO event (what) VALUES ('prepared'); PREPARE TRANSACTION 'p$_';} } 1 .. $prepared));
$node->safe_psql('other', 'CREATE EXTENSION pg_comb_ordered CASCADE');
$node->restart;
$node->safe_psql('other', 'SELECT comb_settled()');
($writer, $reader, $late) = map { CombSession->new($node) } 1 .. 3;
memory(0555);
like($late->complaints('SELECT comb_settled()'), qr/ERROR: .*Permission denied/, 'no memory for prepared transactions');
memory(0700);
$late->ask('BEGIN');
$late->event;
$reader->poll;
$node->safe_psql('postgres', join(';', map { "COMMIT PREPARED 'p$_'" } 1 .. $prepared));
$writer->event;
is($reader->poll, $before + $prepared, 'all are read, but nothing beyond the session that had no memory');
$late->ask('COMMIT');
$reader->reads_all('nothing is lost');
$_->quit foreach ($writer, $reader, $late);
$node->stop;
unlike(slurp_file($node->logfile), qr/PANIC|TRAP|resource was not closed|leak/, 'nothing leaks');
done_testing();
