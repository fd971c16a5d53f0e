# The online migration of doc/migration.md, under load: from v4 keys, and from a bigserial.
# MIGRATION_ROWS says how many rows each of the two tables has.
# logged: (wal_level.* is insufficient|logical decoding must be enabled) to publish logical changes
# logged: tables were not subscribed|subscription was created, but is not connected
use lib 'test/perl';
use CombTest;
use Time::HiRes qw(time usleep);

my $rows = $ENV{MIGRATION_ROWS} // 20_000;
my $clients = 4;
my $rate = $ENV{MIGRATION_RATE} // 400;
my $node = server('main', conf => "max_wal_size = '8GB'\nmaintenance_work_mem = '256MB'\nshared_buffers = '512MB'\nsynchronous_commit = off\n");
my $scratch = tempdir();

# What an application does all the time.  It knows the columns by their names.
my $script = "$scratch/load.sql";
append_to_file($script, <<"END");
\\set n random(1, $rows)
\\set m random(1, $rows)
BEGIN;
WITH c AS (INSERT INTO customer (name, created_at) VALUES ('new', '2020-01-01 00:00+00'::timestamptz + random() * interval '6 years') RETURNING id)
INSERT INTO invoice (customer_id, amount) SELECT id, 1 FROM c;
UPDATE customer SET name = 'changed' WHERE id = (SELECT customer_id FROM invoice WHERE number = :n);
UPDATE invoice SET amount = amount + 1, customer_id = (SELECT customer_id FROM invoice WHERE number = :n) WHERE number = :m;
COMMIT;
END

sub load
{
	my ($database, $name) = @_;
	my ($out, $err) = ('', '');
	my $run = IPC::Run::start([ 'pgbench', '-n', '-c', $clients, '-j', 2, '-R', $rate, '-l', "--log-prefix=$scratch/$name",
			'-T', 86400, '-f', $script, $node->connstr($database) ], '>', \$out, '2>', \$err);
	return { run => $run, err => \$err };
}

# End a load, and return its longest transaction in ms, the time between asking and COMMIT,
# and how many there were.
sub stop_load
{
	my ($load, $name) = @_;
	$load->{run}->kill_kill;
	my ($longest, $n) = (0, 0);
	foreach my $file (glob("$scratch/$name.*"))
	{
		foreach (split(/\n/, slurp_file($file)))
		{
			my ($us) = /^\d+ \d+ (\d+)/ or next;
			$n++;
			$longest = $us if $us > $longest;
		}
	}
	like(${ $load->{err} }, qr/\A(?:pgbench.*\n)?\z/, "$name: no client had an error");
	return ($longest / 1000, $n);
}

# Run a step of the file, as doc/migration.md says, and return what it printed.
sub step
{
	my ($database, $step, %variables) = @_;
	my ($out, $err) = ('', '');
	my $began = time;
	my @user = exists $variables{user} ? ('-U', delete $variables{user}) : ();
	my @variables = map { ('-v', "$_=$variables{$_}") } sort keys %variables;
	IPC::Run::run([ 'psql', '-X', @user, @variables, '-v', "step=$step", '-d', $node->connstr($database),
			'-f', 'sql/portable/migrate_online.sql' ], '>', \$out, '2>', \$err);
	my $rc = $? >> 8;
	note(sprintf('%s %s: rc %d, %.1f s, %s tries while others held a lock', $database, $step, $rc, time - $began, join(' ', $err =~ /tried (\d+)/g)));
	return $rc == 0 ? "$out$err" : "failed: $err";
}

# A table with keys of a type, and a table that refers to it, each with the rows asked for.
sub migrate
{
	my ($database, $type, $default) = @_;
	my $referring = $type =~ s/serial/int/r;
	# The old number, if there is one, is in the last digits, and decides between rows of one time.
	my $wrong = sub {
		my ($old, $new) = @_;
		return "comb_timestamp($new) <> date_trunc('milliseconds', created_at)" . ($type eq 'uuid' ? '' : " OR right($new\::text, 12) <> lpad(to_hex($old), 12, '0')") };
	my $exchanged = sub {
		my ($old, $new) = @_;
		return "SELECT count(*) FROM (SELECT $new < lag($new) OVER w AND created_at > lag(created_at) OVER w AS bad FROM customer
				WHERE $old IS NOT NULL WINDOW w AS (ORDER BY created_at, $old)) AS s WHERE bad" };
	$node->safe_psql('postgres', "CREATE DATABASE $database");
	$node->safe_psql($database, "
		CREATE EXTENSION pg_comb;
		CREATE TABLE customer (id $type PRIMARY KEY$default, name text, created_at timestamptz NOT NULL);
		CREATE TABLE invoice (number int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, customer_id $referring NOT NULL REFERENCES customer, amount int);
		INSERT INTO customer (name, created_at)
			SELECT 'old', '2020-01-01 00:00+00'::timestamptz + n * interval '3 s' FROM generate_series(1, $rows) AS n;
		INSERT INTO invoice (customer_id, amount) SELECT id, 0 FROM customer;
		ANALYZE");
	my $quiet = load($database, "$database-before");
	sleep($ENV{MIGRATION_ROWS} ? 30 : 2);
	my ($before) = stop_load($quiet, "$database-before");

	my $load = load($database, $database);
	like(step($database, 'swap', table => 'customer'), qr/failed: .*prepare has not come to its end/, "$database: no swap before all is prepared");
	my $said = step($database, 'prepare', table => 'customer');
	like($said, qr/^Prepared.*customer\.new_id: (\d+) of \g1 pages/ms, "$database: the first step says how far it is");
	is($node->safe_psql($database, q{
		GRANT INSERT, SELECT ON invoice TO writer;
		BEGIN;
		SET LOCAL ROLE writer;
		SET LOCAL search_path = '';
		INSERT INTO public.invoice (customer_id, amount) SELECT max(customer_id::text)::} . $referring . q{, 0 FROM public.invoice
			RETURNING new_customer_id IS NOT NULL;
		ROLLBACK}), 't', "$database: who has no rights on the other table still can insert");
	my $unmoved = $node->safe_psql($database, q{
		SELECT (SELECT count(*) FROM customer WHERE (} . $wrong->('id', 'new_id') . q{) IS NOT FALSE) AS other_keys,
			(SELECT count(*) FROM invoice AS i LEFT JOIN customer AS c ON c.id = i.customer_id
				WHERE c.new_id IS DISTINCT FROM i.new_customer_id) AS other_references});
	unlike(step($database, 'swap', table => 'customer'), qr/failed/, "$database: the swap");
	sleep(1);
	my ($longest, $n) = stop_load($load, $database);
	diag(sprintf('%s: %d rows, %d transactions at %d a second; the longest took %.0f ms, without the migration %.0f ms',
			$database, $rows, $n, $rate, $longest, $before)) if $ENV{MIGRATION_ROWS};
	note("longest $longest ms, before $before ms, $n transactions");

	is($unmoved, '0|0', "$database: before the swap each row and each reference has its new key");
	is($node->safe_psql($database, q{
		SELECT (SELECT count(*) FROM customer WHERE old_id IS NOT NULL AND (} . $wrong->('old_id', 'id') . q{)) AS other_keys,
			(} . $exchanged->('old_id', 'id') . q{) AS exchanged,
			(SELECT count(*) FROM invoice AS i LEFT JOIN customer AS c ON c.id = i.customer_id WHERE c.id IS NULL) AS lost_references}),
		'0|0|0', "$database: after the swap keys, their order, times and references are right");
	is($node->safe_psql($database, 'SELECT count(*) > 0 FROM customer WHERE old_id IS NULL AND comb_timestamp(id) > created_at'),
		't', "$database: the application has gone on, with keys of pg_comb");
	like(error_of($node, $database, "INSERT INTO invoice (customer_id) VALUES ('5f0d7b1c-92e4-4a3b-8c6d-0123456789ab')"),
		qr/23503/, "$database: the foreign key holds");
	is($node->safe_psql($database, q{SELECT string_agg(a.attname, ',') FROM pg_index AS x JOIN pg_attribute AS a
			ON a.attrelid = indrelid AND a.attnum = ANY (indkey) WHERE indisprimary AND indrelid = 'customer'::regclass}),
		'id', "$database: the new column is the primary key");
	unlike(step($database, 'drop', table => 'customer'), qr/failed/, "$database: the last step");
	is($node->safe_psql($database, columns('customer') . columns('invoice')),
		"id uuid,name text,created_at timestamp with time zone\nnumber integer,customer_id uuid,amount integer", "$database: drops the old columns");
	return;
}

sub columns
{
	my ($table) = @_;
	return qq{SELECT string_agg(attname || ' ' || format_type(atttypid, NULL), ',' ORDER BY attname NOT LIKE '%id' AND attname <> 'number', attnum)
		FROM pg_attribute WHERE attrelid = '$table'::regclass AND attnum > 0 AND NOT attisdropped;};
}

$node->safe_psql('postgres', 'CREATE ROLE writer');
migrate('from_v4', 'uuid', ' DEFAULT gen_random_uuid()');
$node->safe_psql('postgres', 'CHECKPOINT');
$node->safe_psql('postgres', 'DROP DATABASE from_v4');
migrate('from_bigint', 'bigserial', '');

# The OID of the new foreign key has one digit more than that of the old one, so its trigger acts first.
$node->safe_psql('postgres', 'CREATE DATABASE order_of_oids');
$node->safe_psql('order_of_oids', q{
	CREATE EXTENSION pg_comb;
	CREATE TABLE customer (id bigint PRIMARY KEY, created_at timestamptz NOT NULL DEFAULT now());
	CREATE TABLE invoice (n int PRIMARY KEY, customer_id bigint REFERENCES customer ON DELETE SET NULL);
	CREATE TABLE item (n int PRIMARY KEY, customer_id bigint NOT NULL REFERENCES customer ON UPDATE CASCADE ON DELETE CASCADE);
	INSERT INTO customer VALUES (1), (2), (3);
	INSERT INTO invoice VALUES (1, 1), (2, 2);
	INSERT INTO item VALUES (1, 1), (2, 2), (3, 3)});
$node->stop;
system_or_bail('pg_resetwal', '-o', 100000, $node->data_dir);
$node->start;
unlike(step('order_of_oids', 'prepare', table => 'customer'), qr/failed/, 'a new foreign key that acts first');
is($node->safe_psql('order_of_oids', q{SELECT count(DISTINCT length(oid::text)) FROM pg_constraint WHERE contype = 'f' AND conrelid = 'item'::regclass}),
	2, 'is there');
$node->safe_psql('order_of_oids', 'DELETE FROM customer WHERE id = 1; UPDATE customer SET id = 4 WHERE id = 3');
is($node->safe_psql('order_of_oids', q{SET session_replication_role = replica; INSERT INTO customer VALUES (5) RETURNING new_id IS NOT NULL}), 't',
	'what an apply worker writes gets its key');
unlike(step('order_of_oids', 'swap', table => 'customer'), qr/failed/, 'the swap after it');
is($node->safe_psql('order_of_oids', q{SELECT string_agg(concat_ws(' ', i.n, c.old_id, i.old_customer_id), ',' ORDER BY i.n) FROM invoice AS i LEFT JOIN customer AS c ON c.id = customer_id;
	SELECT string_agg(concat_ws(' ', i.n, c.old_id, i.old_customer_id), ',' ORDER BY i.n) FROM item AS i JOIN customer AS c ON c.id = customer_id}),
	"1,2 2 2\n2 2 2,3 4 4", 'finds what rows refer to');

# Names that need quotes, two references, one of them without a value, and a column in UTC.  The owner has
# no other rights, and others may create functions in a schema of the search_path.
$node->safe_psql('postgres', q{
	CREATE EXTENSION pg_comb;
	CREATE ROLE "Shop keeper" LOGIN;
	CREATE SCHEMA trap;
	CREATE FUNCTION trap."left"(name, integer) RETURNS text LANGUAGE plpgsql AS $$BEGIN RAISE 'in the trap'; END$$;
	CREATE FUNCTION trap.pg_relation_size(text) RETURNS bigint LANGUAGE plpgsql AS $$BEGIN RAISE 'in the trap'; END$$;
	CREATE FUNCTION trap.comb_stamp(uuid, timestamptz) RETURNS uuid LANGUAGE plpgsql AS $$BEGIN RAISE 'in the trap'; END$$;
	ALTER FUNCTION trap.comb_stamp OWNER TO writer;
	CREATE FUNCTION trap.format(text, name, name) RETURNS text LANGUAGE plpgsql AS $$BEGIN RAISE 'in the trap'; END$$;
	GRANT USAGE ON SCHEMA trap TO "Shop keeper";
	ALTER DEFAULT PRIVILEGES FOR ROLE "Shop keeper" GRANT EXECUTE ON FUNCTIONS TO writer;
	ALTER ROLE "Shop keeper" SET search_path = public, trap;
	GRANT CREATE ON SCHEMA public TO "Shop keeper";
	CREATE SCHEMA "My shop" AUTHORIZATION "Shop keeper";
	SET ROLE "Shop keeper";
	CREATE TABLE "My shop"."User" ("Id" integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, made timestamp NOT NULL DEFAULT '2026-11-20 12:00');
	CREATE TABLE letter (n int PRIMARY KEY, sender int NOT NULL DEFAULT 1 REFERENCES "My shop"."User", "To" int REFERENCES "My shop"."User" ON DELETE SET NULL, UNIQUE (sender, n));
	CREATE VIEW letters AS SELECT sender FROM letter;
	CREATE TABLE noted (what text);
	CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN INSERT INTO noted VALUES (TG_NAME); RETURN NEW; END$$;
	CREATE TRIGGER note BEFORE UPDATE OF sender ON letter FOR EACH ROW EXECUTE FUNCTION note();
	CREATE TRIGGER note_all BEFORE UPDATE ON letter FOR EACH ROW EXECUTE FUNCTION note();
	RESET ROLE;
	CREATE ROLE "Web user";
	SET ROLE "Shop keeper";
	GRANT SELECT ("Id"), UPDATE ("Id") ON "My shop"."User" TO writer, "Web user" WITH GRANT OPTION;
	GRANT SELECT (sender, n) ON letter TO PUBLIC;
	COMMENT ON COLUMN letter.sender IS 'who wrote "it"';
	INSERT INTO "My shop"."User" DEFAULT VALUES;
	INSERT INTO "My shop"."User" DEFAULT VALUES;
	INSERT INTO letter VALUES (1, 1, 2), (2, 2, NULL)});
my @table = (user => 'Shop keeper', table => '"My shop"."User"', created => 'made');
my $catalog = q{SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid IN ('letter'::regclass, '"My shop"."User"'::regclass) ORDER BY 1;
	SELECT count(*) FROM pg_trigger; SELECT proname FROM pg_proc WHERE proname LIKE '%\_new\_%' ORDER BY 1;
	SELECT attname FROM pg_attribute WHERE attrelid IN ('letter'::regclass, '"My shop"."User"'::regclass) AND attnum > 0 AND NOT attisdropped ORDER BY 1};
my $rights = q{SELECT attname, attacl, col_description(attrelid, attnum) FROM pg_attribute
	WHERE attrelid IN ('letter'::regclass, '"My shop"."User"'::regclass) AND attacl IS NOT NULL AND attname NOT LIKE 'old%' ORDER BY 1};
my $granted = $node->safe_psql('postgres', $rights);
my $before = $node->safe_psql('postgres', $catalog);
$node->safe_psql('postgres', 'ALTER ROLE "Shop keeper" SET search_path = trap, public');
like(step('postgres', 'prepare', @table), qr/failed: .*belongs to the role writer, who does not own its schema trap/, 'a function of the name of ours');
$node->safe_psql('postgres', 'ALTER ROLE "Shop keeper" SET search_path = pg_catalog');
like(step('postgres', 'prepare', @table), qr/failed: .*comb_stamp\(\) is in the schema public, which is not in your search_path/, 'no function of this name');
$node->safe_psql('postgres', 'ALTER ROLE "Shop keeper" SET search_path = public, trap');
like(step('postgres', 'prepare', @table), qr/---\n default value for column sender of table public.letter .*\n trigger note on table public.letter .*\n view public.letters .*\n\(3 rows\)/,
	'the first step lists what uses the old columns');
unlike(step('postgres', 'undo', @table), qr/failed/, 'undo');
is($node->safe_psql('postgres', $catalog), $before, 'leaves nothing behind');
is($node->safe_psql('postgres', 'SELECT DISTINCT what FROM noted'), 'note_all', "the table's triggers find what they name, and those of other columns do not run");
unlike(step('postgres', $_, @table), qr/failed/, "names with quotes: $_") foreach qw(prepare prepare);
is($node->safe_psql('postgres', q{SELECT string_agg(attname, ',' ORDER BY attname) FROM pg_stats WHERE tablename IN ('User', 'letter') AND attname ~ '^new_'}),
	'new_Id,new_To,new_sender', 'plans after the swap have statistics of the new columns');
# Else who may make a table of any type, with this trigger, would run code as the owner.
is($node->safe_psql('postgres', q{SELECT count(*), bool_or(has_function_privilege('writer', oid, 'EXECUTE')) FROM pg_proc
	WHERE prosecdef AND proname ~ '_new_'}), '2|f', "nobody else may call the triggers' functions");
$node->safe_psql('postgres', q{SET timezone = 'Asia/Kathmandu'; INSERT INTO "My shop"."User" DEFAULT VALUES;
	INSERT INTO letter SELECT 3, "Id", NULL FROM "My shop"."User" WHERE "Id" = 3});
like(step('postgres', 'swap', @table), qr/failed: .*still use the old columns.*view public.letters/s, 'no swap while a view uses an old column');
my $after = "$scratch/after.sql";
append_to_file($after, q{DROP VIEW letters; CREATE VIEW letters AS SELECT sender FROM letter; DROP TRIGGER note ON letter;
	ALTER TABLE letter ALTER old_sender DROP DEFAULT});
like(step('postgres', 'swap', @table, before => '/nowhere', after => $after), qr/failed: .*nowhere/, 'a file that is not there');
is($node->safe_psql('postgres', q{SELECT string_agg(attname, ',' ORDER BY attnum) FROM pg_attribute WHERE attrelid = 'letter'::regclass AND attname ~ 'sender'}),
	'sender,new_sender', 'ends the swap before it begins');
unlike(step('postgres', 'swap', @table, after => $after), qr/failed/, 'names with quotes: swap');
is($node->safe_psql('postgres', q{SELECT n, s.old_id, t.old_id, comb_timestamp(s.id) AT TIME ZONE 'UTC' FROM letter
		JOIN (SELECT "Id" AS id, "old_Id" AS old_id FROM "My shop"."User") AS s ON s.id = sender
		LEFT JOIN (SELECT "Id" AS id, "old_Id" AS old_id FROM "My shop"."User") AS t ON t.id = "To" ORDER BY n}),
	"1|1|2|2026-11-20 12:00:00\n2|2||2026-11-20 12:00:00\n3|3||2026-11-20 12:00:00", 'both references lead to the same rows as before, whose keys have the time, whatever the zone of the session');
is($node->safe_psql('postgres', $rights), $granted, 'a column keeps its privileges and its comment');
like(step('postgres', $_, @table), qr/failed: .*were swapped already.*Go on with the step drop/s, "no $_ after the swap") foreach qw(prepare swap undo);
$node->safe_psql('postgres', 'CREATE VIEW old AS SELECT old_sender FROM letter');
like(step('postgres', 'drop', @table), qr/failed: .*view public.old/s, 'the last step leaves the columns to a view');
$node->safe_psql('postgres', 'DROP VIEW old; ALTER TABLE "My shop"."User" DROP made');
unlike(step('postgres', 'drop', @table), qr/failed/, 'and drops them after it, also without the times');
$node->safe_psql('postgres', q{INSERT INTO letter SELECT 4, "Id", "Id" FROM "My shop"."User" LIMIT 1; INSERT INTO "My shop"."User" DEFAULT VALUES});
is($node->safe_psql('postgres', q{SELECT conname FROM pg_constraint WHERE conrelid = 'letter'::regclass AND contype <> 'n' ORDER BY 1}),
	"letter_To_fkey\nletter_pkey\nletter_sender_fkey\nletter_sender_n_key", 'constraints have their names');

# What the file does not do, it refuses before it changes anything.
$node->safe_psql('postgres', q{
	CREATE TABLE day (id int PRIMARY KEY, created_at date, seen timestamp);
	CREATE TABLE part (id int PRIMARY KEY, created_at timestamptz) PARTITION BY RANGE (id);
	CREATE TABLE replica (id int PRIMARY KEY, created_at timestamptz);
	ALTER TABLE replica REPLICA IDENTITY USING INDEX replica_pkey;
	CREATE TABLE inherited (id int PRIMARY KEY, created_at timestamptz);
	CREATE TABLE child () INHERITS (inherited);
	CREATE TABLE with_new (new_id text, id int PRIMARY KEY, created_at timestamptz);
	CREATE TABLE with_old (old_id text, id int PRIMARY KEY, created_at timestamptz);
	CREATE TABLE author (id int PRIMARY KEY, created_at timestamptz);
	CREATE TABLE book (author int REFERENCES author, new_author uuid);
	CREATE TABLE long (a123456789b123456789c123456789d123456789e123456789f12345678 int PRIMARY KEY, created_at timestamptz);
	CREATE TABLE later (id int PRIMARY KEY DEFERRABLE, created_at timestamptz);
	CREATE TABLE pair (a int, b int, created_at timestamptz, PRIMARY KEY (a, b));
	CREATE TABLE texts (id text PRIMARY KEY, created_at timestamptz);
	CREATE TABLE shop (id int PRIMARY KEY, created_at timestamptz);
	CREATE TABLE till (n int, shop int REFERENCES shop, PRIMARY KEY (n, shop));
	CREATE TABLE receipt (till int, shop int, region int, FOREIGN KEY (till, shop) REFERENCES till (n, shop));
	CREATE TABLE region (id int PRIMARY KEY);
	ALTER TABLE receipt ADD FOREIGN KEY (shop) REFERENCES region;
	CREATE TABLE taken (id int PRIMARY KEY, created_at timestamptz);
	DO $$BEGIN
		EXECUTE format('CREATE FUNCTION zz_new_%1$s_%1$s() RETURNS trigger LANGUAGE plpgsql AS ''BEGIN RETURN NULL; END''; ALTER FUNCTION zz_new_%1$s_%1$s() OWNER TO writer', 'taken'::regclass::oid);
	END$$});
foreach my $case ([ part => 'is partitioned' ], [ replica => 'replica identity' ], [ pair => 'no primary key of one column' ], [ texts => 'a key of type text' ],
	[ inherited => 'not a plain table' ], [ with_new => 'new_id is not of this file' ], [ with_old => 'old_id is not of this file' ],
	[ later => 'a deferrable primary key' ], [ author => 'new_author is not of this file' ], [ long => 'a name of more than 56 bytes' ])
{
	my ($table, $reason) = @$case;
	like(step('postgres', $_, table => $table), qr/failed: .*$reason/, "$table, $_: $reason") foreach qw(prepare swap drop undo);
}
like(step('postgres', $_, table => 'shop'), qr/failed: .*receipt_shop_fkey of public.receipt .*pairs a moved column with another/, "shop, $_: a column that refers to two tables") foreach qw(prepare swap);
like(step('postgres', 'prepare', table => 'taken'), qr/failed: .*already exists/, 'a function of this name belongs to another role');
like(step('postgres', $_, table => 'day'), qr/failed: .*no column created_at of type timestamptz or timestamp.*HINT:  Name one by -v created=...: it has seen\n/s, "day, $_: no time") foreach qw(prepare swap);
like(step('postgres', 'prepare', @$_), qr/failed: .*belongs to another role/s, "the table of another role: @$_")
  foreach ([ user => 'Shop keeper', table => 'taken' ], [ table => '"My shop"."User"', created => 'made' ]);
like(step('postgres', 'prepare', table => 'taken', zone => 'Europe/Berln'), qr/failed: .*time zone/, 'a zone that is none');
is($node->safe_psql('postgres', q{SELECT string_agg(attrelid::regclass || ' ' || attname, ',' ORDER BY attrelid) FROM pg_attribute
	WHERE attname ~ '^(new|old)_' AND attrelid IN (SELECT oid FROM pg_class WHERE relkind = 'r')}),
	'with_new new_id,with_old old_id,book new_author', 'no column was added or dropped');
$node->safe_psql('postgres', 'CREATE TABLE timeless (id int PRIMARY KEY, created_at timestamptz); INSERT INTO timeless VALUES (1, NULL)');
like(step('postgres', 'prepare', table => 'timeless'), qr/failed: .*1 rows of public.timeless have a created_at that is NULL or before 1970/, 'a row without a time');
$node->safe_psql('postgres', q{UPDATE timeless SET created_at = '0001-01-01 00:00Z'});
like(step('postgres', 'prepare', table => 'timeless'), qr/failed: .*1 rows of public.timeless have a created_at that is NULL or before 1970/, 'and of the time zero');
is(error_of($node, 'postgres', 'UPDATE timeless SET created_at = now()'), '', 'ends the step before it changes anything');
$node->safe_psql('postgres', q{CREATE TABLE left_out (id int PRIMARY KEY, created_at timestamptz DEFAULT now()); INSERT INTO left_out VALUES (1);
	CREATE FUNCTION leave_out() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
	CREATE TRIGGER leave_out BEFORE UPDATE ON left_out FOR EACH ROW EXECUTE FUNCTION leave_out()});
like(step('postgres', 'prepare', table => 'left_out'), qr/failed: .*1 rows of public.left_out get no new_id/, 'and so does one that a trigger leaves out');
$node->safe_psql('postgres', q{CREATE TABLE published (id int PRIMARY KEY, created_at timestamptz); CREATE PUBLICATION publication FOR TABLE published});
like(step('postgres', 'prepare', table => 'published'), qr/failed: .*is published/, 'a published table');
$node->safe_psql('postgres', q{ALTER PUBLICATION publication DROP TABLE published;
	CREATE SUBSCRIPTION subscription CONNECTION 'dbname=postgres' PUBLICATION publication WITH (connect = false)});
$node->safe_psql('postgres', q{INSERT INTO pg_subscription_rel SELECT oid, 'published'::regclass, 'r', NULL FROM pg_subscription});
like(step('postgres', 'prepare', table => 'published'), qr/failed: .*of a subscription/, 'a table of a subscription');

# A feed follows the table.  Its keys are of version 1, two of one moment.  The database has limits for short work.
$node->safe_psql('postgres', q{
	CREATE EXTENSION pg_comb_ordered;
	CREATE TABLE total (n int);
	INSERT INTO total VALUES (0);
	CREATE TABLE outbox (id uuid PRIMARY KEY DEFAULT comb_generate_ordered(), created_at timestamptz);
	INSERT INTO outbox VALUES ('5e1b4a00-c60a-11f0-8de9-0242ac120002', '2026-11-20'), ('5e1b4a01-c60a-11f0-8de9-0242ac120002', '2026-11-20');
	CREATE FUNCTION count_up() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN
		PERFORM pg_sleep(0.6);
		UPDATE public.total SET n = n + 1 WHERE pg_catalog.current_setting('transaction_isolation') = 'read committed';
		RETURN NULL;
	END$$;
	CREATE TRIGGER count_up AFTER UPDATE ON outbox FOR EACH ROW EXECUTE FUNCTION count_up()});
my ($out, $err);
my $writer = IPC::Run::start([ 'psql', '-X', '-d', $node->connstr('postgres'), '-c', 'UPDATE total SET n = n; SELECT pg_sleep(2)' ], '>', \$out, '2>', \$err);
$node->poll_query_until('postgres', "SELECT count(*) = 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep'");
$node->safe_psql('postgres', q{ALTER DATABASE postgres SET statement_timeout = '1 s';
	ALTER DATABASE postgres SET default_transaction_isolation = 'serializable'});
unlike(step('postgres', 'prepare', table => 'outbox'), qr/failed/, "the table's triggers wait for a row that a writer has changed");
$writer->finish;
$node->safe_psql('postgres', 'ALTER DATABASE postgres RESET ALL');
cmp_ok($node->safe_psql('postgres', 'SELECT n FROM total'), '>=', 2, 'and change it, whatever the limits of the database');
unlike(step('postgres', 'swap', table => 'outbox'), qr/failed/, 'the swap of an outbox');
is($node->safe_psql('postgres', q{SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef JOIN pg_attribute ON attrelid = adrelid AND attnum = adnum
		WHERE adrelid = 'outbox'::regclass AND attname = 'id';
	SELECT count(DISTINCT id), count(DISTINCT comb_timestamp(id)), min(comb_timestamp(id)) = '2026-11-20' FROM outbox}),
	"comb_generate_ordered()\n2|1|t", 'which has the default that its feed needs, and keys of one moment and many rows');

# What happens between the steps
$node->safe_psql('postgres', q{
	CREATE TABLE made (id int PRIMARY KEY, at timestamptz, created_at timestamptz GENERATED ALWAYS AS (at) STORED);
	CREATE TABLE body (id int PRIMARY KEY, created_at timestamptz);
	CREATE TABLE limb (n int, body int GENERATED ALWAYS AS (n) STORED REFERENCES body);
	CREATE FUNCTION own_new_id() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
	CREATE TABLE late (id int PRIMARY KEY, created_at timestamptz);
	CREATE TRIGGER zzz BEFORE UPDATE ON late FOR EACH ROW EXECUTE FUNCTION own_new_id();
	CREATE TABLE labelled (id int PRIMARY KEY, created_at timestamptz);
	INSERT INTO pg_seclabel VALUES ('labelled'::regclass, 'pg_class'::regclass, 1, 'provider', 'label');
	CREATE TABLE place (id int PRIMARY KEY, created_at timestamp);
	CREATE TABLE visit (n int, place int UNIQUE CONSTRAINT visited REFERENCES place);
	INSERT INTO place VALUES (1, '2026-11-20'), (2, '2026-11-20');
	INSERT INTO visit VALUES (1, 1)});
foreach my $case ([ made => 'no column created_at .*which is not generated' ], [ body => 'limb.body is a generated column' ], [ late => 'the trigger zzz of public.late' ],
	[ labelled => 'security label' ])
{
	my ($table, $reason) = @$case;
	like(step('postgres', 'prepare', table => $table), qr/failed: .*$reason/, "$table: $reason");
}
unlike(step('postgres', 'prepare', table => 'place'), qr/failed/, 'a zone left out');
like(step('postgres', 'prepare', table => 'place', zone => 'Europe/Berlin'), qr/failed: .*Name created and zone as for the step prepare/s, 'and named later');
unlike(step('postgres', $_, table => 'place', zone => 'Europe/Berlin'), qr/failed/, "takes $_") foreach qw(undo prepare prepare);
$node->safe_psql('postgres', 'ALTER TABLE visit DROP CONSTRAINT visited');
like(step('postgres', $_, table => 'place', zone => 'Europe/Berlin'), qr/failed: .*If foreign keys have changed since/s, "no $_ with a foreign key less") foreach qw(prepare swap);
$node->safe_psql('postgres', q{ALTER TABLE visit ADD CONSTRAINT visited FOREIGN KEY (place) REFERENCES place;
	BEGIN; ALTER TABLE visit DISABLE TRIGGER USER; UPDATE visit SET place = 2; ALTER TABLE visit ENABLE TRIGGER USER; COMMIT});
like(step('postgres', $_, table => 'place', zone => 'Europe/Berlin'), qr/failed: .*was disabled on public.visit/, "no $_ after writes without triggers") foreach qw(prepare swap);
unlike(step('postgres', $_, table => 'place'), qr/failed/, "place: $_") foreach qw(undo prepare swap);
is($node->safe_psql('postgres', 'SELECT p.old_id FROM visit JOIN place AS p ON p.id = place'), 2, 'which leads to the right row');
like(error_of($node, 'postgres', 'INSERT INTO visit (n, place) SELECT 2, place FROM visit'), qr/23505/, 'once, as before');
done_testing();
