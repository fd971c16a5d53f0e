# Lets TAP tests run on a server for Windows: -MCombWine comes before the test.
#
# The server has no Unix sockets, and its processes have Windows' process ids.  The servers' modules
# and the tests send signals to these; what IPC::Run sends goes to its own children.  Windows ends
# a process by force, or asks a process of PostgreSQL by its pipe, as pg_ctl does.
package CombWine;

use strict;
use warnings;

BEGIN
{
	*CORE::GLOBAL::kill = sub {
		my ($signal, @pids) = @_;
		return CORE::kill($signal, @pids) if caller() =~ /^IPC::Run/ || grep { $_ < 0 } @pids;
		my $sent = 0;
		foreach my $pid (@pids)
		{
			# Who asks whether a process is there waits for its end, and gets a moment.
			if ($signal eq '0') { select(undef, undef, undef, 0.2); }
			elsif ($signal =~ /^(?:9|(?:SIG)?KILL)$/) { $sent += system("env -u TMPDIR wine taskkill /F /PID $pid >/dev/null 2>&1") == 0; }
			else { $sent += system("pg_ctl kill $signal $pid >/dev/null 2>&1") == 0; }
		}
		return $sent;
	};
}

use PostgreSQL::Test::Utils;

$PostgreSQL::Test::Utils::use_unix_sockets = 0;

1;
