// pg, also known as node-postgres

import { after } from 'node:test';

import pg from 'pg';

import { checkClient, range, showVersions } from './common.mjs';

showVersions('pg');

// The plan of a prepared statement must do for every period.
const pool = new pg.Pool({ options: '-c plan_cache_mode=force_generic_plan' });
after(() => pool.end());

await pool.query(`CREATE TABLE orders (
	id uuid PRIMARY KEY DEFAULT comb_generate(),
	number bigint NOT NULL DEFAULT comb_snowflake(),
	item text NOT NULL UNIQUE,
	amount int NOT NULL DEFAULT 1,
	ref uuid NOT NULL DEFAULT comb_generate('rtcomb_sql'))`);

async function query(text, ...values) {
	const { rows } = await pool.query(text, values);
	return rows;
}

checkClient({
	async insert(item) {
		const { rows: [order] } = await pool.query(
			'INSERT INTO orders (item) VALUES ($1) RETURNING *', [item]);
		return order;
	},
	async bulk(items) {
		return query('INSERT INTO orders (item) SELECT unnest($1::text[]) RETURNING *', items);
	},
	async upsert(item, amount) {
		const [order] = await query(`INSERT INTO orders (item, amount) VALUES ($1, $2)
			ON CONFLICT (item) DO UPDATE SET amount = excluded.amount RETURNING *`, item, amount);
		return order;
	},
	async time(id) {
		const [{ created }] = await query('SELECT comb_timestamp($1) AS created', id);
		return created;
	},
	async between(since, until) {
		const { rows } = await pool.query(
			'SELECT * FROM orders WHERE comb_during(id, $1, $2) ORDER BY id', [since, until]);
		return rows;
	},
	async prepared(since, until) {
		const { rows } = await pool.query({
			name: 'period',
			text: 'SELECT * FROM orders WHERE comb_during(id, $1, $2) ORDER BY id',
			values: [since, until],
		});
		return rows;
	},
	async during(since, until) {
		return query('SELECT * FROM orders WHERE comb_created(id, $1) ORDER BY id', range(since, until));
	},
	async page(after, size) {
		return query('SELECT * FROM orders WHERE id > $1 ORDER BY id LIMIT $2', after, size);
	},
	async find(number) {
		const [order] = await query('SELECT * FROM orders WHERE number = $1', number);
		return order;
	},
	fail: () => query("SELECT comb_generate('sequential')"),
	told: (error) => error,
	bigint: 'string',
});
