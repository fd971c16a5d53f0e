# No dynamic shared memory is left for announcements.  Writers and readers get an
# error that says what helps, nothing leaks, and all goes on once there is memory.
#
# The memory is in files here, in a directory that the test makes read-only.
use lib 'test/perl';
use CombSession;
use CombTest;

plan skip_all => 'nothing is read-only to root' if $> == 0;

my $hint = qr/HINT:  Set "shared_preload_libraries" to "pg_comb", so that the server reserves this memory at its start\./;

my $node = server('main', conf => "autovacuum = off\ndynamic_shared_memory_type = mmap", sql => $CombSession::setup);

# The counters have memory of their own, and a session has asked for it.
$node->safe_psql('postgres', 'SELECT count(*) FROM comb_ordered_status()');

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
	'(SELECT count(*) FROM comb_unsettled())')
{
	like($writer->complaints("SELECT $call"),
		qr/^[^\n]*ERROR:  \w{5}: could not open shared memory segment [^\n]*: Permission denied\n$hint/,
		"$call fails with PostgreSQL's error and a hint");
}
like($writer->complaints(q{
		DO $$
		BEGIN
			FOR i IN 1..100 LOOP
				BEGIN
					PERFORM comb_generate_ordered();
				EXCEPTION WHEN OTHERS THEN
					IF i = 100 THEN RAISE WARNING 'caught'; END IF;
				END;
			END LOOP;
		END
		$$}), qr/^[^\n]*WARNING: .*caught/, 'a block can catch the error');

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
$late->ask('SELECT count(*) FROM comb_ordered_status()');
chmod(0, $_) foreach (keys %mode);
like($late->complaints(q{INSERT INTO event (what) VALUES ('late')}), qr/ERROR: .*Permission denied\n$hint/,
	'a session cannot map the memory');
$writer->event;
chmod($mode{$_}, $_) foreach (keys %mode);
$late->event;
is($reader->poll, 2, 'which holds nobody back');
$reader->reads_all('nothing is lost then either');

$_->quit foreach ($writer, $reader, $late);
$node->stop;
unlike(slurp_file($node->logfile), qr/PANIC|TRAP|resource was not closed|leak/, 'nothing leaks');

#
# All of the server's segments are in use
#
# The server has some 60 segments and a few for each process.  A function calls itself
# in a parallel query until its queries have all of them.
#
$node = server('segments', conf => q{
autovacuum = off
max_connections = 5
autovacuum_max_workers = 1
max_worker_processes = 0
max_wal_senders = 0
max_prepared_transactions = 0
max_stack_depth = 6MB
parallel_setup_cost = 0
parallel_tuple_cost = 0
min_parallel_table_scan_size = 0
max_parallel_workers_per_gather = 1
}, sql => $CombSession::setup . q{
CREATE TABLE many AS SELECT generate_series(1, 1000) n;
CREATE FUNCTION below(depth int) RETURNS boolean PARALLEL RESTRICTED LANGUAGE plpgsql AS
$$
BEGIN
	IF depth = 0 THEN
		RETURN comb_generate_ordered() IS NOT NULL;
	END IF;
	PERFORM below(depth - 1), n FROM (SELECT count(*) AS n FROM many) counted;
	RETURN true;
END
$$});
my $session = CombSession->new($node);
$session->ask('SELECT count(*) FROM comb_ordered_status()');
like($session->complaints('SELECT below(250)'),
	qr/ERROR: .*too many dynamic shared memory segments\n$hint/, 'without a segment, a writer fails with a hint, too');
is($session->ask('SELECT comb_generate_ordered() IS NOT NULL'), 't', 'the next statement has its key');
done_testing();
