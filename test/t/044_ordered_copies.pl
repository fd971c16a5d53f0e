# Databases that share the server's counters, and copies of databases: by template,
# and by pg_dump and restore into the same server and into a server whose clock is
# behind
use lib 'test/perl';
use CombTest;

need_faketime();

my $dir  = tempdir();
my $make = 'SELECT keys.comb_generate_ordered(), keys.comb_snowflake()';
my $conf = "autovacuum = off\npg_comb.snowflake_instance = 5\n";
my $node = server('main', conf => $conf, sql => q{
	CREATE ROLE owner LOGIN; CREATE ROLE stranger LOGIN;
	CREATE ROLE dumper LOGIN; GRANT pg_read_all_data TO dumper});
foreach my $database ('one', 'two')
{
	$node->safe_psql('postgres', "CREATE DATABASE $database");
	$node->safe_psql(
		$database, q{
		CREATE SCHEMA keys;
		CREATE EXTENSION pg_comb_ordered SCHEMA keys CASCADE;
		CREATE TABLE made (n serial, key uuid PRIMARY KEY DEFAULT keys.comb_generate_ordered(),
		                   id bigint UNIQUE DEFAULT keys.comb_snowflake())});
}

# Every key is larger than all keys before, in whatever database it is made
my @last = ('', 0);

sub next_in
{
	my ($server, $database, $name) = @_;
	my ($key, $id) = ask($server, $database, $make);
	ok($key gt $last[0] && $id > $last[1], $name);
	@last = ($key, $id);
	return;
}
foreach my $round (1 .. 3)
{
	next_in($node, $_, "round $round: database $_") foreach 'one', 'two';
}
$node->safe_psql('one', 'INSERT INTO made SELECT FROM generate_series(1, 1000)');
@last = ask($node, 'one', 'SELECT max(key::text), max(id) FROM made');

#
# Copies by template, without a restart of the server and after a crash
#
$node->safe_psql('postgres', 'CREATE DATABASE copy TEMPLATE one');
next_in($node, 'copy', 'a copy by template goes on');
next_in($node, 'one', 'and its template');
$node->stop('immediate');
start_at($node, '-2h');
next_in($node, 'one', 'after a crash, two hours back');
$node->safe_psql('postgres', 'CREATE DATABASE copy2 TEMPLATE copy');
next_in($node, 'copy2', 'a copy of what was not used since then');
# Leases belong to a database, so a lease of another database says nothing here.
my ($key, $id) = ask($node, 'two', $make);
ok($key gt $last[0] && $id > $last[1], 'databases that have made keys share the counter');
$node->restart;
@last = ask($node, 'one', 'SELECT max(key::text), max(id) FROM made');

#
# pg_dump and restore
#
$node->command_ok([ 'pg_dump', '-d', $node->connstr('one'), '-Fc', '-f', "$dir/one.dump" ], 'pg_dump');
my ($list) = run_command([ 'pg_restore', '-f', '-', "$dir/one.dump" ]);
my @limits = $list =~ /setval\('comb_internal\.(comb_\w+)', \d+, \w+\)/g;
is(join(' ', sort @limits),
	'comb_lease_ordered comb_lease_snowflake comb_snowflake_claimed',
	'the limits are dumped');
$node->safe_psql('postgres', 'CREATE DATABASE restored');
$node->command_ok([ 'pg_restore', '-d', $node->connstr('restored'), "$dir/one.dump" ], 'restored here');
next_in($node, 'restored', 'goes on');
$node->stop;
start_at($node, '-2h');
next_in($node, 'restored', 'and after a restart two hours back');
$node->restart;

# a dump by a user who is no superuser
foreach my $database ('owned', 'owned_again')
{
	$node->safe_psql('postgres', "CREATE DATABASE $database OWNER owner");
	$node->safe_psql($database,  'ALTER SCHEMA public OWNER TO owner');
}
$node->safe_psql('owned', 'SET ROLE owner; CREATE EXTENSION pg_comb_ordered CASCADE; SELECT comb_generate_ordered() IS NOT NULL');
is($node->safe_psql('owned', q{SELECT rolname = 'owner' FROM pg_extension e JOIN pg_roles r ON r.oid = extowner WHERE extname = 'pg_comb'}),
	't', 'an extension of the database\'s owner');
$node->command_ok([ 'pg_dump', '-d', $node->connstr('owned') . ' user=owner', '-f', "$dir/owned.sql" ],
	'which the owner can dump');
my $limit = 'SELECT last_value > 0, last_value FROM comb_internal.comb_lease_ordered';
$node->command_ok(
	[ 'psql', '-XqAt', '-1', '-v', 'ON_ERROR_STOP=1',
		'-d', $node->connstr('owned_again') . ' user=owner', '-f', "$dir/owned.sql" ],
	'and restore');
is($node->safe_psql('owned_again', $limit), $node->safe_psql('owned', $limit), 'with the limits');
like(error_of($node, 'owned', "SET ROLE pg_monitor; SELECT setval('comb_internal.comb_lease_ordered', 1)"),
	qr/42501/, 'which others cannot set');

# A role that reads everything can dump.  Other roles cannot look into the limits.
$node->command_ok([ 'pg_dump', '-d', $node->connstr('one') . ' user=dumper', '-f', "$dir/dumped.sql" ],
	'a role that reads all data dumps the limits');
like(error_of($node, 'one', 'SET ROLE stranger; SELECT last_value FROM comb_internal.comb_lease_ordered'),
	qr/42501/, 'which others cannot read');

# into another server, whose clock is two hours behind
@last = ask($node, 'one', 'SELECT max(key::text), max(id) FROM made');
my $other = server('other', conf => $conf, clock => '-2h');
$other->safe_psql('postgres', 'CREATE DATABASE elsewhere');
# this server already makes keys
$other->safe_psql('postgres', 'CREATE SCHEMA keys; CREATE EXTENSION pg_comb_ordered SCHEMA keys CASCADE');
my @here = ask($other, 'postgres', $make);
$other->command_ok([ 'pg_restore', '-d', $other->connstr('elsewhere'), "$dir/one.dump" ], 'restored elsewhere');
next_in($other, 'elsewhere', 'goes on there');
is( $other->safe_psql('elsewhere', 'SELECT keys.comb_generate_ordered() > max(key::text)::uuid FROM made'),
	't', 'above all rows');
my ($claimed) = ask($other, 'elsewhere', 'SELECT keys.comb_snowflake_claim(4)');
my ($further) = ask($other, 'elsewhere', 'SELECT keys.comb_snowflake_claim(4)');
cmp_ok($further, '!=', $claimed, 'a claim follows the last one');
@last = @here;
next_in($other, 'postgres', 'and database postgres there');

done_testing();
