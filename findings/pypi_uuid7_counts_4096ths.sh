#!/usr/bin/env bash
# The keys of uuid7 are marked version 7, and are of 2203 for everyone else
#
# Kind: Keys read as of another time
# Date: 2026-11-27
# Versions: uuid7 0.1.0 of PyPI, Python 3.11
# Expected: the first 48 bits of a uuid of version 7 are Unix milliseconds
# Behaviour: the first 48 bits count 1/4096 s
# Output seen: version 7, 2203
set -euo pipefail
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"
python3 -m venv venv
venv/bin/pip -q --disable-pip-version-check install uuid7==0.1.0
seen=$(venv/bin/python - <<'END'
from datetime import datetime, timezone
import uuid_extensions
key = uuid_extensions.uuid7(1795747142908000000)  # 2026-11-27 02:39:02.908
print(f"version {key.version},", datetime.fromtimestamp((key.int >> 80) / 1000, timezone.utc).year)
END
)
[ "$seen" = "version 7, 2203" ] || { echo "This has changed: $seen"; exit 1; }
echo "$seen"
