# Readers of rows on another server, by postgres_fdw: those that ask as operations.md says
# lose no row, and the others lose some, or the test would show nothing.
#
# "main" is the server that is asked, and "far" has the rows.  outbox is written on "far",
# and note through "main", which makes its keys.
use lib 'test/perl';
use CombTest;
use CombSoak;

begin_soak('soak of readers of foreign tables', 15);
my ($main, $far) = map { soak_server($_, sql => 'CREATE EXTENSION pg_comb_ordered CASCADE') } qw(main far);
$far->safe_psql('postgres', recipe('outbox') . recipe('settled-view') . 'CREATE TABLE note (id uuid PRIMARY KEY, body text)');
my ($host, $port) = ($far->host, $far->port);
$main->safe_psql('postgres', qq{
	CREATE EXTENSION postgres_fdw;
	CREATE SERVER events FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '$host', port '$port', dbname 'postgres');
	CREATE USER MAPPING FOR CURRENT_USER SERVER events;
	CREATE FOREIGN TABLE outbox (id uuid, body text) SERVER events;
	CREATE FOREIGN TABLE note (id uuid DEFAULT comb_generate_ordered(), body text) SERVER events;
	CREATE FOREIGN TABLE estimated_note (id uuid, body text) SERVER events
		OPTIONS (table_name 'note', use_remote_estimate 'true');} . recipe('settled-table'));

my ($poll, $view, $bound) = (recipe('poll'), recipe('settled-poll'), recipe('bound-first'));
my $of_note = $poll =~ s/\boutbox\b/note/r;
my %reader = (
	'a view' => outbox_reader($main, $view),
	'the bound in an earlier transaction' => outbox_reader($main, "\\set last \$last\n$bound", table => 'note'));
my %twin = (
	"the other server's bound" => outbox_reader($main, $poll),
	'a condition' => outbox_reader($main, 'EXECUTE condition($last)', table => 'note'),
	'a sub-select and remote estimates' => outbox_reader($main,
		$of_note =~ s/FROM note/FROM estimated_note/r =~ s/comb_settled\(\)/(SELECT comb_settled())/r, table => 'note'));
my @readers = (values %reader, values %twin);

# The planner asks for an estimate, before the other server has its snapshot.  If no other
# transaction ends meanwhile, the bound of the query is this one, and no row is lost.
$twin{'a condition'}->ask('SET plan_cache_mode = force_generic_plan; PREPARE condition(uuid) AS ' . $of_note =~ s/\$last/\$1/r);

like($main->safe_psql('postgres', 'EXPLAIN (VERBOSE, COSTS OFF) ' . $reader{'a view'}->query),
	qr/Remote SQL: SELECT .* FROM public\.outbox_settled WHERE \(\(id > .*ORDER BY id/, 'the other server chooses and sorts the rows of a view');

# postgres_fdw prepares no transactions.
my $writers = kinds($event_writers, qw(rows one slow abort savepoint chain));
my %of_note = map { $_ => [ $writers->{$_}[0], $writers->{$_}[1] =~ s/\boutbox\b/note/gr ] } keys %$writers;
my ($to_main, $to_far) = map { conninfo('postgres', $_) } ($main, $far);
# Readers by postgres_fdw keep up with so many rows, but not with all that writers could write.
start_writers($to_far, 6, 150, $event_writers);
start_writers($to_main, 6, 150, \%of_note);
# Writers through a foreign table have no xid on "main".  These transactions move its bound.
start_writers($to_main, 1, 100, { 'xid' => [ 1, "SELECT txid_current();\n" ] });
start_resolver($to_far);
# Not the sessions of "main": a row whose COMMIT is interrupted may appear late, as operations.md says.
disturb($far, $duration, readers => \@readers, kill => 0);
stop_loops($main, 'writer');
end_writers($far);
read_rest(@readers);

end_soak(readers => \%reader, twins => \%twin, nodes => [ $main, $far ]);
