#!/usr/bin/env bash
# All ids of a program have the time at which it imported PySnowfall
#
# Kind: Keys that leave the clock
# Date: 2026-11-27
# Versions: PySnowfall 1.0.0 of PyPI, Python 3.11
# Expected: generateSnowflake() takes the time of its call, as the default of its argument says
# Behaviour: Python evaluates that default once, so a service that runs for a month makes ids of its first second
# Output seen: 1 s after the import and 1 s later: 0 ms apart
set -euo pipefail
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"
python3 -m venv venv
venv/bin/pip -q --disable-pip-version-check install PySnowfall==1.0.0
seen=$(venv/bin/python - <<'END'
import time
from pysnowfall.parsers import toSnowflake
from pysnowfall.snowfall import Snowfall
times = []
for n in range(2):
    time.sleep(1)
    times.append(toSnowflake(Snowfall.generateSnowflake()).Timestamp)
print(f"1 s after the import and 1 s later: {times[1] - times[0]} ms apart")
END
)
[ "$seen" = "1 s after the import and 1 s later: 0 ms apart" ] || { echo "This has changed: $seen"; exit 1; }
echo "$seen"
