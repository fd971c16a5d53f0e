#!/usr/bin/env bash
# Keys of flexid with milliseconds start over on 2026-12-04, and every 49.7 days
#
# Kind: Keys that repeat, or end
# Date: 2026-11-27
# Versions: flexid 0.8.3 of npm, Node.js 20.20.2
# Expected: the default horizon of 100 years before an overflow, for which the key has enough digits
# Behaviour: the time is cut to 32 bits, which is enough for the default of seconds only
# Output seen: the key of 2026-12-04T02:52:23.424Z is smaller than that of 1 ms before
set -euo pipefail
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"
npm install --silent --no-audit --no-fund --prefix . flexid@0.8.3 >/dev/null
cat >try.mjs <<'END'
import { BASE, generator } from 'flexid';
const generate = generator(BASE[58], { resolution: 1 });
const keyAt = (ms) => (Date.now = () => ms, generate());
const ms = Date.UTC(2026, 11, 4, 2, 52, 23, 424);
const compared = keyAt(ms - 1) < keyAt(ms) ? 'larger' : 'smaller';
console.log(`the key of ${new Date(ms).toISOString()} is ${compared} than that of 1 ms before`);
END
seen=$(node try.mjs)
[ "$seen" = "the key of 2026-12-04T02:52:23.424Z is smaller than that of 1 ms before" ] ||
	{ echo "This has changed: $seen"; exit 1; }
echo "$seen"
