# No dynamic shared memory is left for announcements.  Writers go on with a
# warning, readers get an error, and all goes on once there is memory again.
#
# The memory is in files here, in a directory that the test makes read-only.
use strict;
use warnings;

use FindBin qw($RealBin);
use lib "$RealBin/../perl";
use CombSession;
use CombTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

plan skip_all => 'nothing is read-only to root' if $> == 0;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf(
	'postgresql.conf', q{
autovacuum = off
dynamic_shared_memory_type = mmap
max_prepared_transactions = 0
});
$node->start;
$node->safe_psql('postgres', $CombSession::setup);

# The counters have memory of their own, and a session has asked for it.
$node->safe_psql('postgres', 'SELECT comb_clock_status() IS NOT NULL');

sub memory
{
	my ($mode) = @_;
	chmod($mode, $node->data_dir . '/pg_dynshmem') or die "could not change the directory: $!";
	return;
}

memory(0555);
my ($first, $second, $reader) = map { CombSession->new($node) } 1 .. 3;

#
# Without memory
#
my $complaint = $first->complaints(q{INSERT INTO event (what) VALUES ('first')});
like($complaint, qr/WARNING:  \w{5}: no shared memory to announce keys for comb_settled\(\)/, 'a writer goes on with a warning');
like($complaint, qr/DETAIL:  .*Permission denied/, 'whose detail says what is wrong');
like($complaint, qr/HINT:  Nothing is lost, but comb_settled\(\) stands still while transactions like this one are open\./,
	'and whose hint says what follows');
is($first->complaints(q{INSERT INTO event (what) VALUES ('second')}), '', 'one warning is enough');
is($first->complaints('SELECT comb_snowflake(instance_bits => 0) IS NULL'), '', 'also for Snowflakes');
like($second->complaints(
		q{BEGIN; SAVEPOINT s; INSERT INTO event (what) VALUES ('third'); ROLLBACK TO s; INSERT INTO event (what) VALUES ('fourth'); COMMIT}),
	qr/^[^\n]*WARNING: (?!.*WARNING)/s, 'another session gets a warning, also with savepoints');
is($first->ask('SELECT count(*) FROM event'), 3, 'no row is lost');
foreach my $call ('comb_settled()', 'comb_snowflake_settled(instance_bits => 0)')
{
	like($reader->complaints("SELECT $call"), qr/ERROR: .*could not open shared memory segment/, "$call fails");
}
my $shown = q{SELECT pid, database, state, transaction IS NOT NULL, series, first_key, since, age FROM comb_unsettled() ORDER BY pid};
my $open  = CombSession->new($node);
$open->ask('BEGIN; SELECT comb_generate_ordered()');
is($first->ask($shown), "$open->{pid}|postgres|unannounced|f||||", 'comb_unsettled() shows a transaction that has announced nothing');
$open->ask('COMMIT');
is($first->ask($shown), '', 'until it has ended');
$open->quit;
is($first->ask('BEGIN; SELECT count(comb_generate_ordered()) FROM generate_series(1, 3); ROLLBACK'), 3, 'a writer is rolled back');
$second->ask('CALL many(3)');

# The first key of a session is made while its transaction ends.
my $ending = CombSession->new($node);
like($ending->complaints('BEGIN; DECLARE c CURSOR WITH HOLD FOR SELECT comb_generate_ordered(); COMMIT'),
	qr/^[^\n]*WARNING: .*no shared memory(?!.*(?:WARNING|ERROR))/s, 'a cursor that is held');
is($ending->ask('SELECT count(*) FROM pg_cursors'), 1, 'has its key');
$ending->quit;
$ending->connect;
$ending->ask(q{
	CREATE TABLE checked (i int);
	CREATE FUNCTION make_key() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM comb_generate_ordered(); RETURN NULL; END';
	CREATE CONSTRAINT TRIGGER make_key AFTER INSERT ON checked DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION make_key()});
like($ending->complaints('INSERT INTO checked VALUES (1)'),
	qr/^[^\n]*WARNING: .*no shared memory(?!.*(?:WARNING|ERROR))/s, 'a deferred trigger');
is($ending->ask('SELECT count(*) FROM checked'), 1, 'does not fail');
$ending->quit;

#
# Memory is there again, and a transaction that has announced nothing is open
#
$first->ask('BEGIN');
$first->event;
$second->ask('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM event');
memory(0700);
is($reader->poll, 0, 'with memory again, a transaction that began without holds the reader back');
my $third = CombSession->new($node);
$third->event;
is($reader->poll, 0, 'by later keys, too');
is($reader->poll_late(sub { $first->ask('COMMIT') }), 0, 'and by a snapshot from before its commit');
is($reader->ask($shown), '', 'which comb_unsettled() does not show any more');
is($reader->poll, 8, 'then all rows are read');
$reader->reads_all('and none is left');
$second->{last} = $reader->{last};
is($second->poll, 0, 'an old snapshot is told nothing');
$second->ask('COMMIT');

# the same sessions announce now
$first->ask('BEGIN');
$first->event;
$third->event;
is($reader->poll, 0, 'the writers announce again');
$reader->poll_late(sub { $first->ask('COMMIT') });
$reader->reads_all('nothing is lost');

#
# One session cannot map the memory that others have, and prepares a transaction
#
$_->quit foreach ($first, $second, $third, $reader);
$node->append_conf('postgresql.conf', 'max_prepared_transactions = 2');
$node->restart;
$_->connect foreach ($second, $reader);
$second->event;
is($reader->poll, 1, 'after a restart');
my %mode = map { $_ => (stat($_))[2] & 0777 } glob($node->data_dir . '/pg_dynshmem/*');
$first->connect;
$first->ask('SELECT comb_clock_status() IS NULL');
chmod(0, $_) foreach (keys %mode);
like($first->complaints(q{BEGIN; INSERT INTO event (what) VALUES ('prepared'); PREPARE TRANSACTION 'a'}),
	qr/WARNING: .*no shared memory to announce keys.*DETAIL:  .*Permission denied/s, 'a session cannot map the memory');
chmod($mode{$_}, $_) foreach (keys %mode);
$second->event;
is($reader->poll, 0, 'its prepared transaction holds the reader back');
is($reader->poll_late(sub { $second->ask(q{COMMIT PREPARED 'a'}) }), 0, 'also one that has its snapshot from before the end');
is($reader->poll, 2, 'then all rows are read');
$reader->reads_all('nothing is lost');

# Transactions that are open when such a transaction ends
$first->again;
$first->ask('SELECT comb_clock_status() IS NULL');
my $unrelated = CombSession->new($node);
$unrelated->ask('BEGIN; SELECT txid_current()');
$second->ask("BEGIN; SELECT txid_current(); PREPARE TRANSACTION 'b'");
chmod(0, $_) foreach (keys %mode);
$first->event;
chmod($mode{$_}, $_) foreach (keys %mode);
is($reader->poll, 0, 'a transaction that has announced nothing has ended beside others');
is($reader->ask($shown), "$unrelated->{pid}|postgres|concurrent|t||||\n|postgres|concurrent|t||||",
	'comb_unsettled() shows the others');
$unrelated->ask('COMMIT');
is($reader->poll, 0, 'the last of them');
$second->ask("ROLLBACK PREPARED 'b'");
is($reader->poll, 1, 'holds the reader back');
is($reader->ask($shown), '', 'and is not shown any more');
$unrelated->quit;
$first->ask('BEGIN');
$first->event;
$second->event;
is($reader->poll, 0, 'the session that could not map the memory announces now');
$first->ask('COMMIT');
is($reader->poll, 2, 'and holds the reader back no longer than its transaction');

$_->quit foreach ($first, $second, $reader);
$node->stop;
unlike(slurp_file($node->logfile), qr/PANIC|TRAP|resource was not closed|leak/, 'nothing leaks');

#
# All of the server's segments are in use
#
# The server has some 60 segments and a few for each process.  A function calls itself
# in a parallel query until its queries have all of them.
#
$node = PostgreSQL::Test::Cluster->new('segments');
$node->init;
$node->append_conf(
	'postgresql.conf', q{
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
});
$node->start;
$node->safe_psql('postgres', $CombSession::setup);
$node->safe_psql(
	'postgres', q{
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
($first, $second) = map { CombSession->new($node) } 1 .. 2;
$first->ask('SELECT comb_clock_status() IS NOT NULL');
$complaint = $first->complaints('BEGIN; SELECT below(250)');
like($complaint, qr/WARNING: .*no shared memory to announce keys.*DETAIL:  too many dynamic shared memory segments/s,
	'without a segment, a writer goes on with a warning');
unlike($complaint, qr/ERROR/, 'and has its key');
is($second->ask('SELECT count(*) FROM many'), 1000, 'another session can have a segment while the transaction is open');
is($second->ask('SELECT count(*) FROM comb_unsettled()'), 1, 'which comb_unsettled() shows');
$first->ask('COMMIT');
is($first->complaints(q{INSERT INTO event (what) VALUES ('first')}), '', 'the next transaction announces its key');
$_->quit foreach ($first, $second);
$node->stop;
done_testing();
