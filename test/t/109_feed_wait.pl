# comb_wait(): what wakes a reader and what does not, what it holds meanwhile, and many readers
# beside many writers, none of whose rows waits for a timeout.
use lib 'test/perl';
use CombFeed;
use CombSession;
use CombTest;
use List::Util qw(min);
use Time::HiRes qw(time usleep);

my $node = server('main', init => [ allows_streaming => 1 ], conf => q{
autovacuum = off
max_connections = 150
max_prepared_transactions = 5
max_wal_senders = 4
}, sql => $CombSession::setup . q{
	CREATE TABLE number (id bigint PRIMARY KEY DEFAULT comb_snowflake(instance_bits => 0));
	CREATE TABLE scratch (i integer);
	CREATE DATABASE other;
});
$node->safe_psql('other', $CombSession::setup);

my ($reader, $writer) = map { CombSession->new($node) } 1 .. 2;
my $elsewhere = CombSession->new($node, 'other');

# The count, as of now
sub count
{
	my ($session) = @_;
	return ($session // $reader)->ask('CALL comb_wait(NULL)');
}

# Begin to wait, and return once the session sleeps.
sub wait_from
{
	my ($seen, $timeout) = @_;
	$reader->send("CALL comb_wait($seen, '$timeout')");
	wait_until($node, "SELECT wait_event_type = 'Extension' AND state = 'active' FROM pg_stat_activity WHERE pid = $reader->{pid}");
	return;
}

# Sleep, and let others do this.  A session that nobody wakes ends the test, because many would
# take long.
sub woken
{
	my ($what) = @_;
	my $seen = count();
	wait_from($seen, '30 s');
	$what->();
	my $begin = time();
	my ($count, $err) = $reader->result;
	die "nobody wakes the reader: $err" if $err || $count == $seen || time() - $begin > 20;
	return 'woken';
}

# Whether a session sleeps on while others do this.  Another session sees the count that would
# have woken it, and wakes it at last.
sub sleeps_on
{
	my ($what) = @_;
	my $seen = count();
	wait_from($seen, '1 minute');
	$what->();
	my $count = $node->safe_psql('postgres', 'CALL comb_wait(NULL)');
	usleep(500_000);
	return 'woken' if $reader->answered || $count ne $seen;
	$node->safe_psql('postgres', 'SELECT comb_generate_ordered()');
	($count) = $reader->result;
	return $count eq $seen ? 'not woken by a key' : 'slept on';
}

like(count(), qr/^\d+$/, 'a count');

#
# What wakes
#
foreach my $sql (
	q{INSERT INTO event (what) VALUES ('autocommit')},
	'INSERT INTO number DEFAULT VALUES',
	q{BEGIN; INSERT INTO event (what) VALUES ('a block'); COMMIT},
	q{BEGIN; SAVEPOINT s; INSERT INTO event (what) VALUES ('a subtransaction'); RELEASE s; COMMIT},
	q{BEGIN; INSERT INTO event (what) VALUES ('a rollback'); ROLLBACK},
	q{DO $$ BEGIN INSERT INTO event (what) VALUES ('a procedure'); COMMIT; END $$},
	'SELECT comb_generate_ordered()')
{
	is(woken(sub { $writer->ask($sql) }), 'woken', "wakes: $sql");
}
{
	my $dying = CombSession->new($node);
	$dying->ask(q{BEGIN; INSERT INTO event (what) VALUES ('of a session that ends')});
	is(woken(sub { $writer->ask("SELECT pg_terminate_backend($dying->{pid})") }), 'woken', 'a session with a key is terminated');
}

#
# What does not
#
is(sleeps_on(sub { $writer->ask($_) foreach ('INSERT INTO scratch VALUES (1)', 'SELECT comb_settled()', 'BEGIN; INSERT INTO scratch VALUES (2); ROLLBACK') }),
	'slept on', 'transactions without keys');
is(sleeps_on(sub { $writer->ask("BEGIN; INSERT INTO event (what) VALUES ('open')") }), 'slept on', 'an open transaction');
is($writer->ask('ROLLBACK'), '', 'it rolls back');
is(sleeps_on(sub { $elsewhere->event }), 'slept on', 'a row in another database');

#
# Nothing is missed between a poll and the wait.
#
my $seen = count();
$writer->event;
my $begin = time();
my $now = $reader->ask("CALL comb_wait($seen, '1 minute')");
ok($now != $seen && time() - $begin < 20, 'a row that came before the wait');
is($reader->ask("CALL comb_wait($now, '0')"), $now, 'the count stays');
cmp_ok($now, '<', 2**53, 'a program may read the count as a double');
$elsewhere->event;
my $count = count($elsewhere);
is($elsewhere->ask("CALL comb_wait($count, '10 ms')"), $count, 'another database has its own count');
isnt($count, count(), 'which begins elsewhere');

# The row that a reader was woken for is below comb_settled(), and in a new snapshot.
my $missed = 0;
for (1 .. 50)
{
	$seen = count();
	my $rows = $reader->ask('SELECT count(*) FROM event WHERE id < comb_settled()');
	wait_from($seen, '1 minute');
	$writer->event;
	$reader->result;
	$missed++ if $reader->ask('SELECT count(*) FROM event WHERE id < comb_settled()') != $rows + 1;
}
is($missed, 0, 'a woken reader finds the row');

#
# Time
#
$seen = count();
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
$writer->ask("SELECT pg_cancel_backend($reader->{pid})");
like(($reader->result)[1], qr/ERROR:  57014: canceling statement due to user request/, 'cancelled');
like($reader->complaints("SET statement_timeout = '100 ms'; CALL comb_wait($seen, '1 minute')"), qr/57014: canceling statement due to statement timeout/, 'statement_timeout');
$reader->ask('RESET statement_timeout');
is(woken(sub { $writer->event }), 'woken', 'it waits again afterwards');
{
	my $dying = CombSession->new($node);
	$seen = count();
	$dying->send("CALL comb_wait($seen, '1 minute')");
	wait_until($node, "SELECT wait_event_type = 'Extension' AND state = 'active' FROM pg_stat_activity WHERE pid = $dying->{pid}");
	$writer->ask("SELECT pg_terminate_backend($dying->{pid})");
	like(($dying->result)[1], qr/57P01/, 'terminated');
	is(woken(sub { $writer->event }), 'woken', 'the others go on');
}

# The extension is dropped, and made again, while a session sleeps.
{
	my $sleeper = CombSession->new($node, 'other');
	$seen = count($sleeper);
	$sleeper->send("CALL comb_wait($seen, '1 minute')");
	wait_until($node, "SELECT wait_event_type = 'Extension' AND state = 'active' FROM pg_stat_activity WHERE pid = $sleeper->{pid}");
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
	wait_until($node, "SELECT wait_event_type = 'Extension' FROM pg_stat_activity WHERE pid = $reader->{pid}");
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
	wait_until($node, "SELECT wait_event_type = 'Extension' FROM pg_stat_activity WHERE pid = $reader->{pid}");
	$writer->ask($change);
	$writer->ask("INSERT INTO parted (what) VALUES ('one')");
	wait_until($node, 'SELECT count(*) > 1 FROM got');
	is($writer->ask('SELECT n FROM got WHERE i = 2'), 1, "$change while a procedure sleeps: it returns the row that woke it");
	$writer->event while !$reader->answered;
	is(($reader->result)[1], '', 'and goes on');
}

#
# Prepared transactions
#
sub prepare
{
	my ($name, $sql) = @_;
	$writer->ask("BEGIN; $sql; PREPARE TRANSACTION '$name'");
	return;
}
my $row = q{INSERT INTO event (what) VALUES ('prepared')};
foreach my $end ('COMMIT', 'ROLLBACK')
{
	prepare('p', $row);
	is(woken(sub { $elsewhere->ask('SELECT 1'); $writer->ask("$end PREPARED 'p'") }), 'woken', "$end PREPARED");
	is(woken(sub { prepare('p', $row) }), 'woken', 'PREPARE TRANSACTION');
	$seen = count();
	$writer->ask("$end PREPARED 'p'");
	isnt($reader->ask("CALL comb_wait($seen, '1 minute')"), $seen, "$end PREPARED before the wait");
}
prepare('p', 'INSERT INTO number DEFAULT VALUES');
is(woken(sub { $writer->ask(q{COMMIT PREPARED 'p'}) }), 'woken', 'COMMIT PREPARED of a Snowflake');
# Of readers that find the end at the same time one counts it, and all are woken.
prepare('p', $row);
my @readers = map { CombSession->new($node) } 1 .. 5;
$seen = count();
$_->send("CALL comb_wait($seen, '1 minute')") foreach @readers;
usleep(100_000);
is(scalar(grep { $_->answered } @readers), 0, 'five readers wait for a prepared transaction');
$begin = time();
$writer->ask(q{COMMIT PREPARED 'p'});
my %counts = map { ($_->result)[0] => 1 } @readers;
ok(keys(%counts) == 1 && !$counts{$seen} && time() - $begin < 20, 'and are woken with one count');
# A prepared transaction takes the seat of one whose end nobody has counted.
prepare('p', $row);
$seen = count();
$writer->ask(q{COMMIT PREPARED 'p'});
prepare('p', $row);
isnt($reader->ask("CALL comb_wait($seen, '1 minute')"), $seen, 'another transaction is prepared meanwhile');
$writer->ask(q{COMMIT PREPARED 'p'});
isnt($reader->ask("CALL comb_wait($seen, '1 minute')"), $seen, 'and commits');

#
# A restart and a crash: an old count does not hold a reader up.
#
my @first;
prepare('p', $row);
foreach my $restart ('restart', 'crash')
{
	$seen = count();
	$_->quit foreach (@readers, $reader, $writer, $elsewhere);
	if ($restart eq 'crash') { $node->stop('immediate'); $node->start }
	else { $node->restart }
	@readers = ();
	$_->connect foreach ($reader, $writer, $elsewhere);
	isnt($reader->ask("CALL comb_wait($seen, '1 minute')"), $seen, "a count from before a $restart");
	push @first, count();
}
isnt($first[0], $first[1], 'counts begin elsewhere at each start');
is(woken(sub { $writer->ask(q{COMMIT PREPARED 'p'}) }), 'woken', 'COMMIT PREPARED after a restart');

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
@readers = map { CombSession->new($node) } 1 .. 100;
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
foreach my $worker (@workers)
{
	wait_until($node, "SELECT wait_event_type = 'Extension' AND state = 'active' FROM pg_stat_activity WHERE pid = $worker->{pid}");
}
my $began = time();
$reader->ask("INSERT INTO job (what) VALUES ('one')");
$_->result foreach @workers;
cmp_ok(time() - $began, '<', 20, 'a job wakes the workers');
is(join(' ', sort map { $_->ask("BEGIN; $take") =~ s/.*\|//r } @workers), ' one', 'one of them gets it');
is($workers[0]->ask('ROLLBACK') . $workers[1]->ask('ROLLBACK') . ($workers[1]->ask($take) =~ s/.*\|//r), 'one', 'and after a rollback the other');
$_->quit foreach (@workers, $reader);

$node->stop;
unlike(slurp_file($node->logfile), qr/PANIC|TRAP/, 'no server process failed by itself');
done_testing();
