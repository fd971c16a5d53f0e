# The measuring part of test/bench/run, on the server that it has started
#
# usage: measure.pl [ROW]...
#
# Prints the report, and writes it with its pictures into the directory "report".
use strict;
use warnings;

use FindBin qw($RealBin);
use List::Util qw(max min);

our $dir     = $ENV{COMB_WORK};
our $million = $ENV{QUICK} ? 100_000 : 1_000_000;
our $growth  = 50;
our %expression;    # what makes a label's keys, where the label does not say so itself
my $rounds = $ENV{ROUNDS} || ($ENV{QUICK} ? 2 : 5);

my (@names, %row, %done);

open(my $report, '>', "$dir/report/results.md") or die "could not open results.md: $!\n";

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

sub file
{
	my ($name, @lines) = @_;
	open(my $fh, '>', "$dir/$name") or die "could not open $name: $!\n";
	print $fh map { "$_\n" } @lines;
	close($fh);
	return "$dir/$name";
}

# Transactions a second
sub pgbench
{
	my ($statement, @options) = @_;
	my ($tps) = output_of('pgbench', '-n', @options, '-f', file('bench.sql', $statement)) =~ /^tps = ([\d.]+)/m;
	return $tps;
}

# A program beside the measurement, which writes into a file.  Its process id is for
# waitpid() or stop_background().
sub in_background
{
	my ($output, @command) = @_;
	my $pid = fork() // die "could not fork: $!\n";
	return $pid if $pid;
	open(STDOUT, '>', "$dir/log/$output") and open(STDERR, '>&', \*STDOUT);
	exec(@command) or die "could not run $command[0]: $!\n";
}

sub stop_background
{
	my ($pid) = @_;
	kill('TERM', $pid);
	waitpid($pid, 0);
	return;
}

# With these settings, and none of the last restart
sub restart
{
	my ($settings, @environment) = @_;
	return output_of('env', @environment, qw(pg_ctl -w -t 60 restart -D), "$dir/server",
		'-l', "$dir/log/server.log", '-o', $settings);
}

# Make what there is of other extensions, and return the functions that are missing.
sub missing_functions
{
	query('SET client_min_messages = error', 'CREATE SEQUENCE numbers', map { "CREATE EXTENSION $_" } split(/\n/,
			query("SELECT name FROM pg_available_extensions WHERE name IN ('pg_uuidv7', 'pgq', 'sequential_uuids', 'timescaledb')")));
	return split(/\n/, query("SELECT f FROM unnest('{uuidv7, uuid_extract_timestamp, uuid_generate_v7,
				uuid_v7_to_timestamptz, uuid_time_nextval, generate_uuidv7, next_batch}'::text[]) f
			WHERE NOT EXISTS (SELECT FROM pg_proc WHERE proname = f)"));
}

#
# The report
#

sub show
{
	print { $_ } map { "$_\n" } @_ foreach \*STDOUT, $report;
	return;
}

# The lower one of two
sub median { return (sort { $a <=> $b } @_)[ $#_ / 2 ] }

# The peers take turns, and every other round goes backwards, so that a machine
# that slows down or speeds up meanwhile favours none of them.
sub run_row
{
	my ($name, @missing) = @_;
	my %row = %{ $row{$name} };
	my %figures;

	my @labels = grep {
		my $made = $expression{$_} // $_;
		!grep { $made =~ /\b$_\(/ } @missing;
	} @{ $row{labels} };
	restart(@{ $row{server} }) if $row{server};
	query(@{ $row{setup} }) if $row{setup} && !$done{ $row{setup} }++;
	foreach my $round (1 .. $row{rounds} || $rounds)
	{
		push @{ $figures{$_} }, $row{measure}->($_) foreach $round % 2 ? @labels : reverse(@labels);
	}

	my %median = map { $_ => median(@{ $figures{$_} }) } @labels;
	show('', "## $row{chapter}") if $row{chapter};
	show('', "### $row{title}", '');
	show($row{about}, '') if $row{about};
	show('| | ' . ($row{more_is_better} ? 'maximum' : 'minimum') . " | median | median, $labels[0] = 1 |",
		'|---|---:|---:|---:|');
	foreach my $label (@labels)
	{
		my @all = @{ $figures{$label} };
		show(sprintf('| %s | %s | %s | %s |', $label, $row{more_is_better} ? max(@all) : min(@all), $median{$label},
				$median{ $labels[0] } > 0 ? sprintf('%.2f', $median{$label} / $median{ $labels[0] }) : '-'));
	}
	if ($row{details})
	{
		my ($points, @charts) = $row{details}->(\%median, @labels);
		plot_lines($points, @$_) foreach @charts;
	}
	plot_bars($name, $row{title}, \@labels, \%median) if $row{picture};
	restart('') if $row{server};
	return;
}

#
# Pictures, by gnuplot
#

# Draw a picture, and show the line of Markdown with it.  Fonts are named by kind
# only: an SVG takes what the reader has.  The title begins at the left edge, because the
# space over the axes can be narrower than the title.
sub plot
{
	my ($name, $title, $height, @commands) = @_;
	local $ENV{LC_ALL} = 'C.UTF-8';
	output_of('gnuplot', file("$name.gp",
			"set terminal svg size 760,$height font 'sans-serif,12' background '#ffffff'",
			"set output '$dir/report/$name.svg'", 'set encoding utf8', "set datafile separator '\\t'",
			"set label \"$title\" at screen 0.02, screen 1 offset 0,-1.2 left noenhanced", 'set tmargin 3',
			"set border 3 lc rgb '#888888'", "set tics nomirror textcolor rgb '#444444'", 'set xrange [0:*]', @commands));
	# gnuplot gives each picture its own name as the title, which screen readers say
	output_of('perl', '-pi', '-e', "s|<title>\\KGnuplot|$title|; s|<desc>\\K[^<]*|Drawn from results.md|", "$dir/report/$name.svg");
	show('', "![$title]($name.svg)");
	return;
}

# A generator has the same colour in all pictures, and another kind of line for each way
# to use it.  Labels begin with the generator's name.
my @colours = (
	[ 'spread ordered',        '#6fc49a' ],
	[ 'spread',                '#4fb3d9' ],
	[ 'comb_generate_ordered', '#2a8f5c' ],
	[ 'comb_snowflake',        '#8a5fbf' ],
	[ 'comb_generate',         '#1f5f99' ],
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
# make an axis of x needless.  Where no label is a generator, the first is dark.  Medians and
# percentiles of one thing are two groups on a logarithmic axis, which is drawn.
sub plot_bars
{
	my ($name, $title, $labels, $median) = @_;
	my @high = grep { /, p[\d.]+$/ } @$labels;
	my @low = grep { !/, p[\d.]+$/ } @$labels;
	my $least = @high ? 0.1 : 0;
	my $place = 0;
	my @bars = map {
		my $label = $_;
		$place += 0.6 if @high && $label eq $high[0];
		my $colour = colour_of($label, @high ? ($label =~ /, p[\d.]+$/ ? '#b8c4d0' : '#1f5f99')
			: $label eq $labels->[0] ? '#1f5f99' : '#b8c4d0');
		join("\t", $label =~ s/, idle writer//r, $median->{$label}, hex(substr($colour, 1)), $place++, $least)
	} @low, @high;
	return plot($name, @high ? $title : "$title, median", (@high ? 112 : 62) + 34 * $place, '$bars << END', @bars, 'END',
		'set style fill solid', "set yrange [$place - 0.4:-0.6]", @high ? 'set logscale x' : (),
		"set xrange [$least:" . (max($least * 2, values %$median) || 1) . ']', 'set rmargin 11',
		'unset key', @high ? ("set xlabel 'logarithmic; dark: median, pale: 99.9 % come within'", 'set border 3') : ('unset xtics', 'set border 2'),
		'set ytics scale 0 noenhanced',
		'plot $bars using ($2 > $5 ? $2 : $5 * 1.05):4:5:($2 > $5 ? $2 : $5 * 1.05):($4-0.36):($4+0.36):3:ytic(1) with boxxyerror lc rgb variable notitle,'
		  . " '' using (\$2 > \$5 ? \$2 : \$5 * 1.05):4:2 with labels left offset 0.5,0 notitle");
}

# A line for each label through its points, each of which begins with its x.  The names
# stand beside the lines, in the order in which these end.
sub plot_lines
{
	my ($points, $name, $title, $xlabel, $column, @commands) = @_;
	my (%used, %dash, @data, @lines);
	$dash{$_} = ++$used{ colour_of($_, '') } foreach sort keys %$points;
	foreach my $label (sort { $points->{$b}[-1][$column] <=> $points->{$a}[-1][$column] } keys %$points)
	{
		my $data = '$data' . @lines;
		push @data, "$data << END", (map { "$_->[0]\t$_->[$column]" } @{ $points->{$label} }), 'END';
		push @lines, "$data with linespoints lw 2 pt 7 ps 0.4 dt $dash{$label} lc rgb '"
		  . colour_of($label, '#444444') . "' title \"$label\"";
	}
	return plot($name, $title, 360, @data, "set xlabel '$xlabel'", 'set yrange [0:*]', "set grid y lc rgb '#dddddd'",
		'set key outside right center Left reverse samplen 2 noenhanced textcolor variable', @commands,
		'plot ' . join(', ', @lines));
}

$| = 1;
show('# Results of make bench', '', '[README.md](README.md) says what they mean.', '', $ENV{BENCH_MACHINE},
	sprintf('Figures of %d alternating rounds; %s.', $rounds, output_of(qw(date -u +%F)) =~ s/\n//r));
my @missing = missing_functions();
run_row($_, @missing) foreach @ARGV ? @ARGV : @names;
