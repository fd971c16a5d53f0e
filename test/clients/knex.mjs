// Knex: its query builder and its migrations

import assert from 'node:assert/strict';
import { after } from 'node:test';

import makeKnex from 'knex';

import { checkClient, range, showVersions } from './common.mjs';

showVersions('knex', 'pg');

const up = (knex) => knex.schema.createTable('orders', (t) => {
	t.uuid('id').primary().defaultTo(knex.raw('comb_generate()'));
	t.bigint('number').notNullable().defaultTo(knex.raw('comb_snowflake()'));
	t.text('item').notNullable().unique();
	t.integer('amount').notNullable().defaultTo(1);
	t.uuid('ref').notNullable().defaultTo(knex.raw("comb_generate('rtcomb_sql')"));
});

const knex = makeKnex({
	client: 'pg',
	connection: {},         // libpq's variables, by pg
	migrations: {
		migrationSource: {
			getMigrations: async () => ['orders'],
			getMigrationName: (name) => name,
			getMigration: async () => ({ up, down: (knex) => knex.schema.dropTable('orders') }),
		},
	},
});
after(() => knex.destroy());

checkClient({
	table: async () => {
		assert.deepEqual((await knex.migrate.latest())[1], ['orders']);
		assert.deepEqual((await knex.migrate.latest())[1], []);
	},
	query: async (text, values) => (await knex.raw(text, values)).rows,
	place: () => '?',
	insert: (item) => knex('orders').insert({ item }).returning('*'),
	bulk: (items) => knex('orders').insert(items.split(' ').map((item) => ({ item }))).returning('*'),
	upsert: (item, amount) => knex('orders').insert({ item, amount })
		.onConflict('item').merge(['amount']).returning('*'),
	time: (id) => knex('orders').where({ id }).select('item', knex.raw('comb_timestamp(id) AS created')),
	async during(since, until) {
		return knex('orders').whereRaw('comb_during(id, ?, ?)', [since, until]).orderBy('id');
	},
	created: (since, until) => knex('orders').whereRaw('comb_created(id, ?)', range(since, until)).orderBy('id'),
	page: (after, size) => knex('orders').where('id', '>', after).orderBy('id').limit(size),
	find: (id, number) => knex('orders').where({ id, number }),
});
