# Keys of all kinds while the clock of a running server is set back and forth
#
# The server reads the clock through libfaketime, and libfaketime reads from a file a shift,
# or a time at which the clock stands still.  The session itself writes this file, so each
# step of the clock comes exactly between two statements, or inside a statement.
# logged: the clock went back, and new keys sort before earlier ones of this process
use lib 'test/perl';
use CombSession;
use CombTest;

need_faketime();

my $node = server('main', start => 0, conf => q{
autovacuum = off
checkpoint_timeout = 1d
timezone = 'UTC'
pg_comb.snowflake_instance = 5
pg_comb.max_ordered_drift = 10000d
});
my $clock = $node->data_dir . '/clock';
start_with_clock($node, $clock);
$node->safe_psql(
	'postgres', slurp_file('test/pgtap/include/in_order.sql') . qq{
	CREATE EXTENSION pg_comb_ordered CASCADE;
	CREATE FUNCTION set_clock(shift text) RETURNS timestamptz LANGUAGE plpgsql AS \$\$
	BEGIN
		EXECUTE format('COPY (SELECT %L) TO PROGRAM %L', shift, 'cat > "$clock.new" && mv "$clock.new" "$clock"');
		RETURN clock_timestamp();
	END \$\$;
	CREATE TABLE kind AS
		SELECT layout, sorts_in FROM comb_layouts() WHERE generates UNION ALL VALUES ('', 'PostgreSQL');
	-- the primary key is the test for duplicates, over all that happens here
	CREATE TABLE keys (layout text, n serial, id uuid, part int, pid int DEFAULT pg_backend_pid(), PRIMARY KEY (layout, id));
	CREATE TABLE ordered (n serial, key uuid DEFAULT comb_generate_ordered(), id bigint DEFAULT comb_snowflake());
	CREATE TABLE shared (LIKE ordered INCLUDING DEFAULTS, plain uuid PRIMARY KEY DEFAULT comb_generate());
	CREATE SEQUENCE parts;

	-- Set the clock, and make keys of all layouts by turns.  Return what their times are, and
	-- whether they are above those that the session made before.
	CREATE FUNCTION step(shift text) RETURNS text LANGUAGE plpgsql AS \$\$
	DECLARE
		start timestamptz := set_clock(shift);
		this int := nextval('parts');
		times text;
		disorder text;
		below bigint;
	BEGIN
		INSERT INTO ordered SELECT FROM generate_series(1, 100);
		INSERT INTO keys (layout, id, part)
			SELECT layout, CASE layout WHEN '' THEN comb_generate() ELSE comb_generate(layout) END, this
			FROM (SELECT layout FROM generate_series(1, 200) n, kind ORDER BY n, layout OFFSET 0) l;
		SELECT CASE WHEN bool_and(at > clock_timestamp()) THEN 'ahead'
			WHEN bool_and(at BETWEEN start - interval '3.4 ms' AND clock_timestamp() + interval '3.4 ms') THEN 'true' END
		INTO times
		FROM (SELECT CASE layout WHEN '' THEN comb_timestamp(id) ELSE comb_timestamp(id, layout) END AS at
		      FROM keys WHERE part = this OFFSET 0) k;
		SELECT string_agg(DISTINCT layout, ' ') FILTER (WHERE down AND together),
			count(*) FILTER (WHERE down AND NOT together)
		INTO disorder, below
		FROM (SELECT layout, k <= lag(k) OVER w AS down, part = lag(part) OVER w AS together
		      FROM (SELECT layout, n, part, in_order(id, sorts_in) AS k FROM keys JOIN kind USING (layout)
		            WHERE part IN (this - 1, this) AND pid = pg_backend_pid()) o
		      WINDOW w AS (PARTITION BY layout ORDER BY n)) l;
		RETURN concat_ws(' ', times, CASE below WHEN 0 THEN 'above' ELSE 'below' END, 'disorder in ' || disorder);
	END \$\$;
});

sub shown { return $node->safe_psql('postgres', $_[0]) =~ tr/\n/ /r }

# Up to pg_comb.max_drift (10 s) back, the order holds.  Further back, keys follow the clock,
# and the process warns once, however often the clock goes back.  Each time it has a new head
# for layout morris.
foreach (
	[ 'some seconds' => '+0' => 'true above', '-5' => 'ahead above', '-9' => 'ahead above', '+0' => 'true above' ],
	[ 'an hour' => '+0' => 'true above', '-3600' => 'true below', '+0' => 'true above', '-3600' => 'true below', '+0' => 'true above' ],
	[ 'a day' => '+0' => 'true above', '-86400' => 'true below', '+0' => 'true above', '-86400' => 'true below' ],
	[ 'a clock put right' => '+86400' => 'true above', '+0' => 'true below' ],
	[ 'a clock that stands still' => '2026-11-20 12:00:00' => 'true above', '2026-11-20 11:00:00' => 'true below',
	  '2026-11-20 12:00:00' => 'true above', '2026-11-20 11:00:00' => 'true below' ])
{
	my ($name, @steps) = @$_;
	my @shifts   = @steps[ grep { $_ % 2 == 0 } 0 .. $#steps ];
	my @expected = @steps[ grep { $_ % 2 == 1 } 0 .. $#steps ];
	my $back     = grep { /below/ } @expected;
	my $session  = CombSession->new($node);

	$session->send('SELECT ' . join(', ', map { "step('$_')" } @shifts));
	my ($out, $err) = $session->result;
	is($out, join('|', @expected), "$name: @shifts") or diag($err);
	is(scalar(() = $err =~ /WARNING/g), $back ? 1 : 0, "$name: warnings");
	is($session->ask("SELECT count(DISTINCT left(id::text, 18)) FROM keys WHERE layout = 'morris' AND pid = pg_backend_pid()"),
		1 + $back, "$name: heads of morris");
	$session->quit;
}

# Sessions that see the same instant make keys of the same tick.
$node->pgbench('-n -c 8 -t 25', 0, [qr{actually processed: 200/200}], [qr{^$}], 'eight sessions while the clock stands still',
	{ '002_shared' => 'INSERT INTO shared SELECT FROM generate_series(1, 10);' });
is(shown('SELECT count(*), count(DISTINCT key), count(DISTINCT id) FROM shared'), '2000|2000|2000', 'no key comes twice');

# The counters of ordered keys and Snowflakes never go back.
is(shown(q{
	SELECT count(*) > 1500, count(*) FILTER (WHERE key <= before OR id <= id_before)
	FROM (SELECT *, lag(key) OVER w AS before, lag(id) OVER w AS id_before FROM ordered WINDOW w AS (ORDER BY n)) o}),
	't|0', 'ordered keys and Snowflakes rise whatever the clock does');

# The warning has the clock's time, whether keys count in 2^-8 us or in 100 ns.
foreach my $layout ('uuidv7', 'efcore')
{
	my ($rc, $out, $err) = $node->psql('postgres', qq{
		SELECT set_clock('2026-11-20 12:00:00') IS NULL, comb_generate('$layout') IS NULL;
		SELECT set_clock('2026-11-20 11:00:00') IS NULL, comb_generate('$layout') IS NULL});
	like($err, qr/WARNING:  the clock went back, and new keys sort before earlier ones of this process
DETAIL:  Keys were 3600000 ms ahead of the clock, which now says 2026-11-20 11:00:00\+00; "pg_comb.max_drift" is 10000 ms.
HINT:  Check the server's clock synchronization./, "$layout: what the warning says");
}

# The last unit of NHibernate's day is shorter than the other units.  A key made less than a
# unit later is already a key of the next day.
is(shown(q{
	SELECT set_clock('2026-11-20 23:59:59.998500') IS NULL;
	SELECT right(comb_generate('nhibernate')::text, 12), right(comb_generate('rtcomb_legacy')::text, 12);
	SELECT right(comb_generate('nhibernate')::text, 12);
	SELECT set_clock('2026-11-21 00:00:00.000400') IS NULL;
	SELECT right(comb_generate('nhibernate')::text, 12), right(comb_generate('rtcomb_legacy')::text, 12)}),
	'f b508018b8202|b508018b81ff b508018b8202 f b50900000000|b50900000000', 'midnight');

# Half a second is the start of a unit of 1 ms and of a unit of 1/300 s.  The first tick of a
# unit belongs to it, and not to the unit before, in which the session has just made a key.
is(shown(q{
	CREATE FUNCTION on_time(layout text, n bigint) RETURNS text LANGUAGE plpgsql AS $$
	DECLARE
		before timestamptz := set_clock(format('2026-11-20 12:00:%s.499999', n + 10));
		made timestamptz := comb_timestamp(comb_generate(layout), layout);
		start timestamptz := set_clock(format('2026-11-20 12:00:%s.5', n + 10));
	BEGIN
		RETURN CASE WHEN made >= before OR comb_timestamp(comb_generate(layout), layout) <> start THEN layout END;
	END $$;
	SELECT count(*), string_agg(on_time(layout, place), ' ')
	FROM (SELECT *, row_number() OVER () AS place FROM comb_layouts()) l
	WHERE generates AND resolution <> '100 ns' AND layout <> 'nhibernate'}), '13|', 'the first tick of a unit');

SKIP:
{
	skip 'the clock of this machine ends in 2038', 1 if clock_ends_in_2038();
	is(shown(q{
		CREATE FUNCTION failure(layout text) RETURNS text LANGUAGE plpgsql AS $$
		BEGIN
			PERFORM comb_generate(layout);
			RETURN NULL;
		EXCEPTION WHEN datetime_field_overflow THEN RETURN layout;
		END $$;
		SELECT set_clock('2079-06-06 23:59:59.999999') IS NULL;
		SELECT right(comb_generate('rtcomb_legacy')::text, 12);
		SELECT set_clock('2079-06-07 00:00:00') IS NULL;
		SELECT string_agg(failure(layout), ' ' ORDER BY layout) FROM kind WHERE layout <> ''}),
		'f ffff018b81ff f laravel nhibernate rtcomb_binary_datetime rtcomb_legacy rtcomb_postgresql_datetime',
		'some layouts have ended in 2079');
}

# Clocks whose time does not fit into a tick
foreach my $time ('1969-12-30 12:00:00', '4200-01-02 12:00:00')
{
	$node->safe_psql('postgres', "SELECT set_clock('$time')");
	like(error_of($node, 'postgres', 'SELECT comb_generate()'), qr/ERROR:  22008: the system clock is out of range for keys
DETAIL:  Keys can be made from 1970 to the year 4199.
HINT:  Correct the server's clock./, "no key when the clock says $time");
}

done_testing();
