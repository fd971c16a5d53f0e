# Old months on other servers, by postgres_fdw
#
# A table is partitioned by ranges of its keys.  This month's partition is local, and
# each of the two months before is a foreign table on a server of its own.
use lib 'test/perl';
use CombTest;

# The zone of all sessions and of the literals below
$ENV{PGTZ} = 'UTC';
my %node = map { $_ => server($_, conf => "fsync = off\nautovacuum = off\n") } ('main', 'september', 'october');
make_tables();

note "\nThe months of a table on three servers.  What the local server sends elsewhere:\n ";

my $week = "'[2026-09-14, 2026-09-21)'";
my $clock = "SELECT count(*) FROM event WHERE id <@ tstzrange(now() - interval '1000 days', now())";
my @plan = plan_of('a week of September', "SELECT n FROM event WHERE id <@ $week");
is(scalar(grep { /Foreign Scan/ } @plan), 1, 'a period reads its own server only');
like(remote(@plan), qr/WHERE \(\(id >= '[-0-9a-f]{36}'(::uuid)?\)\) AND \(\(id <= '[-0-9a-f]{36}'/, 'both bounds are sent, as plain comparisons');
is(main_sql("SELECT count(*) FROM event WHERE id <@ $week"), 7 * 24 * 60, 'and the answer is right');

@plan = plan_of('a period of November, local', "SELECT n FROM event WHERE id <@ '[2026-11-02, 2026-11-03)'");
is(remote(@plan), '', 'a period of this month asks nobody');

my $prepared = "SET plan_cache_mode = force_generic_plan; PREPARE asked(tstzrange) AS SELECT count(*) FROM event WHERE id <@ \$1;\n";
@plan = plan_of('the same with a parameter, in a generic plan', "EXECUTE asked($week)", $prepared);
is(scalar(grep { /Foreign Scan/ } @plan), 1, 'a parameter reads its own server only, too');
unlike(remote(@plan), qr/WHERE/, 'but nothing is sent: the server sends all of the month');
is(main_sql("${prepared}EXECUTE asked($week)"), 7 * 24 * 60, 'the answer is right');

unlike(remote(plan_of('the clock in the period', $clock)), qr/WHERE/, 'of a period with now() nothing is sent');
unlike(limited(), qr/LIMIT/, 'LIMIT runs here, after the check of the version');

# Keys and rows that the local server makes
main_sql("INSERT INTO event (n) VALUES (-1); INSERT INTO event SELECT comb_at('2026-10-31 23:59:59.999'), -2");
is(main_sql(q{SELECT string_agg(tableoid::regclass::text, ' ' ORDER BY n) FROM event WHERE n < 0}),
	'event_2026_10 event_now', 'the local server makes the keys, and each row goes to its month');
is($node{october}->safe_psql('postgres', 'SELECT count(*) FROM event WHERE n = -2'), '1', 'so there is one clock and one instance number');

#
# With the extension on the other servers
#
note "\nWith pg_comb on the other servers, and extensions 'pg_comb':\n ";
main_sql("ALTER SERVER $_ OPTIONS (ADD extensions 'pg_comb')") for ('september', 'october');
like(error_of($node{main}, 'postgres', "SELECT count(*) FROM event WHERE id <@ $week"),
	qr/function public\.comb_recheck\(uuid, tstzrange\) does not exist/, 'the option without the extension there is an error');
$node{$_}->safe_psql('postgres', 'CREATE EXTENSION pg_comb') for ('september', 'october');

@plan = plan_of('the parameter again', "EXECUTE asked($week)", $prepared);
like(remote(@plan), qr/WHERE (?=.*comb_range_min\(\$1)(?=.*comb_range_max\(\$1).*comb_recheck\(id, '\(,\)'::tstzrange\) OR \(\$1::tstzrange IS NULL\)/,
	'both bounds are sent, and the check of the version');
is(main_sql("${prepared}EXECUTE asked($week)"), 7 * 24 * 60, 'the answer is right');
like(remote(plan_of('the clock', $clock)), qr/^ *Remote SQL: SELECT id FROM public\.event WHERE \(public\.comb_recheck\(id, '\(,\)'::tstzrange\)\) /,
	'of a period with now() only the check of the version is sent');
like(limited(), qr/ LIMIT 5/, 'LIMIT is sent');
@plan = plan_of('retention', "DELETE FROM event_2026_09 WHERE id <@ '(, 2026-09-08)'");
like(join("\n", @plan), qr/Foreign Delete on/, 'a DELETE runs on the other server');
main_sql("DELETE FROM event WHERE id <@ '(, 2026-09-08)'");
is($node{september}->safe_psql('postgres', 'SELECT count(*) FROM event'), 23 * 24 * 60, 'and deletes the rows of the period');
done_testing();

sub main_sql { return $node{main}->safe_psql('postgres', $_[0]); }

# The tables on all servers, with a row a minute for the two months before
sub make_tables
{
	main_sql(q{
		CREATE EXTENSION pg_comb;
		CREATE EXTENSION postgres_fdw;
		CREATE TABLE event (id uuid NOT NULL DEFAULT comb_generate(), n int) PARTITION BY RANGE (id);
		CREATE TABLE event_now PARTITION OF event FOR VALUES FROM (comb_min('2026-11-01')) TO (MAXVALUE)});
	foreach ([ 'september', '2026_09', '2026-09-01' ], [ 'october', '2026_10', '2026-10-01' ])
	{
		my ($name, $suffix, $from) = @$_;
		my ($host, $port) = ($node{$name}->host, $node{$name}->port);
		$node{$name}->safe_psql('postgres', 'CREATE TABLE event (id uuid PRIMARY KEY, n int)');
		main_sql(qq{
			CREATE SERVER $name FOREIGN DATA WRAPPER postgres_fdw
				OPTIONS (host '$host', port '$port', dbname 'postgres', batch_size '1000', fetch_size '10000');
			CREATE USER MAPPING FOR CURRENT_USER SERVER $name;
			CREATE FOREIGN TABLE event_$suffix PARTITION OF event
				FOR VALUES FROM (comb_min('$from')) TO (comb_min('$from'::timestamptz + interval '1 month'))
				SERVER $name OPTIONS (table_name 'event')});
	}
	main_sql(q{
		INSERT INTO event SELECT comb_at('2026-09-01'::timestamptz + n * interval '1 min'), n
			FROM generate_series(0, 61 * 24 * 60 - 1) n});
	return;
}

# Show and return the plan of a statement
sub plan_of
{
	my ($title, $sql, $before) = @_;
	my @lines = split(/\n/, main_sql(($before // '') . "EXPLAIN (COSTS OFF, VERBOSE) $sql"));
	note "$title: $sql\n   " . (remote(@lines) =~ s/ +/ /r || '(no remote SQL)');
	return @lines;
}

sub remote { return join(' ', grep { /Remote SQL/ } @_); }

sub limited { return remote(plan_of('the first rows', "SELECT n FROM event_2026_09 WHERE id <@ $week LIMIT 5")); }
