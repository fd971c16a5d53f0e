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

my ($heartbeat, $query, $fetch, $wait) = map { s/\boutbox\b/event/gr } recipes('On a physical standby');

my $primary = PostgreSQL::Test::Cluster->new('primary');
$primary->init(allows_streaming => 1);
$primary->append_conf('postgresql.conf', soak_settings());
$primary->start;
$primary->safe_psql('postgres', q{
	CREATE EXTENSION pg_comb_ordered CASCADE;
	CREATE TABLE event (id uuid PRIMARY KEY DEFAULT comb_generate_ordered(), kind text)});
$primary->safe_psql('postgres', $heartbeat);
my $has_wait = $primary->safe_psql('postgres', 'SHOW server_version_num') >= 190000;
$primary->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'backup', has_streaming => 1);
$standby->start;

my $select = 'SELECT * FROM event WHERE id > $last AND id < %s ORDER BY id LIMIT 1000';
my %fetching = (fetch => 'SELECT comb_settled()', query => sprintf($select, '$bound'));
my %reader = ('heartbeat' => CombSession->new($standby, 'postgres', query => $query));
my %twin = (
	'without a bound' => CombSession->new($standby, 'postgres', query => sprintf($select, "'ffffffff-ffff-ffff-ffff-ffffffffffff'")),
	'a second behind' => CombSession->new($standby, 'postgres', query => sprintf($select, "comb_min(clock_timestamp() - interval '1 s')")),
	'with the bound of the primary' => fetching(%fetching));
$reader{'WAIT FOR'} = fetching(fetch => $fetch, query => $wait, wait => 1) if $has_wait;

sub fetching
{
	return CombFetchingReader->new($standby, 'postgres', primary => CombSession->new($primary), @_);
}

my $conninfo = conninfo('postgres', $primary, $standby);
start_loop('heart', 'psql', '-Xq', '-d', $conninfo, '-c', 'CALL beat()');


read_quietly($primary, 3, %reader);

start_writers($conninfo, 2, 60, $event_writers) foreach 1 .. 5;
# These transactions stay open for longer than a second.
start_writers($conninfo, 2, 2,
	{ 'very late' => [ 1, "BEGIN;\nINSERT INTO event (kind) VALUES ('very late');\n\\sleep 1300 ms\nCOMMIT;\n" . pause(1500) ] });
start_resolver($conninfo);
my ($terminated, $killed, $crashes) = (0, 0, 0);
my $until = time() + 0.7 * $duration;
while ($killed == 0 || $crashes == 0 || time() < $until)
{
	# For a moment the standby is behind, while a transaction commits.
	my $late = CombSession->new($primary);
	$late->ask(q{BEGIN; INSERT INTO event (kind) VALUES ('very late')});
	read_until(time() + 0.5, values %reader, values %twin);
	$standby->safe_psql('postgres', 'SELECT pg_wal_replay_pause()');
	$late->ask('COMMIT');
	$late->quit;
	read_until(time() + 0.5 + rand(1), values %reader, values %twin);
	$standby->safe_psql('postgres', 'SELECT pg_wal_replay_resume()');
	foreach (1 .. 5)
	{
		read_until(time() + rand(1), values %reader, values %twin);
		$terminated += terminate_backend($primary, 'writer', 'heart');
	}
	$killed += kill_backend($primary, 'writer', 'heart');
	read_until(time() + rand(2), values %reader, values %twin);
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
	read_until(time() + rand(2), values %reader, values %twin);
	$terminated += terminate_backend($standby, 'writer', 'heart');
} while (time() < $until);
end_writers($standby);
stop_loops($standby, 'heart');
read_rest(values %reader, values %twin);

#
# Count
#
my $rows = $standby->safe_psql('postgres', 'SELECT count(*) FROM event');
diag("$rows rows, $terminated sessions terminated, $killed backends killed, $crashes crashes of the standby, a promotion");
cmp_ok($rows, '>', 20 * $duration, 'there is something to read');
all_is_read($reader{$_}, $_) foreach sort keys %reader;
is_lost($twin{$_}, $_) foreach sort keys %twin;
is(loop_errors(qr/read-only transaction|read only|standby/), '', 'nothing fails otherwise');
$_->quit foreach (values %reader, values %twin);
$standby->stop;
unlike(slurp_file($_->logfile), qr/PANIC|TRAP|signal (?!9|15)\d/, 'no server process failed by itself') foreach ($primary, $standby);
done_testing();
