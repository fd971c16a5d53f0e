#!/usr/bin/env bash
# dateTimeToUUIDv7(t) is no lower bound for the keys of a time
#
# Kind: Engines and file formats
# Date: 2026-11-27
# Versions: chdb 4.4.0 of PyPI (ClickHouse 26.9), Python 3.11
# Expected: a function of a time gives its smallest key, or an argument for the random bits
# Behaviour: each call has other random bits, so keys of t can be below it
# Output seen: different, and above the smallest key
set -euo pipefail
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"
python3 -m venv venv
venv/bin/pip -q --disable-pip-version-check install chdb==4.4.0
seen=$(venv/bin/python - <<'END'
import chdb
made = str(chdb.query("""SELECT uniqExact(id), countIf(toUInt128(id) > toUInt128(toUUID('01a21ade-d970-7000-8000-000000000000')))
    FROM (SELECT dateTimeToUUIDv7(toDateTime('2026-11-27 02:39:02', 'UTC')) AS id FROM numbers(1000))""", "CSV")).strip()
print("different, and above the smallest key" if made == "1000,1000" else made)
END
)
[ "$seen" = "different, and above the smallest key" ] || { echo "This has changed: $seen"; exit 1; }
echo "$seen"
