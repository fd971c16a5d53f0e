# shellcheck shell=bash
#
# test/dotnet/lib.sh - building and running programs for .NET, for test/dotnet/run and
# test/clients/run
#
# A program is one file.  "dotnet build FILE" makes it, with the packages that its first lines
# name.  No lock file is needed: NuGet takes the lowest version that a package asks for.

# The scripts have read test/lib.sh before:
# shellcheck disable=SC2034,SC2154

dotnet_wanted=10
dotnet_environment=(DOTNET_CLI_TELEMETRY_OPTOUT=1 DOTNET_NOLOGO=1 DOTNET_CLI_USE_MSBUILD_SERVER=0
	DOTNET_CLI_WORKLOAD_UPDATE_NOTIFY_DISABLE=1 DOTNET_GENERATE_ASPNET_CERTIFICATE=0)

lacks_dotnet() {
	local version
	have dotnet || { say "needs dotnet"; return; }
	version=$(env "${dotnet_environment[@]}" dotnet --version 2>/dev/null)
	[ "${version%%.*}" -ge "$dotnet_wanted" ] 2>/dev/null ||
		say "needs the SDK of .NET $dotnet_wanted, and ${version:-none} is installed"
}

# build_dotnet FILE NAME: into $work/dotnet/NAME.  It runs as the caller, so that NuGet finds
# the caller's cache and settings.  Prints why the program must be skipped, if so.  What
# else goes wrong shows when the program is run: it is not there.
build_dotnet() {
	local log=$work/log/$2.build lacking
	mkdir -p "$work/dotnet/$2" "$work/tmp/dotnet"
	(cd "$(dirname "$1")" && timeout --kill-after=10 "${install_limit:-600}" \
		env "${dotnet_environment[@]}" "XDG_DATA_HOME=$work/tmp/dotnet" MSBUILDDISABLENODEREUSE=1 \
		dotnet build "$(basename "$1")" -o "$work/dotnet/$2" -v q --disable-build-servers) >"$log" 2>&1 && return
	lacking=$(sed -n 's/.*error NU110[1-3]: Unable to find package \([^ ]*[^ .]\).*/\1/p' "$log" | sort -u | paste -s -d , - | sed 's/,/, /g')
	[ -z "$lacking" ] || say "NuGet has no $lacking"
	! grep -q 'error NU1301' "$log" || say "NuGet cannot be reached"
}

# build_dotnet_programs DIRECTORY NAME...: those of the names that are programs for .NET
build_dotnet_programs() {
	local directory=$work/src/$1 name
	[ -z "$(lacks_dotnet)" ] || return 0
	for name in "${@:2}"; do
		[ -f "$directory/$name.cs" ] || continue
		say "Building $1/$name.cs ..."
		build_dotnet "$directory/$name.cs" "$name" >"$work/log/$name.missing"
	done
	! is_root || [ ! -d "$work/dotnet" ] || chown -R postgres "$work/dotnet" "$work/tmp"
}

# Why NAME cannot be run
lacks_program() {
	local missing
	missing=$(lacks_dotnet)
	[ -n "$missing" ] || missing=$(cat "$work/log/$1.missing" 2>/dev/null)
	say "$missing"
}

# The command that runs NAME
dotnet_command() { command=(env "${dotnet_environment[@]}" dotnet "$work/dotnet/$1/$1.cs.dll"); }
