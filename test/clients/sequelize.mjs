// Sequelize: models, and sync() a second time

import assert from 'node:assert/strict';
import { after, test } from 'node:test';

import { DataTypes, Op, Sequelize } from 'sequelize';

import { checkClient, database, host, port, showVersions, user } from './common.mjs';

showVersions('sequelize', 'pg');

const queries = [];
const sequelize = new Sequelize(database, user, null, {
	dialect: 'postgres', host, port, logging: (query) => queries.push(query),
});
const { col, fn, literal } = Sequelize;

const Order = sequelize.define('orders', {
	id: { type: DataTypes.UUID, primaryKey: true, defaultValue: literal('comb_generate()') },
	number: { type: DataTypes.BIGINT, allowNull: false, defaultValue: literal('comb_snowflake()') },
	item: { type: DataTypes.TEXT, allowNull: false, unique: true },
	amount: { type: DataTypes.INTEGER, allowNull: false, defaultValue: 1 },
	ref: { type: DataTypes.UUID, allowNull: false, defaultValue: literal("comb_generate('rtcomb_sql')") },
}, { timestamps: false });

after(() => sequelize.close());

checkClient({
	table: async () => { await sequelize.sync(); },
	query: async (text, bind) => (await sequelize.query(text, { bind }))[0],
	insert: async (item) => [await Order.create({ item })],
	bulk: (items) => Order.bulkCreate(items.split(' ').map((item) => ({ item })), { returning: true }),
	upsert: async (item, amount) => [(await Order.upsert({ item, amount }, { conflictFields: ['item'] }))[0]],
	time: (id) => Order.findAll({ where: { id }, attributes: ['item', [fn('comb_timestamp', col('id')), 'created']] }),
	during: (since, until) => Order.findAll({
		where: fn('comb_during', col('id'), since, until),
		order: ['id'],
	}),
	created: (since, until) => Order.findAll({
		where: { id: { [Op.contained]: fn('tstzrange', since, until) } },
		order: ['id'],
	}),
	page: (after, size) => Order.findAll({ where: { id: { [Op.gt]: after } }, order: ['id'], limit: size }),
	find: (id, number) => Order.findAll({ where: { id, number } }),
	told: (error) => error.parent,
});

test('an array is no range, and a time is no key', async () => {
	const now = new Date();
	const error = (condition) => Order.findAll({ where: { id: condition } }).catch((e) => e.parent.code);
	assert.equal(await error({ [Op.contained]: [now, now] }), '42883');
	assert.equal(await error({ [Op.between]: [now, now] }), '22P02');
});

test('sync() with alter drops nothing, and keeps the rows', async () => {
	queries.length = 0;
	await sequelize.sync({ alter: true });
	assert.deepEqual(queries.filter((query) => /\bDROP (?!(NOT NULL|DEFAULT)\b)/.test(query)), []);
	assert.equal(await Order.count(), 8);
});
