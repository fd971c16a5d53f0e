# What test/bench/run measures, in the order of the report
#
# A row has a name, a title with the unit, the labels to measure, and a function
# that returns the figure of a label.  The others are compared with the first
# label.  A row may also have
#
#   better    "more", where more is better
#   setup     makes what the measurements need
#   details   prints more than the table
#   cleanup   undoes what the setup did to the server
#   chapter   begins a part of the report, with this title
#   charts    makes the pictures, where they are not bars, and returns them as Markdown
#   rounds    how often, where that is not ROUNDS
use strict;
use warnings;

use FindBin qw($RealBin);

our ($million, $growth, $dir, %generators, @generators);

sub library
{
	my ($name, @options) = @_;
	return output_of('cc', '-O2', '-fPIC', '-shared', '-o', "$dir/$name.so", "$RealBin/$name.c", @options);
}

#
# Keys
#

my $limit    = 'the clock and 16 bytes';
my $constant = "'017f22e2-79b0-7cc3-98c4-dc0c0c07398f'::uuid";

# A key's cost net of the query that asks for it.  The expression is an
# aggregate's argument, so the server evaluates it for each row; the baseline has
# a constant there.
sub cost_of_key
{
	my ($expression) = @_;
	my $rows = 4 * $million;
	return net_ns($rows, map { "SELECT count($_) FROM generate_series(1, $rows)" } $expression, $constant);
}

# Seconds for one INSERT into a fresh table, right after a checkpoint, so that
# every measurement writes the same full pages to the WAL
sub seconds_of_insert
{
	my ($table) = @_;
	query('CHECKPOINT');
	my $ms = timed("INSERT INTO $table (payload) SELECT repeat('x', 100) FROM generate_series(1, $million)");
	query("DROP TABLE $table");
	return sprintf('%.2f', $ms / 1000);
}

# How full 16 sessions leave the pages of an index when they insert row by row
# at once.  Commits do not wait for the disk here: that changes the time, which
# is not measured, and not the index.
sub density_of
{
	my ($table, $index) = @_;
	local $ENV{PGOPTIONS} = '-c synchronous_commit=off';
	pgbench("INSERT INTO $table (n) VALUES (:client_id)",
		qw(-M prepared -c 16 -j 2 -t), int($million / 16));
	my $density = query("SELECT round(avg_leaf_density::numeric, 1) FROM pgstatindex('$index')");
	query("DROP TABLE $table");
	return $density;
}

# Keys with their time at the end under a unique index in SQL Server's order,
# beside keys of the default layout in plain order, and beside the same keys in
# the order that they are not made for
my %mssql = (
	'rtcomb_sql, comb_mssql_ops' => [ "comb_generate('rtcomb_sql')", 'comb_mssql_ops' ],
	'uuidv7, uuid_ops'           => [ 'comb_generate()',             'uuid_ops' ],
	'rtcomb_sql, uuid_ops'       => [ "comb_generate('rtcomb_sql')", 'uuid_ops' ]);
my @mssql = ('rtcomb_sql, comb_mssql_ops', 'uuidv7, uuid_ops', 'rtcomb_sql, uuid_ops');

sub mssql_table
{
	my ($expression, $class) = @{ $mssql{ $_[0] } };
	query("CREATE TABLE mssql (id uuid NOT NULL DEFAULT $expression, n int, payload text)");
	query("CREATE UNIQUE INDEX mssql_id ON mssql (id $class)");
	return;
}

# Ten million keys, all pages cached, and their rows known to be visible
sub keys_to_read
{
	return if has_table('keys');
	query("CREATE TABLE keys AS SELECT comb_generate() AS id FROM generate_series(1, $million * 10)");
	query('VACUUM (FREEZE, ANALYZE) keys');
	query('SELECT count(id) FROM keys');
	return;
}

sub random_values
{
	return if has_table('random');
	query("CREATE TABLE random AS SELECT gen_random_uuid() AS id FROM generate_series(1, $million * 5)");
	query('VACUUM ANALYZE random');
	return;
}

# Text is made and read in a table of all forms.  PL/pgSQL takes a hundred times as long, so
# its functions get fewer rows.
my %text = (
	"comb_text(id)"                 => [ 'id',   'texts' ],
	"comb_text(id, 'user')"         => [ 'id',   'texts' ],
	"comb_parse(bare)"              => [ 'bare', 'texts' ],
	"comb_parse(long, 'user')"      => [ 'long', 'texts' ],
	"encode(uuid_send(id), 'hex')"  => [ 'id',   'texts' ],
	"decode(hex, 'hex')"            => [ 'hex',  'texts' ],
	"plpgsql_text(id, 'user')"      => [ 'id',   'few_texts' ],
	"plpgsql_parse(long)"           => [ 'long', 'few_texts' ]);
my @text = ("comb_text(id)", "comb_text(id, 'user')", "encode(uuid_send(id), 'hex')", "plpgsql_text(id, 'user')",
	"comb_parse(bare)", "comb_parse(long, 'user')", "decode(hex, 'hex')", "plpgsql_parse(long)");
my $mask_key = q{'\x000102030405060708090a0b0c0d0e0f'};

sub texts
{
	return if has_table('texts');
	query("CREATE TABLE texts AS
		SELECT id, comb_text(id) AS bare, comb_text(id, 'user') AS long, encode(uuid_send(id), 'hex') AS hex,
			comb_mask(id, $mask_key) AS masked
		FROM (SELECT comb_generate() AS id FROM generate_series(1, $million * 5)) s");
	query("CREATE TABLE few_texts AS SELECT * FROM texts LIMIT $million / 20");
	query('VACUUM (FREEZE, ANALYZE)');
	query(q{
		CREATE FUNCTION plpgsql_text(id uuid, prefix text) RETURNS text IMMUTABLE LANGUAGE plpgsql AS $$
		DECLARE
			bits bit(130) := B'00' || ('x' || encode(uuid_send(id), 'hex'))::bit(128);
			result text := prefix || '_';
		BEGIN
			FOR i IN 0..25 LOOP
				result := result || substr('0123456789abcdefghjkmnpqrstvwxyz', substring(bits FROM 5 * i + 1 FOR 5)::int + 1, 1);
			END LOOP;
			RETURN result;
		END $$;
		CREATE FUNCTION plpgsql_parse(typeid text) RETURNS uuid IMMUTABLE LANGUAGE plpgsql AS $$
		DECLARE
			digits text := right(typeid, 26);
			bits varbit := B'';
		BEGIN
			FOR i IN 1..26 LOOP
				bits := bits || (strpos('0123456789abcdefghjkmnpqrstvwxyz', substr(digits, i, 1)) - 1)::bit(5);
			END LOOP;
			RETURN (lpad(to_hex(substring(bits FROM 3 FOR 64)::bit(64)::bigint), 16, '0')
				|| lpad(to_hex(substring(bits FROM 67)::bit(64)::bigint), 16, '0'))::uuid;
		END $$});
	return;
}

#
# A table of a thousand days
#

# Days of "grown" have ten times as many rows at the end as at the start.
my %times = (
	even  => "interval '86400 s' / ($million / 100) * n",
	grown => "interval '1000 days' * ln(1 + 9 * n / ($million * 10.0)::float8) / ln(10::float8)");

# Once for all rows that ask for a period, with a function for each.  Times are
# taken in the server: a new session's first look at the catalogs takes longer
# than a day's rows.  The first run, which does not count, also brings the day's
# pages into the cache.
sub days
{
	return if has_table('grown');
	foreach my $table (sort keys %times)
	{
		query("CREATE TABLE $table AS
			SELECT comb_at('2024-01-01 00:00+00'::timestamptz + $times{$table}) AS id, repeat('x', 100) AS note
			FROM generate_series(0, $million * 10 - 1) n");
		query("CREATE INDEX ${table}_id ON $table (id)");
		query("VACUUM (FREEZE, ANALYZE) $table");
	}
	query(q{
		CREATE OR REPLACE FUNCTION elapsed_ms(query text, n int) RETURNS numeric LANGUAGE plpgsql AS $$
		DECLARE
			start timestamptz;
		BEGIN
			EXECUTE query;
			start := clock_timestamp();
			FOR i IN 1..n LOOP
				EXECUTE query;
			END LOOP;
			RETURN round((extract(epoch FROM clock_timestamp() - start) * 1000 / n)::numeric, 3);
		END $$;
		CREATE OR REPLACE FUNCTION explained(query text, OUT rows float8, OUT ms float8) LANGUAGE plpgsql AS $$
		DECLARE
			plan json;
		BEGIN
			EXECUTE 'EXPLAIN (SUMMARY, FORMAT json) ' || query INTO plan;
			rows := plan->0->'Plan'->>'Plan Rows';
			ms := plan->0->>'Planning Time';
		END $$});
	return;
}

# The condition of a label for a day, 0 to 999
sub clause
{
	my ($label, $day) = @_;
	my ($first, $next) = split(/\|/, query("SET timezone = 'UTC';
		SELECT quote_literal(d), quote_literal(d + interval '1 day')
		FROM (SELECT '2024-01-01 00:00+00'::timestamptz + interval '$day days') AS day (d)"));
	return "id >= comb_min($first) AND id < comb_min($next)" if $label =~ /^id >=/;
	return $label =~ s/period/tstzrange($first, $next)/r;
}

#
# A growing table
#

# Where random keys hurt: a table that outgrows shared_buffers.  It grows by a
# million rows at a time, each time right after a checkpoint, so that the first
# change of a page writes the whole page to the WAL.  The figure is the time for
# all rows.  growth.series has each step's for the charts: rows in millions,
# thousand rows a second, MB of the key's index, bytes of WAL a row.
sub grow
{
	my ($label) = @_;
	my ($total, $started) = (0, time());
	my $wal = "SELECT pg_current_wal_insert_lsn() - '0/0'";

	query("CREATE TABLE grown_by_key (id $generators{$label}[0] PRIMARY KEY, n bigint)");
	open(my $series, '>>', "$dir/growth.series") or die "could not open growth.series: $!\n";
	foreach my $step (1 .. $growth)
	{
		query('CHECKPOINT');
		my $before = query($wal);
		my $ms = timed("INSERT INTO grown_by_key (n) SELECT n FROM generate_series(1, $million) n");
		my $bytes = query($wal) - $before;
		my $index = query("SELECT pg_relation_size('grown_by_key_pkey') / 1048576");
		print $series join("\t", $label, $step * $million / 1e6, $million / $ms, $index, $bytes / $million), "\n";
		progress(sprintf('growth: %s, step %d, %d s', $label, $step, time() - $started));
		$total += $ms;
	}
	close($series);
	query('DROP TABLE grown_by_key');
	return sprintf('%.1f', $total / 1000);
}

#
# A slow disk
#

# The server's flushes take 10 ms.  Each function makes a key every millisecond and
# returns how long each call but the first took, by the clock around the call alone.  A
# session that has just slept is rarely preempted within a call, so the long times are
# those of sessions that wait.
my @latency = ('comb_generate()', 'comb_generate_ordered()', 'comb_snowflake()', "nextval('numbers')");
my %quantiles = ('p50' => 0.5, 'p99' => 0.99, 'p99.9' => 0.999, 'p99.99' => 0.9999, 'maximum' => 1);
my @quantiles = sort { $quantiles{$a} <=> $quantiles{$b} } keys %quantiles;

sub slow_disk
{
	library('slow_disk', '-ldl');
	query("ALTER SYSTEM SET wal_sync_method = 'fdatasync'");
	query('CREATE UNLOGGED TABLE latency (label text, us real)');
	foreach my $i (0 .. $#latency)
	{
		my $type = $latency[$i] =~ /generate/ ? 'uuid' : 'bigint';
		query("CREATE FUNCTION latency_$i(seconds float8) RETURNS SETOF real LANGUAGE plpgsql AS \$\$
			DECLARE
				until timestamptz := clock_timestamp() + seconds * interval '1 s';
				start timestamptz := clock_timestamp();
				stop timestamptz;
				key $type := $latency[$i];
			BEGIN
				WHILE start < until LOOP
					PERFORM pg_sleep(0.001);
					start := clock_timestamp();
					key := $latency[$i];
					stop := clock_timestamp();
					RETURN NEXT extract(epoch FROM stop - start) * 1e6;
				END LOOP;
			END \$\$");
	}
	local $ENV{LD_PRELOAD} = "$dir/slow_disk.so";
	restart();
	timed('CREATE TABLE flushed ()') >= 10 or die "The WAL is flushed in less than 10 ms.\n";
	query('DROP TABLE flushed');
	return;
}

sub usual_disk
{
	query('DROP TABLE latency');
	query('ALTER SYSTEM RESET wal_sync_method');
	return restart();
}

# Measure a label, and return the quantile of this round
sub latency_of
{
	my ($label) = @_;
	my ($i) = grep { $latency[$_] eq $label } 0 .. $#latency;
	my $seconds = $million < 1_000_000 ? 3 : 20;
	query('CREATE UNLOGGED TABLE round (us real)');
	pgbench("INSERT INTO round SELECT latency_$i($seconds)", qw(-c 8 -j 8 -t 1));
	my $us = query('SELECT percentile_disc(0.9999) WITHIN GROUP (ORDER BY us) FROM round');
	query("INSERT INTO latency SELECT \$\$$label\$\$, us FROM round");
	query('DROP TABLE round');
	return $us;
}

# All quantiles, of all rounds together, in a table and for the chart: label, number of
# the quantile, its name, us
sub latency_details
{
	my @labels = @_;
	open(my $series, '>', "$dir/latency.series") or die "could not open latency.series: $!\n";
	show('', 'All rounds together, in us:', '', '| | calls | ' . join(' | ', @quantiles) . ' |', '|---|---:|' . '---:|' x @quantiles);
	foreach my $label (@labels)
	{
		my ($calls, @us) = split(/\|/, query('SELECT count(*), '
				. join(', ', map { "percentile_disc($quantiles{$_}) WITHIN GROUP (ORDER BY us)" } @quantiles)
				. " FROM latency WHERE label = \$\$$label\$\$"));
		show("| $label | $calls | " . join(' | ', @us) . ' |');
		print $series join("\t", $label, $_, $quantiles[$_], $us[$_] || 1), "\n" foreach 0 .. $#us;
	}
	close($series);
	return;
}

# Lines over the rows, for each of the quantities in growth.series
sub growth_charts
{
	my @labels = @_;
	return map {
		my ($name, $title, $column) = @$_;
		plot_lines($name, $title, 'million rows in the table', 'growth', $column, \@labels)
	} ([ 'growth-rate', 'INSERT, thousand rows a second', 3 ],
		[ 'growth-index', "Size of the primary key's index, MB", 4 ],
		[ 'growth-wal', 'WAL after a checkpoint, bytes a row', 5 ]);
}

#
# Many sessions
#

# Each kind of key: the table's column, and what follows the table's columns.  The table
# without an index shows which waits are those of the index's pages.
our $processors = output_of(qw(getconf _NPROCESSORS_ONLN)) + 0;
my $parts = 4 * $processors;
my %scale = (
	'comb_generate()'           => [ 'uuid DEFAULT comb_generate() PRIMARY KEY',        '' ],
	'gen_random_uuid()'         => [ 'uuid DEFAULT gen_random_uuid() PRIMARY KEY',      '' ],
	'uuidv7()'                  => [ 'uuid DEFAULT uuidv7() PRIMARY KEY',               '' ],
	'bigint identity'           => [ 'bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY', '' ],
	'comb_generate(), hash'     => [ 'uuid DEFAULT comb_generate() PRIMARY KEY',        'PARTITION BY HASH (id)' ],
	'comb_generate(), no index' => [ 'uuid DEFAULT comb_generate()',                    '' ]);
my %scaled;    # what each label was measured to have besides its figure

# Powers of two up to the number of processors, then twice and four times as many
sub session_counts
{
	my @counts = grep { $_ < $processors } map { 2**$_ } 0 .. 12;
	return (@counts, $processors, 2 * $processors, 4 * $processors);
}

sub scale_kinds
{
	return ('comb_generate()', (has_function('uuidv7()') ? 'uuidv7()' : ()), 'gen_random_uuid()', 'bigint identity',
		'comb_generate(), hash', 'comb_generate(), no index');
}

sub scale_setup
{
	query(q{CREATE FUNCTION sample_waits(seconds float8) RETURNS TABLE (wait text, samples bigint) LANGUAGE plpgsql AS $$
		DECLARE
			stop timestamptz := clock_timestamp() + seconds * interval '1 s';
		BEGIN
			CREATE TEMP TABLE sample (wait text) ON COMMIT DROP;
			WHILE clock_timestamp() < stop LOOP
				PERFORM pg_stat_clear_snapshot();
				INSERT INTO sample SELECT coalesce(wait_event_type || ':' || wait_event, 'running')
				FROM pg_stat_activity WHERE application_name = 'pgbench' AND state = 'active';
				PERFORM pg_sleep(0.02);
			END LOOP;
			RETURN QUERY SELECT s.wait, count(*) FROM sample s GROUP BY 1;
		END $$});
	return;
}

# Thousand rows a second from so many sessions, into a new table.  A transaction has
# a thousand rows and does not wait for the disk, so that the index is most of the
# work.  Another session meanwhile looks what the inserting ones wait for.
sub scale_up
{
	my ($label) = @_;
	my ($kind, $sessions) = $label =~ /^(.*), (\d+) sessions?$/;
	my ($column, $by) = @{ $scale{$kind} };
	my $seconds = $ENV{QUICK} ? 1 : 5;
	my $wal = "SELECT pg_current_wal_insert_lsn() - '0/0'";

	query("CREATE TABLE scaled (id $column, n int) $by",
		$by ? map { "CREATE TABLE scaled_$_ PARTITION OF scaled FOR VALUES WITH (MODULUS $parts, REMAINDER $_)" } 0 .. $parts - 1 : ());
	query('CHECKPOINT');
	my $before = query($wal);
	open(my $sampler, '-|', qw(psql -X -q -A -t -c), "SELECT * FROM sample_waits($seconds - 0.2)")
	  or die "could not run psql: $!\n";
	local $ENV{PGOPTIONS} = '-c synchronous_commit=off';
	my $tps = pgbench('INSERT INTO scaled (n) SELECT n FROM generate_series(1, 1000) n',
		qw(-M prepared -T), $seconds, '-c', $sessions, '-j', $sessions < $processors ? $sessions : $processors);
	while (my $line = <$sampler>)
	{
		chomp($line);
		my ($wait, $samples) = split(/\|/, $line);
		$scaled{$label}{waits}{$wait} += $samples;
		$scaled{$label}{samples} += $samples;
	}
	close($sampler);
	my $rows = query('SELECT count(*) FROM scaled');
	push @{ $scaled{$label}{wal} }, (query($wal) - $before) / $rows;
	push @{ $scaled{$label}{rate} }, $tps;
	query('DROP TABLE scaled');
	return sprintf('%.0f', $tps);
}

# The share of a label's samples in which a session waited for what matches
sub share_of
{
	my ($label, $pattern) = @_;
	my ($waits, $all) = @{ $scaled{$label} }{qw(waits samples)};
	my $sum = 0;
	$sum += $waits->{$_} foreach grep { /$pattern/ } keys %{ $waits || {} };
	return $all ? 100 * $sum / $all : 0;
}

# The wait for a page's content.  From 19 on, buffers have locks of their own.
my $page = qr/BufferContent|^Buffer:(Exclusive|Shared|ShareExclusive)|BufferExclusive|BufferShared/;

sub scale_waits
{
	my @labels = @_;
	show('', '| | WAL, bytes a row | running | wait for a page | other waits |', '|---|---:|---:|---:|---|');
	foreach my $label (@labels)
	{
		my $waits = $scaled{$label}{waits};
		my @others = sort { $waits->{$b} <=> $waits->{$a} || $a cmp $b } grep { $_ ne 'running' && !/$page/ } keys %$waits;
		my @told = map { sprintf('%s %.0f %%', $_, share_of($label, "^\Q$_\E\$")) } grep { share_of($label, "^\Q$_\E\$") >= 1 } @others;
		show(sprintf('| %s | %.0f | %.0f %% | %.0f %% | %s |', $label, median(@{ $scaled{$label}{wal} }),
				share_of($label, '^running$'), share_of($label, $page), join(', ', @told)));
	}
	my ($first) = grep { /^comb_generate\(\), \d/ && share_of($_, $page) >= 10 } @labels;
	show('', "This machine has $processors processors.  " . ($first
			? 'With comb_generate(), sessions wait for pages in 10 % of the samples or more from ' . $first =~ s/.*, //r . ' on.'
			: 'With comb_generate(), sessions wait for pages in less than 10 % of the samples, with any number of sessions.'));
	return;
}

sub scale_charts
{
	my @labels = @_;
	open(my $series, '>', "$dir/scale.series") or die "could not open scale.series: $!\n";
	# The points of a line must follow each other.
	foreach my $label (map { my $kind = $_; grep { /^\Q$kind\E, \d/ } @labels } scale_kinds())
	{
		my ($kind, $sessions) = $label =~ /^(.*), (\d+) sessions?$/;
		print $series join("\t", $kind, $sessions, median(@{ $scaled{$label}{rate} }), median(@{ $scaled{$label}{wal} }),
			share_of($label, $page)), "\n";
	}
	close($series);
	return map {
		my ($name, $title, $column) = @$_;
		plot_lines($name, $title, 'sessions', 'scale', $column, [ scale_kinds() ])
	} ([ 'scale', "INSERT on $processors processors, thousand rows a second", 3 ],
		[ 'scale_wal', 'WAL, bytes a row', 4 ], [ 'scale_waits', 'Waits for a page, % of the samples', 5 ]);
}

#
# The rows
#

row('generate', 'Making a key, net of the query (ns)',
	sub { ($generators[0], $limit, @generators[ 1 .. $#generators ]) },
	sub { cost_of_key($_[0] eq $limit ? 'clock_and_16_bytes()' : $generators{ $_[0] }[1]) },
	chapter => 'What to decide by',
	about   => "\"$limit\" is a function in C that reads the clock, allocates 16 bytes, and does nothing else.",
	setup   => sub {
		library('limit', '-I' . output_of($ENV{PG_CONFIG}, '--includedir-server') =~ s/\n//r);
		return query("CREATE FUNCTION clock_and_16_bytes() RETURNS uuid VOLATILE STRICT PARALLEL SAFE LANGUAGE C AS '$dir/limit'");
	});

row('insert', "INSERT of $million rows: uuid or bigint primary key, 100 characters of text (s)",
	sub { @generators },
	sub {
		query("CREATE TABLE filled (id $generators{$_[0]}[0] PRIMARY KEY, payload text NOT NULL)");
		return seconds_of_insert('filled');
	});

# Where the end of one B-tree is the limit, and what hash partitions change
row('scale', "INSERT of a thousand rows a transaction on $processors processors (thousand rows a second, all sessions together)",
	sub {
		return map { my $n = $_; map { "$_, $n session" . ($n > 1 ? 's' : '') } scale_kinds() } session_counts();
	},
	\&scale_up,
	better => 'more', setup => \&scale_setup, details => \&scale_waits, charts => \&scale_charts);

# Four kinds of key, each by one generator: other extensions' keys grow as these
# do.
row('growth', 'Growing a table to ' . $growth * $million . ' rows, shared_buffers 256MB (s)',
	sub { grep { !/^(pg_uuidv7|TimescaleDB|sequential-uuids)$/ } @generators },
	\&grow,
	charts => \&growth_charts, rounds => 1, setup => sub { query("ALTER SYSTEM SET shared_buffers = '256MB'"); restart() },
	cleanup => sub { query('ALTER SYSTEM RESET shared_buffers'); restart() });

# About 10000 rows of 100 characters, of another day each time
row('range', 'count(*) of one day of 1000, out of ' . 10 * $million . ' rows (ms)',
	sub { ('id <@ period', 'id >= ... AND id < ...', 'comb_timestamp(id) <@ period') },
	sub {
		my $clause = clause($_[0], int(rand(1000)));
		my $runs = $_[0] =~ /timestamp/ ? 1 : 100;
		return query("SELECT elapsed_ms(\$q\$SELECT count(*) FROM even WHERE $clause\$q\$, $runs)");
	},
	setup => \&days);

row('density', "Leaf density of the primary key's index after $million rows from 16 sessions (%)",
	sub { @generators },
	sub {
		query("CREATE TABLE crowded (id $generators{$_[0]}[0] PRIMARY KEY, n int)");
		return density_of('crowded', 'crowded_pkey');
	},
	chapter => 'Everything else', better => 'more', rounds => 1);

# Core's uuid_extract_timestamp() knows version 7 from 18 on, as uuidv7() does.
row('read', "Reading a key's time over a table, net of the scan (ns)",
	sub {
		return ('comb_timestamp(id)',
			(has_function('uuidv7()') ? 'uuid_extract_timestamp(id)' : ()),
			(has_function('uuid_v7_to_timestamptz(uuid)') ? 'uuid_v7_to_timestamptz(id)' : ()));
	},
	sub { net_ns(10 * $million, map { "SELECT count($_) FROM keys" } $_[0], 'id') },
	setup => \&keys_to_read);

# The functions of sql/portable, and two usual ways to write UUIDv7 in SQL, which have
# whole milliseconds and no order inside a millisecond
row('portable', 'Functions in SQL and PL/pgSQL beside those in C, net of the query (ns)',
	sub {
		return ('comb_generate()', 'portable.comb_generate()', 'usual_bytes()', 'usual_text()', 'gen_random_uuid()',
			(has_function('uuidv7()') ? 'uuidv7()' : ()),
			map { ($_, "portable.$_") } 'comb_at(at)', 'comb_stamp(id, at)', 'comb_timestamp(id)', 'comb_min(at)');
	},
	sub { net_ns($million / 5, map { "SELECT count($_) FROM portable_keys" } $_[0], 'id') },
	setup => sub {
		return if has_table('portable_keys');
		psql('CREATE SCHEMA portable', 'SET client_min_messages = warning', 'SET search_path = portable',
			"\\i $RealBin/../../sql/portable/pg_comb.sql");
		query(q{
			CREATE FUNCTION usual_bytes() RETURNS uuid LANGUAGE sql VOLATILE AS $$
				SELECT encode(overlay(set_bit(set_bit(uuid_send(gen_random_uuid()), 53, 1), 52, 1)
					PLACING substring(int8send((1000 * date_part('epoch', clock_timestamp()))::bigint) FROM 3)
					FROM 1 FOR 6), 'hex')::uuid $$;
			CREATE FUNCTION usual_text() RETURNS uuid LANGUAGE sql VOLATILE AS $$
				SELECT (lpad(to_hex((1000 * date_part('epoch', clock_timestamp()))::bigint), 12, '0') || '7'
					|| substr(gen_random_uuid()::text, 16))::uuid $$});
		query("CREATE TABLE portable_keys AS
			SELECT comb_generate() AS id, '2026-01-01'::timestamptz + n * interval '1 s' AS at FROM generate_series(1, $million / 5) n");
		query('VACUUM (FREEZE, ANALYZE) portable_keys');
		return;
	});

# One layout of each unit of time, and the one whose first half belongs to the
# process
row('layouts', 'Making a key in other layouts, net of the query (ns)',
	sub {
		return ('comb_generate()', map { "comb_generate('$_')" }
			  qw(uuidv7 rtcomb_sql rtcomb_legacy nhibernate sequential_end efcore morris));
	},
	sub { cost_of_key($_[0]) });

# The whole query, because a layout is chosen in the query: what matters is what
# the choice adds to it.
row('layouts_read', 'Reading the time of ' . 10 * $million . ' keys in other layouts, whole scan (s)',
	sub {
		return ('comb_timestamp(id)', map { "comb_timestamp(id, '$_')" }
			  qw(uuidv7 rtcomb_sql rtcomb_legacy nhibernate sequential_end efcore));
	},
	sub { sprintf('%.3f', timed("SELECT count($_[0]) FROM keys") / 1000) },
	setup => \&keys_to_read);

row('text', 'A key as text, and back, net of the scan (ns)',
	sub { @text },
	sub {
		my ($column, $table) = @{ $text{ $_[0] } };
		return net_ns(query("SELECT count(*) FROM $table"), map { "SELECT count($_) FROM $table" } $_[0], $column);
	},
	about => "The PL/pgSQL functions write and read a TypeID, as applications do without an extension.",
	setup => \&texts);

row('mask', "Masking a key's time, and taking the mask off, net of the scan (ns)",
	sub { ('comb_mask(id, key)', 'comb_unmask(masked, key)', 'comb_unmask(comb_mask(id, key), key)') },
	sub {
		my $expression = $_[0] =~ s/\bkey\b/$mask_key/gr;
		my $column = $_[0] =~ /masked/ ? 'masked' : 'id';
		return net_ns(5 * $million, map { "SELECT count($_) FROM texts" } $expression, $column);
	},
	about => "UUIDv47's own page reports 33 ns for both ways together, in C and without a server, on an Apple M\nprocessor.",
	setup => \&texts);

# What planning costs, as the server reports it.  The server counts in whole
# microseconds, and one such query takes five of them: so a statement has it a
# hundred times, as sub-selects that are planned one by one.  The first two
# statements fill the session's caches.
row('range_plan', 'Planning one day (us)',
	sub { ('id <@ period', 'id >= ... AND id < ...') },
	sub {
		my $clause = clause($_[0], 500);
		return query("WITH statement AS MATERIALIZED (
				SELECT string_agg(\$q\$(SELECT * FROM even WHERE $clause OFFSET 0)\$q\$, ' UNION ALL ') AS q
				FROM generate_series(1, 100)
			), planned AS MATERIALIZED (
				SELECT n, (explained(q)).ms FROM statement, generate_series(1, 52) AS n
			)
			SELECT round(avg(ms)::numeric * 10, 3) FROM planned WHERE n > 2");
	},
	setup => \&days);

# How good the estimates are: the mean error of the rows estimated for 100 days
# after a fresh ANALYZE.  A day is a tenth of one bin of the histogram.
row('range_estimate', 'Rows estimated for one day of 1000, mean error (%)',
	sub { map { ($_, "$_, ten times as many rows at the end") } 'id <@ period', 'id >= ... AND id < ...' },
	sub {
		my $table = $_[0] =~ /at the end/ ? 'grown' : 'even';
		my $clause = $_[0] =~ /^id <@/ ? 'id <@ %1$L::tstzrange'
		  : 'id >= comb_min(lower(%1$L::tstzrange)) AND id < comb_min(upper(%1$L::tstzrange))';
		query("ANALYZE $table");
		return query("SET timezone = 'UTC';
			SELECT round(avg(abs(estimated / actual - 1) * 100)::numeric, 1)
			FROM (SELECT (explained(format('SELECT * FROM $table WHERE $clause', period))).rows AS estimated,
					(SELECT count(*) FROM $table WHERE id <@ period) AS actual
				FROM (SELECT tstzrange(d, d + interval '1 day') AS period
					FROM generate_series('2024-01-05'::timestamptz, '2026-09-20', '10 days') d) AS days) AS judged");
	},
	setup => \&days);

# The rows come from the target list, because a function in FROM first stores
# them all, which costs more than a number does.
my @numbers = ('comb_generate_ordered()', 'comb_snowflake()', "nextval('numbers')");
row('ordered', 'Ordered across sessions (million a second, all sessions together)',
	sub { map { my $sessions = $_; map { "$_, $sessions" } @numbers } '1 session', map { "$_ sessions" } 2, 4, 8 },
	sub {
		my ($expression, $sessions) = $_[0] =~ /^(.*), (\d)/;
		my $n = $million / 10;
		my $tps = pgbench("SELECT count($expression) FROM (SELECT generate_series(1, $n)) s",
			'-c', $sessions, '-j', $sessions, '-T', 3);
		return sprintf('%.2f', $tps * $n / 1e6);
	},
	better => 'more');

# What so many transactions with one call each take, in a procedure's loop, less the same
# loop with a trivial function, in ns a call.  "Before" begins each turn of both loops.
sub net_of_calls
{
	my ($call, $n, $before) = @_;
	return net_ns($n, map { "DO \$\$BEGIN FOR i IN 1 .. $n LOOP $before PERFORM $_; COMMIT; END LOOP; END\$\$" }
		  $call, 'pg_backend_pid()');
}

# A transaction with an ordered key announces the key.
row('feed_transaction', 'A transaction with one key, net of an empty transaction (ns)',
	sub { ('comb_generate_ordered()', 'comb_snowflake()', 'comb_generate()', "nextval('numbers')") },
	sub { net_of_calls($_[0], $million / 5, '') });

row('settled', 'A call of comb_settled(), net of a trivial function (us)',
	sub { ('100 connections', '1000 connections', '1000 connections, 100 open transactions') },
	sub {
		my ($connections, $open) = $_[0] =~ /^(\d+) connections(?:, (\d+))?/;
		pgbench("SELECT comb_generate_ordered();\n\\sleep 3 s", '-c', $connections, '-j', 2, '-t', 1);
		my $pid = in_background('pgbench', '-n', '-c', $open || 1, '-t', 1, '-f',
			script('open', "BEGIN;\nSELECT comb_generate_ordered(), pg_current_xact_id();\n\\sleep 60 s"));
		sleep(2);
		my $ns = net_of_calls('comb_settled()', $million / 10, '');
		stop_background($pid);
		return sprintf('%.2f', $ns / 1000);
	},
	about => "A call looks at one seat for each connection that there ever was at once.  Each has had a\n"
	  . "transaction with a key, and the open ones still have it.  Each call is in a transaction of its own,\n"
	  . "because a transaction remembers the bound of a snapshot.",
	rounds => 1);

# How long a row that is visible waits until a reader takes it.  A session looks
# as often as it can, and notes its snapshot and both bounds.  Afterwards each row
# is looked up in the notes.
my %delays;

sub measure_delays
{
	my ($writer) = @_;
	portable_feed();
	query('SET client_min_messages = error', 'DROP TABLE IF EXISTS event, looks, unrelated',
		'CREATE TABLE event (id uuid DEFAULT comb_generate_ordered(), x xid8 DEFAULT pg_current_xact_id(), n bigserial)',
		'SELECT feed.comb_feed_add(\'event_n_seq\')',
		'CREATE UNLOGGED TABLE looks (at timestamptz, seen pg_snapshot, settled uuid, n bigint)',
		'CREATE TABLE unrelated (n int)',
		'CREATE OR REPLACE PROCEDURE look(seconds int) LANGUAGE plpgsql AS $$
			DECLARE l looks; started timestamptz := clock_timestamp();
			BEGIN
				WHILE clock_timestamp() < started + seconds * interval \'1 s\' LOOP
					SELECT clock_timestamp(), pg_current_snapshot(), comb_settled(), feed.comb_feed_number(\'event_n_seq\') INTO l;
					INSERT INTO looks SELECT l.*;
					COMMIT;
				END LOOP;
			END$$');
	my @pids = in_background(qw(psql -X -q -c), 'CALL look(12)');
	push @pids, in_background(qw(psql -X -q -c), 'CALL feed.follow(\'event_n_seq\', 12)');
	push @pids, in_background(qw(psql -X -q -c), 'INSERT INTO unrelated VALUES (1); SELECT pg_sleep(10)') if $writer;
	pgbench("INSERT INTO event DEFAULT VALUES;\nINSERT INTO event DEFAULT VALUES;", qw(-M prepared -c 8 -j 2 -R 1000 -T 10));
	waitpid($_, 0) foreach @pids;
	query('CREATE INDEX ON looks (at); CREATE INDEX ON looks (settled, at); CREATE INDEX ON looks (n, at);
			CREATE INDEX ON looks (pg_snapshot_xmin(seen), at)',
		'ANALYZE looks');
	my $with = $writer ? ', beside a long writer' : '';
	my %readable = (
		'comb_settled()'     => 'settled > id ORDER BY settled',
		'comb_feed_number()' => 'n > event.n ORDER BY n',
		'xid8 column'        => 'pg_snapshot_xmin(seen) > x ORDER BY pg_snapshot_xmin(seen)');
	foreach my $way (keys %readable)
	{
		@delays{ "$way$with, median", "$way$with, p99.9" } = split(/\|/, query("
			SELECT round(percentile_cont(0.5) WITHIN GROUP (ORDER BY ms)::numeric, 2),
				round(percentile_cont(0.999) WITHIN GROUP (ORDER BY ms)::numeric, 2)
			FROM (SELECT 1000 * extract(epoch FROM greatest(at, visible) - visible) AS ms FROM event,
					LATERAL (SELECT at AS visible FROM looks WHERE at >= comb_timestamp(id)
						AND pg_visible_in_snapshot(x, seen) ORDER BY at LIMIT 1) AS v,
					LATERAL (SELECT at FROM looks WHERE $readable{$way}, at LIMIT 1) AS r) AS d"));
	}
	return;
}

row('feed_delay', 'From visible to readable, 2000 rows a second from 8 sessions (ms)',
	sub {
		return map { my $with = $_; map { my $by = $_; map { "$by$with, $_" } 'median', 'p99.9' }
			'comb_settled()', 'comb_feed_number()', 'xid8 column' } '', ', beside a long writer';
	},
	sub {
		my ($label) = @_;
		measure_delays($label =~ /writer/) unless defined $delays{$label};
		return delete $delays{$label};
	},
	about => "A session looks as often as it can.  A row's delay begins at the first look that sees the row, and\n"
	  . "ends at the first that may read it: below `comb_settled()`, below `comb_feed_number()` that another\n"
	  . "session moves every 10 ms, or by an `xid8` column and `pg_snapshot_xmin()`.  The long writer of\nanother table is open for 10 of the 12 seconds.");

# sql/portable/pg_comb_feed.sql in the schema feed
sub portable_feed
{
	return if query("SELECT to_regnamespace('feed') IS NOT NULL") eq 't';
	psql('CREATE SCHEMA feed', 'SET search_path = feed', "\\i $RealBin/../../sql/portable/pg_comb_feed.sql",
		'CREATE PROCEDURE feed.follow(source regclass, seconds int) LANGUAGE plpgsql AS $$
			DECLARE until timestamptz := clock_timestamp() + seconds * interval \'1 s\';
			BEGIN
				WHILE clock_timestamp() < until LOOP
					PERFORM feed.comb_feed_advance(source); COMMIT; PERFORM pg_sleep(0.01);
				END LOOP;
			END$$');
	return;
}

row('advance', 'Moving a bound by comb_feed_advance(), net of a trivial function (us)',
	sub { ('10 connections', '100 connections', '1000 connections', '1000 connections, 100 open writers') },
	sub {
		my ($connections, $open) = $_[0] =~ /^(\d+) connections(?:, (\d+))?/;
		query('SET client_min_messages = error', 'DROP SEQUENCE IF EXISTS advanced', 'CREATE SEQUENCE advanced',
			"SELECT feed.comb_feed_add('advanced')");
		my @pids = map {
			my ($name, $sessions, $statements) = @$_;
			$sessions ? in_background('pgbench', '-n', '-c', $sessions, '-t', 1, '-f', script($name, "$statements;\n\\sleep 120 s")) : ()
		} ([ 'idle', $connections - ($open // 0) - 5, 'SELECT 1' ],
			[ 'open', $open, "BEGIN;\nSELECT nextval('advanced'), pg_current_xact_id()" ]);
		sleep(4);
		local $ENV{PGOPTIONS} = '-c synchronous_commit=off';
		my $ns = net_of_calls("feed.comb_feed_advance('advanced')", $million / 500, "PERFORM nextval('advanced'); COMMIT;");
		stop_background($_) foreach @pids;
		query('DELETE FROM feed.comb_feed');
		return sprintf('%.1f', $ns / 1000);
	},
	about => "Before each advance a number is drawn, so that the bound moves, unless writers are open.  Commits do\n"
	  . "not wait for the disk.",
	setup => \&portable_feed, rounds => 1);

# Made by one session without writing rows
row('ordered_wal', "WAL for $million numbers (bytes)",
	sub { @numbers },
	sub {
		return query('CREATE TEMP TABLE before AS SELECT pg_current_wal_insert_lsn() AS lsn',
			"SELECT count($_[0]) FROM (SELECT generate_series(1, $million)) s",
			'SELECT pg_current_wal_insert_lsn() - lsn FROM before') =~ s/.*\n//sr;
	});

row('latency', 'Latency of a call at p99.99, 8 sessions, flushes of 10 ms (us)',
	sub { @latency },
	\&latency_of,
	about => "The disk is slow, as in a cloud: each flush takes 10 ms.  A session makes a key every millisecond, and\n"
	  . "only the call counts.  `nextval()` leaves the flush to the commit.",
	setup => \&slow_disk, details => \&latency_details, cleanup => \&usual_disk);

row('mssql_insert', "INSERT of $million rows, unique index, 100 characters of text (s)",
	sub { @mssql },
	sub { mssql_table($_[0]); return seconds_of_insert('mssql') });

row('mssql_density', "Leaf density of the unique index after $million rows from 16 sessions (%)",
	sub { @mssql },
	sub { mssql_table($_[0]); return density_of('mssql', 'mssql_id') },
	better => 'more', rounds => 1);

# In memory and without workers, so that comparing is most of it
row('mssql_index', 'CREATE INDEX on ' . 5 * $million . ' random values (s)',
	sub { qw(comb_mssql_ops uuid_ops) },
	sub {
		my $ms = timed("SET maintenance_work_mem = '1GB'; SET max_parallel_maintenance_workers = 0;
			CREATE INDEX random_id ON random (id $_[0])");
		query('DROP INDEX random_id');
		return sprintf('%.2f', $ms / 1000);
	},
	setup => \&random_values);

# OFFSET 0 keeps the planner from dropping an order that count() does not need.
row('mssql_sort', 'ORDER BY of ' . 5 * $million . ' random values (s)',
	sub { ('ORDER BY id USING #<#', 'ORDER BY id') },
	sub { sprintf('%.2f', timed("SELECT count(*) FROM (SELECT id FROM random $_[0] OFFSET 0) s") / 1000) },
	setup => \&random_values);

1;
