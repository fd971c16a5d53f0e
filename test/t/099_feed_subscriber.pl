# Readers on a subscriber of logical replication, by the recipes of
# doc/feed_readers.md, in the cases that long/099_subscriber_soak.pl does not meet: what the
# subscriber writes and prepares itself, other subscriptions, and first copies.
use lib 'test/perl';
use CombTest;
use CombFeed;

my ($publisher, $subscriber) = map { server($_, init => [ allows_streaming => 'logical' ], conf => q{
autovacuum = off
max_logical_replication_workers = 8
max_prepared_transactions = 4
max_worker_processes = 16
wal_retrieve_retry_interval = 100ms
}, sql => 'CREATE EXTENSION pg_comb_ordered CASCADE;' . recipe('outbox') . recipe('heartbeat') . q{
	CREATE TABLE heartbeat_apart (LIKE heartbeat INCLUDING ALL);
	CREATE TABLE addition (id uuid PRIMARY KEY DEFAULT comb_generate_ordered(), body text)})
} qw(publisher subscriber);
# On a subscriber the row of the heartbeat comes from the publisher.
$subscriber->safe_psql('postgres', 'DELETE FROM heartbeat');
my ($first, $second) = map { CombSession->new($publisher, 'postgres', table => 'outbox') } 1 .. 2;

sub subscribe
{
	my ($name, $tables) = @_;
	$publisher->safe_psql('postgres', "CREATE PUBLICATION $name FOR TABLE $tables");
	my $connection = $publisher->connstr('postgres') =~ s/'/''/gr;
	$subscriber->safe_psql('postgres', "CREATE SUBSCRIPTION $name CONNECTION '$connection' PUBLICATION $name
		WITH (copy_data = true, streaming = on, two_phase = true)");
	return;
}

sub wait_for_copies { return wait_until($subscriber, "SELECT bool_and(srsubstate = 'r') FROM pg_subscription_rel"); }

$first->ask('INSERT INTO heartbeat_apart DEFAULT VALUES');
$first->event foreach 1 .. 3;
subscribe('app',   'outbox, heartbeat');
subscribe('apart', 'heartbeat_apart');
wait_for_copies();
$subscriber->safe_psql('postgres', recipe('seen')) foreach 1 .. 2;
is($subscriber->safe_psql('postgres', "SELECT subsynccommit FROM pg_subscription WHERE subname = 'app'"), 'on', 'the recipe ran twice');

my @seen    = (key => 'seen', columns => [2]);
my $reader  = on_subscriber(recipe('arrived'), @seen);
my $unbound = on_subscriber(recipe('arrived') =~ s/ AND seen < comb_settled\(\)//r, @seen);
my $ordered = on_subscriber(recipe('publisher-order'));
my $apart   = on_subscriber(recipe('publisher-order') =~ s/FROM heartbeat/FROM heartbeat_apart/r);
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
	return wait_until($subscriber, "SELECT count(*) = $rows FROM outbox");
}

# Beat, and wait until the heartbeat has arrived.
sub beat
{
	my ($table) = @_;
	$second->ask("UPDATE $table SET bound = comb_settled()");
	my $bound = $second->ask("SELECT bound FROM $table");
	return wait_until($subscriber, "SELECT bound = '$bound' FROM $table");
}

sub loses
{
	my ($twin, $lost, $name) = @_;
	$twin->poll;
	is(($twin->counts)[1], $lost, $name);
	return;
}

#
# A transaction of the subscriber is open, and then one is prepared.
#
is($_->poll, 3, 'the rows of the first copy') foreach ($reader, $unbound);
$local->ask(q{BEGIN; INSERT INTO outbox VALUES ('00000000-0000-7000-8000-000000000001', 'local')});
$second->event;
arrive(1);
is($reader->poll, 0, 'an open transaction of the subscriber holds the feed');
$unbound->poll;
$local->ask('COMMIT');
arrive(1);
is($reader->poll, 2, 'until it commits');
loses($unbound, 1, 'without the bound its row is lost');
$local->ask(q{DELETE FROM outbox WHERE body = 'local'});
$rows--;
$reader->{got} = [ grep { $_ ne $reader->{got}[-2] } @{ $reader->{got} } ];
beat('heartbeat');
$ordered->poll;

$first->ask('BEGIN');
$first->event;
$first->ask("PREPARE TRANSACTION 'p'");
wait_until($subscriber, 'SELECT count(*) > 0 FROM pg_prepared_xacts');
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
# One transaction has made its key, and another commits with a larger key.
$first->ask('BEGIN');
$_->event foreach ($first, $second);
arrive(1);
$subscriber->safe_psql('postgres', 'ALTER SUBSCRIPTION app DISABLE');
wait_until($subscriber, q{SELECT pid IS NULL FROM pg_stat_subscription WHERE subname = 'app'});
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
wait_for_copies();
is($ordered->poll, 1, 'then it does');
$_->reads_all('each row once, in order') foreach ($reader, $ordered);

done_testing();
