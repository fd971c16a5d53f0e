#!/usr/bin/env bash
# In Python a period without an end sorts before those with one, in PostgreSQL after them
#
# Kind: Drivers, ORMs and range types
# Date: 2026-11-27
# Versions: psycopg 3.3.9 and psycopg2-binary 2.9.13 of PyPI, Python 3.11, PostgreSQL 15
# Expected: sorted() and max() of ranges agree with ORDER BY
# Behaviour: None is smaller than every bound, whether it is the lower or the upper one, so max() finds no current period
# Output seen: ORDER BY [27,28) [27,30) [27,); psycopg [27,) [27,28) [27,30); psycopg2 [27,) [27,28) [27,30)
set -euo pipefail
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"
python3 -m venv venv
venv/bin/pip -q --disable-pip-version-check install "psycopg[binary]==3.3.9" psycopg2-binary==2.9.13
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
import psycopg
import psycopg2
query = """SELECT period FROM (VALUES (tstzrange('2026-11-27', NULL)), (tstzrange('2026-11-27', '2026-11-30')),
    (tstzrange('2026-11-27', '2026-11-28'))) t (period) ORDER BY period"""
def text(periods):
    return " ".join(f"[{period.lower.day},{period.upper.day if period.upper else ''})" for period in periods)
seen = []
for driver in (psycopg, psycopg2):
    cursor = driver.connect(host=sys.argv[1], user="postgres").cursor()
    cursor.execute(query)
    periods = [row[0] for row in cursor]
    seen.append(f"{driver.__name__} {text(sorted(periods))}")
print(f"ORDER BY {text(periods)}; " + "; ".join(seen))
END
)
[ "$seen" = "ORDER BY [27,28) [27,30) [27,); psycopg [27,) [27,28) [27,30); psycopg2 [27,) [27,28) [27,30)" ] ||
	{ echo "This has changed: $seen"; exit 1; }
echo "$seen"
