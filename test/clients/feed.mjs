// The consumer of doc/feed.md: writers commit late, and the consumer misses no row

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import pg from 'pg';

import { showVersions } from './common.mjs';

showVersions('pg');

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

const seconds = 4;
const writers = 4;
const sessions = await Promise.all(Array.from({ length: writers + 2 }, async () => {
	const client = new pg.Client();
	await client.connect();
	return client;
}));
const [setup, reader, ...writing] = sessions;

await setup.query(`
	CREATE TABLE outbox (id uuid PRIMARY KEY DEFAULT comb_generate_ordered(), body text);
	CREATE TABLE consumer (name text PRIMARY KEY,
		last uuid NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000');
	INSERT INTO consumer (name) VALUES ('mail');
	CREATE FUNCTION outbox_notify() RETURNS trigger LANGUAGE plpgsql AS
		$$BEGIN NOTIFY outbox; RETURN NULL; END$$;
	CREATE TRIGGER outbox_notify AFTER INSERT ON outbox
		FOR EACH STATEMENT EXECUTE FUNCTION outbox_notify()`);

// Every second transaction stays open for up to 100 ms, and every fifth is rolled back.
async function write(client, end) {
	for (let n = 0; Date.now() < end; n++) {
		await client.query('BEGIN');
		await client.query('INSERT INTO outbox (body) VALUES ($1), ($1)', [String(n)]);
		if (n % 2 === 0) await sleep(Math.random() * 100);
		await client.query(n % 5 === 4 ? 'ROLLBACK' : 'COMMIT');
	}
}

test('a consumer gets each row once, in order', async () => {
	const end = Date.now() + seconds * 1000;
	const got = [];
	let passed = 0;
	const consuming = consume(reader, 'mail', (row) => got.push(row.id), () => Date.now() > end + 2500);
	// A reader without the bound passes over rows.
	const naive = (async () => {
		let last = '00000000-0000-0000-0000-000000000000';
		while (Date.now() < end + 500) {
			const { rows } = await setup.query('SELECT id FROM outbox WHERE id > $1 ORDER BY id', [last]);
			passed += rows.length;
			last = rows.at(-1)?.id ?? last;
			await sleep(5);
		}
	})();

	await Promise.all(writing.map((client) => write(client, end)));
	await Promise.all([consuming, naive]);
	const { rows } = await setup.query('SELECT id FROM outbox ORDER BY id');
	const all = rows.map((row) => row.id);
	assert.ok(all.length > 100, 'there are rows');
	assert.ok(all.length === got.length && all.every((id, i) => id === got[i]), 'the rows are the same');
	assert.ok(passed < all.length, 'a reader without the bound misses some');
	await Promise.all(sessions.map((client) => client.end()));
});
