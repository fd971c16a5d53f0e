# The counters are the same whether the postmaster loads the module or the first
# session does.  The test also measures how much WAL keys cost.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
# no other process writes WAL records
$node->append_conf(
	'postgresql.conf', q{
autovacuum = off
checkpoint_timeout = 1d
wal_level = minimal
max_wal_senders = 0
});

my @last = ('', 0);
foreach my $libraries ('', 'pg_comb', '')
{
	my $name = $libraries ? 'preloaded' : 'not preloaded';

	$node->append_conf('postgresql.conf', "shared_preload_libraries = '$libraries'");
	$node->append_conf('postgresql.conf', 'pg_comb.snowflake_instance = 5');
	$node->start;
	$node->safe_psql('postgres', 'CREATE EXTENSION IF NOT EXISTS pg_comb');
	foreach my $session (1 .. 3)
	{
		my ($key, $id) = split(/\|/,
			$node->safe_psql('postgres', 'SELECT comb_generate_ordered(), comb_snowflake()'));
		ok($key gt $last[0] && $id > $last[1], "$name: session $session");
		@last = ($key, $id);
	}

	# The first read of new catalog rows may write WAL too.
	$node->safe_psql('postgres', 'VACUUM');

	# After a checkpoint, the next record of the limit carries an image of the page.
	# After pg_sleep() the last lease has ended, so a session writes such a record.
	foreach my $function ('comb_generate_ordered()', 'comb_snowflake()')
	{
		my ($before, $made, $after) = split(/\n/, $node->safe_psql(
			'postgres', qq{
			CHECKPOINT;
			SELECT pg_sleep(1.1) AS slept, pg_current_wal_insert_lsn() AS before \\gset
			SELECT :'before';
			SELECT count($function) FROM generate_series(1, 1000000);
			SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), :'before')}));
		is($made, 1000000, "$name: a million of $function");
		cmp_ok($after, '<=', 1024, 'take at most 1 kB of WAL');
		cmp_ok($after, '>', 0, 'and some');
	}
	$node->stop;
}

done_testing();
