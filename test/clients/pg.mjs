// pg, also known as node-postgres

import pg from 'pg';

import { checkClient } from './common.mjs';

const pool = new pg.Pool();

checkClient({
	query: async (text, values) => (await pool.query(text, values)).rows,
	ways: { prepared: async (text, values) => (await pool.query({ name: 'period', text, values })).rows },
});
