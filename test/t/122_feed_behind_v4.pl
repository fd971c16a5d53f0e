# A feed over a table with v4 keys, as doc/migration.md says: ordered keys in the layout behind_v4
use lib 'test/perl';
use CombFeed;
use CombSession;
use CombTest;

my $node = server('main', conf => "autovacuum = off\n", sql => q{
	CREATE EXTENSION pg_comb_ordered CASCADE;
	CREATE TABLE outbox (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), body text);
	INSERT INTO outbox (body) SELECT 'old' FROM generate_series(1, 1000);
	DELETE FROM outbox WHERE id > 'ffff0000-0000-4000-8000-000000000000'});
my $poll = recipe('outbox-behind-poll');
$node->safe_psql('postgres', recipe('outbox-behind-v4'));

my $last = CombSession::NIL;

# Poll until there is nothing new, and return the bodies
sub bodies
{
	my @bodies;
	while (1)
	{
		my $rows = $node->safe_psql('postgres', $poll =~ s/\$last/'$last'/r);
		last if $rows eq '';
		foreach my $row (split(/\n/, $rows))
		{
			my ($id, $body) = split(/\|/, $row);
			cmp_ok($id, 'gt', $last, 'each row is behind the one before') unless $id gt $last;
			$last = $id;
			push @bodies, $body;
		}
	}
	return @bodies;
}

my @sessions = map { CombSession->new($node) } 1 .. 4;
$sessions[0]->ask(q{BEGIN; INSERT INTO outbox (body) VALUES ('1')});
$sessions[1]->ask(q{INSERT INTO outbox (body) VALUES ('2')});
is(join(' ', bodies()), join(' ', ('old') x $node->safe_psql('postgres', q{SELECT count(*) FROM outbox WHERE body = 'old'})),
	'the old rows come first, and none from behind an open transaction');
$sessions[0]->ask('COMMIT');
is(join(' ', bodies()), '1 2', 'then the others, in the order of their keys');

# Sessions that commit in another order than they began, many times
my @wanted;
my @got;
foreach my $round (1 .. 30)
{
	foreach my $i (0 .. 3) { $sessions[$i]->ask("BEGIN; INSERT INTO outbox (body) VALUES ('$round.$i')") }
	push @wanted, map { "$round.$_" } 0 .. 3;
	foreach my $i (sort { ($a * 7 + $round) % 4 <=> ($b * 7 + $round) % 4 } 0 .. 3)
	{
		$sessions[$i]->ask('COMMIT');
		push @got, bodies() if ($round + $i) % 3 == 0;
	}
}
push @got, bodies();
is("@got", "@wanted", 'each row once, in the order of the keys');

my $plan = $node->safe_psql('postgres', 'VACUUM ANALYZE outbox; SET enable_seqscan = off; EXPLAIN (COSTS OFF) ' . $poll =~ s/\$last/'$last'/r);
like($plan, qr/Index Cond: .*id > .*id < comb_convert\(comb_settled\(\)/, 'a poll uses the index');
unlike($plan, qr/Sort/, 'and its order');
$_->quit foreach @sessions;

done_testing();
