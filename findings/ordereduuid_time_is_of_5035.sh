#!/usr/bin/env bash
# The time of an OrderedUUID of today is in the year 5035
#
# Kind: Keys read as of another time
# Date: 2026-11-27
# Versions: ordereduuid 0.5.0 of PyPI, Python 3.11
# Expected: datetime_utc is the time of creation, as it is with imitate_uuid4=True
# Behaviour: the version is written below the 60 bits of time, but the lowest 60 of these 64 bits are read
# Output seen: 5035, with imitate_uuid4=True 2026
set -euo pipefail
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"
python3 -m venv venv
venv/bin/pip -q --disable-pip-version-check install ordereduuid==0.5.0
seen=$(venv/bin/python - <<'END'
import time
time.time_ns = lambda: 1795747142908000000
from ordereduuid import OrderedUUID
print(f"{OrderedUUID().datetime_utc.year}, with imitate_uuid4=True {OrderedUUID(imitate_uuid4=True).datetime_utc.year}")
END
)
[ "$seen" = "5035, with imitate_uuid4=True 2026" ] || { echo "This has changed: $seen"; exit 1; }
echo "$seen"
