# Three servers that all take writes, by logical replication
#
# The servers' clocks are ten minutes apart.  Each server makes uuid keys, ordered keys
# and Snowflakes of its own, and all rows reach all servers.  Two other ways fail, as
# they must: one instance number on two servers, and a bigserial.
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
my $took = load("\\set n :n + $rows\n" . join('', map { qq{
INSERT INTO $_ (server, client, n) SELECT :server, :client_id, :n + g FROM generate_series(1, $rows) AS g;
} } @tables), \@servers, '-c', $clients, '-t', $transactions);

my %digest = map { $_ => wait_for_rows($_) } @tables;
note "What each server has, with the first digits of a digest of all rows of the table:\n ";
foreach my $i (0 .. $#servers)
{
	note sprintf('%-6s clock %-6s  %s', $servers[$i], $clock{ $servers[$i] } // 'right',
		join('   ', map { "$_ " . $digest{$_}[$i] =~ s/ rows, digest (.{8}).*/ rows ($1)/r } @tables));
}
note ' ';
is(conflicts('mesh', @servers), '0|0', 'no conflict, and no error of an apply worker');
foreach my $table (@tables)
{
	my %distinct = map { $_ => 1 } @{ $digest{$table} };
	is(join(' ', keys %distinct), $digest{$table}[0], "$table: all servers have the same $expected rows");
	is($node{one}->safe_psql('postgres', qq{
			SELECT count(*) FROM (SELECT n, lag(n) OVER (PARTITION BY server, client ORDER BY id) AS before
				FROM $table) AS s WHERE n <= before}),
		'0', "$table: each session's keys rise, on every server");
}
my ($behind) = ask($node{one}, 'postgres', q{
	SELECT extract(epoch FROM min(comb_timestamp(id)) FILTER (WHERE server = 2)
		- max(comb_timestamp(id)) FILTER (WHERE server = 3))::int FROM by_ordered});
cmp_ok($behind, '>', 600 - $took - 10,
	"across servers keys follow the clocks: server three's are $behind s and more behind server two's");

#
# The negative twins
#
# Servers one and three, now with the same clock and number, make Snowflakes at once.
# The parameters hold 128 ids a millisecond, so a large INSERT takes all ids of a while.
# With the default parameters the two servers would have to ask within the same 244 ns.
note "\nThe same with one instance number on two servers whose clocks agree:";
$node{three}->stop;
$node{three}->append_conf('postgresql.conf', "pg_comb.snowflake_instance = $number{one}\n");
start_at($node{three});
like( conflict_of('twin', "bigint PRIMARY KEY DEFAULT comb_snowflake('2024-01-01 00:00:00+00', 4, 7)",
		'INSERT INTO by_twin (server) SELECT :server FROM generate_series(1, 20000)', [ 'one', 'three' ], '-T', 3),
	qr/insert_exists|multiple_unique/, 'the apply workers stop at a conflict, SQLSTATE 23505');
my (%made, $all);
foreach my $name ('one', 'three')
{
	my @ids = split(/\n/, $node{$name}->safe_psql('postgres', "SELECT id FROM by_twin WHERE server = $number{$name}"));
	$made{$_}++ for @ids;
	$all += @ids;
}
my $twice = $all - keys %made;
cmp_ok($twice, '>', 0, "of $all Snowflakes $twice came twice");

note "\nThe same with a bigserial:";
like(conflict_of('serial', 'bigserial PRIMARY KEY', 'INSERT INTO by_serial (server) VALUES (:server)', [ 'one', 'two' ], '-t', 10),
	qr/insert_exists/, 'the first row of each server stops the other, SQLSTATE 23505');
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

# The same load on several servers at once, by pgbench.  Return how many seconds it took.
sub load
{
	my ($sql, $names, @options) = @_;
	my $script = tempdir() . '/load.sql';
	my $out;
	my $started = time;

	append_to_file($script, $sql);
	my @runs = map { IPC::Run::start(
		[
			'pgbench', '-n', @options, '-D', 'n=0', '-D', "server=$number{$_}",
			'-f', $script, '-h', $node{$_}->host, '-p', $node{$_}->port, 'postgres'
		],
		'>&', \$out) } @$names;
	IPC::Run::finish($_) or die 'pgbench failed' for @runs;
	return time - $started;
}

# Wait until all servers have all rows of a table.  Return the digest of each server.
sub wait_for_rows
{
	my ($table) = @_;
	wait_until($node{$_}, "SELECT count(*) >= $expected FROM $table", "$table of server $_ does not get all rows") for @servers;
	return [ map { $node{$_}->safe_psql('postgres',
		"SELECT count(*) || ' rows, digest ' || md5(string_agg(row(t.*)::text, ' ' ORDER BY id)) FROM $table AS t") } @servers ];
}

# Conflicts and errors of a group of subscriptions, as far as the servers know
sub conflicts
{
	my ($group, @names) = @_;
	my ($conflicts, $errors) = (0, 0);
	foreach my $name (@names)
	{
		my ($c, $e) = ask($node{$name}, 'postgres', qq{
			SELECT coalesce(sum(confl_insert_exists + confl_multiple_unique_conflicts + confl_update_missing
				+ confl_update_origin_differs + confl_update_exists), 0), coalesce(sum(apply_error_count), 0)
			FROM pg_stat_subscription_stats WHERE subname LIKE '${group}_%'});
		$conflicts += $c;
		$errors += $e;
	}
	return "$conflicts|$errors";
}

# Fill a new table on two servers, and replicate only then.  Return the error that a server
# logged when a conflict ended an apply worker.
sub conflict_of
{
	my ($group, $column, $insert, $names, @options) = @_;

	$node{$_}->safe_psql('postgres', "CREATE TABLE by_$group (id $column, server int)") for @$names;
	connect_servers($group, "by_$group", 'false', @$names);
	load("$insert;\n", $names, @options);
	$node{$_}->safe_psql('postgres', qq{
		SELECT format('ALTER SUBSCRIPTION %I ENABLE', subname) FROM pg_subscription WHERE subname LIKE '${group}_%' \\gexec}) for @$names;
	for (1 .. 120)
	{
		last if conflicts($group, @$names) =~ /^[1-9]\d*\|[1-9]/;
		sleep 1;
	}
	foreach my $name (@$names)
	{
		return $1 if slurp_file($node{$name}->logfile) =~
		  /ERROR:  (23505: conflict detected on relation "public\.by_$group": conflict=\w+)/;
	}
	return 'no error';
}
