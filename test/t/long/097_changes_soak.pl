# Readers of rows that change, by the recipe of doc/feed_readers.md: ten writers,
# terminated sessions and killed backends.  Each reader keeps a copy of the table, and
# the copy must come to be the table.  A reader without the bound must come to another
# copy, or the test would show nothing.
use strict;
use warnings;

use FindBin qw($RealBin);
use lib "$RealBin/../../perl";
use CombFeed;
use CombSession;
use CombSoak;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

begin_soak('soak of rows that change', 15);

my $query = recipe('changed');
my $ids = $duration > 60 ? 20000 : 3000;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', soak_settings() . "deadlock_timeout = 50ms\n");
$node->start;
$node->safe_psql('postgres', q{
	CREATE EXTENSION pg_comb_ordered CASCADE;
	CREATE TABLE item (id bigint PRIMARY KEY, name text) PARTITION BY HASH (id);
	CREATE TABLE item_0 PARTITION OF item FOR VALUES WITH (MODULUS 2, REMAINDER 0);
	CREATE TABLE item_1 PARTITION OF item FOR VALUES WITH (MODULUS 2, REMAINDER 1);
	-- of many rows, in any order; a second session may be in the way
	CREATE FUNCTION change_many(a int, b int, new text) RETURNS void LANGUAGE plpgsql AS $$
	BEGIN
		IF new IS NULL THEN DELETE FROM item WHERE id BETWEEN a AND b AND pg_sleep(0.001) IS NOT NULL;
		ELSE UPDATE item SET name = new WHERE id BETWEEN a AND b AND pg_sleep(0.001) IS NOT NULL;
		END IF;
	EXCEPTION WHEN deadlock_detected THEN NULL;
	END $$;
	CREATE FUNCTION rename_one(a int, b int) RETURNS void LANGUAGE plpgsql AS $$
	BEGIN
		UPDATE item SET id = b WHERE id = a;
	EXCEPTION WHEN unique_violation OR deadlock_detected THEN NULL;
	END $$});
$node->safe_psql('postgres', recipe('changes'));
$node->safe_psql('postgres', recipe('every-version'));

my $unbound = $query =~ s/ AND version < \(SELECT bound FROM b\)//gr;
my $reader  = CombFeed->new($node, query => $query);
$node->safe_psql('postgres', recipe('changes view'));
my $view    = CombFeed->new($node,
	query => 'SELECT id, version, deleted, name FROM item_changes WHERE version > $last ORDER BY version LIMIT 1000');
my $log     = CombSession->new($node, 'postgres', table => 'item_log',
	query => recipe('poll') =~ s/\boutbox\b/item_log/r);
my $twin    = CombFeed->new($node, query => $unbound);
my @readers = ($reader, $view, $log, $twin);

#
# Writers
#
my $id     = "\\set id random(1, $ids)\n\\set value random(1, 1000000000)\n";
my $change = "UPDATE item SET name = :value::text WHERE id = :id;\n";
my $insert = "INSERT INTO item VALUES (:id, :value::text) ON CONFLICT (id) DO NOTHING;\n";
my %writers = (
	insert   => [ 30, $id . $insert ],
	upsert   => [ 15, $id . "INSERT INTO item VALUES (:id, :value::text) ON CONFLICT (id) DO UPDATE SET name = excluded.name;\n" ],
	change   => [ 20, $id . $change ],
	late     => [ 10, $id . late(20, $change) ],
	enter    => [ 10, $id . late(20, $insert) ],
	leave    => [ 5,  $id . late(20, "DELETE FROM item WHERE id = :id;\n") ],
	gone     => [ 10, $id . "DELETE FROM item WHERE id = :id;\n" ],
	many     => [ 3,  $id . "SELECT change_many(:id, :id + 20, :value::text);\n" ],
	all_gone => [ 5,  $id . "SELECT change_many(:id, :id + 20, NULL);\n" ],
	again    => [ 5,  $id . "BEGIN;\nDELETE FROM item WHERE id = :id;\n" . pause(5) . $insert . "COMMIT;\n" ],
	rename   => [ 5,  $id . "\\set other random(1, $ids)\nSELECT rename_one(:id, :other);\n" ],
	abort    => [ 5,  $id . "BEGIN;\n$change" . pause(5) . "ROLLBACK;\n" ],
	savepoint => [ 5, $id . "BEGIN;\nSAVEPOINT a;\n$change" . "ROLLBACK TO a;\n" . pause(5) . "SAVEPOINT b;\n$change" . "COMMIT;\n" ],
	prepared => [ 3,  $id . "\\set gid random(1, 1000000000)\nBEGIN;\n$change" . "PREPARE TRANSACTION 'g:gid';\n" ],
	'delete and prepare' => [ 2, $id . "\\set gid random(1, 1000000000)\nBEGIN;\nDELETE FROM item WHERE id = :id;\nPREPARE TRANSACTION 'g:gid';\n" ]);
my $conninfo = conninfo('postgres', $node);
start_writers($conninfo, 2, 40, \%writers) foreach 1 .. 5;
start_resolver($conninfo);

my ($until, $terminated, $killed) = (time() + $duration, 0, 0);
while ($killed == 0 || time() < $until)
{
	foreach (1 .. 10)
	{
		read_until(time() + rand(2), @readers);
		$terminated += terminate_backend($node, 'writer');
	}
	$killed += kill_backend($node, 'writer');
}
end_writers($node);
read_rest(@readers);

#
# Count
#
diag("$terminated sessions terminated, $killed backends killed");
diag("$reader->{rows} rows read, " . $reader->differences);
cmp_ok($reader->{rows}, '>', 10 * $duration, 'there is something to read');
$reader->reads_all("the copy is the table (SEED=$seed)");
$view->reads_all("by the view of doc/pipelines.md, too (SEED=$seed)");
all_is_read($log, 'each version in the log');
my $differences = $twin->differences;
diag("without the bound: $differences");
isnt($differences, '0 stale, 0 missing, 0 not deleted', 'without the bound, a copy is another');
is($reader->log_differs, 0, 'the last version of each id is the last in the log');
is(loop_errors(qr/deadlock/), '', 'nothing fails otherwise');
$_->quit foreach @readers;
$node->stop;
unlike(slurp_file($node->logfile), qr/PANIC|TRAP|signal (?!9|15)\d/, 'no server process failed by itself');
done_testing();
