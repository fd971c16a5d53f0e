# SQL Server's order: how a sort works inside

use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('mssql');
$node->init;
$node->start;

$node->safe_psql('postgres', 'CREATE EXTENSION pg_comb');

# With trace_sort, a sort tells what it does with abbreviated keys.
my %sorts = (
	'time and node all the same' => [
		q{(to_char(i, 'FM00000000') || '-0000-0000-8000-000000000001')::uuid},
		qr/comb_mssql_abbrev: aborting abbreviation at cardinality 1\./ ],
	'random' => [ q{md5(i::text)::uuid}, qr/comb_mssql_abbrev: going on/ ]);

foreach my $name (sort keys %sorts)
{
	my ($expr, $said) = @{ $sorts{$name} };
	my ($stdout, $stderr);

	$node->psql(
		'postgres', qq{
SET max_parallel_workers_per_gather = 0;
SET work_mem = '64MB';
SET trace_sort = on;
SET client_min_messages = log;
SELECT md5(string_agg(id::text, ',')) = (SELECT md5(string_agg(v::text, ',' ORDER BY comb_mssql_key(v)))
                                         FROM (SELECT $expr AS v FROM generate_series(1, 30000) i) w)
FROM (SELECT $expr AS id FROM generate_series(1, 30000) i ORDER BY 1 USING #<#) s},
		stdout => \$stdout,
		stderr => \$stderr);
	is($stdout, 't', "in order: $name");
	like($stderr, $said, "abbreviation: $name");
}

$node->stop;
done_testing();
