# Sessions at full rate make keys of all kinds: no key repeats, and those of each session rise.
# Then sixteen make a key in each transaction, which is larger than all committed before the call.
use lib 'test/perl';
use CombTest;

my $node = server('main', conf => 'pg_comb.snowflake_instance = 5', sql => q{
	CREATE EXTENSION pg_comb_ordered CASCADE;
	CREATE TABLE made (key uuid PRIMARY KEY DEFAULT comb_generate_ordered(),
	                   id bigint UNIQUE DEFAULT comb_snowflake(),
	                   n serial, client int, key_before uuid, id_before bigint);
	INSERT INTO made DEFAULT VALUES;
	CREATE UNLOGGED TABLE quick (client int, n int, key uuid, ordered uuid, snowflake bigint)});

my $each = 125_000;
$node->pgbench("-n -c 8 -j 8 -t 1", 0, [qr{actually processed: 8/8}], [qr{^$}], "eight sessions make $each keys of each kind",
	{ '040_quick' => "INSERT INTO quick SELECT :client_id, n, comb_generate(), comb_generate_ordered(), comb_snowflake()
		FROM generate_series(1, $each) AS n" });
# The sessions must have run at the same time; otherwise the test proves little.
is($node->safe_psql('postgres', q{
	SELECT count(*) > 1 FROM (SELECT max(snowflake) AS last, max(min(snowflake)) OVER () AS first FROM quick GROUP BY client) AS c
	WHERE last > first}), 't', 'sessions overlap in time');
foreach my $kind ('key', 'ordered', 'snowflake')
{
	is($node->safe_psql('postgres', qq{
		SELECT count(*) FILTER (WHERE $kind <= before), count(DISTINCT $kind)
		FROM (SELECT $kind, lag($kind) OVER (PARTITION BY client ORDER BY n) AS before FROM quick) AS lagged}),
		'0|' . 8 * $each, "$kind: those of a session rise, and none comes twice");
}

# Each transaction asks for the largest committed key, and checks that its own key
# is larger.
$node->pgbench(
	'-n -M prepared -c 16 -j 4 -t 500',
	0,
	[qr{actually processed: 8000/8000}],
	[qr{^$}],
	'sixteen sessions insert',
	{
		'040_insert' => q{
		SELECT key AS key FROM made ORDER BY key DESC LIMIT 1 \gset
		SELECT id AS id FROM made ORDER BY id DESC LIMIT 1 \gset
		INSERT INTO made (client, key_before, id_before) VALUES (:client_id, :key, :id);
	}
	});
is( $node->safe_psql(
		'postgres', q{
		SELECT count(*), count(*) FILTER (WHERE key <= key_before),
		       count(*) FILTER (WHERE id <= id_before),
		       count(DISTINCT client) FROM made}),
	'8001|0|0|16',
	'keys are larger than those of transactions that have ended');
# Instance numbers for other generators: sixteen sessions claim at once
$node->safe_psql('postgres', 'CREATE TABLE claims (number int)');
$node->pgbench(
	'-n -c 16 -j 4 -t 1',
	0,
	[qr{actually processed: 16/16}],
	[qr{^$}],
	'sixteen sessions claim a number',
	{ '040_claim' => 'INSERT INTO claims SELECT comb_snowflake_claim(5); SELECT pg_sleep(0.1);' });
is( $node->safe_psql('postgres', 'SELECT count(DISTINCT number), max(number) <= 31, bool_or(number = 5) FROM claims'),
	'16|t|f', 'no number twice, and not the server\'s');
is( $node->safe_psql('postgres', q{SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'}),
	'0', 'sessions that have ended hold none');

# Sessions that start one after another make larger keys each time
my @keys = map { $node->safe_psql('postgres', 'SELECT comb_generate_ordered(), comb_snowflake()') } 1 .. 5;
is(join(' ', sort @keys), join(' ', @keys), 'new sessions go on, and do not run ahead');
is( $node->safe_psql(
		'postgres', q{SELECT bool_and(ahead < CASE series WHEN 'ordered' THEN interval '2 s' ELSE '5 s' END) FROM comb_ordered_status()}),
	't',
	'no session pushes the clock by a lease');

done_testing();
