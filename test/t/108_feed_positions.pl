# A reader with positions, which waits for no writer: schedules, crashes that give xids out
# again, and rows that are frozen or moved to other files.
#
# The reader's position is in the table place, but for crashes, which the reader survives.
use lib 'test/perl';
use CombSchedule;
use CombSession;
use CombTest;

my $setup = $CombSchedule::setup . q{
	CREATE TABLE scratch (i integer);
	CREATE FUNCTION late(since text) RETURNS text STABLE LANGUAGE plpgsql AS 'BEGIN PERFORM wait_here(); RETURN since; END';
	CREATE FUNCTION made() RETURNS uuid LANGUAGE plpgsql AS 'BEGIN RETURN comb_generate_ordered(); END';
	CREATE PROCEDURE nested(n integer, rows integer) LANGUAGE plpgsql AS
	$$
	BEGIN
		FOR i IN 1..n LOOP
			BEGIN
				INSERT INTO event (what) SELECT 'nested' FROM generate_series(1, rows);
				INSERT INTO scratch VALUES (i);
			EXCEPTION WHEN division_by_zero THEN NULL;
			END;
		END LOOP;
	END
	$$;
};

sub poll
{
	my ($position, $next) = @_;
	return "WITH got AS (INSERT INTO seen (id)
		SELECT event.id FROM (SELECT $position AS position FROM place OFFSET 0) AS p, event
		WHERE comb_unread(event.id, event.xmin, position) ORDER BY event.id RETURNING id),
	moved AS (UPDATE place SET position = $next)
	SELECT count(*) FROM got";
}

my %statements = (
	poll     => poll('position', 'comb_position(position)'),
	pollate  => poll('late(position)', 'comb_position(position)'),
	latenext => poll('position', 'comb_position(late(position))'),
	check    => $CombSchedule::once,
	place    => 'SELECT FROM place FOR UPDATE',
	shared   => q{WITH moved AS (UPDATE place AS new SET position = comb_position(old.position)
		FROM (SELECT * FROM place FOR UPDATE) AS old RETURNING old.position),
	got AS (INSERT INTO seen (id) SELECT id FROM moved, event WHERE comb_unread(id, event.xmin, position) RETURNING id)
	SELECT count(*) FROM got},
	# the function's commands come after the INSERT's
	made     => "INSERT INTO event (id, what) VALUES (made(), 'made')",
	sub      => q{SAVEPOINT s; INSERT INTO event (what) VALUES ('sub')},
	subxid   => 'SAVEPOINT x; INSERT INTO scratch VALUES (1)',
	release  => 'RELEASE s',
	nested   => 'CALL nested(N, 1)',
	empty    => 'CALL nested(N, 0)',
	declare  => 'DECLARE c CURSOR FOR SELECT event.id FROM place AS p, event WHERE comb_unread(event.id, event.xmin, position) ORDER BY event.id',
	# its condition is evaluated for each row
	cursor   => q{SET LOCAL enable_bitmapscan = off; SET LOCAL enable_indexscan = off;
		DECLARE cN CURSOR FOR SELECT what FROM event WHERE comb_unread(id, event.xmin, '')},
	one      => 'FETCH FROM cN',
	all      => 'FETCH ALL FROM cN',
	scratch  => 'INSERT INTO scratch VALUES (N)',
	update   => "UPDATE event SET what = 'updated' WHERE id = (SELECT id FROM event ORDER BY id DESC LIMIT 1)",
	delete   => 'DELETE FROM event WHERE id = (SELECT id FROM event ORDER BY id DESC LIMIT 1)',
	freeze   => 'VACUUM FREEZE event',
	full     => 'VACUUM FULL event',
	cluster  => 'CLUSTER event USING event_pkey',
	settled  => 'SELECT count(*) FROM event WHERE id < comb_settled()',
	# which rows a poll would read again
	again    => q{SELECT count(*) FROM event, (SELECT position AS p FROM place) AS place
		WHERE id >= comb_position_bound(p) AND (id < comb_position_edge(p, 1) OR id >= comb_position_edge(p, 2))},
	behind   => 'SELECT count(*) FROM event, place WHERE id < comb_position_bound(position)');

my $node = server('main', conf => q{
autovacuum = off
max_prepared_transactions = 5
wal_writer_delay = 10s
}, sql => $setup);
my $schedule = CombSchedule->new($node, 'a b r u w z', statements => \%statements);

$schedule->test(q{
	# the reader waits for nobody, and comes back
	a.begin a.event b.event r.poll=1 b.event r.poll=1 r.poll=0 a.event r.poll=0 a.commit r.poll=2 r.poll=0 r.check
	a.begin a.key b.event r.poll=1 a.late b.event r.poll=1 a.commit r.poll=1 r.check
	a.begin z.begin a.event z.event b.event r.poll=1 a.commit r.poll=1 b.event r.poll=1 z.event z.commit r.poll=2 r.check
	a.begin a.event b.event r.poll=1 a.rollback r.poll=0 b.event r.poll=1 r.check
	a.begin a.xid r.poll=0 a.event b.event r.poll=1 a.commit r.poll=1 r.check
	# the bound follows comb_settled()
	a.begin a.event b.event r.poll=1 r.behind=0 a.commit r.poll=1 r.behind=2 r.check
	# subtransactions
	a.begin a.sub b.event r.poll=1 a.commit r.poll=1 r.check
	a.begin a.sub b.event r.poll=1 a.release r.poll=0 a.event a.commit r.poll=2 r.check
	a.begin a.sub b.event r.poll=1 a.undo a.sub r.poll=0 a.commit r.poll=1 r.check
	a.begin a.event a.sub b.event a.sub r.poll=1 a.commit r.poll=3 r.check
	a.begin a.nested60 b.event r.poll=1 a.sub r.poll=0 a.commit r.poll=61 r.check
	# more of them than a snapshot knows: rows below comb_settled() only
	b.event a.begin a.nested70 b.event r.poll=1 r.poll=0 a.commit r.poll=71 r.check
	b.event r.poll=1 a.begin a.event b.event r.poll=1 z.begin z.empty70 b.event r.poll=0 r.poll=0 z.rollback r.poll=1 a.commit r.poll=1 r.check
	b.event r.poll=1 a.begin a.event b.event r.poll=1 z.begin z.nested70 b.event r.poll=0 z.rollback r.poll=1 a.commit r.poll=1 r.check
	b.event r.poll=1 a.begin a.event b.event r.poll=1 z.begin z.nested70 b.event a.commit r.poll=1 r.behind=3 z.commit r.poll=71 r.check
	# a second poll of the transaction has the same snapshot but for them
	a.begin a.sub a.release z.xid r.poll=0 r.begin r.poll=0 a.nested70 a.prepare1 r.poll=0 r.commit b.commitp1 r.poll=71 r.check
	u.begin u.sub a.begin a.sub a.release z.xid r.poll=0 r.begin r.poll=0 a.nested70 a.prepare1 r.poll=0 r.commit b.commitp1 u.commit r.poll=72 r.check
	# keys between those of open transactions are not read again
	a.begin a.event b.pause20 b.event r.poll=1 r.gaps=1 r.again=0 r.behind=0 a.event b.event a.commit r.poll=3 r.again=0 r.check
	a.begin a.event b.event b.pause20 b.event r.poll=2 a.sub b.pause20 b.event b.event r.poll=2 r.gaps=1 r.again=2 a.commit r.poll=2 r.check
	a.begin a.key b.pause20 b.event r.poll=1 r.gaps=1 r.again=0 a.late a.commit r.poll=1 r.check
	a.begin a.event b.pause20 b.event r.poll=1 r.gaps=1 a.rollback a.begin a.event b.pause20 b.event r.poll=1 r.again=0 a.commit r.poll=1 r.check
	a.begin a.event b.pause20 b.event z.begin z.event b.pause100 b.event r.poll=2 r.gaps=1 r.again=1 z.commit r.poll=1 r.again=0 a.commit r.poll=1 r.check
	# the longest gap is the first one, one in the middle, or the last one
	a.begin a.event b.pause300 b.event u.begin u.event b.pause20 b.event b.event w.begin w.event b.pause20 b.event b.event r.poll=5 r.gaps=1 r.again=4 a.commit r.poll=1 u.commit w.commit r.poll=2 r.check
	a.begin a.event b.pause20 b.event b.event u.begin u.event b.pause300 b.event w.begin w.event b.pause20 b.event r.poll=4 r.gaps=1 r.again=3 u.commit w.commit a.commit r.poll=3 r.check
	a.begin a.event b.pause20 b.event b.event u.begin u.event b.pause300 b.event r.poll=3 r.gaps=1 r.again=2 u.commit a.commit r.poll=2 r.check
	a.begin a.event u.begin u.event b.pause20 a.event b.event r.poll=1 a.commit r.poll=2 u.commit r.poll=1 r.check
	a.begin a.event b.pause20 b.event r.repeatable r.count=1 a.commit r.poll=1 r.gaps=1 r.commit r.poll=1 r.check
	a.begin a.event b.pause20 b.event r.poll=1 z.begin z.nested70 b.event r.poll=0 r.gaps=1 r.again=1 a.commit r.poll=1 z.rollback r.poll=1 r.check
	a.begin a.event b.event b.pause20 b.event a.commit r.poll=3 r.gaps=0 r.again=0 r.check
	a.begin a.event b.pause20 b.event r.poll=1 r.gaps=1 b.update r.poll=0 a.commit r.poll=1 r.check
	a.begin a.event b.pause20 b.event a.prepare1 b.pause20 b.event r.poll=2 r.gaps=1 r.again=0 b.commitp1 r.poll=1 r.check
	a.begin a.event b.pause20 b.event u.begin u.event a.prepare1 u.prepare2 b.pause100 b.event r.poll=2 r.gaps=1 r.again=1 b.commitp1 b.commitp2 r.poll=2 r.check
	u.begin u.event b.pause20 a.begin a.event a.prepare1 b.rollbackp1 u.prepare2 b.pause20 b.event r.poll=1 r.gaps=1 b.commitp2 r.poll=1 r.check
	a.begin a.event u.begin u.event b.pause20 b.event u.prepare1 r.repeatable r.count=1 b.commitp1 a.prepare2 r.poll=1 r.commit r.poll=1 b.commitp2 r.poll=1 r.check
	a.begin a.event b.pause20 b.event a.prepare1 r.poll=1 r.gaps=1 restart b.pause20 b.event r.poll=1 r.gaps=0 b.commitp1 r.poll=1 r.check
	# prepared transactions
	a.begin a.event a.prepare1 b.event r.poll=1 b.commitp1 r.poll=1 r.check
	a.begin a.sub a.prepare1 b.event r.poll=1 b.event b.rollbackp1 r.poll=1 r.check
	a.begin a.nested9 a.prepare1 b.event r.poll=1 restart b.event r.poll=1 b.commitp1 r.poll=9 r.check
	a.begin a.sub b.event r.poll=1 a.prepare1 r.poll=0 crash b.event r.poll=1 b.commitp1 r.poll=1 r.check
	# the query asks after its snapshot
	a.begin a.event b.event w.lock r.pollate=1 a.commit b.event w.unlock r.poll=2 r.check
	a.begin a.event b.event w.lock r.latenext=1 a.commit b.event w.unlock r.poll=2 r.check
	a.begin a.sub b.event w.lock r.latenext=1 a.commit a.many12 w.unlock r.poll=13 r.check
	b.event w.lock r.latenext=1 b.event b.event w.unlock r.poll=2 r.check
	# the reader rolls back
	a.begin a.event b.event r.begin r.poll=1 r.rollback r.poll=1 a.commit r.begin r.poll=1 r.rollback r.poll=1 r.check
	# two readers share a position, and one of them waits with its snapshot
	b.event r.begin r.place u.shared=0 b.event r.shared=2 r.commit u.shared=0 b.event u.shared=1 r.check
	z.begin z.event b.event r.begin r.place u.shared=0 b.event r.shared=2 r.commit u.shared=0 z.commit u.shared=1 r.check
	a.begin a.event b.event r.begin r.place u.shared=0 a.commit r.shared=2 r.commit u.shared=0 r.check
	a.begin a.event r.begin r.shared=0 u.shared=0 b.event a.commit r.rollback u.shared=2 r.check
	# the one that waits has an xid, which its own snapshot does not have
	z.begin z.event r.shared=0 u.shared=0 u.begin u.xid a.begin a.event b.xid r.begin r.place u.shared=0 a.commit r.shared=1 r.commit u.commit r.shared=0 z.commit r.shared=1 r.check
	z.begin z.event r.shared=0 u.shared=0 u.begin u.xid a.begin a.event b.xid r.begin r.shared=0 a.commit u.shared=1 r.commit u.commit r.shared=0 z.commit r.shared=1 r.check
	# the reader's transaction has an xid, and updates a row that it has not got
	b.event a.begin a.event r.begin r.xid b.xid r.poll=1 a.commit r.update r.commit r.poll=1 r.check
	z.begin z.event a.begin a.event r.begin r.subxid b.xid r.poll=0 a.commit r.update r.commit r.poll=1 z.commit r.poll=1 r.check
	# one snapshot for the whole transaction
	b.event r.repeatable r.poll=1 b.event a.begin a.event r.poll=0 r.commit r.poll=1 a.commit r.poll=1 r.check
	a.begin a.event r.repeatable r.count=0 a.commit b.event r.poll=0 r.commit r.poll=2 r.check
	# rows of the reader's own transaction
	r.begin r.event r.poll=0 b.event r.poll=0 r.commit r.poll=2 r.check
	r.begin r.poll=0 r.event r.poll=0 r.event r.commit r.poll=2 r.check
	r.begin r.poll=0 r.made r.poll=0 r.commit r.poll=1 r.check
	r.begin b.event r.poll=1 r.event r.poll=0 r.rollback b.event r.poll=2 r.check
	r.begin b.event r.poll=1 r.event r.commit r.poll=1 r.check
	# a cursor goes on when its transaction makes its first key, and a later one sees what is settled
	a.begin a.event b.event b.event b.event r.begin r.cursor1 r.scratch1 r.cursor2 r.one2=event r.one1=event r.event r.all1=event,event r.cursor3 r.all3 a.commit r.all2=event,event r.commit r.poll=5 r.check
	# rows that are updated, deleted, frozen or moved
	a.begin a.event b.event r.poll=1 b.delete a.commit r.poll=1
	a.begin a.event b.event a.event r.poll=1 b.update r.poll=1 a.commit r.poll=2
	b.event r.poll=1 b.update r.poll=0 r.check
	a.begin a.event b.event r.poll=1 b.freeze a.commit b.freeze r.poll=1 r.check
	u.begin u.key a.begin a.event b.event r.poll=1 a.commit b.freeze r.poll=1 b.full b.event r.poll=1 b.cluster r.poll=0 u.late u.commit r.poll=1 b.full r.poll=0 r.check
	# Snowflakes
});

#
# A crash loses xids of asynchronous commits, which other transactions get again.  The reader has
# kept what it read, and its position.
#
my $crashed = server('crash', conf => "autovacuum = off\nwal_writer_delay = 10s\n", sql => $CombSession::setup);
my $reused  = 0;
foreach my $round (1 .. 5)
{
	my ($writer, $idle) = map { CombSession->new($crashed) } 1 .. 2;
	my $from = $crashed->safe_psql('postgres', "CHECKPOINT; SELECT comb_position_after(comb_generate_ordered())");
	# one statement gives both
	my $poll = sub {
		my ($position) = @_;
		my ($next, @ids) = split(/\n/, $crashed->safe_psql('postgres', qq{
			SELECT coalesce(id::text, position) FROM (
				SELECT position, NULL::uuid AS id FROM comb_position('$position') AS position
				UNION ALL SELECT NULL, id FROM event WHERE comb_unread(id, xmin, '$position')) AS rows}));
		return ($next, @ids);
	};
	# In rounds without an idle writer, the next xid after the crash is below all xids of the position.
	my $idles = $round % 2;
	$idle->ask("BEGIN; INSERT INTO event (what) VALUES ('idle')") if $idles;
	$writer->ask("SET synchronous_commit = off; INSERT INTO event (what) VALUES ('lost')") foreach (1 .. ($idles ? 5 : 200));
	my ($position, @first) = $poll->($from);
	crash($crashed);
	$_->quit foreach ($writer, $idle);
	$crashed->start;
	my %kept = map { $_ => 1 } split(/\n/, $crashed->safe_psql('postgres', 'SELECT id FROM event'));
	$crashed->safe_psql('postgres', "INSERT INTO event (what) VALUES ('new')") foreach (1 .. ($idles ? 5 : 1));
	my @new = grep { !$kept{$_} } split(/\n/, $crashed->safe_psql('postgres', 'SELECT id FROM event ORDER BY id'));
	$reused += grep { !$kept{$_} } @first;
	(undef, my @second) = $poll->($position);
	is("@{[ sort @second ]}", "@new", "round $round: after a crash, the rows that are new, and no others");
}

#
# Xids of the next epoch: an old position is refused, and its bound is of use
#
{
	my $position = $crashed->safe_psql('postgres', "SELECT comb_position('')");
	my $unread   = sub { return "SELECT count(*) FROM event WHERE comb_unread(id, xmin, $_[0])" };
	is($crashed->safe_psql('postgres', $unread->("'$position'")), 0, 'a position of this epoch');
	$crashed->stop;
	system_or_bail('pg_resetwal', '-f', '-e', 1, $crashed->data_dir);
	$crashed->start;
	$crashed->safe_psql('postgres', 'INSERT INTO event DEFAULT VALUES');
	my (undef, undef, $err) = $crashed->psql('postgres', $unread->("'$position'"), extra_params => [ '-v', 'VERBOSITY=verbose' ]);
	like($err, qr/^[^\n]*ERROR:  55000: position is too old\nDETAIL:  \d{10} transactions.*\nHINT: .*comb_position_after\(\)/, 'it is too old');
	is($crashed->safe_psql('postgres', "SELECT count(*) FROM event WHERE id >= comb_position_bound('$position')"), 1, 'its bound is right');
	my ($idle, $writer) = map { CombSession->new($crashed) } 1 .. 2;
	$idle->ask('BEGIN; SAVEPOINT s; INSERT INTO event DEFAULT VALUES');
	$writer->event;
	my $next = $crashed->safe_psql('postgres', "SELECT comb_position('')");
	is($crashed->safe_psql('postgres', $unread->("'$next'")), 0, 'a position of the next epoch');
	$idle->ask('COMMIT');
	is($crashed->safe_psql('postgres', $unread->("'$next'")), 1, 'its snapshot knows subtransactions');
	$_->quit foreach ($idle, $writer);
}
cmp_ok($reused, '>', 0, "$reused rows that were read are gone with their xids");
done_testing();
