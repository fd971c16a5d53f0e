# A table is rewritten under a snapshot from before, which sees the new file in part: by ALTER
# TABLE, by pg_repack and pg_squeeze, and by a swap of files like theirs.
#
# "copy", "apply" and "swap" are pg_repack's steps, each in a transaction of its own.  "snap" lets a
# REPEATABLE READ transaction have its snapshot.  "polled" and "posed" poll in functions, which are
# STABLE and wait for the lock of session w before they read the table.
use lib 'test/perl';
use CombSchedule;
use CombSession;
use CombTest;

my $setup = $CombSchedule::setup . q{
	CREATE TABLE other (id uuid DEFAULT comb_generate_ordered());
	CREATE FUNCTION polled() RETURNS SETOF uuid STABLE LANGUAGE plpgsql AS
	$$
	BEGIN
		PERFORM wait_here();
		RETURN QUERY SELECT id FROM event WHERE id > last_seen() AND id < comb_settled() ORDER BY id;
	END
	$$;
	CREATE FUNCTION posed(OUT new uuid[], OUT next text) STABLE LANGUAGE plpgsql AS
	$$
	BEGIN
		PERFORM wait_here();
		SELECT array(SELECT id FROM event WHERE comb_unread(id, event.xmin, position)), comb_position(position) INTO new, next FROM place;
	END
	$$;
	CREATE FUNCTION readable(n integer) RETURNS bigint STABLE LANGUAGE plpgsql AS
	$$
	BEGIN
		IF n = 1 THEN
			RETURN -1;
		END IF;
		RETURN (SELECT count(*) FROM event WHERE id < comb_settled());
	END
	$$;
};
my $last = $CombSchedule::unread =~ s/ ORDER BY id//r;
my $files = join(', ', map { my ($x, $y) = @$_; "('$x'::regclass, '$y'::regclass), ('$y'::regclass, '$x'::regclass)" }
	(['filled', 'copied'], [ 'filled_pkey', 'copied_pkey' ]));
my $swap = "LOCK TABLE filled, copied; UPDATE pg_class AS this SET relfilenode = that.relfilenode FROM pg_class AS that
	WHERE (this.oid::regclass, that.oid::regclass) IN ($files)";

my $node = server('main', conf => "autovacuum = off\nwal_level = replica\nallow_system_table_mods = on\n");
my %kinds = (
	tables     => '',
	partitions => 'ALTER TABLE event RENAME TO filled; ALTER INDEX event_pkey RENAME TO filled_pkey;
		CREATE TABLE event (LIKE filled INCLUDING ALL) PARTITION BY RANGE (id); ALTER TABLE event ATTACH PARTITION filled DEFAULT');
foreach my $kind (sort keys %kinds)
{
	$node->safe_psql('postgres', "CREATE DATABASE $kind");
	$node->safe_psql($kind, "$setup $kinds{$kind}");
	my $table = $kind eq 'tables' ? 'event' : 'filled';
	my $schedule = CombSchedule->new(
		$node, 'a b r w',
		database   => $kind,
		statements => {
			snap   => 'SELECT FROM pg_database LIMIT 0',
			copy   => 'DROP TABLE IF EXISTS copied; CREATE TABLE copied (LIKE filled INCLUDING ALL); INSERT INTO copied TABLE filled',
			apply  => 'INSERT INTO copied TABLE filled ON CONFLICT DO NOTHING',
			swap   => "BEGIN; $swap; COMMIT",
			swapping => "BEGIN; $swap",
			type   => q{ALTER TABLE event ALTER what TYPE varchar(9) USING what || ''; ALTER TABLE event ALTER what TYPE text USING what || ''},
			grant  => 'GRANT SELECT ON filled TO PUBLIC',
			within => 'DO $$ BEGIN CREATE TEMP TABLE mine AS SELECT id FROM event WHERE id < comb_settled(); GRANT SELECT ON event TO PUBLIC;
				INSERT INTO mine SELECT id FROM event WHERE id < comb_settled(); INSERT INTO seen (id) SELECT id FROM mine GROUP BY id HAVING count(*) = 2; DROP TABLE mine; END $$',
			batch  => 'CREATE TEMP TABLE batch ON COMMIT DROP AS SELECT id FROM event WHERE id < comb_settled()',
			batched => 'SELECT count(*) FROM batch WHERE id < comb_settled()',
			lockfirst => 'LOCK TABLE other IN ACCESS EXCLUSIVE MODE',
			elsewhere => 'ALTER TABLE other ADD COLUMN n int; ALTER TABLE other DROP COLUMN n',
			others => 'SELECT count(*) FROM other WHERE id < comb_settled()',
			tidy   => 'VACUUM FREEZE filled; ANALYZE filled; CREATE INDEX CONCURRENTLY extra ON filled (id); REINDEX INDEX extra; DROP INDEX CONCURRENTLY extra',
			polled => 'WITH got AS (INSERT INTO seen (id) SELECT polled() RETURNING id) SELECT count(*) FROM got',
			posed  => 'WITH p AS MATERIALIZED (SELECT * FROM posed()), got AS (INSERT INTO seen (id) SELECT unnest(new) FROM p RETURNING id),
				moved AS (UPDATE place SET position = next FROM p) SELECT count(*) FROM got',
			cached => "SET plan_cache_mode = force_generic_plan; PREPARE cached AS SELECT count(*) FROM event WHERE id < comb_settled()",
			exec   => 'EXECUTE cached',
			settled => 'SELECT comb_settled() IS NOT NULL',
			flakes => "SELECT comb_snowflake_settled(instance_bits => 0) FROM event LIMIT 1",
			same   => q{SELECT comb_settled(), comb_position(p) = p, right(comb_position(NULL), 13) FROM event, comb_position_after('f0000000-0000-7000-8000-000000000000') AS p LIMIT 1},
			read   => 'SELECT readable(2)',
			open   => 'DECLARE c CURSOR FOR SELECT readable(n) FROM generate_series(1, 2) AS n',
			fetch  => 'FETCH c',
			once   => 'SELECT (SELECT array_agg(id ORDER BY id) FROM seen) = (SELECT array_agg(id ORDER BY id) FROM event)',
		});
	$_ = ref($_) ? $_ : s/\bfilled(?=_pkey|\b)/$table/gr foreach values %{ $schedule->{statements} };

	note($kind);
	$schedule->test(q{
	# the copy has b's row, and a's comes into it later: a poll between sees the copy, and not that
	a.begin a.key b.event b.copy a.late a.commit r.repeatable r.snap b.apply b.swap r.poll=0 r.commit r.poll=2 r.check
	a.begin a.key b.event b.copy a.late a.commit r.repeatable r.snap b.apply b.swap r.pos=0 r.pos=0 r.commit r.pos=2 r.once=t
	a.begin a.key b.event b.copy a.late a.commit r.fresh r.repeatable r.snap b.apply b.swap r.poll=0 r.commit r.poll=2 r.check
	# the reader waits for the swap, in the planner if it is a partition that is swapped
	a.begin a.key b.event b.copy a.late a.commit b.apply b.swapping r.repeatable r.snap r.poll=0 b.commit r.commit r.poll=2 r.check
	a.begin a.key b.event b.copy a.late a.commit b.apply b.swapping r.repeatable r.snap r.pos=0 b.commit r.commit r.pos=2 r.once=t
	# functions, and cached plans, of READ COMMITTED
	a.begin a.key b.event b.copy a.late a.commit w.lock r.polled=0 b.apply b.swap w.unlock r.polled=2 r.check
	a.begin a.key b.event b.copy a.late a.commit w.lock r.posed=0 b.apply b.swap w.unlock r.posed=2 r.once=t
	a.event r.cached r.exec=1 a.event b.copy b.event b.apply b.swapping r.exec=0 b.commit r.exec=3
	# a function's plan is kept that was made under a newer snapshot than a cursor's
	a.begin a.key b.event b.copy a.late a.commit r.begin r.open r.fetch=-1 b.apply b.swap r.read=2 r.read=2 r.fetch=0 r.commit
	# a statement that begins after the swap has all rows
	a.begin a.key b.event b.copy a.late a.commit b.apply b.swap r.begin r.poll=2 r.commit r.check
	a.event r.repeatable r.snap b.grant r.poll=0 r.commit r.poll=1 r.check
	# what nothing settled looks like
	a.event a.snowflake r.repeatable r.snap b.grant r.flakes=0 r.same=00000000-0000-0000-0000-000000000000|t|-000000000000 r.commit
	# nothing that leaves rows where they are
	a.event r.repeatable r.snap b.elsewhere r.poll=1 r.commit r.check
	a.event r.repeatable r.snap b.elsewhere r.others=0 r.poll=0 r.commit r.poll=1 r.check
	a.event w.begin w.xid r.repeatable r.snap w.commit b.tidy r.poll=1 r.commit r.check
	# ALTER TABLE
	a.event r.repeatable r.snap b.type r.poll=0 r.pos=0 r.commit r.poll=1 r.check
	a.event r.repeatable r.snap b.type r.pos=0 r.commit r.pos=1 r.once=t
	# a query with the snapshot has a bound already
	a.event r.repeatable r.settled=t b.type r.poll=40001 r.rollback r.poll=1 r.check
	# the reader's own changes, also of what others have changed
	a.event r.begin r.snap r.grant r.poll=1 r.commit r.check
	a.event r.repeatable r.snap r.grant r.poll=0 r.commit r.poll=1 r.check
	a.event r.repeatable r.snap b.type r.grant r.poll=0 r.commit r.poll=1 r.check
	a.event r.repeatable r.lockfirst b.xid r.snap b.type r.grant r.pos=0 r.commit r.pos=1 r.once=t
	a.event r.within r.poll=0 r.check
	a.event r.repeatable r.batch r.batched=1 r.poll=1 r.commit r.check
});
}

# pg_repack copies what it sees, and writes down what comes meanwhile.  It adds that once the
# transactions have ended that were open when it copied, and it looks for them each second.
SKIP:
{
	skip 'pg_repack is not installed (Debian: postgresql-NN-repack)', 4
	  if $node->safe_psql('postgres', "SELECT count(*) FROM pg_available_extensions WHERE name = 'pg_repack'") == 0;
	$node->safe_psql('postgres', "$setup CREATE EXTENSION pg_repack");
	my $schedule = CombSchedule->new($node, 'a b r', statements => { snap => 'SELECT FROM pg_database LIMIT 0' });
	foreach my $poll ('poll', 'pos')
	{
		my ($out, $err) = ('', '');
		$schedule->run('a.begin a.key b.event');
		my $repack = IPC::Run::start([ 'pg_repack', '-h', $node->host, '-p', $node->port, '-d', 'postgres', '-t', 'event' ], '<', \'', '>', \$out, '2>', \$err, IPC::Run::timeout(90));
		$repack->pump until !$repack->pumpable || $err =~ /Waiting for 1 transactions to finish/;
		$schedule->run('a.late a.commit r.repeatable r.snap');
		ok($repack->finish, 'pg_repack') or diag($err);
		is($schedule->run("r.$poll r.commit r.$poll=2"), "r.$poll=0 r.commit r.$poll=2", "a $poll with a snapshot from before has no rows");
		$_->ask($schedule->{clean}) foreach @{ $schedule->{observer} };
	}
}
done_testing();
