# Failover by Patroni and etcd, under load
#
# Three servers replicate synchronously, and clients insert rows with ordered keys and
# Snowflakes.  Then the primary and its Patroni are killed.  The standby that takes over
# has a clock five minutes behind.  The test writes down when each insert began, when
# it was acknowledged, and the row's keys.  From this it counts keys that came
# twice, keys out of order, and rows that were acknowledged but are gone.
#
# Two readers follow the rows all the time, one with comb_settled() and one without.
# Each writes down in the database what it gets, in the transaction that moves its
# place, and so goes on with the new primary.
use lib 'test/perl';
use CombTest;
use CombSession;
use CombSoak;
use IPC::Run ();
use Time::HiRes qw(clock_gettime CLOCK_MONOTONIC usleep);

my @members = ('one', 'two', 'three');
my $clients = 8;
my %bound = (settled => 'id < comb_settled()', naive => 'true');

need_faketime();
my ($patroni) = grep { -x } map { "$_/patroni" } split(/:/, $ENV{PATH});
my ($etcd) = grep { -x } map { "$_/etcd" } split(/:/, $ENV{PATH});
plan skip_all => 'needs Patroni and etcd (Debian: patroni, python3-etcd, etcd-server)' unless $patroni && $etcd;

# Patroni makes and starts these servers.
local %ENV = (%ENV, PGUSER => 'postgres', PGCONNECT_TIMEOUT => 2);
my %node = map { $_ => PostgreSQL::Test::Cluster->new($_) } @members;
my $primary = conninfo('postgres', @node{@members});
my ($bin) = run_command([ 'pg_config', '--bindir' ]);
my $dir = tempdir();
my ($etcd_address, $peer_address, @rest) = map { '127.0.0.1:' . PostgreSQL::Test::Cluster::get_free_port() } 0 .. 4;
my %run;     # etcd, and each member's Patroni

note "\nThree synchronous servers under Patroni and etcd.  The clocks of two and three are\n"
  . "5 minutes behind.  $clients clients insert rows with ordered keys and Snowflakes.\n ";
start_cluster();
$node{one}->safe_psql('postgres', q{
	CREATE EXTENSION pg_comb_ordered CASCADE;
	CREATE TABLE journal (id uuid PRIMARY KEY DEFAULT comb_generate_ordered(), flake bigint UNIQUE DEFAULT comb_snowflake(),
		plain uuid DEFAULT comb_generate());
	CREATE TABLE place (reader text PRIMARY KEY, last uuid NOT NULL);
	CREATE TABLE got (n bigserial, reader text, id uuid)});
start_reader($_) foreach sort keys %bound;

#
# The load, the kill, and the load on the new primary
#
open(my $seen, '>', "$dir/seen") or die "could not open $dir/seen: $!";
my @clients = map { CombSession->new(bless({}, 'Primary')) } 1 .. $clients;
insert_for(5);
$run{one}->signal('KILL');
kill 'KILL', (split(/\n/, slurp_file("$dir/one/postmaster.pid")))[0];
my $killed = clock_gettime(CLOCK_MONOTONIC);
my $promoted;
for (1 .. 180)
{
	insert_for(0.5);
	($promoted) = grep { $node{$_}->safe_psql('postgres', 'SELECT pg_is_in_recovery()') eq 'f' } ('two', 'three');
	last if $promoted;
}
die 'no standby takes over' unless $promoted;
insert_for(5);
$_->quit foreach @clients;
close($seen);
eval { $run{one}->finish };
my $new = $node{$promoted};
wait_until($new, q{SELECT count(*) = 2 FROM place WHERE last = (SELECT id FROM journal ORDER BY id DESC LIMIT 1)},
	'the readers do not come to the end');
stop_loops($new, 'reader');
start_member('one');
wait_until($new, q{SELECT EXISTS (SELECT FROM pg_stat_replication WHERE application_name = 'one' AND state = 'streaming')},
	'the old primary does not come back');
$new->wait_for_catchup('one');

#
# The figures.  Rows out of order are those whose key is not larger than all keys acknowledged before the
# row's call began.  Keys are compared as text of one length.
#
my @out_of_order = map { qq{
	(SELECT count(*) FROM (SELECT key, begins, max(key) FILTER (WHERE NOT begins) OVER (ORDER BY at, begins DESC ROWS UNBOUNDED PRECEDING) AS largest
		FROM seen, lpad($_\::text, 36, '0') AS key, LATERAL (VALUES (began, true), (ended, false)) AS v (at, begins)) AS s
	WHERE begins AND key <= largest)} } qw(id flake plain);
$new->safe_psql('postgres', qq{
	CREATE UNLOGGED TABLE seen (began float8, ended float8, id uuid, flake bigint, plain uuid);
	COPY seen FROM '$dir/seen' (DELIMITER '|')});
my $rows = $new->safe_psql('postgres', 'SELECT count(*) FROM journal');
my %figure;
@figure{qw(acknowledged old new duplicates lost id flake plain)} = ask($new, 'postgres', qq{
	SELECT count(*), count(*) FILTER (WHERE ended < $killed), count(*) FILTER (WHERE began > $killed),
		2 * count(*) - count(DISTINCT id) - count(DISTINCT flake),
		count(*) FILTER (WHERE NOT EXISTS (SELECT FROM journal AS j WHERE (j.id, j.flake, j.plain) = (s.id, s.flake, s.plain))),
		$out_of_order[0], $out_of_order[1], $out_of_order[2]
	FROM seen AS s});
my %read = map { $_ => { read_by($_) } } keys %bound;

note "$figure{acknowledged} rows were acknowledged, $figure{old} of them by the killed primary and $figure{new} by server $promoted.\n"
  . "$figure{plain} keys of comb_generate() are out of order.";
note sprintf('WHERE id > ... AND %-20s %d of %d rows, %d lost, %d twice, %d out of order', $bound{$_}, $read{$_}{rows}, $rows,
	@{ $read{$_} }{qw(lost twice back)}) foreach sort keys %read;

cmp_ok($figure{old}, '>', 100, 'the clients were served before');
cmp_ok($figure{new}, '>', 100, "and after, by server $promoted");
my ($clock) = ask($new, 'postgres', 'SELECT extract(epoch FROM now())::int - ' . time);
cmp_ok($clock, '<', -290, "the new primary's clock is behind by " . -$clock . ' s');
is($figure{duplicates}, 0, 'no key came twice');
is($figure{id}, 0, 'each ordered key is larger than all acknowledged before its call');
is($figure{flake}, 0, 'each Snowflake, too');
cmp_ok($figure{plain}, '>', 0, 'comb_generate() promises no such order, and the count shows that');
is($figure{lost}, 0, 'no acknowledged row is lost');
is(join(' ', @{ $read{settled} }{qw(rows lost twice back)}), "$rows 0 0 0", 'the reader with comb_settled() got each row once, in order');
cmp_ok($read{naive}{lost}, '>', 0, 'the reader without it lost some, and the count shows that');
is($node{one}->safe_psql('postgres', 'SELECT count(*), pg_is_in_recovery() FROM journal'), "$rows|t",
	'the old primary is a standby of the new one, and has the same rows');

stop_all();
is(join(' ', processes()), '', 'nothing is left running');
done_testing();

END
{
	local $?;
	stop_all();
}

#
# The cluster
#

# Two and three are as on a machine whose clock is behind.
sub start_member
{
	my ($name) = @_;
	local %ENV = (%ENV, $name eq 'one' ? () : clock_settings('-300s'));
	return start($name, $patroni, "$dir/$name.yml");
}

sub start
{
	my ($name, @command) = @_;
	$run{$name} = IPC::Run::start(\@command, '<', '/dev/null', '>&', "$PostgreSQL::Test::Utils::log_path/failover_$name.log");
	return;
}

# The settings by which a server finds the extension, as lines of YAML
sub temp_config
{
	return '' unless $ENV{TEMP_CONFIG};
	return join('', map { /^(\w+) = ('.*')$/ ? "    $1: $2\n" : () } split(/\n/, slurp_file($ENV{TEMP_CONFIG})));
}

sub configuration
{
	my ($name, $rest) = @_;
	my ($host, $port) = ($node{$name}->host, $node{$name}->port);
	return qq{
scope: comb
name: $name
restapi: {listen: '$rest', connect_address: '$rest'}
etcd3: {host: '$etcd_address'}
bootstrap:
  dcs:
    ttl: 20
    loop_wait: 2
    retry_timeout: 3
    maximum_lag_on_failover: 1073741824
    synchronous_mode: true
    postgresql:
      use_pg_rewind: true
      parameters:
        pg_comb.snowflake_instance: 7
        wal_keep_size: 512MB
  initdb: [encoding: UTF8, locale: C, no-sync]
postgresql:
  listen: 127.0.0.1:$port
  connect_address: 127.0.0.1:$port
  data_dir: $dir/$name
  bin_dir: $bin
  pgpass: $dir/pgpass_$name
  use_unix_socket: true
  authentication:
    superuser: {username: postgres}
    replication: {username: postgres}
    rewind: {username: postgres}
  parameters:
    unix_socket_directories: '$host'
    timezone: 'UTC'
    fsync: 'off'
} . temp_config() . q{
  pg_hba:
  - local all all trust
  - host all all 127.0.0.1/32 trust
  - host replication all 127.0.0.1/32 trust
};
}

sub start_cluster
{
	append_to_file("$dir/$members[$_].yml", configuration($members[$_], $rest[$_])) foreach 0 .. $#members;
	start('etcd', $etcd, '--name', 'etcd', '--data-dir', "$dir/etcd", '--unsafe-no-fsync',
		'--listen-client-urls', "http://$etcd_address", '--advertise-client-urls', "http://$etcd_address",
		'--listen-peer-urls', "http://$peer_address", '--initial-advertise-peer-urls', "http://$peer_address",
		'--initial-cluster', "etcd=http://$peer_address");
	start_member('one');
	wait_until($node{one}, 'SELECT NOT pg_is_in_recovery()', 'the first server does not come up');
	start_member($_) foreach ('two', 'three');
	wait_until($node{one}, q{SELECT count(*) = 2 FROM pg_stat_replication WHERE state = 'streaming'}, 'the standbys do not come up');
	wait_until($node{one}, q{SELECT EXISTS (SELECT FROM pg_stat_replication WHERE sync_state = 'sync')}, 'no standby is synchronous');
	return;
}

# Postmasters, Patroni and etcd have the directory among their arguments.
sub processes { return split(/\n/, (run_command([ 'pgrep', '-f', $dir ]))[0]); }

# Stop each Patroni, which stops its server, then etcd.
sub stop_all
{
	$_->kill_kill(grace => 30) foreach grep { defined } delete @run{ @members, 'etcd' };
	kill 'QUIT', processes();
	usleep(250_000) foreach grep { processes() } 1 .. 40;
	return;
}

#
# The clients and the readers
#

# A client connects to the primary, whichever server that is.
sub Primary::connstr { return $primary; }

# Let the clients insert row after row for so many seconds.
sub insert_for
{
	my ($seconds) = @_;
	my $until = clock_gettime(CLOCK_MONOTONIC) + $seconds;
	while (clock_gettime(CLOCK_MONOTONIC) < $until) { insert($_) foreach @clients }
	return;
}

# Write down a row that the server has acknowledged, and insert the next one.  If the server has gone, connect again.
sub insert
{
	my ($client) = @_;
	return if $client->{began} && !$client->answered && $client->{run}->pumpable;
	my ($row) = $client->{began} ? $client->result : '';
	my $now = clock_gettime(CLOCK_MONOTONIC);
	printf $seen "%.6f|%.6f|%s\n", $client->{began}, $now, $row if $row =~ /^\S+\|\d+\|\S+$/ && !$client->{ended};
	$client->{began} = 0;
	if ($client->{ended} && !eval { $client->again })
	{
		usleep(20_000);
		return;
	}
	$client->{began} = $now;
	$client->send('INSERT INTO journal DEFAULT VALUES RETURNING id, flake, plain');
	return;
}

# One statement reads a batch, keeps it, and moves the reader's place.
sub start_reader
{
	my ($reader) = @_;
	$node{one}->safe_psql('postgres', "INSERT INTO place VALUES ('$reader', '00000000-0000-0000-0000-000000000000')");
	return start_readers($primary, qq{
		WITH batch AS MATERIALIZED (
			SELECT id FROM journal WHERE id > (SELECT last FROM place WHERE reader = '$reader' FOR UPDATE)
				AND $bound{$reader} ORDER BY id LIMIT 1000
		), kept AS (
			INSERT INTO got (reader, id) SELECT '$reader', id FROM batch ORDER BY id
		)
		UPDATE place SET last = (SELECT id FROM batch ORDER BY id DESC LIMIT 1)
		WHERE reader = '$reader' AND EXISTS (SELECT FROM batch);
		\\sleep 2 ms
	});
}

# What a reader got, against the rows of the journal
sub read_by
{
	my ($reader) = @_;
	my %read;
	@read{qw(rows lost twice back)} = ask($new, 'postgres', qq{
		SELECT count(*), (SELECT count(*) FROM journal AS j
				WHERE NOT EXISTS (SELECT FROM got AS g WHERE g.id = j.id AND g.reader = '$reader')),
			count(*) - count(DISTINCT id), count(*) FILTER (WHERE id <= before)
		FROM (SELECT id, lag(id) OVER (ORDER BY n) AS before FROM got WHERE reader = '$reader') AS s});
	return %read;
}
