# Readers by the recipes of doc/feed_anywhere.md, on the primary, on a physical standby and
# on a subscriber: numbers, times and uuids of a partitioned table.  Writers draw numbers
# long before their rows, roll back to savepoints, and prepare; sessions are killed, and the
# standby is promoted.  Partitions are attached to the tables growing and waiting, to waiting
# under the lock of the page.  Readers without a bound, or with a margin, must lose rows, or the
# test would show nothing.  That the view of growing loses some is shown by t/105_feed_anywhere.
use lib 'test/perl';
use CombTest;
use CombSoak;
use Time::HiRes qw(time);

begin_soak('soak of a feed without the extension', 15);

# orders is the table of the page, and outbox that of the writers
sub of_outbox { return $_[0] =~ s/\borders/outbox/gr; }
my ($primary, $subscriber) = map { soak_server($_, init => [ allows_streaming => 'logical' ], sql => q{
	CREATE FUNCTION new_key() RETURNS uuid VOLATILE LANGUAGE sql AS $$
		SELECT encode(overlay(uuid_send(gen_random_uuid()) PLACING
			substring(int8send((1000 * date_part('epoch', clock_timestamp()))::bigint) FROM 3) FROM 1 FOR 6), 'hex')::uuid $$;
	CREATE TABLE outbox (id bigserial, body text, created_at timestamptz DEFAULT clock_timestamp(), key uuid DEFAULT new_key(),
		part int DEFAULT (random() * 3)::int) PARTITION BY LIST (part);
	CREATE TABLE outbox_0 PARTITION OF outbox FOR VALUES IN (0);
	CREATE TABLE outbox_1 PARTITION OF outbox FOR VALUES IN (1);
	CREATE TABLE outbox_2 PARTITION OF outbox FOR VALUES IN (2, 3);
	CREATE UNIQUE INDEX ON outbox (id, part);
	CREATE INDEX ON outbox (created_at, id);
	CREATE INDEX ON outbox (key);
	ALTER TABLE outbox_0 REPLICA IDENTITY FULL;
	ALTER TABLE outbox_1 REPLICA IDENTITY FULL;
	ALTER TABLE outbox_2 REPLICA IDENTITY FULL;
} . portable_feed()) } qw(primary subscriber);
$primary->safe_psql('postgres', of_outbox(recipe('feed-number') . recipe('feed-time') . recipe('feed-uuid'))
	  . 'CREATE PUBLICATION all_rows FOR TABLE outbox, comb_feed');
$primary->safe_psql('postgres', join(';', map { qq{
	CREATE TABLE $_ (id bigserial, part int) PARTITION BY LIST (part);
	CREATE TABLE ${_}_0 PARTITION OF $_ FOR VALUES IN (0, 100);
	CREATE SEQUENCE ${_}_parts;} . recipe('feed-number') =~ s/\borders(?=_|\b)/$_/gr } qw(growing waiting)) . q{
	CREATE PROCEDURE grow(parent text, lock_first boolean) LANGUAGE plpgsql AS $$ DECLARE
		n bigint := nextval(parent || '_parts');
	BEGIN
		IF n < 100 THEN
			EXECUTE format('CREATE TABLE %1$s_%2$s (LIKE %1$s)', parent, n);
			COMMIT;
			IF lock_first THEN EXECUTE format('LOCK TABLE %s IN ACCESS EXCLUSIVE MODE', parent); END IF;
			EXECUTE format('ALTER TABLE %1$s ATTACH PARTITION %1$s_%2$s FOR VALUES IN (%2$s)', parent, n);
			COMMIT;
		END IF;
		FOR i IN 1 .. 20 LOOP
			EXECUTE format('INSERT INTO %s (part) VALUES (%s)', parent, least(n, 100) * (i % 2));
			COMMIT;
		END LOOP;
		PERFORM pg_sleep(0.1 * random());
	END $$});

# event, and its readers whose position is in a table.  The last of them is wrong.
sub of_event { return $_[0] =~ s/\borders/event/gr; }
my $event = q{
	CREATE TABLE event (id bigserial, body text, part int DEFAULT (random() * 3)::int) PARTITION BY LIST (part);
	CREATE TABLE event_0 PARTITION OF event FOR VALUES IN (0, 1);
	CREATE TABLE event_1 PARTITION OF event FOR VALUES IN (2, 3);
	CREATE TABLE got (reader text, id bigint);
	CREATE TABLE polled (reader text);} . of_event(recipe('feed-xid')) =~ s/VALUES.*/SELECT unnest('{shared,repeatable,own,undone,waiting,wrong}'::text[]);/r;
sub by_xid
{
	my ($name, $table) = @_;
	my $sql = of_event(recipe('feed-position')) =~ s/'mail'/'$name'/r;
	$sql =~ s/NULL::event/NULL::$table/ if $table;
	$sql =~ s/\)\nSELECT o\.\*(.*) ORDER BY id;/)\nINSERT INTO got SELECT '$name', o.id$1;\nINSERT INTO polled VALUES ('$name');/ or die $sql;
	return $sql;
}
my %by_xid = (
	shared     => by_xid('shared') . pause(3),
	repeatable => "BEGIN ISOLATION LEVEL REPEATABLE READ;\nSELECT count(*) FROM event_reader;\n" . pause(5) . by_xid('repeatable') . "COMMIT;\n",
	own        => "BEGIN;\nINSERT INTO event (body) VALUES ('own');\n" . by_xid('own') . pause(5)
	  . "SAVEPOINT s;\nINSERT INTO event (body) VALUES ('own');\nRELEASE s;\n" . by_xid('own') . "COMMIT;\n",
	undone     => "BEGIN;\n" . by_xid('undone') . pause(3) . "\\set undo random(0, 1)\n\\if :undo\nROLLBACK;\n\\else\nCOMMIT;\n\\endif\n",
	waiting    => by_xid('waiting', 'waiting') . pause(3),
	wrong      => "BEGIN;\nINSERT INTO got SELECT 'wrong', o.id FROM event_reader AS r, comb_feed_between(NULL::event, position, comb_feed_position()) AS o\n"
	  . "WHERE r.name = 'wrong';\nUPDATE event_reader SET position = comb_feed_position() WHERE name = 'wrong';\nCOMMIT;\n");
$_->safe_psql('postgres', $event) foreach ($primary, $subscriber);
$primary->safe_psql('postgres', "ALTER TABLE waiting ADD COLUMN comb_xid xid8 NOT NULL DEFAULT pg_current_xact_id();
	ALTER PUBLICATION all_rows ADD TABLE event_0 (id, body, part), event_1 (id, body, part)");

# Readers that survive the server.  Without the message one may pass over rows, and find its position ahead.
my $client = of_event(recipe('feed-client'));
my $keeper = CombKeeper->new($primary, 'postgres', table => 'event', query => $client, position => 'NULL');
my $unsafe = CombKeeper->new($primary, 'postgres', table => 'event', query => $client =~ s/.*pg_logical_emit.*\n//r, position => 'NULL',
	passes => qr/the position is ahead/);

# Compare what they have with the table, once they have all.
my ($polls, $reader_rows) = (0, 0);
sub check_by_xid
{
	my ($node, @names) = @_;
	$node->safe_psql('postgres', by_xid('own')) if grep { $_ eq 'own' } @names;
	my $table = sub { $_[0] eq 'waiting' ? 'waiting' : 'event' };
	$node->poll_query_until('postgres', 'SELECT ' . join(' AND ', map {
		"(SELECT count(*) FROM got WHERE reader = '$_') >= (SELECT count(*) FROM " . $table->($_) . ')' } @names));
	foreach my $name (@names)
	{
		my ($read, @counts) = ask($node, 'postgres', qq{
			SELECT sum(n), count(*) FILTER (WHERE n IS NULL), count(*) FILTER (WHERE n > 1), count(*) FILTER (WHERE e.id IS NULL),
				(SELECT count(*) FROM polled WHERE reader = '$name')
			FROM @{[ $table->($name) ]} AS e FULL JOIN (SELECT id, count(*) AS n FROM got WHERE reader = '$name' GROUP BY id) AS got USING (id)});
		my $polled = pop(@counts);
		$polls += $polled, $reader_rows += $read if $node != $primary;    # the standby has these, too
		is("@counts", '0 0 0', $node->name . ", $name: of $read rows in $polled polls none lost, none twice, none that is not there (SEED=$seed)");
	}
	return;
}

my $standby = standby($primary, 'standby');
$subscriber->safe_psql('postgres', 'CREATE SEQUENCE growing_id_seq; CREATE SEQUENCE waiting_id_seq;' . of_outbox(recipe('feed-subscribed') . recipe('feed-time') =~ s/SELECT comb_feed_add.*//r));
$subscriber->safe_psql('postgres', "CREATE SUBSCRIPTION one CONNECTION '@{[ conninfo('postgres', $primary) ]}' PUBLICATION all_rows
	WITH (synchronous_commit = on)");

# What readers ask, and where their rows have the position
my ($advance, $by_number) = of_outbox(recipe('feed-poll')) =~ /(.*\n)(.*)/;
my $by_time = of_outbox(recipe('feed-poll-time'));
my ($attached, @by_value) = map { s/\borders(?=_|\b)/growing/gr } (split(/\n/, recipe('feed-poll')))[1], (split(/\n/, recipe('feed-poll-value')))[ 1, 2 ];
my %way = (
	numbers => [ $by_number, last => 0 ],
	times   => [ $by_time, key => "created_at || '|' || id", columns => [ 2, 0 ], last => '1970-01-01 00:00:00+00|0' ],
	uuids   => [ 'SELECT * FROM outbox_keyed WHERE key > $last ORDER BY key LIMIT 1000', key => 'key', columns => [3] ],
	waiting => [ $attached =~ s/growing/waiting/r, last => 0, table => 'waiting' ],
	values  => [ ($by_value[0] =~ s/;$/ \\gset\n/r) . ($by_value[1] =~ s/\$bound/:bound/r), last => 0, table => 'growing' ],
	repeatable => [ "BEGIN ISOLATION LEVEL REPEATABLE READ; $attached COMMIT", last => 0, table => 'growing' ]);

sub readers
{
	my ($node, $before, @ways) = @_;
	return map {
		my ($query, @options) = @{ $way{$_} };
		($node->name . ", $_" => outbox_reader($node, $before . $query, @options))
	} @ways;
}

my %reader = (readers($primary, $advance, sort keys %way), readers($subscriber, '', 'numbers', 'times'));
my %late = readers($standby, '', qw(numbers times uuids waiting));
my $naive = $by_number =~ s/_settled//r;
(my $a_second_behind = $by_time) =~ s/_timed\s+WHERE/ WHERE created_at < clock_timestamp() - interval '1 s' AND/ or die $by_time;
my %twin = (
	'numbers without a bound'  => outbox_reader($primary, $naive, last => 0),
	'standby without a bound'  => outbox_reader($standby, $naive, last => 0),
	'times a second behind'    => outbox_reader($primary, $a_second_behind, @{ $way{times} }[ 1 .. 6 ]),
	'numbers a hundred behind' => outbox_reader($primary, $naive =~ s/WHERE/WHERE id < (SELECT max(id) - 100 FROM outbox) AND/r, last => 0));
my @all = (values %reader, values %late, values %twin);

my $conninfo = conninfo('postgres', $primary, $standby);
sub start_load
{
	start_loop('feed', 'timeout', 10, 'sh', '-c',
		recipe('feed-loop') =~ s/"host=.*"/"$conninfo"/r =~ s/watch 1/watch 0.05/r) foreach 1 .. 2;
	my %writers = (%{ kinds($event_writers, qw(rows one slow abort savepoint chain prepared)) },
		drawn => [ 20, "BEGIN;\nSELECT nextval('outbox_id_seq') AS id \\gset\n" . pause(25)
			  . "INSERT INTO outbox (id, body) VALUES (:id, 'drawn');\nCOMMIT;\n" ],
		partition => [ 20, late(10, "INSERT INTO outbox_1 (body, part) VALUES ('partition', 1);\n") ]);
	start_writers($conninfo, 2, 40, \%writers) foreach 1 .. 4;
	start_writers($conninfo, 2, 2, { 'very late' => [ 1, late(400, "INSERT INTO outbox (body) VALUES ('very late');\n") ] });
	my %event_writers = %{ kinds($event_writers, qw(rows one slow abort savepoint chain prepared)) };
	$_ = [ $_->[0], $_->[1] =~ s/\boutbox/event/gr ] foreach values %event_writers;
	start_writers($conninfo, 2, 40, \%event_writers) foreach 1 .. 2;
	start_writers($conninfo, 1, 1, { idle => [ 1, "BEGIN;\nINSERT INTO event (body) VALUES ('idle');\n\\sleep 3 s\nINSERT INTO event (body) VALUES ('idle');\nCOMMIT;\n" ] });
	{
		local $ENV{PGOPTIONS} = '-c synchronous_commit=off';
		start_writers($conninfo, 2, 40, \%event_writers);
	}
	start_writers($conninfo, 1, 0, { own => [ 1, $by_xid{own} ] });
	start_readers($conninfo, $by_xid{$_}) foreach (grep({ $_ ne 'own' } sort keys %by_xid), 'shared');
	start_writers($conninfo, 1, 1, { 'too late' => [ 1, "BEGIN;\nINSERT INTO outbox (body) VALUES ('too late');\n\\sleep 1300 ms\nCOMMIT;\n" ] });
	start_loop('writer', 'psql', '-Xqd', $conninfo, '-c', "CALL grow('$_->[0]', $_->[1])") foreach [ growing => 'false' ], [ waiting => 'true' ];
	start_resolver($conninfo);
	return;
}

# Stop the writers of a server.
sub end_load
{
	my ($node) = @_;
	end_writers($node);
	stop_loops($node, 'feed');
	return;
}

# Settle what they have written.
sub settle
{
	my ($node) = @_;
	$node->safe_psql('postgres', "$advance SELECT pg_sleep(1.1)") foreach 1 .. 3;
	return;
}

start_load();
start_loop('subscribed', 'pgbench', '-n', '-T', 20, '-f', script($by_xid{$_}), conninfo('postgres', $subscriber)) foreach qw(shared shared undone);
disturb($primary, 0.6 * $duration, readers => [ @all, $keeper, $unsafe ], clients => [ 'writer', 'feed', 'reader' ], crash => [ $standby, $subscriber ]);
end_load($primary);
commit_late($primary, sub { sleep(2); $primary->wait_for_catchup($standby, 'replay', $primary->lsn('insert')) }, values %twin);
settle($primary);
$primary->wait_for_catchup($_, 'replay', $primary->lsn('insert')) foreach ($standby, 'one');
read_rest(@all);
all_is_read($reader{$_}, $_) foreach sort keys %reader;
is_lost(%twin);
my @right = grep { $_ ne 'wrong' } sort keys %by_xid;
check_by_xid($primary, @right);
check_by_xid($subscriber, qw(shared undone));
stop_loops($primary, 'reader');
stop_loops($subscriber, 'subscribed');
{
	my $wrong = $primary->safe_psql('postgres', q{SELECT count(*) FROM event WHERE id NOT IN (SELECT id FROM got WHERE reader = 'wrong')});
	is($keeper->read_last, '0 lost, 0 twice', "the reader that survives crashes (SEED=$seed)");
	$polls += $keeper->{polls}, $reader_rows += keys(%{ $keeper->{seen} });
	cmp_ok($wrong, '>', 0, 'by transaction, a position found after the rows loses some');
	diag("by transaction: a position after the rows lost $wrong, one kept without a message has " . $unsafe->read_last);
}
$_->quit foreach (values %reader, values %twin, $keeper, $unsafe);

# The promotion, under load.  Transactions prepared on the old primary end on the new one.
$primary->safe_psql('postgres', 'DROP PUBLICATION all_rows');
$subscriber->stop;
start_load();
read_until(time() + 0.1 * $duration + 1, values %late);
$primary->stop('immediate');
$standby->promote;
read_until(time() + 0.2 * $duration, values %late);
end_load($standby);
settle($standby);
read_rest(values %late);
check_by_xid($standby, @right);
stop_loops($standby, 'reader');
diag("by transaction: $polls polls, $reader_rows rows");
end_soak(readers => \%late, nodes => [ $standby, $primary, $subscriber ], expected => qr/read-only transaction|read only|standby/);
