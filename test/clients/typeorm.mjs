// TypeORM: repositories, synchronize, dropDatabase, and what a migration would contain

import 'reflect-metadata';

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { DataSource, EntitySchema, MoreThan, Raw } from 'typeorm';

import { checkClient, database, host, isKey, port, range, showVersions, user } from './common.mjs';

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

async function insert() {
	const { id, number } = await orders.save({ item: 'bread' });
	assert.ok(isKey(id), 'the id is a key');
	assert.equal((await orders.findOneByOrFail({ id, number })).item, 'bread');
}

test('synchronize makes the table', async () => {
	await dataSource.synchronize();
});

checkClient({
	async insert(item) {
		return orders.save({ item });
	},
	async bulk(items) {
		return orders.save(items.map((item) => ({ item })));
	},
	async upsert(item, amount) {
		await orders.upsert({ item, amount }, ['item']);
		return orders.findOneBy({ item });
	},
	async time(id) {
		const { created } = await orders.createQueryBuilder('o')
			.select('comb_timestamp(o.id)', 'created').where({ id }).getRawOne();
		return created;
	},
	async between(since, until) {
		return orders.find({
			where: { id: Raw((id) => `comb_during(${id}, :since, :until)`, { since, until }) },
			order: { id: 'ASC' },
		});
	},
	async during(since, until) {
		const during = range(since, until);
		return orders.find({
			where: { id: Raw((id) => `comb_created(${id}, :during)`, { during }) },
			order: { id: 'ASC' },
		});
	},
	async page(after, size) {
		return orders.find({ where: { id: MoreThan(after) }, order: { id: 'ASC' }, take: size });
	},
	async find(number) {
		return orders.findOneBy({ number });
	},
	fail: () => dataSource.query("SELECT comb_generate('sequential')"),
	told: (error) => error.driverError,
	bigint: 'string',
});

test('a second synchronize has nothing to do', async () => {
	assert.deepEqual(await pending(), []);
	await dataSource.synchronize();
	assert.equal(await orders.count(), 6);
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
	assert.equal(await orders.count(), 0);
	assert.deepEqual(await pending(), []);
	await insert();
});
