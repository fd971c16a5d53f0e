# Readers on a subscriber of logical replication, by the recipes of
# doc/topologies.md: ten writers, terminated sessions, and crashes of both servers.
# A reader that takes the publisher's keys without a heartbeat must lose rows, or the
# test would show nothing.
use lib 'test/perl';
use CombTest;
use CombSoak;

begin_soak('soak of readers on a subscriber', 15);
my ($publisher, $subscriber) = map {
	soak_server($_, init => [ allows_streaming => 'logical' ], conf => "logical_decoding_work_mem = 64kB\n", sql => q{
		CREATE EXTENSION pg_comb_ordered CASCADE;
		CREATE TABLE item (id bigint PRIMARY KEY, name text);} . recipe('outbox') . recipe('heartbeat'))
} qw(publisher subscriber);
my $connection = conninfo('postgres', $publisher);
my $streaming = $publisher->safe_psql('postgres', 'SHOW server_version_num') >= 160000 ? 'parallel' : 'on';
$publisher->safe_psql('postgres', 'CREATE PUBLICATION app FOR TABLE outbox, heartbeat, item');
$subscriber->safe_psql('postgres', "DELETE FROM heartbeat; CREATE SUBSCRIPTION app CONNECTION '$connection' PUBLICATION app
	WITH (copy_data = true, two_phase = true, streaming = $streaming)");
$subscriber->safe_psql('postgres', recipe('seen') . recipe('changes')
	  . join('', map { "ALTER TABLE item ENABLE ALWAYS TRIGGER $_;\n" } qw(item_changed item_deleted item_renamed)));

my %reader = (
	'by arrival'       => outbox_reader($subscriber, recipe('arrived'), key => 'seen', columns => [2]),
	'by heartbeat'     => outbox_reader($subscriber, recipe('publisher-order')),
	'rows that change' => CombFeed->new($subscriber, query => recipe('changed')));
my %twin = ('without a bound' => outbox_reader($subscriber, 'SELECT * FROM outbox WHERE id > $last ORDER BY id LIMIT 1000'));
my @readers = (values %reader, values %twin);

# Large transactions are streamed.
my %writers = (
	%$event_writers, %{ kinds(item_writers(3000), qw(upsert leave)) },
	large => [ 1, late(20, "INSERT INTO outbox (body) SELECT 'large' FROM generate_series(1, 1000);\n") ]);
start_heart($connection);
# One apply worker keeps up with so many, but not with all that ten writers could write.
start_writers($connection, 2, 40, \%writers) foreach 1 .. 5;
start_resolver($connection);

disturb($publisher, $duration, readers => \@readers, clients => [ 'writer', 'heart' ], crash => [$subscriber]);
end_writers($publisher);
commit_late($publisher, sub { wait_until($subscriber, "SELECT count(*) = 200 FROM outbox WHERE body = 'early'") }, values %twin);

# Wait for the last rows as long as any arrive, and for a heartbeat after them.
my ($rows, $last) = ask($publisher, 'postgres', 'SELECT count(*), comb_generate_ordered() FROM outbox');
my $before = 0;
until ($subscriber->poll_query_until('postgres', "SELECT count(*) = $rows AND (SELECT bound > '$last' FROM heartbeat) FROM outbox"))
{
	my $arrived = $subscriber->safe_psql('postgres', 'SELECT count(*) FROM outbox');
	die "no more than $arrived of $rows rows arrive" if $arrived == $before;
	$before = $arrived;
}
# A parallel worker keeps a large transaction that the publisher's crash ended, until the
# publisher logs its running transactions.  It does so every 15 seconds.
wait_until($subscriber, 'SELECT count(*) = 0 FROM comb_unsettled()');
stop_loops($publisher, 'heart');
read_rest(@readers);

end_soak(readers => \%reader, twins => \%twin, nodes => [ $subscriber, $publisher ]);
