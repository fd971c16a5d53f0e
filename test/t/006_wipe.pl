# Random bytes are erased from memory once a key has used them, so that nobody who
# reads the memory later learns anything about keys already made.
use lib 'test/perl';
use CombTest;
use CombSession;

my $node = server('main', sql => 'CREATE EXTENSION pg_comb');
my $session = CombSession->new($node);
my $pid = $session->ask('SELECT pg_backend_pid()');
my @keys = split(/\n/, $session->ask('SELECT comb_generate() FROM generate_series(1, 200)'));
is(scalar(@keys), 200, 'keys are made');

# The writable memory of the session's process.  The server and this test are
# one user's; a system can forbid it all the same.
my $memory = '';
if (open(my $maps, '<', "/proc/$pid/maps") and open(my $mem, '<:raw', "/proc/$pid/mem"))
{
	while (my $line = <$maps>)
	{
		my ($from, $to, $file) = $line =~ /^(\w+)-(\w+) rw\S* \S+ \S+ \d+\s*(.*)$/ or next;
		next if $file =~ m{^/dev|SYSV|pg_comb\.conf} || hex($to) - hex($from) > 64 * 1024 * 1024;
		sysseek($mem, hex($from), 0) or next;
		my $part = '';
		sysread($mem, $part, hex($to) - hex($from));
		$memory .= $part;
	}
}

SKIP:
{
	skip 'the memory of another process cannot be read here', 1 if $memory eq '';

	# A key's last seven bytes are random, from the pool's words in the order of
	# the machine.  The last key's may still be on the stack.
	my $found = 0;
	foreach my $key (@keys)
	{
		my $bytes = substr(pack('H*', $key =~ s/-//gr), 9);
		$bytes = reverse($bytes) if unpack('C', pack('S', 1)) == 1;
		$found++ if index($memory, $bytes) >= 0;
	}
	cmp_ok($found, '<', 20, 'the memory does not have the random bytes of keys made before');
}

$session->quit;
done_testing();
