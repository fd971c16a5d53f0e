# Layouts in many processes: the first eight bytes of layout morris belong to one process
use lib 'test/perl';
use CombTest;

my $dir = tempdir();
my $node = server('main', sql => q{
	CREATE EXTENSION pg_comb;
	CREATE TABLE heads (mode text, pid int, n int, id uuid);
	CREATE VIEW shares AS
		SELECT mode, left(id::text, 18) AS head, count(*) AS keys, count(DISTINCT pid) AS sessions
		FROM heads GROUP BY 1, 2});

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

done_testing();
