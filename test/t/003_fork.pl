# The first keys of many new processes share no random bytes, whether the module
# is preloaded or not, and each process has a head of its own for layout morris.
#
# A server process starts as a copy of the postmaster.  With
# shared_preload_libraries the copy includes the module's memory.  If the
# postmaster drew random bytes, all processes would have the same bytes.
use lib 'test/perl';
use CombTest;

my $processes = 300;
my $node      = server('main', sql => q{
	CREATE EXTENSION pg_comb;
	CREATE TABLE first_keys (pid int, backend_start timestamptz, id uuid, given uuid, morris uuid)});

foreach my $preloaded (0, 1)
{
	configure($node, "shared_preload_libraries = 'pg_comb'") if $preloaded;
	$node->restart;
	is($node->safe_psql('postgres', "SELECT count(*) FROM pg_settings WHERE name = 'pg_comb.max_drift'"),
		$preloaded, 'the module is loaded before the first call, or is not');

	# -C makes a new connection for each transaction
	$node->pgbench('-n -C -c 4 -j 2 -t ' . $processes / 4, 0, [qr{actually processed: $processes/$processes}], [],
		"$processes sessions, preloaded: $preloaded",
		{ "003_$preloaded" => q{
		INSERT INTO first_keys
		SELECT pid, backend_start, comb_generate(), comb_at('2026-11-20+00'), comb_generate('morris')
		FROM pg_stat_activity, generate_series(1, 3) WHERE pid = pg_backend_pid()} });
}

is( $node->safe_psql(
		'postgres', q{
		SELECT count(DISTINCT (pid, backend_start)), count(*), count(DISTINCT right(id::text, 14)),
		       count(DISTINCT right(given::text, 14)) FROM first_keys}),
	join('|', 2 * $processes, (6 * $processes) x 3),
	'as many processes as sessions, and the 56 random bits are different in all keys');
is( $node->safe_psql(
		'postgres', q{
		SELECT count(DISTINCT head), count(DISTINCT (pid, backend_start, head))
		FROM (SELECT *, left(morris::text, 18) AS head FROM first_keys) k}),
	join('|', (2 * $processes) x 2), 'the first eight bytes of layout morris belong to one process');

done_testing();
