# The steps of sql/portable/pg_comb_feed.sql, one at a time: a row that is committed late
# must be above the bound until it is visible.  The soak has them all at once.
#
# A role that owns one schema, and nothing else, has the tables and the feed.
use lib 'test/perl';
use CombFeed;
use CombSchedule;
use CombSession;
use CombTest;

my $node = server('main', init => [ allows_streaming => 'logical' ],
	conf => "max_connections = 30\nmax_prepared_transactions = 4",
	sql  => 'CREATE ROLE app LOGIN; CREATE SCHEMA app AUTHORIZATION app;
		CREATE ROLE poller LOGIN; GRANT USAGE ON SCHEMA app TO poller; ALTER ROLE poller SET search_path = app');

# Install a file of sql/portable as doc/feed_anywhere.md does.  Return what psql complains of.
sub install
{
	my ($file) = @_;
	local @ENV{qw(PGHOST PGPORT PGDATABASE PGUSER PGOPTIONS)} = ($node->host, $node->port, 'postgres', 'app', '-c client_min_messages=warning');
	my $command = recipe('feed-install') =~ s/pg_comb_feed\.sql/$file/r =~ s/psql/psql -Xq/r =~ s/\n//r;
	return `$command 2>&1`;
}
is(install('pg_comb_feed.sql'), '', 'a role that owns only its schema installs the file');
is(install('pg_comb.sql'), '', 'and the other portable file beside it');

sub session { return CombSession->new($_[0] // $node, 'postgres', user => 'app'); }
my $feed = session();
$feed->ask(q{
	CREATE TABLE orders (id bigserial PRIMARY KEY, body text, at timestamptz DEFAULT clock_timestamp(),
		key uuid DEFAULT comb_generate());
	SELECT comb_feed_add('orders_id_seq'), comb_feed_add('orders', '0');
	CREATE VIEW by_number AS SELECT * FROM orders WHERE id < (SELECT comb_feed_number('orders_id_seq'));
	CREATE VIEW by_time AS SELECT * FROM orders WHERE at < (SELECT comb_feed_time('orders'));
	CREATE VIEW by_uuid AS SELECT * FROM orders WHERE key < (SELECT comb_feed_uuid('orders'))});

# A source settles in two steps.  A bound of uuids is a whole millisecond.
my $once    = 'DO $$ BEGIN PERFORM comb_feed_advance(); END $$';
my $advance = "$once; DO 'BEGIN PERFORM pg_sleep(0.002); END'; $once";
my $views = join(', ', map { "(SELECT coalesce(string_agg(body, ',' ORDER BY id), '-') FROM by_$_)" } qw(number time uuid));
my $held  = recipe('feed-held') =~ s/;//r;
my $anew  = q{DELETE FROM comb_feed; DO $$ BEGIN PERFORM comb_feed_add('orders_id_seq'), comb_feed_add('orders', '0'); END $$};
my $schedule = CombSchedule->new($node, 'a b f p t', user => { p => 'poller', map { $_ => 'app' } qw(a b f t) },
	clean => 'TRUNCATE app.orders', statements => {
	serializable => 'BEGIN ISOLATION LEVEL SERIALIZABLE',
	save    => 'SAVEPOINT s',
	undo    => 'ROLLBACK TO s',
	row     => "INSERT INTO orders (body) VALUES ('N')",
	draw    => q{SELECT nextval(source) AS n FROM comb_feed WHERE number IS NOT NULL \gset},
	late    => "INSERT INTO orders (id, body) SELECT :n, 'N' FROM pg_sleep(0.01)",
	away    => 'ALTER SEQUENCE orders_id_seq RENAME TO other',
	advance => $advance,
	once    => $once,
	moved   => q{SET lock_timeout = '1s'; SELECT comb_feed_advance(); RESET lock_timeout},
	stays   => q{SELECT comb_feed_advance('orders_id_seq')},
	slow    => 'SELECT comb_feed_advance(source) FROM comb_feed WHERE number IS NOT NULL',
	shown   => "SELECT $views",
	rows    => 'SELECT count(*) FROM by_number',
	held    => "SELECT count(*), min(coalesce(gid, replace(state, ' ', '-'))), min(usename) FROM ($held) AS held
		WHERE gid IS NOT NULL OR query LIKE 'INSERT INTO orders%'",
	raise   => 'UPDATE comb_feed SET number = N WHERE number IS NOT NULL',
	number  => 'SELECT number FROM comb_feed WHERE number IS NOT NULL',
	next    => 'SELECT next_number FROM comb_feed WHERE number IS NOT NULL',
	above   => q{SELECT comb_feed_number('orders_id_seq') > :n},
	set     => q{DO $$ BEGIN PERFORM setval('orders_id_seq', N); END $$},
	noxid   => 'SELECT pg_current_xact_id_if_assigned() IS NULL',
	bound   => q{SELECT comb_feed_number('orders_id_seq') AS before \gset
		WITH a AS MATERIALIZED (SELECT comb_feed_advance() AS moved)
		SELECT moved > 0, comb_feed_number('orders_id_seq') = :before FROM a},
	anew    => $anew,
	ahead   => q{UPDATE comb_feed SET at = clock_timestamp() + interval '1 h' WHERE number IS NULL},
	further => q{UPDATE comb_feed SET at = clock_timestamp() - interval '1 h', next_at = clock_timestamp() + interval '1 h', writers = '{1/1}'
		WHERE number IS NULL},
	clock   => q{SELECT comb_feed_advance('orders')},
	grant   => 'GRANT SELECT ON by_number, comb_feed TO poller',
	update  => 'GRANT UPDATE ON comb_feed TO poller',
	draws   => 'GRANT SELECT ON SEQUENCE orders_id_seq TO poller',

	# rows of partitions and children, and how far the bounds have come
	leaf    => 'INSERT INTO part_11 (n) VALUES (1)',
	child   => 'INSERT INTO child (n) VALUES (1)',
	change  => 'UPDATE changing SET id = 2',
	aboveleaf => q{SELECT min(at) >= comb_feed_time('part') FROM part},
	abovechild => q{SELECT min(at) >= comb_feed_time('parent') FROM parent},
	abovechange => q{SELECT created_at >= comb_feed_time('changing') FROM changing},
	heldleaf => 'INSERT INTO part (at, n) SELECT at, hold() FROM (SELECT clock_timestamp() AS at OFFSET 0) AS t',
	boundleaf => q{SELECT comb_feed_time('part_11') AS bound \gset},
	afterbound => q{SELECT max(at) >= :'bound' FROM part_11} });

$schedule->test(q{
	# an open transaction holds all bounds, and the view names its session for both sources
	a.begin a.row1 b.row2 f.advance f.shown=-|-|- f.held=2|idle-in-transaction|app a.commit f.advance f.shown=1,2|1,2|1,2 f.held=0||
	# a number that was drawn below a savepoint can be inserted after the rollback to it
	a.begin a.save a.draw a.undo b.row2 f.advance f.rows=0 a.late1 a.commit f.advance f.shown=1,2|1,2|1,2
	a.begin a.row1 f.advance b.row2 f.advance a.rollback f.advance f.shown=2|2|2
	# the candidate waits for a virtual transaction, which is prepared, and after the crash it has another name
	a.begin a.row1 b.row2 f.advance a.prepare1 f.advance f.shown=-|-|- f.held=2|p1|app crash f.advance b.row3 f.advance f.shown=-|-|- f.held=2|p1|app b.commitp1 f.advance f.shown=1,2,3|1,2,3|1,2,3
	# a caller does not wait for another one, reads on in its transaction, and others see the bound after its commit
	b.row1 a.begin a.once b.row2 b.moved=0 a.rows=1 f.shown=-|-|- a.commit f.advance f.shown=1,2|1,2|1,2
	# a query that advances sees the bound of its snapshot
	b.row1 f.bound=t|t
	# the holders are read after the number: a caller waits for the sequence, and meanwhile a number is drawn
	a.begin a.save a.away t.slow=0 a.draw a.undo f.advance a.above=f a.commit
	# a bound that stays is not written
	f.advance f.begin f.stays=0 f.noxid=t f.commit
	# a number that nextval() may still be logging is not believed, until nobody draws numbers
	a.begin a.set5000 f.once f.next=4969 a.commit f.advance f.number=5001
	# a slow caller meets a bound that another one has moved: the sequence's lock holds the caller up;
	# and a sequence that was set back is an error
	b.row1 t.begin t.away a.slow=0 b.raise9000 t.rollback b.number=9000 f.stays=55000 b.anew
	# a clock that was set back, also behind a candidate only
	b.ahead f.clock=55000 b.further f.clock=55000 b.anew
	# bounds do not move where the transaction would not see its rows
	f.repeatable f.once=25000 f.rollback f.serializable f.once=25000 f.rollback
	# a reader needs SELECT on comb_feed, and who advances SELECT on the sequence
	p.rows=42501 a.grant p.rows=0 a.update p.stays=42501 a.draws p.stays=0
});

#
# Partitions, children, and a partition alone; and a trigger's time
#
$feed->again;
$feed->ask(q{
	CREATE TABLE part (n int, at timestamptz DEFAULT clock_timestamp()) PARTITION BY LIST (n);
	CREATE TABLE part_1 PARTITION OF part FOR VALUES IN (1) PARTITION BY LIST (n);
	CREATE TABLE part_11 PARTITION OF part_1 FOR VALUES IN (1);
	CREATE TABLE parent (n int, at timestamptz DEFAULT clock_timestamp());
	CREATE TABLE child () INHERITS (parent);
	CREATE FUNCTION hold() RETURNS int VOLATILE LANGUAGE plpgsql AS 'BEGIN PERFORM pg_advisory_xact_lock(1); RETURN 1; END';
	CREATE TABLE changing (id int, created_at timestamptz DEFAULT clock_timestamp());
	INSERT INTO changing VALUES (1)} . ';' . recipe('feed-changed') =~ s/orders/changing/gr . q{
	SELECT comb_feed_add(t, '0') FROM unnest('{part,part_11,parent,changing}'::regclass[]) AS t});
$schedule->test(q{
	a.begin a.leaf f.advance a.aboveleaf=t a.commit
	a.begin a.child f.advance a.abovechild=t a.commit
	a.begin a.change f.advance a.abovechange=t a.commit
	# the time is made before PostgreSQL has opened the partition
	t.lock a.heldleaf f.advance f.boundleaf t.unlock f.afterbound=t
});

# No open transaction may have a number or a time below the bounds: each writer asks at its end.
# The children give a caller that reads the holders first more time until it reads the clock.
$feed->ask(q{
	CREATE TABLE marked (n bigserial, at timestamptz DEFAULT clock_timestamp());
	DO $$ BEGIN FOR i IN 1 .. 300 LOOP EXECUTE format('CREATE TABLE marked_%s () INHERITS (marked)', i); END LOOP; END $$;
	SELECT comb_feed_add('marked_n_seq'), comb_feed_add('marked', '0')});
my %scripts = (
	write => q{\set us random(0, 10000)
BEGIN;
INSERT INTO marked DEFAULT VALUES RETURNING n, at \gset
\sleep :us us
SELECT 1 / (:n >= comb_feed_number('marked_n_seq') AND ':at' >= comb_feed_time('marked'))::int;
COMMIT;
\sleep :us us
},
	advance => q{SELECT comb_feed_advance('marked_n_seq'), comb_feed_advance('marked');});
append_to_file($node->basedir . "/$_.sql", $scripts{$_}) foreach keys %scripts;
command_ok([ 'pgbench', '-n', '-c', 5, '-t', 1000, '-f', $node->basedir . '/write.sql', '-f', $node->basedir . '/advance.sql@9',
	$node->connstr('postgres') . ' user=app' ], 'no open transaction has a key below the bounds');
cmp_ok($feed->ask(q{SELECT comb_feed_number('marked_n_seq')}), '>', 20, 'which move under load');
$feed->ask(q{SET client_min_messages = warning; DELETE FROM comb_feed WHERE name ~ 'marked'; DROP TABLE marked CASCADE; RESET client_min_messages});

#
# Refusals
#
$feed->ask("$anew;" . q{
	CREATE SEQUENCE cached CACHE 20;
	CREATE SEQUENCE by_fifty INCREMENT 50;
	CREATE SEQUENCE cycled CYCLE;
	CREATE SEQUENCE later;
	CREATE SEQUENCE gone;
	CREATE UNLOGGED TABLE unlogged (id bigserial);
	SELECT comb_feed_add('later'), comb_feed_add('gone')});
for my $case (
	[ "add('cached')", '0A000', 'there is no bound for "app.cached": it has CACHE 20' ],
	[ "add('by_fifty')", '0A000', 'there is no bound for "app.by_fifty": it has INCREMENT 50' ],
	[ "add('cycled')", '0A000', 'there is no bound for "app.cycled": it has CYCLE' ],
	[ "add('unlogged')", '0A000', 'there is no bound for "app.unlogged": it is not a permanent sequence or table' ],
	[ "add('by_number')", '0A000', 'there is no bound for "app.by_number": it is not a permanent sequence or table' ],
	[ "advance('cached')", '42704', 'comb_feed has no bound for "app.cached"' ],
	[ "number('orders')", '42704', 'comb_feed has no number for "app.orders"' ],
	[ "uuid('orders_id_seq')", '42704', 'comb_feed has no time for "app.orders_id_seq"' ])
{
	my ($call, $sqlstate, $message) = @$case;
	like($feed->complaints("SELECT comb_feed_$call"), qr/ERROR:  $sqlstate: .*\Q$message\E/, "refused: $call");
}
$feed->ask(q{ALTER SEQUENCE later CACHE 20; DROP SEQUENCE gone; INSERT INTO orders (body) VALUES ('h')});
my $complaints = $feed->complaints($advance);
like($complaints, qr/WARNING:  0A000: there is no bound for "app\.later": it has CACHE 20/, 'a sequence that has changed is a warning');
like($complaints, qr/WARNING:  42P01: the source "app\.gone" of comb_feed is gone.*\nHINT:  DELETE FROM comb_feed WHERE name = 'app\.gone'/,
	'and one that is gone');
is($feed->ask("SELECT $views"), 'h|h|h', 'and the other sources move');
like($feed->complaints(q{SELECT comb_feed_advance('later')}), qr/ERROR:  0A000: there is no bound for "app\.later"/, 'alone it is an error');
$feed->ask(q{DELETE FROM comb_feed WHERE name IN ('app.later', 'app.gone'); TRUNCATE orders});

# As if the table of bounds came from a publisher
$node->safe_psql('postgres', q{SET allow_system_table_mods = on; INSERT INTO pg_subscription_rel VALUES (1, 'app.comb_feed'::regclass, 'r')});
like($feed->complaints('SELECT comb_feed_advance()'), qr/55000: bounds do not move on a subscriber/, 'refused: on a subscriber of the bounds');
$node->safe_psql('postgres', q{SET allow_system_table_mods = on; DELETE FROM pg_subscription_rel});

#
# Names, dumps
#
my $moves = q{INSERT INTO orders (body) VALUES ('i'); SELECT comb_feed_advance('orders_id_seq') > 0};
$feed->ask(q{
	CREATE FUNCTION minus(bigint, integer) RETURNS bigint LANGUAGE plpgsql AS 'BEGIN RAISE ''called''; END';
	CREATE OPERATOR - (FUNCTION = minus, LEFTARG = bigint, RIGHTARG = integer)});
is($feed->ask("SET search_path = app, pg_catalog; $moves; RESET search_path"), 't', 'operators of others change nothing');
$node->safe_psql('postgres', 'ALTER SCHEMA app RENAME TO renamed');
is($node->safe_psql('postgres', "SET search_path = ''; " . $moves =~ s/orders |comb_feed|'\Korders/renamed.$&/gr), 't',
	'the functions work without search_path and in a renamed schema');
$node->safe_psql('postgres', 'ALTER SCHEMA renamed RENAME TO app; CREATE DATABASE restored');
my $dump = $node->basedir . '/feed.sql';
command_ok($_, $_->[0]) foreach
  [ 'pg_dump', '-f', $dump, $node->connstr('postgres') ], [ qw(psql -Xq -v ON_ERROR_STOP=1 -f), $dump, $node->connstr('restored') ];
is($node->safe_psql('restored', "SET ROLE app; SET search_path = app; $moves"), 't', 'a restored feed goes on');

#
# A standby: the reader's view is the same, and stays so after the promotion.  A prepared
# transaction has lost its session, as after a crash.
#
my $standby = standby($node, 'standby');
my ($writer, $reader) = (session(), session($standby));
$writer->ask(q{TRUNCATE orders; BEGIN; INSERT INTO orders (body) VALUES ('k1')});
$feed->ask("INSERT INTO orders (body) VALUES ('k2'); $advance");
$node->wait_for_catchup($standby, 'replay', $node->lsn('insert'));
is($reader->ask("SELECT $views"), '-|-|-', 'standby: an open transaction holds the bounds');
like($reader->complaints('SELECT comb_feed_advance()'), qr/55000: bounds do not move on a standby/, 'standby: refused');
$writer->ask(q{PREPARE TRANSACTION 'k'});
$node->wait_for_catchup($standby, 'replay', $node->lsn('insert'));
$node->stop('immediate');
$standby->promote;
$reader->again;
is($reader->ask("$advance; INSERT INTO orders (body) VALUES ('k3'); $advance; SELECT $views"), '-|-|-',
	'after the promotion the prepared transaction still does');
is($reader->ask("COMMIT PREPARED 'k'; $advance; SELECT $views"), 'k1,k2,k3|k1,k2,k3|k1,k2,k3', 'until it is committed');

#
# Beside the extension, and away
#
$standby->safe_psql('postgres', 'CREATE EXTENSION pg_comb_ordered CASCADE');
is($reader->ask('SELECT comb_settled() IS NOT NULL, comb_feed_advance() >= 0'), 't|t', 'beside the extension');
$reader->ask('SET client_min_messages = warning; DROP TABLE comb_feed CASCADE');
is($standby->safe_psql('postgres', q{SELECT count(*) FROM pg_depend WHERE deptype <> 'i' AND pg_describe_object(classid, objid, 0) LIKE '%comb_feed%'}), 0,
	'DROP TABLE leaves nothing');
done_testing();
