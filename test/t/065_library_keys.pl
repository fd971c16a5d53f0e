# The recipe of dotnet.md that converts keys of Laravel and of PyPI's uuid7, as it stands
# there, on tables of 100,000 rows with foreign keys, beside UUIDv7 of the libraries' newer
# versions.
use lib 'test/perl';
use CombTest;

my $node = server('main', conf => "fsync = off\ntimezone = 'UTC'\n");
my ($section) = slurp_file('doc/dotnet.md') =~ /^## Laravel\n(.*?)^## /ms;
my ($tables, $conversion) = $section =~ /^```sql\n(.*?)(^BEGIN;\n.*?)^```/ms;

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
