#!/usr/bin/env bash
# Bun.randomUUIDv7() of a stated millisecond gets a later one
#
# Kind: Keys that leave the clock
# Date: 2026-11-27
# Versions: Bun 1.4.5 of npm
# Expected: keys of the millisecond that was stated
# Behaviour: a 12-bit counter starts at random, and at its end the millisecond goes on
# Output seen: more than 900 of 5000 keys are of a later millisecond
set -euo pipefail
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"
npm install --silent --no-audit --no-fund --prefix . bun@1.4.5 >/dev/null
cat >try.mjs <<'END'
let later = 0;
for (let n = 0; n < 5000; n++) later += Bun.randomUUIDv7('hex', 1795747142908).slice(0, 13) !== '01a21ade-dcfc';
console.log(later > 900 ? 'more than 900' : later, 'of 5000 keys are of a later millisecond');
END
seen=$(node_modules/.bin/bun try.mjs)
[ "$seen" = "more than 900 of 5000 keys are of a later millisecond" ] || { echo "This has changed: $seen"; exit 1; }
echo "$seen"
