# The harness behind every script under test/ that counts tests.
#
# "prove --harness CombHarness" runs and reports as prove does, and ends with
# the line "N passed, N failed, N skipped".  A source that ends badly without a
# failed test counts as one failure, as does a source that bails out, a source that
# never ran, and a run with fewer passed tests than COMB_AT_LEAST.
#
# A source may be such a script itself: test/all has test/run as a source.  The
# outer prove sets COMB_TAP, and an inner prove then also prints all of its
# tests as one stream of TAP.  The outer prove shows the inner report while it
# grows, because lines that are not TAP are shown with the source's name.
package CombHarness;

use strict;
use warnings;

use List::Util qw(sum);
use parent 'TAP::Harness';

my $inner = $ENV{COMB_TAP};
my $with_table = delete $ENV{COMB_TABLE};
my $at_least = delete $ENV{COMB_AT_LEAST} // 0;
$ENV{COMB_TAP} = 1;
$| = 1;

my %total = map { $_ => 0 } qw(passed failed skipped);
my (@skipped, @tap, @rows, $sources);

sub new
{
	my $self = shift->SUPER::new(@_);
	$self->callback(made_parser => \&watch);
	return $self;
}

# Count a test for its source and for the whole, and keep it for the outer prove.
sub count
{
	my ($count, $what, $name, $reason) = @_;
	$_->{$what}++ for $count, \%total;
	push @skipped, "$name: $reason" if $what eq 'skipped';
	push @tap, ($what eq 'failed' ? 'not ok' : 'ok') . " - $name"
	  . ($what eq 'skipped' ? " # SKIP $reason" : '');
	return;
}

# Failures, and the comments that follow them, are shown at the source's end: other
# sources may run at the same time.
sub watch
{
	my ($parser, $job) = @_;
	my $source = $job->[1];
	my %count = map { $_ => 0 } keys %total;
	my ($server, @comments) = ('');

	$parser->callback(test => sub {
		my ($test) = @_;
		my $name = "$source: " . $test->description =~ s/^- //r;
		count(\%count, $test->has_skip ? 'skipped' : $test->is_ok ? 'passed' : 'failed', $name, $test->explanation);
		return if $test->is_ok;
		@comments = () if $count{failed} == 1;
		push @comments, "    not ok - $name\n";
	});
	$parser->callback(comment => sub { push @comments, '    ' . $_[0]->raw . "\n" });
	$parser->callback(bailout => sub {
		count(\%count, 'failed', "$source: does not bail out");
		push @comments, "    not ok - $source: does not bail out\n", '    # ' . $_[0]->raw . "\n";
	});
	$parser->callback(unknown => sub {
		$server = $1 if $_[0]->raw =~ /^Testing pg_comb with (.*)\.$/;
		print "$source: ", $_[0]->raw, "\n" if $_[0]->raw =~ /\S/;
	});
	$parser->callback(EOF => sub {
		count(\%count, 'skipped', $source, $parser->skip_all) if $parser->skip_all;
		if ($parser->has_problems && !$count{failed})
		{
			count(\%count, 'failed', "$source: runs to its end");
			unshift @comments, "    not ok - $source: runs to its end\n";
		}
		# the names of all failures, and the last of the comments
		my $more = @comments - 60;
		print grep { $more-- <= 0 || /^    not ok - / } @comments if $count{failed};
		print map { "$_\n" } splice(@tap) if $inner;
		push @rows, row($source, $server, @count{qw(passed failed skipped)});
	});
	return;
}

# One line of the table.  A path or a version names nothing that the server's
# name does not.
sub row
{
	my ($source, $server, @counts) = @_;
	my $name = !$server ? $source : $source =~ m{^\d+$|/} ? $server : "$source: $server";
	my ($day, $month, $year) = (gmtime)[ 3 .. 5 ];
	my $date = sprintf('%d-%02d-%02d', $year + 1900, $month + 1, $day);
	return '| ' . join(' | ', $name, @counts, $date) . " |\n";
}

# TAP::Harness dies at once if a source bails out, and leaves the sources that run at the
# same time to themselves.  Our sources have servers of their own, so the others go on, and
# the callback above counts the failure.
sub _bailout { return; }

# A time limit ends prove by SIGTERM.  The sources have got the signal too, and
# clean up first.
sub runtests
{
	my ($self, @tests) = @_;
	$sources = @tests;
	local $SIG{TERM} = sub {
		$SIG{TERM} = 'IGNORE';    # timeout sends it twice
		1 while wait() > 0;
		print "Stopped before the end.\n";
		delete $ENV{COMB_WORK};
		close_report();
	};
	eval { $self->SUPER::runtests(@tests) };
	# only an error comes back
	print $@;
	return close_report();
}

# Some versions of TAP::Harness also call this before they die of an error.
sub summary
{
	my ($self, $aggregate) = @_;
	$self->SUPER::summary($aggregate);
	return close_report();
}

# What sources have written for the end of the report.
sub table
{
	open(my $fh, '<', "$ENV{COMB_WORK}/table") or return;
	return ("\n", sort <$fh>);
}

sub close_report
{
	count({}, 'failed', 'all sources run to their end') if @rows < $sources;
	count({}, 'failed', 'something runs') unless sum(values %total);
	if ($total{passed} < $at_least)
	{
		count({}, 'failed', "$at_least tests pass");
		print "Fewer than $at_least tests have passed.\n";
	}
	print map { "$_\n" } @tap, '1..' . sum(values %total) if $inner;
	print "\nSkipped:\n", map { "  $_\n" } @skipped if @skipped;
	print "\n| server | passed | failed | skipped | date |\n|---|---:|---:|---:|---|\n", @rows if $with_table;
	if ($ENV{COMB_WORK})
	{
		print table();
		print "\nLogs and data directories are left in $ENV{COMB_WORK}.\n" if $total{failed};
	}
	print "\n$total{passed} passed, $total{failed} failed, $total{skipped} skipped\n";
	exit($total{failed} ? 1 : 0);
}

1;
