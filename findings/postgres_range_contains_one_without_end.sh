#!/usr/bin/env bash
# A range of one day contains the range without an end
#
# Kind: Drivers, ORMs and range types
# Date: 2026-11-27
# Versions: postgres-range 1.1.4 of npm, Node.js 20.20.2
# Expected: containsRange() means @> of PostgreSQL
# Behaviour: a missing end is not compared, so [a,b) contains [a,) and (,), but an open one is, so it does not contain itself
# Output seen: in [2026-11-27,2026-11-28): [2026-11-27,) true, (,) true, itself false
set -euo pipefail
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"
npm install --silent --no-audit --no-fund --prefix . postgres-range@1.1.4 >/dev/null
cat >try.cjs <<'END'
const { parse } = require('postgres-range');
const text = '[2026-11-27,2026-11-28)', day = parse(text);
const has = (other) => day.containsRange(parse(other));
console.log(`in ${text}: [2026-11-27,) ${has('[2026-11-27,)')}, (,) ${has('(,)')}, itself ${has(text)}`);
END
seen=$(node try.cjs)
[ "$seen" = "in [2026-11-27,2026-11-28): [2026-11-27,) true, (,) true, itself false" ] ||
	{ echo "This has changed: $seen"; exit 1; }
echo "$seen"
