# Readers of rows that change, by the recipe of doc/feed_readers.md: ten writers,
# terminated sessions and killed backends.  Each reader keeps a copy of the table, and
# the copy must come to be the table.  A reader without the bound must come to another
# copy, or the test would show nothing.
use lib 'test/perl';
use CombTest;
use CombSoak;

begin_soak('soak of rows that change', 15);
my $node = soak_server('main', conf => "deadlock_timeout = 50ms\n", sql => q{
	CREATE EXTENSION pg_comb_ordered CASCADE;
	CREATE TABLE item (id bigint PRIMARY KEY, name text) PARTITION BY HASH (id);
	CREATE TABLE item_0 PARTITION OF item FOR VALUES WITH (MODULUS 2, REMAINDER 0);
	CREATE TABLE item_1 PARTITION OF item FOR VALUES WITH (MODULUS 2, REMAINDER 1);
} . recipe('changes') . recipe('every-version') . recipe('changes view'));

my $query  = recipe('changed');
my $log    = CombSession->new($node, 'postgres', table => 'item_log', query => recipe('poll') =~ s/\boutbox\b/item_log/r);
my %reader = (
	'by the query' => CombFeed->new($node, query => $query),
	'by the view'  => CombFeed->new($node,
		query => 'SELECT id, version, deleted, name FROM item_changes WHERE version > $last ORDER BY version LIMIT 1000'),
	'each version in the log' => $log);
my %twin = ('without the bound' => CombFeed->new($node, query => $query =~ s/ AND version < \(SELECT bound FROM b\)//gr));

my $conninfo = conninfo('postgres', $node);
start_writers($conninfo, 2, 40, item_writers($duration > 60 ? 20000 : 3000), '--max-tries', 10) foreach 1 .. 5;
start_resolver($conninfo);
disturb($node, $duration, readers => [ values %reader, values %twin ]);
end_writers($node);
read_rest(values %reader, values %twin);

is($reader{'by the query'}->log_differs, 0, 'the last version of each id is the last in the log');
end_soak(readers => \%reader, twins => \%twin, nodes => [$node], expected => qr/deadlock|duplicate key/);
