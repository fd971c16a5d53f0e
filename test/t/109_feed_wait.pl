# comb_wait(): what wakes a reader and what does not, what it holds meanwhile, and many readers
# beside many writers, none of whose rows waits for a timeout.
# logged: there is no transaction in progress
# logged: returns: [0-9]+
use lib 'test/perl';
use CombFeed;
use CombSchedule;
use CombSession;
use CombTest;
use List::Util qw(min);
use Time::HiRes qw(time usleep);

my $node = server('main', init => [ allows_streaming => 1 ], conf => q{
autovacuum = off
max_connections = 150
max_prepared_transactions = 5
max_wal_senders = 4
}, sql => $CombSchedule::setup . q{
	CREATE TABLE number (id bigint PRIMARY KEY DEFAULT comb_snowflake(instance_bits => 0));
	CREATE TABLE scratch (i integer);
	CREATE DATABASE other;
});
$node->safe_psql('other', $CombSchedule::setup);

my ($reader, $writer) = map { CombSession->new($node) } 1 .. 2;
my $elsewhere = CombSession->new($node, 'other');

# The count, as of now
sub count
{
	my ($session) = @_;
	return ($session // $reader)->ask('CALL comb_wait(NULL)');
}

sub sleeps { return wait_until($node, "SELECT wait_event_type = 'Extension' AND state = 'active' FROM pg_stat_activity WHERE pid = $_[0]->{pid}") }

# Begin to wait, and return once the session sleeps.
sub wait_from
{
	my ($seen, $timeout) = @_;
	$reader->send("CALL comb_wait($seen, '$timeout')");
	return sleeps($reader);
}

like(count(), qr/^\d+$/, 'a count');

#
# What wakes a reader ("wait" says whether the count is another one), and what lets it sleep on
#
sub wait_for { return "\\set before :seen\nCALL comb_wait(:seen, '$_[0]') \\gset\nSELECT :seen <> :before" }

my $schedule = CombSchedule->new($node, 'a b o r u', other => 'o', statements => {
	seen    => 'CALL comb_wait(NULL) \gset',
	wait    => wait_for('15 s'),
	short   => wait_for('400 ms'),
	number  => 'INSERT INTO number DEFAULT VALUES',
	flake   => "BEGIN; INSERT INTO number DEFAULT VALUES; PREPARE TRANSACTION 'pN'",
	sub     => q{SAVEPOINT s; INSERT INTO event (what) VALUES ('sub'); RELEASE s},
	block   => q{DO $$ BEGIN INSERT INTO event (what) VALUES ('block'); COMMIT; END $$},
	scratch => 'INSERT INTO scratch VALUES (1)',
	asks    => 'DO $$ BEGIN PERFORM comb_settled(); END $$',
	timeout => "SET statement_timeout = '100 ms'",
	reset   => 'RESET statement_timeout' });
$schedule->test(q{
	# the end of each transaction with a key
	r.seen r.wait=t a.event
	r.seen r.wait=t a.number
	r.seen r.wait=t a.key
	r.seen r.wait=t a.block
	a.begin a.event r.seen r.wait=t a.commit
	a.begin a.sub r.seen r.wait=t a.commit
	a.begin a.event r.seen r.wait=t a.rollback
	a.begin a.event r.seen r.wait=t a.terminate
	# one that came before the wait
	r.seen a.event r.wait=t r.short=f
	# but neither one without a key, an open one, nor one of another database
	r.seen r.short=f a.scratch a.asks a.begin a.scratch a.rollback u.pause500
	r.seen r.short=f a.begin a.event u.pause500 a.rollback
	r.seen r.short=f o.event u.pause500
	# PREPARE, but not the end of a prepared transaction, of which nobody is told
	r.seen r.wait=t a.prepared1 b.commitp1
	r.seen r.wait=t a.flake1 b.rollbackp1
	a.prepared1 r.seen r.short=f b.commitp1 r.poll=1
	a.prepared1 r.seen b.commitp1 r.short=f r.poll=1
	# a reader that is cancelled can wait again, and others go on
	r.seen r.wait=f=57014 r.cancel r.seen r.wait=t a.event
	r.seen r.timeout r.wait=f=57014 r.reset r.seen r.wait=t a.event
});
# A woken reader finds the row below comb_settled().
my $found = 'r.seen r.wait=t a.event r.poll=1';
is(scalar(grep { $schedule->run($found) ne $found } 1 .. 50), 0, "50 times: $found");

my $seen = count();
my $begin;
cmp_ok($seen, '<', 2**53, 'a program may read the count as a double');
isnt(count($elsewhere), $seen, 'counts of another database begin elsewhere');

#
# Time
#
foreach ([ "'150 ms'", 0.15 ], [ "'0'", 0 ], [ "'-1 s'", 0 ], [ "'150 ms'::interval + '1 month' - '30 days'", 0.15 ])
{
	my ($timeout, $least) = @$_;
	$begin = time();
	is($reader->ask("CALL comb_wait($seen, $timeout)"), $seen, "timeout $timeout");
	my $took = time() - $begin;
	ok($took >= $least && $took < $least + 10, 'and takes as long');
}
wait_from($seen, '1000000 years');
$writer->event;
isnt(($reader->result)[0], $seen, 'a timeout of a million years');
$seen = count();
$reader->send("CALL comb_wait($seen, NULL)");
usleep(100_000);
ok(!$reader->answered, 'no timeout');
$writer->event;
isnt(($reader->result)[0], $seen, 'no timeout, and woken');

#
# What a session holds while it waits, and how it ends
#
$seen = count();
$reader->ask('SELECT count(*) FROM event');
wait_from($seen, '1 minute');
is($writer->ask("SELECT backend_xmin IS NULL, backend_xid IS NULL FROM pg_stat_activity WHERE pid = $reader->{pid}"), 't|t', 'no snapshot is held');
is($writer->ask("SELECT count(*) FROM pg_locks WHERE pid = $reader->{pid} AND locktype <> 'virtualxid'"), '0', 'no lock is held');
is($writer->ask("SELECT wait_event FROM pg_stat_activity WHERE pid = $reader->{pid}"),
	$node->pg_version >= 17 ? 'CombWait' : 'Extension', 'the name of the wait');
$writer->event;
$reader->result;

{
	my $dying = CombSession->new($node);
	$dying->send("CALL comb_wait(@{[ count() ]}, '1 minute')");
	sleeps($dying);
	$writer->ask("SELECT pg_terminate_backend($dying->{pid})");
	like(($dying->result)[1], qr/57P01/, 'a session that waits is terminated');
}
$schedule->test('r.seen r.wait=t a.event');

# The extension is dropped, and made again, while a session sleeps.
{
	my $sleeper = CombSession->new($node, 'other');
	$seen = count($sleeper);
	$sleeper->send("CALL comb_wait($seen, '1 minute')");
	sleeps($sleeper);
	$elsewhere->ask($_)
		foreach 'DROP EXTENSION pg_comb_ordered CASCADE', 'CREATE EXTENSION pg_comb_ordered', 'SELECT comb_generate_ordered()';
	my ($count, $err) = $sleeper->result;
	ok($err eq '' && $count =~ /^\d+$/ && $count != $seen, 'the procedure is dropped and made again meanwhile') or diag($err);
	$sleeper->quit;
}

# Each session that waits makes the pauses of the others longer by 0.5 ms.
$seen = count();
$node->psql('postgres', "SET statement_timeout = '3 ms';" . " CALL comb_wait($seen, '1 minute');" x 300, on_error_stop => 0);
my (undef, @took) = map { my $since = time(); $reader->ask("CALL comb_wait($seen - 1, '1 minute')"); time() - $since } 1 .. 10;
cmp_ok(min(@took), '<', 0.1, 'sessions that are cancelled do not count as readers any more');

#
# Where it cannot be called
#
foreach my $sql (
	'BEGIN; CALL comb_wait(NULL)',
	'SELECT 1 \; CALL comb_wait(NULL)',
	q{DO $$ DECLARE n bigint; BEGIN PERFORM 1; CALL comb_wait(n); EXCEPTION WHEN division_by_zero THEN NULL; END $$})
{
	like($reader->complaints($sql), qr/ERROR:  (?:25001: comb_wait\(\) cannot run inside a transaction block or a function|2D000)/, "refused: $sql");
	$reader->ask('ROLLBACK');
}
$node->safe_psql('postgres', q{
	CREATE FUNCTION waiting() RETURNS bigint LANGUAGE plpgsql AS $$ DECLARE n bigint; BEGIN CALL comb_wait(n); RETURN n; END $$;
	CREATE TABLE woken (n bigint);
	CREATE PROCEDURE consume(n integer) LANGUAGE plpgsql AS
	$$
	DECLARE
		seen bigint;
		event record;
	BEGIN
		FOR i IN 1..n LOOP
			CALL comb_wait(seen, '1 minute');
			FOR event IN SELECT * FROM event LOOP NULL; END LOOP;
			INSERT INTO woken VALUES (seen);
		END LOOP;
	END
	$$});
like($reader->complaints('SELECT waiting()'), qr/ERROR:  25001: comb_wait/, 'refused: in a function');

# In a procedure, also where the default is to keep a snapshot.
foreach my $level ('read committed', 'repeatable read', 'serializable')
{
	$reader->ask("SET default_transaction_isolation = '$level'; TRUNCATE woken");
	$reader->send('CALL consume(2)');
	wait_until($node, 'SELECT count(*) = 1 FROM woken', "$level: what came before the wait is not committed");
	sleeps($reader);
	is($writer->ask("SELECT backend_xmin IS NULL FROM pg_stat_activity WHERE pid = $reader->{pid}"), 't', "$level: a procedure holds no snapshot");
	$writer->event;
	is(($reader->result)[1], '', "$level: a procedure waits");
	is($writer->ask('SELECT count(DISTINCT n) FROM woken'), '2', "$level: and is woken");
}
$reader->ask('RESET default_transaction_isolation');

# What happens to parents while a procedure sleeps is older than the plan of its poll.
$node->safe_psql('postgres', q{
	CREATE TABLE parted (LIKE event INCLUDING DEFAULTS) PARTITION BY LIST (what);
	CREATE TABLE part1 PARTITION OF parted FOR VALUES IN ('one');
	CREATE TABLE got (i integer, n bigint);
	CREATE PROCEDURE follow() LANGUAGE plpgsql AS
	$$
	DECLARE
		seen bigint;
		position text := '';
		n bigint;
	BEGIN
		FOR i IN 1..3 LOOP
			CALL comb_wait(seen, '1 minute');
			SELECT comb_position(position), count(id) FROM parted WHERE comb_unread(id, parted.xmin, position) INTO position, n;
			INSERT INTO got VALUES (i, n);
			COMMIT;
			EXIT WHEN i > 1 AND n > 0;
		END LOOP;
	END
	$$});
foreach my $change ('ANALYZE parted', q{CREATE TABLE part2 PARTITION OF parted FOR VALUES IN ('two')})
{
	$writer->ask('TRUNCATE got');
	$reader->ask('SELECT comb_settled()');
	$reader->send('CALL follow()');
	wait_until($node, 'SELECT count(*) = 1 FROM got');
	sleeps($reader);
	$writer->ask($change);
	$writer->ask("INSERT INTO parted (what) VALUES ('one')");
	wait_until($node, 'SELECT count(*) > 1 FROM got');
	is($writer->ask('SELECT n FROM got WHERE i = 2'), 1, "$change while a procedure sleeps: it returns the row that woke it");
	$writer->event while !$reader->answered;
	is(($reader->result)[1], '', 'and goes on');
}

#
# A restart and a crash: an old count does not hold a reader up.
#
my @first;
foreach my $restart ('restart', 'crash')
{
	$seen = count();
	$_->quit foreach ($reader, $writer, $elsewhere);
	if ($restart eq 'crash') { $node->stop('immediate'); $node->start }
	else { $node->restart }
	$_->connect foreach ($reader, $writer, $elsewhere);
	isnt($reader->ask("CALL comb_wait($seen, '1 minute')"), $seen, "a count from before a $restart");
	push @first, count();
}
isnt($first[0], $first[1], 'counts begin elsewhere at each start');
#
# A standby, and its promotion
#
my $standby = standby($node, 'standby');
my $there = CombSession->new($standby);
like($there->complaints('CALL comb_wait(NULL)'), qr/ERROR:  55000: a standby cannot wait for transactions with keys\nHINT:  Call comb_wait\(\) on the primary/, 'on a standby');
$standby->promote;
$seen = $there->ask('CALL comb_wait(NULL)');
$standby->safe_psql('postgres', "INSERT INTO event (what) VALUES ('promoted')");
isnt($there->ask("CALL comb_wait($seen, '1 minute')"), $seen, 'after its promotion');
$there->quit;
$standby->stop;

#
# A hundred readers beside writers.  Nobody commits after the last row, so a reader that missed
# it would stay until its timeout.
#
my @readers = map { CombSession->new($node) } 1 .. 100;
my @writers = ($writer, map { CombSession->new($node) } 2 .. 4);
$node->safe_psql('postgres', q{
	TRUNCATE event;
	CREATE PROCEDURE write(n integer) LANGUAGE plpgsql AS
	$$
	BEGIN
		FOR i IN 1..n LOOP
			INSERT INTO event (what) VALUES (i);
			IF i % 5 = 0 THEN ROLLBACK; ELSE COMMIT; END IF;
			PERFORM pg_sleep(random() * 0.02);
		END LOOP;
	END
	$$;
	CREATE PROCEDURE read(rows integer) LANGUAGE plpgsql AS
	$$
	DECLARE
		seen bigint;
		was bigint;
	BEGIN
		LOOP
			was := seen;
			CALL comb_wait(seen, '1 minute');
			IF was = seen THEN RAISE 'a wake-up was lost'; END IF;
			EXIT WHEN (SELECT count(*) FROM event WHERE id < comb_settled()) = rows;
		END LOOP;
	END
	$$});
$begin = time();
$_->send('CALL read(320)') foreach @readers;
$_->send('CALL write(100)') foreach @writers;
is(join('', map { ($_->result)[1] } @writers), '', 'the writers succeed');
is(join('', map { ($_->result)[1] } @readers), '', 'no reader loses a wake-up');
ok(time() - $begin < 50, 'and none waits for its timeout');

# Readers that are woken all the time leave the processors to others.
$node->safe_psql('postgres', q{
	CREATE PROCEDURE spin() LANGUAGE plpgsql AS
	$$
	DECLARE
		until timestamptz := clock_timestamp() + '2 s';
		seen bigint;
		n integer := 0;
	BEGIN
		WHILE clock_timestamp() < until LOOP
			CALL comb_wait(seen, '1 s');
			n := n + 1;
		END LOOP;
		RAISE WARNING 'returns: %', n;
	END
	$$});
$_->send(q{DO $$ BEGIN FOR i IN 1..20000 LOOP INSERT INTO event (what) VALUES ('quick'); COMMIT; EXIT WHEN clock_timestamp() > statement_timestamp() + '2 s'; END LOOP; END $$}) foreach @writers;
$_->send('CALL spin()') foreach @readers[ 0 .. 39 ];
my $returns = 0;
$returns += ($_->result)[1] =~ /returns: (\d+)/ ? $1 : die 'no returns' foreach @readers[ 0 .. 39 ];
is(join('', map { ($_->result)[1] } @writers), '', 'writers are quick');
cmp_ok($returns, '<=', 2 * 500 * 2 + 40, 'readers return 500 times a second, and at most twice as often');
cmp_ok($returns, '>=', 80, 'and are woken');
$_->quit foreach (@readers, @writers);

# Two workers wait for a job.  One of them gets it.
my ($seen_recipe, $take) = recipe('workers') =~ /^(CALL .*?;)\n(.*)/s;
$elsewhere->quit;
my @workers = map { CombSession->new($node) } 1 .. 2;
$reader->ask('CREATE TABLE job (id uuid PRIMARY KEY DEFAULT comb_generate_ordered(), what text)');
$_->send($seen_recipe =~ s/\$seen/count($reader)/er =~ s/10 s/30 s/r) foreach @workers;
sleeps($_) foreach @workers;
my $began = time();
$reader->ask("INSERT INTO job (what) VALUES ('one')");
$_->result foreach @workers;
cmp_ok(time() - $began, '<', 20, 'a job wakes the workers');
is(join(' ', sort map { $_->ask("BEGIN; $take") =~ s/.*\|//r } @workers), ' one', 'one of them gets it');
is($workers[0]->ask('ROLLBACK') . $workers[1]->ask('ROLLBACK') . ($workers[1]->ask($take) =~ s/.*\|//r), 'one', 'and after a rollback the other');
$_->quit foreach (@workers, $reader);

$node->stop;
done_testing();
