// MikroORM: its entity manager, and its schema generator's update, refresh, drop and create

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { defineEntity, MikroORM, sql } from '@mikro-orm/postgresql';

import { checkClient, database, host, isKey, port, range, showVersions, user } from './common.mjs';

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

async function insert() {
	const em = orm.em.fork();
	const order = em.create(Order, { item: 'bread' });
	await em.flush();
	assert.ok(isKey(order.id), 'the id is a key');
	const { id, number } = order;
	assert.equal((await orm.em.fork().findOneOrFail(Order, { id, number })).item, 'bread');
}

test('updateSchema makes the table, and nothing else', async () => {
	const { up, down } = await orm.schema.getUpdateSchemaMigrationSQL({ wrap: false });
	assert.match(up, /^create table "orders" [^;]*;\s*alter table "orders" add constraint [^;]*;\s*$/);
	assert.match(down, /^drop table [^;]*"orders"[^;]*;\s*$/);
	await orm.schema.updateSchema();
});

checkClient({
	async insert(item) {
		const em = orm.em.fork();
		const order = em.create(Order, { item });
		await em.flush();
		return order;
	},
	async bulk(items) {
		const em = orm.em.fork();
		const orders = items.map((item) => em.create(Order, { item }));
		await em.flush();
		return orders;
	},
	async upsert(item, amount) {
		return orm.em.fork().upsert(Order, { item, amount });
	},
	async time(id) {
		const { created } = await orm.em.fork().findOneOrFail(Order, { id });
		return created;
	},
	async between(since, until) {
		return orm.em.fork().find(Order,
			{ [sql`comb_during(id, ${since}, ${until})`]: [] },
			{ orderBy: { id: 'asc' } });
	},
	async during(since, until) {
		return orm.em.fork().find(Order,
			{ [sql`comb_created(id, ${range(since, until)})`]: [] },
			{ orderBy: { id: 'asc' } });
	},
	async page(after, size) {
		return orm.em.fork().find(Order, { id: { $gt: after } }, { orderBy: { id: 'asc' }, limit: size });
	},
	async find(number) {
		return orm.em.fork().findOne(Order, { number });
	},
	fail: () => orm.em.execute("SELECT comb_generate('sequential')"),
	told: (error) => error,
	bigint: 'bigint',
});

test('a second update is empty', async () => {
	assert.equal(await orm.schema.getUpdateSchemaSQL({ wrap: false }), '');
	await orm.schema.updateSchema();
	assert.equal(await orm.em.fork().count(Order), 6);
});

test('refreshDatabase makes the table anew', async () => {
	await orm.schema.refreshDatabase();
	assert.equal(await orm.em.fork().count(Order), 0);
	assert.equal(await orm.schema.getUpdateSchemaSQL({ wrap: false }), '');
	await insert();
});

test('dropSchema drops the table, and createSchema makes it again', async () => {
	await orm.schema.dropSchema();
	await orm.schema.createSchema();
	assert.equal(await orm.schema.getUpdateSchemaSQL({ wrap: false }), '');
	await insert();
});
