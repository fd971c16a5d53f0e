# The clock of a running server is a year ahead for a while.  comb_ordered_reset() and a
# restart bring the database back to the right time, step by step as operations.md says.
# Databases that made no keys meanwhile go on, and so does a consumer that was behind.
use lib 'test/perl';
use CombSession;
use CombTest;

need_faketime();

my $node  = server('main', start => 0, conf => q{
autovacuum = off
pg_comb.lease_duration = 60s
pg_comb.snowflake_instance = 5
});
my $clock = $node->basedir . '/clock';
start_with_clock($node, $clock);
$node->safe_psql('postgres', 'CREATE DATABASE other');
$node->safe_psql($_, $CombSession::setup) foreach ('postgres', 'other');

my ($writer, $consumer, $other) = map { CombSession->new($node, $_) } ('postgres', 'postgres', 'other');
my @functions = ('comb_generate_ordered()', 'comb_snowflake()');
my $both      = join(', ', @functions);

# Compare with keys made before
sub larger
{
	my ($name, $session, @before) = @_;
	my ($key, $id) = split(/\|/, $session->ask("SELECT $both"));
	ok($key gt $before[0] && $id > $before[1], $name);
	return ($key, $id);
}

sub near
{
	my ($session) = @_;
	return $session->ask(q{
		SELECT comb_timestamp(comb_generate_ordered()) < clock_timestamp() + interval '10 minutes',
		       comb_snowflake_timestamp(comb_snowflake()) < clock_timestamp() + interval '10 minutes'});
}

$writer->event foreach (1 .. 3);
is($consumer->poll, 3, 'a consumer has read what there is');
$writer->event foreach (1 .. 2);
my @last  = split(/\|/, $writer->ask("SELECT $both"));
$other->ask('BEGIN');
my @there = split(/\|/, $other->ask("SELECT $both"));

# A year ahead
replace_file($clock, '+365d');
is($writer->ask('SELECT DISTINCT extract(day FROM age) FROM comb_unsettled()'), 365, 'the age of a transaction has days');
$other->ask('COMMIT');
$writer->event foreach (1 .. 4);
@last = larger('under a clock a year ahead, keys go on', $writer, @last);

# The clock is right again
replace_file($clock, '+0');
is($writer->ask('SELECT bool_and(extract(day FROM ahead) BETWEEN 364 AND 365) FROM comb_ordered_status()'), 't', 'and so has how far keys are ahead');
foreach my $session ($writer, $other)
{
	foreach my $function (@functions)
	{
		like($session->complaints("SELECT $function"),
			qr/ERROR:  55000: the next key would be too far ahead of the clock.*HINT: .*comb_ordered_reset\(\) called and restart the server/s,
			"with the clock right, $function is refused in database $session->{database}");
	}
}

# The reset.  One session is busy meanwhile, and misses so many messages about catalogs
# that PostgreSQL tells it only to forget all that it knows.
$writer->ask('SELECT pg_advisory_lock(1)');
$consumer->send('SELECT pg_advisory_lock_shared(1)');
wait_until($node, q{SELECT count(*) = 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted});
like(
	$writer->complaints(q{SELECT comb_ordered_reset('-infinity')}),
	qr/WARNING:  01000: no ordered keys or Snowflakes can be made .*DETAIL:  Ordered keys are to continue after 20.*HINT:  Restart the server/s,
	'a reset warns of what it stops');
$writer->ask(q{DO $$BEGIN FOR i IN 1 .. 600 LOOP CREATE TABLE many_messages (); DROP TABLE many_messages; END LOOP; END$$});
$writer->ask('SELECT pg_advisory_unlock(1)');
$consumer->result;
foreach my $session ($writer, $consumer, CombSession->new($node))
{
	foreach my $function (@functions, 'comb_settled()', 'comb_snowflake_settled()')
	{
		like($session->complaints("SELECT $function"),
			qr/ERROR:  55000: the limits of this database were reset\n.*HINT:  Restart the server to finish the reset\./s,
			"after the reset, $function waits for a restart");
	}
}
like($other->complaints("SELECT $both"), qr/the next key would be too far/, 'and so does the other database');

# The restart
$node->stop;
start_with_clock($node, $clock);
$_->again foreach ($writer, $consumer, $other);
is(near($writer), 't|t', 'after a restart keys are made again, at the clock');
@there = larger('those of the other database go on', $other, @there);
is(near($other), 't|t', 'at the clock as well');
$writer->event foreach (1 .. 3);
is($consumer->poll, 5, 'the consumer reads the rows from before and after the accident');
is($writer->ask(q{UPDATE event SET id = comb_generate_ordered() WHERE id >= comb_min(now() + interval '1 h') RETURNING true}),
	"t\nt\nt\nt", 'rows from the accident get new keys');
is($consumer->poll, 4, 'and the consumer reads these rows, too');
$consumer->reads_all('nothing is lost');

# The new limits hold
@last = split(/\|/, $writer->ask("SELECT $both"));
$node->stop('immediate');
start_with_clock($node, $clock, '-1h');
$_->again foreach ($writer, $consumer, $other);
@last  = larger('after a crash and with the clock an hour back, keys go on', $writer, @last);
@there = larger('in the other database, too', $other, @there);

# Restarts put keys ahead of the clock by leases.  A reset leaves these keys alone,
# because otherwise Snowflakes would repeat.
replace_file($clock, '+0');
$node->stop('immediate');
start_with_clock($node, $clock);
$writer->again;
my $ahead = $writer->ask('SELECT comb_snowflake()');
is($writer->ask("SELECT comb_snowflake_timestamp($ahead) > clock_timestamp()"), 't', 'ids after a crash are ahead');
$writer->ask('SELECT comb_ordered_reset(now())');
$node->stop;
start_with_clock($node, $clock);
$writer->again;
cmp_ok($writer->ask('SELECT comb_snowflake()'), '>', $ahead, 'and after a reset ids go on from them');

# Another incarnation than the one of the reset needs no restart: a standby that is
# promoted, or a crash.
$writer->ask(q{SELECT comb_ordered_reset(now() + interval '1 hour')});
like($writer->complaints("SELECT $both"), qr/ERROR:  55000: the limits of this database were reset/, 'a reset to the future');
crash($node);
start_with_clock($node, $clock);
$writer->again;
is( $writer->ask(q{SELECT comb_timestamp(comb_generate_ordered()) > clock_timestamp() + interval '50 min'}),
	't', 'takes effect after a crash, too');

# If keys are less than five minutes ahead, but more than the server allows, a reset must
# help, too, as the error's hint says.
$node->append_conf('postgresql.conf', "pg_comb.lease_duration = 1s\npg_comb.max_ordered_drift = 10s\n");
$node->stop;
start_with_clock($node, $clock, '+3m');
$node->safe_psql('postgres', 'CREATE DATABASE third');
$node->safe_psql('third', 'CREATE EXTENSION pg_comb_ordered CASCADE');
my $third = CombSession->new($node, 'third');
$third->ask("SELECT $both");
replace_file($clock, '+0');
foreach my $function (@functions)
{
	like($third->complaints("SELECT $function"), qr/ERROR:  55000: the next key would be too far/, "three minutes are too many for $function");
}
$third->ask('SELECT comb_ordered_reset(now())');
$node->stop;
start_with_clock($node, $clock);
$third->again;
is(near($third), 't|t', 'after a reset and a restart keys are made');

done_testing();
