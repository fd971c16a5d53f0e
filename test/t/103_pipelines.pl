# The recipes of doc/pipelines.md for tools that poll in other ways than a reader of a feed: MAX() first
# and the range later, parallel ranges, pages of one long transaction, times, intervals, and tables
# that had a sequence before.  The same tools lose rows of the table itself, or the test
# would show nothing.
use lib 'test/perl';
use CombTest;
use CombSoak;
use Time::HiRes qw(time usleep);

begin_soak('tools that poll', 8);
my $node = soak_server('main', sql => recipe('numbers') . q{
	CREATE TABLE outbox (id uuid PRIMARY KEY DEFAULT comb_generate_ordered(), body text,
		number bigint NOT NULL UNIQUE DEFAULT next_id())});

my %sequence = (big => 'bigserial', small => 'serial', identity => 'bigint GENERATED ALWAYS AS IDENTITY');
$node->safe_psql('postgres', qq{
	CREATE TABLE invoice_$_ (id $sequence{$_} PRIMARY KEY, body text);
	INSERT INTO invoice_$_ (body) SELECT 'old' FROM generate_series(1, 10000)}) foreach keys %sequence;
$node->safe_psql('postgres', recipe("$_ view") =~ s/\bpurchase/outbox/gr) foreach qw(settled numbered timed);
$node->safe_psql('postgres', 'CREATE ROLE app; CREATE ROLE tool LOGIN;' . recipe('settled policy') =~ s/\bpurchase/outbox/gr);

# A tool asks in two or more queries, each with a snapshot of its own, and from two sessions.
my ($session, $second, $late, $by_policy) = map { CombSession->new($node) } 1 .. 4;
$by_policy->ask('SET ROLE tool');
my (%got, %last);

# The largest number is asked first, and then two ranges of numbers up to it, the last one first.
sub by_number
{
	my ($name, $relation) = @_;
	my $last = $last{$name} // 0;
	my $most = $session->ask("SELECT max(number) FROM $relation") || $last;
	my $half = int(($last + $most) / 2);
	usleep(20_000);
	my $rows = $session->ask("SELECT id FROM $relation WHERE number > $half AND number <= $most") . "\n"
	  . $second->ask("SELECT id FROM $relation WHERE number > $last AND number <= $half");
	$got{$name}{$_}++ foreach grep { $_ } split(/\n/, $rows);
	$last{$name} = $most;
	return;
}

sub by_time
{
	my ($name, $relation) = @_;
	my $last = $last{$name} // '1970-01-01 00:00:00+00';
	my @rows = map { [ split(/\|/) ] } split(/\n/,
		$session->ask("SELECT id, comb_timestamp(id) FROM $relation WHERE comb_timestamp(id) > '$last' ORDER BY 2"));
	$got{$name}{ $_->[0] }++ foreach @rows;
	$last{$name} = $rows[-1][1] if @rows;
	return;
}

# Pages of one transaction, which goes on while rows commit, and then the next transaction
sub by_page
{
	my ($name, $relation, $of) = @_;
	$of->ask('BEGIN ISOLATION LEVEL REPEATABLE READ');
	for (1 .. 5)
	{
		my $last = $last{$name} // CombSession::NIL;
		my @rows = split(/\n/, $of->ask("SELECT id FROM $relation WHERE id > '$last' ORDER BY id LIMIT 200"));
		$got{$name}{$_}++ foreach @rows;
		$last{$name} = $rows[-1] if @rows;
		usleep(20_000);
	}
	$of->ask('COMMIT');
	return;
}

sub poll
{
	by_number("$_, parallel ranges", $_) foreach qw(outbox outbox_numbered);
	by_time("$_, by time", $_) foreach qw(outbox outbox_timed);
	by_page("$_, one transaction", $_, $session) foreach qw(outbox outbox_settled);
	by_page('a policy, one transaction', 'outbox', $by_policy);
	return;
}

# The tables with sequences: the same cursor goes on when the view is there.
my @tools = map { { table => "invoice_$_", relation => "invoice_$_", last => 0, got => {} } } sort keys %sequence;

sub poll_invoices
{
	foreach my $tool (@tools)
	{
		my @rows = split(/\n/, $session->ask("SELECT id FROM $tool->{relation} WHERE id > $tool->{last} ORDER BY id"));
		$tool->{got}{$_}++ foreach @rows;
		$tool->{last} = $rows[-1] if @rows;
	}
	return;
}

# Run a recipe on a table until no lock is in its way, and return its error.
sub change
{
	my ($table, $recipe) = @_;
	my $error;
	do
	{
		(undef, undef, $error) = $node->psql('postgres', recipe($recipe) =~ s/\bticket(?=_|\b)/$table/gr, on_error_stop => 1);
	} while ($error =~ /lock timeout/);
	return $error;
}

my $conninfo = conninfo('postgres', $node);
start_writers($conninfo, 2, 20, $event_writers) foreach 1 .. 3;
start_writers($conninfo, 4, 200, { late => [ 1, late(10, join('', map { "INSERT INTO invoice_$_ (body) VALUES ('new');\n" } sort keys %sequence)) ] });
start_resolver($conninfo);

# Each poll finds a transaction open whose rows come next after newer ones.
my $row  = join(';', map { "INSERT INTO $_ (body) VALUES ('late')" } 'outbox', map { "invoice_$_" } sort keys %sequence);
my $until = time() + $duration;
my $polls_after = 0;
while (time() < $until || $polls_after < 3)
{
	$late->ask("BEGIN; $row");
	$second->ask($row);
	poll();
	poll_invoices();
	$late->ask('COMMIT');
	terminate_backend($node, 'writer');
	next if time() < $until - $duration / 2;
	next if $polls_after++;
	like(change('invoice_small', 'from a sequence'), qr/must be a bigint/, 'an integer column fails before any INSERT does');
	is(change('invoice_small', 'to bigint'), '', 'and becomes a bigint');
	is(change("invoice_$_", 'from a sequence') =~ s/.*NOTICE: .* is not an identity column, skipping\n?//r, '',
		"a $sequence{$_} changes") foreach sort keys %sequence;
	$_->{relation} .= '_settled' foreach @tools;
}
end_writers($node);
$node->safe_psql('postgres', 'SELECT comb_generate_ordered(), pg_sleep(0.01)');
foreach (1 .. 200)
{
	my $before = join(' ', map { scalar keys %{ $got{$_} } } sort keys %got);
	poll();
	last if $before eq join(' ', map { scalar keys %{ $got{$_} } } sort keys %got);
}
poll_invoices();

my %rows = map { $_ => 1 } split(/\n/, $session->ask('SELECT id FROM outbox'));
cmp_ok(scalar keys %rows, '>', 100, 'there is something to read');
foreach my $name (sort keys %got)
{
	my $lost  = grep { !$got{$name}{$_} } keys %rows;
	my $twice = grep { $_ > 1 } values %{ $got{$name} };
	diag("$name: " . scalar(keys %{ $got{$name} }) . " rows, $lost lost, $twice twice");
	if ($name =~ /^outbox,/) { cmp_ok($lost, '>', 0, "$name: rows are lost (SEED=$seed)"); }
	else                     { is("$lost lost, $twice twice", '0 lost, 0 twice', "$name (SEED=$seed)"); }
}

foreach my $tool (@tools)
{
	my %lost = (old => 0, new => 0);
	my %count = (%lost);
	foreach my $id (split(/\n/, $session->ask("SELECT id FROM $tool->{table}")))
	{
		my $age = $id < 2**40 ? 'old' : 'new';
		$count{$age}++;
		$lost{$age}++ if !$tool->{got}{$id};
	}
	diag("$tool->{table}: $lost{old} lost of $count{old} before the change, $lost{new} of $count{new} after it");
	cmp_ok($count{new}, '>', 20, "$tool->{table}: the table gets rows after the change");
	cmp_ok($lost{old}, '>', 0, "$tool->{table}: rows were lost before the change");
	is($lost{new}, 0, "$tool->{table}: and none after it (SEED=$seed)");
	is(scalar(grep { $_ > 1 } values %{ $tool->{got} }), 0, "$tool->{table}: none comes twice");
}

# The policy: the role sees the table with its primary key, one index scan has both conditions, and nobody else sees less.
like($by_policy->ask("EXPLAIN SELECT * FROM outbox WHERE id > '@{[ CombSession::NIL ]}' ORDER BY id LIMIT 500"),
	qr/Index Cond: \(\(id < comb_settled\(\)\) AND \(id > .*\)\)/, 'a policy and the cursor are conditions of one index scan');
is($by_policy->ask(q{SELECT string_agg(column_name, ',' ORDER BY column_name) FROM information_schema.columns WHERE table_name = 'outbox'}), 'body,id,number',
	'the role sees the table');
$late->ask("BEGIN; INSERT INTO outbox (body) VALUES ('open')");
$second->ask("INSERT INTO outbox (body) VALUES ('behind it')");
is(join(' ', map { $_->ask(q{SELECT count(*) FROM outbox WHERE body = 'behind it'}) } $session, $by_policy), '1 0', 'what is not settled only others see');
like($by_policy->complaints("INSERT INTO outbox (body) VALUES ('of the tool')"), qr/permission denied/, 'the role may not write');
$late->ask('ROLLBACK');

# An interval whose last rows are two, one of them in a transaction that is still open
$late->ask("BEGIN; $row");
$second->ask($row);
my $end = $session->ask("SELECT date_trunc('milliseconds', clock_timestamp()) + interval '1 ms'");
usleep(10_000);
my ($key, $gate) = split(/\n/, recipe('gate') =~ s/\$end/'$end'/r);
my $interval = recipe('interval') =~ s/\$start/'-infinity'/r =~ s/\$end/'$end'/r;

sub rows_of
{
	my ($relation) = @_;
	return scalar(split(/\n/, $session->ask($interval =~ s/\bpurchase/$relation/r)));
}
$session->ask($key);
is($session->ask($gate), 'f', 'the gate is closed while a row of the interval can still commit');
my ($of_table, $of_view) = map { rows_of($_) } qw(outbox outbox_settled);
$late->ask('COMMIT');
is($session->ask($gate), 't', 'and opens with its commit');
is(rows_of('outbox') - $of_table, 1, 'without the gate the row is lost');
is(rows_of('outbox') - $of_view, 2, 'and through the view the row behind it, too');

end_soak(nodes => [$node]);
