// What the programs for Node.js share: the checks, and the versions of packages
//
// A program makes the table orders (id, number, item, amount, ref), as its client's users
// would, and gives checkClient() one function for each task.

import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { test } from 'node:test';

// test/run sets libpq's variables.
export const { PGHOST: host, PGPORT: port, PGDATABASE: database, PGUSER: user } = process.env;

const uuidv7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const nil = '00000000-0000-0000-0000-000000000000';

// assert.match() would show the key.
export function isKey(value) {
	return uuidv7.test(value);
}

// The runner copies the versions from this line into its table.
export function showVersions(...packages) {
	const versions = packages.map((name) => {
		const file = [`node_modules/${name}`, `prisma/node_modules/${name}`]
			.map((directory) => new URL(`${directory}/package.json`, import.meta.url)).find(existsSync);
		return `${name} ${JSON.parse(readFileSync(file)).version}`;
	});
	console.log(`# versions: ${versions.join(', ')}`);
}

// A range in the form that PostgreSQL reads, since included, until excluded
export function range(since, until) {
	return `[${since.toISOString()},${until.toISOString()})`;
}

// Rows have the columns as the client gives them.
//   insert(item)           inserts a row, and returns it
//   bulk(items)            inserts rows in one statement, and returns them in order
//   upsert(item, amount)   inserts or updates by item, and returns the row
//   time(id)               returns the time of the key as a Date
//   between(since, until)  returns the rows of a period
//   during(since, until)   the same by the client's range
//   page(after, size)      returns the next rows by the key
//   find(number)           returns the row of a Snowflake
//   fail()                 calls comb_generate('sequential')
//   told(error)            returns the SQLSTATE and the hint as { code, hint }
// Other functions are more ways to read a period, such as a prepared statement.
// Numbers of 64 bits are of the JavaScript type that "bigint" names.
export function checkClient({ insert, bulk, upsert, time, between, during, page, find, fail, told, bigint, ...periods }) {
	const items = ['salt', 'oil', 'rice', 'tea', 'milk'];
	const second = 1000;
	const ago = (ms) => new Date(Date.now() - ms);
	let first;
	let rows;

	test('an insert gives the id back', async () => {
		first = await insert('bread');
		assert.ok(isKey(first.id), 'the id is a key');
	});

	test('rows of one statement have keys in order', async () => {
		rows = [first, ...await bulk(items)];
		const ids = rows.map((row) => row.id);
		assert.ok(ids.length === items.length + 1 && ids.every(isKey), 'each id is a key');
		assert.ok(ids.every((id, i) => i === 0 || ids[i - 1] < id), 'the ids increase');
	});

	test('an upsert keeps the id', async () => {
		const row = await upsert('bread', 7);
		assert.ok(row.id === first.id, 'the id is the same');
		assert.equal(row.amount, 7);
	});

	test('the key has the time', async () => {
		const at = await time(first.id);
		assert.ok(at instanceof Date);
		assert.ok(Math.abs(Date.now() - at) < 60 * second, 'the time is now');
	});

	const ways = [['two timestamps', between], ['a range', during],
		...Object.entries(periods).map(([way, period]) => [`two timestamps, ${way}`, period])];
	for (const [name, period] of ways) {
		test(`a period by ${name}`, async () => {
			const of = async (since, until) => (await period(since, until)).map((row) => row.item);
			const at = await time(first.id);
			assert.deepEqual(await of(ago(60 * second), ago(-60 * second)), ['bread', ...items]);
			assert.deepEqual(await of(ago(7200 * second), ago(3600 * second)), []);
			assert.ok((await of(at, new Date(+at + 1))).includes('bread'), 'the first millisecond is in');
			assert.deepEqual(await of(ago(3600 * second), at), []);
		});
	}

	test('pages by the key', async () => {
		const seen = [];
		for (let after = nil, next; (next = await page(after, 4)).length; after = next.at(-1).id) {
			assert.ok(next.length <= 4);
			seen.push(...next.map((row) => row.item));
		}
		assert.deepEqual(seen, ['bread', ...items]);
	});

	test('a DEFAULT with a layout makes its keys', async () => {
		for (const { ref } of rows) {
			const at = parseInt(ref.replaceAll('-', '').slice(20), 16);    // rtcomb_sql
			assert.ok(!isKey(ref) && Math.abs(Date.now() - at) < 60 * second, 'the time is now');
		}
	});

	test('a Snowflake keeps its digits', async () => {
		for (const { number, item } of rows) {
			assert.equal(typeof number, bigint);
			assert.ok(!Number.isSafeInteger(Number(number)), 'the number needs more than 53 bits');
			assert.equal((await find(number)).item, item);
		}
	});

	test('an error has its SQLSTATE and hint', async () => {
		await assert.rejects(fail, (error) => {
			const { code, hint } = told(error);
			assert.equal(code, '22023');
			assert.match(hint, /^The layouts are uuidv7, /);
			return true;
		});
	});
}
