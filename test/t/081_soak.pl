# Everything at once, again and again: load, a clock that goes back and forth,
# terminated sessions, killed backends and servers, promoted standbys.  At the end
# the test checks each promise.
#
# DURATION sets the seconds, 15 by default; the test finishes a round that has
# begun.  SEED repeats a run's order of events.  The moment of each event depends on
# the machine.
#
# There are two kinds of clients.  Those of psql record every key that they are shown,
# including keys of transactions that roll back.  Those of pgbench insert keys into a
# table, which shows the keys that were committed and survived.
#
# An incarnation of a server, "life" in the code, is the time from a start of the
# postmaster, or from the promotion of a standby, to the server's end.
use strict;
use warnings;

use FindBin qw($RealBin);
use lib "$RealBin/../perl";
use CombTest;
use List::Util qw(shuffle);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

need_faketime();

my $duration = $ENV{DURATION} || 15;
my $seed     = $ENV{SEED}     || (time() * 65536 + $$) % 1_000_000_007;
srand($seed);
diag("soak of $duration seconds, SEED=$seed");

# In seconds.  Some steps of the clock are longer than this, some shorter.
my $max_drift = 2;

# Shifts of a server's clock, in seconds.  Two different shifts differ by at least
# a second.
my @shifts = (-7200, -60, -5, (-1, 0, 1) x 3, 5, 60, 3600);

my $dir = PostgreSQL::Test::Utils::tempdir();
my @clients;
my %lives;                      # incarnations, by postmaster and start: order, epoch
my $epoch = 0;                  # grows when a promotion loses what clients saw
my $nodes = 0;
my ($primary, $standby);

#
# The run
#
$primary = first_node();
$standby = next_standby();
start_clients();

my $started = time();
my ($rounds, %events) = (0);
while ($rounds == 0 || time() - $started < $duration)
{
	foreach my $event (shuffle(
			\&crash_primary, \&fail_over, \&switch_over, \&kill_backend,
			\&clock_back, (\&terminate_sessions) x 3, (\&move_clock) x 10))
	{
		usleep(100_000 + int(rand(200_000)));
		$event->();
	}
	$rounds++;
}
stop_clients();
my $seconds = time() - $started;
note("$rounds rounds in $seconds seconds: "
	  . join(', ', map { "$events{$_} $_" } sort keys %events));
foreach my $event ('crashes', 'failovers', 'switchovers', 'backends killed')
{
	is($events{$event}, $rounds, "$event, one a round");
}

#
# Check the keys that clients were shown
#
my %count = map { $_ => 0 } qw(key at ordered steady moved falls down);
my %bad   = map { $_ => [] } qw(order time at other shown);
my %shown;                      # first and last ordered keys of each incarnation
open(my $all, '>', "$dir/all") or die "could not open $dir/all: $!";
check_slot($_) foreach (sort glob("$dir/slot*"));
close($all);
note(join(', ', map { "$count{$_} $_" } sort keys %count));

cmp_ok($count{key},    '>', 200 * $rounds, 'clients were shown many keys');
cmp_ok($count{falls},  '>', 0,              'some processes had to follow the clock back');
cmp_ok($count{steady}, '>', 9 * $count{moved}, 'the clock mostly stood still while a key was made');
clean('order', 'the keys of a process increase, in each layout, unless max_drift is exceeded');
clean('time',  'no key is behind the clock, nor ahead of it by more than max_drift');
clean('at',    'keys for a given time tell that time');
clean('other', 'clients were shown nothing else');
check_lives();
cmp_ok($count{ordered}, '>', 20 * $rounds, 'clients were shown many ordered keys');
clean('shown', 'ordered keys and Snowflakes increase, over crashes and promotions');

$ENV{LC_ALL} = 'C';
add_rows();
my $all_keys = `wc -l < $dir/all` + 0;
my $repeated = `cut -d ' ' -f 1 $dir/all | sort -T $dir | uniq -d | head -n 5`;
is($repeated, '', "of $all_keys keys shown or committed none was made twice");
my $unsorted = `grep ' at ' $dir/all | sort -T $dir | awk '\$3 < last { print } { last = \$3 }' | head -n 5`;
is($unsorted, '', 'keys for given times sort by them to the microsecond, whoever made them');

#
# Check the keys that were committed
#
cmp_ok(query('SELECT count(*) FROM made'), '>', 0, 'rows are left');
# The times of two rows' four keys show whether the process followed the clock back.
is( query(
		qq{
	SELECT count(*) FILTER (WHERE id <= id_before),
	       count(*) FILTER (WHERE comb_mssql_key(mssql) <= comb_mssql_key(mssql_before))
	FROM (SELECT id, mssql, lag(id) OVER w AS id_before, lag(mssql) OVER w AS mssql_before
	      FROM made WINDOW w AS (PARTITION BY session ORDER BY n)) AS lagged
	WHERE greatest(us(comb_timestamp(id_before)) - us(comb_timestamp(mssql_before, 'rtcomb_sql')),
	               us(comb_timestamp(mssql_before, 'rtcomb_sql')) - us(comb_timestamp(id)),
	               us(comb_timestamp(id)) - us(comb_timestamp(mssql, 'rtcomb_sql')))
	      <= $max_drift * 1000000 - 4000}),
	'0|0',
	'committed keys of a process increase, unless max_drift is exceeded');
committed_lives();
is( query('SET enable_seqscan = off; SELECT count(*) = (SELECT count(*) FROM made) '
		  . "FROM (SELECT FROM made WHERE mssql #>=# '00000000-0000-0000-0000-000000000000') AS all_rows"),
	't',
	'the index in SQL Server order has all rows');

$primary->stop;
$standby->stop;
my @wrong = map { slurp_file($_) =~ /^(.*(?:PANIC|TRAP|inconsistent page|signal (?:[^9]|\d\d)).*)$/mg }
  glob($primary->logfile =~ s/soak\d+\.log$/soak*.log/r);
is(join("\n", @wrong), '', 'no server failed by itself');
done_testing();

END
{
	local $?;
	$_->kill_kill foreach (@clients);
}

#
# Servers
#

# Each server has a clock of its own: a promoted standby may be an hour behind.
sub clock_file
{
	my ($node) = @_;
	return "$dir/clock." . $node->name;
}

sub start_node
{
	my ($node) = @_;
	local $ENV{FAKETIME_TIMESTAMP_FILE} = clock_file($node);
	local $ENV{FAKETIME_NO_CACHE}       = 1;
	start_at($node, '');
	return;
}

# All time limits of the server are off, because the clock jumps over them.  Dynamic
# shared memory is in files of the data directory, so that a killed server leaves
# nothing behind.
sub first_node
{
	my $node = PostgreSQL::Test::Cluster->new('soak' . $nodes++);
	$node->init(allows_streaming => 1);
	$node->append_conf(
		'postgresql.conf', qq{
autovacuum = off
checkpoint_timeout = 1d
wal_sender_timeout = 0
wal_receiver_timeout = 0
wal_retrieve_retry_interval = 100ms
authentication_timeout = 600s
restart_after_crash = on
dynamic_shared_memory_type = mmap
max_connections = 40
pg_comb.max_drift = ${max_drift}s
pg_comb.snowflake_instance = 5
pg_comb.lease_duration = 200ms
});
	replace_file(clock_file($node), '+0');
	start_node($node);
	begin_life($node);
	$node->safe_psql(
		'postgres', q{
		CREATE EXTENSION pg_comb_ordered CASCADE;
		-- the server's incarnation: the postmaster's process id and start
		CREATE FUNCTION life() RETURNS text STABLE LANGUAGE sql AS
			$$ SELECT split_part(pid, E'\n', 1) || '.' || split_part(pid, E'\n', 3)
			   FROM pg_read_file('postmaster.pid') AS pid $$;
		CREATE FUNCTION us(at timestamptz) RETURNS bigint IMMUTABLE LANGUAGE sql AS
			$$ SELECT (extract(epoch FROM at) * 1000000)::bigint $$;
		-- a fixed order that mixes the layouts
		CREATE TABLE mixture AS
			SELECT layout FROM comb_layouts() WHERE generates ORDER BY md5(layout::text);
		CREATE TABLE made (
			session bigint, n int, life text DEFAULT life(),
			id uuid PRIMARY KEY DEFAULT comb_generate(),
			mssql uuid DEFAULT comb_generate('rtcomb_sql'),
			at uuid UNIQUE DEFAULT comb_at(clock_timestamp()),
			key uuid UNIQUE DEFAULT comb_generate_ordered(),
			number bigint UNIQUE DEFAULT comb_snowflake());
		CREATE UNIQUE INDEX made_mssql ON made (mssql comb_mssql_ops);
	});
	return $node;
}

sub next_standby
{
	my $node = PostgreSQL::Test::Cluster->new('soak' . $nodes++);
	$primary->backup($node->name);
	$node->init_from_backup($primary, $node->name, has_streaming => 1);
	PostgreSQL::Test::Utils::system_or_bail('rm', '-rf', $primary->backup_dir);
	replace_file(clock_file($node), any_shift());
	start_node($node);
	replace_file("$dir/standby", $node->connstr('postgres'));
	return $node;
}

# Let clients connect.  A standby's incarnation as a primary begins with its
# promotion.
sub begin_life
{
	my ($node) = @_;
	my ($pid, undef, $start) = split(/\n/, slurp_file($node->data_dir . '/postmaster.pid'));
	$lives{"$pid.$start"} = { order => scalar(keys %lives), epoch => $epoch };
	replace_file("$dir/primary", $node->connstr('postgres'));
	return;
}

# Run a query.  A jump of the clock can break a connection, and a starting server can
# refuse it before psql has the query.  The function therefore tries again, for 30
# seconds.
sub query
{
	my ($sql, $node) = @_;
	$node = $primary unless defined $node;
	for (1 .. 120)
	{
		my ($stdout, $stderr);
		my $rc = eval {
			$node->psql('postgres', $sql,
				stdout => \$stdout, stderr => \$stderr, timeout => 60);
		};
		die $@ if $@ && $@ !~ /Broken pipe/;
		return $stdout if defined $rc && $rc == 0;
		die "query failed: $sql\n$stderr" unless !defined $rc || $rc == 2;
		usleep(250_000);
	}
	die "no connection for: $sql";
}

# Wait until the query is true, for a minute
sub wait_until
{
	my ($sql) = @_;
	for (1 .. 240)
	{
		return if query($sql) eq 't';
		usleep(250_000);
	}
	die "never true: $sql";
}

#
# Events
#

sub any_shift { return sprintf('%+d', $shifts[ int(rand(@shifts)) ]); }

sub move_clock
{
	my $node  = rand() < 0.8 ? $primary : $standby;
	replace_file(clock_file($node), any_shift());
	$events{'clock moves'}++;
	return;
}

# Move the clock from one end of the shifts to the other.  Near each end is a step
# just below or just above max_drift.  Clients make keys before and after each step;
# psql writes 4096 bytes at a time.
sub clock_back
{
	my ($first, $last) = @shifts[ -1, 0 ];

	foreach my $shift ($first, $first - 0.8 * $max_drift, $last + 1.2 * $max_drift, $last)
	{
		my %shown = shown_bytes();
		replace_file(clock_file($primary), sprintf('%+.1f', $shift));
		for (1 .. 100)
		{
			my %now = shown_bytes();
			last unless grep { $now{$_} < $shown{$_} + 4_097 } keys %now;
			usleep(100_000);
		}
	}
	$events{'clock moves'} += 4;
	return;
}

# How many bytes each client of the primary was shown so far
sub shown_bytes
{
	my %bytes;
	foreach my $slot (1 .. 3)
	{
		$bytes{$slot} = 0;
		$bytes{$slot} += -s $_ foreach (glob("$dir/slot$slot/*"));
	}
	return %bytes;
}

sub terminate_sessions
{
	my $few = 1 + int(rand(3));
	query( "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
	        WHERE application_name = 'soak' LIMIT $few",
		$primary);
	$events{'terminations'}++;
	return;
}

# The postmaster survives, ends all other processes and starts them again.
sub kill_backend
{
	my $pid = '';
	for (1 .. 100)
	{
		$pid = query("SELECT pid FROM pg_stat_activity WHERE application_name = 'soak' LIMIT 1");
		last if $pid ne '' && kill('KILL', $pid);
		usleep(100_000);
	}
	query('SELECT true');
	$events{'backends killed'}++;
	return;
}

sub crash_primary
{
	crash($primary);
	start_node($primary);
	begin_life($primary);
	$events{'crashes'}++;
	return;
}

# A killed server that does not start again leaves a small piece of shared memory,
# by which the next postmaster would recognize the server.
sub forget_memory
{
	my ($node) = @_;
	my $line = (split(/\n/, slurp_file($node->data_dir . '/postmaster.pid')))[6];
	system("ipcrm -m $1 2>/dev/null") if defined $line && $line =~ /^\s*\d+\s+(\d+)\s*$/;
	return;
}

# A failover loses WAL that the standby did not get.  Later keys must be larger than
# the keys that are still there, not than all keys that a client saw.
sub fail_over
{
	crash($primary);
	forget_memory($primary);
	$epoch++;
	take_over();
	$events{'failovers'}++;
	return;
}

# A primary that stops waits until its standby has all WAL.
sub switch_over
{
	wait_until(q{SELECT count(*) = 1 FROM pg_stat_replication WHERE state = 'streaming'});
	$primary->stop;
	take_over();
	$events{'switchovers'}++;
	return;
}

sub take_over
{
	my $old = $primary;

	($primary, $standby) = ($standby, undef);
	$primary->promote;
	wait_until('SELECT NOT pg_is_in_recovery()');
	begin_life($primary);
	$old->clean_node;
	$standby = next_standby();
	return;
}

#
# Clients: each client runs sessions in a loop, until the file "stop" exists
#

sub start_loop
{
	my ($name, $command) = @_;
	open(my $fh, '>', "$dir/$name.sh") or die "could not open $dir/$name.sh: $!";
	print $fh <<"END";
run=100000
until [ -e $dir/stop ]; do
	run=\$((run + 1))
	$command
	sleep 0.05
done
END
	close($fh);
	local $ENV{PGAPPNAME} = 'soak';
	push @clients, IPC::Run::start([ 'sh', "$dir/$name.sh" ],
		'<', '/dev/null', '>', "$dir/$name.out", '2>', "$dir/$name.err");
	return;
}

sub start_clients
{
	append_to_file("$dir/shown.sql", shown_sql(1));
	append_to_file("$dir/shown_on_standby.sql", shown_sql(0));
	append_to_file("$dir/load.sql", q{
\set n :n + 1
\set session :run * 100 + :client_id
BEGIN;
INSERT INTO made (session, n) VALUES (:session, :n);
COMMIT;
});
	foreach my $slot (1 .. 4)
	{
		my ($server, $script) = $slot < 4 ? qw(primary shown) : qw(standby shown_on_standby);
		mkdir("$dir/slot$slot") or die "could not create $dir/slot$slot: $!";
		start_loop("slot$slot",
			qq{psql -XqAt -F ' ' -v ON_ERROR_STOP=1 -d "\$(cat $dir/$server)" }
			  . qq{-f $dir/$script.sql >$dir/slot$slot/\$run});
	}
	start_loop('load',
		qq{pgbench -n -M prepared -c 4 -j 2 -R 200 -T 10 -D n=0 -D run=\$run }
		  . qq{-f $dir/load.sql "\$(cat $dir/primary)"});
	return;
}

# A session of this script shows all keys that it makes.
# The client pauses, because pg_sleep() would wait for the clock to come back.
sub shown_sql
{
	my ($on_primary) = @_;
	my $key = "'key', layout, us(before), us(after), id, us(comb_timestamp(id, layout))";
	my $around = 'clock_timestamp() AS before, %s AS id, clock_timestamp() AS after';
	my $block = sprintf("SELECT $key FROM (SELECT 'uuidv7'::text AS layout, $around "
		  . "FROM generate_series(1, 5) OFFSET 0) AS made;\n", 'comb_generate()');
	$block .= sprintf("SELECT $key FROM (SELECT layout, $around FROM mixture OFFSET 0) AS made;\n",
		'comb_generate(layout)');
	$block .= "SELECT 'at', us(at), id, us(comb_timestamp(id)) "
	  . "FROM (SELECT at, comb_at(at) AS id FROM (SELECT clock_timestamp() AS at "
	  . "FROM generate_series(1, 3) OFFSET 0) AS times OFFSET 0) AS made;\n";
	$block .= "SELECT 'ordered', comb_generate_ordered(), comb_snowflake() FROM generate_series(1, 3);\n"
	  if $on_primary;
	$block .= "\\! sleep 0.03\n";
	return "SELECT 'life', life();\n" . "BEGIN;\n${block}ROLLBACK;\n$block" x 200;
}

# Clients end when their sessions end.
sub stop_clients
{
	append_to_file("$dir/stop", '');
	for (1 .. 100)
	{
		foreach my $node ($primary, $standby)
		{
			query("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
				  . "WHERE application_name = 'soak'", $node);
		}
		last unless grep { $_->pumpable } @clients;
		usleep(100_000);
	}
	$_->finish foreach (@clients);
	@clients = ();
	return;
}

#
# Checks
#

# Check one client's sessions, in order
sub check_slot
{
	my ($slot) = @_;
	return unless -d $slot;
	my %seen = (key => {}, number => {});    # by epoch

	foreach my $file (sort glob("$slot/*"))
	{
		my %process = (last => {}, time => {},
			falls => { tick => 0, '100ns' => 0 });
		open(my $fh, '<', $file) or die "could not open $file: $!";
		while (my $line = <$fh>)
		{
			chomp($line);
			my ($what, @fields) = split(/ /, $line);
			if    ($what eq 'key')     { check_key(\%process, $line, @fields); }
			elsif ($what eq 'at')      { check_at($line, @fields); }
			elsif ($what eq 'ordered') { check_ordered(\%process, \%seen, $line, @fields); }
			elsif ($what eq 'life')    { $process{life} = $fields[0]; }
			else                       { blame('other', $line); }
		}
		close($fh);
	}
	return;
}

sub blame
{
	my ($what, $line) = @_;
	push @{ $bad{$what} }, $line if @{ $bad{$what} } < 5;
	return;
}

sub clean
{
	my ($what, $name) = @_;
	is(join("\n", @{ $bad{$what} }), '', "$name (SEED=$seed)");
	return;
}

# A process keeps two series of times: layouts that count 100 ns have a series of
# their own.  A series falls when the process follows the clock back.  After a fall
# the next key of each layout of the series may be smaller, once.  The coarsest
# layout tells times to 4 ms.
sub check_key
{
	my ($process, $line, $layout, $before, $after, $id, $us) = @_;
	my $counted = $layout =~ /^(morris|efcore)$/ ? '100ns' : 'tick';
	my $place   = place($layout, $id);
	my $last    = $process->{last}{$layout};
	my $grain   = 4000;

	$count{key}++;
	print $all "$id key\n";
	if (defined $process->{time}{$counted}
		&& $process->{time}{$counted} - $us > $max_drift * 1_000_000 - $grain)
	{
		$process->{falls}{$counted}++;
		$count{falls}++;
	}
	if (defined $last && $place le $last->[0])
	{
		$count{down}++;
		blame('order', $line) unless $process->{falls}{$counted} > $last->[1];
	}
	$process->{last}{$layout}  = [ $place, $process->{falls}{$counted} ];
	$process->{time}{$counted} = $us;

	# Shifts differ by a second or more.  If the two readings are close together, the
	# clock did not move between them.
	if ($after < $before || $after > $before + 200_000)
	{
		$count{moved}++;
		return;
	}
	$count{steady}++;
	blame('time', $line)
	  unless $us > $before - $grain && $us <= $after + $max_drift * 1_000_000;
	return;
}

sub check_at
{
	my ($line, $us, $id, $read) = @_;
	$count{at}++;
	print $all "$id at $us\n";
	blame('at', $line) unless $read == $us - $us % 1000;
	return;
}

# A key must be larger than all keys that this client saw before, from any process
# and any server.
sub check_ordered
{
	my ($process, $seen, $line, $key, $number) = @_;
	my $life = $lives{ $process->{life} };
	my $in   = $life->{epoch};

	$count{ordered}++;
	print $all "$key ordered\n$in:$number snowflake\n";
	blame('shown', $line)
	  if defined $seen->{key}{$in}
	  && ($key le $seen->{key}{$in} || $number <= $seen->{number}{$in});
	$seen->{key}{$in}    = $key;
	$seen->{number}{$in} = $number;

	my $range = $shown{ $life->{order} } ||=
	  { epoch => $in, first => [ $key, $number ], last => [ $key, $number ] };
	$range->{first}[0] = $key    if $key lt $range->{first}[0];
	$range->{first}[1] = $number if $number < $range->{first}[1];
	$range->{last}[0]  = $key    if $key gt $range->{last}[0];
	$range->{last}[1]  = $number if $number > $range->{last}[1];
	return;
}

# The first key of an incarnation must be larger than all keys that any client saw in
# earlier incarnations.
sub check_lives
{
	my $before;
	foreach my $order (sort { $a <=> $b } keys %shown)
	{
		my $now = $shown{$order};
		blame('shown', "life $order: @{ $now->{first} } after @{ $before->{last} }")
		  if defined $before
		  && $before->{epoch} == $now->{epoch}
		  && ($now->{first}[0] le $before->{last}[0] || $now->{first}[1] <= $before->{last}[1]);
		$before = $now;
	}
	cmp_ok(scalar(keys %shown), '>', $rounds, 'clients saw ordered keys of several incarnations of the server');
	return;
}

# A key's bytes as text, in the order in which the layout's database compares them
sub place
{
	my ($layout, $id) = @_;
	my @bytes = unpack('(A2)16', $id =~ tr/-//dr);
	return $id
	  if $layout =~ /^(uuidv7|ulid|rtcomb_postgresql|rtcomb_postgresql_datetime|sequential_string)$/;
	my @dotnet = @bytes[ 3, 2, 1, 0, 5, 4, 7, 6, 8 .. 15 ];
	return join('', @dotnet)
	  if $layout =~ /^(rtcomb_binary|rtcomb_binary_datetime|sequential_binary)$/;
	return join('', @dotnet[ 10 .. 15, 8, 9, 6, 7, 4, 5, 0 .. 3 ]);
}

# Add the keys in the table to the keys that were shown
sub add_rows
{
	my $names = join(', ', map { "('$_', $lives{$_}{epoch})" } keys %lives);
	my $columns = q{id::text, mssql::text, at::text, key::text, epoch || ':' || number};
	query("COPY (SELECT unnest(ARRAY[$columns]) || ' row' FROM made
	             JOIN (VALUES $names) AS lives (life, epoch) USING (life)) TO '$dir/rows'");
	is(system("cat $dir/rows >>$dir/all"), 0, 'the keys in the table are added');
	return;
}

# Whatever was lost, the rows of an incarnation are above all rows of earlier ones.
sub committed_lives
{
	my $names = join(', ', map { "('$_', $lives{$_}{order})" } keys %lives);
	is( query(
			"SELECT count(*) > 1, count(*) FILTER (WHERE first_key <= last_key), count(*) FILTER (WHERE first_number <= last_number)
			 FROM (SELECT min(key::text) AS first_key, lag(max(key::text)) OVER (ORDER BY place) AS last_key,
			              min(number) AS first_number, lag(max(number)) OVER (ORDER BY place) AS last_number
			       FROM made JOIN (VALUES $names) AS lives (life, place) USING (life) GROUP BY place) AS lives"),
		't|0|0',
		'committed ordered keys and Snowflakes are above those of all earlier incarnations');
	return;
}
