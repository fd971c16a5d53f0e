# Writers of many kinds, readers of many kinds, killed backends: no reader may lose a
# row.  A reader that does not ask comb_settled() must lose some, or the test would
# show nothing.
#
# The soak takes ten seconds, or DURATION.
#
# A reader's place is a row of the table place, which the reader updates in the
# transaction that reads.  So a reader goes on after a crash.  For each poll the table
# poll has the number of rows and the last of them.  A reader has read everything
# once if these numbers add up to the rows of the table.
#
# Beside them the recipes of doc/feed.md run as they stand.  The consumers in SQL and in
# PL/pgSQL share the place "mail", and wait for each other.  The other recipes, and one
# of them with Snowflakes, are queries of sessions, see CombSession.pm.
use lib 'test/perl';
use CombTest;
use CombSoak;
use Time::HiRes qw(time);

begin_soak('soak of the feed', 10);
my $node = soak_server('main', sql => 'CREATE DATABASE other');
$node->safe_psql('other', 'CREATE EXTENSION pg_comb_ordered CASCADE; CREATE TABLE outbox (id uuid DEFAULT comb_generate_ordered())');

#
# Readers, each with what it asks, its options of pgbench, and its settings
#
my %readers = (
	'simple'          => [ poll('comb_settled()') . pause(3) ],
	'limit'           => [ poll('comb_settled()', 'LIMIT 100') ],
	'extended'        => [ poll('comb_settled()') . pause(20), '-M', 'extended' ],
	'prepared'        => [ poll('comb_settled()') . pause(3), '-M', 'prepared' ],
	'generic plan'    => [ poll('comb_settled()') . pause(5), '-M', 'prepared', 'plan_cache_mode=force_generic_plan' ],
	'repeatable read' => [
		    "BEGIN ISOLATION LEVEL REPEATABLE READ;\nSELECT 1 FROM unrelated LIMIT 1;\n" . pause(5)
		  . poll('comb_settled()') . pause(5) . poll('comb_settled()') . "COMMIT;\n" ],
	'cursor' => [
		    "BEGIN;\nDECLARE c CURSOR FOR " . query('comb_settled()') . ";\n" . pause(3)
		  . "SELECT take(:c, 20);\n" . pause(3) . "SELECT take(:c, 1000000);\nCOMMIT;\n" ],
	'late'           => [ "\\set ms random(0, 30)\n" . poll('(SELECT late_settled(:ms))') . pause(3) ],
	'late at once'   => [ poll('(SELECT late_settled(5))') ],
	'scan'           => [
		poll('comb_settled()') . pause(200),
		'enable_indexscan=off enable_bitmapscan=off enable_indexonlyscan=off' ],
	'two statements' => [ "SELECT comb_settled() AS bound \\gset\n" . poll("':bound'") . pause(5) ],
	'own writes'     => [
		    "BEGIN;\n" . own(0.2) . poll('comb_settled()') . own(0.1) . "COMMIT;\n" . pause(50) ],
	'naive'  => [ poll(q{'ffffffff-ffff-ffff-ffff-ffffffffffff'}) . pause(3) ]);
my @names = sort keys %readers;
my %number = map { $names[$_] => $_ } 0 .. $#names;

sub query
{
	my ($settled, $limit) = @_;
	return 'SELECT id FROM outbox WHERE id > (SELECT last FROM place WHERE reader = :c)'
	  . " AND id < $settled ORDER BY id " . ($limit // '');
}

# A row of the reader's own, while there are writers
sub own
{
	my ($share) = @_;
	return "INSERT INTO outbox (body) SELECT 'own' WHERE random() < $share AND NOT EXISTS (SELECT FROM stopped);\n";
}

# A poll in one statement
sub poll
{
	my ($query) = query(@_);
	return qq{
WITH got AS MATERIALIZED ($query),
total AS (SELECT count(*) AS n, (SELECT id FROM got ORDER BY id DESC LIMIT 1) AS last FROM got),
moved AS (UPDATE place SET last = total.last FROM total WHERE reader = :c AND n > 0)
INSERT INTO poll (reader, last, n) SELECT :c, last, n FROM total WHERE n > 0;
};
}

$node->safe_psql(
	'postgres', q{
	CREATE EXTENSION pg_comb_ordered CASCADE;
	CREATE TABLE outbox (id uuid DEFAULT comb_generate_ordered(), body text,
		part int DEFAULT (random() * 3)::int, number bigint DEFAULT comb_snowflake()) PARTITION BY LIST (part);
	CREATE TABLE outbox_0 PARTITION OF outbox FOR VALUES IN (0);
	CREATE TABLE outbox_1 PARTITION OF outbox FOR VALUES IN (1);
	CREATE TABLE outbox_2 PARTITION OF outbox FOR VALUES IN (2, 3);
	CREATE INDEX ON outbox (id);
	CREATE INDEX ON outbox (number);
	CREATE TABLE unrelated (i int);
	CREATE TABLE stopped (yes bool);
	CREATE TABLE place (reader int, last uuid) WITH (fillfactor = 10);
	CREATE TABLE poll (number bigserial, reader int, last uuid, n bigint);

	CREATE PROCEDURE writer(n int) LANGUAGE plpgsql AS
	$$
	BEGIN
		FOR i IN 1..n LOOP
			INSERT INTO outbox (body) SELECT 'procedure' FROM generate_series(1, 1 + (random() * 5)::int);
			IF random() < 0.2 THEN ROLLBACK; ELSE COMMIT; END IF;
		END LOOP;
	END
	$$;
	-- each key is drawn in a subtransaction, which fails as often as not
	CREATE FUNCTION fails(n int) RETURNS void LANGUAGE plpgsql AS
	$$
	DECLARE
		key uuid;
	BEGIN
		FOR i IN 1..n LOOP
			BEGIN
				INSERT INTO outbox (body) VALUES ('first') RETURNING id INTO key;
				IF random() < 0.5 THEN RAISE division_by_zero; END IF;
			EXCEPTION WHEN division_by_zero THEN
				INSERT INTO outbox (id, body) VALUES (key, 'again');
			END;
		END LOOP;
	END
	$$;
	CREATE FUNCTION late_settled(ms int) RETURNS uuid STABLE LANGUAGE plpgsql AS
		$$ BEGIN PERFORM pg_sleep(ms / 1000.0); RETURN comb_settled(); END $$;
	-- the next rows of the cursor c
	CREATE FUNCTION take(me int, few int) RETURNS void LANGUAGE plpgsql AS
	$$
	DECLARE
		c refcursor := 'c';
		key uuid;
		was uuid;
		taken int := 0;
	BEGIN
		SELECT last INTO was FROM place WHERE reader = me;
		WHILE taken < few LOOP
			FETCH c INTO key;
			EXIT WHEN NOT FOUND;
			IF key <= was THEN RAISE 'out of order'; END IF;
			was := key;
			taken := taken + 1;
		END LOOP;
		IF taken > 0 THEN
			UPDATE place SET last = was WHERE reader = me;
			INSERT INTO poll (reader, last, n) VALUES (me, was, taken);
		END IF;
	END
	$$;
});
my $batch = recipe('batch') =~ s/;$//r;
$node->safe_psql('postgres', recipe('consumer') . recipe('send-mail') . recipe('function') . qq{
	CREATE TABLE batch (n bigint);
	CREATE PROCEDURE read_batches() LANGUAGE plpgsql AS
	\$\$
	DECLARE
		row record;
		taken int;
	BEGIN
		FOR i IN 1 .. 100 LOOP
			taken := 0;
			FOR row IN $batch LOOP taken := taken + 1; END LOOP;
			INSERT INTO batch VALUES (taken);
			COMMIT;
		END LOOP;
	END
	\$\$});
$node->safe_psql('postgres',
	"INSERT INTO place SELECT i, '00000000-0000-0000-0000-000000000000' FROM generate_series(0, $#names) AS i");

my %writers = (
	%$event_writers,
	subtransactions => [ 2, "\\set n random(1, 100)\nSELECT fails(:n);\n" ],
	procedure => [ 4, "\\set n random(1, 30)\nCALL writer(:n);\n" ]);
my $conninfo = conninfo('postgres', $node);

start_writers($conninfo, 12, 250, \%writers);
start_writers($conninfo, 2, 20, kinds(\%writers, qw(one abort slow prepared)), '-C');
start_writers($conninfo, 2, 100, kinds(\%writers, qw(rows one slow key abort chain)), '-M', 'prepared');
start_writers(conninfo('other', $node), 1, 20, { other => [ 1, "INSERT INTO outbox DEFAULT VALUES;\n" ] });
start_resolver($conninfo);
foreach my $name (@names)
{
	my ($script, @options) = @{ $readers{$name} };
	local $ENV{PGOPTIONS} = join(' ', map { "-c $_" } map { split } grep { /=/ } @options);
	start_readers($conninfo, $script, '-D', "c=$number{$name}", grep { !/=/ } @options);
}

start_readers($conninfo, "CALL read_batches();\n");
start_readers($conninfo, "CALL send_mail();\n" . pause(20));
my $poll  = recipe('poll');
my $share = recipe('share');
# In longer runs the sessions could not keep up, and would keep millions of keys.
my %session = $duration > 60 ? () : (
	'poll'     => recipe_reader($poll),
	'Snowflakes' => recipe_reader($poll =~ s/\bid\b/number/gr =~ s/comb_settled/comb_snowflake_settled/r,
		key => 'number', columns => [3], last => 0),
	'function' => recipe_reader($poll =~ s/comb_settled/outbox_settled/r),
	map { ("share $_" => recipe_reader($share =~ s/= 2\b/= $_/r)) } 0 .. 3);

sub recipe_reader { return CombSession->new($node, 'postgres', table => 'outbox', query => @_); }

#
# An unrelated writer holds no reader back; then a backend is killed.  A consumer that
# begins at the present comes after the first of these.
#
my ($started, $killed, $passed, $held) = (time(), 0, 0, 0);
my $readers = join(', ', map { $number{$_} } grep { $_ ne 'naive' } @names);
while ($killed == 0 || time() - $started < $duration)
{
	my $unrelated = CombSession->new($node);
	$unrelated->ask('BEGIN; INSERT INTO unrelated VALUES (1)');
	my $key = $node->safe_psql('postgres', 'SELECT comb_generate_ordered()');
	($node->poll_query_until('postgres', "SELECT bool_and(last > '$key') FROM place WHERE reader IN ($readers)")
		? $passed : $held)++;
	$unrelated->ask('COMMIT');
	$unrelated->quit;

	read_until(time() + rand($duration > 60 ? 20 : 2), values %session);
	$killed += kill_backend($node, 'writer', 'reader');
	next if $session{present} || !%session;
	my $present = $node->safe_psql('postgres', recipe('present'));
	$session{present} = recipe_reader($poll, last => $present, least => 0);
}

#
# Stop the writers; the readers read the rest
#
end_writers($node);
# The lock waits for transactions that have not seen the row of the table stopped.
$node->safe_psql('postgres', 'INSERT INTO stopped VALUES (true)');
$node->safe_psql('postgres', 'BEGIN; LOCK TABLE outbox IN SHARE MODE; COMMIT');
my $all_read = $node->poll_query_until('postgres',
	"SELECT bool_and(last >= (SELECT id FROM outbox ORDER BY id DESC LIMIT 1)) FROM place WHERE reader IN ($readers)");
ok($all_read, 'readers come to the end');
read_rest(values %session);
ok($node->poll_query_until('postgres', "SELECT last >= (SELECT id FROM outbox ORDER BY id DESC LIMIT 1) FROM consumer WHERE name = 'mail'"),
	'and the consumers called "mail"');
stop_loops($node, 'reader');

#
# Count
#
my $rows = $node->safe_psql('postgres', 'SELECT count(*) FROM outbox');
cmp_ok($rows, '>', 100 * $duration, 'there is something to read');
my %read = map { my ($reader, @counts) = split(/\|/); $reader => \@counts } split(
	/\n/,
	$node->safe_psql(
		'postgres', q{
	SELECT reader, sum(n), count(*) FILTER (WHERE last <= before)
	FROM (SELECT reader, n, last, lag(last) OVER (PARTITION BY reader ORDER BY number) AS before FROM poll) AS polls
	GROUP BY reader}));
foreach my $name (@names)
{
	my ($n, $down) = @{ $read{ $number{$name} } || [ 0, 0 ] };
	note("$name: $n rows");
	is("$n rows, $down polls out of order", "$rows rows, 0 polls out of order", "$name (SEED=$seed)")
	  unless $name eq 'naive';
}
is($node->safe_psql('postgres', 'SELECT (SELECT count(*) FROM mail) + (SELECT sum(n) FROM batch)'), $rows,
	'the two consumers called "mail" have each row once');
if (my @shares = map { delete $session{"share $_"} || () } 0 .. 3)
{
	$session{share} = $shares[0];
	$session{share}{got} = [ sort map { @{ $_->{got} } } @shares ];
	($session{share}{last}) = reverse sort map { $_->{last} } @shares;
	$_->quit foreach @shares[ 1 .. 3 ];
}
my ($passed_by, $seen) = ask($node, 'postgres', qq{
	SELECT count(*), (SELECT sum(n) FROM poll WHERE reader = $number{naive}) FROM outbox
	WHERE id <= (SELECT last FROM place WHERE reader = $number{naive})});
my $lost = $passed_by - $seen;
diag("$rows rows, $killed backends killed; the reader that does not ask lost $lost");
cmp_ok($lost, '>', 0, 'a reader that does not ask loses rows');
is($held, 0, "an unrelated writer holds nobody back, $passed times");
end_soak(readers => \%session, nodes => [$node]);
