# A session's first transaction asks what is settled again and again beside an open cursor.  On a
# standby every transaction counts as the first.  Nothing may be left open by a look for cursors:
# a hundred open scans of PostgreSQL's table of cursors would end the server.
use lib 'test/perl';
use CombTest;

my $primary = server('primary', init => [ allows_streaming => 1 ],
	conf => "pg_comb.snowflake_instance = 5\nplan_cache_mode = force_custom_plan\n",
	sql  => q{CREATE EXTENSION pg_comb_ordered CASCADE;
		CREATE TABLE event (id uuid DEFAULT comb_generate_ordered(), k int) PARTITION BY LIST (k);
		CREATE TABLE event_1 PARTITION OF event FOR VALUES IN (1);
		CREATE TABLE event_2 PARTITION OF event FOR VALUES IN (2);
		INSERT INTO event (k) VALUES (1), (2)});
my $standby = standby($primary, 'standby');
my $asks = 120;

# Run statements in a session of their own, and return their rows.
sub answers
{
	my ($node, $sql, $name) = @_;
	my ($rc, $out, $err) = $node->psql('postgres', $sql);
	is("$rc $err", '0 ', $name);
	return split(/\n/, $out);
}

$primary->wait_for_catchup($standby);
foreach my $ask ('comb_settled() IS NOT NULL', 'comb_snowflake_settled() IS NOT NULL', 'comb_position(NULL) IS NOT NULL',
	'comb_position_limit() IS NOT NULL', '(SELECT count(*) >= 0 FROM event WHERE id < comb_settled())')
{
	my @rows = answers($primary, 'BEGIN; DECLARE c CURSOR FOR SELECT 1;' . "SELECT $ask;" x $asks . 'COMMIT', "$ask: no complaint");
	is(join('', @rows), 't' x $asks, "$ask: answered beside a cursor");
}

# The same by the protocol of drivers, and with a cursor that stays from earlier transactions
my $script = PostgreSQL::Test::Utils::tempdir() . '/asks';
replace_file($script, "BEGIN;\nDECLARE c CURSOR WITH HOLD FOR SELECT 1;\n" . "SELECT comb_settled();\n" x $asks . "COMMIT;\n" .
	  "SELECT comb_settled();\n" x $asks);
foreach my $protocol ('simple', 'extended', 'prepared')
{
	$primary->command_like([ 'pgbench', '-n', '-t', '1', '-M', $protocol, '-f', $script, $primary->connstr('postgres') ],
		qr{processed: 1/1}, "$protocol protocol");
}

# Loops over a query's rows
foreach my $query ('EXECUTE \'SELECT count(*) FROM event WHERE id < comb_settled()\' INTO n',
	'SELECT count(*) INTO n FROM event WHERE k = t AND id < comb_settled()')
{
	answers($primary, "DO \$\$ DECLARE t int; n bigint; BEGIN
		FOR t IN SELECT g % 3 FROM generate_series(1, $asks) g LOOP $query; END LOOP; END \$\$", "a loop: $query");
}

# A standby has no bound, but plans the query that would ask
answers($standby, 'BEGIN; DECLARE c CURSOR FOR SELECT 1;' .
	  'SELECT count(*) FROM event WHERE id < CASE WHEN pg_is_in_recovery() THEN id ELSE comb_settled() END;' x $asks . 'COMMIT', 'a standby');

is($_->safe_psql('postgres', 'SELECT 1'), 1, $_->name . ': the server is there') foreach ($primary, $standby);

done_testing();
