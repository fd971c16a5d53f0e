# pg_dump and restore of a database that uses keys in many places, with the
# extension in a schema that is on no search_path
use lib 'test/perl';
use CombTest;
use CombShop;

my ($old) = old_releases();
my $node = server('main', conf => ($old // '') . "timezone = 'UTC'\njit = off\npg_comb.snowflake_instance = 5\n");
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
#
# The nightly dump of all databases by a role of its own, in which an owner creates the
# extension.  1.0 made this dump fail.
#
my @databases = (defined $old ? 'updated' : (), 'fresh');
$node->safe_psql('postgres', 'CREATE ROLE owner LOGIN; CREATE ROLE backup LOGIN; CREATE ROLE granted LOGIN;
	CREATE ROLE reader LOGIN; GRANT pg_read_all_data TO reader');
$node->safe_psql('postgres', "CREATE DATABASE $_ OWNER owner") foreach @databases;
# These give rights on functions to another role.
$node->safe_psql($_, q{ALTER DEFAULT PRIVILEGES GRANT EXECUTE ON FUNCTIONS TO granted}) foreach @databases;
$node->safe_psql($_, 'SET ROLE owner; CREATE EXTENSION pg_comb_ordered ' . ($_ eq 'updated' ? "VERSION '1.0' " : '') . q{CASCADE;
	CREATE TABLE journal (id uuid PRIMARY KEY DEFAULT comb_generate_ordered(), entry text);
	INSERT INTO journal (entry) VALUES ('one');
	GRANT SELECT ON journal TO backup}) foreach @databases;

# Return the status of pg_dump, and what it prints.
sub dump_as
{
	my ($role, $database) = @_;
	my ($out, $err);
	IPC::Run::run([ @dump, '-Fc', '-f', "$dir/$role.dump", $node->connstr($database) . " user=$role" ], '>', \$out, '2>', \$err);
	return ($? >> 8) . ": $err";
}
SKIP:
{
	skip 'no private directory for the scripts of 1.0', 2 unless defined $old;
	like(dump_as('backup', 'updated'), qr/^1: .*(?:permission denied for (?:schema comb_internal|sequence comb_)|failed to get data for sequence)/s,
		'of 1.0 a role without rights has no dump');
	is(dump_as('reader', 'updated'), '0: ', 'pg_read_all_data has one');

	# Rights that a superuser gave for this do not become the extension's own, in which they would
	# outlive the role.
	$node->safe_psql('updated', 'GRANT USAGE ON SCHEMA comb_internal TO granted;
		GRANT SELECT ON ALL SEQUENCES IN SCHEMA comb_internal TO granted WITH GRANT OPTION;
		SET ROLE granted; GRANT SELECT ON comb_internal.comb_lease_ordered TO backup; RESET ROLE;
		ALTER EXTENSION pg_comb_ordered UPDATE');
}
foreach my $database (@databases)
{
	is($node->safe_psql($database, q{
		SELECT DISTINCT grantee::regrole, privilege_type
		FROM pg_init_privs, aclexplode(initprivs) WHERE classoid <> 'pg_proc'::regclass AND grantee <> 10
			AND (objoid = 'comb_internal'::regnamespace OR objoid IN (SELECT oid FROM pg_class WHERE relnamespace = 'comb_internal'::regnamespace))
		ORDER BY 1, 2}), "-|SELECT\n-|USAGE\npg_database_owner|SELECT\npg_database_owner|UPDATE\npg_database_owner|USAGE",
		"$database: initial privileges");
	is($node->safe_psql($database, q{SELECT objoid::regprocedure FROM pg_init_privs, aclexplode(initprivs)
		WHERE classoid = 'pg_proc'::regclass AND grantee NOT IN (0, 10) AND objoid > 16383}), '', "$database: none of other roles on functions");
	$node->safe_psql($database, 'DROP OWNED BY granted');
	is(dump_as($_, $database), '0: ', "$database: $_ has a dump") foreach qw(owner reader backup);
	my ($list) = run_command([ 'pg_restore', '-f', '-', "$dir/backup.dump" ]);
	unlike($list, qr/(?:GRANT|REVOKE).*comb_internal/, "$database: without the extension's own privileges");
	like($list, qr/setval\('comb_internal\.comb_lease_ordered', [1-9]\d{9}/, "$database: and with the limits");

	$node->safe_psql('postgres', "CREATE DATABASE again_$database OWNER owner");
	my ($out, $err);
	ok(IPC::Run::run([ 'pg_restore', '-e', '-1', '-d', $node->connstr("again_$database") . ' user=owner', "$dir/backup.dump" ], '>', \$out, '2>', \$err),
		"$database: the owner restores it");
	is($err, '', "$database: without a warning");
	is($node->safe_psql("again_$database", 'SELECT last_value FROM comb_internal.comb_lease_ordered'),
		$node->safe_psql($database, 'SELECT last_value FROM comb_internal.comb_lease_ordered'), "$database: the limit is the same");
}
$node->safe_psql('postgres', 'DROP ROLE granted');

# Whoever may read the sequences can neither lock nor change them.
foreach (
	[ 'LOCK TABLE comb_internal.comb_lease_ordered IN ACCESS SHARE MODE' => '42809' ],
	[ 'SELECT FROM comb_internal.comb_lease_ordered FOR SHARE' => '42809|42501' ],
	[ q{SELECT setval('comb_internal.comb_lease_ordered', 1)} => '42501' ],
	[ q{SELECT nextval('comb_internal.comb_snowflake_claimed')} => '42501' ],
	[ 'ALTER SEQUENCE comb_internal.comb_lease_ordered RESTART' => '42501' ],
	[ 'CREATE TABLE comb_internal.mine ()' => '42501' ])
{
	my ($sql, $sqlstate) = @$_;
	like(error_of($node, 'fresh', "SET ROLE backup; BEGIN; $sql"), qr/ERROR:  (?:$sqlstate):/, "refused: $sql");
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
