# Everything at once, again and again: load, a clock that goes back and forth,
# terminated sessions, killed backends and servers, promoted standbys.  At the end
# the test checks each promise.
#
# DURATION sets the seconds, 15 by default; the test finishes a round that has
# begun.  SEED repeats a run's order of events.  The moment of each event depends on
# the machine.
#
# Clients of psql record every key that they are shown, including keys of transactions
# that roll back.  Clients of pgbench insert keys into the table made, whose rows were
# committed and survived.
#
# An incarnation of a server, "life" in the code, is the time from a start of the
# postmaster, or from the promotion of a standby, to the server's end.
# logged: the clock went back, and new keys sort before earlier ones of this process
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

my $dir   = tempdir();
my $epoch = 0;                  # grows when a promotion loses what clients saw
my $nodes = 0;
my @lives;                      # in their order, each with its start and epoch

#
# The run
#
my $primary = first_node();
my $standby = next_standby();
start_clients();

# A primary that stops waits until its standby has all WAL.  A primary that crashes does
# not: later keys must be larger than the keys that are still there, not than all keys
# that a client saw.
my %ends = (
	crash => sub {
		crash($primary);
		start_node($primary, any_shift());
		begin_life();
	},
	failover => sub {
		$primary->stop('immediate');
		$epoch++;
		take_over();
	},
	switchover => sub {
		wait_until($primary, q{SELECT count(*) = 1 FROM pg_stat_replication WHERE state = 'streaming'});
		$primary->stop;
		take_over();
	},
	# The postmaster survives, ends all other processes and starts them again.
	'crash of a backend' => sub { usleep(100_000) until kill_backend($primary, 'soak') });

my $started = time();
my $rounds  = 0;
while ($rounds == 0 || time() - $started < $duration)
{
	foreach my $event (shuffle(values %ends, (\&terminate_sessions) x 3, (\&move_clock) x 11, \&set_back))
	{
		usleep(100_000 + int(rand(200_000)));
		$event->();
	}
	$rounds++;
}
# Clients end when their sessions end.
stop_loops($primary, 'soak');
stop_loops($standby, 'behind');

#
# What clients were shown
#
# A process keeps two series of times: layouts that count 100 ns have a series of
# their own.  A series falls when the process follows the clock back.  The coarsest
# layout tells times to 4 ms.
my $lives = join(', ', map { "('$lives[$_][0]', $_, $lives[$_][1])" } 0 .. $#lives);
query(qq{
	CREATE TABLE lives (life timestamptz, place int, epoch int);
	INSERT INTO lives VALUES $lives;
	CREATE TABLE shown (n bigserial, slot int, session uuid, life timestamptz, layout text,
		before timestamptz, after timestamptz, id uuid, number bigint);
	COPY shown (slot, session, life, layout, before, after, id, number)
		FROM PROGRAM 'cat $dir/shown*' (DELIMITER '|', NULL '');
	CREATE TABLE series AS
		SELECT *, count(*) FILTER (WHERE last - time > '$max_drift s'::interval - '4 ms')
			OVER (PARTITION BY session, counts_100ns ORDER BY n) AS falls
		FROM (SELECT *, lag(time) OVER (PARTITION BY session, counts_100ns ORDER BY n) AS last
		      FROM (SELECT n, session, layout, before, after, comb_timestamp(id, layout) AS time,
		                   resolution = '100 ns' AS counts_100ns,
		                   CASE sorts_in WHEN 'SQL Server' THEN comb_mssql_key(id)
		                       WHEN 'raw .NET bytes' THEN comb_guid_swap(id) ELSE id END AS key
		            FROM shown JOIN comb_layouts() USING (layout)) AS keys) AS lagged;
	-- Shifts differ by a second or more.  If the two readings are close together, the
	-- clock did not move between them.
	CREATE VIEW steady AS SELECT * FROM series WHERE after BETWEEN before AND before + '200 ms'::interval});

note("$rounds rounds in " . (time() - $started) . ' seconds, '
	  . query('SELECT count(*) + (SELECT 2 * count(*) FROM made) FROM shown') . ' keys shown or committed');
is(query(qq{
	SELECT count(*) > 200 * $rounds, (SELECT count(*) > 0.9 * count(series.*) FROM steady),
	       (SELECT count(*) > 20 * $rounds AND count(DISTINCT life) > $rounds FROM shown WHERE layout = 'ordered'),
	       (SELECT count(DISTINCT life) > 1 FROM made), max(falls) > 0
	FROM series}),
	't|t|t|t|t', 'many keys of several incarnations, a clock that mostly stands still, and processes that follow it back');

# After a fall the next key of each layout of the series may be smaller, once.
none('the keys of a process increase, in each layout, unless max_drift is exceeded', q{
	SELECT * FROM (SELECT *, lag(key) OVER w AS key_before, lag(falls) OVER w AS falls_before
	               FROM series WINDOW w AS (PARTITION BY session, layout ORDER BY n)) AS lagged
	WHERE key <= key_before AND falls = falls_before});
none('no key is behind the clock, nor ahead of it by more than max_drift', qq{
	SELECT * FROM steady WHERE time <= before - '4 ms'::interval OR time > after + '$max_drift s'::interval});
none('each key is made once', q{
	SELECT id FROM (SELECT id FROM shown UNION ALL SELECT id FROM made UNION ALL SELECT key FROM made) AS keys
	GROUP BY id HAVING count(*) > 1});
none('and each Snowflake', q{
	SELECT epoch, number FROM (SELECT life, number FROM shown UNION ALL SELECT life, number FROM made) AS numbers
	JOIN lives USING (life) WHERE number IS NOT NULL
	GROUP BY epoch, number HAVING count(*) > 1});
none('ordered keys and Snowflakes are above those that the client saw before, from any process and any server', q{
	SELECT * FROM (SELECT *, lag(id) OVER w AS id_before, lag(number) OVER w AS number_before
	               FROM shown JOIN lives USING (life) WHERE layout = 'ordered'
	               WINDOW w AS (PARTITION BY epoch, slot ORDER BY n)) AS lagged
	WHERE id <= id_before OR number <= number_before});
# Whatever was lost, the rows of an incarnation are above all rows of earlier ones.
none('and above those of all earlier incarnations, shown or committed', q{
	SELECT * FROM (SELECT *, lag(last_id) OVER w AS id_before, lag(last_number) OVER w AS number_before
	               FROM (SELECT epoch, place, min(id::text) AS first_id, max(id::text) AS last_id,
	                            min(number) AS first_number, max(number) AS last_number
	                     FROM (SELECT epoch, place, id, number FROM shown JOIN lives USING (life) WHERE layout = 'ordered'
	                           UNION ALL SELECT NULL, place, key, number FROM made JOIN lives USING (life)) AS keys
	                     GROUP BY epoch, place) AS ranges
	               WINDOW w AS (PARTITION BY epoch ORDER BY place)) AS lagged
	WHERE first_id <= id_before OR first_number <= number_before});

$_->stop foreach ($primary, $standby);
done_testing();

sub query { return $primary->safe_psql('postgres', $_[0]); }

# The query must give no rows.
sub none
{
	my ($name, $query) = @_;
	return is(query("SELECT * FROM ($query) AS wrong LIMIT 5"), '', "$name (SEED=$seed)");
}

#
# Servers: each has a clock of its own, as a promoted standby may be an hour behind
#

sub clock_file { return "$dir/clock." . $_[0]->name; }

sub start_node { return start_with_clock($_[0], clock_file($_[0]), $_[1]); }

# All time limits of the server are off, because the clock jumps over them.  Dynamic
# shared memory is in files of the data directory, so that a killed server leaves
# nothing behind.
sub first_node
{
	$primary = soak_server('soak' . $nodes++, init => [ allows_streaming => 1 ], start => 0, conf => qq{
autovacuum = off
checkpoint_timeout = 1d
wal_sender_timeout = 0
wal_receiver_timeout = 0
authentication_timeout = 600s
dynamic_shared_memory_type = mmap
pg_comb.max_drift = ${max_drift}s
pg_comb.lease_duration = 200ms
});
	start_node($primary);
	begin_life();
	query(q{
		CREATE EXTENSION pg_comb_ordered CASCADE;
		-- a fixed order that mixes the layouts
		CREATE TABLE mixture AS
			SELECT layout FROM comb_layouts() WHERE generates ORDER BY md5(layout::text);
		CREATE TABLE made (
			life timestamptz DEFAULT pg_postmaster_start_time(),
			id uuid PRIMARY KEY DEFAULT comb_generate(),
			key uuid UNIQUE DEFAULT comb_generate_ordered(),
			number bigint UNIQUE DEFAULT comb_snowflake())});
	return $primary;
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
	push @lives, [ query('SELECT pg_postmaster_start_time()'), $epoch ];
	replace_file("$dir/primary", $primary->connstr('postgres'));
	return;
}

sub take_over
{
	my $old = $primary;

	$primary = $standby;
	$primary->promote;
	begin_life();
	$old->clean_node;
	$standby = next_standby();
	return;
}

#
# Other events
#

sub any_shift { return sprintf('%+d', $shifts[ int(rand(@shifts)) ]); }

sub move_clock { return replace_file(clock_file(rand() < 0.8 ? $primary : $standby), any_shift()); }

# Random moves may leave a whole round without a process that made keys on both sides of a
# step back: a round has few sessions, which make few keys on a busy machine.  10 kB are two
# blocks of shown_sql(), of which the second begins after the step.
sub set_back
{
	my @shown = map { "$dir/shown$_" } 1 .. 3;

	foreach my $shift (qw(+60 -60))
	{
		replace_file(clock_file($primary), $shift);
		my %size = map { $_ => -s $_ // 0 } @shown;
		usleep(50_000) while grep { (-s $_ // 0) < $size{$_} + 10_000 } @shown;
	}
	return;
}

sub terminate_sessions
{
	terminate_backend($primary, 'soak') foreach 0 .. int(rand(3));
	return;
}

#
# Clients
#

sub start_clients
{
	foreach my $slot (1 .. 4)
	{
		my ($name, $server) = $slot < 4 ? qw(soak primary) : qw(behind standby);
		my $file = script(shown_sql($slot < 4));
		start_loop($name, 'sh', '-c',
			qq{psql -XqAt -v ON_ERROR_STOP=1 -v slot=$slot -d "\$(cat $dir/$server)" -f $file >>$dir/shown$slot});
	}
	my $file = script("INSERT INTO made DEFAULT VALUES;\n");
	start_loop('soak', 'sh', '-c', qq{pgbench -n -M prepared -c 4 -j 2 -R 200 -T 10 -f $file "\$(cat $dir/primary)"});
	return;
}

# A session of this script shows all keys that it makes.
# The client pauses, because pg_sleep() would wait for the clock to come back.
sub shown_sql
{
	my ($on_primary) = @_;
	my $me    = ":slot, :'session', :'life'";
	my $keys  = "SELECT $me, layout, before, after, id, NULL FROM (SELECT %s AS layout, clock_timestamp() AS before,
	%s AS id, clock_timestamp() AS after FROM %s OFFSET 0) AS made;\n";
	my $block = sprintf($keys, "'uuidv7'::text", 'comb_generate()', 'generate_series(1, 5)')
	  . sprintf($keys, 'layout', 'comb_generate(layout)', 'mixture');
	$block .= "SELECT $me, 'ordered', NULL, NULL, comb_generate_ordered(), comb_snowflake() FROM generate_series(1, 3);\n"
	  if $on_primary;
	$block .= "\\! sleep 0.03\n";
	return "SELECT pg_postmaster_start_time() AS life, gen_random_uuid() AS session \\gset\n"
	  . "BEGIN;\n${block}ROLLBACK;\n$block" x 200;
}
