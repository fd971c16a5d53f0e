// Knex: its query builder and its migrations

import assert from 'node:assert/strict';
import { after, test } from 'node:test';

import makeKnex from 'knex';

import { checkClient, range, showVersions } from './common.mjs';

showVersions('knex', 'pg');

const migrations = {
	orders: {
		up: (knex) => knex.schema.createTable('orders', (t) => {
			t.uuid('id').primary().defaultTo(knex.raw('comb_generate()'));
			t.bigint('number').notNullable().defaultTo(knex.raw('comb_snowflake()'));
			t.text('item').notNullable().unique();
			t.integer('amount').notNullable().defaultTo(1);
			t.uuid('ref').notNullable().defaultTo(knex.raw("comb_generate('rtcomb_sql')"));
		}),
		down: (knex) => knex.schema.dropTable('orders'),
	},
};

const knex = makeKnex({
	client: 'pg',
	connection: {},         // libpq's variables, by pg
	migrations: {
		migrationSource: {
			getMigrations: async () => Object.keys(migrations),
			getMigrationName: (name) => name,
			getMigration: async (name) => migrations[name],
		},
	},
});
after(() => knex.destroy());

test('the migration makes the table, a second run does nothing', async () => {
	assert.deepEqual((await knex.migrate.latest())[1], ['orders']);
	assert.deepEqual((await knex.migrate.latest())[1], []);
});

checkClient({
	async insert(item) {
		const [order] = await knex('orders').insert({ item }).returning('*');
		return order;
	},
	async bulk(items) {
		return knex('orders').insert(items.map((item) => ({ item }))).returning('*');
	},
	async upsert(item, amount) {
		const [order] = await knex('orders').insert({ item, amount })
			.onConflict('item').merge(['amount']).returning('*');
		return order;
	},
	async time(id) {
		const { created } = await knex('orders').where({ id })
			.first(knex.raw('comb_timestamp(id) AS created'));
		return created;
	},
	async between(since, until) {
		return knex('orders').whereRaw('comb_during(id, ?, ?)', [since, until]).orderBy('id');
	},
	async during(since, until) {
		return knex('orders').whereRaw('comb_created(id, ?)', range(since, until)).orderBy('id');
	},
	async page(after, size) {
		return knex('orders').where('id', '>', after).orderBy('id').limit(size);
	},
	async find(number) {
		return knex('orders').where({ number }).first();
	},
	fail: () => knex.raw("SELECT comb_generate('sequential')"),
	told: (error) => error,
	bigint: 'string',
});
