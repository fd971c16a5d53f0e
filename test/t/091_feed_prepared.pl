# A reader of events and prepared transactions: committed while a query runs, many of
# them, before a restart and a crash, of other databases.
use lib 'test/perl';
use CombSchedule;
use CombTest;

my $node = server('main', conf => "autovacuum = off\nmax_prepared_transactions = 4", sql => 'CREATE DATABASE other');
$node->safe_psql($_, $CombSchedule::setup . 'CREATE TABLE flake (id bigint DEFAULT comb_snowflake(instance_bits => 0))')
  foreach ('postgres', 'other');

my $schedule = CombSchedule->new($node, 'a b o r u w', other => 'o', clean => 'TRUNCATE event, seen, flake', statements => {
	flake  => 'INSERT INTO flake DEFAULT VALUES',
	flakes => 'SELECT count(*) FROM flake WHERE id < comb_snowflake_settled(instance_bits => 0)',
	newer  => 'SELECT first_key > last_seen() FROM comb_unsettled()',
	unsettled => 'SELECT count(*) FROM comb_unsettled()',
	shown     => q{SELECT p.gid, p.database, u.series
		FROM comb_unsettled() AS u FULL JOIN pg_prepared_xacts AS p USING (transaction) ORDER BY p.gid},
	passes    => 'SELECT comb_settled() > last_seen()' });

$schedule->test(q{
	# before, during and after a query
	a.prepared1 b.event r.poll=0 w.lock r.pollate=0 b.commitp1 w.unlock r.check
	a.begin a.event b.event w.lock r.pollate=0 a.prepare1 b.commitp1 w.unlock r.check
	a.begin a.event b.event w.lock r.pollate=0 a.prepare1 w.unlock a.many12 r.poll=0 b.commitp1 r.check
	a.prepared1 b.event r.poll=0 b.rollbackp1 r.poll=1 r.check
	# comb_unsettled() says what is, whatever the statement's snapshot sees
	a.prepared1 r.repeatable r.count=0 b.commitp1 r.unsettled=0 r.commit r.check
	# a second one of the name, one with a savepoint, and one with Snowflakes alone
	a.prepared1 a.begin a.event a.prepare1=42710 b.event r.poll=0 b.commitp1 r.poll=2
	a.begin a.undone a.event a.prepare1 b.event r.poll=0 b.commitp1 r.check
	a.begin a.snowflake a.xid a.prepare1 b.event r.poll=1 b.commitp1
	a.twophase12 r.poll=12 a.prepared1 r.newer=t b.rollbackp1
	# Snowflakes, prepared between others, and before a restart and a crash
	b.flake a.begin a.flake a.prepare1 b.flake r.flakes=1 b.commitp1 r.flakes=3
	b.flake a.begin a.flake a.event a.prepare1 b.flake b.event r.flakes=1 r.poll=0 b.commitp1 r.flakes=3 r.check
	b.flake a.begin a.flake a.prepare1 restart b.flake r.flakes=0 b.commitp1 r.flakes=3
	b.flake a.begin a.flake a.prepare1 crash b.flake r.flakes=0 b.commitp1 r.flakes=3
	# several of one PGPROC; the second one made its key before the first one did
	a.prepared1 b.event w.lock r.pollate=0 b.commitp1 a.prepared2 b.commitp2 a.prepared3 w.unlock r.poll=3 b.commitp3 r.check
	a.begin a.event u.event b.prepared1 w.lock r.pollate=0 u.commitp1 a.prepare2 w.unlock u.commitp2 r.check
	# the same in a seat that is new, and after its first commits
	restart a.begin a.event u.event b.prepared1 w.lock r.pollate=0 u.commitp1 a.prepare2 w.unlock u.commitp2 r.check
	restart b.twophase1 r.poll=1 a.begin a.event u.event b.prepared1 w.lock r.pollate=0 u.commitp1 a.prepare2 w.unlock u.commitp2 r.check
	restart b.twophase2 r.poll=2 a.begin a.event u.event b.prepared1 w.lock r.pollate=0 u.commitp1 a.prepare2 w.unlock u.commitp2 r.check
	restart b.twophase4 r.poll=4 a.begin a.event u.event b.prepared1 w.lock r.pollate=0 u.commitp1 a.prepare2 w.unlock u.commitp2 r.check
	# a snapshot that sees none of a new seat's commits.  The reader has asked before, or its bound would be of its start.
	restart r.poll=0 b.event r.repeatable r.count=1 a.many5 r.atleast1=t r.commit r.check
	restart r.poll=0 b.event r.repeatable r.count=1 a.twophase5 r.atleast1=t r.commit r.check
	# one of another database
	o.prepared1 b.event r.poll=1 o.rollbackp1
	# a plain transaction and many prepared ones end after the snapshot: the bound lags behind,
	# and does not stand still
	b.event r.poll=1 a.twophase30 u.begin u.event r.repeatable r.count=31 a.twophase12 u.commit r.passes=t r.atleast0=t r.commit r.check
	b.event r.poll=1 o.twophase30 u.begin u.event r.repeatable r.count=1 o.twophase12 u.commit r.passes=t r.atleast0=t r.commit r.check
	a.prepared1 b.event w.lock r.pollate=0 b.commitp1 a.twophase12 w.unlock r.check
	# the transaction has a key and no xid yet when the reader takes its snapshot
	a.begin a.key b.event w.lock r.pollate=0 a.late a.prepare1 b.commitp1 a.twophase12 w.unlock r.check
	# many beside a long transaction, and after one that is still prepared
	u.begin u.xid a.twophase12 r.poll=12 b.event a.prepared1 b.event r.poll=1 b.commitp1 u.commit r.check
	b.event a.prepared1 a.twophase12 r.poll=1 b.commitp1 r.check
	# as many as can be prepared
	a.prepared1 a.prepared2 a.prepared3 a.prepared4 b.event b.commitp1 b.commitp2 b.commitp3 r.poll=3 b.commitp4 r.check
	a.prepared1 a.prepared2 a.prepared3 a.prepared4 b.event r.poll=0 b.commitp2 b.commitp4 b.commitp3 r.poll=0 b.commitp1 r.check
	# before a restart and a crash
	o.prepared2 a.prepared1 b.event restart r.poll=0 r.shown=p1|postgres|,p2|other| b.event r.poll=0 b.keyless3 w.lock r.pollate=0 b.commitp1 w.unlock r.poll=3 b.rollbackp3 r.check o.poll=0 o.commitp2 o.poll=1
	o.prepared2 a.prepared1 b.event crash r.poll=0 r.shown=p1|postgres|,p2|other| b.event r.poll=0 b.keyless3 w.lock r.pollate=0 b.commitp1 w.unlock r.poll=3 b.rollbackp3 r.check o.poll=0 o.commitp2 o.poll=1
	# without keys: before the first key after a restart, beside a report, and between others
	b.event restart b.keyless1 a.event r.poll=2 o.begin o.xid a.twophase3 a.keyless2 a.twophase9 r.poll=12 o.rollback b.rollbackp1 b.rollbackp2 r.check
	# one from before a restart ends before anybody asks, and another one takes its PGPROC
	a.prepared1 b.event restart r.repeatable r.count=1 b.commitp1 b.keyless2 r.poll=0 r.commit r.poll=2 b.rollbackp2
	# the first key after a restart, while no transaction has ended since
	b.event restart a.begin a.snowflake a.xid r.poll=1 a.commit r.check
});

# The bound of a snapshot that misses k of a seat's commits is an announcement at most 3 k old.
# The rows of others, of which the snapshot sees all, are not held back by more.
my @history;
foreach my $seen (1 .. 5, 33, 64, 100)
{
	foreach my $missed (1, 2, 3, 4, 5, 8, 13, 21)
	{
		my $least = $seen - 2 * $missed;
		next if $least < 1;
		push @history, "a.many$seen r.repeatable r.count=$seen a.many$missed r.atleast" . ($least - 1) . '=t r.commit r.check';
	}
}
$schedule->test(join("\n", @history));

done_testing();
