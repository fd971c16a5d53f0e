# A reader of events and prepared transactions: committed while a query runs, many of
# them, before a restart and a crash, of other databases.
use strict;
use warnings;

use FindBin qw($RealBin);
use lib "$RealBin/../perl";
use CombSession;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf(
	'postgresql.conf', q{
autovacuum = off
max_prepared_transactions = 4
});
$node->start;
$node->safe_psql('postgres', 'CREATE DATABASE other');
$node->safe_psql($_, $CombSession::setup) foreach ('postgres', 'other');

my ($first, $second, $reader) = map { CombSession->new($node) } 1 .. 3;

# A transaction with a key, prepared
sub prepare
{
	my ($session, $name) = @_;
	$session->ask('BEGIN');
	$session->event;
	$session->ask("PREPARE TRANSACTION '$name'");
	return;
}

#
# Prepared and committed before, during and after a query
#
prepare($first, 'a');
$second->event;
is($reader->poll, 0, 'a prepared transaction holds the reader back');
$reader->poll_late(sub { $second->ask("COMMIT PREPARED 'a'") });
$reader->reads_all('its commit after the snapshot of a query');

$first->ask('BEGIN');
$first->event;
$second->event;
$reader->poll_late(
	sub {
		$first->ask("PREPARE TRANSACTION 'a'");
		$second->ask("COMMIT PREPARED 'a'");
	});
$reader->reads_all('prepared and committed after the snapshot');

$first->ask('BEGIN');
$first->event;
$second->event;
$reader->poll_late(sub { $first->ask("PREPARE TRANSACTION 'a'") });
$first->event for 1 .. 12;
is($reader->poll, 0, 'prepared after the snapshot: it still holds the reader back');
$second->ask("COMMIT PREPARED 'a'");
$reader->reads_all('and then it is read');

# comb_unsettled() says what is, whatever the statement's snapshot sees
prepare($first, 'a');
$reader->ask('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM event');
$second->ask("COMMIT PREPARED 'a'");
is($reader->ask('SELECT count(*) FROM comb_unsettled()'), 0, 'a prepared transaction that has ended is not shown');
$reader->ask('COMMIT');
$reader->reads_all('but read');

prepare($first, 'a');
$second->event;
is($reader->poll, 0, 'prepared again');
$second->ask("ROLLBACK PREPARED 'a'");
is($reader->poll, 1, 'rolled back: others are read');
$reader->reads_all('and nothing else');

prepare($first, 'a');
$first->ask('BEGIN');
$first->event;
like($first->complaints("PREPARE TRANSACTION 'a'"), qr/ERROR:  42710/, 'a second one of the name fails');
$first->ask('ROLLBACK');
$second->event;
is($reader->poll, 0, 'the first one holds the reader back');
$second->ask("COMMIT PREPARED 'a'");
is($reader->poll, 2, 'until it has ended');

# A savepoint of its own, and Snowflakes alone
$first->ask('BEGIN; SAVEPOINT s');
$first->event;
$first->ask("ROLLBACK TO s; INSERT INTO event (what) VALUES ('after'); PREPARE TRANSACTION 'a'");
$second->event;
is($reader->poll, 0, 'a prepared transaction with a savepoint holds the reader back');
$second->ask("COMMIT PREPARED 'a'");
$reader->reads_all('and then it is read');
$first->ask("BEGIN; SELECT comb_snowflake(instance_bits => 0), txid_current(); PREPARE TRANSACTION 'a'");
$second->event;
is($reader->poll, 1, 'one with a Snowflake does not');
$second->ask("COMMIT PREPARED 'a'");

#
# Several of one PGPROC
#
prepare($first, 'a');
$second->event;
is( $reader->poll_late(
		sub {
			$second->ask("COMMIT PREPARED 'a'");
			prepare($first, 'b');
			$second->ask("COMMIT PREPARED 'b'");
			prepare($first, 'c');
		}),
	0, 'two end and a third is prepared while a query needs the first');
is($reader->poll, 3, 'the next query reads the two');
$second->ask("COMMIT PREPARED 'c'");
$reader->reads_all('none is lost');

# The second one made its key before the first one did.
my $unrelated = CombSession->new($node);
$first->ask('BEGIN');
$first->event;
$unrelated->event;
prepare($second, 'a');
is( $reader->poll_late(
		sub {
			$unrelated->ask("COMMIT PREPARED 'a'");
			$first->ask("PREPARE TRANSACTION 'b'");
		}),
	0, 'one is prepared that made its key before another one that has just ended');
$unrelated->ask("COMMIT PREPARED 'b'");
$reader->reads_all('both are read');

my $other = CombSession->new($node, 'other');
prepare($other, 'elsewhere');
$second->event;
is($reader->poll, 1, 'one of another database holds nobody back');
$other->ask("ROLLBACK PREPARED 'elsewhere'");

# A plain transaction and many prepared ones end after the snapshot.
foreach my $session ($first, $other)
{
	my $end = sub {
		foreach (1 .. $_[0])
		{
			prepare($session, 'b');
			$session->ask("COMMIT PREPARED 'b'");
		}
	};
	my $database = $session->{database};

	$second->event;
	$reader->reads_all("before many prepared transactions of $database");
	$end->(30);
	$unrelated->ask('BEGIN');
	$unrelated->event;
	$reader->ask('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM event');
	$end->(12);
	$unrelated->ask('COMMIT');
	is($reader->ask("SELECT comb_settled() > '$reader->{last}'"), 't', 'the bound lags behind, and does not stand still');
	$reader->poll;
	$reader->ask('COMMIT');
	$reader->reads_all('the next query reads all');
}
$other->ask('DELETE FROM event');
$other->quit;

prepare($first, 'a');
$second->event;
$reader->poll_late(
	sub {
		$second->ask("COMMIT PREPARED 'a'");
		foreach (1 .. 12)
		{
			prepare($first, 'b');
			$second->ask("COMMIT PREPARED 'b'");
		}
	});
$reader->reads_all('twelve more end while a query needs the first');

# The first transaction has a key and no xid yet when the reader takes its snapshot.
$first->ask(q{BEGIN; SELECT set_config('feed.key', comb_generate_ordered()::text, false)});
$second->event;
is( $reader->poll_late(
		sub {
			$first->ask(q{INSERT INTO event (id) VALUES (current_setting('feed.key')::uuid); PREPARE TRANSACTION 'a'});
			$second->ask("COMMIT PREPARED 'a'");
			foreach (1 .. 12)
			{
				prepare($first, 'b');
				$second->ask("COMMIT PREPARED 'b'");
			}
		}),
	0, 'a transaction whose xid came after the snapshot, and twelve more: nothing is read');
$reader->reads_all('and the next query reads all');

$unrelated->ask('BEGIN; SELECT txid_current()');
foreach (1 .. 12)
{
	prepare($first, 'b');
	$second->ask("COMMIT PREPARED 'b'");
}
is($reader->poll, 12, 'twelve of them beside a long transaction: all are read at once');
$second->event;
prepare($first, 'b');
$second->event;
is($reader->poll, 1, 'one more that has not ended: the rows before it are read');
$second->ask("COMMIT PREPARED 'b'");
$unrelated->ask('COMMIT');

$reader->reads_all('and the other rows then');

# The first one is still prepared.
$second->event;
prepare($first, 'p');
foreach (1 .. 12)
{
	prepare($first, 'b');
	$second->ask("COMMIT PREPARED 'b'");
}
is($reader->poll, 1, 'twelve more end after one that has not: the rows before that one are read');
$second->ask("COMMIT PREPARED 'p'");
$reader->reads_all('and then all');

prepare($first, "p$_") for 1 .. 4;
$second->event;
is($reader->poll, 0, 'as many as can be prepared hold the reader back');
$second->ask("COMMIT PREPARED 'p$_'") for (2, 4, 3);
is($reader->poll, 0, 'the first one alone does');
$second->ask("COMMIT PREPARED 'p1'");
$reader->reads_all('all are read');

#
# Restart and crash
#
foreach my $mode ('fast', 'immediate')
{
	my $other = CombSession->new($node, 'other');

	prepare($other, 'elsewhere');
	prepare($first, 'a');
	$second->event;
	$other->quit;
	$node->stop($mode);
	$node->start;
	$_->again for ($first, $second, $reader);
	is($reader->poll, 0, "prepared before a restart ($mode): the reader is held back");
	is( $reader->ask(
			q{SELECT p.gid, p.database, u.series
			  FROM comb_unsettled() AS u FULL JOIN pg_prepared_xacts AS p USING (transaction) ORDER BY p.gid}),
		"a|postgres|\nelsewhere|other|",
		'pg_prepared_xacts shows both transactions');
	$second->event;
	is($reader->poll, 0, 'by later keys, too');
	$second->ask("BEGIN; SELECT txid_current(); PREPARE TRANSACTION 'without keys'");
	is($reader->poll_late(sub { $second->ask("COMMIT PREPARED 'a'") }), 0, 'committed after the snapshot');
	is($reader->poll, 3, 'then all is read, beside transactions without keys and of another database');
	$second->ask("ROLLBACK PREPARED 'without keys'");
	$reader->reads_all("all is read ($mode)");
	$other = CombSession->new($node, 'other');
	is($other->poll, 0, 'the other database');
	$other->ask("COMMIT PREPARED 'elsewhere'");
	is($other->poll, 1, 'is held back by its own');
	$other->ask('DELETE FROM event');
	$other->quit;
}

#
# Transactions that are prepared without keys hold nobody back
#
$second->event;
$node->restart;
$_->again for ($first, $second, $reader);
$second->ask("BEGIN; SELECT txid_current(); PREPARE TRANSACTION 'without keys'");
$first->event;
is($reader->poll, 2, 'prepared before the first key after a restart');
my $report = CombSession->new($node, 'other');
$report->ask('BEGIN; SELECT txid_current()');
foreach (1 .. 12)
{
	prepare($first, 'b');
	$second->ask("COMMIT PREPARED 'b'");
	$first->ask("BEGIN; SELECT txid_current(); PREPARE TRANSACTION 'another $_'") if $_ == 3;
}
is($reader->poll, 12, 'prepared beside a report, and twelve others');
$report->quit;
$second->ask("ROLLBACK PREPARED '$_'") for ('without keys', 'another 3');
$reader->reads_all('nothing is lost');

#
# A transaction prepared before a restart ends before anybody asks, and another one takes
# its PGPROC.
#
prepare($first, 'a');
$second->event;
$node->restart;
$_->again for ($first, $second, $reader);
$reader->ask('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM event');
$second->ask(q{COMMIT PREPARED 'a'; BEGIN; SELECT txid_current(); PREPARE TRANSACTION 'without keys'});
is($reader->poll, 0, 'prepared before a restart, and committed after the snapshot and before the first key');
$reader->ask('COMMIT');
is($reader->poll, 2, 'the next query reads it');
$second->ask("ROLLBACK PREPARED 'without keys'");

#
# The first key after a restart, while no transaction has ended since
#
$second->event;
$node->restart;
$_->again for ($first, $second, $reader);
$first->ask('BEGIN; SELECT txid_current(), comb_snowflake(instance_bits => 0)');
is($reader->poll, 1, 'nothing was prepared before a restart: rows from before it are read');
$first->ask('COMMIT');
$reader->reads_all('and all others');

$_->quit for ($first, $second, $reader, $unrelated);
$node->stop;
done_testing();
