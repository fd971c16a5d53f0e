# DBD::Pg, and the runner of statements.sql for it

use strict;
use warnings;

use DBD::Pg;
use DBI;
use POSIX 'strftime';
use Test::More;

# The runner copies the versions from this line into its table.
print "# versions: DBD::Pg $DBD::Pg::VERSION, DBI $DBI::VERSION\n";

my $db = DBI->connect('dbi:Pg:', '', '', { RaiseError => 1, PrintError => 0 });
open my $file, '<', 'statements.sql' or die $!;
my $statements = do { local $/; <$file> };

# DBI has no type for a time or a range: these are the texts that PostgreSQL gives.
my %known = (clock => strftime('%FT%TZ', gmtime));
while ($statements =~ /^-- (\w+): (.*)\n((?:[^-].*\n)+)-->(.*)$/mg)
{
	my (undef, $title, $text, $expected) = ($1, $2, $3, $4);
	my @values;
	$text =~ s/\$(?:(\w+)|\[(\w+),(\w+)\))/push @values, $1 ? $known{$1} : "[$known{$2},$known{$3})"; '?'/ge;
	my $answer = eval {
		my $statement = $db->prepare($text);
		$statement->execute(@values);
		my $rows = $statement->{NUM_OF_FIELDS} ? $statement->fetchall_arrayref({}) : [];
		%known = (%known, %{ $rows->[-1] || {} });
		join ' ', map { $_->{item} } @$rows;
	} // join(' ', $db->state, $db->pg_error_field('message_hint') =~ /([^,]*)/);
	is($answer, $expected =~ s{^ }{}r, $title);
}

# last_insert_id() reads a sequence.  A uuid column has none.
ok(!eval { defined $db->last_insert_id(undef, undef, 'orders', undef) or die }, 'last_insert_id() finds no id');

done_testing();
