// postgres, also known as Postgres.js

import { after } from 'node:test';

import postgres from 'postgres';

import { checkClient, showVersions } from './common.mjs';

showVersions('postgres');

// The plan of a prepared statement must do for every period.
const sql = postgres({ connection: { plan_cache_mode: 'force_generic_plan' } });
// As a pooler in transaction mode needs it
const unprepared = postgres({ prepare: false });
after(() => Promise.all([sql.end(), unprepared.end()]));

checkClient({
	// The text's pieces, as if it were written as sql`...`
	query: (text, values) => sql(Object.assign(text.split(/\$\d+/), { raw: [] }), ...values),
	insert: (item) => sql`INSERT INTO orders ${sql({ item })} RETURNING *`,
	ways: { unprepared: (text, values) => unprepared.unsafe(text, values) },
});
