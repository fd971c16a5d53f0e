#!/usr/bin/env bash
# A tstzrange up to infinity ends at "nfinit", and cannot be written back
#
# Kind: Drivers, ORMs and range types
# Date: 2026-11-27
# Versions: pg8000 1.31.6 of PyPI, Python 3.11, PostgreSQL 15
# Expected: 'infinity', as the README says of a timestamptz
# Behaviour: the first and the last character of each bound are cut off, but PostgreSQL puts no quotes around infinity
# Output seen: infinity; [2026-11-27 00:00:00+00:00,nfinit); 22007
set -euo pipefail
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"
python3 -m venv venv
venv/bin/pip -q --disable-pip-version-check install pg8000==1.31.6
as=() programs=/usr/lib/postgresql/15/bin
if [ "$(id -u)" = 0 ]; then
	as=(setpriv --reuid=postgres --regid=postgres --clear-groups)
	chown postgres "$directory"
fi
"${as[@]}" "$programs/initdb" -A trust -D data -U postgres >/dev/null
"${as[@]}" "$programs/postgres" -D data -k "$directory" -c listen_addresses= >/dev/null 2>&1 &
server=$!
trap 'kill -INT "$server"; wait "$server" || true; rm -rf "$directory"' EXIT
timeout 60 sh -c "until $programs/pg_isready -q -h $directory; do sleep 0.2; done"
seen=$(venv/bin/python - "$directory" <<'END'
import sys
import pg8000.native
db = pg8000.native.Connection("postgres", unix_sock=sys.argv[1] + "/.s.PGSQL.5432")
db.run("SET TimeZone TO 'UTC'")
[[bound, period]] = db.run("SELECT timestamptz 'infinity', tstzrange('2026-11-27', 'infinity')")
try:
    back = db.run("SELECT CAST(:period AS tstzrange)", period=period)
except pg8000.native.DatabaseError as error:
    back = error.args[0]["C"]
print(f"{bound}; {period}; {back}")
db.close()
END
)
[ "$seen" = "infinity; [2026-11-27 00:00:00+00:00,nfinit); 22007" ] || { echo "This has changed: $seen"; exit 1; }
echo "$seen"
