# The harness of test/run, and of other scripts under test/ that count tests
#
# "prove --harness CombHarness" runs and reports as prove does, and ends with
# each failure and the line "N passed, N failed, N skipped".  A source that ends
# badly without a failed test counts as one failure, as does a source that bails
# out, and one that never ran.  Where tools must be there, as STRICT=yes and CI=true say,
# one that skips tests and names Debian's package of a tool has failed, too.  With
# REPORT=yes each line of TAP is shown as it comes.
package CombHarness;

use strict;
use warnings;

use List::Util qw(sum);
use TAP::Formatter::Session;
use parent 'TAP::Harness';

$| = 1;

my $report = ($ENV{REPORT} // '') eq 'yes';
my $strict = ($ENV{STRICT} // $ENV{CI} // '') =~ /^(?:yes|true)$/;
my %total = map { $_ => 0 } qw(passed failed skipped);
my ($ended, $sources, %skipped, @reasons, @failures) = (0, 0);

sub new
{
	my $self = shift->SUPER::new(@_);
	$self->callback(made_parser => \&watch);
	return $self;
}

# The seconds of a source are all that its reader needs of times, and no summary repeats what is below.
{
	no warnings 'redefine';
	*TAP::Formatter::Session::time_report = sub { return sprintf('%4.0f s', $_[2]->end_time - $_[2]->start_time) };
}
sub summary { return; }

# Tests that cannot be run for this reason
sub skipped
{
	my ($reason, $tests) = @_;
	push @reasons, $reason if !$skipped{$reason};
	push @{ $skipped{$reason} }, $tests;
	$total{skipped}++;
	return;
}

# Failures, and the comments that follow them, are shown at the source's end: other
# sources may run at the same time.
sub watch
{
	my ($parser, $job) = @_;
	my $source = $job->[1];
	my ($failed, @comments) = (0);
	my $fail = sub {
		@comments = () if !$failed++;
		$total{failed}++;
		push @comments, "    not ok - $source: $_[0]\n";
	};

	my $log = $ENV{COMB_WORK} ? "$ENV{COMB_WORK}/log/" . $source =~ tr{/}{-}r . '.tap' : '/dev/null';
	open(my $tap, '>', $log) or die "could not open $log: $!";
	$parser->callback(ALL => sub {
		print $tap $_[0]->raw, "\n";
		print "$source: ", $_[0]->raw, "\n" if $report;
	});
	$parser->callback(test => sub {
		my ($test) = @_;
		my $name = $test->description =~ s/^- //r;
		return $fail->($test->number . " - $name") if !$test->is_ok;
		return $total{passed}++ if !$test->has_skip;
		return $fail->($test->number . ' - ' . $test->explanation) if $strict && $test->explanation =~ /\(Debian: /;
		skipped($test->explanation, join(': ', grep { /\S/ } $source, $name));
	});
	$parser->callback(comment => sub { push @comments, '    ' . $_[0]->raw . "\n" });
	$parser->callback(bailout => sub { $fail->('does not bail out'); push @comments, '    # ' . $_[0]->raw . "\n" });
	$parser->callback(unknown => sub { print "$source: ", $_[0]->raw, "\n" if $_[0]->raw =~ /\S/ && !$report });
	$parser->callback(EOF => sub {
		$ended++;
		print "[$ended of $sources]\n" if $sources > 1 && !$report && $ended % 10 == 0;
		if ($parser->has_problems && !$failed)
		{
			my @said = @comments;
			$fail->('runs to its end');
			push @comments, @said;
		}
		elsif ($parser->skip_all)
		{
			if ($strict && $parser->skip_all =~ /\(Debian: /) { $fail->($parser->skip_all) }
			else { skipped($parser->skip_all, $source) }
		}
		return if !$failed;
		# the names of all failures, and the last of the comments
		my $more = @comments - 60;
		print grep { $more-- <= 0 || /^    not ok - / } @comments;
		# for the end: what follows a failure at once, or what a source said last before it ended early
		splice(@comments, 1, -10) if $comments[0] =~ /: runs to its end$/ && @comments > 11;
		push @failures, grep { $more = /^    not ok - / ? 0 : $more + 1; $more <= 10 } @comments;
	});
	return;
}

# TAP::Harness dies at once if a source bails out, and leaves the sources that run at the
# same time to themselves.  Our sources have servers of their own, so the others go on, and
# the callback above counts the failure.
sub _bailout { return; }

sub runtests
{
	my ($self, @tests) = @_;
	$sources = @tests;
	eval { $self->SUPER::runtests(@tests) };
	# only an error comes back
	print $@;
	if ($ended < @tests || !sum(values %total))
	{
		push @failures, "    not ok - only $ended of $sources sources have run\n";
		$total{failed}++;
	}
	print "\nSkipped:\n", map { my %of; $of{$_}++ foreach @{ $skipped{$_} };
		"  $_: " . join(', ', map { $of{$_} > 1 ? "$_ ($of{$_})" : $_ } sort keys %of) . "\n" } @reasons if @reasons;
	s/^    (?:not ok - )?/Failed: / foreach @failures;
	print "\n", @failures if @failures;
	print "\nLogs and data directories are left in $ENV{COMB_WORK}.\n" if $total{failed} && $ENV{COMB_WORK};
	print "\n$total{passed} passed, $total{failed} failed, $total{skipped} skipped\n";
	exit($total{failed} ? 1 : 0);
}

1;
