# Readers on a subscriber of logical replication, by the recipes of
# doc/feed_readers.md: a column of the subscriber's own, and a heartbeat.
use strict;
use warnings;

use FindBin qw($RealBin);
use lib "$RealBin/../perl";
use CombFeed;
use CombSession;
use CombTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my ($recipe, $query, $by_heartbeat) = recipes('On a subscriber');
my ($heartbeat) = recipes('On a physical standby');
my $tables = q{
	CREATE EXTENSION pg_comb_ordered CASCADE;
	CREATE TABLE heartbeat_apart (LIKE heartbeat INCLUDING ALL);
	CREATE TABLE outbox (id uuid PRIMARY KEY DEFAULT comb_generate_ordered(), what text);
	CREATE TABLE item (id bigint PRIMARY KEY, name text);
	CREATE TABLE addition (id uuid PRIMARY KEY DEFAULT comb_generate_ordered(), what text)};

my ($publisher, $subscriber) = map { server($_) } qw(publisher subscriber);
my $connection = $publisher->connstr('postgres') =~ s/'/''/gr;
my $options = ', streaming = on, two_phase = true';
my ($first, $second) = map { CombSession->new($publisher, 'postgres', table => 'outbox') } 1 .. 2;

# Keys wait for no flush, and nobody but the WAL writer flushes what others have written.
sub server
{
	my ($name) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);
	$node->init(allows_streaming => 'logical');
	$node->append_conf('postgresql.conf',
		"autovacuum = off\nbgwriter_lru_maxpages = 0\nmax_logical_replication_workers = 8\nmax_prepared_transactions = 4\nmax_worker_processes = 16\n"
		  . "wal_retrieve_retry_interval = 100ms\npg_comb.lease = 60s\n");
	$node->start;
	$node->safe_psql('postgres', "$heartbeat; $tables");
	# On a subscriber the row of the heartbeat comes from the publisher.
	$node->safe_psql('postgres', 'DELETE FROM heartbeat') if $name eq 'subscriber';
	return $node;
}

sub subscribe
{
	my ($name, $tables) = @_;
	$publisher->safe_psql('postgres', "CREATE PUBLICATION $name FOR TABLE $tables");
	$subscriber->safe_psql('postgres',
		"CREATE SUBSCRIPTION $name CONNECTION '$connection' PUBLICATION $name WITH (copy_data = true$options)");
	return;
}

$first->ask('INSERT INTO heartbeat_apart DEFAULT VALUES');
$first->event foreach 1 .. 3;
subscribe('app',   'outbox, heartbeat');
subscribe('apart', 'heartbeat_apart');
$subscriber->poll_query_until('postgres', "SELECT bool_and(srsubstate = 'r') FROM pg_subscription_rel")
  or die 'the first copy is not completed';
$subscriber->safe_psql('postgres', $recipe) foreach 1 .. 2;
is($subscriber->safe_psql('postgres', "SELECT subsynccommit FROM pg_subscription WHERE subname = 'app'"), 'on', 'the recipe ran twice');

my @seen   = (table => 'outbox', key => 'seen', column => 2);
my $reader = on_subscriber($query, @seen);
my $naive  = on_subscriber('SELECT * FROM outbox WHERE id > $last ORDER BY id');
my $foreign = on_subscriber('SELECT * FROM outbox WHERE id > $last AND id < comb_settled() ORDER BY id');
my $ordered = on_subscriber($by_heartbeat);
my $apart   = on_subscriber($by_heartbeat =~ s/FROM heartbeat/FROM heartbeat_apart/r);
my $local   = CombSession->new($subscriber);
my $rows    = 3;

sub on_subscriber
{
	my ($query, @options) = @_;
	return CombSession->new($subscriber, 'postgres', table => 'outbox', query => $query, @options);
}

# Wait until so many more rows have arrived.
sub arrive
{
	my ($more) = @_;
	$rows += $more;
	return $subscriber->poll_query_until('postgres', "SELECT count(*) = $rows FROM outbox");
}

# Beat, and wait until the heartbeat has arrived.
sub beat
{
	my ($table) = @_;
	$second->ask("UPDATE $table SET bound = comb_settled()");
	my $bound = $second->ask("SELECT bound FROM $table");
	return $subscriber->poll_query_until('postgres', "SELECT bound = '$bound' FROM $table");
}

# One transaction has made its key, and another commits with a larger key.
sub cross
{
	$first->ask('BEGIN');
	$first->event;
	$second->event;
	return arrive(1);
}

sub loses
{
	my ($twin, $lost, $name) = @_;
	$twin->poll;
	is(($twin->counts)[1], $lost, $name);
	return;
}

#
# Rows in the order of their arrival, and in that of the publisher's keys
#
is($reader->poll, 3, 'the rows of the first copy');
$_->poll foreach ($naive, $foreign);
cross();
beat($_) foreach ('heartbeat', 'heartbeat_apart');
is($reader->poll, 1, 'a row is read when it has arrived');
is($ordered->poll, 3, 'and not yet in the order of the publisher');
is($_->poll, 1, 'other readers read it') foreach ($naive, $foreign);
$first->ask('COMMIT');
arrive(1);
is($reader->poll, 1, 'the row of the transaction that was open');
is($ordered->poll, 0, 'the next heartbeat');
beat('heartbeat');
is($ordered->poll, 2, 'lets both rows pass');
loses($naive, 1, 'a reader without a bound loses one');
loses($foreign, 1, q{the subscriber's comb_settled() does not know the publisher's keys});

# A transaction of the subscriber is open.
my $unbound = on_subscriber($query =~ s/ AND seen < comb_settled\(\)//r, @seen);
$local->ask(q{BEGIN; INSERT INTO outbox VALUES ('00000000-0000-7000-8000-000000000001', 'local')});
$second->event;
arrive(1);
is($reader->poll, 0, 'an open transaction of the subscriber holds the feed');
$unbound->poll;
$local->ask('COMMIT');
arrive(1);
is($reader->poll, 2, 'until it commits');
loses($unbound, 1, 'without the bound its row is lost');
$local->ask(q{DELETE FROM outbox WHERE what = 'local'});
$rows--;
$_->{got} = [ grep { $_ ne $reader->{got}[-2] } @{ $_->{got} } ] foreach ($reader);
beat('heartbeat');
$ordered->poll;

$first->ask('BEGIN');
$first->event;
$first->ask("PREPARE TRANSACTION 'p'");
$subscriber->poll_query_until('postgres', 'SELECT count(*) > 0 FROM pg_prepared_xacts') or die 'nothing is prepared';
$second->event;
arrive(1);
is($reader->poll, 0, 'what is prepared on the subscriber holds the feed');
$first->ask("COMMIT PREPARED 'p'");
arrive(1);
is($reader->poll, 2, 'until it is committed');

#
# A heartbeat in another subscription, and one that comes before a first copy
#
beat('heartbeat');
beat('heartbeat_apart');
$_->poll foreach ($ordered, $apart);
cross();
$subscriber->safe_psql('postgres', 'ALTER SUBSCRIPTION app DISABLE');
$subscriber->poll_query_until('postgres',
	q{SELECT pid IS NULL FROM pg_stat_subscription WHERE subname = 'app'}) or die 'the apply worker goes on';
$first->ask('COMMIT');
$second->ask('UPDATE heartbeat SET bound = comb_settled()');
beat('heartbeat_apart');
is($apart->poll,   1, 'a heartbeat of another subscription overtakes the rows');
is($ordered->poll, 0, 'that of the same subscription does not');
$subscriber->safe_psql('postgres', 'ALTER SUBSCRIPTION app ENABLE');
arrive(1);
beat('heartbeat');
is($ordered->poll, 2, 'and brings both rows');
loses($apart, 1, 'the other one loses one');

$local->ask('BEGIN; LOCK TABLE addition IN SHARE MODE');
subscribe('more', 'addition');
$second->event;
arrive(1);
beat('heartbeat');
is($ordered->poll, 0, 'a heartbeat does not count before the first copy of each table');
$local->ask('COMMIT');
$subscriber->poll_query_until('postgres', "SELECT bool_and(srsubstate = 'r') FROM pg_subscription_rel")
  or die 'the copy is not completed';
is($ordered->poll, 1, 'then it does');
$_->reads_all('each row once, in order') foreach ($reader, $ordered);

#
# Updates and deletes, by the recipe for rows that change and with triggers that fire
# for apply workers
#
my ($changes, $changed) = recipes('Rows that change');
$first->ask("INSERT INTO item SELECT n, 'old' FROM generate_series(1, 20) AS n");
$local->ask($changes);
$local->ask("ALTER TABLE item ENABLE ALWAYS TRIGGER $_") foreach qw(item_changed item_deleted item_renamed);
subscribe('items', 'item');
my $items = CombFeed->new($subscriber, query => $changed);
$subscriber->poll_query_until('postgres', 'SELECT count(*) = 20 FROM item') or die 'the items do not arrive';
$items->reads_all('the first copy of rows that change');
$first->ask($_) foreach (
	"UPDATE item SET name = 'changed' WHERE id <= 2", 'DELETE FROM item WHERE id IN (3, 4)', "INSERT INTO item VALUES (4, 'again')",
	'UPDATE item SET id = 105 WHERE id = 5', "UPDATE item SET name = 'last' WHERE id = 20");
$subscriber->poll_query_until('postgres', q{SELECT name = 'last' FROM item WHERE id = 20}) or die 'the changes do not arrive';
$items->reads_all('updates and deletes that arrive');
$items->quit;

#
# A crash of the subscriber, when nobody but the apply worker should have flushed its
# commit.  Without the setting the row is lost in the crash, and comes again, unless
# somebody did flush it: a renewal, say.  The test tries again then.
#
sub comes_again
{
	my ($flushed) = @_;
	$subscriber->safe_psql('postgres', "ALTER SUBSCRIPTION app SET (synchronous_commit = $flushed)");
	$second->event;    # the worker begins again with the setting
	arrive(1);
	$subscriber->safe_psql('postgres', 'CHECKPOINT');
	$reader->poll;
	my ($walwriter) = ask($subscriber, 'postgres', q{SELECT pid FROM pg_stat_activity WHERE backend_type = 'walwriter'});
	kill 'STOP', $walwriter;
	$second->event;
	arrive(1);
	$reader->poll == 1 or die 'the row is not read';
	crash($subscriber);
	kill 'KILL', $walwriter;
	start_at($subscriber);
	$_->again foreach ($reader, $ordered);
	arrive(0) or die 'a row is lost';
	my $again = $reader->poll;
	# what was never committed, because it was lost
	splice(@{ $reader->{got} }, -2, 1) if $again;
	return $again;
}
my ($tries, $again) = (0, 0);
$again = comes_again('off') until $again || $tries++ == 10;
is($again, 1, 'synchronous_commit = off: a row that was read comes again after a crash');
is(comes_again('on'), 0, 'synchronous_commit = on: it does not');
$reader->reads_all('nothing is lost');
beat('heartbeat');
$ordered->reads_all('and nothing comes again in the order of the publisher');

$_->forget foreach ($naive, $foreign, $unbound, $apart, $local);
$_->quit foreach ($reader, $ordered, $first, $second);
$subscriber->stop;
$publisher->stop;
done_testing();
