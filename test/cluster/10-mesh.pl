# Three servers that all take writes, by logical replication
#
# The servers' clocks are ten minutes apart.  Each server makes uuid keys, ordered keys
# and Snowflakes of its own, and all rows reach all servers.  One instance number on two
# servers fails, as it must.
use lib 'test/perl';
use CombTest;

need_faketime();

my @servers = ('one', 'two', 'three');
my %clock = (one => undef, two => '+300s', three => '-300s');
my %number = (one => 1, two => 2, three => 3);
my %keys = (
	by_uuid      => 'uuid PRIMARY KEY DEFAULT comb_generate()',
	by_ordered   => 'uuid PRIMARY KEY DEFAULT comb_generate_ordered()',
	by_snowflake => 'bigint PRIMARY KEY DEFAULT comb_snowflake()');
my @tables = sort keys %keys;
my ($clients, $transactions, $rows) = (4, 100, 25);
my $expected = @servers * $clients * $transactions * $rows;

my %node = map { $_ => server($_, init => [ allows_streaming => 'logical' ], clock => $clock{$_}, conf => qq{
autovacuum = off
fsync = off
max_wal_senders = 20
max_replication_slots = 20
max_logical_replication_workers = 16
max_worker_processes = 24
wal_retrieve_retry_interval = 500ms
log_error_verbosity = verbose
pg_comb.snowflake_instance = $number{$_}
}, sql => join(';', 'CREATE EXTENSION pg_comb_ordered CASCADE',
	map { "CREATE TABLE $_ (id $keys{$_}, server int, client int, n int)" } @tables)) } @servers;
plan skip_all => 'conflicts are counted from PostgreSQL 18 on' if $node{one}->pg_version < 18;

note "\nThree servers, connected by logical replication (origin = none).  All take writes:\n"
  . "$clients sessions on each server insert rows into a table a kind of key.\n ";
connect_servers('mesh', join(', ', @tables), 'true', @servers);
load("\\set n :n + $rows\n" . join('', map { qq{
INSERT INTO $_ (server, client, n) SELECT :server, :client_id, :n + g FROM generate_series(1, $rows) AS g;
} } @tables), \@servers, '-c', $clients, '-t', $transactions);

wait_until($node{ $_->[0] }, "SELECT count(*) >= $expected FROM $_->[1]", "$_->[1] of server $_->[0] does not get all rows")
  foreach map { my $server = $_; map { [ $server, $_ ] } @tables } @servers;
is($node{$_}->safe_psql('postgres', q{
	SELECT coalesce(sum(confl_insert_exists + confl_multiple_unique_conflicts + confl_update_missing
		+ confl_update_origin_differs + confl_update_exists), 0), coalesce(sum(apply_error_count), 0)
	FROM pg_stat_subscription_stats}), '0|0', "server $_: no conflict, and no error of an apply worker") foreach @servers;
foreach my $table (@tables)
{
	my ($digest, @others) = map { $node{$_}->safe_psql('postgres',
		"SELECT count(*) || ' rows, digest ' || md5(string_agg(row(t.*)::text, ' ' ORDER BY id)) FROM $table AS t") } @servers;
	is_deeply(\@others, [ $digest, $digest ], "$table: all servers have the same: $digest");
	is($node{one}->safe_psql('postgres', qq{
			SELECT count(*) FROM (SELECT n, lag(n) OVER (PARTITION BY server, client ORDER BY id) AS before
				FROM $table) AS s WHERE n <= before}),
		'0', "$table: each session's keys rise, on every server");
}

#
# The negative twin
#
# Servers one and three, now with the same clock and number, make Snowflakes at once.
# The parameters hold 128 ids a millisecond, so a large INSERT takes all ids of a while.
# With the default parameters the two servers would have to ask within the same 244 ns.
note "\nThe same with one instance number on two servers whose clocks agree:";
$node{three}->stop;
$node{three}->append_conf('postgresql.conf', "pg_comb.snowflake_instance = $number{one}\n");
start_at($node{three});
my @twins = ('one', 'three');
$node{$_}->safe_psql('postgres', q{
	CREATE TABLE twin (id bigint PRIMARY KEY DEFAULT comb_snowflake('2024-01-01 00:00:00+00', 4, 7), server int)}) foreach @twins;
connect_servers('twin', 'twin', 'false', @twins);
load("INSERT INTO twin (server) SELECT :server FROM generate_series(1, 20000);\n", \@twins, '-T', 3);
# A conflict must end the apply workers of both.
$node{$_}->safe_psql('postgres', q{
	SELECT format('ALTER SUBSCRIPTION %I ENABLE', subname) FROM pg_subscription WHERE subname LIKE 'twin%' \gexec}) foreach @twins;
ok($node{$_}->wait_for_log(qr/ERROR:  23505: conflict detected on relation "public\.twin": conflict=(insert_exists|multiple_unique)/),
	"an apply worker of server $_ stops at a conflict, SQLSTATE 23505") foreach @twins;
my @ids = map { split(/\n/, $node{$_}->safe_psql('postgres', "SELECT id FROM twin WHERE server = $number{$_}")) } @twins;
my %made = map { $_ => 1 } @ids;
cmp_ok(scalar(keys %made), '<', scalar(@ids), 'Snowflakes came twice: ' . @ids . ', and ' . keys(%made) . ' different ones');

done_testing();

# Publish tables on each of the servers, and subscribe each server to the others.
sub connect_servers
{
	my ($name, $tables, $enabled, @names) = @_;

	$node{$_}->safe_psql('postgres', "CREATE PUBLICATION $name FOR TABLE $tables") for @names;
	foreach my $to (@names)
	{
		foreach my $from (grep { $_ ne $to } @names)
		{
			my $connection = $node{$from}->connstr('postgres') =~ s{'}{''}gr;
			$node{$to}->safe_psql('postgres', qq{
				CREATE SUBSCRIPTION ${name}_${to}_from_$from CONNECTION '$connection'
					PUBLICATION $name WITH (origin = none, copy_data = false, enabled = $enabled)});
		}
	}
	return;
}

# The same load on several servers at once, by pgbench
sub load
{
	my ($sql, $names, @options) = @_;
	my $script = tempdir() . '/load.sql';
	my $out;

	append_to_file($script, $sql);
	my @runs = map { IPC::Run::start(
		[
			'pgbench', '-n', @options, '-D', 'n=0', '-D', "server=$number{$_}",
			'-f', $script, '-h', $node{$_}->host, '-p', $node{$_}->port, 'postgres'
		],
		'>&', \$out) } @$names;
	IPC::Run::finish($_) or die 'pgbench failed' for @runs;
	return;
}
