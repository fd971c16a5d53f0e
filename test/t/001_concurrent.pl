# Several sessions make keys at once: no key repeats, and the keys of each session
# increase.
#
# COMB_KEYS sets the number of keys; 100 million keys take about 4 GB of disk.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $sessions = 8;
my $each     = int(($ENV{COMB_KEYS} || 4_000_000) / $sessions);

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION pg_comb');

# Each session writes its keys to a file of its own, in the order in which the
# session made them.  As text (lower-case hex of fixed length), keys sort as bytes.
# sort(1) can therefore check each file and merge the files without holding the
# keys in memory.  generate_series() in the target list stores no rows either.
my $dir = PostgreSQL::Test::Utils::tempdir();
append_to_file("$dir/generate",
	"COPY (SELECT comb_generate() FROM (SELECT generate_series(1, $each)) n)"
	  . " TO '$dir/keys:client_id'\n");
$node->command_checks_all(
	[
		'pgbench', '-n', '-c', $sessions, '-j', $sessions, '-t', 1,
		'-f', "$dir/generate", 'postgres'
	],
	0,
	[qr{actually processed: $sessions/$sessions}],
	[],
	"$sessions sessions make $each keys each");

$ENV{LC_ALL} = 'C';
my @files = map { "$dir/keys$_" } 0 .. $sessions - 1;

# The sessions must have run at the same time; otherwise the test proves little.
my $last_first = (sort map { first_key($_) } @files)[-1];
my $overlap    = 0;
foreach my $file (@files)
{
	$overlap++ if last_key($file) gt $last_first;
}
cmp_ok($overlap, '>', 1, 'sessions overlap in time');

foreach my $i (0 .. $sessions - 1)
{
	is(system('sort', '-c', '-u', $files[$i]),
		0, "keys of session $i rise strictly");
}

my $distinct = `sort -m -u @files | wc -l`;
is($? >> 8, 0, 'merged');
is($distinct + 0, $sessions * $each, 'no key comes twice');
unlink(@files);

# The same with transactions of one row, into one primary key
$node->safe_psql(
	'postgres', q{
	CREATE TABLE orders (id uuid PRIMARY KEY DEFAULT comb_generate(),
	                     session int, n int)});
append_to_file("$dir/insert",
	"\\set n :n + 1\n"
	  . "INSERT INTO orders (session, n) VALUES (:client_id, :n);\n");
$node->command_checks_all(
	[
		'pgbench', '-n', '-M', 'prepared', '-c', $sessions, '-j', $sessions,
		'-t', 250, '-D', 'n=0', '-f', "$dir/insert", 'postgres'
	],
	0,
	[qr{actually processed: 2000/2000}],
	[],
	'single-row inserts');
is( $node->safe_psql(
		'postgres', q{
		SELECT count(*), bool_and(id > before)
		FROM (SELECT id, lag(id) OVER (PARTITION BY session ORDER BY n) AS before
		      FROM orders) lagged}),
	'2000|t',
	'all inserted, each session in order');

$node->stop;
done_testing();

sub first_key
{
	my ($file) = @_;
	open(my $fh, '<', $file) or die "could not open $file: $!";
	my $key = <$fh>;
	close($fh);
	return $key;
}

# A line of the file is 36 characters and a newline
sub last_key
{
	my ($file) = @_;
	my $key;
	open(my $fh, '<', $file) or die "could not open $file: $!";
	seek($fh, -37, 2) or die "could not seek in $file: $!";
	read($fh, $key, 37) == 37 or die "could not read $file: $!";
	close($fh);
	return $key;
}
