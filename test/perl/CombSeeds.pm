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

# All entries of a list, each with title, run and places.  A place has the old and the new text, and the function.
sub seeds
{
	my ($list) = @_;
	my $text = slurp($list);
	my @seeds;

	$text =~ s/^#.*\n|^\n//mg;
	while ($text =~ /\G= (.*) ! (.*)\n((?:(?:(?:[-+~]|\w+:) .*|[-+~@]+|\w+:)\n)*)/gc)
	{
		my ($title, $run, $places) = ($1, $2, $3);
		$places =~ s/^(\w+:) (.*)/$1\n~ $2/mg;
		push @seeds, { title => $title, run => $run, places => [ map { [ texts($_) ] } split(/^@@\n|(?<=\n)(?=\w+:\n)/m, $places) ] };
	}
	die "$list: no entry: ", substr($text, pos($text) // 0), "\n" if !@seeds || pos($text) < length($text);
	return @seeds;
}

sub texts
{
	my ($place) = @_;
	my $function = $place =~ s/\A(\w+):\n// ? $1 : undef;
	my ($old, $new) = ($place =~ s/^\+.*\n//mgr, $place =~ s/^-.*\n//mgr);

	s/^[-+~] ?//mg, chomp foreach $old, $new;
	# The white space around a place stays as it is: a macro's line ends where it ended.
	return ((map { s/\A\s+//r =~ s/\s+\z//r } $old =~ s/\{\+.*?\+\}//gr =~ s/\[-(.*?)-\]/$1/gr, $new =~ s/\[-.*?-\]//gr =~ s/\{\+(.*?)\+\}/$1/gr), $function);
}

# Where a source, or a function of C or SQL in it, has the text of a place, as pairs of start and end.  Any white space is
# like any other.
sub places_of
{
	my ($source, $text, undef, $function) = @_;
	my $pattern = join('\s+', map { quotemeta } split(/\s+/, $text, -1));
	my $scope = !defined $function ? qr/\A.*\z/s :
	  qr/^(?:static inline \w[\w ]*[ *])?$function\([^;{}]*\)\n\{.*?^\}|^CREATE (?:OR REPLACE )?(?:FUNCTION|PROCEDURE) (?:\w+\.)?$function\(.*?(?=^CREATE |\z)/ms;
	my @found;

	while ($source =~ /$scope/g)
	{
		my ($start, $part) = ($-[0], $&);
		push @found, [ $start + $-[0], $start + $+[0] ] while $part =~ /$pattern/g;
	}
	return @found;
}

# Write the fault of a title into the one of these files that has its text, and return what
# to run
sub seed
{
	my ($list, $title, @files) = @_;
	my ($seed) = grep { $_->{title} eq $title } seeds($list);

	foreach my $place (@{ ($seed // die "no such entry\n")->{places} })
	{
		my @found = map { my $file = $_; map { [ $file, @$_ ] } places_of(slurp($file), @$place) } @files;
		die scalar(@found), ' places have this text', (map { " in $_()" } grep { defined } $place->[2]), ":\n$place->[0]\n" if @found != 1;
		my ($file, $start, $end) = @{ $found[0] };
		my $source = slurp($file);
		substr($source, $start, $end - $start) = $place->[1];
		open(my $fh, '>', $file) or die "could not open $file: $!\n";
		print $fh $source;
	}
	return $seed->{run};
}

1;
