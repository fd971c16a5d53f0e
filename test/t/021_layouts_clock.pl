# Layouts and the clock: the last unit of a day, the end of a layout's range, and a
# clock set back
#
# The server reads the clock through libfaketime, and libfaketime reads the time
# from a file.  The session itself writes this file: a shift, or a time at which
# the clock stands still.
use lib 'test/perl';
use CombTest;

need_faketime();

my $node = server('main', start => 0, conf => "autovacuum = off\ncheckpoint_timeout = 1d\ntimezone = 'UTC'\n");
my $clock = $node->data_dir . '/clock';
start_with_clock($node, $clock);
$node->safe_psql(
	'postgres', slurp_file('test/pgtap/include/in_order.sql') . qq{
	CREATE EXTENSION pg_comb_ordered CASCADE;
	@{[ clock_function($clock) ]}
	CREATE TABLE keys (layout text, n serial, id uuid, part text, PRIMARY KEY (layout, id));
	CREATE FUNCTION make(part text, keys int) RETURNS void LANGUAGE sql AS \$\$
		INSERT INTO keys (layout, id, part)
		SELECT layout, comb_generate(layout), part
		FROM (SELECT layout FROM generate_series(1, keys) n,
		      (SELECT layout, row_number() OVER () AS place FROM comb_layouts() WHERE generates) l
		      ORDER BY n, place OFFSET 0) l \$\$;
	CREATE FUNCTION disorder(parts text) RETURNS text LANGUAGE sql AS \$\$
		SELECT string_agg(DISTINCT layout, ' ')
		FROM (SELECT layout, k, lag(k) OVER (PARTITION BY layout ORDER BY n) AS before
		      FROM (SELECT layout, n, in_order(id, sorts_in) AS k
		            FROM keys JOIN comb_layouts() USING (layout) WHERE part ~ parts) ordered) lagged
		WHERE k <= before \$\$;
});

is( $node->safe_psql(
		'postgres', q{
		SELECT set_clock('2037-06-06 23:59:59.500000');
		SELECT clock_timestamp() = '2037-06-06 23:59:59.5';
		SELECT set_clock('+0') > '2037-06-07';
	}),
	"2037-06-06 23:59:59.5+00\nt\nf",
	'the session sets its own clock');

#
# The last unit of NHibernate's day is shorter than the other units.  A key made
# less than a unit later is already a key of the next day.
#
is( $node->safe_psql(
		'postgres', q{
		SELECT set_clock('2026-11-20 23:59:59.998500') IS NULL;
		SELECT right(comb_generate('nhibernate')::text, 12), right(comb_generate('rtcomb_legacy')::text, 12);
		SELECT right(comb_generate('nhibernate')::text, 12);
		SELECT set_clock('2026-11-21 00:00:00.000400') IS NULL;
		SELECT right(comb_generate('nhibernate')::text, 12), right(comb_generate('rtcomb_legacy')::text, 12);
	}),
	"f\nb508018b8202|b508018b81ff\nb508018b8202\nf\nb50900000000|b50900000000",
	'midnight');

#
# Half a second is the start of a unit of 1 ms and of a unit of 1/300 s.  The first tick
# of a unit belongs to it, and not to the unit before, in which the session has just made
# a key.
#
is( $node->safe_psql(
		'postgres', q{
		CREATE FUNCTION on_time(layout text, n bigint) RETURNS text LANGUAGE plpgsql AS $$
		DECLARE
			before timestamptz := set_clock(format('2026-11-20 12:00:%s.499999', n + 10));
			made timestamptz := comb_timestamp(comb_generate(layout), layout);
			start timestamptz := set_clock(format('2026-11-20 12:00:%s.5', n + 10));
		BEGIN
			RETURN CASE WHEN made >= before OR comb_timestamp(comb_generate(layout), layout) <> start
				THEN layout END;
		END $$;
		SELECT count(*), string_agg(on_time(layout, place), ' ')
		FROM (SELECT *, row_number() OVER () AS place FROM comb_layouts()) l
		WHERE generates AND resolution <> '100 ns' AND layout <> 'nhibernate'}),
	'11|', 'the first tick of a unit');

#
# Some layouts end in 2079
#
SKIP:
{
	skip 'the clock of this machine ends in 2038', 5 if clock_ends_in_2038();

	my ($ret, $stdout, $stderr) = $node->psql(
		'postgres', q{
		SELECT set_clock('2079-06-06 23:59:59.999999') IS NULL;
		SELECT right(comb_generate('rtcomb_legacy')::text, 12);
		SELECT set_clock('2079-06-07 00:00:00') IS NULL;
		SELECT layout, comb_timestamp(comb_generate(layout), layout) FROM comb_layouts()
		WHERE generates AND latest > '2080-01-01' AND resolution <> '100 ns';
		SELECT comb_generate('rtcomb_legacy');
	});
	is( $stdout, join("\n", 'f', 'ffff018b81ff', 'f',
			map { "$_|2079-06-07 00:00:00+00" }
			  qw(uuidv7 ulid rtcomb_postgresql rtcomb_sql rtcomb_binary sequential_string sequential_binary sequential_end)),
		'the last unit of 1/300 s, and other layouts after it');
	like($stderr, qr/timestamp out of range for layout "rtcomb_legacy".*2079-06-06 23:59:59.999999\+00/s,
		'22008 after it');
	foreach my $layout (qw(rtcomb_postgresql_datetime rtcomb_binary_datetime nhibernate))
	{
		($ret, $stdout, $stderr) =
		  $node->psql('postgres', "SELECT comb_generate('$layout')");
		like($stderr, qr/timestamp out of range for layout "$layout"/,
			"and for $layout");
	}
}

#
# If the clock goes back by less than pg_comb.max_drift (10 s), the order holds.
# If the clock goes back further, keys follow the clock, and no key comes twice.
#
is( $node->safe_psql(
		'postgres', q{
		SELECT set_clock('+0') IS NULL;
		SELECT make('1 ahead', 300);
		SELECT set_clock('-5') IS NULL;
		SELECT make('2 back', 300);
		SELECT bool_and(comb_timestamp(id, layout) > clock_timestamp()) FROM keys
		WHERE part = '2 back';
		SELECT set_clock('+0') IS NULL;
		SELECT make('3 ahead', 300);
		SELECT disorder('1|2|3') IS NULL;
		-- the head of a process stays through all of it
		SELECT count(DISTINCT left(id::text, 18)) FROM keys WHERE layout = 'morris';
	}),
	join("\n", 'f', '', 'f', '', 't', 'f', '', 't', '1'),
	'order holds within max_drift');

my ($ret, $stdout, $stderr) = $node->psql(
	'postgres', q{
	TRUNCATE keys;
	SELECT set_clock('2026-11-20 12:00:00') IS NULL;
	SELECT make('4 noon', 300);
	SELECT set_clock('2026-11-20 11:00:00') IS NULL;
	SELECT make('5 an hour before', 300);
	SELECT disorder('5') IS NULL;
	-- the same numbers are counted a second time
	SELECT set_clock('2026-11-20 12:00:00') IS NULL;
	SELECT make('6 noon', 300);
	SELECT set_clock('2026-11-20 11:00:00') IS NULL;
	SELECT make('7 an hour before', 300);
	SELECT disorder('4|5') <> '', disorder('6') IS NULL;
	SELECT count(*) FROM keys;
	SELECT layout, count(DISTINCT left(id::text, 18)),
	       count(*) - count(DISTINCT right(id::text, 17)) > 0
	FROM keys WHERE layout = 'morris' GROUP BY 1;
	SELECT count(*) FROM keys WHERE NOT comb_timestamp(id, layout) BETWEEN
		CASE WHEN part ~ 'noon' THEN timestamptz '2026-11-20 12:00' ELSE '2026-11-20 11:00' END - interval '3.4 ms' AND
		CASE WHEN part ~ 'noon' THEN timestamptz '2026-11-20 12:00' ELSE '2026-11-20 11:00' END + interval '3.4 ms';
});
is($stdout,
	join("\n", 'f', '', 'f', '', 't', 'f', '', 'f', '', 't|t', 4 * 300 * 14,
		'morris|3|t', '0'),
	'beyond it times are true and keys distinct');
like($stderr, qr/WARNING:  the clock went back/, 'with a warning');
is(scalar(() = $stderr =~ /WARNING/g), 1, 'one a process');

# The warning has the clock's time, also where keys count in 100 ns
(undef, undef, $stderr) = $node->psql(
	'postgres', q{
	SELECT set_clock('2026-11-20 12:00:00') IS NULL, comb_generate('efcore') IS NULL;
	SELECT set_clock('2026-11-20 11:00:00') IS NULL, comb_generate('efcore') IS NULL;
});
like($stderr, qr/ 3600000 ms ahead of the clock, which now says 2026-11-20 11:00:00\+00;/, 'which has the times');

done_testing();
