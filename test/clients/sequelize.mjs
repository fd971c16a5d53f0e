// Sequelize: models, and sync() a second time

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { DataTypes, Op, Sequelize } from 'sequelize';

import { checkClient, database, host, port, showVersions, user } from './common.mjs';

showVersions('sequelize', 'pg');

const queries = [];
const sequelize = new Sequelize(database, user, null, {
	dialect: 'postgres', host, port, logging: (query) => queries.push(query),
});
const { col, fn, literal, where } = Sequelize;

const Order = sequelize.define('orders', {
	id: { type: DataTypes.UUID, primaryKey: true, defaultValue: literal('comb_generate()') },
	number: { type: DataTypes.BIGINT, allowNull: false, defaultValue: literal('comb_snowflake()') },
	item: { type: DataTypes.TEXT, allowNull: false, unique: true },
	amount: { type: DataTypes.INTEGER, allowNull: false, defaultValue: 1 },
	ref: { type: DataTypes.UUID, allowNull: false, defaultValue: literal("comb_generate('rtcomb_sql')") },
}, { timestamps: false });

before(() => sequelize.sync());
after(() => sequelize.close());

checkClient({
	async insert(item) {
		return Order.create({ item });
	},
	async bulk(items) {
		return Order.bulkCreate(items.map((item) => ({ item })), { returning: true });
	},
	async upsert(item, amount) {
		const [order] = await Order.upsert({ item, amount }, { conflictFields: ['item'] });
		return order;
	},
	async time(id) {
		const order = await Order.findByPk(id, {
			attributes: [[fn('comb_timestamp', col('id')), 'created']],
		});
		return order.get('created');
	},
	async between(since, until) {
		return Order.findAll({
			where: fn('comb_during', col('id'), since, until),
			order: ['id'],
		});
	},
	async during(since, until) {
		return Order.findAll({
			where: { id: { [Op.contained]: fn('tstzrange', since, until) } },
			order: ['id'],
		});
	},
	async page(after, size) {
		return Order.findAll({ where: { id: { [Op.gt]: after } }, order: ['id'], limit: size });
	},
	async find(number) {
		return Order.findOne({ where: { number } });
	},
	fail: () => sequelize.query("SELECT comb_generate('sequential')"),
	told: (error) => error.parent,
	bigint: 'string',
});

test('an array is no range, and a time is no key', async () => {
	const now = new Date();
	const error = (condition) => Order.findAll({ where: { id: condition } }).catch((e) => e.parent.code);
	assert.equal(await error({ [Op.contained]: [now, now] }), '42883');
	assert.equal(await error({ [Op.between]: [now, now] }), '22P02');
});

test('sync() with alter drops nothing, and keeps the rows', async () => {
	const before = await Order.count();
	queries.length = 0;
	await sequelize.sync({ alter: true });
	assert.deepEqual(queries.filter((query) => /\bDROP (?!(NOT NULL|DEFAULT)\b)/.test(query)), []);
	assert.equal(await Order.count(), before);
});
