// The consumer of doc/feed.md: writers commit late, and the consumer misses no row

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import pg from 'pg';

const batch = `SELECT id, body FROM outbox
    WHERE id > $1 AND id < comb_settled() ORDER BY id LIMIT 1000`;

// Calls handle(row) for each row, in the order of the keys, until stopped() is true.
async function consume(client, name, handle, stopped) {
  let notified, wake;
  client.on('notification', () => { notified = true; wake?.(); });
  await client.query('LISTEN outbox');
  while (!stopped()) {
    notified = false;
    await client.query('BEGIN');
    const { rows: [{ last }] } =
      await client.query('SELECT last FROM consumer WHERE name = $1 FOR UPDATE', [name]);
    const { rows } = await client.query(batch, [last]);
    for (const row of rows) await handle(row);
    if (rows.length > 0)
      await client.query('UPDATE consumer SET last = $2 WHERE name = $1',
        [name, rows.at(-1).id]);
    await client.query('COMMIT');
    if (rows.length === 0 && !notified)
      await new Promise((resolve) => { wake = resolve; setTimeout(resolve, 1000); });
  }
}

const pool = new pg.Pool();
await pool.query(`
	CREATE TABLE outbox (id uuid PRIMARY KEY DEFAULT comb_generate_ordered(), body text);
	CREATE TABLE consumer (name text PRIMARY KEY,
		last uuid NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000');
	INSERT INTO consumer (name) VALUES ('mail');
	CREATE FUNCTION outbox_notify() RETURNS trigger LANGUAGE plpgsql AS
		$$BEGIN NOTIFY outbox; RETURN NULL; END$$;
	CREATE TRIGGER outbox_notify AFTER INSERT ON outbox
		FOR EACH STATEMENT EXECUTE FUNCTION outbox_notify()`);
const end = Date.now() + 4000;

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
	await Promise.all([
		consume(await pool.connect(), 'mail', (row) => got.push(row.id), () => Date.now() > end + 2500),
		...Array.from({ length: 4 }, write),
	]);
	const { rows } = await pool.query('SELECT id FROM outbox ORDER BY id');
	assert.ok(rows.length > 100, 'there are rows');
	assert.deepEqual(got, rows.map((row) => row.id));
});
