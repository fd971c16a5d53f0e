# A reader by the column comb_xid, of sql/portable/pg_comb_feed.sql: what it reads and leaves
# out, step by step, and each point of its contract in doc/feed_anywhere.md.
#
# A role that owns one schema, and nothing else, has the table and the position.
use lib 'test/perl';
use CombFeed;
use CombSchedule;
use CombSession;
use CombTest;

my $setup = q{
	CREATE ROLE app LOGIN;
	CREATE SCHEMA app AUTHORIZATION app;
	SET ROLE app;
	SET search_path = app;
	SET client_min_messages = warning;
	} . portable_feed() . q{
	CREATE TABLE orders (id bigserial PRIMARY KEY, body text);
	INSERT INTO orders (body) VALUES ('old'), ('old');} . recipe('feed-xid') . q{
	CREATE TABLE seen (id bigint);
};
my $node = server('main', init => [ allows_streaming => 'logical' ], conf => "autovacuum = off\nmax_connections = 30\nmax_prepared_transactions = 4", sql => $setup);

# The recipe for a table.  The ids go into the table seen, and their number is shown.
sub poll
{
	my ($table) = @_;
	my $sql = recipe('feed-position') =~ s/NULL::orders/NULL::$table/r;
	$sql =~ s/\)\nSELECT o\.\*(.*) ORDER BY id;/), got AS (INSERT INTO seen SELECT o.id$1 RETURNING 1) SELECT count(*) FROM got/ or die $sql;
	return $sql;
}

# The recipe for a client that keeps its position.  Return the next one, and the ids.
sub client_poll
{
	my ($session, $since, $recipe) = @_;
	my @rows = grep { /:/ } split(/\n/, $session->ask(($recipe // recipe('feed-client')) =~ s/\$since/defined $since ? "'$since'" : 'NULL'/er));
	return (map { (split(/\|/))[0] } $rows[0]), map { (split(/\|/))[1] || () } @rows;
}

my $reader = CombSession->new($node, 'postgres', user => 'app');
is($reader->ask(poll('orders')), 2, 'the first poll returns the rows of before');
$reader->ask(q{
	CREATE FUNCTION late(p pg_snapshot) RETURNS pg_snapshot VOLATILE LANGUAGE plpgsql AS
		'BEGIN PERFORM pg_advisory_lock_shared(1), pg_advisory_unlock_shared(1); RETURN p; END'});
my $schedule = CombSchedule->new($node, 'a b f r t', user => { map { $_ => 'app' } qw(a b f r t) },
	clean => 'TRUNCATE app.orders, app.seen; UPDATE app.orders_reader SET position = app.comb_feed_position()', statements => {
	count    => 'SELECT count(*) FROM orders',
	row      => "INSERT INTO orders (body) VALUES ('N')",
	sub      => "SAVEPOINT s; INSERT INTO orders (body) VALUES ('sub')",
	release  => 'RELEASE s',
	caught   => q{DO $$ BEGIN BEGIN INSERT INTO orders (body) VALUES ('caught'); EXCEPTION WHEN division_by_zero THEN NULL; END; END $$},
	chain    => "INSERT INTO orders (body) VALUES ('c1'); COMMIT AND CHAIN; INSERT INTO orders (body) VALUES ('c2'); COMMIT",
	change   => "UPDATE orders SET body = 'changed'",
	again    => 'UPDATE orders SET comb_xid = DEFAULT',
	delete   => 'DELETE FROM orders',
	passed   => 'DELETE FROM orders WHERE comb_xid < (SELECT min(pg_snapshot_xmin(position)) FROM orders_reader)',
	taken    => "INSERT INTO orders (comb_xid) VALUES ('3')",
	rewrite  => q{ALTER TABLE orders ALTER body TYPE text USING body || ''},
	places   => 'SELECT count(*) FROM orders_reader',
	full     => 'VACUUM (FULL, FREEZE) orders',
	place    => 'SELECT FROM orders_reader FOR UPDATE',
	poll     => poll('orders'),
	late     => poll('orders') =~ s/comb_feed_position\(\)/late($&)/r,
	check    => $CombSchedule::once =~ s/\bevent\b/orders/gr,

	# partitions, of a table with the same reader
	fresh    => q{SET client_min_messages = warning; DROP TABLE IF EXISTS part, part_2;
		CREATE TABLE part (id bigserial, p int, comb_xid xid8 NOT NULL DEFAULT pg_current_xact_id()) PARTITION BY LIST (p);
		CREATE INDEX ON part (comb_xid);
		CREATE TABLE part_1 PARTITION OF part FOR VALUES IN (1); CREATE TABLE part_2 (LIKE part INCLUDING DEFAULTS)},
	attach   => 'ALTER TABLE part ATTACH PARTITION part_2 FOR VALUES IN (2)',
	ready    => 'INSERT INTO part_2 (p) VALUES (2)',
	mark     => 'UPDATE part_2 SET comb_xid = DEFAULT',
	move     => 'UPDATE part SET p = 2 WHERE p = 1',
	join     => 'INSERT INTO part (p) VALUES (N)',
	parts    => poll('part'),
	lateparts => poll('part') =~ s/comb_feed_position\(\)/late($&)/r });
$schedule->test(q{
	# who is open holds back the own rows, and no others
	a.begin a.row1 b.row2 r.poll=1 b.row3 r.poll=1 a.commit r.poll=1 r.poll=0 r.check
	a.begin a.row1 r.poll=0 a.rollback b.row2 r.poll=1 r.check
	a.begin a.xid b.row1 r.poll=1 a.row2 r.poll=0 a.commit r.poll=1 r.check
	# a row of a subtransaction has the transaction's id
	a.begin a.sub a.release b.row1 r.poll=1 a.sub a.undo a.row2 a.caught r.poll=0 a.commit r.poll=3 r.check
	a.begin a.chain r.poll=2 r.check
	# prepared, also over a crash
	a.begin a.sub a.prepare1 b.row2 r.poll=1 crash b.row3 r.poll=1 b.commitp1 r.poll=1 r.check
	# the position is found, and then rows are committed, before the poll reads
	a.begin a.row1 t.lock r.late=0 a.commit b.row2 t.unlock r.poll=2 r.check
	# the reader rolls back
	b.row1 r.begin r.poll=1 r.rollback r.poll=1 r.check
	# rows of the reader's own transaction
	r.begin r.row1 r.poll=0 b.row2 r.poll=1 r.commit r.poll=1 r.check
	r.begin r.poll=0 r.row1 r.poll=0 r.sub r.commit r.poll=2 r.check
	r.begin r.row1 b.row2 r.poll=1 r.rollback r.poll=1 r.check
	a.begin a.row1 r.begin r.row2 b.row3 r.poll=1 a.commit r.poll=1 r.commit r.poll=1 r.check
	# one snapshot for the whole transaction
	r.repeatable r.count=0 b.row1 r.poll=0 r.commit r.poll=1 r.check
	a.begin a.row1 r.repeatable r.count=0 a.commit b.row2 r.poll=0 r.row3 r.commit r.poll=3 r.check
	r.serializable r.count=0 b.row1 r.poll=0 r.commit r.poll=1 r.check
	# two readers share the position, and one of them waits with an older snapshot
	b.row1 r.begin r.place f.poll=0 b.row2 r.poll=2 r.commit f.poll=0 b.row3 f.poll=1 r.check
	b.row1 r.begin r.poll=1 f.poll=1 b.row2 r.commit f.poll=0 r.check
	a.begin a.row1 r.begin r.poll=0 f.poll=2 b.row2 a.commit r.rollback f.poll=0 r.check
	a.begin a.row1 b.row2 f.begin f.row3 r.begin r.poll=1 f.poll=1 a.commit r.commit r.poll=1 f.commit r.poll=0 r.check
	f.repeatable f.count=0 b.row1 r.poll=1 f.poll=40001 f.rollback f.poll=0 r.check
	# rows that change: a new id lets a row come again
	b.row1 r.poll=1 b.change r.poll=0 b.again r.poll=1
	a.begin a.row1 b.row2 r.poll=1 b.delete a.commit r.poll=1
	a.begin a.row1 b.row2 r.poll=1 a.commit b.full r.poll=1 b.full r.poll=0 r.check
	# who deletes what all have passed leaves what they have not
	a.begin a.row1 b.row2 r.poll=1 a.commit b.passed r.poll=1 b.passed b.count=0
	# a partition is attached empty, or between the two steps of a poll, or its rows get new ids
	f.fresh r.parts=0 a.attach a.join1 a.join2 r.parts=2
	f.fresh r.parts=0 t.lock r.lateparts=0 a.attach a.join2 t.unlock r.parts=1
	f.fresh a.join1 r.parts=1 a.attach a.move r.parts=0
	f.fresh a.ready r.parts=0 a.begin a.mark a.attach b.row1 r.parts=0 a.commit r.parts=1
	# a table is rewritten between the two steps of a poll
	b.row1 t.lock r.late=1 b.rewrite t.unlock r.poll=0 r.check
	# out of contract: rows of a table that is attached, another id, two polls in a transaction beside ATTACH, a
	# snapshot from before a table is rewritten
	f.fresh a.ready r.parts=0 a.attach r.parts=0
	b.taken r.poll=0
	f.fresh r.begin r.parts=0 a.attach a.join1 a.join2 r.parts=2 r.commit
	b.row1 r.repeatable r.places=1 b.rewrite r.poll=0 r.commit r.poll=0
});

# A poll reads by the index, beside an idle writer and many rows since.
$reader->again;
my ($idle, $writer) = map { CombSession->new($node, 'postgres', user => 'app') } 1 .. 2;
$idle->ask("BEGIN; INSERT INTO orders (body) VALUES ('idle')");
$writer->ask("INSERT INTO orders (body) SELECT 'many' FROM generate_series(1, 20000)");
$reader->ask(poll('orders') . '; ANALYZE orders');
$reader->again;
$writer->ask("INSERT INTO orders (body) SELECT 'few' FROM generate_series(1, 10)");
is($reader->ask('BEGIN; ' . poll('orders') . q{; SELECT seq_scan, idx_tup_fetch < 30 FROM pg_stat_xact_user_tables WHERE relname = 'orders'; COMMIT}),
	"10\n0|t", 'a poll reads few rows by the index');
$idle->ask('COMMIT');
is($reader->ask(poll('orders')), 1, 'and then the one of the idle writer');

# A client that keeps its position
$reader->ask('TRUNCATE orders');
$idle->ask("BEGIN; INSERT INTO orders (id, body) VALUES (1, 'idle')");
$writer->ask("INSERT INTO orders (id, body) VALUES (2, 'early')");
my ($position, @got) = client_poll($reader, undef);
is("@got", '2', 'a client gets a row');
($position, @got) = client_poll($reader, $position);
is("@got", '', 'and its position without any');
$idle->ask('COMMIT');
($position, @got) = client_poll($reader, $position);
is("@got", '1', 'and the late one');
like($reader->complaints("SELECT comb_feed_between(NULL::orders, '1:1000000000:', comb_feed_position())"),
	qr/ERROR:  55000: the position is ahead of this server\nDETAIL: .*\nHINT: /, 'refused: a position from elsewhere');

# Rights, and operators and functions of strangers
$node->safe_psql('postgres', q{
	CREATE ROLE poller LOGIN;
	CREATE SCHEMA poller AUTHORIZATION poller;
	GRANT USAGE ON SCHEMA app TO poller;
	GRANT SELECT, UPDATE ON app.orders_reader TO poller;
	SET ROLE poller;
	CREATE FUNCTION poller.called(xid8, xid8) RETURNS boolean LANGUAGE plpgsql AS 'BEGIN RAISE ''called''; END';
	CREATE FUNCTION poller.pg_snapshot_xmax(pg_snapshot) RETURNS xid8 LANGUAGE plpgsql AS 'BEGIN RAISE ''called''; END';
	CREATE FUNCTION poller.pg_snapshot_xip(pg_snapshot) RETURNS SETOF xid8 LANGUAGE plpgsql AS 'BEGIN RAISE ''called''; END';
	CREATE FUNCTION poller.pg_visible_in_snapshot(xid8, pg_snapshot) RETURNS boolean LANGUAGE plpgsql AS 'BEGIN RAISE ''called''; END'} . join('', map { ";\nCREATE OPERATOR poller.$_ (FUNCTION = poller.called, LEFTARG = xid8, RIGHTARG = xid8)" } qw(= < > >=)));
my $poller = CombSession->new($node, 'postgres', user => 'poller');
$poller->ask('SET search_path = poller, app, pg_catalog');
my $count = recipe('feed-position') =~ s/SELECT o\.\*(.*) ORDER BY id;/SELECT count(*)$1/r;
like($poller->complaints($count), qr/42501: permission denied for table orders/, 'a reader needs SELECT on the table');
$node->safe_psql('postgres', 'GRANT SELECT ON app.orders TO poller');
is($poller->ask($count), 2, 'operators and functions in search_path change nothing');

#
# A crash takes back xids that nothing on disk has, which other transactions get again.  Commits
# are on disk, rollbacks are not.
#
my $crashed = server('crash', conf => "autovacuum = off\nwal_writer_delay = 10s\n", sql => $setup);
my %lost = (with => 0, without => 0);
foreach my $round (1 .. 5)
{
	my %position;
	my ($client, $undone) = map { CombSession->new($crashed, 'postgres', user => 'app') } 1 .. 2;
	foreach my $message (qw(with without))
	{
		$client->ask("INSERT INTO orders (body) VALUES ('on disk')");
		$undone->ask('BEGIN; SELECT pg_current_xact_id(); ROLLBACK') foreach (1 .. 5);
		($position{$message}) = client_poll($client, undef, $message eq 'with' ? undef : recipe('feed-client') =~ s/.*pg_logical_emit.*\n//r);
	}
	crash($crashed);
	$_->quit foreach ($client, $undone);
	$crashed->start;
	$client->connect;
	my $last = $client->ask('SELECT max(id) FROM orders');
	$client->ask("INSERT INTO orders (body) VALUES ('new')") foreach (1 .. 5);
	foreach my $message (qw(with without))
	{
		# Were its xid behind the position, the error would show what happened, and nothing were lost.
		my (undef, @ids) = client_poll($client, $position{$message});
		$lost{$message} += 5 - grep { $_ > $last } @ids;
	}
	$client->quit;
}
is($lost{with}, 0, 'a client whose polls write a message loses nothing by crashes');
cmp_ok($lost{without}, '>', 0, "and one without it loses rows, though all commits were on disk: $lost{without} of 25");
$crashed->stop;

#
# A standby has no position, nor has a snapshot that was made before its promotion.  In a table the
# position goes on.
#
my $standby = standby($node, 'standby');
$reader->ask('TRUNCATE orders;' . poll('orders'));
$writer->ask(q{BEGIN; INSERT INTO orders (body) VALUES ('prepared'); PREPARE TRANSACTION 'p'});
$writer->ask(q{INSERT INTO orders (body) VALUES ('early')});
is($reader->ask(poll('orders')), 1, 'before the promotion');
$node->wait_for_catchup($standby, 'replay', $node->lsn('insert'));
my $there = CombSession->new($standby, 'postgres', user => 'app');
like($there->complaints('SELECT comb_feed_position()'), qr/ERROR:  55000: there are no positions on a standby\nDETAIL: .*\nHINT: /, 'refused: on a standby');
$there->ask('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM orders');
$node->stop('immediate');
$standby->promote;
like($there->complaints('SELECT comb_feed_position()'), qr/ERROR:  55000: there are no positions on a standby/, 'refused: in a snapshot of a standby');
$there->ask('ROLLBACK');
is($there->ask("INSERT INTO orders (body) VALUES ('new');" . poll('orders')), 1, 'the position goes on');
is($there->ask("COMMIT PREPARED 'p';" . poll('orders')), 1, 'and has the prepared transaction');

#
# A subscriber whose column has ids of its own, and one with those of the publisher.  What is
# committed there before the poll arrives after it.
#
my %arrived;
my @tables = qw(own copied);
$standby->safe_psql('postgres', "CREATE TABLE public.$_ (id int PRIMARY KEY, comb_xid xid8 NOT NULL DEFAULT pg_current_xact_id())") foreach @tables;
$standby->safe_psql('postgres', 'CREATE PUBLICATION p FOR TABLE public.own (id), public.copied; CREATE DATABASE subscriber');
$standby->safe_psql('subscriber', 'SET client_min_messages = warning;' . portable_feed() . join(';', map {
	"CREATE TABLE $_ (id int PRIMARY KEY, comb_xid xid8 NOT NULL DEFAULT pg_current_xact_id())" } @tables));
$standby->safe_psql('postgres', q{SELECT pg_create_logical_replication_slot('s', 'pgoutput')});
$standby->safe_psql('subscriber', "CREATE SUBSCRIPTION s CONNECTION '@{[ $standby->connstr('postgres') =~ s/'//gr ]}' PUBLICATION p WITH (create_slot = false, enabled = false)");
my $subscriber = CombSession->new($standby, 'subscriber');
$standby->safe_psql('postgres', "INSERT INTO public.$_ VALUES (1)") foreach @tables;
my $before = $subscriber->ask('SELECT comb_feed_position()');
$standby->safe_psql('subscriber', 'ALTER SUBSCRIPTION s ENABLE');
$standby->poll_query_until('subscriber', "SELECT count(*) = 2 FROM (TABLE own UNION ALL TABLE copied) AS t") or die 'rows do not arrive';
is($subscriber->ask("SELECT count(*) FROM comb_feed_between(NULL::$_, '$before', comb_feed_position())"), $_ eq 'own' ? 1 : 0,
	"a subscriber with ids that are $_") foreach @tables;
$standby->safe_psql('subscriber', 'DROP SUBSCRIPTION s');

#
# A restored dump: another server counts from elsewhere
#
my $other = server('other');
my $file  = $node->basedir . '/feed.sql';
$other->safe_psql('postgres', 'CREATE ROLE app LOGIN; CREATE ROLE poller');
$there->ask('DO $$ BEGIN FOR i IN 1 .. 2000 LOOP PERFORM pg_current_xact_id(); COMMIT; END LOOP; END $$;' . "INSERT INTO orders (body) VALUES ('dumped');" . poll('orders'));
command_ok($_, $_->[0]) foreach
  [ 'pg_dump', '-n', 'app', '-f', $file, $standby->connstr('postgres') ], [ qw(psql -Xq -v ON_ERROR_STOP=1 -f), $file, $other->connstr('postgres') ];
my $restored = CombSession->new($other, 'postgres', user => 'app');
like($restored->complaints(poll('orders')), qr/ERROR:  55000: the position is ahead of this server/, 'refused: a position from the dump');
$restored->ask('UPDATE orders SET comb_xid = DEFAULT; UPDATE orders_reader SET position = NULL; TRUNCATE seen');
is($restored->ask(poll('orders') . '; SELECT count(*) FROM orders'), "4\n4", 'with new ids and without a position all rows come');
is($restored->ask("INSERT INTO orders (body) VALUES ('new');" . poll('orders')), 1, 'and then the new ones');

$restored->ask('SET client_min_messages = warning; DROP TABLE comb_feed CASCADE');
is($other->safe_psql('postgres', q{SELECT count(*) FROM pg_proc WHERE proname LIKE 'comb\_feed%'}), 0, 'DROP TABLE comb_feed leaves no function');
done_testing();
