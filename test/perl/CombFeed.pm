# The recipes for readers, and a reader of rows that change.
#
# A recipe is a block of a page of doc/ whose fence has a name after the language, and
# tests run its text as it stands.
#
# The reader is a session that keeps a copy of the table: a hash from id to the rest of
# the row.
package CombFeed;

use strict;
use warnings;

use Exporter 'import';
use PostgreSQL::Test::Utils;
use Test::More;
use parent 'CombSession';

our @EXPORT = qw(recipe portable_feed changed_on_standby waiting_for_lsn);

# Return the text of the block with a name.  Of an example, these are the commands that
# the user types.
sub recipe
{
	my ($name) = @_;
	my $pages = join('', map { slurp_file($_) } glob('doc/*.md'));
	my ($indent, $language, $text) = $pages =~ /^( *)```(\w+)(?: varies)? \Q$name\E\n(.*?)^ *```$/ms
	  or die "no block \"$name\" in the pages";
	$text =~ s/^$indent//mg;
	return $text if $language ne 'console';
	return join('', map { s/^[=-]> //r } $text =~ /^[=-]> .*\n/mg);
}

# The portable file, which runs in one transaction
sub portable_feed { return 'BEGIN;' . slurp_file('sql/portable/pg_comb_feed.sql') . 'COMMIT;'; }

# The query for rows that change, as on a standby
sub changed_on_standby
{
	my ($with) = recipe('standby') =~ /^(WITH b .*FROM heartbeat\))\n/s;
	return recipe('changed') =~ s/^WITH b .*\)\n/$with\n/r;
}

# The options of a CombFetchingReader that waits until the standby has replayed what the
# bound covers.  The message writes WAL and flushes it.
sub waiting_for_lsn
{
	return (
		fetch => q{SELECT comb_settled() AS bound, pg_logical_emit_message(false, 'feed', '', true) AS lsn},
		query => q{WAIT FOR LSN '$lsn' WITH (TIMEOUT '1s', NO_THROW);
			SELECT * FROM outbox WHERE id > $last AND id < $bound ORDER BY id LIMIT 1000},
		wait => 1);
}

sub new
{
	my ($class, $node, %options) = @_;
	return CombSession::new($class, $node, 'postgres', copy => {}, rows => 0, %options);
}

# Rows are id, position, whether the id is deleted, and the rest.
sub take
{
	my ($self, $out) = @_;
	my @rows = map { [ split(/\|/, $_, 4) ] } split(/\n/, $out);

	foreach my $row (@rows)
	{
		my ($id, $version, $deleted, $rest) = @$row;
		if   ($deleted eq 't') { delete $self->{copy}{$id}; }
		else                   { $self->{copy}{$id} = $rest; }
		$self->{last} = $version;
		$self->{rows}++;
	}
	return scalar(@rows);
}

# Compare the copy with the table: how many rows are stale, missing, and not deleted.
sub differences
{
	my ($self) = @_;
	my $copy = $self->{copy};
	my %item = map { split(/\|/, $_, 2) } split(/\n/, $self->ask('SELECT id, name FROM item'));
	my $stale   = grep { defined $copy->{$_} && $copy->{$_} ne $item{$_} } keys %item;
	my $missing = grep { !defined $copy->{$_} } keys %item;
	my $gone    = grep { !defined $item{$_} } keys %$copy;
	return "$stale stale, $missing missing, $gone not deleted";
}

# The same in the counts of other readers
sub counts
{
	my ($self) = @_;
	my ($stale, $missing, $gone) = $self->differences =~ /(\d+)/g;
	return ($self->{rows}, $stale + $missing, 0, $gone, 0);
}

# Compare the log of all versions with the table: for how many ids does the last version
# in the log differ?
sub log_differs
{
	my ($self) = @_;
	return $self->ask(q{
	SELECT count(*)
	FROM (SELECT DISTINCT ON (item_id) item_id, name
	      FROM (SELECT id, (old->>'id')::bigint AS item_id, NULL AS name FROM item_log
	            WHERE old IS NOT NULL AND old->>'id' IS DISTINCT FROM new->>'id'
	            UNION ALL
	            SELECT id, (new->>'id')::bigint, new->>'name' FROM item_log WHERE new IS NOT NULL) AS changes
	      ORDER BY item_id, id DESC) AS last
	LEFT JOIN item ON item.id = item_id
	WHERE last.name IS DISTINCT FROM item.name});
}

# Read the rest.  The copy must then be the table.
sub reads_all
{
	my ($self, $name) = @_;
	1 while $self->poll >= 1000;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return is($self->differences, '0 stale, 0 missing, 0 not deleted', $name);
}

# A reader that keeps its position itself, and so survives the server.  The options are
#   query     what it asks, with $since in the place of the position; its rows begin with the next position, and then
#             have an id or nothing
#   position  where it begins, as it stands in SQL
#   passes    an error after which it has read nothing
package CombKeeper;

use parent -norequire, 'CombSession';

sub poll
{
	my ($self) = @_;
	my $out = eval { $self->ask($self->{query} =~ s/\$since/$self->{position}/gr) };
	$out = $self->{passes} && $@ =~ $self->{passes} ? $self->ask('ROLLBACK') : die $@ unless defined $out;
	my @rows = map { [ split(/\|/) ] } grep { /:/ } split(/\n/, $out);
	my @ids = map { $_->[1] || () } @rows;
	$self->{position} = "'$rows[0][0]'" if @rows;
	$self->{seen}{$_}++ foreach @ids;
	$self->{polls}++;
	return scalar(@ids);
}

# Read the rest, and compare it with the table: rows lost and read twice.
sub read_last
{
	my ($self) = @_;
	$self->again unless eval { $self->poll; 1 };
	$self->poll foreach 1 .. 3;
	my $lost = grep { !$self->{seen}{$_} } split(/\n/, $self->ask("SELECT id FROM $self->{table}"));
	return "$lost lost, " . (grep { $_ > 1 } values %{ $self->{seen} }) . ' twice';
}

# A reader on a standby that fetches the bound from the primary, where it has a second
# session.  With the option "wait", its query begins with WAIT FOR.
package CombFetchingReader;

use parent 'CombSession';

sub poll
{
	my ($self) = @_;
	my ($bound, $lsn) = split(/\|/, $self->{primary}->ask($self->{fetch}));
	my $out = $self->ask($self->query =~ s/\$bound/'$bound'/gr =~ s/\$lsn/$lsn/gr);
	return 0 if $self->{wait} && $out !~ s/^success\n?//;
	return $self->take($out);
}

sub again
{
	my ($self) = @_;
	$self->{primary}->again;
	return $self->SUPER::again;
}

1;
