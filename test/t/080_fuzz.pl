
# Copyright (c) 2026, pg_comb developers

# Laws over random and structured inputs, see test/fuzz/laws.sql.  FUZZ_SECONDS
# limits the time.  FUZZ_SEED (a number from -1 to 1) repeats the rounds of an
# earlier run; every run shows its first seed.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

my $seconds = $ENV{FUZZ_SECONDS} || 5;
my $seed = defined $ENV{FUZZ_SEED} ? $ENV{FUZZ_SEED} : sprintf('%.6f', rand(2) - 1);
my $rows = 50_000;

my $node = PostgreSQL::Test::Cluster->new('fuzz');
$node->init;
$node->append_conf('postgresql.conf',
	"fsync = off\nmax_wal_size = 4GB\nshared_buffers = 256MB\ntimezone = 'UTC'\n");
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION pg_comb');
$node->safe_psql('postgres', slurp_file('test/fuzz/laws.sql'));

note "first seed $seed";
my ($calls, $rounds) = (0, 0);
my $end = time + $seconds;
do
{
	my ($status, $out, $err) =
	  $node->psql('postgres', "SELECT fuzz_round($seed, $rows)");
	if ($status != 0)
	{
		fail("round with seed $seed");
		diag $err;
		last;
	}
	$calls += $out;
	$rounds++;

	# the next seed follows from this seed, and stays between -1 and 1
	$seed = sprintf('%.6f', $seed + 0.618034);
	$seed = sprintf('%.6f', $seed - 2) if $seed > 1;
} while (time < $end);

ok($rounds > 0, "$rounds rounds, $calls calls kept all laws");

# The laws can fail: the same inputs break a reversed law
$node->safe_psql('postgres',
	"UPDATE fuzz_law SET law = replace(law, '>= at', '> at') WHERE name = 'at or after, in the order of the layout'");
my ($status, undef, $err) = $node->psql('postgres', "SELECT fuzz_round(0.5, $rows)");
isnt($status, 0, 'a wrong law is found broken');
like($err, qr/law "at or after, in the order of the layout" is broken with seed 0\.5, rows $rows: \{/,
	'the message has the law, the seed and the input');

$node->stop;
done_testing();
