#!/usr/bin/env bash
# The KSUIDs of @langwatch/ksuid sort by the low 16 bits of their seconds, so they start over every 18.2 hours
#
# Kind: Keys that repeat, or end
# Date: 2026-11-27
# Versions: @langwatch/ksuid 2.0.2 of npm, Node.js 20.20.2
# Expected: "naturally sortable by creation time", as the README says: 48 bits of seconds come first
# Behaviour: a shift by 40 or 32 bits is one by 8 or 0 in JavaScript; parse() shifts back likewise, so its times are right
# Output seen: order of 12 ids 2 hours apart: 9 0 10 1 11 2 3 4 5 6 7 8
set -euo pipefail
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"
npm install --silent --no-audit --no-fund --prefix . @langwatch/ksuid@2.0.2 >/dev/null
cat >try.cjs <<'END'
const { generate } = require('@langwatch/ksuid');
let now = 1795747142908;
Date.now = () => now;
const ids = Array.from({ length: 12 }, () => { now += 2 * 3600000; return generate('order').toString(); });
console.log('order of 12 ids 2 hours apart:', ids.toSorted().map((id) => ids.indexOf(id)).join(' '));
END
seen=$(node try.cjs)
[ "$seen" = "order of 12 ids 2 hours apart: 9 0 10 1 11 2 3 4 5 6 7 8" ] || { echo "This has changed: $seen"; exit 1; }
echo "$seen"
