// Prisma: its client with the adapter for pg
//
// The client is generated here, and the table made by SQL: the commands "migrate" and
// "db" of Prisma download a program, which this test does not.

import { execFileSync } from 'node:child_process';
import { after, before } from 'node:test';

import { checkClient, database, host, range, showVersions, user } from './common.mjs';

showVersions('@prisma/client', '@prisma/adapter-pg');

// "generate" looks for the same program, and does not use it.
execFileSync('node_modules/.bin/prisma', ['generate'], {
	cwd: new URL('prisma/', import.meta.url),
	env: { ...process.env, PRISMA_SCHEMA_ENGINE_BINARY: process.execPath, CHECKPOINT_DISABLE: '1' },
	stdio: ['ignore', 'ignore', 'inherit'],
});
const { PrismaClient, PrismaPg } = await import('./prisma/orders.mjs');

const prisma = new PrismaClient({ adapter: new PrismaPg({ host, database, user }) });

before(() => prisma.$executeRaw`CREATE TABLE orders (
	id uuid PRIMARY KEY DEFAULT comb_generate(),
	number bigint NOT NULL DEFAULT comb_snowflake(),
	item text NOT NULL UNIQUE,
	amount int NOT NULL DEFAULT 1,
	ref uuid NOT NULL DEFAULT comb_generate('rtcomb_sql'))`);
after(() => prisma.$disconnect());

checkClient({
	async insert(item) {
		return prisma.order.create({ data: { item } });
	},
	async bulk(items) {
		return prisma.order.createManyAndReturn({ data: items.map((item) => ({ item })) });
	},
	async upsert(item, amount) {
		return prisma.order.upsert({ where: { item }, create: { item, amount }, update: { amount } });
	},
	async time(id) {
		const [{ created }] = await prisma.$queryRaw`SELECT comb_timestamp(${id}::uuid) AS created`;
		return created;
	},
	async between(since, until) {
		return prisma.$queryRaw`SELECT * FROM orders
			WHERE comb_during(id, ${since}, ${until}) ORDER BY id`;
	},
	async during(since, until) {
		return prisma.$queryRaw`SELECT * FROM orders
			WHERE comb_created(id, ${range(since, until)}::tstzrange) ORDER BY id`;
	},
	async page(after, size) {
		return prisma.order.findMany({ where: { id: { gt: after } }, orderBy: { id: 'asc' }, take: size });
	},
	async find(number) {
		return prisma.order.findFirst({ where: { number } });
	},
	fail: () => prisma.$queryRaw`SELECT comb_generate('sequential')`,
	told: (error) => error.meta.driverAdapterError.cause,
	bigint: 'bigint',
});
