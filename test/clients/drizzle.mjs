// Drizzle: drizzle-kit push and pull, and queries by drizzle-orm

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

import { eq, sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/node-postgres';
import pg from 'pg';

import { checkClient, database, host, user } from './common.mjs';
import { orders } from './drizzle/schema.mjs';

const db = drizzle(new pg.Pool());
const url = `postgres://${user}@${encodeURIComponent(host)}/${database}`;

// Returns drizzle-kit's messages and errors.  Its exit status tells nothing: after some errors it is 0.
function drizzleKit(...args) {
	const { stdout, stderr } = spawnSync('node_modules/.bin/drizzle-kit',
		[...args, '--dialect=postgresql', `--url=${url}`], { encoding: 'utf8', timeout: 60000 });
	return stdout + stderr;
}
const push = () => drizzleKit('push', '--schema=drizzle/schema.mjs');

checkClient({
	table: () => assert.match(push(), /Changes applied/),
	query: async (text, values) => (await db.execute(sql(text.split(/\$\d+/), ...values))).rows,
	insert: (rows) => db.insert(orders).values(rows).returning(),
	time(id) {
		const created = sql`comb_timestamp(${orders.id})`.mapWith((text) => new Date(text));
		return db.select({ item: orders.item, created }).from(orders).where(eq(orders.id, id));
	},
	during: (since, until) =>
		db.select().from(orders)
			.where(sql`comb_during(${orders.id}, ${since}, ${until})`)
			.orderBy(orders.id),
	told: (error) => error.cause,
	bigint: 'bigint',
});

test('a second push changes nothing', () => assert.match(push(), /No changes detected/));

test('pull sees the table alone', () => {
	drizzleKit('pull', '--out=drizzle/out');
	const schema = readFileSync('drizzle/out/schema.ts', 'utf8');
	assert.deepEqual(schema.match(/^export const \w+/mg), ['export const orders']);
	assert.match(schema, /comb_generate\(\)/);
	// A Snowflake needs more digits than this mode keeps.
	assert.match(schema, /number: bigint\(\{ mode: "number" \}\).*comb_snowflake\(\)/);
});
