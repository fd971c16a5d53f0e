# The harness of test/run, and of other scripts under test/ that count tests
#
# "prove --harness CombHarness" runs and reports as prove does, and ends with
# each failure and the line "N passed, N failed, N skipped".  A source that ends
# badly without a failed test counts as one failure, as does a source that bails
# out, and one that never ran.  With REPORT=yes each line of TAP is shown as it comes.
package CombHarness;

use strict;
use warnings;

use List::Util qw(sum);
use parent 'TAP::Harness';

$| = 1;

my $report = ($ENV{REPORT} // '') eq 'yes';
my %total = map { $_ => 0 } qw(passed failed skipped);
my ($ended, $sources, @skipped, @failures) = (0, 0);

sub new
{
	my $self = shift->SUPER::new(@_);
	$self->callback(made_parser => \&watch);
	return $self;
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
		$total{ $test->has_skip ? 'skipped' : 'passed' }++;
		push @skipped, "$source: $name: " . $test->explanation if $test->has_skip;
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
			$total{skipped}++;
			push @skipped, "$source: " . $parser->skip_all;
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
	print "\nSkipped:\n", map { "  $_\n" } @skipped if @skipped;
	s/^    (?:not ok - )?/Failed: / foreach @failures;
	print "\n", @failures if @failures;
	print "\nLogs and data directories are left in $ENV{COMB_WORK}.\n" if $total{failed} && $ENV{COMB_WORK};
	print "\n$total{passed} passed, $total{failed} failed, $total{skipped} skipped\n";
	exit($total{failed} ? 1 : 0);
}

1;
