# The clock is far ahead for a while, in a running server and across a restart.
# comb_ordered_reset() and a restart then bring each database back to the right time, step by
# step as administration.md says.  Databases that made no keys meanwhile go on, and so does a
# consumer that was behind.
use lib 'test/perl';
use CombSession;
use CombTest;

need_faketime();

my $node = server('main', start => 0, conf => q{
autovacuum = off
checkpoint_timeout = 1d
pg_comb.lease_duration = 60s
pg_comb.snowflake_instance = 5
});
my $clock = $node->basedir . '/clock';
start_with_clock($node, $clock);
$node->safe_psql('postgres', "CREATE DATABASE $_") foreach ('other', 'third', 'fourth');
$node->safe_psql($_, $CombSession::setup) foreach ('postgres', 'other', 'third', 'fourth');

my @sessions = map { CombSession->new($node, $_) } qw(postgres postgres other third fourth);
my ($writer, $consumer, $other, $third, $fourth) = @sessions;
my @functions = ('comb_generate_ordered()', 'comb_snowflake()');

sub restart
{
	my ($mode, $shift) = @_;
	$node->stop($mode);
	start_with_clock($node, $clock, $shift);
	$_->again foreach @sessions;
	return;
}

# New keys are larger than those that the session made before.
sub rises
{
	my ($name, @makers) = @_;
	foreach my $session (@makers)
	{
		my ($key_before, $id_before) = @{ $session->{made} // [ '', 0 ] };
		my ($key, $id) = split(/\|/, $session->ask('SELECT ' . join(', ', @functions)));
		ok($key gt $key_before && $id > $id_before, "$name: keys of database $session->{database}");
		$session->{made} = [ $key, $id ];
	}
	return;
}

# New keys have the clock's time, but for leases of a minute.  They need not be larger.
sub at_the_clock
{
	my ($name, $session) = @_;
	delete $session->{made};
	rises($name, $session);
	my ($key, $id) = @{ $session->{made} };
	is($session->ask(qq{
		SELECT greatest(comb_timestamp('$key'), comb_snowflake_timestamp($id)) < clock_timestamp() + interval '10 minutes'}),
		't', "$name: they have the clock's time");
	return;
}

sub refused
{
	my ($name, $session, $error, @more) = @_;
	foreach my $function (@functions, @more)
	{
		like($session->complaints("SELECT $function"), qr/ERROR:  55000: $error/s, "$name: $function in database $session->{database}");
	}
	return;
}

# A database that has made no keys meanwhile goes on, but for Snowflakes, whose counter is the server's.
sub not_ahead
{
	my ($name, $session) = @_;
	is($session->ask("SELECT comb_generate_ordered() > '$session->{made}[0]'"), 't', "$name: keys of database $session->{database} go on");
	like($session->complaints('SELECT comb_snowflake()'), qr/ERROR:  55000: the next key would be too far ahead/, "$name: but for Snowflakes");
	return;
}
my $next_too_far = 'the next key would be too far ahead of the clock.*HINT: .*comb_ordered_reset\(\) called and restart the server';
my $made_too_far = 'keys were made in this database under a clock too far ahead.*'
  . 'HINT: .* or have comb_ordered_reset\(\) called in this database and restart the server';
my $reset        = 'the limits of this database were reset\n.*HINT:  Restart the server to finish the reset\.';
my $jumped       = 'the clock is more than ten years ahead of the last key.*'
  . q{HINT:  Correct the server's clock, or have comb_ordered_reset\(\) called and restart the server if the clock is right\.};

#
# A month ahead under a running server
#
$writer->event foreach (1 .. 3);
is($consumer->poll, 3, 'a consumer has read what there is');
$writer->event foreach (1 .. 2);
$other->ask('BEGIN');
rises('at first', $writer, $other, $third);

replace_file($clock, '+30d');
is($other->ask('SELECT DISTINCT extract(day FROM age) FROM comb_unsettled()'), 30, 'the age of a transaction has days');
$other->ask('COMMIT');
$writer->event foreach (1 .. 4);
rises('under a clock a month ahead', $writer);

replace_file($clock, '+0');
is($writer->ask('SELECT bool_and(extract(day FROM ahead) BETWEEN 29 AND 30) FROM comb_ordered_status()'), 't', 'and so has how far keys are ahead');
refused('the clock is right', $writer, $next_too_far);
not_ahead('the clock is right', $other);

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
refused('after the reset', $_, $reset, 'comb_settled()', 'comb_snowflake_settled()')
  foreach ($writer, $consumer, CombSession->new($node));
not_ahead('after the reset', $other);

restart('fast');
at_the_clock('after the restart', $writer);
rises('after the restart', $other, $third);
at_the_clock('after the restart', $other);
$writer->event foreach (1 .. 3);
is($consumer->poll, 5, 'the consumer reads the rows from before and after the accident');
is($writer->ask(q{UPDATE event SET id = comb_generate_ordered() WHERE id >= comb_min(now() + interval '1 h') RETURNING true}),
	"t\nt\nt\nt", 'rows from the accident get new keys');
is($consumer->poll, 4, 'and the consumer reads these rows, too');
$consumer->reads_all('nothing is lost');
rises('after that', $writer);

restart('immediate', '-1h');
rises('a crash, and the clock an hour back', $writer, $other, $third);

# Restarts put keys ahead of the clock by leases.  A reset leaves these keys alone,
# because otherwise Snowflakes would repeat.
restart('immediate');
rises('another crash', $writer);
is($writer->ask("SELECT comb_snowflake_timestamp($writer->{made}[1]) > clock_timestamp()"), 't', 'ids after a crash are ahead');
$writer->ask('SELECT comb_ordered_reset(now())');
restart('fast');
rises('a reset of limits that restarts explain', $writer);

# Another incarnation than the one of the reset needs no restart: a standby that is
# promoted, or a crash.
$writer->ask(q{SELECT comb_ordered_reset(now() + interval '1 hour')});
refused('a reset to the future', $writer, $reset);
restart('immediate');
is( $writer->ask(q{SELECT comb_timestamp(comb_generate_ordered()) > clock_timestamp() + interval '50 min'}),
	't', 'takes effect after a crash, too');

#
# Two years ahead across a restart, in two databases
#
restart('fast', '+730d');
rises('two years ahead', $writer, $third);
restart('fast');
refused('two years ahead', $_, $made_too_far) foreach ($writer, $third);
rises('while others make none', $other);
at_the_clock('while others make none', $other);

$writer->ask(q{SELECT comb_ordered_reset('-infinity')});
refused('a reset needs a restart', $writer, $reset);
refused('another database has to be reset itself', $third, $made_too_far);
$third->ask(q{SELECT comb_ordered_reset(now() + interval '1 second')});
rises('beside databases that were reset', $other);

restart('fast');
at_the_clock('after the restart', $_) foreach ($writer, $third);
rises('after the restart', $other);
restart('immediate', '-1h');
rises('after a crash with the clock an hour back', $writer, $other, $third);

# If keys are less than five minutes ahead, but more than the server allows, a reset must
# help, too, as the error's hint says.  The fourth database has no keys yet.
$node->append_conf('postgresql.conf', "pg_comb.lease_duration = 1s\npg_comb.max_ordered_drift = 10s\n");
restart('fast', '+3m');
rises('three minutes ahead', $fourth);
replace_file($clock, '+0');
refused('three minutes are too many', $fourth, $next_too_far);
$fourth->ask('SELECT comb_ordered_reset(now())');
restart('fast');
at_the_clock('after the reset', $fourth);

#
# A clock fifty years ahead is refused at once as broken.  If it is right (the database was
# unused for years), a reset confirms it.
#
SKIP:
{
	skip 'the clock of this machine ends in 2038', 4 if clock_ends_in_2038();

	restart('fast', '+18262d');
	refused('fifty years ahead', $fourth, $jumped);
	restart('fast');
	rises('after that', $fourth);
	restart('fast', '+18262d');
	$fourth->ask('SELECT comb_ordered_reset(now())');
	restart('fast', '+18262d');
	rises('after the reset', $fourth);
}

#
# The clock was ahead when sessions committed, which come no more.  A first poll in a function counts only on commits from
# before its transaction, and must not wait for the clock to reach the times of theirs.
#
restart('fast');
$_->quit foreach @sessions;
$node->safe_psql('postgres', 'CREATE DATABASE corrected');
$node->safe_psql('corrected', $CombSession::setup);
$node->safe_psql('corrected', q{
	CREATE FUNCTION first_poll() RETURNS bigint LANGUAGE plpgsql AS
		'BEGIN RETURN (SELECT count(*) FROM event WHERE id < comb_settled()); END'});
replace_file($clock, '+5s');
my @writers = map { CombSession->new($node, 'corrected') } 1 .. 3;
$_->event foreach @writers;
$_->quit foreach @writers;
replace_file($clock, '+0');
$node->safe_psql('corrected', 'SELECT first_poll()');
is($node->safe_psql('corrected', 'SELECT first_poll()'), 3, 'a first poll in a function does not wait for the clock');

done_testing();
