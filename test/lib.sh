# shellcheck shell=bash
#
# test/lib.sh - what the scripts under test/ share
#
# Sourced, never run.  Each script works in one fresh directory that belongs
# to that run alone: the tree is copied there, built there, installed
# into a stage there, and private servers find the extension in the stage by
# their settings.  Nothing is written to the tree, to the system's PostgreSQL
# or to a network port, and the directory is removed at the end.
#
# A script calls, in this order:
#   ensure GROUP...   have the tools, or install them, or say what to install
#   begin             make the directory and decide who owns it
#   copy_tree DIR     the tree, as of now, into DIR
#   build DIR STAGE   compile there and install into STAGE
#   use_stage STAGE   write the settings by which a server finds it
#   start_server ...  as many as it likes; all are stopped on any exit
# test/all works in other systems, where it calls the others.

set -u

tree=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd) || exit 2

work=            # the directory of this run
owner=(env)      # prefix of every command that must not run as root
running=         # process id of the command that bounded() waits for
deadline=        # of the current step, on bash's SECONDS clock
keep=${KEEP:-no}  # yes: leave the directory for inspection, said by the caller
drop_in=         # a configuration file to take back, see install_packages()
installed=       # packages that ensure() installed
unavailable=' '  # packages that this system does not have, between blanks
major=           # major version of the server
postgres_bin=    # its directory of programs
temp_config=     # settings for every private server
initdb_options=()  # of a script's own

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

# Last lines of a file, indented, under a heading that names the file.
show_tail() {
	[ -s "$1" ] || return 0
	say "--- end of $1"
	tail -n "${2:-40}" "$1" | sed 's/^/    /'
}

#
# The server, and what the machine lacks
#

# Only a pg_config with makefiles and headers counts: the one of libpq's package
# has none, and Debian's client package has the makefiles without the headers.
has_pgxs() {
	local makefile headers
	makefile=$("$1" --pgxs 2>/dev/null) && [ -f "$makefile" ] &&
		headers=$("$1" --includedir-server 2>/dev/null) && [ -f "$headers/postgres.h" ]
}

newest_pg_config() {
	local candidate
	for candidate in $(printf '%s\n' /usr/lib/postgresql/*/bin/pg_config | sort -rV) pg_config; do
		if has_pgxs "$candidate"; then
			command -v "$candidate"
			return
		fi
	done
}

# The newest server installed, else the one that the distribution prefers.
debian_major() {
	local found
	found=$(printf '%s\n' /usr/lib/postgresql/*/bin/postgres | sort -rV |
		sed -n 's,^/usr/lib/postgresql/\([0-9]*\)/.*,\1,p' | head -n 1)
	if [ -z "$found" ]; then
		found=$(apt-cache depends postgresql 2>/dev/null |
			sed -n 's/.*Depends: postgresql-\([0-9]*\)$/\1/p' | head -n 1)
	fi
	printf '%s' "$found"
}

# Sets PG_CONFIG, major and postgres_bin; an empty major means that even the
# package lists name no PostgreSQL.
choose_server() {
	local named=${PG_CONFIG:-}
	if [ -n "$named" ]; then
		PG_CONFIG=$(command -v "$named" || printf '%s' "$named")
	else
		PG_CONFIG=$(newest_pg_config)
	fi
	if [ -z "$PG_CONFIG" ] && is_debian; then
		major=$(debian_major)
		[ -z "$major" ] || PG_CONFIG=/usr/lib/postgresql/$major/bin/pg_config
	elif [ -x "$PG_CONFIG" ]; then
		major=$("$PG_CONFIG" --version | sed 's/^[^0-9]*\([0-9]*\).*/\1/')
	else
		major=$(printf '%s' "$PG_CONFIG" | sed -n 's,^/usr/lib/postgresql/\([0-9]*\)/.*,\1,p')
	fi
	postgres_bin=$(pg_dir bindir)
}

pg_dir() { "$PG_CONFIG" "--$1" 2>/dev/null; }

# One line per missing thing: the Debian package that has it, a tab, its name.
# Packages can only complete a server that came as a package itself.
lack() { printf '%s\t%s\n' "$1" "$2"; }
lack_of_server() {
	case $PG_CONFIG in
		/usr/lib/postgresql/*) lack "$1" "$2" ;;
		*) lack - "$2 of $PG_CONFIG" ;;
	esac
}

lacking() {
	local share tests
	share=$(pg_dir sharedir)
	tests=$(pg_dir pgxs)
	tests=${tests%/makefiles/pgxs.mk}/test
	case $1 in
		build)
			have make || lack make make
			have gcc || have cc || lack gcc "a C compiler"
			[ -e /usr/include/stdio.h ] || ! is_debian || lack libc6-dev "C headers"
			[ -x "$postgres_bin/postgres" ] ||
				lack_of_server "postgresql-$major" "the server"
			has_pgxs "$PG_CONFIG" ||
				lack_of_server "postgresql-server-dev-$major" "the extension makefiles" ;;
		warnings)
			have gcc || lack gcc gcc
			have clang || lack clang clang ;;
		regress)
			[ -x "$tests/regress/pg_regress" ] ||
				lack_of_server "postgresql-client-$major" pg_regress ;;
		isolation)
			[ -x "$tests/isolation/pg_isolation_regress" ] ||
				lack_of_server "postgresql-client-$major" pg_isolation_regress ;;
		pgtap | ubsan)
			have pg_prove || lack libtap-parser-sourcehandler-pgtap-perl pg_prove
			[ -f "$share/extension/pgtap.control" ] ||
				lack_of_server "postgresql-$major-pgtap" "pgTAP" ;;
		tap)
			have prove || lack perl prove
			perl -MIPC::Run -e 1 2>/dev/null || lack libipc-run-perl IPC::Run
			[ -f "$tests/perl/PostgreSQL/Test/Cluster.pm" ] ||
				lack_of_server "postgresql-client-$major" "PostgreSQL::Test::Cluster"
			have faketime || lack faketime faketime ;;
		node)
			have node || lack nodejs node
			have npm || lack npm npm ;;
		charts)
			have gnuplot || lack gnuplot-nox gnuplot ;;
		callgrind)
			have valgrind || lack valgrind valgrind ;;
		source)
			have dpkg-source || lack dpkg-dev dpkg-source
			have patch || lack patch patch
			have bison || lack bison bison
			have flex || lack flex flex ;;
		jit)
			[ -e "$(pg_dir pkglibdir)/llvmjit.so" ] ||
				lack_of_server "postgresql-$major-jit" "the JIT compiler" ;;
		analyzer)
			have clang || lack clang clang
			have cppcheck || lack cppcheck cppcheck ;;
		contrib)
			[ -f "$share/extension/pgstattuple.control" ] ||
				lack_of_server "postgresql-$major" "contrib's pgstattuple" ;;
	esac
}

# What a group lacks, in words; empty if nothing.
lacks() {
	lacking "$1" | cut -f 2 | sort -u | paste -s -d , - | sed 's/,/, /g'
}

# Packages to install for the groups: not those that this system does not have,
# nor one that is there and does not bring what it should.
missing_packages() {
	local group
	for group in "$@"; do
		lacking "$group"
	done | cut -f 1 | sort -u | while read -r package; do
		case "$unavailable- " in
			*" $package "*) continue ;;
		esac
		dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q ' installed$' ||
			printf '%s\n' "$package"
	done
}

# Makes sure that the tools of the named groups are there.  The first group is
# indispensable; what stays missing of the others is for the caller to name.
ensure() {
	local packages
	choose_server
	if [ -n "$PG_CONFIG" ] && lacking "$1" | grep -q '^-'; then
		die "Please install what is missing: $(lacks "$1")"
	fi
	if is_debian; then
		if [ -z "$PG_CONFIG" ] && is_root; then
			apt-get -qq update >/dev/null 2>&1
			choose_server
		fi
		[ -n "$PG_CONFIG" ] ||
			die "The package lists name no PostgreSQL: run apt-get update as root, then this again."
		packages=$(missing_packages "$@" | paste -s -d ' ' -)
		if [ -n "$packages" ]; then
			is_root || die "Please install what is missing, as root: apt-get install -y --no-install-recommends $packages"
			# shellcheck disable=SC2086 # a list of words
			install_packages $packages
			choose_server
		fi
	fi
	[ -n "$PG_CONFIG" ] ||
		die "Please install PostgreSQL with its server development files, or name its pg_config in PG_CONFIG."
	[ -z "$(lacks "$1")" ] || die "Please install what is missing: $(lacks "$1")"
	export PG_CONFIG
}

# Debian creates and starts a cluster with the first server package.  Someone
# who came for a demonstration has not asked for one, so a drop-in says no
# while the packages are unpacked, and is taken back afterwards.
install_packages() {
	local log=/dev/null conf=/etc/postgresql-common/createcluster.d package wanted=()
	log=$(mktemp) || die "No temporary file can be made."
	apt-get -qq update >"$log" 2>&1
	for package in "$@"; do
		if apt-cache policy "$package" 2>/dev/null | grep -q 'Candidate: [^(]'; then
			wanted+=("$package")
		else
			unavailable="$unavailable$package "
		fi
	done
	[ ${#wanted[@]} -gt 0 ] || { rm -f "$log"; return; }
	say "Installing what is missing: ${wanted[*]}"
	trap 'take_back_drop_in' EXIT
	drop_in=$conf/pg_comb-setup.conf
	mkdir -p "$conf" && printf 'create_main_cluster = false\n' >"$drop_in"
	if ! DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends \
		"${wanted[@]}" >>"$log" 2>&1 </dev/null; then
		die "apt-get could not install ${wanted[*]}; its messages are in $log."
	fi
	take_back_drop_in
	rm -f "$log"
	installed="${wanted[*]}"
}

take_back_drop_in() {
	[ -n "$drop_in" ] || return 0
	rm -f "$drop_in"
	rmdir "$(dirname "$drop_in")" 2>/dev/null
	drop_in=
}

#
# The directory, its owner, and the end
#

# PostgreSQL refuses to run as root, and the user that stands in for root
# cannot read a clone in root's home: hence the copies.  Paths stay short,
# because a Unix socket's has to fit into 107 bytes.
begin() {
	local base=${TMPDIR:-/tmp}
	[ ${#base} -le 30 ] || base=/tmp
	trap cleanup EXIT
	trap 'exit 129' HUP
	trap 'exit 130' INT
	trap 'exit 143' TERM
	work=$(mktemp -d "$base/pg_comb.XXXXXX") || die "No directory can be made in $base."
	mkdir "$work/log" "$work/tmp" "$work/s"
	owner=(env "HOME=$work" "TMPDIR=$work/tmp" "PATH=$postgres_bin:$PATH" LC_ALL=C)
	if is_root; then
		if ! id postgres >/dev/null 2>&1 || ! have setpriv; then
			die "PostgreSQL does not run as root: run this as an ordinary user."
		fi
		chown -R postgres "$work"
		owner=(setpriv --reuid=postgres --regid=postgres --init-groups "${owner[@]}")
	fi
	"${owner[@]}" test -w "$work" ||
		die "The user postgres cannot write in $base: set TMPDIR to a directory that it can reach."
	cd "$work" || exit 2
}

as_owner() { "${owner[@]}" "$@"; }

# Runs a command as the owner, within what is left of the step's time.  It
# waits for a job instead of running the command in the foreground, because
# bash acts on Ctrl-C only when the foreground command has ended.
bounded() {
	local limit=() status
	if [ -n "$deadline" ] && have timeout; then
		limit=(timeout --kill-after=10 $((deadline > SECONDS ? deadline - SECONDS : 1)))
	fi
	"${limit[@]}" "${owner[@]}" "$@" <&0 &
	running=$!
	wait "$running"
	status=$?
	running=
	[ "$status" -ne 124 ] || say "Stopped: this took longer than the step's time limit."
	return "$status"
}

# Stops every server whose data directory is in $work, the tests' own too.  A
# process id is believed only if that process sits in the data directory: the
# file may be left from a server that was killed.
stop_servers() {
	local file pid data
	find "$work" -name postmaster.pid -type f 2>/dev/null | while read -r file; do
		data=$(dirname "$file")
		pid=$(head -n 1 "$file")
		if [ -d /proc/self ] && [ "$(readlink "/proc/$pid/cwd")" != "$data" ]; then
			continue
		fi
		as_owner pg_ctl -D "$data" -m immediate -w -t 30 stop >/dev/null 2>&1
	done
}

cleanup() {
	local status=$?
	trap - EXIT HUP INT TERM
	if [ -n "$running" ]; then
		kill "$running" 2>/dev/null
		wait "$running" 2>/dev/null
	fi
	stop_servers
	cd / || exit 1
	[ "$keep" = yes ] || rm -rf "$work"
	exit "$status"
}

#
# The copy, the build, the server
#

# Files of the tree as git sees them, changes and new files included; without
# git, or in an unpacked archive inside somebody else's repository, everything
# but what a build leaves behind.
tree_files() {
	local git=(git -c "safe.directory=*" -C "$tree") name
	if have git && [ "$("${git[@]}" rev-parse --show-toplevel 2>/dev/null)" = "$(cd "$tree" && pwd -P)" ]; then
		"${git[@]}" ls-files -z --cached --others --exclude-standard
	else
		(cd "$tree" && find . -name .git -prune -o \
			\( -name results -o -name 'tmp_check*' -o -name output_iso -o -name node_modules \) -prune -o \
			-type f ! -name '*.o' ! -name '*.so' ! -name '*.bc' -print0)
	fi | while IFS= read -r -d '' name; do
		# A file that is deleted but not yet committed is listed, too.
		if [ -e "$tree/$name" ]; then
			printf '%s\0' "$name"
		fi
	done
}

copy_tree() {
	as_owner mkdir -p "$1" &&
		tree_files | tar -C "$tree" --null -T - -cf - | as_owner tar -C "$1" -xf -
}

# build DIR STAGE [argument of make]...
build() {
	local dir=$1 stage=$2
	shift 2
	bounded make -s -C "$dir" with_llvm=no "PG_CONFIG=$PG_CONFIG" "$@" &&
		bounded make -s -C "$dir" with_llvm=no "PG_CONFIG=$PG_CONFIG" "$@" "DESTDIR=$stage" install
}

# Writes the settings by which a server finds the extension in a stage, beside
# those installed in the system.  They are settings of the server's version:
# 18 has a search path; Debian's packages of older versions have their own.
use_stage() {
	local stage=$1 share known
	share=$(pg_dir sharedir)
	known=$(as_owner postgres --describe-config | cut -f 1)
	temp_config=$stage.conf
	if grep -qx extension_control_path <<<"$known"; then
		printf "extension_control_path = '%s:\$system'\n" "$stage$share" >"$temp_config"
	elif grep -qx extension_destdir <<<"$known"; then
		printf "extension_destdir = '%s'\n" "$stage" >"$temp_config"
	elif [ -f "$share/extension/pg_comb.control" ]; then
		say "PostgreSQL $major cannot load from a private directory: using the pg_comb installed in $share."
		: >"$temp_config"
		return
	else
		die "PostgreSQL $major cannot load from a private directory: run make install first, then this again."
	fi
	printf "dynamic_library_path = '%s:\$libdir'\n" "$stage$(pg_dir pkglibdir)" >>"$temp_config"
}

# init_server NAME [setting]...: reachable in the directory $work/s only, at
# port 5432, which is no more there than a part of the socket's name.
init_server() {
	local name=$1 data=$work/$1
	shift
	bounded initdb -D "$data" -U postgres -A trust -E UTF8 --locale=C --no-sync \
		"${initdb_options[@]}" >"$work/log/$name.initdb" 2>&1 ||
		{ cat "$work/log/$name.initdb"; return 1; }
	{
		cat "$temp_config"
		printf '%s\n' "listen_addresses = ''" "unix_socket_directories = '$work/s'" \
			"port = 5432" "timezone = 'UTC'" "log_timezone = 'UTC'" "$@"
	} >>"$data/postgresql.conf"
}

run_server() {
	bounded pg_ctl -D "$work/$1" -w -t 60 -l "$work/log/$1.log" start \
		>"$work/log/$1.start" 2>&1 || { cat "$work/log/$1.start" "$work/log/$1.log"; return 1; }
}

# start_server NAME [setting]...: both
start_server() { init_server "$@" && run_server "$1"; }

stop_server() {
	bounded pg_ctl -D "$work/$1" -m fast -w -t 60 stop >/dev/null
}

# psql on a private server: stops at the first error, prints rows only.
sql() {
	bounded psql -X -q -A -t -v ON_ERROR_STOP=1 -h "$work/s" -p 5432 -U postgres "$@"
}
