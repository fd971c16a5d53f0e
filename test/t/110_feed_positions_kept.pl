# A position beside what else happens to its tables and its server: rewrites, COPY FREEZE, views,
# exported snapshots, two tables, other databases, and a failover.  doc/feed_readers.md says what
# is promised.
use lib 'test/perl';
use CombFeed;
use CombSession;
use CombTest;

my $node = server('main', init => [ allows_streaming => 1 ], conf => q{
autovacuum = off
max_prepared_transactions = 5
pg_comb.lease_duration = 1min
}, sql => $CombSession::setup . q{
	CREATE TABLE other (id uuid PRIMARY KEY DEFAULT comb_generate_ordered(), what text);
	CREATE VIEW shown AS SELECT id, what, xmin FROM event;
	CREATE VIEW hidden AS SELECT id, what FROM event;
});
my ($idle, $writer, $reader) = map { CombSession->new($node) } 1 .. 3;
our $position = '';

# A page of history and a token, and what comes after the token
sub stream
{
	my ($token) = @_;
	my $recipe = defined $token ? recipe('stream-next') : recipe('stream-page');
	my @rows = map { [ split(/\|/) ] } split(/\n/, $reader->ask($recipe =~ s/\$tenant/7/gr =~ s/\$token/'$token'/gr));
	return ($rows[0][0], join(' ', map { $_->[2] // () } @rows));
}
$writer->ask(q{CREATE TABLE act (tenant integer, id uuid DEFAULT comb_generate_ordered(), body text, PRIMARY KEY (tenant, id));
	INSERT INTO act (tenant, body) SELECT n % 2 + 7, n FROM generate_series(1, 120) AS n});
$idle->ask(q{BEGIN; INSERT INTO act (tenant, body) VALUES (7, 'late'), (8, 'of another')});
$writer->ask(q{INSERT INTO act (tenant, body) VALUES (7, 'seen')});
my ($token, $page) = stream();
is($page, join(' ', (map { 2 * $_ } 12 .. 60), 'seen'), 'a page has the newest rows of a tenant');
($token, $page) = stream($token);
is($page, '', 'which do not come again');
$writer->ask(q{INSERT INTO act (tenant, body) VALUES (7, 'new')});
$idle->ask('COMMIT');
my ($next, $rows) = stream($token);
is($rows, 'late new', 'what was open beside the page comes after it');
is((stream($token))[1], 'late new', 'and again to the old token, as after a lost connection');
is((stream($next))[1], '', 'and not to the next');
# Beside many subtransactions a page ends where polls do.
$idle->ask(q{BEGIN; INSERT INTO act (tenant, body) VALUES (7, 'held'); CREATE TEMP TABLE scratch (i integer)});
$idle->ask("SAVEPOINT s; INSERT INTO scratch VALUES ($_); RELEASE s") foreach 1 .. 70;
$writer->ask(q{INSERT INTO act (tenant, body) VALUES (7, 'beside')});
($token, $page) = stream();
like($page, qr/ late seen new\z/, 'a page beside many subtransactions has only rows below comb_settled()');
$idle->ask('COMMIT');
is((stream($token))[1], 'held beside', 'the others come once, after it');
$writer->ask('DROP TABLE act');

# One statement reads what is new in tables and makes the next position.
sub poll
{
	my ($session, @tables) = @_;
	my $rows = join(' ', map { "UNION ALL SELECT '', what FROM $_ WHERE comb_unread(id, $_.xmin, '$position')" } @tables ? @tables : 'event');
	my ($next, @what) = split(/\n/, $session->ask("SELECT * FROM (SELECT comb_position('$position') AS position, NULL AS what $rows) AS rows ORDER BY what NULLS FIRST"));
	$position = $next =~ s/\|$//r;
	return join(' ', map { s/^\|//r } @what);
}

sub row
{
	my ($session, @what) = @_;
	return $session->ask('INSERT INTO event (what) VALUES ' . join(', ', map { "('$_')" } @what));
}

# A transaction that is open has keys on both sides of these rows, so polls read the rows again.
sub rows_held
{
	$idle->ask('BEGIN; SELECT comb_generate_ordered()');
	row($writer, @_);
	return $idle->ask('SELECT comb_generate_ordered()');
}

#
# Rewrites
#
row($writer, 'zero');
is(poll($reader), 'zero', 'the first row');
rows_held('one', 'two');
is(poll($reader), 'one two', 'rows beside an open transaction');
is(poll($reader), '', 'come once');
row($writer, 'three');
$writer->ask('ALTER TABLE event ADD COLUMN n integer; ALTER TABLE event ALTER COLUMN n TYPE bigint USING 0');
is(poll($reader), 'one three two', 'after a rewrite, rows above the bound come again, and none below');
$idle->ask("INSERT INTO event (what) VALUES ('late'); COMMIT");
is(poll($reader), 'late', 'the row of the open transaction');
$writer->ask('ALTER TABLE event ALTER COLUMN n TYPE integer');
is(poll($reader), '', 'no rows come again when nothing is open');

# pg_repack waits for all open transactions, but not for prepared ones.
SKIP:
{
	skip 'pg_repack is not installed', 5
	  if $node->safe_psql('postgres', "SELECT count(*) FROM pg_available_extensions WHERE name = 'pg_repack'") == 0;
	$node->safe_psql('postgres', 'CREATE EXTENSION pg_repack');
	rows_held('four', 'five');
	$idle->ask(q{PREPARE TRANSACTION 'p'});
	is(poll($reader), 'five four', 'rows beside a prepared transaction');
	row($writer, 'six');
	my $file = $node->safe_psql('postgres', q{SELECT pg_relation_filenode('event')});
	$node->command_ok([ 'pg_repack', '-h', $node->host, '-p', $node->port, '-d', 'postgres', '-t', 'event' ], 'pg_repack');
	isnt($node->safe_psql('postgres', q{SELECT pg_relation_filenode('event')}), $file, 'it writes the table anew');
	is(poll($reader), 'five four six', 'rows above the bound come again, and none below');
	$writer->ask(q{COMMIT PREPARED 'p'});
	is(poll($reader), '', 'and not once more');
}

#
# COPY FREEZE
#
my $freeze = q{TRUNCATE event; COPY event (what) FROM PROGRAM 'echo frozen' WITH (FREEZE)};
$reader->ask('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM other');
$writer->ask("BEGIN; $freeze; COMMIT");
is(poll($reader), '', 'frozen rows are visible to older snapshots, which read none');
$reader->ask('COMMIT');
is(poll($reader), 'frozen', 'they come to a new one');
is(poll($reader), '', 'once');
rows_held('truncated');
$writer->ask("BEGIN; $freeze; COMMIT");
$idle->ask('SELECT comb_generate_ordered()');
is(poll($reader), 'frozen', 'a frozen row beside an open transaction');
is(poll($reader), '', 'comes once');
$idle->ask('COMMIT');

#
# Views
#
row($writer, 'of a view');
like($reader->complaints("SELECT what FROM hidden WHERE comb_unread(id, hidden.xmin, '$position')"), qr/ERROR:  42703: column hidden.xmin does not exist/, 'a view without xmin');
is(poll($reader, 'shown'), 'of a view', 'a view with xmin');
is(poll($reader, 'shown'), '', 'shows the row once');

#
# Two tables with one position
#
$idle->ask("BEGIN; INSERT INTO other (what) VALUES ('late other'); INSERT INTO event (what) VALUES ('late event')");
row($writer, 'event');
$writer->ask("INSERT INTO other (what) VALUES ('other')");
is(poll($reader, 'event', 'other'), 'event other', 'two tables');
$idle->ask('COMMIT');
is(poll($reader, 'event', 'other'), 'late event late other', 'and rows that commit late');
is(poll($reader, 'event', 'other'), '', 'come once');

#
# Exported snapshots
#
{
	my $exporter = CombSession->new($node);
	$idle->ask("BEGIN; INSERT INTO event (what) VALUES ('top'); SAVEPOINT s; INSERT INTO event (what) VALUES ('sub')");
	row($writer, 'before');
	my $snapshot = $exporter->ask('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT pg_export_snapshot()');
	row($writer, 'after');
	my $import = "BEGIN ISOLATION LEVEL REPEATABLE READ; SET TRANSACTION SNAPSHOT '$snapshot'";
	$reader->ask($import);
	is(poll($reader), 'before', 'an imported snapshot');
	$reader->ask('COMMIT');
	is(poll($reader), 'after', 'a newer snapshot');
	$reader->ask($import);
	is(poll($reader), '', 'the imported one again');
	$reader->ask('COMMIT');
	$idle->ask('COMMIT');
	row($writer, 'end');
	is(poll($reader), 'end sub top', 'and a new one');
	is(poll($reader), '', 'each row comes once');
	$exporter->quit;
}

#
# Another database has the rows, as after a dump and restore.
#
rows_held('held');
is(poll($reader), 'held', 'a row before the copy');
row($writer, 'unread');
$idle->ask('COMMIT');
$_->quit foreach ($idle, $writer, $reader);
$node->safe_psql('template1', 'CREATE DATABASE copy TEMPLATE postgres');
{
	my $there = CombSession->new($node, 'copy');
	like($there->complaints("SELECT count(*) FROM event WHERE comb_unread(id, event.xmin, '$position')"),
		qr/ERROR:  22023: position is of another database\nDETAIL: .*\nHINT: .*comb_position_after/, 'another database');
	my $bound = (split(/ /, $position))[3];
	local $position = $there->ask("SELECT comb_position_after((SELECT id FROM event WHERE id < '$bound' ORDER BY id DESC LIMIT 1))");
	is(poll($there), 'held unread', 'begun again below the bound: rows above it come again, and none is lost');
	is(poll($there), '', 'they come once');
	$there->quit;
}

#
# A failover.  The standby has not received the last rows, whose xids it gives out again.
#
$_->connect foreach ($idle, $writer, $reader);
is(poll($reader), 'unread', 'the reader goes on');
my $standby = standby($node, 'standby');
like(error_of($standby, 'postgres', "SELECT comb_position('$position')"), qr/ERROR:  55000/, 'a standby has no position');
$idle->ask("BEGIN; INSERT INTO event (what) VALUES ('never'); SAVEPOINT s; INSERT INTO event (what) VALUES ('never')");
$writer->ask("BEGIN; INSERT INTO event (what) VALUES ('prepared'); SAVEPOINT s; INSERT INTO event (what) VALUES ('sub'); PREPARE TRANSACTION 'p'");
row($writer, 'received');
$node->wait_for_catchup($standby, 'replay', $node->lsn('insert'));
$standby->stop;
row($writer, "gone$_") foreach (1 .. 5);
is(poll($reader), 'gone1 gone2 gone3 gone4 gone5 received', 'rows that the standby does not get');
my $xmax = (split(/:/, $position))[1];
$_->quit foreach ($idle, $writer, $reader);
$node->stop('immediate');
$standby->start;
$standby->promote;
($writer, $reader) = map { CombSession->new($standby) } 1 .. 2;
is(poll($reader), '', 'on the promoted standby nothing comes again');
row($writer, "new$_") foreach (1 .. 5);
is($writer->ask("SELECT count(*) > 0 FROM event WHERE what LIKE 'new%' AND xmin::text::bigint < $xmax"), 't', 'xids come again');
is(poll($reader), 'new1 new2 new3 new4 new5', 'new rows come');
$writer->ask("COMMIT PREPARED 'p'");
is(poll($reader), 'prepared sub', 'as do those that were prepared');
is(poll($reader), '', 'once');
$_->quit foreach ($writer, $reader);
$standby->stop;
done_testing();
