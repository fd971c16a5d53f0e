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
	sql  => 'CREATE ROLE app LOGIN; CREATE SCHEMA app AUTHORIZATION app');

# Install a file of sql/portable as doc/feed_anywhere.md does.  Return what psql complains of.
sub install
{
	my ($file) = @_;
	local @ENV{qw(PGHOST PGPORT PGDATABASE PGUSER PGOPTIONS)} = ($node->host, $node->port, 'postgres', 'app', '-c client_min_messages=warning');
	my $command = recipe('feed-install') =~ s/pg_comb_feed\.sql/$file/r =~ s/psql/psql -Xq/r =~ s/
//r;
	return `$command 2>&1`;
}
is(install('pg_comb_feed.sql'), '', 'a role that owns only its schema installs the file');
is(install('pg_comb.sql'), '', 'and the other portable file beside it');

sub sessions { return map { CombSession->new($node, 'postgres', user => 'app') } 1 .. $_[0]; }
my ($first, $second, $feed) = sessions(1);
$first->ask(q{
	CREATE TABLE orders (id bigserial PRIMARY KEY, body text, at timestamptz DEFAULT clock_timestamp(),
		key uuid DEFAULT comb_generate());
	SELECT comb_feed_add('orders_id_seq'), comb_feed_add('orders', '0');
	CREATE VIEW by_number AS SELECT * FROM orders WHERE id < (SELECT comb_feed_number('orders_id_seq'));
	CREATE VIEW by_time AS SELECT * FROM orders WHERE at < (SELECT comb_feed_time('orders'));
	CREATE VIEW by_uuid AS SELECT * FROM orders WHERE key < (SELECT comb_feed_uuid('orders'))});

sub insert { return $_[0]->ask("INSERT INTO orders (body) VALUES ('$_[1]')"); }

# A source settles in two steps.  A bound of uuids is a whole millisecond.
sub advance
{
	my ($session) = @_;
	$session //= $feed;
	return $session->ask('SELECT comb_feed_advance(); SELECT pg_sleep(0.002); SELECT comb_feed_advance()') =~ s/\n+/ /gr;
}

# What the three views show of these rows
sub shown
{
	my ($like, $session) = @_;
	return join(' ', map { ($session // $feed)->ask("SELECT coalesce(string_agg(body, ',' ORDER BY id), '-') FROM by_$_ WHERE body LIKE '$like%'") }
		  qw(number time uuid));
}

my $views = join(', ', map { "(SELECT coalesce(string_agg(body, ',' ORDER BY id), '-') FROM by_$_)" } qw(number time uuid));
my $held  = recipe('feed-held') =~ s/;//r;
my $once  = 'DO $$ BEGIN PERFORM comb_feed_advance(); END $$';
my $schedule = CombSchedule->new($node, 'a b f t', user => { map { $_ => 'app' } qw(a b f t) }, clean => 'TRUNCATE app.orders', statements => {
	save    => 'SAVEPOINT s',
	undo    => 'ROLLBACK TO s',
	row     => "INSERT INTO orders (body) VALUES ('N')",
	draw    => q{SELECT nextval(source) AS n FROM comb_feed WHERE number IS NOT NULL \gset},
	late    => "INSERT INTO orders (id, body) SELECT :n, 'N' FROM pg_sleep(0.01)",
	away    => 'ALTER SEQUENCE orders_id_seq RENAME TO other',
	advance => "$once; DO 'BEGIN PERFORM pg_sleep(0.002); END'; $once",
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
		SELECT moved > 0, comb_feed_number('orders_id_seq') = :before FROM a} });

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
	# a slow caller meets a bound that another one has moved: the sequence's lock holds the caller up
	b.row1 t.begin t.away a.slow=0 b.raise9000 t.rollback b.number=9000
});

($first, $second, $feed, my $third) = sessions(4);
like($second->complaints(q{SELECT comb_feed_advance('orders_id_seq')}), qr/ERROR:  55000: the sequence is behind the bound of "app\.orders_id_seq"/,
	'a sequence that was set back is an error');
$second->ask(q{DELETE FROM comb_feed WHERE number IS NOT NULL; SELECT comb_feed_add('orders_id_seq')});
for my $level ('REPEATABLE READ', 'SERIALIZABLE')
{
	like($third->complaints("BEGIN ISOLATION LEVEL $level; SELECT comb_feed_advance()"), qr/25000: bounds do not move in a $level transaction/,
		"refused: $level");
	$third->ask('ROLLBACK');
}

# No open transaction may have a number or a time below the bounds.  Writers keep a lock for
# each of them, and who ends just now is not there any more when asked again.  The children
# give a caller that reads the holders first more time until it reads the clock.
$first->ask(q{
	CREATE TABLE marked (n bigserial, at timestamptz);
	DO $$ BEGIN FOR i IN 1 .. 300 LOOP EXECUTE format('CREATE TABLE marked_%s () INHERITS (marked)', i); END LOOP; END $$;
	SELECT comb_feed_add('marked_n_seq'), comb_feed_add('marked', '0');
	CREATE FUNCTION mark(at timestamptz) RETURNS timestamptz VOLATILE LANGUAGE plpgsql AS $$
	BEGIN
		PERFORM pg_advisory_xact_lock(date_part('epoch', date_trunc('second', at))::int, date_part('microseconds', at)::int);
		RETURN at;
	END $$;
	CREATE FUNCTION below() RETURNS SETOF text VOLATILE LANGUAGE sql AS $$
		SELECT classid || ' ' || objid FROM pg_locks WHERE locktype = 'advisory' AND CASE classid::int WHEN 7
			THEN objid::bigint < comb_feed_number('marked_n_seq')
			ELSE to_timestamp(classid::bigint) + (objid::bigint % 1000000) * interval '1 us' < comb_feed_time('marked') END $$;
	CREATE PROCEDURE hammer(seconds int, INOUT advances int, INOUT violations int) LANGUAGE plpgsql AS $$
	DECLARE
		until timestamptz := clock_timestamp() + make_interval(secs => seconds);
		found text[];
	BEGIN
		WHILE clock_timestamp() < until LOOP
			advances := advances + comb_feed_advance('marked_n_seq') + comb_feed_advance('marked');
			COMMIT;
			found := ARRAY(SELECT below());
			IF found <> '{}' THEN
				PERFORM pg_sleep(0.002);
				violations := violations + (SELECT count(*) FROM below() WHERE below = ANY (found));
			END IF;
		END LOOP;
	END $$});
my $script = $node->basedir . '/hammer.sql';
append_to_file($script, q{\set us random(0, 10000)
BEGIN;
SELECT pg_advisory_xact_lock(7, nextval('marked_n_seq')::int);
INSERT INTO marked SELECT 0, mark(clock_timestamp());
\sleep :us us
COMMIT;
\sleep :us us
});
my $pgbench = IPC::Run::start([ 'pgbench', '-n', '-c', 4, '-T', 3, '-f', $script, $node->connstr('postgres') . ' user=app' ],
	'>', '/dev/null', '2>&1');
my ($advances, $violations) = split(/\|/, $feed->ask('CALL hammer(3, 0, 0)'));
$pgbench->finish;
diag("$advances bounds under load");
cmp_ok($advances, '>', 20, 'the bounds move under load');
is($violations, 0, 'and no open transaction has a key below');
$first->ask(q{SET client_min_messages = warning; DELETE FROM comb_feed WHERE name ~ 'marked'; DROP TABLE marked CASCADE; RESET client_min_messages});

#
# Partitions, children, and a partition alone
#
$first->ask(q{
	CREATE TABLE part (n int, at timestamptz DEFAULT clock_timestamp()) PARTITION BY LIST (n);
	CREATE TABLE part_1 PARTITION OF part FOR VALUES IN (1) PARTITION BY LIST (n);
	CREATE TABLE part_11 PARTITION OF part_1 FOR VALUES IN (1);
	CREATE TABLE parent (n int, at timestamptz DEFAULT clock_timestamp());
	CREATE TABLE child () INHERITS (parent);
	CREATE FUNCTION hold() RETURNS int VOLATILE LANGUAGE plpgsql AS 'BEGIN PERFORM pg_advisory_xact_lock(1); RETURN 1; END';
	SELECT comb_feed_add(t, '0') FROM unnest('{part,part_11,parent}'::regclass[]) AS t});
for my $case ([ 'part', 'part_11' ], [ 'parent', 'child' ])
{
	my ($source, $target) = @$case;
	$first->ask("BEGIN; INSERT INTO $target (n) VALUES (1)");
	advance();
	advance();
	is($feed->ask("SELECT comb_feed_time('$source') > min(at) FROM $source") . $first->ask("SELECT comb_feed_time('$source') > min(at) FROM $source"),
		'f', "a writer of $target holds $source");
	$first->ask('COMMIT');
}
# The time is made before PostgreSQL has opened the partition.
$second->ask('SELECT pg_advisory_lock(1)');
$first->send('INSERT INTO part (at, n) SELECT at, hold() FROM (SELECT clock_timestamp() AS at OFFSET 0) AS t');
wait_until($node, "SELECT EXISTS (SELECT FROM pg_locks WHERE pid = $first->{pid} AND NOT granted)", 'the writer does not wait');
advance();
advance();
my $bound = $feed->ask(q{SELECT comb_feed_time('part_11')});
$second->ask('SELECT pg_advisory_unlock(1)');
$first->result;
is($feed->ask("SELECT max(at) >= '$bound' FROM part_11"), 't', 'a writer of the table above holds a partition');
$first->ask(q{DELETE FROM comb_feed WHERE name ~ 'part|parent'});

# A trigger's time is later than the lock of the UPDATE.
$first->ask('CREATE TABLE changing (id int, created_at timestamptz DEFAULT clock_timestamp()); INSERT INTO changing VALUES (1);'
	  . recipe('feed-changed') =~ s/orders/changing/gr . recipe('feed-time') =~ s/orders/changing/gr);
$first->ask('BEGIN; UPDATE changing SET id = 2');
$feed->ask(q{SELECT comb_feed_advance('changing'), pg_sleep(0.01)}) foreach 1 .. 2;
is($first->ask(q{SELECT created_at >= comb_feed_time('changing') FROM changing; COMMIT}), 't', 'an update holds the bound of its table');
$first->ask(q{DELETE FROM comb_feed WHERE name = 'app.changing'});

#
# Refusals
#
$first->ask(q{
	CREATE SEQUENCE cached CACHE 20;
	CREATE SEQUENCE by_fifty INCREMENT 50;
	CREATE SEQUENCE cycled CYCLE;
	CREATE SEQUENCE later;
	CREATE SEQUENCE gone;
	CREATE UNLOGGED TABLE unlogged (id bigserial);
	SELECT comb_feed_add('later'), comb_feed_add('gone')});
$feed->ask('CREATE TEMP SEQUENCE temporary');
for my $case (
	[ "add('cached')", '0A000', 'there is no bound for "app.cached": it has CACHE 20' ],
	[ "add('by_fifty')", '0A000', 'there is no bound for "app.by_fifty": it has INCREMENT 50' ],
	[ "add('cycled')", '0A000', 'there is no bound for "app.cycled": it has CYCLE' ],
	[ "add('unlogged')", '0A000', 'there is no bound for "app.unlogged": it is not a permanent sequence or table' ],
	[ "add('temporary')", '0A000', 'it is not a permanent sequence or table' ],
	[ "add('by_number')", '0A000', 'there is no bound for "app.by_number": it is not a permanent sequence or table' ],
	[ "add('orders', '-1 s')", '23514', 'violates check constraint' ],
	[ "add('nothing')", '42P01', 'relation "nothing" does not exist' ],
	[ "advance('cached')", '42704', 'comb_feed has no bound for "app.cached"' ],
	[ "number('cached')", '42704', 'comb_feed has no number for "app.cached"' ],
	[ "number('orders')", '42704', 'comb_feed has no number for "app.orders"' ],
	[ "time('orders_id_seq')", '42704', 'comb_feed has no time for "app.orders_id_seq"' ],
	[ "uuid('orders_id_seq')", '42704', 'comb_feed has no time for "app.orders_id_seq"' ])
{
	my ($call, $sqlstate, $message) = @$case;
	like($feed->complaints("SELECT comb_feed_$call"), qr/ERROR:  $sqlstate: .*\Q$message\E/, "refused: $call");
}
$first->ask('ALTER SEQUENCE later CACHE 20; DROP SEQUENCE gone');
insert($second, 'h1');
my $complaints = $feed->complaints('SELECT comb_feed_advance()');
like($complaints, qr/WARNING:  0A000: there is no bound for "app\.later": it has CACHE 20/, 'a sequence that has changed is a warning');
like($complaints, qr/WARNING:  42P01: the source "app\.gone" of comb_feed is gone.*\nHINT:  DELETE FROM comb_feed WHERE name = 'app\.gone'/,
	'and one that is gone');
$feed->ask(q{SELECT comb_feed_advance('orders')});
is(shown('h'), 'h1 h1 h1', 'and the other sources move');
like($feed->complaints(q{SELECT comb_feed_advance('later')}), qr/ERROR:  0A000: there is no bound for "app\.later"/, 'alone it is an error');
$first->ask(q{DELETE FROM comb_feed WHERE name IN ('app.later', 'app.gone')});
$first->ask(q{UPDATE comb_feed SET at = clock_timestamp() + interval '1 h' WHERE number IS NULL});
like($feed->complaints(q{SELECT comb_feed_advance('orders')}), qr/ERROR:  55000: the clock is behind the bound of "app\.orders"/,
	'a clock that was set back is an error');
$first->ask(q{UPDATE comb_feed SET at = clock_timestamp() - interval '1 h', next_at = clock_timestamp() + interval '1 h', writers = '{1/1}' WHERE number IS NULL});
like($feed->complaints(q{SELECT comb_feed_advance('orders')}), qr/ERROR:  55000: the clock is behind the bound of "app\.orders"/,
	'also if it was set back behind a candidate only');
$first->ask(q{DELETE FROM comb_feed WHERE name = 'app.orders'; SELECT comb_feed_add('orders', '0')});

# As if the table of bounds came from a publisher
$node->safe_psql('postgres', q{SET allow_system_table_mods = on; INSERT INTO pg_subscription_rel VALUES (1, 'app.comb_feed'::regclass, 'r')});
like($feed->complaints('SELECT comb_feed_advance()'), qr/55000: bounds do not move on a subscriber/, 'refused: on a subscriber of the bounds');
$node->safe_psql('postgres', q{SET allow_system_table_mods = on; DELETE FROM pg_subscription_rel});

$node->safe_psql('postgres', q{CREATE ROLE poller LOGIN; GRANT USAGE ON SCHEMA app TO poller;
	ALTER ROLE poller SET search_path = app});
my $poller = CombSession->new($node, 'postgres', user => 'poller');
$first->ask('GRANT SELECT ON by_number TO poller');
like($poller->complaints('TABLE by_number'), qr/42501: permission denied for table comb_feed/, 'a reader needs SELECT on comb_feed');
$first->ask('GRANT SELECT ON comb_feed TO poller');
is($poller->ask('SELECT count(*) >= 0 FROM by_number'), 't', 'and no more than that');
$first->ask('GRANT UPDATE ON comb_feed TO poller');
like($poller->complaints(q{SELECT comb_feed_advance('orders_id_seq')}), qr/42501: permission denied for sequence orders_id_seq/,
	'who advances needs SELECT on the sequence');
$first->ask('GRANT SELECT ON SEQUENCE orders_id_seq TO poller');
is($poller->ask(q{SELECT comb_feed_advance('orders_id_seq') >= 0}), 't', 'and no more than that');

#
# Plans, names, dumps
#
for my $bound (q{comb_feed_number('orders_id_seq')}, q{(SELECT comb_feed_number('orders_id_seq'))})
{
	my $plan = $feed->ask("SET enable_bitmapscan = off; SET enable_seqscan = off;
		EXPLAIN (COSTS OFF) SELECT * FROM orders WHERE id > 3 AND id < $bound ORDER BY id LIMIT 1000");
	like($plan, qr/Index Scan using orders_pkey.*Index Cond: \(\(id > 3\) AND \(id < |Index Scan using orders_pkey.*Index Cond: \(\(id < .*\) AND \(id > 3\)\)/s,
		"index condition: $bound");
	unlike($plan, qr/Filter/, 'and nothing else');
}
$first->ask(q{
	CREATE FUNCTION minus(bigint, integer) RETURNS bigint LANGUAGE plpgsql AS 'BEGIN RAISE ''called''; END';
	CREATE OPERATOR - (FUNCTION = minus, LEFTARG = bigint, RIGHTARG = integer)});
insert($first, 'i1');
is($feed->ask(q{SET search_path = app, pg_catalog; SELECT comb_feed_advance('orders_id_seq') + comb_feed_advance('orders_id_seq'); RESET search_path}), 1,
	'operators of others change nothing');
$node->safe_psql('postgres', 'ALTER SCHEMA app RENAME TO renamed');
insert($first, 'i2') foreach $first->ask('SET search_path = renamed') || 1;
is($node->safe_psql('postgres', q{SET search_path = ''; SELECT renamed.comb_feed_advance('renamed.orders_id_seq'), renamed.comb_feed_number('renamed.orders_id_seq') > 0}),
	'1|t', 'the functions work without search_path and in a renamed schema');
$node->safe_psql('postgres', 'ALTER SCHEMA renamed RENAME TO app');
$first->ask('RESET search_path');

my $dump = $node->basedir . '/feed.sql';
$node->safe_psql('postgres', 'CREATE DATABASE restored');
$node->command_ok([ 'pg_dump', '-f', $dump, $node->connstr('postgres') ], 'dump');
is(`psql -X -q -v ON_ERROR_STOP=1 -o /dev/null -d '@{[ $node->connstr('restored') ]}' -f $dump 2>&1`, '', 'restore');
my $restored = CombSession->new($node, 'restored', user => 'app');
insert($restored, 'j1');
is($restored->ask(q{SELECT comb_feed_advance('orders_id_seq'); SELECT count(*) FROM by_number WHERE body = 'j1'}), "1\n1", 'a restored feed goes on');
$_->quit foreach ($first, $second, $feed, $third, $poller, $restored);

#
# A standby: the reader's view is the same, and stays so after the promotion.  A prepared
# transaction has lost its session, as after a crash.
#
my $standby = standby($node, 'standby');
($first, $second, $feed) = sessions(3);
my $reader = CombSession->new($standby, 'postgres', user => 'app');
sub catch_up { $node->wait_for_catchup($standby, 'replay', $node->lsn('insert')); return; }
$first->ask('BEGIN');
insert($first, 'k1');
insert($second, 'k2');
advance();
catch_up();
is(shown('k', $reader), '- - -', 'standby: an open transaction holds the bounds');
$first->ask(q{PREPARE TRANSACTION 'k'});
like($reader->complaints('SELECT comb_feed_advance()'), qr/55000: bounds do not move on a standby/, 'standby: refused');
catch_up();
$node->stop('immediate');
$_->forget foreach ($first, $second, $feed);
$standby->promote;
wait_until($standby, 'SELECT NOT pg_is_in_recovery()', 'the standby is not promoted');
$reader->again;
advance($reader);
insert($reader, 'k3');
advance($reader);
is(shown('k', $reader), '- - -', 'after the promotion the prepared transaction still does');
$reader->ask(q{COMMIT PREPARED 'k'});
advance($reader);
is(shown('k', $reader), 'k1,k2,k3 k1,k2,k3 k1,k2,k3', 'until it is committed');

#
# Beside the extension, and away
#
$standby->safe_psql('postgres', 'CREATE EXTENSION pg_comb_ordered CASCADE');
is($reader->ask('SELECT comb_settled() IS NOT NULL, comb_feed_advance() >= 0'), 't|t', 'beside the extension');
$reader->ask('SET client_min_messages = warning; DROP TABLE comb_feed CASCADE');
is($standby->safe_psql('postgres', q{SELECT count(*) FROM pg_depend WHERE deptype <> 'i' AND pg_describe_object(classid, objid, 0) LIKE '%comb_feed%'}), 0,
	'DROP TABLE leaves nothing');
done_testing();
