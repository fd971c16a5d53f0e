# Replaying the WAL makes the same pages as on the primary.  A standby and crash
# recovery compare each page with an image in the record.
use lib 'test/perl';
use CombTest;

# The module's own records are Generic and Sequence.  The setting is "all", because
# indexes in the module's operator class write records of their own.
my $primary = server('primary', init => [ allows_streaming => 1 ], conf => q{
wal_consistency_checking = 'all'
wal_keep_size = '1GB'
autovacuum = off
pg_comb.snowflake_instance = 5
pg_comb.lease_duration = '100ms'
}, sql => q{
	CREATE EXTENSION pg_comb_ordered CASCADE;
	CREATE TABLE orders (id uuid PRIMARY KEY DEFAULT comb_generate(),
	                     mssql uuid DEFAULT comb_generate('rtcomb_sql'), n serial,
	                     key uuid UNIQUE DEFAULT comb_generate_ordered(),
	                     number bigint UNIQUE DEFAULT comb_snowflake());
	CREATE UNIQUE INDEX orders_mssql ON orders (mssql comb_mssql_ops)});
my $standby = standby($primary, 'standby');

my $start = $primary->lsn('insert');
foreach my $round (1 .. 5)
{
	$primary->safe_psql(
		'postgres', q{
		INSERT INTO orders SELECT FROM generate_series(1, 2000);
		DELETE FROM orders WHERE n % 10 = 0;
		VACUUM orders;
		SELECT pg_sleep(0.15)});
	# after a checkpoint, the first change of a page writes another kind of record
	$primary->safe_psql('postgres', 'CHECKPOINT') if $round % 2 == 0;
}
$primary->safe_psql(
	'postgres', q{
	SELECT comb_snowflake_claim();
	SELECT comb_generate_ordered(), comb_snowflake(tick => '10 ms')});
my $end = $primary->lsn('insert');

my ($out, $err) = run_command(
	[
		'pg_waldump', '--rmgr=Generic', '--start', $start, '--end', $end,
		'--path', $primary->data_dir . '/pg_wal'
	]);
cmp_ok(scalar(() = $out =~ /^rmgr: Generic/mg), '>=', 10, 'leases were renewed in the WAL')
  or diag($err);

# A page that differs stops the standby.
my $digest = q{SELECT count(*), md5(string_agg(id::text || mssql, ',' ORDER BY n)) FROM orders};
$primary->wait_for_catchup($standby, 'replay', $end);
is( $standby->safe_psql(
		'postgres', q{
		SELECT pg_is_in_recovery();
		SELECT count(DISTINCT id), bool_and(comb_timestamp(id) BETWEEN now() - interval '1 minute' AND clock_timestamp())
		FROM (SELECT comb_generate() AS id FROM generate_series(1, 10000)) made;
		SELECT count(*) FROM orders WHERE comb_timestamp(id) > clock_timestamp() OR NOT id <@ '[2026-01-01,)'}),
	"t\n10000|t\n0", 'users of a standby make and read keys of comb_generate()');
is( $standby->safe_psql('postgres', $digest),
	$primary->safe_psql('postgres', $digest),
	'the standby has the same keys');

my $rows = $primary->safe_psql('postgres', $digest);
$primary->stop('immediate');
$primary->start;
is($primary->safe_psql('postgres', $digest), $rows, 'so has the primary after a crash');
$primary->stop;
$standby->stop;

foreach my $node ($primary, $standby)
{
	unlike(slurp_file($node->logfile), qr/inconsistent page|TRAP|PANIC/,
		$node->name . ': redo found the pages as they should be');
}
done_testing();
