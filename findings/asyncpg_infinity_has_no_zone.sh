#!/usr/bin/env bash
# An infinite timestamptz cannot be compared with a time, and the last microsecond of 9999 becomes infinite
#
# Kind: Drivers, ORMs and range types
# Date: 2026-11-27
# Versions: asyncpg 0.32.0 and duckdb 2.0.1 of PyPI, Python 3.11, PostgreSQL 15
# Expected: a datetime with a zone, as of any other timestamptz
# Behaviour: infinity is datetime.max without a zone; asyncpg sends this and the same time with UTC as infinity, DuckDB neither
# Output seen: asyncpg: None, TypeError, True True; duckdb: None, TypeError, False False
set -euo pipefail
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"
python3 -m venv venv
venv/bin/pip -q --disable-pip-version-check install asyncpg==0.32.0 duckdb==2.0.1
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
import asyncio
import datetime
import sys
import asyncpg
import duckdb
last = datetime.datetime.max.replace(tzinfo=datetime.timezone.utc)
infinity, equal = "SELECT 'infinity'::timestamptz", "SELECT $1::timestamptz = 'infinity'::timestamptz"
def describe(name, value, answers):
    try:
        compared = value > last
    except TypeError as error:
        compared = type(error).__name__
    return f"{name}: {value.tzinfo}, {compared}, {answers[0]} {answers[1]}"
async def with_asyncpg():
    server = await asyncpg.connect(host=sys.argv[1], user="postgres")
    value = await server.fetchval(infinity)
    return describe("asyncpg", value, [await server.fetchval(equal, time) for time in (value, last)])
def with_duckdb():
    database = duckdb.connect()
    value = database.execute(infinity).fetchone()[0]
    return describe("duckdb", value, [database.execute(equal, [time]).fetchone()[0] for time in (value, last)])
print(asyncio.run(with_asyncpg()) + "; " + with_duckdb())
END
)
[ "$seen" = "asyncpg: None, TypeError, True True; duckdb: None, TypeError, False False" ] ||
	{ echo "This has changed: $seen"; exit 1; }
echo "$seen"
