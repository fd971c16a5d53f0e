# pg_dump and restore of a database that uses keys in many places, with the
# extension in a schema that is on no search_path
use lib 'test/perl';
use CombTest;
use CombShop;

my $node = server('main', conf => "timezone = 'UTC'\njit = off\npg_comb.snowflake_instance = 5\n");
my $dir = tempdir();

fill($node, 'source');
my $rows = digest($node, 'source');
my @dump = ('pg_dump', '--no-sync');
$node->command_ok([ @dump, '-f', "$dir/source.sql", $node->connstr('source') ], 'dump');

# A restore gets the functions from the extension, not from the dump
my $sql = slurp_file("$dir/source.sql");
like($sql, qr/CREATE EXTENSION IF NOT EXISTS pg_comb WITH SCHEMA keys/, 'the dump has the extension');
unlike($sql, qr/CREATE (?:FUNCTION|DOMAIN|OPERATOR CLASS) keys\./, 'and not its objects');

$node->safe_psql('postgres', 'CREATE DATABASE copy');
$node->command_ok([ qw(psql -X -q -v ON_ERROR_STOP=1 -f), "$dir/source.sql", '-d', $node->connstr('copy') ], 'restore');
is(digest($node, 'copy'), $rows, 'the same rows in the same partitions');
$node->command_ok([ @dump, '-f', "$dir/copy.sql", $node->connstr('copy') ], 'dumped again');
is(comparable("$dir/copy.sql"), comparable("$dir/source.sql"), 'the dump is the same');

$node->safe_psql('copy', 'ANALYZE');
uses_indexes($node, 'copy', 'copy');
goes_on($node, 'copy', 1);
indexes_are_whole($node, 'copy', 'copy');
is( $node->safe_psql('copy', q{
		SELECT placed() > max(id::text)::uuid FROM orders;
		SELECT created = keys.comb_timestamp(id) FROM orders ORDER BY id DESC LIMIT 1}),
	"t\nt", 'a function makes a new key');
done_testing();

# A dump without the random text that newer versions of pg_dump add
sub comparable
{
	my ($file) = @_;
	my $sql = slurp_file($file);
	$sql =~ s/^\\(un)?restrict .*\n//mg;
	return $sql;
}
