#!/usr/bin/env bash
# Most keys of a millisecond come after its lastFromTime()
#
# Kind: Keys that sort elsewhere
# Date: 2026-11-27
# Versions: uuid-js 0.7.5 of npm, Node.js 20.20.2
# Expected: a range from firstFromTime(t) to lastFromTime(t) has the keys that create(1) makes at t
# Behaviour: lastFromTime() is of the first 100 ns of the millisecond, and create(1) adds up to 1.5 us at random
# Output seen: more than 800 of 1000 are later
set -euo pipefail
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"
npm install --silent --no-audit --no-fund --prefix . uuid-js@0.7.5 >/dev/null
cat >try.cjs <<'END'
const UUID = require('uuid-js');
const ticks = (uuid) => BigInt('0x' + uuid.hex.slice(15, 18) + uuid.hex.slice(9, 13) + uuid.hex.slice(0, 8));
let later = 0;
for (let n = 0; n < 1000; n++) {
	const key = ticks(UUID.create(1));
	later += key > ticks(UUID.lastFromTime(Number(key / 10000n) - 12219292800000));
}
console.log(later > 800 ? 'more than 800' : later, 'of 1000 are later');
END
seen=$(node try.cjs)
[ "$seen" = "more than 800 of 1000 are later" ] || { echo "This has changed: $seen"; exit 1; }
echo "$seen"
