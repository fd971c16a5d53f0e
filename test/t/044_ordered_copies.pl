# Several databases of a server, and copies of databases: by template, and by pg_dump
# and restore, by roles that are no superusers, and into a server whose clock is behind
use lib 'test/perl';
use CombTest;

need_faketime();

my $dir  = tempdir();
my $make = 'SELECT keys.comb_generate_ordered(), keys.comb_snowflake()';
my $conf = "autovacuum = off\npg_comb.snowflake_instance = 5\n";
my $node = server('main', conf => $conf, sql => q{
	CREATE ROLE owner LOGIN;
	CREATE ROLE dumper LOGIN; GRANT pg_read_all_data TO dumper});
foreach my $database ('one', 'two')
{
	$node->safe_psql('postgres', "CREATE DATABASE $database");
	$node->safe_psql($database, 'CREATE SCHEMA keys; CREATE EXTENSION pg_comb_ordered SCHEMA keys CASCADE');
}

# A key is larger than all keys that its database, or what it was copied from, made before.  Ids of
# all databases differ, as long as no limit is far ahead of the clock.
my (%last, %seen);
my $differ = 1;

sub next_in
{
	my ($server, $database, $name, $copied) = @_;
	my $of   = $server->name . " $database";
	my $last = $last{$of} // ($copied ? $last{ $node->name . " $copied" } : [ '', 0 ]);
	my ($key, $id) = ask($server, $database, $make);
	ok($key gt $last->[0] && $id > $last->[1] && !($seen{ $server->name . " $id" }++ && $differ), $name);
	$last{$of} = [ $key, $id ];
	return;
}
foreach my $round (1 .. 3)
{
	next_in($node, $_, "round $round: database $_") foreach 'one', 'two';
}

#
# Copies by template, without a restart of the server and after a crash
#
$node->safe_psql('postgres', 'CREATE DATABASE copy TEMPLATE one');
next_in($node, 'copy', 'a copy by template goes on', 'one');
next_in($node, 'one', 'and its template');
$node->stop('immediate');
start_at($node, '-2h');
$differ = 0;
next_in($node, 'one', 'after a crash, two hours back');
$node->safe_psql('postgres', 'CREATE DATABASE copy2 TEMPLATE copy');
next_in($node, 'copy2', 'a copy of what was not used since then', 'copy');
next_in($node, 'two', 'and the other database');

#
# pg_dump and restore: a dump has the limits
#
sub restored
{
	my ($server, $from, $dump_as, $to, $restore_as) = @_;
	my $limit = 'SELECT last_value > 0, last_value FROM comb_internal.comb_lease_ordered';
	$node->command_ok([ 'pg_dump', '-d', $node->connstr($from) . " user=$dump_as", '-Fc', '-f', "$dir/$to.dump" ], "$dump_as can dump");
	$server->safe_psql('postgres', "CREATE DATABASE $to" . ($restore_as eq 'owner' ? ' OWNER owner' : ''));
	$server->command_ok([ 'pg_restore', '-1', '-d', $server->connstr($to) . " user=$restore_as", "$dir/$to.dump" ], "$restore_as can restore");
	return is($server->safe_psql($to, $limit), $node->safe_psql($from, $limit), 'with the limits');
}
my $superuser = $node->safe_psql('postgres', 'SELECT current_user');
$node->safe_psql('postgres', 'CREATE DATABASE owned OWNER owner');
$node->safe_psql('owned', 'SET ROLE owner; CREATE EXTENSION pg_comb_ordered CASCADE; SELECT comb_generate_ordered()');
restored($node, 'owned', 'owner', 'owned_again', 'owner');
like(error_of($node, 'owned', "SET ROLE pg_monitor; SELECT setval('comb_internal.comb_lease_ordered', 1)"),
	qr/42501/, 'which others cannot set');

# into another server, which already makes keys, and whose clock is two more hours behind
next_in($node, 'one', 'before the dump');
my $other = server('other', conf => $conf, clock => '-4h', sql => 'CREATE SCHEMA keys; CREATE EXTENSION pg_comb_ordered SCHEMA keys CASCADE');
next_in($other, 'postgres', 'keys begin there');
restored($other, 'one', 'dumper', 'elsewhere', $superuser);
next_in($other, 'elsewhere', 'keys go on there', 'one');
my ($claimed, $further) = map { $other->safe_psql('elsewhere', 'SELECT keys.comb_snowflake_claim(4)') } 1 .. 2;
isnt($further, $claimed, 'a claim follows the last one');
next_in($other, 'postgres', 'and database postgres there');

done_testing();
