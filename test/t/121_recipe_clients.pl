# The readers of the pages, as programs are: over rows that share a time, by a client whose
# times have milliseconds, as Date of JavaScript, and by one that is killed in the middle of a
# page.
# logged: readers of "public\.starts" by .* lose rows
use lib 'test/perl';
use CombFeed;
use CombTest;
use List::Util qw(max);

my $rows = 3500;
my $node = server('main', sql => 'CREATE EXTENSION pg_comb_ordered CASCADE;' . portable_feed() . recipe('numbers') . recipe('outbox') . recipe('consumer')
	  . q{CREATE TABLE purchase (id uuid PRIMARY KEY DEFAULT comb_generate_ordered(), number bigint UNIQUE DEFAULT next_id(), body text);
	CREATE TABLE item (id bigint PRIMARY KEY, name text);
	CREATE TABLE event_log (id uuid PRIMARY KEY DEFAULT comb_generate_ordered(), body text);
	CREATE TABLE event_reader (name text PRIMARY KEY, position text);
	INSERT INTO event_reader VALUES ('mail');
	CREATE TABLE job (id uuid PRIMARY KEY DEFAULT comb_generate_ordered(), body text)}
	  . join(';', '', map { recipe("$_ view") } qw(settled numbered timed)) . recipe('changes') . recipe('changes view') . recipe('heartbeat') . recipe('send-mail'));

# Rows of one statement: those of seconds and of now() share one time, and 600 purchases a millisecond.
my %type = (orders => 'timestamptz DEFAULT clock_timestamp()', seconds => 'timestamptz(0) DEFAULT clock_timestamp()', starts => 'timestamptz DEFAULT now()');
foreach my $table (sort keys %type)
{
	$node->safe_psql('postgres', "CREATE TABLE $table (id bigserial PRIMARY KEY, key uuid NOT NULL DEFAULT comb_generate(), created_at $type{$table}, body text);"
		  . join(';', map { recipe($_) =~ s/\borders(?=_|\b)/$table/gr =~ s/SELECT comb_feed_add\(\K('$table')/$1, '600 ms'/r } qw(feed-number feed-time))
		  . (recipe('feed-uuid') =~ s/^SELECT.*\n//r =~ s/\borders(?=_|\b)/$table/gr));
}
$node->safe_psql('postgres', "INSERT INTO $_ (body) SELECT 'row ' || n FROM generate_series(1, $rows) AS n") foreach sort('outbox', 'event_log', keys %type);
$node->safe_psql('postgres', "INSERT INTO item SELECT n, 'row ' || n FROM generate_series(1, $rows) AS n;
	INSERT INTO purchase (id) SELECT comb_at(timestamptz '2026-11-20 12:00' + n / 600 * interval '1 s') FROM generate_series(1, $rows) AS n;
	INSERT INTO job (body) SELECT 'row ' || n FROM generate_series(1, 10) AS n;
	SELECT comb_generate_ordered(), next_id(), pg_sleep(1.3)");
$node->safe_psql('postgres', recipe('feed-xid'));
$node->safe_psql('postgres', recipe('seen') =~ s/ALTER SUBSCRIPTION.*//r . 'SELECT comb_generate_ordered()');
$node->safe_psql('postgres', 'SELECT comb_feed_advance(); UPDATE heartbeat SET bound = comb_settled()') foreach 1 .. 2;

my $session = CombSession->new($node);

# Read with a query until a poll brings nothing.  The cursor is the values of these columns, with
# which $last and so on begin.  Times lose their microseconds, and a client that is killed
# has stored the cursor of the 700th row of a page, and handled that row.
sub reads
{
	my ($query, $cursor, $killed) = @_;
	my @names = sort keys %$cursor;
	my %last = map { $_ => $cursor->{$_}[1] } @names;
	my $bound = sub { my $sql = $_[0]; $sql =~ s/\$$_\b/'$last{$_}'/g foreach @names; return $sql };
	my ($of_bound) = $query =~ /^(SELECT .*) AS bound;/m;
	$query =~ s/\$bound\b/($of_bound)/;
	my ($select) = $query =~ /([^;]*);\s*\z/;

	my @columns = map { [ split(/\|/) ] } split(/\n/, $node->safe_psql('postgres', $bound->($select) . ' \gdesc'));
	my %at = map { $columns[$_][0] => $_ } 0 .. $#columns;
	my (%got, $polls);
	for ($polls = 1; $polls < 50; $polls++)
	{
		my @page = map { [ split(/\|/, $_, -1) ] } split(/\n/, $session->ask($bound->($select)));
		last if !@page;
		splice(@page, 700) if $killed;
		foreach my $row (@page)
		{
			foreach my $i (grep { $columns[$_][1] =~ /^timestamp/ } 0 .. $#columns) { $row->[$i] =~ s/(\.\d{3})\d+/$1/ }
			$got{ $row->[ $at{id} ] }++;
			%last = map { $_ => $row->[ $at{ $cursor->{$_}[0] } ] } @names;
		}
	}
	return sprintf('%d of %d rows, %d twice%s', scalar(keys %got), $rows, scalar(grep { $_ > 1 } values %got), $polls < 50 ? '' : ', and no end');
}

my $all  = "$rows of $rows rows, 0 twice";
my @uuid = (last => [ id => CombSession::NIL ]);
my @time = (last => [ last => '-infinity' ], last_id => [ id => 0 ]);
my @tests = (
	[ 'poll', recipe('poll'), {@uuid} ],
	[ 'standby', recipe('standby'), {@uuid} ],
	[ 'changed', recipe('changed'), { last => [ version => CombSession::NIL ] } ],
	[ 'arrived', recipe('arrived'), { last => [ seen => CombSession::NIL ] } ],
	[ 'changes view', 'SELECT * FROM item_changes WHERE version > $last ORDER BY version LIMIT 1000;', { last => [ version => CombSession::NIL ] } ],
	[ 'settled view', 'SELECT * FROM purchase_settled WHERE id > $last ORDER BY id LIMIT 1000;', {@uuid} ],
	[ 'numbered view', 'SELECT * FROM purchase_numbered WHERE number > $last ORDER BY number LIMIT 1000;', { last => [ number => 0 ] } ],
	[ 'pages by time', 'SELECT * FROM purchase_timed WHERE (made_at, id) < ($last, $last_id) ORDER BY made_at DESC, id DESC LIMIT 1000;',
		{ last => [ made_at => 'infinity' ], last_id => [ id => 'ffffffff-ffff-ffff-ffff-ffffffffffff' ] } ],
	map {
		my $table = $_;
		my $of = sub { $_[0] =~ s/\borders(?=_|\b)/$table/gr };
		([ "feed-poll of $table",       $of->(recipe('feed-poll')),       { last => [ id => 0 ] } ],
		 [ "feed-poll-value of $table", $of->(recipe('feed-poll-value')), { last => [ id => 0 ] } ],
		 [ "feed-poll-time of $table",  $of->(recipe('feed-poll-time')),  {@time} ],
		 [ "feed-uuid of $table", "SELECT * FROM ${table}_keyed WHERE key > \$last ORDER BY key LIMIT 1000;", { last => [ key => CombSession::NIL ] } ])
	} sort keys %type);
foreach my $test (@tests)
{
	my ($name, $query, $cursor) = @$test;
	is(reads($query, $cursor), $all, "$name: a client with milliseconds");
	is(reads($query, $cursor, 1), $all, "$name: a client that is killed");
}

# A time that is not unique is a cursor only of whole polls: doc/pipelines.md says so.
my $whole = 'SELECT * FROM purchase_timed WHERE made_at > $last ORDER BY made_at;';
my %made = (last => [ made_at => '-infinity' ]);
is(reads($whole, \%made), $all, 'timed view: whole polls');
isnt(reads($whole, \%made, 1), $all, 'timed view: a tool that is killed inside a millisecond loses rows');
isnt(reads($whole =~ s/;/ LIMIT 1000;/r, \%made), $all, 'timed view: and one that reads pages');

# Readers that store their place in the transaction of the rows, or take the rows away, and are killed before its end
foreach my $reader (
	[ batch          => recipe('batch'),         0, $rows ],
	[ position       => recipe('position'),      0, $rows ],
	[ 'feed-position' => recipe('feed-position'), 0, $rows ],
	[ workers        => recipe('workers') =~ s/^CALL.*\n//r, 1, 10 ])
{
	my ($name, $query, $column, $wanted) = @$reader;
	my %got;
	for (my $polls = 0; $polls < 50; $polls++)
	{
		my $client = CombSession->new($node);
		my @page = split(/\n/, $client->ask("BEGIN; $query"));
		if ($polls % 2)
		{
			$got{ (split(/\|/))[$column] }++ foreach @page;
			$client->ask('COMMIT');
		}
		else
		{
			$node->safe_psql('postgres', "SELECT pg_terminate_backend($client->{pid}, 10000)");
		}
		$client->quit;
		last if !@page;
	}
	is(scalar(keys %got) . ' ' . max(values %got), "$wanted 1", "$name: each row once");
}

# The consumer in PL/pgSQL, killed in its second batch
$node->safe_psql('postgres', q{UPDATE consumer SET last = DEFAULT;
	CREATE FUNCTION die() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NEW; END$$;
	CREATE TRIGGER die BEFORE INSERT ON mail FOR EACH ROW WHEN (NEW.body = 'row 1500') EXECUTE FUNCTION die()});
like(error_of($node, 'postgres', 'CALL send_mail()'), qr/terminating connection/, 'send-mail: killed');
is($node->safe_psql('postgres', 'SELECT count(*) FROM mail; DROP TRIGGER die ON mail; CALL send_mail(); SELECT count(*) FROM mail'), "1000\n$rows", 'send-mail: goes on behind its first batch');

done_testing();
