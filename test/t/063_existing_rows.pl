# Tables that are older than pg_comb: times without a zone, an outbox with v4 keys, and an
# outbox that was dumped alone.  The server's zone is not UTC, as that of many is not.
use lib 'test/perl';
use CombTest;
use CombFeed;

my $node = server('main', conf => "timezone = 'America/New_York'\n");

sub query { return $node->safe_psql(@_); }

sub database
{
	my ($name) = @_;
	query('postgres', "CREATE DATABASE $name");
	query($name, 'CREATE EXTENSION pg_comb_ordered CASCADE');
	return $name;
}

# The recipes, for a column of each type.  The statements of the page are for times without
# a zone.  How far are the keys' times from those of the rows?
sub migrated
{
	my ($type, $statements) = @_;
	my $base = database('migrated_' . query('postgres', 'SELECT count(*) FROM pg_database'));
	query($base, qq{
		SET timezone = 'UTC';
		CREATE TABLE customer (id uuid PRIMARY KEY, name text, created_at $type);
		INSERT INTO customer VALUES
			('5f0d7b1c-92e4-4a3b-8c6d-0123456789ab', 'Ada', '2026-11-18 08:00'),
			('0b54ac7e-60aa-4f1e-9d70-ba9876543210', 'Grace', '2026-11-19 21:30')});
	query($base, $statements->(recipe('stamp') . recipe('client-key') =~ s/\btimestamp\b/$type/r));
	return query($base, q{
		SET timezone = 'UTC';
		SELECT string_agg(DISTINCT (comb_timestamp(id) - at)::text, ' ')
		FROM (SELECT id, created_at::timestamptz FROM customer
			UNION ALL SELECT customer_id, '2026-11-19 21:30' FROM invoice
			UNION ALL SELECT id, created_at::timestamptz FROM client
			UNION ALL SELECT client_id, '2026-11-19 21:30' FROM bill) AS row (id, at)});
}

sub as_it_stands { return $_[0]; }
sub without_zone { return $_[0] =~ s/ AT TIME ZONE 'UTC'//gr; }
# The clients' times stand in the recipe without a zone
sub in_utc { return without_zone("SET timezone = 'UTC'; $_[0]") =~ s/BEGIN;/BEGIN; SET LOCAL timezone = 'America\/New_York';/gr; }

is(migrated('timestamp', \&as_it_stands), '00:00:00', 'the statements of the page, for times without a zone');
is(migrated('timestamp', \&without_zone), '05:00:00', 'without the zone UTC they are wrong by hours');
is(migrated('timestamptz', \&in_utc), '00:00:00', 'for times with a zone without AT TIME ZONE');

# The check before
foreach my $case ([ 'timestamp', 'as_it_stands', 1 ], [ 'timestamptz', 'without_zone', 1 ],
	[ 'timestamp', 'without_zone', 0 ], [ 'timestamptz', 'as_it_stands', 0 ])
{
	my ($type, $form, $right) = @$case;
	my $check = __PACKAGE__->can($form)->(recipe('newest'));
	my $answer = query('postgres', qq{
		CREATE TEMP TABLE customer (created_at $type);
		SET timezone = 'UTC';
		INSERT INTO customer VALUES (now() - interval '10 s');
		SET timezone = 'America/New_York';
		$check});
	my ($shown, $age) = split(/\|/, $answer);
	is($shown, $type eq 'timestamp' ? 'timestamp without time zone' : 'timestamp with time zone', "the check shows $type");
	is($age =~ /^00:00:1/ ? 1 : 0, $right, "the check shows whether the times of a $type are right, $form");
}

# Rows of one time keep the order of their numbers, whatever follows them a microsecond later.  Indexes, UNIQUE and
# the actions of foreign keys stay.
my $ties = database('ties');
query($ties, recipe('client-key') =~ s{(INSERT INTO client).*?;.*?;}{
	ALTER TABLE client ADD manager bigint REFERENCES client;
	INSERT INTO client SELECT n, n, date_trunc('second', timestamp '2026-11-20' + n * interval '200 ms'), nullif(n / 2, 0) FROM generate_series(1, 2000) AS n;
	INSERT INTO client SELECT n, n, timestamp '2026-11-21', 1 FROM generate_series(5000, 2001, -1) AS n;
	INSERT INTO client SELECT 5000 + n, 5000 + n, timestamp '2026-11-21' + n * interval '1 us', 1 FROM generate_series(1, 2000) AS n;
	INSERT INTO bill SELECT id, id FROM client;
	CREATE INDEX bill_text ON bill ((client_id::text));}sr
	=~ s{(ALTER TABLE bill DROP)}{ALTER TABLE client DROP CONSTRAINT client_manager_fkey; $1}r
	=~ s{(ALTER id SET DEFAULT comb_generate\(\))}{ALTER manager TYPE uuid USING client_key(manager), $1}r);
is(query($ties, q{SELECT count(*) FROM (SELECT id < lag(id) OVER (ORDER BY created_at, name::int) AS bad FROM client) AS s WHERE bad}), 0, 'rows of one time keep their order');
is(query($ties, q{SELECT count(*) FILTER (WHERE name::int = number), max(comb_timestamp(id) - created_at AT TIME ZONE 'UTC') < '3 ms' FROM bill JOIN client ON id = client_id;
	SELECT count(*) FROM client AS c JOIN client AS m ON m.id = c.manager WHERE c.name::int > 2000 OR m.name::int = c.name::int / 2;
	SELECT string_agg(pg_get_indexdef(indexrelid), ' ' ORDER BY 1) ~ 'bill_text.*client_id' FROM pg_index WHERE indrelid = 'bill'::regclass}), "7000|t\n6999\nt", 'and their rows');
query($ties, 'DELETE FROM client WHERE name IN (SELECT name FROM client ORDER BY name::int DESC LIMIT 1000)');
is(query($ties, q{SELECT count(*) FROM bill; SELECT count(*) FROM pg_constraint WHERE conrelid = 'bill'::regclass AND contype <> 'n'}), "6000\n3", 'and their actions and constraints');

# An outbox with v4 keys.  A reader begins before, and another one after the migration.
sub reader
{
	my ($base) = @_;
	return CombSession->new($node, $base, query => recipe('poll'));
}

sub outbox
{
	my ($name) = @_;
	my $base = database($name);
	query($base, q{
		SET timezone = 'UTC';
		CREATE TABLE outbox (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), body text, created_at timestamp DEFAULT (now() AT TIME ZONE 'UTC'));
		SELECT setseed(0.5);
		INSERT INTO outbox SELECT encode(overlay(uuid_send(md5(n::text)::uuid) PLACING '\x40' FROM 7 FOR 1), 'hex')::uuid, n,
			now() - (1001 - n) * interval '1 min' FROM generate_series(1, 1000) AS n});
	return $base;
}

sub found
{
	my ($reader) = @_;
	1 while $reader->poll >= 1000;
	my %got = map { $_ => 1 } @{ $reader->{got} };
	return keys(%got) . ' of ' . @{ $reader->{got} };
}

my $plain = outbox('outbox_plain');
query($plain, q{ALTER TABLE outbox ALTER id SET DEFAULT comb_generate_ordered(); INSERT INTO outbox (body) VALUES ('new')});
cmp_ok((split / /, found(reader($plain)))[0], '<', 50, 'when only the default is changed, a reader misses the v4 keys');

my $behind = outbox('outbox_behind');
query($behind, recipe('outbox-behind-v4'));
query($behind, q{INSERT INTO outbox VALUES ('fffffffe-0000-4000-8000-000000000000')});
like(error_of($node, 'outbox_behind', recipe('outbox-behind-v4')), qr/give the row with the largest id another one/, 'an old key that stays behind is an error');

my $stamped = outbox('outbox_stamped');
query($stamped, recipe('outbox-v4'));
my $reader = reader($stamped);
is(found($reader), '1000 of 1000', 'when the keys are stamped, a reader gets them all');
query($stamped, q{INSERT INTO outbox (body) VALUES ('new')});
is(found($reader), '1001 of 1001', 'and those that come');
my $close = outbox('outbox_of_one_millisecond');
query($close, q{UPDATE outbox SET created_at = timestamp '2026-11-20' + body::int * interval '1 us'});
query($close, recipe('outbox-v4'));
is(query($close, q{SELECT count(*) FROM (SELECT id < lag(id) OVER (ORDER BY body::int) AS bad FROM outbox) AS row WHERE bad}), 0, 'also within a millisecond');
is(query($stamped, q{SELECT count(*) FROM (SELECT id, lag(id) OVER (ORDER BY created_at) AS before FROM outbox) AS row WHERE id < before}),
	0, 'in the order of their time');

# A table that was dumped alone
my $restored = database('restored');
my $file = tempdir() . '/outbox.sql';
$node->command_ok([ 'pg_dump', '-t', 'outbox', '-f', $file, $stamped ], 'pg_dump -t');
$node->command_ok([ 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-f', $file, $restored ], 'and its restore');
is(found(reader($restored)), '0 of 0', 'a table that was dumped alone shows nothing');
is(query($restored, 'SELECT comb_settled()'), '00000000-0000-0000-0000-000000000000', 'because the database has made no key');
query($restored, 'SELECT comb_generate_ordered()');
is(found(reader($restored)), '1001 of 1001', 'after the first key it shows all');

# uuids in a text column
my $text = database('text');
query($text, 'CREATE TABLE tx (id text PRIMARY KEY DEFAULT comb_generate()); INSERT INTO tx DEFAULT VALUES');
query($text, recipe('text-uuid'));
is(query($text, "INSERT INTO tx DEFAULT VALUES; SELECT count(*) FROM tx WHERE id <@ tstzrange(now() - interval '1 hour', NULL)"), 2,
	'uuids in a text column become keys');

# Retention in batches: the rows before, and none after, and no batch reads the whole table
my $old = database('old');
query($old, q{CREATE TABLE weather (id uuid PRIMARY KEY DEFAULT comb_generate());
	INSERT INTO weather SELECT comb_at(t) FROM generate_series(now() - interval '200 days', now(), '1 hour') AS t;
	INSERT INTO weather SELECT gen_random_uuid() FROM generate_series(1, 10)});
query($old, 'VACUUM ANALYZE weather');
my (undef, undef, $said) = $node->psql($old, recipe('purge') =~ s/CALL.*/CALL purge('90 days', 500)/r);
is(scalar(() = $said =~ /^psql.*NOTICE:  \d+ rows, up to \d.* of \d/mg), 6, 'a procedure says how far it is, batch by batch') or diag($said);
is(query($old, q{SELECT count(*) FILTER (WHERE id <@ tstzrange(NULL, now() - interval '90 days')),
	count(*) BETWEEN 2160 AND 2180 FROM weather}), '0|t', 'and deletes what is old, and nothing else');
is(query($old, q{EXPLAIN (COSTS OFF) DELETE FROM weather WHERE id = ANY (ARRAY(
	SELECT id FROM weather WHERE id <@ tstzrange(NULL, now() - interval '10 days') ORDER BY id LIMIT 50))}) =~ /Seq Scan/ ? 1 : 0, 0, 'by the index');

# A block of usage.md without a name, by its beginning
sub block
{
	my ($beginning) = @_;
	my ($text) = slurp_file('doc/usage.md') =~ /^```sql\n(\Q$beginning\E.*?)^```$/ms or die "no block \"$beginning\"";
	return $text;
}

# Partitions of the next months, as a job makes them each day.  The server's months would begin elsewhere.
my $visits = database('visits');
query($visits, q{CREATE TABLE visit (id uuid PRIMARY KEY DEFAULT comb_generate(), what text) PARTITION BY RANGE (id)});
query($visits, block('CREATE PROCEDURE visit_months'));
my $months = "SELECT count(*) FROM pg_inherits WHERE inhparent = 'visit'::regclass";
is(query($visits, $months), 2, 'a procedure makes the partitions of two months');
query($visits, 'CALL visit_months()');
query($visits, "SET timezone = 'Asia/Tokyo'; SET search_path = ''; CALL public.visit_months(); CALL public.visit_months(current_date, current_date + 60)");
my $late = CombSession->new($node, 'visits');
$late->ask('BEGIN; SELECT FROM visit');
is(query($visits, q{INSERT INTO visit SELECT comb_at(t) FROM generate_series(now(), now() + interval '59 days', '1 day') AS t;
	SELECT count(*) FROM visit}), 60, 'and those of the next 60 days, once');
like(error_of($node, 'visits', "CALL visit_months('2020-01-01', '2020-01-31')"), qr/ERROR:  55P03/, 'it does not make others wait behind a reader');
$late->quit;

# Partitions that other tools made: their bounds have another version, or no variant.
query($visits, q{CREATE TABLE visit_qonto PARTITION OF visit
	FOR VALUES FROM ('019d4657-0000-0000-0000-000000000000') TO ('019de0d5-c800-7000-0000-000000000000')});
is(query($visits, "SET timezone = 'UTC'; SELECT since, until FROM (" . block('SELECT inhrelid') =~ s/;\n\z//r . q{) AS b WHERE partition = 'visit_qonto'::regclass}),
	'2026-04-01 00:00:00+00|2026-05-01 00:00:00+00', 'their bounds are shown as times');
is(query($visits, 'SELECT count(*) FROM (' . block('SELECT inhrelid') =~ s/;\n\z//r . ') AS b WHERE since IS NULL OR until <= since'), 0, 'as are those of all');

done_testing();
