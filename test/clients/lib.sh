# shellcheck shell=bash
#
# test/clients/lib.sh - running the client programs, for step clients of test/run
#
# Each client is one program in this directory, and prints TAP.  The program uses
# pg_comb as an ordinary user of the client would.  Each program gets a database of
# its own with pg_comb in the schema public.  The owner of the database is no
# superuser.  libpq's environment variables lead there.  Afterwards two more tests
# check that no object of the extension is missing, and that each query for a period
# used the primary key's index.
#
# What the clients need comes from Debian's packages, from NuGet and from npm.  npm installs into
# the run's own directory, in the versions of package-lock.json.  To update them,
# change package.json and run "npm install --package-lock-only" in its directory.

# test/run has read test/lib.sh before:
# shellcheck disable=SC2034,SC2154

# The names are also groups of lacking().
all_clients=(pg postgresjs knex kysely sequelize drizzle typeorm mikro-orm prisma
	psycopg2 psycopg3 asyncpg sqlalchemy django jdbc activerecord pgx pdo dbd-pg feed
	npgsql dapper efcore nhibernate linq2db marten npgsql-feed)

client_limit=300             # seconds, for one client
install_limit=600            # and for npm, or a build
node_wanted=20.19            # what the packages need

# The program of a client
program() { (cd "$tree/test/clients" && compgen -G "$1.*"); }

# Prints those of the clients that are programs for Node.js.
node_clients() {
	local client
	for client in "$@"; do
		case $(program "$client") in *.mjs) say "$client" ;; esac
	done
}

# The sources of those clients that are programs for .NET
dotnet_clients() {
	local client
	for client in "${all_clients[@]}"; do
		case $(program "$client") in *.cs) say "clients/$client" ;; esac
	done
}

lacks_node() {
	local version
	if [ -n "$(lacks node)" ]; then
		say "needs $(lacks node)"
	else
		version=$(node --version)
		[ "$(printf '%s\n' "$node_wanted" "${version#v}" | sort -V | head -n 1)" = "$node_wanted" ] ||
			say "needs Node.js $node_wanted, and ${version#v} is installed"
	fi
}

# The directory with the package-lock.json of a client
node_directory() { if [ "$1" = prisma ]; then say prisma; else say .; fi; }

# install_node_packages SOURCE...: what the clients among them need, in the run's own
# directory.  npm runs as the caller, so that it finds the caller's cache and
# settings.  It does not run the packages' scripts, see .npmrc.
install_node_packages() {
	local client directory log=$work/log/npm
	for directory in $([ -n "$(lacks_node)" ] || for client in $(node_clients "${@#clients/}"); do node_directory "$client"; done | sort -u); do
		say "Installing the packages of test/clients/$directory/package-lock.json ..."
		(cd "$work/src/test/clients/$directory" &&
			timeout --kill-after=10 "$install_limit" npm ci --fetch-retries=1) >"$log" 2>&1 && continue
		if grep -qE 'ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH' "$log"; then
			touch "$work/no-npm"
		fi
		say "npm cannot install the packages:"
		show_tail "$log"
	done
	! is_root || chown -R postgres "$work/src/test/clients"
}

jdbc_driver=/usr/share/java/postgresql.jar
pgx_package=golang-github-jackc-pgx-v4-dev

# Sets "command" for a program.  pgx does not know its version in a build without
# modules, which is how Debian's packages of Go are used.
# shellcheck disable=SC2016 # variables of sh
client_command() {
	case $1 in
		*.mjs) command=(node --test-reporter=tap "$1") ;;
		# A program has the name of the module that it imports, so its directory must not be
		# searched.  Python has an option for this from 3.11 on.
		*.py) command=(env PYTHONDONTWRITEBYTECODE=1 "$python" -c
			'import runpy, sys; sys.path[0] = "python"; runpy.run_path(sys.argv[1], run_name="__main__")' "$1") ;;
		*.rb) command=(ruby "$1") ;;
		*.php) command=(php "$1") ;;
		*.pl) command=(perl "$1") ;;
		*.cs) dotnet_command "clients/${1%.cs}" ;;
		*.java) command=(sh -c 'javac -d "$TMPDIR/java" -cp "$2" "$1" && exec java -cp "$2:$TMPDIR/java" Orders'
			sh "$1" "$jdbc_driver") ;;
		*.go) command=(env GO111MODULE=off GOPATH=/usr/share/gocode "GOCACHE=$work/tmp/go"
			"PGX_VERSION=$(dpkg-query -W -f '${Version}' "$pgx_package" 2>/dev/null)" go run "$1") ;;
	esac
}

# The extension's objects in a database, one per line
members() {
	sql -d "$1" -c "SELECT classid::regclass, pg_describe_object(classid, objid, objsubid)
		FROM pg_depend WHERE deptype = 'e' AND refclassid = 'pg_extension'::regclass
			AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'pg_comb')
		ORDER BY 1, 2"
}

# auto_explain writes each plan into the server's log, as a line with the database and
# lines that begin with a tab.  Tables are small, so the server may not scan them.
start_clients_server() {
	local explain=()
	temp_config=$work/stage.conf
	[ ! -f "$(pg_dir pkglibdir)/auto_explain.so" ] ||
		explain=("session_preload_libraries = 'auto_explain'" "auto_explain.log_min_duration = 0")
	start_server clients "pg_comb.snowflake_instance = 1" "log_line_prefix = '%d '" \
		"enable_seqscan = off" "${explain[@]}" && sql -d postgres -c "CREATE ROLE app LOGIN"
}

# periods_by_index DATABASE: of the plans with a period, of which a client of orders has
# at least eight, each has both bounds in an index condition.
periods_by_index() {
	local least=8
	[[ $1 != *feed ]] || least=0
	awk -v start="$1 LOG:  duration: " -v least="$least" '
		function judge() {
			if (period) { plans++; if (!bounds) { scans++; print plan } }
			period = bounds = 0; plan = ""
		}
		!/^\t/ { judge(); mine = index($0, start) == 1 && / plan:$/ }
		mine { plan = plan $0 "\n" }
		mine && /Filter: .*(<@|comb_created|comb_recheck)/ { period = 1 }
		mine && /Index Cond: .*id >= .* AND .*id <= / { bounds = 1 }
		END { judge(); print plans + 0 " plans with a period"; exit !(plans >= least && !scans) }' "$work/log/clients.log"
}

# Lines of subtests are indented: they are details of a test that failed.  A
# program that ends badly without a failed test fails by its status.
run_client() {
	local client=$1 log=$work/log/$1.log before=$work/log/$1.before after=$work/log/$1.after
	local file status passed command=() missing
	local sockets=$work/s/clients environment=("PGHOST=$work/s/clients" PGPORT=5432 PGUSER=app "PGDATABASE=$1" NO_COLOR=1)
	file=$(program "$client")
	missing=$(lacks "$client")
	missing=${missing:+needs $missing}
	case $file in
		*.mjs)
			missing=$(lacks_node)
			[ ! -f "$work/no-npm" ] || missing="npm cannot reach its registry" ;;
		*.cs) missing=$(lacks_program "clients/$client") ;;
	esac
	if [ -n "$missing" ]; then
		result "$client" "" "skipped: $missing"
		skip_all "$missing"
	fi
	[ -d "$work/clients" ] || start_clients_server || return
	sql -d postgres -c "CREATE DATABASE \"$client\" OWNER app" &&
		sql -d "$client" -c "SET ROLE app" -c "CREATE EXTENSION pg_comb_ordered SCHEMA public CASCADE" || return
	members "$client" >"$before"
	client_command "$file"
	cd "$work/src/test/clients" || return
	limit=$client_limit bounded env "${environment[@]}" "${command[@]}" >"$log" 2>&1
	status=$?
	members "$client" >"$after"
	# The lines of a stack are the client's own.
	sed -E '/^(not )?ok /b; /^ *stack: \|-$/,/^ *\.\.\.$/d; s/^/# /' "$log"
	passed=$(grep -cE '^(not )?ok ' "$log")
	tap $((passed + 1)) "all of pg_comb is there afterwards" diff "$before" "$after" || status=1
	if [ -f "$(pg_dir pkglibdir)/auto_explain.so" ]; then
		tap $((passed + 2)) "each period is read by the index" periods_by_index "$client" || status=1
	else
		say "ok $((passed + 2)) - each period is read by the index # SKIP needs auto_explain"
	fi
	say "1..$((passed + 2))"
	result "$client" "$(sed -n 's/^# versions: //p' "$log")" \
		"$(if [ "$status" -eq 0 ]; then say passed; else say FAILED; fi)"
	return "$status"
}

# result CLIENT VERSIONS RESULT: a line of the table at the end, see CombHarness.pm
result() { printf '%-12s %-64s %s\n' "$@" >>"$work/table"; }
