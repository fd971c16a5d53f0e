# shellcheck shell=bash disable=SC2154 # shared with test/bench/run
#
# Pictures of what test/bench/run measured, by gnuplot.  One of bars for each
# row, and for the growing table one of lines for each of its quantities.

# Fonts are named by kind only: an SVG takes what the reader has.
plot_head() {
	printf '%s\n' "set terminal svg size 760,$2 font 'sans-serif,12' background '#ffffff'" \
		"set output '$1'" "set encoding utf8" "set datafile separator '\t'" \
		"set border 3 lc rgb '#888888'" "set tics nomirror"
}

# plot_bars NAME FIGURES FILE: a bar of the median for each label, ours dark
plot_bars() {
	local title="$1_title" ours="$1_ours" bars=$work/$1.bars count
	median_of "$2" >"$bars"
	count=$(wc -l <"$bars")
	{
		plot_head "$3" $((90 + 34 * count))
		printf '%s\n' "set title \"${!title}, median\" noenhanced" "set style fill solid" \
			"set yrange [$count - 0.4:-0.6]" "set xrange [0:*]" "unset key" "set grid x lc rgb '#dddddd'" \
			"set ytics noenhanced" \
			"plot '$bars' using (\$2/2):0:(\$2/2):(0.36):(stringcolumn(1) eq \"${!ours}\" ? 0x1f5f99 : 0xb8c4d0):ytic(1) with boxxyerror lc rgb variable, \
			'' using 2:0:2 with labels left offset 0.5,0"
	} >"$work/$1.gp"
	gnuplot "$work/$1.gp"
}

# plot_series COLUMN TITLE FILE: growth.series' column over the rows
plot_series() {
	local label plots=()
	while IFS= read -r label; do
		plots+=("'$work/growth.series' using 2:(stringcolumn(1) eq \"$label\" ? column($1) : NaN) with lines lw 2 title \"$label\" noenhanced")
	done < <(cut -f 1 "$work/growth.series" | awk '!seen[$0]++')
	{
		plot_head "$3" 360
		printf '%s\n' "set title \"$2\" noenhanced" "set xlabel 'million rows in the table'" \
			"set xrange [0:*]" "set yrange [0:*]" "set key outside right" "set grid y lc rgb '#dddddd'" \
			"plot $(printf '%s, ' "${plots[@]}" | sed 's/, $//')"
	} >"$work/series.gp"
	gnuplot "$work/series.gp"
}

plot_growth() {
	plot_series 3 "INSERT, thousand rows a second" "$1/growth-rate.svg" &&
		plot_series 4 "Size of the primary key's index, MB" "$1/growth-index.svg" &&
		plot_series 5 "WAL after a checkpoint, bytes a row" "$1/growth-wal.svg"
}
