# A database moves in from SQL Server, keeps or converts its keys, and moves back.
# The test uses real keys, and adds enough made keys that every table has some
# pages.
#
# test/data/mssql holds one database twice, in SQL Server's order: with the keys as
# text, and with the bytes of CAST(Id AS binary(16)).  The keys of customers are
# from the README of Zaabee's SequentialGuid.  The keys and times of messages are
# from the documentation of NServiceBus and from the tests of NHibernate and
# Bitwarden.  One order's key is RT.Comb's.  The other orders have published
# NEWID() values with RT.Comb's time.
use lib 'test/perl';
use CombTest;
use Cwd qw(getcwd);

my $data = getcwd() . '/test/data/mssql';
my %columns = (customers => [qw(id name)], orders => [qw(id customer_id placed)], messages => [qw(id order_id sent)]);
my %layouts = (customers => 'sequential_end', orders => 'rtcomb_sql', messages => 'nhibernate');

my $node = server('migration', sql => 'CREATE EXTENSION pg_comb; CREATE EXTENSION amcheck');

sub query { return $node->safe_psql('postgres', $_[0]); }

# The keys of a dump, in its order
sub keys_of
{
	my ($file) = @_;
	my (undef, @rows) = split /\n/, slurp_file("$data/$file.csv");
	return map { lc((split /,/)[0]) } @rows;
}

#
# Load the text, and the hex digits of the bytes
#
query(q{
CREATE TABLE customers (id uuid NOT NULL, name text);
CREATE TABLE orders (id uuid NOT NULL, customer_id uuid NOT NULL, placed timestamp);
CREATE TABLE messages (id uuid NOT NULL, order_id uuid NOT NULL, sent timestamp);
});

foreach my $table (sort keys %columns)
{
	my @keys = grep { /id$/ } @{ $columns{$table} };
	my $others = join('', map { ", $_" } grep { !/id$/ } @{ $columns{$table} });
	my $swapped = join(', ', map { "comb_guid_swap(substr($_, 3)::uuid)" } @keys) . $others;

	query("COPY $table FROM '$data/$table.csv' (FORMAT csv, HEADER)");
	my $loaded = query("SELECT count(*) FROM $table");
	is($loaded, scalar(keys_of($table)), "$table: text loaded");

	query("CREATE TABLE raw AS SELECT * FROM $table LIMIT 0");
	query("ALTER TABLE raw ALTER $_ TYPE text") foreach @keys;
	query("COPY raw FROM '$data/${table}_binary.csv' (FORMAT csv, HEADER)");
	is(query("SELECT count(*) FROM (SELECT $swapped FROM raw INTERSECT SELECT * FROM $table) s"),
		$loaded, "$table: digits of the bytes, swapped, are the text");
	is(query("SELECT count(*) FROM raw JOIN $table ON substr(raw.id, 3)::uuid = $table.id"),
		'0', "$table: and are not without swapping");
	query('DROP TABLE raw');

	# SQL Server's order gives the ranks of the file
	is( query("SELECT string_agg(id::text, ' ' ORDER BY id USING #<#) FROM $table"),
		join(' ', keys_of($table)),
		"$table: in the order of the dump");
}
is( query(q{SELECT count(*) FROM orders WHERE comb_timestamp(id, 'rtcomb_sql') = placed AT TIME ZONE 'UTC'}),
	query('SELECT count(*) FROM orders'),
	'orders: the times of the keys are those of the rows');

# The key and the sent header are two readings of the clock, with different
# resolutions.  In the published messages the header is 0 to 12.6 ms after the key.
is( query(
		q{SELECT count(*) FROM messages
		  WHERE sent AT TIME ZONE 'UTC' - comb_timestamp(id, 'nhibernate') NOT BETWEEN '0 ms' AND '13 ms'}),
	'0',
	'messages: the times of the keys are those of the rows');

# Add rows: a third of the keys has the time of another key
query(q{
INSERT INTO customers SELECT comb_at('2013-01-01Z'::timestamptz + i / 3 * interval '1 hour', 'sequential_end'), i
FROM generate_series(1, 500) i;
INSERT INTO orders SELECT comb_at('2013-06-01Z'::timestamptz + i / 3 * interval '7 min', 'rtcomb_sql'), c.id
FROM generate_series(1, 5000) i JOIN customers c ON name = (1 + i % 500)::text;
INSERT INTO messages SELECT comb_at('2014-01-01Z'::timestamptz + row_number() OVER () * interval '1 min', 'nhibernate'), o.id
FROM orders o, generate_series(1, 2);
});

# The whole content in one line, and the queries of an application
my $content = join(' || ', map { "(SELECT md5(string_agg(t::text, ' ' ORDER BY id)) FROM $_ t)" } sort keys %columns);
my $answers = q{
SELECT count(*), count(DISTINCT c.name), md5(string_agg(c.name || coalesce(placed::text, ''), ' '
       ORDER BY c.name, placed, m.id))
FROM customers c JOIN orders o ON o.customer_id = c.id JOIN messages m ON m.order_id = o.id};
my $original = query("SELECT $content");
my $answer = query($answers);

#
# Keep the keys
#
query(q{
CREATE UNIQUE INDEX customers_id ON customers (id comb_mssql_ops);
CREATE UNIQUE INDEX orders_id ON orders (id comb_mssql_ops);
CREATE UNIQUE INDEX messages_id ON messages (id comb_mssql_ops);
ALTER TABLE orders ADD CONSTRAINT orders_fk FOREIGN KEY (customer_id) REFERENCES customers (id);
ALTER TABLE messages ADD CONSTRAINT messages_fk FOREIGN KEY (order_id) REFERENCES orders (id);
CREATE INDEX messages_order_id ON messages (order_id comb_mssql_ops);
VACUUM ANALYZE;
});
my ($count, $plain) = split /\|/,
  query(
	q{SELECT count(*), (SELECT count(*) FROM orders WHERE comb_timestamp(id, 'rtcomb_sql') >= '2013-06-05Z'
	                    AND comb_timestamp(id, 'rtcomb_sql') < '2013-06-06Z')
	  FROM orders WHERE id #>=# comb_min('2013-06-05Z', 'rtcomb_sql') AND id #<# comb_min('2013-06-06Z', 'rtcomb_sql')});
is($count, $plain, 'kept: a range of keys is a range of times');
cmp_ok($count, '>', 0, 'kept: with rows in it');
like(
	query(
		q{EXPLAIN SELECT * FROM orders WHERE id #>=# comb_min('2013-06-05Z', 'rtcomb_sql')
		  AND id #<# comb_min('2013-06-06Z', 'rtcomb_sql') ORDER BY id USING #<# LIMIT 10}),
	qr/Index Scan using orders_id/,
	'kept: which the index answers, in order');
foreach my $table (sort keys %columns)
{
	is(query("SELECT bool_and(comb_generate('$layouts{$table}') #># id) FROM $table"), 't', "kept: a new key of $table comes after all others");
}
is( query(
		q{SELECT count(bt_index_parent_check(indexrelid, true)) FROM pg_index WHERE indrelid IN
		  ('customers'::regclass, 'orders'::regclass, 'messages'::regclass)}),
	'4',
	'kept: indexes are sound');

#
# Convert and go back: every table that holds a key, in one pass
#
sub convert
{
	my ($c, $c_to, $o, $o_to) = @_;
	query(
		qq{
BEGIN;
ALTER TABLE orders DROP CONSTRAINT orders_fk;
ALTER TABLE messages DROP CONSTRAINT messages_fk;
ALTER TABLE customers ALTER id TYPE uuid USING comb_convert(id, '$c', '$c_to');
ALTER TABLE orders ALTER id TYPE uuid USING comb_convert(id, '$o', '$o_to'),
	ALTER customer_id TYPE uuid USING comb_convert(customer_id, '$c', '$c_to');
ALTER TABLE messages ALTER order_id TYPE uuid USING comb_convert(order_id, '$o', '$o_to');
ALTER TABLE orders ADD CONSTRAINT orders_fk FOREIGN KEY (customer_id) REFERENCES customers (id);
ALTER TABLE messages ADD CONSTRAINT messages_fk FOREIGN KEY (order_id) REFERENCES orders (id);
COMMIT;
});
	return;
}

my $times = query(q{SELECT md5(string_agg(comb_timestamp(id, 'rtcomb_sql')::text, ' ' ORDER BY id USING #<#)) FROM orders});
foreach my $to ('uuidv7', 'rtcomb_postgresql')
{
	convert('sequential_end', 'sequential_string', 'rtcomb_sql', $to);
	isnt(query("SELECT $content"), $original, "$to: keys are others");
	is(query($answers), $answer, "$to: same answers");
	is(query("SELECT md5(string_agg(comb_timestamp(id, '$to')::text, ' ' ORDER BY id)) FROM orders"),
		$times, "$to: same times, now in plain order");
	is( query(q{SELECT bool_and(a <= b) FROM (SELECT placed AS a, lead(placed) OVER (ORDER BY id) AS b
	            FROM orders WHERE placed IS NOT NULL) s WHERE b IS NOT NULL}),
		't',
		"$to: plain order is that of the rows' own times");
	convert('sequential_string', 'sequential_end', $to, 'rtcomb_sql');
	is(query("SELECT $content"), $original, "$to: and back, bit by bit");
}

# A key without a time stops the pass, and nothing changes
query(q{ALTER TABLE messages DROP CONSTRAINT messages_fk;
        INSERT INTO messages SELECT 'c2eb258a-147f-4f26-97d7-0000f053cca8', order_id FROM messages LIMIT 1});
my ($status, undef, $stderr) = $node->psql('postgres',
	q{ALTER TABLE messages ALTER id TYPE uuid USING comb_convert(id, 'nhibernate', 'uuidv7')});
isnt($status, 0, 'a key without a time cannot be converted');
like($stderr, qr/column "id" of relation "messages" contains null values/, 'and the error says which column');
query(q{DELETE FROM messages WHERE id = 'c2eb258a-147f-4f26-97d7-0000f053cca8'});
is(query("SELECT $content"), $original, 'nothing else happened');

done_testing();
