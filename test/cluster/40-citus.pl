# Feeds on Citus: of a distributed table, which loses rows, and of a plain table
#
# Debian has no package of Citus.  CITUS names a directory into which Citus was
# installed with "make install DESTDIR=...", for the server of the test.
use lib 'test/perl';
use CombTest;
use CombSession;

my $citus = $ENV{CITUS} // '';
my ($share, $lib) = map { (run_command([ 'pg_config', "--$_" ]))[0] } qw(sharedir pkglibdir);
plan skip_all => 'Citus is not installed: CITUS= names the DESTDIR of a build'
  unless -e "$citus$share/extension/citus.control";
my $paths = $ENV{TEMP_CONFIG} ? slurp_file($ENV{TEMP_CONFIG}) : '';
plan skip_all => 'needs a server that loads from two private directories, of PostgreSQL 18'
  if $citus && $paths !~ /^extension_control_path/m;
$paths =~ s/:\$system/:$citus$share:\$system/;
$paths =~ s/:\$libdir/:$citus$lib:\$libdir/;

my %node = map { $_ => server($_, sql => 'CREATE EXTENSION citus', conf => $paths . q{
fsync = off
autovacuum = off
shared_preload_libraries = 'citus'
citus.node_conninfo = 'sslmode=prefer'
citus.enable_statistics_collection = off
}) } qw(coordinator one two);
my $coordinator = $node{coordinator};
$coordinator->safe_psql('postgres', sprintf("SELECT citus_set_coordinator_host('%s', %d)", $coordinator->host, $coordinator->port));
$coordinator->safe_psql('postgres', sprintf("SELECT citus_add_node('%s', %d)", $node{$_}->host, $node{$_}->port)) foreach ('one', 'two');
note "\nCitus " . $coordinator->safe_psql('postgres', q{SELECT extversion FROM pg_extension WHERE extname = 'citus'})
  . ", a coordinator and two workers: a feed of a distributed table, and one of a plain table\n ";

$coordinator->safe_psql('postgres', q{
	CREATE EXTENSION pg_comb_ordered CASCADE;
	CREATE TABLE event (tenant int, id uuid DEFAULT comb_generate_ordered(), what text, PRIMARY KEY (tenant, id));
	SELECT create_distributed_table('event', 'tenant');
	CREATE TABLE outbox (id uuid PRIMARY KEY DEFAULT comb_generate_ordered(), what text)});
is($node{$_}->safe_psql('postgres', q{SELECT count(*) FROM pg_extension WHERE extname LIKE 'pg_comb%'}),
	'2', "CREATE EXTENSION has reached worker $_") foreach ('one', 'two');

# A transaction that makes the smaller keys and commits late, and another that commits at
# once, each with a row of each table.
my $both = q{
	BEGIN;
	INSERT INTO event (tenant, what) VALUES (1, 'event'), (2, 'event'), (3, 'event');
	INSERT INTO outbox (what) VALUES ('event')};
my ($late, $prompt) = map { CombSession->new($coordinator) } 1 .. 2;
$late->ask($both);
$prompt->ask("$both; COMMIT");

# Workers that make keys of their own have a counter to ask.
my ($reader, $follower) = map { CombSession->new($coordinator, 'postgres', table => $_) } qw(event outbox);
is($coordinator->safe_psql('postgres', q{SELECT bool_and(success) FROM run_command_on_workers('SELECT comb_generate_ordered()')}),
	't', 'each worker makes a key');
like($coordinator->safe_psql('postgres', 'EXPLAIN (COSTS OFF) ' . $reader->query('comb_settled()')),
	qr/->  Task.*(Cond|Filter):.*comb_settled\(\)/s, 'Citus sends comb_settled() to the workers');
is($reader->poll, 3, "the workers' bounds pass the open transaction of the coordinator");
is($follower->poll, 0, 'it holds the feed of the plain table back');
$late->ask('COMMIT');
is($reader->poll, 0, 'its rows of the distributed table do not come');
is($follower->poll, 2, 'those of the plain table do');
$follower->reads_all('the feed of the plain table');
my %seen = map { $_ => 1 } @{ $reader->{got} };
my $lost = grep { !$seen{$_} } split(/\n/, $coordinator->safe_psql('postgres', 'SELECT id FROM event'));
is($lost, 3, 'the feed of the distributed table has lost three rows');
$_->quit foreach ($late, $prompt, $reader, $follower);
done_testing();
