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
use lib 'test/perl';
use CombTest;
use CombSoak;
use List::Util qw(shuffle);
use Time::HiRes qw(usleep);

need_faketime();
begin_soak('soak', 15);

# In seconds.  Some steps of the clock are longer than this, some shorter.
my $max_drift = 2;

# Shifts of a server's clock, in seconds.  Two different shifts differ by at least
# a second.
my @shifts = (-7200, -60, -5, (-1, 0, 1) x 3, 5, 60, 3600);

my $dir = tempdir();
my %shift;                      # of each server's clock
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
			\&crash_primary, \&fail_over, \&switch_over, \&crash_backend,
			\&clock_back, (\&terminate_sessions) x 3, (\&move_clock) x 10))
	{
		usleep(100_000 + int(rand(200_000)));
		$event->();
	}
	$rounds++;
}
# Clients end when their sessions end.
stop_loops($primary, 'soak');
stop_loops($standby, 'behind');
my $seconds = time() - $started;
note("$rounds rounds in $seconds seconds: " . join(', ', map { "$events{$_} $_" } sort keys %events));
is($events{$_}, $rounds, "$_, one a round") foreach ('crashes', 'failovers', 'switchovers', 'backends killed');

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
cmp_ok(scalar(keys %shown), '>', $rounds, 'clients saw ordered keys of several incarnations of the server');
cmp_ok($count{ordered}, '>', 20 * $rounds, 'clients were shown many ordered keys');
clean('shown', 'ordered keys and Snowflakes increase, over crashes and promotions');

# Each key that was shown or committed
my $columns = q{id::text, mssql::text, at::text, key::text, epoch || ':' || number};
query("COPY (SELECT unnest(ARRAY[$columns]) || ' row' FROM made JOIN " . lives('epoch') . " USING (life)) TO '$dir/rows'");
$ENV{LC_ALL} = 'C';
is(system("cat $dir/rows >>$dir/all"), 0, 'the keys in the table are added');
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
is( query(qq{
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
# Whatever was lost, the rows of an incarnation are above all rows of earlier ones.
is( query('
	SELECT count(*) > 1, count(*) FILTER (WHERE first_key <= last_key), count(*) FILTER (WHERE first_number <= last_number)
	FROM (SELECT min(key::text) AS first_key, lag(max(key::text)) OVER (ORDER BY place) AS last_key,
	             min(number) AS first_number, lag(max(number)) OVER (ORDER BY place) AS last_number
	      FROM made JOIN ' . lives('order') . ' USING (life) GROUP BY place) AS lives'),
	't|0|0',
	'committed ordered keys and Snowflakes are above those of all earlier incarnations');
is( query(q{SET enable_seqscan = off; SELECT count(*) = (SELECT count(*) FROM made)
	FROM (SELECT FROM made WHERE mssql #>=# '00000000-0000-0000-0000-000000000000') AS all_rows}),
	't',
	'the index in SQL Server order has all rows');

$_->stop foreach ($primary, $standby);
my @wrong = map { slurp_file($_) =~ /^(.*(?:PANIC|TRAP|inconsistent page|signal (?:[^9]|\d\d)).*)$/mg }
  glob($primary->logfile =~ s/soak\d+\.log$/soak*.log/r);
is(join("\n", @wrong), '', 'no server failed by itself');
done_testing();

sub query { return $primary->safe_psql('postgres', $_[0]); }

# The incarnations as rows of an SQL query, each with its order or epoch
sub lives
{
	my ($what) = @_;
	my $name = $what eq 'order' ? 'place' : $what;
	return '(VALUES ' . join(', ', map { "('$_', $lives{$_}{$what})" } keys %lives) . ") AS lives (life, $name)";
}

#
# Servers: each has a clock of its own, as a promoted standby may be an hour behind
#

sub clock_file { return "$dir/clock." . $_[0]->name; }

sub set_clock
{
	my ($node, $shift) = @_;
	$shift{ $node->name } = $shift;
	replace_file(clock_file($node), $shift);
	$events{'clock moves'}++;
	return;
}

sub start_node
{
	my ($node, $shift) = @_;
	$shift{ $node->name } = $shift if defined $shift;
	return start_with_clock($node, clock_file($node), $shift{ $node->name });
}

# All time limits of the server are off, because the clock jumps over them.  Dynamic
# shared memory is in files of the data directory, so that a killed server leaves
# nothing behind.
sub first_node
{
	my $node = server('soak' . $nodes++, init => [ allows_streaming => 1 ], start => 0, conf => qq{
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
	start_node($node, '+0');
	begin_life($node);
	$node->safe_psql('postgres', q{
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
	system_or_bail('rm', '-rf', $primary->backup_dir);
	start_node($node, any_shift());
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

#
# Events
#

sub any_shift { return sprintf('%+d', $shifts[ int(rand(@shifts)) ]); }

sub move_clock { return set_clock(rand() < 0.8 ? $primary : $standby, any_shift()); }

# Move the clock from one end of the shifts to the other.  Near each end is a step
# just below or just above max_drift.  Clients make keys before and after each step;
# psql writes 4096 bytes at a time.
sub clock_back
{
	my ($first, $last) = @shifts[ -1, 0 ];

	foreach my $shift ($first, $first - 0.8 * $max_drift, $last + 1.2 * $max_drift, $last)
	{
		my @before = shown_bytes();
		set_clock($primary, sprintf('%+.1f', $shift));
		for (1 .. 100)
		{
			my @now = shown_bytes();
			last unless grep { $now[$_] < $before[$_] + 4_097 } 0 .. $#now;
			usleep(100_000);
		}
	}
	return;
}

# How many bytes each client of the primary was shown so far
sub shown_bytes
{
	return map {
		my $bytes = 0;
		$bytes += -s $_ foreach glob("$dir/slot$_/*");
		$bytes
	} 1 .. 3;
}

sub terminate_sessions
{
	terminate_backend($primary, 'soak') foreach 0 .. int(rand(3));
	$events{'terminations'}++;
	return;
}

# The postmaster survives, ends all other processes and starts them again.
sub crash_backend
{
	usleep(100_000) until kill_backend($primary, 'soak');
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

# A failover loses WAL that the standby did not get.  Later keys must be larger than
# the keys that are still there, not than all keys that a client saw.
sub fail_over
{
	crash($primary);
	# A killed server that does not start again leaves a small piece of shared memory,
	# by which the next postmaster would recognize the server.
	my $line = (split(/\n/, slurp_file($primary->data_dir . '/postmaster.pid')))[6];
	system("ipcrm -m $1 2>/dev/null") if defined $line && $line =~ /^\s*\d+\s+(\d+)\s*$/;
	$epoch++;
	take_over();
	$events{'failovers'}++;
	return;
}

# A primary that stops waits until its standby has all WAL.
sub switch_over
{
	wait_until($primary, q{SELECT count(*) = 1 FROM pg_stat_replication WHERE state = 'streaming'});
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
	wait_until($primary, 'SELECT NOT pg_is_in_recovery()');
	begin_life($primary);
	$old->clean_node;
	$standby = next_standby();
	return;
}

#
# Clients: each session of psql writes a file of its own
#

sub start_clients
{
	foreach my $slot (1 .. 4)
	{
		my ($name, $server) = $slot < 4 ? qw(soak primary) : qw(behind standby);
		my $file = script(shown_sql($slot < 4));
		mkdir("$dir/slot$slot") or die "could not create $dir/slot$slot: $!";
		start_loop($name, 'sh', '-c',
			qq{psql -XqAt -F ' ' -v ON_ERROR_STOP=1 -d "\$(cat $dir/$server)" -f $file >$dir/slot$slot/\$(date +%s%3N)});
	}
	my $file = script(q{
\set n :n + 1
\set session :run * 100 + :client_id
BEGIN;
INSERT INTO made (session, n) VALUES (:session, :n);
COMMIT;
});
	start_loop('soak', 'sh', '-c',
		qq{pgbench -n -M prepared -c 4 -j 2 -R 200 -T 10 -D n=0 -D run=\$(date +%s%3N) -f $file "\$(cat $dir/primary)"});
	return;
}

# A session of this script shows all keys that it makes.
# The client pauses, because pg_sleep() would wait for the clock to come back.
sub shown_sql
{
	my ($on_primary) = @_;
	my $keys = "SELECT 'key', layout, us(before), us(after), id, us(comb_timestamp(id, layout)) FROM (SELECT %s AS layout,
	clock_timestamp() AS before, %s AS id, clock_timestamp() AS after FROM %s OFFSET 0) AS made;\n";
	my $block = sprintf($keys, "'uuidv7'::text", 'comb_generate()', 'generate_series(1, 5)')
	  . sprintf($keys, 'layout', 'comb_generate(layout)', 'mixture')
	  . "SELECT 'at', us(at), id, us(comb_timestamp(id)) FROM (SELECT at, comb_at(at) AS id FROM
	(SELECT clock_timestamp() AS at FROM generate_series(1, 3) OFFSET 0) AS times OFFSET 0) AS made;\n";
	$block .= "SELECT 'ordered', comb_generate_ordered(), comb_snowflake() FROM generate_series(1, 3);\n" if $on_primary;
	$block .= "\\! sleep 0.03\n";
	return "SELECT 'life', life();\n" . "BEGIN;\n${block}ROLLBACK;\n$block" x 200;
}

#
# Checks
#

# Check one client's sessions, in order
sub check_slot
{
	my ($slot) = @_;
	my %seen;    # the last ordered keys, by epoch

	foreach my $file (sort glob("$slot/*"))
	{
		my %process = (falls => { tick => 0, '100ns' => 0 });
		foreach my $line (split(/\n/, slurp_file($file)))
		{
			my ($what, @fields) = split(/ /, $line);
			if    ($what eq 'key')     { check_key(\%process, $line, @fields); }
			elsif ($what eq 'at')      { check_at($line, @fields); }
			elsif ($what eq 'ordered') { check_ordered($lives{ $process{life} }, \%seen, $line, @fields); }
			elsif ($what eq 'life')    { $process{life} = $fields[0]; }
			else                       { blame('other', $line); }
		}
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
	return is(join("\n", @{ $bad{$what} }), '', "$name (SEED=$seed)");
}

# A process keeps two series of times: layouts that count 100 ns have a series of
# their own.  A series falls when the process follows the clock back.  After a fall
# the next key of each layout of the series may be smaller, once.  The coarsest
# layout tells times to 4 ms.
sub check_key
{
	my ($process, $line, $layout, $before, $after, $id, $us) = @_;
	my $series = $layout =~ /^(morris|efcore)$/ ? '100ns' : 'tick';
	my $place  = place($layout, $id);
	my $last   = $process->{last}{$layout};
	my $was    = $process->{time}{$series};
	my $grain  = 4000;

	$count{key}++;
	print $all "$id key\n";
	if (defined $was && $was - $us > $max_drift * 1_000_000 - $grain)
	{
		$process->{falls}{$series}++;
		$count{falls}++;
	}
	if (defined $last && $place le $last->[0])
	{
		$count{down}++;
		blame('order', $line) unless $process->{falls}{$series} > $last->[1];
	}
	$process->{last}{$layout} = [ $place, $process->{falls}{$series} ];
	$process->{time}{$series} = $us;

	# Shifts differ by a second or more.  If the two readings are close together, the
	# clock did not move between them.
	my $steady = $after >= $before && $after <= $before + 200_000;
	$count{ $steady ? 'steady' : 'moved' }++;
	blame('time', $line) if $steady && !($us > $before - $grain && $us <= $after + $max_drift * 1_000_000);
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

# Whether an ordered key and a Snowflake are above two others
sub above
{
	my ($new, $old) = @_;
	return $new->[0] gt $old->[0] && $new->[1] > $old->[1];
}

# A key must be larger than all keys that this client saw before, from any process
# and any server.
sub check_ordered
{
	my ($life, $seen, $line, @keys) = @_;
	my $in = $life->{epoch};

	$count{ordered}++;
	print $all "$keys[0] ordered\n$in:$keys[1] snowflake\n";
	blame('shown', $line) if $seen->{$in} && !above(\@keys, $seen->{$in});
	$seen->{$in} = \@keys;

	my $range = $shown{ $life->{order} } //= { epoch => $in, first => [@keys], last => [@keys] };
	$range->{first}[0] = $keys[0] if $keys[0] lt $range->{first}[0];
	$range->{first}[1] = $keys[1] if $keys[1] < $range->{first}[1];
	$range->{last}[0]  = $keys[0] if $keys[0] gt $range->{last}[0];
	$range->{last}[1]  = $keys[1] if $keys[1] > $range->{last}[1];
	return;
}

# The first key of an incarnation must be larger than all keys that any client saw in
# earlier incarnations.
sub check_lives
{
	my @order = sort { $a <=> $b } keys %shown;
	foreach my $i (1 .. $#order)
	{
		my ($before, $now) = @shown{ @order[ $i - 1, $i ] };
		blame('shown', "life $order[$i]: @{ $now->{first} } after @{ $before->{last} }")
		  if $before->{epoch} == $now->{epoch} && !above($now->{first}, $before->{last});
	}
	return;
}

# A key's bytes as text, in the order in which the layout's database compares them
sub place
{
	my ($layout, $id) = @_;
	return $id if $layout =~ /^(uuidv7|ulid|rtcomb_postgresql|rtcomb_postgresql_datetime|sequential_string)$/;
	my @dotnet = (unpack('(A2)16', $id =~ tr/-//dr))[ 3, 2, 1, 0, 5, 4, 7, 6, 8 .. 15 ];
	return join('', @dotnet) if $layout =~ /^(rtcomb_binary|rtcomb_binary_datetime|sequential_binary)$/;
	return join('', @dotnet[ 10 .. 15, 8, 9, 6, 7, 4, 5, 0 .. 3 ]);
}
