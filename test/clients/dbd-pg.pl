# DBD::Pg

use strict;
use warnings;

use DBD::Pg;
use DBI;
use Test::More;

# The runner copies the versions from this line into its table.
print "# versions: DBD::Pg $DBD::Pg::VERSION, DBI $DBI::VERSION\n";

my $key = qr/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
my $nil = '00000000-0000-0000-0000-000000000000';
my @items = qw(salt oil rice tea milk);

my $db = DBI->connect('dbi:Pg:', '', '', { RaiseError => 1, PrintError => 0 });
$db->do(q{CREATE TABLE orders (
	id uuid PRIMARY KEY DEFAULT comb_generate(),
	number bigint NOT NULL DEFAULT comb_snowflake(),
	item text NOT NULL UNIQUE,
	amount int NOT NULL DEFAULT 1,
	ref uuid NOT NULL DEFAULT comb_generate('rtcomb_sql'))});

my %row = (Slice => {});

my $first = $db->selectrow_hashref(
	'INSERT INTO orders (item) VALUES (?) RETURNING *', undef, 'bread');
ok($first->{id} =~ $key, 'an insert gives the id back');

my $rows = $db->selectall_arrayref(
	'INSERT INTO orders (item) SELECT unnest(?::text[]) RETURNING *', \%row, \@items);
my @ids = map { $_->{id} } $first, @$rows;
ok(@ids == 6 && !(grep { $_ !~ $key } @ids) && "@ids" eq join(' ', sort @ids),
	'rows of one statement have keys in order');

my $again = $db->selectrow_hashref(
	'INSERT INTO orders (item, amount) VALUES (?, ?)
	ON CONFLICT (item) DO UPDATE SET amount = excluded.amount RETURNING *', undef, 'bread', 7);
ok($again->{id} eq $first->{id} && $again->{amount} == 7, 'an upsert keeps the id');

my ($epoch) = $db->selectrow_array(
	'SELECT extract(epoch FROM comb_timestamp(?))', undef, $first->{id});
ok(abs($epoch - time) < 60, 'the key has the time');

sub between
{
	my ($since, $until) = @_;
	return $db->selectall_arrayref(
		'SELECT * FROM orders WHERE comb_during(id, ?, ?) ORDER BY id', \%row, $since, $until);
}

sub during
{
	my ($since, $until) = @_;
	return $db->selectall_arrayref(
		'SELECT * FROM orders WHERE comb_created(id, ?) ORDER BY id', \%row, "[$since,$until)");
}

# DBI has no type for a time: these are the texts that PostgreSQL gives.
sub at { return $db->selectrow_array('SELECT to_timestamp(?)', undef, $_[0]) }

for ([ 'two timestamps', \&between ], [ 'a range', \&during ])
{
	my ($name, $period) = @$_;
	my $of = sub { join ' ', map { $_->{item} } @{ $period->(at($_[0]), at($_[1])) } };
	subtest "a period by $name" => sub {
		is($of->(time - 60, time + 60), "bread @items", 'all rows');
		is($of->(time - 7200, time - 3600), '', 'no row');
		like($of->($epoch, $epoch + 0.001), qr/^bread\b/, 'the first millisecond is in');
		is($of->(time - 3600, $epoch), '', 'the end is out');
	};
}

my ($after, $page, @seen) = $nil;
do
{
	$page = $db->selectall_arrayref(
		'SELECT * FROM orders WHERE id > ? ORDER BY id LIMIT ?', \%row, $after, 4);
	push @seen, map { $_->{item} } @$page;
	$after = $page->[-1]{id} if @$page;
} while (@$page);
is("@seen", "bread @items", 'pages by the key');

is(join(' ', map { $db->selectrow_array('SELECT item FROM orders WHERE number = ?', undef, $_->{number}) }
	$first, @$rows), "bread @items", 'a Snowflake keeps its digits');
cmp_ok($first->{number}, '>', 2**53, 'the number needs more than 53 bits');

ok(!eval { $db->do("SELECT comb_generate('sequential')"); 1 }, 'an error');
is($db->state, '22023', 'has its SQLSTATE');
like($db->pg_error_field('message_hint'), qr/^The layouts are uuidv7, /, 'and its hint');

# last_insert_id() reads a sequence.  A uuid column has none.
ok(!eval { defined $db->last_insert_id(undef, undef, 'orders', undef) or die }, 'last_insert_id() finds no id');

done_testing();
