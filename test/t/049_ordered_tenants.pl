# Nobody moves another database's clock: the owner of a database sets its limits ahead, and the keys
# and feeds of the others stay where they are.  Databases that come and go share memory.
# logged: no ordered keys or Snowflakes can be made in this database until the server restarts
use lib 'test/perl';
use CombSchedule;
use CombSession;
use CombTest;

my $node = server('main', conf => q{
autovacuum = off
max_prepared_transactions = 2
pg_comb.snowflake_instance = 5
}, sql => 'CREATE ROLE tenant LOGIN');
$node->safe_psql('postgres', $_) foreach ('CREATE DATABASE tenant OWNER tenant', 'CREATE DATABASE other');
$node->safe_psql($_, $CombSchedule::setup) foreach ('postgres', 'tenant', 'other');
$node->safe_psql('tenant', 'GRANT ALL ON ALL TABLES IN SCHEMA public TO tenant; GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO tenant');

my $ahead = q{
	SET ROLE tenant;
	SELECT setval('comb_internal.comb_lease_ordered', (extract(epoch FROM clock_timestamp() + interval '23 h') * 1e6)::bigint),
		setval('comb_internal.comb_lease_snowflake', (extract(epoch FROM clock_timestamp() + interval '23 h') * 1e6)::bigint)};
my $make = 'SELECT comb_generate_ordered(), comb_snowflake()';
my %made;

# New keys are larger than those of the database before; return how many hours they are ahead.
sub hours
{
	my ($database, $name) = @_;
	my ($key, $id) = ask($node, $database, $make);
	my ($before, $id_before) = @{ $made{$database} // [ '', 0 ] };
	ok($key gt $before && $id > $id_before, "$name: keys of $database increase");
	$made{$database} = [ $key, $id ];
	return $node->safe_psql($database, qq{
		SELECT round(extract(epoch FROM comb_timestamp('$key') - clock_timestamp()) / 3600) AS ordered,
			round(extract(epoch FROM comb_snowflake_timestamp($id) - clock_timestamp()) / 3600)});
}

sub nobody_else_moves
{
	my ($name) = @_;
	is(hours('tenant', $name), '23|23', "$name: the tenant is ahead");
	is(hours($_, $name), '0|0', "$name: $_ is not") foreach ('postgres', 'other');
	is($node->safe_psql('postgres', q{SELECT bool_and(ahead < interval '1 min') FROM comb_ordered_status()}), 't', "$name: nor its status");
	is($node->safe_psql('tenant', q{SELECT bool_and(ahead > interval '22 h') FROM comb_ordered_status()}), 't', "$name: but the tenant's");
	is($node->safe_psql('postgres', q{
		INSERT INTO event (id, what) VALUES (comb_generate_ordered(), 'new') RETURNING id \gset
		SELECT count(*) FROM event WHERE id = :'id' AND id <@ tstzrange(now() - interval '1 h', now() + interval '1 min')}),
		1, "$name: the last hour has a row just inserted");
	return;
}

is(hours($_, 'at first'), '0|0', "at first $_ is at the clock") foreach ('tenant', 'postgres', 'other');
my ($writer, $reader) = map { CombSession->new($node) } 1 .. 2;
$writer->event;
is($reader->poll, 1, 'a feed of another database');
$node->safe_psql('tenant', $ahead);
nobody_else_moves('set ahead');
$writer->event;
is($reader->poll, 2, 'the feed goes on');
$reader->reads_all('the feed misses nothing');
$_->quit foreach ($writer, $reader);

# The tenant's own feed: others neither hold it back nor see it.
my $schedule = CombSchedule->new($node, 'a o r', database => 'tenant', other => 'o',
	statements => { unsettled => 'SELECT count(*) FROM comb_unsettled()' });
$schedule->test(q{
	o.begin o.key a.event r.poll=1 r.unsettled=0 a.begin a.event r.poll=0 r.unsettled=1 o.unsettled=1 a.commit r.poll=1 r.unsettled=0 o.commit r.check
});
$_->quit foreach $schedule->all;

crash($node);
$node->start;
nobody_else_moves('after a crash');
$node->restart;
nobody_else_moves('after a restart');

# All ids of a database that is ahead differ, and so do its sessions' while the server's counter is behind.
is($node->safe_psql('tenant', q{SELECT count(DISTINCT comb_snowflake()) FROM generate_series(1, 10000)}), 10000, 'ids ahead differ');

# The tenant resets its database, which stops only that.
$node->safe_psql('tenant', 'SELECT comb_ordered_reset(now())');
like(error_of($node, 'tenant', $make), qr/55000: the limits of this database were reset/, 'a reset');
is(hours('postgres', 'a reset'), '0|0', 'a reset stops no other database');
$node->restart;
delete $made{tenant};
is(hours('tenant', 'after the reset'), '0|0', 'after the reset the tenant is at the clock');

# Copies of a database by template, from before and after its first key in this life of the server
$node->safe_psql('tenant', $ahead);
$node->safe_psql('postgres', 'CREATE DATABASE early TEMPLATE tenant');
is(hours('tenant', 'copies'), '23|23', 'a template is ahead');
$node->safe_psql('postgres', 'CREATE DATABASE late TEMPLATE tenant');
foreach my $copy ('early', 'late')
{
	$made{$copy} = $made{tenant} if $copy eq 'late';
	is(hours($copy, 'copies'), '23|23', "a copy is ahead: $copy");
}

# Databases come and go, with running and prepared transactions.  Each begins at the clock, whoever had
# its memory before.
foreach my $round (1 .. 6)
{
	my $name = "brief_$round";
	$node->safe_psql('postgres', "CREATE DATABASE $name TEMPLATE other");
	$node->safe_psql($name, $ahead =~ s/SET ROLE tenant;//r) if $round % 2;
	my $expected = $round % 2 ? '23' : '0';
	my @brief = map { CombSession->new($node, $name) } 1 .. 3;
	$brief[0]->ask('BEGIN');
	$brief[0]->event;
	$brief[1]->ask('BEGIN');
	$brief[1]->event;
	$brief[1]->ask("PREPARE TRANSACTION 'brief'");
	my @seen = ($brief[2]->poll);
	$brief[0]->ask('COMMIT');
	push @seen, $brief[2]->poll;
	$brief[2]->ask("COMMIT PREPARED 'brief'");
	push @seen, $brief[2]->poll;
	my $hours = $brief[2]->ask(q{SELECT round(extract(epoch FROM ahead) / 3600) FROM comb_ordered_status() WHERE series = 'ordered'});
	$_->quit foreach @brief;
	is("@seen $hours", "0 1 1 $expected", "a database that comes and goes: $round");
	$node->poll_query_until('postgres', "SELECT count(*) = 0 FROM pg_stat_activity WHERE datname = '$name'");
	$node->safe_psql('postgres', "DROP DATABASE $name");
}
# A database is made while the first query for keys in another one reads pg_database.  That query does
# not take the new database for a dropped one, and its memory with it.
{
	$node->safe_psql('postgres', 'CREATE DATABASE asking TEMPLATE other');
	my ($holder, $asking) = map { CombSession->new($node, 'asking') } 1 .. 2;
	$holder->ask('DO $$ BEGIN PERFORM pg_advisory_lock(1); END $$');
	$asking->send('SELECT comb_generate_ordered() IS NOT NULL FROM (SELECT count(*) FROM pg_database, pg_advisory_lock(1)) AS d');
	wait_until($node, "SELECT count(*) = 1 FROM pg_locks WHERE NOT granted AND pid = $asking->{pid}");
	$node->safe_psql('postgres', 'CREATE DATABASE young TEMPLATE other');
	my $idle = CombSession->new($node, 'young');
	$idle->ask('BEGIN');
	$idle->event;
	$holder->ask('DO $$ BEGIN PERFORM pg_advisory_unlock(1); END $$');
	is(($asking->result)[0], 't', 'a database gets its memory beside one that is new');
	my ($writer, $reader) = map { CombSession->new($node, 'young') } 1 .. 2;
	$writer->event;
	is($reader->poll, 0, 'the new one keeps its own');
	$idle->ask('COMMIT');
	is($reader->poll, 2, 'with what was announced there');
	$_->quit foreach ($holder, $asking, $idle, $writer, $reader);
}
is(hours($_, 'at last'), $_ eq 'tenant' ? '23|23' : '0|0', "at last $_ is where it was") foreach ('postgres', 'other', 'tenant');

# A limit of nearly ten years ago leaves the others' counter alone, from which the clock would soon have jumped.
$node->safe_psql('postgres', 'CREATE DATABASE fresh');
$node->safe_psql('fresh', 'CREATE EXTENSION pg_comb_ordered CASCADE');
$node->restart;
$node->safe_psql('tenant', q{
	SELECT setval('comb_internal.comb_lease_snowflake', ((extract(epoch FROM clock_timestamp()) - 315576000 + 1) * 1e6)::bigint);
	SELECT comb_snowflake_settled(), pg_sleep(1.1)});
is($node->safe_psql('fresh', 'SELECT comb_snowflake() > 0'), 't', 'a limit of long ago stops no other database');

# What ordered.md says of denial: a role without rights on any table holds the readers below
# comb_settled(), and more than 64 savepoints in another database those of positions.
$node->safe_psql('postgres', 'CREATE ROLE nobody LOGIN; TRUNCATE event');
$schedule = CombSchedule->new($node, 'a n o r', other => 'o', user => { n => 'nobody', o => 'nobody' }, statements => {
	position => 'SELECT comb_position(NULL) AS position \gset',
	new      => q{SELECT count(*) FROM event WHERE comb_unread(id, xmin, :'position')},
	own      => 'CREATE TEMPORARY TABLE own (i integer)',
	saved    => 'DO $$ BEGIN FOR i IN 1..N LOOP BEGIN INSERT INTO own VALUES (i); EXCEPTION WHEN division_by_zero THEN NULL; END; END LOOP; END $$' });
# Each event ends a transaction, or the next snapshot would be that of before.
$schedule->test(q{
	r.position n.begin n.key a.event r.poll=0 r.new=1 o.own o.begin o.saved64 a.event r.new=2 o.saved1 a.event r.new=0 o.commit r.new=3 n.commit r.check
});
$_->quit foreach $schedule->all;

done_testing();
