# pg_upgrade with pg_comb in use, from version to version
#
# "test/all upgrade" runs this in a system that has several servers.  UPGRADE
# names their major versions, and COMB_WORK has a stage of pg_comb for each.
#
# The first version gets a database with keys and everything that can be built
# on them.  After each pg_upgrade the test checks that everything is still there
# and in use, and that keys continue.
#
# A second database keeps version 1.0 of the extension until the last server, and
# updates it there.  Only the first server has the scripts of 1.0: pg_upgrade needs none.  test/t/009_updates.pl tests all updates of the extension.
use lib 'test/perl';
use CombTest;
use CombShop;

my @versions = split(' ', $ENV{UPGRADE});

my $bin = '/usr/lib/postgresql';
my ($old_releases) = do
{
	local $ENV{TEMP_CONFIG} = "$ENV{COMB_WORK}/stage-$versions[0].conf";
	local $ENV{PATH} = "$bin/$versions[0]/bin:$ENV{PATH}";
	old_releases();
};

# The dumps are written there, and old versions of pg_upgrade leave their logs.
chdir(tempdir()) or die "could not change to a temporary directory: $!";

my @databases = qw(shop older);
my ($node, $major);

sub query { return join('', map { $node->safe_psql($_, $_[0]) } @databases); }

sub state
{
	return join('', map { digest($node, $_) } @databases) . query(q{
		SELECT last_value FROM comb_internal.comb_lease_ordered;
		SELECT last_value FROM comb_internal.comb_lease_snowflake});
}

# A server that is not started yet.  18 makes checksums unless told otherwise,
# and pg_upgrade wants both servers alike.
sub new_node
{
	my ($version) = @_;
	local $ENV{TEMP_CONFIG} = "$ENV{COMB_WORK}/stage-$version.conf";
	my $new = PostgreSQL::Test::Cluster->new("upgrade_$version", install_path => "$bin/$version");
	$new->init(extra => [ qw(--data-checksums --encoding=UTF8 --no-locale) ]);
	$new->append_conf('postgresql.conf', "jit = off\ntimezone = 'UTC'\npg_comb.snowflake_instance = 5\n");
	return $new;
}

# Minor releases of November 2026 keep a version with each column, among its
# options.  A server without that change fails to restore it: 17.12 cannot be
# upgraded to 18.6.  This is no matter of the extension, so the test takes the
# versions away where the next server does not know them.
sub forget_column_versions
{
	my ($next) = @_;
	my ($knows, $next_knows) = map { system("grep -qa pg_attver $bin/$_/bin/postgres") == 0 } $major, $next;
	return if !$knows || $next_knows;
	query(q{SET allow_system_table_mods = on;
		UPDATE pg_attribute
			SET attoptions = nullif(ARRAY(SELECT o FROM unnest(attoptions) o WHERE o NOT LIKE 'pg_attver=%'), '{}')
			WHERE attrelid >= 16384 AND attoptions::text LIKE '%pg_attver=%'});
	note("$major: columns have a version, which this PostgreSQL $next does not know; taken away");
	return;
}

# How a database's extension differs from one newly created
sub newest
{
	my ($database) = @_;
	my $differs;
	$node->safe_psql('postgres', 'CREATE DATABASE fresh');
	$node->safe_psql('fresh', 'CREATE SCHEMA keys; CREATE EXTENSION pg_comb_ordered SCHEMA keys CASCADE');
	$differs = objects_differ($node, 'fresh', $database);
	$node->safe_psql('postgres', 'DROP DATABASE fresh');
	return $differs;
}

# The old database, if this is the last server, and so the extension is updated now
sub updated
{
	return () if @versions;
	like(newest('older'), qr/comb_wait/, "$major: older: the extension has version 1.0 until now");
	$node->safe_psql('older', 'ALTER EXTENSION pg_comb UPDATE; ALTER EXTENSION pg_comb_ordered UPDATE');
	return 'older';
}

my ($rows, $position);
while (defined(my $next = shift(@versions)))
{
	my ($old, $before) = ($node, $major);
	$major = $next;
	$node = new_node($major);
	$node->append_conf('postgresql.conf', $old_releases) unless $old;
	if ($old)
	{
		$node->command_ok([ "$bin/$major/bin/pg_upgrade", '-b', "$bin/$before/bin", '-B', "$bin/$major/bin",
				'-d', $old->data_dir, '-D', $node->data_dir, '-p', $old->port, '-P', $node->port, '-s', $node->host ],
			"$before to $major: pg_upgrade");
	}
	$node->start;
	if ($old)
	{
		is(state(), $rows, "$major: the rows are those of $before");
		is(newest($_), '', "$major: $_: the extension is as one newly created") foreach 'shop', updated();
		like(error_of($node, 'shop', "SELECT keys.comb_position('$position')"),
			qr/ERROR:  22023: position is of another database/, "$major: a position of $before is refused");
	}
	else
	{
		fill($node, 'shop');
		fill($node, 'older', '1.0');
	}
	foreach my $database (@databases)
	{
		uses_indexes($node, $database, "$major: $database");
		goes_on($node, $database, $major);
		indexes_are_whole($node, $database, "$major: $database");
	}
	$rows = state();
	$position = $node->safe_psql('shop', "SELECT keys.comb_position('')");
	forget_column_versions($versions[0]) if @versions;
	$node->stop;
}
done_testing();
