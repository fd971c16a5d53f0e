# Something else writes limits, and a crash tears pages, but the server keeps its
# promise.
# logged: no ordered keys or Snowflakes can be made in this database until the server restarts
use lib 'test/perl';
use CombSchedule;
use CombTest;

need_faketime();

my $node = server('main', clock => undef, conf => q{
autovacuum = off
pg_comb.lease_duration = 1s
pg_comb.snowflake_instance = 5
wal_consistency_checking = 'generic, sequence'
}, sql => 'CREATE EXTENSION pg_comb_ordered CASCADE');

my $make = 'SELECT comb_generate_ordered(), comb_snowflake()';

sub larger
{
	my ($name, @before) = @_;
	my ($key, $id) = ask($node, 'postgres', $make);
	ok($key gt $before[0] && $id > $before[1], $name);
	return ($key, $id);
}

sub overwrite
{
	my ($file, $bytes) = @_;
	open(my $fh, '+<:raw', $file) or die "could not open $file: $!";
	print $fh $bytes;
	close($fh) or die "could not write $file: $!";
	return;
}

#
# Limits set forward under a running session: it follows at its next lease
#
is( $node->safe_psql(
		'postgres', q{
		DO $$
		BEGIN
			PERFORM comb_generate_ordered(), comb_snowflake();
			PERFORM setval('comb_internal.comb_lease_ordered', last_value + 600000000) FROM comb_internal.comb_lease_ordered;
			PERFORM setval('comb_internal.comb_lease_snowflake', last_value + 600000000) FROM comb_internal.comb_lease_snowflake;
			FOR i IN 1..15 LOOP
				PERFORM pg_sleep(0.1);
				PERFORM comb_generate_ordered(), comb_snowflake();
			END LOOP;
		END $$;
		SELECT comb_timestamp(comb_generate_ordered()) > now() + interval '9 minutes',
		       comb_snowflake_timestamp(comb_snowflake()) > now() + interval '9 minutes'}),
	't|t', 'a running session follows limits that were set forward');

#
# Something sets the limits, as a restore of data alone or a refresh of subscribed sequences does.
#
my @last = ('', 0);
my $times = "comb_timestamp('%s') %s, comb_snowflake_timestamp(%s) %2\$s";

# End the server, start it, and connect again.
sub start_anew
{
	my ($mode, $shift) = @_;
	return sub { $node->stop($mode); start_at($node, $shift); $_->again foreach $_[0]->all; return };
}

my $schedule = CombSchedule->new($node, 'a', clean => 'SELECT', statements => {
	# a new session's keys are larger than the last ones
	larger => sub { my @before = @last; @last = ask($node, 'postgres', $make); return 'SELECT ' . ($last[0] gt $before[0] && $last[1] > $before[1] ? 'true' : 'false') },
	ahead  => sub { return sprintf("SELECT $times", $last[0], "> now() + interval '4 hours'", $last[1]) },
	low    => sub { @last = ask($node, 'postgres', $make); return sprintf("SELECT $times", $last[0], "< now() + interval '1 minute'", $last[1]) },
	limits => q{DO $$ BEGIN PERFORM setval(oid, (extract(epoch FROM now()) * 1000000)::bigint + N * 3600000000) FROM pg_class
		WHERE relkind = 'S' AND relname LIKE 'comb\_lease%'; END $$},
	nextval => q{DO $$ BEGIN PERFORM nextval('comb_internal.comb_lease_ordered'), nextval('comb_internal.comb_lease_snowflake'); END $$},
	reset   => 'DO $$ BEGIN PERFORM comb_ordered_reset(now()); END $$',
	hourahead => start_anew('fast', '+1h'),
	crash     => start_anew('immediate') });
$schedule->test(q{
	# set back under a running server: its keys go on, and its next lease writes the limits again
	hourahead a.larger=t a.limits0 a.larger=t crash a.larger=t
	# the owner tries nextval()
	a.nextval a.larger=t crash a.larger=t
	# set forward: keys go on from there
	a.limits5 a.larger=t a.ahead=t|t
	# a reset lowers the limits, and a crash finishes it and does not bring the old limits back
	a.reset crash a.low=t|t
});
$_->quit foreach $schedule->all;

#
# A crash tears a page, and full_page_writes is off.  The page's header is that of the
# newest record, but the tuple is from before this record.  A check of consistency would stop
# the server before anything can be compared.
#
$node->append_conf('postgresql.conf', "full_page_writes = off\nwal_consistency_checking = ''");
$node->stop;
start_at($node);
@last = ask($node, 'postgres', $make);
$node->safe_psql('postgres', 'CHECKPOINT');
my $file = $node->data_dir . '/'
  . $node->safe_psql('postgres', "SELECT pg_relation_filepath('comb_internal.comb_lease_ordered')");
my $old = slurp_file($file);
# The key before can be a lease ahead of the clock, and the limit a lease ahead of the key.
@last = ask($node, 'postgres', "SELECT pg_sleep(2.1); $make");
@last = ask($node, 'postgres', $make);
$node->stop('immediate');
overwrite($file, "\x7f\xff\xff\xff\xff\xff\xff\xff" . substr($old, 8));
start_at($node, '-1h');
cmp_ok($node->safe_psql('postgres', 'SELECT comb_generate_ordered()'), 'gt', $last[0], 'a torn page is made whole by recovery');

#
# The pages' LSNs are beyond the end of the WAL, as after pg_resetwal
#
my @files = split(/\n/, $node->safe_psql('postgres', q{
	SELECT pg_relation_filepath(oid) FROM pg_class WHERE relkind = 'S' AND relname LIKE 'comb\_%'}));
@last = ask($node, 'postgres', $make);
my $claimed = $node->safe_psql('postgres', 'SELECT comb_snowflake_claim(4)');
$node->stop;
system_log('pg_checksums', '--disable', $node->data_dir);
overwrite($node->data_dir . "/$_", pack('LL', 0x7f, 0)) foreach @files;
start_at($node, '-1h');
is($node->safe_psql('postgres', 'SELECT comb_settled() IS NOT NULL, comb_snowflake_settled() > 0'), 't|t', 'LSNs ahead of the WAL: readers');
@last = larger('LSNs ahead of the WAL: keys', @last);
is($node->safe_psql('postgres', 'SELECT comb_snowflake_claim(4)'), $claimed + 1, 'LSNs ahead of the WAL: numbers');
crash($node);
start_at($node, '-1h');
larger('LSNs ahead of the WAL: keys after a crash', @last);

#
# The file is damaged
#
$node->stop;
overwrite($file, "\0" x 8192);
start_at($node, '-1h');
like(error_of($node, 'postgres', "SELECT comb_$_()"), qr/ERROR:  XX001: page of a pg_comb sequence/, "a damaged file: comb_$_()")
  foreach qw(generate_ordered settled ordered_status);
is($node->safe_psql('postgres', 'SELECT comb_snowflake(instance_bits => 0) > 0'), 't', 'and the other sequence works');

done_testing();
