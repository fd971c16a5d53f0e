# A database moves in from SQL Server, keeps or converts its keys, and moves back.
# The test uses real keys, and adds enough made keys that every table has some
# pages.
#
# test/data/mssql holds a database in SQL Server's order.  The keys of customers are from
# the README of Zaabee's SequentialGuid.  The keys and times of messages are from the
# documentation of NServiceBus and from the tests of NHibernate and Bitwarden.  One order's
# key is RT.Comb's.  The other orders have published NEWID() values with RT.Comb's time.
use lib 'test/perl';
use CombTest;
use Cwd qw(getcwd);

my $data = getcwd() . '/test/data/mssql';
my %layouts = (customers => 'sequential_end', orders => 'rtcomb_sql', messages => 'nhibernate');
my $node = server('migration', conf => "timezone = 'UTC'\n", sql => q{
	CREATE EXTENSION pg_comb;
	CREATE TABLE customers (id uuid NOT NULL, name text);
	CREATE TABLE orders (id uuid NOT NULL, customer_id uuid NOT NULL, placed timestamp);
	CREATE TABLE messages (id uuid NOT NULL, order_id uuid NOT NULL, sent timestamp)});

sub query { return $node->safe_psql('postgres', $_[0]); }

foreach my $table (sort keys %layouts)
{
	query("COPY $table FROM '$data/$table.csv' (FORMAT csv, HEADER)");
	my (undef, @rows) = split /\n/, slurp_file("$data/$table.csv");
	is( query("SELECT string_agg(id::text, ' ' ORDER BY id USING #<#) FROM $table"),
		join(' ', map { lc((split /,/)[0]) } @rows),
		"$table: in the order of the dump");
}

# The key and the sent header are two readings of the clock, with different
# resolutions.  In the published messages the header is 0 to 12.6 ms after the key.
is( query(q{
	SELECT count(*) FROM orders WHERE comb_timestamp(id, 'rtcomb_sql') IS DISTINCT FROM placed AT TIME ZONE 'UTC';
	SELECT count(*) FROM messages
	WHERE (sent AT TIME ZONE 'UTC' - comb_timestamp(id, 'nhibernate') BETWEEN '0 ms' AND '13 ms') IS NOT TRUE}),
	"0\n0", 'the times of the keys are those of the rows');

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
my $content = join(' || ', map { "(SELECT md5(string_agg(t::text, ' ' ORDER BY id)) FROM $_ t)" } sort keys %layouts);
my $answers = q{
SELECT count(*), count(DISTINCT c.name), md5(string_agg(c.name || coalesce(placed::text, ''), ' '
       ORDER BY c.name, placed, m.id))
FROM customers c JOIN orders o ON o.customer_id = c.id JOIN messages m ON m.order_id = o.id};
my $original = query("SELECT $content");
my $answer = query($answers);

#
# Keep the keys
#
my $references = q{
ALTER TABLE orders ADD CONSTRAINT orders_fk FOREIGN KEY (customer_id) REFERENCES customers (id);
ALTER TABLE messages ADD CONSTRAINT messages_fk FOREIGN KEY (order_id) REFERENCES orders (id);
};
query("CREATE UNIQUE INDEX ${_}_id ON $_ (id comb_mssql_ops)") foreach sort keys %layouts;
query("$references ANALYZE");
my ($count, $plain) = ask($node, 'postgres', q{
	SELECT count(*), (SELECT count(*) FROM orders WHERE comb_timestamp(id, 'rtcomb_sql') >= '2013-06-05Z'
	                  AND comb_timestamp(id, 'rtcomb_sql') < '2013-06-06Z')
	FROM orders WHERE id #>=# comb_min('2013-06-05Z', 'rtcomb_sql') AND id #<# comb_min('2013-06-06Z', 'rtcomb_sql')});
ok($count == $plain && $count > 0, 'kept: a range of keys is a range of times');
is(query("SELECT bool_and(comb_generate('$layouts{$_}') #># id) FROM $_"), 't', "kept: a new key of $_ comes after all others")
  foreach sort keys %layouts;

#
# Convert and go back: every table that holds a key, in one pass
#
sub convert
{
	my ($c, $c_to, $o, $o_to) = @_;
	return query(qq{
BEGIN;
ALTER TABLE orders DROP CONSTRAINT orders_fk;
ALTER TABLE messages DROP CONSTRAINT messages_fk;
ALTER TABLE customers ALTER id TYPE uuid USING comb_convert(id, '$c', '$c_to');
ALTER TABLE orders ALTER id TYPE uuid USING comb_convert(id, '$o', '$o_to'),
	ALTER customer_id TYPE uuid USING comb_convert(customer_id, '$c', '$c_to');
ALTER TABLE messages ALTER order_id TYPE uuid USING comb_convert(order_id, '$o', '$o_to');
$references
COMMIT});
}

my $times = query(q{SELECT md5(string_agg(comb_timestamp(id, 'rtcomb_sql')::text, ' ' ORDER BY id USING #<#)) FROM orders});
foreach my $to ('uuidv7', 'rtcomb_postgresql')
{
	convert('sequential_end', 'sequential_string', 'rtcomb_sql', $to);
	is(query($answers), $answer, "$to: same answers");
	is(query("SELECT md5(string_agg(comb_timestamp(id, '$to')::text, ' ' ORDER BY id)) FROM orders"),
		$times, "$to: same times, now in plain order");
	convert('sequential_string', 'sequential_end', $to, 'rtcomb_sql');
	is(query("SELECT $content"), $original, "$to: and back, bit by bit");
}

# A key without a time stops the pass
query(q{ALTER TABLE messages DROP CONSTRAINT messages_fk;
        INSERT INTO messages SELECT 'c2eb258a-147f-4f26-97d7-0000f053cca8', order_id FROM messages LIMIT 1});
like(error_of($node, 'postgres', q{ALTER TABLE messages ALTER id TYPE uuid USING comb_convert(id, 'nhibernate', 'uuidv7')}),
	qr/column "id" of relation "messages" contains null values/, 'a key without a time cannot be converted, and the error says which column');

my ($section) = slurp_file('doc/libraries.md') =~ /^## Laravel\n(.*?)^## /ms;
my ($tables, $conversion) = $section =~ /^```sql\n(.*?)(^BEGIN;\n.*?)^```/ms;

# The recipe of libraries.md that converts keys of Laravel and of PyPI's uuid7, as it stands there, on tables of
# 100,000 rows with foreign keys, beside UUIDv7 of the libraries' newer versions
foreach my $layout ('laravel', 'uuid7_pypi')
{
	$node->safe_psql('postgres', "CREATE DATABASE $layout");
	my $sql = sub { return $node->safe_psql($layout, $_[0]) };
	$sql->("CREATE EXTENSION pg_comb; $tables");
	$sql->(q{DELETE FROM author});

	# Three keys a unit of time, in order as the library makes them, and 1,000 new UUIDv7
	$sql->(qq{
		CREATE TABLE made AS
		SELECT n, comb_stamp(('000000000000@{[ $layout eq 'laravel' ? 4 : 7 ]}0008' || lpad(to_hex(n), 7, '0') || '00000000')::uuid,
			timestamptz '2026-11-20' + n / 3 * interval '250 us', '$layout') AS id
		FROM generate_series(1, 100000) n;
		INSERT INTO made SELECT 100000 + n, comb_at(timestamptz '2026-11-27' + n * interval '1 ms') FROM generate_series(1, 1000) n;
		INSERT INTO author SELECT id, n FROM made;
		INSERT INTO book SELECT id FROM made});
	is($sql->(q{SELECT name::int > 100000 FROM author ORDER BY id DESC LIMIT 1}), 'f', "$layout: the newest row is an old one");
	(my $statements = $conversion) =~ s/'laravel'/'$layout'/g;
	$sql->($statements);

	is($sql->(q{SELECT count(*), count(DISTINCT author.id) FROM author JOIN book ON author_id = author.id}),
		'101000|101000', 'each row still refers to its own');
	is($sql->(q{SELECT count(*) FROM (SELECT id <= lag(id) OVER (ORDER BY name::int) AS back FROM author) a WHERE back}),
		'0', 'the keys have the order in which they were made, and the new ones are the newest');
	is($sql->(qq{SELECT count(*) FROM made JOIN author ON name::int = n WHERE author.id IS DISTINCT FROM
			CASE WHEN n > 100000 THEN made.id ELSE comb_convert(made.id, '$layout', 'uuidv7') END}),
		'0', 'UUIDv7 stay as they are');
	is($sql->(qq{SELECT count(*) FROM made JOIN author ON name::int = n WHERE n <= 100000 AND comb_timestamp(author.id)
			IS DISTINCT FROM date_trunc('milliseconds', comb_timestamp(made.id, '$layout'))}),
		'0', 'the times are the same to the millisecond');
}

done_testing();
