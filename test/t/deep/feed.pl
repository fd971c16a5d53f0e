# Writers and readers of events are held between two steps, on a server built with
# injection points.
#
# A writer is held where it withdraws its announcement, once its transaction is visible.
# A reader is held between the places where it looks.
use lib 'test/perl';
use CombSchedule;
use CombTest;

my $node = server('feed', conf => "autovacuum = off\nmax_prepared_transactions = 4");
plan skip_all => 'the server is not built with injection points' unless $node->check_extension('injection_points');
$node->safe_psql('postgres', "CREATE EXTENSION injection_points; $CombSchedule::setup");

my $schedule = CombSchedule->new($node, 'a b c d f r u', statements => {
	bound  => 'SELECT comb_settled() AS bound \gset',
	below  => "SELECT count(*) FROM event WHERE id < :'bound'",
	beyond => "SELECT :'bound'::uuid > comb_generate_ordered()",
	caught => q{DO $$ BEGIN PERFORM comb_generate_ordered();
		EXCEPTION WHEN query_canceled THEN PERFORM set_config('feed.caught', 't', false); END $$},
	idle   => q{SELECT current_setting('feed.caught'), now() = statement_timestamp()} });

my @seats = map { $schedule->{session}{$_}->ask(q{SELECT split_part(virtualtransaction, '/', 1) FROM pg_locks
	WHERE pid = pg_backend_pid() AND locktype = 'virtualxid'}) } qw(a b c d);
is("@seats", join(' ', sort { $a <=> $b } @seats), 'seats have the order of the writers');

$schedule->test('a.event b.event c.event d.event u.event r.poll=5');

# A writer commits, prepares or rolls back, and is held at each step of taking its announcement
# back.  A reader that sees the transaction is held back, too.
$schedule->for_each([qw(end-seat history-entry end-clear)], q{
	a.begin a.event u.event r.repeatable r.count=1 a.commit@% r.poll=0 r.commit r.poll=0 a.go r.poll=2 r.check
	a.begin a.event u.event a.prepare1@% r.poll=0 a.go r.poll=0 a.commitp1 r.poll=2
});
$schedule->for_each([qw(end-seat end-clear)], 'a.begin a.key u.event a.rollback@% r.poll=0 a.go r.poll=1');

$schedule->test(q{
	# a writer has announced nothing yet, or has taken its time and not returned the key
	a.event@announce u.event r.poll=1 a.go r.poll=1 r.check
	a.event@lease-taken u.event r.poll=0 a.go r.poll=2 r.check
});

# A reader is held, and a transaction begins.
$schedule->for_each([qw(counter-read seat-first seats-read)], 'r.bound@% a.begin a.event u.event r.go a.commit r.below=0 r.check');

# A reader is held, and a transaction that it does not see ends or is prepared.
foreach my $writer (qw(a b c d))
{
	$schedule->for_each([qw(counter-read seat-running seats-read)], q{
		W.begin W.event u.event r.repeatable r.count=1 r.bound@% W.commit r.go r.commit r.below=0 r.beyond=f r.check
		W.begin W.event u.event r.repeatable r.count=1 r.bound@% W.rollback r.go r.commit r.beyond=f r.check
		W.begin W.event u.event r.repeatable r.count=1 r.bound@% W.prepare1 r.go r.commit u.commitp1 r.below=0 r.beyond=f r.check
	} =~ s/W/$writer/gr);

	# the history of a later seat moves on
	next if $writer eq 'a';
	$schedule->for_each([ 2, 5, 7, 12 ], q{
		W.begin W.event u.event r.repeatable r.count=1 W.commit a.begin a.key r.bound@seat-running W.many% r.go r.commit a.commit r.below=0 r.check
	} =~ s/W/$writer/gr);
}

# A seat is left while a reader looks at it, and an earlier one has a key that the reader's
# snapshot misses.
$schedule->test('r.repeatable r.count=0 b.begin b.key a.event r.bound@seat-running b.rollback r.go r.commit r.below=0 r.check');

# An entry of a history is overwritten while a reader looks, and read while it is overwritten.
# The entry can be of the transaction that the reader's snapshot misses first, or older.
$schedule->for_each([ 1 .. 4 ], q{
	r.repeatable r.count=0 a.event a.many% a.begin a.event a.commit@history-entry r.bound a.go r.commit r.below=0 r.check
	r.repeatable r.count=0 a.event r.bound@history-read a.many% r.go r.commit r.below=0 r.check
});

# An error at a step
$schedule->for_each([qw(counter-read seat-running seats-read)], 'a.begin a.event u.event r.poll!%=XX000 r.poll=0 a.commit r.check');
$schedule->test(q{
	a.begin a.save a.event!announce=XX000 u.event a.undo a.event u.event r.poll=1 a.commit r.poll=2 r.check
	# a held writer cannot be cancelled while it takes back
	b.begin b.event b.commit@history-entry b.cancel r.poll=0 b.go r.check
	# a first key is cancelled while its session maps the memory for announcements
	f.caught@seats-attach f.cancel f.idle=t|t f.detach f.event r.poll=1
	# a transaction that was prepared before the server started ends while a reader looks for it, and
	# another takes its place among those that are prepared
	a.prepared1 restart u.event r.poll=0 r.bound@seats-read u.commitp1 u.keyless2 r.go r.below=0 u.rollbackp2 r.check
	a.prepared1 restart u.event r.poll=0 r.bound@seats-read u.rollbackp1 u.keyless2 r.go r.beyond=f u.rollbackp2 r.check
});

$node->stop;
done_testing();
