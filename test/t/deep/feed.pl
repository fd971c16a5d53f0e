# Writers and readers of events are held between two steps, on a server built with
# injection points.
#
# A writer is held where it withdraws its announcement, once its transaction is visible.
# A reader is held between the places where it looks.
use strict;
use warnings;

use FindBin qw($RealBin);
use lib "$RealBin/../../perl";
use CombSession;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('feed');
$node->init;
$node->append_conf(
	'postgresql.conf', q{
autovacuum = off
max_prepared_transactions = 4
});
$node->start;
plan skip_all => 'the server is not built with injection points'
  unless $node->check_extension('injection_points');
$node->safe_psql('postgres', 'CREATE EXTENSION injection_points');
$node->safe_psql('postgres', $CombSession::setup);

my @writers = map { CombSession->new($node) } 1 .. 4;
my ($reader, $other) = map { CombSession->new($node) } 1 .. 2;
$_->ask('SELECT injection_points_set_local(); SELECT comb_settled() IS NULL') foreach (@writers, $reader);

# The seat of a session, which is the first part of its virtual transaction id
sub seat
{
	my ($session) = @_;
	return $session->ask(q{SELECT split_part(virtualtransaction, '/', 1) FROM pg_locks
	                       WHERE pid = pg_backend_pid() AND locktype = 'virtualxid'});
}
@writers = sort { seat($a) <=> seat($b) } @writers;

# The session runs the statement until the point.
sub hold
{
	my ($session, $point, $sql) = @_;
	$session->ask("SELECT injection_points_attach('$point', 'wait')");
	$session->send($sql);
	$node->poll_query_until('postgres',
		"SELECT count(*) = 1 FROM pg_stat_activity WHERE pid = $session->{pid} AND wait_event = '$point'")
	  or die "no session is held at $point";
	return;
}

# The session goes on.  Return what the statement shows.
sub release
{
	my ($session, $point) = @_;
	$node->safe_psql('postgres',
		"SELECT injection_points_detach('$point'), injection_points_wakeup('$point')");
	my ($out, $err) = $session->result;
	die $err if $err =~ /(?:ERROR|FATAL|PANIC): /;
	return $out;
}

sub begin_event
{
	my ($session) = @_;
	$session->ask('BEGIN');
	return $session->ask("INSERT INTO event (what) VALUES ('held') RETURNING id");
}

#
# A writer commits, and is held at each step of taking its announcement back
#
foreach my $point ('comb-end-seat', 'comb-history-entry', 'comb-end-clear')
{
	my ($writer) = @writers;

	# a reader whose snapshot does not see the transaction
	begin_event($writer);
	$other->event;
	$reader->ask('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM event');
	hold($writer, $point, 'COMMIT');
	is($reader->poll, 0, "$point: a snapshot from before a commit");
	$reader->ask('COMMIT');

	# The announcement is still there for a reader that sees the transaction.
	is($reader->poll, 0, "$point: a snapshot from after the commit is held back, too");
	release($writer, $point);
	is($reader->poll, 2, "$point: all is read when the writer has gone on");
	$reader->reads_all("$point: nothing is lost");

	# the same with two-phase commit
	begin_event($writer);
	$other->event;
	hold($writer, $point, q{PREPARE TRANSACTION 'a'});
	is($reader->poll, 0, "$point: a transaction that is being prepared");
	release($writer, $point);
	is($reader->poll, 0, "$point: and that has been prepared");
	$writer->ask(q{COMMIT PREPARED 'a'});
	is($reader->poll, 2, "$point: it is read when it is committed");

	# the same without a row
	$writer->ask('BEGIN; SELECT comb_generate_ordered()');
	$other->event;
	if ($point ne 'comb-history-entry')
	{
		hold($writer, $point, 'ROLLBACK');
		is($reader->poll, 0, "$point: a transaction that is rolled back");
		release($writer, $point);
	}
	else
	{
		$writer->ask('ROLLBACK');
	}
	is($reader->poll, 1, "$point: holds nobody back then");
}

#
# A writer has announced nothing yet, and has taken no time
#
my ($writer) = @writers;
hold($writer, 'comb-announce', q{INSERT INTO event (what) VALUES ('late')});
$other->event;
is($reader->poll, 1, 'a writer that has not announced its key yet holds nobody back');
release($writer, 'comb-announce');
is($reader->poll, 1, 'its key is larger than what was read');
$reader->reads_all('nothing is lost before an announcement');

# A writer has taken its time and not returned the key.
hold($writer, 'comb-lease-taken', q{INSERT INTO event (what) VALUES ('taken')});
$other->event;
is($reader->poll, 0, 'a writer that has taken its time holds the reader back');
release($writer, 'comb-lease-taken');
is($reader->poll, 2, 'until it has committed');
$reader->reads_all('nothing is lost after a time is taken');

#
# A reader is held, and a transaction begins
#
foreach my $point ('comb-counter-read', 'comb-seat-first', 'comb-seats-read')
{
	hold($reader, $point, 'SELECT comb_settled()');
	my $key = begin_event($writer);
	$other->event;
	my $bound = release($reader, $point);
	ok($bound le $key, "$point: a transaction that begins meanwhile is not passed");
	$writer->ask('COMMIT');
	$reader->reads_all("$point: nothing is lost");
}

#
# A reader is held, and a transaction that it does not see ends or is prepared
#
foreach my $point ('comb-counter-read', 'comb-seat-running', 'comb-seats-read')
{
	foreach my $end ('COMMIT', 'ROLLBACK', "PREPARE TRANSACTION 'a'")
	{
		my ($passed, $beyond) = (0, 0);
		foreach $writer (@writers)
		{
			my $key = begin_event($writer);
			$other->event;
			$reader->ask('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM event');
			hold($reader, $point, 'SELECT comb_settled()');
			$writer->ask($end);
			my $bound = release($reader, $point);
			my $next  = $other->ask('SELECT comb_generate_ordered()');
			$passed++ if $bound gt $key && $end ne 'ROLLBACK';
			$beyond++ if $bound gt $next;
			$reader->ask('COMMIT');
			$other->ask("COMMIT PREPARED 'a'") if $end =~ /PREPARE/;
		}
		is($passed, 0, "$point: $end meanwhile: the transaction is not passed") unless $end eq 'ROLLBACK';
		is($beyond, 0, "$point: $end meanwhile: nor are keys of the future");
		$reader->reads_all("$point: $end meanwhile: nothing is lost");
	}
}

#
# A reader is held, and the history of a later seat moves on
#
foreach my $commits (2, 5, 7, 12)
{
	my ($earlier, @later) = @writers;
	my $passed = 0;
	foreach $writer (@later)
	{
		my $key = begin_event($writer);
		$other->event;
		$reader->ask('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM event');
		$writer->ask('COMMIT');
		$earlier->ask('BEGIN; SELECT comb_generate_ordered()');
		hold($reader, 'comb-seat-running', 'SELECT comb_settled()');
		$writer->ask("CALL many($commits)");
		my $bound = release($reader, 'comb-seat-running');
		$passed++ if $bound gt $key;
		$_->ask('COMMIT') foreach ($reader, $earlier);
	}
	is($passed, 0, "$commits commits before a history is read");
	$reader->reads_all("$commits commits: nothing is lost");
}

#
# A seat is left while a reader looks at it, and an earlier one has a key that the
# reader's snapshot misses
#
{
	my ($earlier, $later) = @writers;

	$reader->ask('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM event');
	$later->ask('BEGIN; SELECT comb_generate_ordered()');
	my $key = begin_event($earlier);
	$earlier->ask('COMMIT');
	hold($reader, 'comb-seat-running', 'SELECT comb_settled()');
	$later->ask('ROLLBACK');
	cmp_ok(release($reader, 'comb-seat-running'), 'le', $key, 'a seat is left, and the one before counts');
	$reader->ask('COMMIT');
	$reader->reads_all('nothing is lost when a seat is left');
}

#
# An entry of a history is overwritten while a reader looks, and read while it is
# overwritten.  The entry can be of the transaction that the reader's snapshot misses
# first, or older.
#
foreach my $commits (1 .. 4)
{
	my ($writer) = @writers;

	$reader->ask('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM event');
	my $key = begin_event($writer);
	$writer->ask("COMMIT; CALL many($commits)");
	begin_event($writer);
	hold($writer, 'comb-history-entry', 'COMMIT');
	cmp_ok($reader->ask('SELECT comb_settled()'), 'le', $key, "$commits commits, and half an entry");
	release($writer, 'comb-history-entry');
	$reader->ask('COMMIT');

	$reader->ask('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM event');
	$key = begin_event($writer);
	$writer->ask('COMMIT');
	hold($reader, 'comb-history-read', 'SELECT comb_settled()');
	$writer->ask("CALL many($commits)");
	cmp_ok(release($reader, 'comb-history-read'), 'le', $key, "$commits commits while an entry is read");
	$reader->ask('COMMIT');
	$reader->reads_all("$commits commits, and nothing is lost");
}

#
# An error at a step
#
foreach my $point ('comb-counter-read', 'comb-seat-running', 'comb-seats-read')
{
	my $key = begin_event($writer);
	$other->event;
	$reader->ask("SELECT injection_points_attach('$point', 'error')");
	like($reader->complaints('SELECT comb_settled()'), qr/ERROR: .*injection point/, "$point: an error");
	$reader->ask("SELECT injection_points_detach('$point')");
	is($reader->poll, 0, "$point: the next query is held back");
	$writer->ask('COMMIT');
	$reader->reads_all("$point: nothing is lost");
}
$writer->ask(q{SELECT injection_points_attach('comb-announce', 'error')});
like($writer->complaints(q{BEGIN; SAVEPOINT s; INSERT INTO event (what) VALUES ('fails')}),
	qr/ERROR: .*injection point/, 'an error before an announcement');
$node->safe_psql('postgres', q{SELECT injection_points_detach('comb-announce')});
$other->event;
$writer->ask('ROLLBACK TO s');
$writer->event;
$other->event;
is($reader->poll, 1, 'the transaction announces its next key');
$writer->ask('COMMIT');
is($reader->poll, 2, 'which is read');
$reader->reads_all('and nothing is lost');

#
# A held writer cannot be cancelled or terminated while it takes back
#
$writer = $writers[1];
begin_event($writer);
hold($writer, 'comb-history-entry', 'COMMIT');
$node->safe_psql('postgres', "SELECT pg_cancel_backend($writer->{pid})");
is($reader->poll, 0, 'a cancel request does not take the announcement back');
eval { release($writer, 'comb-history-entry') };
$reader->reads_all('the row is read after it');

#
# A first key is cancelled while its session maps the memory for announcements
#
my $first = CombSession->new($node);
$first->ask('SELECT injection_points_set_local()');
hold($first, 'comb-seats-attach', q{
	DO $$
	BEGIN
		PERFORM comb_generate_ordered();
	EXCEPTION WHEN query_canceled THEN
		RAISE WARNING 'caught';
	END
	$$});
$node->safe_psql('postgres', "SELECT pg_cancel_backend($first->{pid})");
my (undef, $complaint) = $first->result;
like($complaint, qr/WARNING: +caught$/m, 'a block catches the cancel request');
$node->safe_psql('postgres', q{SELECT injection_points_detach('comb-seats-attach')});
is($node->safe_psql('postgres', "SELECT state FROM pg_stat_activity WHERE pid = $first->{pid}"),
	'idle', 'and leaves no transaction open');
$first->event;
$reader->reads_all('the session goes on');

#
# A reader looks for a transaction that was prepared before the server started.  The
# transaction ends meanwhile, and another takes its place among those that are prepared.
#
foreach my $end ('COMMIT', 'ROLLBACK')
{
	my $key = begin_event($writers[0]);
	$writers[0]->ask("PREPARE TRANSACTION 'before'");
	$_->quit foreach (@writers, $reader, $other, $first);
	$node->restart;
	$_->connect foreach (@writers, $reader, $other, $first);
	$reader->ask('SELECT injection_points_set_local()');
	$other->event;
	is($reader->poll, 0, "$end: a transaction prepared before the start holds the reader back");
	hold($reader, 'comb-seats-read', 'SELECT comb_settled()');
	$other->ask("$end PREPARED 'before'; BEGIN; SELECT pg_current_xact_id(); PREPARE TRANSACTION 'next'");
	my $bound = release($reader, 'comb-seats-read');
	cmp_ok($bound, 'le', $key, "$end: it is not passed by a reader that looks for it meanwhile");
	$other->ask("ROLLBACK PREPARED 'next'");
	$reader->reads_all("$end: nothing is lost");
}

$_->quit foreach (@writers, $reader, $other, $first);
$node->stop;
unlike(slurp_file($node->logfile), qr/PANIC|TRAP/, 'no server process failed by itself');
done_testing();
