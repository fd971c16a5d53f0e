#!/usr/bin/env bash
# TIDs of the AT Protocol run ahead of the clock, further with each one of a shared millisecond
#
# Kind: Keys that leave the clock
# Date: 2026-11-27
# Versions: @atproto/common-web 0.4.21 of npm, Node.js 20.20.2
# Expected: microseconds, of which the last three digits count the TIDs of a millisecond
# Behaviour: the counter is never set back, so a million TIDs that shared a millisecond are a second, until a restart
# Output seen: 1 ms after a million of one millisecond: 999999 us ahead
set -euo pipefail
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"
npm install --silent --no-audit --no-fund --prefix . @atproto/common-web@0.4.21 >/dev/null
cat >try.cjs <<'END'
const { TID } = require('@atproto/common-web');
let ms = 1795747142908;
Date.now = () => ms;
for (let n = 0; n < 1000000; n++) TID.next();
ms++;
console.log('1 ms after a million of one millisecond:', TID.next().timestamp() - ms * 1000, 'us ahead');
END
seen=$(node try.cjs)
[ "$seen" = "1 ms after a million of one millisecond: 999999 us ahead" ] || { echo "This has changed: $seen"; exit 1; }
echo "$seen"
