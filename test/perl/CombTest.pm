# What TAP tests begin with.  "use CombTest" brings strict, warnings, Test::More,
# PostgreSQL::Test::Cluster and PostgreSQL::Test::Utils, and these functions:
#
#   servers   server standby configure wait_until ask error_of wait_for_server crash
#   clocks    need_faketime start_at start_with_clock clock_settings clock_ends_in_2038
#             replace_file
#   others    tempdir compile_c old_releases objects_differ
#
# Sessions that stay open are in CombSession.pm, schedules of what they do in CombSchedule.pm,
# the pages' recipes in CombFeed.pm, and the clients of soaks in CombSoak.pm.  All servers
# end with the test.
package CombTest;

use strict;
use warnings;

use Exporter ();
use File::Copy qw(copy);
use File::Path qw(make_path);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

our @EXPORT = (
	@Test::More::EXPORT, @PostgreSQL::Test::Utils::EXPORT,
	qw(server standby configure wait_until tempdir
	  need_faketime clock_settings clock_ends_in_2038 start_at start_with_clock
	  replace_file compile_c crash wait_for_server ask
	  error_of old_releases objects_differ));

sub import
{
	strict->import;
	warnings->import;
	goto &Exporter::import;
}

sub tempdir { return PostgreSQL::Test::Utils::tempdir(); }

# Make and start a server.  The options are
#   conf   settings
#   sql    statements that run in the database postgres
#   init   the options of PostgreSQL::Test::Cluster's init, as [ allows_streaming => 1 ]
#   clock  the shift of its clock, see start_at
#   start  0 if it shall not start, and sql not run
sub server
{
	my ($name, %with) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);

	$node->init(@{ $with{init} // [] });
	$node->append_conf('postgresql.conf', $with{conf}) if $with{conf};
	return $node unless $with{start} // 1;
	if (exists $with{clock}) { start_at($node, $with{clock}) }
	else { $node->start }
	$node->safe_psql('postgres', $with{sql}) if $with{sql};
	return $node;
}

# Make and start a standby, with these settings.
sub standby
{
	my ($primary, $name, $conf) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);

	$primary->backup("for_$name");
	$node->init_from_backup($primary, "for_$name", has_streaming => 1);
	$node->append_conf('postgresql.conf', $conf) if $conf;
	$node->start;
	return $node;
}

# Change settings, and wait until new sessions have them.
sub configure
{
	my ($node, $conf) = @_;
	my $before = $node->safe_psql('postgres', 'SELECT pg_conf_load_time()');

	$node->append_conf('postgresql.conf', $conf);
	$node->reload;
	return wait_until($node, "SELECT pg_conf_load_time() > '$before'", 'the settings do not arrive');
}

# Wait until a query gives true, or die with these words.
sub wait_until
{
	my ($node, $query, $otherwise) = @_;
	$node->poll_query_until('postgres', $query) or die $otherwise // "never true: $query";
	return;
}

my $library;
my @shared;

# Skip the whole test file if libfaketime is missing, or is for another C library than the server.
sub need_faketime
{
	plan skip_all => "libfaketime cannot shift the clock of a server for $ENV{RUN_FOREIGN}" if $ENV{RUN_FOREIGN};
	($library) = grep { -e $_ } (
		glob('/usr/lib/*/faketime/libfaketime.so.1'),
		glob('/usr/{,local/}lib{,64}/faketime/libfaketime.so.1'));
	plan skip_all => 'libfaketime is not installed (Debian: faketime)'
	  unless defined $library;
	return;
}

# Return whether the machine's clock ends in January 2038, as a count of seconds in 32
# bits does.  Some machines with 32-bit longs have longer clocks, and skip tests then
# that they could pass.
sub clock_ends_in_2038 { return length(pack('l!', 0)) < 8; }

# Return the environment in which a program has a shifted clock.  An empty shift leaves
# the clock to other settings of libfaketime.
sub clock_settings
{
	my ($shift) = @_;
	my %settings = (
		LD_PRELOAD                   => $library,
		FAKETIME_DONT_FAKE_MONOTONIC => 1,
		FAKETIME_DISABLE_SHM         => 1);

	$settings{FAKETIME} = $shift if $shift;
	local %ENV = (%ENV, %settings);
	my $share = share();
	$settings{FAKETIME_SHARED} = $share if $share;
	return %settings;
}

# Start a server with a shifted clock.  A shift such as "-12h" moves the clock, an
# undefined shift leaves the true clock, and an empty shift leaves the clock to other
# settings of libfaketime.  After a crash, old processes may take a moment to end, so
# the function tries again.
sub start_at
{
	my ($node, $shift) = @_;
	local %ENV = %ENV;
	delete @ENV{qw(LD_PRELOAD FAKETIME FAKETIME_SHARED)};
	%ENV = (%ENV, clock_settings($shift)) if defined $shift;

	for (1 .. 60)
	{
		return if $node->start(fail_ok => 1);
		# stop a server that started too late for pg_ctl
		$node->stop('fast', fail_ok => 1);
		usleep(250_000);
	}
	die 'the server did not start within 15 seconds';
}

# Start a server whose clock follows a file.  The file holds a shift such as "-12h"
# or a time, and libfaketime reads the file at every look at the clock.  The third
# argument is the shift at the start, by default none.
sub start_with_clock
{
	my ($node, $file, $shift) = @_;
	local $ENV{FAKETIME_TIMESTAMP_FILE} = $file;
	local $ENV{FAKETIME_NO_CACHE}       = 1;
	local $ENV{TZ}                      = 'UTC';

	replace_file($file, $shift // '+0');
	return start_at($node, '');
}

# Write one line to a file that processes read at any time, such as that of a clock: a
# new file is renamed, because a process that reads an empty file dies.
sub replace_file
{
	my ($file, $line) = @_;
	open(my $fh, '>', "$file.new") or die "could not open $file.new: $!";
	print $fh "$line\n";
	close($fh);
	rename("$file.new", $file) or die "could not rename $file.new: $!";
	return;
}

# Compile a program in C, and return whether that was possible.  Skip the whole test
# file if there is no compiler.
sub compile_c
{
	my (@arguments) = @_;
	my ($compiler) = grep { defined && system("$_ --version >/dev/null 2>&1") == 0 } $ENV{CC}, qw(cc gcc clang);
	plan skip_all => 'needs a C compiler' unless defined $compiler;
	return system(split(' ', $compiler), '-O2', @arguments) == 0;
}

# Libraries up to 0.9.10 do not know FAKETIME_DISABLE_SHM.  They make a semaphore and
# a piece of shared memory, which the test's servers would leave behind.  Instead a
# shell makes both, and does not remove them because it turns into another program.
# All servers of the test use this pair, and the test removes the pair at its end.
sub share
{
	unless (@shared)
	{
		open(my $fh, '-|', '/bin/sh', '-c', 'echo $FAKETIME_SHARED; exec /bin/true')
		  or die "could not start a shell: $!";
		my $names = <$fh>;
		close($fh);
		return '' unless defined $names && $names =~ m{^/(\w+) /(\w+)$};
		@shared = ($1, $2);
	}
	return "/$shared[0] /$shared[1]";
}

END { unlink("/dev/shm/sem.$shared[0]", "/dev/shm/$shared[1]") if @shared; }

# Kill the postmaster, so that the server writes nothing more.  The other processes
# end when they notice.
sub crash
{
	my ($node) = @_;
	my $pid = $node->{_pid};

	$node->kill9;
	for (1 .. 100)
	{
		last unless kill 0, $pid;
		usleep(50_000);
	}
	return;
}

# Wait until a server takes queries again.  If the server refuses the connection, psql
# can end before it has read the query.  Under Wine it may get no answer at all.
sub wait_for_server
{
	my ($node) = @_;
	my ($rc, $late, $stdout, $stderr);

	for (1 .. 600)
	{
		$late = 0;
		eval {
			$rc = $node->psql('postgres', 'SELECT true', timeout => 30, timed_out => \$late, stdout => \$stdout, stderr => \$stderr);
			1;
		} || $@ =~ /Broken pipe/ || die $@;
		return if defined $rc && $rc == 0 && !$late;
		usleep(100_000);
	}
	die "the server does not come back: $stderr";
}

# Return the columns of a query's single row
sub ask
{
	my ($node, $database, $sql) = @_;
	return split(/\|/, $node->safe_psql($database, $sql));
}

# Return SQLSTATE and text of a statement's error
sub error_of
{
	my ($node, $database, $sql) = @_;
	my ($rc, $stdout, $stderr) = $node->psql($database, "\\set VERBOSITY verbose\n$sql");
	return $stderr;
}

# New databases get the current version only.  Return the settings by which a server also has the
# scripts of releases that are in test/data, and the directory of all its scripts.  Return nothing
# if the server finds extensions in no private directory.
sub old_releases
{
	my ($setting) = grep { /^extension_(?:destdir|control_path) = / } split(/\n/, slurp_file($ENV{TEMP_CONFIG} // '/dev/null'));
	return unless defined $setting;
	chomp(my $share = `pg_config --sharedir`);
	my $scratch = tempdir();
	my $scripts = "$scratch$share/extension";
	make_path($scripts);
	copy($_, $scripts) or die "could not copy $_: $!" foreach glob('*.control sql/*--*.sql test/data/*--*.sql');
	$setting =~ s{= '[^:']*?(\Q$share\E)?(:[^']*)?'}{ "= '$scratch" . ($1 // '') . ($2 // '') . "'" }e;
	return ("$setting\n", $scripts);
}

# Return what differs in the extensions of two databases, as lines that begin with - for the
# first database and + for the second.  The dump for pg_upgrade has the extensions' objects one
# by one.  A line gets its object's name.  Object ids do not count, nor does the order of the
# extensions that one requires, nor do records of initial privileges, which pg_upgrade loses
# where they are the default ones.
sub objects_differ
{
	my ($node, @databases) = @_;
	my ($first, $second) = map {
		my ($dump) = run_command([ 'pg_dump', '--schema-only', '--binary-upgrade', $node->connstr($_) ]);
		$dump =~ s/ARRAY\['plpgsql','pg_comb'\]/ARRAY['pg_comb','plpgsql']/;
		my @objects = grep { /^.*(?:comb_|pg_comb|; Schema: keys;)/ } split(/^-- (?:Data for )?Name: /m, $dump =~ s/\b\d{5,}\b/ID/gr);
		my %lines;
		foreach my $object (@objects)
		{
			my ($name) = $object =~ /^(.*?);/;
			$lines{"$name: $_"} = 1 foreach grep { !/^(?:SET .*|\\.*|--)?$|setval|init_privs|; Type: ACL/ } split(/\n/, $object);
		}
		\%lines;
	} @databases;
	return join("\n", (map { "-$_" } grep { !$second->{$_} } sort keys %$first),
		(map { "+$_" } grep { !$first->{$_} } sort keys %$second));
}

1;
