#!/usr/bin/env bash
# The 4097th Snowflake of a millisecond is the first once more
#
# Kind: Keys that repeat, or end
# Date: 2026-11-27
# Versions: @sapphire/snowflake 3.5.5 of npm, Node.js 20.20.2
# Expected: generate() waits for the next millisecond, or throws
# Behaviour: the counter wraps without a word
# Output seen: 4096 different of 4100
set -euo pipefail
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"
npm install --silent --no-audit --no-fund --prefix . @sapphire/snowflake@3.5.5 >/dev/null
cat >try.cjs <<'END'
const { Snowflake } = require('@sapphire/snowflake');
const generator = new Snowflake(0), ids = new Set();
for (let n = 0; n < 4100; n++) ids.add(generator.generate({ timestamp: 1795747142908 }));
console.log(ids.size, 'different of 4100');
END
seen=$(node try.cjs)
[ "$seen" = "4096 different of 4100" ] || { echo "This has changed: $seen"; exit 1; }
echo "$seen"
