#!/usr/bin/env bash
# datetime_from_uuid1() also reads uuids that are not version 1
#
# Kind: Keys read as of another time
# Date: 2026-11-27
# Versions: cassandra-driver 3.30.1 of PyPI, Python 3.11
# Expected: an error for version 7, and for the random version 4
# Behaviour: a date, without an error
# Output seen: 1583 5044
set -euo pipefail
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"
python3 -m venv venv
venv/bin/pip -q --disable-pip-version-check install cassandra-driver==3.30.1
seen=$(venv/bin/python - <<'END'
import uuid
from cassandra.util import datetime_from_uuid1
print(*(datetime_from_uuid1(uuid.UUID(key)).year for key in
    ("01a21ab2-c7fc-7000-8000-000000000000", "f29feb3d-3a5c-4f29-9d6b-7c4f6b3a2a10")))
END
)
[ "$seen" = "1583 5044" ] || { echo "This has changed: $seen"; exit 1; }
echo "$seen"
