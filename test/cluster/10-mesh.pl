# Three servers that all take writes, by logical replication
#
# The servers' clocks are ten minutes apart.  Each server makes uuid keys, ordered keys
# and Snowflakes of its own, and all rows reach all servers.  Two other ways fail, as
# they must: one instance number on two servers, and a bigserial.
use strict;
use warnings;

use FindBin qw($RealBin);
use lib "$RealBin/../perl";
use CombTest;
use IPC::Run ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

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

my %node = map { $_ => start($_) } @servers;

note '';
note 'Three servers, connected by logical replication (origin = none).  All take writes:';
note "$clients sessions on each server insert rows into a table a kind of key.";
note '';
connect_servers('mesh', join(', ', @tables), @servers);
my $took = load("\\set n :n + $rows\n" . join('', map { qq{
INSERT INTO $_ (server, client, n) SELECT :server, :client_id, :n + g FROM generate_series(1, $rows) AS g;
} } @tables), \@servers, '-c', $clients, '-t', $transactions);
my %digest = map { $_ => wait_for_rows($_) } @tables;
report();

foreach my $table (@tables)
{
	my %distinct = map { $_ => 1 } @{ $digest{$table} };
	is(join(' ', keys %distinct), $digest{$table}[0],
		"$table: all servers have the same $expected rows");
}
is(conflicts('mesh', @servers), '0|0', 'no conflict, and no error of an apply worker');
foreach my $table (@tables)
{
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
note '';
note 'The same with one instance number on two servers whose clocks agree:';
same_instance_number();
note '';
note 'The same with a bigserial:';
serial();

$_->stop for values %node;
done_testing();

# A server of the mesh with its tables
sub start
{
	my ($name) = @_;
	my $server = PostgreSQL::Test::Cluster->new($name);
	$server->init(allows_streaming => 'logical');
	$server->append_conf('postgresql.conf', qq{
autovacuum = off
fsync = off
max_wal_senders = 20
max_replication_slots = 20
max_logical_replication_workers = 16
max_worker_processes = 24
wal_retrieve_retry_interval = 500ms
log_error_verbosity = verbose
pg_comb.snowflake_instance = $number{$name}
});
	start_at($server, $clock{$name});
	plan skip_all => 'conflicts are counted from PostgreSQL 18 on'
	  if $server->safe_psql('postgres', 'SHOW server_version_num') < 180000;
	$server->safe_psql('postgres', 'CREATE EXTENSION pg_comb_ordered CASCADE');
	foreach my $table (@tables)
	{
		$server->safe_psql('postgres', "CREATE TABLE $table (id $keys{$table}, server int, client int, n int)");
	}
	return $server;
}

# Publish tables on each of the servers, and subscribe each server to the others.  The
# twins' subscriptions rest until both servers have their rows.
sub connect_servers
{
	my ($name, $tables, @names) = @_;

	$node{$_}->safe_psql('postgres', "CREATE PUBLICATION $name FOR TABLE $tables") for @names;
	foreach my $to (@names)
	{
		foreach my $from (grep { $_ ne $to } @names)
		{
			my $connection = $node{$from}->connstr('postgres') =~ s{'}{''}gr;
			$node{$to}->safe_psql('postgres', qq{
				CREATE SUBSCRIPTION ${name}_${to}_from_$from CONNECTION '$connection'
					PUBLICATION $name WITH (origin = none, copy_data = false)});
		}
	}
	return;
}

# The same load on several servers at once, by pgbench.  Return how many seconds it took.
sub load
{
	my ($sql, $names, @options) = @_;
	my $script = PostgreSQL::Test::Utils::tempdir() . '/load.sql';
	my @runs;
	my $started = time;

	open(my $fh, '>', $script) or die "could not open $script: $!";
	print $fh $sql;
	close($fh);
	foreach my $name (@$names)
	{
		my $out = '';
		push @runs, IPC::Run::start(
			[
				'pgbench', '-n', @options, '-D', 'n=0', '-D', "server=$number{$name}",
				'-f', $script, '-h', $node{$name}->host, '-p', $node{$name}->port, 'postgres'
			],
			'>&', \$out);
	}
	foreach my $run (@runs)
	{
		IPC::Run::finish($run) or die 'pgbench failed';
	}
	return time - $started;
}

# Wait until all servers have all rows of a table.  Return the digest of each server.
sub wait_for_rows
{
	my ($table) = @_;
	foreach my $name (@servers)
	{
		$node{$name}->poll_query_until('postgres', "SELECT count(*) >= $expected FROM $table")
		  or die "$table of server $name does not get all rows";
	}
	return [ map { $node{$_}->safe_psql('postgres',
		"SELECT count(*) || ' rows, digest ' || md5(string_agg(row(t.*)::text, ' ' ORDER BY id)) FROM $table AS t") } @servers ];
}

sub report
{
	note 'What each server has, with the first digits of a digest of all rows of the table:';
	note '';
	foreach my $i (0 .. $#servers)
	{
		my $name = $servers[$i];
		note sprintf('%-6s clock %-6s  %s', $name, $clock{$name} // 'right',
			join('   ', map { "$_ " . $digest{$_}[$i] =~ s/ rows, digest (.{8}).*/ rows ($1)/r } @tables));
	}
	note '';
	return;
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

# Let a group of subscriptions work, or rest
sub turn
{
	my ($what, $group, @names) = @_;
	foreach my $name (@names)
	{
		$node{$name}->safe_psql('postgres', qq{
			SELECT format('ALTER SUBSCRIPTION %I $what', subname) FROM pg_subscription WHERE subname LIKE '${group}_%' \\gexec});
	}
	return;
}

# Wait for a conflict that ends an apply worker, and return the error that a server logged
sub conflict_of
{
	my ($group, @names) = @_;
	for (1 .. 120)
	{
		last if conflicts($group, @names) =~ /^[1-9]\d*\|[1-9]/;
		sleep 1;
	}
	foreach my $name (@names)
	{
		return $1 if slurp_file($node{$name}->logfile) =~
		  /ERROR:  (23505: conflict detected on relation "public\.by_$group": conflict=\w+)/;
	}
	return 'no error';
}

# Servers one and three, now with the same clock and number, make Snowflakes at once.
# The parameters hold 128 ids a millisecond, so a large INSERT takes all ids of a while.
# With the default parameters the two servers would have to ask within the same 244 ns.
sub same_instance_number
{
	my @names = ('one', 'three');
	my (%made, $all);

	$node{three}->stop;
	$node{three}->append_conf('postgresql.conf', "pg_comb.snowflake_instance = $number{one}\n");
	start_at($node{three});
	foreach my $name (@names)
	{
		$node{$name}->safe_psql('postgres', q{
			CREATE TABLE by_twin (id bigint PRIMARY KEY DEFAULT comb_snowflake('2024-01-01 00:00:00+00', 4, 7), server int)});
	}
	connect_servers('twin', 'by_twin', @names);
	turn('DISABLE', 'twin', @names);
	load("INSERT INTO by_twin (server) SELECT :server FROM generate_series(1, 20000);\n", \@names, '-T', 3);
	turn('ENABLE', 'twin', @names);

	foreach my $name (@names)
	{
		my @ids = split(/\n/, $node{$name}->safe_psql('postgres', "SELECT id FROM by_twin WHERE server = $number{$name}"));
		$made{$_}++ for @ids;
		$all += @ids;
	}
	my $twice = $all - keys %made;
	cmp_ok($twice, '>', 0, "of $all Snowflakes $twice came twice");
	like(conflict_of('twin', @names), qr/insert_exists|multiple_unique/, 'the apply workers stop at a conflict, SQLSTATE 23505');
	return;
}

# Servers one and two number their rows from 1.
sub serial
{
	my @names = ('one', 'two');
	foreach my $name (@names)
	{
		$node{$name}->safe_psql('postgres', 'CREATE TABLE by_serial (id bigserial PRIMARY KEY, server text)');
	}
	connect_servers('serial', 'by_serial', @names);
	turn('DISABLE', 'serial', @names);
	$node{$_}->safe_psql('postgres', "INSERT INTO by_serial (server) SELECT '$_' FROM generate_series(1, 10)") for (@names);
	turn('ENABLE', 'serial', @names);
	like(conflict_of('serial', @names), qr/insert_exists/, 'the first row of each server stops the other, SQLSTATE 23505');
	return;
}
