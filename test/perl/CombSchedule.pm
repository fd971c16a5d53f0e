# Schedules: what several sessions do, step by step, in one line with the expected answers.
#
# A step is the session, a dot and the statement, and after "=" what the statement shows: its
# rows with commas between them, or the SQLSTATE of its error.  A number behind the statement
# replaces N in it.  "r.check" reads the rest, and compares everything that was read with the
# table event: each row must come once, in the order of the keys.
#
# A late query takes its snapshot, waits for the lock of session w, and asks comb_settled() after
# that.  What happens in between is what the query does not see, although the writers have
# already taken their announcements back.  Its answer stands with the step that sent it, as do
# those of all steps that wait for a lock.
#
# "a.commit@end-seat" is held at the injection point comb-end-seat until the step "a.go", and
# "a.event!announce" fails there.  A step "go" shows "nobody" where no session is held.
#
# The order of the names is the order of connecting: session a's seat is before the reader's,
# session z's after it.  Statements are SQL, or functions of the schedule, the session and the
# number, which may return SQL.  Those of the server have no session.
package CombSchedule;

use strict;
use warnings;

use CombSession;
use CombTest;
use Time::HiRes qw(usleep);

our $setup = $CombSession::setup . q{
	CREATE TABLE seen (n serial, id uuid);
	CREATE TABLE place (position text);
	INSERT INTO place VALUES ('');
	CREATE PROCEDURE many(n integer) LANGUAGE plpgsql AS
	$$
	BEGIN
		FOR i IN 1..n LOOP
			INSERT INTO event (what) VALUES ('many');
			COMMIT;
		END LOOP;
	END
	$$;
	-- waits for the lock of session w
	CREATE FUNCTION wait_here() RETURNS integer STABLE LANGUAGE plpgsql AS
		'BEGIN PERFORM pg_advisory_lock_shared(1), pg_advisory_unlock_shared(1); RETURN 0; END';
	CREATE FUNCTION late_settled() RETURNS uuid STABLE LANGUAGE plpgsql AS 'BEGIN PERFORM wait_here(); RETURN comb_settled(); END';

	-- the last key that the reader has seen
	CREATE FUNCTION last_seen() RETURNS uuid STABLE LANGUAGE sql AS
		$$ SELECT coalesce((SELECT id FROM seen ORDER BY n DESC LIMIT 1), '00000000-0000-0000-0000-000000000000') $$;
};
my $good = '0 lost|0 held back|0 never committed|0 twice|0 out of order';

# New rows up to a bound, which the reader remembers
sub new_rows
{
	my ($bound, $shown) = @_;
	return "WITH got AS (INSERT INTO seen (id)
		SELECT id FROM event WHERE id > last_seen() AND id < $bound ORDER BY id RETURNING id) SELECT $shown FROM got";
}

# New rows of a position, in which "and" is another condition
sub by_position
{
	my ($and) = @_;
	return "WITH got AS (INSERT INTO seen (id) SELECT id FROM place, event WHERE comb_unread(id, event.xmin, position) $and RETURNING id),
		moved AS (UPDATE place SET position = comb_position(position)) SELECT count(*) FROM got";
}

# What "check" shows of readers whose rows come in no order
our $once = q{
	SELECT count(*) FILTER (WHERE seen.id IS NULL) || ' lost', '0 held back', count(*) FILTER (WHERE event.id IS NULL) || ' never committed',
	       (SELECT count(*) - count(DISTINCT id) FROM seen) || ' twice', '0 out of order'
	FROM event FULL JOIN seen USING (id)};
our $unread = 'SELECT id FROM event WHERE id > last_seen() AND id < comb_settled() ORDER BY id';
my %common = (
	begin      => 'BEGIN',
	repeatable => 'BEGIN ISOLATION LEVEL REPEATABLE READ',
	commit     => 'COMMIT',
	rollback   => 'ROLLBACK',
	serializable => 'BEGIN ISOLATION LEVEL SERIALIZABLE',
	save       => 'SAVEPOINT s',
	undo       => 'ROLLBACK TO s',
	pause      => 'DO $$ BEGIN PERFORM pg_sleep(N / 1000.0); END $$',
	count      => 'SELECT count(*) FROM event',

	# writers
	event  => "INSERT INTO event (what) VALUES ('event')",
	many   => 'CALL many(N)',
	key    => q{DO $$ BEGIN PERFORM set_config('feed.key', comb_generate_ordered()::text, false); END $$},
	undone => "SAVEPOINT s; INSERT INTO event (what) VALUES ('undone'); ROLLBACK TO s",
	snowflake => 'DO $$ BEGIN PERFORM comb_snowflake(instance_bits => 0); END $$',
	late   => "INSERT INTO event (id) VALUES (current_setting('feed.key')::uuid)",
	nokey  => 'CREATE TABLE unrelated (); DROP TABLE unrelated',
	xid    => 'DO $$ BEGIN PERFORM txid_current(); END $$',
	lock   => 'DO $$ BEGIN PERFORM pg_advisory_lock(1); END $$',
	unlock => 'DO $$ BEGIN PERFORM pg_advisory_unlock(1); END $$',

	# transactions prepared with a key, and without
	prepare   => "PREPARE TRANSACTION 'pN'",
	prepared  => "BEGIN; INSERT INTO event (what) VALUES ('event'); PREPARE TRANSACTION 'pN'",
	keyless   => q{BEGIN; DO $$ BEGIN PERFORM txid_current(); END $$; PREPARE TRANSACTION 'pN'},
	twophase  => sub { "BEGIN; INSERT INTO event (what) VALUES ('two'); PREPARE TRANSACTION 'p0'; COMMIT PREPARED 'p0';" x $_[2] },
	commitp   => "COMMIT PREPARED 'pN'",
	rollbackp => "ROLLBACK PREPARED 'pN'",

	# readers
	poll    => new_rows('comb_settled()', 'count(*)'),
	pollate => new_rows('(SELECT late_settled())', 'count(*)'),
	atleast => new_rows('(SELECT late_settled())', 'count(*) >= N'),
	pos     => by_position(''),
	gaps    => q{SELECT length(position) - length(replace(position, '/', '')) FROM place},
	check   => "WITH got AS (INSERT INTO seen (id) $unread) SELECT;
		SELECT count(*) FILTER (WHERE seen.id IS NULL AND event.id < last_seen()) || ' lost',
		       count(*) FILTER (WHERE seen.id IS NULL AND event.id > last_seen()) || ' held back',
		       count(*) FILTER (WHERE event.id IS NULL) || ' never committed',
		       (SELECT count(*) - count(DISTINCT id) FROM seen) || ' twice',
		       (SELECT count(*) FROM (SELECT id < lag(id) OVER (ORDER BY n) AS down FROM seen) AS s WHERE down) || ' out of order'
		FROM event FULL JOIN seen USING (id)",

	# a snapshot of the session's transaction, for another one
	export    => sub { $_[0]{snapshot} = $_[1]->ask('SELECT pg_export_snapshot()'); return },
	import    => sub { "BEGIN ISOLATION LEVEL REPEATABLE READ; SET TRANSACTION SNAPSHOT '$_[0]{snapshot}'" },

	# sessions and the server
	fresh     => sub { $_[1]->again; return },
	cancel    => sub { $_[0]->observe("SELECT pg_cancel_backend($_[1]->{pid})"); return },
	terminate => sub { $_[0]->observe("SELECT pg_terminate_backend($_[1]->{pid}, 60000)"); $_[1]->again; return },
	detach    => sub { $_[0]->observe("SELECT injection_points_detach('$_[1]->{held}')"); return },
	connect   => sub { $_[1]->connect; return },
	quit      => sub { $_[1]->quit; return },
	go        => sub { $_[0]->release($_[1]); return },
	restart   => sub { $_[0]->restart('fast') },
	crash     => sub { $_[0]->restart('immediate') });

# Connect sessions of these names.  The options are
#   statements  more than the common ones
#   database    what they use, by default postgres
#   other, in   the names of those that use the database other, and databases by name
#   user        roles by name
#   clean       a statement after each schedule
sub new
{
	my ($class, $node, $names, %with) = @_;
	my $self = bless {
		node => $node, database => 'postgres', clean => "TRUNCATE event, seen; UPDATE place SET position = ''", %with,
		statements => { %common, %{ $with{statements} // {} } } }, $class;
	my %elsewhere = (%{ $with{in} // {} }, map { $_ => 'other' } split(/ /, $with{other} // ''));

	foreach my $name (split(/ /, $names))
	{
		my @user = exists $with{user}{$name} ? (user => $with{user}{$name}) : ();
		$self->{session}{$name} = CombSession->new($node, $elsewhere{$name} // $self->{database}, @user);
	}
	$self->{observer} = [ map { CombSession->new($node, $_) } ($self->{database}, $with{other} ? 'other' : ()) ];
	return $self;
}

sub all
{
	my ($self) = @_;
	return (@{ $self->{observer} }, map { $self->{session}{$_} } sort keys %{ $self->{session} });
}

sub observe
{
	my ($self, $sql) = @_;
	return $self->{observer}[0]->ask($sql);
}

sub restart
{
	my ($self, $mode) = @_;
	$self->{node}->stop($mode);
	$self->{node}->start;
	$_->again foreach $self->all;
	return;
}

# Whether a session waits for a lock, is held, or sleeps in comb_wait() (before 17 an "Extension")
sub waits
{
	my ($self, $session) = @_;
	return $self->observe("SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted AND pid = $session->{pid})
		OR EXISTS (SELECT FROM pg_stat_activity WHERE wait_event ~ '^(comb-|CombWait\$|Extension\$)' AND pid = $session->{pid})") eq 't';
}

# An injection point holds the session, or raises an error, and does nothing to others.
sub attach
{
	my ($session, $point, $action) = @_;
	$session->ask('SELECT injection_points_set_local()') if ($session->{local} // 0) != $session->{pid};
	$session->{local} = $session->{pid};
	$session->{held}  = $point;
	$session->ask("SELECT injection_points_attach('$point', '$action')");
	return;
}

sub release
{
	my ($self, $session) = @_;
	my $point = $session->{held};
	my $held  = $self->waits($session);
	$self->observe("SELECT injection_points_detach('$point')");
	$self->observe("SELECT injection_points_wakeup('$point')") if $held;
	return;
}

# Wait until a session has answered, or waits.  A statement that does neither is cancelled
# after a minute, so that the schedule fails by the error.
sub settle
{
	my ($self, $session, $must_answer) = @_;

	my $end = time() + 60;
	while (time() < $end)
	{
		return 1 if $session->answered;
		return 0 if !$must_answer && $self->waits($session);
		usleep(1000);
	}
	$self->observe("SELECT pg_cancel_backend($session->{pid})");
	return 1;
}

# Run a schedule, and return the schedule with what its steps have shown.
sub run
{
	my ($self, $schedule) = @_;
	my @shown = map { s/=.*//r } split(/ /, $schedule);
	my %pending;

	# Take the answer of the step that the session has been given, if it has one by now.
	my $collect = sub {
		my ($name) = @_;
		my $step = delete $pending{$name} or return;
		my ($out, $err) = $self->{session}{$name}->result;
		$$step .= '=' . $out =~ s/\n/,/gr if $out ne '' && $out ne $good;
		return unless $err =~ /(?:ERROR|FATAL|PANIC):  (\w{5})/;
		$$step .= "=$1";
		push @{ $self->{errors} }, $err;
	};

	$self->{errors} = [];
	foreach my $step (@shown)
	{
		my ($name, $what, $n, $at, $point) = $step =~ /^(?:(\w)\.)?([a-z]+)(\d*)(?:([@!])([a-z-]+))?$/
		  or die "not a step: $step";
		my $session = defined $name ? $self->{session}{$name} : undef;
		my $sql = $self->{statements}{$what} // die "not a statement: $what";

		$sql = $sql->($self, $session, $n) if ref $sql;
		$step .= '=nobody' if $what eq 'go' && !$pending{$name};
		foreach my $other (sort keys %pending)
		{
			my $running = $self->{session}{$other};
			my $goes_on = $other eq ($name // '') && (defined $sql || $what eq 'go');
			$collect->($other) if $self->settle($running, $goes_on);
		}
		next unless defined $sql;
		attach($session, "comb-$point", $at eq '@' ? 'wait' : 'error') if defined $point;
		$session->send($sql =~ s/(?<![A-Z])N\b/$n/gr);
		$pending{$name} = \$step;
		$collect->($name) if $self->settle($session);
		$self->observe("SELECT injection_points_detach('comb-$point')") if ($at // '') eq '!';
	}
	foreach my $name (sort keys %pending)
	{
		$self->settle($self->{session}{$name}, 1);
		$collect->($name);
	}
	return "@shown";
}

# Run the schedules of a text, one a line.  Lines that begin with # are comments.
sub test
{
	my ($self, $text) = @_;

	foreach my $schedule (grep { /^[^#]/ } map { s/^\s+//r } split(/\n/, $text))
	{
		is($self->run($schedule), $schedule, $schedule) or diag(@{ $self->{errors} });
		$_->ask($self->{clean}) foreach @{ $self->{observer} };
	}
	return;
}

# The same for each of these values of %
sub for_each
{
	my ($self, $values, $text) = @_;
	$self->test($text =~ s/%/$_/gr) foreach @$values;
	return;
}

1;
