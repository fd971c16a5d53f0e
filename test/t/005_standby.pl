# On a hot standby, users can read and make keys, as in any read-only transaction.
# After the promotion of the standby, keys continue.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $primary = PostgreSQL::Test::Cluster->new('primary');
$primary->init(allows_streaming => 1);
$primary->start;
$primary->safe_psql(
	'postgres', q{
	CREATE EXTENSION pg_comb_ordered CASCADE;
	CREATE TABLE orders (id uuid PRIMARY KEY DEFAULT comb_generate(), n serial);
	INSERT INTO orders SELECT FROM generate_series(1, 1000)});

$primary->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'backup', has_streaming => 1);
$standby->start;

$primary->safe_psql('postgres',
	'INSERT INTO orders SELECT FROM generate_series(1, 1000)');
$primary->wait_for_catchup($standby, 'replay', $primary->lsn('insert'));

# reading keys, and bounds
my $report = q{
	SELECT count(*), md5(string_agg(comb_timestamp(id)::text, ',' ORDER BY n)),
	       count(*) FILTER (WHERE id BETWEEN comb_min('2020-01-01') AND comb_max('infinity'))
	FROM orders};
is( $standby->safe_psql('postgres', $report),
	$primary->safe_psql('postgres', $report),
	'keys have the same times on the standby');

# making keys
is( $standby->safe_psql(
		'postgres', q{
		SELECT pg_is_in_recovery();
		SELECT count(*), bool_and(id > before),
		       bool_and(comb_timestamp(id) BETWEEN now() - interval '1 minute' AND clock_timestamp())
		FROM (SELECT id, lag(id) OVER (ORDER BY n) AS before
		      FROM (SELECT n, comb_generate() AS id FROM generate_series(1, 10000) n) made) lagged;
		SELECT comb_timestamp(comb_at('2026-11-20+00')) = '2026-11-20+00'}),
	"t\n10000|t|t\nt",
	'keys are made on the standby');

# storing keys fails
my ($rc, undef, $err) = $standby->psql('postgres', 'INSERT INTO orders DEFAULT VALUES');
is($rc, 3, 'no row is inserted on the standby');
like($err, qr/cannot execute INSERT in a read-only transaction/, 'for the usual reason');

# after the promotion, new keys sort after keys made before the promotion
my $before = $standby->safe_psql('postgres', 'SELECT comb_generate()');
$primary->stop;
$standby->promote;
$standby->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()')
  or die 'timed out waiting for the promotion';
is( $standby->safe_psql(
		'postgres', qq{
		INSERT INTO orders SELECT FROM generate_series(1, 1000);
		SELECT count(*), array_agg(n ORDER BY id) = array_agg(n ORDER BY n),
		       max(id::text) > '$before'
		FROM orders}),
	'3000|t|t',
	'after its promotion keys go on');

$standby->stop;
done_testing();
