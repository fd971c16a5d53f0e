// Drizzle: drizzle-kit push and pull, and an insert by drizzle-orm

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { drizzle } from 'drizzle-orm/node-postgres';
import pg from 'pg';

import { isKey, showVersions } from './common.mjs';
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

async function insert() {
	const [row] = await db.insert(orders).values({ item: 'bread' }).returning();
	assert.ok(isKey(row.id), 'the id is a key');
	assert.equal(typeof row.number, 'bigint');
	const { rows } = await pool.query('SELECT item FROM orders WHERE id = $1 AND number = $2',
		[row.id, row.number]);
	assert.deepEqual(rows, [{ item: 'bread' }]);
}

test('push makes the table, and drops nothing', async () => {
	const output = await drizzleKit('push', '--verbose');
	assert.match(output, /CREATE TABLE "orders"/);
	assert.doesNotMatch(output, /DROP/);
	assert.match(output, /Changes applied/);
	await insert();
});

test('a second push changes nothing', async () => {
	assert.match(await drizzleKit('push', '--verbose'), /No changes detected/);
	await insert();
});

test('pull sees the table alone', async () => {
	await drizzleKit('pull');
	const schema = await readFile(new URL('out/schema.ts', directory), 'utf8');
	assert.deepEqual(schema.match(/^export const \w+/mg), ['export const orders']);
	assert.match(schema, /comb_generate\(\)/);
	assert.match(schema, /comb_snowflake\(\)/);
});
