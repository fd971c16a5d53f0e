# Clocks with a coarse resolution, as other systems have: 1 us on macOS, and 1/64 s as
# on old versions of Windows.  Thousands of calls then see the same instant.
use lib 'test/perl';
use CombTest;

my $library = tempdir() . '/coarse_clock.so';
plan skip_all => 'needs a linker that makes libraries to preload'
  unless compile_c('-fPIC', '-shared', '-o', $library, 'test/coarse_clock.c', '-ldl');

my $calls = 20_000;
my $node = server('main', conf => "fsync = off\n", sql => q{
	CREATE EXTENSION pg_comb_ordered CASCADE;
	-- the time in 2^-8 us since 1970: 48 bits of milliseconds, and 18 bits around the variant
	CREATE FUNCTION time_of(id uuid) RETURNS bigint IMMUTABLE LANGUAGE sql AS $$
		SELECT ('x' || substr(h, 1, 12))::bit(48)::bigint * 256000
			+ ceil((('x' || substr(h, 14, 3))::bit(12)::int * 64
			        + (('x' || substr(h, 17, 2))::bit(8)::int & 63)) * 125 / 128.0)::int
		FROM replace(id::text, '-', '') h $$;
	CREATE TABLE made (n serial, id uuid);
	CREATE VIEW steps AS SELECT n, time_of(id) AS at, time_of(id) - lag(time_of(id)) OVER (ORDER BY n) AS step FROM made;
	CREATE TABLE ordered (n serial, key uuid DEFAULT comb_generate_ordered(),
		id bigint DEFAULT comb_snowflake(instance_bits => 0, sequence_bits => 22));
	CREATE TABLE shared (id uuid PRIMARY KEY DEFAULT comb_generate());
});

foreach my $resolution (1_000, 15_625_000)
{
	my $name = $resolution == 1_000 ? '1 us' : '1/64 s';
	{
		local $ENV{LD_PRELOAD} = $library;
		local $ENV{COARSE_CLOCK} = $resolution;
		$node->restart;
	}
	$node->safe_psql('postgres', qq{
		TRUNCATE made, ordered, shared;
		INSERT INTO made (id) SELECT unnest(array_agg(comb_generate())) FROM generate_series(1, $calls);
		INSERT INTO ordered SELECT FROM generate_series(1, $calls)});

	# A key takes the clock's time, or the time after the last key.  The times that
	# the clock shows are those at whole steps of its resolution.
	is( $node->safe_psql('postgres', qq{
			SELECT count(*)
			FROM (SELECT step, at % 256000000 AS at,
			             ceil((at % 256000000) * 1000 / 256.0 / $resolution) * $resolution AS ns FROM steps) s
			WHERE step <> 1 AND at <> trunc(ns * 256 / 1000)}),
		0, "$name: the next time, or the time that the clock shows");
	my ($in_row) = $node->safe_psql('postgres', q{
		SELECT max(keys) FROM (SELECT count(*) AS keys
			FROM (SELECT count(*) FILTER (WHERE step > 1) OVER (ORDER BY n) AS instant FROM steps) s GROUP BY instant) i});
	cmp_ok($in_row, '>=', $resolution == 1_000 ? 2 : 300, "$name: calls that see one instant");
	is($node->safe_psql('postgres', q{SELECT count(*) FROM steps WHERE step <= 0}), 0, "$name: keys rise");
	is( $node->safe_psql('postgres', q{
			SELECT count(*), count(DISTINCT id), max(comb_timestamp(id)) <= clock_timestamp() FROM made}),
		"$calls|$calls|t", "$name: each key once, and none ahead of the clock");
	is( $node->safe_psql('postgres', q{
			SELECT count(*) FILTER (WHERE key <= before OR id <= id_before), count(DISTINCT key), count(DISTINCT id)
			FROM (SELECT *, lag(key) OVER w AS before, lag(id) OVER w AS id_before
			      FROM ordered WINDOW w AS (ORDER BY n)) o}),
		"0|$calls|$calls", "$name: ordered keys and Snowflakes rise");
	is( $node->safe_psql('postgres', q{
			SELECT max(comb_timestamp(key)) <= clock_timestamp(), max(comb_snowflake_timestamp(id, instance_bits => 0, sequence_bits => 22)) <= clock_timestamp()
			FROM ordered}),
		't|t', "$name: and are not ahead of the clock");

	# Sessions count from the same instants on, so their keys can have the same tick.
	append_to_file("$library.$resolution", 'INSERT INTO shared SELECT FROM generate_series(1, 10);');
	$node->command_ok(
		[ 'pgbench', '-n', '-c', 8, '-t', 250, '-f', "$library.$resolution", 'postgres' ],
		"$name: the primary key refuses no key of eight sessions");
	is($node->safe_psql('postgres', 'SELECT count(*) FROM shared'), 20_000, "$name: and has all of them");

	# The index then grows not quite at its end.  This costs some of the density if many
	# rows come in an instant.
	SKIP:
	{
		skip 'pgstattuple is not installed', 1
		  if $node->safe_psql('postgres', q{SELECT count(*) FROM pg_available_extensions WHERE name = 'pgstattuple'}) eq '0';
		my $density = $node->safe_psql('postgres', q{
			CREATE EXTENSION IF NOT EXISTS pgstattuple;
			SELECT avg_leaf_density FROM pgstatindex('shared_pkey')});
		note("$name: leaf density $density %, up to $in_row calls in an instant");
		cmp_ok($density, '>', $resolution == 1_000 ? 85 : 60, "$name: leaf density of the primary key");
	}
}

done_testing();
