# The first keys of many new processes share no random bytes, whether the module
# is preloaded or not, and each process has a head of its own for layout morris.
#
# A server process starts as a copy of the postmaster.  With
# shared_preload_libraries the copy includes the module's memory.  If the
# postmaster drew random bytes, all processes would have the same bytes.
#
# Once a key has used its random bytes, they are erased, so that nobody who reads the memory later
# learns anything about keys already made.
use lib 'test/perl';
use CombSession;
use CombTest;

my $processes = 300;
my $node      = server('main', sql => q{
	CREATE EXTENSION pg_comb;
	CREATE TABLE first_keys (pid int, backend_start timestamptz, id uuid, given uuid, morris uuid)});

foreach my $preloaded (0, 1)
{
	configure($node, "shared_preload_libraries = 'pg_comb'") if $preloaded;
	$node->restart;
	is($node->safe_psql('postgres', "SELECT count(*) FROM pg_settings WHERE name = 'pg_comb.max_drift'"),
		$preloaded, 'the module is loaded before the first call, or is not');

	# -C makes a new connection for each transaction
	$node->pgbench('-n -C -c 4 -j 2 -t ' . $processes / 4, 0, [qr{actually processed: $processes/$processes}], [],
		"$processes sessions, preloaded: $preloaded",
		{ "003_$preloaded" => q{
		INSERT INTO first_keys
		SELECT pid, backend_start, comb_generate(), comb_at('2026-11-20+00'), comb_generate('morris')
		FROM pg_stat_activity, generate_series(1, 3) WHERE pid = pg_backend_pid()} });
}

is( $node->safe_psql(
		'postgres', q{
		SELECT count(DISTINCT (pid, backend_start)), count(*), count(DISTINCT right(id::text, 14)),
		       count(DISTINCT right(given::text, 14)) FROM first_keys}),
	join('|', 2 * $processes, (6 * $processes) x 3),
	'as many processes as sessions, and the 56 random bits are different in all keys');
is( $node->safe_psql(
		'postgres', q{
		SELECT count(DISTINCT head), count(DISTINCT (pid, backend_start, head))
		FROM (SELECT *, left(morris::text, 18) AS head FROM first_keys) k}),
	join('|', (2 * $processes) x 2), 'the first eight bytes of layout morris belong to one process');

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
