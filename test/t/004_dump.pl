# pg_dump and restore of a database that uses keys in many places, with the
# extension in a schema that is on no search_path
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->start;
my $dir = PostgreSQL::Test::Utils::tempdir();

$node->safe_psql('postgres', 'CREATE DATABASE source');
$node->safe_psql(
	'source', q{
	CREATE SCHEMA keys;
	CREATE EXTENSION pg_comb SCHEMA keys;
	CREATE TABLE orders (
		id uuid PRIMARY KEY DEFAULT keys.comb_generate(),
		n serial,
		created timestamptz GENERATED ALWAYS AS (keys.comb_timestamp(id)) STORED,
		CHECK (id >= keys.comb_min('2020-01-01 00:00:00+00')));
	CREATE INDEX orders_created ON orders (keys.comb_timestamp(id));
	CREATE VIEW recent AS SELECT n FROM orders
		WHERE id > keys.comb_max('2026-01-01 00:00:00+00');
	CREATE TABLE events (id uuid PRIMARY KEY DEFAULT keys.comb_generate())
		PARTITION BY RANGE (id);
	CREATE TABLE events_before PARTITION OF events
		FOR VALUES FROM (MINVALUE) TO (keys.comb_time_encoder('2026-01-01 00:00:00+00'));
	CREATE TABLE events_after PARTITION OF events
		FOR VALUES FROM (keys.comb_time_encoder('2026-01-01 00:00:00+00')) TO (MAXVALUE);
	CREATE FUNCTION placed() RETURNS uuid LANGUAGE sql AS
		'INSERT INTO public.orders DEFAULT VALUES RETURNING id';
	INSERT INTO orders SELECT FROM generate_series(1, 1000);
	INSERT INTO events SELECT keys.comb_at('2025-12-31 23:59:59.999+00') FROM generate_series(1, 10);
	INSERT INTO events SELECT FROM generate_series(1, 10);
});
my $last = $node->safe_psql('source', 'SELECT id FROM orders ORDER BY id DESC LIMIT 1');
my $digest = q{
	SELECT md5(string_agg(orders::text, ',' ORDER BY id)) FROM orders
	UNION ALL
	SELECT md5(string_agg(tableoid::regclass || id::text, ',' ORDER BY id)) FROM events};

my @dump = ('pg_dump', '--no-sync');
$node->command_ok([ @dump, '-f', "$dir/plain.sql", $node->connstr('source') ],
	'dump as SQL');
$node->command_ok(
	[ @dump, '-Fc', '-f', "$dir/custom", $node->connstr('source') ],
	'dump in the custom format');

# A restore gets the functions from the extension, not from the dump
my $plain = slurp_file("$dir/plain.sql");
like($plain, qr/CREATE EXTENSION IF NOT EXISTS pg_comb WITH SCHEMA keys/,
	'the dump has the extension');
unlike($plain, qr/CREATE FUNCTION keys\./, 'and not its functions');

$node->safe_psql('postgres', 'CREATE DATABASE from_plain');
$node->safe_psql('postgres', 'CREATE DATABASE from_custom');
$node->command_ok(
	[
		'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-f', "$dir/plain.sql",
		$node->connstr('from_plain')
	],
	'restore from SQL');
$node->command_ok(
	[
		'pg_restore', '--exit-on-error', '-j', '2', '-d',
		$node->connstr('from_custom'), "$dir/custom"
	],
	'restore from the custom format');

foreach my $copy ('from_plain', 'from_custom')
{
	is( $node->safe_psql($copy, $digest),
		$node->safe_psql('source', $digest),
		"$copy: the same rows in the same partitions");

	$node->command_ok(
		[ @dump, '-f', "$dir/$copy.sql", $node->connstr($copy) ],
		"$copy: dumped again");
	is(comparable("$dir/$copy.sql"), comparable("$dir/plain.sql"),
		"$copy: the dump is the same");

	is( $node->safe_psql(
			$copy, qq{
			SELECT placed() > '$last';
			SELECT created = keys.comb_timestamp(id) FROM orders ORDER BY id DESC LIMIT 1;
			INSERT INTO events DEFAULT VALUES RETURNING id > '$last'}),
		"t\nt\nt",
		"$copy: new keys come after the old ones");
	my ($rc, undef, $err) = $node->psql($copy, 'DROP EXTENSION pg_comb');
	is($rc, 3, "$copy: the extension cannot be dropped from under them");
	like($err, qr/default value for column id of table orders depends on function keys.comb_generate\(\)/,
		"$copy: because the default needs it");
}

$node->stop;
done_testing();

# A dump without the random text that newer versions of pg_dump add
sub comparable
{
	my ($file) = @_;
	my $sql = slurp_file($file);
	$sql =~ s/^\\(un)?restrict .*\n//mg;
	return $sql;
}
