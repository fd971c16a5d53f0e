# Partitions of Snowflakes by pg_partman: bigint ranges, from version 4 on
use lib 'test/perl';
use CombTest;

my $node = server('main', conf => "fsync = off\nautovacuum = off\ntimezone = 'UTC'\npg_comb.snowflake_instance = 3\n");
my $version = sql(q{SELECT default_version FROM pg_available_extensions WHERE name = 'pg_partman'});
plan skip_all => 'pg_partman is not installed (Debian: postgresql-NN-partman)' unless $version;
note "pg_partman $version";

sub sql { return $node->safe_psql('postgres', $_[0]); }

# Each version has another name or other parameters of this function.
my $old = $version =~ /^4\./;
my $create = sql("SELECT string_to_array('$version', '.')::int[] >= '{5,4}'") eq 't' ? 'create_partition' : 'create_parent';
my $day = 362387865600000;

sql('CREATE EXTENSION pg_comb_ordered CASCADE; CREATE SCHEMA partman; CREATE EXTENSION pg_partman SCHEMA partman');
my $left = sql(q{SELECT extract(epoch FROM current_date + 1 - now())::int});
sleep $left + 1 if $left < 60;

is(sql("SELECT comb_snowflake_min(current_date + 1) - comb_snowflake_min(current_date)"), $day, 'a day has 362387865600000 ids');
sql('CREATE TABLE public.post (id bigint PRIMARY KEY DEFAULT public.comb_snowflake(), n int) PARTITION BY RANGE (id)');
sql("SELECT partman.$create('public.post', 'id', " . ($old ? "'native', " : '') . "'$day', p_premake := 3,
	p_start_partition := comb_snowflake_min(current_date)::text)");

# The days of the partitions, and how many of them begin at midnight
my $days = q{SELECT string_agg(at::date::text, ' ' ORDER BY at) FROM (
	SELECT comb_snowflake_timestamp(substring(pg_get_expr(relpartbound, oid) FROM $$FROM \('(\d+)'$$)::bigint) AS at
	FROM pg_class WHERE oid IN (SELECT inhrelid FROM pg_inherits WHERE inhparent = 'post'::regclass)
		AND pg_get_expr(relpartbound, oid) <> 'DEFAULT') AS s WHERE at = date_trunc('day', at)};
sub wanted { return sql("SELECT string_agg((current_date + n)::text, ' ' ORDER BY n) FROM generate_series($_[0], $_[1]) n"); }

is(sql($days), wanted(0, 3), 'partitions are days from midnight to midnight');
sql('INSERT INTO post (n) SELECT generate_series(1, 1000)');
is( sql('SELECT count(DISTINCT tableoid), min(id) >= comb_snowflake_min(current_date) AND max(id) < comb_snowflake_min(current_date + 1),
		min(tableoid::regclass::text) = format(\'post_p%s\', comb_snowflake_min(current_date)) FROM post'),
	'1|t|t', 'new ids are in the partition of today');

# Maintenance goes by the largest id, so a row of three days ahead moves the partitions on.
sql("INSERT INTO post VALUES (comb_snowflake_min(current_date + 3), 1001);
	SELECT partman.run_maintenance('public.post')");
is(sql($days), wanted(0, 6), 'maintenance makes the days to come');
sql(qq{UPDATE partman.part_config SET retention = '@{[ 2 * $day ]}', retention_keep_table = false WHERE parent_table = 'public.post';
	SELECT partman.run_maintenance('public.post')});
is(sql($days), wanted(1, 6), 'retention goes by the largest id, and drops a day');
sql("INSERT INTO post SELECT comb_snowflake_min(current_date + 12) + n, n FROM generate_series(1, 50) n");
is(sql(q{SELECT partman.partition_data_id('public.post', p_batch_count := 100)}), '50', 'partition_data_id() moves rows out of the default partition');

done_testing();
