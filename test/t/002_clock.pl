# Keys while the clock is set back and forth under a running session
#
# The server reads the clock through libfaketime, and libfaketime reads the shift
# from a file.  The session itself writes this file, so each step of the clock
# comes exactly between two statements, or inside a statement.
use lib 'test/perl';
use CombTest;

need_faketime();

# The clocks of the autovacuum launcher and the checkpointer are not part of the
# test.
my $node = server('main', start => 0, conf => "autovacuum = off\ncheckpoint_timeout = 1d\n");

my $shift = $node->data_dir . '/clock';
start_with_clock($node, $shift);

$node->safe_psql(
	'postgres', qq{
	CREATE EXTENSION pg_comb_ordered CASCADE;
	CREATE SEQUENCE calls;
	-- the primary key is the test for duplicates, over all that happens here
	CREATE TABLE keys (id uuid PRIMARY KEY, call bigint DEFAULT nextval('calls'), part text);
	CREATE FUNCTION make(part text, keys int) RETURNS bigint LANGUAGE sql AS \$\$
		INSERT INTO keys (id, part) SELECT comb_generate(), part FROM generate_series(1, keys);
		SELECT lastval() \$\$;
	@{[ clock_function($shift) ]}
	-- keys of a part that are not above the one made before them
	CREATE FUNCTION disorder(wanted text) RETURNS bigint LANGUAGE sql AS \$\$
		SELECT count(*) FROM (SELECT id, lag(id) OVER (ORDER BY call) AS before
		                      FROM keys WHERE part LIKE wanted) lagged
		WHERE id <= before \$\$;
	-- how far a key's time is from the clock's now
	CREATE FUNCTION off(id uuid) RETURNS interval LANGUAGE sql AS
		\$\$ SELECT comb_timestamp(id) - clock_timestamp() \$\$;
});

# libfaketime works as the test needs
is( $node->safe_psql(
		'postgres', q{
		SELECT clock_timestamp() AS before \gset
		SELECT set_clock('-3600') - :'before' BETWEEN '-1 hour' AND '-59 minutes';
		SELECT set_clock('+0') - :'before' BETWEEN '0' AND '1 minute';
	}),
	"t\nt",
	'the session moves its own clock');

#
# The clock is set back four seconds, and another four, while a statement makes
# keys: the order holds, and nobody gets a warning
#
my ($out, $err) = session(q{
	WITH made AS MATERIALIZED (
		SELECT n, comb_generate() AS id,
		       CASE n WHEN 2000 THEN set_clock('-4') WHEN 4000 THEN set_clock('-8') END
		FROM generate_series(1, 6000) n)
	SELECT count(*), count(DISTINCT id), bool_and(id > before),
	       max(off(id)) BETWEEN '0.1 s' AND '8 s' AS ahead
	FROM (SELECT id, lag(id) OVER (ORDER BY n) AS before FROM made) lagged;
	SELECT set_clock('+0') IS NOT NULL;
});
is($out, "6000|6000|t|t\nt", 'back within a statement: order holds');
is($err, '', 'back within a statement: no warning');

#
# The same between statements, by as much as max_drift allows
#
($out, $err) = session(q{
	SELECT make('within 1', 1000) > 0;
	SELECT set_clock('-5') IS NOT NULL;
	SELECT make('within 2', 1000) > 0;
	SELECT max(off(id)) BETWEEN '0.1 s' AND '5 s' FROM keys WHERE part = 'within 2';
	SELECT set_clock('-9') IS NOT NULL;
	SELECT make('within 3', 1000) > 0;
	SELECT max(off(id)) BETWEEN '0.1 s' AND '9 s' FROM keys WHERE part = 'within 3';
	-- when the clock has passed the keys, they are its own again
	SELECT set_clock('+0') IS NOT NULL;
	SELECT make('within 4', 1000) > 0;
	SELECT disorder('within%');
	SELECT bool_and(off(id) BETWEEN '-1 min' AND '0') FROM keys WHERE part = 'within 4';
});
is($out, 't t t t t t t t t 0 t' =~ tr/ /\n/r, 'some seconds back: order holds');
is($err, '', 'some seconds back: no warning');

#
# Further back than max_drift: keys follow the clock again.  Each process warns
# once, however often the clock goes back, and no key comes twice.
#
foreach my $step ([ 'hour', 3600 ], [ 'day', 86400 ])
{
	my ($name, $seconds) = @$step;

	($out, $err) = session(qq{
		SELECT make('$name 1', 1000) > 0;
		SELECT set_clock('-$seconds') IS NOT NULL;
		SELECT make('$name 2', 1000) > 0;
		SELECT bool_and(off(id) BETWEEN '-1 min' AND '0') FROM keys WHERE part = '$name 2';
		SELECT disorder('$name 1'), disorder('$name 2'), disorder('$name%');
		-- forward to the right time, and back once more over the same seconds
		SELECT set_clock('+0') IS NOT NULL;
		SELECT make('$name 3', 1000) > 0;
		SELECT disorder('$name 3'), bool_and(off(id) BETWEEN '-1 min' AND '0') FROM keys WHERE part = '$name 3';
		SELECT set_clock('-$seconds') IS NOT NULL;
		SELECT make('$name 4', 1000) > 0;
		SELECT disorder('$name 4'), bool_and(off(id) BETWEEN '-1 min' AND '0') FROM keys WHERE part = '$name 4';
		SELECT set_clock('+0') IS NOT NULL;
		SELECT make('$name 5', 1000) > 0;
	});
	is($out, 't t t t 0|0|1 t t 0|t t t 0|t t t' =~ tr/ /\n/r, "$name back: the clock is followed, order holds on each side");
	is(scalar(() = $err =~ /WARNING/g), 1, "$name back, twice: one warning");
	like($err, qr/WARNING:  the clock went back, and new keys sort before earlier ones of this process
DETAIL:  Keys were \d+ ms ahead of the clock, which now says \d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)?\+00; "pg_comb.max_drift" is 10000 ms.
HINT:  Check the server's clock synchronization./,
		"$name back: what the warning says");
}

#
# The clock was far ahead and is corrected.  A process that made keys meanwhile
# sees a clock set back; a process that made no keys is not affected.
#
($out, $err) = session(q{
	SELECT set_clock('+86400') IS NOT NULL;
	SELECT make('ahead 1', 1000) > 0;
	SELECT set_clock('+0') IS NOT NULL;
	SELECT make('ahead 2', 1000) > 0;
	SELECT bool_and(off(id) BETWEEN '-1 min' AND '0') FROM keys WHERE part = 'ahead 2';
});
is($out, "t\nt\nt\nt\nt", 'a clock put right is followed');
is(scalar(() = $err =~ /WARNING/g), 1, 'with one warning');
(undef, $err) = session("SELECT make('new 1', 1000) > 0;");
is($err, '', 'a new process has nothing to follow');

#
# The setting changes under a running session.  One minute back is more than 10 s
# and less than 2 h.
#
($out, $err) = session(q{SELECT make('drift 1', 1000) > 0;}
	  . change_drift('2h')
	  . q{
	SELECT set_clock('-60') IS NOT NULL;
	SELECT make('drift 2', 1000) > 0;
	SELECT max(off(id)) BETWEEN '50 s' AND '60 s' FROM keys WHERE part = 'drift 2';
	SELECT disorder('drift%');
	SHOW pg_comb.max_drift;
} . change_drift('10s') . q{
	-- the keys are further ahead than that allows by now
	SELECT make('drift 3', 1000) > 0;
	SELECT disorder('drift 3'), bool_and(off(id) BETWEEN '-10 s' AND '0') FROM keys WHERE part = 'drift 3';
	SELECT set_clock('+0') IS NOT NULL;
});
is($out, 't t t t t 0 2h t t 0|t t' =~ tr/ /\n/r, 'max_drift follows a reload, up and down');
is(scalar(() = $err =~ /WARNING/g), 1, 'and warns only when it was lowered');
like($err, qr/"pg_comb.max_drift" is 10000 ms/, 'naming the new limit');

# A new session reads the setting when it loads the module
session(change_drift('2h'));
($out, $err) = session(q{
	SELECT count(*) FROM pg_settings WHERE name = 'pg_comb.max_drift' AND setting = '7200000';
	SELECT make('loaded', 10) > 0;
	SHOW pg_comb.max_drift;
});
is($out, "0\nt\n2h", 'max_drift of the file holds from the first key on');

#
# Clocks whose time does not fit into a tick
#
foreach my $clock ('1969-12-30 12:00:00', '4200-01-02 12:00:00')
{
	($out, $err) = session(qq{
		SELECT set_clock('$clock') IS NOT NULL;
		SELECT comb_generate();
		SELECT set_clock('+0') IS NOT NULL;
		SELECT make('$clock', 10) > 0;
	}, 0);
	is($out, "t\nt\nt", "no key when the clock says $clock");
	like($err, qr/ERROR:  the system clock is out of range for keys
DETAIL:  Keys can be made from 1970 to the year 4199.
HINT:  Correct the server's clock./,
		'but an error');
}

# The clock went over the same seconds several times, but the primary key refused
# no key.
is($node->safe_psql('postgres', 'SELECT count(*) = count(DISTINCT id), count(*) >= 17000 FROM keys'), 't|t', 'never a key twice');

done_testing();

# Run SQL in one session, and return its output and messages.  psql sends the
# statements one by one, so the session lives through all steps.
sub session
{
	my ($sql, $stop) = @_;
	my (undef, $stdout, $stderr) = $node->psql('postgres', $sql, on_error_stop => $stop // 1, timeout => 120);
	return ($stdout, $stderr);
}

# SQL that sets max_drift and waits until this session sees the value, at most
# 10 s.  A session reads a new value between two statements, so the SQL has many.
sub change_drift
{
	my ($value) = @_;
	my $look = "current_setting('pg_comb.max_drift') <> '$value' AS waiting \\gset\n";
	return "ALTER SYSTEM SET pg_comb.max_drift = '$value';\nSELECT pg_reload_conf();\nSELECT $look"
	  . "\\if :waiting\nSELECT pg_sleep(0.05) AS slept, $look\\endif\n" x 200;
}
