// pg, also known as node-postgres

import { after } from 'node:test';

import pg from 'pg';

import { checkClient, showVersions } from './common.mjs';

showVersions('pg');

// The plan of a prepared statement must do for every period.
const pool = new pg.Pool({ options: '-c plan_cache_mode=force_generic_plan' });
after(() => pool.end());

checkClient({
	query: async (text, values) => (await pool.query(text, values)).rows,
	ways: { prepared: async (text, values) => (await pool.query({ name: 'period', text, values })).rows },
});
