#!/usr/bin/env bash
# seq-uuid never counts further than 32 bits, however many bytes it is asked for
#
# Kind: Keys that repeat, or end
# Date: 2026-11-27
# Versions: seq-uuid 0.1.4 of npm, Node.js 20.20.2
# Expected: 6 bytes of milliseconds wrap after 8919 years, as the README reckons for 2 bytes of minutes
# Behaviour: the upper 2 are zeros, and the others wrap after 49.7 days
# Output seen: 00001ade-dcfc for 01a21ade-dcfc
set -euo pipefail
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"
npm install --silent --no-audit --no-fund --prefix . seq-uuid@0.1.4 >/dev/null
cat >try.cjs <<'END'
const generate = require('seq-uuid');
Date.now = () => 0x01a21adedcfc;
console.log(generate(1, 6).slice(0, 13), 'for 01a21ade-dcfc');
END
seen=$(node try.cjs)
[ "$seen" = "00001ade-dcfc for 01a21ade-dcfc" ] || { echo "This has changed: $seen"; exit 1; }
echo "$seen"
