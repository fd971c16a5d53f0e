# Readers with positions, and readers in comb_wait(), beside sessions that are held between two
# steps, on a server built with injection points.
use lib 'test/perl';
use CombSchedule;
use CombTest;

my $node = server('positions', conf => "autovacuum = off\nmax_prepared_transactions = 4");
plan skip_all => 'the server is not built with injection points' unless $node->check_extension('injection_points');
$node->safe_psql('postgres', "CREATE EXTENSION injection_points; $CombSchedule::setup");

my $schedule = CombSchedule->new($node, 'a b r u', statements => {
	check => $CombSchedule::once,
	seen   => 'CALL comb_wait(NULL) \gset',
	wait   => "\\set before :seen\nCALL comb_wait(:seen, '5 s') \\gset\nSELECT :seen <> :before",
	short  => "\\set before :seen\nCALL comb_wait(:seen, '200 ms') \\gset\nSELECT :seen <> :before" });

#
# Gaps between the keys of open transactions: no key lies in one that its writer has not said yet.
#
$schedule->test(q{
	# a writer has taken the time of its second key, or of its first one
	a.begin a.event u.pause20 u.event r.pos=1 r.gaps=1 a.event@lease-taken u.event r.pos=1 a.go a.commit r.pos=2 r.check
	a.event u.pause20 u.event a.event@lease-taken u.pause20 u.event r.pos=3 a.go r.pos=1 r.check
	# beside another one, whose gap stays
	a.begin a.event u.pause20 u.event b.begin b.event b.event@lease-taken u.pause20 u.event r.pos=2 r.gaps=1 b.go b.commit a.commit r.pos=3 r.check
	# a writer has announced itself and taken no time yet
	a.begin a.event u.pause20 u.event b.event@announced u.pause20 u.event r.pos=2 r.pos=0 b.go a.commit r.pos=2 r.check
	b.event@announced u.pause20 u.event r.pos=1 r.pos=0 b.go r.pos=1 r.check
});

# A reader is held while transactions go on making keys, end or are prepared
$schedule->for_each([qw(counter-read seat-first seat-running seats-read)], q{
	a.begin a.event u.pause20 u.event r.repeatable r.count=1 r.pos@%=1 a.event u.pause20 u.event r.go r.commit a.commit r.pos=3 r.check
	a.begin a.event u.pause20 u.event r.repeatable r.count=1 r.pos@%=1 a.event a.commit u.pause20 u.event r.go r.commit r.pos=3 r.check
	a.begin a.event u.pause20 u.event r.repeatable r.count=1 r.pos@%=1 a.prepare1 a.begin a.event u.pause20 u.event r.go r.commit u.commitp1 a.commit r.pos=3 r.check
	a.begin a.event b.begin b.event u.pause20 u.event b.prepare1 r.repeatable r.count=1 r.pos@%=1 u.commitp1 a.prepare2 r.go r.commit r.pos=1 u.commitp2 r.pos=1 r.check
});

# A transaction is held while it is prepared or commits
$schedule->for_each([qw(end-seat history-entry end-clear)], q{
	a.begin a.event u.pause20 u.event a.prepare1@% r.pos=1 u.event r.pos=1 a.go r.pos=0 a.commitp1 r.pos=1 r.check
	a.begin a.event u.pause20 u.event r.repeatable r.count=1 a.commit@% r.pos=1 u.event a.go r.commit r.pos=2 r.check
});

#
# comb_wait(): no end is missed.  A session that is held leaves the list of those to be woken, and gets
# onto it again before it sleeps.
#
$schedule->test(q{
	# a writer has counted its end, and has not woken anybody yet
	r.seen a.event@end-count r.wait=t a.go
	r.seen r.wait=t a.event@end-count a.go
	r.seen r.wait=t a.event@end-count u.event a.go
	r.seen r.short=t a.event@end-count u.pause300 a.go
	a.begin a.event r.seen r.wait=t a.rollback@end-count a.go
	a.begin a.event r.seen a.prepare1@end-count r.wait=t a.go a.commitp1
	a.begin a.event r.seen r.wait=t a.prepare1@end-count a.go a.commitp1
	# it is held before that, or after, and another reader is cancelled
	r.seen r.wait=t a.event@end-clear a.go
	b.seen b.wait=f=57014 r.seen r.wait=t a.event@end-count b.cancel a.go
	# nobody ends
	r.seen a.begin a.event r.short=f u.pause300 a.commit
});
$schedule->for_each([qw(wait-listed wait-count)], q{
	r.seen r.wait@%=t a.event r.go
	r.seen r.wait@%=t a.event@end-count r.go a.go
	r.seen r.wait@%=t a.event@end-count a.go r.go
	r.seen r.short@%=f u.pause300 r.go
	r.seen r.wait@%=f=57014 r.cancel r.detach b.seen b.wait=t a.event
	a.begin a.event r.seen r.wait@%=t a.prepare1 r.go u.commitp1
});

$node->stop;
done_testing();
