// The consumer of doc/feed.md: writers commit late, and the consumer misses no row.  pg-feed.mjs tests it.

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
export async function consume(client, name, handle, stopped) {
  for (let seen = null; !stopped();) {
    ({ rows: [{ seen }] } = await client.query("CALL comb_wait($1, '1 s')", [seen]));
    while ((await step(client, name, handle)).length > 0);
  }
}
