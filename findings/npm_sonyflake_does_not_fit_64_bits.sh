#!/usr/bin/env bash
# The "Sonyflakes" of npm have milliseconds, and by default 65 bits
#
# Kind: Keys read as of another time
# Date: 2026-11-27
# Versions: sonyflake 1.1.2 of npm, Node.js 20.20.2
# Expected: 39 bits of 10 ms, so 63 bits, as in Sonyflake, of which it says to be an implementation
# Behaviour: milliseconds since 1970 need 41 bits; from a later epoch on, 63 bits are enough for 17 years
# Output seen: 65 bits; of 300 of a millisecond 256 are different
set -euo pipefail
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"
npm install --silent --no-audit --no-fund --prefix . sonyflake@1.1.2 >/dev/null
cat >try.cjs <<'END'
const { Sonyflake } = require('sonyflake');
Date.now = () => 1795747142908;
const generator = new Sonyflake({ machineId: 2 });
const ids = Array.from({ length: 300 }, () => generator.nextId());
console.log(BigInt(ids[0]).toString(2).length, 'bits; of 300 of a millisecond', new Set(ids).size, 'are different');
END
seen=$(node try.cjs)
[ "$seen" = "65 bits; of 300 of a millisecond 256 are different" ] || { echo "This has changed: $seen"; exit 1; }
echo "$seen"
