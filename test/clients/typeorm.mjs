// TypeORM: repositories, synchronize, dropDatabase, and what a migration would contain

import 'reflect-metadata';

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { DataSource, EntitySchema, MoreThan, Raw } from 'typeorm';

import { checkClient, database, host, port, range, showVersions, user } from './common.mjs';

showVersions('typeorm');

const Order = new EntitySchema({
	name: 'orders',
	columns: {
		id: { type: 'uuid', primary: true, default: () => 'comb_generate()' },
		number: { type: 'bigint', default: () => 'comb_snowflake()' },
		item: { type: 'text', unique: true },
		amount: { type: 'int', default: 1 },
		ref: { type: 'uuid', default: () => "comb_generate('rtcomb_sql')" },
	},
});

const dataSource = new DataSource({
	type: 'postgres', host, port: Number(port), database, username: user,
	entities: [Order],
});

const orders = dataSource.getRepository(Order);

before(() => dataSource.initialize());
after(() => dataSource.destroy());

// The queries of synchronize() and of migration:generate
async function pending() {
	const { upQueries } = await dataSource.driver.createSchemaBuilder().log();
	return upQueries.map(({ query }) => query);
}

checkClient({
	table: () => dataSource.synchronize(),
	query: (text, values) => dataSource.query(text, values),
	insert: async (item) => [await orders.save({ item })],
	bulk: (items) => orders.save(items.split(' ').map((item) => ({ item }))),
	async upsert(item, amount) {
		await orders.upsert({ item, amount }, ['item']);
		return orders.findBy({ item });
	},
	time: (id) => orders.createQueryBuilder('o').select('item')
		.addSelect('comb_timestamp(o.id)', 'created').where({ id }).getRawMany(),
	during: (since, until) => orders.find({
		where: { id: Raw((id) => `comb_during(${id}, :since, :until)`, { since, until }) },
		order: { id: 'ASC' },
	}),
	created: (since, until) => orders.find({
		where: { id: Raw((id) => `comb_created(${id}, :during)`, { during: range(since, until) }) },
		order: { id: 'ASC' },
	}),
	page: (after, size) => orders.find({ where: { id: MoreThan(after) }, order: { id: 'ASC' }, take: size }),
	find: (id, number) => orders.findBy({ id, number }),
	told: (error) => error.driverError,
});

test('a second synchronize has nothing to do', async () => {
	assert.deepEqual(await pending(), []);
	await dataSource.synchronize();
	assert.equal(await orders.count(), 8);
});

test('dropDatabase drops the table, and synchronize makes it again', async () => {
	await dataSource.dropDatabase();
	const [query, ...others] = await pending();
	assert.match(query, /^CREATE TABLE "orders"/);
	assert.deepEqual(others, []);
	await dataSource.synchronize();
	assert.deepEqual(await pending(), []);
	await orders.save({ item: 'bread' });
});

test('synchronize with dropBeforeSync, as dropSchema does it', async () => {
	await dataSource.synchronize(true);
	assert.equal(await orders.count(), 0);
	assert.deepEqual(await pending(), []);
	await orders.save({ item: 'bread' });
});
