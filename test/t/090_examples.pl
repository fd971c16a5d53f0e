# The examples of the documents print what the documents say.
use lib 'test/perl';
use CombTest;

my $node = server('examples');
$ENV{PGHOST} = $node->host;
$ENV{PGPORT} = $node->port;

my @documents = ('README.md', sort glob('doc/*.md'));
my $output = `$^X test/examples @documents 2>&1`;

for my $line (split /\n/, $output)
{
	if ($line =~ /^(not )?ok \d+ - (.*)/)
	{
		ok(!$1, $2);
	}
	elsif ($line =~ /^# ?(.*)/)
	{
		diag($1);
	}
}
like($output, qr/^1\.\.[1-9]\d*$/m, 'all examples ran');

done_testing();
