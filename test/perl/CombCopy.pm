# A tool that copies a table or a view: a program of test/pipelines, which is killed
# and begins again.  The options are
#   user   the role that it connects as
#   log    the server's log, see polls
package CombCopy;

use strict;
use warnings;

use PostgreSQL::Test::Utils;
use POSIX ();
use Test::More;
use Time::HiRes qw(usleep);

my @copies;

sub new
{
	my ($class, $relation, $cursor, %options) = @_;
	push @copies, bless { relation => $relation, cursor => $cursor, kills => 0, %options,
		directory => PostgreSQL::Test::Utils::tempdir() }, $class;
	return $copies[-1];
}

# It has a process group of its own, to be killed with all that it has started.
sub start
{
	my ($self, @command) = @_;
	$self->{started} = 1;
	$self->{pid} = fork() // die 'cannot fork';
	return if $self->{pid};
	setpgrp(0, 0);
	$ENV{PGUSER} = $self->{user} if $self->{user};
	chdir('test/pipelines') or die 'cannot change to the directory';
	open(STDIN,  '<',  '/dev/null');
	open(STDOUT, '>>', "$self->{directory}/out");
	open(STDERR, '>>', "$self->{directory}/err");
	exec(@command, @$self{qw(relation cursor directory)}) or POSIX::_exit(127);
}

# The server's log has the polls of a tool that cannot say when it polls.  Its sessions have the
# name of the table or view.
sub polls
{
	my ($self) = @_;
	my ($file, $poll) = ("$self->{directory}/out", qr/^poll$/m);
	($file, $poll) = ($self->{log}, qr/ \Q$self->{relation}\E LOG: +execute .* FROM .* WHERE /) if $self->{log};
	return -e $file ? scalar(() = slurp_file($file) =~ /$poll/g) : 0;
}

sub runs
{
	my ($self) = @_;
	$self->{pid} = 0 if $self->{pid} && waitpid($self->{pid}, POSIX::WNOHANG()) != 0;
	return $self->{pid};
}

# Whether it has written what has arrived
sub ended { return -e "$_[0]{directory}/rows"; }

sub complaints { return slurp_file("$_[0]{directory}/err"); }

# Kill it at some moment of its next poll, so that it begins again.
sub kill
{
	my ($self) = @_;
	usleep(rand(2_000_000));
	kill('KILL', -$self->{pid});
	waitpid($self->{pid}, 0);
	$self->{kills}++;
	@$self{qw(pid started)} = (0, 0);
	return;
}

sub compare
{
	my ($self, @rows) = @_;
	die "$self->{relation}: " . $self->complaints unless $self->ended;
	my %rows = map { $_ => 0 } @rows;
	@$self{qw(lost changed twice)} = (0, 0, 0);

	foreach (split(/\n/, slurp_file("$self->{directory}/rows")))
	{
		if    (!exists $rows{$_}) { $self->{changed}++; }
		elsif ($rows{$_}++)       { $self->{twice}++; }
	}
	$self->{lost} = grep { !$_ } values %rows;
	diag(sprintf("%s by %s%s: %d lost, %d twice, %d polls, killed %d times",
		@$self{qw(relation cursor)}, $self->{user} ? " as $self->{user}" : '', @$self{qw(lost twice)}, $self->polls, $self->{kills}));
	return $self;
}

END
{
	local $?;
	CORE::kill('KILL', -$_->{pid}) foreach grep { $_->{pid} } @copies;
}

1;
