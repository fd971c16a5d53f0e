# The functions of sql/portable do what the extension's functions do.
#
# The test runs the extension's own tests in a database without the extension: the
# files of pg_regress, without what is between "-- extension only" and "-- extension
# and sql/portable", and files of pgTAP.  Then it compares both kinds of functions in
# one database, on as many random values as PORTABLE_INPUTS says.
use lib 'test/perl';
use CombTest;

my $inputs = $ENV{PORTABLE_INPUTS} || 1000;

# Nothing here needs a superuser: a role that may create in one schema installs all.
my $node = server('portable', conf => "fsync = off\njit = off\nmax_prepared_transactions = 0\n",
	sql => 'CREATE ROLE app LOGIN');
$ENV{PGHOST} = $node->host;
$ENV{PGPORT} = $node->port;
my $version = $node->safe_psql('postgres', 'SHOW server_version_num');

sub install
{
	my ($database, $schema, $file) = @_;
	local $ENV{PGOPTIONS} = "-c search_path=$schema -c client_min_messages=warning";
	return `psql -X -q -1 -v ON_ERROR_STOP=1 -U app -d $database -f sql/portable/$file 2>&1`;
}

sub portable_database
{
	my ($name) = @_;
	$node->safe_psql('postgres', "CREATE DATABASE $name");
	$node->safe_psql($name, 'GRANT CREATE ON SCHEMA public TO app');
	is(install($name, 'public', 'pg_comb.sql'), '', "the file installs into $name");
	return;
}

#
# pg_regress
#

# What stands in a file or an expected output for both.  Plans differ in their
# filters only.
sub for_both
{
	my ($text) = @_;
	$text =~ s/^-- extension only\n.*?^-- extension and sql\/portable\n//msg;
	return $text;
}

sub without_filters
{
	my ($text) = @_;
	$text =~ s/^[ ]+(?:Join Filter|Filter|Recheck Cond): .*\n//mg;
	$text =~ s/^[ ]*QUERY PLAN[ ]*\n-+\n(.*?)^\(\d+ rows?\)\n/$1/msg;
	return $text;
}

sub file_of
{
	my ($name, $text) = @_;
	my $file = $node->basedir . "/$name";
	replace_file($file, $text);
	return $file;
}

portable_database('regress');
for my $name (qw(time generate range), $version >= 180000 ? 'generate-v18' : ())
{
	my $file = file_of('sql', for_both(slurp_file("sql/$name.sql")));
	my $got = `PGTZ=America/Los_Angeles PGDATESTYLE='Postgres, MDY' psql -X -a -q -d regress <$file 2>&1`;
	my $wanted = for_both(slurp_file("expected/$name.out"));
	cmp_ok($wanted =~ tr/\n//, '>', 30, "much of $name is for both");
	my ($got_file, $wanted_file) = (file_of('got', without_filters($got)), file_of('wanted', without_filters($wanted)));
	is(`diff -U3 $wanted_file $got_file`, '', "pg_regress: $name");
}

#
# pgTAP
#
SKIP:
{
	skip 'pgTAP is not installed', 3
	  unless $node->safe_psql('postgres', "SELECT count(*) FROM pg_available_extensions WHERE name = 'pgtap'");
	for my $name (qw(10-laws 20-generate 50-range))
	{
		my $database = 'tap_' . substr($name, 0, 2);
		portable_database($database);
		$node->safe_psql($database, 'CREATE EXTENSION pgtap');
		my $got = `psql -X -qAt -v ON_ERROR_ROLLBACK=1 -v portable=1 -v keys=100000 -d $database -f test/pgtap/$name.sql 2>&1`;
		my @bad = grep { !/^ok / && !/^1\.\.\d+$/ } split(/\n/, $got);
		my $good = () = $got =~ /^ok /mg;
		ok(!@bad && $good >= 7 && $got =~ /^1\.\.$good$/m, "pgTAP: $name, $good tests")
		  or diag join("\n", grep { defined } @bad[ 0 .. 30 ]);
	}
}

#
# Both kinds in one database
#
$node->safe_psql('postgres', 'CREATE DATABASE side_by_side');
$node->safe_psql('side_by_side', "CREATE SCHEMA ext; CREATE EXTENSION pg_comb SCHEMA ext;
	CREATE SCHEMA portable AUTHORIZATION app");
is(install('side_by_side', 'portable', 'pg_comb.sql'), '', 'installed beside the extension');
is(install('side_by_side', 'portable', 'pg_comb.sql'), '', 'installed again');

sub both { return $node->safe_psql('side_by_side', $_[0]); }

# Declarations: a helper is all that the extension has not
is(both(q{
	SELECT string_agg(p.oid::regprocedure::text, ', ') FROM pg_proc p
	WHERE p.pronamespace = 'portable'::regnamespace AND NOT EXISTS (
		SELECT FROM pg_proc e WHERE e.pronamespace = 'ext'::regnamespace
		AND replace(pg_get_function_identity_arguments(e.oid), 'ext.', '') =
			replace(pg_get_function_identity_arguments(p.oid), 'portable.', '')
		AND (e.proname, pg_get_function_result(e.oid), e.provolatile, e.proparallel, e.prokind)
			= (p.proname, pg_get_function_result(p.oid), p.provolatile, p.proparallel, p.prokind))}),
	'portable.comb_portable_layout(text)', 'names, arguments, results and volatility are the same');
is(both(q{
	SELECT count(*) FROM pg_proc p JOIN pg_language l ON l.oid = prolang
	WHERE pronamespace = 'portable'::regnamespace
	AND (lanname NOT IN ('sql', 'plpgsql') OR proleakproof OR prosecdef OR obj_description(p.oid, 'pg_proc') IS NULL)}),
	'0', 'no function needs a superuser, and all have comments');

is(both(q{
	SELECT string_agg(p.oid::regprocedure::text, ', ') FROM pg_proc e JOIN pg_proc p
		ON e.proname = p.proname AND e.pronargs = p.pronargs
		AND replace(e.proargtypes::regtype[]::text, 'ext.', '') = replace(p.proargtypes::regtype[]::text, 'portable.', '')
	WHERE e.pronamespace = 'ext'::regnamespace AND p.pronamespace = 'portable'::regnamespace
	AND NOT coalesce('layout' = ANY (p.proargnames), false)
	AND obj_description(p.oid, 'pg_proc') <> obj_description(e.oid, 'pg_proc')}),
	'portable.comb_generate()', 'without a layout the comments are the same, but for what one session promises');

# Random values
my $seed = defined $ENV{PORTABLE_SEED} ? $ENV{PORTABLE_SEED} : sprintf('%.6f', rand(2) - 1);
my $fuzz = slurp_file('test/fuzz/portable.sql');
$fuzz =~ s/:inputs/$inputs/g;
both("SELECT setseed($seed); $fuzz");
is(both(q{
	SELECT call.text, input, outcome('ext', call.text, id, other, at, until, period) AS ext,
		outcome('portable', call.text, id, other, at, until, period) AS portable
	FROM input, call
	WHERE outcome('ext', call.text, id, other, at, until, period)
		<> replace(outcome('portable', call.text, id, other, at, until, period), 'portable.', 'ext.')
	LIMIT 5}), '', "equal results and equal errors, seed $seed");
is(both(q{
	SELECT bool_or(o ~ '^22008[|]') AND bool_or(o ~ '^22000[|]') AND bool_or(o ~ '^22P02[|]')
		AND bool_or(o = 'true') AND bool_or(o = 'NULL') AND NOT bool_or(o ~ '^42...[|]')
	FROM (SELECT outcome('portable', call.text, id, other, at, until, period) AS o FROM input, call WHERE n < 200) o}),
	't', 'errors, results and NULL are among them');
# The bits below a microsecond are random in both, so keys of neighbouring
# microseconds compare the same way whoever made them
is(both(q{
	SELECT count(*) FROM input
	WHERE at >= '1970-01-01 00:00:00+00' AND at < '10889-08-02 05:31:50.655999+00'
	AND NOT (ext.comb_at(at) < portable.comb_at(at + interval '1 us')
		AND portable.comb_at(at) < ext.comb_at(at + interval '1 us'))}), '0', 'comb_at() has the order of the extension');
for my $call ("comb_generate('ulid')", "comb_at(now(), 'ulid')", "comb_stamp(gen_random_uuid(), now(), 'ulid')",
	"comb_timestamp(gen_random_uuid(), 'ulid')", "comb_min(now(), 'ulid')", "comb_max(now(), 'ulid')",
	"comb_range_min('empty', 'ulid')", "comb_range_max('empty', 'ulid')", "comb_created(gen_random_uuid(), 'empty', 'ulid')")
{
	my (undef, undef, $error) = $node->psql('side_by_side', "\\set VERBOSITY verbose\nSELECT portable.$call");
	like($error, qr/ERROR:  0A000: layout "ulid" needs the extension pg_comb/, "$call is refused");
}

# New keys
is(both(q{
	SELECT count(*), count(DISTINCT id), bool_and(id > before),
		bool_and(ext.comb_timestamp(id) BETWEEN date_trunc('milliseconds', made) AND clock_timestamp())
	FROM (SELECT id, made, coalesce(lag(id) OVER (ORDER BY n), ext.comb_min(now())) AS before
		FROM (SELECT n, clock_timestamp() AS made, portable.comb_generate() AS id FROM generate_series(1, 50000) n) s OFFSET 0) s}),
	'50000|50000|t|t', 'keys of the clock, each larger than the one before');
if ($version >= 180000)
{
	like(both('EXPLAIN (COSTS OFF, VERBOSE) SELECT portable.comb_generate()'), qr/Output: uuidv7\(\)/,
		'comb_generate() is uuidv7() without a detour');
}

# A hostile search_path: functions and operators of the same names
both(q{
	CREATE SCHEMA evil;
	CREATE FUNCTION evil.never(bigint, integer) RETURNS bigint LANGUAGE plpgsql AS 'BEGIN RAISE ''called''; END';
	CREATE FUNCTION evil.wrong(uuid, uuid) RETURNS boolean LANGUAGE plpgsql AS 'BEGIN RAISE ''called''; END';
	CREATE OPERATOR evil.+ (FUNCTION = evil.never, LEFTARG = bigint, RIGHTARG = integer);
	CREATE OPERATOR evil.* (FUNCTION = evil.never, LEFTARG = bigint, RIGHTARG = integer);
	CREATE OPERATOR evil.>= (FUNCTION = evil.wrong, LEFTARG = uuid, RIGHTARG = uuid);
	CREATE OPERATOR evil.<= (FUNCTION = evil.wrong, LEFTARG = uuid, RIGHTARG = uuid);
	CREATE FUNCTION evil.uuid_send(uuid) RETURNS bytea LANGUAGE sql AS 'SELECT NULL::bytea';
	CREATE FUNCTION evil.gen_random_uuid() RETURNS uuid LANGUAGE sql AS 'SELECT NULL::uuid'});
for my $path ("''", 'evil, pg_catalog')
{
	is(both(qq{
		SET search_path = $path;
		SELECT portable.comb_timestamp(portable.comb_stamp('5f0d7b1c-92e4-4a3b-8c6d-0123456789ab', '2026-11-20 09:30:00.123456+00')) = '2026-11-20 09:30:00.123+00',
			portable.comb_during(portable.comb_generate(), '2026-01-01', NULL),
			portable.comb_created(portable.comb_at('2026-11-20'), '[2026-11-20,2026-11-21)', 'uuidv7'),
			portable.comb_time_decoder(portable.comb_min('2026-11-20 00:00:00+00')::text) = '2026-11-20 00:00:00+00'}),
		't|t|t|t', "search_path $path");
}

is(both(q{
	SELECT string_agg(p.oid::regprocedure::text, ', ') FROM pg_proc p JOIN pg_language l ON l.oid = prolang
	WHERE pronamespace = 'portable'::regnamespace AND (lanname = 'sql' AND prosrc <> '' OR prosrc ~ 'portable[.]')}),
	'', 'no body names functions of the file');

# A role that may create in the schema: overloads that match better than the functions
# themselves.  Where they are called, the answer would be an error.
both(q{
	CREATE ROLE stranger;
	GRANT USAGE, CREATE ON SCHEMA portable TO stranger;
	SET ROLE stranger;
	SET search_path = portable;
	CREATE FUNCTION comb_range_min(comb_period) RETURNS uuid LANGUAGE plpgsql AS 'BEGIN RAISE ''taken over''; END';
	CREATE FUNCTION comb_range_max(comb_period) RETURNS uuid LANGUAGE plpgsql AS 'BEGIN RAISE ''taken over''; END';
	CREATE FUNCTION comb_range_min(comb_period, text) RETURNS uuid LANGUAGE plpgsql AS 'BEGIN RAISE ''taken over''; END';
	CREATE FUNCTION comb_portable_layout(varchar) RETURNS boolean LANGUAGE plpgsql AS 'BEGIN RAISE ''taken over''; END';
	CREATE FUNCTION comb_created(uuid, comb_period) RETURNS boolean LANGUAGE plpgsql AS 'BEGIN RAISE ''taken over''; END';
	CREATE FUNCTION comb_min(anyelement) RETURNS uuid LANGUAGE plpgsql AS 'BEGIN RAISE ''taken over''; END';
	CREATE FUNCTION comb_timestamp(anyelement) RETURNS timestamptz LANGUAGE plpgsql AS 'BEGIN RAISE ''taken over''; END'});
my $calls = q{
	SELECT x.comb_contained(id, p), x.comb_contains(p, id), id OPERATOR(x.<@) p, p OPERATOR(x.@>) id, x.comb_created(id, p::tstzrange),
		x.comb_created(id, p::tstzrange, l), x.comb_during(id, lower(p), upper(p)),
		x.comb_timestamp(id, l) = lower(p), x.comb_min(lower(p), l) < id, x.comb_max(lower(p), l) > id,
		x.comb_range_min(p::tstzrange, l) < id, x.comb_range_max(p::tstzrange, l) > id, x.comb_stamp(id, lower(p), l) = id,
		x.comb_generate(l) <> id, x.comb_at(lower(p), l) <> id
	FROM (SELECT x.comb_stamp('5f0d7b1c-92e4-4a3b-8c6d-0123456789ab', '2026-11-20'::timestamptz) AS id,
		tstzrange('2026-11-20', '2026-11-21')::x.comb_period AS p, 'uuidv7'::text AS l OFFSET 0) s};
sub called_in { my ($schema) = @_; return both($calls =~ s/\bx\./$schema./gr); }
my $all = join('|', ('t') x 15);
is(called_in('portable'), $all, 'no call walks into a better match');
like(install('side_by_side', 'portable', 'pg_comb.sql'), qr/function comb_\w+\(.*\) belongs to role stranger/,
	'the file does not install beside functions of another role');

both(q{
	ALTER SCHEMA portable RENAME TO renamed;
	CREATE SCHEMA portable AUTHORIZATION stranger});
is(called_in('renamed'), $all, 'another schema of the old name changes nothing');
both(q{
	DROP SCHEMA portable;
	ALTER SCHEMA renamed RENAME TO portable});
both('DROP OWNED BY stranger');
is(install('side_by_side', 'portable', 'pg_comb.sql'), '', 'without them it does');
for my $object ('FUNCTION comb_min(timestamptz) RETURNS uuid LANGUAGE sql AS $$ SELECT NULL::uuid $$',
	'DOMAIN comb_period AS tstzrange', 'OPERATOR <@ (LEFTARG = uuid, RIGHTARG = tstzrange, FUNCTION = g)')
{
	both("CREATE SCHEMA shared; GRANT USAGE, CREATE ON SCHEMA shared TO app, stranger; SET search_path = shared; SET ROLE stranger;
		CREATE FUNCTION g(uuid, tstzrange) RETURNS boolean LANGUAGE sql AS 'SELECT true'; CREATE $object");
	for my $superuser (0, 1)
	{
		my $error = $superuser
		  ? (($node->psql('side_by_side', "SET search_path = shared;\n" . slurp_file('sql/portable/pg_comb.sql')))[2])
		  : install('side_by_side', 'shared', 'pg_comb.sql');
		like($error, qr/ belongs to role stranger.*HINT:  Drop it/s, "not over $object" . ($superuser ? ', by a superuser' : ''));
	}
	both("SET client_min_messages = warning; DROP SCHEMA shared CASCADE");
}

#
# Plans
#
$node->safe_psql('side_by_side', q{
	CREATE TABLE orders (id uuid PRIMARY KEY DEFAULT portable.comb_generate(), n int);
	INSERT INTO orders SELECT portable.comb_at('2026-01-01'::timestamptz + n * interval '1 min'), n FROM generate_series(0, 43199) n;
	CREATE TABLE event (id uuid, n int) PARTITION BY RANGE (id);
	CREATE TABLE event_1 PARTITION OF event FOR VALUES FROM (portable.comb_min('2026-01-01')) TO (portable.comb_min('2026-01-16'));
	CREATE TABLE event_2 PARTITION OF event FOR VALUES FROM (portable.comb_min('2026-01-16')) TO (portable.comb_min('2026-02-01'));
	INSERT INTO event TABLE orders;
	GRANT SELECT ON orders TO app;
	CREATE POLICY few ON orders USING (n % 2 = 0);
	ALTER TABLE orders ENABLE ROW LEVEL SECURITY;
	VACUUM ANALYZE});

sub plan_of { return both("SET search_path = portable, public; $_[0]"); }

my $constants = qr/Index Cond: \(\(id >= '019b[0-9a-f-]{32}'::uuid\) AND \(id <= '019b[0-9a-f-]{32}'::uuid\)\)/;
my $prepare = q{PREPARE asked(timestamptz, timestamptz) AS SELECT n FROM orders WHERE comb_during(id, $1, $2);};
for my $clause ("comb_during(id, '2026-01-05', '2026-01-06')", "comb_created(id, tstzrange('2026-01-05', '2026-01-06'))",
	"comb_created(id, tstzrange('2026-01-05', '2026-01-06'), 'uuidv7')", "id <@ tstzrange('2026-01-05', '2026-01-06')",
	"tstzrange('2026-01-05', '2026-01-06') @> id")
{
	like(plan_of("EXPLAIN (COSTS OFF) SELECT n FROM orders WHERE $clause"), qr/Index Scan using orders_pkey.*$constants/s,
		"index: $clause");
	my ($estimate) = plan_of("EXPLAIN SELECT n FROM orders WHERE $clause") =~ /rows=(\d+)/;
	cmp_ok($estimate, '>', 1440 / 5, "$estimate rows expected of 1440");
	cmp_ok($estimate, '<', 1440 * 5, "not more than five times as many");
	like(plan_of("EXPLAIN (COSTS OFF) SELECT n FROM event WHERE $clause"), qr/Scan on event_1 event(?!.*event_2)/s,
		"partitions: $clause");
}
like(plan_of("$prepare EXPLAIN (COSTS OFF) EXECUTE asked('2026-01-05', '2026-01-06')"), qr/$constants/, 'custom plan');
like(plan_of("SET plan_cache_mode = force_generic_plan; $prepare EXPLAIN (COSTS OFF) EXECUTE asked('2026-01-05', '2026-01-06')"),
	qr/Index Cond: \(\(id >= comb_range_min\(tstzrange\(\$1, \$2\)\)\) AND \(id <= comb_range_max\(tstzrange\(\$1, \$2\)\)\)\)/,
	'generic plan');
is(plan_of("SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; PREPARE asked(timestamptz, timestamptz) AS SELECT count(*) FROM orders WHERE comb_during(id, \$1, \$2);
	EXECUTE asked('2026-01-05', '2026-01-06'); EXECUTE asked(NULL, '2026-01-02'); EXECUTE asked('2026-01-30 12:00', NULL)"),
	"1440\n1440\n720", 'answers of the generic plan');
like(plan_of('EXPLAIN (COSTS OFF) SELECT n FROM orders WHERE comb_during(id, now(), NULL)'),
	qr/Index Cond: \(\(id >= comb_range_min\(tstzrange\(now\(\)/, 'index for times of the clock');
like(plan_of("SET plan_cache_mode = force_generic_plan; PREPARE asked(timestamptz, timestamptz) AS SELECT n FROM event WHERE comb_during(id, \$1, \$2);
	EXPLAIN (COSTS OFF) EXECUTE asked('2026-01-05', '2026-01-06')"), qr/Subplans Removed: 1/, 'a generic plan prunes');
like(plan_of("GRANT USAGE ON SCHEMA portable TO app; SET ROLE app; EXPLAIN (COSTS OFF) SELECT n FROM orders WHERE comb_during(id, '2026-01-05', '2026-01-06')"),
	qr/$constants/, 'index under row security');

#
# To the extension and back, keys untouched
#
portable_database('moved');
sub moved { return $node->safe_psql('moved', $_[0]); }
moved(q{
	CREATE TABLE orders (id uuid PRIMARY KEY DEFAULT comb_generate(), n int);
	INSERT INTO orders (n) SELECT generate_series(1, 1000);
	CREATE INDEX recent ON orders (n) WHERE comb_during(id, '2026-01-01', NULL);
	CREATE VIEW orders_made AS SELECT id, comb_timestamp(id) AS made FROM orders});
my $keys = moved('SELECT md5(string_agg(id::text, n::text ORDER BY n)) FROM orders');
my $relation = moved("SELECT pg_relation_filenode('orders'), pg_relation_filenode('orders_pkey')");
my $error = install('moved', 'public', 'uninstall.sql');
like($error, qr/cannot drop .*default value for column id of table orders depends on function comb_generate\(\)/s,
	'PostgreSQL names what uses the functions');
like($error, qr/index recent depends on|view orders_made depends on/, 'indexes and views too');

my $from = q{
	DROP VIEW orders_made;
	DROP INDEX recent;
	ALTER TABLE orders ALTER id DROP DEFAULT;
};
my $to = q{
	ALTER TABLE orders ALTER id SET DEFAULT comb_generate();
	CREATE INDEX recent ON orders (n) WHERE comb_during(id, '2026-01-01', NULL);
	CREATE VIEW orders_made AS SELECT id, comb_timestamp(id) AS made FROM orders;
};
$node->safe_psql('moved', "BEGIN; SET client_min_messages = warning; $from\n"
	  . slurp_file('sql/portable/uninstall.sql') . "CREATE EXTENSION pg_comb; $to COMMIT");
is(moved("SELECT count(*) FROM pg_proc WHERE probin LIKE '%pg_comb%' AND proname = 'comb_generate' AND pronargs = 0"), '1', 'the extension is there');
like(($node->psql('moved', slurp_file('sql/portable/pg_comb.sql')))[2], qr/ belongs to extension pg_comb\n.*HINT:  Drop it/s,
	'a superuser does not replace its functions');
moved('INSERT INTO orders (n) VALUES (1001)');
moved("BEGIN; $from DROP EXTENSION pg_comb; " . slurp_file('sql/portable/pg_comb.sql') . " $to COMMIT");
is(moved("SELECT count(*) FROM pg_extension WHERE extname = 'pg_comb'"), '0', 'and gone again');
moved('INSERT INTO orders (n) VALUES (1002)');
is(moved('SELECT md5(string_agg(id::text, n::text ORDER BY n)) FROM orders WHERE n <= 1000'), $keys, 'no key has changed');
is(moved("SELECT pg_relation_filenode('orders'), pg_relation_filenode('orders_pkey')"), $relation, 'no table or index was rewritten');
is(moved('SELECT bool_and(id > before) FROM (SELECT id, lag(id) OVER (ORDER BY n) AS before FROM orders) s'), 't',
	'keys of all three times are in order');

# A dump has the functions, and restores into a server without any file
my $dump = $node->basedir . '/moved.sql';
$node->command_ok([ 'pg_dump', '-f', $dump, 'moved' ], 'dump');
$node->safe_psql('postgres', 'CREATE DATABASE restored');
is(system("psql -X -q -v ON_ERROR_STOP=1 -d restored -f $dump >" . $node->basedir . '/restore.log 2>&1'), 0, 'restore');
is($node->safe_psql('restored', 'SELECT md5(string_agg(id::text, n::text ORDER BY n)) FROM orders WHERE n <= 1000'), $keys, 'the same keys');
is($node->safe_psql('restored', 'INSERT INTO orders (n) VALUES (1003) RETURNING id > (SELECT max(id::text)::uuid FROM orders WHERE n < 1003)'),
	't', 'and new keys after them');

is(install('regress', 'public', 'uninstall.sql'), '', 'the functions uninstall');
is($node->safe_psql('regress', q{SELECT (SELECT count(*) FROM pg_proc WHERE proname LIKE 'comb\\_%'),
	(SELECT count(*) FROM pg_operator WHERE oprnamespace = 'public'::regnamespace)}), '0|0', 'and leave neither function nor operator');

done_testing();
