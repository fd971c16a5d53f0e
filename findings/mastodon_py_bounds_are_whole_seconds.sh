#!/usr/bin/env bash
# A datetime as max_id leaves out the statuses of its second
#
# Kind: Keys read as of another time
# Date: 2026-11-27
# Versions: Mastodon.py 2.3.3 of PyPI, Python 3.11
# Expected: the id of the datetime: ids of Mastodon have milliseconds
# Behaviour: the fraction of the second is cut off
# Output seen: of the statuses of 02.000, 02.500 and 02.900 those before 02.908: 0
set -euo pipefail
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"
python3 -m venv venv
venv/bin/pip -q --disable-pip-version-check install Mastodon.py==2.3.3
seen=$(venv/bin/python - <<'END'
from datetime import datetime, timezone
from mastodon.types_base import MaybeSnowflakeIdType
max_id = int(MaybeSnowflakeIdType(datetime(2026, 11, 27, 2, 39, 2, 908000, timezone.utc)))
statuses = [1795747142000 + ms << 16 for ms in (0, 500, 900)]
print("of the statuses of 02.000, 02.500 and 02.900 those before 02.908:", sum(status < max_id for status in statuses))
END
)
[ "$seen" = "of the statuses of 02.000, 02.500 and 02.900 those before 02.908: 0" ] || { echo "This has changed: $seen"; exit 1; }
echo "$seen"
