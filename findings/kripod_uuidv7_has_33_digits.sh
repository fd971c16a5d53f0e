#!/usr/bin/env bash
# While the clock is behind, keys of version 7 soon have a digit too many
#
# Kind: Keys that repeat, or end
# Date: 2026-11-27
# Versions: @kripod/uuidv7 0.3.4 of npm, Node.js 20.20.2
# Expected: a 12-bit counter, as the README says, that waits or moves the time on at its end
# Behaviour: after 4095 comes 1000 in hexadecimal, 4 digits for 3, so the text is no uuid, and sorts before most others
# Output seen: the clock back by 1 s, 5000 keys: 904 of 33 digits, the last one below 3784 of 32
set -euo pipefail
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"
npm install --silent --no-audit --no-fund --prefix . @kripod/uuidv7@0.3.4 >/dev/null
cat >try.cjs <<'END'
const { uuidv7 } = require('@kripod/uuidv7');
let now = 1795747142908;
Date.now = () => now;
const keys = [uuidv7()];
now -= 1000;
while (keys.length < 5000) keys.push(uuidv7());
const long = keys.filter((key) => key.length > 36), last = keys.at(-1);
console.log(`the clock back by 1 s, 5000 keys: ${long.length} of 33 digits,`,
	`the last one below ${keys.filter((key) => key.length === 36 && key > last).length} of 32`);
END
seen=$(node try.cjs)
[ "$seen" = "the clock back by 1 s, 5000 keys: 904 of 33 digits, the last one below 3784 of 32" ] ||
	{ echo "This has changed: $seen"; exit 1; }
echo "$seen"
