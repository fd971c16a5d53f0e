# Loaded by the postmaster or by the first session that needs it: the same
# words.  And what keys cost in WAL.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
# no records of anybody else
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

	# The first reading of new rows of the catalogs may write WAL of its own.
	$node->safe_psql('postgres', 'VACUUM');

	# From a checkpoint on, when the image of the page is part of the record,
	# and when the last limit is over, so that there is one.
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
