# The laws of test/pgtap/10-laws.sql on as many random values as FUZZ_SECONDS allow.  Every
# run shows its first seed (a number from -1 to 1), and FUZZ_SEED repeats the run.
use lib 'test/perl';
use CombTest;
use Time::HiRes qw(time);

my $seconds = $ENV{FUZZ_SECONDS} || 5;
my $end = time + $seconds;
my $n = $seconds < 60 ? 50 : 200;
my $seed = $ENV{FUZZ_SEED} // sprintf('%.6f', rand(2) - 1);

my $node = server('fuzz', conf => "fsync = off\nmax_wal_size = 4GB\nshared_buffers = 256MB\n");
plan skip_all => 'pgTAP is not installed (Debian: postgresql-NN-pgtap)'
  unless $node->safe_psql('postgres', "SELECT count(*) FROM pg_available_extensions WHERE name = 'pgtap'");

note "first seed $seed";
do
{
	my ($out, $err);
	IPC::Run::run([ 'psql', '-XqAt', '-d', $node->connstr('postgres'), '-v', 'ON_ERROR_STOP=1', '-v', "seed=$seed",
			'-v', "n=$n", '-f', 'test/pgtap/10-laws.sql' ], '>', \$out, '2>', \$err);
	my @broken = grep { !/^ok / } split(/\n/, $out . $err);
	like(join("\n", @broken), qr/^1\.\.\d+$/, "all laws hold with seed $seed");

	# the next seed follows from this seed, and stays between -1 and 1
	$seed = sprintf('%.6f', $seed + 0.618034);
	$seed = sprintf('%.6f', $seed - 2) if $seed > 1;
} while (time < $end && Test::More->builder->is_passing);

done_testing();
