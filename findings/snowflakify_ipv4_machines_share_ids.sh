#!/usr/bin/env bash
# Machines 10.0.1.3 and 10.0.3.1 make the same ids
#
# Kind: Keys that repeat, or end
# Date: 2026-11-27
# Versions: snowflakify 1.0.7 of npm, Node.js 20.20.2
# Expected: the last 10 bits of the IPv4 address, which are all different in 10.0.0.0/22
# Behaviour: the four numbers are joined in binary without leading zeros: 1010 0 1 11 and 1010 0 11 1
# Output seen: equal ids; 1016 addresses, 758 values
set -euo pipefail
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"
npm install --silent --no-audit --no-fund --prefix . snowflakify@1.0.7 >/dev/null
cat >try.cjs <<'END'
const os = require('os');
let address;
os.networkInterfaces = () => ({ eth0: [{ address, family: 'IPv4', internal: false }] });
const { NetworkFragment } = require('snowflakify');
const value = (of) => { address = of; return new NetworkFragment(10, 'ipv4').getValue(); };
const values = [];
for (let net = 0; net < 4; net++)
	for (let host = 1; host < 255; host++) values.push(value(`10.0.${net}.${host}`));
console.log(`${value('10.0.1.3') === value('10.0.3.1') ? 'equal' : 'different'} ids;`,
	`${values.length} addresses, ${new Set(values).size} values`);
END
seen=$(node try.cjs)
[ "$seen" = "equal ids; 1016 addresses, 758 values" ] || { echo "This has changed: $seen"; exit 1; }
echo "$seen"
