# Compares the codecs that count days and units with the originals' arithmetic, for
# every unit of a day.  A program in C does the work, because SQL would take minutes.
use lib 'test/perl';
use CombTest;

my $pg_config = $ENV{PG_CONFIG} || 'pg_config';
my $headers = `$pg_config --includedir-server`;
chomp $headers;
my $program = tempdir() . '/units';

ok(compile_c('-D_GNU_SOURCE', "-I$headers", '-Isrc', '-o', $program, 'test/units.c'), 'the program compiles');

# A day has 25,920,000 units of 1/300 s, and NHibernate's count runs fast.
my %units = (rtcomb_legacy => 25_920_000, nhibernate => 25_920_003);
foreach my $layout (sort keys %units)
{
	my $shown = `$program $layout`;
	SKIP:
	{
		skip "$layout: this machine has $shown", 1 if $shown =~ /^no doubles/;
		is($shown, "$units{$layout} units, 0 differences\n", "$layout: all units of a day");
	}
}

done_testing();
