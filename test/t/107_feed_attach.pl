# A table gets partitions or children while a reader asks comb_settled(): after the reader's
# query was planned, and before it takes its snapshot.  The query reads the tables of its plan, so
# its bound must not pass the rows of others.
#
# "slow" waits for the lock of session w while it is planned.  "poll" and "cached" are planned anew
# each time and once.  The statements for Snowflakes are made of those for ordered keys.
use lib 'test/perl';
use CombSchedule;
use CombSession;
use CombTest;

my $setup = q{
	CREATE FUNCTION folded_wait() RETURNS integer IMMUTABLE LANGUAGE sql AS 'SELECT wait_here()';
	CREATE FUNCTION settled() RETURNS uuid STABLE PARALLEL RESTRICTED LANGUAGE sql AS 'SELECT comb_settled()';
	CREATE FUNCTION wait_settled() RETURNS uuid STABLE PARALLEL RESTRICTED LANGUAGE plpgsql AS
		'BEGIN RETURN comb_settled(); END';
	CREATE FUNCTION owned_settled() RETURNS uuid STABLE PARALLEL RESTRICTED SECURITY DEFINER LANGUAGE sql AS
		'SELECT comb_settled()';
	CREATE FUNCTION loop() RETURNS text LANGUAGE plpgsql AS
	$$
	DECLARE
		row record;
		n bigint := 0;
	BEGIN
		FOR row IN SELECT id FROM event WHERE id > last_seen() AND id < comb_settled() ORDER BY id LOOP
			INSERT INTO seen (id) VALUES (row.id);
			n := n + 1;
		END LOOP;
		RETURN n;
	END
	$$;
	CREATE FUNCTION poll_in_sql() RETURNS bigint LANGUAGE sql AS
	$$
		INSERT INTO seen (id) SELECT id FROM event WHERE id > last_seen() AND id < (SELECT comb_settled()) ORDER BY id;
		SELECT count(*) FROM seen;
	$$;
	CREATE FUNCTION poll_inside() RETURNS bigint LANGUAGE plpgsql AS 'DECLARE n bigint; BEGIN n := poll_in_sql(); RETURN n; END';
	CREATE FUNCTION open_event() RETURNS text LANGUAGE plpgsql AS
	$$
	DECLARE
		c refcursor := 'c';
	BEGIN
		OPEN c FOR SELECT id FROM event WHERE id > last_seen() AND id < (SELECT comb_settled()) AND n >= wait_here() ORDER BY id;
		RETURN c;
	END
	$$;
	CREATE FUNCTION fetch_event() RETURNS bigint LANGUAGE plpgsql AS
	$$
	DECLARE
		c refcursor := 'c';
		row record;
		n bigint := 0;
	BEGIN
		LOOP
			FETCH c INTO row;
			EXIT WHEN NOT FOUND;
			INSERT INTO seen (id) VALUES (row.id);
			n := n + 1;
		END LOOP;
		RETURN n;
	END
	$$;
	DROP TABLE event;
};
my %kinds = (
	partitions => {
		table  => 'CREATE TABLE event (id uuid DEFAULT comb_generate_ordered(), n int) PARTITION BY LIST (n)',
		first  => 'CREATE TABLE part0 PARTITION OF event FOR VALUES IN (0)',
		attach => 'CREATE TABLE partN (LIKE event INCLUDING DEFAULTS); ALTER TABLE event ATTACH PARTITION partN FOR VALUES IN (N)',
		fill   => 'CREATE TABLE partN (LIKE event INCLUDING DEFAULTS); BEGIN; ALTER TABLE event ATTACH PARTITION partN FOR VALUES IN (N);
			INSERT INTO partN (n) VALUES (N); COMMIT' },
	children => {
		table  => 'CREATE TABLE event (id uuid DEFAULT comb_generate_ordered(), n int)',
		first  => 'CREATE TABLE part0 () INHERITS (event)',
		attach => 'CREATE TABLE partN (LIKE event INCLUDING DEFAULTS); ALTER TABLE partN INHERIT event',
		fill   => 'CREATE TABLE partN (LIKE event INCLUDING DEFAULTS); BEGIN; ALTER TABLE partN INHERIT event;
			INSERT INTO partN (n) VALUES (N); COMMIT' });

# The same with hash partitions below, for spread keys
$kinds{hashed} = { map { $_ => hashed($kinds{partitions}{$_}) } keys %{ $kinds{partitions} } };

# The statement for a partition that has three hash partitions
sub hashed
{
	my ($sql) = @_;
	my ($part) = $sql =~ /(?:CREATE TABLE )(part\w)/ or return $sql =~ s/comb_generate_ordered\(\)/comb_spread($&, 3)/r;
	my $below = join('', map { "; CREATE TABLE r${_}_$part PARTITION OF $part FOR VALUES WITH (MODULUS 3, REMAINDER $_)" } 0 .. 2);
	return $sql =~ s/CREATE TABLE part\w [^;]*/$& PARTITION BY HASH (id)$below/r;
}

# The statement for Snowflakes
sub snowflakes
{
	return $_[0] =~ s/\buuid\b/bigint/gr =~ s/comb_generate_ordered/comb_snowflake/gr
	  =~ s/\bcomb_(?=settled)/comb_snowflake_/gr =~ s/00000000-0000-0000-0000-000000000000/0/gr;
}

# The schedules of a kind.  Snowflakes have no positions.
sub with
{
	my ($kind, $schedules) = @_;
	return join("\n", grep { $kind ne 'snowflakes' || !/pos/ } split(/\n/, $schedules));
}
$kinds{snowflakes} = { map { $_ => snowflakes($kinds{partitions}{$_}) } keys %{ $kinds{partitions} } };

sub poll
{
	my ($where) = @_;
	return "WITH got AS (INSERT INTO seen (id)
		SELECT id FROM event WHERE id > last_seen() AND $where ORDER BY id RETURNING id) SELECT count(*) FROM got";
}

my $node = server('main', conf => "autovacuum = off\nmax_prepared_transactions = 2\npg_comb.snowflake_instance = 1\n");
foreach my $kind (sort keys %kinds)
{
	my %ddl = %{ $kinds{$kind} };
	my $sql = $kind eq 'snowflakes' ? \&snowflakes : sub { return $_[0] };
	$node->safe_psql('postgres', "CREATE DATABASE $kind");
	$node->safe_psql($kind, $sql->($CombSchedule::setup . $setup) . $ddl{table});
	my $schedule = CombSchedule->new(
		$node, 'a b r w',
		database   => $kind,
		statements => {
			%ddl,
			row     => 'INSERT INTO partN (n) VALUES (N)',
			late    => "INSERT INTO partN (id, n) VALUES (current_setting('feed.key')::uuid, N)",
			other   => 'CREATE TABLE IF NOT EXISTS unrelated (i int); ALTER TABLE unrelated ALTER i SET STATISTICS 7',
			poll    => poll('id < comb_settled()'),
			slow    => poll('id < comb_settled() AND n >= wait_here()'),
			slowsub => poll('id < (SELECT comb_settled()) AND n >= wait_here()'),
			slowsql => poll('id < settled() AND n >= wait_here()'),
			slowfn  => poll('n >= wait_here() AND id < (SELECT wait_settled())'),
			fn      => poll('id < (SELECT wait_settled())'),
			cached  => q{PREPARE cached AS } . poll('id < comb_settled()') . '; SET plan_cache_mode = force_generic_plan',
			exec    => 'EXECUTE cached',
			open    => 'SELECT open_event()',
			fetch   => 'SELECT fetch_event()',
			wrong   => 'wrong',
			junk    => sub { 'CREATE TABLE junk (i int); DROP TABLE junk;' x ($_[2] || 300) },
			temp    => 'CREATE TEMP TABLE IF NOT EXISTS own (i int) PARTITION BY LIST (i); CREATE TEMP TABLE IF NOT EXISTS own1 PARTITION OF own DEFAULT',
			settled => 'SELECT comb_settled() IS NOT NULL',
			explain => 'EXPLAIN (COSTS OFF) SELECT comb_settled()',
			slowexec => 'PREPARE slowcached AS ' . poll('id < comb_settled() AND n >= wait_here()') . '; EXECUTE slowcached',
			slowposexec => 'PREPARE slowcached AS ' . CombSchedule::by_position('AND n >= wait_here()') . '; EXECUTE slowcached',
			loop    => 'SELECT loop()',
			inner   => 'SELECT poll_inside()',
			once    => 'SELECT (SELECT array_agg(id ORDER BY id) FROM seen) = (SELECT array_agg(id ORDER BY id) FROM event)',
			slowpos => CombSchedule::by_position('AND n >= wait_here()'),
			busy    => 'BEGIN; LOCK TABLE part0 IN ACCESS EXCLUSIVE MODE',
			lone    => 'DROP TABLE IF EXISTS single, single1; CREATE TABLE single (LIKE event INCLUDING DEFAULTS);
				CREATE TABLE single1 (LIKE event INCLUDING DEFAULTS); INSERT INTO single VALUES (DEFAULT, 0)',
			child   => 'ALTER TABLE single1 INHERIT single; INSERT INTO single1 VALUES (DEFAULT, 1); INSERT INTO single VALUES (DEFAULT, 2)',
			alone   => 'SELECT count(*) FROM (SELECT FROM single WHERE folded_wait() = 0 AND id < comb_settled()) AS s',
			later   => q{WITH e AS MATERIALIZED (SELECT id FROM event),
				got AS (INSERT INTO seen (id) SELECT id FROM e WHERE id > last_seen() AND id < comb_settled() ORDER BY id RETURNING id)
				SELECT count(*) FROM got},
			asked   => poll('id < wait_settled()'),
			definer => poll('id < owned_settled()'),
			beside  => q{WITH got AS (INSERT INTO seen (id)
				SELECT id FROM event, (SELECT comb_settled() AS bound OFFSET 0) AS s WHERE id > last_seen() AND id < bound ORDER BY id
				RETURNING id) SELECT count(*) FROM got},
			analyze => 'PREPARE analyzed AS SELECT FROM event; DEALLOCATE analyzed',
			catalog => 'BEGIN; LOCK TABLE pg_class' },
		clean => "DROP TABLE IF EXISTS part0, part1, part2; TRUNCATE event, seen; UPDATE place SET position = ''");
	$_ = ref($_) ? $_ : $sql->($_) foreach values %{ $schedule->{statements} };

	note($kind);
	$schedule->test(with($kind, q{
	# a new session; its first query is planned when the table gets a new one
	a.first a.row0 r.fresh w.lock r.slow=1 a.attach1 a.row1 b.row0 w.unlock r.poll=2 r.check
	a.first a.row0 r.fresh w.lock r.slowsub=1 a.attach1 a.row1 b.row0 w.unlock r.poll=2 r.check
	a.first a.row0 r.fresh w.lock r.slowsql=1 a.attach1 a.row1 b.row0 w.unlock r.poll=2 r.check
	a.first a.row0 r.fresh w.lock r.slow=1 a.fill1 b.row0 w.unlock r.poll=2 r.check
	# parts of the query are planned before the one that asks, and wait for a partition
	a.first a.row0 a.attach1 a.row1 r.fresh w.busy r.later=2 a.attach2 a.row2 b.row1 w.commit r.poll=2 r.check
	a.first a.row0 a.attach1 a.row1 r.fresh w.busy r.beside=2 a.attach2 a.row2 b.row1 w.commit r.poll=2 r.check
	# the planner asks for its estimate, in a function that is planned inside, after it has read the list
	a.first a.row0 a.attach1 a.row1 r.fresh w.busy r.asked=2 a.attach2 a.row2 b.row1 w.commit r.poll=2 r.check
	a.first a.row0 a.attach1 a.row1 r.fresh w.busy r.definer=2 a.attach2 a.row2 b.row1 w.commit r.poll=2 r.check
	# the table's first one, after the planner has looked whether there are any
	a.lone r.fresh w.lock r.alone=1 a.child w.unlock r.alone=3
	# a session that has asked before
	a.first a.row0 r.fresh r.poll=1 a.row0 w.lock r.slow=0 a.attach1 a.row1 b.row0 w.unlock r.poll=3 r.check
	# what the next transaction's plans know holds nothing back, so that two sessions agree
	a.first a.row0 r.fresh r.poll=1 a.attach1 a.row1 r.poll=1 w.lock r.slow=0 a.attach2 a.row2 b.row0 w.unlock r.poll=2 r.check
	# the reader's transaction has locked the table, so that its next query does not look what has changed
	a.first a.row0 r.fresh r.begin r.poll=1 a.attach1 a.row1 b.row0 r.poll=0 r.commit r.poll=2 r.check
	a.first a.row0 r.fresh r.begin r.poll=1 a.fill1 b.row0 r.poll=0 r.commit r.poll=2 r.check
	a.first a.row0 r.fresh r.begin r.count=1 a.attach1 a.row1 b.row0 r.poll=3 r.commit r.check
	a.first a.row0 r.fresh r.poll=1 r.begin r.count=1 a.attach1 a.row1 b.row0 r.poll=0 r.commit r.poll=2 r.check
	# a cursor is open when the session asks for the first time, and when its subtransaction is aborted
	a.first a.row0 r.fresh w.lock r.begin r.open=c a.attach1 a.row1 b.row0 w.unlock r.settled=t r.fetch=1 r.commit r.poll=2 r.check
	a.first a.row0 r.fresh r.poll=1 r.begin r.open=c r.fetch=0 r.commit a.row0 w.lock r.begin r.open=c a.attach1 a.row1 b.row0 w.unlock r.save r.wrong=42601 w.junk a.junk b.junk r.undo r.fetch=0 r.commit r.poll=3 r.check
	# a function in SQL keeps its plan until the transaction ends, and has not asked as there were no rows
	a.first r.fresh r.inner=0 r.begin r.inner=0 a.attach1 a.row1 b.row0 r.settled=t r.inner=2 r.commit r.poll=0 r.check
	# cached plans
	a.first a.row0 r.fresh r.cached r.begin r.exec=1 a.attach1 a.row1 b.row0 r.exec=0 r.commit r.exec=2 r.check
	a.first a.row0 r.fresh r.loop=1 r.begin r.loop=0 a.attach1 a.row1 b.row0 r.loop=0 r.commit r.loop=2 r.check
	# positions
	a.first a.row0 r.fresh w.lock r.slowpos=1 a.attach1 a.row1 b.row0 w.unlock r.pos=2 r.once=t
	a.first a.row0 r.fresh w.lock r.slowpos=1 a.fill1 b.row0 w.unlock r.pos=2 r.once=t
	a.first a.row0 r.fresh r.pos=1 r.begin r.pos=0 a.attach1 a.row1 b.row0 r.pos=0 r.commit r.pos=2 r.once=t
	b.begin a.first a.row0 b.row0 r.fresh r.pos=1 w.lock r.slowpos=0 a.attach1 a.row1 a.row0 w.unlock r.pos=2 b.commit r.pos=1 r.once=t
	# another table has changed, and the planner waits to look it up
	a.first a.row0 r.fresh r.poll=1 r.slow=0 r.begin b.other a.lock w.catalog r.slow=0 w.attach1 w.commit b.row1 b.row0 a.unlock r.commit r.poll=2 r.check
	# nothing holds the reader back if other tables change
	a.first a.row0 r.fresh r.begin r.poll=1 b.other b.row0 r.poll=1 b.row0 r.poll=1 r.commit r.check
	a.first a.row0 r.fresh r.poll=1 r.begin a.junk100 b.row0 r.poll=1 r.commit r.check
	a.first a.row0 r.fresh r.poll=1 r.begin b.temp b.row0 r.poll=1 r.commit r.check
	a.first a.row0 r.fresh r.cached r.exec=1 r.begin b.row0 r.exec=1 b.other b.row0 r.exec=1 r.commit b.other b.row0 r.exec=1 r.check
	# a session's first transaction that begins with a plan has the bound of its start
	a.first a.row0 r.fresh r.cached r.begin r.exec=1 b.row0 r.exec=0 r.commit r.exec=1 r.check
	a.first a.row0 r.fresh w.lock r.slowfn=1 a.attach1 a.row1 b.row0 w.unlock r.fn=2 r.check
	# but not if an earlier one has planned a query that asks
	a.first a.row0 r.fresh r.explain=Result r.begin r.count=1 b.row0 r.fn=2 r.commit r.check
	a.first a.row0 r.fresh r.explain=Result r.begin r.count=1 a.attach1 a.row1 b.row0 r.fn=1 r.commit r.fn=2 r.check
	# a transaction that was open then has made a key
	a.first a.row0 a.begin a.key b.row0 r.fresh w.lock r.slowfn=1 b.attach1 a.late1 a.commit b.row0 w.unlock r.fn=3 r.check
	a.first a.row0 a.begin a.key b.row0 r.fresh w.lock r.slowexec=1 b.attach1 a.late1 a.commit b.row0 w.unlock r.fn=3 r.check
	a.first a.row0 a.begin a.key b.row0 r.fresh w.lock r.slowpos=1 b.attach1 a.late1 a.commit b.row0 w.unlock r.pos=3 r.once=t
	a.first a.row0 a.begin a.key b.row0 r.fresh w.lock r.slowposexec=1 b.attach1 a.late1 a.commit b.row0 w.unlock r.pos=3 r.once=t
	a.first a.row0 a.begin a.key b.row0 r.fresh w.lock r.slowfn=1 b.attach1 a.late1 a.commit a.row1 w.unlock r.fn=3 r.check
	a.first a.begin a.key b.row0 r.fresh w.lock r.slowfn=0 b.attach1 a.late1 a.prepare1 b.commitp1 b.row0 w.unlock r.fn=3 r.check
}));
	# PostgreSQL makes its list of partitions from pg_inherits, and then waits to look one up in
	# pg_class.  The list is kept although the table gets another partition meanwhile.  The second poll
	# brings back into the caches what the first one has dropped.
	$schedule->test(with($kind, q{
	a.first a.row0 r.fresh r.poll=1 r.poll=0 a.attach1 a.row1 r.analyze w.catalog r.poll=0 w.attach2 w.commit a.row2 b.row0 r.poll=3 r.check
	a.first a.row0 r.fresh r.pos=1 r.pos=0 a.attach1 a.row1 r.analyze w.catalog r.pos=0 w.attach2 w.commit a.row2 b.row0 r.pos=3 r.once=t
	a.first a.row0 r.fresh r.count=1 a.attach1 a.row1 r.analyze w.catalog r.count=2 w.attach2 w.commit a.row2 b.row0 r.poll=4 r.check
	a.first a.row0 r.fresh r.count=1 a.attach1 a.row1 r.analyze w.catalog r.count=2 w.attach2 w.commit a.row2 b.row0 r.cached r.exec=4 r.check
})) if $kind ne 'children';
}
done_testing();
