# The harness itself: what goes wrong in a test must make the whole run fail, and must be
# shown.  Small scripts in place of tests print TAP, and no server is needed.

use strict;
use warnings;

use File::Temp qw(tempdir);
use FindBin qw($RealBin);
use Test::More;

my $tree = "$RealBin/../..";
# Longer names of temporary directories are not used, see begin() in lib.sh.
my $dir = tempdir('/tmp/comb.XXXXXX', CLEANUP => 1);

# This test may run in the harness, and under CI, itself.
delete @ENV{ grep { /^(?:COMB_|PERL_TEST_HARNESS|HARNESS_|REPORT$|KEEP$|STRICT$|CI$)/ } keys %ENV };
$ENV{TMPDIR} = $dir;

# A script that counts tests, as test/run does.  Its sources are functions.
open(my $fh, '>', "$dir/script") or die "could not open $dir/script: $!";
print $fh <<"END";
. "$tree/test/lib.sh" || exit 2
plain=yes
END
print $fh <<'END';
one() {
	case $1 in
		bail) say "ok 1 - one"; say "Bail out!  the server is gone"; exit 255 ;;
		mild) say "1..1"; say "ok 1 - one"; say "Bail out!" ;;
		late) sleep 1; : >"$work/../late"; say "ok 1 - late"; say 1..1 ;;
		failures) for n in {1..40}; do say "not ok $n - failure $n"; say "#   Failed test"; say "# at line $n"; done; say 1..40 ;;
		*) say "ok 1 - $1"; say 1..1 ;;
	esac
}
main() { begin; cd "$tree" && jobs=$JOBS prove_each "bash $0" "$@"; }
start "$@"
END
close($fh);

# Run sources, and return the exit status and the output.
sub sources
{
	my ($jobs, @sources) = @_;
	local $ENV{JOBS} = $jobs;
	my $output = `bash $dir/script @sources 2>&1`;
	return ($? >> 8, $output);
}

for my $jobs (1, 3)
{
	my ($status, $output) = sources($jobs, qw(first bail late last));
	isnt($status, 0, "JOBS=$jobs: a run with a bail-out fails");
	like($output, qr/^4 passed, 1 failed, 0 skipped$/m, 'the bail-out is a failure, and the other sources run');
	like($output, qr/^    # Bail out!  the server is gone$/m, 'its reason is shown');
	my ($logs) = $output =~ /^Logs and data directories are left in (.*)\.$/m;
	ok(defined $logs && -d "$logs/log", 'and the logs are kept');
	ok(unlink("$dir/late"), 'the others have ended before the run');

	($status, $output) = sources($jobs, 'mild', 'first');
	is("$status, " . ($output =~ /^(\d+ passed, \d+ failed)/m)[0], '1, 2 passed, 1 failed',
		'also if nothing else was wrong with its source');
}

my ($status, $output) = sources(3, 'first', 'last');
is("$status, " . ($output =~ /^(\d+ passed.*)$/m)[0], '0, 2 passed, 0 failed, 0 skipped', 'a run can pass');

($status, $output) = sources(1, 'failures');
is(scalar(() = $output =~ /^    not ok - failures: failure \d+$/mg), 40, 'all failures of a source are named');
cmp_ok(scalar(() = $output =~ /^    #/mg), '<', 70, 'with the last of their comments');

# A harness that ends early runs the report of what it has counted so far.
$output = `$^X -I $tree/test/perl -MCombHarness -e '
	my \$made;
	no warnings qw(redefine);
	my \$make = TAP::Harness->can("make_parser");
	*TAP::Harness::make_parser = sub { die "no more\n" if \$made++; \$make->(\@_) };
	CombHarness->new({ exec => [ "printf", "1..1\\\\nok 1 - %s\\\\n" ] })->runtests("a", "b")' 2>&1`;
isnt($?, 0, 'a harness that ends early fails');
like($output, qr/^1 passed, 1 failed, 0 skipped$/m, 'because a source is missing');

{
	local $ENV{COMB_AT_LEAST} = 3;
	($status, $output) = sources(1, 'first', 'last');
	is("$status, " . ($output =~ /^(\d+ passed.*)$/m)[0], '1, 2 passed, 1 failed, 0 skipped', 'fewer tests than expected are a failure');
}

done_testing();
