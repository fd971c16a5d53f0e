// Drizzle: drizzle-kit push and pull, and queries by drizzle-orm

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { and, eq, gt, sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/node-postgres';
import pg from 'pg';

import { checkClient, range, showVersions } from './common.mjs';
import { orders } from './drizzle/schema.mjs';

showVersions('drizzle-kit', 'drizzle-orm');

const directory = new URL('drizzle/', import.meta.url);
const kit = fileURLToPath(new URL('node_modules/.bin/drizzle-kit', import.meta.url));
const pool = new pg.Pool();
const db = drizzle(pool);

after(() => pool.end());

// Returns drizzle-kit's messages and errors, without the frames of its progress bar.
// Its exit status tells nothing: after some errors it is 0.
function drizzleKit(...args) {
	const options = { cwd: directory, timeout: 60000 };
	return new Promise((resolve) => {
		execFile(kit, [...args, '--config=drizzle.config.mjs'], options,
			(error, stdout, stderr) => resolve((stdout + stderr).replace(/^.*Pulling schema.*\n/mg, '')));
	});
}

const all = () => db.select().from(orders).orderBy(orders.id);

checkClient({
	async table() {
		const output = await drizzleKit('push', '--verbose');
		assert.match(output, /CREATE TABLE "orders"/);
		assert.doesNotMatch(output, /DROP/);
		assert.match(output, /Changes applied/);
	},
	query: async (text, values) => (await db.execute(sql(text.split(/\$\d+/), ...values))).rows,
	insert: (item) => db.insert(orders).values({ item }).returning(),
	bulk: (items) => db.insert(orders).values(items.split(' ').map((item) => ({ item }))).returning(),
	upsert: (item, amount) => db.insert(orders).values({ item, amount })
		.onConflictDoUpdate({ target: orders.item, set: { amount } }).returning(),
	time(id) {
		const created = sql`comb_timestamp(${orders.id})`.mapWith((text) => new Date(text));
		return db.select({ item: orders.item, created }).from(orders).where(eq(orders.id, id));
	},
	during: (since, until) =>
		db.select().from(orders)
			.where(sql`comb_during(${orders.id}, ${since}, ${until})`)
			.orderBy(orders.id),
	created: (since, until) => all().where(sql`comb_created(${orders.id}, ${range(since, until)})`),
	page: (after, size) => all().where(gt(orders.id, after)).limit(size),
	find: (id, number) => all().where(and(eq(orders.id, id), eq(orders.number, number))),
	told: (error) => error.cause,
	bigint: 'bigint',
});

test('a second push changes nothing', async () => {
	assert.match(await drizzleKit('push', '--verbose'), /No changes detected/);
});

test('pull sees the table alone', async () => {
	await drizzleKit('pull');
	const schema = await readFile(new URL('out/schema.ts', directory), 'utf8');
	assert.deepEqual(schema.match(/^export const \w+/mg), ['export const orders']);
	assert.match(schema, /comb_generate\(\)/);
	// A Snowflake needs more digits than this mode keeps.
	assert.match(schema, /number: bigint\(\{ mode: "number" \}\).*comb_snowflake\(\)/);
});
