#!/usr/bin/env bash
# Pages by a timestamptz skip rows, or never end
#
# Kind: Drivers, ORMs and range types
# Date: 2026-11-27
# Versions: kysely-cursor 0.1.0, kysely 0.28.19, @electric-sql/pglite 0.5.16 (PostgreSQL 18.6) of npm, Node.js 20.20.2
# Expected: each of 200 rows, 130 us apart, is on one page
# Behaviour: the cursor keeps milliseconds: descending pages skip rows, ascending ones repeat rows
# Output seen: desc 175 rows, 175 different; asc 256 rows, 200 different
set -euo pipefail
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"
npm install --silent --no-audit --no-fund --prefix . kysely@0.28.19 kysely-cursor@0.1.0 @electric-sql/pglite@0.5.16 >/dev/null
cat >try.mjs <<'END'
import { PGlite } from '@electric-sql/pglite';
import { DummyDriver, Kysely, PostgresAdapter, PostgresIntrospector, PostgresQueryCompiler } from 'kysely';
import { createPaginator, PostgresPaginationDialect } from 'kysely-cursor';
const lite = new PGlite();
class Driver extends DummyDriver {
	async acquireConnection() {
		return { executeQuery: async (query) => ({ rows: (await lite.query(query.sql, query.parameters)).rows }) };
	}
}
const db = new Kysely({ dialect: {
	createAdapter: () => new PostgresAdapter(), createDriver: () => new Driver(),
	createIntrospector: (db) => new PostgresIntrospector(db), createQueryCompiler: () => new PostgresQueryCompiler() } });
await lite.exec(`CREATE TABLE t (id int PRIMARY KEY, at timestamptz NOT NULL);
	INSERT INTO t SELECT n, timestamptz '2026-11-27' + n * interval '130 us' FROM generate_series(1, 200) n`);
const pages = createPaginator({ dialect: PostgresPaginationDialect });
const seen = [];
for (const dir of ['desc', 'asc']) {
	let cursor, ids = [];
	for (let page = 0; page < 30; page++) {
		const { items, nextPage } = await pages.paginate({ query: db.selectFrom('t').select(['id', 'at']),
			sorts: [{ col: 'at', dir }, { col: 'id', dir }], limit: 20, cursor });
		ids.push(...items.map((row) => row.id));
		if (!nextPage) break;
		cursor = { nextPage };
	}
	seen.push(`${dir} ${ids.length} rows, ${new Set(ids).size} different`);
}
console.log(seen.join('; '));
END
seen=$(node try.mjs)
[ "$seen" = "desc 175 rows, 175 different; asc 256 rows, 200 different" ] || { echo "This has changed: $seen"; exit 1; }
echo "$seen"
