# Periods on foreign tables: what the local server sends, and that the answers are
# right
use lib 'test/perl';
use CombTest;

my $node = server('range_fdw');

my $host = $node->host;
my $port = $node->port;

# The remote database does not have pg_comb, and does not need the extension
$node->safe_psql('postgres', 'CREATE DATABASE far');
$node->safe_psql('postgres', qq{
SET client_min_messages = warning;
CREATE EXTENSION pg_comb;
CREATE EXTENSION postgres_fdw;
CREATE SERVER far FOREIGN DATA WRAPPER postgres_fdw
	OPTIONS (host '$host', port '$port', dbname 'far');
CREATE USER MAPPING FOR CURRENT_USER SERVER far;
});
$node->safe_psql('far', 'CREATE TABLE key (id uuid, n int); CREATE TABLE key_3 (id uuid, n int)');

# v7 keys, one key per hour for 60 days, some rows with v4 and v1 keys, and NULL
$node->safe_psql('postgres', q{
SET timezone = 'UTC';
CREATE TABLE local AS
SELECT CASE n % 5 WHEN 3 THEN overlay(id::text PLACING '4' FROM 15 FOR 1)::uuid
                  WHEN 4 THEN overlay(id::text PLACING '1' FROM 15 FOR 1)::uuid
                  ELSE id END AS id, n
FROM (SELECT comb_stamp(md5(n::text)::uuid, '2026-01-01'::timestamptz + n * interval '1 hour') AS id, n
      FROM generate_series(0, 1439) n) s
UNION ALL SELECT NULL, 1440;
CREATE FOREIGN TABLE key (id uuid, n int) SERVER far;
INSERT INTO key TABLE local;
-- January here, February there
CREATE TABLE parted (id uuid, n int) PARTITION BY RANGE (id);
CREATE TABLE parted_1 PARTITION OF parted
	FOR VALUES FROM (comb_min('2026-01-01')) TO (comb_min('2026-02-01'));
CREATE FOREIGN TABLE parted_2 PARTITION OF parted
	FOR VALUES FROM (comb_min('2026-02-01')) TO (comb_min('2026-04-01'))
	SERVER far OPTIONS (table_name 'key_3');
INSERT INTO parted SELECT * FROM local WHERE id IS NOT NULL;
CREATE TABLE during (i int, period tstzrange);
INSERT INTO during VALUES
(1, '[2026-01-10,2026-01-20)'), (2, '(2026-01-25,2026-02-05]'), (3, '[2026-02-10,)'),
(4, '(,2026-01-05)'), (5, 'empty'), (6, NULL), (7, '(,)'), (8, '[2026-01-10,2026-01-10]');
});

sub query { return $node->safe_psql('postgres', "SET timezone = 'UTC'; $_[0]"); }

my $plan = query(q{EXPLAIN (COSTS OFF, VERBOSE) SELECT n FROM key WHERE id <@ '[2026-01-10,2026-01-20)'});
like($plan, qr/Remote SQL: .* WHERE \(\(id >= '019ba533-e400-7000-8000-000000000000'.*\(id <= '019bd8b3-7bff-7fff-bfff-ffffffffffff'/,
	'the bounds are sent');
like($plan, qr/Filter: comb_recheck/, 'the version is checked here');

$plan = query(q{EXPLAIN (COSTS OFF, VERBOSE) SELECT count(*) FROM key WHERE comb_created(id, '[2026-01-10,2026-01-20)', 'ulid')});
like($plan, qr/Remote SQL: SELECT count\(\*\)/, 'an aggregate is sent where nothing is left to check');

$plan = query(q{EXPLAIN (COSTS OFF) SELECT n FROM parted WHERE id <@ '[2026-01-10,2026-01-20)'});
unlike($plan, qr/Foreign Scan/, 'a foreign partition is pruned');

# 083_period_fuzz.pl asks random queries of foreign tables, and has no foreign partitions.
# From 17 on the planner takes NULL <@ '(,)' for true, so the query asks IS NOT NULL.
foreach my $not ('', 'NOT')
{
	is(query(qq{
DO \$\$
DECLARE d record; got int[]; want int[];
BEGIN
	FOR d IN SELECT * FROM during LOOP
		EXECUTE format('SELECT ARRAY(SELECT n FROM parted WHERE $not id <\@ %L::tstzrange AND id IS NOT NULL ORDER BY n)', d.period) INTO got;
		EXECUTE format('SELECT ARRAY(SELECT n FROM local WHERE id IS NOT NULL AND %1\$L::tstzrange IS NOT NULL
			AND $not (comb_timestamp(id) IS NOT NULL AND comb_timestamp(id) <\@ %1\$L::tstzrange) ORDER BY n)', d.period)
			INTO want;
		IF got IS DISTINCT FROM want THEN
			RAISE EXCEPTION 'period %: % and not %', d.i, got, want;
		END IF;
	END LOOP;
END \$\$;
SELECT 'same'}), 'same', 'answers of a table with a foreign partition' . ($not ? ', under NOT' : ''));
}
is(query('SELECT i, count(*) FROM during JOIN parted ON id <@ period GROUP BY 1 ORDER BY 1'),
	query('SELECT i, count(*) FROM during JOIN local ON comb_timestamp(id) <@ period GROUP BY 1 ORDER BY 1'), 'join with periods');
is(query(q{
SET plan_cache_mode = force_generic_plan;
PREPARE asked(tstzrange) AS SELECT count(*) FROM parted WHERE id <@ $1;
EXECUTE asked('[2026-01-10,2026-02-20)')}),
	query(q{SELECT count(*) FROM local WHERE comb_timestamp(id) <@ tstzrange('2026-01-10', '2026-02-20')}), 'a generic plan');

# DELETE with the clause on the remote server
query(q{DELETE FROM key WHERE id <@ '(,2026-01-11)'});
is( query(q{SELECT count(*) FROM local l WHERE NOT EXISTS (SELECT FROM key k WHERE k.n = l.n)}),
	query(q{SELECT count(*) FROM local WHERE comb_timestamp(id) < '2026-01-11'}),
	'a DELETE takes the keys of the period, and those only');

# if the remote database has the extension, the local server sends the whole clause
$node->safe_psql('far', 'CREATE EXTENSION pg_comb');
$node->safe_psql('postgres', q{ALTER SERVER far OPTIONS (ADD extensions 'pg_comb')});
$plan = query(q{EXPLAIN (COSTS OFF, VERBOSE) SELECT count(*) FROM key WHERE id <@ '[2026-01-15,2026-01-20)'});
like($plan, qr/Remote SQL: SELECT count\(\*\).*comb_recheck/, 'the whole clause is sent');
is( query(q{SELECT count(*) FROM key WHERE id <@ '[2026-01-15,2026-01-20)'}),
	query(q{SELECT count(*) FROM local WHERE comb_timestamp(id) <@ tstzrange('2026-01-15', '2026-01-20')}),
	'and means the same there');

# What else is sent with the option "extensions", and without it.  Expressions of the clock never are.
sub sent
{
	my ($table, $condition, $statement) = @_;
	my ($sql) = $node->safe_psql('postgres', qq{SET timezone = 'UTC'; SET plan_cache_mode = force_generic_plan;
		PREPARE asked(tstzrange) AS SELECT n FROM $table WHERE id <\@ \$1;
		EXPLAIN (COSTS OFF, VERBOSE) } . sprintf($statement // "SELECT n FROM $table WHERE id <@ %s", $condition)) =~ /Remote SQL: (.*)/;
	return $sql // 'nothing is asked';
}
my @day = ('key', "'[2026-01-10,2026-01-11)'");
my @clock = ('key', "tstzrange(now() - interval '1000 days', now())");
my $filter = qr/comb_recheck\(id, '\(,\)'::tstzrange\)/;

is(sent('parted', $day[1], 'EXECUTE asked(%s)'), 'nothing is asked', 'a parameter prunes a foreign partition');
like(sent(@day, 'EXECUTE asked(%s)'), qr/WHERE (?=.*comb_range_min\(\$1)(?=.*comb_range_max\(\$1).*$filter OR \(\$1::tstzrange IS NULL\)/,
	'with the option: both bounds of a parameter, and the check of the version');
like(sent(@clock), qr/WHERE \(public\.$filter\)$/, 'of a period with now() only the check of the version');
like(sent(@day, "SELECT n FROM key WHERE id <@ %s LIMIT 5"), qr/ LIMIT 5/, 'LIMIT');
like(sent(@day, 'DELETE FROM key WHERE id <@ %s'), qr/^DELETE .*comb_recheck/, 'DELETE');
$node->safe_psql('far', 'DROP EXTENSION pg_comb');
like(error_of($node, 'postgres', "SELECT count(*) FROM key WHERE id <@ $day[1]"),
	qr/function public\.comb_recheck\(uuid, tstzrange\) does not exist/, 'the option without the extension there is an error');
$node->safe_psql('postgres', 'ALTER SERVER far OPTIONS (DROP extensions)');
unlike(sent(@day, 'EXECUTE asked(%s)'), qr/WHERE/, 'without the option: nothing of a parameter');
unlike(sent(@clock), qr/WHERE/, 'nothing of a period with now()');
unlike(sent(@day, "SELECT n FROM key WHERE id <@ %s LIMIT 5"), qr/LIMIT/, 'no LIMIT');
like(sent(@day, 'DELETE FROM key WHERE id <@ %s'), qr/^DELETE FROM public\.key WHERE ctid = \$1$/, 'DELETE runs row by row');

done_testing();
