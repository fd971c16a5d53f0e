// MikroORM: its entity manager, and its schema generator's update, refresh, drop and create

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { defineEntity, MikroORM, sql } from '@mikro-orm/postgresql';

import { checkClient, database, host, port, range, showVersions, user } from './common.mjs';

showVersions('@mikro-orm/postgresql');

const Order = defineEntity({
	name: 'Order',
	tableName: 'orders',
	properties: (p) => ({
		id: p.uuid().primary().defaultRaw('comb_generate()'),
		number: p.bigint().defaultRaw('comb_snowflake()'),
		item: p.text().unique(),
		amount: p.integer().default(1),
		ref: p.uuid().defaultRaw("comb_generate('rtcomb_sql'::text)"),
		created: p.datetime().formula((alias) => `comb_timestamp(${alias}.id)`),
	}),
});

let orm;

before(async () => {
	orm = await MikroORM.init({ host, port: Number(port), dbName: database, user, entities: [Order] });
});
after(() => orm?.close());

// Each task with an entity manager of its own, as in a request
async function make(items) {
	const em = orm.em.fork();
	const orders = items.map((item) => em.create(Order, { item }));
	await em.flush();
	return orders;
}

checkClient({
	async table() {
		const { up, down } = await orm.schema.getUpdateSchemaMigrationSQL({ wrap: false });
		assert.match(up, /^create table "orders" [^;]*;\s*alter table "orders" add constraint [^;]*;\s*$/);
		assert.match(down, /^drop table [^;]*"orders"[^;]*;\s*$/);
		await orm.schema.updateSchema();
	},
	query: (text, values) => orm.em.execute(text, values),
	place: () => '?',
	insert: (item) => make([item]),
	bulk: (items) => make(items.split(' ')),
	upsert: async (item, amount) => [await orm.em.fork().upsert(Order, { item, amount })],
	time: (id) => orm.em.fork().find(Order, { id }),
	during: (since, until) =>
		orm.em.fork().find(Order,
			{ [sql`comb_during(id, ${since}, ${until})`]: [] },
			{ orderBy: { id: 'asc' } }),
	created: (since, until) => orm.em.fork().find(Order,
		{ [sql`comb_created(id, ${range(since, until)})`]: [] }, { orderBy: { id: 'asc' } }),
	page: (after, size) => orm.em.fork().find(Order, { id: { $gt: after } }, { orderBy: { id: 'asc' }, limit: size }),
	find: (id, number) => orm.em.fork().find(Order, { id, number }),
	bigint: 'bigint',
});

test('a second update is empty', async () => {
	assert.equal(await orm.schema.getUpdateSchemaSQL({ wrap: false }), '');
	await orm.schema.updateSchema();
	assert.equal(await orm.em.fork().count(Order), 8);
});

test('refreshDatabase makes the table anew', async () => {
	await orm.schema.refreshDatabase();
	assert.equal(await orm.em.fork().count(Order), 0);
	assert.equal(await orm.schema.getUpdateSchemaSQL({ wrap: false }), '');
	await make(['bread']);
});

test('dropSchema drops the table, and createSchema makes it again', async () => {
	await orm.schema.dropSchema();
	await orm.schema.createSchema();
	assert.equal(await orm.schema.getUpdateSchemaSQL({ wrap: false }), '');
	await make(['bread']);
});
