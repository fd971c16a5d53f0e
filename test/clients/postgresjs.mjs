// postgres, also known as Postgres.js

import { after } from 'node:test';

import postgres from 'postgres';

import { checkClient, range, showVersions } from './common.mjs';

showVersions('postgres');

// The plan of a prepared statement must do for every period.
const sql = postgres({ connection: { plan_cache_mode: 'force_generic_plan' } });
after(() => sql.end());

await sql`CREATE TABLE orders (
	id uuid PRIMARY KEY DEFAULT comb_generate(),
	number bigint NOT NULL DEFAULT comb_snowflake(),
	item text NOT NULL UNIQUE,
	amount int NOT NULL DEFAULT 1,
	ref uuid NOT NULL DEFAULT comb_generate('rtcomb_sql'))`;

checkClient({
	async insert(item) {
		const [order] = await sql`INSERT INTO orders ${sql({ item })} RETURNING *`;
		return order;
	},
	async bulk(items) {
		const orders = items.map((item) => ({ item }));
		return sql`INSERT INTO orders ${sql(orders)} RETURNING *`;
	},
	async upsert(item, amount) {
		const [order] = await sql`INSERT INTO orders ${sql({ item, amount })}
			ON CONFLICT (item) DO UPDATE SET amount = excluded.amount RETURNING *`;
		return order;
	},
	async time(id) {
		const [{ created }] = await sql`SELECT comb_timestamp(${id}) AS created`;
		return created;
	},
	async between(since, until) {
		return sql`SELECT * FROM orders WHERE comb_during(id, ${since}, ${until}) ORDER BY id`;
	},
	// As a pooler in transaction mode needs it
	async unprepared(since, until) {
		const unprepared = postgres({ prepare: false });
		const rows = await unprepared`SELECT * FROM orders WHERE comb_during(id, ${since}, ${until}) ORDER BY id`;
		await unprepared.end();
		return rows;
	},
	async during(since, until) {
		return sql`SELECT * FROM orders WHERE comb_created(id, ${range(since, until)}) ORDER BY id`;
	},
	async page(after, size) {
		return sql`SELECT * FROM orders WHERE id > ${after} ORDER BY id LIMIT ${size}`;
	},
	async find(number) {
		const [order] = await sql`SELECT * FROM orders WHERE number = ${number}`;
		return order;
	},
	fail: () => sql`SELECT comb_generate('sequential')`,
	told: (error) => error,
	bigint: 'string',
});
