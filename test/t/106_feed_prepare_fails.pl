# Another module raises an error at XACT_EVENT_PREPARE, before pg_comb is called: PREPARE
# fails, but the transaction stays prepared.  PostgreSQL asks modules not to do that.  A feed
# waits for the transaction all the same.
use lib 'test/perl';
use CombSchedule;
use CombTest;

my $module = tempdir() . '/raise_at_prepare';
chomp(my $headers = `pg_config --includedir-server`);
plan skip_all => 'PostgreSQL itself does not survive it with assertions' if `pg_config --configure` =~ /--enable-cassert/;
plan skip_all => "needs the server's headers" unless -f "$headers/postgres.h";
replace_file("$module.c", <<'END');
#include "postgres.h"

#include "access/xact.h"
#include "fmgr.h"

PG_MODULE_MAGIC;
PG_FUNCTION_INFO_V1(raise_at_prepare);

static XactEvent raises = XACT_EVENT_COMMIT;

static void
at_event(XactEvent event, void *arg)
{
	if (event == raises && event != XACT_EVENT_COMMIT)
	{
		raises = XACT_EVENT_COMMIT;
		elog(ERROR, "raised");
	}
}

Datum
raise_at_prepare(PG_FUNCTION_ARGS)
{
	static bool registered = false;

	if (!registered)
		RegisterXactCallback(at_event, NULL);
	registered = true;
	raises = PG_GETARG_BOOL(0) ? XACT_EVENT_PREPARE : XACT_EVENT_PRE_PREPARE;
	PG_RETURN_VOID();
}
END
ok(compile_c('-shared', '-fPIC', "-I$headers", '-o', "$module.so", "$module.c"), 'the module compiles');

my $node = server('main', conf => "max_prepared_transactions = 2\n", sql => $CombSchedule::setup . qq{
	CREATE TABLE plain (id bigint DEFAULT comb_snowflake(instance_bits => 0));
	CREATE FUNCTION raise_at_prepare(late boolean) RETURNS void AS '$module' LANGUAGE C});
my $schedule = CombSchedule->new($node, 'a b r', clean => 'TRUNCATE event, seen, plain', statements => {
	comb  => q{LOAD 'pg_comb'},
	raise => 'DO $$ BEGIN PERFORM raise_at_prepare(true); END $$',
	early => 'DO $$ BEGIN PERFORM raise_at_prepare(false); END $$',
	plain => 'INSERT INTO plain DEFAULT VALUES',
	flakes   => 'SELECT count(*) FROM plain WHERE id < comb_snowflake_settled(instance_bits => 0)',
	prepared => 'SELECT count(*) FROM pg_prepared_xacts',
	held     => 'SELECT count(*) FROM comb_unsettled() AS u JOIN pg_prepared_xacts USING (transaction)' });

# The module's callback comes before pg_comb's if it is registered later.
$schedule->test(q{
	# the transaction is prepared, and the feed waits for it, also after the session has gone on
	a.fresh a.comb a.raise a.begin a.event a.prepare1=XX000 r.prepared=1 b.event r.poll=0 r.held=1 a.event b.event r.poll=0 r.held=1 a.begin a.event a.rollback b.commitp1 r.poll=4 r.check
	a.fresh a.raise a.comb a.begin a.event a.prepare1=XX000 r.prepared=1 b.event r.poll=0 r.held=1 a.event b.event r.poll=0 r.held=1 a.begin a.event a.rollback b.commitp1 r.poll=4 r.check
	# a reader's snapshot is older than COMMIT PREPARED
	a.fresh a.comb a.raise a.begin a.event a.prepare1=XX000 r.repeatable r.count=0 b.commitp1 a.event a.event a.event r.poll=0 r.commit r.poll=4 r.check
	# Snowflakes
	a.fresh a.comb a.raise a.begin a.plain a.prepare1=XX000 b.plain r.flakes=0 b.rollbackp1 r.flakes=1
	# a session without keys goes on
	a.fresh a.comb a.raise a.begin a.xid a.prepare1=XX000 a.count=0 b.rollbackp1
	# before the transaction is prepared, it just fails
	a.fresh a.comb a.early a.begin a.event a.prepare1=XX000 r.prepared=0 b.event r.poll=1 r.check
});

done_testing();
