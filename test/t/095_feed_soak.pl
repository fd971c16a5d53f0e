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
# Beside them two recipes of doc/feed.md, the consumers in SQL and in PL/pgSQL, share the
# place "mail", and wait for each other.
use lib 'test/perl';
use CombTest;
use CombSession;
use CombSoak;
use Time::HiRes qw(sleep time);

begin_soak('soak of the feed', 10);
my $node = soak_server('main', sql => 'CREATE DATABASE other');
$node->safe_psql('other', 'CREATE EXTENSION pg_comb_ordered CASCADE; CREATE TABLE outbox (id uuid DEFAULT comb_generate_ordered())');

#
# Readers, each with what it asks, its options of pgbench, and its settings
#
my %readers = (
	'simple'          => [ poll('comb_settled()') . pause(3) ],
	'Snowflakes'      => [ poll('comb_snowflake_settled()') =~ s/\bid\b/number/gr =~ s/uuid/bigint/r . pause(3) ],
	'function'        => [ poll('outbox_settled()') . pause(3) ],
	'limit'           => [ poll('comb_settled()', 'LIMIT 100') ],
	'generic plan'    => [ poll('comb_settled()') . pause(5), '-M', 'prepared', 'plan_cache_mode=force_generic_plan' ],
	'repeatable read' => [
		    "BEGIN ISOLATION LEVEL REPEATABLE READ;\nSELECT 1 FROM unrelated LIMIT 1;\n" . pause(5)
		  . poll('comb_settled()') . pause(5) . poll('comb_settled()') . "COMMIT;\n" ],
	'new sessions' => [ poll('comb_settled()') . pause(3), '-C' ],
	'late' => [ "\\set ms random(0, 30)\n" . poll('(SELECT late_settled(:ms))') . pause(3) ],
	'scan' => [
		poll('comb_settled()') . pause(200),
		'enable_indexscan=off enable_bitmapscan=off enable_indexonlyscan=off' ],
	'own writes' => [ "BEGIN;\n" . own(0.2) . poll('comb_settled()') . own(0.1) . "COMMIT;\n" . pause(50) ],
	'naive'      => [ poll(q{'ffffffff-ffff-ffff-ffff-ffffffffffff'}) . pause(3) ]);
my @names = sort keys %readers;
my %number = map { $names[$_] => $_ } 0 .. $#names;

# A row of the reader's own, while there are writers
sub own
{
	my ($share) = @_;
	return "INSERT INTO outbox (body) SELECT 'own' WHERE random() < $share AND NOT EXISTS (SELECT FROM stopped);\n";
}

# A poll in one statement
sub poll
{
	my ($settled, $limit) = @_;
	$limit //= '';
	return qq{
WITH got AS MATERIALIZED (SELECT id FROM outbox WHERE id > (SELECT last::uuid FROM place WHERE reader = :c)
	AND id < $settled ORDER BY id $limit),
total AS (SELECT count(*) AS n, (SELECT id FROM got ORDER BY id DESC LIMIT 1)::text AS last FROM got),
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
	-- positions as text, which uuids sort as, and Snowflakes of these years
	CREATE TABLE place (reader int, last text COLLATE "C") WITH (fillfactor = 10);
	CREATE TABLE poll (number bigserial, reader int, last text COLLATE "C", n bigint);
	CREATE FUNCTION late_settled(ms int) RETURNS uuid STABLE LANGUAGE plpgsql AS
		$$ BEGIN PERFORM pg_sleep(ms / 1000.0); RETURN comb_settled(); END $$;
} . recipe('consumer') . recipe('send-mail') . recipe('function'));
foreach my $name (@names)
{
	my $first = $name eq 'Snowflakes' ? '0' : '00000000-0000-0000-0000-000000000000';
	$node->safe_psql('postgres', "INSERT INTO place VALUES ($number{$name}, '$first')");
}

my $conninfo = conninfo('postgres', $node);

# Runs of more than a minute have as many writers' transactions as the machine bears, but not under Wine.
my @rates = $duration > 60 && ($ENV{RUN_FOREIGN} // '') ne 'windows' ? (0, 0, 0) : (250, 20, 100);
start_writers($conninfo, 12, $rates[0], $event_writers);
start_writers($conninfo, 2, $rates[1], kinds($event_writers, qw(one abort slow prepared)), '-C');
start_writers($conninfo, 2, $rates[2], kinds($event_writers, qw(rows one slow key abort chain)), '-M', 'prepared');
start_writers(conninfo('other', $node), 1, 20, { other => [ 1, "INSERT INTO outbox DEFAULT VALUES;\n" ] });
start_resolver($conninfo);
# Up to 200 partitions, attached while readers plan their queries.  More would only make planning slow.
start_writers($conninfo, 1, $duration > 40 ? 200 / $duration : 5, { attach => [ 1, q{
SELECT count(*) < 200 AS few FROM pg_inherits WHERE inhparent = 'outbox'::regclass \gset
\if :few
\set part random(4, 1000000000)
CREATE TABLE outbox_:part (LIKE outbox INCLUDING DEFAULTS);
ALTER TABLE outbox ATTACH PARTITION outbox_:part FOR VALUES IN (:part);
INSERT INTO outbox (body, part) VALUES ('attached', :part), ('old', 1);
\endif
} ] });
foreach my $name (@names)
{
	my ($script, @options) = @{ $readers{$name} };
	local $ENV{PGOPTIONS} = join(' ', map { "-c $_" } map { split } grep { /=/ } @options);
	start_readers($conninfo, $script, '-D', "c=$number{$name}", grep { !/=/ } @options);
}
start_readers($conninfo, recipe('batch') =~ s/SELECT body FROM batch ORDER BY id/INSERT INTO mail SELECT * FROM batch/r);
start_readers($conninfo, "CALL send_mail();\n" . pause(20));

#
# An unrelated writer holds no reader back; then a backend is killed
#
my ($started, $killed, $passed, $held) = (time(), 0, 0, 0);
while ($killed == 0 || time() - $started < $duration)
{
	my $unrelated = CombSession->new($node);
	$unrelated->ask('BEGIN; INSERT INTO unrelated VALUES (1)');
	my ($key, $number) = ask($node, 'postgres', 'SELECT comb_generate_ordered(), comb_snowflake()');
	($node->poll_query_until('postgres', "SELECT bool_and(last > CASE WHEN last LIKE '%-%' THEN '$key' ELSE '$number' END) FROM place")
		? $passed : $held)++;
	$unrelated->ask('COMMIT');
	$unrelated->quit;

	sleep(rand($duration > 60 ? 20 : 2));
	$killed += kill_backend($node, 'writer', 'reader');
}

#
# Stop the writers; the readers read the rest
#
end_writers($node);
# The lock waits for transactions that have not seen the row of the table stopped.
$node->safe_psql('postgres', 'INSERT INTO stopped VALUES (true)');
$node->safe_psql('postgres', 'BEGIN; LOCK TABLE outbox IN SHARE MODE; COMMIT');
ok($node->poll_query_until('postgres', q{
	SELECT bool_and(last IN (id::text, number::text))
	FROM (SELECT last FROM place UNION ALL SELECT last::text FROM consumer) AS places,
	     (SELECT id FROM outbox ORDER BY id DESC LIMIT 1) AS newest,
	     (SELECT number FROM outbox ORDER BY number DESC LIMIT 1) AS last_number}), 'readers come to the end');
stop_loops($node, 'reader');

#
# Count
#
my $rows = $node->safe_psql('postgres', 'SELECT count(*) FROM outbox');
cmp_ok($rows, '>=', 5 * $duration, 'there is something to read');
my %read = map { my ($reader, @counts) = split(/\|/); $reader => \@counts } split(
	/\n/,
	$node->safe_psql(
		'postgres', q{
	SELECT reader, sum(n), count(*) FILTER (WHERE last <= before)
	FROM (SELECT reader, n, last, lag(last) OVER (PARTITION BY reader ORDER BY number) AS before FROM poll) AS polls
	GROUP BY reader}));
foreach my $name (grep { $_ ne 'naive' } @names)
{
	is("@{ $read{ $number{$name} } }", "$rows 0", "$name: all rows, and no poll out of order (SEED=$seed)");
}
is($node->safe_psql('postgres', 'SELECT count(*) FROM mail'), $rows, 'the two consumers called "mail" have each row once');
my $lost = $rows - $read{ $number{naive} }[0];
diag("$rows rows, $killed backends killed; the reader that does not ask lost $lost");
cmp_ok($lost, '>', 0, 'a reader that does not ask loses rows');
is($held, 0, "an unrelated writer holds nobody back, $passed times");
end_soak(nodes => [$node]);
