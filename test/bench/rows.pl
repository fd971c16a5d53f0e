# What test/bench/run measures, in the order of the report
#
# A row has a name, a title with the unit, the labels to measure, and a function
# that returns the figure of a label.  The others are compared with the first
# label.  Labels that call functions that the server lacks are left out.  A row may also have
#
#   chapter         begins a part of the report, with this title
#   about           what the reader must know
#   more_is_better
#   rounds          how often, where that is not ROUNDS
#   setup           statements that make what the measurements need; of rows that share
#                   them, the first runs them
#   server          settings, and environment variables, with which the server restarts
#   picture         draws a bar for each label
#   details         prints more than the table, and returns points and charts of them:
#                   name, title, label of x, column of y, gnuplot's commands
use strict;
use warnings;

use List::Util qw(min pairs sum);
use POSIX qw(strftime);

our ($million, $growth, $dir, %expression);

%expression = (
	'the clock and 16 bytes' => 'clock_and_16_bytes()',
	'bigint sequence'        => "nextval('numbers')",
	'pg_uuidv7'              => 'uuid_generate_v7()',
	'sequential-uuids'       => 'uuid_time_nextval()',
	'TimescaleDB'            => 'generate_uuidv7()',
	'spread'                 => 'comb_spread(comb_generate(), 16)',
	'spread ordered'         => 'comb_spread(comb_generate_ordered(), 16)');

# Four kinds of key, each by one generator; other extensions' keys grow as these do.
my @kinds      = ('comb_generate()', 'gen_random_uuid()', 'bigint sequence', 'uuidv7()');
my @generators = (@kinds, 'pg_uuidv7', 'sequential-uuids', 'TimescaleDB');

sub sessions { return map { "$_ session" . ($_ > 1 ? 's' : '') } @_ }

sub wal { return query("SELECT pg_current_wal_insert_lsn() - '0/0'") }

sub seconds_of { return sprintf('%.2f', timed(@_) / 1000) }

# A key's cost net of the query that asks for it.  The expression is an
# aggregate's argument, so the server evaluates it for each row; the baseline has
# a constant there.
sub cost_of_key
{
	my ($label) = @_;
	my $rows = 4 * $million;
	return net_ns($rows, map { "SELECT count($_) FROM generate_series(1, $rows)" }
		  $expression{$label} // $label, "'017f22e2-79b0-7cc3-98c4-dc0c0c07398f'::uuid");
}

# The cost of an expression net of reading its column
sub cost_over
{
	my ($table, $expression) = @_;
	return net_ns(query("SELECT count(*) FROM $table"), map { "SELECT count($_) FROM $table" } $expression, 'id');
}

sub column_of
{
	my ($generator) = @_;
	# before 17, partitioned tables have no identity columns
	return "bigint DEFAULT nextval('numbers')" if $generator eq 'bigint sequence' && $_[1];
	return 'bigint GENERATED ALWAYS AS IDENTITY' if $generator =~ /^bigint/;
	return 'uuid NOT NULL DEFAULT ' . ($expression{$generator} // $generator);
}

sub new_table
{
	query('CREATE TABLE filled (id ' . column_of(@_) . ', n bigint, payload text)',
		'ALTER TABLE filled ADD CONSTRAINT filled_id PRIMARY KEY (id)');
	return;
}

# Seconds for one INSERT into a fresh table, right after a checkpoint, so that
# every measurement writes the same full pages to the WAL
sub seconds_of_insert
{
	new_table(@_);
	query('CHECKPOINT');
	my $seconds = seconds_of("INSERT INTO filled (payload) SELECT repeat('x', 100) FROM generate_series(1, $million)");
	query('DROP TABLE filled');
	return $seconds;
}

# Ten million keys, all pages cached, and their rows known to be visible
my $keys = [ "CREATE TABLE keys AS SELECT comb_generate() AS id FROM generate_series(1, $million * 10)",
	'VACUUM (FREEZE, ANALYZE) keys', 'SELECT count(id) FROM keys' ];

#
# A table of a thousand days
#

my $days = [ "CREATE TABLE even AS
		SELECT comb_at(at) AS id, at AS created_at, repeat('x', 100) AS note FROM generate_series(0, $million * 10 - 1) n,
			LATERAL (SELECT '2024-01-01 00:00+00'::timestamptz + interval '86400 s' / ($million / 100) * n AS at) a",
	'CREATE INDEX even_id ON even (id)', 'CREATE INDEX even_created_at ON even (created_at)', 'VACUUM (FREEZE, ANALYZE) even',
	'CREATE FUNCTION made(even) RETURNS timestamptz IMMUTABLE PARALLEL SAFE RETURN comb_timestamp($1.id)',
	'CREATE VIEW even_view AS SELECT *, comb_timestamp(id) AS made FROM even' ];

# The same days in a hundred partitions, without rows
push @$days, 'CREATE TABLE parted (id uuid, created_at timestamptz, note text) PARTITION BY RANGE (id)',
  map { sprintf(q{CREATE TABLE parted_%1$d PARTITION OF parted FOR VALUES
	FROM (comb_min('2024-01-01 00:00+00'::timestamptz + %1$d * interval '10 days'))
	TO (comb_min('2024-01-01 00:00+00'::timestamptz + (%1$d + 1) * interval '10 days'))}, $_) } 0 .. 99;

# Ways to ask for the rows of a day
my @forms = ('created_at, with an index', 'id <@ period', 'comb_timestamp(id) >= ... AND comb_timestamp(id) < ...',
	'view.made, comb_timestamp(id)', 'o.made, a function', 'id >= ... AND id < ...', 'comb_timestamp(id)::date = ...');

# The condition of a label for a day, 0 to 999, which begin with 2024
sub clause
{
	my ($label, $day) = @_;
	my ($first, $next) = map { strftime("'%F 00:00+00'", gmtime(1704067200 + 86400 * $_)) } $day, $day + 1;
	return "id >= comb_min($first) AND id < comb_min($next)" if $label =~ /^id >=/;
	return "$1 >= $first AND $1 < $next" if $label =~ /^(comb_timestamp\(id\)|created_at|o\.made)(?: >=|,)/;
	return "comb_timestamp(id)::date = " . substr($first, 0, 11) . "'" if $label =~ /::date/;
	return "made >= $first AND made < $next" if $label =~ /^view/;
	return $label =~ s/period.*/tstzrange($first, $next)/r;
}

# The table, or the view, of a way to ask
sub asked { my ($label, $table) = @_; return $table . ($label =~ /^view/ ? '_view' : '') . ' o'; }

# A million keys of a thousand days, which a CHECK says, plain and in a hundred partitions, and
# as many of which the other half has version 4
my $news = [ (map { ("CREATE TABLE $_ (id uuid NOT NULL, note text, CHECK (id <@ tstzrange('2000-01-01 00:00+00', '2100-01-01 00:00+00')))"
		. (/parted/ ? ' PARTITION BY RANGE (id)' : ''), "CREATE INDEX ON $_ (id)",
		"CREATE VIEW ${_}_view AS SELECT *, comb_timestamp(id) AS created_at FROM $_") } 'news', 'news_parted'),
	(map { sprintf(q{CREATE TABLE news_parted_%1$d PARTITION OF news_parted FOR VALUES
		FROM (comb_min('2024-01-01 00:00+00'::timestamptz + %1$d * interval '10 days'))
		TO (comb_min('2024-01-01 00:00+00'::timestamptz + (%1$d + 1) * interval '10 days'))}, $_) } 0 .. 99),
	"INSERT INTO news SELECT comb_at('2024-01-01 00:00+00'::timestamptz + interval '86400 s' / ($million / 1000) * n), repeat('x', 100)
		FROM generate_series(0, $million - 1) n",
	'INSERT INTO news_parted TABLE news',
	"CREATE TABLE mixed AS SELECT id, note FROM (SELECT *, row_number() OVER (ORDER BY id) AS n FROM news) s WHERE n % 2 = 0
		UNION ALL SELECT gen_random_uuid(), repeat('x', 100) FROM generate_series(1, $million / 2)",
	'CREATE INDEX ON mixed (id)', 'VACUUM (FREEZE, ANALYZE) news, news_parted, mixed' ];
my @orders = ('ORDER BY id', 'ORDER BY comb_timestamp(id)', 'ORDER BY view.created_at', 'as ORMs write it');

# The query for a page of 20 that begins after so many rows, without SELECT
sub page_query
{
	my ($label, $table, $skipped) = @_;
	my $time = $label =~ /view|ORM/ ? 'created_at' : 'comb_timestamp(id)';
	my ($last, $at) = split(/\|/, query("SELECT id, comb_timestamp(id) FROM news ORDER BY id DESC OFFSET $skipped - 1 LIMIT 1")) if $skipped;
	my $where = !$skipped ? '' : $label eq 'ORDER BY id' ? "WHERE id < '$last'" :
	  $label =~ /ORM/ ? "WHERE created_at < '$at' OR (created_at = '$at' AND id < '$last')" : "WHERE ($time, id) < ('$at', '$last')";
	my $order = $label eq 'ORDER BY id' ? 'id DESC' : $skipped ? "$time DESC, id DESC" : "$time DESC";
	return "id, note FROM $table" . ($time eq 'created_at' ? '_view' : '') . " $where ORDER BY $order LIMIT 20";
}

# Milliseconds that it takes with a plan that was made before, or to plan it
sub page_ms
{
	my $query = page_query(@_);
	my $runs = 5000;
	return sprintf('%.4f', timed("SELECT $query", "DO \$\$BEGIN FOR i IN 1 .. $runs LOOP PERFORM $query; END LOOP; END\$\$") / $runs);
}

sub page_plan_ms
{
	my $query = page_query(@_);
	my $runs = 200;
	return sprintf('%.3f', timed("EXPLAIN SELECT $query",
		"DO \$\$BEGIN FOR i IN 1 .. $runs LOOP EXECUTE \$q\$EXPLAIN SELECT $query\$q\$; END LOOP; END\$\$") / $runs);
}

# Where random keys hurt: a table that outgrows shared_buffers.  It grows by a
# million rows at a time, each time right after a checkpoint, so that the first
# change of a page writes the whole page to the WAL.  The figure is the time for
# all rows.
my %grown;

sub grow
{
	my ($label) = @_;
	my $total = 0;
	new_table($label);
	foreach my $step (1 .. $growth)
	{
		query('CHECKPOINT');
		my $before = wal();
		my $ms = timed("INSERT INTO filled (n) SELECT n FROM generate_series(1, $million) n");
		push @{ $grown{$label} }, [ $step * $million / 1e6, $million / $ms,
			query("SELECT pg_relation_size('filled_id') / 1048576"), (wal() - $before) / $million ];
		$total += $ms / 1000;
	}
	query('DROP TABLE filled');
	return sprintf('%.1f', $total);
}

# New keys in a table that has five times a million keys of version 4, two fifths as many,
# a fifth of a million at a time, each right after a checkpoint.  An hour is as long as the
# last 2000 rows took.
my $v4 = ["CREATE TABLE v4 AS SELECT gen_random_uuid() AS id FROM generate_series(1, 5 * $million)"];
my @beside = ("comb_generate('behind_v4')", 'comb_generate()', 'gen_random_uuid()', 'comb_generate(), no v4');
my %beside;

sub insert_beside_v4
{
	my ($label) = @_;
	my ($generator, $alone) = split(/, /, $label);
	my $time = $label =~ /behind/ ? "comb_timestamp(id, 'behind_v4')" : 'comb_timestamp(id)';
	my $sorted = $label =~ /behind/ || $alone ? '' : "WHERE $time <= now() + interval '1 min'";
	my $newest = 'FROM filled ' . ($sorted || "WHERE $time IS NOT NULL") . " ORDER BY $time DESC";
	my ($seconds, $wal, @points) = (0, 0);
	my $pages = sub { query("SELECT pg_relation_size('filled_pkey') / 8192") };
	my $ms = sub {
		my ($runs, $query) = @_;
		return sprintf('%.4f', timed("SELECT $query", "DO \$\$BEGIN FOR i IN 1 .. $runs LOOP PERFORM $query; END LOOP; END\$\$") / $runs);
	};

	query('CREATE TABLE filled (id uuid PRIMARY KEY)');
	query('INSERT INTO filled TABLE v4') unless $alone;
	my $before = $alone ? 0 : $pages->();
	foreach my $step (1 .. 10)
	{
		query('CHECKPOINT');
		my $lsn = wal();
		$seconds += timed("INSERT INTO filled SELECT $generator FROM generate_series(1, $million / 5)") / 1000;
		$wal += wal() - $lsn;
		push @points, [ $step * $million / 5e6, ($pages->() - $before) / 128 ];
	}
	$beside{$label} = { points => \@points, pages => $pages->() - $before, wal => sprintf('%.0f', $wal / (2 * $million)) };
	query('VACUUM ANALYZE filled');
	if ($label !~ /random/)
	{
		my $since = query("SELECT $time $newest OFFSET 1999 LIMIT 1");
		$beside{$label}{id} = $ms->(2000, "id FROM filled $sorted ORDER BY id DESC LIMIT 20");
		$beside{$label}{time} = $ms->(2000, "id $newest LIMIT 20");
		$beside{$label}{hour} = $ms->($sorted ? 1 : 100, "count(*) FROM filled WHERE $time >= '$since'");
	}
	query('DROP TABLE filled');
	return sprintf('%.2f', $seconds);
}

sub beside_details
{
	my (undef, @labels) = @_;
	show('', '| | pages that the index grew by | WAL, bytes a row | newest 20 by key (ms) | by time (ms) | last hour, no end (ms) |',
		'|---|---:|---:|---:|---:|---:|');
	show('| ' . join(' | ', $_, map { $_ // '-' } @{ $beside{$_} }{qw(pages wal id time hour)}) . ' |') foreach @labels;
	return ({ map { $_ => $beside{$_}{points} } @labels },
		[ 'behind', "Growth of the primary key's index beside " . 5 * $million . ' keys of version 4, MB', 'million new rows', 1 ]);
}

#
# A slow disk
#

# The server's flushes take 10 ms.  A session makes a key every millisecond and keeps how
# long each call but the first took, by the clock around the call alone.  A session that has
# just slept is rarely preempted within a call, so the long times are those of sessions that
# wait.  The figure is of this round.
sub latency_of
{
	my ($label) = @_;
	my $type = $label =~ /generate/ ? 'uuid' : 'bigint';
	my $seconds = $ENV{QUICK} ? 3 : 20;
	query('CREATE TABLE flushed ()');
	timed('DROP TABLE flushed') >= 10 or die "The WAL is flushed in less than 10 ms.\n";
	my $round = query("SELECT nextval('rounds')");
	pgbench("DO \$\$
		DECLARE
			until timestamptz := clock_timestamp() + interval '$seconds s';
			start timestamptz := clock_timestamp();
			stop timestamptz;
			us real[];
			key $type := $label;
		BEGIN
			WHILE start < until LOOP
				PERFORM pg_sleep(0.001);
				start := clock_timestamp();
				key := $label;
				stop := clock_timestamp();
				us := us || (extract(epoch FROM stop - start) * 1e6)::real;
			END LOOP;
			INSERT INTO latency SELECT \$label\$$label\$label\$, $round, unnest(us);
		END \$\$", qw(-c 8 -j 8 -t 1));
	return query("SELECT percentile_disc(0.9999) WITHIN GROUP (ORDER BY us) FROM latency WHERE round = $round");
}

# All quantiles, of all rounds together
sub latency_details
{
	my (undef, @labels) = @_;
	show('', 'All rounds together, in us:', '', '| | calls | p50 | p99 | p99.9 | p99.99 | maximum |',
		'|---|---:|---:|---:|---:|---:|---:|');
	foreach my $label (@labels)
	{
		my ($calls, @us) = split(/[|{},]+/, query("SELECT count(*),
				percentile_disc('{0.5, 0.99, 0.999, 0.9999, 1}'::float8[]) WITHIN GROUP (ORDER BY us)
			FROM latency WHERE label = \$\$$label\$\$"));
		show('| ' . join(' | ', $label, $calls, @us) . ' |');
	}
	return;
}

#
# Many sessions
#

# The table without an index shows which waits are those of the index's pages.
my $processors = output_of(qw(getconf _NPROCESSORS_ONLN)) + 0;
my $partitions = 16;
my @scale = ('comb_generate()', 'uuidv7()', 'gen_random_uuid()', 'bigint identity', 'comb_generate(), no index',
	map { "$_, hash" } 'comb_generate()', 'uuidv7()', 'gen_random_uuid()', 'bigint sequence', 'spread', 'spread ordered');
my %scaled;    # a label's WAL and bytes of index of each round, and samples by wait

# Thousand rows a second from so many sessions, into a new table.  A transaction has
# a thousand rows and does not wait for the disk, so that the index is most of the
# work.  Another session meanwhile looks what the inserting ones wait for.
sub scale_up
{
	my ($label) = @_;
	my ($generator, $way, $sessions) = $label =~ /^(.*?), (?:(hash|no index), )?(\d+)/;
	$way //= '';
	query('CREATE TABLE scaled (id ' . column_of($generator, $way eq 'hash') . ', n int)' . ($way eq 'hash' ? ' PARTITION BY HASH (id)' : ''));
	query('ALTER TABLE scaled ADD PRIMARY KEY (id)') if $way ne 'no index';
	query(map { "CREATE TABLE scaled_$_ PARTITION OF scaled FOR VALUES WITH (MODULUS $partitions, REMAINDER $_)" }
		  0 .. $partitions - 1) if $way eq 'hash';
	query('CHECKPOINT');
	my $before = wal();
	my $sampler = in_background('waits', qw(psql -X -q -A -t -f), file('waits.sql', q{
		SELECT coalesce(wait_event_type || ':' || wait_event, 'running') FROM pg_stat_activity
			WHERE application_name = 'pgbench' AND state = 'active' \watch 0.02}));
	local $ENV{PGOPTIONS} = '-c synchronous_commit=off';
	my $tps = pgbench('INSERT INTO scaled (n) SELECT n FROM generate_series(1, 1000) n',
		qw(-M prepared -T), $ENV{QUICK} ? 1 : 5, '-c', $sessions, '-j', min($sessions, $processors));
	stop_background($sampler);
	$scaled{$label}{waits}{$_}++ foreach grep { $_ ne '' } split(/\n/, output_of('cat', "$dir/log/waits"));
	my $rows = query('SELECT count(*) FROM scaled');
	push @{ $scaled{$label}{wal} }, (wal() - $before) / $rows;
	push @{ $scaled{$label}{index} }, query(q{SELECT coalesce(sum(pg_relation_size(indexrelid)), 0) FROM pg_index
		WHERE indrelid IN (SELECT relid FROM pg_partition_tree('scaled') UNION SELECT 'scaled'::regclass)}) / $rows;
	query('DROP TABLE scaled');
	return sprintf('%.0f', $tps);
}

sub scale_details
{
	my ($median, @labels) = @_;
	my (%points, $from);
	show('', '| | WAL, bytes a row | index, bytes a row | running | wait for a page | other waits |', '|---|---:|---:|---:|---:|---|');
	foreach my $label (@labels)
	{
		my %waits = %{ $scaled{$label}{waits} };
		my $wal = sprintf('%.0f', median(@{ $scaled{$label}{wal} }));
		my $index = sprintf('%.1f', median(@{ $scaled{$label}{index} }));
		my %share = (running => 0, page => 0);
		# The wait for a page's content.  From 19 on, buffers have locks of their own.
		$share{ /BufferContent|^Buffer:(Exclusive|Shared|ShareExclusive)|BufferExclusive|BufferShared/ ? 'page' : $_ } +=
		  100 * $waits{$_} / sum(values %waits) foreach keys %waits;
		my ($running, $page) = delete @share{qw(running page)};
		my @others = map { sprintf('%s %.0f %%', $_, $share{$_}) }
		  grep { $share{$_} >= 1 } sort { $share{$b} <=> $share{$a} } keys %share;
		show(sprintf('| %s | %s | %s | %.0f %% | %.0f %% | %s |', $label, $wal, $index, $running, $page, join(', ', @others)));
		my ($kind, $sessions, $number) = $label =~ /^(.*), ((\d+) sessions?)$/;
		$from //= $sessions if $kind eq 'comb_generate()' && $page >= 10;
		push @{ $points{$kind} }, [ $number, $median->{$label}, $wal, $page ];
	}
	show('', "This machine has $processors processors.  With comb_generate(), sessions wait for pages in "
		  . ($from ? "10 % of the samples or more from $from on."
			: 'less than 10 % of the samples, with any number of sessions.'));
	delete @points{ grep { /no index|ordered|(?:uuidv7|random|bigint).*hash/ } keys %points };
	return (\%points, [ 'scale', "INSERT on $processors processors, thousand rows a second", 'sessions', 1 ]);
}

#
# Feeds
#

# What so many transactions with one call each take, in a procedure's loop, less the same
# loop with a trivial function, in ns a call.  "Before" begins each turn of both loops.
sub net_of_calls
{
	my ($call, $n, $before) = @_;
	return net_ns($n, map { "DO \$\$BEGIN FOR i IN 1 .. $n LOOP $before PERFORM $_; COMMIT; END LOOP; END\$\$" }
		  $call, 'pg_backend_pid()');
}

# The same in us, beside as many connections and open transactions as the label says.  Each of
# them has drawn a key or number.
sub call_beside
{
	my ($label, $draw, @calls) = @_;
	my ($connections, $open) = $label =~ /(\d+)/g;
	my %sessions = (
		"SELECT $draw;"                               => $connections - ($open // 0) - 5,
		"BEGIN;\nSELECT $draw, pg_current_xact_id();" => $open);
	my @pids = map {
		my $script = file("beside$sessions{$_}.sql", $_, '\sleep 120 s');
		in_background('log', 'pgbench', '-n', '-c', $sessions{$_}, '-t', 1, '-f', $script)
	} grep { $sessions{$_} } keys %sessions;
	sleep(4);
	my $ns = net_of_calls(@calls);
	stop_background($_) foreach @pids;
	return $ns / 1000;
}

# Readers of one table, or of PgQ's queue, from a program of their own.  sql/portable/pg_comb_feed.sql is in the
# schema feed.
my @ways = ('comb_settled(), each 5 ms', 'comb_settled(), comb_wait()', 'position, each 5 ms', 'position, comb_wait()',
	'position, NOTIFY', 'xid8 < xmin, the usual reader, each 5 ms', 'comb_feed_between(), each 5 ms', 'pgq.next_batch(), each 5 ms');
my $followed = [ 'CREATE SCHEMA feed', 'SET search_path = feed', 'BEGIN', "\\i $RealBin/../../sql/portable/pg_comb_feed.sql",
	'COMMIT', 'RESET search_path',
	'CREATE TABLE followed (id uuid PRIMARY KEY DEFAULT comb_generate_ordered(), comb_xid xid8 DEFAULT pg_current_xact_id())',
	'CREATE INDEX ON followed (comb_xid)',
	q{DO $$ BEGIN
		IF EXISTS (SELECT FROM pg_extension WHERE extname = 'pgq') THEN
			PERFORM pgq.create_queue('event');
			PERFORM pgq.set_queue_config('event', 'ticker_max_lag', '50 milliseconds');
			PERFORM pgq.register_consumer('event', 'bench');
		END IF;
	END $$},
	'CREATE PROCEDURE tick(seconds int) LANGUAGE plpgsql AS $$
		DECLARE until timestamptz := clock_timestamp() + seconds * interval \'1 s\';
		BEGIN
			WHILE clock_timestamp() < until LOOP PERFORM pgq.ticker(\'event\'); COMMIT; PERFORM pg_sleep(0.01); END LOOP;
		END$$',
	'CREATE FUNCTION next_events() RETURNS TABLE (state text, us numeric) LANGUAGE plpgsql AS $$
		DECLARE batch bigint := pgq.next_batch(\'event\', \'bench\');
		BEGIN
			IF batch IS NULL THEN RETURN; END IF;
			RETURN QUERY SELECT NULL, 1e6 * extract(epoch FROM pg_xact_commit_timestamp(ev_txid::text::xid))
				FROM pgq.get_batch_events(batch);
			PERFORM pgq.finish_batch(batch);
		END$$' ];

# For each kind of reader: what it remembers at first, and its poll
my $us = '1e6 * extract(epoch FROM pg_xact_commit_timestamp(comb_xid::xid))';
my %reader = (
	'comb_settled()' => [ '00000000-0000-0000-0000-000000000000',
		"SELECT id, $us FROM followed WHERE id > \$1::uuid AND id < comb_settled() ORDER BY id" ],
	'position' => [ '', "SELECT position, CASE WHEN id IS NOT NULL THEN $us END FROM comb_position(\$1) AS position
		LEFT JOIN followed ON comb_unread(id, followed.xmin, \$1) ORDER BY id" ],
	'xid8 < xmin, the usual reader' => [ '0', "SELECT pg_snapshot_xmin(pg_current_snapshot()), $us FROM followed
		WHERE comb_xid >= \$1::xid8 AND comb_xid < pg_snapshot_xmin(pg_current_snapshot()) ORDER BY comb_xid" ],
	'comb_feed_between()' => [ '', "SELECT position, $us FROM (SELECT feed.comb_feed_position() AS position, pg_logical_emit_message(true, 'feed', '')) AS p
		LEFT JOIN feed.comb_feed_between(NULL::followed, nullif(\$1, '')::pg_snapshot, position) AS followed ON true" ],
	'pgq.next_batch()' => [ '', 'SELECT * FROM next_events() WHERE $1::text IS NOT NULL' ]);
my %figures_of;

# Measure a way, also beside a writer that idles.
sub measure_way
{
	my ($name, $idle) = @_;
	my ($kind, $wait) = $name =~ /^(.*), (?:each (?=5 ms))?(\w+)/;
	my $seconds = $ENV{QUICK} ? 5 : $idle ? 30 : 10;
	my $insert = $kind =~ /pgq/ ? "SELECT pgq.insert_event('event', 'row', '')" : 'INSERT INTO followed DEFAULT VALUES';
	my $writer = $wait eq 'NOTIFY' ? "BEGIN;\n$insert;\nNOTIFY event;\nCOMMIT;" : "$insert;";
	query('TRUNCATE followed', 'VACUUM followed');
	my @pids = in_background('reader', "$dir/reader", $seconds + 3, lc($wait =~ s/^comb_//r), @{ $reader{$kind} });
	push @pids, in_background('log', qw(psql -X -q -c), "CALL tick($seconds + 3)") if $kind =~ /pgq/;
	push @pids, in_background('log', qw(psql -X -q -c), "BEGIN; $insert; SELECT pg_sleep($seconds); COMMIT") if $idle;
	pgbench($writer, qw(-M prepared -c 8 -j 2 -R 400 -T), $seconds);
	waitpid($_, 0) foreach @pids;
	open(my $fh, '<', "$dir/log/reader") or die "could not open the reader's output: $!\n";
	my @lines = <$fh>;
	my ($poll) = ($lines[-1] // '') =~ /^polls \d+ ([\d.]+)/ or die "The reader failed: @lines\n";
	pop @lines;
	my @ms = sort { $a <=> $b } @lines;
	my $with = $idle ? ', idle writer' : '';
	$figures_of{"$name$with, median"} = sprintf('%.2f', $ms[ $#ms / 2 ]);
	$figures_of{"$name$with, p99.9"} = sprintf('%.2f', $ms[ $#ms * 0.999 ]);
	$figures_of{"$name$with, poll"} = sprintf('%.3f', $poll);
	return;
}

# A figure, which is measured anew when it has been shown
sub figure_of
{
	my ($label) = @_;
	my ($name, $idle) = $label =~ /^(.*?)(, idle writer)?, [\w.]+$/;
	measure_way($name, $idle) unless defined $figures_of{$label};
	return delete $figures_of{$label};
}

# Transactions of 16 sessions a second, in thousands, beside so many readers that only wait
sub beside_waiting
{
	my ($wait, $readers) = $_[0] =~ /^(\w+).*, (\d+)/;
	my @pids = map { in_background("waiting$_", "$dir/reader", 7, lc($wait =~ s/^comb_//r), '') } 1 .. $readers;
	sleep(1);
	my $tps = pgbench("BEGIN;\nINSERT INTO followed DEFAULT VALUES;\n" . ($wait eq 'NOTIFY' ? "NOTIFY event;\n" : '') . 'COMMIT;',
		qw(-M prepared -c 16 -j 2 -T 5));
	waitpid($_, 0) foreach @pids;
	return sprintf('%.2f', $tps / 1000);
}

#
# The rows
#

row('generate', 'Making a key, net of the query (ns)',
	[ 'comb_generate()', 'the clock and 16 bytes', @generators[ 1 .. $#generators ] ], \&cost_of_key, picture => 1,
	chapter => 'What to decide by',
	about   => '"the clock and 16 bytes" is a function in C that reads the clock, allocates 16 bytes, and does nothing else.',
	setup   => [ "CREATE FUNCTION clock_and_16_bytes() RETURNS uuid VOLATILE STRICT PARALLEL SAFE LANGUAGE C AS '$dir/limit'" ]);

row('insert', "INSERT of $million rows: uuid or bigint primary key, 100 characters of text (s)",
	\@generators, \&seconds_of_insert, picture => 1);

# Where the end of one B-tree is the limit, and what hash partitions change: 1, 4 and 8
# sessions, and as many as there are processors
row('scale', "INSERT of a thousand rows a transaction on $processors processors (thousand rows a second, all sessions together)",
	[ map { my $n = $_; map { "$_, $n" } @scale }
		sessions(sort { $a <=> $b } 1, 4, 8, grep { $_ != 1 && $_ != 4 && $_ != 8 } $processors) ],
	\&scale_up, more_is_better => 1, details => \&scale_details,
	about => 'With "hash" the table has 16 hash partitions, and with "spread" also comb_spread(comb_generate(), 16).  "spread ordered" has keys of comb_generate_ordered().');

row('growth', 'Growing a table to ' . $growth * $million . ' rows, shared_buffers 256MB (s)',
	\@kinds, \&grow,
	rounds => 1, server => ['-c shared_buffers=256MB'],
	details => sub {
		return (\%grown, [ 'growth-rate', 'INSERT, thousand rows a second', 'million rows in the table', 1 ]);
	});

row('behind', 2 * $million . ' rows into a table with ' . 5 * $million . ' keys of version 4 (s)',
	\@beside, \&insert_beside_v4,
	rounds => 3, setup => $v4, details => \&beside_details,
	about => "Each table has only its primary key.  The last hour has 2,000 rows, and the condition is a lower bound.  Keys of\n"
	  . '`comb_generate()` beside version 4 need an upper bound to be the newest by key.');

# About 10000 rows of 100 characters, of another day each time.  Times are taken in the
# server: a new session's first look at the catalogs takes longer than a day's rows.  The
# first run, which does not count, also brings the day's pages into the cache.
row('range', 'count(*) of one day of 1000, out of ' . 10 * $million . ' rows (ms)',
	[ @forms, 'comb_timestamp(id) <@ period' ],
	sub {
		my $query = 'SELECT count(*) FROM ' . asked($_[0], 'even') . ' WHERE ' . clause($_[0], int(rand(1000)));
		my $runs = $_[0] =~ /<@ period/ && $_[0] =~ /timestamp/ ? 1 : 100;
		return sprintf('%.3f', timed($query,
				"DO \$\$BEGIN FOR i IN 1 .. $runs LOOP EXECUTE \$q\$$query\$q\$; END LOOP; END\$\$") / $runs);
	},
	setup => $days, picture => 1);

row('newest', "The newest 20 of $million rows, with a prepared plan (ms)",
	\@orders, sub { return page_ms($_[0], 'news', 0) }, setup => $news);

row('newest_middle', 'The page at the middle (ms)',
	\@orders, sub { return page_ms($_[0], 'news', $million / 2) }, setup => $news);

row('newest_last', 'The last page (ms)',
	\@orders, sub { return page_ms($_[0], 'news', $million - 20) }, setup => $news);

row('newest_parts', 'The newest 20 in 100 partitions (ms)',
	\@orders, sub { return page_ms($_[0], 'news_parted', 0) }, setup => $news);

row('newest_parts_middle', 'The page at their middle (ms)',
	\@orders, sub { return page_ms($_[0], 'news_parted', $million / 2) }, setup => $news);

row('newest_parts_last', 'Their last page (ms)',
	\@orders, sub { return page_ms($_[0], 'news_parted', $million - 20) }, setup => $news);

row('newest_plan', 'Planning the newest 20 in 100 partitions (ms)',
	\@orders, sub { return page_plan_ms($_[0], 'news_parted', 0) }, setup => $news);

row('newest_plan_middle', 'Planning the page at their middle (ms)',
	\@orders, sub { return page_plan_ms($_[0], 'news_parted', $million / 2) }, setup => $news);

# The key's order would first read half of the rows.
row('newest_others', 'The newest 20 beside as many keys of version 4, without a CHECK (ms)',
	[ 'pg_comb.enable_time_conditions = off', 'on' ],
	sub {
		my $query = "SELECT id FROM mixed WHERE comb_timestamp(id) >= '2024-02-01 00:00+00' ORDER BY comb_timestamp(id) DESC LIMIT 20";
		return sprintf('%.1f', timed('SET pg_comb.enable_time_conditions = ' . ($_[0] =~ /off/ ? 'off' : 'on'), $query, $query));
	},
	setup => $news);

row('read', "Reading a key's time over a table, net of the scan (ns)",
	[ 'comb_timestamp(id)', 'uuid_extract_timestamp(id)', 'uuid_v7_to_timestamptz(id)' ],
	sub { cost_over('keys', @_) },
	chapter => 'Everything else', setup => $keys);

# What planning costs, as the server reports it.  The server counts in whole
# microseconds, and one such query takes five of them: so a statement has it a
# hundred times, as sub-selects that are planned one by one.  The first two
# statements fill the session's caches.
row('range_plan', 'Planning one day (us)',
	[ @forms, map { "$_, 100 partitions" } @forms[ 1, 2, 5 ] ],
	sub {
		my $select = '(SELECT * FROM ' . asked($_[0], $_[0] =~ /partitions/ ? 'parted' : 'even') . ' WHERE ' . clause($_[0], 500) . ' OFFSET 0)';
		my $statement = 'EXPLAIN (SUMMARY) ' . join(' UNION ALL ', ($select) x 100);
		my (undef, undef, @ms) = psql(($statement) x 52) =~ /^Planning Time: (\S+) ms/mg;
		return sprintf('%.3f', sum(@ms) * 10 / @ms);
	},
	setup => $days);

# The rows come from the target list, because a function in FROM first stores
# them all, which costs more than a number does.
my @numbers = ('comb_generate_ordered()', 'comb_snowflake()', "nextval('numbers')");
row('ordered', 'Ordered across sessions (million a second, all sessions together)',
	[ map { my $n = $_; map { "$_, $n" } @numbers } sessions(1, 2, 4, 8) ],
	sub {
		my ($expression, $sessions) = $_[0] =~ /^(.*), (\d)/;
		my $n = $million / 10;
		return sprintf('%.2f', $n / 1e6 * pgbench("SELECT count($expression) FROM (SELECT generate_series(1, $n)) s",
				'-c', $sessions, '-j', $sessions, '-T', 3));
	},
	more_is_better => 1);

# A transaction with an ordered key announces the key.
row('settled', 'A call of comb_settled(), net of a trivial function (us)',
	[ '100 connections', '1000 connections', '1000 connections, 100 open transactions' ],
	sub { sprintf('%.2f', call_beside($_[0], 'comb_generate_ordered()', 'comb_settled()', $million / 10, '')) },
	about => "A call looks at one seat for each connection that there ever was at once.  Each has had a\n"
	  . "transaction with a key, and the open ones still have it.  Each call is in a transaction of its own,\n"
	  . 'because a transaction remembers the bound of a snapshot.',
	rounds => 1);

row('feed_ways', 'From commit to delivery, 400 rows a second from 8 sessions (ms)',
	[ map { ("$_, median", "$_, p99.9") } @ways ], \&figure_of,
	about => "From the commit's timestamp to the reader's program, over a socket.  The reader polls each 5 ms, or when\n"
	  . "`comb_wait()` or a notification wakes it.  PgQ's ticker makes a tick each 50 ms; pgqd does each second.",
	server => ['-c track_commit_timestamp=on'], setup => $followed, rounds => 1, picture => 1);

row('feed_ways_idle', 'From commit to delivery beside a writer that idles in its transaction for 30 s (ms)',
	[ map { ("$_, idle writer, median", "$_, idle writer, p99.9") } @ways ], \&figure_of,
	server => ['-c track_commit_timestamp=on'], setup => $followed, rounds => 1, picture => 1);

row('feed_polls', 'A poll of these readers (ms)',
	[ map { ("$_, poll", "$_, idle writer, poll") } grep { /5 ms/ } @ways ], \&figure_of,
	server => ['-c track_commit_timestamp=on'], setup => $followed, rounds => 1);

row('feed_waiting', 'INSERT from 16 sessions beside readers that wait, without their polls (thousand a second)',
	[ map { my $way = $_; map { "$way, $_ readers" } 0, 10, 100 } 'comb_wait()', 'NOTIFY' ], \&beside_waiting,
	about => "Each transaction has one key; with NOTIFY, also a notification.",
	setup => $followed, more_is_better => 1, picture => 1);

row('advance', 'Moving a bound by comb_feed_advance(), net of a trivial function (us)',
	[ '10 connections', '100 connections', '1000 connections', '1000 connections, 100 open writers' ],
	sub {
		query('SET client_min_messages = error', 'DROP SEQUENCE IF EXISTS advanced', 'CREATE SEQUENCE advanced',
			'DELETE FROM feed.comb_feed', "SELECT feed.comb_feed_add('advanced')");
		local $ENV{PGOPTIONS} = '-c synchronous_commit=off';
		return sprintf('%.1f', call_beside($_[0], "nextval('advanced')", "feed.comb_feed_advance('advanced')",
				$million / 500, "PERFORM nextval('advanced'); COMMIT;"));
	},
	about => "Before each advance a number is drawn, so that the bound moves, unless writers are open.  Commits do\n"
	  . 'not wait for the disk.',
	setup => $followed, rounds => 1);

# Made by one session without writing rows
row('latency', 'Latency of a call at p99.99, 8 sessions, flushes of 10 ms (us)',
	[ 'comb_generate()', @numbers ], \&latency_of,
	about => "The disk is slow, as in a cloud: each flush takes 10 ms.  A session makes a key every millisecond, and\n"
	  . 'only the call counts.  `nextval()` leaves the flush to the commit.',
	server => [ '-c wal_sync_method=fdatasync', "LD_PRELOAD=$dir/slow_disk.so" ],
	setup => [ 'CREATE UNLOGGED TABLE latency (label text, round int, us real)', 'CREATE SEQUENCE rounds' ],
	details => \&latency_details);

1;
