// The consumer with positions of doc/feed_readers.md: nobody holds it up, and it misses no row.
//
// PGDATABASE=app node consumer.mjs mail     prints each new row of event_log; needs the package pg

import { pathToFileURL } from 'node:url';

import pg from 'pg';

const poll = `SELECT position, id, body FROM comb_position($1) AS position
    LEFT JOIN event_log ON comb_unread(id, event_log.xmin, $1) ORDER BY id`;

// Handles the new rows and moves the position, or neither.
async function step(client, name, handle) {
  await client.query('BEGIN');
  try {
    const { rows: [{ position }] } = await client.query(
      'SELECT position FROM event_reader WHERE name = $1 FOR UPDATE', [name]);
    const { rows } = await client.query(poll, [position]);
    for (const row of rows) if (row.id !== null) await handle(row);
    await client.query('UPDATE event_reader SET position = $2 WHERE name = $1',
      [name, rows[0].position]);
    await client.query('COMMIT');
  } catch (error) {
    await client.query('ROLLBACK').catch(() => {});
    throw error;
  }
}

// Calls handle(row) for each row, until stopped() is true.
export async function consume(client, name, handle, stopped = () => false) {
  for (let seen = null; !stopped();) {
    ({ rows: [{ seen }] } = await client.query("CALL comb_wait($1, '1 s')", [seen]));
    await step(client, name, handle);
  }
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const client = new pg.Client();
  await client.connect();
  await consume(client, process.argv[2], ({ id, body }) => console.log(id, body));
}
