# A reader of events, and sessions that end badly, use other databases, share
# snapshots or run in parallel; comb_unsettled(); how long an answer lasts.
# logged: parameter "pg_comb\.lease_duration" cannot be set during a parallel operation
use lib 'test/perl';
use CombSchedule;
use CombSession;
use CombTest;

my $node = server('main', conf => q{
autovacuum = off
max_connections = 20
restart_after_crash = on
pg_comb.lease_duration = 100ms
}, sql => 'CREATE DATABASE other; CREATE ROLE writer LOGIN; CREATE ROLE nobody LOGIN;
	CREATE ROLE monitor LOGIN IN ROLE pg_read_all_stats');
$node->safe_psql($_, $CombSchedule::setup) foreach ('postgres', 'other');
$node->safe_psql(
	'postgres', q{
	GRANT ALL ON event TO writer;
	CREATE FUNCTION settled() RETURNS uuid STABLE SECURITY DEFINER LANGUAGE sql AS 'SELECT comb_settled()';
	CREATE FUNCTION wrong_settled() RETURNS uuid PARALLEL SAFE LANGUAGE plpgsql AS 'BEGIN RETURN comb_settled(); END';
	CREATE FUNCTION wrong_key() RETURNS uuid PARALLEL SAFE LANGUAGE plpgsql AS 'BEGIN RETURN comb_generate_ordered(); END';
	CREATE PROCEDURE asks() LANGUAGE plpgsql AS 'BEGIN PERFORM comb_settled(); END'});

my $force = $node->safe_psql('postgres', q{SELECT name FROM pg_settings WHERE name IN ('debug_parallel_query', 'force_parallel_mode')});
my %statements = (
	fails     => 'SELECT 1 / 0',

	# kill a backend: the server starts all others again
	kill => sub {
		my ($self, $session) = @_;
		kill('KILL', $session->{pid}) or die "could not kill $session->{pid}: $!";
		wait_for_server($node);
		$_->again foreach $self->all;
		return;
	},

	# new sessions of the same database, one after another, as many as the server can have: from
	# 16 on each takes the seat that has been free for the longest time
	new => sub {
		my (undef, $session, $n) = @_;
		foreach (1 .. 20)
		{
			my $new = CombSession->new($node, $session->{database});
			$new->ask("CALL many($n)");
			$new->quit;
		}
		return;
	},

	asks   => 'CALL asks()',

	gather => "SET $force = on; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0",
	reset  => 'RESET ALL',
	below  => 'SELECT count(*) FROM event WHERE id < (SELECT comb_settled())',
	keys   => 'SELECT count(*) FROM (SELECT comb_generate_ordered() FROM event OFFSET 0) AS keys',

	unsettled => q{SELECT usename, u.datname, transaction, series,
		first_key BETWEEN comb_min(now() - interval '1 hour') AND comb_max(now() + interval '1 hour'),
		age BETWEEN '0' AND interval '1 hour' FROM comb_unsettled() AS u JOIN pg_stat_activity USING (pid) ORDER BY series},
	sleep => 'DO $$ BEGIN PERFORM pg_sleep(1); END $$',
	age   => q{SELECT age > interval '1 s' FROM comb_unsettled()},

	cursors => sub {
		my ($self, $session, $n) = @_;
		foreach (1 .. $n)
		{
			my $c = 'c' . ++$session->{cursors};
			$session->ask("DECLARE $c CURSOR FOR SELECT what FROM event WHERE id < comb_settled(); FETCH $c");
			$self->{session}{b}->event;
		}
		return;
	},
	one      => 'FETCH cN',
	rollback => sub { $_[1]{cursors} = 0; return 'ROLLBACK' },
	scan     => 'SET enable_indexscan = off; SET enable_bitmapscan = off; SET enable_indexonlyscan = off',
	reads    => sub {
		my ($self, $session, $n) = @_;
		my $read = grep { $self->{session}{b}->event; $session->ask('SELECT comb_settled()'); $session->ask('FETCH c1') ne '' } 1 .. $n;
		return "SELECT $read";
	},
	plans => sub {
		my ($self, $session, $n) = @_;
		$self->{session}{b}->event, $session->ask('SELECT FROM event WHERE id < comb_settled() LIMIT 0') foreach 1 .. $n;
		return;
	},

	drop   => 'DROP EXTENSION pg_comb CASCADE; DROP SCHEMA public CASCADE; CREATE SCHEMA public',
	create => $CombSchedule::setup);
my $schedule = CombSchedule->new($node, 'a b m n o r u v w y', other => 'o',
	user => { m => 'monitor', n => 'nobody', v => 'writer' }, statements => \%statements);

$schedule->test(q{
	# a new backend takes the seat of one that has just committed; the first bound of a transaction can be lower
	r.begin r.poll=0 a.begin a.event b.event w.lock r.pollate=0 a.commit a.quit a.new1 w.unlock r.commit a.connect r.check
	a.begin a.event b.event w.lock r.pollate=0 a.commit a.quit o.new12 w.unlock a.connect r.check
	# sessions that end in a transaction
	a.begin a.event b.event r.poll=0 a.terminate r.poll=1 r.check
	a.begin a.event b.event a.fails=22012 r.poll=1 a.rollback r.check
	a.begin a.event b.event r.poll=0 a.kill r.poll=1 a.begin a.event b.event w.lock r.pollate=0 a.commit w.unlock r.check
	# other databases
	o.begin o.event b.event r.poll=1 o.poll=0 o.commit o.poll=1
	b.event r.repeatable r.count=1 o.many12 r.poll=1 r.commit r.check
	# snapshots of other transactions
	a.begin a.event b.event u.repeatable u.export a.commit a.event r.asks r.import r.poll=0 r.commit u.commit r.check
	a.begin a.event b.event u.repeatable u.export a.commit a.many12 r.asks r.import r.poll=0 r.commit u.commit r.check
	# a session that loads the module late, with an old snapshot
	y.repeatable y.count=0 a.begin a.event b.event a.commit a.many12 y.poll=0 y.commit y.poll=14 y.check
	# comb_unsettled() shows times to those who see them in pg_stat_activity, and Snowflakes have no first_key
	r.unsettled v.begin v.event r.unsettled=writer|postgres||ordered|t|t n.unsettled=writer|postgres||ordered|| v.unsettled=writer|postgres||ordered|t|t m.unsettled=writer|postgres||ordered|t|t o.unsettled v.commit r.unsettled
	v.begin v.snowflake r.unsettled=writer|postgres||snowflake||t v.commit r.unsettled
	# the age is that of the transaction
	v.begin v.sleep v.event r.age=t v.rollback
});

my ($first, $second, $reader) = map { CombSession->new($node) } 1 .. 3;

#
# Parallel queries
#
SKIP:
{
	skip 'Wine: some parallel workers "could not duplicate handle"', 7 if ($ENV{RUN_FOREIGN} // '') eq 'windows';
	$schedule->test(q{
		a.many100 r.gather r.below=100 a.begin a.event b.event r.below=100 a.commit r.below=102 r.reset
		a.many100 u.begin u.xid y.quit y.connect y.gather y.keys=100 b.event r.poll=101 u.commit y.reset
	});
	$reader->ask($statements{gather});
	foreach my $case (
		[ 'wrong_settled', qr/cannot determine which keys are settled/,                     'ask' ],
		[ 'wrong_key',     qr/cannot generate ordered keys or Snowflakes/, 'generate them' ])
	{
		my ($function, $message, $verb) = @$case;
		like($reader->complaints("SELECT $function()"),
			qr/ERROR:  25000: $message in a parallel worker\n.*HINT:  Mark functions that $verb PARALLEL RESTRICTED\./s,
			"a parallel worker is refused: $function()");
	}
	$reader->ask("RESET $force");
	$first->ask('CALL many(100)');
	like($reader->ask("EXPLAIN $statements{$_}"), qr/Gather/, "a parallel plan: $statements{$_}") foreach ('below', 'keys');
	$reader->reads_all('a reader of the rows');
}

#
# An answer lasts as long as its query, and what has asked holds no snapshot: VACUUM can
# go on while its transaction stays open.
#
foreach my $statement (
	(map { "SELECT count(*) FROM event WHERE id < $_" } ('comb_settled()', 'settled()', 'late_settled()')),
	'SELECT comb_settled()',
	q{DO 'BEGIN PERFORM comb_settled(); END'},
	'CALL asks()',
	'COPY (SELECT comb_settled()) TO STDOUT')
{
	$first->ask("BEGIN; $statement");
	is($second->ask("SELECT backend_xmin IS NULL AND backend_xid IS NULL FROM pg_stat_activity WHERE pid = $first->{pid}"),
		't', "$statement holds no snapshot");
	$first->ask('COMMIT');
}

is( $reader->complaints('DO $$ BEGIN PERFORM comb_settled(); COMMIT; PERFORM settled(); END $$'), '',
	'a block commits after it asked');

#
# A transaction keeps the bounds of all its snapshots.  "cursors" declares and reads so many, each with a bound of
# its own, and "one" reads on.
#
$node->safe_psql('postgres', 'TRUNCATE event');
$schedule->test(q{
	# each cursor keeps its bound beside 65 others, and beside new queries
	b.event b.event r.begin r.cursors65 r.one1=event r.one65=event r.below=67 r.one33=event r.rollback
	b.event a.begin a.event b.event r.begin r.cursors2 a.rollback r.one1 r.below=4 r.one2 r.rollback
	# one that is read meanwhile goes on beside 80 queries, and beside 80 plans
	a.many100 r.scan r.begin r.cursors1 r.reads80=80 r.rollback r.begin r.cursors1 r.plans80 r.one1=many r.rollback r.reset r.check
});

$schedule->test(q{
	# the extension is dropped while a transaction has announced keys
	u.begin u.key b.drop u.commit b.create r.poll=0 a.begin a.event b.event r.poll=0 a.commit r.poll=2
});

$node->stop;
done_testing();
