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

my ($recipe, $query, $by_heartbeat) = map { s/\boutbox\b/event/gr } recipes('On a subscriber');
my ($heartbeat) = recipes('On a physical standby');

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
	$node->safe_psql('postgres', q{
		CREATE EXTENSION pg_comb_ordered CASCADE;
		CREATE TABLE event (id uuid PRIMARY KEY DEFAULT comb_generate_ordered(), kind text)});
	$node->safe_psql('postgres', $heartbeat);
	$node->safe_psql('postgres', 'DELETE FROM heartbeat') if $name eq 'subscriber';
	return $node;
}

$publisher->safe_psql('postgres', 'CREATE PUBLICATION app FOR TABLE event, heartbeat');
my $connection = conninfo('postgres', $publisher);
$subscriber->safe_psql('postgres', "CREATE SUBSCRIPTION app CONNECTION '$connection' PUBLICATION app WITH (copy_data = true$options)");
$subscriber->safe_psql('postgres', $recipe);

my %reader = (
	'by arrival'   => CombSession->new($subscriber, 'postgres', query => $query, key => 'seen', column => 2),
	'by heartbeat' => CombSession->new($subscriber, 'postgres', query => $by_heartbeat));
my $twin = CombSession->new($subscriber, 'postgres', query => 'SELECT * FROM event WHERE id > $last ORDER BY id LIMIT 1000');
my @readers = (values %reader, $twin);

# Large transactions are streamed.
my %writers = (
	%$event_writers,
	large => [ 1, late(20, "INSERT INTO event (kind) SELECT 'large' FROM generate_series(1, 1000);\n") ]);
start_loop('heart', 'psql', '-Xq', '-d', $connection, '-c', 'CALL beat()');
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
my $rows = $publisher->safe_psql('postgres', 'SELECT count(*) FROM event');
my $before = 0;
my ($last) = $publisher->safe_psql('postgres', 'SELECT comb_generate_ordered()');
until ($subscriber->poll_query_until('postgres', "SELECT count(*) = $rows AND (SELECT bound > '$last' FROM heartbeat) FROM event"))
{
	my $arrived = $subscriber->safe_psql('postgres', 'SELECT count(*) FROM event');
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
is_lost($twin, 'without a bound');
is(loop_errors(), '', 'nothing fails otherwise');
$_->quit foreach (@readers);
$_->stop foreach ($subscriber, $publisher);
unlike(slurp_file($_->logfile), qr/PANIC|TRAP|signal (?!9|15)\d/, 'no server process failed by itself') foreach ($publisher, $subscriber);
done_testing();
