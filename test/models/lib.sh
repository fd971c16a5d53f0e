# shellcheck shell=bash
#
# test/models/lib.sh - running spin, CBMC and herd7, for test/models/run
#
# A source prints TAP.  COMB_SET is short or full, and COMB_MODELS chooses twins.

# test/source has read test/lib.sh before:
# shellcheck disable=SC2034,SC2154,SC2317

models=$tree/test/models
TIMEFORMAT=%U

# chosen_models [PATTERN]...: sources, of the set COMB_SET
chosen_models() {
	local source wanted
	wanted=$(IFS='|'; say "$*")
	for source in layouts/{bounds,fields} twins/{settled,position,lease,snowflake,portable,layouts} layouts/{uuidv7,tenths,units} barriers \
		$(runs | awk -v full="${COMB_SET:-short}" '$1 == "short" || full == "full" { print $2 }'); do
		! grep -qE -- "$wanted" <<<"$source $(case $source in twins/*) titles "${source#*/}" ;; esac)" || say "models/$source"
	done
}

# find_program NAME VERSION SUITE PACKAGES DIRECTORY: sets "program" to a command that runs the program in the
# directory, or skips all.  VERSION is a pattern.
find_program() {
	if have "$1" && "$1" --version | head -n 1 | grep -q "$2"; then
		program=(env -C "$5" "$1")
	elif ! is_root || ! is_debian || ! have mmdebstrap || ! unshare --mount true 2>/dev/null; then
		skip_all "needs $1 of a version like $2, or root on Debian with mmdebstrap"
	elif ! make_system "$1" "$3" "$4"; then
		skip_all "the system with $1 cannot be made: $(grep '^E: ' "$work/log/$1-system" | sed -E 's,[a-z]+://[^ ]*,(mirror),g' | tail -n 1)"
	else
		program=(unshare --mount bash -c "mount --bind \"\$1\" \"\$2/mnt\" && exec chroot \"\$2\" sh -c 'cd /mnt && exec \"\$@\"' sh \"\${@:3}\"" bash "$5" "$roots/$1" "$1")
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
	elif [ "${COMB_SET:-short}" != short ]; then	# half the memory, for twice the time
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
	mapfile -t chosen < <(titles "$1" | awk -v twins=" twins/$1" -v wanted="${COMB_MODELS:-.}" '($0 twins) ~ wanted')
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

find_cbmc() { find_program cbmc "^[6-9]" trixie cbmc,gcc,libc6-dev "$1"; }

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

#
# Barriers
#

# What the processor executes for an access of the writer to @, which is x or y, and for a barrier.  An exchange that
# fails would be tried again: here the writer stops.
declare -A code=(
	[AArch64-begin]="MOV W0,#1"
	[AArch64-store]="STR W0,[@]"
	[AArch64-exchange]="LDAXR W5,[@]; STLXR W6,W0,[@]; CBNZ W6,End"
	[AArch64-write]="DMB ISH"
	[AArch64-read]="DMB ISHLD"
	[AArch64-look]="LDR W0,[X3]; @; LDR W2,[X1]"
	[AArch64-memory]="{ 0:X1=x; 0:X3=y; 1:X1=x; 1:X3=y; }"
	[AArch64-wrong]="exists (1:X0=1 /\\ 1:X2=0)"
	[PPC-begin]="li r1,1"
	[PPC-store]="stw r1,0(@)"
	[PPC-exchange]="sync; lwarx r5,r0,@; stwcx. r1,r0,@; bne End; isync"
	[PPC-write]="lwsync"
	[PPC-read]="lwsync"
	[PPC-look]="lwz r1,0(r4); @; lwz r3,0(r2)"
	[PPC-memory]="{ 0:r2=x; 0:r4=y; 1:r2=x; 1:r4=y; }"
	[PPC-wrong]="exists (1:r1=1 /\\ 1:r3=0)")
declare -A register=([AArch64-x]=X1 [AArch64-y]=X3 [PPC-x]=r2 [PPC-y]=r4)

# allowed MACHINE FIRST BARRIER SECOND READER: prints whether herd7 allows the wrong order.  The writer makes the first
# access to x and the second to y.  It is wrong if the reader sees y without x.
allowed() {
	local first=${code[$1-$2]//@/${register[$1-x]}} second=${code[$1-$4]//@/${register[$1-y]}}
	{
		printf '%s\n' "$1 pair" "${code[$1-memory]}" "P0 | P1 ;"
		paste -d '|' <(tr ';' '\n' <<<"${code[$1-begin]}; $first; ${code[$1-$3]:-}; $second; End:") \
			<(tr ';' '\n' <<<"${code[$1-look]//@/${code[$1-$5]:-}}") | sed 's/$/ ;/'
		say "${code[$1-wrong]}"
	} >"$work/barriers/pair.litmus"
	case $(bounded "${program[@]}" pair.litmus 2>&1) in
		*"Observation pair Never"*) say no ;;
		*"Observation pair Sometimes"*) say yes ;;
		*) say "herd7 failed" ;;
	esac
}

# Each kind of pair on two machines: forbidden with both barriers, and allowed without one
barriers() {
	local first second machine number=0 status=0 ways way
	mkdir -p "$work/barriers" && find_program herd7 "^7" sid herdtools7 "$work/barriers"
	say "1..$((2 * $(pairs | wc -l)))"
	while read -r first second; do
		ways=("$first write store read" "$first none store read" "$first write store none")
		[ "$second" = store ] || ways=("$first none exchange read" "store none store read" "$first none exchange none")
		for machine in AArch64 PPC; do
			# shellcheck disable=SC2086 # words
			tap $((++number)) "$machine: $first, then $second" diff <(printf '%s\n' no yes yes) \
				<(for way in "${ways[@]}"; do allowed $machine $way; done) || status=1
		done
	done < <(pairs)
	return "$status"
}

# The kinds of accesses in barriers.list
pairs() { awk '/^(store|exchange) / { print $1, $2 }' "$models/barriers.list" | sort -u; }

run_models() {
	local model options
	plain=yes owner=(env)
	[[ $1 =~ layouts|barriers ]] || have spin || skip_all "spin is not installed"
	case $1 in
		twins/*) twins "${1#*/}" ;;
		layouts/fields) laws FIELD ;;
		layouts/bounds) laws BOUNDS ;;
		layouts/uuidv7) laws UUIDV7 uuidv7 ;;
		layouts/tenths) laws TENTHS morris efcore masstransit masstransit_sequential uuidv1 uuidv6 newsequentialid uuidv1_swapped ;;
		layouts/units) copy_layouts "$work/units" && make_units "$work/units" && cd "$work/units" && bounded ./units ;;
		barriers) barriers ;;
		*) read -r _ _ model options < <(runs | awk -v name="$1" '$2 == name')
			say 1..1
			# shellcheck disable=SC2086 # words
			outcome 1 "$1" "$models/$model.pml" pass $options ;;
	esac
}
