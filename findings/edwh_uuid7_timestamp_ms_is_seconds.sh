#!/usr/bin/env bash
# uuid7(timestamp_ms=...) takes seconds
#
# Kind: Keys read as of another time
# Date: 2026-11-27
# Versions: edwh-uuid7 0.2.3 of PyPI, Python 3.11
# Expected: milliseconds, as the name says; timestamp_ns takes nanoseconds
# Behaviour: the number is multiplied by 10^9 and divided by 10^6, then cut to 48 bits
# Output seen: timestamp_ms=1795747142908: 5357, timestamp_ms=1795747142.908: 2026
set -euo pipefail
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"
python3 -m venv venv
venv/bin/pip -q --disable-pip-version-check install edwh-uuid7==0.2.3
seen=$(venv/bin/python - <<'END'
from edwh_uuid7 import uuid7, uuid7_to_datetime
years = {time: uuid7_to_datetime(uuid7(timestamp_ms=time)).year for time in (1795747142908, 1795747142.908)}
print(", ".join(f"timestamp_ms={time}: {year}" for time, year in years.items()))
END
)
[ "$seen" = "timestamp_ms=1795747142908: 5357, timestamp_ms=1795747142.908: 2026" ] ||
	{ echo "This has changed: $seen"; exit 1; }
echo "$seen"
