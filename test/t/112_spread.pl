# comb_spread() in many sessions: they fill all hash partitions evenly, those whose numbers are close
# together are never in one partition at once, and no two of them always meet.
#
# The keys have given times, so that a minute passes at once.
use lib 'test/perl';
use CombSession;
use CombTest;

my $node = server('main', sql => q{
	CREATE EXTENSION pg_comb;
	CREATE TABLE spread (session int, id uuid) PARTITION BY HASH (id);
	DO $$ BEGIN
		FOR r IN 0 .. 15 LOOP
			EXECUTE format('CREATE TABLE spread_%1$s PARTITION OF spread FOR VALUES WITH (MODULUS 16, REMAINDER %1$s)', r);
		END LOOP;
	END $$;
	-- the number of this session, from 0, as the server counts them; before 17 ids begin with 1
	CREATE FUNCTION number() RETURNS int LANGUAGE sql AS $$
		SELECT id - (current_setting('server_version_num')::int < 170000)::int FROM pg_stat_get_backend_idset() AS id WHERE pg_stat_get_backend_pid(id) = pg_backend_pid()
	$$;
	-- two keys of each stay of 64 ms in a minute
	CREATE PROCEDURE minute(since timestamptz) LANGUAGE sql AS $$
		INSERT INTO spread
		SELECT number(), comb_spread(comb_at(since + n * interval '32 ms'), 16) FROM generate_series(0, 1875) n
	$$;
});
my @sessions = map { CombSession->new($node) } 1 .. 40;

sub sql { return $node->safe_psql('postgres', $_[0]) }

foreach my $n (1, 4, 40)
{
	sql('TRUNCATE spread');
	$_->ask(q{CALL minute('2026-11-27 12:00:00.05+00')}) foreach @sessions[ 0 .. $n - 1 ];
	my ($least, $most) = split(/\|/, sql('SELECT min(n), max(n) FROM (SELECT count(*) AS n FROM spread GROUP BY tableoid) s'));
	note("$n sessions: $least to $most keys in a partition");
	is(sql('SELECT count(DISTINCT tableoid) FROM spread'), 16, "$n sessions: all partitions have keys");
	# a session visits each of them 58 times or 59 times, and is elsewhere at the ends of its rounds
	cmp_ok($most / $least, '<', 1.06, "$n sessions: as many in each");
}

sql(q{CREATE TABLE stayed AS SELECT DISTINCT session, div(extract(epoch FROM comb_timestamp(id)) * 1000, 64) AS stay, tableoid AS place FROM spread});
is(sql('SELECT count(*) FROM (SELECT FROM stayed GROUP BY session, stay HAVING count(*) > 1) AS s'), 0, 'a session stays in one partition');
my $pairs = 'FROM stayed a JOIN stayed b USING (stay) WHERE a.session < b.session';
is(sql("SELECT count(*) $pairs AND a.session / 16 = b.session / 16 AND a.place = b.place"), 0, 'sessions of a group are in different partitions');
my $most = sql("SELECT max(share) FROM (SELECT avg((a.place = b.place)::int) AS share $pairs GROUP BY a.session, b.session) s");
cmp_ok($most, '<', 0.5, "no two sessions meet in more than $most of all stays");
cmp_ok($most, '>', 0, 'but some meet');

$_->quit foreach @sessions;
done_testing();
