# message-db from npm, untouched, and readers of all its messages by global_position.
#
# Its writers of one category wait for each other, and those of several categories do not.  So a reader of
# one category needs no bound, and a reader of all of them loses messages without one.
#
# test/run says where message-db's own script is that installs it.
use strict;
use warnings;

use FindBin qw($RealBin);
use lib "$RealBin/../perl";
use CombFeed;
use CombSession;
use CombSoak;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

# A reader of the first column, which goes on after its last number
package CombMessageReader
{
	use parent -norequire, 'CombSession';

	sub take
	{
		my ($self, $out) = @_;
		my @numbers = $out =~ /^(\d+)\|/mg;
		push @{ $self->{got} }, @numbers;
		$self->{last} = $numbers[-1] if @numbers;
		return scalar(@numbers);
	}

	sub counts
	{
		my ($self) = @_;
		my %seen;
		$seen{$_}++ foreach @{ $self->{got} };
		my @lost = grep { !$seen{$_} } split(/\n/, $self->ask("SELECT global_position FROM messages WHERE $self->{which}"));
		return (scalar(@{ $self->{got} }), scalar(@lost), 0, 0, scalar(grep { $_ > 1 } values %seen));
	}
}

begin_soak('message-db', 20);
my $node = PostgreSQL::Test::Cluster->new($ENV{PIPELINE});
$node->init;
$node->append_conf('postgresql.conf', soak_settings());
$node->start;
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
	  . slurp_file("$RealBin/../../sql/portable/pg_comb_feed.sql") . recipe('message-db'));
$node->safe_psql('message_store', 'ALTER ROLE message_store SET search_path = feed, message_store, public');

sub reader
{
	my ($query, $which) = @_;
	return CombMessageReader->new($node, 'message_store', user => 'message_store', last => 0, query => $query, which => $which // 'true');
}
my $poll  = recipe('message-db poll');
my $bound = reader($poll);
my $naive = reader($poll =~ s/messages_settled/messages/r =~ s/^SELECT comb_feed_advance.*\n//r);
my $one   = reader(q{SELECT global_position, type FROM get_category_messages('one', $last + 1)}, q{category(stream_name) = 'one'});

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
my ($terminated, $until) = (0, time() + $duration);
while (time() < $until)
{
	read_until(time() + rand(1), $bound, $naive, $one);
	$terminated += terminate_backend($node, 'writer');
}
end_writers($node);
read_rest($bound, $naive, $one);

my $messages = $bound->ask('SELECT count(*) FROM messages');
diag("$messages messages, $terminated sessions terminated");
cmp_ok($messages, '>', 20 * $duration, 'there is something to read');
is_lost('all categories, without the bound', $naive);
all_is_read($bound, 'all categories, with the bound');
all_is_read($one, 'one category, by get_category_messages()');
is(loop_errors(), '', 'nothing fails otherwise');
is(schema(), $schema, 'message-db is as it was');
$_->quit foreach ($bound, $naive, $one);
$node->stop;
done_testing();
