# Lists of seeded faults: test/mutants.list and test/models/twins.list
#
# An entry begins with "= TITLE ! WHAT TO RUN".  The lines after it are a diff: a line that
# begins with "-" goes, one with "+" comes, and one with "~" stays, but [-words-] in it go and
# {+words+} come.  A line "@@" begins another place.  A place must be the only one that has
# its text.
package CombSeeds;

use strict;
use warnings;

use Exporter 'import';

our @EXPORT = qw(seeds places_of seed);

# All entries of a list, each with title, run and places.  A place has the old and the new text.
sub seeds
{
	my ($list) = @_;
	open(my $fh, '<', $list) or die "could not open $list: $!\n";
	my $text = do { local $/; <$fh> };
	my @seeds;

	$text =~ s/^#.*\n|^\n//mg;
	while ($text =~ /\G= (.*) ! (.*)\n((?:(?:[-+~] .*|[-+~@]+)\n)*)/gc)
	{
		push @seeds, { title => $1, run => $2, places => [ map { [ texts($_) ] } split(/^@@\n/m, $3) ] };
	}
	die "$list: no entry: ", substr($text, pos($text) // 0), "\n" if !@seeds || pos($text) < length($text);
	return @seeds;
}

sub texts
{
	my ($old, $new) = ($_[0] =~ s/^\+.*\n//mgr, $_[0] =~ s/^-.*\n//mgr);

	s/^[-+~] ?//mg, chomp foreach $old, $new;
	return ($old =~ s/\{\+.*?\+\}//gr =~ s/\[-(.*?)-\]/$1/gr, $new =~ s/\[-.*?-\]//gr =~ s/\{\+(.*?)\+\}/$1/gr);
}

# How many places of a source have the text
sub places_of
{
	my ($source, $text) = @_;
	return scalar(() = $source =~ /\Q$text\E/g);
}

# Return the source with the fault
sub seed
{
	my ($source, $seed) = @_;

	foreach my $place (@{ $seed->{places} })
	{
		my ($old, $new) = @$place;
		my $n = places_of($source, $old);
		die "$n places have this text:\n$old\n" if $n != 1;
		$source =~ s/\Q$old\E/$new/;
	}
	return $source;
}

1;
