#!/usr/bin/env bash
# A NULID of today is a valid ULID of April 2024
#
# Kind: Keys read as of another time
# Date: 2026-11-27
# Versions: nulid 0.1.0 and python-ulid 4.1.0 of PyPI, Python 3.11
# Expected: another layout is refused, or its time is beyond belief
# Behaviour: both are 26 characters of one alphabet, and nanoseconds / 2^20, read as milliseconds, are 4.6 % less
# Output seen: 2024-04
set -euo pipefail
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"
python3 -m venv venv
venv/bin/pip -q --disable-pip-version-check install nulid==0.1.0 python-ulid==4.1.0
seen=$(venv/bin/python - <<'END'
import nulid
from ulid import ULID
key = nulid.encode((1795747142908000000 << 60).to_bytes(16, "big"))
print(ULID.from_str(key).datetime.strftime("%Y-%m"))
END
)
[ "$seen" = "2024-04" ] || { echo "This has changed: $seen"; exit 1; }
echo "$seen"
