// Kysely: its query builder and its migrations

import assert from 'node:assert/strict';

import { CompiledQuery, Kysely, Migrator, PostgresDialect, sql } from 'kysely';
import pg from 'pg';

import { checkClient } from './common.mjs';

const up = (db) => db.schema.createTable('orders')
	.addColumn('id', 'uuid', (c) => c.primaryKey().defaultTo(sql`comb_generate()`))
	.addColumn('number', 'bigint', (c) => c.notNull().defaultTo(sql`comb_snowflake()`))
	.addColumn('item', 'text', (c) => c.notNull().unique())
	.addColumn('ref', 'uuid', (c) => c.notNull().defaultTo(sql`comb_generate('rtcomb_sql')`))
	.execute();

const db = new Kysely({ dialect: new PostgresDialect({ pool: new pg.Pool() }) });
const migrator = new Migrator({ db, provider: { getMigrations: async () => ({ orders: { up } }) } });

checkClient({
	async table() {
		assert.deepEqual((await migrator.migrateToLatest()).results.map((r) => r.status), ['Success']);
		assert.deepEqual((await migrator.migrateToLatest()).results, []);
	},
	query: async (text, values) => (await db.executeQuery(CompiledQuery.raw(text, values))).rows,
	insert: (rows) => db.insertInto('orders').values(rows).returningAll().execute(),
	during: (since, until) => db.selectFrom('orders').selectAll().orderBy('id')
		.where((eb) => eb.fn('comb_during', ['id', eb.val(since), eb.val(until)]))
		.execute(),
});
