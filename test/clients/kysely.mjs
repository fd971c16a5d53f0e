// Kysely: its query builder and its migrations

import assert from 'node:assert/strict';
import { after, test } from 'node:test';

import { Kysely, Migrator, PostgresDialect, sql } from 'kysely';
import pg from 'pg';

import { checkClient, range, showVersions } from './common.mjs';

showVersions('kysely', 'pg');

const db = new Kysely({ dialect: new PostgresDialect({ pool: new pg.Pool() }) });
after(() => db.destroy());

const migrations = {
	async orders(db) {
		await db.schema.createTable('orders')
			.addColumn('id', 'uuid', (c) => c.primaryKey().defaultTo(sql`comb_generate()`))
			.addColumn('number', 'bigint', (c) => c.notNull().defaultTo(sql`comb_snowflake()`))
			.addColumn('item', 'text', (c) => c.notNull().unique())
			.addColumn('amount', 'integer', (c) => c.notNull().defaultTo(1))
			.addColumn('ref', 'uuid', (c) => c.notNull().defaultTo(sql`comb_generate('rtcomb_sql')`))
			.execute();
	},
};

test('the migration makes the table, a second run does nothing', async () => {
	const migrator = new Migrator({
		db,
		provider: { getMigrations: async () => ({ orders: { up: migrations.orders } }) },
	});
	assert.deepEqual((await migrator.migrateToLatest()).results.map((r) => r.status), ['Success']);
	assert.deepEqual((await migrator.migrateToLatest()).results, []);
});

checkClient({
	async insert(item) {
		return db.insertInto('orders').values({ item }).returningAll().executeTakeFirst();
	},
	async bulk(items) {
		return db.insertInto('orders').values(items.map((item) => ({ item }))).returningAll().execute();
	},
	async upsert(item, amount) {
		return db.insertInto('orders').values({ item, amount })
			.onConflict((c) => c.column('item').doUpdateSet({ amount }))
			.returningAll().executeTakeFirst();
	},
	async time(id) {
		const { created } = await db.selectFrom('orders').where('id', '=', id)
			.select((eb) => eb.fn('comb_timestamp', ['id']).as('created')).executeTakeFirst();
		return created;
	},
	async between(since, until) {
		return db.selectFrom('orders').selectAll()
			.where((eb) => eb.fn('comb_during', ['id', eb.val(since), eb.val(until)]))
			.orderBy('id').execute();
	},
	async during(since, until) {
		return db.selectFrom('orders').selectAll()
			.where((eb) => eb.fn('comb_created', ['id', eb.val(range(since, until))]))
			.orderBy('id').execute();
	},
	async page(after, size) {
		return db.selectFrom('orders').selectAll().where('id', '>', after).orderBy('id').limit(size).execute();
	},
	async find(number) {
		return db.selectFrom('orders').selectAll().where('number', '=', number).executeTakeFirst();
	},
	fail: () => sql`SELECT comb_generate('sequential')`.execute(db),
	told: (error) => error,
	bigint: 'string',
});
