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
	during: (since, until) => orders.find({
		where: { id: Raw((id) => `comb_during(${id}, :since, :until)`, { since, until }) },
		order: { id: 'ASC' },
	}),
	told: (error) => error.driverError,
});

// The queries of synchronize() and of migration:generate
const pending = async () => (await dataSource.driver.createSchemaBuilder().log()).upQueries;

test('a second synchronize has nothing to do', async () => assert.deepEqual(await pending(), []));

// As dropSchema does it
test('synchronize drops the table before, and makes it again', async () => {
	await dataSource.synchronize(true);
	assert.equal(await orders.count(), 0);
	assert.deepEqual(await pending(), []);
});
