// Prisma: its client with the adapter for pg
//
// The client is generated here, and the table made by SQL: the commands "migrate" and
// "db" of Prisma download a program, which this test does not.

import { execFileSync } from 'node:child_process';
import { after } from 'node:test';

import { checkClient, database, host, range, showVersions, user } from './common.mjs';

showVersions('@prisma/client', '@prisma/adapter-pg');

// "generate" looks for the same program, and does not use it.
execFileSync('node_modules/.bin/prisma', ['generate'], {
	cwd: new URL('prisma/', import.meta.url),
	env: { ...process.env, PRISMA_SCHEMA_ENGINE_BINARY: process.execPath, CHECKPOINT_DISABLE: '1' },
	stdio: ['ignore', 'ignore', 'inherit'],
});
const { PrismaClient, PrismaPg } = await import('./prisma/orders.mjs');

const prisma = new PrismaClient({ adapter: new PrismaPg({ host, database, user, options: '-c timezone=UTC' }) });

after(() => prisma.$disconnect());

checkClient({
	query: (text, values) => prisma.$queryRawUnsafe(text, ...values),
	insert: async (item) => [await prisma.order.create({ data: { item } })],
	bulk: (items) => prisma.order.createManyAndReturn({ data: items.split(' ').map((item) => ({ item })) }),
	upsert: async (item, amount) =>
		[await prisma.order.upsert({ where: { item }, create: { item, amount }, update: { amount } })],
	during(since, until) {
		return prisma.$queryRaw`SELECT * FROM orders
			WHERE comb_during(id, ${since}, ${until}) ORDER BY id`;
	},
	created: (since, until) => prisma.$queryRaw`SELECT * FROM orders
		WHERE comb_created(id, ${range(since, until)}::tstzrange) ORDER BY id`,
	page: (after, size) => prisma.order.findMany({ where: { id: { gt: after } }, orderBy: { id: 'asc' }, take: size }),
	find: (id, number) => prisma.order.findMany({ where: { id, number } }),
	told: (error) => error.meta.driverAdapterError.cause,
	bigint: 'bigint',
});
