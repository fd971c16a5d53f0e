# Readers of events on another server, by postgres_fdw: which of them lose rows
#
# In each part one transaction has the smaller key and commits late.  "main" is the
# server that is asked, and "far" has the rows.
use strict;
use warnings;

use FindBin qw($RealBin);
use lib "$RealBin/../perl";
use CombSession;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my ($main, $far) = map { PostgreSQL::Test::Cluster->new($_) } qw(main far);
foreach my $node ($main, $far)
{
	$node->init;
	$node->append_conf('postgresql.conf', "fsync = off\nautovacuum = off\n");
	$node->start;
}

# outbox is written on "far", and note through "main", which makes note's keys.  A
# query of slow_outbox or slow_note waits on "far" after it has its snapshot there.
$far->safe_psql('postgres', $CombSession::setup . q{
	CREATE TABLE outbox (id uuid PRIMARY KEY DEFAULT comb_generate_ordered(), what text);
	CREATE TABLE note (id uuid PRIMARY KEY, what text);
	CREATE FUNCTION held() RETURNS boolean STABLE LANGUAGE plpgsql AS
	$$
	BEGIN
		PERFORM pg_advisory_lock_shared(1);
		PERFORM pg_advisory_unlock_shared(1);
		RETURN true;
	END
	$$;
	CREATE VIEW outbox_settled AS SELECT * FROM outbox WHERE id < comb_settled();
	CREATE VIEW slow_outbox AS SELECT * FROM outbox WHERE id < comb_settled() AND (SELECT held());
	CREATE VIEW slow_note AS SELECT * FROM note WHERE (SELECT held());
});

# postgres_fdw evaluates parameters with pg_catalog as the search_path.
my ($host, $port) = ($far->host, $far->port);
$main->safe_psql('postgres', $CombSession::setup . qq{
	CREATE EXTENSION postgres_fdw;
	CREATE SERVER far FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '$host', port '$port', dbname 'postgres');
	CREATE USER MAPPING FOR CURRENT_USER SERVER far;
	CREATE FOREIGN TABLE outbox (id uuid, what text) SERVER far;
	CREATE FOREIGN TABLE outbox_settled (id uuid, what text) SERVER far;
	CREATE FOREIGN TABLE slow_outbox (id uuid, what text) SERVER far;
	CREATE FOREIGN TABLE note (id uuid DEFAULT comb_generate_ordered(), what text) SERVER far;
	CREATE FOREIGN TABLE slow_note (id uuid, what text) SERVER far;
	CREATE FOREIGN TABLE estimated_note (id uuid, what text) SERVER far
		OPTIONS (table_name 'note', use_remote_estimate 'true');
	CREATE FUNCTION slow_settled() RETURNS uuid STABLE LANGUAGE plpgsql SET search_path = public AS
		'BEGIN RETURN late_settled(); END';
});

# What a poll sends, and what it checks itself
sub plan_of
{
	my ($sql) = @_;
	return $main->safe_psql('postgres', "EXPLAIN (VERBOSE, COSTS OFF) $sql");
}

# Let the late transaction and then a prompt one make their keys.
sub late_and_prompt
{
	my ($node, $table) = @_;
	my ($late, $prompt) = map { CombSession->new($node, 'postgres', table => $table) } 1 .. 2;

	$late->ask('BEGIN');
	$late->event;
	$prompt->event;
	$prompt->quit;
	return $late;
}

# Run a reader's query.  Let the transaction commit while the query waits for the lock
# of this server.
sub commit_meanwhile
{
	my ($node, $reader, $sql, $late) = @_;
	my $holder = CombSession->new($node);

	$holder->ask('SELECT pg_advisory_lock(1)');
	$reader->send($sql);
	$holder->ask(q{
		DO $$
		BEGIN
			FOR i IN 1 .. 2000 LOOP
				EXIT WHEN EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted);
				PERFORM pg_sleep(0.01);
			END LOOP;
		END $$});
	$late->ask('COMMIT');
	$holder->ask('SELECT pg_advisory_unlock(1)');
	$holder->quit;
	$late->quit;
	my ($out, $err) = $reader->result;
	die $err if $err =~ /ERROR: /;
	return $reader->take($out);
}

# A reader of what comes after all keys that "main" has made
sub reader
{
	my ($table) = @_;
	my $start = $main->safe_psql('postgres', 'SELECT comb_generate_ordered()');
	return CombSession->new($main, 'postgres', table => $table, start => $start, last => $start);
}

# Count the rows that the reader has passed and did not get.
sub lost
{
	my ($reader, $table) = @_;
	my %seen = map { $_ => 1 } @{ $reader->{got} };
	my @passed = split(/\n/, $far->safe_psql('postgres',
		"SELECT id FROM $table WHERE id > '$reader->{start}' AND id < '$reader->{last}'"));

	return scalar(grep { !$seen{$_} } @passed);
}

#
# Keys of "far", and the bound of "main"
#
my $reader = reader('outbox');
my $late = late_and_prompt($far, 'outbox');
$main->safe_psql('postgres', 'SELECT comb_generate_ordered()');
unlike(plan_of($reader->query('comb_settled()')), qr/Remote SQL: .*comb_settled/, "the bound is this server's");
is($reader->poll, 1, 'it passes an open transaction of the other server');
$late->ask('COMMIT');
$late->quit;
is($reader->poll, 0, 'whose row the reader does not get');
is(lost($reader, 'outbox'), 1, 'so the row is lost');
$reader->quit;

#
# Keys of "far", and a view there
#
$reader = reader('outbox_settled');
my $all = "SELECT id FROM outbox_settled WHERE id > '%s' ORDER BY id LIMIT 1000";
like(plan_of(sprintf($all, CombSession::NIL)), qr/Remote SQL: SELECT id FROM public\.outbox_settled WHERE \(\(id > .*ORDER BY id/,
	'a view: the other server chooses and sorts the rows');
my $poll = sub { $reader->take($reader->ask(sprintf($all, $reader->{last}))) };
$late = late_and_prompt($far, 'outbox');
is($poll->(), 0, 'an open transaction holds the reader back');
is( commit_meanwhile($far, $reader, "SELECT id FROM slow_outbox WHERE id > '$reader->{last}' ORDER BY id", $late),
	0, 'also if it commits while the query runs');
is($poll->(), 2, 'then both rows come');
$late = late_and_prompt($far, 'outbox');
$reader->ask('BEGIN');
is($poll->(), 0, 'a poll in a transaction');
$late->ask('COMMIT');
$late->quit;
is($poll->(), 0, 'a second one sees what the first one saw');
$reader->ask('COMMIT');
is($poll->(), 2, 'and the next transaction gets both rows');
is(lost($reader, 'outbox'), 0, 'no row is lost');
$reader->quit;

#
# Keys of "main", and rows on "far": the bound after the snapshot
#
$reader = reader('slow_note');
$late = late_and_prompt($main, 'note');
is(commit_meanwhile($far, $reader, $reader->query('comb_settled()'), $late), 1, 'a condition on a foreign table is checked after its rows are there');
is(lost($reader, 'note'), 1, 'so a row is lost');
$reader->quit;

$reader = reader('note');
$late = late_and_prompt($main, 'note');
$reader->ask('BEGIN');
is($reader->poll, 0, 'the first poll of a transaction');
$late->ask('COMMIT');
$late->quit;
is($reader->poll, 1, 'the second has a later bound, and the snapshot of the first');
$reader->ask('COMMIT');
is($reader->poll, 0, 'the next transaction does not find the row');
is(lost($reader, 'note'), 1, 'so a row is lost');
$reader->quit;

# A sub-select is evaluated first, unless the plan, or another part of the query, has
# asked the other server before.
$reader = reader('slow_note');
$late = late_and_prompt($main, 'note');
is(commit_meanwhile($far, $reader, $reader->query('(SELECT comb_settled())'), $late), 0, 'a sub-select has its bound before');
is($reader->poll, 2, 'and then both rows come');
$reader->quit;

$reader = reader('estimated_note');
$late = late_and_prompt($main, 'note');
is(commit_meanwhile($main, $reader, $reader->query('(SELECT slow_settled())'), $late), 1, 'but not if the planner asks the other server for estimates');
is(lost($reader, 'note'), 1, 'so a row is lost');
$reader->quit;

#
# Keys of "main", and rows on "far": the bound in a transaction of its own
#
$reader = reader('slow_note');
$late = late_and_prompt($main, 'note');
my $bound = $reader->ask('SELECT comb_settled()');
is(commit_meanwhile($far, $reader, $reader->query("'$bound'"), $late), 0, 'a bound read before');
$bound = $reader->ask('SELECT comb_settled()');
is($reader->take($reader->ask($reader->query("'$bound'"))), 2, 'then both rows come');
$reader->quit;

$_->stop foreach ($main, $far);
done_testing();
