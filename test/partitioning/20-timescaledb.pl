# TimescaleDB: a hypertable whose time is the key
use lib 'test/perl';
use CombTest;

my $node = server('main');
my $version = sql(q{SELECT default_version FROM pg_available_extensions WHERE name = 'timescaledb'});
plan skip_all => 'TimescaleDB is not installed (Debian: postgresql-NN-timescaledb)' unless $version;
$node->append_conf('postgresql.conf', "fsync = off\nautovacuum = off\ntimezone = 'UTC'\nshared_preload_libraries = 'timescaledb'\ntimescaledb.telemetry_level = off\n");
$node->restart;

sub sql { return $node->safe_psql('postgres', "SET client_min_messages = warning;\n$_[0]"); }

# The number of chunks in a plan, after "before" has run in the session
sub chunks
{
	my ($sql, $before) = @_;
	return scalar(() = sql(($before // '') . "EXPLAIN (COSTS OFF) $sql") =~ /on _hyper_\d+_\d+_chunk/g);
}

sql('CREATE EXTENSION pg_comb; CREATE EXTENSION timescaledb');
plan skip_all => "TimescaleDB $version makes no hypertables of uuid columns"
  unless sql(q{SELECT to_regprocedure('time_bucket(interval, uuid)') IS NOT NULL}) eq 't';
note "TimescaleDB $version";
sql(q{CREATE TABLE measurement (id uuid PRIMARY KEY DEFAULT comb_generate(), n int)
	WITH (tsdb.hypertable, tsdb.partition_column = 'id', tsdb.chunk_interval = '1 day')});
sql(q{INSERT INTO measurement SELECT comb_at('2026-11-01'::timestamptz + n * interval '10 min'), n FROM generate_series(0, 30 * 144 - 1) n});
sql('ANALYZE measurement');
is(sql('SELECT count(*) FROM show_chunks(\'measurement\')'), '30', 'a chunk a day');
is(sql('SELECT count(DISTINCT (tableoid, comb_timestamp(id)::date)) FROM measurement'), '30', 'each row is in the chunk of its day');

my $day = "tstzrange('2026-11-20', '2026-11-21')";
is(chunks("SELECT * FROM measurement WHERE id <@ $day"), 1, 'a constant period: one chunk when planned');
is(sql("SELECT count(*), min(n), max(n) FROM measurement WHERE id <@ $day"), '144|2736|2879', 'and the right rows');
is(chunks("SELECT * FROM measurement WHERE id >= comb_min('2026-11-20') AND id < comb_min('2026-11-21')"), 1, 'the same by bounds');

my $prepared = "SET plan_cache_mode = force_generic_plan; PREPARE asked(tstzrange) AS SELECT n FROM measurement WHERE id <@ \$1;\n";
is(chunks("EXECUTE asked($day)", $prepared), 1, 'a parameter in a generic plan: one chunk at start-up');
is(() = sql("${prepared}EXECUTE asked($day)") =~ /^\d+$/mg, 144, 'and the right number of rows');
is(chunks("SELECT * FROM measurement WHERE id <@ tstzrange(now() + interval '1000 years', NULL)"), 0, 'the clock: chunks are excluded at start-up');

# A join excludes chunks row by row.  Chunks of one page each would be read once, and joined.
sql("CREATE TABLE during (day int, period tstzrange); INSERT INTO during
	SELECT d, tstzrange('2026-11-01'::timestamptz + d * interval '1 day', '2026-11-02'::timestamptz + d * interval '1 day')
	FROM generate_series(3, 5) d; ANALYZE during");
my $plan = sql("SET enable_hashjoin = off; SET enable_mergejoin = off; SET enable_seqscan = off;
	EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) SELECT day, n FROM during JOIN measurement ON id <@ period");
my $never = () = $plan =~ /on _hyper_\d+_\d+_chunk.*never executed/g;
my $run = () = $plan =~ /on _hyper_\d+_\d+_chunk.*actual rows/g;
is("$run of " . ($run + $never), '3 of 30', 'a join: only the chunks of the periods are read');
is(sql('SELECT string_agg(day || \' \' || c, \' \' ORDER BY day) FROM (SELECT day, count(*) AS c FROM during JOIN measurement ON id <@ period GROUP BY 1) AS s'),
	'3 144 4 144 5 144', 'and the right rows');
is(chunks("SELECT * FROM measurement WHERE id <@ (SELECT period FROM during WHERE day = 4)"), 30, 'a sub-select excludes nothing');
is(sql("SELECT count(*) FROM measurement WHERE id <@ (SELECT period FROM during WHERE day = 4)"), '144', 'but the rows are right');

# What a hypertable takes, and its own functions
like(error_of($node, 'postgres', 'INSERT INTO measurement SELECT gen_random_uuid()'), qr/ERROR:/, 'a v4 key is refused');
like(error_of($node, 'postgres', "INSERT INTO measurement SELECT comb_min('2026-11-20', 'ulid')"), qr/ERROR:/, 'and a ULID that is no UUIDv7');
is(sql("SELECT count(*) FROM drop_chunks('measurement', older_than => '2026-11-11'::timestamptz)"), '10', 'drop_chunks() takes a time');
is(sql('SELECT count(*), min(comb_timestamp(id)) FROM measurement'), 20 * 144 . '|2026-11-11 00:00:00+00', 'and drops the days before');
is(sql("SELECT count(*) FROM (SELECT time_bucket('1 day', id) AS day, count(*) AS c FROM measurement GROUP BY 1) AS s WHERE c = 144"),
	'20', 'time_bucket() reads the time of the key');

done_testing();
