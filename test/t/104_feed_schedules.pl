# A reader of events asks comb_settled() while writers commit, in forty schedules.  Each row of
# the table event must come to the reader once, in the order of the keys.
#
# A schedule lists steps in their order: the session, a dot and the statement, "=" and what the
# statement shows.  A number behind the name replaces N in the statement.  "r.check" reads the
# rest, and compares everything that was read with the table.  Session a's seat is before the
# reader's, session z's after it.
#
# A late query takes its snapshot, waits for the lock of session w, and asks comb_settled() after
# that.  What happens in between is what the query does not see, although the writers have
# already taken their announcements back.  Its answer stands with the step that sent it.
use strict;
use warnings;

use FindBin qw($RealBin);
use lib "$RealBin/../perl";
use CombSession;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

my $setup = q{
	CREATE TABLE event_a (id uuid PRIMARY KEY DEFAULT comb_generate_ordered());
	CREATE TABLE event_b (id uuid PRIMARY KEY DEFAULT comb_generate_ordered());
	CREATE TABLE number (
		id bigint PRIMARY KEY DEFAULT comb_snowflake(instance_bits => 0),
		other bigint DEFAULT comb_snowflake('2020-01-01', instance_bits => 0, sequence_bits => 10));
	CREATE TABLE seen (n serial, id uuid);

	-- the last key that the reader has seen
	CREATE FUNCTION last_seen() RETURNS uuid STABLE LANGUAGE sql AS
		$$ SELECT coalesce((SELECT id FROM seen ORDER BY n DESC LIMIT 1), '00000000-0000-0000-0000-000000000000') $$;
	CREATE FUNCTION wait_here() RETURNS integer STABLE LANGUAGE plpgsql AS
	$$
	BEGIN
		PERFORM pg_advisory_lock_shared(1);
		PERFORM pg_advisory_unlock_shared(1);
		RETURN 1;
	END
	$$;

	-- several ways to ask; the third one is not inlined, and has a query of its own
	CREATE FUNCTION settled_plpgsql() RETURNS uuid STABLE LANGUAGE plpgsql AS $$ BEGIN RETURN comb_settled(); END $$;
	CREATE FUNCTION settled_sql() RETURNS uuid STABLE LANGUAGE sql AS $$ SELECT comb_settled() $$;
	CREATE FUNCTION settled_definer() RETURNS uuid STABLE SECURITY DEFINER LANGUAGE sql AS $$ SELECT comb_settled() $$;
	CREATE FUNCTION settled_rows() RETURNS SETOF uuid LANGUAGE plpgsql AS
		$$ BEGIN RETURN QUERY SELECT id FROM event WHERE id < comb_settled(); END $$;

	-- a statement and an expression, before and after the lock
	CREATE FUNCTION ask_twice() RETURNS text LANGUAGE plpgsql AS
	$$
	DECLARE
		bound uuid;
		n integer;
		shown text[];
	BEGIN
		FOR i IN 1..2 LOOP
			SELECT count(*) INTO n FROM event WHERE id < comb_settled();
			shown := shown || n::text;
			bound := comb_settled();
			SELECT count(*) INTO n FROM event WHERE id < bound;
			shown := shown || n::text;
			IF i = 1 THEN
				PERFORM wait_here();
			END IF;
		END LOOP;
		RETURN array_to_string(shown, ',');
	END
	$$;

	-- a loop that waits after each row
	CREATE FUNCTION read_in_loop() RETURNS bigint LANGUAGE plpgsql AS
	$$
	DECLARE
		key uuid;
		n bigint := 0;
	BEGIN
		FOR key IN SELECT id FROM event WHERE id > last_seen() AND id < comb_settled() ORDER BY id LOOP
			INSERT INTO seen (id) VALUES (key);
			n := n + 1;
			PERFORM wait_here();
		END LOOP;
		RETURN n;
	END
	$$;

	-- rows of an open cursor
	CREATE FUNCTION take(rows refcursor, few integer) RETURNS bigint LANGUAGE plpgsql AS
	$$
	DECLARE
		key uuid;
		n bigint := 0;
	BEGIN
		WHILE n < few LOOP
			FETCH rows INTO key;
			EXIT WHEN NOT FOUND;
			INSERT INTO seen (id) VALUES (key);
			n := n + 1;
		END LOOP;
		RETURN n;
	END
	$$;
};

# New rows up to a bound, which the reader remembers
sub new_rows
{
	my ($bound, $shown) = @_;
	return "WITH got AS (INSERT INTO seen (id)
		SELECT id FROM event WHERE id > last_seen() AND id < $bound ORDER BY id RETURNING id) SELECT $shown FROM got";
}

# Two tables, of which the second is asked for after the lock
sub parts
{
	my ($bound) = @_;
	return "SELECT count(id) FROM (SELECT id FROM event_a WHERE id < $bound
		UNION ALL SELECT NULL FROM (SELECT wait_here() AS x OFFSET 0) AS w WHERE x = 1
		UNION ALL SELECT id FROM event_b WHERE id < $bound) AS parts";
}

my $both     = 'SELECT id FROM event_a WHERE id < comb_settled() UNION ALL SELECT id FROM event_b WHERE id < comb_settled()';
my $unread   = 'SELECT id FROM event WHERE id > last_seen() AND id < comb_settled() ORDER BY id';
my %statement = (
	begin        => 'BEGIN',
	repeatable   => 'BEGIN ISOLATION LEVEL REPEATABLE READ',
	serializable => 'BEGIN ISOLATION LEVEL SERIALIZABLE',
	commit       => 'COMMIT',
	rollback     => 'ROLLBACK',
	chain        => 'COMMIT AND CHAIN',
	count        => 'SELECT count(*) FROM event',

	# writers
	event  => "INSERT INTO event (what) VALUES ('event')",
	many   => 'CALL many(N)',
	key    => q{DO $$ BEGIN PERFORM set_config('feed.key', comb_generate_ordered()::text, false); END $$},
	late   => "INSERT INTO event (id) VALUES (current_setting('feed.key')::uuid)",
	undone => 'SAVEPOINT s; DO $$ BEGIN PERFORM comb_generate_ordered(); END $$; ROLLBACK TO s',
	nested => q{DO $$ BEGIN FOR i IN 1..N LOOP
		BEGIN INSERT INTO event (what) VALUES ('nested'); EXCEPTION WHEN division_by_zero THEN NULL; END; END LOOP; END $$},
	parta   => 'INSERT INTO event_a DEFAULT VALUES',
	partab  => 'INSERT INTO event_a DEFAULT VALUES; INSERT INTO event_b DEFAULT VALUES',
	number  => 'INSERT INTO number DEFAULT VALUES',
	nokey   => 'CREATE TABLE unrelated (); DROP TABLE unrelated',
	update  => "UPDATE event SET what = 'updated' WHERE id = (SELECT id FROM event ORDER BY id LIMIT 1)",
	lock    => 'DO $$ BEGIN PERFORM pg_advisory_lock(1); END $$',
	unlock  => 'DO $$ BEGIN PERFORM pg_advisory_unlock(1); END $$',

	# readers
	poll     => new_rows('comb_settled()', 'count(*)'),
	pollate  => new_rows('(SELECT late_settled())', 'count(*)'),
	atleast  => new_rows('(SELECT late_settled())', 'count(*) >= N'),
	declare  => "DECLARE c CURSOR FOR $unread",
	hold     => "DECLARE c CURSOR WITH HOLD FOR $unread",
	declares => "DECLARE c CURSOR FOR $both",
	fetch    => "SELECT take('c', N)",
	close    => 'CLOSE c',
	loop     => 'SELECT read_in_loop()',
	twice    => 'SELECT ask_twice()',
	scan     => 'SET enable_indexscan = off; SET enable_indexonlyscan = off; SET enable_bitmapscan = off',
	index    => 'RESET enable_indexscan; RESET enable_indexonlyscan; RESET enable_bitmapscan',
	parts    => parts('comb_settled()'),
	definer  => parts('settled_definer()'),
	both     => "SELECT count(*) FROM ($both) AS parts",
	locking  => 'WITH got AS (SELECT id FROM event WHERE id < comb_settled() ORDER BY id FOR UPDATE) SELECT count(*) FROM got',
	prepare  => 'PREPARE ask AS SELECT count(*) FROM event WHERE id < comb_settled()',
	ways     => 'SELECT count(*) FROM event WHERE id < comb_settled(); SELECT count(*) FROM event WHERE id < settled_plpgsql();
		SELECT count(*) FROM event WHERE id < settled_sql(); SELECT count(*) FROM settled_rows(); EXECUTE ask',
	forget   => 'DEALLOCATE ask',
	numbers  => q{SELECT count(*) FILTER (WHERE id < comb_snowflake_settled(instance_bits => 0)),
		count(*) FILTER (WHERE other < comb_snowflake_settled('2020-01-01', instance_bits => 0, sequence_bits => 10)) FROM number},
	series   => 'SELECT (SELECT count(*) FROM event WHERE id < comb_settled()),
		(SELECT count(*) FROM number WHERE id < comb_snowflake_settled(instance_bits => 0))',
	check => "WITH got AS (INSERT INTO seen (id) $unread) SELECT;
		SELECT count(*) FILTER (WHERE seen.id IS NULL AND event.id < last_seen()) || ' lost',
		       count(*) FILTER (WHERE seen.id IS NULL AND event.id > last_seen()) || ' held back',
		       count(*) FILTER (WHERE event.id IS NULL) || ' never committed',
		       (SELECT count(*) - count(DISTINCT id) FROM seen) || ' twice',
		       (SELECT count(*) FROM (SELECT id < lag(id) OVER (ORDER BY n) AS down FROM seen) AS s WHERE down) || ' out of order'
		FROM event FULL JOIN seen USING (id)");
my $good = '0 lost|0 held back|0 never committed|0 twice|0 out of order';

my @schedules = grep { /^[^#]/ } map { s/^\s+//r } split(/\n/, q{
	# everything is committed
	a.event b.event a.event r.poll=3 r.check
	# a writer is open: with a row, and with a key only
	a.begin a.event b.event r.poll=0 a.commit r.poll=2 r.check
	a.begin a.key b.event r.poll=0 a.late r.poll=0 a.commit r.poll=2 r.check
	z.begin z.event b.event r.poll=0 z.commit r.poll=2 r.check
	# the writer commits after the query's snapshot
	a.begin a.event b.event w.lock r.pollate=0 a.commit w.unlock r.check
	z.begin z.event b.event w.lock r.pollate=0 z.commit w.unlock r.check
	a.begin a.key b.event w.lock r.pollate=0 a.late a.commit w.unlock r.check
	# the writer commits again and again, and takes several slots of its seat's history
	a.begin a.event b.event w.lock r.pollate=0 a.commit a.many3 w.unlock r.check
	a.begin a.event b.event w.lock r.pollate=0 a.commit a.many4 w.unlock r.check
	a.begin a.event b.event w.lock r.pollate=0 a.commit a.many5 w.unlock r.check
	a.begin a.event b.event w.lock r.pollate=0 a.commit a.many6 w.unlock r.check
	a.begin a.event b.event w.lock r.pollate=0 a.commit a.many12 w.unlock r.check
	z.begin z.event b.event w.lock r.pollate=0 z.commit z.many12 w.unlock r.check
	# a reader that is always late goes on with what the slots remember: after 12 commits that it
	# does not see, it lags by 36 at most
	r.poll=0 a.many50 w.lock r.atleast14=t a.many12 w.unlock a.many50 w.lock r.atleast14=t a.many12 w.unlock r.check
	# old snapshots, and one snapshot for the whole transaction
	r.poll=0 a.begin a.event b.event r.repeatable r.count=1 a.commit a.many12 r.poll=0 r.poll=0 r.commit r.poll=14 r.check
	a.begin a.event b.event r.repeatable r.count=1 w.lock r.pollate=0 a.commit a.many12 w.unlock r.poll=0 r.commit r.poll=14 r.check
	a.begin a.event b.event r.repeatable r.count=1 a.commit r.poll=0 a.event r.poll=0 r.commit r.poll=3 r.check
	a.serializable a.event b.event r.serializable r.count=1 a.commit r.poll=0 r.commit r.poll=2 r.check
	# more subtransactions than a backend shows, and one that made a key and is rolled back
	a.begin a.undone b.event r.poll=0 a.nested100 b.event w.lock r.pollate=0 a.commit w.unlock r.poll=102 r.check
	# transactions that follow each other
	a.begin a.event b.event w.lock r.pollate=0 a.chain a.event b.event w.unlock r.poll=2 a.commit r.poll=2 r.check
	# the reader's own transaction
	r.begin r.event b.event r.poll=0 r.rollback r.poll=1 r.check
	r.begin r.event b.event r.poll=0 r.commit r.poll=2 r.check
	r.begin r.key b.event r.poll=0 r.late r.commit r.poll=2 r.check
	# cursors, and a loop over a query whose rows come one at a time
	a.begin a.event b.event r.begin r.declare a.commit r.event r.fetch100=0 r.commit r.poll=3 r.check
	a.begin a.event b.event r.begin r.hold a.commit r.commit r.fetch100=0 r.close r.poll=2 r.check
	b.event b.event a.begin a.event b.event w.lock r.loop=2 a.commit a.many12 w.unlock r.poll=14 r.check
	# all parts of a query get one answer, whatever happens in between
	a.begin a.parta b.partab w.lock r.parts=0 a.rollback w.unlock r.both=2
	a.begin a.key b.partab w.lock r.parts=0 a.rollback w.unlock r.both=2
	r.scan a.begin a.parta b.partab w.lock r.parts=0 a.rollback w.unlock r.both=2 r.index
	r.scan a.begin a.key b.partab w.lock r.parts=0 a.rollback w.unlock r.both=2 r.index
	r.scan a.begin a.key b.partab w.lock r.definer=0 a.rollback w.unlock r.both=2 r.index
	r.scan b.partab a.begin a.parta b.partab r.begin r.declares r.fetch1=1 a.rollback r.fetch100=1 r.commit r.index
	r.scan b.partab a.begin a.key b.partab r.begin r.declares r.fetch1=1 a.rollback r.fetch100=1 r.commit r.index
	# rows that are looked at again after waiting for a lock
	a.event a.event a.event u.begin u.update r.locking=3 a.begin a.key u.commit a.commit r.check
	# in a transaction, the next answer comes when a transaction with an xid has ended
	r.prepare a.begin a.key b.event r.begin r.ways=0,0,0,0,0 a.rollback r.ways=0,0,0,0,0 u.nokey r.ways=1,1,1,1,1 r.commit r.forget
	a.begin a.key b.event w.lock r.twice=0,0,0,0 a.rollback w.unlock
	# others do not hold the reader back
	u.begin u.nokey z.repeatable z.count=0 b.event r.poll=1 u.commit z.commit r.check
	# Snowflakes: all parameter sets are held back, but ordered keys do not hold them
	a.begin a.number b.number r.numbers=0|0 a.commit r.numbers=2|2
	a.begin a.key b.number r.numbers=1|1 a.commit r.numbers=1|1
	a.begin a.key b.number b.event r.series=0|1 a.commit r.series=1|1
});

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', "autovacuum = off\n");
$node->start;
$node->safe_psql('postgres', $CombSession::setup . $setup);
my %session = map { $_ => CombSession->new($node) } qw(a b r u w z);
my $observer = CombSession->new($node);

sub waits
{
	my ($session) = @_;
	return $observer->ask("SELECT count(*) FROM pg_locks WHERE NOT granted AND pid = $session->{pid}") > 0;
}

# Run a schedule, and return the schedule with what its steps have shown.  A step of a session
# that waits for a lock goes on when the lock is free.
sub run_schedule
{
	my @shown = map { s/=.*//r } split(/ /, $_[0]);
	my %pending;

	# Take the answer of the step that the session has been given, if it has one by now.
	my $collect = sub {
		my ($name) = @_;
		my ($out, $err) = $session{$name}->result;
		${ delete $pending{$name} } .= ($out ne '' && $out ne $good ? '=' . $out =~ s/\n/,/gr : '') . ($err =~ /((?:ERROR|FATAL): .*)/ ? " $1" : '');
	};

	foreach my $step (@shown)
	{
		my ($name, $what, $n) = $step =~ /^(\w)\.([a-z]+)(\d*)$/;
		my $session = $session{$name};
		foreach my $other (grep { $_ eq $name || !waits($session{$_}) } sort keys %pending)
		{
			$collect->($other);
		}
		$session->send($statement{$what} =~ s/\bN\b/$n/gr);
		$pending{$name} = \$step;
		usleep(1000) until $session->answered || waits($session);
		$collect->($name) if $session->answered;
	}
	$collect->($_) foreach sort keys %pending;
	return "@shown";
}

foreach my $schedule (@schedules)
{
	is(run_schedule($schedule), $schedule, $schedule);
	$observer->ask('TRUNCATE event, event_a, event_b, number, seen');
}

$_->quit foreach ($observer, values %session);
$node->stop;
done_testing();
