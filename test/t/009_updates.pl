# ALTER EXTENSION UPDATE: an extension that was created by an older script and updated
# must be the same, object by object, as one that the current script creates.
#
# The test starts from every install script in the tree, so the scripts of published
# releases must stay there, with their updates.
use strict;
use warnings;

use File::Basename qw(basename);
use File::Path qw(make_path);
use FindBin qw($RealBin);
use lib "$RealBin/../perl";
use CombTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $top  = "$RealBin/../..";
my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->start;

# Create the extension in a new database by the script of a version, and update it.
sub database
{
	my ($name, $extension, $version) = @_;
	$node->safe_psql('postgres', "CREATE DATABASE $name");
	$node->safe_psql($name, "CREATE EXTENSION $extension "
		  . (defined $version ? "VERSION '$version' CASCADE; ALTER EXTENSION $extension UPDATE" : 'CASCADE'));
	return $name;
}

my @extensions = map { basename($_, '.control') } sort glob("$top/*.control");
foreach my $extension (@extensions)
{
	my $fresh = database("${extension}_fresh", $extension);
	my @versions = map { m{--([^-]+)\.sql$} ? $1 : () } sort glob("$top/sql/$extension--*.sql");
	cmp_ok(scalar(@versions), '>', 0, "$extension has scripts");
	foreach my $version (@versions)
	{
		my $updated = database("${extension}_from_" . $version =~ tr/./_/r, $extension, $version);
		is(objects_differ($node, $fresh, $updated), '', "$extension $version, updated, is the current one");
	}
}

# The comparison sees what an update forgets.  A version of the future has a function
# more and another one changed, and each update but the first forgets one of the steps.
SKIP:
{
	my ($setting) = grep { /^extension_(?:destdir|control_path) = / } split(/\n/, slurp_file($ENV{TEMP_CONFIG} // '/dev/null'));
	skip 'needs a server that finds extensions in a private directory', 5 unless defined $setting;
	chomp(my $share = `pg_config --sharedir`);
	my $scratch = PostgreSQL::Test::Utils::tempdir();
	$setting =~ s{= '[^:']*?(\Q$share\E)?(:[^']*)?'}{ "= '$scratch" . ($1 // '') . ($2 // '') . "'" }e;
	make_path("$scratch$share/extension");

	my $script  = slurp_file((glob("$top/sql/pg_comb--*.sql"))[-1]);
	my $control = slurp_file("$top/pg_comb.control");
	my ($current) = $control =~ /^default_version = '([^']+)'$/m;
	my %step = (
		function => "CREATE FUNCTION comb_made_up() RETURNS integer LANGUAGE sql IMMUTABLE AS 'SELECT 1';\n",
		comment  => "COMMENT ON FUNCTION comb_made_up() IS 'of the future';\n",
		cost     => "ALTER FUNCTION comb_generate() COST 7;\n",
		rights   => "REVOKE EXECUTE ON FUNCTION comb_made_up() FROM PUBLIC;\n");
	my @steps = qw(function comment cost rights);
	append_to_file("$scratch$share/extension/pg_comb.control", $control =~ s/^default_version = \K.*$/'9.9'/mr);
	append_to_file("$scratch$share/extension/pg_comb--$current.sql", $script);
	append_to_file("$scratch$share/extension/pg_comb--9.9.sql", join('', $script, @step{@steps}));
	$node->append_conf('postgresql.conf', "$setting\n");
	$node->restart;

	my $fresh  = database('fresh', 'pg_comb');
	my $update = "$scratch$share/extension/pg_comb--$current--9.9.sql";
	append_to_file($update, join('', @step{@steps}));
	is(objects_differ($node, $fresh, database('updated', 'pg_comb', $current)), '', 'a complete update');
	foreach my $forgotten (@steps)
	{
		unlink($update);
		append_to_file($update, join('', map { $step{$_} } grep { $_ ne $forgotten && ($forgotten ne 'function' || $_ eq 'cost') } @steps));
		like(objects_differ($node, $fresh, database("without_$forgotten", 'pg_comb', $current)),
			$forgotten eq 'cost' ? qr/^-comb_generate\(\)\|/m : qr/^-.*comb_made_up\(\)/m, "an update without the $forgotten");
	}
}

$node->stop;
done_testing();
