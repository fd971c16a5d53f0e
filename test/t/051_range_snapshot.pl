# A snapshot that is older than a constraint shows rows that the constraint forbids,
# also to the plan of a prepared statement that was made after the constraint.  Periods
# do not find them.  The order by times believes the constraint, as PostgreSQL does.
use lib 'test/perl';
use CombTest;
use CombSession;

my $node = server('main', sql => q{
CREATE EXTENSION pg_comb;
CREATE TABLE key (id uuid);
INSERT INTO key SELECT comb_stamp(md5(n::text)::uuid, '2026-01-01+00'::timestamptz + n * interval '1 hour') FROM generate_series(1, 179) n;
INSERT INTO key SELECT overlay(id::text PLACING '4' FROM 15 FOR 1)::uuid FROM key ORDER BY id LIMIT 1 OFFSET 90;
CREATE INDEX ON key (id);
CREATE TABLE parted (id uuid) PARTITION BY RANGE (id);
CREATE TABLE part PARTITION OF parted DEFAULT;
INSERT INTO parted TABLE key;
});

my ($old, $new) = map { CombSession->new($node) } 1 .. 2;
my $snapshot = $old->ask('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT pg_export_snapshot()');

for my $table ('key', 'parted')
{
	$node->safe_psql('postgres', qq{
DELETE FROM $table WHERE comb_timestamp(id) IS NULL;
ALTER TABLE $table ADD CHECK (comb_timestamp(id) IS NOT NULL);
});
	$new->ask(qq{
SET plan_cache_mode = force_generic_plan;
SET enable_seqscan = off;
PREPARE $table(tstzrange) AS SELECT count(*) FROM $table WHERE id <@ \$1;
PREPARE first_of_$table AS SELECT comb_timestamp(id) IS NULL FROM $table ORDER BY comb_timestamp(id) DESC LIMIT 1});
}
# Other sessions' snapshots do not change how this session plans.
is($new->ask("EXECUTE $_('(,)')"), 179, "$_: a plan for snapshots that the constraint holds in") for ('key', 'parted');
for my $table ('key', 'parted')
{
	is($new->ask("EXECUTE first_of_$table"), 'f', "$table: the order of the keys is that of their times");
	unlike($new->ask("EXPLAIN EXECUTE first_of_$table"), qr/Sort Key: .*comb_timestamp/, "$table: the plan has the key's order");
}
$new->ask("BEGIN ISOLATION LEVEL REPEATABLE READ; SET TRANSACTION SNAPSHOT '$snapshot'");
is($new->ask('SELECT count(*) FROM key'), 180, 'an older snapshot has a row without a time');
is($new->ask("EXECUTE $_('(,)')"), 179, "$_: the same plan does not count this row") for ('key', 'parted');

done_testing();
