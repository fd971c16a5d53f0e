# The messages of "By symptom" in doc/operations.md are what PostgreSQL says: each is raised
# here, by what users type.
use lib 'test/perl';
use CombTest;

my ($old) = old_releases();
my $node = server('symptoms', conf => $old, sql => q{
	CREATE DATABASE schema;
	CREATE DATABASE plain;
	CREATE DATABASE feed;
	CREATE DATABASE old;
	CREATE EXTENSION pg_comb_ordered CASCADE;
	CREATE ROLE app LOGIN;
	CREATE TABLE t (id uuid PRIMARY KEY, at timestamptz);
	CREATE VIEW t_times AS SELECT id, comb_timestamp(id) AS created_at FROM t;
	CREATE TABLE t_stored (id uuid, created_at timestamptz GENERATED ALWAYS AS (comb_timestamp(id)) STORED);
	CREATE TABLE number (id bigserial PRIMARY KEY);
	CREATE TABLE identity (id bigint GENERATED ALWAYS AS IDENTITY);
	CREATE TABLE small (id int);
	CREATE TABLE event (id uuid) PARTITION BY RANGE (id);
	CREATE TABLE event_11 PARTITION OF event
		FOR VALUES FROM (comb_min('2026-11-01Z')) TO (comb_min('2026-12-01Z'));
	CREATE TABLE visit (id uuid) PARTITION BY RANGE (id);
	CREATE TABLE visit_default PARTITION OF visit DEFAULT;
	INSERT INTO visit VALUES (comb_at('2026-11-10Z'));
	CREATE UNIQUE INDEX mssql ON small (id);
	CREATE TABLE invoice (id uuid NOT NULL);
	CREATE UNIQUE INDEX invoice_id ON invoice (id comb_mssql_ops)});
$node->safe_psql('old', "CREATE EXTENSION pg_comb_ordered VERSION '1.0' CASCADE") if defined $old;
$node->safe_psql('schema', 'CREATE SCHEMA ext; CREATE EXTENSION pg_comb SCHEMA ext');
$node->safe_psql('plain', slurp_file('sql/portable/pg_comb.sql'));
my $feed = slurp_file('test/data/pg_comb_feed-1.0.sql');
$node->safe_psql('feed', $feed);

my $version = $node->safe_psql('postgres', 'SHOW server_version_num');

# A statement, or a database, a role or commands of psql before it
my @typed = (
	q{SHOW pg_comb.max_drift},
	q{SELECT comb_generate(); ALTER DATABASE postgres SET pg_comb.max_drift = '1s'; SET pg_comb.snowflake_instance = 1},
	[ app => q{LOAD 'pg_comb'} ],
	[ app => q{SELECT comb_generate() IS NULL; ALTER SYSTEM SET pg_comb.max_drift = '1s'} ],
	(defined $old ? [ old => q{SET ROLE app; SELECT last_value FROM comb_internal.comb_lease_ordered} ] : ()),
	[ template1 => q{SELECT comb_generate()} ],
	[ template1 => q{SELECT comb_generate_ordered()} ],
	[ template1 => q{SELECT comb_snowflake()} ],
	[ schema => q{SELECT uuidv7(), uuidv7(1, 2)} ],
	[ schema => q{SELECT ext.comb_generate() <@ tstzrange(NULL, NULL)} ],
	q{INSERT INTO event VALUES (comb_at('2027-01-01Z'))},
	q{CREATE TABLE event_12 PARTITION OF event FOR VALUES FROM (comb_min('2026-11-30 23:00Z')) TO (comb_min('2027-01-01Z'))},
	q{CREATE TABLE visit_11 PARTITION OF visit FOR VALUES FROM (comb_min('2026-11-01Z')) TO (comb_min('2026-12-01Z'))},
	q{SELECT FROM t WHERE id <@ '2026-11-20'},
	q{SELECT FROM t WHERE comb_during(id, '2026-11-21', '2026-11-20')},
	[ feed => q{SET ROLE app; SELECT FROM comb_feed} ],
	[ feed => q{SET ROLE app; SELECT FROM comb_feed_status} ],
	q{SELECT FROM t WHERE id <@ tsrange('2026-11-20', '2026-11-21')},
	q{SELECT FROM t WHERE id <@ daterange('2026-11-20', '2026-11-21')},
	q{SELECT FROM t WHERE id <@ '[2026-11-20,)'::text},
	q{SELECT FROM t WHERE id > now() - interval '1 day'},
	q{SELECT FROM t WHERE id >= '2026-01-01'},
	q{SELECT date_trunc('day', id) FROM t},
	q{SELECT id::timestamptz FROM t},
	($version < 200000 ? (q{SELECT max(id) FROM t}, q{SELECT min(id) FROM t}) : ()),
	q{CREATE TABLE u (id uuid GENERATED ALWAYS AS (comb_generate()) STORED)},
	q{ALTER TABLE number ALTER id DROP IDENTITY},
	q{ALTER TABLE identity ALTER id SET DEFAULT comb_snowflake()},
	q{ALTER TABLE number ALTER id TYPE uuid USING comb_generate()},
	q{ALTER TABLE small ALTER id TYPE uuid},
	q{SELECT FROM number WHERE id < comb_settled()},
	q{INSERT INTO small VALUES (comb_snowflake(instance_bits => 0))},
	q{CREATE TABLE tx (id text DEFAULT comb_generate()); SELECT comb_timestamp(id) FROM tx},
	q{SELECT FROM tx WHERE id <@ tstzrange(NULL, now())},
	q{CREATE PUBLICATION p FOR TABLE t WHERE (comb_timestamp(id) > '2026-11-20Z')},
	[ plain => q{CREATE EXTENSION pg_comb} ],
	[ feed => $feed ],
	q{SELECT comb_timestamp(id) FROM number},
	q{SELECT comb_snowflake(10)},
	q{SELECT * FROM t WHERE id > $last},
	q{SELECT * FROM t WHERE id > $1},
	q{ALTER TABLE invoice ADD PRIMARY KEY USING INDEX invoice_id},
	q{ALTER TABLE number ALTER id SET DEFAULT comb_generate()},
	q{CREATE INDEX ON t ((comb_timestamp(id)::date))},
	q{CREATE TABLE monthly (id uuid PRIMARY KEY) PARTITION BY RANGE (comb_timestamp(id))},
	q{CREATE TABLE daily (id uuid PRIMARY KEY, day date) PARTITION BY RANGE (day)},
	q{SELECT FROM t WHERE id = '01K8ZQ4V5T9P0X3M7N2B6C1D8E'},
	q{SELECT FROM t WHERE id = 'user_01k8zq4v5t9p0x3m7n2b6c1d8e'},
	q{SELECT FROM t WHERE id @> tstzrange('2026-11-20', NULL)},
	q{CREATE TABLE event_0 PARTITION OF event FOR VALUES FROM (comb_min('2026-12-01Z')) TO (comb_min('2026-11-01Z'))},
	q{INSERT INTO t_times (id, created_at) VALUES (comb_generate(), now())},
	q{INSERT INTO t_stored (created_at) VALUES (now())},
	q{INSERT INTO t VALUES (NULL)},
	q{SET default_transaction_read_only = on; SELECT comb_generate_ordered()});

my $said = '';
my @said;
foreach my $typed (@typed)
{
	my ($who, $sql) = ref $typed ? @$typed : ('postgres', $typed);
	my ($database, $user) = $who eq 'app' ? ('postgres', 'app') : ($who, undef);
	my ($rc, $out, $err) = $node->psql($database, $sql, connstr => $node->connstr($database) . ($user ? " user=$user" : ''));
	isnt($rc, 0, $sql =~ s/\n.*/ .../sr);
	$said .= $err;
	push @said, $err =~ /(?:ERROR|WARNING): +(.*)/;
}
# Where the server has what it misses elsewhere, the message of the page cannot come.
my %elsewhere = (
	'… uuidv7() …' => $version >= 180000,
	'permission denied for schema comb_internal' => !defined $old,
	'unique constraint on partitioned table must include all partitioning columns' => $version >= 190000,
	(map { $_ => $version >= 200000 } 'function max(uuid) does not exist', 'min(uuid)'));

my ($table) = slurp_file('doc/operations.md') =~ /^## By symptom\n(.*?)^## /ms;
# An entry begins with its messages, and a colon ends them.
my $entry = qr/^- (?=`)((?:`[^`\n]*`|[^`:\n]|\n  )+?):\s/m;
my @messages = map { /`([^`]+)`/g } $table =~ /$entry/g;
cmp_ok(scalar(@messages), '>', 40, 'the page has messages');
my @patterns = map { join('.*', map { quotemeta } split(/…/, s/^…(.*)…$/function$1does not exist/r, -1)) } map { /`([^`]+)`/g } slurp_file('doc/operations.md') =~ /$entry/g;
# 18 has uuidv7(), and says something else of it.
foreach my $error (grep { !/^function uuidv7\(integer/ } @said)
{
	ok(scalar(grep { $error =~ /$_/ } @patterns), "the page has: $error");
}
foreach my $message (@messages)
{
	# No message: a symptom, and what a package, an update without a restart, a superuser's REVOKE
	# or pg_dump (004) brings about
	next if $message =~ /^(?:Seq Scan|failed to get data for .*|ShmemIndex .*|requested DSM segment .*|could not find function .*|comb_timestamp\(id\)|id <@ period|could not access file "pg_comb"|WARNING: .*)$/;
	next if $elsewhere{$message};
	my $pattern = join('.*', map { quotemeta } split(/…/, $message, -1));
	like($said, qr/$pattern/, "PostgreSQL says: $message");
}
done_testing();
