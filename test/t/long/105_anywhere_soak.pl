# Readers by the recipes of doc/feed_anywhere.md, on the primary, on a physical standby and
# on a subscriber: numbers, times and uuids of a partitioned table.  Writers draw numbers
# long before their rows, roll back to savepoints, and prepare; sessions are killed, and the
# standby is promoted.  Readers without a bound, or with a margin, must lose rows, or the
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

# A reader of rows that begin with their id.  It goes on after the last row, by one or two
# of its columns.
package CombRowReader
{
	use parent -norequire, 'CombSession';

	sub new
	{
		my ($class, $node, $query, $column, $start) = @_;
		return CombSession::new($class, $node, 'postgres', query => $query, column => $column, last => $start, last_id => 0);
	}

	sub query { my ($self) = @_; return $self->{query} =~ s/\$last_id/$self->{last_id}/r =~ s/\$last/$self->{last}/r; }

	sub take
	{
		my ($self, $out) = @_;
		my @rows = map { [ split(/\|/) ] } grep { /^\d+\|/ } split(/\n/, $out);
		push @{ $self->{got} }, map { $_->[0] } @rows;
		($self->{last}, $self->{last_id}) = @{ $rows[-1] }[ $self->{column}, 0 ] if @rows;
		return scalar(@rows);
	}

	sub counts
	{
		my ($self) = @_;
		my $key = (qw(id body created_at key))[ $self->{column} ];
		my %before = map { split(/\|/) } split(/\n/, $self->ask("SELECT id, $key <= '$self->{last}' FROM outbox"));
		my %seen;
		$seen{$_}++ foreach @{ $self->{got} };
		my @missing = grep { !$seen{$_} } keys %before;
		my $lost = grep { $before{$_} eq 't' } @missing;
		return (scalar(@{ $self->{got} }), $lost, @missing - $lost, scalar(grep { !$before{$_} } keys %seen),
			scalar(grep { $_ > 1 } values %seen));
	}
}

begin_soak('soak of a feed without the extension', 15);
chdir("$RealBin/../../..") or die "could not change to the top directory: $!";
my $file = slurp_file('sql/portable/pg_comb_feed.sql');

# orders is the table of the page, and outbox that of the writers
sub of_outbox { return $_[0] =~ s/\borders/outbox/gr; }
my $table = q{
	CREATE FUNCTION new_key() RETURNS uuid VOLATILE LANGUAGE sql AS $$
		SELECT encode(overlay(uuid_send(gen_random_uuid()) PLACING
			substring(int8send((1000 * date_part('epoch', clock_timestamp()))::bigint) FROM 3) FROM 1 FOR 6), 'hex')::uuid $$;
	CREATE TABLE outbox (id bigserial, body text, created_at timestamptz DEFAULT clock_timestamp(), key uuid DEFAULT new_key(),
		part int DEFAULT (random() * 3)::int) PARTITION BY LIST (part);
	CREATE TABLE outbox_0 PARTITION OF outbox FOR VALUES IN (0);
	CREATE TABLE outbox_1 PARTITION OF outbox FOR VALUES IN (1);
	CREATE TABLE outbox_2 PARTITION OF outbox FOR VALUES IN (2, 3);
	CREATE UNIQUE INDEX ON outbox (id, part);
	CREATE INDEX ON outbox (created_at, id);
	CREATE INDEX ON outbox (key);
	ALTER TABLE outbox_0 REPLICA IDENTITY FULL;
	ALTER TABLE outbox_1 REPLICA IDENTITY FULL;
	ALTER TABLE outbox_2 REPLICA IDENTITY FULL;
} . $file;

sub server
{
	my ($name) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);
	$node->init(allows_streaming => 'logical');
	$node->append_conf('postgresql.conf', soak_settings());
	$node->start;
	$node->safe_psql('postgres', $table);
	return $node;
}
my ($primary, $subscriber) = map { server($_) } qw(primary subscriber);
$primary->safe_psql('postgres', of_outbox($_)) foreach (recipe('feed-number'), recipe('feed-time'), recipe('feed-uuid'));
$primary->safe_psql('postgres', 'CREATE PUBLICATION all_rows FOR TABLE outbox, comb_feed');
$primary->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'backup', has_streaming => 1);
$standby->start;
$subscriber->safe_psql('postgres', of_outbox(recipe('feed-subscribed')) . of_outbox(recipe('feed-time')) =~ s/SELECT comb_feed_add.*//r);
$subscriber->safe_psql('postgres', "CREATE SUBSCRIPTION one CONNECTION '@{[ conninfo('postgres', $primary) ]}' PUBLICATION all_rows
	WITH (synchronous_commit = on)");

my ($advance, $by_number) = of_outbox(recipe('feed-poll')) =~ /(.*)\n(.*)/;
my $by_time = of_outbox(recipe('feed-poll-time'));
my $by_uuid = "SELECT * FROM outbox_keyed WHERE key > '\$last' ORDER BY key LIMIT 1000";
my $epoch   = '1970-01-01 00:00:00+00';

sub readers
{
	my ($node, $where, $before) = @_;
	return (
		"$where, numbers" => CombRowReader->new($node, $before . $by_number, 0, 0),
		"$where, times"   => CombRowReader->new($node, $before . $by_time, 2, $epoch),
		"$where, uuids"   => CombRowReader->new($node, $before . $by_uuid, 3, CombSession::NIL));
}
my %reader  = readers($primary, 'primary', "$advance\n");
my %late    = readers($standby, 'standby', '');
my %arrived = (
	'subscriber, numbers' => CombRowReader->new($subscriber, $by_number, 0, 0),
	'subscriber, times'   => CombRowReader->new($subscriber, $by_time, 2, $epoch));
my $naive = $by_number =~ s/_settled//r;
my %twin  = (
	'numbers without a bound'  => CombRowReader->new($primary, $naive, 0, 0),
	'standby without a bound'  => CombRowReader->new($standby, $naive, 0, 0),
	'times a second behind'    => CombRowReader->new($primary, $by_time =~ s/_timed WHERE/ WHERE created_at < clock_timestamp() - interval '1 s' AND/r, 2, $epoch),
	'numbers a hundred behind' => CombRowReader->new($primary, $naive =~ s/WHERE/WHERE id < (SELECT max(id) - 100 FROM outbox) AND/r, 0, 0));

my $conninfo = conninfo('postgres', $primary, $standby);
sub start_load
{
	start_loop('feed', 'timeout', 10, 'sh', '-c',
		recipe('feed-loop') =~ s/"host=.*"/"$conninfo"/r =~ s/watch 1/watch 0.05/r) foreach 1 .. 2;
	my %writers = (%{ kinds($event_writers, qw(rows one slow abort savepoint chain prepared)) },
		drawn => [ 20, "BEGIN;\nSELECT nextval('outbox_id_seq') AS id \\gset\n" . pause(25)
			  . "INSERT INTO outbox (id, body) VALUES (:id, 'drawn');\nCOMMIT;\n" ],
		undone => [ 10, "BEGIN;\nSAVEPOINT s;\nSELECT nextval('outbox_id_seq') AS id \\gset\nROLLBACK TO s;\n" . pause(10)
			  . "INSERT INTO outbox (id, body) VALUES (:id, 'undone');\nCOMMIT;\n" ],
		partition => [ 20, late(10, "INSERT INTO outbox_1 (body, part) VALUES ('partition', 1);\n") ]);
	start_writers($conninfo, 2, 80, \%writers) foreach 1 .. 4;
	start_writers($conninfo, 2, 2, { 'very late' => [ 1, late(400, "INSERT INTO outbox (body) VALUES ('very late');\n") ] });
	start_writers($conninfo, 1, 1, { 'too late' => [ 1, "BEGIN;\nINSERT INTO outbox (body) VALUES ('too late');\n\\sleep 1300 ms\nCOMMIT;\n" ] });
	start_resolver($conninfo);
	return;
}

# Stop the writers of a server, and settle what they have written.
sub settle
{
	my ($node) = @_;
	end_writers($node);
	stop_loops($node, 'feed');
	foreach (1 .. 3)
	{
		$node->safe_psql('postgres', "$advance SELECT pg_sleep(1.1)");
	}
	return;
}

#
# All readers, and crashes of the primary, the standby and the subscriber
#
start_load();
my ($killed, $crashes, $terminated) = (0, 0, 0);
my @all = (values %reader, values %late, values %arrived, values %twin);
my $until = time() + 0.6 * $duration;
do
{
	foreach (1 .. 4)
	{
		read_until(time() + rand(1), @all);
		$terminated += terminate_backend($primary, 'writer', 'feed');
	}
	$killed += kill_backend($primary, 'writer', 'feed');
	read_until(time() + rand(2), @all);
	if ($crashes * 20 < time() + 0.6 * $duration - $until)
	{
		foreach my $node ($standby, $subscriber)
		{
			$node->stop('immediate');
			$node->start;
		}
		$crashes++;
	}
} while (time() < $until);
settle($primary);
$primary->wait_for_catchup($standby, 'replay', $primary->lsn('insert'));
$primary->wait_for_catchup('one', 'replay', $primary->lsn('insert'));
read_rest(@all);
my $rows = $primary->safe_psql('postgres', 'SELECT count(*) FROM outbox');
diag("$rows rows, $terminated sessions terminated, $killed backends killed, $crashes crashes of the standby and the subscriber");
cmp_ok($rows, '>', 20 * $duration, 'there is something to read');
all_is_read($reader{$_}, $_) foreach sort keys %reader;
all_is_read($arrived{$_}, $_) foreach sort keys %arrived;
is_lost(%twin);
$_->quit foreach (values %reader, values %arrived, values %twin);

#
# The promotion, under load.  Transactions prepared on the old primary end on the new one.
#
$primary->safe_psql('postgres', 'DROP PUBLICATION all_rows');
$subscriber->stop;
start_load();
read_until(time() + 0.1 * $duration + 1, values %late);
$primary->stop('immediate');
$standby->promote;
$standby->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()') or die 'timed out waiting for the promotion';
read_until(time() + 0.2 * $duration, values %late);
settle($standby);
read_rest(values %late);
diag($standby->safe_psql('postgres', 'SELECT count(*) FROM outbox') . ' rows after the promotion');
all_is_read($late{$_}, $_) foreach sort keys %late;
is(loop_errors(qr/read-only transaction|read only|standby/), '', 'nothing fails otherwise');
$_->quit foreach (values %late);
$standby->stop;
unlike(slurp_file($_->logfile), qr/PANIC|TRAP|signal (?!9|15)\d/, 'no server process failed by itself')
  foreach ($primary, $standby, $subscriber);
done_testing();
