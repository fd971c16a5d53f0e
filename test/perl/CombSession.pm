# Sessions that stay open while a test goes on, and readers of events.
#
# A session is a psql that the test talks to.  A reader is a session with the
# keys that it has read from the table event so far.  Its options are
#   query    what it asks, with $last in the place of the last key
#   columns  where its rows have the key, by default in the first column.  Two columns are a
#            key of two parts, and $last_id is the second of them.
#   key      the key as an expression over the table; two parts have "|" between them
#   table    the table, or a query in parentheses
#   last     after which key it begins
package CombSession;

use strict;
use warnings;

use IPC::Run ();
use Test::More;
use Time::HiRes qw(time usleep);

use constant NIL => '00000000-0000-0000-0000-000000000000';

# What the sessions work with, in each database
our $setup = q{
	CREATE EXTENSION pg_comb_ordered CASCADE;
	CREATE TABLE event (id uuid PRIMARY KEY DEFAULT comb_generate_ordered(), what text);
};

sub new
{
	my ($class, $node, $database, %options) = @_;
	my $self = bless {
		node => $node, database => $database // 'postgres', n => 0,
		last => NIL, got => [], table => 'event', key => 'id', columns => [0], %options }, $class;

	$self->{start} = $self->{last};
	return $self->connect;
}

# Connect, also again, with what was read so far.  psql's
# pipes are bound to these three texts.
sub connect
{
	my ($self) = @_;
	my $user = $self->{user} ? " user=$self->{user}" : '';

	@$self{qw(in out err)} = ('', '', '');
	$self->{timer} = IPC::Run::timeout(90);
	$self->{run} = IPC::Run::start(
		[ 'psql', '-XqAt', '-v', 'VERBOSITY=verbose', '-f', '-', '-d', $self->{node}->connstr($self->{database}) . $user ],
		'<', \$self->{in}, '>', \$self->{out}, '2>', \$self->{err}, $self->{timer});
	$self->{pid} = $self->ask('SELECT pg_backend_pid()');
	return $self;
}

# Start a statement, and go on.  It has 90 seconds.
sub send
{
	my ($self, $sql) = @_;
	$self->{n}++;
	$self->{timer}->start;
	$self->{in} .= "$sql\n;\n\\echo done $self->{n}\n\\warn done $self->{n}\n";
	$self->{run}->pump_nb;
	return;
}

# Whether the whole answer of the statement has been read
sub complete
{
	my ($self) = @_;
	my $end = "done $self->{n}\n";
	return !grep { length($_) < length($end) || substr($_, -length($end)) ne $end } @$self{qw(out err)};
}

# Whether the statement has ended by now
sub answered
{
	my ($self) = @_;
	$self->{run}->pump_nb;
	return $self->complete;
}

# Wait for the statement.  Return its output and its complaints.
sub result
{
	my ($self) = @_;

	while (!$self->complete)
	{
		last unless $self->{run}->pumpable && eval { $self->{run}->pump; 1 };
	}
	die 'a session does not answer' if $@ && $@ =~ /timeout/;
	$self->{ended} = !$self->complete || $self->{err} =~ /server closed the connection|connection to server was lost/;
	my ($out, $err) = ($self->{out}, $self->{err});
	s/done \d+\n// for ($out, $err);
	chomp($out);
	$self->{out} = $self->{err} = '';
	return ($out, $err);
}

# Run statements that succeed, and return their output.
sub ask
{
	my ($self, $sql) = @_;
	$self->send($sql);
	my ($out, $err) = $self->result;
	die "$sql\n$err" if $self->{ended} || $err =~ /(?:ERROR|FATAL|PANIC): /;
	return $out;
}

# Run statements, and return what they complain of.
sub complaints
{
	my ($self, $sql) = @_;
	$self->send($sql);
	my (undef, $err) = $self->result;
	return $err;
}

# Insert a row
sub event
{
	my ($self) = @_;
	return $self->ask("INSERT INTO $self->{table} DEFAULT VALUES");
}

# End the session, also one whose server has gone, and wait until its backend has ended, too.
sub quit
{
	my ($self) = @_;
	$self->{in} .= "\\q\n";
	eval { $self->{run}->finish };
	for (1 .. 400)
	{
		last unless kill 0, $self->{pid};
		usleep(25_000);
	}
	return;
}

# Connect again after the server's restart.
sub again
{
	my ($self) = @_;
	$self->quit;
	return $self->connect;
}

#
# Readers
#

sub query
{
	my ($self, $settled) = @_;
	my ($last, $last_id) = split(/\|/, $self->{last});
	return $self->{query} =~ s/'?\$last\b'?/'$last'/gr =~ s/\$last_id\b/$last_id/gr if $self->{query};
	return "SELECT id FROM $self->{table} WHERE id > '$last' AND id < $settled ORDER BY id";
}

# Remember what a query returned, and return how many rows there were.
sub take
{
	my ($self, $out) = @_;
	my @rows = map { [ split(/\|/) ] } grep { /^(?:[0-9a-f]{8}-|\d+\|)/ } split(/\n/, $out);

	foreach my $row (@rows)
	{
		my $key = join('|', @$row[ @{ $self->{columns} } ]);
		push @{ $self->{got} }, $key;
		$self->{last} = $key;
	}
	return scalar(@rows);
}

sub poll
{
	my ($self) = @_;
	return $self->take($self->ask($self->query('comb_settled()')));
}

# Whether a key comes before another: a uuid, a number, or a time and a number
sub before
{
	my ($one, $other) = map { [ split(/\|/) ] } @_;
	foreach my $i (0 .. $#$one)
	{
		my ($x, $y) = ($one->[$i], $other->[$i]);
		next if $x eq $y;
		return $x =~ /^\d+$/ ? $x < $y : $x lt $y;
	}
	return 0;
}

# Compare what was read with the table: rows read, lost, after the last one read, never
# committed, and read twice or out of order
sub counts
{
	my ($self) = @_;
	my %seen = map { $_ => 1 } @{ $self->{got} };
	my %rows = map { $_ => 1 } split(/\n/, $self->ask("SELECT $self->{key} FROM $self->{table} WHERE $self->{key} > '$self->{start}'"));
	my @missing = grep { !$seen{$_} } keys %rows;
	my $lost    = grep { before($_, $self->{last}) } @missing;
	my $got     = $self->{got};
	my $down    = grep { !before($got->[ $_ - 1 ], $got->[$_]) } 1 .. $#$got;
	return (scalar(@$got), $lost, @missing - $lost, scalar(grep { !$rows{$_} } keys %seen), $down);
}

# Read the rest, also with a query that has LIMIT 1000.  Everything must then have been read once, in the order of keys.
sub reads_all
{
	my ($self, $name) = @_;
	1 while $self->poll >= 1000;
	my (undef, @counts) = $self->counts;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return is(sprintf('%d lost, %d held back, %d never committed, %d twice or out of order', @counts),
		'0 lost, 0 held back, 0 never committed, 0 twice or out of order', $name);
}

1;
