# The recipes of doc/pipelines.md for tools that poll in other ways than a reader of a feed: MAX() first
# and the range later, parallel ranges, pages of one long transaction, times, and a table
# that had a sequence before.  The same tools lose rows of the table itself, or the test
# would show nothing.
#
# ROWS says how many rows the table with the sequence has at first.
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
use Time::HiRes qw(time usleep);

begin_soak('tools that poll', 8);
my $old = $ENV{ROWS} || 10_000;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', soak_settings());
$node->start;
$node->safe_psql('postgres', qq{
	CREATE EXTENSION pg_comb_ordered CASCADE;
	CREATE TABLE outbox (id uuid PRIMARY KEY DEFAULT comb_generate_ordered(), body text,
		number bigint NOT NULL UNIQUE DEFAULT comb_snowflake());
	CREATE TABLE invoice (id bigserial PRIMARY KEY, body text);
	INSERT INTO invoice (body) SELECT 'old' FROM generate_series(1, $old)});
$node->safe_psql('postgres', recipe("$_ view") =~ s/\borders/outbox/gr) foreach qw(settled numbered timed);

# A tool asks in two or more queries, each with a snapshot of its own, and from two sessions.
my $session = CombSession->new($node);
my $second  = CombSession->new($node);
my (%got, %last);

sub take
{
	my ($name, @queries) = @_;
	my $n = 0;
	foreach my $query (@queries)
	{
		my $rows = ($n++ % 2 ? $second : $session)->ask($query);
		$got{$name}{$_}++ foreach split(/\n/, $rows);
	}
	return;
}

sub max_first
{
	my ($relation) = @_;
	my $name = "$relation, MAX() first";
	my $last = $last{$name} // 0;
	my $most = $session->ask("SELECT max(number) FROM $relation") || $last;
	usleep(20_000);
	take($name, "SELECT id FROM $relation WHERE number > $last AND number <= $most");
	$last{$name} = $most;
	return;
}

# The upper part is read first, and the lower one later.
sub ranges
{
	my ($relation) = @_;
	my $name = "$relation, parallel ranges";
	my $last = $last{$name} // 0;
	my $most = $session->ask("SELECT max(number) FROM $relation") || $last;
	my $middle = $last + int(($most - $last) / 2);
	my $upper = "SELECT id FROM $relation WHERE number > $middle AND number <= $most";
	my $lower = "SELECT id FROM $relation WHERE number > $last AND number <= $middle";
	take($name, $upper, $lower);
	$last{$name} = $most;
	return;
}

sub by_time
{
	my ($relation) = @_;
	my $name = "$relation, by time";
	my $last = $last{$name} // '1970-01-01 00:00:00+00';
	my @rows = map { [ split(/\|/) ] } split(/\n/,
		$session->ask("SELECT id, comb_timestamp(id) FROM $relation WHERE comb_timestamp(id) > '$last' ORDER BY 2"));
	$got{$name}{ $_->[0] }++ foreach @rows;
	$last{$name} = $rows[-1][1] if @rows;
	return;
}

# Pages of one transaction, which goes on while rows commit, and then the next transaction
sub pages
{
	my ($relation) = @_;
	my $name = "$relation, one transaction";
	my $last = $last{$name} // CombSession::NIL;
	$session->ask('BEGIN ISOLATION LEVEL REPEATABLE READ');
	for (1 .. 5)
	{
		my @rows = split(/\n/, $session->ask("SELECT id FROM $relation WHERE id > '$last' ORDER BY id LIMIT 200"));
		$got{$name}{$_}++ foreach @rows;
		$last = $rows[-1] if @rows;
		usleep(20_000);
	}
	$last{$name} = $last;
	$session->ask('COMMIT');
	return;
}

sub poll
{
	max_first($_) foreach qw(outbox outbox_numbered);
	ranges($_)    foreach qw(outbox outbox_numbered);
	by_time($_)   foreach qw(outbox outbox_timed);
	pages($_)     foreach qw(outbox outbox_settled);
	return;
}

# The table with a sequence: the same cursor goes on when the view is there.
my ($invoices, $invoice_last) = ('invoice', 0);
my %invoice;

sub poll_invoices
{
	my @rows = split(/\n/, $session->ask("SELECT id FROM $invoices WHERE id > $invoice_last ORDER BY id"));
	$invoice{$_}++ foreach @rows;
	$invoice_last = $rows[-1] if @rows;
	return;
}

my $conninfo = conninfo('postgres', $node);
start_writers($conninfo, 2, 20, $event_writers) foreach 1 .. 3;
start_writers($conninfo, 4, 200, { late => [ 1, late(10, "INSERT INTO invoice (body) VALUES ('new');\n") ] });
start_resolver($conninfo);

# Each poll finds a transaction open whose rows come next after newer ones.
my $late = CombSession->new($node);
my $row  = "INSERT INTO outbox (body) VALUES ('late'); INSERT INTO invoice (body) VALUES ('late')";
my $until = time() + $duration;
my ($change, $seconds, $from);
while (time() < $until || !$from)
{
	$late->ask("BEGIN; $row");
	$second->ask($row);
	poll();
	poll_invoices();
	$late->ask('COMMIT');
	terminate_backend($node, 'writer');
	next if $from || time() < $until - $duration / 2;
	$change = time();
	my $recipe = recipe('from a sequence');
	my ($rc, undef, $error) = $node->psql('postgres', $recipe, on_error_stop => 1);
	BAIL_OUT("the recipe fails: $error") unless $rc == 0 || $error =~ /lock timeout/;
	next if $rc != 0;
	$seconds = time() - $change;
	$from = $node->safe_psql('postgres', 'SELECT comb_snowflake_min(now() - interval \'1 day\')');
	$invoices = 'invoice_settled';
}
end_writers($node);
$node->safe_psql('postgres', 'SELECT comb_generate_ordered(), pg_sleep(0.01)');
foreach (1 .. 200)
{
	my $before = join(' ', map { scalar keys %{ $got{$_} } } sort keys %got);
	poll();
	last if $before eq join(' ', map { scalar keys %{ $got{$_} } } sort keys %got);
}
poll_invoices();

my %rows = map { $_ => 1 } split(/\n/, $session->ask('SELECT id FROM outbox'));
cmp_ok(scalar keys %rows, '>', 100, 'there is something to read');
foreach my $name (sort keys %got)
{
	my $lost  = grep { !$got{$name}{$_} } keys %rows;
	my $twice = grep { $_ > 1 } values %{ $got{$name} };
	diag("$name: " . scalar(keys %{ $got{$name} }) . " rows, $lost lost, $twice twice");
	if ($name =~ /^outbox,/) { cmp_ok($lost, '>', 0, "$name: rows are lost (SEED=$seed)"); }
	else                     { is("$lost lost, $twice twice", '0 lost, 0 twice', "$name (SEED=$seed)"); }
}

my @old = split(/\n/, $session->ask("SELECT id FROM invoice WHERE id < $from"));
my @new = split(/\n/, $session->ask("SELECT id FROM invoice WHERE id >= $from"));
my ($lost_before, $lost_after) = map { scalar(grep { !$invoice{$_} } @$_) } \@old, \@new;
diag(sprintf('a table of %d rows changes in %.3f s: %d lost of %d before, %d of %d after',
	$old, $seconds, $lost_before, scalar(@old), $lost_after, scalar(@new)));
cmp_ok(scalar(@new), '>', 20, 'the table gets rows after the change');
cmp_ok($lost_before, '>', 0, 'rows were lost before the change');
is($lost_after, 0, 'and none after it');
is(scalar(grep { $_ > 1 } values %invoice), 0, 'none comes twice');
is(loop_errors(), '', 'nothing fails otherwise');
$_->quit foreach ($session, $second, $late);
$node->stop;
done_testing();
