#!/usr/bin/env bash
# The default epoch of nodejs-snowflake is the moment of its construction
#
# Kind: Keys that leave the clock
# Date: 2026-11-27
# Versions: nodejs-snowflake 2.0.1 of npm, Node.js 20.20.2
# Expected: a fixed epoch, so that ids of a restarted program are larger
# Behaviour: an id of a later process or object is smaller, or the same time
# Output seen: the older generator has the larger id
set -euo pipefail
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"
npm install --silent --no-audit --no-fund --prefix . nodejs-snowflake@2.0.1 >/dev/null
cat >try.cjs <<'END'
const { Snowflake } = require('nodejs-snowflake');
const older = new Snowflake();
setTimeout(() => {
	const newer = new Snowflake();
	console.log('the', older.getUniqueID() > newer.getUniqueID() ? 'older' : 'newer', 'generator has the larger id');
}, 300);
END
seen=$(node try.cjs)
[ "$seen" = "the older generator has the larger id" ] || { echo "This has changed: $seen"; exit 1; }
echo "$seen"
