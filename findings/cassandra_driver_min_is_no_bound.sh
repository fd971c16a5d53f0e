#!/usr/bin/env bash
# TimeUuid.min() and TimeUuid.max() of a date move with each call
#
# Kind: Keys that sort elsewhere
# Date: 2026-11-27
# Versions: cassandra-driver 4.10.0 of npm, Node.js 20.20.2
# Expected: the smallest and the largest key of the millisecond, as the reference says
# Behaviour: without its second argument each call takes the next 100 ns of a counter, up to the whole millisecond
# Output seen: min() is above a key of its date, and after 5000 calls 500 us later; max() is below another key
set -euo pipefail
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"
npm install --silent --no-audit --no-fund --ignore-scripts --prefix . cassandra-driver@4.10.0 >/dev/null
cat >try.cjs <<'END'
const { types: { TimeUuid } } = require('cassandra-driver');
const date = new Date(1795747142908), ticks = (key) => key.getDatePrecision().ticks;
const above = ticks(TimeUuid.min(date)) > ticks(TimeUuid.fromDate(date, 0));
const below = ticks(TimeUuid.max(date)) < ticks(TimeUuid.fromDate(date, 9000));
const before = ticks(TimeUuid.min(date));
for (let n = 1; n < 5000; n++) TimeUuid.min(date);
console.log(`min() is ${above ? 'above' : 'at'} a key of its date, and after 5000 calls`,
	`${(ticks(TimeUuid.min(date)) - before) / 10} us later; max() is ${below ? 'below' : 'above'} another key`);
END
seen=$(node try.cjs)
[ "$seen" = "min() is above a key of its date, and after 5000 calls 500 us later; max() is below another key" ] ||
	{ echo "This has changed: $seen"; exit 1; }
echo "$seen"
