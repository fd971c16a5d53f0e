# The online migration of doc/migration.md, under load: from v4 keys, and from a bigserial.
# MIGRATION_ROWS says how many rows each of the two tables has.
use lib 'test/perl';
use CombTest;
use CombFeed;
use Time::HiRes qw(time usleep);

my $rows = $ENV{MIGRATION_ROWS} // 20_000;
my $clients = 4;
my $rate = $ENV{MIGRATION_RATE} // 400;
my $node = server('main', conf => "max_wal_size = '8GB'\nmaintenance_work_mem = '256MB'\nshared_buffers = '512MB'\nsynchronous_commit = off\n");
my $scratch = tempdir();

# What an application does all the time.  It knows the columns by their names.
my $script = "$scratch/load.sql";
append_to_file($script, <<"END");
\\set n random(1, $rows)
\\set m random(1, $rows)
BEGIN;
WITH c AS (INSERT INTO customer (name, created_at) VALUES ('new', '2020-01-01 00:00+00'::timestamptz + random() * interval '6 years') RETURNING id)
INSERT INTO invoice (customer_id, amount) SELECT id, 1 FROM c;
UPDATE customer SET name = 'changed' WHERE id = (SELECT customer_id FROM invoice WHERE number = :n);
UPDATE invoice SET amount = amount + 1, customer_id = (SELECT customer_id FROM invoice WHERE number = :n) WHERE number = :m;
COMMIT;
END

sub load
{
	my ($database, $name) = @_;
	return start_load([ 'pgbench', '-n', '-c', $clients, '-j', 2, '-R', $rate, '-l', "--log-prefix=$scratch/$name",
			'-T', 86400, '-f', $script, $node->connstr($database) ]);
}

sub start_load
{
	my ($command) = @_;
	my ($out, $err) = ('', '');
	return { run => IPC::Run::start($command, '>', \$out, '2>', \$err), err => \$err };
}

# End a load, and return its longest transaction in ms, the time between asking and COMMIT,
# and how many there were.
sub stop_load
{
	my ($load, $name) = @_;
	$load->{run}->kill_kill;
	my ($longest, $n) = (0, 0);
	foreach my $file (glob("$scratch/$name.*"))
	{
		foreach (split(/\n/, slurp_file($file)))
		{
			my ($us) = /^\d+ \d+ (\d+)/ or next;
			$n++;
			$longest = $us if $us > $longest;
		}
	}
	like(${ $load->{err} }, qr/\A(?:pgbench.*\n)?\z/, "$name: no client had an error");
	return ($longest / 1000, $n);
}

# Run the statements of a step, one by one, and again those that wait too long for a lock.
sub step
{
	my ($database, $name) = @_;
	my $recipe = recipe($name);
	my $settings = $recipe =~ s/\A(SET .*;\n)// ? $1 : die "$name has no setting";
	my $tries = 0;
	my @statements = $recipe =~ /^BEGIN;/m ? $recipe : map { "$_;" } split(/;\n(?=(?:ALTER|CREATE|SET) )/, $recipe =~ s/;\n*\z//r);

	my $began = time;
	foreach my $statement (@statements)
	{
		while (1)
		{
			my ($rc, $out, $err) = $node->psql($database, "$settings$statement", on_error_stop => 1);
			last if $rc == 0;
			die "$name: $err" if $err !~ /lock timeout/ || ++$tries > 500;
			usleep(300_000);
		}
	}
	note(sprintf('%s: %.1f s, %d tries failed by lock_timeout', $name, time - $began, $tries));
	return;
}

# Fill until nothing is left.
sub fill
{
	my ($database, $name) = @_;
	my $rounds = 0;
	my $began = time;
	while (1)
	{
		my ($rc, $out, $err) = $node->psql($database, recipe($name));
		my @filled = $err =~ /: (\d+) rows/g;
		die $err unless $rc == 0 && @filled == 2;
		$rounds++;
		last if "@filled" eq '0 0';
		die "$name does not end" if $rounds > 20;
	}
	note(sprintf('%s: %.1f s, %d rounds', $name, time - $began, $rounds));
	return;
}

# A table with keys of a type, and a table that refers to it, each with the rows asked for.
sub migrate
{
	my ($database, $type, $default) = @_;
	my $referring = $type =~ s/serial/int/r;
	$node->safe_psql('postgres', "CREATE DATABASE $database");
	$node->safe_psql($database, "
		CREATE EXTENSION pg_comb;
		CREATE TABLE customer (id $type PRIMARY KEY$default, name text, created_at timestamptz NOT NULL);
		CREATE TABLE invoice (number int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, customer_id $referring NOT NULL REFERENCES customer, amount int);
		INSERT INTO customer (name, created_at)
			SELECT 'old', '2020-01-01 00:00+00'::timestamptz + n * interval '3 s' FROM generate_series(1, $rows) AS n;
		INSERT INTO invoice (customer_id, amount) SELECT id, 0 FROM customer;
		ANALYZE");
	my $quiet = load($database, "$database-before");
	sleep($ENV{MIGRATION_ROWS} ? 30 : 2);
	my ($before) = stop_load($quiet, "$database-before");

	my $load = load($database, $database);
	$node->safe_psql($database, recipe($type eq 'uuid' ? 'online-key' : 'online-key-bigint'));
	step($database, 'online-columns');
	is($node->safe_psql($database, q{
		GRANT INSERT, SELECT ON invoice TO writer;
		BEGIN;
		SET LOCAL ROLE writer;
		SET LOCAL search_path = '';
		INSERT INTO public.invoice (customer_id, amount) SELECT max(customer_id::text)::} . $referring . q{, 0 FROM public.invoice
			RETURNING new_customer_id IS NOT NULL;
		ROLLBACK}), 't', "$database: who has no rights on the other table still can insert");
	fill($database, 'online-fill');
	step($database, $_) foreach qw(online-check online-build online-foreign-key online-validate);
	my $unmoved = $node->safe_psql($database, q{
		SELECT (SELECT count(*) FROM customer WHERE new_id IS DISTINCT FROM new_key(id, created_at)) AS other_keys,
			(SELECT count(*) FROM invoice AS i LEFT JOIN customer AS c ON c.id = i.customer_id
				WHERE c.new_id IS DISTINCT FROM i.new_customer_id) AS other_references});
	step($database, 'online-swap');
	sleep(1);
	my ($longest, $n) = stop_load($load, $database);
	diag(sprintf('%s: %d rows, %d transactions at %d a second; the longest took %.0f ms, without the migration %.0f ms',
			$database, $rows, $n, $rate, $longest, $before)) if $ENV{MIGRATION_ROWS};
	note("longest $longest ms, before $before ms, $n transactions");

	is($unmoved, '0|0', "$database: before the swap each row and each reference has its new key");
	is($node->safe_psql($database, q{
		SELECT (SELECT count(*) FROM customer WHERE old_id IS NOT NULL AND
				(id <> new_key(old_id, created_at) OR abs(extract(epoch FROM comb_timestamp(id) - created_at)) > 0.001)) AS other_keys,
			(SELECT count(*) FROM invoice AS i LEFT JOIN customer AS c ON c.id = i.customer_id WHERE c.id IS NULL) AS lost_references}),
		'0|0', "$database: after the swap keys, times and references are right");
	is($node->safe_psql($database, 'SELECT count(*) > 0 FROM customer WHERE old_id IS NULL AND comb_timestamp(id) > created_at'),
		't', "$database: the application has gone on, with keys of pg_comb");
	like(error_of($node, $database, "INSERT INTO invoice (customer_id) VALUES ('5f0d7b1c-92e4-4a3b-8c6d-0123456789ab')"),
		qr/23503/, "$database: the foreign key holds");
	is($node->safe_psql($database, q{SELECT string_agg(a.attname, ',') FROM pg_index AS x JOIN pg_attribute AS a
			ON a.attrelid = indrelid AND a.attnum = ANY (indkey) WHERE indisprimary AND indrelid = 'customer'::regclass}),
		'id', "$database: the new column is the primary key");
	return;
}

$node->safe_psql('postgres', 'CREATE ROLE writer');
migrate('from_v4', 'uuid', ' DEFAULT gen_random_uuid()');
$node->safe_psql('postgres', 'CHECKPOINT');
$node->safe_psql('postgres', 'DROP DATABASE from_v4');
migrate('from_bigint', 'bigserial', '');
done_testing();
