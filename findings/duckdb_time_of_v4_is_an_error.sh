#!/usr/bin/env bash
# One random uuid ends a query for the times of a column
#
# Kind: Engines and file formats
# Date: 2026-11-27
# Versions: duckdb 2.0.1 of PyPI, Python 3.11
# Expected: NULL, as uuid_extract_timestamp() of PostgreSQL gives
# Behaviour: uuid_extract_timestamp() raises an error for version 4
# Output seen: 2026 InvalidInputException
set -euo pipefail
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"
python3 -m venv venv
venv/bin/pip -q --disable-pip-version-check install duckdb==2.0.1
seen=$(venv/bin/python - <<'END'
import duckdb
times = lambda key: duckdb.sql(f"SELECT year(uuid_extract_timestamp(UUID '{key}') AT TIME ZONE 'UTC')").fetchall()
try:
    print(times("01a21ab2-c7fc-7000-8000-000000000000")[0][0], end=" ")
    print(times("f29feb3d-3a5c-4f29-9d6b-7c4f6b3a2a10")[0][0])
except duckdb.Error as error:
    print(type(error).__name__)
END
)
[ "$seen" = "2026 InvalidInputException" ] || { echo "This has changed: $seen"; exit 1; }
echo "$seen"
