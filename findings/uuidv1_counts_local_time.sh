#!/usr/bin/env bash
# The keys of uuidv1 have the time of the wall clock, not UTC
#
# Kind: Keys read as of another time
# Date: 2026-11-27
# Versions: uuidv1 1.6.14 of npm, Node.js 20.20.2
# Expected: version 1 counts UTC, as RFC 9562, section 5.1, says
# Behaviour: it counts local time, which with summer time comes twice for an hour in autumn
# Output seen: in Tokyo 9 hours ahead
set -euo pipefail
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"
npm install --silent --no-audit --no-fund --prefix . uuidv1@1.6.14 >/dev/null
cat >try.cjs <<'END'
const key = require('uuidv1')();
const ticks = BigInt('0x' + key.slice(15, 18) + key.slice(9, 13) + key.slice(0, 8));
const ahead = Number(ticks / 10000n) - 12219292800000 - Date.now();
console.log('in Tokyo', Math.round(ahead / 3600000), 'hours ahead');
END
seen=$(TZ=Asia/Tokyo node try.cjs)
[ "$seen" = "in Tokyo 9 hours ahead" ] || { echo "This has changed: $seen"; exit 1; }
echo "$seen"
