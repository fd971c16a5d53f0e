# pg_upgrade with pg_comb in use, from version to version
#
# "test/all upgrade" runs this in a system that has several servers.  UPGRADE
# names their major versions, and COMB_WORK has a stage of pg_comb for each.
#
# The first version gets a database of keys and of all that can be built on
# them.  After each pg_upgrade the test looks whether everything is still there,
# is used, and goes on.
#
# The extension is the same in all versions.  Once two versions of it have been
# published, ALTER EXTENSION UPDATE from the first belongs here too.  Its steps
# within one server are for a pg_regress test named oldextversions.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my @versions = split(' ', $ENV{UPGRADE});

# The dumps are written there, and old versions of pg_upgrade leave their logs.
chdir(PostgreSQL::Test::Utils::tempdir()) or die "could not change to a temporary directory: $!";

my $bin = '/usr/lib/postgresql';
my ($node, $major);

sub query { return $node->safe_psql('shop', $_[0]); }

# A server that is not started yet.  18 makes checksums unless told otherwise,
# and pg_upgrade wants both servers alike.
sub new_node
{
	my ($version) = @_;
	local $ENV{TEMP_CONFIG} = "$ENV{COMB_WORK}/stage-$version.conf";
	my $new = PostgreSQL::Test::Cluster->new("upgrade_$version",
		install_path => "$bin/$version");
	$new->init(extra => [ qw(--data-checksums --encoding=UTF8 --no-locale) ]);
	$new->append_conf('postgresql.conf',
		"jit = off\ntimezone = 'UTC'\npg_comb.snowflake_instance = 5\n");
	return $new;
}

# The extension is in a schema that is on nobody's search_path: pg_upgrade, too,
# restores with none.
my $fill = q{
	CREATE SCHEMA keys;
	CREATE EXTENSION pg_comb SCHEMA keys;
	CREATE EXTENSION amcheck;
	CREATE TABLE orders (
		id uuid PRIMARY KEY DEFAULT keys.comb_generate(),
		server int NOT NULL,
		created timestamptz GENERATED ALWAYS AS (keys.comb_timestamp(id)) STORED,
		CHECK (id >= keys.comb_min('2020-01-01 00:00:00+00')));
	CREATE INDEX orders_created ON orders (keys.comb_timestamp(id));
	CREATE TABLE sales (
		id uuid NOT NULL DEFAULT keys.comb_generate('rtcomb_sql'),
		server int NOT NULL,
		made_by keys.comb_layout NOT NULL DEFAULT 'rtcomb_sql',
		others keys.comb_layout[] DEFAULT '{nhibernate,newsequentialid}',
		CHECK (keys.comb_timestamp(id, made_by) > '2000-01-01 00:00:00+00'));
	CREATE UNIQUE INDEX sales_order ON sales (id keys.comb_mssql_ops);
	CREATE INDEX sales_created ON sales (keys.comb_timestamp(id, 'rtcomb_sql'));
	CREATE INDEX sales_made_by ON sales (made_by, keys.comb_timestamp(id, made_by));
	CREATE INDEX sales_plain ON sales (keys.comb_convert(id, 'rtcomb_sql', 'uuidv7'));
	CREATE INDEX sales_2026 ON sales (server)
		WHERE id OPERATOR(keys.#>=#) keys.comb_min('2026-01-01 00:00:00+00', 'rtcomb_sql');
	CREATE TABLE events (id uuid DEFAULT keys.comb_generate('rtcomb_sql'), server int)
		PARTITION BY RANGE (id keys.comb_mssql_ops);
	CREATE TABLE events_before PARTITION OF events
		FOR VALUES FROM (MINVALUE) TO (keys.comb_min('2026-01-01 00:00:00+00', 'rtcomb_sql'));
	CREATE TABLE events_after PARTITION OF events
		FOR VALUES FROM (keys.comb_min('2026-01-01 00:00:00+00', 'rtcomb_sql')) TO (MAXVALUE);
	CREATE TABLE tickets (
		id uuid PRIMARY KEY DEFAULT keys.comb_generate_ordered(),
		number bigint UNIQUE DEFAULT keys.comb_snowflake(),
		server int NOT NULL);
	CREATE VIEW recent AS SELECT id, server FROM orders
		WHERE id > keys.comb_max('2026-01-01 00:00:00+00')
		ORDER BY id USING OPERATOR(keys.#>#);
	INSERT INTO orders (id, server) SELECT keys.comb_at('2025-01-01 00:00:00+00'::timestamptz + n * interval '1 hour'), 0
		FROM generate_series(1, 2000) n;
	INSERT INTO sales (id, server) SELECT keys.comb_at(keys.comb_timestamp(id), 'rtcomb_sql'), 0 FROM orders;
	INSERT INTO events (id, server) SELECT id, 0 FROM sales;
	-- as if the clock had been set back by five hours since then
	SELECT FROM keys.comb_ordered_reset(now() + interval '5 hours');
	INSERT INTO tickets (server) SELECT 0 FROM generate_series(1, 500);
	ANALYZE};

# New rows by the defaults come after all others.
sub goes_on
{
	is( query(qq{
		WITH latest AS (SELECT max(id::text) AS id FROM orders),
			made AS (INSERT INTO orders (server) SELECT $major FROM generate_series(1, 500) RETURNING id)
		SELECT bool_and(made.id > latest.id::uuid) FROM made, latest;
		WITH latest AS (SELECT id FROM sales ORDER BY keys.comb_mssql_key(id) DESC LIMIT 1),
			made AS (INSERT INTO sales (server) SELECT $major FROM generate_series(1, 500) RETURNING id)
		SELECT bool_and(made.id OPERATOR(keys.#>#) latest.id) FROM made, latest;
		WITH latest AS (SELECT max(id::text) AS id, max(number) AS number FROM tickets),
			made AS (INSERT INTO tickets (server) SELECT $major FROM generate_series(1, 500) RETURNING id, number)
		SELECT bool_and(made.id > latest.id::uuid AND made.number > latest.number) FROM made, latest;
		INSERT INTO events (server) SELECT $major FROM generate_series(1, 500);
		SELECT string_agg(DISTINCT tableoid::regclass::text, ' ') FROM events WHERE server = $major}),
		"t\nt\nt\nevents_after", "$major: new keys come after all others");
	return;
}

# bt_index_check() fails if an index is not in its order or misses a row.
sub indexes_are_whole
{
	is( query(q{
		SELECT count(*) FILTER (WHERE bt_index_check(indexrelid, true)::text = '')
		FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid JOIN pg_am ON pg_am.oid = relam
		WHERE indrelid IN ('orders'::regclass, 'sales'::regclass, 'tickets'::regclass) AND amname = 'btree' AND indisvalid}),
		9, "$major: the indexes are whole, $_[0] new keys");
	return;
}

sub digest
{
	return query(q{
		SELECT md5(string_agg(orders::text, ',' ORDER BY id)) FROM orders;
		SELECT md5(string_agg(sales::text, ',' ORDER BY id)) FROM sales;
		SELECT md5(string_agg(tableoid::regclass || events::text, ',' ORDER BY id)) FROM events;
		SELECT md5(string_agg(tickets::text, ',' ORDER BY id)) FROM tickets;
		SELECT md5(string_agg(recent::text, ',')) FROM recent;
		SELECT last_value FROM comb_internal.comb_lease_ordered;
		SELECT last_value FROM comb_internal.comb_lease_snowflake});
}

# Plans and answers on the indexes made by an older version.  743 are the hours
# of January 2025 but the first.
sub uses_indexes
{
	my $plans = query(q{
		SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_sort = off;
		EXPLAIN (COSTS OFF) SELECT id FROM sales ORDER BY id USING OPERATOR(keys.#<#);
		EXPLAIN (COSTS OFF) SELECT server FROM sales WHERE keys.comb_timestamp(id, 'rtcomb_sql') < '2025-02-01 00:00:00+00';
		EXPLAIN (COSTS OFF) SELECT server FROM sales WHERE made_by = 'rtcomb_sql'
			AND keys.comb_timestamp(id, made_by) < '2025-02-01 00:00:00+00';
		EXPLAIN (COSTS OFF) SELECT server FROM orders WHERE keys.comb_timestamp(id) < '2025-02-01 00:00:00+00';
		EXPLAIN (COSTS OFF) SELECT count(*) FROM events
			WHERE id OPERATOR(keys.#<#) keys.comb_min('2025-02-01 00:00:00+00', 'rtcomb_sql')});
	is( join(' ', $plans =~ /(?:Index (?:Only )?Scan using|Seq Scan on) (\w+)/g),
		'sales_order sales_created sales_made_by orders_created events_before',
		"$major: the indexes are used");
	is( query(q{
		SET enable_seqscan = off; SET enable_bitmapscan = off;
		SELECT count(*) FROM sales WHERE keys.comb_timestamp(id, 'rtcomb_sql') < '2025-02-01 00:00:00+00';
		SELECT count(*) FROM sales WHERE made_by = 'rtcomb_sql'
			AND keys.comb_timestamp(id, made_by) < '2025-02-01 00:00:00+00';
		SELECT count(*) FROM orders WHERE keys.comb_timestamp(id) < '2025-02-01 00:00:00+00';
		SELECT count(*) FROM sales WHERE id OPERATOR(keys.#<#) keys.comb_min('2025-02-01 00:00:00+00', 'rtcomb_sql');
		SELECT array_agg(id ORDER BY id USING OPERATOR(keys.#<#)) = array_agg(id ORDER BY keys.comb_mssql_key(id)) FROM sales}),
		"743\n743\n743\n743\nt", "$major: with right answers");
	return;
}

# What the extension consists of
my $extension = q{
	SET search_path = keys;
	SELECT pg_describe_object(classid, objid, 0) FROM pg_depend
		WHERE refclassid = 'pg_extension'::regclass AND deptype = 'e'
			AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'pg_comb')
		ORDER BY 1;
	SELECT oid::regprocedure, pg_get_function_result(oid), pg_get_function_arguments(oid), provolatile,
			proisstrict, proparallel, proleakproof, prosecdef, procost, prorows, prosupport, probin, prosrc,
			proconfig, coalesce(proacl, acldefault('f', proowner)), obj_description(oid, 'pg_proc')
		FROM pg_proc WHERE pronamespace = 'keys'::regnamespace ORDER BY oid::regprocedure::text;
	SELECT aggfnoid::regprocedure, aggtransfn, aggcombinefn, aggsortop::regoperator, aggtranstype::regtype
		FROM pg_aggregate JOIN pg_proc p ON p.oid = aggfnoid
		WHERE pronamespace = 'keys'::regnamespace ORDER BY aggfnoid::regprocedure::text;
	SELECT oid::regoperator, oprcode, oprcom::regoper, oprnegate::regoper, oprrest, oprjoin,
			obj_description(oid, 'pg_operator')
		FROM pg_operator WHERE oprnamespace = 'keys'::regnamespace ORDER BY oid::regoperator::text;
	SELECT relname, relkind, relacl, obj_description(oid, 'pg_class')
		FROM pg_class WHERE relnamespace IN ('keys'::regnamespace, 'comb_internal'::regnamespace) ORDER BY 1;
	SELECT nspname, nspacl, obj_description(oid, 'pg_namespace') FROM pg_namespace WHERE nspname = 'comb_internal';
	SELECT amopstrategy, amopopr::regoperator FROM pg_amop JOIN pg_opfamily f ON f.oid = amopfamily
		WHERE opfnamespace = 'keys'::regnamespace ORDER BY 1;
	SELECT amprocnum, amproc FROM pg_amproc JOIN pg_opfamily f ON f.oid = amprocfamily
		WHERE opfnamespace = 'keys'::regnamespace ORDER BY 1;
	SELECT oid::regtype, typtype, typbasetype::regtype, obj_description(oid, 'pg_type')
		FROM pg_type WHERE typnamespace = 'keys'::regnamespace ORDER BY oid::regtype::text;
	SELECT extname, extversion, extrelocatable, extnamespace::regnamespace FROM pg_extension
		WHERE extname = 'pg_comb'};

# The upgraded extension against a new one, and a dump
sub is_as_new
{
	my ($before) = @_;

	# 13 has no role pg_database_owner: there everybody may read what pg_comb keeps.
	query(q{
		REVOKE ALL ON SCHEMA comb_internal FROM PUBLIC;
		REVOKE ALL ON ALL SEQUENCES IN SCHEMA comb_internal FROM PUBLIC;
		GRANT USAGE ON SCHEMA comb_internal TO pg_database_owner;
		GRANT SELECT, UPDATE ON ALL SEQUENCES IN SCHEMA comb_internal TO pg_database_owner}) if $before == 13;

	# What doc/mssql.md tells to do after an upgrade from before 18
	if ($before < 18 && $major >= 18)
	{
		query(q{ALTER OPERATOR FAMILY keys.comb_mssql_ops USING btree
			ADD FUNCTION 6 (uuid, uuid) keys.comb_mssql_skipsupport(internal)});
	}
	$node->safe_psql('postgres', 'CREATE DATABASE fresh');
	$node->safe_psql('fresh',    'CREATE SCHEMA keys; CREATE EXTENSION pg_comb SCHEMA keys');
	append_to_file("$_.$major", $node->safe_psql($_, $extension) . "\n") foreach qw(fresh shop);
	is(`diff fresh.$major shop.$major`, '', "$major: the extension is as one newly created");
	my (undef, undef, $notice) = $node->psql('shop', 'ALTER EXTENSION pg_comb UPDATE');
	like($notice, qr/version "1\.0" of extension "pg_comb" is already installed/,
		"$major: ALTER EXTENSION has nothing to update");

	$node->safe_psql('postgres', 'CREATE DATABASE restored');
	$node->command_ok([ "$bin/$major/bin/pg_dump", '-f', 'shop.sql', '-d', $node->connstr('shop') ], "$major: pg_dump");
	$node->command_ok(
		[ "$bin/$major/bin/psql", '-Xq', '-v', 'ON_ERROR_STOP=1', '-f', 'shop.sql', '-d', $node->connstr('restored') ],
		"$major: a dump can be restored");
	my $rows = 'SELECT count(*) FROM sales';
	is($node->safe_psql('restored', $rows), query($rows), "$major: with its rows");
	$node->safe_psql('postgres', "DROP DATABASE $_") foreach qw(fresh restored);
	return;
}

# Minor releases of November 2026 keep a version with each column, among its
# options.  A server without that change fails to restore it: 17.12 cannot be
# upgraded to 18.6.  This is no matter of the extension, so the test takes the
# versions away where the next server does not know them.
sub forget_column_versions
{
	my ($next) = @_;
	my ($knows, $next_knows) =
	  map { system("grep -qa pg_attver $bin/$_/bin/postgres") == 0 } $major, $next;
	return if !$knows || $next_knows;
	query(q{SET allow_system_table_mods = on;
		UPDATE pg_attribute
			SET attoptions = nullif(ARRAY(SELECT o FROM unnest(attoptions) o WHERE o NOT LIKE 'pg_attver=%'), '{}')
			WHERE attrelid >= 16384 AND attoptions::text LIKE '%pg_attver=%'});
	note("$major: columns have a version, which this PostgreSQL $next does not know; taken away");
	return;
}

sub upgrade
{
	my ($old, $before) = @_;
	my $new = new_node($major);
	$new->command_ok(
		[
			"$bin/$major/bin/pg_upgrade",
			'-b', "$bin/$before/bin", '-B', "$bin/$major/bin",
			'-d', $old->data_dir, '-D', $new->data_dir,
			'-p', $old->port, '-P', $new->port, '-s', $new->host
		],
		"$before to $major: pg_upgrade");
	$new->start;
	return $new;
}

my ($before, $rows);
while (@versions)
{
	$major = shift(@versions);
	if (!defined $before)
	{
		$node = new_node($major);
		$node->start;
		$node->safe_psql('postgres', 'CREATE DATABASE shop');
		query($fill);
	}
	else
	{
		$node = upgrade($node, $before);
		is(digest(), $rows, "$major: the rows are those of $before");
		is_as_new($before);
	}
	indexes_are_whole('before');
	uses_indexes();
	goes_on();
	indexes_are_whole('with');
	$rows = digest();
	forget_column_versions($versions[0]) if @versions;
	$node->stop;
	$before = $major;
}
done_testing();
