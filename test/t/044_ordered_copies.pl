# Several databases of a server, and copies of databases: by template, and by pg_dump
# and restore into a server whose clock is behind
use lib 'test/perl';
use CombTest;

need_faketime();

my $dir  = tempdir();
my $make = 'SELECT keys.comb_generate_ordered(), keys.comb_snowflake()';
my $conf = "autovacuum = off\npg_comb.snowflake_instance = 5\n";
my $node = server('main', conf => $conf, sql => q{
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
# pg_dump and restore (004_dump.pl has roles without rights) into another server, which already makes keys,
# and whose clock is two more hours behind
#
next_in($node, 'one', 'before the dump');
my $other = server('other', conf => $conf, clock => '-4h', sql => 'CREATE SCHEMA keys; CREATE EXTENSION pg_comb_ordered SCHEMA keys CASCADE');
next_in($other, 'postgres', 'keys begin there');
my $limit = 'SELECT last_value > 0, last_value FROM comb_internal.comb_lease_ordered';
$node->command_ok([ 'pg_dump', '-d', $node->connstr('one') . ' user=dumper', '-Fc', '-f', "$dir/dump" ], 'pg_read_all_data can dump');
$other->safe_psql('postgres', 'CREATE DATABASE elsewhere');
$other->command_ok([ 'pg_restore', '-1', '-d', $other->connstr('elsewhere'), "$dir/dump" ], 'a superuser restores it');
is($other->safe_psql('elsewhere', $limit), $node->safe_psql('one', $limit), 'with the limits');
next_in($other, 'elsewhere', 'keys go on there', 'one');
my ($claimed, $further) = map { $other->safe_psql('elsewhere', 'SELECT keys.comb_snowflake_claim(4)') } 1 .. 2;
isnt($further, $claimed, 'a claim follows the last one');
next_in($other, 'postgres', 'and database postgres there');

done_testing();
