# The counters work the same whether the postmaster loads the module or the first
# session does, and PostgreSQL can reserve their memory at its start.  The test also
# measures how much WAL keys cost.
use lib 'test/perl';
use CombTest;

# no other process writes WAL records
my $node = server('main', start => 0, conf => q{
autovacuum = off
checkpoint_timeout = 1d
wal_level = minimal
max_wal_senders = 0
pg_comb.snowflake_instance = 5
});

my @last = ('', 0);
foreach my $libraries ('', 'pg_comb', '')
{
	my $name = $libraries ? 'preloaded' : 'not preloaded';

	$node->append_conf('postgresql.conf', "shared_preload_libraries = '$libraries'");
	$node->start;
	$node->safe_psql('postgres', 'CREATE EXTENSION IF NOT EXISTS pg_comb_ordered CASCADE');
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
	# After pg_sleep() the last lease has ended, so a session writes such a record.  It
	# writes two more for each second, the default of pg_comb.lease_duration, that it takes.
	foreach my $function ('comb_generate_ordered()', 'comb_snowflake()')
	{
		my ($made, $wal, $seconds) = split(/\n/, $node->safe_psql(
			'postgres', qq{
			CHECKPOINT;
			SELECT pg_sleep(1.1) AS slept, pg_current_wal_insert_lsn() AS before, clock_timestamp() AS since \\gset
			SELECT count($function) FROM generate_series(1, 1000000);
			SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), :'before');
			SELECT extract(epoch FROM clock_timestamp() - :'since')}));
		is($made, 1000000, "$name: a million of $function");
		cmp_ok($wal, '<=', 200 * (2 + 2 * $seconds), "take at most two records of 200 bytes and two a second, in $seconds s");
		cmp_ok($wal, '>', 0, 'and some');
	}
	$node->stop;
}

# A server that has reserved dynamic memory at its start needs no more, and here can have none.  Windows keeps
# dynamic memory in no directory.
my $closed = ($ENV{RUN_FOREIGN} // '') ne 'windows';
$node->append_conf(
	'postgresql.conf', q{
min_dynamic_shared_memory = '4MB'
max_connections = 300
max_prepared_transactions = 10
} . ($closed ? 'dynamic_shared_memory_type = mmap' : ''));
$node->start;
!$closed || chmod(0555, $node->data_dir . '/pg_dynshmem') or die "could not change the directory: $!";
my ($rc, $out, $err) = $node->psql('postgres', q{
	SELECT comb_generate_ordered() IS NOT NULL, comb_snowflake() > 0;
	SELECT comb_settled() > '00000000-0000-0000-0000-000000000000', comb_snowflake_settled() > 0;
	SELECT count(*) FROM comb_unsettled()});
is("$rc|$out|$err", "0|t|t\nt|t\n0|", 'with min_dynamic_shared_memory no more is needed');
chmod(0700, $node->data_dir . '/pg_dynshmem');

done_testing();
