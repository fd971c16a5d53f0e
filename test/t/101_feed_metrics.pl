# The queries of doc/packaging/feed_metrics.yaml: each has the columns that its
# metrics name, and tells what goes on, on an idle server, a busy one and a standby.
# Beside them the query of doc/feed.md that shows who holds a feed back, and the alerts.
use lib 'test/perl';
use CombTest;
use CombFeed;

plan skip_all => 'needs CPAN::Meta::YAML, which comes with Perl (Fedora: perl-CPAN-Meta-YAML)'
  unless eval { require CPAN::Meta::YAML; 1 };
my $file = CPAN::Meta::YAML->read('doc/packaging/feed_metrics.yaml')->[0];
my @names = sort keys %$file;
is("@names", 'comb_consumer comb_feed comb_heartbeat comb_ordered comb_unsettled', 'five queries');

my $primary = server('primary', init => [ allows_streaming => 1 ],
	conf => "fsync = off\nautovacuum = off\nmax_prepared_transactions = 4\n",
	sql => 'CREATE EXTENSION pg_comb_ordered CASCADE;' . portable_feed()
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

sub no_rows
{
	my ($node, $name) = @_;
	my (undef, @rows) = result($node, $name);
	return is(scalar(@rows), 0, $node->name . ": $name gives no row, and no error");
}

# Look at columns of the only row of each query.  What is expected is a value, or a range of seconds.
sub shows
{
	my ($node, $when, @expected) = @_;
	foreach my $each (@expected)
	{
		my ($name, %column) = @$each;
		my (undef, @rows) = result($node, $name);
		is(scalar(@rows), 1, "$when: a row of $name");
		foreach my $column (sort keys %column)
		{
			my ($is, $want) = ($rows[0]{$column}, $column{$column});
			ok(ref $want ? $is >= $want->[0] && $is < $want->[1] : $is eq $want, "$when: $column of $name") or diag("$column is $is");
		}
	}
	return;
}

# An entry is as both programs read it: a query, and a list of metrics with one name
# each.  The usages LABEL and GAUGE mean the same to both.
foreach my $name (@names)
{
	my $entry = $file->{$name};
	my @metrics = map { (%$_)[0] } @{ $entry->{metrics} };
	my ($columns) = result($primary, $name);
	my @wrong = grep {
		my ($metric, $of, @more) = %$_;
		@more || $of->{description} !~ /\w/ || $of->{usage} ne ($metric =~ /^(datname|consumer|source|series)$/ ? 'LABEL' : 'GAUGE')
	} @{ $entry->{metrics} };

	is(join(' ', sort keys %$entry), 'metrics query', "$name has what both programs know");
	is("@metrics", "@$columns", "$name: a metric for each column");
	is(scalar(@wrong), 0, "$name: each has one name, a description, and is a label or a gauge");
}

# Each alert compares metrics that there are, and each query but those of labels has one.
my %alerted;
my %gauge = map { my $name = $_; map { my ($metric) = %$_; ("${name}_$metric" => 1) } @{ $file->{$name}{metrics} } } @names;
my @rules = map { @{ $_->{rules} } } @{ CPAN::Meta::YAML->read('doc/packaging/alert_rules.yaml')->[0]{groups} };
foreach my $rule (@rules)
{
	my @used = $rule->{expr} =~ /\b(comb_\w+)/g;
	ok(@used && !(grep { !$gauge{$_} } @used), "$rule->{alert} has metrics of the file");
	like("$rule->{labels}{severity} $rule->{annotations}{summary}", qr/^(?:warning|critical) \w/, "$rule->{alert} says what it means");
	$alerted{$_} = 1 foreach map { my $metric = $_; grep { $metric =~ /^\Q$_\E_/ } @names } @used;
}
is(join(' ', grep { !$alerted{$_} } @names), '', 'each query has an alert');

#
# Idle
#
my @nothing = ('comb_unsettled', transactions => 0, prepared => 0, unknown => 0);
no_rows($primary, 'comb_consumer');
$primary->safe_psql('postgres', "INSERT INTO consumer (name) VALUES ('mail')");
shows($primary, 'idle', [ @nothing, oldest_seconds => 0 ], [ 'comb_feed', source => 'public.orders_id_seq', transactions => 0 ],
	[ 'comb_consumer', consumer => 'mail', rows_behind => 0, seconds_behind => 0 ]);

# Keys ahead of the clock: asking for more Snowflakes than a millisecond has drives them ahead.
sub ahead
{
	my (undef, @rows) = result($primary, 'comb_ordered');
	return map { $_->{series} => $_ } @rows;
}
my %idle = ahead();
is(scalar(grep { $_->{ahead_seconds} < 2 } values %idle), 2, 'idle: nothing is ahead by more than a lease');
$primary->safe_psql('postgres', q{SELECT count(comb_snowflake('2024-01-01Z', 0, 4)) FROM generate_series(1, 200000)});
my %driven = ahead();
cmp_ok($driven{snowflake}{ahead_seconds}, '>', 5, 'Snowflakes are ahead of the clock');
is($driven{snowflake}{max_drift_seconds} + 0, 86400, 'and may be by a day');

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
shows($primary, 'ten quiet seconds before the transaction', [ 'comb_unsettled', oldest_seconds => [ 0, 9 ] ]);
$second->ask('BEGIN; INSERT INTO orders DEFAULT VALUES');
$second->event;
$second->ask("PREPARE TRANSACTION 'a'");
$other->ask('BEGIN; SELECT comb_generate_ordered() IS NULL');
$third->event;
my @held = grep { /\|/ } split(/\n/, $third->ask(recipe('held')));
is(scalar(@held), 2, 'busy: the query of feed.md shows both');
like($held[0], qr/^$first->{pid}\|\|ordered\|.*INSERT INTO outbox/, 'the session that is open');
like($held[1], qr/^\|a\|ordered\|/, 'and the transaction that is prepared');
$third->ask('SELECT comb_feed_advance()');
$first->ask('SELECT pg_sleep(1)');
# One transaction is open, one is prepared, and other databases do not count.
shows($primary, 'busy', [ 'comb_unsettled', transactions => 2, prepared => 1, unknown => 0, oldest_seconds => [ 1, 300 ] ],
	[ 'comb_feed', transactions => 2, bound_seconds => [ 1, 300 ] ], [ 'comb_consumer', rows_behind => 2, seconds_behind => [ 1, 300 ] ]);
$primary->safe_psql('postgres', "UPDATE consumer SET last = (SELECT id FROM outbox WHERE id < comb_settled() ORDER BY id DESC LIMIT 1)");
shows($primary, 'the consumer has read', [ 'comb_consumer', rows_behind => 0 ]);
$third->ask("SELECT comb_feed_remove('orders_id_seq'); SELECT comb_feed_add('orders_id_seq')");
shows($primary, 'before a first bound', [ 'comb_feed', transactions => 2, bound_seconds => 'Infinity' ]);
$first->ask('COMMIT');
$second->ask("COMMIT PREPARED 'a'");
$third->ask('SELECT comb_feed_advance()') foreach 1 .. 2;
shows($primary, 'they have committed', \@nothing, [ 'comb_feed', transactions => 0 ], [ 'comb_consumer', rows_behind => 3 ]);

#
# Heartbeat, and a standby
#
my $bound = $primary->safe_psql('postgres', 'SELECT comb_settled()');
is($primary->safe_psql('postgres', "SELECT comb_settled() = '$bound' FROM pg_sleep(0.1)"), 't', 'the bound rests while nobody makes keys');
foreach my $case ([ '1 hour', 3600, 7200 ], [ '0', 0, 300 ])
{
	my ($ago, @seconds) = @$case;
	$primary->safe_psql('postgres', "UPDATE heartbeat SET bound = comb_settled(), at = clock_timestamp() - interval '$ago'");
	$primary->wait_for_catchup($standby, 'replay', $primary->lsn('insert'));
	shows($_, $_->name . ", a heartbeat $ago ago", [ 'comb_heartbeat', lag_seconds => \@seconds ]) foreach ($primary, $standby);
}
no_rows($standby, $_) foreach ('comb_consumer', 'comb_unsettled');
shows($standby, 'standby', [ 'comb_feed', bound_seconds => [ 0, 300 ] ]);

#
# What was prepared before a restart
#
$first->ask('BEGIN');
$first->event;
$first->ask("PREPARE TRANSACTION 'a'");
$_->quit foreach ($first, $second, $third, $other);
$primary->restart;
like($primary->safe_psql('postgres', recipe('held')), qr/^\|a\|\|00:.*$/, 'after a restart: the query of feed.md shows a prepared transaction');
shows($primary, 'prepared before a restart', [ 'comb_unsettled', transactions => 0, prepared => 0, unknown => 1, oldest_seconds => 0 ]);
$primary->safe_psql('postgres', "ROLLBACK PREPARED 'a'");
shows($primary, 'until it is gone', \@nothing);
done_testing();
