# A position beside what else happens to its tables and its server: rewrites, COPY FREEZE, views,
# exported snapshots, two tables, other databases, and a failover.  doc/feed_readers.md says what
# is promised.
use lib 'test/perl';
use CombFeed;
use CombSchedule;
use CombSession;
use CombTest;

my $node = server('main', init => [ allows_streaming => 1 ], conf => q{
autovacuum = off
max_prepared_transactions = 5
pg_comb.lease_duration = 1min
}, sql => $CombSchedule::setup . q{
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
# A token that is older than the deleted rows which are kept gets no row, not even the next token.
is($reader->ask(recipe('stream-next') =~ s/\$tenant/7/gr =~ s/\$token/comb_position_after(comb_at(now() - interval '91 days'))/gr), '',
	'a token from before the deleted rows that are kept is refused');
isnt($reader->ask(recipe('stream-next') =~ s/\$tenant/7/gr =~ s/\$token/comb_position_after(comb_at(now() - interval '89 days'))/gr), '',
	'and one from after is not');
is($reader->ask(recipe('stream-next') =~ s/\$tenant/7/gr =~ s/\$token/''/gr), '', 'the beginning is as old');
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
# Rewrites, COPY FREEZE, views, exported snapshots and two tables.  Row 1 has "1" in the column what.  The reader's
# position is a variable of psql, and "pos" shows what has come.
#
sub pos_in
{
	my $rows = join(' UNION ALL ', map { "SELECT what FROM $_ WHERE comb_unread(id, $_.xmin, :'position')" } @_);
	return "SELECT comb_position(:'position') AS next, (SELECT coalesce(string_agg(what, '+' ORDER BY what), '-') FROM ($rows) AS r) AS got \\gset\n"
	  . "\\set position :next\nSELECT :'got'";
}

my $file;
my $of_file = 'SELECT pg_relation_filenode($$event$$)';
my $schedule = CombSchedule->new($node, 'b i r x', clean => 'TRUNCATE event, other, seen', statements => {
	start  => q{\set position ''},
	pos    => pos_in('event'),
	view   => pos_in('shown'),
	two    => pos_in('event', 'other'),
	hidden => "SELECT FROM hidden WHERE comb_unread(id, hidden.xmin, :'position')",
	row    => "INSERT INTO event (what) VALUES ('N')",
	sub    => "SAVEPOINT s; INSERT INTO event (what) VALUES ('N')",
	other  => "INSERT INTO other (what) VALUES ('N')",
	others => 'SELECT count(*) FROM other',
	grow   => 'ALTER TABLE event ADD COLUMN n integer; ALTER TABLE event ALTER COLUMN n TYPE bigint USING 0',
	shrink => 'ALTER TABLE event ALTER COLUMN n TYPE integer',
	freeze => "BEGIN; TRUNCATE event; COPY event (what) FROM PROGRAM 'echo N' WITH (FREEZE); COMMIT",
	repack => sub {
		$file = $_[0]->observe($of_file);
		$node->command_ok([ 'pg_repack', '-h', $node->host, '-p', $node->port, '-d', 'postgres', '-t', 'event' ], 'pg_repack');
		isnt($_[0]->observe($of_file), $file, 'it writes the table anew');
		return;
	} });
$schedule->test(q{
	# rows that come again to each poll, because a transaction has keys on both sides, come once to the reader.
	# After a rewrite those above the bound come again, and none below, nor any when nothing is open.
	r.start b.row0 r.pos=0 i.begin i.key b.row1 b.row2 i.key r.pos=1+2 r.pos=- b.row3 b.grow r.pos=1+2+3 i.row4 i.commit r.pos=4 b.shrink r.pos=-
	# frozen rows are visible to older snapshots, which read none
	r.start b.row0 r.pos=0 r.repeatable r.others=0 b.freeze1 r.pos=- r.commit r.pos=1 r.pos=-
	r.start i.begin i.key b.row0 i.key b.freeze1 i.key r.pos=1 r.pos=- i.commit
	# a view without xmin, and one with it
	r.start b.row1 r.hidden=42703 r.view=1 r.view=-
	# two tables with one position
	r.start i.begin i.other1 i.row2 b.row3 b.other4 r.two=3+4 i.commit r.two=1+2 r.two=-
	# exported snapshots
	r.start i.begin i.row1 i.sub2 b.row3 x.repeatable x.export b.row4 r.import r.pos=3 r.commit r.pos=4 r.import r.pos=- r.commit i.commit b.row5 r.pos=1+2+5 r.pos=- x.commit
});

# pg_repack waits for all open transactions, but not for prepared ones.
SKIP:
{
	skip 'pg_repack is not installed (Debian: postgresql-NN-repack)', 3
	  if $node->safe_psql('postgres', "SELECT count(*) FROM pg_available_extensions WHERE name = 'pg_repack'") == 0;
	$node->safe_psql('postgres', 'CREATE EXTENSION pg_repack');
	$schedule->test('r.start i.begin i.key b.row0 b.row1 i.key i.prepare1 r.pos=0+1 b.row2 repack r.pos=0+1+2 b.commitp1 r.pos=-');
}
$_->quit foreach $schedule->all;

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
