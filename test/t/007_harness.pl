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

# Scripts as test/run, as test/source and as test/all
my $lib = ". \"$tree/test/lib.sh\" || exit 2; plain=yes; PG_CONFIG=\${PG_CONFIG:-pg_config}\n";
sub script
{
	my ($name, $text) = @_;
	open(my $fh, '>', "$dir/$name") or die "could not open $dir/$name: $!";
	print $fh $lib, $text;
	close($fh);
}
script('run', "begin; prove_each 'bash $dir/source' --jobs \$JOBS \"\$@\"; exit\n");
script('all', "begin; for way in \"\$@\"; do part \"\$way\" bounded bash $dir/counts \$way; done; close_report \${LEAST:-}; exit\n");
script('counts', <<'END');
case $1 in
	dies) exit 3 ;;
	kills) kill -9 $$ ;;
	status) say "2 passed, 0 failed, 1 skipped"; exit 1 ;;
	slow) exec sleep 60 ;;
	skips) skip_part "nothing to do" ;;
	*) say "Testing pg_comb with a server."; say "2 passed, 0 failed, 1 skipped" ;;
esac
END
script('source', <<'END');
have() { [ "$1" != faketime ] && command -v "$1" >/dev/null; }
case $1 in hidden) begin_source tap ;; unpackaged) begin_source sqlmodel ;; *) begin_source ;; esac
case $1 in
	bail) say "ok 1 - one"; say "Bail out!  the server is gone"; exit 255 ;;
	mild) say "1..1"; say "ok 1 - one"; say "Bail out!" ;;
	late) sleep 1; : >"$work/../late"; say "ok 1 - late"; say 1..1 ;;
	failures) for n in {1..40}; do say "not ok $n - failure $n"; say "#   Failed test"; say "# at line $n"; done; say 1..40 ;;
	crash) printf '%s\n' 'LOG:  server process (PID 7) was terminated by signal 11: Segmentation fault' \
			'DETAIL:  Failed process was running: SELECT 1' 'LOG:  all server processes terminated; reinitializing' \
			'FATAL:  the database system is in recovery mode' >"$work/log/server"
		show_crash "$work/log/server"; exit 1 ;;
	endless) say "ok 1 - one"; limit=1; bounded sleep 60; exit ;;
	waits) for _ in {1..100}; do [ ! -e "$work/made" ] || { say "ok 1 - made"; say 1..1; exit; }; sleep 0.1; done; exit 1 ;;
	makes) : >"$work/made"; say "ok 1 - makes"; say 1..1 ;;
	hidden) skip_all "$(lacks tap)" ;;
	unpackaged) python=none; skip_all "$(lacks sqlmodel)" ;;
	*) say "ok 1 - $1"; say 1..1 ;;
esac
exit
END

# Run sources, and return the exit status and the output.
sub sources
{
	my ($jobs, @sources) = @_;
	local $ENV{JOBS} = $jobs;
	my $output = `bash $dir/run @sources 2>&1`;
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

($status, $output) = sources(2, 'crash', 'first');
isnt($status, 0, 'a run with a crash fails');
like($output, qr/^    # .*terminated by signal 11/m, 'and shows the end of the server');
unlike($output, qr/recovery mode/, 'without what follows from it');

($status, $output) = sources(2, qw(waits first makes));
like($output, qr/^3 passed, 0 failed, 0 skipped$/m, 'others begin before a source has shown anything');

# A harness that ends early runs the report of what it has counted so far.
$output = `$^X -I $tree/test/perl -MCombHarness -e '
	my \$made;
	no warnings qw(redefine);
	my \$make = TAP::Harness->can("make_parser");
	*TAP::Harness::make_parser = sub { die "no more\n" if \$made++; \$make->(\@_) };
	CombHarness->new({ exec => [ "printf", "1..1\\\\nok 1 - %s\\\\n" ] })->runtests("a", "b")' 2>&1`;
isnt($?, 0, 'a harness that ends early fails');
like($output, qr/^1 passed, 1 failed, 0 skipped$/m, 'because a source is missing');

($status, $output) = sources(2, 'endless', 'first');
like($output, qr/^2 passed, 1 failed, 0 skipped$/m, 'a source that does not end is stopped, and fails');
like($output, qr/Stopped: this took longer than 1 seconds/, 'and says so');

# Parts, each of which counts
for ([ 'fine skips', 0, '2 passed, 0 failed, 2 skipped' ], [ 'dies fine', 1, '2 passed, 1 failed, 1 skipped' ],
	[ 'kills', 1, '0 passed, 1 failed, 0 skipped' ], [ 'status', 1, '2 passed, 1 failed, 1 skipped' ],
	[ 'fine', 1, '2 passed, 1 failed, 1 skipped', LEAST => 3 ], [ '', 1, '0 passed, 1 failed, 0 skipped' ],
	[ 'slow', 1, '0 passed, 1 failed, 0 skipped', STEP_LIMIT => 1 ])
{
	my ($parts, $expected, $line, %settings) = @$_;
	local %ENV = (%ENV, %settings);
	$output = `bash $dir/all $parts 2>&1`;
	is(($? >> 8) . ', ' . ($output =~ /^(\d+ passed.*)$/m)[0], "$expected, $line", "the parts $parts, " . join('=', %settings));
}

# Tools that are missing
for ([ {}, 0, 2 ], [ { STRICT => 'yes' }, 1, 1 ], [ { CI => 'true' }, 1, 1 ], [ { CI => 'true', STRICT => 'no' }, 0, 2 ])
{
	my ($settings, @expected) = @$_;
	local %ENV = (%ENV, %$settings);
	my $title = join(', ', map { "$_=$settings->{$_}" } sort keys %$settings) || 'without a setting';
	($status, $output) = sources(1, 'hidden', 'unpackaged', 'first');
	is("$status, " . ($output =~ /^(\d+ passed.*)$/m)[0], "$expected[0], 1 passed, $expected[0] failed, $expected[1] skipped",
		"a tool that a package has, and one without a package: $title");
}
like($output, qr/faketime/, 'the tool is named');

$output = `$tree/test/run nosuch 2>&1`;
is($? >> 8, 2, 'a source that does not exist');
like($output, qr/\AThere is no step or source "nosuch"[^\n]*\n\z/, 'is told in one line');

done_testing();
