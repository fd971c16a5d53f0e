#!/usr/bin/env bash
# Changes that nobody acknowledged are not sent again
#
# Kind: Drivers, ORMs and range types
# Date: 2026-11-27
# Versions: pg-logical-replication 2.5.0 and pg 8.23.1 of npm, Node.js 20.20.2, PostgreSQL 15
# Expected: with auto: false the position waits for acknowledge(): timeoutSeconds, 10 by default, moves no position then
# Behaviour: each timeoutSeconds the last position received is confirmed as flushed
# Output seen: of 5 messages the slot still has 5 with timeoutSeconds: 0, and 0 with timeoutSeconds: 1
set -euo pipefail
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"
npm install --silent --no-audit --no-fund --prefix . pg-logical-replication@2.5.0 pg@8.23.1 >/dev/null
as=() programs=/usr/lib/postgresql/15/bin
if [ "$(id -u)" = 0 ]; then
	as=(setpriv --reuid=postgres --regid=postgres --clear-groups)
	chown postgres "$directory"
fi
"${as[@]}" "$programs/initdb" -A trust -D data -U postgres >/dev/null
"${as[@]}" "$programs/postgres" -D data -k "$directory" -c listen_addresses= -c wal_level=logical >/dev/null 2>&1 &
server=$!
trap 'kill -INT "$server"; wait "$server" || true; rm -rf "$directory"' EXIT
timeout 60 sh -c "until $programs/pg_isready -q -h $directory; do sleep 0.2; done"
cat >try.mjs <<'END'
import pg from 'pg';
import { LogicalReplicationService, TestDecodingPlugin } from 'pg-logical-replication';
const at = { host: process.cwd(), user: 'postgres', database: 'postgres' };
const db = new pg.Client(at);
await db.connect();
await db.query('CREATE TABLE t (id int)');
const pause = (ms) => new Promise((done) => setTimeout(done, ms));
const seen = [];
for (const timeoutSeconds of [0, 1]) {
	await db.query(`SELECT pg_create_logical_replication_slot('slot', 'test_decoding')`);
	const service = new LogicalReplicationService(at, { acknowledge: { auto: false, timeoutSeconds } });
	let received = 0;
	service.on('data', () => received++);
	service.subscribe(new TestDecodingPlugin({}), 'slot');
	await new Promise((started) => service.once('start', started));
	await db.query('INSERT INTO t VALUES (1), (2), (3)');
	await pause(4000);
	await service.stop();
	while ((await db.query('SELECT FROM pg_replication_slots WHERE active')).rowCount) await pause(100);
	const left = (await db.query(`SELECT FROM pg_logical_slot_peek_changes('slot', NULL, NULL)`)).rowCount;
	seen.push(`timeoutSeconds ${timeoutSeconds}: received ${received}, left ${left}`);
	await db.query(`SELECT pg_drop_replication_slot('slot')`);
}
console.log(seen.join('; '));
await db.end();
END
seen=$(node try.mjs)
[ "$seen" = "timeoutSeconds 0: received 5, left 5; timeoutSeconds 1: received 5, left 0" ] ||
	{ echo "This has changed: $seen"; exit 1; }
echo "$seen"
