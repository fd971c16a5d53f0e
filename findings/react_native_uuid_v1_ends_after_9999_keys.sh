#!/usr/bin/env bash
# A program can make 9999 keys of version 1, in all its life
#
# Kind: Keys that repeat, or end
# Date: 2026-11-27
# Versions: react-native-uuid 2.0.4 of npm, Node.js 20.20.2
# Expected: an error for more than 10000 keys in one millisecond
# Behaviour: without options the counter never starts over, so an error for each further key until a restart
# Output seen: 9999 keys, then: uuid.v1(): Can't create more than 10M uuids/sec
set -euo pipefail
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"
npm install --silent --no-audit --no-fund --prefix . react-native-uuid@2.0.4 >/dev/null
cat >try.cjs <<'END'
const { default: uuid } = require('react-native-uuid');
let keys = 0, ms = 1795747142908;
Date.now = () => ms++;
try {
	for (; keys < 20000; keys++) uuid.v1();
} catch (error) {
	console.log(keys, 'keys, then:', error.message);
}
END
seen=$(node try.cjs)
[ "$seen" = "9999 keys, then: uuid.v1(): Can't create more than 10M uuids/sec" ] || { echo "This has changed: $seen"; exit 1; }
echo "$seen"
