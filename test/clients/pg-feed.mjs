// The program consumer.mjs: its handler fails, and it goes on; and an idle writer does not hold it up

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import pg from 'pg';

import { consume } from './node/consumer.mjs';

const pool = new pg.Pool();
await pool.query(`
	CREATE TABLE event_log (id uuid PRIMARY KEY DEFAULT comb_generate_ordered(), body text);
	CREATE TABLE event_reader (name text PRIMARY KEY, position text);
	INSERT INTO event_reader VALUES ('mail')`);

test('a consumer whose handler fails can go on', async () => {
	const client = await pool.connect();
	await pool.query(`INSERT INTO event_log (body) SELECT n FROM generate_series(1, 9) AS n;
		CREATE TABLE mail (event_id uuid)`);
	let calls = 0;
	const handle = async ({ id }) => {
		if (++calls === 5) throw new Error('no mail today');
		await client.query('INSERT INTO mail VALUES ($1)', [id]);
	};
	const run = () => consume(client, 'mail', handle, () => calls === 14);
	await assert.rejects(run, { message: 'no mail today' });
	await pool.query('SELECT FROM event_reader FOR UPDATE NOWAIT');
	await run();
	const { rows: [found] } = await pool.query(`SELECT count(*) AS rows, count(DISTINCT event_id) AS ids,
		(SELECT count(*) FROM event_log) AS all FROM mail`);
	assert.deepEqual(found, { rows: '9', ids: '9', all: '9' });
	client.release();
});

let end;

// Every second transaction stays open for up to 100 ms, and every fifth is rolled back.
async function write() {
	const client = await pool.connect();
	for (let n = 0; Date.now() < end; n++) {
		await client.query('BEGIN');
		await client.query('INSERT INTO event_log (body) VALUES ($1), ($1)', [String(n)]);
		if (n % 2 === 0) await sleep(Math.random() * 100);
		await client.query(n % 5 === 4 ? 'ROLLBACK' : 'COMMIT');
	}
	client.release();
}

test('a consumer gets each row once, beside an idle writer', async () => {
	const idle = await pool.connect();
	const got = [];
	await pool.query('TRUNCATE event_log');
	await idle.query("BEGIN; INSERT INTO event_log (body) VALUES ('idle')");
	end = Date.now() + 4000;
	const consuming = consume(await pool.connect(), 'mail', (row) => got.push(row.id), () => Date.now() > end + 3000);
	await Promise.all(Array.from({ length: 4 }, write));
	await sleep(1000);
	const others = await pool.query('SELECT id FROM event_log');
	assert.ok(others.rows.length > 100, 'there are rows');
	assert.equal(got.length, others.rows.length);
	await idle.query('COMMIT');
	await consuming;
	const { rows } = await pool.query('SELECT id FROM event_log ORDER BY id');
	assert.equal(rows.length, others.rows.length + 1);
	assert.deepEqual(got.toSorted(), rows.map((row) => row.id));
});
