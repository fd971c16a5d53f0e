# A reader of events asks comb_settled() while writers commit, in twenty-five schedules
# (CombSchedule.pm says how to read them).  Then sessions take turns with ordered keys, Snowflakes
# and claims, and one of them drops the extension or resets the limits.
# logged: no ordered keys or Snowflakes can be made in this database until the server restarts
use lib 'test/perl';
use CombSchedule;
use CombTest;

my $setup = q{
	CREATE TABLE number (
		id bigint PRIMARY KEY DEFAULT comb_snowflake(instance_bits => 0),
		other bigint DEFAULT comb_snowflake('2020-01-01', instance_bits => 0, sequence_bits => 10));

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
	CREATE FUNCTION take(rows refcursor) RETURNS bigint LANGUAGE plpgsql AS
	$$
	DECLARE
		key uuid;
		n bigint := 0;
	BEGIN
		LOOP
			FETCH rows INTO key;
			EXIT WHEN NOT FOUND;
			INSERT INTO seen (id) VALUES (key);
			n := n + 1;
		END LOOP;
		RETURN n;
	END
	$$;
};

# A query of two parts, of which the second asks after the lock
sub parts
{
	my ($bound) = @_;
	return "SELECT count(id) FROM (SELECT id FROM event WHERE id < $bound
		UNION ALL SELECT NULL FROM (SELECT wait_here() AS x OFFSET 0) AS w WHERE x = 0
		UNION ALL SELECT id FROM event WHERE id < $bound) AS parts";
}

my %statements = (
	# writers
	nested => q{DO $$ BEGIN FOR i IN 1..N LOOP
		BEGIN INSERT INTO event (what) VALUES ('nested'); EXCEPTION WHEN division_by_zero THEN NULL; END; END LOOP; END $$},
	number  => 'INSERT INTO number DEFAULT VALUES',
	update  => "UPDATE event SET what = 'updated' WHERE id = (SELECT id FROM event ORDER BY id LIMIT 1)",

	# readers
	declare  => "DECLARE c CURSOR FOR $CombSchedule::unread",
	hold     => "DECLARE c CURSOR WITH HOLD FOR $CombSchedule::unread",
	fetch    => "SELECT take('c')",
	close    => 'CLOSE c',
	loop     => 'SELECT read_in_loop()',
	twice    => 'SELECT ask_twice()',
	scan     => 'SET enable_indexscan = off; SET enable_indexonlyscan = off; SET enable_bitmapscan = off',
	index    => 'RESET enable_indexscan; RESET enable_indexonlyscan; RESET enable_bitmapscan',
	parts    => parts('comb_settled()'),
	definer  => parts('settled_definer()'),
	locking  => 'WITH got AS (SELECT id FROM event WHERE id < comb_settled() ORDER BY id FOR UPDATE) SELECT count(*) FROM got',
	prepare  => 'PREPARE ask AS SELECT count(*) FROM event WHERE id < comb_settled()',
	ways     => 'SELECT count(*) FROM event WHERE id < comb_settled(); SELECT count(*) FROM event WHERE id < settled_plpgsql();
		SELECT count(*) FROM event WHERE id < settled_sql(); SELECT count(*) FROM settled_rows(); EXECUTE ask',
	forget   => 'DEALLOCATE ask',
	numbers  => q{SELECT count(*) FILTER (WHERE id < comb_snowflake_settled(instance_bits => 0)),
		count(*) FILTER (WHERE other < comb_snowflake_settled('2020-01-01', instance_bits => 0, sequence_bits => 10)) FROM number},
	series   => 'SELECT (SELECT count(*) FROM event WHERE id < comb_settled()),
		(SELECT count(*) FROM number WHERE id < comb_snowflake_settled(instance_bits => 0))');

my $node = server('main', conf => 'autovacuum = off', sql => $CombSchedule::setup . $setup);
my $schedule = CombSchedule->new($node, 'a b r u w z', statements => \%statements,
	clean => 'TRUNCATE event, number, seen');

$schedule->test(q{
	# a writer is open: with a row, and with a key only
	a.begin a.event b.event r.poll=0 a.commit r.poll=2 r.check
	a.begin a.key b.event r.poll=0 a.late r.poll=0 a.commit r.poll=2 r.check
	# the writer commits after the query's snapshot
	a.begin a.event b.event w.lock r.pollate=0 a.commit w.unlock r.check
	a.begin a.key b.event w.lock r.pollate=0 a.late a.commit w.unlock r.check
	# the writer commits again and again, and takes several slots of its seat's history
	a.begin a.event b.event w.lock r.pollate=0 a.commit a.many4 w.unlock r.check
	a.begin a.event b.event w.lock r.pollate=0 a.commit a.many6 w.unlock r.check
	a.begin a.event b.event w.lock r.pollate=0 a.commit a.many12 w.unlock r.check
	z.begin z.event b.event w.lock r.pollate=0 z.commit z.many12 w.unlock r.check
	# a reader that is always late goes on with what the slots remember: after 12 commits that it
	# does not see, it lags by 36 at most
	r.poll=0 a.many50 w.lock r.atleast14=t a.many12 w.unlock a.many50 w.lock r.atleast14=t a.many12 w.unlock r.check
	# old snapshots, and one snapshot for the whole transaction
	r.poll=0 a.begin a.event b.event r.repeatable r.count=1 a.commit a.many12 r.poll=0 r.poll=0 r.commit r.poll=14 r.check
	a.begin a.event b.event r.repeatable r.count=1 w.lock r.pollate=0 a.commit a.many12 w.unlock r.poll=0 r.commit r.poll=14 r.check
	# more subtransactions than a backend shows, and one that made a key and is rolled back
	a.begin a.undone b.event r.poll=0 a.nested100 b.event w.lock r.pollate=0 a.commit w.unlock r.poll=102 r.check
	# the reader's own transaction
	r.begin r.event b.event r.poll=0 r.rollback r.poll=1 r.check
	r.begin r.key b.event r.poll=0 r.late r.commit r.poll=2 r.check
	# cursors, and a loop over a query whose rows come one at a time
	a.begin a.event b.event r.begin r.declare a.commit r.event r.fetch=0 r.commit r.poll=3 r.check
	a.begin a.event b.event r.begin r.hold a.commit r.commit r.fetch=0 r.close r.poll=2 r.check
	b.event b.event a.begin a.event b.event w.lock r.loop=2 a.commit a.many12 w.unlock r.poll=14 r.check
	# all parts of a query get one answer, whatever happens in between, also where each row asks
	r.scan a.begin a.key b.event w.lock r.parts=0 a.rollback w.unlock r.index
	r.scan a.begin a.key b.event w.lock r.definer=0 a.rollback w.unlock r.index
	# rows that are looked at again after waiting for a lock
	a.event a.event a.event u.begin u.update r.locking=3 a.begin a.key u.commit a.commit r.check
	# in a transaction, the next answer comes when a transaction with an xid has ended
	r.prepare a.begin a.key b.event r.begin r.ways=0,0,0,0,0 a.rollback r.ways=0,0,0,0,0 u.nokey r.ways=1,1,1,1,1 r.commit r.forget
	a.begin a.key b.event w.lock r.twice=0,0,0,0 a.rollback w.unlock
	# others do not hold the reader back
	u.begin u.nokey z.repeatable z.count=0 b.event r.poll=1 u.commit z.commit r.check
	# Snowflakes: all parameter sets are held back, but ordered keys do not hold them
	a.begin a.number b.number r.numbers=0|0 a.commit r.numbers=2|2
	a.begin a.key b.number b.event r.series=0|1 a.commit r.series=1|1
});

my $create = 'CREATE EXTENSION pg_comb_ordered CASCADE';
my $tables = 'CREATE TABLE made (n serial, key uuid DEFAULT comb_generate_ordered(),
	id bigint DEFAULT comb_snowflake(instance_bits => 0), plain uuid DEFAULT comb_generate(), pid int DEFAULT pg_backend_pid()); CREATE TABLE claims (n serial, number bigint)';
$node->safe_psql('postgres', 'CREATE DATABASE keys');
$node->safe_psql('keys', "$create; $tables");
$schedule = CombSchedule->new($node, 'a b c', database => 'keys', clean => "DROP EXTENSION pg_comb CASCADE;
	DROP TABLE made, claims; $create; $tables", statements => {
	make  => 'INSERT INTO made SELECT FROM generate_series(1, 100)',
	rows  => 'SELECT count(*) FROM made',
	order => 'SELECT array_agg(n ORDER BY key) = array_agg(n ORDER BY n), array_agg(n ORDER BY id) = array_agg(n ORDER BY n), count(*) FROM made',
	# the times of all sessions' keys, and the keys of each session
	plain => 'SELECT bool_and(at >= before), bool_and(plain > own) FROM (SELECT plain, comb_timestamp(plain) AS at,
		lag(comb_timestamp(plain)) OVER (ORDER BY n) AS before, lag(plain) OVER (PARTITION BY pid ORDER BY n) AS own FROM made) AS m',
	claim => 'INSERT INTO claims (number) SELECT comb_snowflake_claim(2)',
	steps => q{SELECT string_agg(((number - (SELECT number FROM claims WHERE n = 1) + 4) % 4)::text, '' ORDER BY n) FROM claims},
	free  => 'DO $$ BEGIN PERFORM pg_advisory_unlock_all(); END $$',
	plan  => 'PREPARE make AS SELECT comb_generate_ordered() IS NOT NULL',
	execute => 'EXECUTE make',

	# the second key needs another lease
	twice  => 'SELECT comb_generate_ordered() IS NOT NULL, pg_advisory_xact_lock(1), pg_sleep(1.1), comb_generate_ordered() IS NOT NULL',
	drop   => 'DROP EXTENSION pg_comb_ordered CASCADE',
	create => $create,
	reset  => 'DO $$ BEGIN PERFORM comb_ordered_reset(clock_timestamp()); END $$' });

$schedule->test(q{
	# keys are in the order in which sessions made them, not in that of commits
	a.make b.make a.make a.repeatable a.rows=300 b.make a.make b.make a.commit b.make a.order=t|t|700 a.plain=t|t
	# each claim takes the next number, and wraps around; a number that is free comes when it is the next
	a.claim b.claim c.claim a.claim b.claim=55006 c.steps=0123 a.free c.claim a.claim b.claim=55006 c.steps=012303
	# another session drops the extension of a prepared statement, or during a statement
	a.plan a.execute=t b.drop a.execute=42883 b.create
	b.lock a.twice=42704 b.drop b.unlock a.rows=0 b.create
	# ... and creates it again, with other sequences: whoever asks for a lease waits for that transaction
	b.lock a.twice=t|||t b.drop b.create b.unlock
	b.lock a.twice=t|||t b.begin b.drop b.create b.unlock b.commit
	b.lock a.twice=t|||t b.begin b.drop b.create b.unlock b.rollback
	# a reset ends the leases of other sessions
	a.make b.reset a.make=55000
});

done_testing();
