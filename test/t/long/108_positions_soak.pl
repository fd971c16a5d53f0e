# Readers with positions (doc/feed_readers.md): writers of all kinds, among them some that idle
# in their transaction, some that commit asynchronously, and some with more subtransactions than a
# snapshot knows; prepared transactions; killed backends; clocks that go back and forth; two promotions,
# one of them after the loss of the primary and of its last rows.  Each row must come once.  A reader
# that goes on after its last key must lose rows.
#
# The table has hash partitions, for spread keys.
#
# With REAL_CLOCK=yes the clock stays as it is.  Then libfaketime is not in the server, and no process may end
# by a signal of its own.
#
# Three readers keep the position in the table place, and two of them share one.  Their rows go into the
# table got.  Another one keeps its position and its rows, so that a crash does not take both back.
use lib 'test/perl';
use CombTest;
use CombSession;
use CombSoak;
use Time::HiRes qw(time);

my $real_clock = $ENV{REAL_CLOCK};
need_faketime() unless $real_clock;
begin_soak('soak of positions', 15);
my ($main, $one, $two) = servers();
my $node = $main;
$node->safe_psql('postgres', q{
	CREATE EXTENSION pg_comb_ordered CASCADE;
	CREATE TABLE outbox (id uuid PRIMARY KEY DEFAULT comb_spread(comb_generate_ordered(), 16), body text,
		number bigint DEFAULT comb_snowflake()) PARTITION BY HASH (id);
	SELECT format('CREATE TABLE outbox_%1$s PARTITION OF outbox FOR VALUES WITH (MODULUS 16, REMAINDER %1$s)', n)
	FROM generate_series(0, 15) n \gexec
	CREATE INDEX ON outbox (number);
	CREATE TABLE place (reader int PRIMARY KEY, position text) WITH (fillfactor = 10);
	INSERT INTO place VALUES (1, ''), (2, ''), (3, '');
	CREATE TABLE got (reader int, id uuid);
	CREATE PROCEDURE nested(n integer) LANGUAGE plpgsql AS
	$$
	BEGIN
		FOR i IN 1..n LOOP
			BEGIN INSERT INTO outbox (body) VALUES ('nested'); EXCEPTION WHEN division_by_zero THEN NULL; END;
		END LOOP;
	END
	$$;
});

sub reader
{
	my ($reader, $unread, $next) = @_;
	return qq{
WITH moved AS (UPDATE place AS new SET position = $next(old.position)
	FROM (SELECT * FROM place WHERE reader = $reader FOR UPDATE) AS old WHERE new.reader = old.reader RETURNING old.position)
INSERT INTO got SELECT $reader, id FROM moved, outbox WHERE $unread;
};
}
my $unread = 'comb_unread(id, outbox.xmin, position)';
my %readers = (
	1 => reader(1, $unread, 'comb_position') . pause(3),
	2 => reader(2, $unread, 'comb_position') . pause(3),
	3 => "BEGIN ISOLATION LEVEL REPEATABLE READ;\nSELECT count(*) FROM place;\n" . pause(5)
	  . reader(3, $unread, 'comb_position') . "COMMIT;\n");

# A long soak is to have a million rows.
$event_writers->{rows}[1] =~ s/20/50/ if $duration > 60;

my $conninfo = conninfo('postgres', $main, $one, $two);
my $idle     = { idle => [ 1, "BEGIN;\nINSERT INTO outbox (body) VALUES ('idle');\nSAVEPOINT s;\nINSERT INTO outbox (body) VALUES ('sub');\n"
	  . "\\sleep 1500 ms\nINSERT INTO outbox (body) VALUES ('late');\nCOMMIT;\n" ] };
start_writers($conninfo, 6, $duration > 60 ? 400 : 150, $event_writers);
start_writers($conninfo, 2, 50, kinds($event_writers, qw(one rows savepoint)), '-C');
start_writers($conninfo, 1, 0, $idle);
start_writers($conninfo, 1, 2, { nested => [ 1, "BEGIN;\nCALL nested(70);\n" . pause(30) . "COMMIT;\n" ] });
{
	local $ENV{PGOPTIONS} = '-c synchronous_commit=off';
	start_writers($conninfo, 2, 50, kinds($event_writers, qw(one rows slow)));
}
start_resolver($conninfo);
start_readers($conninfo, $readers{$_}) foreach (1, 1, 2, 3);

my $keeper = CombKeeper->new($node, 'postgres', table => 'outbox', position => q{''}, query =>
	  'SELECT position, id FROM comb_position($since) AS position LEFT JOIN outbox ON comb_unread(id, outbox.xmin, $since)');
my $naive  = outbox_reader($node, 'SELECT id FROM outbox WHERE id > $last ORDER BY id');
my %disturbed = (readers => [ $keeper, $naive ], clients => [ 'writer', 'reader' ], first => $real_clock ? undef : \&move_clock);
disturb($node, 0.5 * $duration, %disturbed);

# A switchover: the primary stops when its standby has all WAL.
wait_until($node, q{SELECT count(*) = 1 FROM pg_stat_replication WHERE state = 'streaming'});
$node->stop;
take_over($one);
disturb($node, 0.25 * $duration, %disturbed);

# A failover.  What comes after the last poll of the reader that survives is lost.
$node->wait_for_catchup($two, 'replay', $node->lsn('insert'));
read_until(time() + 1, $naive);
$node->stop('immediate');
take_over($two);
disturb($node, 0.25 * $duration, %disturbed);
end_writers($node);
read_rest($naive);

my $rows = $node->safe_psql('postgres', 'SELECT count(*) FROM outbox');
cmp_ok($rows, '>', 100 * $duration, 'there is something to read');
$node->poll_query_until('postgres', "SELECT count(*) = 3 FROM (SELECT reader FROM got GROUP BY reader HAVING count(*) >= $rows) AS done");
stop_loops($node, 'reader');
foreach my $reader (1 .. 3)
{
	is($node->safe_psql('postgres', qq{
		SELECT count(*) FILTER (WHERE got.n IS NULL), count(*) FILTER (WHERE n > 1), count(*) FILTER (WHERE o.id IS NULL)
		FROM outbox AS o FULL JOIN (SELECT id, count(*) AS n FROM got WHERE reader = $reader GROUP BY id) AS got USING (id)}),
		'0|0|0', "reader $reader: of $rows rows none lost, none twice, none that is not there (SEED=$seed)");
}
is($keeper->read_last, '0 lost, 0 twice', "the reader that survives crashes (SEED=$seed)");
diag("$rows rows; the reader that survives crashes has " . (keys(%{ $keeper->{seen} }) - $rows) . ' more, whose commits were lost');
$keeper->quit;
end_soak(twins => { 'after the last key' => $naive }, nodes => [ $two, $main, $one ], expected => qr/could not serialize|deadlock/);

#
# Servers, each with a clock of its own
#

sub clock_file { return tempdir() . '/clock.' . $_[0]->name }

# A primary, a standby, and a standby of the standby.  Time limits are off, because the clock jumps
# over them.
sub servers
{
	my $primary = soak_server('main', init => [ allows_streaming => 1 ], start => 0, conf => q{
wal_sender_timeout = 0
wal_receiver_timeout = 0
authentication_timeout = 600s
dynamic_shared_memory_type = mmap
wal_keep_size = 2GB
});
	my @nodes = ($primary);
	start_server($primary);
	$primary->backup('backup');
	foreach my $name (qw(one two))
	{
		my $standby = PostgreSQL::Test::Cluster->new($name);
		$standby->init_from_backup($primary, 'backup');
		$standby->enable_streaming($nodes[-1]);
		$standby->append_conf('postgresql.conf', 'hot_standby = on');
		start_server($standby, '-60');
		push @nodes, $standby;
	}
	return @nodes;
}

sub start_server
{
	my ($server, $shift) = @_;
	return $real_clock ? $server->start : start_with_clock($server, clock_file($server), $shift);
}

# The clock is where it has never been, or further back.  Were it always behind its latest time, keys
# would follow each other so closely that no position had a gap.
my $ahead;

sub move_clock
{
	$ahead += 1 + int(rand(60));
	my $shift = rand() < 0.6 ? $ahead : $ahead - (1, 5, 60, 7200)[ int(rand(4)) ];
	return replace_file(clock_file($node), sprintf('%+d', $shift));
}

sub take_over
{
	($node) = @_;
	$node->promote;
	$_->{node} = $node, $_->again foreach ($keeper, $naive);
	return;
}
