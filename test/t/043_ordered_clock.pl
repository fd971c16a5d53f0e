# The clock is far ahead for a while, in a running server and across a restart.
# comb_ordered_reset() and a restart then bring each database back to the right time, step by
# step as administration.md says.  Databases that made no keys meanwhile go on, and so does a
# consumer that was behind.
# logged: no ordered keys or Snowflakes can be made in this database until the server restarts
use lib 'test/perl';
use CombSchedule;
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
$node->safe_psql($_, $CombSchedule::setup) foreach ('postgres', 'other', 'third', 'fourth');

# Steps that restart the server with the clock N days ahead, and connect again
sub restart
{
	my ($mode) = @_;
	return sub {
		my ($schedule, undef, $days) = @_;
		$node->stop($mode);
		start_with_clock($node, $clock, $days eq '' ? undef : "+${days}d");
		$_->again foreach $schedule->all;
		return;
	};
}

# "rises" shows whether new keys are larger than those of the session before, and "atclock" whether their time is the
# clock's, but for leases of a minute.  Those need not be larger.
sub rises
{
	my (undef, $session, $any) = @_;
	my ($key_before, $id_before) = @{ $any eq '' && $session->{made} || [ '', 0 ] };
	my ($key, $id) = split(/\|/, $session->ask('SELECT comb_generate_ordered(), comb_snowflake()'));
	$session->{made} = [ $key, $id ];
	return 'SELECT ' . ($key gt $key_before && $id > $id_before ? 'true' : 'false') if $any eq '';
	return "SELECT greatest(comb_timestamp('$key'), comb_snowflake_timestamp($id)) < clock_timestamp() + interval '10 minutes'";
}

my %told = (
	next  => qr/^the next key would be too far ahead of the clock.*HINT: .*comb_ordered_reset\(\) called and restart the server/s,
	made  => qr/^keys were made in this database under a clock too far ahead.*HINT: .* or have comb_ordered_reset\(\) called in this database and restart the server/s,
	reset => qr/^the limits of this database were reset\n.*HINT:  Restart the server to finish the reset\./s,
	jump  => qr/^the clock is more than ten years ahead of the last key.*HINT:  Correct the server's clock, or have comb_ordered_reset\(\) called and restart the server if the clock is right\./s);
my @functions = ('comb_generate_ordered()', 'comb_snowflake()', 'comb_settled()', 'comb_snowflake_settled()');

# How the first N functions, or those of keys, are refused, by the message's name in %told
sub refused
{
	my (undef, $session, $n) = @_;
	my %how;
	foreach my $function (@functions[ 0 .. ($n || 2) - 1 ])
	{
		my ($message) = $session->complaints("SELECT $function") =~ /ERROR:  55000: (.*)/s;
		$how{ (grep { ($message // '') =~ $told{$_} } sort keys %told)[0] // $message // 'not at all' } = 1;
	}
	return "SELECT '" . join(',', sort keys %how) . "'";
}

my $schedule = CombSchedule->new($node, 'c f n o t w', in => { o => 'other', t => 'third', f => 'fourth' }, clean => 'SELECT', statements => {
	rises   => \&rises,
	atclock => sub { return rises(@_[ 0, 1 ], 'any') },
	refused => \&refused,
	# a database that has made no keys meanwhile goes on, but for Snowflakes, whose counter is the server's
	plain   => sub { return "SELECT comb_generate_ordered() > '$_[1]{made}[0]'" },
	flake   => sub { return 'SELECT ' . ($_[1]->complaints('SELECT comb_snowflake()') =~ /ERROR:  55000: the next key would be too far ahead/ ? 'true' : 'false') },
	ahead   => sub { replace_file($clock, "+$_[2]d"); return },
	right   => sub { replace_file($clock, '+0'); return },
	fast    => restart('fast'),
	immediate => restart('immediate'),
	hourback  => sub { $node->stop('immediate'); start_with_clock($node, $clock, '-1h'); $_->again foreach $_[0]->all; return },
	soon      => sub { $node->append_conf('postgresql.conf', "pg_comb.lease_duration = 1s\npg_comb.max_ordered_drift = 10s\n");
		$node->stop('fast'); start_with_clock($node, $clock, '+3m'); $_->again foreach $_[0]->all; return },
	held    => q{SELECT string_agg(finding, '') ~ 'has readers that wait for a transaction of 30 days' FROM comb_ordered_check('event')},
	age     => 'SELECT DISTINCT extract(day FROM age) FROM comb_unsettled()',
	days    => 'SELECT bool_and(extract(day FROM ahead) BETWEEN 29 AND 30) FROM comb_ordered_status()',
	# a reset warns of what it stops
	reset   => sub { return 'SELECT ' . ($_[1]->complaints(q{SELECT comb_ordered_reset('-infinity')}) =~
			/WARNING:  01000: no ordered keys or Snowflakes can be made .*DETAIL:  Ordered keys are to continue after 20.*HINT:  Restart the server/s ? 'true' : 'false') },
	resetnow   => 'DO $$ BEGIN PERFORM comb_ordered_reset(clock_timestamp()); END $$',
	resetsoon  => q{DO $$ BEGIN PERFORM comb_ordered_reset(now() + interval '1 second'); END $$},
	resethour  => q{DO $$ BEGIN PERFORM comb_ordered_reset(now() + interval '1 hour'); END $$},
	inanhour   => q{SELECT comb_timestamp(comb_generate_ordered()) > clock_timestamp() + interval '50 min'},
	beyond     => sub { return "SELECT comb_snowflake_timestamp($_[1]{made}[1]) > clock_timestamp()" },
	renew      => q{UPDATE event SET id = comb_generate_ordered() WHERE id >= comb_min(now() + interval '1 h') RETURNING true},
	shared     => 'DO $$ BEGIN PERFORM pg_advisory_lock_shared(1), pg_advisory_unlock_shared(1); END $$',
	messages   => q{DO $$BEGIN FOR i IN 1 .. 600 LOOP CREATE TABLE many_messages (); DROP TABLE many_messages; END LOOP; END$$} });

# The writer and the consumer share a database, in whose feed rows of the accident get new keys.
$schedule->test(q{
	# a month ahead under a running server
	w.many3 c.poll=3 w.many2 o.begin w.rises=t o.rises=t t.rises=t ahead30 o.age=30 o.held=t o.commit w.many4 w.rises=t right w.days=t w.refused=next o.plain=t o.flake=t
	# the reset; a session is busy meanwhile, and misses so many messages about catalogs that PostgreSQL tells it only
	# to forget all that it knows
	w.lock c.shared w.reset=t w.messages w.unlock w.refused4=reset c.refused4=reset n.fresh n.refused4=reset o.plain=t o.flake=t
	# the consumer reads the rows from before and after the accident, and then those with new keys
	fast w.atclock=t o.rises=t t.rises=t o.atclock=t w.many3 c.poll=5 w.renew=t,t,t,t c.poll=4 c.check w.rises=t
	hourback w.rises=t o.rises=t t.rises=t
	# restarts put keys ahead by leases, which a reset leaves alone, because otherwise Snowflakes would repeat
	immediate w.rises=t w.beyond=t w.resetnow fast w.rises=t
	# another incarnation than the one of the reset needs no restart: a standby that is promoted, or a crash
	w.resethour w.refused=reset immediate w.inanhour=t
	# two years ahead across a restart, in two databases, each of which has to be reset itself
	fast730 w.rises=t t.rises=t fast w.refused=made t.refused=made o.rises=t o.atclock=t w.reset=t w.refused=reset t.refused=made t.resetsoon o.rises=t
	fast w.atclock=t t.atclock=t o.rises=t hourback w.rises=t o.rises=t t.rises=t
	# keys less than five minutes ahead, but more than the server allows, in a database that had none: a reset helps,
	# as the hint says
	soon f.rises=t right f.refused=next f.resetnow fast f.atclock=t
});

# A clock fifty years ahead is refused at once as broken.  If it is right (the database was unused for years), a reset
# confirms it.
SKIP:
{
	skip 'the clock of this machine ends in 2038', 1 if clock_ends_in_2038();
	$schedule->test('fast18262 f.refused=jump fast f.rises=t fast18262 f.resetnow fast18262 f.rises=t');
}

#
# The clock was ahead when sessions committed, which come no more.  A first poll in a function counts only on commits from
# before its transaction, and must not wait for the clock to reach the times of theirs.
#
$schedule->run('fast');
$_->quit foreach $schedule->all;
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
