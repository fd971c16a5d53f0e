# The online migration of doc/migration.md, for tables of all shapes: what refers to them, what hangs on the columns,
# what looks like a reference, the order of rows, and a swap whose client is killed.
use lib 'test/perl';
use CombTest;
use CombFeed;

my $node = server('main');
my $scratch = tempdir();

# Run a step of the file, and return what it printed.
sub command { my ($database, $step, %variables) = @_; return [ 'psql', '-X', (map { ('-v', "$_=$variables{$_}") } sort keys %variables), '-v', "step=$step", '-d', $node->connstr($database), '-f', 'sql/portable/migrate_online.sql' ]; }
sub step
{
	my ($out, $err) = ('', '');
	IPC::Run::run(command(@_), '>', \$out, '2>', \$err);
	return $? == 0 ? "$out$err" : "failed: $err";
}

sub database
{
	my ($name, $sql) = @_;
	$node->safe_psql('postgres', "CREATE DATABASE $name");
	$node->safe_psql($name, "CREATE EXTENSION pg_comb; $sql");
	return $name;
}

sub file
{
	my ($name, $content) = @_;
	append_to_file("$scratch/$name.sql", $content);
	return "$scratch/$name.sql";
}

# The shapes.  "thing" refers to person by two columns, one of them with a name that is also a word of its conditions.
my $shapes = q{
	CREATE TABLE person (id bigserial CONSTRAINT person_key PRIMARY KEY, name text, "Boss" bigint REFERENCES person ON DELETE SET NULL DEFERRABLE INITIALLY DEFERRED, created_at timestamptz NOT NULL DEFAULT now());
	CREATE TABLE passport (person_id bigint PRIMARY KEY REFERENCES person ON DELETE CASCADE, body text);
	CREATE TABLE visa (id int PRIMARY KEY, passport_id bigint NOT NULL REFERENCES passport DEFERRABLE);
	CREATE TABLE friend (a bigint NOT NULL REFERENCES person, b bigint REFERENCES person, since int, PRIMARY KEY (b, a) INCLUDE (since), CHECK (a <> b));
	CREATE TABLE remark (n int PRIMARY KEY, b bigint, a bigint, FOREIGN KEY (b, a) REFERENCES friend ON DELETE SET NULL (a, b));
	CREATE TABLE thing (id int PRIMARY KEY, owner bigint DEFAULT 1, user_id bigint REFERENCES person, what text, place int,
		CONSTRAINT one_of CHECK (num_nonnulls(owner, user_id) >= 1 AND what <> 'owner'), CONSTRAINT whose UNIQUE (owner, what));
	CREATE UNIQUE INDEX thing_partial ON thing (what DESC, owner) WHERE user_id IS NOT NULL AND what <> 'user_id';
	CREATE INDEX thing_expression ON thing ((owner::text || 'owner'), what) WITH (fillfactor = 60);
	CREATE INDEX thing_brin ON thing USING brin (user_id) WITH (pages_per_range = 7);
	CREATE STATISTICS thing_statistics (ndistinct) ON owner, what FROM thing;
	ALTER TABLE thing ALTER owner SET STATISTICS 77, ALTER owner SET (n_distinct = 5);
	ALTER STATISTICS thing_statistics SET STATISTICS 55;
	ALTER INDEX thing_expression ALTER COLUMN 1 SET STATISTICS 33;
	ALTER TABLE thing CLUSTER ON whose;
	COMMENT ON CONSTRAINT one_of ON thing IS 'it''s one';
	COMMENT ON INDEX thing_brin IS 'small';
	COMMENT ON CONSTRAINT whose ON thing IS 'whose';
	COMMENT ON STATISTICS thing_statistics IS 'both';
	COMMENT ON COLUMN thing.owner IS 'who';
	GRANT SELECT (owner) ON thing TO PUBLIC;
	INSERT INTO person (name, "Boss") SELECT n, nullif(n / 3, 0) FROM generate_series(1, 300) AS n;
	INSERT INTO passport SELECT id, name FROM person WHERE id % 2 = 0;
	INSERT INTO visa SELECT row_number() OVER (), person_id FROM passport;
	INSERT INTO friend SELECT id, id - 1, 1 FROM person WHERE id > 1;
	INSERT INTO remark SELECT a, b, a FROM friend WHERE a % 3 = 0;
	INSERT INTO thing SELECT n, 1 + n % 300, CASE WHEN n % 2 = 0 THEN 1 + n % 299 END, 't' || n FROM generate_series(1, 900) AS n;
	ALTER TABLE thing ADD CONSTRAINT thing_owner_fkey FOREIGN KEY (owner) REFERENCES person ON UPDATE CASCADE NOT VALID};
# Who a row refers to, by the names, which stay
my $who = q{
	SELECT 'person', c.name, p.name FROM person AS c LEFT JOIN person AS p ON p.id = c."Boss"
	UNION ALL SELECT 'passport', body, name FROM passport JOIN person ON id = person_id
	UNION ALL SELECT 'visa', v.id::text, name FROM visa AS v JOIN passport ON passport_id = person_id JOIN person AS p ON p.id = person_id
	UNION ALL SELECT 'friend', p.name, q.name FROM friend JOIN person AS p ON p.id = a JOIN person AS q ON q.id = b
	UNION ALL SELECT 'remark', n::text, p.name || q.name FROM remark AS r JOIN friend AS f ON r.a = f.a AND r.b = f.b JOIN person AS p ON p.id = r.a JOIN person AS q ON q.id = r.b
	UNION ALL SELECT 'thing', t.id::text, concat_ws(' ', p.name, q.name) FROM thing AS t LEFT JOIN person AS p ON p.id = owner LEFT JOIN person AS q ON q.id = user_id ORDER BY 1, 2};
# What hangs on the columns, without their numbers and types
my $objects = q{
	SELECT conrelid::regclass, conname, pg_get_constraintdef(oid), obj_description(oid, 'pg_constraint') FROM pg_constraint WHERE connamespace = 'public'::regnamespace ORDER BY 1, 2;
	SELECT indrelid::regclass, pg_get_indexdef(indexrelid), indisclustered, indisvalid, obj_description(indexrelid, 'pg_class'),
		(SELECT string_agg(attstattarget::text, ' ' ORDER BY attnum) FROM pg_attribute WHERE attrelid = indexrelid AND attstattarget >= 0)
	FROM pg_index JOIN pg_class AS c ON c.oid = indexrelid WHERE relnamespace = 'public'::regnamespace ORDER BY 1, 2;
	SELECT stxname, stxkind, stxstattarget, obj_description(oid, 'pg_statistic_ext'), (SELECT string_agg(attname, ' ' ORDER BY attname) FROM pg_attribute WHERE attrelid = stxrelid AND attnum = ANY (stxkeys)) FROM pg_statistic_ext ORDER BY 1;
	SELECT attrelid::regclass, attname, nullif(attstattarget, -1), array(SELECT o FROM unnest(attoptions) AS o WHERE o LIKE 'n\_%'), attacl, attnotnull, col_description(attrelid, attnum) FROM pg_attribute JOIN pg_class AS c ON c.oid = attrelid
	WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' AND attnum > 0 AND NOT attisdropped ORDER BY 1, 2;
	SELECT proname FROM pg_proc WHERE pronamespace = 'public'::regnamespace AND proname LIKE 'zz%'; SELECT tgname FROM pg_trigger WHERE NOT tgisinternal};
sub sorted { return join("\n", sort(split(/\n/, shift))) }

database('shapes', $shapes);
my ($before, $related) = ($node->safe_psql('shapes', $objects), $node->safe_psql('shapes', $who));
my $check = step('shapes', 'check', table => 'person');
like($check, qr/\(0 rows\).*default value for column owner of table public.thing.*\(1 row\)/s, 'check finds what is to be done by hand') or diag($check);
is($node->safe_psql('shapes', $objects), $before, 'and changes nothing');
$node->safe_psql('shapes', q{SET session_replication_role = replica; INSERT INTO thing VALUES (0, 1000, 1, 'lost')});
like(step('shapes', 'prepare', table => 'person'), qr/failed: .*thing_owner_fkey/, 'a foreign key that is not valid, and a row without a parent');
is($node->safe_psql('shapes', $objects), $before, 'end the step before it changes anything');
$node->safe_psql('shapes', 'DELETE FROM thing WHERE id = 0');
unlike(step('shapes', $_, table => 'person'), qr/failed/, "shapes: $_") foreach qw(prepare prepare undo);
$before =~ s/ NOT VALID//;
is($node->safe_psql('shapes', $objects), $before, 'undo leaves all as it was, but a foreign key that is now valid');
unlike(step('shapes', 'prepare', table => 'person'), qr/failed/, 'shapes: prepare again');
like(error_of($node, 'shapes', 'WITH p AS (INSERT INTO person (id) VALUES (1000)) INSERT INTO passport VALUES (1000)'),
	qr/23503.*public.person has no row 1000 yet, to which a row of public.passport refers.*by an earlier statement/s, 'a row before that to which it refers, in one statement');
$node->safe_psql('shapes', q{BEGIN; INSERT INTO person (id, name, "Boss") VALUES (301, '301', 301); UPDATE person SET created_at = '2020-01-01Z' WHERE id = 7; COMMIT;
	UPDATE person SET id = 400 WHERE id = 300 AND false; INSERT INTO passport VALUES (301, '301'); DELETE FROM passport WHERE person_id = 301});
$related = $node->safe_psql('shapes', $who);
like(step('shapes', 'swap', table => 'person'), qr/failed: .*these still use the old columns.*default value for column owner/s, 'the swap is refused while something else uses the old columns');
unlike(step('shapes', 'swap', table => 'person', after => file('after', 'ALTER TABLE thing ALTER old_owner DROP DEFAULT')), qr/failed/, 'shapes: swap');
is($node->safe_psql('shapes', $who), $related, 'each row has its parents');
like(step('shapes', 'swap', table => 'person'), qr/failed: .*were swapped already/, 'a second swap says that the first one was done');
unlike(step('shapes', 'drop', table => 'person'), qr/failed/, 'shapes: drop');
is(sorted($node->safe_psql('shapes', $objects)), sorted($before), 'all that hangs on the columns is there again');
is($node->safe_psql('shapes', $who), $related, 'and each row has its parents');
unlike(step('shapes', $_, table => 'person'), qr/failed/, "a second migration: $_") foreach qw(prepare swap drop);
is(sorted($node->safe_psql('shapes', $objects)), sorted($before), 'changes nothing');

# What cannot be made for uuids, or not beside writers
database('by_hand', q{
	CREATE EXTENSION btree_gist;
	CREATE TABLE room (id int PRIMARY KEY CONSTRAINT positive CHECK (id > 0), created_at timestamptz NOT NULL DEFAULT now());
	CREATE TABLE stay (room_id int NOT NULL REFERENCES room, nights int4range, place int, EXCLUDE USING gist (room_id WITH =, nights WITH &&), CONSTRAINT place UNIQUE (room_id, place) DEFERRABLE);
	CREATE VIEW counted AS SELECT id, count(*) FROM room JOIN stay ON id = room_id GROUP BY room.id;
	ALTER TABLE room ENABLE ROW LEVEL SECURITY;
	CREATE POLICY low ON room USING (id < 100);
	CREATE FUNCTION stay() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM note(NEW.room_id); RETURN NULL; END';
	CREATE TRIGGER stay AFTER UPDATE ON stay FOR EACH ROW EXECUTE FUNCTION stay();
	INSERT INTO room SELECT n FROM generate_series(1, 10) AS n});
my $said = step('by_hand', 'prepare', table => 'room');
like($said, qr/$_/, "by hand: $_") foreach ('constraint positive on table public.room .*cannot be made for uuids', 'stay_room_id_nights_excl on table public.stay .*ADD CONSTRAINT stay_room_id_nights_excl EXCLUDE USING gist',
	'constraint place on table public.stay .*ADD CONSTRAINT place UNIQUE \(room_id, place\) DEFERRABLE', 'policy low on table public.room', 'view public.counted', 'function public.stay\(\).*has room_id');
my ($exclude) = $said =~ /(ALTER TABLE public.stay DROP CONSTRAINT stay_room_id_nights_excl.*?) *$/m;
my ($place) = $said =~ /(ALTER TABLE public.stay DROP CONSTRAINT place.*?) *$/m;
my @files = (before => file('by_hand_before', 'DROP VIEW counted'), after => file('by_hand_after', "$exclude; $place; ALTER TABLE room DROP CONSTRAINT positive; DROP POLICY low ON room;
	CREATE VIEW counted AS SELECT id, count(*) FROM room JOIN stay ON id = room_id GROUP BY room.id"));
like(step('by_hand', 'swap', table => 'room', $files[0] => $files[1]), qr/failed: .*policy low/s, 'a file that leaves something');
is($node->safe_psql('by_hand', 'SELECT count(*) FROM counted'), '0', 'changes nothing');
unlike(step('by_hand', 'swap', table => 'room', @files), qr/failed/, 'two files that make all');
is($node->safe_psql('by_hand', q{INSERT INTO stay (room_id, nights) SELECT id, '[1,2)' FROM room; SELECT count(*) FROM counted}), '10', 'in the transaction of the swap');

# References without a foreign key
database('unnamed', q{
	CREATE TABLE website (website_id uuid PRIMARY KEY, created_at timestamptz DEFAULT now(), again uuid);
	CREATE TABLE session (session_id uuid PRIMARY KEY, website_id uuid NOT NULL);
	CREATE TABLE event (event_id uuid PRIMARY KEY, "siteKey" uuid, "websiteId" text, parent_id uuid, parent_type text, other uuid);
	CREATE TABLE report (id int, websites uuid[], website_ids uuid[]);
	INSERT INTO website SELECT gen_random_uuid() FROM generate_series(1, 100);
	INSERT INTO session SELECT gen_random_uuid(), website_id FROM website;
	INSERT INTO event SELECT gen_random_uuid(), website_id FROM website});
like(step('unnamed', 'check'), qr/event +\| public.event has no column created_at.*website +\| [^\n]*websiteId[^\n]*\n[^\n]*parent_id[^\n]*\n[^\n]*website_ids[^\n]*\n[^\n]*session.website_id/s, 'the check of a schema names what looks like a reference');
like(step('unnamed', 'prepare', table => 'website'), qr/failed: .*public.event."siteKey" looks.*changed\.\npublic.event."websiteId" looks.*\npublic.event.parent_id looks.*\npublic.report.website_ids looks.*\npublic.session.website_id looks.*\nHINT/s,
	'and so does prepare, which looks at values too');
my %other = (other => 'public.event."websiteId",public.event.parent_id, public.report.website_ids');
like(step('unnamed', 'prepare', table => 'website', %other), qr/failed: .*ALTER TABLE public.event ADD FOREIGN KEY \("siteKey"\) REFERENCES public.website NOT VALID/s, 'each of them must be named');
$node->safe_psql('unnamed', 'ALTER TABLE public.event ADD FOREIGN KEY ("siteKey") REFERENCES public.website NOT VALID; ALTER TABLE public.session ADD FOREIGN KEY (website_id) REFERENCES public.website NOT VALID');
unlike(step('unnamed', $_, table => 'website', %other), qr/failed/, "with foreign keys: $_") foreach qw(prepare swap drop);
is($node->safe_psql('unnamed', 'SELECT (SELECT count(*) FROM session JOIN website USING (website_id)), (SELECT count(*) FROM event JOIN website ON website_id = "siteKey")'), '100|100', 'each row finds its website');

# A file that a superuser, or the owner of one table, runs calls no function of another role: neither one in an index
# of a table that is refused, nor one in a policy of a table that is only looked at.
database('strangers', q{
	CREATE ROLE mallory; CREATE ROLE keeper LOGIN;
	CREATE SCHEMA mallory AUTHORIZATION mallory; GRANT USAGE ON SCHEMA mallory TO PUBLIC;
	CREATE SEQUENCE trapped; GRANT USAGE ON trapped TO PUBLIC; GRANT CREATE ON SCHEMA public TO keeper;
	SET ROLE mallory;
	CREATE FUNCTION mallory.trap(int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$BEGIN IF current_user <> 'mallory' THEN PERFORM nextval('public.trapped'); END IF; RETURN 1; END$$;
	CREATE TABLE mallory.room (id int PRIMARY KEY, created_at timestamptz NOT NULL);
	CREATE INDEX ON mallory.room ((id::text || mallory.trap(1)));
	CREATE TABLE mallory.spy (host uuid);
	INSERT INTO mallory.spy VALUES (gen_random_uuid());
	ALTER TABLE mallory.spy ENABLE ROW LEVEL SECURITY;
	CREATE POLICY spy ON mallory.spy USING (mallory.trap(length(host::text)) = 1);
	GRANT SELECT ON mallory.spy TO PUBLIC;
	SET ROLE keeper;
	CREATE TABLE guest (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), changed timestamptz, created_at timestamptz NOT NULL DEFAULT now());
	INSERT INTO guest DEFAULT VALUES;
	ALTER TABLE guest ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
	CREATE FUNCTION changed() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.changed := now(); RETURN NEW; END';
	CREATE TRIGGER changed BEFORE UPDATE ON guest FOR EACH ROW EXECUTE FUNCTION changed()});
like(step('strangers', 'prepare', table => 'mallory.room'), qr/failed: .*mallory.room belongs to another role, mallory/, 'a table of another role');
{
	local $ENV{PGUSER} = 'keeper';
	like(step('strangers', 'prepare', table => 'guest'), qr/failed: .*row security is forced for the owner of public.guest.*NO FORCE/s, 'row security that is forced for the owner');
	$node->safe_psql('strangers', 'ALTER TABLE guest NO FORCE ROW LEVEL SECURITY');
	like(step('strangers', 'check', table => 'guest'), qr/trigger changed on public.guest +\| runs for each row/, 'check names triggers that run for each row');
}
{
	local $ENV{PGOPTIONS} = '-c session_replication_role=replica';
	$node->safe_psql('strangers', 'ALTER TABLE guest OWNER TO postgres');
	unlike(step('strangers', 'prepare', table => 'guest'), qr/failed/, 'with the role "replica"');
}
is($node->safe_psql('strangers', 'SELECT count(*) FROM guest WHERE changed IS NULL AND comb_timestamp(new_id) IS NOT NULL; SELECT is_called FROM trapped'), "1\nf",
	'they do not, the rows get keys, and no function of a stranger was called');

# The order of rows: of one statement, of one millisecond, and of rows that come between the steps
sub exchanged { my ($database, $key, $order) = @_; return $node->safe_psql($database, "SELECT count(*) FROM (SELECT $key < lag($key) OVER (ORDER BY $order) AS bad FROM line) AS s WHERE bad") }
my $lines = q{
	CREATE TABLE line (id bigserial PRIMARY KEY, body text, created_at timestamptz NOT NULL DEFAULT now());
	INSERT INTO line (body) SELECT n FROM generate_series(1, 5000) AS n;
	INSERT INTO line (body, created_at) SELECT n, timestamptz '2026-11-20' + n * interval '1 us' FROM generate_series(1, 5000) AS n;
	INSERT INTO line (body, created_at) SELECT n, date_trunc('second', timestamptz '2026-11-21' + n * interval '1 ms') FROM generate_series(1, 5000) AS n;
	INSERT INTO line (id, created_at) SELECT n, '2026-11-22' FROM unnest(ARRAY[-9223372036854775808, -3, -2, -1, 0, 9223372036854775806, 9223372036854775807]) AS n};
my $numbered = database('numbered', $lines);
unlike(step($numbered, 'prepare', table => 'line'), qr/failed/, 'the order of rows: prepare');
$node->safe_psql($numbered, 'INSERT INTO line (body) SELECT n FROM generate_series(1, 1000) AS n');
is(exchanged($numbered, 'new_id', 'created_at, id'), 0, 'new keys have the order of time and number');
unlike(step($numbered, 'swap', table => 'line'), qr/failed/, 'the order of rows: swap');
$node->safe_psql($numbered, 'INSERT INTO line (body) SELECT n FROM generate_series(1, 1000) AS n');
is($node->safe_psql($numbered, 'SELECT min(id::text) > (SELECT max(id::text) FROM line WHERE old_id IS NOT NULL) FROM line WHERE old_id IS NULL'), 't', 'keys of pg_comb come after them');
is($node->safe_psql($numbered, 'SELECT count(*), count(DISTINCT id) FROM line'), '17007|17007', 'all keys are different');
my $random = database('random', q{CREATE TABLE line (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), created_at timestamptz NOT NULL);
	INSERT INTO line (created_at) SELECT timestamptz '2026-11-20' + n * interval '1 us' FROM generate_series(1, 5000) AS n});
unlike(step($random, $_, table => 'line'), qr/failed/, "v4 keys: $_") foreach qw(prepare swap);
is(exchanged($random, 'id', 'created_at'), 0, 'they get the order of the microseconds');

# psql is killed while its swap waits for a lock.
my $orphan = database('orphan', 'CREATE TABLE parent (id bigserial PRIMARY KEY, created_at timestamptz NOT NULL DEFAULT now()); INSERT INTO parent DEFAULT VALUES');
unlike(step($orphan, 'prepare', table => 'parent'), qr/failed/, 'a swap that is killed: prepare');
my $reader = CombSession->new($node, $orphan);
$reader->ask('BEGIN; SELECT FROM parent');
my $swap = IPC::Run::start(command($orphan, 'swap', table => 'parent'), '>', '/dev/null', '2>', '/dev/null');
$node->poll_query_until($orphan, q{SELECT count(*) = 1 FROM pg_stat_activity WHERE query LIKE 'CALL pg_temp.lock%'});
$swap->signal('KILL');
eval { $swap->finish };
$reader->ask('COMMIT');
$node->poll_query_until($orphan, q{SELECT count(*) = 0 FROM pg_stat_activity WHERE query LIKE 'CALL pg_temp.lock%'});
is($node->safe_psql($orphan, q{SELECT string_agg(attname, ' ' ORDER BY attnum) FROM pg_attribute WHERE attrelid = 'parent'::regclass AND attnum > 0}), 'id created_at new_id', 'does not swap later');
unlike(step($orphan, 'swap', table => 'parent'), qr/failed/, 'and can be run again');
done_testing();
