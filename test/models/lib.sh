# shellcheck shell=bash
#
# test/models/lib.sh - the protocols and the layouts, for all cases: step models of test/run
#
# spin explores the models of the lease and of the feeds as runs.list says.  Each fault of twins.list is
# seeded in a model, and spin must find a counterexample.  CBMC proves laws of the layouts on the C code
# itself, and a C program tries each unit of time.  MODELS=full adds what takes longer.
#
# CBMC comes from the machine or, as root on Debian, from a small system of Debian 13, which the first run
# makes (360 MB).  A search that was cut short counts as a failure: by memory (MODEL_MB, 3800), by depth, or
# by time (STEP_LIMIT).

# test/source has read test/lib.sh before:
# shellcheck disable=SC2034,SC2154,SC2317

models=$tree/test/models
TIMEFORMAT=%U

# shellcheck disable=SC2046 # a list of words
all_models() {
	printf 'models/%s\n' layouts/{bounds,fields} twins/{settled,position,lease,snowflake,portable,layouts} layouts/{uuidv7,tenths,units} \
		$(runs | awk -v full="${MODELS:-short}" '$1 == "short" || full == "full" { print $2 }')
}

# find_cbmc DIRECTORY: sets "program" to a command that runs CBMC in the directory, or skips all
find_cbmc() {
	if have cbmc && cbmc --version | head -n 1 | grep -q "^[6-9]"; then
		program=(env -C "$1" cbmc)
	elif ! is_root || ! is_debian || ! have mmdebstrap || ! unshare --mount true 2>/dev/null; then
		skip_all "needs CBMC 6, or root on Debian with mmdebstrap"
	elif ! make_system cbmc trixie cbmc,gcc,libc6-dev; then
		skip_all "the system with CBMC cannot be made: $(grep '^E: ' "$work/log/cbmc-system" | sed -E 's,[a-z]+://[^ ]*,(mirror),g' | tail -n 1)"
	else
		program=(unshare --mount bash -c "mount --bind \"\$1\" \"\$2/mnt\" && exec chroot \"\$2\" sh -c 'cd /mnt && exec \"\$@\"' sh cbmc \"\${@:3}\"" bash "$1" "$roots/cbmc")
	fi
}

#
# Models
#

# explore FILE pass|fail OPTION...: prints "errors, states, MB, seconds of the processor", and what was violated.  The
# status of pan says nothing.  The models do not keep the rules of partial order reduction ("unless", "provided").
# Nearly all steps use shared memory, so it would save a twentieth at most.
explore() {
	local file=$1 wanted=$2 directory seconds end=-E hash=24
	local options=(-O1 -w -DSAFETY -DNOFAIR -DNOREDUCE -DVECTORSZ=2048 "-DMEMLIM=${MODEL_MB:-3800}")
	shift 2
	if [ "$wanted" = fail ]; then	# found so soon that compiling takes longer
		options[0]=-O0
		hash=20
	elif [ "${MODELS:-short}" != short ]; then	# half the memory, for twice the time
		options+=(-DCOLLAPSE)
	fi
	# shellcheck disable=SC2076 # a word
	[[ " $* " =~ " -DLIVE " ]] && end=
	directory=$(mktemp -d "$work/pan.XXXXXX") && cd "$directory" || return
	cp "$file" model.pml
	if ! spin -a "$@" model.pml >log 2>&1 ||
		! gcc "${options[@]}" -o pan pan.c >>log 2>&1; then
		cat log
		return 1
	fi
	seconds=$({ time bounded ./pan -m200000 "-w$hash" ${end:+"$end"} >out 2>&1; } 2>&1)
	if grep -E 'max search depth too small|out of memory|reached -DMEMLIM|nterrupted' out || ! grep -q 'errors: ' out; then
		say "the search was cut short"
		return 1
	fi
	printf '%s %s %.0f %s\n' "$(sed -n 's/.*errors: //p' out)" "$(awk '/states, stored/ { print $1; exit }' out)" \
		"$(awk '/total actual memory/ { print $1 }' out)" "$seconds"
	grep -E 'assertion violated|invalid end state ' out
	if [ -f model.pml.trail ]; then
		spin -t -p -g -l "$@" model.pml >trail 2>&1
		say "the trail is $directory/trail, of $(wc -l <trail) lines"
	fi
	cd "$work" || return
}

# outcome NUMBER TITLE FILE WANTED OPTION...: one test, where WANTED is pass or fail
outcome() {
	local number=$1 title=$2 file=$3 wanted=$4 found errors states mb seconds
	shift 4
	found=$(explore "$file" "$wanted" "$@")
	read -r errors states mb seconds <<<"$found"
	case $wanted$errors in
		pass0 | fail[1-9]*) say "ok $number - $title: $states states, $mb MB, $seconds s" ;;
		*) say "not ok $number - $title ($*): ${errors:-?} errors, $wanted was expected"
			say "# ${found//$'\n'/$'\n'# }"
			keep=yes
			return 1 ;;
	esac
}

# The lines of runs.list: set, name, model, options
runs() { grep -E '^(short|full) ' "$models/runs.list" | sed 's/ *#.*//'; }

# The titles of the twins of a model, or of the sources of the layouts
titles() { sed -nE "s/^= (.*) ! ${1/layouts/comb_}.*/\1/p" "$models/twins.list"; }

twins() {
	local title number=0 what status=0 chosen=() directory
	mapfile -t chosen < <(titles "$1")
	[ "$1" != layouts ] || find_cbmc "$work"
	say "1..${#chosen[@]}"
	for title in "${chosen[@]}"; do
		number=$((number + 1))
		directory=$work/$1.$number
		if [ "$1" = layouts ]; then copy_layouts "$directory"; else mkdir "$directory" && cp "$models/$1.pml" "$directory"; fi
		if ! what=$(seed "$models/twins.list" "$title" "$directory"/*.[chp]* 2>&1); then
			say "not ok $number - $title: $what"
			status=1
			continue
		fi
		read -r _ what <<<"$what"
		# shellcheck disable=SC2086 # words
		case $1-$what in
			layouts-units) tap "$number" "$title" units_fail "$directory" ;;
			layouts-*) law "$number" "$title" "$directory" $what FAILED ;;
			*) outcome "$number" "$title" "$directory/$1.pml" fail $what ;;
		esac || status=1
	done
	return "$status"
}

#
# Layouts
#

# What layouts.c and units.c include
copy_layouts() { mkdir -p "$1" && cp -R "$models"/*.c "$models/stub" "$tree"/src/comb_{layout.c,layout.h,clock.h} "$1"; }

# The layouts, in the order of the table
labels() { sed -n 's/^\tROW("\([^"]*\)".*/\1/p' "$tree/src/comb_layout.c"; }

# law NUMBER NAME DIRECTORY LAW LABEL [WANTED]: one test, where CBMC has to find the law SUCCESSFUL or FAILED
law() {
	local seconds layout log=$3/log.$4.$5 wanted=${6:-SUCCESSFUL} options=()
	layout=$(labels | grep -nx "$5" | cut -d : -f 1)
	[ "$wanted" = SUCCESSFUL ] || options=(--stop-on-fail)
	find_cbmc "$3"
	seconds=$({ time bounded "${program[@]}" layouts.c -I stub -I . "-DLAW=$4" "-DLAYOUT=$((layout - 1))" --unwind 66 \
		--unwinding-assertions --slice-formula "${options[@]}" >"$log" 2>&1; } 2>&1)
	if grep -q "^VERIFICATION $wanted" "$log"; then
		say "ok $1 - $2: $seconds s"
	else
		say "not ok $1 - $2"
		grep -E 'FAILURE$|^VERIFICATION|error' "$log" | sed 's/^/# /'
		return 1
	fi
}

# laws LAW [LABEL]...: of all layouts, or of some
laws() {
	local kind=$1 label number=0 status=0
	shift
	# shellcheck disable=SC2046 # words
	[ $# -gt 0 ] || set -- $(labels)
	copy_layouts "$work/layouts.$kind" || return
	find_cbmc "$work/layouts.$kind"
	say "1..$#"
	for label in "$@"; do
		number=$((number + 1))
		law "$number" "$kind of $label" "$work/layouts.$kind" "$kind" "$label" || status=1
	done
	return "$status"
}

make_units() { gcc -O2 -Wall -I "$1/stub" -I "$1" -o "$1/units" "$1/units.c"; }

units_fail() { (make_units "$1" && cd "$1" && bounded ./units | grep '^not ok'); }

run_models() {
	local model options
	plain=yes owner=(env)
	[[ $1 = *layouts* ]] || have spin || skip_all "$(needs models)"
	case $1 in
		twins/*) twins "${1#*/}" ;;
		layouts/fields) laws FIELD ;;
		layouts/bounds) laws BOUNDS ;;
		layouts/uuidv7) laws UUIDV7 uuidv7 ;;
		layouts/tenths) laws TENTHS morris efcore masstransit masstransit_sequential uuidv1 uuidv6 newsequentialid uuidv1_swapped ;;
		layouts/units) copy_layouts "$work/units" && make_units "$work/units" && cd "$work/units" && bounded ./units ;;
		*) read -r _ _ model options < <(runs | awk -v name="$1" '$2 == name')
			say 1..1
			# shellcheck disable=SC2086 # words
			outcome 1 "$1" "$models/$model.pml" pass $options ;;
	esac
}
