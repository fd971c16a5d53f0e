# shellcheck shell=bash
#
# test/dotnet/lib.sh - programs for .NET: clients, and the originals of layouts
#
# A program is one file.  "dotnet build FILE" makes it, with the packages from NuGet that its
# first lines name.  No lock file is needed: NuGet takes the lowest version that a package
# asks for.  A program whose packages NuGet does not have is skipped.
#
# "make test" and "make test-clients" run the clients, and "make test-dotnet" the originals.
#
# The originals in this directory are programs that make keys with the library that a layout
# comes from, and compare them with the server's functions.

# test/run has read test/lib.sh before:
# shellcheck disable=SC2034,SC2154

dotnet_wanted=10
dotnet_environment=(DOTNET_CLI_TELEMETRY_OPTOUT=1 DOTNET_NOLOGO=1 DOTNET_CLI_USE_MSBUILD_SERVER=0
	DOTNET_CLI_WORKLOAD_UPDATE_NOTIFY_DISABLE=1 DOTNET_GENERATE_ASPNET_CERTIFICATE=0)

mapfile -t all_originals < <(cd "$tree/test/dotnet" && basename -s .cs -- *.cs)

# The program of a source of test/run, if it is one for .NET
dotnet_program() {
	local file=test/${1/#originals/dotnet}.cs
	[ ! -f "$tree/$file" ] || say "$file"
}

lacks_dotnet() {
	local version
	have dotnet || { say "needs the SDK of .NET $dotnet_wanted"; return; }
	version=$(env "${dotnet_environment[@]}" dotnet --version 2>/dev/null)
	[ "${version%%.*}" -ge "$dotnet_wanted" ] 2>/dev/null ||
		say "needs the SDK of .NET $dotnet_wanted, and ${version:-none} is installed"
}

# build_dotnet SOURCE...: the programs for .NET among the sources, into $work/dotnet/SOURCE.
# A build takes seconds of one processor, so as many run at a time as there are.
build_dotnet() {
	local source sources=()
	for source in "$@"; do
		[ -z "$(dotnet_program "$source")" ] || sources+=("$source")
	done
	if [ ${#sources[@]} -eq 0 ] || [ -n "$(lacks_dotnet)" ]; then return 0; fi
	say "Building ${#sources[@]} programs for .NET ..."
	mkdir -p "$work/tmp/dotnet"
	for source in "${sources[@]}"; do
		while [ "$(jobs -pr | wc -l)" -ge "$(nproc)" ]; do wait -n; done
		build_program "$source" &
	done
	wait
	! is_root || chown -R postgres "$work/dotnet" "$work/tmp"
}

# It runs as the caller, so that NuGet finds the caller's cache and settings.  If NuGet could
# not be reached for one program, the next one does not wait for it as long again.
build_program() {
	local file log=$work/dotnet/$1/build.log unreachable
	file=$(dotnet_program "$1")
	mkdir -p "${log%/*}"
	unreachable=$(grep -hs 'error NU1301' "$work"/dotnet/*/*/build.log | head -n 1)
	if [ -n "$unreachable" ]; then
		say "$unreachable" >"$log"
		return
	fi
	(cd "$work/src/${file%/*}" && timeout --kill-after=10 "$install_limit" \
		env "${dotnet_environment[@]}" "XDG_DATA_HOME=$work/tmp/dotnet" MSBUILDDISABLENODEREUSE=1 \
		dotnet build "${file##*/}" -o "${log%/*}" -v q --disable-build-servers) >"$log" 2>&1
}

# Why a program cannot be run, if so.  What else goes wrong in the build shows when the program
# is run: it is not there.
lacks_program() {
	local lacking log=$work/dotnet/$1/build.log
	lacking=$(lacks_dotnet)
	[ -z "$lacking" ] || { say "$lacking"; return; }
	lacking=$(sed -n 's/.*error NU110[1-3]: Unable to find package \([^ ]*[^ .]\).*/\1/p' "$log" | sort -u | paste -s -d , - | sed 's/,/, /g')
	[ -z "$lacking" ] || say "NuGet has no $lacking"
	! grep -q 'error NU1301' "$log" || say "NuGet cannot be reached"
}

# Sets "command" for a source.
dotnet_command() {
	command=(env "${dotnet_environment[@]}" dotnet "$work/dotnet/$1/$(basename "$(dotnet_program "$1")").dll")
	[ -f "${command[-1]}" ] || show_tail "$work/dotnet/$1/build.log"
}

# run_original NAME: with a database of its own on one server
run_original() {
	local name=$1 command=() log=$work/log/original-$1.log status missing sockets=$work/s/originals
	missing=$(lacks_program "originals/$name")
	[ -z "$missing" ] || skip_all "$missing"
	[ -d "$work/originals" ] || start_server originals || return
	sql -d postgres -c "CREATE DATABASE \"$name\"" || return
	dotnet_command "originals/$name"
	bounded env "PGHOST=$sockets" PGPORT=5432 PGUSER=postgres "PGDATABASE=$name" "${command[@]}" >"$log" 2>&1
	status=$?
	sed -E '/^(not )?ok |^1\.\./b; s/^# (versions: )/\1/; t; s/^(# )?/# /' "$log"
	logs_quiet /dev/null "$work/log/originals.log" && return "$status"
}
