#!/usr/bin/env bash
# ObjectIds of one process repeat under load
#
# Kind: Keys that repeat, or end
# Date: 2026-11-27
# Versions: mongo-objectid 1.2.2 of npm, Node.js 20.20.2
# Expected: a counter that starts at random once; the README wants no equal ids "on fast generation"
# Behaviour: it starts at random for each id, so of 50000 ids of a second about 75 come twice, and they are in no order
# Output seen: some of 50000 repeat
set -euo pipefail
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"
npm install --silent --no-audit --no-fund --prefix . mongo-objectid@1.2.2 >/dev/null
cat >try.cjs <<'END'
const ObjectId = require('mongo-objectid');
const ids = new Set();
for (let n = 0; n < 50000; n++) ids.add(new ObjectId(1795747142).toString());
console.log(ids.size < 50000 ? 'some' : 'none', 'of 50000 repeat');
END
seen=$(node try.cjs)
[ "$seen" = "some of 50000 repeat" ] || { echo "This has changed: $seen"; exit 1; }
echo "$seen"
