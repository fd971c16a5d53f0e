#!/usr/bin/env bash
# From the third id of a millisecond on, node-snowflake repeats the second
#
# Kind: Keys that repeat, or end
# Date: 2026-11-27
# Versions: node-snowflake 0.0.1 of npm, Node.js 20.20.2
# Expected: 4096 ids a millisecond, as of Twitter's Snowflake, of which it is "a node.js clone"
# Behaviour: each call counts from the configured sequence on, and keeps nothing, so it is 0 or 1
# Output seen: 2 different of 1000
set -euo pipefail
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"
npm install --silent --no-audit --no-fund --prefix . node-snowflake@0.0.1 >/dev/null
cat >try.cjs <<'END'
Date.prototype.getTime = () => 1795747142908;
const { Snowflake } = require('node-snowflake');
const ids = Array.from({ length: 1000 }, () => Snowflake.nextId());
console.log(`${new Set(ids).size} different of ${ids.length}`);
END
seen=$(node try.cjs)
[ "$seen" = "2 different of 1000" ] || { echo "This has changed: $seen"; exit 1; }
echo "$seen"
