# shellcheck shell=bash
#
# test/lib.sh - what the scripts under test/ share
#
# Each script works in one fresh directory of its own.  It copies the tree there, builds the copy, installs into a
# stage there, and starts private servers that find the extension in the stage.  Nothing is written to the tree, to
# the system's PostgreSQL or to a network port.  The functions to call are, in this order, ensure, begin, copy_tree,
# build, use_stage and start_server.
#
# A script that counts tests hands the names of its sources to prove_each, or has other
# scripts count and adds them up, by part and close_report.

set -u

tree=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd) || exit 2

work=            # the directory of this run
owner=(env)      # prefix of every command that must not run as root
plain=no         # yes: the script's commands run as root
limit=${STEP_LIMIT:-1200}  # seconds that a bounded command may take
installed=()     # packages that ensure() installed
keep=${KEEP:-no}  # yes: leave the directory for inspection
# shellcheck disable=SC2034 # not all scripts ask for it
version=$(sed -n 's/^   "version": "\(.*\)",$/\1/p' "$tree/META.json")
major=           # major version of the server
postgres_bin=    # its directory of programs
temp_config=     # settings for every private server
sockets=         # the directory of a private server's socket
server_port=5432 # the private server's port
server_host=     # its address, if it has no socket
foreign=${RUN_FOREIGN:-}  # the system that the server is for, see test/foreign/lib.sh
roots=${PG_COMB_ROOTS:-${XDG_CACHE_HOME:-/var/cache}/pg_comb/roots}  # other systems of Debian
declare -A emulator=([arm64]=aarch64 [s390x]=s390x)  # QEMU's names of machines
python=/usr/bin/python3  # that of the distribution's packages
[ -x "$python" ] || python=python3

# The user's own connection settings and a calling make's options must not
# reach the servers and builds in here.
for name in $(compgen -e PG | grep -vE '^PG_(CONFIG|COMB_ROOTS)$') MAKEFLAGS MFLAGS MAKELEVEL; do
	unset "$name"
done
unset name

say() { printf '%s\n' "$*"; }
die() { printf '%s\n' "$*" >&2; exit 2; }
have() { command -v "$1" >/dev/null 2>&1; }
is_debian() { [ -f /etc/debian_version ] && have apt-get; }
is_root() { [ "$(id -u)" -eq 0 ]; }

# Prints the last lines of a file as comments of TAP.
show_tail() { tail -n "${2:-40}" "$1" 2>/dev/null | sed 's/^/# /'; }

# tap NUMBER NAME COMMAND...: prints one test, and what a failing command said
tap() {
	local number=$1 name=$2 log=$work/log/tap.$$
	shift 2
	if "$@" >"$log" 2>&1; then
		say "ok $number - $name"
	else
		say "not ok $number - $name"
		show_tail "$log" 80
		return 1
	fi
}

# seed LIST TITLE FILE...: writes a fault into one of the files, and prints what to run
seed() { perl "-I$tree/test/perl" -MCombSeeds -e 'print seed(@ARGV)' "$@"; }

# Prints as comments what servers logged of a crash, without the many lines that follow from it.
show_crash() {
	grep -shE 'TRAP: |PANIC: |FATAL: |terminated by signal|Failed process was running' "$@" |
		grep -vE 'the database system is|terminating connection' | tail -n 15 | sed 's/^/# /'
}

# logs_quiet FILE LOG...: fails if servers have logged a warning, a panic or a crash, and shows it, once in a run.  A test
# whose file has a line "# logged: PATTERN", as a comment of its language, expects what matches.  Lines that begin with a
# tab, and statements, are a test's own words.
logs_quiet() {
	local lines shown=$work/log/complaints
	touch "$shown" 2>/dev/null
	lines=$(awk -F ':  ' '!/^\t/ && ($1 ~ /(WARNING|PANIC)$/ || /^TRAP: / || $2 ~ /^(leaked|inconsistent page) / ||
			$2 ~ /was terminated by / && $2 !~ /by signal (9|15)(:|$)/)' "${@:2}" |
		grep -vE -f <(sed -nE 's,^(#|--|//) logged: ,,p' "$1") | grep -vxF -f "$shown" | tee -a "$shown")
	[ -z "$lines" ] && return
	say "# A server has logged what the test does not name:"
	tail -n 8 <<<"$lines" | sed 's/^/# /'
	return 1
}

skip_all() { say "1..0 # SKIP $*"; exit 0; }

#
# The server, and what the machine lacks
#

pg_dir() { "$PG_CONFIG" "--$1" 2>/dev/null; }

# Only a pg_config with makefiles and headers counts.  The pg_config of libpq's
# package has neither, and Debian's client package has no headers.
has_pgxs() {
	[ -f "$("$1" --pgxs 2>/dev/null)" ] &&
		[ -f "$("$1" --includedir-server 2>/dev/null)/postgres.h" ]
}

# Sets PG_CONFIG, major and postgres_bin.  Without PG_CONFIG the newest server counts that extensions can be built for.
# Packages can complete Debian's newest one, or bring the distribution's.  PG_CONFIG stays empty if there is none.
choose_server() {
	local candidate debians=/usr/lib/postgresql/
	PG_CONFIG=${PG_CONFIG:+$(command -v "$PG_CONFIG" || say "$PG_CONFIG")}
	for candidate in $(compgen -G "$debians*/bin/pg_config" | sort -rV) pg_config; do
		[ -n "$PG_CONFIG" ] || ! has_pgxs "$candidate" || PG_CONFIG=$(command -v "$candidate")
	done
	if [ -z "$PG_CONFIG" ] && is_debian; then
		PG_CONFIG=$({ compgen -G "$debians*/bin/pg_config" | sort -rV
			apt-cache depends postgresql 2>/dev/null |
				sed -n "s,.*Depends: postgresql-\([0-9]*\)\$,$debians\1/bin/pg_config,p"; } | head -n 1)
	fi
	major=$({ pg_dir version || say "${PG_CONFIG#"$debians"}"; } | sed 's/^[^0-9]*\([0-9]*\).*/\1/')
	postgres_bin=$(pg_dir bindir)
}

# Prints a line for each thing that the groups need and the machine lacks, and Debian's package with it.  Packages can
# only complete a server that came as a package itself.
lacking() {
	local groups thing package share tests server=postgresql repack=postgresql
	share=$(pg_dir sharedir)/extension
	tests=$(pg_dir pgxs)
	tests=${tests%/makefiles/pgxs.mk}/test
	case $PG_CONFIG in /usr/lib/postgresql/*) ;; *) server=- repack=- ;; esac
	[ "${major:-0}" -lt 19 ] || repack=-
	while read -r groups thing package; do
		[[ " $* " =~ \ (${groups//,/|})\  ]] || continue
		case $thing in
			/*) [ -e "$thing" ] ;;
			*::*) perl "-M$thing" -e 1 2>/dev/null ;;
			python:*) "$python" -c "import ${thing#*:}" 2>/dev/null ;;
			ruby:*) ruby -r logger -r "${thing#*:}" -e '' 2>/dev/null ;;
			php:*) php -r "exit(extension_loaded('${thing#*:}') ? 0 : 1);" 2>/dev/null ;;
			*) have "$thing" ;;
		esac || say "$thing $package"
	done <<-END
		build           make                                 make
		build,versions  prove                                perl
		build,Cargo     cc                                   gcc
		build           $postgres_bin/postgres               $server-$major
		build           $(pg_dir includedir-server)/postgres.h  $server-server-dev-$major
		warnings        gcc                                  gcc
		warnings,analyzer  clang                             clang
		regress         $tests/regress/pg_regress            $server-client-$major
		pgtap           $share/pgtap.control                 $server-$major-pgtap
		tap             IPC::Run                             libipc-run-perl
		tap             $tests/perl/PostgreSQL/Test/Cluster.pm  $server-client-$major
		tap             faketime                             faketime
		extensions      $share/pgtap.control                 $server-$major-pgtap
		extensions      $share/pg_repack.control             $repack-$major-repack
		house           shellcheck                           shellcheck
		dist            git                                  git
		dist            unzip                                unzip
		partitioning    $share/pg_partman.control            $server-$major-partman
		partitioning    $share/timescaledb.control           $server-$major-timescaledb
		dbd-pg          DBD::Pg                              libdbd-pg-perl
		cluster         patroni                              patroni
		cluster         etcd                                 etcd-server
		cluster         /usr/lib/python3/dist-packages/etcd  python3-etcd
		cluster         pgrep                                procps
		npm             node                                 nodejs
		npm,message-db  npm                                  npm
		Go              go                                   golang-go
		Cargo           cargo                                cargo
		Cargo           pg_config                            libpq-dev
		Maven,jdbc,jdbc-feed,kafka-connect  javac                      default-jdk-headless
		Maven,kafka-connect,spark  mvn                       maven
		hibernate,jooq,mybatis,spring,r2dbc,flyway  mvn      -
		PyPI,dlt,dbt,singer,spark  python:ensurepip          python3-venv
		psycopg2        python:psycopg2                      python3-psycopg2
		psycopg3,psycopg3-feed,sqlalchemy,django  python:psycopg           python3-psycopg
		asyncpg         python:asyncpg                       python3-asyncpg
		sqlalchemy      python:sqlalchemy.orm.bulk_persistence  python3-sqlalchemy
		sqlalchemy      python:alembic                       alembic
		django          python:django.db.models.fields.generated  python3-django
		jdbc,jdbc-feed  /usr/share/java/postgresql.jar       libpostgresql-jdbc-java
		activerecord    ruby:pg                              ruby-pg
		activerecord    ruby:active_record                   ruby-activerecord
		spark           java                                 default-jre-headless
		pdo             php                                  php-cli
		pdo             php:pdo_pgsql                        php-pgsql
		charts          gnuplot                              gnuplot-nox
		callgrind       valgrind                             valgrind
		source          dpkg-source                          dpkg-dev
		source          bison                                bison
		source          flex                                 flex
		analyzer        cppcheck                             cppcheck
		windows         wine                                 wine
		windows         x86_64-w64-mingw32-gcc               gcc-mingw-w64-x86-64-win32
		windows         gendef                               mingw-w64-tools
		windows         clang                                clang
		windows         zip                                  zip
		windows,alpine  unzip                                unzip
		alpine          musl-gcc                             musl-tools
		alpine          xz                                   xz-utils
		contrib         $share/pgstattuple.control           $server-$major
		versions        mmdebstrap                           mmdebstrap
		models          spin                                 spin
		machines        arch-test                            arch-test
		emulation       /usr/lib/binfmt.d/qemu-s390x.conf    qemu-user-static
	END
}

# Prints what the groups lack as one list, nothing if they lack nothing.  CombHarness.pm knows by Debian's package that the
# tool could be there.
lacks() { lacking "$@" | sed -E 's/ -.*//; s/ (.*)/ (Debian: \1)/' | sort -u | paste -s -d , - | sed 's/,/, /g'; }

# The groups of tools that a source of test/run has to have, for a client its registry or itself
group() {
	case $1 in
		t/000_house) say tap house ;;
		t/*) say tap extensions ;;
		upgrade) say tap ;;
		cluster/* | partitioning/*) say tap "${1%%/*}" ;;
		clients/*) registry "${1#*/}" | grep . || say "${1#*/}" ;;
		pipelines/*) say tap; pipeline_tool "${1#*/}" ;;
		models/layouts/*) say versions ;;
		*) say "${1%%/*}" ;;
	esac
}

# Prints the arguments, less RUN_LEAVE_OUT.
chosen() {
	local name
	for name in "$@"; do
		case " ${RUN_LEAVE_OUT:-} " in *" ${name##*/} "*) ;; *) say "$name" ;; esac
	done
}

# needs GROUP...: "needs", and what the groups lack
needs() { lacks "$@" | sed 's/^./needs &/'; }

need() { [ -z "$(lacks "$@")" ] || die "Please install what is missing: $(lacks "$@")"; }

# ensure GROUP...: the first group is indispensable.  What stays missing of the others is for the caller to name.
ensure() {
	local packages
	choose_server
	[[ -n $postgres_bin || -z $PG_CONFIG || $PG_CONFIG = /usr/lib/postgresql/* ]] ||
		die "$PG_CONFIG is no pg_config: name the server's pg_config in PG_CONFIG."
	if is_debian; then
		if [ -z "$PG_CONFIG" ] && is_root; then
			apt-get -qq update >/dev/null 2>&1
			choose_server
		fi
		# A package that is there and does not bring what it should is no help.
		mapfile -t packages < <(comm -23 <(lacking "$@" | sed -n 's/.* \([^-]\)/\1/p' | sort -u) \
			<(dpkg-query -W -f '${db:Status-Abbrev} ${Package}\n' | sed -n 's/^.i. //p' | sort -u))
		if [ ${#packages[@]} -gt 0 ]; then
			is_root || die "Please install what is missing, as root: apt-get install -y --no-install-recommends ${packages[*]}"
			install_packages "${packages[@]}"
			choose_server
		fi
	fi
	[ -n "$PG_CONFIG" ] || [ "$1" = versions ] ||
		die "Please install PostgreSQL with its server development files, or name its pg_config in PG_CONFIG."
	need "$1"
	export PG_CONFIG
}

# Installs those of the packages that the system has.  With the first server package Debian makes a cluster and starts
# it, unless a file says no.  Another program may be installing packages, such as unattended-upgrades.
install_packages() {
	local log package no_cluster=/etc/postgresql-common/createcluster.d/pg_comb-setup.conf
	log=$(mktemp) || die "No temporary file can be made."
	apt-get -qq update >"$log" 2>&1
	for package in "$@"; do
		! apt-cache policy "$package" | grep -q 'Candidate: [^(]' || installed+=("$package")
	done
	[ ${#installed[@]} -gt 0 ] || return 0
	say "Installing what is missing: ${installed[*]}"
	# shellcheck disable=SC2064 # the name as it is now
	trap "rm -f $no_cluster" EXIT
	mkdir -p "${no_cluster%/*}" && say "create_main_cluster = false" >"$no_cluster"
	DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 install -y --no-install-recommends \
		"${installed[@]}" >>"$log" 2>&1 </dev/null ||
		die "apt-get could not install ${installed[*]}; its messages are in $log."
	rm -f "$no_cluster" "$log"
}

#
# Other systems
#

# isolated NAME COMMAND...: in namespaces of its own.  Nobody else sees what the command mounts, and what it starts ends
# with it.  QEMU runs programs of another machine, until the namespaces end.
isolated() {
	# shellcheck disable=SC2016 # variables of the inner shell
	bounded unshare --mount --pid --fork --kill-child --mount-proc bash -c 'formats=/proc/sys/fs/binfmt_misc
		if [ -n "$0" ]; then
			[ -e $formats/register ] || mount -t binfmt_misc binfmt_misc $formats || exit
			[ -e "$formats/qemu-$0" ] || cat "/usr/lib/binfmt.d/qemu-$0.conf" >$formats/register || exit
		fi
		"$@"' "${emulator[$1]:-}" "${@:2}"
}

# make_system NAME SUITE PACKAGES [OPTION | MIRROR]...: a system of Debian, unless the directory
# $roots/NAME is there.  mmdebstrap works under another name, so that the directory is always a
# whole system.  Its messages are in $work/log/NAME-system.
make_system() {
	local root=$roots/$1 lock status=0 options=(--mode=root --variant=apt --aptopt='Acquire::Retries "3"'
		--dpkgopt=path-exclude=/usr/share/{man,locale,doc}/\* --dpkgopt=force-unsafe-io)
	# Mirrors may keep these as of some day.
	case $2 in sid | forky) options+=(--aptopt='Acquire::Check-Valid-Until "false"') ;; esac
	mkdir -p "$roots" && exec {lock}>"$root.lock" && flock "$lock" || return
	if [ ! -d "$root" ]; then
		rm -rf --one-file-system "$root.new"
		limit=3600 isolated "$1" mmdebstrap "${options[@]}" "--include=$3" "$2" "$root.new" "${@:4}" \
			>"$work/log/$1-system" 2>&1 && mv -T "$root.new" "$root"
		status=$?
		rm -rf --one-file-system "$root.new"
	fi
	exec {lock}>&-
	return "$status"
}

#
# The directory, its owner, bounded commands, and the end
#

# PostgreSQL refuses to run as root, and the user that stands in for root cannot read a clone in root's home: hence the
# copies.  Paths stay short, because a Unix socket's path has to fit into 107 bytes.
begin() {
	local base=${TMPDIR:-/tmp}
	[ ${#base} -le 30 ] || base=/tmp
	trap cleanup EXIT
	trap 'exit 129' HUP
	trap 'exit 130' INT
	trap 'exit 143' TERM
	work=$(mktemp -d "$base/pg_comb.XXXXXX") || die "No directory can be made in $base."
	mkdir "$work/log" "$work/tmp" "$work/s"
	sockets=$work/s
	set_owner
	[ "${owner[0]}" = env ] || chown -R postgres "$work"
	as_owner test -w "$work" ||
		die "The user postgres cannot write in $base: set TMPDIR to a directory that it can reach."
	cd "$work" || exit 2
	exec </dev/null
}

# How a script begins that prove runs, for one source of another script
begin_source() {
	work=$COMB_WORK
	sockets=$work/s
	exec 2>&1
	trap end_running EXIT
	trap 'exit 143' HUP INT TERM
	[ -z "${PG_CONFIG:-}" ] || choose_server
	set_owner
}

set_owner() {
	[ "$plain" = no ] || return 0
	owner=(env "HOME=$work" "TMPDIR=$work/tmp" "PATH=$postgres_bin:$PATH" LC_ALL=C)
	is_root || return 0
	id postgres >/dev/null 2>&1 && have setpriv || die "PostgreSQL does not run as root: run this as an ordinary user."
	owner=(setpriv --reuid=postgres --regid=postgres --init-groups "${owner[@]}")
}

as_owner() { "${owner[@]}" "$@"; }

# Runs a command as the owner, for at most $limit seconds.  It waits for a job, because bash acts on a signal only when
# the command in the foreground has ended.  timeout hands the signal on to all children.
bounded() {
	local status
	timeout --kill-after=30 "$limit" "${owner[@]}" "$@" <&0 &
	wait "$!"
	status=$?
	[ "$status" -ne 124 ] || say "# Stopped: this took longer than $limit seconds."
	return "$status"
}

end_running() {
	local pids
	pids=$(jobs -pr)
	[ -n "$pids" ] || return 0
	# A wait for everything would also wait for the output of part, which this shell holds open.
	# shellcheck disable=SC2086 # a list of words
	{ kill $pids 2>/dev/null; wait $pids; }
}

# Stops every server whose data directory is in $work, the tests' own too.  The file may be left from a server that was
# killed, so the process must sit in the data directory.
stop_servers() {
	local file pid data
	find "$work" -xdev -name postmaster.pid -type f 2>/dev/null | while read -r file; do
		data=$(dirname "$file")
		pid=$(head -n 1 "$file")
		if [ ! -d /proc/self ] || [ "$(readlink "/proc/$pid/cwd")" = "$data" ]; then
			as_owner pg_ctl -D "$data" -m immediate -w -t 30 stop >/dev/null 2>&1
		fi
	done
}

cleanup() {
	local status=$?
	trap - EXIT HUP INT TERM
	end_running
	stop_servers
	cd / || exit 1
	# A server that is going down may still write.
	[ "$keep" = yes ] || rm -rf --one-file-system "$work" 2>/dev/null || { sleep 1; rm -rf --one-file-system "$work"; }
	exit "$status"
}

# prove_each COMMAND [OPTION | SOURCE]...: prove runs the command with each source, as the owner, counts, and prints the
# closing line.  The options are prove's.  The directory stays if a test failed.  Without --merge prove would look at a
# second pipe of each source.  A source closes that pipe when it begins, and prove would then wait for the source's first
# line, and start nothing meanwhile.  The owner cannot read a tree in root's home, hence the copy of the harness.
prove_each() {
	cat "$tree/test/perl/CombHarness.pm" >"$work/CombHarness.pm"
	PERL5LIB=$work HARNESS_NOTTY=1 COMB_WORK=$work \
		limit=36000 bounded prove --norc --merge --timer --harness CombHarness --exec "$@" && return
	keep=yes
	return 1
}

passed=0 failed=0 skipped=0 rows='' failures=''

# Prints the three numbers of a log's closing line, if it has one.  After a failure make has the last word.
counts() { sed -nE '$s/^([0-9]+) passed, ([0-9]+) failed, ([0-9]+) skipped$/\1 \2 \3/p' <(grep -v '^make: ' "$1"); }

# part NAME COMMAND...: shows what a script says that counts tests, and adds up its closing
# line and its lines of failures.  One that ends without a closing line, or with an error and
# no failure, has failed.
part() {
	local name=$1 log=$work/log/${1//[^[:alnum:]]/-}.out out shown status line good=0 bad=0 left=0
	exec {out}> >(tee "$log" | sed -u "s,^,$name: ,")
	shown=$!
	(trap end_running EXIT; trap 'exit 143' HUP INT TERM; "${@:2}") >&"$out" 2>&1 &
	wait "$!"
	status=$?
	exec {out}>&-
	wait "$shown"
	line=$(counts "$log")
	[ -z "$line" ] || read -r good bad left <<<"$line"
	if [ -z "$line" ] || [ "$status" -ne 0 ] && [ "$bad" -eq 0 ]; then
		say "$name: ended early, with status $status"
		say "ended early, with status $status" >>"$log"
		bad=1
	fi
	[ "$bad" -eq 0 ] || failures+=$({ grep '^Failed: ' "$log" || grep . "$log" | tail -n 6; } | sed -E "s,^(Failed: )?,Failed: $name: ,")$'\n'
	passed=$((passed + good)) failed=$((failed + bad)) skipped=$((skipped + left))
	rows+="| $name$(sed -n 's/^Testing pg_comb with \(.*\)\.$/: \1/p' "$log") | $good | $bad | $left | $(date -u +%F) |"$'\n'
}

# skip_part REASON: ends a part that cannot be run.
skip_part() { say "skipped: $*"; say "0 passed, 0 failed, 1 skipped"; exit 0; }

# close_report [LEAST]: the table of the parts, their failures, and the line of all.  Fewer
# passed tests than LEAST are a failure, and so are none at all.
close_report() {
	if [ "$passed" -lt "${1:-0}" ] || [ "$((passed + failed + skipped))" -eq 0 ]; then
		failures+="Failed: fewer than ${1:-1} tests have passed"$'\n'
		failed=$((failed + 1))
	fi
	[ -z "$rows" ] || printf '\n| server | passed | failed | skipped | date |\n|---|---:|---:|---:|---|\n%s' "$rows"
	[ -z "$failures" ] || printf '\n%s' "$failures"
	[ "$failed" -eq 0 ] || { keep=yes; say; say "Logs and data directories are left in $work."; }
	printf '\n%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
	[ "$failed" -eq 0 ]
}

#
# The copy, the build, the server
#

# source_files START... EXPRESSION...: as find, without what a build leaves behind.  With RUN_OBJECTS object files are
# among them, for test/mutants.
source_files() {
	local starts=() left=(-name '*.zip')
	while [[ $1 != [-!]* ]]; do starts+=("$1"); shift; done
	[ -n "${RUN_OBJECTS:-}" ] || left+=(-o -name '*.o' -o -name '*.so')
	find "${starts[@]}" \( -name .git -o -name results -o -name 'tmp_check*' -o -name 'build-*' -o -name node_modules \
		-o -name bin -o -name obj \) -prune -o -type f ! \( "${left[@]}" \) "$@"
}

copy_tree() {
	as_owner mkdir -p "$1" && (cd "$tree" && source_files . -print0) | tar -C "$tree" --null -T - -cf - | as_owner tar -C "$1" -xf -
}

# build DIR STAGE [argument of make]...
build() {
	local make=(make -s -C "$1" "PG_CONFIG=$PG_CONFIG" "${@:3}")
	bounded "${make[@]}" && bounded "${make[@]}" "DESTDIR=$2" install
}

# Writes the settings by which a server finds the extension in a stage: 18 has a search path, and Debian's packages of
# older versions have their own.
use_stage() {
	local stage=$1 share known
	share=$(pg_dir sharedir)
	known=$(as_owner "$postgres_bin/postgres" --describe-config | cut -f 1)
	temp_config=$stage.conf
	if grep -qx extension_control_path <<<"$known"; then
		say "extension_control_path = '$stage$share:\$system'" >"$temp_config"
	elif grep -qx extension_destdir <<<"$known"; then
		say "extension_destdir = '$stage'" >"$temp_config"
	elif [ -f "$share/extension/pg_comb.control" ]; then
		say "PostgreSQL $major cannot load from a private directory: using the pg_comb installed in $share."
		: >"$temp_config"
		return
	else
		die "PostgreSQL $major cannot load from a private directory: run make install first, then this again."
	fi
	say "dynamic_library_path = '$stage$(pg_dir pkglibdir):\$libdir'" >>"$temp_config"
}

# copy_and_build: both into $work, for scripts with one server.  A server of test/foreign gets the module by an archive.
copy_and_build() {
	local build=(build "$work/src" "$work/stage")
	copy_tree "$work/src" || exit 2
	[ -z "$foreign" ] || build=(foreign_build "$work/src")
	if ! "${build[@]}" >"$work/log/build" 2>&1; then
		say "The module does not compile:"
		show_tail "$work/log/build"
		return 1
	fi
	if [ -n "$foreign" ]; then temp_config=$work/stage.conf; : >"$temp_config"; else use_stage "$work/stage"; fi
}

# A port that nobody listens on
free_port() { perl -MIO::Socket::INET -e 'print IO::Socket::INET->new(Listen => 1, LocalAddr => "127.0.0.1")->sockport'; }

# start_server NAME [setting]...: reachable in the directory $sockets only, or as Windows has no sockets, on the loopback
# interface
start_server() {
	local name=$1 data=$work/$1 socket=$sockets
	as_owner mkdir -p "$sockets" && as_owner touch "$work/template.lock" || return
	[ "$foreign" != windows ] || { server_host=127.0.0.1 server_port=$(free_port) socket=; }
	# All are copies of one, which the first of them makes.
	(
		flock 9
		[ -d "$work/template" ] || bounded initdb -D "$work/template" -U postgres -A trust -E UTF8 --locale=C --no-sync
	) 9>>"$work/template.lock" >"$work/log/$name.initdb" 2>&1 || { cat "$work/log/$name.initdb"; return 1; }
	as_owner cp -R "$work/template" "$data" || return
	{
		cat "$temp_config"
		printf '%s\n' "listen_addresses = '$server_host'" "unix_socket_directories = '$socket'" \
			"port = $server_port" "timezone = 'UTC'" "log_timezone = 'UTC'" "${@:2}"
	} >>"$data/postgresql.conf"
	bounded pg_ctl -D "$data" -w -t 60 -l "$work/log/$name.log" start >"$work/log/$name.start" 2>&1 ||
		{ cat "$work/log/$name".{start,log}; return 1; }
}

stop_server() { bounded pg_ctl -D "$work/$1" -m fast -w -t 60 stop >/dev/null; }

# psql on a private server: stops at the first error, prints rows only.
sql() {
	bounded psql -X -q -A -t -v ON_ERROR_STOP=1 -h "${server_host:-$sockets}" -p "$server_port" -U postgres "$@"
}
