#!/usr/bin/env bash
# The epoch that the README of snowflake-id writes for a year begins days before the year
#
# Kind: Keys read as of another time
# Date: 2026-11-27
# Versions: snowflake-id 1.1.0 of npm, Node.js 20.20.2
# Expected: (2019-1970)*31536000*1000 is 2019-01-01
# Behaviour: leap years are missing
# Output seen: 2018-12-20
set -euo pipefail
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"
npm install --silent --no-audit --no-fund --prefix . snowflake-id@1.1.0 >/dev/null
offset=$(grep -om 1 '([0-9]*-1970)\*31536000\*1000' node_modules/snowflake-id/README.md)
seen=$(node -p "new Date($offset).toISOString().slice(0, 10)")
[ "$seen" = "2018-12-20" ] || { echo "This has changed: $seen"; exit 1; }
echo "$seen"
