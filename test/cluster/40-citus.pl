# Feeds on Citus: of a distributed table whose keys are defaults, which loses rows, of a
# plain table, and of a distributed table by the recipes of doc/topologies.md
#
# Beside the load of the last one shards move, split and leave nodes, sessions are killed and
# servers crash.  Readers that leave out a part of the recipe must lose rows.
#
# Debian has no package of Citus.  CITUS names a directory into which Citus was
# installed with "make install DESTDIR=...", for the server of the test.
#
# Crashes, as Citus reports them, and when its postmaster has gone between both phases of a commit:
# logged: FATAL:  the database system is|terminating connection (due to|because of)|server closed the connection
# logged: connection to (the remote node|server)
# logged: could not issue cancel request|transaction recovery cannot connect|failed to (commit transaction|clean up)
# logged: Abort(Sub)?Transaction while in COMMIT state|cannot abort transaction [0-9]+, it was already committed
# It also releases savepoints of its nodes when the coordinator's has been released:
# logged: savepoint "savepoint_[0-9]+" does not exist
use lib 'test/perl';
use CombTest;
use CombSoak;
use Time::HiRes qw(time);

my $citus = $ENV{CITUS} // '';
my ($share, $lib) = map { (run_command([ 'pg_config', "--$_" ]))[0] } qw(sharedir pkglibdir);
plan skip_all => 'Citus is not installed: CITUS= names the DESTDIR of a build'
  unless -e "$citus$share/extension/citus.control";
my $paths = $ENV{TEMP_CONFIG} ? slurp_file($ENV{TEMP_CONFIG}) : '';
plan skip_all => 'needs a server that loads from two private directories, of PostgreSQL 18'
  if $citus && $paths !~ /^extension_control_path/m;
$paths =~ s/:\$system/:$citus$share:\$system/;
$paths =~ s/:\$libdir/:$citus$lib:\$libdir/;


need_faketime();
begin_soak('feeds on Citus', 15);
# The node that is added later has a clock that is behind.
my %node = map { $_ => soak_server($_, $_ eq 'three' ? (clock => '-8s') : (), init => [ allows_streaming => 'logical' ], sql => 'CREATE EXTENSION citus', conf => $paths . q{
shared_preload_libraries = 'citus, pg_comb'
citus.node_conninfo = 'sslmode=prefer'
citus.enable_statistics_collection = off
citus.recover_2pc_interval = 5s
max_connections = 200
max_prepared_transactions = 200
max_worker_processes = 30
}) } qw(coordinator one two three);
my $coordinator = $node{coordinator};
my ($major, $minor) = $coordinator->safe_psql('postgres', 'SHOW server_version') =~ /^(\d+)\.(\d+)/;
foreach (values %node)
{
	# Without the first, Citus looks for this node at localhost.  The second is refused before 18.6.
	my $plugins = $major > 18 || $minor > 5 ? "output_plugin_libraries = 'citus, pgoutput'\n" : '';
	configure($_, "citus.local_hostname = '" . $_->host . "'\n$plugins");
}
my %address = map { $_ => sprintf("'%s', %d", $node{$_}->host, $node{$_}->port) } keys %node;
sql("SELECT citus_set_coordinator_host($address{coordinator})");
sql("SELECT citus_add_node($address{$_})") foreach qw(one two);
note "\nCitus " . sql(q{SELECT extversion FROM pg_extension WHERE extname = 'citus'})
  . ", a coordinator and two workers: feeds of distributed tables, and one of a plain table\n ";
sql('CREATE EXTENSION pg_comb_ordered CASCADE');
is($node{$_}->safe_psql('postgres', q{SELECT count(*) FROM pg_extension WHERE extname LIKE 'pg_comb%'}),
	'2', "CREATE EXTENSION has reached worker $_") foreach qw(one two);

my ($late, $prompt) = map { CombSession->new($coordinator) } 1 .. 2;
keys_by_default();
recipes();
my @reader = readers();
one_late_row();
load();

sub sql { return $coordinator->safe_psql('postgres', @_); }

#
# Keys made by the coordinator
#
# A transaction makes the smaller keys and commits late, and another commits at once, each
# with a row of each table.
sub keys_by_default
{
	sql(q{
		CREATE TABLE event (tenant int, id uuid DEFAULT comb_generate_ordered(), what text, PRIMARY KEY (tenant, id));
		SELECT create_distributed_table('event', 'tenant');
		CREATE TABLE plain (id uuid PRIMARY KEY DEFAULT comb_generate_ordered(), what text)});
	my $both = q{
		BEGIN;
		INSERT INTO event (tenant, what) VALUES (1, 'event'), (2, 'event'), (3, 'event');
		INSERT INTO plain (what) VALUES ('event')};
	$late->ask($both);
	$prompt->ask("$both; COMMIT");

	# Workers that make keys of their own have a counter to ask.
	my ($reader, $follower) = map { CombSession->new($coordinator, 'postgres', table => $_) } qw(event plain);
	is(sql(q{SELECT bool_and(success) FROM run_command_on_workers('SELECT comb_generate_ordered()')}), 't', 'each worker makes a key');
	like(sql('EXPLAIN (COSTS OFF) ' . $reader->query('comb_settled()')),
		qr/->  Task.*(Cond|Filter):.*comb_settled\(\)/s, 'Citus sends comb_settled() to the workers');
	is($reader->poll, 3, "the workers' bounds pass the open transaction of the coordinator");
	is($follower->poll, 0, 'it holds the feed of the plain table back');
	$late->ask('COMMIT');
	is($reader->poll, 0, 'its rows of the distributed table do not come');
	is($follower->poll, 2, 'those of the plain table do');
	$follower->reads_all('the feed of the plain table');
	my (undef, $lost, $back) = $reader->counts;
	is($lost + $back, 3, 'the feed of the distributed table has lost three rows');
	$_->quit foreach ($reader, $follower);
	return;
}

#
# Keys made by the workers
#
sub recipes
{
	my $heart = recipe('heartbeat') =~ s/^ +UPDATE .*?;\n/recipe('citus-beat')/mser;
	sql("SET citus.shard_count = 8;\n" . recipe('citus-outbox') . $heart);
	sql(q{
		SET citus.enable_unsafe_triggers = on;
		SET citus.shard_count = 8;
		CREATE TABLE item (tenant int, id int, name text, version uuid NOT NULL, PRIMARY KEY (tenant, id));
		CREATE TABLE item_deleted (tenant int, id int, version uuid NOT NULL);
		CREATE INDEX ON item (version);
		CREATE INDEX ON item_deleted (version);
		SELECT create_distributed_table('item', 'tenant', colocate_with => 'none');
		SELECT create_distributed_table('item_deleted', 'tenant', colocate_with => 'item');
		CREATE FUNCTION item_gone() RETURNS trigger LANGUAGE plpgsql AS
			$$BEGIN INSERT INTO public.item_deleted VALUES (OLD.tenant, OLD.id); RETURN NULL; END$$;
		CREATE TRIGGER item_changed BEFORE INSERT OR UPDATE ON item FOR EACH ROW EXECUTE FUNCTION comb_ordered_key('version');
		CREATE TRIGGER item_deleted BEFORE INSERT ON item_deleted FOR EACH ROW EXECUTE FUNCTION comb_ordered_key('version');
		CREATE TRIGGER item_gone AFTER DELETE ON item FOR EACH ROW EXECUTE FUNCTION item_gone();
		-- The bound as a reference table: shards see different ones.
		CREATE TABLE everywhere (one boolean PRIMARY KEY, bound uuid NOT NULL);
		INSERT INTO everywhere SELECT one, bound FROM heartbeat;
		SELECT create_reference_table('everywhere');
		CREATE TABLE mail (seq uuid PRIMARY KEY);} . recipe('consumer'));
	sql(q{INSERT INTO outbox (tenant, seq) VALUES (1, 'ffffffff-ffff-ffff-ffff-ffffffffffff')});
	is(sql('SELECT comb_timestamp(seq) < now() FROM outbox'), 't', "a client's key is replaced");
	# A partitioned table, which the coordinator does not expand
	sql(q{
		SET citus.shard_count = 2;
		CREATE TABLE past (tenant int, id uuid DEFAULT comb_generate(), PRIMARY KEY (tenant, id),
			CHECK (id <@ tstzrange('2000-01-01 00:00+00', '2100-01-01 00:00+00'))) PARTITION BY RANGE (id);
		CREATE TABLE past_all PARTITION OF past FOR VALUES FROM (MINVALUE) TO (MAXVALUE);
		CREATE INDEX ON past (id);
		SELECT create_distributed_table('past', 'tenant', colocate_with => 'none');
		INSERT INTO past SELECT generate_series(1, 100)});
	like(sql('EXPLAIN (COSTS OFF) SELECT * FROM past ORDER BY comb_timestamp(id) DESC LIMIT 20'),
		qr/Task.*Limit\n *-> +Index Scan Backward using \w*id_idx/s, 'shards read the newest rows of partitions from their indexes');
	is(sql('SELECT count(*) FROM (SELECT * FROM past ORDER BY comb_timestamp(id) DESC LIMIT 20) AS s'), 20, 'and the rows come');
	is(sql(recipe('citus-clock')), 't', 'the clocks of all nodes are ahead of the bound');
	sql('DELETE FROM outbox');
	return;
}

# The query of a page, with the last key and the bound in variables of psql
sub bounded
{
	my ($bound, $query) = @_;
	return "\\set last \$last\n$bound \\gset\n" . $query =~ s/\$(last|bound)/:'$1'/gr;
}

# The right ones, and the wrong ones
sub readers
{
	my ($fetch, $poll) = recipe('citus-poll') =~ /^(SELECT bound .*?) \\gset\n(.*)/s;
	my $changed = bounded($fetch, recipe('citus-changed')) =~ s/SELECT \* FROM/SELECT id, version, deleted, name FROM/r;
	my $one = "SELECT * FROM outbox WHERE seq > \$last AND seq < (SELECT bound FROM heartbeat) ORDER BY seq LIMIT 1000";
	my @options = ($coordinator, 'postgres', table => 'outbox', key => 'seq', columns => [2]);
	return ({
			'two statements'       => CitusReader->new(@options, query => bounded($fetch, $poll)),
			'REPEATABLE READ'      => CitusReader->new(@options, query => bounded($fetch, $poll), isolation => 'REPEATABLE READ'),
			'one statement'        => CitusReader->new(@options, query => $one),
			'rows that change'     => CitusFeed->new($coordinator, query => $changed)
		}, {
			'no bound'             => CitusReader->new(@options, query => $one =~ s/AND seq < .*\)//r),
			"the coordinator's bound" => CitusReader->new(@options,
				query => bounded('SELECT comb_settled() AS bound FROM comb_generate_ordered()', $poll)),
			'the bound of a reference table' => CitusReader->new(@options, query => $one =~ s/heartbeat/everywhere/r)
		});
}

# Both transactions write rows of all shards, and the reader waits for the open one.
sub one_late_row
{
	my ($right, $wrong) = @reader;
	my $rows = 'INSERT INTO outbox (tenant) SELECT generate_series(1, 20)';
	$late->ask("BEGIN; $rows");
	$prompt->ask($rows);
	sql(recipe('citus-beat')) foreach 1 .. 2;
	is($right->{$_}->poll, 0, "$_: waits for the open transaction") foreach ('two statements', 'one statement');
	is($wrong->{$_}->poll, 20, "$_: does not wait") foreach ('no bound', "the coordinator's bound");
	$late->ask('COMMIT');
	sql(recipe('citus-beat')) foreach 1 .. 2;
	foreach my $name (sort keys %$right)
	{
		$right->{$name}->reads_all($name) unless $name eq 'rows that change';
	}
	foreach my $name ('no bound', "the coordinator's bound")
	{
		$wrong->{$name}->poll;
		my (undef, $lost, $back) = $wrong->{$name}->counts;
		is($lost + $back, 20, "$name: the late rows are lost");
	}
	$_->quit foreach ($late, $prompt);
	return;
}

#
# The load
#
# Sessions write through the coordinator and through a worker.
sub load
{
	my %writer = (
		one       => "INSERT INTO outbox (tenant, body) VALUES (:tenant, extract(epoch FROM clock_timestamp())::text);\n",
		rows      => "INSERT INTO outbox (tenant) SELECT generate_series(:tenant, :tenant + 10);\n",
		slow      => "BEGIN;\nINSERT INTO outbox (tenant) SELECT generate_series(:tenant, :tenant + 10);\n" . pause(200)
		  . "INSERT INTO outbox (tenant) VALUES (:tenant);\nCOMMIT;\n",
		abort     => "BEGIN;\nINSERT INTO outbox (tenant) VALUES (:tenant);\n" . pause(20) . "ROLLBACK;\n",
		savepoint => "BEGIN;\nINSERT INTO outbox (tenant) VALUES (:tenant);\nSAVEPOINT a;\nINSERT INTO outbox (tenant) VALUES (:tenant + 1);\n"
		  . "ROLLBACK TO a;\n" . pause(20) . "INSERT INTO outbox (tenant) VALUES (:tenant + 2);\nCOMMIT;\n",
		copy      => "INSERT INTO outbox (tenant, body) SELECT tenant, 'copy' FROM outbox WHERE tenant = :tenant LIMIT 2;\n",
		upsert    => "INSERT INTO item VALUES (:tenant % 50, :tenant, :us) ON CONFLICT (tenant, id) DO UPDATE SET name = excluded.name;\n",
		change    => "UPDATE item SET name = :us WHERE tenant = :tenant % 50;\n",
		gone      => "DELETE FROM item WHERE tenant = :tenant % 50 AND id = :tenant;\n",
		again     => "BEGIN;\nDELETE FROM item WHERE tenant = :tenant % 50 AND id = :tenant;\n" . pause(20)
		  . "INSERT INTO item VALUES (:tenant % 50, :tenant, :us) ON CONFLICT DO NOTHING;\nCOMMIT;\n");
	my %weight = (one => 8, rows => 3, slow => 2, upsert => 4);
	my %text = map { $_ => [ $weight{$_} // 1, "\\set tenant random(1, 500)\n\\set us random(1, 1000000000)\n$writer{$_}" ] } keys %writer;
	my ($to, $to_worker) = map { conninfo('postgres', $node{$_}) } qw(coordinator one);

	start_heart($to);
	start_writers($to, 6, 40, \%text);
	start_writers($to_worker, 2, 15, \%text);
	# Two sessions share one consumer, and store its rows and its position in one transaction.
	my $consume = recipe('batch') =~ s/\bid\b/seq/gr =~ s/comb_settled\(\)/(SELECT bound FROM heartbeat)/r
	  =~ s/SELECT body FROM batch.*/INSERT INTO mail SELECT seq FROM batch;/sr;
	start_readers($to, "BEGIN;\n${consume}COMMIT;\n\\sleep 50 ms\n") foreach 1 .. 2;
	start_readers($to, "SELECT bound FROM heartbeat \\gset\nUPDATE everywhere SET bound = ':bound';\n\\sleep 50 ms\n");

	my ($right, $wrong) = @reader;
	my @all = map { values %$_ } @reader;
	my $beside = sub {
		my ($name, $statement) = @_;
		my $session = start_work($statement);
		read_until(time() + 0.2, @all) until $session->answered;
		return is(work_error($session), '', $name);
	};
	$beside->('a shard moves beside writers', move('outbox', 'one', 'two'));
	$beside->('a shard splits beside writers', split_shard());
	sql("SELECT citus_add_node($address{three})");
	sql(q{SELECT replicate_reference_tables('force_logical')});
	is(sql(recipe('citus-clock')), 'f', 'the clock of an added node is behind the bound');
	wait_until($coordinator, recipe('citus-clock'));
	$beside->("a shard of $_ moves to an added node", move($_, 'one', 'three')) foreach qw(outbox item);
	read_until(time() + 1, @all);
	$beside->('the node is drained', "SELECT citus_drain_node($address{three}, 'force_logical')");
	sql("CALL citus_cleanup_orphaned_resources(); SELECT citus_remove_node($address{three})");

	# The rest of the time
	my ($session, $work, %done);
	my $began = time();
	disturb($coordinator, $duration, readers => \@all, clients => [qw(writer heart reader)], kill => 0, crash => [ @node{qw(one two)} ],
		first => sub {
			# A session whose server has crashed answers no more.
			if ($session && (eval { $session->answered } // 1))
			{
				my $error = work_error($session);
				$done{ $error eq '' ? $work : "$work: $error" }++;
				undef $session;
			}
			return if $session;
			($work, my $statement) = @{ (
				[ 'a move', move('outbox', int(rand(2)) ? qw(one two) : qw(two one)) ],
				[ 'a move of items', move('item', int(rand(2)) ? qw(one two) : qw(two one)) ],
				[ 'a split', split_shard() ])[ rand(2.3) ] };
			$session = start_work($statement);
			if (rand() < 0.02 && time() - $began > 30)
			{
				crash($coordinator);
				$coordinator->start;
				$done{"a crash of the coordinator"}++;
			}
		});
	work_error($session) if $session;
	diag("$done{$_} times $_") foreach sort keys %done;

	stop_loops($coordinator, 'writer');
	stop_loops($node{one}, 'writer');
	# Transactions that a crash left prepared are ended within citus.recover_2pc_interval.
	my $after = sql('SELECT comb_generate_ordered()');
	wait_until($coordinator, "SELECT bound > '$after' FROM heartbeat", 'the bound stands');
	stop_loops($coordinator, $_) foreach qw(reader heart);
	read_rest(@all);
	sql(join('', map { $_ x 50 } $consume));
	is(sql('SELECT count(*) FROM ((SELECT seq FROM outbox EXCEPT ALL SELECT seq FROM mail) UNION ALL (SELECT seq FROM mail EXCEPT ALL SELECT seq FROM outbox)) AS s'),
		'0', 'a consumer in transactions has each row once');
	$right->{'two statements'}->delays;
	# Nodes do not answer beats, and commits.
	return end_soak(readers => $right, twins => $wrong, nodes => [ values %node ], expected =>
		qr/could not find valid entry for shard|relation .* does not exist|deadlock|invalid input syntax for type uuid: "|failed to COPY to shard|could not commit transaction for shard/);
}

# A statement in a session of its own, as long as it may take
sub start_work
{
	my ($statement) = @_;
	my $session = CombSession->new($coordinator);
	$session->send("SET client_min_messages = error; SET statement_timeout = '60 s'; $statement");
	return $session;
}

sub work_error
{
	my ($session) = @_;
	my (undef, $err) = $session->result;
	$session->quit;
	return join(', ', $err =~ /(?:ERROR|FATAL): +(.*)/g, $session->{ended} ? 'the session has ended' : ());
}

sub move
{
	my ($table, $from, $to) = @_;
	my $port = $node{$from}->port;
	return "SELECT citus_move_shard_placement(shardid, $address{$from}, $address{$to}, shard_transfer_mode => 'force_logical')
		FROM (SELECT shardid FROM citus_shards WHERE table_name = '$table'::regclass AND nodeport = $port ORDER BY random() LIMIT 1) AS s";
}

sub split_shard
{
	my ($one, $two) = map { $node{$_}->port } qw(one two);
	return "SELECT citus_split_shard_by_split_points(shardid, ARRAY[((shardminvalue::bigint + shardmaxvalue::bigint) / 2)::text],
			(SELECT array_agg(nodeid) FROM pg_dist_node WHERE nodeport IN ($one, $two)), 'force_logical')
		FROM (SELECT * FROM pg_dist_shard WHERE logicalrelid = 'outbox'::regclass ORDER BY random() LIMIT 1) AS s";
}

# A reader that goes on after an error: Citus cannot answer while a worker is down, and a
# poll that meets a move or a split can fail.
package CitusReader;

use parent -norequire, 'CombSession';

use Time::HiRes qw(time);

sub poll
{
	my ($self) = @_;
	my $query = $self->query('');
	$query = "BEGIN ISOLATION LEVEL $self->{isolation}; SELECT count(*) FROM item WHERE tenant = 1; SELECT pg_sleep(0.1);\n$query\nCOMMIT"
	  if $self->{isolation};
	$self->send($query);
	my ($out, $err) = $self->result;
	die 'the session has ended' if $self->{ended};
	$self->{errors}{$_}++ foreach $err =~ /ERROR: +(.*)/g;
	return $self->take($out);
}

# Rows of one INSERT each say when they were written.
sub take
{
	my ($self, $out) = @_;
	push @{ $self->{delays} }, map { time() - $_ } $out =~ /\|(\d+\.\d+)$/mg;
	return $self->SUPER::take($out);
}

sub delays
{
	my ($self) = @_;
	my @delays = sort { $a <=> $b } @{ $self->{delays} };
	main::diag(sprintf('delays of %d rows: half %.1f s, 99 %% %.1f s, all %.1f s', scalar(@delays), map { $delays[ $_ * $#delays ] } 0.5, 0.99, 1));
	main::diag("$self->{errors}{$_} polls: $_") foreach sort keys %{ $self->{errors} };
	return;
}

package CitusFeed;

use parent -norequire, 'CombFeed';

sub poll { return CitusReader::poll(@_); }
