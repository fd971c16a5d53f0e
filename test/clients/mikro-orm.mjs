// MikroORM: its entity manager, and its schema generator's update and refresh

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { defineEntity, MikroORM, sql } from '@mikro-orm/postgresql';

import { checkClient, database, host, user } from './common.mjs';

const Order = defineEntity({
	name: 'Order',
	tableName: 'orders',
	properties: (p) => ({
		id: p.uuid().primary().defaultRaw('comb_generate()'),
		number: p.bigint().defaultRaw('comb_snowflake()'),
		item: p.text().unique(),
		ref: p.uuid().defaultRaw("comb_generate('rtcomb_sql'::text)"),
		created: p.datetime().formula((alias) => `comb_timestamp(${alias}.id)`),
	}),
});
const orm = await MikroORM.init({ host, dbName: database, user, entities: [Order] });

checkClient({
	table: () => orm.schema.updateSchema(),
	query: (text, values) => orm.em.execute(text, values),
	place: () => '?',
	// Each task with an entity manager of its own, as in a request
	async insert(rows) {
		const em = orm.em.fork();
		const orders = rows.map((row) => em.create(Order, row));
		await em.flush();
		return orders;
	},
	time: (id) => orm.em.fork().find(Order, { id }),
	during: (since, until) =>
		orm.em.fork().find(Order,
			{ [sql`comb_during(id, ${since}, ${until})`]: [] },
			{ orderBy: { id: 'asc' } }),
	bigint: 'bigint',
});

const pending = () => orm.schema.getUpdateSchemaSQL({ wrap: false });

test('a second update is empty', async () => assert.equal(await pending(), ''));

test('refreshDatabase drops the table, and makes it again', async () => {
	await orm.schema.refreshDatabase();
	assert.equal(await orm.em.fork().count(Order), 0);
	assert.equal(await pending(), '');
});
