# The examples of the documents print what the documents say, and the table of layouts
# in libraries.md says what comb_layouts() does.  The pages can be tried one after another in
# one database, but for installation.md, which begins without the extension.
use lib 'test/perl';
use CombTest;

my $node = server('examples');
$ENV{PGHOST} = $node->host;
$ENV{PGPORT} = $node->port;

my @documents = ('README.md', sort glob('doc/*.md'));
sub examples
{
	my ($how, @arguments) = @_;
	my $output = `$^X test/examples @arguments 2>&1`;

	for my $line (split /\n/, $output)
	{
		if ($line =~ /^(not )?ok \d+ - (.*)/)
		{
			ok(!$1, "$how: $2");
		}
		elsif ($line =~ /^# ?(.*)/)
		{
			diag($1);
		}
	}
	like($output, qr/^1\.\.[1-9]\d*$/m, "$how: all examples ran");
	return;
}

examples('each page', @documents);
examples('together', '--together', grep { !/installation/ } @documents);

my %order = map { join('|', (split(/ \| /))[0, 2]) => 1 } slurp_file('doc/libraries.md') =~ /^\| (`\w+` \| .*) \|$/mg;
my @layouts = split(/\n/, $node->safe_psql('postgres', q{CREATE EXTENSION pg_comb;
	SELECT format('`%s`', layout), coalesce(sorts_in, 'none') FROM comb_layouts()}));
cmp_ok(scalar(@layouts), '>', 10, 'there are layouts');
is(join(' ', grep { !$order{$_} } @layouts), '', 'libraries.md has the order of each');

done_testing();
