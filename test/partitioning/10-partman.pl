# Partitions by pg_partman 5.2 and later: uuid keys, with pg_comb's two functions
use lib 'test/perl';
use CombTest;

my $node = server('main', conf => "fsync = off\nautovacuum = off\ntimezone = 'UTC'\n");
my $version = sql(q{SELECT default_version FROM pg_available_extensions WHERE name = 'pg_partman'});
plan skip_all => 'pg_partman is not installed (Debian: postgresql-NN-partman)' unless $version;
plan skip_all => "pg_partman $version takes no uuid columns" unless since('5,2');
note "pg_partman $version";
my $moves = since('5,3');
my $create = since('5,4') ? 'create_partition' : 'create_parent';

sub sql { return $node->safe_psql('postgres', $_[0]); }

sub since { return sql("SELECT string_to_array('$version', '.')::int[] >= '{$_[0]}'") eq 't'; }

# The partitions of a table that hold a range of keys, as their first days
sub days
{
	my ($table) = @_;
	return sql(qq{
		SELECT string_agg(comb_time_decoder(substring(pg_get_expr(relpartbound, oid) FROM \$\$FROM \\('([^']*)'\$\$))::date::text, ' '
			ORDER BY relname)
		FROM pg_class WHERE oid IN (SELECT inhrelid FROM pg_inherits WHERE inhparent = '$table'::regclass)
			AND pg_get_expr(relpartbound, oid) <> 'DEFAULT'});
}

# The last days, as days() prints them
sub wanted
{
	my ($from, $to) = @_;
	return sql(qq{SELECT string_agg((current_date + n)::text, ' ' ORDER BY n) FROM generate_series($from, $to) n});
}

sub make
{
	my ($table, $encoder, $decoder) = @_;
	$encoder //= 'public.comb_min';
	$decoder //= 'public.comb_time_decoder';
	return sql("CREATE TABLE public.$table (id uuid PRIMARY KEY DEFAULT public.comb_generate(), n int) PARTITION BY RANGE (id);
		SELECT partman.$create('public.$table', 'id', '1 day', p_time_encoder := '$encoder',
			p_time_decoder := '$decoder', p_premake := 3)");
}

# The test must not run into midnight.
my $left = sql(q{SELECT extract(epoch FROM current_date + 1 - now())::int});
sleep $left + 1 if $left < 60;

sql('CREATE EXTENSION pg_comb; CREATE SCHEMA partman; CREATE EXTENSION pg_partman SCHEMA partman');
make('visit');

is(days('visit'), wanted(-3, 3), 'seven days are made');
sql('INSERT INTO visit (n) SELECT generate_series(1, 1000)');
is( sql(q{SELECT DISTINCT tableoid::regclass::text = 'visit_p' || to_char(now(), 'YYYYMMDD') FROM visit}),
	't', 'new keys are in the partition of today');
is( sql(q{SELECT count(*) FROM partman.show_partitions('public.visit') AS p (s, name),
		LATERAL partman.show_partition_info(s || '.' || name, '1 day', 'public.visit') AS i
		WHERE i.child_start_time::time = '00:00' AND i.child_end_time - i.child_start_time = '1 day'}),
	'7', 'show_partition_info() tells the days');

# The first millisecond of a day, of which a key can have any bits after the version
sql(q{INSERT INTO visit SELECT comb_stamp(bits::uuid, current_date + 1 - past * interval '1 ms'), -1
	FROM unnest('{00000000-0000-0000-0000-000000000000,ffffffff-ffff-ffff-ffff-ffffffffffff}'::text[]) bits, unnest('{0,1}'::int[]) past});
is( sql(q{SELECT string_agg(DISTINCT format('%s %s', tableoid::regclass::text = 'visit_p' || to_char(comb_timestamp(id), 'YYYYMMDD'), comb_timestamp(id)::time), ', ')
		FROM visit WHERE n = -1}),
	't 00:00:00, t 23:59:59.999', 'the first and the last keys of a day are in its partition');
sql('DELETE FROM visit WHERE n = -1');

# Keys of another layout, of which all bits after the time can be zeros
sql(q{CREATE FUNCTION public.ulid_bound(at timestamptz) RETURNS uuid LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
	RETURN public.comb_min(at, 'ulid')});
make('ulid', 'public.ulid_bound');
sql(q{INSERT INTO ulid SELECT comb_stamp('00000000-0000-0000-0000-000000000000', current_date + n, 'ulid'), n FROM generate_series(-1, 1) n});
is( sql(q{SELECT string_agg(DISTINCT (tableoid::regclass::text = 'ulid_p' || to_char(current_date + n, 'YYYYMMDD'))::text, '') FROM ulid}),
	'true', 'ULIDs of the first millisecond of a day are in its partition');

# Keys behind version 4, which need a decoder of their own
sql(q{CREATE FUNCTION public.behind_bound(at timestamptz) RETURNS uuid LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
	RETURN public.comb_min(at, 'behind_v4');
	CREATE FUNCTION public.behind_time(id text) RETURNS timestamptz LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
	RETURN public.comb_timestamp(id::uuid, 'behind_v4')});
make('behind', 'public.behind_bound', 'public.behind_time');
sql(q{INSERT INTO behind SELECT comb_stamp('00000000-0000-0000-0000-000000000000', current_date + n, 'behind_v4'), n FROM generate_series(-1, 1) n});
my $in_days = q{SELECT string_agg(DISTINCT (tableoid::regclass::text = 'behind_p' || to_char(current_date + n, 'YYYYMMDD'))::text, '') FROM behind};
is(sql($in_days), 'true', 'keys behind version 4 of the first millisecond of a day are in its partition');
sql(q{UPDATE partman.part_config SET premake = 5 WHERE parent_table = 'public.behind'; SELECT partman.run_maintenance('public.behind');
	INSERT INTO behind SELECT comb_stamp('00000000-0000-0000-0000-000000000000', current_date + n, 'behind_v4'), n FROM generate_series(4, 5) n});
is(sql($in_days), 'true', 'and maintenance makes the days to come');

# Maintenance makes days, and retention drops days
sql(q{UPDATE partman.part_config SET premake = 5 WHERE parent_table = 'public.visit';
	BEGIN; LOCK TABLE visit IN ACCESS EXCLUSIVE MODE; SELECT partman.run_maintenance('public.visit'); COMMIT});
is(days('visit'), wanted(-3, 5), 'maintenance makes the days to come, also under the lock that keeps polls away');
sql(q{UPDATE partman.part_config SET retention = '2 days', retention_keep_table = false WHERE parent_table = 'public.visit';
	SELECT partman.run_maintenance('public.visit')});
is(days('visit'), wanted(-2, 5), 'retention drops the days that are over');
is(sql('SELECT count(*) FROM visit'), '1000', 'and no row of a day that is left');

# Rows of the default partition move to their days
sql(q{INSERT INTO visit SELECT comb_at(current_date + 12 + n * interval '1 hour'), n FROM generate_series(0, 47) n});
is(sql('SELECT count(*) FROM visit_default'), '48', 'rows outside all days are in the default partition');
like(error_of($node, 'postgres', q{CALL partman.partition_data_proc('public.visit')}), qr/ERROR: /,
	'the procedure partition_data_proc() fails, as the documents say') if $version eq '5.5.0';
SKIP: {
	skip "pg_partman $version moves no rows of uuid tables", 3 unless $moves;
	is(sql(q{SELECT partman.partition_data_time('public.visit', p_batch_count := 100)}), '48', 'partition_data_time() moves them');
	is(sql('SELECT count(*) FROM ONLY visit_default'), '0', 'all of them');
	is( sql(q{SELECT string_agg(tableoid::regclass || ' ' || c, ' ' ORDER BY tableoid::regclass::text) = format('visit_p%s 24 visit_p%s 24',
				to_char(current_date + 12, 'YYYYMMDD'), to_char(current_date + 13, 'YYYYMMDD'))
			FROM (SELECT tableoid, count(*) AS c FROM visit WHERE id <@ tstzrange(current_date + 11, NULL) GROUP BY 1) AS s}),
		't', 'each row is in the partition of its day');
}

# The trap: a single key without a time, or one of PyPI's uuid7 of 2026, which is a UUIDv7 of 2203 for a CHECK that only
# asks for a time
my @far = ('f29feb3d-3a5c-4f29-9d6b-7c4f6b3a2a10', '06b08ed4-6e8a-77d3-8000-e0fecb78d3e5');
SKIP: {
	skip "pg_partman $version moves no rows of uuid tables", 6 unless $moves;
	foreach my $case ([ 'trap', $far[0], qr/^(?:[789]\d{3}|\d{5})$/, '' ],
		[ 'far', $far[1], qr/^2203$/, 'ALTER TABLE far ADD CHECK (comb_timestamp(id) IS NOT NULL);' ])
	{
		my ($table, $key, $years, $check) = @$case;
		make($table);
		sql("$check INSERT INTO $table VALUES ('$key', 1)");
		is(sql("SELECT count(*) FROM ${table}_default"), '1', "$key is in the default partition");
		sql("SELECT partman.partition_data_time('public.$table')");
		my $year = sql(qq{SELECT max(substring(relname FROM '_p(\\d{4,5})\\d{4}')::int) FROM pg_class WHERE relname ~ '^${table}_p'});
		like($year, $years, "partition_data_time() makes a partition of the year $year for it");
		sql("UPDATE partman.part_config SET premake = 5 WHERE parent_table = 'public.$table'; SELECT partman.run_maintenance('public.$table')");
		is(sql("SELECT count(*) FROM pg_class WHERE relname = '${table}_p' || to_char(current_date + 5, 'YYYYMMDD')"), '0',
			'from then on maintenance does not make the days to come');
	}
}

# pg_partman makes no hash partitions, but manages the days of each hash partition.
sql('CREATE TABLE public.spread (id uuid PRIMARY KEY DEFAULT public.comb_spread(public.comb_generate(), 3), n int) PARTITION BY HASH (id)');
sql("CREATE TABLE public.spread_h$_ PARTITION OF spread FOR VALUES WITH (MODULUS 3, REMAINDER $_) PARTITION BY RANGE (id);
	SELECT partman.$create('public.spread_h$_', 'id', '1 day', p_time_encoder := 'public.comb_min',
		p_time_decoder := 'public.comb_time_decoder', p_premake := 3)") foreach (0 .. 2);
sql('INSERT INTO spread (n) SELECT generate_series(1, 1000)');
sql('INSERT INTO spread SELECT comb_spread(comb_at(now() + n * interval \'64 ms\'), 3), n FROM generate_series(-299, 0) n');
is( sql(q{SELECT string_agg(DISTINCT regexp_replace(tableoid::regclass::text, to_char(now(), 'YYYYMMDD'), 'TODAY'), ' ') FROM spread}),
	'spread_h0_pTODAY spread_h1_pTODAY spread_h2_pTODAY', 'spread keys are in the days of all hash partitions');
is( sql(q{SELECT max(n) - min(n) <= 2 FROM (SELECT count(*) AS n FROM spread WHERE n <= 0 GROUP BY tableoid) AS s}),
	't', 'as many in each');

make('safe');
sql(q{ALTER TABLE safe ADD CHECK (id <@ tstzrange('2000-01-01 00:00+00', '2100-01-01 00:00+00'))});
like(error_of($node, 'postgres', "INSERT INTO safe VALUES ('$_', 1)"), qr/violates check constraint/,
	"the CHECK of the documents keeps $_ out") for @far;

done_testing();
