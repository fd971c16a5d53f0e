#!/usr/bin/env bash
# The fifth byte of a KsuidMs is no fraction of 256
#
# Kind: Keys read as of another time
# Date: 2026-11-27
# Versions: svix-ksuid 0.7.0 of PyPI, Python 3.11
# Expected: a byte of fraction counts 1/256 s
# Behaviour: it counts 4 ms, from 0 to 249
# Output seen: 0 1 249
set -euo pipefail
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"
python3 -m venv venv
venv/bin/pip -q --disable-pip-version-check install svix-ksuid==0.7.0
seen=$(venv/bin/python - <<'END'
from datetime import datetime, timezone
from ksuid import KsuidMs
print(*(bytes(KsuidMs(datetime.fromtimestamp(1795747142 + ms / 1000, timezone.utc)))[4] for ms in (0, 4, 999)))
END
)
[ "$seen" = "0 1 249" ] || { echo "This has changed: $seen"; exit 1; }
echo "$seen"
