# Another module raises an error at XACT_EVENT_PREPARE, before pg_comb is called: PREPARE
# fails, but the transaction stays prepared.  PostgreSQL asks modules not to do that.  A feed
# waits for the transaction all the same.
use lib 'test/perl';
use CombTest;
use CombSession;

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

my $node = server('main', conf => "max_prepared_transactions = 2\n", sql => $CombSession::setup . qq{
	CREATE TABLE plain (id bigint DEFAULT comb_snowflake(instance_bits => 0));
	CREATE FUNCTION raise_at_prepare(late boolean) RETURNS void AS '$module' LANGUAGE C});
my ($other, $reader) = map { CombSession->new($node) } 1 .. 2;
my $add = "INSERT INTO event (what) VALUES ('event')";

# The transaction of a new session.  The module's callback comes before pg_comb's if it is
# registered later.
sub fails
{
	my ($first, $insert, $late) = @_;
	my $session = CombSession->new($node);
	my @load = ("LOAD 'pg_comb'", "SELECT raise_at_prepare($late)");
	$session->ask($_) foreach $first eq 'pg_comb' ? @load : reverse @load;
	$session->ask("BEGIN; $insert");
	like($session->complaints(q{PREPARE TRANSACTION 'p'}), qr/ERROR:  XX000: raised/, "PREPARE fails, after $first was loaded");
	return $session;
}

sub held
{
	my ($name) = @_;
	$other->ask($add);
	is($reader->poll, 0, "$name: the feed waits for it");
	is($other->ask('SELECT count(*) FROM comb_unsettled() AS u JOIN pg_prepared_xacts USING (transaction)'), 1, "$name: comb_unsettled() names it");
	return;
}

foreach my $loaded ('pg_comb', 'the other module')
{
	my $session = fails($loaded, $add, 'true');
	is($node->safe_psql('postgres', 'SELECT gid FROM pg_prepared_xacts'), 'p', "$loaded: the transaction is prepared");
	held($loaded);
	# the session goes on, and the feed waits for the prepared transaction
	$session->ask($add);
	held("$loaded, after a commit of the session");
	$session->ask("BEGIN; $add; ROLLBACK");
	$other->ask(q{COMMIT PREPARED 'p'});
	$reader->reads_all("$loaded: the feed gets its row");
	$session->quit;
}

# A reader's snapshot is older than COMMIT PREPARED
my $session = fails('pg_comb', $add, 'true');
$reader->ask('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM event');
$other->ask(q{COMMIT PREPARED 'p'});
$session->ask($add) foreach 1 .. 3;
is($reader->poll, 0, 'a snapshot from before its end does not pass it');
$reader->ask('COMMIT');
$reader->reads_all('and a later one gets it');

# Snowflakes
$session = fails('pg_comb', 'INSERT INTO plain DEFAULT VALUES', 'true');
$other->ask('INSERT INTO plain DEFAULT VALUES');
my $below = 'SELECT count(*) FROM plain WHERE id < comb_snowflake_settled(instance_bits => 0)';
is($other->ask($below), 0, 'a feed of Snowflakes waits');
$other->ask(q{ROLLBACK PREPARED 'p'});
is($other->ask($below), 1, 'until the transaction has ended');

# A session without keys
$session = fails('pg_comb', 'CREATE TABLE keyless ()', 'true');
is($session->ask('SELECT 1'), 1, 'a session without keys goes on');
$other->ask(q{ROLLBACK PREPARED 'p'});

# Before the transaction is prepared, it just fails
fails('pg_comb', $add, 'false')->quit;
is($node->safe_psql('postgres', 'SELECT count(*) FROM pg_prepared_xacts'), 0, 'an error before: nothing is prepared');
$other->ask($add);
$reader->reads_all('and holds nothing back');

done_testing();
