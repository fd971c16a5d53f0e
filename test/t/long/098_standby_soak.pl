# Readers on a physical standby, by the recipes of doc/feed_readers.md: ten writers,
# terminated sessions, crashes of both servers, and a promotion.  Readers without a
# bound, with a margin, or with the bound of the primary must lose rows, or the test
# would show nothing.
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
use Time::HiRes qw(time);

begin_soak('soak of readers on a standby', 15);

my $standby_query = recipe('standby');
my ($with) = $standby_query =~ /^(WITH b .*FROM heartbeat\))\n/s;
my $ids = 3000;

my $primary = PostgreSQL::Test::Cluster->new('primary');
$primary->init(allows_streaming => 1);
$primary->append_conf('postgresql.conf', soak_settings());
$primary->start;
$primary->safe_psql('postgres',
	"CREATE EXTENSION pg_comb_ordered CASCADE; CREATE TABLE item (id bigint PRIMARY KEY, name text);" . recipe('outbox') . recipe('changes'));
$primary->safe_psql('postgres', recipe('heartbeat'));
my $has_wait = $primary->safe_psql('postgres', 'SHOW server_version_num') >= 190000;
$primary->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'backup', has_streaming => 1);
$standby->start;

my $select = 'SELECT * FROM outbox WHERE id > $last AND id < %s ORDER BY id LIMIT 1000';
my %fetching = (fetch => 'SELECT comb_settled()', query => sprintf($select, '$bound'));
my %reader = ('heartbeat' => on_standby($standby_query));
my %twin = (
	'without a bound' => on_standby(sprintf($select, "'ffffffff-ffff-ffff-ffff-ffffffffffff'")),
	'a second behind' => on_standby(sprintf($select, "comb_min(clock_timestamp() - interval '1 s')")),
	'with the bound of the primary' => fetching(%fetching));
$reader{'WAIT FOR'} = fetching(fetch => recipe('fetch'), query => recipe('wait'), wait => 1) if $has_wait;
# rows that change
my $items = CombFeed->new($standby, query => recipe('changed') =~ s/^WITH b .*\)\n/$with\n/r);
my @readers = (values %reader, values %twin, $items);

sub on_standby
{
	my ($query) = @_;
	return CombSession->new($standby, 'postgres', table => 'outbox', query => $query);
}

sub fetching
{
	return CombFetchingReader->new($standby, 'postgres', table => 'outbox', primary => CombSession->new($primary), @_);
}

my $conninfo = conninfo('postgres', $primary, $standby);
start_heart($conninfo);
read_quietly($primary, 3, %reader);

start_writers($conninfo, 2, 60, $event_writers) foreach 1 .. 5;
# These transactions stay open for longer than a second.
start_writers($conninfo, 2, 2,
	{ 'very late' => [ 1, "BEGIN;\nINSERT INTO outbox (body) VALUES ('very late');\n\\sleep 1300 ms\nCOMMIT;\n" . pause(1500) ] });
my $id = "\\set id random(1, $ids)\n\\set value random(1, 1000000000)\n";
start_writers($conninfo, 2, 60, {
	change => [ 3, $id . late(20, "UPDATE item SET name = :value WHERE id = :id;\n") ],
	gone   => [ 1, $id . "DELETE FROM item WHERE id = :id;\n" ],
	leave  => [ 1, $id . late(20, "DELETE FROM item WHERE id = :id;\n") ],
	insert => [ 3, $id . "INSERT INTO item VALUES (:id, :value) ON CONFLICT DO NOTHING;\n" ]}) foreach 1 .. 2;
start_resolver($conninfo);
my ($terminated, $killed, $crashes) = (0, 0, 0);
my $until = time() + 0.7 * $duration;
while ($killed == 0 || $crashes == 0 || time() < $until)
{
	# For a moment the standby is behind, while a transaction commits.
	my $late = CombSession->new($primary);
	$late->ask(q{BEGIN; INSERT INTO outbox (body) VALUES ('very late')});
	read_until(time() + 0.5, @readers);
	$standby->safe_psql('postgres', 'SELECT pg_wal_replay_pause()');
	$late->ask('COMMIT');
	$late->quit;
	read_until(time() + 0.5 + rand(1), @readers);
	$standby->safe_psql('postgres', 'SELECT pg_wal_replay_resume()');
	foreach (1 .. 5)
	{
		read_until(time() + rand(1), @readers);
		$terminated += terminate_backend($primary, 'writer', 'heart');
	}
	$killed += kill_backend($primary, 'writer', 'heart');
	read_until(time() + rand(2), @readers);
	next if $crashes * 30 > time() + 0.7 * $duration - $until;
	$standby->stop('immediate');
	$standby->start;
	$crashes++;
}

#
# The promotion.  Readers that fetch the primary's bound have nobody to ask any more.
#
$primary->stop('immediate');
$standby->promote;
$standby->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()')
  or die 'timed out waiting for the promotion';
foreach my $each ($twin{'with the bound of the primary'}, $reader{'WAIT FOR'} || ())
{
	bless $each, 'CombSession';
	$each->{query} = sprintf($select, 'comb_settled()');
}
$until = time() + 0.3 * $duration;
do
{
	read_until(time() + rand(2), @readers);
	$terminated += terminate_backend($standby, 'writer', 'heart');
} while (time() < $until);
end_writers($standby);
stop_loops($standby, 'heart');
read_rest(@readers);

#
# Count
#
my $rows = $standby->safe_psql('postgres', 'SELECT count(*) FROM outbox');
diag("$rows rows, $terminated sessions terminated, $killed backends killed, $crashes crashes of the standby, a promotion");
cmp_ok($rows, '>', 20 * $duration, 'there is something to read');
all_is_read($reader{$_}, $_) foreach sort keys %reader;
diag("$items->{rows} rows that change");
cmp_ok($items->{rows}, '>', 10 * $duration, 'rows change');
$items->reads_all("the copy is the table (SEED=$seed)");
is_lost(%twin);
is(loop_errors(qr/read-only transaction|read only|standby/), '', 'nothing fails otherwise');
$_->quit foreach @readers;
$standby->stop;
unlike(slurp_file($_->logfile), qr/PANIC|TRAP|signal (?!9|15)\d/, 'no server process failed by itself') foreach ($primary, $standby);
done_testing();
