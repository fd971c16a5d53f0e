# The examples of the documents print what the documents say.

use strict;
use warnings;

use FindBin qw($RealBin);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('examples');
$node->init;
$node->start;

chdir("$RealBin/../..") or die "could not change to the top directory: $!";
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

$node->stop;
done_testing();
