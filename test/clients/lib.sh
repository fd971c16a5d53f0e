# shellcheck shell=bash
#
# test/clients/lib.sh - running the client programs, for step clients of test/run
#
# Each client is one program in this directory, which prints TAP.  Each gets a database of its own, whose
# owner is no superuser, with pg_comb in the schema public.  libpq's environment variables lead there.
# A registry's packages are installed into the run's own directory.  To update package-lock.json, change package.json
# and run "npm install --package-lock-only", and for go.sum change go.mod and run "go mod tidy".

# test/run has read test/lib.sh before:
# shellcheck disable=SC2034,SC2154

# The names are also groups of lacking().
all_clients=(pg postgresjs knex kysely sequelize drizzle typeorm mikro-orm prisma
	psycopg2 psycopg3 asyncpg sqlalchemy django
	pgx gorm sqlc jdbc hibernate jooq mybatis spring r2dbc flyway
	tokio-postgres sqlx diesel sea-orm activerecord pdo dbd-pg pg-feed psycopg3-feed jdbc-feed
	npgsql dapper efcore nhibernate linq2db marten npgsql-feed)

install_limit=600            # seconds for packages, or a build
client_python=${PYTHON:-$python}
cargo_cache=${XDG_CACHE_HOME:-${HOME:-$tree}/.cache}/pg_comb

# The program of a client
program() { (cd "$tree/test/clients" && compgen -G "$1.*"); }

# The registry that has a client's packages, which is a group of lacking(), too; nothing if they come from elsewhere
registry() {
	case $(program "$1") in
		*.mjs) say npm ;;
		*.go) say Go ;;
		*.rs) say Cargo ;;
		*.py) [ "${CLIENTS_FROM:-}" = debian ] || say PyPI ;;
		*.java) [ "${CLIENTS_FROM:-}" = debian ] || say Maven ;;
	esac
}

# Those of the sources that are clients with packages from a registry
clients_of() {
	local source
	for source in "${@:2}"; do
		[[ $source != clients/* ]] || [ "$(registry "${source#*/}")" != "$1" ] || say "${source#*/}"
	done
}

# at_least NAME WANTED VERSION: prints what is needed if the version is older.
at_least() {
	[ "$(printf '%s\n' "$2" "${3#v}" | sort -V | head -n 1)" = "$2" ] ||
		say "needs $1 $2, and ${3#v} is installed"
}

# Why clients of a registry cannot be run, if so.  What was built needs no cargo, which may be the caller's own.
lacks_registry() {
	[ "$1" != Cargo ] || [ ! -d "$work/rust" ] || return 0
	needs "$1" | grep . && return
	[ ! -f "$work/no-$1" ] || { say "$1 cannot be reached"; return; }
	case $1 in
		npm) at_least Node.js 20.19 "$(node --version)" ;;
		Cargo) at_least Rust 1.94 "$(rustc --version | cut -d ' ' -f 2)" ;;
		Go) at_least Go "$(sed -n 's/^go //p' "$tree/test/clients/go.mod")" "$(go env GOVERSION | sed 's/^go//')" ;;
	esac
}

unreachable='ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH|unreachable'
unreachable+='|name resolution|connection refused|timed out|could not resolve|no such host|unknown host'

# install_packages_of REGISTRY COMMAND...: as the caller, so that it finds the caller's cache and settings
install_packages_of() {
	local log=$work/log/$1
	say "Installing packages from $1 ..."
	(cd "$work/src/test/clients" && timeout --kill-after=10 "$install_limit" "${@:2}") >"$log" 2>&1 && return
	! grep -qiE "$unreachable" "$log" || touch "$work/no-$1"
	say "They cannot be installed:"
	show_tail "$log"
	return 1
}

# sqlx checks its queries against a database when they are compiled, and Diesel writes a schema before.  What is
# compiled stays in the caller's cache, because it takes a processor a quarter of an hour.
# shellcheck disable=SC2016 # variables of sh
build_rust() {
	local sockets=$work/s/cargo install_limit=3000 version
	start_server cargo && sql -d postgres -c "CREATE DATABASE cargo" &&
		sql -d cargo -c "CREATE EXTENSION pg_comb_ordered CASCADE" -f "$work/src/test/clients/orders.sql" || return
	version=$(sed -n 's/^diesel = .*"\(=[^"]*\)".*/\1/p' "$tree/test/clients/Cargo.toml")
	install_packages_of Cargo env "CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$cargo_cache/cargo}" \
		"DATABASE_URL=postgres://postgres@${sockets//\//%2F}:5432/cargo" sh -c '
			cargo install --quiet --root "$2" --no-default-features --features postgres diesel_cli --version "$3" &&
				mkdir "$1" && cp "$2/bin/diesel" "$1" && "$1/diesel" print-schema >rust/schema.rs && cargo build &&
				cp "$CARGO_TARGET_DIR"/debug/run-* "$1"' sh "$work/rust" "$cargo_cache/diesel" "$version"
	stop_server cargo
}

# install_clients SOURCE...: what the clients among them need
# shellcheck disable=SC2016 # variables of sh
install_clients() {
	local omit registry
	sed -n '/^CREATE TABLE orders/,/^-->/{ s/^-->/;/; p }' "$tree/test/clients/statements.sql" >"$work/src/test/clients/orders.sql"
	for registry in npm PyPI Go Maven Cargo; do
		mapfile -t clients < <(clients_of "$registry" "$@")
		[ ${#clients[@]} -gt 0 ] && [ -z "$(lacks_registry "$registry")" ] || continue
		case $registry in
			npm)
				# Prisma has more to download than all others, so it is a dependency of development.
				case " ${clients[*]} " in *" prisma "*) omit=() ;; *) omit=(--omit=dev) ;; esac
				install_packages_of npm npm ci --fetch-retries=1 "${omit[@]}" ;;
			PyPI) install_packages_of PyPI sh -c '"$1" -m venv "$2" &&
					"$2/bin/pip" install --only-binary :all: --retries 1 -r requirements.txt' sh "$client_python" "$work/venv" ;;
			Cargo) build_rust ;;
			Maven) install_packages_of Maven mvn -B -q dependency:copy-dependencies "-DoutputDirectory=$work/java" ;;
			Go) install_packages_of Go sh -c 'export GOTOOLCHAIN=local CGO_ENABLED=0 && directory=$1 && shift && go mod tidy &&
					case " $* " in *" sqlc "*) (cd sqlc && go tool sqlc generate) ;; esac || exit
					for client; do go build -o "$directory/$client" "$client.go" || status=1; done; exit ${status:-0}' \
					sh "$work/go" "${clients[@]}" ;;
		esac
	done
	! is_root || chown -R postgres "$work/src/test/clients"
}

# Sets "command" for a program.
# shellcheck disable=SC2016 # variables of sh
client_command() {
	case $1 in
		*.mjs) command=(node --test-force-exit --test-reporter=tap "$1") ;;
		# A program has the name of the module that it imports, so its directory must not be searched.
		*.py)
			[ "$(registry "${1%.py}")" != PyPI ] || python=$work/venv/bin/python
			command=(env PYTHONDONTWRITEBYTECODE=1 "$python" -c
			'import runpy, sys; sys.path[0] = "python"; runpy.run_path(sys.argv[1], run_name="__main__")' "$1") ;;
		*.rb) command=(ruby "$1") ;;
		*.php) command=(php "$1") ;;
		*.pl) command=(perl "$1") ;;
		*.cs) dotnet_command "clients/${1%.cs}" ;;
		*.java) command=(sh -c 'exec 2>&1 && rm -rf "$TMPDIR/java" && mkdir "$TMPDIR/java" && cp=$2:$TMPDIR/java &&
				compile() { javac -parameters -d "$TMPDIR/java" -cp "$cp" "$@"; } && compile java/*.java &&
				if [ "$1" = jooq.java ]; then
					url="jdbc:postgresql:$PGDATABASE?user=$PGUSER&socketFactory=UnixSockets" && psql -X -q -f orders.sql &&
						java -cp "$cp" "-Djooq.codegen.jdbc.url=$url" org.jooq.codegen.GenerationTool jooq/codegen.xml &&
						compile $(find jooq -name "*.java")
				fi && compile "$1" && exec java -cp "$cp" Orders'
			sh "$1" "$(if [ -n "$(registry "${1%.java}")" ]; then say "$work/java/*"; else say /usr/share/java/postgresql.jar; fi)") ;;
		*.rs) command=(env "COMB_DIESEL=$work/rust/diesel" "$work/rust/run-${1%.rs}") ;;
		*.go) command=("$work/go/${1%.go}") ;;
	esac
}

# The extension's objects in a database, one per line
members() {
	sql -d "$1" -c "SELECT classid::regclass, pg_describe_object(classid, objid, objsubid)
		FROM pg_depend WHERE deptype = 'e' AND refclassid = 'pg_extension'::regclass
			AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'pg_comb')
		ORDER BY 1, 2"
}

# auto_explain writes each plan into the server's log, as a line with the database and lines that begin with a tab.
# Tables are small, so the server may not scan them.  The plan of a prepared statement must do for every period.
start_clients_server() {
	temp_config=$work/stage.conf
	start_server clients "pg_comb.snowflake_instance = 1" "log_line_prefix = '%d '" \
		"enable_seqscan = off" "plan_cache_mode = force_generic_plan" \
		"session_preload_libraries = 'auto_explain'" "auto_explain.log_min_duration = 0" && sql -d postgres -c "CREATE ROLE app LOGIN"
}

# plans_by_index DATABASE: of the plans with a period, of which a client of orders has at least five, each has both
# bounds in an index condition.  Lists that begin with the newest sort nothing, and the pages after them have one bound.
plans_by_index() {
	local least=5 lists=0
	case $1 in *feed | flyway) least=0 ;; hibernate | sqlalchemy | django | activerecord) lists=2 ;; esac
	awk -v start="$1 LOG:  duration: " -v least="$least" -v least_lists="$lists" '
		function judge() {
			text = tolower(plan)
			gsub(/[ \t\n]+/, " ", text)
			if (text ~ / order by ([a-z_".]*created_at"?|comb_timestamp_1|comb_timestamp\([a-z0-9_".]*id"?\)|2) desc/ && plan ~ /Limit  /) {
				lists++
				bad = plan ~ /Sort/ || text ~ / where / && plan !~ /Index Cond: [^\n]*id </
			} else if (period) {
				plans++
				bad = !bounds
			}
			if (bad) { scans++; print plan }
			bad = period = bounds = 0; plan = ""
		}
		!/^\t/ { judge(); mine = index($0, start) == 1 && / plan:$/ }
		mine { plan = plan $0 "\n" }
		mine && /Filter: .*(<@|comb_created|comb_during|comb_recheck\(([a-z_0-9]+\.)?id,|comb_timestamp\(id\) [<>])/ { period = 1 }
		mine && /Index Cond: .*id >= .* AND .*id <=? / { bounds = 1 }
		END {
			judge()
			print plans + 0 " plans with a period, and " lists + 0 " of the newest"
			exit !(plans >= least && lists >= least_lists && !scans)
		}' "$work/log/clients.log"
}

# schema_is_right DATABASE: prints what is wrong
schema_is_right() {
	local wrong
	wrong=$(sql -d "$1" -f "$work/src/test/clients/schema.sql") && { [ -z "$wrong" ] || { say "$wrong"; return 1; }; }
}

# Lines of subtests are indented: they are details of a test that failed.
run_client() {
	local client=$1 log=$work/log/$1.log before file registry status passed command=() missing
	local sockets=$work/s/clients environment=("PGHOST=$work/s/clients" PGPORT=5432 PGUSER=app "PGDATABASE=$1" NO_COLOR=1)
	file=$(program "$client")
	registry=$(registry "$client")
	missing=$(needs "$client")
	[[ $file != *.cs ]] || missing=$(lacks_program "clients/$client")
	[ -z "$registry" ] || missing=$(lacks_registry "$registry")
	[ "$client" != jooq ] || missing=${missing:-$(at_least Java 21 "$(javac -version 2>&1 | sed 's/^javac //')")}
	[ -z "$missing" ] || skip_all "$missing"
	[ -d "$work/clients" ] || start_clients_server || return
	sql -d postgres -c "CREATE DATABASE \"$client\" OWNER app" &&
		sql -d "$client" -c "SET ROLE app" -c "CREATE EXTENSION pg_comb_ordered SCHEMA public CASCADE" || return
	# A time that loses its zone is another time.
	if [[ $file != *.cs ]]; then
		environment+=(TZ=America/St_Johns)
		sql -d postgres -c "ALTER DATABASE \"$client\" SET timezone = 'Asia/Kathmandu'" || return
	fi
	before=$(members "$client")
	client_command "$file"
	cd "$work/src/test/clients" || return
	limit=300 bounded env "${environment[@]}" "${command[@]}" >"$log" 2>&1
	status=$?
	! grep -q '^not ok ' "$log" || status=1
	# The lines of a stack are the client's own.  Versions are shown.
	sed -E '/^(not )?ok /b; s/^# (versions: )/\1/; t; /^ *stack: \|-$/,/^ *\.\.\.$/d; s/^/# /' "$log"
	passed=$(grep -cE '^(not )?ok ' "$log")
	tap $((passed + 1)) "all of pg_comb is there afterwards" diff <(say "$before") <(members "$client") || status=1
	[[ $file = *.cs ]] || tap $((++passed + 1)) "nothing else of pg_comb is there, and the table has its defaults" \
		schema_is_right "$client" || status=1
	tap $((passed + 2)) "each period is read by the index, and each list of the newest" plans_by_index "$client" || status=1
	say "1..$((passed + 2))"
	logs_quiet "$file" "$work/log/clients.log" || status=1
	return "$status"
}
