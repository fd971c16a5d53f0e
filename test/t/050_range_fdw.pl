# Periods on foreign tables: what the local server sends, and answers of a table with a foreign
# partition.  083_period_fuzz.pl asks random queries of foreign tables, and has no foreign partitions.
use lib 'test/perl';
use CombTest;

my $node = server('range_fdw', conf => "timezone = 'UTC'\n", sql => 'CREATE DATABASE far');
my ($host, $port) = ($node->host, $node->port);

# The remote database does not need the extension.
$node->safe_psql('far', 'CREATE TABLE key (id uuid, n int); CREATE TABLE key_3 (id uuid, n int)');

# v7 keys, one key per hour for 60 days, some rows with v4 and v1 keys.  January is here, February there.
$node->safe_psql('postgres', qq{
CREATE EXTENSION pg_comb;
CREATE EXTENSION postgres_fdw;
CREATE SERVER far FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '$host', port '$port', dbname 'far');
CREATE USER MAPPING FOR CURRENT_USER SERVER far;
CREATE FOREIGN TABLE key (id uuid, n int) SERVER far;
CREATE TABLE local AS
SELECT CASE n % 5 WHEN 3 THEN overlay(id::text PLACING '4' FROM 15 FOR 1)::uuid
                  WHEN 4 THEN overlay(id::text PLACING '1' FROM 15 FOR 1)::uuid
                  ELSE id END AS id, n
FROM (SELECT comb_stamp(md5(n::text)::uuid, '2026-01-01'::timestamptz + n * interval '1 hour') AS id, n
      FROM generate_series(0, 1415) n) s;
CREATE TABLE parted (id uuid, n int) PARTITION BY RANGE (id);
CREATE TABLE parted_1 PARTITION OF parted
	FOR VALUES FROM (comb_min('2026-01-01')) TO (comb_min('2026-02-01'));
CREATE FOREIGN TABLE parted_2 PARTITION OF parted
	FOR VALUES FROM (comb_min('2026-02-01')) TO (comb_min('2026-04-01'))
	SERVER far OPTIONS (table_name 'key_3');
INSERT INTO parted TABLE local;
});

sub query { return $node->safe_psql('postgres', $_[0]); }

foreach my $period ('[2026-01-10,2026-01-20)', '(2026-01-25,2026-02-05]', '[2026-02-10,)', '(,2026-01-05)', 'empty', '(,)')
{
	foreach my $not ('', 'NOT')
	{
		# From 17 on "<@ '(,)'" is true of everything, even of no time.
		my $expected = query("SELECT n FROM local
			WHERE $not (comb_timestamp(id) IS NOT NULL AND comb_timestamp(id) <@ '$period'::tstzrange) ORDER BY n");
		is(query("SELECT n FROM parted WHERE $not id <@ '$period'::tstzrange ORDER BY n"), $expected, "$not $period");
		is(query("SET plan_cache_mode = force_generic_plan; PREPARE asked(tstzrange) AS
			SELECT n FROM parted WHERE $not id <@ \$1 ORDER BY n; EXECUTE asked('$period')"), $expected, "$not $period, a generic plan");
	}
}

# What is sent.  "asked" has a parameter.  Expressions of the clock are never sent.
sub sent
{
	my ($statement) = @_;
	my ($sql) = query("SET plan_cache_mode = force_generic_plan; PREPARE asked(tstzrange) AS SELECT n FROM key WHERE id <@ \$1;
		PREPARE asked_parted(tstzrange) AS SELECT n FROM parted WHERE id <@ \$1;
		EXPLAIN (COSTS OFF, VERBOSE) $statement") =~ /Remote SQL: (.*)/;
	return $sql // 'nothing is asked';
}
my $day = q{'[2026-01-10,2026-01-11)'};
my $bounds = qr/WHERE \(\(id >= '019ba533-e400-7000-8000-000000000000'.*\(id <= '019baa5a-3fff-7fff-bfff-ffffffffffff'/;
my $filter = qr/comb_recheck\(id, '\(,\)'::tstzrange\)/;
# A statement, what is sent, and what is sent with the option "extensions"
my @statements = (
	[ "SELECT n FROM key WHERE id <@ $day", $bounds, qr/WHERE \(\(id OPERATOR\(public\.<@\) .*\) AND .*id >= / ],
	[ "SELECT n FROM key WHERE id <@ $day LIMIT 5", qr/^(?!.* LIMIT)/, qr/ LIMIT 5/ ],
	[ "SELECT n FROM key WHERE comb_created(id, $day, 'ulid')", qr/WHERE \(\(id >= .*\(id <= /, qr/WHERE \(\(id >= .*\(id <= / ],
	[ q{SELECT n FROM key WHERE comb_timestamp(id) >= '2026-01-10'}, qr/WHERE \(\(id >= '019ba533-e400-7000-8000-000000000000'\)\)$/, qr/id >= .*$filter/ ],
	[ "DELETE FROM key WHERE id <@ $day", qr/^DELETE FROM public\.key WHERE ctid = \$1$/, qr/^DELETE .*<@/ ],
	[ q{SELECT n FROM key WHERE id <@ tstzrange(now() - interval '1000 days', now())}, qr/^(?!.*WHERE)/, qr/WHERE \(public\.$filter\)$/ ],
	[ "EXECUTE asked($day)", qr/^(?!.*WHERE)/,
		qr/WHERE (?=.*comb_range_min\(\$1)(?=.*comb_range_max\(\$1).*<@/ ],
	[ "EXECUTE asked_parted($day)", qr/^nothing/, qr/^nothing/ ]);
like(sent($_->[0]), $_->[1], $_->[0]) foreach @statements;
query(q{ALTER SERVER far OPTIONS (ADD extensions 'pg_comb')});
like(error_of($node, 'postgres', "SELECT count(*) FROM key WHERE id <@ $day"),
	qr/operator does not exist: uuid public\.<@|type "public\.comb_period" does not exist/, 'the option without the extension there is an error');
$node->safe_psql('far', 'CREATE EXTENSION pg_comb');
like(sent($_->[0]), $_->[2], "with the option: $_->[0]") foreach @statements;

# Nobody enforces the CHECK of a foreign table, so rows are in the order of their times only if these are compared.
query(q{
CREATE FOREIGN TABLE checked (id uuid NOT NULL, CHECK (id <@ '[2000-01-01,2100-01-01)')) SERVER far OPTIONS (table_name 'key');
CREATE TABLE grown (id uuid NOT NULL, CHECK (id <@ '[2000-01-01,2100-01-01)')) PARTITION BY RANGE (id);
CREATE TABLE grown_1 PARTITION OF grown FOR VALUES FROM (comb_min('2026-01-01')) TO (comb_min('2026-02-01')) PARTITION BY RANGE (id);
CREATE INDEX ON grown (id)});
sub order_of { return query("EXPLAIN (COSTS OFF, VERBOSE) SELECT FROM $_[0] ORDER BY comb_timestamp(id) LIMIT 1"); }
unlike(order_of('grown'), qr/comb_timestamp/, 'a CHECK of tables that are here');
query(q{CREATE FOREIGN TABLE far_away PARTITION OF grown_1 DEFAULT SERVER far OPTIONS (table_name 'key')});
like(order_of($_), qr/comb_timestamp/, "a CHECK of a foreign table: $_") foreach 'checked', 'grown';

done_testing();
