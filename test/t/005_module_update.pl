# The module is replaced in a running server by one that uses shared memory in another way: the
# sessions that come second fail, so that there are never two counters.
use lib 'test/perl';
use CombSession;
use CombTest;

plan skip_all => 'needs the sources and PostgreSQL\'s development files' unless -e 'src/ordered/comb_shared.c' && `pg_config --pgxs` =~ /^(.*)$/ && -e $1;

my $node = server('main', conf => 'pg_comb.snowflake_instance = 5', sql => 'CREATE EXTENSION pg_comb_ordered CASCADE');

# Build the module with one change of comb_shared.c, and return its directory.  All else was built before.
sub build
{
	my ($from, $to) = @_;
	my $dir = tempdir();
	system("cp -rp Makefile src $dir") == 0 or die 'could not copy the sources';
	my $source = slurp_file('src/ordered/comb_shared.c');
	($source =~ s/$from/$to/) == 1 or die "the source has no $from";
	replace_file("$dir/src/ordered/comb_shared.c", $source);
	system("make -s -C $dir pg_comb.so >$dir/log 2>&1") == 0 or die 'could not build: ' . slurp_file("$dir/log");
	return $dir;
}

# Open a session that loads the module of a directory, or the installed one.
sub session
{
	my ($dir) = @_;
	my $session = CombSession->new($node);
	$session->ask("SET dynamic_library_path = '$dir'") if $dir;
	return $session;
}

my @calls = ('comb_generate_ordered()', 'comb_snowflake()', 'comb_settled()', '(SELECT count(*) FROM comb_ordered_status())');
my %other = (
	'another version of the memory' => [ build(qr/COMB_SHMEM_VERSION\s+\K\d+/, '999'),
		qr/55000: pg_comb was updated while the server was running\nDETAIL:  Sessions of this server[^\n]*\nHINT:  Restart the server\./ ],
	'another size, as 1.0.0 has' => [ build(qr/COMB_SEGMENT_SIZE\s+\K\d+/, '1016'), qr/XX000: [^\n]*size/ ]);

foreach my $name (sort keys %other)
{
	my ($dir, $message) = @{ $other{$name} };
	foreach my $first ('', $dir)
	{
		my $order = $first ? "$name comes first" : "$name comes second";
		$node->restart;
		my ($one, $two) = map { session($_) } ($first, $first ? '' : $dir);
		my $key = $one->ask('SELECT comb_generate_ordered()');
		foreach my $call (@calls)
		{
			like($two->complaints("SELECT $call"), qr/ERROR:  $message/, "$order: $call fails");
		}
		is($two->ask('SELECT comb_generate() IS NOT NULL'), 't', "$order: keys without state go on");
		is($one->ask("SELECT comb_generate_ordered() > '$key'"), 't', "$order: the first session goes on");
		$_->quit foreach ($one, $two);
	}
}

done_testing();
