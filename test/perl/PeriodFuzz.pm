# Random tables and random queries with the clauses on periods, each query in two
# forms: as a user writes it, and with the clauses replaced by the brute-force
# answer over a plain copy of the rows.
#
# new PeriodFuzz(seed, queries, server) makes one round.  A round follows from its
# seed, from the server's version, and from whether the server has btree_gist and
# prunes default partitions rightly.
package PeriodFuzz;

use strict;
use warnings;

use POSIX qw(strftime);

my %layouts = (
	'PostgreSQL' => [qw(uuidv7 ulid rtcomb_postgresql rtcomb_postgresql_datetime
		  sequential_string masstransit_sequential uuidv6)],
	'SQL Server' => [qw(rtcomb_sql rtcomb_legacy nhibernate sequential_end morris
		  efcore masstransit)],
	'none' => [qw(rtcomb_binary rtcomb_binary_datetime sequential_binary uuidv1
		  newsequentialid)]);

# Columns of every table.  "o" is a key of the round's other layout, "d" is of a
# domain, "p" is the row's own period, and "g" says whether the key is in one of
# the round's favourite periods.
my $columns = 'n int, id uuid, d fuzz.key, k int, o uuid, p tstzrange, g boolean';
my @names   = qw(n id d k o p g);

#
# Chance
#

sub one_in { return int(rand($_[0])) == 0; }
sub from_to { return $_[0] + int(rand($_[1] - $_[0] + 1)); }
sub pick { return $_[ int(rand(@_)) ]; }

# pick_weighted(weight => value, ...)
sub pick_weighted
{
	my @pairs = @_;
	my $total = 0;
	for (my $i = 0; $i < @pairs; $i += 2) { $total += $pairs[$i]; }
	my $at = rand($total);
	while (@pairs > 2)
	{
		return $pairs[1] if $at < $pairs[0];
		$at -= $pairs[0];
		splice(@pairs, 0, 2);
	}
	return $pairs[1];
}

#
# Two forms in one text: \x01, what a user writes, \x02, brute force, \x03
#

sub both { return "\x01$_[0]\x02$_[1]\x03"; }
sub as_written { my $s = shift; $s =~ s/\x01([^\x01-\x03]*)\x02[^\x01-\x03]*\x03/$1/g; return $s; }
sub as_brute { my $s = shift; $s =~ s/\x01[^\x01-\x03]*\x02([^\x01-\x03]*)\x03/$1/g; return $s; }

#
# Times, keys and periods
#

my $start = 1767225600;    # 2026-01-01

sub instant
{
	my ($us) = @_;
	use integer;
	return strftime('%Y-%m-%d %H:%M:%S', gmtime($us / 1_000_000))
	  . sprintf('.%06d+00', $us % 1_000_000);
}

# Keys and periods share a few instants, so that keys are at the ends of periods.
sub near
{
	my ($self) = @_;
	return pick(@{ $self->{instants} }) +
	  pick(0, 0, 0, 1, -1, 500, -500, 1000, -1000, 2000, from_to(-86_400, 86_400) * 1_000_000);
}

# Two of them in order, as text
sub two_instants
{
	my ($self) = @_;
	return map { instant($_) } sort { $a <=> $b } ($self->near, $self->near);
}

sub key_value
{
	my ($self) = @_;
	my $base = sprintf("'%08x-%04x-%04x-%04x-%012x'", map { int(rand($_)) } 2**32, 2**16, 2**16, 2**16, 2**48);
	my $key = "comb_stamp($base, '" . instant($self->near) . "')";

	return pick_weighted(
		60 => $key,
		4 => "comb_min('" . instant($self->near) . "')",
		4 => "comb_max('" . instant($self->near) . "')",
		6 => "overlay($key\::text PLACING '4' FROM 15 FOR 1)::uuid",
		6 => "overlay($key\::text PLACING '1' FROM 15 FOR 1)::uuid",
		3 => "overlay($key\::text PLACING 'c' FROM 20 FOR 1)::uuid",
		4 => "$base\::uuid",
		2 => "comb_stamp($base, '1970-01-01 00:00:00+00')",
		2 => "comb_stamp($base, '10889-08-02 05:31:50.655+00')",
		1 => "'00000000-0000-0000-0000-000000000000'::uuid",
		1 => "'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid",
		5 => 'NULL::uuid');
}

sub other_key_value
{
	my ($self) = @_;
	my $base = sprintf("'%08x-%04x-%04x-%04x-%012x'", map { int(rand($_)) } 2**32, 2**16, 2**16, 2**16, 2**48);
	my $at = instant($self->near);

	return pick_weighted(
		60 => "comb_stamp($base, '$at', '$self->{layout}')",
		4 => "comb_stamp('00000000-0000-0000-0000-000000000000', '$at', '$self->{layout}')",
		4 => "comb_stamp('ffffffff-ffff-ffff-ffff-ffffffffffff', '$at', '$self->{layout}')",
		6 => "comb_stamp($base, '$at')",
		6 => "$base\::uuid",
		1 => "'00000000-0000-0000-0000-000000000000'::uuid",
		1 => "'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid",
		4 => 'NULL::uuid');
}

# The text of a period, without quotes
sub period_value
{
	my ($self) = @_;
	my ($a, $b) = $self->two_instants;
	my ($open, $close) = (pick('[', '['  , '('), pick(')', ')', ']'));

	$b = $a if one_in(15);
	return pick_weighted(
		50 => "$open$a,$b$close",
		6 => "$open$a,)",
		6 => "(,$b$close",
		4 => 'empty',
		4 => '(,)',
		2 => "$open$a,infinity$close",
		2 => "$open-infinity,$b$close",
		1 => "$open-infinity,infinity$close",
		1 => '[infinity,infinity]',
		1 => "(,1970-01-01 00:00:00+00$close",
		1 => "${open}10889-08-02 05:31:50.655+00,)",
		1 => "${open}20000-01-01 00:00:00+00,)",
		1 => '(,1200-01-01 00:00:00+00)');
}

# A constant period is often one of the favourites, which indexes and constraints
# are made with.
sub constant_period
{
	my ($self) = @_;
	return one_in(3) ? pick(@{ $self->{favourites} }) : $self->period_value;
}

# NULL or a quoted text
sub literal { return defined $_[0] ? "'$_[0]'" : 'NULL'; }

#
# Tables
#

sub index_list
{
	my ($self, $table, %is) = @_;
	my $p = pick(@{ $self->{favourites} });
	my $l = $self->{layout};
	my @kinds = (
		'(id)', '(id)', '(id, k)', '(k, id)', '(id DESC NULLS LAST)', '(id) INCLUDE (n)', '(d)', '(o)',
		'(o comb_mssql_ops)', '(o comb_mssql_ops DESC)',
		"(id) WHERE id <@ '$p'", "(k) WHERE id <@ '$p'", "(n) WHERE '$p'::tstzrange @> id",
		"(id) WHERE NOT id <@ '$p'", "(o) WHERE comb_created(id, '$p')", "(k) WHERE comb_created(o, '$p', '$l')",
		"((id <@ '$p'))", "(comb_created(o, '$p', '$l'), id)", '(comb_timestamp(id))',
		"(comb_timestamp(o, '$l'))", '((coalesce(id, o)))', '(id) WHERE k < 5',
		'USING hash (id)', 'USING brin (id) WITH (pages_per_range = 1)',
		'USING brin (o) WITH (pages_per_range = 2)');

	push @kinds, 'USING gist (id)', 'USING gist (id, p)' if $self->{server}{btree_gist};
	push @kinds, 'USING brin (id uuid_minmax_multi_ops) WITH (pages_per_range = 1)',
	  'USING brin (id uuid_bloom_ops) WITH (pages_per_range = 1)';
	push @kinds, '(n) UNIQUE' unless $is{partitioned} || $is{arbiter};
	push @kinds, ($self->{order} eq 'SQL Server' ? '(o comb_mssql_ops, n)' : '(o, n)') x 4;
	@kinds = grep { /brin/ } @kinds if $is{brin};
	return map { /^(.*) UNIQUE$/ ? "CREATE UNIQUE INDEX ON $table $1" : "CREATE INDEX ON $table $_" }
	  map { pick(@kinds) } 1 .. ($table eq 't1' ? 5 : from_to(1, 3));
}

# A unique index for ON CONFLICT.  The same number stands once among the rows of
# its predicate.
sub arbiter
{
	my ($self, $t) = @_;
	my $p = pick(@{ $self->{favourites} });
	my ($key, $layout) = @{ pick([ 'id', 'uuidv7' ], [ 'o', $self->{layout} ]) };
	my $predicate = pick("comb_created($key, '$p', '$layout')",
		$key eq 'id' ? ("id <@ '$p'", "'$p'::tstzrange @> id") : ());

	$self->{arbiters}{$t} = { written => $predicate, brute => "fuzz.brute($key, '$p', '$layout')" };
	return "CREATE UNIQUE INDEX ON $t (n) WHERE $predicate";
}

# Bounds of two to four ranges of keys
sub range_bounds
{
	my ($self, $function, $last) = @_;
	my @at;

	# Nearer ones could be the same in units of the layout.
	for my $at (sort { $a <=> $b } map { $self->near } 1 .. from_to(1, 3))
	{
		push @at, $at if !@at || $at > $at[-1] + 1_000_000;
	}
	return ('MINVALUE', (map { sprintf($function, instant($_)) } @at), $last);
}

sub range_partitions
{
	my ($self, $table, $function, $foreign) = @_;
	my @bounds = $self->range_bounds($function, 'MAXVALUE');
	my @ddl;

	# Without the last range some keys go to the default partition.
	pop @bounds if @bounds > 3 && one_in(2);
	for my $i (1 .. $#bounds)
	{
		my $values = "FOR VALUES FROM ($bounds[$i - 1]) TO ($bounds[$i])";
		my $name   = "${table}_$i";

		if ($foreign && $i == 1)
		{
			# PostgreSQL does not check the rows of a foreign partition.
			# This one gets the rows of its range and no others.
			my $where = "id < $bounds[$i]";
			$where = 'id IS NOT NULL' if $bounds[$i] eq 'MAXVALUE';
			push @{ $self->{far} }, "CREATE TABLE $name AS SELECT * FROM base WHERE $where",
			  "CREATE INDEX ON $name (id)";
			push @ddl, "CREATE FOREIGN TABLE $name PARTITION OF $table $values SERVER "
			  . pick('bare', 'same') . " OPTIONS (schema_name '$self->{schema}', table_name '$name')";
			$self->{filled}{$table} = "NOT coalesce($where, false)";
		}
		elsif (one_in(4))
		{
			# Its columns are in another order than the parent's.
			push @ddl, "CREATE TABLE $name (x text, p tstzrange, g boolean, o uuid, k int, id uuid, n int, d fuzz.key)",
			  "ALTER TABLE $name DROP COLUMN x", "ALTER TABLE $table ATTACH PARTITION $name $values";
		}
		elsif (one_in(4))
		{
			push @ddl, "CREATE TABLE $name PARTITION OF $table $values PARTITION BY LIST (k)",
			  "CREATE TABLE ${name}_few PARTITION OF $name FOR VALUES IN (0, 1, 2)",
			  "CREATE TABLE ${name}_rest PARTITION OF $name DEFAULT";
		}
		else
		{
			push @ddl, "CREATE TABLE $name PARTITION OF $table $values";
		}
	}
	push @ddl, "CREATE TABLE ${table}_default PARTITION OF $table DEFAULT";
	return @ddl;
}

# Each returns the statements that make a table, without its rows.
my %make = (
	heap => sub {
		my ($self, $t) = @_;
		return ("CREATE TABLE $t (" . $self->table_columns . ')', $self->index_list($t, arbiter => 1), $self->arbiter($t));
	},
	brin => sub {
		my ($self, $t) = @_;
		return ("CREATE TABLE $t (" . $self->table_columns . ') WITH (fillfactor = 30)',
			$self->index_list($t, brin => 1));
	},
	heap2 => sub {
		my ($self, $t) = @_;
		return ("CREATE TABLE $t ($columns) USING heap2", $self->index_list($t, arbiter => 1), $self->arbiter($t));
	},
	range => sub {
		my ($self, $t) = @_;
		return ("CREATE TABLE $t ($columns) PARTITION BY RANGE (id)",
			$self->range_partitions($t, "comb_min('%s')"),
			$self->index_list($t, partitioned => 1));
	},
	range_other => sub {
		my ($self, $t) = @_;
		my $order = $self->{order} eq 'SQL Server' ? 'o comb_mssql_ops' : 'o';
		my $bound = $self->{order} eq 'none' ? "comb_min('%s')" : "comb_min('%s', '$self->{layout}')";
		return ("CREATE TABLE $t ($columns) PARTITION BY RANGE ($order)",
			$self->range_partitions($t, $bound), $self->index_list($t, partitioned => 1));
	},
	range_foreign => sub {
		my ($self, $t) = @_;
		return ("CREATE TABLE $t ($columns) PARTITION BY RANGE (id)",
			$self->range_partitions($t, "comb_min('%s')", 1));
	},
	list => sub {
		my ($self, $t) = @_;
		return (
			"CREATE TABLE $t ($columns) PARTITION BY LIST (k)",
			"CREATE TABLE ${t}_1 PARTITION OF $t FOR VALUES IN (NULL, 0, 1, 2, 3)",
			"CREATE TABLE ${t}_2 PARTITION OF $t FOR VALUES IN (4, 5, 6) PARTITION BY RANGE (id)",
			$self->range_partitions("${t}_2", "comb_min('%s')"),
			"CREATE TABLE ${t}_3 PARTITION OF $t DEFAULT",
			$self->index_list($t, partitioned => 1));
	},
	hash => sub {
		my ($self, $t) = @_;
		my $of = pick('id', 'k', 'id, k');
		return (
			"CREATE TABLE $t ($columns) PARTITION BY HASH ($of)",
			(map { "CREATE TABLE ${t}_$_ PARTITION OF $t FOR VALUES WITH (MODULUS 3, REMAINDER $_)" } 0 .. 2),
			$self->index_list($t, partitioned => 1));
	},
	# A trigger sends each row to a child whose constraints it meets.
	inherit => sub {
		my ($self, $t) = @_;
		my $p = pick(@{ $self->{favourites} });
		my $at = instant($self->near);
		$self->{children_period}{$t} = $p;
		return (
			"CREATE TABLE $t ($columns)",
			"CREATE TABLE ${t}_1 (CHECK (id <@ '$p' IS TRUE)) INHERITS ($t)",
			"CREATE TABLE ${t}_2 (CHECK (id < comb_min('$at') IS TRUE)) INHERITS ($t)",
			"CREATE TABLE ${t}_3 (CHECK (id >= comb_min('$at')), CHECK (NOT id <@ '$p')) INHERITS ($t)",
			"CREATE FUNCTION ${t}_route() RETURNS trigger LANGUAGE plpgsql AS \$\$BEGIN
	IF NEW.id <@ '$p' THEN INSERT INTO ${t}_1 SELECT NEW.*;
	ELSIF NEW.id < comb_min('$at') THEN INSERT INTO ${t}_2 SELECT NEW.*;
	ELSIF NEW.id IS NOT NULL THEN INSERT INTO ${t}_3 SELECT NEW.*;
	ELSE RETURN NEW; END IF; RETURN NULL; END\$\$",
			"CREATE TRIGGER route BEFORE INSERT ON $t FOR EACH ROW EXECUTE FUNCTION ${t}_route()",
			map { $self->index_list("${t}_$_") } 1 .. 3);
	},
	foreign_bare => sub { my ($self, $t) = @_; return $self->foreign_table($t, 'bare'); },
	foreign_same => sub { my ($self, $t) = @_; return $self->foreign_table($t, 'same'); });

sub foreign_table
{
	my ($self, $t, $server) = @_;
	push @{ $self->{far} }, "CREATE TABLE $t AS SELECT * FROM base", $self->index_list($t);
	$self->{filled}{$t} = 'false';
	my $options = one_in(3) ? ", use_remote_estimate 'true'" : '';
	return "CREATE FOREIGN TABLE $t ($columns) SERVER $server OPTIONS (schema_name '$self->{schema}'$options)";
}

# Columns of a table whose "g" the clause may compute
sub table_columns
{
	my ($self) = @_;
	return $columns if one_in(2);
	my $with = $columns;
	$with =~ s/g boolean/g boolean GENERATED ALWAYS AS (id <@ '$self->{favourites}[0]') STORED/;
	return $with;
}

# Makes a table, and puts a view, a security barrier, row security or nothing
# before it.  "union" is a view of two tables.
sub table
{
	my ($self, $name, $kind, $before) = @_;
	my %shape = (name => $name, kind => "$kind $before", where => 'true', writable => 1);
	my $t = $before eq 'view' || $before eq 'barrier' || $before eq 'matview' ? "${name}_t" : $name;
	my $p = pick(@{ $self->{favourites} });
	my @ddl;

	if ($before eq 'union')
	{
		my $other = pick('heap', 'range', 'foreign_bare');
		@ddl = ($make{$kind}->($self, "${name}_a"), $make{$other}->($self, "${name}_b"));
		push @ddl, map { $self->fill("${name}_$_", \@ddl) } 'a', 'b';
		push @ddl, "CREATE VIEW $name AS SELECT * FROM ${name}_a WHERE k < 5"
		  . " UNION ALL SELECT * FROM ${name}_b WHERE NOT k < 5";
		$shape{where} = 'k IS NOT NULL';
		$shape{writable} = 0;
	}
	else
	{
		@ddl = $make{$kind}->($self, $t);
		push @ddl, $self->fill($t, \@ddl);
	}
	if ($before eq 'view' || $before eq 'barrier')
	{
		my $with = $before eq 'barrier' ? 'WITH (security_barrier)' : '';
		($shape{where}, my $where) = @{ pick(
				[ 'k IS DISTINCT FROM 3', 'fuzz.visible(k)' ],
				[ "k IS DISTINCT FROM 3 AND fuzz.brute(id, '$p') IS NOT FALSE", "fuzz.visible(k) AND (id <@ '$p') IS NOT FALSE" ],
				[ "k IS DISTINCT FROM 3 AND fuzz.brute(id, '$p')", "fuzz.visible(k) AND id <@ '$p'" ]) };
		push @ddl, "CREATE VIEW $name $with AS SELECT n, id, d, k, o, p, g FROM $t WHERE $where";
	}
	elsif ($before eq 'matview')
	{
		push @ddl, "CREATE MATERIALIZED VIEW $name AS SELECT * FROM $t", $self->index_list($name);
		$shape{writable} = 0;
	}
	elsif ($before eq 'row security')
	{
		push @ddl, "ALTER TABLE $name ENABLE ROW LEVEL SECURITY",
		  "CREATE POLICY leaky ON $name USING (fuzz.visible(k)) WITH CHECK (true)";
		$shape{where} = 'k IS DISTINCT FROM 3';
		if (one_in(3))
		{
			push @ddl, "CREATE POLICY period ON $name AS RESTRICTIVE USING (id <@ '$p' OR k > 4) WITH CHECK (true)";
			$shape{where} .= " AND (fuzz.brute(id, '$p') OR k > 4)";
		}
		if (one_in(3))
		{
			push @ddl, "CREATE POLICY label ON $name AS RESTRICTIVE USING (comb_created(o, '$p', '$self->{layout}') OR k < 8) WITH CHECK (true)";
			$shape{where} .= " AND (fuzz.brute(o, '$p', '$self->{layout}') OR k < 8)";
		}
		$shape{reader} = 1;
	}
	$shape{ddl} = \@ddl;
	$self->{shapes}{$name} = \%shape;
	return;
}

# Inserts the rows in a random order.  Most tables then get statistics, some also
# a visibility map.
sub fill
{
	my ($self, $t, $ddl) = @_;
	my $generated = grep { /^CREATE TABLE \Q$t\E \(.* GENERATED / } @$ddl;
	my $list = join(', ', grep { !($generated && $_ eq 'g') } @names);
	my $where = $self->{filled}{$t} || 'true';
	my $order = pick('id', 'id', 'n', 'o', 'k, id');
	my @fill;

	push @fill, "INSERT INTO $t ($list) SELECT $list FROM base WHERE $where ORDER BY $order" if $where ne 'false';
	push @fill, pick("ANALYZE $t", "ANALYZE $t", "VACUUM ANALYZE $t") unless one_in(4);
	pop @fill if @fill && $where eq 'false' && $fill[-1] =~ /VACUUM/;
	return @fill;
}

sub tables
{
	my ($self) = @_;
	my @all = sort keys %make;
	my $i = 0;
	my $name = sub { return 't' . ++$i; };

	for my $kind ('heap', 'brin', 'range', pick('list', 'hash'), pick('inherit', 'range_other'),
		pick('foreign_bare', 'foreign_same'), pick('heap2', 'range_foreign'))
	{
		$self->table($name->(), $kind, '');
	}
	$self->table($name->(), pick(grep { !/foreign/ } @all), 'row security');
	$self->table($name->(), pick(@all), 'barrier');
	$self->table($name->(), pick(grep { !/foreign/ } @all), pick('view', 'union', 'union', 'matview'));
	return;
}

#
# Expressions.  A scope is the list of aliases that may be named; "w" is the table
# of periods.
#

# A parameter, with a value for each execution
sub parameter
{
	my ($q, $declared, $type, $value) = @_;
	push @{ $q->{parameters} }, { declared => $declared, type => $type, values => [ map { $value->() } 1 .. $q->{executions} ] };
	return '$' . scalar(@{ $q->{parameters} });
}

sub period
{
	my ($self, $q, @scope) = @_;
	my @own = grep { $_ ne 'w' } @scope;
	my ($w) = grep { $_ eq 'w' } @scope;
	my $constant = literal($self->constant_period) . '::tstzrange';

	if ($q->{executions} && one_in(2))
	{
		return $self->parameter_period($q);
	}
	if ($w && !one_in(5))
	{
		return pick_weighted(
			12 => 'w.p',
			4 => 'w.q::tstzrange',
			1 => "w.p * $constant",
			1 => 'tstzrange(lower(w.p), NULL)',
			1 => "coalesce(w.p, $constant)",
			1 => "CASE WHEN w.i > 4 THEN w.p ELSE $constant END",
			1 => 'range_merge(w.p, w.p)',
			1 => 'tstzrange(w.since, w.until)',
			1 => 'fuzz.cheap_period(w.p)',
			1 => 'fuzz.expensive_period(w.p)',
			1 => 'fuzz.inlined_period(w.p)',
			1 => 'w.p::fuzz.span::tstzrange');
	}
	my ($a, $b) = $self->two_instants;
	my $bounds = pick('[)', '[)', '[]', '(]', '()');
	return pick_weighted(
		30 => $constant,
		4 => "tstzrange('$a', '$b', '$bounds')",
		4 => "tstzrange('$a'::timestamptz + (now() - now()), '$b'::timestamptz, '$bounds')",
		2 => "tstzrange(now() - (now() - '$a'), NULL)",
		2 => "tstzrange(NULL, current_setting('fuzz.at')::timestamptz)",
		2 => "tstzrange(current_setting('fuzz.at')::timestamptz, NULL)",
		1 => 'NULL::tstzrange',
		4 => '(SELECT p FROM during WHERE i = ' . from_to(1, $self->{periods}) . ')',
		1 => '(SELECT p FROM during WHERE i < 0)',
		2 => @own ? '(SELECT p FROM during WHERE i = ' . pick(@own) . '.k)' : $constant,
		4 => @own ? pick(@own) . '.p' : $constant,
		1 => @own ? "CASE WHEN " . pick(@own) . ".k > 4 THEN $constant END" : $constant,
		1 => "fuzz.volatile_period($constant)",
		1 => "fuzz.inlined_period($constant)",
		1 => "fuzz.expensive_period($constant)",
		1 => "fuzz.cheap_period($constant)",
		2 => "$constant\::fuzz.span::tstzrange");
}

sub parameter_period
{
	my ($self, $q) = @_;
	my $value = sub { return one_in(12) ? undef : $self->constant_period; };
	my $type = pick('tstzrange', 'tstzrange', 'comb_period');

	return pick_weighted(
		10 => sub { return parameter($q, $type, $type, $value) . '::tstzrange'; },
		2 => sub { return 'tstzrange(' . parameter($q, 'timestamptz', 'timestamptz', sub { return instant($self->near) }) . ', NULL)'; },
		2 => sub { return 'tstzrange(NULL, ' . parameter($q, 'timestamptz', 'timestamptz', sub { return instant($self->near) }) . ", '[]')"; },
		1 => sub { return '(SELECT p FROM during WHERE i = ' . parameter($q, 'int', 'int', sub { return from_to(1, $self->{periods}) }) . ')'; },
		1 => sub { return 'fuzz.inlined_period(' . parameter($q, 'tstzrange', 'tstzrange', $value) . ')'; })->();
}

# A key and the layout to read it in
sub key
{
	my ($self, $q, @scope) = @_;
	my @own = grep { $_ ne 'w' } @scope;

	return ($self->key_value, '') unless @own;
	my $x = pick(@own);
	my $y = pick(@own);
	return @{ pick_weighted(
			40 => [ "$x.id", '' ],
			12 => [ "$x.o", $self->{layout} ],
			6 => [ "$x.d", '' ],
			3 => [ "$x.id", pick('ulid', 'rtcomb_postgresql', 'uuidv6', $self->{layout}) ],
			1 => [ "$x.d", $self->{layout} ],
			1 => [ "coalesce($x.id, $y.o)", '' ],
			1 => [ "CASE WHEN $x.k > 4 THEN $y.id END", '' ],
			1 => [ "$x.id::text::uuid", '' ],
			1 => [ $self->key_value, '' ]) };
}

# One clause on a period
sub clause
{
	my ($self, $q, @scope) = @_;
	my ($key, $layout) = $self->key($q, @scope);
	my $period = $self->period($q, @scope);

	if ($layout)
	{
		my $label = "'$layout'";
		$label = pick("'$layout'::text", 'w.l') if one_in(8) && grep { $_ eq 'w' } @scope;
		return both("comb_created($key, $period, $label)", "fuzz.brute($key, $period, $label)");
	}
	if (one_in(6))
	{
		my ($a, $b) = ("lower($period)", "upper($period)");
		if (one_in(2) || $period =~ /SELECT|volatile/)
		{
			($a, $b) = map { one_in(6) ? 'NULL' : "'$_'" } $self->two_instants;
			$a = parameter($q, 'timestamptz', 'timestamptz', sub { return one_in(9) ? undef : '2025-12-01 00:00:00+00' })
			  if $q->{executions} && one_in(2);
			$b = parameter($q, 'timestamptz', 'timestamptz', sub { return one_in(9) ? undef : '2026-06-01 00:00:00+00' })
			  if $q->{executions} && one_in(2);
		}
		elsif (one_in(2) && grep { $_ eq 'w' } @scope)
		{
			($a, $b) = ('w.since', 'w.until');
		}
		return both("comb_during($key, $a, $b)", "fuzz.brute_during($key, $a, $b)");
	}

	# PostgreSQL has to find the type of this operand.
	my $bare = $period;
	$bare =~ s/^('[^']*'|\$\d+)::tstzrange$/$1/ if one_in(2) && !($period =~ /^\$(\d+)/ && $period !~ /^\$\d+::tstzrange$/);
	my $written = pick_weighted(
		12 => "$key <@ $bare",
		4 => "$bare @> $key",
		1 => "comb_contained($key, $period)",
		1 => "comb_contains($period, $key)",
		1 => "comb_created($key, $period, 'uuidv7')",
		8 => "comb_created($key, $bare)",
		1 => "$key <@ $period\::comb_period",
		1 => "$key <@ $period\::fuzz.span",
		1 => "$period\::fuzz.span @> $key",
		1 => "$key <@ ANY (ARRAY[$period, 'empty']::comb_period[])",
		1 => "($key >= comb_range_min($period) AND $key <= comb_range_max($period) AND $key <@ $period)");

	return both("($written)", "fuzz.brute($key, $period)");
}

# A condition of another kind, to combine clauses on periods with
sub other_clause
{
	my ($self, @scope) = @_;
	my @own = grep { $_ ne 'w' } @scope;
	return pick('true', 'NULL::boolean', '(w.i < 5)') unless @own;
	my $x = pick(@own);
	my $at = instant($self->near);

	return '(' . pick(
		"$x.k < 5", "$x.k IS NULL", ($self->{server}{prunes_rightly} ? ("$x.id IS NULL", "$x.id IS NOT NULL") : ()),
		"$x.n % 3 = 0", 'NULL::boolean',
		'true', "$x.id > comb_min('$at')", "$x.id < comb_max('$at')", "comb_timestamp($x.id) < '$at'",
		"$x.g", "$x.k = 4", "$x.p @> '$at'::timestamptz",
		map { "$x.id BETWEEN comb_range_min('$_') AND comb_range_max('$_')" } pick(@{ $self->{favourites} })) . ')';
}

# A sub-select with a clause, about the rows of the same number or group.  A
# change of a foreign table would be seen by sub-selects on foreign tables.
sub sub_select
{
	my ($self, $q, @scope) = @_;
	my ($x) = pick(@scope);
	my $e = 'e' . ++$q->{sub_selects};
	my @shapes = map { $self->{shapes}{$_} } sort keys %{ $self->{shapes} };
	@shapes = grep { $_->{kind} !~ /foreign|union/ } @shapes if $q->{change};
	my $from = $self->relation($q, $e, pick(@shapes));
	my $clause = one_in(4) ? $self->clause($q, $e, $x) : $self->clause($q, $e);
	my $same = $x eq 'w' ? "$e.k = w.i" : pick("$e.k = $x.k", "$e.n = $x.n", "$e.n = $x.n + 1");
	my $number = $x eq 'w' ? 'w.i' : "$x.n";

	return pick_weighted(
		4 => "EXISTS (SELECT FROM $from WHERE $same AND $clause)",
		4 => "(NOT EXISTS (SELECT FROM $from WHERE $same AND $clause))",
		1 => "EXISTS (SELECT FROM $from WHERE $clause)",
		1 => "($number IN (SELECT $e.n FROM $from WHERE $clause))",
		1 => "((SELECT count(*) FROM $from WHERE $same AND $clause) > " . from_to(0, 2) . ')');
}

sub condition
{
	my ($self, $q, $depth, @scope) = @_;

	return $self->sub_select($q, @scope) if one_in(14);
	if ($depth <= 0 || one_in(3))
	{
		return one_in(5) && $depth < 2 ? $self->other_clause(@scope) : $self->clause($q, @scope);
	}
	my $next = sub { return $self->condition($q, $depth - 1, @scope); };
	return pick_weighted(
		8 => sub { return '(' . $next->() . ' AND ' . $next->() . ')'; },
		6 => sub { return '(' . $next->() . ' OR ' . $next->() . ')'; },
		6 => sub { return '(NOT ' . $next->() . ')'; },
		2 => sub { return '(CASE WHEN ' . $next->() . ' THEN ' . $next->() . ' ELSE ' . $next->() . ' END)'; },
		1 => sub { return '(CASE ' . $next->() . ' WHEN true THEN ' . $next->() . ' END)'; },
		1 => sub { return '(' . $next->() . ' IS ' . pick('TRUE', 'NOT TRUE', 'FALSE', 'NOT FALSE', 'UNKNOWN', 'NOT UNKNOWN') . ')'; },
		1 => sub { return '(' . $next->() . ' = ' . pick('true', 'false', $next->()) . ')'; },
		1 => sub { return 'coalesce(' . $next->() . ', ' . pick('true', 'false') . ')'; },
		1 => sub { return '(' . $next->() . ' IS DISTINCT FROM ' . $next->() . ')'; })->();
}

#
# Queries
#

# A table under an alias
sub relation
{
	my ($self, $q, $alias, $shape) = @_;
	# The first table is a heap with many indexes.  It comes more often.
	$shape ||= $self->{shapes}{ pick('t1', 't1', sort keys %{ $self->{shapes} }) };
	$q->{shapes}{ $shape->{name} } = 1;
	$q->{reader} = 1 if $shape->{reader};
	my $rows = $shape->{where} eq 'true' ? 'base' : "(SELECT * FROM base WHERE $shape->{where})";
	return both($shape->{name}, $rows) . " $alias";
}

my %queries = (
	filter => sub {
		my ($self, $q) = @_;
		return 'SELECT x.n FROM ' . $self->relation($q, 'x') . ' WHERE ' . $self->condition($q, 2, 'x');
	},
	values => sub {
		my ($self, $q) = @_;
		return 'SELECT x.n, ' . $self->condition($q, 1, 'x') . ', ' . $self->condition($q, 1, 'x')
		  . ' FROM ' . $self->relation($q, 'x') . (one_in(2) ? ' WHERE ' . $self->condition($q, 1, 'x') : '');
	},
	join_periods => sub {
		my ($self, $q) = @_;
		my $kind = pick('JOIN', 'JOIN', 'LEFT JOIN', 'RIGHT JOIN');
		my @sides = ('during w', $self->relation($q, 'x'));
		@sides = reverse @sides if one_in(2);
		return "SELECT x.n, w.i FROM $sides[0] $kind $sides[1] ON " . $self->condition($q, 1, 'x', 'w')
		  . (one_in(3) ? ' WHERE ' . $self->condition($q, 1, 'x', 'w') : '');
	},
	full_join => sub {
		my ($self, $q) = @_;
		return 'SELECT x.n, w.i FROM during w FULL JOIN ' . $self->relation($q, 'x') . ' ON x.k = w.i AND '
		  . $self->condition($q, 1, 'x', 'w') . (one_in(2) ? ' WHERE ' . $self->condition($q, 1, 'x') : '');
	},
	join_tables => sub {
		my ($self, $q) = @_;
		my $kind = pick('JOIN', 'LEFT JOIN', 'LEFT JOIN', 'FULL JOIN');
		# PostgreSQL 18 removes joins of a table with itself.
		my $x = $self->relation($q, 'x');
		my $y = one_in(2) ? $x =~ s/x$/y/r : $self->relation($q, 'y');
		return "SELECT x.n, y.n FROM $x $kind $y ON x.n = y.n AND "
		  . $self->condition($q, 1, 'x', 'y') . (one_in(2) ? ' WHERE ' . $self->condition($q, 1, 'x', 'y') : '');
	},
	nullable => sub {
		my ($self, $q) = @_;
		return 'SELECT w.i, x.n, y.n FROM during w LEFT JOIN (' . $self->relation($q, 'x') . ' JOIN '
		  . $self->relation($q, 'y') . ' ON x.n = y.n AND ' . $self->condition($q, 1, 'x', 'y') . ') ON '
		  . 'x.k = w.i AND ' . $self->condition($q, 1, 'x', 'w') . ' WHERE ' . $self->condition($q, 1, 'x', 'y', 'w');
	},
	lateral => sub {
		my ($self, $q) = @_;
		my $inner = pick(
			'SELECT x.n FROM %s WHERE %s ORDER BY x.n LIMIT 3',
			'SELECT x.n FROM %s WHERE %s ORDER BY x.id DESC, x.n LIMIT 2',
			'SELECT count(*) AS n FROM %s WHERE %s',
			'SELECT x.n FROM %s WHERE %s OFFSET 0',
			'SELECT x.n FROM %s WHERE %s');
		my $join = pick('CROSS JOIN LATERAL (%s) s', 'LEFT JOIN LATERAL (%s) s ON true',
			'LEFT JOIN LATERAL (%s) s ON s.n % 2 = 0');
		$inner = sprintf($inner, $self->relation($q, 'x'), $self->condition($q, 1, 'x', 'w'));
		$join =~ s/%s/$inner/;
		return "SELECT w.i, s.n FROM during w $join";
	},
	lateral_rows => sub {
		my ($self, $q) = @_;
		return 'SELECT x.n, s.i FROM ' . $self->relation($q, 'x') . ' LEFT JOIN LATERAL (SELECT w.i FROM during w WHERE '
		  . $self->condition($q, 1, 'x', 'w') . ' ORDER BY w.i LIMIT 2) s ON true';
	},
	exists => sub {
		my ($self, $q) = @_;
		my $not = pick('', 'NOT ');
		return one_in(2)
		  ? 'SELECT x.n FROM ' . $self->relation($q, 'x') . " WHERE ${not}EXISTS (SELECT FROM during w WHERE " . $self->condition($q, 1, 'x', 'w') . ')'
		  : "SELECT w.i FROM during w WHERE ${not}EXISTS (SELECT FROM " . $self->relation($q, 'x') . ' WHERE ' . $self->condition($q, 1, 'x', 'w') . ')';
	},
	in => sub {
		my ($self, $q) = @_;
		my $not = pick('', '', 'NOT ');
		return 'SELECT x.n FROM ' . $self->relation($q, 'x') . " WHERE x.n ${not}IN (SELECT y.n FROM "
		  . $self->relation($q, 'y') . ' WHERE ' . $self->condition($q, 1, 'y') . ') AND ' . $self->condition($q, 1, 'x');
	},
	aggregate => sub {
		my ($self, $q) = @_;
		return pick_weighted(
			3 => sub { return 'SELECT count(*), min(x.n), sum(x.n) FROM ' . $self->relation($q, 'x') . ' WHERE ' . $self->condition($q, 2, 'x'); },
			2 => sub { return 'SELECT x.k, count(*) FILTER (WHERE ' . $self->condition($q, 1, 'x') . ') FROM ' . $self->relation($q, 'x')
				  . ' WHERE ' . $self->condition($q, 1, 'x') . ' GROUP BY ' . pick('x.k', 'ROLLUP (x.k)'); },
			1 => sub { return 'SELECT x.k, count(*) FROM ' . $self->relation($q, 'x') . ' GROUP BY x.k HAVING bool_or(' . $self->condition($q, 1, 'x') . ')'; },
			1 => sub { return 'SELECT DISTINCT x.k FROM ' . $self->relation($q, 'x') . ' WHERE ' . $self->condition($q, 2, 'x'); },
			1 => sub { return 'SELECT w.i, count(x.n), max(x.n) FROM during w LEFT JOIN ' . $self->relation($q, 'x') . ' ON '
				  . $self->condition($q, 1, 'x', 'w') . ' GROUP BY w.i'; })->();
	},
	grouping => sub {
		my ($self, $q) = @_;
		# Only a clause that is replaced can be mistaken: that is any clause on t3, which
		# is partitioned, and few clauses on the other tables.
		my $from = $self->relation($q, 'x', one_in(3) ? undef : $self->{shapes}{t3});
		my ($c, $d) = ('', 'x.k');
		# PostgreSQL before 18 does not recognize a AND b in NOT (a AND b), nor a
		# constant, and takes each copy of a sub-select for another one.
		do { $c = $self->clause($q, 'x'); } until $c =~ /\bx\./ && as_written($c) !~ / AND |SELECT/;
		my $where = one_in(2) ? ' WHERE ' . $self->condition($q, 1, 'x') : '';
		my $sets = pick("ROLLUP ($c)", "CUBE ($c, $d)", "ROLLUP ($d, $c)", "GROUPING SETS (($c), ($d))", "GROUPING SETS (($c), ())");
		my $having = pick('', '', " HAVING $c", " HAVING NOT $c", " HAVING $c IS NOT TRUE AND count(*) > 1");
		return "SELECT $c, NOT $c, coalesce($c, $c IS NULL), count(*) FROM $from$where GROUP BY $sets$having";
	},
	ordered => sub {
		my ($self, $q) = @_;
		my $way = pick('', ' DESC');
		my $order = pick("x.id$way, x.n", "x.n$way", "x.o USING #># , x.n", "x.id$way NULLS LAST, x.n");
		return 'SELECT x.n FROM ' . $self->relation($q, 'x') . ' WHERE ' . $self->condition($q, 1, 'x')
		  . " ORDER BY $order LIMIT " . from_to(1, 30) . ' OFFSET ' . pick(0, 0, 5);
	},
	set => sub {
		my ($self, $q) = @_;
		return 'SELECT x.n FROM ' . $self->relation($q, 'x') . ' WHERE ' . $self->condition($q, 1, 'x') . pick(' UNION ALL ', ' EXCEPT ', ' INTERSECT ')
		  . 'SELECT y.n FROM ' . $self->relation($q, 'y') . ' WHERE ' . $self->condition($q, 1, 'y');
	},
	outside => sub {
		my ($self, $q) = @_;
		# The planner can push the condition into the inner query.
		my $inside = pick('SELECT * FROM %s', 'SELECT * FROM %s OFFSET 0', 'SELECT DISTINCT ON (n) * FROM %s ORDER BY n',
			'SELECT *, row_number() OVER (PARTITION BY n) FROM %s', 'SELECT n, id, d, k, o, p, g FROM %s UNION ALL SELECT n, id, d, k, o, p, g FROM %s');
		$inside =~ s/%s/$self->relation($q, 'x')/ge;
		my $from = $inside;
		return one_in(3)
		  ? 'WITH s AS ' . pick('', 'MATERIALIZED ', 'NOT MATERIALIZED ') . "($inside) SELECT s.n FROM s WHERE " . $self->condition($q, 2, 's')
		  : "SELECT s.n FROM ($inside) s WHERE " . $self->condition($q, 2, 's');
	},
	change => sub {
		my ($self, $q) = @_;
		my $shape = $self->{shapes}{ pick(grep { $self->{shapes}{$_}{writable} } sort keys %{ $self->{shapes} }) };
		$q->{change} = 1;
		my $x = $self->relation($q, 'x', $shape);
		# A nested loop scans a foreign table again for each period, and then finds
		# and changes the rows that it has changed before, whatever the clause is.
		if (one_in(3) && $shape->{kind} !~ /foreign/)
		{
			my $c = $self->condition($q, 1, 'x', 'w');
			return both('', 'SELECT DISTINCT n FROM (')
			  . both(one_in(2) ? "DELETE FROM $shape->{name} x USING during w WHERE" : "UPDATE $shape->{name} x SET k = x.k FROM during w WHERE", 'SELECT x.n FROM ')
			  . both('', as_brute($x) . ', during w WHERE') . " $c" . both(' RETURNING x.n', ') s');
		}
		my $c = $self->condition($q, 2, 'x');
		return both(one_in(2) ? "DELETE FROM $shape->{name} x WHERE" : "UPDATE $shape->{name} x SET k = x.k WHERE", 'SELECT x.n FROM ' . as_brute($x) . ' WHERE')
		  . " $c" . both(' RETURNING x.n', '');
	},
	conflict => sub {
		my ($self, $q) = @_;
		my $t = pick(sort keys %{ $self->{arbiters} });
		my $arbiter = $self->{arbiters}{$t};
		my $from = $self->relation($q, 'x');
		my $c = $self->condition($q, 1, 'x');
		# Rows within the predicate are there already.
		my ($do, $also) = @{ pick([ 'NOTHING', " AND ($arbiter->{brute}) IS NOT TRUE" ], [ 'UPDATE SET k = excluded.k', '' ]) };

		# PostgreSQL refuses a new row that the policies for SELECT hide.
		my $visible = $self->{shapes}{$t} && $self->{shapes}{$t}{where};
		$c .= " AND x.n IN (SELECT n FROM base WHERE $visible)" if $visible;

		$q->{change} = 1;
		$q->{shapes}{$t} = 1 if $self->{shapes}{$t};
		return both("INSERT INTO $t (n, id, d, k, o, p)", '') . ' SELECT x.n' . both(', x.id, x.d, x.k, x.o, x.p', '')
		  . " FROM $from WHERE $c" . both(" ON CONFLICT (n) WHERE $arbiter->{written} DO $do RETURNING n", $also);
	},
	# The planner simplifies the WHERE of an EXISTS, and the constraints of children,
	# with the number of a table of another query.
	misplaced => sub {
		my ($self, $q) = @_;
		my @all = map { $self->{shapes}{$_} } sort keys %{ $self->{shapes} };
		my $x = pick(@all);
		my @others = grep { $_ != $x } @all;
		my @children = grep { $_->{kind} eq 'inherit ' } @others;
		my $shape = one_in(4) || !@children ? pick(@others) : $children[0];
		my $p = $self->{children_period}{ $shape->{name} };
		my ($from, $with) = ($self->relation($q, 'x', $x), $self->relation($q, 'y', $shape));

		return "SELECT x.n FROM $from WHERE x.k = 4 OR " . pick('', 'NOT ')
		  . "EXISTS (SELECT FROM $with WHERE y.n = x.n + 1 AND " . $self->clause($q, 'y') . ')'
		  if one_in(2);
		# The condition excludes the child that has no key of the period.
		my $c = $p && !one_in(4) ? "y.id BETWEEN comb_range_min('$p') AND comb_range_max('$p')" : $self->clause($q, 'y');
		($from, $with) = ($with, $from) if one_in(3);
		return "SELECT x.n, y.n FROM $from JOIN $with ON y.n = x.n + 1 WHERE $c";
	},
	constant => sub {
		my ($self, $q) = @_;
		return 'SELECT w.i, ' . $self->condition($q, 2, 'w') . ' FROM during w';
	});

my @settings = (
	'enable_indexscan = off',
	'enable_bitmapscan = off', 'enable_indexonlyscan = off', 'enable_nestloop = off', 'enable_hashjoin = off',
	'enable_mergejoin = off', 'enable_material = off', 'enable_sort = off', 'enable_hashagg = off',
	'enable_partition_pruning = off', 'enable_partitionwise_join = on', 'enable_partitionwise_aggregate = on',
	'constraint_exclusion = on', 'from_collapse_limit = 1', 'join_collapse_limit = 1', 'random_page_cost = 0.1');

sub query
{
	my ($self) = @_;
	my %q = (executions => rand() < 0.4 ? from_to(1, 3) : 0, parameters => []);
	my $major = $self->{server}{major};

	$q{kind} = pick_weighted(
		14 => 'filter', 6 => 'values', 8 => 'join_periods', 2 => 'full_join', 6 => 'join_tables', 4 => 'nullable', 5 => 'lateral',
		2 => 'lateral_rows', 5 => 'exists', 3 => 'in', 5 => 'aggregate', 4 => 'grouping', 2 => 'conflict', 5 => 'ordered', 3 => 'set', 6 => 'outside',
		5 => 'change', 5 => 'misplaced', 1 => 'constant');
	# A query without a clause on periods tests nothing, unless it excludes children.
	do
	{
		@q{qw(parameters shapes reader change sub_selects)} = ([], {}, 0, 0, 0);
		$q{text} = $queries{ $q{kind} }->($self, \%q);
	} until $q{text} =~ /fuzz\.brute/ || $q{kind} eq 'misplaced';

	# The planner reads such small tables from end to end unless told otherwise.
	my @set = one_in(2) ? 'enable_seqscan = off' : ();
	push @set, map { pick(@settings) } 1 .. pick(0, 0, 1, 2, 3);
	push @set, 'enable_memoize = off' if one_in(8);
	push @set, 'plan_cache_mode = ' . pick('force_custom_plan', 'force_generic_plan', 'force_generic_plan', 'auto')
	  if $q{executions};
	push @set, ($major >= 16 ? 'debug_parallel_query' : 'force_parallel_mode') . ' = on', 'max_parallel_workers_per_gather = 2'
	  if one_in(20);
	push @set, 'parallel_setup_cost = 0', 'parallel_tuple_cost = 0', 'min_parallel_table_scan_size = 0',
	  'min_parallel_index_scan_size = 0', 'max_parallel_workers_per_gather = 2'
	  if one_in(20);
	$q{set} = \@set;
	return \%q;
}

#
# Rounds
#

sub new
{
	my ($class, $seed, $count, $server) = @_;
	my $self = bless {
		seed => $seed, server => $server, schema => "round_$seed", shapes => {}, arbiters => {}, children_period => {}, far => [], filled => {} }, $class;

	srand($seed);
	$self->{order} = pick_weighted(5 => 'SQL Server', 4 => 'PostgreSQL', 1 => 'none');
	$self->{layout} = pick(@{ $layouts{ $self->{order} } });
	$self->{instants} = [ map { ($start + from_to(0, 90 * 86_400)) * 1_000_000 + pick(0, 0, 0, from_to(0, 999) * 1000, from_to(0, 999_999)) } 1 .. 10 ];
	$self->{favourites} = [ map { $self->period_value } 1 .. 4 ];
	$self->{rows} = pick(50, 200, 300, 400, 500);
	$self->{periods} = from_to(8, 12);

	my @rows = map {
		my $id = $self->key_value;
		my $d  = one_in(3) ? $self->key_value : $id;
		my $k  = one_in(12) ? 'NULL' : from_to(0, 9);
		my $p  = one_in(8) ? undef : $self->constant_period;
		"($_, $id, $d, $k, " . $self->other_key_value . ', ' . literal($p) . '::tstzrange)'
	} 1 .. $self->{rows};
	$self->{base} = [
		"CREATE SCHEMA $self->{schema}",
		"SET search_path = $self->{schema}, public",
		"CREATE TABLE base ($columns)",
		'INSERT INTO base (n, id, d, k, o, p) VALUES ' . join(",\n", @rows),
		"UPDATE base SET g = fuzz.brute(id, '$self->{favourites}[0]')",
		'VACUUM FULL base' ];

	my @all = map { @{ $layouts{$_} } } sort keys %layouts;
	my @periods = map {
		my $p = one_in(12) ? undef : one_in(3) ? pick(@{ $self->{favourites} }) : $self->period_value;
		my $q = one_in(3) ? $self->period_value : $p;
		my ($since, $until) = map { one_in(6) ? 'NULL' : "'$_'" } $self->two_instants;
		my $l = one_in(6) ? undef : one_in(2) ? $self->{layout} : pick(@all);
		"($_, " . literal($p) . ', ' . literal($q) . ", $since, $until, " . literal($l) . ')'
	} 1 .. $self->{periods};
	$self->{during} = [
		'CREATE TABLE during (i int, p tstzrange, q comb_period, since timestamptz, until timestamptz, l text)',
		'INSERT INTO during VALUES ' . join(', ', @periods),
		(one_in(2) ? 'ANALYZE during' : ()), (one_in(3) ? 'CREATE INDEX ON during USING gist (p)' : ()) ];
	$self->{at} = instant($self->near);
	$self->tables;
	$self->{queries} = [ map { $self->query } 1 .. $count ];
	return $self;
}

sub name { my ($self) = @_; return $self->{schema}; }

# The tables of the other side of the foreign tables
sub far_script
{
	my ($self) = @_;
	return join(";\n", @{ $self->{base} }, @{ $self->{far} }) . ";\n";
}

sub near_script
{
	my ($self) = @_;
	my @ddl = map { @{ $self->{shapes}{$_}{ddl} } } sort { substr($a, 1) <=> substr($b, 1) } keys %{ $self->{shapes} };

	return join(";\n", @{ $self->{base} }, @{ $self->{during} }, @ddl,
		"GRANT USAGE ON SCHEMA $self->{schema} TO fuzz_reader",
		"GRANT ALL ON ALL TABLES IN SCHEMA $self->{schema} TO fuzz_reader") . ";\n";
}

# The statements of one query as written, one per execution, and by brute force
sub statements
{
	my ($self, $q) = @_;
	my $written = as_written($q->{text});
	my $brute   = as_brute($q->{text});
	my @parameters = @{ $q->{parameters} };

	return ([], [$written], [$brute]) unless @parameters;

	my (@written, @brute);
	for my $i (0 .. $q->{executions} - 1)
	{
		push @written, 'EXECUTE q(' . join(', ', map { literal($_->{values}[$i]) . "::$_->{type}" } @parameters) . ')';
		my $with = $brute;
		$with =~ s/\$(\d+)/'(' . literal($parameters[$1 - 1]{values}[$i]) . "::$parameters[$1 - 1]{type})"/ge;
		push @brute, $with;
	}
	return ([ 'PREPARE q(' . join(', ', map { $_->{declared} } @parameters) . ") AS $written" ], \@written, \@brute);
}

# A psql script that marks what belongs to which query
sub script
{
	my ($self) = @_;
	my @lines = ("SET search_path = $self->{schema}, public;", "SET fuzz.at = '$self->{at}';", '\\pset null ~');
	my $reset = 'RESET ROLE\\; RESET ALL' . "\\; SET search_path = $self->{schema}, public\\; SET fuzz.at = '$self->{at}';";
	my $end = "\\echo == :SQLSTATE\n\\if :ERROR\n\\echo :LAST_ERROR_MESSAGE\n\\endif";

	for my $i (0 .. $#{ $self->{queries} })
	{
		my $q = $self->{queries}[$i];
		my ($prepare, $written, $brute) = $self->statements($q);

		push @lines, join('\\; ', map { "SET $_" } @{ $q->{set} }) . ';' if @{ $q->{set} };
		push @lines, 'SET ROLE fuzz_reader;' if $q->{reader};
		push @lines, map { "$_;" } @$prepare;
		for my $j (0 .. $#$written)
		{
			push @lines, "\\echo @@ $i $j written";
			push @lines, 'BEGIN;' if $q->{change};
			push @lines, "$written->[$j];", $end;
			push @lines, 'ROLLBACK;' if $q->{change};
		}
		push @lines, 'DEALLOCATE q;' if @$prepare;
		push @lines, $reset;
		push @lines, map { ("\\echo @@ $i $_ brute", "$brute->[$_];", $end) } 0 .. $#$brute;
	}
	return join("\n", @lines, '\\echo @@ end', '');
}

# Reads what psql printed.  Returns the number of comparisons, the number of those
# with rows, and a list of [query, execution, answer, answer by brute force].
sub compare
{
	my ($self, $output) = @_;
	my %answers;
	my ($compared, $with_rows, @wrong) = (0, 0);

	for my $part (split(/^@@ /m, $output))
	{
		next unless $part =~ s/^(\d+ \d+) (written|brute)\n//;
		my ($which, $form) = ($1, $2);
		my $status = $part =~ s/^== (\w+)\n(.*)\z//ms ? $1 : 'no answer';
		# After a good answer come the outputs of the statements between queries.
		$answers{$which}{$form} = $status eq '00000'
		  ? [ sort split(/\n/, $part) ] : [ "error $status: " . (defined $2 ? $2 : '') ];
	}
	for my $i (0 .. $#{ $self->{queries} })
	{
		my (undef, $written) = $self->statements($self->{queries}[$i]);
		for my $j (0 .. $#$written)
		{
			my $answer = $answers{"$i $j"};
			my ($is, $should) = map { $answer->{$_} || ['no answer'] } 'written', 'brute';

			$compared++;
			$with_rows++ if @$should > 0;
			push @wrong, [ $i, $j, $is, $should ]
			  if "@$is" ne "@$should" || grep { /^(error|no answer)/ } @$should[ 0 .. (@$should ? 0 : -1) ];
		}
	}
	return ($compared, $with_rows, @wrong);
}

# Shows one wrong answer: all that repeats it, and where the answers differ.
sub show
{
	my ($self, $wrong) = @_;
	my ($i, $j, $is, $should) = @$wrong;
	my $q = $self->{queries}[$i];
	my ($prepare, $written, $brute) = $self->statements($q);
	my (%is, %should);

	$is{$_}++ for @$is;
	$should{$_}++ for @$should;
	my @missing = grep { ($is{$_} || 0) < $should{$_} } sort keys %should;
	my @extra   = grep { ($should{$_} || 0) < $is{$_} } sort keys %is;
	my $some = sub { return scalar(@_) . (@_ ? ': ' . join(' ', @_[ 0 .. ($#_ < 7 ? $#_ : 7) ]) : ''); };

	return join("\n",
		"seed $self->{seed}, query $i, of the kind $q->{kind}:",
		(map { "$_;" } map { @{ $self->{shapes}{$_}{ddl} } } sort keys %{ $q->{shapes} }),
		(map { "SET $_;" } "fuzz.at = '$self->{at}'", @{ $q->{set} }), ($q->{reader} ? 'SET ROLE fuzz_reader;' : ()),
		(map { "$_;" } @$prepare), "$written->[$j];",
		'by brute force:', "$brute->[$j];",
		(map { s/\s+/ /gr } grep { /^error/ } @$is, @$should),
		'rows of the answer: ' . scalar(@$is) . ', by brute force: ' . scalar(@$should),
		'missing rows, ' . $some->(@missing), 'rows too many, ' . $some->(@extra), '');
}

1;
