# A standby refuses to make ordered keys.  After its promotion, with a clock two hours
# behind, it makes larger keys than the primary did.
use lib 'test/perl';
use CombSession;
use CombTest;

need_faketime();

my $primary = server('primary', init => [ allows_streaming => 1 ], conf => q{
autovacuum = off
pg_comb.snowflake_instance = 5
pg_comb.lease_duration = 200ms
wal_consistency_checking = 'Generic, Sequence'
}, sql => q{
	CREATE EXTENSION pg_comb_ordered CASCADE;
	CREATE TABLE made (key uuid PRIMARY KEY DEFAULT comb_generate_ordered(),
	                   id bigint UNIQUE DEFAULT comb_snowflake())});
$primary->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'backup', has_streaming => 1);
start_at($standby, '-2h');

# Renew leases several times; redo checks the page of each record.  After a checkpoint, the
# first change of a page writes another kind of record.
my $make = 'SELECT comb_generate_ordered(), comb_snowflake()';
foreach my $round (1 .. 5)
{
	$primary->safe_psql('postgres', 'INSERT INTO made SELECT FROM generate_series(1, 1000); SELECT pg_sleep(0.4)');
	$primary->safe_psql('postgres', 'CHECKPOINT; SELECT comb_snowflake_claim(4)') if $round % 2 == 0;
}

# a client sees keys of a transaction that does not commit
my $client = CombSession->new($primary);
my @shown = split(/\n/, $client->ask("BEGIN; $make FROM generate_series(1, 100)"));
$primary->wait_for_catchup($standby, 'replay', $primary->lsn('insert'));

#
# On the standby
#
foreach my $function ('comb_generate_ordered', 'comb_snowflake', 'comb_ordered_reset', 'comb_snowflake_claim')
{
	my $call = $function . ($function eq 'comb_ordered_reset' ? '(now())' : '()');
	like(error_of($standby, 'postgres', "SELECT $call"),
		qr/ERROR:  25006: cannot execute $function\(\) in a read-only transaction/, "$call: refused");
}
is( $standby->safe_psql(
		'postgres', q{
		SELECT count(DISTINCT comb_generate()) FROM generate_series(1, 1000);
		SELECT bool_and(comb_snowflake_instance(id) = 5) FROM made;
		SELECT bool_and(last IS NULL), bool_and(ahead IS NULL), count(*) FILTER (WHERE reserved_until > clock_timestamp())
		FROM comb_ordered_status()}),
	"1000\nt\nt|t|2",
	'other functions work, and the status shows the primary\'s limits');

# a session that is refused before the promotion gets keys after it
my $waiting = CombSession->new($standby);
like($waiting->complaints($make), qr/ERROR:  25006:/, 'a session waits for the promotion');

#
# The primary is lost, and the standby is promoted
#
$primary->stop('immediate');
$standby->promote;
my @made = map { [ split(/\|/, $_) ] } $waiting->ask($make), $standby->safe_psql('postgres', $make);
my ($shown_key, $shown_id) = split(/\|/, $shown[-1]);
foreach my $made (@made)
{
	my ($key, $id) = @$made;
	is( $standby->safe_psql(
			'postgres', "SELECT count(*), bool_and(key < '$key'), bool_and(id < $id) FROM made"),
		'5000|t|t', 'after the promotion: above all rows');
	ok($key gt $shown_key && $id > $shown_id, 'and above what a client of the primary saw');
}
is( $standby->safe_psql(
		'postgres', q{SELECT ahead BETWEEN '1:55' AND '2:05' FROM comb_ordered_status() WHERE series = 'ordered'}),
	't', 'so keys are two hours ahead of this clock');
unlike(slurp_file($standby->logfile), qr/inconsistent page found/, 'redo did to the pages what the primary did');

done_testing();
