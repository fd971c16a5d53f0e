# Several sessions make keys at once: no key repeats, and the keys of each session
# increase.  040_ordered_sessions.pl has the same with a transaction for each key.
use lib 'test/perl';
use CombTest;

my $each = 125_000;
my $node = server('main', conf => 'pg_comb.snowflake_instance = 5', sql => q{
	CREATE EXTENSION pg_comb_ordered CASCADE;
	CREATE UNLOGGED TABLE made (client int, n int, key uuid, ordered uuid, snowflake bigint)});

$node->pgbench("-n -c 8 -j 8 -t 1", 0, [qr{actually processed: 8/8}], [qr{^$}], "eight sessions make $each keys of each kind",
	{ '001_make' => "INSERT INTO made SELECT :client_id, n, comb_generate(), comb_generate_ordered(), comb_snowflake()
		FROM generate_series(1, $each) AS n" });
# The sessions must have run at the same time; otherwise the test proves little.
is($node->safe_psql('postgres', q{
	SELECT count(*) > 1 FROM (SELECT max(snowflake) AS last, max(min(snowflake)) OVER () AS first FROM made GROUP BY client) AS c
	WHERE last > first}), 't', 'sessions overlap in time');
foreach my $kind ('key', 'ordered', 'snowflake')
{
	is($node->safe_psql('postgres', qq{
		SELECT count(*) FILTER (WHERE $kind <= before), count(DISTINCT $kind)
		FROM (SELECT $kind, lag($kind) OVER (PARTITION BY client ORDER BY n) AS before FROM made) AS lagged}),
		'0|' . 8 * $each, "$kind: those of a session rise, and none comes twice");
}

done_testing();
