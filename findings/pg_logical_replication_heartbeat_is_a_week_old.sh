#!/usr/bin/env bash
# A heartbeat of logical replication is a week old when it arrives
#
# Kind: Drivers, ORMs and range types
# Date: 2026-11-27
# Versions: pg-logical-replication 2.5.0 and pg 8.23.1 of npm, Node.js 20.20.2, PostgreSQL 15
# Expected: the time at which the server sent it, for a lag or a low-water mark
# Behaviour: PostgreSQL's epoch is taken for 1999-12-25, so heartbeats are 7 days early, and what is sent back 7 days late
# Output seen: heartbeat -7 days, reply_time 7 days
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
await db.query(`SELECT pg_create_logical_replication_slot('slot', 'test_decoding')`);
const service = new LogicalReplicationService(at, { acknowledge: { auto: true, timeoutSeconds: 1 } });
const beat = new Promise((done) => service.once('heartbeat', (lsn, time) => done(time - Date.now())));
service.subscribe(new TestDecodingPlugin({}), 'slot');
const days = Math.round(await beat / 86400000);
let reply = null;
while (reply === null) {
	await new Promise((done) => setTimeout(done, 500));
	reply = (await db.query(`SELECT round(extract(epoch FROM reply_time - now()) / 86400) AS days
		FROM pg_stat_replication`)).rows[0].days;
}
console.log(`heartbeat ${days} days, reply_time ${reply} days`);
await service.stop();
await db.end();
END
seen=$(node try.mjs)
[ "$seen" = "heartbeat -7 days, reply_time 7 days" ] || { echo "This has changed: $seen"; exit 1; }
echo "$seen"
