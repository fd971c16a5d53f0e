#!/usr/bin/env bash
# The time in a key of ordered-uuid-v4 runs twice as fast as the clock
#
# Kind: Keys that leave the clock
# Date: 2026-11-27
# Versions: ordered-uuid-v4 0.2.1 of npm, Node.js 20.20.2
# Expected: the time since 1970, so that keys of a restarted process are larger
# Behaviour: the age of the process is added to it: after a day keys are a day ahead, and after a restart smaller again
# Output seen: 2.0 times as fast
set -euo pipefail
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"
npm install --silent --no-audit --no-fund --prefix . ordered-uuid-v4@0.2.1 >/dev/null
cat >try.cjs <<'END'
const { convertTime, generate } = require('ordered-uuid-v4');
const both = () => [convertTime(generate()) / 100, Date.now()];
const before = both();
setTimeout(() => {
	const after = both();
	console.log(((after[0] - before[0]) / (after[1] - before[1])).toFixed(1), 'times as fast');
}, 1000);
END
seen=$(node try.cjs)
[ "$seen" = "2.0 times as fast" ] || { echo "This has changed: $seen"; exit 1; }
echo "$seen"
