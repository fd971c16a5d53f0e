# message-db from npm, untouched, and readers of all its messages by global_position.
#
# Its writers of one category wait for each other, and those of several categories do not.  So a reader of
# one category needs no bound, and a reader of all of them loses messages without one.
#
# test/run says where message-db's own script is that installs it.
use lib 'test/perl';
use CombTest;
use CombSoak;

begin_soak('message-db', 20);
my $node = soak_server('main');
{
	local %ENV = (%ENV, PGHOST => $node->host, PGPORT => $node->port);
	$node->command_ok([ split(/\n/, $ENV{PIPELINE_COMMAND}) ], 'message-db is installed');
}

# Tables, functions, views and privileges.  pg_dump's order is not always the same, nor is its key for \restrict.
sub schema
{
	my ($dump) = run_command([ 'pg_dump', '-s', '-n', 'message_store', $node->connstr('message_store') ]);
	return join("\n", sort(grep { !/^\\(un)?restrict/m } split(/\n\n+/, $dump)));
}
my $schema = schema();
like($schema, qr/CREATE FUNCTION message_store\.write_message.*GRANT SELECT,INSERT ON TABLE/s, 'its functions and privileges are there');

# message-db's own role may read the table and its sequence.  It gets a schema for the feed.
$node->safe_psql('message_store', q{CREATE SCHEMA feed AUTHORIZATION message_store;
	SET ROLE message_store; SET search_path = feed, message_store;}
	  . portable_feed() . recipe('message-db'));
$node->safe_psql('message_store', 'ALTER ROLE message_store SET search_path = feed, message_store, public');

sub reader
{
	my ($query, $of) = @_;
	return CombSession->new($node, 'message_store', user => 'message_store', query => $query, last => 0,
		table => "(SELECT * FROM messages WHERE $of) AS m", key => 'global_position');
}
my $poll   = recipe('message-db poll');
my %reader = (
	'all categories, with the bound' => reader($poll, 'true'),
	'one category, by get_category_messages()' =>
	  reader(q{SELECT global_position, type FROM get_category_messages('one', $last::bigint + 1)}, q{category(stream_name) = 'one'}));
my %twin = ('all categories, without the bound' =>
	  reader($poll =~ s/messages_settled/messages/r =~ s/^SELECT comb_feed_advance.*\n//r, 'true'));

# One message, or some of one category in a transaction
sub message { return "SELECT write_message(gen_random_uuid()::text, '$_[0]-' || random(), 'Kind', '{}');\n"; }
my %writers;
foreach my $category (qw(one two three four five six))
{
	my $message = message($category);
	$writers{$category}            = [ 10, $message ];
	$writers{"$category, some"}    = [ 4, "BEGIN;\n$message" . pause(10) . $message . "COMMIT;\n" ];
	$writers{"$category, late"}    = [ 2, late(100, $message) ];
	$writers{"$category, undone"}  = [ 2, "BEGIN;\nSAVEPOINT a;\n$message" . pause(10) . "ROLLBACK TO a;\n$message" . "COMMIT;\n" ];
	$writers{"$category, aborted"} = [ 2, "BEGIN;\n$message" . pause(10) . "ROLLBACK;\n" ];
}
start_writers(conninfo('message_store', $node) . ' user=message_store', 2, 30, \%writers) foreach 1 .. 4;
disturb($node, $duration, readers => [ values %reader, values %twin ], kill => 0);
end_writers($node);
read_rest(values %reader, values %twin);
is(schema(), $schema, 'message-db is as it was');
end_soak(readers => \%reader, twins => \%twin, nodes => [$node]);
