# The recipes of doc/feed.md, and those of doc/feed_readers.md for rows that change, in
# the cases that a soak does not meet.
use lib 'test/perl';
use CombTest;
use CombFeed;

my $node = server('main', conf => "max_prepared_transactions = 4\n",
	sql => 'CREATE EXTENSION pg_comb_ordered CASCADE;' . recipe('outbox') . recipe('consumer') . q{
	CREATE ROLE owner LOGIN;
	CREATE ROLE clerk LOGIN;
	GRANT CREATE ON SCHEMA public TO owner});
my ($writer, $other) = map { CombSession->new($node) } 1 .. 2;

sub reader_of
{
	my ($table, @options) = @_;
	return CombSession->new($node, 'postgres', table => $table, query => recipe('poll') =~ s/\boutbox\b/$table/r, @options);
}

sub waits_for_lock
{
	my ($session) = @_;
	return wait_until($node, "SELECT EXISTS (SELECT FROM pg_locks WHERE pid = $session->{pid} AND NOT granted)");
}

#
# Consumers of an outbox
#
my $present = $writer->ask(recipe('present'));
is($writer->ask(q{SELECT count(*) FROM consumer WHERE name = 'new'}), 1,
	'a consumer begins at the present of a database without keys');
$writer->ask(q{INSERT INTO outbox (body) SELECT nullif(n % 10, 0)::text || n FROM generate_series(1, 2000) AS n});
reader_of('outbox', last => $present)->reads_all('its first row is the first of all');

# The share of a row without a user is the first.
$writer->ask('ALTER TABLE outbox ADD user_id integer; UPDATE outbox SET user_id = nullif(length(body) * 10 + right(body, 1)::integer, 11)');
my @got = map {
	my $reader = reader_of('outbox', query => recipe('share') =~ s/= 2\b/= $_/r);
	1 while $reader->poll >= 1000;
	$reader->quit;
	[ @{ $reader->{got} } ]
} 0 .. 3;
is(scalar(grep { @$_ > 200 } @got), 4, 'four consumers have a share each');
my %got = map { $_ => 1 } map { @$_ } @got;
is(keys(%got) . ' ' . scalar(map { @$_ } @got), '2000 2000', 'and together each row once');
my %user = map { split(/\|/, $_, 2) } split(/\n/, $writer->ask('SELECT id, user_id FROM outbox'));
my %consumers;
foreach my $i (0 .. 3) { $consumers{ $user{$_} }{$i} = 1 foreach @{ $got[$i] } }
cmp_ok(scalar(keys %consumers), '>', 20, 'there are users');
is(scalar(grep { keys %$_ > 1 } values %consumers), 0, 'and all rows of a user go to one consumer, which keeps their order');

# Transactions of one user take turns, or who commits last can have the smaller key.
my ($begin, $lock, $event, $commit) = recipe('entity') =~ s/\$account/5/gr =~ /(.*?;\n)/gs;
$writer->ask('CREATE TABLE account (id integer PRIMARY KEY); INSERT INTO account VALUES (5)');
$other->ask($begin . $event);
$writer->ask($begin . $event =~ s/order placed/before it/r . $commit);
$other->ask($commit);
my $events = q{SELECT string_agg(body, ', ' ORDER BY id) FROM outbox WHERE body IN ('before it', 'order placed')};
is($writer->ask($events), 'order placed, before it', 'without the lock a later event gets the smaller key');
$writer->ask(q{DELETE FROM outbox WHERE body IN ('before it', 'order placed')} . ";$begin$lock");
$other->send($begin . $lock . $event . $commit);
waits_for_lock($other);
$writer->ask($event =~ s/order placed/before it/r . $commit);
$other->result;
is($writer->ask($events), 'before it, order placed', 'with it the keys are in the order of the transactions');
$writer->ask(q{DELETE FROM outbox WHERE body IN ('before it', 'order placed')});

$writer->ask(q{
	INSERT INTO consumer SELECT 'audit', id FROM outbox ORDER BY id LIMIT 1 OFFSET 99;
	UPDATE consumer SET last = (SELECT id FROM outbox ORDER BY id LIMIT 1 OFFSET 199) WHERE name <> 'audit'});
is($writer->ask(q{INSERT INTO consumer SELECT 'all', id FROM outbox ORDER BY id DESC LIMIT 1; INSERT INTO consumer VALUES ('never');
	SELECT FROM pg_sleep(1), comb_generate_ordered();
	SELECT name, rows, age > '1 s' FROM (} . recipe('behind') =~ s/;\n\z/) AS b (name, rows, age) ORDER BY name/r),
	"all|0|f\naudit|1900|t\nmail|1800|t\nnever|2000|t\nnew|1800|t", 'how many rows consumers are behind, and how old the oldest is');
$writer->ask(q{DELETE FROM consumer WHERE name IN ('all', 'never')});
my $retention = recipe('retention') =~ s/7 days/0 days/r;
$writer->ask($retention);
is($writer->ask('SELECT count(*) FROM outbox'), 1900, 'what all consumers have passed is deleted');
$writer->ask(recipe('retention'));
$writer->ask("TRUNCATE consumer; $retention");
is($writer->ask('SELECT count(*) FROM outbox'), 1900, 'and nothing that is younger, or that no consumer has passed');

#
# A loop that makes its keys ahead of their rows, and one that does not.  While the loop
# inserts its second row, another session inserts one, and a reader asks.
#
$node->safe_psql('postgres', q{
	CREATE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql AS
	$$BEGIN PERFORM pg_advisory_xact_lock_shared(count(*)) FROM outbox WHERE body = 'event'; RETURN NULL; END$$;
	CREATE TRIGGER hold AFTER INSERT ON outbox
		FOR EACH ROW WHEN (NEW.body = 'event') EXECUTE FUNCTION hold()});
my %lost;
foreach my $loop ('wrong', 'right')
{
	my $reader = reader_of('outbox');
	my $text = $loop eq 'wrong' ? recipe('wrong-loop')
	  : "FOR i IN 1..100 LOOP INSERT INTO outbox (body) VALUES ('event'); COMMIT; END LOOP;";
	$other->ask('TRUNCATE outbox; SELECT pg_advisory_lock(2)');
	$writer->send("DO \$\$ DECLARE key uuid; BEGIN $text END \$\$");
	waits_for_lock($writer);
	$node->safe_psql('postgres', "INSERT INTO outbox (body) VALUES ('prompt')");
	$reader->poll;
	$other->ask('SELECT pg_advisory_unlock(2)');
	$writer->result;
	1 while $reader->poll >= 1000;
	$lost{$loop} = ($reader->counts)[1];
	$reader->quit;
}
is($lost{wrong}, 99, 'a loop that makes its keys ahead of their rows loses all but the first');
is($lost{right}, 0, 'the loop that inserts with the default does not');

#
# The rows of a transaction, beside one that began between them
#
my ($in_order, $anyhow) = (reader_of('outbox', last => $writer->ask('TRUNCATE outbox; SELECT comb_generate_ordered()')),
	CombSession->new($node, 'postgres', query => 'SELECT id FROM outbox WHERE comb_unread(id, outbox.xmin, NULL)'));
$writer->ask(q{BEGIN; INSERT INTO outbox (body) VALUES ('first')});
$other->ask(q{BEGIN; INSERT INTO outbox (body) VALUES ('of another')});
$writer->ask(q{INSERT INTO outbox (body) VALUES ('second'); COMMIT});
is($in_order->poll . ' ' . $anyhow->poll, '1 2', 'come in two polls below comb_settled(), and in one by position');
$other->ask('COMMIT');
$in_order->reads_all('no row of it is lost');
$_->quit foreach ($in_order, $anyhow);

#
# An outbox whose keys were made in no order gets ordered keys.
#
foreach my $generator ('comb_generate()', $node->safe_psql('postgres', q{SELECT to_regproc('uuidv7')}) ? 'uuidv7()' : ())
{
	$writer->ask("CREATE TABLE before (id uuid PRIMARY KEY DEFAULT $generator, body text); INSERT INTO before (body) SELECT 'old' FROM generate_series(1, 2500)");
	$other->ask(q{BEGIN; INSERT INTO before (body) VALUES ('late')});
	my $change = recipe('outbox-v7') =~ s/\boutbox\b/before/gr;
	like($writer->complaints($change =~ s/2 s/10 ms/r), qr/lock timeout/, "$generator: a writer's transaction is waited for");
	$other->ask('COMMIT');
	my $next = $writer->ask('SELECT id FROM before ORDER BY id DESC LIMIT 1') =~ s/^.{3}/fff/r;
	like($writer->complaints("INSERT INTO before VALUES ('$next'); $change"), qr/keys ahead/, "$generator: a key ahead of the clock is found");
	$writer->ask("DELETE FROM before WHERE id = '$next'; $change; INSERT INTO before (body) VALUES ('new')");
	my $reader = reader_of('before');
	$reader->reads_all("$generator: all rows are below comb_settled()");
	is(scalar(@{ $reader->{got} }), 2502, "$generator: old and new ones");
	$reader->quit;
	$writer->ask('DROP TABLE before');
}

#
# Rows that change
#
# Whatever the table is, the reader's copy comes to be the table.
my %tables = (
	'plain'   => 'CREATE TABLE item (id bigint PRIMARY KEY, name text)',
	'by name' => q{
		CREATE TABLE item (id bigint, name text) PARTITION BY LIST (name);
		CREATE TABLE item_old PARTITION OF item FOR VALUES IN ('old');
		CREATE TABLE item_new PARTITION OF item DEFAULT});
foreach my $table (sort keys %tables)
{
	my $owner = CombSession->new($node, 'postgres', user => 'owner');
	$owner->ask($tables{$table});
	$owner->ask("INSERT INTO item SELECT n, 'old' FROM generate_series(1, 20) AS n");
	my $before = schema();
	$owner->ask($_) foreach map { recipe('changes'), recipe('every-version') } 1 .. 2;
	changes($table, $owner);
	again($table, $owner) if $table eq 'plain';    # without a unique index nobody waits
	$owner->ask(recipe('undo')) foreach 1 .. 2;
	is(schema(), $before, "$table: the undo leaves nothing behind");
	$owner->ask('DROP TABLE item');
	$owner->quit;
}

# Tables, columns, triggers and functions of the owner
sub schema
{
	return $node->safe_psql('postgres', q{
		SELECT relname, relkind FROM pg_class WHERE relowner = 'owner'::regrole AND relkind <> 't' ORDER BY 1;
		SELECT attrelid::regclass, attname FROM pg_attribute JOIN pg_class c ON c.oid = attrelid
			WHERE relowner = 'owner'::regrole AND relkind IN ('r', 'p') AND attnum > 0 AND NOT attisdropped ORDER BY 1, 2;
		SELECT tgrelid::regclass, tgname, tgenabled FROM pg_trigger ORDER BY 1, 2;
		SELECT proname FROM pg_proc WHERE proowner = 'owner'::regrole ORDER BY 1});
}

# Each kind of change, one after the other
sub changes
{
	my ($table, $owner) = @_;
	my ($reader, $all) = map { CombFeed->new($node, query => recipe('changed')) } 1 .. 2;
	my $log = reader_of('item_log');

	$reader->reads_all("$table: what was there before");
	$owner->ask($_), $reader->reads_all("$table: $_") foreach (
		"INSERT INTO item VALUES (200, 'inserted')",
		"UPDATE item SET name = 'changed' WHERE id <= 2",
		'UPDATE item SET id = id + 100 WHERE id = 3',
		'INSERT INTO item VALUES (201); UPDATE item SET id = 202 WHERE id = 201',
		'DELETE FROM item WHERE id IN (4, 5)',
		"INSERT INTO item VALUES (4, 'again')",
		"BEGIN; DELETE FROM item WHERE id = 6; INSERT INTO item VALUES (6, 'at once'); COMMIT",
		"WITH gone AS (DELETE FROM item WHERE id = 9 RETURNING id + 1000 AS id) INSERT INTO item SELECT id, 'in one' FROM gone",
		'BEGIN; DELETE FROM item WHERE id = 7; ROLLBACK',
		"UPDATE item SET name = 'twice' WHERE id = 8; UPDATE item SET name = 'thrice' WHERE id = 8; DELETE FROM item WHERE id = 8",
		"BEGIN; UPDATE item SET name = 'prepared' WHERE id = 10; DELETE FROM item WHERE id = 11; PREPARE TRANSACTION 'p'; COMMIT PREPARED 'p'");
	cmp_ok($reader->{rows}, '<', 50, "$table: and nothing is read again");
	$all->reads_all("$table: a new reader gets the whole table");
	$log->reads_all("$table: each version is in the log");
	is($reader->log_differs, 0, "$table: and the last version of an id is the last in the log");
	$_->quit foreach ($reader, $all, $log);
	return;
}

# A DELETE of two rows has taken the first, and waits for the second, when somebody
# inserts the first again.
sub again
{
	my ($table, $owner) = @_;
	my $reader = CombFeed->new($node, query => recipe('changed'));
	my $holder = CombSession->new($node);

	$holder->ask('BEGIN; SELECT FROM item WHERE id = 17 FOR UPDATE');
	$owner->send('DELETE FROM item WHERE id IN (16, 17)');
	waits_for_lock($owner);
	$other->send("INSERT INTO item VALUES (16, 'again')");
	waits_for_lock($other);
	$holder->ask('COMMIT');
	$_->result foreach ($owner, $other);
	is($owner->ask('SELECT item.version < d.version FROM item JOIN item_deleted AS d USING (id) WHERE id = 16'),
		't', 'the key of the new row is below that of its deletion');
	$reader->reads_all('the new row is read');
	$_->quit foreach ($reader, $holder);
	return;
}

# The second table takes the id's type.  Its columns replace a composite key's id.
foreach my $key ('id uuid', 'tenant text, number int')
{
	my @columns = map { /^(\w+)/ } split(/, /, $key);
	my $names = join(', ', @columns);
	my ($changes, $changed) = map { composite(recipe($_), @columns) } qw(changes changed);
	my $owner = CombSession->new($node, 'postgres', user => 'owner');
	my %copy;
	my $last = '00000000-0000-0000-0000-000000000000';
	my @values = map { @columns > 1 ? "'t', $_" : "'" . '0' x 8 . "-0000-4000-8000-00000000000$_'" } 0 .. 9;

	$owner->ask("CREATE TABLE item ($key, name text, PRIMARY KEY ($names)); INSERT INTO item VALUES ($values[1], 'old'), ($values[2], 'old')");
	$owner->ask($changes) foreach 1 .. 2;
	foreach my $change ('SELECT 1', "INSERT INTO item VALUES ($values[3], 'new')", "UPDATE item SET name = 'changed' WHERE name = 'new'",
		"UPDATE item SET ($names) = ROW ($values[4]) WHERE ($names) = ($values[1])", "DELETE FROM item WHERE ($names) = ($values[2])")
	{
		$owner->ask($change);
		foreach my $row (split(/\n/, $owner->ask($changed =~ s/\$last/'$last'/gr)))
		{
			my @fields = split(/\|/, $row);
			my $id = join('|', splice(@fields, 0, scalar @columns));
			$last = $fields[0];
			if ($fields[1] eq 't') { delete $copy{$id} } else { $copy{$id} = "$id|$fields[2]" }
		}
		is(join("\n", map { $copy{$_} } sort keys %copy), $owner->ask("SELECT $names, name FROM item ORDER BY $names"), "$key: $change");
	}
	$owner->ask(recipe('undo') . 'DROP TABLE item');
	$owner->quit;
}

# A reader of a part puts its condition into the join.
{
	my $owner = CombSession->new($node, 'postgres', user => 'owner');
	$owner->ask("CREATE TABLE item (id bigint PRIMARY KEY, name text, tenant integer); INSERT INTO item VALUES (1, 'one', 7), (2, 'two', 7), (3, 'three', 8)");
	$owner->ask(recipe('changes'));
	my $part = CombFeed->new($node, query => recipe('changed') =~ s/ON item\.id = change\.id/$& AND item.tenant = 7/r);
	$part->poll;
	is(join(' ', sort values %{ $part->{copy} }), 'one two', 'a reader of a part');
	$owner->ask("UPDATE item SET tenant = 8 WHERE id = 1; UPDATE item SET tenant = 7 WHERE id = 3");
	$part->poll;
	is(join(' ', sort values %{ $part->{copy} }), 'three two', 'learns of rows that leave it, or come to it');
	$part->quit;
	$owner->ask(recipe('undo') . 'DROP TABLE item');
	$owner->quit;
}

# Return a recipe with these columns for the id.
sub composite
{
	my ($text, @columns) = @_;
	my $list = sub { my ($of) = @_; return join(', ', map { "$of$_" } @columns) };
	$text =~ s/\bitem\.id IS NULL/item.$columns[0] IS NULL/g;
	$text =~ s/\b(\w+\.)id (=|IS DISTINCT FROM) (\w+\.)id\b/'(' . $list->($1) . ") $2 (" . $list->($3) . ')'/ge;
	return $text =~ s/\b(\w+\.)?id\b/$list->($1 \/\/ '')/ger;
}

# Roles: whoever deletes rows needs INSERT on the second table, and nothing else.
$writer->ask("SET ROLE owner; $tables{plain}; INSERT INTO item SELECT n, 'old' FROM generate_series(1, 20) AS n");
$writer->ask(recipe('changes'));
$writer->ask('GRANT SELECT, INSERT, UPDATE, DELETE ON item TO clerk');
my $clerk = CombSession->new($node, 'postgres', user => 'clerk');
$clerk->ask("SET search_path = ''; UPDATE public.item SET name = name WHERE id = 18");
like($clerk->complaints('DELETE FROM public.item WHERE id = 18'), qr/permission denied for table item_deleted/, 'a role that deletes');
$writer->ask('GRANT INSERT ON item_deleted TO clerk; RESET ROLE');
$clerk->ask('DELETE FROM public.item WHERE id = 18');
$clerk->quit;

# A large table gets its versions piece by piece.
$writer->ask(recipe('undo') . "DROP TABLE item; $tables{plain}; INSERT INTO item SELECT n, 'old' FROM generate_series(1, 20) AS n");
$writer->ask('ALTER TABLE item ADD COLUMN version uuid; ALTER TABLE item ALTER COLUMN version SET DEFAULT comb_generate_ordered()');
$writer->ask('CREATE INDEX CONCURRENTLY item_version ON item (version)');
$writer->ask(recipe('changes'));
$writer->ask("INSERT INTO item VALUES (21, 'new'); UPDATE item SET name = 'changed' WHERE id = 1");
my $late = CombFeed->new($node, query => recipe('changed'));
is($late->poll, 2, 'changed rows have versions');
$writer->ask("UPDATE item SET version = NULL WHERE version IS NULL AND id BETWEEN $_ AND $_ + 9") foreach (1, 11);
$late->reads_all('and all rows in the end');

# A batch is as much as the reader takes from the indexes.
$writer->ask('INSERT INTO item SELECT n FROM generate_series(100, 60000) AS n; DELETE FROM item WHERE id % 10 = 0');
$writer->ask('VACUUM ANALYZE item, item_deleted');
my $plan = $late->ask('EXPLAIN (COSTS OFF) ' . $late->query);
like($plan, qr/Scan using $_ .*\n *Index Cond: .*version > .*version < /, "the reader uses $_") foreach qw(item_version item_deleted_pkey);
$late->reads_all('a large table');
done_testing();
