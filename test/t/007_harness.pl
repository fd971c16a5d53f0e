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
@ENV{ qw(TMPDIR JOBS) } = ($dir, 1);

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
	fails) say "Failed: t/one: 7 - one"; say "Failed: # why"; say "2 passed, 1 failed, 0 skipped"; say "make: *** Error 1"; exit 2 ;;
	*) say "Testing pg_comb with a server."; say "2 passed, 0 failed, 1 skipped" ;;
esac
END
script('source', <<'END');
have() { [ "$1" != faketime ] && [ "$1" != mvn ] && command -v "$1" >/dev/null; }
begin_source
case $1 in
	bail) say "ok 1 - one"; say "Bail out!  the server is gone"; exit 255 ;;
	mild) say "1..1"; say "ok 1 - one"; say "Bail out!" ;;
	late) sleep 1; say "ok 1 - late"; say 1..1 ;;
	failures) for n in {1..40}; do say "not ok $n - failure $n"; say "#   Failed test"; say "# at line $n"; done; say 1..40 ;;
	crash) printf '%s\n' 'LOG:  server process (PID 7) was terminated by signal 11: Segmentation fault' \
			'DETAIL:  Failed process was running: SELECT 1' 'LOG:  all server processes terminated; reinitializing' \
			'FATAL:  the database system is in recovery mode' >"$work/log/server"
		show_crash "$work/log/server"; exit 1 ;;
	complains) printf '%s\n' '# logged: lock .* is held' >"$work/test"
		printf '%s\n' 'a LOG:  statement: x WARNING:  y' '	WARNING:  z' 'a WARNING:  lock 7 is held' 'a LOG:  process (PID 1) was terminated by signal 9: Killed' >"$work/log/quiet"
		printf '%s\n' 'b WARNING:  leaked scan' 'TRAP: failed Assert("x")' 'c PANIC:  gone' 'd LOG:  process (PID 2) was terminated by signal 11: x' >"$work/log/loud"
		say "ok 1 - complains"; say 1..1; logs_quiet "$work/test" "$work/log/quiet" && logs_quiet "$work/test" "$work/log/quiet" "$work/log/loud"; exit ;;
	endless) say "ok 1 - one"; limit=1; bounded sleep 60; exit ;;
	waits) for _ in {1..100}; do [ ! -e "$work/made" ] || { say "ok 1 - made"; say 1..1; exit; }; sleep 0.1; done; exit 1 ;;
	makes) : >"$work/made"; say "ok 1 - makes"; say 1..1 ;;
	readable) [ "$PERL5LIB" != "$work" ] || say "ok 1 - readable"; say 1..1 ;;
	hidden) skip_all "$(lacks tap)" ;;
	unpackaged) skip_all "$(lacks hibernate)" ;;
	tool) say "ok 1 # SKIP repack is not installed (Debian: repack)"; say "ok 2 # SKIP it is early"; say "ok 3 # SKIP it is early"; say 1..3 ;;
	*) say "ok 1 - $1"; say 1..1 ;;
esac
exit
END

# The script and its arguments, settings, exit status and closing line, and what is shown
my @strict = ('hidden unpackaged first', '1: 1 passed, 1 failed, 1 skipped', qr/faketime/);
my @lenient = ('hidden unpackaged first', '0: 1 passed, 0 failed, 2 skipped', qr/faketime/);
my @cases = (
	# The other sources run to their ends.
	[ run => 'first bail late last', '1: 4 passed, 1 failed, 0 skipped', qr/^    # Bail out!  the server is gone$/m,
		qr/^Failed: bail: does not bail out\nFailed: # Bail out!  the server is gone\n\n.*^4 passed/ms,
		qr/^Logs and data directories are left in /m ],
	[ run => 'mild first', '1: 2 passed, 1 failed, 0 skipped' ],
	[ run => 'first last', '0: 2 passed, 0 failed, 0 skipped' ],
	# Root's tests run as another user, who may not read root's tree.
	[ run => 'readable', '0: 1 passed, 0 failed, 0 skipped' ],
	# all names, and the last of the comments
	[ run => 'failures', '1: 0 passed, 40 failed, 0 skipped', qr/failures: 1 - failure 1\n.*failures: 40 - failure 40\n/s,
		qr/\A(?!.*^    # at line 1\n).*^    # at line 40\n/ms, qr/^Failed: failures: 1 - failure 1\n(?:Failed: #.*\n){2}Failed: failures: 2/m ],
	# the end of a server, without what follows from it
	[ run => 'crash first', '1: 1 passed, 1 failed, 0 skipped', qr/\A(?!.*recovery mode).*^    # .*terminated by signal 11/ms,
		qr/^Failed: crash: runs to its end\nFailed: # LOG: /m ],
	[ run => 'endless first', '1: 2 passed, 1 failed, 0 skipped', qr/Stopped: this took longer than 1 seconds/ ],
	# what servers log, but for what a test names
	[ run => 'complains first', '1: 2 passed, 1 failed, 0 skipped',
		qr/^    # A server has logged .*\n    # b WARN.*\n    # TRAP.*\n    # c PANIC.*\n    # d LOG.*signal 11: x\n(?!    #)/m ],
	# Others begin before a source has shown anything.
	[ run => 'waits first makes', '0: 3 passed, 0 failed, 0 skipped', { JOBS => 2 } ],
	# tools that are missing: a package has one, and none the other
	[ run => @lenient ],
	[ run => @strict, { STRICT => 'yes' } ],
	[ run => @strict, { CI => 'true' } ],
	[ run => @lenient, { CI => 'true', STRICT => 'no' } ],
	# a test that does without a tool
	[ run => 'tool first', '0: 1 passed, 0 failed, 3 skipped', qr/^  repack is not installed \(Debian: repack\): tool\n  it is early: tool \(2\)\n/m ],
	[ run => 'tool first', '1: 1 passed, 1 failed, 2 skipped', qr/^Failed: tool: 1 - repack is not installed/m, { STRICT => 'yes' } ],
	# parts, each of which counts
	[ all => 'fine skips', '0: 2 passed, 0 failed, 2 skipped' ],
	[ all => 'dies fine', '1: 2 passed, 1 failed, 1 skipped', qr/^Failed: dies: ended early, with status 3\n/m ],
	[ all => 'fails fine', '1: 4 passed, 1 failed, 1 skipped',
		qr/^[|] fine: a server.*^Failed: fails: t\/one: 7 - one\nFailed: fails: # why\n\n.*^4 passed/ms ],
	[ all => 'kills', '1: 0 passed, 1 failed, 0 skipped' ],
	[ all => 'status', '1: 2 passed, 1 failed, 1 skipped' ],
	[ all => 'fine', '1: 2 passed, 1 failed, 1 skipped', { LEAST => 3 } ],
	[ all => '', '1: 0 passed, 1 failed, 0 skipped' ],
	[ all => 'slow', '1: 0 passed, 1 failed, 0 skipped', { STEP_LIMIT => 1 } ]);

foreach my $case (@cases, [ @{ $cases[0] }, { JOBS => 3 } ])
{
	my ($script, $arguments, $expected, @shown) = @$case;
	local %ENV = (%ENV, map { %$_ } grep { ref eq 'HASH' } @shown);
	my $output = `bash $dir/$script $arguments 2>&1`;
	is(($? >> 8) . ': ' . ($output =~ /^(\d+ passed.*)$/m)[0], $expected, "$script $arguments");
	like($output, $_, 'what is shown') foreach grep { ref eq 'Regexp' } @shown;
	ok(-d "$_/log", 'logs are kept') foreach $output =~ /^Logs and data directories are left in (.*)\.$/mg;
}

# A script that is stopped takes its part with it, and leaves nothing.
my @before = glob("$dir/pg_comb.*");
my $pid = fork() // die "could not fork: $!";
exec("exec bash $dir/all slow >$dir/stopped 2>&1") if !$pid;
sleep(2);
kill('TERM', $pid);
my $ended = eval { local $SIG{ALRM} = sub { die "late\n" }; alarm(20); waitpid($pid, 0); alarm(0); $? };
kill('KILL', $pid) if !defined $ended;
is($ended, 143 << 8, 'a script that counts ends when it is stopped');
is_deeply([ glob("$dir/pg_comb.*") ], \@before, 'and removes its directory');

# A harness that ends early runs the report of what it has counted so far.
my $output = `$^X -I $tree/test/perl -MCombHarness -e '
	my \$made;
	no warnings qw(redefine);
	my \$make = TAP::Harness->can("make_parser");
	*TAP::Harness::make_parser = sub { die "no more\n" if \$made++; \$make->(\@_) };
	CombHarness->new({ exec => [ "printf", "1..1\\\\nok 1 - %s\\\\n" ] })->runtests("a", "b")' 2>&1`;
isnt($?, 0, 'a harness that ends early fails');
like($output, qr/^1 passed, 1 failed, 0 skipped$/m, 'because a source is missing');

$output = `$tree/test/run nosuch 2>&1`;
is($? >> 8, 2, 'a source that does not exist');
like($output, qr/\AThere is no step or source "nosuch"[^\n]*\n\z/, 'is told in one line');

done_testing();
