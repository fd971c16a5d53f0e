// Knex: its query builder and its migrations

import assert from 'node:assert/strict';

import makeKnex from 'knex';

import { checkClient } from './common.mjs';

const up = (knex) => knex.schema.createTable('orders', (t) => {
	t.uuid('id').primary().defaultTo(knex.raw('comb_generate()'));
	t.bigint('number').notNullable().defaultTo(knex.raw('comb_snowflake()'));
	t.text('item').notNullable().unique();
	t.uuid('ref').notNullable().defaultTo(knex.raw("comb_generate('rtcomb_sql')"));
});
const migrationSource = {
	getMigrations: async () => ['orders'],
	getMigrationName: (name) => name,
	getMigration: async () => ({ up, down: (knex) => knex.schema.dropTable('orders') }),
};
// pg reads libpq's variables.
const knex = makeKnex({ client: 'pg', connection: {}, migrations: { migrationSource } });

checkClient({
	table: async () => {
		assert.deepEqual((await knex.migrate.latest())[1], ['orders']);
		assert.deepEqual((await knex.migrate.latest())[1], []);
	},
	query: async (text, values) => (await knex.raw(text, values)).rows,
	place: () => '?',
	insert: (rows) => knex('orders').insert(rows).returning('*'),
	async during(since, until) {
		return knex('orders').whereRaw('comb_during(id, ?, ?)', [since, until]).orderBy('id');
	},
});
