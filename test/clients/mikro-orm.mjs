// MikroORM: its schema generator's update, refresh, drop and create

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { defineEntity, MikroORM } from '@mikro-orm/postgresql';

import { database, host, isKey, port, showVersions, user } from './common.mjs';

showVersions('@mikro-orm/postgresql');

const Order = defineEntity({
	name: 'Order',
	tableName: 'orders',
	properties: (p) => ({
		id: p.uuid().primary().defaultRaw('comb_generate()'),
		number: p.bigint().defaultRaw('comb_snowflake()'),
		item: p.text(),
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
	assert.equal(typeof order.number, 'bigint');
	const { id, number } = order;
	assert.equal((await orm.em.fork().findOneOrFail(Order, { id, number })).item, 'bread');
}

test('updateSchema makes the table, and nothing else', async () => {
	const { up, down } = await orm.schema.getUpdateSchemaMigrationSQL({ wrap: false });
	assert.match(up, /^create table "orders" [^;]*;\s*$/);
	assert.match(down, /^drop table [^;]*"orders"[^;]*;\s*$/);
	await orm.schema.updateSchema();
	await insert();
});

test('a second update is empty', async () => {
	assert.equal(await orm.schema.getUpdateSchemaSQL({ wrap: false }), '');
	await orm.schema.updateSchema();
	await insert();
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
