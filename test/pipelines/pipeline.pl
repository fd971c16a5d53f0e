# A tool copies a table by a cursor, and the same tool copies a view of the table.
#
# Eight writers of all kinds insert meanwhile: they commit late, roll back, use savepoints
# and two-phase commit, and are terminated.  The tool itself is killed and begins again.  From the
# table rows must be lost, or the test would show nothing.
#
# With "-anywhere" after the tool's name, the server has no pg_comb, and the table's key is a
# bigserial.  The view and its feed are in the schema of a role that may only read the table.  dlt
# itself moves the bound before each poll, and a loop does it for Singer.
#
# test/run says which tool, and how it runs.  The tool's program gets the name of
# the table or view, the column of the cursor, and a directory of its own.  It prints a
# line "poll" after each poll.  When the file "end" is there, it polls for the last time, and writes what
# has arrived into the file "rows".
#
# Each copy polls POLLS times, or as often as it can in a part of the time, but not less than ten times.
# The writers are slow, because a tool that falls behind has more rows at each poll.  So that polls find
# transactions open all the same, two of the writers commit half a second late.
use strict;
use warnings;

use FindBin qw($RealBin);
use lib "$RealBin/../perl";
use CombCopy;
use CombFeed;
use CombSoak;
use CombTest;
use IPC::Run ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);

# What a tool copies: first the table, and then views.
my %copies = (
	'dlt' => [ 'outbox id', 'outbox_settled id', 'outbox_timed made_at' ],
	'dbt' => [ 'outbox id', 'outbox_settled id', 'outbox_bound id' ],
	'singer' => [ 'outbox id', 'outbox_settled id', 'outbox_timed made_at' ],
	'spark' => [ 'outbox id', 'outbox_settled id', 'outbox_numbered number' ],
	'kafka-connect' => [ 'outbox number', 'outbox_numbered number', 'outbox_timed made_at' ]);

# Those that take long to begin again are killed once, the others twice.
my %is_slow = map { $_ => 1 } qw(spark kafka-connect);

# A killed tool of these reads or loads rows again that it has written, and does not remove them.
my %repeats = map { $_ => 1 } qw(dlt singer kafka-connect);

$SIG{TERM} = sub { exit 1 };
my $tool = $ENV{PIPELINE} =~ s/-anywhere$//r;
my $anywhere = $tool ne $ENV{PIPELINE};
my $needs_loop = $anywhere && $tool ne 'dlt';
my @command = split(/\n/, $ENV{PIPELINE_COMMAND});
my $wanted = $ENV{POLLS} || 30;
my $least = $wanted < 10 ? $wanted : 10;
my $limit = $ENV{STEP_LIMIT} || 1800;
begin_soak($ENV{PIPELINE}, 30);

my $node = PostgreSQL::Test::Cluster->new($ENV{PIPELINE});
$node->init;
# JDBC has no unix sockets.
$node->append_conf('postgresql.conf', soak_settings() . "listen_addresses = '127.0.0.1'\n");
$node->start;
my %writers = %$event_writers;
my ($key, $settled) = qw(comb_generate_ordered() comb_settled());
if ($anywhere)
{
	$copies{$tool} = [ 'outbox id', 'outbox_settled id' ];
	unshift @command, 'env', 'PGUSER=reader';
	($key, $settled) = (q{nextval('outbox_id_seq')}, q{reader.comb_feed_number('outbox_id_seq')});
	$_ = [ $_->[0], $_->[1] =~ s/comb_generate_ordered\(\)(, comb_snowflake\(\))?/$key/gr ] foreach values %writers;
	$node->safe_psql('postgres', q{
		CREATE TABLE outbox (id bigserial PRIMARY KEY, body text);
		CREATE ROLE reader LOGIN;
		CREATE SCHEMA reader AUTHORIZATION reader;
		GRANT SELECT ON outbox, outbox_id_seq TO reader;
		SET ROLE reader;} . slurp_file("$RealBin/../../sql/portable/pg_comb_feed.sql") . recipe('existing view') =~ s/\binvoice/outbox/gr);
}
else
{
	$node->safe_psql('postgres', q{
		CREATE EXTENSION pg_comb_ordered CASCADE;} . recipe('numbers') . q{
		CREATE TABLE outbox (id uuid PRIMARY KEY DEFAULT comb_generate_ordered(), body text,
			number bigint NOT NULL UNIQUE DEFAULT next_id())});
	$node->safe_psql('postgres', recipe("$_ view") =~ s/\borders/outbox/gr) foreach qw(settled numbered timed);
}
local %ENV = (%ENV, PGHOST => $node->host, PGPORT => $node->port, PGUSER => $node->safe_psql('postgres', 'SELECT current_user'),
	PGDATABASE => 'postgres');

my @copies = map { CombCopy->new(split(/ /), $tool eq 'kafka-connect' ? $node->logfile : ()) } @{ $copies{$tool} };
$_->start(@command) foreach @copies;
my $conninfo = conninfo('postgres', $node);
start_writers($conninfo, 2, 5, \%writers) foreach 1 .. 3;
start_writers($conninfo, 2, 4, { late => [ 1, late(500, "INSERT INTO outbox (body) VALUES ('late');\n") ] });
start_resolver($conninfo);
start_readers("$conninfo user=reader", "SELECT comb_feed_advance();\n\\sleep 200 ms\n") if $needs_loop;

my ($began, $terminated, $next) = (time(), 0, 0);
while (time() < $began + 0.6 * $limit && grep { $_->polls < $wanted } @copies)
{
	die "$tool has ended: " . join(' ', map { slurp_file("$_->{directory}/err") } @copies) if grep { !$_->runs } @copies;
	usleep(500_000);
	$terminated += terminate_backend($node, 'writer');
	# The view of whole milliseconds lets out the rows of the last one when a key is made.
	$node->safe_psql('postgres', "SELECT $key");
	foreach my $copy (@copies)
	{
		next if $copy->{kills} == ($is_slow{$tool} ? 1 : 2) || $copy->polls < $least / 2 * ($copy->{kills} + 1);
		$copy->kill;
		$copy->start(@command);
	}
}
end_writers($node);
$node->safe_psql('postgres', "SELECT $key, pg_sleep(0.01)");
# dlt settles the last rows in its last poll.
$anywhere && !$needs_loop
  || $node->poll_query_until('postgres', "SELECT $settled > id FROM outbox ORDER BY id DESC LIMIT 1")
  or die 'not settled';
append_to_file("$_->{directory}/end", '') foreach @copies;
usleep(100_000) while time() < $began + 0.9 * $limit && grep { $_->runs } @copies;
my $seconds = int(time() - $began);

# Compare
my @rows = split(/\n/, $node->safe_psql('postgres', 'SELECT id, body FROM outbox'));
cmp_ok(scalar(@rows), '>', 100, 'there is something to read');
my ($table, @views) = map { $_->compare(@rows) } @copies;
diag(scalar(@rows) . " rows, $terminated sessions terminated, $seconds seconds");
cmp_ok($_->polls, '>=', $least, "$_->{relation}: there are enough polls") foreach @copies;
cmp_ok($table->{lost}, '>', 0, 'the table: rows are lost');
foreach (@views)
{
	is("$_->{lost} lost, $_->{changed} changed", '0 lost, 0 changed', "$_->{relation}: nothing is lost");
	next if $repeats{$tool};
	is($_->{twice}, 0, "$_->{relation}: nothing comes twice");
}
is(loop_errors(), '', 'nothing fails otherwise');
stop_loops($node, 'reader') if $needs_loop;
$node->stop;

if ($ENV{COMB_WORK})
{
	append_to_file("$ENV{COMB_WORK}/table", sprintf("| %s | %d | %d | %s | %s | %s | %d |\n", $table->version . ($anywhere ? ', anywhere' : ''),
		scalar(@rows), $table->{lost}, join(', ', map { $_->{lost} } @views), join(', ', map { $_->{twice} } $table, @views),
		join(', ', map { $_->polls } $table, @views), $seconds));
}
done_testing();
