# A tool copies a table by a cursor, and the same tool copies a view of the table.
#
# Eight writers of all kinds insert meanwhile: they commit late, roll back, use savepoints
# and two-phase commit, and are terminated.  The tool itself is killed and begins again.  From the
# table rows must be lost, or the test would show nothing.
#
# With "-anywhere" after the tool's name, the server has no pg_comb, and the table's key is a
# bigserial.  The view and its feed are in the schema of a role that may only read the table.  dlt
# itself moves the bound before each poll, and a loop does it for Singer.
#
# With "failover" Singer's tap copies while the primary crashes and comes back, and then is lost for a
# synchronous standby.  A tap that fails, because its server has gone, begins again as its user would
# let it.  Its stored cursor is from before.
#
# test/run says which tool, and how it runs.  The tool's program gets the name of
# the table or view, the column of the cursor, and a directory of its own.  It prints a
# line "poll" after each poll.  When the file "end" is there, it polls for the last time, and writes what
# has arrived into the file "rows".
#
# Each copy polls POLLS times, or as often as it can in a part of the time, but not less than ten times.
# The writers are slow, because a tool that falls behind has more rows at each poll.  So that polls find
# transactions open all the same, two of the writers commit half a second late.
#
# dbt sends BEGIN in a transaction of its driver:
# logged: there is already a transaction in progress
use lib 'test/perl';
use CombTest;
use CombCopy;
use CombSoak;
use Time::HiRes qw(time usleep);

# The tools: what they copy, first the table, then views, and the table as a role that a policy lets see a part; how often they are killed, which is once if
# they take long to begin again; and whether they then read or load rows again that they have written, and do
# not remove them.
my %tools = (
	'dlt'             => { copies => [ 'outbox id', 'outbox_settled id', 'outbox_timed made_at', 'outbox id tool' ], kills => 2, repeats => 1 },
	'dlt-anywhere'    => { copies => [ 'outbox id', 'outbox_settled id' ], kills => 2, repeats => 1 },
	'dbt'             => { copies => [ 'outbox id', 'outbox_settled id', 'outbox_bound id' ], kills => 2 },
	'singer'          => { copies => [ 'outbox id', 'outbox_settled id', 'outbox_timed made_at' ], kills => 2, repeats => 1 },
	'singer-anywhere' => { copies => [ 'outbox id', 'outbox_settled id' ], kills => 2, repeats => 1, loop => 1 },
	'failover'        => { copies => [ 'outbox id', 'outbox_settled id' ], kills => 0, repeats => 1, standby => 1 },
	'spark'           => { copies => [ 'outbox id', 'outbox_settled id', 'outbox_numbered number' ], kills => 1 },
	'kafka-connect'   => { copies => [ 'outbox number', 'outbox_numbered number' ], kills => 1, repeats => 1 });

$SIG{TERM} = sub { exit 1 };
my $name     = $ENV{PIPELINE};
my $tool     = $tools{$name};
my $anywhere = $name =~ /-anywhere$/;
my @command  = split(/\n/, $ENV{PIPELINE_COMMAND});
my $wanted   = $ENV{POLLS} || 30;
my $least    = $wanted < 10 ? $wanted : 10;
my $limit    = $ENV{STEP_LIMIT} || 1800;
begin_soak($name, 30);

# JDBC has no unix sockets.
my $node = soak_server($name, init => [ allows_streaming => 1 ], conf => "listen_addresses = '127.0.0.1'\n");
my %writers = %$event_writers;
my ($key, $settled) = qw(comb_generate_ordered() comb_settled());
if ($anywhere)
{
	unshift @command, 'env', 'PGUSER=reader';
	($key, $settled) = (q{nextval('outbox_id_seq')}, q{reader.comb_feed_number('outbox_id_seq')});
	$_ = [ $_->[0], $_->[1] =~ s/comb_generate_ordered\(\)(, comb_snowflake\(\))?/$key/gr ] foreach values %writers;
	$node->safe_psql('postgres', q{
		CREATE TABLE outbox (id bigserial PRIMARY KEY, body text);
		CREATE ROLE reader LOGIN;
		CREATE SCHEMA reader AUTHORIZATION reader;
		GRANT SELECT ON outbox, outbox_id_seq TO reader;
		SET ROLE reader;} . portable_feed() . recipe('feed-number') =~ s/\borders/outbox/gr);
}
else
{
	$node->safe_psql('postgres', q{
		CREATE EXTENSION pg_comb_ordered CASCADE;} . recipe('numbers') . q{
		CREATE TABLE outbox (id uuid PRIMARY KEY DEFAULT comb_generate_ordered(), body text,
			number bigint NOT NULL UNIQUE DEFAULT next_id());}
		  . join('', map { recipe("$_ view") =~ s/\bpurchase/outbox/gr } qw(settled numbered timed))
		  . 'CREATE ROLE app; CREATE ROLE tool LOGIN;' . recipe('settled policy') =~ s/\bpurchase/outbox/gr);
}
my @nodes = ($node);
if ($tool->{standby})
{
	push @nodes, standby($node, 'standby');
	configure($node, "synchronous_standby_names = '*'\n");
}
my $server = $node;
local %ENV = (%ENV, PGUSER => $node->safe_psql('postgres', 'SELECT current_user'), PGDATABASE => 'postgres');

my $conninfo = conninfo('postgres', @nodes);
start_writers($conninfo, 2, 5, \%writers) foreach 1 .. 3;
start_writers($conninfo, 2, 4, { late => [ 1, late(500, "INSERT INTO outbox (body) VALUES ('late');\n") ] });
start_resolver($conninfo);
start_readers("$conninfo user=reader", "SELECT comb_feed_advance();\n\\sleep 200 ms\n") if $tool->{loop};
my @copies = map { my ($relation, $cursor, $user) = split(/ /);
	CombCopy->new($relation, $cursor, user => $user, log => $name eq 'kafka-connect' && $node->logfile) } @{ $tool->{copies} };
my ($began, $terminated) = (time(), 0);

# Start the copies that do not run.  Only a server that has gone may have ended them.
sub keep_running
{
	local @ENV{qw(PGHOST PGPORT)} = ($server->host, $server->port);
	foreach my $copy (grep { !$_->runs && !$_->ended } @copies)
	{
		die "$name has ended: " . $copy->complaints if $copy->{started} && !$tool->{standby};
		$copy->start(@command);
	}
	usleep(200_000);
	return;
}

# Let each copy poll so often more, and return how many rows there are then.
sub let_poll
{
	my ($polls) = @_;
	my %until = map { $_ => $_->polls + $polls } @copies;
	while (time() < $began + 0.6 * $limit && grep { $_->polls < $until{$_} } @copies)
	{
		keep_running();
		usleep(300_000);
		$terminated += terminate_backend($server, 'writer');
		# The view of whole milliseconds lets out the rows of the last one when a key is made.
		$server->safe_psql('postgres', "SELECT $key");
		$_->kill foreach grep { $_->{kills} < $tool->{kills} && $_->polls >= $least / 2 * ($_->{kills} + 1) } @copies;
	}
	return $server->safe_psql('postgres', 'SELECT count(*) FROM outbox');
}

# Kill the server.  For a while nothing answers.
sub crash_server
{
	crash($server);
	my $until = time() + 2;
	keep_running() while time() < $until;
	return;
}

if ($tool->{standby})
{
	my @counts = let_poll($wanted / 3);
	crash_server();
	start_at($server);
	wait_for_server($server);
	push @counts, let_poll($wanted / 3);
	# A commit that the crash let through without the standby is visible after the restart, but may be
	# lost with the primary, as without pg_comb.  The standby has long got those of before.
	crash_server();
	$server = $nodes[1];
	$server->promote;
	push @counts, let_poll($wanted / 3);
	ok($counts[0] < $counts[1] && $counts[1] < $counts[2], "rows come after the crash, and after the promotion: @counts");
}
else { let_poll($wanted) }
end_writers($server);
$server->safe_psql('postgres', "SELECT $key, pg_sleep(0.01)");
# dlt settles the last rows in its last poll.
wait_until($server, "SELECT $settled > id FROM outbox ORDER BY id DESC LIMIT 1") unless $name eq 'dlt-anywhere';
append_to_file("$_->{directory}/end", '') foreach @copies;
keep_running() while time() < $began + 0.9 * $limit && grep { $_->runs || !$_->ended } @copies;

my @rows = split(/\n/, $server->safe_psql('postgres', 'SELECT id, body FROM outbox'));
cmp_ok(scalar(@rows), '>', 100, 'there is something to read');
my ($table, @views) = map { $_->compare(@rows) } @copies;
diag(scalar(@rows) . " rows, $terminated sessions terminated, " . int(time() - $began) . ' seconds');
cmp_ok($_->polls, '>=', $least, "$_->{relation}: there are enough polls") foreach @copies;
cmp_ok($table->{lost}, '>', 0, 'the table: rows are lost');
foreach (@views)
{
	is("$_->{lost} lost, $_->{changed} changed", '0 lost, 0 changed', "$_->{relation}: nothing is lost");
	is($_->{twice}, 0, "$_->{relation}: nothing comes twice") if $_->{user} || !$tool->{repeats};
}
stop_loops($server, 'reader') if $tool->{loop};
end_soak(nodes => [ reverse @nodes ], expected => $tool->{standby} && qr/read-only transaction|read only|standby/);
