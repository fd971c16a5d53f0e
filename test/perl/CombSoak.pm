# What the soaks of the feed share: clients that begin again after each crash, kinds of
# writers, killed backends, and the end of a run.  It brings the recipes of CombFeed, too.
#
# DURATION sets a soak's seconds, and SEED repeats a run's order of events.
package CombSoak;

use strict;
use warnings;

use CombFeed;
use CombTest;
use Exporter 'import';
use IPC::Run ();
use Time::HiRes qw(time usleep);

our @EXPORT = qw(recipe portable_feed changed_on_standby waiting_for_lsn $duration $seed $event_writers item_writers kinds
  begin_soak soak_server conninfo pause late script
  start_loop start_writers start_resolver start_readers start_heart terminate_backend kill_backend
  stop_loops end_writers outbox_reader read_until read_rest disturb commit_late
  all_is_read is_lost end_soak);

our ($duration, $seed);
my $dir = CombTest::tempdir();
my %loops;
my $files = 0;

sub begin_soak
{
	my ($what, $default) = @_;
	$duration = $ENV{DURATION} || $default;
	$seed     = $ENV{SEED}     || (time() * 65536 + $$) % 1_000_000_007;
	srand($seed);
	diag("$what, $duration seconds, SEED=$seed");
	return;
}

# Servers crash, but the machine does not.
my $settings = q{
autovacuum_naptime = 5s
checkpoint_timeout = 1h
fsync = off
log_statement = none
max_connections = 60
max_prepared_transactions = 40
max_wal_size = 4GB
restart_after_crash = on
shared_buffers = 128MB
wal_retrieve_retry_interval = 100ms
pg_comb.lease_duration = 100ms
pg_comb.snowflake_instance = 5
};

# A server with these settings, see server() of CombTest.
sub soak_server
{
	my ($name, %with) = @_;
	return server($name, %with, conf => $settings . ($with{conf} // ''));
}

# Where clients connect: if there are several servers, to the one that takes writes
sub conninfo
{
	my ($database, @nodes) = @_;
	my ($hosts, $ports) = map { my $what = $_; join(',', map { $_->$what } @nodes) } qw(host port);
	return "host=$hosts port=$ports dbname=$database" . (@nodes > 1 ? ' target_session_attrs=read-write' : '');
}

#
# Scripts of pgbench
#

# Sleep for so many milliseconds in the mean.
sub pause
{
	my ($ms) = @_;
	my $us = 2000 * $ms;
	return "\\set us random(0, $us)\n\\sleep :us us\n";
}

# Statements in a transaction that commits late
sub late
{
	my ($ms, $sql) = @_;
	return "BEGIN;\n$sql" . pause($ms) . "COMMIT;\n";
}

# Writers of the table outbox, each with its share
our $event_writers = {
	rows      => [ 30, "\\set n random(1, 20)\nINSERT INTO outbox (body) SELECT 'rows' FROM generate_series(1, :n);\n" ],
	one       => [ 30, "INSERT INTO outbox (body) VALUES ('one');\n" ],
	slow      => [ 12, "\\set n random(1, 10)\nBEGIN;\nINSERT INTO outbox (body) SELECT 'slow' FROM generate_series(1, :n);\n"
		  . pause(25) . "INSERT INTO outbox (body) VALUES ('slow');\nCOMMIT;\n" ],
	late      => [ 8, "BEGIN;\nSELECT comb_generate_ordered() AS key \\gset\n" . pause(10)
		  . "INSERT INTO outbox (id, body) VALUES (':key', 'late');\nCOMMIT;\n" ],
	key       => [ 8, late(10, "SELECT comb_generate_ordered(), comb_snowflake();\n") ],
	abort     => [ 8, "BEGIN;\nINSERT INTO outbox (body) VALUES ('abort');\n" . pause(5) . "ROLLBACK;\n" ],
	savepoint => [ 8, "BEGIN;\nINSERT INTO outbox (body) VALUES ('s1');\nSAVEPOINT a;\n"
		  . "INSERT INTO outbox (body) VALUES ('s2') RETURNING id AS key \\gset\n" . pause(5)
		  . "ROLLBACK TO a;\nINSERT INTO outbox (id, body) VALUES (':key', 's3');\nSAVEPOINT b;\n"
		  . "INSERT INTO outbox (body) VALUES ('s4');\nRELEASE b;\nCOMMIT;\n" ],
	chain     => [ 8, "BEGIN;\nINSERT INTO outbox (body) VALUES ('c1');\nCOMMIT AND CHAIN;\nINSERT INTO outbox (body) VALUES ('c2');\n"
		  . pause(3) . "ROLLBACK AND CHAIN;\nINSERT INTO outbox (body) VALUES ('c3');\nCOMMIT;\n" ],
	prepared  => [ 5, "\\set gid random(1, 1000000000)\nBEGIN;\nINSERT INTO outbox (body) VALUES ('prepared');\n"
		  . pause(3) . "PREPARE TRANSACTION 'g:gid';\n" ] };

# Writers of the table item, of so many ids.  Another session may be in their way.
sub item_writers
{
	my ($ids) = @_;
	my $gid     = "\\set gid random(1, 1000000000)\nBEGIN;\n";
	my $change  = "UPDATE item SET name = :value::text WHERE id = :id;\n";
	my $insert  = "INSERT INTO item VALUES (:id, :value::text) ON CONFLICT (id) DO NOTHING;\n";
	my $delete  = "DELETE FROM item WHERE id = :id;\n";
	my $prepare = "PREPARE TRANSACTION 'g:gid';\n";
	my %writers = (
		insert   => [ 30, $insert ],
		upsert   => [ 15, $insert =~ s/NOTHING/UPDATE SET name = excluded.name/r ],
		change   => [ 20, $change ],
		late     => [ 10, late(20, $change) ],
		enter    => [ 10, late(20, $insert) ],
		leave    => [ 5,  late(20, $delete) ],
		gone     => [ 10, $delete ],
		many     => [ 3,  $change =~ s/= :id/BETWEEN :id AND :id + 20 AND pg_sleep(0.001) IS NOT NULL/r ],
		all_gone => [ 5,  $delete =~ s/= :id/BETWEEN :id AND :id + 20 AND pg_sleep(0.001) IS NOT NULL/r ],
		again    => [ 5,  "BEGIN;\n$delete" . pause(5) . "${insert}COMMIT;\n" ],
		rename   => [ 5,  'UPDATE item SET id = -id WHERE id IN (:id, -:id) AND NOT EXISTS (SELECT FROM item i WHERE i.id = -item.id);' ],
		abort    => [ 5,  "BEGIN;\n$change" . pause(5) . "ROLLBACK;\n" ],
		savepoint => [ 5, "BEGIN;\nSAVEPOINT a;\n${change}ROLLBACK TO a;\n" . pause(5) . "SAVEPOINT b;\n${change}COMMIT;\n" ],
		prepared => [ 3, "$gid$change$prepare" ],
		'delete and prepare' => [ 2, "$gid$delete$prepare" ]);
	$_->[1] = "\\set id random(1, $ids)\n\\set value random(1, 1000000000)\n$_->[1]" foreach values %writers;
	return \%writers;
}

# Some of the writers
sub kinds
{
	my ($writers, @kinds) = @_;
	return { map { $_ => $writers->{$_} } @kinds };
}

#
# Clients
#

# Run a command of a client again and again, until the file "stop NAME" exists.  A process of the
# server can end before it has taken over its client's socket.  Wine keeps that socket open, so
# that the client would wait for ever: there a client gets a minute.
sub start_loop
{
	my ($name, @command) = @_;
	unshift @command, 'timeout', 60 if ($ENV{RUN_FOREIGN} // '') eq 'windows';
	my $file = "$dir/loop" . $files++;
	unlink("$dir/stop $name");
	local $ENV{PGAPPNAME} = $name;
	push @{ $loops{$name} },
	  IPC::Run::start([ 'sh', '-c', 'until [ -e "$0" ]; do "$@"; sleep 0.05; done', "$dir/stop $name", @command ],
		'<', '/dev/null', '>', "$file.out", '2>', "$file.err");
	return;
}

sub script
{
	my ($text) = @_;
	my $file = "$dir/script" . $files++;
	append_to_file($file, $text);
	return $file;
}

# Transactions a second, or 0 for as many as the machine bears.  Readers must keep up with the
# writers, because a reader that is far behind meets no late commit.
sub start_writers
{
	my ($conninfo, $clients, $rate, $writers, @options) = @_;
	my @rate = $rate ? ('-R', $rate) : ();
	my @files = map { ('-f', script($writers->{$_}[1]) . "\@$writers->{$_}[0]") } sort keys %$writers;
	return start_loop('writer', 'pgbench', '-n', '--random-seed', 'rand', '-c', $clients, '-T', 20, @rate, @options, @files, $conninfo);
}

# Readers whose position is in the database
sub start_readers
{
	my ($conninfo, $text, @options) = @_;
	return start_loop('reader', 'pgbench', '-n', '-c', 1, '-T', 3600, @options, '-f', script($text), $conninfo);
}

# The heartbeat of doc/topologies.md.  The recipe goes on for ever, so that it gets ten
# seconds at a time.
sub start_heart
{
	my ($conninfo) = @_;
	return start_loop('heart', 'timeout', 10, 'sh', '-c',
		recipe('heart') =~ s/host=one,two .* target_session_attrs=read-write/$conninfo/r =~ s/psql/psql -Xq/r);
}

# Prepared transactions are ended by another session.  It sleeps itself, because pg_sleep() would wait
# for a clock that is set back.
sub start_resolver
{
	my ($conninfo) = @_;
	return start_loop('resolver', 'psql', '-Xqo', '/dev/null', '-d', $conninfo, '-f', script(q{
SELECT format('%s PREPARED %L', CASE WHEN random() < 0.7 THEN 'COMMIT' ELSE 'ROLLBACK' END, gid)
FROM pg_prepared_xacts WHERE random() < 0.5 AND gid LIKE 'g%' \gexec
\! sleep 0.03
} x 100));
}

sub random_backend
{
	my ($node, @names) = @_;
	my $names = join(', ', map { "'$_'" } @names);
	return $node->safe_psql('postgres',
		"SELECT pid FROM pg_stat_activity WHERE application_name IN ($names) ORDER BY random() LIMIT 1");
}

# Terminate a session of one of these clients.  Return how many were terminated.
sub terminate_backend
{
	my $pid = random_backend(@_);
	return $pid eq '' ? 0 : kill('TERM', $pid);
}

# Kill a session of one of these clients, and wait for the server's restart.  Return how
# many were killed.
sub kill_backend
{
	my ($node) = @_;
	my $pid = random_backend(@_);
	return 0 if $pid eq '' || !kill('KILL', $pid);
	usleep(200_000);
	wait_for_server($node);
	return 1;
}

sub stop_loops
{
	my ($node, $name) = @_;
	append_to_file("$dir/stop $name", '');
	foreach (1 .. 300)
	{
		last unless grep { $_->pumpable } @{ $loops{$name} };
		kill('TERM', split(/\n/, $node->safe_psql('postgres', "SELECT pid FROM pg_stat_activity WHERE application_name = '$name'")));
		usleep(100_000);
	}
	$_->finish foreach (@{ delete $loops{$name} });
	return;
}

# Stop the writers, and commit what they have prepared.
sub end_writers
{
	my ($node) = @_;
	stop_loops($node, 'writer');
	stop_loops($node, 'resolver');
	$node->safe_psql('postgres', "SELECT format('COMMIT PREPARED %L', gid) FROM pg_prepared_xacts WHERE gid LIKE 'g%'\n\\gexec");
	return;
}

# A reader of the table outbox with this query, see CombSession
sub outbox_reader
{
	my ($node, $query, %options) = @_;
	return CombSession->new($node, 'postgres', table => 'outbox', query => $query, %options);
}

# Let readers poll in turn until a time.  A reader that is behind asks again at once,
# because rows are lost only where the newest are read.  A reader whose server has gone
# connects again.
sub read_until
{
	my ($time, @readers) = @_;
	do
	{
		foreach my $reader (@readers)
		{
			next if eval { 1 while $reader->poll >= 1000 && time() < $time; 1 };
			die $@ if $@ =~ /ERROR: /;
			usleep(100_000);
			eval { $reader->again };
		}
		usleep(10_000);
	} while (time() < $time);
	return;
}

# Let readers read for some seconds, in which clients of a server lose their sessions.  The options are
#   readers    a list
#   clients    their names, by default [ 'writer' ]
#   kill       0 if one session is terminated in a round, instead of five and one killed
#   first      what happens before
#   crash      servers that crash, in the first round and then every 30 seconds
sub disturb
{
	my ($node, $seconds, %with) = @_;
	my @names   = @{ $with{clients} // ['writer'] };
	my @readers = @{ $with{readers} };
	my $kill    = $with{kill} // 1;
	my $began   = time();
	my ($terminated, $killed, $crashes) = (0, 0, 0);
	do
	{
		$with{first}->() if $with{first};
		foreach (1 .. ($kill ? 5 : 1))
		{
			read_until(time() + rand(1), @readers);
			$terminated += terminate_backend($node, @names);
		}
		if ($kill)
		{
			$killed += kill_backend($node, @names);
			read_until(time() + rand(2), @readers);
		}
		if ($with{crash} && 30 * $crashes <= time() - $began)
		{
			foreach my $crashed (@{ $with{crash} })
			{
				$crashed->stop('immediate');
				$crashed->start;
			}
			$crashes++;
		}
	} while (time() < $began + $seconds || $kill && !$killed);
	diag("$terminated sessions terminated, $killed backends killed, $crashes crashes");
	return;
}

sub read_rest
{
	foreach my $reader (@_)
	{
		$reader->again unless eval { $reader->poll; 1 };
		1 while $reader->poll >= 1000;
	}
	return;
}

# A row comes to the table outbox after two hundred later ones have been read.  On a slow machine wrong readers can be
# so far behind the load that they lose nothing by it.  "arrive" waits until they can read the later ones.
sub commit_late
{
	my ($node, $arrive, @readers) = @_;
	my $late = CombSession->new($node);
	$late->ask("BEGIN; INSERT INTO outbox (body) VALUES ('late')");
	$node->safe_psql('postgres', "INSERT INTO outbox (body) SELECT 'early' FROM generate_series(1, 200)");
	$arrive->();
	read_rest(@readers);
	$late->ask('COMMIT');
	$late->quit;
	return;
}

# A reader must have read each row once, in order, and not just a few.
sub all_is_read
{
	my ($reader, $name) = @_;
	my ($read) = $reader->counts;
	diag("$name: $read rows read");
	cmp_ok($read, '>=', 5 * $duration, "$name: there is something to read");
	return $reader->reads_all("$name (SEED=$seed)");
}

# Readers that leave out a part of the recipe must have lost rows.  In less than a minute
# one of them can be lucky, on a machine with nothing else to do, so there they count together.
sub is_lost
{
	my (%reader) = @_;
	my $all = 0;
	foreach my $name (sort keys %reader)
	{
		my ($read, $lost) = $reader{$name}->counts;
		diag("$name: $read rows read, $lost lost");
		cmp_ok($lost, '>', 0, "$name: rows are lost") if $duration >= 60;
		$all += $lost;
	}
	return cmp_ok($all, '>', 0, 'wrong readers lose rows');
}

# What clients complained of, less what a crash or a promotion explains
sub loop_errors
{
	my ($expected) = @_;
	my $errors = join('', map { slurp_file($_) } glob("$dir/loop*.err"));
	return join("\n", grep {
		!/connection|terminat|shut|crash|recovery|in progress|not currently|rollback|maximum number|prepared transaction with identifier/
		  && !($expected && $_ =~ $expected) } $errors =~ /(?:ERROR|[Ss]yntax error): +(.*)/g);
}

# The end of a soak.  The options are
#   readers   by their names; those of rows that change have read each row if their copy is the table
#   twins     readers that leave out a part of the recipe, by their names
#   nodes     the servers, in the order in which they stop
#   expected  errors of clients that are expected
sub end_soak
{
	my (%with) = @_;
	my %reader = %{ $with{readers} // {} };
	my %twin   = %{ $with{twins}   // {} };
	all_is_read($reader{$_}, $_) foreach sort keys %reader;
	is_lost(%twin) if %twin;
	is(loop_errors($with{expected}), '', 'nothing fails otherwise');
	$_->quit foreach (values %reader, values %twin);
	$_->stop foreach @{ $with{nodes} };
	done_testing();
	return;
}

END
{
	local $?;
	$_->kill_kill foreach (map { @$_ } values %loops);
}

1;
