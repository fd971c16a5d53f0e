# A reader of events, and a transaction that makes a key so late that the list of
# prepared transactions cannot have the key.
use strict;
use warnings;

use FindBin qw($RealBin);
use lib "$RealBin/../perl";
use CombSession;
use CombTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $pg_config = $ENV{PG_CONFIG} || 'pg_config';
my $headers = `$pg_config --includedir-server`;
chomp $headers;
my $library = PostgreSQL::Test::Utils::tempdir() . '/late_key.so';
plan skip_all => 'needs a linker that makes modules of the server'
  unless compile_c('-D_GNU_SOURCE', "-I$headers", '-fPIC', '-shared', '-o', $library, "$RealBin/../late_key.c");

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf(
	'postgresql.conf', q{
autovacuum = off
max_prepared_transactions = 4
});
$node->start;
$node->safe_psql('postgres', $CombSession::setup);

my ($first, $second, $reader) = map { CombSession->new($node) } 1 .. 3;

# The transaction has announced something before.
$first->ask("LOAD '$library'");
like($first->complaints("BEGIN; SELECT comb_snowflake(instance_bits => 0); PREPARE TRANSACTION 'a'"),
	qr/ERROR:  25000: ordered keys and Snowflakes cannot be made while the transaction is being prepared/,
	'a late key is refused');
is($first->ask('SELECT count(*) FROM pg_prepared_xacts'), 0, 'and nothing is prepared');
$second->event;
is($reader->poll, 1, 'which holds nobody back');

# The late key is the session's first one, so nobody could refuse it.
$first->again;
$first->ask("LOAD '$library'");
$first->ask("BEGIN; SELECT txid_current(); PREPARE TRANSACTION 'a'");
$second->event;
is($reader->poll, 0, 'a transaction whose first key of the session is late holds the reader back');
is($reader->poll_late(sub { $second->ask("COMMIT PREPARED 'a'") }), 0, 'its commit after the snapshot of a query, too');
is($reader->poll, 2, 'then its row is read');
$reader->reads_all('and nothing is lost');
is($reader->ask(q{SELECT count(*) FROM event WHERE what = 'late'}), 1, 'one row was late');

$_->quit foreach ($first, $second, $reader);
$node->stop;
done_testing();
