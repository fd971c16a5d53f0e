// TypeORM: repositories, synchronize, and what a migration would contain

import 'reflect-metadata';

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { DataSource, EntitySchema, Raw } from 'typeorm';

import { checkClient } from './common.mjs';

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
// pg reads libpq's variables.
const dataSource = await new DataSource({ type: 'postgres', entities: [Order] }).initialize();
const orders = dataSource.getRepository(Order);

checkClient({
	table: () => dataSource.synchronize(),
	query: (text, values) => dataSource.query(text, values),
	insert: (rows) => orders.save(rows),
	async upsert(item, amount) {
		await orders.upsert({ item, amount }, ['item']);
		return orders.findBy({ item });
	},
	during: (since, until) => orders.find({
		where: { id: Raw((id) => `comb_during(${id}, :since, :until)`, { since, until }) },
		order: { id: 'ASC' },
	}),
	find: (id, number) => orders.findBy({ id, number }),
	told: (error) => error.driverError,
});

// The queries of synchronize() and of migration:generate
async function nothingIsPending() {
	assert.deepEqual((await dataSource.driver.createSchemaBuilder().log()).upQueries, []);
}

test('a second synchronize has nothing to do', nothingIsPending);

// As dropSchema does it
test('synchronize drops the table before, and makes it again', async () => {
	await dataSource.synchronize(true);
	assert.equal(await orders.count(), 0);
	await nothingIsPending();
	await orders.save({ item: 'bread' });
});
