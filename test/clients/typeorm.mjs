// TypeORM: synchronize, dropDatabase, and what a migration would contain

import 'reflect-metadata';

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { DataSource, EntitySchema } from 'typeorm';

import { database, host, isKey, port, showVersions, user } from './common.mjs';

showVersions('typeorm');

const Order = new EntitySchema({
	name: 'orders',
	columns: {
		id: { type: 'uuid', primary: true, default: () => 'comb_generate()' },
		number: { type: 'bigint', default: () => 'comb_snowflake()' },
		item: { type: 'text' },
	},
});

const dataSource = new DataSource({
	type: 'postgres', host, port: Number(port), database, username: user,
	entities: [Order],
});

before(() => dataSource.initialize());
after(() => dataSource.destroy());

// The queries of synchronize() and of migration:generate
async function pending() {
	const { upQueries } = await dataSource.driver.createSchemaBuilder().log();
	return upQueries.map(({ query }) => query);
}

async function insert() {
	const orders = dataSource.getRepository(Order);
	const { id, number } = await orders.save({ item: 'bread' });
	assert.ok(isKey(id), 'the id is a key');
	// TypeORM has strings for bigint.
	assert.equal(typeof number, 'string');
	assert.equal((await orders.findOneByOrFail({ id, number })).item, 'bread');
}

test('synchronize makes the table', async () => {
	await dataSource.synchronize();
	await insert();
});

test('a second synchronize has nothing to do', async () => {
	assert.deepEqual(await pending(), []);
	await dataSource.synchronize();
	await insert();
});

test('dropDatabase drops the table, and synchronize makes it again', async () => {
	await dataSource.dropDatabase();
	const [query, ...others] = await pending();
	assert.match(query, /^CREATE TABLE "orders"/);
	assert.deepEqual(others, []);
	await dataSource.synchronize();
	assert.deepEqual(await pending(), []);
	await insert();
});

test('synchronize with dropBeforeSync, as dropSchema does it', async () => {
	await dataSource.synchronize(true);
	assert.equal(await dataSource.getRepository(Order).count(), 0);
	assert.deepEqual(await pending(), []);
	await insert();
});
