# pg_upgrade with layouts in an index, a generated column and partitions
#
# The old and the new cluster are of one version, which pg_upgrade allows.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

chomp(my $bindir = `pg_config --bindir`);
plan skip_all => 'pg_upgrade is not installed' unless -x "$bindir/pg_upgrade";

my ($old, $new) = map { PostgreSQL::Test::Cluster->new($_) } ('old', 'new');
$_->init for ($old, $new);
$old->start;
$old->safe_psql(
	'postgres', q{
	CREATE EXTENSION pg_comb;
	CREATE TABLE orders (
		id uuid NOT NULL DEFAULT comb_generate('rtcomb_sql'),
		n int,
		created timestamptz GENERATED ALWAYS AS (comb_timestamp(id, 'rtcomb_sql')) STORED,
		made_by comb_layout NOT NULL DEFAULT 'rtcomb_sql',
		CHECK (comb_timestamp(id, made_by) > '2000-01-01 00:00:00+00'));
	CREATE INDEX orders_created ON orders (comb_timestamp(id, 'rtcomb_sql'));
	CREATE UNIQUE INDEX orders_v7 ON orders (comb_convert(id, 'rtcomb_sql', 'uuidv7'));
	CREATE TABLE parted (id uuid, layout comb_layout) PARTITION BY LIST (layout);
	CREATE TABLE parted_morris PARTITION OF parted FOR VALUES IN ('morris');
	CREATE TABLE parted_others PARTITION OF parted DEFAULT;
	INSERT INTO parted SELECT comb_at('2026-11-20', layout), layout FROM comb_layouts() WHERE generates;
	INSERT INTO orders (n) SELECT n FROM generate_series(1, 500) n;
	INSERT INTO orders (id, n) SELECT comb_at('2023-05-06 07:08:09+00', 'rtcomb_sql'), 1000 + n
	FROM generate_series(1, 500) n;
});
my $digest = q{
	SELECT md5(string_agg(orders::text, ',' ORDER BY id)) FROM orders
	UNION ALL
	SELECT md5(string_agg(tableoid::regclass || parted::text, ',' ORDER BY id)) FROM parted
	UNION ALL
	SELECT pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid = 'orders'::regclass
	UNION ALL
	SELECT md5(string_agg(layout || description || earliest || latest, ',')) FROM comb_layouts()
	ORDER BY 1};
my $before = $old->safe_psql('postgres', $digest);
$old->stop;

# pg_upgrade before 15 writes its logs to the current directory
my $dir = PostgreSQL::Test::Utils::tempdir();
chdir($dir) or die "could not change to $dir: $!";
command_ok(
	[
		'pg_upgrade', '-b', $bindir, '-B', $bindir,
		'-d', $old->data_dir, '-D', $new->data_dir,
		'-s', $new->host, '-p', $old->port, '-P', $new->port
	],
	'pg_upgrade');
$new->start;

is($new->safe_psql('postgres', $digest), $before, 'everything is there');
is( $new->safe_psql(
		'postgres', q{
		SET enable_seqscan = off;
		SET enable_bitmapscan = off;
		EXPLAIN (COSTS OFF) SELECT FROM orders WHERE comb_timestamp(id, 'rtcomb_sql') < '2024-01-01 00:00:00+00';
		SELECT count(*), min(n) FROM orders WHERE comb_timestamp(id, 'rtcomb_sql') < '2024-01-01 00:00:00+00'}
	) =~ s/^ *Index Cond.*\n//mr,
	"Index Scan using orders_created on orders\n500|1001",
	'and the index is used');
is( $new->safe_psql(
		'postgres', q{
		INSERT INTO orders DEFAULT VALUES
		RETURNING created BETWEEN now() - interval '1 hour' AND clock_timestamp();
		INSERT INTO parted VALUES (comb_generate('morris'), 'morris') RETURNING tableoid::regclass}),
	"t\nparted_morris",
	'and new keys go where they belong');

$new->stop;
done_testing();
