# PostgreSQL 19 publishes sequences, and a refresh overwrites the subscriber's limits.
# Limits that are ahead raise the subscriber's.  Limits behind do not disturb its keys: the
# next lease writes the limits again.
# logged: no ordered keys or Snowflakes can be made in this database until the server restarts
use lib 'test/perl';
use CombTest;

need_faketime();

my $make = 'SELECT comb_generate_ordered(), comb_snowflake()';
my $publisher = server('publisher', init => [ allows_streaming => 'logical' ], clock => undef,
	conf => "autovacuum = off\npg_comb.snowflake_instance = 5");
plan skip_all => 'sequences are published from version 19 on'
  if $publisher->safe_psql('postgres', 'SHOW server_version_num') < 190000;

# The subscriber's clock runs an hour ahead.
my $subscriber = server('subscriber', clock => '+1h', conf => "autovacuum = off\npg_comb.snowflake_instance = 6");
foreach my $node ($publisher, $subscriber)
{
	$node->safe_psql('postgres',
		'CREATE EXTENSION pg_comb_ordered CASCADE; CREATE TABLE made (key uuid PRIMARY KEY DEFAULT comb_generate_ordered())');
}
$publisher->safe_psql('postgres', 'CREATE PUBLICATION everything FOR ALL TABLES, ALL SEQUENCES');
$publisher->safe_psql('postgres', "INSERT INTO made DEFAULT VALUES; $make");
my @last = ask($subscriber, 'postgres', $make);
$publisher->safe_psql('postgres', 'CREATE ROLE replicator LOGIN REPLICATION; GRANT SELECT ON made TO replicator');
my $connection = $publisher->connstr('postgres') =~ s{'}{''}gr . ' user=replicator';
$subscriber->safe_psql('postgres', "CREATE SUBSCRIPTION all_of_it CONNECTION '$connection' PUBLICATION everything");

my $limit = "SELECT last_value FROM comb_internal.comb_lease_ordered";

sub refresh
{
	$subscriber->safe_psql('postgres', 'ALTER SUBSCRIPTION all_of_it REFRESH SEQUENCES');
	wait_until($subscriber, "SELECT bool_and(srsubstate = 'r') FROM pg_subscription_rel", 'the refresh does not end');
	return;
}

sub larger
{
	my ($name, @before) = @_;
	my ($key, $id) = ask($subscriber, 'postgres', $make);
	my ($part, $part_before) = map { $_ >> 22 } ($id, $before[1]);
	ok($key gt $before[0] && $part >= $part_before && $id > $before[1], $name);
	return ($key, $id);
}

refresh();
is( $subscriber->safe_psql('postgres', $limit), $publisher->safe_psql('postgres', $limit),
	'the refresh has written the publisher\'s limits');
@last = larger('keys go on after a refresh from a server that is behind', @last);
$subscriber->stop('immediate');
start_at($subscriber);
@last = larger('and after a crash, and the clock set back', @last);

# The publisher is now five hours ahead, and its keys are replicated.
$publisher->safe_psql('postgres', "SELECT comb_ordered_reset(now() + interval '5 hours')");
$publisher->restart;
$publisher->safe_psql('postgres', "INSERT INTO made SELECT FROM generate_series(1, 100)");
$publisher->wait_for_catchup('all_of_it');
refresh();
$subscriber->restart;
is( $subscriber->safe_psql('postgres', 'SELECT comb_generate_ordered() > max(key::text)::uuid FROM made'),
	't', 'after a refresh from a server that is ahead, keys are larger than all replicated rows');

done_testing();
