# The first keys of many new processes share no random bytes, whether the module
# is preloaded or not.
#
# A server process starts as a copy of the postmaster.  With
# shared_preload_libraries the copy includes the module's memory.  If the
# postmaster drew random bytes, all processes would have the same bytes.
use lib 'test/perl';
use CombTest;

my $processes = 300;
my $node      = server('main', sql => q{
	CREATE EXTENSION pg_comb;
	CREATE TABLE first_keys (mode text, pid int, backend_start timestamptz,
	                         n int, id uuid, given uuid);
	CREATE VIEW me AS SELECT pid, backend_start FROM pg_stat_activity
	                  WHERE pid = pg_backend_pid()});

foreach my $mode ('none', 'shared_preload_libraries', 'session_preload_libraries')
{
	if ($mode ne 'none')
	{
		$node->safe_psql('postgres', "ALTER SYSTEM SET $mode = 'pg_comb'");
		$node->restart;
	}

	# is the module loaded before the first call?
	is( $node->safe_psql(
			'postgres',
			"SELECT count(*) FROM pg_settings WHERE name = 'pg_comb.max_drift'"),
		$mode eq 'none' ? 0 : 1,
		"$mode: module loaded as the test means it");

	# -C makes a new connection for each transaction
	$node->pgbench('-n -C -c 4 -j 2 -t ' . $processes / 4, 0, [qr{actually processed: $processes/$processes}], [],
		"$mode: $processes sessions",
		{ "003_$mode" => qq{
		INSERT INTO first_keys
		SELECT '$mode', me.*, n, comb_generate(), comb_at('2026-11-20+00')
		FROM me, generate_series(1, 3) n} });

	if ($mode ne 'none')
	{
		$node->safe_psql('postgres', "ALTER SYSTEM RESET $mode");
		$node->restart;
	}
}

is( $node->safe_psql(
		'postgres', q{
		SELECT mode, count(DISTINCT (pid, backend_start)), count(*)
		FROM first_keys GROUP BY mode ORDER BY mode}),
	join("\n", map { "$_|$processes|" . 3 * $processes }
		  qw(none session_preload_libraries shared_preload_libraries)),
	'as many processes as sessions, three pairs of keys of each');

is( $node->safe_psql(
		'postgres', q{
		SELECT count(DISTINCT right(id::text, 14)) = count(*),
		       count(DISTINCT right(given::text, 14)) = count(*)
		FROM first_keys}),
	't|t',
	'the 56 random bits are different in all keys');

# Keys also have no six bytes in common at different places.  Keys would have such
# bytes if one process began a byte later in the same block.  Among these 10800
# strings of six bytes, two are alike by chance in one run of 5 million.
is( $node->safe_psql(
		'postgres', q{
		WITH random (bytes) AS (
			SELECT right(id::text, 12) FROM first_keys
			UNION ALL SELECT substr(translate(id::text, '-', ''), 19, 12) FROM first_keys
			UNION ALL SELECT right(given::text, 12) FROM first_keys
			UNION ALL SELECT substr(translate(given::text, '-', ''), 19, 12) FROM first_keys)
		SELECT count(*), count(DISTINCT bytes) = count(*) FROM random}),
	12 * 3 * $processes . '|t',
	'no six random bytes come twice');

done_testing();
