# Failover by Patroni and etcd, under load
#
# Three servers replicate synchronously, and clients insert rows with ordered keys and
# Snowflakes.  Then the primary and its Patroni are killed.  The standby that takes over
# has a clock five minutes behind.  The clients write down when each insert began, when
# it was acknowledged, and the row's keys.  From this the test counts keys that came
# twice, keys out of order, and rows that were acknowledged but are gone.
#
# Two readers follow the rows all the time, one with comb_settled() and one without.
# Each writes down in the database what it gets, in the transaction that moves its
# place, and so goes on with the new primary.
#
# COMB_SYNCHRONOUS=off shows what asynchronous replication does instead.
use lib 'test/perl';
use CombTest;
use HTTP::Tiny ();
use JSON::PP ();
use POSIX qw(:sys_wait_h _exit);
use Time::HiRes qw(clock_gettime CLOCK_MONOTONIC usleep);

my @members = ('one', 'two', 'three');
my $clients = 8;
my $synchronous = ($ENV{COMB_SYNCHRONOUS} // 'on') eq 'off' ? 'false' : 'true';
my $shift = '-300s';
my %bound = (settled => 'id < comb_settled()', naive => 'true');

need_faketime();
my ($patroni) = grep { -x } map { "$_/patroni" } split(/:/, $ENV{PATH});
my ($etcd) = grep { -x } map { "$_/etcd" } split(/:/, $ENV{PATH});
plan skip_all => 'needs Patroni and etcd (Debian: patroni, python3-etcd, etcd-server)' unless $patroni && $etcd;
plan skip_all => 'needs DBD::Pg (Debian: libdbd-pg-perl)' unless eval { require DBD::Pg; 1 };

my ($bin) = run_command([ 'pg_config', '--bindir' ]);
my $dir = tempdir();
my $sockets = PostgreSQL::Test::Utils::tempdir_short();
my %port = map { $_ => PostgreSQL::Test::Cluster::get_free_port() } 'etcd', 'peer', map { ($_, "$_ rest") } @members;
my $http = HTTP::Tiny->new(timeout => 5, proxy => undef, http_proxy => undef, https_proxy => undef);
my %pid;     # of etcd, of each member's Patroni, and of each client
my $main = $$;

note "\nThree servers under Patroni and etcd, synchronous_mode: $synchronous.  The clocks of two and three are\n"
  . "5 minutes behind.  $clients clients insert rows with ordered keys and Snowflakes.\n ";
start_cluster();
query('one', q{
	CREATE EXTENSION pg_comb_ordered CASCADE;
	CREATE TABLE journal (id uuid PRIMARY KEY DEFAULT comb_generate_ordered(), flake bigint UNIQUE DEFAULT comb_snowflake(),
		plain uuid DEFAULT comb_generate(), client int, n int);
	CREATE TABLE place (reader text PRIMARY KEY, last uuid NOT NULL);
	CREATE TABLE got (n bigserial, reader text, id uuid)});

start_readers();
spawn("client $_", \&client, $_) for 1 .. $clients;
sleep 5;
my ($killed, $promoted) = fail_over();
sleep 5;
stop(qr/^client/);
my $caught_up = readers_catch_up();
stop(qr/^reader/);
my $rejoined = rejoin('one');

my $rows = query($promoted, 'SELECT count(*) FROM journal');
my %figure = figures();

note join("\n", map { sprintf('%-40s %8d', $_->[0], $figure{ $_->[1] }) }
  [ 'acknowledged', 'acknowledged' ],
  [ '  by the killed primary', 'old' ],
  [ '  on the way at the kill', 'between' ],
  [ "  by server $promoted", 'new' ],
  [ 'keys that came twice', 'duplicates' ],
  [ 'ordered keys out of order', 'id' ],
  [ 'Snowflakes out of order', 'flake' ],
  [ 'keys of comb_generate() out of order', 'plain' ],
  [ 'acknowledged but lost', 'lost' ],
  [ 'stored, but not acknowledged', 'unanswered' ]);
note sprintf('%-40s %8.1f s', 'longest outage', $figure{outage});
my %read = map { $_ => read_by($_) } sort keys %bound;
note "\nTwo readers follow these rows, through the failover.  Of the $rows rows:\n ";
note sprintf('%-40s %8d rows, %d lost, %d twice, %d out of order', "WHERE id > ... AND $bound{$_}",
	@{ $read{$_} }{qw(rows lost twice back)}) for reverse sort keys %read;
note ' ';

isnt($promoted, 'one', "the killed primary's place is taken by server $promoted");
cmp_ok($figure{old}, '>', 1000, 'the clients were served before');
cmp_ok($figure{new}, '>', 1000, 'and after');
is($figure{old} + $figure{between} + $figure{new}, $figure{acknowledged}, 'each acknowledged row counts in one part');
my ($clock) = query($promoted, "SELECT extract(epoch FROM now())::int - " . time);
cmp_ok($clock, '<', -290, "the new primary's clock is behind by " . -$clock . ' s');
is($figure{duplicates}, 0, 'no key came twice');
is($figure{id}, 0, 'each ordered key is larger than all acknowledged before its call');
is($figure{flake}, 0, 'each Snowflake, too');
cmp_ok($figure{plain}, '>', 0, 'comb_generate() promises no such order, and the count shows that');
is($figure{lost}, 0, 'no acknowledged row is lost') if $synchronous eq 'true';
ok($caught_up, 'both readers come to the end');
is(join(' ', @{ $read{settled} }{qw(lost twice back)}), '0 0 0', 'the reader with comb_settled() got each row once, in order');
is($read{settled}{rows}, $rows, 'and all of them');
cmp_ok($read{naive}{lost}, '>', 0, 'the reader without it lost some, and the count shows that');
is($rejoined, 'streaming', 'the old primary is a standby of the new one');
is(query('one', 'SELECT count(*), pg_is_in_recovery() FROM journal'), "$rows|t", 'and has the same rows');

stop_all();
is_deeply([ processes() ], [], 'nothing is left running');
done_testing();

END
{
	local $?;
	stop_all() if $main && $main == $$;
}

#
# The cluster
#

sub write_file
{
	my ($name, $text, $mode) = @_;
	append_to_file("$dir/$name", $text);
	chmod $mode, "$dir/$name" if $mode;
	return "$dir/$name";
}

# Do some work in a process of its own, whose output goes into a file
sub spawn
{
	my ($name, $work, @arguments) = @_;
	my $pid = fork() // die "could not fork: $!";
	if (!$pid)
	{
		open(STDIN,  '<', '/dev/null');
		open(STDOUT, '>>', "$PostgreSQL::Test::Utils::log_path/failover_$name.log");
		open(STDERR, '>&', \*STDOUT);
		eval { $work->(@arguments); 1 } or print STDERR $@;
		_exit(0);
	}
	$pid{$name} = $pid;
	return;
}

sub program { exec(@_) or _exit(127); }

# A directory with PostgreSQL's programs, in which "postgres" starts with a clock of its
# own.  Nobody else's clock is shifted.
sub programs
{
	my ($name, $behind) = @_;
	return $bin unless $behind;
	my %settings = clock_settings($shift);

	mkdir "$dir/bin_$name";
	symlink $_, "$dir/bin_$name/" . s{.*/}{}r for grep { !m{/postgres$} } glob("$bin/*");
	write_file("bin_$name/postgres", "#!/bin/sh\nexec env "
		. join(' ', map { "'$_=$settings{$_}'" } sort keys %settings) . " $bin/postgres \"\$@\"\n", 0755);
	return "$dir/bin_$name";
}

# The settings by which a server finds the extension, as lines of YAML
sub temp_config
{
	return '' unless $ENV{TEMP_CONFIG};
	return join('', map { /^(\w+) = ('.*')$/ ? "    $1: $2\n" : () } split(/\n/, slurp_file($ENV{TEMP_CONFIG})));
}

sub configuration
{
	my ($name) = @_;
	my $programs = programs($name, $name ne 'one');
	return write_file("$name.yml", qq{
scope: comb
name: $name
restapi:
  listen: 127.0.0.1:$port{"$name rest"}
  connect_address: 127.0.0.1:$port{"$name rest"}
etcd3:
  host: 127.0.0.1:$port{etcd}
bootstrap:
  dcs:
    ttl: 20
    loop_wait: 2
    retry_timeout: 3
    maximum_lag_on_failover: 1073741824
    synchronous_mode: $synchronous
    postgresql:
      use_pg_rewind: true
      parameters:
        pg_comb.snowflake_instance: 7
        max_connections: 40
        wal_keep_size: 512MB
  initdb:
  - encoding: UTF8
  - locale: C
  - no-sync
postgresql:
  listen: 127.0.0.1:$port{$name}
  connect_address: 127.0.0.1:$port{$name}
  data_dir: $dir/data_$name
  bin_dir: $programs
  pgpass: $dir/pgpass_$name
  use_unix_socket: true
  authentication:
    superuser: {username: postgres}
    replication: {username: postgres}
    rewind: {username: postgres}
  parameters:
    unix_socket_directories: '$sockets'
    timezone: 'UTC'
    fsync: 'off'
} . temp_config() . q{
  pg_hba:
  - local all all trust
  - host all all 127.0.0.1/32 trust
  - host replication all 127.0.0.1/32 trust
});
}

sub start_cluster
{
	spawn('etcd', \&program, $etcd, '--name', 'etcd', '--data-dir', "$dir/etcd", '--unsafe-no-fsync',
		'--listen-client-urls', "http://127.0.0.1:$port{etcd}", '--advertise-client-urls', "http://127.0.0.1:$port{etcd}",
		'--listen-peer-urls', "http://127.0.0.1:$port{peer}", '--initial-advertise-peer-urls', "http://127.0.0.1:$port{peer}",
		'--initial-cluster', "etcd=http://127.0.0.1:$port{peer}");
	my %file = map { $_ => configuration($_) } @members;
	spawn('one', \&program, $patroni, $file{one});
	wait_for('the first server', sub { role('one') =~ /^(leader|master)$/ });
	spawn($_, \&program, $patroni, $file{$_}) for ('two', 'three');
	wait_for('the standbys', sub { 2 == grep { state_of($_) eq 'streaming' } ('two', 'three') });
	wait_for('a synchronous standby', sub { grep { role($_) eq 'sync_standby' } ('two', 'three') }) if $synchronous eq 'true';
	return;
}

# What Patroni says of a member, asked of any that answers
sub member
{
	my ($name) = @_;
	foreach my $asked (@members)
	{
		my $answer = $http->get("http://127.0.0.1:$port{qq{$asked rest}}/cluster");
		next unless $answer->{success};
		my ($found) = grep { $_->{name} eq $name } @{ JSON::PP::decode_json($answer->{content})->{members} };
		return $found // {};
	}
	return {};
}

sub role { return member($_[0])->{role} // ''; }
sub state_of { return member($_[0])->{state} // ''; }

sub wait_for
{
	my ($what, $test) = @_;
	for (1 .. 360)
	{
		return if $test->();
		foreach my $name (grep { waitpid($pid{$_}, WNOHANG) != 0 } keys %pid)
		{
			delete $pid{$name};
			die "$name ended, and $what did not come up";
		}
		usleep(250_000);
	}
	die "$what did not come up within 90 seconds";
}

sub query
{
	my ($name, $sql) = @_;
	my ($out, $err) = ('', '');
	IPC::Run::run([ 'psql', '-XqAt', '-v', 'ON_ERROR_STOP=1', '-h', $sockets, '-p', $port{$name}, '-U', 'postgres', 'postgres' ],
		'<', \$sql, '>', \$out, '2>', \$err) or die "server $name: $err";
	chomp $out;
	return $out;
}

# Kill the primary and its Patroni, and wait for another primary
sub fail_over
{
	my $postmaster = (split(/\n/, slurp_file("$dir/data_one/postmaster.pid")))[0];
	kill 'KILL', delete $pid{one}, $postmaster;
	my $at = clock_gettime(CLOCK_MONOTONIC);
	my $new;
	wait_for('a new primary', sub {
		($new) = grep { my $a = $http->get("http://127.0.0.1:$port{qq{$_ rest}}/primary"); $a->{success} } ('two', 'three') });
	return ($at, $new);
}

sub rejoin
{
	my ($name) = @_;
	spawn($name, \&program, $patroni, "$dir/$name.yml");
	eval { wait_for('the old primary', sub { state_of($name) eq 'streaming' && role($name) ne 'leader' }); 1 } or return 'not back';
	my $state = state_of($name);
	my $target = query($promoted, 'SELECT pg_current_wal_lsn()');
	wait_for('the last rows', sub { query($name, "SELECT pg_last_wal_replay_lsn() >= '$target'") eq 't' });
	return $state;
}

#
# The clients and the readers
#

# Call a function with a connection to the primary again and again, until SIGTERM.
# Connect again after an error.
sub with_connection
{
	my ($work) = @_;
	my $source = 'dbi:Pg:dbname=postgres;host=' . join(',', ('127.0.0.1') x @members)
	  . ';port=' . join(',', @port{@members}) . ';target_session_attrs=read-write;connect_timeout=2';
	my $stopped = 0;
	my $connection;

	local $SIG{TERM} = sub { $stopped = 1 };
	until ($stopped)
	{
		eval {
			$connection //= DBI->connect($source, 'postgres', '', { RaiseError => 1, PrintError => 0, pg_server_prepare => 0 });
			$work->($connection);
			1;
		} or do {
			$connection = undef;
			usleep(100_000);
		};
		usleep(2_000);
	}
	return;
}

# Insert row after row.  Only what the server has acknowledged is written down.
sub client
{
	my ($client) = @_;
	my $n = 0;

	open(my $fh, '>', "$dir/client_$client") or die "could not open $dir/client_$client: $!";
	with_connection(
		sub {
			my ($connection) = @_;
			my $began = clock_gettime(CLOCK_MONOTONIC);
			my ($id, $flake, $plain) = $connection->selectrow_array(
				"INSERT INTO journal (client, n) VALUES ($client, " . ++$n . ') RETURNING id, flake, plain');
			my $ended = clock_gettime(CLOCK_MONOTONIC);
			printf $fh "%d %.6f %.6f %d %s %s %s\n", $client, $began, $ended, $n, $id, $flake, $plain;
		});
	close($fh);
	return;
}

# One statement reads a batch, keeps it, and moves the reader's place.
sub start_readers
{
	foreach my $reader (sort keys %bound)
	{
		query('one', "INSERT INTO place VALUES ('$reader', '00000000-0000-0000-0000-000000000000')");
		my $poll = qq{
			WITH batch AS MATERIALIZED (
				SELECT id FROM journal WHERE id > (SELECT last FROM place WHERE reader = '$reader' FOR UPDATE)
					AND $bound{$reader} ORDER BY id LIMIT 1000
			), kept AS (
				INSERT INTO got (reader, id) SELECT '$reader', id FROM batch ORDER BY id
			)
			UPDATE place SET last = (SELECT id FROM batch ORDER BY id DESC LIMIT 1)
			WHERE reader = '$reader' AND EXISTS (SELECT FROM batch)};
		spawn("reader $reader", \&with_connection, sub { $_[0]->do($poll) });
	}
	return;
}

# Wait until both readers are at the last row.
sub readers_catch_up
{
	my $at_end = q{SELECT count(*) FROM place WHERE last = (SELECT id FROM journal ORDER BY id DESC LIMIT 1)};
	return eval { wait_for('the end of the readers', sub { query($promoted, $at_end) == keys %bound }); 1 };
}

# What a reader got, against the rows of the journal
sub read_by
{
	my ($reader) = @_;
	my %read;

	@read{qw(rows lost twice back)} = split(/\|/, query($promoted, qq{
		SELECT count(*), (SELECT count(*) FROM journal AS j
				WHERE NOT EXISTS (SELECT FROM got AS g WHERE g.id = j.id AND g.reader = '$reader')),
			count(*) - count(DISTINCT id), count(*) FILTER (WHERE id <= before)
		FROM (SELECT id, lag(id) OVER (ORDER BY n) AS before FROM got WHERE reader = '$reader') AS s}));
	return \%read;
}

#
# The figures
#

# Rows out of order are those whose key is not larger than all keys acknowledged before the
# row's call began.  Keys are compared as text of one length.
sub figures
{
	my %figure;
	my @out_of_order = map { qq{
		SELECT count(*) FROM (SELECT key, begins, max(key) FILTER (WHERE NOT begins) OVER (ORDER BY at, begins DESC ROWS UNBOUNDED PRECEDING) AS largest
			FROM seen, lpad($_\::text, 36, '0') AS key, LATERAL (VALUES (began, true), (ended, false)) AS v (at, begins)) AS s
		WHERE begins AND key <= largest} } qw(id flake plain);

	query($promoted, 'CREATE UNLOGGED TABLE seen (client int, began float8, ended float8, n int, id uuid, flake bigint, plain uuid)');
	query($promoted, "COPY seen FROM STDIN (DELIMITER ' ');\n" . join('', map { slurp_file("$dir/client_$_") } 1 .. $clients) . "\\.\n");
	@figure{qw(acknowledged old new between duplicates lost outage id flake plain)} = split(/\|/, query($promoted, qq{
		SELECT count(*), count(*) FILTER (WHERE ended < $killed), count(*) FILTER (WHERE began > $killed),
			count(*) FILTER (WHERE began <= $killed AND ended >= $killed),
			2 * count(*) - count(DISTINCT id) - count(DISTINCT flake),
			count(*) FILTER (WHERE NOT EXISTS (SELECT FROM journal AS j
				WHERE (j.client, j.n, j.id, j.flake) = (s.client, s.n, s.id, s.flake))),
			max(ended - before), ($out_of_order[0]), ($out_of_order[1]), ($out_of_order[2])
		FROM (SELECT *, lag(ended) OVER (ORDER BY ended) AS before FROM seen) AS s}));
	$figure{unanswered} = $rows - $figure{acknowledged} + $figure{lost};
	return %figure;
}

#
# The end
#

# The processes that use the directory: by their place, or by an argument
sub processes
{
	my @found;
	foreach my $pid (map { m{(\d+)$} ? $1 : () } glob('/proc/[0-9]*'))
	{
		next if $pid == $$;
		my $place = readlink("/proc/$pid/cwd") // '';
		open(my $fh, '<', "/proc/$pid/cmdline") or next;
		my $command = do { local $/; <$fh> } // '';
		push @found, $pid if index("$place $command", $dir) >= 0;
	}
	return @found;
}

# End processes by name, with SIGKILL after half a minute
sub stop
{
	my ($pattern) = @_;
	my @names = grep { /$pattern/ } keys %pid;
	my @running = @names;

	kill 'TERM', @pid{@names};
	for (1 .. 120)
	{
		@running = grep { waitpid($pid{$_}, WNOHANG) == 0 } @running or last;
		usleep(250_000);
	}
	kill 'KILL', @pid{@running};
	waitpid($_, 0) for @pid{@running};
	delete @pid{@names};
	return;
}

# Stop the clients and readers, then each Patroni, which stops its server, then etcd.
sub stop_all
{
	stop($_) foreach qr/^(client|reader)/, qr/^(one|two|three)$/, qr/^etcd$/;
	foreach my $file (glob("$dir/data_*/postmaster.pid"))
	{
		my $postmaster = (split(/\n/, slurp_file($file)))[0];
		kill 'QUIT', $postmaster if (readlink("/proc/$postmaster/cwd") // '') eq $file =~ s{/postmaster\.pid$}{}r;
	}
	for (1 .. 40)
	{
		last unless processes();
		usleep(250_000);
	}
	return;
}
