# The measuring part of test/bench/run, on the server that it has started
#
# usage: measure.pl [ROW]...
#
# Prints the report.  With BENCH_REPORT, a directory, it writes the report and
# its pictures there.
use strict;
use warnings;

use FindBin qw($RealBin);
use List::Util qw(max min);

our $dir     = $ENV{COMB_WORK};
our $million = $ENV{QUICK} ? 100_000 : 1_000_000;
our $growth  = $ENV{GROWTH} || 50;
my $rounds   = $ENV{ROUNDS} || ($ENV{QUICK} ? 2 : 5);
my $report   = $ENV{BENCH_REPORT};

# Key generators: column definition and expression.  find_peers() adds those that
# depend on the server.
our @generators = ('comb_generate()', 'gen_random_uuid()', 'bigint sequence');
our %generators = (
	'comb_generate()'   => [ 'uuid DEFAULT comb_generate()',        'comb_generate()' ],
	'gen_random_uuid()' => [ 'uuid DEFAULT gen_random_uuid()',      'gen_random_uuid()' ],
	'bigint sequence'   => [ 'bigint GENERATED ALWAYS AS IDENTITY', "nextval('numbers')" ]);

my (@names, %row);

sub row
{
	my ($name, $title, $labels, $measure, %more) = @_;
	push @names, $name;
	$row{$name} = { title => $title, labels => $labels, measure => $measure, %more };
	return;
}

require "$RealBin/rows.pl";

#
# The server
#

sub output_of
{
	open(my $pipe, '-|', @_) or die "could not run $_[0]: $!\n";
	local $/;
	my $output = <$pipe>;
	close($pipe) or die "$_[0] failed.\n";
	return $output // '';
}

sub psql { return output_of(qw(psql -X -q -A -t -v ON_ERROR_STOP=1), map { ('-c', $_) } @_) }

sub query { return psql(@_) =~ s/\n\z//r }

# Milliseconds that psql saw for the last of the statements
sub timed
{
	my @times = psql('\timing on', @_) =~ /^Time: ([\d.]+) ms/mg;
	return $times[-1];
}

# What a query takes more than its baseline, in ns a row.  Each runs three times,
# in turns, and its shortest time counts: what disturbs a measurement only ever
# adds, and the difference of two disturbed ones can be anything.
sub net_ns
{
	my ($rows, $query, $baseline) = @_;
	my (@all, @base);
	foreach (1 .. 3)
	{
		push @base, timed($baseline);
		push @all,  timed($query);
	}
	return sprintf('%.1f', (min(@all) - min(@base)) * 1e6 / $rows);
}

# A file with the statements
sub script
{
	my ($name, $statements) = @_;
	open(my $fh, '>', "$dir/$name.sql") or die "could not open $name.sql: $!\n";
	print $fh "$statements\n";
	close($fh);
	return "$dir/$name.sql";
}

# Transactions a second
sub pgbench
{
	my ($statement, @options) = @_;
	my ($tps) = output_of('pgbench', '-n', @options, '-f', script('bench', $statement)) =~ /^tps = ([\d.]+)/m;
	return $tps;
}

# A program beside the measurement.  Its process id is for waitpid() or
# stop_background().
sub in_background
{
	my @command = @_;
	my $pid = fork() // die "could not fork: $!\n";
	return $pid if $pid;
	open(STDOUT, '>', "$dir/log/background") and open(STDERR, '>&', \*STDOUT);
	exec(@command) or die "could not run $command[0]: $!\n";
}

sub stop_background
{
	my ($pid) = @_;
	kill('TERM', $pid);
	waitpid($pid, 0);
	return;
}

sub restart
{
	return output_of(qw(pg_ctl -w -t 60 restart -D), "$dir/server", '-l', "$dir/log/server.log");
}

sub has_table { return query("SELECT to_regclass('$_[0]') IS NOT NULL") eq 't' }

sub has_function { return query("SELECT to_regprocedure('$_[0]') IS NOT NULL") eq 't' }

sub find_peers
{
	my @peers = (
		[ 'pg_uuidv7',        'uuid_generate_v7()',  'pg_uuidv7' ],
		[ 'sequential-uuids', 'uuid_time_nextval()', 'sequential_uuids' ],
		[ 'TimescaleDB',      'generate_uuidv7()',   'timescaledb' ]);
	query('CREATE SEQUENCE numbers');
	unshift @peers, [ ('uuidv7()') x 2 ] if has_function('uuidv7()');
	foreach my $peer (@peers)
	{
		my ($label, $expression, $extension) = @$peer;
		if (defined $extension)
		{
			next if query("SELECT count(*) FROM pg_available_extensions WHERE name = '$extension'") eq '0';
			query("SET client_min_messages = error; CREATE EXTENSION $extension");
		}
		push @generators, $label;
		$generators{$label} = [ "uuid DEFAULT $expression", $expression ];
	}
	return;
}

#
# The report
#

# On the terminal, over itself
sub progress { printf STDERR "\r%-60s\r", $_[0] if -t STDERR; return }

# With a copy for the report's file
my $written = '';

sub show
{
	$written .= "$_\n" foreach @_;
	print "$_\n" foreach @_;
	return;
}

sub median
{
	my @sorted = sort { $a <=> $b } @_;
	my $middle = @sorted / 2;
	return @sorted % 2 ? $sorted[$middle] : ($sorted[ $middle - 1 ] + $sorted[$middle]) / 2;
}

# The peers take turns, and every other round goes backwards, so that a machine
# that slows down or speeds up meanwhile favours none of them.
sub run_row
{
	my ($name) = @_;
	my $row = $row{$name};
	my $turns = $row->{rounds} || $rounds;
	my %figures;

	$row->{setup}->() if $row->{setup};
	my @labels = $row->{labels}->();
	foreach my $round (1 .. $turns)
	{
		progress("$name: round $round of $turns");
		push @{ $figures{$_} }, $row->{measure}->($_) foreach $round % 2 ? @labels : reverse(@labels);
	}
	progress('');

	my %median = map { $_ => median(@{ $figures{$_} }) } @labels;
	my $more = ($row->{better} // 'less') eq 'more';
	show('', "## $row->{chapter}") if $row->{chapter};
	show('', "### $row->{title}", '');
	show($row->{about}, '') if $row->{about};
	show('| | ' . ($more ? 'maximum' : 'minimum') . " | median | median, $labels[0] = 1 |", '|---|---:|---:|---:|');
	foreach my $label (@labels)
	{
		my @all = @{ $figures{$label} };
		show(sprintf('| %s | %s | %s | %s |', $label, $more ? max(@all) : min(@all), $median{$label},
				$median{ $labels[0] } > 0 ? sprintf('%.2f', $median{$label} / $median{ $labels[0] }) : '-'));
	}
	$row->{details}->(@labels) if $row->{details};
	if ($report)
	{
		my @pictures = $row->{charts} ? $row->{charts}->(@labels)
		  : $name eq 'latency' ? plot_latency($row->{title}, @labels)
		  : plot_bars($name, $row->{title}, \@labels, \%median);
		show('', $_) foreach @pictures;
	}
	$row->{cleanup}->() if $row->{cleanup};
	return;
}

#
# Pictures, by gnuplot
#

# Draw a picture, and return the line of Markdown that shows it.  Fonts are named by kind
# only: an SVG takes what the reader has.  The title begins at the left edge, because the
# space over the axes can be narrower than the title.
sub plot
{
	my ($name, $title, $height, @commands) = @_;
	open(my $fh, '>', "$dir/$name.gp") or die "could not open $name.gp: $!\n";
	print $fh "$_\n"
	  foreach "set terminal svg size 760,$height font 'sans-serif,12' background '#ffffff'",
	  "set output '$report/$name.svg'", 'set encoding utf8', "set datafile separator '\\t'",
	  "set label \"$title\" at screen 0.02, screen 1 offset 0,-1.2 left noenhanced", 'set tmargin 3',
	  "set border 3 lc rgb '#888888'", "set tics nomirror textcolor rgb '#444444'", 'set xrange [0:*]', @commands;
	close($fh);
	local $ENV{LC_ALL} = 'C.UTF-8';
	output_of('gnuplot', "$dir/$name.gp");
	return "![$title]($name.svg)";
}

# A generator has the same colour in all pictures, and another kind of line for each way
# to use it.  Labels begin with the generator's name.
my @colours = (
	[ 'comb_generate_ordered', '#2a8f5c' ],
	[ 'comb_snowflake',        '#8a5fbf' ],
	[ 'comb_generate',         '#1f5f99' ],
	[ 'portable\\.',           '#7fb0d8' ],
	[ 'gen_random_uuid',       '#c0392b' ],
	[ 'bigint|nextval',        '#7a7a7a' ],
	[ 'uuidv7\\(\\)',          '#e08e1b' ],
	[ 'pg_uuidv7',             '#c7b51a' ],
	[ 'TimescaleDB',           '#5fa8a0' ],
	[ 'sequential-uuids',      '#d98cb3' ]);

# The colour of a label, or the other one if it names no generator
sub colour_of
{
	my ($label, $other) = @_;
	my ($found) = grep { $label =~ /^(?:$_->[0])/ } @colours;
	return $found ? $found->[1] : $other;
}

# A bar for each label, with its value, which can stand in the right margin.  The values
# make an axis of x needless.  Where no label is a generator, the first is dark.
sub plot_bars
{
	my ($name, $title, $labels, $median) = @_;
	open(my $fh, '>', "$dir/$name.bars") or die "could not open $name.bars: $!\n";
	foreach my $label (@$labels)
	{
		my $colour = colour_of($label, $label eq $labels->[0] ? '#1f5f99' : '#b8c4d0');
		print $fh join("\t", $label, $median->{$label}, hex(substr($colour, 1))), "\n";
	}
	close($fh);
	return plot($name, "$title, median", 62 + 34 * @$labels,
		'set style fill solid', 'set yrange [' . (@$labels - 0.4) . ':-0.6]',
		'set xrange [0:' . (max(values %$median) || 1) . ']', 'set rmargin 11',
		'unset key', 'unset xtics', 'set border 2', 'set ytics scale 0 noenhanced',
		"plot '$dir/$name.bars' using (\$2/2):0:(\$2/2):(0.36):3:ytic(1) with boxxyerror lc rgb variable notitle,"
		  . " '' using 2:0:2 with labels left offset 0.5,0 notitle");
}

# The columns of a file of series: a label's points follow each other, and its name stands
# in the first column.
sub read_series
{
	my ($file, $x, $y) = @_;
	my %points;
	open(my $fh, '<', "$dir/$file.series") or die "could not open $file.series: $!\n";
	while (<$fh>)
	{
		chomp;
		my @fields = split(/\t/);
		push @{ $points{ $fields[0] } }, [ @fields[ $x - 1, $y - 1 ] ];
	}
	close($fh);
	return \%points;
}

# A line for each label from a file of series, with its name at its end.  Names whose lines
# end at one height are moved apart, upwards and, from the top, downwards.
sub plot_series
{
	my ($name, $title, $file, $x, $y, $labels, %options) = @_;
	my $points = read_series($file, $x, $y);
	my $top    = max(map { $_->[1] } map { @{ $points->{$_} } } @$labels);
	my $bottom = $options{log} ? min(map { $_->[1] } map { @{ $points->{$_} } } @$labels) : 0;
	my $height = sub { $options{log} ? log($_[0] / $bottom) / log($top / $bottom) : $_[0] / $top };
	my ($lowest, $highest, %end, %dashes, @lines) = (-1, 1.06);
	my @upwards = sort { $points->{$a}[-1][1] <=> $points->{$b}[-1][1] } @$labels;
	$end{$_} = $lowest = max($lowest + 0.06, $height->($points->{$_}[-1][1])) foreach @upwards;
	$end{$_} = $highest = min($highest - 0.06, $end{$_}) foreach reverse @upwards;
	my $range = $options{log} ? "[$bottom:" . $top * 1.2 . ']' : '[0:' . $top * 1.05 . ']';
	my @names;
	foreach my $label (@$labels)
	{
		my $colour = colour_of($label, '#444444');
		my $dash   = ++$dashes{$colour};
		my $at     = $options{log} ? $bottom * ($top / $bottom)**$end{$label} : $top * $end{$label};
		push @names, "set label \"$label\" at graph 1.02, first $at left noenhanced textcolor rgb '$colour'";
		push @lines, "'$dir/$file.series' using $x:(stringcolumn(1) eq \"$label\" ? column($y) : NaN)"
		  . " with linespoints lw 2 pt 7 ps 0.4 dt $dash lc rgb '$colour' title \"$label\" noenhanced";
	}
	return plot($name, $title, 360, 'unset key', 'set rmargin ' . (3 + max(map { length } @$labels)), "set yrange $range",
		"set grid y lc rgb '#dddddd'", @{ $options{set} }, @names, 'plot ' . join(', ', @lines));
}

# A line for each label, whose x is in the second column
sub plot_lines
{
	my ($name, $title, $xlabel, $file, $column, $labels) = @_;
	return plot_series($name, $title, $file, 2, $column, $labels, set => [ "set xlabel '$xlabel'" ]);
}

# A line for each label over the quantiles in latency.series
sub plot_latency
{
	my ($title, @labels) = @_;
	my %tics;
	open(my $fh, '<', "$dir/latency.series") or die "could not open latency.series: $!\n";
	while (<$fh>) { my (undef, $number, $name) = split(/\t/); $tics{"'$name' $number"} = 1 }
	close($fh);
	return plot_series('latency', $title, 'latency', 2, 4, \@labels, log => 1,
		set => [ "set ylabel 'us'", 'set logscale y', 'set xrange [-0.2:*]',
			'set xtics (' . join(', ', sort keys %tics) . ')' ]);
}

$| = 1;
find_peers();
show('# Measurements', '', 'To measure on your own machine, run `make bench`.', '', split(/\n/, $ENV{BENCH_MACHINE}),
	sprintf('Figures of %d alternating rounds; %s.', $rounds, output_of(qw(date -u +%Y-%m-%d)) =~ s/\n//r));
run_row($_) foreach @ARGV ? @ARGV : @names;
if ($report)
{
	open(my $fh, '>', "$report/README.md") or die "could not open README.md: $!\n";
	print $fh $written;
	close($fh);
}
