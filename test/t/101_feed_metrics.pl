# The queries of doc/packaging/feed_metrics.yaml: each has the columns that its
# metrics name, and tells what goes on, on an idle server, a busy one and a standby.
# Beside them the query of doc/feed.md that shows who holds a feed back.
use strict;
use warnings;

use FindBin qw($RealBin);
use lib "$RealBin/../perl";
use CombFeed;
use CombSession;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

plan skip_all => 'needs CPAN::Meta::YAML, which comes with Perl (Fedora: perl-CPAN-Meta-YAML)'
  unless eval { require CPAN::Meta::YAML; 1 };
my $file = CPAN::Meta::YAML->read("$RealBin/../../doc/packaging/feed_metrics.yaml")->[0];
my @names = sort keys %$file;
is("@names", 'comb_consumer comb_heartbeat comb_unsettled', 'three queries');

my $primary = PostgreSQL::Test::Cluster->new('primary');
$primary->init(allows_streaming => 1);
$primary->append_conf('postgresql.conf', "fsync = off\nautovacuum = off\nmax_prepared_transactions = 4\n");
$primary->start;
$primary->safe_psql('postgres',
	'CREATE EXTENSION pg_comb_ordered CASCADE;' . recipe('outbox') . recipe('consumer') . recipe('heartbeat') . q{
	DELETE FROM consumer;
	CREATE ROLE exporter LOGIN IN ROLE pg_monitor;
	GRANT SELECT ON outbox, consumer, heartbeat TO exporter;
	CREATE DATABASE other;
});
$primary->safe_psql('other', 'CREATE EXTENSION pg_comb_ordered CASCADE');
$primary->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'backup', has_streaming => 1);
$standby->start;

# As CloudNativePG runs a query: not as a superuser, and in a read-only transaction.
# Return the names of the columns, and the rows by them.
sub result
{
	my ($node, $name) = @_;
	my ($rc, $out, $err) = $node->psql('postgres', "BEGIN READ ONLY;\n$file->{$name}{query};\nCOMMIT",
		connstr => $node->connstr('postgres') . ' user=exporter', extra_params => [ '--pset=tuples_only=off', '--pset=footer=off' ]);
	die "$name: $err" if $rc != 0 || $err ne '';
	my ($header, @lines) = grep { $_ ne 'BEGIN' && $_ ne 'COMMIT' } split(/\n/, $out);
	my @columns = split(/\|/, $header);
	return \@columns, map { my %row; @row{@columns} = split(/\|/, $_, -1); \%row } @lines;
}

sub row_count { my @result = result(@_); return $#result; }

sub the_row { return (result(@_))[1] // {}; }

sub event { return $_[0]->ask(q{INSERT INTO outbox (body) VALUES ('event')}); }

sub unsettled
{
	my ($node) = @_;
	my $row = the_row($node, 'comb_unsettled');
	return join(' ', @$row{qw(transactions prepared unknown)});
}

# An entry is as both programs read it: a query, and a list of metrics with one name
# each.  The usages LABEL and GAUGE mean the same to both.
foreach my $name (@names)
{
	my $entry = $file->{$name};
	my @metrics = map { (%$_)[0] } @{ $entry->{metrics} };
	my ($columns) = result($primary, $name);

	is(join(' ', sort keys %$entry), 'metrics query', "$name has what both programs know");
	is("@metrics", "@$columns", "$name: a metric for each column");
	is(scalar(grep { keys %$_ != 1 } @{ $entry->{metrics} }), 0, "$name: one name each");
	my %usage = map { my ($metric, $of) = %$_; ($metric => $of->{usage}) } @{ $entry->{metrics} };
	is(join(' ', map { $usage{$_} eq 'LABEL' ? 'datname consumer' =~ /\b$_\b/ : $usage{$_} eq 'GAUGE' } @metrics),
		join(' ', map { 1 } @metrics), "$name: labels and gauges");
	is(scalar(grep { (values %$_)[0]{description} !~ /\w/ } @{ $entry->{metrics} }), 0, "$name: all are described");
}

#
# Idle
#
is(unsettled($primary), '0 0 0', 'idle: nothing holds the feed back');
is(the_row($primary, 'comb_unsettled')->{oldest_seconds}, 0, 'idle: no age');
is(row_count($primary, 'comb_consumer'), 0, 'idle: no consumer');
$primary->safe_psql('postgres', "INSERT INTO consumer (name) VALUES ('mail')");
is(join(' ', @{ the_row($primary, 'comb_consumer') }{qw(consumer rows_behind seconds_behind)}),
	'mail 0 0', 'idle: the consumer is not behind');

#
# Busy
#
my ($first, $second, $third) = map { CombSession->new($primary) } 1 .. 3;
my $other = CombSession->new($primary, 'other');
event($third);
event($third);
# The age of a transaction does not depend on when the last key was made.
$first->ask('SELECT pg_sleep(10)');
$first->ask('BEGIN');
event($first);
cmp_ok(the_row($primary, 'comb_unsettled')->{oldest_seconds}, '<', 9, 'busy: after ten quiet seconds the first transaction is young');
$second->ask('BEGIN');
event($second);
$second->ask("PREPARE TRANSACTION 'a'");
$other->ask('BEGIN; SELECT comb_generate_ordered() IS NULL');
event($third);
is(unsettled($primary), '2 1 0', 'busy: one is open, one is prepared, and other databases do not count');
my @held = grep { /\|/ } split(/\n/, $third->ask(recipe('held')));
is(scalar(@held), 2, 'busy: the query of feed.md shows both');
like($held[0], qr/^$first->{pid}\|\|ordered\|.*INSERT INTO outbox/, 'the session that is open');
like($held[1], qr/^\|a\|ordered\|/, 'and the transaction that is prepared');
$first->ask('SELECT pg_sleep(1)');
cmp_ok(the_row($primary, 'comb_unsettled')->{oldest_seconds}, '>', 1, 'busy: the oldest is a second old');
cmp_ok(the_row($primary, 'comb_unsettled')->{oldest_seconds}, '<', 300, 'and not much more');
my $mail = the_row($primary, 'comb_consumer');
is($mail->{rows_behind}, 2, 'busy: the consumer is behind by the rows that are settled');
cmp_ok($mail->{seconds_behind}, '>', 1, 'and by a second');
cmp_ok($mail->{seconds_behind}, '<', 300, 'and not much more');
$primary->safe_psql('postgres', "UPDATE consumer SET last = (SELECT id FROM outbox WHERE id < comb_settled() ORDER BY id DESC LIMIT 1)");
is(the_row($primary, 'comb_consumer')->{rows_behind}, 0, 'the consumer has read these rows');
$first->ask('COMMIT');
$second->ask("COMMIT PREPARED 'a'");
is(the_row($primary, 'comb_consumer')->{rows_behind}, 3, 'and now the next ones');
is(unsettled($primary), '0 0 0', 'nothing holds the feed back any more');

#
# Heartbeat, and a standby
#
my $bound = $primary->safe_psql('postgres', 'SELECT comb_settled()');
is($primary->safe_psql('postgres', "SELECT comb_settled() = '$bound' FROM pg_sleep(0.1)"), 't', 'the bound rests while nobody makes keys');
$primary->safe_psql('postgres', "UPDATE heartbeat SET bound = comb_settled(), at = clock_timestamp() - interval '1 hour'");
$primary->wait_for_catchup($standby, 'replay', $primary->lsn('insert'));
foreach my $node ($primary, $standby)
{
	cmp_ok(the_row($node, 'comb_heartbeat')->{lag_seconds}, '>=', 3600, $node->name . ': the heartbeat has stopped an hour ago');
}
$primary->safe_psql('postgres', 'UPDATE heartbeat SET bound = comb_settled(), at = clock_timestamp()');
$primary->wait_for_catchup($standby, 'replay', $primary->lsn('insert'));
foreach my $node ($primary, $standby)
{
	cmp_ok(the_row($node, 'comb_heartbeat')->{lag_seconds}, '<', 300, $node->name . ': the heartbeat beats');
}
is(row_count($standby, $_), 0, "$_ gives no row on a standby, and no error") foreach ('comb_consumer', 'comb_unsettled');

#
# What was prepared before a restart
#
$first->ask('BEGIN');
event($first);
$first->ask("PREPARE TRANSACTION 'a'");
$_->quit foreach ($first, $second, $third, $other);
$primary->restart;
like($primary->safe_psql('postgres', recipe('held')), qr/^\|a\|\|00:.*$/, 'after a restart: the query of feed.md shows a prepared transaction');
is(unsettled($primary), '0 0 1', 'after a restart: nobody knows the keys of a prepared transaction');
is(the_row($primary, 'comb_unsettled')->{oldest_seconds}, 0, 'nor their age');
$primary->safe_psql('postgres', "ROLLBACK PREPARED 'a'");
is(unsettled($primary), '0 0 0', 'until it is gone');

$_->stop foreach ($standby, $primary);
done_testing();
