# A reader of events, and sessions that end badly, use other databases, share
# snapshots or run in parallel; comb_unsettled().
use strict;
use warnings;

use FindBin qw($RealBin);
use lib "$RealBin/../perl";
use CombSession;
use CombTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf(
	'postgresql.conf', q{
autovacuum = off
restart_after_crash = on
pg_comb.lease_duration = 100ms
});
$node->start;
$node->safe_psql('postgres', 'CREATE DATABASE other');
$node->safe_psql($_, $CombSession::setup) foreach ('postgres', 'other');

my ($first, $second, $reader) = map { CombSession->new($node) } 1 .. 3;

# Poll until a row comes.
sub poll_some
{
	for (1 .. 400)
	{
		my $rows = $reader->poll;
		return $rows if $rows > 0;
		usleep(25_000);
	}
	return 0;
}

sub begin_event
{
	my ($session) = @_;
	$session->ask('BEGIN');
	$session->event;
	return;
}

#
# A new backend takes the seat of one that has just committed
#
begin_event($first);
$second->event;
$reader->poll_late(
	sub {
		$first->ask('COMMIT');
		$first->quit;
		my @new = map { CombSession->new($node) } 1 .. 6;
		$_->event foreach (@new);
		$_->quit foreach (@new);
	});
$reader->reads_all('a new backend takes the seat');
$first->connect;

#
# Sessions that end in a transaction
#
begin_event($first);
$second->event;
is($reader->poll, 0, 'an open transaction holds the reader back');
$second->ask("SELECT pg_terminate_backend($first->{pid})");
is(poll_some(), 1, 'until its session is terminated');
$first->again;

$first->ask("SET idle_in_transaction_session_timeout = '2s'");
begin_event($first);
$second->event;
is(poll_some(), 1, 'or ended by a FATAL error');
$first->again;

begin_event($first);
$second->event;
like($first->complaints('SELECT 1 / 0'), qr/22012/, 'an error');
is($reader->poll, 1, 'ends what a transaction holds back');
$first->ask('ROLLBACK');
$reader->reads_all('nothing else is read');

#
# A backend is killed, and the server starts all others again
#
begin_event($first);
$second->event;
is($reader->poll, 0, 'an open transaction again');
kill('KILL', $first->{pid}) or die "could not kill $first->{pid}: $!";
wait_for_server($node);
$_->again foreach ($first, $second, $reader);
is($reader->poll, 1, 'its backend is killed');
begin_event($first);
$second->event;
$reader->poll_late(sub { $first->ask('COMMIT') });
$reader->reads_all('after the crash');

#
# Other databases
#
my $other = CombSession->new($node, 'other');
begin_event($other);
$second->event;
is($reader->poll, 1, 'a transaction of another database holds nobody back');
is($other->poll, 0, 'but its own readers');
$other->ask('COMMIT');
is($other->poll, 1, 'until it has committed');

$second->event;
$reader->ask('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM event');
$other->ask('CALL many(12)');
is($reader->poll, 1, 'twelve transactions of another database hold back no snapshot from before');
$reader->ask('COMMIT');
$other->quit;

# A seat that sessions of other databases take
begin_event($first);
$second->event;
$reader->poll_late(
	sub {
		$first->ask('COMMIT');
		$first->quit;
		my @new = map { CombSession->new($node, 'other') } 1 .. 6;
		$_->ask('CALL many(12)') foreach (@new);
		$_->quit foreach (@new);
	});
$reader->reads_all('a new backend of another database takes the seat');
$first->connect;

#
# Snapshots of other transactions
#
foreach my $commits (1, 12)
{
	begin_event($first);
	$second->event;
	$other = CombSession->new($node);
	$other->ask('BEGIN ISOLATION LEVEL REPEATABLE READ');
	my $snapshot = $other->ask('SELECT pg_export_snapshot()');
	$first->ask('COMMIT');
	$first->event for 1 .. $commits;
	$reader->ask('SELECT comb_settled() IS NULL');
	$reader->ask("BEGIN ISOLATION LEVEL REPEATABLE READ; SET TRANSACTION SNAPSHOT '$snapshot'");
	is($reader->poll, 0, "an imported snapshot, and $commits commits since");
	$reader->ask('COMMIT');
	$reader->reads_all('all is read after it');
	$other->quit;
}

#
# Parallel queries
#
my $force = $node->safe_psql('postgres', q{SELECT name FROM pg_settings WHERE name IN ('debug_parallel_query', 'force_parallel_mode')});
$reader->ask("SET $force = on; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0");
begin_event($first);
$second->event;
is($reader->poll, 0, 'with a Gather over all plans');
$reader->poll_late(sub { $first->ask('COMMIT'); $first->event for 1 .. 12 });
$reader->reads_all('a late query with a Gather');
is($reader->ask('SELECT count(*) = (SELECT count(*) FROM event) FROM event WHERE id < (SELECT comb_settled())'),
	't', 'a parallel scan below the bound');
$node->safe_psql(
	'postgres', q{
	CREATE FUNCTION wrong_settled() RETURNS uuid PARALLEL SAFE LANGUAGE plpgsql AS 'BEGIN RETURN comb_settled(); END';
	CREATE FUNCTION wrong_key() RETURNS uuid PARALLEL SAFE LANGUAGE plpgsql AS 'BEGIN RETURN comb_generate_ordered(); END'});
like($reader->complaints('SELECT wrong_settled()'),
	qr/ERROR:  25000: cannot determine which keys are settled in a parallel worker\n.*HINT:  Mark functions that ask PARALLEL RESTRICTED\./s,
	'a parallel worker is refused the bound');
like($reader->complaints('SELECT wrong_key()'),
	qr/ERROR:  25000: cannot generate ordered keys or Snowflakes in a parallel worker\n.*HINT:  Mark functions that generate them PARALLEL RESTRICTED\./s,
	'and a key');
$reader->ask("RESET $force");

# A session makes its first key while a parallel plan runs, beside an unrelated transaction.
my $unrelated = CombSession->new($node);
my $parallel  = CombSession->new($node);
$unrelated->ask('BEGIN; SELECT txid_current()');
$parallel->ask('SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0');
my $keys = 'SELECT count(*) FROM (SELECT comb_generate_ordered() FROM event OFFSET 0) AS keys';
like($parallel->ask("EXPLAIN $keys"), qr/Gather/, 'a plan that makes keys is parallel');
is($parallel->complaints($keys), '', 'and makes the first keys of a session');
$second->event;
is($reader->poll, 1, 'which hold nobody back afterwards');
$unrelated->ask('COMMIT');
$_->quit foreach ($unrelated, $parallel);

#
# comb_unsettled()
#
$node->safe_psql(
	'postgres', q{
	CREATE ROLE writer LOGIN;
	CREATE ROLE nobody LOGIN;
	GRANT ALL ON event TO writer});
my $shown = q{SELECT pid, datname, transaction, series, first_key IS NOT NULL,
	age BETWEEN '0' AND interval '1 hour' FROM comb_unsettled() ORDER BY series};
is($reader->ask($shown), '', 'comb_unsettled() shows nothing where nothing is open');
my $writer = CombSession->new($node, 'postgres', user => 'writer');
begin_event($writer);
my $row = "$writer->{pid}|postgres||ordered|t|t";
is($reader->ask($shown), $row, 'and an open transaction to a superuser');
is( $reader->ask(q{SELECT bool_and(first_key <= comb_generate_ordered() AND first_key > comb_min(now() - interval '1 hour'))
                   FROM comb_unsettled()}), 't', 'first_key is a key of the time');
my $nobody = CombSession->new($node, 'postgres', user => 'nobody');
is($nobody->ask($shown), $row, 'as well as to any other role');
$nobody->quit;
my $elsewhere = CombSession->new($node, 'other');
is($elsewhere->ask($shown), $row, 'and from another database');
$elsewhere->ask('BEGIN; SELECT comb_snowflake(instance_bits => 0)');
is( $reader->ask('SELECT pid, datname, series, first_key IS NULL FROM comb_unsettled() ORDER BY series DESC'),
	"$elsewhere->{pid}|other|snowflake|t\n$writer->{pid}|postgres|ordered|f",
	'Snowflakes have no first_key');
$elsewhere->quit;
$writer->ask('COMMIT');
is($reader->ask($shown), '', 'and nothing after the commit');
$writer->ask('BEGIN; SELECT pg_sleep(1)');
$writer->event;
is($reader->ask(q{SELECT age > interval '1 s' FROM comb_unsettled()}), 't', 'the age is that of the transaction');
$writer->ask('ROLLBACK');
is($reader->poll, 1, 'its row is read');
$writer->quit;

#
# A session that loads the module late, and one whose snapshot is older
#
my $late = CombSession->new($node);
$late->ask('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1');
begin_event($first);
$second->event;
$late->{last} = $reader->{last};
$first->ask('COMMIT');
$first->event for 1 .. 12;
is($late->poll, 0, 'a session loads the module late, with an old snapshot');
$late->ask('COMMIT');
is($late->poll, 14, 'and reads all with a new one');
$late->quit;
$reader->reads_all('as other sessions do');

#
# An answer lasts as long as its query
#
$first->ask('CREATE FUNCTION settled() RETURNS uuid STABLE SECURITY DEFINER LANGUAGE sql AS $$ SELECT comb_settled() $$');
foreach my $call ('comb_settled()', 'settled()', 'late_settled()')
{
	$reader->ask("BEGIN; SELECT count(*) FROM event WHERE id < $call");
	is($first->ask("SELECT backend_xmin IS NULL AND backend_xid IS NULL FROM pg_stat_activity WHERE pid = $reader->{pid}"),
		't', "$call: a transaction that stays open does not hold rows from VACUUM");
	$reader->ask('COMMIT');
}

is( $reader->complaints('DO $$ BEGIN PERFORM comb_settled(); COMMIT; PERFORM settled(); END $$'), '',
	'a block commits after it asked');

# Each statement of a block has a snapshot of its own.
like( $reader->complaints(q{
		DO $$
		DECLARE
			before bigint;
			after bigint;
			memory text := 'SELECT sum(used_bytes) FROM pg_backend_memory_contexts';
		BEGIN
			FOR i IN 0..5000 LOOP
				PERFORM comb_settled(), settled(), late_settled();
				IF i = 1 THEN EXECUTE memory INTO before; EXECUTE memory INTO before; END IF;
			END LOOP;
			EXECUTE memory INTO after;
			RAISE WARNING '% bytes', after - before;
		END
		$$}), qr/^[^\n]*WARNING:  01000: -?\d{1,5} bytes$/m, 'answers do not pile up in a transaction');

#
# What has asked holds no snapshot, so VACUUM can go on while its transaction stays open
#
my $held = q{SELECT count(*) FROM pg_stat_activity WHERE state = 'idle in transaction' AND backend_xmin IS NOT NULL};
$second->ask(q{CREATE PROCEDURE asks() LANGUAGE plpgsql AS 'BEGIN PERFORM comb_settled(); END'});
foreach my $statement (
	'SELECT comb_settled()',
	q{DO 'BEGIN PERFORM comb_settled(); END'},
	'CALL asks()',
	'COPY (SELECT comb_settled()) TO STDOUT')
{
	$first->ask("BEGIN; $statement");
	is($second->ask($held), 0, "$statement holds no snapshot");
	$first->ask('COMMIT');
}
$second->ask('DROP PROCEDURE asks');

#
# A transaction keeps the bounds of 64 snapshots
#
$second->event foreach (1 .. 2);
$first->ask('BEGIN');
foreach my $n (1 .. 65)
{
	$first->ask("DECLARE c$n CURSOR FOR SELECT id FROM event WHERE id < comb_settled(); FETCH c$n");
	$second->event;
}
isnt($first->ask('FETCH c2'), '', 'the 64 cursors that were used last go on');
isnt($first->ask('FETCH c65'), '', 'the newest one, too');
isnt($first->ask('SELECT max(id::text) FROM event WHERE id < comb_settled()'), '', 'and so do new queries');
like($first->complaints('FETCH c1'),
	qr/^[^\n]*ERROR:  54000: too many queries of the transaction ask which keys are settled\nDETAIL: .* 64 snapshots.*HINT: /s,
	'the bound of the oldest is gone');
$first->ask('ROLLBACK');
$reader->reads_all('readers go on');

# A cursor that is read meanwhile goes on.  So does one beside plans.
$first->ask('CALL many(100); SET enable_indexscan = off; SET enable_bitmapscan = off; SET enable_indexonlyscan = off');
my $cursor = 'BEGIN; DECLARE c CURSOR FOR SELECT id FROM event WHERE id < comb_settled(); FETCH c';
$first->ask($cursor);
my $fetched = 0;
foreach (1 .. 80)
{
	$fetched++ if $first->ask('FETCH c') ne '';
	$second->event;
	$first->ask('SELECT comb_settled()');
}
is($fetched, 80, 'a cursor that is read beside 80 queries keeps its bound');
$first->ask("ROLLBACK; $cursor");
foreach (1 .. 80)
{
	$second->event;
	$first->ask('SELECT FROM event WHERE id < comb_settled() LIMIT 0');
}
isnt($first->ask('FETCH c'), '', 'the planner does not use up the room for bounds');
$first->ask('ROLLBACK; RESET ALL');
$reader->reads_all('and readers go on');

#
# The extension is dropped while a transaction has announced keys
#
$first->ask('BEGIN; SELECT comb_generate_ordered()');
$second->ask('DROP EXTENSION pg_comb CASCADE');
$first->ask('COMMIT');
$second->ask('DROP TABLE event; DROP FUNCTION late_settled, settled; DROP PROCEDURE many');
$second->ask($CombSession::setup);
is($second->poll, 0, 'the extension is dropped and created again');
begin_event($first);
$second->event;
is($second->poll, 0, 'a transaction holds a reader back there');
$first->ask('COMMIT');
$second->reads_all('until it has committed');

$_->quit foreach ($first, $second, $reader);
$node->stop;
unlike(slurp_file($node->logfile), qr/PANIC|TRAP/, 'no server process failed by itself');
done_testing();
