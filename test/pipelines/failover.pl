# A tool copies a table by a cursor, and the same tool copies a view of the table, while the
# primary crashes and comes back, and then is lost for a synchronous standby.
#
# A tool that fails, because its server has gone, begins again as its user would let it.  Its
# stored cursor is from before.  From the table rows must be lost, or the test would show nothing.
#
# test/run says which tool, and how it runs: see pipeline.pl.
use strict;
use warnings;

use FindBin qw($RealBin);
use lib "$RealBin/../perl";
use CombCopy;
use CombFeed;
use CombSoak;
use CombTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);

$SIG{TERM} = sub { exit 1 };
my @command = split(/\n/, $ENV{PIPELINE_COMMAND});
my $polls = $ENV{POLLS} || 8;
my $limit = $ENV{STEP_LIMIT} || 1800;
begin_soak('singer and a failover', 30);

my $primary = PostgreSQL::Test::Cluster->new('primary');
$primary->init(allows_streaming => 1);
$primary->append_conf('postgresql.conf', soak_settings());
$primary->start;
$primary->safe_psql('postgres', q{
	CREATE EXTENSION pg_comb_ordered CASCADE;
	CREATE TABLE outbox (id uuid PRIMARY KEY DEFAULT comb_generate_ordered(), body text)});
$primary->safe_psql('postgres', recipe('settled view') =~ s/\borders/outbox/gr);
$primary->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'backup', has_streaming => 1);
$standby->start;
$primary->append_conf('postgresql.conf', "synchronous_standby_names = '*'\n");
$primary->reload;

my $server = $primary;
local %ENV = (%ENV, PGUSER => $primary->safe_psql('postgres', 'SELECT current_user'), PGDATABASE => 'postgres');
my @copies = map { CombCopy->new($_, 'id') } qw(outbox outbox_settled);
my $conninfo = conninfo('postgres', $primary, $standby);
start_writers($conninfo, 2, 10, kinds($event_writers, qw(rows one slow late savepoint prepared))) foreach 1 .. 2;
start_writers($conninfo, 2, 4, { late => [ 1, late(500, "INSERT INTO outbox (body) VALUES ('late');\n") ] });
start_resolver($conninfo);

sub keep_running
{
	local @ENV{qw(PGHOST PGPORT)} = ($server->host, $server->port);
	$_->start(@command) foreach grep { !$_->runs } @copies;
	usleep(200_000);
	return;
}

# Let each copy poll some more times, and return how many rows there are then.
my $began = time();
sub let_poll
{
	my %until = map { $_ => $_->polls + $polls } @copies;
	while (grep { $_->polls < $until{$_} } @copies)
	{
		die 'the tool does not poll: ' . join(' ', map { slurp_file("$_->{directory}/err") } @copies) if time() > $began + $limit;
		keep_running();
	}
	return $server->safe_psql('postgres', 'SELECT count(*) FROM outbox');
}

# Between a crash and the restart nothing answers for a while.
sub without_server
{
	my $until = time() + 2;
	keep_running() while time() < $until;
	return;
}

my @counts = let_poll();
crash($primary);
without_server();
start_at($primary);
wait_for_server($primary);
push @counts, let_poll();

# A commit that the crash let through without the standby is visible after the restart, but may be
# lost with the primary, as without pg_comb.  The standby has long got those of before.
crash($primary);
without_server();
$standby->promote;
wait_for_server($standby);
$standby->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()') or die 'timed out waiting for the promotion';
$server = $standby;
push @counts, let_poll();
end_writers($standby);
$standby->safe_psql('postgres', 'SELECT comb_generate_ordered(), pg_sleep(0.01)');
$standby->poll_query_until('postgres', 'SELECT comb_settled() > id FROM outbox ORDER BY id DESC LIMIT 1') or die 'not settled';
append_to_file("$_->{directory}/end", '') foreach @copies;
until (2 == grep { -e "$_->{directory}/rows" && !$_->runs } @copies)
{
	die 'the tool does not end' if time() > $began + $limit;
	local @ENV{qw(PGHOST PGPORT)} = ($server->host, $server->port);
	$_->start(@command) foreach grep { !$_->runs && !-e "$_->{directory}/rows" } @copies;
	usleep(200_000);
}

my @rows = split(/\n/, $standby->safe_psql('postgres', 'SELECT id, body FROM outbox'));
cmp_ok($counts[0], '<', $counts[1], 'rows come after the crash');
cmp_ok($counts[1], '<', $counts[2], 'and after the promotion');
my ($table, $view) = map { $_->compare(@rows) } @copies;
diag(join(', ', @counts, scalar(@rows)) . ' rows, ' . int(time() - $began) . ' seconds');
cmp_ok($table->{lost}, '>', 0, 'the table: rows are lost');
is("$view->{lost} lost, $view->{changed} changed", '0 lost, 0 changed', 'the view: nothing is lost');
is(loop_errors(qr/read-only transaction|read only|standby/), '', 'nothing fails otherwise');
$standby->stop;
done_testing();
