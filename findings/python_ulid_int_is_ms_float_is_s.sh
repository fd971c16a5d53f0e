#!/usr/bin/env bash
# ULID.from_timestamp() reads an int as milliseconds and a float as seconds
#
# Kind: Keys read as of another time
# Date: 2026-11-27
# Versions: python-ulid 4.1.0 of PyPI, Python 3.11
# Expected: the same number means the same time
# Behaviour: int(time.time()) gives a ULID of 1970
# Output seen: 1970 2026
set -euo pipefail
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"
python3 -m venv venv
venv/bin/pip -q --disable-pip-version-check install python-ulid==4.1.0
seen=$(venv/bin/python - <<'END'
from ulid import ULID
print(ULID.from_timestamp(1795747142).datetime.year, ULID.from_timestamp(1795747142.0).datetime.year)
END
)
[ "$seen" = "1970 2026" ] || { echo "This has changed: $seen"; exit 1; }
echo "$seen"
