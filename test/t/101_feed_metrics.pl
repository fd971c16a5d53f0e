# The queries of doc/packaging/feed_metrics.yaml: each has the columns that its
# metrics name, and tells what goes on, on an idle server, a busy one and a standby.
# Beside them the query of doc/feed.md that shows who holds a feed back.
use lib 'test/perl';
use CombTest;
use CombFeed;

plan skip_all => 'needs CPAN::Meta::YAML, which comes with Perl (Fedora: perl-CPAN-Meta-YAML)'
  unless eval { require CPAN::Meta::YAML; 1 };
my $file = CPAN::Meta::YAML->read('doc/packaging/feed_metrics.yaml')->[0];
my @names = sort keys %$file;
is("@names", 'comb_consumer comb_feed comb_heartbeat comb_unsettled', 'four queries');

my $primary = server('primary', init => [ allows_streaming => 1 ],
	conf => "fsync = off\nautovacuum = off\nmax_prepared_transactions = 4\n",
	sql => 'CREATE EXTENSION pg_comb_ordered CASCADE;' . slurp_file('sql/portable/pg_comb_feed.sql')
	  . recipe('outbox') . recipe('consumer') . recipe('heartbeat') . q{
	DELETE FROM consumer;
	CREATE TABLE orders (id bigserial);
	SELECT comb_feed_add('orders_id_seq');
	CREATE ROLE exporter LOGIN IN ROLE pg_monitor;
	GRANT SELECT ON outbox, consumer, heartbeat, comb_feed_status TO exporter;
	CREATE DATABASE other});
$primary->safe_psql('other', 'CREATE EXTENSION pg_comb_ordered CASCADE');
my $standby = standby($primary, 'standby');

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

# Columns of the only row
sub shows
{
	my ($node, $name, $columns, $expected, $what) = @_;
	my $row = (result($node, $name))[1] // {};
	return is(join(' ', map { $row->{$_} // 'nothing' } split(/ /, $columns)), $expected, $what);
}

# A column that holds seconds
sub between
{
	my ($node, $name, $column, $least, $most, $what) = @_;
	my $seconds = (result($node, $name))[1]{$column};
	return ok($seconds >= $least && $seconds < $most, "$what: $column is from $least to $most") || diag($seconds);
}

sub unsettled { return shows($_[0], 'comb_unsettled', 'transactions prepared unknown', @_[ 1, 2 ]); }

# An entry is as both programs read it: a query, and a list of metrics with one name
# each.  The usages LABEL and GAUGE mean the same to both.
foreach my $name (@names)
{
	my $entry = $file->{$name};
	my @metrics = map { (%$_)[0] } @{ $entry->{metrics} };
	my ($columns) = result($primary, $name);
	my @wrong = grep {
		my ($metric, $of, @more) = %$_;
		@more || $of->{description} !~ /\w/ || $of->{usage} ne ($metric =~ /^(datname|consumer|source)$/ ? 'LABEL' : 'GAUGE')
	} @{ $entry->{metrics} };

	is(join(' ', sort keys %$entry), 'metrics query', "$name has what both programs know");
	is("@metrics", "@$columns", "$name: a metric for each column");
	is(scalar(@wrong), 0, "$name: each has one name, a description, and is a label or a gauge");
}

#
# Idle
#
unsettled($primary, '0 0 0', 'idle: nothing holds the feed back');
shows($primary, 'comb_unsettled', 'oldest_seconds', 0, 'idle: no age');
shows($primary, 'comb_feed', 'source transactions', 'public.orders_id_seq 0', 'idle: nor the one in SQL');
is(row_count($primary, 'comb_consumer'), 0, 'idle: no consumer');
$primary->safe_psql('postgres', "INSERT INTO consumer (name) VALUES ('mail')");
shows($primary, 'comb_consumer', 'consumer rows_behind seconds_behind', 'mail 0 0', 'idle: the consumer is not behind');

#
# Busy
#
my ($first, $second, $third) = map { CombSession->new($primary, 'postgres', table => 'outbox') } 1 .. 3;
my $other = CombSession->new($primary, 'other');
$third->event foreach 1 .. 2;
# The age of a transaction does not depend on when the last key was made.
$first->ask('SELECT pg_sleep(10)');
$first->ask('BEGIN; INSERT INTO orders DEFAULT VALUES');
$first->event;
between($primary, 'comb_unsettled', 'oldest_seconds', 0, 9, 'busy: after ten quiet seconds the first transaction is young');
$second->ask('BEGIN; INSERT INTO orders DEFAULT VALUES');
$second->event;
$second->ask("PREPARE TRANSACTION 'a'");
$other->ask('BEGIN; SELECT comb_generate_ordered() IS NULL');
$third->event;
unsettled($primary, '2 1 0', 'busy: one is open, one is prepared, and other databases do not count');
my @held = grep { /\|/ } split(/\n/, $third->ask(recipe('held')));
is(scalar(@held), 2, 'busy: the query of feed.md shows both');
like($held[0], qr/^$first->{pid}\|\|ordered\|.*INSERT INTO outbox/, 'the session that is open');
like($held[1], qr/^\|a\|ordered\|/, 'and the transaction that is prepared');
$third->ask('SELECT comb_feed_advance()');
shows($primary, 'comb_feed', 'transactions', 2, 'busy: the bound in SQL waits for both');
$first->ask('SELECT pg_sleep(1)');
between($primary, @$_, 'busy') foreach (
	[ 'comb_unsettled', 'oldest_seconds', 1, 300 ],
	[ 'comb_feed',      'bound_seconds',  1, 300 ],
	[ 'comb_consumer',  'seconds_behind', 1, 300 ]);
shows($primary, 'comb_consumer', 'rows_behind', 2, 'busy: the consumer is behind by the rows that are settled');
$primary->safe_psql('postgres', "UPDATE consumer SET last = (SELECT id FROM outbox WHERE id < comb_settled() ORDER BY id DESC LIMIT 1)");
shows($primary, 'comb_consumer', 'rows_behind', 0, 'the consumer has read these rows');
$first->ask('COMMIT');
$second->ask("COMMIT PREPARED 'a'");
$third->ask('SELECT comb_feed_advance()') foreach 1 .. 2;
shows($primary, 'comb_consumer', 'rows_behind', 3, 'and now the next ones');
unsettled($primary, '0 0 0', 'nothing holds the feed back any more');
shows($primary, 'comb_feed', 'transactions', 0, 'nor the one in SQL');

#
# Heartbeat, and a standby
#
my $bound = $primary->safe_psql('postgres', 'SELECT comb_settled()');
is($primary->safe_psql('postgres', "SELECT comb_settled() = '$bound' FROM pg_sleep(0.1)"), 't', 'the bound rests while nobody makes keys');
foreach my $case ([ '1 hour', 3600, 7200, 'the heartbeat has stopped an hour ago' ], [ '0', 0, 300, 'the heartbeat beats' ])
{
	my ($ago, @seconds) = @$case;
	my $name = pop @seconds;
	$primary->safe_psql('postgres', "UPDATE heartbeat SET bound = comb_settled(), at = clock_timestamp() - interval '$ago'");
	$primary->wait_for_catchup($standby, 'replay', $primary->lsn('insert'));
	between($_, 'comb_heartbeat', 'lag_seconds', @seconds, $_->name . ": $name") foreach ($primary, $standby);
}
is(row_count($standby, $_), 0, "$_ gives no row on a standby, and no error") foreach ('comb_consumer', 'comb_unsettled');
between($standby, 'comb_feed', 'bound_seconds', 0, 300, 'the standby has the bound');

#
# What was prepared before a restart
#
$first->ask('BEGIN');
$first->event;
$first->ask("PREPARE TRANSACTION 'a'");
$_->quit foreach ($first, $second, $third, $other);
$primary->restart;
like($primary->safe_psql('postgres', recipe('held')), qr/^\|a\|\|00:.*$/, 'after a restart: the query of feed.md shows a prepared transaction');
unsettled($primary, '0 0 1', 'after a restart: nobody knows the keys of a prepared transaction');
shows($primary, 'comb_unsettled', 'oldest_seconds', 0, 'nor their age');
$primary->safe_psql('postgres', "ROLLBACK PREPARED 'a'");
unsettled($primary, '0 0 0', 'until it is gone');
done_testing();
