// Sequelize: models, and sync() a second time

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { DataTypes, Sequelize } from 'sequelize';

import { checkClient, host } from './common.mjs';

const { col, fn, literal } = Sequelize;
// pg reads libpq's variables, but for the host.
const sequelize = new Sequelize({ dialect: 'postgres', host, logging: false });
const Order = sequelize.define('orders', {
	id: { type: DataTypes.UUID, primaryKey: true, defaultValue: literal('comb_generate()') },
	number: { type: DataTypes.BIGINT, allowNull: false, defaultValue: literal('comb_snowflake()') },
	item: { type: DataTypes.TEXT, allowNull: false, unique: true },
	ref: { type: DataTypes.UUID, allowNull: false, defaultValue: literal("comb_generate('rtcomb_sql')") },
}, { timestamps: false });

checkClient({
	table: async () => { await sequelize.sync(); },
	query: async (text, bind) => (await sequelize.query(text, { bind }))[0],
	insert: (rows) => Order.bulkCreate(rows, { returning: true }),
	during: (since, until) => Order.findAll({
		where: fn('comb_during', col('id'), since, until),
		order: ['id'],
	}),
	told: (error) => error.parent,
});

test('sync() with alter drops nothing, and keeps the rows', async () => {
	const queries = [];
	await sequelize.sync({ alter: true, logging: (query) => queries.push(query) });
	assert.deepEqual(queries.filter((query) => /\bDROP (?!(NOT NULL|DEFAULT)\b)/.test(query)), []);
	assert.equal(await Order.count(), 8);
});
