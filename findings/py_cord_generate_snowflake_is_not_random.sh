#!/usr/bin/env bash
# generate_snowflake() makes one id a millisecond, the same as a bound
#
# Kind: Keys that repeat, or end
# Date: 2026-11-27
# Versions: py-cord 2.8.1 of PyPI, Python 3.11
# Expected: an id that is "more accurate and random" than time_snowflake()
# Behaviour: all 22 bits below the time are 1, as in time_snowflake(high=True)
# Output seen: 1 of 1000 different, equal to the bound
set -euo pipefail
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"
python3 -m venv venv
venv/bin/pip -q --disable-pip-version-check install py-cord==2.8.1
seen=$(venv/bin/python - <<'END'
from datetime import datetime, timezone
from discord.utils import generate_snowflake, time_snowflake
time = datetime(2026, 11, 27, 2, 39, 2, 908000, timezone.utc)
ids = {generate_snowflake(time) for _ in range(1000)}
print(len(ids), "of 1000 different,", "equal to" if ids == {time_snowflake(time, high=True)} else "not", "the bound")
END
)
[ "$seen" = "1 of 1000 different, equal to the bound" ] || { echo "This has changed: $seen"; exit 1; }
echo "$seen"
