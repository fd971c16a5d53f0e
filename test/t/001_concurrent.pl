# Several sessions make keys at once: no key repeats, and the keys of each session
# increase.  040_ordered_sessions.pl has the same with a transaction for each key.
#
# COMB_KEYS sets the number of keys; 100 million keys take about 4 GB of disk.
use lib 'test/perl';
use CombTest;

my $sessions = 8;
my $each     = int(($ENV{COMB_KEYS} || 2_000_000) / $sessions);
my $dir      = tempdir();
my $node     = server('main', conf => 'pg_comb.snowflake_instance = 5', sql => 'CREATE EXTENSION pg_comb_ordered CASCADE');
my %make = (
	keys => 'comb_generate()',
	ordered_keys => 'comb_generate_ordered()',
	snowflakes => "to_char(comb_snowflake(), 'fm0999999999999999999')");

$ENV{LC_ALL} = 'C';
foreach my $what (sort keys %make)
{
	# Each session writes its keys to a file of its own, in the order in which the
	# session made them.  As text (of fixed length), keys sort as bytes.  sort(1) can
	# therefore check each file and merge the files without holding the keys in memory.
	# generate_series() in the target list stores no rows either.
	$node->pgbench("-n -c $sessions -j $sessions -t 1", 0, [qr{actually processed: $sessions/$sessions}], [qr{^$}],
		"$sessions sessions make $each $what each",
		{ "001_$what" => "COPY (SELECT $make{$what} FROM (SELECT generate_series(1, $each)) n) TO '$dir/$what:client_id'" });
	my @files = map { "$dir/$what$_" } 0 .. $sessions - 1;

	# The sessions must have run at the same time; otherwise the test proves little.
	my $last_first = (sort map { scalar `head -n 1 $_` } @files)[-1];
	cmp_ok(scalar(grep { `tail -n 1 $_` gt $last_first } @files), '>', 1, "$what: sessions overlap in time");
	is(scalar(grep { system('sort', '-c', '-u', $_) == 0 } @files), $sessions, "$what of each session rise strictly");
	is(`sort -m -u @files | wc -l` + 0, $sessions * $each, "$what: none comes twice");
	unlink(@files);
}

done_testing();
