#!/usr/bin/env bash
# Two hybrid logical clocks compare the other way round after to_bytes() and from_bytes()
#
# Kind: Keys that sort elsewhere
# Date: 2026-11-27
# Versions: hlcpy 0.0.2 of PyPI, Python 3.11
# Expected: the earlier stays earlier, or becomes equal: the bytes keep milliseconds and the counter
# Behaviour: 908.2 ms with counter 5 and 908.8 ms with counter 0 both become 909 ms, so the counters decide
# Output seen: before: first < second, after: second < first
set -euo pipefail
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"
python3 -m venv venv
venv/bin/pip -q --disable-pip-version-check install hlcpy==0.0.2
seen=$(venv/bin/python - <<'END'
from hlcpy import HLC
first, second = HLC(1795747142908200000, 5), HLC(1795747142908800000, 0)
compared = lambda a, b: "first < second" if a < b else "second < first" if b < a else "equal"
print(f"before: {compared(first, second)}, after: {compared(*(HLC.from_bytes(clock.to_bytes()) for clock in (first, second)))}")
END
)
[ "$seen" = "before: first < second, after: second < first" ] || { echo "This has changed: $seen"; exit 1; }
echo "$seen"
