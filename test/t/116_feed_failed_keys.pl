# An ordered key that fails in a savepoint takes the gaps of positions away until its transaction
# makes another key or ends, but not where the transaction is prepared.
use lib 'test/perl';
use CombSchedule;
use CombSession;
use CombTest;

need_faketime();

my $node = server('main', start => 0, conf => "autovacuum = off\nmax_prepared_transactions = 2\npg_comb.max_ordered_drift = 1h\n");
my $clock = $node->basedir . '/clock';
start_with_clock($node, $clock);
$node->safe_psql('postgres', $CombSchedule::setup );
sub clock_at
{
	my ($shift) = @_;
	return sub { replace_file($clock, $shift); return };
}
CombSchedule->new($node, 'a b r', statements => {
	ahead => clock_at('+4000d'), back => clock_at('+0d'),
	sub  => 'SAVEPOINT s',
	to   => 'ROLLBACK TO s',
	check => $CombSchedule::once,
})->test(q{
	a.begin a.event b.pause20 b.event a.prepare1 r.pos=1 r.gaps=1 b.commitp1 r.pos=1 r.check
	a.begin a.event a.sub a.ahead a.key=55000 a.back a.to a.prepare1 b.pause20 b.event r.pos=1 r.gaps=1 b.commitp1 r.pos=1 r.check
	a.begin a.event a.sub a.ahead a.key=55000 a.back a.to b.pause20 b.event r.pos=1 r.gaps=0 a.commit r.pos=1 r.check
});
done_testing();
