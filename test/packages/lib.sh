# shellcheck shell=bash
#
# test/packages/lib.sh - packages of this version, for step packages of test/run
#
# Each installs pg_comb into the system, and packages besides, as root.  Therefore run "test/all packages",
# which has copies of the systems of test/all.

# test/run has read test/lib.sh before:
# shellcheck disable=SC2034,SC2154

# check NAME COMMAND...: one test
n=0
check() { tap "$((++n))" "$@"; }

apt_install() { DEBIAN_FRONTEND=noninteractive bounded apt-get -qq install -y --no-install-recommends "$@"; }

# Prints what make installs, less the documents.
installed_files() {
	printf '%s\n' "$(pg_dir pkglibdir)/pg_comb.so"
	(cd "$tree" && printf "$(pg_dir sharedir)/extension/%s\n" *.control; cd "$tree/sql" && printf "$(pg_dir sharedir)/extension/%s\n" *--*.sql)
}

documents() { make -s -C "$tree" "PG_CONFIG=$PG_CONFIG" print-DOCUMENTS print-PORTABLE print-PROGRAMS | xargs -n 1 | sort; }

all_there() { installed_files | while read -r file; do [ -f "$file" ] || { say "$file is missing"; return 1; }; done; }
all_gone() { ! find /usr -name pg_comb -o -name 'pg_comb[._-]*' -o -name 'postgresql-*-comb' -o -name 'postgresql-*-comb-ordered' | grep .; }

# Each extension has a package.  The module is in the first one.
files_of_first() { installed_files | grep -v pg_comb_ordered | sort; }
files_of_ordered() { installed_files | grep pg_comb_ordered | sort; }

# server_has_it NAME [SETTING]...: the server makes keys of both kinds, and reads a time back.
server_has_it() {
	local name=$1 answer
	(
		plain=no temp_config=/dev/null
		set_owner
		chown -R postgres "$work"
		start_server "$name-server" "fsync = off" "${@:2}" || exit
		answer=$(sql -d postgres -c "SET client_min_messages = warning" -c "CREATE EXTENSION pg_comb_ordered CASCADE" -c "SELECT
			comb_timestamp(comb_generate()) <@ tstzrange(now() - '1 min'::interval, now() + '1 min'::interval)
			AND comb_generate_ordered() < comb_generate_ordered()" 2>&1)
		stop_server "$name-server"
		[ "$answer" = t ] || { say "$answer"; exit 1; }
		logs_quiet /dev/null "$work/log/$name-server.log"
	)
}

# life INSTALL REMOVE: of a package, by two functions
life() {
	check "it installs" "$1"
	check "all files are there" all_there
	check "the server has pg_comb" server_has_it "$1"
	check "it is removed" "$2"
	check "nothing is left" all_gone
}

# The Dockerfile as a shell script.  COPY takes files from the tree, or with
# --from=build from where an earlier line put them.  The image of the extensions goes
# where CloudNativePG mounts it.
# shellcheck disable=SC2016 # a variable of the script
dockerfile_script() {
	local instruction rest
	sed -e '/^ *#/d; /^$/d' "$tree/doc/packaging/Dockerfile" | sed -e ':a; /\\$/{N; ba' -e '}; s/\\\n *//g' |
		while read -r instruction rest; do
			case "$instruction $rest" in
				ARG*) ;;
				FROM*) say "cd /" ;;
				WORKDIR*) say "mkdir -p $rest && cd $rest" ;;
				RUN*) say "$rest" ;;
				"COPY --from=build /stage /") say "cp -R /stage/. /" ;;
				"COPY --from=build /image /") say "mkdir /extensions && cp -R /image $mounted" ;;
				COPY*) say "(cd $tree && cp -R ${rest% *} \"\$OLDPWD/${rest##* }\")" ;;
				*) say "echo 'The instruction $instruction is not known.'; exit 1" ;;
			esac
		done
}

package_image() {
	local mounted=/extensions/pg_comb
	dockerfile_script >"$work/dockerfile.sh"
	check "the lines of the Dockerfile" bounded env PG_MAJOR="$major" DEBIAN_FRONTEND=noninteractive sh -ex "$work/dockerfile.sh"
	check "the layer has the module, the control file and the script" diff <(find /stage -type f | sed 's,^/stage,,' | sort) <(installed_files | sort)
	check "the server has pg_comb" server_has_it image
	installed_files | xargs rm
	check "the extensions' image has the same files" diff <(find $mounted -type f | sort) \
		<(installed_files | sed "s,^$(pg_dir pkglibdir),$mounted/lib,; s,^$(pg_dir sharedir),$mounted/share," | sort)
	if [ "$major" -ge 18 ]; then
		check "the server finds the extensions there" server_has_it mounted \
			"extension_control_path = '\$system:$mounted/share'" "dynamic_library_path = '\$libdir:$mounted/lib'"
	fi
	rm -r /stage /build /image /extensions
}

# The packages that the spec needs have other names in Debian, hence --nodeps.
package_rpm() {
	local top=$work/rpm package ordered spec=$tree/doc/packaging/pg_comb.spec
	local define=(--define "_topdir $top" --define "pgmajor $major" --define "pg_config $PG_CONFIG"
		--define "debug_package %{nil}")
	check "rpm is there" apt_install rpm zip unzip
	mkdir -p "$top/SOURCES"
	copy_tree "$work/pg_comb-$version"
	check "an archive as make dist writes it" env -C "$work" zip -qr "$top/SOURCES/pg_comb-$version.zip" "pg_comb-$version"
	check "rpmbuild" bounded rpmbuild -bb --nodeps "${define[@]}" "$spec"
	package=$(find "$top/RPMS" -name "pg_comb_$major-$version-*.rpm")
	ordered=$(find "$top/RPMS" -name "pg_comb_$major-ordered-$version-*.rpm")
	[ -n "$package" ] && [ -n "$ordered" ] || return
	check "the package has what make installs of pg_comb" diff <(rpm -qlp "$package" | grep -v "$(pg_dir docdir)" | grep -v build-id) \
		<(files_of_first)
	check "and another one pg_comb_ordered" diff <(rpm -qlp "$ordered") <(files_of_ordered)
	check "and the documents" diff <(rpm -qlvp "$package" | sed -n "s,^-.* $(pg_dir docdir)/extension/pg_comb/,,p" | sort) <(documents)
	life install_rpms remove_rpms
}

install_rpms() { rpm -i --nodeps "$top"/RPMS/*/*.rpm; }
remove_rpms() { rpm -e --nodeps "pg_comb_$major" "pg_comb_$major-ordered"; }

# As a builder of Debian: a source package out of the tree and its tarball, the
# build's dependencies by apt, and the tests of the installed package.
package_deb() {
	local dir=$work/deb package=postgresql-$major-comb
	# Two tags speak of an upload to Debian: the bug that it closes, and where Debian looks for
	# new releases.  Two compare the policy's version in debian/control with the system's.
	local tags=initial-upload-closes-no-bugs,debian-watch-file-is-missing,newer-standards-version,out-of-date-standards-version
	mkdir -p "$dir"
	copy_tree "$dir/pg-comb-$version"
	check "the tarball" tar -C "$dir" --exclude debian -czf "$dir/pg-comb_$version.orig.tar.gz" "pg-comb-$version"
	cd "$dir/pg-comb-$version" || return
	check "dependencies of the build" apt_install build-essential lintian autopkgtest \
		libipc-run-perl postgresql-all postgresql-server-dev-all debhelper
	check "control is for this system's versions" pg_buildext updatecontrol
	check "the dependencies are those of control" bounded dpkg-checkbuilddeps
	check "the packages build and pass their tests" bounded dpkg-buildpackage -us -uc || return
	check "lintian has nothing to say" bounded lintian --no-cfg --allow-root --display-info --fail-on error,warning,info \
		--suppress-tags "$tags" "$dir"/*.changes
	check "the package has pg_comb" diff <(deb_files "$package") <(files_of_first)
	check "and another one pg_comb_ordered" diff <(deb_files "$package-ordered") <(files_of_ordered)
	# Systems of test/all leave documents out when a package is installed.
	check "the package has the documents" diff <(dpkg-deb --fsys-tarfile "$dir/${package}_$version"-*.deb | tar -t |
		sed -n "s,^\./usr/share/doc/$package/\(.*[^/]\)$,\1,p" | grep -v -e '^changelog' -e '^copyright$' | sort) \
		<(documents | grep -vx -e CHANGELOG.md -e LICENSE)
	life install_deb remove_deb
	check "autopkgtest" bounded autopkgtest --quiet "$dir"/*.changes -- null
}

deb_files() { dpkg-deb --fsys-tarfile "$dir/$1_$version"-*.deb | tar -t | sed -n '\,^\./usr/share/doc/,d; \,/$,d; s,^\.,,p' | sort; }
install_deb() { apt_install "$dir/${package}_$version"-*.deb "$dir/$package-ordered_$version"-*.deb; }
remove_deb() { bounded apt-get -qq purge -y "$package" "$package-ordered"; }

# Everything then belongs to root.
prepare_packages() {
	is_debian && is_root || die "The step packages installs packages: it needs root on Debian."
	plain=yes
	apt-get -qq update >/dev/null 2>&1
}
