# The examples of the documents print what the documents say, and the table of layouts
# in libraries.md says what comb_layouts() does.  The pages can be tried one after another in
# one database, but for installation.md, which begins without the extension.
#
# What the pages make also works where their readers are: in a restored dump, without a
# search_path, for a role that owns nothing, in materialized views and in indexes.  There the
# queries of a page's transaction run without its BEGIN.
# logged: there is no transaction in progress
use lib 'test/perl';
use CombFeed;
use CombTest;

my $node = server('examples');
$ENV{PGHOST} = $node->host;
$ENV{PGPORT} = $node->port;

my @documents = ('README.md', sort glob('doc/*.md'));
sub examples
{
	my ($how, @arguments) = @_;
	my $output = `$^X test/examples @arguments 2>&1`;

	for my $line (split /\n/, $output)
	{
		if ($line =~ /^(not )?ok \d+ - (.*)/)
		{
			ok(!$1, "$how: $2");
		}
		elsif ($line =~ /^# ?(.*)/)
		{
			diag($1);
		}
	}
	like($output, qr/^1\.\.[1-9]\d*$/m, "$how: all examples ran");
	return;
}

examples('each page', @documents);
examples('together', '--together', grep { !/installation/ } @documents);

my %order = map { join('|', (split(/ \| /))[0, 2]) => 1 } slurp_file('doc/libraries.md') =~ /^\| (`\w+` \| .*) \|$/mg;
my @layouts = split(/\n/, $node->safe_psql('postgres', q{CREATE EXTENSION pg_comb;
	SELECT format('`%s`', layout), coalesce(sorts_in, 'none') FROM comb_layouts()}));
cmp_ok(scalar(@layouts), '>', 10, 'there are layouts');
is(join(' ', grep { !$order{$_} } @layouts), '', 'libraries.md has the order of each');

#
# Elsewhere
#
# The recipes' objects, in the order of the pages, with the tables that their readers have before
my $orders = q{
	CREATE TABLE orders (id bigserial PRIMARY KEY, key uuid NOT NULL DEFAULT comb_generate(), name text,
		created_at timestamptz NOT NULL DEFAULT clock_timestamp());
	INSERT INTO orders (name) VALUES ('one'), ('two')};
my @recipes = (
	q{CREATE EXTENSION pg_comb_ordered CASCADE;
	CREATE TABLE weather (id uuid PRIMARY KEY DEFAULT comb_generate(), celsius real);
	CREATE TABLE customer (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), name text, created_at timestamp);
	INSERT INTO customer VALUES ('0b54ac7e-60aa-4f1e-9d70-ba9876543210', 'Grace', '2026-11-19 21:30');
	CREATE TABLE tx (id text PRIMARY KEY DEFAULT gen_random_uuid());
	CREATE TABLE ticket (id bigserial PRIMARY KEY, name text);
	CREATE TABLE item (id bigint PRIMARY KEY, name text);
	INSERT INTO item VALUES (1, 'one'), (2, 'two')},
	'purge', 'outbox', q{ALTER TABLE outbox ADD user_id integer; INSERT INTO outbox (body) VALUES ('one'), ('two')}, 'consumer', 'batch', 'send-mail', 'function',
	'changes', q{UPDATE item SET name = 'three' WHERE id = 1; DELETE FROM item WHERE id = 2}, 'every-version',
	portable_feed(), $orders, 'feed-number', 'feed-time', 'feed-uuid', 'feed-changed', 'feed-xid', 'feed-poll',
	'stamp', 'numbers', 'from a sequence', 'client-key', 'text-uuid', 'heartbeat',
	q{CREATE TABLE purchase (id uuid PRIMARY KEY DEFAULT comb_generate_ordered(), number bigint UNIQUE DEFAULT next_id(), item text);
	INSERT INTO purchase (item) VALUES ('bread'), ('milk')},
	'settled view', 'CREATE ROLE app; CREATE ROLE tool', 'settled policy', 'numbered view', 'timed view', 'changes view', 'settled-view', 'present', 'retention', 'outbox-v7', 'feed-mover',
	q{SELECT comb_generate_ordered(), comb_snowflake(instance_bits => 0), pg_sleep(0.01)});
sub as_on_page { my ($text) = @_; return ($text =~ /[(;]/ ? $text : recipe($text) =~ s/\$last\b/0/gr) . ';' }
$node->safe_psql('postgres', 'CREATE DATABASE examples_recipes');
$node->safe_psql('examples_recipes', as_on_page($_)) foreach @recipes;

# Whoever adds a recipe tries it here, too, unless it only asks, or leaves nothing that is used later, or needs another
# server, as those of topologies.md.
my %tried = map { $_ => 1 } @recipes, qw(wrong-loop workers position undo outbox-v4 outbox-behind-v4 feed-attach feed-client feed-subscribed message-db entity), 'to bigint';
my %recipe = map { slurp_file($_) =~ /^ *```(?:sql|console) (.+)\n *((?s).*?)^ *```$/mg } grep { !/topologies/ } @documents;
is(join(' ', sort grep { $_ ne 'pattern' && !$tried{$_} && $recipe{$_} !~ /^(?:SELECT|WITH)\b/ } keys %recipe), '', 'the recipes are tried elsewhere');

# What a page made: relations and functions that belong to no extension and to no file of sql/portable.  A
# function's arguments are a row for a row's type, and a value for others.
my $made = q{
	SET search_path = '';
	CREATE TEMP VIEW relation AS SELECT oid, oid::regclass::text AS name, relname, relkind IN ('r', 'p') AS writable, relkind
	FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p', 'v', 'm') AND relname !~ '^comb_'
		AND NOT EXISTS (SELECT FROM pg_depend WHERE classid = 'pg_class'::regclass AND objid = pg_class.oid AND deptype = 'e');
	CREATE TEMP VIEW attribute AS SELECT relation.*, quote_ident(attname) AS attribute, atthasdef FROM relation
		JOIN pg_attribute ON attrelid = relation.oid AND attnum > 0 AND NOT attisdropped AND attgenerated = '' WHERE writable;
	CREATE TEMP VIEW function AS SELECT oid, oid::regproc::text AS name, proname, provolatile, prokind, (
			SELECT coalesce(string_agg(CASE
				WHEN typrelid <> 0 THEN format('(SELECT t FROM %s AS t LIMIT 1)', typrelid::regclass)
				ELSE format('%L::%s', CASE typname WHEN 'uuid' THEN '01890a5d-ac96-774b-bcce-b302099a8057' WHEN 'interval' THEN '1 day' END,
					type::regtype) END, ', ' ORDER BY n), '')
			FROM unnest(proargtypes[0:pronargs - pronargdefaults - 1]) WITH ORDINALITY AS a (type, n)
				JOIN pg_type ON pg_type.oid = type) AS arguments, (
			SELECT typname FROM pg_type WHERE oid = proargtypes[0] AND typrelid <> 0) AS row
	FROM pg_proc WHERE pronamespace = 'public'::regnamespace AND proname !~ '^comb_' AND prokind <> 'a' AND prorettype <> 'trigger'::regtype
		AND NOT EXISTS (SELECT FROM pg_depend WHERE classid = 'pg_proc'::regclass AND objid = pg_proc.oid AND deptype = 'e');
};

sub lines_of
{
	my ($database, $query) = @_;
	return split(/\n/, $node->safe_psql($database, "$made; $query"));
}

# Run statements, each by itself, as a role with a search_path.  Return the errors.
sub errors_of
{
	my ($database, $role, $path, @statements) = @_;
	my ($rc, $out, $errors) = $node->psql($database,
		join(";\n", "SET ROLE $role", "SET search_path = $path", 'SET statement_timeout = 500', @statements) . ';', on_error_stop => 0);
	# the page's data may forbid a change, a loop without an end ends by the timeout, and only an owner makes partitions
	return join("\n", grep { /ERROR/ && !/violates|due to statement timeout|permission denied for schema public/ } split(/\n/, $errors));
}

# What queries give in a database that is only read
sub answers
{
	my ($database, @queries) = @_;
	my $answers;
	local $ENV{PGOPTIONS} = '-c default_transaction_read_only=on -c timezone=UTC';
	IPC::Run::run([ qw(psql -XAt -f -), '-d', $node->connstr($database) ], '<', \join("\n\\echo \@\@\n", @queries, ''), '>&', \$answers);
	return split(/^\@\@\n/m, $answers =~ s/^(?:psql:<stdin>:\d+: |LINE \d.*\n.*\n)//mgr);
}

# The pages' queries, with their parameters, but for a superuser's.  Those whose tables a database lacks fail there and in its copy.
my %parameter = ((map { $_ => "'" . CombSession::NIL . "'" } qw(1 last first)), (map { $_ => 'NULL' } qw(since token)),
	(map { $_ => 0 } qw(2 last_id bound tenant)));
my @queries = map { s/\$(\w+)\b/$parameter{$1} \/\/ "\$$1"/ger } grep { /^(?:SELECT|EXPLAIN|WITH)\b(?!.*(?:pg_reload_conf|comb_ordered_reset))/s } map { split(/(?<=;)\n/) }
  map { /^=> /m ? map { s/^[=-]> //mgr } /^=> .*\n(?:-> .*\n)*/mg : $_ } map { slurp_file($_) =~ /^ *```(?:sql|console).*\n((?s).*?)^ *```$/mg } @documents;

$node->safe_psql('postgres', 'CREATE ROLE stranger');
my $dump = tempdir() . '/dump';
foreach my $database (map { "examples_$_" } qw(installation_md together recipes))
{
	my @kept = lines_of($database, q{
		SELECT format('CREATE MATERIALIZED VIEW public.kept_%s AS SELECT * FROM %s', relname, name) FROM relation WHERE relkind = 'v';
		SELECT format('CREATE MATERIALIZED VIEW public.kept_by_%s AS SELECT %s(%s)', proname, name, arguments) FROM function WHERE provolatile <> 'v';
		SELECT format('CREATE INDEX ON public.%I (%s(%1$I))', row, name) FROM function WHERE provolatile = 'i' AND row IS NOT NULL});
	is(errors_of($database, 'postgres', '"$user", public', @kept), '', "$database: in materialized views and indexes");

	my $copy = "copy_of_$database";
	$node->safe_psql('postgres', "CREATE DATABASE $copy");
	my (undef, $errors) = run_command([ 'pg_dump', '--no-sync', '-f', $dump, $node->connstr($database) ]);
	(undef, $errors) = run_command([ qw(psql -Xq -f), $dump, '-d', $node->connstr($copy) ]) if $errors eq '';
	is($errors, '', "$database: a dump can be restored");
	$node->safe_psql($_, 'ANALYZE') foreach ($database, $copy);

	my @all = (@queries, lines_of($database, q{SELECT format('SELECT count(*), md5(string_agg(t::text, %L ORDER BY t::text)) FROM %s AS t;', '', name) FROM relation WHERE relname !~ '^kept_by_.*settled'}));
	my @before = answers($database, @all);
	my @there  = answers($copy, @all);
	my @after  = answers($database, @all);
	my @fixed = grep { $before[$_] eq $after[$_] } 0 .. $#all;
	cmp_ok(scalar(grep { $before[$_] !~ /ERROR/ } @fixed), '>=', 5, "$database: has queries");
	is(join('', map { "$all[$_]\n$there[$_]" } grep { $there[$_] ne $before[$_] } @fixed), '', "$database: queries give the same there");

	$node->safe_psql($copy, 'GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO stranger; GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO stranger');
	my @uses = lines_of($copy, q{
		SELECT format('SELECT FROM %s', name) FROM relation;
		SELECT format('%s %s(%s)', CASE prokind WHEN 'p' THEN 'CALL' ELSE 'SELECT' END, name, arguments) FROM function;
		SELECT format('INSERT INTO %1$s (%2$s) SELECT %2$s FROM %1$s LIMIT 1', name, string_agg(attribute, ', '))
			FROM attribute WHERE NOT atthasdef GROUP BY name;
		SELECT format('UPDATE %s SET %s = %2$s WHERE ctid IN (SELECT ctid FROM %1$s LIMIT 2)', name, attribute) FROM attribute;
		SELECT format('DELETE FROM %s WHERE ctid IN (SELECT ctid FROM %1$s LIMIT 2)', name) FROM relation WHERE writable});
	is(errors_of($copy, 'stranger', "''", @uses), '', "$database: for a role that owns nothing, without a search_path");
	is(errors_of($copy, 'stranger', '"$user", public', 'SET default_transaction_read_only = on', map { $all[$_] } grep { $before[$_] !~ /ERROR/ } 0 .. $#queries), '',
		"$database: a role that owns nothing may ask");
	my @again = lines_of($copy, q{
		SELECT format('REFRESH MATERIALIZED VIEW %s', name) FROM relation WHERE relkind = 'm';
		SELECT format('REINDEX TABLE %s', name) FROM relation WHERE writable});
	is(errors_of($copy, 'postgres', "''", @again), '', "$database: materialized views and indexes are made again without a search_path");
}

done_testing();
