#!/usr/bin/env bash
# Keys of version 7 are stored in the order of the low 16 bits of their milliseconds
#
# Kind: Keys that sort elsewhere
# Date: 2026-11-27
# Versions: cozo-embedded 0.7.6 of PyPI, Python 3.11
# Expected: a uuid sorts by its bytes, or by its time
# Behaviour: every version sorts as version 1 would have to: the third group first, then the second, then the first
# Output seen: order of 8 keys 20 s apart: 0 7 4 1 5 2 6 3
set -euo pipefail
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"
python3 -m venv venv
venv/bin/pip -q --disable-pip-version-check install cozo-embedded==0.7.6
seen=$(venv/bin/python - <<'END'
from cozo_embedded import CozoDbPy
database = CozoDbPy("mem", "", "{}")
database.run_script(":create keys {id: Uuid => n: Int}", {}, False)
for n in range(8):
    ms = 0x01a21ade0000 + n * 20000
    key = f"{ms >> 16:08x}-{ms & 0xffff:04x}-7000-8000-000000000000"
    database.run_script(f"?[id, n] <- [[to_uuid('{key}'), {n}]] :put keys {{id => n}}", {}, False)
rows = database.run_script("?[n, id] := *keys[id, n] :order id", {}, True)["rows"]
print("order of 8 keys 20 s apart:", *(row[0] for row in rows))
END
)
[ "$seen" = "order of 8 keys 20 s apart: 0 7 4 1 5 2 6 3" ] || { echo "This has changed: $seen"; exit 1; }
echo "$seen"
