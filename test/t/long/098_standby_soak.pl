# Readers on a physical standby, by the recipes of doc/topologies.md: ten writers,
# terminated sessions, crashes of both servers, and a promotion.  Readers without a
# bound, with a margin, or with the bound of the primary must lose rows, or the test
# would show nothing.
use lib 'test/perl';
use CombTest;
use CombSoak;
use Time::HiRes qw(time);

begin_soak('soak of readers on a standby', 15);
my $primary = soak_server('primary', init => [ allows_streaming => 1 ], sql => q{
	CREATE EXTENSION pg_comb_ordered CASCADE;
	CREATE TABLE item (id bigint PRIMARY KEY, name text);} . recipe('outbox') . recipe('changes') . recipe('heartbeat'));
my $standby = standby($primary, 'standby');

my $select = 'SELECT * FROM outbox WHERE id > $last AND id < %s ORDER BY id LIMIT 1000';
my %reader = (
	'heartbeat' => outbox_reader($standby, recipe('standby')),
	'rows that change' => CombFeed->new($standby, query => changed_on_standby()));
$reader{'WAIT FOR'} = fetching(waiting_for_lsn())
  if $primary->safe_psql('postgres', 'SHOW server_version_num') >= 190000;
my %twin = (
	'without a bound' => outbox_reader($standby, sprintf($select, "'ffffffff-ffff-ffff-ffff-ffffffffffff'")),
	'a second behind' => outbox_reader($standby, sprintf($select, "comb_min(clock_timestamp() - interval '1 s')")),
	'with the bound of the primary' => fetching(fetch => 'SELECT comb_settled()', query => sprintf($select, '$bound')));
my @readers = (values %reader, values %twin);

sub fetching
{
	return CombFetchingReader->new($standby, 'postgres', table => 'outbox', primary => CombSession->new($primary), @_);
}

my $conninfo = conninfo('postgres', $primary, $standby);
start_heart($conninfo);

start_writers($conninfo, 2, 60, $event_writers) foreach 1 .. 5;
# These transactions stay open for longer than a second.
start_writers($conninfo, 2, 2,
	{ 'very late' => [ 1, "BEGIN;\nINSERT INTO outbox (body) VALUES ('very late');\n\\sleep 1300 ms\nCOMMIT;\n" . pause(1500) ] });
start_writers($conninfo, 2, 60, kinds(item_writers(3000), qw(insert late gone leave))) foreach 1 .. 2;
start_resolver($conninfo);

# For a moment the standby is behind, while a transaction commits.
sub fall_behind
{
	my $late = CombSession->new($primary);
	$late->ask(q{BEGIN; INSERT INTO outbox (body) VALUES ('very late')});
	read_until(time() + 0.5, @readers);
	$standby->safe_psql('postgres', 'SELECT pg_wal_replay_pause()');
	$late->ask('COMMIT');
	$late->quit;
	read_until(time() + 0.5 + rand(1), @readers);
	$standby->safe_psql('postgres', 'SELECT pg_wal_replay_resume()');
	return;
}

disturb($primary, 0.7 * $duration,
	readers => \@readers, clients => [ 'writer', 'heart' ], first => \&fall_behind, crash => [$standby]);

# Readers that fetch the primary's bound have nobody to ask after the promotion.
$primary->stop('immediate');
$standby->promote;
foreach my $each (grep { $_->isa('CombFetchingReader') } @readers)
{
	bless $each, 'CombSession';
	$each->{query} = sprintf($select, 'comb_settled()');
}
disturb($standby, 0.3 * $duration, readers => \@readers, clients => [ 'writer', 'heart' ], kill => 0);
end_writers($standby);
stop_loops($standby, 'heart');
read_rest(@readers);

end_soak(readers => \%reader, twins => \%twin, nodes => [ $standby, $primary ], expected => qr/read-only transaction|read only|standby/);
