# SQL Server's order: what a restore brings back, and how a sort works inside

use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('mssql');
$node->init;
$node->start;

my $dir = PostgreSQL::Test::Utils::tempdir;

$node->safe_psql(
	'postgres', q{
CREATE EXTENSION pg_comb;
CREATE TABLE orders (id uuid NOT NULL, n int);
INSERT INTO orders SELECT md5(i::text)::uuid, i FROM generate_series(1, 3000) i;
CREATE UNIQUE INDEX orders_id ON orders (id comb_mssql_ops);
ALTER TABLE orders REPLICA IDENTITY USING INDEX orders_id;
CREATE TABLE lines (order_id uuid REFERENCES orders (id), line int);
INSERT INTO lines SELECT id, 1 FROM orders;
CREATE INDEX lines_order_id ON lines (order_id comb_mssql_ops, line);
CREATE INDEX orders_brin ON orders USING brin (comb_mssql_key(id));
CREATE TABLE parted (id uuid PRIMARY KEY, n int) PARTITION BY RANGE (id comb_mssql_ops);
CREATE TABLE parted_1 PARTITION OF parted
	FOR VALUES FROM (MINVALUE) TO ('ffffffff-0000-0000-0000-800000000000');
CREATE TABLE parted_2 PARTITION OF parted
	FOR VALUES FROM ('ffffffff-0000-0000-0000-800000000000') TO (MAXVALUE);
INSERT INTO parted SELECT id, n FROM orders;
CREATE VIEW newest AS SELECT id FROM orders ORDER BY id USING #>#;
});

# A restored database must have the same state as the dumped database
my $state = q{
SELECT indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY indexname COLLATE "C";
SELECT relname, relreplident FROM pg_class WHERE relname = 'orders';
SELECT pg_get_partkeydef('parted'::regclass);
SELECT pg_get_expr(relpartbound, oid) FROM pg_class WHERE relispartition AND relkind = 'r' ORDER BY relname;
SELECT pg_get_viewdef('newest'::regclass);
SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint WHERE contype = 'f' ORDER BY 1;
SELECT tableoid::regclass, count(*), md5(string_agg(id::text, ',' ORDER BY id USING #<#))
FROM parted GROUP BY 1 ORDER BY 1;
SELECT count(*), md5(string_agg(id::text, ',')) FROM newest;
SELECT count(*) FROM lines JOIN orders ON id = order_id;
SELECT amprocnum, amproc FROM pg_amproc
WHERE amprocfamily = (SELECT oid FROM pg_opfamily WHERE opfname = 'comb_mssql_ops') ORDER BY 1;
};
my $before = $node->safe_psql('postgres', $state);
like($before, qr/comb_mssql_ops/, 'the state shows the operator class');

foreach my $format ('plain', 'custom')
{
	my $file = "$dir/$format.dump";
	my $db = "restored_$format";
	my @restore =
	  $format eq 'plain'
	  ? ('psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-d', $db, '-f', $file)
	  : ('pg_restore', '-e', '-j', '2', '-d', $db, $file);

	$node->safe_psql('postgres', "CREATE DATABASE $db");
	$node->command_ok(
		[ 'pg_dump', '--format', $format, '-f', $file, 'postgres' ],
		"dump, $format");
	$node->command_ok(\@restore, "restore, $format");
	is($node->safe_psql($db, $state), $before, "same state, $format");

	# the indexes of both orders hold every row at the right position
	$node->safe_psql($db, 'CREATE EXTENSION amcheck');
	is( $node->safe_psql(
			$db, q{
SELECT count(bt_index_parent_check(i.indexrelid, true))
FROM pg_index i JOIN pg_opclass o ON o.oid = i.indclass[0] JOIN pg_class c ON c.oid = i.indexrelid
WHERE o.opcname = 'comb_mssql_ops' AND c.relkind = 'i'}),
		'2',
		"indexes are sound, $format");
}

# With trace_sort, a sort tells what it does with abbreviated keys.  Before 15 a
# module cannot read trace_sort on all platforms.
SKIP:
{
	skip 'trace_sort is not used before 15', 4
	  if $node->safe_psql('postgres', 'SHOW server_version_num') < 150000;

	my %sorts = (
		'time and node all the same' => [
			q{(to_char(i, 'FM00000000') || '-0000-0000-8000-000000000001')::uuid},
			qr/comb_mssql_abbrev: aborting abbreviation at cardinality 1\./ ],
		'random' => [ q{md5(i::text)::uuid}, qr/comb_mssql_abbrev: going on/ ]);

	foreach my $name (sort keys %sorts)
	{
		my ($expr, $said) = @{ $sorts{$name} };
		my ($stdout, $stderr);

		$node->psql(
			'postgres', qq{
SET max_parallel_workers_per_gather = 0;
SET work_mem = '64MB';
SET trace_sort = on;
SET client_min_messages = log;
SELECT md5(string_agg(id::text, ',')) = (SELECT md5(string_agg(v::text, ',' ORDER BY comb_mssql_key(v)))
                                         FROM (SELECT $expr AS v FROM generate_series(1, 30000) i) w)
FROM (SELECT $expr AS id FROM generate_series(1, 30000) i ORDER BY 1 USING #<#) s},
			stdout => \$stdout,
			stderr => \$stderr);
		is($stdout, 't', "in order: $name");
		like($stderr, $said, "abbreviation: $name");
	}
}

$node->stop;
done_testing();
