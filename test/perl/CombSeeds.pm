# Seeded faults: the lists test/mutants.list, which describes their format, and
# test/models/twins.list
package CombSeeds;

use strict;
use warnings;

use Exporter 'import';

our @EXPORT = qw(seeds places_of seed);

sub slurp
{
	my ($file) = @_;
	open(my $fh, '<', $file) or die "could not open $file: $!\n";
	local $/;
	return scalar <$fh>;
}

# All entries of a list, each with title, run and places.  A place has the old and the new text.
sub seeds
{
	my ($list) = @_;
	my $text = slurp($list);
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

# Write the fault of a title into the one of these files that has its text, and return what
# to run
sub seed
{
	my ($list, $title, @files) = @_;
	my ($seed) = grep { $_->{title} eq $title } seeds($list);

	foreach my $place (@{ ($seed // die "no such entry\n")->{places} })
	{
		my ($old, $new) = @$place;
		my @found = map { ($_) x places_of(slurp($_), $old) } @files;
		die scalar(@found), " places have this text:\n$old\n" if @found != 1;
		my $source = slurp($found[0]) =~ s/\Q$old\E/$new/r;
		open(my $fh, '>', $found[0]) or die "could not open $found[0]: $!\n";
		print $fh $source;
	}
	return $seed->{run};
}

1;
