# shellcheck shell=bash
#
# test/pipelines/lib.sh - running tools that copy tables, for step pipelines of test/run
#
# pipeline.pl has the writers, and compares what arrives with the table.  A tool is one
# program in this directory, which polls as a user of the tool would.  With "-anywhere" after its name, a
# tool reads a table with a bigserial on a server without pg_comb.  "failover" lets one tool
# go through a crash and a promotion.  message-db.pl reads the table of an event store.
#
# What the tools need comes from PyPI, Maven Central and npm, in the versions of the file
# "packages".  It stays in a directory, because it is large: COMB_PIPELINES names another.
# A tool whose packages cannot be had is skipped.

# test/run has read test/lib.sh before:
# shellcheck disable=SC2034,SC2154

all_pipelines=(dlt dlt-anywhere dbt singer singer-anywhere spark kafka-connect failover message-db)

pipelines_home=${COMB_PIPELINES:-${XDG_CACHE_HOME:-/var/cache}/pg_comb/pipelines}
packages_limit=900           # seconds for the packages of one tool

# The tool of a source
pipeline_tool() { if [ "$1" = failover ]; then say singer; else say "${1%-anywhere}"; fi; }

# packages_of TOOL: lines of the file
packages_of() { sed -n "s/^$1  *\(pypi\|maven\|npm\)  */\1 /p" "$tree/test/pipelines/packages"; }

# install_pipelines SOURCE...: the packages of the tools among them.  pip and Maven run as the caller, so that
# they find the caller's cache and settings.  The file "complete" says for which versions.
install_pipelines() {
	local tool home log
	for tool in "$@"; do
		[[ $tool = pipelines/* ]] || continue
		tool=$(pipeline_tool "${tool#*/}")
		home=$pipelines_home/$tool log=$work/log/$tool-packages
		if [ -n "$(lacks "$tool")" ] || cmp -s <(packages_of "$tool") "$home/complete"; then continue; fi
		say "Installing the packages of $tool in $home ..."
		rm -rf "$home"
		if ! mkdir -p "$home" || ! install_pipeline "$tool" "$home" >"$log" 2>&1; then
			say "The packages of $tool cannot be installed:"
			show_tail "$log" 10
			continue
		fi
		packages_of "$tool" >"$home/complete"
	done
}

install_pipeline() {
	local from packages in_time=(timeout --kill-after=10 "$packages_limit")
	while read -r from packages; do
		# shellcheck disable=SC2086 # a list of words
		case $from in
			pypi) "$python" -m venv "$2" &&
				"${in_time[@]}" "$2/bin/pip" -q --disable-pip-version-check install $packages ;;
			maven) pom $packages >"$2/pom.xml" &&
				"${in_time[@]}" mvn -q -B -f "$2/pom.xml" dependency:copy-dependencies "-DoutputDirectory=$2/jars" ;;
			npm) "${in_time[@]}" npm install --ignore-scripts --no-audit --no-fund --prefix "$2" $packages ;;
		esac || return
	done < <(packages_of "$1")
}

# pom GROUP:ARTIFACT:VERSION...
pom() {
	say '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>' \
		'<groupId>pg_comb</groupId><artifactId>pipelines</artifactId><version>1</version><dependencies>'
	printf '%s\n' "$@" | sed -E 's,(.*):(.*):(.*),<dependency><groupId>\1</groupId><artifactId>\2</artifactId>\
		<version>\3</version></dependency>,'
	say '</dependencies></project>'
}

# Prints what keeps a tool from running.
lacks_pipeline() {
	needs "$1" | grep . && return
	if [ ! -f "$pipelines_home/$1/complete" ]; then
		say "its packages cannot be installed"
	elif [ "$1" = kafka-connect ] && ! compgen -G "${COMB_JDBC_CONNECTOR:-none}/*.jar" >/dev/null; then
		say "needs COMB_JDBC_CONNECTOR, a directory with the jars of a JDBC source connector"
	fi
}

# Sets "command" for a tool.
pipeline_command() {
	local python home=$pipelines_home/$1 file
	file=$(cd "$tree/test/pipelines" && compgen -G "$1.*")
	python=$home/bin/python
	case $file in
		*.py) client_command "$file" && command=(env "PATH=$home/bin:$PATH" "JARS=$home/jars" SPARK_LOCAL_IP=127.0.0.1 "${command[@]}") ;;
		message-db.pl) command=(bash "$home/node_modules/@eventide/message-db/database/install.sh") ;;
		*.java) command=(java -Xmx1g -cp "$home/jars/*:${COMB_JDBC_CONNECTOR:-}/*" "$file") ;;
	esac
}

run_pipeline() {
	local command=() tool missing file=pipeline.pl
	tool=$(pipeline_tool "$1")
	[ ! -f "test/pipelines/$1.pl" ] || file=$1.pl
	missing=$(lacks_pipeline "$tool")
	[ -z "$missing" ] || skip_all "$missing"
	pipeline_command "$tool"
	limit=${STEP_LIMIT:-1800}
	PIPELINE=$1 PIPELINE_COMMAND=$(printf '%s\n' "${command[@]}") tap_file "test/pipelines/$file"
}
