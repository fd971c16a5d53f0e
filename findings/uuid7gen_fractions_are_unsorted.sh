#!/usr/bin/env bash
# Keys with fractions of a millisecond do not sort by them
#
# Kind: Keys that sort elsewhere
# Date: 2026-11-27
# Versions: uuid7gen 0.1.0 of PyPI, Python 3.11
# Expected: keys 0.1 ms apart ascend, as in the example of the README
# Behaviour: the version is written over the upper 4 of the 12 bits of the fraction, so rand_a starts over each 1/16 ms
# Output seen: 00 9a 33 cd 66 00 9a 33 cd 66
set -euo pipefail
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"
python3 -m venv venv
venv/bin/pip -q --disable-pip-version-check install uuid7gen==0.1.0
seen=$(venv/bin/python - <<'END'
from uuid7gen import batch_uuid7
keys = batch_uuid7(10, timestamp_start_ms=1795747142908.0, interval_ms=0.1)
print(*(str(key)[15:17] for key in keys))
END
)
[ "$seen" = "00 9a 33 cd 66 00 9a 33 cd 66" ] || { echo "This has changed: $seen"; exit 1; }
echo "$seen"
