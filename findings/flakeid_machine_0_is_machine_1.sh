#!/usr/bin/env bash
# Machines 0 and 1 make the same ids
#
# Kind: Keys that repeat, or end
# Date: 2026-11-27
# Versions: flakeid 1.0.1 of npm, Node.js 20.20.2
# Expected: each of the 1024 numbers of 10 bits is a machine
# Behaviour: 0 is taken for no number, so for the default 1, and 1023 for 0
# Output seen: 0 and 1: equal ids; 1023 below 1
set -euo pipefail
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"
npm install --silent --no-audit --no-fund --prefix . flakeid@1.0.1 >/dev/null
cat >try.cjs <<'END'
const FlakeId = require('flakeid');
Date.now = () => 1795747142908;
const [zero, one, last] = [0, 1, 1023].map((mid) => BigInt(new FlakeId({ mid }).gen()));
console.log(`0 and 1: ${zero === one ? 'equal' : 'different'} ids; 1023 ${last < one ? 'below' : 'above'} 1`);
END
seen=$(node try.cjs)
[ "$seen" = "0 and 1: equal ids; 1023 below 1" ] || { echo "This has changed: $seen"; exit 1; }
echo "$seen"
