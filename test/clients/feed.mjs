// The consumer of doc/feed.md: writers commit late, and the consumer misses no row

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import pg from 'pg';

const batch = `SELECT id, body FROM outbox
    WHERE id > $1 AND id < comb_settled() ORDER BY id LIMIT 1000`;

// Handles a batch and moves the position, or neither.
async function step(client, name, handle) {
  await client.query('BEGIN');
  try {
    const { rows: [{ last }] } =
      await client.query('SELECT last FROM consumer WHERE name = $1 FOR UPDATE', [name]);
    const { rows } = await client.query(batch, [last]);
    for (const row of rows) await handle(row);
    if (rows.length > 0)
      await client.query('UPDATE consumer SET last = $2 WHERE name = $1',
        [name, rows.at(-1).id]);
    await client.query('COMMIT');
    return rows;
  } catch (error) {
    await client.query('ROLLBACK').catch(() => {});
    throw error;
  }
}

// Calls handle(row) for each row, in the order of the keys, until stopped() is true.
async function consume(client, name, handle, stopped) {
  for (let seen = null; !stopped();) {
    ({ rows: [{ seen }] } = await client.query("CALL comb_wait($1, '1 s')", [seen]));
    while ((await step(client, name, handle)).length > 0);
  }
}

const pool = new pg.Pool();
await pool.query(`
	CREATE TABLE outbox (id uuid PRIMARY KEY DEFAULT comb_generate_ordered(), body text);
	CREATE TABLE consumer (name text PRIMARY KEY,
		last uuid NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000');
	INSERT INTO consumer (name) VALUES ('mail')`);

test('a consumer whose handler fails can go on', async () => {
	const client = await pool.connect();
	await pool.query(`INSERT INTO outbox (body) SELECT n FROM generate_series(1, 9) AS n;
		CREATE TABLE mail (outbox_id uuid)`);
	let calls = 0;
	const handle = async ({ id }) => {
		if (++calls === 5) throw new Error('no mail today');
		await client.query('INSERT INTO mail VALUES ($1)', [id]);
	};
	const run = () => consume(client, 'mail', handle, () => calls === 14);
	await assert.rejects(run, { message: 'no mail today' });
	await pool.query('SELECT FROM consumer FOR UPDATE NOWAIT');
	await run();
	const { rows: [found] } = await pool.query(`SELECT count(*) AS rows, count(DISTINCT outbox_id) AS ids,
		(SELECT count(*) FROM outbox) AS all FROM mail`);
	assert.deepEqual(found, { rows: '9', ids: '9', all: '9' });
	await pool.query('TRUNCATE outbox');
	client.release();
});

let end;

// Every second transaction stays open for up to 100 ms, and every fifth is rolled back.
async function write() {
	const client = await pool.connect();
	for (let n = 0; Date.now() < end; n++) {
		await client.query('BEGIN');
		await client.query('INSERT INTO outbox (body) VALUES ($1), ($1)', [String(n)]);
		if (n % 2 === 0) await sleep(Math.random() * 100);
		await client.query(n % 5 === 4 ? 'ROLLBACK' : 'COMMIT');
	}
}

test('a consumer gets each row once, in order', async () => {
	const got = [];
	end = Date.now() + 4000;
	await Promise.all([
		consume(await pool.connect(), 'mail', (row) => got.push(row.id), () => Date.now() > end + 2500),
		...Array.from({ length: 4 }, write),
	]);
	const { rows } = await pool.query('SELECT id FROM outbox ORDER BY id');
	assert.ok(rows.length > 100, 'there are rows');
	assert.deepEqual(got, rows.map((row) => row.id));
});
