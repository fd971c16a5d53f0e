// postgres, also known as Postgres.js

import postgres from 'postgres';

import { checkClient } from './common.mjs';

const sql = postgres();
// As a pooler in transaction mode needs it
const unprepared = postgres({ prepare: false });

checkClient({
	// The text's pieces, as if it were written as sql`...`
	query: (text, values) => sql(Object.assign(text.split(/\$\d+/), { raw: [] }), ...values),
	insert: (rows) => sql`INSERT INTO orders ${sql(rows)} RETURNING *`,
	ways: { unprepared: (text, values) => unprepared.unsafe(text, values) },
});
