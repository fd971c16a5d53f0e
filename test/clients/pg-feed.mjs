// The programs feed.mjs and consumer.mjs: a handler fails, and the consumer goes on; writers commit late, and
// one idles, which holds up the reader below comb_settled() and not the one with positions

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import pg from 'pg';

import { consume as belowSettled } from './feed.mjs';
import { consume as byPosition } from './node/consumer.mjs';

const pool = new pg.Pool();
await pool.query(`
	CREATE TABLE outbox (id uuid PRIMARY KEY DEFAULT comb_generate_ordered(), body text);
	CREATE TABLE event_log (LIKE outbox INCLUDING ALL);
	CREATE TABLE consumer (name text PRIMARY KEY,
		last uuid NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000');
	CREATE TABLE event_reader (name text PRIMARY KEY, position text);
	CREATE TABLE mail (id uuid);
	INSERT INTO consumer (name) VALUES ('mail');
	INSERT INTO event_reader VALUES ('mail')`);

let end;

// Every second transaction stays open for up to 100 ms, and every fifth is rolled back.
async function write(table) {
	const client = await pool.connect();
	for (let n = 0; Date.now() < end; n++) {
		await client.query('BEGIN');
		await client.query(`INSERT INTO ${table} (body) VALUES ($1), ($1)`, [String(n)]);
		if (n % 2 === 0) await sleep(Math.random() * 100);
		await client.query(n % 5 === 4 ? 'ROLLBACK' : 'COMMIT');
	}
	client.release();
}

for (const [name, consume, table, reader] of [
	['below comb_settled()', belowSettled, 'outbox', 'consumer'],
	['by position', byPosition, 'event_log', 'event_reader'],
]) {
	test(`${name}: a consumer whose handler fails can go on`, async () => {
		const client = await pool.connect();
		await pool.query(`TRUNCATE mail; INSERT INTO ${table} (body) SELECT n FROM generate_series(1, 9) AS n`);
		let calls = 0;
		const handle = async ({ id }) => {
			if (++calls === 5) throw new Error('no mail today');
			await client.query('INSERT INTO mail VALUES ($1)', [id]);
		};
		const run = () => consume(client, 'mail', handle, () => calls === 14);
		await assert.rejects(run, { message: 'no mail today' });
		await pool.query(`SELECT FROM ${reader} FOR UPDATE NOWAIT`);
		await run();
		const { rows: [found] } = await pool.query(`SELECT count(*) AS rows, count(DISTINCT id) AS ids,
			(SELECT count(*) FROM ${table}) AS all FROM mail`);
		assert.deepEqual(found, { rows: '9', ids: '9', all: '9' });
		await pool.query(`TRUNCATE ${table}`);
		client.release();
	});

	test(`${name}: a consumer gets each row once, beside an idle writer`, async () => {
		const idle = await pool.connect();
		const got = [];
		await idle.query(`BEGIN; INSERT INTO ${table} (body) VALUES ('idle')`);
		end = Date.now() + 4000;
		const consuming = consume(await pool.connect(), 'mail', (row) => got.push(row.id), () => Date.now() > end + 3000);
		await Promise.all(Array.from({ length: 4 }, () => write(table)));
		await sleep(1000);
		const others = await pool.query(`SELECT id FROM ${table}`);
		assert.ok(others.rows.length > 100, 'there are rows');
		assert.equal(got.length, consume === byPosition ? others.rows.length : 0);
		await idle.query('COMMIT');
		await consuming;
		const { rows } = await pool.query(`SELECT id FROM ${table} ORDER BY id`);
		assert.equal(rows.length, others.rows.length + 1);
		assert.deepEqual(consume === byPosition ? got.toSorted() : got, rows.map((row) => row.id));
	});
}
