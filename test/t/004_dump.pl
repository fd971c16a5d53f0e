# pg_dump and restore of a database that uses keys in many places, with the
# extension in a schema that is on no search_path
use lib 'test/perl';
use CombTest;
use CombShop;

my $node = server('main', conf => "timezone = 'UTC'\njit = off\npg_comb.snowflake_instance = 5\n");
my $dir = tempdir();

$node->safe_psql('postgres', 'CREATE DATABASE source');
$node->safe_psql('source',   $fill);
my $rows = digest($node, 'source');
my @dump = ('pg_dump', '--no-sync');
$node->command_ok([ @dump, '-f', "$dir/plain.sql", $node->connstr('source') ], 'dump as SQL');
$node->command_ok([ @dump, '-Fc', '-f', "$dir/custom", $node->connstr('source') ], 'dump in the custom format');

# A restore gets the functions from the extension, not from the dump
my $plain = slurp_file("$dir/plain.sql");
like($plain, qr/CREATE EXTENSION IF NOT EXISTS pg_comb WITH SCHEMA keys/, 'the dump has the extension');
unlike($plain, qr/CREATE (?:FUNCTION|DOMAIN|OPERATOR CLASS) keys\./, 'and not its objects');
like($plain, qr/comb_timestamp\(id, 'rtcomb_sql'::text\)/, 'labels are in the definitions');

my %restore = (
	from_plain  => [ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-f', "$dir/plain.sql", '-d' ],
	from_custom => [ 'pg_restore', '--exit-on-error', '-j', '2', "$dir/custom", '-d' ]);

foreach my $copy (sort keys %restore)
{
	$node->safe_psql('postgres', "CREATE DATABASE $copy");
	$node->command_ok([ @{ $restore{$copy} }, $node->connstr($copy) ], "$copy: restore");
	is(digest($node, $copy), $rows, "$copy: the same rows in the same partitions");
	$node->command_ok([ @dump, '-f', "$dir/$copy.sql", $node->connstr($copy) ], "$copy: dumped again");
	is(comparable("$dir/$copy.sql"), comparable("$dir/plain.sql"), "$copy: the dump is the same");

	$node->safe_psql($copy, 'ANALYZE');
	uses_indexes($node, $copy, $copy);
	goes_on($node, $copy, 1);
	indexes_are_whole($node, $copy, $copy);
	is( $node->safe_psql($copy, q{
			SELECT placed() > max(id::text)::uuid FROM orders;
			SELECT created = keys.comb_timestamp(id) FROM orders ORDER BY id DESC LIMIT 1}),
		"t\nt", "$copy: a function makes a new key");
	my ($rc, undef, $err) = $node->psql($copy, 'DROP EXTENSION pg_comb');
	is($rc, 3, "$copy: the extension cannot be dropped from under them");
	like($err, qr/default value for column id of table orders depends on function keys.comb_generate\(\)/,
		"$copy: because the default needs it");
}

done_testing();

# A dump without the random text that newer versions of pg_dump add
sub comparable
{
	my ($file) = @_;
	my $sql = slurp_file($file);
	$sql =~ s/^\\(un)?restrict .*\n//mg;
	return $sql;
}
