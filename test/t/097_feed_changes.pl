# Readers of rows that change, by the recipe of doc/feed_readers.md: updates, deletes,
# and ids that are deleted and inserted again.
use strict;
use warnings;

use FindBin qw($RealBin);
use lib "$RealBin/../perl";
use CombFeed;
use CombSession;
use CombTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

my ($recipe, $query) = recipes('Rows that change');
my ($log_recipe) = recipes('Every version');
my ($undo)       = recipes('Undo');
my $incautious = q{
	SELECT id, version, false AS deleted, name FROM item WHERE version > $last AND version < comb_settled()
	UNION ALL
	SELECT id, version, true, NULL FROM item_deleted WHERE version > $last AND version < comb_settled()
	ORDER BY version};

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', "max_prepared_transactions = 4\n");
$node->start;
$node->safe_psql('postgres', q{
	CREATE EXTENSION pg_comb_ordered CASCADE;
	CREATE ROLE owner LOGIN;
	CREATE ROLE clerk LOGIN;
	GRANT CREATE ON SCHEMA public TO owner});

#
# Whatever the table is, the reader's copy comes to be the table.
#
my %tables = (
	'plain'    => 'CREATE TABLE item (id bigint PRIMARY KEY, name text)',
	'by range' => q{
		CREATE TABLE item (id bigint PRIMARY KEY, name text) PARTITION BY RANGE (id);
		CREATE TABLE item_low PARTITION OF item FOR VALUES FROM (MINVALUE) TO (100);
		CREATE TABLE item_high PARTITION OF item FOR VALUES FROM (100) TO (MAXVALUE)},
	'by name' => q{
		CREATE TABLE item (id bigint, name text) PARTITION BY LIST (name);
		CREATE TABLE item_old PARTITION OF item FOR VALUES IN ('old');
		CREATE TABLE item_new PARTITION OF item DEFAULT});
foreach my $table (sort keys %tables)
{
	my $owner = CombSession->new($node, 'postgres', user => 'owner');
	$owner->ask($tables{$table});
	$owner->ask("INSERT INTO item SELECT n, 'old' FROM generate_series(1, 20) AS n");
	my $before = schema();
	$owner->ask($recipe);
	$owner->ask($log_recipe);
	my $once = schema();
	my $versions = $owner->ask('SELECT md5(string_agg(version::text, id::text ORDER BY id)) FROM item');
	$owner->ask($recipe);
	$owner->ask($log_recipe);
	is(schema(), $once, "$table: the recipe may run twice");
	is($owner->ask('SELECT md5(string_agg(version::text, id::text ORDER BY id)) FROM item'), $versions,
		"$table: and leaves the versions as they are");
	changes($table, $owner);
	privileges($table, $owner);
	$owner->ask($undo) foreach 1 .. 2;
	is(schema(), $before, "$table: the undo leaves nothing behind");
	$owner->ask('DROP TABLE item');
	$owner->quit;
}

# Tables, columns, indexes, triggers and functions of the owner
sub schema
{
	return $node->safe_psql('postgres', q{
		SELECT relname, relkind FROM pg_class WHERE relowner = 'owner'::regrole AND relkind <> 't' ORDER BY 1;
		SELECT attrelid::regclass, attname FROM pg_attribute JOIN pg_class c ON c.oid = attrelid
			WHERE relowner = 'owner'::regrole AND relkind IN ('r', 'p') AND attnum > 0 AND NOT attisdropped ORDER BY 1, 2;
		SELECT tgrelid::regclass, tgname, tgenabled FROM pg_trigger ORDER BY 1, 2;
		SELECT proname FROM pg_proc WHERE proowner = 'owner'::regrole ORDER BY 1});
}

sub changes
{
	my ($table, $owner) = @_;
	my ($reader, $all) = map { CombFeed->new($node, query => $query) } 1 .. 2;
	my $log = CombSession->new($node, 'postgres', table => 'item_log');
	my $other = CombSession->new($node);

	$reader->reads_all("$table: what was there before");
	$owner->ask($_), $reader->reads_all("$table: $_") foreach (
		"INSERT INTO item VALUES (200, 'inserted')",
		"UPDATE item SET name = 'changed' WHERE id <= 2",
		'UPDATE item SET id = id + 100 WHERE id = 3',
		'INSERT INTO item VALUES (201); UPDATE item SET id = 202 WHERE id = 201',
		'DELETE FROM item WHERE id IN (4, 5)',
		"INSERT INTO item VALUES (4, 'again')",
		"BEGIN; DELETE FROM item WHERE id = 6; INSERT INTO item VALUES (6, 'at once'); COMMIT",
		"WITH gone AS (DELETE FROM item WHERE id = 9 RETURNING id + 1000 AS id) INSERT INTO item SELECT id, 'in one' FROM gone",
		"BEGIN; DELETE FROM item WHERE id = 7; ROLLBACK",
		"UPDATE item SET name = 'twice' WHERE id = 8; UPDATE item SET name = 'thrice' WHERE id = 8; DELETE FROM item WHERE id = 8",
		"BEGIN; UPDATE item SET name = 'prepared' WHERE id = 10; DELETE FROM item WHERE id = 11; PREPARE TRANSACTION 'p'; COMMIT PREPARED 'p'");
	cmp_ok($reader->{rows}, '<', 50, "$table: and nothing is read again");

	# One commits late.
	$owner->ask("BEGIN; UPDATE item SET name = 'late' WHERE id = 12; DELETE FROM item WHERE id = 13");
	$other->ask("UPDATE item SET name = 'prompt' WHERE id = 14; DELETE FROM item WHERE id = 15");
	is($reader->poll, 0, "$table: an open transaction holds others back");
	$owner->ask('COMMIT');
	cmp_ok($reader->poll, '>=', 4, "$table: until it commits");
	$reader->reads_all("$table: so nothing is lost");
	$all->reads_all("$table: a new reader gets the whole table");
	again($table, $owner, $other, $reader);

	$log->reads_all("$table: each version is in the log");
	is($reader->log_differs, 0, "$table: and the last version of an id is the last in the log");
	$_->quit foreach ($reader, $all, $log, $other);
	return;
}

# A DELETE of two rows has taken the first, and waits for the second, when somebody
# inserts the first again.
sub again
{
	my ($table, $owner, $other, $reader) = @_;
	return if $table eq 'by name';    # without a unique index nobody waits
	my $twin = CombFeed->new($node, query => $incautious);
	my $holder = CombSession->new($node);

	$twin->reads_all("$table: a reader that deletes whatever was deleted");
	$holder->ask('BEGIN; SELECT FROM item WHERE id = 17 FOR UPDATE');
	$owner->send('DELETE FROM item WHERE id IN (16, 17)');
	waits_for_lock($owner);
	$other->send("INSERT INTO item VALUES (16, 'again')");
	waits_for_lock($other);
	$holder->ask('COMMIT');
	$_->result foreach ($owner, $other);
	is( $node->safe_psql('postgres', 'SELECT item.version < d.version FROM item JOIN item_deleted AS d USING (id) WHERE id = 16'),
		't', "$table: the key of the new row is below that of its deletion");
	$reader->reads_all("$table: the new row is read");
	$twin->poll;
	is($twin->differences, '0 stale, 1 missing, 0 not deleted', "$table: and is lost by a reader that deletes whatever was deleted");
	$_->quit foreach ($twin, $holder);
	return;
}

sub waits_for_lock
{
	my ($session) = @_;
	return $node->poll_query_until('postgres',
		"SELECT EXISTS (SELECT FROM pg_locks WHERE pid = $session->{pid} AND NOT granted)");
}

# Whoever deletes rows needs INSERT on the second table, and nothing else.
sub privileges
{
	my ($table, $owner) = @_;
	my $clerk = CombSession->new($node, 'postgres', user => 'clerk');

	$owner->ask('GRANT SELECT, INSERT, UPDATE, DELETE ON item TO clerk; GRANT INSERT ON item_log TO clerk');
	$clerk->ask("SET search_path = ''; UPDATE public.item SET name = name WHERE id = 18");
	like($clerk->complaints('DELETE FROM public.item WHERE id = 18'), qr/permission denied for table item_deleted/,
		"$table: a role that deletes");
	$owner->ask('GRANT INSERT ON item_deleted TO clerk');
	$clerk->ask('DELETE FROM public.item WHERE id = 18');
	$clerk->quit;
	return;
}

#
# What the triggers do not see
#
my $writer = CombSession->new($node);
$writer->ask($tables{plain});
$writer->ask("INSERT INTO item SELECT n, 'old' FROM generate_series(1, 20) AS n");
$writer->ask($recipe);
my $reader = CombFeed->new($node, query => $query);
$reader->reads_all('a plain table');
$writer->ask("SET session_replication_role = replica; UPDATE item SET name = 'applied' WHERE id = 1; DELETE FROM item WHERE id = 2");
$reader->poll;
is($reader->differences, '1 stale, 0 missing, 1 not deleted', 'an apply worker runs no triggers');
$writer->ask("ALTER TABLE item ENABLE ALWAYS TRIGGER $_") foreach qw(item_changed item_deleted item_renamed);
$writer->ask("UPDATE item SET name = 'applied again' WHERE id = 1; INSERT INTO item VALUES (2); DELETE FROM item WHERE id = 2");
$reader->reads_all('unless they are enabled always');
$writer->ask('RESET session_replication_role; TRUNCATE item');
is($reader->poll, 0, 'TRUNCATE tells a reader nothing');
is($reader->differences, '0 stale, 0 missing, 19 not deleted', 'which keeps all rows');

#
# A large table gets its versions piece by piece
#
$writer->ask($undo);
$writer->ask("INSERT INTO item SELECT n, 'old' FROM generate_series(1, 20) AS n");
$writer->ask('ALTER TABLE item ADD COLUMN version uuid; ALTER TABLE item ALTER COLUMN version SET DEFAULT comb_generate_ordered()');
$writer->ask('CREATE INDEX CONCURRENTLY item_version ON item (version)');
$writer->ask($recipe);
$writer->ask("INSERT INTO item VALUES (21, 'new'); UPDATE item SET name = 'changed' WHERE id = 1");
my $late = CombFeed->new($node, query => $query);
is($late->poll, 2, 'changed rows have versions');
$writer->ask("UPDATE item SET version = NULL WHERE version IS NULL AND id BETWEEN $_ AND $_ + 9") foreach (1, 11);
$late->reads_all('and all rows in the end');

# A batch is as much as the reader takes from the indexes.
$writer->ask('INSERT INTO item SELECT n FROM generate_series(100, 60000) AS n; DELETE FROM item WHERE id % 10 = 0');
$writer->ask('VACUUM ANALYZE item, item_deleted');
my $plan = $late->ask('EXPLAIN (COSTS OFF) ' . $late->query);
like($plan, qr/Limit\n *->  Index.* Scan using $_ /, "the reader uses $_") foreach qw(item_version item_deleted_pkey);
$late->reads_all('a large table');

$_->quit foreach ($writer, $reader, $late);
$node->stop;
done_testing();
