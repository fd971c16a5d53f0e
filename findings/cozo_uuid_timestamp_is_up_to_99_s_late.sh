#!/usr/bin/env bash
# uuid_timestamp() takes a millisecond for a tenth of a second
#
# Kind: Keys read as of another time
# Date: 2026-11-27
# Versions: cozo-embedded 0.7.6 of PyPI, Python 3.11
# Expected: seconds since 1970, 1795747142.908
# Behaviour: nanoseconds are divided by 10000000, so times are up to 99.9 s late, and a later key can have an earlier one
# Output seen: 0.000 142.0, 0.001 142.1, 0.908 232.8, 1.000 143.0
set -euo pipefail
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"
python3 -m venv venv
venv/bin/pip -q --disable-pip-version-check install cozo-embedded==0.7.6
seen=$(venv/bin/python - <<'END'
from cozo_embedded import CozoDbPy
database = CozoDbPy("mem", "", "{}")
def seconds(ms):
    ticks = (1795747142000 + ms + 12219292800000) * 10000
    key = f"{ticks & 0xffffffff:08x}-{ticks >> 32 & 0xffff:04x}-1{ticks >> 48:03x}-8000-000000000000"
    return database.run_script(f"?[time] := time = uuid_timestamp(to_uuid('{key}'))", {}, True)["rows"][0][0] - 1795747000
print(", ".join(f"{ms / 1000:.3f} {seconds(ms):.1f}" for ms in (0, 1, 908, 1000)))
END
)
[ "$seen" = "0.000 142.0, 0.001 142.1, 0.908 232.8, 1.000 143.0" ] || { echo "This has changed: $seen"; exit 1; }
echo "$seen"
