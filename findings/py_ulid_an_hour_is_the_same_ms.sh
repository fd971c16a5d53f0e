#!/usr/bin/env bash
# Monotonic().generate() can give the time of an hour ago
#
# Kind: Keys that leave the clock
# Date: 2026-11-27
# Versions: py-ulid 1.0.3 of PyPI, Python 3.11
# Expected: the last time and the next number in the same millisecond only
# Behaviour: whole seconds since the last call do not count, so one call in 1000 after a pause is "in the same millisecond"
# Output seen: after 3600000.5 ms: 0 ms later
set -euo pipefail
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"
python3 -m venv venv
venv/bin/pip -q --disable-pip-version-check install py-ulid==1.0.3
seen=$(venv/bin/python - <<'END'
from datetime import datetime, timedelta, timezone
import ulid.ulid
class Clock(datetime):
    @classmethod
    def now(cls, zone):
        return cls.time
ulid.ulid.datetime = Clock
Clock.time = datetime(2026, 11, 27, 2, 39, 2, 908000, timezone.utc)
generator = ulid.ulid.Monotonic()
before = generator.decode(generator.generate())[0]
Clock.time += timedelta(hours=1, microseconds=500)
print("after 3600000.5 ms:", generator.decode(generator.generate())[0] - before, "ms later")
END
)
[ "$seen" = "after 3600000.5 ms: 0 ms later" ] || { echo "This has changed: $seen"; exit 1; }
echo "$seen"
