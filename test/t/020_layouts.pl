# Layouts in many processes, and through dump and restore
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->start;
my $dir = PostgreSQL::Test::Utils::tempdir();

#
# The first eight bytes of layout morris belong to one process
#
$node->safe_psql(
	'postgres', q{
	CREATE EXTENSION pg_comb;
	CREATE TABLE heads (mode text, pid int, n int, id uuid);
	CREATE VIEW shares AS
		SELECT mode, left(id::text, 18) AS head, count(*) AS keys, count(DISTINCT pid) AS sessions
		FROM heads GROUP BY 1, 2;
});

foreach my $mode ('none', 'shared_preload_libraries')
{
	if ($mode ne 'none')
	{
		$node->safe_psql('postgres', "ALTER SYSTEM SET $mode = 'pg_comb'");
		$node->restart;
	}
	is( $node->safe_psql(
			'postgres',
			"SELECT count(*) FROM pg_settings WHERE name = 'pg_comb.max_drift'"),
		$mode eq 'none' ? 0 : 1,
		"$mode: module loaded as the test means it");

	# -C makes a new connection for each transaction.  Keys of other layouts in
	# between must not change the bytes.
	append_to_file("$dir/$mode", qq{
		INSERT INTO heads SELECT '$mode', pg_backend_pid(), n, comb_generate('morris')
		FROM generate_series(1, 3) n;
		SELECT comb_generate(), comb_generate('efcore'), comb_at('2026-11-20', 'morris');
		INSERT INTO heads SELECT '$mode', pg_backend_pid(), n, comb_generate('morris')
		FROM generate_series(4, 5) n;
	});
	$node->command_checks_all(
		[
			'pgbench', '-n', '-C', '-c', 2, '-t', 50, '-f', "$dir/$mode",
			'postgres'
		],
		0,
		[qr{actually processed: 100/100}],
		[],
		"$mode: 100 sessions");
	is( $node->safe_psql(
			'postgres',
			"SELECT count(*), min(keys), max(keys), max(sessions) FROM shares WHERE mode = '$mode'"
		),
		'100|5|5|1',
		"$mode: every session has first bytes of its own for all of its keys");
}
is($node->safe_psql('postgres', 'SELECT count(DISTINCT head) FROM shares'),
	'200', 'and none came twice');

#
# pg_dump and restore: labels in expressions, with the extension in a schema that
# is on no search_path
#
$node->safe_psql('postgres', 'CREATE DATABASE source');
$node->safe_psql(
	'source', q{
	CREATE SCHEMA keys;
	CREATE EXTENSION pg_comb SCHEMA keys;
	CREATE TABLE orders (
		id uuid PRIMARY KEY DEFAULT keys.comb_generate('rtcomb_sql'),
		n serial,
		created timestamptz GENERATED ALWAYS AS (keys.comb_timestamp(id, 'rtcomb_sql')) STORED,
		made_by keys.comb_layout NOT NULL DEFAULT 'rtcomb_sql',
		CHECK (keys.comb_timestamp(id, 'rtcomb_sql') > '2000-01-01 00:00:00+00'));
	CREATE INDEX orders_created ON orders (keys.comb_timestamp(id, 'rtcomb_sql'));
	CREATE UNIQUE INDEX orders_v7 ON orders (keys.comb_convert(id, 'rtcomb_sql', 'uuidv7'));
	CREATE INDEX orders_few ON orders (n) WHERE keys.comb_timestamp(id, made_by) IS NOT NULL;
	CREATE VIEW layouts_used AS
		SELECT o.n, i.layout, i.created FROM orders o, keys.comb_inspect(o.id, '2000-01-01 00:00:00+00') i;
	CREATE FUNCTION old(keys.comb_layout) RETURNS bigint LANGUAGE sql AS
		$$ SELECT count(*) FROM public.orders WHERE keys.comb_timestamp(id, $1) < '2024-01-01 00:00:00+00' $$;
	CREATE TABLE parted (id uuid, layout keys.comb_layout) PARTITION BY LIST (layout);
	CREATE TABLE parted_morris PARTITION OF parted FOR VALUES IN ('morris');
	CREATE TABLE parted_others PARTITION OF parted DEFAULT;
	INSERT INTO parted SELECT keys.comb_at('2026-11-20', layout), layout FROM keys.comb_layouts() WHERE generates;
	INSERT INTO orders SELECT FROM generate_series(1, 500);
	INSERT INTO orders (id) SELECT keys.comb_at('2023-05-06 07:08:09+00', 'rtcomb_sql') FROM generate_series(1, 500);
	ANALYZE;
});
my $digest = q{
	SELECT md5(string_agg(orders::text, ',' ORDER BY id)) FROM orders
	UNION ALL
	SELECT md5(string_agg(tableoid::regclass || parted::text, ',' ORDER BY id)) FROM parted
	UNION ALL
	SELECT count(*)::text FROM layouts_used WHERE layout = 'rtcomb_sql'
	UNION ALL
	SELECT old('rtcomb_sql')::text || old('morris')
	UNION ALL
	SELECT pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid = 'orders'::regclass
	UNION ALL
	SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef WHERE adrelid = 'orders'::regclass
	ORDER BY 1};
my $before = $node->safe_psql('source', $digest);
like($before, qr/comb_timestamp\(id, \('rtcomb_sql'::text\)::keys.comb_layout\)/,
	'labels are in the definitions');

foreach my $format ('plain', 'custom')
{
	my $file = "$dir/$format.dump";
	my @restore =
	  $format eq 'plain'
	  ? ('psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-f', $file)
	  : ('pg_restore', '--exit-on-error');
	my $db = "from_$format";

	$node->command_ok(
		[
			'pg_dump', '--no-sync', '-F', $format, '-f', $file,
			$node->connstr('source')
		],
		"dump, $format");
	$node->safe_psql('postgres', "CREATE DATABASE $db");
	$node->command_ok(
		[ @restore, '-d', $node->connstr($db), $format eq 'plain' ? () : $file ],
		"restore, $format");
	is($node->safe_psql($db, $digest), $before, "$format: everything is there");
	is( $node->safe_psql(
			$db, q{
			SET enable_seqscan = off;
			SELECT count(*) FROM orders WHERE keys.comb_timestamp(id, 'rtcomb_sql') < '2024-01-01 00:00:00+00';
			INSERT INTO orders DEFAULT VALUES RETURNING created BETWEEN now() - interval '1 hour' AND clock_timestamp()}),
		"500\nt",
		"$format: and works");
	unlike(slurp_file($file), qr/CREATE DOMAIN keys/, 'the type comes with the extension')
	  if $format eq 'plain';
}

$node->stop;
done_testing();
