# Readers of events on another server, by postgres_fdw, under load: those that ask as
# servers.md says lose no row, and the others lose some, or the test would show nothing.
#
# DURATION sets the seconds, 15 by default.
use strict;
use warnings;

use FindBin qw($RealBin);
use lib "$RealBin/../../perl";
use IPC::Run ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $duration = $ENV{DURATION} || 15;
my $dir = PostgreSQL::Test::Utils::tempdir();
my (@runs, %from);

my ($main, $far) = map { PostgreSQL::Test::Cluster->new($_) } qw(main far);
foreach my $node ($main, $far)
{
	$node->init;
	$node->append_conf('postgresql.conf', "fsync = off\nlog_statement = none\n");
	$node->start;
}
$far->safe_psql('postgres', q{
	CREATE EXTENSION pg_comb_ordered CASCADE;
	CREATE TABLE outbox (id uuid PRIMARY KEY DEFAULT comb_generate_ordered(), what text);
	CREATE TABLE note (id uuid PRIMARY KEY, what text);
	CREATE VIEW outbox_settled AS SELECT * FROM outbox WHERE id < comb_settled()});
my ($host, $port) = ($far->host, $far->port);
$main->safe_psql('postgres', qq{
	CREATE EXTENSION pg_comb_ordered CASCADE;
	CREATE EXTENSION postgres_fdw;
	CREATE SERVER far FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '$host', port '$port', dbname 'postgres');
	CREATE USER MAPPING FOR CURRENT_USER SERVER far;
	CREATE FOREIGN TABLE outbox (id uuid, what text) SERVER far;
	CREATE FOREIGN TABLE outbox_settled (id uuid, what text) SERVER far;
	CREATE FOREIGN TABLE note (id uuid DEFAULT comb_generate_ordered(), what text) SERVER far;
	CREATE FOREIGN TABLE estimated_note (id uuid, what text) SERVER far
		OPTIONS (table_name 'note', use_remote_estimate 'true');
	CREATE TABLE place (reader text PRIMARY KEY, last uuid);
	CREATE TABLE got (n bigserial, reader text, id uuid)});

# The rows of outbox are written on "far", those of note through "main".
reader('a view', 'outbox', 1, 'outbox_settled', 'true');
reader('a view, three polls in a transaction', 'outbox', 3, 'outbox_settled', 'true');
reader('the bound in an earlier transaction', 'note', 1, 'note', "id < ':bound'", "SELECT comb_settled() AS bound \\gset\n");
my @right = sort keys %from;
reader("the other server's bound", 'outbox', 1, 'outbox', 'id < comb_settled()');
reader('a condition', 'note', 1, 'note', 'id < comb_settled()');
reader('a condition, three polls in a transaction', 'note', 3, 'note', 'id < comb_settled()');
reader('a sub-select and remote estimates', 'note', 1, 'estimated_note', 'id < (SELECT comb_settled())');

# One transaction in twenty stays open for up to 200 ms.
my $write = q{
\set us random(0, 4000000)
\if :us > 200000
	\set us 100
\endif
BEGIN;
INSERT INTO %s (what) VALUES ('event');
\sleep :us us
COMMIT;
\sleep 10 ms
};
bench($far, sprintf($write, 'outbox'), 6, $duration);
bench($main, sprintf($write, 'note'), 6, $duration);
foreach my $run (@runs)
{
	IPC::Run::finish($run->{process}) or die "pgbench failed: ${ $run->{output} }";
}

foreach my $reader (@right)
{
	is(result_of($reader), 'all rows, 0 lost, 0 twice, 0 out of order', "$reader: no row is lost");
}
foreach my $reader (grep { my $name = $_; !grep { $_ eq $name } @right } sort keys %from)
{
	unlike(result_of($reader), qr/ 0 lost/, "$reader: rows are lost");
}

$_->stop foreach ($main, $far);
done_testing();

# Start a reader, which goes on for some seconds after the writers.
sub reader
{
	my ($name, $written, $polls, $table, $condition, $before) = @_;
	my $quoted = $name =~ s/'/''/gr;
	my $poll = qq{
WITH batch AS MATERIALIZED (
	SELECT id FROM $table WHERE id > (SELECT last FROM place WHERE reader = '$quoted') AND $condition ORDER BY id
), moved AS (
	UPDATE place SET last = (SELECT id FROM batch ORDER BY id DESC LIMIT 1)
	WHERE reader = '$quoted' AND EXISTS (SELECT FROM batch)
)
INSERT INTO got (reader, id) SELECT '$quoted', id FROM batch ORDER BY id;
};

	$from{$name} = $written;
	$main->safe_psql('postgres', "INSERT INTO place VALUES ('$quoted', '00000000-0000-0000-0000-000000000000')");
	bench($main, ($before // '') . "BEGIN;\n" . join("\\sleep 20 ms\n", ($poll) x $polls) . "COMMIT;\n\\sleep 5 ms\n", 1, $duration + 8);
	return;
}

sub bench
{
	my ($node, $script, $clients, $seconds) = @_;
	my $file = "$dir/" . scalar(@runs) . '.sql';
	my $output = '';

	open(my $fh, '>', $file) or die "could not open $file: $!";
	print $fh $script;
	close($fh);
	push @runs, { output => \$output, process => IPC::Run::start(
		[ 'pgbench', '-n', '-c', $clients, '-T', $seconds, '-f', $file, '-h', $node->host, '-p', $node->port, 'postgres' ],
		'>&', \$output) };
	return;
}

# What the reader got, against the rows of the table
sub result_of
{
	my ($reader) = @_;
	my $quoted = $reader =~ s/'/''/gr;
	my ($rows, $got, $twice, $back, $lost) = split(/\|/, $main->safe_psql('postgres', qq{
		SELECT (SELECT count(*) FROM $from{$reader}), count(*), count(*) - count(DISTINCT id), count(*) FILTER (WHERE id <= before),
			(SELECT count(*) FROM $from{$reader} AS t WHERE id <= (SELECT last FROM place WHERE reader = '$quoted')
				AND NOT EXISTS (SELECT FROM got AS g WHERE g.id = t.id AND g.reader = '$quoted'))
		FROM (SELECT id, lag(id) OVER (ORDER BY n) AS before FROM got WHERE reader = '$quoted') AS s}));

	note "$reader: $got of $rows rows, $lost lost";
	return ($got == $rows ? 'all' : "$got of $rows") . " rows, $lost lost, $twice twice, $back out of order";
}
