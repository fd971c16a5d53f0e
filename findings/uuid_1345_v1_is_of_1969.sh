#!/usr/bin/env bash
# Keys of version 1 of uuid-1345 are 57 years old
#
# Kind: Keys read as of another time
# Date: 2026-11-27
# Versions: uuid-1345 1.0.2 of npm, Node.js 20.20.2
# Expected: the time, and the variant of RFC 9562, whose bits stand in byte 8
# Behaviour: the bits of the variant are written to byte 7, over two bits of the time; byte 8 has none
# Output seen: the year is 57 years ago
set -euo pipefail
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"
npm install --silent --no-audit --no-fund --ignore-scripts --prefix . uuid-1345@1.0.2 >/dev/null
cat >try.cjs <<'END'
const key = require('uuid-1345').v1({ mac: false });
const ticks = BigInt('0x' + key.slice(15, 18) + key.slice(9, 13) + key.slice(0, 8));
const years = (Date.now() + 12219292800000 - Number(ticks / 10000n)) / 31556952000;
console.log('the year is', Math.round(years), 'years ago');
END
seen=$(node try.cjs)
[ "$seen" = "the year is 57 years ago" ] || { echo "This has changed: $seen"; exit 1; }
echo "$seen"
