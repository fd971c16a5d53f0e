# Readers on a subscriber of logical replication, by the recipes of
# doc/topologies.md, in the cases that long/099_subscriber_soak.pl does not meet: what the
# subscriber writes and prepares itself, and first copies.
use lib 'test/perl';
use CombTest;
use CombFeed;

my ($publisher, $subscriber) = map { server($_, init => [ allows_streaming => 'logical' ], conf => q{
autovacuum = off
max_prepared_transactions = 4
wal_retrieve_retry_interval = 100ms
}, sql => 'CREATE EXTENSION pg_comb_ordered CASCADE;' . recipe('outbox') . recipe('heartbeat') . q{
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

$first->event foreach 1 .. 3;
subscribe('app', 'outbox, heartbeat');
wait_for_copies();
$subscriber->safe_psql('postgres', recipe('seen')) foreach 1 .. 2;
is($subscriber->safe_psql('postgres', "SELECT subsynccommit FROM pg_subscription WHERE subname = 'app'"), 'on', 'the recipe ran twice');

my $reader  = on_subscriber(recipe('arrived'), key => 'seen', columns => [2]);
my $ordered = on_subscriber(recipe('publisher-order'));
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
	$second->ask('UPDATE heartbeat SET bound = comb_settled()');
	my $bound = $second->ask('SELECT bound FROM heartbeat');
	return wait_until($subscriber, "SELECT bound = '$bound' FROM heartbeat");
}

#
# A transaction of the subscriber is open, and then one is prepared.
#
is($reader->poll, 3, 'the rows of the first copy');
$local->ask(q{BEGIN; INSERT INTO outbox VALUES ('00000000-0000-7000-8000-000000000001', 'local')});
$second->event;
arrive(1);
is($reader->poll, 0, 'an open transaction of the subscriber holds the feed');
$local->ask('COMMIT');
arrive(1);
is($reader->poll, 2, 'until it commits');
$local->ask(q{DELETE FROM outbox WHERE body = 'local'});
$rows--;
$reader->{got} = [ grep { $_ ne $reader->{got}[-2] } @{ $reader->{got} } ];
beat();
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
# A heartbeat that comes before a first copy
#
beat();
$ordered->poll;
$local->ask('BEGIN; LOCK TABLE addition IN SHARE MODE');
subscribe('more', 'addition');
$second->event;
arrive(1);
beat();
is($ordered->poll, 0, 'a heartbeat does not count before the first copy of each table');
$local->ask('COMMIT');
wait_for_copies();
is($ordered->poll, 1, 'then it does');
$_->reads_all('each row once, in order') foreach ($reader, $ordered);

#
# A stored created_at, as in doc/usage.md, is not published: the subscriber has one of its own, or, from 18 on, a
# publication that says so.
#
my $stored = 'created_at timestamptz ' . (slurp_file('doc/usage.md') =~ /`ADD created_at timestamptz (GENERATED\s+ALWAYS AS[^`]*)`/)[0];
my $generated = $subscriber->safe_psql('postgres', 'SHOW server_version_num') >= 180000;
foreach my $table ('of_its_own', 'plain', $generated ? 'published' : ())
{
	$publisher->safe_psql('postgres', "CREATE TABLE $table (id uuid PRIMARY KEY DEFAULT comb_generate(), $stored); INSERT INTO $table DEFAULT VALUES");
	$subscriber->safe_psql('postgres', "CREATE TABLE $table (id uuid PRIMARY KEY, " . ($table eq 'of_its_own' ? $stored : 'created_at timestamptz') . ')');
	subscribe($table, $table . ($table eq 'published' ? ' WITH (publish_generated_columns = stored)' : ''));
	wait_for_copies();
	$publisher->safe_psql('postgres', "INSERT INTO $table DEFAULT VALUES");
	wait_until($subscriber, "SELECT count(*) = 2 FROM $table");
	is($subscriber->safe_psql('postgres', "SELECT count(created_at), bool_and(created_at = comb_timestamp(id)) FROM $table"),
		$table eq 'plain' ? '0|' : '2|t', "$table: the times of a stored column at the subscriber");
	$subscriber->safe_psql('postgres', "DROP SUBSCRIPTION $table");
}

done_testing();
