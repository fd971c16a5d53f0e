# Readers on a subscriber of logical replication, by the recipes of
# doc/feed_readers.md: ten writers, terminated sessions, and crashes of both servers.
# A reader that takes the publisher's keys without a heartbeat must lose rows, or the
# test would show nothing.
use strict;
use warnings;

use FindBin qw($RealBin);
use lib "$RealBin/../../perl";
use CombFeed;
use CombSession;
use CombSoak;
use CombTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);

begin_soak('soak of readers on a subscriber', 15);

my ($publisher, $subscriber) = map { server($_) } qw(publisher subscriber);
my $version = $publisher->safe_psql('postgres', 'SHOW server_version_num');
my $options = ', two_phase = true, streaming = ' . ($version >= 160000 ? 'parallel' : 'on');

sub server
{
	my ($name) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);
	$node->init(allows_streaming => 'logical');
	$node->append_conf('postgresql.conf', soak_settings() . "logical_decoding_work_mem = 64kB\n");
	$node->start;
	$node->safe_psql('postgres',
		"CREATE EXTENSION pg_comb_ordered CASCADE; CREATE TABLE item (id bigint PRIMARY KEY, name text);" . recipe('outbox') . recipe('heartbeat'));
	$node->safe_psql('postgres', 'DELETE FROM heartbeat') if $name eq 'subscriber';
	return $node;
}

$publisher->safe_psql('postgres', 'CREATE PUBLICATION app FOR TABLE outbox, heartbeat, item');
my $connection = conninfo('postgres', $publisher);
$subscriber->safe_psql('postgres', "CREATE SUBSCRIPTION app CONNECTION '$connection' PUBLICATION app WITH (copy_data = true$options)");
$subscriber->safe_psql('postgres', recipe('seen'));
$subscriber->safe_psql('postgres', recipe('changes'));
$subscriber->safe_psql('postgres', "ALTER TABLE item ENABLE ALWAYS TRIGGER $_") foreach qw(item_changed item_deleted item_renamed);

my %reader = (
	'by arrival'   => on_subscriber(query => recipe('arrived'), key => 'seen', column => 2),
	'by heartbeat' => on_subscriber(query => recipe('publisher-order')));
my $items = CombFeed->new($subscriber, query => recipe('changed'));
my $twin = on_subscriber(query => 'SELECT * FROM outbox WHERE id > $last ORDER BY id LIMIT 1000');
my @readers = (values %reader, $twin, $items);

sub on_subscriber { return CombSession->new($subscriber, 'postgres', table => 'outbox', @_); }

# Large transactions are streamed.
my %writers = (
	%$event_writers,
	item  => [ 20, "\\set id random(1, 3000)\nINSERT INTO item VALUES (:id, 'new') ON CONFLICT (id) DO UPDATE SET name = item.name || '.';\n" ],
	gone  => [ 10, "\\set id random(1, 3000)\n" . late(20, "DELETE FROM item WHERE id = :id;\n") ],
	large => [ 1, late(20, "INSERT INTO outbox (body) SELECT 'large' FROM generate_series(1, 1000);\n") ]);
start_heart($connection);
read_quietly($publisher, 3, %reader);
# One apply worker keeps up with so many, but not with all that ten writers could write.
start_writers($connection, 2, 40, \%writers, '-R', 40) foreach 1 .. 5;
start_resolver($connection);

my ($terminated, $killed, $crashes) = (0, 0, 0);
my $until = time() + $duration;
while ($killed == 0 || $crashes == 0 || time() < $until)
{
	foreach (1 .. 5)
	{
		read_until(time() + rand(1), @readers);
		$terminated += terminate_backend($publisher, 'writer', 'heart');
	}
	$killed += kill_backend($publisher, 'writer', 'heart');
	read_until(time() + rand(2), @readers);
	next if $crashes * 30 > time() + $duration - $until;
	crash($subscriber);
	start_at($subscriber);
	$crashes++;
}
end_writers($publisher);

# Wait for the last rows as long as any arrive, and for a heartbeat after them.
my $rows = $publisher->safe_psql('postgres', 'SELECT count(*) FROM outbox');
my $before = 0;
my ($last) = $publisher->safe_psql('postgres', 'SELECT comb_generate_ordered()');
until ($subscriber->poll_query_until('postgres', "SELECT count(*) = $rows AND (SELECT bound > '$last' FROM heartbeat) FROM outbox"))
{
	my $arrived = $subscriber->safe_psql('postgres', 'SELECT count(*) FROM outbox');
	die "no more than $arrived of $rows rows arrive" if $arrived == $before;
	$before = $arrived;
}
stop_loops($publisher, 'heart');
read_rest(@readers);

#
# Count
#
diag("$rows rows, $terminated sessions terminated, $killed backends killed, $crashes crashes of the subscriber");
cmp_ok($rows, '>', 20 * $duration, 'there is something to read');
all_is_read($reader{$_}, $_) foreach sort keys %reader;
diag("$items->{rows} rows that change");
$items->reads_all("the copy is the table (SEED=$seed)");
is_lost('without a bound' => $twin);
is(loop_errors(), '', 'nothing fails otherwise');
$_->quit foreach (@readers);
$_->stop foreach ($subscriber, $publisher);
unlike(slurp_file($_->logfile), qr/PANIC|TRAP|signal (?!9|15)\d/, 'no server process failed by itself') foreach ($publisher, $subscriber);
done_testing();
