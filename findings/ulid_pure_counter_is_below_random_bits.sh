#!/usr/bin/env bash
# ULIDs of one millisecond are in no order, although a counter is in them
#
# Kind: Keys that sort elsewhere
# Date: 2026-11-27
# Versions: ulid-pure 0.1.0 of PyPI, Python 3.11
# Expected: ULID().gen() is "thread-safe, monotonic", as the README says: a counter of 16 bits counts the ids of a millisecond
# Behaviour: the counter is in the lowest bits, under 64 random ones, which are new for each id
# Output seen: counters 0 to 999, but about half of 1000 ids are below the one before
set -euo pipefail
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"
python3 -m venv venv
venv/bin/pip -q --disable-pip-version-check install ulid-pure==0.1.0
seen=$(venv/bin/python - <<'END'
import ulid_pure
ulid_pure._time = type("Clock", (), {"time": staticmethod(lambda: 1795747142.908)})
maker = ulid_pure.ULID()
ids = [maker.gen() for _ in range(1000)]
counters = [maker.parse(id)[1] & 0xffff for id in ids]
descents = sum(a > b for a, b in zip(ids, ids[1:]))
print(f"counters {counters[0]} to {counters[-1]}, but about half of 1000 ids are below the one before"
      if counters == list(range(1000)) and 400 < descents < 600 else f"{counters} {descents}")
END
)
[ "$seen" = "counters 0 to 999, but about half of 1000 ids are below the one before" ] ||
	{ echo "This has changed: $seen"; exit 1; }
echo "$seen"
