# pg_comb is removed without CASCADE, by the list of doc/administration.md, from a database
# that uses it in every way that the pages show.  All rows stay.
use lib 'test/perl';
use CombTest;
use CombFeed;

my $use = q{
	CREATE EXTENSION pg_comb_ordered CASCADE;
	CREATE TABLE customers (id uuid NOT NULL, name text);
	CREATE UNIQUE INDEX customers_id ON customers (id comb_mssql_ops);
	INSERT INTO customers SELECT comb_at('2026-11-01Z'::timestamptz + n * interval '1 h', 'rtcomb_sql'), n FROM generate_series(1, 100) AS n;
	CREATE TABLE orders (id uuid NOT NULL, customer_id uuid NOT NULL, note text) PARTITION BY RANGE (id comb_mssql_ops);
	CREATE TABLE orders_11 PARTITION OF orders
		FOR VALUES FROM (comb_min('2026-11-01Z', 'rtcomb_sql')) TO (comb_min('2026-12-01Z', 'rtcomb_sql'));
	INSERT INTO orders SELECT id, id, name FROM customers;
	ALTER TABLE orders ADD FOREIGN KEY (customer_id) REFERENCES customers (id);
	CREATE TABLE event (id uuid PRIMARY KEY DEFAULT comb_generate(), number bigint DEFAULT comb_snowflake(instance_bits => 0),
		day date GENERATED ALWAYS AS ((comb_timestamp(id) AT TIME ZONE 'UTC')::date) STORED, period comb_period,
		CONSTRAINT recent CHECK (id <@ tstzrange('2026-01-01Z', NULL)));
	INSERT INTO event (id, period) SELECT comb_at('2026-11-01Z'::timestamptz + n * interval '1 h'), '[2026-11-01,2026-11-02)' FROM generate_series(1, 100) AS n;
	CREATE INDEX event_day ON event (date_trunc('day', comb_timestamp(id) AT TIME ZONE 'UTC'));
	CREATE TABLE outbox (id uuid PRIMARY KEY DEFAULT comb_generate_ordered(), body text);
	INSERT INTO outbox (body) SELECT n FROM generate_series(1, 100) AS n;
	ALTER TABLE outbox ENABLE ROW LEVEL SECURITY;
	CREATE POLICY recent ON outbox USING (id <@ tstzrange('2026-01-01Z', NULL));
	CREATE VIEW settled AS SELECT * FROM outbox WHERE id < comb_settled();
	CREATE FUNCTION next_id() RETURNS bigint LANGUAGE sql RETURN comb_snowflake(instance_bits => 0);
	CREATE TABLE ticket (id bigint DEFAULT next_id());
	CREATE VIEW latest AS SELECT max(body) AS body FROM settled;
	CREATE MATERIALIZED VIEW kept AS SELECT body FROM latest;
	CREATE VIEW part AS SELECT id FROM orders_11;
	CREATE VIEW periods AS SELECT period FROM event;
	CREATE VIEW days AS SELECT day FROM event;
	CREATE FUNCTION settled_id() RETURNS uuid STABLE LANGUAGE sql AS 'SELECT comb_settled()';
	CREATE FUNCTION quiet() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
	CREATE TRIGGER old BEFORE UPDATE ON event FOR EACH ROW
		WHEN (comb_timestamp(OLD.id) < '2026-11-02Z') EXECUTE FUNCTION quiet()};

my @dependents = (
	'constraint orders_customer_id_fkey on table orders',
	'constraint orders_customer_id_fkey on table orders_11',
	'constraint recent on table event',
	'default value for column day of table event',
	'default value for column id of table event',
	'default value for column id of table outbox',
	'default value for column number of table event',
	'default value for column id of table ticket',
	'column period of table event',
	'column period of view periods',
	'function next_id()',
	'index customers_id',
	'index event_day',
	'materialized view kept',
	'policy recent on table outbox',
	'table orders',
	'text of function settled_id()',
	'trigger old on table event',
	(map { "view $_" } qw(latest part periods settled)));

# What the table of the page says
my $remove = q{
	DROP VIEW part;
	CREATE TABLE new (LIKE orders);
	INSERT INTO new SELECT * FROM orders;
	DROP TABLE orders;
	ALTER TABLE new RENAME TO orders;
	DROP INDEX customers_id;
	ALTER TABLE customers ADD PRIMARY KEY (id);
	ALTER TABLE orders ADD FOREIGN KEY (customer_id) REFERENCES customers (id);
	DROP TRIGGER old ON event;
	DROP INDEX event_day;
	DROP VIEW periods;
	ALTER TABLE event ALTER id SET DEFAULT gen_random_uuid(), ALTER number DROP DEFAULT,
		ALTER day DROP EXPRESSION, ALTER period TYPE tstzrange, DROP CONSTRAINT recent;
	ALTER TABLE outbox ALTER id DROP DEFAULT;
	DROP POLICY recent ON outbox;
	DROP MATERIALIZED VIEW kept;
	DROP VIEW latest;
	DROP VIEW settled;
	ALTER TABLE ticket ALTER id DROP DEFAULT;
	DROP FUNCTION next_id(), settled_id()};

my $node = server('main', sql => $use);
my $rows = join(' UNION ALL ', map { "SELECT '$_', count(*), md5(string_agg(t::text, ' ' ORDER BY id)) FROM $_ AS t" }
	qw(customers event orders outbox));
my $before = $node->safe_psql('postgres', $rows);
my $drop = 'DROP EXTENSION pg_comb_ordered, pg_comb';

is($node->safe_psql('postgres', recipe('dependents')), join("\n", sort @dependents), 'the list has all that depends');
like(error_of($node, 'postgres', $drop), qr/because other objects depend on/, 'the extension cannot be dropped meanwhile');
$node->safe_psql('postgres', "CREATE DATABASE cascade TEMPLATE postgres");
$node->safe_psql('cascade', "$drop CASCADE");
is($node->safe_psql('cascade', q{SELECT to_regclass('orders') IS NULL, to_regclass('orders_11') IS NULL,
	(SELECT count(*) FROM information_schema.columns WHERE table_name = 'event')}), 't|t|2',
	'CASCADE drops the partitioned table with its rows, and columns');

$node->safe_psql('postgres', $remove);
is($node->safe_psql('postgres', recipe('dependents')), '', 'then the list is empty');
$node->safe_psql('postgres', $drop);
is($node->safe_psql('postgres', $rows), $before, 'without CASCADE all rows are there');
is($node->safe_psql('postgres', q{SELECT count(*) FROM pg_proc WHERE prosrc LIKE '%comb\_%' OR proname LIKE 'comb\_%'}), 0,
	'and nothing of pg_comb');

done_testing();
