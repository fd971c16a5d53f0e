#!/usr/bin/env bash
# What time decodeDate() reads from an id depends on the day on which it is called
#
# Kind: Keys read as of another time
# Date: 2026-11-27
# Versions: @live-change/uid 0.8.0 of npm, Node.js 20.20.2
# Expected: the time that encodeDate() got, 2026-11-27T02:39:02.908Z
# Behaviour: milliseconds are mostly wrong, and on a 31st a date of November is one of December
# Output seen: on the 15th 2026-11-27T02:39:02.915Z, on the 31st 2026-12-27T02:39:02.915Z
set -euo pipefail
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"
npm install --silent --no-audit --no-fund --prefix . @live-change/uid@0.8.0 >/dev/null
cat >try.mjs <<'END'
import { decodeDate, encodeDate } from '@live-change/uid';
const text = encodeDate(new Date('2026-11-27T02:39:02.908Z')), RealDate = Date;
const readOn = (day) => {
	globalThis.Date = class extends RealDate { constructor() { super(day); } };
	return decodeDate(text).toISOString();
};
console.log(`on the 15th ${readOn('2027-01-15')}, on the 31st ${readOn('2027-01-31')}`);
END
seen=$(node try.mjs)
[ "$seen" = "on the 15th 2026-11-27T02:39:02.915Z, on the 31st 2026-12-27T02:39:02.915Z" ] ||
	{ echo "This has changed: $seen"; exit 1; }
echo "$seen"
