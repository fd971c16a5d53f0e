#!/usr/bin/env bash
# TimeUUIDs do not sort by time in Python 3
#
# Kind: Keys that sort elsewhere
# Date: 2026-11-27
# Versions: time-uuid 0.2.0 of PyPI, Python 3.11
# Expected: "accurate comparison" by time, as its class says; Python 3 is among its classifiers
# Behaviour: only Python 2 calls its comparison: Python 3 compares the bytes, the lowest 32 bits of the time first
# Output seen: order of 10 keys 200 s apart: 5 3 1 8 6 4 2 0 9 7
set -euo pipefail
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"
python3 -m venv venv
venv/bin/pip -q --disable-pip-version-check install time-uuid==0.2.0
seen=$(venv/bin/python - <<'END'
from time_uuid import TimeUUID
keys = [TimeUUID.with_timestamp(1795747142 + n * 200, randomize=False) for n in range(10)]
print("order of 10 keys 200 s apart:", *map(keys.index, sorted(keys)))
END
)
[ "$seen" = "order of 10 keys 200 s apart: 5 3 1 8 6 4 2 0 9 7" ] || { echo "This has changed: $seen"; exit 1; }
echo "$seen"
