# The functions of sql/portable do what the extension's functions do.
#
# The test runs the extension's own tests in a database without the extension: the
# files of pg_regress, without what is between "-- extension only" and "-- extension
# and sql/portable", and one of pgTAP.  Then it compares both kinds of functions in
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

portable_database('regress');
for my $name (qw(time generate range), $version >= 180000 ? 'generate-v18' : ())
{
	my $file = $node->basedir . "/$name";
	append_to_file("$file.sql", for_both(slurp_file("sql/$name.sql")));
	my $got = `PGTZ=America/Los_Angeles PGDATESTYLE='Postgres, MDY' psql -X -a -q -d regress <$file.sql 2>&1`;
	my $wanted = for_both(slurp_file("expected/$name.out"));
	cmp_ok($wanted =~ tr/\n//, '>', 30, "much of $name is for both");
	append_to_file("$file.got", without_filters($got));
	append_to_file("$file.wanted", without_filters($wanted));
	is(`diff -U3 $file.wanted $file.got`, '', "pg_regress: $name");
}

#
# pgTAP
#
SKIP:
{
	skip 'pgTAP is not installed (Debian: postgresql-NN-pgtap)', 1
	  unless $node->safe_psql('postgres', "SELECT count(*) FROM pg_available_extensions WHERE name = 'pgtap'");
	portable_database('tap');
	$node->safe_psql('tap', 'CREATE EXTENSION pgtap');
	my $got = `psql -X -qAt -v ON_ERROR_STOP=1 -v portable=1 -v keys=100000 -d tap -f test/pgtap/20-generate.sql 2>&1`;
	my @bad = grep { !/^ok / && !/^1\.\.\d+$/ } split(/\n/, $got);
	ok(!@bad && $got =~ /^1\.\.[1-9]/m, 'pgTAP: properties of new keys') or diag join("\n", grep { defined } @bad[ 0 .. 30 ]);
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

# Declarations: helpers are all that the extension has not
is(both(q{
	SELECT string_agg(p.oid::regprocedure::text, ', ' ORDER BY proname) FROM pg_proc p
	WHERE p.pronamespace = 'portable'::regnamespace AND NOT EXISTS (
		SELECT FROM pg_proc e WHERE e.pronamespace = 'ext'::regnamespace
		AND replace(pg_get_function_identity_arguments(e.oid), 'ext.', '') =
			replace(pg_get_function_identity_arguments(p.oid), 'portable.', '')
		AND (e.proname, pg_get_function_result(e.oid), e.provolatile, e.proparallel, e.prokind)
			= (p.proname, pg_get_function_result(p.oid), p.provolatile, p.proparallel, p.prokind))}),
	'portable.comb_portable_behind_v4(uuid), portable.comb_portable_layout(text), portable.comb_portable_time(timestamp with time zone), portable.comb_portable_v7(uuid)',
	'names, arguments, results and volatility are the same');
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

# The README's query uses the index of both.  Comparisons of comb_timestamp() do so with the extension alone.
my ($query) = slurp_file('README.md') =~ /^(SELECT \* FROM event WHERE .*);$/m;
foreach my $schema ('ext', 'portable')
{
	my $explain = "SET search_path = $schema, public; SET enable_seqscan = off; EXPLAIN (COSTS OFF)";
	both("DROP TABLE IF EXISTS event; CREATE TABLE event (id uuid PRIMARY KEY)");
	like(both("$explain $query"), qr/Index Cond/, "$schema: the README's query uses the index");
	($schema eq 'ext' ? \&like : \&unlike)->(both("$explain SELECT FROM event WHERE comb_timestamp(id) >= '2026-11-24'"),
		qr/Index Cond/, "$schema: a comparison of comb_timestamp()");
}

# Random values
my $seed = defined $ENV{PORTABLE_SEED} ? $ENV{PORTABLE_SEED} : sprintf('%.6f', rand(2) - 1);
my $fuzz = slurp_file('test/fuzz/portable.sql');
$fuzz =~ s/:inputs/$inputs/g;
both("SELECT setseed($seed); $fuzz");
# Of a NULL key the extension's plans do not look at the times, so they raise no error for
# times in the wrong order.
is(both(q{
	SELECT call.text, input, outcome('ext', call.text, id, other, at, until, period) AS ext,
		outcome('portable', call.text, id, other, at, until, period) AS portable
	FROM input, call
	WHERE outcome('ext', call.text, id, other, at, until, period)
		<> replace(outcome('portable', call.text, id, other, at, until, period), 'portable.', 'ext.')
	AND NOT (call.text ~ 'comb_during' AND id IS NULL AND at > until)
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
is(both(q{
	SELECT count(*) FROM input
	WHERE at >= '1970-01-01 00:00:00+00' AND at < '2109-05-15 07:35:11.103999+00'
	AND NOT (ext.comb_at(at, 'behind_v4') < portable.comb_at(at + interval '1 us', 'behind_v4')
		AND portable.comb_at(at, 'behind_v4') < ext.comb_at(at + interval '1 us', 'behind_v4'))}), '0', 'and so behind v4');
is(both(q{
	SELECT count(*), count(*) FILTER (WHERE id > before), bool_and(ext.comb_timestamp(id, 'behind_v4') BETWEEN date_trunc('ms', began) AND ended)
	FROM (SELECT *, lag(id) OVER (ORDER BY n) AS before FROM (
		SELECT n, clock_timestamp() AS began, portable.comb_generate('behind_v4') AS id, clock_timestamp() AS ended
		FROM generate_series(1, 10000) n OFFSET 0) s) s}), '10000|9999|t', 'new keys behind v4 are in order, and their times the clock\'s');
for my $call ("comb_generate('ulid')", "comb_at(now(), 'ulid')", "comb_stamp(gen_random_uuid(), now(), 'ulid')",
	"comb_timestamp(gen_random_uuid(), 'ulid')", "comb_min(now(), 'ulid')", "comb_max(now(), 'ulid')",
	"comb_range_min('empty', 'ulid')", "comb_range_max('empty', 'ulid')", "comb_created(gen_random_uuid(), 'empty', 'ulid')")
{
	my (undef, undef, $error) = $node->psql('side_by_side', "\\set VERBOSITY verbose\nSELECT portable.$call");
	like($error, qr/ERROR:  0A000: layout "ulid" needs the extension pg_comb/, "$call is refused");
}

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

# psql ends at an error, so that it would not read a long input to its end.
my $file_fails = '\i sql/portable/pg_comb.sql';

# Nor does the file take over what another role has made in the schema.
both('CREATE ROLE stranger');
for my $object ('FUNCTION comb_min(timestamptz) RETURNS uuid LANGUAGE sql AS $$ SELECT NULL::uuid $$',
	'DOMAIN comb_period AS tstzrange', 'OPERATOR <@ (LEFTARG = uuid, RIGHTARG = tstzrange, FUNCTION = g)')
{
	both("CREATE SCHEMA shared; GRANT USAGE, CREATE ON SCHEMA shared TO stranger; SET search_path = shared; SET ROLE stranger;
		CREATE FUNCTION g(uuid, tstzrange) RETURNS boolean LANGUAGE sql AS 'SELECT true'; CREATE $object");
	my $error = ($node->psql('side_by_side', "SET search_path = shared;\n$file_fails"))[2];
	like($error, qr/ belongs to role stranger.*HINT:  Drop it/s, "not over $object, not even by a superuser");
	both("SET client_min_messages = warning; DROP SCHEMA shared CASCADE");
}

#
# To the extension and back, keys untouched
#
portable_database('moved');
sub moved { return $node->safe_psql('moved', $_[0]); }
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
moved("CREATE TABLE orders (id uuid PRIMARY KEY, n int); $to INSERT INTO orders (n) SELECT generate_series(1, 1000)");
my $keys = moved('SELECT md5(string_agg(id::text, n::text ORDER BY n)) FROM orders');
my $relation = moved("SELECT pg_relation_filenode('orders'), pg_relation_filenode('orders_pkey')");
moved("BEGIN; SET client_min_messages = warning; $from\n"
	  . slurp_file('sql/portable/uninstall.sql') . "CREATE EXTENSION pg_comb; $to COMMIT");
is(moved("SELECT count(*) FROM pg_proc WHERE probin LIKE '%pg_comb%' AND proname = 'comb_generate' AND pronargs = 0"), '1', 'the extension is there');
like(($node->psql('moved', $file_fails))[2], qr/ belongs to extension pg_comb\n.*HINT:  Drop it/s,
	'a superuser does not replace its functions');
moved('INSERT INTO orders (n) VALUES (1001)');
moved("BEGIN; $from DROP EXTENSION pg_comb; " . slurp_file('sql/portable/pg_comb.sql') . " $to COMMIT");
moved('INSERT INTO orders (n) VALUES (1002)');
is(moved('SELECT md5(string_agg(id::text, n::text ORDER BY n)) FROM orders WHERE n <= 1000'), $keys, 'no key has changed');
is(moved("SELECT pg_relation_filenode('orders'), pg_relation_filenode('orders_pkey')"), $relation, 'no table or index was rewritten');
is(moved('SELECT bool_and(id > before) FROM (SELECT id, lag(id) OVER (ORDER BY n) AS before FROM orders) s'), 't',
	'keys of all three times are in order');

is(install('regress', 'public', 'uninstall.sql'), '', 'the functions uninstall');
is($node->safe_psql('regress', q{SELECT (SELECT count(*) FROM pg_proc WHERE proname LIKE 'comb\\_%'),
	(SELECT count(*) FROM pg_operator WHERE oprnamespace = 'public'::regnamespace)}), '0|0', 'and leave neither function nor operator');

done_testing();
