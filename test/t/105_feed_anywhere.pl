# The steps of sql/portable/pg_comb_feed.sql, one at a time: a row that is committed late
# must be above the bound until it is visible.  The soak has them all at once.
#
# A role that owns one schema, and nothing else, has the tables and the feed.
# logged: the sequence "app\.truncated_[0-9]_id_seq" is locked
# logged: there is no bound for "app\.later"
# logged: the source "app\.gone" of comb_feed is gone
# logged: readers of "app\.(defaults|looked)" by .* lose rows
# logged: permission denied for sequence "app\.orders_id_seq"
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
	my ($file, $schema) = @_;
	local @ENV{qw(PGHOST PGPORT PGDATABASE PGUSER PGOPTIONS)} =
	  ($node->host, $node->port, 'postgres', 'app', '-c client_min_messages=notice -c search_path=' . ($schema // 'app'));
	my $command = recipe('feed-install') =~ s{\S+/pg_comb_feed\.sql}{$file}r =~ s/psql/psql -Xq/r =~ s/\n//r;
	return `$command 2>&1`;
}
is(install('sql/portable/pg_comb_feed.sql'), '', 'a role that owns only its schema installs the file');
like(($node->psql('postgres', slurp_file('sql/portable/pg_comb_feed.sql'), on_error_stop => 1))[2], qr/in one transaction only/, 'and not in many transactions');
is(install('sql/portable/pg_comb.sql'), '', 'and the other portable file beside it');

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

# Recipes for the table joined, and the ids that they read
sub joined { return $_[0] =~ s/\borders(?=_|\b)/joined/gr =~ s/_2027 FOR VALUES.*;/_2 FOR VALUES IN (2);/r; }
sub polled
{
	my ($sql) = @_;
	return $sql =~ s/;$//r unless $sql =~ s/SELECT \* (.*) ORDER.*/SELECT id $1 AND id > planned()/ && $sql =~ s/\$(?=last|bound)/:/g;
	return "SELECT coalesce(string_agg(id::text, '+' ORDER BY id), '-') AS got, coalesce(max(id), :last) AS last FROM ($sql) AS t \\gset\nSELECT :'got'";
}

# Make the table joined with joined_1, and joined_2 that is to join it.
sub fresh
{
	my ($kind, $first) = @_;
	return qq{SET client_min_messages = warning; DROP TABLE IF EXISTS joined, joined_2 CASCADE;
		DELETE FROM comb_feed WHERE name = 'app.joined_id_seq';
		CREATE TABLE joined (id bigserial, p int) $kind;
		CREATE TABLE joined_1 $first; CREATE TABLE joined_2 (LIKE joined INCLUDING DEFAULTS);
		DO \$\$ BEGIN PERFORM comb_feed_add('joined_id_seq'); END \$\$;} . joined(recipe('feed-number')) =~ s/^SELECT.*//r;
}
my @rights = grep { /UPDATE|SEQUENCE/ } map { s/mover/poller/r } split(/\n/, recipe('feed-mover'));
my $schedule = CombSchedule->new($node, 'a b f p r t', user => { p => 'poller', map { $_ => 'app' } qw(a b f r t) },
	clean => 'TRUNCATE app.orders', statements => {
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
	above   => q{SELECT comb_feed_number('orders_id_seq') > :n},
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
	update  => $rights[0],
	draws   => $rights[1],

	# rows of partitions and children, and how far the bounds have come
	leaf    => 'INSERT INTO part_11 (n) VALUES (1)',
	child   => 'INSERT INTO child (n) VALUES (1)',
	change  => 'UPDATE changing SET id = 2',
	aboveleaf => q{SELECT min(at) >= comb_feed_time('part') FROM part},
	abovechild => q{SELECT min(at) >= comb_feed_time('parent') FROM parent},
	abovechange => q{SELECT changed_at >= comb_feed_time('changing') FROM changing},
	heldleaf => 'INSERT INTO part (at, n) SELECT at, hold() FROM (SELECT clock_timestamp() AS at OFFSET 0) AS t',
	boundleaf => q{SELECT comb_feed_time('part_11') AS bound \gset},
	afterbound => q{SELECT max(at) >= :'bound' FROM part_11},
	attachfilled => q{CREATE TABLE part_2 (LIKE part INCLUDING DEFAULTS); ALTER TABLE part ATTACH PARTITION part_2 FOR VALUES IN (2); INSERT INTO part_2 (n) VALUES (2)},
	abovefilled => q{SELECT min(at) >= comb_feed_time('part') FROM part_2},

	# readers whose poll is planned, and waits before it is executed
	fresh   => fresh('PARTITION BY LIST (p)', 'PARTITION OF joined FOR VALUES IN (1)'),
	parent  => fresh('', '() INHERITS (joined)'),
	locktwo => q{DO 'BEGIN PERFORM pg_advisory_lock(2); END'},
	unlocktwo => q{DO 'BEGIN PERFORM pg_advisory_unlock(2); END'},
	start   => '\set last 0',
	poll    => polled((split(/\n/, joined(recipe('feed-poll'))))[1]),
	pollvalue => join(" \\gset\n", map { polled($_) } (split(/\n/, joined(recipe('feed-poll-value'))))[ 1, 2 ]),
	attach  => q{ALTER TABLE joined ATTACH PARTITION joined_2 FOR VALUES IN (2)},
	attachlocked => joined(recipe('feed-attach')),
	inherit => 'ALTER TABLE joined_2 INHERIT joined',
	inheritlocked => joined(recipe('feed-attach')) =~ s/ALTER TABLE.*/ALTER TABLE joined_2 INHERIT joined;/r,
	join    => 'INSERT INTO joined_N (p) VALUES (N)' });

# Callers that wait for a sequence stop after 100 ms.  Some steps need more time.
sub lock_timeout
{
	my ($ms) = @_;
	return qq{DO \$\$ BEGIN EXECUTE (SELECT string_agg(format('ALTER FUNCTION %s SET lock_timeout = %L', oid::regprocedure, '${ms}ms'), ';')
		FROM pg_proc WHERE proname = 'comb_feed_next'); END \$\$};
}
$feed->ask(lock_timeout(0));
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
	# rows of the caller's own transaction and its bound are committed together, and other callers wait for both
	a.begin a.row1 a.once a.rows=1 b.row2 f.advance f.shown=-|-|- a.commit f.advance f.shown=1,2|1,2|1,2
	a.begin a.row1 a.once b.row2 f.advance a.rollback f.advance f.shown=2|2|2
	# a slow caller meets a bound that another one has moved: the sequence's lock holds the caller up;
	# and a sequence that was set back is an error
	b.row1 t.begin t.away a.slow=0 b.raise9000 t.rollback b.number=9000 f.stays=55000 b.anew
	# a clock that was set back, also behind a candidate only
	b.ahead f.clock=55000 b.further f.clock=55000 b.anew
	# bounds do not move where the transaction would not see its rows
	f.repeatable f.once=25000 f.rollback f.serializable f.once=25000 f.rollback
	# a reader needs SELECT on comb_feed, and whoever advances SELECT on the sequence
	p.rows=42501 a.grant p.rows=0 a.update p.stays=42501 a.draws p.stays=0
});

#
# Partitions, children, and a partition alone; and a trigger's time
#
$feed->again;
$feed->ask(lock_timeout(100));
$feed->ask(q{
	CREATE TABLE part (n int, at timestamptz DEFAULT clock_timestamp()) PARTITION BY LIST (n);
	CREATE TABLE part_1 PARTITION OF part FOR VALUES IN (1) PARTITION BY LIST (n);
	CREATE TABLE part_11 PARTITION OF part_1 FOR VALUES IN (1);
	CREATE TABLE parent (n int, at timestamptz DEFAULT clock_timestamp());
	CREATE TABLE child () INHERITS (parent);
	CREATE FUNCTION hold() RETURNS int VOLATILE LANGUAGE plpgsql AS 'BEGIN PERFORM pg_advisory_xact_lock(1); RETURN 1; END';
	CREATE FUNCTION planned() RETURNS bigint STABLE LANGUAGE plpgsql AS
		'BEGIN PERFORM pg_advisory_lock_shared(2), pg_advisory_unlock_shared(2); RETURN 0; END';
	CREATE TABLE changing (id int);
	INSERT INTO changing VALUES (1)} . ';' . recipe('feed-changed') =~ s/orders/changing/gr . q{
	SELECT comb_feed_add(t, '0') FROM unnest('{part,part_11,parent,changing}'::regclass[]) AS t});
$schedule->test(q{
	a.begin a.leaf f.advance a.aboveleaf=t a.commit
	a.begin a.child f.advance a.abovechild=t a.commit
	a.begin a.change f.advance a.abovechange=t a.commit
	# the time is made before PostgreSQL has opened the partition
	t.lock a.heldleaf f.advance f.boundleaf t.unlock f.afterbound=t
	# a partition is attached and filled in one transaction
	a.begin a.attachfilled f.advance a.abovefilled=t a.commit f.advance a.abovefilled=f
	# a poll is planned without the partition that comes before its snapshot, and loses the partition's first row
	f.fresh r.start t.locktwo r.poll=2 a.attach a.join2 a.join1 f.advance t.unlocktwo r.poll=-
	# in a snapshot that is older than the plan it does not, nor with a bound that is, nor if ATTACH waits for it
	f.fresh r.start t.locktwo r.repeatable r.poll=- a.attach a.join2 a.join1 f.advance t.unlocktwo r.commit r.poll=1+2
	f.fresh r.start t.locktwo r.pollvalue=- a.attach a.join2 a.join1 f.advance t.unlocktwo r.pollvalue=1+2
	f.fresh r.start t.locktwo r.poll=- a.attachlocked t.unlocktwo a.join2 a.join1 f.advance r.poll=1+2
	f.parent r.start t.locktwo r.poll=2 a.inherit a.join2 a.join1 f.advance t.unlocktwo r.poll=-
	f.parent r.start t.locktwo r.repeatable r.poll=- a.inherit a.join2 a.join1 f.advance t.unlocktwo r.commit r.poll=1+2
	f.parent r.start t.locktwo r.pollvalue=- a.inherit a.join2 a.join1 f.advance t.unlocktwo r.pollvalue=1+2
	f.parent r.start t.locktwo r.poll=- a.inheritlocked t.unlocktwo a.join2 a.join1 f.advance r.poll=1+2
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
	[ 'add(NULL)', '22023', 'comb_feed_add() needs a sequence or a table, and no negative margin' ],
	[ "add('orders', '-1 s')", '22023', 'comb_feed_add() needs a sequence or a table, and no negative margin' ],
	[ "between(NULL::orders, NULL, comb_feed_position())", '42703', 'orders has no column comb_xid of the type xid8' ],
	[ "add('by_number')", '0A000', 'there is no bound for "app.by_number": it is not a permanent sequence or table' ],
	[ "advance('cached')", '42704', 'comb_feed has no bound for "app.cached"' ],
	[ "remove('cached')", '42704', 'comb_feed has no row for "app.cached"' ],
	[ "number('orders')", '42704', 'comb_feed has no number for "app.orders"' ],
	[ "uuid('orders_id_seq')", '42704', 'comb_feed has no time for "app.orders_id_seq"' ])
{
	my ($call, $sqlstate, $message) = @$case;
	like($feed->complaints("SELECT comb_feed_$call"), qr/ERROR:  $sqlstate: .*\Q$message\E/, "refused: $call");
}
$feed->ask(q{ALTER SEQUENCE later CACHE 20; DROP SEQUENCE gone; INSERT INTO orders (body) VALUES ('h')});
my $complaints = $feed->complaints($advance);
like($complaints, qr/WARNING:  0A000: there is no bound for "app\.later": it has CACHE 20/, 'a sequence that has changed is a warning');
like($complaints, qr/WARNING:  42P01: the source "app\.gone" of comb_feed is gone.*\nHINT:  SELECT comb_feed_remove\('\d+'\)/, 'and one that is gone');
is($feed->ask("SELECT $views"), 'h|h|h', 'and the other sources move');
like($feed->complaints(q{SELECT comb_feed_advance('later')}), qr/ERROR:  0A000: there is no bound for "app\.later"/, 'alone it is an error');
$feed->ask(join(';', q{SELECT comb_feed_remove('later')}, $complaints =~ /HINT:  (SELECT comb_feed_remove.*)/, 'TRUNCATE orders'));
is($feed->ask(q{SELECT count(*) FROM comb_feed WHERE name ~ 'later|gone'}), 0, 'both can be removed');

my $locker = session();
$locker->ask('ALTER SEQUENCE later CACHE 1; BEGIN; ALTER SEQUENCE later RENAME TO latest');
like($feed->complaints(q{SELECT comb_feed_add('later')}), qr/ERROR:  55P03: the sequence "app\.later" is locked/, 'nobody waits long for a locked sequence');
$locker->ask('ROLLBACK');

# A source without a first bound, because a writer was open
$locker->ask(q{BEGIN; INSERT INTO orders (body) VALUES ('x')});
$feed->ask($anew);
is($feed->ask("SELECT count(*), count(age), count(pid) FROM ($held) AS held"), '2|0|2', 'a source without a bound has no age');
$locker->ask('ROLLBACK');

# Who lacks rights gets a warning for some sources, and an error for all.
$node->safe_psql('postgres', 'SET search_path = app;' . recipe('feed-mover') =~ s/public/app/r . 'ALTER ROLE mover SET search_path = app');
my $mover = CombSession->new($node, 'postgres', user => 'mover');
is($mover->ask('SELECT comb_feed_advance() > 0'), 't', 'a role of its own moves the bounds');
$feed->ask('REVOKE ALL ON SEQUENCE orders_id_seq FROM mover');
like($mover->complaints('SELECT comb_feed_advance()'),
	qr/WARNING:  42501: permission denied for sequence "app\.orders_id_seq"\nHINT:  GRANT SELECT ON SEQUENCE app\.orders_id_seq TO mover/,
	'a source without rights is a warning');
$feed->ask(q{SELECT comb_feed_remove('orders')});
like($mover->complaints('SELECT comb_feed_advance()'), qr/ERROR:  42501: permission denied for sequence/, 'and an error if no source is left');
$feed->ask($anew);

$feed->ask(q{
	CREATE TABLE defaults (a timestamptz DEFAULT now(), b timestamptz DEFAULT CURRENT_TIMESTAMP, c timestamptz DEFAULT transaction_timestamp(),
		d timestamptz DEFAULT statement_timestamp(), e timestamp DEFAULT clock_timestamp(), f timestamp DEFAULT LOCALTIMESTAMP,
		g timestamptz DEFAULT clock_timestamp(), h timestamptz DEFAULT 'infinity', i timestamp, j text DEFAULT now()::text)});
$complaints = $feed->complaints(q{SELECT comb_feed_add('defaults')});
is(join('', sort($complaints =~ /WARNING:  01000: readers of "app\.defaults" by (\w) timestamp with.* lose rows/g)), 'abcdef',
	'a warning of columns that get the time of the transaction, or have no zone');
$feed->ask(q{SELECT comb_feed_remove('defaults')});
$feed->ask(q{CREATE TABLE unsorted (at timestamptz NOT NULL DEFAULT clock_timestamp()); CREATE INDEX ON unsorted USING brin (at)});
$feed->ask(q{DO $$ BEGIN PERFORM comb_feed_add('unsorted'); END $$});
is($feed->ask(q{SELECT finding FROM comb_feed_check('unsorted')}), 'at is the first column of no index', 'an index without an order is none to poll by');
$feed->ask(q{CREATE INDEX ON unsorted (at)});
is($feed->ask(q{SELECT count(*) FROM comb_feed_check('unsorted')}), '0', 'but one with an order is');
$feed->ask(q{SELECT comb_feed_remove('unsorted')});

# What comb_feed_check() finds in a table that is read by its number, then also by its times and uuids
$feed->ask(q{
	CREATE TABLE looked (id bigserial, at timestamptz DEFAULT clock_timestamp(), created_at timestamptz DEFAULT now(),
		key uuid PRIMARY KEY DEFAULT comb_generate(), hour int GENERATED ALWAYS AS (0) STORED);
	CREATE INDEX ON looked (id);
	CREATE INDEX ON looked (at);
	CREATE VIEW looked_settled AS SELECT * FROM looked WHERE id < (SELECT comb_feed_number('looked_id_seq'));
	INSERT INTO looked DEFAULT VALUES;
	GRANT INSERT ON comb_feed TO mover;
	SELECT comb_feed_add('looked_id_seq')});
my $found = q{SELECT string_agg(severity || ' ' || finding, E'\n' ORDER BY severity, finding) FROM comb_feed_check('looked')};
is($feed->ask($found), '', 'a table that is read by its number may have a column of transaction times');
$feed->ask(q{INSERT INTO looked (id) VALUES (1000)});
is($feed->ask($found), 'error id has values that its sequence has not made yet', 'a number by hand');
is($feed->ask($found =~ s/'looked'/'$_'/r), $feed->ask($found), "also of $_") foreach 'looked_id_seq', 'looked_settled';
$feed->ask(q{
	DELETE FROM looked WHERE id = 1000;
	UPDATE comb_feed SET at = at - interval '1 hour' WHERE name = 'app.looked_id_seq';
	SET client_min_messages = error; SELECT comb_feed_add('looked'); RESET client_min_messages});
like($feed->ask($found), qr/^error created_at timestamp with time zone DEFAULT now\(\)\nwarning at may be NULL, and readers get no such row\nwarning its bound is 01:00:\d\d old$/,
	'and one that is read by its times may not, and a bound that nobody moves');
$feed->ask(q{SELECT comb_feed_remove('looked_id_seq'); ALTER TABLE looked ALTER created_at DROP DEFAULT; UPDATE looked SET at = NULL});
is($feed->ask($found), "error at is NULL in some rows, which no reader gets\nwarning at may be NULL, and readers get no such row", 'a row without a time');
is($mover->ask($found), "note at was not looked at in the rows\nnote key was not looked at in the rows\nwarning at may be NULL, and readers get no such row",
	'for which one needs the right');
$mover->ask(q{SELECT comb_feed_add('looked')});
$feed->ask(q{DELETE FROM looked; ALTER TABLE looked ALTER at SET NOT NULL; INSERT INTO looked (at) VALUES (now() + interval '1 hour')});
is($feed->ask($found), 'error at has values ahead of the clock, which no reader gets before', 'a time to come');
is($feed->ask("SET datestyle = 'SQL'; SET timezone = '$_'; $found"), 'error at has values ahead of the clock, which no reader gets before', "also in $_")
	foreach 'Asia/Manila', 'Asia/Jakarta';
$feed->ask('RESET datestyle; RESET timezone');
$feed->ask(q{DELETE FROM looked; INSERT INTO looked (key) VALUES (comb_at(now() + interval '1 hour'))});
is($feed->ask($found), 'error key has values ahead of the clock, which no reader gets before', 'a uuid of such a time');
$feed->ask(q{DELETE FROM looked; INSERT INTO looked (key) VALUES ('00000000-0000-4000-8000-000000000001')});
is($feed->ask($found), 'warning key has uuids of other kinds, which come in no order, or never', 'a uuid without a time');
$feed->ask('DELETE FROM looked; INSERT INTO looked DEFAULT VALUES');
is($feed->ask($found), '', 'the defaults are right');
$node->safe_psql('postgres', 'CREATE PUBLICATION without FOR TABLE app.looked');
is($feed->ask($found), 'warning hour is left out by the publication without', 'a publication without a stored column');
$node->safe_psql('postgres', 'DROP PUBLICATION without');
$feed->ask(q{SELECT comb_feed_remove('looked'); CREATE TABLE in_parts (at timestamptz NOT NULL DEFAULT clock_timestamp(), n int) PARTITION BY LIST (n);
	CREATE INDEX ON in_parts (at); CREATE TABLE in_parts_1 PARTITION OF in_parts FOR VALUES IN (1); SELECT comb_feed_add('in_parts');
	ALTER TABLE in_parts_1 ALTER at SET DEFAULT now()});
is($feed->ask($found =~ s/looked/in_parts/r), 'warning at has another default than the table above: now()', 'a partition with another default');
$feed->ask(q{SELECT comb_feed_remove('in_parts')});
is($feed->ask($found), 'error no bound follows it', 'and what is not followed');

# As if the table of bounds came from a publisher
$node->safe_psql('postgres', q{SET allow_system_table_mods = on; INSERT INTO pg_subscription_rel VALUES (1, 'app.comb_feed'::regclass, 'r')});
like($feed->complaints('SELECT comb_feed_advance()'), qr/55000: bounds do not move on a subscriber/, 'refused: on a subscriber of the bounds');
$node->safe_psql('postgres', q{SET allow_system_table_mods = on; DELETE FROM pg_subscription_rel});

#
# The owner of a followed sequence, and callers that wait for it: how long is not the point here
#
my $tenant = CombSession->new($node, 'postgres');
my $caller = CombSession->new($node, 'postgres');
$tenant->ask(q{CREATE ROLE tenant; CREATE SCHEMA tenant AUTHORIZATION tenant; GRANT USAGE ON SCHEMA tenant TO app; SET ROLE tenant;
	CREATE TABLE tenant.done (what text);
	CREATE SEQUENCE tenant.s; CREATE SEQUENCE tenant.few; CREATE SEQUENCE tenant.many;
	GRANT ALL ON ALL TABLES IN SCHEMA tenant TO public; GRANT ALL ON ALL SEQUENCES IN SCHEMA tenant TO public;
	CREATE FUNCTION tenant.code() RETURNS bigint LANGUAGE plpgsql AS
		$$BEGIN INSERT INTO tenant.done VALUES (current_user); RETURN 0; END$$;
	DO $$ BEGIN PERFORM setval('tenant.few', 100), setval('tenant.many', 1000000), setval('tenant.s', 1); END $$});
$caller->ask('SET search_path = app;' . lock_timeout(0));
$caller->ask(q{SELECT comb_feed_add(s) FROM unnest('{tenant.s,tenant.few,tenant.many}'::regclass[]) AS s});
for my $case (
	[ 'a view in place of the sequence', q{ALTER SEQUENCE tenant.s RENAME TO x; CREATE VIEW tenant.s AS
		SELECT 1::bigint AS last_value, true AS is_called, tenant.code() AS log_cnt, 'tenant.x'::regclass::oid AS tableoid} ],
	[ 'the names of two sequences change', q{ALTER SEQUENCE tenant.few RENAME TO y; ALTER SEQUENCE tenant.many RENAME TO few;
		ALTER SEQUENCE tenant.y RENAME TO many} ])
{
	my ($what, $sql) = @$case;
	$tenant->ask("BEGIN; $sql");
	$caller->send('SELECT comb_feed_advance()');
	wait_until($node, "SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted AND pid = $caller->{pid})", 'no caller waits');
	$tenant->ask('COMMIT');
	$caller->result;
	is($caller->ask('SELECT count(*) FROM tenant.done'), 0, "$what: callers run no code of its owner");
	is($caller->ask(q{SELECT string_agg(number::text, ' ' ORDER BY number) FROM comb_feed WHERE name IN ('tenant.s', 'tenant.few')}),
		'2 101', "$what: and read the sequence that they follow");
}
$tenant->ask(q{CREATE TYPE tenant.number AS (n bigint);
	CREATE FUNCTION tenant.cast(tenant.number) RETURNS bigint LANGUAGE sql AS 'SELECT tenant.code()';
	CREATE CAST (tenant.number AS bigint) WITH FUNCTION tenant.cast(tenant.number) AS IMPLICIT;
	CREATE TABLE tenant.cast (n tenant.number PRIMARY KEY, t text UNIQUE); INSERT INTO tenant.cast VALUES (ROW (1), 'a'); GRANT SELECT ON tenant.cast TO public;
	ALTER SEQUENCE tenant.few OWNED BY tenant.cast.n; ALTER SEQUENCE tenant.many OWNED BY tenant.cast.t});
is($caller->ask(q{SELECT count(*) FROM comb_feed_check('tenant.cast') WHERE severity = 'error'}), 0, 'numbers of other types are not compared');
is($caller->ask('SELECT count(*) FROM tenant.done'), 0, 'and nobody runs a cast of their owner');
$tenant->ask('DROP SCHEMA tenant CASCADE');
$caller->ask(q{DELETE FROM comb_feed WHERE name ~ '^tenant';} . lock_timeout(100));

# TRUNCATE locks sequences in the order of its tables, and callers in theirs
$feed->ask(join(';', map { "CREATE TABLE truncated_$_ (id bigserial); SELECT comb_feed_add('truncated_$_\_id_seq')" } 4, 1, 3, 2));
append_to_file($node->basedir . '/truncate.sql', 'TRUNCATE truncated_1, truncated_2, truncated_3, truncated_4 RESTART IDENTITY;');
append_to_file($node->basedir . '/all.sql', "SET client_min_messages = error;\nSELECT comb_feed_advance();");
command_ok([ 'pgbench', '-n', '-c', 4, '-T', 4, '-f', $node->basedir . '/truncate.sql', '-f', $node->basedir . '/all.sql@3',
	$node->connstr('postgres') . ' user=app' ], 'TRUNCATE ... RESTART IDENTITY beside callers');
unlike(slurp_file($node->logfile), qr/deadlock detected/, 'ends in no deadlock');
$feed->ask(q{DELETE FROM comb_feed WHERE name ~ 'truncated'; DROP TABLE truncated_1, truncated_2, truncated_3, truncated_4});

#
# From 1.0 to this version
#
$node->safe_psql('postgres', 'CREATE SCHEMA old AUTHORIZATION app');
is(install('test/data/pg_comb_feed-1.0.sql', 'old'), '', '1.0 is installed');
$feed->ask(q{SET search_path = old; CREATE TABLE orders (id bigserial);} . recipe('feed-number') . q{GRANT SELECT ON comb_feed, orders_settled TO poller; GRANT USAGE ON SCHEMA old TO poller;
	REVOKE EXECUTE ON FUNCTION comb_feed_advance FROM PUBLIC; INSERT INTO orders DEFAULT VALUES; SELECT comb_feed_advance()});
$locker->ask('BEGIN; INSERT INTO old.orders DEFAULT VALUES');
$feed->ask('INSERT INTO orders DEFAULT VALUES; SELECT comb_feed_advance()');
my $state = q{SELECT f, relacl, (SELECT proacl FROM pg_proc WHERE oid = 'comb_feed_advance'::regproc), (SELECT count(*) FROM orders_settled)
	FROM comb_feed AS f, pg_class WHERE oid = 'comb_feed'::regclass};
my $before = $feed->ask($state);
is(install('sql/portable/pg_comb_feed.sql', 'old'), '', 'this version is run over it');
is($feed->ask($state), $before, 'bounds, views and privileges stay');
$locker->ask('COMMIT');
is($feed->ask("$advance; SELECT count(*) FROM orders_settled"), 3, 'and the feed goes on');
sub objects_of
{
	my ($schema) = @_;
	return $node->safe_psql('postgres', qq{SET search_path = $schema; SELECT replace(string_agg(pg_get_functiondef(oid), '' ORDER BY proname)
		|| pg_get_viewdef('comb_feed_status'), '$schema.', '') FROM pg_proc WHERE pronamespace = '$schema'::regnamespace AND proname ~ '^comb_feed'});
}
is(objects_of('old'), objects_of('app'), 'as in a new installation');
$node->safe_psql('postgres', 'DROP SCHEMA old CASCADE');
$feed->ask('SET search_path = app');

#
# Names, dumps
#
$node->safe_psql('postgres', 'CREATE SCHEMA shared; GRANT ALL ON SCHEMA shared TO app; CREATE TABLE shared.comb_feed ()');
like(install('sql/portable/pg_comb_feed.sql', 'shared'), qr/ERROR:  comb_feed belongs to another role\nHINT:  Run the file as the owner/, 'a feed of another role stays');
$node->safe_psql('postgres', 'DROP SCHEMA shared CASCADE');
$node->safe_psql('postgres', q{
	CREATE SCHEMA open; CREATE SCHEMA closed AUTHORIZATION app; GRANT USAGE ON SCHEMA open TO app;
	CREATE FUNCTION open.eq(regclass, regclass) RETURNS boolean LANGUAGE plpgsql AS 'BEGIN RAISE ''called''; END';
	CREATE OPERATOR open.= (FUNCTION = open.eq, LEFTARG = regclass, RIGHTARG = regclass)});
is(install('sql/portable/pg_comb_feed.sql', 'closed,open'), '', 'the file is installed with a stranger behind');
is($feed->ask("DO 'BEGIN PERFORM closed.comb_feed_add(''orders_id_seq''); END'; SELECT closed.comb_feed_number('orders_id_seq') IS NOT NULL"), 't',
	'who has no operator in it');
$node->safe_psql('postgres', 'DROP SCHEMA closed, open CASCADE');
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
