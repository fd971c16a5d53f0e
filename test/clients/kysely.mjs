// Kysely: its query builder and its migrations

import assert from 'node:assert/strict';
import { after } from 'node:test';

import { CompiledQuery, Kysely, Migrator, PostgresDialect, sql } from 'kysely';
import pg from 'pg';

import { checkClient, range, showVersions } from './common.mjs';

showVersions('kysely', 'pg');

const db = new Kysely({ dialect: new PostgresDialect({ pool: new pg.Pool() }) });
after(() => db.destroy());

const up = (db) => db.schema.createTable('orders')
	.addColumn('id', 'uuid', (c) => c.primaryKey().defaultTo(sql`comb_generate()`))
	.addColumn('number', 'bigint', (c) => c.notNull().defaultTo(sql`comb_snowflake()`))
	.addColumn('item', 'text', (c) => c.notNull().unique())
	.addColumn('amount', 'integer', (c) => c.notNull().defaultTo(1))
	.addColumn('ref', 'uuid', (c) => c.notNull().defaultTo(sql`comb_generate('rtcomb_sql')`))
	.execute();

const orders = () => db.selectFrom('orders').selectAll().orderBy('id');

checkClient({
	async table() {
		const migrator = new Migrator({ db, provider: { getMigrations: async () => ({ orders: { up } }) } });
		assert.deepEqual((await migrator.migrateToLatest()).results.map((r) => r.status), ['Success']);
		assert.deepEqual((await migrator.migrateToLatest()).results, []);
	},
	query: async (text, values) => (await db.executeQuery(CompiledQuery.raw(text, values))).rows,
	insert: (item) => db.insertInto('orders').values({ item }).returningAll().execute(),
	bulk: (items) => db.insertInto('orders').values(items.split(' ').map((item) => ({ item }))).returningAll().execute(),
	upsert: (item, amount) => db.insertInto('orders').values({ item, amount })
		.onConflict((c) => c.column('item').doUpdateSet({ amount })).returningAll().execute(),
	time: (id) => db.selectFrom('orders').where('id', '=', id)
		.select((eb) => ['item', eb.fn('comb_timestamp', ['id']).as('created')]).execute(),
	during: (since, until) => orders()
		.where((eb) => eb.fn('comb_during', ['id', eb.val(since), eb.val(until)]))
		.execute(),
	created: (since, until) => orders()
		.where((eb) => eb.fn('comb_created', ['id', eb.val(range(since, until))])).execute(),
	page: (after, size) => orders().where('id', '>', after).limit(size).execute(),
	find: (id, number) => orders().where('id', '=', id).where('number', '=', number).execute(),
});
