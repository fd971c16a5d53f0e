# PostgreSQL has room for ten callbacks for changed relations in a process, and ends a process that
# registers one more.  Other extensions need most of them.  So a process takes one when it first
# makes an ordered key or asks what is settled, and none before that.
use lib 'test/perl';
use CombTest;

my $module = tempdir() . '/take_slot';
chomp(my $headers = `pg_config --includedir-server`);
plan skip_all => "needs the server's headers" unless -f "$headers/postgres.h";
replace_file("$module.c", <<'END');
#include "postgres.h"

#include "fmgr.h"
#include "utils/inval.h"

PG_MODULE_MAGIC;
PG_FUNCTION_INFO_V1(take_slot);

static void
changed(Datum arg, Oid relid)
{
}

Datum
take_slot(PG_FUNCTION_ARGS)
{
	CacheRegisterRelcacheCallback(changed, (Datum) 0);
	PG_RETURN_VOID();
}
END
ok(compile_c('-shared', '-fPIC', "-I$headers", '-o', "$module.so", "$module.c"), 'the module compiles');

my %node = (
	plain     => server('plain'),
	preloaded => server('preloaded', conf => "shared_preload_libraries = 'pg_comb'\npg_comb.snowflake_instance = 1\n", sql => q{
		CREATE EXTENSION pg_comb_ordered CASCADE;
		CREATE TABLE event (id uuid PRIMARY KEY DEFAULT comb_generate_ordered(), n int, CHECK (id <@ '[2000-01-01,2100-01-01)'));
		INSERT INTO event (n) SELECT 1 FROM generate_series(1, 100);
		ANALYZE event}));
$_->safe_psql('postgres', "CREATE FUNCTION take_slot() RETURNS void AS '$module' LANGUAGE C") foreach values %node;

# How many slots are free after some statements?  PostgreSQL's own cache of types has one.
sub free_slots
{
	my ($node, $sql) = @_;
	my ($rc, $out, $err) = $node->psql('postgres', "SELECT FROM (VALUES (1), (2)) AS v (i) ORDER BY i;
		$sql;\n" . "SELECT 'taken' FROM take_slot();\n" x 100, on_error_stop => 1);
	like($err, qr/out of relcache_callback_list slots/, "$sql: the slots end");
	return scalar(() = $out =~ /taken/g);
}

my $free = free_slots($node{plain}, 'SELECT 1');
cmp_ok($free, '>', 3, "$free slots are free");
is(free_slots($node{preloaded}, @$_[1]), $free - @$_[0], @$_[1]) foreach (
	[ 0, 'SELECT comb_generate() IS NULL' ],
	[ 0, 'INSERT INTO event (id, n) VALUES (comb_at(now()), 2)' ],
	[ 0, 'SELECT n FROM event WHERE comb_timestamp(id) > now() ORDER BY n LIMIT 1' ],
	[ 0, 'SELECT n FROM event ORDER BY comb_timestamp(id) DESC LIMIT 1' ],
	[ 1, 'INSERT INTO event (n) VALUES (2)' ],
	[ 1, 'SELECT comb_snowflake() IS NULL' ],
	[ 1, 'SELECT count(*) FROM event WHERE id < comb_settled()' ],
	[ 1, 'SELECT count(*) FROM event WHERE comb_unread(id, event.xmin, NULL) AND comb_position(NULL) IS NULL' ]);

done_testing();
