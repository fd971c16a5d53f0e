# A database that uses keys wherever a database can, for tests that copy it: a dump,
# and pg_upgrade from version to version.
package CombShop;

use strict;
use warnings;

use Exporter 'import';
use Test::More;

our @EXPORT = qw(fill goes_on indexes_are_whole digest uses_indexes);

# The extension is in a schema that is on nobody's search_path: pg_dump and pg_upgrade
# restore with none.
my $fill = q{
	CREATE SCHEMA keys;
	CREATE EXTENSION pg_comb SCHEMA keys;
	CREATE EXTENSION pg_comb_ordered SCHEMA keys;
	CREATE EXTENSION amcheck;
	CREATE TABLE orders (
		id uuid PRIMARY KEY DEFAULT keys.comb_generate(),
		server int NOT NULL,
		created timestamptz GENERATED ALWAYS AS (keys.comb_timestamp(id)) STORED,
		CHECK (id >= keys.comb_min('2020-01-01 00:00:00+00')));
	CREATE INDEX orders_created ON orders (keys.comb_timestamp(id));
	CREATE INDEX orders_january ON orders (server)
		WHERE keys.comb_during(id, '2025-01-01 00:00:00+00', '2025-02-01 00:00:00+00');
	CREATE VIEW january AS
		SELECT id FROM orders WHERE keys.comb_during(id, '2025-01-01 00:00:00+00', '2025-02-01 00:00:00+00')
		UNION SELECT id FROM orders WHERE keys.comb_created(id, '[2025-01-01 00:00:00+00, 2025-02-01 00:00:00+00)');
	CREATE TABLE sales (
		id uuid NOT NULL DEFAULT keys.comb_generate('rtcomb_sql'),
		server int NOT NULL,
		made_by text NOT NULL DEFAULT 'rtcomb_sql',
		CHECK (keys.comb_timestamp(id, made_by) > '2000-01-01 00:00:00+00'));
	CREATE UNIQUE INDEX sales_order ON sales (id keys.comb_mssql_ops);
	ALTER TABLE sales REPLICA IDENTITY USING INDEX sales_order;
	CREATE INDEX sales_created ON sales (keys.comb_timestamp(id, 'rtcomb_sql'));
	CREATE INDEX sales_made_by ON sales (made_by, keys.comb_timestamp(id, made_by));
	CREATE INDEX sales_plain ON sales (keys.comb_convert(id, 'rtcomb_sql', 'uuidv7'));
	CREATE INDEX sales_2026 ON sales (server)
		WHERE id OPERATOR(keys.#>=#) keys.comb_min('2026-01-01 00:00:00+00', 'rtcomb_sql');
	CREATE TABLE events (id uuid DEFAULT keys.comb_generate('rtcomb_sql'), server int)
		PARTITION BY RANGE (id keys.comb_mssql_ops);
	CREATE TABLE events_before PARTITION OF events
		FOR VALUES FROM (MINVALUE) TO (keys.comb_min('2026-01-01 00:00:00+00', 'rtcomb_sql'));
	CREATE TABLE events_after PARTITION OF events
		FOR VALUES FROM (keys.comb_min('2026-01-01 00:00:00+00', 'rtcomb_sql')) TO (MAXVALUE);
	CREATE TABLE tickets (
		id uuid PRIMARY KEY DEFAULT keys.comb_generate_ordered(),
		number bigint UNIQUE DEFAULT keys.comb_snowflake(),
		server int NOT NULL);
	CREATE TABLE lines (sale uuid REFERENCES sales (id), line int);
	CREATE INDEX lines_sale ON lines (sale keys.comb_mssql_ops, line);
	CREATE INDEX sales_brin ON sales USING brin (keys.comb_mssql_key(id));
	CREATE VIEW inspected AS
		SELECT s.id, i.layout, i.created FROM sales s, keys.comb_inspect(s.id, '2000-01-01 00:00:00+00') i;
	CREATE FUNCTION placed() RETURNS uuid LANGUAGE sql AS
		'INSERT INTO public.orders (server) VALUES (0) RETURNING id';
	CREATE VIEW recent AS SELECT id, server FROM orders
		WHERE id > keys.comb_max('2026-01-01 00:00:00+00')
		ORDER BY id USING OPERATOR(keys.#>#);
	INSERT INTO orders (id, server) SELECT keys.comb_at('2025-01-01 00:00:00+00'::timestamptz + n * interval '1 hour'), 0
		FROM generate_series(1, 2000) n;
	INSERT INTO sales (id, server) SELECT keys.comb_at(keys.comb_timestamp(id), 'rtcomb_sql'), 0 FROM orders;
	INSERT INTO events (id, server) SELECT id, 0 FROM sales;
	INSERT INTO lines SELECT id, 1 FROM sales;
	-- as if the clock had been set back by five hours since then
	SELECT setval('comb_internal.comb_lease_' || series, (extract(epoch FROM now() + interval '5 hours') * 1000000)::bigint)
		FROM unnest('{ordered,snowflake}'::text[]) AS series;
	INSERT INTO tickets (server) SELECT 0 FROM generate_series(1, 500);
	ANALYZE};

# Create the database.  The extensions have a version, or their newest one.
sub fill
{
	my ($node, $database, $version) = @_;
	$node->safe_psql('postgres', "CREATE DATABASE $database");
	$node->safe_psql($database, defined $version ? $fill =~ s/(EXTENSION pg_comb\w*)/$1 VERSION '$version'/gr : $fill);
	return;
}

# New rows by the defaults come after all others.
sub goes_on
{
	my ($node, $database, $server) = @_;
	is( $node->safe_psql($database, qq{
		WITH latest AS (SELECT max(id::text) AS id FROM orders),
			made AS (INSERT INTO orders (server) SELECT $server FROM generate_series(1, 500) RETURNING id)
		SELECT bool_and(made.id > latest.id::uuid) FROM made, latest;
		WITH latest AS (SELECT id FROM sales ORDER BY keys.comb_mssql_key(id) DESC LIMIT 1),
			made AS (INSERT INTO sales (server) SELECT $server FROM generate_series(1, 500) RETURNING id)
		SELECT bool_and(made.id OPERATOR(keys.#>#) latest.id) FROM made, latest;
		WITH latest AS (SELECT max(id::text) AS id, max(number) AS number FROM tickets),
			made AS (INSERT INTO tickets (server) SELECT $server FROM generate_series(1, 500) RETURNING id, number)
		SELECT bool_and(made.id > latest.id::uuid AND made.number > latest.number) FROM made, latest;
		INSERT INTO events (server) SELECT $server FROM generate_series(1, 500);
		SELECT string_agg(DISTINCT tableoid::regclass::text, ' ') FROM events WHERE server = $server}),
		"t\nt\nt\nevents_after", "$server: new keys come after all others");
	return;
}

# bt_index_check() fails if an index is not in its order or misses a row.
sub indexes_are_whole
{
	my ($node, $database, $name) = @_;
	is( $node->safe_psql($database, q{
		SELECT count(*) FILTER (WHERE bt_index_check(indexrelid, true)::text = '')
		FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid JOIN pg_am ON pg_am.oid = relam
		WHERE indrelid IN ('orders'::regclass, 'sales'::regclass, 'tickets'::regclass, 'lines'::regclass) AND amname = 'btree' AND indisvalid}),
		11, "$name: the indexes are whole");
	return;
}

# All rows, and what functions and views make of them
sub digest
{
	my ($node, $database) = @_;
	my $rows = join('', map { "SELECT md5(string_agg(t::text, ',' ORDER BY id)) FROM $_ t;" } qw(orders sales tickets january));
	return $node->safe_psql($database, $rows . q{
		SELECT md5(string_agg(tableoid::regclass || events::text, ',' ORDER BY id)) FROM events;
		SELECT md5(string_agg(recent::text, ',')) FROM recent;
		SELECT layout, count(*) FROM inspected GROUP BY layout ORDER BY layout;
		SELECT count(*) FROM lines JOIN sales ON id = sale});
}

# Queries with the index or partition that answers them, and the answer.  743 are the hours
# of January 2025 but the first.
my $february = "'2025-02-01 00:00:00+00'";
my @queries = (
	[ sales_order => 't', q{SELECT bool_and(rises) FROM (SELECT keys.comb_mssql_key(id) >
		lag(keys.comb_mssql_key(id)) OVER (ORDER BY id USING OPERATOR(keys.#<#)) AS rises FROM sales) s} ],
	[ sales_created => 743, "SELECT count(server) FROM
		(SELECT server FROM sales WHERE keys.comb_timestamp(id, 'rtcomb_sql') < $february ORDER BY keys.comb_timestamp(id, 'rtcomb_sql') OFFSET 0) s" ],
	[ sales_made_by => 743,
		"SELECT count(server) FROM sales WHERE made_by = 'rtcomb_sql' AND keys.comb_timestamp(id, made_by) < $february" ],
	[ orders_created => 743, "SELECT count(server) FROM
		(SELECT server FROM orders WHERE keys.comb_timestamp(id) < $february ORDER BY keys.comb_timestamp(id) OFFSET 0) s" ],
	[ orders_january => 743,
		"SELECT count(*) FROM orders WHERE keys.comb_during(id, '2025-01-01 00:00:00+00', $february) AND server = 0" ],
	[ events_before => 743,
		"SELECT count(*) FROM events WHERE id OPERATOR(keys.#<#) keys.comb_min($february, 'rtcomb_sql')" ]);

sub uses_indexes
{
	my ($node, $database, $name) = @_;
	foreach (@queries)
	{
		my ($index, $answer, $query) = @$_;
		my $output = $node->safe_psql($database, "SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_sort = off;
			EXPLAIN (COSTS OFF) $query; $query");
		my ($scanned) = $output =~ /(?:Index (?:Only )?Scan using|Seq Scan on) (\w+)/;
		is("$scanned: " . $output =~ s/.*\n//sr, "$index: $answer", "$name: $index answers");
	}
	return;
}

1;
