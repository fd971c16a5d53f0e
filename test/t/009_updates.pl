# ALTER EXTENSION UPDATE, in a database that uses keys: from each version in the tree to a
# made-up one that follows the current version.  The updated extensions are the same,
# object by object, as those that the made-up version's scripts create.
#
# The test begins at each version that has a script: of the current one it is in sql/, of
# releases in test/data.
use lib 'test/perl';
use CombTest;
use CombFeed;
use CombSession;
use CombShop;

my ($setting, $scripts) = old_releases();
plan skip_all => 'needs a server that finds extensions in a private directory' unless defined $setting;

# The made-up updates
my %update = (
	pg_comb => q{
		CREATE FUNCTION comb_made_up() RETURNS integer LANGUAGE sql IMMUTABLE RETURN 1;
		COMMENT ON FUNCTION comb_made_up() IS 'of the future';
		REVOKE EXECUTE ON FUNCTION comb_made_up() FROM PUBLIC;
		ALTER FUNCTION comb_generate() COST 7;},
	pg_comb_ordered => q{
		CREATE SEQUENCE comb_internal.comb_lease_made_up;
		SELECT pg_catalog.pg_extension_config_dump('comb_internal.comb_lease_made_up', '');
		ALTER FUNCTION comb_generate_ordered() COST 7;});
my ($current) = slurp_file('pg_comb.control') =~ /^default_version = '([^']+)'$/m;
my $next = $current =~ s/(\d+)$/$1 + 1/er;

foreach my $extension (sort keys %update)
{
	replace_file("$scripts/$extension.control", slurp_file("$extension.control") =~ s/^default_version = \K.*$/'$next'/mr);
	replace_file("$scripts/$extension--$next.sql", slurp_file("sql/$extension--$current.sql") . $update{$extension});
	replace_file("$scripts/$extension--$current--$next.sql", $update{$extension});
}

my $node = server('main', conf => "${setting}timezone = 'UTC'\njit = off\n"
	  . "pg_comb.snowflake_instance = 5\npg_comb.lease_duration = '30s'\n");
my $make = 'SELECT keys.comb_generate_ordered(), keys.comb_snowflake()';
my $update = 'ALTER EXTENSION pg_comb UPDATE; ALTER EXTENSION pg_comb_ordered UPDATE';

# Create a database with the extensions of a version.
sub database
{
	my ($name, $version) = @_;
	$node->safe_psql('postgres', "CREATE DATABASE $name");
	$node->safe_psql($name, "CREATE SCHEMA keys;
		CREATE EXTENSION pg_comb VERSION '$version' SCHEMA keys;
		CREATE EXTENSION pg_comb_ordered VERSION '$version' SCHEMA keys");
	return $name;
}

my $fresh = database('fresh', $next);
my $differs = objects_differ($node, $fresh, database('current', $current));
like($differs, qr/^-.*$_/m, "without an update the comparison shows $_") foreach (q{COMMENT.*comb_made_up\(\) IS 'of the future'},
	'REVOKE.*comb_made_up\(\)', 'comb_made_up\(\) RETURNS integer', 'comb_generate\(\):.* COST 7', 'pg_comb_ordered:.*\{ID,ID,ID,ID\}',
	'CREATE SEQUENCE .*comb_lease_made_up', 'comb_generate_ordered\(\):.* COST 7');

# Each property that a script could forget shows a difference
foreach (
	q{COMMENT ON OPERATOR keys.<@ (uuid, keys.comb_period) IS 'else'},
	q{COMMENT ON SEQUENCE comb_internal.comb_lease_ordered IS 'else'},
	(map { "ALTER FUNCTION keys.comb_recheck(uuid, tstzrange) $_" } 'COST 3', 'PARALLEL RESTRICTED', 'NOT LEAKPROOF', 'STABLE', 'CALLED ON NULL INPUT',
		'SUPPORT keys.comb_settled_support', q{SET search_path = ''}, 'SECURITY DEFINER'),
	'ALTER FUNCTION keys.comb_layouts() ROWS 18',
	'REVOKE EXECUTE ON FUNCTION keys.comb_min(timestamptz) FROM PUBLIC',
	'REVOKE SELECT ON comb_internal.comb_lease_ordered FROM PUBLIC',
	'ALTER SEQUENCE comb_internal.comb_lease_ordered CACHE 2')
{
	$node->safe_psql('postgres', 'CREATE DATABASE altered TEMPLATE current');
	$node->safe_psql('altered', $_);
	isnt(objects_differ($node, 'current', 'altered'), '', "the comparison shows $_");
	$node->safe_psql('postgres', 'DROP DATABASE altered');
}
foreach my $version (map { m{pg_comb--([\d.]+)\.sql$} ? $1 : () } glob('{test/data,sql}/pg_comb--*.sql'))
{
	my $shop = 'shop_' . $version =~ tr/./_/r;
	fill($node, $shop, $version);
	my $rows = digest($node, $shop);

	# A session with a lease stays over the update, and makes keys before, during and after.
	my ($session, $updater) = map { CombSession->new($node, $shop) } 1 .. 2;
	my @made = $session->ask($make);
	$updater->ask("BEGIN; $update");
	push @made, $session->ask($make), $updater->ask($make);
	$updater->ask('COMMIT');
	push @made, $session->ask($make), $node->safe_psql($shop, $make);
	is(join(' ', sort @made), join(' ', @made), "$version: keys rise over the update");
	is(join(' ', sort { $a <=> $b } map { /\|(\d+)/ } @made), join(' ', map { /\|(\d+)/ } @made), "$version: so do Snowflakes");

	is(objects_differ($node, $fresh, $shop), '', "$version: the updated extensions are those of $next");
	is(digest($node, $shop), $rows, "$version: the rows are the same");
	uses_indexes($node, $shop, $version);
	goes_on($node, $shop, 1);
	indexes_are_whole($node, $shop, $version);
}

# The page's loop over all databases, one of which has another extension's version, and one none
my $names = 'SELECT string_agg(extname || extversion, chr(32) ORDER BY extname) FROM pg_extension';
$node->safe_psql('postgres', 'CREATE DATABASE "it\'s old" TEMPLATE template1; CREATE DATABASE "keys only"');
$node->safe_psql(q{it's old}, "CREATE EXTENSION pg_comb VERSION '1.0'; CREATE EXTENSION pg_comb_ordered VERSION '1.0'");
$node->safe_psql('keys only', "CREATE EXTENSION pg_comb VERSION '1.0'");
{
	local %ENV = (%ENV, PGHOST => $node->host, PGPORT => $node->port);
	my ($out, $err);
	ok(IPC::Run::run([ 'sh', '-c', recipe('update-all') ], '>', \$out, '2>', \$err), 'the loop over all databases') or diag $err;
}
is($node->safe_psql($_->[0], $names), $_->[1], "extensions of $_->[0]")
  foreach ([ q{it's old}, "pg_comb$next pg_comb_ordered$next plpgsql1.0" ], [ 'keys only', "pg_comb$next plpgsql1.0" ],
	[ 'current', "pg_comb$next pg_comb_ordered$next plpgsql1.0" ], [ 'postgres', 'plpgsql1.0' ]);

# A database without PL/pgSQL
$node->safe_psql('postgres', 'CREATE DATABASE bare');
$node->safe_psql('bare', 'DROP EXTENSION plpgsql');
like(error_of($node, 'bare', 'CREATE EXTENSION pg_comb'), qr/required extension "plpgsql" is not installed/, 'a database without PL/pgSQL is told so');
$node->safe_psql('bare', 'CREATE EXTENSION pg_comb CASCADE');
is($node->safe_psql('bare', $names), "pg_comb$next plpgsql1.0", 'and CASCADE installs it');

done_testing();
