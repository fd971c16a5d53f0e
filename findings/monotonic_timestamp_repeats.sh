#!/usr/bin/env bash
# monotonic-timestamp follows a clock that goes back, and gives the same time again
#
# Kind: Keys that repeat, or end
# Date: 2026-11-27
# Versions: monotonic-timestamp 0.0.9 of npm, Node.js 20.20.2
# Expected: always strictly ordered, as the README says
# Behaviour: only calls within one millisecond are told apart; the clock here goes back by 1 ms and on again
# Output seen: 908 908.001 907 908 908.001
set -euo pipefail
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"
npm install --silent --no-audit --no-fund --prefix . monotonic-timestamp@0.0.9 >/dev/null
cat >try.cjs <<'END'
const timestamp = require('monotonic-timestamp');
const times = [908, 908, 907, 908, 908].map((ms) => {
	Date.now = () => 1795747142000 + ms;
	return Number((timestamp() - 1795747142000).toFixed(3));
});
console.log(...times);
END
seen=$(node try.cjs)
[ "$seen" = "908 908.001 907 908 908.001" ] || { echo "This has changed: $seen"; exit 1; }
echo "$seen"
